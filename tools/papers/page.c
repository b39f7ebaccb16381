/* All experiments on one page: rfm-papers page [options]; `make papers` calls it.
 *
 * Each experiment leaves its sheet in the folder as soon as it is done. A run that was interrupted goes on with the
 * first experiment whose sheet is not there. */
#include "host/host.h"

#include "papers.h"
#include "rfm/report/html.h"
#include "sheet.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A name for each setting, so that no sheet of another one is taken for it. */
static char *sheet_file(const char *folder, const experiment *e, const trial *t) {
    text name = {NULL, 0, 0};
    text_add(&name, "%s/%s-%.0f%s", folder, e->name, (double)t->seed, t->quick ? "-quick" : "");
    if (t->data != NULL) text_add(&name, "-%08lx", (unsigned long)rfm_crc32(0, t->data, strlen(t->data)));
    text_add(&name, ".sheet");
    text_bytes(&name, "", 1);
    return name.at;
}

/* The sheet of an earlier run, or NULL; what is cut off or no sheet goes. */
static char *sheet_of(const char *file) {
    struct stat s;
    size_t size;
    char *lines;
    if (stat(file, &s) != 0) return NULL;
    lines = file_read(file, &size);
    if (sheet_right(lines)) return lines;
    free(lines);
    if (remove(file) != 0) fail("%s: is no sheet, and cannot be removed: %s", file, strerror(errno));
    return NULL;
}

static char *make_sheet(const experiment *e, const trial *t, const char *file) {
    text sheet = {NULL, 0, 0};
    double began = seconds_now(), work = (double)clock();
    e->run(t, &sheet);
    sheet_say(&sheet, "%.0f seconds, %.0f of processor time.", seconds_now() - began,
              ((double)clock() - work) / CLOCKS_PER_SEC);
    file_write(file, sheet.at, sheet.size);
    text_bytes(&sheet, "", 1);
    return sheet.at;
}

static void draw(text *t, const experiment *e, const char *lines) {
    html_section(t, e->name, e->title);
    text_add(t, "<p class=\"say\">");
    html_text(t, e->source);
    text_add(t, " &middot; <code>rfm-papers %s</code></p>\n", e->name);
    sheet_html(t, lines);
    text_add(t, "</section>\n");
}

static void begin(text *t, const trial *a) {
    const experiment *e;
    html_page_open(t, "The papers, measured");
    text_add(t,
             "<style>section .wide,section figure,section .gallery{margin:16px "
             "0}td.n{white-space:nowrap}</style>\n<header>\n<p "
             "class=\"over\">rfm-papers</p>\n<h1>The papers, measured</h1>\n<p class=\"lead\">Every "
             "experiment with the paper's number beside ours.%s%s Seed %.0f.</p>\n<nav>\n",
             a->quick ? " A quick run: small sets, so the numbers say little." : "",
             a->data == NULL ? " Without a folder of data: digits of 8 x 8 pixels in place of MNIST, and few tables."
                             : "",
             (double)a->seed);
    for (e = experiments; e->name != NULL; e++) text_add(t, "<a href=\"#%s\">%s</a>\n", e->name, e->title);
    text_add(t, "</nav></header>\n<main>\n");
}

int page(char **argv) {
    const char *folder = "build/papers";
    size_t threads = 0, seed = 1, count = 0, done = 0;
    double ahead = 0, spent = 0, expected = 0;
    trial t = {NULL, 0, 0, NULL};
    machine m;
    const option table[] = {{"-o", NULL, OPTION_TEXT, &folder},
                            {"--quick", NULL, OPTION_FLAG, &t.quick},
                            {"--data", NULL, OPTION_TEXT, &t.data},
                            {"--seed", NULL, OPTION_SIZE, &seed},
                            {"--threads", NULL, OPTION_SIZE, &threads},
                            {"--quiet", "-q", OPTION_FLAG, &quiet},
                            {NULL, NULL, 0, NULL}};
    command_line line = {"page", "no operand", 0, 0, "; see rfm-papers page --help", NULL};
    const experiment *e;
    text html = {NULL, 0, 0}, name = {NULL, 0, 0};
    line.options = table;
    if (options_read(&line, argv, NULL)) {
        puts("usage: rfm-papers page [-o FOLDER, build/papers] [--quick] [--data FOLDER] [--seed N] [--threads N] "
             "[--quiet]\n\nAll experiments, into FOLDER/index.html. Sheets that are in FOLDER already are not made "
             "again.");
        return 0;
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) fail("%s: %s", folder, strerror(errno));
    t.seed = seed, t.m = &m;
    text_add(&name, "%s/index.html", folder);
    text_bytes(&name, "", 1);
    file_check(name.at);
    machine_start(&m, threads, "auto");
    for (e = experiments; e->name != NULL; e++, count++) {
        char *file = sheet_file(folder, e, &t), *lines = sheet_of(file);
        if (lines == NULL) ahead += e->seconds;
        free(lines);
        free(file);
    }
    begin(&html, &t);
    for (e = experiments; e->name != NULL; e++, done++) {
        char *file = sheet_file(folder, e, &t), *lines = sheet_of(file);
        if (lines == NULL) {
            double began = seconds_now();
            if (t.quick)
                note("%zu of %zu: %s", done + 1, count, e->title);
            else
                note("%zu of %zu: %s; about %.0f min left", done + 1, count, e->title,
                     ceil(ahead * (expected > 0 ? spent / expected : 1) / 60));
            lines = make_sheet(e, &t, file);
            spent += seconds_now() - began, expected += e->seconds, ahead -= e->seconds;
        }
        draw(&html, e, lines);
        free(lines);
        free(file);
    }
    text_add(&html, "</main>\n");
    html_page_close(&html);
    file_write(name.at, html.at, html.size);
    note("%s: %zu experiments", name.at, count);
    machine_stop(&m);
    free(html.at);
    free(name.at);
    return 0;
}

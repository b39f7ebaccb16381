/* rfm-adapt: does a learner on a device win back what a change of its world has cost? README.md has the experiment.
 *
 *     rfm-adapt [-o PAGE.html] [--seeds N, 5] [--every ROWS, 50] [--memory KIB, all] [--wrong SHARE, 0]
 *               [--data FOLDER, tools/data] [--threads N]
 *
 * Prints a line for every scenario, learner and seed, and the smallest of all seeds; draws the means over the seeds.
 */
#include <stdlib.h>
#include <string.h>

#include "adapt.h"
#include "rfm/report/html.h"

#define KIB 1024

static const learner_kind kinds[] = {
    {16 * KIB, RFM_FORGET_LEAST},  {32 * KIB, RFM_FORGET_LEAST},  {64 * KIB, RFM_FORGET_LEAST},
    {128 * KIB, RFM_FORGET_LEAST}, {64 * KIB, RFM_FORGET_OLDEST}, {64 * KIB, RFM_FORGET_BALANCED},
};
#define KINDS (sizeof kinds / sizeof *kinds)
#define SHOWN 2 /* the curve of this one is drawn */

static const char *const forget_word[] = {"oldest", "balanced", "least"};

/* ---- over seeds ----------------------------------------------------------------------------- */

static void add_means(contest *to, const contest *c, double seeds, size_t learners) {
    size_t i, k;
    to->points = c->points, to->centres = c->centres, to->model_bytes = c->model_bytes;
    to->streamed += c->streamed / seeds;
    for (i = 0; i < c->points; i++) {
        to->seen[i] = c->seen[i];
        to->frozen[i] += c->frozen[i] / seeds;
        to->pc[i] += c->pc[i] / seeds;
        for (k = 0; k < learners; k++) to->learners[k].right[i] += c->learners[k].right[i] / seeds;
    }
    for (k = 0; k < learners; k++) {
        learner_result *a = &to->learners[k];
        const learner_result *b = &c->learners[k];
        a->window = b->window, a->bytes = b->bytes;
        a->streamed += b->streamed / seeds;
        a->won_end += b->won_end / seeds, a->won_mean += b->won_mean / seeds;
    }
}

static void print_line(const scenario *s, const learner_kind *kind, const learner_result *r, const contest *c,
                       const char *seed) {
    size_t last = c->points - 1;
    printf("%-15s %5zu %-8s %6zu %6s %7.1f %7.1f %7.1f %8.2f %8.2f %8.1f %8.1f\n", s->name, kind->memory / KIB,
           forget_word[kind->forget], r->window, seed, 100 * c->frozen[last], 100 * r->right[last], 100 * c->pc[last],
           r->won_end, r->won_mean, 100 * c->streamed, 100 * r->streamed);
}

/* ---- the page ------------------------------------------------------------------------------- */

static void draw_scenario(text *t, const scenario *s, const contest *c, const learner_kind *used, size_t learners) {
    char room[NUMBER_ROOM];
    chart_series curves[3];
    double marks[2];
    size_t shown = learners > SHOWN ? SHOWN : 0, k;
    curves[0].name = "PC, all rows so far", curves[0].css = "base", curves[0].y = c->pc;
    curves[1].name = "adapting on the device", curves[1].css = "curve", curves[1].y = c->learners[shown].right;
    curves[2].name = "frozen start model", curves[2].css = "ideal", curves[2].y = c->frozen;
    marks[0] = (double)s->from, marks[1] = (double)s->to;
    html_section(t, s->name, s->name);
    text_add(t, "<p class=\"say\">From row %zu of the stream ", s->from);
    if (s->to > s->from) text_add(t, "to row %zu ", s->to);
    text_add(t,
             "%s. The start model has %zu centres. Share of %zu held-out rows that look as rows do at that time; the "
             "learner has %s and a window of "
             "%zu.</p>\n",
             s->change, c->centres, s->test, html_bytes(room, (double)used[shown].memory), c->learners[shown].window);
    chart_curves(t, s->name, "rows of the stream", "% right", c->seen, c->points, curves, 3, marks,
                 s->from == s->to ? 1 : 2);
    text_add(t, "<div class=\"wide\"><table class=\"full\"><thead><tr><th class=\"l\">memory</th><th "
                "class=\"l\">forgets</th><th>window</th><th>frozen</th>"
                "<th>adapting</th><th>PC</th><th>won back, end</th><th>won back, mean</th></tr></thead><tbody>\n");
    for (k = 0; k < learners; k++) {
        const learner_result *r = &c->learners[k];
        size_t last = c->points - 1;
        text_add(t, "<tr><td class=\"l\">%s</td><td class=\"l\">%s</td><td>%zu</td>",
                 html_bytes(room, (double)used[k].memory), forget_word[used[k].forget], r->window);
        text_add(t, "<td>%s</td>", html_percent(room, c->frozen[last]));
        text_add(t, "<td>%s</td>", html_percent(room, r->right[last]));
        text_add(t, "<td>%s</td>", html_percent(room, c->pc[last]));
        text_add(t, "<td>%.2f</td><td>%.2f</td></tr>\n", r->won_end, r->won_mean);
    }
    text_add(t, "</tbody></table></div>\n</section>\n");
}

/* ---- the program ---------------------------------------------------------------------------- */

int main(int argc, char **argv) {
    const char *out = NULL, *folder = "tools/data";
    size_t seeds = 5, every = 50, memory = 0, threads = 1, learners = 0, s, seed, k;
    double wrong = 0;
    option table[] = {{"-o", NULL, OPTION_TEXT, NULL},        {"--seeds", NULL, OPTION_SIZE, NULL},
                      {"--every", NULL, OPTION_SIZE, NULL},   {"--memory", NULL, OPTION_SIZE, NULL},
                      {"--data", NULL, OPTION_TEXT, NULL},    {"--threads", NULL, OPTION_SIZE, NULL},
                      {"--wrong", NULL, OPTION_NUMBER, NULL}, {NULL, NULL, 0, NULL}};
    command_line line = {"rfm-adapt", "no operand", 0, 0, "; see rfm-adapt --help", NULL};
    contest *c = allocate(1, sizeof *c, "results"), *mean = allocate(1, sizeof *mean, "results");
    learner_kind used[KINDS];
    text page = {NULL, 0, 0};
    machine m;
    (void)argc;
    table[0].to = &out, table[1].to = &seeds, table[2].to = &every, table[3].to = &memory, table[4].to = &folder,
    table[5].to = &threads;
    table[6].to = &wrong;
    line.options = table;
    if (options_read(&line, argv + 1, NULL)) {
        puts("usage: rfm-adapt [-o PAGE.html] [--seeds N] [--every ROWS] [--memory KIB] [--wrong SHARE] [--data "
             "FOLDER] [--threads N]");
        return 0;
    }
    if (seeds == 0 || every == 0) usage("--seeds, --every: expected at least 1");
    if (wrong > 1) usage("--wrong: expected a share, at most 1");
    if (memory > 0)
        used[learners].memory = memory * KIB, used[learners++].forget = RFM_FORGET_LEAST;
    else
        memcpy(used, kinds, sizeof kinds), learners = KINDS;
    if (out != NULL) file_check(out);
    machine_start(&m, threads, "auto");
    html_page_open(&page, "Adapting on the device");
    text_add(&page,
             "<header>\n<p class=\"over\">rfm-adapt</p>\n<h1>Adapting on the device</h1>\n<p class=\"lead\">Means over "
             "%zu seed%s.</p></header>\n<main>\n",
             seeds, seeds == 1 ? "" : "s");
    printf("%-15s %5s %-8s %6s %6s %7s %7s %7s %8s %8s %8s %8s\n", "", "", "", "", "", "end %:", "", "", "won", "won",
           "stream%:", "");
    printf("%-15s %5s %-8s %6s %6s %7s %7s %7s %8s %8s %8s %8s\n", "scenario", "KiB", "forgets", "window", "seed",
           "frozen", "adapt", "PC", "end", "mean", "frozen", "adapt");
    for (s = 0; s < scenario_count; s++) {
        double least[MOST_LEARNERS][2];
        draw w;
        scenario_read(&w, &scenarios[s], folder);
        memset(mean, 0, sizeof *mean);
        for (seed = 1; seed <= seeds; seed++) {
            char word[24];
            scenario_draw(&w, seed, wrong);
            contest_run(&m, &w, used, learners, every, c);
            add_means(mean, c, (double)seeds, learners);
            snprintf(word, sizeof word, "%zu", seed);
            for (k = 0; k < learners; k++) {
                const learner_result *r = &c->learners[k];
                if (seed == 1 || r->won_end < least[k][0]) least[k][0] = r->won_end;
                if (seed == 1 || r->won_mean < least[k][1]) least[k][1] = r->won_mean;
                print_line(&scenarios[s], &used[k], r, c, word);
            }
            fflush(stdout);
        }
        for (k = 0; k < learners; k++) print_line(&scenarios[s], &used[k], &mean->learners[k], mean, "mean");
        for (k = 0; k < learners; k++)
            printf("%-15s %5zu %-8s %6zu %6s %31.2f %8.2f\n", scenarios[s].name, used[k].memory / KIB,
                   forget_word[used[k].forget], mean->learners[k].window, "worst", least[k][0], least[k][1]);
        draw_scenario(&page, &scenarios[s], mean, used, learners);
        scenario_free(&w);
    }
    text_add(&page, "</main>\n");
    html_page_close(&page);
    if (out != NULL) file_write(out, page.at, page.size);
    free(page.at);
    free(c);
    free(mean);
    machine_stop(&m);
    return 0;
}

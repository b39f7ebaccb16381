#include "command.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH  112
#define COLUMN 25 /* where the meaning of an option begins */

static int takes(const option_row *o, size_t command) { return o->name != NULL && (o->commands >> command & 1); }

/* Calls `title` before the first option that the command takes of each group, and `one` for each option. */
static void each_option(text *t, size_t command, void (*title)(text *t, const char *group),
                        void (*one)(text *t, const option_row *o)) {
    const char *group = NULL;
    size_t i;
    for (i = 0; i < option_row_count; i++) {
        if (option_rows[i].group != NULL) group = option_rows[i].group;
        if (!takes(&option_rows[i], command)) continue;
        if (group != NULL) title(t, group);
        group = NULL;
        one(t, &option_rows[i]);
    }
}

/* ---- on a terminal -------------------------------------------------------------------------- */

static void show_title(text *t, const char *group) {
    text_add(t, "\n");
    text_wrapped(t, group, 0, 0, WIDTH);
    text_add(t, "\n");
}

static void show_option(text *t, const option_row *o) {
    size_t start = t->size, used;
    text_add(t, "  %s%s%s%s%s", o->name, o->other != NULL ? ", " : "", o->other != NULL ? o->other : "",
             o->argument != NULL ? " " : "", o->argument != NULL ? o->argument : "");
    used = t->size - start;
    if (used + 2 > COLUMN) text_add(t, "\n"), used = 0;
    text_add(t, "%*s", (int)(COLUMN - used), "");
    text_wrapped(t, o->meaning, COLUMN, COLUMN, WIDTH);
    text_add(t, "\n");
}

static void show_paragraph(text *t, const char *words) {
    if (*words == 0) return;
    text_add(t, "\n");
    text_wrapped(t, words, 0, 0, WIDTH);
    text_add(t, "\n");
}

void help_command(size_t command) {
    const command_row *row = &commands[command];
    text t = {NULL, 0, 0};
    text_add(&t, "usage: rfm %s %s [options]\n", row->name, row->synopsis);
    show_paragraph(&t, row->about);
    each_option(&t, command, show_title, show_option);
    show_paragraph(&t, row->more);
    file_write(NULL, t.at, t.size);
    free(t.at);
}

#define SYNOPSIS_WIDTH 42 /* a longer one has its summary on the next line */

static void overview(text *t) {
    size_t i;
    text_add(t, "usage: rfm COMMAND ...\n\n");
    for (i = 0; i < COMMAND_COUNT; i++) {
        const int wide = strlen(commands[i].synopsis) >= SYNOPSIS_WIDTH;
        text_add(t, "  %-10s%-*s", commands[i].name, wide ? 0 : SYNOPSIS_WIDTH, commands[i].synopsis);
        if (wide) text_add(t, "\n%*s", 2 + 10 + SYNOPSIS_WIDTH, "");
        text_add(t, "%s\n", commands[i].summary);
    }
    text_add(t, "\nResults go to stdout, progress to stderr (--quiet: none). Exit status: 0 done, 1 the work failed, "
                "2 wrong usage.\nA file name - is standard input or output.\n");
}

/* ---- as roff -------------------------------------------------------------------------------- */

static void roff(text *t, const char *words) {
    const char *p;
    for (p = words; *p != 0; p++) {
        /* a dot or a quote at the start of a line would be a request */
        if ((*p == '.' || *p == '\'') && (p == words || p[-1] == '\n')) text_add(t, "\\&");
        if (*p == '-')
            text_add(t, "\\-");
        else if (*p == '\\')
            text_add(t, "\\e");
        else
            text_bytes(t, p, 1);
    }
}

/* In lines, so that a change is seen where it is. */
static void roff_paragraph(text *t, const char *words) {
    text wrapped = {NULL, 0, 0};
    text_wrapped(&wrapped, words, 0, 0, 100);
    text_bytes(&wrapped, "", 1);
    roff(t, wrapped.at);
    text_add(t, "\n");
    free(wrapped.at);
}

static void roff_title(text *t, const char *group) {
    text_add(t, ".PP\n");
    roff_paragraph(t, group);
}

static void roff_option(text *t, const option_row *o) {
    text_add(t, ".TP\n\\fB");
    roff(t, o->name);
    text_add(t, "\\fR");
    if (o->other != NULL) {
        text_add(t, ", \\fB");
        roff(t, o->other);
        text_add(t, "\\fR");
    }
    if (o->argument != NULL) {
        text_add(t, " \\fI");
        roff(t, o->argument);
        text_add(t, "\\fR");
    }
    text_add(t, "\n");
    roff_paragraph(t, o->meaning);
}

static void man(text *t) {
    size_t i;
    text_add(t, ".SH COMMANDS\n");
    for (i = 0; i < COMMAND_COUNT; i++) {
        const command_row *row = &commands[i];
        text_add(t, ".SS rfm ");
        roff(t, row->name);
        text_add(t, " ");
        roff(t, row->synopsis);
        text_add(t, "\n");
        roff_paragraph(t, *row->about != 0 ? row->about : row->summary);
        each_option(t, i, roff_title, roff_option);
        if (*row->more != 0) roff_title(t, row->more);
    }
}

/* ---- the command ---------------------------------------------------------------------------- */

int command_help(const call *c) {
    text t = {NULL, 0, 0};
    const char *topic = c->operands[0];
    if (topic != NULL) {
        help_command(command_find(topic, "help: "));
        return 0;
    }
    if (c->man)
        man(&t);
    else
        overview(&t);
    file_write(NULL, t.at, t.size);
    free(t.at);
    return 0;
}

/* The commands and their options, made of commands.def, and a call of one of them. */
#include "command.h"

#include "host/session.h"

#include <string.h>

/* ---- the table ------------------------------------------------------------------------------ */

#define IN(name) (1u << COMMAND_##name)

const command_row commands[COMMAND_COUNT] = {
#define COMMAND(name, least, most, operands, synopsis, summary, about, more) \
    {#name, least, most, operands, synopsis, summary, about, more, command_##name},
#include "commands.def"
};

const option_row option_rows[] = {
#define GROUP(title) {title, NULL, NULL, NULL, NULL, 0, 0, 0},
#define FLAG(field, name, other, takers, meaning) \
    {NULL, name, other, NULL, meaning, takers, OPTION_FLAG, offsetof(call, field)},
#define TEXT(field, name, argument, without, takers, meaning) \
    {NULL, name, NULL, argument, meaning, takers, OPTION_TEXT, offsetof(call, field)},
#define SIZE(field, name, argument, without, takers, meaning) \
    {NULL, name, NULL, argument, meaning, takers, OPTION_SIZE, offsetof(call, field)},
#define NUMBER(field, name, argument, without, takers, meaning) \
    {NULL, name, NULL, argument, meaning, takers, OPTION_NUMBER, offsetof(call, field)},
#include "commands.def"
};
const size_t option_row_count = sizeof option_rows / sizeof *option_rows;

static const call defaults = {
    {NULL, NULL},
#define FLAG(...)                                               0,
#define TEXT(field, name, argument, without, takers, meaning)   without,
#define SIZE(field, name, argument, without, takers, meaning)   without,
#define NUMBER(field, name, argument, without, takers, meaning) without,
#include "commands.def"
};

size_t command_find(const char *name, const char *before) {
    guess g = guess_of(name != NULL ? name : "", name != NULL ? strlen(name) : 0);
    text names = {NULL, 0, 0};
    char room[GUESS_ROOM];
    size_t i;
    for (i = 0; i < COMMAND_COUNT; i++) {
        if (name != NULL && strcmp(name, commands[i].name) == 0) return i;
        guess_try(&g, commands[i].name);
        text_add(&names, i > 0 ? ", %s" : "%s", commands[i].name);
    }
    text_bytes(&names, "", 1);
    if (name == NULL) usage("expected a command: %s", names.at);
    if (g.best != NULL) usage("%sno command \"%s\"%s", before, name, guess_text(&g, room));
    usage("%sno command \"%s\"; expected one of %s", before, name, names.at);
}

/* ---- a call --------------------------------------------------------------------------------- */

/* --na */
static void absent_words(const char *list) {
    while (list != NULL && *list != 0) {
        size_t length = strcspn(list, ",");
        if (length > 0) csv_absent_add(list, length);
        list += length + (list[length] == ',');
    }
}

int command_run(size_t command, char **argv) {
    option table[sizeof option_rows / sizeof *option_rows + 1];
    const command_row *row = &commands[command];
    call c = defaults;
    command_line line;
    size_t i, count = 0;
    char see[60];
    for (i = 0; i < option_row_count; i++) {
        const option_row *o = &option_rows[i];
        if (!(o->commands >> command & 1)) continue;
        table[count].name = o->name, table[count].other = o->other, table[count].kind = o->kind;
        table[count++].to = (char *)&c + o->at;
    }
    table[count].name = NULL;
    snprintf(see, sizeof see, "; see rfm help %s", row->name);
    line.name = row->name, line.operands = row->operands, line.least = row->least, line.most = row->most;
    line.help = see, line.options = table;
    if (options_read(&line, argv, c.operands)) {
        help_command(command);
        return 0;
    }
    if (session_now() == NULL) { /* a program has one call */
        quiet = c.quiet;
        idx_labels = c.labels;
        absent_words(c.na);
    }
    return row->run(&c);
}

/* rfm - the command. CSV in, models, predictions and headers for firmware out. */
#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
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

/* ---- a call --------------------------------------------------------------------------------- */

/* --na */
static void absent_words(const char *list) {
    while (list != NULL && *list != 0) {
        size_t length = strcspn(list, ",");
        if (length > 0) csv_absent_add(list, length);
        list += length + (list[length] == ',');
    }
}

static int run(size_t command, char **argv) {
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
    quiet = c.quiet;
    idx_labels = c.labels;
    absent_words(c.na);
    return row->run(&c);
}

/* A standard stream that is closed must not become the next file that is opened: it is there, and its use fails. */
static void hold_streams(void) {
    int i;
    for (i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0) (void)open("/dev/null", i == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
    text names = {NULL, 0, 0};
    size_t i;
    hold_streams();
    signal(SIGPIPE, SIG_IGN); /* a reader of the progress that is gone does not end a training */
    for (i = 0; i < COMMAND_COUNT; i++) text_add(&names, i > 0 ? ", %s" : "%s", commands[i].name);
    text_bytes(&names, "", 1);
    if (argc < 2) usage("expected a command: %s", names.at);
    if (strcmp(argv[1], "--version") == 0) {
        text version = {NULL, 0, 0};
        text_add(&version, "rfm %d.%d.%d\n", RFM_VERSION_MAJOR, RFM_VERSION_MINOR, RFM_VERSION_PATCH);
        file_show(&version, NULL);
        free(version.at);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return command_help(&defaults);
    for (i = 0; i < COMMAND_COUNT && strcmp(argv[1], commands[i].name) != 0; i++) continue;
    if (i == COMMAND_COUNT) usage("no command \"%s\"; expected one of %s", argv[1], names.at);
    free(names.at);
    return run(i, argv + 2);
}

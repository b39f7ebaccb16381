/* A call of the command: which options were given, and the functions that do the work. Made of commands.def. */
#ifndef COMMAND_H
#define COMMAND_H

#include "host/host.h"

#define MOST_ROWS     20000 /* trained on, unless --rows says otherwise: K has 1.6 GB then */
#define MOST_OPERANDS 256

enum {
#define COMMAND(name, ...) COMMAND_##name,
#include "commands.def"
    COMMAND_COUNT
};

typedef struct {
    const char *operands[MOST_OPERANDS];
#define FLAG(field, ...)   int field;
#define TEXT(field, ...)   const char *field;
#define SIZE(field, ...)   size_t field;
#define NUMBER(field, ...) double field;
#include "commands.def"
} call;

#define COMMAND(name, ...) int command_##name(const call *c);
#include "commands.def"

/* The lines of the table, for main.c and help.c. */
typedef struct {
    const char *name;
    size_t least, most;
    const char *operands, *synopsis, *summary, *about, *more;
    int (*run)(const call *c);
} command_row;

typedef struct {
    const char *group; /* a title: the rest is empty */
    const char *name, *other, *argument, *meaning;
    unsigned commands; /* bit i: commands[i] */
    int kind;          /* OPTION_... */
    size_t at;         /* of the field in a call */
} option_row;

extern const command_row commands[COMMAND_COUNT];
extern const option_row option_rows[];
extern const size_t option_row_count;

/* The position of a command; wrong usage, whose message begins with `before`, if there is none of that name or it is
 * NULL. */
size_t command_find(const char *name, const char *before);

/* Runs a command on its words, of which the last is NULL; what a program ends with. */
int command_run(size_t command, char **words);

void help_command(size_t command); /* to standard output */

#endif

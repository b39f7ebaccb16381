/* The words of a command line. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stddef.h>

#define OPTION_FLAG   0 /* int *to = 1 */
#define OPTION_TEXT   1 /* const char **to */
#define OPTION_SIZE   2 /* size_t *to, digits only */
#define OPTION_NUMBER 3 /* double *to, finite, not negative */

typedef struct {
    const char *name, *other; /* with dashes; other: a second name, or NULL. The last of a table has no name */
    int kind;
    void *to;
} option;

typedef struct {
    const char *name;     /* of the command, for messages */
    const char *operands; /* what the errors call them */
    size_t least, most;   /* how many */
    const char *help;     /* where there is more: "; see rfm help train", or "" */
    const option *options;
} command_line;

/* Takes the options out of argv; the operands that are left go into `operands` (most).
 * Returns 1 if --help is among them: what comes after it is not looked at. */
int options_read(const command_line *c, char **argv, const char **operands);

/* The position of `text` in a list of words; wrong usage if it has no place there. */
int options_word(const char *name, const char *text, const char *const *words);

#endif

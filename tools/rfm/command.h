/* What the files of the command share: options, messages, files, JSON.
 *
 * A problem ends the program where it is found: fail() for work that cannot be done (exit 1), usage() for a wrong call
 * (exit 2). No output is touched before it is complete, so there is nothing to undo. */
#ifndef COMMAND_H
#define COMMAND_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rfm_small.h"

#if defined(__GNUC__)
#define PRINTF_LIKE(place, first) __attribute__((format(printf, place, first)))
#define NEVER_RETURNS __attribute__((noreturn))
#else
#define PRINTF_LIKE(place, first)
#define NEVER_RETURNS
#endif

/* ---- options.c ------------------------------------------------------------------------------------------------------ */

#define OPTION_FLAG   0 /* int *to = 1 */
#define OPTION_TEXT   1 /* const char **to */
#define OPTION_SIZE   2 /* size_t *to, digits only */
#define OPTION_NUMBER 3 /* double *to, finite, not negative */

typedef struct {
    const char *name; /* with its dashes; the last of a table has NULL */
    int kind;
    void *to;
} option;

/* Takes the options out of argv; what is left are exactly `count` operands, which the error calls by `names`. */
void options_read(const char *command, char **argv, const option *table, size_t count, const char **operands, const char *names);

/* The position of `text` in a list of words; wrong usage if it has no place there. */
int options_word(const char *name, const char *text, const char *const *words);

/* What every command has. */
extern int quiet;

/* ---- progress.c: what goes to stderr ---------------------------------------------------------------------------------- */

void fail(const char *format, ...) PRINTF_LIKE(1, 2) NEVER_RETURNS;
void usage(const char *format, ...) PRINTF_LIKE(1, 2) NEVER_RETURNS;
void note(const char *format, ...) PRINTF_LIKE(1, 2); /* nothing if quiet */

/* A bar on a terminal, a line now and then elsewhere. `done` of `total`; the same label until the next progress_end. */
void progress_show(const char *label, double done, double total);
void progress_end(void);

double seconds_now(void); /* of a clock that never jumps */

/* ---- text.c: memory and text ------------------------------------------------------------------------------------- */

void *allocate(size_t count, size_t size, const char *what); /* zeroed; fails with the number of bytes */
void *allocate_aligned(size_t bytes, const char *what);      /* by RFM_ALIGN, at least 1 byte; free() it */
char *copy_text(const char *text, size_t length);

/* A text that grows in memory. */
typedef struct {
    char *at;
    size_t size, room;
} text;

void text_add(text *t, const char *format, ...) PRINTF_LIKE(2, 3);
void text_bytes(text *t, const char *bytes, size_t count);

/* Text that comes from a file or from the user, for people to read: control characters (C0, C1, line separators,
 * changes of direction) and bytes that are no UTF-8 become \n, \t or \xNN. What is in `as_is` stays. text_name: a
 * string, nothing stays. */
void text_shown(text *t, const char *bytes, size_t count, const char *as_is);
void text_name(text *t, const char *name);

/* One character of it: what is shown goes into `room`; returns its bytes. Allocates nothing: fail() needs it. */
#define VISIBLE_ROOM 20
size_t text_visible(const char *at, const char *as_is, char room[VISIBLE_ROOM]);

/* Bytes of the UTF-8 character at `at`; 0 if there is none, then *code is the byte. A 0 byte ends what is looked at. */
size_t utf8_read(const char *at, uint32_t *code);
int utf8_control(uint32_t code); /* C0, DEL, C1 */
int utf8_fit(const char *string, size_t most); /* how many of its bytes, up to `most`, are whole characters: for %.*s */

/* ---- files.c ----------------------------------------------------------------------------------------------------- */

/* The whole file, with a 0 behind it. `file` "-" is standard input. Aligned by RFM_ALIGN. */
char *file_read(const char *file, size_t *size);

/* An output is written beside its place and renamed, so that it is there as a whole or not at all. A link stays a link:
 * what it leads to is written, there or not. "-" or NULL is standard output; a device or pipe is written to as it is.
 *
 * What is written beside is called NAME.rfm-tmp-, 12 hexadecimal digits. One of the same output whose writer was killed
 * is removed; a writer holds a lock on its own. */
void file_write(const char *file, const void *bytes, size_t size);

/* To be called after the inputs are read, before the work. Ends the program if file_write could not write this file or
 * should not: it is read-only, one of the files that were read, or an output that was checked before. */
void file_check(const char *file);

/* A summary for people or --json: to standard output, or to standard error if the output `out` (NULL: none) takes that.
 * A reader of standard output that is gone ends the program silently by SIGPIPE, as it ends others. */
void file_show(const text *summary, const char *out);

/* ---- identifier.c: names in C ------------------------------------------------------------------------------------ */

/* For --name: wrong usage if it is no identifier, or one that C, C++, their libraries or rfm.h have. */
char *identifier_given(const char *name);

/* From the file's name, with model_ before it where that would be such a name. */
char *identifier_of_file(const char *file);

/* ---- json.c --------------------------------------------------------------------------------------------------------------- */

void json_text(text *t, const char *name, const char *value);
void json_number(text *t, const char *name, double value); /* null if it is not finite */
void json_real(text *t, const char *name, rfm_real value);  /* in as few digits as give it back */
void json_names(text *t, const char *name, const char *names, size_t count); /* strings one after the other */
void json_object(text *t, const char *name, const text *content); /* of a text that was filled by the above, without json_end */
void json_add(text *objects, text *one);                          /* one more such text for an array; it is freed */
void json_array(text *t, const char *name, text *objects);        /* freed, too */
void json_end(text *t);

/* ---- model files and machines: machine.c ------------------------------------------------------------------------------------ */

/* Threads and port of a call, from --threads and --port. */
typedef struct {
    rfm_ctx ctx;
    rfm_arena arena;
    void *memory;
    struct pool *pool;
} machine;

void machine_start(machine *m, size_t threads, const char *port);
void machine_memory(machine *m, size_t bytes, const char *what); /* an arena of so many bytes in place of the last one */
void machine_stop(machine *m);

/* A model of numbers or of integers. */
typedef struct {
    int type;             /* RFM_I8 ... RFM_F64 */
    rfm_model numbers;    /* of a model of integers: sizes, task, names and summary; its arrays are NULL */
    rfm_model_i integers; /* RFM_I8, RFM_I16 */
} any_model;

/* Opens a model file; *blob is to be freed. */
void any_read(const char *file, char **blob, size_t *size, any_model *model);

/* The same where only a model of numbers will do. */
void model_read(const char *file, char **blob, size_t *size, rfm_model *model);

any_model any_of_numbers(const rfm_model *model);
any_model any_of_integers(const rfm_model_i *model);
int has_integers(const any_model *model);

const char *kernel_word(int kernel);
const char *any_kernel(const any_model *model); /* of integers: table, for that is all there is of it */
const char *any_metric(const any_model *model);
const char *type_word(int type); /* i8, i16, f32, f64 */
const char *task_word(int task);

/* M of an opened model in the units it was trained in: (d, d), or (1, d) if it is diagonal. Returns how it is called: full, diag,
 * identity. `m` NULL: only that. */
const char *model_metric(const rfm_model *model, rfm_real *m);

/* Parts of a full M without its d^2 numbers: the diagonal (d), also of a diagonal M; row i (d); F (r, d), M = F'F. */
void model_diagonal(const rfm_model *model, rfm_real *m);
void model_metric_row(const rfm_model *model, size_t i, rfm_real *row);
rfm_real *model_factor(const rfm_model *model); /* to be freed */

/* ---- the commands ----------------------------------------------------------------------------------------------------------- */

int command_train(char **argv);
int command_predict(char **argv);
int command_evaluate(char **argv);
int command_info(char **argv);
int command_export(char **argv);
int command_report(char **argv);
int command_compress(char **argv);
int command_help(char **argv);

#endif

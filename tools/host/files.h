/* Inputs as a whole; outputs as a whole or not at all. */
#ifndef FILES_H
#define FILES_H

#include "text.h"

#include <stdio.h>

/* An input to be read by and by; "-" is standard input. Ends the program if it cannot be opened. */
FILE *file_open(const char *file);

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

/* An output that comes in parts. Standard output has each at once; a file is there as a whole or not at all, as
 * file_write has it: its parts are kept in a temporary file. */
typedef struct {
    const char *file;
    FILE *kept; /* NULL: standard output, or a session */
    text whole; /* of a session */
} file_parts;

file_parts file_begin(const char *file);
void file_add(file_parts *p, const void *bytes, size_t size);
void file_end(file_parts *p);

/* A summary for people or --json: to standard output, or to standard error if the output `out` (NULL: none) takes that.
 * A reader of standard output that is gone ends the program silently by SIGPIPE, as it ends others. */
void file_show(const text *summary, const char *out);

/* Its name without folders; of "-" what `standard` says. */
const char *file_base(const char *file, const char *standard);

#endif

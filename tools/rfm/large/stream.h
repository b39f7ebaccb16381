/* Tables that are read in passes, a row at a time: CSVs larger than memory, and several files that are parts of one
 * table. Inputs are numbers. */
#ifndef STREAM_H
#define STREAM_H

#include "../learn/learn.h"

typedef struct stream stream;

/* Opens the parts and reads the first line of each; all have the same columns. Ends the program if they have not. */
stream *stream_open(const char *const *files, size_t count, int header);
void stream_close(stream *s);

size_t stream_columns(const stream *s);
const char *stream_name(const stream *s, size_t column);

/* Goes back to the first row. */
void stream_rewind(stream *s);

/* The cells of the next row, as numbers; 0: there are no more rows. Cells of the column `label` are left as text; that
 * is SIZE_MAX if there is none. Ends the program where another cell is no number. */
int stream_row(stream *s, size_t label, double *values);
const char *stream_label(const stream *s); /* of the last row; valid until the next */

#endif

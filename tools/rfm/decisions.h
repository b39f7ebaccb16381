/* What was decided about the table of a model, as its record has it: for people and as JSON. */
#ifndef DECISIONS_H
#define DECISIONS_H

#include "host/host.h"

/* A name, in quotes where it would run into what is beside it. */
void name_show(text *t, const char *name);

/* One more item of a list behind a title of LIST_INDENT columns, on a new line where it would not fit; *columns of the
 * line are taken, LIST_INDENT at first. The item is empty then. */
#define LIST_INDENT 14
void list_item(text *t, size_t *columns, text *item);

/* How inputs are made that are not just the number of a column, which columns are none, and everything else. */
void decisions_show(text *t, const any_model *any);
void decisions_json(text *t, const model_record *record);

#endif

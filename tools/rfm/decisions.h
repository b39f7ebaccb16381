/* What was decided about the table of a model, as its record has it: for people and as JSON. */
#ifndef DECISIONS_H
#define DECISIONS_H

#include "host/host.h"

/* A name, in quotes where it would run into what is beside it. */
void name_show(text *t, const char *name);

/* How inputs are made that are not just the number of a column, which columns are none, and everything else. */
void decisions_show(text *t, const any_model *any);
void decisions_json(text *t, const model_record *record);

#endif

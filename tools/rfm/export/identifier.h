/* Names and strings for C: what an exported header may call its array. */
#ifndef IDENTIFIER_H
#define IDENTIFIER_H

#include "host/model.h"

/* For --name: wrong usage if it is no identifier, or one that C, C++, their libraries or rfm.h have. To be freed. */
char *identifier_given(const char *name);

/* From the file's name, with model_ before it where that would be such a name. To be freed. */
char *identifier_of_file(const char *file);

/* Lines of a comment: the names of the inputs in their order, how those are made that are not a column's number, and
 * what missing cells become. */
void inputs_comment(text *t, const char *names, size_t count, const model_record *record);

/* As a C string; in a comment it cannot end the comment. */
void c_string(text *t, const char *value);

#endif

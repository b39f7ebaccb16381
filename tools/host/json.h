/* One JSON object on one line. */
#ifndef JSON_H
#define JSON_H

#include "text.h"

#include "rfm.h"

void json_text(text *t, const char *name, const char *value);
void json_number(text *t, const char *name, double value);                   /* null if it is not finite */
void json_real(text *t, const char *name, rfm_real value);                   /* in as few digits as give it back */
void json_names(text *t, const char *name, const char *names, size_t count); /* strings one after the other */
void json_object(text *t, const char *name, const text *content); /* a text filled by the above, without json_end */
void json_add(text *objects, text *one);                          /* one more such text for an array; it is freed */
void json_array(text *t, const char *name, text *objects);        /* freed, too */
void json_end(text *t);

#endif

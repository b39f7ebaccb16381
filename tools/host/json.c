#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One object on one line. */

static void key(text *t, const char *name) { text_add(t, "%s\"%s\": ", t->size == 0 ? "{" : ", ", name); }

/* Valid UTF-8 whatever the value is: a byte that is none counts as Latin-1. */
static void quote(text *t, const char *value) {
    text_bytes(t, "\"", 1);
    while (*value != 0) {
        uint32_t code;
        size_t n = utf8_read(value, &code);
        if (*value == '"' || *value == '\\')
            text_add(t, "\\%c", *value);
        else if (n == 0 || utf8_control(code))
            text_add(t, "\\u%04lx", (unsigned long)code);
        else
            text_bytes(t, value, n);
        value += n > 0 ? n : 1;
    }
    text_bytes(t, "\"", 1);
}

void json_text(text *t, const char *name, const char *value) {
    key(t, name);
    quote(t, value);
}

void json_number(text *t, const char *name, double value) {
    key(t, name);
    if (!isfinite(value))
        text_add(t, "null");
    else if (value == floor(value) && fabs(value) < 1e15)
        text_add(t, "%.0f", value);
    else
        text_add(t, "%.9g", value);
}

void json_real(text *t, const char *name, rfm_real value) {
    char digits[40];
    int precision = 6;
    do snprintf(digits, sizeof digits, "%.*g", precision++, (double)value);
    while ((rfm_real)strtod(digits, NULL) != value && precision < 18);
    key(t, name);
    text_add(t, "%s", isfinite(value) ? digits : "null");
}

void json_names(text *t, const char *name, const char *names, size_t count) {
    size_t i;
    key(t, name);
    text_bytes(t, "[", 1);
    for (i = 0; i < count; i++, names += strlen(names) + 1) {
        if (i > 0) text_bytes(t, ", ", 2);
        quote(t, names);
    }
    text_bytes(t, "]", 1);
}

void json_object(text *t, const char *name, const text *content) {
    key(t, name);
    if (content->size == 0)
        text_bytes(t, "{", 1);
    else
        text_bytes(t, content->at, content->size);
    text_bytes(t, "}", 1);
}

void json_add(text *objects, text *one) {
    if (objects->size > 0) text_bytes(objects, ", ", 2);
    text_bytes(objects, one->at, one->size);
    text_bytes(objects, "}", 1);
    free(one->at);
}

void json_array(text *t, const char *name, text *objects) {
    key(t, name);
    text_bytes(t, "[", 1);
    if (objects->size > 0) text_bytes(t, objects->at, objects->size);
    text_bytes(t, "]", 1);
    free(objects->at);
}

void json_end(text *t) { text_bytes(t, "}\n", 2); }

#include "text.h"

#include "progress.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory --------------------------------------------------------------------------------- */

void *allocate(size_t count, size_t size, const char *what) {
    void *p = count != 0 && size > SIZE_MAX / count ? NULL : calloc(count != 0 ? count : 1, size);
    if (p == NULL) fail("out of memory: %.0f bytes for %s", (double)count * (double)size, what);
    return p;
}

void *allocate_aligned(size_t bytes, const char *what) {
    void *p = NULL;
    size_t unit = sizeof(void *) > 64 ? sizeof(void *) : 64;
    if (posix_memalign(&p, unit, bytes != 0 ? bytes : 1) != 0) fail("out of memory: %zu bytes for %s", bytes, what);
    return p;
}

char *copy_text(const char *from, size_t length) {
    char *p = allocate(length + 1, 1, "text");
    memcpy(p, from, length);
    return p;
}

/* ---- a text that grows ---------------------------------------------------------------------- */

void text_bytes(text *t, const char *bytes, size_t count) {
    if (count > t->room - t->size || t->at == NULL) {
        size_t room = 2 * t->room + count + 256;
        char *more = realloc(t->at, room);
        if (more == NULL) fail("out of memory: %zu bytes for the output", room);
        t->at = more, t->room = room;
    }
    if (count > 0) memcpy(t->at + t->size, bytes, count);
    t->size += count;
}

void text_add(text *t, const char *format, ...) {
    char small[512], *large = small;
    va_list list;
    int n;
    va_start(list, format);
    n = vsnprintf(small, sizeof small, format, list);
    va_end(list);
    if (n < 0) fail("cannot format the output");
    if ((size_t)n >= sizeof small) {
        large = allocate((size_t)n + 1, 1, "text");
        va_start(list, format);
        vsnprintf(large, (size_t)n + 1, format, list);
        va_end(list);
    }
    text_bytes(t, large, (size_t)n);
    if (large != small) free(large);
}

/* ---- characters ----------------------------------------------------------------------------- */

size_t utf8_read(const char *at, uint32_t *code) {
    const unsigned char *p = (const unsigned char *)at;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* below it the same code has fewer bytes */
    size_t n = *p < 0x80 ? 1 : *p < 0xc0 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf8 ? 4 : 0, i;
    *code = n < 2 ? *p : *p & (0xffu >> (n + 1));
    for (i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            n = 0;
        else
            *code = *code << 6 | (p[i] & 0x3fu);
    }
    if (n > 0 && *code >= least[n] && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff)) return n;
    *code = *p;
    return 0;
}

int utf8_fit(const char *string, size_t most) {
    size_t used = 0;
    while (string[used] != 0) {
        uint32_t code;
        size_t n = utf8_read(string + used, &code), length = n > 0 ? n : 1;
        if (length > most - used) break;
        used += length;
    }
    return (int)used;
}

int utf8_control(uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

/* What a terminal obeys in place of showing it; line separators and what turns the direction of text are among it. */
static int unseen(uint32_t code) {
    return utf8_control(code) || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t text_visible(const char *at, const char *as_is, char room[VISIBLE_ROOM]) {
    uint32_t code;
    size_t n = utf8_read(at, &code), length = n > 0 ? n : 1;
    if ((n > 0 && !unseen(code)) || (*at != 0 && strchr(as_is, *at) != NULL)) {
        memcpy(room, at, length);
        room[length] = 0;
    } else if (*at == '\n')
        strcpy(room, "\\n");
    else if (*at == '\r')
        strcpy(room, "\\r");
    else if (*at == '\t')
        strcpy(room, "\\t");
    else
        for (n = 0; n < length; n++) sprintf(room + 4 * n, "\\x%02x", (unsigned)(unsigned char)at[n]);
    return length;
}

void text_shown(text *t, const char *bytes, size_t count, const char *as_is) {
    char *copy = copy_text(bytes, count), room[VISIBLE_ROOM]; /* a 0 behind it: no character goes beyond the end */
    size_t i = 0;
    while (i < count) {
        i += text_visible(copy + i, as_is, room);
        text_bytes(t, room, strlen(room));
    }
    free(copy);
}

void text_name(text *t, const char *name) { text_shown(t, name, strlen(name), ""); }

void text_wrapped(text *t, const char *words, size_t at, size_t indent, size_t width) {
    int first = 1; /* of its line */
    while (*words != 0) {
        size_t length, columns = 0, i;
        words += strspn(words, " ");
        if (*words == '\n' || *words == 0) {
            if (*words++ == 0) break;
            text_add(t, "\n%*s", (int)indent, "");
            at = indent, first = 1;
            continue;
        }
        length = strcspn(words, " \n");
        for (i = 0; i < length; i++) columns += (words[i] & 0xc0) != 0x80; /* characters of UTF-8 */
        if (!first && at + 1 + columns > width) {
            text_add(t, "\n%*s", (int)indent, "");
            at = indent, first = 1;
        }
        if (!first) text_bytes(t, " ", 1), at++;
        text_bytes(t, words, length);
        at += columns, first = 0, words += length;
    }
}

/* Memory, and text that grows in it. */
#ifndef TEXT_H
#define TEXT_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__GNUC__)
#define PRINTF_LIKE(place, first) __attribute__((format(printf, place, first)))
#define NEVER_RETURNS             __attribute__((noreturn))
#else
#define PRINTF_LIKE(place, first)
#define NEVER_RETURNS
#endif

void *allocate(size_t count, size_t size, const char *what); /* zeroed; fails with the number of bytes */
void *allocate_aligned(size_t bytes, const char *what);      /* by RFM_ALIGN, at least 1 byte; free() it */
char *copy_text(const char *text, size_t length);

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

/* Words, with spaces between, in lines of at most `width` columns. The first line goes on where the text is, at column
 * `at`; the others begin with `indent` spaces. '\n' in the words ends a line. No line end at the end. */
void text_wrapped(text *t, const char *words, size_t at, size_t indent, size_t width);

/* One character of it: what is shown goes into `room`; returns its bytes. Allocates nothing: fail() needs it. */
#define VISIBLE_ROOM 20
size_t text_visible(const char *at, const char *as_is, char room[VISIBLE_ROOM]);

/* Bytes of the UTF-8 character at `at`; 0 if there is none, then *code is the byte. A 0 byte ends what is looked at. */
size_t utf8_read(const char *at, uint32_t *code);
int utf8_control(uint32_t code);               /* C0, DEL, C1 */
int utf8_fit(const char *string, size_t most); /* how many of its bytes, up to `most`, are whole characters: for %.*s */

#endif

/* What goes to standard error, or to a session: messages, and how far the work is. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "text.h"

#include <signal.h>

extern int quiet; /* neither notes nor progress */

void fail(const char *format, ...) PRINTF_LIKE(1, 2) NEVER_RETURNS;
void usage(const char *format, ...) PRINTF_LIKE(1, 2) NEVER_RETURNS;
void note(const char *format, ...) PRINTF_LIKE(1, 2);

/* What was decided about data: a note, "FILE: ..." if the file is not NULL. While something is kept, also a string more
 * in there, without the file and whether notes are shown or not; the same decision once. NULL: nothing is kept. */
void decided(const char *file, const char *format, ...) PRINTF_LIKE(2, 3);
text *decisions_keep(text *to); /* returns what was kept before */

/* Fails if the library's status is not RFM_OK: what was done, and why it did not work. */
void must(int status, const char *what);

/* A bar on a terminal, a line now and then elsewhere. `done` of `total`; the same label until the next progress_end. */
void progress_show(const char *label, double done, double total);
void progress_end(void);

/* Not 0: the work is to end. Ctrl-C sets it once interrupt_catch is called, and no longer ends the program; in a
 * session its owner does. interrupt_forget: what comes next goes on, unless it is a session's. */
const volatile sig_atomic_t *interrupt_flag(void);
void interrupt_catch(void);
void interrupt_forget(void);

double seconds_now(void); /* of a clock that never jumps */

#define TIME_ROOM 40
const char *time_text(double seconds, char room[TIME_ROOM]); /* "12 s", "40 min", "3.5 h" */

#endif

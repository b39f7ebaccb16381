/* A command as a call of a library instead of a program: where its files, messages and failures go. A program has no
 * session: it reads and writes files, talks to standard error, and ends. */
#ifndef SESSION_H
#define SESSION_H

#include "text.h"

#include "rfm.h"

#include <signal.h>

struct array_table;
struct pool;

typedef struct session session;
struct session {
    /* status as a program would end with it: 1 the work failed, 2 wrong usage. Does not return. */
    void (*fail)(session *s, int status, const char *message);
    void (*note)(session *s, const char *message);
    void (*progress)(session *s, const char *label, double share); /* may fail(): then the work ends here */
    const volatile sig_atomic_t *cancel;                           /* not 0: long work ends soon */
    /* Inputs by their names; NULL: there is none. */
    const void *(*bytes)(session *s, const char *file, size_t *size);
    const struct array_table *(*table)(session *s, const char *file);
    void (*write)(session *s, const char *file, const void *bytes, size_t size);        /* file NULL: standard output */
    void (*run)(session *s, struct pool *threads, rfm_job job, void *arg, size_t jobs); /* jobs may fail() */
    struct pool *pool; /* that is to be ended with the session; NULL: none */
};

/* Of this thread; NULL: there is none. */
session *session_now(void);
void session_set(session *s);

#endif

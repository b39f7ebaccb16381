#include "progress.h"

#include "rfm.h"
#include "session.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_MESSAGE 10000

int quiet;

static int shown;         /* something of a bar is on the line */
static double last_time;  /* when it was drawn */
static double first_time; /* when its label came */
static const char *last_label;

double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One line, whatever the names in it are made of. */
static void visible(char *to, size_t size, const char *format, va_list list) {
    char message[MOST_MESSAGE], room[VISIBLE_ROOM];
    const char *p = message;
    size_t used = 0;
    if (vsnprintf(message, sizeof message, format, list) < 0) message[0] = 0;
    while (*p != 0) {
        size_t length;
        p += text_visible(p, "", room);
        length = strlen(room);
        if (used + length >= size) break;
        memcpy(to + used, room, length);
        used += length;
    }
    to[used] = 0;
}

/* status 0: a note. */
static void say(int status, const char *format, va_list list) {
    char message[MOST_MESSAGE];
    session *s = session_now();
    visible(message, sizeof message, format, list);
    if (s != NULL && status != 0) s->fail(s, status, message);
    if (s != NULL) {
        s->note(s, message);
        return;
    }
    if (shown) fputs("\r\033[K", stderr);
    shown = 0;
    fprintf(stderr, "rfm: %s\n", message);
}

void fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(1, format, list);
    va_end(list);
    exit(1);
}

void usage(const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(2, format, list);
    va_end(list);
    exit(2);
}

void note(const char *format, ...) {
    va_list list;
    if (quiet) return;
    va_start(list, format);
    say(0, format, list);
    va_end(list);
}

static __thread text *kept;

text *decisions_keep(text *to) {
    text *before = kept;
    kept = to;
    return before;
}

static int is_kept(const char *message) {
    size_t at;
    for (at = 0; at < kept->size; at += strlen(kept->at + at) + 1)
        if (strcmp(kept->at + at, message) == 0) return 1;
    return 0;
}

void decided(const char *file, const char *format, ...) {
    char message[MOST_MESSAGE];
    va_list list;
    va_start(list, format);
    if (vsnprintf(message, sizeof message, format, list) < 0) message[0] = 0;
    va_end(list);
    note(file != NULL ? "%s: %s" : "%s%s", file != NULL ? file : "", message);
    if (kept != NULL && !is_kept(message)) text_bytes(kept, message, strlen(message) + 1);
}

void must(int status, const char *what) {
    if (status != RFM_OK) fail("%s: %s", what, rfm_status_text(status));
}

/* ---- interruptions -------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

const volatile sig_atomic_t *interrupt_flag(void) {
    session *s = session_now();
    return s != NULL ? s->cancel : &interrupted;
}

void interrupt_catch(void) {
    struct sigaction action;
    if (session_now() != NULL) return;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

void interrupt_forget(void) {
    if (session_now() == NULL) interrupted = 0;
}

/* ---- how far the work is -------------------------------------------------------------------- */

const char *time_text(double seconds, char room[TIME_ROOM]) {
    double minutes = seconds / 60, hours = minutes / 60;
    if (seconds < 1)
        snprintf(room, TIME_ROOM, "%.1g s", seconds);
    else if (seconds < 100)
        snprintf(room, TIME_ROOM, "%.0f s", seconds);
    else if (minutes < 100)
        snprintf(room, TIME_ROOM, "%.0f min", minutes);
    else if (hours < 48)
        snprintf(room, TIME_ROOM, hours < 10 ? "%.1f h" : "%.0f h", hours);
    else
        snprintf(room, TIME_ROOM, "%.0f days", hours / 24);
    return room;
}

/* What is left, as the time so far says it; nothing while that is little. */
static void time_left(char *room, size_t size, double passed, double share) {
    char words[TIME_ROOM];
    *room = 0;
    if (passed < 2 || share < 0.01) return;
    snprintf(room, size, ", about %s left", time_text(passed / share - passed, words));
}

void progress_show(const char *label, double done, double total) {
    double now = seconds_now(), share = total > 0 ? fmin(done / total, 1) : 1;
    int terminal = isatty(2), i;
    char left[TIME_ROOM + 20];
    session *s = session_now();
    if (s != NULL) s->progress(s, label, share);
    if (quiet || s != NULL) return;
    if (label == last_label && now - last_time < (terminal ? 0.1 : 5)) return;
    if (label != last_label) first_time = now;
    if (label != last_label && !terminal) share = 0;
    time_left(left, sizeof left, now - first_time, share);
    if (!terminal) {
        if (label != last_label)
            fprintf(stderr, "rfm: %s\n", label);
        else
            fprintf(stderr, "rfm: %s %.0f %%%s\n", label, 100 * share, left);
    } else {
        fprintf(stderr, "\r\033[Krfm: %-26s [", label);
        for (i = 0; i < 30; i++) fputc(i < (int)(30 * share) ? '#' : '.', stderr);
        fprintf(stderr, "] %3.0f %%%s", 100 * share, left);
        fflush(stderr);
        shown = 1;
    }
    last_time = now, last_label = label;
}

void progress_end(void) {
    if (session_now() != NULL) return;
    if (shown) fputs("\r\033[K", stderr);
    shown = 0, last_label = NULL;
}

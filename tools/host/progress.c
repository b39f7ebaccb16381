#include "progress.h"

#include "rfm.h"

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
static void say(const char *format, va_list list) {
    char message[MOST_MESSAGE], room[VISIBLE_ROOM];
    const char *p = message;
    if (vsnprintf(message, sizeof message, format, list) < 0) message[0] = 0;
    if (shown) fputs("\r\033[K", stderr);
    shown = 0;
    fputs("rfm: ", stderr);
    while (*p != 0) {
        p += text_visible(p, "", room);
        fputs(room, stderr);
    }
    fputc('\n', stderr);
}

void fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
    exit(1);
}

void usage(const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
    exit(2);
}

void note(const char *format, ...) {
    va_list list;
    if (quiet) return;
    va_start(list, format);
    say(format, list);
    va_end(list);
}

void must(int status, const char *what) {
    if (status != RFM_OK) fail("%s: %s", what, rfm_status_text(status));
}

/* What is left, as the time so far says it; nothing while that is little. */
static void time_left(char *room, size_t size, double passed, double share) {
    double left = share > 0 ? passed / share - passed : 0;
    *room = 0;
    if (passed < 2 || share < 0.01) return;
    if (left < 100)
        snprintf(room, size, ", about %.0f s left", left);
    else
        snprintf(room, size, ", about %.0f min left", left / 60);
}

void progress_show(const char *label, double done, double total) {
    double now = seconds_now(), share = total > 0 ? fmin(done / total, 1) : 1;
    int terminal = isatty(2), i;
    char left[40];
    if (quiet) return;
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
    if (shown) fputs("\r\033[K", stderr);
    shown = 0, last_label = NULL;
}

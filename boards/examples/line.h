/* Lines of text from the platform: over the UART of a device, from standard input elsewhere. */
#ifndef LINE_H
#define LINE_H

#include "example.h"

#define LINE_MOST 240 /* characters; what is longer is cut off */

/* The next character; -1: none yet, -2: none any more. */
#if defined(ARDUINO)
static int hear(void) { return Serial.read(); }
#elif defined(BOARD_BARE)
static int hear(void) {
    int c = board_getchar();
    return c < 0 ? -2 : c;
}
#else
static int hear(void) {
    int c = getchar();
    return c == EOF ? -2 : c;
}
#endif

static char line[LINE_MOST + 1];
static int line_length;

/* 1: `line` is whole, 0: not yet, -1: there will be none. */
static int hear_line(void) {
    int c = hear();
    if (c < 0) return c == -1 ? 0 : -1;
    if (c == '\r') return 0;
    if (c != '\n') {
        if (line_length < LINE_MOST) line[line_length++] = (char)c;
        return 0;
    }
    line[line_length] = 0;
    line_length = 0;
    return 1;
}

/* Integers of 16 bits with spaces or commas between; how many, or -1 if something else is there or more than `most`. */
static int line_numbers(const char *at, int16_t *to, int most) {
    int count = 0;
    for (;;) {
        long value = 0;
        int minus, digits = 0;
        while (*at == ' ' || *at == ',') at++;
        if (*at == 0) return count;
        minus = *at == '-';
        for (at += minus; *at >= '0' && *at <= '9' && digits < 6; at++, digits++) value = 10 * value + (*at - '0');
        if (minus) value = -value;
        if (digits == 0 || count == most || value < -32768 || value > 32767) return -1;
        if (*at != 0 && *at != ' ' && *at != ',') return -1;
        to[count++] = (int16_t)value;
    }
}

#endif

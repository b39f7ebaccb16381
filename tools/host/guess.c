#include "guess.h"

#include "text.h"

#include <ctype.h>
#include <string.h>

#define MOST_LENGTH 64 /* longer words are not compared */

guess guess_of(const char *word, size_t length) {
    guess g = {NULL, NULL, 0, 0};
    g.word = word, g.length = length;
    g.distance = 1 + (length >= 9 ? 3 : length / 3); /* a third of the letters, at most three, may be wrong */
    return g;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static int letter(char c) { return tolower((unsigned char)c); }

/* x12 is hardly meant by x13: all digits are the same. */
static int same_digits(const char *a, size_t n, const char *b, size_t m) {
    size_t i = 0, j = 0;
    for (;;) {
        while (i < n && !isdigit((unsigned char)a[i])) i++;
        while (j < m && !isdigit((unsigned char)b[j])) j++;
        if (i == n || j == m) return i == n && j == m;
        if (a[i++] != b[j++]) return 0;
    }
}

/* How many letters are left out, added, changed or swapped with the next one; small and capital letters are alike. */
static size_t distance(const char *a, size_t n, const char *b, size_t m) {
    size_t rows[3][MOST_LENGTH + 1], *before = rows[0], *last = rows[1], *now = rows[2], *spare, i, j;
    for (j = 0; j <= m; j++) last[j] = j;
    for (i = 1; i <= n; i++) {
        now[0] = i;
        for (j = 1; j <= m; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (letter(a[i - 1]) != letter(b[j - 1])));
            if (i > 1 && j > 1 && letter(a[i - 1]) == letter(b[j - 2]) && letter(a[i - 2]) == letter(b[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
        spare = before, before = last, last = now, now = spare;
    }
    return last[m];
}

/* A word that was not written to its end: at least three letters of it, dashes not counted. */
static int begins(const guess *g, const char *candidate) {
    return g->length - least(strspn(g->word, "-"), g->length) >= 3 && strncmp(candidate, g->word, g->length) == 0;
}

void guess_try(guess *g, const char *candidate) {
    size_t length = candidate != NULL ? strlen(candidate) : 0, far;
    if (length == 0 || length > MOST_LENGTH || g->length > MOST_LENGTH) return;
    if (!begins(g, candidate) && !same_digits(g->word, g->length, candidate, length)) return;
    far = begins(g, candidate) ? 1 : distance(g->word, g->length, candidate, length);
    if (far < g->distance) g->distance = far, g->best = candidate;
}

const char *guess_text(const guess *g, char room[GUESS_ROOM]) {
    room[0] = 0;
    if (g->best != NULL) snprintf(room, GUESS_ROOM, "; did you mean %s?", g->best);
    return room;
}

/* "Did you mean": the word of a list that a misspelt one is closest to. */
#ifndef GUESS_H
#define GUESS_H

#include <stddef.h>

#define GUESS_ROOM 200

typedef struct {
    const char *word, *best; /* best NULL: none is close */
    size_t length, distance; /* of the word; of the best from it */
} guess;

guess guess_of(const char *word, size_t length);
void guess_try(guess *g, const char *candidate); /* NULL is none */

/* "; did you mean X?", or nothing. */
const char *guess_text(const guess *g, char room[GUESS_ROOM]);

#endif

/* A golden case as its file has it: blocks of numbers by name. What not every program uses is inline. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rfm.h"

#define BLOCKS 64

typedef struct {
    char name[16];
    size_t rows, cols;
    double *at;
} block;

static block blocks[BLOCKS];
static size_t block_count;

static void die(const char *what, const char *which) {
    fprintf(stderr, "%s: %s\n", what, which);
    exit(2);
}

static void *take(size_t count, size_t size) {
    void *p = malloc(count * size + 1); /* a size of zero is no failure */
    if (p == NULL) die("no memory", "malloc");
    return p;
}

static double *find(const char *name, size_t rows, size_t cols) {
    size_t i;
    for (i = 0; i < block_count; i++)
        if (strcmp(blocks[i].name, name) == 0) {
            if (blocks[i].rows != rows || blocks[i].cols != cols) die("wrong shape", name);
            return blocks[i].at;
        }
    return NULL;
}

static double *need(const char *name, size_t rows, size_t cols) {
    double *at = find(name, rows, cols);
    if (at == NULL) die("missing block", name);
    return at;
}

static void shape(const char *name, size_t *rows, size_t *cols) {
    size_t i;
    for (i = 0; i < block_count; i++)
        if (strcmp(blocks[i].name, name) == 0) {
            *rows = blocks[i].rows;
            *cols = blocks[i].cols;
            return;
        }
    die("missing block", name);
}

static double number(const char *name) { return need(name, 1, 1)[0]; }

static rfm_real *reals(const double *from, size_t count) {
    rfm_real *to = take(count, sizeof *to);
    size_t i;
    for (i = 0; i < count; i++) to[i] = (rfm_real)from[i];
    return to;
}

static inline rfm_real *block_reals(const char *name, size_t rows, size_t cols) {
    return reals(need(name, rows, cols), rows * cols);
}

/* The largest difference, as a share of the largest entry that is expected. */
static inline double off_by(const double *expect, size_t count, const rfm_real *got) {
    double worst = 0, most = 0;
    size_t i;
    for (i = 0; i < count; i++) {
        most = fmax(most, fabs(expect[i]));
        if (!(fabs((double)got[i] - expect[i]) <= worst)) worst = fabs((double)got[i] - expect[i]);
    }
    return worst == 0 ? 0 : worst / most;
}

/* A bound above 0.01 says nothing: then the numbers only have to be finite. */
static inline int near(const char *name, size_t rows, size_t cols, const rfm_real *got, double bound) {
    const double off = off_by(need(name, rows, cols), rows * cols, got);
    if (off <= (bound > 1e-2 ? DBL_MAX : bound)) return 1;
    printf("  %s is off by %.3g of its largest, %.3g allowed\n", name, off, bound);
    return 0;
}

/* Of a block that has a number behind its name: of a step, a layer, a round. */
static inline int near_at(const char *name, size_t which, size_t rows, size_t cols, const rfm_real *got, double bound) {
    char full[16];
    snprintf(full, sizeof full, "%s%u", name, (unsigned)which);
    return near(full, rows, cols, got, bound);
}

static void read_blocks(const char *path) {
    FILE *file = fopen(path, "r");
    block *b;
    size_t i;
    if (file == NULL) die("cannot read", path);
    for (block_count = 0; block_count < BLOCKS; block_count++) {
        b = &blocks[block_count];
        if (fscanf(file, "%15s %zu %zu", b->name, &b->rows, &b->cols) != 3) break;
        b->at = take(b->rows * b->cols, sizeof *b->at);
        for (i = 0; i < b->rows * b->cols; i++)
            if (fscanf(file, "%lf", &b->at[i]) != 1) die("cannot read a number", path);
    }
    if (!feof(file)) die("not understood", path);
    fclose(file);
}

static inline void free_blocks(void) {
    size_t i;
    for (i = 0; i < block_count; i++) free(blocks[i].at);
}

#endif

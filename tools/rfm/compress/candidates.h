/* Small models that are tried: made from fits on parts of the training rows, scored on the others. */
#ifndef CANDIDATES_H
#define CANDIDATES_H

#include "compress.h"

#include <pthread.h>

#define MOST_SETS 4

extern const int all_types[TYPES];

/* A part of the rows with a fit of its own; of a mean, with as many as it has models. */
typedef struct {
    part rows;
    rfm_model sources[MOST_MODELS];
    void *blobs[MOST_MODELS];
} fold;

/* A number of inputs: what is kept of the rows, and what its models are measured by. */
typedef struct {
    size_t count;
    char *names;
    extras extras;
    rfm_model like; /* sizes of a model on these inputs */
    fold parts[MOST_PARTS];
} input_set;

/* A thinned model in one or more types. */
typedef struct {
    size_t set, rank, centers, polish;
    double ridge;
    unsigned types; /* bit i: all_types[i] */
} cell;

typedef struct {
    int status;
    size_t right, nodes; /* nodes: of phi, where that is in 8 bits */
    double loss;
} outcome;

typedef struct {
    const tradeoff *t;
    size_t folds, part_count, held; /* part_count: of the folds, as many as are used */
    uint32_t *order;
    double *around;
    input_set sets[MOST_SETS]; /* the first has all inputs */
    size_t base;               /* the set that the search starts with */
    size_t set_count, nodes;
    size_t ranks[MOST_RANKS], rank_count; /* to try, of the base */
    candidate *list;
    size_t *list_set;
    size_t count, room;
    rfm_real *scores; /* (rows, c) of the rows that a model has not seen; NULL: they are not kept */
    /* a batch */
    const cell *cells;
    outcome *outcomes; /* (cells, parts, TYPES) */
    const char *label;
    size_t done, all;
    pthread_mutex_t lock;
} work;

/* Cuts the rows; the first set, of all inputs, is made. */
void work_begin(work *w, const tradeoff *t);
void work_end(work *w);

/* One more set: the `count` inputs that weigh most. Its number. */
size_t add_set(work *w, size_t count);

/* The score of a fit as it is, at full size, on the rows that it has not seen. */
double full_score(const work *w);

/* Tries cells on every part, but for what has been tried; their scores become candidates. Changes `cells`. */
void run_cells(work *w, const char *label, cell *cells, size_t count);

/* A candidate of these once more, so that its scores are kept. */
void cell_again(work *w, const candidate *k, size_t set);

/* Pieces of work on all threads. */
void run_jobs(const machine *m, void (*job)(void *arg, size_t index, size_t worker), void *arg, size_t jobs);

/* For work on the calling thread only. */
rfm_ctx own_ctx(const work *w);

/* The rows that a model has not seen; and what many such outcomes mean. */
void judge(const work *w, const part *p, const any_model *model, outcome *o);
double score_from(const work *w, size_t right, double loss);

void add_candidate(work *w, const candidate *k, size_t set);

/* tradeoff.c */
int better(const candidate *a, const candidate *b);

/* distill.c: tries tiny models for the budget, or until one is as good as `least`; the bytes of the smallest. */
void tiny_search(work *w, double least);
size_t tiny_least(const work *w);
void tiny_again(work *w, const recipe *k); /* as cell_again */

#endif

/* What the programs of random cases share: numbers from a seed, memory, exact calls, and the loop over the cases.
 *
 * A program has parts, each a function that draws and checks one case. Case k of a part at seed s is the same on
 * every run. Cases run in a child process: one that crashes or hangs is one failure, and the next one follows. */
#ifndef SWEEP_H
#define SWEEP_H

#include <float.h>

#include "rfm.h"
#include "rfm_port.h"
#include "rfm_small.h"

#if RFM_REAL_BYTES == 4
#define EPSILON ((double)FLT_EPSILON)
#define NOISE   (4 * EPSILON) /* of the reference: reference.h */
#else
#define EPSILON DBL_EPSILON
#define NOISE   1e-13 /* the reference itself is a double */
#endif

#define LENGTH(list) (sizeof(list) / sizeof((list)[0]))

/* ---- the case ------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    void (*run)(size_t number);
    size_t cases; /* what a run makes of it if it is not told otherwise */
    size_t most;  /* there are no more; 0: no end */
} part;

/* sweep [--seed S] [--case K] [--cases N] [--seconds T] [--loose 1] [part ...]; its exit status. --loose: names what
 * could not be compared. */
int run_parts(int argc, char **argv, const part *parts, size_t count);

/* Adds to the line that describes the case; it is printed if the case fails. */
void note(const char *format, ...);

/* The case has failed; it goes on, and what else is wrong with it is not printed. */
void fail(const char *format, ...);

/* A call has refused what was drawn. That is a failure, unless the numbers are at the ends of their range. */
void refused(const char *what, int status);

/* What a case allows beyond that; zeros before each case. */
extern struct slack {
    int statuses;  /* 1: RFM_ERANGE, RFM_EVALUE, RFM_ENOTPD, RFM_ECONVERGE; and the ridge may grow */
    int no_values; /* 1: all that compare() asks is finite numbers */
    double least;  /* what compare() allows beside its bound: numbers below the normal range may count as 0 */
} slack;

/* Something in this case was too ill-conditioned to be compared. */
void not_compared(const char *what);

/* ---- numbers -------------------------------------------------------------------------------- */

size_t draw(size_t below); /* 0 ... below - 1 */
size_t draw_of(size_t count, const size_t *list);
int chance(size_t one_in);
double uniform(double low, double high);
uint64_t hash_bytes(uint64_t hash, const void *at, size_t bytes);

/* The exponent of the power of two that `what` is scaled by: 0, unless a program puts its own function here. */
extern int (*draw_scale)(const char *what);

/* A size: mostly small, sometimes next to one of the block sizes of rfm.c, never above `most`. */
size_t draw_size(size_t most);

/* A port that this machine can run, or one with the smallest blocks. */
const rfm_port *draw_port(void);

/* ---- memory: each block on its own, gone after the case ------------------------------------- */

void *take(size_t bytes);
rfm_real *take_reals(size_t count);

/* A view, half of them with gaps between the rows; gaps are NaN. */
rfm_mat draw_view(size_t rows, size_t cols);
void fill(rfm_mat a, double low, double high);
void fill_nan(rfm_mat a);
uint64_t hash_view(uint64_t hash, rfm_cmat a);

/* ---- calls ---------------------------------------------------------------------------------- */

/* A function of the library with its arguments in `arg`. */
typedef struct {
    const char *name;
    int (*need)(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store); /* *store stays 0 if it has none */
    int (*run)(const rfm_ctx *ctx, void *arg, rfm_arena *store);                /* from fresh arguments */
    uint64_t (*hash)(const void *arg);                                          /* of what it wrote */
} call;

/* Runs it on exactly the memory that it needs, with 1, 2 and 7 workers: the same status and the same bits; and one
 * byte less is RFM_EARENA. The arenas are blocks of their own, or one. What the last run wrote stays. The status. */
int exact(const call *f, void *arg, const rfm_port *port);

/* Is `got` within the bound of what is expected (and slack.least), finite in any case? A negative bound: only that. */
void compare(const char *what, rfm_cmat got, const double *expected, double bound);

#endif

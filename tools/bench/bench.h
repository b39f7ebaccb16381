/* rfm-bench - our linear algebra beside OpenBLAS in one process; whole fits beside NumPy in another one.
 *
 * A bench is a row of the table in main.c. Either it gets the run's settings and a size, describes one operation as a
 * bench_pair (prepare, ours, theirs), leaves the clock to bench_measure() and the report to main.c; or it does all of
 * that itself, as fit.c does.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>

#include "rfm.h"

/* ---- the peer: OpenBLAS, found at run time (peer.c) ----------------------------------------- */

/* Fortran interface with 32-bit integers; the size_t at the end are the lengths of the character arguments. */
typedef struct {
    void (*gemm)(const char *ta, const char *tb, const int *m, const int *n, const int *k, const rfm_real *alpha,
                 const rfm_real *a, const int *lda, const rfm_real *b, const int *ldb, const rfm_real *beta,
                 rfm_real *c, const int *ldc, size_t, size_t);
    void (*potrf)(const char *uplo, const int *n, rfm_real *a, const int *lda, int *info, size_t);
    void (*potrs)(const char *uplo, const int *n, const int *nrhs, const rfm_real *a, const int *lda, rfm_real *b,
                  const int *ldb, int *info, size_t);
    void (*syevd)(const char *jobz, const char *uplo, const int *n, rfm_real *a, const int *lda, rfm_real *w,
                  rfm_real *work, const int *lwork, int *iwork, const int *liwork, int *info, size_t, size_t);
    char core[32];    /* the core type in use, as OpenBLAS says; "unknown" if it does not */
    char version[32]; /* "0.3.21" */
    int fair;         /* same instruction set as the port: the aims mean something */
} bench_peer;

/* Loads OpenBLAS with the core type that matches the port. `file` NULL: the usual names. 0, or -1 with a word of advice
 * on stderr. Once per process: the core type cannot be changed afterwards. */
int bench_peer_open(bench_peer *peer, const char *file, const char *port, size_t threads);

/* The core type to ask OpenBLAS for, NULL: its own choice. *fair: its kernels have the port's instructions. */
const char *bench_peer_core(const char *port, int *fair);

/* ---- a run ---------------------------------------------------------------------------------- */

typedef struct {
    const rfm_port *port;
    const bench_peer *peer; /* NULL: ours alone */
    size_t threads;
    void *pool;     /* a pool *, NULL for one thread */
    size_t repeats; /* 0: as many as it takes */
    double peak;    /* GFLOP/s of one core, 0 if not measured */
    int json;
    int alone;                     /* no NumPy either */
    const size_t *n, *d, *outputs; /* fits: only these, .. */
    size_t sizes, dims, counts;    /* .. so many of them, 0: all */
    const char *metric;            /* NULL: all */
    const char *task;              /* of large; NULL: all */
    const char *data;              /* of large: the folder of its tables; NULL: rows are generated */
} bench_run;

typedef struct {
    double seconds;      /* best of ours */
    double peer_seconds; /* best of theirs, 0 without a peer */
    double flops;        /* that one call is counted as */
    double diff;         /* of the two results, relative; < 0: not compared */
    double tolerance;    /* for diff */
    double aim;          /* for peer_seconds / seconds */
    int ms;              /* JSON also gives the times */
} bench_result;

typedef struct {
    const char *name, *help;
    size_t n[4];                                                      /* sizes by default, ends with 0 */
    size_t n_long[4];                                                 /* what --long adds */
    int (*run)(const bench_run *run, size_t n, bench_result *result); /* 0, or -1 with the reason on stderr */
    int (*all)(const bench_run *run); /* instead of run: all sizes and the report. 0, or -1 */
    int rare;                         /* only if asked for */
} bench_entry;

/* ---- measuring (measure.c) ------------------------------------------------------------------ */

typedef struct {
    void *data;
    void (*prepare)(void *data); /* not timed: fresh inputs for the next call */
    int (*ours)(void *data);     /* a status of rfm */
    int (*theirs)(void *data);   /* LAPACK's info */
    void (*keep)(void *data);    /* not timed: put our result aside before theirs overwrites it */
    double (*diff)(void *data);  /* theirs against what was kept */
} bench_pair;

/* Runs both once, compares, then times them in turn: ours, theirs, ours, theirs... Fills in seconds, peer_seconds and
 * diff. */
int bench_measure(const bench_run *run, const char *name, const bench_pair *pair, bench_result *result);

double bench_now(void); /* seconds, monotonic */

/* Memory that is never missing: ends the program if there is none. Aligned to a page; free() it. */
void *bench_alloc(size_t count, size_t size);

/* Uniform in [-1, 1), the same sequence for the same seed. */
void bench_random(rfm_real *x, size_t count, unsigned seed);

/* max |a - b| / max |b| */
double bench_distance(const rfm_real *a, const rfm_real *b, size_t count);

/* A context for this run with an arena of `bytes`; bench_ctx_free gives it back. */
typedef struct {
    rfm_ctx ctx;
    rfm_arena arena;
    void *memory;
} bench_ctx;

void bench_ctx_init(bench_ctx *b, const bench_run *run); /* no memory yet: enough for the rfm_..._need functions */
int bench_ctx_arena(bench_ctx *b, size_t bytes);
void bench_ctx_free(bench_ctx *b);

/* ---- benches -------------------------------------------------------------------------------- */

int bench_gemm(const bench_run *run, size_t n, bench_result *result); /* linalg.c */
int bench_chol(const bench_run *run, size_t n, bench_result *result);
int bench_solve(const bench_run *run, size_t n, bench_result *result);
int bench_eig(const bench_run *run, size_t n, bench_result *result);

int bench_fit(const bench_run *run);     /* fit.c: fits and predictions */
int bench_predict(const bench_run *run); /* predictions only */
int bench_growth(const bench_run *run);

int bench_conv(const bench_run *run); /* conv.c: a patch kernel and its AGOP */

int bench_large(const bench_run *run); /* large.c: any number of rows */

double bench_peak(const char *port); /* peak.c: GFLOP/s of fused multiply-adds on one core; 0: no loop for this port */

#endif

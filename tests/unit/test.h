/* What the unit tests share: memory with guards, numbers that can be recomputed, and calls of the library as data.
 *
 * A test program uses no heap and prints nothing by itself. All its arguments and arenas come from one static pool of
 * TEST_RAM bytes; a size that does not fit in the pool is left out, so the same program runs on a server and on a
 * microcontroller with 8 KiB. Every byte around an argument is 0xFF, a NaN as a number, and must still be 0xFF later.
 */
#ifndef TEST_H
#define TEST_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "rfm.h"
#include "unity.h"

#ifndef TEST_RAM
#define TEST_RAM (64ul << 20)
#endif

/* The build checks every access: quick tests, and fences around what is in use. */
#if defined(__SANITIZE_ADDRESS__)
#define TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ASAN 1
#endif
#endif
#if defined(TEST_ASAN) && !defined(TEST_QUICK)
#define TEST_QUICK 1
#endif

/* ThreadSanitizer looks at threads and takes twenty times as long: such a build runs nothing without them. */
#if defined(__SANITIZE_THREAD__)
#define TEST_TSAN 1
#else
#define TEST_TSAN 0
#endif

/* A matter of patience: the largest order of the matrices, and the largest for which every kind of them is tried;
 * beyond that the kinds take turns. */
#if TEST_RAM < (16ul << 20)
#define TEST_N_MAX 40
#define TEST_N_ALL 5
#elif defined(TEST_QUICK)
#define TEST_N_MAX 220
#define TEST_N_ALL 17
#else
#define TEST_N_MAX 500
#define TEST_N_ALL 70
#endif

/* 1: fewer of several like cases. */
#if TEST_RAM < (16ul << 20) || defined(TEST_QUICK)
#define TEST_FEW 1
#else
#define TEST_FEW 0
#endif

#if RFM_REAL_BYTES == 4
#define TEST_EPS ((double)FLT_EPSILON)
#else
#define TEST_EPS DBL_EPSILON
#endif

#define TEST_LENGTH(list) (sizeof(list) / sizeof((list)[0]))

/* ---- assertions: a failure shows the note --------------------------------------------------- */

extern char test_noted[64];
void test_note(const char *text, size_t a, size_t b, size_t c); /* "text a b c" */

#define CHECK(condition)         TEST_ASSERT_MESSAGE(condition, test_noted)
#define CHECK_INT(expect, value) TEST_ASSERT_EQUAL_INT_MESSAGE(expect, value, test_noted)
#define CHECK_SIZE(expect, value) \
    TEST_ASSERT_EQUAL_UINT32_MESSAGE((UNITY_UINT32)(expect), (UNITY_UINT32)(value), test_noted)
#define CHECK_BELOW(value, bound) CHECK((value) <= (bound)) /* false for a NaN */

/* ---- numbers -------------------------------------------------------------------------------- */

/* A number in [-1, 1), the same for the same arguments, and a small multiple of 2^-20: exact as a float. */
double test_number(uint32_t stream, size_t i, size_t j);

/* 0: this machine has the other byte order, and takes no blobs. */
int test_little_endian(void);
#define NEED_BLOBS() \
    if (!test_little_endian()) TEST_IGNORE_MESSAGE("big-endian: no blobs")

/* Symmetric matrices (n, n) by element. */
enum {
    /* positive definite */
    TEST_RANDOM,  /* three random rank-one terms plus the identity */
    TEST_GRADED,  /* the same, rows and columns scaled by 1e-3 ... 1e3 */
    TEST_HILBERT, /* 1 / (i + j + 1), shifted to the edge of what the number type resolves */
    TEST_LAPLACE, /* Gram matrix of exp(-|x - y|), random points in three dimensions */
    TEST_RIDGE,   /* the same plus 1e-3 on the diagonal */
    TEST_IDENTITY,
    TEST_SPD_KINDS,
    /* the others */
    TEST_SYMMETRIC = TEST_SPD_KINDS, /* random elements */
    TEST_DIAGONAL,
    TEST_BLOCKS,    /* random blocks of order 1, 2, 3, ... and nothing between them */
    TEST_STRING,    /* tridiagonal -1, 2, -1 */
    TEST_WILKINSON, /* tridiagonal 1, |(n - 1) / 2 - i|, 1 */
    TEST_ZERO,
    TEST_CLUSTERS,  /* from here on H D H, H a reflection: eigenvalues 1, 2, 3, each repeated to within epsilon */
    TEST_DEFICIENT, /* a third of the eigenvalues not zero */
    TEST_DECAY,     /* eigenvalues 1 ... 1e-6 */
    TEST_NEGATIVE,  /* eigenvalues -1 ... -2 */
    TEST_KINDS
};
double test_symmetric(int kind, size_t n, size_t i, size_t j);

/* Eigenvalue i of the kinds that are H D H, the diagonal of TEST_DIAGONAL; in no order. */
double test_eigenvalue(int kind, size_t n, size_t i);

/* ---- memory --------------------------------------------------------------------------------- */

void test_reset(void);         /* forget everything that was taken; setUp does it */
void *test_take(size_t bytes); /* filled with 0xFF; NULL if the pool is too small */
/* The arena for the calls of ctx, of the pool; 0: no room. */
int test_arena(rfm_ctx *ctx, rfm_arena *arena, size_t bytes);
size_t test_mark(void);        /* where the pool stands ... */
void test_rewind(size_t mark); /* ... and back to there */
uint64_t test_hash(size_t to); /* of the pool's bytes below a mark */

/* A view with `pad` elements between its rows, starting `skew` elements into its block; at = NULL if it does not
 * fit. */
rfm_mat test_mat(size_t rows, size_t cols, size_t pad, size_t skew);

/* What surrounds the view is as it was. */
void test_check_padding(rfm_mat a);
/* What is below the diagonal is 0xFF still. */
void test_check_lower(rfm_mat a);

/* ---- ports and workers ---------------------------------------------------------------------- */

/* The ports that run here, then "blocks": the portable one with the smallest cache blocks and every entry NULL that
 * may be. NULL after the last. */
const rfm_port *test_port(size_t index);

/* Workers in one thread: the jobs one after the other, dealt out in turn. */
typedef struct {
    size_t workers;
    int reverse;
} test_pool;
void test_pool_run(void *pool, rfm_job job, void *arg, size_t jobs);

/* ---- calls as data -------------------------------------------------------------------------- */

enum { TEST_GEMM, TEST_SYRK, TEST_CHOL, TEST_TRSM, TEST_SOLVE, TEST_RANK, TEST_EIG, TEST_CALLS };

/* Arguments of one call; what a function does not take is ignored. */
typedef struct {
    int what, op;
    int kind;             /* of a in chol, rank and eig */
    double scale;         /* of a there; 0 counts as 1 */
    rfm_real alpha, beta; /* the tolerance of rank is alpha */
    rfm_mat a, b, c;      /* trsm, solve: U in a, B in c; eig: V in c; chol, rank: a in place */
    size_t k;
    rfm_real *w;
    uint32_t *perm;
    size_t *count; /* chol: row, rank: rank */
} test_call;

int test_call_run(const rfm_ctx *ctx, const test_call *call);
int test_call_need(const rfm_ctx *ctx, const test_call *call, size_t *bytes);

/* The arguments as they are before the call; outputs are 0xFF. Not the factor for TEST_SOLVE: that stays. */
void test_fill(const test_call *call);

#define TEST_SKIP 1 /* no room for it in the pool */

/* Fill, then run on exactly the memory that the call needs, behind a block that must survive. */
int test_run(const test_call *call, const rfm_port *port, const test_pool *pool);

/* Fill, run again and again, alone and with workers: always that status, and always the same bits in the pool. */
void test_check_same(const test_call *call, const rfm_port *port, int status);

/* One byte less than the need: refused, nothing written. */
void test_check_short(const test_call *call, const rfm_port *port);

/* The call as it stands is refused with that status, and no argument is written; no scratch either, but for
 * RFM_EFINITE. */
void test_check_refused(const test_call *call, const rfm_ctx *ctx, int status);

/* What is checked alike for every function: NULL, zero sizes, shapes, strides, sizes that overflow, overlaps, NaN and
 * infinities, wrong ops. All views have at least two rows and two columns, and padding; beta is not 0. */
void test_check_arguments(const test_call *call, const rfm_port *port);

#endif

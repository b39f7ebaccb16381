/* rfm - Recursive Feature Machines on memory that the caller hands over.
 *
 * Kernel ridge regression that learns a metric, in C99, with its own linear algebra. This header and rfm.c are the
 * whole core: they need libc's string.h and math.h, nothing else; no malloc, no globals, no recursion.
 *
 * Conventions, everywhere:
 *   - Functions that can fail return an int: RFM_OK (0) or a negative RFM_E... code; rfm_status_text() explains it.
 *     Arguments are always checked. After a refusal (RFM_ENULL ... RFM_EARENA) nothing has been written.
 *   - Scratch memory comes from an arena. For every function rfm_x() that needs some there is rfm_x_need(), which runs
 *     the same layout code: exactly that many bytes succeed, one byte less is refused before any work.
 *   - Matrices are row-major; a stride is counted in elements, not bytes. A shape comment (m, n) means m rows, n columns.
 *   - Nothing is shared between calls: any two calls may run at the same time if neither writes what the other uses.
 *
 * Contents: switches, status, arena, ports, context, matrix views, products, Cholesky, eigenpairs.
 */
#ifndef RFM_H
#define RFM_H

#include <stddef.h>
#include <stdint.h>

/* ---- switches: define them for the whole build, the library and its users alike --------------------------------- */

/* The type of every number: float, or double (-DRFM_REAL=double). The ports in port/ exist for float only. */
#ifndef RFM_REAL
#define RFM_REAL float
#endif

#define RFM_CAT2_(a, b) a##b
#define RFM_CAT_(a, b)  RFM_CAT2_(a, b)
#define RFM_BYTES_OF_float  4
#define RFM_BYTES_OF_double 8
#define RFM_REAL_BYTES RFM_CAT_(RFM_BYTES_OF_, RFM_REAL) /* 4 or 8, usable in #if */

#ifdef __cplusplus
extern "C" {
#endif

#define RFM_VERSION_MAJOR 0
#define RFM_VERSION_MINOR 1
#define RFM_VERSION_PATCH 0

typedef RFM_REAL rfm_real;

/* ---- status: the values never change meaning -------------------------------------------------------------------- */

#define RFM_OK          0
#define RFM_ENULL      (-1) /* a pointer that must not be NULL is NULL */
#define RFM_EZERO      (-2) /* a size is zero */
#define RFM_ESHAPE     (-3) /* sizes of the arguments do not fit each other */
#define RFM_ESTRIDE    (-4) /* a row stride is smaller than the row */
#define RFM_EOVERFLOW  (-5) /* a size does not fit into size_t or into the library's 32-bit indices */
#define RFM_EALIAS     (-6) /* an output overlaps another argument */
#define RFM_EFINITE    (-7) /* the input holds a NaN or an infinity */
#define RFM_EVALUE     (-8) /* an argument is outside its range */
#define RFM_EALIGN     (-9) /* memory is not aligned as it must be */
#define RFM_EARENA    (-10) /* the arena is too small */
#define RFM_ENOTPD    (-11) /* the matrix is not positive definite */
#define RFM_ECONVERGE (-12) /* an iteration did not converge */
#define RFM_ERANGE    (-13) /* finite input, but the result does not fit into the number type */

/* One sentence for a status; never NULL. */
const char *rfm_status_text(int status);

/* ---- arena: a caller's block of memory, handed out from the bottom up -------------------------------------------- */

/* Every block starts at a multiple of this; so must the memory of an arena. */
#define RFM_ALIGN 16

/* Only bytes are kept in it, no pointers, so needs are the same on every target (given the same port and number type).
 * The first failure sticks in `status`: a layout takes all its blocks and looks once. */
typedef struct {
    unsigned char *base; /* NULL: a measuring arena, which has no end and hands out NULL */
    size_t size;         /* bytes at base */
    size_t used;         /* bytes handed out */
    size_t peak;         /* the most that `used` has been */
    int status;          /* RFM_OK, or why a take failed */
} rfm_arena;

/* Use `size` bytes at `memory`. RFM_ENULL, RFM_EALIGN. */
int rfm_arena_init(rfm_arena *arena, void *memory, size_t size);

/* An arena without memory: takes only count, and `peak` is the need afterwards. */
void rfm_arena_measure(rfm_arena *arena);

/* count * size bytes, 16-byte aligned, contents undefined. NULL after a failure (arena->status: RFM_EOVERFLOW,
 * RFM_EARENA) and always from a measuring arena. */
void *rfm_arena_take(rfm_arena *arena, size_t count, size_t size);

/* Give back everything taken since `used` had this value. */
void rfm_arena_release(rfm_arena *arena, size_t used);

/* ---- ports: the inner loops of one instruction set (port/README.md is the contract) ------------------------------ */

/* Where an entry is NULL the portable code is used. Packed panels: an A panel holds mr rows, element (i, p) at
 * a[p * mr + i]; a B panel holds nr columns, element (p, j) at b[p * nr + j]. Panels are padded with zeros. */
typedef struct {
    const char *name;
    size_t mr, nr;     /* the tile of C that gemm computes */
    size_t mc, kc, nc; /* cache blocks: mc x kc of A, kc x nc of B; mc a multiple of mr, nc of nr */

    /* C = alpha A B, or C += alpha A B if add: A (mr, k) has element (i, p) at a[i * rs + p * cs], B is a packed panel,
     * C (mr, nr) has rows ldc apart. Without add C is not read. Never NULL. */
    void (*gemm)(size_t k, rfm_real alpha, const rfm_real *a, size_t rs, size_t cs, const rfm_real *b, rfm_real *c,
                 size_t ldc, int add);

    /* One step of a forward substitution on a packed B panel: rows 0..k-1 of b are solved; rows k..k+mr-1 hold the right-
     * hand side T and become L^-1 (T - A b[0..k-1]). `a` is an A panel with k + mr columns: A, then the lower
     * triangle L with the reciprocals of its diagonal in place of the diagonal. */
    void (*trsm)(size_t k, const rfm_real *a, rfm_real *b);

    /* Four rows of A at once, each element read once: y[j] += sum_r coef[r] a[r * lda + j];  dots[r] += sum_j
     * a[r * lda + j] x[j], for j < n and r < 4. */
    void (*rows4)(size_t n, const rfm_real *a, size_t lda, const rfm_real coef[4], const rfm_real *x, rfm_real *y,
                  rfm_real dots[4]);

    /* y[i] = exp(x[i]) and y[i] = sqrt(x[i]), i < n; x == y is allowed. exp(-inf) = 0, exp(large) = inf. */
    void (*exp)(size_t n, const rfm_real *x, rfm_real *y);
    void (*sqrt)(size_t n, const rfm_real *x, rfm_real *y);

    /* 1 if x[0..n-1] has neither a NaN nor an infinity. */
    int (*finite)(size_t n, const rfm_real *x);

    /* A whole panel of `width` (mr or nr) rows: dst[p * width + i] = a[i * rs + p * cs], p < k; rs or cs is 1. Nothing beyond
     * dst[k * width - 1] is written. */
    void (*pack)(size_t width, size_t k, const rfm_real *a, size_t rs, size_t cs, rfm_real *dst);
} rfm_port;

/* The portable C in rfm.c, always there, named "scalar". The others: port/rfm_port.h. */
extern const rfm_port rfm_port_scalar;

/* ---- context: what a call works with ------------------------------------------------------------------------------ */

/* A piece of work: called once for every index < jobs; at any moment no two calls have the same worker number. */
typedef void (*rfm_job)(void *arg, size_t index, size_t worker);

/* The library starts no threads. Whoever has some passes `run`; results are the same bits with any number of workers.
 * All zero but for the arena is a valid context: portable code, one thread. */
typedef struct {
    rfm_arena *arena;     /* scratch; after a call `used` is what it was before */
    const rfm_port *port; /* NULL: rfm_port_scalar */
    size_t workers;       /* how many workers `run` has at most; 0 counts as 1; each costs a packing buffer */
    void (*run)(void *pool, rfm_job job, void *arg, size_t jobs); /* NULL: the caller's thread does it all */
    void *pool;           /* passed to run */
} rfm_ctx;

/* ---- matrix views -------------------------------------------------------------------------------------------------- */

/* Row-major: element (i, j) at at[i * stride + j]. */
typedef struct {
    rfm_real *at;
    size_t rows, cols, stride;
} rfm_mat;

typedef struct {
    const rfm_real *at;
    size_t rows, cols, stride;
} rfm_cmat;

rfm_mat rfm_view(rfm_real *at, size_t rows, size_t cols);           /* stride = cols */
rfm_cmat rfm_cview(const rfm_real *at, size_t rows, size_t cols);   /* stride = cols */
rfm_cmat rfm_const(rfm_mat a);

/* ---- products -------------------------------------------------------------------------------------------------------- */

/* Which operand is transposed. */
#define RFM_NN 0 /* A  B  */
#define RFM_TN 1 /* A' B  */
#define RFM_NT 2 /* A  B' */

/* C = alpha op(A) op(B) + beta C with C (m, n) and inner size k. With beta = 0 C is not read.
 * RFM_ENULL, RFM_EZERO, RFM_ESHAPE, RFM_ESTRIDE, RFM_EOVERFLOW, RFM_EALIAS (C over A or B), RFM_EFINITE, RFM_EVALUE
 * (no such op), RFM_EARENA: nothing written. RFM_ERANGE: C was computed and is not finite. */
int rfm_gemm(const rfm_ctx *ctx, int op, rfm_real alpha, rfm_cmat a, rfm_cmat b, rfm_real beta, rfm_mat c);
int rfm_gemm_need(const rfm_ctx *ctx, size_t m, size_t n, size_t k, size_t *bytes);

/* The upper triangle of C = alpha A A' + beta C (op RFM_NT) or alpha A' A + beta C (op RFM_TN), C (n, n), inner size k.
 * What is below the diagonal is neither read nor written. Status as rfm_gemm. */
int rfm_syrk(const rfm_ctx *ctx, int op, rfm_real alpha, rfm_cmat a, rfm_real beta, rfm_mat c);
int rfm_syrk_need(const rfm_ctx *ctx, size_t n, size_t k, size_t *bytes);

/* ---- Cholesky ---------------------------------------------------------------------------------------------------------- */

/* A = U'U for a symmetric positive definite A (n, n), in place: the upper triangle of A becomes U; what is below the
 * diagonal is neither read nor written, so a copy of A may live there.
 * RFM_ENOTPD: *row (if row is not NULL) is the first row whose pivot is not positive; the leading row x row block
 * holds its factor, the rest of the upper triangle is undefined. Other refusals: nothing written. */
int rfm_chol(const rfm_ctx *ctx, rfm_mat a, size_t *row);
int rfm_chol_need(const rfm_ctx *ctx, size_t n, size_t *bytes);

/* Triangular solves in place: U X = B (op RFM_NN) or U' X = B (op RFM_TN), U (n, n) upper, B (n, c) becomes X.
 * RFM_EVALUE: no such op, or a zero on U's diagonal. RFM_ERANGE: the solution is not finite. B changes only on success. */
int rfm_trsm(const rfm_ctx *ctx, int op, rfm_cmat u, rfm_mat b);
int rfm_trsm_need(const rfm_ctx *ctx, size_t n, size_t c, size_t *bytes);

/* A X = B for A = U'U: both triangular solves. Status as rfm_trsm; the need is rfm_trsm_need's. */
int rfm_chol_solve(const rfm_ctx *ctx, rfm_cmat u, rfm_mat b);

/* A = U'U with the pivoting that reveals the rank, A (n, n) symmetric positive semi-definite. Stops when no remaining
 * pivot exceeds tolerance * (largest diagonal element of A); tolerance 0 means n * epsilon. On return *rank rows of U
 * are in the upper triangle of A, and perm[j] (n of them) is the column of the original A that is now column j:
 * A[perm[i]][perm[j]] = sum_p U[p][i] U[p][j]. The rest of the upper triangle is undefined; below the diagonal nothing
 * is read or written. A negative pivot beyond rounding (below -tolerance * largest) is RFM_ENOTPD; A = 0 has rank 0. */
int rfm_chol_rank(const rfm_ctx *ctx, rfm_mat a, rfm_real tolerance, uint32_t *perm, size_t *rank);
int rfm_chol_rank_need(const rfm_ctx *ctx, size_t n, size_t *bytes);

/* ---- eigenpairs ---------------------------------------------------------------------------------------------------------- */

/* The k largest eigenvalues of the symmetric A (n, n), 1 <= k <= n, in w, largest first, and their eigenvectors in the
 * ROWS of V (k, n): A = V' diag(w) V for k = n. Only A's upper triangle (with the diagonal) is read; it is overwritten.
 * RFM_ECONVERGE: no result, A overwritten. */
int rfm_eig(const rfm_ctx *ctx, rfm_mat a, size_t k, rfm_real *w, rfm_mat v);
int rfm_eig_need(const rfm_ctx *ctx, size_t n, size_t k, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif

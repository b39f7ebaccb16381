/* rfm.c - the core of rfm; rfm.h has the contract.
 *
 * Contents, each section under a banner of its own:
 *   1. Numbers            constants of the number type, checked sizes
 *   2. Status             texts
 *   3. Arena              layout and allocation in one
 *   4. Arguments          what every entry point checks
 *   5. Portable kernels   rfm_port_scalar
 *   6. Products           packing, blocked gemm, symmetric rank-k update
 *   7. Cholesky           factor, triangular solves, rank-revealing factor
 *   8. Eigenpairs         tridiagonal form, divide and conquer, back again
 *
 * Notation: (m, n) is a matrix of m rows and n columns, row-major; ' is transposition; eps is the distance from 1 to the
 * next number. Loops over matrices go through one routine, product(), which takes transposes as strides.
 */
#include "rfm.h"

#include <math.h>
#include <string.h>

/* ==== 1. Numbers ==================================================================================================== */

#define R(x) ((rfm_real)(x)) /* a constant of the number type: folded by the compiler, never a double at run time */

#if RFM_REAL_BYTES == 8
#define REAL_SQRT sqrt
#define REAL_EXP exp
#define REAL_ABS fabs
#define REAL_FREXP frexp
#define REAL_LDEXP ldexp
#define REAL_EPS R(2.220446049250313e-16)
typedef uint64_t real_bits;
#define REAL_EXPONENT_BITS UINT64_C(0x7ff0000000000000)
#else
#define REAL_SQRT sqrtf
#define REAL_EXP expf
#define REAL_ABS fabsf
#define REAL_FREXP frexpf
#define REAL_LDEXP ldexpf
#define REAL_EPS R(1.1920929e-7)
typedef uint32_t real_bits;
#define REAL_EXPONENT_BITS UINT32_C(0x7f800000)
#endif

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }
static size_t round_up(size_t a, size_t unit) { return (a + unit - 1) / unit * unit; }
static rfm_real max_real(rfm_real a, rfm_real b) { return a > b ? a : b; }

/* *product = a * b; 0 if that does not fit. */
static int multiply_fits(size_t a, size_t b, size_t *product) {
    if (b != 0 && a > SIZE_MAX / b) return 0;
    *product = a * b;
    return 1;
}

/* ==== 2. Status ===================================================================================================== */

const char *rfm_status_text(int status) {
    switch (status) {
    case RFM_OK: return "done";
    case RFM_ENULL: return "a pointer that must not be NULL is NULL";
    case RFM_EZERO: return "a size is zero";
    case RFM_ESHAPE: return "the sizes of the arguments do not fit each other";
    case RFM_ESTRIDE: return "a row stride is smaller than the row";
    case RFM_EOVERFLOW: return "a size is too large to be addressed";
    case RFM_EALIAS: return "an output overlaps another argument";
    case RFM_EFINITE: return "the input holds a NaN or an infinity";
    case RFM_EVALUE: return "an argument is outside its range";
    case RFM_EALIGN: return "memory is not aligned";
    case RFM_EARENA: return "the arena is too small";
    case RFM_ENOTPD: return "the matrix is not positive definite";
    case RFM_ECONVERGE: return "an iteration did not converge";
    case RFM_ERANGE: return "the result is too large for the number type";
    default: return "unknown status";
    }
}

/* ==== 3. Arena ====================================================================================================== */

/* Under AddressSanitizer every block is followed by a red zone, and what is not handed out is poisoned. */
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif

#ifdef ARENA_ASAN
void __asan_poison_memory_region(void const volatile *at, size_t size);
void __asan_unpoison_memory_region(void const volatile *at, size_t size);
#define ARENA_POISON(at, size) __asan_poison_memory_region(at, size)
#define ARENA_UNPOISON(at, size) __asan_unpoison_memory_region(at, size)
#define ARENA_RED_ZONE RFM_ALIGN
#else
#define ARENA_POISON(at, size) ((void)(at), (void)(size))
#define ARENA_UNPOISON(at, size) ((void)(at), (void)(size))
#define ARENA_RED_ZONE 0
#endif

int rfm_arena_init(rfm_arena *arena, void *memory, size_t size) {
    if (arena == NULL || memory == NULL) return RFM_ENULL;
    if ((uintptr_t)memory % RFM_ALIGN != 0) return RFM_EALIGN;
    arena->base = (unsigned char *)memory;
    arena->size = size;
    arena->used = 0;
    arena->peak = 0;
    arena->status = RFM_OK;
    ARENA_POISON(memory, size);
    return RFM_OK;
}

void rfm_arena_measure(rfm_arena *arena) {
    arena->base = NULL;
    arena->size = SIZE_MAX;
    arena->used = 0;
    arena->peak = 0;
    arena->status = RFM_OK;
}

void *rfm_arena_take(rfm_arena *arena, size_t count, size_t size) {
    size_t bytes;
    unsigned char *block;
    if (arena->status != RFM_OK) return NULL;
    if (!multiply_fits(count, size, &bytes) || bytes > SIZE_MAX - (RFM_ALIGN + ARENA_RED_ZONE)) {
        arena->status = RFM_EOVERFLOW;
        return NULL;
    }
    bytes = round_up(bytes, RFM_ALIGN) + ARENA_RED_ZONE;
    if (bytes > arena->size - arena->used) {
        arena->status = arena->base == NULL ? RFM_EOVERFLOW : RFM_EARENA;
        return NULL;
    }
    block = arena->base == NULL ? NULL : arena->base + arena->used;
    arena->used += bytes;
    arena->peak = max_size(arena->peak, arena->used);
    if (block != NULL) ARENA_UNPOISON(block, count * size);
    return block;
}

void rfm_arena_release(rfm_arena *arena, size_t used) {
    if (used > arena->used) return;
    if (arena->base != NULL) ARENA_POISON(arena->base + used, arena->used - used);
    arena->used = used;
}

static rfm_real *take_reals(rfm_arena *arena, size_t rows, size_t cols) {
    size_t count;
    if (!multiply_fits(rows, cols, &count)) {
        if (arena->status == RFM_OK) arena->status = RFM_EOVERFLOW;
        return NULL;
    }
    return (rfm_real *)rfm_arena_take(arena, count, sizeof(rfm_real));
}

static uint32_t *take_indices(rfm_arena *arena, size_t count) {
    return (uint32_t *)rfm_arena_take(arena, count, sizeof(uint32_t));
}

/* Packed panels of a vector port start on a cache line. The padding is taken whether or not the arena's address needs it,
 * so that the need does not depend on the address. */
#define CACHE_LINE 64
static rfm_real *take_panels(rfm_arena *arena, const rfm_port *port, size_t rows, size_t cols) {
    size_t pad = port->nr * sizeof(rfm_real) <= RFM_ALIGN ? 0 : (CACHE_LINE - RFM_ALIGN) / sizeof(rfm_real);
    size_t count;
    rfm_real *block;
    if (!multiply_fits(rows, cols, &count) || count > SIZE_MAX - pad) {
        if (arena->status == RFM_OK) arena->status = RFM_EOVERFLOW;
        return NULL;
    }
    block = take_reals(arena, 1, count + pad);
    if (block != NULL && pad != 0) block += (CACHE_LINE - (uintptr_t)block % CACHE_LINE) % CACHE_LINE / sizeof(rfm_real);
    return block;
}

/* ==== 4. Arguments ================================================================================================== */

rfm_mat rfm_view(rfm_real *at, size_t rows, size_t cols) {
    rfm_mat v;
    v.at = at, v.rows = rows, v.cols = cols, v.stride = cols;
    return v;
}

rfm_cmat rfm_cview(const rfm_real *at, size_t rows, size_t cols) {
    rfm_cmat v;
    v.at = at, v.rows = rows, v.cols = cols, v.stride = cols;
    return v;
}

rfm_cmat rfm_const(rfm_mat a) {
    rfm_cmat v;
    v.at = a.at, v.rows = a.rows, v.cols = a.cols, v.stride = a.stride;
    return v;
}

static const rfm_port *port_of(const rfm_ctx *ctx) { return ctx->port != NULL ? ctx->port : &rfm_port_scalar; }
static size_t workers_of(const rfm_ctx *ctx) { return ctx->run != NULL && ctx->workers > 1 ? ctx->workers : 1; }

static void run_jobs(const rfm_ctx *ctx, rfm_job job, void *arg, size_t jobs) {
    size_t i;
    if (workers_of(ctx) > 1 && jobs > 1) {
        ctx->run(ctx->pool, job, arg, jobs);
        return;
    }
    for (i = 0; i < jobs; i++) job(arg, i, 0);
}

static int check_ctx(const rfm_ctx *ctx) {
    if (ctx == NULL || ctx->arena == NULL) return RFM_ENULL;
    return ctx->arena->status;
}

static int check_view(rfm_cmat a) {
    size_t count;
    if (a.at == NULL) return RFM_ENULL;
    if (a.rows == 0 || a.cols == 0) return RFM_EZERO;
    if (a.stride < a.cols) return RFM_ESTRIDE;
    if (a.rows > UINT32_MAX || a.cols > UINT32_MAX) return RFM_EOVERFLOW;
    if (!multiply_fits(a.rows, a.stride, &count) || count > (size_t)PTRDIFF_MAX / sizeof(rfm_real)) return RFM_EOVERFLOW;
    return RFM_OK;
}

static int check_square(rfm_cmat a) {
    int status = check_view(a);
    if (status == RFM_OK && a.rows != a.cols) status = RFM_ESHAPE;
    return status;
}

static int bytes_overlap(const void *a, size_t a_size, const void *b, size_t b_size) {
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y ? y - x < a_size : x - y < b_size;
}

static size_t view_bytes(rfm_cmat a) { return ((a.rows - 1) * a.stride + a.cols) * sizeof(rfm_real); }

/* Two views with one stride may be interleaved: column blocks of one matrix do not overlap. */
static int views_overlap(rfm_cmat a, rfm_cmat b) {
    uintptr_t x = (uintptr_t)a.at, y = (uintptr_t)b.at, bytes = x < y ? y - x : x - y;
    if (!bytes_overlap(a.at, view_bytes(a), b.at, view_bytes(b))) return 0;
    if (a.stride == b.stride && bytes % sizeof(rfm_real) == 0) {
        size_t offset = bytes / sizeof(rfm_real) % a.stride;
        rfm_cmat first = x < y ? a : b, second = x < y ? b : a;
        if (offset >= first.cols && offset + second.cols <= a.stride) return 0;
    }
    return 1;
}

static int finite_portable(size_t n, const rfm_real *x) {
    real_bits bits, bad = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        memcpy(&bits, &x[i], sizeof bits);
        bad |= (real_bits)((bits & REAL_EXPONENT_BITS) == REAL_EXPONENT_BITS);
    }
    return bad == 0;
}

static int finite_row(const rfm_port *port, size_t n, const rfm_real *x) {
    return port->finite != NULL ? port->finite(n, x) : finite_portable(n, x);
}

static int finite_view(const rfm_port *port, rfm_cmat a) {
    size_t i;
    if (a.stride == a.cols) return finite_row(port, a.rows * a.cols, a.at);
    for (i = 0; i < a.rows; i++)
        if (!finite_row(port, a.cols, a.at + i * a.stride)) return 0;
    return 1;
}

static int finite_upper(const rfm_port *port, rfm_cmat a) {
    size_t i;
    for (i = 0; i < a.rows; i++)
        if (!finite_row(port, a.cols - i, a.at + i * a.stride + i)) return 0;
    return 1;
}

static int finite_real(rfm_real x) { return finite_portable(1, &x); }

/* ==== 5. Portable kernels ============================================================================================ */

#define SCALAR_MR 4
#define SCALAR_NR 4

static void gemm_scalar(size_t k, rfm_real alpha, const rfm_real *a, size_t rs, size_t cs, const rfm_real *b, rfm_real *c,
                        size_t ldc, int add) {
    rfm_real t[SCALAR_MR][SCALAR_NR];
    size_t i, j, p;
    for (i = 0; i < SCALAR_MR; i++)
        for (j = 0; j < SCALAR_NR; j++) t[i][j] = R(0);
    for (p = 0; p < k; p++, a += cs, b += SCALAR_NR)
        for (i = 0; i < SCALAR_MR; i++)
            for (j = 0; j < SCALAR_NR; j++) t[i][j] += a[i * rs] * b[j];
    for (i = 0; i < SCALAR_MR; i++, c += ldc)
        for (j = 0; j < SCALAR_NR; j++) c[j] = add ? c[j] + alpha * t[i][j] : alpha * t[i][j];
}

static void trsm_portable(size_t mr, size_t nr, size_t k, const rfm_real *a, rfm_real *b) {
    rfm_real *t = b + k * nr;
    size_t i, j, p;
    for (i = 0; i < mr; i++, t += nr) {
        for (p = 0; p < k + i; p++)
            for (j = 0; j < nr; j++) t[j] -= a[p * mr + i] * b[p * nr + j];
        for (j = 0; j < nr; j++) t[j] *= a[(k + i) * mr + i];
    }
}

static void rows4_portable(size_t n, const rfm_real *a, size_t lda, const rfm_real coef[4], const rfm_real *x, rfm_real *y,
                           rfm_real dots[4]) {
    const rfm_real *a0 = a, *a1 = a + lda, *a2 = a1 + lda, *a3 = a2 + lda;
    rfm_real d0 = R(0), d1 = R(0), d2 = R(0), d3 = R(0);
    size_t j;
    for (j = 0; j < n; j++) {
        rfm_real xj = x[j];
        d0 += a0[j] * xj, d1 += a1[j] * xj, d2 += a2[j] * xj, d3 += a3[j] * xj;
        y[j] += (coef[0] * a0[j] + coef[1] * a1[j]) + (coef[2] * a2[j] + coef[3] * a3[j]);
    }
    dots[0] += d0, dots[1] += d1, dots[2] += d2, dots[3] += d3;
}

static void exp_portable(size_t n, const rfm_real *x, rfm_real *y) {
    size_t i;
    for (i = 0; i < n; i++) y[i] = REAL_EXP(x[i]);
}

static void sqrt_portable(size_t n, const rfm_real *x, rfm_real *y) {
    size_t i;
    for (i = 0; i < n; i++) y[i] = REAL_SQRT(x[i]);
}

const rfm_port rfm_port_scalar = {
    "scalar", SCALAR_MR, SCALAR_NR, 64, 128, 1024, gemm_scalar, NULL, NULL, exp_portable, sqrt_portable, NULL, NULL,
};

static void port_trsm(const rfm_port *port, size_t k, const rfm_real *a, rfm_real *b) {
    if (port->trsm != NULL) port->trsm(k, a, b);
    else trsm_portable(port->mr, port->nr, k, a, b);
}

static void port_rows4(const rfm_port *port, size_t n, const rfm_real *a, size_t lda, const rfm_real coef[4], const rfm_real *x,
                       rfm_real *y, rfm_real dots[4]) {
    if (port->rows4 != NULL) port->rows4(n, a, lda, coef, x, y, dots);
    else rows4_portable(n, a, lda, coef, x, y, dots);
}

/* ==== 6. Products ====================================================================================================
 *
 * C (m, n) = alpha A B + beta C, A (m, k), B (k, n), each operand with two strides, so that a transpose costs nothing.
 * B is packed kc x nc at a time (shared by all workers), A mc x kc at a time (per worker); the port's micro-kernel makes tiles
 * of mr x nr. With few columns A would be packed for little use, so then the micro-kernel reads it in place. The order of the
 * sums depends on the sizes and the port only. Cost 2 m n k; scratch: one block of B, a block of A and a tile per worker.
 */

typedef struct {
    const rfm_real *at; /* element (i, j) at at[i * rs + j * cs] */
    size_t rs, cs;
} operand;

static operand operand_of(const rfm_real *at, size_t rs, size_t cs) {
    operand o;
    o.at = at, o.rs = rs, o.cs = cs;
    return o;
}

/* Room for packed blocks, and whom to work with. */
typedef struct {
    const rfm_ctx *ctx;
    const rfm_port *port;
    rfm_real *a;     /* workers x a_size */
    rfm_real *b;     /* (kc, nc) in panels */
    rfm_real *tile;  /* workers x (mr, nr) */
    size_t a_size;
} packing;

/* For any product of at most m, n, k. */
static int packing_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t m, size_t n, size_t k, packing *s) {
    const rfm_port *port = port_of(ctx);
    size_t workers = workers_of(ctx), kb = min_size(k, port->kc), nb = min_size(n, port->nc);
    s->ctx = ctx;
    s->port = port;
    s->a_size = min_size(round_up(min_size(m, port->mc * port->kc), port->mr) * kb, port->mc * port->kc);
    s->a = take_panels(arena, port, workers, s->a_size);
    s->b = take_panels(arena, port, round_up(nb, port->nr), kb);
    s->tile = take_panels(arena, port, workers, port->mr * port->nr);
    return arena->status;
}

/* One panel: dst[p * width + i] = A(i, p) for `rows` of its `width` rows, zeros for the others. */
static void pack_panel(const rfm_port *port, size_t width, size_t rows, size_t k, operand from, rfm_real *dst) {
    size_t i, p;
    if (rows == width && port->pack != NULL) {
        port->pack(width, k, from.at, from.rs, from.cs, dst);
        return;
    }
    for (p = 0; p < k; p++) {
        for (i = 0; i < rows; i++) dst[p * width + i] = from.at[i * from.rs + p * from.cs];
        for (; i < width; i++) dst[p * width + i] = R(0);
    }
}

/* A (count, k) in panels of `width` rows; B when its rows and columns change places. Always along the rows of memory: if
 * those lie across the panels, PACK_STREAMS of them at a time through all panels. */
#define PACK_STREAMS 32
static void pack(const rfm_port *port, size_t width, size_t count, size_t k, operand from, rfm_real *dst) {
    size_t step = from.rs == 1 ? PACK_STREAMS : k, first, p;
    for (p = 0; p < k; p += step)
        for (first = 0; first < count; first += width)
            pack_panel(port, width, min_size(width, count - first), min_size(step, k - p),
                       operand_of(from.at + first * from.rs + p * from.cs, from.rs, from.cs), dst + first * k + p * width);
}

/* How long the pieces are when `size` is cut into as few of at most `most` as possible: equal ones, multiples of unit. */
static size_t piece(size_t size, size_t most, size_t unit) {
    size_t pieces = (size + most - 1) / most;
    return min_size(round_up((size + pieces - 1) / pieces, unit), most);
}

typedef struct {
    const packing *s;
    operand a;         /* from the first row of C on, from the current p on */
    const rfm_real *b; /* packed (k, n), panels of b_rows rows */
    rfm_real *c;       /* (m, n) */
    size_t ldc, m, n, k, mb, b_rows;
    size_t column;     /* of C's first column, for `upper` */
    rfm_real alpha;
    int add, upper, in_place;
} product_args;

/* One block of rows of C. */
static void product_job(void *arg, size_t index, size_t worker) {
    const product_args *t = (const product_args *)arg;
    const rfm_port *port = t->s->port;
    size_t mr = port->mr, nr = port->nr, k = t->k;
    size_t first = index * t->mb, rows = min_size(t->mb, t->m - first), i, j, r, q;
    rfm_real *packed = t->s->a + worker * t->s->a_size, *tile = t->s->tile + worker * mr * nr;
    operand a = operand_of(t->a.at + first * t->a.rs, t->a.rs, t->a.cs);
    size_t whole = t->in_place ? rows / mr * mr : 0; /* rows that are read in place */
    size_t start = t->upper && first > t->column ? (first - t->column) / nr * nr : 0;
    pack(port, mr, rows - whole, k, operand_of(a.at + whole * a.rs, a.rs, a.cs), packed);
    for (j = start; j < t->n; j += nr) {
        const rfm_real *b = t->b + j * t->b_rows;
        size_t cols = min_size(nr, t->n - j);
        for (i = 0; i < rows; i += mr) {
            size_t height = min_size(mr, rows - i), row = first + i;
            rfm_real *c = t->c + row * t->ldc + j;
            const rfm_real *panel = i < whole ? a.at + i * a.rs : packed + (i - whole) * k;
            size_t rs = i < whole ? a.rs : 1, cs = i < whole ? a.cs : mr;
            int crosses = t->upper && row + height > t->column + j + 1; /* has elements below the diagonal */
            if (t->upper && row >= t->column + j + cols) break;         /* has nothing else, and so have those below */
            if (height == mr && cols == nr && !crosses) {
                port->gemm(k, t->alpha, panel, rs, cs, b, c, t->ldc, t->add);
                continue;
            }
            port->gemm(k, t->alpha, panel, rs, cs, b, tile, nr, 0);
            for (r = 0; r < height; r++)
                for (q = crosses && row + r > t->column + j ? row + r - t->column - j : 0; q < cols; q++)
                    c[r * t->ldc + q] = t->add ? c[r * t->ldc + q] + tile[r * nr + q] : tile[r * nr + q];
        }
    }
}

typedef struct {
    const packing *s;
    operand b; /* transposed: rows are columns of B */
    size_t n, k;
} pack_args;

/* Panels of B are packed a few at a time, so that workers share that, too. */
#define PACK_PANELS 8
static void pack_job(void *arg, size_t index, size_t worker) {
    const pack_args *t = (const pack_args *)arg;
    size_t nr = t->s->port->nr, first = index * PACK_PANELS * nr, n = min_size(PACK_PANELS * nr, t->n - first);
    (void)worker;
    pack(t->s->port, nr, n, t->k, operand_of(t->b.at + first * t->b.rs, t->b.rs, t->b.cs), t->s->b + first * t->k);
}

/* The rows of C, for one packed block of B. */
static void product_rows(product_args *t) {
    const rfm_port *port = t->s->port;
    size_t most = port->mc * port->kc / t->k / port->mr * port->mr; /* mc x kc in another shape */
    t->mb = piece(t->m, most, port->mr);
    t->in_place = t->a.cs == 1 && t->n <= 2 * port->nr;
    run_jobs(t->s->ctx, product_job, t, (t->m + t->mb - 1) / t->mb);
}

/* C = alpha A B or, with add, C += alpha A B; with upper only the part of the square C on and above its diagonal. */
static void product(const packing *s, int upper, size_t m, size_t n, size_t k, rfm_real alpha, operand a, operand b, int add,
                    rfm_real *c, size_t ldc) {
    const rfm_port *port = s->port;
    size_t kb, nb, j, p;
    product_args t;
    pack_args u;
    if (m == 0 || n == 0) return;
    if (k == 0) {
        for (p = 0; p < m && !add; p++)
            for (j = upper ? p : 0; j < n; j++) c[p * ldc + j] = R(0);
        return;
    }
    kb = piece(k, port->kc, 4);
    nb = piece(n, port->nc, port->nr);
    t.s = u.s = s, t.b = s->b, t.ldc = ldc, t.alpha = alpha, t.upper = upper;
    for (j = 0; j < n; j += nb) {
        t.n = u.n = min_size(nb, n - j);
        t.m = upper ? min_size(m, j + t.n) : m;
        t.column = j;
        t.c = c + j;
        for (p = 0; p < k; p += kb) {
            t.k = t.b_rows = u.k = min_size(kb, k - p);
            u.b = operand_of(b.at + p * b.rs + j * b.cs, b.cs, b.rs);
            run_jobs(s->ctx, pack_job, &u, (u.n + PACK_PANELS * port->nr - 1) / (PACK_PANELS * port->nr));
            t.a = operand_of(a.at + p * a.cs, a.rs, a.cs);
            t.add = add || p > 0;
            product_rows(&t);
        }
    }
}

/* C = beta C before alpha A B is added; says whether anything is left to add to. */
static int scale_first(rfm_real beta, int upper, rfm_mat c) {
    size_t i, j;
    if (beta == R(0)) return 0;
    if (beta != R(1))
        for (i = 0; i < c.rows; i++)
            for (j = upper ? i : 0; j < c.cols; j++) c.at[i * c.stride + j] *= beta;
    return 1;
}

/* Runs a layout on an arena without memory. */
#define NEED(ctx, bytes, layout)                 \
    do {                                         \
        rfm_arena measure;                       \
        int status_;                             \
        rfm_arena_measure(&measure);             \
        status_ = (layout);                      \
        if (status_ != RFM_OK) return status_;   \
        *(bytes) = measure.peak;                 \
        return RFM_OK;                           \
    } while (0)

int rfm_gemm_need(const rfm_ctx *ctx, size_t m, size_t n, size_t k, size_t *bytes) {
    packing s;
    if (ctx == NULL || bytes == NULL) return RFM_ENULL;
    if (m == 0 || n == 0 || k == 0) return RFM_EZERO;
    NEED(ctx, bytes, packing_layout(&measure, ctx, m, n, k, &s));
}

/* Gives back what a layout took and keeps the arena usable after a refusal. */
static int finish(const rfm_ctx *ctx, size_t used, int status) {
    ctx->arena->status = RFM_OK;
    rfm_arena_release(ctx->arena, used);
    return status;
}

int rfm_gemm(const rfm_ctx *ctx, int op, rfm_real alpha, rfm_cmat a, rfm_cmat b, rfm_real beta, rfm_mat c) {
    int status = check_ctx(ctx), add;
    size_t m, n, k, used;
    packing s;
    if (status == RFM_OK) status = check_view(a);
    if (status == RFM_OK) status = check_view(b);
    if (status == RFM_OK) status = check_view(rfm_const(c));
    if (status != RFM_OK) return status;
    if (op != RFM_NN && op != RFM_TN && op != RFM_NT) return RFM_EVALUE;
    m = op == RFM_TN ? a.cols : a.rows;
    k = op == RFM_TN ? a.rows : a.cols;
    n = op == RFM_NT ? b.rows : b.cols;
    if (k != (op == RFM_NT ? b.cols : b.rows) || c.rows != m || c.cols != n) return RFM_ESHAPE;
    if (views_overlap(a, rfm_const(c)) || views_overlap(b, rfm_const(c))) return RFM_EALIAS;
    if (!finite_real(alpha) || !finite_real(beta) || !finite_view(port_of(ctx), a) || !finite_view(port_of(ctx), b))
        return RFM_EFINITE;
    if (beta != R(0) && !finite_view(port_of(ctx), rfm_const(c))) return RFM_EFINITE;
    used = ctx->arena->used;
    status = packing_layout(ctx->arena, ctx, m, n, k, &s);
    if (status != RFM_OK) return finish(ctx, used, status);
    add = scale_first(beta, 0, c);
    product(&s, 0, m, n, k, alpha, op == RFM_TN ? operand_of(a.at, 1, a.stride) : operand_of(a.at, a.stride, 1),
            op == RFM_NT ? operand_of(b.at, 1, b.stride) : operand_of(b.at, b.stride, 1), add, c.at, c.stride);
    return finish(ctx, used, finite_view(s.port, rfm_const(c)) ? RFM_OK : RFM_ERANGE);
}

int rfm_syrk_need(const rfm_ctx *ctx, size_t n, size_t k, size_t *bytes) { return rfm_gemm_need(ctx, n, n, k, bytes); }

int rfm_syrk(const rfm_ctx *ctx, int op, rfm_real alpha, rfm_cmat a, rfm_real beta, rfm_mat c) {
    int status = check_ctx(ctx), add;
    size_t n, k, used;
    packing s;
    operand left;
    if (status == RFM_OK) status = check_view(a);
    if (status == RFM_OK) status = check_square(rfm_const(c));
    if (status != RFM_OK) return status;
    if (op != RFM_TN && op != RFM_NT) return RFM_EVALUE;
    n = op == RFM_TN ? a.cols : a.rows;
    k = op == RFM_TN ? a.rows : a.cols;
    if (c.rows != n) return RFM_ESHAPE;
    if (views_overlap(a, rfm_const(c))) return RFM_EALIAS;
    if (!finite_real(alpha) || !finite_real(beta) || !finite_view(port_of(ctx), a)) return RFM_EFINITE;
    if (beta != R(0) && !finite_upper(port_of(ctx), rfm_const(c))) return RFM_EFINITE;
    used = ctx->arena->used;
    status = packing_layout(ctx->arena, ctx, n, n, k, &s);
    if (status != RFM_OK) return finish(ctx, used, status);
    add = scale_first(beta, 1, c);
    left = op == RFM_TN ? operand_of(a.at, 1, a.stride) : operand_of(a.at, a.stride, 1);
    product(&s, 1, n, n, k, alpha, left, operand_of(left.at, left.cs, left.rs), add, c.at, c.stride);
    return finish(ctx, used, finite_upper(s.port, rfm_const(c)) ? RFM_OK : RFM_ERANGE);
}

/* ==== 7. Cholesky ====================================================================================================
 *
 * A = U'U, U upper, in place: blocks of block_rows rows, inside each of them leaves of CHOL_LEAF rows. After a leaf or a block
 *   U12 = U11'^-1 A12  (packed forward substitution, the port's trsm),  A22 -= U12' U12  (product).
 * Row-major upper is what makes both steps run along the rows of memory. Cost n^3 / 3.
 */

#define CHOL_BLOCK 192 /* rows of U between two updates of the whole rest */
#define CHOL_LEAF 24   /* rows factored without packing */
#define SOLVE_ROWS 96 /* rows of U in one step of a triangular solve */

/* A multiple of mr, and at most kc, so that a block of U can be the packed B of a product. */
static size_t chol_block_rows(const rfm_port *port) { return min_size(CHOL_BLOCK, port->kc) / port->mr * port->mr; }

/* Room for the triangle of one block of at most `rows` rows, a panel of right-hand sides per worker, and for products of at
 * most m, n, k. */
typedef struct {
    packing pack;
    rfm_real *triangle; /* panel t of mr rows: (t + 1) mr columns */
    rfm_real *panel;    /* workers x panel_size; NULL in a Cholesky, where the panels stay packed in pack.b */
    size_t panel_size;
} solving;

static int solving_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t rows, size_t m, size_t n, size_t k, int keep, solving *s) {
    const rfm_port *port = port_of(ctx);
    size_t panels = (rows + port->mr - 1) / port->mr;
    s->panel_size = panels * port->mr * port->nr;
    s->triangle = take_panels(arena, port, panels * (panels + 1) / 2, port->mr * port->mr);
    s->panel = keep ? NULL : take_panels(arena, port, workers_of(ctx), s->panel_size);
    return packing_layout(arena, ctx, m, n, max_size(k, panels * port->mr), &s->pack);
}

/* The lower triangle L (n, n) in A panels, the reciprocals of its diagonal in place of the diagonal; rows beyond n are
 * those of the identity. With `backward` L is U turned by half a circle: L(i, j) = U(n-1-i, n-1-j). Else L = U'. */
static void pack_triangle(size_t mr, size_t n, const rfm_real *u, size_t ldu, int backward, rfm_real *dst) {
    size_t first, i, p;
    for (first = 0; first < n; first += mr) {
        size_t rows = min_size(mr, n - first);
        for (p = 0; p < first; p++, dst += mr) {
            for (i = 0; i < rows; i++) dst[i] = backward ? u[(n - 1 - first - i) * ldu + (n - 1 - p)] : u[p * ldu + first + i];
            for (; i < mr; i++) dst[i] = R(0);
        }
        for (; p < first + mr; p++, dst += mr) {
            for (i = 0; i < mr; i++) dst[i] = first + i == p ? R(1) : R(0);
            for (i = p - first; i < rows; i++) {
                rfm_real value = backward ? u[(n - 1 - first - i) * ldu + (n - 1 - p)] : u[p * ldu + first + i];
                dst[i] = first + i == p ? R(1) / value : value;
            }
        }
    }
}

typedef struct {
    const solving *s;
    rfm_real *b; /* (rows, n) */
    size_t ldb, rows, n;
    int backward;
} solve_args;

/* L X = B for one panel of columns of B: packed, solved, put back. */
static void solve_job(void *arg, size_t index, size_t worker) {
    const solve_args *t = (const solve_args *)arg;
    const rfm_port *port = t->s->pack.port;
    size_t mr = port->mr, nr = port->nr, j0 = index * nr, cols = min_size(nr, t->n - j0), padded = round_up(t->rows, mr), i, j;
    rfm_real *panel = t->s->panel == NULL ? t->s->pack.b + index * padded * nr : t->s->panel + worker * t->s->panel_size;
    const rfm_real *triangle = t->s->triangle;
    for (i = 0; i < padded; i++) {
        const rfm_real *row = t->b + (t->backward ? t->rows - 1 - i : i) * t->ldb + j0;
        size_t have = i < t->rows ? cols : 0;
        for (j = 0; j < have; j++) panel[i * nr + j] = row[j];
        for (; j < nr; j++) panel[i * nr + j] = R(0);
    }
    for (i = 0; i < padded; i += mr) {
        port_trsm(port, i, triangle, panel);
        triangle += (i + mr) * mr;
    }
    for (i = 0; i < t->rows; i++) {
        rfm_real *row = t->b + (t->backward ? t->rows - 1 - i : i) * t->ldb + j0;
        for (j = 0; j < cols; j++) row[j] = panel[i * nr + j];
    }
}

/* B (rows, n) = L^-1 B with the L that is packed in s->triangle. */
static void solve_panels(const solving *s, int backward, size_t rows, size_t n, rfm_real *b, size_t ldb) {
    solve_args t;
    t.s = s, t.b = b, t.ldb = ldb, t.rows = rows, t.n = n, t.backward = backward;
    run_jobs(s->pack.ctx, solve_job, &t, (n + s->pack.port->nr - 1) / s->pack.port->nr);
}

/* A small A = U'U; returns n, or the row where it failed. */
static size_t chol_leaf(size_t n, rfm_real *a, size_t lda) {
    size_t i, j, c;
    for (j = 0; j < n; j++) {
        rfm_real *row = a + j * lda, pivot = row[j], scale;
        if (!(pivot > R(0))) return j;
        row[j] = REAL_SQRT(pivot);
        scale = R(1) / row[j];
        for (c = j + 1; c < n; c++) row[c] *= scale;
        for (i = j + 1; i < n; i++) {
            rfm_real *below = a + i * lda, factor = row[i];
            for (c = i; c < n; c++) below[c] -= factor * row[c];
        }
    }
    return n;
}

/* Rows first..first+rows-1 of U are done up to column first+rows: do them up to `end`, and take them out of what is below. What
 * the solve leaves packed is the product's B. */
static void chol_update(const solving *s, rfm_mat a, size_t first, size_t rows, size_t end) {
    const rfm_port *port = s->pack.port;
    size_t next = first + rows, rest = end - next;
    const rfm_real *u11 = a.at + first * a.stride + first;
    rfm_real *u12 = a.at + first * a.stride + next;
    product_args t;
    if (rest == 0) return;
    pack_triangle(port->mr, rows, u11, a.stride, 0, s->triangle);
    t.s = &s->pack, t.alpha = R(-1), t.add = 1, t.upper = 1, t.ldc = a.stride;
    t.a = operand_of(u12, 1, a.stride), t.k = rows;
    t.b = s->pack.b, t.b_rows = round_up(rows, port->mr);
    for (t.column = 0; t.column < rest; t.column += t.n) {
        t.n = min_size(port->nc, rest - t.column);
        t.m = t.column + t.n;
        t.c = a.at + next * a.stride + next + t.column;
        solve_panels(s, 0, rows, t.n, u12 + t.column, a.stride);
        product_rows(&t);
    }
}

/* Returns n, or the row where it failed. */
static size_t chol(const solving *s, rfm_mat a) {
    size_t n = a.rows, block = chol_block_rows(s->pack.port), first, leaf;
    for (first = 0; first < n; first += block) {
        size_t end = min_size(first + block, n);
        for (leaf = first; leaf < end; leaf += CHOL_LEAF) {
            size_t rows = min_size(CHOL_LEAF, end - leaf), done = chol_leaf(rows, a.at + leaf * a.stride + leaf, a.stride);
            if (done < rows) return leaf + done;
            chol_update(s, a, leaf, rows, end);
        }
        chol_update(s, a, first, end - first, n);
    }
    return n;
}

static int chol_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, solving *s) {
    size_t block;
    s->pack.port = port_of(ctx);
    block = chol_block_rows(s->pack.port);
    if (n <= CHOL_LEAF) return arena->status;
    if (n <= block) return solving_layout(arena, ctx, CHOL_LEAF, n - CHOL_LEAF, n - CHOL_LEAF, 0, 1, s);
    n = max_size(n - block, block - CHOL_LEAF); /* the largest square that is updated */
    return solving_layout(arena, ctx, block, n, n, 0, 1, s);
}

int rfm_chol_need(const rfm_ctx *ctx, size_t n, size_t *bytes) {
    solving s;
    if (ctx == NULL || bytes == NULL) return RFM_ENULL;
    if (n == 0) return RFM_EZERO;
    NEED(ctx, bytes, chol_layout(&measure, ctx, n, &s));
}

int rfm_chol(const rfm_ctx *ctx, rfm_mat a, size_t *row) {
    int status = check_ctx(ctx);
    size_t used, done;
    solving s;
    if (status == RFM_OK) status = check_square(rfm_const(a));
    if (status != RFM_OK) return status;
    if (!finite_upper(port_of(ctx), rfm_const(a))) return RFM_EFINITE;
    used = ctx->arena->used;
    status = chol_layout(ctx->arena, ctx, a.rows, &s);
    if (status != RFM_OK) return finish(ctx, used, status);
    done = chol(&s, a);
    if (done < a.rows && row != NULL) *row = done;
    return finish(ctx, used, done < a.rows ? RFM_ENOTPD : RFM_OK);
}

/* U' X = B from the first block of rows down: each solved block is taken out of all rows below it. U X = B from the last
 * block up: all rows below are taken out of a block before it is solved. Either way U is read along its rows. */
static void solve(const solving *s, int op, rfm_cmat u, rfm_mat b) {
    size_t n = u.rows, done, rows;
    for (done = 0; done < n; done += rows) {
        size_t first, next;
        rfm_real *x;
        rows = min_size(SOLVE_ROWS, n - done);
        first = op == RFM_TN ? done : n - done - rows;
        next = first + rows;
        x = b.at + first * b.stride;
        if (op == RFM_NN)
            product(&s->pack, 0, rows, b.cols, n - next, R(-1), operand_of(u.at + first * u.stride + next, u.stride, 1),
                    operand_of(b.at + next * b.stride, b.stride, 1), 1, x, b.stride);
        pack_triangle(s->pack.port->mr, rows, u.at + first * u.stride + first, u.stride, op == RFM_NN, s->triangle);
        solve_panels(s, op == RFM_NN, rows, b.cols, x, b.stride);
        if (op == RFM_TN)
            product(&s->pack, 0, n - next, b.cols, rows, R(-1), operand_of(u.at + first * u.stride + next, 1, u.stride),
                    operand_of(x, b.stride, 1), 1, b.at + next * b.stride, b.stride);
    }
}

/* The right-hand sides are solved in a copy x (n, c), so that B changes only if all went well. */
static int solve_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, size_t c, solving *s, rfm_real **x) {
    size_t rest = n > SOLVE_ROWS ? n - SOLVE_ROWS : 0;
    *x = take_reals(arena, n, c);
    return solving_layout(arena, ctx, min_size(n, SOLVE_ROWS), rest, rest > 0 ? c : 0, rest, 0, s);
}

int rfm_trsm_need(const rfm_ctx *ctx, size_t n, size_t c, size_t *bytes) {
    solving s;
    rfm_real *x;
    if (ctx == NULL || bytes == NULL) return RFM_ENULL;
    if (n == 0 || c == 0) return RFM_EZERO;
    NEED(ctx, bytes, solve_layout(&measure, ctx, n, c, &s, &x));
}

static void copy_rows(size_t rows, size_t cols, const rfm_real *from, size_t from_stride, rfm_real *to, size_t to_stride) {
    size_t i;
    for (i = 0; i < rows; i++) memcpy(to + i * to_stride, from + i * from_stride, cols * sizeof *to);
}

/* The solve `first`, then `second` if it is another one. A number in U that is not finite makes the result not finite, unless it
 * is on the diagonal; so the rest of U need not be searched unless something is wrong: reading it takes as long as solving. */
static int solve_checked(const rfm_ctx *ctx, int first, int second, rfm_cmat u, rfm_mat b) {
    int status = check_ctx(ctx);
    size_t used, i;
    solving s;
    rfm_mat x;
    if (status == RFM_OK) status = check_square(u);
    if (status == RFM_OK) status = check_view(rfm_const(b));
    if (status != RFM_OK) return status;
    if (b.rows != u.rows) return RFM_ESHAPE;
    if (views_overlap(u, rfm_const(b))) return RFM_EALIAS;
    for (i = 0; i < u.rows; i++) {
        rfm_real pivot = u.at[i * u.stride + i];
        if (pivot == R(0)) return RFM_EVALUE;
        if (!finite_real(pivot)) return RFM_EFINITE;
    }
    if (!finite_view(port_of(ctx), rfm_const(b))) return RFM_EFINITE;
    used = ctx->arena->used;
    x = b;
    x.stride = b.cols;
    status = solve_layout(ctx->arena, ctx, u.rows, b.cols, &s, &x.at);
    if (status != RFM_OK) return finish(ctx, used, status);
    copy_rows(b.rows, b.cols, b.at, b.stride, x.at, x.stride);
    solve(&s, first, u, x);
    if (second != first) solve(&s, second, u, x);
    if (finite_view(s.pack.port, rfm_const(x))) copy_rows(b.rows, b.cols, x.at, x.stride, b.at, b.stride);
    else status = finite_upper(s.pack.port, u) ? RFM_ERANGE : RFM_EFINITE;
    return finish(ctx, used, status);
}

int rfm_trsm(const rfm_ctx *ctx, int op, rfm_cmat u, rfm_mat b) {
    if (op != RFM_NN && op != RFM_TN) return RFM_EVALUE;
    return solve_checked(ctx, op, op, u, b);
}

int rfm_chol_solve(const rfm_ctx *ctx, rfm_cmat u, rfm_mat b) { return solve_checked(ctx, RFM_TN, RFM_NN, u, b); }

/* ---- rank-revealing: at every step the largest remaining diagonal element is the pivot --------------------------------
 *
 * In blocks of RANK_ROWS pivots: inside a block only the diagonal and the pivot's row are brought up to date, after it the rest by
 * one product. acc[i] = sum of U[p][i]^2 over the block's rows p, so A[i][i] - acc[i] is the remaining diagonal. */

#define RANK_ROWS 32

static int chol_rank_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, packing *s, rfm_real **acc) {
    *acc = take_reals(arena, 1, n);
    return packing_layout(arena, ctx, n, n, min_size(n, RANK_ROWS), s);
}

static void swap_reals(rfm_real *a, rfm_real *b) {
    rfm_real t = *a;
    *a = *b;
    *b = t;
}

/* Exchange rows and columns j < q of the symmetric matrix whose upper triangle is a. */
static void swap_symmetric(size_t n, rfm_real *a, size_t lda, size_t j, size_t q) {
    size_t i;
    for (i = 0; i < j; i++) swap_reals(&a[i * lda + j], &a[i * lda + q]);
    swap_reals(&a[j * lda + j], &a[q * lda + q]);
    for (i = j + 1; i < q; i++) swap_reals(&a[j * lda + i], &a[i * lda + q]);
    for (i = q + 1; i < n; i++) swap_reals(&a[j * lda + i], &a[q * lda + i]);
}

/* y[0..n) -= sum over rows p < rows of coef[p * step] a[p * lda + 0..n). */
static void subtract_rows(const rfm_port *port, size_t rows, size_t n, const rfm_real *a, size_t lda, const rfm_real *coef,
                          size_t step, rfm_real *y) {
    size_t p, j;
    for (p = 0; p + 4 <= rows; p += 4) {
        rfm_real four[4], unused[4] = {R(0), R(0), R(0), R(0)};
        for (j = 0; j < 4; j++) four[j] = -coef[(p + j) * step];
        port_rows4(port, n, a + p * lda, lda, four, a + p * lda, y, unused);
    }
    for (; p < rows; p++)
        for (j = 0; j < n; j++) y[j] -= coef[p * step] * a[p * lda + j];
}

int rfm_chol_rank_need(const rfm_ctx *ctx, size_t n, size_t *bytes) {
    packing s;
    rfm_real *acc;
    if (ctx == NULL || bytes == NULL) return RFM_ENULL;
    if (n == 0) return RFM_EZERO;
    NEED(ctx, bytes, chol_rank_layout(&measure, ctx, n, &s, &acc));
}

/* Sets *rank; RFM_ENOTPD if a remaining pivot is below -limit, where limit = tolerance * largest. */
static int chol_rank(const packing *s, rfm_mat a, rfm_real tolerance, uint32_t *perm, size_t *rank, rfm_real *acc) {
    size_t n = a.rows, lda = a.stride, first, i, j;
    rfm_real largest = R(0), limit;
    for (i = 0; i < n; i++) {
        perm[i] = (uint32_t)i;
        largest = max_real(largest, a.at[i * lda + i]);
    }
    limit = (tolerance > R(0) ? tolerance : R(n) * REAL_EPS) * largest;
    for (first = 0; first < n; first += RANK_ROWS) {
        size_t end = min_size(first + RANK_ROWS, n);
        for (i = first; i < n; i++) acc[i] = R(0);
        for (j = first; j < end; j++) {
            rfm_real *row = a.at + j * lda, best, least, scale;
            size_t q = j;
            best = least = a.at[j * lda + j] - acc[j];
            for (i = j + 1; i < n; i++) {
                rfm_real left = a.at[i * lda + i] - acc[i];
                if (left > best) best = left, q = i;
                if (left < least) least = left;
            }
            if (!(best > limit)) {
                *rank = j;
                return least < -limit ? RFM_ENOTPD : RFM_OK;
            }
            if (q != j) {
                uint32_t t = perm[j];
                perm[j] = perm[q];
                perm[q] = t;
                swap_symmetric(n, a.at, lda, j, q);
                swap_reals(&acc[j], &acc[q]);
            }
            row[j] = REAL_SQRT(best);
            scale = R(1) / row[j];
            subtract_rows(s->port, j - first, n - j - 1, a.at + first * lda + j + 1, lda, a.at + first * lda + j, lda, row + j + 1);
            for (i = j + 1; i < n; i++) {
                row[i] *= scale;
                acc[i] += row[i] * row[i];
            }
        }
        product(s, 1, n - end, n - end, end - first, R(-1), operand_of(a.at + first * lda + end, 1, lda),
                operand_of(a.at + first * lda + end, lda, 1), 1, a.at + end * lda + end, lda);
    }
    *rank = n;
    return RFM_OK;
}

int rfm_chol_rank(const rfm_ctx *ctx, rfm_mat a, rfm_real tolerance, uint32_t *perm, size_t *rank) {
    int status = check_ctx(ctx);
    size_t used;
    packing s;
    rfm_real *acc;
    if (status == RFM_OK && (perm == NULL || rank == NULL)) status = RFM_ENULL;
    if (status == RFM_OK) status = check_square(rfm_const(a));
    if (status != RFM_OK) return status;
    if (bytes_overlap(perm, a.rows * sizeof *perm, a.at, view_bytes(rfm_const(a)))) return RFM_EALIAS;
    if (!finite_real(tolerance) || !finite_upper(port_of(ctx), rfm_const(a))) return RFM_EFINITE;
    if (tolerance < R(0)) return RFM_EVALUE;
    used = ctx->arena->used;
    status = chol_rank_layout(ctx->arena, ctx, a.rows, &s, &acc);
    if (status == RFM_OK) status = chol_rank(&s, a, tolerance, perm, rank, acc);
    return finish(ctx, used, status);
}

/* ==== 8. Eigenpairs ==================================================================================================
 *
 * A = H T H' with T tridiagonal (Householder, in blocks), T = Z' diag(w) Z by divide and conquer, V = Z H'. Vectors are rows
 * throughout, so rotations and products run along memory. Cost 4/3 n^3 + up to 4/3 n^3 + 2 k n^2; scratch 2 n^2 and a few n,
 * and n^2 more when k < n. Fails only if the iteration inside a leaf or for a root of the secular equation does not end.
 */

#define TRI_ROWS 32  /* reflectors gathered before they are applied to the rest of A */
#define BACK_ROWS 64 /* reflectors applied together on the way back */
#define EIG_LEAF 32  /* largest tridiagonal matrix that is solved by QL rotations */

typedef struct {
    packing pack;
    rfm_real *q;            /* (n, n) eigenvectors of T in rows; is V itself when k = n */
    size_t ldq;
    rfm_real *s;            /* (n, n) eigenvectors of a rank-one update; before and after: reflectors */
    rfm_real *rows;         /* (n, n) old eigenvectors in the order of the product */
    rfm_real *d, *e, *tau;  /* diagonal, off-diagonal of T, factors of the reflectors: n each */
    rfm_real *z, *dl, *zl, *root, *hat; /* of a merge: n each */
    uint32_t *order, *kept, *gone, *spot; /* of a merge: n each */
    uint32_t *sorted;       /* sorted[i]: which row of its block has the i-th smallest eigenvalue */
    unsigned char *side;    /* of a merge: which half of the columns a row has entries in */
} eigen;

static int eig_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, size_t k, eigen *g) {
    size_t back = min_size(n, BACK_ROWS), tri = min_size(n, TRI_ROWS);
    size_t square = n > EIG_LEAF ? n : 0; /* no merging in a single leaf */
    g->q = k < n ? take_reals(arena, n, n) : NULL;
    g->s = take_reals(arena, n, max_size(square, max_size(3 * tri, 2 * back)));
    g->rows = take_reals(arena, n, max_size(square, 2 * back));
    g->d = take_reals(arena, 1, n);
    g->e = take_reals(arena, 1, n);
    g->tau = take_reals(arena, 1, n);
    g->z = take_reals(arena, 1, n);
    g->dl = take_reals(arena, 1, square);
    g->zl = take_reals(arena, 1, square);
    g->root = take_reals(arena, 1, square);
    g->hat = take_reals(arena, 1, square);
    g->order = take_indices(arena, square);
    g->kept = take_indices(arena, square);
    g->gone = take_indices(arena, square);
    g->spot = take_indices(arena, square);
    g->sorted = take_indices(arena, n);
    g->side = (unsigned char *)rfm_arena_take(arena, square, 1);
    return packing_layout(arena, ctx, n, n, max_size(square, max_size(2 * tri, back)), &g->pack);
}

/* ---- to tridiagonal form ------------------------------------------------------------------------------------------- */

static rfm_real dot(size_t n, const rfm_real *x, const rfm_real *y) {
    rfm_real s0 = R(0), s1 = R(0), s2 = R(0), s3 = R(0);
    size_t i;
    for (i = 0; i + 4 <= n; i += 4) {
        s0 += x[i] * y[i], s1 += x[i + 1] * y[i + 1];
        s2 += x[i + 2] * y[i + 2], s3 += x[i + 3] * y[i + 3];
    }
    for (; i < n; i++) s0 += x[i] * y[i];
    return (s0 + s1) + (s2 + s3);
}

/* y = A x, A (n, n) symmetric, its upper triangle read once. */
static void symv(const rfm_port *port, size_t n, const rfm_real *a, size_t lda, const rfm_real *x, rfm_real *y) {
    size_t r, i, j;
    for (i = 0; i < n; i++) y[i] = R(0);
    for (r = 0; r < n; r += 4) {
        size_t end = min_size(r + 4, n);
        rfm_real dots[4] = {R(0), R(0), R(0), R(0)};
        for (i = r; i < end; i++) {
            y[i] += a[i * lda + i] * x[i];
            for (j = i + 1; j < end; j++) {
                y[i] += a[i * lda + j] * x[j];
                y[j] += a[i * lda + j] * x[i];
            }
        }
        if (end == n) break;
        port_rows4(port, n - end, a + r * lda + end, lda, x + r, x + end, y + end, dots);
        for (i = 0; i < 4; i++) y[r + i] += dots[i];
    }
}

/* x[0..n) becomes v with v[0] = 1, and (I - tau v v') x = (beta, 0, ...); returns tau, beta in *beta. The caller has scaled
 * A to largest element 1: squares do not overflow, and what underflows does not matter beside it. */
static rfm_real reflector(size_t n, rfm_real *x, rfm_real *beta) {
    rfm_real tail = dot(n - 1, x + 1, x + 1), alpha = x[0], b, scale;
    size_t i;
    x[0] = R(1);
    if (tail == R(0)) {
        *beta = alpha;
        for (i = 1; i < n; i++) x[i] = R(0);
        return R(0);
    }
    b = REAL_SQRT(alpha * alpha + tail);
    if (alpha > R(0)) b = -b;
    scale = R(1) / (alpha - b);
    for (i = 1; i < n; i++) x[i] *= scale;
    *beta = b;
    return (b - alpha) / b;
}

/* dots and combinations of the rows of a stack of `count` rows, four at a time; the rows beyond count are zero or unused. */
static void stack_dots(const rfm_port *port, size_t count, size_t n, const rfm_real *rows, size_t ld, const rfm_real *x,
                       rfm_real *scratch, rfm_real *dots) {
    static const rfm_real none[4] = {R(0), R(0), R(0), R(0)};
    size_t p;
    for (p = 0; p < count; p++) dots[p] = R(0);
    for (p = 0; p + 4 <= count; p += 4) port_rows4(port, n, rows + p * ld, ld, none, x, scratch, dots + p);
    for (; p < count; p++) dots[p] = dot(n, rows + p * ld, x);
}

/* Upper triangle of A -> d, e; the reflectors' vectors stay in the rows of A, right of the diagonal, their factors in tau.
 * With V, W the vectors of a block, A is only brought up to date row by row inside it: A - V'W - W'V, as (V; W)' (W; V). */
static void tridiagonalise(const eigen *g, rfm_mat a) {
    const rfm_port *port = g->pack.port;
    size_t n = a.rows, lda = a.stride, first, j;
    for (first = 0; first < n; first += TRI_ROWS) {
        size_t end = min_size(first + TRI_ROWS, n), rows = end - first;
        rfm_real *v = g->s, *w = v + rows * n, *again = w + rows * n; /* V, W, V: rows of n */
        for (j = first; j < end; j++) {
            size_t p = j - first, m = n - j - 1;
            rfm_real *row = a.at + j * lda + j, *vp = v + p * n + j + 1, *wp = w + p * n + j + 1, *dots = g->z, half;
            subtract_rows(port, p, m + 1, v + j, n, w + j, n, row);
            subtract_rows(port, p, m + 1, w + j, n, v + j, n, row);
            g->d[j] = row[0];
            if (m == 0) break;
            g->tau[j] = reflector(m, row + 1, &g->e[j]);
            memcpy(vp, row + 1, m * sizeof *vp);
            symv(port, m, a.at + (j + 1) * lda + j + 1, lda, vp, wp);
            /* again[p] is free until the block ends: it takes what the dots write along the way */
            memset(again + p * n + j + 1, 0, m * sizeof *again);
            stack_dots(port, p, m, w + j + 1, n, vp, again + p * n + j + 1, dots);
            subtract_rows(port, p, m, v + j + 1, n, dots, 1, wp);
            stack_dots(port, p, m, v + j + 1, n, vp, again + p * n + j + 1, dots);
            subtract_rows(port, p, m, w + j + 1, n, dots, 1, wp);
            {
                size_t i;
                rfm_real tau = g->tau[j];
                half = R(0.5) * tau * tau * dot(m, wp, vp);
                for (i = 0; i < m; i++) wp[i] = tau * wp[i] - half * vp[i];
            }
        }
        if (end < n) {
            for (j = 0; j < rows; j++) memcpy(again + j * n + end, v + j * n + end, (n - end) * sizeof *again);
            product(&g->pack, 1, n - end, n - end, 2 * rows, R(-1), operand_of(v + end, 1, n), operand_of(w + end, n, 1), 1,
                    a.at + end * lda + end, lda);
        }
    }
}

/* Z = Z H', Z (k, n) in rows, H = H_0 H_1 ... of the reflectors in the rows of A. BACK_ROWS at a time as I - V' T V with
 * T (b, b) upper triangular:  Z -= (Z V') (T' V). */
static void back_transform(const eigen *g, rfm_mat a, size_t k, rfm_real *z, size_t ldz) {
    size_t n = a.rows, blocks = (n - 1 + BACK_ROWS - 1) / BACK_ROWS, i, j, p;
    while (blocks-- > 0) {
        size_t first = blocks * BACK_ROWS, rows = min_size(BACK_ROWS, n - 1 - first), from = first + 1, m = n - from;
        rfm_real *v = g->s, *tv = v + rows * m, *t = g->rows, *zv = t + rows * rows;
        for (i = 0; i < rows; i++) {
            for (j = 0; j < i; j++) v[i * m + j] = R(0);
            memcpy(v + i * m + i, a.at + (first + i) * a.stride + from + i, (m - i) * sizeof *v);
        }
        product(&g->pack, 1, rows, rows, m, R(1), operand_of(v, m, 1), operand_of(v, 1, m), 0, t, rows); /* V V' */
        for (i = 0; i < rows; i++) { /* column i of T: -tau_i T[0..i)[0..i) (V v_i), from the top down */
            rfm_real tau = g->tau[first + i];
            for (j = 0; j < i; j++) {
                rfm_real sum = R(0);
                for (p = j; p < i; p++) sum += t[j * rows + p] * t[p * rows + i];
                t[j * rows + i] = -tau * sum;
            }
            t[i * rows + i] = tau;
        }
        for (i = 1; i < rows; i++)
            for (j = 0; j < i; j++) t[i * rows + j] = R(0);
        product(&g->pack, 0, rows, m, rows, R(1), operand_of(t, 1, rows), operand_of(v, m, 1), 0, tv, m);
        product(&g->pack, 0, k, rows, m, R(1), operand_of(z + from, ldz, 1), operand_of(v, 1, m), 0, zv, rows);
        product(&g->pack, 0, k, m, rows, R(-1), operand_of(zv, rows, 1), operand_of(tv, m, 1), 1, z + from, ldz);
    }
}

/* ---- a leaf: QL with implicit shifts ----------------------------------------------------------------------------------- */

/* sqrt(a^2 + b^2) without overflow on the way. */
static rfm_real length2(rfm_real a, rfm_real b) {
    rfm_real big = max_real(REAL_ABS(a), REAL_ABS(b)), small = REAL_ABS(a) + REAL_ABS(b) - big;
    if (big == R(0)) return R(0);
    small /= big;
    return big * REAL_SQRT(R(1) + small * small);
}

/* (x, y) = (c x + s y, c y - s x), n of them. */
static void rotate(size_t n, rfm_real *x, rfm_real *y, rfm_real c, rfm_real s) {
    size_t i;
    for (i = 0; i < n; i++) {
        rfm_real xi = x[i], yi = y[i];
        x[i] = c * xi + s * yi;
        y[i] = c * yi - s * xi;
    }
}

/* d, e (n; e[i] couples i and i + 1) -> eigenvalues in d, eigenvectors in the rows of q (n, n), which starts as I. */
static int ql(size_t n, rfm_real *d, rfm_real *e, rfm_real *q, size_t ldq) {
    size_t low, m, i, sweep;
    e[n - 1] = R(0);
    for (low = 0; low < n; low++) {
        for (sweep = 0;; sweep++) {
            rfm_real g, r, s = R(1), c = R(1), p = R(0), f, b;
            int split = 0;
            for (m = low; m + 1 < n; m++)
                if (REAL_ABS(e[m]) <= R(0.5) * REAL_EPS * (REAL_ABS(d[m]) + REAL_ABS(d[m + 1]))) break;
            if (m == low) break;
            if (sweep == 60) return RFM_ECONVERGE;
            g = (d[low + 1] - d[low]) / (R(2) * e[low]); /* shift: the eigenvalue of the leading 2 x 2 nearer to d[low] */
            r = length2(g, R(1));
            g = d[m] - d[low] + e[low] / (g + (g >= R(0) ? r : -r));
            for (i = m; i-- > low;) { /* chase the bulge up */
                f = s * e[i];
                b = c * e[i];
                r = length2(f, g);
                e[i + 1] = r;
                if (r == R(0)) {
                    d[i + 1] -= p;
                    e[m] = R(0);
                    split = 1;
                    break;
                }
                s = f / r;
                c = g / r;
                g = d[i + 1] - p;
                r = (d[i] - g) * s + R(2) * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                rotate(n, q + (i + 1) * ldq, q + i * ldq, c, s);
            }
            if (split) continue;
            d[low] -= p;
            e[low] = g;
            e[m] = R(0);
        }
    }
    return RFM_OK;
}

/* ---- divide and conquer --------------------------------------------------------------------------------------------------
 *
 * Two neighbouring blocks are joined by T = diag(T1, T2) + rho z z', so with their eigenvalues d the task is
 * diag(d) + rho z z', rho > 0. Small z and (nearly) equal d are deflated; the other eigenvalues are the roots of
 *   f(x) = 1/rho + sum z_i^2 / (d_i - x),
 * one in each gap. A root is kept as its distance from the nearer pole, and z is then recomputed so that the roots are exact
 * for it (Gu and Eisenstat): the vectors hat_i / (d_i - root) are orthogonal however close the roots are. */

/* Root `j` of f, d ascending, z > 0 (squared: z2). gap[i] = d[i] - root, each with small relative error. */
static int secular_root(size_t n, size_t j, const rfm_real *d, const rfm_real *z2, rfm_real rho, rfm_real *gap, rfm_real *root) {
    const int last = j + 1 == n;
    const rfm_real inverse = R(1) / rho;
    size_t origin = j, i, tries;
    rfm_real low, high, x, total = R(0);
    if (last) {
        for (i = 0; i < n; i++) total += z2[i];
        low = R(0);
        high = rho * total * (R(1) + R(8) * REAL_EPS);
        x = R(0.5) * high;
    } else { /* the sign in the middle tells which pole is nearer */
        rfm_real width = d[j + 1] - d[j], half = R(0.5) * width, f = inverse, a = z2[j], b = z2[j + 1], c, mid, root2;
        for (i = 0; i < n; i++) f += z2[i] / ((d[i] - d[j]) - half);
        c = f - a / -half - b / half; /* f as if only these two poles moved */
        if (f >= R(0)) {
            low = R(0), high = half;
            mid = c * width + a + b;
            root2 = REAL_SQRT(max_real(mid * mid - R(4) * c * a * width, R(0)));
            x = mid > R(0) ? R(2) * a * width / (mid + root2) : (mid - root2) / (R(2) * c);
        } else {
            origin = j + 1;
            low = -half, high = R(0);
            mid = -c * width + a + b;
            root2 = REAL_SQRT(max_real(mid * mid + R(4) * c * b * width, R(0)));
            x = mid < R(0) ? (mid - root2) / (R(2) * c) : -R(2) * b * width / (mid + root2);
        }
        if (!(x > low && x < high)) x = R(0.5) * (low + high);
    }
    for (i = 0; i < n; i++) gap[i] = d[i] - d[origin];
    for (tries = 0; tries < 200; tries++) {
        rfm_real psi = R(0), dpsi = R(0), phi = R(0), dphi = R(0), f, step, error, p, q;
        for (i = 0; i <= j; i++) {
            rfm_real inv = R(1) / (gap[i] - x), term = z2[i] * inv;
            psi += term;
            dpsi += term * inv;
        }
        for (; i < n; i++) {
            rfm_real inv = R(1) / (gap[i] - x), term = z2[i] * inv;
            phi += term;
            dphi += term * inv;
        }
        f = inverse + psi + phi;
        error = R(8) * (phi - psi) + inverse + REAL_ABS(x) * (dpsi + dphi);
        if (REAL_ABS(f) <= REAL_EPS * error) break;
        if (f < R(0)) low = x;
        else high = x;
        if (high - low <= REAL_EPS * max_real(REAL_ABS(low), REAL_ABS(high))) break;
        p = gap[j] - x; /* < 0 */
        if (last) { /* psi as c + s / (p - step) */
            rfm_real c = f - p * dpsi;
            step = c > R(0) ? p + dpsi * p * p / c : R(0);
        } else { /* psi and phi each as a constant and its nearest pole */
            rfm_real c, a, b, root2;
            q = gap[j + 1] - x; /* > 0 */
            c = f - p * dpsi - q * dphi;
            a = (p + q) * f - p * q * (dpsi + dphi);
            b = p * q * f;
            if (c == R(0)) step = a != R(0) ? b / a : R(0);
            else {
                root2 = REAL_SQRT(max_real(a * a - R(4) * b * c, R(0)));
                step = a <= R(0) ? (a - root2) / (R(2) * c) : R(2) * b / (a + root2);
            }
        }
        if (!(f * step < R(0))) step = -f / (dpsi + dphi);
        if (tries > 30 || !(x + step > low && x + step < high)) x = R(0.5) * (low + high);
        else x += step;
    }
    if (tries == 200) return RFM_ECONVERGE;
    for (i = 0; i < n; i++) gap[i] -= x;
    *root = d[origin] + x;
    return RFM_OK;
}

/* index[0..n) such that d[index[i]] ascends; shell sort, because what comes in is nearly sorted or short. */
static void sort_indices(size_t n, const rfm_real *d, uint32_t *index) {
    size_t step = 1, i, j;
    for (i = 0; i < n; i++) index[i] = (uint32_t)i;
    while (step < n / 3) step = 3 * step + 1;
    for (; step > 0; step /= 3) {
        for (i = step; i < n; i++) {
            uint32_t x = index[i];
            for (j = i; j >= step && d[index[j - step]] > d[x]; j -= step) index[j] = index[j - step];
            index[j] = x;
        }
    }
}

#define SIDE_LEFT 0
#define SIDE_BOTH 1
#define SIDE_RIGHT 2

/* Eigenpairs of the block [o, o + n1 + n2) from those of its two halves, joined by the off-diagonal element beta; only the
 * `top` largest are made complete. */
static int merge(const eigen *g, size_t o, size_t n1, size_t n2, rfm_real beta, size_t top) {
    size_t n = n1 + n2, ldq = g->ldq, kept = 0, gone = 0, count[3] = {0, 0, 0}, start[3], left, right, low, i, j;
    rfm_real *d = g->d + o, *q = g->q + o * ldq + o, *z = g->z, *dl = g->dl, *zl = g->zl, *root = g->root, *hat = g->hat;
    rfm_real *from_left, *from_right, *rest; /* rows of q in the order of the products */
    rfm_real tolerance, largest = R(0), zmax = R(0);
    const rfm_real rho = R(2) * REAL_ABS(beta), r = REAL_SQRT(R(0.5)); /* z of length 1 */
    uint32_t *order = g->order, *sorted = g->sorted + o;

    for (i = 0; i < n1; i++) z[i] = r * q[i * ldq + n1 - 1], g->side[i] = SIDE_LEFT;
    for (; i < n; i++) z[i] = (beta < R(0) ? -r : r) * q[i * ldq + n1], g->side[i] = SIDE_RIGHT;
    for (i = 0; i < n; i++) largest = max_real(largest, REAL_ABS(d[i])), zmax = max_real(zmax, REAL_ABS(z[i]));
    tolerance = R(8) * REAL_EPS * max_real(largest, zmax);
    for (i = 0, j = 0; i + j < n;) { /* both halves are sorted */
        if (j == n2 || (i < n1 && d[sorted[i]] <= d[n1 + sorted[n1 + j]])) order[i + j] = sorted[i], i++;
        else order[i + j] = (uint32_t)n1 + sorted[n1 + j], j++;
    }

    for (i = 0; i < n; i++) { /* deflation; kept[] ends with the candidate that the next one is compared with */
        size_t row = order[i], before;
        if (rho * REAL_ABS(z[row]) <= tolerance) {
            g->gone[gone++] = (uint32_t)row;
            continue;
        }
        if (kept > 0) {
            rfm_real c, s, tau, t;
            before = g->kept[kept - 1];
            tau = length2(z[row], z[before]);
            c = z[row] / tau;
            s = -z[before] / tau;
            t = d[row] - d[before];
            if (REAL_ABS(t * c * s) <= tolerance) { /* a rotation makes z[before] zero */
                z[row] = tau;
                z[before] = R(0);
                if (g->side[row] != g->side[before]) g->side[row] = SIDE_BOTH;
                rotate(n, q + before * ldq, q + row * ldq, c, s);
                t = d[before] * c * c + d[row] * s * s;
                d[row] = d[before] * s * s + d[row] * c * c;
                d[before] = t;
                g->gone[gone++] = (uint32_t)before;
                kept--;
            }
        }
        g->kept[kept++] = (uint32_t)row;
    }

    /* the kept rows in the order left, both, right; spot[i] is where row kept[i] goes */
    for (i = 0; i < kept; i++) count[g->side[g->kept[i]]]++;
    start[0] = 0, start[1] = count[0], start[2] = count[0] + count[1];
    for (i = 0; i < kept; i++) g->spot[i] = (uint32_t)start[g->side[g->kept[i]]]++;
    left = count[SIDE_LEFT] + count[SIDE_BOTH];
    right = count[SIDE_BOTH] + count[SIDE_RIGHT];
    from_left = g->rows, from_right = from_left + left * n1, rest = from_right + right * n2;
    for (i = 0; i < kept; i++) {
        size_t row = g->kept[i];
        if (g->side[row] != SIDE_RIGHT) memcpy(from_left + g->spot[i] * n1, q + row * ldq, n1 * sizeof *q);
        if (g->side[row] != SIDE_LEFT)
            memcpy(from_right + (g->spot[i] - count[SIDE_LEFT]) * n2, q + row * ldq + n1, n2 * sizeof *q);
        dl[i] = d[row];
        zl[i] = z[row] * z[row];
        hat[i] = R(1);
    }
    for (i = 0; i < gone; i++) {
        memcpy(rest + i * n, q + g->gone[i] * ldq, n * sizeof *q);
        root[kept + i] = d[g->gone[i]];
    }

    for (j = 0; j < kept; j++) {
        rfm_real *gap = g->s + j * kept; /* row j: d - root j */
        int status = secular_root(kept, j, dl, zl, rho, gap, &root[j]);
        if (status != RFM_OK) return status;
        for (i = 0; i < j; i++) hat[i] *= gap[i] / (dl[i] - dl[j]);
        hat[j] *= -gap[j];
        for (i = j + 1; i < kept; i++) hat[i] *= gap[i] / (dl[i] - dl[j]);
    }
    for (i = 0; i < kept; i++) {
        hat[i] = REAL_SQRT(REAL_ABS(hat[i]));
        if (z[g->kept[i]] < R(0)) hat[i] = -hat[i];
    }
    low = kept > top ? kept - top : 0; /* the roots ascend */
    for (j = low; j < kept; j++) {
        rfm_real *row = g->s + j * kept, norm; /* row j: eigenvector j, in the order of spot */
        for (i = 0; i < kept; i++) zl[g->spot[i]] = hat[i] / row[i];
        norm = R(1) / REAL_SQRT(dot(kept, zl, zl));
        for (i = 0; i < kept; i++) row[i] = zl[i] * norm;
    }
    product(&g->pack, 0, kept - low, n1, left, R(1), operand_of(g->s + low * kept, kept, 1), operand_of(from_left, n1, 1), 0,
            q + low * ldq, ldq);
    product(&g->pack, 0, kept - low, n2, right, R(1), operand_of(g->s + low * kept + count[SIDE_LEFT], kept, 1),
            operand_of(from_right, n2, 1), 0, q + low * ldq + n1, ldq);
    for (i = 0; i < gone; i++) memcpy(q + (kept + i) * ldq, rest + i * n, n * sizeof *q);
    memcpy(d, root, n * sizeof *d);
    sort_indices(n, d, sorted);
    return RFM_OK;
}

/* T (d, e) -> eigenvalues in d, sorted[] and eigenvectors in the rows of q: leaves, then pairs of blocks until one is left. */
static int divide_and_conquer(const eigen *g, size_t n, size_t top) {
    size_t leaves = 1, i, j, width;
    int status = RFM_OK;
    while ((n + leaves - 1) / leaves > EIG_LEAF) leaves *= 2;
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++) g->q[i * g->ldq + j] = R(0);
        g->q[i * g->ldq + i] = R(1);
    }
    for (i = 1; i < leaves; i++) {
        size_t cut = i * n / leaves;
        rfm_real beta = REAL_ABS(g->e[cut - 1]);
        g->d[cut - 1] -= beta;
        g->d[cut] -= beta;
    }
    for (i = 0; i < leaves && status == RFM_OK; i++) {
        size_t first = i * n / leaves, end = (i + 1) * n / leaves;
        rfm_real coupling = g->e[end - 1];
        status = ql(end - first, g->d + first, g->e + first, g->q + first * g->ldq + first, g->ldq);
        g->e[end - 1] = coupling;
        sort_indices(end - first, g->d + first, g->sorted + first);
    }
    for (width = 1; width < leaves; width *= 2) {
        for (i = 0; i < leaves && status == RFM_OK; i += 2 * width) {
            size_t first = i * n / leaves, cut = (i + width) * n / leaves, end = (i + 2 * width) * n / leaves;
            status = merge(g, first, cut - first, end - cut, g->e[cut - 1], 2 * width == leaves ? top : n);
        }
    }
    return status;
}

int rfm_eig_need(const rfm_ctx *ctx, size_t n, size_t k, size_t *bytes) {
    eigen g;
    if (ctx == NULL || bytes == NULL) return RFM_ENULL;
    if (n == 0) return RFM_EZERO;
    if (k == 0 || k > n) return RFM_EVALUE;
    NEED(ctx, bytes, eig_layout(&measure, ctx, n, k, &g));
}

/* A = 2^*exponent times a matrix whose largest element is in [1/2, 1), which it becomes; A = 0 stays. */
static void scale_to_one(rfm_mat a, int *exponent) {
    rfm_real largest = R(0), scale;
    size_t i, j;
    for (i = 0; i < a.rows; i++)
        for (j = i; j < a.cols; j++) largest = max_real(largest, REAL_ABS(a.at[i * a.stride + j]));
    (void)REAL_FREXP(largest, exponent);
    if (*exponent == 0) return;
    scale = REAL_LDEXP(R(1), -(*exponent / 2)); /* in two steps: 2^-exponent itself may not be a number */
    for (i = 0; i < a.rows; i++)
        for (j = i; j < a.cols; j++) a.at[i * a.stride + j] *= scale;
    scale = REAL_LDEXP(R(1), -(*exponent - *exponent / 2));
    for (i = 0; i < a.rows; i++)
        for (j = i; j < a.cols; j++) a.at[i * a.stride + j] *= scale;
}

static int eig(eigen *g, rfm_mat a, size_t k, rfm_real *w, rfm_mat v) {
    size_t n = a.rows, i;
    int exponent, status;
    scale_to_one(a, &exponent);
    tridiagonalise(g, a);
    if (g->q == NULL) g->q = v.at, g->ldq = v.stride;
    else g->ldq = n;
    status = divide_and_conquer(g, n, k);
    if (status != RFM_OK) return status;
    if (g->q == v.at) { /* put the rows in order by way of a copy */
        for (i = 0; i < n; i++) memcpy(g->rows + i * n, g->q + i * g->ldq, n * sizeof *g->rows);
        g->q = g->rows, g->ldq = n;
    }
    for (i = 0; i < k; i++) {
        size_t row = g->sorted[n - 1 - i];
        memcpy(v.at + i * v.stride, g->q + row * g->ldq, n * sizeof *v.at);
        w[i] = REAL_LDEXP(g->d[row], exponent);
    }
    back_transform(g, a, k, v.at, v.stride);
    return RFM_OK;
}

int rfm_eig(const rfm_ctx *ctx, rfm_mat a, size_t k, rfm_real *w, rfm_mat v) {
    int status = check_ctx(ctx);
    size_t used;
    eigen g;
    if (status == RFM_OK && w == NULL) status = RFM_ENULL;
    if (status == RFM_OK) status = check_square(rfm_const(a));
    if (status == RFM_OK) status = check_view(rfm_const(v));
    if (status != RFM_OK) return status;
    if (k == 0 || k > a.rows) return RFM_EVALUE;
    if (v.rows != k || v.cols != a.rows) return RFM_ESHAPE;
    if (views_overlap(rfm_const(a), rfm_const(v)) || views_overlap(rfm_const(a), rfm_cview(w, 1, k)) ||
        views_overlap(rfm_const(v), rfm_cview(w, 1, k)))
        return RFM_EALIAS;
    if (!finite_upper(port_of(ctx), rfm_const(a))) return RFM_EFINITE;
    used = ctx->arena->used;
    status = eig_layout(ctx->arena, ctx, a.rows, k, &g);
    if (status == RFM_OK) status = eig(&g, a, k, w, v);
    return finish(ctx, used, status);
}

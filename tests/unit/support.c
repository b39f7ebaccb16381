/* See test.h. */
#include "test.h"

#include "rfm_port.h"

#ifdef TEST_ASAN
#include <sanitizer/asan_interface.h>
#define FENCE(at, bytes)    __asan_poison_memory_region(at, bytes)
#define UNFENCE(at, bytes)  __asan_unpoison_memory_region(at, bytes)
#define LOOKS_BEHIND_FENCES __attribute__((no_sanitize_address))
#else
#define FENCE(at, bytes)   ((void)0)
#define UNFENCE(at, bytes) ((void)0)
#if defined(__clang__)
#define LOOKS_BEHIND_FENCES __attribute__((no_sanitize("memory"))) /* also at what was never written */
#else
#define LOOKS_BEHIND_FENCES
#endif
#endif

/* ---- assertions ----------------------------------------------------------------------------- */

char test_noted[64];

static size_t note_text(size_t at, const char *text) {
    while (*text != '\0' && at < sizeof test_noted - 1) test_noted[at++] = *text++;
    test_noted[at] = '\0';
    return at;
}

static size_t note_size(size_t at, size_t value) {
    char digits[24];
    size_t i = sizeof digits;

    digits[--i] = '\0';
    do digits[--i] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    digits[--i] = ' ';
    return note_text(at, digits + i);
}

void test_note(const char *text, size_t a, size_t b, size_t c) {
    note_size(note_size(note_size(note_text(0, text), a), b), c);
}

/* ---- numbers -------------------------------------------------------------------------------- */

int test_little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 1;
}

double test_number(uint32_t stream, size_t i, size_t j) {
    uint32_t x = stream * 0x9E3779B9u + (uint32_t)i * 0x85EBCA6Bu + (uint32_t)j * 0xC2B2AE35u + 1u;
    int round;

    for (round = 0; round < 3; round++) { /* xorshift */
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x += 0x6D2B79F5u;
    }
    return (double)((int32_t)(x >> 11) - (1 << 20)) / (1 << 20);
}

double test_eigenvalue(int kind, size_t n, size_t i) {
    double t = n > 1 ? (double)i / (double)(n - 1) : 0.0;

    switch (kind) {
    case TEST_DIAGONAL: return (double)((i * 7 + 3) % (n + 1)) - (double)n / 3;
    case TEST_CLUSTERS: return (double)(1 + i % 3) + (double)(i % 5) * TEST_EPS;
    case TEST_DEFICIENT: return i % 3 == 0 ? 1.0 + t : 0.0;
    case TEST_DECAY: return exp(-13.8 * t);
    default: return -1.0 - t;
    }
}

static double spd(int kind, size_t n, size_t i, size_t j) {
    double sum = 0, d;
    size_t p;

    switch (kind) {
    case TEST_RANDOM:
    case TEST_GRADED:
        for (p = 0; p < 3; p++) sum += test_number(10, p, i) * test_number(10, p, j);
        sum += i == j ? 1 : 0;
        return kind == TEST_RANDOM || n == 1 ? sum : sum * exp(13.8 * ((double)(i + j) / (double)(n - 1) / 2 - 0.5));
    case TEST_HILBERT: return 1 / (double)(i + j + 1) + (i == j ? 4 * (double)n * TEST_EPS : 0);
    case TEST_LAPLACE:
    case TEST_RIDGE:
        for (p = 0; p < 3; p++) {
            d = test_number(11, i, p) - test_number(11, j, p);
            sum += d * d;
        }
        return exp(-sqrt(sum)) + (i == j && kind == TEST_RIDGE ? 1e-3 : 0);
    default: return i == j ? 1 : 0;
    }
}

/* H D H with H = I - 2 u u', u the unit vector of equal elements with signs. */
static double reflected(int kind, size_t n, size_t i, size_t j) {
    static double mean;
    static size_t mean_n;
    static int mean_kind;
    double di = test_eigenvalue(kind, n, i), dj = test_eigenvalue(kind, n, j);
    size_t p;

    if (mean_n != n || mean_kind != kind) {
        mean = 0;
        for (p = 0; p < n; p++) mean += test_eigenvalue(kind, n, p) / (double)n;
        mean_n = n;
        mean_kind = kind;
    }
    return (i == j ? di : 0) + ((i ^ j) & 1 ? -2 : 2) * (2 * mean - di - dj) / (double)n;
}

static size_t block_of(size_t i) {
    size_t block = 0;

    while (i > block) i -= ++block;
    return block;
}

double test_symmetric(int kind, size_t n, size_t i, size_t j) {
    size_t lo = i < j ? i : j, hi = i < j ? j : i;

    if (kind < TEST_SPD_KINDS) return spd(kind, n, i, j);
    if (kind >= TEST_CLUSTERS) return reflected(kind, n, i, j);
    switch (kind) {
    case TEST_SYMMETRIC: return test_number(12, lo, hi);
    case TEST_DIAGONAL: return i == j ? test_eigenvalue(kind, n, i) : 0;
    case TEST_BLOCKS: return block_of(i) == block_of(j) ? test_number(13, lo, hi) : 0;
    case TEST_STRING: return hi - lo > 1 ? 0 : hi == lo ? 2 : -1;
    case TEST_WILKINSON: return hi - lo > 1 ? 0 : hi == lo ? fabs((double)(n - 1) / 2 - (double)i) : 1;
    default: return 0;
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

#define GAP 16 /* bytes between blocks, at least */

static unsigned char memory[TEST_RAM];
static size_t memory_used;

static size_t up16(size_t n) { return (n + 15) & ~(size_t)15; }

/* The first byte of the pool that is aligned as an arena must be. */
static unsigned char *pool_base(void) { return memory + (RFM_ALIGN - (uintptr_t)memory % RFM_ALIGN) % RFM_ALIGN; }

void test_reset(void) { test_rewind(0); }
int test_arena(rfm_ctx *ctx, rfm_arena *arena, size_t bytes) {
    void *block = test_take(bytes);
    if (block == NULL) return 0;
    CHECK_INT(RFM_OK, rfm_arena_init(arena, block, bytes));
    ctx->arena = arena;
    return 1;
}

size_t test_mark(void) { return memory_used; }

void test_rewind(size_t mark) {
    if (memory_used > mark) FENCE(pool_base() + mark, memory_used - mark);
    memory_used = mark;
}

void *test_take(size_t bytes) {
    const size_t room = sizeof memory - RFM_ALIGN - 2 * GAP;
    size_t start = memory_used + GAP, end;

    if (bytes > room || start > room - bytes) return NULL;
    end = up16(start + bytes) + GAP;
    if (end > sizeof memory - RFM_ALIGN) return NULL;
    UNFENCE(pool_base() + memory_used, end - memory_used);
    memset(pool_base() + memory_used, 0xFF, end - memory_used);
    FENCE(pool_base() + memory_used, end - memory_used);
    UNFENCE(pool_base() + start, bytes);
    memory_used = end;
    return pool_base() + start;
}

/* Bytes behind a fence, read one by one. */
LOOKS_BEHIND_FENCES static int all_guard(const unsigned char *at, size_t bytes) {
    size_t i;

    for (i = 0; i < bytes; i++)
        if (at[i] != 0xFF) return 0;
    return 1;
}

LOOKS_BEHIND_FENCES uint64_t test_hash(size_t to) {
    const unsigned char *at = pool_base();
    uint64_t hash = 14695981039346656037u;
    size_t i;

    for (i = 0; i < to; i += 8, at += 8) { /* marks are multiples of 16 */
        uint64_t word = (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
                        (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 | (uint64_t)at[7] << 56;

        hash = (hash ^ word) * 1099511628211u;
        hash ^= hash >> 29;
    }
    return hash;
}

static const void *bytes_of(const rfm_real *at) { return at; }
static void *writable_bytes_of(rfm_real *at) { return at; }

rfm_mat test_mat(size_t rows, size_t cols, size_t pad, size_t skew) {
    rfm_mat a;
    void *block = test_take((skew + (rows - 1) * (cols + pad) + cols) * sizeof(rfm_real));

    a.at = block;
    if (a.at != NULL) a.at += skew;
    a.rows = rows;
    a.cols = cols;
    a.stride = cols + pad;
    return a;
}

void test_check_padding(rfm_mat a) {
    const size_t real = sizeof(rfm_real);
    const unsigned char *at = bytes_of(a.at);
    size_t i;

    CHECK(all_guard(at - real, real));
    for (i = 0; i + 1 < a.rows; i++) CHECK(all_guard(at + (i * a.stride + a.cols) * real, (a.stride - a.cols) * real));
    CHECK(all_guard(at + (i * a.stride + a.cols) * real, GAP));
}

void test_check_lower(rfm_mat a) {
    size_t i;

    for (i = 1; i < a.rows; i++) CHECK(all_guard(bytes_of(a.at + i * a.stride), i * sizeof(rfm_real)));
}

/* ---- ports and workers ---------------------------------------------------------------------- */

const rfm_port *test_port(size_t index) {
    static rfm_port blocks;

#if RFM_PORT_HAVE_X86 || RFM_PORT_HAVE_NEON
    const char *name;
    size_t i;

    for (i = 0; (name = rfm_port_name(i)) != NULL; i++)
        if (rfm_port_find(name) != NULL && index-- == 0) return rfm_port_find(name);
#else
    if (index-- == 0) return &rfm_port_scalar;
#endif
    if (index > 0) return NULL;
    blocks.name = "blocks";
    blocks.mr = blocks.mc = rfm_port_scalar.mr;
    blocks.nr = blocks.nc = rfm_port_scalar.nr;
    blocks.kc = 2 * rfm_port_scalar.mr;
    blocks.gemm = rfm_port_scalar.gemm;
    return &blocks;
}

void test_pool_run(void *pool, rfm_job job, void *arg, size_t jobs) {
    const test_pool *p = pool;
    size_t i;

    for (i = 0; i < jobs; i++) job(arg, p->reverse ? jobs - 1 - i : i, i % p->workers);
}

/* ---- calls as data -------------------------------------------------------------------------- */

int test_call_run(const rfm_ctx *ctx, const test_call *call) {
    rfm_cmat a = rfm_const(call->a), b = rfm_const(call->b);

    switch (call->what) {
    case TEST_GEMM: return rfm_gemm(ctx, call->op, call->alpha, a, b, call->beta, call->c);
    case TEST_SYRK: return rfm_syrk(ctx, call->op, call->alpha, a, call->beta, call->c);
    case TEST_CHOL: return rfm_chol(ctx, call->a, call->count);
    case TEST_TRSM: return rfm_trsm(ctx, call->op, a, call->c);
    case TEST_SOLVE: return rfm_chol_solve(ctx, a, call->c);
    case TEST_RANK: return rfm_chol_rank(ctx, call->a, call->alpha, call->perm, call->count);
    default: return rfm_eig(ctx, call->a, call->k, call->w, call->c);
    }
}

int test_call_need(const rfm_ctx *ctx, const test_call *call, size_t *bytes) {
    size_t inner = call->op == RFM_TN ? call->a.rows : call->a.cols;

    switch (call->what) {
    case TEST_GEMM: return rfm_gemm_need(ctx, call->c.rows, call->c.cols, inner, bytes);
    case TEST_SYRK: return rfm_syrk_need(ctx, call->c.rows, inner, bytes);
    case TEST_CHOL: return rfm_chol_need(ctx, call->a.rows, bytes);
    case TEST_TRSM:
    case TEST_SOLVE: return rfm_trsm_need(ctx, call->a.rows, call->c.cols, bytes);
    case TEST_RANK: return rfm_chol_rank_need(ctx, call->a.rows, bytes);
    default: return rfm_eig_need(ctx, call->a.rows, call->k, bytes);
    }
}

/* Random elements; with `upper` what is below the diagonal is guard. */
static void fill_random(rfm_mat m, uint32_t stream, int upper) {
    size_t i, j;

    for (i = 0; i < m.rows; i++)
        for (j = 0; j < m.cols; j++)
            if (!upper || j >= i) m.at[i * m.stride + j] = (rfm_real)test_number(stream, i, j);
}

static void fill_guard(rfm_mat m, int lower) {
    size_t i;

    for (i = 0; i < m.rows; i++)
        memset(writable_bytes_of(m.at + i * m.stride), 0xFF,
               (lower ? (i < m.cols ? i : m.cols) : m.cols) * sizeof(rfm_real));
}

void test_fill(const test_call *call) {
    const rfm_mat a = call->a;
    size_t i, j;

    if (call->what == TEST_GEMM || call->what == TEST_SYRK) {
        fill_random(a, 1, 0);
        if (call->what == TEST_GEMM) fill_random(call->b, 2, 0);
        fill_guard(call->c, 0);
        if (call->beta < 0 || call->beta > 0) fill_random(call->c, 3, call->what == TEST_SYRK);
    } else if (call->what == TEST_TRSM || call->what == TEST_SOLVE) {
        fill_random(call->c, 3, 0);
        if (call->what == TEST_SOLVE) return;
        fill_guard(a, 1);
        for (i = 0; i < a.rows; i++)
            for (j = i; j < a.cols; j++)
                a.at[i * a.stride + j] = (rfm_real)(j > i ? test_number(4, i, j) * 2 / (double)a.rows
                                                          : (i % 3 ? 1 : -1) * (1 + (double)(i % 5) / 4));
    } else {
        fill_guard(a, 1);
        for (i = 0; i < a.rows; i++)
            for (j = i; j < a.cols; j++)
                a.at[i * a.stride + j] =
                    (rfm_real)(test_symmetric(call->kind, a.rows, i, j) * (call->scale > 0 ? call->scale : 1));
        if (call->count != NULL) memset(call->count, 0xFF, sizeof *call->count);
        if (call->what == TEST_RANK) memset(call->perm, 0xFF, a.rows * sizeof *call->perm);
        if (call->what == TEST_EIG) {
            memset(writable_bytes_of(call->w), 0xFF, call->k * sizeof *call->w);
            fill_guard(call->c, 0);
        }
    }
}

static void context(rfm_ctx *ctx, const rfm_port *port, const test_pool *pool) {
    memset(ctx, 0, sizeof *ctx);
    ctx->port = port;
    if (pool != NULL) {
        ctx->workers = pool->workers;
        ctx->run = test_pool_run;
        ctx->pool = (void *)(uintptr_t)pool;
    }
}

int test_run(const test_call *call, const rfm_port *port, const test_pool *pool) {
    static const unsigned char before[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const size_t mark = test_mark();
    rfm_arena arena;
    rfm_ctx ctx;
    size_t need = 0, used, prefix;
    void *mem, *block;
    int status;

    context(&ctx, port, pool);
    CHECK_INT(RFM_OK, test_call_need(&ctx, call, &need));
    rfm_arena_measure(&arena);
    rfm_arena_take(&arena, sizeof before, 1);
    prefix = up16(arena.used);
    mem = test_take(prefix + need);
    if (mem == NULL) return TEST_SKIP;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, prefix + need));
    block = rfm_arena_take(&arena, sizeof before, 1);
    CHECK(block != NULL);
    memcpy(block, before, sizeof before);
    used = arena.used;
    ctx.arena = &arena;

    test_fill(call);
    status = test_call_run(&ctx, call);
    CHECK_SIZE(used, arena.used);
    CHECK_INT(RFM_OK, arena.status);
    CHECK_SIZE(prefix + need, arena.peak);
    CHECK(memcmp(block, before, sizeof before) == 0);
    CHECK(all_guard((unsigned char *)mem - GAP, GAP) && all_guard((unsigned char *)mem + arena.size, GAP));
    test_rewind(mark);
    return status;
}

void test_check_same(const test_call *call, const rfm_port *port, int status) {
    static const test_pool pools[] = {{1, 1}, {2, 1}, {7, 0}};
    const size_t mark = test_mark();
    uint64_t hash;
    size_t i;
    int result;

    CHECK_INT(status, test_run(call, port, NULL));
    hash = test_hash(mark);
    CHECK_INT(status, test_run(call, port, NULL));
    CHECK(hash == test_hash(mark));
    for (i = 0; i < TEST_LENGTH(pools); i++) {
        result = test_run(call, port, &pools[i]);
        if (result == TEST_SKIP && i > 0) continue;
        CHECK_INT(status, result);
        CHECK(hash == test_hash(mark));
    }
}

void test_check_short(const test_call *call, const rfm_port *port) {
    const size_t mark = test_mark();
    rfm_arena arena;
    rfm_ctx ctx;
    size_t need = 0, i;
    void *mem;

    context(&ctx, port, NULL);
    CHECK_INT(RFM_OK, test_call_need(&ctx, call, &need));
    for (i = 0; i < 3 && need > 0; i++) {
        size_t size = i == 0 ? need - 1 : i == 1 ? need / 2 : 0;

        mem = test_take(size);
        CHECK(mem != NULL); /* there was room for more */
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, size));
        ctx.arena = &arena;
        test_fill(call);
        test_check_refused(call, &ctx, RFM_EARENA);
        test_rewind(mark);
    }
}

void test_check_refused(const test_call *call, const rfm_ctx *ctx, int status) {
    rfm_arena *arena = ctx != NULL ? ctx->arena : NULL, before;
    /* Scratch memory may have been used by the time that a NaN is found; arenas come after the arguments. */
    size_t to = arena != NULL && status == RFM_EFINITE ? (size_t)(arena->base - pool_base()) : test_mark();
    const uint64_t hash = test_hash(to);

    memset(&before, 0, sizeof before);
    if (arena != NULL) before = *arena;
    CHECK_INT(status, test_call_run(ctx, call));
    CHECK(hash == test_hash(to));
    if (arena == NULL) return;
    CHECK(before.base == arena->base && before.size == arena->size);
    CHECK_SIZE(before.used, arena->used);
    CHECK_INT(before.status, arena->status);
}

/* ---- bad arguments -------------------------------------------------------------------------- */

/* The views of each function, and the one, if any, that it only writes. */
static const char *const views[TEST_CALLS] = {"abc", "ac", "a", "ac", "ac", "a", "ac"};

static rfm_mat *view(test_call *call, char name) { return name == 'a' ? &call->a : name == 'b' ? &call->b : &call->c; }

static int triangular(int what, char name) {
    return what == TEST_SYRK ? name == 'c' : what != TEST_GEMM && name == 'a';
}

/* Nothing else says how many rows (or columns) this view has. */
static int free_size(const test_call *call, char name, int rows) {
    if (call->what == TEST_SYRK) return name == 'a' && (call->op == RFM_TN) == rows;
    return (call->what == TEST_TRSM || call->what == TEST_SOLVE) && name == 'c' && !rows;
}

static void refused_view(const test_call *good, const rfm_ctx *ctx, char name) {
    static const size_t huge[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / sizeof(rfm_real)};
    test_call bad = *good;
    rfm_mat *v = view(&bad, name), was = *v;
    size_t i;

    test_note("bad view", (size_t)good->what, (size_t)(name - 'a'), 0);
    v->at = NULL;
    test_check_refused(&bad, ctx, RFM_ENULL);
    *v = was;
    v->rows = 0;
    test_check_refused(&bad, ctx, RFM_EZERO);
    *v = was;
    v->cols = 0;
    test_check_refused(&bad, ctx, RFM_EZERO);
    *v = was;
    v->stride = v->cols - 1;
    test_check_refused(&bad, ctx, RFM_ESTRIDE);
    for (i = 0; i < TEST_LENGTH(huge); i++) {
        v->stride = huge[i];
        test_check_refused(&bad, ctx, RFM_EOVERFLOW);
    }
    for (i = 0; i < 2; i++) {
        *v = was;
        if (!free_size(good, name, 1)) {
            v->rows = i == 0 ? was.rows - 1 : was.rows + 1;
            test_check_refused(&bad, ctx, RFM_ESHAPE);
        }
        *v = was;
        if (!free_size(good, name, 0)) {
            v->cols = i == 0 ? was.cols - 1 : was.cols + 1;
            test_check_refused(&bad, ctx, RFM_ESHAPE);
        }
    }
}

/* NaN, infinity and minus infinity in the corners, the diagonal and between. */
static void refused_values(const test_call *call, const rfm_ctx *ctx, char name) {
    test_call copy = *call;
    const rfm_mat v = *view(&copy, name);
    const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const size_t places[][2] = {{0, 0},          {0, v.cols - 1}, {v.rows - 1, v.cols - 1},
                                {0, v.cols / 2}, {v.rows - 1, 0}, {v.rows / 2, 0}};
    size_t i, p;

    for (p = 0; p < TEST_LENGTH(places); p++) {
        rfm_real *at = v.at + places[p][0] * v.stride + places[p][1], was = *at;

        if (triangular(call->what, name) && places[p][1] < places[p][0]) continue;
        for (i = 0; i < TEST_LENGTH(values); i++) {
            test_note("bad value", (size_t)call->what, p, i);
            *at = (rfm_real)values[i];
            test_check_refused(call, ctx, RFM_EFINITE);
        }
        *at = was;
    }
}

static rfm_real *last_of(rfm_mat m) { return m.at + (m.rows - 1) * m.stride + m.cols - 1; }

/* The output c starts with an argument, or at its last element, or ends with its first. */
static void refused_overlap(const test_call *good, const rfm_ctx *ctx, char name) {
    test_call bad = *good;
    rfm_mat *v = view(&bad, name);

    test_note("overlap", (size_t)good->what, (size_t)(name - 'a'), 0);
    bad.c.at = v->at;
    test_check_refused(&bad, ctx, RFM_EALIAS);
    bad.c.at = last_of(*v);
    test_check_refused(&bad, ctx, RFM_EALIAS);
    bad = *good;
    v->at = last_of(bad.c);
    test_check_refused(&bad, ctx, RFM_EALIAS);
}

static void refused_huge(const test_call *good, const rfm_ctx *ctx) {
    static const size_t huge[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / sizeof(rfm_real) + 1};
    test_call bad = *good;
    size_t i, bytes;
    const char *name;

    for (i = 0; i < TEST_LENGTH(huge); i++) {
        test_note("huge", (size_t)good->what, i, 0);
        for (name = views[good->what]; *name != '\0'; name++) {
            rfm_mat *v = view(&bad, *name);

            v->rows = v->cols = v->stride = huge[i];
        }
        bad.k = huge[i];
        test_check_refused(&bad, ctx, RFM_EOVERFLOW);
        bytes = 77;
        CHECK_INT(RFM_EOVERFLOW, test_call_need(ctx, &bad, &bytes));
        CHECK_SIZE(77, bytes);
    }
}

static void refused_pointers(const test_call *good, const rfm_ctx *ctx) {
    test_call bad = *good;
    rfm_ctx without = *ctx;
    size_t bytes = 77;

    test_note("NULL", (size_t)good->what, 0, 0);
    test_check_refused(good, NULL, RFM_ENULL);
    without.arena = NULL;
    test_check_refused(good, &without, RFM_ENULL);
    CHECK_INT(RFM_ENULL, test_call_need(NULL, good, &bytes));
    CHECK_INT(RFM_ENULL, test_call_need(ctx, good, NULL));
    if (good->what == TEST_EIG) {
        bad.w = NULL;
        test_check_refused(&bad, ctx, RFM_ENULL);
    } else if (good->what == TEST_RANK) {
        bad.perm = NULL;
        test_check_refused(&bad, ctx, RFM_ENULL);
        bad.perm = good->perm;
        bad.count = NULL;
        test_check_refused(&bad, ctx, RFM_ENULL);
    }
    bad = *good;
    bad.a.rows = bad.a.cols = bad.c.rows = bad.c.cols = 0;
    CHECK_INT(RFM_EZERO, test_call_need(ctx, &bad, &bytes));
    CHECK_SIZE(77, bytes);
}

static void refused_op(const test_call *good, const rfm_ctx *ctx) {
    test_call bad = *good;
    int ops[3] = {-1, 3, 3};
    size_t i;

    if (good->what == TEST_SYRK)
        ops[2] = RFM_NN;
    else if (good->what == TEST_TRSM)
        ops[2] = RFM_NT;
    else if (good->what != TEST_GEMM)
        return;
    for (i = 0; i < TEST_LENGTH(ops); i++) {
        test_note("op", (size_t)good->what, i, 0);
        bad.op = ops[i];
        test_check_refused(&bad, ctx, RFM_EVALUE);
    }
}

void test_check_arguments(const test_call *call, const rfm_port *port) {
    const size_t mark = test_mark();
    rfm_arena arena;
    rfm_ctx ctx;
    size_t need = 0;
    void *mem;
    const char *name;

    context(&ctx, port, NULL);
    CHECK_INT(RFM_OK, test_call_need(&ctx, call, &need));
    mem = test_take(need);
    CHECK(mem != NULL);
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
    ctx.arena = &arena;
    test_fill(call);
    refused_pointers(call, &ctx);
    refused_op(call, &ctx);
    refused_huge(call, &ctx);
    for (name = views[call->what]; *name != '\0'; name++) {
        refused_view(call, &ctx, *name);
        if (*name != 'c' || call->what != TEST_EIG) refused_values(call, &ctx, *name);
        if (*name != 'c' && strchr(views[call->what], 'c') != NULL) refused_overlap(call, &ctx, *name);
    }
    CHECK(test_call_run(&ctx, call) == RFM_OK); /* nothing else was wrong with it */
    test_rewind(mark);
}

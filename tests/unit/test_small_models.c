/* Making models smaller: importance, rank, centres and their polish, integers. Against plain sums in double, finite
 * differences, and what must not change. */
#include "models.h"
#include "rfm_small.h"

void setUp(void) { test_reset(); }
void tearDown(void) {}

static model_case a; /* the source: data, options, model */

static const int methods[] = {RFM_CENTERS_CHOLESKY, RFM_CENTERS_LEVERAGE, RFM_CENTERS_RESIDUAL, RFM_CENTERS_KMEANS};
static const int metrics[] = {RFM_IDENTITY, RFM_DIAGONAL, RFM_FULL};
static const int types[] = {RFM_I8, RFM_I16};

/* A trained model. 0: no room. */
static int make(model_shape s, int kernel, int metric) {
    int status;

    test_reset();
    if (!model_make(&a, s.n, s.d, s.c)) return 0;
    a.o.kernel = kernel;
    a.o.exponent = (rfm_real)(kernel == RFM_L1 ? 0.8 : 1.3);
    a.o.metric = metric;
    a.o.scale = RFM_SCALE_MAX;
    a.o.ridge = (rfm_real)0.01;
    status = model_fit(&a);
    if (status == TEST_SKIP) return 0;
    CHECK_INT(RFM_OK, status);
    return 1;
}

/* ---- calls as data: on exactly the memory that they need ------------------------------------ */

enum { RANK, CENTERS, INTEGERS, LOSS, CALLS };

typedef struct {
    int what;
    const rfm_model *from;
    rfm_data data;
    size_t rank;             /* RANK */
    rfm_centers_options how; /* CENTERS; its ridge is that of the others */
    int type;                /* INTEGERS */
    rfm_model to;            /* the results */
    rfm_model_i to_i;
    rfm_real share, loss, *gradient;
} thin_call;

/* Not on the stack: some boards have 3 KiB of it. */
static thin_call call, second;

static void set_call(thin_call *to, int what) {
    memset(to, 0, sizeof *to);
    to->what = what, to->from = &a.m, to->data = a.data;
    to->rank = a.m.r, to->type = RFM_I8;
    to->how.centers = a.m.n, to->how.ridge = (rfm_real)0.01;
}

static int call_need(const rfm_ctx *ctx, const thin_call *t, size_t *scratch, size_t *store) {
    if (store != NULL && t->what == LOSS) *store = 0;
    switch (t->what) {
    case RANK: return rfm_small_rank_need(ctx, t->from, &t->data, t->rank, scratch, store);
    case CENTERS: return rfm_small_centers_need(ctx, t->from, &t->data, &t->how, scratch, store);
    case INTEGERS: return rfm_small_integers_need(ctx, t->from, &t->data, t->type, scratch, store);
    default: return rfm_small_loss_need(ctx, t->from, &t->data, scratch);
    }
}

static int call_run(const rfm_ctx *ctx, thin_call *t, rfm_arena *store) {
    switch (t->what) {
    case RANK: return rfm_small_rank(ctx, t->from, &t->data, t->rank, store, &t->to, &t->share);
    case CENTERS: return rfm_small_centers(ctx, t->from, &t->data, &t->how, store, &t->to);
    case INTEGERS: return rfm_small_integers(ctx, t->from, &t->data, t->type, t->how.ridge, store, &t->to_i);
    default: return rfm_small_loss(ctx, t->from, &t->data, t->how.ridge, &t->loss, t->gradient);
    }
}

/* The result stays in the pool, its end is test_mark(); missing_* bytes less than the need are there. TEST_SKIP: no
 * room. */
static int run_with(thin_call *t, size_t missing_scratch, size_t missing_store) {
    const size_t mark = test_mark();
    rfm_arena store, arena;
    rfm_ctx ctx = a.ctx;
    size_t scratch = 0, kept = 0, end;
    void *mem, *model;
    int status;

    CHECK_INT(RFM_OK, call_need(&ctx, t, &scratch, &kept));
    if (missing_scratch > scratch || missing_store > kept) return RFM_EARENA;
    model = test_take(kept - missing_store);
    end = test_mark();
    mem = model != NULL ? test_take(scratch - missing_scratch) : NULL;
    if (mem == NULL) {
        test_rewind(mark);
        return TEST_SKIP;
    }
    CHECK_INT(RFM_OK, rfm_arena_init(&store, model, kept - missing_store));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, scratch - missing_scratch));
    ctx.arena = &arena;
    status = call_run(&ctx, t, &store);
    CHECK_SIZE(0, arena.used);
    CHECK_INT(RFM_OK, arena.status);
    CHECK_INT(RFM_OK, store.status);
    CHECK_SIZE(status == RFM_OK ? kept : 0, store.used);
    if (status == RFM_OK) CHECK_SIZE(scratch, arena.peak);
    test_rewind(status == RFM_OK ? end : mark);
    return status;
}

static int run(thin_call *t) { return run_with(t, 0, 0); }

/* f of a model at the training rows. 0: no room. */
static int predict(const rfm_model *m, rfm_mat y) {
    const rfm_model was = a.m;
    int status;

    a.m = *m;
    status = model_predict(&a, a.data.x, y);
    a.m = was;
    return status == RFM_OK;
}

/* ---- memory and refusals -------------------------------------------------------------------- */

static void test_memory(void) {
    model_shape s;
    size_t index, what, i, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (what = 0; what < CALLS; what++)
            for (i = 0; i < (what == CENTERS ? 8u : what == INTEGERS ? 2u : 1u); i++) {
                rfm_arena both;
                rfm_ctx ctx;
                size_t scratch, kept, mark;
                void *mem;

                test_note("memory", s.n, what, i);
                if (!make(s, RFM_LAPLACE, metrics[(index + i) % 3])) continue;
                set_call(&call, (int)what);
                call.how.method = methods[i % 4], call.how.polish = i / 4 * 2, call.how.centers = (s.n + 1) / 2;
                call.type = types[i % 2];
                mark = test_mark();
                if (run(&call) == TEST_SKIP) continue;
                test_rewind(mark);
                memset(&call.to, 0, sizeof call.to);
                CHECK_INT(RFM_EARENA, run_with(&call, 1, 0));
                if (what != LOSS) CHECK_INT(RFM_EARENA, run_with(&call, 0, 1));
                CHECK(call.to.n == 0 && test_mark() == mark);
                done++;

                /* store and scratch in one arena */
                if (what == LOSS) continue;
                ctx = a.ctx;
                CHECK_INT(RFM_OK, call_need(&ctx, &call, &scratch, &kept));
                mem = test_take(scratch + kept);
                if (mem == NULL) continue;
                CHECK_INT(RFM_OK, rfm_arena_init(&both, mem, scratch + kept));
                ctx.arena = &both;
                CHECK_INT(RFM_OK, call_run(&ctx, &call, &both));
                CHECK_SIZE(kept, both.used);
                CHECK_SIZE(scratch + kept, both.peak);
            }
    CHECK(done >= CALLS);
}

/* Refused with that status, by the call and (unless values only are wrong) by the need; nothing changes. */
static void refused(thin_call *t, int status, int by_value) {
    unsigned char memory[64 + RFM_ALIGN];
    size_t scratch = 77, kept = 78;
    rfm_arena arena;
    rfm_ctx ctx = a.ctx;

    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory + (RFM_ALIGN - (uintptr_t)memory % RFM_ALIGN) % RFM_ALIGN, 64));
    ctx.arena = &arena;
    CHECK_INT(status, call_run(&ctx, t, &arena));
    CHECK(t->to.n == 0 && t->to_i.n == 0 && t->share == 0 && t->loss == 0 && arena.used == 0 && arena.status == RFM_OK);
    if (by_value) return;
    CHECK_INT(status, call_need(&ctx, t, &scratch, &kept));
    CHECK(scratch == 77 && (t->what == LOSS || kept == 78));
}

static void refused_call(int what) {
    rfm_real bad[2], *value;
    rfm_model m = a.m;
    rfm_ctx ctx = a.ctx;
    rfm_arena arena;
    size_t i, scratch, kept;

    set_call(&call, what);
    rfm_arena_measure(&arena);
    test_note("refused", (size_t)what, 0, 0);
    CHECK_INT(RFM_ENULL, call_run(NULL, &call, &arena));
    CHECK_INT(RFM_ENULL, call_run(&ctx, &call, &arena)); /* no arena */
    CHECK_INT(RFM_ENULL, call_need(NULL, &call, &scratch, &kept));
    CHECK_INT(RFM_ENULL, call_need(&ctx, &call, NULL, &kept));
    ctx.arena = &arena;
    if (what != LOSS) {
        CHECK_INT(RFM_ENULL, call_need(&ctx, &call, &scratch, NULL));
        CHECK_INT(RFM_ENULL, call_run(&ctx, &call, NULL));
    }
    arena.status = RFM_EOVERFLOW;
    CHECK_INT(RFM_EOVERFLOW, call_run(&ctx, &call, &arena));
    call.from = NULL;
    refused(&call, RFM_ENULL, 0);
    call.from = &m, m.kernel = RFM_KERNELS;
    refused(&call, RFM_EVALUE, 0);
    m = a.m, m.n = 0;
    refused(&call, RFM_EZERO, 0);
    set_call(&call, what), call.data.x.at = NULL;
    refused(&call, RFM_ENULL, 0);
    set_call(&call, what), call.data.x.rows = 0;
    refused(&call, RFM_EZERO, 0);
    set_call(&call, what), call.data.x.cols--;
    refused(&call, RFM_ESHAPE, 0);
    set_call(&call, what), call.data.x.stride = call.data.x.cols - 1;
    refused(&call, RFM_ESTRIDE, 0);
    set_call(&call, what), call.data.x.stride = SIZE_MAX / 2;
    refused(&call, RFM_EOVERFLOW, 0);
    if (what != RANK) {
        set_call(&call, what), call.data.y.rows--;
        refused(&call, RFM_ESHAPE, 0);
        set_call(&call, what), call.data.y.cols++, call.data.y.stride++;
        refused(&call, RFM_ESHAPE, 0);
    }
    if (what == CENTERS || what == LOSS) {
        set_call(&call, what), call.data.y.at = NULL;
        refused(&call, RFM_ENULL, 0);
    }
    for (i = 0; i < 2; i++) { /* values */
        value = a.x.at + a.x.stride * i, bad[0] = *value, *value = (rfm_real)NAN;
        set_call(&call, what);
        refused(&call, RFM_EFINITE, 1);
        *value = bad[0];
        value = a.y.at + a.y.stride * i, bad[0] = *value, *value = (rfm_real)INFINITY;
        if (what != RANK) refused(&call, RFM_EFINITE, 1);
        *value = bad[0];
    }
    if (a.m.n == 2) return;
    for (i = 0; i < 3; i++) {
        static rfm_real weights[8];
        size_t k;

        for (k = 0; k < 8; k++) weights[k] = i == 0 ? -1 : i == 1 ? 0 : (rfm_real)NAN;
        set_call(&call, what), call.data.weights = weights;
        if (a.m.n <= 8) refused(&call, i < 2 ? RFM_EVALUE : RFM_EFINITE, 1);
    }
}

/* An arena that only measures has no memory to work with. */
static void test_measuring(void) {
    const model_shape s = {4, 2, 1};
    RFM_ALIGNED static unsigned char memory[64];
    rfm_arena measure, real;
    rfm_ctx ctx;
    int what;

    for (what = 0; what < CALLS; what++) {
        test_note("measuring", (size_t)what, 0, 0);
        CHECK(make(s, RFM_LAPLACE, RFM_FULL));
        ctx = a.ctx;
        set_call(&call, what);
        rfm_arena_measure(&measure);
        CHECK_INT(RFM_OK, rfm_arena_init(&real, memory, sizeof memory));
        ctx.arena = &measure;
        CHECK_INT(RFM_EARENA, call_run(&ctx, &call, &measure));
        CHECK_INT(RFM_EARENA, call_run(&ctx, &call, &real));
        ctx.arena = &real;
        if (what != LOSS) CHECK_INT(RFM_EARENA, call_run(&ctx, &call, &measure));
        CHECK(call.to.n == 0 && call.to_i.n == 0 && call.share == 0 && call.loss == 0);
        CHECK(measure.used == 0 && measure.peak == 0 && measure.status == RFM_OK && real.used == 0 && real.peak == 0);
    }
}

static void test_refusals(void) {
    const model_shape s = {4, 2, 1};
    int what;

    CHECK(make(s, RFM_LAPLACE, RFM_FULL));
    for (what = 0; what < CALLS; what++) refused_call(what);
    set_call(&call, RANK), call.rank = 0;
    refused(&call, RFM_EVALUE, 0);
    call.rank = a.m.r + 1;
    refused(&call, RFM_EVALUE, 0);
    set_call(&call, CENTERS), call.how.centers = 0;
    refused(&call, RFM_EVALUE, 0);
    call.how.centers = s.n + 1;
    refused(&call, RFM_EVALUE, 0);
    set_call(&call, CENTERS), call.how.method = 4;
    refused(&call, RFM_EVALUE, 0);
    call.how.method = -1;
    refused(&call, RFM_EVALUE, 0);
    set_call(&call, CENTERS), call.how.ridge = 0;
    refused(&call, RFM_EVALUE, 0);
    call.how.ridge = (rfm_real)NAN;
    refused(&call, RFM_EVALUE, 0);
    set_call(&call, INTEGERS), call.type = RFM_F32;
    refused(&call, RFM_EVALUE, 0);
    set_call(&call, INTEGERS), call.how.ridge = 0;
    refused(&call, RFM_EVALUE, 1);
    set_call(&call, LOSS), call.how.ridge = -1;
    refused(&call, RFM_EVALUE, 1);
}

/* The same bits with any number of workers and every number of centres, on exactly the memory that is needed. */
static void test_workers(void) {
    static test_pool pool = {7, 1};
    model_shape s;
    size_t index, m, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (m = 1; m <= s.n; m += m < 6 ? 1 : s.n / 3) {
            rfm_mat was, is;

            test_note("workers", s.n, m, 0);
            if (!make(s, RFM_LAPLACE, RFM_FULL)) continue;
            was = test_mat(s.n, s.c, 0, 0), is = test_mat(s.n, s.c, 0, 0);
            if (is.at == NULL) continue;
            set_call(&call, CENTERS);
            call.how.centers = m, call.how.method = RFM_CENTERS_LEVERAGE, call.how.polish = 1;
            if (run(&call) == TEST_SKIP || !predict(&call.to, was)) continue;
            a.ctx.workers = pool.workers, a.ctx.run = test_pool_run, a.ctx.pool = &pool;
            if (run(&call) == TEST_SKIP || !predict(&call.to, is)) continue;
            CHECK(memcmp(was.at, is.at, s.n * s.c * sizeof *is.at) == 0);
            done++;
        }
    CHECK(done >= 1 || TEST_RAM < 6000);
}

/* Cancelled at any tick: nothing has changed; shares never fall. */
typedef struct {
    size_t left, seen;
    rfm_real last;
} ticking;

static int count_ticks(void *arg, rfm_real done) {
    ticking *t = arg;

    CHECK(done >= t->last && done <= 1);
    t->last = done, t->seen++;
    return t->left-- == 0;
}

static void test_ticks(void) {
    model_shape s;
    ticking ticks;
    size_t all, i, what;

    (void)model_size(0, &s);
    for (what = CENTERS; what <= INTEGERS; what++) {
        CHECK(make(s, RFM_LAPLACE, RFM_FULL));
        set_call(&call, (int)what);
        call.how.polish = 2;
        a.ctx.tick = count_ticks, a.ctx.tick_arg = &ticks;
        memset(&ticks, 0, sizeof ticks), ticks.left = SIZE_MAX;
        i = (size_t)run(&call);
        a.ctx.tick = NULL;
        if ((int)i == TEST_SKIP) continue;
        CHECK(ticks.seen > 0);
        all = ticks.seen;
        for (i = 0; i < all; i++) {
            CHECK(make(s, RFM_LAPLACE, RFM_FULL));
            set_call(&call, (int)what);
            call.how.polish = 2;
            a.ctx.tick = count_ticks, a.ctx.tick_arg = &ticks;
            memset(&ticks, 0, sizeof ticks), ticks.left = i;
            CHECK_INT(RFM_ECANCEL, run(&call));
            CHECK(call.to.n == 0 && call.to_i.n == 0);
        }
    }
}

/* ---- importance, rank ----------------------------------------------------------------------- */

static void test_importance(void) {
    static const rfm_real p[6] = {1, 2, 0, 2, 0, 0}, zeros[3] = {0, 0, 0}, scale[3] = {1, 1, 2}, minus[3] = {1, -1, 1};
    rfm_real out[3];
    rfm_model m;

    memset(&m, 0, sizeof m);
    m.n = 1, m.d = 3, m.c = 1, m.r = 2, m.metric = RFM_FULL, m.bandwidth = 1;
    m.shift = zeros, m.p = p, m.centers = zeros, m.alpha = zeros;
    /* diag(P'P) = 5, 4, 0 */
    CHECK_INT(RFM_OK, rfm_small_importance(&m, NULL, out));
    CHECK(out[0] == 1 && fabs((double)out[1] - 0.8) < 1e-6 && out[2] == 0);
    m.metric = RFM_IDENTITY, m.r = 3;
    CHECK_INT(RFM_OK, rfm_small_importance(&m, NULL, out));
    CHECK(out[0] == 1 && out[1] == 1 && out[2] == 1);
    CHECK_INT(RFM_OK, rfm_small_importance(&m, scale, out)); /* 1, 1, 4 */
    CHECK(out[0] == 0 && out[1] == 0 && out[2] == 1);
    m.metric = RFM_DIAGONAL, m.p = p; /* 1, 4, 0 */
    CHECK_INT(RFM_OK, rfm_small_importance(&m, NULL, out));
    CHECK(out[0] == (rfm_real)0.25 && out[1] == 1 && out[2] == 0);
    CHECK_INT(RFM_ENULL, rfm_small_importance(&m, NULL, NULL));
    CHECK_INT(RFM_ENULL, rfm_small_importance(NULL, NULL, out));
    CHECK_INT(RFM_EVALUE, rfm_small_importance(&m, minus, out));
    CHECK(out[0] == (rfm_real)0.25);
}

/* A share has no unit: P and scales whose squares are beyond all numbers make no difference. */
static void test_importance_range(void) {
    static const int exponents[][2] = {{-100, 0}, {100, 0}, {0, 100}, {0, -100}, {120, 100}, {-120, -100}, {120, -120}};
    static const rfm_real zeros[3] = {0, 0, 0};
    rfm_real p[6] = {1, 2, 0, 2, 0, 0}, unscaled[6] = {1, 2, 0, 2, 0, 0}, scale[3], out[3];
    rfm_model m;
    size_t i, j;

    memset(&m, 0, sizeof m);
    m.n = 1, m.d = 3, m.c = 1, m.r = 2, m.metric = RFM_FULL, m.bandwidth = 1;
    m.shift = zeros, m.p = p, m.centers = zeros, m.alpha = zeros;
    for (i = 0; i < TEST_LENGTH(exponents); i++) {
        test_note("importance", i, 0, 0);
        for (j = 0; j < 6; j++) p[j] = (rfm_real)ldexp((double)unscaled[j], exponents[i][0]);
        for (j = 0; j < 3; j++) scale[j] = (rfm_real)ldexp(1, exponents[i][1]);
        CHECK_INT(RFM_OK, rfm_small_importance(&m, scale, out));
        CHECK(out[0] == 1 && fabs((double)out[1] - 0.8) < 1e-6 && out[2] == 0);
    }
    out[0] = 7;
    p[3] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_small_importance(&m, scale, out));
    CHECK(out[0] == 7);
}

/* Full rank: nothing changes. Every lower rank keeps less of the variance of the projected rows; rank 1 as much as the
 * best of many directions, or more. */
static void test_rank(void) {
    model_shape s;
    size_t index, metric, rank, i, k, q, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (metric = 0; metric < 3; metric++) {
            rfm_mat was, is;
            rfm_real last = 0;

            test_note("rank", s.n, metric, 0);
            if (!make(s, RFM_LAPLACE, metrics[metric])) continue;
            was = test_mat(s.n, s.c, 0, 0), is = test_mat(s.n, s.c, 0, 0);
            if (was.at == NULL || is.at == NULL || !predict(&a.m, was)) continue;
            for (rank = 1; rank <= a.m.r; rank++) {
                const size_t mark = test_mark();

                set_call(&call, RANK), call.rank = rank;
                if (run(&call) == TEST_SKIP) break;
                CHECK(call.to.r == rank && call.to.n == a.m.n && call.to.metric == RFM_FULL &&
                      call.to.alpha != a.m.alpha);
                CHECK(call.share > 0 && call.share <= 1 && call.share >= last - 100 * (rfm_real)TEST_EPS);
                last = call.share;
                if (rank == 1) { /* no single direction of the projected space has more of the variance */
                    double total = 0;
                    size_t direction;

                    for (direction = 0; direction < 20; direction++) {
                        double mean = 0, sum = 0, square = 0, norm = 0;

                        for (i = 0; i < a.m.n; i++) {
                            double dot = 0;

                            for (q = 0; q < a.m.r; q++)
                                dot += test_number(70, direction, q) * (double)a.m.centers[i * a.m.r + q];
                            mean += dot / (double)a.m.n, square += dot * dot / (double)a.m.n;
                        }
                        for (q = 0; q < a.m.r; q++)
                            norm += test_number(70, direction, q) * test_number(70, direction, q);
                        sum = (square - mean * mean) / norm;
                        for (total = 0, q = 0; q < a.m.r; q++) {
                            double m1 = 0, m2 = 0;

                            for (k = 0; k < a.m.n; k++) {
                                double value = (double)a.m.centers[k * a.m.r + q];
                                m1 += value / (double)a.m.n, m2 += value * value / (double)a.m.n;
                            }
                            total += m2 - m1 * m1;
                        }
                        CHECK_BELOW(sum / total, (double)call.share + 1000 * TEST_EPS);
                    }
                }
                if (rank == a.m.r) {
                    CHECK(call.share > 1 - 1000 * (rfm_real)TEST_EPS);
                    if (predict(&call.to, is)) CHECK_CLOSE(was, is, 3e3);
                    done++;
                }
                test_rewind(mark);
            }
        }
    CHECK(done >= 1);
}

/* ---- centres -------------------------------------------------------------------------------- */

/* All rows as centres, the ridge of the model: the model. */
static void test_all_centers(void) {
    model_shape s;
    size_t index, kind, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (kind = 0; kind < 6; kind++) {
            rfm_mat was, is;
            int status;

            test_note("all", s.n, kind, 0);
            if (!make(s, kind % 2 ? RFM_GENERAL : RFM_LAPLACE, metrics[kind / 2])) continue;
            was = test_mat(s.n, s.c, 0, 0), is = test_mat(s.n, s.c, 0, 0);
            set_call(&call, CENTERS);
            call.how.method = kind % 2 ? RFM_CENTERS_RESIDUAL : RFM_CENTERS_CHOLESKY;
            if (was.at == NULL || is.at == NULL) continue;
            status = run(&call);
            if (status == TEST_SKIP || !predict(&a.m, was)) continue;
            CHECK_INT(RFM_OK, status);
            CHECK_SIZE(s.n, call.to.n);
            CHECK(predict(&call.to, is));
            CHECK_CLOSE(was, is, 1e4); /* ridge 0.01: K + ridge I has a condition of 1e4 at n = 129 */
            done++;
        }
    CHECK(done >= 1);
}

/* Kernel value of a projected point and a centre, in double. */
static double phi_between(const rfm_model *m, const double *from, const rfm_real *to) {
    double s2 = 0;
    size_t q;

    for (q = 0; q < m->r; q++) s2 += (from[q] - (double)to[q]) * (from[q] - (double)to[q]);
    return model_phi(m, sqrt(s2));
}

static void project_row(const rfm_model *m, const rfm_real *x, double *to) {
    size_t q, j;

    for (q = 0; q < m->r; q++) {
        to[q] = 0;
        if (m->metric == RFM_FULL)
            for (j = 0; j < m->d; j++) to[q] += (double)m->p[q * m->d + j] * ((double)x[j] - (double)m->shift[j]);
        else
            to[q] = (m->metric == RFM_DIAGONAL ? (double)m->p[q] : 1) * ((double)x[q] - (double)m->shift[q]);
    }
}

#define MOST 9 /* of d and r in these tests */
static double z[MOST], center[MOST];

/* (Kmn W Knm + ridge Kmm) alpha = Kmn W (Y - offset), in double; `reach` is how many bandwidths the rows are from 0,
 * the more the less their coordinates tell of distances. */
static void check_normal_equations(const rfm_model *m, const rfm_data *data, double ridge, double reach) {
    size_t j, i, l, k, q;

    for (j = 0; j < m->n; j++)
        for (k = 0; k < m->c; k++) {
            double sum = 0, size = 0;

            for (i = 0; i < data->x.rows; i++) {
                double w = data->weights != NULL ? (double)data->weights[i] : 1,
                       f = m->offset != NULL ? (double)m->offset[k] : 0;
                double term, all = fabs(f);

                project_row(m, data->x.at + i * data->x.stride, z);
                for (l = 0; l < m->n; l++) {
                    term = (double)m->alpha[l * m->c + k] * phi_between(m, z, m->centers + l * m->r);
                    f += term, all += fabs(term);
                }
                term = w * phi_between(m, z, m->centers + j * m->r);
                sum += term * (f - (double)data->y.at[i * data->y.stride + k]);
                size += term * all;
            }
            for (q = 0; q < m->r; q++) center[q] = (double)m->centers[j * m->r + q];
            for (l = 0; l < m->n; l++)
                sum += ridge * (double)m->alpha[l * m->c + k] * phi_between(m, center, m->centers + l * m->r);
            CHECK_BELOW(fabs(sum), 300 * TEST_EPS * fmax(reach, 1) * (size + ridge));
        }
}

static void test_refit(void) {
    model_shape s;
    size_t index, kind, i, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (kind = 0; kind < 8; kind++) {
            rfm_mat offset, weights;
            static rfm_model with;
            int status;

            test_note("refit", s.n, kind, 0);
            if (!make(s, kind % 2 ? RFM_GAUSSIAN : RFM_LAPLACE, metrics[kind % 3])) continue;
            offset = test_mat(1, s.c, 0, 0), weights = test_mat(1, s.n, 0, 0);
            if (offset.at == NULL || weights.at == NULL) continue;
            for (i = 0; i < s.c; i++) offset.at[i] = (rfm_real)(0.5 + (double)i);
            for (i = 0; i < s.n; i++) weights.at[i] = (rfm_real)(0.25 * (double)(1 + i % 4));
            with = a.m;
            set_call(&call, CENTERS);
            if (kind >= 4) with.offset = offset.at, call.from = &with, call.data.weights = weights.at;
            call.how.method = methods[kind % 4], call.how.centers = (s.n + 1) / 2, call.how.seed = (uint32_t)kind;
            call.how.ridge = (rfm_real)0.5;
            status = run(&call);
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            CHECK(kind < 4 ? call.to.offset == NULL : call.to.offset != offset.at && call.to.offset[0] == offset.at[0]);
            check_normal_equations(&call.to, &call.data, 0.5, 1);
            done++;
        }
    CHECK(done >= 1);
}

/* Centres are rows, all different ones; the same rows with the same seed, and (methods that do not draw) in any order
 * of the rows. */
static void test_choice(void) {
    model_shape s;
    size_t index, method, i, j, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (method = 0; method < 4; method++) {
            rfm_mat was, is, x, y;
            int status;

            test_note("choice", s.n, method, 0);
            if (!make(s, RFM_LAPLACE, RFM_FULL)) continue;
            was = test_mat(s.n, s.c, 0, 0), is = test_mat(s.n, s.c, 0, 0), x = test_mat(s.n, s.d, 0, 0),
            y = test_mat(s.n, s.c, 0, 0);
            if (y.at == NULL) continue;
            set_call(&call, CENTERS), call.how.method = methods[method], call.how.centers = s.n / 2, call.how.seed = 5;
            status = run(&call);
            if (status == TEST_SKIP || !predict(&call.to, was)) continue;
            CHECK_INT(RFM_OK, status);
            for (i = 0; methods[method] != RFM_CENTERS_KMEANS && i < call.to.n; i++) {
                size_t found = 0;

                for (j = 0; j < s.n; j++) {
                    project_row(&a.m, a.x.at + j * a.x.stride, z);
                    found += phi_between(&a.m, z, call.to.centers + i * call.to.r) > 1 - 1000 * TEST_EPS;
                }
                CHECK_SIZE(1, found);
                for (j = 0; j < i; j++)
                    CHECK(memcmp(call.to.centers + i * call.to.r, call.to.centers + j * call.to.r,
                                 call.to.r * sizeof(rfm_real)) != 0);
            }
            for (i = 0; i < s.n; i++) {
                for (j = 0; j < s.d; j++) x.at[i * s.d + j] = a.x.at[(s.n - 1 - i) * a.x.stride + j];
                for (j = 0; j < s.c; j++) y.at[i * s.c + j] = a.y.at[(s.n - 1 - i) * a.y.stride + j];
            }
            if (methods[method] == RFM_CENTERS_CHOLESKY || methods[method] == RFM_CENTERS_RESIDUAL)
                call.data.x = rfm_const(x), call.data.y = rfm_const(y);
            if (run(&call) == TEST_SKIP || !predict(&call.to, is)) continue;
            CHECK_CLOSE(was, is, 1e4);
            done++;
        }
    CHECK(done >= 1);
}

/* Rows that are all there twice, an input that never changes, targets that are all the same, one row: a finite answer,
 * no more centres than there are different rows, and one that fits them. */
static void test_degenerate(void) {
    model_shape s;
    size_t index, method, kind, i, j, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (method = 0; method < 4; method++)
            for (kind = 0; kind < 3; kind++) {
                rfm_mat is;
                int status;

                test_note("degenerate", s.n, method, kind);
                test_reset();
                if (!model_make(&a, s.n, s.d, s.c)) continue;
                for (i = 0; i < s.n; i++) {
                    if (kind == 0)
                        for (j = 0; j < s.d; j++) a.x.at[i * a.x.stride + j] = a.x.at[i / 2 * 2 * a.x.stride + j];
                    if (kind == 1) a.x.at[i * a.x.stride] = 3;
                    for (j = 0; j < s.c; j++) {
                        if (kind == 0) a.y.at[i * a.y.stride + j] = a.y.at[i / 2 * 2 * a.y.stride + j];
                        if (kind == 2) a.y.at[i * a.y.stride + j] = 1;
                    }
                }
                a.o.ridge = (rfm_real)0.01, a.o.scale = RFM_SCALE_MAX;
                a.o.iterations = kind == 2 ? 0 : 1; /* no gradient, no metric */
                status = model_fit(&a);
                is = test_mat(s.n, s.c, 0, 0);
                if (status == TEST_SKIP || is.at == NULL) continue;
                CHECK_INT(RFM_OK, status);
                set_call(&call, CENTERS);
                call.how.method = methods[method], call.how.polish = 3, call.how.ridge = (rfm_real)1e-3;
                status = run(&call);
                if (status == TEST_SKIP || !predict(&call.to, is)) continue;
                CHECK_INT(RFM_OK, status);
                CHECK(call.to.n > 0 && call.to.n <= s.n);
                if (kind == 0 && method != 1) CHECK(call.to.n <= (s.n + 1) / 2);
                CHECK_BELOW(model_apart(is, a.y), kind == 2 ? 0.02 : 0.5);
                for (i = 0; i < 2; i++) {
                    set_call(&second, INTEGERS);
                    second.from = &call.to, second.type = types[i];
                    status = run(&second);
                    if (status != TEST_SKIP) CHECK_INT(RFM_OK, status);
                }
                done++;
            }
    CHECK(done >= 4);
}

/* ---- polish --------------------------------------------------------------------------------- */

/* The loss in double, with centre j's component q moved by h. */
static double plain_loss(const rfm_model *m, const rfm_data *data, double ridge, size_t j, size_t q, double h) {
    double sum = 0;
    size_t i, k, l, p;

    for (i = 0; i < data->x.rows + m->n; i++) {
        double w = i < data->x.rows && data->weights != NULL ? (double)data->weights[i] : 1;

        if (i < data->x.rows)
            project_row(m, data->x.at + i * data->x.stride, z);
        else
            for (p = 0; p < m->r; p++)
                z[p] = (double)m->centers[(i - data->x.rows) * m->r + p] + (i - data->x.rows == j && p == q ? h : 0);
        for (k = 0; k < m->c; k++) {
            double f = 0;

            for (l = 0; l < m->n; l++) {
                double s2 = 0;

                for (p = 0; p < m->r; p++) {
                    center[p] = (double)m->centers[l * m->r + p] + (l == j && p == q ? h : 0);
                    s2 += (center[p] - z[p]) * (center[p] - z[p]);
                }
                f += (double)m->alpha[l * m->c + k] * model_phi(m, sqrt(s2));
            }
            if (i < data->x.rows) {
                f += m->offset != NULL ? (double)m->offset[k] : 0;
                f -= (double)data->y.at[i * data->y.stride + k];
                sum += w * f * f;
            } else
                sum += ridge * f * (double)m->alpha[(i - data->x.rows) * m->c + k];
        }
    }
    return sum;
}

static void test_gradient(void) {
    static const int kernels[] = {RFM_LAPLACE, RFM_GAUSSIAN, RFM_GENERAL};
    model_shape s;
    size_t index, kind, i, j, q, done = 0;

    for (index = 0; model_size(index, &s) && s.n <= 40; index++)
        for (kind = 0; kind < 9; kind++) { /* from 6 on so wide that phi itself tells nothing of distances */
            rfm_mat gradient, weights;
            double most = 0, off = 0, h = 1e-4;
            int status;

            test_note("gradient", s.n, kind, 0);
            if (TEST_FEW && s.n > 9 && (kind + kind / 3) % 3 != index % 3) continue;
            if (!make(s, kernels[kind % 3], kind < 3 ? RFM_FULL : RFM_DIAGONAL)) continue;
            set_call(&call, CENTERS);
            call.how.method = RFM_CENTERS_KMEANS, call.how.centers = (s.n + 1) / 2; /* at a row there is no gradient */
            gradient = test_mat(call.how.centers, a.m.r, 0, 0), weights = test_mat(1, s.n, 0, 0);
            if (gradient.at == NULL || weights.at == NULL) continue;
            for (i = 0; i < s.n; i++) weights.at[i] = (rfm_real)(0.5 * (double)(1 + i % 3));
            status = run(&call);
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            for (i = 0; i < call.to.n * call.to.r;
                 i++) /* clusters of one row: off it; the tests may write to their model */
                ((rfm_real *)(uintptr_t)call.to.centers)[i] += (rfm_real)(0.05 * test_number(71, i, 0));
            set_call(&second, LOSS);
            if (kind >= 6) call.to.bandwidth *= 65536;
            second.from = &call.to, second.gradient = gradient.at, second.data.weights = kind % 2 ? weights.at : NULL;
            second.how.ridge = (rfm_real)0.25;
            gradient.rows = call.to.n;
            if (run(&second) == TEST_SKIP) continue;
            CHECK_BELOW(fabs((double)second.loss - plain_loss(&call.to, &second.data, 0.25, 0, 0, 0)),
                        100 * TEST_EPS * (1 + (double)second.loss) * (double)s.n);
            for (j = 0; j < call.to.n; j++)
                for (q = 0; q < call.to.r; q++) {
                    double plus = plain_loss(&call.to, &second.data, 0.25, j, q, h),
                           minus = plain_loss(&call.to, &second.data, 0.25, j, q, -h);
                    double slope = (plus - minus) / (2 * h);

                    most = fmax(most, fabs(slope));
                    off = fmax(off, fabs(slope - model_at(gradient, j, q)));
                }
            if (kind < 6)
                CHECK_BELOW(off, (2e3 * TEST_EPS + 1e-5) * (most + 1));
            else if (kind != 7)
                CHECK_BELOW(off, 1e-2 * most); /* differences do not tell a flat Gaussian's slope */
            done++;
        }
    CHECK(done >= 1);
}

/* More steps, less loss; and a good deal less than without any. */
static void test_polish(void) {
    model_shape s;
    size_t index, method, steps, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (method = 0; method < 4; method++) {
            double last = 0, first = 0;

            if (s.n < 9 && TEST_N_MAX > 40) continue;
            for (steps = 0; steps <= 8; steps++) {
                int status;

                test_note("polish", s.n, method, steps);
                if (!make(s, RFM_LAPLACE, RFM_FULL)) break;
                set_call(&call, CENTERS), call.how.method = methods[method], call.how.centers = (s.n + 2) / 3,
                                          call.how.polish = steps;
                status = run(&call);
                if (status == TEST_SKIP) break;
                CHECK_INT(RFM_OK, status);
                set_call(&second, LOSS), second.from = &call.to;
                if (run(&second) == TEST_SKIP) break;
                if (steps == 0)
                    first = (double)second.loss;
                else
                    CHECK_BELOW((double)second.loss, last * (1 + 10 * TEST_EPS));
                last = (double)second.loss;
                done += steps == 8;
                if (steps == 8 && s.n >= 17) CHECK_BELOW(last, 0.9 * first);
            }
        }
    CHECK(done >= 1);
}

/* ---- integers ------------------------------------------------------------------------------- */

static int big_endian(void) {
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 0;
}

/* y (rows, c) = units times the scores at the training rows. */
static void predict_integers(const rfm_model_i *m, rfm_mat y) {
    static int16_t x[MOST], scratch[2 * MOST];
    static int32_t scores[8];
    size_t i, k;

    for (i = 0; i < y.rows; i++) {
        rfm_notes_i notes;

        CHECK_INT(RFM_OK, rfm_input_integers(m, a.x.at + i * a.x.stride, x));
        CHECK_INT(RFM_OK, rfm_predict_i(m, x, scores, scratch, NULL, &notes));
        CHECK_SIZE(0, notes.saturated); /* the range is that of these rows */
        for (k = 0; k < m->c; k++) y.at[i * y.stride + k] = (rfm_real)((double)m->units[k] * (double)scores[k]);
    }
}

/* Root mean square of a - b. */
static double apart(rfm_mat u, rfm_mat v) {
    double sum = 0;
    size_t i, k;

    for (i = 0; i < u.rows; i++)
        for (k = 0; k < u.cols; k++)
            sum += (model_at(u, i, k) - model_at(v, i, k)) * (model_at(u, i, k) - model_at(v, i, k));
    return sqrt(sum / (double)(u.rows * u.cols));
}

static double range_of(rfm_mat y) {
    double range = 0;
    size_t i, k;

    for (i = 0; i < y.rows; i++)
        for (k = 0; k < y.cols; k++) range = fmax(range, fabs(model_at(y, i, k) - model_at(y, 0, k)));
    return range;
}

/* The largest sum of |alpha| of an output. */
static double alpha_sum(const rfm_model *m) {
    double most = 0;
    size_t i, k;

    for (k = 0; k < m->c; k++) {
        double sum = 0;

        for (i = 0; i < m->n; i++) sum += fabs((double)m->alpha[i * m->c + k]);
        most = fmax(most, sum);
    }
    return most;
}

/* On the rows, root mean square: only rounded, i8 is within 0.005 and i16 within 0.0005 times the sum of |alpha| of the
 * float model. Fitted, their distance from the targets is that of the float model but for 0.5 % and 0.3 % of the range
 * of the targets. A blob of them opens and predicts the same. */
static void test_integers(void) {
    static const int kernels[] = {RFM_LAPLACE, RFM_GAUSSIAN, RFM_GENERAL, RFM_L1};
    static const double rounded[] = {0.005, 0.0005}, fitted[] = {0.005, 0.003};
    model_shape s;
    size_t index, kind, type, bytes, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (kind = 0; kind < 24; kind++) {
            rfm_mat was, is, again;
            static rfm_model_i opened;
            void *blob;
            int status;

            test_note("integers", s.n, kind, 0);
            type = kind % 2;
            if (!make(s, kernels[kind / 2 % 4], metrics[kind / 8])) continue;
            was = test_mat(s.n, s.c, 0, 0), is = test_mat(s.n, s.c, 0, 0), again = test_mat(s.n, s.c, 0, 0);
            if (again.at == NULL) continue;
            set_call(&call, CENTERS);
            call.how.method = methods[kind % 4], call.how.centers = s.n < 17 ? s.n : s.n / 2,
            call.how.ridge = (rfm_real)0.03;
            if (run(&call) == TEST_SKIP || !predict(&call.to, was)) continue;
            set_call(&second, INTEGERS), second.from = &call.to, second.type = types[type],
                                         second.how.ridge = (rfm_real)0.03;
            second.data.y.at = NULL;
            status = run(&second);
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            predict_integers(&second.to_i, is);
            CHECK_BELOW(apart(was, is), rounded[type] * alpha_sum(&call.to));
            second.data.y = a.data.y;
            status = run(&second);
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            predict_integers(&second.to_i, is);
            CHECK_BELOW(apart(is, a.y), apart(was, a.y) + fitted[type] * range_of(a.y));
            CHECK_INT(RFM_OK, rfm_model_size_i(&second.to_i, 0, &bytes));
            blob = test_take(bytes);
            if (blob == NULL) continue;
            status = rfm_model_write_i(&second.to_i, NULL, 0, blob, bytes);
            CHECK_INT(big_endian() ? RFM_ETYPE : RFM_OK, status);
            done++;
            if (status != RFM_OK) continue;
            CHECK_INT(RFM_OK, rfm_model_open_i(blob, bytes, &opened));
            predict_integers(&opened, again);
            CHECK(memcmp(is.at, again.at, s.n * s.c * sizeof *is.at) == 0);
        }
    CHECK(done >= 1 || TEST_RAM < 6000);
}

/* A kernel so wide that all its values are near 1: K is nearly singular (with rows that are drawn; elimination ends
 * before that), alpha is large and cancels, and the offset has to be fitted. Or targets far from 0, which the sums of
 * integers have to hold. */
static void test_wide(void) {
    model_shape s;
    size_t index, kind, i, k, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (kind = 0; kind < 3; kind++) {
            rfm_mat was, is;
            int status;

            test_note("wide", s.n, kind, 0);
            test_reset();
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            for (i = 0; kind == 2 && i < s.n; i++)
                for (k = 0; k < s.c; k++) a.y.at[i * a.y.stride + k] += 30000;
            a.o.kernel = kind == 1 ? RFM_GAUSSIAN : RFM_LAPLACE;
            a.o.iterations = 0, a.o.bandwidth = kind == 2 ? 1 : 100, a.o.ridge = (rfm_real)1e-4;
            status = model_fit(&a);
            was = test_mat(s.n, s.c, 0, 0), is = test_mat(s.n, s.c, 0, 0);
            if (status == TEST_SKIP || is.at == NULL) continue;
            CHECK_INT(RFM_OK, status);
            set_call(&call, CENTERS);
            call.how.method = kind == 1 ? RFM_CENTERS_LEVERAGE : RFM_CENTERS_CHOLESKY;
            call.how.ridge = (rfm_real)1e-4, call.how.centers = kind == 1 ? s.n : (s.n + 1) / 2;
            status = run(&call);
            if (status == TEST_SKIP || !predict(&call.to, was)) continue;
            CHECK_INT(RFM_OK, status);
            set_call(&second, INTEGERS);
            second.from = &call.to, second.how.ridge = (rfm_real)1e-4, second.type = kind == 2 ? RFM_I16 : RFM_I8;
            status = run(&second);
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            predict_integers(&second.to_i, is);
            if (kind == 2)
                CHECK_BELOW(apart(is, a.y), 0.5 * range_of(a.y)); /* float, without an offset, is far off */
            else
                CHECK_BELOW(apart(is, a.y), apart(was, a.y) + 0.02 * range_of(a.y));
            done++;
        }
    CHECK(done >= 1 || TEST_RAM < 6000);
}

/* Neighbours on a line in a wide Gaussian: K wants an alpha that 8 bits cannot hold. What comes out is better than the
 * mean of the targets all the same. */
static void test_few_bits(void) {
    const model_shape s = {6, 1, 1};
    size_t i, wide, done = 0;

    for (wide = 1; wide <= 12; wide++) {
        rfm_mat is, mean;
        double sum = 0;
        int status;

        test_note("few bits", wide, 0, 0);
        test_reset();
        if (!model_make(&a, s.n, s.d, s.c)) continue;
        for (i = 0; i < s.n; i++) {
            a.x.at[i * a.x.stride] = (rfm_real)i, a.y.at[i * a.y.stride] = (rfm_real)(i % 3);
            sum += model_at(a.y, i, 0) / (double)s.n;
        }
        a.o.kernel = RFM_GAUSSIAN, a.o.iterations = 0, a.o.bandwidth = (rfm_real)wide, a.o.ridge = (rfm_real)1e-3;
        status = model_fit(&a);
        is = test_mat(s.n, s.c, 0, 0), mean = test_mat(s.n, s.c, 0, 0);
        if (status == TEST_SKIP || mean.at == NULL) continue;
        CHECK_INT(RFM_OK, status);
        for (i = 0; i < s.n; i++) mean.at[i * mean.stride] = (rfm_real)sum;
        set_call(&call, INTEGERS);
        call.how.ridge = (rfm_real)1e-5, call.type = RFM_I8;
        status = run(&call);
        if (status == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, status);
        predict_integers(&call.to_i, is);
        CHECK_BELOW(apart(is, a.y), apart(mean, a.y));
        done++;
    }
    CHECK(done >= 1 || TEST_RAM < 6000);
}

/* Inputs that are integers stay what they are; others get 14 bits; what is too wide for 16 bits loses its last ones. */
static void test_inputs(void) {
    const model_shape s = {6, 3, 1};
    rfm_real x[3];
    int16_t xi[3] = {7, 7, 7};
    size_t i;

    test_reset();
    CHECK(model_make(&a, s.n, s.d, s.c));
    for (i = 0; i < s.n; i++) {
        a.x.at[i * a.x.stride] = (rfm_real)i * 100 - 200;                /* -200 ... 300 */
        a.x.at[i * a.x.stride + 1] = (rfm_real)i / 8;                    /* 0 ... 0.625 */
        a.x.at[i * a.x.stride + 2] = (rfm_real)(i % 2 ? 1 << 20 : 1024); /* a million */
    }
    a.o.iterations = 0;
    a.o.metric = RFM_IDENTITY;
    a.o.bandwidth = 1000;
    i = (size_t)model_fit(&a);
    if ((int)i == TEST_SKIP) return;
    CHECK_INT(RFM_OK, (int)i);
    set_call(&call, INTEGERS);
    i = (size_t)run(&call);
    if ((int)i == TEST_SKIP) {
        CHECK(TEST_RAM < 6000);
        return;
    }
    CHECK_INT(RFM_OK, (int)i);
    CHECK(call.to_i.inputs[0].exponent == 0 && call.to_i.inputs[0].low == -200 && call.to_i.inputs[0].high == 300);
    CHECK(call.to_i.inputs[1].exponent == 14 && call.to_i.inputs[1].low == 0 && call.to_i.inputs[1].high == 10240);
    CHECK(call.to_i.inputs[2].exponent == -7 && call.to_i.inputs[2].low == 8 && call.to_i.inputs[2].high == 8192);
    x[0] = (rfm_real)-12.5, x[1] = (rfm_real)0.5, x[2] = 1e9;
    CHECK_INT(RFM_OK, rfm_input_integers(&call.to_i, x, xi));
    CHECK(xi[0] == -12 && xi[1] == 8192 && xi[2] == 32767);
    x[0] = -40000;
    CHECK_INT(RFM_OK, rfm_input_integers(&call.to_i, x, xi));
    CHECK(xi[0] == -32768);
    x[1] = (rfm_real)NAN, xi[0] = 7;
    CHECK_INT(RFM_EFINITE, rfm_input_integers(&call.to_i, x, xi));
    CHECK(xi[0] == 7);
    CHECK_INT(RFM_ENULL, rfm_input_integers(NULL, x, xi));
    CHECK_INT(RFM_ENULL, rfm_input_integers(&call.to_i, NULL, xi));
    CHECK_INT(RFM_ENULL, rfm_input_integers(&call.to_i, x, NULL));
}

/* What rounding does to output 0, mean square over the rows with the best offset: as it was done, and one by one. phi
 * comes from the model itself, with an alpha that is 1 for one centre and 0 for the others. */
static void rounding_error(const rfm_model *from, const rfm_model_i *made, double *feedback, double *one_by_one) {
    static const int32_t zero = 0;
    rfm_model_i single = *made;
    rfm_mat errors = test_mat(2, a.x.rows, 0, 0), phi = test_mat(a.x.rows, 1, 0, 0);
    int8_t *alpha = test_take(made->n);
    double sums[2] = {0, 0}, means[2] = {0, 0};
    size_t i, j, way;

    CHECK(errors.at != NULL && phi.at != NULL && alpha != NULL);
    single.c = 1, single.alpha = alpha, single.offset = &zero;
    memset(alpha, 0, made->n);
    memset(errors.at, 0, 2 * a.x.rows * sizeof *errors.at);
    for (j = 0; j < made->n; j++) {
        double value = (double)from->alpha[j * made->c] / ((double)made->units[0] * RFM_PHI_ONE);
        double rounded[2];

        rounded[0] = ((const int8_t *)made->alpha)[j * made->c];
        rounded[1] = fmin(fmax(floor(value + 0.5), -127), 127);
        alpha[j] = 1;
        predict_integers(&single, phi);
        alpha[j] = 0;
        for (i = 0; i < a.x.rows; i++)
            for (way = 0; way < 2; way++)
                errors.at[way * a.x.rows + i] += (rfm_real)((value - rounded[way]) * model_at(phi, i, 0));
    }
    for (way = 0; way < 2; way++) {
        for (i = 0; i < a.x.rows; i++) means[way] += model_at(errors, way, i) / (double)a.x.rows;
        for (i = 0; i < a.x.rows; i++)
            sums[way] += (model_at(errors, way, i) - means[way]) * (model_at(errors, way, i) - means[way]);
    }
    *feedback += sums[0], *one_by_one += sums[1];
}

/* Without targets alpha is only rounded: near the model that it came from, and with less than half of the error,
 * squared, that rounding one by one makes. A classifier's units are equal. */
static void test_rounded(void) {
    model_shape s;
    size_t index, k, done = 0;
    double feedback = 0, one_by_one = 0;

    for (index = 0; model_size(index, &s); index++) {
        rfm_mat was, is;

        test_note("rounded", s.n, 0, 0);
        if (!make(s, RFM_LAPLACE, RFM_FULL)) continue;
        was = test_mat(s.n, s.c, 0, 0), is = test_mat(s.n, s.c, 0, 0);
        if (is.at == NULL || !predict(&a.m, was)) continue;
        set_call(&call, INTEGERS), call.type = RFM_I16, call.data.y.at = NULL;
        a.m.task = RFM_CLASSIFY;
        if (run(&call) == TEST_SKIP) continue;
        for (k = 1; k < s.c; k++) CHECK(call.to_i.units[k] == call.to_i.units[0]);
        predict_integers(&call.to_i, is);
        CHECK_BELOW(model_apart(was, is), 0.01 * range_of(was));
        done++;
        if (s.n < 33) continue;
        call.type = RFM_I8;
        CHECK_INT(RFM_OK, run(&call));
        rounding_error(&a.m, &call.to_i, &feedback, &one_by_one);
    }
    CHECK(done >= 1 || TEST_RAM < 6000);
    CHECK(feedback <= one_by_one / 2);
}

/* One row, its value the only target: nothing to fit but the offset, however small it is. And a centre beside a row
 * that is all there is: their distance sets the unit, and f = alpha phi is as near as the integers allow. */
static void test_single(void) {
    static const rfm_real x[2] = {3, (rfm_real)0.5}, shift[2] = {3, 0}, centers[2] = {(rfm_real)0.7, 1};
    const double f = 2 * exp(-sqrt(0.49 + 0.25));
    rfm_real y = (rfm_real)1e-6, alpha = 2;
    size_t i;

    for (i = 0; i < 2; i++) {
        rfm_mat is;

        test_reset();
        memset(&a, 0, sizeof a);
        a.m.n = a.m.c = 1, a.m.d = a.m.r = 2, a.m.metric = RFM_IDENTITY, a.m.bandwidth = 1;
        a.m.shift = shift, a.m.centers = centers, a.m.alpha = &alpha;
        a.x.at = (rfm_real *)(uintptr_t)x, a.x.rows = 1, a.x.cols = a.x.stride = 2;
        a.data.x = rfm_const(a.x), a.data.y = rfm_cview(&y, 1, 1);
        is = test_mat(1, 1, 0, 0);
        CHECK(is.at != NULL);
        test_note("single", i, 0, 0);
        set_call(&call, INTEGERS), call.type = types[i];
        CHECK_INT(RFM_OK, run(&call));
        predict_integers(&call.to_i, is);
        CHECK_BELOW(fabs((double)is.at[0] - 1e-6), 1e-9);
        call.data.y.at = NULL;
        CHECK_INT(RFM_OK, run(&call));
        predict_integers(&call.to_i, is);
        CHECK_BELOW(fabs((double)is.at[0] - f), 0.01 * f);
    }
}

/* Rows and targets that are finite, and their differences from shift and offset that are not. */
static void test_overflow(void) {
    const rfm_real most = RFM_REAL_BYTES == 4 ? (rfm_real)FLT_MAX : (rfm_real)DBL_MAX;
    const model_shape s = {4, 2, 1};
    int what;
    size_t i;

    for (what = 0; what < CALLS; what++)
        for (i = 0; i < (what == RANK ? 1u : 2u); i++) {
            test_note("overflow", (size_t)what, i, 0);
            CHECK(make(s, RFM_LAPLACE, RFM_FULL));
            if (i == 0)
                a.x.at[0] = most, *(rfm_real *)(uintptr_t)a.m.shift = -most;
            else
                a.y.at[0] = most, a.y.at[a.y.stride] = -most;
            set_call(&call, what);
            CHECK_INT(RFM_ERANGE, run(&call));
        }
}

/* A model that is not finite is refused by everything. */
static void test_model_values(void) {
    const model_shape s = {4, 2, 1};
    int what;
    size_t i;

    for (what = 0; what < CALLS; what++)
        for (i = 0; i < 5; i++) {
            rfm_real *value, good;

            test_note("model", (size_t)what, i, 0);
            CHECK(make(s, RFM_LAPLACE, RFM_FULL));
            value = (rfm_real *)(uintptr_t)(i == 0 ? a.m.shift : i == 1 ? a.m.p : i == 2 ? a.m.centers : a.m.alpha);
            if (i == 4) value = &a.m.bandwidth;
            good = *value;
            *value = i == 4 ? (rfm_real)INFINITY : (rfm_real)NAN;
            set_call(&call, what);
            refused(&call, i == 4 ? RFM_EVALUE : RFM_EFINITE, 1); /* L has a range of its own */
            *value = good;
        }
}

/* ---- the range of numbers ------------------------------------------------------------------- */

/* What is multiplied by a power of two. The first four leave the problem as it is. */
enum { BANDWIDTH, FEATURES, TARGETS, WEIGHTS, SAME, ROWS = SAME, RIDGE, SCALED };

static const rfm_real least_bandwidth = (rfm_real)(RFM_REAL_BYTES == 4 ? 1e-12 : 1e-100);
static rfm_model scaled; /* a.m, with arrays of its own */
static rfm_data scaled_data;
static int exact; /* no number has lost digits */

static rfm_real *scaled_copy(rfm_cmat from, int e) {
    rfm_mat to = test_mat(from.rows, from.cols, 0, 0);
    size_t i, j;

    for (i = 0; to.at != NULL && i < from.rows; i++)
        for (j = 0; j < from.cols; j++) {
            double value = (double)from.at[i * from.stride + j];

            to.at[i * to.stride + j] = (rfm_real)ldexp(value, e);
            exact &= ldexp(model_at(to, i, j), -e) == value;
        }
    return to.at;
}

/* 0: no room, or a number of the model or of its data is not finite. */
static int scale_problem(int what, int e, rfm_real *ridge) {
    const int z_e = what == BANDWIDTH || what == ROWS ? e : 0, x_e = what == FEATURES ? e : z_e;
    const int y_e = what == TARGETS ? e : 0;
    const size_t n = a.m.n, d = a.m.d, c = a.m.c, r = a.m.r;
    rfm_mat weights = test_mat(1, n, 0, 0);
    rfm_real *x, *y;
    size_t i;

    scaled = a.m, scaled_data = a.data, exact = 1;
    x = scaled_copy(a.data.x, x_e), y = scaled_copy(a.data.y, y_e);
    scaled.shift = scaled_copy(rfm_cview(a.m.shift, 1, d), x_e);
    scaled.p = scaled_copy(rfm_cview(a.m.p, r, d), z_e - x_e);
    scaled.centers = scaled_copy(rfm_cview(a.m.centers, n, r), z_e);
    scaled.alpha = scaled_copy(rfm_cview(a.m.alpha, n, c), y_e);
    scaled.bandwidth = (rfm_real)ldexp((double)a.m.bandwidth, what == BANDWIDTH ? e : 0);
    if (weights.at == NULL || x == NULL || y == NULL || scaled.shift == NULL || scaled.p == NULL) return 0;
    if (scaled.centers == NULL || scaled.alpha == NULL) return 0;
    for (i = 0; i < n; i++) weights.at[i] = (rfm_real)ldexp(1 + (double)(i % 3), what == WEIGHTS ? e - 2 : -2);
    *ridge = (rfm_real)ldexp(0.01, what == WEIGHTS || what == RIDGE ? e : 0);
    if (what == WEIGHTS) exact &= ldexp((double)*ridge, -e) == (double)(rfm_real)0.01;
    if (!rfm_finite(n * d, x) || !rfm_finite(n * c, y) || !rfm_finite(n, weights.at)) return 0;
    if (!rfm_finite(d, scaled.shift) || !rfm_finite(r * d, scaled.p) || !rfm_finite(n * r, scaled.centers)) return 0;
    if (!rfm_finite(n * c, scaled.alpha) || !(scaled.bandwidth > 0) || !(*ridge > 0)) return 0;
    if (scaled.bandwidth < least_bandwidth || scaled.bandwidth > 1 / least_bandwidth || !rfm_finite(1, ridge)) return 0;
    scaled_data.x = rfm_cview(x, n, d), scaled_data.y = rfm_cview(y, n, c), scaled_data.weights = weights.at;
    return 1;
}

/* f at the rows of the scaled problem, in double. */
static void predict_plainly(const rfm_model *m, rfm_mat y, int e) {
    size_t i, k, l;

    for (i = 0; i < y.rows; i++) {
        project_row(m, scaled_data.x.at + i * scaled_data.x.stride, z);
        for (k = 0; k < m->c; k++) {
            double f = 0;

            for (l = 0; l < m->n; l++) f += (double)m->alpha[l * m->c + k] * phi_between(m, z, m->centers + l * m->r);
            y.at[i * y.stride + k] = (rfm_real)ldexp(f, e);
        }
    }
}

/* What a call on the scaled problem gives, in the units of the problem as it was: outputs at the rows, or loss and
 * gradient. */
static int scaled_result(int call_what, int what, int e, rfm_mat out) {
    const int y_e = what == TARGETS ? e : 0, loss_e = 2 * y_e + (what == WEIGHTS ? e : 0);
    rfm_mat gradient = test_mat(a.m.n, a.m.r, 0, 0);
    model_case was = a;
    size_t i, k;
    rfm_real ridge;
    int status;

    if (gradient.at == NULL || !scale_problem(what, e, &ridge)) return TEST_SKIP;
    set_call(&call, call_what);
    call.from = &scaled, call.data = scaled_data, call.how.ridge = ridge, call.gradient = gradient.at;
    call.rank = (a.m.r + 1) / 2, call.how.centers = (a.m.n + 1) / 2, call.how.polish = 2, call.type = RFM_I16;
    call.how.method = methods[((size_t)(e + 140) / 7 + (size_t)what) % 4];
    if (e == 0) call.how.method = second.how.method;
    status = run(&call);
    if (status != RFM_OK) return status;
    a.x.at = (rfm_real *)(uintptr_t)scaled_data.x.at, a.x.stride = scaled_data.x.stride, a.data.x = scaled_data.x;
    if (call_what == CENTERS || call_what == RANK) predict_plainly(&call.to, out, -y_e);
    if (call_what == INTEGERS) predict_integers(&call.to_i, out);
    if (call_what == CENTERS && what >= SAME)
        check_normal_equations(&call.to, &scaled_data, (double)ridge, what == ROWS ? ldexp(1, e) : 1);
    a.x = was.x, a.data = was.data;
    for (i = 0; call_what == INTEGERS && i < out.rows; i++)
        for (k = 0; k < out.cols; k++) out.at[i * out.stride + k] = (rfm_real)ldexp(model_at(out, i, k), -y_e);
    if (call_what == LOSS) {
        CHECK(rfm_finite(1, &call.loss) && rfm_finite(a.m.n * a.m.r, gradient.at));
        out.at[0] = (rfm_real)ldexp((double)call.loss, -loss_e);
        for (i = 1; i < out.rows * out.cols; i++)
            out.at[i] = (rfm_real)ldexp((double)gradient.at[i % (a.m.n * a.m.r)], (what == BANDWIDTH ? e : 0) - loss_e);
    }
    return RFM_OK;
}

/* A power of two is a change of units: nothing else changes, or the call says RFM_ERANGE. Rows and ridges that grow and
 * shrink alone give another problem, and centres that solve it. */
static void test_range(void) {
    const model_shape s = {9, 3, 2};
    int call_what, what, e;
    size_t done = 0, right = 0;

    for (call_what = 0; call_what < CALLS; call_what++)
        for (what = 0; what < SCALED; what++)
            for (e = -140; e <= 126; e += TEST_N_MAX > 40 ? 7 : 28) {
                rfm_mat was, is;
                int status, compare;

                test_note("range", (size_t)call_what, (size_t)what, (size_t)(e + 1000));
                if (!make(s, (e + what) % 2 ? RFM_GAUSSIAN : RFM_LAPLACE, RFM_FULL)) continue;
                was = test_mat(s.n, s.c, 0, 0), is = test_mat(s.n, s.c, 0, 0);
                if (is.at == NULL) continue;
                status = scaled_result(call_what, what, e, is);
                if (status == TEST_SKIP) continue;
                done++;
                if (status != RFM_OK) {
                    CHECK_INT(RFM_ERANGE, status);
                    CHECK(e < -90 || e > 90 || what == ROWS || (call_what == LOSS && (e < -50 || e > 50)));
                    continue;
                }
                right++;
                second.how.method = call.how.method, compare = exact && what < SAME;
                if (!compare || scaled_result(call_what, what, 0, was) != RFM_OK) continue;
                CHECK_BELOW(model_apart(was, is), 1e-4 * model_most(was));
            }
    CHECK(right >= done / 2);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_memory);
    RUN_TEST(test_refusals);
    RUN_TEST(test_measuring);
    RUN_TEST(test_workers);
    RUN_TEST(test_ticks);
    RUN_TEST(test_importance);
    RUN_TEST(test_importance_range);
    RUN_TEST(test_rank);
    RUN_TEST(test_all_centers);
    RUN_TEST(test_refit);
    RUN_TEST(test_choice);
    RUN_TEST(test_degenerate);
    RUN_TEST(test_gradient);
    RUN_TEST(test_polish);
    RUN_TEST(test_integers);
    RUN_TEST(test_wide);
    RUN_TEST(test_few_bits);
    RUN_TEST(test_inputs);
    RUN_TEST(test_rounded);
    RUN_TEST(test_single);
    RUN_TEST(test_overflow);
    RUN_TEST(test_model_values);
    RUN_TEST(test_range);
    return UNITY_END();
}

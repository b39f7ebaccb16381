/* Rows in passes: shapes on exactly the memory that is needed, both solvers against each other and against rfm_fit,
 * sums that merge and come apart, what rows can do wrong, the whole fit, EigenPro. tests/golden/nystrom.c has the
 * reference numbers. */
#include "models.h"
#include "rfm_large.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

/* ---- rows that misbehave when they are told to ---------------------------------------------- */

typedef struct {
    rfm_mat x, y;
    const rfm_real *weights;
    size_t first;              /* rows are read from here on */
    size_t calls, fail_at;     /* 0: never; else the call that gives fewer rows */
    size_t passes, changed_at; /* 0: never; else the pass in which a row has changed */
    size_t poisoned_at;        /* 0: never; else the pass in which a number is not finite */
    size_t expect;             /* the row that has to come next */
} source;

static size_t read_rows(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    source *s = (source *)from;
    size_t i, d = s->x.cols, c = s->y.cols;

    if (first == 0) s->passes++, s->expect = 0;
    CHECK(first == s->expect);
    s->expect = first + count;
    for (i = 0; i < count; i++) {
        memcpy(x + i * d, s->x.at + (s->first + first + i) * s->x.stride, d * sizeof *x);
        memcpy(y + i * c, s->y.at + (s->first + first + i) * s->y.stride, c * sizeof *y);
        if (weights != NULL) weights[i] = s->weights[s->first + first + i];
    }
    if (s->passes == s->changed_at && first + count == s->x.rows) y[count * c - 1] += (rfm_real)0.5;
    if (s->passes == s->poisoned_at && first == 0) x[d - 1] = (rfm_real)HUGE_VAL;
    return ++s->calls == s->fail_at ? count - 1 : count;
}

static rfm_rows rows_of(source *s) {
    rfm_rows rows;

    memset(&rows, 0, sizeof rows);
    rows.n = s->x.rows, rows.d = s->x.cols, rows.c = s->y.cols, rows.weighted = s->weights != NULL;
    rows.read = read_rows, rows.from = s;
    return rows;
}

/* n rows of d inputs; a model of m centres, which are the first rows with one of them repeated if m > n. */
typedef struct {
    source from;
    rfm_rows rows;
    rfm_model m;
    rfm_mat centers, alpha, shift, p;
} problem;

static int problem_make(problem *p, size_t n, size_t m, size_t d, size_t c, int kernel) {
    size_t i, j;

    memset(p, 0, sizeof *p);
    p->from.x = test_mat(n, d, 1, 0), p->from.y = test_mat(n, c, 0, 1);
    p->centers = test_mat(m, d, 0, 0), p->alpha = test_mat(m, c, 2, 0);
    p->shift = test_mat(1, d, 0, 0), p->p = test_mat(1, d, 0, 0);
    if (p->from.x.at == NULL || p->from.y.at == NULL || p->centers.at == NULL || p->alpha.at == NULL ||
        p->shift.at == NULL || p->p.at == NULL)
        return 0;
    model_fill(p->from.x, 1);
    model_targets(p->from.x, p->from.y);
    for (j = 0; j < d; j++) p->shift.at[j] = (rfm_real)0.125, p->p.at[j] = (rfm_real)(1 + 0.25 * (double)(j % 3));
    p->m.n = m, p->m.d = p->m.r = d, p->m.c = c, p->m.kernel = kernel, p->m.metric = RFM_DIAGONAL;
    p->m.bandwidth = 2, p->m.exponent = 1;
    p->m.shift = p->shift.at, p->m.p = p->p.at, p->m.centers = p->centers.at, p->m.alpha = p->centers.at;
    for (i = 0; i < m; i++) {
        const rfm_real *x = p->from.x.at + i % n * p->from.x.stride;
        double sum = 0;

        for (j = 0; j < d; j++) {
            p->centers.at[i * d + j] = (x[j] - p->shift.at[j]) * p->p.at[j];
            sum += (double)p->centers.at[i * d + j] * (double)p->centers.at[i * d + j];
        }
        for (j = 0; j < d && kernel >= RFM_NNGP && sum > 0; j++) p->centers.at[i * d + j] /= (rfm_real)sqrt(sum);
    }
    p->rows = rows_of(&p->from);
    return 1;
}

/* On exactly the bytes that are needed, and refused before any work with one less. TEST_SKIP: no room. */
static int solve(problem *p, const rfm_ctx *with, const rfm_solve_options *o, rfm_solve_report *report) {
    const size_t mark = test_mark();
    rfm_ctx ctx = *with;
    rfm_arena arena;
    size_t bytes = 0, calls;
    void *memory;
    int status = rfm_large_solve_need(&ctx, &p->rows, &p->m, o, &bytes);

    if (status != RFM_OK) return status;
    memory = test_take(bytes);
    if (memory == NULL) {
        test_rewind(mark);
        return TEST_SKIP;
    }
    ctx.arena = &arena;
    calls = p->from.calls;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes - 1));
    CHECK_INT(RFM_EARENA, rfm_large_solve(&ctx, &p->rows, &p->m, o, p->alpha, report));
    CHECK(p->from.calls == calls && arena.used == 0);
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes));
    status = rfm_large_solve(&ctx, &p->rows, &p->m, o, p->alpha, report);
    CHECK(arena.used == 0 && arena.peak == bytes);
    test_check_padding(p->alpha);
    test_rewind(mark);
    return status;
}

static rfm_ctx plain(void) {
    rfm_ctx ctx;

    memset(&ctx, 0, sizeof ctx);
    return ctx;
}

/* phi of the model's kernel between a projected row and centre j, in double. */
static double kernel(const rfm_model *m, const double *x, size_t j) {
    double s = 0;
    size_t t;

    for (t = 0; t < m->d; t++) {
        const double diff = x[t] - (double)m->centers[j * m->d + t];

        s += m->kernel == RFM_L1 ? fabs(diff) : diff * diff;
    }
    return model_phi(m, m->kernel == RFM_L1 ? s : sqrt(s));
}

/* The gradient of what alpha minimises, in double: K_nm'W (K_nm alpha - y) + ridge K_mm alpha, as a share of K'W|y|.
 * Radial kernels only. -1: no room. */
static double slope(const problem *p, double ridge) {
    const rfm_model *m = &p->m;
    const size_t mark = test_mark(), n = p->rows.n;
    double worst = 0, most = 0, x[8], *sum = (double *)test_take(2 * m->n * sizeof *sum), *k = sum + m->n;
    size_t i, j, q, t;

    if (sum == NULL) return -1;
    for (q = 0; q < m->c; q++) {
        double size = 0;

        for (j = 0; j < m->n; j++) sum[j] = 0;
        for (i = 0; i < n + m->n; i++) { /* rows, then centres */
            const double w = i >= n ? ridge : p->from.weights != NULL ? (double)p->from.weights[i] : 1;
            const double y = i < n ? (double)p->from.y.at[i * p->from.y.stride + q] : 0;
            double f = 0;

            for (t = 0; t < m->d; t++)
                x[t] = i < n ? ((double)p->from.x.at[i * p->from.x.stride + t] - (double)m->shift[t]) * (double)m->p[t]
                             : (double)m->centers[(i - n) * m->d + t];
            for (j = 0; j < m->n; j++) k[j] = kernel(m, x, j), f += k[j] * model_at(p->alpha, j, q);
            for (j = 0; j < m->n && i < n; j++) sum[j] += w * k[j] * (f - y);
            if (i >= n) sum[i - n] += w * f;
            size += w * fabs(y);
        }
        for (j = 0; j < m->n; j++) worst = fmax(worst, fabs(sum[j]));
        most = fmax(most, size);
    }
    test_rewind(mark);
    return most > 0 ? worst / most : worst;
}

/* ---- solving -------------------------------------------------------------------------------- */

/* Both solvers find the minimum, for every kernel of a norm, around the sizes of blocks. */
static void test_shapes(void) {
    static const struct {
        size_t n, m, d, c;
    } sizes[] = {{1, 1, 1, 1},   {3, 1, 2, 1},    {2, 5, 1, 2},    {9, 9, 3, 1},     {17, 8, 5, 3},    {60, 20, 2, 6},
                 {511, 7, 3, 1}, {512, 33, 3, 1}, {513, 40, 2, 2}, {700, 260, 3, 1}, {1025, 257, 2, 1}};
    static const int kernels[] = {RFM_LAPLACE, RFM_GAUSSIAN, RFM_GENERAL, RFM_L1};
    size_t i, k, port, done = 0;
    int solver;

    for (i = 0; i < TEST_LENGTH(sizes); i++)
        for (k = 0; k < TEST_LENGTH(kernels); k++)
            for (port = 0; test_port(port) != NULL; port++)
                for (solver = RFM_SOLVER_DIRECT; solver <= RFM_SOLVER_CONJUGATE; solver++) {
                    rfm_solve_options o;
                    rfm_solve_report report;
                    rfm_ctx ctx = plain();
                    problem p;
                    int status;

                    if (sizes[i].m > 40 && TEST_FEW) continue;
                    if (sizes[i].n > (TEST_FEW ? 60 : 513) && k != i % TEST_LENGTH(kernels)) continue;
                    test_reset();
                    test_note("n, m, kernel", sizes[i].n, sizes[i].m, k);
                    if (!problem_make(&p, sizes[i].n, sizes[i].m, sizes[i].d, sizes[i].c, kernels[k])) continue;
                    rfm_solve_options_init(&o);
                    o.solver = solver, o.ridge = (rfm_real)0.1;
                    o.tolerance = (rfm_real)(RFM_REAL_BYTES == 8 ? 1e-11 : 1e-5);
                    ctx.port = test_port(port);
                    status = solve(&p, &ctx, &o, &report);
                    if (status == TEST_SKIP) continue;
                    CHECK_INT(RFM_OK, status);
                    CHECK(report.rank >= 1 && report.rank <= sizes[i].m && report.rank <= sizes[i].n);
                    CHECK(report.rows == report.passes * sizes[i].n && report.passes == 2 + report.steps);
                    if (solver == RFM_SOLVER_CONJUGATE) CHECK_BELOW(report.residual, o.tolerance);
                    CHECK_BELOW(slope(&p, (double)report.ridge), RFM_REAL_BYTES == 8 ? 1e-9 : 3e-3);
                    done++;
                }
    CHECK(done > 0);
}

/* With all rows as centres it is rfm_fit. */
static void test_is_fit(void) {
    model_case a;
    problem p;
    rfm_solve_options o;
    size_t i, k, j;

    if (!problem_make(&p, 12, 12, 3, 2, RFM_LAPLACE) || !model_make(&a, 12, 3, 2)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 12; i++) {
        memcpy(a.x.at + i * a.x.stride, p.from.x.at + i * p.from.x.stride, 3 * sizeof *a.x.at);
        memcpy(a.y.at + i * a.y.stride, p.from.y.at + i * p.from.y.stride, 2 * sizeof *a.y.at);
    }
    a.o.iterations = 1, a.o.metric = RFM_DIAGONAL;
    if (model_fit(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    p.m = a.m;
    rfm_solve_options_init(&o);
    o.ridge = a.o.ridge;
    {
        rfm_ctx ctx = plain();
        const int status = solve(&p, &ctx, &o, NULL);

        if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_INT(RFM_OK, status);
    }
    for (i = 0; i < 12; i++)
        for (k = 0, j = 2 * i; k < 2; k++, j++)
            CHECK_BELOW(fabs((double)a.m.alpha[j] - model_at(p.alpha, i, k)), 2000 * TEST_EPS);
}

/* The same bits with any number of workers; a weight of 2 is two rows; a weight of 0 is none; a network kernel. */
static void test_workers_and_weights(void) {
    static const size_t workers[] = {1, 2, 7};
    int solver, kernel;
    size_t ports;

    for (ports = 1; test_port(ports) != NULL;) ports++;
    for (kernel = 0; kernel < RFM_KERNELS; kernel++)
        for (solver = RFM_SOLVER_DIRECT; solver <= RFM_SOLVER_CONJUGATE; solver++) {
            rfm_solve_options o;
            rfm_real first[2 * 11], weights[30];
            problem p;
            size_t w, i, k;

            test_reset();
            test_note("kernel", (size_t)kernel, 0, 0);
            if (!problem_make(&p, 30, 11, 3, 2, kernel)) continue;
            rfm_solve_options_init(&o);
            o.solver = solver, o.ridge = (rfm_real)0.1;
            for (i = 0; i < 30; i++) weights[i] = (rfm_real)(i % 3);
            p.from.weights = weights, p.rows.weighted = 1;
            for (w = 0; w < TEST_LENGTH(workers); w++) {
                test_pool pool;
                rfm_ctx ctx = plain();
                int status;

                pool.workers = workers[w], pool.reverse = w == 1;
                ctx.workers = workers[w], ctx.run = test_pool_run, ctx.pool = &pool;
                ctx.port = test_port((size_t)kernel % 2 > 0 ? ports - 1 : 0);
                status = solve(&p, &ctx, &o, NULL);
                if (status == TEST_SKIP) break;
                CHECK_INT(RFM_OK, status);
                for (i = 0; i < 11; i++)
                    for (k = 0; k < 2; k++) {
                        const rfm_real alpha = p.alpha.at[i * p.alpha.stride + k];

                        if (w == 0) first[2 * i + k] = alpha;
                        CHECK(alpha == first[2 * i + k]);
                    }
                if (kernel < RFM_NNGP) CHECK_BELOW(slope(&p, 0.1), RFM_REAL_BYTES == 8 ? 1e-8 : 3e-3);
            }
            if (w == 0) continue;
            for (i = 0; i < 30; i++) weights[i] = 0;
            {
                rfm_ctx ctx = plain();

                CHECK_INT(RFM_EVALUE, solve(&p, &ctx, &o, NULL));
                weights[4] = (rfm_real)-1;
                CHECK_INT(RFM_EVALUE, solve(&p, &ctx, &o, NULL));
                weights[4] = (rfm_real)HUGE_VAL;
                CHECK_INT(RFM_EFINITE, solve(&p, &ctx, &o, NULL));
            }
        }
}

/* All rows equal: one centre is left, and it says the mean, shrunk by the ridge. */
static void test_equal_rows(void) {
    int solver;

    for (solver = RFM_SOLVER_DIRECT; solver <= RFM_SOLVER_CONJUGATE; solver++) {
        rfm_solve_options o;
        rfm_solve_report report;
        rfm_ctx ctx = plain();
        problem p;
        double sum = 0, f = 0;
        size_t i, j;
        int status;

        test_reset();
        if (!problem_make(&p, 10, 4, 2, 1, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
        for (i = 0; i < 10; i++)
            for (j = 0; j < 2; j++) p.from.x.at[i * p.from.x.stride + j] = p.from.x.at[j];
        for (i = 0; i < 4; i++)
            for (j = 0; j < 2; j++) p.centers.at[i * 2 + j] = p.centers.at[j];
        rfm_solve_options_init(&o);
        o.solver = solver, o.ridge = 1;
        status = solve(&p, &ctx, &o, &report);
        if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_INT(RFM_OK, status);
        CHECK_SIZE(1, report.rank);
        for (i = 0; i < 10; i++) sum += model_at(p.from.y, i, 0);
        for (i = 0; i < 4; i++) f += model_at(p.alpha, i, 0);
        CHECK_BELOW(fabs(f - sum / 11), 100 * TEST_EPS);
    }
}

/* Centres of zeros, as a metric of zeros makes them: K is 0 for a network kernel, and so is alpha. */
static void test_no_kernel(void) {
    int kind;

    for (kind = RFM_SOLVER_DIRECT; kind <= RFM_SOLVER_CONJUGATE; kind++) {
        rfm_solve_report report;
        rfm_solve_options o;
        rfm_ctx ctx = plain();
        problem p;
        size_t i, k;
        int status;

        test_reset();
        test_note("solver:", (size_t)kind, 0, 0);
        if (!problem_make(&p, 20, 4, 2, 2, RFM_NTK)) TEST_IGNORE_MESSAGE("no room");
        for (i = 0; i < 8; i++) p.centers.at[i] = 0;
        for (i = 0; i < 2; i++) p.p.at[i] = 0;
        rfm_solve_options_init(&o);
        o.solver = kind;
        status = solve(&p, &ctx, &o, &report);
        if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_INT(RFM_OK, status);
        CHECK(report.rank == 0);
        for (i = 0; i < 4; i++)
            for (k = 0; k < 2; k++) CHECK(model_at(p.alpha, i, k) == 0);
    }
}

/* ---- what rows can do wrong ------------------------------------------------------------------ */

static size_t ticks_left;
static int tick(void *arg, rfm_real done) {
    rfm_real *last = (rfm_real *)arg;

    CHECK(done >= *last && done <= 1);
    *last = done;
    return ticks_left-- == 0;
}

static void test_bad_rows(void) {
    int solver;

    for (solver = RFM_SOLVER_DIRECT; solver <= RFM_SOLVER_CONJUGATE; solver++) {
        rfm_solve_options o;
        rfm_ctx ctx = plain();
        rfm_real last = 0;
        problem p;
        size_t calls;
        int status, tries;

        test_reset();
        if (!problem_make(&p, 20, 6, 2, 1, RFM_GAUSSIAN)) TEST_IGNORE_MESSAGE("no room");
        rfm_solve_options_init(&o);
        o.solver = solver;
        status = solve(&p, &ctx, &o, NULL);
        if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_INT(RFM_OK, status);
        memset(p.alpha.at, 0x55, sizeof *p.alpha.at);
        calls = p.from.calls;
        for (p.from.fail_at = 1; p.from.fail_at <= calls; p.from.fail_at++) {
            p.from.calls = p.from.passes = 0;
            CHECK_INT(RFM_EREAD, solve(&p, &ctx, &o, NULL));
        }
        p.from.fail_at = 0;
        for (p.from.changed_at = 2; p.from.changed_at <= calls; p.from.changed_at++) {
            p.from.passes = 0;
            status = solve(&p, &ctx, &o, NULL);
            CHECK(status == RFM_ECHANGED);
        }
        p.from.changed_at = 0, p.from.passes = 0, p.from.poisoned_at = 1;
        CHECK_INT(RFM_EFINITE, solve(&p, &ctx, &o, NULL));
        p.from.poisoned_at = 0;
        for (tries = 0; tries < 3; tries++) {
            ctx.tick = tick, ctx.tick_arg = &last, last = 0, ticks_left = (size_t)tries;
            if (solver == RFM_SOLVER_DIRECT && tries > 0) break;
            CHECK_INT(RFM_ECANCEL, solve(&p, &ctx, &o, NULL));
        }
        ctx.tick = NULL;
        {
            rfm_real before;

            memset(&before, 0x55, sizeof before);
            CHECK(memcmp(&before, p.alpha.at, sizeof before) == 0); /* alpha has never been written */
        }
        p.rows.n = 0;
        CHECK_INT(RFM_EZERO, solve(&p, &ctx, &o, NULL));
        p.rows.n = 20, p.rows.d = 3;
        CHECK_INT(RFM_ESHAPE, solve(&p, &ctx, &o, NULL));
        p.rows.d = 2, p.rows.read = NULL;
        CHECK_INT(RFM_ENULL, solve(&p, &ctx, &o, NULL));
        p.rows.read = read_rows, o.ridge = -1;
        CHECK_INT(RFM_EVALUE, solve(&p, &ctx, &o, NULL));
        o.ridge = 0, o.steps = 0;
        CHECK_INT(RFM_EVALUE, solve(&p, &ctx, &o, NULL));
        o.steps = 1, o.tolerance = (rfm_real)TEST_EPS;
        CHECK_INT(solver == RFM_SOLVER_DIRECT ? RFM_OK : RFM_ECONVERGE, solve(&p, &ctx, &o, NULL));
    }
}

/* ---- sums ----------------------------------------------------------------------------------- */

static rfm_sums *sums_new(const problem *p, int kind, size_t *bytes) {
    rfm_sums *sums;

    CHECK_INT(RFM_OK, rfm_sums_size(&p->m, kind, bytes));
    sums = (rfm_sums *)test_take(*bytes);
    if (sums == NULL) return NULL;
    if (!test_little_endian()) { /* the bytes in memory are those of a file */
        CHECK_INT(RFM_ETYPE, rfm_sums_init(&p->m, kind, 4, sums, *bytes));
        return NULL;
    }
    CHECK_INT(RFM_EARENA, rfm_sums_init(&p->m, kind, 4, sums, *bytes - 1));
    CHECK_INT(RFM_EVALUE, rfm_sums_init(&p->m, kind, 0, sums, *bytes));
    CHECK_INT(RFM_EVALUE, rfm_sums_init(&p->m, 2, 4, sums, *bytes));
    CHECK_INT(RFM_OK, rfm_sums_init(&p->m, kind, 4, sums, *bytes));
    CHECK_INT(RFM_OK, rfm_sums_check(&p->m, sums, *bytes));
    return sums;
}

/* Adds rows first.., on exactly what that needs. */
static int sums_add(problem *p, size_t first, size_t count, rfm_sums *sums) {
    const size_t mark = test_mark(), n = p->rows.n;
    rfm_ctx ctx = plain();
    rfm_arena arena;
    size_t bytes = 0;
    void *memory;
    int status;

    p->from.first = first, p->rows.n = count;
    CHECK_INT(RFM_OK, rfm_sums_add_need(&ctx, &p->rows, &p->m, sums->kind, &bytes));
    memory = test_take(bytes);
    if (memory != NULL) {
        ctx.arena = &arena;
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes - 1));
        CHECK_INT(RFM_EARENA, rfm_sums_add(&ctx, &p->rows, &p->m, sums));
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes));
        status = rfm_sums_add(&ctx, &p->rows, &p->m, sums);
        CHECK(arena.used == 0);
    } else
        status = TEST_SKIP;
    p->from.first = 0, p->rows.n = n;
    test_rewind(mark);
    return status;
}

static void seal(rfm_sums *sums) { sums->checksum = rfm_crc32(0, (unsigned char *)sums + 8, sums->bytes - 8); }

/* Parts in any order are the same bytes, and what is taken out again leaves what was. */
static void test_merge(void) {
    int kind;

    for (kind = RFM_SUMS_SOLVE; kind <= RFM_SUMS_AGOP; kind++) {
        rfm_sums *a, *b, *c, *other;
        size_t bytes = 0, i;
        problem p;
        int status;

        test_reset();
        test_note("kind", (size_t)kind, 0, 0);
        if (!problem_make(&p, 20, 5, 2, 2, RFM_LAPLACE)) continue;
        a = sums_new(&p, kind, &bytes), b = sums_new(&p, kind, &bytes), c = sums_new(&p, kind, &bytes);
        other = sums_new(&p, kind, &bytes);
        if (other == NULL) continue;
        status = sums_add(&p, 0, 7, a);
        if (status == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, status);
        CHECK_INT(RFM_OK, sums_add(&p, 7, 13, b));
        CHECK(rfm_sums_rows(a) == 7 && rfm_sums_rows(b) == 13);
        CHECK_INT(RFM_OK, rfm_sums_merge(c, b));
        CHECK_INT(RFM_OK, rfm_sums_merge(c, a)); /* b + a */
        memcpy(other, a, bytes);
        CHECK_INT(RFM_OK, rfm_sums_merge(other, b)); /* a + b */
        CHECK(memcmp(c, other, bytes) == 0 && rfm_sums_rows(c) == 20);
        CHECK_INT(RFM_OK, rfm_sums_subtract(c, b));
        CHECK(memcmp(c, a, bytes) == 0);
        CHECK_INT(RFM_EVALUE, rfm_sums_subtract(a, b)); /* fewer rows than are taken out */
        CHECK_INT(RFM_OK, sums_add(&p, 7, 13, c));      /* adding to what is there */
        CHECK(memcmp(c, other, bytes) == 0);
        for (i = 0; i < 100 && status == RFM_OK; i++) { /* twice as much, until the numbers have no more room */
            memcpy(other, c, bytes);
            status = rfm_sums_merge(c, other);
        }
        CHECK_INT(RFM_ERANGE, status);
        CHECK(i > 10 && memcmp(c, other, bytes) == 0);
        p.from.fail_at = p.from.calls + 1;
        CHECK_INT(RFM_EREAD, sums_add(&p, 0, 7, a));
        p.from.fail_at = 0;
        p.m.bandwidth = 3; /* another model */
        CHECK_INT(RFM_ECHANGED, rfm_sums_check(&p.m, a, bytes));
        {
            rfm_ctx ctx = plain();
            rfm_arena arena;
            RFM_ALIGNED unsigned char little[16];

            CHECK_INT(RFM_OK, rfm_arena_init(&arena, little, sizeof little));
            ctx.arena = &arena;
            CHECK_INT(RFM_ECHANGED, rfm_sums_add(&ctx, &p.rows, &p.m, a));
            CHECK_INT(RFM_ECHANGED, rfm_sums_solve(&ctx, &p.m, a, 1, p.alpha, NULL));
        }
        CHECK_INT(RFM_OK, rfm_sums_init(&p.m, kind, 4, other, bytes));
        CHECK_INT(RFM_ECHANGED, rfm_sums_merge(a, other));
        p.m.bandwidth = 2;
        CHECK_INT(RFM_OK, rfm_sums_init(&p.m, kind, 64, other, bytes)); /* other units */
        CHECK_INT(RFM_ECHANGED, rfm_sums_merge(a, other));
        memcpy(other, b, bytes);
        other->unit_k = INT32_MIN; /* units that no arithmetic takes */
        seal(other);
        CHECK_INT(RFM_ECONTENT, rfm_sums_merge(a, other));
        memcpy(other, b, bytes);
        other->unit_y = 1 << 30;
        seal(other);
        CHECK_INT(RFM_ECONTENT, rfm_sums_check(&p.m, other, bytes));
        memcpy(other, b, bytes);
        ((unsigned char *)other)[sizeof *other + 7] = 0x7f; /* the highest byte of the first number */
        seal(other);
        CHECK_INT(RFM_ECONTENT, rfm_sums_check(&p.m, other, bytes));
        CHECK_INT(RFM_ECONTENT, rfm_sums_merge(a, other));
        memcpy(other, b, bytes);
        other->order = 1; /* other pivots */
        seal(other);
        CHECK_INT(RFM_OK, rfm_sums_check(&p.m, other, bytes));
        CHECK_INT(RFM_ECHANGED, rfm_sums_merge(a, other));
        CHECK_INT(RFM_ETRUNCATED, rfm_sums_check(&p.m, a, bytes - 1));
        ((unsigned char *)other)[bytes - 3] ^= 4;
        CHECK_INT(RFM_ECHECKSUM, rfm_sums_merge(a, other));
        other->magic++;
        CHECK_INT(RFM_EMAGIC, rfm_sums_check(NULL, other, bytes));
    }
}

/* alpha from sums is alpha of a pass; AGOP from sums is rfm_agop. */
static void test_sums_solve(void) {
    rfm_solve_options o;
    rfm_solve_report report;
    rfm_ctx ctx = plain();
    rfm_arena arena;
    rfm_sums *sums;
    rfm_real alpha[2 * 6];
    size_t bytes = 0, need = 0, i, k;
    void *memory;
    problem p;
    int status;

    if (!problem_make(&p, 25, 6, 2, 2, RFM_L1)) TEST_IGNORE_MESSAGE("no room");
    rfm_solve_options_init(&o);
    o.solver = RFM_SOLVER_DIRECT, o.ridge = (rfm_real)0.01;
    status = solve(&p, &ctx, &o, NULL);
    if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, status);
    for (i = 0; i < 6; i++)
        for (k = 0; k < 2; k++) alpha[2 * i + k] = p.alpha.at[i * p.alpha.stride + k];
    sums = sums_new(&p, RFM_SUMS_SOLVE, &bytes);
    if (sums == NULL || sums_add(&p, 0, 25, sums) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_sums_solve_need(&ctx, &p.m, &need));
    memory = test_take(need);
    if (memory == NULL) TEST_IGNORE_MESSAGE("no room");
    ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need - 1));
    CHECK_INT(RFM_EARENA, rfm_sums_solve(&ctx, &p.m, sums, o.ridge, p.alpha, &report));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need));
    CHECK_INT(RFM_OK, rfm_sums_solve(&ctx, &p.m, sums, o.ridge, p.alpha, &report));
    CHECK(report.rows == 25 && report.rank == 6);
    for (i = 0; i < 6; i++)
        for (k = 0; k < 2; k++) CHECK_BELOW(fabs(model_at(p.alpha, i, k) - (double)alpha[2 * i + k]), 1e5 * TEST_EPS);
    CHECK_INT(RFM_EVALUE, rfm_sums_solve(&ctx, &p.m, sums, -1, p.alpha, NULL));
    CHECK(sums->order == 0);
    sums->order = 1; /* pivots, where this machine needs none */
    seal(sums);
    CHECK_INT(RFM_ECHANGED, rfm_sums_solve(&ctx, &p.m, sums, 1, p.alpha, NULL));
    CHECK_INT(RFM_OK, rfm_sums_init(&p.m, RFM_SUMS_SOLVE, 4, sums, bytes));
    CHECK_INT(RFM_EVALUE, rfm_sums_solve(&ctx, &p.m, sums, 1, p.alpha, NULL)); /* no rows */
}

/* A centre that is there twice needs no pivots: the later one has alpha 0. Centres that only nearly are the same do. */
static void test_order_of_centers(void) {
    int nearly;

    for (nearly = 0; nearly < 2; nearly++) {
        rfm_solve_report report;
        rfm_ctx ctx = plain();
        rfm_arena arena;
        rfm_sums *sums, *same, *empty;
        size_t bytes = 0, need = 0, j;
        void *memory;
        problem p;

        test_reset();
        if (!problem_make(&p, 25, 6, 2, 2, RFM_GAUSSIAN)) TEST_IGNORE_MESSAGE("no room");
        for (j = 0; j < 2; j++) p.centers.at[4 + j] = p.centers.at[j];
        if (nearly) p.centers.at[4] += (rfm_real)1e-6;
        if (nearly && sizeof(rfm_real) == 8) p.centers.at[4] = p.centers.at[0] + (rfm_real)1e-12;
        sums = sums_new(&p, RFM_SUMS_SOLVE, &bytes);
        if (sums == NULL || sums_add(&p, 0, 25, sums) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK((sums->order != 0) == nearly);
        CHECK_INT(RFM_OK, rfm_sums_solve_need(&ctx, &p.m, &need));
        memory = test_take(need);
        if (memory == NULL) TEST_IGNORE_MESSAGE("no room");
        ctx.arena = &arena;
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need));
        CHECK_INT(RFM_OK, rfm_sums_solve(&ctx, &p.m, sums, (rfm_real)0.01, p.alpha, &report));
        CHECK(report.rank == 5);
        for (j = 0; j < 2 && !nearly; j++) CHECK(model_at(p.alpha, 2, j) == 0);
        same = sums_new(&p, RFM_SUMS_SOLVE, &bytes), empty = sums_new(&p, RFM_SUMS_SOLVE, &bytes);
        if (same == NULL || empty == NULL) continue;
        memcpy(same, sums, bytes);
        CHECK_INT(RFM_OK, rfm_sums_subtract(sums, same)); /* nothing is left, of the pivots neither */
        CHECK(memcmp(sums, empty, bytes) == 0);
    }
}

/* ---- kernel values and gradients of many rows ------------------------------------------------ */

/* rfm_agop against rfm_gradients, around the sizes of its blocks. */
static void test_agop(void) {
    static const struct { size_t n, m, c; } sizes[] = {{1, 1, 1}, {3, 2, 2}, {14, 5, 3}, {513, 4, 1}, {30, 1030, 1}};
    size_t t, i, j, k, port;
    int kernel, full;

    for (t = 0; t < TEST_LENGTH(sizes); t++)
        for (kernel = 0; kernel < RFM_KERNELS; kernel++)
            for (full = 0; full < 2; full++)
                for (port = 0; test_port(port) != NULL; port++) {
                    const size_t n = sizes[t].n, m = sizes[t].m, c = sizes[t].c, d = 3;
                    double most = 0;
                    rfm_ctx ctx = plain();
                    rfm_arena arena;
                    rfm_mat g, sum, mean;
                    size_t bytes = 0;
                    void *memory;
                    problem p;

                    test_reset();
                    test_note("n, m, kernel", n, m, (size_t)kernel);
                    if ((n > 500 || m > 500) && (TEST_FEW || port > 1)) continue;
                    if (!problem_make(&p, n, m, d, c, kernel)) continue;
                    for (i = 0; i < m * c; i++) p.alpha.at[i] = (rfm_real)test_number(7, i, 1); /* tight from here on */
                    p.m.alpha = p.alpha.at;
                    g = test_mat(n, c * d, 0, 0), sum = test_mat(full ? d : 1, d, 1, 0), mean = test_mat(c, d, 0, 0);
                    ctx.port = test_port(port), ctx.arena = &arena;
                    CHECK_INT(RFM_OK, rfm_gradients_need(&ctx, &p.m, &bytes));
                    memory = test_take(bytes);
                    if (mean.at == NULL || memory == NULL) continue;
                    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes));
                    CHECK_INT(RFM_OK, rfm_gradients(&ctx, &p.m, rfm_const(p.from.x), g));
                    CHECK_INT(RFM_OK, rfm_agop_need(&ctx, &p.m, n, &bytes));
                    memory = test_take(bytes);
                    if (memory == NULL) continue;
                    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes - 1));
                    CHECK_INT(RFM_EARENA, rfm_agop(&ctx, &p.m, rfm_const(p.from.x), NULL, sum, mean));
                    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes));
                    CHECK_INT(RFM_OK, rfm_agop(&ctx, &p.m, rfm_const(p.from.x), NULL, sum, mean));
                    CHECK(arena.used == 0);
                    test_check_padding(sum);
                    for (i = 0; i < n * c * d; i++) most = fmax(most, fabs((double)g.at[i]));
                    for (i = 0; i < d; i++)
                        for (j = full ? i : i; j < (full ? d : i + 1); j++) {
                            double expect = 0;

                            for (k = 0; k < n * c; k++)
                                expect += (double)g.at[k * d + i] * (double)g.at[k * d + j] / (double)p.p.at[i] /
                                          (double)p.p.at[j];
                            CHECK_BELOW(fabs(expect - model_at(sum, full ? i : 0, j)),
                                        1e4 * TEST_EPS * (double)(n * c) * (most * most + TEST_EPS));
                        }
                }
}

/* ---- the whole fit --------------------------------------------------------------------------- */

static int fit(problem *p, const rfm_ctx *with, const rfm_large_options *o, rfm_model *m, rfm_large_report *report) {
    rfm_ctx ctx = *with;
    rfm_arena arena;
    size_t scratch = 0, store = 0;
    void *memory;
    int status = rfm_large_fit_need(&ctx, &p->rows, o, NULL, &scratch, &store);

    if (status != RFM_OK) return status;
    memory = test_take(scratch + store);
    if (memory == NULL) return TEST_SKIP;
    ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, scratch + store - 1));
    CHECK_INT(RFM_EARENA, rfm_large_fit(&ctx, &p->rows, o, NULL, &arena, m, report));
    CHECK(arena.used == 0);
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, scratch + store));
    status = rfm_large_fit(&ctx, &p->rows, o, NULL, &arena, m, report);
    CHECK(status == RFM_OK ? arena.used == store : arena.used == 0);
    return status;
}

/* Every kernel, metric and choice of centres; m above n; the same bits for workers. The targets are explained better
 * than by their mean. */
static void test_fit(void) {
    static const size_t centers[] = {1, 8, 70};
    size_t i, k, w, done = 0;
    int kernel, metric, choice;

    for (kernel = 0; kernel < RFM_KERNELS; kernel++)
        for (metric = RFM_IDENTITY; metric <= RFM_FULL; metric++)
            for (choice = RFM_CHOICE_RANDOM; choice <= RFM_CHOICE_RESIDUAL; choice++)
                for (i = 0; i < TEST_LENGTH(centers); i++) {
                    rfm_large_options o;
                    rfm_large_report report;
                    rfm_real kept[70];
                    problem p;
                    int status = RFM_OK;

                    if (kernel == RFM_L1 && metric == RFM_FULL) continue; /* rfm_fit refuses it */
                    if (TEST_FEW && (size_t)(kernel + metric + choice) % 3 != i) continue;
                    for (w = 0; w < 2; w++) {
                        test_pool pool;
                        rfm_ctx ctx = plain();
                        rfm_model m;

                        test_reset();
                        test_note("kernel, metric, m", (size_t)kernel, (size_t)metric, centers[i]);
                        if (!problem_make(&p, 60, 1, 3, 1, kernel)) break;
                        rfm_large_options_init(&o);
                        o.fit.kernel = kernel, o.fit.metric = metric, o.fit.iterations = 1, o.fit.bandwidth = 2;
                        o.fit.ridge = (rfm_real)0.01, o.centers = centers[i], o.sample = 20, o.choice = choice;
                        o.rounds = 1, o.fit.center = (int)(i % 2), o.fit.bandwidth_rule = (int)((i + 1) % 2);
                        o.fit.scale = (int)i;
                        pool.workers = 7, pool.reverse = 1;
                        if (w == 1) ctx.workers = 7, ctx.run = test_pool_run, ctx.pool = &pool;
                        status = fit(&p, &ctx, &o, &m, &report);
                        if (status == TEST_SKIP) break;
                        CHECK_INT(RFM_OK, status);
                        CHECK_SIZE(centers[i] < 60 ? centers[i] : 60, m.n);
                        CHECK(report.centers == m.n && report.solve.rank <= m.n && rfm_finite(m.n, m.alpha));
                        CHECK(report.round == (metric == RFM_IDENTITY ? 0 : 2));
                        for (k = 0; k < m.n; k++) {
                            if (w == 0) kept[k] = m.alpha[k];
                            CHECK(m.alpha[k] == kept[k]);
                        }
                        done++;
                    }
                }
    CHECK(done > 0 || TEST_RAM < 65536);
}

/* Fewer rows than inputs: the rank of M is known only after the sample's fit, and every rank has room. */
static void test_fit_low_rank(void) {
    size_t d, rounds, done = 0;

    for (d = 2; d <= 80; d += d < 60 ? 5 : 1)
        for (rounds = 0; rounds < 2; rounds++) {
            rfm_large_options o;
            rfm_large_report report;
            rfm_ctx ctx = plain();
            rfm_model m;
            problem p;
            int status;

            test_reset();
            test_note("inputs, rounds", d, rounds, 0);
            if (!problem_make(&p, 9, 1, d, 12, RFM_GAUSSIAN)) break;
            rfm_large_options_init(&o);
            o.fit.kernel = RFM_GAUSSIAN, o.fit.metric = RFM_FULL, o.fit.iterations = 1, o.fit.bandwidth = 8;
            o.fit.ridge = (rfm_real)0.1, o.centers = o.sample = 8, o.rounds = rounds;
            status = fit(&p, &ctx, &o, &m, &report);
            if (status == TEST_SKIP) break;
            CHECK_INT(RFM_OK, status);
            CHECK(m.r <= d && (d < 20 || m.r < d) && rfm_finite(m.n * m.c, m.alpha));
            done++;
        }
    CHECK(done > 0 || TEST_RAM < 65536);
}

/* With one centre for every row of the sample, and all rows in it, it is rfm_fit: 2 updates of M, `rounds` of them by
 * the model of the centres. Targets are multiplied by 2^exponent. 0: no room. */
static int fit_is_exact(size_t rounds, int metric, int exponent) {
    rfm_large_options o;
    rfm_large_report report;
    rfm_ctx ctx = plain();
    rfm_arena arena;
    rfm_data data;
    rfm_model m, exact;
    rfm_mat y, z;
    problem p;
    size_t scratch = 0, store = 0, bytes = 0, i;
    void *memory;
    int status;

    if (!problem_make(&p, 24, 1, 2, 2, RFM_LAPLACE)) return 0;
    for (i = 0; i < 48; i++) {
        rfm_real *at = p.from.y.at + i / 2 * p.from.y.stride + i % 2;
        *at = (rfm_real)ldexp((double)*at, exponent);
    }
    rfm_large_options_init(&o);
    o.fit.iterations = 2 - rounds, o.rounds = rounds, o.fit.metric = metric, o.agop_rows = 0;
    o.fit.bandwidth = 2, o.fit.ridge = (rfm_real)0.1, o.centers = 24;
    status = fit(&p, &ctx, &o, &m, &report);
    if (status == TEST_SKIP) return 0;
    CHECK_INT(RFM_OK, status);
    CHECK_SIZE(2, report.round);
    o.fit.iterations = 2;
    memset(&data, 0, sizeof data);
    data.x = rfm_const(p.from.x), data.y = rfm_const(p.from.y);
    CHECK_INT(RFM_OK, rfm_fit_need(&ctx, &data, &o.fit, &scratch, &store));
    memory = test_take(scratch + store);
    y = test_mat(24, 2, 0, 0), z = test_mat(24, 2, 0, 0);
    if (memory == NULL || z.at == NULL) return 0;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, scratch + store));
    ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_fit(&ctx, &data, &o.fit, &arena, &exact, NULL));
    CHECK_INT(RFM_OK, rfm_predict_need(&ctx, &m, 24, &bytes));
    memory = test_take(bytes);
    if (memory == NULL) return 0;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes));
    CHECK_INT(RFM_OK, rfm_predict(&ctx, &m, rfm_const(p.from.x), y));
    CHECK_INT(RFM_OK, rfm_predict(&ctx, &exact, rfm_const(p.from.x), z));
    for (i = 0; i < 48; i++) {
        y.at[i / 2 * y.stride + i % 2] = (rfm_real)ldexp((double)y.at[i / 2 * y.stride + i % 2], -exponent);
        z.at[i / 2 * z.stride + i % 2] = (rfm_real)ldexp((double)z.at[i / 2 * z.stride + i % 2], -exponent);
    }
    CHECK_CLOSE(y, z, 2000);
    return 1;
}

static void test_fit_is_exact(void) {
    size_t rounds;
    int metric;
    for (rounds = 0; rounds <= 2; rounds++)
        for (metric = RFM_DIAGONAL; metric <= RFM_FULL; metric++) {
            test_reset();
            test_note("rounds, metric", rounds, (size_t)metric, 0);
            if (!fit_is_exact(rounds, metric, 0)) TEST_IGNORE_MESSAGE("no room");
            test_reset();
            if (!fit_is_exact(rounds, metric, RFM_REAL_BYTES == 4 ? -70 : -530)) TEST_IGNORE_MESSAGE("no room");
        }
}

static void test_fit_refuses(void) {
    rfm_large_options o;
    rfm_large_report report;
    rfm_ctx ctx = plain();
    rfm_model m;
    problem p;
    size_t calls, i, mark, turn;
    int status;

    if (!problem_make(&p, 30, 1, 2, 1, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
    rfm_large_options_init(&o);
    o.centers = 8, o.rounds = 1, o.fit.iterations = 1;
    mark = test_mark();
    for (turn = 0; turn < 2; turn++) {
        o.choice = turn == 0 ? RFM_CHOICE_RANDOM : RFM_CHOICE_RESIDUAL;
        test_rewind(mark);
        p.from.calls = 0;
        status = fit(&p, &ctx, &o, &m, &report);
        if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_INT(RFM_OK, status);
        calls = p.from.calls;
        for (i = 1; i <= calls; i++) {
            test_rewind(mark);
            p.from.calls = p.from.passes = 0, p.from.fail_at = i;
            CHECK_INT(RFM_EREAD, fit(&p, &ctx, &o, &m, &report));
            test_rewind(mark);
            p.from.fail_at = 0, p.from.passes = 0, p.from.changed_at = i > 1 ? i : 0;
            CHECK_INT(i > 1 ? RFM_ECHANGED : RFM_OK, fit(&p, &ctx, &o, &m, &report));
            p.from.changed_at = 0;
        }
    }
    test_rewind(mark);
    p.from.passes = 0, p.from.poisoned_at = 1;
    CHECK_INT(RFM_EFINITE, fit(&p, &ctx, &o, &m, &report));
    CHECK(report.row == 0 && report.col == 1);
    p.from.poisoned_at = 0, p.from.passes = 0;
    o.centers = 0;
    CHECK_INT(RFM_EVALUE, fit(&p, &ctx, &o, &m, &report));
    o.centers = 8, o.choice = 4;
    CHECK_INT(RFM_EVALUE, fit(&p, &ctx, &o, &m, &report));
    o.choice = 0, o.fit.ridge = -1;
    CHECK_INT(RFM_EVALUE, fit(&p, &ctx, &o, &m, &report));
    o.fit.ridge = (rfm_real)0.01;
    for (i = 0; i < 4; i++) {
        const rfm_real bad[] = {0, 5, (rfm_real)NAN, 2};

        o.power = bad[i], o.fit.metric = i < 3 ? RFM_DIAGONAL : RFM_FULL;
        CHECK_INT(RFM_EVALUE, fit(&p, &ctx, &o, &m, &report));
    }
}

/* A power of the metric: weights that are small beside the largest become smaller still, by that power. */
static void test_power(void) {
    rfm_real weights[3];
    size_t j, power, turn;

    for (turn = 0; turn < 4; turn++) {
        rfm_large_options o;
        rfm_large_report report;
        rfm_ctx ctx = plain();
        rfm_model m;
        problem p;
        double most = 0;
        int status;

        power = 1 + turn % 2;
        test_reset();
        if (!problem_make(&p, 40, 1, 3, 1, RFM_L1)) TEST_IGNORE_MESSAGE("no room");
        rfm_large_options_init(&o);
        o.fit.kernel = RFM_L1, o.fit.metric = RFM_DIAGONAL, o.fit.iterations = 1, o.fit.bandwidth = 2;
        o.fit.ridge = (rfm_real)0.01, o.centers = 12, o.rounds = turn / 2, o.power = (rfm_real)power;
        status = fit(&p, &ctx, &o, &m, &report);
        if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_INT(RFM_OK, status);
        if (power == 1) memcpy(weights, m.p, sizeof weights);
        for (j = 0; j < 3; j++) most = fmax(most, (double)weights[j]);
        for (j = 0; j < 3; j++)
            CHECK_BELOW(fabs((double)m.p[j] - most * pow((double)weights[j] / most, (double)power)),
                        10 * TEST_EPS * most);
        CHECK(weights[0] != weights[1]);
    }
}

/* Rows with a step: centres that residuals choose are near to it, and no row without weight is among them. */
static void test_residual_centers(void) {
    const size_t n = 700;
    rfm_real *weights;
    rfm_large_options o;
    rfm_large_report report;
    rfm_ctx ctx = plain();
    rfm_model m;
    problem p;
    size_t i, at_step = 0;
    int status;

    weights = test_take(n * sizeof *weights);
    if (weights == NULL || !problem_make(&p, n, 1, 1, 1, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < n; i++) { /* 0 to 1 in another order; a tenth of the rows is less than 0.05 from the step */
        const double x = (double)(i * 271 % n) / (double)n;

        p.from.x.at[i * p.from.x.stride] = (rfm_real)x, p.from.y.at[i * p.from.y.stride] = x > 0.4 ? 1 : -1;
        weights[i] = x < 0.4 ? (rfm_real)0.5 : x < 0.42 ? 0 : 2;
    }
    p.from.weights = weights, p.rows.weighted = 1;
    rfm_large_options_init(&o);
    o.fit.iterations = 0, o.fit.bandwidth = 1, o.fit.ridge = (rfm_real)0.01, o.fit.metric = RFM_IDENTITY;
    o.centers = 40, o.choice = RFM_CHOICE_RESIDUAL;
    status = fit(&p, &ctx, &o, &m, &report);
    if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, status);
    CHECK_SIZE(40, m.n);
    for (i = 0; i < m.n; i++) {
        const double x = (double)m.centers[i] + (double)m.shift[0];

        at_step += fabs(x - 0.4) < 0.05;
        CHECK(!(x > 0.4 + 1e-5 && x < 0.42 - 1e-5));
    }
    CHECK(at_step >= 15);
}

/* The first block of rows is far from all that is learnt: its gradients are far below those of the others. */
static void test_far_rows(void) {
    const size_t n = 1000, far = 520;
    rfm_large_options o;
    rfm_large_report report;
    rfm_ctx ctx = plain();
    rfm_model m;
    problem p;
    size_t i;
    int status;

    if (!problem_make(&p, n, 1, 2, 1, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < n; i++) {
        rfm_real *x = p.from.x.at + i * p.from.x.stride, *y = p.from.y.at + i * p.from.y.stride;
        *y = i < far ? 0 : (rfm_real)sin(3 * (double)x[0]);
        if (i < far) x[0] += 40;
    }
    rfm_large_options_init(&o);
    o.fit.kernel = RFM_LAPLACE, o.fit.metric = RFM_DIAGONAL, o.fit.iterations = 0, o.fit.bandwidth = 1;
    o.fit.ridge = (rfm_real)0.01, o.centers = o.sample = 60, o.rounds = 1;
    status = fit(&p, &ctx, &o, &m, &report);
    if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, status);
    CHECK(m.p[0] > 2 * m.p[1]); /* y depends on the first input */
}

/* Fewer rows with weight than the sample has places: they are all of it, and a tick can end the work. */
static void test_few_weights(void) {
    rfm_real weights[30] = {0}, last = 0;
    rfm_large_options o;
    rfm_large_report report;
    rfm_ctx ctx = plain();
    rfm_model m;
    problem p;
    size_t mark;
    int status;

    if (TEST_RAM < 8192 || !problem_make(&p, 30, 1, 2, 1, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
    weights[3] = weights[11] = weights[12] = weights[29] = 1;
    p.from.weights = weights, p.rows.weighted = 1;
    rfm_large_options_init(&o);
    o.centers = 8, o.fit.iterations = 1, o.fit.ridge = (rfm_real)1e-3;
    mark = test_mark();
    status = fit(&p, &ctx, &o, &m, &report);
    if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, status);
    test_rewind(mark);
    p.from.passes = 0;
    ctx.tick = tick, ctx.tick_arg = &last, ticks_left = 2;
    CHECK_INT(RFM_ECANCEL, fit(&p, &ctx, &o, &m, &report));
}

/* Weights of any size: a ridge that is as much larger or smaller gives the same alpha, by both solvers. Their sums are
 * beyond what fixed-point numbers hold, and below their last digit. */
static void test_sizes_of_weights(void) {
    static const int sizes[] = {0, 40, -40};
    rfm_real weights[30], first[8];
    size_t turn, i;
    int solver;

    for (solver = RFM_SOLVER_DIRECT; solver <= RFM_SOLVER_CONJUGATE; solver++)
        for (turn = 0; turn < 3; turn++) {
            const double size = ldexp(1, sizes[turn]);
            rfm_solve_options s;
            rfm_solve_report solved;
            rfm_large_options o;
            rfm_large_report report;
            rfm_ctx ctx = plain();
            rfm_model m;
            problem p;
            int status;

            test_reset();
            test_note("solver, turn:", (size_t)solver, turn, 0);
            if (!problem_make(&p, 30, 4, 2, 2, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
            for (i = 0; i < 30; i++) weights[i] = (rfm_real)((1 + (double)(i % 3)) * size);
            p.from.weights = weights, p.rows.weighted = 1;
            rfm_solve_options_init(&s);
            s.solver = solver, s.ridge = (rfm_real)(0.01 * size);
            status = solve(&p, &ctx, &s, &solved);
            if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            CHECK_INT(RFM_OK, status);
            CHECK_BELOW(fabs((double)solved.ridge / size - 0.01), 1e-6);
            for (i = 0; i < 8; i++) {
                const rfm_real alpha = p.alpha.at[i / 2 * p.alpha.stride + i % 2];
                if (turn == 0) first[i] = alpha;
                CHECK_BELOW(fabs((double)alpha - (double)first[i]), 1e-4 * (1 + fabs((double)first[i])));
            }
            if (TEST_RAM < 8192) continue;
            rfm_large_options_init(&o);
            o.centers = 4, o.rounds = 1, o.fit.iterations = 1, o.fit.ridge = s.ridge, o.solve.solver = solver;
            status = fit(&p, &ctx, &o, &m, &report);
            CHECK(status == RFM_OK || status == TEST_SKIP);
        }
}

/* An output that only a far row has: alpha = phi / (1 + phi^2 + ridge) with the digits of a fixed-point number, of
 * either sign, though the other output is of the size of 1. */
static void test_small_outputs(void) {
    const double t = RFM_REAL_BYTES == 8 ? 29 : 9, unit = RFM_REAL_BYTES == 8 ? 0x1p-64 : 0x1p-32;
    const double right = exp(-t) / (1.5 + exp(-2 * t));
    rfm_solve_options s;
    rfm_solve_report solved;
    rfm_ctx ctx = plain();
    problem p;
    size_t k;
    int status;

    if (!problem_make(&p, 2, 1, 1, 3, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
    p.centers.at[0] = 0, p.p.at[0] = 1;
    p.from.x.at[0] = p.shift.at[0], p.from.x.at[p.from.x.stride] = p.shift.at[0] + (rfm_real)(t * 2); /* L is 2 */
    for (k = 0; k < 3; k++)
        p.from.y.at[k] = k == 0, p.from.y.at[p.from.y.stride + k] = k == 0 ? 0 : k == 1 ? 1 : (rfm_real)-1;
    rfm_solve_options_init(&s);
    s.solver = RFM_SOLVER_DIRECT, s.ridge = (rfm_real)0.5;
    status = solve(&p, &ctx, &s, &solved);
    if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, status);
    for (k = 1; k < 3; k++)
        CHECK_BELOW(fabs((double)p.alpha.at[k] / (k == 1 ? right : -right) - 1), 100 * TEST_EPS + 4 * unit / exp(-t));
}

/* An output that is a power of two times another has alpha that is as much larger or smaller, bit for bit, however far
 * apart they are; one that is 0 has 0. So it is with an offset, and where only rows of little weight have an output. */
static void test_unlike_outputs(void) {
    static const int apart[] = {4, 20, 36, 90, -36};
    rfm_real weights[40], offset[3] = {0};
    size_t turn, i;
    int solver;

    for (solver = RFM_SOLVER_DIRECT; solver <= RFM_SOLVER_CONJUGATE; solver++)
        for (turn = 0; turn < 15; turn++) {
            const int e = apart[turn % 5], with = (int)turn / 5; /* 1: an offset, 2: weights */
            rfm_solve_options o;
            rfm_ctx ctx = plain();
            problem p;
            int status;

            test_reset();
            test_note("solver, turn:", (size_t)solver, turn, 0);
            if (!problem_make(&p, 40, 5, 2, 3, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
            offset[0] = (rfm_real)0.25, offset[1] = (rfm_real)ldexp(0.25, -e);
            for (i = 0; i < 40; i++) {
                rfm_real *y = p.from.y.at + i * p.from.y.stride;

                weights[i] = i % 4 == 0 ? (rfm_real)0x1p-20 : (rfm_real)1;
                if (with == 2 && i % 4 != 0) y[0] = 0;
                y[1] = (rfm_real)ldexp((double)y[0], -e), y[2] = with == 2 ? 1 : 0;
            }
            if (with == 1) p.m.offset = offset;
            if (with == 2) p.from.weights = weights, p.rows.weighted = 1;
            rfm_solve_options_init(&o);
            o.solver = solver;
            status = solve(&p, &ctx, &o, NULL);
            if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            CHECK_INT(RFM_OK, status);
            for (i = 0; i < 5; i++) {
                const rfm_real *alpha = p.alpha.at + i * p.alpha.stride;

                CHECK(fabs((double)alpha[0]) > 0);
                CHECK(fabs(ldexp((double)alpha[1], e) - (double)alpha[0]) <= 0);
                CHECK(with == 2 || !(fabs((double)alpha[2]) > 0));
            }
        }
}

/* Sums have one unit for all outputs. They are solved as long as all outputs have digits in it; one that is 0, or what
 * rounding makes of its offset, has alpha near 0. */
static void test_unlike_outputs_of_sums(void) {
    static const int apart[] = {0, 6, RFM_REAL_BYTES == 8 ? 40 : 24, 70};
    rfm_real offset[2] = {0};
    size_t turn, i;

    for (turn = 0; turn < 6; turn++) { /* 4: an output is 0, 5: and its offset is not */
        const int refused = turn == 2 || turn == 3;
        rfm_solve_options o;
        rfm_ctx ctx = plain();
        rfm_arena arena;
        rfm_sums *sums;
        rfm_real alpha[2 * 5];
        size_t bytes = 0, need = 0;
        void *memory;
        problem p;
        int status;

        test_reset();
        test_note("turn:", turn, 0, 0);
        if (!problem_make(&p, 30, 5, 2, 2, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
        offset[1] = turn == 5 ? (rfm_real)0.1 : 0;
        for (i = 0; i < 30; i++) {
            rfm_real *y = p.from.y.at + i * p.from.y.stride;

            y[1] = turn < 4 ? (rfm_real)ldexp((double)y[0], -apart[turn])
                            : offset[1] + offset[1] * (rfm_real)(TEST_EPS / 2);
        }
        p.m.offset = turn == 5 ? offset : NULL;
        rfm_solve_options_init(&o);
        o.solver = RFM_SOLVER_DIRECT, o.ridge = (rfm_real)0.01;
        status = solve(&p, &ctx, &o, NULL);
        if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_INT(RFM_OK, status);
        for (i = 0; i < 10; i++) alpha[i] = p.alpha.at[i / 2 * p.alpha.stride + i % 2];
        sums = sums_new(&p, RFM_SUMS_SOLVE, &bytes);
        if (sums == NULL) TEST_IGNORE_MESSAGE("no room");
        for (i = 0; i < 30; i += 10) /* in parts */
            if ((status = sums_add(&p, i, 10, sums)) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_INT(RFM_OK, status);
        CHECK_INT(RFM_OK, rfm_sums_solve_need(&ctx, &p.m, &need));
        memory = test_take(need);
        if (memory == NULL) TEST_IGNORE_MESSAGE("no room");
        ctx.arena = &arena;
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need - 1));
        CHECK_INT(RFM_EARENA, rfm_sums_solve(&ctx, &p.m, sums, o.ridge, p.alpha, NULL));
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need));
        for (i = 0; i < 10; i++) p.alpha.at[i / 2 * p.alpha.stride + i % 2] = 7;
        CHECK_INT(refused ? RFM_ERANGE : RFM_OK, rfm_sums_solve(&ctx, &p.m, sums, o.ridge, p.alpha, NULL));
        CHECK(arena.used == 0);
        for (i = 0; i < 10; i++) {
            const double found = model_at(p.alpha, i / 2, i % 2), right = refused ? 7 : (double)alpha[i];

            CHECK_BELOW(fabs(found - right), 1e5 * TEST_EPS);
        }
    }
}

/* What is done never falls where one part ends and the next begins, however their shares are rounded. */
static void test_fit_ticks(void) {
    rfm_large_options o;
    rfm_large_report report;
    rfm_ctx ctx = plain();
    rfm_model m;
    problem p;
    const size_t mark = test_mark();
    size_t n;

    if (TEST_RAM < 32768) TEST_IGNORE_MESSAGE("no stack for a fit");
    for (n = 3; n <= 40; n++) {
        rfm_real last = 0;

        test_rewind(mark);
        if (!problem_make(&p, n, 1, 2, 1, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
        rfm_large_options_init(&o);
        o.centers = 1 + n / 2, o.sample = n - n / 3, o.choice = (int)(n * 3 % 4), o.rounds = n % 4, o.agop_rows = n / 2;
        o.fit.iterations = 1 + n % 2, o.fit.ridge = (rfm_real)0.1;
        ctx.tick = tick, ctx.tick_arg = &last, ticks_left = 100000;
        if (fit(&p, &ctx, &o, &m, &report) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK(last == 1);
    }
}

/* K of rows and centres, and its transpose; a centre of zeros has no angle: 0. */
static void test_kernel_values(void) {
    rfm_ctx ctx = plain();
    rfm_arena arena;
    rfm_mat k, t;
    problem p;
    size_t bytes = 0, i, j;
    void *memory;

    if (!problem_make(&p, 7, 3, 2, 1, RFM_NTK)) TEST_IGNORE_MESSAGE("no room");
    k = test_mat(7, 3, 0, 0), t = test_mat(3, 7, 0, 0);
    for (j = 0; j < p.m.r; j++) p.centers.at[p.centers.stride + j] = 0;
    CHECK_INT(RFM_OK, rfm_kernel_values_need(&ctx, &p.m, 7, &bytes));
    memory = test_take(bytes);
    if (memory == NULL) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes));
    ctx.arena = &arena;
    CHECK_INT(RFM_ESHAPE, rfm_kernel_values(&ctx, &p.m, rfm_const(p.from.x), RFM_NN, t));
    CHECK_INT(RFM_EVALUE, rfm_kernel_values(&ctx, &p.m, rfm_const(p.from.x), RFM_NT, k));
    CHECK_INT(RFM_OK, rfm_kernel_values(&ctx, &p.m, rfm_const(p.from.x), RFM_NN, k));
    CHECK_INT(RFM_OK, rfm_kernel_values(&ctx, &p.m, rfm_const(p.from.x), RFM_TN, t));
    for (i = 0; i < 7; i++)
        for (j = 0; j < 3; j++) {
            CHECK_BELOW(fabs(model_at(k, i, j) - model_at(t, j, i)), 100 * TEST_EPS * (1 + fabs(model_at(k, i, j))));
            CHECK((model_at(k, i, j) == 0) == (j == 1));
        }
}

static void test_sums_too_large(void) {
    const rfm_ctx ctx = plain();
    size_t bytes = 7, i;
    problem p;

    if (!problem_make(&p, 4, 2, 1, 1, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
    p.m.n = 46341;
    CHECK_INT(RFM_EOVERFLOW, rfm_sums_size(&p.m, RFM_SUMS_SOLVE, &bytes));
    p.m.n = 7;
    for (i = 0; i < 12; i++) { /* what is added to c has no room either */
        p.m.c = SIZE_MAX - i;
        CHECK_INT(RFM_EOVERFLOW, rfm_sums_size(&p.m, RFM_SUMS_SOLVE, &bytes));
        CHECK_INT(RFM_EOVERFLOW, rfm_sums_size(&p.m, RFM_SUMS_AGOP, &bytes));
    }
    p.m.c = 1, p.m.metric = RFM_FULL, p.m.r = SIZE_MAX;
    CHECK_INT(RFM_EOVERFLOW, rfm_agop_need(&ctx, &p.m, 1, &bytes));
    CHECK_SIZE(7, bytes);
}

/* ---- EigenPro --------------------------------------------------------------------------------- */

/* It comes to what the direct solution does on rows that neither has seen. */
static void test_eigenpro(void) {
    enum { N = 160, V = 80 };
    static const size_t directions[] = {0, 1, 20};
    rfm_solve_options so;
    rfm_ctx ctx = plain();
    rfm_arena arena;
    rfm_mat predicted, alpha, x_test, y_test;
    rfm_data data;
    problem p;
    double direct = 0, variance = 0;
    size_t bytes = 0, i, t;
    void *memory;

    if (!problem_make(&p, N, N, 2, 1, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
    x_test = test_mat(V, 2, 0, 0), y_test = test_mat(V, 1, 0, 0), predicted = test_mat(V, 1, 0, 0);
    alpha = test_mat(N, 1, 0, 0);
    if (alpha.at == NULL) TEST_IGNORE_MESSAGE("no room");
    model_fill(x_test, 5);
    model_targets(x_test, y_test);
    rfm_solve_options_init(&so);
    so.ridge = (rfm_real)1e-4;
    p.alpha = alpha;
    if (solve(&p, &ctx, &so, NULL) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    p.m.alpha = alpha.at;
    CHECK_INT(RFM_OK, rfm_predict_need(&ctx, &p.m, V, &bytes));
    memory = test_take(bytes);
    if (memory == NULL) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes));
    ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_predict(&ctx, &p.m, rfm_const(x_test), predicted));
    for (i = 0; i < V; i++) {
        direct += pow(model_at(predicted, i, 0) - model_at(y_test, i, 0), 2) / V;
        variance += pow(model_at(y_test, i, 0), 2) / V;
    }
    CHECK_BELOW(direct, 0.1 * variance);
    memset(&data, 0, sizeof data);
    data.x = rfm_const(p.from.x), data.y = rfm_const(p.from.y);
    data.x_validation = rfm_const(x_test), data.y_validation = rfm_const(y_test);
    for (t = 0; t < TEST_LENGTH(directions); t++) {
        const size_t mark = test_mark();
        rfm_eigenpro_options o;
        rfm_eigenpro_report report;

        test_note("directions", directions[t], 0, 0);
        rfm_eigenpro_options_init(&o);
        o.subsample = 80, o.directions = directions[t], o.epochs = 400, o.batch = 40;
        CHECK_INT(RFM_OK, rfm_eigenpro_need(&ctx, &data, &p.m, &o, &bytes));
        memory = test_take(bytes);
        if (memory == NULL) break;
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes - 1));
        CHECK_INT(RFM_EARENA, rfm_eigenpro(&ctx, &data, &p.m, &o, alpha, &report));
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes));
        CHECK_INT(RFM_OK, rfm_eigenpro(&ctx, &data, &p.m, &o, alpha, &report));
        CHECK(arena.used == 0 && report.best > 0 && report.best <= report.epochs && report.batch > 0);
        CHECK(directions[t] == 0 || report.directions == directions[t]);
        CHECK_BELOW((double)report.score, (directions[t] == 1 ? 3 : 1.3) * direct);
        o.directions = 0, o.subsample = 2, o.epochs = 3, data.x_validation.at = NULL, data.y_validation.at = NULL;
        if (t == 0) CHECK_INT(RFM_ECONVERGE, rfm_eigenpro(&ctx, &data, &p.m, &o, alpha, NULL)); /* too small */
        o.subsample = 80, data.x_validation = rfm_const(x_test), data.y_validation = rfm_const(y_test);
        o.directions = 80;
        CHECK_INT(RFM_EVALUE, rfm_eigenpro(&ctx, &data, &p.m, &o, alpha, &report));
        o.directions = 1, o.epochs = 0;
        CHECK_INT(RFM_EVALUE, rfm_eigenpro(&ctx, &data, &p.m, &o, alpha, &report));
        o.epochs = 1, data.x.rows--;
        CHECK_INT(RFM_ESHAPE, rfm_eigenpro(&ctx, &data, &p.m, &o, alpha, &report));
        data.x.rows++, data.y_validation.rows--;
        CHECK_INT(RFM_ESHAPE, rfm_eigenpro(&ctx, &data, &p.m, &o, alpha, &report));
        data.y_validation.rows++;
        test_rewind(mark);
    }
}

/* A subsample that is too small: it diverges, until scores or alpha are beyond the range, whichever is first. */
static void test_eigenpro_diverges(void) {
    size_t n, width, diverged = 0;

    for (n = 4; n < 10; n++)
        for (width = 2; width < 256; width *= 2) {
            rfm_ctx ctx = plain();
            rfm_arena arena;
            rfm_mat alpha;
            rfm_eigenpro_options o;
            rfm_data data;
            problem p;
            size_t bytes = 0;
            void *memory;

            test_reset();
            test_note("rows, width", n, width, 0);
            if (!problem_make(&p, n, n, 6, 1, RFM_GAUSSIAN)) TEST_IGNORE_MESSAGE("no room");
            alpha = test_mat(n, 1, 0, 0);
            if (alpha.at == NULL) TEST_IGNORE_MESSAGE("no room");
            p.m.bandwidth = (rfm_real)width;
            memset(&data, 0, sizeof data);
            data.x = rfm_const(p.from.x), data.y = rfm_const(p.from.y);
            rfm_eigenpro_options_init(&o);
            o.subsample = 2;
            CHECK_INT(RFM_OK, rfm_eigenpro_need(&ctx, &data, &p.m, &o, &bytes));
            memory = test_take(bytes);
            if (memory == NULL) TEST_IGNORE_MESSAGE("no room");
            CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes));
            ctx.arena = &arena;
            for (o.epochs = 1; o.epochs < 1000; o.epochs *= 6) {
                const int status = rfm_eigenpro(&ctx, &data, &p.m, &o, alpha, NULL);
                CHECK(status == RFM_OK || status == RFM_ECONVERGE);
                diverged += status != RFM_OK;
            }
        }
    CHECK(diverged > 0);
}

/* The choice of the epoch does not depend on the unit of the targets; a score beyond the range is no success. */
static void test_eigenpro_units(void) {
    enum { N = 60, V = 30 };
    static const int powers[] = {0, -6, 3, 5}; /* eighths of the range */
    rfm_ctx ctx = plain();
    rfm_arena arena;
    rfm_mat alpha, x_test, y_test;
    rfm_eigenpro_options o;
    rfm_eigenpro_report report, first;
    rfm_data data;
    problem p;
    size_t bytes = 0, i, t;
    void *memory;

    if (!problem_make(&p, N, N, 2, 1, RFM_LAPLACE)) TEST_IGNORE_MESSAGE("no room");
    x_test = test_mat(V, 2, 0, 0), y_test = test_mat(V, 1, 0, 0), alpha = test_mat(N, 1, 0, 0);
    if (alpha.at == NULL) TEST_IGNORE_MESSAGE("no room");
    model_fill(x_test, 5);
    model_targets(x_test, y_test);
    memset(&data, 0, sizeof data);
    memset(&first, 0, sizeof first);
    data.x = rfm_const(p.from.x), data.y = rfm_const(p.from.y);
    data.x_validation = rfm_const(x_test), data.y_validation = rfm_const(y_test);
    rfm_eigenpro_options_init(&o);
    o.subsample = 40, o.epochs = 30, o.batch = 20;
    CHECK_INT(RFM_OK, rfm_eigenpro_need(&ctx, &data, &p.m, &o, &bytes));
    memory = test_take(bytes);
    if (memory == NULL) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes));
    ctx.arena = &arena;
    for (t = 0; t < TEST_LENGTH(powers); t++) {
        const rfm_real unit = (rfm_real)ldexp(1, powers[t] * RFM_LIMIT(MAX_EXP) / 8);
        const double square = (double)unit * (double)unit;

        test_note("unit", t, 0, 0);
        for (i = 0; i < N; i++) p.from.y.at[i * p.from.y.stride] *= unit;
        for (i = 0; i < V; i++) y_test.at[i * y_test.stride] *= unit;
        CHECK_INT(t < 3 ? RFM_OK : RFM_ERANGE, rfm_eigenpro(&ctx, &data, &p.m, &o, alpha, &report));
        if (t == 0) first = report;
        if (t < 3) CHECK_INT(first.best, report.best);
        if (t == 2) CHECK_BELOW(fabs((double)report.score / square / (double)first.score - 1), 1e-4);
        for (i = 0; i < N; i++) p.from.y.at[i * p.from.y.stride] /= unit;
        for (i = 0; i < V; i++) y_test.at[i * y_test.stride] /= unit;
    }
    y_test.at[0] = RFM_LIMIT(MAX);
    y_test.at[0] *= 2;
    CHECK_INT(RFM_EFINITE, rfm_eigenpro(&ctx, &data, &p.m, &o, alpha, &report));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_shapes);
    RUN_TEST(test_is_fit);
    RUN_TEST(test_workers_and_weights);
    RUN_TEST(test_equal_rows);
    RUN_TEST(test_no_kernel);
    RUN_TEST(test_bad_rows);
    RUN_TEST(test_merge);
    RUN_TEST(test_sums_solve);
    RUN_TEST(test_order_of_centers);
    RUN_TEST(test_agop);
    RUN_TEST(test_fit);
    RUN_TEST(test_fit_low_rank);
    RUN_TEST(test_fit_is_exact);
    RUN_TEST(test_fit_refuses);
    RUN_TEST(test_power);
    RUN_TEST(test_residual_centers);
    RUN_TEST(test_far_rows);
    RUN_TEST(test_few_weights);
    RUN_TEST(test_sizes_of_weights);
    RUN_TEST(test_small_outputs);
    RUN_TEST(test_unlike_outputs);
    RUN_TEST(test_unlike_outputs_of_sums);
    RUN_TEST(test_fit_ticks);
    RUN_TEST(test_kernel_values);
    RUN_TEST(test_sums_too_large);
    RUN_TEST(test_eigenpro);
    RUN_TEST(test_eigenpro_diverges);
    RUN_TEST(test_eigenpro_units);
    return UNITY_END();
}

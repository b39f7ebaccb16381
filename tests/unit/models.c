/* See models.h. */
#include "models.h"

/* The references are in double, which most microcontrollers compute in software. */
#ifdef BOARD_BARE
#define MODEL_N_MAX 20
#else
#define MODEL_N_MAX TEST_N_MAX
#endif

int model_size(size_t index, model_shape *shape) {
    static const model_shape shapes[] = {{4, 2, 1},  {5, 2, 2},  {6, 3, 2},  {9, 3, 1},
                                         {17, 5, 3}, {33, 4, 2}, {70, 9, 1}, {129, 6, 4}};

    if (index >= TEST_LENGTH(shapes) || shapes[index].n > MODEL_N_MAX) return 0;
    *shape = shapes[index];
    return 1;
}

double model_at(rfm_mat a, size_t i, size_t j) { return (double)a.at[i * a.stride + j]; }

void model_fill(rfm_mat x, uint32_t stream) {
    size_t i, j;

    /* Multiples of 1/256: they stay exact floats when 10000 is added. */
    for (i = 0; i < x.rows; i++)
        for (j = 0; j < x.cols; j++) x.at[i * x.stride + j] = (rfm_real)(floor(test_number(stream, i, j) * 512) / 256);
}

void model_targets(rfm_mat x, rfm_mat y) {
    size_t i, k;

    for (i = 0; i < x.rows; i++)
        for (k = 0; k < y.cols; k++)
            y.at[i * y.stride + k] = (rfm_real)(model_at(x, i, 0) * model_at(x, i, 1 % x.cols) + 0.25 +
                                                (double)(k + 1) / 4 * model_at(x, i, (k + 1) % x.cols));
}

int model_make(model_case *p, size_t n, size_t d, size_t c) {
    memset(p, 0, sizeof *p);
    p->x = test_mat(n, d, 1, 0);
    p->y = test_mat(n, c, c % 2, 1);
    if (p->x.at == NULL || p->y.at == NULL) return 0;
    model_fill(p->x, 50);
    model_targets(p->x, p->y);
    p->data.x = rfm_const(p->x);
    p->data.y = rfm_const(p->y);
    rfm_options_init(&p->o);
    p->o.ridge = (rfm_real)0.1;
    p->o.bandwidth = 2;
    p->o.iterations = 1;
    return 1;
}

/* Nothing was written beside a block of the pool. */
static void check_around(void *block, size_t bytes) {
    rfm_real *at = block;

    test_check_padding(rfm_view(at, 1, bytes / sizeof *at));
}

int model_fit(model_case *p) {
    const size_t mark = test_mark();
    size_t scratch = 0, store = 0, end;
    rfm_arena arena;
    void *kept, *mem;
    int status;

    CHECK_INT(RFM_OK, rfm_fit_need(&p->ctx, &p->data, &p->o, &scratch, &store));
    kept = test_take(store);
    end = test_mark();
    mem = kept != NULL ? test_take(scratch) : NULL;
    if (mem == NULL) {
        test_rewind(mark);
        return TEST_SKIP;
    }
    CHECK_INT(RFM_OK, rfm_arena_init(&p->store, kept, store));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, scratch));
    CHECK(p->o.iterations < MODEL_STEPS);
    memset(p->path, 0xFF, sizeof p->path);
    p->report.path = p->path;
    p->ctx.arena = &arena;
    status = rfm_fit(&p->ctx, &p->data, &p->o, &p->store, &p->m, &p->report);
    p->ctx.arena = NULL;
    CHECK_SIZE(0, arena.used);
    CHECK_INT(RFM_OK, arena.status);
    CHECK_INT(RFM_OK, p->store.status);
    CHECK_SIZE(status == RFM_OK ? store : 0, p->store.used);
    if (status == RFM_OK) {
        CHECK_SIZE(scratch, arena.peak);
        CHECK(p->m.n == p->x.rows && p->m.d == p->x.cols && p->m.c == p->y.cols && p->m.kernel == p->o.kernel);
    }
    check_around(kept, store);
    check_around(mem, scratch);
    test_rewind(status == RFM_OK ? end : mark);
    return status;
}

static int run(const model_case *p, rfm_cmat z, rfm_mat y, int gradients) {
    const size_t mark = test_mark();
    rfm_arena arena;
    rfm_ctx ctx = p->ctx;
    size_t need = 0;
    void *mem;
    int status;

    CHECK_INT(RFM_OK,
              gradients ? rfm_gradients_need(&ctx, &p->m, &need) : rfm_predict_need(&ctx, &p->m, z.rows, &need));
    mem = test_take(need);
    if (mem == NULL) return TEST_SKIP;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
    ctx.arena = &arena;
    status = gradients ? rfm_gradients(&ctx, &p->m, z, y) : rfm_predict(&ctx, &p->m, z, y);
    CHECK_SIZE(0, arena.used);
    CHECK_INT(RFM_OK, arena.status);
    CHECK_SIZE(need, arena.peak);
    check_around(mem, need);
    test_rewind(mark);
    return status;
}

int model_predict(const model_case *p, rfm_cmat z, rfm_mat y) { return run(p, z, y, 0); }
int model_gradients(const model_case *p, rfm_cmat z, rfm_mat g) { return run(p, z, g, 1); }

double model_phi(const rfm_model *m, double s) {
    double t = s / (double)m->bandwidth;

    if (m->kernel == RFM_GAUSSIAN) return exp(-t * t / 2);
    return exp(-(m->kernel >= RFM_GENERAL ? pow(t, (double)m->exponent) : t));
}

double model_distance(const rfm_model *m, const rfm_real *x, const rfm_real *z) {
    double sum = 0, part;
    size_t q, j;

    for (q = 0; q < m->r; q++) {
        part = 0;
        if (m->metric == RFM_FULL)
            for (j = 0; j < m->d; j++) part += (double)m->p[q * m->d + j] * ((double)x[j] - (double)z[j]);
        else
            part = ((double)x[q] - (double)z[q]) * (m->metric == RFM_DIAGONAL ? (double)m->p[q] : 1);
        sum += m->kernel == RFM_L1 ? fabs(part) : part * part;
    }
    return m->kernel == RFM_L1 ? sum : sqrt(sum);
}

double model_apart(rfm_mat a, rfm_mat b) {
    double worst = 0, apart;
    size_t i, j;

    CHECK(a.rows == b.rows && a.cols == b.cols);
    for (i = 0; i < a.rows; i++)
        for (j = 0; j < a.cols; j++) {
            apart = fabs(model_at(a, i, j) - model_at(b, i, j));
            if (!(apart <= DBL_MAX)) return (double)INFINITY;
            worst = fmax(worst, apart);
        }
    return worst;
}

double model_most(rfm_mat a) {
    double most = 0;
    size_t i, j;

    for (i = 0; i < a.rows; i++)
        for (j = 0; j < a.cols; j++) most = fmax(most, fabs(model_at(a, i, j)));
    return most;
}

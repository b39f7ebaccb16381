/* Tasks from the RFM paper that need no download: RFM finds the few directions that count, and its error falls far
 * below the plain kernel's. Sizes as the memory and the patience of the build allow. */
#include "models.h"

#include "rfm_port.h"

void setUp(void) { test_reset(); }
void tearDown(void) {}

static model_case a;

static double uniform(size_t i, size_t j) { return (test_number(200, i, j) + 1) / 2; }

static double normal(size_t i, size_t j) {
    return sqrt(-2 * log(uniform(i, 2 * j) + 1e-7)) * cos(6.283185307179586 * uniform(i, 2 * j + 1));
}

/* Row i of a task: x (d) and its target. */
typedef double (*task)(size_t i, size_t d, rfm_real *x);

/* Figure 14: x1 x2. */
static double product(size_t i, size_t d, rfm_real *x) {
    size_t j;

    for (j = 0; j < d; j++) x[j] = (rfm_real)(normal(i, j) / 4);
    return (double)x[0] * (double)x[1];
}

/* For a handful of rows: the first input alone. */
static double first(size_t i, size_t d, rfm_real *x) {
    size_t j;

    for (j = 0; j < d; j++) x[j] = (rfm_real)(2 * test_number(201, i, j));
    return (double)x[0];
}

typedef struct {
    size_t n, d, rows; /* training rows, inputs, test rows */
    size_t used;       /* the first so many inputs count */
    double bandwidth, ridge;
    double most, share; /* bounds: of the error, relative to the plain kernel's; of M's diagonal there */
} setting;

/* Mean squared error on rows that were not trained on, some at a time. -1: no room. */
static double error_of(task f, const setting *s) {
    const size_t step = s->rows < 50 ? s->rows : 50, mark = test_mark();
    rfm_mat z = test_mat(step, s->d, 0, 0), y = test_mat(step, 1, 0, 0);
    double sum = 0, target[50];
    size_t i, j;

    if (z.at == NULL || y.at == NULL) return -1;
    for (i = 0; i < s->rows; i += step) {
        for (j = 0; j < step; j++) target[j] = f(s->n + i + j, s->d, z.at + j * s->d);
        if (model_predict(&a, rfm_const(z), y) == TEST_SKIP) return -1;
        for (j = 0; j < step; j++) sum += pow(target[j] - (double)y.at[j], 2);
    }
    test_rewind(mark);
    return sum / (double)s->rows;
}

/* 0: no room. */
static int check(task f, const setting *s, size_t iterations) {
    double plain, learned, good = 0, all = 0;
    rfm_mat m;
    size_t i, mark;

    test_reset();
    test_note("task", s->n, s->d, 0);
    if (!model_make(&a, s->n, s->d, 1)) return 0;
    for (i = 0; i < s->n; i++) a.y.at[i * a.y.stride] = (rfm_real)f(i, s->d, a.x.at + i * a.x.stride);
    a.ctx.port = rfm_port_auto();
    a.o.bandwidth = (rfm_real)s->bandwidth;
    a.o.ridge = (rfm_real)s->ridge;
    a.o.iterations = 0;
    mark = test_mark();
    if (model_fit(&a) != RFM_OK) return 0;
    plain = error_of(f, s);
    test_rewind(mark);
    m = test_mat(1, s->d, 0, 0);
    a.o.iterations = iterations;
    if (plain < 0 || m.at == NULL || model_fit(&a) != RFM_OK) return 0;
    learned = error_of(f, s);
    if (learned < 0) return 0;
    CHECK_INT(RFM_OK, rfm_metric(&a.m, m));
    for (i = 0; i < s->d; i++) {
        all += model_at(m, 0, i);
        if (i < s->used) good += model_at(m, 0, i);
    }
    CHECK_BELOW(learned, s->most * plain);
    CHECK(good >= s->share * all);
    return 1;
}

static void test_first(void) {
    static const setting settings[] = {{6, 2, 4, 1, 2, 1e-3, 0.95, 0.8},
                                       {10, 2, 10, 1, 2, 1e-3, 0.5, 0.8},
                                       {30, 4, 20, 1, 2, 1e-3, 0.3, 0.9},
                                       {40, 6, 20, 1, 3, 1e-3, 0.3, 0.9}};
    size_t i, done = 0;

    for (i = 0; i < TEST_LENGTH(settings); i++) done += (size_t)check(first, &settings[i], 2);
    CHECK(done > 0);
}

/* Microcontrollers with room for them, and valgrind: y = x1 x2 from few rows. */
static void test_product(void) {
    static const setting small = {100, 8, 100, 2, 10, 1e-3, 0.6, 0.7};

    check(product, &small, 3);
}

#if TEST_RAM >= 16777216
#ifdef TEST_QUICK
#define ROWS 400
#else
#define ROWS 1000
#endif

/* Figure 16a: signs with a little noise, the product of two of the signs. */
static double signs(size_t i, size_t d, rfm_real *x) {
    double y = 1, z;
    size_t j;

    for (j = 0; j < d; j++) {
        z = uniform(i, j) < 0.5 ? -1 : 1;
        if (j < 2) y *= z;
        x[j] = (rfm_real)(z + 0.1 * normal(i, d + j));
    }
    return y;
}

/* Figure 16d: He2 + He4 of one direction, here (1, 1, 1, 1, 0, ...) / 2. */
static double hermite(size_t i, size_t d, rfm_real *x) {
    double t = 0;
    size_t j;

    for (j = 0; j < d; j++) {
        x[j] = (rfm_real)normal(i, j);
        if (j < 4) t += (double)x[j] / 2;
    }
    return t * t * t * t - 5 * t * t + 2;
}

/* Figure 10: x1 x2 where x4 > 0, x3 elsewhere. */
static double gated(size_t i, size_t d, rfm_real *x) {
    double y = product(i, d, x);

    return x[3] > 0 ? y : (double)x[2];
}

static void test_signs(void) {
    static const setting s = {ROWS, 30, 1000, 2, 10, 0, 0.1, 0.8};

    CHECK(check(signs, &s, 3));
}

static void test_hermite(void) {
    static const setting s = {ROWS, 10, 1000, 4, 10, 1e-3, ROWS < 1000 ? 0.7 : 0.4, 0.9};
    rfm_mat m, v;
    rfm_real w[1];
    rfm_arena arena;
    double along = 0;
    size_t need = 0, i;
    void *mem;

    CHECK(check(hermite, &s, 3));
    m = test_mat(10, 10, 0, 0);
    v = test_mat(1, 10, 0, 0);
    CHECK_INT(RFM_OK, rfm_metric(&a.m, m));
    CHECK_INT(RFM_OK, rfm_eig_need(&a.ctx, 10, 1, &need));
    mem = test_take(need);
    CHECK(mem != NULL);
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
    a.ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_eig(&a.ctx, m, 1, w, v));
    a.ctx.arena = NULL;
    for (i = 0; i < 4; i++) along += (double)v.at[i] / 2;
    CHECK(along * along > (ROWS < 1000 ? 0.8 : 0.95)); /* the squared cosine of the top eigenvector and u */
}

static void test_product_large(void) {
    static const setting s = {ROWS, 10, 1000, 2, 10, 1e-3, 0.4, 0.9};

    CHECK(check(product, &s, 2));
}

static void test_gated(void) {
    static const setting s = {ROWS, 10, 1000, 4, 10, 1e-3, ROWS < 1000 ? 0.75 : 0.5, 0.9};

    CHECK(check(gated, &s, 3));
}
#endif

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_first);
    RUN_TEST(test_product);
#if TEST_RAM >= 16777216
    RUN_TEST(test_signs);
    RUN_TEST(test_hermite);
    RUN_TEST(test_product_large);
    RUN_TEST(test_gated);
#endif
    return UNITY_END();
}

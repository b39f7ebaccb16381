/* Patch kernels and ConvRFM: kernels against plain sums in double, gradients against their differences, fits, filters,
 * blobs, memory, refusals. tests/golden/conv has golden cases. */
#include "models.h"
#include "plain_conv.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

/* ---- shapes ----------------------------------------------------------------------------------------- */

/* Boards compute doubles slowly: they take every fourth. Those with the least memory have no stack for a fit. */
#define BOARD    (TEST_RAM < (16ul << 20))
#define NO_STACK (TEST_RAM < 32768)
#ifdef TEST_EVERY /* whatever the size of the arena */
#define STEP 1
#else
#define STEP (BOARD ? 4 : 1)
#endif

static const rfm_conv shapes[] = {
    {1, 1, 1, 1, 0, RFM_CONV_LAPLACE, 1, (rfm_real)2},
    {1, 1, 1, 1, 0, RFM_CONV_NTK, 5, 1},
    {2, 3, 3, 3, 0, RFM_CONV_NTK, 1, 1},
    {1, 4, 5, 3, 0, RFM_CONV_LAPLACE, 1, (rfm_real)1.5},
    {2, 3, 4, 2, 1, RFM_CONV_LAPLACE, 1, (rfm_real)3},
    {3, 4, 3, 1, 0, RFM_CONV_NNGP, 1, 1},
    {1, 5, 4, 2, 1, RFM_CONV_NTK, 1, 1},
    {1, 1, 9, 3, 0, RFM_CONV_NTK, 2, 1},
    {2, 1, 8, 3, 1, RFM_CONV_NNGP, 3, 1},
    {1, 5, 6, 2, 0, RFM_CONV_NTK, 3, 1},
    {2, 4, 5, 3, 1, RFM_CONV_NTK, 2, 1},
    {1, 6, 6, 2, 0, RFM_CONV_NNGP, 5, 1},
    {1, 4, 4, 3, 1, RFM_CONV_NTK, 5, 1},
    {1, 7, 2, 2, 1, RFM_CONV_NNGP, 2, 1},
};
#define SHAPES TEST_LENGTH(shapes)

typedef struct {
    const rfm_conv *f;
    size_t n, v, c, d, pixels, places;
    rfm_mat x, z, alpha, m, k, g, a;
    rfm_ctx ctx;
} kit;

static kit s;
static rfm_arena arena;
static rfm_real *tight_m; /* (D, D), from the pool */

static void fill(rfm_mat a, uint32_t stream, double scale) {
    size_t i, j;
    for (i = 0; i < a.rows; i++)
        for (j = 0; j < a.cols; j++) a.at[i * a.stride + j] = (rfm_real)(scale * test_number(stream, i, j));
}

/* M = I / 2 + three rank-one terms. */
static void fill_metric(rfm_mat m) {
    size_t i, j, q;
    for (i = 0; i < m.rows; i++)
        for (j = 0; j < m.cols; j++) {
            double sum = i == j ? 0.5 : 0;
            for (q = 0; q < 3; q++) sum += test_number(30 + (uint32_t)q, 0, i) * test_number(30 + (uint32_t)q, 0, j);
            m.at[i * m.stride + j] = (rfm_real)sum;
        }
}

/* 0: no room. */
static int make(const rfm_conv *f, size_t n, size_t v, size_t c) {
    size_t i;
    memset(&s, 0, sizeof s);
    s.f = f, s.n = n, s.v = v, s.c = c;
    s.d = rfm_conv_patch(f), s.pixels = rfm_conv_pixels(f), s.places = rfm_conv_places(f);
    s.x = test_mat(n, s.pixels, 1, 0);
    s.z = test_mat(v, s.pixels, 2, 0);
    s.alpha = test_mat(n, c, 1, 0);
    s.m = test_mat(s.d, s.d, 1, 0);
    s.k = test_mat(n, v, 1, 0);
    s.g = test_mat(v, c * s.places * s.d, 1, 0);
    s.a = test_mat(s.d, s.d, 2, 0);
    for (i = 0; i < 7; i++) fields[i] = (double *)test_take(s.places * (i < 2 ? s.d : 1) * sizeof(double));
    tight_m = (rfm_real *)test_take(s.d * s.d * sizeof *tight_m);
    if (tight_m == NULL || fields[0] == NULL || fields[1] == NULL || fields[6] == NULL) return 0;
    if (s.a.at == NULL || s.g.at == NULL || s.k.at == NULL || s.m.at == NULL || s.z.at == NULL) return 0;
    fill(s.x, 1, 1);
    fill(s.z, 2, 1);
    fill(s.alpha, 3, 1);
    fill_metric(s.m);
    return 1;
}

static int arena_of(size_t bytes) { return test_arena(&s.ctx, &arena, bytes); }

enum { KERNEL, SYMMETRIC, GRADIENTS, AGOP, CALLS };

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static int call(int what, int metric) {
    rfm_cmat m = rfm_const(s.m), x = rfm_const(s.x), z = rfm_const(s.z), alpha = rfm_const(s.alpha);
    if (!metric) m.at = NULL;
    if (what == KERNEL) return rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k);
    if (what == SYMMETRIC) {
        rfm_mat k = s.k;
        z.rows = k.rows = min_size(s.n, s.v), k.cols = k.rows;
        return rfm_conv_kernel(&s.ctx, s.f, m, z, z, k);
    }
    if (what == GRADIENTS) return rfm_conv_gradients(&s.ctx, s.f, m, x, alpha, z, s.g);
    return rfm_conv_agop(&s.ctx, s.f, m, x, alpha, z, s.a);
}

static int call_need(int what, size_t *bytes) {
    const size_t least = min_size(s.n, s.v);
    if (what == KERNEL) return rfm_conv_kernel_need(&s.ctx, s.f, s.n, s.v, bytes);
    if (what == SYMMETRIC) return rfm_conv_kernel_need(&s.ctx, s.f, least, least, bytes);
    if (what == GRADIENTS) return rfm_conv_gradients_need(&s.ctx, s.f, s.n, s.v, s.c, bytes);
    return rfm_conv_agop_need(&s.ctx, s.f, s.n, s.v, s.c, bytes);
}

/* M without the space between its rows; NULL: the identity. */
static const rfm_real *tight(int metric) {
    rfm_real *m = tight_m;
    size_t i;
    for (i = 0; i < s.d; i++) memcpy(m + i * s.d, s.m.at + i * s.m.stride, s.d * sizeof *m);
    return metric ? m : NULL;
}

/* On exactly the memory that it needs. */
static int run(int what, int metric) {
    const size_t mark = test_mark();
    size_t bytes = 0;
    int status;
    CHECK_INT(RFM_OK, call_need(what, &bytes));
    if (!arena_of(bytes)) return TEST_SKIP;
    status = call(what, metric);
    CHECK_SIZE(0, arena.used);
    CHECK_INT(RFM_OK, arena.status);
    if (status == RFM_OK) CHECK_SIZE(bytes, arena.peak);
    test_rewind(mark);
    return status;
}

/* The same numbers with any number of workers; *hash of the whole pool below the arena. */
static void same_with_workers(int what, int metric) {
    static const size_t workers[] = {2, 7};
    uint64_t hash = test_hash(test_mark());
    size_t i;
    for (i = 0; i < TEST_LENGTH(workers); i++) {
        test_pool pool;
        int status;
        pool.workers = workers[i], pool.reverse = i == 1;
        s.ctx.run = test_pool_run, s.ctx.pool = &pool, s.ctx.workers = workers[i];
        status = run(what, metric);
        s.ctx.run = NULL, s.ctx.workers = 0;
        if (status == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, status);
        CHECK(hash == test_hash(test_mark()));
    }
}

/* Of a kernel. */
static double bound(void) { return 100 * TEST_EPS; }

static void test_kernels(void) {
    const rfm_port *port;
    size_t which, metric, i, j, k;
    for (which = 0; which < SHAPES; which += STEP)
        for (metric = 0; metric < 2; metric++)
            for (k = 0; (port = test_port(k)) != NULL; k++) {
                test_reset();
                test_note("shape, metric, port", which, metric, k);
                if (!make(&shapes[which], 5, 3, 1)) continue;
                s.ctx.port = port;
                if (run(KERNEL, (int)metric) == TEST_SKIP) continue;
                CHECK_INT(RFM_OK, run(KERNEL, (int)metric));
                for (i = 0; i < s.n; i++)
                    for (j = 0; j < s.v; j++) {
                        double expect;
                        set_patches(s.f, s.x.at + i * s.x.stride, fields[0]);
                        set_patches(s.f, s.z.at + j * s.z.stride, fields[1]);
                        expect = plain_kernel(s.f, tight((int)metric), fields[0], fields[1]);
                        CHECK_BELOW(fabs((double)s.k.at[i * s.k.stride + j] - expect), bound() * fmax(1, expect));
                    }
                test_check_padding(s.k);
                same_with_workers(KERNEL, (int)metric);
            }
}

/* K of images with themselves: symmetric, the same as the other way but for rounding, right diagonal. */
static void test_equal_sets(void) {
    size_t which, i, j;
    for (which = 0; which < SHAPES; which += STEP) {
        test_reset();
        test_note("shape", which, 0, 0);
        if (!make(&shapes[which], 21, 21, 1)) continue;
        memcpy(s.z.at + 20 * s.z.stride, s.z.at, s.pixels * sizeof(rfm_real)); /* equal images */
        if (run(SYMMETRIC, 1) == TEST_SKIP) continue;
        same_with_workers(SYMMETRIC, 1);
        for (i = 0; i < s.n; i++)
            for (j = 0; j < s.n; j++) CHECK(s.k.at[i * s.k.stride + j] == s.k.at[j * s.k.stride + i]);
        CHECK(s.k.at[20] == s.k.at[0]);
        for (i = 0; i < s.n; i++) {
            const double k = (double)s.k.at[i * s.k.stride + i];
            rfm_conv f;
            if (s.f->kernel == RFM_CONV_LAPLACE) {
                CHECK(k == 1);
                continue;
            }
            /* At x = z every angle is 0: CNTK is depth + 1 times CNNGP. */
            set_patches(s.f, s.z.at + i * s.z.stride, fields[0]);
            f = *s.f, f.kernel = RFM_CONV_NNGP;
            CHECK_BELOW(fabs(k / plain_kernel(&f, tight(1), fields[0], fields[0]) -
                             (s.f->kernel == RFM_CONV_NTK ? s.f->depth + 1 : 1)),
                        200 * TEST_EPS);
        }
    }
}

/* Gradients by central differences of the plain kernels. */
static void test_gradients(void) {
    size_t which, metric, j, k, q, i;
    for (which = BOARD ? 7 : 0; which < (BOARD ? 8 : SHAPES); which++)
        for (metric = BOARD; metric < 2; metric++) {
            double most = 0, worst = 0;
            test_reset();
            test_note("shape, metric", which, metric, 0);
            if (!make(&shapes[which], 4, 2, 2) || s.pixels == 1) continue;
            if (run(GRADIENTS, (int)metric) == TEST_SKIP) continue;
            test_check_padding(s.g);
            same_with_workers(GRADIENTS, (int)metric);
            for (j = 0; j < s.v; j++)
                for (k = 0; k < s.c; k++)
                    for (q = 0; q < s.places * s.d; q += TEST_FEW ? s.places * s.d / 5 + 1 : 1) {
                        double sum[2] = {0, 0}, was, got = (double)s.g.at[j * s.g.stride + k * s.places * s.d + q];
                        int side;
                        set_patches(s.f, s.z.at + j * s.z.stride, fields[1]);
                        was = fields[1][q];
                        for (side = 0; side < 2; side++) {
                            fields[1][q] = was + (side ? 1e-6 : -1e-6);
                            for (i = 0; i < s.n; i++) {
                                set_patches(s.f, s.x.at + i * s.x.stride, fields[0]);
                                sum[side] += (double)s.alpha.at[i * s.alpha.stride + k] *
                                             plain_kernel(s.f, tight((int)metric), fields[0], fields[1]);
                            }
                        }
                        /* A patch that is partly outside has pixels there that are 0: their gradients count, too. */
                        sum[0] = (sum[1] - sum[0]) / 2e-6;
                        worst = fmax(worst, fabs(got - sum[0]));
                    }
            for (j = 0; j < s.v; j++)
                for (q = 0; q < s.c * s.places * s.d; q++) most = fmax(most, fabs((double)s.g.at[j * s.g.stride + q]));
            CHECK_BELOW(worst, fmax(3e-8, 2000 * TEST_EPS) * fmax(most, 0.01));
        }
}

/* K(x_0, z_j) with M = I by the predictor of one image. */
static double one_kernel(size_t j) {
    rfm_mat norms = test_mat(1, s.places, 0, 0), scratch;
    rfm_real score = 0, one = 1;
    rfm_conv_model m;
    size_t i, q;
    memset(&m, 0, sizeof m);
    m.n = m.c = 1, m.r = s.d, m.input = m.f = *s.f;
    m.images = s.x.at, m.norms = norms.at, m.alpha = &one;
    scratch = test_mat(1, rfm_conv_scratch(&m), 0, 0);
    if (norms.at == NULL || scratch.at == NULL) return (double)s.k.at[j];
    for (i = 0; i < s.places; i++)
        for (norms.at[i] = 0, q = 0; q < s.d; q++) norms.at[i] += (rfm_real)pow(fields[0][i * s.d + q], 2);
    CHECK_INT(RFM_OK, rfm_conv_predict_one(&m, s.z.at + j * s.z.stride, &score, scratch.at));
    return (double)score;
}

/* An image and neighbours of it, with kernels of more than one layer: angles near 0 have digits in every layer, also
 * where the neighbour is brighter, or a part of it. The largest error of a gradient in a float is a rounding, 1e-7, as
 * a share of the distance. */
static void test_neighbours(void) {
    static const double away[] = {3e-2, 1e-3, 1e-4}, bright[][2] = {{1, 1}, {1.75, 1.75}, {1, 1.75}};
    size_t which, turn, i, j, q;
    for (which = 0; which < SHAPES; which++)
        for (turn = 0; turn < (BOARD ? 3 : 6) && shapes[which].depth > 1; turn++) {
            const size_t metric = BOARD ? turn % 2 : turn / 3;
            test_reset();
            test_note("shape, metric, brightness", which, metric, turn % 3);
            if (!make(&shapes[which], 1, TEST_LENGTH(away), 1) || s.pixels == 1) continue;
            s.alpha.at[0] = 1;
            for (j = 0; j < s.v; j++)
                for (i = 0; i < s.pixels; i++)
                    s.z.at[j * s.z.stride + i] = (rfm_real)(bright[turn % 3][i < s.pixels / 2] * (double)s.x.at[i] +
                                                            away[j] * test_number(77, j, i));
            if (run(KERNEL, (int)metric) == TEST_SKIP || run(GRADIENTS, (int)metric) == TEST_SKIP) continue;
            set_patches(s.f, s.x.at, fields[0]);
            for (j = 0; j < s.v; j++) {
                double most = 0, worst = 0, expect;
                set_patches(s.f, s.z.at + j * s.z.stride, fields[1]);
                expect = plain_kernel(s.f, tight((int)metric), fields[0], fields[1]);
                CHECK_BELOW(fabs((double)s.k.at[j] - expect), fmax(1e-11, 30 * TEST_EPS) * expect);
                if (!metric) CHECK_BELOW(fabs(one_kernel(j) - expect), fmax(1e-11, 30 * TEST_EPS) * expect);
                for (q = 0; q < s.places * s.d; q += TEST_FEW ? s.places * s.d / 5 + 1 : 1) {
                    const double was = fields[1][q], got = (double)s.g.at[j * s.g.stride + q];
                    double side[2];
                    for (i = 0; i < 2; i++) {
                        fields[1][q] = was + (i ? 1e-6 : -1e-6);
                        side[i] = plain_kernel(s.f, tight((int)metric), fields[0], fields[1]);
                    }
                    fields[1][q] = was;
                    worst = fmax(worst, fabs(got - (side[1] - side[0]) / 2e-6));
                    most = fmax(most, fabs(got));
                }
                CHECK_BELOW(worst, fmax(1e-3, 100 * TEST_EPS / away[j]) * most);
            }
        }
}

/* The AGOP is the mean of the outer products of all gradients. */
static void test_agop(void) {
    size_t which, i, j, q, t;
    for (which = 0; which < SHAPES; which += STEP) {
        const int metric = which % 3 != 1; /* the others with M = I */
        double most = 0;
        test_reset();
        test_note("shape", which, 0, 0);
        if (!make(&shapes[which], 19, 10, 3)) continue;
        if (run(GRADIENTS, metric) == TEST_SKIP || run(AGOP, metric) == TEST_SKIP) continue;
        test_check_padding(s.a);
        same_with_workers(AGOP, metric);
        for (i = 0; i < s.d; i++) most = fmax(most, (double)s.a.at[i * s.a.stride + i]);
        for (i = 0; i < s.d; i++)
            for (j = 0; j < s.d; j++) {
                double sum = 0;
                for (q = 0; q < s.v; q++)
                    for (t = 0; t < s.c * s.places; t++)
                        sum +=
                            (double)s.g.at[q * s.g.stride + t * s.d + i] * (double)s.g.at[q * s.g.stride + t * s.d + j];
                CHECK_BELOW(fabs(sum / (double)s.v - (double)s.a.at[i * s.a.stride + j]), 400 * TEST_EPS * most);
                CHECK(s.a.at[i * s.a.stride + j] == s.a.at[j * s.a.stride + i]);
            }
    }
}

/* More images than a tile, a block and a batch have. */
static void test_blocks(void) {
    static const size_t which[] = {3, 6, 7};
    size_t w, i, j;
    for (w = 0; w < (TEST_FEW ? 1 : TEST_LENGTH(which)); w++) {
        double most = 0;
        test_reset();
        test_note("shape", which[w], 0, 0);
        if (!make(&shapes[which[w]], 70, 300, 2)) continue;
        if (run(KERNEL, 1) == TEST_SKIP || run(GRADIENTS, 1) == TEST_SKIP || run(AGOP, 1) == TEST_SKIP) continue;
        same_with_workers(AGOP, 1);
        for (i = 0; i < s.n; i += 13)
            for (j = 0; j < s.v; j += 31) {
                set_patches(s.f, s.x.at + i * s.x.stride, fields[0]);
                set_patches(s.f, s.z.at + j * s.z.stride, fields[1]);
                CHECK_BELOW(
                    fabs((double)s.k.at[i * s.k.stride + j] - plain_kernel(s.f, tight(1), fields[0], fields[1])),
                    bound());
            }
        for (i = 0; i < s.d; i++) {
            double sum = 0;
            for (j = 0; j < s.v * s.c * s.places; j++) {
                const rfm_real *g = s.g.at + j / (s.c * s.places) * s.g.stride + j % (s.c * s.places) * s.d;
                sum += (double)g[i] * (double)g[i];
            }
            most = fmax(most, sum);
            CHECK_BELOW(fabs(sum / (double)s.v - (double)s.a.at[i * s.a.stride + i]), 1e3 * TEST_EPS * most);
        }
    }
}

/* Black images, constant ones, images that are multiples of each other: finite, and right where that is known. */
static void test_degenerate(void) {
    size_t which, j;
    for (which = 0; which < SHAPES; which += STEP) {
        const rfm_conv *f = &shapes[which];
        test_reset();
        test_note("shape", which, 0, 0);
        if (!make(f, 4, 4, 2)) continue;
        for (j = 0; j < s.pixels; j++) {
            s.x.at[0 * s.x.stride + j] = s.z.at[0 * s.z.stride + j] = 0;
            s.x.at[1 * s.x.stride + j] = s.z.at[1 * s.z.stride + j] = (rfm_real)0.25;
            s.x.at[2 * s.x.stride + j] = 2 * s.x.at[3 * s.x.stride + j];
            s.z.at[2 * s.z.stride + j] = -s.x.at[3 * s.x.stride + j];
            s.z.at[3 * s.z.stride + j] = s.x.at[3 * s.x.stride + j];
        }
        if (run(KERNEL, 0) == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, run(GRADIENTS, 0));
        CHECK_INT(RFM_OK, run(AGOP, 1));
        if (f->kernel == RFM_CONV_LAPLACE) {
            CHECK(s.k.at[0] == 1 && s.k.at[s.k.stride + 1] == 1 && s.k.at[3 * s.k.stride + 3] == 1);
            continue;
        }
        for (j = 0; j < 4; j++) CHECK(s.k.at[j] == 0 && s.k.at[j * s.k.stride] == 0);
        for (j = 0; j < s.g.cols; j++) CHECK(s.g.at[j] == 0);
        /* K(2 x, z) = 2 K(x, z) */
        for (j = 0; j < 4; j++)
            CHECK_BELOW(fabs((double)s.k.at[2 * s.k.stride + j] - 2 * (double)s.k.at[3 * s.k.stride + j]),
                        100 * TEST_EPS * fabs((double)s.k.at[3 * s.k.stride + 3]) + bound());
    }
}

/* Multiples of 1/256, plus an offset: exact in float. */
static void fill_steps(rfm_mat a, uint32_t stream, double offset) {
    size_t i, j;
    for (i = 0; i < a.rows; i++)
        for (j = 0; j < a.cols; j++)
            a.at[i * a.stride + j] = (rfm_real)(floor(256 * test_number(stream, i, j)) / 256 + offset);
}

/* Multiples of one patch at each place: K = (depth + 1) mean x'M z, although the roots of lengths round. */
static void test_one_direction(void) {
    static const rfm_conv lines[] = {{3, 1, 7, 1, 0, RFM_CONV_NTK, 1, 1}, {3, 1, 7, 1, 0, RFM_CONV_NTK, 5, 1}};
    size_t which, metric, i, j, k, q;
    for (which = 0; which < TEST_LENGTH(lines); which++)
        for (metric = 0; metric < 2; metric++) {
            const double factor = (lines[which].depth + 1) / 7.0;
            test_reset();
            test_note("depth, metric", (size_t)lines[which].depth, metric, 0);
            if (!make(&lines[which], 6, 6, 1)) continue;
            fill_steps(s.x, 1, 1);
            for (i = 6; i-- > 0;)
                for (q = 0; q < s.pixels; q++) {
                    s.x.at[i * s.x.stride + q] = (rfm_real)(2 * i + 1) * s.x.at[q];
                    s.z.at[i * s.z.stride + q] = (rfm_real)(2 * i + 3) * s.x.at[q];
                }
            if (run(GRADIENTS, (int)metric) == TEST_SKIP) continue;
            for (j = 0; j < s.v; j++)
                for (q = 0; q < s.pixels; q++) { /* place q % 7, channel q / 7 */
                    double sum = 0, size = 0;
                    for (i = 0; i < s.n; i++)
                        for (k = 0; k < s.d; k++) {
                            const double m = metric ? (double)s.m.at[q / 7 * s.m.stride + k] : k == q / 7;
                            const double x = (double)s.x.at[i * s.x.stride + k * 7 + q % 7];
                            const double term = factor * (double)s.alpha.at[i * s.alpha.stride] * m * x;
                            sum += term, size += fabs(term);
                        }
                    CHECK_BELOW(fabs((double)s.g.at[j * s.g.stride + q % 7 * 3 + q / 7] - sum), 200 * TEST_EPS * size);
                }
        }
}

/* Laplace: what is added to all pixels of all images changes nothing. */
static void test_offset(void) {
    rfm_mat before;
    size_t i, j;
    if (!make(&shapes[3], 9, 7, 1)) TEST_IGNORE_MESSAGE("no room");
    before = test_mat(s.n, s.v, 0, 0);
    fill_steps(s.x, 1, 0);
    fill_steps(s.z, 2, 0);
    if (before.at == NULL || run(KERNEL, 0) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < s.n; i++)
        for (j = 0; j < s.v; j++) before.at[i * s.v + j] = s.k.at[i * s.k.stride + j];
    fill_steps(s.x, 1, 1024);
    fill_steps(s.z, 2, 1024);
    CHECK_INT(RFM_OK, run(KERNEL, 0));
    for (i = 0; i < s.n; i++)
        for (j = 0; j < s.v; j++)
            CHECK_BELOW(fabs((double)(before.at[i * s.v + j] - s.k.at[i * s.k.stride + j])), 400 * TEST_EPS);
}

/* A byte less than the need: refused, nothing written. */
static void test_memory(void) {
    static const size_t which[] = {3, 9};
    size_t w, bytes;
    int what;
    for (w = 0; w < TEST_LENGTH(which); w++)
        for (what = KERNEL; what < CALLS; what++) {
            uint64_t hash;
            size_t mark;
            test_reset();
            test_note("shape, call", which[w], (size_t)what, 0);
            if (!make(&shapes[which[w]], 4, 3, 2)) continue;
            CHECK_INT(RFM_OK, call_need(what, &bytes));
            mark = test_mark();
            hash = test_hash(mark);
            if (!arena_of(bytes - 1)) continue;
            CHECK_INT(RFM_EARENA, call(what, 1));
            CHECK(hash == test_hash(mark));
            CHECK_SIZE(0, arena.used);
            CHECK_INT(RFM_OK, arena.status);
        }
}

static void test_check(void) {
    static const int depths[] = {-1, 0, 6, 9};
    rfm_conv f = shapes[3];
    size_t i;
    CHECK_INT(RFM_ENULL, rfm_conv_check(NULL));
    CHECK_INT(RFM_OK, rfm_conv_check(&f));
    f.channels = 0;
    CHECK_INT(RFM_EZERO, rfm_conv_check(&f));
    f = shapes[3], f.height = 0;
    CHECK_INT(RFM_EZERO, rfm_conv_check(&f));
    f = shapes[3], f.width = 0;
    CHECK_INT(RFM_EZERO, rfm_conv_check(&f));
    f = shapes[3], f.patch = 0;
    CHECK_INT(RFM_EZERO, rfm_conv_check(&f));
    f = shapes[3], f.patch = 5; /* of an image with 4 rows */
    CHECK_INT(RFM_ESHAPE, rfm_conv_check(&f));
    f.padded = 1;
    CHECK_INT(RFM_ESHAPE, rfm_conv_check(&f));
    f = shapes[3], f.padded = 2;
    CHECK_INT(RFM_EVALUE, rfm_conv_check(&f));
    f = shapes[3], f.depth = 2; /* Laplace */
    CHECK_INT(RFM_EVALUE, rfm_conv_check(&f));
    f = shapes[3], f.kernel = RFM_CONV_KERNELS;
    CHECK_INT(RFM_EVALUE, rfm_conv_check(&f));
    f = shapes[3], f.bandwidth = 0;
    CHECK_INT(RFM_EVALUE, rfm_conv_check(&f));
    f = shapes[3], f.bandwidth = (rfm_real)NAN;
    CHECK_INT(RFM_EVALUE, rfm_conv_check(&f));
    f = shapes[9];
    for (i = 0; i < TEST_LENGTH(depths); i++) {
        f.depth = depths[i];
        CHECK_INT(RFM_EVALUE, rfm_conv_check(&f));
    }
    f.depth = 5; /* 5 rows: four convolutions of 2 x 2 leave one */
    CHECK_INT(RFM_ESHAPE, rfm_conv_check(&f));
    f.depth = 4;
    CHECK_INT(RFM_OK, rfm_conv_check(&f));
    f = shapes[3], f.channels = SIZE_MAX / 4;
    CHECK_INT(RFM_EOVERFLOW, rfm_conv_check(&f));
    f = shapes[3], f.height = f.width = 65536, f.channels = 2;
    CHECK_INT(RFM_EOVERFLOW, rfm_conv_check(&f));
}

static void test_refusals(void) {
    size_t bytes = 0;
    rfm_cmat m, x, z, alpha;
    rfm_real was;
    if (!make(&shapes[3], 4, 3, 2)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, call_need(GRADIENTS, &bytes));
    if (!arena_of(bytes)) TEST_IGNORE_MESSAGE("no room");
    m = rfm_const(s.m), x = rfm_const(s.x), z = rfm_const(s.z), alpha = rfm_const(s.alpha);
    CHECK_INT(RFM_ENULL, rfm_conv_kernel(NULL, s.f, m, x, z, s.k));
    CHECK_INT(RFM_ENULL, rfm_conv_kernel(&s.ctx, NULL, m, x, z, s.k));
    CHECK_INT(RFM_ENULL, rfm_conv_agop(NULL, s.f, m, x, alpha, z, s.a));
    CHECK_INT(RFM_ENULL, rfm_conv_agop(&s.ctx, NULL, m, x, alpha, z, s.a));
    CHECK_INT(RFM_ENULL, rfm_conv_kernel_need(NULL, s.f, 1, 1, &bytes));
    CHECK_INT(RFM_ENULL, rfm_conv_kernel_need(&s.ctx, s.f, 1, 1, NULL));
    CHECK_INT(RFM_EZERO, rfm_conv_kernel_need(&s.ctx, s.f, 0, 1, &bytes));
    CHECK_INT(RFM_EZERO, rfm_conv_agop_need(&s.ctx, s.f, 1, 1, 0, &bytes));
    CHECK_INT(RFM_ENULL, rfm_conv_gradients_need(&s.ctx, NULL, 1, 1, 1, &bytes));
    x.at = NULL;
    CHECK_INT(RFM_ENULL, rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k));
    x = rfm_const(s.x), x.rows = 0;
    CHECK_INT(RFM_EZERO, rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k));
    x = rfm_const(s.x), x.stride = 1;
    CHECK_INT(RFM_ESTRIDE, rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k));
    x = rfm_const(s.x), x.cols--; /* channels, rows and columns disagree */
    CHECK_INT(RFM_ESHAPE, rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k));
    CHECK_INT(RFM_ESHAPE, rfm_conv_gradients(&s.ctx, s.f, m, x, alpha, z, s.g));
    x = rfm_const(s.x), z.cols--;
    CHECK_INT(RFM_ESHAPE, rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k));
    z = rfm_const(s.z), m.cols--;
    CHECK_INT(RFM_ESHAPE, rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k));
    m = rfm_const(s.m), alpha.rows--;
    CHECK_INT(RFM_ESHAPE, rfm_conv_agop(&s.ctx, s.f, m, x, alpha, z, s.a));
    alpha = rfm_const(s.alpha), alpha.at = NULL;
    CHECK_INT(RFM_ENULL, rfm_conv_agop(&s.ctx, s.f, m, x, alpha, z, s.a));
    alpha = rfm_const(s.alpha);
    CHECK_INT(RFM_ESHAPE, rfm_conv_agop(&s.ctx, s.f, m, x, alpha, z, s.k));
    CHECK_INT(RFM_EALIAS, rfm_conv_kernel(&s.ctx, s.f, m, x, z, rfm_view(s.x.at, s.n, s.v)));
    CHECK_INT(RFM_EALIAS, rfm_conv_agop(&s.ctx, s.f, m, x, alpha, z, s.m));
    was = s.x.at[3], s.x.at[3] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k));
    s.x.at[3] = was, was = s.m.at[0], s.m.at[0] = (rfm_real)INFINITY;
    CHECK_INT(RFM_EFINITE, rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k));
    s.m.at[0] = -1;
    CHECK_INT(RFM_ENOTPD, rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k));
    s.m.at[0] = was, was = s.alpha.at[1], s.alpha.at[1] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_conv_agop(&s.ctx, s.f, m, x, alpha, z, s.a));
    s.alpha.at[1] = was;
    arena.status = RFM_EOVERFLOW;
    CHECK_INT(RFM_EOVERFLOW, rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k));
    rfm_arena_measure(&arena);
    CHECK_INT(RFM_EARENA, rfm_conv_kernel(&s.ctx, s.f, m, x, z, s.k));
    for (bytes = 0; bytes < s.n; bytes++)
        CHECK(s.k.at[bytes * s.k.stride] != s.k.at[bytes * s.k.stride]); /* NaN still */
}

/* Numbers as large and small as the type has them: finite, or RFM_ERANGE. */
static void test_range(void) {
    static const double scales[] = {1e-30, 1e-18, 1e-9, 1e9, 1e17, 1e30};
    static const size_t which[] = {3, 6, 9};
    size_t w, i, j;
    for (w = 0; w < TEST_LENGTH(which); w++)
        for (i = 0; i < TEST_LENGTH(scales); i++) {
            int status;
            test_reset();
            test_note("shape, scale", which[w], i, 0);
            if (!make(&shapes[which[w]], 4, 3, 2)) continue;
            fill(s.x, 1, scales[i]);
            fill(s.z, 2, scales[i]);
            status = run(KERNEL, 1);
            if (status == TEST_SKIP) continue;
            CHECK(status == RFM_OK || status == RFM_ERANGE);
            for (j = 0; status == RFM_OK && j < s.n; j++) CHECK(rfm_finite(s.v, s.k.at + j * s.k.stride));
            status = run(AGOP, 1);
            CHECK(status == RFM_OK || status == RFM_ERANGE);
            for (j = 0; status == RFM_OK && j < s.d; j++) CHECK(rfm_finite(s.d, s.a.at + j * s.a.stride));
        }
}

/* Squared lengths below the normal range. K of u x and u z is u^2 K, and their gradients are u times those of x and z,
 * exactly if u is a power of two. Entries of the AGOP are u^2 times as large, below the normal range themselves. */
static void test_short_images(void) {
    const int exponent = sizeof(rfm_real) == 8 ? -534 : -70;
    const rfm_real u = (rfm_real)ldexp(1, exponent);
    size_t which, i, j;
    for (which = 0; which < SHAPES; which += STEP) {
        const int metric = which % 2 == 0;
        rfm_mat g;
        int status;
        test_reset();
        test_note("shape", which, 0, 0);
        if (shapes[which].kernel == RFM_CONV_LAPLACE || !make(&shapes[which], 4, 3, 2)) continue;
        g = test_mat(s.v, s.g.cols, 0, 0);
        if (g.at == NULL || run(GRADIENTS, metric) == TEST_SKIP) continue;
        for (i = 0; i < s.v; i++) memcpy(g.at + i * g.stride, s.g.at + i * s.g.stride, g.cols * sizeof *g.at);
        for (i = 0; i < s.n; i++)
            for (j = 0; j < s.pixels; j++) s.x.at[i * s.x.stride + j] *= u;
        for (i = 0; i < s.v; i++)
            for (j = 0; j < s.pixels; j++) s.z.at[i * s.z.stride + j] *= u;
        CHECK_INT(RFM_OK, run(GRADIENTS, metric));
        for (i = 0; i < s.v; i++)
            for (j = 0; j < g.cols; j++) CHECK(s.g.at[i * s.g.stride + j] == u * g.at[i * g.stride + j]);
        for (j = 0; j < 2; j++) {
            status = run(j == 0 ? AGOP : KERNEL, metric);
            CHECK(status == RFM_OK || status == TEST_SKIP);
        }
        /* One short image among long ones. */
        for (i = 1; i < s.n; i++)
            for (j = 0; j < s.pixels; j++) s.x.at[i * s.x.stride + j] /= u;
        for (i = 1; i < s.v; i++)
            for (j = 0; j < s.pixels; j++) s.z.at[i * s.z.stride + j] /= u;
        CHECK_INT(RFM_OK, run(GRADIENTS, metric));
        status = run(AGOP, metric);
        CHECK(status == RFM_OK || status == TEST_SKIP);
    }
}

/* One set short, the other long: K and the gradients go with the length of X, K with that of Z, gradients do not. */
static void test_short_set(void) {
    const rfm_real u = (rfm_real)ldexp(1, sizeof(rfm_real) == 8 ? -560 : -80);
    size_t which, i, j, short_z;
    for (which = 0; which < SHAPES; which += STEP)
        for (short_z = 0; short_z < 2; short_z++) {
            const int metric = which % 2 == 0;
            const rfm_real unit = short_z ? 1 : u;
            rfm_mat g, k, a, set;
            test_reset();
            test_note("shape, short set", which, short_z, 0);
            if (shapes[which].kernel == RFM_CONV_LAPLACE || !make(&shapes[which], 4, 3, 2)) continue;
            g = test_mat(s.v, s.g.cols, 0, 0), k = test_mat(s.n, s.v, 0, 0), a = test_mat(s.d, s.d, 0, 0);
            if (a.at == NULL || g.at == NULL || run(GRADIENTS, metric) == TEST_SKIP) continue;
            if (run(KERNEL, metric) == TEST_SKIP || run(AGOP, metric) == TEST_SKIP) continue;
            for (i = 0; i < s.v; i++) memcpy(g.at + i * g.stride, s.g.at + i * s.g.stride, g.cols * sizeof *g.at);
            for (i = 0; i < s.n; i++) memcpy(k.at + i * k.stride, s.k.at + i * s.k.stride, k.cols * sizeof *k.at);
            for (i = 0; i < s.d; i++) memcpy(a.at + i * a.stride, s.a.at + i * s.a.stride, a.cols * sizeof *a.at);
            set = short_z ? s.z : s.x;
            for (i = 0; i < set.rows; i++)
                for (j = 0; j < s.pixels; j++) set.at[i * set.stride + j] *= u;
            CHECK_INT(RFM_OK, run(KERNEL, metric));
            CHECK_INT(RFM_OK, run(GRADIENTS, metric));
            CHECK_INT(RFM_OK, run(AGOP, metric));
            for (i = 0; i < s.n; i++)
                for (j = 0; j < s.v; j++) CHECK(s.k.at[i * s.k.stride + j] == u * k.at[i * k.stride + j]);
            for (i = 0; i < s.v; i++)
                for (j = 0; j < g.cols; j++) CHECK(s.g.at[i * s.g.stride + j] == unit * g.at[i * g.stride + j]);
            for (i = 0; i < s.d; i++)
                for (j = 0; j < s.d && short_z; j++) CHECK(s.a.at[i * s.a.stride + j] == a.at[i * a.stride + j]);
        }
}

/* One short image among long ones of its set: down to lengths of 2^-63 (double: 2^-511) as if it were alone, zeros
 * below 2^-75 (2^-537). */
static void test_mixed_set(void) {
    static const int exponents[2][2] = {{-50, -480}, {-80, -545}};
    size_t which, i, j, zeros;
    for (which = 0; which < SHAPES; which += STEP)
        for (zeros = 0; zeros < 2; zeros++) {
            const rfm_real u = (rfm_real)ldexp(1, exponents[zeros][sizeof(rfm_real) == 8]);
            rfm_mat g, k;
            test_reset();
            test_note("shape, zeros", which, zeros, 0);
            if (shapes[which].kernel == RFM_CONV_LAPLACE || !make(&shapes[which], 4, 3, 2)) continue;
            g = test_mat(1, s.g.cols, 0, 0), k = test_mat(s.n, s.v, 0, 0);
            if (k.at == NULL || run(GRADIENTS, 0) == TEST_SKIP || run(KERNEL, 0) == TEST_SKIP) continue;
            memcpy(g.at, s.g.at + s.g.stride, g.cols * sizeof *g.at);
            for (i = 0; i < s.n; i++) memcpy(k.at + i * k.stride, s.k.at + i * s.k.stride, k.cols * sizeof *k.at);
            for (j = 0; j < s.pixels; j++) s.z.at[s.z.stride + j] *= u;
            CHECK_INT(RFM_OK, run(GRADIENTS, 0));
            CHECK_INT(RFM_OK, run(KERNEL, 0));
            for (j = 0; j < g.cols; j++) CHECK(s.g.at[s.g.stride + j] == (zeros ? 0 : g.at[j]));
            for (i = 0; i < s.n; i++)
                for (j = 0; j < s.v; j++)
                    CHECK(s.k.at[i * s.k.stride + j] == (j != 1 ? 1 : zeros ? 0 : u) * k.at[i * k.stride + j]);
        }
}

/* ---- fits ------------------------------------------------------------------------------------------- */

typedef struct {
    size_t channels, height, width, n, v, c;
    rfm_mat x, y, xv, yv;
    rfm_data data;
    rfm_conv_options o;
    rfm_conv_model m;
    rfm_conv_report report;
    rfm_conv_step path[12];
    rfm_arena store;
} task;

static task t;

/* The class is the sign of a bar of three pixels at a random place in noise; c = 2: one-hot. */
static void fill_bars(rfm_mat x, rfm_mat y, uint32_t stream, size_t channels, size_t height, size_t width) {
    size_t i, j;
    fill(x, stream, 0.4);
    for (i = 0; i < x.rows; i++) {
        const double sign = i % 2 ? 1 : -1;
        const size_t row = (size_t)((test_number(stream + 7, i, 0) + 1) / 2 * (double)height);
        const size_t col = (size_t)((test_number(stream + 7, i, 1) + 1) / 2 * (double)(width - 2));
        for (j = 0; j < 3; j++) x.at[i * x.stride + row * width + col + j] += (rfm_real)sign;
        for (j = 0; j < y.cols; j++) y.at[i * y.stride + j] = (rfm_real)(y.cols == 1 ? sign : (j == 1) == (sign > 0));
    }
    (void)channels;
}

/* 0: no room. */
static int make_task(size_t channels, size_t height, size_t width, size_t n, size_t v, size_t c) {
    const size_t pixels = channels * height * width;
    memset(&t, 0, sizeof t);
    memset(&s, 0, sizeof s);
    t.channels = channels, t.height = height, t.width = width, t.n = n, t.v = v, t.c = c;
    t.x = test_mat(n, pixels, 1, 0), t.y = test_mat(n, c, 1, 0);
    t.xv = test_mat(v, pixels, 3, 0), t.yv = test_mat(v, c, 2, 0);
    if (t.x.at == NULL || t.y.at == NULL || t.xv.at == NULL || t.yv.at == NULL) return 0;
    fill_bars(t.x, t.y, 11, channels, height, width);
    fill_bars(t.xv, t.yv, 12, channels, height, width);
    t.data.x = rfm_const(t.x), t.data.y = rfm_const(t.y);
    t.data.x_validation = rfm_const(t.xv), t.data.y_validation = rfm_const(t.yv);
    rfm_conv_options_init(&t.o);
    t.o.rounds = 2, t.o.ridges = 2, t.o.ridge[0] = (rfm_real)1e-2, t.o.ridge[1] = (rfm_real)0.3;
    t.o.filters = 5;
    t.report.path = t.path;
    return 1;
}

static int fit_need(size_t *scratch, size_t *kept) {
    return rfm_conv_fit_need(&s.ctx, t.channels, t.height, t.width, &t.data, &t.o, scratch, kept);
}

static int fit_call(void) {
    return rfm_conv_fit(&s.ctx, t.channels, t.height, t.width, &t.data, &t.o, &t.store, &t.m, &t.report);
}

/* On exactly the memory that it needs; the model stays in the pool. */
static int run_fit(void) {
    size_t scratch = 0, kept = 0, mark;
    void *memory;
    int status = fit_need(&scratch, &kept);
    if (status != RFM_OK) return status;
    memory = test_take(kept);
    mark = test_mark();
    if (memory == NULL || !arena_of(scratch)) return TEST_SKIP;
    CHECK_INT(RFM_OK, rfm_arena_init(&t.store, memory, kept));
    status = fit_call();
    CHECK_SIZE(0, arena.used);
    CHECK_INT(RFM_OK, arena.status);
    CHECK_SIZE(status == RFM_OK ? kept : 0, t.store.used);
    if (status == RFM_OK) CHECK_SIZE(scratch, arena.peak);
    test_rewind(mark);
    return status;
}

static int run_predict(const rfm_conv_model *m, rfm_cmat z, rfm_mat y) {
    const size_t mark = test_mark();
    size_t bytes = 0;
    int status;
    CHECK_INT(RFM_OK, rfm_conv_predict_need(&s.ctx, m, z.rows, &bytes));
    if (!arena_of(bytes)) return TEST_SKIP;
    status = rfm_conv_predict(&s.ctx, m, z, y);
    CHECK_SIZE(0, arena.used);
    if (status == RFM_OK) CHECK_SIZE(bytes, arena.peak);
    test_rewind(mark);
    return status;
}

/* One image after the other agrees with all at once. */
static void check_one(const rfm_conv_model *m, rfm_mat z, size_t c) {
    rfm_mat y = test_mat(z.rows, c, 1, 0), one = test_mat(1, c, 0, 0);
    rfm_mat scratch = test_mat(1, rfm_conv_scratch(m), 0, 0);
    double most = 1;
    size_t i, k;
    if (scratch.at == NULL || one.at == NULL || run_predict(m, rfm_const(z), y) != RFM_OK) return;
    test_check_padding(y);
    for (i = 0; i < m->n * m->c; i++) most += fabs((double)m->alpha[i]);
    for (i = 0; i < z.rows; i++) {
        CHECK_INT(RFM_OK, rfm_conv_predict_one(m, z.at + i * z.stride, one.at, scratch.at));
        for (k = 0; k < c; k++)
            CHECK_BELOW(fabs((double)one.at[k] - (double)y.at[i * y.stride + k]), 100 * TEST_EPS * most);
    }
    test_check_padding(one);
    test_check_padding(scratch);
}

static const struct {
    int kernel, depth, padded;
    size_t patch, height, c, layers;
} fits[] = {
    {RFM_CONV_LAPLACE, 1, 0, 3, 6, 1, 0}, {RFM_CONV_NNGP, 1, 1, 3, 6, 2, 0}, {RFM_CONV_NTK, 1, 0, 2, 6, 1, 0},
    {RFM_CONV_NTK, 2, 0, 3, 6, 2, 0},     {RFM_CONV_NTK, 2, 1, 3, 1, 1, 0},  {RFM_CONV_LAPLACE, 1, 0, 3, 6, 1, 1},
    {RFM_CONV_NTK, 2, 0, 2, 5, 2, 1},     {RFM_CONV_NNGP, 3, 1, 2, 4, 1, 2},
};

static int make_fit(size_t i) {
    if (!make_task(1, fits[i].height, 8, TEST_FEW ? 14 : 26, TEST_FEW ? 6 : 12, fits[i].c)) return 0;
    t.o.kernel = fits[i].kernel, t.o.depth = fits[i].depth, t.o.padded = fits[i].padded, t.o.patch = fits[i].patch;
    t.o.layers = fits[i].layers;
    return 1;
}

/* Scores are those of the model's predictions; the round and the ridge are the best ones; any number of workers. */
static void test_fit(void) {
    static const size_t workers[] = {2, 7};
    size_t i, j, q, w;
    for (i = 0; i < TEST_LENGTH(fits); i += STEP) {
        rfm_mat y;
        double right = 0;
        uint64_t hash;
        size_t mark;
        int status;
        test_reset();
        test_note("fit", i, 0, 0);
        if (!make_fit(i)) continue;
        t.o.best = 0;
        mark = test_mark();
        status = run_fit();
        if (status == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, status);
        CHECK_SIZE(fits[i].layers, t.m.layers);
        for (q = 0; q <= t.o.rounds; q++) {
            const rfm_conv_step *step = &t.path[t.m.layers * (t.o.rounds + 1) + q];
            CHECK(step->score <= t.path[t.m.layers * (t.o.rounds + 1) + t.report.best].score);
            CHECK(step->ridge >= t.o.ridge[0] && step->largest > 0 && step->rank >= 1);
        }
        CHECK(t.report.scores[t.m.layers] == t.path[t.m.layers * (t.o.rounds + 1) + t.report.best].score);
        hash = test_hash(test_mark());
        for (w = 0; w < TEST_LENGTH(workers); w++) {
            test_pool pool;
            pool.workers = workers[w], pool.reverse = 1;
            test_rewind(mark);
            s.ctx.run = test_pool_run, s.ctx.pool = &pool, s.ctx.workers = workers[w];
            status = run_fit();
            s.ctx.run = NULL, s.ctx.workers = 0;
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            CHECK(hash == test_hash(test_mark()));
        }
        test_rewind(mark);
        CHECK_INT(RFM_OK, run_fit());
        y = test_mat(t.v, t.c, 0, 0);
        if (y.at == NULL || run_predict(&t.m, rfm_const(t.xv), y) == TEST_SKIP) continue;
        for (j = 0; j < t.v; j++) {
            const rfm_real *a = y.at + j * y.stride, *b = t.yv.at + j * t.yv.stride;
            right += t.c == 1 ? (a[0] > 0) == (b[0] > 0) : (a[1] > a[0]) == (b[1] > b[0]);
            CHECK_SIZE(t.c == 1 ? a[0] > 0 : a[1] > a[0], rfm_conv_class(&t.m, a));
        }
        CHECK_BELOW(fabs(right / (double)t.v - (double)t.report.scores[t.m.layers]), 1e-6);
        check_one(&t.m, t.xv, t.c);
    }
}

/* A small ridge fits the training images; alpha is that of K, whatever K was divided by. */
static void test_solution(void) {
    rfm_mat y, k;
    size_t i, j;
    if (!make_task(2, 5, 6, 20, 6, 1)) TEST_IGNORE_MESSAGE("no room");
    t.o.rounds = 1, t.o.select = RFM_SELECT_LAST, t.o.ridges = 1, t.o.ridge[0] = (rfm_real)1e-3;
    y = test_mat(t.n, 1, 0, 0), k = test_mat(t.n, t.n, 0, 0);
    if (k.at == NULL || run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_SIZE(1, t.report.best);
    if (run_predict(&t.m, t.data.x, y) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < t.n; i++) {
        /* y - f = ridge alpha in units of K's largest entry */
        const double off = (double)(t.y.at[i * t.y.stride] - y.at[i]);
        CHECK_BELOW(fabs(off - (double)t.path[1].ridge * (double)t.m.alpha[i] * (double)t.path[1].largest), 2e-4);
    }
    for (i = 0, j = 0; i < t.n; i++) j += (y.at[i] > 0) == (t.y.at[i * t.y.stride] > 0);
    CHECK_SIZE(t.n, j);
}

/* Of two ridges the better one on the validation rows, whichever comes first. */
static void test_ridges(void) {
    rfm_real scores[2], ridges[2] = {(rfm_real)1e-3, (rfm_real)30};
    size_t i, order;
    if (!make_task(1, 5, 6, 16, 8, 1)) TEST_IGNORE_MESSAGE("no room");
    t.o.rounds = 0, t.o.score = RFM_SCORE_SQUARED;
    for (i = 0; i < 2; i++) {
        t.o.ridges = 1, t.o.ridge[0] = ridges[i];
        if (run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        scores[i] = t.path[0].score;
    }
    CHECK(scores[0] != scores[1]);
    for (order = 0; order < 2; order++) {
        const size_t best = scores[1] < scores[0];
        t.o.ridges = 2, t.o.ridge[0] = ridges[order], t.o.ridge[1] = ridges[1 - order];
        if (run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK(t.path[0].ridge == ridges[best]);
        CHECK_BELOW(fabs((double)(t.path[0].score - scores[best])), 50 * TEST_EPS);
    }
}

/* M is divided by its Frobenius norm, or not; power 1 squares it. */
static void test_power(void) {
    double worst = 0, most = 0;
    rfm_mat m[2];
    size_t i, j, q, power;
    int scale;
    if (!make_task(1, 5, 6, 16, 6, 1)) TEST_IGNORE_MESSAGE("no room");
    m[0] = test_mat(9, 9, 0, 0), m[1] = test_mat(9, 9, 0, 0);
    if (m[1].at == NULL) TEST_IGNORE_MESSAGE("no room");
    t.o.rounds = 1, t.o.select = RFM_SELECT_LAST;
    for (scale = 1; scale >= 0; scale--)
        for (power = 0; power < 2; power++) {
            double norm = 0;
            t.o.scale = scale, t.o.power = (int)power;
            if (run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            CHECK_INT(RFM_OK, rfm_conv_metric(&t.m, m[power]));
            for (i = 0; i < 81; i++) norm += (double)m[power].at[i] * (double)m[power].at[i];
            if (scale) CHECK_BELOW(fabs(norm - 1), 100 * TEST_EPS);
        }
    for (i = 0; i < 9; i++)
        for (j = 0; j < 9; j++) {
            double sum = 0;
            for (q = 0; q < 9; q++) sum += model_at(m[0], i, q) * model_at(m[0], q, j);
            worst = fmax(worst, fabs(sum - model_at(m[1], i, j))), most = fmax(most, fabs(sum));
        }
    CHECK_BELOW(worst, 200 * TEST_EPS * most);
}

/* A fit that starts from M goes on as the one that M is from. */
static void test_start(void) {
    rfm_mat m, n, alpha;
    if (!make_task(1, 5, 6, 16, 6, 1)) TEST_IGNORE_MESSAGE("no room");
    t.o.rounds = 1, t.o.select = RFM_SELECT_LAST;
    m = test_mat(9, 9, 0, 0), n = test_mat(9, 9, 0, 0), alpha = test_mat(16, 1, 0, 0);
    if (alpha.at == NULL || run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_conv_metric(&t.m, m));
    memcpy(alpha.at, t.m.alpha, 16 * sizeof *alpha.at);
    t.o.rounds = 0, t.data.start = rfm_const(m);
    if (run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_conv_metric(&t.m, n));
    CHECK_CLOSE(m, n, 50);
    CHECK_BELOW(model_apart(alpha, rfm_view((rfm_real *)(uintptr_t)t.m.alpha, 16, 1)),
                1e4 * TEST_EPS * model_most(alpha));
    m.at[0] = -1;
    CHECK_INT(RFM_ENOTPD, run_fit());
}

/* Gradients at some images only: other numbers, the same for the same seed. */
static void test_points(void) {
    rfm_mat m[3];
    size_t i;
    if (!make_task(1, 5, 6, 16, 6, 1)) TEST_IGNORE_MESSAGE("no room");
    t.o.rounds = 1, t.o.select = RFM_SELECT_LAST, t.o.agop_points = 5;
    for (i = 0; i < 3; i++) {
        t.o.seed = i == 1 ? 9 : 3;
        m[i] = test_mat(9, 9, 0, 0);
        if (m[i].at == NULL || run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_INT(RFM_OK, rfm_conv_metric(&t.m, m[i]));
    }
    CHECK(memcmp(m[0].at, m[2].at, 81 * sizeof(rfm_real)) == 0);
    CHECK(memcmp(m[0].at, m[1].at, 81 * sizeof(rfm_real)) != 0);
}

/* Deep ConvRFM: repeats from its seed, differs with another; keeps as many layers as score best. */
static void test_deep(void) {
    rfm_mat f[3];
    size_t i;
    if (!make_task(1, 5, 6, 16, 8, 1)) TEST_IGNORE_MESSAGE("no room");
    t.o.layers = 1, t.o.depth = 2, t.o.patch = 2, t.o.best = 0;
    for (i = 0; i < 3; i++) {
        t.o.seed = i == 1 ? 9 : 3;
        f[i] = test_mat(5, 4, 0, 0);
        if (f[i].at == NULL || run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_SIZE(1, t.m.layers);
        CHECK_INT(1, t.m.f.depth);
        CHECK_SIZE(5, t.m.f.channels);
        CHECK_SIZE(4, t.m.f.height);
        memcpy(f[i].at, t.m.layer[0].filters, 20 * sizeof(rfm_real));
    }
    CHECK(memcmp(f[0].at, f[2].at, 20 * sizeof(rfm_real)) == 0);
    CHECK(memcmp(f[0].at, f[1].at, 20 * sizeof(rfm_real)) != 0);
}

/* Scores of single rows: p of them better, q worse, the others alike. */
static int leads(int score, size_t p, size_t q) {
    rfm_real a[40], b[40];
    size_t i;
    for (i = 0; i < 40; i++) {
        a[i] = b[i] = i % 2 ? 0 : 1;
        if (i < p + q) a[i] = i < p, b[i] = i >= p;
    }
    return score == RFM_SCORE_SQUARED ? rfm_conv_leads(score, 40, b, a) : rfm_conv_leads(score, 40, a, b);
}

/* A lead counts beyond its standard error, the root of the number of rows on which two models differ. */
static void test_leads(void) {
    static const rfm_real even[] = {3, 1, 2, 2}, ahead[] = {1, 2, 3, 4}, behind[] = {0, 0, 2, 2};
    rfm_real tiny[8];
    size_t p, q, i;
    for (p = 0; p < 20; p++)
        for (q = 0; q < 20; q++) {
            const int expected = p > q && (p - q) * (p - q) > p + q;
            CHECK_INT(expected, leads(RFM_SCORE_ACCURACY, p, q));
            CHECK_INT(expected, leads(RFM_SCORE_SQUARED, p, q));
        }
    CHECK_INT(0, rfm_conv_leads(RFM_SCORE_ACCURACY, 0, NULL, NULL));
    CHECK_INT(0, rfm_conv_leads(RFM_SCORE_SQUARED, 4, even, ahead)); /* differences -2, 1, 1, 2: 2 in all */
    CHECK_INT(0, rfm_conv_leads(RFM_SCORE_SQUARED, 4, ahead, even));
    CHECK_INT(1, rfm_conv_leads(RFM_SCORE_SQUARED, 4, behind, ahead)); /* 1, 2, 1, 2: 6, with an error of 3.2 */
    CHECK_INT(0, rfm_conv_leads(RFM_SCORE_SQUARED, 4, ahead, behind));
    for (i = 0; i < 8; i++) /* numbers whose squares are 0 */
        tiny[i] = (i < 4 ? even[i] : ahead[i - 4]) * (rfm_real)(sizeof(rfm_real) == 4 ? 1e-30 : 1e-200);
    CHECK_INT(0, rfm_conv_leads(RFM_SCORE_SQUARED, 4, tiny, tiny + 4));
}

/* A layer is taken where its lead over the model so far is more than its error, and the scores of rows are those of the
 * model. Validation rows of no meaning: there is chance in both directions. */
static void test_layer_choice(void) {
    size_t taken = 0, refused = 0, kept = 0, seed, i;
    for (seed = 0; seed < 12; seed++) {
        rfm_real held[3][60];
        size_t expected = 0, j;
        test_reset();
        test_note("seed", seed, 0, 0);
        if (!make_task(1, 5, 6, 16, 20, 1)) TEST_IGNORE_MESSAGE("no room");
        for (j = 0; j < 20; j++) t.yv.at[j * t.yv.stride] = test_number(91, seed, j) > 0 ? 1 : -1;
        t.o.depth = 3, t.o.patch = 2, t.o.rounds = 0, t.o.seed = (uint32_t)seed;
        for (i = 0; i < 3; i++) { /* no layer, two layers, those that lead */
            double sum = 0;
            t.o.layers = i > 0 ? 2 : 0, t.o.best = i == 2, t.report.held = held[i];
            if (run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            for (j = 0; j < 20; j++) sum += (double)held[i][t.m.layers * 20 + j] / 20;
            CHECK_BELOW(fabs(sum - (double)t.report.scores[t.m.layers]), 1e-6);
        }
        for (j = 1; j < 3; j++)
            if (rfm_conv_leads(RFM_SCORE_ACCURACY, 20, held[1] + j * 20, held[1] + expected * 20)) expected = j;
        CHECK_SIZE(expected, t.m.layers);
        CHECK_SIZE(expected, t.report.layers);
        CHECK(memcmp(held[1], held[0], 20 * sizeof(rfm_real)) == 0 && memcmp(held[2], held[1], sizeof held[2]) == 0);
        taken += expected > 0, refused += expected == 0 && t.report.scores[1] > t.report.scores[0];
        kept += expected == 1 && rfm_conv_leads(RFM_SCORE_ACCURACY, 20, held[1] + 40, held[1]);
    }
    CHECK(taken > 0 && refused > 0 && kept > 0);
}

/* Filters have the covariance M. */
static void test_filters(void) {
    rfm_mat m, filters;
    double worst = 0;
    size_t i, j, k, count = 4000;
    if (!make_task(1, 5, 6, 16, 6, 1)) TEST_IGNORE_MESSAGE("no room");
    t.o.rounds = 1, t.o.select = RFM_SELECT_LAST, t.o.patch = 2;
    m = test_mat(4, 4, 0, 0), filters = test_mat(count, 4, 1, 0);
    if (filters.at == NULL || m.at == NULL || run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_conv_metric(&t.m, m));
    CHECK_INT(RFM_OK, rfm_conv_filters(&t.m, 1, filters));
    test_check_padding(filters);
    for (i = 0; i < 4; i++)
        for (j = 0; j < 4; j++) {
            double sum = 0;
            for (k = 0; k < count; k++)
                sum += (double)filters.at[k * filters.stride + i] * (double)filters.at[k * filters.stride + j];
            worst = fmax(worst, fabs(sum / (double)count - (double)m.at[i * 4 + j]));
        }
    CHECK_BELOW(worst, 0.1 * model_most(m)); /* 4,000 draws: a standard deviation is 0.022 at most */
    filters.cols = 3;
    CHECK_INT(RFM_ESHAPE, rfm_conv_filters(&t.m, 1, filters));
    CHECK_INT(RFM_ENULL, rfm_conv_filters(NULL, 1, filters));
}

/* Features are products of filters and patches. */
static void test_features(void) {
    size_t which, relu, i, k, r, j, bytes = 0;
    for (which = 0; which < SHAPES; which += STEP)
        for (relu = 0; relu < 2; relu++) {
            rfm_mat filters, to, patches;
            test_reset();
            test_note("shape, relu", which, relu, 0);
            if (!make(&shapes[which], 3, 2, 1)) continue;
            filters = test_mat(4, s.d, 1, 0), to = test_mat(s.v, 4 * s.places, 1, 0);
            patches = test_mat(s.places, s.d, 1, 0);
            if (patches.at == NULL || filters.at == NULL || to.at == NULL) continue;
            fill(filters, 5, 1);
            CHECK_INT(RFM_OK, rfm_conv_features_need(&s.ctx, s.f, 4, s.v, &bytes));
            if (!arena_of(bytes)) continue;
            CHECK_INT(RFM_OK, rfm_conv_features(&s.ctx, s.f, rfm_const(filters), (int)relu, rfm_const(s.z), to));
            CHECK_SIZE(bytes, arena.peak);
            test_check_padding(to);
            for (i = 0; i < s.v; i++) {
                set_patches(s.f, s.z.at + i * s.z.stride, fields[0]);
                CHECK_INT(RFM_OK, rfm_conv_patches(s.f, s.z.at + i * s.z.stride, patches));
                test_check_padding(patches);
                for (r = 0; r < s.places; r++)
                    for (k = 0; k < 4; k++) {
                        double sum = 0;
                        for (j = 0; j < s.d; j++) {
                            CHECK((double)patches.at[r * patches.stride + j] == fields[0][r * s.d + j]);
                            sum += fields[0][r * s.d + j] * (double)filters.at[k * filters.stride + j];
                        }
                        if (relu && sum < 0) sum = 0;
                        CHECK_BELOW(fabs(sum - (double)to.at[i * to.stride + k * s.places + r]), 50 * TEST_EPS);
                    }
            }
        }
}

static void test_feature_refusals(void) {
    rfm_mat filters, to, less;
    rfm_conv f;
    rfm_real was;
    size_t bytes = 0;
    if (!make(&shapes[3], 3, 2, 1)) TEST_IGNORE_MESSAGE("no room");
    filters = test_mat(4, s.d, 1, 0), to = test_mat(s.v, 4 * s.places, 1, 0);
    CHECK_INT(RFM_OK, rfm_conv_features_need(&s.ctx, s.f, 4, s.v, &bytes));
    if (to.at == NULL || !arena_of(bytes)) TEST_IGNORE_MESSAGE("no room");
    fill(filters, 5, 1);
#define FEATURES(filters, z, to) rfm_conv_features(&s.ctx, s.f, rfm_const(filters), 1, rfm_const(z), to)
    less = filters, less.cols--;
    CHECK_INT(RFM_ESHAPE, FEATURES(less, s.z, to));
    less = to, less.cols--;
    CHECK_INT(RFM_ESHAPE, FEATURES(filters, s.z, less));
    less = to, less.rows--;
    CHECK_INT(RFM_ESHAPE, FEATURES(filters, s.z, less));
    less = s.z, less.cols--;
    CHECK_INT(RFM_ESHAPE, FEATURES(filters, less, to));
    CHECK_INT(RFM_EALIAS, FEATURES(filters, s.z, rfm_view(s.z.at, s.v, 4 * s.places)));
    was = filters.at[1], filters.at[1] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, FEATURES(filters, s.z, to));
    filters.at[1] = was;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, arena.base, bytes - 1));
    CHECK_INT(RFM_EARENA, FEATURES(filters, s.z, to));
#undef FEATURES
    f = *s.f, f.patch = 0;
    CHECK_INT(RFM_EZERO, rfm_conv_features_need(&s.ctx, &f, 4, s.v, &bytes));
    CHECK_INT(RFM_EZERO, rfm_conv_features_need(&s.ctx, s.f, 0, s.v, &bytes));
    CHECK_INT(RFM_ENULL, rfm_conv_features_need(&s.ctx, s.f, 4, s.v, NULL));
    for (bytes = 0; bytes < to.cols; bytes++) CHECK(to.at[bytes] != to.at[bytes]); /* NaN still */
}

/* The offset of a model is added to every prediction. */
static void test_model_offset(void) {
    static const rfm_real offset[2] = {(rfm_real)0.75, -2};
    rfm_mat plain, moved;
    rfm_conv_model m;
    size_t i, k;
    if (!make_fit(1)) TEST_IGNORE_MESSAGE("no room");
    plain = test_mat(t.v, 2, 0, 0), moved = test_mat(t.v, 2, 0, 0);
    if (moved.at == NULL || run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    m = t.m, m.offset = offset;
    if (run_predict(&t.m, rfm_const(t.xv), plain) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, run_predict(&m, rfm_const(t.xv), moved));
    for (i = 0; i < t.v; i++)
        for (k = 0; k < 2; k++)
            CHECK_BELOW(fabs(model_at(moved, i, k) - model_at(plain, i, k) - (double)offset[k]), 4 * TEST_EPS);
    check_one(&m, t.xv, 2);
}

/* Laplace, an image that is nearly a centre: its patches have no digits in |p|^2 + |e|^2 - 2 s. */
static void test_near_image(void) {
    rfm_mat metric, one, scratch;
    size_t i, j, d;
    double most = 1;
    if (!make_fit(0)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 7; i++) fields[i] = (double *)test_take(48 * 9 * sizeof(double));
    if (fields[6] == NULL || run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    d = rfm_conv_patch(&t.m.f);
    metric = test_mat(d, d, 0, 0), one = test_mat(1, 1, 0, 0), scratch = test_mat(1, rfm_conv_scratch(&t.m), 0, 0);
    if (scratch.at == NULL || one.at == NULL) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_conv_metric(&t.m, metric));
    for (i = 0; i < t.n; i++) most += fabs((double)t.m.alpha[i]);
    for (j = 0; j < 3; j++) { /* equal, very near, near */
        double sum = 0;
        t.x.at[j * t.x.stride + 9] += (rfm_real)(j == 0 ? 0 : j == 1 ? 64 * TEST_EPS : 1e-3);
        CHECK_INT(RFM_OK, rfm_conv_predict_one(&t.m, t.x.at + j * t.x.stride, one.at, scratch.at));
        set_patches(&t.m.f, t.x.at + j * t.x.stride, fields[1]);
        for (i = 0; i < t.n; i++) {
            set_patches(&t.m.f, t.m.images + i * rfm_conv_pixels(&t.m.f), fields[0]);
            sum += (double)t.m.alpha[i] * plain_kernel(&t.m.f, metric.at, fields[0], fields[1]);
        }
        CHECK_BELOW(fabs(sum - (double)one.at[0]), 100 * TEST_EPS * most);
    }
}

/* Every image twice, and a ridge that rounding swallows: it grows until the equations can be solved, and no further. */
static void test_small_ridge(void) {
    rfm_mat y;
    size_t i;
    if (!make_task(1, 5, 6, 16, 4, 1)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 8; i++) {
        memcpy(t.x.at + (i + 8) * t.x.stride, t.x.at + i * t.x.stride, t.x.cols * sizeof(rfm_real));
        t.y.at[(i + 8) * t.y.stride] = t.y.at[i * t.y.stride];
    }
    t.o.kernel = RFM_CONV_LAPLACE, t.o.rounds = 0, t.o.ridges = 1, t.o.ridge[0] = (rfm_real)1e-30;
    y = test_mat(t.n, 1, 0, 0);
    if (y.at == NULL || run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK(t.path[0].ridge > t.o.ridge[0]);
    CHECK_BELOW((double)t.path[0].ridge, 1e4 * TEST_EPS);
    if (run_predict(&t.m, t.data.x, y) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < t.n; i++) CHECK_BELOW(fabs((double)(y.at[i] - t.y.at[i * t.y.stride])), 0.02);
}

/* A byte less in either arena: refused, nothing taken. */
static void test_fit_memory(void) {
    size_t i, scratch = 0, kept = 0;
    for (i = 0; i < TEST_LENGTH(fits); i += 3) {
        void *memory;
        rfm_conv_model before;
        test_reset();
        test_note("fit", i, 0, 0);
        if (!make_fit(i)) continue;
        memset(&before, 0x55, sizeof before);
        CHECK_INT(RFM_OK, fit_need(&scratch, &kept));
        memory = test_take(kept);
        if (memory == NULL || !arena_of(scratch)) continue;
        t.m = before;
        CHECK_INT(RFM_OK, rfm_arena_init(&t.store, memory, kept - 1));
        CHECK_INT(RFM_EARENA, fit_call());
        CHECK_SIZE(0, t.store.used);
        CHECK_INT(RFM_OK, t.store.status);
        CHECK_INT(RFM_OK, rfm_arena_init(&t.store, memory, kept));
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, arena.base, scratch - 1));
        CHECK_INT(RFM_EARENA, fit_call());
        CHECK_SIZE(0, t.store.used);
        CHECK_SIZE(0, arena.used);
        CHECK_INT(RFM_OK, arena.status);
        CHECK(memcmp(&before, &t.m, sizeof before) == 0);
    }
}

/* One arena for both: the model lies below the scratch. */
static void test_one_arena(void) {
    size_t scratch = 0, kept = 0;
    rfm_mat alpha;
    if (!make_task(1, 5, 6, 16, 6, 1)) TEST_IGNORE_MESSAGE("no room");
    alpha = test_mat(16, 1, 0, 0);
    if (alpha.at == NULL || run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    memcpy(alpha.at, t.m.alpha, 16 * sizeof *alpha.at);
    CHECK_INT(RFM_OK, fit_need(&scratch, &kept));
    if (!arena_of(scratch + kept)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_conv_fit(&s.ctx, t.channels, t.height, t.width, &t.data, &t.o, &arena, &t.m, &t.report));
    CHECK_SIZE(kept, arena.used);
    CHECK_SIZE(scratch + kept, arena.peak);
    CHECK(memcmp(alpha.at, t.m.alpha, 16 * sizeof *alpha.at) == 0);
}

static rfm_real tick_last;
static int tick_stop, tick_calls;

static int on_tick(void *arg, rfm_real done) {
    (void)arg;
    if (!(done >= tick_last && done <= 1)) tick_calls = -1000000;
    tick_last = done;
    return ++tick_calls == tick_stop;
}

static void test_ticks(void) {
    size_t i, mark;
    int calls, stop;
    for (i = 0; i < TEST_LENGTH(fits); i += TEST_FEW ? 6 : 3) {
        test_reset();
        test_note("fit", i, 0, 0);
        if (!make_fit(i)) continue;
        mark = test_mark();
        s.ctx.tick = on_tick;
        tick_calls = 0, tick_stop = -1, tick_last = 0;
        if (run_fit() == TEST_SKIP) continue;
        CHECK(tick_calls > 5);
        CHECK(tick_last > (rfm_real)0.5);
        for (calls = tick_calls, stop = 1; stop <= calls; stop += calls / 4) {
            tick_calls = 0, tick_stop = stop, tick_last = 0;
            test_rewind(mark);
            CHECK_INT(RFM_ECANCEL, run_fit());
        }
        s.ctx.tick = NULL;
    }
}

static void refused(int status) {
    size_t a = 0, b = 0;
    rfm_arena all;
    const size_t mark = test_mark();
    void *memory = test_take(64);
    CHECK(memory != NULL);
    CHECK_INT(RFM_OK, rfm_arena_init(&all, memory, 64));
    s.ctx.arena = &all, t.store = all;
    if (status != RFM_EFINITE) CHECK_INT(status, fit_need(&a, &b));
    CHECK_INT(status, fit_call());
    CHECK_SIZE(0, a + b);
    test_rewind(mark);
}

static void test_fit_refusals(void) {
    static task good;
    int deep;
    for (deep = 0; deep < 2; deep++) {
        test_reset();
        if (!make_task(1, 5, 6, 8, 4, 1)) TEST_IGNORE_MESSAGE("no room");
        if (deep) t.o.layers = 1, t.o.depth = 2, t.o.patch = 2;
        good = t;
        t.channels = 2;
        refused(RFM_ESHAPE);
        t = good, t.height = 0;
        refused(RFM_EZERO);
        t = good, t.o.patch = 6;
        refused(RFM_ESHAPE);
        t = good, t.o.depth = 0;
        refused(RFM_EVALUE);
        t = good, t.o.depth = 6;
        refused(RFM_EVALUE);
        t = good, t.o.depth = 9;
        refused(RFM_EVALUE);
        t = good, t.o.ridges = 0;
        refused(RFM_EVALUE);
        t = good, t.o.ridges = RFM_CONV_RIDGES + 1;
        refused(RFM_EVALUE);
        t = good, t.o.ridge[1] = 0;
        refused(RFM_EVALUE);
        t = good, t.o.power = 2;
        refused(RFM_EVALUE);
        t = good, t.o.scale = -1;
        refused(RFM_EVALUE);
        t = good, t.o.agop_points = 9;
        refused(RFM_EVALUE);
        t = good, t.o.score = 2;
        refused(RFM_EVALUE);
        t = good, t.o.task = 2;
        refused(RFM_EVALUE);
        t = good, t.o.select = RFM_SELECT_LOO;
        refused(RFM_EVALUE);
        t = good, t.data.weights = t.y.at;
        refused(RFM_EVALUE);
        t = good, t.data.x_validation.at = NULL;
        refused(RFM_ENULL);
        t.data.y_validation.at = NULL;
        refused(RFM_EVALUE); /* nothing to select on */
        t = good, t.data.x.rows = t.data.y.rows = 0;
        refused(RFM_EZERO);
        t = good, t.data.x_validation.rows = t.data.y_validation.rows = 0;
        refused(RFM_EZERO);
        t = good, t.data.y.rows--;
        refused(RFM_ESHAPE);
        t = good, t.data.y_validation.rows--;
        refused(RFM_ESHAPE);
        t = good, t.data.x.at = NULL;
        refused(RFM_ENULL);
        t = good, t.data.start = rfm_const(t.y);
        refused(RFM_ESHAPE);
        t = good, t.x.at[2] = (rfm_real)NAN;
        refused(RFM_EFINITE);
        t.x.at[2] = 0, t.yv.at[0] = (rfm_real)INFINITY;
        refused(RFM_EFINITE);
        t.yv.at[0] = 1;
        if (!deep) continue;
        t = good, t.o.layers = 2; /* of depth 2: none would be left */
        refused(RFM_EVALUE);
        t = good, t.o.layers = RFM_CONV_LAYERS + 1;
        refused(RFM_EVALUE);
        t = good, t.o.filters = 0;
        refused(RFM_EVALUE);
        t = good, t.o.best = 2;
        refused(RFM_EVALUE);
    }
    CHECK_INT(RFM_ENULL, rfm_conv_fit(NULL, 1, 5, 6, &t.data, &t.o, &t.store, &t.m, NULL));
    CHECK_INT(RFM_ENULL, rfm_conv_fit(&s.ctx, 1, 5, 6, NULL, &t.o, &t.store, &t.m, NULL));
    CHECK_INT(RFM_ENULL, rfm_conv_fit(&s.ctx, 1, 5, 6, &t.data, NULL, &t.store, &t.m, NULL));
    CHECK_INT(RFM_ENULL, rfm_conv_fit(&s.ctx, 1, 5, 6, &t.data, &t.o, NULL, &t.m, NULL));
    CHECK_INT(RFM_ENULL, rfm_conv_fit(&s.ctx, 1, 5, 6, &t.data, &t.o, &t.store, NULL, NULL));
}

/* One image; images that are all equal, or black: a fit, finite predictions. */
static void test_hard_images(void) {
    static const int kernels[] = {RFM_CONV_LAPLACE, RFM_CONV_NNGP, RFM_CONV_NTK, RFM_CONV_NTK};
    size_t k, what, i;
    for (k = 0; k < TEST_LENGTH(kernels); k++)
        for (what = 0; what < 3; what++) {
            rfm_mat y;
            int status;
            test_reset();
            test_note("kernel, images", k, what, 0);
            if (!make_task(1, 4, 5, what == 0 ? 1 : 6, 3, 2)) continue;
            for (i = 0; what > 0 && i < t.n * t.x.stride; i++)
                if (i % t.x.stride < t.x.cols) t.x.at[i] = (rfm_real)(what == 1 ? 0.5 : 0);
            t.o.kernel = kernels[k], t.o.depth = k == 3 ? 2 : 1, t.o.patch = 2;
            status = run_fit();
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            y = test_mat(t.v, t.c, 0, 0);
            if (y.at == NULL || run_predict(&t.m, rfm_const(t.xv), y) == TEST_SKIP) continue;
            CHECK(rfm_finite(t.v * t.c, y.at));
            check_one(&t.m, t.xv, t.c);
        }
}

/* Targets and images in other units: with `scale` M and predictions are the same but for the unit of the targets. */
static void test_units(void) {
    rfm_mat y[3];
    size_t i, j;
    for (i = 0; i < 3; i++) {
        const double unit = i == 1 ? 1e-12 : i == 2 ? 1e12 : 1;
        if (i == 0) {
            if (!make_task(1, 5, 6, 16, 6, 1)) TEST_IGNORE_MESSAGE("no room");
            for (j = 0; j < 3; j++) y[j] = test_mat(t.v, 1, 0, 0);
            if (y[2].at == NULL) TEST_IGNORE_MESSAGE("no room");
        }
        for (j = 0; j < t.n; j++) t.y.at[j * t.y.stride] = (rfm_real)(unit * (j % 2 ? 1 : -1));
        t.o.select = RFM_SELECT_LAST, t.o.ridges = 1;
        if (run_fit() == TEST_SKIP || run_predict(&t.m, rfm_const(t.xv), y[i]) == TEST_SKIP)
            TEST_IGNORE_MESSAGE("no room");
        for (j = 0; j < t.v; j++) y[i].at[j] = (rfm_real)((double)y[i].at[j] / unit);
    }
    CHECK_BELOW(model_apart(y[0], y[1]), 2e4 * TEST_EPS);
    CHECK_BELOW(model_apart(y[0], y[2]), 2e4 * TEST_EPS);
}

static void scale_images(rfm_mat x, double unit) {
    size_t i, j;
    for (i = 0; i < x.rows; i++)
        for (j = 0; j < x.cols; j++) x.at[i * x.stride + j] *= (rfm_real)unit;
}

static const struct {
    int kernel, depth, power;
} networks[] = {
    {RFM_CONV_NNGP, 1, 1}, {RFM_CONV_NTK, 1, 1}, {RFM_CONV_NNGP, 2, 1}, {RFM_CONV_NTK, 2, 1},
    {RFM_CONV_NNGP, 1, 0}, {RFM_CONV_NTK, 1, 0}, {RFM_CONV_NNGP, 2, 0}, {RFM_CONV_NTK, 2, 0},
};

static int make_network(size_t which) {
    test_reset();
    if (!make_task(1, 1, 8, 8, 3, 1)) return 0;
    t.o.kernel = networks[which].kernel, t.o.depth = networks[which].depth, t.o.power = networks[which].power;
    t.o.select = RFM_SELECT_LAST;
    return 1;
}

/* With `scale` M and predictions do not depend on the unit of the images, where those go as its fourth power, too. */
static void test_image_units(void) {
    static const int exponents[][2] = {{-35, -273}, {-45, -380}, {-60, -500}, {35, 300}};
    size_t which, i;
    for (which = 0; which < TEST_LENGTH(networks); which += STEP)
        for (i = 0; i < TEST_LENGTH(exponents); i++) {
            rfm_mat y[2], m[2];
            int unit;
            test_note("network, exponent", which, i, 0);
            if (!make_network(which)) continue;
            for (unit = 0; unit < 2; unit++) {
                int status;
                y[unit] = test_mat(t.v, 1, 0, 0), m[unit] = test_mat(3, 3, 0, 0);
                if (m[unit].at == NULL) break;
                if (unit) {
                    const double u = ldexp(1, exponents[i][sizeof(rfm_real) == 8]);
                    scale_images(t.x, u), scale_images(t.xv, u);
                }
                status = run_fit();
                if (status == TEST_SKIP) break;
                CHECK_INT(RFM_OK, status);
                CHECK_INT(RFM_OK, rfm_conv_metric(&t.m, m[unit]));
                if (run_predict(&t.m, rfm_const(t.xv), y[unit]) == TEST_SKIP) break;
            }
            if (unit < 2) continue;
            CHECK_BELOW(0.3, model_most(m[0]));
            CHECK_CLOSE(m[0], m[1], 8);
            CHECK_CLOSE(y[0], y[1], 100);
        }
}

/* Images whose kernel is below the normal range are refused, all zeros are not. */
static void test_shortest_images(void) {
    static const int exponents[][2] = {{-64, -513}, {-74, -537}, {-80, -540}, {-110, -900}};
    size_t which, i;
    for (which = 0; which < TEST_LENGTH(networks); which += STEP)
        for (i = 0; i <= TEST_LENGTH(exponents); i++) {
            const int zeros = i == TEST_LENGTH(exponents);
            int status;
            test_note("network, exponent", which, i, 0);
            if (!make_network(which)) continue;
            scale_images(t.x, zeros ? 0 : ldexp(1, exponents[i][sizeof(rfm_real) == 8]));
            status = run_fit();
            if (status != TEST_SKIP) CHECK_INT(zeros ? RFM_OK : RFM_ERANGE, status);
        }
}

/* M in double, times `factor`. */
static void wide_metric(const rfm_conv_model *m, double factor, double *to) {
    size_t i, j, k;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++)
            for (to[3 * i + j] = 0, k = 0; k < m->r; k++)
                to[3 * i + j] += factor * (double)m->p[3 * k + i] * (factor * (double)m->p[3 * k + j]);
}

/* Without `scale`, and with K far below the ridge, P goes as the unit of the images, with power 1 as its square: right,
 * or refused where P is below the normal range. */
static void test_unscaled(void) {
    static const int exponents[][2] = {{-18, -40}, {-40, -300}, {-60, -480}, {-80, -600}, {-130, -1030}};
    size_t which, i, q;
    for (which = 0; which < TEST_LENGTH(networks); which += STEP) {
        double first[9], m[9];
        for (i = 0; i < TEST_LENGTH(exponents); i++) {
            const int e = exponents[i][sizeof(rfm_real) == 8], p = (networks[which].power + 1) * e;
            const int least = sizeof(rfm_real) == 8 ? -1022 : -126;
            int status;
            test_note("network, exponent", which, i, 0);
            if (!make_network(which)) continue;
            t.o.scale = 0, t.o.rounds = 1;
            scale_images(t.x, ldexp(1, e));
            status = run_fit();
            if (status == TEST_SKIP) continue;
            CHECK_INT(p < least ? RFM_ERANGE : RFM_OK, status);
            if (status != RFM_OK) continue;
            wide_metric(&t.m, ldexp(1, -p), i == 0 ? first : m);
            for (q = 0; i > 0 && q < 9; q++) CHECK_BELOW(fabs(m[q] - first[q]), 1e-6 * fmax(first[0], first[4]));
        }
    }
}

/* Two patches far apart for the bandwidth: both gradients are along their difference d, and small. M = d d' / |d|^2. */
static void test_far_images(void) {
    const double far[2] = {sizeof(rfm_real) == 8 ? 390 : 46, sizeof(rfm_real) == 8 ? 660 : 78};
    size_t i, j, q;
    for (q = 0; q < 4; q++) {
        rfm_mat m;
        double square = 0;
        test_reset();
        test_note("power, distance", q / 2, q % 2, 0);
        if (!make_task(1, 1, 3, 2, 2, 1)) continue;
        m = test_mat(3, 3, 0, 0);
        for (i = 0; i < 3; i++) square += pow((double)t.x.at[i] - (double)t.x.at[t.x.stride + i], 2);
        t.o.kernel = RFM_CONV_LAPLACE, t.o.bandwidth = (rfm_real)(sqrt(square) / far[q % 2]);
        t.o.power = (int)(q / 2), t.o.rounds = 1, t.o.select = RFM_SELECT_LAST;
        if (m.at == NULL || run_fit() == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, rfm_conv_metric(&t.m, m));
        for (i = 0; i < 3; i++)
            for (j = 0; j < 3; j++) {
                const double di = (double)t.x.at[i] - (double)t.x.at[t.x.stride + i];
                const double dj = (double)t.x.at[j] - (double)t.x.at[t.x.stride + j];
                CHECK_BELOW(fabs(model_at(m, i, j) - di * dj / square), 50 * TEST_EPS);
            }
    }
}

/* P = v I, where v^2 is 0 in numbers, and images times u: K is (u v)^2 times as large. */
static void test_small_metric(void) {
    const int v = sizeof(rfm_real) == 8 ? -600 : -80, u = sizeof(rfm_real) == 8 ? 500 : 60;
    size_t which, i;
    for (which = 0; which < TEST_LENGTH(networks); which++) {
        rfm_mat y[2], p;
        test_note("network", which, 0, 0);
        if (!make_network(which)) continue;
        t.o.rounds = 0;
        y[0] = test_mat(t.v, 1, 0, 0), y[1] = test_mat(t.v, 1, 0, 0), p = test_mat(3, 3, 0, 0);
        if (p.at == NULL || run_fit() == TEST_SKIP) continue;
        if (run_predict(&t.m, rfm_const(t.xv), y[0]) == TEST_SKIP) continue;
        for (i = 0; i < 9; i++) p.at[i] = (rfm_real)(i % 4 == 0 ? ldexp(1, v) : 0);
        scale_images(rfm_view((rfm_real *)(uintptr_t)t.m.images, t.n, 8), ldexp(1, u));
        scale_images(t.xv, ldexp(1, u));
        t.m.p = p.at;
        CHECK_INT(RFM_OK, run_predict(&t.m, rfm_const(t.xv), y[1]));
        scale_images(y[1], ldexp(1, -(u + v))), scale_images(y[1], ldexp(1, -(u + v)));
        CHECK_CLOSE(y[0], y[1], 100);
    }
}

/* ---- blobs ------------------------------------------------------------------------------------------- */

static void seal(unsigned char *blob) { rfm_put_u32(blob + 4, rfm_crc32(0, blob + 8, rfm_get_u32(blob + 8) - 8)); }

/* Written, opened, the same predictions to the last bit; every byte counts. */
static void test_blob(void) {
    static const char names[] = "left\0right";
    size_t i, j, bytes = 0, record_bytes = 0;
    for (i = 0; i < TEST_LENGTH(fits); i += STEP) {
        unsigned char record[32], *blob;
        rfm_conv_model opened, before;
        rfm_real offset[2] = {(rfm_real)0.25, (rfm_real)-0.5}, one[2], two[2];
        rfm_real *scratch;
        const void *found;
        test_reset();
        test_note("fit", i, 0, 0);
        if (!make_fit(i) || !test_little_endian()) continue;
        t.o.best = 0;
        if (run_fit() == TEST_SKIP) continue;
        if (i % 2) t.m.offset = offset;
        if (i % 3) t.m.class_names = names;
        record_bytes = 0;
        CHECK_INT(RFM_OK, rfm_record_add(record, sizeof record, &record_bytes, 300, "abc", 3));
        if (i % 2 == 0) record_bytes = 0;
        CHECK_INT(RFM_OK, rfm_conv_size(&t.m, record_bytes, &bytes));
        blob = (unsigned char *)test_take(bytes);
        scratch = (rfm_real *)test_take(rfm_conv_scratch(&t.m) * sizeof(rfm_real));
        if (blob == NULL || scratch == NULL) continue;
        CHECK_INT(RFM_EARENA, rfm_conv_write(&t.m, record, record_bytes, blob, bytes - 1));
        CHECK_INT(RFM_OK, rfm_conv_write(&t.m, record, record_bytes, blob, bytes));
        memset(&before, 0x55, sizeof before);
        opened = before;
        CHECK_INT(RFM_OK, rfm_conv_open(blob, bytes, &opened));
        CHECK_SIZE(rfm_conv_scratch(&t.m), rfm_conv_scratch(&opened));
        for (j = 0; j < t.v; j++) {
            CHECK_INT(RFM_OK, rfm_conv_predict_one(&t.m, t.xv.at + j * t.xv.stride, one, scratch));
            CHECK_INT(RFM_OK, rfm_conv_predict_one(&opened, t.xv.at + j * t.xv.stride, two, scratch));
            CHECK(memcmp(one, two, t.c * sizeof *one) == 0);
            CHECK_SIZE(rfm_conv_class(&t.m, one), rfm_conv_class(&opened, two));
        }
        CHECK_INT(0, strcmp(rfm_name(opened.class_names, 1), i % 3 ? "right" : ""));
        found = rfm_conv_record(blob, bytes, &j);
        CHECK((found != NULL) == (record_bytes > 0));
        if (found != NULL) CHECK(j == record_bytes && memcmp(found, record, j) == 0);

        opened = before;
        for (j = 0; j < bytes; j += j < 80 ? 1 : 37) {
            blob[j] ^= 0x10;
            CHECK(rfm_conv_open(blob, bytes, &opened) != RFM_OK);
            CHECK(rfm_conv_record(blob, bytes, &record_bytes) == NULL);
            blob[j] ^= 0x10;
        }
        for (j = 0; j < bytes; j += j < 96 ? 1 : 53) CHECK_INT(RFM_ETRUNCATED, rfm_conv_open(blob, j, &opened));
        CHECK(memcmp(&before, &opened, sizeof before) == 0);
    }
}

/* Heads that contradict themselves, with a right checksum. */
static void test_blob_content(void) {
    static const struct {
        size_t at;
        uint32_t value;
        int bytes, status;
    } bad[] = {
        {0, 1, 4, RFM_EMAGIC},    {12, 2, 1, RFM_EVERSION},          {14, 12 - RFM_REAL_BYTES, 1, RFM_ETYPE},
        {15, 8, 1, RFM_ECONTENT}, {16, 3, 1, RFM_ECONTENT},          {17, 0, 1, RFM_ECONTENT},
        {17, 6, 1, RFM_ECONTENT}, {18, 2, 1, RFM_ECONTENT},          {19, 1, 1, RFM_ECONTENT},
        {19, 5, 1, RFM_ECONTENT}, {20, 0, 4, RFM_ECONTENT},          {20, 0x7fffffff, 4, RFM_ECONTENT},
        {24, 0, 4, RFM_ECONTENT}, {28, 0, 4, RFM_ECONTENT},          {28, 0xffffffff, 4, RFM_ECONTENT},
        {32, 0, 4, RFM_ECONTENT}, {32, 0xffffffff, 4, RFM_ECONTENT}, {36, 0x10000, 4, RFM_ECONTENT},
        {40, 1, 4, RFM_ECONTENT}, {44, 0, 4, RFM_ECONTENT},          {44, 9, 4, RFM_ECONTENT},
        {56, 1, 4, RFM_ECONTENT}, {72, 0xffffffff, 4, RFM_ECONTENT}, {76, 4, 4, RFM_ECONTENT},
    };
    unsigned char *blob, *copy;
    rfm_conv_model opened;
    rfm_real nan = (rfm_real)NAN, minus = -1;
    size_t i, bytes = 0, places, pixels;
    if (!make_fit(3) || !test_little_endian() || run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    t.m.class_names = "left\0right";
    CHECK_INT(RFM_OK, rfm_conv_size(&t.m, 0, &bytes));
    blob = (unsigned char *)test_take(bytes), copy = (unsigned char *)test_take(bytes + 16);
    if (copy == NULL || blob == NULL) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_conv_write(&t.m, NULL, 0, blob, bytes));
    for (i = 0; i < TEST_LENGTH(bad); i++) {
        test_note("bad", i, bad[i].at, 0);
        memcpy(copy, blob, bytes);
        if (bad[i].bytes == 4)
            rfm_put_u32(copy + bad[i].at, bad[i].value);
        else
            copy[bad[i].at] = (unsigned char)bad[i].value;
        seal(copy);
        CHECK_INT(bad[i].status, rfm_conv_open(copy, bytes, &opened));
    }
    CHECK_INT(RFM_OK, rfm_conv_open(blob, bytes, &opened));
    places = rfm_conv_places(&opened.f), pixels = rfm_conv_pixels(&opened.f);
    CHECK(places > 0 && pixels > 0);
    for (i = 0; i < 5; i++) { /* numbers that are none */
        const void *at = i == 0   ? (const void *)opened.images
                         : i == 1 ? (const void *)(opened.alpha + opened.n * opened.c - 1)
                         : i == 2 ? (const void *)(opened.norms + 1)
                         : i == 3 ? (const void *)(opened.norms + opened.n * places - 1)
                                  : (const void *)(opened.class_names + 4);
        const size_t offset = (size_t)((const unsigned char *)at - blob);
        test_note("number", i, 0, 0);
        memcpy(copy, blob, bytes);
        if (i < 4)
            memcpy(copy + offset, i == 3 ? &minus : &nan, sizeof nan);
        else
            copy[offset] = 'x'; /* one name too few */
        seal(copy);
        CHECK_INT(RFM_ECONTENT, rfm_conv_open(copy, bytes, &opened));
        CHECK_INT(RFM_OK, rfm_conv_open(blob, bytes, &opened));
    }
    memcpy(copy + 4, blob, bytes);
    CHECK_INT(RFM_EALIGN, rfm_conv_open(copy + 4, bytes, &opened));
    CHECK_INT(RFM_ENULL, rfm_conv_open(NULL, bytes, &opened));
    CHECK_INT(RFM_ENULL, rfm_conv_open(blob, bytes, NULL));
    CHECK_INT(RFM_EALIGN, rfm_conv_write(&t.m, NULL, 0, copy + 4, bytes));
    CHECK_INT(RFM_ENULL, rfm_conv_write(&t.m, NULL, 4, copy, bytes));
    CHECK_INT(RFM_ENULL, rfm_conv_write(NULL, NULL, 0, copy, bytes));
    CHECK_INT(RFM_ENULL, rfm_conv_size(&t.m, 0, NULL));
    CHECK_INT(RFM_EVALUE, rfm_conv_write(&t.m, "abcd", 4, copy, bytes + 16));
}

static void test_predict_refusals(void) {
    rfm_mat y;
    rfm_real *scratch;
    size_t bytes = 0;
    rfm_conv_model m;
    if (!make_fit(3) || run_fit() == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    y = test_mat(t.v, t.c, 0, 0);
    scratch = (rfm_real *)test_take(rfm_conv_scratch(&t.m) * sizeof(rfm_real));
    CHECK_INT(RFM_OK, rfm_conv_predict_need(&s.ctx, &t.m, t.v, &bytes));
    if (scratch == NULL || y.at == NULL || !arena_of(bytes)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_ENULL, rfm_conv_predict(&s.ctx, NULL, rfm_const(t.xv), y));
    CHECK_INT(RFM_ENULL, rfm_conv_predict(NULL, &t.m, rfm_const(t.xv), y));
    CHECK_INT(RFM_ESHAPE, rfm_conv_predict(&s.ctx, &t.m, rfm_const(t.yv), y));
    CHECK_INT(RFM_ESHAPE, rfm_conv_predict(&s.ctx, &t.m, rfm_const(t.x), y));
    CHECK_INT(RFM_EALIAS, rfm_conv_predict(&s.ctx, &t.m, rfm_const(t.xv), rfm_view(t.xv.at, t.v, t.c)));
    CHECK_INT(RFM_EZERO, rfm_conv_predict_need(&s.ctx, &t.m, 0, &bytes));
    m = t.m, m.f.width++;
    CHECK_INT(RFM_ESHAPE, rfm_conv_predict(&s.ctx, &m, rfm_const(t.xv), y));
    m = t.m, m.alpha = NULL;
    CHECK_INT(RFM_ENULL, rfm_conv_predict(&s.ctx, &m, rfm_const(t.xv), y));
    m = t.m, m.c = 0;
    CHECK_INT(RFM_EZERO, rfm_conv_predict(&s.ctx, &m, rfm_const(t.xv), y));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, arena.base, arena.size - 1));
    CHECK_INT(RFM_EARENA, rfm_conv_predict(&s.ctx, &t.m, rfm_const(t.xv), y));
    CHECK(y.at[0] != y.at[0]); /* NaN still */
    CHECK_INT(RFM_ENULL, rfm_conv_predict_one(NULL, t.xv.at, y.at, scratch));
    CHECK_INT(RFM_ENULL, rfm_conv_predict_one(&t.m, NULL, y.at, scratch));
    CHECK_INT(RFM_ENULL, rfm_conv_predict_one(&t.m, t.xv.at, NULL, scratch));
    CHECK_INT(RFM_ENULL, rfm_conv_predict_one(&t.m, t.xv.at, y.at, NULL));
    t.xv.at[5] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_conv_predict_one(&t.m, t.xv.at, y.at, scratch));
    CHECK_INT(RFM_EFINITE, rfm_conv_predict(&s.ctx, &t.m, rfm_const(t.xv), y));
    CHECK(y.at[0] != y.at[0]);
    fill(t.xv, 12, 1e30);
    if (RFM_REAL_BYTES == 4) CHECK_INT(RFM_ERANGE, rfm_conv_predict_one(&t.m, t.xv.at, y.at, scratch));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_check);
    RUN_TEST(test_features);
    RUN_TEST(test_feature_refusals);
    if (NO_STACK) return UNITY_END();
    RUN_TEST(test_kernels);
    RUN_TEST(test_equal_sets);
    RUN_TEST(test_gradients);
    RUN_TEST(test_neighbours);
    RUN_TEST(test_agop);
    RUN_TEST(test_blocks);
    RUN_TEST(test_degenerate);
    RUN_TEST(test_one_direction);
    RUN_TEST(test_offset);
    RUN_TEST(test_memory);
    RUN_TEST(test_refusals);
    RUN_TEST(test_range);
    RUN_TEST(test_short_images);
    RUN_TEST(test_short_set);
    RUN_TEST(test_mixed_set);
    RUN_TEST(test_fit);
    RUN_TEST(test_solution);
    RUN_TEST(test_ridges);
    RUN_TEST(test_power);
    RUN_TEST(test_start);
    RUN_TEST(test_points);
    RUN_TEST(test_deep);
    RUN_TEST(test_leads);
    RUN_TEST(test_layer_choice);
    RUN_TEST(test_filters);
    RUN_TEST(test_model_offset);
    RUN_TEST(test_near_image);
    RUN_TEST(test_small_ridge);
    RUN_TEST(test_fit_memory);
    RUN_TEST(test_one_arena);
    RUN_TEST(test_ticks);
    RUN_TEST(test_fit_refusals);
    RUN_TEST(test_hard_images);
    RUN_TEST(test_units);
    RUN_TEST(test_image_units);
    RUN_TEST(test_shortest_images);
    RUN_TEST(test_unscaled);
    RUN_TEST(test_far_images);
    RUN_TEST(test_small_metric);
    RUN_TEST(test_blob);
    RUN_TEST(test_blob_content);
    RUN_TEST(test_predict_refusals);
    return UNITY_END();
}

/* Retraining in slices: rfm_online against rfm_fit, against leave-one-out by leaving out, and against itself cut in
 * other slices.
 *
 * What a learner holds is read from the state that it saves, whose format rfm_online.c documents; so the tests see
 * which samples it kept, and check alpha by putting it into (K + ridge I) alpha = Y, in double. Sample number i is
 * always the same: make_sample. */
#include "models.h"
#include "rfm_online.h"

#ifndef BOARD_BARE
#include <pthread.h>
#include <sched.h>
#endif

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

#define ALL   2000000000u /* units: everything at once */
#define C_MAX 5

/* Shapes: window, inputs, outputs; the first ones fit on every board. */
typedef struct {
    size_t n, d, c;
} shape;

#if TEST_RAM < 4096 /* little stack, too */
#define N_MAX 6
#define D_MAX 3
#elif defined BOARD_BARE
#define N_MAX 20
#define D_MAX 16
#else
#define N_MAX 70
#define D_MAX 20
#endif
static const shape shapes[] = {{4, 2, 2}, {5, 3, 1}, {6, 2, 3}, {13, 9, 4}, {20, 16, 5}, {40, 10, 4}, {70, 20, 2}};
static int shape_at(size_t i, shape *s) {
    if (i >= TEST_LENGTH(shapes) || shapes[i].n > N_MAX) return 0;
    *s = shapes[i];
    return 1;
}

static size_t classes_of(size_t c) { return c == 1 ? 2 : c; }

/* ---- samples -------------------------------------------------------------------------------- */

/* Where the samples of this test lie, and in which order the classes come. */
static struct {
    double offset, scale;
    int shuffled; /* the class says little about the sample */
    int one_class;
} world;

static size_t label_of(size_t i, size_t classes) {
    if (world.one_class) return classes - 1;
    return (size_t)((test_number(91, i, 0) + 1) / 2 * (double)classes);
}

static void make_sample(size_t i, size_t d, size_t classes, rfm_real *x) {
    size_t label = world.shuffled ? label_of(i + 1000, classes) : label_of(i, classes), q;

    for (q = 0; q < d; q++) {
        double value = test_number(90, i, q) + (q == label % d ? 1.5 : 0) - (q == (label + 1) % d ? 0.5 : 0);

        x[q] = (rfm_real)(world.offset + world.scale * floor(value * 64) / 64);
    }
}

static void plain_world(void) {
    memset(&world, 0, sizeof world);
    world.scale = 1;
}

static int same(rfm_real a, rfm_real b) { return memcmp(&a, &b, sizeof a) == 0; }

/* ---- learners ------------------------------------------------------------------------------- */

static void options(rfm_online_options *p, shape s) {
    rfm_online_options_init(p);
    p->window = s.n;
    p->inputs = s.d;
    p->outputs = s.c;
    p->pending = 2;
    p->bandwidth = 2;
    p->ridge = (rfm_real)0.1;
    p->iterations = 2;
}

/* On exactly the memory that it needs. NULL: no room. */
static rfm_online *learner(const rfm_online_options *p) {
    rfm_online *o = test_take(sizeof *o);
    size_t need = 0;
    rfm_arena arena;
    void *mem;

    CHECK_INT(RFM_OK, rfm_online_need(p, &need));
    mem = o != NULL ? test_take(need) : NULL;
    if (mem == NULL) return NULL;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
    CHECK_INT(RFM_OK, rfm_online_init(o, p, &arena));
    CHECK_SIZE(need, arena.used);
    return o;
}

static void finish(rfm_online *o) { CHECK_INT(0, rfm_online_step(o, ALL)); }

static void add(rfm_online *o, size_t i) {
    rfm_real x[D_MAX];

    make_sample(i, o->d, classes_of(o->c), x);
    CHECK_INT(RFM_OK, rfm_online_add(o, x, label_of(i, classes_of(o->c))));
}

static void fill(rfm_online *o, size_t from, size_t to) {
    for (; from < to; from++) {
        add(o, from);
        finish(o);
    }
}

static rfm_online_report report_of(const rfm_online *o) {
    rfm_online_report r;

    CHECK_INT(RFM_OK, rfm_online_report_get(o, &r));
    return r;
}

/* ---- the state that it saves ---------------------------------------------------------------- */

enum { AT_VERSION = 4, AT_REAL = 6, AT_WINDOW = 8, AT_PRINT = 20, AT_N = 24, AT_PENDING = 28 };
enum { AT_OWN = 32, AT_RIDGE = 84 };

typedef struct {
    unsigned char *at;
    size_t size, used; /* of the memory; bytes written or read */
} tape;

static int tape_put(void *arg, const void *bytes, size_t count) {
    tape *t = arg;

    CHECK(count > 0 && count <= 64);
    if (count > t->size - t->used) return RFM_EARENA;
    memcpy(t->at + t->used, bytes, count);
    t->used += count;
    return RFM_OK;
}

static int tape_get(void *arg, void *bytes, size_t count) {
    tape *t = arg;

    CHECK(count > 0 && count <= 64);
    if (count > t->size - t->used) return RFM_ETRUNCATED;
    memcpy(bytes, t->at + t->used, count);
    t->used += count;
    return RFM_OK;
}

/* 0: no room for a tape. */
static int saved(const rfm_online *o, tape *t) {
    size_t need = 0;

    CHECK_INT(RFM_OK, rfm_online_save_need(o, &need));
    t->at = test_take(need);
    t->size = need;
    t->used = 0;
    if (t->at == NULL) return 0;
    CHECK_INT(RFM_OK, rfm_online_save(o, tape_put, t));
    t->size = t->used;
    t->used = 0;
    return 1;
}

static uint64_t little(const unsigned char *at, size_t count) {
    uint64_t value = 0;

    while (count-- > 0) value = value << 8 | at[count];
    return value;
}

static void put_little(unsigned char *at, uint64_t value, size_t count) {
    for (; count > 0; count--, value >>= 8) *at++ = (unsigned char)value;
}

/* The checksum of a state is made right again. */
static void seal(tape *t) {
    uint32_t crc = 0xFFFFFFFFu;
    size_t i;
    int bit;

    for (i = 0; i + 4 < t->size; i++)
        for (crc ^= t->at[i], bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0);
    put_little(t->at + t->size - 4, ~crc, 4);
    t->used = 0;
}

static double number_at(const unsigned char *at) {
    rfm_real value;
#if RFM_REAL_BYTES == 8
    uint64_t bits = little(at, 8);
#else
    uint32_t bits = (uint32_t)little(at, 4);
#endif
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* The window of a learner with samples of rfm_real. */
typedef struct {
    tape t;
    size_t n, d, c;
    double ridge, inverse;
    int kernel;
} window;

#define REAL_SIZE sizeof(rfm_real)

static size_t metric_at(const window *w) { return AT_RIDGE + 3 * REAL_SIZE + 4 * classes_of(w->c); }
static size_t row_at(const window *w, size_t i) {
    return metric_at(w) + w->d * REAL_SIZE + i * (2 + (w->d + w->c) * REAL_SIZE);
}
static double win_m(const window *w, size_t q) { return number_at(w->t.at + metric_at(w) + q * REAL_SIZE); }
static size_t win_label(const window *w, size_t i) { return (size_t)little(w->t.at + row_at(w, i), 2); }
static double win_x(const window *w, size_t i, size_t q) {
    return number_at(w->t.at + row_at(w, i) + 2 + q * REAL_SIZE);
}
static double win_alpha(const window *w, size_t i, size_t k) {
    return number_at(w->t.at + row_at(w, i) + 2 + (w->d + k) * REAL_SIZE);
}

static int look(const rfm_online *o, window *w) {
    if (!saved(o, &w->t)) return 0;
    w->n = (size_t)little(w->t.at + AT_N, 4);
    w->d = o->d, w->c = o->c;
    w->ridge = number_at(w->t.at + AT_RIDGE);
    w->kernel = o->options.kernel;
    w->inverse = 1 / (double)o->options.bandwidth;
    return 1;
}

static double win_target(const window *w, size_t i, size_t k) {
    if (w->c == 1) return win_label(w, i) == 1 ? 1 : -1;
    return win_label(w, i) == k ? 1 : 0;
}

static double win_k(const window *w, size_t i, size_t j) {
    double s2 = 0, t;
    size_t q;

    for (q = 0; q < w->d; q++) t = win_x(w, i, q) - win_x(w, j, q), s2 += win_m(w, q) * t * t;
    s2 *= w->inverse * w->inverse;
    return w->kernel == RFM_GAUSSIAN ? exp(-s2 / 2) : exp(-sqrt(s2));
}

/* Which sample row i is. */
static size_t win_id(const window *w, size_t i) {
    rfm_real x[D_MAX];
    size_t id, q;

    for (id = 0; id < 1000; id++) {
        make_sample(id, w->d, classes_of(w->c), x);
        for (q = 0; q < w->d && (double)x[q] >= win_x(w, i, q) && (double)x[q] <= win_x(w, i, q); q++) {
        }
        if (q == w->d) break;
    }
    CHECK_SIZE(label_of(id, classes_of(w->c)), win_label(w, i));
    return id;
}

/* (K + ridge I) alpha = Y, to `factor` epsilon. */
static void check_solved(const rfm_online *o, double factor) {
    const size_t mark = test_mark();
    window w;
    size_t i, j, k;

    if (!look(o, &w)) return;
    for (i = 0; i < w.n; i++) {
        double sum[C_MAX], most = 1;

        for (k = 0; k < w.c; k++) sum[k] = w.ridge * win_alpha(&w, i, k) - win_target(&w, i, k);
        for (j = 0; j < w.n; j++) {
            double kij = i == j ? 1 : win_k(&w, i, j);

            for (k = 0; k < w.c; k++) sum[k] += kij * win_alpha(&w, j, k), most = fmax(most, fabs(win_alpha(&w, j, k)));
        }
        for (k = 0; k < w.c; k++) CHECK_BELOW(fabs(sum[k]), factor * TEST_EPS * most);
    }
    test_rewind(mark);
}

/* ---- refit ---------------------------------------------------------------------------------- */

/* rfm_fit on the samples from..to-1, in the units `unit` of the inputs (NULL: ones). */
static int reference(model_case *p, const rfm_online_options *q, size_t from, size_t to, const rfm_real *unit,
                     const rfm_real *start) {
    size_t n = to - from, i, j, k;
    rfm_real x[D_MAX];

    if (!model_make(p, n, q->inputs, q->outputs)) return 0;
    for (i = 0; i < n; i++) {
        make_sample(from + i, q->inputs, classes_of(q->outputs), x);
        for (j = 0; j < q->inputs; j++) p->x.at[i * p->x.stride + j] = unit != NULL ? x[j] / unit[j] : x[j];
        for (k = 0; k < q->outputs; k++) {
            size_t label = label_of(from + i, classes_of(q->outputs));

            p->y.at[i * p->y.stride + k] = (rfm_real)(q->outputs == 1 ? (label == 1 ? 1 : -1) : label == k ? 1 : 0);
        }
    }
    p->o.kernel = q->kernel;
    p->o.metric = RFM_DIAGONAL;
    p->o.scale = q->scale;
    p->o.bandwidth = q->bandwidth;
    p->o.ridge = q->ridge;
    p->o.iterations = q->iterations;
    if (start != NULL) p->data.start = rfm_cview(start, 1, q->inputs);
    return model_fit(p) == RFM_OK;
}

/* The learner and the fit give the same scores, between the samples too. */
static void check_same_model(const rfm_online *o, const rfm_model *m, const rfm_real *unit, double factor) {
    rfm_real x[D_MAX], z[D_MAX], scores[C_MAX], expected[C_MAX], scratch[2 * D_MAX], novelty, far;
    size_t i, k, q;

    for (i = 0; i < 12; i++) {
        make_sample(500 + i, o->d, classes_of(o->c), x);
        for (q = 0; q < o->d; q++) z[q] = unit != NULL ? x[q] / unit[q] : x[q];
        CHECK_INT(RFM_OK, rfm_online_predict(o, x, scores, NULL, &novelty));
        CHECK_INT(RFM_OK, rfm_predict_one(m, z, expected, scratch, NULL, &far));
        for (k = 0; k < o->c; k++) CHECK_BELOW(fabs((double)scores[k] - (double)expected[k]), factor * TEST_EPS);
        CHECK_BELOW(fabs((double)novelty - (double)far), factor * TEST_EPS);
    }
}

static void refit_is_fit(const rfm_online_options *p, const rfm_real *unit, const rfm_real *start, double factor) {
    const size_t mark = test_mark();
    rfm_online *o = learner(p);
    model_case reference_case;

    if (o == NULL || !reference(&reference_case, p, 1, 1 + p->window, unit, start)) {
        test_rewind(mark);
        return;
    }
    fill(o, 0, 1 + p->window);
    CHECK_INT(RFM_OK, rfm_online_refit(o));
    finish(o);
    CHECK_SIZE(1, report_of(o).refits);
    check_same_model(o, &reference_case.m, unit, factor);
    CHECK_INT(RFM_OK, rfm_online_refit(o)); /* again: the same window gives the same model, from wherever */
    finish(o);
    CHECK_SIZE(2, report_of(o).refits);
    check_same_model(o, &reference_case.m, unit, factor);
    test_rewind(mark);
}

static void test_refit_equals_fit(void) {
    rfm_online_options p;
    size_t i, t;
    shape s;
    int kernel, scale;

    plain_world();
    for (i = 0; shape_at(i, &s); i++)
        for (kernel = RFM_LAPLACE; kernel <= RFM_GAUSSIAN; kernel++)
            for (scale = RFM_SCALE_NONE; scale <= RFM_SCALE_TRACE; scale++)
                for (t = 0; t <= 3; t++) {
                    if (scale != RFM_SCALE_NONE && t != 2) continue;
                    test_note("shape, kernel and scale, T", i, (size_t)(10 * kernel + scale), t);
                    options(&p, s);
                    p.kernel = kernel;
                    p.scale = scale;
                    p.iterations = t;
                    p.margin = 1000;
                    refit_is_fit(&p, NULL, NULL, 2000);
                }
}

/* In units, and from a metric. Raw values may be far from 0. */
static void test_refit_in_units(void) {
    rfm_online_options p;
    rfm_real unit[D_MAX], start[D_MAX], zero[D_MAX], one[C_MAX];
    rfm_model m;
    size_t i, q;
    shape s;
    int scale;

    memset(zero, 0, sizeof zero);
    for (q = 0; q < C_MAX; q++) one[q] = 1;
    for (i = 0; shape_at(i, &s); i++)
        for (scale = RFM_SCALE_NONE; scale <= RFM_SCALE_TRACE; scale++) {
            test_note("shape, scale", i, (size_t)scale, 0);
            plain_world();
            world.scale = 32;
            options(&p, s);
            p.scale = scale;
            p.margin = 1000;
            for (q = 0; q < s.d; q++)
                unit[q] = (rfm_real)(q % 2 ? 32 : 64), start[q] = (rfm_real)(1 + (double)(q % 3) / 4);
            p.units = unit;
            refit_is_fit(&p, unit, NULL, 4000);
            /* The start model's metric: P = sqrt(start) / (L unit), as a blob has it. */
            memset(&m, 0, sizeof m);
            m.n = 1, m.d = m.r = s.d, m.c = s.c, m.metric = RFM_DIAGONAL, m.bandwidth = m.exponent = 1;
            for (q = 0; q < s.d; q++) start[q] = (rfm_real)sqrt((double)start[q]) / (p.bandwidth * unit[q]);
            m.shift = m.centers = zero, m.alpha = one, m.p = start;
            p.start = &m;
            {
                rfm_real in_units[D_MAX];

                for (q = 0; q < s.d; q++)
                    in_units[q] = start[q] * start[q] * p.bandwidth * p.bandwidth * unit[q] * unit[q];
                refit_is_fit(&p, unit, in_units, 4000);
            }
            p.begin = RFM_BEGIN_UNITS;
            refit_is_fit(&p, unit, NULL, 4000);
        }
    plain_world();
    world.offset = 8192; /* with differences taken directly nothing is lost */
    options(&p, shapes[0]);
    p.margin = 1000;
    refit_is_fit(&p, NULL, NULL, 2000);
}

/* A full start matrix gives the diagonal of P'P. */
static void test_start_metric(void) {
    const rfm_real p[6] = {1, 2, 0, 0, 1, 3}, zero[3] = {0, 0, 0}, one[2] = {1, 1};
    const double expect[3] = {1 * 9, 5 * 9, 9 * 9};
    rfm_online_options q;
    rfm_model m;
    window w;
    rfm_online *o;
    size_t i;
    shape s = {3, 3, 2};

    plain_world();
    memset(&m, 0, sizeof m);
    m.n = 1, m.d = 3, m.r = 2, m.c = 2, m.metric = RFM_FULL, m.bandwidth = m.exponent = 1;
    m.p = p, m.shift = m.centers = zero, m.alpha = one;
    options(&q, s);
    q.bandwidth = 3;
    q.start = &m;
    o = learner(&q);
    CHECK(o != NULL && look(o, &w));
    for (i = 0; i < 3; i++) CHECK_BELOW(fabs(win_m(&w, i) - expect[i]), 1e-6);
}

/* A blob says the bandwidth and the units that it was trained with. */
static void test_start_blob(void) {
    static const rfm_real p[2] = {(rfm_real)0.5, 2}, centers[4] = {1, 0, 0, 1}, alpha[4] = {1, 0, 0, 1},
                          zero[2] = {0, 0};
    static const rfm_real scale[2] = {4, (rfm_real)0.25}, mean[2] = {1, 2};
    rfm_online_options q;
    rfm_summary summary;
    rfm_contents parts;
    rfm_model m, opened;
    rfm_online *o;
    size_t bytes = 0, begin, i;
    void *blob;
    window w;

    plain_world();
    if (!test_little_endian()) return; /* no blobs on this machine */
    memset(&m, 0, sizeof m);
    memset(&parts, 0, sizeof parts);
    memset(&summary, 0, sizeof summary);
    m.n = m.d = m.r = m.c = 2, m.metric = RFM_DIAGONAL, m.bandwidth = 3, m.exponent = 1;
    m.p = p, m.centers = centers, m.alpha = alpha, m.shift = zero;
    summary.bandwidth = 3;
    parts.model = &m, parts.task = RFM_CLASSIFY, parts.x_mean = mean, parts.x_scale = scale, parts.summary = &summary;
    CHECK_INT(RFM_OK, rfm_model_size(&parts, &bytes));
    blob = test_take(bytes);
    CHECK(blob != NULL);
    CHECK_INT(RFM_OK, rfm_model_write(&parts, blob, bytes));
    CHECK_INT(RFM_OK, rfm_model_open(blob, bytes, &opened));
    for (begin = RFM_BEGIN_MODEL; begin <= RFM_BEGIN_UNITS; begin++) {
        const size_t mark = test_mark();

        options(&q, shapes[0]);
        q.start = &opened;
        q.bandwidth = 0;
        q.begin = (int)begin;
        o = learner(&q);
        CHECK(o != NULL && look(o, &w));
        CHECK_BELOW(fabs(w.inverse - 1.0 / 3), 1e-6);
        for (i = 0; i < 2; i++) {
            double unit = (double)scale[i], expect = begin == RFM_BEGIN_MODEL ? (double)p[i] * (double)p[i] : 1;

            CHECK_BELOW(fabs(win_m(&w, i) * unit * unit - expect), 1e-5 * expect);
        }
        test_rewind(mark);
        q.int8 = 1;
        o = learner(&q);
        CHECK(o != NULL);
        for (i = 0; i < 2; i++) CHECK(same(o->step[i], scale[i] / 32) && same(o->offset[i], mean[i]));
        test_rewind(mark);
    }
}

/* ---- slices --------------------------------------------------------------------------------- */

/* Bytes of the state, hashed. */
static int hash_put(void *arg, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    uint32_t *hash = arg;
    size_t i;

    for (i = 0; i < count; i++) *hash = (*hash ^ at[i]) * 16777619u;
    return RFM_OK;
}

static uint32_t hash_of(const rfm_online *o) {
    uint32_t hash = 1;

    CHECK_INT(RFM_OK, rfm_online_save(o, hash_put, &hash));
    return hash;
}

static rfm_real probe(const rfm_online *o) {
    rfm_real x[D_MAX], scores[C_MAX], sum = 0;
    size_t k;

    make_sample(700, o->d, classes_of(o->c), x);
    CHECK_INT(RFM_OK, rfm_online_predict(o, x, scores, NULL, NULL));
    for (k = 0; k < o->c; k++) sum += scores[k] * (rfm_real)(k + 1);
    return sum;
}

/* Steps of `units`, or of random ones. What is served changes only when a sample or a refit is done with. */
static void step_by(rfm_online *o, uint32_t units) {
    rfm_online_report before = report_of(o), now;
    rfm_real value = before.samples > 0 ? probe(o) : 0, next;
    uint32_t random = 12345;
    int more;

    do {
        random = random * 1664525u + 1013904223u;
        more = rfm_online_step(o, units > 0 ? units : 1 + random / 65536 % 5000);
        CHECK(more == 0 || more == 1);
        now = report_of(o);
        CHECK_INT(more, now.busy);
        if (now.samples > 0) {
            next = probe(o);
            CHECK(before.samples == 0 || same(value, next) || now.absorbed != before.absorbed ||
                  now.refits != before.refits);
            value = next;
        }
        before = now;
    } while (more == 1);
}

#ifdef BOARD_BARE
#define SLICED 2 /* a prediction after every piece takes its time */
#else
#define SLICED 5
#endif

static void test_slices_do_not_matter(void) {
    static const uint32_t units[] = {1, 0, 300, 5000, ALL};
    rfm_online_options p;
    size_t i, u, k;
    shape s;
    int forget, int8;

    plain_world();
    for (i = 0; shape_at(i, &s) && i < SLICED; i++)
        for (forget = RFM_FORGET_OLDEST; forget <= RFM_FORGET_LEAST; forget++)
            for (int8 = 0; int8 < 2; int8++) {
                uint32_t hash = 0;

                if (int8 && forget != RFM_FORGET_LEAST) continue;
                options(&p, s);
                p.forget = forget;
                p.int8 = int8;
                p.refit_every = s.n + 1;
                for (u = 0; u < TEST_LENGTH(units); u++) {
                    const size_t mark = test_mark();
                    rfm_online *o = learner(&p);
                    rfm_online_report r;

                    if (o == NULL) break;
                    test_note("shape, policy, units", i, (size_t)forget, units[u]);
                    for (k = 0; k < s.n + 3; k++) {
                        add(o, k);
                        step_by(o, units[u]);
                    }
                    r = report_of(o);
                    CHECK_SIZE(s.n, r.samples);
                    CHECK_SIZE(1, r.refits + r.rejected);
                    if (u == 0)
                        hash = hash_of(o);
                    else
                        CHECK(hash == hash_of(o));
                    test_rewind(mark);
                }
            }
}

/* A refit takes the samples that were there when it was asked for, and no later ones. */
static void test_refit_waits_for_its_samples(void) {
    rfm_online_options p;
    rfm_online_report r;
    rfm_online *o;
    int more;

    plain_world();
    options(&p, shapes[0]);
    p.pending = 3;
    p.margin = 1000;
    o = learner(&p);
    CHECK(o != NULL);
    fill(o, 0, 2);
    add(o, 2);
    add(o, 3);
    CHECK_INT(RFM_OK, rfm_online_refit(o));
    add(o, 4);
    do {
        more = rfm_online_step(o, 1);
        r = report_of(o);
        CHECK(r.refits == 0 ? r.absorbed <= 4 : r.absorbed >= 4);
    } while (more == 1);
    CHECK_SIZE(1, r.refits);
    CHECK_SIZE(5, r.absorbed);
}

/* ---- incremental ---------------------------------------------------------------------------- */

/* After many samples the factor still is that of the window, in the metric that serves. */
static void test_incremental_stays_exact(void) {
    rfm_online_options p;
    size_t i, k;
    shape s;
    int kernel, forget;

    plain_world();
    for (i = 0; shape_at(i, &s); i++)
        for (kernel = RFM_LAPLACE; kernel <= RFM_GAUSSIAN; kernel++)
            for (forget = RFM_FORGET_OLDEST; forget <= RFM_FORGET_LEAST; forget++) {
                const size_t mark = test_mark();
                rfm_online *o;

                if (s.n > 20 && (kernel != RFM_LAPLACE || forget == RFM_FORGET_LEAST)) continue;
                test_note("shape, kernel, policy", i, (size_t)kernel, (size_t)forget);
                options(&p, s);
                p.kernel = kernel;
                p.forget = forget;
                p.margin = 1000;
                o = learner(&p);
                if (o == NULL) continue;
                for (k = 0; k < 4 * s.n; k++) {
                    add(o, k);
                    if (k == 2 * s.n) rfm_online_refit(o);
                    finish(o);
                    if (k < 3 || k == s.n - 1 || k == s.n || k % s.n == 1) check_solved(o, 100 * (double)s.n);
                }
                check_solved(o, 100 * (double)s.n);
                test_rewind(mark);
            }
}

static void test_forgets_the_oldest(void) {
    rfm_online_options p;
    rfm_online *o;
    window w;
    size_t i;
    shape s = {4, 2, 3};

    plain_world();
    options(&p, s);
    o = learner(&p);
    CHECK(o != NULL);
    fill(o, 0, 11);
    CHECK(look(o, &w));
    CHECK_SIZE(4, w.n);
    for (i = 0; i < 4; i++) CHECK_SIZE(7 + i, win_id(&w, i));
}

/* A rare class keeps its samples, and all classes end up with equal shares. */
static void test_balanced_reservoir(void) {
    rfm_online_options p;
    rfm_online *o;
    rfm_real x[2];
    size_t i, round, young = 0;
    shape s = {6, 2, 3};

    plain_world();
    for (round = 0; round < 20; round++) {
        const size_t mark = test_mark();
        size_t held[3] = {0, 0, 0};
        rfm_online_report r;

        options(&p, s);
        p.forget = RFM_FORGET_BALANCED;
        p.seed = (uint32_t)round;
        o = learner(&p);
        CHECK(o != NULL);
        for (i = 0; i < 60; i++) { /* class 0 nearly always */
            x[0] = (rfm_real)i;
            x[1] = 0;
            CHECK_INT(RFM_OK, rfm_online_add(o, x, i == 20 || i == 30 ? 1 : i == 25 || i == 40 ? 2 : 0));
            finish(o);
        }
        r = report_of(o);
        CHECK(r.dropped > 20);
        CHECK_SIZE(60, r.absorbed + r.dropped);
        CHECK_SIZE(6, r.samples);
        for (i = 0; i < 6; i++) {
            size_t place = o->rows[o->serving & 1][i];

            held[o->label[place]]++;
            if (o->label[place] == 0) young += o->x[2 * place] >= 30;
        }
        for (i = 0; i < 3; i++) CHECK_SIZE(2, held[i]);
        test_rewind(mark);
    }
    CHECK(young >= 10 && young <= 30); /* of 40: each sample had the same chance, half of them come after number 30 */
}

#ifdef BOARD_BARE
#define LEFT_OUT_MAX 6 /* the matrix is on the stack */
#else
#define LEFT_OUT_MAX 13
#endif

/* Errors by leaving samples out and solving again, in double: err[i], their squares summed over the outputs. */
static double left_out(const window *w, double *err, int accuracy) {
    double a[LEFT_OUT_MAX][LEFT_OUT_MAX + 1], kernel[LEFT_OUT_MAX][LEFT_OUT_MAX], total = 0;
    size_t n = w->n, i, j, k, l, out;

    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) kernel[i][j] = win_k(w, i, j);
    for (out = 0; out < n; out++) {
        double f[C_MAX];
        size_t best = 0;

        for (k = 0; k < w->c; k++) {
            for (i = 0; i < n; i++)
                for (j = 0; j < n; j++) a[i][j] = i == out || j == out ? i == j : i == j ? 1 + w->ridge : kernel[i][j];
            for (i = 0; i < n; i++) a[i][n] = i == out ? 0 : win_target(w, i, k);
            for (l = 0; l < n; l++)
                for (i = 0; i < n; i++) {
                    double factor = a[i][l] / a[l][l];

                    if (i == l) continue;
                    for (j = l; j <= n; j++) a[i][j] -= factor * a[l][j];
                }
            f[k] = 0;
            for (i = 0; i < n; i++)
                if (i != out) f[k] += a[i][n] / a[i][i] * kernel[i][out];
        }
        err[out] = 0;
        for (k = 0; k < w->c; k++) {
            err[out] += (f[k] - win_target(w, out, k)) * (f[k] - win_target(w, out, k));
            if (f[k] > f[best]) best = k;
        }
        if (!accuracy)
            total += err[out] / (double)w->c / (double)n;
        else if (w->c == 1 ? (f[0] > 0) == (win_label(w, out) == 1) : best == win_label(w, out))
            total += 1 / (double)n;
    }
    return total;
}

static void test_forgets_the_least_useful(void) {
    rfm_online_options p;
    size_t i, j, k;
    shape s;

    plain_world();
    for (i = 0; shape_at(i, &s) && s.n <= LEFT_OUT_MAX; i++) {
        rfm_online *o;

        test_reset();
        options(&p, s);
        p.forget = RFM_FORGET_LEAST;
        o = learner(&p);
        if (o == NULL) continue;
        fill(o, 0, s.n);
        for (k = s.n; k < 3 * s.n; k++) {
            const size_t mark = test_mark();
            window before, after;
            double err[LEFT_OUT_MAX];
            size_t least = 0;

            if (!look(o, &before)) break;
            left_out(&before, err, 0);
            for (j = 1; j < s.n; j++)
                if (err[j] < err[least]) least = j;
            fill(o, k, k + 1);
            if (!look(o, &after)) break;
            test_note("least useful", i, k, least);
            for (j = 0; j < s.n; j++)
                CHECK_SIZE(j == s.n - 1 ? k : win_id(&before, j < least ? j : j + 1), win_id(&after, j));
            test_rewind(mark);
        }
    }
}

/* ---- the guard ------------------------------------------------------------------------------ */

static void test_guard(void) {
    static const shape guarded[] = {{4, 2, 2}, {6, 2, 3}, {5, 3, 1}, {13, 9, 4}};
    rfm_online_options p;
    size_t i, seed, accepted = 0, rejected = 0;
    int score;

    plain_world();
    world.shuffled = 1;
    for (i = 0; i < TEST_LENGTH(guarded) && guarded[i].n <= N_MAX; i++)
        for (score = RFM_SCORE_SQUARED; score <= RFM_SCORE_ACCURACY; score++)
            for (seed = 0; seed < 12; seed++) {
                const size_t mark = test_mark();
                rfm_online_report r;
                rfm_online *o;
                rfm_real before;
                int worse;

                test_note("guard", i, (size_t)score, seed);
                options(&p, guarded[i]);
                p.score = score;
                p.margin = seed % 2 ? 0 : (rfm_real)0.01;
                o = learner(&p);
                if (o == NULL) continue;
                fill(o, 20 * seed, 20 * seed + p.window);
                before = probe(o);
                CHECK_INT(RFM_OK, rfm_online_refit(o));
                finish(o);
                r = report_of(o);
                worse = score == RFM_SCORE_SQUARED ? r.new_score > r.old_score + p.margin
                                                   : r.new_score < r.old_score - p.margin;
                CHECK_SIZE(worse, r.rejected);
                CHECK_SIZE(!worse, r.refits);
                CHECK(worse == same(before, probe(o)));
                if (worse)
                    rejected++;
                else
                    accepted++;
                fill(o, 20 * seed + p.window,
                     20 * seed + p.window + 2); /* the factor is that of the model that serves */
                check_solved(o, 2000);
                test_rewind(mark);
            }
    CHECK(accepted > 5);
    CHECK(rejected > 5);
}

/* The scores that the guard goes by are leave-one-out scores. */
static void test_guard_scores(void) {
    rfm_online_options p;
    size_t i;
    shape s;
    int score;

    plain_world();
    for (i = 0; shape_at(i, &s) && s.n <= LEFT_OUT_MAX; i++)
        for (score = RFM_SCORE_SQUARED; score <= RFM_SCORE_ACCURACY; score++) {
            double err[LEFT_OUT_MAX], before, after;
            rfm_online *o;
            window w;

            test_note("leave-one-out", i, (size_t)score, 0);
            test_reset();
            options(&p, s);
            p.score = score;
            p.margin = 1000;
            o = learner(&p);
            if (o == NULL) continue;
            fill(o, 0, s.n + 2);
            CHECK(look(o, &w));
            before = left_out(&w, err, score);
            CHECK_INT(RFM_OK, rfm_online_refit(o));
            finish(o);
            CHECK(look(o, &w));
            after = left_out(&w, err, score);
            CHECK_BELOW(fabs(before - (double)report_of(o).old_score), 1000 * TEST_EPS);
            CHECK_BELOW(fabs(after - (double)report_of(o).new_score), 1000 * TEST_EPS);
        }
}

/* A state without samples that says that the window's model serves, although there is a start model. */
static void check_not_own(rfm_online *o) {
    const size_t mark = test_mark();
    tape t;

    if (saved(o, &t)) {
        put_little(t.at + AT_OWN, 1, 4);
        seal(&t);
        CHECK_INT(RFM_ECONTENT, rfm_online_load(o, tape_get, &t));
    }
    test_rewind(mark);
}

/* A start model serves until a refit is as good as it is. */
static void test_start_model(void) {
    static const rfm_real shift[2] = {(rfm_real)0.25, (rfm_real)-0.5},
                          p_full[4] = {1, (rfm_real)0.5, (rfm_real)-0.25, 2};
    static const rfm_real centers[6] = {1, 0, 0, 1, (rfm_real)0.5, (rfm_real)0.5};
    static const rfm_real offset[2] = {(rfm_real)0.125, (rfm_real)0.25};
    rfm_real alpha[6] = {1, (rfm_real)-0.5, (rfm_real)-0.5, 1, (rfm_real)0.25, (rfm_real)0.25};
    rfm_real x[2], scores[2], expected[2], scratch[4], novelty, expected_novelty;
    size_t metric, kernel, int8, i, k, label;
    rfm_online_options p;
    rfm_model m;

    plain_world();
    for (metric = RFM_IDENTITY; metric <= RFM_FULL; metric++)
        for (kernel = RFM_LAPLACE; kernel <= RFM_GAUSSIAN; kernel++)
            for (int8 = 0; int8 < 2; int8++) {
                const size_t mark = test_mark();
                rfm_online_report r;
                rfm_online *o;
                double mean = 0;

                memset(&m, 0, sizeof m);
                m.n = 3, m.d = m.r = m.c = 2, m.metric = (int)metric, m.kernel = (int)kernel;
                m.bandwidth = (rfm_real)1.5, m.exponent = 1;
                m.shift = shift, m.p = p_full, m.centers = centers, m.alpha = alpha, m.offset = offset;
                options(&p, shapes[0]);
                p.kernel = (int)kernel;
                p.start = &m;
                p.int8 = (int)int8;
                o = learner(&p);
                CHECK(o != NULL);
                check_not_own(o);
                make_sample(3, 2, 2, x);
                CHECK_INT(RFM_OK, rfm_online_predict(o, x, scores, &label, &novelty)); /* before any sample */
                CHECK_INT(RFM_OK, rfm_predict_one(&m, x, expected, scratch, NULL, &expected_novelty));
                CHECK(same(scores[0], expected[0]) && same(scores[1], expected[1]) && same(novelty, expected_novelty));
                CHECK_SIZE(expected[1] > expected[0], label);
                fill(o, 0, 4);
                CHECK_INT(RFM_OK, rfm_online_predict(o, x, scores, &label, NULL));
                CHECK(same(scores[0], expected[0]) && !report_of(o).own);
                for (i = 0; i < 4; i++) {
                    make_sample(i, 2, 2, x);
                    if (int8)
                        for (k = 0; k < 2; k++)
                            x[k] =
                                (rfm_real)(floor(((double)x[k] - (double)shift[k]) * 32 + 0.5) / 32 + (double)shift[k]);
                    CHECK_INT(RFM_OK, rfm_predict_one(&m, x, expected, scratch, NULL, NULL));
                    for (k = 0; k < 2; k++) {
                        double e = (double)expected[k] - (label_of(i, 2) == k ? 1 : 0);

                        mean += e * e / 8;
                    }
                }
                CHECK_INT(RFM_OK, rfm_online_refit(o));
                step_by(o, 50);
                r = report_of(o);
                CHECK_BELOW(fabs(mean - (double)r.old_score), 100 * TEST_EPS);
                CHECK_INT(r.new_score <= r.old_score, r.own);
                CHECK_SIZE(r.own, r.refits);
                CHECK_SIZE(!r.own, r.rejected);
                test_rewind(mark);
            }
}

/* ---- int8 ----------------------------------------------------------------------------------- */

/* A learner of bytes is one of the rounded samples. */
static void test_int8(void) {
    rfm_online_options p;
    rfm_real step[D_MAX], offset[D_MAX], x[D_MAX], a[C_MAX], b[C_MAX];
    size_t i, k, q;
    shape s;

    plain_world();
    world.scale = 4;
    for (i = 0; shape_at(i, &s); i++) {
        const size_t mark = test_mark();
        rfm_online *bytes, *reals;
        size_t small = 0, large = 0;

        options(&p, s);
        p.margin = 1000;
        CHECK_INT(RFM_OK, rfm_online_need(&p, &large));
        reals = learner(&p);
        for (q = 0; q < s.d; q++) step[q] = (rfm_real)(q % 2 ? 0.0625 : 0.125), offset[q] = (rfm_real)(q % 3);
        p.step = step, p.offset = offset, p.int8 = 1;
        CHECK_INT(RFM_OK, rfm_online_need(&p, &small));
        CHECK(small < large || s.n < 13);
        bytes = reals != NULL ? learner(&p) : NULL;
        if (bytes == NULL) {
            test_rewind(mark);
            continue;
        }
        for (k = 0; k < s.n + 2; k++) {
            make_sample(k, s.d, classes_of(s.c), x);
            if (k == 1) x[0] = 1000, x[s.d - 1] = -1000; /* beyond what a byte can say */
            CHECK_INT(RFM_OK, rfm_online_add(bytes, x, label_of(k, classes_of(s.c))));
            for (q = 0; q < s.d; q++) {
                double value = floor(((double)x[q] - (double)offset[q]) / (double)step[q] + 0.5);

                value = value > 127 ? 127 : value < -127 ? -127 : value;
                x[q] = (rfm_real)(value * (double)step[q] + (double)offset[q]);
            }
            CHECK_INT(RFM_OK, rfm_online_add(reals, x, label_of(k, classes_of(s.c))));
            finish(bytes);
            finish(reals);
        }
        CHECK_INT(RFM_OK, rfm_online_refit(bytes));
        CHECK_INT(RFM_OK, rfm_online_refit(reals));
        finish(bytes);
        finish(reals);
        for (k = 0; k < 5; k++) {
            make_sample(600 + k, s.d, classes_of(s.c), x);
            CHECK_INT(RFM_OK, rfm_online_predict(bytes, x, a, NULL, NULL));
            CHECK_INT(RFM_OK, rfm_online_predict(reals, x, b, NULL, NULL));
            for (q = 0; q < s.c; q++) CHECK_BELOW(fabs((double)a[q] - (double)b[q]), 2000 * TEST_EPS);
        }
        test_rewind(mark);
    }
}

/* ---- from an interrupt ---------------------------------------------------------------------- */

/* A sample comes between any two slices: some are refused, none is torn, and all that are taken end in the window, in
 * order. */
static void test_add_between_slices(void) {
    rfm_online_options p;
    rfm_online *o;
    rfm_real x[D_MAX];
    rfm_online_report r;
    window w;
    size_t i, expect[16], taken = 0, turn = 0;
    shape s = {5, 2, 2};

    plain_world();
    options(&p, s);
    p.refit_every = 4;
    o = learner(&p);
    CHECK(o != NULL);
    for (i = 0; i < 400; i++) {
        make_sample(i, 2, 2, x);
        r = report_of(o);
        if (rfm_online_add(o, x, label_of(i, 2)) == RFM_OK) {
            CHECK(r.waiting < 2);
            expect[taken++ % 16] = i;
        } else {
            CHECK_SIZE(2, r.waiting);
            CHECK_SIZE(++turn, report_of(o).refused_full);
        }
        CHECK(rfm_online_step(o, 1500) >= 0);
    }
    finish(o);
    r = report_of(o);
    CHECK(turn > 10 && taken > 20);
    CHECK_SIZE(taken, r.taken);
    CHECK_SIZE(taken, r.absorbed);
    CHECK(r.refits + r.rejected > 3);
    CHECK(look(o, &w));
    for (i = 0; i < 5; i++) CHECK_SIZE(expect[(taken - 5 + i) % 16], win_id(&w, i));
    check_solved(o, 1000);
}

#ifndef BOARD_BARE
#define THREAD_SAMPLES 1000
#define THREAD_D       1000

/* An index of the ring that the other thread writes. */
static uint32_t other_index(const uint32_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

/* Every input of a sample has the same value, so that a torn one is seen. Half of them are added when the other side is
 * waiting for one. */
static void *producer(void *arg) {
    rfm_online *o = arg;
    rfm_real x[THREAD_D];
    size_t i = 0, q;

    while (i < THREAD_SAMPLES) {
        for (q = 0; q < THREAD_D; q++) x[q] = (rfm_real)i;
        if (i % 4 < 2 && other_index(&o->tail) != o->head)
            sched_yield();
        else if (rfm_online_add(o, x, i % 2) == RFM_OK)
            i++;
        else
            sched_yield();
    }
    return NULL;
}

static size_t whole_sample(const rfm_online *o, size_t place) {
    const rfm_real *x = o->x + place * THREAD_D;
    size_t q;

    for (q = THREAD_D - 1; q > 0; q--) CHECK(same(x[q], x[0])); /* from the end: what is written last */
    CHECK_SIZE((size_t)x[0] % 2, o->label[place]);
    return (size_t)x[0];
}

static void test_add_from_a_thread(void) {
    rfm_online_options p;
    rfm_online *o;
    pthread_t thread;
    size_t last = 0, next = 0, i;
    shape s = {2, THREAD_D, 2};

    options(&p, s);
    p.pending = 3;
    o = learner(&p);
    CHECK(o != NULL);
    CHECK_INT(0, pthread_create(&thread, NULL, producer, o));
    while (last < THREAD_SAMPLES - 1) {
        size_t set;

        if (other_index(&o->head) != o->tail)
            CHECK_SIZE(next, whole_sample(o, o->ring[o->tail % 3])); /* in order, and whole at first sight */
        CHECK(rfm_online_step(o, 2000) >= 0);
        set = o->serving & 1;
        for (i = 0; i < o->count[set]; i++) last = whole_sample(o, o->rows[set][i]);
        next = o->absorbed;
    }
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK_SIZE(THREAD_SAMPLES, o->absorbed);
}
#endif

/* ---- the state ------------------------------------------------------------------------------ */

/* Saved and loaded in the middle of everything, a learner goes on as if nothing had happened. */
static void test_save_and_load(void) {
    rfm_online_options p;
    size_t i, k, when;
    shape s;
    int int8, forget;

    plain_world();
    for (i = 0; shape_at(i, &s) && i < (SLICED < 4 ? SLICED : 4); i++)
        for (forget = RFM_FORGET_OLDEST; forget <= RFM_FORGET_LEAST; forget++)
            for (when = 0; when < 40; when += i == 0 && SLICED > 2 ? 1 : 7) {
                const size_t mark = test_mark();
                rfm_online *o, *twin, *next;
                tape t;
                rfm_online_report a, b;

                int8 = (int)(when % 2);
                test_note("save", i, (size_t)forget, when);
                options(&p, s);
                p.forget = forget;
                p.int8 = int8;
                p.refit_every = s.n + 2;
                o = learner(&p);
                twin = learner(&p);
                next = o != NULL && twin != NULL ? learner(&p) : NULL;
                if (next == NULL) {
                    test_rewind(mark);
                    continue;
                }
                fill(o, 0, s.n + 1);
                fill(twin, 0, s.n + 1);
                add(o, s.n + 1);
                add(twin, s.n + 1);
                for (k = 0; k < when * s.n; k++) (void)rfm_online_step(o, 150);
                add(o, s.n + 2);
                add(twin, s.n + 2);
                if (!saved(o, &t)) {
                    test_rewind(mark);
                    continue;
                }
                CHECK_INT(RFM_OK, rfm_online_load(next, tape_get, &t));
                CHECK_SIZE(t.size, t.used);
                CHECK(hash_of(o) == hash_of(next)); /* the state of what was loaded is the state that was saved */
                CHECK(same(probe(o), probe(next)));
                finish(twin);
                finish(next);
                fill(twin, s.n + 3, 2 * s.n);
                fill(next, s.n + 3, 2 * s.n);
                a = report_of(twin);
                b = report_of(next);
                CHECK_SIZE(a.taken, b.taken);
                CHECK_SIZE(a.absorbed, b.absorbed);
                CHECK_SIZE(a.refits, b.refits);
                CHECK_SIZE(a.rejected, b.rejected);
                CHECK_BELOW(fabs((double)probe(twin) - (double)probe(next)), 2000 * TEST_EPS);
                test_rewind(mark);
            }
}

/* Damaged, cut off, or another's. */
static void test_load_refuses(void) {
    rfm_online_options p, other;
    rfm_online *o, *next;
    uint32_t before;
    tape t, cut;
    size_t i, mark;
    rfm_real units[2] = {1, 2};

    plain_world();
    options(&p, shapes[0]);
    t.size = 512, t.used = 0;
    t.at = test_take(t.size);
    mark = test_mark();
    o = learner(&p);
    CHECK(t.at != NULL && o != NULL);
    fill(o, 0, 5);
    add(o, 6);
    cut = t;
    cut.size = 100; /* the sink refuses: its status comes back */
    CHECK_INT(RFM_EARENA, rfm_online_save(o, tape_put, &cut));
    CHECK_INT(RFM_OK, rfm_online_save(o, tape_put, &t));
    t.size = t.used;
    test_rewind(mark);
    next = learner(&p);
    CHECK(next != NULL);
    CHECK_INT(RFM_ENULL, rfm_online_load(NULL, tape_get, &t));
    CHECK_INT(RFM_ENULL, rfm_online_load(next, NULL, &t));
    fill(next, 3, 6);
    before = hash_of(next);
    for (i = 0; i < t.size; i++) { /* every byte, one bit */
        int status;

        test_note("damaged byte", i, 0, 0);
        t.at[i] ^= (unsigned char)(1 << i % 8);
        t.used = 0;
        status = rfm_online_load(next, tape_get, &t);
        t.at[i] ^= (unsigned char)(1 << i % 8);
        CHECK(status < 0);
        if (i < 4)
            CHECK_INT(RFM_EMAGIC, status);
        else if (i < AT_REAL)
            CHECK_INT(RFM_EVERSION, status);
        else if (i < AT_REAL + 1)
            CHECK_INT(RFM_ETYPE, status);
        else if (i >= AT_WINDOW && i < AT_PRINT)
            CHECK_INT(RFM_ESHAPE, status);
        else if (i < AT_N)
            CHECK_INT(RFM_EVALUE, status);
        else
            CHECK(status == RFM_ECONTENT || status == RFM_ECHECKSUM || status == RFM_ETRUNCATED);
        if (i < AT_N)
            CHECK(before == hash_of(next));
        else
            CHECK_SIZE(0, report_of(next).samples);
    }
    finish(next);
    for (i = 0; i < t.size; i++) {
        test_note("cut off", i, 0, 0);
        fill(next, 3, 4);
        cut = t;
        cut.size = i, cut.used = 0;
        CHECK_INT(RFM_ETRUNCATED, rfm_online_load(next, tape_get, &cut));
        CHECK_SIZE(0, report_of(next).samples + report_of(next).taken);
    }
    t.used = 0;
    CHECK_INT(RFM_OK, rfm_online_load(next, tape_get, &t)); /* nothing else was wrong with it */
    finish(next);
    check_solved(next, 1000);
    for (i = 0; i < 9; i++) {
        test_rewind(mark);
        test_note("other options", i, 0, 0);
        other = p;
        if (i == 0) other.window = 5;
        if (i == 1) other.inputs = 3;
        if (i == 2) other.outputs = 3;
        if (i == 3) other.ridge *= 2;
        if (i == 4) other.kernel = RFM_GAUSSIAN;
        if (i == 5) other.int8 = 1;
        if (i == 6) other.units = units;
        if (i == 7) other.iterations = 1;
        if (i == 8) other.forget = RFM_FORGET_LEAST;
        next = learner(&other);
        CHECK(next != NULL);
        t.used = 0;
        CHECK_INT(i < 3 ? RFM_ESHAPE : RFM_EVALUE, rfm_online_load(next, tape_get, &t));
    }
}

/* What save writes load reads, and it says the same. 0: no room. */
static int check_reload(const rfm_online *o, const rfm_online_options *p) {
    const size_t mark = test_mark();
    rfm_online *next = learner(p);
    tape t;

    if (next == NULL || !saved(o, &t)) {
        test_rewind(mark);
        return 0;
    }
    CHECK_INT(RFM_OK, rfm_online_load(next, tape_get, &t));
    CHECK(hash_of(o) == hash_of(next));
    test_rewind(mark);
    return 1;
}

#ifdef TEST_ASAN
#define CHECK_ROOM 512 /* red zones */
#else
#define CHECK_ROOM 0
#endif

/* As a model it is finite, or RFM_ERANGE with nothing changed. The status. */
static int check_model(const rfm_online *o) {
    const size_t mark = test_mark(), n = report_of(o).samples;
    const size_t bytes = (2 * o->d + n * (o->d + o->c)) * REAL_SIZE + 4 * RFM_ALIGN + CHECK_ROOM;
    rfm_arena store;
    rfm_model m, before;
    void *mem = test_take(bytes);
    int status;

    if (mem == NULL) return RFM_EARENA;
    CHECK_INT(RFM_OK, rfm_arena_init(&store, mem, bytes));
    memset(&m, 0x5a, sizeof m);
    before = m;
    status = rfm_online_model(o, &store, &m);
    if (status == RFM_OK) {
        CHECK(rfm_finite(o->d, m.shift) && rfm_finite(o->d, m.p));
        CHECK(rfm_finite(n * o->d, m.centers) && rfm_finite(n * o->c, m.alpha));
    } else {
        CHECK_INT(RFM_ERANGE, status);
        CHECK(memcmp(&m, &before, sizeof m) == 0);
        CHECK_SIZE(0, store.used);
        CHECK_INT(RFM_OK, store.status);
    }
    test_rewind(mark);
    return status;
}

/* Every word of a state replaced, with a checksum that is right: refused, or a learner that works and can be saved. */
static void test_forged_states(void) {
    static const uint32_t words[] = {0,           1,           0x00800000u, 0x3f800000u, 0x7f7fffffu,
                                     0x7fefffffu, 0x80000000u, 0xff7fffffu, 0xfffffffeu, 0xffffffffu};
    rfm_online_options p;
    rfm_online *o, *next;
    rfm_online_report r;
    rfm_real x[2], scores[2];
    size_t at, w, i, mark, loaded = 0;
    tape t;
    int int8, forget;

    for (int8 = 0; int8 < 2; int8++)
        for (forget = RFM_FORGET_OLDEST; forget <= RFM_FORGET_LEAST; forget++) {
            plain_world();
            test_reset();
            options(&p, shapes[0]);
            p.int8 = int8;
            p.forget = forget;
            p.refit_every = 2;
            p.margin = 1000;
            t.size = 512, t.used = 0;
            t.at = test_take(t.size);
            mark = test_mark();
            o = learner(&p);
            CHECK(t.at != NULL && o != NULL);
            fill(o, 0, 5);
            add(o, 6);
            CHECK_INT(RFM_OK, rfm_online_save(o, tape_put, &t));
            t.size = t.used;
            test_rewind(mark);
            next = learner(&p);
            CHECK(next != NULL);
            for (at = AT_N; at + 8 <= t.size; at += 4)
                for (w = 0; w < TEST_LENGTH(words); w++) {
                    const uint64_t was = little(t.at + at, 4);

                    test_note("forged", at, w, (size_t)(10 * int8 + forget));
                    put_little(t.at + at, words[w], 4);
                    seal(&t);
                    if (rfm_online_load(next, tape_get, &t) == RFM_OK) {
                        loaded++;
                        for (i = 7; i < 10; i++) {
                            make_sample(i, 2, 2, x);
                            (void)rfm_online_predict(next, x, scores, NULL, NULL);
                            CHECK_INT(RFM_OK, rfm_online_add(next, x, label_of(i, 2)));
                            finish(next);
                        }
                        r = report_of(next);
                        CHECK(rfm_finite(1, &r.old_score) && rfm_finite(1, &r.new_score));
                        (void)check_model(next);
                        (void)check_reload(next, &p);
                    }
                    put_little(t.at + at, was, 4);
                }
        }
    CHECK(loaded > 100);
}

/* A class that has been seen 2^32 - 1 times goes on as if it were a few less. */
static void test_reservoir_saturates(void) {
    rfm_online_options p;
    rfm_online *o;
    uint32_t dropped;
    size_t i, k;
    tape t;
    const size_t at = AT_RIDGE + 3 * REAL_SIZE; /* seen */

    for (i = 0; i < 3; i++) {
        plain_world();
        world.one_class = 1;
        test_reset();
        options(&p, shapes[0]);
        p.forget = RFM_FORGET_BALANCED;
        o = learner(&p);
        CHECK(o != NULL);
        fill(o, 0, 4);
        if (!saved(o, &t)) return;
        put_little(t.at + at + 4, 0xffffffffu - i, 4);
        seal(&t);
        CHECK_INT(RFM_OK, rfm_online_load(o, tape_get, &t));
        dropped = report_of(o).dropped;
        fill(o, 4, 12); /* each replaces one with a chance of 4 in 2^32 */
        CHECK_SIZE(dropped + 8, report_of(o).dropped);
        t.used = 0, t.size += 64;
        CHECK_INT(RFM_OK, rfm_online_save(o, tape_put, &t));
        CHECK(little(t.at + at + 4, 4) == 0xffffffffu);
        for (k = 0; k < 2; k++) { /* fewer seen than are there contradicts itself */
            put_little(t.at + at + 4, 3 + k, 4);
            t.size = t.used;
            seal(&t);
            CHECK_INT(k == 0 ? RFM_ECONTENT : RFM_OK, rfm_online_load(o, tape_get, &t));
            t.used = t.size;
        }
    }
}

/* ---- as a model ----------------------------------------------------------------------------- */

/* It can be written, and opened again; if this machine has blobs, and the pool room for one. */
static void check_blob(const rfm_online *o, const rfm_model *m) {
    rfm_contents parts;
    rfm_model opened;
    size_t bytes = 0;
    void *blob;

    memset(&parts, 0, sizeof parts);
    parts.model = m;
    parts.task = RFM_CLASSIFY;
    CHECK_INT(RFM_OK, rfm_model_size(&parts, &bytes));
    blob = test_little_endian() ? test_take(bytes) : NULL;
    if (blob == NULL) return;
    CHECK_INT(RFM_OK, rfm_model_write(&parts, blob, bytes));
    CHECK_INT(RFM_OK, rfm_model_open(blob, bytes, &opened));
    check_same_model(o, &opened, NULL, 500);
}

static void test_model_of_learner(void) {
    rfm_online_options p;
    size_t i, need, int8;
    shape s;

    plain_world();
    for (i = 0; shape_at(i, &s); i++)
        for (int8 = 0; int8 < 2; int8++) {
            const size_t mark = test_mark();
            rfm_online *o;
            rfm_arena store;
            rfm_model m;
            void *mem;

            test_note("model", i, int8, 0);
            options(&p, s);
            p.margin = 1000;
            p.int8 = (int)int8;
            o = learner(&p);
            rfm_arena_measure(&store);
            rfm_arena_take(&store, s.d, sizeof(rfm_real));
            rfm_arena_take(&store, s.d, sizeof(rfm_real));
            rfm_arena_take(&store, s.n * s.d, sizeof(rfm_real));
            rfm_arena_take(&store, s.n * s.c, sizeof(rfm_real));
            need = store.peak;
            mem = o != NULL ? test_take(need) : NULL;
            if (mem == NULL) {
                test_rewind(mark);
                continue;
            }
            CHECK_INT(RFM_OK, rfm_arena_init(&store, mem, need));
            CHECK_INT(RFM_EZERO, rfm_online_model(o, &store, &m));
            fill(o, 0, s.n + 1);
            CHECK_INT(RFM_OK, rfm_online_refit(o));
            finish(o);
            CHECK_INT(RFM_OK, rfm_arena_init(&store, mem, need - 1));
            CHECK_INT(RFM_EARENA, rfm_online_model(o, &store, &m));
            CHECK_SIZE(0, store.used);
            CHECK_INT(RFM_OK, store.status);
            CHECK_INT(RFM_OK, rfm_arena_init(&store, mem, need));
            CHECK_INT(RFM_OK, rfm_online_model(o, &store, &m));
            check_same_model(o, &m, NULL, 500);
            check_blob(o, &m);
            test_rewind(mark);
        }
}

/* The window as rows for sums: what was added, oldest first, and no more than there is. */
static void test_window_is_rows(void) {
    rfm_online_options p;
    rfm_real x[2 * D_MAX], y[2 * C_MAX], weights[2], sample[D_MAX];
    size_t i, k, q, outputs;

    plain_world();
    for (outputs = 1; outputs <= 3; outputs += 2) {
        const shape s = {4, 2, outputs};
        const size_t mark = test_mark(), classes = classes_of(outputs);
        rfm_online *o;

        options(&p, s);
        o = learner(&p);
        CHECK(o != NULL);
        CHECK_SIZE(0, rfm_online_read(o, 0, 1, x, y, NULL));
        fill(o, 0, 6);
        for (i = 0; i < 4; i++) {
            CHECK_SIZE(i < 3 ? 2 : 1, rfm_online_read(o, i, 2, x, y, weights));
            make_sample(2 + i, s.d, classes, sample);
            for (q = 0; q < s.d; q++) CHECK(same(x[q], sample[q]));
            for (k = 0; k < outputs; k++) {
                const int is = label_of(2 + i, classes) == (outputs == 1 ? 1 : k);

                CHECK(same(y[k], is ? 1 : outputs == 1 ? -1 : 0));
            }
            CHECK(same(weights[0], 1));
        }
        CHECK_SIZE(0, rfm_online_read(o, 4, 1, x, y, NULL));
        test_rewind(mark);
    }
}

/* ---- bad input ------------------------------------------------------------------------------ */

static void test_exact_memory(void) {
    rfm_online_options p;
    rfm_online before, o;
    size_t i, need, less;
    shape s;

    for (i = 0; shape_at(i, &s); i++) {
        const size_t mark = test_mark();
        rfm_arena arena;
        void *mem;

        options(&p, s);
        CHECK_INT(RFM_OK, rfm_online_need(&p, &need));
        mem = test_take(need);
        if (mem == NULL) break;
        memset(&o, 0x5a, sizeof o);
        memset(&before, 0x5a, sizeof before);
        for (less = 1; less <= need; less = less < 4 ? less + 1 : 2 * less) {
            CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need - less));
            CHECK_INT(RFM_EARENA, rfm_online_init(&o, &p, &arena));
            CHECK_SIZE(0, arena.used);
            CHECK_INT(RFM_OK, arena.status);
            CHECK(memcmp(&o, &before, sizeof o) == 0);
        }
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
        CHECK_INT(RFM_OK, rfm_online_init(&o, &p, &arena));
        CHECK_SIZE(need, arena.used);
        test_rewind(mark);
    }
#if !defined TEST_ASAN && RFM_REAL_BYTES == 4
    s.n = 64, s.d = 16, s.c = 4; /* the promise */
    options(&p, s);
    p.pending = 4;
    CHECK_INT(RFM_OK, rfm_online_need(&p, &need));
    CHECK(need <= 16000 && need + sizeof(rfm_online) <= 16384 + 200); /* pointers of 8 bytes: 200 more */
#endif
}

static void refused(int status, const rfm_online_options *p) {
    RFM_ALIGNED static unsigned char memory[64];
    rfm_online o;
    rfm_arena arena;
    size_t need = 77;
    int got = rfm_online_need(p, &need);

    CHECK(got == status || got == RFM_OK);
    CHECK(got == RFM_OK || need == 77);
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, sizeof memory));
    CHECK_INT(status, rfm_online_init(&o, p, &arena));
    CHECK_SIZE(0, arena.used);
}

static void test_bad_options(void) {
    const rfm_real bad[5] = {0, -1, (rfm_real)NAN, (rfm_real)INFINITY, -(rfm_real)INFINITY}, good[2] = {1, 1};
    rfm_online_options p, q;
    rfm_real units[2];
    rfm_model m;
    rfm_online o;
    rfm_arena arena;
    size_t i, need;
    int *choice;

    options(&p, shapes[0]);
    CHECK_INT(RFM_ENULL, rfm_online_need(NULL, &need));
    CHECK_INT(RFM_ENULL, rfm_online_need(&p, NULL));
    rfm_arena_measure(&arena);
    CHECK_INT(RFM_ENULL, rfm_online_init(NULL, &p, &arena));
    CHECK_INT(RFM_ENULL, rfm_online_init(&o, NULL, &arena));
    CHECK_INT(RFM_ENULL, rfm_online_init(&o, &p, NULL));
    for (i = 0; i < 4; i++) {
        q = p;
        *(i == 0 ? &q.window : i == 1 ? &q.inputs : i == 2 ? &q.outputs : &q.pending) = 0;
        refused(RFM_EZERO, &q);
        *(i == 0 ? &q.window : i == 1 ? &q.inputs : i == 2 ? &q.outputs : &q.pending) = SIZE_MAX;
        refused(RFM_EOVERFLOW, &q);
    }
    q = p;
    q.inputs = UINT32_MAX; /* as many inputs as an index has, but not as many bytes as an address */
    if (sizeof(size_t) == 4) refused(RFM_EOVERFLOW, &q);
    for (i = 0; i < 5; i++) {
        test_note("bad number", i, 0, 0);
        q = p;
        q.ridge = bad[i];
        refused(RFM_EVALUE, &q);
        q = p;
        q.bandwidth = bad[i];
        refused(RFM_EVALUE, &q);
        q = p;
        q.margin = bad[i];
        if (i > 0) refused(RFM_EVALUE, &q);
        q = p;
        units[0] = 1, units[1] = bad[i];
        q.units = units;
        refused(RFM_EVALUE, &q);
        q = p;
        q.int8 = 1;
        q.step = units;
        refused(RFM_EVALUE, &q);
        q.step = good;
        q.offset = units;
        if (i >= 2) refused(RFM_EFINITE, &q);
    }
    for (i = 0; i < 2; i++) { /* just beyond the range of L, and of units */
        test_note("out of range", i, 0, 0);
        q = p;
        q.bandwidth = (rfm_real)(RFM_REAL_BYTES == 4 ? i ? 1.1e17 : 0.9e-12 : i ? 1.1e150 : 0.9e-130);
        refused(RFM_EVALUE, &q);
        q = p;
        units[0] = (rfm_real)(RFM_REAL_BYTES == 4 ? i ? 1.1e15 : 0.9e-15 : i ? 1.1e100 : 0.9e-100), units[1] = 1;
        q.units = units;
        refused(RFM_EVALUE, &q);
    }
    for (i = 0; i < 14; i++) {
        test_note("bad choice", i, 0, 0);
        q = p;
        choice = i / 2 == 1   ? &q.scale
                 : i / 2 == 2 ? &q.begin
                 : i / 2 == 3 ? &q.forget
                 : i / 2 == 4 ? &q.score
                 : i / 2 == 5 ? &q.int8
                              : &q.kernel;
        *choice = i == 13 ? RFM_GENERAL : i % 2 ? 3 : -1;
        refused(RFM_EVALUE, &q);
    }
    memset(&m, 0, sizeof m);
    m.n = 1, m.d = m.r = m.c = 2, m.metric = RFM_DIAGONAL, m.bandwidth = m.exponent = 1;
    m.shift = m.p = m.centers = m.alpha = good;
    for (i = 0; i < 10; i++) {
        rfm_model s = m;

        test_note("start", i, 0, 0);
        q = p;
        q.start = &s;
        if (i == 0) s.d = 3;
        if (i == 1) s.c = 1;
        if (i == 2) s.kernel = RFM_GAUSSIAN;
        if (i == 3) s.n = 0;
        if (i == 4) s.r = 0;
        if (i == 5) s.shift = NULL;
        if (i == 6) s.p = NULL;
        if (i == 7) s.centers = NULL;
        if (i == 8) s.alpha = NULL;
        if (i == 9) q.bandwidth = 0; /* and no summary to take it from */
        refused(i < 5 ? RFM_ESHAPE : i < 9 ? RFM_ENULL : RFM_EVALUE, &q);
    }
}

static void test_bad_samples(void) {
    const rfm_real bad[3] = {(rfm_real)NAN, (rfm_real)INFINITY, -(rfm_real)INFINITY};
    rfm_online_options p;
    rfm_online *o;
    rfm_online_report r;
    rfm_real x[2] = {0, 1}, scores[2] = {7, 7};
    uint32_t before;
    size_t i;

    plain_world();
    options(&p, shapes[0]);
    o = learner(&p);
    CHECK(o != NULL);
    CHECK_INT(RFM_ENULL, rfm_online_add(NULL, x, 0));
    CHECK_INT(RFM_ENULL, rfm_online_add(o, NULL, 0));
    CHECK_INT(RFM_ENULL, rfm_online_step(NULL, 1));
    CHECK_INT(RFM_EZERO, rfm_online_step(o, 0));
    CHECK_INT(RFM_ENULL, rfm_online_refit(NULL));
    CHECK_INT(RFM_ENULL, rfm_online_report_get(NULL, &r));
    CHECK_INT(RFM_ENULL, rfm_online_report_get(o, NULL));
    CHECK_INT(RFM_ENULL, rfm_online_save(NULL, hash_put, &before));
    CHECK_INT(RFM_ENULL, rfm_online_save(o, NULL, NULL));
    CHECK_INT(RFM_ENULL, rfm_online_save_need(o, NULL));
    CHECK_INT(RFM_ENULL, rfm_online_model(o, NULL, NULL));
    CHECK_INT(RFM_EZERO, rfm_online_predict(o, x, scores, NULL, NULL)); /* nothing serves yet */
    CHECK_INT(0, rfm_online_step(o, 1));
    CHECK_INT(RFM_OK, rfm_online_refit(o)); /* of nothing */
    CHECK_INT(0, rfm_online_step(o, 1));
    CHECK_INT(RFM_OK, rfm_online_refit(o));
    fill(o, 0, 1); /* it does not keep the next sample waiting */
    CHECK_SIZE(1, report_of(o).samples);
    CHECK_SIZE(0, report_of(o).refits + report_of(o).rejected + report_of(o).failed);
    fill(o, 1, 3);
    for (i = 0; i < 3; i++) {
        x[1] = bad[i];
        CHECK_INT(RFM_EFINITE, rfm_online_add(o, x, 0));
        CHECK_INT(RFM_EFINITE, rfm_online_predict(o, x, scores, NULL, NULL));
        CHECK(same(scores[0], 7));
    }
    x[1] = 1;
    CHECK_INT(RFM_EVALUE, rfm_online_add(o, x, 2));
    CHECK_INT(RFM_EVALUE, rfm_online_add(o, x, SIZE_MAX));
    CHECK_INT(RFM_OK, rfm_online_add(o, x, 1));
    CHECK_INT(RFM_OK, rfm_online_add(o, x, 1));
    CHECK_INT(RFM_EARENA, rfm_online_add(o, x, 1));
    r = report_of(o);
    CHECK_SIZE(3, r.refused_value);
    CHECK_SIZE(2, r.refused_label);
    CHECK_SIZE(1, r.refused_full);
    CHECK_SIZE(5, r.taken);
    CHECK_SIZE(3, r.samples);
    CHECK_SIZE(2, r.waiting);
    CHECK_INT(RFM_ENULL, rfm_online_predict(NULL, x, scores, NULL, NULL));
    CHECK_INT(RFM_ENULL, rfm_online_predict(o, NULL, scores, NULL, NULL));
    CHECK_INT(RFM_ENULL, rfm_online_predict(o, x, NULL, NULL, NULL));
}

/* Windows that say little: one sample, one class, the same sample again and again, numbers as large as they can be. */
static void test_poor_windows(void) {
    rfm_online_options p;
    rfm_real x[2], scores[2];
    const rfm_real weight[2] = {0, 1};
    rfm_model m;
    size_t kind, i, k, kernel;

    memset(&m, 0, sizeof m);
    m.n = 1, m.d = m.r = m.c = 2, m.metric = RFM_DIAGONAL, m.bandwidth = m.exponent = 1;
    m.shift = m.p = m.centers = m.alpha = weight;
    for (kind = 0; kind < 6; kind++)
        for (kernel = 0; kernel < 2; kernel++) {
            const size_t mark = test_mark();
            rfm_online *o;
            rfm_online_report r;
            shape s = shapes[0];

            plain_world();
            test_note("poor", kind, kernel, 0);
            if (kind == 0) s.n = 1;
            world.one_class = kind == 1;
            options(&p, s);
            p.kernel = (int)kernel;
            p.margin = 1000;
            p.refit_every = 3;
            if (kind == 2) p.ridge = (rfm_real)1e-30; /* equal rows: not positive definite without a larger ridge */
            m.kernel = (int)kernel;
            if (kind == 5) p.start = &m; /* an input without weight, as far away as can be */
            o = learner(&p);
            CHECK(o != NULL);
            for (i = 0; i < 12; i++) {
                make_sample(kind == 2 ? 0 : i, 2, 2, x);
                if (kind == 3)
                    x[0] = (rfm_real)(i % 2 ? FLT_MAX : -FLT_MAX), x[1] = (rfm_real)(i % 3 ? FLT_MAX : -FLT_MAX);
                if (kind == 5) x[0] = (rfm_real)(i % 2 ? FLT_MAX : -FLT_MAX);
                if (kind == 4) x[0] = x[1] = (rfm_real)FLT_MIN * (rfm_real)(i % 3);
                CHECK_INT(RFM_OK, rfm_online_add(o, x, kind == 1 ? 1 : i % 2));
                finish(o);
                CHECK_INT(RFM_OK, rfm_online_predict(o, x, scores, NULL, NULL));
                for (k = 0; k < 2; k++) CHECK(fabs((double)scores[k]) < 1e6);
            }
            r = report_of(o);
            CHECK_SIZE(12, r.absorbed);
            CHECK_SIZE(4, r.refits + r.rejected + r.failed);
            if (kind == 2) CHECK((double)r.ridge > 1e-8 * (RFM_REAL_BYTES == 4 ? 1 : 1e-9));
            if (kind == 1) CHECK(scores[1] > scores[0]);
            test_rewind(mark);
        }
}

/* ---- the number range ----------------------------------------------------------------------- */

#if RFM_REAL_BYTES == 4
#define REAL_LARGEST FLT_MAX
#define EXPONENT_MAX 125
#else
#define REAL_LARGEST DBL_MAX
#define EXPONENT_MAX 1010
#endif
#ifdef BOARD_BARE
#define EXPONENT_STEP (EXPONENT_MAX / 6)
#else
#define EXPONENT_STEP (EXPONENT_MAX / 60)
#endif

/* Samples times 2^e with L, or the units, times 2^e are the same task: a learner gives the same scores, or says that it
 * cannot: L or units are refused, or the refit fails. What must be within reach: L from 2^-35 to 2^50, with int8 2^-25
 * to 2^25, units from 2^-45 to 2^45. */
static void test_powers_of_two(void) {
    static const shape scaled[] = {{1, 1, 1}, {2, 1, 2}, {4, 2, 2}, {5, 3, 1}, {6, 2, 3}, {13, 9, 4}};
    rfm_online_options p;
    rfm_real units[D_MAX], x[D_MAX], scores[C_MAX], expected[4][C_MAX];
    size_t i, k, q, probes = 0;
    int kernel, how, scale, e;

    for (i = 0; i < TEST_LENGTH(scaled) && scaled[i].n <= N_MAX; i++)
        for (kernel = RFM_LAPLACE; kernel <= RFM_GAUSSIAN; kernel++)
            for (how = 0; how < 4; how++) /* L or units, reals or bytes */
                for (scale = how % 2 ? RFM_SCALE_NONE : RFM_SCALE_MAX; scale <= RFM_SCALE_TRACE; scale++) {
                    const shape s = scaled[i];
                    int reference = 0;

                    for (e = 0; e <= EXPONENT_MAX; e = e > 0 ? -e : EXPONENT_STEP - e) {
                        const size_t mark = test_mark();
                        const rfm_real g = (rfm_real)ldexp(1, e);
                        const int low = how % 2 ? -45 : how < 2 ? -35 : -25, high = how % 2 ? 45 : how < 2 ? 50 : 25;
                        const int within = e >= low && e <= high;
                        rfm_online_report r;
                        rfm_online *o;
                        size_t need = 0;
                        rfm_arena arena;
                        void *mem;
                        int status;

                        test_note("2^e, shape, how", (size_t)(e + 2000), i, (size_t)(100 * how + 10 * kernel + scale));
                        plain_world();
                        world.scale = (double)g;
                        options(&p, s);
                        p.kernel = kernel, p.scale = scale, p.margin = 1000;
                        for (q = 0; q < s.d; q++) units[q] = how % 2 ? g : g / 32;
                        if (how % 2)
                            p.units = units;
                        else
                            p.bandwidth = 2 * g;
                        p.int8 = how >= 2;
                        if (how == 2) p.step = units; /* M in bytes is units^2 / 1024 */
                        o = test_take(sizeof *o);
                        CHECK_INT(RFM_OK, rfm_online_need(&p, &need));
                        mem = o != NULL ? test_take(need) : NULL;
                        if (mem == NULL) {
                            test_rewind(mark);
                            break;
                        }
                        CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
                        status = rfm_online_init(o, &p, &arena);
                        CHECK(status == RFM_OK || (status == RFM_EVALUE && !within));
                        if (status == RFM_OK) {
                            fill(o, 0, s.n + 2);
                            CHECK_INT(RFM_OK, rfm_online_refit(o));
                            finish(o);
                            r = report_of(o);
                            CHECK(check_model(o) == RFM_OK || !within);
                            (void)check_reload(o, &p);
                            if (e == 0) reference = r.refits == 1;
                            CHECK_SIZE(1, r.refits + r.failed);
                            CHECK(r.refits == (uint32_t)reference || !within);
                            for (k = 0; k < 4 && r.refits == 1 && reference; k++) {
                                make_sample(500 + k, s.d, classes_of(s.c), x);
                                CHECK_INT(RFM_OK, rfm_online_predict(o, x, scores, NULL, NULL));
                                if (e == 0) memcpy(expected[k], scores, sizeof scores);
                                for (q = 0; q < s.c; q++)
                                    CHECK_BELOW(fabs((double)scores[q] - (double)expected[k][q]), 1000 * TEST_EPS);
                                probes += e != 0;
                            }
                        }
                        test_rewind(mark);
                    }
                }
    CHECK(probes > 100);
}

/* The gradients of a Gaussian at points that are far apart, 9.7 bandwidths: their squares are hardly numbers. The
 * model that was there stays. */
static void test_metric_underflows(void) {
    rfm_online_options p;
    rfm_online *o;
    rfm_real x, far = (rfm_real)(RFM_REAL_BYTES == 4 ? 9.7 : 27.2), score;
    size_t scale, i;
    shape s = {2, 1, 1};

    for (scale = RFM_SCALE_NONE; scale <= RFM_SCALE_TRACE; scale++) {
        test_reset();
        test_note("scale", scale, 0, 0);
        options(&p, s);
        p.kernel = RFM_GAUSSIAN, p.bandwidth = 1, p.ridge = (rfm_real)1e-3;
        p.iterations = 1, p.scale = (int)scale, p.margin = 1000;
        o = learner(&p);
        CHECK(o != NULL);
        for (i = 0; i < 2; i++) {
            x = i == 0 ? 0 : far;
            CHECK_INT(RFM_OK, rfm_online_add(o, &x, i));
            finish(o);
        }
        CHECK_INT(RFM_OK, rfm_online_refit(o));
        finish(o);
        CHECK_SIZE(1, report_of(o).failed);
        CHECK_INT(RFM_OK, rfm_online_predict(o, &x, &score, NULL, NULL));
        CHECK_BELOW(fabs((double)score - 1 / 1.001), 100 * TEST_EPS);
        CHECK_INT(RFM_OK, check_model(o));
        (void)check_reload(o, &p);
    }
}

/* A start model whose scores are infinite, class 0. Its error is the largest number, none of its classes counts as
 * right, and the first model with a score replaces it. */
static void test_scores_are_finite(void) {
    const rfm_real big = (rfm_real)REAL_LARGEST, alpha[4] = {big, 0, big, 0}, zero[4] = {0, 0, 0, 0};
    const rfm_real small[2] = {(rfm_real)1e-9, (rfm_real)1e-9};
    rfm_online_options p;
    rfm_real x[2];
    rfm_online_report r;
    rfm_online *o;
    rfm_model m;
    size_t i;
    int score;

    for (score = RFM_SCORE_SQUARED; score <= RFM_SCORE_ACCURACY; score++) {
        plain_world();
        test_reset();
        test_note("score", (size_t)score, 0, 0);
        memset(&m, 0, sizeof m);
        m.n = m.d = m.r = m.c = 2, m.metric = RFM_DIAGONAL, m.bandwidth = m.exponent = 1;
        m.shift = m.centers = zero, m.p = small, m.alpha = alpha;
        options(&p, shapes[0]);
        p.start = &m, p.score = score, p.begin = RFM_BEGIN_UNITS;
        o = learner(&p);
        CHECK(o != NULL);
        for (i = 0; i < 4; i++) {
            make_sample(i, 2, 2, x);
            CHECK_INT(RFM_OK, rfm_online_add(o, x, i % 2));
            finish(o);
        }
        CHECK_INT(RFM_OK, rfm_online_refit(o));
        finish(o);
        r = report_of(o);
        CHECK(same(r.old_score, score == RFM_SCORE_SQUARED ? (rfm_real)REAL_LARGEST : 0));
        CHECK(rfm_finite(1, &r.new_score) && r.own);
        (void)check_reload(o, &p);
    }
}

/* Samples as large as numbers are. As a model they are too large, or it says what the learner says. An input without
 * weight does not matter. */
static void test_largest_samples(void) {
    const rfm_real weight[2] = {0, 1}, largest = (rfm_real)REAL_LARGEST;
    rfm_online_options p;
    rfm_online *o[2];
    rfm_real x[2], scores[2], expected[2];
    rfm_model m;
    size_t i, k, kernel, with;
    int int8;

    memset(&m, 0, sizeof m);
    m.n = 1, m.d = m.r = m.c = 2, m.metric = RFM_DIAGONAL, m.bandwidth = m.exponent = 1;
    m.shift = m.p = m.centers = m.alpha = weight;
    for (kernel = 0; kernel < 2; kernel++)
        for (int8 = 0; int8 < 2; int8++) {
            plain_world();
            test_reset();
            test_note("kernel, int8", kernel, (size_t)int8, 0);
            options(&p, shapes[0]);
            p.kernel = m.kernel = (int)kernel;
            p.start = &m, p.int8 = int8, p.iterations = 0, p.margin = 1000;
            for (with = 0; with < 2; with++) {
                o[with] = learner(&p);
                CHECK(o[with] != NULL);
                for (i = 0; i < 5; i++) {
                    make_sample(i, 2, 2, x);
                    x[0] = with ? i % 2 ? largest : -largest : 0;
                    CHECK_INT(RFM_OK, rfm_online_add(o[with], x, label_of(i, 2)));
                    finish(o[with]);
                }
                CHECK_INT(RFM_OK, rfm_online_refit(o[with]));
                finish(o[with]);
                CHECK_INT(1, report_of(o[with]).own);
            }
            for (i = 0; i < 6; i++) {
                make_sample(500 + i, 2, 2, x);
                for (with = 0; with < 2; with++) {
                    x[0] = with ? i % 2 ? largest : -largest : 0;
                    CHECK_INT(RFM_OK, rfm_online_predict(o[with], x, with ? scores : expected, NULL, NULL));
                }
                for (k = 0; k < 2; k++) CHECK(same(scores[k], expected[k]));
            }
            CHECK_INT(RFM_OK, check_model(o[0]));
            (void)check_model(o[1]);
            (void)check_reload(o[1], &p);
        }
    plain_world();
    test_reset();
    options(&p, shapes[0]);
    o[0] = learner(&p);
    CHECK(o[0] != NULL);
    for (i = 0; i < 4; i++) {
        x[0] = x[1] = i % 2 ? largest : -largest;
        CHECK_INT(RFM_OK, rfm_online_add(o[0], x, i % 2));
        finish(o[0]);
    }
    CHECK_INT(RFM_ERANGE, check_model(o[0]));
    (void)check_reload(o[0], &p);
}

/* Distances far beyond 1e15, with a bandwidth to match: exp(-1), exp(-1 / 2) where the samples are a bandwidth
 * apart. */
static void test_large_bandwidth(void) {
    rfm_online_options p;
    rfm_online *o;
    rfm_real x, score, novelty;
    size_t kernel;
    shape s = {1, 1, 1};

    for (kernel = 0; kernel < 2; kernel++) {
        test_reset();
        options(&p, s);
        p.kernel = (int)kernel, p.bandwidth = (rfm_real)1e17;
        o = learner(&p);
        CHECK(o != NULL);
        x = 0;
        CHECK_INT(RFM_OK, rfm_online_add(o, &x, 1));
        finish(o);
        x = p.bandwidth;
        CHECK_INT(RFM_OK, rfm_online_predict(o, &x, &score, NULL, &novelty));
        CHECK_BELOW(fabs((double)novelty - exp(kernel ? -0.5 : -1)), 10 * TEST_EPS);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_refit_equals_fit);
    RUN_TEST(test_refit_in_units);
    RUN_TEST(test_start_metric);
    RUN_TEST(test_start_blob);
    RUN_TEST(test_slices_do_not_matter);
    RUN_TEST(test_refit_waits_for_its_samples);
    RUN_TEST(test_incremental_stays_exact);
    RUN_TEST(test_forgets_the_oldest);
    RUN_TEST(test_balanced_reservoir);
    RUN_TEST(test_forgets_the_least_useful);
    RUN_TEST(test_guard);
    RUN_TEST(test_guard_scores);
    RUN_TEST(test_start_model);
    RUN_TEST(test_int8);
    RUN_TEST(test_add_between_slices);
#ifndef BOARD_BARE
    RUN_TEST(test_add_from_a_thread);
#endif
    RUN_TEST(test_save_and_load);
    RUN_TEST(test_load_refuses);
    RUN_TEST(test_forged_states);
    RUN_TEST(test_reservoir_saturates);
    RUN_TEST(test_model_of_learner);
    RUN_TEST(test_window_is_rows);
    RUN_TEST(test_exact_memory);
    RUN_TEST(test_bad_options);
    RUN_TEST(test_bad_samples);
    RUN_TEST(test_poor_windows);
    RUN_TEST(test_powers_of_two);
    RUN_TEST(test_metric_underflows);
    RUN_TEST(test_scores_are_finite);
    RUN_TEST(test_largest_samples);
    RUN_TEST(test_large_bandwidth);
    return UNITY_END();
}

/* rfm_online.c - retraining in slices; rfm_online.h has the contract.
 *
 * Contents:
 *   1. Numbers            constants of the number type, costs
 *   2. Options, memory    checks, the layout, an empty learner
 *   3. Ring               samples on their way from an interrupt
 *   4. Pieces             what they cost is paid here; rows of the kernel matrix
 *   5. Factor             build, append, delete, solve
 *   6. Scores             leave-one-out, and the start model's
 *   7. Metric             gradient weights, AGOP
 *   8. Tasks              absorb, refit, rebuild: which phase follows which
 *   9. Prediction
 *  10. State              save, load
 *
 * The work is a sequence of phases. Each phase is a function with all its loop counters in the learner. It does a
 * piece, which costs a known number of units, as long as the budget lasts, and returns 0 when that is used up, 1 when
 * the phase is over. Where a piece ends depends on sizes only, so the order of all sums, and with it every bit, is the
 * same however the work is cut.
 *
 * Memory: one packed triangle (n (n + 1) / 2). It holds the factor L of K + ridge I = L L' in the serving metric;
 * during a refit the matrices of the refit. A model is a metric, a list of rows and their alpha: there are two of each,
 * one that serves and one in the making, on one pool of samples. The ring's places are in that pool as well: a sample
 * is never copied after add, and the sample that it replaces is in its place, untouched, until the model that used it
 * no longer serves.
 */
#include "rfm_online.h"

#ifndef RFM_NO_TRAIN

#include "rfm_private.h"

#include <string.h>

/* ==== 1. Numbers ============================================================================= */

#define REAL_MAX RFM_LIMIT(MAX)
#define REAL_MIN RFM_LIMIT(MIN)

#if RFM_REAL_BYTES == 8
#define L_MIN      R(1e-130)
#define L_MAX      R(1e150)
#define WEIGHT_MAX R(1e200)
typedef uint64_t real_bits;
#else
#define L_MIN      R(1e-12)
#define L_MAX      R(1e17)
#define WEIGHT_MAX R(1e30)
typedef uint32_t real_bits;
#endif

/* The range of L makes distances right that are out of range, s^2 being the sum of M_q t^2:
 *   L <= L_MAX    where s^2 is infinite, s / L is above 100 (in double: 1,000), so that phi is 0
 *   L >= L_MIN    where s^2 underflows, or rfm_sqrt takes it for 0, s / L is below epsilon, so that phi is 1
 * WEIGHT_MAX: of M to start from, and of units^2 and 1 / units^2. */

/* The size of a piece: features of a row of differences, pairs of rows, kernel values, elements of anything else. */
#define LANES  8
#define PAIRS  8
#define VALUES 4
#define RUN    32

/* The cost of pieces, in instructions of a Cortex-M4F by gcc -O2: a little more than boards/retrain/measure counts.
 * "each" is per element. "slow" is the loop that is not written out: for other widths, and for bytes. */
#define COST_CALL         150 /* of rfm_online_step, and to return to the current phase */
#define COST_PHASE        80  /* from one phase to the next */
#define COST_SMALL        80  /* a few operations */
#define COST_RUN          56  /* of up to RUN elements; each: */
#define COST_SET          6   /* set or gathered */
#define COST_COPY         16  /* copied by a rule */
#define COST_SQUARE       5
#define COST_ROTATE       13
#define COST_ADD          9  /* an output of the start model */
#define COST_PAIRS        90 /* of rows in a kernel matrix; each pair, and each of its features: */
#define COST_PAIR         10
#define COST_FEATURE      4
#define COST_FEATURE_SLOW 24
#define COST_VALUES       60 /* of the kernel; each: */
#define COST_VALUE        82
#define COST_ROWS         54 /* four rows of a substitution; each, and at the end of the rows: */
#define COST_ROWS_EACH    12
#define COST_ROWS_LAST    90
#define COST_ROW          76 /* one row; each: */
#define COST_ROW_EACH     6
#define COST_SOLVE        180 /* a row of four right-hand sides; each, forward and backward: */
#define COST_FORWARD      13
#define COST_BACKWARD     17
#define COST_SOLVE_SLOW   11  /* and of each output */
#define COST_AGOP         104 /* a block of h; each, and at the end of the block: */
#define COST_AGOP_EACH    41
#define COST_AGOP_SLOW    22 /* each feature */
#define COST_AGOP_LAST    130
#define COST_OUTPUT       28 /* of a score */
#define COST_METRIC       28 /* each element of M */

/* sum + a b, with one rounding on processors that have an instruction for it: fewer instructions, and a little more
 * exact. So the last bits may differ between processors. On one processor they are the same for any slices. */
#if RFM_REAL_BYTES == 4 && defined(__FP_FAST_FMAF)
static inline rfm_real plus(rfm_real sum, rfm_real a, rfm_real b) { return __builtin_fmaf(a, b, sum); }
#elif RFM_REAL_BYTES == 8 && defined(__FP_FAST_FMA)
static inline rfm_real plus(rfm_real sum, rfm_real a, rfm_real b) { return __builtin_fma(a, b, sum); }
#else
static inline rfm_real plus(rfm_real sum, rfm_real a, rfm_real b) { return sum + a * b; }
#endif

static int finite_real(rfm_real x) { return rfm_finite(1, &x); }

/* Bits of `serving`. */
#define SERVE_SET    1u /* which of the two rows, alpha, count */
#define SERVE_METRIC 2u /* which of the two metric, ridge */
#define SERVE_OWN    4u /* 1: the window's model serves, not the start model */

static size_t set_of(uint32_t serving) { return serving & SERVE_SET ? 1 : 0; }
static size_t metric_of(uint32_t serving) { return serving & SERVE_METRIC ? 1 : 0; }

/* ==== 2. Options, memory ===================================================================== */

void rfm_online_options_init(rfm_online_options *o) {
    memset(o, 0, sizeof *o);
    o->window = 64;
    o->pending = 4;
    o->kernel = RFM_LAPLACE;
    o->ridge = R(1e-3);
    o->iterations = 3;
}

static int check_options(const rfm_online_options *o) {
    const rfm_model *s = o->start;
    if (o->window == 0 || o->inputs == 0 || o->outputs == 0 || o->pending == 0) return RFM_EZERO;
    if (o->window > 65535 || o->pending > 65535 - o->window || o->inputs > UINT32_MAX / 4 || o->outputs > 65535)
        return RFM_EOVERFLOW;
    if (!between(RFM_LAPLACE, o->kernel, RFM_GAUSSIAN) || !between(RFM_SCALE_NONE, o->scale, RFM_SCALE_TRACE))
        return RFM_EVALUE;
    if (!between(RFM_BEGIN_MODEL, o->begin, RFM_BEGIN_UNITS) ||
        !between(RFM_FORGET_OLDEST, o->forget, RFM_FORGET_LEAST))
        return RFM_EVALUE;
    if (!between(RFM_SCORE_SQUARED, o->score, RFM_SCORE_ACCURACY) || !between(0, o->int8, 1)) return RFM_EVALUE;
    if (!(o->ridge > R(0)) || !finite_real(o->ridge) || !(o->bandwidth >= R(0)) || !finite_real(o->bandwidth))
        return RFM_EVALUE;
    if (!(o->margin >= R(0)) || !finite_real(o->margin) || o->iterations > UINT16_MAX || o->refit_every > UINT32_MAX)
        return RFM_EVALUE;
    if (s == NULL) return RFM_OK;
    if (s->d != o->inputs || s->c != o->outputs || s->kernel != o->kernel || s->n == 0 || s->r == 0) return RFM_ESHAPE;
    if (on_sphere(s)) return RFM_EVALUE;
    if (s->r > UINT32_MAX / 4) return RFM_EOVERFLOW;
    if (s->shift == NULL || s->centers == NULL || s->alpha == NULL || (s->p == NULL && s->metric != RFM_IDENTITY))
        return RFM_ENULL;
    return RFM_OK;
}

static uint16_t *take_u16(rfm_arena *arena, size_t count) {
    return (uint16_t *)rfm_arena_take(arena, count, sizeof(uint16_t));
}

/* The memory of a learner, by sizes only. */
static int layout(rfm_arena *arena, const rfm_online_options *p, rfm_online *o) {
    size_t n = p->window, d = p->inputs, c = p->outputs, places = n + p->pending,
           rank = p->start != NULL ? p->start->r : 0, i;
    o->d = d, o->c = c, o->window = n, o->pending = p->pending, o->classes = c == 1 ? 2 : c;
    o->x = p->int8 ? NULL : rfm_arena_reals(arena, places, d);
    o->x8 = NULL;
    if (p->int8 && d > SIZE_MAX / places) return RFM_EOVERFLOW;
    if (p->int8) o->x8 = (int8_t *)rfm_arena_take(arena, places * d, 1);
    o->triangle = rfm_arena_reals(arena, n * (n + 1) / 2, 1);
    for (i = 0; i < 2; i++) {
        o->alpha[i] = rfm_arena_reals(arena, n, max_size(c, 2));
        o->metric[i] = rfm_arena_reals(arena, d, 1);
        o->rows[i] = take_u16(arena, n);
    }
    o->first = rfm_arena_reals(arena, d, 1);
    o->unit2 = rfm_arena_reals(arena, d, 1);
    o->step = rfm_arena_reals(arena, p->int8 ? d : 0, 1);
    o->offset = rfm_arena_reals(arena, p->int8 ? d : 0, 1);
    o->agop = rfm_arena_reals(arena, max_size(d, c), 1);
    o->work = rfm_arena_reals(arena, max_size(n, rank > 0 ? rank + d : 0), 1);
    o->query = rfm_arena_reals(arena, RFM_PREDICT_SCRATCH(d, rank), 1);
    o->label = take_u16(arena, places);
    o->ring = take_u16(arena, p->pending);
    o->held = take_u16(arena, o->classes);
    o->seen = (uint32_t *)rfm_arena_take(arena, o->classes, sizeof(uint32_t));
    return arena->status;
}

int rfm_online_need(const rfm_online_options *options, size_t *bytes) {
    rfm_arena measure;
    rfm_online o;
    int status;
    if (options == NULL || bytes == NULL) return RFM_ENULL;
    status = check_options(options);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = layout(&measure, options, &o);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

/* Empties the learner: no samples, no work. Apart from the arrays of the options, the arena's contents are
 * undefined. */
static void empty(rfm_online *o) {
    size_t i;
    for (i = 0; i < o->pending; i++) o->ring[i] = (uint16_t)i;
    memset(o->held, 0, o->classes * sizeof *o->held);
    memset(o->seen, 0, o->classes * sizeof *o->seen);
    memcpy(o->metric[0], o->first, o->d * sizeof *o->first);
    o->head = o->tail = 0;
    o->refused_value = o->refused_label = o->refused_full = o->taken = 0;
    o->absorbed = o->dropped = o->refits = o->rejected = o->failed = o->since = 0;
    o->random = rfm_random_start(o->options.seed);
    o->serving = o->options.start == NULL ? SERVE_OWN : 0;
    o->count[0] = o->count[1] = 0;
    o->ridge[0] = o->ridge[1] = o->options.ridge;
    o->old_score = o->new_score = R(0);
    o->wanted = 0, o->factored = 1; /* of order 0 */
    o->task = 0;
}

/* The diagonal at input q of the start model's M, P times `ratio`. */
static rfm_real start_metric(const rfm_model *m, size_t q, rfm_real ratio) {
    rfm_real sum = R(0), p;
    size_t i;
    if (m->metric != RFM_FULL) {
        p = m->metric == RFM_DIAGONAL ? m->p[q] * ratio : ratio;
        return p * p;
    }
    for (i = 0; i < m->r; i++) p = m->p[i * m->d + q] * ratio, sum += p * p;
    return sum;
}

/* What the options and the start model say about input q. The struct has numbers only, so that all can be checked at
 * once. */
typedef struct {
    rfm_real unit, unit2, step, offset, first;
} input;

static int input_of(const rfm_online_options *p, const rfm_real *x_scale, rfm_real bandwidth, size_t q, input *in) {
    const rfm_model *s = p->start;
    in->unit = p->units != NULL ? p->units[q] : x_scale != NULL ? x_scale[q] : R(1);
    in->step = !p->int8 ? R(1) : p->step != NULL ? p->step[q] : in->unit / R(32);
    in->offset = !p->int8 ? R(0) : p->offset != NULL ? p->offset[q] : s != NULL ? s->shift[q] : R(0);
    if (s != NULL && p->begin == RFM_BEGIN_MODEL)
        in->first = start_metric(s, q, bandwidth / s->bandwidth * in->step); /* a blob has L in its P */
    else
        in->first = in->step / in->unit * (in->step / in->unit);
    in->unit2 = in->unit / in->step * (in->unit / in->step);
    if (!finite_real(in->offset)) return RFM_EFINITE;
    if (!rfm_finite(sizeof *in / sizeof in->unit, &in->unit)) return RFM_EVALUE;
    if (!(in->unit > R(0)) || !(in->step > R(0))) return RFM_EVALUE;
    return in->unit2 <= WEIGHT_MAX && in->unit2 >= R(1) / WEIGHT_MAX && in->first <= WEIGHT_MAX ? RFM_OK : RFM_EVALUE;
}

int rfm_online_init(rfm_online *online, const rfm_online_options *options, rfm_arena *arena) {
    const rfm_real *x_scale = NULL;
    rfm_summary summary;
    rfm_online o;
    input in;
    rfm_real bandwidth;
    size_t used, q;
    int status;
    if (online == NULL || options == NULL || arena == NULL) return RFM_ENULL;
    if (arena->status != RFM_OK) return arena->status;
    status = check_options(options);
    if (status != RFM_OK) return status;
    bandwidth = options->bandwidth;
    if (options->start != NULL && rfm_model_summary(options->start, &summary, NULL, 0) == RFM_OK) {
        x_scale = summary.x_scale;
        if (!(bandwidth > R(0))) bandwidth = summary.bandwidth;
    }
    if (!finite_real(bandwidth) || !(bandwidth >= L_MIN) || !(bandwidth <= L_MAX)) return RFM_EVALUE;
    for (q = 0; q < options->inputs; q++) {
        status = input_of(options, x_scale, bandwidth, q, &in);
        if (status != RFM_OK) return status;
    }
    memset(&o, 0, sizeof o);
    used = arena->used;
    status = layout(arena, options, &o);
    if (status != RFM_OK) {
        arena->status = RFM_OK;
        rfm_arena_release(arena, used);
        return status;
    }
    o.options = *options;
    o.options.units = o.options.step = o.options.offset = NULL;
    o.options.bandwidth = bandwidth;
    o.inverse = R(1) / bandwidth;
    for (q = 0; q < o.d; q++) {
        (void)input_of(options, x_scale, bandwidth, q, &in);
        o.first[q] = in.first;
        o.unit2[q] = in.unit2;
        if (o.x8 != NULL) o.step[q] = in.step, o.offset[q] = in.offset;
    }
    empty(&o);
    *online = o;
    return RFM_OK;
}

/* ==== 3. Ring ===================================================================================
 *
 * Indices run from 0 to 2 pending - 1, so that a full ring differs from an empty one; entry e is place ring[e] of the
 * pool.
 */

static uint32_t after(const rfm_online *o, uint32_t index) {
    return index + 1 == 2 * (uint32_t)o->pending ? 0 : index + 1;
}
static size_t entry(const rfm_online *o, uint32_t index) { return index < o->pending ? index : index - o->pending; }
static size_t waiting(const rfm_online *o, uint32_t head, uint32_t tail) {
    return head >= tail ? head - tail : 2 * o->pending + head - tail;
}

/* x as the learner stores it. */
static rfm_real stored(const rfm_online *o, rfm_real x, size_t q) {
    return o->x8 != NULL ? (x - o->offset[q]) / o->step[q] : x;
}

static void put_sample(rfm_online *o, size_t place, const rfm_real *x, size_t label) {
    size_t q, d = o->d;
    for (q = 0; q < d; q++) {
        rfm_real value = stored(o, x[q], q);
        if (o->x8 == NULL)
            o->x[place * d + q] = value;
        else if (value >= R(127))
            o->x8[place * d + q] = 127;
        else if (value <= R(-127))
            o->x8[place * d + q] = -127;
        else
            o->x8[place * d + q] = (int8_t)((int)(value + R(127.5)) - 127);
    }
    o->label[place] = (uint16_t)label;
}

int rfm_online_add(rfm_online *o, const rfm_real *x, size_t label) {
    uint32_t head;
    if (o == NULL || x == NULL) return RFM_ENULL;
    if (!rfm_finite(o->d, x)) {
        o->refused_value++;
        return RFM_EFINITE;
    }
    if (label >= o->classes) {
        o->refused_label++;
        return RFM_EVALUE;
    }
    head = o->head;
    if (waiting(o, head, load_acquire(&o->tail)) == o->pending) {
        o->refused_full++;
        return RFM_EARENA;
    }
    put_sample(o, o->ring[entry(o, head)], x, label);
    o->taken++;
    store_release(&o->head, after(o, head));
    return RFM_OK;
}

/* ==== 4. Pieces ============================================================================== */

/* Pays for a piece. The first one of a call is always granted, so that the work goes on with any budget. */
static int afford(rfm_online *o, size_t cost) {
    if (o->budget < (int32_t)cost && !o->first_piece) return 0;
    o->first_piece = 0;
    o->budget -= (int32_t)cost;
    return 1;
}

static rfm_real *row_of(const rfm_online *o, size_t i) { return o->triangle + i * (i + 1) / 2; }

static rfm_real element(const rfm_online *o, size_t place, size_t q) {
    return o->x8 != NULL ? R(o->x8[place * o->d + q]) : o->x[place * o->d + q];
}

/* A sample's target for output k. */
static rfm_real target(const rfm_online *o, size_t place, size_t k) {
    size_t label = o->label[place];
    if (o->c == 1) return label == 1 ? R(1) : R(-1);
    return label == k ? R(1) : R(0);
}

/* o->sum += |a|^2. The last piece also pays `rest`, the cost of what comes after it. */
static int add_squares(rfm_online *o, size_t n, const rfm_real *a, size_t rest) {
    size_t end, p;
    do {
        rfm_real sum = o->sum;
        end = min_size(n, o->at + RUN);
        if (!afford(o, COST_RUN + (end - o->at) * COST_SQUARE + (end == n ? rest : 0))) return 0;
        for (p = o->at; p < end; p++) sum = plus(sum, a[p], a[p]);
        o->sum = sum;
        o->at = end;
    } while (end < n);
    o->at = 0;
    return 1;
}

static rfm_real take_sum(rfm_online *o) {
    rfm_real sum = o->sum;
    o->sum = R(0);
    return sum;
}

/* s2[j] += sum over `width` features from q on of M_q (x_i - x_j)^2, j = from..to-1. At the first features s2[j] is
 * set, not added to. */
static void add_distances(const rfm_online *o, const uint16_t *rows, const rfm_real *m, size_t i, size_t q,
                          size_t width, size_t from, size_t to, rfm_real *s2) {
    size_t d = o->d, j, p;
    m += q;
    if (width == LANES && o->x8 == NULL) {
        const rfm_real *x = o->x + q, *a = x + rows[i] * d;
        rfm_real m0 = m[0], m1 = m[1], m2 = m[2], m3 = m[3], m4 = m[4], m5 = m[5], m6 = m[6], m7 = m[7];
        rfm_real a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5], a6 = a[6], a7 = a[7];
        for (j = from; j < to; j++) {
            const rfm_real *b = x + rows[j] * d;
            rfm_real sum = q == 0 ? R(0) : s2[j], t;
            t = a0 - b[0], sum = plus(sum, m0 * t, t);
            t = a1 - b[1], sum = plus(sum, m1 * t, t);
            t = a2 - b[2], sum = plus(sum, m2 * t, t);
            t = a3 - b[3], sum = plus(sum, m3 * t, t);
            t = a4 - b[4], sum = plus(sum, m4 * t, t);
            t = a5 - b[5], sum = plus(sum, m5 * t, t);
            t = a6 - b[6], sum = plus(sum, m6 * t, t);
            t = a7 - b[7], sum = plus(sum, m7 * t, t);
            s2[j] = sum;
        }
        return;
    }
    for (j = from; j < to; j++) {
        rfm_real sum = q == 0 ? R(0) : s2[j];
        for (p = 0; p < width; p++) {
            rfm_real t = element(o, rows[i], q + p) - element(o, rows[j], q + p);
            sum = plus(sum, m[p] * t, t);
        }
        s2[j] = sum;
    }
}

/* s^2 of a sample and y. A difference of large numbers can be infinite. In an input of weight 0 it must not count; a
 * plain sum would be NaN there. */
static rfm_real careful(const rfm_online *o, const rfm_real *m, size_t place, const rfm_real *y) {
    rfm_real sum = R(0), t;
    size_t q;
    for (q = 0; q < o->d; q++)
        if (m[q] > R(0)) t = element(o, place, q) - y[q], sum += m[q] * t * t;
    return sum;
}

/* phi(s) as a function of s^2. Written out: a call of rfm_phi for every pair of rows costs 4 % of a refit. */
static rfm_real radial(const rfm_online *o, rfm_real s2) {
    if (o->options.kernel == RFM_GAUSSIAN) return rfm_exp(R(-0.5) * s2 * o->inverse * o->inverse);
    return rfm_exp(-rfm_sqrt(s2) * o->inverse);
}

/* From s^2 of rows i and j to phi(s), or to the gradient weight w(s) = -phi'(s) / s, 0 where s = 0; j = from..to-1. */
static void radial_values(const rfm_online *o, size_t i, size_t from, size_t to, rfm_real *s2, int weight) {
    const uint16_t *rows = o->rows[o->set];
    rfm_real inverse = o->inverse, s;
    size_t j;
    for (j = from; j < to; j++) {
        if (s2[j] != s2[j]) s2[j] = careful(o, o->metric[o->met], rows[i], o->x + rows[j] * o->d); /* not with int8 */
        if (!weight)
            s2[j] = radial(o, s2[j]);
        else if (o->options.kernel == RFM_GAUSSIAN)
            s2[j] = inverse * inverse * radial(o, s2[j]);
        else
            s = rfm_sqrt(s2[j]), s2[j] = s > R(0) ? inverse * rfm_exp(-s * inverse) / s : R(0);
    }
}

/* line[j] = phi, or the weight, of rows o->i and j < o->i. */
static int kernel_row(rfm_online *o, rfm_real *line, int weight) {
    const uint16_t *rows = o->rows[o->set];
    const rfm_real *m = o->metric[o->met];
    size_t d = o->d, i = o->i, j = o->j, q = o->q, end;
    for (; q < d; q += LANES, j = 0) {
        size_t width = min_size(LANES, d - q),
               each = width == LANES && o->x8 == NULL ? COST_FEATURE : COST_FEATURE_SLOW;
        for (; j < i; j = end) {
            end = min_size(i, j + PAIRS);
            if (!afford(o, COST_PAIRS + (end - j) * (COST_PAIR + width * each))) goto later;
            add_distances(o, rows, m, i, q, width, j, end, line);
        }
    }
    for (; j < i; j = end) {
        end = min_size(i, j + VALUES);
        if (!afford(o, COST_VALUES + (end - j) * COST_VALUE)) goto later;
        radial_values(o, i, j, end, line, weight);
    }
    o->j = o->q = 0;
    return 1;
later:
    o->j = j, o->q = q;
    return 0;
}

/* ==== 5. Factor =================================================================================
 *
 * A = K + ridge I = L L', row by row: L_ij = (A_ij - sum_{p < j} L_ip L_jp) / L_jj. Row i needs the rows before it
 * only, so appending a sample is one more row of the same. Cost n^3 / 6 multiply-adds, a row n^2 / 2.
 */

#define ROWS 4

/* h[r] += sum of x[p] times row r, p < n, for four rows. */
static void four_rows(size_t n, const rfm_real *x, const rfm_real *r0, const rfm_real *r1, const rfm_real *r2,
                      const rfm_real *r3, rfm_real *h) {
    rfm_real h0 = h[0], h1 = h[1], h2 = h[2], h3 = h[3];
    for (; n > 0; n--) {
        rfm_real xp = *x++;
        h0 = plus(h0, xp, *r0++), h1 = plus(h1, xp, *r1++), h2 = plus(h2, xp, *r2++), h3 = plus(h3, xp, *r3++);
    }
    h[0] = h0, h[1] = h1, h[2] = h2, h[3] = h3;
}

static rfm_real one_row(size_t n, const rfm_real *x, const rfm_real *row, rfm_real sum) {
    for (; n > 0; n--) sum = plus(sum, *x++, *row++);
    return sum;
}

/* L x = b, in place of b, rows and columns from..to-1: x_j = (b_j - sum_{from <= p < j} L_jp x_p) / L_jj. Four rows at
 * a time, so that an element of x is read for four products; the last ones alone. o->j begins at `from`, the sums are
 * in o->h. */
static int substitute(rfm_online *o, rfm_real *x, size_t from, size_t to) {
    rfm_real *h = o->h;
    size_t j = o->j, at = o->at > from ? o->at : from, end;
    while (j < to) {
        const rfm_real *r0 = row_of(o, j), *r1 = r0 + j + 1, *r2 = r1 + j + 2, *r3 = r2 + j + 3;
        int four = to - j >= ROWS;
        do {
            end = min_size(j, at + RUN);
            if (!afford(o, four ? COST_ROWS + (end - at) * COST_ROWS_EACH + (end == j ? COST_ROWS_LAST : 0)
                                : COST_ROW + (end - at) * COST_ROW_EACH)) {
                o->j = j, o->at = at;
                return 0;
            }
            if (at == from) h[0] = h[1] = h[2] = h[3] = R(0);
            if (four)
                four_rows(end - at, x + at, r0 + at, r1 + at, r2 + at, r3 + at, h);
            else
                h[0] = one_row(end - at, x + at, r0 + at, h[0]);
            at = end;
        } while (at < j);
        x[j] = (x[j] - h[0]) / r0[j];
        if (four) {
            x[j + 1] = (x[j + 1] - one_row(1, x + j, r1 + j, h[1])) / r1[j + 1];
            x[j + 2] = (x[j + 2] - one_row(2, x + j, r2 + j, h[2])) / r2[j + 2];
            x[j + 3] = (x[j + 3] - one_row(3, x + j, r3 + j, h[3])) / r3[j + 3];
            j += ROWS;
        } else
            j++;
        at = from;
    }
    o->j = j, o->at = 0;
    return 1;
}

/* Row o->i holds kernel values and becomes a row of L. o->bad: its pivot is not positive. */
static int factor_row(rfm_online *o, rfm_real *line) {
    size_t i = o->i;
    rfm_real pivot;
    if (o->j < i && !substitute(o, line, 0, i)) return 0;
    if (!add_squares(o, i, line, COST_SMALL)) return 0;
    pivot = line[i] - take_sum(o);
    o->bad = !(pivot > R(0));
    line[i] = rfm_sqrt(o->bad ? R(1) : pivot);
    o->j = 0;
    return 1;
}

/* Rows o->i to n - 1 of the factor. Ends early if o->bad. */
static int build(rfm_online *o) {
    for (; o->i < o->n; o->i++) {
        rfm_real *line = row_of(o, o->i);
        if (o->stage == 0) {
            if (!kernel_row(o, line, 0)) return 0;
            line[o->i] = R(1) + o->ridge[o->met];
            o->stage = 1;
        }
        if (!factor_row(o, line)) return 0;
        if (o->bad) return 1;
        o->stage = 0;
    }
    return 1;
}

/* Takes row and column o->victim out of the factor, which has o->n + 1 rows with them. The rows below move up. With
 * w the column that leaves, L33 L33' + w w' is factored anew by rotations, row by row. The rotations found so far,
 * (c, s) for every row, are kept in the alpha that is in the making. This is stable, because nothing is subtracted.
 * Cost up to n^2 / 2 rotations. */
static int delete_row(rfm_online *o) {
    rfm_real *turn = o->alpha[o->set];
    size_t v = o->victim, k, end;
    if (o->stage == 0) o->i = v + 1, o->k = 0, o->stage = 1;
    for (; o->i < o->n + 1; o->i++, o->k = 0) {
        size_t i = o->i;
        rfm_real *from = row_of(o, i), *to = row_of(o, i - 1), w, c, s, l;
        for (; o->k < v; o->k = end) {
            end = min_size(v, o->k + RUN);
            if (!afford(o, COST_RUN + (end - o->k) * COST_SET)) return 0;
            for (k = o->k; k < end; k++) to[k] = from[k];
        }
        if (o->k == v) o->other = from[v], o->k = v + 1;
        for (; o->k < i; o->k = end) {
            end = min_size(i, o->k + RUN);
            if (!afford(o, COST_RUN + (end - o->k) * COST_ROTATE)) return 0;
            w = o->other;
            for (k = o->k; k < end; k++) {
                c = turn[2 * k], s = turn[2 * k + 1], l = from[k];
                to[k - 1] = c * l + s * w;
                w = c * w - s * l;
            }
            o->other = w;
        }
        if (!afford(o, COST_SMALL)) return 0;
        w = o->other, l = from[i];
        s = rfm_sqrt(l * l + w * w);
        turn[2 * i] = l / s, turn[2 * i + 1] = w / s;
        to[i - 1] = s;
    }
    return 1;
}

/* Four outputs at a time, fewer at the end. */
#define OUTPUTS 4

/* L Z = Y, row by row: z_i = (y_i - sum_{p < i} L_ip z_p) / L_ii. Z is kept in the alpha that is in the making. */
static int solve_forward(rfm_online *o) {
    const uint16_t *rows = o->rows[o->set];
    size_t c = o->c, p, k;
    for (; o->i < o->n; o->i++, o->k = 0) {
        const rfm_real *line = row_of(o, o->i);
        for (; o->k < c; o->k += OUTPUTS) {
            size_t width = min_size(OUTPUTS, c - o->k);
            rfm_real *z = o->alpha[o->set] + o->k, *own = z + o->i * c;
            do {
                size_t from = o->at, end = min_size(o->i, from + RUN);
                if (!afford(o, COST_SOLVE + (end - from) * (width == 4 ? COST_FORWARD : width * COST_SOLVE_SLOW)))
                    return 0;
                if (from == 0)
                    for (k = 0; k < width; k++) own[k] = target(o, rows[o->i], o->k + k);
                if (width == 4) {
                    const rfm_real *other = z + from * c;
                    rfm_real s0 = own[0], s1 = own[1], s2 = own[2], s3 = own[3];
                    for (p = from; p < end; p++, other += c) {
                        rfm_real l = line[p];
                        s0 = plus(s0, -l, other[0]), s1 = plus(s1, -l, other[1]), s2 = plus(s2, -l, other[2]),
                        s3 = plus(s3, -l, other[3]);
                    }
                    own[0] = s0, own[1] = s1, own[2] = s2, own[3] = s3;
                } else
                    for (k = 0; k < width; k++)
                        for (p = from; p < end; p++) own[k] -= line[p] * z[p * c + k];
                o->at = end;
            } while (o->at < o->i);
            for (k = 0; k < width; k++) own[k] /= line[o->i];
            o->at = 0;
        }
    }
    return 1;
}

/* L' alpha = Z, from the last row on: alpha_i = z_i / L_ii, then z_p -= L_ip alpha_i for p < i. o->bad: not finite. */
static int solve_backward(rfm_online *o) {
    size_t c = o->c, p, k;
    for (; o->i < o->n; o->i++, o->k = 0) {
        size_t i = o->n - 1 - o->i;
        const rfm_real *line = row_of(o, i);
        for (; o->k < c; o->k += OUTPUTS) {
            size_t width = min_size(OUTPUTS, c - o->k);
            rfm_real *z = o->alpha[o->set] + o->k, *own = z + i * c;
            do {
                size_t from = o->at, end = min_size(i, from + RUN);
                if (!afford(o, COST_SOLVE + (end - from) * (width == 4 ? COST_BACKWARD : width * COST_SOLVE_SLOW)))
                    return 0;
                if (from == 0) {
                    for (k = 0; k < width; k++) own[k] /= line[i];
                    o->bad |= !rfm_finite(width, own);
                }
                if (width == 4) {
                    rfm_real *other = z + from * c;
                    rfm_real a0 = own[0], a1 = own[1], a2 = own[2], a3 = own[3];
                    for (p = from; p < end; p++, other += c) {
                        rfm_real l = line[p];
                        other[0] = plus(other[0], -l, a0), other[1] = plus(other[1], -l, a1);
                        other[2] = plus(other[2], -l, a2), other[3] = plus(other[3], -l, a3);
                    }
                } else
                    for (k = 0; k < width; k++)
                        for (p = from; p < end; p++) z[p * c + k] -= line[p] * own[k];
                o->at = end;
            } while (o->at < i);
            o->at = 0;
        }
    }
    return 1;
}

/* ==== 6. Scores =================================================================================
 *
 * A score is what RFM_SCORE_... says, the mean over the window. Sums are in o->total. What is not finite is the worst:
 * an error is the largest number then, a class is wrong.
 */

/* Returns the squared error of the prediction in o->agop (c) for a sample, and adds the sample's part to the score. */
static rfm_real add_score(rfm_online *o, size_t place) {
    const rfm_real *f = o->agop;
    rfm_real sum = R(0);
    size_t best = 0, k;
    for (k = 0; k < o->c; k++) {
        rfm_real error = target(o, place, k) - f[k];
        sum += error * error;
        if (f[k] > f[best]) best = k;
    }
    if (o->options.score == RFM_SCORE_SQUARED)
        o->total += sum / R(o->c);
    else if (!rfm_finite(o->c, f))
        return sum;
    else if (o->c == 1 ? (f[0] > R(0)) == (o->label[place] == 1) : best == o->label[place])
        o->total += R(1);
    return sum;
}

/* Leave-one-out with the factor and alpha of o->set: the error of row i when it is left out is alpha_i / (A^-1)_ii, and
 * (A^-1)_ii is the squared length of v = L^-1 e_i. Cost n^3 / 6. The smallest error is in o->least, its row is
 * o->victim. */
static int score_left_out(rfm_online *o) {
    const uint16_t *rows = o->rows[o->set];
    rfm_real *v = o->work, error;
    size_t k, end;
    for (; o->i < o->n; o->i++, o->stage = 0) {
        size_t i = o->i;
        const rfm_real *alpha = o->alpha[o->set] + i * o->c;
        if (o->stage == 0) o->at = i, o->stage = 1;
        for (; o->stage == 1 && o->at < o->n; o->at = end) {
            end = min_size(o->n, o->at + RUN);
            if (!afford(o, COST_RUN + (end - o->at) * COST_COPY)) return 0;
            for (k = o->at; k < end; k++) v[k] = k == i ? R(1) : R(0);
        }
        if (o->stage == 1) o->stage = 2, o->at = 0, o->j = i;
        if (o->j < o->n && !substitute(o, v, i, o->n)) return 0;
        if (!add_squares(o, o->n - i, v + i, COST_SMALL + o->c * COST_OUTPUT)) return 0;
        for (k = 0; k < o->c; k++) o->agop[k] = target(o, rows[i], k) - alpha[k] / o->sum;
        o->sum = R(0);
        error = add_score(o, rows[i]);
        if (i == 0 || error < o->least) o->least = error, o->victim = i;
    }
    return 1;
}

/* x_q of a sample as it was added. */
static rfm_real raw(const rfm_online *o, size_t place, size_t q) {
    return o->x8 != NULL ? o->offset[q] + o->step[q] * R(o->x8[place * o->d + q]) : o->x[place * o->d + q];
}

static rfm_real squared_distance(size_t n, const rfm_real *a, const rfm_real *b, rfm_real sum) {
    rfm_real t;
    for (; n >= 4; n -= 4, a += 4, b += 4) {
        t = a[0] - b[0], sum = plus(sum, t, t);
        t = a[1] - b[1], sum = plus(sum, t, t);
        t = a[2] - b[2], sum = plus(sum, t, t);
        t = a[3] - b[3], sum = plus(sum, t, t);
    }
    for (; n > 0; n--) t = *a++ - *b++, sum = plus(sum, t, t);
    return sum;
}

/* The score of the start model on the window, in stages: x - shift (d), which lies behind z in o->work; z = P (x -
 * shift) (r); the centres; the score. */
static int score_start(rfm_online *o) {
    const rfm_model *m = o->options.start;
    const uint16_t *rows = o->rows[o->set];
    rfm_real *z = o->work, *x = z + m->r, inverse = R(1) / m->bandwidth, phi;
    size_t d = m->d, r = m->r, k, p, end;
    for (; o->i < o->n; o->i++, o->stage = 0) {
        size_t place = rows[o->i];
        for (; o->stage == 0 && o->at < d; o->at = end) {
            end = min_size(d, o->at + RUN);
            if (!afford(o, COST_RUN + (end - o->at) * COST_COPY)) return 0;
            for (p = o->at; p < end; p++) x[p] = raw(o, place, p) - m->shift[p];
        }
        if (o->stage == 0) o->stage = 1, o->q = o->at = 0;
        for (; o->stage == 1 && o->q < r; o->q++) {
            if (m->metric == RFM_FULL) do {
                    end = min_size(d, o->at + RUN);
                    if (!afford(o, COST_ROW + (end - o->at) * COST_ROW_EACH)) return 0;
                    o->sum = one_row(end - o->at, x + o->at, m->p + o->q * d + o->at, o->sum);
                    o->at = end;
                } while (end < d);
            else {
                if (!afford(o, COST_SMALL)) return 0;
                o->sum = (m->metric == RFM_DIAGONAL ? m->p[o->q] : R(1)) * x[o->q];
            }
            z[o->q] = take_sum(o);
            o->at = 0;
        }
        if (o->stage == 1) {
            if (!afford(o, COST_SMALL + o->c * COST_SET)) return 0;
            for (k = 0; k < o->c; k++) o->agop[k] = m->offset != NULL ? m->offset[k] : R(0);
            o->stage = 2, o->j = 0;
        }
        for (; o->stage == 2 && o->j < m->n; o->j++) {
            do {
                end = min_size(r, o->at + RUN);
                if (!afford(o, COST_ROW + (end - o->at) * COST_ROW_EACH +
                                   (end == r ? COST_VALUE + COST_RUN + o->c * COST_ADD : 0)))
                    return 0;
                o->sum = squared_distance(end - o->at, m->centers + o->j * r + o->at, z + o->at, o->sum);
                o->at = end;
            } while (end < r);
            o->at = 0;
            phi = take_sum(o);
            if (!(phi <= REAL_MAX))
                phi = R(0); /* as rfm_predict_one has it */
            else if (m->kernel == RFM_GAUSSIAN)
                phi = rfm_exp(R(-0.5) * phi * inverse * inverse);
            else
                phi = rfm_exp(-rfm_sqrt(phi) * inverse);
            for (k = 0; k < o->c; k++) o->agop[k] = plus(o->agop[k], m->alpha[o->j * o->c + k], phi);
        }
        o->stage = 3;
        if (!afford(o, COST_SMALL + o->c * COST_OUTPUT)) return 0;
        (void)add_score(o, place);
        o->at = 0;
    }
    return 1;
}

/* ==== 7. Metric =================================================================================
 *
 * With h_jk = sum_i alpha_ik W_ij (x_i - x_j), the gradient of output k at x_j is M h_jk, so that for a diagonal M
 *   M_q <- M_q^2 / n sum_j sum_k h_jkq^2.
 * W takes the place of the factor, which is not needed until the next metric has its own.
 */

static int weights(rfm_online *o) {
    for (; o->i < o->n; o->i++) {
        rfm_real *line = row_of(o, o->i);
        if (!kernel_row(o, line, 1)) return 0;
        line[o->i] = R(0);
    }
    return 1;
}

#define FEATURES 4

/* h (OUTPUTS, FEATURES) += the terms i = from..to-1 of h_jk, for outputs k.. and features q.. . */
static void agop_terms(const rfm_online *o, size_t j, size_t k, size_t q, size_t from, size_t to, rfm_real *h) {
    const uint16_t *rows = o->rows[o->set];
    const rfm_real *w = o->work, *alpha = o->alpha[o->set] + k;
    size_t c = o->c, d = o->d, outputs = min_size(OUTPUTS, c - k), features = min_size(FEATURES, d - q), i, a, b;
    if (outputs == 4 && features == 4 && o->x8 == NULL) {
        const rfm_real *x = o->x + q, *y = x + rows[j] * d;
        rfm_real y0 = y[0], y1 = y[1], y2 = y[2], y3 = y[3];
        rfm_real h00 = h[0], h01 = h[1], h02 = h[2], h03 = h[3], h10 = h[4], h11 = h[5], h12 = h[6], h13 = h[7];
        rfm_real h20 = h[8], h21 = h[9], h22 = h[10], h23 = h[11], h30 = h[12], h31 = h[13], h32 = h[14], h33 = h[15];
        alpha += from * c;
        for (i = from; i < to; i++, alpha += c) {
            const rfm_real *z = x + rows[i] * d;
            rfm_real wi = w[i], t, t0 = z[0] - y0, t1 = z[1] - y1, t2 = z[2] - y2, t3 = z[3] - y3;
            t = wi * alpha[0], h00 = plus(h00, t, t0), h01 = plus(h01, t, t1), h02 = plus(h02, t, t2),
            h03 = plus(h03, t, t3);
            t = wi * alpha[1], h10 = plus(h10, t, t0), h11 = plus(h11, t, t1), h12 = plus(h12, t, t2),
            h13 = plus(h13, t, t3);
            t = wi * alpha[2], h20 = plus(h20, t, t0), h21 = plus(h21, t, t1), h22 = plus(h22, t, t2),
            h23 = plus(h23, t, t3);
            t = wi * alpha[3], h30 = plus(h30, t, t0), h31 = plus(h31, t, t1), h32 = plus(h32, t, t2),
            h33 = plus(h33, t, t3);
        }
        h[0] = h00, h[1] = h01, h[2] = h02, h[3] = h03, h[4] = h10, h[5] = h11, h[6] = h12, h[7] = h13;
        h[8] = h20, h[9] = h21, h[10] = h22, h[11] = h23, h[12] = h30, h[13] = h31, h[14] = h32, h[15] = h33;
        return;
    }
    for (i = from; i < to; i++)
        for (b = 0; b < features; b++) {
            rfm_real t = w[i] * (element(o, rows[i], q + b) - element(o, rows[j], q + b));
            for (a = 0; a < outputs; a++) h[a * FEATURES + b] = plus(h[a * FEATURES + b], alpha[i * c + a], t);
        }
}

/* sum_j sum_k h_jkq^2 in o->agop (d); column j of W in o->work. */
static int agop(rfm_online *o) {
    size_t n = o->n, end, i, a, b;
    if (o->stage == 0) {
        for (; o->q < o->d; o->q = end) {
            end = min_size(o->d, o->q + RUN);
            if (!afford(o, COST_RUN + (end - o->q) * COST_SET)) return 0;
            for (i = o->q; i < end; i++) o->agop[i] = R(0);
        }
        memset(o->h, 0, sizeof o->h);
        o->q = 0, o->stage = 1;
    }
    for (; o->j < n; o->j++, o->stage = 1) {
        size_t j = o->j;
        for (; o->stage == 1 && o->at < n; o->at = end) {
            const rfm_real *line = row_of(o, j);
            end = min_size(n, o->at + RUN);
            if (!afford(o, COST_RUN + (end - o->at) * COST_SET)) return 0;
            for (i = o->at; i < end && i <= j; i++) o->work[i] = line[i];
            for (line = row_of(o, i) + j; i < end; line += ++i) o->work[i] = *line;
        }
        if (o->stage == 1) o->stage = 2, o->at = 0;
        for (; o->k < o->c; o->k += OUTPUTS, o->q = 0)
            for (; o->q < o->d; o->q += FEATURES) {
                size_t outputs = min_size(OUTPUTS, o->c - o->k), features = min_size(FEATURES, o->d - o->q);
                int whole = outputs == OUTPUTS && features == FEATURES && o->x8 == NULL;
                size_t each = whole ? COST_AGOP_EACH : features * (COST_AGOP_SLOW + outputs * COST_ADD);
                for (; o->at < n; o->at = end) {
                    end = min_size(n, o->at + (whole ? RUN : RUN / 4));
                    if (!afford(o, COST_AGOP + (end - o->at) * each + (end == n ? COST_AGOP_LAST : 0))) return 0;
                    agop_terms(o, j, o->k, o->q, o->at, end, o->h);
                }
                for (b = 0; b < FEATURES && o->q + b < o->d; b++)
                    for (a = 0; a < OUTPUTS; a++) {
                        o->agop[o->q + b] += o->h[a * FEATURES + b] * o->h[a * FEATURES + b];
                        o->h[a * FEATURES + b] = R(0);
                    }
                o->at = 0;
            }
        o->k = 0;
    }
    return 1;
}

/* The next M, in two passes: first the elements, with their largest or their sum in the learner's units; then the
 * scale. o->bad: M is not finite, or has lost digits. A number below REAL_MIN is off by up to REAL_MIN epsilon / 2,
 * the AGOP is a sum of n c such numbers, and M is another one. o->sum is the least total for which this error,
 * relative to the total, is below epsilon, with up to 64 outputs. */
static int update_metric(rfm_online *o) {
    rfm_real *m = o->metric[o->met], share = R(1) / R(o->n), size, relative;
    size_t q, end, sizes[3]; /* by RFM_SCALE_...: the largest entry, or the trace, becomes this. It is read from
                                memory, because of gcc 12: it makes a choice between 1 and d a conditional
                                conversion, which its assembler for the Cortex-M55 mistakes for another instruction */
    int scale = o->options.scale;
    sizes[RFM_SCALE_NONE] = sizes[RFM_SCALE_MAX] = 1, sizes[RFM_SCALE_TRACE] = o->d;
    for (; o->stage == 0 && o->q < o->d; o->q = end) {
        end = min_size(o->d, o->q + RUN);
        if (!afford(o, COST_RUN + (end - o->q) * COST_METRIC)) return 0;
        for (q = o->q; q < end; q++) {
            o->sum = max_real(o->sum, (m[q] * o->unit2[q] * m[q] + o->unit2[q]) * (R(64) * REAL_MIN));
            m[q] = m[q] * o->agop[q] * m[q] * share;
            relative = m[q] * o->unit2[q];
            o->total = scale == RFM_SCALE_MAX ? max_real(o->total, relative) : o->total + relative;
        }
        o->bad |= !rfm_finite(end - o->q, m + o->q);
    }
    if (o->stage == 0) o->stage = 1, o->q = 0;
    o->bad |= !(o->total >= o->sum) || !rfm_finite(1, &o->total);
    if (scale == RFM_SCALE_NONE || o->bad) return 1;
    size = R(sizes[scale]);
    for (; o->q < o->d; o->q = end) {
        end = min_size(o->d, o->q + RUN);
        if (!afford(o, COST_RUN + (end - o->q) * COST_METRIC)) return 0;
        for (q = o->q; q < end; q++) m[q] = m[q] / o->total * size; /* at most d / units^2, so finite */
    }
    return 1;
}

/* ==== 8. Tasks ==================================================================================
 *
 *   absorb:  CHOOSE [LEAST] ROWS [DELETE] BUILD FORWARD BACKWARD           then the new rows and alpha serve
 *   refit:   OLD or START, ROWS, BEGIN, (BUILD FORWARD BACKWARD, WEIGHTS AGOP METRIC) T times, BUILD FORWARD BACKWARD,
 * NEW then the new rows, alpha and M serve, if the guard agrees rebuild: BUILD the factor of the serving model, after a
 * rejected refit, a load
 */

enum { TASK_NONE, TASK_ABSORB, TASK_REFIT, TASK_REBUILD };
enum {
    PHASE_CHOOSE,
    PHASE_LEAST,
    PHASE_OLD,
    PHASE_START,
    PHASE_ROWS,
    PHASE_DELETE,
    PHASE_BEGIN,
    PHASE_BUILD,
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_WEIGHTS,
    PHASE_AGOP,
    PHASE_METRIC,
    PHASE_NEW
};

static void enter(rfm_online *o, int phase) {
    o->phase = phase;
    o->i = o->j = o->k = o->q = o->at = 0;
    o->stage = 0, o->bad = 0;
    o->sum = o->total = R(0);
}

/* Counts to 2^32 - 1, and stays there. */
static uint32_t one_more(uint32_t count) { return count < UINT32_MAX ? count + 1 : count; }

static size_t new_place(const rfm_online *o) { return o->ring[entry(o, o->tail)]; }

/* Chooses the row that goes: o->victim; o->n, one behind the last row, if there is room. o->bad: the new sample is
 * dropped. */
static int choose(rfm_online *o) {
    const uint16_t *rows = o->rows[o->set];
    size_t label = o->label[new_place(o)], end, i;
    uint32_t x;
    if (o->stage == 0) {
        if (!afford(o, COST_SMALL + o->classes * COST_COPY)) return 0;
        o->victim = o->n < o->window ? o->n : 0;
        o->next_random = o->random;
        if (o->n < o->window || o->options.forget != RFM_FORGET_BALANCED) return 1;
        x = rfm_random(&o->next_random);
        o->k = label; /* the class that loses a sample, and which of its samples */
        for (i = 0; i < o->classes; i++)
            if (o->held[i] > o->held[o->k]) o->k = i;
        o->q = x % (o->k == label ? one_more(o->seen[label]) : o->held[o->k]);
        if (o->q >= o->held[o->k]) {
            o->bad = 1;
            return 1;
        }
        o->stage = 1;
    }
    for (; o->i < o->n; o->i = end) {
        end = min_size(o->n, o->i + RUN);
        if (!afford(o, COST_RUN + (end - o->i) * COST_COPY)) return 0;
        for (i = o->i; i < end; i++)
            if (o->label[rows[i]] == o->k && o->q-- == 0) {
                o->victim = i;
                return 1;
            }
    }
    return 1;
}

/* The rows of the model in the making. To absorb a sample: those that serve, without the victim, and the new sample
 * at the end. In a refit: a copy. */
static int copy_rows(rfm_online *o) {
    const uint16_t *from = o->rows[1 - o->set];
    uint16_t *to = o->rows[o->set];
    size_t end, i;
    for (; o->i < o->n; o->i = end) {
        end = min_size(o->n, o->i + RUN);
        if (!afford(o, COST_RUN + (end - o->i) * COST_COPY)) return 0;
        for (i = o->i; i < end; i++)
            to[i] = o->task == TASK_ABSORB && i == o->n - 1
                        ? (uint16_t)new_place(o)
                        : from[i + (o->task == TASK_ABSORB && i >= o->victim ? 1 : 0)];
    }
    return 1;
}

static int begin_metric(rfm_online *o) {
    size_t end, q;
    for (; o->q < o->d; o->q = end) {
        end = min_size(o->d, o->q + RUN);
        if (!afford(o, COST_RUN + (end - o->q) * COST_COPY)) return 0;
        for (q = o->q; q < end; q++) o->metric[o->met][q] = o->first[q];
    }
    return 1;
}

/* The pending sample has been dealt with, and `place` is free now. */
static void release_pending(rfm_online *o, size_t place) {
    size_t e = entry(o, o->tail);
    uint32_t *seen;
    o->random = o->next_random;
    seen = &o->seen[o->label[o->ring[e]]];
    *seen = one_more(*seen);
    o->ring[e] = (uint16_t)place;
    store_release(&o->tail, after(o, o->tail));
    o->task = TASK_NONE;
    if (o->options.refit_every > 0 && ++o->since >= o->options.refit_every && !o->wanted)
        o->wanted = 1, o->refit_after = o->tail;
}

static void absorbed(rfm_online *o) {
    size_t was = 1 - o->set, full = o->count[was] == o->n;
    size_t place = full ? o->rows[was][o->victim] : o->pending + o->count[was];
    if (full) o->held[o->label[place]]--;
    o->held[o->label[new_place(o)]]++;
    o->count[o->set] = o->n;
    o->factored = 1;
    o->absorbed++;
    store_release(&o->serving, o->serving ^ SERVE_SET);
    release_pending(o, place);
}

/* The refit is over, and its factor is not that of the model that serves. */
static void keep_old(rfm_online *o) {
    o->task = TASK_NONE;
    o->factored = 0;
}

/* Numbers were out of range. */
static void failed(rfm_online *o) {
    o->failed++;
    keep_old(o);
}

static rfm_real mean_score(const rfm_online *o) { return rfm_finite(1, &o->total) ? o->total / R(o->n) : REAL_MAX; }

static void refitted(rfm_online *o) {
    rfm_real margin = o->options.margin;
    int worse;
    o->new_score = mean_score(o);
    worse = o->options.score == RFM_SCORE_SQUARED ? !(o->new_score <= o->old_score + margin)
                                                  : !(o->new_score >= o->old_score - margin);
    if (worse || !(o->new_score < REAL_MAX)) {
        o->rejected++;
        keep_old(o);
        return;
    }
    o->task = TASK_NONE;
    o->refits++;
    o->count[o->set] = o->n;
    store_release(&o->serving, (o->serving ^ (SERVE_SET | SERVE_METRIC)) | SERVE_OWN);
}

/* The matrix is not positive definite in this number type, or alpha is not finite: start again with a larger ridge,
 * as rfm_fit does. */
static void more_ridge(rfm_online *o) {
    rfm_real *ridge = &o->ridge[o->met];
    *ridge = max_real(R(10) * *ridge, R(o->n) * REAL_EPS);
    if (o->task == TASK_REFIT && !(*ridge < R(o->n)))
        failed(o);
    else
        enter(o, PHASE_BUILD);
}

/* Goes from a finished phase to the next one. */
static void next_phase(rfm_online *o) {
    switch (o->phase) {
    case PHASE_CHOOSE:
        if (o->bad) {
            o->dropped++;
            release_pending(o, new_place(o));
        } else if (o->n == o->window && o->options.forget == RFM_FORGET_LEAST)
            enter(o, PHASE_LEAST);
        else {
            o->set = 1 - o->set;
            if (o->n < o->window) o->n++;
            enter(o, PHASE_ROWS);
        }
        break;
    case PHASE_LEAST:
        o->set = 1 - o->set;
        enter(o, PHASE_ROWS);
        break;
    case PHASE_OLD:
    case PHASE_START:
        o->old_score = mean_score(o);
        o->set = 1 - o->set, o->met = 1 - o->met;
        enter(o, PHASE_ROWS);
        break;
    case PHASE_ROWS:
        if (o->task == TASK_REFIT) {
            enter(o, PHASE_BEGIN);
            break;
        }
        o->factored = 0;
        if (o->count[1 - o->set] == o->n) {
            enter(o, PHASE_DELETE);
            o->n--;
            break;
        }
        enter(o, PHASE_BUILD);
        o->i = o->n - 1;
        break;
    case PHASE_DELETE:
        enter(o, PHASE_BUILD);
        o->i = o->n++;
        break;
    case PHASE_BEGIN:
        o->t = 0;
        o->ridge[o->met] = o->options.ridge;
        enter(o, PHASE_BUILD);
        break;
    case PHASE_BUILD:
        if (o->bad)
            more_ridge(o);
        else if (o->task == TASK_REBUILD)
            o->factored = 1, o->task = TASK_NONE;
        else
            enter(o, PHASE_FORWARD);
        break;
    case PHASE_FORWARD: enter(o, PHASE_BACKWARD); break;
    case PHASE_BACKWARD:
        if (o->bad)
            more_ridge(o);
        else if (o->task == TASK_ABSORB)
            absorbed(o);
        else
            enter(o, o->t < o->options.iterations ? PHASE_WEIGHTS : PHASE_NEW);
        break;
    case PHASE_WEIGHTS: enter(o, PHASE_AGOP); break;
    case PHASE_AGOP: enter(o, PHASE_METRIC); break;
    case PHASE_METRIC:
        if (o->bad) {
            failed(o);
            break;
        }
        o->t++;
        o->ridge[o->met] = o->options.ridge;
        enter(o, PHASE_BUILD);
        break;
    default: refitted(o); break;
    }
}

/* Chooses the next task; 0: there is nothing to do. */
static int next_task(rfm_online *o) {
    int phase;
    o->set = set_of(o->serving), o->met = metric_of(o->serving);
    o->n = o->count[o->set];
    if (o->wanted && o->n == 0 && o->tail == o->refit_after) o->wanted = 0; /* no samples to refit to */
    if (!o->factored)
        o->task = TASK_REBUILD, phase = PHASE_BUILD;
    else if (o->wanted && o->tail == o->refit_after) {
        o->wanted = 0, o->since = 0;
        o->task = TASK_REFIT, phase = o->serving & SERVE_OWN ? PHASE_OLD : PHASE_START;
    } else if (load_acquire(&o->head) != o->tail)
        o->task = TASK_ABSORB, phase = PHASE_CHOOSE;
    else
        return 0;
    enter(o, phase);
    return 1;
}

int rfm_online_step(rfm_online *o, uint32_t units) {
    int over;
    if (o == NULL) return RFM_ENULL;
    if (units == 0) return RFM_EZERO;
    o->budget = (units < INT32_MAX ? (int32_t)units : INT32_MAX) - COST_CALL;
    o->first_piece = 1;
    for (;;) {
        if (o->task == TASK_NONE && !next_task(o)) return 0;
        o->budget -= COST_PHASE;
        switch (o->phase) {
        case PHASE_CHOOSE: over = choose(o); break;
        case PHASE_START: over = score_start(o); break;
        case PHASE_ROWS: over = copy_rows(o); break;
        case PHASE_DELETE: over = delete_row(o); break;
        case PHASE_BEGIN: over = begin_metric(o); break;
        case PHASE_BUILD: over = build(o); break;
        case PHASE_FORWARD: over = solve_forward(o); break;
        case PHASE_BACKWARD: over = solve_backward(o); break;
        case PHASE_WEIGHTS: over = weights(o); break;
        case PHASE_AGOP: over = agop(o); break;
        case PHASE_METRIC: over = update_metric(o); break;
        default: over = score_left_out(o); break;
        }
        if (!over) return 1;
        next_phase(o);
    }
}

int rfm_online_refit(rfm_online *o) {
    if (o == NULL) return RFM_ENULL;
    o->refit_after = load_acquire(&o->head);
    o->wanted = 1;
    return RFM_OK;
}

/* ==== 9. Prediction ========================================================================== */

static size_t class_of(const rfm_online *o, const rfm_real *scores) {
    size_t best = 0, k;
    if (o->c == 1) return scores[0] > R(0);
    for (k = 1; k < o->c; k++)
        if (scores[k] > scores[best]) best = k;
    return best;
}

int rfm_online_predict(const rfm_online *o, const rfm_real *x, rfm_real *scores, size_t *label, rfm_real *novelty) {
    uint32_t serving;
    const rfm_real *m, *alpha;
    const uint16_t *rows;
    rfm_real *y, largest = R(0);
    size_t d, c, n, i, k, q;
    int status = RFM_OK;
    if (o == NULL || x == NULL || scores == NULL) return RFM_ENULL;
    serving = load_acquire(&o->serving);
    if (!(serving & SERVE_OWN)) {
        status = rfm_predict_one(o->options.start, x, scores, o->query, NULL, novelty);
        if (status == RFM_OK && label != NULL) *label = class_of(o, scores);
        return status;
    }
    d = o->d, c = o->c, y = o->query, n = o->count[set_of(serving)];
    if (n == 0) return RFM_EZERO;
    if (!rfm_finite(d, x)) return RFM_EFINITE;
    for (q = 0; q < d; q++) y[q] = stored(o, x[q], q);
    m = o->metric[metric_of(serving)], alpha = o->alpha[set_of(serving)], rows = o->rows[set_of(serving)];
    for (k = 0; k < c; k++) scores[k] = R(0);
    for (i = 0; i < n; i++) {
        rfm_real s2 = R(0), phi, t;
        if (o->x8 == NULL) {
            const rfm_real *z = o->x + rows[i] * d;
            for (q = 0; q < d; q++) t = z[q] - y[q], s2 += m[q] * t * t;
        }
        if (o->x8 != NULL || s2 != s2) s2 = careful(o, m, rows[i], y);
        phi = radial(o, s2);
        largest = max_real(largest, phi);
        for (k = 0; k < c; k++) scores[k] += *alpha++ * phi;
    }
    if (novelty != NULL) *novelty = largest;
    if (!rfm_finite(c, scores)) return RFM_ERANGE;
    if (label != NULL) *label = class_of(o, scores);
    return RFM_OK;
}

int rfm_online_report_get(const rfm_online *o, rfm_online_report *r) {
    uint32_t serving, tail;
    if (o == NULL || r == NULL) return RFM_ENULL;
    serving = load_acquire(&o->serving), tail = load_acquire(&o->tail);
    r->samples = o->count[set_of(serving)];
    r->waiting = waiting(o, load_acquire(&o->head), tail);
    r->own = (serving & SERVE_OWN) != 0;
    r->busy = o->task != TASK_NONE || !o->factored || (o->wanted && r->samples + r->waiting > 0) || r->waiting > 0;
    r->taken = o->taken, r->absorbed = o->absorbed, r->dropped = o->dropped;
    r->refused_value = o->refused_value, r->refused_label = o->refused_label, r->refused_full = o->refused_full;
    r->refits = o->refits, r->rejected = o->rejected, r->failed = o->failed;
    r->old_score = o->old_score, r->new_score = o->new_score;
    r->ridge = o->ridge[metric_of(serving)];
    return RFM_OK;
}

int rfm_online_model(const rfm_online *o, rfm_arena *store, rfm_model *model) {
    size_t d, c, n, used, i, q, set;
    const rfm_real *m;
    rfm_real *shift, *p, *centers, *alpha, share;
    int status;
    if (o == NULL || store == NULL || model == NULL) return RFM_ENULL;
    if (store->status != RFM_OK) return store->status;
    if (!(o->serving & SERVE_OWN)) {
        *model = *o->options.start;
        return RFM_OK;
    }
    set = set_of(o->serving), m = o->metric[metric_of(o->serving)];
    d = o->d, c = o->c, n = o->count[set];
    if (n == 0) return RFM_EZERO;
    share = R(1) / R(n);
    used = store->used;
    shift = rfm_arena_reals(store, d, 1), p = rfm_arena_reals(store, d, 1), centers = rfm_arena_reals(store, n, d),
    alpha = rfm_arena_reals(store, n, c);
    for (q = 0; store->status == RFM_OK && q < d; q++) { /* the shift, computed as the first sample plus the mean
                                                            difference from it */
        rfm_real first = raw(o, o->rows[set][0], q), mean = R(0);
        for (i = 1; i < n; i++) mean += (raw(o, o->rows[set][i], q) - first) * share;
        shift[q] = first + mean;
        p[q] = rfm_sqrt(m[q]);
        if (o->x8 != NULL) p[q] /= o->step[q];
        for (i = 0; i < n; i++) {
            centers[i * d + q] = p[q] * (raw(o, o->rows[set][i], q) - shift[q]); /* not finite if p or shift is not */
            if (!finite_real(centers[i * d + q])) store->status = RFM_ERANGE;
        }
    }
    if (store->status != RFM_OK) {
        status = store->status;
        store->status = RFM_OK;
        rfm_arena_release(store, used);
        return status;
    }
    memcpy(alpha, o->alpha[set], n * c * sizeof *alpha);
    memset(model, 0, sizeof *model);
    model->n = n, model->d = model->r = d, model->c = c;
    model->kernel = o->options.kernel, model->metric = RFM_DIAGONAL, model->task = RFM_CLASSIFY;
    model->bandwidth = o->options.bandwidth, model->exponent = R(1);
    model->shift = shift, model->p = p, model->centers = centers, model->alpha = alpha;
    return RFM_OK;
}

size_t rfm_online_read(void *online, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    const rfm_online *o = (const rfm_online *)online;
    size_t set = set_of(o->serving), i, q, k;
    for (i = 0; i < count && first + i < o->count[set]; i++) {
        size_t place = o->rows[set][first + i];
        for (q = 0; q < o->d; q++) x[i * o->d + q] = raw(o, place, q);
        for (k = 0; k < o->c; k++) y[i * o->c + k] = target(o, place, k);
        if (weights != NULL) weights[i] = R(1);
    }
    return i;
}

/* ==== 10. State =================================================================================
 *
 * FORMAT.md, "The state of a learner", has the bytes.
 */

#define STATE_MAGIC   UINT32_C(0x6f6d6672)
#define STATE_VERSION 2
#define STATE_BUFFER  64
#define NOT_WANTED    UINT32_MAX

/* Bytes that go out (put) or come in (get). With neither, only their checksum is computed. */
typedef struct {
    rfm_online_put put;
    rfm_online_get get;
    void *arg;
    int status;
    uint32_t crc;
    size_t used;
    unsigned char buffer[STATE_BUFFER];
} stream;

static void flush(stream *s) {
    if (s->status == RFM_OK && s->put != NULL && s->used > 0) s->status = s->put(s->arg, s->buffer, s->used);
    s->used = 0;
}

/* `count` <= 8 bytes of value. */
static void put_value(stream *s, uint64_t value, size_t count) {
    for (; count > 0; count--, value >>= 8) {
        s->buffer[s->used] = (unsigned char)value;
        s->crc = rfm_crc32(s->crc, s->buffer + s->used, 1);
        if (++s->used == STATE_BUFFER) flush(s);
    }
}

static void put_u32(stream *s, uint32_t value) { put_value(s, value, 4); }

static void put_real(stream *s, rfm_real value) {
    real_bits bits;
    memcpy(&bits, &value, sizeof bits);
    put_value(s, bits, sizeof bits);
}

static uint64_t get_value(stream *s, size_t count) {
    uint64_t value = 0;
    size_t i;
    if (s->status == RFM_OK) s->status = s->get(s->arg, s->buffer, count);
    if (s->status != RFM_OK) return 0;
    s->crc = rfm_crc32(s->crc, s->buffer, count);
    for (i = 0; i < count; i++) value |= (uint64_t)s->buffer[i] << (8 * i);
    return value;
}

static uint32_t get_u32(stream *s) { return (uint32_t)get_value(s, 4); }

/* 0 and RFM_ECONTENT if it is not finite. */
static rfm_real get_real(stream *s) {
    real_bits bits = (real_bits)get_value(s, sizeof bits);
    rfm_real value;
    memcpy(&value, &bits, sizeof value);
    if (s->status == RFM_OK && !finite_real(value)) s->status = RFM_ECONTENT;
    return s->status == RFM_OK ? value : R(0);
}

/* The integers of the state that are members of the learner, in its order. */
#define AT(member) offsetof(rfm_online, member)
static const uint16_t members[] = {AT(random),  AT(since),         AT(taken),         AT(absorbed),
                                   AT(dropped), AT(refused_value), AT(refused_label), AT(refused_full),
                                   AT(refits),  AT(rejected),      AT(failed)};
#define MEMBERS (sizeof members / sizeof members[0])

static uint32_t fingerprint(const rfm_online *o) {
    const rfm_online_options *p = &o->options;
    stream s;
    size_t q;
    memset(&s, 0, sizeof s);
    put_u32(&s, (uint32_t)p->kernel);
    put_u32(&s, (uint32_t)p->scale);
    put_u32(&s, (uint32_t)p->score);
    put_u32(&s, (uint32_t)p->forget);
    put_u32(&s, (uint32_t)p->iterations);
    put_u32(&s, (uint32_t)p->refit_every);
    put_u32(&s, p->start != NULL);
    put_real(&s, p->bandwidth);
    put_real(&s, p->ridge);
    put_real(&s, p->margin);
    for (q = 0; q < o->d; q++) {
        put_real(&s, o->first[q]);
        put_real(&s, o->unit2[q]);
        if (o->x8 != NULL) put_real(&s, o->step[q]);
        if (o->x8 != NULL) put_real(&s, o->offset[q]);
    }
    return s.crc;
}

static void put_row(stream *s, const rfm_online *o, size_t place) {
    size_t q;
    put_value(s, o->label[place], 2);
    for (q = 0; q < o->d; q++)
        if (o->x8 != NULL)
            put_value(s, (uint8_t)o->x8[place * o->d + q], 1);
        else
            put_real(s, o->x[place * o->d + q]);
}

static void get_row(stream *s, rfm_online *o, size_t place) {
    size_t q;
    uint32_t byte;
    o->label[place] = (uint16_t)get_value(s, 2);
    if (s->status == RFM_OK && o->label[place] >= o->classes) s->status = RFM_ECONTENT;
    for (q = 0; q < o->d; q++)
        if (o->x8 != NULL) {
            byte = (uint32_t)get_value(s, 1);
            o->x8[place * o->d + q] = (int8_t)(byte < 128 ? (int)byte : (int)byte - 256);
        } else
            o->x[place * o->d + q] = get_real(s);
}

int rfm_online_save_need(const rfm_online *o, size_t *bytes) {
    size_t row;
    if (o == NULL || bytes == NULL) return RFM_ENULL;
    row = 2 + o->d * (o->x8 != NULL ? 1 : sizeof(rfm_real));
    *bytes = 84 + 4 * o->classes + (3 + o->d) * sizeof(rfm_real) + o->window * (row + o->c * sizeof(rfm_real)) +
             o->pending * row + 4;
    return RFM_OK;
}

int rfm_online_save(const rfm_online *o, rfm_online_put put, void *arg) {
    size_t set, n, pending, i, k;
    uint32_t tail, member;
    stream s;
    if (o == NULL || put == NULL) return RFM_ENULL;
    memset(&s, 0, sizeof s);
    s.put = put, s.arg = arg;
    set = set_of(o->serving), n = o->count[set], tail = o->tail;
    pending = waiting(o, load_acquire(&o->head), tail);
    put_u32(&s, STATE_MAGIC);
    put_value(&s, STATE_VERSION, 2);
    put_value(&s, sizeof(rfm_real), 1);
    put_value(&s, o->x8 != NULL, 1);
    put_u32(&s, (uint32_t)o->window);
    put_u32(&s, (uint32_t)o->d);
    put_u32(&s, (uint32_t)o->c);
    put_u32(&s, fingerprint(o));
    put_u32(&s, (uint32_t)n);
    put_u32(&s, (uint32_t)pending);
    put_u32(&s, o->serving & SERVE_OWN ? 1 : 0);
    put_u32(&s, o->wanted ? (uint32_t)waiting(o, o->refit_after, tail) : o->task == TASK_REFIT ? 0 : NOT_WANTED);
    for (k = 0; k < MEMBERS; k++) {
        memcpy(&member, (const unsigned char *)o + members[k], sizeof member);
        put_u32(&s, member);
    }
    put_real(&s, o->ridge[metric_of(o->serving)]);
    put_real(&s, o->old_score);
    put_real(&s, o->new_score);
    for (k = 0; k < o->classes; k++) put_u32(&s, o->seen[k]);
    for (k = 0; k < o->d; k++) put_real(&s, o->metric[metric_of(o->serving)][k]);
    for (i = 0; i < n; i++) {
        put_row(&s, o, o->rows[set][i]);
        for (k = 0; k < o->c; k++) put_real(&s, o->alpha[set][i * o->c + k]);
    }
    for (; pending > 0; pending--, tail = after(o, tail)) put_row(&s, o, o->ring[entry(o, tail)]);
    put_u32(&s, s.crc);
    flush(&s);
    return s.status;
}

/* Reads what comes after the header, into an empty learner. */
static void load_content(stream *s, rfm_online *o) {
    uint32_t n = get_u32(s), pending = get_u32(s), own = get_u32(s), wait = get_u32(s), crc;
    size_t i, k, label;
    if (s->status != RFM_OK) return;
    if (n > o->window || pending > o->pending || own > 1) s->status = RFM_ECONTENT;
    if (wait > pending && wait != NOT_WANTED) s->status = RFM_ECONTENT;
    if (o->options.start == NULL ? own == 0 : own > n) s->status = RFM_ECONTENT;
    for (k = 0; k < MEMBERS; k++) {
        uint32_t member = get_u32(s);
        memcpy((unsigned char *)o + members[k], &member, sizeof member);
    }
    o->ridge[0] = get_real(s);
    o->old_score = get_real(s);
    o->new_score = get_real(s);
    if (s->status == RFM_OK && (o->random == 0 || !(o->ridge[0] > R(0)))) s->status = RFM_ECONTENT;
    for (k = 0; k < o->classes; k++) o->seen[k] = get_u32(s);
    for (k = 0; k < o->d; k++) {
        o->metric[0][k] = get_real(s);
        if (o->metric[0][k] < R(0)) s->status = RFM_ECONTENT;
    }
    for (i = 0; s->status == RFM_OK && i < n; i++) {
        o->rows[0][i] = (uint16_t)(o->pending + i);
        get_row(s, o, o->rows[0][i]);
        if (s->status != RFM_OK) return;
        label = o->label[o->rows[0][i]];
        if (++o->held[label] > o->seen[label]) s->status = RFM_ECONTENT;
        for (k = 0; k < o->c; k++) o->alpha[0][i * o->c + k] = get_real(s);
    }
    for (i = 0; s->status == RFM_OK && i < pending; i++) get_row(s, o, o->ring[i]);
    crc = s->crc;
    if (get_u32(s) != crc && s->status == RFM_OK) s->status = RFM_ECHECKSUM;
    if (s->status != RFM_OK) return;
    o->serving = own ? SERVE_OWN : 0;
    o->wanted = wait != NOT_WANTED;
    o->count[0] = n;
    o->factored = 0;
    o->refit_after = o->wanted ? wait : 0;
    store_release(&o->head, pending);
}

int rfm_online_load(rfm_online *o, rfm_online_get get, void *arg) {
    uint32_t word[6];
    stream s;
    int i;
    if (o == NULL || get == NULL) return RFM_ENULL;
    memset(&s, 0, sizeof s);
    s.get = get, s.arg = arg;
    for (i = 0; i < 6; i++) word[i] = get_u32(&s);
    if (s.status == RFM_OK) {
        if (word[0] != STATE_MAGIC) return RFM_EMAGIC;
        if ((word[1] & 0xffff) != STATE_VERSION) return RFM_EVERSION;
        if ((word[1] >> 16 & 0xff) != sizeof(rfm_real)) return RFM_ETYPE;
        if (word[2] != o->window || word[3] != o->d || word[4] != o->c) return RFM_ESHAPE;
        if (word[1] >> 24 != (o->x8 != NULL) || word[5] != fingerprint(o)) return RFM_EVALUE;
        empty(o);
        load_content(&s, o);
    }
    if (s.status != RFM_OK) empty(o);
    return s.status;
}

#endif /* RFM_NO_TRAIN */

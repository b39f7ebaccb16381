/* rfm_small.c - small models, and inference in integers; rfm_small.h has the contract.
 *
 * Contents:
 *   1. Models of integers  the blob, opened in place; why nothing can overflow
 *   2. One row             prediction in integers
 *   (the rest is not there with RFM_NO_TRAIN)
 *   3. Rows                checks and products that the following share
 *   4. Features, rank
 *   5. Centres             four ways to choose them, the refit, the polish
 *   6. Integers            scales, the table of phi, rounding with feedback
 *   7. Writing
 */
#include "rfm_small.h"
#include "rfm_private.h"

#include <math.h>
#include <string.h>

/* ==== 1. Models of integers =====================================================================
 *
 * All arithmetic is in 32 bits, and none of it overflows. With what is checked here, B = 15 for RFM_I8 and 7 for
 * RFM_I16, and limit = 2^k - 1, the largest k with 4 r 4^k <= 2^32 (at most 8 for RFM_I8, 7 of these with absolute
 * differences, so that z has 8 bits, too; 14 for RFM_I16):
 *
 *   u_j <= 4095                       at x = high, and u grows with x; high - low and gain are below 2^16
 *     RFM_DIAGONAL: 2 limit <= 32766
 *   |bias_p + sum_j P_pj u_j| < 2^31  |bias_p| + 4095 sum_j |P_pj| <= 2^31 - 32769
 *                                     RFM_DIAGONAL: the sum is u_p alone
 *   t_i <= 2^32 - 12, t_i + 8 fits    |z_p| and |center_ip| <= limit, so t_i <= r (2 limit)^2 = r (4 4^k - 8 2^k + 4)
 *                                     <= 2^32 - 12 r for k >= 1, and 0 for k = 0. The sum of absolute differences of
 *                                     integers is no larger than that of their squares
 *   0 <= phi < 2^15                   checked node by node; between two nodes it is between their values
 *   |offset_k + sum| < 2^31           over any centres: |offset_k| + 2^B sum_i |alpha_ik| <= 2^31 - 32769, and a term
 *                                     is at most 2^B |alpha_ik|. RFM_I16: so is what is shifted by 8, since rounding
 *                                     down stops at that integer
 *
 * so sums may be taken in any order: every loop gives the same bits. The code is short rather than fast, because
 * firmware of 2 KB has all of it: lengths are compared by subtraction, in place of products of 64 bits; what is checked
 * is described first, in a model of its own.
 */

/* Signed numbers are shifted to the right as all compilers do it. */
typedef char shift_is_arithmetic[(-5 >> 1) == -3 ? 1 : -1];
typedef char input_is_8_bytes[sizeof(rfm_input_i) == 8 ? 1 : -1];

/* Sections of a model of integers, beside RFM_SECTION_...; what is in the first: FORMAT.md, rfm_model_open_i. */
enum { SECTION_NUMBERS, SECTION_PHI, SECTIONS = RFM_SECTION_SUMMARY + 1 };

#define U_MOST        4095        /* of u, RFM_FULL */
#define SUM_MOST      0x7fff7fffu /* 2^31 - 32769 */
#define BITS_INFINITY 0x7f800000u /* floats below have bits below */

/* 2^k - 1: r <= 4 allows k = 14, every factor of 4 takes 1 from k. */
static int32_t limit_of(size_t r, int type, int absolute) {
    int32_t limit = 16383;
    const int32_t most = absolute ? 127 : 255;
    for (r = (r - 1) / 4; r > 0; r /= 4) limit >>= 1;
    return type == RFM_I8 && limit > most ? most : limit;
}

#ifdef RFM_SMALL_L1
static int is_absolute(const rfm_model_i *m) { return m->absolute; }
#else
#define is_absolute(m) 0
#endif

static uint32_t bits_of(const void *at) {
    uint32_t bits;
    memcpy(&bits, RFM_AT_4(at), 4);
    return bits;
}

/* Bytes of a section of an opened blob, in this machine's byte order then. */
static uint32_t section_bytes(const rfm_blob *head, uint32_t section) {
    return bits_of(head->at + 48 + 8 * section + 4);
}

/* left - count * each, a product that need not fit; 0 if that is not positive. */
static RFM_ALONE uint32_t less(uint32_t left, uint32_t count, uint32_t each) {
    for (; each > 0; each--) {
        if (left <= count) return 0;
        left -= count;
    }
    return left;
}

/* How much the length of the first section is off from what the sizes say: 0, or anything. What a line computes does
 * not overflow where the section was long enough for the lines before. */
static RFM_ALONE uint32_t length_off(const rfm_blob *head) {
    uint32_t left = section_bytes(head, SECTION_NUMBERS) + 1, each = 4; /* blobs are shorter than 2^32 */
    left = less(left, sizeof(rfm_input_i), head->d);
    left = less(left, 4 + 4, head->c);
    if ((head->metric & RFM_FULL) != 0) each += head->d * head->type + 1;
    left = less(left, head->r, each);
    left = less(left, head->n, (head->r + head->c) * head->type);
    return left - 1;
}

/* The model in a blob whose length is right, but for names and summary; `at` is the first section. */
static RFM_ALONE void describe(const rfm_blob *head, const char *at, const void *phi, rfm_model_i *m) {
    m->n = head->n, m->d = head->d, m->c = head->c, m->r = head->r;
    m->type = head->type, m->metric = head->metric, m->task = head->task;
#ifdef RFM_SMALL_L1
    m->absolute = m->metric >= RFM_ABSOLUTE, m->metric &= RFM_ABSOLUTE - 1;
#endif
    m->limit = limit_of(head->r, head->type, is_absolute(m));
    m->inputs = (const rfm_input_i *)(const void *)at, at += m->d * sizeof(rfm_input_i);
    m->bias = (const int32_t *)(const void *)at, at += m->r * 4;
    m->offset = (const int32_t *)(const void *)at, at += m->c * 4;
    m->units = (const float *)(const void *)at, at += m->c * 4;
    m->centers = at, at += m->n * m->r * (size_t)m->type;
    m->alpha = at, at += m->n * m->c * (size_t)m->type;
    m->p = NULL, m->shifts = NULL;
    if (m->metric == RFM_FULL) m->p = at, m->shifts = (const uint8_t *)at + m->d * m->r * (size_t)m->type;
    m->phi = (const uint16_t *)phi, m->nodes = section_bytes(head, SECTION_PHI) / 2;
}

/* Are there any numbers, and all between -low and most - low? As signed numbers: an unsigned one that is too large
 * looks negative. */
static RFM_ALONE int within(const void *at, uint32_t bytes, size_t count, uint32_t low, uint32_t most) {
    do {
        if (count-- == 0) return 0;
        if ((bytes == 4 ? bits_of((const float *)at + count) : (uint32_t)number((int)bytes, at, count)) + low > most)
            return 0;
    } while (count > 0);
    return 1;
}

/* |start_i| + weight * sum_j |a_ij| <= SUM_MOST for all i: of bias and P, of offset and alpha'? */
static RFM_ALONE int sums_right(const rfm_model_i *m, int is_p) {
    const int32_t *start = m->offset, *end = start + m->c;
    const void *a = m->alpha;
    size_t first = 0, cols = m->n, step = m->c, next = 1, i, j;
    uint32_t weight = 1u << (23 - 8 * m->type); /* 2^B */
    if (is_p) {
        start = m->bias, end = start + m->r;
        a = m->p;
        cols = m->metric == RFM_FULL ? m->d : 0, step = 1, next = m->d;
        weight = U_MOST;
    }
    for (; start < end; start++, first += next) {
        uint32_t left = SUM_MOST, term = magnitude(*start);
        for (i = first, j = cols;; i += step) {
            if (term > left) return 0;
            left -= term;
            if (j-- == 0) break;
            term = magnitude(number(m->type, a, i)) * weight;
        }
    }
    return 1;
}

/* Everything else that the head of this section relies on, of a model whose arrays are there. */
static RFM_ALONE int content_right(const rfm_model_i *m) {
    const rfm_input_i *in = m->inputs, *end = in + m->d;
    uint32_t limit = (uint32_t)m->limit;
    if (!within(m->units, 4, m->c, 0u - 1, BITS_INFINITY - 2))
        return 0; /* a float is positive and finite if its bits are */
    if (!within(m->phi, 2, m->nodes, 0, RFM_PHI_ONE)) return 0;
    if (!within(m->centers, (uint32_t)m->type, m->n * m->r, limit, limit * 2)) return 0;
    limit *= 2;
    if (m->metric == RFM_FULL) {
        if (!within(m->shifts, 1, m->r, 0, 31)) return 0;
        limit = U_MOST;
    }
    for (; in < end; in++)
        if (in->low > in->high || in->shift > 31 || (uint32_t)(in->high - in->low) * in->gain >> in->shift > limit)
            return 0;
    return 1;
}

static int all_right(const rfm_model_i *m) {
    if (!sums_right(m, 1) || !sums_right(m, 0)) return 0;
    return content_right(m);
}

static RFM_ALONE int numbers_right(const rfm_blob *head, const char *at, const void *phi) {
    rfm_model_i m;
    describe(head, at, phi, &m);
    return all_right(&m);
}

int rfm_model_open_i(const void *blob, size_t size, rfm_model_i *model) {
    rfm_blob head;
    const void *at, *phi;
    int status = model == NULL ? RFM_ENULL : rfm_blob_open(blob, size, RFM_I8 | RFM_I16, &head);
    if (status != RFM_OK) return status;
    at = rfm_blob_section(&head, SECTION_NUMBERS), phi = rfm_blob_section(&head, SECTION_PHI);
    if (at == NULL || phi == NULL || length_off(&head) != 0 || !numbers_right(&head, (const char *)at, phi))
        return RFM_ECONTENT;
    describe(&head, (const char *)at, phi, model);
    model->class_names = (const char *)rfm_blob_section(&head, RFM_SECTION_CLASS_NAMES);
    model->input_names = (const char *)rfm_blob_section(&head, RFM_SECTION_INPUT_NAMES);
    model->summary = rfm_blob_section(&head, RFM_SECTION_SUMMARY);
    return RFM_OK;
}

/* ==== 2. One row ================================================================================
 *
 * u, z = P u, then one centre after the other: r d + n (r + c) products, no memory but scratch. Inner loops exist once
 * for each type. They run backwards, so that the index is the count.
 */

/* sum_j row_j u_j, j < n */
static RFM_ALONE int32_t dot(int type, const void *row, const int16_t *u, size_t n) {
    const int8_t *a8 = (const int8_t *)row;
    const int16_t *a16 = (const int16_t *)row;
    int32_t sum = 0;
    n--;
    if (type == RFM_I8) do
            sum += a8[n] * u[n];
        while (n-- > 0);
    else
        do sum += a16[n] * u[n];
        while (n-- > 0);
    return sum;
}

/* sum_p (row_p - z_p)^2, p < n */
static RFM_ALONE uint32_t distance(int type, const void *row, const int16_t *z, size_t n) {
    const int8_t *a8 = (const int8_t *)row;
    const int16_t *a16 = (const int16_t *)row;
    uint32_t sum = 0;
    int32_t diff;
    n--;
    if (type == RFM_I8) do
            diff = a8[n] - z[n], sum += (uint32_t)(diff * diff);
        while (n-- > 0);
    else
        do diff = a16[n] - z[n], sum += (uint32_t)(diff * diff);
        while (n-- > 0);
    return sum;
}

#ifdef RFM_SMALL_L1
/* sum_p |row_p - z_p|, p < n, both of the model's type, so that one index serves both. A branch, because a Cortex-M0
 * has no shorter absolute value. `type` is there to have the shape of distance(). */
static RFM_ALONE uint32_t distance_absolute_8(int type, const void *row, const int16_t *z, size_t n) {
    const int8_t *a8 = (const int8_t *)row, *z8 = (const int8_t *)(const void *)z;
    uint32_t sum = 0;
    (void)type;
    n--;
    do {
        int32_t diff = a8[n] - z8[n];
        if (diff < 0) diff = -diff;
        sum += (uint32_t)diff;
    } while (n-- > 0);
    return sum;
}

/* The index counts bytes: compilers leave it alone then, and its step tells whether there is one more. */
static RFM_ALONE uint32_t distance_absolute_16(int type, const void *row, const int16_t *z, size_t n) {
    ptrdiff_t i = (ptrdiff_t)n * 2 - 2;
    uint32_t sum = 0;
    (void)type;
    do {
        int32_t diff = *(const int16_t *)(const void *)((const char *)row + i) -
                       *(const int16_t *)(const void *)((const char *)z + i);
        if (diff < 0) diff = -diff;
        sum += (uint32_t)diff;
        i -= 2;
    } while (i >= 0);
    return sum;
}
#endif

/* scores_k += row_k phi, k < n */
static RFM_ALONE void add(int type, const void *row, int32_t phi, int32_t *scores, size_t n) {
    const int8_t *a8 = (const int8_t *)row;
    const int16_t *a16 = (const int16_t *)row;
    n--;
    if (type == RFM_I8) do
            scores[n] += a8[n] * phi;
        while (n-- > 0);
    else
        do scores[n] += a16[n] * phi >> 8;
        while (n-- > 0);
}

typedef uint32_t (*distance_loop)(int type, const void *row, const int16_t *z, size_t n);

#ifdef RFM_SMALL_L1
/* Is z of 8 bits, to be read as centres are? It takes the first half of its room then. */
static int z_is_bytes(const rfm_model_i *m) { return m->absolute && m->type == RFM_I8; }

static distance_loop distance_of(const rfm_model_i *m) {
    if (z_is_bytes(m)) return distance_absolute_8;
    return m->absolute ? distance_absolute_16 : distance;
}
#else
#define z_is_bytes(m)  0
#define distance_of(m) distance
#endif

static RFM_ALONE int32_t scores_portable(const rfm_model_i *m, int16_t *scratch, int32_t *scores) {
    const char *row = (const char *)m->p, *alpha = (const char *)m->alpha;
    const distance_loop distance_to = distance_of(m);
    const int bytes = z_is_bytes(m);
    int16_t *z = scratch + m->d;
    size_t i;
    int32_t largest = 0;
    for (i = 0; i < m->r; i++) {
        int32_t sum = m->bias[i], limit = m->limit;
        if (row != NULL)
            sum = (sum + dot(m->type, row, scratch, m->d)) >> m->shifts[i], row += m->d * (size_t)m->type;
        else
            sum += scratch[i];
        if (sum > limit) sum = limit;
        if (sum < -limit) sum = -limit;
        if (bytes)
            ((int8_t *)z)[i] = (int8_t)sum;
        else
            z[i] = (int16_t)sum;
    }
    row = (const char *)m->centers;
    for (i = 0; i < m->n; i++) {
        int32_t phi = phi_at(m, distance_to(m->type, row, z, m->r));
        if (phi > largest) largest = phi;
        add(m->type, alpha, phi, scores, m->c);
        row += m->r * (size_t)m->type, alpha += m->c * (size_t)m->type;
    }
    return largest;
}

int rfm_predict_i(const rfm_model_i *m, const int16_t *x, int32_t *scores, int16_t *scratch, rfm_loop_i loop,
                  rfm_notes_i *notes) {
    uint32_t saturated = 0;
    int32_t largest = -1;
    size_t i;
    if (m == NULL || x == NULL || scores == NULL || scratch == NULL) return RFM_ENULL;
    for (i = 0; i < m->d; i++) {
        const rfm_input_i *in = &m->inputs[i];
        int32_t v = x[i];
        if (v < in->low) v = in->low, saturated++;
        if (v > in->high) v = in->high, saturated++;
        scratch[i] = (int16_t)((uint32_t)(v - in->low) * in->gain >> in->shift);
    }
    memcpy(scores, m->offset, m->c * sizeof *scores);
    if (loop != NULL) largest = loop(m, scratch, scores);
    if (largest < 0) largest = scores_portable(m, scratch, scores);
    if (notes != NULL) notes->nearest = (uint16_t)largest, notes->saturated = saturated;
    return RFM_OK;
}

size_t rfm_class_i(const rfm_model_i *m, const int32_t *scores) {
    int32_t most = scores[0];
    size_t best = 0, i;
    if (m->task != RFM_CLASSIFY) return 0;
    if (m->c == 1) return most > 0;
    for (i = 1; i < m->c; i++)
        if (scores[i] > most) most = scores[i], best = i;
    return best;
}

/* x 2^exponent, to the nearest integer: halves go up. */
static int16_t input_integer(rfm_real x, int exponent) {
    /* In two steps, because 2^-128 itself is not a normal number. */
    rfm_real value = x * power_of_two(exponent / 2) * power_of_two(exponent - exponent / 2), rest;
    int32_t nearest;
    if (value > R(32767)) value = R(32767);
    if (value < R(-32768)) value = R(-32768);
    nearest = (int32_t)value;
    rest = value - R(nearest);
    if (rest >= R(0.5)) nearest++;
    if (rest < R(-0.5)) nearest--;
    return (int16_t)nearest;
}

int rfm_input_integers(const rfm_model_i *m, const rfm_real *x, int16_t *xi) {
    size_t j;
    if (m == NULL || x == NULL || xi == NULL) return RFM_ENULL;
    if (!rfm_finite(m->d, x)) return RFM_EFINITE;
    for (j = 0; j < m->d; j++) xi[j] = input_integer(x[j], m->inputs[j].exponent);
    return RFM_OK;
}

#ifndef RFM_NO_TRAIN

/* ==== 3. Rows ===================================================================================
 *
 * Everything below works on the projected rows z = P (x - shift). Kernel values of these come from rfm_predict: a model
 * whose centres are a block of rows, with the identity as metric and as alpha, predicts K. Rows are taken BLOCK_ROWS at
 * a time, so that no matrix has both all rows and all centres. The only exception is choosing centres by elimination.
 *
 * Squares have half of the range that numbers have. So units are powers of two: of z near the bandwidth, of weights and
 * the ridge near the largest weight, of squared targets near the largest target. No digit changes, and no square that
 * matters is too large or too small. What loses its digits nevertheless is RFM_ERANGE.
 */

#define EXPONENT_MOST (RFM_LIMIT(MAX_EXP) - 2) /* 2^e and 2^-e are normal numbers */

#define FARTHEST    R(1125899906842624) /* 2^50 */
#define BLOCK_ROWS  128
#define SMALL_BLOCK 8 /* few outputs can need more memory than many, so the last block is measured as well */

/* e with 1/2 <= |x| 2^-e < 1, or the nearest one for which 2^e and 2^-e are normal numbers; 0 for 0. */
static int exponent_of(rfm_real x) {
    int e = 0;
    (void)RFM_MATH(frexp)(x, &e);
    return e < -EXPONENT_MOST ? -EXPONENT_MOST : e > EXPONENT_MOST ? EXPONENT_MOST : e;
}

static rfm_real power(int e) { return RFM_MATH(ldexp)(R(1), e); }

/* x 2^e in place. RFM_ERANGE: the result is not finite, or has lost digits (and x was more than rounding). */
static int scale_numbers(size_t n, rfm_real *x, int e) {
    rfm_real most = rfm_largest(n, x);
    size_t i;
    for (i = 0; e != 0 && i < n; i++) x[i] = RFM_MATH(ldexp)(x[i], e);
    if (!rfm_finite(n, x)) return RFM_ERANGE;
    return most > REAL_EPS * REAL_EPS && rfm_largest(n, x) < REAL_LEAST ? RFM_ERANGE : RFM_OK;
}

/* phi at s^2, or at s for RFM_L1. */
static rfm_real radial(const rfm_model *m, rfm_real distance) {
    return rfm_phi(m->kernel, m->exponent, R(1) / m->bandwidth, distance, NULL);
}

static rfm_real distance2(size_t r, const rfm_real *a, const rfm_real *b) {
    rfm_real sum = R(0);
    size_t q;
    for (q = 0; q < r; q++) sum += (a[q] - b[q]) * (a[q] - b[q]);
    return sum;
}

static int is_radial(const rfm_model *m) { return rfm_kernels[m->kernel].norm == 2; }

/* The distance as `radial` takes it. */
static rfm_real kernel_distance(const rfm_model *m, const rfm_real *a, const rfm_real *b) {
    rfm_real sum = R(0);
    size_t q;
    if (is_radial(m)) return distance2(m->r, a, b);
    for (q = 0; q < m->r; q++) sum += RFM_MATH(fabs)(a[q] - b[q]);
    return sum;
}

/* A source model, the rows, and the memory that every step uses. */
typedef struct {
    const rfm_ctx *ctx;
    const rfm_data *data;
    const rfm_model *source;
    rfm_model m;           /* the source model with its bandwidth in units of 2^unit */
    size_t n, b;           /* rows, and how many of them at a time */
    int unit, weight_unit; /* exponents of two: the unit of z and the bandwidth; the unit of weights and ridge */
    rfm_real weight_scale; /* 2^-weight_unit */
    rfm_real *x;           /* (b, d) RFM_FULL: x - shift */
    rfm_real *z;           /* (n, r), in units of 2^unit */
    rfm_real *zeros, *eye; /* (r), (b, b) */
    size_t eye_size;
    call_room inner;
    rfm_real done, total; /* how much work there is, for ticks */
} rows;

/* The memory layout, by sizes only; rows_values looks at the values. */
static int rows_start(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, int with_y, rows *s) {
    size_t ignored;
    int status = ctx == NULL || data == NULL ? RFM_ENULL : rfm_predict_need(ctx, model, 1, &ignored);
    if (status == RFM_OK) status = check_view(data->x);
    if (status == RFM_OK && with_y) status = check_view(data->y);
    if (status != RFM_OK) return status;
    if (on_sphere(model)) return RFM_EVALUE;
    if (data->x.cols != model->d || (with_y && (data->y.cols != model->c || data->y.rows != data->x.rows)))
        return RFM_ESHAPE;
    memset(s, 0, sizeof *s);
    s->ctx = ctx, s->data = data, s->source = model, s->m = *model;
    s->n = data->x.rows, s->b = min_size(s->n, BLOCK_ROWS);
    return RFM_OK;
}

static int model_finite(const rfm_model *m) {
    if (!rfm_finite(m->d, m->shift) || !rfm_finite(m->n * m->r, m->centers)) return 0;
    if (!rfm_finite(m->n * m->c, m->alpha)) return 0;
    if (m->metric != RFM_IDENTITY && !rfm_finite((m->metric == RFM_FULL ? m->r : 1) * m->d, m->p)) return 0;
    return rfm_finite(1, &m->bandwidth) && (m->offset == NULL || rfm_finite(m->c, m->offset));
}

static int rows_values(rows *s, int with_y) {
    const rfm_data *data = s->data;
    rfm_real most = R(0);
    size_t i;
    if (!model_finite(&s->m) || !finite_view(data->x) || (with_y && !finite_view(data->y))) return RFM_EFINITE;
    if (data->weights != NULL && !rfm_finite(s->n, data->weights)) return RFM_EFINITE;
    for (i = 0; data->weights != NULL && i < s->n; i++) {
        if (data->weights[i] < R(0)) return RFM_EVALUE;
        most = max_real(most, data->weights[i]);
    }
    if (data->weights != NULL && !(most > R(0))) return RFM_EVALUE;
    s->weight_unit = exponent_of(most), s->weight_scale = power(-s->weight_unit);
    s->unit = exponent_of(s->m.bandwidth), s->m.bandwidth *= power(-s->unit);
    return RFM_OK;
}

static rfm_real weight_of(const rows *s, size_t row) {
    return s->data->weights != NULL ? s->data->weights[row] * s->weight_scale : R(1);
}

static void rows_layout(rfm_arena *arena, rows *s) {
    size_t bytes = 0, full = s->m.metric == RFM_FULL ? s->m.d : 0;
    s->x = rfm_arena_reals(arena, s->b, full);
    s->z = rfm_arena_reals(arena, s->n, s->m.r);
    if (full > 0) room_for(&s->inner, rfm_gemm_need(s->ctx, s->b, s->m.r, s->m.d, &bytes), &bytes);
}

/* A kernel between projected points, (m, b) values at a time. */
static rfm_model radial_model(const rows *s, size_t count) {
    rfm_model k = s->m;
    k.n = k.c = count, k.d = k.r = s->m.r;
    k.metric = RFM_IDENTITY, k.shift = s->zeros, k.p = NULL, k.alpha = s->eye, k.offset = NULL;
    return k;
}

static void kernel_layout(rfm_arena *arena, rows *s, size_t m) {
    static const rfm_real somewhere = R(0); /* a need reads no array, but refuses NULL */
    rfm_model k;
    size_t bytes = 0, count;
    s->zeros = rfm_arena_reals(arena, 1, s->m.r);
    s->eye = rfm_arena_reals(arena, s->b, s->b);
    for (count = s->b; count > 0; count = count > SMALL_BLOCK ? min_size(SMALL_BLOCK, count - 1) : count - 1) {
        k = radial_model(s, count);
        k.shift = k.centers = k.alpha = &somewhere;
        room_for(&s->inner, rfm_predict_need(s->ctx, &k, m, &bytes), &bytes);
    }
}

/* Adds a part of the total to what is done; the caller may say stop. */
static int advance(rows *s, rfm_real work) {
    s->done += work;
    if (s->ctx->tick == NULL) return RFM_OK;
    return s->ctx->tick(s->ctx->tick_arg, s->done < s->total ? s->done / s->total : R(1)) != 0 ? RFM_ECANCEL : RFM_OK;
}

/* Brings projected points to units of 2^unit. RFM_ERANGE: they lose digits, or are so many bandwidths away that
 * squares could overflow. */
static int scale_points(const rows *s, size_t n, rfm_real *z) {
    const rfm_real scale = power(-s->unit), most = rfm_finite(n, z) ? rfm_largest(n, z) : R(-1);
    size_t i;
    if (most < R(0) || (most > R(0) && most < REAL_LEAST / REAL_EPS) || !(most * scale <= FARTHEST)) return RFM_ERANGE;
    for (i = 0; i < n; i++) z[i] *= scale;
    return RFM_OK;
}

/* z = P (x - shift) of all rows. */
static int project_rows(rows *s) {
    const rfm_model *m = &s->m;
    size_t first, count, i, j;
    int status = RFM_OK;
    for (first = 0; first < s->n && status == RFM_OK; first += count) {
        rfm_real *to = m->metric == RFM_FULL ? s->x : s->z + first * m->r;
        count = min_size(s->b, s->n - first);
        for (i = 0; i < count; i++) {
            const rfm_real *row = s->data->x.at + (first + i) * s->data->x.stride;
            for (j = 0; j < m->d; j++)
                to[i * m->d + j] = (row[j] - m->shift[j]) * (m->metric == RFM_DIAGONAL ? m->p[j] : R(1));
        }
        if (m->metric == RFM_FULL)
            status = rfm_gemm(&s->inner.ctx, RFM_NT, R(1), rfm_cview(s->x, count, m->d), rfm_cview(m->p, m->r, m->d),
                              R(0), rfm_view(s->z + first * m->r, count, m->r));
    }
    return status == RFM_OK ? scale_points(s, s->n * m->r, s->z) : status;
}

/* out (m, count) = phi(|center - point|), both projected. */
static int kernel_values(rows *s, size_t m, const rfm_real *centers, size_t count, const rfm_real *points,
                         rfm_real *out) {
    rfm_model k = radial_model(s, count);
    size_t i;
    if (s->eye_size != count) {
        memset(s->eye, 0, count * count * sizeof *s->eye);
        for (i = 0; i < count; i++) s->eye[i * (count + 1)] = R(1);
        s->eye_size = count;
    }
    for (i = 0; i < s->m.r; i++) s->zeros[i] = R(0);
    k.centers = points;
    return rfm_predict(&s->inner.ctx, &k, rfm_cview(centers, m, s->m.r), rfm_view(out, m, count));
}

/* A = U'U. a (n, n) holds A below its diagonal, `diagonal` (n) the diagonal; U goes on and above the diagonal.
 * *ridge is added to the diagonal. If the factor does not exist in this number type, *ridge grows until it does. */
static int factor(rows *s, size_t n, rfm_real *a, const rfm_real *diagonal, rfm_real *ridge) {
    rfm_real most = R(0);
    size_t i, j;
    for (i = 0; i < n; i++) most = max_real(most, diagonal[i]);
    for (;;) {
        int status;
        for (i = 0; i < n; i++) {
            a[i * (n + 1)] = diagonal[i] + *ridge;
            for (j = i + 1; j < n; j++) a[i * n + j] = a[j * n + i];
        }
        status = rfm_chol(&s->inner.ctx, rfm_view(a, n, n), NULL);
        if (status != RFM_ENOTPD) return status;
        *ridge = max_real(R(10) * *ridge, R(n) * REAL_EPS * most);
        if (!(*ridge < R(10) * R(n) * most)) return RFM_ERANGE;
    }
}

/* Prepares a matrix for factor() that is there on and above its diagonal. */
static void turn_down(size_t n, rfm_real *a, rfm_real *diagonal) {
    size_t i, j;
    for (i = 0; i < n; i++) {
        diagonal[i] = a[i * (n + 1)];
        for (j = 0; j < i; j++) a[i * n + j] = a[j * n + i];
    }
}

static int check_arenas(const rfm_ctx *ctx, const rfm_arena *store, const void *small) {
    if (ctx == NULL || ctx->arena == NULL || store == NULL || small == NULL) return RFM_ENULL;
    if (ctx->arena->status != RFM_OK) return ctx->arena->status;
    if (store->status != RFM_OK) return store->status;
    return ctx->arena->base == NULL || store->base == NULL ? RFM_EARENA : RFM_OK; /* a measuring arena has no memory */
}

/* After a call: gives back the scratch, and on failure what was taken from the store. The input was finite. So if a
 * call of rfm.h says that something is not, it has overflowed on the way. */
static int finish(const rfm_ctx *ctx, rfm_arena *store, size_t used, size_t store_used, size_t store_end, int status) {
    if (status == RFM_EFINITE) status = RFM_ERANGE;
    store->status = ctx->arena->status = RFM_OK;
    rfm_arena_release(ctx->arena, ctx->arena == store ? store_end : used);
    if (status != RFM_OK) rfm_arena_release(store, store_used);
    return status;
}

/* ==== 4. Features, rank ====================================================================== */

/* |P_ij| scale_j as f 2^e, 1/4 <= f < 1; 0 for 0. */
static rfm_real scaled_entry(const rfm_model *m, const rfm_real *scale, size_t i, size_t j, int *e) {
    int scale_e = 0;
    rfm_real p = m->metric == RFM_IDENTITY ? R(1) : RFM_MATH(fabs)(m->p[i * m->d + j]), f = RFM_MATH(frexp)(p, e);
    if (scale != NULL) f *= RFM_MATH(frexp)(scale[j], &scale_e);
    *e += scale_e;
    return f;
}

int rfm_small_importance(const rfm_model *model, const rfm_real *scale, rfm_real *importance) {
    rfm_real low = R(0), high = R(0);
    rfm_ctx none;
    size_t i, j, r, d, ignored;
    int status, e, most = 0, found = 0;
    memset(&none, 0, sizeof none);
    status = importance == NULL ? RFM_ENULL : rfm_predict_need(&none, model, 1, &ignored);
    if (status != RFM_OK) return status;
    d = model->d, r = model->metric == RFM_FULL ? model->r : 1;
    if (model->metric != RFM_IDENTITY && !rfm_finite(r * d, model->p)) return RFM_EFINITE;
    if (scale != NULL && !rfm_finite(d, scale)) return RFM_EFINITE;
    for (j = 0; scale != NULL && j < d; j++)
        if (!(scale[j] > R(0))) return RFM_EVALUE;
    for (i = 0; i < r; i++)
        for (j = 0; j < d; j++)
            if (scaled_entry(model, scale, i, j, &e) > R(0) && (!found || e > most)) most = e, found = 1;
    /* In units of 4^most no square overflows, and one that underflows does not matter beside the largest. */
    for (j = 0; j < d; j++) {
        importance[j] = R(0);
        for (i = 0; i < r; i++) {
            rfm_real f = scaled_entry(model, scale, i, j, &e);
            f = RFM_MATH(ldexp)(f, e - most);
            importance[j] += f * f;
        }
        if (j == 0 || importance[j] < low) low = importance[j];
        if (j == 0 || importance[j] > high) high = importance[j];
    }
    for (j = 0; j < d; j++) importance[j] = high > low ? (importance[j] - low) / (high - low) : R(1);
    return RFM_OK;
}

/* The directions in which the projected rows differ most: with C = cov(z) = V' diag(w) V, the first rows of V turn and
 * cut P and the centres. No other `rank` directions keep more of the mean squared distance between rows. */
typedef struct {
    rows rows;
    size_t rank;
    rfm_real *shift, *p, *centers, *alpha, *offset; /* of the new model */
    size_t store_end;
    rfm_real *cov, *v, *w, *mean; /* (r, r), (rank, r), (rank), (r) */
} ranking;

static int ranking_layout(rfm_arena *store, rfm_arena *arena, ranking *g) {
    rows *s = &g->rows;
    const rfm_model *m = &s->m;
    size_t bytes = 0;
    g->shift = rfm_arena_reals(store, 1, m->d);
    g->p = rfm_arena_reals(store, g->rank, m->d);
    g->centers = rfm_arena_reals(store, m->n, g->rank);
    g->alpha = rfm_arena_reals(store, m->n, m->c);
    g->offset = m->offset != NULL ? rfm_arena_reals(store, 1, m->c) : NULL;
    g->store_end = store->used;
    if (store->status != RFM_OK) return store->status;
    rows_layout(arena, s);
    g->cov = rfm_arena_reals(arena, m->r, m->r);
    g->v = rfm_arena_reals(arena, g->rank, m->r);
    g->w = rfm_arena_reals(arena, 1, g->rank);
    g->mean = rfm_arena_reals(arena, 1, m->r);
    room_for(&s->inner, rfm_syrk_need(s->ctx, m->r, s->n, &bytes), &bytes);
    room_for(&s->inner, rfm_eig_need(s->ctx, m->r, g->rank, &bytes), &bytes);
    room_for(&s->inner, rfm_gemm_need(s->ctx, m->n, g->rank, m->r, &bytes), &bytes);
    if (m->metric == RFM_FULL) room_for(&s->inner, rfm_gemm_need(s->ctx, g->rank, m->d, m->r, &bytes), &bytes);
    (void)room_layout(arena, &s->inner);
    return arena->status;
}

static int ranking_start(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, size_t rank, ranking *g) {
    int status = rows_start(ctx, model, data, 0, &g->rows);
    if (status == RFM_OK && (rank == 0 || rank > model->r || !is_radial(model))) status = RFM_EVALUE;
    g->rank = rank;
    return status;
}

int rfm_small_rank_need(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, size_t rank, size_t *scratch,
                        size_t *store) {
    ranking g;
    rfm_arena kept, measure;
    int status = scratch == NULL || store == NULL ? RFM_ENULL : ranking_start(ctx, model, data, rank, &g);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&kept);
    rfm_arena_measure(&measure);
    status = ranking_layout(&kept, &measure, &g);
    if (status == RFM_OK) *scratch = measure.peak, *store = kept.peak;
    return status;
}

/* Has each column of P all its digits, if it is not 0? */
static int columns_have_digits(const rfm_model *m) {
    size_t i, j, r = m->metric == RFM_FULL ? m->r : 1;
    for (j = 0; m->metric != RFM_IDENTITY && j < m->d; j++) {
        rfm_real most = R(0);
        for (i = 0; i < r; i++) most = max_real(most, RFM_MATH(fabs)(m->p[i * m->d + j]));
        if (most > R(0) && most < REAL_LEAST / REAL_EPS) return 0;
    }
    return 1;
}

static int reduce_rank(ranking *g, rfm_real *share) {
    rows *s = &g->rows;
    const rfm_model *m = &s->m;
    rfm_real sum = R(0), kept = R(0), scale;
    size_t i, j, q, r = m->r;
    int status = columns_have_digits(m) ? project_rows(s) : RFM_ERANGE;
    if (status != RFM_OK) return status;
    scale = power(-exponent_of(rfm_largest(s->n * r, s->z))); /* a unit of z: it changes neither P nor the shares */
    for (q = 0; q < r; q++) g->mean[q] = R(0);
    for (i = 0; i < s->n; i++) {
        rfm_real w = weight_of(s, i);
        sum += w;
        for (q = 0; q < r; q++) {
            s->z[i * r + q] *= scale;
            g->mean[q] += w * s->z[i * r + q];
        }
    }
    for (i = 0; i < s->n; i++) {
        rfm_real root = RFM_MATH(sqrt)(weight_of(s, i) / sum);
        for (q = 0; q < r; q++) s->z[i * r + q] = root * (s->z[i * r + q] - g->mean[q] / sum);
    }
    status = rfm_syrk(&s->inner.ctx, RFM_TN, R(1), rfm_cview(s->z, s->n, r), R(0), rfm_view(g->cov, r, r));
    for (sum = R(0), q = 0; status == RFM_OK && q < r; q++) sum += g->cov[q * (r + 1)];
    if (status == RFM_OK)
        status = rfm_eig(&s->inner.ctx, rfm_view(g->cov, r, r), g->rank, g->w, rfm_view(g->v, g->rank, r));
    if (status == RFM_OK)
        status = rfm_gemm(&s->inner.ctx, RFM_NT, R(1), rfm_cview(m->centers, m->n, r), rfm_cview(g->v, g->rank, r),
                          R(0), rfm_view(g->centers, m->n, g->rank));
    if (status == RFM_OK && m->metric == RFM_FULL)
        status = rfm_gemm(&s->inner.ctx, RFM_NN, R(1), rfm_cview(g->v, g->rank, r), rfm_cview(m->p, r, m->d), R(0),
                          rfm_view(g->p, g->rank, m->d));
    if (status != RFM_OK) return status;
    for (i = 0; m->metric != RFM_FULL && i < g->rank; i++)
        for (j = 0; j < r; j++) g->p[i * r + j] = g->v[i * r + j] * (m->metric == RFM_DIAGONAL ? m->p[j] : R(1));
    for (i = 0; i < g->rank; i++) kept += max_real(g->w[i], R(0));
    if (share != NULL) *share = sum > R(0) && kept < sum ? kept / sum : R(1);
    memcpy(g->shift, m->shift, m->d * sizeof *g->shift);
    memcpy(g->alpha, m->alpha, m->n * m->c * sizeof *g->alpha);
    if (g->offset != NULL) memcpy(g->offset, m->offset, m->c * sizeof *g->offset);
    return RFM_OK;
}

int rfm_small_rank(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, size_t rank, rfm_arena *store,
                   rfm_model *small, rfm_real *share) {
    ranking g;
    size_t used, store_used;
    int status = check_arenas(ctx, store, small);
    if (status == RFM_OK) status = ranking_start(ctx, model, data, rank, &g);
    if (status == RFM_OK) status = rows_values(&g.rows, 0);
    if (status != RFM_OK) return status;
    used = ctx->arena->used, store_used = store->used;
    status = ranking_layout(store, ctx->arena, &g);
    if (status == RFM_OK) {
        room_start(ctx, &g.rows.inner);
        status = reduce_rank(&g, share);
    }
    status = finish(ctx, store, used, store_used, g.store_end, status);
    if (status != RFM_OK) return status;
    *small = *model;
    small->metric = RFM_FULL, small->r = rank;
    small->shift = g.shift, small->p = g.p, small->centers = g.centers, small->alpha = g.alpha,
    small->offset = g.offset;
    return RFM_OK;
}

/* ==== 5. Centres ================================================================================
 *
 * m centres c_j in the projected space. alpha minimises
 *   loss = sum_i w_i |y_i - offset - sum_j alpha_j phi(|c_j - z_i|)|^2 + ridge sum_jk alpha_j'alpha_k phi(|c_j - c_k|).
 * With Kmm = U'U and A = Knm U^-1 it is U^-1 (A'A + ridge I)^-1 A'Y: the same as the normal equations (Kmn Knm + ridge
 * Kmm) alpha = Kmn Y, whose condition would be that of K squared. Equal centres make Kmm singular; a little on its
 * diagonal takes care of it. Where the offset is fitted too (integers), Y and Knm are differences from their means over
 * the rows.
 */

#define KMEANS_ROUNDS 20
#define NEAR_PHI      R(0.9) /* points whose distance the gradient computes from their coordinates */

typedef struct thinning {
    rows rows;
    const rfm_centers_options *how;
    size_t m; /* how many centres: at most as many as asked for */
    int (*kernel)(struct thinning *t, const rfm_real *centers, int of_rows, size_t first, size_t count);
    /* kt (m, count) = K(centres, points first..); points are the rows, or the centres themselves */
    rfm_real *shift, *p, *centers, *alpha, *offset; /* of the new model */
    size_t store_end;
    rfm_real *kmm, *gram; /* (m, m) each: above the diagonal the factors, below it Kmm, A'A */
    rfm_real *diagonal;   /* (m) of one of them */
    int fits_offset;      /* 1: the offset is fitted, too; 0: it stays the model's */
    rfm_real *mean;       /* (m) the mean of the centres' kernel values over the rows if fits_offset, else 0 */
    rfm_real *base,
        *target;     /* (c) the offset; what is taken from y before the fit: its mean if fits_offset, else the offset */
    int target_unit; /* 2^this is near the largest target. It is the unit of targets and alpha where they are squared */
    rfm_real target_scale;     /* 2^-target_unit */
    rfm_real *kt;              /* (m, b) */
    rfm_real *y;               /* (b, c) */
    uint32_t *chosen;          /* (m) rows */
    rfm_real *v, *rest, *left; /* elimination: (m, n), (n), (n, c). rest and left have other uses as well */
    rfm_real *g, *curve;       /* gradient of the loss (m, r), curvature along it (m) */
    rfm_real *weight;          /* (m, b) */
    rfm_real *next, *next_alpha, *next_g, *next_curve; /* polish: the centres that are tried */
} thinning;

static void refit_layout(rfm_arena *arena, thinning *t) {
    rows *s = &t->rows;
    size_t m = t->m, b = s->b, c = s->m.c, bytes = 0;
    t->kmm = rfm_arena_reals(arena, m, m);
    t->gram = rfm_arena_reals(arena, m, m);
    t->diagonal = rfm_arena_reals(arena, 1, m);
    t->mean = rfm_arena_reals(arena, 1, m);
    t->base = rfm_arena_reals(arena, 1, c);
    t->target = rfm_arena_reals(arena, 1, c);
    t->kt = rfm_arena_reals(arena, m, b);
    t->y = rfm_arena_reals(arena, b, c);
    room_for(&s->inner, rfm_chol_need(s->ctx, m, &bytes), &bytes);
    room_for(&s->inner, rfm_trsm_need(s->ctx, m, max_size(b, c), &bytes), &bytes);
    room_for(&s->inner, rfm_syrk_need(s->ctx, m, b, &bytes), &bytes);
    room_for(&s->inner, rfm_gemm_need(s->ctx, m, c, b, &bytes), &bytes);
}

static void gradient_layout(rfm_arena *arena, thinning *t) {
    rows *s = &t->rows;
    size_t m = t->m, b = s->b, c = s->m.c, bytes = 0;
    t->curve = rfm_arena_reals(arena, 1, m);
    t->weight = rfm_arena_reals(arena, m, b);
    room_for(&s->inner, rfm_gemm_need(s->ctx, b, c, m, &bytes), &bytes);
    room_for(&s->inner, rfm_gemm_need(s->ctx, m, b, c, &bytes), &bytes);
    room_for(&s->inner, rfm_gemm_need(s->ctx, m, s->m.r, b, &bytes), &bytes);
}

static int by_elimination(int method) { return method == RFM_CENTERS_CHOLESKY || method == RFM_CENTERS_RESIDUAL; }

static int thinning_layout(rfm_arena *store, rfm_arena *arena, thinning *t) {
    rows *s = &t->rows;
    const rfm_model *model = &s->m;
    size_t m = t->m, n = s->n, b = s->b, c = model->c, r = model->r, polish = t->how->polish > 0 ? m : 0, bytes = 0;
    int method = t->how->method;
    t->shift = rfm_arena_reals(store, 1, model->d);
    t->p = model->metric == RFM_IDENTITY ? NULL : rfm_arena_reals(store, model->metric == RFM_FULL ? r : 1, model->d);
    t->centers = rfm_arena_reals(store, m, r);
    t->alpha = rfm_arena_reals(store, m, c);
    t->offset = model->offset != NULL ? rfm_arena_reals(store, 1, c) : NULL;
    t->store_end = store->used;
    if (store->status != RFM_OK) return store->status;
    rows_layout(arena, s);
    kernel_layout(arena, s, m);
    refit_layout(arena, t);
    t->chosen = (uint32_t *)rfm_arena_take(arena, m, sizeof *t->chosen);
    t->v = rfm_arena_reals(arena, by_elimination(method) ? m : 0, n);
    t->rest = rfm_arena_reals(arena, 1, n);
    t->left = rfm_arena_reals(arena, method == RFM_CENTERS_RESIDUAL ? n : 0, c);
    t->g = rfm_arena_reals(arena, polish > 0 || method == RFM_CENTERS_KMEANS ? m : 0, r);
    t->next = rfm_arena_reals(arena, polish, r);
    t->next_alpha = rfm_arena_reals(arena, polish, c);
    t->next_g = rfm_arena_reals(arena, polish, r);
    t->next_curve = rfm_arena_reals(arena, polish, 1);
    room_for(&s->inner, rfm_gemm_need(s->ctx, m, b, r, &bytes), &bytes);
    if (polish > 0) gradient_layout(arena, t);
    (void)room_layout(arena, &s->inner);
    return arena->status;
}

static rfm_real target_at(const thinning *t, size_t row, size_t k) {
    return t->rows.data->y.at[row * t->rows.data->y.stride + k] - t->target[k];
}

static void set_target_unit(thinning *t, rfm_real most) {
    t->target_unit = exponent_of(most), t->target_scale = power(-t->target_unit);
}

/* RFM_ERANGE: an output less its mean or offset overflows, or has lost its digits. */
static int set_target(thinning *t) {
    rows *s = &t->rows;
    rfm_cmat y = s->data->y;
    size_t i, k;
    rfm_real sum = R(0), all = R(0);
    for (i = 0; i < s->n; i++) sum += weight_of(s, i);
    for (k = 0; k < y.cols; k++) {
        rfm_real most = R(0);
        t->target[k] = s->m.offset != NULL ? s->m.offset[k] : R(0);
        if (t->fits_offset) t->target[k] = R(0);
        for (i = 0; t->fits_offset && i < s->n; i++)
            t->target[k] += weight_of(s, i) / sum * (y.at[i * y.stride + k] - y.at[k]);
        if (t->fits_offset) t->target[k] += y.at[k];
        for (i = 0; i < s->n; i++) {
            rfm_real value = target_at(t, i, k);
            if (!rfm_finite(1, &value)) return RFM_ERANGE;
            most = max_real(most, RFM_MATH(fabs)(value));
        }
        if (most > R(0) && most < REAL_LEAST / REAL_EPS) return RFM_ERANGE;
        all = max_real(all, most);
    }
    set_target_unit(t, all);
    return RFM_OK;
}

/* The kernel of the model. */
static int model_kernel(thinning *t, const rfm_real *centers, int of_rows, size_t first, size_t count) {
    return kernel_values(&t->rows, t->m, centers, count, (of_rows ? t->rows.z : centers) + first * t->rows.m.r, t->kt);
}

/* ---- the refit ------------------------------------------------------------------------------ */

/* U with U'U = Kmm; if need be a little is added to the diagonal. Kmm stays below the diagonal. */
static int factor_kmm(thinning *t, const rfm_real *centers) {
    rows *s = &t->rows;
    size_t m = t->m, first, count, i;
    rfm_real jitter = R(m) * REAL_EPS;
    int status = RFM_OK;
    for (first = 0; first < m && status == RFM_OK; first += count) {
        count = min_size(s->b, m - first);
        status = t->kernel(t, centers, 0, first, count);
        for (i = 0; i < m; i++) memcpy(t->kmm + i * m + first, t->kt + i * count, count * sizeof *t->kmm);
    }
    if (status != RFM_OK) return status;
    for (i = 0; i < m; i++) t->diagonal[i] = R(1);
    return factor(s, m, t->kmm, t->diagonal, &jitter);
}

static int kernel_means(thinning *t, const rfm_real *centers) {
    rows *s = &t->rows;
    size_t i, j, m = t->m, first, count;
    rfm_real all = R(0);
    int status = RFM_OK;
    memset(t->mean, 0, m * sizeof *t->mean);
    if (!t->fits_offset) return RFM_OK;
    for (i = 0; i < s->n; i++) all += weight_of(s, i);
    for (first = 0; first < s->n && status == RFM_OK; first += count) {
        count = min_size(s->b, s->n - first);
        status = t->kernel(t, centers, 1, first, count);
        for (i = 0; i < m; i++) {
            rfm_real sum = R(0);
            for (j = 0; j < count; j++) sum += weight_of(s, first + j) * t->kt[i * count + j];
            t->mean[i] += sum / all;
        }
    }
    return status;
}

/* kt (m, count) = U'^-1 (Kmn - mean) w^1/2 = A' for rows first.. */
static int features(thinning *t, const rfm_real *centers, size_t first, size_t count) {
    rows *s = &t->rows;
    size_t i, j, m = t->m;
    int status = t->kernel(t, centers, 1, first, count);
    for (i = 0; t->fits_offset && i < m; i++)
        for (j = 0; j < count; j++) t->kt[i * count + j] -= t->mean[i];
    for (j = 0; s->data->weights != NULL && j < count; j++) {
        rfm_real root = RFM_MATH(sqrt)(weight_of(s, first + j));
        for (i = 0; i < m; i++) t->kt[i * count + j] *= root;
    }
    return status == RFM_OK ? rfm_trsm(&s->inner.ctx, RFM_TN, rfm_cview(t->kmm, m, m), rfm_view(t->kt, m, count))
                            : status;
}

/* The factor of A'A + ridge I, and rhs (m, c) = A'Y if it is not NULL. */
static int factor_gram(thinning *t, const rfm_real *centers, rfm_real *rhs) {
    rows *s = &t->rows;
    size_t m = t->m, c = s->m.c, first, count, i, k;
    rfm_real ridge = t->how->ridge * s->weight_scale;
    int status = RFM_OK;
    memset(t->gram, 0, m * m * sizeof *t->gram);
    if (rhs != NULL) memset(rhs, 0, m * c * sizeof *rhs);
    for (first = 0; first < s->n && status == RFM_OK; first += count) {
        count = min_size(s->b, s->n - first);
        status = features(t, centers, first, count);
        if (status == RFM_OK)
            status = rfm_syrk(&s->inner.ctx, RFM_NT, R(1), rfm_cview(t->kt, m, count), R(1), rfm_view(t->gram, m, m));
        for (i = 0; rhs != NULL && i < count; i++)
            for (k = 0; k < c; k++)
                t->y[i * c + k] = RFM_MATH(sqrt)(weight_of(s, first + i)) * target_at(t, first + i, k);
        if (status == RFM_OK && rhs != NULL)
            status = rfm_gemm(&s->inner.ctx, RFM_NN, R(1), rfm_cview(t->kt, m, count), rfm_cview(t->y, count, c), R(1),
                              rfm_view(rhs, m, c));
        if (status == RFM_OK) status = advance(s, R(count));
    }
    if (status != RFM_OK) return status;
    turn_down(m, t->gram, t->diagonal);
    return factor(s, m, t->gram, t->diagonal, &ridge);
}

/* alpha (m, c), and the offset that goes with it. */
static int refit(thinning *t, const rfm_real *centers, rfm_real *alpha) {
    rows *s = &t->rows;
    size_t m = t->m, c = s->m.c, i, k;
    int status = factor_kmm(t, centers);
    if (status == RFM_OK) status = kernel_means(t, centers);
    if (status == RFM_OK) status = factor_gram(t, centers, alpha);
    if (status == RFM_OK) status = rfm_chol_solve(&s->inner.ctx, rfm_cview(t->gram, m, m), rfm_view(alpha, m, c));
    if (status == RFM_OK) status = rfm_trsm(&s->inner.ctx, RFM_NN, rfm_cview(t->kmm, m, m), rfm_view(alpha, m, c));
    for (k = 0; status == RFM_OK && k < c; k++) {
        t->base[k] = t->target[k];
        for (i = 0; i < m; i++) t->base[k] -= t->mean[i] * alpha[i * c + k];
        if (!rfm_finite(1, &t->base[k])) status = RFM_ERANGE;
    }
    return status;
}

/* ---- choosing rows -------------------------------------------------------------------------- */

/* The row nearest to the mean of all. */
static size_t middle_row(thinning *t) {
    rows *s = &t->rows;
    size_t r = s->m.r, i, q, best = 0;
    rfm_real *mean = t->centers, sum = R(0); /* no centre is there yet */
    for (q = 0; q < r; q++) mean[q] = R(0);
    for (i = 0; i < s->n; i++) sum += weight_of(s, i);
    for (i = 0; i < s->n; i++)
        for (q = 0; q < r; q++) mean[q] += weight_of(s, i) / sum * s->z[i * r + q];
    for (i = 0; i < s->n; i++) t->rest[i] = distance2(r, s->z + i * r, mean);
    for (i = 1; i < s->n; i++)
        if (t->rest[i] < t->rest[best]) best = i;
    return best;
}

/* Elimination. Row t of v is the kernel of the t-th chosen row, made orthogonal to those before it in the kernel's
 * space, and of length 1 there. rest[i] is the part of row i that the chosen rows do not represent. left[i] is what
 * remains of y_i when they interpolate. The next row is the one with the largest rest, or with the largest `left`,
 * depending on the method. Ends early when nothing is left to represent. */
static int choose_by_elimination(thinning *t) {
    rows *s = &t->rows;
    size_t n = s->n, r = s->m.r, c = s->m.c, step, i, k, p, row = middle_row(t);
    int residual = t->how->method == RFM_CENTERS_RESIDUAL;
    for (i = 0; i < n; i++) {
        t->rest[i] = weight_of(s, i) > R(0) ? R(1) : R(0);
        for (k = 0; residual && k < c; k++) t->left[i * c + k] = target_at(t, i, k) * t->target_scale;
    }
    if (!(t->rest[row] > R(0))) row = 0; /* its weight is 0: take the first row that has weight */
    while (!(t->rest[row] > R(0))) row++;
    for (step = 0; step < t->m; step++) {
        rfm_real *v = t->v + step * n, best = R(0), unit;
        int status;
        if (step > 0)
            for (i = 0; i < n; i++) {
                rfm_real gain = t->rest[i];
                if (!(t->rest[i] > R(n) * REAL_EPS)) continue;
                if (residual) gain = R(0);
                for (k = 0; residual && k < c; k++) gain += weight_of(s, i) * t->left[i * c + k] * t->left[i * c + k];
                if (gain > best) best = gain, row = i;
            }
        if (step > 0 && !(best > R(0))) break;
        t->chosen[step] = (uint32_t)row;
        unit = R(1) / RFM_MATH(sqrt)(t->rest[row]);
        for (i = 0; i < n; i++) v[i] = radial(&s->m, kernel_distance(&s->m, s->z + i * r, s->z + row * r));
        for (p = 0; p < step; p++) {
            const rfm_real *before = t->v + p * n;
            rfm_real coef = before[row];
            for (i = 0; i < n; i++) v[i] -= coef * before[i];
        }
        for (i = 0; i < n; i++) {
            v[i] *= unit;
            t->rest[i] -= v[i] * v[i];
        }
        for (k = 0; residual && k < c; k++) {
            rfm_real coef = t->left[row * c + k] * unit;
            for (i = 0; i < n; i++) t->left[i * c + k] -= coef * v[i];
        }
        t->rest[row] = R(0);
        status = advance(s, R(n) / R(t->m));
        if (status != RFM_OK) return status;
    }
    t->m = step;
    return RFM_OK;
}

/* m different rows, each the more likely the larger its chance[i] in t->rest: those with the smallest -log(u) /
 * chance. */
static void draw_rows(thinning *t, uint32_t *state) {
    size_t n = t->rows.n, i, k, count = 0;
    for (i = 0; i < n; i++) {
        rfm_real u = random_share(state);
        t->rest[i] = t->rest[i] > R(0) ? -RFM_MATH(log)(u) / t->rest[i] : R(-1);
    }
    for (i = 0; i < n; i++) { /* the m smallest so far, as a sorted list */
        rfm_real key = t->rest[i];
        if (key < R(0) || (count == t->m && !(key < t->rest[t->chosen[count - 1]]))) continue;
        if (count < t->m) count++;
        for (k = count - 1; k > 0 && key < t->rest[t->chosen[k - 1]]; k--) t->chosen[k] = t->chosen[k - 1];
        t->chosen[k] = (uint32_t)i;
    }
    t->m = count;
}

static void centers_from_rows(thinning *t) {
    size_t i, r = t->rows.m.r;
    for (i = 0; i < t->m; i++) memcpy(t->centers + i * r, t->rows.z + t->chosen[i] * r, r * sizeof *t->centers);
}

/* Leverage: a_i'(A'A + ridge I)^-1 a_i, with m rows drawn evenly as the first centres. */
static int choose_by_leverage(thinning *t) {
    rows *s = &t->rows;
    uint32_t state = rfm_random_start(t->how->seed);
    size_t first, count, i, j;
    int status;
    for (i = 0; i < s->n; i++) t->rest[i] = weight_of(s, i) > R(0) ? R(1) : R(0);
    draw_rows(t, &state);
    centers_from_rows(t);
    status = factor_kmm(t, t->centers);
    if (status == RFM_OK) status = kernel_means(t, t->centers);
    if (status == RFM_OK) status = factor_gram(t, t->centers, NULL);
    for (first = 0; first < s->n && status == RFM_OK; first += count) {
        count = min_size(s->b, s->n - first);
        status = features(t, t->centers, first, count);
        if (status == RFM_OK)
            status = rfm_trsm(&s->inner.ctx, RFM_TN, rfm_cview(t->gram, t->m, t->m), rfm_view(t->kt, t->m, count));
        for (j = 0; j < count; j++) t->rest[first + j] = R(0);
        for (i = 0; i < t->m; i++)
            for (j = 0; j < count; j++) t->rest[first + j] += t->kt[i * count + j] * t->kt[i * count + j];
        for (j = 0; j < count; j++) /* rows that are all equal have no leverage */
            if (weight_of(s, first + j) > R(0)) t->rest[first + j] += REAL_EPS;
    }
    if (status == RFM_OK) draw_rows(t, &state);
    return status;
}

/* ---- prototypes ----------------------------------------------------------------------------- */

/* The first centres of k-means: each row with a chance in proportion to its squared distance from those before. */
static void spread_centers(thinning *t, uint32_t *state) {
    rows *s = &t->rows;
    size_t n = s->n, r = s->m.r, i, j;
    for (j = 0; j < t->m; j++) {
        rfm_real sum = R(0), at;
        size_t row = n;
        for (i = 0; i < n; i++) {
            if (j == 0)
                t->rest[i] = weight_of(s, i);
            else {
                rfm_real s2 = weight_of(s, i) * distance2(r, s->z + i * r, t->centers + (j - 1) * r);
                if (j == 1 || s2 < t->rest[i]) t->rest[i] = s2;
            }
            sum += t->rest[i];
        }
        at = random_share(state) * sum;
        for (i = 0; i < n; i++) {
            if (!(t->rest[i] > R(0))) continue;
            row = i;
            at -= t->rest[i];
            if (at < R(0)) break;
        }
        if (row == n) break; /* fewer different rows than centres */
        memcpy(t->centers + j * r, s->z + row * r, r * sizeof *t->centers);
    }
    t->m = j;
}

/* Lloyd's iteration. A cluster that loses all its rows keeps its centre. */
static int choose_prototypes(thinning *t) {
    rows *s = &t->rows;
    uint32_t state = rfm_random_start(t->how->seed);
    size_t r = s->m.r, m, first, count, round, i, j, q;
    spread_centers(t, &state);
    m = t->m;
    for (round = 0; round < KMEANS_ROUNDS; round++) {
        rfm_real moved = R(0), size = R(0), *norms = t->diagonal, *mass = t->kmm;
        memset(t->g, 0, m * r * sizeof *t->g);
        memset(mass, 0, m * sizeof *mass);
        for (i = 0; i < m; i++)
            for (norms[i] = R(0), q = 0; q < r; q++) norms[i] += t->centers[i * r + q] * t->centers[i * r + q];
        for (first = 0; first < s->n; first += count) {
            const rfm_real *z = s->z + first * r;
            int status;
            count = min_size(s->b, s->n - first);
            status = rfm_gemm(&s->inner.ctx, RFM_NT, R(-2), rfm_cview(t->centers, m, r), rfm_cview(z, count, r), R(0),
                              rfm_view(t->kt, m, count));
            if (status != RFM_OK) return status;
            for (j = 0; j < count; j++) {
                size_t nearest = 0;
                rfm_real w = weight_of(s, first + j);
                for (i = 1; i < m; i++)
                    if (t->kt[i * count + j] + norms[i] < t->kt[nearest * count + j] + norms[nearest]) nearest = i;
                mass[nearest] += w;
                for (q = 0; q < r; q++) t->g[nearest * r + q] += w * z[j * r + q];
            }
            status = advance(s, R(count) / R(KMEANS_ROUNDS));
            if (status != RFM_OK) return status;
        }
        for (i = 0; i < m; i++)
            for (q = 0; mass[i] > R(0) && q < r; q++) {
                rfm_real mean = t->g[i * r + q] / mass[i], diff = mean - t->centers[i * r + q];
                moved += diff * diff, size += mean * mean;
                t->centers[i * r + q] = mean;
            }
        if (moved <= R(1e-6) * size) break;
    }
    return RFM_OK;
}

/* ---- polish --------------------------------------------------------------------------------- */

/* The distance s of two points, from their phi. Near phi = 1 that tells little; there s comes from the points
 * themselves, and is 0 below the rounding of their coordinates, as in rfm_predict. */
static rfm_real apart(const rfm_model *m, rfm_real phi, size_t r, const rfm_real *a, const rfm_real *b) {
    rfm_real norms = R(0), sum = R(0), most = R(0), scale;
    size_t q;
    if (phi > NEAR_PHI) {
        for (q = 0; q < r; q++) most = max_real(most, max_real(RFM_MATH(fabs)(a[q]), RFM_MATH(fabs)(b[q])));
        scale = power(-exponent_of(most)); /* the square of a small part of the bandwidth can underflow */
        for (q = 0; q < r; q++) {
            rfm_real x = a[q] * scale, y = b[q] * scale;
            norms += x * x + y * y, sum += (x - y) * (x - y);
        }
        return sum < R(16) * REAL_EPS * REAL_EPS * norms ? R(0) : RFM_MATH(sqrt)(sum) / scale;
    }
    return phi > R(0) ? rfm_phi_distance(m->kernel, m->exponent, phi) * m->bandwidth : R(0);
}

/* The gradient weight w = -phi'(s) / s, 0 where s = 0; returns (w s)^2. */
static rfm_real gradient_weight(const rfm_model *m, rfm_real s, rfm_real *w) {
    rfm_real t = s / m->bandwidth, slope; /* t can be squared where s might not */
    *w = R(0);
    if (!(s > R(0)) || !rfm_finite(1, &t)) return R(0);
    (void)rfm_phi(m->kernel, m->exponent, R(1), t * t, w);
    slope = *w * t / m->bandwidth;
    *w = slope / s;
    return slope * slope;
}

/* Adds the part of `count` points to the gradient by the centres: sum_i Q_i'alpha_j w_ji (c_j - p_i). kt has their
 * kernel values; q is (count, c), in units of 2^target_unit like all that is squared here. If the points are rows it
 * also adds to `curve`, the squares of the derivatives. */
static int add_pull(thinning *t, const rfm_real *centers, const rfm_real *alpha, size_t count, const rfm_real *points,
                    const rfm_real *q, int is_rows) {
    rows *s = &t->rows;
    size_t m = t->m, r = s->m.r, c = s->m.c, i, j, k;
    int status = rfm_gemm(&s->inner.ctx, RFM_NT, R(1), rfm_cview(alpha, m, c), rfm_cview(q, count, c), R(0),
                          rfm_view(t->weight, m, count));
    if (status != RFM_OK) return status;
    for (i = 0; i < m; i++) {
        rfm_real sum = R(0), squares = R(0), size = R(0), w;
        for (j = 0; j < count; j++) {
            rfm_real phi = t->kt[i * count + j];
            squares += gradient_weight(&s->m, apart(&s->m, phi, r, centers + i * r, points + j * r), &w);
            t->weight[i * count + j] *= t->target_scale * w;
            sum += t->weight[i * count + j];
        }
        for (k = 0; k < c; k++) size += alpha[i * c + k] * t->target_scale * (alpha[i * c + k] * t->target_scale);
        if (is_rows) t->curve[i] += squares * size;
        for (k = 0; k < r; k++) t->g[i * r + k] += sum * centers[i * r + k];
    }
    return rfm_gemm(&s->inner.ctx, RFM_NN, R(-1), rfm_cview(t->weight, m, count), rfm_cview(points, count, r), R(1),
                    rfm_view(t->g, m, r));
}

/* The loss of alpha with these centres, and its gradient in t->g (m, r); targets, weights, centres in their units. */
static int loss_and_gradient(thinning *t, const rfm_real *centers, const rfm_real *alpha, rfm_real *loss) {
    rows *s = &t->rows;
    size_t m = t->m, r = s->m.r, c = s->m.c, first, count, i, j, k;
    rfm_real sum = R(0), ridge = t->how->ridge * s->weight_scale;
    int status = RFM_OK;
    memset(t->g, 0, m * r * sizeof *t->g);
    memset(t->curve, 0, m * sizeof *t->curve);
    for (first = 0; first < s->n && status == RFM_OK; first += count) {
        rfm_real part = R(0);
        count = min_size(s->b, s->n - first);
        status = t->kernel(t, centers, 1, first, count);
        if (status == RFM_OK)
            status = rfm_gemm(&s->inner.ctx, RFM_TN, R(1), rfm_cview(t->kt, m, count), rfm_cview(alpha, m, c), R(0),
                              rfm_view(t->y, count, c));
        for (i = 0; i < count; i++)
            for (k = 0; k < c; k++) {
                rfm_real error = s->data->y.at[(first + i) * s->data->y.stride + k] - t->base[k] - t->y[i * c + k],
                         w = weight_of(s, first + i);
                error *= t->target_scale;
                part += w * error * error;
                t->y[i * c + k] = R(2) * w * error;
            }
        sum += part;
        if (status == RFM_OK) status = add_pull(t, centers, alpha, count, s->z + first * r, t->y, 1);
        if (status == RFM_OK) status = advance(s, R(count));
    }
    for (first = 0; first < m && status == RFM_OK; first += count) {
        rfm_real part = R(0);
        count = min_size(s->b, m - first);
        status = t->kernel(t, centers, 0, first, count);
        if (status == RFM_OK)
            status = rfm_gemm(&s->inner.ctx, RFM_TN, R(1), rfm_cview(t->kt, m, count), rfm_cview(alpha, m, c), R(0),
                              rfm_view(t->y, count, c));
        for (j = 0; j < count * c; j++) {
            rfm_real pull = ridge * (alpha[first * c + j] * t->target_scale);
            part += t->y[j] * t->target_scale * pull;
            t->y[j] = R(-2) * pull;
        }
        sum += part;
        if (status == RFM_OK) status = add_pull(t, centers, alpha, count, centers + first * r, t->y, 0);
    }
    *loss = sum;
    if (status == RFM_OK && (!rfm_finite(1, &sum) || !rfm_finite(m * r, t->g))) status = RFM_ERANGE;
    return status;
}

static void swap_reals(rfm_real **a, rfm_real **b) {
    rfm_real *was = *a;
    *a = *b;
    *b = was;
}

/* Each step moves every centre against its gradient, in units of its curvature (Gauss-Newton, one number per centre),
 * then solves for alpha. A step that does not lower the loss is taken back and the next one is half as long. */
static int polish(thinning *t) {
    rows *s = &t->rows;
    size_t m = t->m, r = s->m.r, c = s->m.c, step, i, k;
    rfm_real loss, next_loss, length = R(0.5);
    int status = loss_and_gradient(t, t->centers, t->alpha, &loss);
    for (step = 0; step < t->how->polish && status == RFM_OK; step++) {
        rfm_real most = R(0);
        for (i = 0; i < m; i++) most = max_real(most, t->curve[i]);
        for (i = 0; i < m; i++) {
            rfm_real h = (t->curve[i] + R(1e-5) * most) / R(r);
            for (k = 0; k < r; k++)
                t->next[i * r + k] = t->centers[i * r + k] - (h > R(0) ? length * t->g[i * r + k] / h : R(0));
        }
        if (!rfm_finite(m * r, t->next) || rfm_largest(m * r, t->next) > FARTHEST) break;
        swap_reals(&t->g, &t->next_g);
        swap_reals(&t->curve, &t->next_curve);
        status = refit(t, t->next, t->next_alpha);
        if (status == RFM_OK) status = loss_and_gradient(t, t->next, t->next_alpha, &next_loss);
        if (status == RFM_OK && next_loss < loss) {
            memcpy(t->centers, t->next, m * r * sizeof *t->centers);
            memcpy(t->alpha, t->next_alpha, m * c * sizeof *t->alpha);
            loss = next_loss;
            length *= R(1.5);
        } else if (status == RFM_OK || status == RFM_ERANGE || status == RFM_EFINITE) {
            swap_reals(&t->g, &t->next_g);
            swap_reals(&t->curve, &t->next_curve);
            length *= R(0.5);
            status = RFM_OK;
        }
    }
    return status;
}

/* ---- the call ------------------------------------------------------------------------------- */

static int thinning_start(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data,
                          const rfm_centers_options *how, thinning *t) {
    int status = how == NULL ? RFM_ENULL : rows_start(ctx, model, data, 1, &t->rows);
    if (status != RFM_OK) return status;
    if (how->centers == 0 || how->centers > data->x.rows) return RFM_EVALUE;
    if (!between(RFM_CENTERS_CHOLESKY, how->method, RFM_CENTERS_KMEANS) || (how->polish > 0 && !is_radial(model)))
        return RFM_EVALUE;
    if (!(how->ridge > R(0)) || !rfm_finite(1, &how->ridge)) return RFM_EVALUE;
    t->how = how, t->m = how->centers, t->kernel = model_kernel, t->fits_offset = 0;
    return RFM_OK;
}

int rfm_small_centers_need(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data,
                           const rfm_centers_options *how, size_t *scratch, size_t *store) {
    thinning t;
    rfm_arena kept, measure;
    int status = scratch == NULL || store == NULL ? RFM_ENULL : thinning_start(ctx, model, data, how, &t);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&kept);
    rfm_arena_measure(&measure);
    status = thinning_layout(&kept, &measure, &t);
    if (status == RFM_OK) *scratch = measure.peak, *store = kept.peak;
    return status;
}

static int thin(thinning *t) {
    rows *s = &t->rows;
    const rfm_model *model = &s->m;
    int method = t->how->method, status = project_rows(s);
    s->total = R(s->n) * R(2 + 2 * t->how->polish);
    if (status == RFM_OK) status = set_target(t);
    if (status == RFM_OK && by_elimination(method)) status = choose_by_elimination(t);
    if (status == RFM_OK && method == RFM_CENTERS_LEVERAGE) status = choose_by_leverage(t);
    if (status == RFM_OK && method == RFM_CENTERS_KMEANS) status = choose_prototypes(t);
    if (status == RFM_OK && method != RFM_CENTERS_KMEANS) centers_from_rows(t);
    if (status == RFM_OK) status = refit(t, t->centers, t->alpha);
    if (status == RFM_OK && t->how->polish > 0) status = polish(t);
    if (status == RFM_OK) status = scale_numbers(t->m * model->r, t->centers, s->unit);
    if (status == RFM_OK) status = advance(s, s->total);
    if (status != RFM_OK) return status;
    memcpy(t->shift, model->shift, model->d * sizeof *t->shift);
    if (t->p != NULL) memcpy(t->p, model->p, (model->metric == RFM_FULL ? model->r : 1) * model->d * sizeof *t->p);
    if (t->offset != NULL) memcpy(t->offset, model->offset, model->c * sizeof *t->offset);
    return RFM_OK;
}

int rfm_small_centers(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, const rfm_centers_options *how,
                      rfm_arena *store, rfm_model *small) {
    thinning t;
    size_t used, store_used;
    int status = check_arenas(ctx, store, small);
    if (status == RFM_OK) status = thinning_start(ctx, model, data, how, &t);
    if (status == RFM_OK) status = rows_values(&t.rows, 1);
    if (status != RFM_OK) return status;
    used = ctx->arena->used, store_used = store->used;
    status = thinning_layout(store, ctx->arena, &t);
    if (status == RFM_OK) {
        room_start(ctx, &t.rows.inner);
        status = thin(&t);
    }
    status = finish(ctx, store, used, store_used, t.store_end, status);
    if (status != RFM_OK) return status;
    *small = *model;
    small->n = t.m;
    small->shift = t.shift, small->p = t.p, small->centers = t.centers, small->alpha = t.alpha,
    small->offset = t.offset;
    return RFM_OK;
}

static int loss_layout(rfm_arena *arena, thinning *t) {
    rows *s = &t->rows;
    rows_layout(arena, s);
    kernel_layout(arena, s, t->m);
    t->kt = rfm_arena_reals(arena, t->m, s->b);
    t->y = rfm_arena_reals(arena, s->b, s->m.c);
    t->base = rfm_arena_reals(arena, 1, s->m.c);
    t->g = rfm_arena_reals(arena, t->m, s->m.r);
    t->next = rfm_arena_reals(arena, t->m, s->m.r);
    gradient_layout(arena, t);
    (void)room_layout(arena, &s->inner);
    return arena->status;
}

static int loss_start(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, thinning *t) {
    int status = rows_start(ctx, model, data, 1, &t->rows);
    if (status == RFM_OK) t->m = model->n, t->kernel = model_kernel;
    return status == RFM_OK && !is_radial(model) ? RFM_EVALUE : status;
}

int rfm_small_loss_need(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, size_t *bytes) {
    thinning t;
    rfm_arena measure;
    int status = bytes == NULL ? RFM_ENULL : loss_start(ctx, model, data, &t);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = loss_layout(&measure, &t);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

/* With the layout taken: *loss, and the gradient in t->g. */
static int loss_of(thinning *t, rfm_real *loss) {
    rows *s = &t->rows;
    const rfm_model *m = &s->m;
    size_t count = m->n * m->r, i, k;
    rfm_real most = rfm_largest(m->n * m->c, m->alpha);
    int status = project_rows(s), e;
    for (k = 0; k < m->c; k++) {
        t->base[k] = m->offset != NULL ? m->offset[k] : R(0);
        most = max_real(most, RFM_MATH(fabs)(t->base[k]));
        for (i = 0; i < s->n; i++) most = max_real(most, RFM_MATH(fabs)(s->data->y.at[i * s->data->y.stride + k]));
    }
    set_target_unit(t, most);
    memcpy(t->next, m->centers, count * sizeof *t->next);
    if (status == RFM_OK) status = scale_points(s, count, t->next);
    if (status == RFM_OK) status = loss_and_gradient(t, t->next, m->alpha, loss);
    e = 2 * t->target_unit + s->weight_unit;
    if (status == RFM_OK) status = scale_numbers(1, loss, e);
    return status == RFM_OK ? scale_numbers(count, t->g, e - s->unit) : status;
}

int rfm_small_loss(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, rfm_real ridge, rfm_real *loss,
                   rfm_real *gradient) {
    thinning t;
    rfm_centers_options how;
    size_t used;
    rfm_real value;
    int status = check_arenas(ctx, ctx == NULL ? NULL : ctx->arena, loss);
    if (status == RFM_OK) status = loss_start(ctx, model, data, &t);
    if (status == RFM_OK && (!(ridge >= R(0)) || !rfm_finite(1, &ridge))) status = RFM_EVALUE;
    if (status == RFM_OK) status = rows_values(&t.rows, 1);
    if (status != RFM_OK) return status;
    memset(&how, 0, sizeof how);
    how.ridge = ridge, t.how = &how;
    used = ctx->arena->used;
    status = loss_layout(ctx->arena, &t);
    if (status == RFM_OK) {
        room_start(ctx, &t.rows.inner);
        t.rows.total = R(t.rows.n);
        status = loss_of(&t, &value);
        if (status == RFM_OK) *loss = value;
        if (status == RFM_OK && gradient != NULL) memcpy(gradient, t.g, model->n * model->r * sizeof *gradient);
    }
    return finish(ctx, ctx->arena, used, used, used, status);
}

/* ==== 6. Integers ===============================================================================
 *
 * Each input becomes an integer by a power of two. z has one unit for all its components, because their squares are
 * added. A centre keeps its place relative to the nearest row, so that rounding, which moves both, cancels. Then alpha
 * is fitted anew to phi as the integers compute it.
 *
 * With H = C'C the matrix of that fit, C upper triangular, rounding alpha to alpha^ adds |C (alpha - alpha^)|^2 to the
 * loss. From the last centre to the first, each is rounded to what is best given the ones before: the nearest plane of
 * a lattice.
 */

#define NODES_MOST     233 /* nodes of phi: t + 8 < 2^32 is at node 8 * 28 + 7 or before; the next node is read, too */
#define INPUT_BITS     14  /* bits of |x| 2^exponent, if x are not integers that fit */
#define INPUT_EXPONENT 126
#define GAIN_BITS      16
#define SCALES         12 /* scales of alpha that are tried, each SCALE_STEP times the last */
#define SCALE_STEP     R(0.88)
#define RIDGES         6 /* larger ridges that are tried, each RIDGE_STEP times the last */
#define RIDGE_STEP     R(10)
#define UNIT_LEAST     R(1.17549435e-38) /* units are floats in every build, and have all their digits */
#define UNIT_MOST      R(3e38)

typedef struct {
    thinning t;
    rfm_centers_options how;
    rfm_model_i to;
    rfm_input_i *inputs; /* from here to units: the arrays of `to` */
    void *p, *centers, *alpha;
    int32_t *bias, *offset;
    uint8_t *shifts;
    uint16_t *phi;
    float *units;
    size_t store_end;
    int16_t *z, *scratch;         /* (n, r) z of the rows; (d + r) scratch, then (d) for x */
    int32_t *scores;              /* (c) */
    rfm_real *a, *rounded, *best; /* (m, c): alpha, and what it is rounded to, as multiples of the scale */
    rfm_real *error;              /* (m) alpha - scale rounded, of one output */
    rfm_real *center;             /* (r) */
    rfm_real unit;                /* the unit of z, itself in units of 2^rows.unit */
} quantising;

static rfm_real clamp_real(rfm_real x, rfm_real limit) { return x < -limit ? -limit : x > limit ? limit : x; }

static void put_number(void *at, int type, size_t i, rfm_real value) {
    if (type == RFM_I8)
        ((int8_t *)at)[i] = (int8_t)value;
    else
        ((int16_t *)at)[i] = (int16_t)value;
}

static int quantising_layout(rfm_arena *store, rfm_arena *arena, quantising *g) {
    thinning *t = &g->t;
    rows *s = &t->rows;
    const rfm_model *m = &s->m;
    size_t type = (size_t)g->to.type, full = m->metric == RFM_FULL ? m->r : 0;
    g->inputs = (rfm_input_i *)rfm_arena_take(store, m->d, sizeof *g->inputs);
    g->p = rfm_arena_take(store, full, m->d * type);
    g->bias = (int32_t *)rfm_arena_take(store, m->r, sizeof *g->bias);
    g->shifts = (uint8_t *)rfm_arena_take(store, full, 1);
    g->centers = rfm_arena_take(store, m->n, m->r * type);
    g->phi = (uint16_t *)rfm_arena_take(store, NODES_MOST, sizeof *g->phi);
    g->alpha = rfm_arena_take(store, m->n, m->c * type);
    g->offset = (int32_t *)rfm_arena_take(store, m->c, sizeof *g->offset);
    g->units = (float *)rfm_arena_take(store, m->c, sizeof *g->units);
    g->store_end = store->used;
    if (store->status != RFM_OK) return store->status;
    rows_layout(arena, s);
    refit_layout(arena, t);
    g->z = (int16_t *)rfm_arena_take(arena, s->n, m->r * sizeof *g->z);
    g->scratch = (int16_t *)rfm_arena_take(arena, 2 * m->d + m->r, sizeof *g->scratch);
    g->scores = (int32_t *)rfm_arena_take(arena, m->c, sizeof *g->scores);
    g->a = rfm_arena_reals(arena, m->n, m->c);
    g->rounded = rfm_arena_reals(arena, m->n, m->c);
    g->best = rfm_arena_reals(arena, m->n, m->c);
    g->error = rfm_arena_reals(arena, 1, m->n);
    g->center = rfm_arena_reals(arena, 1, m->r);
    (void)room_layout(arena, &s->inner);
    return arena->status;
}

/* ---- inputs, P, centres --------------------------------------------------------------------- */

/* gain 2^-shift is as near below `factor` as 16 bits can be; 0 if it is too small for 31 shifts. */
static void set_gain(rfm_input_i *in, rfm_real factor) {
    int exponent, shift;
    (void)RFM_MATH(frexp)(factor, &exponent); /* factor = f 2^exponent, 0.5 <= f < 1 */
    shift = GAIN_BITS - exponent;
    if (shift < 0) shift = 0;
    if (shift > 31) shift = 31;
    in->shift = (uint8_t)shift;
    factor = RFM_MATH(ldexp)(factor, shift);
    in->gain = (uint16_t)(factor < R(65535) ? factor : R(65535));
}

/* Finds the exponent of an input: 0 if its values are integers that fit, else the power of two that makes 14 bits
 * and a sign of them. Also finds the range over the rows. RFM_ERANGE: there is no such power. */
static int set_inputs(quantising *g) {
    rows *s = &g->t.rows;
    const rfm_cmat x = s->data->x;
    size_t i, j;
    for (j = 0; j < s->m.d; j++) {
        rfm_input_i *in = &g->inputs[j];
        rfm_real most = R(0), low = x.at[j], high = x.at[j], value;
        int whole = 1, exponent = 0;
        for (i = 0; i < s->n; i++) {
            value = x.at[i * x.stride + j];
            most = max_real(most, RFM_MATH(fabs)(value));
            whole &= value == RFM_MATH(floor)(value);
            if (value < low) low = value;
            if (value > high) high = value;
        }
        if (!whole || most > R(32767)) {
            (void)RFM_MATH(frexp)(most, &exponent);
            exponent = INPUT_BITS - exponent;
            if (exponent > INPUT_EXPONENT || exponent < -INPUT_EXPONENT) {
                if (low < high) return RFM_ERANGE;
                exponent = exponent > 0 ? INPUT_EXPONENT : -INPUT_EXPONENT; /* a constant changes no distance */
            }
        }
        in->exponent = (int8_t)exponent;
        in->low = input_integer(low, exponent), in->high = input_integer(high, exponent);
    }
    return RFM_OK;
}

/* What one step of u_j is in row q of P, in units of z; 0: u_j is constant. */
static rfm_real input_step(const quantising *g, size_t q, size_t j) {
    const rfm_input_i *in = &g->inputs[j];
    rfm_real p = g->t.rows.m.p[q * g->t.rows.m.d + j];
    if (in->gain == 0 || in->low == in->high) return R(0);
    return RFM_MATH(ldexp)(p, in->shift - in->exponent) / R(in->gain) * power(-g->t.rows.unit) / g->unit;
}

/* Row q of P as integers, and its bias: as many bits as type and sums allow. RFM_ERANGE: none do. */
static int set_direction(quantising *g, size_t q, rfm_real middle) {
    const rfm_model *m = &g->t.rows.m;
    const rfm_real *p = m->p + q * m->d, scale = power(-g->t.rows.unit);
    rfm_real most = R(0), sum = R(0), start = -middle, limit = g->to.type == RFM_I8 ? R(127) : R(32767), room;
    int shift;
    size_t j;
    for (j = 0; j < m->d; j++) {
        const rfm_input_i *in = &g->inputs[j];
        rfm_real step = RFM_MATH(fabs)(input_step(g, q, j)), low = RFM_MATH(ldexp)(R(in->low), -in->exponent);
        if (in->low == in->high) low = g->t.rows.data->x.at[j]; /* as good as any */
        most = max_real(most, step);
        sum += step;
        start += p[j] * (low - m->shift[j]) * scale;
    }
    start /= g->unit;
    if (!rfm_finite(1, &start) || !rfm_finite(1, &sum)) return RFM_ERANGE;
    room = R(2000000000) - R(U_MOST) * R(0.5) * R(m->d); /* each rounding adds at most half */
    for (shift = 31; shift >= 0; shift--) {
        rfm_real one = RFM_MATH(ldexp)(R(1), shift);
        if (most * one <= limit && (RFM_MATH(fabs)(start) + R(1) + R(U_MOST) * sum) * one <= room) break;
    }
    if (shift < 0) return RFM_ERANGE;
    for (j = 0; j < m->d; j++)
        put_number(g->p, g->to.type, q * m->d + j,
                   clamp_real(round_real(RFM_MATH(ldexp)(input_step(g, q, j), shift)), limit));
    g->shifts[q] = (uint8_t)shift;
    g->bias[q] = (int32_t)RFM_MATH(floor)(RFM_MATH(ldexp)(start + R(0.5), shift));
    return RFM_OK;
}

static int32_t center_limit(const quantising *g) {
    return g->to.type == RFM_I8 && g->to.limit > 127 ? 127 : g->to.limit;
}

/* Gains, P, bias and the unit of z: the widest component of the rows fills the range of the centres. */
static int set_scales(quantising *g) {
    rows *s = &g->t.rows;
    const rfm_model *m = &s->m;
    size_t i, j, q, r = m->r;
    rfm_real widest = R(0), around = R(0), most = R(center_limit(g));
    if (g->to.type == RFM_I16) most *= R(0.75); /* there is room beyond the rows */
    for (q = 0; q < r; q++) {
        rfm_real low = s->z[q], high = s->z[q];
        for (i = 1; i < s->n; i++) {
            if (s->z[i * r + q] < low) low = s->z[i * r + q];
            if (s->z[i * r + q] > high) high = s->z[i * r + q];
        }
        widest = max_real(widest, high - low);
    }
    for (i = 0; !(widest > R(0)) && i < m->n * r; i++) /* all rows are equal: then the centres give the range */
        around = max_real(around, RFM_MATH(fabs)(m->centers[i] * power(-s->unit) - s->z[i % r]));
    if (around > R(0)) widest = R(2) * around;
    g->unit = widest > R(0) ? max_real(widest / (R(2) * most), REAL_LEAST) : m->bandwidth;
    for (j = 0; j < m->d; j++) {
        rfm_input_i *in = &g->inputs[j];
        rfm_real range = R(in->high) - R(in->low);
        if (m->metric == RFM_FULL)
            set_gain(in, range > R(0) ? R(U_MOST) / range : R(0));
        else {
            rfm_real step = RFM_MATH(ldexp)(m->metric == RFM_DIAGONAL ? RFM_MATH(fabs)(m->p[j]) : R(1), -in->exponent);
            set_gain(in, range > R(0) ? step * power(-s->unit) / g->unit : R(0));
        }
    }
    for (q = 0; q < r; q++) {
        rfm_real low = s->z[q], high = s->z[q];
        for (i = 1; i < s->n; i++) {
            if (s->z[i * r + q] < low) low = s->z[i * r + q];
            if (s->z[i * r + q] > high) high = s->z[i * r + q];
        }
        if (m->metric != RFM_FULL) {
            const rfm_input_i *in = &g->inputs[q];
            g->bias[q] = -(int32_t)(((uint32_t)(in->high - in->low) * in->gain >> in->shift) / 2);
        } else if (set_direction(g, q, (low + high) / R(2)) != RFM_OK)
            return RFM_ERANGE;
    }
    return RFM_OK;
}

/* z of every row, computed as the integers do. */
static void place_rows(quantising *g) {
    rows *s = &g->t.rows;
    rfm_model_i none = g->to;
    int16_t *x = g->scratch + s->m.d + s->m.r;
    size_t i, q;
    none.n = none.c = 0;
    for (i = 0; i < s->n; i++) {
        (void)rfm_input_integers(&g->to, s->data->x.at + i * s->data->x.stride, x);
        (void)rfm_predict_i(&none, x, g->scores, g->scratch, NULL, NULL);
        for (q = 0; q < s->m.r; q++)
            g->z[i * s->m.r + q] =
                z_is_bytes(&none) ? ((const int8_t *)(g->scratch + s->m.d))[q] : g->scratch[s->m.d + q];
    }
}

/* Places each centre as far from its nearest row as it was. RFM_ERANGE: it is too far from all rows. */
static int place_centers(quantising *g) {
    rows *s = &g->t.rows;
    const rfm_model *m = &s->m;
    rfm_real limit = R(center_limit(g)), *center = g->center;
    size_t i, k, q, r = m->r;
    for (i = 0; i < m->n; i++) {
        size_t nearest = 0;
        rfm_real best = R(-1);
        for (q = 0; q < r; q++) center[q] = m->centers[i * r + q] * power(-s->unit);
        if (!rfm_finite(r, center) || rfm_largest(r, center) > FARTHEST) return RFM_ERANGE;
        for (k = 0; k < s->n; k++) {
            rfm_real s2 = distance2(r, center, s->z + k * r);
            if (best < R(0) || s2 < best) best = s2, nearest = k;
        }
        for (q = 0; q < r; q++) {
            rfm_real sign = m->metric == RFM_DIAGONAL && m->p[q] < R(0) ? R(-1) : R(1);
            rfm_real off = sign * (center[q] - s->z[nearest * r + q]) / g->unit;
            put_number(g->centers, g->to.type, i * r + q,
                       clamp_real(R(g->z[nearest * r + q]) + round_real(clamp_real(off, R(100000))), limit));
        }
    }
    return RFM_OK;
}

static void set_phi(quantising *g) {
    const rfm_model *m = &g->t.rows.m;
    size_t i;
    rfm_real value = R(1);
    for (i = 0; i < NODES_MOST && value >= R(0.5); i++) {
        rfm_real at = RFM_MATH(ldexp)(R(8 + i % 8), (int)(i / 8)) - R(8);
        value = R(RFM_PHI_ONE) * radial(m, at * g->unit * (g->to.absolute ? R(1) : g->unit));
        g->phi[i] = (uint16_t)round_real(value);
    }
    g->to.nodes = i;
}

/* ---- alpha ---------------------------------------------------------------------------------- */

/* The kernel of the integers. */
static int integer_kernel(thinning *t, const rfm_real *centers, int of_rows, size_t first, size_t count) {
    quantising *g = (quantising *)t; /* its first member */
    const rfm_model_i *to = &g->to;
    size_t i, j, q, r = to->r;
    (void)centers;
    for (j = 0; j < count; j++) {
        const int16_t *z = g->z + (first + j) * r;
        if (!of_rows) {
            for (q = 0; q < r; q++) g->scratch[q] = (int16_t)number(to->type, to->centers, (first + j) * r + q);
            z = g->scratch;
        }
        for (i = 0; i < t->m; i++) {
            const char *center = (const char *)to->centers + i * r * (size_t)to->type;
            uint32_t sum = 0;
            for (q = 0; to->absolute && q < r; q++) sum += magnitude(number(to->type, center, q) - z[q]);
            if (!to->absolute) sum = distance(to->type, center, z, r);
            t->kt[i * count + j] = R(phi_at(to, sum)) / R(RFM_PHI_ONE);
        }
    }
    return RFM_OK;
}

/* C = T U in place of T: both are upper triangular, T'T = A'A + ridge I and U'U = Kmm. */
static void join_factors(thinning *t) {
    size_t m = t->m, i, j, k;
    for (i = 0; i < m; i++) {
        rfm_real *row = t->gram + i * m;
        for (j = i; j < m; j++) t->diagonal[j] = R(0);
        for (k = i; k < m; k++) {
            const rfm_real *u = t->kmm + k * m;
            for (j = k; j < m; j++) t->diagonal[j] += row[k] * u[j];
        }
        memcpy(row + i, t->diagonal + i, (m - i) * sizeof *row);
    }
}

/* Output k of alpha as multiples of `scale` in g->rounded; returns what that adds to the loss, times square^2. */
static rfm_real round_output(quantising *g, size_t k, rfm_real scale, rfm_real square) {
    size_t m = g->t.m, c = g->to.c, i, j;
    rfm_real limit = g->to.type == RFM_I8 ? R(127) : R(32767), loss = R(0);
    for (i = m; i-- > 0;) {
        const rfm_real *row = g->t.gram + i * m;
        rfm_real pull = R(0), value = g->a[i * c + k];
        for (j = i + 1; j < m; j++) pull += row[j] * g->error[j];
        g->rounded[i * c + k] = clamp_real(round_real((value + pull / row[i]) / scale), limit);
        g->error[i] = value - scale * g->rounded[i * c + k];
        pull = (pull + row[i] * g->error[i]) * square;
        loss += pull * pull;
    }
    return loss;
}

/* What output k adds to the loss, times square^2, if all of alpha becomes 0. */
static rfm_real loss_without(const quantising *g, size_t k, rfm_real square) {
    size_t m = g->t.m, c = g->to.c, i, j;
    rfm_real loss = R(0);
    for (i = 0; i < m; i++) {
        const rfm_real *row = g->t.gram + i * m;
        rfm_real sum = R(0);
        for (j = i; j < m; j++) sum += row[j] * g->a[j * c + k];
        loss += sum * square * (sum * square);
    }
    return loss;
}

/* Score 1 in units of f, for a scale of alpha. */
static rfm_real unit_of(const quantising *g, rfm_real scale) {
    return scale * R(g->to.type == RFM_I8 ? 1 : 256) / R(RFM_PHI_ONE);
}

/* The offset that keeps the mean over the rows as it was. g->a and t->base describe f. */
static rfm_real offset_for(const quantising *g, size_t k, rfm_real scale, const rfm_real *rounded) {
    size_t i, c = g->to.c;
    rfm_real offset = g->t.base[k];
    for (i = 0; i < g->t.m; i++) offset += g->t.mean[i] * (g->a[i * c + k] - scale * rounded[i * c + k]);
    return offset;
}

/* The scores of outputs first.. cannot overflow. */
static int sums_fit(const quantising *g, size_t first, size_t count, rfm_real scale) {
    size_t i, k, c = g->to.c;
    for (k = first; k < first + count; k++) {
        rfm_real sum = RFM_MATH(fabs)(offset_for(g, k, scale, g->rounded)) / unit_of(g, scale) + R(1);
        for (i = 0; i < g->t.m; i++)
            sum += RFM_MATH(fabs)(g->rounded[i * c + k]) * R(g->to.type == RFM_I8 ? 32768 : 128);
        if (!(sum < R(2147400000.0))) return 0;
    }
    return 1;
}

/* The scale of outputs first.. with the smallest loss, and alpha in it. The first one that fits has room for the
 * largest alpha; smaller ones cut it off, and round the others less. RFM_ERANGE: there is none, or its unit has not all
 * the digits of a float. RFM_ENOTPD: a constant would have a smaller loss; K is too near a singular one for so few
 * bits. */
static int round_outputs(quantising *g, size_t first, size_t count) {
    size_t m = g->t.m, c = g->to.c, i, k, tried;
    rfm_real most = R(0), base = R(0), scale, square, best = R(0), best_scale = R(1), constant = R(0);
    int found = 0, all_offset = 0; /* alpha is so small beside the offset that there are no bits for it */
    for (k = first; k < first + count; k++) {
        base = max_real(base, RFM_MATH(fabs)(g->t.base[k]));
        for (i = 0; i < m; i++) most = max_real(most, RFM_MATH(fabs)(g->a[i * c + k]));
    }
    most = max_real(most, REAL_EPS * base); /* anything smaller does not matter */
    scale = base > R(0) || most > R(0) ? most / (g->to.type == RFM_I8 ? R(127) : R(32767)) : R(1);
    square = power(-exponent_of(most));
    if (unit_of(g, scale) < UNIT_LEAST) return RFM_ERANGE;
    for (tried = 0; tried < SCALES && unit_of(g, scale) < UNIT_MOST;) {
        rfm_real loss = R(0);
        for (k = first; k < first + count; k++) loss += round_output(g, k, scale, square);
        if (unit_of(g, scale) >= UNIT_LEAST && sums_fit(g, first, count, scale) && (!found || loss < best)) {
            found = 1, best = loss, best_scale = scale;
            for (i = 0; i < m; i++)
                memcpy(g->best + i * c + first, g->rounded + i * c + first, count * sizeof *g->best);
        }
        if (!found)
            scale *= R(2), all_offset = 1; /* too small for the sums */
        else
            scale *= SCALE_STEP, tried++;
    }
    for (k = first; k < first + count; k++) constant += loss_without(g, k, square);
    if (!found || !rfm_finite(1, &best)) return RFM_ERANGE;
    if (best > constant && !all_offset) return RFM_ENOTPD;
    for (i = 0; best > constant && i < m; i++)
        for (k = first; k < first + count; k++) g->best[i * c + k] = R(0);
    for (i = 0; i < m; i++)
        for (k = first; k < first + count; k++) put_number(g->alpha, g->to.type, i * c + k, g->best[i * c + k]);
    for (k = first; k < first + count; k++) {
        rfm_real unit = unit_of(g, best_scale);
        g->units[k] = (float)unit;
        g->offset[k] = (int32_t)round_real(offset_for(g, k, best_scale, g->best) / unit);
    }
    return RFM_OK;
}

/* alpha and the offset: fitted to the rows, or the model's; then rounded. */
static int fit_and_round(quantising *g) {
    thinning *t = &g->t;
    const rfm_model *m = &t->rows.m;
    size_t k;
    int status;
    if (t->rows.data->y.at != NULL) {
        status = refit(t, NULL, g->a);
    } else {
        memcpy(g->a, m->alpha, m->n * m->c * sizeof *g->a);
        for (k = 0; k < m->c; k++) t->base[k] = m->offset != NULL ? m->offset[k] : R(0);
        status = factor_kmm(t, NULL);
        if (status == RFM_OK) status = kernel_means(t, NULL);
        if (status == RFM_OK) status = factor_gram(t, NULL, NULL);
    }
    if (status != RFM_OK) return status;
    join_factors(t);
    if (m->task == RFM_CLASSIFY) return round_outputs(g, 0, m->c);
    for (k = 0; k < m->c && status == RFM_OK; k++) status = round_outputs(g, k, 1);
    return status;
}

static int quantise(quantising *g) {
    thinning *t = &g->t;
    rows *s = &t->rows;
    int with_y = s->data->y.at != NULL, tried = 0, status = project_rows(s);
    s->total = R(s->n);
    if (status == RFM_OK) status = set_inputs(g);
    if (status == RFM_OK) status = set_scales(g);
    if (status != RFM_OK) return status;
    place_rows(g);
    status = place_centers(g);
    if (status != RFM_OK) return status;
    set_phi(g);
    if (with_y) status = set_target(t);
    if (status == RFM_OK) status = fit_and_round(g);
    /* A larger ridge makes alpha smaller, so that its rounding matters less. */
    for (; status == RFM_ENOTPD && with_y && tried < RIDGES; tried++) {
        g->how.ridge *= RIDGE_STEP;
        status = rfm_finite(1, &g->how.ridge) ? fit_and_round(g) : RFM_ERANGE;
    }
    return status == RFM_ENOTPD || (status == RFM_OK && !all_right(&g->to)) ? RFM_ERANGE : status;
}

/* ---- the call ------------------------------------------------------------------------------- */

static int quantising_start(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, int type, rfm_real ridge,
                            quantising *g) {
    int status = data == NULL ? RFM_ENULL : rows_start(ctx, model, data, data->y.at != NULL, &g->t.rows);
    if (status != RFM_OK) return status;
    if ((type != RFM_I8 && type != RFM_I16) || !(ridge > R(0)) || !rfm_finite(1, &ridge)) return RFM_EVALUE;
    memset(&g->how, 0, sizeof g->how);
    g->how.ridge = ridge, g->how.centers = model->n;
    g->t.how = &g->how, g->t.m = model->n, g->t.kernel = integer_kernel, g->t.fits_offset = 1;
    memset(&g->to, 0, sizeof g->to);
    g->to.n = model->n, g->to.d = model->d, g->to.c = model->c, g->to.r = model->r;
    g->to.type = type, g->to.metric = model->metric == RFM_FULL ? RFM_FULL : RFM_DIAGONAL, g->to.task = model->task;
    g->to.absolute = !is_radial(model), g->to.limit = limit_of(model->r, type, g->to.absolute);
    g->to.class_names = model->class_names, g->to.input_names = model->input_names, g->to.summary = model->summary;
    return RFM_OK;
}

int rfm_small_integers_need(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, int type, size_t *scratch,
                            size_t *store) {
    quantising g;
    rfm_arena kept, measure;
    int status = scratch == NULL || store == NULL ? RFM_ENULL : quantising_start(ctx, model, data, type, R(1), &g);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&kept);
    rfm_arena_measure(&measure);
    status = quantising_layout(&kept, &measure, &g);
    if (status == RFM_OK) *scratch = measure.peak, *store = kept.peak;
    return status;
}

int rfm_small_integers(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, int type, rfm_real ridge,
                       rfm_arena *store, rfm_model_i *small) {
    quantising g;
    size_t used, store_used;
    int status = check_arenas(ctx, store, small);
    if (status == RFM_OK) status = quantising_start(ctx, model, data, type, ridge, &g);
    if (status == RFM_OK) status = rows_values(&g.t.rows, data->y.at != NULL);
    if (status != RFM_OK) return status;
    used = ctx->arena->used, store_used = store->used;
    status = quantising_layout(store, ctx->arena, &g);
    if (status == RFM_OK) {
        room_start(ctx, &g.t.rows.inner);
        g.to.inputs = g.inputs, g.to.bias = g.bias, g.to.centers = g.centers, g.to.phi = g.phi, g.to.alpha = g.alpha;
        g.to.offset = g.offset, g.to.units = g.units;
        if (g.to.metric == RFM_FULL) g.to.p = g.p, g.to.shifts = g.shifts;
        status = quantise(&g);
    }
    status = finish(ctx, store, used, store_used, g.store_end, status);
    if (status == RFM_OK) *small = g.to;
    return status;
}

/* ==== 7. Writing ================================================================================
 *
 * The summary is copied as it is: that of a model in float, or of a blob of integers. In double its scales would be of
 * another type than the blob's, and are left out.
 */

#define SUMMARY_FIXED 32 /* bytes before the path; the number of steps is at 20, that of the scales at 24 */
#define SUMMARY_STEP  16

#define ARRAYS 8 /* of the first section */

/* Where everything comes from, and goes to. */
typedef struct {
    const void *from[ARRAYS];
    size_t length[ARRAYS];
    size_t bytes[SECTIONS + 1], at[SECTIONS + 1], total;
    uint32_t sections;
} blob_plan;

static size_t summary_bytes(const unsigned char *summary) {
    if (summary == NULL) return 0;
    return SUMMARY_FIXED + (size_t)SUMMARY_STEP * rfm_get_u32(summary + 20) +
           (sizeof(rfm_real) == 4 ? (size_t)4 * rfm_get_u32(summary + 24) : 0);
}

/* One more array of the first section. 0: too long. */
static int plan_array(blob_plan *plan, int i, const void *from, size_t count, size_t each, size_t bytes) {
    uint64_t length = (uint64_t)count * each;
    if (count > UINT32_MAX || each > UINT32_MAX || length > UINT32_MAX / bytes) return 0;
    length = from == NULL ? 0 : length * bytes;
    if (length > UINT32_MAX - plan->bytes[SECTION_NUMBERS]) return 0;
    plan->from[i] = from, plan->length[i] = (size_t)length;
    plan->bytes[SECTION_NUMBERS] += (size_t)length;
    return 1;
}

static int blob_plan_of(const rfm_model_i *m, size_t record_bytes, blob_plan *plan) {
    size_t type;
    int full;
    if (m == NULL || m->inputs == NULL || m->bias == NULL || m->centers == NULL || m->phi == NULL || m->alpha == NULL ||
        m->offset == NULL || m->units == NULL)
        return RFM_ENULL;
    full = m->metric == RFM_FULL;
    if (full && (m->p == NULL || m->shifts == NULL)) return RFM_ENULL;
    if (m->n == 0 || m->d == 0 || m->c == 0 || m->r == 0 || m->nodes == 0) return RFM_EZERO;
    if (!full && m->r != m->d) return RFM_ESHAPE;
    if ((m->type != RFM_I8 && m->type != RFM_I16) || (!full && (m->metric != RFM_DIAGONAL || m->p != NULL)))
        return RFM_EVALUE;
    memset(plan, 0, sizeof *plan);
    type = (size_t)m->type;
    if (!plan_array(plan, 0, m->inputs, m->d, 1, sizeof(rfm_input_i)) || !plan_array(plan, 1, m->bias, m->r, 1, 4) ||
        !plan_array(plan, 2, m->offset, m->c, 1, 4) || !plan_array(plan, 3, m->units, m->c, 1, 4) ||
        !plan_array(plan, 4, m->centers, m->n, m->r, type) || !plan_array(plan, 5, m->alpha, m->n, m->c, type) ||
        !plan_array(plan, 6, full ? m->p : NULL, m->r, m->d, type) ||
        !plan_array(plan, 7, full ? m->shifts : NULL, m->r, 1, 1) || m->nodes > UINT32_MAX / 2)
        return RFM_EOVERFLOW;
    plan->bytes[SECTION_PHI] = 2 * m->nodes;
    plan->bytes[RFM_SECTION_CLASS_NAMES] = names_bytes(m->class_names, m->c == 1 ? 2 : m->c);
    plan->bytes[RFM_SECTION_INPUT_NAMES] = names_bytes(m->input_names, m->d);
    plan->bytes[RFM_SECTION_SUMMARY] = summary_bytes((const unsigned char *)m->summary);
    plan->bytes[RFM_SECTION_RECORD] = record_bytes;
    plan->sections = record_bytes > 0 ? SECTIONS + 1 : SECTIONS;
    return rfm_blob_layout(plan->sections, plan->bytes, plan->at, &plan->total);
}

int rfm_model_size_i(const rfm_model_i *model, size_t record_bytes, size_t *bytes) {
    blob_plan plan;
    int status = bytes == NULL ? RFM_ENULL : blob_plan_of(model, record_bytes, &plan);
    if (status == RFM_OK) *bytes = plan.total;
    return status;
}

static void put(unsigned char *blob, size_t at, const void *from, size_t bytes) {
    if (bytes > 0) memcpy(blob + at, from, bytes);
}

int rfm_model_write_i(const rfm_model_i *m, const void *record, size_t record_bytes, void *blob, size_t size) {
    const uint16_t one = 1;
    unsigned char *b = (unsigned char *)blob, first;
    rfm_blob head;
    blob_plan plan;
    size_t at;
    int status =
        blob == NULL || (record == NULL && record_bytes > 0) ? RFM_ENULL : blob_plan_of(m, record_bytes, &plan);
    int i;
    if (status != RFM_OK) return status;
    if (record_bytes > 0 && !rfm_record_right(record, record_bytes)) return RFM_EVALUE;
    if (m->task < RFM_REGRESS || m->task > RFM_CLASSIFY || m->limit != limit_of(m->r, m->type, m->absolute))
        return RFM_EVALUE;
    if (!all_right(m)) return RFM_EVALUE;
    memcpy(&first, &one, 1);
    if (first != 1) return RFM_ETYPE;
    if ((uintptr_t)blob % RFM_ALIGN != 0) return RFM_EALIGN;
    if (size < plan.total) return RFM_EARENA;
    head.n = (uint32_t)m->n, head.d = (uint32_t)m->d, head.c = (uint32_t)m->c, head.r = (uint32_t)m->r;
    head.type = (uint8_t)m->type, head.kernel = RFM_LAPLACE, head.task = (uint8_t)m->task;
    head.metric = (uint8_t)(m->metric + (m->absolute ? RFM_ABSOLUTE : 0));
    head.exponent = 1.0f, head.temperature = 0.0f;
    rfm_blob_begin(b, &head, plan.sections, plan.bytes, plan.at, plan.total);
    for (i = 0, at = plan.at[SECTION_NUMBERS]; i < ARRAYS; at += plan.length[i++])
        put(b, at, plan.from[i], plan.length[i]);
    put(b, plan.at[SECTION_PHI], m->phi, plan.bytes[SECTION_PHI]);
    put(b, plan.at[RFM_SECTION_CLASS_NAMES], m->class_names, plan.bytes[RFM_SECTION_CLASS_NAMES]);
    put(b, plan.at[RFM_SECTION_INPUT_NAMES], m->input_names, plan.bytes[RFM_SECTION_INPUT_NAMES]);
    put(b, plan.at[RFM_SECTION_SUMMARY], m->summary, plan.bytes[RFM_SECTION_SUMMARY]);
    put(b, plan.at[RFM_SECTION_RECORD], record, plan.bytes[RFM_SECTION_RECORD]);
    if (m->summary != NULL && sizeof(rfm_real) != 4) memset(b + plan.at[RFM_SECTION_SUMMARY] + 24, 0, 4);
    rfm_blob_end(b);
    return RFM_OK;
}

#endif /* RFM_NO_TRAIN */

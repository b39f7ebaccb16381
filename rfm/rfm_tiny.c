/* rfm_tiny.c - models of a few hundred bytes; rfm_tiny.h has the contract, FORMAT.md the bytes.
 *
 * Contents:
 *   1. The blob     opened in place; why nothing can overflow
 *   2. Prediction
 *   (the rest is not there with RFM_NO_TRAIN)
 *   3. Rounding     a network's numbers as integers, and back
 *   4. Making
 *   5. Writing
 */
#include "rfm_tiny.h"
#include "rfm_private.h"

#include <math.h>
#include <string.h>

/* ==== 1. The blob ===============================================================================
 *
 * Sums of 32 bits, whatever the inputs are:
 *
 *   sum_j P_pj x_j      sum_j |P_pj| <= 65535 is checked, |x_j| <= 2^15: at most 2^31 - 2^15, so bias can be added
 *   t_a                 |z_p| <= 127, |center| <= 128, r <= 255: at most 255^3
 *   score_k             sum_a |alpha_ak| <= 65279 is checked, phi <= 2^15, |offset| 256 <= 2^23
 */

#define MAGIC    0x636d6672u /* "rfmc" */
#define VERSION  1
#define HEAD     24
#define COVERED  8 /* the checksum is of everything from here on */
#define P_MOST   65535u
#define SUM_MOST 65279u

#define HAS_COUNTS    1 /* bits of the flags */
#define HAS_OFFSET    2
#define HAS_EXPONENTS 4
#define HAS_UNITS     8

/* Entries behind the numbers. */
#define TAG_CLASS_NAMES 256u
#define TAG_INPUT_NAMES 257u

#define ARRAYS 9

static uint32_t get_u16(const unsigned char *at) { return (uint32_t)(at[0] | at[1] << 8); }

/* Bytes of the arrays, in the order of the blob: units, bias, offset, P, centres, alpha, counts, shifts, exponents. */
static void array_bytes(const rfm_tiny *m, uint32_t flags, uint32_t *bytes) {
    bytes[0] = flags & HAS_UNITS ? 4 * m->c : 0;
    bytes[1] = 2 * m->r;
    bytes[2] = flags & HAS_OFFSET ? 2 * m->c : 0;
    bytes[3] = m->r * m->d;
    bytes[4] = m->n * m->r;
    bytes[5] = flags & HAS_COUNTS ? m->n : m->n * m->c; /* both below 2^16 */
    bytes[6] = flags & HAS_COUNTS ? m->c : 0;
    bytes[7] = m->r;
    bytes[8] = flags & HAS_EXPONENTS ? m->d : 0;
}

/* sum |v_i| of n numbers, `step` apart. */
static uint32_t sum_of(const int8_t *v, uint32_t n, uint32_t step) {
    uint32_t sum = 0;
    for (; n > 0; n--, v += step) {
        const int value = *v;
        sum += (uint32_t)(value < 0 ? -value : value);
    }
    return sum;
}

/* No sum overflows, every number is in its range. */
static int numbers_right(const rfm_tiny *m) {
    uint32_t i, k, all = 0;
    for (i = 0; i < m->r; i++)
        if (m->shifts[i] > 31 || sum_of(m->p + i * m->d, m->d, 1) > P_MOST) return 0;
    for (k = 0; k < m->c; k++) {
        uint32_t count = m->counts != NULL ? m->counts[k] : m->n;
        if (count > m->n - (m->counts != NULL ? all : 0)) return 0;
        if (m->counts != NULL ? sum_of(m->alpha + all, count, 1) > SUM_MOST
                              : sum_of(m->alpha + k, m->n, m->c) > SUM_MOST)
            return 0;
        all += count;
    }
    return m->counts == NULL || all == m->n;
}

/* Names behind the numbers: as many as there are, each with its 0. */
static int names_right(const unsigned char *text, uint32_t bytes, uint32_t strings) {
    uint32_t i;
    for (i = 0; i < bytes; i++)
        if (text[i] == 0) strings--;
    return bytes > 0 && strings == 0 && text[bytes - 1] == 0;
}

/* The entries from `at` to the blob's end: u16 tag, u16 0, u32 bytes, the bytes, zeros up to a multiple of 4. */
static int read_tail(const unsigned char *blob, uint32_t at, uint32_t end, rfm_tiny *m) {
    while (at < end) {
        uint32_t bytes, tag;
        if (end - at < 8) return 0;
        tag = get_u16(blob + at), bytes = rfm_get_u32(blob + at + 4);
        at += 8;
        if (bytes > end - at || end - at < ((bytes + 3) & ~3u)) return 0;
        if (tag == TAG_CLASS_NAMES || tag == TAG_INPUT_NAMES) {
            if (!names_right(blob + at, bytes, tag == TAG_INPUT_NAMES ? m->d : m->c == 1 ? 2 : m->c)) return 0;
            if (tag == TAG_CLASS_NAMES)
                m->class_names = (const char *)blob + at;
            else
                m->input_names = (const char *)blob + at;
        }
        at += (bytes + 3) & ~3u;
    }
    return 1;
}

int rfm_tiny_open(const void *blob, size_t size, rfm_tiny *model) {
    const unsigned char *b = (const unsigned char *)blob, *array[ARRAYS];
    const uint16_t one = 1;
    uint32_t bytes, flags, at = HEAD, lengths[ARRAYS], i;
    rfm_tiny m;
    if (blob == NULL || model == NULL) return RFM_ENULL;
    if ((uintptr_t)blob % 4 != 0) return RFM_EALIGN;
    if (size < HEAD) return RFM_ETRUNCATED;
    if (rfm_get_u32(b) != MAGIC) return RFM_EMAGIC;
    if (b[12] != VERSION) return RFM_EVERSION;
    bytes = rfm_get_u32(b + 8);
    if (bytes > size || bytes < HEAD) return RFM_ETRUNCATED;
    if (rfm_crc32(0, b + COVERED, bytes - COVERED) != rfm_get_u32(b + 4)) return RFM_ECHECKSUM;
    if (*(const unsigned char *)&one != 1) return RFM_ETYPE;
    memset(&m, 0, sizeof m);
    flags = b[13], m.phi_shift = b[14], m.exponent = (int8_t)b[15];
    m.d = get_u16(b + 16), m.n = get_u16(b + 18), m.c = get_u16(b + 20), m.r = b[22];
    m.task = flags & HAS_UNITS ? RFM_REGRESS : RFM_CLASSIFY;
    if (m.d == 0 || m.n == 0 || m.c == 0 || m.r == 0 || m.phi_shift > 14 || flags > 15 || bytes % 4 != 0)
        return RFM_ECONTENT;
    if ((flags & HAS_COUNTS) != 0 && ((flags & HAS_UNITS) != 0 || m.c < 2)) return RFM_ECONTENT;
    array_bytes(&m, flags, lengths);
    for (i = 0; i < ARRAYS; i++) {
        if (lengths[i] > bytes - at) return RFM_ECONTENT;
        array[i] = b + at, at += lengths[i];
    }
    if (lengths[0] > 0) m.units = (const float *)(const void *)array[0];
    m.bias = (const int16_t *)(const void *)array[1];
    if (lengths[2] > 0) m.offset = (const int16_t *)(const void *)array[2];
    m.p = (const int8_t *)array[3], m.centers = (const int8_t *)array[4], m.alpha = (const int8_t *)array[5];
    if (lengths[6] > 0) m.counts = array[6];
    m.shifts = array[7];
    if (lengths[8] > 0) m.exponents = (const int8_t *)array[8];
    if (!numbers_right(&m) || !read_tail(b, (at + 3) & ~3u, bytes, &m)) return RFM_ECONTENT;
    *model = m;
    return RFM_OK;
}

/* ==== 2. Prediction ============================================================================= */

/* RFM_TINY_ONE 2^(-t / 2^s). With t / 2^s = h + f, h an integer and f in [0, 1), 2^-f is ((2 - f)^2 + 2) / 6, which is
 * 1 at 0 and 1/2 at 1. */
static int32_t phi_of(uint32_t t, uint32_t s) {
    uint32_t h = t >> s, u = (((h + 2) << s) - t) << (14 - s); /* t < 2^24; u is 2^14 (2 - f), at most 2^15 */
    if (h > 15) return 0;
    return (int32_t)((u * u + (2u << 28)) >> (16 + h));
}

int rfm_tiny_predict(const rfm_tiny *m, const int16_t *x, int32_t *scores, int8_t *scratch, uint32_t *nearest) {
    const int8_t *p, *center, *alpha;
    uint32_t i, j, k, left, largest = 0;
    if (m == NULL || x == NULL || scores == NULL || scratch == NULL) return RFM_ENULL;
    for (p = m->p, i = 0; i < m->r; i++) {
        int32_t sum = 0;
        for (j = 0; j < m->d; j++) sum += *p++ * x[j];
        sum = (sum >> m->shifts[i]) + m->bias[i];
        scratch[i] = (int8_t)(sum > 127 ? 127 : sum < -127 ? -127 : sum);
    }
    for (k = 0; k < m->c; k++) scores[k] = m->offset != NULL ? m->offset[k] * RFM_TINY_OFFSET : 0;
    for (center = m->centers, alpha = m->alpha, k = 0, left = m->counts != NULL ? m->counts[0] : 0, i = 0; i < m->n;
         i++) {
        uint32_t t = 0;
        int32_t phi;
        for (j = 0; j < m->r; j++) {
            int32_t apart = scratch[j] - *center++;
            t += (uint32_t)(apart * apart);
        }
        phi = phi_of(t, m->phi_shift);
        if ((uint32_t)phi > largest) largest = (uint32_t)phi;
        if (m->counts == NULL) {
            for (j = 0; j < m->c; j++) scores[j] += *alpha++ * phi;
        } else {
            while (left == 0) left = m->counts[++k]; /* the counts add up to n */
            left--, scores[k] += *alpha++ * phi;
        }
    }
    if (nearest != NULL) *nearest = largest;
    return RFM_OK;
}

size_t rfm_tiny_class(const rfm_tiny *m, const int32_t *scores) {
    size_t k, best = 0;
    if (m->task != RFM_CLASSIFY) return 0;
    if (m->c == 1) return scores[0] > 0;
    for (k = 1; k < m->c; k++)
        if (scores[k] > scores[best]) best = k;
    return best;
}

/* 2^e for -126 <= e <= 127, by its bits. */
static float power_of_two(int e) {
    uint32_t bits = (uint32_t)(e + 127) << 23;
    float power;
    memcpy(&power, &bits, 4);
    return power;
}

static int16_t integer_of(rfm_real x, int exponent) {
    rfm_real value = x * R(power_of_two(exponent));
    if (value >= R(32767)) return 32767;
    if (value <= R(-32768)) return -32768;
    return (int16_t)(value < R(0) ? value - R(0.5) : value + R(0.5));
}

static int exponent_of(const rfm_tiny *m, size_t j) {
    int e = m->exponents != NULL ? m->exponents[j] : m->exponent;
    return e < -126 ? -126 : e;
}

int rfm_tiny_integers(const rfm_tiny *m, const rfm_real *x, int16_t *xi) {
    size_t j;
    if (m == NULL || x == NULL || xi == NULL) return RFM_ENULL;
    if (!rfm_finite(m->d, x)) return RFM_EFINITE;
    for (j = 0; j < m->d; j++) xi[j] = integer_of(x[j], exponent_of(m, j));
    return RFM_OK;
}

#ifndef RFM_NO_TRAIN

/* ==== 3. Rounding ===============================================================================
 *
 * z = W (input - f->shift) becomes integers zi = unit z, so that |centres| <= 127 and exp(-|z|^2 / (2 L^2)) =
 * 2^(-|zi|^2 / 2^s): unit = 2^(s/2) sqrt(log2(e) / 2) / L. Of all s the largest that leaves room for the centres.
 * Row p of W, as it meets the integers, is P_p step_p, the step being the least power of two with |P| <= 127.
 */

static rfm_real round_real(rfm_real x) { return RFM_MATH(floor)(x + R(0.5)); }

static rfm_real clamp_real(rfm_real x, rfm_real most) { return x > most ? most : x < -most ? -most : x; }

static rfm_real most_of(const rfm_real *v, size_t n) {
    rfm_real most = R(0);
    size_t i;
    for (i = 0; i < n; i++) most = max_real(most, RFM_MATH(fabs)(v[i]));
    return most;
}

/* unit and s; RFM_ERANGE: not even s = 0 has room. */
static int choose_unit(const rfm_hyperbf *f, rfm_real *unit, uint32_t *phi_shift) {
    const rfm_real root = R(0.84932180028801907) / f->bandwidth, most = most_of(f->centers, f->n * f->r);
    uint32_t s = 14;
    while (s > 0 && RFM_MATH(ldexp)(root * RFM_MATH(sqrt)(R(s % 2 + 1)), (int)(s / 2)) * most > R(127)) s--;
    *unit = RFM_MATH(ldexp)(root * RFM_MATH(sqrt)(R(s % 2 + 1)), (int)(s / 2)), *phi_shift = s;
    return *unit * most <= R(127.5) && rfm_finite(1, unit) && *unit > R(0) ? RFM_OK : RFM_ERANGE;
}

/* What W_pj becomes times before it is divided by the step: z units for one count of input j. */
static rfm_real input_unit(const rfm_tiny_inputs *in, size_t j) {
    return RFM_MATH(ldexp)(in->scale != NULL ? R(1) / in->scale[j] : R(1), -in->exponents[j]);
}

/* The exponent of row p's step, and the row. RFM_ERANGE: the step is more than 1, or below 2^-31. */
static int round_row(const rfm_hyperbf *f, const rfm_tiny_inputs *in, rfm_real unit, size_t p, int *shift,
                     int8_t *row) {
    const rfm_real *w = f->p + p * f->d;
    rfm_real most = R(0), sum = R(0);
    size_t j;
    int e;
    for (j = 0; j < f->d; j++) most = max_real(most, RFM_MATH(fabs)(w[j] * unit * input_unit(in, j)));
    if (!rfm_finite(1, &most)) return RFM_ERANGE;
    for (e = 31; e > 0 && RFM_MATH(ldexp)(most, e) > R(127.49); e--) continue;
    if (RFM_MATH(ldexp)(most, e) > R(127.49)) return RFM_ERANGE;
    for (;; e--) { /* half of it, if the sum could overflow */
        for (sum = R(0), j = 0; j < f->d; j++) {
            rfm_real value = round_real(RFM_MATH(ldexp)(w[j] * unit * input_unit(in, j), e));
            sum += RFM_MATH(fabs)(value);
            if (row != NULL) row[j] = (int8_t)clamp_real(value, R(127));
        }
        if (sum <= R(P_MOST)) break;
        if (e == 0) return RFM_ERANGE;
    }
    *shift = e;
    return RFM_OK;
}

int rfm_tiny_project(void *inputs, const rfm_hyperbf *f, rfm_hyperbf *seen) {
    const rfm_tiny_inputs *in = (const rfm_tiny_inputs *)inputs;
    rfm_real unit, step;
    uint32_t s;
    size_t i, j;
    int status = in == NULL || f == NULL || seen == NULL || in->exponents == NULL ? RFM_ENULL : RFM_OK, shift;
    if (status == RFM_OK && f->kernel != RFM_GAUSSIAN) status = RFM_EVALUE;
    if (status == RFM_OK) status = choose_unit(f, &unit, &s);
    for (i = 0; status == RFM_OK && i < f->r; i++) {
        status = round_row(f, in, unit, i, &shift, NULL);
        for (j = 0; status == RFM_OK && j < f->d; j++) {
            rfm_real back = unit * input_unit(in, j);
            rfm_real value = clamp_real(round_real(RFM_MATH(ldexp)(f->p[i * f->d + j] * back, shift)), R(127));
            seen->p[i * f->d + j] = back > R(0) ? RFM_MATH(ldexp)(value, -shift) / back : R(0);
        }
    }
    if (status != RFM_OK) return status;
    for (i = 0; i < f->n * f->r; i++) seen->centers[i] = clamp_real(round_real(f->centers[i] * unit), R(127)) / unit;
    step = most_of(f->alpha, f->n * f->c) / R(127);
    for (i = 0; step > R(0) && i < f->n * f->c; i++) seen->alpha[i] = round_real(f->alpha[i] / step) * step;
    return RFM_OK;
}

int rfm_tiny_exponents(rfm_cmat x, int each, int8_t *exponents) {
    size_t i, j;
    int common = 126;
    if (x.at == NULL || exponents == NULL) return RFM_ENULL;
    if (x.rows == 0 || x.cols == 0) return RFM_EZERO;
    if (x.stride < x.cols) return RFM_ESTRIDE;
    for (i = 0; i < x.rows; i++)
        if (!rfm_finite(x.cols, x.at + i * x.stride)) return RFM_EFINITE;
    for (j = 0; j < x.cols; j++) {
        rfm_real most = R(0), low = x.at[j], high = low;
        int whole = 1, e, most_exponent;
        for (i = 0; i < x.rows; i++) {
            rfm_real v = x.at[i * x.stride + j];
            most = max_real(most, RFM_MATH(fabs)(v));
            low = v < low ? v : low, high = v > high ? v : high;
            whole = whole && RFM_MATH(floor)(v) == v;
        }
        if (!(most > R(0))) {
            exponents[j] = 0;
            continue;
        }
        (void)RFM_MATH(frexp)(most, &most_exponent); /* most < 2^most_exponent */
        e = 15 - most_exponent;
        if (each) { /* 8 bits for the width, unless the numbers are too far from 0 for that */
            int width = most_exponent;
            if (high > low) (void)RFM_MATH(frexp)(high - low, &width);
            if (8 - width < e) e = 8 - width;
        } else if (whole && most >= R(4) && e >= 0)
            e = 0;
        if (e < -126) return RFM_ERANGE;
        if (e > 126) e = 126;
        exponents[j] = (int8_t)e;
        if (e < common) common = e;
    }
    for (j = 0; !each && j < x.cols; j++) exponents[j] = (int8_t)common;
    return RFM_OK;
}

/* ==== 4. Making ================================================================================= */

/* The arrays of a model in the making. */
typedef struct {
    float *units;
    int16_t *bias, *offset;
    int8_t *p, *centers, *alpha, *exponents;
    uint8_t *counts, *shifts;
} tiny_arrays;

static int check_network(const rfm_hyperbf *f) {
    if (f == NULL || f->shift == NULL || f->alpha == NULL || f->centers == NULL || f->p == NULL) return RFM_ENULL;
    if (f->n == 0 || f->d == 0 || f->c == 0 || f->r == 0) return RFM_EZERO;
    if (f->n > 65535 || f->d > 65535 || f->c > 65535 || f->r > 255) return RFM_EVALUE;
    return RFM_OK;
}

static int tiny_layout(rfm_arena *store, const rfm_hyperbf *f, tiny_arrays *a) {
    a->units = (float *)rfm_arena_take(store, f->c, sizeof(float));
    a->bias = (int16_t *)rfm_arena_take(store, f->r, 2);
    a->offset = (int16_t *)rfm_arena_take(store, f->c, 2);
    a->p = (int8_t *)rfm_arena_take(store, f->r, f->d);
    a->centers = (int8_t *)rfm_arena_take(store, f->n, f->r);
    a->alpha = (int8_t *)rfm_arena_take(store, f->n, f->labels != NULL ? 1 : f->c);
    a->exponents = (int8_t *)rfm_arena_take(store, f->d, 1);
    a->counts = (uint8_t *)rfm_arena_take(store, f->c, 1);
    a->shifts = (uint8_t *)rfm_arena_take(store, f->r, 1);
    return store->status;
}

int rfm_tiny_make_need(const rfm_hyperbf *f, size_t *store) {
    rfm_arena measure;
    tiny_arrays a;
    int status = store == NULL ? RFM_ENULL : check_network(f);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = tiny_layout(&measure, f, &a);
    if (status == RFM_OK) *store = measure.peak;
    return status;
}

/* P, bias, shifts. zi_p = unit sum_j W_pj ((xi_j 2^-e - mean_j) / scale_j - shift_j). The shift to the right rounds down,
 * which half a unit in the bias makes up for. */
static int set_rows(const rfm_hyperbf *f, const rfm_tiny_inputs *in, rfm_real unit, tiny_arrays *a) {
    size_t p, j;
    for (p = 0; p < f->r; p++) {
        rfm_real bias = R(0);
        int shift, status = round_row(f, in, unit, p, &shift, a->p + p * f->d);
        if (status != RFM_OK) return status;
        a->shifts[p] = (uint8_t)shift;
        for (j = 0; j < f->d; j++) { /* with P as it was rounded: at the mean of the inputs z is what it was */
            rfm_real center =
                (in->mean != NULL ? in->mean[j] : R(0)) + (in->scale != NULL ? in->scale[j] : R(1)) * f->shift[j];
            bias -= RFM_MATH(ldexp)(R(a->p[p * f->d + j]) * RFM_MATH(ldexp)(center, in->exponents[j]), -shift);
        }
        bias = round_real(bias + (shift > 0 ? R(0.5) : R(0)));
        if (!(RFM_MATH(fabs)(bias) <= R(32767))) return RFM_ERANGE;
        a->bias[p] = (int16_t)bias;
    }
    return RFM_OK;
}

/* alpha and offset of outputs first.. in one unit: that of the largest alpha, or a larger one if an offset or a sum
 * needs it. */
static int set_outputs(const rfm_hyperbf *f, size_t first, size_t count, tiny_arrays *a) {
    rfm_real step = R(0), offset = R(0), scale;
    size_t i, k, c = f->c;
    for (k = first; k < first + count; k++) {
        rfm_real sum = R(0);
        for (i = 0; i < f->n; i++) {
            step = max_real(step, RFM_MATH(fabs)(f->alpha[i * c + k]) / R(127));
            sum += RFM_MATH(fabs)(f->alpha[i * c + k]);
        }
        step = max_real(step, sum / R(SUM_MOST - 65535 / 2)); /* each alpha may be rounded up by a half */
        offset = f->offset != NULL ? max_real(offset, RFM_MATH(fabs)(f->offset[k])) : offset;
    }
    scale = R(RFM_TINY_ONE) / R(RFM_TINY_OFFSET);
    step = max_real(step, offset / (scale * R(32767)));
    if (!(step > R(0))) step = R(1);
    if (!rfm_finite(1, &step) || step < RFM_LIMIT(MIN)) return RFM_ERANGE;
    for (k = first; k < first + count; k++) {
        a->units[k] = (float)(step / R(RFM_TINY_ONE));
        a->offset[k] = (int16_t)(f->offset != NULL ? round_real(f->offset[k] / step * scale) : R(0));
        if (f->labels != NULL) continue;
        for (i = 0; i < f->n; i++) a->alpha[i * c + k] = (int8_t)round_real(f->alpha[i * c + k] / step);
    }
    if (f->labels != NULL) /* in the order of the centres: set_centers sorts both */
        for (i = 0; i < f->n; i++) a->alpha[i] = (int8_t)round_real(f->alpha[i * c + f->labels[i]] / step);
    return RFM_OK;
}

static void put_center(const rfm_hyperbf *f, rfm_real unit, size_t from, int8_t *to) {
    size_t q;
    for (q = 0; q < f->r; q++) to[q] = (int8_t)clamp_real(round_real(f->centers[from * f->r + q] * unit), R(127));
}

/* Centres; with labels sorted by class, and alpha with them, by as many passes over them as there are classes. */
static int set_centers(const rfm_hyperbf *f, rfm_real unit, rfm_real step, tiny_arrays *a) {
    size_t i, k, to = 0;
    for (k = 0; k < (f->labels != NULL ? f->c : 1); k++) {
        size_t before = to;
        for (i = 0; i < f->n; i++) {
            if (f->labels != NULL && f->labels[i] != k) continue;
            put_center(f, unit, i, a->centers + to * f->r);
            if (f->labels != NULL) a->alpha[to] = (int8_t)round_real(f->alpha[i * f->c + k] / step);
            to++;
        }
        if (f->labels != NULL && to - before > 255) return RFM_EVALUE;
        a->counts[k] = (uint8_t)(to - before);
    }
    return to == f->n ? RFM_OK : RFM_EVALUE;
}

static int same_exponents(const int8_t *e, size_t d) {
    size_t j;
    for (j = 1; j < d; j++)
        if (e[j] != e[0]) return 0;
    return 1;
}

int rfm_tiny_make(const rfm_hyperbf *f, const rfm_tiny_inputs *in, int task, rfm_arena *store, rfm_tiny *tiny) {
    rfm_tiny m;
    tiny_arrays a;
    rfm_real unit = R(1);
    size_t k, used;
    int status = in == NULL || in->exponents == NULL || store == NULL || tiny == NULL ? RFM_ENULL : check_network(f);
    if (status != RFM_OK) return status;
    if (store->status != RFM_OK) return store->status;
    if (store->base == NULL) return RFM_EARENA;
    if (f->kernel != RFM_GAUSSIAN || (task != RFM_REGRESS && task != RFM_CLASSIFY)) return RFM_EVALUE;
    if (f->labels != NULL && (task != RFM_CLASSIFY || f->c < 2)) return RFM_EVALUE;
    if (!(f->bandwidth > R(0)) || !rfm_finite(f->n * f->r, f->centers) || !rfm_finite(f->n * f->c, f->alpha) ||
        !rfm_finite(f->r * f->d, f->p) || !rfm_finite(f->d, f->shift) ||
        (f->offset != NULL && !rfm_finite(f->c, f->offset)))
        return RFM_EFINITE;
    memset(&m, 0, sizeof m);
    used = store->used;
    status = tiny_layout(store, f, &a);
    if (status == RFM_OK) status = choose_unit(f, &unit, &m.phi_shift);
    if (status == RFM_OK) status = set_rows(f, in, unit, &a);
    if (status == RFM_OK && task == RFM_CLASSIFY) status = set_outputs(f, 0, f->c, &a);
    for (k = 0; status == RFM_OK && task == RFM_REGRESS && k < f->c; k++) status = set_outputs(f, k, 1, &a);
    if (status == RFM_OK) status = set_centers(f, unit, R(a.units[0]) * R(RFM_TINY_ONE), &a);
    if (status == RFM_OK) {
        m.n = (uint32_t)f->n, m.d = (uint32_t)f->d, m.c = (uint32_t)f->c, m.r = (uint32_t)f->r, m.task = task;
        memcpy(a.exponents, in->exponents, f->d);
        m.units = task == RFM_REGRESS ? a.units : NULL, m.bias = a.bias, m.offset = f->offset != NULL ? a.offset : NULL;
        m.p = a.p, m.centers = a.centers, m.alpha = a.alpha, m.counts = f->labels != NULL ? a.counts : NULL;
        m.shifts = a.shifts, m.exponent = in->exponents[0];
        m.exponents = same_exponents(in->exponents, f->d) ? NULL : a.exponents;
        if (!numbers_right(&m)) status = RFM_ERANGE;
    }
    if (status != RFM_OK) {
        rfm_arena_release(store, used);
        store->status = RFM_OK;
        return status;
    }
    *tiny = m;
    return RFM_OK;
}

/* ==== 5. Writing ================================================================================ */

static size_t names_bytes(const char *names, size_t count) {
    return names == NULL ? 0 : (size_t)(rfm_name(names, count) - names);
}

static uint32_t flags_of(const rfm_tiny *m) {
    return (m->counts != NULL ? HAS_COUNTS : 0u) | (m->offset != NULL ? HAS_OFFSET : 0u) |
           (m->exponents != NULL ? HAS_EXPONENTS : 0u) | (m->units != NULL ? HAS_UNITS : 0u);
}

static size_t entry_bytes(size_t bytes) { return bytes == 0 ? 0 : 8 + ((bytes + 3) & ~(size_t)3); }

int rfm_tiny_size(const rfm_tiny *m, size_t record_bytes, size_t *bytes) {
    uint32_t lengths[ARRAYS], i;
    uint64_t total = HEAD;
    if (m == NULL || bytes == NULL || m->bias == NULL || m->p == NULL || m->centers == NULL || m->alpha == NULL ||
        m->shifts == NULL)
        return RFM_ENULL;
    if (m->n == 0 || m->d == 0 || m->c == 0 || m->r == 0) return RFM_EZERO;
    if (m->n > 65535 || m->d > 65535 || m->c > 65535 || m->r > 255 || record_bytes % 4 != 0) return RFM_EVALUE;
    array_bytes(m, flags_of(m), lengths);
    for (i = 0; i < ARRAYS; i++) total += lengths[i];
    total = ((total + 3) & ~(uint64_t)3) + entry_bytes(names_bytes(m->class_names, m->c == 1 ? 2 : m->c)) +
            entry_bytes(names_bytes(m->input_names, m->d)) + record_bytes;
    if (total > UINT32_MAX || total > SIZE_MAX || record_bytes > UINT32_MAX) return RFM_EOVERFLOW;
    *bytes = (size_t)total;
    return RFM_OK;
}

static size_t put_entry(unsigned char *blob, size_t at, uint32_t tag, const char *names, size_t bytes) {
    if (bytes == 0) return at;
    rfm_put_u32(blob + at, tag);
    rfm_put_u32(blob + at + 4, (uint32_t)bytes);
    memcpy(blob + at + 8, names, bytes);
    return at + entry_bytes(bytes);
}

int rfm_tiny_write(const rfm_tiny *m, const void *record, size_t record_bytes, void *blob, size_t size) {
    const void *from[ARRAYS];
    unsigned char *b = (unsigned char *)blob;
    const uint16_t one = 1;
    uint32_t lengths[ARRAYS], i;
    size_t total, at = HEAD;
    int status =
        blob == NULL || (record == NULL && record_bytes > 0) ? RFM_ENULL : rfm_tiny_size(m, record_bytes, &total);
    if (status != RFM_OK) return status;
    if ((uintptr_t)blob % 4 != 0) return RFM_EALIGN;
    if (size < total) return RFM_EARENA;
    if (*(const unsigned char *)&one != 1) return RFM_ETYPE;
    if (m->phi_shift > 14 || (m->task == RFM_REGRESS) != (m->units != NULL) || (m->counts != NULL && m->c < 2) ||
        (m->counts != NULL && m->task != RFM_CLASSIFY) || m->exponent < -126 || m->exponent > 126 || !numbers_right(m))
        return RFM_EVALUE;
    memset(b, 0, total);
    rfm_put_u32(b, MAGIC);
    rfm_put_u32(b + 8, (uint32_t)total);
    b[12] = VERSION, b[13] = (unsigned char)flags_of(m), b[14] = (unsigned char)m->phi_shift;
    b[15] = (unsigned char)m->exponent;
    rfm_put_u32(b + 16, m->d | m->n << 16);
    rfm_put_u32(b + 20, m->c | m->r << 16);
    array_bytes(m, b[13], lengths);
    from[0] = m->units, from[1] = m->bias, from[2] = m->offset, from[3] = m->p, from[4] = m->centers;
    from[5] = m->alpha, from[6] = m->counts, from[7] = m->shifts, from[8] = m->exponents;
    for (i = 0; i < ARRAYS; at += lengths[i++])
        if (lengths[i] > 0) memcpy(b + at, from[i], lengths[i]);
    at = (at + 3) & ~(size_t)3;
    at = put_entry(b, at, TAG_CLASS_NAMES, m->class_names, names_bytes(m->class_names, m->c == 1 ? 2 : m->c));
    at = put_entry(b, at, TAG_INPUT_NAMES, m->input_names, names_bytes(m->input_names, m->d));
    if (record_bytes > 0) memcpy(b + at, record, record_bytes);
    rfm_put_u32(b + 4, rfm_crc32(0, b + COVERED, total - COVERED));
    return RFM_OK;
}

#endif /* RFM_NO_TRAIN */

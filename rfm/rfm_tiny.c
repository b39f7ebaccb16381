/* rfm_tiny.c - models of a few hundred bytes; rfm_tiny.h has the contract, FORMAT.md the bytes.
 *
 * Contents:
 *   1. The blob     opened in place; why nothing can overflow
 *   2. Prediction
 *   3. Certificates
 *   (the rest is not there with RFM_NO_TRAIN)
 *   4. Rounding     a network's numbers as integers, and back
 *   5. Making
 *   6. Writing
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
 *   t_a                 z_p and center in 8 bits, r <= 255: at most 255^3
 *   score_k             sum_a |alpha_ak| <= 65279 is checked, phi <= 2^15, |offset| 256 <= 2^23
 */

#define MAGIC         0x636d6672u /* "rfmc" */
#define VERSION       1
#define HEAD          24
#define SHIFT_MOST    31
#define PHI_MOST      14
#define EXPONENT_MOST 126 /* 2^e and 2^-e are normal floats */
#define P_MOST        65535u
#define SUM_MOST      65279u

#define HAS_COUNTS    1u /* bits of the flags */
#define HAS_OFFSET    2u
#define HAS_EXPONENTS 4u
#define HAS_UNITS     8u

/* Entries behind the numbers. */
#define TAG_CLASS_NAMES 256u
#define TAG_INPUT_NAMES 257u

#define ARRAYS 9

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

static int exponent_of(const rfm_tiny *m, size_t j) { return m->exponents != NULL ? m->exponents[j] : m->exponent; }

/* No sum overflows, every number is in its range; the counts add up. */
static int numbers_right(const rfm_tiny *m) {
    uint32_t i, left = m->n, bits;
    const int8_t *alpha = m->alpha;
    if (m->d == 0 || m->n == 0 || m->c == 0 || m->r == 0 || m->phi_shift > PHI_MOST) return 0;
    if (m->counts != NULL && (m->units != NULL || m->c < 2)) return 0;
    for (i = 0; i < m->d; i++)
        if (!between(-EXPONENT_MOST, exponent_of(m, i), EXPONENT_MOST)) return 0;
    for (i = 0; i < m->r; i++)
        if (m->shifts[i] > SHIFT_MOST || sum_of(m->p + i * m->d, m->d, 1) > P_MOST) return 0;
    for (i = 0; i < m->c; i++) {
        if (m->units != NULL) { /* a float is positive and finite if its bits are between those of 0 and of infinity */
            memcpy(&bits, &m->units[i], 4);
            if (bits - 1 >= 0x7f7fffffu) return 0;
        }
        if (m->counts == NULL) {
            if (sum_of(alpha + i, m->n, m->c) > SUM_MOST) return 0;
        } else {
            if (m->counts[i] > left || sum_of(alpha, m->counts[i], 1) > SUM_MOST) return 0;
            alpha += m->counts[i], left -= m->counts[i];
        }
    }
    return m->counts == NULL || left == 0;
}

/* The entries from `at` to the end, both multiples of 4: u16 tag, u16 0, u32 bytes, the bytes, zeros up to a multiple
 * of 4. */
static int read_tail(const unsigned char *at, uint32_t left, rfm_tiny *m) {
    while (left > 0) {
        uint32_t tag, bytes, strings;
        if (left < 8) return 0;
        tag = get_u16(at), bytes = rfm_get_u32(at + 4);
        at += 8, left -= 8;
        if (bytes > left) return 0;
        if (tag == TAG_CLASS_NAMES || tag == TAG_INPUT_NAMES) {
            strings = m->c == 1 ? 2 : m->c;
            if (tag == TAG_INPUT_NAMES)
                strings = m->d, m->input_names = (const char *)at;
            else
                m->class_names = (const char *)at;
            if (!names_right(at, bytes, strings)) return 0;
        }
        bytes = (bytes + 3) & ~3u;
        at += bytes, left -= bytes;
    }
    return 1;
}

int rfm_tiny_open(const void *blob, size_t size, rfm_tiny *model) {
    const unsigned char *b = (const unsigned char *)blob, *array[ARRAYS];
    uint32_t bytes, flags, at = HEAD, lengths[ARRAYS], i;
    rfm_tiny m;
    int status;
    if (blob == NULL || model == NULL) return RFM_ENULL;
    if ((uintptr_t)blob % 4 != 0) return RFM_EALIGN;
    status = check_blob(blob, size, MAGIC, VERSION, HEAD, &bytes);
    if (status != RFM_OK) return status;
    flags = b[13], m.phi_shift = b[14], m.exponent = (int8_t)b[15];
    m.d = get_u16(b + 16), m.n = get_u16(b + 18), m.c = get_u16(b + 20), m.r = b[22];
    m.task = flags & HAS_UNITS ? RFM_REGRESS : RFM_CLASSIFY;
    if (flags > 15 || bytes % 4 != 0) return RFM_ECONTENT;
    array_bytes(&m, flags, lengths);
    for (i = 0; i < ARRAYS; i++) {
        if (lengths[i] > bytes - at) return RFM_ECONTENT;
        array[i] = lengths[i] > 0 ? b + at : NULL, at += lengths[i];
    }
    m.units = (const float *)(const void *)array[0];
    m.bias = (const int16_t *)(const void *)array[1], m.offset = (const int16_t *)(const void *)array[2];
    m.p = (const int8_t *)array[3], m.centers = (const int8_t *)array[4], m.alpha = (const int8_t *)array[5];
    m.counts = array[6], m.shifts = array[7], m.exponents = (const int8_t *)array[8];
    m.class_names = m.input_names = NULL;
    at = (at + 3) & ~3u;
    if (!numbers_right(&m) || !read_tail(b + at, bytes - at, &m)) return RFM_ECONTENT;
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

static uint32_t distance(const int8_t *z, const int8_t *center, uint32_t r) {
    uint32_t t = 0, j;
    for (j = 0; j < r; j++) {
        int32_t apart = z[j] - center[j];
        t += (uint32_t)(apart * apart);
    }
    return t;
}

static int32_t z_of(const rfm_tiny *m, uint32_t i, int32_t sum) {
    sum = (sum >> m->shifts[i]) + m->bias[i];
    return sum > 127 ? 127 : sum < -128 ? -128 : sum;
}

int rfm_tiny_predict(const rfm_tiny *m, const int16_t *x, int32_t *scores, int8_t *scratch, uint32_t *nearest) {
    const int8_t *p, *center, *alpha;
    uint32_t i, j, k, left, largest = 0;
    if (m == NULL || x == NULL || scores == NULL || scratch == NULL) return RFM_ENULL;
    for (p = m->p, i = 0; i < m->r; i++) {
        int32_t sum = 0;
        for (j = 0; j < m->d; j++) sum += *p++ * x[j];
        scratch[i] = (int8_t)z_of(m, i, sum);
    }
    for (k = 0; k < m->c; k++) scores[k] = m->offset != NULL ? m->offset[k] * RFM_TINY_OFFSET : 0;
    for (center = m->centers, alpha = m->alpha, k = 0, left = m->counts != NULL ? m->counts[0] : 0, i = 0; i < m->n;
         i++, center += m->r) {
        const int32_t phi = phi_of(distance(scratch, center, m->r), m->phi_shift);
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

int rfm_tiny_integers(const rfm_tiny *m, const rfm_real *x, int16_t *xi) {
    size_t j;
    if (m == NULL || x == NULL || xi == NULL) return RFM_ENULL;
    if (!rfm_finite(m->d, x)) return RFM_EFINITE;
    for (j = 0; j < m->d; j++) xi[j] = integer_of(x[j], exponent_of(m, j));
    return RFM_OK;
}

/* ==== 3. Certificates ===========================================================================
 *
 * |z' - z| <= rho gives bounds of every t', as in rfm_certify.c, and phi falls with t: so each phi' has bounds. Scores
 * are exact sums. A class stays if it leads with the worse bound of every phi; of prototypes, if its least score does
 * over the largest of each other.
 */

#define RHO_BITS 15
#define FRACTION 6 /* of them: rho is in units of 2^-6, below 2^9 */

typedef struct {
    const rfm_tiny *m;
    const int8_t *z; /* (r) */
    int64_t *sums;   /* (c) */
    size_t class_at;
} proof;

static int32_t worse(int32_t alpha, int32_t least, int32_t most) { return alpha * (alpha > 0 ? least : most); }

/* By what class_at leads with alpha (c), or a model's one output with its sign. */
static int32_t lead(const proof *p, const int8_t *alpha, uint32_t l) {
    if (p->m->c == 1) return p->class_at == 1 ? alpha[0] : -alpha[0];
    return alpha[p->class_at] - alpha[l];
}

/* Of prototypes the score itself. */
static int64_t first_sum(const proof *p, uint32_t l) {
    const int16_t *offset = p->m->offset;
    int64_t sum;
    if (offset == NULL) return 0;
    if (p->m->counts != NULL)
        sum = offset[l];
    else if (p->m->c == 1)
        sum = p->class_at == 1 ? offset[0] : -offset[0];
    else
        sum = offset[p->class_at] - offset[l];
    return sum * RFM_TINY_OFFSET;
}

/* Does the class stay within rho? Of equal scores the first class wins; a score of 0 is class 0. */
static int holds(const proof *p, uint32_t rho) {
    const rfm_tiny *m = p->m;
    const int8_t *alpha = m->alpha;
    uint32_t i, l, k = 0, left = m->counts != NULL ? m->counts[0] : 0, low, high;
    for (l = 0; l < m->c; l++) p->sums[l] = first_sum(p, l);
    for (i = 0; i < m->n; i++) {
        int32_t least, most;
        t_bounds(distance(p->z, m->centers + i * m->r, m->r), rho, FRACTION, &low, &high);
        least = phi_of(high, m->phi_shift), most = phi_of(low, m->phi_shift);
        if (m->counts == NULL) {
            for (l = 0; l < m->c; l++) p->sums[l] += worse(lead(p, alpha, l), least, most);
            alpha += m->c;
        } else {
            while (left == 0) left = m->counts[++k];
            p->sums[k] += k == p->class_at ? worse(*alpha, least, most) : worse(*alpha, most, least);
            left--, alpha++;
        }
    }
    for (l = 0; l < m->c; l++) {
        int needed = m->c == 1 ? (int)p->class_at : l < p->class_at;
        if (m->c > 1 && l == p->class_at) continue;
        if (p->sums[l] < needed && m->counts == NULL) return 0;
        if (m->counts != NULL && p->sums[p->class_at] - p->sums[l] < needed) return 0;
    }
    return 1;
}

/* Is |z' - z|^2 <= square after x_j has moved by `move`, or to the end of what it can be? room: P x (r). */
static int move_within(const rfm_tiny *m, const int8_t *z, const int64_t *room, uint32_t j, int32_t x, int32_t move,
                       uint32_t square) {
    uint32_t sum = 0, i;
    int32_t to = x + move;
    to = to > 32767 ? 32767 : to < -32768 ? -32768 : to;
    for (i = 0; i < m->r; i++) {
        int32_t apart = z_of(m, i, (int32_t)room[i] + m->p[i * m->d + j] * (to - x)) - z[i];
        sum += (uint32_t)(apart * apart);
    }
    return sum <= square;
}

int rfm_tiny_certify(const rfm_tiny *m, const int16_t *x, int32_t *scores, int8_t *scratch, int64_t *room,
                     size_t *class_at, uint32_t *square, uint16_t *counts) {
    proof p;
    uint32_t rho = 0, bit, i, j;
    int status;
    if (m == NULL || room == NULL || class_at == NULL || square == NULL) return RFM_ENULL;
    if (m->task != RFM_CLASSIFY) return RFM_EVALUE;
    status = rfm_tiny_predict(m, x, scores, scratch, NULL);
    if (status != RFM_OK) return status;
    p.m = m, p.z = scratch, p.sums = room, p.class_at = rfm_tiny_class(m, scores);
    for (bit = 1u << (RHO_BITS - 1); bit != 0; bit >>= 1)
        if (holds(&p, rho + bit)) rho += bit;
    *class_at = p.class_at;
    *square = rho * rho >> 2 * FRACTION;
    if (counts == NULL) return RFM_OK;
    for (i = 0; i < m->r; i++)
        for (room[i] = 0, j = 0; j < m->d; j++) room[i] += m->p[i * m->d + j] * x[j];
    /* Each z_p goes one way as x_j goes one way, so what holds at an end holds on the way there. */
    for (j = 0; j < m->d; j++) {
        int32_t count = 0, more;
        for (more = 0x8000; more != 0; more >>= 1)
            if (move_within(m, scratch, room, j, x[j], count + more, *square) &&
                move_within(m, scratch, room, j, x[j], -count - more, *square))
                count += more;
        counts[j] = (uint16_t)count;
    }
    return RFM_OK;
}

#ifndef RFM_NO_TRAIN

/* ==== 4. Rounding ===============================================================================
 *
 * z = W (input - f->shift) becomes integers zi = unit z, so that |centres| <= 127 and exp(-|z|^2 / (2 L^2)) =
 * 2^(-|zi|^2 / 2^s): unit = 2^(s/2) sqrt(log2(e) / 2) / L. Of all s the largest that leaves room for the centres.
 * Row p of W, as it meets the integers, is P_p 2^-shift, of all shifts the largest with |P| <= 127 and sums that fit.
 */

/* The nearest integer, at most 127. */
static rfm_real round_byte(rfm_real x) {
    const rfm_real value = round_real(x);
    return value > R(127) ? R(127) : value < R(-127) ? R(-127) : value;
}

static int check_network(const rfm_hyperbf *f) {
    size_t ignored;
    int status = rfm_hyperbf_model_need(f, &ignored);
    if (status != RFM_OK) return status;
    return f->kernel == RFM_GAUSSIAN && max_size(f->n, max_size(f->d, f->c)) <= 65535 && f->r <= 255 ? RFM_OK
                                                                                                     : RFM_EVALUE;
}

/* Everything but the network's numbers. */
static int check_sources(const rfm_hyperbf *f, const rfm_tiny_inputs *in) {
    size_t j;
    int status = in == NULL || in->exponents == NULL ? RFM_ENULL : check_network(f);
    if (status != RFM_OK) return status;
    if (!between(RFM_REGRESS, in->task, RFM_CLASSIFY)) return RFM_EVALUE;
    if (f->labels != NULL && (in->task != RFM_CLASSIFY || f->c < 2)) return RFM_EVALUE;
    if ((in->mean != NULL && !rfm_finite(f->d, in->mean)) || (in->scale != NULL && !rfm_finite(f->d, in->scale)))
        return RFM_EFINITE;
    for (j = 0; j < f->d; j++)
        if (!between(-EXPONENT_MOST, in->exponents[j], EXPONENT_MOST) || (in->scale != NULL && !(in->scale[j] > R(0))))
            return RFM_EVALUE;
    return RFM_OK;
}

static int check_numbers(const rfm_hyperbf *f) {
    size_t i, k;
    if (!rfm_finite(f->n * f->r, f->centers) || !rfm_finite(f->n * f->c, f->alpha) || !rfm_finite(f->r * f->d, f->p))
        return RFM_EFINITE;
    if (!rfm_finite(f->d, f->shift) || (f->offset != NULL && !rfm_finite(f->c, f->offset))) return RFM_EFINITE;
    for (i = 0; f->labels != NULL && i < f->n; i++)
        for (k = 0; k < f->c; k++)
            if (f->labels[i] >= f->c || (k != f->labels[i] && f->alpha[i * f->c + k] != R(0))) return RFM_EVALUE;
    return RFM_OK;
}

/* zi for one count of input j where W_pj is 1. */
static rfm_real gain_of(const rfm_tiny_inputs *in, rfm_real unit, size_t j) {
    return unit * ((in->scale != NULL ? R(1) / in->scale[j] : R(1)) * power_of_two(-in->exponents[j]));
}

/* unit and s. RFM_ERANGE: not even s = 0 has room, or a gain is no number. */
static int choose_unit(const rfm_hyperbf *f, const rfm_tiny_inputs *in, rfm_real *unit, uint32_t *phi_shift) {
    const rfm_real root = R(0.84932180028801907) / f->bandwidth, most = rfm_largest(f->n * f->r, f->centers);
    uint32_t s = PHI_MOST;
    size_t j;
    for (;; s--) {
        *unit = RFM_MATH(ldexp)(root * (s % 2 != 0 ? R(1.4142135623730951) : R(1)), (int)(s / 2));
        if (*unit * most < R(127.5)) break;
        if (s == 0) return RFM_ERANGE;
    }
    *phi_shift = s;
    for (j = 0; j < f->d; j++) {
        rfm_real gain = gain_of(in, *unit, j);
        if (!rfm_finite(1, &gain) || gain < REAL_LEAST) return RFM_ERANGE;
    }
    return RFM_OK;
}

/* P_pj, if row p has this shift. */
static rfm_real rounded_p(const rfm_hyperbf *f, const rfm_tiny_inputs *in, rfm_real unit, size_t p, size_t j,
                          int shift) {
    return round_byte(f->p[p * f->d + j] * gain_of(in, unit, j) * power_of_two(shift));
}

/* RFM_ERANGE: not even 0 serves. */
static int choose_shift(const rfm_hyperbf *f, const rfm_tiny_inputs *in, rfm_real unit, size_t p, int *shift) {
    rfm_real most = R(0), sum;
    size_t j;
    int s;
    for (j = 0; j < f->d; j++) most = max_real(most, RFM_MATH(fabs)(f->p[p * f->d + j] * gain_of(in, unit, j)));
    for (s = SHIFT_MOST; s >= 0; s--) {
        if (!(most * power_of_two(s) < R(127.5))) continue;
        for (sum = R(0), j = 0; j < f->d; j++) sum += RFM_MATH(fabs)(rounded_p(f, in, unit, p, j, s));
        if (sum <= R(P_MOST)) break;
    }
    *shift = s;
    return s >= 0 ? RFM_OK : RFM_ERANGE;
}

#define OFFSET_STEPS (R(RFM_TINY_ONE) / R(RFM_TINY_OFFSET)) /* of `offset` in a step of alpha */

/* What 1 in alpha of output k is: so much that the largest fits, and the sum, and the offset. All outputs of a
 * classifier have the same, because their scores are compared. It is a float, as the model's units are. */
static int choose_step(const rfm_hyperbf *f, int task, size_t k, rfm_real *step) {
    const size_t end = task == RFM_REGRESS ? k + 1 : f->c;
    rfm_real most = R(0);
    float unit;
    for (; k < end; k++) { /* of a classifier k is 0 */
        rfm_real sum = R(0);
        size_t i;
        for (i = 0; i < f->n; i++) {
            rfm_real alpha = RFM_MATH(fabs)(f->alpha[i * f->c + k]);
            most = max_real(most, alpha / R(127));
            sum += alpha;
        }
        /* Each alpha may be rounded up by a half; this sum is off by less than 512 itself. */
        most = max_real(most, sum / (R(SUM_MOST - 512) - R(f->n) / R(2)));
        if (f->offset != NULL) most = max_real(most, RFM_MATH(fabs)(f->offset[k]) * (OFFSET_STEPS / R(32767)));
    }
    if (!(most > R(0))) most = R(1);
    if (most > R(FLT_MAX) || most < R(FLT_MIN) * R(RFM_TINY_ONE)) return RFM_ERANGE;
    unit = (float)(most / R(RFM_TINY_ONE));
    *step = R(unit) * R(RFM_TINY_ONE);
    return RFM_OK;
}

static rfm_real rounded_offset(rfm_real offset, rfm_real step) {
    const rfm_real value = round_real(offset / step * OFFSET_STEPS);
    return value > R(32767) ? R(32767) : value < R(-32767) ? R(-32767) : value;
}

int rfm_tiny_project(void *inputs, const rfm_hyperbf *f, rfm_hyperbf *seen) {
    const rfm_tiny_inputs *in = (const rfm_tiny_inputs *)inputs;
    rfm_real unit, step;
    uint32_t s;
    size_t i, j, k;
    int status = seen == NULL ? RFM_ENULL : check_sources(f, in), shift;
    if (status == RFM_OK) status = choose_unit(f, in, &unit, &s);
    for (i = 0; status == RFM_OK && i < f->r; i++) {
        status = choose_shift(f, in, unit, i, &shift);
        for (j = 0; status == RFM_OK && j < f->d; j++)
            seen->p[i * f->d + j] = rounded_p(f, in, unit, i, j, shift) * power_of_two(-shift) / gain_of(in, unit, j);
    }
    for (k = 0; status == RFM_OK && k < f->c; k++) {
        if (k == 0 || in->task == RFM_REGRESS) status = choose_step(f, in->task, k, &step);
        if (status != RFM_OK) break;
        for (i = 0; i < f->n; i++) seen->alpha[i * f->c + k] = round_byte(f->alpha[i * f->c + k] / step) * step;
        if (f->offset != NULL) seen->offset[k] = rounded_offset(f->offset[k], step) / OFFSET_STEPS * step;
    }
    for (i = 0; status == RFM_OK && i < f->n * f->r; i++) seen->centers[i] = round_byte(f->centers[i] * unit) / unit;
    return status;
}

/* The exponent of column j; more than EXPONENT_MOST: any serves, it is all zeros. */
static int column_exponent(rfm_cmat x, size_t j, int each) {
    rfm_real low = x.at[j], high = low, most;
    size_t i;
    int whole = 1, e, width;
    for (i = 0; i < x.rows; i++) {
        rfm_real v = x.at[i * x.stride + j];
        low = v < low ? v : low, high = max_real(high, v);
        whole = whole && RFM_MATH(floor)(v) == v;
    }
    most = max_real(high, -low);
    if (!(most > R(0))) return EXPONENT_MOST + 1;
    if (!each && whole && most >= R(4) && low >= R(-32768) && high <= R(32767)) return 0;
    (void)RFM_MATH(frexp)(most, &e); /* most < 2^e */
    (void)RFM_MATH(frexp)(high > low ? high / R(2) - low / R(2) : most / R(2), &width);
    e = 15 - e, width = 7 - width;
    if (each && width < e) e = width; /* 8 bits for the width, unless the numbers are too far from 0 for that */
    return e > EXPONENT_MOST ? EXPONENT_MOST : e;
}

int rfm_tiny_exponents(rfm_cmat x, int each, int8_t *exponents) {
    size_t j;
    int e, least = EXPONENT_MOST + 1, status = exponents == NULL ? RFM_ENULL : check_view(x);
    if (status != RFM_OK) return status;
    if (!finite_view(x)) return RFM_EFINITE;
    for (j = 0; j < x.cols; j++) {
        e = column_exponent(x, j, each);
        least = e < least ? e : least;
    }
    if (least < -EXPONENT_MOST) return RFM_ERANGE;
    for (j = 0; j < x.cols; j++) {
        e = each ? column_exponent(x, j, each) : least;
        exponents[j] = (int8_t)(e > EXPONENT_MOST ? 0 : e);
    }
    return RFM_OK;
}

/* ==== 5. Making ================================================================================= */

/* The arrays of a model in the making. */
typedef struct {
    float *units;
    int16_t *bias, *offset;
    int8_t *p, *centers, *alpha, *exponents;
    uint8_t *counts, *shifts;
} tiny_arrays;

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

/* P, bias, shifts. zi_p = unit sum_j W_pj ((xi_j 2^-e - mean_j) / scale_j - shift_j). The shift to the right rounds
 * down, which half a unit in the bias makes up for. */
static int set_rows(const rfm_hyperbf *f, const rfm_tiny_inputs *in, rfm_real unit, tiny_arrays *a) {
    size_t p, j;
    for (p = 0; p < f->r; p++) {
        rfm_real bias = R(0);
        int shift, status = choose_shift(f, in, unit, p, &shift);
        if (status != RFM_OK) return status;
        a->shifts[p] = (uint8_t)shift;
        for (j = 0; j < f->d; j++) { /* with P as it is rounded: where input = f->shift, z is 0 */
            const rfm_real value = rounded_p(f, in, unit, p, j, shift);
            rfm_real center =
                (in->mean != NULL ? in->mean[j] : R(0)) + (in->scale != NULL ? in->scale[j] : R(1)) * f->shift[j];
            bias -= RFM_MATH(ldexp)(value * RFM_MATH(ldexp)(center, in->exponents[j]), -shift);
            a->p[p * f->d + j] = (int8_t)value;
        }
        bias = round_real(bias + (shift > 0 ? R(0.5) : R(0)));
        if (!(RFM_MATH(fabs)(bias) <= R(32767))) return RFM_ERANGE;
        a->bias[p] = (int16_t)bias;
    }
    return RFM_OK;
}

/* Units, offset, and alpha if it is a matrix. */
static int set_outputs(const rfm_hyperbf *f, int task, tiny_arrays *a) {
    rfm_real step = R(1);
    size_t i, k, c = f->c;
    for (k = 0; k < c; k++) {
        int status = k == 0 || task == RFM_REGRESS ? choose_step(f, task, k, &step) : RFM_OK;
        if (status != RFM_OK) return status;
        a->units[k] = (float)(step / R(RFM_TINY_ONE));
        a->offset[k] = (int16_t)(f->offset != NULL ? rounded_offset(f->offset[k], step) : R(0));
        for (i = 0; f->labels == NULL && i < f->n; i++)
            a->alpha[i * c + k] = (int8_t)round_byte(f->alpha[i * c + k] / step);
    }
    return RFM_OK;
}

static void set_center(const rfm_hyperbf *f, rfm_real unit, size_t from, int8_t *to) {
    size_t q;
    for (q = 0; q < f->r; q++) to[q] = (int8_t)round_byte(f->centers[from * f->r + q] * unit);
}

/* Centres, counts and alpha of prototypes, by as many passes over them as there are classes. */
static int set_prototypes(const rfm_hyperbf *f, rfm_real unit, tiny_arrays *a) {
    const rfm_real step = R(a->units[0]) * R(RFM_TINY_ONE);
    size_t i, k, to = 0;
    for (k = 0; k < f->c; k++) {
        size_t first = to;
        for (i = 0; i < f->n; i++) {
            if (f->labels[i] != k) continue;
            set_center(f, unit, i, a->centers + to * f->r);
            a->alpha[to++] = (int8_t)round_byte(f->alpha[i * f->c + k] / step);
        }
        if (to - first > 255) return RFM_EVALUE;
        a->counts[k] = (uint8_t)(to - first);
    }
    return RFM_OK;
}

static int same_exponents(const int8_t *e, size_t d) {
    size_t j;
    for (j = 1; j < d; j++)
        if (e[j] != e[0]) return 0;
    return 1;
}

int rfm_tiny_make(const rfm_hyperbf *f, const rfm_tiny_inputs *in, rfm_arena *store, rfm_tiny *tiny) {
    rfm_tiny m;
    tiny_arrays a;
    rfm_real unit = R(1);
    size_t i, used;
    int status = store == NULL || tiny == NULL ? RFM_ENULL : check_sources(f, in);
    if (status == RFM_OK) status = store->status;
    if (status == RFM_OK && store->base == NULL) status = RFM_EARENA;
    if (status == RFM_OK) status = check_numbers(f);
    if (status != RFM_OK) return status;
    memset(&m, 0, sizeof m);
    used = store->used;
    status = tiny_layout(store, f, &a);
    if (status == RFM_OK) status = choose_unit(f, in, &unit, &m.phi_shift);
    if (status == RFM_OK) status = set_rows(f, in, unit, &a);
    if (status == RFM_OK) status = set_outputs(f, in->task, &a);
    if (status == RFM_OK && f->labels != NULL) status = set_prototypes(f, unit, &a);
    if (status != RFM_OK) {
        rfm_arena_release(store, used);
        store->status = RFM_OK;
        return status;
    }
    for (i = 0; f->labels == NULL && i < f->n; i++) set_center(f, unit, i, a.centers + i * f->r);
    memcpy(a.exponents, in->exponents, f->d);
    m.n = (uint32_t)f->n, m.d = (uint32_t)f->d, m.c = (uint32_t)f->c, m.r = (uint32_t)f->r, m.task = in->task;
    m.units = in->task == RFM_REGRESS ? a.units : NULL, m.bias = a.bias, m.offset = f->offset != NULL ? a.offset : NULL;
    m.p = a.p, m.centers = a.centers, m.alpha = a.alpha, m.counts = f->labels != NULL ? a.counts : NULL;
    m.shifts = a.shifts, m.exponent = a.exponents[0];
    m.exponents = same_exponents(a.exponents, f->d) ? NULL : a.exponents;
    *tiny = m;
    return RFM_OK;
}

/* ==== 6. Writing ================================================================================ */

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
    if (record_bytes > UINT32_MAX) return RFM_EOVERFLOW;
    array_bytes(m, flags_of(m), lengths);
    for (i = 0; i < ARRAYS; i++) total += lengths[i];
    total = ((total + 3) & ~(uint64_t)3) + entry_bytes(names_bytes(m->class_names, m->c == 1 ? 2 : m->c)) +
            entry_bytes(names_bytes(m->input_names, m->d)) + record_bytes;
    if (total > UINT32_MAX) return RFM_EOVERFLOW;
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
    rfm_tiny ignored;
    unsigned char *b = (unsigned char *)blob;
    uint32_t lengths[ARRAYS], i;
    size_t total, at = HEAD;
    int status =
        blob == NULL || (record == NULL && record_bytes > 0) ? RFM_ENULL : rfm_tiny_size(m, record_bytes, &total);
    if (status != RFM_OK) return status;
    if ((uintptr_t)blob % 4 != 0) return RFM_EALIGN;
    if (size < total) return RFM_EARENA;
    if (!little_endian()) return RFM_ETYPE;
    if (m->task != (m->units != NULL ? RFM_REGRESS : RFM_CLASSIFY) || !numbers_right(m)) return RFM_EVALUE;
    ignored = *m;
    ignored.class_names = ignored.input_names = NULL; /* names are not for the record: of two entries the last counts */
    if (!read_tail((const unsigned char *)record, (uint32_t)record_bytes, &ignored)) return RFM_EVALUE;
    if (ignored.class_names != NULL || ignored.input_names != NULL) return RFM_EVALUE;
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

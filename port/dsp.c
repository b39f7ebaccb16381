/* The work of rfm_predict_i for the DSP extension of ARMv7E-M and ARMv8-M: Cortex-M4, M7, M33, M55. Models of 8-bit numbers.
 *
 * Four rows at a time, of P or of the centres. A word is four numbers of a row; SXTAB16 widens its even or odd ones to a pair and adds a pair of
 * -z in the same step, SMLAD adds the pair's two squares. So u and -z lie in groups of four in the order 0, 2, 1, 3. Words need not be aligned:
 * the processor loads them all the same, one at a time. Sums modulo 2^32 do not depend on the order, and nothing overflows: the bits are
 * those of the portable code. */
#include "rfm_port.h"

#if RFM_SCORES_HAVE_DSP

#include <string.h>

/* The loops in assembly take all registers: apart from what is around them. */
#define ALONE __attribute__((noinline))

static inline uint32_t load(const void *at) {
    uint32_t word;
    memcpy(&word, at, 4);
    return word;
}

#define OP2(name, text) \
    static inline uint32_t name(uint32_t a) { \
        uint32_t y; \
        __asm__(text : "=r"(y) : "r"(a)); \
        return y; \
    }
#define OP4(name, text) \
    static inline int32_t name(uint32_t a, uint32_t b, int32_t c) { \
        int32_t y; \
        __asm__(text : "=r"(y) : "r"(a), "r"(b), "r"(c)); \
        return y; \
    }
OP2(even, "sxtb16 %0, %1")        /* bytes 0 and 2 as a pair of 16 bits */
OP2(odd, "sxtb16 %0, %1, ror #8") /* 1 and 3 */
OP4(add_bb, "smlabb %0, %1, %2, %3") /* c + the lower half of a times that of b */
OP4(add_bt, "smlabt %0, %1, %2, %3") /* lower, upper */
OP4(add_tb, "smlatb %0, %1, %2, %3")
OP4(add_tt, "smlatt %0, %1, %2, %3")
OP4(add_wb, "smlawb %0, %1, %2, %3") /* c + (a times the lower half of b >> 16) */

/* The larger one of each half, unsigned. */
static inline uint32_t larger(uint32_t a, uint32_t b) {
    uint32_t y;
    __asm__("usub16 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(y) : "r"(a), "r"(b));
    return y;
}

/* The sums of four rows of n numbers from a on, over whole groups of four: t[0] ... t[3] = their TERMs with v, the row's word being in r8. */
#define WALK(TERM) \
    register const int8_t *row __asm__("r0") = a; \
    register const int16_t *at __asm__("r1") = v; \
    register size_t step __asm__("r2") = n; \
    register const int16_t *end __asm__("r3") = v + n / 4 * 4; \
    register uint32_t t0 __asm__("r4") = 0, t1 __asm__("r5") = 0, t2 __asm__("r6") = 0, t3 __asm__("r12") = 0; \
    __asm__("add lr, r2, r2, lsl #1\n\t" \
            "cmp r1, r3\n\t" \
            "beq 2f\n" \
            "1:\n\t" \
            "ldr r10, [r1], #4\n\t" \
            "ldr r11, [r1], #4\n\t" \
            "ldr r8, [r0, r2]\n\t" TERM("r5") \
            "ldr r8, [r0, r2, lsl #1]\n\t" TERM("r6") \
            "ldr r8, [r0, lr]\n\t" TERM("r12") \
            "ldr r8, [r0], #4\n\t" TERM("r4") \
            "cmp r1, r3\n\t" \
            "bne 1b\n" \
            "2:" \
            : "+r"(row), "+r"(at), "+r"(t0), "+r"(t1), "+r"(t2), "+r"(t3) \
            : "r"(step), "r"(end) \
            : "cc", "memory", "r8", "r9", "r10", "r11", "lr"); \
    t[0] = t0, t[1] = t1, t[2] = t2, t[3] = t3
#define DOT(T) \
    "sxtb16 r9, r8\n\tsmlad " T ", r9, r10, " T "\n\t" \
    "sxtb16 r9, r8, ror #8\n\tsmlad " T ", r9, r11, " T "\n\t"
#define DISTANCE(T) \
    "sxtab16 r9, r10, r8\n\tsmlad " T ", r9, r9, " T "\n\t" \
    "sxtab16 r9, r11, r8, ror #8\n\tsmlad " T ", r9, r9, " T "\n\t"

/* t (4) = rows (4, n) times v. */
static ALONE void dots(const int8_t *a, const int16_t *v, size_t n, uint32_t t[4]) {
    size_t j, i;
    WALK(DOT);
    for (j = n / 4 * 4; j < n; j++)
        for (i = 0; i < 4; i++) t[i] += (uint32_t)(a[i * n + j] * v[j]);
}

/* t (4) = squared distances of the rows (4, n) from z; v is -z. */
static ALONE void distances(const int8_t *a, const int16_t *v, size_t n, uint32_t t[4]) {
    size_t j, i;
    WALK(DISTANCE);
    for (j = n / 4 * 4; j < n; j++)
        for (i = 0; i < 4; i++) t[i] += (uint32_t)((a[i * n + j] + v[j]) * (a[i * n + j] + v[j]));
}

/* Groups of four into the order 0, 2, 1, 3. */
static inline void interleave(int16_t *v, size_t n) {
    for (; n >= 4; n -= 4, v += 4) {
        int16_t swap = v[1];
        v[1] = v[2], v[2] = swap;
    }
}

/* As phi_at of rfm_small.c; last = nodes - 1. Two nodes are a word; their difference fits into 16 bits. */
static inline uint32_t phi_at(const uint16_t *phi, uint32_t last, uint32_t t) {
    uint32_t zeros, i, pair;
    t += 8;
    zeros = (uint32_t)__builtin_clz(t);
    t <<= zeros;
    i = 8 * (28 - zeros) + (t >> 28 & 7);
    if (i >= last) return 0;
    pair = load(phi + i);
    return (uint32_t)add_wb(t >> 12 & 0xffff, (pair >> 16) - pair, (int32_t)(pair & 0xffff));
}

static inline int16_t clamp(int32_t x, int32_t limit) { return (int16_t)(x > limit ? limit : x < -limit ? -limit : x); }

/* s (4) += alpha (4 rows c apart, 4) times phi, which is two pairs. */
static inline void add4(const int8_t *alpha, size_t c, uint32_t f01, uint32_t f23, int32_t *s) {
    int32_t s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
    uint32_t w = load(alpha), x = even(w), y = odd(w);
    s0 = add_bb(x, f01, s0), s2 = add_tb(x, f01, s2), s1 = add_bb(y, f01, s1), s3 = add_tb(y, f01, s3);
    w = load(alpha + c), x = even(w), y = odd(w);
    s0 = add_bt(x, f01, s0), s2 = add_tt(x, f01, s2), s1 = add_bt(y, f01, s1), s3 = add_tt(y, f01, s3);
    w = load(alpha + 2 * c), x = even(w), y = odd(w);
    s0 = add_bb(x, f23, s0), s2 = add_tb(x, f23, s2), s1 = add_bb(y, f23, s1), s3 = add_tb(y, f23, s3);
    w = load(alpha + 3 * c), x = even(w), y = odd(w);
    s0 = add_bt(x, f23, s0), s2 = add_tt(x, f23, s2), s1 = add_bt(y, f23, s1), s3 = add_tt(y, f23, s3);
    s[0] = s0, s[1] = s1, s[2] = s2, s[3] = s3;
}

/* The same for any number of outputs. */
static ALONE void add(const int8_t *alpha, size_t c, uint32_t f01, uint32_t f23, int32_t *s) {
    size_t k;
    for (k = c; k >= 4; k -= 4, alpha += 4, s += 4) add4(alpha, c, f01, f23, s);
    for (; k > 0; k--, alpha++, s++)
        *s += alpha[0] * (int32_t)(f01 & 0xffff) + alpha[c] * (int32_t)(f01 >> 16) + alpha[2 * c] * (int32_t)(f23 & 0xffff) +
              alpha[3 * c] * (int32_t)(f23 >> 16);
}

/* z = P u, negated. */
static void project(const rfm_model_i *m, int16_t *u, int16_t *z) {
    const int8_t *row = (const int8_t *)m->p;
    const int32_t *bias = m->bias;
    const uint8_t *shifts = m->shifts;
    size_t d = m->d, r = m->r, i, j;
    int32_t limit = m->limit;
    uint32_t t[4];
    interleave(u, d);
    for (i = r; i >= 4; i -= 4, row += 4 * d) {
        dots(row, u, d, t);
        for (j = 0; j < 4; j++) *z++ = (int16_t)-clamp(((int32_t)t[j] + *bias++) >> *shifts++, limit);
    }
    for (; i > 0; i--, row += d) {
        int32_t sum = *bias++;
        for (j = 0; j + 4 <= d; j += 4) sum += row[j] * u[j] + row[j + 1] * u[j + 2] + row[j + 2] * u[j + 1] + row[j + 3] * u[j + 3];
        for (; j < d; j++) sum += row[j] * u[j];
        *z++ = (int16_t)-clamp(sum >> *shifts++, limit);
    }
}

int32_t rfm_scores_i_dsp(const rfm_model_i *m, int16_t *scratch, int32_t *scores) {
    const int8_t *row = (const int8_t *)m->centers, *alpha = (const int8_t *)m->alpha;
    const uint16_t *phi = m->phi;
    int16_t *z = scratch + m->d;
    size_t n, r = m->r, c = m->c, i, j;
    uint32_t last = (uint32_t)m->nodes - 1, largest = 0, t[4];
    if (m->type != RFM_I8 || m->nodes == 0) return -1;
    if (m->metric == RFM_FULL) project(m, scratch, z);
    else
        for (i = 0; i < r; i++) z[i] = (int16_t)-clamp(scratch[i] + m->bias[i], m->limit);
    interleave(z, r);
    for (n = m->n; n >= 4; n -= 4, row += 4 * r, alpha += 4 * c) {
        uint32_t f01, f23;
        distances(row, z, r, t);
        f01 = phi_at(phi, last, t[0]), f01 |= phi_at(phi, last, t[1]) << 16;
        f23 = phi_at(phi, last, t[2]), f23 |= phi_at(phi, last, t[3]) << 16;
        largest = larger(larger(largest, f01), f23);
        if (c == 4) add4(alpha, 4, f01, f23, scores);
        else add(alpha, c, f01, f23, scores);
    }
    largest = (largest & 0xffff) > largest >> 16 ? largest & 0xffff : largest >> 16;
    for (; n > 0; n--, row += r, alpha += c) {
        uint32_t sum = 0;
        for (j = 0; j < r; j++) {
            size_t at = j < r / 4 * 4 && (j % 4 == 1 || j % 4 == 2) ? j ^ 3 : j;
            sum += (uint32_t)((row[j] + z[at]) * (row[j] + z[at]));
        }
        sum = phi_at(phi, last, sum);
        if (sum > largest) largest = sum;
        for (j = 0; j < c; j++) scores[j] += alpha[j] * (int32_t)sum;
    }
    return (int32_t)largest;
}

#else
typedef int rfm_scores_i_dsp_is_for_armv7e_m;
#endif

/* The work of rfm_predict_i for the DSP extension of ARMv7E-M and ARMv8-M: Cortex-M4, M7, M33, M55. Models of 8-bit
 * numbers.
 *
 * Four rows at a time, of P or of the centres. A word is four numbers of a row; SXTAB16 widens its even or odd ones to
 * a pair and adds a pair of -z in the same step, SMLAD adds the pair's two squares. So u and -z lie in groups of four
 * in the order 0, 2, 1, 3. Words need not be aligned: the processor loads them all the same, one at a time. Sums modulo
 * 2^32 do not depend on the order, and nothing overflows: the bits are those of the portable code. */
#include "rfm_port.h"

#if RFM_LOOP_HAVE_DSP

#include "rfm_small.h"

#include <string.h>

/* The loops in assembly take all registers, so they are functions of their own. */

static inline uint32_t load(const void *at) {
    uint32_t word;
    memcpy(&word, at, 4);
    return word;
}

#define OP2(name, text)                       \
    static inline uint32_t name(uint32_t a) { \
        uint32_t y;                           \
        __asm__(text : "=r"(y) : "r"(a));     \
        return y;                             \
    }
#define OP4(name, text)                                             \
    static inline int32_t name(uint32_t a, uint32_t b, int32_t c) { \
        int32_t y;                                                  \
        __asm__(text : "=r"(y) : "r"(a), "r"(b), "r"(c));           \
        return y;                                                   \
    }
OP2(even, "sxtb16 %0, %1")           /* bytes 0 and 2 as a pair of 16 bits */
OP2(odd, "sxtb16 %0, %1, ror #8")    /* 1 and 3 */
OP4(add_bb, "smlabb %0, %1, %2, %3") /* c + the lower half of a times that of b */
OP4(add_bt, "smlabt %0, %1, %2, %3") /* lower, upper */
OP4(add_tb, "smlatb %0, %1, %2, %3")
OP4(add_tt, "smlatt %0, %1, %2, %3")
OP4(add_wb, "smlawb %0, %1, %2, %3") /* c + (a times the lower half of b >> 16) */

/* The larger of each half of two words, unsigned. */
static inline uint32_t larger(uint32_t a, uint32_t b) {
    uint32_t y;
    __asm__("usub16 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(y) : "r"(a), "r"(b));
    return y;
}

#define ROWS 32 /* rows whose sums are computed in one go: a multiple of 4 */

/* The sums of `rows` rows (a multiple of 4, not 0) of n >= 4 numbers from a on, over whole groups of four: `first` +
 * their TERMs with v, the row's word being in r8. Of four rows they are in r4, r5, r6, r12; what STOREs them at r8
 * moves it on. */
#define WALK(first, TERM, STORE)                                                                                       \
    register const int8_t *row __asm__("r0") = a;                                                                      \
    register const int16_t *at __asm__("r1") = v;                                                                      \
    register size_t step __asm__("r2") = n;                                                                            \
    register const int16_t *behind __asm__("r3") = v + n / 4 * 4;                                                      \
    uint32_t *to = t, *end = t + rows;                                                                                 \
    __asm__("add lr, r2, r2, lsl #1\n"                                                                                 \
            "1:\n\t"                                                                                                   \
            "mov r4, #" first "\n\tmov r5, r4\n\tmov r6, r4\n\tmov r12, r4\n"                                          \
            "2:\n\t"                                                                                                   \
            "ldr r10, [r1], #4\n\t"                                                                                    \
            "ldr r11, [r1], #4\n\t"                                                                                    \
            "ldr r8, [r0, r2]\n\t" TERM("r5") "ldr r8, [r0, r2, lsl #1]\n\t" TERM("r6") "ldr r8, [r0, lr]\n\t" TERM(   \
                "r12") "ldr r8, [r0], #4\n\t" TERM("r4") "cmp r1, r3\n\t"                                              \
                                                         "bne 2b\n\t" STORE "bic r10, r2, #3\n\t"                      \
                                                         "ldr r9, %[end]\n\t"                                          \
                                                         "str r8, %[to]\n\t"                                           \
                                                         "sub r1, r3, r10, lsl #1\n\t" /* v again, and the next four \
                                                                                          rows */ \
                                                         "rsb r10, r10, r2, lsl #2\n\t"                                \
                                                         "add r0, r0, r10\n\t"                                         \
                                                         "cmp r8, r9\n\t"                                              \
                                                         "bne 1b"                                                      \
            : "+r"(row), "+r"(at), [to] "+m"(to)                                                                       \
            : "r"(step), "r"(behind), [end] "m"(end), [phi] "m"(phi432), [last] "m"(last)                              \
            : "cc", "memory", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr")
#define DOT(T)                                         \
    "sxtb16 r9, r8\n\tsmlad " T ", r9, r10, " T "\n\t" \
    "sxtb16 r9, r8, ror #8\n\tsmlad " T ", r9, r11, " T "\n\t"
#define DISTANCE(T)                                         \
    "sxtab16 r9, r10, r8\n\tsmlad " T ", r9, r9, " T "\n\t" \
    "sxtab16 r9, r11, r8, ror #8\n\tsmlad " T ", r9, r9, " T "\n\t"
#define SUMS "ldr r8, %[to]\n\tstmia r8!, {r4, r5, r6, r12}\n\t"

/* phi of t + 8, as phi_at of rfm_small.c. The first four bits, of which one is set, and the zeros before them give the
 * node i + 216; phi432 is the address of node 216, `last` the last node less 216. Two nodes are a word; their
 * difference fits into 16 bits, and of the result the lower 16 bits count. */
#define PHI(T)                                                                                  \
    "clz r8, " T "\n\tlsl " T ", " T ", r8\n\tlsl r8, r8, #3\n\trsb r8, r8, " T ", lsr #28\n\t" \
    "cmp r8, r9\n\tite lt\n\tldrlt r11, [r10, r8, lsl #1]\n\tmovge r11, #0\n\t"                 \
    "ubfx " T ", " T ", #12, #16\n\trsb r8, r11, r11, lsr #16\n\tsmlawb " T ", " T ", r8, r11\n\t"
#define PHIS                                                                                                      \
    "ldr r9, %[last]\n\tldr r10, %[phi]\n\t" PHI("r4") PHI("r5") PHI("r6")                                        \
        PHI("r12") "ldr r8, %[to]\n\tpkhbt r4, r4, r5, lsl #16\n\tpkhbt r5, r6, r12, lsl #16\n\tstmia r8!, {r4, " \
                   "r5}\n\tadd r8, #8\n\t"

/* t (rows) = rows (rows, n) times v. */
static RFM_ALONE void dots(const int8_t *a, const int16_t *v, size_t n, uint32_t *t, size_t rows) {
    const uint32_t phi432 = 0, last = 0; /* not used */
    size_t j, i;
    if (n >= 4) {
        WALK("0", DOT, SUMS);
    } else
        memset(t, 0, rows * sizeof *t);
    for (j = n / 4 * 4; j < n; j++)
        for (i = 0; i < rows; i++) t[i] += (uint32_t)(a[i * n + j] * v[j]);
}

/* Groups of four into the order 0, 2, 1, 3. */
static inline void interleave(int16_t *v, size_t n) {
    for (; n >= 4; n -= 4, v += 4) {
        int16_t swap = v[1];
        v[1] = v[2], v[2] = swap;
    }
}

/* The place of number j of n in that order. */
static inline size_t in_order(size_t j, size_t n) { return j < n / 4 * 4 && (j % 4 == 1 || j % 4 == 2) ? j ^ 3 : j; }

/* PHI in C. */
static inline uint32_t phi_at(uint32_t phi432, int32_t last, uint32_t t) {
    int32_t zeros = __builtin_clz(t), i;
    uint32_t pair;
    t <<= zeros;
    i = (int32_t)(t >> 28) - 8 * zeros;
    if (i >= last) return 0;
    pair = load((const void *)(phi432 + 2 * (uint32_t)i));
    return (uint32_t)add_wb(t >> 12 & 0xffff, (pair >> 16) - pair, (int32_t)pair) & 0xffff;
}

/* t: phi of the rows (rows, n), by pairs: of rows 4 i and 4 i + 1 in word 4 i, of the next two in word 4 i + 1; v is
 * -z. */
static RFM_ALONE void phis(const int8_t *a, const int16_t *v, size_t n, uint32_t *t, size_t rows, uint32_t phi432,
                           int32_t last) {
    WALK("8", DISTANCE, PHIS);
}

/* The same for any n. */
static RFM_ALONE void phis_any(const int8_t *a, const int16_t *v, size_t n, uint32_t *t, size_t rows, uint32_t phi432,
                               int32_t last) {
    size_t i, j;
    for (i = 0; i < rows; i++) t[i] = 8;
    if (n >= 4) {
        WALK("8", DISTANCE, SUMS);
    }
    for (i = 0; i < rows; i++) {
        for (j = n / 4 * 4; j < n; j++) {
            int32_t diff = a[i * n + j] + v[j];
            t[i] += (uint32_t)(diff * diff);
        }
        t[i] = phi_at(phi432, last, t[i]);
        if (i % 4 == 3) t[i - 3] |= t[i - 2] << 16, t[i - 2] = t[i - 1] | t[i] << 16;
    }
}

/* -x, not beyond the limit of 255: SSAT alone would go to -256. */
static inline int16_t negated(int32_t x) {
    int32_t y;
    __asm__("ssat %0, #9, %1\n\trsb %0, %0, #0\n\tssat %0, #9, %0" : "=r"(y) : "r"(x));
    return (int16_t)y;
}

/* s0 ... s3 += alpha (4 rows c apart, 4) times phi, which is two pairs. */
#define ADD4(alpha, c, f01, f23)                                                                            \
    do {                                                                                                    \
        uint32_t w = load(alpha), x = even(w), y = odd(w);                                                  \
        s0 = add_bb(x, f01, s0), s2 = add_tb(x, f01, s2), s1 = add_bb(y, f01, s1), s3 = add_tb(y, f01, s3); \
        w = load((alpha) + (c)), x = even(w), y = odd(w);                                                   \
        s0 = add_bt(x, f01, s0), s2 = add_tt(x, f01, s2), s1 = add_bt(y, f01, s1), s3 = add_tt(y, f01, s3); \
        w = load((alpha) + 2 * (c)), x = even(w), y = odd(w);                                               \
        s0 = add_bb(x, f23, s0), s2 = add_tb(x, f23, s2), s1 = add_bb(y, f23, s1), s3 = add_tb(y, f23, s3); \
        w = load((alpha) + 3 * (c)), x = even(w), y = odd(w);                                               \
        s0 = add_bt(x, f23, s0), s2 = add_tt(x, f23, s2), s1 = add_bt(y, f23, s1), s3 = add_tt(y, f23, s3); \
    } while (0)

/* scores (4) += alpha' phi (rows), as phis() has them; the larger of `largest` and phi, pair by pair. */
static RFM_ALONE uint32_t add4(const int8_t *alpha, const uint32_t *phi, size_t rows, int32_t *scores,
                               uint32_t largest) {
    const uint32_t *end = phi + rows;
    int32_t s0 = scores[0], s1 = scores[1], s2 = scores[2], s3 = scores[3];
    do {
        uint32_t f01 = phi[0], f23 = phi[1];
        ADD4(alpha, 4, f01, f23);
        largest = larger(larger(largest, f01), f23);
        alpha += 16, phi += 4;
    } while (phi < end);
    scores[0] = s0, scores[1] = s1, scores[2] = s2, scores[3] = s3;
    return largest;
}

/* The same for c outputs. */
static RFM_ALONE uint32_t add(const int8_t *alpha, size_t c, const uint32_t *phi, size_t rows, int32_t *scores,
                              uint32_t largest) {
    for (; rows > 0; rows -= 4, alpha += 4 * c, phi += 4) {
        uint32_t f01 = phi[0], f23 = phi[1];
        size_t k;
        for (k = 0; k + 4 <= c; k += 4) {
            int32_t *s = scores + k, s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
            ADD4(alpha + k, c, f01, f23);
            s[0] = s0, s[1] = s1, s[2] = s2, s[3] = s3;
        }
        for (; k < c; k++)
            scores[k] += alpha[k] * (int32_t)(f01 & 0xffff) + alpha[c + k] * (int32_t)(f01 >> 16) +
                         alpha[2 * c + k] * (int32_t)(f23 & 0xffff) + alpha[3 * c + k] * (int32_t)(f23 >> 16);
        largest = larger(larger(largest, f01), f23);
    }
    return largest;
}

/* z = P u, negated; t (ROWS) is scratch. */
static void project(const rfm_model_i *m, int16_t *u, int16_t *z, uint32_t *t) {
    const int8_t *row = (const int8_t *)m->p;
    const int32_t *bias = m->bias;
    const uint8_t *shifts = m->shifts;
    size_t d = m->d, left = m->r, i, j;
    interleave(u, d);
    while (left >= 4) {
        size_t rows = left < ROWS ? left / 4 * 4 : ROWS;
        dots(row, u, d, t, rows);
        for (i = 0; i < rows; i++) *z++ = negated(((int32_t)t[i] + *bias++) >> *shifts++);
        left -= rows, row += rows * d;
    }
    for (; left > 0; left--, row += d) {
        int32_t sum = *bias++;
        for (j = 0; j < d; j++) sum += row[j] * u[in_order(j, d)];
        *z++ = negated(sum >> *shifts++);
    }
}

int32_t rfm_loop_i_dsp(const rfm_model_i *m, int16_t *scratch, int32_t *scores) {
    const int8_t *row = (const int8_t *)m->centers, *alpha = (const int8_t *)m->alpha;
    const uint32_t phi432 = (uint32_t)(uintptr_t)m->phi + 432;
    const int32_t last = (int32_t)m->nodes - 1 - 216;
    int16_t *z = scratch + m->d;
    size_t left = m->n, r = m->r, c = m->c, i, j;
    uint32_t largest = 0, t[ROWS];
    if (m->type != RFM_I8 || m->limit != 255) return -1; /* limit 127: sums of absolute differences */
    if (m->metric == RFM_FULL)
        project(m, scratch, z, t);
    else
        for (i = 0; i < r; i++) z[i] = negated(scratch[i] + m->bias[i]);
    interleave(z, r);
    while (left >= 4) {
        size_t rows = left < ROWS ? left / 4 * 4 : ROWS;
        if (r % 4 == 0)
            phis(row, z, r, t, rows, phi432, last);
        else
            phis_any(row, z, r, t, rows, phi432, last);
        largest = c == 4 ? add4(alpha, t, rows, scores, largest) : add(alpha, c, t, rows, scores, largest);
        left -= rows, row += rows * r, alpha += rows * c;
    }
    largest = (largest & 0xffff) > largest >> 16 ? largest & 0xffff : largest >> 16;
    for (; left > 0; left--, row += r, alpha += c) {
        uint32_t sum = 8;
        for (j = 0; j < r; j++) {
            int32_t diff = row[j] + z[in_order(j, r)];
            sum += (uint32_t)(diff * diff);
        }
        sum = phi_at(phi432, last, sum);
        if (sum > largest) largest = sum;
        for (j = 0; j < c; j++) scores[j] += alpha[j] * (int32_t)sum;
    }
    return (int32_t)largest;
}

#else
typedef int rfm_loop_i_dsp_is_for_armv7e_m;
#endif

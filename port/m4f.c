/* The work of rfm_predict_one for Cortex-M with a single-precision FPU: M4F, M7, M33, M55.
 *
 * Four rows (of P, or four centres) at a time: one instruction loads eight numbers, so that a dimension costs a
 * subtraction and a fused multiply-add per row, and little else. Then the exponentials of as many centres as there is
 * scratch: 2^y with y = -s log2(e) / L, n = round(y), is 2^n times a polynomial in y - n of degree 5, whose
 * coefficients come by one instruction; the error is 1e-7 of the result (minimax, float coefficients), 2e-7 with
 * rounding, and below 2^-126 phi counts as 0. Compilers do not make multiple loads of floats, hence the assembly; rows
 * that are left over and other than four outputs are in C. */
#include "rfm_port.h"

#if RFM_LOOP_HAVE_M4F

#include <string.h>

#define LOG2E  1.44269504f
#define LOWEST (-126.0f)
#define MAGIC  12583039.0f /* 1.5 2^23 + 127: added to y it leaves round(y) + 127 in the lowest bits */

static uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static float root(float x) {
    __asm__("vsqrt.f32 %0, %0" : "+t"(x));
    return x;
}

/* Coefficients of the powers of y - n, highest first; before them MAGIC. */
static const float powers[7] = {MAGIC, 0x1.5cb8b8p-10f, 0x1.3cf3b2p-7f, 0x1.c6b596p-5f, 0x1.ebf9a4p-3f, 0x1.62e42ap-1f,
                                1.0f};
static const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};

/* 2^(scale s), LOWEST <= scale s <= 0 */
static float power_of_2(float s, float scale) {
    float t = __builtin_fmaf(s, scale, MAGIC), f = __builtin_fmaf(s, scale, MAGIC - t), p = powers[1];
    size_t i;
    for (i = 2; i < 7; i++) p = __builtin_fmaf(p, f, powers[i]);
    return p * float_of(bits_of(t) << 23);
}

/* Four numbers of four rows, s0-s3, s4-s7, s8-s11, s12-s15, with four of the vector, s16-s19, into four sums,
 * s20-s23. */
#define DOT(A, B, C, D, X)                                                                                       \
    "vfma.f32 s20, " A ", " X "\n\tvfma.f32 s21, " B ", " X "\n\tvfma.f32 s22, " C ", " X "\n\tvfma.f32 s23, " D \
    ", " X "\n\t"
#define DISTANCE(A, B, C, D, X)                                                                                  \
    "vsub.f32 " A ", " X "\n\tvsub.f32 " B ", " X "\n\tvsub.f32 " C ", " X "\n\tvsub.f32 " D ", " X "\n\t"       \
    "vfma.f32 s20, " A ", " A "\n\tvfma.f32 s21, " B ", " B "\n\tvfma.f32 s22, " C ", " C "\n\tvfma.f32 s23, " D \
    ", " D "\n\t"

/* For `fours` > 0 times four rows of r >= 4 numbers from `a` on, which moves: their sums with x (r) by TERMS, after
 * LAST, to `out`, which moves. */
#define ROWS(TERMS, LAST)                                                                                            \
    do {                                                                                                             \
        const float *a1, *a2, *a3, *at = x, *whole = x + r / 4 * 4, *end = x + r;                                    \
        __asm__ volatile("1:\n\t"                                                                                    \
                         "add %[a1], %[a], %[stride]\n\t"                                                            \
                         "add %[a2], %[a1], %[stride]\n\t"                                                           \
                         "add %[a3], %[a2], %[stride]\n\t"                                                           \
                         "vldm %[zeros], {s20-s23}\n"                                                                \
                         "2:\n\t"                                                                                    \
                         "vldmia %[at]!, {s16-s19}\n\t"                                                              \
                         "vldmia %[a]!, {s0-s3}\n\t"                                                                 \
                         "vldmia %[a1]!, {s4-s7}\n\t"                                                                \
                         "vldmia %[a2]!, {s8-s11}\n\t"                                                               \
                         "vldmia %[a3]!, {s12-s15}\n\t"                                                              \
                         "cmp %[at], %[whole]\n\t" TERMS("s0", "s4", "s8", "s12", "s16")                             \
                             TERMS("s1", "s5", "s9", "s13", "s17") TERMS("s2", "s6", "s10", "s14", "s18")            \
                                 TERMS("s3", "s7", "s11", "s15",                                                     \
                                       "s19") "bne 2b\n\t"                                                           \
                                              "cmp %[at], %[end]\n\t"                                                \
                                              "beq 4f\n"                                                             \
                                              "3:\n\t"                                                               \
                                              "vldmia %[at]!, {s16}\n\t"                                             \
                                              "vldmia %[a]!, {s0}\n\t"                                               \
                                              "vldmia %[a1]!, {s4}\n\t"                                              \
                                              "vldmia %[a2]!, {s8}\n\t"                                              \
                                              "vldmia %[a3]!, {s12}\n\t"                                             \
                                              "cmp %[at], %[end]\n\t" TERMS("s0", "s4", "s8", "s12",                 \
                                                                            "s16") "bne 3b\n"                        \
                                                                                   "4:\n\t" LAST                     \
                                                                                   "sub %[at], %[at], %[stride]\n\t" \
                                                                                   "mov %[a], %[a3]\n\t"             \
                                                                                   "subs %[fours], %[fours], #1\n\t" \
                                                                                   "vstmia %[out]!, {s20-s23}\n\t"   \
                                                                                   "bne 1b"                          \
                         : [a] "+r"(a), [a1] "=&r"(a1), [a2] "=&r"(a2), [a3] "=&r"(a3), [at] "+r"(at),               \
                           [out] "+r"(out), [fours] "+r"(fours)                                                      \
                         : [whole] "r"(whole), [end] "r"(end), [stride] "r"(4 * r), [zeros] "r"(zeros)               \
                         : "memory", "cc", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", \
                           "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23");      \
    } while (0)
#define ROOTS "vsqrt.f32 s20, s20\n\tvsqrt.f32 s21, s21\n\tvsqrt.f32 s22, s22\n\tvsqrt.f32 s23, s23\n\t"

/* out[i] = a_i'x for `rows` rows of r numbers. */
static void dots(const float *a, const float *x, size_t r, size_t rows, float *out) {
    size_t fours = r < 4 ? 0 : rows / 4, i;
    if (fours > 0) {
        rows %= 4;
        ROWS(DOT, "");
    }
    for (; rows > 0; rows--) {
        float sum = 0.0f;
        for (i = 0; i < r; i++) sum = __builtin_fmaf(*a++, x[i], sum);
        *out++ = sum;
    }
}

/* out[i] = |a_i - x| for `rows` rows of r numbers. Returns the address behind the rows. */
static const float *distances(const float *a, const float *x, size_t r, size_t rows, float *out) {
    size_t fours = r < 4 ? 0 : rows / 4, i;
    if (fours > 0) {
        rows %= 4;
        ROWS(DISTANCE, ROOTS);
    }
    for (; rows > 0; rows--) {
        float sum = 0.0f;
        for (i = 0; i < r; i++) {
            float diff = *a++ - x[i];
            sum = __builtin_fmaf(diff, diff, sum);
        }
        *out++ = root(sum);
    }
    return a;
}

/* scores (4) += alpha_i 2^(scale s_i) for `n` > 0 centres whose s_i, compared as bits, is below `limit`. Returns the
 * smallest bits of all s_i, or `nearest` if that is smaller. */
static uint32_t add4(const float *s, size_t n, const float *alpha, float scale, uint32_t limit, uint32_t nearest,
                     float *scores) {
    const float *table = powers;
    uint32_t bits;
    __asm__ volatile(
        "vldm %[scores], {s4-s7}\n"
        "1:\n\t"
        "vldmia %[s]!, {s8}\n\t"
        "vmov %[bits], s8\n\t"
        "cmp %[bits], %[nearest]\n\t"
        "blo 3f\n"
        "2:\n\t"
        "cmp %[bits], %[limit]\n\t"
        "bhs 4f\n\t"
        "vldm %[table], {s9-s15}\n\t"
        "vldmia %[alpha]!, {s0-s3}\n\t"
        "vfma.f32 s9, s8, %[scale]\n\t"
        "subs %[n], %[n], #1\n\t"
        "vmov %[bits], s9\n\t"
        "vsub.f32 s9, s9, %[magic]\n\t"
        "lsl %[bits], %[bits], #23\n\t"
        "vfnms.f32 s9, s8, %[scale]\n\t"
        "vmov s8, %[bits]\n\t"
        "vfma.f32 s11, s10, s9\n\t"
        "vfma.f32 s12, s11, s9\n\t"
        "vfma.f32 s13, s12, s9\n\t"
        "vfma.f32 s14, s13, s9\n\t"
        "vfma.f32 s15, s14, s9\n\t"
        "vmul.f32 s8, s8, s15\n\t"
        "vfma.f32 s4, s0, s8\n\t"
        "vfma.f32 s5, s1, s8\n\t"
        "vfma.f32 s6, s2, s8\n\t"
        "vfma.f32 s7, s3, s8\n\t"
        "bne 1b\n\t"
        "b 5f\n"
        "3:\n\t"
        "mov %[nearest], %[bits]\n\t"
        "b 2b\n"
        "4:\n\t"
        "add %[alpha], %[alpha], #16\n\t"
        "subs %[n], %[n], #1\n\t"
        "bne 1b\n"
        "5:\n\t"
        "vstm %[scores], {s4-s7}"
        : [s] "+r"(s), [alpha] "+r"(alpha), [n] "+r"(n), [nearest] "+r"(nearest), [bits] "=&r"(bits)
        : [table] "r"(table), [limit] "r"(limit), [scores] "r"(scores), [scale] "t"(scale), [magic] "t"(MAGIC)
        : "memory", "cc", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14",
          "s15");
    return nearest;
}

/* The same for c outputs. */
static uint32_t add(const float *s, size_t n, const float *alpha, float scale, uint32_t limit, uint32_t nearest,
                    float *scores, size_t c) {
    size_t i, k;
    for (i = 0; i < n; i++, alpha += c) {
        float phi;
        if (bits_of(s[i]) < nearest) nearest = bits_of(s[i]);
        if (bits_of(s[i]) >= limit) continue;
        phi = power_of_2(s[i], scale);
        for (k = 0; k < c; k++) scores[k] = __builtin_fmaf(alpha[k], phi, scores[k]);
    }
    return nearest;
}

rfm_real rfm_loop_m4f(const rfm_model *m, rfm_real *scratch, rfm_real *scores) {
    const float *center = m->centers, *alpha = m->alpha;
    float *z = scratch + m->d, scale;
    size_t d = m->d, r = m->r, c = m->c, left, n = d < 4 ? d : d / 4 * 4, i;
    uint32_t nearest = 0x7f800000u, limit; /* the limit of s, in bits: numbers >= 0 have the order of their bits, and
                                              NaN is last */
    if (m->kernel > RFM_GAUSSIAN) return -1.0f;
    if (m->metric == RFM_FULL)
        dots(m->p, scratch, d, r, z);
    else
        for (i = 0; i < r; i++) z[i] = m->metric == RFM_DIAGONAL ? m->p[i] * scratch[i] : scratch[i];

    /* x - shift is not needed any more. Its place takes the distances of n centres; for the Gaussian kernel their
     * squares. */
    scale = -LOG2E / m->bandwidth;
    if (m->kernel == RFM_GAUSSIAN) scale *= 0.5f / m->bandwidth;
    limit = bits_of(LOWEST / scale);
    for (left = m->n; left > 0; left -= n, alpha += n * c) {
        if (n > left) n = left;
        center = distances(center, z, r, n, scratch);
        if (m->kernel == RFM_GAUSSIAN)
            for (i = 0; i < n; i++) scratch[i] *= scratch[i];
        if (c == 4)
            nearest = add4(scratch, n, alpha, scale, limit, nearest, scores);
        else
            nearest = add(scratch, n, alpha, scale, limit, nearest, scores, c);
    }
    return nearest < limit ? power_of_2(float_of(nearest), scale) : 0.0f;
}

#else
typedef int rfm_loop_m4f_is_for_cortex_m;
#endif

/* rfm port for NEON with FMA: AArch64, and ARMv7-A compiled with -mfpu=neon-vfpv4 or later.
 *
 * ARMv7's NEON flushes subnormal numbers to zero, whatever the processor's mode; AArch64's doesn't. */
#include "rfm_port.h"

#if RFM_PORT_HAVE_NEON

#include <arm_neon.h>

#include "exp.h"

/* The tile, NR / 4 vectors wide: 8 x 12 takes 24 of AArch64's 32 registers, 4 x 8 takes 8 of ARMv7's 16. */
#if defined(__aarch64__)
#define MR          8
#define NR          12
#define EACH_ROW(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define WIDE(...)   __VA_ARGS__ /* code for the third vector of a row */
#else
#define MR          4
#define NR          8
#define EACH_ROW(F) F(0) F(1) F(2) F(3)
#define WIDE(...)
#endif

/* No code, only: keep p in a register as it is, and move no memory access across. */
#if defined(__GNUC__)
#define HOLD(p) __asm__ volatile("" : "+r"(p) : : "memory")
#else
#define HOLD(p) ((void)0)
#endif

/* ---- matrix product ------------------------------------------------------------------------- */

/* Row i += (element of A) * (row of B). AArch64 multiplies by one lane of a register for free: A comes four rows at a
 * time where they lie together (rs = 1), else one by one into lane 0. ARMv7 has to spread the element over a register.
 */
#if defined(__aarch64__)

/* gcc is given the instruction itself: with intrinsics it copies and spills the tile. */
#if defined(__GNUC__) && !defined(__clang__)
#define MULADD(c, b, v, lane) __asm__("fmla %0.4s, %1.4s, %2.s[" #lane "]" : "+w"(c) : "w"(b), "w"(v))
#define MULSUB(c, b, v, lane) __asm__("fmls %0.4s, %1.4s, %2.s[" #lane "]" : "+w"(c) : "w"(b), "w"(v))
#define LANE0                 float
#define IN_LANE0(s)           (s)
#else
#define MULADD(c, b, v, lane) ((c) = vfmaq_laneq_f32(c, b, v, lane))
#define MULSUB(c, b, v, lane) ((c) = vfmsq_laneq_f32(c, b, v, lane))
#define LANE0                 float32x4_t
#define IN_LANE0(s)           vsetq_lane_f32(s, vdupq_n_f32(0.0f), 0)
#endif

#define ROW(op, i, v, lane)       \
    do {                          \
        op(c##i##0, b0, v, lane); \
        op(c##i##1, b1, v, lane); \
        op(c##i##2, b2, v, lane); \
    } while (0)
#define ROW_AT(op, i)                         \
    do {                                      \
        const LANE0 ai = IN_LANE0(a[(i)*rs]); \
        ROW(op, i, ai, 0);                    \
    } while (0)
#define ROWS_TOGETHER(op)                        \
    do {                                         \
        const float32x4_t al = vld1q_f32(a);     \
        const float32x4_t ah = vld1q_f32(a + 4); \
        ROW(op, 0, al, 0);                       \
        ROW(op, 1, al, 1);                       \
        ROW(op, 2, al, 2);                       \
        ROW(op, 3, al, 3);                       \
        ROW(op, 4, ah, 0);                       \
        ROW(op, 5, ah, 1);                       \
        ROW(op, 6, ah, 2);                       \
        ROW(op, 7, ah, 3);                       \
    } while (0)
#define ROWS_APART(op) \
    do {               \
        ROW_AT(op, 0); \
        ROW_AT(op, 1); \
        ROW_AT(op, 2); \
        ROW_AT(op, 3); \
        HOLD(a);       \
        ROW_AT(op, 4); \
        ROW_AT(op, 5); \
        ROW_AT(op, 6); \
        ROW_AT(op, 7); \
    } while (0)

#else

#define MULADD(c, b, v) ((c) = vfmaq_f32(c, b, v))
#define MULSUB(c, b, v) ((c) = vfmsq_f32(c, b, v))
#define ROW_AT(op, i)                                     \
    do {                                                  \
        const float32x4_t ai = vld1q_dup_f32(a + (i)*rs); \
        op(c##i##0, b0, ai);                              \
        op(c##i##1, b1, ai);                              \
    } while (0)
#define ROWS_APART(op) \
    do {               \
        ROW_AT(op, 0); \
        ROW_AT(op, 1); \
        ROW_AT(op, 2); \
        ROW_AT(op, 3); \
    } while (0)
#define ROWS_TOGETHER(op) ROWS_APART(op)

#endif

#define STEP(op, rows)                                 \
    do {                                               \
        const float32x4_t b0 = vld1q_f32(b);           \
        const float32x4_t b1 = vld1q_f32(b + 4);       \
        WIDE(const float32x4_t b2 = vld1q_f32(b + 8);) \
        rows(op);                                      \
        a += cs;                                       \
        b += NR;                                       \
        HOLD(a);                                       \
    } while (0)

#define LOOP(op, rows)                     \
    do {                                   \
        for (; k >= 4; k -= 4) {           \
            STEP(op, rows);                \
            STEP(op, rows);                \
            STEP(op, rows);                \
            STEP(op, rows);                \
        }                                  \
        for (; k > 0; k--) STEP(op, rows); \
    } while (0)

#define ZERO(i) float32x4_t c##i##0 = vdupq_n_f32(0.0f), c##i##1 = c##i##0 WIDE(, c##i##2 = c##i##0);
#define STORE(i)                                       \
    vst1q_f32(c + (i)*ldc, vmulq_f32(s, c##i##0));     \
    vst1q_f32(c + (i)*ldc + 4, vmulq_f32(s, c##i##1)); \
    WIDE(vst1q_f32(c + (i)*ldc + 8, vmulq_f32(s, c##i##2));)
#define ADD(i)                                                                     \
    vst1q_f32(c + (i)*ldc, vfmaq_f32(vld1q_f32(c + (i)*ldc), s, c##i##0));         \
    vst1q_f32(c + (i)*ldc + 4, vfmaq_f32(vld1q_f32(c + (i)*ldc + 4), s, c##i##1)); \
    WIDE(vst1q_f32(c + (i)*ldc + 8, vfmaq_f32(vld1q_f32(c + (i)*ldc + 8), s, c##i##2));)

static void neon_gemm(size_t k, float alpha, const float *a, size_t rs, size_t cs, const float *b, float *c, size_t ldc,
                      int add) {
    EACH_ROW(ZERO)
#if defined(__aarch64__)
    if (rs == 1)
        LOOP(MULADD, ROWS_TOGETHER);
    else
#endif
        LOOP(MULADD, ROWS_APART);
    const float32x4_t s = vdupq_n_f32(alpha);
    if (add) {
        EACH_ROW(ADD)
    } else {
        EACH_ROW(STORE)
    }
}

/* ---- sums of absolute differences ----------------------------------------------------------- */

#define L1_ROW(i)                                              \
    do {                                                       \
        const float32x4_t ai = vld1q_dup_f32(a + (i)*rs);      \
        c##i##0 = vaddq_f32(c##i##0, vabdq_f32(ai, b0));       \
        c##i##1 = vaddq_f32(c##i##1, vabdq_f32(ai, b1));       \
        WIDE(c##i##2 = vaddq_f32(c##i##2, vabdq_f32(ai, b2));) \
    } while (0);
#define L1_ROWS(op) EACH_ROW(op)

static void neon_l1(size_t k, const float *a, size_t rs, size_t cs, const float *b, float *c, size_t ldc, int add) {
    EACH_ROW(ZERO)
    for (; k > 0; k--) STEP(L1_ROW, L1_ROWS);
    const float32x4_t s = vdupq_n_f32(1.0f); /* a product by 1 is exact */
    if (add) {
        EACH_ROW(ADD)
    } else {
        EACH_ROW(STORE)
    }
}

/* ---- triangular solve ----------------------------------------------------------------------- */

#define LOAD(i)                                  \
    float32x4_t c##i##0 = vld1q_f32(t + (i)*NR), \
                c##i##1 = vld1q_f32(t + (i)*NR + 4) WIDE(, c##i##2 = vld1q_f32(t + (i)*NR + 8));

/* Row q is finished: scale it, store it, and take it out of the rows below. The triangle is at a, by columns. */
#define PIVOT(q)                                                                   \
    do {                                                                           \
        const float32x4_t d = vld1q_dup_f32(a + (q)*MR + (q));                     \
        c##q##0 = vmulq_f32(d, c##q##0);                                           \
        c##q##1 = vmulq_f32(d, c##q##1);                                           \
        vst1q_f32(t + (q)*NR, c##q##0);                                            \
        vst1q_f32(t + (q)*NR + 4, c##q##1);                                        \
        WIDE(c##q##2 = vmulq_f32(d, c##q##2); vst1q_f32(t + (q)*NR + 8, c##q##2);) \
    } while (0)
#define BELOW(i, q)                                            \
    do {                                                       \
        const float32x4_t l = vld1q_dup_f32(a + (q)*MR + (i)); \
        c##i##0 = vfmsq_f32(c##i##0, l, c##q##0);              \
        c##i##1 = vfmsq_f32(c##i##1, l, c##q##1);              \
        WIDE(c##i##2 = vfmsq_f32(c##i##2, l, c##q##2);)        \
    } while (0)
/* The rows from i down, without row q. */
#define FROM_7(q) BELOW(7, q)
#define FROM_6(q) \
    BELOW(6, q);  \
    FROM_7(q)
#define FROM_5(q) \
    BELOW(5, q);  \
    FROM_6(q)
#define FROM_4(q) \
    BELOW(4, q);  \
    FROM_5(q)
#define FROM_3(q) BELOW(3, q) WIDE(; FROM_4(q))
#define FROM_2(q) \
    BELOW(2, q);  \
    FROM_3(q)
#define FROM_1(q) \
    BELOW(1, q);  \
    FROM_2(q)

static void neon_trsm(size_t k, const float *a, float *b) {
    enum { rs = 1, cs = MR };
    float *t = b + k * NR;
    EACH_ROW(LOAD)
    LOOP(MULSUB, ROWS_TOGETHER);
    PIVOT(0);
    FROM_1(0);
    PIVOT(1);
    FROM_2(1);
    PIVOT(2);
    FROM_3(2);
    PIVOT(3);
#if MR == 8
    FROM_4(3);
    PIVOT(4);
    FROM_5(4);
    PIVOT(5);
    FROM_6(5);
    PIVOT(6);
    FROM_7(6);
    PIVOT(7);
#endif
    (void)rs; /* where rows are taken together */
}

/* ---- vectors at the end of an array --------------------------------------------------------- */

/* The first n < 4 lanes, the others 0. They go through the same arithmetic as whole vectors. */
static inline float32x4_t load_part(const float *x, size_t n) {
    float t[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    size_t i;
    for (i = 0; i < n; i++) t[i] = x[i];
    return vld1q_f32(t);
}

static inline void store_part(float *y, float32x4_t v, size_t n) {
    float t[4];
    size_t i;
    vst1q_f32(t, v);
    for (i = 0; i < n; i++) y[i] = t[i];
}

/* ---- four rows of a symmetric matrix -------------------------------------------------------- */

/* Always in the same order, so that a result depends on nothing but its data. */
static inline float sum4(float32x4_t v) {
    float32x2_t s = vadd_f32(vget_low_f32(v), vget_high_f32(v));
    s = vpadd_f32(s, s);
    return vget_lane_f32(s, 0);
}

/* One row's share of four columns: y from f, dot product into d. */
#define SHARE(f, d, v)             \
    do {                           \
        const float32x4_t w = (v); \
        yj = vfmaq_f32(yj, f, w);  \
        d = vfmaq_f32(d, w, xj);   \
    } while (0)

static void neon_rows4(size_t n, const float *a, size_t lda, const float coef[4], const float *x, float *y,
                       float dots[4]) {
    const float *r0 = a, *r1 = a + lda, *r2 = a + 2 * lda, *r3 = a + 3 * lda;
    const float32x4_t f0 = vld1q_dup_f32(coef), f1 = vld1q_dup_f32(coef + 1);
    const float32x4_t f2 = vld1q_dup_f32(coef + 2), f3 = vld1q_dup_f32(coef + 3);
    float32x4_t d0 = vdupq_n_f32(0.0f), d1 = d0, d2 = d0, d3 = d0; /* even vectors of four columns */
    float32x4_t e0 = d0, e1 = d0, e2 = d0, e3 = d0;                /* odd ones */
    size_t j = 0;
    for (; j + 8 <= n; j += 8) {
        float32x4_t xj = vld1q_f32(x + j), yj = vld1q_f32(y + j);
        SHARE(f0, d0, vld1q_f32(r0 + j));
        SHARE(f1, d1, vld1q_f32(r1 + j));
        SHARE(f2, d2, vld1q_f32(r2 + j));
        SHARE(f3, d3, vld1q_f32(r3 + j));
        vst1q_f32(y + j, yj);
        xj = vld1q_f32(x + j + 4);
        yj = vld1q_f32(y + j + 4);
        SHARE(f0, e0, vld1q_f32(r0 + j + 4));
        SHARE(f1, e1, vld1q_f32(r1 + j + 4));
        SHARE(f2, e2, vld1q_f32(r2 + j + 4));
        SHARE(f3, e3, vld1q_f32(r3 + j + 4));
        vst1q_f32(y + j + 4, yj);
    }
    for (; j < n; j += 4) { /* up to two, the last not full */
        const size_t m = n - j < 4 ? n - j : 4;
        const float32x4_t xj = load_part(x + j, m);
        float32x4_t yj = load_part(y + j, m);
        SHARE(f0, d0, load_part(r0 + j, m));
        SHARE(f1, d1, load_part(r1 + j, m));
        SHARE(f2, d2, load_part(r2 + j, m));
        SHARE(f3, d3, load_part(r3 + j, m));
        store_part(y + j, yj, m);
    }
    dots[0] += sum4(vaddq_f32(d0, e0));
    dots[1] += sum4(vaddq_f32(d1, e1));
    dots[2] += sum4(vaddq_f32(d2, e2));
    dots[3] += sum4(vaddq_f32(d3, e3));
}

/* ---- element by element --------------------------------------------------------------------- */

/* The nearest integers, as floats. ARMv7 has no such instruction: adding 1.5 * 2^23 leaves no place for a fraction. */
static inline float32x4_t round4(float32x4_t x) {
#if defined(__aarch64__)
    return vrndnq_f32(x);
#else
    const float32x4_t big = vdupq_n_f32(12582912.0f);
    return vsubq_f32(vaddq_f32(x, big), big);
#endif
}

/* If an operand of min or max is NaN, so is the result. */
static inline float32x4_t exp4(float32x4_t x) {
    x = vmaxq_f32(vdupq_n_f32(RFM_EXP_LOW), x);
    x = vminq_f32(vdupq_n_f32(RFM_EXP_HIGH), x);
    const float32x4_t nf = round4(vmulq_f32(x, vdupq_n_f32(RFM_EXP_LOG2E)));
    const int32x4_t n = vcvtq_s32_f32(nf);
    const float32x4_t h = vfmsq_f32(x, nf, vdupq_n_f32(RFM_EXP_LN2_HI));
    const float32x4_t l = vmulq_f32(nf, vdupq_n_f32(RFM_EXP_LN2_LO));
    const float32x4_t r = vfmaq_f32(h, nf, vdupq_n_f32(RFM_EXP_LN2_LO));
    float32x4_t q = vdupq_n_f32(RFM_EXP_Q4);
    q = vfmaq_f32(vdupq_n_f32(RFM_EXP_Q3), q, r);
    q = vfmaq_f32(vdupq_n_f32(RFM_EXP_Q2), q, r);
    q = vfmaq_f32(vdupq_n_f32(RFM_EXP_Q1), q, r);
    q = vfmaq_f32(vdupq_n_f32(RFM_EXP_Q0), q, r);
    q = vfmaq_f32(l, q, vmulq_f32(r, r));
    const float32x4_t p = vaddq_f32(vdupq_n_f32(1.0f), vaddq_f32(h, q));
    const int32x4_t half = vshrq_n_s32(n, 1), bias = vdupq_n_s32(127);
    const int32x4_t e1 = vshlq_n_s32(vaddq_s32(half, bias), 23);
    const int32x4_t e2 = vshlq_n_s32(vaddq_s32(vsubq_s32(n, half), bias), 23);
    return vmulq_f32(vmulq_f32(p, vreinterpretq_f32_s32(e1)), vreinterpretq_f32_s32(e2));
}

static void neon_exp(size_t n, const float *x, float *y) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1q_f32(y + i, exp4(vld1q_f32(x + i)));
    if (i < n) store_part(y + i, exp4(load_part(x + i, n - i)), n - i);
}

/* ARMv7 has no vector square root and division: NULL there, the portable code uses the scalar ones. */
#if defined(__aarch64__)
/* For s = 0, w is 0 / 0; the comparison makes it 0. */
static void neon_laplace(size_t n, float inverse, const float *s2, float *phi, float *w) {
    const float32x4_t scale = vdupq_n_f32(inverse), minus = vdupq_n_f32(-inverse);
    size_t i;
    for (i = 0; i < n; i += 4) {
        const int whole = i + 4 <= n;
        const float32x4_t s = vsqrtq_f32(whole ? vld1q_f32(s2 + i) : load_part(s2 + i, n - i));
        const float32x4_t e = exp4(vmulq_f32(s, minus));
        if (whole)
            vst1q_f32(phi + i, e);
        else
            store_part(phi + i, e, n - i);
        if (w != NULL) {
            const uint32x4_t v = vreinterpretq_u32_f32(vdivq_f32(vmulq_f32(scale, e), s));
            const float32x4_t some = vreinterpretq_f32_u32(vbicq_u32(v, vceqzq_f32(s)));
            if (whole)
                vst1q_f32(w + i, some);
            else
                store_part(w + i, some, n - i);
        }
    }
}
#else
#define neon_laplace NULL
#endif

/* Looks at the bits, which no compiler flag can change: a number that is not finite has an exponent of all ones. */
static int neon_finite(size_t n, const float *x) {
    const uint32x4_t ones = vdupq_n_u32(0x7f800000u);
    uint32x4_t bad = vdupq_n_u32(0);
    size_t i;
    for (i = 0; i < n; i += 4) {
        const float32x4_t v = i + 4 <= n ? vld1q_f32(x + i) : load_part(x + i, n - i);
        bad = vorrq_u32(bad, vceqq_u32(vandq_u32(vreinterpretq_u32_f32(v), ones), ones));
    }
    const uint32x2_t any = vorr_u32(vget_low_u32(bad), vget_high_u32(bad));
    return (vget_lane_u32(any, 0) | vget_lane_u32(any, 1)) == 0;
}

/* ---- packing -------------------------------------------------------------------------------- */

/* Both widths are multiples of four. Where rs = 1 the panel's columns are pieces of memory's rows and are copied, else
 * blocks of four by four are turned. */
static void neon_pack(size_t width, size_t k, const float *a, size_t rs, size_t cs, float *dst) {
    size_t i, p = 0;
    if (rs == 1) {
        for (; p < k; p++)
            for (i = 0; i < width; i += 4) vst1q_f32(dst + p * width + i, vld1q_f32(a + p * cs + i));
    } else {
        for (; p + 4 <= k; p += 4)
            for (i = 0; i < width; i += 4) {
                const float *at = a + i * rs + p;
                float *to = dst + p * width + i;
                const float32x4x2_t t = vtrnq_f32(vld1q_f32(at), vld1q_f32(at + rs));
                const float32x4x2_t u = vtrnq_f32(vld1q_f32(at + 2 * rs), vld1q_f32(at + 3 * rs));
                vst1q_f32(to, vcombine_f32(vget_low_f32(t.val[0]), vget_low_f32(u.val[0])));
                vst1q_f32(to + width, vcombine_f32(vget_low_f32(t.val[1]), vget_low_f32(u.val[1])));
                vst1q_f32(to + 2 * width, vcombine_f32(vget_high_f32(t.val[0]), vget_high_f32(u.val[0])));
                vst1q_f32(to + 3 * width, vcombine_f32(vget_high_f32(t.val[1]), vget_high_f32(u.val[1])));
            }
        for (; p < k; p++)
            for (i = 0; i < width; i++) dst[p * width + i] = a[i * rs + p];
    }
}

const rfm_port rfm_port_neon = {
    "neon",     MR,       NR,          128,       256,          3072,    neon_gemm, neon_trsm,
    neon_rows4, neon_exp, neon_finite, neon_pack, neon_laplace, neon_l1, NULL,
};

#else
typedef int rfm_port_neon_is_not_for_this_target;
#endif

/* rfm port for x86-64 with AVX-512F (Skylake-SP 2017, Zen 4 2022, and later). Needs no compiler flags with gcc and
 * clang; the caller (or dispatch.c) must have checked the processor. With RFM_PORT_EMULATED, for tests only, the
 * intrinsics are taken to be functions for any machine. */
#include "rfm_port.h"

#if RFM_PORT_HAVE_X86 || defined(RFM_PORT_EMULATED)

#include <immintrin.h>

#include "exp.h"

#if defined(__GNUC__) && !defined(RFM_PORT_EMULATED)
#define AVX512 __attribute__((target("avx512f")))
#else
#define AVX512
#endif

/* HOLD, FMADD, FNMADD and ADDPS are as in avx2.c, and needed for the same reasons. */
#if defined(__GNUC__) && !defined(RFM_PORT_EMULATED)
#define HOLD(p, q) __asm__ volatile("" : "+r"(p), "+r"(q) : : "memory")
#else
#define HOLD(p, q) ((void)0)
#endif

#if defined(__GNUC__) && !defined(__clang__) && !defined(RFM_PORT_EMULATED)
#define FMADD(c, a, b)  __asm__("{vfmadd231ps %2, %1, %0|vfmadd231ps %0, %1, %2}" : "+v"(c) : "v"(a), "v"(b))
#define FNMADD(c, a, b) __asm__("{vfnmadd231ps %2, %1, %0|vfnmadd231ps %0, %1, %2}" : "+v"(c) : "v"(a), "v"(b))
#define ADDPS(c, a)     __asm__("{vaddps %1, %0, %0|vaddps %0, %0, %1}" : "+v"(c) : "v"(a))
#else
#define FMADD(c, a, b)  ((c) = _mm512_fmadd_ps(a, b, c))
#define FNMADD(c, a, b) ((c) = _mm512_fnmadd_ps(a, b, c))
#define ADDPS(c, a)     ((c) = _mm512_add_ps(c, a))
#endif

#define MR 12
#define NR 32

/* ---- matrix product ------------------------------------------------------------------------- */

/* The tile (12, 32) is 24 of the 32 registers, row i in ci0, ci1. One step of k: two loads of B, twelve broadcasts of
 * A, 24 FMAs. Rows are addressed in threes, from a, a3, a6, a9: base + {0, 1, 2} rs is one addressing mode. */

#define ROW(op, i, at)                           \
    do {                                         \
        const __m512 ai = _mm512_set1_ps(*(at)); \
        op(c##i##0, ai, b0);                     \
        op(c##i##1, ai, b1);                     \
    } while (0)

#define STEP(op, off)                                      \
    do {                                                   \
        const __m512 b0 = _mm512_loadu_ps(b + (off));      \
        const __m512 b1 = _mm512_loadu_ps(b + (off) + 16); \
        ROW(op, 0, a);                                     \
        ROW(op, 1, a + rs);                                \
        ROW(op, 2, a + 2 * rs);                            \
        ROW(op, 3, a3);                                    \
        ROW(op, 4, a3 + rs);                               \
        ROW(op, 5, a3 + 2 * rs);                           \
        ROW(op, 6, a6);                                    \
        ROW(op, 7, a6 + rs);                               \
        ROW(op, 8, a6 + 2 * rs);                           \
        ROW(op, 9, a9);                                    \
        ROW(op, A, a9 + rs);                               \
        ROW(op, B, a9 + 2 * rs);                           \
        a += cs;                                           \
        a3 += cs;                                          \
        a6 += cs;                                          \
        a9 += cs;                                          \
        HOLD(a, a3);                                       \
        HOLD(a6, a9);                                      \
    } while (0)

#define LOOP(op)                 \
    do {                         \
        for (; k >= 4; k -= 4) { \
            STEP(op, 0);         \
            STEP(op, NR);        \
            STEP(op, 2 * NR);    \
            STEP(op, 3 * NR);    \
            b += 4 * NR;         \
        }                        \
        for (; k > 0; k--) {     \
            STEP(op, 0);         \
            b += NR;             \
        }                        \
    } while (0)

#define EACH_ROW(F) F(0, 0) F(1, 1) F(2, 2) F(3, 3) F(4, 4) F(5, 5) F(6, 6) F(7, 7) F(8, 8) F(9, 9) F(A, 10) F(B, 11)

#define ZERO(i, n) __m512 c##i##0 = _mm512_setzero_ps(), c##i##1 = _mm512_setzero_ps();
#define FETCH(i, n)                                              \
    _mm_prefetch((const char *)(c + (n)*ldc), _MM_HINT_T0);      \
    _mm_prefetch((const char *)(c + (n)*ldc + 16), _MM_HINT_T0); \
    _mm_prefetch((const char *)(c + (n)*ldc + 31), _MM_HINT_T0);
#define STORE(i, n)                                           \
    _mm512_storeu_ps(c + (n)*ldc, _mm512_mul_ps(s, c##i##0)); \
    _mm512_storeu_ps(c + (n)*ldc + 16, _mm512_mul_ps(s, c##i##1));
#define ADD(i, n)                                                                             \
    _mm512_storeu_ps(c + (n)*ldc, _mm512_fmadd_ps(s, c##i##0, _mm512_loadu_ps(c + (n)*ldc))); \
    _mm512_storeu_ps(c + (n)*ldc + 16, _mm512_fmadd_ps(s, c##i##1, _mm512_loadu_ps(c + (n)*ldc + 16)));

AVX512 static void avx512_gemm(size_t k, float alpha, const float *a, size_t rs, size_t cs, const float *b, float *c,
                               size_t ldc, int add) {
    const float *a3 = a + 3 * rs, *a6 = a + 6 * rs, *a9 = a + 9 * rs;
    EACH_ROW(ZERO)
    EACH_ROW(FETCH)
    LOOP(FMADD);
    HOLD(c, ldc);
    const __m512 s = _mm512_set1_ps(alpha);
    if (add) {
        EACH_ROW(ADD)
    } else {
        EACH_ROW(STORE)
    }
}

/* ---- sums of absolute differences ----------------------------------------------------------- */

/* The same tile and the same loop; a step is three instructions instead of one. */
#define ABSADD(c, a, b)                                        \
    do {                                                       \
        const __m512 way = _mm512_abs_ps(_mm512_sub_ps(a, b)); \
        ADDPS(c, way);                                         \
    } while (0)

AVX512 static void avx512_l1(size_t k, const float *a, size_t rs, size_t cs, const float *b, float *c, size_t ldc,
                             int add) {
    const float *a3 = a + 3 * rs, *a6 = a + 6 * rs, *a9 = a + 9 * rs;
    EACH_ROW(ZERO)
    LOOP(ABSADD);
    HOLD(c, ldc);
    const __m512 s = _mm512_set1_ps(1.0f); /* a product by 1 is exact */
    if (add) {
        EACH_ROW(ADD)
    } else {
        EACH_ROW(STORE)
    }
}

/* 16 coordinates of all outputs are in registers at a time. */
#define EACH_OUTPUT(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define TAKE_OUTPUT(k) __m512 h##k = k < c ? _mm512_maskz_loadu_ps(all, h + (k)*ldh + q) : zero;
#define GIVE_OUTPUT(k) \
    if (k < c) _mm512_mask_storeu_ps(h + (k)*ldh + q, all, h##k);
#define SIGN_OUTPUT(k) \
    if (k < c) h##k = _mm512_fmadd_ps(_mm512_set1_ps(at[k]), sign, h##k);

AVX512 static void avx512_signs(size_t n, size_t r, size_t c, const float *z, const float *x, const float *w, float *h,
                                size_t ldh) {
    const __m512 zero = _mm512_setzero_ps(), one = _mm512_set1_ps(1.0f), minus = _mm512_set1_ps(-1.0f);
    for (size_t q = 0; c == 1 && q < r; q += 16) {
        const __mmask16 all = (__mmask16)(r - q < 16 ? (1u << (r - q)) - 1 : 0xffffu);
        const __m512 here = _mm512_maskz_loadu_ps(all, x + q);
        __m512 sum = _mm512_maskz_loadu_ps(all, h + q);
        for (size_t i = 0; i < n; i++) {
            const __m512 there = _mm512_maskz_loadu_ps(all, z + i * r + q), wi = _mm512_set1_ps(w[i]);
            sum = _mm512_mask_add_ps(sum, _mm512_cmp_ps_mask(there, here, _CMP_GT_OQ), sum, wi);
            sum = _mm512_mask_sub_ps(sum, _mm512_cmp_ps_mask(there, here, _CMP_LT_OQ), sum, wi);
        }
        _mm512_mask_storeu_ps(h + q, all, sum);
    }
    for (size_t q = 0; c > 1 && q < r; q += 16) {
        const __mmask16 all = (__mmask16)(r - q < 16 ? (1u << (r - q)) - 1 : 0xffffu);
        const __m512 here = _mm512_maskz_loadu_ps(all, x + q);
        const float *at = w;
        EACH_OUTPUT(TAKE_OUTPUT)
        for (size_t i = 0; i < n; i++, at += c) {
            const __m512 there = _mm512_maskz_loadu_ps(all, z + i * r + q);
            const __m512 above = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(there, here, _CMP_GT_OQ), one);
            const __m512 sign = _mm512_mask_mov_ps(above, _mm512_cmp_ps_mask(there, here, _CMP_LT_OQ), minus);
            EACH_OUTPUT(SIGN_OUTPUT)
        }
        EACH_OUTPUT(GIVE_OUTPUT)
    }
}

/* ---- triangular solve ----------------------------------------------------------------------- */

#define LOAD(i, n) __m512 c##i##0 = _mm512_loadu_ps(t + (n)*NR), c##i##1 = _mm512_loadu_ps(t + (n)*NR + 16);

/* Row q is finished: scale it, store it, and take it out of the rows below. The triangle is at a, by columns. */
#define PIVOT(q, n)                                       \
    do {                                                  \
        const __m512 d = _mm512_set1_ps(a[(n)*MR + (n)]); \
        c##q##0 = _mm512_mul_ps(d, c##q##0);              \
        c##q##1 = _mm512_mul_ps(d, c##q##1);              \
        _mm512_storeu_ps(t + (n)*NR, c##q##0);            \
        _mm512_storeu_ps(t + (n)*NR + 16, c##q##1);       \
    } while (0)
#define BELOW(i, in, q, qn)                                 \
    do {                                                    \
        const __m512 l = _mm512_set1_ps(a[(qn)*MR + (in)]); \
        FNMADD(c##i##0, l, c##q##0);                        \
        FNMADD(c##i##1, l, c##q##1);                        \
    } while (0)
/* The rows from i down, without row q. */
#define FROM_B(q, n) BELOW(B, 11, q, n)
#define FROM_A(q, n)    \
    BELOW(A, 10, q, n); \
    FROM_B(q, n)
#define FROM_9(q, n)   \
    BELOW(9, 9, q, n); \
    FROM_A(q, n)
#define FROM_8(q, n)   \
    BELOW(8, 8, q, n); \
    FROM_9(q, n)
#define FROM_7(q, n)   \
    BELOW(7, 7, q, n); \
    FROM_8(q, n)
#define FROM_6(q, n)   \
    BELOW(6, 6, q, n); \
    FROM_7(q, n)
#define FROM_5(q, n)   \
    BELOW(5, 5, q, n); \
    FROM_6(q, n)
#define FROM_4(q, n)   \
    BELOW(4, 4, q, n); \
    FROM_5(q, n)
#define FROM_3(q, n)   \
    BELOW(3, 3, q, n); \
    FROM_4(q, n)
#define FROM_2(q, n)   \
    BELOW(2, 2, q, n); \
    FROM_3(q, n)
#define FROM_1(q, n)   \
    BELOW(1, 1, q, n); \
    FROM_2(q, n)

AVX512 static void avx512_trsm(size_t k, const float *a, float *b) {
    enum { rs = 1, cs = MR };
    float *t = b + k * NR;
    const float *a3 = a + 3 * rs, *a6 = a + 6 * rs, *a9 = a + 9 * rs;
    EACH_ROW(LOAD)
    LOOP(FNMADD);
    PIVOT(0, 0);
    FROM_1(0, 0);
    PIVOT(1, 1);
    FROM_2(1, 1);
    PIVOT(2, 2);
    FROM_3(2, 2);
    PIVOT(3, 3);
    FROM_4(3, 3);
    PIVOT(4, 4);
    FROM_5(4, 4);
    PIVOT(5, 5);
    FROM_6(5, 5);
    PIVOT(6, 6);
    FROM_7(6, 6);
    PIVOT(7, 7);
    FROM_8(7, 7);
    PIVOT(8, 8);
    FROM_9(8, 8);
    PIVOT(9, 9);
    FROM_A(9, 9);
    PIVOT(A, 10);
    FROM_B(A, 10);
    PIVOT(B, 11);
}

/* ---- four rows of a symmetric matrix -------------------------------------------------------- */

/* The first n of sixteen lanes. */
AVX512 static inline __mmask16 lanes(size_t n) { return (__mmask16)((1u << n) - 1u); }

/* Always in the same order, so that a result depends on nothing but its data. */
AVX512 static inline float sum16(__m512 v) {
    const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), high);
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    s = _mm_add_ss(s, _mm_movehdup_ps(s));
    return _mm_cvtss_f32(s);
}

/* One row's share of sixteen columns: y from f, dot product into d. */
#define SHARE(f, d, v)                  \
    do {                                \
        const __m512 w = (v);           \
        yj = _mm512_fmadd_ps(f, w, yj); \
        d = _mm512_fmadd_ps(w, xj, d);  \
    } while (0)

AVX512 static void avx512_rows4(size_t n, const float *a, size_t lda, const float coef[4], const float *x, float *y,
                                float dots[4]) {
    const float *r0 = a, *r1 = a + lda, *r2 = a + 2 * lda, *r3 = a + 3 * lda;
    const __m512 f0 = _mm512_set1_ps(coef[0]), f1 = _mm512_set1_ps(coef[1]);
    const __m512 f2 = _mm512_set1_ps(coef[2]), f3 = _mm512_set1_ps(coef[3]);
    __m512 d0 = _mm512_setzero_ps(), d1 = d0, d2 = d0, d3 = d0; /* even vectors of sixteen columns */
    __m512 e0 = d0, e1 = d0, e2 = d0, e3 = d0;                  /* odd ones */
    size_t j = 0;
    for (; j + 32 <= n; j += 32) {
        __m512 xj = _mm512_loadu_ps(x + j), yj = _mm512_loadu_ps(y + j);
        SHARE(f0, d0, _mm512_loadu_ps(r0 + j));
        SHARE(f1, d1, _mm512_loadu_ps(r1 + j));
        SHARE(f2, d2, _mm512_loadu_ps(r2 + j));
        SHARE(f3, d3, _mm512_loadu_ps(r3 + j));
        _mm512_storeu_ps(y + j, yj);
        xj = _mm512_loadu_ps(x + j + 16);
        yj = _mm512_loadu_ps(y + j + 16);
        SHARE(f0, e0, _mm512_loadu_ps(r0 + j + 16));
        SHARE(f1, e1, _mm512_loadu_ps(r1 + j + 16));
        SHARE(f2, e2, _mm512_loadu_ps(r2 + j + 16));
        SHARE(f3, e3, _mm512_loadu_ps(r3 + j + 16));
        _mm512_storeu_ps(y + j + 16, yj);
    }
    for (; j < n; j += 16) { /* up to two masked vectors */
        const __mmask16 m = lanes(n - j < 16 ? n - j : 16);
        const __m512 xj = _mm512_maskz_loadu_ps(m, x + j);
        __m512 yj = _mm512_maskz_loadu_ps(m, y + j);
        SHARE(f0, d0, _mm512_maskz_loadu_ps(m, r0 + j));
        SHARE(f1, d1, _mm512_maskz_loadu_ps(m, r1 + j));
        SHARE(f2, d2, _mm512_maskz_loadu_ps(m, r2 + j));
        SHARE(f3, d3, _mm512_maskz_loadu_ps(m, r3 + j));
        _mm512_mask_storeu_ps(y + j, m, yj);
    }
    dots[0] += sum16(_mm512_add_ps(d0, e0));
    dots[1] += sum16(_mm512_add_ps(d1, e1));
    dots[2] += sum16(_mm512_add_ps(d2, e2));
    dots[3] += sum16(_mm512_add_ps(d3, e3));
}

/* ---- element by element --------------------------------------------------------------------- */

/* If an operand of min or max is NaN, the result is the second one. For x = NaN, n is garbage, and r and the result
 * are NaN. */
AVX512 static inline __m512 exp16(__m512 x) {
    x = _mm512_max_ps(_mm512_set1_ps(RFM_EXP_LOW), x);
    x = _mm512_min_ps(_mm512_set1_ps(RFM_EXP_HIGH), x);
    const __m512i n = _mm512_cvtps_epi32(_mm512_mul_ps(x, _mm512_set1_ps(RFM_EXP_LOG2E)));
    const __m512 nf = _mm512_cvtepi32_ps(n);
    const __m512 h = _mm512_fnmadd_ps(nf, _mm512_set1_ps(RFM_EXP_LN2_HI), x);
    const __m512 l = _mm512_mul_ps(nf, _mm512_set1_ps(RFM_EXP_LN2_LO));
    const __m512 r = _mm512_fmadd_ps(nf, _mm512_set1_ps(RFM_EXP_LN2_LO), h);
    __m512 q = _mm512_set1_ps(RFM_EXP_Q4);
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(RFM_EXP_Q3));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(RFM_EXP_Q2));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(RFM_EXP_Q1));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(RFM_EXP_Q0));
    q = _mm512_fmadd_ps(q, _mm512_mul_ps(r, r), l);
    const __m512 p = _mm512_add_ps(_mm512_set1_ps(1.0f), _mm512_add_ps(h, q));
    const __m512i half = _mm512_srai_epi32(n, 1), bias = _mm512_set1_epi32(127);
    const __m512i e1 = _mm512_slli_epi32(_mm512_add_epi32(half, bias), 23);
    const __m512i e2 = _mm512_slli_epi32(_mm512_add_epi32(_mm512_sub_epi32(n, half), bias), 23);
    return _mm512_mul_ps(_mm512_mul_ps(p, _mm512_castsi512_ps(e1)), _mm512_castsi512_ps(e2));
}

AVX512 static void avx512_exp(size_t n, const float *x, float *y) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) _mm512_storeu_ps(y + i, exp16(_mm512_loadu_ps(x + i)));
    if (i < n) {
        const __mmask16 m = lanes(n - i);
        _mm512_mask_storeu_ps(y + i, m, exp16(_mm512_maskz_loadu_ps(m, x + i)));
    }
}

AVX512 static void avx512_laplace(size_t n, float inverse, const float *s2, float *phi, float *w) {
    const __m512 scale = _mm512_set1_ps(inverse), minus = _mm512_set1_ps(-inverse);
    size_t i;
    for (i = 0; i < n; i += 16) {
        const __mmask16 m = lanes(n - i < 16 ? n - i : 16);
        const __m512 s = _mm512_sqrt_ps(_mm512_maskz_loadu_ps(m, s2 + i));
        const __m512 e = exp16(_mm512_mul_ps(s, minus));
        _mm512_mask_storeu_ps(phi + i, m, e);
        if (w != NULL) {
            const __mmask16 some = _mm512_cmp_ps_mask(s, _mm512_setzero_ps(), _CMP_NEQ_UQ);
            _mm512_mask_storeu_ps(w + i, m, _mm512_maskz_div_ps(some, _mm512_mul_ps(scale, e), s));
        }
    }
}

/* Looks at the bits, which no compiler flag can change: a number that is not finite has an exponent of all ones. */
AVX512 static int avx512_finite(size_t n, const float *x) {
    const __m512i ones = _mm512_set1_epi32(0x7f800000);
    unsigned bad = 0;
    size_t i = 0;
    for (; i < n; i += 16) {
        const __m512 v = _mm512_maskz_loadu_ps(lanes(n - i < 16 ? n - i : 16), x + i);
        bad |= _mm512_cmpeq_epi32_mask(_mm512_and_si512(_mm512_castps_si512(v), ones), ones);
    }
    return bad == 0;
}

/* ---- packing -------------------------------------------------------------------------------- */

/* Both widths are multiples of four. Where rs = 1 the panel's columns are pieces of memory's rows and are copied, else
 * blocks of four by four are turned. */
AVX512 static void avx512_pack(size_t width, size_t k, const float *a, size_t rs, size_t cs, float *dst) {
    size_t i, p = 0;
    if (rs == 1 && width == NR) {
        for (; p < k; p++) {
            _mm512_storeu_ps(dst + p * NR, _mm512_loadu_ps(a + p * cs));
            _mm512_storeu_ps(dst + p * NR + 16, _mm512_loadu_ps(a + p * cs + 16));
        }
    } else if (rs == 1) {
        for (; p < k; p++) _mm512_mask_storeu_ps(dst + p * MR, lanes(MR), _mm512_maskz_loadu_ps(lanes(MR), a + p * cs));
    } else {
        for (; p + 4 <= k; p += 4)
            for (i = 0; i < width; i += 4) {
                const float *at = a + i * rs + p;
                float *to = dst + p * width + i;
                __m128 r0 = _mm_loadu_ps(at), r1 = _mm_loadu_ps(at + rs);
                __m128 r2 = _mm_loadu_ps(at + 2 * rs), r3 = _mm_loadu_ps(at + 3 * rs);
                _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
                _mm_storeu_ps(to, r0);
                _mm_storeu_ps(to + width, r1);
                _mm_storeu_ps(to + 2 * width, r2);
                _mm_storeu_ps(to + 3 * width, r3);
            }
        for (; p < k; p++)
            for (i = 0; i < width; i++) dst[p * width + i] = a[i * rs + p];
    }
}

/* mc x kc of A is half of a second-level cache of 1 MiB; a panel of B (32 KiB) is the larger part of the first level's
 * 32 or 48 KiB. */
const rfm_port rfm_port_avx512 = {
    "avx512",       MR,          NR,           480,        256,           4096,
    avx512_gemm,    avx512_trsm, avx512_rows4, avx512_exp, avx512_finite, avx512_pack,
    avx512_laplace, avx512_l1,   avx512_signs,
};

#else
typedef int rfm_port_avx512_is_not_for_this_target;
#endif

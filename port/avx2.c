/* rfm port for x86-64 with AVX2 and FMA (Haswell 2013, Zen 2017, and later). Needs no compiler flags with gcc and
 * clang; the caller (or dispatch.c) must have checked the processor. */
#include "rfm_port.h"

#if RFM_PORT_HAVE_X86

#include <immintrin.h>

#include "exp.h"

#if defined(__GNUC__)
#define AVX2 __attribute__((target("avx2,fma")))
#else
#define AVX2
#endif

/* No code, only: keep p and q in registers as they are, and move no memory access across. Otherwise gcc turns the few
 * addressing modes of the k loop into a dozen pointers. */
#if defined(__GNUC__)
#define HOLD(p, q) __asm__ volatile("" : "+r"(p), "+r"(q) : : "memory")
#else
#define HOLD(p, q) ((void)0)
#endif

/* c += a * b, c -= a * b and c += a. gcc is given the instruction itself: it sees the intrinsics as arithmetic, chooses
 * among the three operand orders of FMA, and then rotates and spills the tile. */
#if defined(__GNUC__) && !defined(__clang__)
#define FMADD(c, a, b)  __asm__("{vfmadd231ps %2, %1, %0|vfmadd231ps %0, %1, %2}" : "+x"(c) : "x"(a), "x"(b))
#define FNMADD(c, a, b) __asm__("{vfnmadd231ps %2, %1, %0|vfnmadd231ps %0, %1, %2}" : "+x"(c) : "x"(a), "x"(b))
#define ADDPS(c, a)     __asm__("{vaddps %1, %0, %0|vaddps %0, %0, %1}" : "+x"(c) : "x"(a))
#else
#define FMADD(c, a, b)  ((c) = _mm256_fmadd_ps(a, b, c))
#define FNMADD(c, a, b) ((c) = _mm256_fnmadd_ps(a, b, c))
#define ADDPS(c, a)     ((c) = _mm256_add_ps(c, a))
#endif

#define MR 6
#define NR 16

/* ---- matrix product ------------------------------------------------------------------------- */

/* The tile (6, 16) is twelve registers, row i in ci0, ci1. One step of k: two loads of B, six broadcasts of A, twelve
 * FMAs. That leaves two registers for the broadcasts, enough for two FMAs per cycle. */

#define ROW(op, i, at)                             \
    do {                                           \
        const __m256 ai = _mm256_broadcast_ss(at); \
        op(c##i##0, ai, b0);                       \
        op(c##i##1, ai, b1);                       \
    } while (0)

/* Rows 0, 1, 2 are addressed from a and rows 3, 4, 5 from a3 = a + 3 rs: base + {0, 1, 2} rs is one addressing mode, so
 * any strides cost no more than packed ones. */
#define STEP(op, off)                                     \
    do {                                                  \
        const __m256 b0 = _mm256_loadu_ps(b + (off));     \
        const __m256 b1 = _mm256_loadu_ps(b + (off) + 8); \
        ROW(op, 0, a);                                    \
        ROW(op, 1, a + rs);                               \
        ROW(op, 2, a + 2 * rs);                           \
        ROW(op, 3, a3);                                   \
        ROW(op, 4, a3 + rs);                              \
        ROW(op, 5, a3 + 2 * rs);                          \
        a += cs;                                          \
        a3 += cs;                                         \
        HOLD(a, a3);                                      \
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

#define EACH_ROW(F) F(0) F(1) F(2) F(3) F(4) F(5)

#define ZERO(i) __m256 c##i##0 = _mm256_setzero_ps(), c##i##1 = _mm256_setzero_ps();
#define FETCH(i)                                            \
    _mm_prefetch((const char *)(c + (i)*ldc), _MM_HINT_T0); \
    _mm_prefetch((const char *)(c + (i)*ldc + NR - 1), _MM_HINT_T0);
#define STORE(i)                                              \
    _mm256_storeu_ps(c + (i)*ldc, _mm256_mul_ps(s, c##i##0)); \
    _mm256_storeu_ps(c + (i)*ldc + 8, _mm256_mul_ps(s, c##i##1));
#define ADD(i)                                                                                \
    _mm256_storeu_ps(c + (i)*ldc, _mm256_fmadd_ps(s, c##i##0, _mm256_loadu_ps(c + (i)*ldc))); \
    _mm256_storeu_ps(c + (i)*ldc + 8, _mm256_fmadd_ps(s, c##i##1, _mm256_loadu_ps(c + (i)*ldc + 8)));

AVX2 static void avx2_gemm(size_t k, float alpha, const float *a, size_t rs, size_t cs, const float *b, float *c,
                           size_t ldc, int add) {
    const float *a3 = a + 3 * rs;
    EACH_ROW(ZERO)
    EACH_ROW(FETCH)
    LOOP(FMADD);
    HOLD(c, ldc);
    const __m256 s = _mm256_set1_ps(alpha);
    if (add) {
        EACH_ROW(ADD)
    } else {
        EACH_ROW(STORE)
    }
}

/* ---- sums of absolute differences ----------------------------------------------------------- */

/* The same tile and the same loop; a step is three instructions instead of one. */
#define ABSADD(c, a, b)                                                 \
    do {                                                                \
        const __m256 way = _mm256_andnot_ps(sign, _mm256_sub_ps(a, b)); \
        ADDPS(c, way);                                                  \
    } while (0)

AVX2 static void avx2_l1(size_t k, const float *a, size_t rs, size_t cs, const float *b, float *c, size_t ldc,
                         int add) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const float *a3 = a + 3 * rs;
    EACH_ROW(ZERO)
    LOOP(ABSADD);
    HOLD(c, ldc);
    const __m256 s = _mm256_set1_ps(1.0f); /* a product by 1 is exact */
    if (add) {
        EACH_ROW(ADD)
    } else {
        EACH_ROW(STORE)
    }
}

/* ---- triangular solve ----------------------------------------------------------------------- */

#define LOAD(i) __m256 c##i##0 = _mm256_loadu_ps(t + (i)*NR), c##i##1 = _mm256_loadu_ps(t + (i)*NR + 8);

/* Row q is finished: scale it, store it, and take it out of the rows below. The triangle is at a, by columns. */
#define PIVOT(q)                                                \
    do {                                                        \
        const __m256 d = _mm256_broadcast_ss(a + (q)*MR + (q)); \
        c##q##0 = _mm256_mul_ps(d, c##q##0);                    \
        c##q##1 = _mm256_mul_ps(d, c##q##1);                    \
        _mm256_storeu_ps(t + (q)*NR, c##q##0);                  \
        _mm256_storeu_ps(t + (q)*NR + 8, c##q##1);              \
    } while (0)
#define BELOW(i, q)                                             \
    do {                                                        \
        const __m256 l = _mm256_broadcast_ss(a + (q)*MR + (i)); \
        FNMADD(c##i##0, l, c##q##0);                            \
        FNMADD(c##i##1, l, c##q##1);                            \
    } while (0)
/* The rows from i down, without row q. */
#define FROM_5(q) BELOW(5, q)
#define FROM_4(q) \
    BELOW(4, q);  \
    FROM_5(q)
#define FROM_3(q) \
    BELOW(3, q);  \
    FROM_4(q)
#define FROM_2(q) \
    BELOW(2, q);  \
    FROM_3(q)
#define FROM_1(q) \
    BELOW(1, q);  \
    FROM_2(q)

AVX2 static void avx2_trsm(size_t k, const float *a, float *b) {
    enum { rs = 1, cs = MR };
    float *t = b + k * NR;
    const float *a3 = a + 3 * rs;
    EACH_ROW(LOAD)
    LOOP(FNMADD);
    PIVOT(0);
    FROM_1(0);
    PIVOT(1);
    FROM_2(1);
    PIVOT(2);
    FROM_3(2);
    PIVOT(3);
    FROM_4(3);
    PIVOT(4);
    FROM_5(4);
    PIVOT(5);
}

/* ---- four rows of a symmetric matrix -------------------------------------------------------- */

/* All ones in the first n of eight lanes. */
AVX2 static inline __m256i lanes(size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Always in the same order, so that a result depends on nothing but its data. */
AVX2 static inline float sum8(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    s = _mm_add_ss(s, _mm_movehdup_ps(s));
    return _mm_cvtss_f32(s);
}

/* One row's share of eight columns: y from f, dot product into d. */
#define SHARE(f, d, v)                  \
    do {                                \
        const __m256 w = (v);           \
        yj = _mm256_fmadd_ps(f, w, yj); \
        d = _mm256_fmadd_ps(w, xj, d);  \
    } while (0)

AVX2 static void avx2_rows4(size_t n, const float *a, size_t lda, const float coef[4], const float *x, float *y,
                            float dots[4]) {
    const float *r0 = a, *r1 = a + lda, *r2 = a + 2 * lda, *r3 = a + 3 * lda;
    const __m256 f0 = _mm256_broadcast_ss(coef), f1 = _mm256_broadcast_ss(coef + 1);
    const __m256 f2 = _mm256_broadcast_ss(coef + 2), f3 = _mm256_broadcast_ss(coef + 3);
    __m256 d0 = _mm256_setzero_ps(), d1 = d0, d2 = d0, d3 = d0; /* even vectors of eight columns */
    __m256 e0 = d0, e1 = d0, e2 = d0, e3 = d0;                  /* odd ones */
    size_t j = 0;
    for (; j + 16 <= n; j += 16) {
        __m256 xj = _mm256_loadu_ps(x + j), yj = _mm256_loadu_ps(y + j);
        SHARE(f0, d0, _mm256_loadu_ps(r0 + j));
        SHARE(f1, d1, _mm256_loadu_ps(r1 + j));
        SHARE(f2, d2, _mm256_loadu_ps(r2 + j));
        SHARE(f3, d3, _mm256_loadu_ps(r3 + j));
        _mm256_storeu_ps(y + j, yj);
        xj = _mm256_loadu_ps(x + j + 8);
        yj = _mm256_loadu_ps(y + j + 8);
        SHARE(f0, e0, _mm256_loadu_ps(r0 + j + 8));
        SHARE(f1, e1, _mm256_loadu_ps(r1 + j + 8));
        SHARE(f2, e2, _mm256_loadu_ps(r2 + j + 8));
        SHARE(f3, e3, _mm256_loadu_ps(r3 + j + 8));
        _mm256_storeu_ps(y + j + 8, yj);
    }
    for (; j < n; j += 8) { /* up to two masked vectors */
        const __m256i m = lanes(n - j < 8 ? n - j : 8);
        const __m256 xj = _mm256_maskload_ps(x + j, m);
        __m256 yj = _mm256_maskload_ps(y + j, m);
        SHARE(f0, d0, _mm256_maskload_ps(r0 + j, m));
        SHARE(f1, d1, _mm256_maskload_ps(r1 + j, m));
        SHARE(f2, d2, _mm256_maskload_ps(r2 + j, m));
        SHARE(f3, d3, _mm256_maskload_ps(r3 + j, m));
        _mm256_maskstore_ps(y + j, m, yj);
    }
    dots[0] += sum8(_mm256_add_ps(d0, e0));
    dots[1] += sum8(_mm256_add_ps(d1, e1));
    dots[2] += sum8(_mm256_add_ps(d2, e2));
    dots[3] += sum8(_mm256_add_ps(d3, e3));
}

/* ---- element by element --------------------------------------------------------------------- */

/* If an operand of min or max is NaN, the result is the second one. For x = NaN, n is garbage, and r and the result
 * are NaN. */
AVX2 static inline __m256 exp8(__m256 x) {
    x = _mm256_max_ps(_mm256_set1_ps(RFM_EXP_LOW), x);
    x = _mm256_min_ps(_mm256_set1_ps(RFM_EXP_HIGH), x);
    const __m256i n = _mm256_cvtps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(RFM_EXP_LOG2E)));
    const __m256 nf = _mm256_cvtepi32_ps(n);
    const __m256 h = _mm256_fnmadd_ps(nf, _mm256_set1_ps(RFM_EXP_LN2_HI), x);
    const __m256 l = _mm256_mul_ps(nf, _mm256_set1_ps(RFM_EXP_LN2_LO));
    const __m256 r = _mm256_fmadd_ps(nf, _mm256_set1_ps(RFM_EXP_LN2_LO), h);
    __m256 q = _mm256_set1_ps(RFM_EXP_Q4);
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(RFM_EXP_Q3));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(RFM_EXP_Q2));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(RFM_EXP_Q1));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(RFM_EXP_Q0));
    q = _mm256_fmadd_ps(q, _mm256_mul_ps(r, r), l);
    const __m256 p = _mm256_add_ps(_mm256_set1_ps(1.0f), _mm256_add_ps(h, q));
    const __m256i half = _mm256_srai_epi32(n, 1), bias = _mm256_set1_epi32(127);
    const __m256i e1 = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i e2 = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(n, half), bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(p, _mm256_castsi256_ps(e1)), _mm256_castsi256_ps(e2));
}

AVX2 static void avx2_exp(size_t n, const float *x, float *y) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, exp8(_mm256_loadu_ps(x + i)));
    if (i < n) {
        const __m256i m = lanes(n - i);
        _mm256_maskstore_ps(y + i, m, exp8(_mm256_maskload_ps(x + i, m)));
    }
}

/* phi of one vector of s. */
AVX2 static inline __m256 phi8(__m256 s, __m256 inverse) {
    return exp8(_mm256_xor_ps(_mm256_mul_ps(s, inverse), _mm256_set1_ps(-0.0f)));
}

/* The gradient weight of one vector; where s = 0 the quotient is NaN, and the mask makes it 0. */
AVX2 static inline __m256 weight8(__m256 s, __m256 phi, __m256 inverse) {
    return _mm256_and_ps(_mm256_div_ps(_mm256_mul_ps(phi, inverse), s),
                         _mm256_cmp_ps(s, _mm256_setzero_ps(), _CMP_NEQ_UQ));
}

AVX2 static void avx2_laplace(size_t n, float inverse, const float *s2, float *phi, float *w) {
    const __m256 f = _mm256_set1_ps(inverse);
    size_t i = 0;
    if (w == NULL) {
        for (; i + 8 <= n; i += 8) _mm256_storeu_ps(phi + i, phi8(_mm256_sqrt_ps(_mm256_loadu_ps(s2 + i)), f));
    } else {
        for (; i + 8 <= n; i += 8) {
            const __m256 s = _mm256_sqrt_ps(_mm256_loadu_ps(s2 + i)), u = phi8(s, f);
            _mm256_storeu_ps(phi + i, u);
            _mm256_storeu_ps(w + i, weight8(s, u, f));
        }
    }
    if (i < n) {
        const __m256i m = lanes(n - i);
        const __m256 s = _mm256_sqrt_ps(_mm256_maskload_ps(s2 + i, m)), u = phi8(s, f);
        _mm256_maskstore_ps(phi + i, m, u);
        if (w != NULL) _mm256_maskstore_ps(w + i, m, weight8(s, u, f));
    }
}

/* Looks at the bits, which no compiler flag can change: a number that is not finite has an exponent of all ones. */
AVX2 static int avx2_finite(size_t n, const float *x) {
    const __m256i ones = _mm256_set1_epi32(0x7f800000);
    __m256i bad = _mm256_setzero_si256();
    size_t i = 0;
    for (; i < n; i += 8) {
        const __m256 v = i + 8 <= n ? _mm256_loadu_ps(x + i) : _mm256_maskload_ps(x + i, lanes(n - i));
        const __m256i e = _mm256_and_si256(_mm256_castps_si256(v), ones);
        bad = _mm256_or_si256(bad, _mm256_cmpeq_epi32(e, ones));
    }
    return _mm256_testz_si256(bad, bad);
}

/* ---- packing -------------------------------------------------------------------------------- */

/* Eight columns of eight rows, turned: r[i] lane j becomes r[j] lane i. */
AVX2 static inline void turn8(__m256 r[8]) {
    __m256 t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
    }
}

AVX2 static inline void store6(float *dst, __m256 v) {
    _mm_storeu_ps(dst, _mm256_castps256_ps128(v));
    _mm_storel_pi((__m64 *)(void *)(dst + 4), _mm256_extractf128_ps(v, 1));
}

/* Rows of memory across the panel are copied, rows along it are turned eight columns at a time. A panel of six is
 * written as vectors of eight, each over the surplus of the one before; the last one must not have any. */
AVX2 static void avx2_pack(size_t width, size_t k, const float *a, size_t rs, size_t cs, float *dst) {
    size_t p = 0;
    if (rs == 1 && width == NR) {
        for (; p < k; p++) {
            _mm256_storeu_ps(dst + p * NR, _mm256_loadu_ps(a + p * cs));
            _mm256_storeu_ps(dst + p * NR + 8, _mm256_loadu_ps(a + p * cs + 8));
        }
    } else if (rs == 1) {
        for (; p < k; p++) {
            _mm_prefetch((const char *)(a + p * cs + 64),
                         _MM_HINT_T0); /* the panels after this one, in the same rows */
            _mm_storeu_ps(dst + p * MR, _mm_loadu_ps(a + p * cs));
            _mm_storel_pi((__m64 *)(void *)(dst + p * MR + 4),
                          _mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)(const void *)(a + p * cs + 4)));
        }
    } else if (width == NR) {
        for (; p + 8 <= k; p += 8) {
            for (size_t half = 0; half < NR; half += 8) {
                __m256 r[8];
                for (size_t i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(a + (half + i) * rs + p);
                turn8(r);
                for (size_t i = 0; i < 8; i++) _mm256_storeu_ps(dst + (p + i) * NR + half, r[i]);
            }
        }
    } else {
        for (; p + 8 <= k; p += 8) {
            __m256 r[8];
            for (size_t i = 0; i < MR; i++) r[i] = _mm256_loadu_ps(a + i * rs + p);
            r[6] = r[7] = _mm256_setzero_ps();
            turn8(r);
            for (size_t i = 0; i < 7; i++) _mm256_storeu_ps(dst + (p + i) * MR, r[i]);
            store6(dst + (p + 7) * MR, r[7]);
        }
    }
    for (; p < k; p++)
        for (size_t i = 0; i < width; i++) dst[p * width + i] = a[i * rs + p * cs];
}

const rfm_port rfm_port_avx2 = {
    "avx2",     MR,       NR,          144,       384,          4080,    avx2_gemm, avx2_trsm,
    avx2_rows4, avx2_exp, avx2_finite, avx2_pack, avx2_laplace, avx2_l1, NULL,
};

#else
typedef int rfm_port_avx2_is_not_for_this_target;
#endif

/* The work of rfm_predict_one for Helium (MVE with floats): Cortex-M55 and later.
 *
 * Four rows at a time, of P or of the centres, one per lane: a gathering load takes the same dimension of each, so that nothing has to
 * be added up across lanes and any number of dimensions goes the same way. The exponential is that of m4f.c, four at a time. Where
 * fewer than four rows are left, the other lanes repeat the first of them and do not count. The inner loops are in assembly,
 * because the compiler neither moves the addresses along in the load nor loads four numbers of the vector at once. */
#include "rfm_port.h"

#if RFM_SCORES_HAVE_HELIUM

#include <arm_mve.h>

#define LOG2E 1.44269504f

/* `sum` = r terms: the rows that start at the addresses at + 4, which move on, with the vector x. TERM is what one dimension adds: the
 * rows' numbers in a vector, that of x in a general register. */
#define WALK(TERM) \
    __asm__("vmov.i32 %q[sum], #0\n\t" \
            "wls lr, %[whole], 2f\n" \
            "1:\n\t" \
            "ldmia %[x]!, {r4, r5, r6, r8}\n\t" \
            "vldrw.u32 q2, [%q[at], #4]\n\t" \
            "vldrw.u32 q3, [%q[at], #8]\n\t" TERM("q2", "r4") \
            "vldrw.u32 q2, [%q[at], #12]\n\t" TERM("q3", "r5") \
            "vldrw.u32 q3, [%q[at], #16]!\n\t" TERM("q2", "r6") TERM("q3", "r8") \
            "le lr, 1b\n" \
            "2:\n\t" \
            "wls lr, %[rest], 4f\n" \
            "3:\n\t" \
            "ldr r4, [%[x]], #4\n\t" \
            "vldrw.u32 q2, [%q[at], #4]!\n\t" TERM("q2", "r4") \
            "le lr, 3b\n" \
            "4:" \
            : [at] "+&w"(*at), [sum] "=&w"(sum), [x] "+&r"(x) \
            : [whole] "r"(r / 4), [rest] "r"(r % 4) \
            : "memory", "r4", "r5", "r6", "r8", "lr", "q2", "q3")
#define DOT(A, X) "vfma.f32 %q[sum], " A ", " X "\n\t"
#define DISTANCE(A, X) "vsub.f32 " A ", " A ", " X "\n\tvfma.f32 %q[sum], " A ", " A "\n\t"

static inline float32x4_t dots(uint32x4_t *at, const float *x, size_t r) {
    float32x4_t sum;
    WALK(DOT);
    return sum;
}

static inline float32x4_t distances(uint32x4_t *at, const float *x, size_t r) {
    float32x4_t sum;
    WALK(DISTANCE);
    return sum;
}

/* The addresses of four rows of r numbers, less 4; and of the next ones, after a walk along these, of which `rows` are there. */
static inline uint32x4_t first_rows(const float *a, size_t r) {
    return vaddq_n_u32(vmulq_n_u32(vidupq_n_u32(0, 4), (uint32_t)r), (uint32_t)(uintptr_t)a - 4);
}

static inline uint32x4_t next_rows(uint32x4_t at, size_t r) { return vaddq_n_u32(at, (uint32_t)(12 * r)); }

/* Lanes without a row take the first lane's address. */
static inline uint32x4_t only_rows(uint32x4_t at, size_t rows) {
    return rows < 4 ? vpselq_u32(at, vdupq_n_u32(vgetq_lane_u32(at, 0)), vctp32q((uint32_t)rows)) : at;
}

/* There is no square root of a vector; its lanes are the scalar registers. */
static inline float32x4_t roots(float32x4_t x) {
    register float32x4_t v __asm__("q0") = x;
    __asm__("vsqrt.f32 s0, s0\n\tvsqrt.f32 s1, s1\n\tvsqrt.f32 s2, s2\n\tvsqrt.f32 s3, s3" : "+w"(v));
    return v;
}

/* 2^y, y <= 0; 0 below -126.5 and for NaN. The polynomial is that of m4f.c. */
static inline float32x4_t powers_of_2(float32x4_t y) {
    static const float powers[4] = {0x1.3cf3b2p-7f, 0x1.c6b596p-5f, 0x1.ebf9a4p-3f, 0x1.62e42ap-1f};
    float32x4_t f, p = vdupq_n_f32(0x1.5cb8b8p-10f);
    int32x4_t n;
    y = vmaxnmq_f32(y, vdupq_n_f32(-127.0f));
    n = vcvtnq_s32_f32(y);
    f = vsubq_f32(y, vcvtq_f32_s32(n));
    __asm__("ldm %[powers], {r4, r5, r6, r8}\n\t"
            "vfmas.f32 %q[p], %q[f], r4\n\t"
            "vfmas.f32 %q[p], %q[f], r5\n\t"
            "vfmas.f32 %q[p], %q[f], r6\n\t"
            "vfmas.f32 %q[p], %q[f], r8"
            : [p] "+w"(p)
            : [f] "w"(f), [powers] "r"(powers), "m"(powers)
            : "r4", "r5", "r6", "r8");
    p = vfmasq_n_f32(p, f, 1.0f);
    return vmulq_f32(p, vreinterpretq_f32_s32(vshlq_n_s32(vaddq_n_s32(n, 127), 23)));
}

/* scores (c) += alpha' phi for `rows` rows of alpha. */
static inline void add(float *scores, const float *alpha, size_t c, const float *phi, size_t rows) {
    size_t i, k;
    for (i = 0; i < rows; i++, alpha += c)
        for (k = 0; k < c; k += 4) {
            mve_pred16_t some = vctp32q((uint32_t)(c - k));
            float32x4_t v = vld1q_z_f32(scores + k, some);
            vst1q_p_f32(scores + k, vfmaq_n_f32(v, vld1q_z_f32(alpha + k, some), phi[i]), some);
        }
}

rfm_real rfm_scores_helium(const rfm_model *m, rfm_real *scratch, rfm_real *scores) {
    const float *alpha = m->alpha;
    float *z = scratch + m->d, scale, phi[4];
    size_t d = m->d, r = m->r, c = m->c, left, i;
    float32x4_t largest = vdupq_n_f32(0.0f), four = largest, v;
    uint32x4_t at;
    if (m->kernel > RFM_GAUSSIAN) return -1.0f;
    if (m->metric == RFM_FULL) {
        at = first_rows(m->p, d);
        for (i = 0; i < r; i += 4) {
            at = only_rows(at, r - i);
            v = dots(&at, scratch, d);
            vst1q_p_f32(z + i, v, vctp32q((uint32_t)(r - i)));
            at = next_rows(at, d);
        }
    } else {
        for (i = 0; i < r; i++) z[i] = m->metric == RFM_DIAGONAL ? m->p[i] * scratch[i] : scratch[i];
    }

    scale = -LOG2E / m->bandwidth;
    if (m->kernel == RFM_GAUSSIAN) scale *= 0.5f / m->bandwidth;
    if (c == 4) four = vld1q_f32(scores);
    at = first_rows(m->centers, r);
    for (left = m->n;;) {
        at = only_rows(at, left);
        v = distances(&at, z, r);
        if (m->kernel == RFM_LAPLACE) v = roots(v);
        v = powers_of_2(vmulq_n_f32(v, scale));
        largest = vmaxnmq_f32(largest, v);
        vst1q_f32(phi, v);
        if (left >= 4 && c == 4) {
            four = vfmaq_n_f32(four, vld1q_f32(alpha), phi[0]);
            four = vfmaq_n_f32(four, vld1q_f32(alpha + 4), phi[1]);
            four = vfmaq_n_f32(four, vld1q_f32(alpha + 8), phi[2]);
            four = vfmaq_n_f32(four, vld1q_f32(alpha + 12), phi[3]);
        } else {
            if (c == 4) vst1q_f32(scores, four);
            add(scores, alpha, c, phi, left < 4 ? left : 4);
            if (c == 4) four = vld1q_f32(scores);
        }
        if (left <= 4) break;
        left -= 4;
        alpha += 4 * c;
        at = next_rows(at, r);
    }
    if (c == 4) vst1q_f32(scores, four);
    return vmaxnmvq_f32(0.0f, largest);
}

#else
typedef int rfm_scores_helium_is_for_mve;
#endif

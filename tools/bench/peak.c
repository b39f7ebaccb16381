/* The most that one core can do: fused multiply-adds on registers, nothing from memory. Enough independent chains to
 * cover the latency of two units (up to 5 cycles each, 4 units of 4 on wide Arm cores). */
#include "bench.h"

#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* The chains as named variables: an array might be kept in memory. x = x * f + g converges to 1, so no overflow and no
 * subnormal numbers, which would be slow. */
#define CHAINS  12
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

typedef float (*peak_loop)(size_t rounds);

#if defined(__x86_64__) || defined(__i386__)

__attribute__((target("avx2,fma"))) static float loop_avx2(size_t rounds) {
    __m256 f = _mm256_set1_ps(0.5f), g = f, sum = _mm256_setzero_ps();
    float out[8];
#define DECLARE(i) __m256 x##i = _mm256_set1_ps((float)i);
#define STEP(i)    x##i = _mm256_fmadd_ps(x##i, f, g);
#define ADD(i)     sum = _mm256_add_ps(sum, x##i);
    EACH(DECLARE)
    for (size_t r = 0; r < rounds; r++) {
        EACH(STEP)
    }
    EACH(ADD)
    _mm256_storeu_ps(out, sum);
    return out[0] + out[7];
#undef DECLARE
#undef STEP
#undef ADD
}

__attribute__((target("avx512f"))) static float loop_avx512(size_t rounds) {
    __m512 f = _mm512_set1_ps(0.5f), g = f, sum = _mm512_setzero_ps();
    float out[16];
#define DECLARE(i) __m512 x##i = _mm512_set1_ps((float)i);
#define STEP(i)    x##i = _mm512_fmadd_ps(x##i, f, g);
#define ADD(i)     sum = _mm512_add_ps(sum, x##i);
    EACH(DECLARE)
    for (size_t r = 0; r < rounds; r++) {
        EACH(STEP)
    }
    EACH(ADD)
    _mm512_storeu_ps(out, sum);
    return out[0] + out[15];
#undef DECLARE
#undef STEP
#undef ADD
}

#elif defined(__aarch64__)

static float loop_neon(size_t rounds) {
    /* The instruction adds to its accumulator, so here x = x + f * g grows slowly instead. */
    float32x4_t f = vdupq_n_f32(0.5f), g = vdupq_n_f32(0.001f), sum = vdupq_n_f32(0);
#define DECLARE(i) float32x4_t x##i = vdupq_n_f32((float)i), y##i = vdupq_n_f32((float)-i);
#define STEP(i)                   \
    x##i = vfmaq_f32(x##i, f, g); \
    y##i = vfmaq_f32(y##i, f, g);
#define ADD(i) sum = vaddq_f32(sum, vaddq_f32(x##i, y##i));
    EACH(DECLARE)
    for (size_t r = 0; r < rounds; r++) {
        EACH(STEP)
    }
    EACH(ADD)
    return vgetq_lane_f32(sum, 0) + vgetq_lane_f32(sum, 3);
#undef DECLARE
#undef STEP
#undef ADD
}

#endif

static const struct {
    const char *port;
    peak_loop loop;
    double flops; /* in one round */
} loops[] = {
#if defined(__x86_64__) || defined(__i386__)
    {"avx2", loop_avx2, 2.0 * 8 * CHAINS},
    {"avx512", loop_avx512, 2.0 * 16 * CHAINS},
#elif defined(__aarch64__)
    {"neon", loop_neon, 2.0 * 4 * 2 * CHAINS},
#endif
    {"", NULL, 0},
};

double bench_peak(const char *port) {
    for (size_t i = 0; loops[i].loop; i++)
        if (strcmp(loops[i].port, port) == 0) {
            size_t rounds = 2000000;
            double best = 0;
            volatile float sink = 0; /* the result must be wanted, or the loop is not run */
            for (int repeat = 0; repeat < 12; repeat++) {
                double begin = bench_now();
                sink = sink + loops[i].loop(rounds);
                double rate = loops[i].flops * (double)rounds / (bench_now() - begin) * 1e-9;
                if (rate > best) best = rate;
            }
            return best;
        }
    return 0;
}

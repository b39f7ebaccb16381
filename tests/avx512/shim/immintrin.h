/* Stands in for the compiler's header of this name: AVX-512 as C functions, by SIMDe, on any machine. What SIMDe lacks
 * in some versions is added here; its names are macros, so it can be asked. */
#ifndef SHIM_IMMINTRIN_H
#define SHIM_IMMINTRIN_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#define SIMDE_NO_NATIVE /* no instruction of the machine, so no surprise from it */
#include <math.h>
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>
#include <string.h>

#ifndef _MM_HINT_T0
#define _MM_HINT_T0 SIMDE_MM_HINT_T0
#endif

#ifndef __mmask16
#define __mmask16 simde__mmask16
#endif

/* SIMDe's fused multiply-add may round twice; the library's bounds need one rounding. */
#undef _mm512_fmadd_ps
#undef _mm512_fnmadd_ps
#define _mm512_fmadd_ps(a, b, c)  shim_fma(a, b, c, 1.0f)
#define _mm512_fnmadd_ps(a, b, c) shim_fma(a, b, c, -1.0f)
static inline __m512 shim_fma(__m512 a, __m512 b, __m512 c, float sign) {
    float x[16], y[16], z[16];
    int i;

    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    memcpy(z, &c, sizeof z);
    for (i = 0; i < 16; i++) z[i] = fmaf(sign * x[i], y[i], z[i]);
    memcpy(&c, z, sizeof z);
    return c;
}

#ifndef _mm512_maskz_loadu_ps
#define _mm512_maskz_loadu_ps shim_load
static inline __m512 shim_load(__mmask16 m, const void *at) /* reads no lane that is off */ {
    float x[16] = {0};
    __m512 v;
    int i;

    for (i = 0; i < 16; i++)
        if (m >> i & 1) memcpy(x + i, (const char *)at + 4 * i, 4);
    memcpy(&v, x, sizeof v);
    return v;
}
#endif

#ifndef _mm512_mask_storeu_ps
#define _mm512_mask_storeu_ps shim_store
static inline void shim_store(void *at, __mmask16 m, __m512 v) {
    float x[16];
    int i;

    memcpy(x, &v, sizeof x);
    for (i = 0; i < 16; i++)
        if (m >> i & 1) memcpy((char *)at + 4 * i, x + i, 4);
}
#endif

#ifndef _mm512_cvtps_epi32
#define _mm512_cvtps_epi32 shim_to_int
static inline __m512i shim_to_int(__m512 v) {
    float x[16];
    int32_t n[16];
    __m512i r;
    int i;

    memcpy(x, &v, sizeof x);
    for (i = 0; i < 16; i++) n[i] = fabsf(x[i]) < 2147483648.0f ? (int32_t)lrintf(x[i]) : INT32_MIN; /* NaN too */
    memcpy(&r, n, sizeof r);
    return r;
}
#endif

#ifndef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps shim_to_float
static inline __m512 shim_to_float(__m512i v) {
    float x[16];
    int32_t n[16];
    __m512 r;
    int i;

    memcpy(n, &v, sizeof n);
    for (i = 0; i < 16; i++) x[i] = (float)n[i];
    memcpy(&r, x, sizeof r);
    return r;
}
#endif

#ifndef _mm512_srai_epi32
#define _mm512_srai_epi32 shim_shift_right
static inline __m512i shim_shift_right(__m512i v, unsigned by) {
    int32_t n[16];
    __m512i r;
    int i;

    memcpy(n, &v, sizeof n);
    for (i = 0; i < 16; i++) n[i] = n[i] < 0 ? ~(~n[i] >> by) : n[i] >> by;
    memcpy(&r, n, sizeof r);
    return r;
}
#endif

#endif

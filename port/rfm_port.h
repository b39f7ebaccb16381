/* The ports compiled into this build, and the choice between them at run time.
 *
 * A build that knows its machine needs neither this header's functions nor dispatch.c: it compiles one port file and
 * passes its table, e.g. ctx.port = &rfm_port_neon. A build that doesn't compiles all of port/ and asks
 * rfm_port_auto(). */
#ifndef RFM_PORT_H
#define RFM_PORT_H

#include "rfm.h"

struct rfm_model_i; /* rfm_small.h */

/* Which tables this target has; prediction alone needs none. */
#if RFM_REAL_BYTES == 4 && !defined(RFM_NO_TRAIN) && (defined(__x86_64__) || defined(_M_X64))
#define RFM_PORT_HAVE_X86 1
#else
#define RFM_PORT_HAVE_X86 0
#endif

/* AArch64, or ARMv7-A compiled for NEON with FMA (-mfpu=neon-vfpv4). Little-endian only. */
#if RFM_REAL_BYTES == 4 && !defined(RFM_NO_TRAIN) && defined(__ARM_NEON) && defined(__ARM_FEATURE_FMA) && \
    !defined(__ARM_BIG_ENDIAN)
#define RFM_PORT_HAVE_NEON 1
#else
#define RFM_PORT_HAVE_NEON 0
#endif

/* Which loops for rfm_predict_one it has: Cortex-M with a single-precision FPU (M4F, M7, M33, M55), and with Helium's
 * floats (M55). */
#if RFM_REAL_BYTES == 4 && defined(__GNUC__) && defined(__ARM_ARCH_PROFILE) && defined(__ARM_FP) && \
    defined(__ARM_FEATURE_FMA)
#define RFM_LOOP_HAVE_M4F (__ARM_ARCH_PROFILE == 'M' && (__ARM_FP & 4) != 0)
#else
#define RFM_LOOP_HAVE_M4F 0
#endif
#if RFM_REAL_BYTES == 4 && defined(__ARM_FEATURE_MVE)
#define RFM_LOOP_HAVE_HELIUM ((__ARM_FEATURE_MVE & 2) != 0)
#else
#define RFM_LOOP_HAVE_HELIUM 0
#endif

/* Which loops for rfm_predict_i: Cortex-M with the DSP extension (M4, M7, M33, M55), and with Helium (M55). */
#if defined(__GNUC__) && defined(__ARM_ARCH_PROFILE) && defined(__ARM_FEATURE_DSP) && !defined(__ARM_BIG_ENDIAN)
#define RFM_LOOP_HAVE_DSP (__ARM_ARCH_PROFILE == 'M' && __ARM_FEATURE_DSP == 1)
#else
#define RFM_LOOP_HAVE_DSP 0
#endif
#if defined(__GNUC__) && defined(__ARM_FEATURE_MVE) && !defined(__ARM_BIG_ENDIAN)
#define RFM_LOOP_HAVE_HELIUM_I ((__ARM_FEATURE_MVE & 1) != 0)
#else
#define RFM_LOOP_HAVE_HELIUM_I 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The last argument but one of rfm_predict_one; README.md has the contract. */
#if RFM_LOOP_HAVE_M4F
rfm_real rfm_loop_m4f(const rfm_model *model, rfm_real *scratch, rfm_real *scores); /* m4f.c */
#endif
#if RFM_LOOP_HAVE_HELIUM
rfm_real rfm_loop_helium(const rfm_model *model, rfm_real *scratch, rfm_real *scores); /* helium.c */
#endif

/* The last argument but one of rfm_predict_i. */
#if RFM_LOOP_HAVE_DSP
int32_t rfm_loop_i_dsp(const struct rfm_model_i *model, int16_t *scratch, int32_t *scores); /* dsp.c */
#endif
#if RFM_LOOP_HAVE_HELIUM_I
int32_t rfm_loop_i_helium(const struct rfm_model_i *model, int16_t *scratch, int32_t *scores); /* helium.c */
#endif

#ifndef RFM_NO_TRAIN

#if RFM_PORT_HAVE_X86
extern const rfm_port rfm_port_avx2;   /* AVX2 and FMA: avx2.c */
extern const rfm_port rfm_port_avx512; /* AVX-512F: avx512.c */
#endif
#if RFM_PORT_HAVE_NEON
extern const rfm_port rfm_port_neon; /* neon.c */
#endif

/* The fastest port that this processor and its operating system can run; never NULL. */
const rfm_port *rfm_port_auto(void);

/* A port by name: "scalar", "avx2", "avx512", "neon", or "auto". NULL: no such port in this build, the machine
 * cannot run it, or name is NULL. */
const rfm_port *rfm_port_find(const char *name);

/* The names of all ports in this build, slowest first, index 0 being "scalar", whether or not the machine can run
 * them (rfm_port_find tells); NULL from the first index that has none. */
const char *rfm_port_name(size_t index);

#endif /* RFM_NO_TRAIN */

#ifdef __cplusplus
}
#endif
#endif

/* rfm_private.h - what the sources of the extensions share; not for their users. rfm.c does without it, so that the
 * core is two files. */
#ifndef RFM_PRIVATE_H
#define RFM_PRIVATE_H

#include "rfm.h"

#include <float.h>
#include <string.h>

#define R(x)       ((rfm_real)(x)) /* a constant of the number type */
#define REAL_EPS   RFM_LIMIT(EPSILON)
#define REAL_LEAST RFM_LIMIT(MIN) /* below this numbers lose digits */

static inline size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t max_size(size_t a, size_t b) { return a > b ? a : b; }
static inline rfm_real max_real(rfm_real a, rfm_real b) { return a > b ? a : b; }
static inline int between(int low, int value, int high) { return value >= low && value <= high; }

/* Is this a model whose rows are scaled to one length: a network kernel's, or one of unit rows? */
static inline int on_sphere(const rfm_model *m) {
#ifdef RFM_SPHERE
    return m->kernel >= RFM_NNGP || m->radius > R(0);
#else
    (void)m; /* rfm_model_open refuses them */
    return 0;
#endif
}

/* ---- blobs of the extensions ----
 *
 * Each begins with: 0 magic, 4 CRC-32 of what lies behind 8, 8 bytes of all of it, 12 version (one byte). */

#define COVERED 8 /* the checksum is of everything from here on */

static inline int little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static inline uint32_t get_u16(const unsigned char *at) { return (uint32_t)(at[0] | at[1] << 8); }

/* RFM_OK: all *bytes of it are there, and as they were written. */
static inline int check_blob(const void *blob, size_t size, uint32_t magic, unsigned version, uint32_t head,
                             uint32_t *bytes) {
    const unsigned char *b = (const unsigned char *)blob;
    if (size < head) return RFM_ETRUNCATED;
    if (rfm_get_u32(b) != magic) return RFM_EMAGIC;
    if (b[12] != version) return RFM_EVERSION;
    *bytes = rfm_get_u32(b + 8);
    if (*bytes > size || *bytes < head) return RFM_ETRUNCATED;
    if (rfm_crc32(0, b + COVERED, *bytes - COVERED) != rfm_get_u32(b + 4)) return RFM_ECHECKSUM;
    return little_endian() ? RFM_OK : RFM_ETYPE;
}

/* ---- inputs as integers ---- */

/* 2^e, made of its bits, because firmware may have no libm. */
static inline rfm_real power_of_two(int e) {
    rfm_real value;
#if RFM_REAL_BYTES == 8
    uint64_t bits = (uint64_t)(1023 + e) << 52;
#else
    uint32_t bits = (uint32_t)(127 + e) << 23;
#endif
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* x 2^exponent to the nearest integer, halves away from 0, or the nearest end of the range. */
static inline int16_t integer_of(rfm_real x, int exponent) {
    rfm_real value = x * power_of_two(exponent);
    if (value >= R(32767)) return 32767;
    if (value <= R(-32768)) return -32768;
    return (int16_t)(value < R(0) ? value - R(0.5) : value + R(0.5));
}

/* ---- certificates in integers ---- */

#define T_MOST 0xfffffff4u /* 2^32 - 12, as section 1 of rfm_small.c shows */

/* floor(sqrt(t)) */
static inline uint32_t root_below(uint32_t t) {
    uint32_t root = 0, bit = 1u << 30;
    for (; bit != 0; bit >>= 2) {
        uint32_t next = root + bit;
        root >>= 1;
        if (t >= next) t -= next, root += bit;
    }
    return root;
}

/* a / 2^bits, rounded up; bits < 32 */
static inline uint32_t above(uint32_t a, uint32_t bits) { return (a >> bits) + ((a & ((1u << bits) - 1)) != 0); }

/* t +- 2 rho sqrt(t) + rho^2, rounded to the far side; rho, below 2^15, is in units of 2^-fraction. sqrt(t) < (root +
 * 1) / 2^k with 16 bits of root: the product is below 2^32. */
static inline void t_bounds(uint32_t t, uint32_t rho, uint32_t fraction, uint32_t *low, uint32_t *high) {
    uint32_t square = rho * rho >> 2 * fraction, scaled = t, reach = 0, k = 0;
    if (t > 0) {
        for (; scaled >> 30 == 0; k++) scaled <<= 2;
        reach = above(2 * rho * (root_below(scaled) + 1), k + fraction);
    }
    *low = t - reach + square;
    if (square >= t || (reach > t && reach - t >= square)) *low = 0;
    square = above(rho * rho, 2 * fraction);
    *high = t;
    *high += reach < T_MOST - *high ? reach : T_MOST - *high;
    *high += square < T_MOST - *high ? square : T_MOST - *high;
}

#ifdef RFM_SMALL_H /* for those who included it: models of integers */

/* Element i of P, the centres or alpha. */
static inline int32_t number(int type, const void *at, size_t i) {
    return type == RFM_I8 ? ((const int8_t *)at)[i] : ((const int16_t *)at)[i];
}

/* phi of t by its table. With T = t + 8 = 2^e (1 + f), e >= 3, the node is given by e and the first three bits of f.
 * The next 16 bits say how far T is on the way to the next node. */
static inline int32_t phi_at(const rfm_model_i *m, uint32_t t) {
    const uint16_t *phi;
    uint32_t i = 8 * (31 - 3);
    t += 8;
#if defined(__ARM_FEATURE_CLZ)
    i -= 8 * (uint32_t)__builtin_clz(t);
    t <<= __builtin_clz(t);
#else
    if (t >> 16 == 0) t <<= 16, i -= 8 * 16;
    if (t >> 24 == 0) t <<= 8, i -= 8 * 8;
    if (t >> 28 == 0) t <<= 4, i -= 8 * 4;
    if (t >> 30 == 0) t <<= 2, i -= 8 * 2;
    if (t >> 31 == 0) t <<= 1, i -= 8 * 1;
#endif
    t <<= 1;
    i += t >> 29;
    if (i + 1 >= m->nodes) return 0;
    phi = m->phi + i;
    return phi[0] + ((phi[1] - phi[0]) * (int32_t)(t << 3 >> 16) >> 16);
}

#endif

#ifndef RFM_NO_TRAIN

/* The arc-cosine functions where only a cosine is known; rfm_arc_at has all of them in one call. */
static inline rfm_real rfm_k0(rfm_real u) { return rfm_arc_at(R(1) - u, R(1) + u).k0; }
static inline rfm_real rfm_k1(rfm_real u) { return rfm_arc_at(R(1) - u, R(1) + u).k1; }

static inline int check_view(rfm_cmat a) {
    if (a.at == NULL) return RFM_ENULL;
    if (a.rows == 0 || a.cols == 0) return RFM_EZERO;
    if (a.stride < a.cols) return RFM_ESTRIDE;
    if (a.rows > UINT32_MAX || a.stride > (size_t)PTRDIFF_MAX / sizeof(rfm_real) / a.rows) return RFM_EOVERFLOW;
    return RFM_OK;
}

static inline int finite_view(rfm_cmat a) {
    size_t i;
    for (i = 0; i < a.rows; i++)
        if (!rfm_finite(a.cols, a.at + i * a.stride)) return 0;
    return 1;
}

#endif

#endif

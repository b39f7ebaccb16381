/* rfm.c - the core of rfm; rfm.h has the contract.
 *
 * Contents, each section under a banner of its own; the first six are all there is with RFM_NO_TRAIN:
 *   1. Numbers            constants of the number type, a look at bits
 *   2. Status             texts
 *   3. Small functions    exp and sqrt without libm
 *   4. Models             the blob, opened in place
 *   5. Kernels            phi, and the table of what a kernel is
 *   6. One row            prediction in firmware
 *   7. Sizes and units    sizes that fit, numbers that can be squared
 *   8. Arena              layout and allocation in one
 *   9. Work               jobs, progress
 *  10. Arguments          what every entry point checks
 *  11. Portable kernels   rfm_port_scalar
 *  12. Products           packing, blocked gemm, symmetric rank-k update
 *  13. Cholesky           factor, triangular solves, rank-revealing factor
 *  14. Eigenpairs         tridiagonal form, divide and conquer, back again
 *  15. Distances          from products to phi and its gradient weight
 *  16. Many rows          prediction, kernel values, gradients and their outer products
 *  17. Training           kernel matrix, solve, AGOP, scores, the memory plan and the loop over them
 *  18. Writing models     folding, the blob, the record in it
 *  19. Insight            what a model has learned
 *
 * Notation: (m, n) is a matrix of m rows and n columns, row-major; ' is transposition; eps is the distance from 1 to
 * the next number. Loops over matrices go through one routine, product(), which takes transposes as strides.
 */
#include "rfm.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ==== 1. Numbers ============================================================================= */

#define R(x) ((rfm_real)(x)) /* a constant of the number type: folded by the compiler, never a double at run time */

#define REAL_EPS   RFM_LIMIT(EPSILON)
#define REAL_LEAST RFM_LIMIT(MIN) /* the smallest normal number */
#define REAL_MOST  RFM_LIMIT(MAX)

#if RFM_REAL_BYTES == 8
#define BANDWIDTH_MOST R(1e100)     /* L is at most this, and at least its reciprocal */
#define UNIT_LEAST     R(0x1p-1021) /* 1 / UNIT_LEAST is finite */
#define DISTANCE_LEAST R(0x1p-640)  /* DISTANCE_LEAST / L is normal for every L */
#define INVERSE_MOST   R(0x1p507)   /* INVERSE_MOST^2 is finite */
typedef uint64_t real_bits;
#define REAL_EXPONENT_BITS UINT64_C(0x7ff0000000000000)
#define REAL_SIGN_BIT      UINT64_C(0x8000000000000000)
#else
#define BANDWIDTH_MOST     R(1e12)
#define UNIT_LEAST         R(0x1p-125)
#define DISTANCE_LEAST     R(0x1p-80)
#define INVERSE_MOST       R(0x1p59)
typedef uint32_t real_bits;
#define REAL_EXPONENT_BITS UINT32_C(0x7f800000)
#define REAL_SIGN_BIT      UINT32_C(0x80000000)
#endif

/* The sign bit of the result is set if x is a NaN or an infinity: their exponent is all ones, and adding its lowest
 * bit carries into the sign. */
static real_bits not_finite(rfm_real x) {
    real_bits bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & REAL_EXPONENT_BITS) + (REAL_EXPONENT_BITS & (~REAL_EXPONENT_BITS + 1));
}

RFM_ALONE int rfm_finite(size_t n, const rfm_real *x) {
    real_bits bad = 0;
    size_t i;
    for (i = 0; i < n; i++) bad |= not_finite(x[i]);
    return (bad & REAL_SIGN_BIT) == 0;
}

/* ==== 2. Status ============================================================================== */

const char *rfm_status_text(int status) {
    switch (status) {
    case RFM_OK: return "done";
    case RFM_ENULL: return "a pointer that must not be NULL is NULL";
    case RFM_EZERO: return "a size is zero";
    case RFM_ESHAPE: return "the sizes of the arguments do not fit each other";
    case RFM_ESTRIDE: return "a row stride is smaller than the row";
    case RFM_EOVERFLOW: return "a size is too large to be addressed";
    case RFM_EALIAS: return "an output overlaps another argument";
    case RFM_EFINITE: return "the input holds a NaN or an infinity";
    case RFM_EVALUE: return "an argument is outside its range";
    case RFM_EALIGN: return "memory is not aligned";
    case RFM_EARENA: return "the arena is too small";
    case RFM_ENOTPD: return "the matrix is not positive definite";
    case RFM_ECONVERGE: return "an iteration did not converge";
    case RFM_ERANGE: return "the result is too large for the number type";
    case RFM_ECANCEL: return "cancelled by the tick callback";
    case RFM_EMAGIC: return "this is not a model";
    case RFM_EVERSION: return "the model has a newer format";
    case RFM_ETRUNCATED: return "the model is cut off";
    case RFM_ECHECKSUM: return "the model is damaged";
    case RFM_ECONTENT: return "the model contradicts itself";
    case RFM_ETYPE: return "the model's numbers have another type or byte order";
    case RFM_EFLASH: return "the flash did not do what it was told";
    case RFM_EEMPTY: return "nothing is stored";
    case RFM_EREAD: return "the rows could not be read";
    case RFM_ECHANGED: return "the rows or the model are not those of before";
    default: return "unknown status";
    }
}

/* ==== 3. Small functions ========================================================================
 *
 * What prediction of one row needs from a mathematics library, in float: a few instructions, no errno, no tables, and
 * the same bits on every machine. small_exp: for x <= 0, at most 2.5 ulp from the truth, 0 below -87. small_sqrt:
 * exactly rounded; without an FPU numbers below the normal range count as 0. small_log: for x > 0, error at most
 * 1.2e-7 max(1, |log x|). small_arc: asin(sqrt(h)) for 0 <= h <= 1/2, at most 2.5 ulp from the truth. In double these
 * are libm's.
 */

#if RFM_REAL_BYTES == 8
static rfm_real small_exp(rfm_real x) { return exp(x); }
static rfm_real small_sqrt(rfm_real x) { return sqrt(x); }
static rfm_real small_log(rfm_real x) { return log(x); }
#ifdef RFM_SPHERE
static rfm_real small_arc(rfm_real h) { return asin(sqrt(h)); }
#endif
#else

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

/* 2^n exp(r), |r| <= ln 2 / 2: exp(r) as 1 + r + r^2 q(r), q fitted for the smallest relative error. */
static float small_exp(float x) {
    int n;
    float r, q;
    if (!(x > -87.0f)) return 0.0f;
    n = (int)(x * 1.442695041f - 0.5f); /* x <= 0: rounds to nearest */
    r = x - (float)n * 0.693359375f;    /* ln 2 in two parts, the first exact times n */
    r = r + (float)n * 2.12194440e-4f;
    q = 0.00831252f * r + 0.04189016f;
    q = q * r + 0.16667115f;
    q = q * r + 0.49999231f;
    q = q * r * r + r + 1.0f;
    return float_of(bits_of(q) + ((uint32_t)n << 23)); /* q 2^n, a normal number */
}

#if defined(__ARM_FP) && (__ARM_FP & 4) && !defined(__aarch64__)
static float small_sqrt(float x) {
    __asm__("vsqrt.f32 %0, %1" : "=t"(x) : "t"(x));
    return x;
}
#elif defined(__riscv_flen)
static float small_sqrt(float x) {
    __asm__("fsqrt.s %0, %1" : "=f"(x) : "f"(x));
    return x;
}
#elif defined(__arm__) || defined(__riscv) || defined(RFM_SOFT_SQRT)
/* Without an FPU: bit by bit on the integers, in less than half of the time that the C library takes. x = m 2^e, e
 * even and m in [1, 4). */
static float small_sqrt(float x) {
    uint32_t exponent = bits_of(x) >> 23, odd = (exponent & 1) ^ 1, rest, twice = 0, root = 0, bit;
    if (exponent == 0) return 0.0f;
    if (exponent > 254) return x;
    rest = ((bits_of(x) & 0x7fffffu) | 0x800000u) << (odd + 1);
    for (bit = 1u << 24; bit != 0; bit >>= 1) { /* 25 bits, the last one for rounding; a root is never half way
                                                   between two numbers */
        if (twice + bit <= rest) {
            rest -= twice + bit;
            twice += 2 * bit;
            root += bit;
        }
        rest <<= 1;
    }
    return float_of(((root + 1) >> 1) + ((((exponent + 127 - odd) >> 1) - 1) << 23));
}
#else
static float small_sqrt(float x) { return sqrtf(x); }
#endif

/* log(2^n m) with m in [1/sqrt 2, sqrt 2): 2 artanh((m - 1) / (m + 1)). */
#define ONE_BY_ROOT 0x3f3504f3u /* the bits of 1/sqrt 2 */
static float small_log(float x) {
    uint32_t u = bits_of(x) - ONE_BY_ROOT + 0x3f800000u; /* n + 127, then 23 bits that say m */
    int n = (int)(u >> 23) - 127;
    float m = float_of((u & 0x7fffffu) + ONE_BY_ROOT), t = (m - 1.0f) / (m + 1.0f), t2 = t * t;
    float series = t2 * (0.33333333f + t2 * (0.2f + t2 * (0.14285714f + t2 * 0.11111111f)));
    return (float)n * 0.69314718f + 2.0f * (t + t * series);
}

#ifdef RFM_SPHERE
/* asin(sqrt(h)) as sqrt(h) p(h), p through the Chebyshev nodes of [0, 1/2]. */
static float small_arc(float h) {
    float p = 0.109673984f * h - 0.0900862142f;
    p = p * h + 0.0755397528f;
    p = p * h + 0.0167313889f;
    p = p * h + 0.0464808494f;
    p = p * h + 0.0748811439f;
    p = p * h + 0.166669548f;
    p = p * h + 1.0f;
    return small_sqrt(h) * p;
}
#endif
#endif

static rfm_real small_abs(rfm_real x) { return x < R(0) ? -x : x; }

rfm_real rfm_exp(rfm_real x) { return small_exp(x); }
rfm_real rfm_sqrt(rfm_real x) { return small_sqrt(x); }

#ifdef RFM_SPHERE

/* sin t - t cos t for 0 <= t <= pi / 2, c = cos t; a series where the two cancel. */
static rfm_real lag(rfm_real t, rfm_real sine, rfm_real c) {
    rfm_real t2 = t * t, sum;
    if (t2 > R(0.1)) return sine - t * c;
    sum = R(1.0 / 840) - t2 * (R(1.0 / 45360) - t2 * R(1.0 / 3991680));
    return t * t2 * (R(1.0 / 3) - t2 * (R(1.0 / 30) - t2 * sum));
}

/* With t the angle to the nearer end, 0 or pi: 1 - k1 = minus - lag / pi at the end 0, and k1 = lag / pi at
 * the end pi. */
rfm_arc rfm_arc_at(rfm_real minus, rfm_real plus) {
    const rfm_real share = R(0.318309886183790671538); /* 1 / pi */
    rfm_real least = minus < plus ? minus : plus, t = R(2) * small_arc(R(0.5) * least), part;
    rfm_arc a;
    a.sine = small_sqrt(minus * plus);
    part = share * lag(t, a.sine, R(1) - least);
    t *= share;
    if (minus <= plus)
        a.k0 = R(1) - t, a.below = minus - part, a.k1 = R(1) - a.below;
    else
        a.k0 = t, a.k1 = part, a.below = R(1) - part;
    return a;
}
#endif

/* ==== 4. Models =================================================================================
 *
 * FORMAT.md describes the blob. Numbers are used in place. Firmware of 2 KB has all of the reader in it, so it is
 * short: no 64-bit products, no division.
 */

#define BLOB_MAGIC   0x626d6672u /* "rfmb" */
#define BLOB_MAJOR   1
#define BLOB_COVERED 8  /* the checksum is of everything from here on */
#define BLOB_TABLE   48 /* where the table of sections starts */

/* Sections of a model in floating point, in the order of the table. */
enum { SECTION_SHIFT, SECTION_P, SECTION_CENTERS, SECTION_ALPHA, SECTION_OFFSET, SECTIONS = RFM_SECTION_SUMMARY + 1 };

#define NETWORK_DEPTH 8 /* hidden layers, at most */

static int little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* A field of a blob: `at` is a multiple of 4. */
static uint32_t get_u32(const unsigned char *at) {
    uint32_t u;
    memcpy(&u, RFM_AT_4(at), 4);
    return little_endian() ? u : u >> 24 | (u >> 8 & 0xff00) | (u & 0xff00) << 8 | u << 24;
}

static rfm_real get_float(const unsigned char *at) {
    uint32_t u = get_u32(at);
    float f;
    memcpy(&f, &u, 4);
    return R(f);
}

uint32_t rfm_get_u32(const void *at) {
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

void rfm_put_u32(void *at, uint32_t value) {
    unsigned char *b = (unsigned char *)at;
    b[0] = (unsigned char)value, b[1] = (unsigned char)(value >> 8);
    b[2] = (unsigned char)(value >> 16), b[3] = (unsigned char)(value >> 24);
}

/* Four bits at a time; compiled for size one, without the table. */
uint32_t rfm_crc32(uint32_t crc, const void *at, size_t size) {
    const unsigned char *bytes = (const unsigned char *)at;
    crc = ~crc;
    for (; size > 0; size--) {
#ifdef __OPTIMIZE_SIZE__
        int bit;
        crc ^= *bytes++;
        for (bit = 8; bit > 0; bit--) crc = crc >> 1 ^ (crc & 1) * 0xedb88320;
#else
        static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                           0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                           0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
        crc ^= *bytes++;
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
#endif
    }
    return ~crc;
}

/* A section that lies within the blob, aligned, and *bytes of it; NULL: it does not, or has no bytes. */
static RFM_ALONE const unsigned char *section_at(const unsigned char *blob, uint32_t section, uint32_t *bytes) {
    const unsigned char *entry = blob + BLOB_TABLE + 8 * section;
    uint32_t size = get_u32(blob + 12), offset = get_u32(entry);
    *bytes = get_u32(entry + 4);
    if (*bytes == 0 || offset % RFM_ALIGN != 0 || offset > size || *bytes > size - offset) return NULL;
    return blob + offset;
}

/* Names, if there are any: exactly `strings` of them. */
static int names_right(const unsigned char *blob, uint32_t section, uint32_t strings) {
    uint32_t bytes, i;
    const unsigned char *text = section_at(blob, section, &bytes);
    if (text == NULL) return bytes == 0;
    for (i = 0; i < bytes; i++)
        if (text[i] == 0) strings--;
    return (strings | text[bytes - 1]) == 0;
}

#define SUMMARY_FIXED 32 /* bytes before the path */
#define SUMMARY_STEP  16

/* The summary, if there is one: as long as it says. Its scales are reals, in a blob of integers f32. */
static int summary_right(const unsigned char *blob, uint32_t d) {
    uint32_t bytes, steps, scales, shift = 2 + blob[16] / RFM_F64;
    const unsigned char *summary = section_at(blob, RFM_SECTION_SUMMARY, &bytes);
    if (summary == NULL) return bytes == 0;
    if (bytes < SUMMARY_FIXED) return 0;
    bytes -= SUMMARY_FIXED;
    steps = get_u32(summary + 20), scales = get_u32(summary + 24);
    if (steps > bytes / SUMMARY_STEP || (scales != 0 && scales != d)) return 0;
    bytes -= SUMMARY_STEP * steps;
    return bytes >> shift == scales && bytes == scales << shift;
}

/* Numbers that are not negative have the order of their bits. */
#define BITS_ONE     0x3f800000u /* 1.0f */
#define BITS_TWO     0x40000000u /* 2.0f */
#define BITS_LARGEST 0x7f61b1e6u /* 3.0e38f */

/* The exponent q of a kernel with one: 0 < q <= 2. Where s^2 overflows, phi is 0 for every q above 1/8. Firmware takes
 * no smaller one, so that it need not look for such rows. */
#ifndef RFM_NO_TRAIN
static int exponent_bits_right(uint32_t bits) { return bits - 1 < BITS_TWO; }
#else
static int exponent_bits_right(uint32_t bits) { return (bits - 1) >> 25 == 31; } /* begin as those of 1.9f do */
#endif

#ifdef RFM_SPHERE
/* Kernel, metric and exponent of the head. */
static int kernel_right(const unsigned char *b) {
    /* the upper halves of 1.0f ... 8.0f */
    static const uint16_t depths[NETWORK_DEPTH] = {0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0, 0x4100};
    uint32_t exponent = get_u32(b + 36), metric = b[18] & (RFM_UNIT_ROWS - 1u), i;
#ifdef RFM_SMALL_L1
    if (b[18] - metric > (b[16] < RFM_F32 ? RFM_ABSOLUTE : RFM_UNIT_ROWS)) return 0;
#else
    if (b[18] - metric > RFM_UNIT_ROWS) return 0;
#endif
    if (b[17] >= RFM_KERNELS) return 0;
    if (metric != RFM_FULL && (metric != RFM_DIAGONAL || get_u32(b + 32) != get_u32(b + 24))) return 0;
    if (b[16] < RFM_F32 && (b[17] >= RFM_NNGP || (b[18] & RFM_UNIT_ROWS) != 0))
        return 0; /* integers are not on the sphere */
    if (b[17] < RFM_NNGP) return exponent_bits_right(exponent);
    for (i = 0; i < NETWORK_DEPTH; i++)
        if (exponent == (uint32_t)depths[i] << 16) return 1;
    return 0;
}
#else
static int kernel_right(const unsigned char *b) {
    uint32_t metric = b[18];
#ifdef RFM_SMALL_L1
    if (b[16] < RFM_F32) metric &= ~(uint32_t)RFM_ABSOLUTE;
#endif
    return b[17] < RFM_NNGP && (metric == RFM_FULL || (metric == RFM_DIAGONAL && get_u32(b + 32) == get_u32(b + 24))) &&
           exponent_bits_right(get_u32(b + 36));
}
#endif

/* What the sections say beyond their numbers, and the sizes in the head. */
static int blob_right(const unsigned char *b) {
    uint32_t bytes = get_u32(b + 12), sections = get_u32(b + 44), d = get_u32(b + 24), c = get_u32(b + 28), i;
    if (sections < SECTIONS || sections > (bytes - BLOB_TABLE) / 8) return 0;
    for (i = 20; i <= 32; i += 4) /* n, d, c, r */
        if (get_u32(b + i) == 0) return 0;
    if (!kernel_right(b) || b[19] > RFM_CLASSIFY || get_u32(b + 40) > BITS_LARGEST) return 0;
    return names_right(b, RFM_SECTION_CLASS_NAMES, c == 1 ? 2 : c) && names_right(b, RFM_SECTION_INPUT_NAMES, d) &&
           summary_right(b, d);
}

int rfm_blob_open(const void *blob, size_t size, unsigned types, rfm_blob *head) {
    const unsigned char *b = (const unsigned char *)blob;
    uint32_t bytes;
    if (blob == NULL || head == NULL) return RFM_ENULL;
    if ((uintptr_t)blob % RFM_ALIGN != 0) return RFM_EALIGN;
    if (size < BLOB_TABLE) return RFM_ETRUNCATED;
    if (get_u32(b) != BLOB_MAGIC) return RFM_EMAGIC;
    if ((get_u32(b + 8) & 0xffff) != BLOB_MAJOR) return RFM_EVERSION;
    bytes = get_u32(b + 12);
    if (bytes > size || bytes < BLOB_TABLE + 8 * SECTIONS) return RFM_ETRUNCATED;
    if (rfm_crc32(0, b + BLOB_COVERED, bytes - BLOB_COVERED) != get_u32(b + 4)) return RFM_ECHECKSUM;
    if ((b[16] & types) == 0 || (b[16] & (b[16] - 1u)) != 0 || !little_endian()) return RFM_ETYPE;
    if (!blob_right(b)) return RFM_ECONTENT;
    head->at = b;
    memcpy((unsigned char *)head + offsetof(rfm_blob, type), b + 16, 28); /* type ... temperature */
    return RFM_OK;
}

typedef char blob_is_as_in_memory[offsetof(rfm_blob, temperature) - offsetof(rfm_blob, type) == 24 ? 1 : -1];

/* A section of the table that has count * each bytes, a product that need not fit; NULL: it has not. */
static const unsigned char *array_at(const unsigned char *blob, uint32_t section, uint32_t count, uint32_t each) {
    uint32_t bytes, left;
    const unsigned char *at = section_at(blob, section, &bytes);
    for (left = bytes; each > 0; each--) {
        if (left < count) return NULL;
        left -= count;
    }
    return left == 0 ? at : NULL;
}

const void *rfm_blob_array(const rfm_blob *head, uint32_t section, uint32_t count, uint32_t each, uint32_t bytes) {
    if (section >= get_u32(head->at + 44) || each > UINT32_MAX / bytes) return NULL;
    return array_at(head->at, section, count, each * bytes);
}

RFM_ALONE const void *rfm_blob_section(const rfm_blob *head, uint32_t section) {
    uint32_t bytes;
    return section_at(head->at, section, &bytes);
}

/* A model has a pointer for each section, in the order of the table. */
typedef char pointers_are_as_sections[offsetof(rfm_model, summary) - offsetof(rfm_model, shift) ==
                                              RFM_SECTION_SUMMARY * sizeof(void *)
                                          ? 1
                                          : -1];

/* What an accepted blob says. */
static RFM_ALONE void model_of(const unsigned char *b, rfm_model *model) {
    uint32_t bytes, i;
    model->n = get_u32(b + 20), model->d = get_u32(b + 24), model->c = get_u32(b + 28), model->r = get_u32(b + 32);
    model->kernel = b[17], model->metric = b[18] & (RFM_UNIT_ROWS - 1), model->task = b[19];
    model->bandwidth = R(1), model->exponent = get_float(b + 36), model->temperature = get_float(b + 40);
    for (i = SECTION_SHIFT; i < SECTIONS; i++) { /* shift ... summary */
        const void *at = section_at(b, i, &bytes);
        memcpy(RFM_AT_4((char *)model + offsetof(rfm_model, shift) + i * sizeof at), &at, sizeof at);
    }
#ifdef RFM_SPHERE
    model->radius = R(0);
    if (b[18] >= RFM_UNIT_ROWS)
        model->radius = *(const rfm_real *)(const void *)section_at(b, RFM_SECTION_RADIUS, &bytes);
#endif
}

#ifdef RFM_SPHERE
/* The radius of unit rows: one number within its range. */
static int radius_right(const unsigned char *b) {
    const rfm_real *at = NULL;
    if (get_u32(b + 44) > RFM_SECTION_RADIUS) /* so many sections */
        at = (const rfm_real *)(const void *)array_at(b, RFM_SECTION_RADIUS, 1, sizeof *at);
    return at != NULL && rfm_finite(1, at) && *at >= R(1) / BANDWIDTH_MOST && *at <= BANDWIDTH_MOST;
}
#endif

/* Have the sections of numbers their sizes, and are all numbers finite? Shift d, P r * d, centres n * r, alpha c * n,
 * offset c: what one of them counts is a row of the next, so a row's bytes fit in 32 bits. Two have rows of one number:
 * a diagonal, and the offset. A function of its own, so that rfm_blob_open, which goes deepest, has its stack. */
static RFM_ALONE int numbers_right(const unsigned char *b) {
    static const uint8_t counts[] = {24, 32, 20, 28, 28}; /* where the head has d, r, n, c, c */
    uint32_t count, each = 1, i;
    for (i = SECTION_SHIFT; i <= SECTION_OFFSET; i++, each = count) {
        const void *at;
        count = get_u32(b + counts[i]);
        if (i == SECTION_OFFSET || (i == SECTION_P && (b[18] & RFM_FULL) == 0)) each = 1;
        at = array_at(b, i, count, each * (uint32_t)sizeof(rfm_real));
        if (at == NULL || !rfm_finite((size_t)count * each, (const rfm_real *)at)) return 0;
    }
    return 1;
}

int rfm_model_open(const void *blob, size_t size, rfm_model *model) {
    const unsigned char *b = (const unsigned char *)blob;
    rfm_blob head;
    int status = model == NULL ? RFM_ENULL : rfm_blob_open(blob, size, sizeof(rfm_real), &head);
    if (status != RFM_OK) return status;
    if (b[17] == RFM_L1 && get_u32(b + 36) > BITS_ONE) return RFM_ECONTENT; /* not positive definite */
#ifdef RFM_SPHERE
    if (b[18] >= RFM_UNIT_ROWS && !radius_right(b)) return RFM_ECONTENT;
#endif
    if (!numbers_right(b)) return RFM_ECONTENT;
    model_of(b, model);
    return RFM_OK;
}

void rfm_model_reopen(const void *blob, rfm_model *model) { model_of((const unsigned char *)blob, model); }

/* ==== 5. Kernels ================================================================================
 *
 * phi = exp(-t), t = c (s / L)^q. Norm and exponent of each kernel are in the table rfm_kernels. `distance` is s^2 for
 * a kernel of norm 2, s for one of norm 1. A gradient needs w = -phi'(s) / s for norm 2, -phi'(s) for norm 1. Both are
 * q t phi / distance.
 */

typedef rfm_real (*power_function)(rfm_real s, rfm_real q);

/* log phi = -t, of RFM_LAPLACE and RFM_GAUSSIAN. */
static rfm_real log_phi_plain(int kernel, rfm_real inverse, rfm_real distance) {
    return kernel == RFM_GAUSSIAN ? R(-0.5) * distance * inverse * inverse : -(small_sqrt(distance) * inverse);
}

/* Of the kernels whose q is the model's, and of RFM_LAPLACE with q = 1. `power` is called only for s > 0. */
static rfm_real log_phi_power(int kernel, rfm_real q, rfm_real inverse, rfm_real distance, power_function power) {
    rfm_real s = (kernel == RFM_L1 ? distance : small_sqrt(distance)) * inverse;
    return -(q != R(1) && s > R(0) ? power(s, q) : s);
}

#ifndef RFM_NO_TRAIN
const rfm_kernel rfm_kernels[RFM_KERNELS] = {
    /* by RFM_LAPLACE ... */
    {"laplace", 2, R(1), R(0), 0, 0},          {"gaussian", 2, R(2), R(0), 0, 0},
    {"general", 2, R(0), R(2), 0, 0},          {"l1", 1, R(0), R(1), 1, 0},
    {"nngp", 2, R(0), R(NETWORK_DEPTH), 0, 1}, {"ntk", 2, R(0), R(NETWORK_DEPTH), 0, 1},
};
#endif

#ifdef RFM_SPHERE

/* The network kernels by layers, from minus = 1 - rho and plus = 1 + rho:
 *   r = t = rho, r' = t' = 1;  then depth times, all from the old values,
 *   t' = t' k0(r) + t k0'(r) r' + k0(r) r',  t = t k0(r) + k1(r),  r' = k0(r) r',  r = k1(r).
 * Returns r or t; *slope, if it is not NULL, becomes r' or t'. Near the ends k0' is rounding, and counts as 0: the
 * gradient has no direction there. Beyond the first layer r is not negative. */
#define SINE_LEAST (R(256) * REAL_EPS)
static rfm_real network_value(int kernel, rfm_real depth, rfm_real minus, rfm_real plus, rfm_real *slope) {
    rfm_real t = minus < plus ? R(1) - minus : plus - R(1), r_slope = R(1), t_slope = R(1), r = t;
    for (; depth > R(0.5); depth -= R(1)) {
        rfm_arc a = rfm_arc_at(minus, plus);
        rfm_real k0_slope = a.sine > SINE_LEAST ? R(0.318309886183790671538) / a.sine : R(0);
        t_slope = t_slope * a.k0 + (t * k0_slope + a.k0) * r_slope;
        t = t * a.k0 + a.k1;
        r_slope *= a.k0;
        r = a.k1, minus = a.below, plus = R(2) - a.below;
    }
    if (slope != NULL) *slope = kernel == RFM_NTK ? t_slope : r_slope;
    return kernel == RFM_NTK ? t : r;
}

/* The same by the squared distance of two directions, which rounding may bring beyond 4. */
static rfm_real network_phi(int kernel, rfm_real depth, rfm_real distance, rfm_real *slope) {
    rfm_real minus = distance < R(4) ? R(0.5) * distance : R(2);
    return network_value(kernel, depth, minus, R(2) - minus, slope);
}

/* Scales z (r) to length `to`, and returns the length that it had. Below the normal range it is 0. */
static rfm_real scale_row(size_t r, rfm_real *z, rfm_real to) {
    rfm_real largest = R(0), sum = R(0), factor = R(0);
    size_t i;
    for (i = 0; i < r; i++)
        if (small_abs(z[i]) > largest) largest = small_abs(z[i]);
    if (largest < REAL_LEAST)
        largest = R(0);
    else {
        for (i = 0; i < r; i++) {
            z[i] /= largest;
            sum += z[i] * z[i];
        }
        sum = small_sqrt(sum);
        factor = to / sum;
    }
    for (i = 0; i < r; i++) z[i] *= factor;
    return largest * sum;
}

/* Is this a model whose rows are scaled to one length? */
static int on_sphere(const rfm_model *m) { return m->kernel >= RFM_NNGP || m->radius > R(0); }
#endif

/* s^q, 0 < q <= 2. small_exp takes no positive argument, so a large s goes by way of 1 / s^q. */
static rfm_real small_power(rfm_real s, rfm_real q) {
    rfm_real t = q * small_log(s), e = small_exp(-small_abs(t));
    return t <= R(0) ? e : R(1) / e;
}

#ifndef RFM_NO_TRAIN
static rfm_real exponent_of(int kernel, rfm_real exponent) {
    return rfm_kernels[kernel].exponent != R(0) ? rfm_kernels[kernel].exponent : exponent;
}

rfm_real rfm_phi(int kernel, rfm_real exponent, rfm_real inverse, rfm_real distance, rfm_real *weight) {
    rfm_real q = exponent_of(kernel, exponent), log, phi;
    if (rfm_kernels[kernel].layers) return network_phi(kernel, exponent, distance, weight);
    log = kernel == RFM_GAUSSIAN ? log_phi_plain(kernel, inverse, distance)
                                 : log_phi_power(kernel, q, inverse, distance, small_power);
    phi = small_exp(log);
    if (weight != NULL) *weight = distance > R(0) ? q * -log / distance * phi : R(0);
    return phi;
}

/* The inverse of log_phi: from phi to s. */
rfm_real rfm_phi_distance(int kernel, rfm_real exponent, rfm_real phi) {
    rfm_real t = -RFM_MATH(log)(phi), q = exponent_of(kernel, exponent);
    if (kernel == RFM_GAUSSIAN) t *= R(2);
    return q == R(1) ? t : RFM_MATH(pow)(t, R(1) / q);
}
#endif

/* ==== 6. One row ================================================================================
 *
 * z = P (x - shift), then one centre after the other. Cost r d + n (2 r + c) and n exponentials; no memory but scratch.
 */

/* Of rows a and b (r) and the square of their distance, for the kernels whose q is the model's. */
static rfm_real log_phi_rows(const rfm_model *m, const rfm_real *a, const rfm_real *b, rfm_real distance,
                             rfm_real inverse) {
    size_t r;
    if (m->kernel == RFM_L1)
        for (distance = R(0), r = m->r; r > 0; r--) distance += small_abs(*a++ - *b++);
    return log_phi_power(m->kernel, m->exponent, inverse, distance, small_power);
}

#ifdef RFM_SPHERE
#define NO_PLACE R(-4) /* in place of the largest phi or rho: z is not finite, so it has no direction */

/* The rest of scores_portable for a model on the sphere: z (r) is projected, and is scaled here. */
static rfm_real scores_sphere(const rfm_model *m, rfm_real *z, rfm_real *scores) {
    const rfm_real *center = m->centers, *alpha = m->alpha, inverse = R(1) / m->bandwidth;
    int network = m->kernel >= RFM_NNGP;
    rfm_real largest = R(-1), length, factor = R(1);
    size_t r = m->r, i, j;
    if (!rfm_finite(r, z)) return NO_PLACE;
    length = scale_row(r, z, network ? R(1) : m->radius);
    if (network && length == R(0)) return R(0);
    if (network && !(m->radius > R(0))) factor = length;
    for (i = 0; i < m->n; i++, center += r) {
        rfm_real distance = R(0), phi;
        for (j = 0; j < r; j++) distance += (center[j] - z[j]) * (center[j] - z[j]);
        if (network)
            phi = network_phi(m->kernel, m->exponent, distance, NULL);
        else
            phi = small_exp(m->kernel > RFM_GAUSSIAN ? log_phi_rows(m, center, z, distance, inverse)
                                                     : log_phi_plain(m->kernel, inverse, distance));
        distance = network ? R(1) - R(0.5) * distance : phi;
        if (distance > largest) largest = distance;
        for (j = 0; j < m->c; j++) scores[j] += *alpha++ * phi * factor;
    }
    return largest;
}
#endif

static rfm_real scores_portable(const rfm_model *m, rfm_real *scratch, rfm_real *scores) {
    const rfm_real *p = m->p, *center = m->centers, *alpha = m->alpha, inverse = R(1) / m->bandwidth;
    rfm_real *z = scratch + m->d, largest = R(0);
    size_t d = m->d, r = m->r, c = m->c, i, j;
    for (i = 0; i < r; i++) {
        rfm_real sum = R(0);
        if (m->metric == RFM_FULL)
            for (j = 0; j < d; j++) sum += *p++ * scratch[j];
        else
            sum = m->metric == RFM_DIAGONAL ? p[i] * scratch[i] : scratch[i];
        z[i] = sum;
    }
#ifdef RFM_SPHERE
    if (on_sphere(m)) return scores_sphere(m, z, scores);
#endif
    for (i = m->n; i > 0; i--) { /* the kernels of most models first: every branch counts */
        rfm_real distance = R(0), phi;
        for (j = 0; j < r; j++) {
            rfm_real diff = *center++ - z[j];
            distance += diff * diff;
        }
        if (m->kernel == RFM_LAPLACE)
            phi = log_phi_plain(RFM_LAPLACE, inverse, distance);
        else if (m->kernel == RFM_GAUSSIAN)
            phi = log_phi_plain(RFM_GAUSSIAN, inverse, distance);
        else
            phi = log_phi_rows(m, center - r, z, distance, inverse);
        phi = small_exp(phi);
        if (phi > largest) largest = phi;
        for (j = 0; j < c; j++) scores[j] += *alpha++ * phi;
    }
    return largest;
}

#ifndef RFM_NO_TRAIN
/* Is z (r) so far away that s^2 may overflow, though phi need not be 0 there? It is 0 for any L if q is above 0.28. */
static int beyond_exponent(const rfm_model *m, const rfm_real *z) {
    size_t i;
    if (m->kernel != RFM_GENERAL && m->kernel != RFM_L1) return 0;
    for (i = 0; i < m->r && m->exponent < R(0.28); i++)
        if (!(small_abs(z[i]) <= R(1e15))) return 1;
    return 0;
}
#endif

int rfm_predict_one(const rfm_model *m, const rfm_real *x, rfm_real *scores, rfm_real *scratch, rfm_loop loop,
                    rfm_real *novelty) {
    rfm_real largest = R(-1);
    real_bits bad = 0;
    size_t i;
    if (m == NULL || x == NULL || scores == NULL || scratch == NULL) return RFM_ENULL;
    for (i = 0; i < m->d; i++) {
        bad |= not_finite(x[i]);
        scratch[i] = x[i] - m->shift[i];
    }
    if ((bad & REAL_SIGN_BIT) != 0) return RFM_EFINITE;
    for (i = 0; i < m->c; i++) scores[i] = m->offset != NULL ? m->offset[i] : R(0);
#ifdef RFM_SPHERE
    if (on_sphere(m)) loop = NULL;
#endif
    if (loop != NULL) largest = loop(m, scratch, scores);
    if (largest < R(0)) largest = scores_portable(m, scratch, scores);
    if (novelty != NULL) *novelty = largest;
#ifdef RFM_SPHERE
    if (largest == NO_PLACE) {
        if (novelty != NULL) *novelty = R(0);
        return RFM_ERANGE;
    }
#endif
    /* An infinite z is far from everything: phi is 0. A z that is infinity minus infinity, NaN, has no place at all;
     * then every phi is 0, too, and only z itself tells. */
    if (largest == R(0))
        for (i = 0; i < m->r; i++)
            if (scratch[m->d + i] != scratch[m->d + i]) return RFM_ERANGE;
#ifndef RFM_NO_TRAIN
    if (beyond_exponent(m, scratch + m->d)) return RFM_ERANGE;
#endif
    return rfm_finite(m->c, scores) ? RFM_OK : RFM_ERANGE;
}

size_t rfm_class(const rfm_model *m, const rfm_real *scores, rfm_real *confidence) {
    size_t c = m->c, best = 0, i;
    rfm_real sum = R(0);
    if (confidence != NULL) *confidence = R(0);
    if (m->task != RFM_CLASSIFY) return 0;
    for (i = 1; i < c; i++)
        if (scores[i] > scores[best]) best = i;
    if (confidence != NULL && m->temperature > R(0)) {
        for (i = 0; i < c || i < 2; i++) { /* one score f: two classes of scores f and -f */
            rfm_real behind = i < c ? scores[i] - scores[best] : R(-2) * small_abs(scores[0]);
            sum += small_exp(behind / m->temperature);
        }
        *confidence = R(1) / sum;
    }
    return c == 1 ? scores[0] > R(0) : best;
}

const char *rfm_name(const char *names, size_t i) {
    if (names == NULL) return "";
    while (i-- > 0) names += strlen(names) + 1;
    return names;
}

#ifndef RFM_NO_TRAIN

/* ==== 7. Sizes and units ========================================================================
 *
 * Products of sizes, checked for overflow. Units: powers of two that bring numbers to size 1, so that they can be
 * squared.
 */

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }
static size_t round_up(size_t a, size_t unit) { return (a + unit - 1) / unit * unit; }
static rfm_real max_real(rfm_real a, rfm_real b) { return a > b ? a : b; }

/* *product = a * b; returns 0 if that does not fit into size_t. */
static int multiply_fits(size_t a, size_t b, size_t *product) {
    if (b != 0 && a > SIZE_MAX / b) return 0;
    *product = a * b;
    return 1;
}

static int finite_real(rfm_real x) { return rfm_finite(1, &x); }

/* The power of two that brings `largest` into [1, 2). Numbers divided by it can be squared, and no digit changes.
 * The unit of 0 is 1. */
static rfm_real unit_of(rfm_real largest) {
    real_bits bits;
    rfm_real unit;
    memcpy(&bits, &largest, sizeof bits);
    bits &= REAL_EXPONENT_BITS; /* the exponent bits alone are a power of two */
    memcpy(&unit, &bits, sizeof unit);
    return largest == R(0) ? R(1) : max_real(unit, UNIT_LEAST);
}

rfm_real rfm_largest(size_t n, const rfm_real *x) {
    rfm_real largest = R(0);
    size_t i;
    for (i = 0; i < n; i++) largest = max_real(largest, RFM_MATH(fabs)(x[i]));
    return largest;
}

static rfm_real largest_entry(rfm_cmat a) {
    rfm_real largest = R(0);
    size_t i;
    for (i = 0; i < a.rows; i++) largest = max_real(largest, rfm_largest(a.cols, a.at + i * a.stride));
    return largest;
}

static void multiply(size_t n, rfm_real *x, rfm_real by) {
    size_t i;
    for (i = 0; i < n; i++) x[i] *= by;
}

/* ==== 8. Arena =============================================================================== */

/* Under AddressSanitizer every block is followed by a red zone, and what is not handed out is poisoned. Under
 * MemorySanitizer a block's contents are undefined when it is handed out. */
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#elif __has_feature(memory_sanitizer)
#define ARENA_MSAN 1
#endif
#endif

#ifdef ARENA_ASAN
void __asan_poison_memory_region(void const volatile *at, size_t size);
void __asan_unpoison_memory_region(void const volatile *at, size_t size);
#define ARENA_POISON(at, size)   __asan_poison_memory_region(at, size)
#define ARENA_UNPOISON(at, size) __asan_unpoison_memory_region(at, size)
#define ARENA_RED_ZONE           RFM_ALIGN
#elif defined(ARENA_MSAN)
void __msan_allocated_memory(const volatile void *at, size_t size);
#define ARENA_POISON(at, size)   ((void)(at), (void)(size))
#define ARENA_UNPOISON(at, size) __msan_allocated_memory(at, size)
#define ARENA_RED_ZONE           0
#else
#define ARENA_POISON(at, size)   ((void)(at), (void)(size))
#define ARENA_UNPOISON(at, size) ((void)(at), (void)(size))
#define ARENA_RED_ZONE           0
#endif

int rfm_arena_init(rfm_arena *arena, void *memory, size_t size) {
    if (arena == NULL || memory == NULL) return RFM_ENULL;
    if ((uintptr_t)memory % RFM_ALIGN != 0) return RFM_EALIGN;
    arena->base = (unsigned char *)memory;
    arena->size = size;
    arena->used = 0;
    arena->peak = 0;
    arena->status = RFM_OK;
    ARENA_POISON(memory, size);
    return RFM_OK;
}

void rfm_arena_measure(rfm_arena *arena) {
    arena->base = NULL;
    arena->size = SIZE_MAX;
    arena->used = 0;
    arena->peak = 0;
    arena->status = RFM_OK;
}

void *rfm_arena_take(rfm_arena *arena, size_t count, size_t size) {
    size_t bytes;
    unsigned char *block;
    if (arena->status != RFM_OK) return NULL;
    if (!multiply_fits(count, size, &bytes) || bytes > SIZE_MAX - (RFM_ALIGN + ARENA_RED_ZONE)) {
        arena->status = RFM_EOVERFLOW;
        return NULL;
    }
    bytes = round_up(bytes, RFM_ALIGN) + ARENA_RED_ZONE;
    if (bytes > arena->size - arena->used) {
        arena->status = arena->base == NULL ? RFM_EOVERFLOW : RFM_EARENA;
        return NULL;
    }
    block = arena->base == NULL ? NULL : arena->base + arena->used;
    arena->used += bytes;
    arena->peak = max_size(arena->peak, arena->used);
    if (block != NULL) ARENA_UNPOISON(block, count * size);
    return block;
}

void rfm_arena_release(rfm_arena *arena, size_t used) {
    if (used > arena->used) return;
    if (arena->base != NULL) ARENA_POISON(arena->base + used, arena->used - used);
    arena->used = used;
}

rfm_real *rfm_arena_reals(rfm_arena *arena, size_t rows, size_t cols) {
    size_t count;
    if (!multiply_fits(rows, cols, &count)) {
        if (arena->status == RFM_OK) arena->status = RFM_EOVERFLOW;
        return NULL;
    }
    return (rfm_real *)rfm_arena_take(arena, count, sizeof(rfm_real));
}

static uint32_t *take_indices(rfm_arena *arena, size_t count) {
    return (uint32_t *)rfm_arena_take(arena, count, sizeof(uint32_t));
}

uint32_t rfm_random_start(uint32_t seed) {
    uint32_t state = seed * UINT32_C(2654435761) + UINT32_C(0x9e3779b9);
    return state != 0 ? state : 1;
}

uint32_t rfm_random(uint32_t *state) {
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

/* Packed panels of a vector port start on a cache line. The padding is taken whether or not the arena's address needs
 * it, so that the need does not depend on the address. */
#define CACHE_LINE 64
static rfm_real *take_panels(rfm_arena *arena, const rfm_port *port, size_t rows, size_t cols) {
    size_t pad = port->nr * sizeof(rfm_real) <= RFM_ALIGN ? 0 : (CACHE_LINE - RFM_ALIGN) / sizeof(rfm_real);
    size_t count;
    rfm_real *block;
    if (!multiply_fits(rows, cols, &count) || count > SIZE_MAX - pad) {
        if (arena->status == RFM_OK) arena->status = RFM_EOVERFLOW;
        return NULL;
    }
    block = rfm_arena_reals(arena, 1, count + pad);
    if (block != NULL && pad != 0)
        block += (CACHE_LINE - (uintptr_t)block % CACHE_LINE) % CACHE_LINE / sizeof(rfm_real);
    return block;
}

/* ==== 9. Work ===================================================================================
 *
 * Jobs for the caller's workers, and how much of the whole is done.
 */

static const rfm_port *port_of(const rfm_ctx *ctx) { return ctx->port != NULL ? ctx->port : &rfm_port_scalar; }
size_t rfm_workers(const rfm_ctx *ctx) { return ctx->run != NULL && ctx->workers > 1 ? ctx->workers : 1; }

void rfm_jobs(const rfm_ctx *ctx, rfm_job job, void *arg, size_t jobs) {
    size_t i;
    if (rfm_workers(ctx) > 1 && jobs > 1) {
        ctx->run(ctx->pool, job, arg, jobs);
        return;
    }
    for (i = 0; i < jobs; i++) job(arg, i, 0);
}

/* Work that is done and the total, in any unit. */
typedef struct {
    const rfm_ctx *ctx;
    rfm_real done, total;
    int cancelled;
} progress;

/* Adds to what is done and calls the tick; 1: stop. p may be NULL. */
static int advance(progress *p, rfm_real work) {
    if (p == NULL) return 0;
    p->done += work;
    if (p->ctx->tick != NULL && !p->cancelled)
        p->cancelled = p->ctx->tick(p->ctx->tick_arg, p->done < p->total ? p->done / p->total : R(1)) != 0;
    return p->cancelled;
}

/* ==== 10. Arguments ========================================================================== */

rfm_mat rfm_view(rfm_real *at, size_t rows, size_t cols) {
    rfm_mat v;
    v.at = at, v.rows = rows, v.cols = cols, v.stride = cols;
    return v;
}

rfm_cmat rfm_cview(const rfm_real *at, size_t rows, size_t cols) {
    rfm_cmat v;
    v.at = at, v.rows = rows, v.cols = cols, v.stride = cols;
    return v;
}

rfm_cmat rfm_const(rfm_mat a) {
    rfm_cmat v;
    v.at = a.at, v.rows = a.rows, v.cols = a.cols, v.stride = a.stride;
    return v;
}

/* An arena to work in; a measuring arena has no memory. */
static int check_arena(const rfm_arena *arena) {
    if (arena == NULL) return RFM_ENULL;
    return arena->status == RFM_OK && arena->base == NULL ? RFM_EARENA : arena->status;
}

static int check_ctx(const rfm_ctx *ctx) { return ctx == NULL ? RFM_ENULL : check_arena(ctx->arena); }

/* The shape of a matrix that can exist: not empty, indices of 32 bits, at most half of the address space. */
static int check_shape(size_t rows, size_t cols) {
    size_t count;
    if (rows == 0 || cols == 0) return RFM_EZERO;
    if (rows > UINT32_MAX || cols > UINT32_MAX) return RFM_EOVERFLOW;
    if (!multiply_fits(rows, cols, &count) || count > (size_t)PTRDIFF_MAX / sizeof(rfm_real)) return RFM_EOVERFLOW;
    return RFM_OK;
}

static int check_view(rfm_cmat a) {
    if (a.at == NULL) return RFM_ENULL;
    if (a.rows == 0 || a.cols == 0) return RFM_EZERO;
    if (a.stride < a.cols) return RFM_ESTRIDE;
    return check_shape(a.rows, a.stride);
}

static int check_square(rfm_cmat a) {
    int status = check_view(a);
    if (status == RFM_OK && a.rows != a.cols) status = RFM_ESHAPE;
    return status;
}

static int bytes_overlap(const void *a, size_t a_size, const void *b, size_t b_size) {
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y ? y - x < a_size : x - y < b_size;
}

static size_t view_bytes(rfm_cmat a) { return ((a.rows - 1) * a.stride + a.cols) * sizeof(rfm_real); }

/* Views of equal stride may be interleaved: two column blocks of one matrix do not overlap. */
static int views_overlap(rfm_cmat a, rfm_cmat b) {
    uintptr_t x = (uintptr_t)a.at, y = (uintptr_t)b.at, bytes = x < y ? y - x : x - y;
    if (!bytes_overlap(a.at, view_bytes(a), b.at, view_bytes(b))) return 0;
    if (a.stride == b.stride && bytes % sizeof(rfm_real) == 0) {
        size_t offset = bytes / sizeof(rfm_real) % a.stride;
        rfm_cmat first = x < y ? a : b, second = x < y ? b : a;
        if (offset >= first.cols && offset + second.cols <= a.stride) return 0;
    }
    return 1;
}

static int finite_row(const rfm_port *port, size_t n, const rfm_real *x) {
    return port->finite != NULL ? port->finite(n, x) : rfm_finite(n, x);
}

static int finite_view(const rfm_port *port, rfm_cmat a) {
    size_t i;
    if (a.stride == a.cols) return finite_row(port, a.rows * a.cols, a.at);
    for (i = 0; i < a.rows; i++)
        if (!finite_row(port, a.cols, a.at + i * a.stride)) return 0;
    return 1;
}

static int finite_upper(const rfm_port *port, rfm_cmat a) {
    size_t i;
    for (i = 0; i < a.rows; i++)
        if (!finite_row(port, a.cols - i, a.at + i * a.stride + i)) return 0;
    return 1;
}

/* ==== 11. Portable kernels =================================================================== */

#define SCALAR_MR 4
#define SCALAR_NR 4

static void gemm_scalar(size_t k, rfm_real alpha, const rfm_real *a, size_t rs, size_t cs, const rfm_real *b,
                        rfm_real *c, size_t ldc, int add) {
    rfm_real t[SCALAR_MR][SCALAR_NR];
    size_t i, j, p;
    for (i = 0; i < SCALAR_MR; i++)
        for (j = 0; j < SCALAR_NR; j++) t[i][j] = R(0);
    for (p = 0; p < k; p++, a += cs, b += SCALAR_NR)
        for (i = 0; i < SCALAR_MR; i++)
            for (j = 0; j < SCALAR_NR; j++) t[i][j] += a[i * rs] * b[j];
    for (i = 0; i < SCALAR_MR; i++, c += ldc)
        for (j = 0; j < SCALAR_NR; j++) c[j] = add ? c[j] + alpha * t[i][j] : alpha * t[i][j];
}

static void trsm_portable(size_t mr, size_t nr, size_t k, const rfm_real *a, rfm_real *b) {
    rfm_real *t = b + k * nr;
    size_t i, j, p;
    for (i = 0; i < mr; i++, t += nr) {
        for (p = 0; p < k + i; p++)
            for (j = 0; j < nr; j++) t[j] -= a[p * mr + i] * b[p * nr + j];
        for (j = 0; j < nr; j++) t[j] *= a[(k + i) * mr + i];
    }
}

/* A few columns of the tile at a time, so that their sums are in registers. */
#define L1_COLUMNS 4
static void l1_portable(size_t mr, size_t nr, size_t k, const rfm_real *a, size_t rs, size_t cs, const rfm_real *b,
                        rfm_real *c, size_t ldc, int add) {
    size_t i, j, p, q, cols;
    for (i = 0; i < mr; i++, a += rs, c += ldc)
        for (j = 0; j < nr; j += cols) {
            rfm_real t[L1_COLUMNS] = {R(0)};
            cols = min_size(L1_COLUMNS, nr - j);
            for (p = 0; p < k; p++)
                for (q = 0; q < cols; q++) t[q] += RFM_MATH(fabs)(a[p * cs] - b[p * nr + j + q]);
            for (q = 0; q < cols; q++) c[j + q] = add ? c[j + q] + t[q] : t[q];
        }
}

static void signs_portable(size_t n, size_t r, size_t c, const rfm_real *z, const rfm_real *x, const rfm_real *w,
                           rfm_real *h, size_t ldh) {
    rfm_real signs[16];
    size_t i, k, q, first, count;
    for (first = 0; first < r; first += count) {
        count = min_size(16, r - first);
        for (i = 0; i < n; i++) {
            const rfm_real *at = z + i * r + first;
            for (q = 0; q < count; q++) signs[q] = R((at[q] > x[first + q]) - (at[q] < x[first + q]));
            for (k = 0; k < c; k++)
                for (q = 0; q < count; q++) h[k * ldh + first + q] += w[i * c + k] * signs[q];
        }
    }
}

static void rows4_portable(size_t n, const rfm_real *a, size_t lda, const rfm_real coef[4], const rfm_real *x,
                           rfm_real *y, rfm_real dots[4]) {
    const rfm_real *a0 = a, *a1 = a + lda, *a2 = a1 + lda, *a3 = a2 + lda;
    rfm_real d0 = R(0), d1 = R(0), d2 = R(0), d3 = R(0);
    size_t j;
    for (j = 0; j < n; j++) {
        rfm_real xj = x[j];
        d0 += a0[j] * xj, d1 += a1[j] * xj, d2 += a2[j] * xj, d3 += a3[j] * xj;
        y[j] += (coef[0] * a0[j] + coef[1] * a1[j]) + (coef[2] * a2[j] + coef[3] * a3[j]);
    }
    dots[0] += d0, dots[1] += d1, dots[2] += d2, dots[3] += d3;
}

static void exp_portable(size_t n, const rfm_real *x, rfm_real *y) {
    size_t i;
    for (i = 0; i < n; i++) y[i] = RFM_MATH(exp)(x[i]);
}

const rfm_port rfm_port_scalar = {
    "scalar", SCALAR_MR, SCALAR_NR, 64, 128, 1024, gemm_scalar, NULL, NULL, exp_portable, NULL, NULL, NULL, NULL, NULL,
};

static void port_trsm(const rfm_port *port, size_t k, const rfm_real *a, rfm_real *b) {
    if (port->trsm != NULL)
        port->trsm(k, a, b);
    else
        trsm_portable(port->mr, port->nr, k, a, b);
}

static void port_l1(const rfm_port *port, size_t k, const rfm_real *a, size_t rs, size_t cs, const rfm_real *b,
                    rfm_real *c, size_t ldc, int add) {
    if (port->l1 != NULL)
        port->l1(k, a, rs, cs, b, c, ldc, add);
    else
        l1_portable(port->mr, port->nr, k, a, rs, cs, b, c, ldc, add);
}

static void port_signs(const rfm_port *port, size_t n, size_t r, size_t c, const rfm_real *z, const rfm_real *x,
                       const rfm_real *w, rfm_real *h, size_t ldh) {
    (port->signs != NULL ? port->signs : signs_portable)(n, r, c, z, x, w, h, ldh);
}

static void port_exp(const rfm_port *port, size_t n, rfm_real *x) {
    (port->exp != NULL ? port->exp : exp_portable)(n, x, x);
}

static void port_rows4(const rfm_port *port, size_t n, const rfm_real *a, size_t lda, const rfm_real coef[4],
                       const rfm_real *x, rfm_real *y, rfm_real dots[4]) {
    if (port->rows4 != NULL)
        port->rows4(n, a, lda, coef, x, y, dots);
    else
        rows4_portable(n, a, lda, coef, x, y, dots);
}

/* ==== 12. Products ==============================================================================
 *
 * C (m, n) = alpha A B + beta C, A (m, k), B (k, n), each operand with two strides, so that a transpose costs nothing.
 * B is packed kc x nc at a time (shared by all workers), A mc x kc at a time (per worker); the port's micro-kernel
 * makes tiles of mr x nr. With few columns A would be packed for little use, so then the micro-kernel reads it in
 * place. The order of the sums depends on the sizes and the port only. Cost 2 m n k; scratch: one block of B, a block
 * of A and a tile per worker.
 */

/* Element (i, j) is at[i * rs + j * cs]. If rows_of is not NULL or symmetric is set, the operand is a symmetric
 * matrix with a zero diagonal, of which only the part below the diagonal is stored, in rows rs apart. Its row i is
 * row + i, or rows_of[row + i]; its column j is col + j. */
typedef struct {
    const rfm_real *at;
    size_t rs, cs;
    int symmetric;
    const uint32_t *rows_of;
    size_t row, col;
} operand;

static operand operand_of(const rfm_real *at, size_t rs, size_t cs) {
    operand o;
    o.at = at, o.rs = rs, o.cs = cs;
    o.symmetric = 0, o.rows_of = NULL, o.row = 0, o.col = 0;
    return o;
}

static operand operand_symmetric(const rfm_real *at, size_t ld, const uint32_t *rows_of, size_t row) {
    operand o = operand_of(at, ld, 1);
    o.symmetric = 1, o.rows_of = rows_of, o.row = row;
    return o;
}

/* The operand without its first i rows and j columns. */
static operand operand_from(operand o, size_t i, size_t j) {
    if (o.symmetric)
        o.row += i, o.col += j;
    else
        o.at += i * o.rs + j * o.cs;
    return o;
}

/* Room for packed blocks; the port and the workers. */
typedef struct {
    const rfm_ctx *ctx;
    const rfm_port *port;
    rfm_real *a;    /* workers x a_size */
    rfm_real *b;    /* (kc, nc) in panels */
    rfm_real *tile; /* workers x (mr, nr) */
    size_t a_size;
} packing;

/* Room for any product of at most m, n, k. */
static int packing_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t m, size_t n, size_t k, packing *s) {
    const rfm_port *port = port_of(ctx);
    size_t workers = rfm_workers(ctx), kb = min_size(k, port->kc), nb = min_size(n, port->nc);
    s->ctx = ctx;
    s->port = port;
    s->a_size = min_size(round_up(min_size(m, port->mc * port->kc), port->mr) * kb, port->mc * port->kc);
    s->a = take_panels(arena, port, workers, s->a_size);
    s->b = take_panels(arena, port, round_up(nb, port->nr), kb);
    s->tile = take_panels(arena, port, workers, port->mr * port->nr);
    return arena->status;
}

/* One panel: dst[p * width + i] = A(i, p) for `rows` of its `width` rows, zeros for the others. */
static void pack_panel(const rfm_port *port, size_t width, size_t rows, size_t k, operand from, rfm_real *dst) {
    size_t i, p;
    if (rows == width && port->pack != NULL) {
        port->pack(width, k, from.at, from.rs, from.cs, dst);
        return;
    }
    for (p = 0; p < k; p++) {
        for (i = 0; i < rows; i++) dst[p * width + i] = from.at[i * from.rs + p * from.cs];
        for (; i < width; i++) dst[p * width + i] = R(0);
    }
}

/* One panel of a symmetric operand. Left of the diagonal it is copied; right of it the stored part is transposed. */
static void pack_symmetric(const rfm_port *port, size_t width, size_t rows, size_t k, operand from, rfm_real *dst) {
    size_t i, p, before, beyond;
    if (from.rows_of == NULL) {
        before = from.row > from.col ? min_size(k, from.row - from.col) : 0;
        beyond = from.row + rows > from.col ? min_size(k, from.row + rows - from.col) : 0;
        pack_panel(port, width, rows, before, operand_of(from.at + from.row * from.rs + from.col, from.rs, 1), dst);
        pack_panel(port, width, rows, k - beyond,
                   operand_of(from.at + (from.col + beyond) * from.rs + from.row, 1, from.rs), dst + beyond * width);
    } else
        before = 0, beyond = k;
    for (p = before; p < beyond; p++) {
        size_t col = from.col + p;
        for (i = 0; i < rows; i++) {
            size_t row = from.rows_of != NULL ? from.rows_of[from.row + i] : from.row + i;
            dst[p * width + i] = row > col   ? from.at[row * from.rs + col]
                                 : row < col ? from.at[col * from.rs + row]
                                             : R(0);
        }
        for (; i < width; i++) dst[p * width + i] = R(0);
    }
}

/* Packs A (count, k) in panels of `width` rows; or B, with its rows and columns exchanged. Memory is always read
 * along its rows. If those lie across the panels, PACK_STREAMS of them at a time go through all panels. */
#define PACK_STREAMS 32
static void pack(const rfm_port *port, size_t width, size_t count, size_t k, operand from, rfm_real *dst) {
    size_t step = from.rs == 1 || from.symmetric ? PACK_STREAMS : k, first, p;
    for (p = 0; p < k; p += step)
        for (first = 0; first < count; first += width)
            (from.symmetric ? pack_symmetric : pack_panel)(port, width, min_size(width, count - first),
                                                           min_size(step, k - p), operand_from(from, first, p),
                                                           dst + first * k + p * width);
}

/* The length of the pieces when `size` is cut into as few equal ones as possible, of at most `most`, multiples of
 * unit. */
static size_t piece(size_t size, size_t most, size_t unit) {
    size_t pieces = (size + most - 1) / most;
    return min_size(round_up((size + pieces - 1) / pieces, unit), most);
}

/* Called for a block of C while it is still in the cache: rows row.. and columns col.. of the whole C. c is the
 * block's first element. */
typedef void (*finish_block)(const void *arg, size_t row, size_t rows, size_t col, size_t cols, rfm_real *c, size_t ldc,
                             size_t worker);

typedef struct {
    const packing *s;
    operand a;         /* A from the first row of C and the current p on */
    const rfm_real *b; /* packed (k, n), panels of b_rows rows */
    rfm_real *c;       /* (m, n) */
    size_t ldc, m, n, k, mb, b_rows;
    size_t column; /* the column of the whole result that C starts at, for `upper` */
    rfm_real alpha;
    int add, upper, in_place;
    int l1;              /* 1: sums of |a - b| in place of products; alpha is ignored */
    finish_block finish; /* NULL: nothing */
    const void *finish_arg;
} product_args;

static void make_tile(const product_args *t, const rfm_real *a, size_t rs, size_t cs, const rfm_real *b, rfm_real *c,
                      size_t ldc, int add) {
    if (t->l1)
        port_l1(t->s->port, t->k, a, rs, cs, b, c, ldc, add);
    else
        t->s->port->gemm(t->k, t->alpha, a, rs, cs, b, c, ldc, add);
}

/* One tile: rows row.. of C, and columns of the block from j on. */
static void product_tile(const product_args *t, size_t row, size_t height, size_t j, size_t cols, const rfm_real *a,
                         size_t rs, size_t cs, rfm_real *tile) {
    const rfm_port *port = t->s->port;
    size_t nr = port->nr, ldc = t->ldc, i, q;
    const rfm_real *b = t->b + j * t->b_rows;
    rfm_real *c = t->c + row * ldc + j;
    int crosses = t->upper && row + height > t->column + j + 1; /* 1: the tile has elements below the diagonal */
    if (height == port->mr && cols == nr && !crosses) {
        make_tile(t, a, rs, cs, b, c, ldc, t->add);
        return;
    }
    make_tile(t, a, rs, cs, b, tile, nr, 0);
    for (i = 0; i < height; i++)
        for (q = crosses && row + i > t->column + j ? row + i - t->column - j : 0; q < cols; q++)
            c[i * ldc + q] = t->add ? c[i * ldc + q] + tile[i * nr + q] : tile[i * nr + q];
}

/* Columns of C that stay in the cache with a block of rows until `finish` has seen them. */
#define GROUP_COLUMNS 256
static size_t group_columns(const rfm_port *port) { return max_size(GROUP_COLUMNS / port->nr, 1) * port->nr; }

/* One block of rows of C. */
static void product_job(void *arg, size_t index, size_t worker) {
    const product_args *t = (const product_args *)arg;
    const rfm_port *port = t->s->port;
    size_t mr = port->mr, nr = port->nr, group = group_columns(port);
    size_t first = index * t->mb, rows = min_size(t->mb, t->m - first), g, i, j;
    rfm_real *packed = t->s->a + worker * t->s->a_size, *tile = t->s->tile + worker * mr * nr;
    operand a = operand_from(t->a, first, 0);
    size_t whole = t->in_place ? rows / mr * mr : 0; /* rows that are read in place */
    pack(port, mr, rows - whole, t->k, operand_from(a, whole, 0), packed);
    for (g = t->upper && first > t->column ? (first - t->column) / nr * nr : 0; g < t->n; g += group) {
        size_t end = min_size(g + group, t->n);
        for (j = g; j < end; j += nr) {
            size_t cols = min_size(nr, end - j);
            for (i = 0; i < rows; i += mr) {
                /* This tile and those that follow are below the diagonal. */
                if (t->upper && first + i >= t->column + j + cols) break;
                if (i < whole)
                    product_tile(t, first + i, mr, j, cols, a.at + i * a.rs, a.rs, a.cs, tile);
                else
                    product_tile(t, first + i, min_size(mr, rows - i), j, cols, packed + (i - whole) * t->k, 1, mr,
                                 tile);
            }
        }
        if (t->finish != NULL)
            t->finish(t->finish_arg, first, rows, t->column + g, end - g, t->c + first * t->ldc + g, t->ldc, worker);
    }
}

typedef struct {
    const packing *s;
    operand b; /* B transposed: its rows are the columns of B */
    size_t n, k;
} pack_args;

/* Panels of B are packed a few at a time, so that workers share this work, too. */
#define PACK_PANELS 8
static void pack_job(void *arg, size_t index, size_t worker) {
    const pack_args *t = (const pack_args *)arg;
    size_t nr = t->s->port->nr, first = index * PACK_PANELS * nr, n = min_size(PACK_PANELS * nr, t->n - first);
    (void)worker;
    pack(t->s->port, nr, n, t->k, operand_from(t->b, first, 0), t->s->b + first * t->k);
}

/* The rows of C for one packed block of B, in jobs of about JOB_ROWS rows or more; at least four jobs if there are
 * enough rows. */
#define JOB_ROWS 96
static void product_rows(product_args *t) {
    const rfm_port *port = t->s->port;
    size_t most = port->mc * port->kc / t->k / port->mr * port->mr; /* mc x kc in another shape */
    most = min_size(most, round_up(max_size(JOB_ROWS, (t->m + 3) / 4), port->mr));
    t->mb = piece(t->m, most, port->mr);
    t->in_place = !t->a.symmetric && t->a.cs == 1 && t->n <= 2 * port->nr;
    rfm_jobs(t->s->ctx, product_job, t, (t->m + t->mb - 1) / t->mb);
}

/* C = alpha A B or, with add, C += alpha A B; with l1 the sums of |a - b|; with upper only the part of the square C on
 * and above its diagonal. Each block of C is handed to `finish` when it is complete; then k must not be 0. */
static void product_and(const packing *s, int l1, int upper, size_t m, size_t n, size_t k, rfm_real alpha, operand a,
                        operand b, int add, rfm_real *c, size_t ldc, finish_block finish, const void *finish_arg) {
    const rfm_port *port = s->port;
    size_t kb, nb, j, p;
    product_args t;
    pack_args u;
    if (m == 0 || n == 0) return;
    if (k == 0) {
        for (p = 0; p < m && !add; p++)
            for (j = upper ? p : 0; j < n; j++) c[p * ldc + j] = R(0);
        return;
    }
    kb = piece(k, port->kc, 4);
    nb = piece(n, port->nc, port->nr);
    t.s = u.s = s, t.b = s->b, t.ldc = ldc, t.alpha = alpha, t.l1 = l1, t.upper = upper, t.finish_arg = finish_arg;
    for (j = 0; j < n; j += nb) {
        t.n = u.n = min_size(nb, n - j);
        t.m = upper ? min_size(m, j + t.n) : m;
        t.column = j;
        t.c = c + j;
        for (p = 0; p < k; p += kb) {
            t.k = t.b_rows = u.k = min_size(kb, k - p);
            u.b = operand_of(b.at + p * b.rs + j * b.cs, b.cs, b.rs);
            rfm_jobs(s->ctx, pack_job, &u, (u.n + PACK_PANELS * port->nr - 1) / (PACK_PANELS * port->nr));
            t.a = operand_from(a, 0, p);
            t.add = add || p > 0;
            t.finish = p + kb >= k ? finish : NULL;
            product_rows(&t);
        }
    }
}

static void product(const packing *s, int upper, size_t m, size_t n, size_t k, rfm_real alpha, operand a, operand b,
                    int add, rfm_real *c, size_t ldc) {
    product_and(s, 0, upper, m, n, k, alpha, a, b, add, c, ldc, NULL, NULL);
}

/* C = beta C, before alpha A B is added. Returns 1 if the product is to be added, 0 if it may overwrite C. */
static int scale_first(rfm_real beta, int upper, rfm_mat c) {
    size_t i, j;
    if (beta == R(0)) return 0;
    if (beta != R(1))
        for (i = 0; i < c.rows; i++)
            for (j = upper ? i : 0; j < c.cols; j++) c.at[i * c.stride + j] *= beta;
    return 1;
}

/* The need that a layout on a measuring arena has counted. */
static int need_of(int status, const rfm_arena *measure, size_t *bytes) {
    if (status == RFM_OK) *bytes = measure->peak;
    return status;
}

int rfm_gemm_need(const rfm_ctx *ctx, size_t m, size_t n, size_t k, size_t *bytes) {
    rfm_arena measure;
    packing s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_shape(m, k);
    if (status == RFM_OK) status = check_shape(k, n);
    if (status == RFM_OK) status = check_shape(m, n);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    return need_of(packing_layout(&measure, ctx, m, n, k, &s), &measure, bytes);
}

/* Gives back what a layout took, and keeps the arena usable after a refusal. */
static int leave(const rfm_ctx *ctx, size_t used, int status) {
    ctx->arena->status = RFM_OK;
    rfm_arena_release(ctx->arena, used);
    return status;
}

int rfm_gemm(const rfm_ctx *ctx, int op, rfm_real alpha, rfm_cmat a, rfm_cmat b, rfm_real beta, rfm_mat c) {
    int status = check_ctx(ctx), add;
    size_t m, n, k, used;
    packing s;
    if (status == RFM_OK) status = check_view(a);
    if (status == RFM_OK) status = check_view(b);
    if (status == RFM_OK) status = check_view(rfm_const(c));
    if (status != RFM_OK) return status;
    if (op != RFM_NN && op != RFM_TN && op != RFM_NT) return RFM_EVALUE;
    m = op == RFM_TN ? a.cols : a.rows;
    k = op == RFM_TN ? a.rows : a.cols;
    n = op == RFM_NT ? b.rows : b.cols;
    if (k != (op == RFM_NT ? b.cols : b.rows) || c.rows != m || c.cols != n) return RFM_ESHAPE;
    if (views_overlap(a, rfm_const(c)) || views_overlap(b, rfm_const(c))) return RFM_EALIAS;
    if (!finite_real(alpha) || !finite_real(beta) || !finite_view(port_of(ctx), a) || !finite_view(port_of(ctx), b))
        return RFM_EFINITE;
    if (beta != R(0) && !finite_view(port_of(ctx), rfm_const(c))) return RFM_EFINITE;
    used = ctx->arena->used;
    status = packing_layout(ctx->arena, ctx, m, n, k, &s);
    if (status != RFM_OK) return leave(ctx, used, status);
    add = scale_first(beta, 0, c);
    product(&s, 0, m, n, k, alpha, op == RFM_TN ? operand_of(a.at, 1, a.stride) : operand_of(a.at, a.stride, 1),
            op == RFM_NT ? operand_of(b.at, 1, b.stride) : operand_of(b.at, b.stride, 1), add, c.at, c.stride);
    return leave(ctx, used, finite_view(s.port, rfm_const(c)) ? RFM_OK : RFM_ERANGE);
}

int rfm_syrk_need(const rfm_ctx *ctx, size_t n, size_t k, size_t *bytes) { return rfm_gemm_need(ctx, n, n, k, bytes); }

int rfm_syrk(const rfm_ctx *ctx, int op, rfm_real alpha, rfm_cmat a, rfm_real beta, rfm_mat c) {
    int status = check_ctx(ctx), add;
    size_t n, k, used;
    packing s;
    operand left;
    if (status == RFM_OK) status = check_view(a);
    if (status == RFM_OK) status = check_square(rfm_const(c));
    if (status != RFM_OK) return status;
    if (op != RFM_TN && op != RFM_NT) return RFM_EVALUE;
    n = op == RFM_TN ? a.cols : a.rows;
    k = op == RFM_TN ? a.rows : a.cols;
    if (c.rows != n) return RFM_ESHAPE;
    if (views_overlap(a, rfm_const(c))) return RFM_EALIAS;
    if (!finite_real(alpha) || !finite_real(beta) || !finite_view(port_of(ctx), a)) return RFM_EFINITE;
    if (beta != R(0) && !finite_upper(port_of(ctx), rfm_const(c))) return RFM_EFINITE;
    used = ctx->arena->used;
    status = packing_layout(ctx->arena, ctx, n, n, k, &s);
    if (status != RFM_OK) return leave(ctx, used, status);
    add = scale_first(beta, 1, c);
    left = op == RFM_TN ? operand_of(a.at, 1, a.stride) : operand_of(a.at, a.stride, 1);
    product(&s, 1, n, n, k, alpha, left, operand_of(left.at, left.cs, left.rs), add, c.at, c.stride);
    return leave(ctx, used, finite_upper(s.port, rfm_const(c)) ? RFM_OK : RFM_ERANGE);
}

/* ==== 13. Cholesky ==============================================================================
 *
 * A = U'U, U upper, in place: blocks of block_rows rows, inside each of them leaves of CHOL_LEAF rows. After a leaf or
 * a block U12 = U11'^-1 A12  (packed forward substitution, the port's trsm),  A22 -= U12' U12  (product). Row-major
 * upper is what makes both steps run along the rows of memory. Cost n^3 / 3.
 */

#define CHOL_BLOCK 192 /* rows of U between two updates of the whole rest */
#define CHOL_LEAF  24  /* rows factored without packing; a block of fewer rows is one leaf */
#define SOLVE_ROWS 96  /* rows of U in one step of a triangular solve */

/* A multiple of mr, and at most kc, so that a block of U can be the packed B of a product. */
static size_t chol_block_rows(const rfm_port *port) { return min_size(CHOL_BLOCK, port->kc) / port->mr * port->mr; }

/* Room for three things. The triangle of a block of U: of at most chol_rows rows in a Cholesky, solve_rows in a
 * solve. A panel of right-hand sides per worker for a solve; a Cholesky keeps them in pack.b. Products of at most m,
 * n, k. */
typedef struct {
    packing pack;
    rfm_real *triangle; /* panel t of mr rows: (t + 1) mr columns */
    rfm_real *panel;    /* workers x panel_size */
    size_t panel_size;
} solving;

static int solving_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t chol_rows, size_t solve_rows, size_t m, size_t n,
                          size_t k, solving *s) {
    const rfm_port *port = port_of(ctx);
    size_t panels = (max_size(chol_rows, solve_rows) + port->mr - 1) / port->mr;
    s->panel_size = round_up(solve_rows, port->mr) * port->nr;
    s->triangle = take_panels(arena, port, panels * (panels + 1) / 2, port->mr * port->mr);
    s->panel = take_panels(arena, port, solve_rows > 0 ? rfm_workers(ctx) : 0, s->panel_size);
    return packing_layout(arena, ctx, m, n, max_size(k, round_up(chol_rows, port->mr)), &s->pack);
}

/* Packs the lower triangle L (n, n) in A panels, with the reciprocals of its diagonal in place of the diagonal. Rows
 * beyond n are those of the identity. L = U'; with `backward` L is U with both orders reversed, L(i, j) = U(n-1-i,
 * n-1-j). */
static void pack_triangle(const rfm_port *port, size_t n, const rfm_real *u, size_t ldu, int backward, rfm_real *dst) {
    size_t mr = port->mr, first, i, p;
    for (first = 0; first < n; first += mr) {
        size_t rows = min_size(mr, n - first);
        if (!backward)
            pack_panel(port, mr, rows, first, operand_of(u + first, 1, ldu), dst);
        else
            for (i = 0; i < mr; i++) {
                const rfm_real *row = i < rows ? u + (n - 1 - first - i) * ldu + (n - first) : NULL;
                for (p = 0; p < first; p++) dst[p * mr + i] = row != NULL ? row[first - 1 - p] : R(0);
            }
        dst += first * mr;
        for (p = 0; p < mr; p++, dst += mr) {
            for (i = 0; i < mr; i++) dst[i] = i == p ? R(1) : R(0);
            for (i = p; i < rows; i++) {
                rfm_real value =
                    backward ? u[(n - 1 - first - i) * ldu + (n - 1 - first - p)] : u[(first + p) * ldu + first + i];
                dst[i] = i == p ? R(1) / value : value;
            }
        }
    }
}

typedef struct {
    const solving *s;
    rfm_real *b; /* (rows, n) */
    size_t ldb, rows, n;
    int backward, keep;
} solve_args;

/* L X = B for one panel of columns of B: packed, solved, put back. */
static void solve_job(void *arg, size_t index, size_t worker) {
    const solve_args *t = (const solve_args *)arg;
    const rfm_port *port = t->s->pack.port;
    size_t mr = port->mr, nr = port->nr, j0 = index * nr, cols = min_size(nr, t->n - j0),
           padded = round_up(t->rows, mr), i, j;
    rfm_real *panel = t->keep ? t->s->pack.b + index * padded * nr : t->s->panel + worker * t->s->panel_size;
    const rfm_real *triangle = t->s->triangle;
    for (i = 0; i < t->rows; i++) {
        const rfm_real *row = t->b + (t->backward ? t->rows - 1 - i : i) * t->ldb + j0;
        for (j = 0; j < cols; j++) panel[i * nr + j] = row[j];
        for (; j < nr; j++) panel[i * nr + j] = R(0);
    }
    for (j = t->rows * nr; j < padded * nr; j++) panel[j] = R(0);
    for (i = 0; i < padded; i += mr) {
        port_trsm(port, i, triangle, panel);
        triangle += (i + mr) * mr;
    }
    for (i = 0; i < t->rows; i++) {
        rfm_real *row = t->b + (t->backward ? t->rows - 1 - i : i) * t->ldb + j0;
        for (j = 0; j < cols; j++) row[j] = panel[i * nr + j];
    }
}

/* B (rows, n) = L^-1 B with the L that is packed in s->triangle; with keep the result also stays packed in pack.b. */
static void solve_panels(const solving *s, int backward, int keep, size_t rows, size_t n, rfm_real *b, size_t ldb) {
    solve_args t;
    t.s = s, t.b = b, t.ldb = ldb, t.rows = rows, t.n = n, t.backward = backward, t.keep = keep;
    rfm_jobs(s->pack.ctx, solve_job, &t, (n + s->pack.port->nr - 1) / s->pack.port->nr);
}

/* A small A = U'U; returns n, or the row where it failed. */
static size_t chol_leaf(size_t n, rfm_real *a, size_t lda) {
    size_t i, j, c;
    for (j = 0; j < n; j++) {
        rfm_real *row = a + j * lda, pivot = row[j], scale;
        if (!(pivot > R(0))) return j;
        row[j] = RFM_MATH(sqrt)(pivot);
        scale = R(1) / row[j];
        for (c = j + 1; c < n; c++) row[c] *= scale;
        for (i = j + 1; i < n; i++) {
            rfm_real *below = a + i * lda, factor = row[i];
            for (c = i; c < n; c++) below[c] -= factor * row[c];
        }
    }
    return n;
}

/* Rows first..first+rows-1 of U are done up to column first+rows. This does them up to `end`, and subtracts their
 * part from the rows below. The solve leaves its result packed as B of that product. */
static void chol_update(const solving *s, rfm_mat a, size_t first, size_t rows, size_t end) {
    const rfm_port *port = s->pack.port;
    size_t next = first + rows, rest = end - next;
    const rfm_real *u11 = a.at + first * a.stride + first;
    rfm_real *u12 = a.at + first * a.stride + next;
    product_args t;
    if (rest == 0) return;
    pack_triangle(port, rows, u11, a.stride, 0, s->triangle);
    t.s = &s->pack, t.alpha = R(-1), t.l1 = 0, t.add = 1, t.upper = 1, t.ldc = a.stride, t.finish = NULL,
    t.finish_arg = NULL;
    t.a = operand_of(u12, 1, a.stride), t.k = rows;
    t.b = s->pack.b, t.b_rows = round_up(rows, port->mr);
    for (t.column = 0; t.column < rest; t.column += t.n) {
        t.n = min_size(port->nc, rest - t.column);
        t.m = t.column + t.n;
        t.c = a.at + next * a.stride + next + t.column;
        solve_panels(s, 0, 1, rows, t.n, u12 + t.column, a.stride);
        product_rows(&t);
    }
}

/* Returns n, or the row where it failed or was cancelled. */
static size_t chol(const solving *s, rfm_mat a, progress *p) {
    size_t n = a.rows, block = chol_block_rows(s->pack.port), step = min_size(block, CHOL_LEAF), first, leaf;
    for (first = 0; first < n; first += block) {
        size_t end = min_size(first + block, n);
        for (leaf = first; leaf < end; leaf += step) {
            size_t rows = min_size(step, end - leaf), done = chol_leaf(rows, a.at + leaf * a.stride + leaf, a.stride);
            if (done < rows) return leaf + done;
            chol_update(s, a, leaf, rows, end);
        }
        chol_update(s, a, first, end - first, n);
        if (advance(p, R(end - first) * R(n - first) * R(n - first))) return end;
    }
    return n;
}

static int chol_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, solving *s) {
    size_t block = chol_block_rows(port_of(ctx)), leaf = min_size(block, CHOL_LEAF), rest;
    s->pack.port = port_of(ctx);
    if (n <= leaf) return arena->status;
    rest = n > block ? max_size(n - block, block - leaf) : n - leaf; /* the largest square that is updated */
    return solving_layout(arena, ctx, n > block ? block : leaf, 0, rest, rest, 0, s);
}

int rfm_chol_need(const rfm_ctx *ctx, size_t n, size_t *bytes) {
    rfm_arena measure;
    solving s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_shape(n, n);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    return need_of(chol_layout(&measure, ctx, n, &s), &measure, bytes);
}

int rfm_chol(const rfm_ctx *ctx, rfm_mat a, size_t *row) {
    int status = check_ctx(ctx);
    size_t used, done;
    solving s;
    if (status == RFM_OK) status = check_square(rfm_const(a));
    if (status != RFM_OK) return status;
    if (!finite_upper(port_of(ctx), rfm_const(a))) return RFM_EFINITE;
    used = ctx->arena->used;
    status = chol_layout(ctx->arena, ctx, a.rows, &s);
    if (status != RFM_OK) return leave(ctx, used, status);
    done = chol(&s, a, NULL);
    if (done < a.rows && row != NULL) *row = done;
    return leave(ctx, used, done < a.rows ? RFM_ENOTPD : RFM_OK);
}

/* U' X = B from the first block of rows down: each solved block is taken out of all rows below it. U X = B from the
 * last block up: all rows below are taken out of a block before it is solved. Either way U is read along its rows. */
static void solve(const solving *s, int op, rfm_cmat u, rfm_mat b) {
    size_t n = u.rows, done, rows;
    for (done = 0; done < n; done += rows) {
        size_t first, next;
        rfm_real *x;
        rows = min_size(SOLVE_ROWS, n - done);
        first = op == RFM_TN ? done : n - done - rows;
        next = first + rows;
        x = b.at + first * b.stride;
        if (op == RFM_NN)
            product(&s->pack, 0, rows, b.cols, n - next, R(-1), operand_of(u.at + first * u.stride + next, u.stride, 1),
                    operand_of(b.at + next * b.stride, b.stride, 1), 1, x, b.stride);
        pack_triangle(s->pack.port, rows, u.at + first * u.stride + first, u.stride, op == RFM_NN, s->triangle);
        solve_panels(s, op == RFM_NN, 0, rows, b.cols, x, b.stride);
        if (op == RFM_TN)
            product(&s->pack, 0, n - next, b.cols, rows, R(-1), operand_of(u.at + first * u.stride + next, 1, u.stride),
                    operand_of(x, b.stride, 1), 1, b.at + next * b.stride, b.stride);
    }
}

/* The right-hand sides are solved in a copy x, so that B changes only if all went well; its rows are filled up with
 * zeros to whole tiles. */
static int solve_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, size_t c, solving *s, rfm_real **x) {
    size_t rest = n > SOLVE_ROWS ? n - SOLVE_ROWS : 0, last = (n - 1) % SOLVE_ROWS + 1;
    c = round_up(c, port_of(ctx)->nr);
    *x = take_panels(arena, port_of(ctx), n, c);
    return solving_layout(arena, ctx, 0, min_size(n, SOLVE_ROWS), rest, rest > 0 ? c : 0,
                          max_size(min_size(n, SOLVE_ROWS), n - last), s);
}

int rfm_trsm_need(const rfm_ctx *ctx, size_t n, size_t c, size_t *bytes) {
    rfm_arena measure;
    solving s;
    rfm_real *x;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_shape(n, n);
    if (status == RFM_OK) status = check_shape(n, c);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    return need_of(solve_layout(&measure, ctx, n, c, &s, &x), &measure, bytes);
}

static void copy_rows(size_t rows, size_t cols, const rfm_real *from, size_t from_stride, rfm_real *to,
                      size_t to_stride) {
    size_t i;
    for (i = 0; i < rows; i++) memcpy(to + i * to_stride, from + i * from_stride, cols * sizeof *to);
}

/* The solve `first`, then `second` if it is another one. A number off the diagonal of U that is not finite makes the
 * result not finite. So U is searched for one only if the result is not finite: reading U takes as long as solving. */
static int solve_checked(const rfm_ctx *ctx, int first, int second, rfm_cmat u, rfm_mat b) {
    int status = check_ctx(ctx);
    size_t used, i;
    solving s;
    rfm_mat x;
    if (status == RFM_OK) status = check_square(u);
    if (status == RFM_OK) status = check_view(rfm_const(b));
    if (status != RFM_OK) return status;
    if (b.rows != u.rows) return RFM_ESHAPE;
    if (views_overlap(u, rfm_const(b))) return RFM_EALIAS;
    for (i = 0; i < u.rows; i++) {
        rfm_real pivot = u.at[i * u.stride + i];
        if (pivot == R(0)) return RFM_EVALUE;
        if (!finite_real(pivot)) return RFM_EFINITE;
    }
    if (!finite_view(port_of(ctx), rfm_const(b))) return RFM_EFINITE;
    used = ctx->arena->used;
    x = rfm_view(NULL, b.rows, round_up(b.cols, port_of(ctx)->nr));
    status = solve_layout(ctx->arena, ctx, u.rows, b.cols, &s, &x.at);
    if (status != RFM_OK) return leave(ctx, used, status);
    memset(x.at, 0, x.rows * x.stride * sizeof *x.at);
    copy_rows(b.rows, b.cols, b.at, b.stride, x.at, x.stride);
    solve(&s, first, u, x);
    if (second != first) solve(&s, second, u, x);
    if (finite_view(s.pack.port, rfm_const(x)))
        copy_rows(b.rows, b.cols, x.at, x.stride, b.at, b.stride);
    else
        status = finite_upper(s.pack.port, u) ? RFM_ERANGE : RFM_EFINITE;
    return leave(ctx, used, status);
}

int rfm_trsm(const rfm_ctx *ctx, int op, rfm_cmat u, rfm_mat b) {
    if (op != RFM_NN && op != RFM_TN) return RFM_EVALUE;
    return solve_checked(ctx, op, op, u, b);
}

int rfm_chol_solve(const rfm_ctx *ctx, rfm_cmat u, rfm_mat b) { return solve_checked(ctx, RFM_TN, RFM_NN, u, b); }

/* ---- rank-revealing: at every step the largest remaining diagonal element is the pivot ---------
 *
 * In blocks of RANK_ROWS pivots: inside a block only the diagonal and the pivot's row are brought up to date, after it
 * the rest by one product. acc[i] = sum of U[p][i]^2 over the block's rows p, so A[i][i] - acc[i] is the remaining
 * diagonal. */

#define RANK_ROWS 32

static int chol_rank_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, packing *s, rfm_real **acc) {
    *acc = rfm_arena_reals(arena, 1, n);
    return packing_layout(arena, ctx, n, n, min_size(n, RANK_ROWS), s);
}

static void swap_reals(rfm_real *a, rfm_real *b) {
    rfm_real t = *a;
    *a = *b;
    *b = t;
}

/* Exchange rows and columns j < q of the symmetric matrix whose upper triangle is a. */
static void swap_symmetric(size_t n, rfm_real *a, size_t lda, size_t j, size_t q) {
    size_t i;
    for (i = 0; i < j; i++) swap_reals(&a[i * lda + j], &a[i * lda + q]);
    swap_reals(&a[j * lda + j], &a[q * lda + q]);
    for (i = j + 1; i < q; i++) swap_reals(&a[j * lda + i], &a[i * lda + q]);
    for (i = q + 1; i < n; i++) swap_reals(&a[j * lda + i], &a[q * lda + i]);
}

/* y[0..n) -= sum over rows p < rows of coef[p * step] a[p * lda + 0..n). */
static void subtract_rows(const rfm_port *port, size_t rows, size_t n, const rfm_real *a, size_t lda,
                          const rfm_real *coef, size_t step, rfm_real *y) {
    size_t p, j;
    for (p = 0; p + 4 <= rows; p += 4) {
        rfm_real four[4], unused[4] = {R(0), R(0), R(0), R(0)};
        for (j = 0; j < 4; j++) four[j] = -coef[(p + j) * step];
        port_rows4(port, n, a + p * lda, lda, four, a + p * lda, y, unused);
    }
    for (; p < rows; p++)
        for (j = 0; j < n; j++) y[j] -= coef[p * step] * a[p * lda + j];
}

int rfm_chol_rank_need(const rfm_ctx *ctx, size_t n, size_t *bytes) {
    rfm_arena measure;
    packing s;
    rfm_real *acc;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_shape(n, n);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    return need_of(chol_rank_layout(&measure, ctx, n, &s, &acc), &measure, bytes);
}

/* Sets *rank; RFM_ENOTPD if a remaining pivot is negative beyond rounding. */
static int chol_rank(const packing *s, rfm_mat a, rfm_real tolerance, uint32_t *perm, size_t *rank, rfm_real *acc) {
    size_t n = a.rows, lda = a.stride, first, i, j;
    rfm_real largest = R(0), limit, rounding;
    for (i = 0; i < n; i++) {
        perm[i] = (uint32_t)i;
        largest = max_real(largest, a.at[i * lda + i]);
    }
    rounding = R(n) * REAL_EPS * largest;
    limit = tolerance > R(0) ? tolerance * largest : rounding;
    for (first = 0; first < n; first += RANK_ROWS) {
        size_t end = min_size(first + RANK_ROWS, n);
        for (i = first; i < n; i++) acc[i] = R(0);
        for (j = first; j < end; j++) {
            rfm_real *row = a.at + j * lda, best = a.at[j * lda + j] - acc[j], scale;
            size_t q = j;
            int right =
                best >=
                -max_real(limit, rounding); /* false for a NaN, which overflow can leave in an indefinite matrix */
            for (i = j + 1; i < n; i++) {
                rfm_real left = a.at[i * lda + i] - acc[i];
                if (left > best) best = left, q = i;
                right &= left >= -max_real(limit, rounding);
            }
            if (!(best > limit)) {
                *rank = j;
                return right ? RFM_OK : RFM_ENOTPD;
            }
            if (q != j) {
                uint32_t t = perm[j];
                perm[j] = perm[q];
                perm[q] = t;
                swap_symmetric(n, a.at, lda, j, q);
                swap_reals(&acc[j], &acc[q]);
            }
            row[j] = RFM_MATH(sqrt)(best);
            scale = R(1) / row[j];
            subtract_rows(s->port, j - first, n - j - 1, a.at + first * lda + j + 1, lda, a.at + first * lda + j, lda,
                          row + j + 1);
            for (i = j + 1; i < n; i++) {
                row[i] *= scale;
                acc[i] += row[i] * row[i];
            }
        }
        product(s, 1, n - end, n - end, end - first, R(-1), operand_of(a.at + first * lda + end, 1, lda),
                operand_of(a.at + first * lda + end, lda, 1), 1, a.at + end * lda + end, lda);
    }
    *rank = n;
    return RFM_OK;
}

int rfm_chol_rank(const rfm_ctx *ctx, rfm_mat a, rfm_real tolerance, uint32_t *perm, size_t *rank) {
    int status = check_ctx(ctx);
    size_t used;
    packing s;
    rfm_real *acc;
    if (status == RFM_OK && (perm == NULL || rank == NULL)) status = RFM_ENULL;
    if (status == RFM_OK) status = check_square(rfm_const(a));
    if (status != RFM_OK) return status;
    if (bytes_overlap(perm, a.rows * sizeof *perm, a.at, view_bytes(rfm_const(a)))) return RFM_EALIAS;
    if (!finite_real(tolerance) || !finite_upper(port_of(ctx), rfm_const(a))) return RFM_EFINITE;
    if (tolerance < R(0)) return RFM_EVALUE;
    used = ctx->arena->used;
    status = chol_rank_layout(ctx->arena, ctx, a.rows, &s, &acc);
    if (status == RFM_OK) status = chol_rank(&s, a, tolerance, perm, rank, acc);
    return leave(ctx, used, status);
}

/* ==== 14. Eigenpairs ============================================================================
 *
 * A = H T H' with T tridiagonal (Householder, in blocks), T = Z' diag(w) Z by divide and conquer, V = Z H'. Vectors are
 * rows throughout, so rotations and products run along memory. Cost 4/3 n^3 + up to 4/3 n^3 + 2 k n^2; scratch 2 n^2
 * and a few n, and n^2 more when k < n. Fails only if the iteration inside a leaf or for a root of the secular equation
 * does not end.
 */

#define TRI_ROWS  32 /* reflectors gathered before they are applied to the rest of A */
#define BACK_ROWS 64 /* reflectors applied together on the way back */
#define EIG_LEAF  32 /* largest tridiagonal matrix that is solved by QL rotations */

typedef struct {
    packing pack;
    rfm_real *q; /* (n, n) eigenvectors of T in rows; is V itself when k = n */
    size_t ldq;
    rfm_real *s;                          /* (n, n) eigenvectors of a rank-one update; before and after: reflectors */
    rfm_real *rows;                       /* (n, n) old eigenvectors in the order of the product */
    rfm_real *d, *e, *tau;                /* diagonal, off-diagonal of T, factors of the reflectors: n each */
    rfm_real *z, *dl, *zl, *root, *hat;   /* of a merge: n each */
    uint32_t *order, *kept, *gone, *spot; /* of a merge: n each */
    uint32_t *sorted;                     /* sorted[i]: the row of its block that has the i-th smallest eigenvalue */
    unsigned char *side;                  /* in a merge: which half of the columns a row has entries in */
} eigen;

static int eig_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, size_t k, eigen *g) {
    size_t back = min_size(n, BACK_ROWS), tri = min_size(n, TRI_ROWS);
    size_t square = n > EIG_LEAF ? n : 0; /* no merging in a single leaf */
    g->q = k < n ? rfm_arena_reals(arena, n, n) : NULL;
    g->s = rfm_arena_reals(arena, n, max_size(square, max_size(3 * tri, 2 * back)));
    g->rows = rfm_arena_reals(arena, n, max_size(square, 2 * back));
    g->d = rfm_arena_reals(arena, 1, n);
    g->e = rfm_arena_reals(arena, 1, n);
    g->tau = rfm_arena_reals(arena, 1, n);
    g->z = rfm_arena_reals(arena, 1, n);
    g->dl = rfm_arena_reals(arena, 1, square);
    g->zl = rfm_arena_reals(arena, 1, square);
    g->root = rfm_arena_reals(arena, 1, square);
    g->hat = rfm_arena_reals(arena, 1, square);
    g->order = take_indices(arena, square);
    g->kept = take_indices(arena, square);
    g->gone = take_indices(arena, square);
    g->spot = take_indices(arena, square);
    g->sorted = take_indices(arena, n);
    g->side = (unsigned char *)rfm_arena_take(arena, square, 1);
    return packing_layout(arena, ctx, n, n, max_size(square, max_size(2 * tri, back)), &g->pack);
}

/* ---- to tridiagonal form -------------------------------------------------------------------- */

static rfm_real dot(size_t n, const rfm_real *x, const rfm_real *y) {
    rfm_real s0 = R(0), s1 = R(0), s2 = R(0), s3 = R(0);
    size_t i;
    for (i = 0; i + 4 <= n; i += 4) {
        s0 += x[i] * y[i], s1 += x[i + 1] * y[i + 1];
        s2 += x[i + 2] * y[i + 2], s3 += x[i + 3] * y[i + 3];
    }
    for (; i < n; i++) s0 += x[i] * y[i];
    return (s0 + s1) + (s2 + s3);
}

/* y = A x, A (n, n) symmetric, its upper triangle read once. */
static void symv(const rfm_port *port, size_t n, const rfm_real *a, size_t lda, const rfm_real *x, rfm_real *y) {
    size_t r, i, j;
    for (i = 0; i < n; i++) y[i] = R(0);
    for (r = 0; r < n; r += 4) {
        size_t end = min_size(r + 4, n);
        rfm_real dots[4] = {R(0), R(0), R(0), R(0)};
        for (i = r; i < end; i++) {
            y[i] += a[i * lda + i] * x[i];
            for (j = i + 1; j < end; j++) {
                y[i] += a[i * lda + j] * x[j];
                y[j] += a[i * lda + j] * x[i];
            }
        }
        if (end == n) break;
        port_rows4(port, n - end, a + r * lda + end, lda, x + r, x + end, y + end, dots);
        for (i = 0; i < 4; i++) y[r + i] += dots[i];
    }
}

/* Below this a square loses digits. Beside elements of size 1, a number whose square underflows counts as 0. */
#define SQUARE_LEAST (REAL_LEAST / REAL_EPS / REAL_EPS)

/* x[0..n) becomes v with v[0] = 1, and (I - tau v v') x = (beta, 0, ...); returns tau, beta in *beta. The caller has
 * scaled A to largest element 1: squares do not overflow. */
static rfm_real reflector(size_t n, rfm_real *x, rfm_real *beta) {
    rfm_real tail = dot(n - 1, x + 1, x + 1), alpha, unit = R(1), b;
    size_t i;
    if (tail < SQUARE_LEAST) {
        unit = unit_of(rfm_largest(n, x));
        multiply(n, x, R(1) / unit);
        tail = dot(n - 1, x + 1, x + 1);
    }
    alpha = x[0];
    x[0] = R(1);
    if (tail < SQUARE_LEAST) {
        *beta = alpha * unit;
        for (i = 1; i < n; i++) x[i] = R(0);
        return R(0);
    }
    b = RFM_MATH(sqrt)(alpha * alpha + tail);
    if (alpha > R(0)) b = -b;
    multiply(n - 1, x + 1, R(1) / (alpha - b));
    *beta = b * unit;
    return (b - alpha) / b;
}

/* Dot products and combinations of the `count` rows of a stack, four rows at a time. Rows beyond count are zero or
 * unused. */
static void stack_dots(const rfm_port *port, size_t count, size_t n, const rfm_real *rows, size_t ld, const rfm_real *x,
                       rfm_real *scratch, rfm_real *dots) {
    static const rfm_real none[4] = {R(0), R(0), R(0), R(0)};
    size_t p;
    for (p = 0; p < count; p++) dots[p] = R(0);
    for (p = 0; p + 4 <= count; p += 4) port_rows4(port, n, rows + p * ld, ld, none, x, scratch, dots + p);
    for (; p < count; p++) dots[p] = dot(n, rows + p * ld, x);
}

/* Upper triangle of A -> d, e; the reflectors' vectors stay in the rows of A, right of the diagonal, their factors in
 * tau. With V, W the vectors of a block, A is only brought up to date row by row inside it: A - V'W - W'V, as (V; W)'
 * (W; V). */
static void tridiagonalise(const eigen *g, rfm_mat a) {
    const rfm_port *port = g->pack.port;
    size_t n = a.rows, lda = a.stride, first, j;
    for (first = 0; first < n; first += TRI_ROWS) {
        size_t end = min_size(first + TRI_ROWS, n), rows = end - first;
        rfm_real *v = g->s, *w = v + rows * n, *again = w + rows * n; /* V, W, V: rows of n */
        for (j = first; j < end; j++) {
            size_t p = j - first, m = n - j - 1;
            rfm_real *row = a.at + j * lda + j, *vp = v + p * n + j + 1, *wp = w + p * n + j + 1, *dots = g->z, half;
            subtract_rows(port, p, m + 1, v + j, n, w + j, n, row);
            subtract_rows(port, p, m + 1, w + j, n, v + j, n, row);
            g->d[j] = row[0];
            if (m == 0) break;
            g->tau[j] = reflector(m, row + 1, &g->e[j]);
            memcpy(vp, row + 1, m * sizeof *vp);
            symv(port, m, a.at + (j + 1) * lda + j + 1, lda, vp, wp);
            /* again[p] is free until the block ends: the dot products write to it along the way */
            memset(again + p * n + j + 1, 0, m * sizeof *again);
            stack_dots(port, p, m, w + j + 1, n, vp, again + p * n + j + 1, dots);
            subtract_rows(port, p, m, v + j + 1, n, dots, 1, wp);
            stack_dots(port, p, m, v + j + 1, n, vp, again + p * n + j + 1, dots);
            subtract_rows(port, p, m, w + j + 1, n, dots, 1, wp);
            {
                size_t i;
                rfm_real tau = g->tau[j];
                half = R(0.5) * tau * tau * dot(m, wp, vp);
                for (i = 0; i < m; i++) wp[i] = tau * wp[i] - half * vp[i];
            }
        }
        if (end < n) {
            for (j = 0; j < rows; j++) memcpy(again + j * n + end, v + j * n + end, (n - end) * sizeof *again);
            product(&g->pack, 1, n - end, n - end, 2 * rows, R(-1), operand_of(v + end, 1, n),
                    operand_of(w + end, n, 1), 1, a.at + end * lda + end, lda);
        }
    }
}

/* Z = Z H', Z (k, n) in rows, H = H_0 H_1 ... of the reflectors in the rows of A. BACK_ROWS at a time as I - V' T V
 * with T (b, b) upper triangular:  Z -= (Z V') (T' V). */
static void back_transform(const eigen *g, rfm_mat a, size_t k, rfm_real *z, size_t ldz) {
    size_t n = a.rows, blocks = (n - 1 + BACK_ROWS - 1) / BACK_ROWS, i, j, p;
    while (blocks-- > 0) {
        size_t first = blocks * BACK_ROWS, rows = min_size(BACK_ROWS, n - 1 - first), from = first + 1, m = n - from;
        rfm_real *v = g->s, *tv = v + rows * m, *t = g->rows, *zv = t + rows * rows;
        for (i = 0; i < rows; i++) {
            for (j = 0; j < i; j++) v[i * m + j] = R(0);
            memcpy(v + i * m + i, a.at + (first + i) * a.stride + from + i, (m - i) * sizeof *v);
        }
        product(&g->pack, 1, rows, rows, m, R(1), operand_of(v, m, 1), operand_of(v, 1, m), 0, t, rows); /* V V' */
        for (i = 0; i < rows; i++) { /* column i of T: -tau_i T[0..i)[0..i) (V v_i), from the top down */
            rfm_real tau = g->tau[first + i];
            for (j = 0; j < i; j++) {
                rfm_real sum = R(0);
                for (p = j; p < i; p++) sum += t[j * rows + p] * t[p * rows + i];
                t[j * rows + i] = -tau * sum;
            }
            t[i * rows + i] = tau;
        }
        for (i = 1; i < rows; i++)
            for (j = 0; j < i; j++) t[i * rows + j] = R(0);
        product(&g->pack, 0, rows, m, rows, R(1), operand_of(t, 1, rows), operand_of(v, m, 1), 0, tv, m);
        product(&g->pack, 0, k, rows, m, R(1), operand_of(z + from, ldz, 1), operand_of(v, 1, m), 0, zv, rows);
        product(&g->pack, 0, k, m, rows, R(-1), operand_of(zv, rows, 1), operand_of(tv, m, 1), 1, z + from, ldz);
    }
}

/* ---- a leaf: QL with implicit shifts -------------------------------------------------------- */

/* sqrt(a^2 + b^2) without overflow on the way. */
static rfm_real length2(rfm_real a, rfm_real b) {
    rfm_real big = max_real(RFM_MATH(fabs)(a), RFM_MATH(fabs)(b)), small = RFM_MATH(fabs)(a) + RFM_MATH(fabs)(b) - big;
    if (big == R(0)) return R(0);
    small /= big;
    return big * RFM_MATH(sqrt)(R(1) + small * small);
}

/* (x, y) = (c x + s y, c y - s x), n of them. */
static void rotate(size_t n, rfm_real *x, rfm_real *y, rfm_real c, rfm_real s) {
    size_t i;
    for (i = 0; i < n; i++) {
        rfm_real xi = x[i], yi = y[i];
        x[i] = c * xi + s * yi;
        y[i] = c * yi - s * xi;
    }
}

/* d, e (n; e[i] couples i and i + 1) -> eigenvalues in d, eigenvectors in the rows of q (n, n), which starts as I. */
static int ql(size_t n, rfm_real *d, rfm_real *e, rfm_real *q, size_t ldq) {
    size_t low, m, i, sweep;
    e[n - 1] = R(0);
    for (low = 0; low < n; low++) {
        for (sweep = 0;; sweep++) {
            rfm_real g, r, s = R(1), c = R(1), p = R(0), f, b;
            int split = 0;
            for (m = low; m + 1 < n; m++)
                if (RFM_MATH(fabs)(e[m]) <=
                    REAL_EPS * REAL_EPS + R(0.5) * REAL_EPS * (RFM_MATH(fabs)(d[m]) + RFM_MATH(fabs)(d[m + 1])))
                    break;
            if (m == low) break;
            if (sweep == 60) return RFM_ECONVERGE;
            g = (d[low + 1] - d[low]) /
                (R(2) * e[low]); /* shift: the eigenvalue of the leading 2 x 2 nearer to d[low] */
            r = length2(g, R(1));
            g = d[m] - d[low] + e[low] / (g + (g >= R(0) ? r : -r));
            for (i = m; i-- > low;) { /* chase the bulge up */
                f = s * e[i];
                b = c * e[i];
                r = length2(f, g);
                e[i + 1] = r;
                if (r == R(0)) {
                    d[i + 1] -= p;
                    e[m] = R(0);
                    split = 1;
                    break;
                }
                s = f / r;
                c = g / r;
                g = d[i + 1] - p;
                r = (d[i] - g) * s + R(2) * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                rotate(n, q + (i + 1) * ldq, q + i * ldq, c, s);
            }
            if (split) continue;
            d[low] -= p;
            e[low] = g;
            e[m] = R(0);
        }
    }
    return RFM_OK;
}

/* ---- divide and conquer ------------------------------------------------------------------------
 *
 * Two neighbouring blocks are joined by T = diag(T1, T2) + rho z z', so with their eigenvalues d the task is
 * diag(d) + rho z z', rho > 0. Small z and (nearly) equal d are deflated; the other eigenvalues are the roots of
 *   f(x) = 1/rho + sum z_i^2 / (d_i - x),
 * one in each gap. A root is kept as its distance from the nearer pole, and z is then recomputed so that the roots are
 * exact for it (Gu and Eisenstat): the vectors hat_i / (d_i - root) are orthogonal however close the roots are. */

/* Root `j` of f, d ascending, z > 0 (squared: z2). gap[i] = d[i] - root, each with small relative error. */
static int secular_root(size_t n, size_t j, const rfm_real *d, const rfm_real *z2, rfm_real rho, rfm_real *gap,
                        rfm_real *root) {
    const int last = j + 1 == n;
    const rfm_real inverse = R(1) / rho;
    size_t origin = j, i, tries;
    rfm_real low, high, x, total = R(0);
    if (last) {
        for (i = 0; i < n; i++) total += z2[i];
        low = R(0);
        high = rho * total * (R(1) + R(8) * REAL_EPS);
        x = R(0.5) * high;
    } else { /* the sign in the middle tells which pole is nearer */
        rfm_real width = d[j + 1] - d[j], half = R(0.5) * width, f = inverse, a = z2[j], b = z2[j + 1], c, mid, root2;
        for (i = 0; i < n; i++) f += z2[i] / ((d[i] - d[j]) - half);
        c = f - a / -half - b / half; /* the rest of f, taken as constant */
        if (f >= R(0)) {
            low = R(0), high = half;
            mid = c * width + a + b;
            root2 = RFM_MATH(sqrt)(max_real(mid * mid - R(4) * c * a * width, R(0)));
            x = mid > R(0) ? R(2) * a * width / (mid + root2) : (mid - root2) / (R(2) * c);
        } else {
            origin = j + 1;
            low = -half, high = R(0);
            mid = -c * width + a + b;
            root2 = RFM_MATH(sqrt)(max_real(mid * mid + R(4) * c * b * width, R(0)));
            x = mid < R(0) ? (mid - root2) / (R(2) * c) : -R(2) * b * width / (mid + root2);
        }
        if (!(x > low && x < high)) x = R(0.5) * (low + high);
    }
    for (i = 0; i < n; i++) gap[i] = d[i] - d[origin];
    for (tries = 0; tries < 200; tries++) {
        rfm_real psi = R(0), dpsi = R(0), phi = R(0), dphi = R(0), f, step, error, p, q;
        for (i = 0; i <= j; i++) {
            rfm_real inv = R(1) / (gap[i] - x), term = z2[i] * inv;
            psi += term;
            dpsi += term * inv;
        }
        for (; i < n; i++) {
            rfm_real inv = R(1) / (gap[i] - x), term = z2[i] * inv;
            phi += term;
            dphi += term * inv;
        }
        f = inverse + psi + phi;
        error = R(8) * (phi - psi) + inverse + RFM_MATH(fabs)(x) * (dpsi + dphi);
        if (RFM_MATH(fabs)(f) <= REAL_EPS * error) break;
        if (f < R(0))
            low = x;
        else
            high = x;
        if (high - low <= REAL_EPS * max_real(RFM_MATH(fabs)(low), RFM_MATH(fabs)(high))) break;
        p = gap[j] - x; /* < 0 */
        if (last) {     /* psi as c + s / (p - step) */
            rfm_real c = f - p * dpsi;
            step = c > R(0) ? p + dpsi * p * p / c : R(0);
        } else { /* psi and phi each as a constant and its nearest pole */
            rfm_real c, a, b, root2;
            q = gap[j + 1] - x; /* > 0 */
            c = f - p * dpsi - q * dphi;
            a = (p + q) * f - p * q * (dpsi + dphi);
            b = p * q * f;
            if (c == R(0))
                step = a != R(0) ? b / a : R(0);
            else {
                root2 = RFM_MATH(sqrt)(max_real(a * a - R(4) * b * c, R(0)));
                step = a <= R(0) ? (a - root2) / (R(2) * c) : R(2) * b / (a + root2);
            }
        }
        if (!(f * step < R(0))) step = -f / (dpsi + dphi);
        if (tries > 30 || !(x + step > low && x + step < high))
            x = R(0.5) * (low + high);
        else
            x += step;
    }
    if (tries == 200) return RFM_ECONVERGE;
    for (i = 0; i < n; i++) gap[i] -= x;
    *root = d[origin] + x;
    return RFM_OK;
}

/* index[0..n) such that d[index[i]] ascends; shell sort, because what comes in is nearly sorted or short. */
static void sort_indices(size_t n, const rfm_real *d, uint32_t *index) {
    size_t step = 1, i, j;
    for (i = 0; i < n; i++) index[i] = (uint32_t)i;
    while (step < n / 3) step = 3 * step + 1;
    for (; step > 0; step /= 3) {
        for (i = step; i < n; i++) {
            uint32_t x = index[i];
            for (j = i; j >= step && d[index[j - step]] > d[x]; j -= step) index[j] = index[j - step];
            index[j] = x;
        }
    }
}

#define SIDE_LEFT  0
#define SIDE_BOTH  1
#define SIDE_RIGHT 2

/* Two halves of a block that are being joined: rows o.. of d and q, n1 and n2 of them. */
typedef struct {
    size_t o, n1, n2, n;
    size_t kept, gone; /* rows that take part, rows that are eigenvectors already */
    size_t count[3];   /* kept rows by the halves that they have entries in */
    rfm_real *d, *q;
    rfm_real rho;
} joint;

/* Sorts all rows into g->kept, d ascending, and g->gone. z becomes that of the kept rows. */
static void deflate(const eigen *g, joint *t, rfm_real beta) {
    size_t n = t->n, n1 = t->n1, ldq = g->ldq, i, j;
    rfm_real *d = t->d, *q = t->q, *z = g->z, tolerance, largest = R(0), zmax = R(0);
    const rfm_real r = RFM_MATH(sqrt)(R(0.5)); /* z of length 1 */
    uint32_t *order = g->order, *sorted = g->sorted + t->o;
    for (i = 0; i < n1; i++) z[i] = r * q[i * ldq + n1 - 1], g->side[i] = SIDE_LEFT;
    for (; i < n; i++) z[i] = (beta < R(0) ? -r : r) * q[i * ldq + n1], g->side[i] = SIDE_RIGHT;
    for (i = 0; i < n; i++)
        largest = max_real(largest, RFM_MATH(fabs)(d[i])), zmax = max_real(zmax, RFM_MATH(fabs)(z[i]));
    tolerance = R(8) * REAL_EPS * max_real(largest, zmax);
    for (i = 0, j = 0; i + j < n;) { /* both halves are sorted */
        if (j == t->n2 || (i < n1 && d[sorted[i]] <= d[n1 + sorted[n1 + j]]))
            order[i + j] = sorted[i], i++;
        else
            order[i + j] = (uint32_t)n1 + sorted[n1 + j], j++;
    }
    for (i = 0; i < n; i++) { /* the last row of kept[] is compared with the next one */
        size_t row = order[i], before;
        if (t->rho * RFM_MATH(fabs)(z[row]) <= tolerance) {
            g->gone[t->gone++] = (uint32_t)row;
            continue;
        }
        if (t->kept > 0) {
            rfm_real c, s, tau, gap;
            before = g->kept[t->kept - 1];
            tau = length2(z[row], z[before]);
            c = z[row] / tau;
            s = -z[before] / tau;
            gap = d[row] - d[before];
            if (RFM_MATH(fabs)(gap * c * s) <= tolerance) { /* a rotation makes z[before] zero */
                z[row] = tau;
                z[before] = R(0);
                if (g->side[row] != g->side[before]) g->side[row] = SIDE_BOTH;
                rotate(n, q + before * ldq, q + row * ldq, c, s);
                gap = d[before] * c * c + d[row] * s * s;
                d[row] = d[before] * s * s + d[row] * c * c;
                d[before] = gap;
                g->gone[t->gone++] = (uint32_t)before;
                t->kept--;
            }
        }
        g->kept[t->kept++] = (uint32_t)row;
    }
}

/* The kept rows in the order left, both, right: spot[i] is where row kept[i] goes. */
static void place_kept(const eigen *g, joint *t) {
    size_t start[3], i;
    for (i = 0; i < t->kept; i++) t->count[g->side[g->kept[i]]]++;
    start[0] = 0, start[1] = t->count[0], start[2] = t->count[0] + t->count[1];
    for (i = 0; i < t->kept; i++) g->spot[i] = (uint32_t)start[g->side[g->kept[i]]]++;
}

/* The roots in g->root, ascending, and in row j of g->s the eigenvector of root j, j >= low, in the order of spot. */
static int find_roots(const eigen *g, const joint *t, size_t low) {
    size_t kept = t->kept, i, j;
    rfm_real *dl = g->dl, *zl = g->zl, *hat = g->hat;
    for (i = 0; i < kept; i++) {
        rfm_real z = g->z[g->kept[i]];
        dl[i] = t->d[g->kept[i]];
        zl[i] = z * z;
        hat[i] = R(1);
    }
    for (j = 0; j < kept; j++) {
        rfm_real *gap = g->s + j * kept; /* d - root j */
        int status = secular_root(kept, j, dl, zl, t->rho, gap, &g->root[j]);
        if (status != RFM_OK) return status;
        for (i = 0; i < j; i++) hat[i] *= gap[i] / (dl[i] - dl[j]);
        hat[j] *= -gap[j];
        for (i = j + 1; i < kept; i++) hat[i] *= gap[i] / (dl[i] - dl[j]);
    }
    for (i = 0; i < kept; i++) {
        hat[i] = RFM_MATH(sqrt)(RFM_MATH(fabs)(hat[i]));
        if (g->z[g->kept[i]] < R(0)) hat[i] = -hat[i];
    }
    for (j = low; j < kept; j++) {
        rfm_real *row = g->s + j * kept, norm;
        for (i = 0; i < kept; i++) zl[g->spot[i]] = hat[i] / row[i];
        norm = R(1) / RFM_MATH(sqrt)(dot(kept, zl, zl));
        for (i = 0; i < kept; i++) row[i] = zl[i] * norm;
    }
    return RFM_OK;
}

/* Eigenvectors low.. of the block, by a product with the rows of each half; then those that were deflated. */
static void assemble(const eigen *g, const joint *t, size_t low) {
    size_t n = t->n, n1 = t->n1, n2 = t->n2, ldq = g->ldq, kept = t->kept, i;
    size_t left = t->count[SIDE_LEFT] + t->count[SIDE_BOTH], right = t->count[SIDE_BOTH] + t->count[SIDE_RIGHT];
    rfm_real *q = t->q, *from_left = g->rows, *from_right = from_left + left * n1, *rest = from_right + right * n2;
    for (i = 0; i < kept; i++) {
        size_t row = g->kept[i];
        if (g->side[row] != SIDE_RIGHT) memcpy(from_left + g->spot[i] * n1, q + row * ldq, n1 * sizeof *q);
        if (g->side[row] != SIDE_LEFT)
            memcpy(from_right + (g->spot[i] - t->count[SIDE_LEFT]) * n2, q + row * ldq + n1, n2 * sizeof *q);
    }
    for (i = 0; i < t->gone; i++) {
        memcpy(rest + i * n, q + g->gone[i] * ldq, n * sizeof *q);
        g->root[kept + i] = t->d[g->gone[i]];
    }
    product(&g->pack, 0, kept - low, n1, left, R(1), operand_of(g->s + low * kept, kept, 1),
            operand_of(from_left, n1, 1), 0, q + low * ldq, ldq);
    product(&g->pack, 0, kept - low, n2, right, R(1), operand_of(g->s + low * kept + t->count[SIDE_LEFT], kept, 1),
            operand_of(from_right, n2, 1), 0, q + low * ldq + n1, ldq);
    for (i = 0; i < t->gone; i++) memcpy(q + (kept + i) * ldq, rest + i * n, n * sizeof *q);
}

/* Eigenpairs of the block [o, o + n1 + n2) from those of its two halves, joined by the off-diagonal element beta; only
 * the `top` largest are made complete. */
static int merge(const eigen *g, size_t o, size_t n1, size_t n2, rfm_real beta, size_t top) {
    joint t;
    size_t low;
    int status;
    memset(&t, 0, sizeof t);
    t.o = o, t.n1 = n1, t.n2 = n2, t.n = n1 + n2;
    t.d = g->d + o, t.q = g->q + o * g->ldq + o;
    t.rho = R(2) * RFM_MATH(fabs)(beta);
    deflate(g, &t, beta);
    place_kept(g, &t);
    low = t.kept > top ? t.kept - top : 0; /* the roots ascend */
    status = find_roots(g, &t, low);
    if (status != RFM_OK) return status;
    assemble(g, &t, low);
    memcpy(t.d, g->root, t.n * sizeof *t.d);
    sort_indices(t.n, t.d, g->sorted + o);
    return RFM_OK;
}

/* T (d, e) -> eigenvalues in d, sorted[] and eigenvectors in the rows of q: leaves, then pairs of blocks until one is
 * left. */
static int divide_and_conquer(const eigen *g, size_t n, size_t top) {
    size_t leaves = 1, i, j, width;
    int status = RFM_OK;
    while ((n + leaves - 1) / leaves > EIG_LEAF) leaves *= 2;
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++) g->q[i * g->ldq + j] = R(0);
        g->q[i * g->ldq + i] = R(1);
    }
    for (i = 1; i < leaves; i++) {
        size_t cut = i * n / leaves;
        rfm_real beta = RFM_MATH(fabs)(g->e[cut - 1]);
        g->d[cut - 1] -= beta;
        g->d[cut] -= beta;
    }
    for (i = 0; i < leaves && status == RFM_OK; i++) {
        size_t first = i * n / leaves, end = (i + 1) * n / leaves;
        rfm_real coupling = g->e[end - 1];
        status = ql(end - first, g->d + first, g->e + first, g->q + first * g->ldq + first, g->ldq);
        g->e[end - 1] = coupling;
        sort_indices(end - first, g->d + first, g->sorted + first);
    }
    for (width = 1; width < leaves; width *= 2) {
        for (i = 0; i < leaves && status == RFM_OK; i += 2 * width) {
            size_t first = i * n / leaves, cut = (i + width) * n / leaves, end = (i + 2 * width) * n / leaves;
            status = merge(g, first, cut - first, end - cut, g->e[cut - 1], 2 * width == leaves ? top : n);
        }
    }
    return status;
}

int rfm_eig_need(const rfm_ctx *ctx, size_t n, size_t k, size_t *bytes) {
    rfm_arena measure;
    eigen g;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_shape(n, n);
    if (status != RFM_OK) return status;
    if (k == 0 || k > n) return RFM_EVALUE;
    rfm_arena_measure(&measure);
    return need_of(eig_layout(&measure, ctx, n, k, &g), &measure, bytes);
}

/* A = 2^*exponent times a matrix whose largest element is in [1/2, 1), which it becomes; A = 0 stays. */
static void scale_to_one(rfm_mat a, int *exponent) {
    rfm_real largest = R(0), scale;
    size_t i, j;
    for (i = 0; i < a.rows; i++)
        for (j = i; j < a.cols; j++) largest = max_real(largest, RFM_MATH(fabs)(a.at[i * a.stride + j]));
    (void)RFM_MATH(frexp)(largest, exponent);
    if (*exponent == 0) return;
    scale = RFM_MATH(ldexp)(R(1), -(*exponent / 2)); /* in two steps: 2^-exponent itself may be out of range */
    for (i = 0; i < a.rows; i++)
        for (j = i; j < a.cols; j++) a.at[i * a.stride + j] *= scale;
    scale = RFM_MATH(ldexp)(R(1), -(*exponent - *exponent / 2));
    for (i = 0; i < a.rows; i++)
        for (j = i; j < a.cols; j++) a.at[i * a.stride + j] *= scale;
}

static int eig(eigen *g, rfm_mat a, size_t k, rfm_real *w, rfm_mat v) {
    size_t n = a.rows, i;
    int exponent, status;
    scale_to_one(a, &exponent);
    tridiagonalise(g, a);
    if (g->q == NULL)
        g->q = v.at, g->ldq = v.stride;
    else
        g->ldq = n;
    status = divide_and_conquer(g, n, k);
    if (status != RFM_OK) return status;
    if (g->q == v.at) { /* put the rows in order by way of a copy */
        for (i = 0; i < n; i++) memcpy(g->rows + i * n, g->q + i * g->ldq, n * sizeof *g->rows);
        g->q = g->rows, g->ldq = n;
    }
    for (i = 0; i < k; i++) {
        size_t row = g->sorted[n - 1 - i];
        memcpy(v.at + i * v.stride, g->q + row * g->ldq, n * sizeof *v.at);
        w[i] = RFM_MATH(ldexp)(g->d[row], exponent);
    }
    back_transform(g, a, k, v.at, v.stride);
    return finite_row(g->pack.port, k, w) ? RFM_OK : RFM_ERANGE;
}

int rfm_eig(const rfm_ctx *ctx, rfm_mat a, size_t k, rfm_real *w, rfm_mat v) {
    int status = check_ctx(ctx);
    size_t used;
    eigen g;
    if (status == RFM_OK && w == NULL) status = RFM_ENULL;
    if (status == RFM_OK) status = check_square(rfm_const(a));
    if (status == RFM_OK) status = check_view(rfm_const(v));
    if (status != RFM_OK) return status;
    if (k == 0 || k > a.rows) return RFM_EVALUE;
    if (v.rows != k || v.cols != a.rows) return RFM_ESHAPE;
    if (views_overlap(rfm_const(a), rfm_const(v)) || views_overlap(rfm_const(a), rfm_cview(w, 1, k)) ||
        views_overlap(rfm_const(v), rfm_cview(w, 1, k)))
        return RFM_EALIAS;
    if (!finite_upper(port_of(ctx), rfm_const(a))) return RFM_EFINITE;
    used = ctx->arena->used;
    status = eig_layout(ctx->arena, ctx, a.rows, k, &g);
    if (status == RFM_OK) status = eig(&g, a, k, w, v);
    return leave(ctx, used, status);
}

/* ==== 15. Distances =============================================================================
 *
 * s^2 = |x|^2 + |z|^2 - 2 x'z, the last term from a product, for rows that are projected (P x) and shifted to mean
 * zero, so that an offset of the data costs no digits. Where little is left of the norms the difference is taken
 * directly, and what is below the rounding of the coordinates counts as 0.
 */

#define NEAR_SHARE R(1.0 / 256)                  /* s^2 below this share of |x|^2 + |z|^2 is taken directly */
#define ZERO_SHARE (R(16) * REAL_EPS * REAL_EPS) /* below this it is 0 */
#define NORM_MOST  (REAL_MOST / R(8))            /* squared norms up to this give finite distances */

/* Is L in its range? Within it, s / L is below eps wherever s^2 underflows. */
static int bandwidth_right(rfm_real L) { return L >= R(1) / BANDWIDTH_MOST && L <= BANDWIDTH_MOST; }

/* s^2 from the differences, for the elements that need it: s2[j] of x (r) and row j of z (n, r). */
static void near_distances(size_t n, size_t r, const rfm_real *x, rfm_real xx, const rfm_real *z, const rfm_real *zz,
                           rfm_real *s2) {
    size_t j, q;
    for (j = 0; j < n; j++) {
        rfm_real norms = xx + zz[j], sum = R(0);
        if (!(s2[j] < NEAR_SHARE * norms)) continue;
        for (q = 0; q < r; q++) {
            rfm_real diff = x[q] - z[j * r + q];
            sum += diff * diff;
        }
        s2[j] = sum < ZERO_SHARE * norms ? R(0) : sum;
    }
}

/* c[j] = -2 x'z_j becomes s_j^2, j < n; xx and zz[j] are the squared norms. The work goes in short runs, so that few
 * elements are looked at twice. */
#define NEAR_RUN 32
static void squared_distances(size_t n, size_t r, const rfm_real *x, rfm_real xx, const rfm_real *z, const rfm_real *zz,
                              rfm_real *c) {
    size_t first, j, run;
    for (first = 0; first < n; first += run) {
        uint32_t near = 0;
        run = min_size(NEAR_RUN, n - first);
        for (j = first; j < first + run; j++) {
            rfm_real norms = xx + zz[j], s2 = norms + c[j];
            c[j] = s2;
            near |= s2 < NEAR_SHARE * norms;
        }
        if (near) near_distances(run, r, x, xx, z + first * r, zz + first, c + first);
    }
}

/* A kernel with its numbers. */
typedef struct {
    int kernel;
    rfm_real inverse, exponent; /* 1 / L, q */
} radial;

static radial radial_of(int kernel, rfm_real bandwidth, rfm_real exponent) {
    radial f;
    f.kernel = kernel, f.inverse = R(1) / bandwidth;
    f.exponent = exponent_of(kernel, exponent);
    return f;
}

static int is_network(int kernel) { return rfm_kernels[kernel].layers; }

/* phi at distance 0: the largest there is. */
static rfm_real phi_at_zero(int kernel, rfm_real depth) { return kernel == RFM_NTK ? depth + R(1) : R(1); }

/* The factor that radial_values puts into w beside shape and phi. */
static rfm_real weight_unit(const radial *f) { return f->kernel == RFM_LAPLACE ? f->inverse : R(1); }

/* The factor from shape, phi and differences in units to true gradients: c q (unit / L)^(q - 1) / L, where L = 1 /
 * inverse. */
static rfm_real gradient_factor(const radial *in_units, rfm_real inverse) {
    if (in_units->kernel == RFM_LAPLACE) return inverse;
    if (is_network(in_units->kernel)) return R(1);
    if (in_units->kernel == RFM_GAUSSIAN) return in_units->inverse * inverse;
    return in_units->exponent * RFM_MATH(pow)(in_units->inverse, in_units->exponent - R(1)) * inverse;
}

static int exponent_right(int kernel, rfm_real q) {
    if (rfm_kernels[kernel].exponent != R(0)) return 1;
    if (is_network(kernel) && !(q >= R(1) && q <= R(NETWORK_DEPTH) && R((int)q) == q)) return 0;
    return q > R(0) && q <= rfm_kernels[kernel].most;
}

static int is_l1(int kernel) { return rfm_kernels[kernel].norm == 1; }

/* A unit for distances that are at most `largest`. */
static rfm_real distance_unit(rfm_real largest) { return max_real(unit_of(largest), DISTANCE_LEAST); }

/* 1 / L for distances in units, but at most what can be squared. With a larger one L is so far below any distance
 * that phi is 0 anyway. */
static rfm_real inverse_in_units(rfm_real inverse, rfm_real unit) {
    return unit < INVERSE_MOST / inverse ? unit * inverse : INVERSE_MOST;
}

/* w = c q L^-q shape(s) phi. The constant factor c q L^-q is left out, because it may underflow where the shape does
 * not. The shape is s^(q - 2), for norm 1 s^(q - 1), and 0 at s = 0. Where it is 1 elsewhere, nobody asks here. */
static rfm_real weight_shape(const radial *f, rfm_real distance) {
    if (!(distance > R(0))) return R(0);
    if (f->kernel == RFM_LAPLACE) return R(1) / RFM_MATH(sqrt)(distance);
    if (is_l1(f->kernel)) return RFM_MATH(pow)(distance, f->exponent - R(1));
    return RFM_MATH(pow)(distance, R(0.5) * f->exponent - R(1));
}

/* Distances (s^2; for norm 1 s) become phi, in place. If w is not NULL it becomes shape times phi; for Laplace that
 * times 1 / L, as the ports compute it. */
static void radial_values(const rfm_port *port, const radial *f, size_t n, rfm_real *distance, rfm_real *w) {
    const int gaussian = f->kernel == RFM_GAUSSIAN, plain = gaussian || (is_l1(f->kernel) && f->exponent == R(1));
    const rfm_real scale = gaussian ? R(-0.5) : R(-1), last = gaussian ? f->inverse : R(1);
    rfm_real factor = weight_unit(f);
    size_t i;
    if (f->kernel == RFM_LAPLACE && port->laplace != NULL) {
        port->laplace(n, f->inverse, distance, distance, w);
        return;
    }
    for (i = 0; plain && i < n; i++) { /* by itself: compilers have vectors for it */
        if (w != NULL) w[i] = distance[i] > R(0) ? R(1) : R(0);
        distance[i] = scale * distance[i] * f->inverse * last;
    }
    for (i = 0; !plain && i < n; i++) {
        if (w != NULL) w[i] = factor * weight_shape(f, distance[i]);
        distance[i] = log_phi_power(f->kernel, f->exponent, f->inverse, distance[i], RFM_MATH(pow));
    }
    port_exp(port, n, distance);
    for (i = 0; w != NULL && i < n; i++) w[i] *= distance[i];
}

/* Squared distances of the directions x and z_j become a network kernel, in place, and its slope w. Near opposite ones
 * 4 - s^2 is taken from |x + z|^2, as near equal ones have s^2 from |x - z|^2. */
static void network_values(const radial *f, size_t n, size_t r, const rfm_real *x, const rfm_real *z, rfm_real *s2,
                           rfm_real *w) {
    size_t j, q;
    for (j = 0; j < n; j++, z += r) {
        rfm_real plus = R(2) - R(0.5) * s2[j], sum = R(0);
        if (plus < NEAR_SHARE) {
            for (q = 0; q < r; q++) sum += (x[q] + z[q]) * (x[q] + z[q]);
            plus = sum < ZERO_SHARE ? R(0) : R(0.5) * sum;
            s2[j] = network_value(f->kernel, f->exponent, R(2) - plus, plus, w != NULL ? w + j : NULL);
        } else
            s2[j] = network_value(f->kernel, f->exponent, R(0.5) * s2[j], plus, w != NULL ? w + j : NULL);
    }
}

/* The last step to phi, in place, from what product_and made of x and z_j, j < n. */
static void kernel_values(const rfm_port *port, const radial *f, size_t n, size_t r, const rfm_real *x, rfm_real xx,
                          const rfm_real *z, const rfm_real *zz, rfm_real *c, rfm_real *w) {
    if (!is_l1(f->kernel)) squared_distances(n, r, x, xx, z, zz, c);
    if (is_network(f->kernel))
        network_values(f, n, r, x, z, c, w);
    else
        radial_values(port, f, n, c, w);
}

void rfm_kernel_row(const rfm_port *port, int kernel, rfm_real exponent, rfm_real inverse, size_t n, size_t r,
                    const rfm_real *x, rfm_real xx, const rfm_real *z, const rfm_real *zz, rfm_real *c,
                    rfm_real *weights) {
    radial f = radial_of(kernel, R(1), exponent);
    f.inverse = inverse;
    kernel_values(port != NULL ? port : &rfm_port_scalar, &f, n, r, x, xx, z, zz, c, weights);
    if (weights != NULL && kernel != RFM_LAPLACE) multiply(n, weights, gradient_factor(&f, inverse));
}

/* ==== 16. Many rows =============================================================================
 *
 * Z is projected, PREDICT_ROWS rows at a time; then CENTER_COLUMNS centres at a time: distances, phi while they are in
 * the cache, times alpha. Cost per row: r d + n r multiply-adds and n kernel values. Scratch: a block of kernel values,
 * the norms.
 */

#define PREDICT_ROWS   512
#define CENTER_COLUMNS 1024
#define DOT_OUTPUTS    4 /* up to this many outputs are dot products, while phi is in the cache; more are a product */

/* One call's view of a model, and room for a block of rows. */
typedef struct {
    packing pack;
    rfm_model m;
    radial kernel;
    rfm_real *norms;     /* (n) of the centres */
    rfm_real *centred;   /* (rows, d) RFM_FULL only */
    rfm_real *projected; /* (rows, r) */
    rfm_real *norms_z;   /* (rows) */
    rfm_real *lengths;   /* (rows) of the projected rows before they were scaled; on the sphere only */
    rfm_real *block;     /* (rows, columns) */
    rfm_real *alpha;     /* (c, n) alpha turned, if c <= DOT_OUTPUTS */
    rfm_real *ignored;   /* workers x a group of columns: rows4 writes its other result, which is not used, here */
    size_t rows;
} predictor;

/* Room for a block of projected rows and the norms of the centres. */
static void places_layout(rfm_arena *arena, const rfm_model *m, size_t rows, predictor *s) {
    s->m = *m;
    s->rows = min_size(rows, PREDICT_ROWS);
    s->norms = rfm_arena_reals(arena, 1, m->n);
    s->centred = m->metric == RFM_FULL ? rfm_arena_reals(arena, s->rows, m->d) : NULL;
    s->projected = rfm_arena_reals(arena, s->rows, m->r);
    s->norms_z = rfm_arena_reals(arena, 1, s->rows);
    s->lengths = rfm_arena_reals(arena, 1, on_sphere(m) ? s->rows : 0);
}

static int predictor_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_model *m, size_t rows, predictor *s) {
    places_layout(arena, m, rows, s);
    s->block = rfm_arena_reals(arena, s->rows, min_size(m->n, CENTER_COLUMNS));
    s->alpha = rfm_arena_reals(arena, m->c <= DOT_OUTPUTS ? m->c : 0, m->n);
    s->ignored =
        rfm_arena_reals(arena, m->c <= DOT_OUTPUTS ? rfm_workers(ctx) : 0, min_size(m->n, group_columns(port_of(ctx))));
    return packing_layout(arena, ctx, s->rows, max_size(max_size(m->r, m->c), min_size(m->n, CENTER_COLUMNS)),
                          max_size(max_size(m->d, m->r), min_size(m->n, CENTER_COLUMNS)), &s->pack);
}

/* out (rows, r) = P (x - shift), x (rows, d), `centred` (rows, d) for RFM_FULL. */
static void project(const packing *s, const rfm_model *m, rfm_cmat x, rfm_real *centred, rfm_real *out) {
    rfm_real *to = m->metric == RFM_FULL ? centred : out;
    size_t i, j;
    for (i = 0; i < x.rows; i++) {
        const rfm_real *row = x.at + i * x.stride;
        for (j = 0; j < m->d; j++) to[i * m->d + j] = row[j] - m->shift[j];
        if (m->metric == RFM_DIAGONAL)
            for (j = 0; j < m->d; j++) to[i * m->d + j] *= m->p[j];
    }
    if (m->metric == RFM_FULL)
        product(s, 0, x.rows, m->r, m->d, R(1), operand_of(centred, m->d, 1), operand_of(m->p, 1, m->d), 0, out, m->r);
}

/* The length that rows of a model are scaled to. */
static rfm_real radius_of(const rfm_model *m) { return is_network(m->kernel) ? R(1) : m->radius; }

/* Rows z (rows, r) to the length of the model's, their own lengths to `lengths`. Lengths of rows that are not finite
 * are not finite. */
static void scale_rows(const rfm_model *m, size_t rows, rfm_real *z, rfm_real *lengths) {
    size_t i;
    for (i = 0; i < rows; i++)
        lengths[i] = rfm_finite(m->r, z + i * m->r) ? scale_row(m->r, z + i * m->r, radius_of(m)) : R(HUGE_VAL);
}

/* What K has beside phi for a row of this length. */
static rfm_real length_factor(const rfm_model *m, rfm_real length) {
    if (!is_network(m->kernel)) return R(1);
    return m->radius > R(0) && length > R(0) ? R(1) : length;
}

static void squared_norms(size_t rows, size_t cols, const rfm_real *x, rfm_real *norms) {
    size_t i;
    for (i = 0; i < rows; i++) norms[i] = dot(cols, x + i * cols, x + i * cols);
}

static int norms_right(const rfm_port *port, size_t n, const rfm_real *norms) {
    return finite_row(port, n, norms) && rfm_largest(n, norms) <= NORM_MOST ? RFM_OK : RFM_ERANGE;
}

typedef struct {
    const predictor *s;
    size_t column; /* the block's first centre */
    rfm_real *w;   /* (rows, n) gradient weights, without their constant factor; NULL: not wanted */
    rfm_real *y;   /* (rows, c) to add alpha'phi to; NULL: only phi is wanted */
    size_t ldy;
} predict_block;

/* y[i] += dot(phi_i, alpha) for rows i. Every row goes through the arithmetic of rows4, whatever its place: a row
 * that is not one of four whole rows is passed four times. */
static void add_dots(const rfm_port *port, size_t rows, size_t cols, const rfm_real *phi, size_t ld,
                     const rfm_real *alpha, rfm_real *y, size_t ldy, rfm_real *ignored) {
    static const rfm_real none[4] = {R(0), R(0), R(0), R(0)};
    size_t i, k, together;
    for (i = 0; i < rows; i += together) {
        rfm_real dots[4] = {R(0), R(0), R(0), R(0)};
        together = i + 4 <= rows ? 4 : 1;
        port_rows4(port, cols, phi + i * ld, together == 4 ? ld : 0, none, alpha, ignored, dots);
        for (k = 0; k < together; k++) y[(i + k) * ldy] += dots[k];
    }
}

static void predict_finish(const void *arg, size_t row, size_t rows, size_t col, size_t cols, rfm_real *c, size_t ldc,
                           size_t worker) {
    const predict_block *t = (const predict_block *)arg;
    const predictor *s = t->s;
    size_t r = s->m.r, i, k;
    col += t->column;
    for (i = 0; i < rows; i++) {
        kernel_values(s->pack.port, &s->kernel, cols, r, s->projected + (row + i) * r, s->norms_z[row + i],
                      s->m.centers + col * r, s->norms + col, c + i * ldc,
                      t->w != NULL ? t->w + (row + i) * s->m.n + col : NULL);
    }
    for (k = 0; t->y != NULL && k < s->m.c; k++)
        add_dots(s->pack.port, rows, cols, c, ldc, s->alpha + k * s->m.n + col, t->y + row * t->ldy + k, t->ldy,
                 s->ignored + worker * min_size(s->m.n, group_columns(s->pack.port)));
}

/* The kernel values of the rows in s->projected with the centres from `column` on, into `to`, rows ld apart; w, y as in
 * predict_block. */
static void kernel_block(const predictor *s, size_t rows, size_t column, size_t cols, rfm_real *to, size_t ld,
                         rfm_real *w, rfm_real *y, size_t ldy) {
    predict_block t;
    t.s = s, t.column = column, t.w = w, t.y = y, t.ldy = ldy;
    product_and(&s->pack, is_l1(s->m.kernel), 0, rows, cols, s->m.r, R(-2), operand_of(s->projected, s->m.r, 1),
                operand_of(s->m.centers + column * s->m.r, 1, s->m.r), 0, to, ld, predict_finish, &t);
}

/* RFM_ERANGE: centres whose distances cannot be squared. */
static int predictor_start(predictor *s) {
    s->kernel = radial_of(s->m.kernel, s->m.bandwidth, s->m.exponent);
    squared_norms(s->m.n, s->m.r, s->m.centers, s->norms);
    return norms_right(s->pack.port, s->m.n, s->norms);
}

static void turn_alpha(predictor *s) {
    size_t n = s->m.n, c = s->m.c, i, k;
    for (k = 0; k < c; k++)
        for (i = 0; i < n; i++) s->alpha[k * n + i] = s->m.alpha[i * c + k];
    memset(s->ignored, 0, rfm_workers(s->pack.ctx) * min_size(n, group_columns(s->pack.port)) * sizeof *s->ignored);
}

/* Projects a block of rows, with their norms and lengths. RFM_ERANGE: rows that are too large. */
static int place_rows(predictor *s, rfm_cmat z) {
    project(&s->pack, &s->m, z, s->centred, s->projected);
    if (on_sphere(&s->m)) {
        scale_rows(&s->m, z.rows, s->projected, s->lengths);
        if (!finite_row(s->pack.port, z.rows, s->lengths)) return RFM_ERANGE;
    }
    squared_norms(z.rows, s->m.r, s->projected, s->norms_z);
    return norms_right(s->pack.port, z.rows, s->norms_z);
}

/* RFM_ECANCEL; RFM_ERANGE: rows or results that are too large. */
static int predict_rows(predictor *s, rfm_cmat z, rfm_mat y, progress *p) {
    size_t first, column, rows, cols, n = s->m.n, c = s->m.c, i, k;
    int status;
    if (c <= DOT_OUTPUTS) turn_alpha(s);
    for (first = 0; first < z.rows; first += rows) {
        rfm_cmat part = z;
        rfm_real *out = y.at + first * y.stride;
        rows = min_size(s->rows, z.rows - first);
        part.at += first * z.stride, part.rows = rows;
        status = place_rows(s, part);
        if (status != RFM_OK) return status;
        for (i = 0; i < rows; i++)
            for (k = 0; k < c; k++) out[i * y.stride + k] = R(0);
        for (column = 0; column < n; column += cols) {
            cols = min_size(CENTER_COLUMNS, n - column);
            kernel_block(s, rows, column, cols, s->block, cols, NULL, c <= DOT_OUTPUTS ? out : NULL, y.stride);
            if (c > DOT_OUTPUTS)
                product(&s->pack, 0, rows, c, cols, R(1), operand_of(s->block, cols, 1),
                        operand_of(s->m.alpha + column * c, c, 1), 1, out, y.stride);
        }
        for (i = 0; is_network(s->m.kernel) && i < rows; i++)
            multiply(c, out + i * y.stride, length_factor(&s->m, s->lengths[i]));
        for (i = 0; s->m.offset != NULL && i < rows; i++)
            for (k = 0; k < c; k++) out[i * y.stride + k] += s->m.offset[k];
        if (advance(p, R(rows))) return RFM_ECANCEL;
    }
    return finite_view(s->pack.port, rfm_const(y)) ? RFM_OK : RFM_ERANGE;
}

static int check_model(const rfm_model *m) {
    if (m == NULL || m->shift == NULL || m->centers == NULL || m->alpha == NULL) return RFM_ENULL;
    if (m->metric != RFM_IDENTITY && m->p == NULL) return RFM_ENULL;
    if (m->n == 0 || m->d == 0 || m->c == 0 || m->r == 0) return RFM_EZERO;
    if (m->metric != RFM_FULL && m->r != m->d) return RFM_ESHAPE;
    if (!bandwidth_right(m->bandwidth) || m->kernel < 0 || m->kernel >= RFM_KERNELS) return RFM_EVALUE;
    if (m->metric < RFM_IDENTITY || m->metric > RFM_FULL) return RFM_EVALUE;
    if (is_network(m->kernel) && !exponent_right(m->kernel, m->exponent)) return RFM_EVALUE;
    if (m->radius != R(0) && !bandwidth_right(m->radius)) return RFM_EVALUE;
    return RFM_OK;
}

/* What rfm_predict and rfm_gradients check of their arguments; y has `cols` columns. */
static int check_predict(const rfm_ctx *ctx, const rfm_model *model, rfm_cmat z, rfm_mat y, size_t cols) {
    int status = check_ctx(ctx);
    if (status == RFM_OK) status = check_model(model);
    if (status == RFM_OK) status = check_view(z);
    if (status == RFM_OK) status = check_view(rfm_const(y));
    if (status != RFM_OK) return status;
    if (z.cols != model->d || y.rows != z.rows || y.cols != cols) return RFM_ESHAPE;
    if (views_overlap(z, rfm_const(y))) return RFM_EALIAS;
    return finite_view(port_of(ctx), z) ? RFM_OK : RFM_EFINITE;
}

int rfm_predict_need(const rfm_ctx *ctx, const rfm_model *model, size_t m, size_t *bytes) {
    rfm_arena measure;
    predictor s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_model(model);
    if (status != RFM_OK) return status;
    status = check_shape(m, max_size(model->d, model->c));
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    return need_of(predictor_layout(&measure, ctx, model, m, &s), &measure, bytes);
}

int rfm_predict(const rfm_ctx *ctx, const rfm_model *model, rfm_cmat z, rfm_mat y) {
    int status = check_predict(ctx, model, z, y, model == NULL ? 0 : model->c);
    size_t used;
    predictor s;
    progress p;
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    status = predictor_layout(ctx->arena, ctx, model, z.rows, &s);
    if (status != RFM_OK) return leave(ctx, used, status);
    p.ctx = ctx, p.done = R(0), p.total = R(z.rows), p.cancelled = 0;
    status = predictor_start(&s);
    if (status == RFM_OK) status = predict_rows(&s, z, y, &p);
    return leave(ctx, used, status);
}

/* ---- kernel values -------------------------------------------------------------------------- */

/* What K of a network kernel is at a centre of zeros. */
static void clear_zero_centers(const predictor *s, int op, rfm_mat k) {
    size_t i, j;
    for (i = 0; is_network(s->m.kernel) && i < s->m.n; i++)
        for (j = 0; s->norms[i] == R(0) && j < (op == RFM_TN ? k.cols : k.rows); j++)
            k.at[op == RFM_TN ? i * k.stride + j : j * k.stride + i] = R(0);
}

/* K of a block of rows that are placed. With RFM_TN centres and rows change their parts. */
static void kernel_part(const predictor *s, int op, rfm_mat k) {
    size_t rows = op == RFM_TN ? k.cols : k.rows, column, cols, i, j;
    if (op == RFM_TN) {
        predictor turned = *s;
        turned.projected = (rfm_real *)s->m.centers, turned.norms_z = s->norms;
        turned.m.centers = s->projected, turned.norms = s->norms_z;
        kernel_block(&turned, s->m.n, 0, rows, k.at, k.stride, NULL, NULL, 0);
    } else
        for (column = 0; column < s->m.n; column += cols) {
            cols = min_size(CENTER_COLUMNS, s->m.n - column);
            kernel_block(s, rows, column, cols, k.at + column, k.stride, NULL, NULL, 0);
        }
    for (i = 0; is_network(s->m.kernel) && i < k.rows; i++)
        for (j = 0; j < k.cols; j++) k.at[i * k.stride + j] *= length_factor(&s->m, s->lengths[op == RFM_TN ? j : i]);
    clear_zero_centers(s, op, k);
}

static int kernel_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_model *m, size_t rows, predictor *s) {
    places_layout(arena, m, rows, s);
    return packing_layout(arena, ctx, max_size(m->n, s->rows),
                          max_size(max_size(m->r, s->rows), min_size(m->n, CENTER_COLUMNS)), max_size(m->d, m->r),
                          &s->pack);
}

int rfm_kernel_values_need(const rfm_ctx *ctx, const rfm_model *model, size_t m, size_t *bytes) {
    rfm_arena measure;
    predictor s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_model(model);
    if (status == RFM_OK) status = check_shape(m, max_size(model->d, model->n));
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    return need_of(kernel_layout(&measure, ctx, model, m, &s), &measure, bytes);
}

int rfm_kernel_values(const rfm_ctx *ctx, const rfm_model *model, rfm_cmat z, int op, rfm_mat k) {
    int status = check_ctx(ctx);
    size_t used, first, rows;
    predictor s;
    if (status == RFM_OK) status = check_model(model);
    if (status == RFM_OK) status = check_view(z);
    if (status == RFM_OK) status = check_view(rfm_const(k));
    if (status != RFM_OK) return status;
    if (op != RFM_NN && op != RFM_TN) return RFM_EVALUE;
    if (z.cols != model->d || k.rows != (op == RFM_TN ? model->n : z.rows) ||
        k.cols != (op == RFM_TN ? z.rows : model->n))
        return RFM_ESHAPE;
    if (views_overlap(z, rfm_const(k))) return RFM_EALIAS;
    if (!finite_view(port_of(ctx), z)) return RFM_EFINITE;
    used = ctx->arena->used;
    status = kernel_layout(ctx->arena, ctx, model, z.rows, &s);
    if (status == RFM_OK) status = predictor_start(&s);
    for (first = 0; first < z.rows && status == RFM_OK; first += rows) {
        rfm_cmat part = z;
        rfm_mat to = k;
        rows = min_size(s.rows, z.rows - first);
        part.at += first * z.stride, part.rows = rows;
        status = place_rows(&s, part);
        if (op == RFM_TN)
            to.at += first, to.cols = rows;
        else
            to.at += first * k.stride, to.rows = rows;
        if (status == RFM_OK) kernel_part(&s, op, to);
    }
    if (status == RFM_OK && !finite_view(s.pack.port, rfm_const(k))) status = RFM_ERANGE;
    return leave(ctx, used, status);
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* grad f_k(z) = P' sum_i alpha_ik w(s_i) P (x_i - z), l1: the signs of P (x_i - z); from direct differences, row by
 * row. z is projected as the centres were, so that a centre is at distance 0 from itself. */
typedef struct {
    packing pack;
    rfm_real *centred, *z, *sum; /* (d), (r), (c, r) */
    rfm_real *value;             /* (c) */
} gradient_space;

static int gradients_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_model *m, gradient_space *s) {
    s->centred = rfm_arena_reals(arena, 1, m->metric == RFM_FULL ? m->d : 0);
    s->z = rfm_arena_reals(arena, 1, m->r);
    s->sum = rfm_arena_reals(arena, m->c, m->r);
    s->value = rfm_arena_reals(arena, 1, m->c);
    return packing_layout(arena, ctx, 1, m->r, m->d, &s->pack);
}

int rfm_gradients_need(const rfm_ctx *ctx, const rfm_model *model, size_t *bytes) {
    rfm_arena measure;
    gradient_space s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_model(model);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    return need_of(gradients_layout(&measure, ctx, model, &s), &measure, bytes);
}

static rfm_real sign(rfm_real x) { return x > R(0) ? R(1) : x < R(0) ? R(-1) : R(0); }

/* From sum[k] = sum_i alpha_ik w(s_i) (x_i - z) to the gradient by P z: what is along z is taken out, because
 * scaling takes it out. With q the direction of z,
 *   unit rows: (I - q q') sum radius / |P z|;   network kernels: (I - q q') sum + q sum_i alpha_ik phi(s_i).
 * Every gradient of a row of zeros is 0. All is multiplied by `unit`. */
static void sphere_gradient(const rfm_model *m, rfm_real length, rfm_real unit, const rfm_real *z, rfm_real value,
                            rfm_real *sum) {
    rfm_real radius = radius_of(m), along = dot(m->r, z, sum) / (radius * radius);
    size_t q;
    if (is_network(m->kernel) && m->radius == R(0)) along -= value;
    for (q = 0; q < m->r; q++) sum[q] = length > R(0) ? sum[q] - along * z[q] : R(0);
    if (m->radius > R(0) && length > R(0)) unit *= radius / length;
    multiply(m->r, sum, unit);
}

/* sum[k] (r) = sum_i alpha_ik w(s_i) (x_i - z), all projected, times `lift`; value[k] = sum_i alpha_ik phi(s_i). */
static void projected_gradients(const gradient_space *s, const rfm_model *m, const radial *f, rfm_real lift) {
    size_t r = m->r, c = m->c, i, k, q;
    int l1 = is_l1(m->kernel);
    memset(s->sum, 0, c * r * sizeof *s->sum);
    memset(s->value, 0, c * sizeof *s->value);
    for (i = 0; i < m->n; i++) {
        const rfm_real *center = m->centers + i * r;
        rfm_real distance = R(0), norms = R(0), unit = R(0), inverse, w;
        radial scaled = *f;
        for (q = 0; q < r; q++) unit = max_real(unit, RFM_MATH(fabs)(center[q] - s->z[q]));
        unit = is_network(m->kernel) ? R(1) : distance_unit(unit), inverse = R(1) / unit;
        for (q = 0; q < r; q++) {
            rfm_real x = center[q] * inverse, z = s->z[q] * inverse;
            distance += l1 ? RFM_MATH(fabs)(x - z) : (x - z) * (x - z);
            norms += x * x + z * z;
        }
        if (!l1 && distance < ZERO_SHARE * norms) distance = R(0);
        scaled.inverse = inverse_in_units(f->inverse, unit);
        if (is_network(m->kernel))
            network_values(&scaled, 1, r, center, s->z, &distance, &w);
        else
            radial_values(s->pack.port, &scaled, 1, &distance, &w);
        w = w / weight_unit(&scaled) * gradient_factor(&scaled, f->inverse) * lift;
        for (k = 0; k < c; k++) {
            s->value[k] += m->alpha[i * c + k] * distance; /* which is phi by now */
            for (q = 0; q < r; q++) {
                rfm_real way = center[q] - s->z[q];
                s->sum[k * r + q] += w * m->alpha[i * c + k] * (l1 ? sign(way) : inverse * way);
            }
        }
    }
}

/* Large P go with large L or lengths. Sums of gradients, which are divided by these, are in units of 1 / P: so they are
 * below the number range only if the gradients are. */
int rfm_gradients(const rfm_ctx *ctx, const rfm_model *model, rfm_cmat z, rfm_mat g) {
    size_t used, c = model == NULL ? 0 : model->c, d = model == NULL ? 0 : model->d, j, k, q, row;
    int status = check_predict(ctx, model, z, g, c * d);
    gradient_space s;
    radial f;
    rfm_real unit = R(1);
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    status = gradients_layout(ctx->arena, ctx, model, &s);
    if (status != RFM_OK) return leave(ctx, used, status);
    if (model->metric != RFM_IDENTITY)
        unit = unit_of(rfm_largest((model->metric == RFM_FULL ? model->r : 1) * d, model->p));
    f = radial_of(model->kernel, model->bandwidth, model->exponent);
    for (row = 0; row < z.rows; row++) {
        rfm_real length = R(1);
        project(&s.pack, model, rfm_cview(z.at + row * z.stride, 1, d), s.centred, s.z);
        if (on_sphere(model)) scale_rows(model, 1, s.z, &length);
        projected_gradients(&s, model, &f, on_sphere(model) ? R(1) : unit);
        for (k = 0; k < c && on_sphere(model); k++)
            sphere_gradient(model, length, unit, s.z, s.value[k], s.sum + k * model->r);
        for (k = 0; k < c; k++) {
            rfm_real *out = g.at + row * g.stride + k * d;
            const rfm_real *sum = s.sum + k * model->r;
            for (j = 0; j < d; j++) {
                out[j] = R(0);
                if (model->metric != RFM_FULL)
                    out[j] = sum[j] * (model->metric == RFM_DIAGONAL ? model->p[j] / unit : R(1));
            }
            for (q = 0; model->metric == RFM_FULL && q < model->r; q++)
                for (j = 0; j < d; j++) out[j] += sum[q] * (model->p[q * d + j] / unit);
        }
    }
    return leave(ctx, used, finite_view(s.pack.port, rfm_const(g)) ? RFM_OK : RFM_ERANGE);
}

/* ---- gradients of many rows at once --------------------------------------------------------- */

#define AGOP_ROWS    512 /* gradient points at a time */
#define AGOP_COLUMNS 512 /* as many outputs are taken together as fit into this many columns of h */

/* h_k += sum_i w_i a_ik sign(x_i - z), k < g, of n <= SIGN_ROWS rows x_i. h_k and a_ik are r + 1 apart, a_i and a_i+1
 * g (r + 1). The port takes SIGN_OUTPUTS outputs at a time. */
#define SIGN_ROWS    8
#define SIGN_OUTPUTS 8
static void add_signs(const rfm_port *port, size_t n, size_t r, size_t g, const rfm_real *x, const rfm_real *z,
                      const rfm_real *w, const rfm_real *a, rfm_real *h) {
    size_t base, outputs, i, k;
    rfm_real weights[SIGN_ROWS * SIGN_OUTPUTS];
    for (base = 0; base < g; base += outputs) {
        outputs = min_size(SIGN_OUTPUTS, g - base);
        for (i = 0; i < n; i++)
            for (k = 0; k < outputs; k++) weights[i * outputs + k] = w[i] * a[(i * g + base + k) * (r + 1)];
        port_signs(port, n, r, outputs, x, z, weights, h + base * (r + 1), r + 1);
    }
}

/* h_jk = sum_i alpha_ik W_ji (x_i - z_j), as (W [alpha_k X, alpha_k])_j less its last number times z_j. */
typedef struct {
    predictor at;
    rfm_real *w;     /* (rows, n) */
    rfm_real *ax;    /* (n, g (r + 1)) */
    rfm_real *h;     /* (rows, g (r + 1)) */
    rfm_real *value; /* (rows, c) network kernels: f / |P z| */
    size_t together; /* outputs taken together: g */
} outer_space;

static int outer_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_model *m, size_t rows, outer_space *s) {
    size_t wide, cols = min_size(m->n, CENTER_COLUMNS);
    places_layout(arena, m, rows, &s->at);
    s->at.block = rfm_arena_reals(arena, s->at.rows, cols);
    s->together = max_size(1, min_size(m->c, AGOP_COLUMNS / (m->r + 1)));
    wide = s->together * (m->r + 1);
    s->w = rfm_arena_reals(arena, s->at.rows, m->n);
    s->ax = rfm_arena_reals(arena, m->n, wide);
    s->h = rfm_arena_reals(arena, s->at.rows, wide);
    s->value = rfm_arena_reals(arena, is_network(m->kernel) ? s->at.rows : 0, m->c);
    return packing_layout(arena, ctx, max_size(s->at.rows, m->r), max_size(max_size(wide, m->c), cols),
                          max_size(max_size(m->n, m->d), s->at.rows), &s->at.pack);
}

int rfm_agop_need(const rfm_ctx *ctx, const rfm_model *model, size_t m, size_t *bytes) {
    rfm_arena measure;
    outer_space s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_model(model);
    if (status == RFM_OK) status = check_shape(m, max_size(model->r, max_size(model->d, model->n)));
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    return need_of(outer_layout(&measure, ctx, model, m, &s), &measure, bytes);
}

/* W of a block of rows that are placed, and what they are worth for network kernels. */
static void outer_weights(outer_space *s, size_t rows) {
    const rfm_model *m = &s->at.m;
    size_t column, cols;
    for (column = 0; column < m->n; column += cols) {
        cols = min_size(CENTER_COLUMNS, m->n - column);
        kernel_block(&s->at, rows, column, cols, s->at.block, cols, s->w, NULL, 0);
        if (is_network(m->kernel))
            product(&s->at.pack, 0, rows, m->c, cols, R(1), operand_of(s->at.block, cols, 1),
                    operand_of(m->alpha + column * m->c, m->c, 1), column > 0, s->value, m->c);
    }
}

typedef struct {
    const outer_space *s;
    size_t k0, g;
} outer_args;

/* Norm 1, one row per job: h_jk = sum_i alpha_ik W_ji sign(x_i - z_j). */
static void outer_signs(void *arg, size_t index, size_t worker) {
    const outer_args *t = (const outer_args *)arg;
    const rfm_model *m = &t->s->at.m;
    size_t r = m->r, wide = t->g * (r + 1), i;
    (void)worker;
    memset(t->s->h + index * wide, 0, wide * sizeof *t->s->h);
    for (i = 0; i < m->n; i += SIGN_ROWS)
        add_signs(t->s->at.pack.port, min_size(SIGN_ROWS, m->n - i), r, t->g, m->centers + i * r,
                  t->s->at.projected + index * r, t->s->w + index * m->n + i, t->s->ax + i * wide + r,
                  t->s->h + index * wide);
}

/* h (rows, g (r + 1)) for outputs k0.. of a block of rows. */
static void outer_gradients(outer_space *s, size_t rows, size_t k0, size_t g) {
    const rfm_model *m = &s->at.m;
    size_t r = m->r, wide = g * (r + 1), i, j, k, q;
    rfm_real factor = gradient_factor(&s->at.kernel, s->at.kernel.inverse) / weight_unit(&s->at.kernel);
    for (i = 0; i < m->n; i++)
        for (k = 0; k < g; k++) {
            rfm_real *ax = s->ax + i * wide + k * (r + 1), a = m->alpha[i * m->c + k0 + k] * factor;
            for (q = 0; q < r; q++) ax[q] = a * m->centers[i * r + q];
            ax[r] = a;
        }
    if (is_l1(m->kernel)) {
        outer_args t;
        t.s = s, t.k0 = k0, t.g = g;
        rfm_jobs(s->at.pack.ctx, outer_signs, &t, rows);
        return;
    }
    product(&s->at.pack, 0, rows, wide, m->n, R(1), operand_of(s->w, m->n, 1), operand_of(s->ax, wide, 1), 0, s->h,
            wide);
    for (j = 0; j < rows; j++)
        for (k = 0; k < g; k++) {
            rfm_real *h = s->h + j * wide + k * (r + 1);
            const rfm_real *z = s->at.projected + j * r;
            if (on_sphere(m))
                sphere_gradient(m, s->at.lengths[j], R(1), z,
                                is_network(m->kernel) ? s->value[j * m->c + k0 + k] : R(0), h);
            else
                for (q = 0; q < r; q++) h[q] -= h[r] * z[q];
        }
}

/* Adds the outer products of a block of rows, weights (rows) or NULL. */
static void outer_add(outer_space *s, size_t rows, const rfm_real *weights, rfm_mat sum, rfm_mat mean) {
    size_t r = s->at.m.r, c = s->at.m.c, k0, g, j, k, q;
    outer_weights(s, rows);
    for (k0 = 0; k0 < c; k0 += g) {
        size_t wide;
        g = min_size(s->together, c - k0);
        wide = g * (r + 1);
        outer_gradients(s, rows, k0, g);
        for (k = 0; k < g; k++) {
            rfm_real *h = s->h + k * (r + 1);
            for (j = 0; j < rows; j++) {
                rfm_real w = weights != NULL ? weights[j] : R(1);
                for (q = 0; mean.at != NULL && q < r; q++) mean.at[(k0 + k) * mean.stride + q] += w * h[j * wide + q];
                if (weights != NULL) multiply(r, h + j * wide, RFM_MATH(sqrt)(w));
                for (q = 0; sum.rows == 1 && q < r; q++) sum.at[q] += h[j * wide + q] * h[j * wide + q];
            }
            if (sum.rows > 1)
                product(&s->at.pack, 1, r, r, rows, R(1), operand_of(h, 1, wide), operand_of(h, wide, 1), 1, sum.at,
                        sum.stride);
        }
    }
}

int rfm_agop(const rfm_ctx *ctx, const rfm_model *model, rfm_cmat z, const rfm_real *weights, rfm_mat sum,
             rfm_mat mean) {
    int status = check_ctx(ctx);
    size_t used, first, rows, i, j;
    outer_space s;
    if (status == RFM_OK) status = check_model(model);
    if (status == RFM_OK) status = check_view(z);
    if (status == RFM_OK) status = check_view(rfm_const(sum));
    if (status == RFM_OK && mean.at != NULL) status = check_view(rfm_const(mean));
    if (status != RFM_OK) return status;
    if (z.cols != model->d || sum.cols != model->r || (sum.rows != 1 && sum.rows != model->r)) return RFM_ESHAPE;
    if (mean.at != NULL && (mean.rows != model->c || mean.cols != model->r)) return RFM_ESHAPE;
    if (!finite_view(port_of(ctx), z) || (weights != NULL && !rfm_finite(z.rows, weights))) return RFM_EFINITE;
    for (i = 0; weights != NULL && i < z.rows; i++)
        if (weights[i] < R(0)) return RFM_EVALUE;
    used = ctx->arena->used;
    status = outer_layout(ctx->arena, ctx, model, z.rows, &s);
    if (status == RFM_OK) status = predictor_start(&s.at);
    if (status != RFM_OK) return leave(ctx, used, status);
    for (i = 0; i < sum.rows; i++)
        for (j = sum.rows == 1 ? 0 : i; j < sum.cols; j++) sum.at[i * sum.stride + j] = R(0);
    for (i = 0; mean.at != NULL && i < mean.rows; i++)
        for (j = 0; j < mean.cols; j++) mean.at[i * mean.stride + j] = R(0);
    for (first = 0; first < z.rows && status == RFM_OK; first += rows) {
        rfm_cmat part = z;
        rows = min_size(s.at.rows, z.rows - first);
        part.at += first * z.stride, part.rows = rows;
        status = place_rows(&s.at, part);
        if (status == RFM_OK) outer_add(&s, rows, weights != NULL ? weights + first : NULL, sum, mean);
    }
    if (status == RFM_OK && !(sum.rows == 1 ? finite_view : finite_upper)(s.at.pack.port, rfm_const(sum)))
        status = RFM_ERANGE;
    if (status == RFM_OK && mean.at != NULL && !finite_view(s.at.pack.port, rfm_const(mean))) status = RFM_ERANGE;
    return leave(ctx, used, status);
}

/* ==== 17. Training ==============================================================================
 *
 * Algorithm 1 of the RFM paper on one square matrix: on and above its diagonal K + ridge I, which becomes its factor;
 * below the diagonal the gradient weights W, which come with K from the same distances. With h_jk = sum_i alpha_ik W_ij
 * P (x_i - x_j), AGOP = P' S P,  S = mean over j of sum_k h_jk h_jk'   (r, r), and with S = R'R, rank revealing, the
 * next P is R P: M itself is never formed. A kernel of axes depends on P, not only on P'P: with RFM_FULL its P is the
 * symmetric root of M, by eigenpairs. Sample weights w: the system is (w^1/2 K w^1/2 + ridge I) beta = w^1/2 Y,
 * alpha = w^1/2 beta, and the mean is weighted.
 */

/* Tolerance of the rank of S and of a given M: directions are kept down to the rounding of the largest entry. The
 * default, r eps, would drop directions that later iterations need. */
#define METRIC_TOLERANCE REAL_EPS

#define LOO_COLUMNS 64  /* columns of the inverse factor at a time */
#define MEDIAN_ROWS 128 /* rows whose distances the median is taken of */

typedef struct {
    const rfm_ctx *ctx;
    const rfm_data *data;
    const rfm_options *o;
    size_t n, d, c, points;
    solving solve;
    progress progress;
    rfm_model m; /* the current iterate; its arrays are the next four */
    rfm_real *shift, *p, *centers, *alpha;
    int is_identity;             /* 1: P = I, and p is not set */
    rfm_real unit;               /* centres, norms and distances are stored in this unit, so that they can be squared */
    rfm_real y_unit, alpha_unit; /* units of Y in solves and scores, of alpha in the AGOP */
    rfm_real lift, steepest;     /* a factor of the gradients in the AGOP, and the largest of them without it */
    radial kernel;               /* the kernel of distances in units */
    rfm_real ridge;              /* as used */
    int want_w;
    rfm_real *k; /* (n, n) ld apart */
    size_t ld;
    rfm_real *norms;             /* (n) of the centres */
    rfm_real *root_w;            /* (n) w^1/2; NULL: all 1 */
    rfm_real *factor;            /* (n) K_ij has factor_i factor_j beside phi: root_w, lengths; NULL: all 1 */
    rfm_real *lengths;           /* (n) on the sphere: of the projected rows, in units of length_unit; else NULL */
    rfm_real length_unit;        /* 1 where there are no lengths */
    rfm_real longest;            /* the largest of the lengths */
    rfm_real largest_k;          /* the largest phi, times its lengths: 1 but for network kernels */
    rfm_real *toward;            /* (n, c) network kernels that see lengths: sum_i alpha_ik phi(s_ij) */
    rfm_real root_sum;           /* square root of the sum of w over the gradient points */
    rfm_real *turned;            /* workers x 2 (nr, group): rows of W, and their transpose */
    rfm_real *centred;           /* (AGOP_ROWS, d), RFM_FULL */
    rfm_real *ax, *h;            /* (n, g (r + 1)), (AGOP_ROWS, g (r + 1)) */
    rfm_real *guess, *mean;      /* (c, r) a first guess of the mean gradients; what the guess leaves of them */
    int guessed;                 /* 1: the means of the current outputs have been guessed */
    size_t together;             /* outputs taken together: g */
    rfm_real *s, *root, *next;   /* RFM_FULL: (d, d) each; RFM_DIAGONAL: s (d) */
    rfm_real tolerance;          /* of the rank of S */
    int rooted;                  /* 1: P is the symmetric root of M */
    size_t eigen_at;             /* rooted: where the room of eigenpairs begins in the arena */
    size_t rank;                 /* rooted: of P, which has d rows whatever its rank is */
    rfm_real *acc;               /* (n or d) scratch of the rank-revealing factor; rooted: eigenvalues */
    uint32_t *perm, *picked;     /* (n or d) its order; (n) rows of the gradient points, NULL: all rows */
    rfm_real *rhs, *gram;        /* (n, width); ridge 0: (n, n) */
    size_t width;                /* c, rounded up to whole tiles */
    rfm_real *distances;         /* median */
    rfm_real *inverse, *columns; /* leave-one-out: (n), (n, LOO_COLUMNS) */
    predictor validation;
    rfm_real *predicted; /* (v, c) */
    rfm_real *best_p, *best_alpha;
    size_t store_end; /* `used` of the store once the model's arrays are taken */
} training;

static int rows_at(rfm_cmat a) { return a.at != NULL; }
static int sees_lengths(const rfm_model *m) { return is_network(m->kernel) && !(m->radius > R(0)); }
static int updates(const training *f) { return f->o->metric != RFM_IDENTITY && f->o->iterations > 0; }

static int needs_root(const rfm_options *o) { return o->metric == RFM_FULL && rfm_kernels[o->kernel].axes; }

/* Known when compiling, so that with RFM_NO_ROOT nothing is linked for it. */
#ifdef RFM_NO_ROOT
#define ROOTED(f) 0
#else
#define ROOTED(f) ((f)->rooted)
#endif

/* The memory of a fit. Only sizes are read: the shapes in f->data, and the options. */
static int training_layout(rfm_arena *store, rfm_arena *arena, training *f) {
    const rfm_options *o = f->o;
    const rfm_port *port = port_of(f->ctx);
    size_t n = f->n, d = f->d, c = f->c, full = o->metric == RFM_FULL ? d : 0, wide, rows,
           v = f->data->x_validation.rows;
    int scored = rows_at(f->data->x_validation);
    f->rooted = needs_root(o) && (updates(f) || rows_at(f->data->start));
    f->m.n = n, f->m.d = d, f->m.c = c, f->m.r = d, f->m.metric = o->metric;
    f->m.kernel = o->kernel, f->m.exponent = o->exponent, f->m.radius = o->unit_rows ? R(1) : R(0);
    f->shift = rfm_arena_reals(store, 1, d);
    f->p = o->metric == RFM_IDENTITY ? NULL : rfm_arena_reals(store, o->metric == RFM_FULL ? d : 1, d);
    f->centers = rfm_arena_reals(store, n, d);
    f->alpha = rfm_arena_reals(store, n, c);
    f->store_end = store->used;
    if (store->status != RFM_OK) return store->status;

    f->ld = n + (n >= 512 && n % 512 < 16 ? 16 : 0); /* else rows a power of two apart would share cache sets */
    f->k = rfm_arena_reals(arena, n, f->ld);
    f->norms = rfm_arena_reals(arena, 1, n);
    f->root_w = f->data->weights != NULL ? rfm_arena_reals(arena, 1, n) : NULL;
    f->lengths = on_sphere(&f->m) ? rfm_arena_reals(arena, 1, n) : NULL;
    f->factor = is_network(o->kernel) ? rfm_arena_reals(arena, 1, n) : f->root_w;
    f->together = max_size(1, min_size(c, AGOP_COLUMNS / (d + 1)));
    wide = f->together * (d + 1);
    rows = min_size(n, AGOP_ROWS);
    f->centred = rfm_arena_reals(arena, full ? rows : 0, d);
    if (updates(f)) {
        f->turned = take_panels(arena, port, rfm_workers(f->ctx) * 2 * port->nr,
                                min_size(round_up(n, port->nr), group_columns(port)));
        f->ax = rfm_arena_reals(arena, n, wide);
        f->h = rfm_arena_reals(arena, rows, wide);
        f->mean = rfm_arena_reals(arena, o->center ? c : 0, d);
        f->guess = rfm_arena_reals(arena, o->center ? c : 0, d);
        f->s = rfm_arena_reals(arena, full ? d : 1, d);
        f->root = rfm_arena_reals(arena, full, d);
        f->next = rfm_arena_reals(arena, full, d);
        f->picked = take_indices(arena, f->points < n ? n : 0);
        f->toward = rfm_arena_reals(arena, sees_lengths(&f->m) ? n : 0, c);
    } else {
        f->turned = f->toward = f->ax = f->h = f->mean = f->guess = f->next = NULL, f->picked = NULL;
        f->s = rfm_arena_reals(arena, ROOTED(f) ? d : 0, d);
        f->root = rfm_arena_reals(arena, ROOTED(f) ? d : 0, d);
    }
    f->eigen_at = arena->used;
    if (ROOTED(f)) {
        eigen g;
        if (eig_layout(arena, f->ctx, d, d, &g) != RFM_OK) return arena->status;
    }
    f->acc = rfm_arena_reals(arena, 1, max_size(full, o->ridge > R(0) ? 0 : n));
    f->perm = take_indices(arena, max_size(full, o->ridge > R(0) ? 0 : n));
    f->gram = rfm_arena_reals(arena, o->ridge > R(0) ? 0 : n, n);
    f->width = round_up(c, port->nr);
    f->rhs = take_panels(arena, port, n, f->width);
    rows = min_size(n, MEDIAN_ROWS);
    f->distances = rfm_arena_reals(arena, o->bandwidth_rule == RFM_BANDWIDTH_MEDIAN ? rows : 0, (rows - 1) / 2 + 1);
    f->inverse = rfm_arena_reals(arena, o->select == RFM_SELECT_LOO ? n : 0, 1);
    f->columns = rfm_arena_reals(arena, o->select == RFM_SELECT_LOO ? n : 0, min_size(n, LOO_COLUMNS));
    f->predicted = rfm_arena_reals(arena, scored ? v : o->select == RFM_SELECT_LOO ? 1 : 0, c);
    f->best_p = rfm_arena_reals(arena, o->select == RFM_SELECT_LAST || o->metric == RFM_IDENTITY ? 0 : full ? d : 1, d);
    f->best_alpha = rfm_arena_reals(arena, o->select == RFM_SELECT_LAST ? 0 : n, c);
    if (scored && predictor_layout(arena, f->ctx, &f->m, v, &f->validation) != RFM_OK) return arena->status;
    if (!updates(f)) wide = 0;
    if (!updates(f) && !rows_at(f->data->start)) full = 0; /* P stays the identity: no product has d rows or columns */
    wide = max_size(max_size(n, f->width), max_size(wide, full));
    if (o->select == RFM_SELECT_LOO) wide = max_size(wide, min_size(n, LOO_COLUMNS));
    return solving_layout(arena, f->ctx, min_size(chol_block_rows(port), n), min_size(SOLVE_ROWS, n), max_size(n, full),
                          wide, max_size(n, d), &f->solve);
}

/* ---- the kernel matrix ---------------------------------------------------------------------- */

/* K_ii, weighted. */
static rfm_real diagonal_of(const training *f, size_t i) {
    rfm_real factor = f->factor != NULL ? f->factor[i] : R(1);
    return factor * factor * phi_at_zero(f->o->kernel, f->o->exponent);
}

/* In a block on and above the diagonal -2 x'z becomes K, and W goes to the mirror image. nr rows of W at a time are
 * made in a buffer, transposed like a panel, and copied. */
static void kernel_finish(const void *arg, size_t row, size_t rows, size_t col, size_t cols, rfm_real *c, size_t ldc,
                          size_t worker) {
    const training *f = (const training *)arg;
    const rfm_port *port = f->solve.pack.port;
    size_t r = f->m.r, nr = port->nr, group = min_size(round_up(f->n, nr), group_columns(port)), base, i, j;
    rfm_real *w = f->want_w ? f->turned + worker * 2 * nr * group : NULL, *turned;
    for (base = 0; base < rows; base += nr) {
        size_t end = min_size(base + nr, rows), height = end - base;
        for (i = base; i < end; i++) {
            size_t at = row + i, from = max_size(col, at + 1);
            rfm_real *line = c + i * ldc;
            if (at >= col && at < col + cols) line[at - col] = diagonal_of(f, at) + f->ridge;
            if (from >= col + cols) continue;
            line += from - col;
            kernel_values(port, &f->kernel, col + cols - from, r, f->centers + at * r, f->norms[at],
                          f->centers + from * r, f->norms + from, line,
                          w != NULL ? w + (i - base) * group + (from - col) : NULL);
            for (j = from; f->factor != NULL && j < col + cols; j++) line[j - from] *= f->factor[at] * f->factor[j];
        }
        j = max_size(col, row + base + 1);
        if (w == NULL || j >= col + cols) continue;
        turned = w + nr * group;
        pack_panel(port, nr, height, col + cols - j, operand_of(w + (j - col), group, 1), turned);
        for (; j < col + cols; j++, turned += nr) {
            size_t above = min_size(height, j - row - base); /* rows of this part that are above row j */
            rfm_real *mirror = f->k + j * f->ld + row + base;
            if (above == nr)
                memcpy(mirror, turned, nr * sizeof *mirror);
            else
                for (i = 0; i < above; i++) mirror[i] = turned[i];
        }
    }
}

static void kernel_matrix(training *f) {
    product_and(&f->solve.pack, is_l1(f->o->kernel), 1, f->n, f->n, f->m.r, R(-2), operand_of(f->centers, f->m.r, 1),
                operand_of(f->centers, 1, f->m.r), 0, f->k, f->ld, kernel_finish, f);
}

/* The k-th smallest of x[0..n), which is rearranged. */
static rfm_real select_smallest(size_t n, rfm_real *x, size_t k) {
    size_t low = 0, high = n - 1;
    while (low < high) {
        rfm_real pivot = x[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (x[i] < pivot) i++;
            while (pivot < x[j]) j--;
            if (i >= j) break;
            swap_reals(&x[i++], &x[j--]);
        }
        if (k <= j)
            high = j; /* everything up to j is <= pivot, everything after it >= pivot; j < high */
        else
            low = j + 1;
    }
    return x[k];
}

/* The median distance of some rows, in units. */
static rfm_real median_distance(const training *f) {
    size_t n = f->n, r = f->m.r, rows = min_size(n, MEDIAN_ROWS), count = 0, i, j, q;
    int l1 = is_l1(f->o->kernel);
    rfm_real median;
    for (i = 0; i < rows; i++) {
        const rfm_real *a = f->centers + i * n / rows * r;
        for (j = 0; j < i; j++) {
            const rfm_real *b = f->centers + j * n / rows * r;
            rfm_real distance = R(0);
            for (q = 0; q < r; q++) distance += l1 ? RFM_MATH(fabs)(a[q] - b[q]) : (a[q] - b[q]) * (a[q] - b[q]);
            f->distances[count++] = distance;
        }
    }
    median = select_smallest(count, f->distances, count / 2);
    return l1 ? median : RFM_MATH(sqrt)(median);
}

/* Has a projected row lost its direction? It is below the normal range, or 0 by products that are below it. */
static int directions_lost(const training *f) {
    size_t n = f->n, r = f->m.r, d = f->m.d, i;
    rfm_real p = f->is_identity || f->m.p == NULL ? R(1) : rfm_largest(f->m.metric == RFM_FULL ? r * d : d, f->m.p);
    for (i = 0; i < n; i++) {
        rfm_real z = rfm_largest(r, f->centers + i * r), x = rfm_largest(d, f->data->x.at + i * f->data->x.stride);
        if (z > R(0) ? z < REAL_LEAST : p > R(0) && x > R(0) && p * x < REAL_LEAST) return 1;
    }
    return 0;
}

/* On the sphere centres are directions. Their lengths go into `factor`, if the kernel sees them; a network kernel has 0
 * there for a row of zeros. A fixed ridge takes part in the unit, so that it is no more than 2^20 in it. */
static int place_on_sphere(training *f) {
    size_t n = f->n, i;
    rfm_real most = R(0);
    if (directions_lost(f)) return RFM_ERANGE;
    scale_rows(&f->m, n, f->centers, f->lengths);
    if (!finite_row(f->solve.pack.port, n, f->lengths)) return RFM_ERANGE;
    f->length_unit = unit_of(rfm_largest(n, f->lengths));
    if (sees_lengths(&f->m) && f->o->ridge_rule == RFM_RIDGE_FIXED && f->o->ridge > R(0))
        f->length_unit = max_real(f->length_unit, unit_of(RFM_MATH(sqrt)(f->o->ridge)) / R(1024));
    multiply(n, f->lengths, R(1) / f->length_unit);
    f->longest = rfm_largest(n, f->lengths);
    f->unit = R(1);
    for (i = 0; is_network(f->o->kernel) && i < n; i++) {
        rfm_real length = length_factor(&f->m, f->lengths[i]);
        most = max_real(most, length);
        f->factor[i] = (f->root_w != NULL ? f->root_w[i] : R(1)) * length;
    }
    if (most > R(0)) f->largest_k = most * most * phi_at_zero(f->o->kernel, f->o->exponent);
    return RFM_OK;
}

/* Computes the centres in units, their norms and the bandwidth for the current P. RFM_ERANGE: distances cannot be
 * squared, or L is out of range. */
static int place_centers(training *f) {
    const rfm_port *port = f->solve.pack.port;
    size_t first, n = f->n, r = f->m.r, rows;
    for (first = 0; first < n; first += rows) {
        rfm_cmat part = f->data->x;
        rows = min_size(AGOP_ROWS, n - first);
        part.at += first * part.stride, part.rows = rows;
        if (f->is_identity) {
            rfm_model plain = f->m;
            plain.metric = RFM_IDENTITY;
            project(&f->solve.pack, &plain, part, NULL, f->centers + first * r);
        } else
            project(&f->solve.pack, &f->m, part, f->centred, f->centers + first * r);
    }
    if (!finite_row(port, n * r, f->centers)) return RFM_ERANGE;
    f->length_unit = f->largest_k = R(1);
    if (on_sphere(&f->m)) {
        int status = place_on_sphere(f);
        if (status != RFM_OK) return status;
    } else
        f->unit = distance_unit(rfm_largest(n * r, f->centers));
    multiply(n * r, f->centers, R(1) / f->unit);
    squared_norms(n, r, f->centers, f->norms);
    if (!(rfm_largest(n, f->norms) <= NORM_MOST / f->unit / f->unit)) return RFM_ERANGE;
    f->m.bandwidth = is_network(f->o->kernel) ? R(1) : f->o->bandwidth;
    if (!is_network(f->o->kernel) && f->o->bandwidth_rule == RFM_BANDWIDTH_MEDIAN && n > 1) {
        rfm_real median = median_distance(f);
        if (median > R(0)) f->m.bandwidth *= median * f->unit;
        if (!bandwidth_right(f->m.bandwidth)) return RFM_ERANGE;
    }
    f->kernel = radial_of(f->o->kernel, f->m.bandwidth, f->o->exponent);
    f->kernel.inverse = inverse_in_units(f->kernel.inverse, f->unit);
    return RFM_OK;
}

/* ---- alpha ---------------------------------------------------------------------------------- */

/* rhs = Y in units, in the order of perm if it is not NULL, weighted; its rows are filled up with zeros to whole
 * tiles. */
static void right_hand_side(const training *f, const uint32_t *perm) {
    size_t i, j;
    for (i = 0; i < f->n; i++) {
        size_t row = perm != NULL ? perm[i] : i;
        rfm_real w = f->root_w != NULL ? f->root_w[row] : R(1), scale = R(1) / f->y_unit, *x = f->rhs + i * f->width;
        for (j = 0; j < f->c; j++) x[j] = w * (scale * f->data->y.at[row * f->data->y.stride + j]);
        for (; j < f->width; j++) x[j] = R(0);
    }
}

static rfm_mat k_view(const training *f) {
    rfm_mat k = rfm_view(f->k, f->n, f->n);
    k.stride = f->ld;
    return k;
}

/* From the solution of the weighted system to alpha. */
static void weigh_alpha(training *f) {
    size_t i;
    for (i = 0; f->root_w != NULL && i < f->n; i++) multiply(f->c, f->alpha + i * f->c, f->root_w[i]);
}

/* alpha = K^+ Y: with K = U'U of rank r in the order of perm, U (r, n): alpha = U' (U U')^-2 U Y. */
static void solve_pseudo(training *f) {
    size_t n = f->n, c = f->c, ld = f->ld, rank, done, i, j, p;
    rfm_real *rhs = f->rhs, *x = f->alpha;
    rfm_mat gram = rfm_view(f->gram, n, n);
    kernel_matrix(f);
    (void)chol_rank(&f->solve.pack, k_view(f), R(0), f->perm, &rank,
                    f->acc); /* K is a kernel matrix: negative pivots are rounding */
    right_hand_side(f, f->perm);
    if (rank == n) {
        solve(&f->solve, RFM_TN, rfm_const(k_view(f)), rfm_view(rhs, n, f->width));
        solve(&f->solve, RFM_NN, rfm_const(k_view(f)), rfm_view(rhs, n, f->width));
        for (i = 0; i < n; i++) memcpy(x + f->perm[i] * c, rhs + i * f->width, c * sizeof *x);
        weigh_alpha(f);
        return;
    }
    for (i = 0; i < rank; i++)
        for (j = i; j < rank; j++) f->gram[i * n + j] = dot(n - j, f->k + i * ld + j, f->k + j * ld + j);
    gram.rows = gram.cols = rank;
    done = rank > 0 ? chol(&f->solve, gram, NULL) : 0; /* if the factor fails at a row, the rows before it give the
                                                          answer of a lower rank */
    gram.rows = gram.cols = rank = done;
    for (i = 0; i < n; i++) /* U Y, row by row: row i of the right-hand side is not needed after row i of the product */
        for (j = 0; j < c; j++) {
            rfm_real sum = R(0);
            for (p = i; i < rank && p < n; p++) sum += f->k[i * ld + p] * rhs[p * f->width + j];
            x[i * c + j] = sum;
        }
    for (i = 0; i < 2 && rank > 0; i++) {
        solve(&f->solve, RFM_TN, rfm_const(gram), rfm_view(x, rank, c));
        solve(&f->solve, RFM_NN, rfm_const(gram), rfm_view(x, rank, c));
    }
    memcpy(rhs, x, rank * c * sizeof *x);
    for (i = 0; i < n; i++)
        for (j = 0; j < c; j++) {
            rfm_real sum = R(0);
            for (p = 0; p < rank && p <= i; p++) sum += f->k[p * ld + i] * rhs[p * c + j];
            x[f->perm[i] * c + j] = sum;
        }
    weigh_alpha(f);
}

/* What K_ij has beside phi, without weights. */
static rfm_real lengths_of(const training *f, size_t i, size_t j) {
    return f->lengths == NULL ? R(1) : length_factor(&f->m, f->lengths[i]) * length_factor(&f->m, f->lengths[j]);
}

#define RESIDUAL_ROWS 4 /* rows that are looked at: harmful rounding is everywhere, so a few rows show it */

/* By the equations the predictor at row i is y_i - ridge alpha_i / w_i. Returns how far it is from that at a few
 * rows, in the units of rhs: this is what rounding does to a prediction. rhs is free here, and holds kernel values. */
static rfm_real largest_residual(training *f) {
    size_t n = f->n, c = f->c, r = f->m.r, rows = min_size(min_size(RESIDUAL_ROWS, f->width), n), step = n / rows, i, j,
           k;
    rfm_real most = R(0);
    product_and(&f->solve.pack, is_l1(f->o->kernel), 0, rows, n, r, R(-2), operand_of(f->centers, step * r, 1),
                operand_of(f->centers, 1, r), 0, f->rhs, n, NULL, NULL);
    for (i = 0; i < rows; i++) {
        size_t at = i * step;
        rfm_real *phi = f->rhs + i * n, w = f->root_w != NULL ? f->root_w[at] * f->root_w[at] : R(1);
        if (w == R(0)) continue;
        kernel_values(f->solve.pack.port, &f->kernel, n, r, f->centers + at * r, f->norms[at], f->centers, f->norms,
                      phi, NULL);
        for (k = 0; k < c; k++) {
            rfm_real sum = f->data->y.at[at * f->data->y.stride + k] / f->y_unit - f->ridge / w * f->alpha[at * c + k];
            for (j = 0; j < n; j++) sum -= phi[j] * f->alpha[j * c + k] * lengths_of(f, at, j);
            most = max_real(most, RFM_MATH(fabs)(sum));
        }
    }
    return most;
}

#define RESIDUAL_MOST R(0.01) /* share of the largest target; if rounding does more, alpha is noise */

/* (K + ridge I) alpha = Y in units. Returns 0 if, in this number type, the matrix cannot be told from a singular
 * one. */
static int solve_ridge(training *f) {
    size_t n = f->n, c = f->c;
    if (chol(&f->solve, k_view(f), &f->progress) < n) return 0;
    right_hand_side(f, NULL);
    solve(&f->solve, RFM_TN, rfm_const(k_view(f)), rfm_view(f->rhs, n, f->width));
    solve(&f->solve, RFM_NN, rfm_const(k_view(f)), rfm_view(f->rhs, n, f->width));
    copy_rows(n, c, f->rhs, f->width, f->alpha, c);
    weigh_alpha(f);
    return largest_residual(f) <= RESIDUAL_MOST;
}

/* What a ridge of 1 is in the equations, where lengths are in units. */
static rfm_real ridge_unit(const training *f) {
    if (f->o->ridge_rule == RFM_RIDGE_SHARE) return f->largest_k;
    return sees_lengths(&f->m) ? R(1) / f->length_unit / f->length_unit : R(1);
}

/* The ridge as the options mean it. */
static rfm_real ridge_used(const training *f) {
    rfm_real first = max_real(f->o->ridge * ridge_unit(f), REAL_LEAST);
    return f->ridge > first ? f->ridge / ridge_unit(f) : f->o->ridge;
}

/* alpha = (K + ridge I)^-1 Y. As long as rounding is larger than the ridge, the ridge grows. */
static int solve_alpha(training *f) {
    size_t n = f->n, i;
    rfm_real most = R(0); /* the largest weighted K */
    f->ridge = f->o->ridge > R(0) ? max_real(f->o->ridge * ridge_unit(f), REAL_LEAST) : R(0);
    for (i = 0; i < n; i++) most = max_real(most, diagonal_of(f, i));
    if (f->ridge > R(0)) {
        for (;;) {
            int solved;
            kernel_matrix(f);
            if (advance(&f->progress, R(n) * R(n) * R(f->m.r))) return RFM_ECANCEL;
            solved = solve_ridge(f);
            if (f->progress.cancelled) return RFM_ECANCEL;
            if (solved) break;
            f->ridge = max_real(R(10) * f->ridge, R(n) * REAL_EPS * most);
            if (!(f->ridge < R(n) * most)) return RFM_ERANGE;
        }
    } else {
        solve_pseudo(f);
        if (advance(&f->progress, R(n) * R(n) * (R(f->m.r) + R(n) / R(3)))) return RFM_ECANCEL;
    }
    multiply(n * f->c, f->alpha, f->y_unit);
    return finite_row(f->solve.pack.port, n * f->c, f->alpha) ? RFM_OK : RFM_ERANGE;
}

/* ---- the sphere ----------------------------------------------------------------------------- */

#define SHORT R(0.125) /* of the largest length */

/* Point j, one per job: toward_jk = sum_i alpha_ik phi(s_ij) from the kernel itself, a few rows at a time. */
#define TOWARD_ROWS 32
static void toward_job(void *arg, size_t index, size_t worker) {
    const training *f = (const training *)arg;
    size_t n = f->n, c = f->c, r = f->m.r, at = f->picked != NULL ? f->picked[index] : index, first, rows, i, k;
    const rfm_real *x = f->centers + at * r;
    rfm_real *toward = f->toward + at * c, phi[TOWARD_ROWS];
    (void)worker;
    if (f->o->ridge > R(0) && f->lengths[at] >= SHORT * f->longest && SHORT * f->ridge <= diagonal_of(f, at)) return;
    for (k = 0; k < c; k++) toward[k] = R(0);
    for (first = 0; first < n; first += rows) {
        rows = min_size(TOWARD_ROWS, n - first);
        for (i = 0; i < rows; i++) phi[i] = R(-2) * dot(r, x, f->centers + (first + i) * r);
        kernel_values(f->solve.pack.port, &f->kernel, rows, r, x, f->norms[at], f->centers + first * r,
                      f->norms + first, phi, NULL);
        for (i = 0; i < rows; i++)
            for (k = 0; k < c; k++) toward[k] += f->alpha[(first + i) * c + k] * phi[i];
    }
}

/* alpha of the equations becomes alpha of the model, which has the length of its row in it, and 0 for a row that K
 * does not see. If gradients follow, f(x_j) / |x_j| = sum_i alpha_ik phi(s_ij) is kept: by the equations f is
 * y_j - ridge alpha_j / w_j, which has the digits that it needs unless the row is short or the ridge is large. */
static int fold_lengths(training *f) {
    size_t n = f->n, c = f->c, i, k;
    if (!is_network(f->o->kernel)) return RFM_OK;
    for (i = 0; i < n; i++) {
        rfm_real w = f->root_w != NULL ? f->root_w[i] * f->root_w[i] : R(1), length = f->lengths[i];
        const rfm_real *y = f->data->y.at + i * f->data->y.stride;
        for (k = 0; k < c; k++) {
            rfm_real *alpha = f->alpha + i * c + k;
            if (f->want_w && sees_lengths(&f->m))
                f->toward[i * c + k] =
                    length > R(0) && w > R(0) ? (y[k] - f->ridge / w * *alpha) / length / f->length_unit : R(0);
            *alpha *= length_factor(&f->m, length);
            if (sees_lengths(&f->m)) *alpha /= f->length_unit;
        }
    }
    if (!finite_row(f->solve.pack.port, n * c, f->alpha)) return RFM_ERANGE;
    if (f->want_w && sees_lengths(&f->m)) rfm_jobs(f->ctx, toward_job, f, f->points);
    return RFM_OK;
}

/* ---- the average gradient outer product ----------------------------------------------------- */

/* Row and weight of gradient point j. */
static size_t point_at(const training *f, size_t j) { return f->picked != NULL ? f->picked[j] : j; }
static rfm_real point_weight(const training *f, size_t j) {
    return (f->root_w != NULL ? f->root_w[point_at(f, j)] : R(1)) / f->root_sum;
}

/* Centred gradients: a first guess of the mean gradient of every output, from the first points that have weight.
 * With it S is a sum of squares of numbers that are small already, and little is left to subtract. Returns 0 if none
 * of these points has weight. */
static int guess_means(training *f, size_t first, size_t rows, size_t k0, size_t g) {
    size_t r = f->m.r, wide = g * (r + 1), j, k, q;
    rfm_real sum = R(0);
    for (j = 0; j < rows; j++) sum += point_weight(f, first + j) * point_weight(f, first + j);
    for (j = 0; sum > R(0) && j < rows; j++) {
        rfm_real share = point_weight(f, first + j) * point_weight(f, first + j) / sum;
        for (k = 0; k < g; k++)
            for (q = 0; q < r; q++) f->guess[(k0 + k) * r + q] += share * f->h[j * wide + k * (r + 1) + q];
    }
    return sum > R(0);
}

static rfm_real toward_at(const training *f, size_t i, size_t k) {
    return f->toward[i * f->c + k] / f->alpha_unit * f->lift;
}

/* h (rows, g (r + 1)) of the points from `first` on and outputs k0..k0+g-1: the product with W becomes h_jk, centred
 * and weighted. */
static void agop_rows(training *f, size_t first, size_t rows, size_t k0, size_t g) {
    size_t r = f->m.r, wide = g * (r + 1), j, k, q;
    for (j = 0; j < rows; j++) {
        size_t at = point_at(f, first + j);
        const rfm_real *x = f->centers + at * r;
        for (k = 0; k < g; k++) {
            rfm_real *h = f->h + j * wide + k * (r + 1), a = h[r];
            if (f->lengths != NULL)
                sphere_gradient(&f->m, f->lengths[at], R(1), x, sees_lengths(&f->m) ? toward_at(f, at, k0 + k) : R(0),
                                h);
            else
                for (q = 0; q < r; q++) h[q] -= a * x[q];
            f->steepest = max_real(f->steepest, rfm_largest(r, h));
        }
    }
    if (first == 0) f->guessed = 0;
    if (f->o->center && !f->guessed) f->guessed = guess_means(f, first, rows, k0, g);
    for (j = 0; j < rows; j++) {
        rfm_real weight = point_weight(f, first + j);
        for (k = 0; k < g; k++) {
            rfm_real *h = f->h + j * wide + k * (r + 1);
            const rfm_real *guess = f->guess + (k0 + k) * r;
            for (q = 0; f->o->center && q < r; q++) {
                h[q] -= guess[q];
                f->mean[(k0 + k) * r + q] += weight * weight * h[q];
            }
            multiply(r, h, weight);
        }
    }
}

typedef struct {
    training *f;
    size_t first, g;
} signs_args;

/* The same with signs, for norm 1, one point per job: h_jk = sum_i a_ik W_ij sign(x_i - x_j), where a is the last
 * column of ax. h_jk[r] stays 0, because there is nothing to subtract. */
static void agop_signs(void *arg, size_t index, size_t worker) {
    const signs_args *t = (const signs_args *)arg;
    const training *f = t->f;
    size_t r = f->m.r, wide = t->g * (r + 1), at = point_at(f, t->first + index), first, rows, i;
    rfm_real *h = f->h + index * wide, w[SIGN_ROWS];
    (void)worker;
    memset(h, 0, wide * sizeof *h);
    for (first = 0; first < f->n; first += rows) {
        rows = min_size(SIGN_ROWS, f->n - first);
        for (i = first; i < first + rows; i++)
            w[i - first] = i == at ? R(0) : f->k[i > at ? i * f->ld + at : at * f->ld + i];
        add_signs(f->solve.pack.port, rows, r, t->g, f->centers + first * r, f->centers + at * r, w,
                  f->ax + first * wide + r, h);
    }
}

/* Subtracts from S what the guesses left of the mean gradients. The rest may be nothing but the rounding of the
 * guesses. On a diagonal that becomes 0; in a full S the tolerance keeps it out of the rank. A NaN stays a NaN, and
 * is found later. */
static void center_agop(training *f) {
    const rfm_real share = R(16) * REAL_EPS;
    size_t c = f->c, r = f->m.r, step = f->o->metric == RFM_DIAGONAL ? 1 : r + 1, i, j, k;
    rfm_real most = R(0), after = R(0);
    for (i = 0; i < r; i++) {
        rfm_real rounding = R(0);
        for (k = 0; k < c; k++) {
            const rfm_real *mean = f->mean + k * r;
            rounding += share * f->guess[k * r + i] * (share * f->guess[k * r + i]);
            for (j = i; j < (step == 1 ? i + 1 : r); j++) f->s[i * step + j - i] -= mean[i] * mean[j];
        }
        if (step == 1 && f->s[i] < rounding) f->s[i] = R(0);
        most = max_real(most, rounding);
        after = max_real(after, f->s[i * step]);
    }
    if (after > R(0)) f->tolerance = max_real(f->tolerance, most / after);
}

/* The upper triangle of S (r, r); with RFM_DIAGONAL only its diagonal. It is in units of alpha / lift and lacks the
 * kernel's constant factor; update_metric puts these back. */
static int agop_sums(training *f) {
    size_t n = f->n, c = f->c, r = f->m.r, diagonal = f->o->metric == RFM_DIAGONAL, k0, k, g, first, rows, i, j, q;
    memset(f->s, 0, (diagonal ? r : r * r) * sizeof *f->s);
    if (f->o->center) {
        memset(f->mean, 0, c * r * sizeof *f->mean);
        memset(f->guess, 0, c * r * sizeof *f->guess);
    }
    for (k0 = 0; k0 < c; k0 += g) {
        size_t wide;
        g = min_size(f->together, c - k0);
        wide = g * (r + 1);
        for (i = 0; i < n; i++) {
            for (k = 0; k < g; k++) {
                rfm_real *ax = f->ax + i * wide + k * (r + 1);
                rfm_real a = f->alpha[i * c + k0 + k] / f->alpha_unit / weight_unit(&f->kernel) * f->lift;
                const rfm_real *x = f->centers + i * r;
                for (q = 0; q < r; q++) ax[q] = a * x[q];
                ax[r] = a;
            }
        }
        for (first = 0; first < f->points; first += rows) {
            rows = min_size(AGOP_ROWS, f->points - first);
            if (is_l1(f->o->kernel)) {
                signs_args t;
                t.f = f, t.first = first, t.g = g;
                rfm_jobs(f->ctx, agop_signs, &t, rows);
            } else
                product(&f->solve.pack, 0, rows, wide, n, R(1), operand_symmetric(f->k, f->ld, f->picked, first),
                        operand_of(f->ax, wide, 1), 0, f->h, wide);
            agop_rows(f, first, rows, k0, g);
            for (k = 0; k < g; k++) {
                const rfm_real *h = f->h + k * (r + 1);
                if (!diagonal)
                    product(&f->solve.pack, 1, r, r, rows, R(1), operand_of(h, 1, wide), operand_of(h, wide, 1), 1,
                            f->s, r);
                for (j = 0; diagonal && j < rows; j++)
                    for (q = 0; q < r; q++) f->s[q] += h[j * wide + q] * h[j * wide + q];
            }
            if (advance(&f->progress, R(2) * R(rows) * R(n) * R(wide))) return RFM_ECANCEL;
        }
    }
    f->tolerance = METRIC_TOLERANCE;
    if (f->o->center) center_agop(f);
    return finite_row(f->solve.pack.port, diagonal ? r : r * r, f->s) ? RFM_OK : RFM_ERANGE;
}

/* The sums, and once more with larger gradients if the squares of all of them are lost below the number range. That
 * happens where the gradient points are far from the other rows. */
#define LIFT R(RFM_REAL_BYTES == 4 ? 0x1p96 : 0x1p768)
static int agop(training *f) {
    int status;
    f->alpha_unit = unit_of(rfm_largest(f->n * f->c, f->alpha));
    f->lift = R(1);
    f->steepest = R(0);
    status = agop_sums(f);
    if (status == RFM_OK && f->steepest > R(0) && f->steepest * f->steepest < RFM_LIMIT(MIN) / REAL_EPS) {
        f->lift = LIFT;
        status = agop_sums(f);
    }
    return status;
}

/* P (rank, d) from the factor that chol_rank left in u (n, n). root (rank, n) is that factor with its columns in
 * their original order. */
static void unpermute(size_t n, size_t rank, const rfm_real *u, const uint32_t *perm, rfm_real *root) {
    size_t i, j;
    for (i = 0; i < rank; i++)
        for (j = 0; j < n; j++) root[i * n + perm[j]] = j >= i ? u[i * n + j] : R(0);
}

static void mirror_upper(size_t n, rfm_real *a) {
    size_t i, j;
    for (i = 0; i < n; i++)
        for (j = 0; j < i; j++) a[i * n + j] = a[j * n + i];
}

/* P (d, d) = the symmetric root of G, whose upper triangle is in s, with directions below tolerance left out:
 * G = V' diag(w) V, P = V' diag(w)^1/2 V. *least becomes the smallest w, as a share of the largest. */
static RFM_ALONE int symmetric_root(training *f, rfm_real tolerance, rfm_real *least) {
    rfm_arena again = *f->ctx->arena; /* the takes of the layout once more: they give the same places */
    eigen g;
    size_t d = f->d, j;
    rfm_real *w = f->acc, *v = f->root;
    int status;
    again.used = f->eigen_at;
    (void)eig_layout(&again, f->ctx, d, d, &g);
    for (j = 0; j < d; j++) f->perm[j] = f->s[j * d + j] == R(0); /* then its row and column are 0, in the root, too */
    status = eig(&g, rfm_view(f->s, d, d), d, w, rfm_view(v, d, d));
    if (status != RFM_OK) return status;
    *least = w[0] > R(0) ? w[d - 1] / w[0] : w[d - 1];
    for (f->rank = 0; f->rank < d && w[f->rank] > tolerance * w[0]; f->rank++) {
        multiply(d, v + f->rank * d, RFM_MATH(sqrt)(RFM_MATH(sqrt)(w[f->rank])));
        for (j = 0; j < d; j++)
            if (f->perm[j]) v[f->rank * d + j] = R(0);
    }
    product(&f->solve.pack, 1, d, d, f->rank, R(1), operand_of(v, 1, d), operand_of(v, d, 1), 0, f->p, d);
    mirror_upper(d, f->p);
    return RFM_OK;
}

/* P = (P' S P)^1/2. */
static int update_root(training *f) {
    size_t d = f->d;
    rfm_real unit = R(1), least;
    int status;
    if (!f->is_identity) {
        unit = unit_of(rfm_largest(d * d, f->p));
        multiply(d * d, f->p, R(1) / unit);
        mirror_upper(d, f->s);
        product(&f->solve.pack, 0, d, d, d, R(1), operand_of(f->s, d, 1), operand_of(f->p, d, 1), 0, f->next, d);
        product(&f->solve.pack, 1, d, d, d, R(1), operand_of(f->p, 1, d), operand_of(f->next, d, 1), 0, f->s, d);
    }
    status = symmetric_root(f, max_real(f->tolerance, R(d) * REAL_EPS), &least);
    multiply(d * d, f->p, unit);
    return status;
}

/* P = R P with S = R'R, or the symmetric root; then the scale that the options ask for. A zero M keeps one row of
 * zeros. */
static int update_metric(training *f) {
    size_t d = f->d, r = f->m.r, rank, i, j;
    rfm_real largest = R(0), mean = R(0);
    if (ROOTED(f)) {
        int status = update_root(f);
        if (status != RFM_OK) return status;
        rank = d;
    } else if (f->o->metric == RFM_DIAGONAL) {
        for (j = 0; j < d; j++) f->p[j] = (f->is_identity ? R(1) : f->p[j]) * RFM_MATH(sqrt)(f->s[j]);
        rank = 1;
    } else {
        /* S is a mean of squares: negative pivots are rounding */
        (void)chol_rank(&f->solve.pack, rfm_view(f->s, r, r), f->tolerance, f->perm, &rank, f->acc);
        unpermute(r, rank, f->s, f->perm, f->root);
        if (rank == 0)
            rank = 1, memset(f->p, 0, d * sizeof *f->p);
        else if (f->is_identity)
            memcpy(f->p, f->root, rank * d * sizeof *f->p);
        else {
            product(&f->solve.pack, 0, rank, d, r, R(1), operand_of(f->root, r, 1), operand_of(f->p, d, 1), 0, f->next,
                    d);
            memcpy(f->p, f->next, rank * d * sizeof *f->p);
        }
        f->m.r = rank;
    }
    f->is_identity = 0;
    if (f->o->scale == RFM_SCALE_NONE) {
        multiply(rank * d, f->p, gradient_factor(&f->kernel, R(1) / f->m.bandwidth));
        multiply(rank * d, f->p, f->alpha_unit);
        multiply(rank * d, f->p, R(1) / f->lift);
        if (f->m.radius > R(0)) multiply(rank * d, f->p, R(1) / f->length_unit);
    } else {
        multiply(rank * d, f->p, R(1) / unit_of(rfm_largest(rank * d, f->p)));
        for (j = 0; j < d; j++) { /* the largest entry of a positive semi-definite matrix is on its diagonal */
            rfm_real sum = R(0);
            for (i = 0; i < rank; i++) sum += f->p[i * d + j] * f->p[i * d + j];
            largest = max_real(largest, sum);
            mean += sum / R(d);
        }
        if (largest > R(0))
            multiply(rank * d, f->p, RFM_MATH(sqrt)(R(1) / (f->o->scale == RFM_SCALE_MAX ? largest : mean)));
    }
    return finite_row(f->solve.pack.port, rank * d, f->p) ? RFM_OK : RFM_ERANGE;
}

/* How many coordinates M uses. */
static uint32_t metric_rank(const training *f) {
    size_t i, j, count = 0;
    if (f->is_identity) return (uint32_t)f->d;
    if (ROOTED(f)) return (uint32_t)f->rank;
    if (f->o->metric == RFM_FULL && f->m.r > 1) return (uint32_t)f->m.r;
    for (i = 0; i < f->m.r; i++) { /* P is diagonal, or its only row may be zero */
        int used = 0;
        if (f->o->metric == RFM_DIAGONAL)
            used = f->p[i] != R(0);
        else
            for (j = 0; j < f->d; j++) used |= f->p[j] != R(0);
        count += (size_t)used;
    }
    return (uint32_t)count;
}

/* ---- scores --------------------------------------------------------------------------------- */

/* The part of one row in a score; squared errors in units of Y. */
static rfm_real row_score(const training *f, const rfm_real *y, const rfm_real *predicted) {
    rfm_real sum = R(0);
    size_t c = f->c, k, best = 0, true_best = 0;
    if (f->o->score == RFM_SCORE_SQUARED) {
        for (k = 0; k < c; k++) {
            rfm_real error = (y[k] - predicted[k]) / f->y_unit;
            sum += error * error;
        }
        return sum / R(c);
    }
    if (c == 1) return (y[0] > R(0)) == (predicted[0] > R(0)) ? R(1) : R(0);
    for (k = 1; k < c; k++) {
        if (predicted[k] > predicted[best]) best = k;
        if (y[k] > y[true_best]) true_best = k;
    }
    return best == true_best ? R(1) : R(0);
}

/* Mean over the validation rows. */
static int score_validation(training *f, rfm_real *score) {
    rfm_cmat x = f->data->x_validation, y = f->data->y_validation;
    size_t i;
    rfm_real sum = R(0);
    int status;
    f->validation.m = f->m;
    if (f->is_identity) f->validation.m.metric = RFM_IDENTITY;
    multiply(f->n * f->m.r, f->centers, f->unit); /* the predictor takes them without units */
    status = predictor_start(&f->validation);
    if (status == RFM_OK) status = predict_rows(&f->validation, x, rfm_view(f->predicted, x.rows, f->c), NULL);
    multiply(f->n * f->m.r, f->centers, R(1) / f->unit);
    if (status != RFM_OK) return status;
    for (i = 0; i < x.rows; i++) sum += row_score(f, y.at + i * y.stride, f->predicted + i * f->c);
    *score = sum / R(x.rows);
    return finite_real(*score) ? RFM_OK : RFM_ERANGE;
}

/* The leave-one-out score, a weighted mean over the rows. The error of row i when it is left out is beta_i /
 * (A^-1)_ii, A = U'U, and (A^-1)_ii is the squared length of column i of U'^-1. rhs is free here, and holds a row. */
static int score_leave_one_out(training *f, rfm_real *score) {
    size_t n = f->n, c = f->c, first, cols, i, j, k;
    rfm_real sum = R(0), total = R(0);
    for (first = 0; first < n; first += cols) {
        rfm_cmat u = rfm_const(k_view(f));
        size_t rows = n - first;
        cols = min_size(LOO_COLUMNS, n - first);
        memset(f->columns, 0, rows * cols * sizeof *f->columns);
        for (j = 0; j < cols; j++) f->columns[j * cols + j] = R(1);
        u.at += first * (u.stride + 1), u.rows = u.cols = rows;
        solve(&f->solve, RFM_TN, u, rfm_view(f->columns, rows, cols));
        for (j = 0; j < cols; j++) f->inverse[first + j] = R(0);
        for (i = 0; i < rows; i++)
            for (j = 0; j < cols; j++) f->inverse[first + j] += f->columns[i * cols + j] * f->columns[i * cols + j];
        if (advance(&f->progress, R(cols) * R(rows) * R(rows))) return RFM_ECANCEL;
    }
    for (i = 0; i < n; i++) {
        rfm_real w = f->root_w != NULL ? f->root_w[i] * f->root_w[i] : R(1);
        const rfm_real *y = f->data->y.at + i * f->data->y.stride;
        if (w == R(0)) continue; /* alpha_i = 0 says nothing of the error there */
        for (k = 0; k < c; k++) f->predicted[k] = y[k] - f->alpha[i * c + k] / (w * f->inverse[i]);
        sum += w * row_score(f, y, f->predicted);
        total += w;
    }
    *score = sum / total;
    return finite_real(*score) ? RFM_OK : RFM_ERANGE;
}

/* ---- the loop ------------------------------------------------------------------------------- */

void rfm_options_init(rfm_options *o) {
    memset(o, 0, sizeof *o);
    o->kernel = RFM_LAPLACE;
    o->exponent = R(1);
    o->metric = RFM_FULL;
    o->bandwidth = R(10);
    o->ridge = R(1e-3);
    o->iterations = 5;
}

static int between(int low, int value, int high) { return value >= low && value <= high; }

static int check_options(const rfm_options *o, size_t n) {
    if (!finite_real(o->bandwidth) || !finite_real(o->ridge) || !finite_real(o->exponent)) return RFM_EVALUE;
    if (!between(0, o->kernel, RFM_KERNELS - 1) || !between(RFM_IDENTITY, o->metric, RFM_FULL)) return RFM_EVALUE;
    if (!between(RFM_SCALE_NONE, o->scale, RFM_SCALE_TRACE) || !between(0, o->center, 1)) return RFM_EVALUE;
    if (!between(RFM_BANDWIDTH_FIXED, o->bandwidth_rule, RFM_BANDWIDTH_MEDIAN)) return RFM_EVALUE;
    if (!between(RFM_SELECT_LAST, o->select, RFM_SELECT_LOO) ||
        !between(RFM_SCORE_SQUARED, o->score, RFM_SCORE_ACCURACY))
        return RFM_EVALUE;
    if (!between(RFM_RIDGE_SHARE, o->ridge_rule, RFM_RIDGE_FIXED) || !between(0, o->unit_rows, 1)) return RFM_EVALUE;
    if (!bandwidth_right(o->bandwidth) || o->ridge < R(0) || o->agop_points > n || o->iterations > UINT32_MAX)
        return RFM_EVALUE;
    if (!exponent_right(o->kernel, o->exponent)) return RFM_EVALUE;
#ifdef RFM_NO_ROOT
    if (needs_root(o)) return RFM_EVALUE;
#endif
    if (o->select == RFM_SELECT_LOO && !(o->ridge > R(0))) return RFM_EVALUE; /* the closed form needs an inverse */
    return RFM_OK;
}

/* Checks shapes and options, and sets what the layout depends on. */
static int training_start(const rfm_ctx *ctx, const rfm_data *data, const rfm_options *o, training *f) {
    int status;
    if (ctx == NULL || data == NULL || o == NULL) return RFM_ENULL;
    status = check_view(data->x);
    if (status == RFM_OK) status = check_view(data->y);
    if (status == RFM_OK && rows_at(data->x_validation)) status = check_view(data->x_validation);
    if (status == RFM_OK && rows_at(data->x_validation)) status = check_view(data->y_validation);
    if (status == RFM_OK && rows_at(data->start)) status = check_view(data->start);
    if (status != RFM_OK) return status;
    if (rows_at(data->y_validation) && !rows_at(data->x_validation)) return RFM_ENULL;
    if (data->y.rows != data->x.rows) return RFM_ESHAPE;
    if (rows_at(data->x_validation) &&
        (data->x_validation.cols != data->x.cols || data->y_validation.cols != data->y.cols ||
         data->y_validation.rows != data->x_validation.rows))
        return RFM_ESHAPE;
    status = check_options(o, data->x.rows);
    if (status != RFM_OK) return status;
    if (o->select == RFM_SELECT_VALIDATION && !rows_at(data->x_validation)) return RFM_ENULL;
    if (rows_at(data->start) && (o->metric == RFM_IDENTITY || data->start.cols != data->x.cols ||
                                 data->start.rows != (o->metric == RFM_FULL ? data->x.cols : 1)))
        return RFM_ESHAPE;
    memset(f, 0, sizeof *f);
    f->ctx = ctx, f->data = data, f->o = o;
    f->n = data->x.rows, f->d = data->x.cols, f->c = data->y.cols;
    f->points = o->agop_points > 0 ? o->agop_points : f->n;
    return RFM_OK;
}

int rfm_fit_need(const rfm_ctx *ctx, const rfm_data *data, const rfm_options *options, size_t *scratch, size_t *store) {
    training f;
    rfm_arena kept, measure;
    int status = scratch == NULL || store == NULL ? RFM_ENULL : training_start(ctx, data, options, &f);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&kept);
    rfm_arena_measure(&measure);
    status = training_layout(&kept, &measure, &f);
    if (status != RFM_OK) return status;
    *scratch = measure.peak;
    *store = kept.peak;
    return RFM_OK;
}

/* Row and column of the first number that is not finite. */
static int find_not_finite(const rfm_port *port, rfm_cmat a, size_t *row, size_t *col) {
    size_t i, j;
    if (a.at == NULL || finite_view(port, a)) return 0;
    for (i = 0; i < a.rows; i++)
        for (j = 0; j < a.cols; j++)
            if (!finite_real(a.at[i * a.stride + j])) {
                *row = i, *col = j;
                return 1;
            }
    return 0;
}

static int check_values(const training *f, rfm_report *report) {
    const rfm_port *port = port_of(f->ctx);
    const rfm_data *data = f->data;
    size_t i;
    rfm_real sum = R(0);
    if (find_not_finite(port, data->x, &report->row, &report->col) ||
        find_not_finite(port, data->y, &report->row, &report->col) ||
        find_not_finite(port, data->x_validation, &report->row, &report->col) ||
        find_not_finite(port, data->y_validation, &report->row, &report->col) ||
        find_not_finite(port, data->start, &report->row, &report->col) ||
        find_not_finite(port, rfm_cview(data->weights, f->n, 1), &report->row, &report->col))
        return RFM_EFINITE;
    for (i = 0; data->weights != NULL && i < f->n; i++) {
        if (data->weights[i] < R(0)) return RFM_EVALUE;
        sum += data->weights[i];
    }
    return data->weights == NULL || (sum > R(0) && finite_real(sum)) ? RFM_OK : RFM_EVALUE;
}

/* Draws up to `points` of the n rows that have weight, without replacement; returns how many. */
static size_t pick_rows(size_t n, const rfm_real *weights, size_t points, uint32_t seed, uint32_t *picked) {
    uint32_t state = rfm_random_start(seed);
    size_t i, count = 0;
    for (i = 0; i < n; i++)
        if (weights == NULL || weights[i] > R(0)) picked[count++] = (uint32_t)i;
    points = min_size(points, count);
    for (i = 0; i < points; i++) {
        size_t j = i + rfm_random(&state) % (count - i);
        uint32_t t = picked[i];
        picked[i] = picked[j];
        picked[j] = t;
    }
    return points;
}

/* Means of the columns, computed as the first row plus the mean difference from it: no digits are lost at any
 * offset. */
static void column_means(rfm_cmat x, rfm_real *mean) {
    size_t i, j;
    for (j = 0; j < x.cols; j++) mean[j] = R(0);
    for (i = 1; i < x.rows; i++)
        for (j = 0; j < x.cols; j++) mean[j] += x.at[i * x.stride + j] - x.at[j];
    for (j = 0; j < x.cols; j++) mean[j] = x.at[j] + mean[j] / R(x.rows);
}

/* P with P'P = start, from the factor or the root of start / unit^2. RFM_ENOTPD: there is none. */
static int start_factor(training *f) {
    rfm_cmat start = f->data->start;
    size_t d = f->d, rank, i, j, q;
    rfm_real largest = largest_entry(start), unit = unit_of(RFM_MATH(sqrt)(largest)), *p = ROOTED(f) ? f->s : f->p;
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++) p[i * d + j] = start.at[i * start.stride + j] / unit / unit;
    if (ROOTED(f)) {
        rfm_real least;
        int status = symmetric_root(f, R(d) * REAL_EPS, &least);
        if (status == RFM_OK && least < R(-16) * R(d) * REAL_EPS) status = RFM_ENOTPD;
        multiply(d * d, f->p, unit);
        return status;
    }
    (void)chol_rank(&f->solve.pack, rfm_view(p, d, d), METRIC_TOLERANCE, f->perm, &rank,
                    f->acc);     /* the check below decides */
    rank = max_size(rank, 1);    /* a zero matrix keeps a row of zeros */
    for (i = 0; i < rank; i++) { /* one row at a time through a spare row, because P takes the place of its factor */
        for (j = 0; j < d; j++) f->centred[f->perm[j]] = j >= i && p[i * d + i] != R(0) ? p[i * d + j] : R(0);
        memcpy(p + i * d, f->centred, d * sizeof *p);
    }
    f->m.r = rank;
    for (i = 0; i < d;
         i++) /* what the factor left out must be rounding: a zero on the diagonal does not show the rest of its row */
        for (j = i; j < d; j++) {
            rfm_real rest = start.at[i * start.stride + j] / unit / unit;
            for (q = 0; q < rank; q++) rest -= p[q * d + i] * p[q * d + j];
            if (!(RFM_MATH(fabs)(rest) <= R(16) * R(d) * REAL_EPS * (largest / unit / unit))) return RFM_ENOTPD;
        }
    multiply(rank * d, p, unit);
    return RFM_OK;
}

/* Weights, gradient points, the first P. */
static int training_values(training *f) {
    rfm_cmat start = f->data->start;
    size_t i, j;
    rfm_real sum = R(0);
    if (on_sphere(&f->m))
        memset(f->shift, 0, f->d * sizeof *f->shift);
    else
        column_means(f->data->x, f->shift);
    for (i = 0; f->root_w != NULL && i < f->n; i++) f->root_w[i] = RFM_MATH(sqrt)(f->data->weights[i]);
    if (updates(f) && f->points < f->n)
        f->points = pick_rows(f->n, f->data->weights, f->points, f->o->seed, f->picked);
    else
        f->picked = NULL;
    for (i = 0; i < f->points; i++) {
        size_t at = f->picked != NULL ? f->picked[i] : i;
        sum += f->root_w != NULL ? f->data->weights[at] : R(1);
    }
    f->root_sum = RFM_MATH(sqrt)(sum);
    f->y_unit = unit_of(largest_entry(f->data->y));
    f->m.shift = f->shift, f->m.p = f->p, f->m.centers = f->centers, f->m.alpha = f->alpha;
    f->is_identity = start.at == NULL;
    if (f->is_identity) return RFM_OK;
    for (j = 0; f->o->metric == RFM_DIAGONAL && j < f->d; j++) {
        if (start.at[j] < R(0)) return RFM_ENOTPD;
        f->p[j] = RFM_MATH(sqrt)(start.at[j]);
    }
    return f->o->metric == RFM_FULL ? start_factor(f) : RFM_OK;
}

static int better(int kind, rfm_real score, rfm_real best) {
    return kind == RFM_SCORE_SQUARED ? score < best : score > best;
}

static int train(training *f, rfm_report *report) {
    size_t t, T = updates(f) ? f->o->iterations : 0, p_size = f->p == NULL ? 0 : f->o->metric == RFM_FULL ? f->d : 1;
    rfm_real n = R(f->n), best = R(0), best_bandwidth = R(0);
    size_t best_rank = 0;
    int best_identity = 0, status = training_values(f);
    f->progress.ctx = f->ctx;
    f->progress.total = R(T + 1) * n * n * (n / R(3) * R(f->o->select == RFM_SELECT_LOO ? 2 : 1) + R(f->d)) +
                        R(T) * R(2) * n * R(f->points) * R(f->c) * R(f->d + 1);
    report->best = T;
    for (t = 0; status == RFM_OK; t++) {
        rfm_step step;
        rfm_real score; /* in units of Y, so that small scores differ, too */
        memset(&step, 0, sizeof step);
        f->want_w = t < T;
        status = place_centers(f);
        if (status == RFM_OK) status = solve_alpha(f);
        step.ridge = ridge_used(f), step.bandwidth = f->m.bandwidth, step.rank = metric_rank(f);
        if (status == RFM_OK && f->o->select == RFM_SELECT_LOO) status = score_leave_one_out(f, &step.score);
        if (status == RFM_OK) status = fold_lengths(f);
        if (status == RFM_OK && f->o->select != RFM_SELECT_LOO && rows_at(f->data->x_validation))
            status = score_validation(f, &step.score);
        if (status != RFM_OK) return status;
        score = step.score;
        if (f->o->score == RFM_SCORE_SQUARED) step.score = score * f->y_unit * f->y_unit;
        if (!finite_real(step.score) || !finite_real(step.ridge)) return RFM_ERANGE;
        if (report->path != NULL) report->path[t] = step;
        if (f->o->select != RFM_SELECT_LAST && (t == 0 || better(f->o->score, score, best))) {
            best = score, best_bandwidth = f->m.bandwidth, best_rank = f->m.r, best_identity = f->is_identity;
            report->best = t;
            if (p_size > 0) memcpy(f->best_p, f->p, p_size * f->d * sizeof *f->p);
            memcpy(f->best_alpha, f->alpha, f->n * f->c * sizeof *f->alpha);
        }
        if (t == T) break;
        status = agop(f);
        if (status == RFM_OK) status = update_metric(f);
    }
    if (status == RFM_OK && report->best < T) {
        if (p_size > 0) memcpy(f->p, f->best_p, p_size * f->d * sizeof *f->p);
        memcpy(f->alpha, f->best_alpha, f->n * f->c * sizeof *f->alpha);
        f->m.r = best_rank, f->is_identity = best_identity;
        status = place_centers(f);
        f->m.bandwidth = best_bandwidth;
    }
    if (status == RFM_OK) multiply(f->n * f->m.r, f->centers, f->unit);
    if (status == RFM_OK && advance(&f->progress, f->progress.total)) status = RFM_ECANCEL;
    if (f->is_identity) f->m.metric = RFM_IDENTITY, f->m.p = NULL;
    return status;
}

int rfm_fit(const rfm_ctx *ctx, const rfm_data *data, const rfm_options *options, rfm_arena *store, rfm_model *model,
            rfm_report *report) {
    training f;
    rfm_report own;
    size_t used, store_used;
    int status = check_ctx(ctx);
    if (status == RFM_OK) status = model == NULL ? RFM_ENULL : check_arena(store);
    if (status == RFM_OK) status = training_start(ctx, data, options, &f);
    if (status != RFM_OK) return status;
    if (report == NULL) own.path = NULL, report = &own;
    status = check_values(&f, report);
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    store_used = store->used;
    status = training_layout(store, ctx->arena, &f);
    if (status == RFM_OK) status = train(&f, report);
    store->status = RFM_OK;
    (void)leave(ctx, store == ctx->arena ? f.store_end : used, status);
    if (status != RFM_OK)
        rfm_arena_release(store, store_used);
    else
        *model = f.m;
    return status;
}

/* ==== 18. Writing models ========================================================================
 *
 * With features (x - mean) / scale, targets (y - mean) / scale and the bandwidth folded in:
 *   shift = x_mean + x_scale shift,  P = P / (x_scale L),  centres / L,  radius / L,  alpha y_scale,  offset = y_mean +
 * y_scale offset.
 */

/* The lowest minor version that has what is written. */
static uint32_t minor_version(const rfm_blob *head, uint32_t sections) {
    if (head->metric >= RFM_ABSOLUTE) return 4;
    if (head->kernel >= RFM_NNGP || head->metric >= RFM_UNIT_ROWS) return 3;
    return head->kernel == RFM_L1 || sections > RFM_SECTION_RECORD ? 2 : head->type < RFM_F32 ? 1 : 0;
}

static void put_float(unsigned char *at, rfm_real value) {
    float f = (float)value;
    uint32_t u;
    memcpy(&u, &f, 4);
    rfm_put_u32(at, u);
}

static size_t text_bytes(const char *names, size_t strings) {
    return names == NULL ? 0 : (size_t)(rfm_name(names, strings) - names);
}

int rfm_blob_layout(uint32_t sections, const size_t *bytes, size_t *at, size_t *total) {
    const size_t most = UINT32_MAX - RFM_ALIGN; /* of `end`: it can be rounded up */
    size_t end = BLOB_TABLE + 8 * (size_t)sections;
    uint32_t i;
    if (sections > (most - BLOB_TABLE) / 8) return RFM_EOVERFLOW;
    for (i = 0; i < sections; i++) {
        end = round_up(end, RFM_ALIGN);
        at[i] = bytes[i] == 0 ? 0 : end;
        if (end > most || bytes[i] > most - end) return RFM_EOVERFLOW;
        end += bytes[i];
    }
    *total = round_up(end, RFM_ALIGN);
    return RFM_OK;
}

void rfm_blob_begin(unsigned char *blob, const rfm_blob *head, uint32_t sections, const size_t *bytes, const size_t *at,
                    size_t total) {
    uint32_t i;
    memset(blob, 0, total);
    rfm_put_u32(blob, BLOB_MAGIC);
    rfm_put_u32(blob + 8, BLOB_MAJOR | minor_version(head, sections) << 16);
    rfm_put_u32(blob + 12, (uint32_t)total);
    blob[16] = head->type, blob[17] = head->kernel, blob[18] = head->metric, blob[19] = head->task;
    rfm_put_u32(blob + 20, head->n);
    rfm_put_u32(blob + 24, head->d);
    rfm_put_u32(blob + 28, head->c);
    rfm_put_u32(blob + 32, head->r);
    put_float(blob + 36, R(head->exponent));
    put_float(blob + 40, R(head->temperature));
    rfm_put_u32(blob + 44, sections);
    for (i = 0; i < sections; i++) {
        rfm_put_u32(blob + BLOB_TABLE + 8 * i, (uint32_t)at[i]);
        rfm_put_u32(blob + BLOB_TABLE + 8 * i + 4, (uint32_t)bytes[i]);
    }
}

void rfm_blob_end(unsigned char *blob) {
    rfm_put_u32(blob + 4, rfm_crc32(0, blob + BLOB_COVERED, get_u32(blob + 12) - BLOB_COVERED));
}

/* Where each section is and how long: the one place that knows, for the size and for the writing. */
typedef struct {
    size_t bytes[RFM_SECTION_RADIUS + 1], at[RFM_SECTION_RADIUS + 1], total;
    uint32_t sections;
} blob_plan;

/* The scales that the summary keeps (d); NULL: none. */
static const rfm_real *kept_scale(const rfm_contents *w) {
    return w->summary->x_scale != NULL ? w->summary->x_scale : w->x_scale;
}

static int blob_plan_of(const rfm_contents *w, blob_plan *plan) {
    const rfm_model *m = w == NULL ? NULL : w->model;
    int status = m == NULL ? RFM_ENULL : check_model(m);
    size_t count[SECTIONS], i;
    if (status != RFM_OK) return status;
    count[SECTION_SHIFT] = m->d;
    count[SECTION_P] = m->metric == RFM_FULL ? m->r : 1;
    count[SECTION_CENTERS] = m->n;
    count[SECTION_ALPHA] = m->n;
    count[SECTION_OFFSET] = m->c;
    for (i = SECTION_SHIFT; i <= SECTION_OFFSET; i++) {
        size_t each = i == SECTION_P ? m->d : i == SECTION_CENTERS ? m->r : i == SECTION_ALPHA ? m->c : 1;
        if (!multiply_fits(count[i], each, &plan->bytes[i]) ||
            !multiply_fits(plan->bytes[i], sizeof(rfm_real), &plan->bytes[i]))
            return RFM_EOVERFLOW;
    }
    plan->bytes[RFM_SECTION_CLASS_NAMES] = text_bytes(w->class_names, m->c == 1 ? 2 : m->c);
    plan->bytes[RFM_SECTION_INPUT_NAMES] = text_bytes(w->input_names, m->d);
    plan->bytes[RFM_SECTION_SUMMARY] = 0;
    if (w->summary != NULL)
        plan->bytes[RFM_SECTION_SUMMARY] = SUMMARY_FIXED +
                                           SUMMARY_STEP * (size_t)(w->summary->path != NULL ? w->summary->steps : 0) +
                                           (kept_scale(w) != NULL ? m->d * sizeof(rfm_real) : 0);
    plan->bytes[RFM_SECTION_RECORD] = w->record_bytes;
    plan->sections = w->record_bytes > 0 ? SECTIONS + 1 : SECTIONS;
    if (m->radius > R(0)) {
        for (i = RFM_SECTION_RECORD + 1; i < RFM_SECTION_RADIUS; i++) plan->bytes[i] = 0;
        plan->bytes[RFM_SECTION_RADIUS] = sizeof(rfm_real);
        plan->sections = RFM_SECTION_RADIUS + 1;
    }
    return rfm_blob_layout(plan->sections, plan->bytes, plan->at, &plan->total);
}

int rfm_model_size(const rfm_contents *contents, size_t *bytes) {
    blob_plan plan;
    int status = contents == NULL || bytes == NULL ? RFM_ENULL : blob_plan_of(contents, &plan);
    if (status == RFM_OK) *bytes = plan.total;
    return status;
}

static int check_contents(const rfm_contents *w) {
    const rfm_model *m = w->model;
    size_t i;
    if (w->task < RFM_REGRESS || w->task > RFM_CLASSIFY || !(w->temperature >= R(0) && w->temperature <= R(3.0e38)))
        return RFM_EVALUE;
    if (!exponent_right(m->kernel, m->exponent)) return RFM_EVALUE;
    if ((w->x_mean == NULL) != (w->x_scale == NULL) || (w->y_mean == NULL) != (w->y_scale == NULL)) return RFM_ENULL;
    if (w->record_bytes > 0 && w->record == NULL) return RFM_ENULL;
    if (w->record_bytes > 0 && !rfm_record_right(w->record, w->record_bytes)) return RFM_EVALUE;
    for (i = 0; w->summary != NULL && w->summary->x_scale != NULL && i < m->d; i++)
        if (!finite_real(w->summary->x_scale[i]) || !(w->summary->x_scale[i] > R(0))) return RFM_EVALUE;
    for (i = 0; w->x_scale != NULL && i < m->d; i++)
        if (!finite_real(w->x_mean[i]) || !finite_real(w->x_scale[i]) || !(w->x_scale[i] > R(0))) return RFM_EVALUE;
    for (i = 0; w->y_scale != NULL && i < m->c; i++)
        if (!finite_real(w->y_mean[i]) || !finite_real(w->y_scale[i]) || !(w->y_scale[i] > R(0))) return RFM_EVALUE;
    if (!rfm_finite(m->d, m->shift) || !rfm_finite(m->n * m->r, m->centers) || !rfm_finite(m->n * m->c, m->alpha))
        return RFM_EFINITE;
    if (m->p != NULL && !rfm_finite((m->metric == RFM_FULL ? m->r : 1) * m->d, m->p)) return RFM_EFINITE;
    if (m->offset != NULL && !rfm_finite(m->c, m->offset)) return RFM_EFINITE;
    return little_endian() ? RFM_OK : RFM_ETYPE;
}

/* The numbers of one section, folded. */
static void fold_numbers(const rfm_contents *w, int section, rfm_real *to) {
    const rfm_model *m = w->model;
    rfm_real inverse = R(1) / m->bandwidth;
    size_t i, j, rows = m->metric == RFM_FULL ? m->r : 1;
    switch (section) {
    case SECTION_SHIFT:
        for (j = 0; j < m->d; j++) to[j] = w->x_mean != NULL ? w->x_mean[j] + w->x_scale[j] * m->shift[j] : m->shift[j];
        break;
    case SECTION_P:
        for (i = 0; i < rows; i++)
            for (j = 0; j < m->d; j++)
                to[i * m->d + j] =
                    (m->p != NULL ? m->p[i * m->d + j] : R(1)) * inverse / (w->x_scale != NULL ? w->x_scale[j] : R(1));
        break;
    case SECTION_CENTERS:
        for (i = 0; i < m->n * m->r; i++) to[i] = m->centers[i] * inverse;
        break;
    case SECTION_ALPHA:
        for (i = 0; i < m->n; i++)
            for (j = 0; j < m->c; j++)
                to[i * m->c + j] = m->alpha[i * m->c + j] * (w->y_scale != NULL ? w->y_scale[j] : R(1));
        break;
    default:
        for (j = 0; j < m->c; j++) {
            to[j] = m->offset != NULL ? m->offset[j] : R(0);
            if (w->y_mean != NULL) to[j] = w->y_mean[j] + w->y_scale[j] * to[j];
        }
    }
}

static void put_summary(const rfm_contents *w, unsigned char *at) {
    const rfm_summary *s = w->summary;
    const rfm_real *scale = kept_scale(w);
    uint32_t steps = s->path != NULL ? s->steps : 0, i;
    put_float(at, s->bandwidth);
    put_float(at + 4, s->ridge);
    put_float(at + 8, s->validation);
    rfm_put_u32(at + 12, s->rows);
    rfm_put_u32(at + 16, s->iterations);
    rfm_put_u32(at + 20, steps);
    rfm_put_u32(at + 24, scale != NULL ? (uint32_t)w->model->d : 0);
    rfm_put_u32(at + 28, 0);
    at += SUMMARY_FIXED;
    for (i = 0; i < steps; i++, at += SUMMARY_STEP) {
        put_float(at, s->path[i].score);
        put_float(at + 4, s->path[i].ridge);
        put_float(at + 8, s->path[i].bandwidth);
        rfm_put_u32(at + 12, s->path[i].rank);
    }
    if (scale != NULL) memcpy(at, scale, w->model->d * sizeof(rfm_real));
}

int rfm_model_write(const rfm_contents *w, void *blob, size_t size) {
    unsigned char *b = (unsigned char *)blob;
    rfm_blob head;
    blob_plan plan;
    int status = blob == NULL ? RFM_ENULL : blob_plan_of(w, &plan), i;
    if (status == RFM_OK) status = check_contents(w);
    if (status != RFM_OK) return status;
    if ((uintptr_t)blob % RFM_ALIGN != 0) return RFM_EALIGN;
    if (size < plan.total) return RFM_EARENA;
    head.n = (uint32_t)w->model->n, head.d = (uint32_t)w->model->d, head.c = (uint32_t)w->model->c,
    head.r = (uint32_t)w->model->r;
    head.type = sizeof(rfm_real), head.kernel = (uint8_t)w->model->kernel, head.task = (uint8_t)w->task;
    head.metric = w->model->metric == RFM_FULL ? RFM_FULL : RFM_DIAGONAL;
    if (w->model->radius > R(0)) head.metric += RFM_UNIT_ROWS;
    head.exponent = rfm_kernels[w->model->kernel].exponent != R(0) ? 1.0f : (float)w->model->exponent,
    head.temperature = (float)w->temperature;
    rfm_blob_begin(b, &head, plan.sections, plan.bytes, plan.at, plan.total);
    for (i = 0; i <= SECTION_OFFSET; i++) {
        rfm_real *numbers = (rfm_real *)(void *)(b + plan.at[i]);
        fold_numbers(w, i, numbers);
        if (!rfm_finite(plan.bytes[i] / sizeof(rfm_real), numbers)) status = RFM_ERANGE;
    }
    if (w->model->radius > R(0)) {
        rfm_real radius = w->model->radius / w->model->bandwidth;
        memcpy(b + plan.at[RFM_SECTION_RADIUS], &radius, sizeof radius);
        if (!bandwidth_right(radius)) status = RFM_ERANGE;
    }
    if (plan.bytes[RFM_SECTION_CLASS_NAMES] > 0)
        memcpy(b + plan.at[RFM_SECTION_CLASS_NAMES], w->class_names, plan.bytes[RFM_SECTION_CLASS_NAMES]);
    if (plan.bytes[RFM_SECTION_INPUT_NAMES] > 0)
        memcpy(b + plan.at[RFM_SECTION_INPUT_NAMES], w->input_names, plan.bytes[RFM_SECTION_INPUT_NAMES]);
    if (plan.bytes[RFM_SECTION_SUMMARY] > 0) put_summary(w, b + plan.at[RFM_SECTION_SUMMARY]);
    if (plan.bytes[RFM_SECTION_RECORD] > 0)
        memcpy(b + plan.at[RFM_SECTION_RECORD], w->record, plan.bytes[RFM_SECTION_RECORD]);
    rfm_blob_end(b);
    if (status != RFM_OK)
        memset(b, 0, plan.total); /* what was folded does not fit the number type: no half of a model */
    return status;
}

int rfm_model_summary(const rfm_model *model, rfm_summary *s, rfm_step *path, size_t room) {
    const unsigned char *at;
    size_t i;
    if (model == NULL || s == NULL) return RFM_ENULL;
    if (model->summary == NULL) return RFM_EVALUE;
    at = (const unsigned char *)model->summary;
    s->bandwidth = get_float(at), s->ridge = get_float(at + 4), s->validation = get_float(at + 8);
    s->rows = get_u32(at + 12), s->iterations = get_u32(at + 16), s->steps = get_u32(at + 20);
    s->path = NULL;
    at += SUMMARY_FIXED;
    s->x_scale = get_u32(at - 8) != 0 ? (const rfm_real *)(const void *)(at + (size_t)SUMMARY_STEP * s->steps) : NULL;
    for (i = 0; path != NULL && i < min_size(room, s->steps); i++, at += SUMMARY_STEP) {
        path[i].score = get_float(at), path[i].ridge = get_float(at + 4);
        path[i].bandwidth = get_float(at + 8), path[i].rank = get_u32(at + 12);
    }
    return RFM_OK;
}

/* ---- the record ----------------------------------------------------------------------------- */

#define ENTRY_HEAD 8 /* tag, zero, bytes */
#define ENTRY_UNIT 4 /* entries are multiples of this */

/* Bytes of the entry at `at`, all that belongs to it, if it ends within `left` bytes; 0: it does not. */
static size_t entry_bytes(const unsigned char *at, size_t left) {
    size_t bytes;
    if (left < ENTRY_HEAD || left % ENTRY_UNIT != 0 || (rfm_get_u32(at) & 0xffff) == 0) return 0; /* no tag is 0 */
    bytes = rfm_get_u32(at + 4);
    return bytes > left - ENTRY_HEAD ? 0 : ENTRY_HEAD + round_up(bytes, ENTRY_UNIT);
}

int rfm_record_right(const void *record, size_t bytes) {
    const unsigned char *at = (const unsigned char *)record;
    size_t step;
    if (at == NULL || bytes == 0) return 0;
    for (; bytes > 0; at += step, bytes -= step)
        if ((step = entry_bytes(at, bytes)) == 0) return 0;
    return 1;
}

const void *rfm_record_open(const void *blob, size_t size, size_t *bytes) {
    const unsigned char *at = (const unsigned char *)blob;
    rfm_blob head;
    uint32_t there = 0;
    if (bytes == NULL || rfm_blob_open(blob, size, RFM_I8 | RFM_I16 | RFM_F32 | RFM_F64, &head) != RFM_OK) return NULL;
    if (get_u32(at + 44) <= RFM_SECTION_RECORD) return NULL;
    at = section_at(at, RFM_SECTION_RECORD, &there);
    if (!rfm_record_right(at, there)) return NULL;
    *bytes = there;
    return at;
}

const void *rfm_record_find(const void *record, size_t record_bytes, uint16_t tag, size_t *bytes) {
    const unsigned char *at = (const unsigned char *)record;
    size_t step;
    if (at == NULL || bytes == NULL) return NULL;
    for (; (step = entry_bytes(at, record_bytes)) > 0; at += step, record_bytes -= step)
        if ((rfm_get_u32(at) & 0xffff) == tag) {
            *bytes = rfm_get_u32(at + 4);
            return at + ENTRY_HEAD;
        }
    return NULL;
}

int rfm_record_add(unsigned char *record, size_t room, size_t *used, uint16_t tag, const void *data, size_t bytes) {
    const size_t most = UINT32_MAX - ENTRY_HEAD - ENTRY_UNIT; /* of an entry, so that its end can be rounded up */
    size_t step;
    if (used == NULL || (data == NULL && bytes > 0)) return RFM_ENULL;
    if (tag == 0 || *used % ENTRY_UNIT != 0) return RFM_EVALUE;
    if (bytes > most || *used > most - bytes) return RFM_EOVERFLOW;
    step = ENTRY_HEAD + round_up(bytes, ENTRY_UNIT);
    if (record != NULL) {
        unsigned char *at = record + *used;
        if (*used > room || step > room - *used) return RFM_EARENA;
        memset(at + step - ENTRY_UNIT, 0, ENTRY_UNIT); /* the padding; what is not padding is written again */
        rfm_put_u32(at, tag);
        rfm_put_u32(at + 4, (uint32_t)bytes);
        if (bytes > 0) memcpy(at + ENTRY_HEAD, data, bytes);
    }
    *used += step;
    return RFM_OK;
}

/* A number as 8 bytes of IEEE 754, whatever type it has here; by its bits, for there may be no double. */
static void put_number(unsigned char *at, rfm_real value) {
    uint32_t low = 0, high = 0;
#if RFM_REAL_BYTES == 8
    uint64_t bits;
    memcpy(&bits, &value, 8);
    low = (uint32_t)bits, high = (uint32_t)(bits >> 32);
#else
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if ((bits >> 23 & 255) > 0) /* below the normal range: 0 */
        high = (bits & 0x80000000u) + ((bits & 0x7fffffffu) >> 3) + (896u << 20), low = bits << 29;
#endif
    rfm_put_u32(at, low);
    rfm_put_u32(at + 4, high);
}

/* Rounded; an infinity if this type does not have it. */
static rfm_real get_number(const unsigned char *at) {
    uint32_t low = rfm_get_u32(at), high = rfm_get_u32(at + 4);
    rfm_real value;
#if RFM_REAL_BYTES == 8
    uint64_t bits = (uint64_t)high << 32 | low;
#else
    uint32_t exponent = high >> 20 & 2047, bits = high & 0x80000000u;
    if (exponent >= 896 + 255)
        bits |= 0x7f800000u;
    else if (exponent > 896)
        bits |= ((exponent - 896) << 23 | (high & 0xfffff) << 3 | low >> 29) + (low >> 28 & 1);
#endif
    memcpy(&value, &bits, sizeof value);
    return value;
}

int rfm_record_add_options(unsigned char *record, size_t room, size_t *used, const rfm_options *o) {
    unsigned char entry[RFM_RECORD_OPTIONS_BYTES];
    int status = o == NULL ? RFM_ENULL : check_options(o, UINT32_MAX);
    if (status != RFM_OK) return status;
    memset(entry, 0, sizeof entry);
    entry[0] = (unsigned char)o->kernel, entry[1] = (unsigned char)o->metric, entry[2] = (unsigned char)o->scale;
    entry[3] = (unsigned char)o->center, entry[4] = (unsigned char)o->bandwidth_rule;
    entry[5] = (unsigned char)o->select, entry[6] = (unsigned char)o->score;
    entry[7] = (unsigned char)(o->unit_rows + 2 * o->ridge_rule);
    put_number(entry + 8, o->exponent);
    put_number(entry + 16, o->bandwidth);
    put_number(entry + 24, o->ridge);
    rfm_put_u32(entry + 32, (uint32_t)o->iterations);
    rfm_put_u32(entry + 36, (uint32_t)o->agop_points);
    rfm_put_u32(entry + 40, o->seed);
    return rfm_record_add(record, room, used, RFM_RECORD_OPTIONS, entry, sizeof entry);
}

int rfm_record_options(const void *record, size_t record_bytes, rfm_options *options) {
    size_t bytes = 0;
    const unsigned char *at = (const unsigned char *)rfm_record_find(record, record_bytes, RFM_RECORD_OPTIONS, &bytes);
    rfm_options o;
    if (record == NULL || options == NULL) return RFM_ENULL;
    if (at == NULL) return RFM_EVALUE;
    if (bytes < RFM_RECORD_OPTIONS_BYTES) return RFM_ECONTENT;
    rfm_options_init(&o);
    o.kernel = at[0], o.metric = at[1], o.scale = at[2], o.center = at[3];
    o.bandwidth_rule = at[4], o.select = at[5], o.score = at[6];
    o.unit_rows = at[7] % 2, o.ridge_rule = at[7] / 2;
    o.exponent = get_number(at + 8), o.bandwidth = get_number(at + 16), o.ridge = get_number(at + 24);
    o.iterations = rfm_get_u32(at + 32), o.agop_points = rfm_get_u32(at + 36), o.seed = rfm_get_u32(at + 40);
    if (check_options(&o, UINT32_MAX) != RFM_OK) return RFM_ECONTENT;
    *options = o;
    return RFM_OK;
}

/* ==== 19. Insight ============================================================================ */

int rfm_metric(const rfm_model *model, rfm_mat m) {
    int status = check_model(model);
    size_t i, j, q, d;
    if (status == RFM_OK) status = check_view(rfm_const(m));
    if (status != RFM_OK) return status;
    d = model->d;
    if (m.cols != d || (m.rows != d && m.rows != 1)) return RFM_ESHAPE;
    for (i = 0; i < m.rows; i++)
        for (j = 0; j < d; j++) m.at[i * m.stride + j] = R(0);
    for (i = 0; i < d; i++) {
        rfm_real *row = m.rows == 1 ? m.at : m.at + i * m.stride;
        if (model->metric == RFM_IDENTITY)
            row[i] = R(1);
        else if (model->metric == RFM_DIAGONAL)
            row[i] = model->p[i] * model->p[i];
        else
            for (q = 0; q < model->r; q++) {
                const rfm_real *p = model->p + q * d;
                size_t from = m.rows == 1 ? i : 0, to = m.rows == 1 ? i + 1 : d;
                for (j = from; j < to; j++) row[j] += p[i] * p[j];
            }
    }
    return finite_view(&rfm_port_scalar, rfm_const(m)) ? RFM_OK : RFM_ERANGE;
}

/* The mean entry of A / unit, computed as the first entry plus the mean difference from it. */
static rfm_real mean_entry(rfm_cmat a, rfm_real unit) {
    rfm_real sum = R(0), first = a.at[0] / unit;
    size_t i, j;
    for (i = 0; i < a.rows; i++)
        for (j = 0; j < a.cols; j++) sum += a.at[i * a.stride + j] / unit - first;
    return first + sum / (R(a.rows) * R(a.cols));
}

/* tr((A - a)'(B - b)) / sqrt(tr((A - a)'(A - a)) tr((B - b)'(B - b))), the numbers a and b subtracted from all
 * entries. */
static int similarity(rfm_cmat a, rfm_cmat b, int centred, rfm_real *value) {
    int status = value == NULL ? RFM_ENULL : check_view(a);
    rfm_real ab = R(0), aa = R(0), bb = R(0), mean_a = R(0), mean_b = R(0), unit_a, unit_b;
    size_t i, j;
    if (status == RFM_OK) status = check_view(b);
    if (status != RFM_OK) return status;
    if (a.rows != b.rows || a.cols != b.cols) return RFM_ESHAPE;
    if (!finite_view(&rfm_port_scalar, a) || !finite_view(&rfm_port_scalar, b)) return RFM_EFINITE;
    unit_a = unit_of(largest_entry(a)), unit_b = unit_of(largest_entry(b));
    if (centred) mean_a = mean_entry(a, unit_a), mean_b = mean_entry(b, unit_b);
    for (i = 0; i < a.rows; i++) {
        rfm_real row_ab = R(0), row_aa = R(0), row_bb = R(0); /* rows first: less rounding in long sums */
        for (j = 0; j < a.cols; j++) {
            rfm_real x = a.at[i * a.stride + j] / unit_a - mean_a, y = b.at[i * b.stride + j] / unit_b - mean_b;
            row_ab += x * y, row_aa += x * x, row_bb += y * y;
        }
        ab += row_ab, aa += row_aa, bb += row_bb;
    }
    *value = aa > R(0) && bb > R(0) ? ab / RFM_MATH(sqrt)(aa) / RFM_MATH(sqrt)(bb) : R(0);
    return RFM_OK;
}

int rfm_cosine(rfm_cmat a, rfm_cmat b, rfm_real *cosine) { return similarity(a, b, 0, cosine); }
int rfm_pearson(rfm_cmat a, rfm_cmat b, rfm_real *pearson) { return similarity(a, b, 1, pearson); }

/* The rows of X become the centres of another model. The norm of YY' is that of Y'Y, which is smaller. */
static int alignment_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_model *model, size_t rows, predictor *s,
                            rfm_real **centers, rfm_real **lengths) {
    rfm_model own = *model;
    own.n = rows;
    *centers = rfm_arena_reals(arena, rows, model->r);
    *lengths = rfm_arena_reals(arena, 1, on_sphere(model) ? rows : 0);
    own.centers = *centers;
    return predictor_layout(arena, ctx, &own, rows, s);
}

int rfm_alignment_need(const rfm_ctx *ctx, const rfm_model *model, size_t m, size_t *bytes) {
    rfm_arena measure;
    predictor s;
    rfm_real *centers, *lengths;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_model(model);
    if (status != RFM_OK) return status;
    status = check_shape(m, model->d);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    return need_of(alignment_layout(&measure, ctx, model, m, &s, &centers, &lengths), &measure, bytes);
}

int rfm_alignment(const rfm_ctx *ctx, const rfm_model *model, rfm_cmat x, rfm_cmat y, rfm_real *alignment) {
    int status = check_ctx(ctx);
    size_t used, first, rows, column, cols, i, j, k, q;
    rfm_real ky = R(0), kk = R(0), yy = R(0), unit, *centers, *lengths;
    predictor s;
    if (status == RFM_OK) status = alignment == NULL ? RFM_ENULL : check_model(model);
    if (status == RFM_OK) status = check_view(x);
    if (status == RFM_OK) status = check_view(y);
    if (status != RFM_OK) return status;
    if (x.cols != model->d || y.rows != x.rows) return RFM_ESHAPE;
    if (!finite_view(port_of(ctx), x) || !finite_view(port_of(ctx), y)) return RFM_EFINITE;
    used = ctx->arena->used;
    status = alignment_layout(ctx->arena, ctx, model, x.rows, &s, &centers, &lengths);
    if (status != RFM_OK) return leave(ctx, used, status);
    for (first = 0; first < x.rows; first += rows) {
        rfm_cmat part = x;
        rows = min_size(s.rows, x.rows - first);
        part.at += first * x.stride, part.rows = rows;
        project(&s.pack, &s.m, part, s.centred, centers + first * model->r);
    }
    if (on_sphere(model)) {
        scale_rows(model, x.rows, centers, lengths);
        if (!finite_row(s.pack.port, x.rows, lengths)) return leave(ctx, used, RFM_ERANGE);
        multiply(x.rows, lengths, R(1) / unit_of(rfm_largest(x.rows, lengths)));
    }
    status = predictor_start(&s);
    if (status != RFM_OK) return leave(ctx, used, status);
    unit = unit_of(largest_entry(y));
    for (first = 0; first < x.rows; first += rows) {
        rows = min_size(s.rows, x.rows - first);
        memcpy(s.projected, centers + first * model->r, rows * model->r * sizeof *centers);
        memcpy(s.norms_z, s.norms + first, rows * sizeof *s.norms);
        for (column = 0; column < x.rows; column += cols) {
            cols = min_size(CENTER_COLUMNS, x.rows - column);
            kernel_block(&s, rows, column, cols, s.block, cols, NULL, NULL, 0);
            for (i = 0; i < rows; i++) {
                const rfm_real *y_i = y.at + (first + i) * y.stride;
                rfm_real row_ky = R(0);
                for (j = 0; is_network(model->kernel) && j < cols; j++)
                    s.block[i * cols + j] *=
                        length_factor(model, lengths[first + i]) * length_factor(model, lengths[column + j]);
                for (j = 0; j < cols; j++) {
                    const rfm_real *y_j = y.at + (column + j) * y.stride;
                    rfm_real sum = R(0);
                    for (q = 0; q < y.cols; q++) sum += y_i[q] / unit * (y_j[q] / unit);
                    row_ky += s.block[i * cols + j] * sum;
                }
                ky += row_ky;
                kk += dot(cols, s.block + i * cols, s.block + i * cols);
            }
        }
    }
    for (k = 0; k < y.cols; k++)
        for (q = 0; q < y.cols; q++) {
            rfm_real sum = R(0);
            for (i = 0; i < y.rows; i++) sum += y.at[i * y.stride + k] / unit * (y.at[i * y.stride + q] / unit);
            yy += sum * sum;
        }
    *alignment = yy > R(0) && kk > R(0) ? ky / RFM_MATH(sqrt)(kk) / RFM_MATH(sqrt)(yy) : R(0);
    return leave(ctx, used, RFM_OK);
}

#endif /* RFM_NO_TRAIN */

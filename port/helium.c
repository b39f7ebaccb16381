/* The work of rfm_predict_one and of rfm_predict_i for Helium (MVE): Cortex-M55 and later.
 *
 * Contents:
 *   1. Reals     with Helium's floats
 *   2. Integers  of 8 and of 16 bits, with any Helium
 *
 * The inner loops are in assembly: the compiler neither moves the addresses along in the load, nor loads four numbers
 * at once, nor makes loops that leave the missing lanes of their last round out by themselves (DLSTP, LETP). */
#include "rfm_port.h"

/* ==== 1. Reals ==================================================================================
 *
 * Four rows at a time, of P or of the centres, one per lane: a gathering load takes the same dimension of each, so that
 * nothing has to be added up across lanes and any number of dimensions goes the same way. The exponential is that of
 * m4f.c, four at a time. Where fewer than four rows are left, the other lanes repeat the first of them and do not
 * count.
 */

#if RFM_LOOP_HAVE_HELIUM

#include <arm_mve.h>

#define LOG2E 1.44269504f

/* `sum` = r terms: the rows that start at the addresses at + 4, which move on, with the vector x. TERM is what one
 * dimension adds: the rows' numbers in a vector, that of x in a general register. */
#define WALK(TERM)                                                                                    \
    __asm__("vmov.i32 %q[sum], #0\n\t"                                                                \
            "wls lr, %[whole], 2f\n"                                                                  \
            "1:\n\t"                                                                                  \
            "ldmia %[x]!, {r4, r5, r6, r8}\n\t"                                                       \
            "vldrw.u32 q2, [%q[at], #4]\n\t"                                                          \
            "vldrw.u32 q3, [%q[at], #8]\n\t" TERM("q2", "r4") "vldrw.u32 q2, [%q[at], #12]\n\t" TERM( \
                "q3", "r5") "vldrw.u32 q3, [%q[at], #16]!\n\t" TERM("q2", "r6")                       \
                TERM("q3", "r8") "le lr, 1b\n"                                                        \
                                 "2:\n\t"                                                             \
                                 "wls lr, %[rest], 4f\n"                                              \
                                 "3:\n\t"                                                             \
                                 "ldr r4, [%[x]], #4\n\t"                                             \
                                 "vldrw.u32 q2, [%q[at], #4]!\n\t" TERM("q2", "r4") "le lr, 3b\n"     \
                                                                                    "4:"              \
            : [at] "+&w"(*at), [sum] "=&w"(sum), [x] "+&r"(x)                                         \
            : [whole] "r"(r / 4), [rest] "r"(r % 4)                                                   \
            : "memory", "r4", "r5", "r6", "r8", "lr", "q2", "q3")
#define DOT(A, X)      "vfma.f32 %q[sum], " A ", " X "\n\t"
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

/* The addresses of four rows of r numbers, less 4; or, after a walk along these, of the next four rows, of which
 * `rows` exist. */
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

rfm_real rfm_loop_helium(const rfm_model *m, rfm_real *scratch, rfm_real *scores) {
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

#endif

/* ==== 2. Integers ===============================================================================
 *
 * Four rows at a time, eight numbers of each: VMLADAVA adds eight products of 16 bits to a sum in a general register.
 * Differences fit: |center - z| is at most 2 limit <= 32766. Then phi of eight centres at a time, one per lane, and
 * each output's alpha by a gathering load. Sums are modulo 2^32 and do not depend on the order, and nothing overflows:
 * the bits are those of the portable code.
 */

#if RFM_LOOP_HAVE_HELIUM_I

#include "rfm_small.h"

#include <arm_mve.h>

#define ROWS 32 /* rows whose sums are computed in one go: a multiple of 8 */

/* The sums of rows (a multiple of 4) of n numbers go from `to` to `end`: `first` + their TERMs with v. LOAD fetches
 * eight numbers of a row as 16 bits and moves on, past the row's end by `beyond` bytes; NEXT is the address of the row
 * after. The last eight of a row are fewer: DLSTP leaves the other lanes out of everything. a0 ... a3 are the first
 * four rows; a0 is the one behind all of them then. s12 and s13 hold what there is no register for: v and `beyond`. */
#define WALK_I(first, LOAD, TERM, NEXT)                                                                                \
    register const char *r0 __asm__("r0") = a0, *r1 __asm__("r1") = a1, *r2 __asm__("r2") = a2,                        \
                            *r3 __asm__("r3") = a3;                                                                    \
    register const int16_t *r5 __asm__("r5") = v;                                                                      \
    register uint32_t *r11 __asm__("r11") = to, *r12 __asm__("r12") = end;                                             \
    register size_t r8 __asm__("r8") = beyond, r9 __asm__("r9") = n;                                                   \
    __asm__ volatile("vmov s12, r5\n\t"                                                                                \
                     "vmov s13, r8\n"                                                                                  \
                     "1:\n\t"                                                                                          \
                     "mov r4, #" first "\n\tmov r6, r4\n\tmov r8, r4\n\tmov r10, r4\n\t"                               \
                     "dlstp.16 lr, r9\n"                                                                               \
                     "2:\n\t"                                                                                          \
                     "vldrh.u16 q0, [r5], #16\n\t" LOAD("q1", "r0") LOAD("q2", "r1") TERM("q1", "r4") LOAD("q1", "r2") \
                         TERM("q2", "r6") LOAD("q2", "r3") TERM("q1", "r8")                                            \
                             TERM("q2", "r10") "letp lr, 2b\n\t"                                                       \
                                               "stmia r11!, {r4, r6, r8, r10}\n\t"                                     \
                                               "vmov r5, s12\n\t"                                                      \
                                               "vmov lr, s13\n\t"                                                      \
                                               "sub r0, r3, lr\n\t" NEXT("r1", "r0") NEXT("r2", "r1")                  \
                                                   NEXT("r3", "r2") "cmp r11, r12\n\t"                                 \
                                                                    "bne 1b"                                           \
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3), "+r"(r5), "+r"(r8), "+r"(r11)                           \
                     : "r"(r9), "r"(r12)                                                                               \
                     : "memory", "cc", "r4", "r6", "r10", "lr", "q0", "q1", "q2", "q3");                               \
    a0 = r0
#define LOAD_8(Q, A)     "vldrb.s16 " Q ", [" A "], #8\n\t"
#define LOAD_16(Q, A)    "vldrh.u16 " Q ", [" A "], #16\n\t"
#define NEXT_8(B, A)     "add " B ", " A ", r9\n\t"
#define NEXT_16(B, A)    "add " B ", " A ", r9, lsl #1\n\t"
#define DOT_I(Q, T)      "vmladava.s16 " T ", " Q ", q0\n\t"
#define DISTANCE_I(Q, T) "vsub.i16 " Q ", " Q ", q0\n\tvmladava.s16 " T ", " Q ", " Q "\n\t"

/* t = the sums of rows (rows, n). t is filled up to a multiple of 4 by repeating the first of the last four rows. */
#define SUMS(name, bytes, first, LOAD, TERM, NEXT)                                                     \
    static RFM_ALONE void name(const char *a0, size_t n, const int16_t *v, uint32_t *t, size_t rows) { \
        const size_t step = n * (bytes), beyond = (0 - n) % 8 * (bytes);                               \
        for (;;) {                                                                                     \
            const char *a1 = a0 + step, *a2 = a1 + step, *a3 = a2 + step;                              \
            uint32_t *to = t, *end = t + (rows < 4 ? 4 : rows / 4 * 4);                                \
            if (rows < 4) {                                                                            \
                a3 = a0;                                                                               \
                if (rows < 3) a2 = a0;                                                                 \
                if (rows < 2) a1 = a0;                                                                 \
            }                                                                                          \
            WALK_I(first, LOAD, TERM, NEXT);                                                           \
            if (rows < 4 || rows % 4 == 0) return;                                                     \
            rows %= 4, t = end;                                                                        \
        }                                                                                              \
    }
SUMS(dots_8, 1, "0", LOAD_8, DOT_I, NEXT_8)
SUMS(dots_16, 2, "0", LOAD_16, DOT_I, NEXT_16)
SUMS(distances_8, 1, "8", LOAD_8, DISTANCE_I, NEXT_8)
SUMS(distances_16, 2, "8", LOAD_16, DISTANCE_I, NEXT_16)

/* z (rows) = (t + bias) >> shifts, within the limit. */
static inline void z_full(int16_t *z, const uint32_t *t, const int32_t *bias, const uint8_t *shifts, size_t rows,
                          int32_t limit) {
    int32x4_t most = vdupq_n_s32(limit), least = vdupq_n_s32(-limit);
    __asm__ volatile("dlstp.32 lr, %[rows]\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [%[bias]], #16\n\t"
                     "vldrw.u32 q1, [%[t]], #16\n\t"
                     "vldrb.u32 q2, [%[shifts]], #4\n\t"
                     "vadd.i32 q0, q0, q1\n\t"
                     "vneg.s32 q2, q2\n\t"
                     "vshl.s32 q0, q0, q2\n\t" /* to the right */
                     "vmin.s32 q0, q0, %q[most]\n\t"
                     "vmax.s32 q0, q0, %q[least]\n\t"
                     "vstrh.32 q0, [%[z]], #8\n\t"
                     "letp lr, 1b"
                     : [z] "+&l"(z), [t] "+&r"(t), [bias] "+&r"(bias), [shifts] "+&l"(shifts)
                     : [rows] "r"(rows), [most] "w"(most), [least] "w"(least)
                     : "memory", "lr", "q0", "q1", "q2");
}

/* z (r) = u + bias, within the limit. */
static inline void z_diagonal(int16_t *z, const int16_t *u, const int32_t *bias, size_t r, int32_t limit) {
    int32x4_t most = vdupq_n_s32(limit), least = vdupq_n_s32(-limit);
    __asm__ volatile("dlstp.32 lr, %[r]\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [%[bias]], #16\n\t"
                     "vldrh.s32 q1, [%[u]], #8\n\t"
                     "vadd.i32 q0, q0, q1\n\t"
                     "vmin.s32 q0, q0, %q[most]\n\t"
                     "vmax.s32 q0, q0, %q[least]\n\t"
                     "vstrh.32 q0, [%[z]], #8\n\t"
                     "letp lr, 1b"
                     : [z] "+&l"(z), [u] "+&l"(u), [bias] "+&r"(bias)
                     : [r] "r"(r), [most] "w"(most), [least] "w"(least)
                     : "memory", "lr", "q0", "q1");
}

/* phi (rows, and zeros up to a multiple of 8) in the place of t + 8 (rows), as phi_at of rfm_small.c has it; the larger
 * of `largest` and phi. Eight centres at a time, the even ones in one vector, the odd ones in another. With the first
 * bit that is set moved to the top, past so many zeros: the node is 8 (31 - 3) - 8, plus the first four bits, less 8
 * for every zero, so at most 231; the next 16 bits are the fraction. That has no sign, and VMULH takes it for 65536
 * less where its own first bit is set. From `last` on phi is 0. */
static RFM_ALONE int16x8_t phis(const rfm_model_i *m, uint32_t *t, size_t rows, int16x8_t largest) {
    const int32_t last = m->nodes < 233 ? (int32_t)m->nodes - 1 : 232;
    int16_t *phi = (int16_t *)t;
    __asm__ volatile(
        "1:\n\t"
        "vld20.32 {q0, q1}, [%[t]]\n\t"
        "vld21.32 {q0, q1}, [%[t]]!\n\t"
        "vctp.16 %[left]\n\t"
        "vclz.i32 q2, q0\n\t"
        "vclz.i32 q3, q1\n\t"
        "vshl.u32 q0, q0, q2\n\t"
        "vshl.u32 q1, q1, q3\n\t"
        "vmovnt.i32 q2, q3\n\t"
        "vshrnb.i32 q3, q0, #12\n\t" /* fractions */
        "vshrnt.i32 q3, q1, #12\n\t"
        "vshrnb.i32 q0, q0, #16\n\t"
        "vshrnt.i32 q0, q1, #16\n\t"
        "vshr.u16 q0, q0, #12\n\t"
        "vadd.i16 q0, q0, %[first]\n\t"
        "vmla.s16 q0, q2, %[eight]\n\t" /* nodes */
        "vpsttt\n\t"
        "vcmpt.s16 lt, q0, %[last]\n\t"
        "vldrht.u16 q1, [%[node], q0, uxtw #1]\n\t"
        "vldrht.u16 q2, [%[next], q0, uxtw #1]\n\t"
        "vsub.i16 q2, q2, q1\n\t"
        "vmulh.s16 q0, q2, q3\n\t"
        "vpt.s16 lt, q3, zr\n\t"
        "vaddt.i16 q0, q0, q2\n\t"
        "vadd.i16 q0, q0, q1\n\t"
        "vmax.s16 %q[largest], %q[largest], q0\n\t"
        "vstrh.16 q0, [%[phi]], #16\n\t"
        "subs %[left], #8\n\t"
        "bgt 1b"
        : [t] "+&r"(t), [phi] "+&r"(phi), [left] "+&r"(rows), [largest] "+&w"(largest)
        : [first] "r"(8 * (31 - 3) - 8), [eight] "r"(-8), [last] "r"(last), [node] "r"(m->phi), [next] "r"(m->phi + 1)
        : "memory", "cc", "q0", "q1", "q2", "q3");
    return largest;
}

/* scores (c) += alpha' phi of `rows` centres, one output after the other. WORK is a vector of `lanes` bits each: phi of
 * so many centres, their alpha for this output, which lie `offsets` from the first, and what they add to the sum. */
#define ADD(name, number, lanes, offsets_of, WORK)                                                         \
    static RFM_ALONE void name(const rfm_model_i *m, const number *alpha, const int16_t *phi, size_t rows, \
                               int32_t *scores) {                                                          \
        const size_t c = m->c, step = 128 / (lanes)*c * sizeof(number);                                    \
        const int32_t *end = scores + c;                                                                   \
        for (; scores < end; scores++, alpha++) {                                                          \
            const number *at = alpha;                                                                      \
            const int16_t *f = phi;                                                                        \
            int32_t sum = *scores;                                                                         \
            __asm__ volatile("dlstp." #lanes " lr, %[rows]\n"                                              \
                             "1:\n\t" WORK "add %[at], %[step]\n\t"                                        \
                             "letp lr, 1b"                                                                 \
                             : [at] "+&r"(at), [phi] "+&l"(f), [sum] "+&Te"(sum)                           \
                             : [rows] "r"(rows), [step] "r"(step), [offsets] "w"(offsets_of(c))            \
                             : "memory", "lr", "q0", "q1");                                                \
            *scores = sum;                                                                                 \
        }                                                                                                  \
    }
#define OFFSETS_8(c)  vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)(c))
#define OFFSETS_16(c) vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)(c))
ADD(add_8, int8_t, 16, OFFSETS_8,
    "vldrh.u16 q0, [%[phi]], #16\n\t"
    "vldrb.s16 q1, [%[at], %q[offsets]]\n\t"
    "vmladava.s16 %[sum], q0, q1\n\t")
ADD(add_16, int16_t, 32, OFFSETS_16,
    "vldrh.u32 q0, [%[phi]], #8\n\t"
    "vldrh.s32 q1, [%[at], %q[offsets], uxtw #1]\n\t"
    "vmul.i32 q0, q0, q1\n\t"
    "vshr.s32 q0, q0, #8\n\t"
    "vaddva.s32 %[sum], q0\n\t")

int32_t rfm_loop_i_helium(const rfm_model_i *m, int16_t *scratch, int32_t *scores) {
    const int bytes = m->type;
    const char *row = (const char *)m->p, *alpha = (const char *)m->alpha;
    int16_t *z = scratch + m->d;
    size_t d = m->d, r = m->r, c = m->c, left, rows, i;
    int16x8_t largest = vdupq_n_s16(0);
    uint32_t t[ROWS];
#ifdef RFM_SMALL_L1
    if (m->absolute) return -1;
#endif
    if (c > 65535 / 7) return -1; /* offsets of alpha have 16 bits */
    if (m->metric != RFM_FULL)
        z_diagonal(z, scratch, m->bias, r, m->limit);
    else
        for (i = 0; i < r; i += rows) {
            rows = r - i < ROWS ? r - i : ROWS;
            if (bytes == RFM_I8)
                dots_8(row, d, scratch, t, rows);
            else
                dots_16(row, d, scratch, t, rows);
            z_full(z + i, t, m->bias + i, m->shifts + i, rows, m->limit);
            row += rows * d * (size_t)bytes;
        }
    row = (const char *)m->centers;
    for (left = m->n; left > 0; left -= rows) {
        rows = left < ROWS ? left : ROWS;
        if (bytes == RFM_I8)
            distances_8(row, r, z, t, rows);
        else
            distances_16(row, r, z, t, rows);
        largest = phis(m, t, rows, largest);
        if (bytes == RFM_I8)
            add_8(m, (const int8_t *)alpha, (const int16_t *)t, rows, scores);
        else
            add_16(m, (const int16_t *)(const void *)alpha, (const int16_t *)t, rows, scores);
        row += rows * r * (size_t)bytes, alpha += rows * c * (size_t)bytes;
    }
    return vmaxvq_s16(0, largest);
}

#endif

#if !RFM_LOOP_HAVE_HELIUM && !RFM_LOOP_HAVE_HELIUM_I
typedef int rfm_loop_helium_is_for_mve;
#endif

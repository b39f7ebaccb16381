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

/* As many strings as there are to be, each with its 0. */
static inline int names_right(const unsigned char *names, uint32_t bytes, uint32_t strings) {
    unsigned char last = 1;
    for (; bytes > 0; bytes--)
        if ((last = *names++) == 0) strings--;
    return last == 0 && strings == 0;
}

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

/* ---- between an interrupt and the rest ---- */

/* An index that another context reads. When that context sees the new index, it also sees everything written before
 * it. */
#if defined(__GNUC__)
static inline uint32_t load_acquire(const uint32_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
static inline void store_release(uint32_t *at, uint32_t value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
#else
static inline uint32_t load_acquire(const uint32_t *at) { return *(const volatile uint32_t *)at; }
static inline void store_release(uint32_t *at, uint32_t value) { *(volatile uint32_t *)at = value; }
#endif

/* ---- inputs as integers ---- */

static inline uint32_t magnitude(int32_t x) { return x < 0 ? 0u - (uint32_t)x : (uint32_t)x; }

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

#include <math.h>

static inline size_t names_bytes(const char *names, size_t count) {
    return names == NULL ? 0 : (size_t)(rfm_name(names, count) - names);
}

static inline rfm_real round_real(rfm_real x) { return RFM_MATH(floor)(x + R(0.5)); }

/* In (0, 1). */
static inline rfm_real random_share(uint32_t *state) { return (R(rfm_random(state) >> 9) + R(0.5)) / R(8388608); }

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

static inline int check_arena(const rfm_arena *arena) {
    if (arena == NULL) return RFM_ENULL;
    if (arena->status != RFM_OK) return arena->status;
    return arena->base == NULL ? RFM_EARENA : RFM_OK;
}

/* After a call: gives back the scratch. */
static inline int leave(rfm_arena *arena, size_t used, int status) {
    arena->status = RFM_OK;
    rfm_arena_release(arena, used);
    return status;
}

/* The input was finite: what a call of rfm.h finds not to be so has overflowed on the way. */
static inline int in_range(int status) { return status == RFM_EFINITE ? RFM_ERANGE : status; }

static inline int finite_view(rfm_cmat a) {
    size_t i;
    for (i = 0; i < a.rows; i++)
        if (!rfm_finite(a.cols, a.at + i * a.stride)) return 0;
    return 1;
}

/* ---- scratch for the calls of rfm.h ---- */

typedef struct {
    unsigned char *memory; /* the last block of a layout */
    size_t bytes;          /* the largest need; SIZE_MAX: more than any memory has */
    rfm_arena arena;
    rfm_ctx ctx; /* on that memory, without ticks */
} call_room;

/* `bytes` is read after the need is known. */
static inline void room_for(call_room *r, int status, const size_t *bytes) {
    r->bytes = status == RFM_OK ? max_size(r->bytes, *bytes) : SIZE_MAX;
}

static inline void room_product(call_room *r, const rfm_ctx *ctx, size_t m, size_t n, size_t k) {
    size_t bytes = 0;
    room_for(r, rfm_gemm_need(ctx, m, n, k, &bytes), &bytes);
}

static inline int room_layout(rfm_arena *arena, call_room *r) {
    r->memory = (unsigned char *)rfm_arena_take(arena, r->bytes, 1);
    return arena->status;
}

static inline void room_start(const rfm_ctx *ctx, call_room *r) {
    (void)rfm_arena_init(&r->arena, r->memory, r->bytes);
    r->ctx = *ctx;
    r->ctx.arena = &r->arena, r->ctx.tick = NULL;
}

#ifdef RFM_DESK /* for those who define it: such scratch, and ticks of parts of a call */

typedef struct {
    const rfm_ctx *ctx;
    call_room room;
    rfm_real base, end; /* the part of the whole that is being done */
} desk;

static inline void desk_for(desk *s, int status, const size_t *bytes) { room_for(&s->room, status, bytes); }

/* Takes the last block of a layout. */
static inline void desk_layout(rfm_arena *arena, desk *s) { (void)room_layout(arena, &s->room); }

static inline void desk_start(desk *s) { room_start(s->ctx, &s->room); }

/* `done` is the share of the current part. No rounding takes it beyond the end, where the next part begins. */
static inline int desk_tick(const desk *s, rfm_real done) {
    const rfm_real end = s->end < R(1) ? s->end : R(1), share = s->base + (s->end - s->base) * done;
    if (s->ctx->tick == NULL) return RFM_OK;
    return s->ctx->tick(s->ctx->tick_arg, done < R(1) && share < end ? share : end) != 0 ? RFM_ECANCEL : RFM_OK;
}

static inline int desk_tick_inner(void *arg, rfm_real done) { return desk_tick((const desk *)arg, done); }

/* x < 2^exponent, the least there is; of 0 it is 0. */
static inline int exponent_of(rfm_real x) {
    int e = 0;
    (void)RFM_MATH(frexp)(x, &e);
    return x > R(0) ? e : 0;
}

#endif

#ifdef RFM_DESCENT /* for those who define it: calls on an arena, losses, gradient descent */

/* A block of memory that a call reads or writes. */
typedef struct {
    const void *at;
    size_t bytes;
    int written;
} span;

static inline void add_span(span *list, size_t *count, const void *at, size_t reals, int written) {
    if (at == NULL || reals == 0) return;
    list[*count].at = at, list[*count].bytes = reals * sizeof(rfm_real), list[*count].written = written;
    ++*count;
}

static inline size_t view_reals(rfm_cmat a) { return (a.rows - 1) * a.stride + a.cols; }

static inline int spans_overlap(const span *list, size_t count) {
    size_t i, j;
    for (i = 0; i < count; i++)
        for (j = 0; j < i; j++) {
            uintptr_t a = (uintptr_t)list[i].at, b = (uintptr_t)list[j].at;
            if ((list[i].written || list[j].written) && a < b + list[j].bytes && b < a + list[i].bytes) return 1;
        }
    return 0;
}

static inline int tick(const rfm_ctx *ctx, rfm_real done) {
    return ctx->tick != NULL && ctx->tick(ctx->tick_arg, done < R(1) ? done : R(1)) != 0 ? RFM_ECANCEL : RFM_OK;
}

static inline int share_right(rfm_real x) { return x >= R(0) && x <= R(1); }
static inline int factor_right(rfm_real x) { return x >= R(0) && rfm_finite(1, &x); }
static inline int decay_right(rfm_real x) { return x >= R(0) && x < R(1); }

static inline const rfm_real *row_at(rfm_cmat a, size_t i) { return a.at + i * a.stride; }

static inline size_t random_index(uint32_t *state, size_t count) { return rfm_random(state) % count; }

/* ---- losses ---- */

#define LOSS_SQUARED 0
#define LOSS_ENTROPY 1 /* cross-entropy of softmax(f / temperature); of one output: logistic */

/* Targets that the loss takes. */
static inline int targets_right(int kind, rfm_cmat y) {
    size_t i, k;
    for (i = 0; kind == LOSS_ENTROPY && i < y.rows; i++)
        for (k = 0; k < y.cols; k++) {
            rfm_real value = y.at[i * y.stride + k];
            if (value < (y.cols == 1 ? R(-1) : R(0)) || (y.cols == 1 && value > R(1))) return 0;
        }
    return 1;
}

/* The loss of one row, whose f (c) becomes the derivative by f. */
static inline rfm_real row_loss(int kind, rfm_real temperature, size_t c, const rfm_real *y, rfm_real *f) {
    rfm_real loss = R(0), most, sum = R(0), total = R(0), inverse = R(1) / temperature;
    size_t k;
    if (kind == LOSS_SQUARED) {
        for (k = 0; k < c; k++) {
            rfm_real off = f[k] - y[k];
            loss += off * off;
            f[k] = R(2) * off;
        }
        return loss;
    }
    if (c == 1) {
        rfm_real t = f[0] * inverse, small = RFM_MATH(exp)(-RFM_MATH(fabs)(t)), q = (R(1) + y[0]) / R(2);
        f[0] = ((t > R(0) ? R(1) : small) / (R(1) + small) - q) * inverse;
        return max_real(t, R(0)) + RFM_MATH(log)(R(1) + small) - q * t;
    }
    for (most = f[0], k = 1; k < c; k++) most = max_real(most, f[k]);
    for (k = 0; k < c; k++) {
        loss -= y[k] * (f[k] - most) * inverse;
        total += y[k];
        f[k] = RFM_MATH(exp)((f[k] - most) * inverse);
        sum += f[k];
    }
    for (k = 0; k < c; k++) f[k] = (total * f[k] / sum - y[k]) * inverse;
    return loss + total * RFM_MATH(log)(sum);
}

/* ---- gradient descent ---- */

#define PI         R(3.14159265358979323846)
#define ADAM_LEAST R(1e-8)

#define DESCENT_PLAIN    0 /* minus the rate times the gradient */
#define DESCENT_MOMENTUM 1 /* first = momentum first + gradient; minus the rate times first */
#define DESCENT_ADAM     2 /* means of gradients and of their squares, without the bias of their zeros at the start */

typedef struct {
    int method;
    rfm_real momentum, second;
    rfm_real fallen, fallen_second; /* momentum^t, second^t */
} descent_rule;

static inline descent_rule descent_rule_of(int method, rfm_real momentum, rfm_real second) {
    descent_rule r;
    r.method = method, r.momentum = momentum, r.second = second;
    r.fallen = r.fallen_second = R(1);
    return r;
}

/* Before the arrays of a step are moved. */
static inline void descent_advance(descent_rule *r) { r->fallen *= r->momentum, r->fallen_second *= r->second; }

/* x (n) by one step; first and second (n) are its means. A rate of 0 leaves all of them. */
static inline void descent_move(const descent_rule *r, size_t n, rfm_real rate, const rfm_real *gradient,
                                rfm_real *first, rfm_real *second, rfm_real *x) {
    const rfm_real b = r->momentum, b2 = r->second;
    const rfm_real scale = R(1) / (R(1) - r->fallen), scale2 = R(1) / (R(1) - r->fallen_second);
    size_t i;
    if (!(rate > R(0))) return;
    if (r->method == DESCENT_PLAIN)
        for (i = 0; i < n; i++) x[i] -= rate * gradient[i];
    if (r->method == DESCENT_MOMENTUM)
        for (i = 0; i < n; i++) {
            first[i] = b * first[i] + gradient[i];
            x[i] -= rate * first[i];
        }
    if (r->method == DESCENT_ADAM)
        for (i = 0; i < n; i++) {
            first[i] = b * first[i] + (R(1) - b) * gradient[i];
            second[i] = b2 * second[i] + (R(1) - b2) * gradient[i] * gradient[i];
            x[i] -= rate * (first[i] * scale) / (RFM_MATH(sqrt)(second[i] * scale2) + ADAM_LEAST);
        }
}

/* The share of the rows that a batch is; of 0 rows: 1, it is all of them. What a batch adds to the mean loss of all
 * rows is its loss times this. So one row that is far off does not look like divergence. */
static inline rfm_real batch_share(size_t batch, size_t rows) {
    return batch == 0 || batch >= rows ? R(1) : R(batch) / R(rows);
}

/* The share of the rate in step `step` of `steps`: it rises over the first share `warm` of them, and falls as a cosine
 * to `floor`. */
static inline rfm_real descent_factor(size_t step, size_t steps, rfm_real warm, rfm_real floor_share) {
    const rfm_real share = R(step) / R(steps), rise = warm * R(steps), now = R(step + 1);
    return (now < rise ? now / rise : R(1)) *
           (floor_share + (R(1) - floor_share) * R(0.5) * (R(1) + RFM_MATH(cos)(PI * share)));
}

#endif

#endif

#endif

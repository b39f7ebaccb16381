/* rfm_large.c - any number of rows in a fixed arena; rfm_large.h has the contract.
 *
 * Contents:
 *   1. Rows        blocks, passes, their checksum
 *   2. Basis       K_mm = U'U with pivoting, and features K U^-1
 *   3. Sums        fixed-point numbers that are added, merged and subtracted
 *   4. Direct      one pass, then the factor of the sums
 *   5. Conjugate   gradients with the preconditioner of FALKON
 *   6. Solving     the two behind one door
 *   7. The fit     a sample, its exact rounds, the choice of centres, rounds by the AGOP of m centres
 *   8. EigenPro
 *
 * Notation: n rows, m centres z_j, K_nm (n, m); W = diag(w). Blocks have `b` rows. The last block of a pass is filled
 * up with rows of weight 0, so every call of rfm.h has the sizes that its need was asked for.
 */
#include "rfm_large.h"

#ifndef RFM_NO_TRAIN

#include <math.h>

#define RFM_DESK
#include "rfm_private.h"

#define BLOCK_ROWS 512 /* rows read at a time */
#define STRIP_ROWS 256 /* rows of the Gram matrix made at a time */

static const rfm_real somewhere = R(0); /* a need reads no array, but refuses NULL */

static rfm_real power(int e) { return RFM_MATH(ldexp)(R(1), e); }
static int max_int(int a, int b) { return a > b ? a : b; }

/* ==== 1. Rows ================================================================================== */

typedef struct {
    const rfm_rows *rows;
    desk *desk;
    size_t b;
    rfm_real *x, *y, *w;  /* (b, d), (b, c), (b) */
    rfm_real unit;        /* of the weights; 0: 1 */
    uint32_t hash, first; /* of the current pass; of the first one */
    size_t passes;
    uint64_t seen;   /* rows of all passes */
    size_t row, col; /* where a number is not finite; y follows x */
} passing;

static int rows_right(const rfm_rows *rows) {
    size_t wide;
    if (rows == NULL || rows->read == NULL) return RFM_ENULL;
    if (rows->n == 0 || rows->d == 0 || rows->c == 0) return RFM_EZERO;
    wide = max_size(rows->d, rows->c);
    if (rows->n > UINT32_MAX || wide > (size_t)PTRDIFF_MAX / sizeof(rfm_real) / BLOCK_ROWS) return RFM_EOVERFLOW;
    return RFM_OK;
}

static void passing_layout(rfm_arena *arena, passing *p) {
    p->b = min_size(BLOCK_ROWS, p->rows->n);
    p->x = rfm_arena_reals(arena, p->b, p->rows->d);
    p->y = rfm_arena_reals(arena, p->b, p->rows->c);
    p->w = rfm_arena_reals(arena, 1, p->b);
}

/* A number for each order of words; one multiplication per word. */
static uint32_t hash_words(uint32_t hash, const rfm_real *at, size_t count) {
    const unsigned char *bytes = (const unsigned char *)at;
    size_t i, words = count * sizeof *at / sizeof hash;
    for (i = 0; i < words; i++) {
        uint32_t word;
        memcpy(&word, bytes + i * sizeof word, sizeof word);
        hash = (hash ^ word) * UINT32_C(16777619);
        hash ^= hash >> 15;
    }
    return hash;
}

static int where_not_finite(passing *p, size_t first, size_t count) {
    size_t d = p->rows->d, c = p->rows->c, i, j;
    if (rfm_finite(count * d, p->x) && rfm_finite(count * c, p->y) && rfm_finite(count, p->w)) return RFM_OK;
    for (i = 0; i < count; i++)
        for (j = 0; j < d + c + 1; j++)
            if (!rfm_finite(1, j < d ? p->x + i * d + j : j < d + c ? p->y + i * c + j - d : p->w + i)) {
                p->row = first + i, p->col = j;
                return RFM_EFINITE;
            }
    return RFM_OK;
}

/* Reads the block from row `first` on, fills it up with rows of weight 0. *count becomes how many rows it has. */
static int read_block(passing *p, size_t first, size_t *count) {
    const rfm_rows *rows = p->rows;
    size_t d = rows->d, c = rows->c, i;
    int status;
    *count = min_size(p->b, rows->n - first);
    if (first == 0) p->hash = UINT32_C(2166136261);
    if (rows->read(rows->from, first, *count, p->x, p->y, rows->weighted ? p->w : NULL) != *count) return RFM_EREAD;
    for (i = 0; !rows->weighted && i < *count; i++) p->w[i] = R(1);
    status = where_not_finite(p, first, *count);
    if (status != RFM_OK) return status;
    for (i = 0; i < *count; i++)
        if (p->w[i] < R(0)) return RFM_EVALUE;
    p->hash = hash_words(hash_words(hash_words(p->hash, p->x, *count * d), p->y, *count * c), p->w, *count);
    for (i = 0; p->unit > R(0) && i < *count; i++) p->w[i] /= p->unit;
    for (i = *count; i < p->b; i++) {
        memcpy(p->x + i * d, p->x, d * sizeof *p->x);
        memset(p->y + i * c, 0, c * sizeof *p->y);
        p->w[i] = R(0);
    }
    return RFM_OK;
}

/* At the end of a pass: are these the rows of the passes before? */
static int end_pass(passing *p) {
    if (p->passes++ == 0) p->first = p->hash;
    p->seen += p->rows->n;
    return p->hash == p->first ? RFM_OK : RFM_ECHANGED;
}

/* ==== 2. Basis ==================================================================================
 *
 * K_mm = U'U, rows in the order of `perm`. A centre beyond the rank is represented by the others: its row of U is that
 * of the identity, and its features are 0.
 *
 * Sums of two machines merge only if both have the same order, and a pivot may depend on rounding. So the order is that
 * of the centres, repeated ones last, wherever K_mm has a factor in it. Only a K_mm that is singular to rounding takes
 * pivots; `order` is 0 or a checksum of these.
 */

typedef struct {
    const rfm_model *model;
    size_t least_r, most_r; /* room for models of these ranks and all between */
    size_t rank;
    uint32_t order;
    rfm_real *u;       /* (m, m) */
    rfm_real *centers; /* (m, r) in the order of U */
    rfm_real *zeros;   /* (r) */
    uint32_t *perm;    /* (m) */
    rfm_model turned;  /* the model with its centres in that order */
} basis;

/* A model of centres that are projected already. */
static rfm_model flat_model(const rfm_model *m, const rfm_real *zeros) {
    rfm_model flat = *m;
    flat.metric = RFM_IDENTITY, flat.d = flat.r = m->r;
    flat.shift = zeros, flat.p = NULL, flat.alpha = zeros, flat.offset = NULL;
    return flat;
}

/* A need for every rank that the model may have. */
static rfm_model of_rank(const rfm_model *m, size_t r) {
    rfm_model k = *m;
    k.shift = k.p = k.centers = k.alpha = &somewhere;
    if (m->metric == RFM_FULL) k.r = r;
    return k;
}

static void basis_layout(rfm_arena *arena, desk *s, size_t rows, basis *f) {
    const rfm_model *model = f->model;
    size_t m = model->n, bytes = 0, r;
    f->u = rfm_arena_reals(arena, m, m);
    f->centers = rfm_arena_reals(arena, m, f->most_r);
    f->zeros = rfm_arena_reals(arena, 1, f->most_r);
    f->perm = (uint32_t *)rfm_arena_take(arena, m, sizeof *f->perm);
    for (r = f->least_r; r <= f->most_r; r++) {
        rfm_model k = of_rank(model, r), flat = flat_model(&k, &somewhere);
        desk_for(s, rfm_kernel_values_need(s->ctx, &k, rows, &bytes), &bytes);
        desk_for(s, rfm_kernel_values_need(s->ctx, &flat, m, &bytes), &bytes);
    }
    desk_for(s, rfm_chol_rank_need(s->ctx, m, &bytes), &bytes);
    desk_for(s, rfm_chol_need(s->ctx, m, &bytes), &bytes);
    desk_for(s, rfm_trsm_need(s->ctx, m, rows, &bytes), &bytes);
}

/* Puts the centres into the order of perm. */
static void order_centers(basis *f) {
    size_t m = f->model->n, r = f->model->r, i;
    for (i = 0; i < m; i++) memcpy(f->centers + i * r, f->model->centers + f->perm[i] * r, r * sizeof *f->centers);
}

/* perm: centres as they are, those that are equal to one before them last. Returns how many are different. */
static size_t repeated_last(basis *f) {
    const rfm_real *z = f->model->centers;
    size_t m = f->model->n, r = f->model->r, different = 0, last = m, i, j;
    for (i = 0; i < m; i++) {
        for (j = 0; j < different && memcmp(z + i * r, z + f->perm[j] * r, r * sizeof *z) != 0; j++) {
        }
        f->perm[j < different ? --last : different++] = (uint32_t)i;
    }
    return different;
}

/* U = K_mm in the order of perm. */
static int kernel_of_centers(desk *s, basis *f) {
    rfm_model flat = flat_model(f->model, f->zeros);
    size_t m = f->model->n;
    order_centers(f);
    flat.centers = f->centers;
    return rfm_kernel_values(&s->room.ctx, &flat, rfm_cview(f->centers, m, f->model->r), RFM_NN, rfm_view(f->u, m, m));
}

/* The factor without pivots. RFM_ENOTPD: what a centre adds to those before it is nothing but rounding. */
static int factor_in_order(desk *s, basis *f) {
    size_t m = f->model->n, i;
    rfm_mat first = rfm_view(f->u, m, m);
    rfm_real most = R(0);
    int status;
    first.rows = first.cols = f->rank;
    for (i = 0; i < f->rank; i++) most = max_real(most, f->u[i * (m + 1)]);
    status = rfm_chol(&s->room.ctx, first, NULL);
    for (i = 0; status == RFM_OK && i < f->rank; i++)
        if (!(f->u[i * (m + 1)] * f->u[i * (m + 1)] > R(m) * REAL_EPS * most)) status = RFM_ENOTPD;
    return status;
}

static int basis_start(desk *s, basis *f) {
    size_t m = f->model->n, i, j;
    int status;
    memset(f->zeros, 0, f->most_r * sizeof *f->zeros);
    f->order = 0, f->rank = repeated_last(f);
    status = kernel_of_centers(s, f);
    if (status == RFM_OK) status = factor_in_order(s, f);
    if (status == RFM_ENOTPD) {
        for (i = 0; i < m; i++) f->perm[i] = (uint32_t)i;
        status = kernel_of_centers(s, f);
        if (status == RFM_OK) status = rfm_chol_rank(&s->room.ctx, rfm_view(f->u, m, m), R(0), f->perm, &f->rank);
        f->order = rfm_crc32(0, f->perm, f->rank * sizeof *f->perm) | 1u;
        order_centers(f);
    }
    if (status != RFM_OK) return status;
    for (i = 0; i < m; i++)
        for (j = 0; j < m; j++)
            if (j < i || i >= f->rank || j >= f->rank) f->u[i * m + j] = R(i == j);
    f->turned = *f->model;
    f->turned.centers = f->centers;
    return RFM_OK; /* of rank 0 where all centres of a network kernel are zeros: then alpha is 0 */
}

/* out (m, b) = U'^-1 K_mb diag(factor): features of the rows x (b, d). */
static int features(desk *s, const basis *f, rfm_cmat x, const rfm_real *factor, rfm_real *out) {
    size_t m = f->model->n, b = x.rows, i, j;
    int status = rfm_kernel_values(&s->room.ctx, &f->turned, x, RFM_TN, rfm_view(out, m, b));
    for (i = 0; status == RFM_OK && i < m; i++)
        for (j = 0; j < b; j++) out[i * b + j] = i < f->rank ? out[i * b + j] * factor[j] : R(0);
    if (status == RFM_OK) status = rfm_trsm(&s->room.ctx, RFM_TN, rfm_cview(f->u, m, m), rfm_view(out, m, b));
    return status;
}

/* ==== 3. Sums ===================================================================================
 *
 * Features of one row have at most the length K(x, x)^1/2, so entries of a sum over rows are bounded, and fixed-point
 * numbers lose nothing that floating-point ones would keep. Sums of a block are made in floating point. In float a
 * number is an integer of 64 bits in units of 2^-32; in double it has a second word for 2^-64.
 */

#define SUMS_MAGIC   0x736d6672u /* "rfms" */
#define SUMS_VERSION 2
#define SUMS_COVERED 8    /* the checksum is of everything from here on */
#define UNIT_MOST    2048 /* exponents of units are within it, for every number type */

#define FIXED_MOST   R(0x1p30) /* what is added at once is below this */
#define WEIGHT_LEAST R(0x1p-8) /* of all rows of a pass: less is too near to the last digit */

#if RFM_REAL_BYTES == 8
#define FIXED_LEAST R(0x1p-64)
typedef struct {
    int64_t whole;
    uint64_t share;
} fixed;

static fixed fixed_plus(fixed a, fixed b, int sign) {
    fixed sum;
    if (sign > 0) {
        sum.share = a.share + b.share;
        sum.whole = a.whole + b.whole + (sum.share < a.share);
    } else {
        sum.share = a.share - b.share;
        sum.whole = a.whole - b.whole - (a.share < b.share);
    }
    return sum;
}

static const fixed fixed_zero = {0, 0};

/* By way of |x|: x - floor(x) of a small negative x would be near 1 and lose its digits. */
static fixed fixed_of(rfm_real x) {
    rfm_real size = RFM_MATH(fabs)(x), whole = RFM_MATH(floor)(size);
    fixed f;
    f.whole = (int64_t)whole;
    f.share = (uint64_t)((size - whole) * R(0x1p64));
    return x < R(0) ? fixed_plus(fixed_zero, f, -1) : f;
}

static rfm_real fixed_value(fixed f) {
    rfm_real sign = f.whole < 0 ? R(-1) : R(1);
    if (f.whole < 0) f = fixed_plus(fixed_zero, f, -1);
    return sign * (R(f.whole) + R(f.share) * R(0x1p-64));
}

static int fixed_right(fixed f) { return f.whole > -(INT64_C(1) << 61) && f.whole < INT64_C(1) << 61; }
#else
#define FIXED_LEAST R(0x1p-32)
typedef int64_t fixed;

/* In two steps, because a float becomes an integer of 64 bits by way of a double on 32-bit processors. */
static fixed fixed_of(rfm_real x) {
    int32_t whole = (int32_t)x;
    rfm_real share = (x - R(whole)) * R(0x1p32);
    int64_t low = (int64_t)(uint32_t)RFM_MATH(fabs)(share);
    return (int64_t)whole * (INT64_C(1) << 32) + (share < R(0) ? -low : low);
}

static rfm_real fixed_value(fixed f) { return R(f) * R(0x1p-32); }
static fixed fixed_plus(fixed a, fixed b, int sign) { return sign > 0 ? a + b : a - b; }
static int fixed_right(fixed f) { return f > -(INT64_C(1) << 62) && f < INT64_C(1) << 62; }
#endif

static rfm_real fixed_at(const unsigned char *from, size_t i) {
    fixed f;
    memcpy(&f, from + i * sizeof f, sizeof f);
    return fixed_value(f);
}

/* to[i] += x[i]; 0: out of range. */
static int fixed_add(size_t n, const rfm_real *x, fixed *to) {
    size_t i;
    int right = 1;
    if (!(rfm_largest(n, x) < FIXED_MOST)) return 0;
    for (i = 0; i < n; i++) {
        to[i] = fixed_plus(to[i], fixed_of(x[i]), 1);
        right &= fixed_right(to[i]);
    }
    return right;
}

/* Where row i of the upper triangle starts, less i: element (i, j) is at row_at(m, i) + j. */
static size_t row_at(size_t m, size_t i) { return i * m - i * (i + 1) / 2; }

/* The numbers, in this order: the triangle (or the diagonal), the products with y (or means), the squares of y; last
 * the sum of the weights. */
typedef struct {
    size_t triangle, products, squares, all;
} sums_shape;

static sums_shape shape_of(const rfm_model *model, int kind) {
    sums_shape s;
    size_t order = kind == RFM_SUMS_SOLVE ? model->n : model->r;
    s.triangle = kind == RFM_SUMS_AGOP && model->metric != RFM_FULL ? order : order * (order + 1) / 2;
    s.products = s.triangle + order * model->c;
    s.squares = s.products + (kind == RFM_SUMS_SOLVE ? model->c : 0);
    s.all = s.squares + 1;
    return s;
}

static int enough_weight(const fixed *numbers, const sums_shape *shape) {
    return fixed_at((const unsigned char *)numbers, shape->squares) >= WEIGHT_LEAST ? RFM_OK : RFM_ERANGE;
}

static fixed *numbers_of(rfm_sums *sums) { return (fixed *)(void *)(sums + 1); }
static const fixed *numbers_in(const rfm_sums *sums) { return (const fixed *)(const void *)(sums + 1); }

typedef char sums_are_aligned[sizeof(rfm_sums) % RFM_ALIGN == 0 ? 1 : -1];

static int check_model(const rfm_model *model) {
    rfm_ctx ctx;
    size_t ignored;
    memset(&ctx, 0, sizeof ctx);
    return rfm_kernel_values_need(&ctx, model, 1, &ignored);
}

int rfm_sums_size(const rfm_model *model, int kind, size_t *bytes) {
    int status = bytes == NULL ? RFM_ENULL : check_model(model);
    size_t most = (UINT32_MAX - sizeof(rfm_sums)) / sizeof(fixed);
    if (status != RFM_OK) return status;
    if (kind != RFM_SUMS_SOLVE && kind != RFM_SUMS_AGOP) return RFM_EVALUE;
    if (max_size(model->n, model->r) > 46340 || model->c > most ||
        max_size(model->n, model->r) > most / (model->n + model->c + 1) || model->r > most / (model->r + model->c + 1))
        return RFM_EOVERFLOW;
    *bytes = sizeof(rfm_sums) + shape_of(model, kind).all * sizeof(fixed);
    return RFM_OK;
}

static uint32_t crc_reals(uint32_t crc, const rfm_real *at, size_t count) {
    return at == NULL ? crc : rfm_crc32(crc, at, count * sizeof *at);
}

/* A checksum of what sums depend on. */
static uint32_t identity_of(const rfm_model *m, int kind) {
    uint32_t head[7], crc;
    rfm_real numbers[3];
    head[0] = (uint32_t)m->n, head[1] = (uint32_t)m->d, head[2] = (uint32_t)m->c, head[3] = (uint32_t)m->r;
    head[4] = (uint32_t)m->kernel, head[5] = (uint32_t)m->metric, head[6] = (uint32_t)kind;
    numbers[0] = m->bandwidth, numbers[1] = m->exponent, numbers[2] = m->radius;
    crc = rfm_crc32(0, head, sizeof head);
    crc = crc_reals(crc_reals(crc, numbers, 3), m->shift, m->d);
    crc = crc_reals(crc, m->metric == RFM_IDENTITY ? NULL : m->p, m->metric == RFM_FULL ? m->r * m->d : m->d);
    crc = crc_reals(crc, m->centers, m->n * m->r);
    return kind == RFM_SUMS_AGOP ? crc_reals(crc, m->alpha, m->n * m->c) : crc_reals(crc, m->offset, m->c);
}

static void seal(rfm_sums *sums) {
    sums->checksum = rfm_crc32(0, (unsigned char *)sums + SUMS_COVERED, sums->bytes - SUMS_COVERED);
}

/* The unit of K: lengths of rows are not bounded for network kernels, but of the size of P. */
static int unit_of_kernel(const rfm_model *m) {
    rfm_real sum = R(m->d);
    size_t i, count = m->metric == RFM_FULL ? m->r * m->d : m->d;
    if (!rfm_kernels[m->kernel].layers || m->radius > R(0)) return 0;
    if (m->metric != RFM_IDENTITY)
        for (sum = R(0), i = 0; i < count; i++) sum += m->p[i] * m->p[i];
    return exponent_of(RFM_MATH(sqrt)(sum));
}

int rfm_sums_init(const rfm_model *model, int kind, rfm_real unit_y, rfm_sums *sums, size_t size) {
    size_t bytes;
    int status = sums == NULL ? RFM_ENULL : rfm_sums_size(model, kind, &bytes);
    if (status != RFM_OK) return status;
    if ((uintptr_t)sums % RFM_ALIGN != 0) return RFM_EALIGN;
    if (size < bytes) return RFM_EARENA;
    if (!little_endian()) return RFM_ETYPE;
    if (!rfm_finite(1, &unit_y) || !(unit_y >= REAL_LEAST)) return RFM_EVALUE;
    memset(sums, 0, bytes);
    sums->magic = SUMS_MAGIC, sums->version = SUMS_VERSION, sums->type = sizeof(rfm_real), sums->kind = (uint8_t)kind;
    sums->bytes = (uint32_t)bytes, sums->model = identity_of(model, kind);
    sums->m = (uint32_t)model->n, sums->c = (uint32_t)model->c, sums->r = (uint32_t)model->r;
    sums->unit_k = kind == RFM_SUMS_SOLVE ? unit_of_kernel(model) : 0, sums->unit_y = exponent_of(unit_y);
    seal(sums);
    return RFM_OK;
}

static int unit_right(int32_t unit) { return between(-UNIT_MOST, unit, UNIT_MOST); }

int rfm_sums_check(const rfm_model *model, const rfm_sums *sums, size_t size) {
    size_t bytes = 0, i;
    if (sums == NULL) return RFM_ENULL;
    if ((uintptr_t)sums % RFM_ALIGN != 0) return RFM_EALIGN;
    if (size < sizeof *sums) return RFM_ETRUNCATED;
    if (sums->magic != SUMS_MAGIC) return little_endian() ? RFM_EMAGIC : RFM_ETYPE;
    if (sums->version != SUMS_VERSION) return RFM_EVERSION;
    if (sums->bytes > size || sums->bytes < sizeof *sums) return RFM_ETRUNCATED;
    if (rfm_crc32(0, (const unsigned char *)sums + SUMS_COVERED, sums->bytes - SUMS_COVERED) != sums->checksum)
        return RFM_ECHECKSUM;
    if (sums->type != sizeof(rfm_real)) return RFM_ETYPE;
    if (sums->kind > RFM_SUMS_AGOP || (sums->bytes - sizeof *sums) % sizeof(fixed) != 0) return RFM_ECONTENT;
    if (!unit_right(sums->unit_k) || !unit_right(sums->unit_y)) return RFM_ECONTENT;
    for (i = 0; i < (sums->bytes - sizeof *sums) / sizeof(fixed); i++)
        if (!fixed_right(numbers_in(sums)[i])) return RFM_ECONTENT;
    if (model == NULL) return RFM_OK;
    if (rfm_sums_size(model, sums->kind, &bytes) != RFM_OK || bytes != sums->bytes) return RFM_ECHANGED;
    return sums->model == identity_of(model, sums->kind) ? RFM_OK : RFM_ECHANGED;
}

uint64_t rfm_sums_rows(const rfm_sums *sums) { return (uint64_t)sums->rows_high << 32 | sums->rows_low; }

static void set_rows(rfm_sums *sums, uint64_t rows) {
    sums->rows_low = (uint32_t)(rows & 0xffffffffu), sums->rows_high = (uint32_t)(rows >> 32);
}

/* sums += part, or sums -= part; both are known to be right. */
static int combine_right(rfm_sums *sums, const rfm_sums *part, int sign) {
    uint64_t rows = rfm_sums_rows(sums);
    size_t i, count = (sums->bytes - sizeof *sums) / sizeof(fixed);
    int right = 1;
    if (rows > 0 && rfm_sums_rows(part) > 0 && part->order != sums->order) return RFM_ECHANGED;
    if (sign < 0 && rfm_sums_rows(part) > rows) return RFM_EVALUE;
    for (i = 0; i < count; i++) right &= fixed_right(fixed_plus(numbers_in(sums)[i], numbers_in(part)[i], sign));
    if (!right) return RFM_ERANGE;
    for (i = 0; i < count; i++) numbers_of(sums)[i] = fixed_plus(numbers_in(sums)[i], numbers_in(part)[i], sign);
    if (rows == 0) sums->order = part->order;
    set_rows(sums, sign > 0 ? rows + rfm_sums_rows(part) : rows - rfm_sums_rows(part));
    if (rfm_sums_rows(sums) == 0) sums->order = 0; /* as rfm_sums_init has it */
    seal(sums);
    return RFM_OK;
}

static int combine(rfm_sums *sums, const rfm_sums *part, int sign) {
    int status = sums == NULL ? RFM_ENULL : rfm_sums_check(NULL, sums, SIZE_MAX);
    if (status == RFM_OK) status = rfm_sums_check(NULL, part, SIZE_MAX);
    if (status != RFM_OK) return status;
    if (part->bytes != sums->bytes || part->kind != sums->kind || part->model != sums->model || part->m != sums->m ||
        part->c != sums->c || part->r != sums->r || part->unit_k != sums->unit_k || part->unit_y != sums->unit_y)
        return RFM_ECHANGED;
    return combine_right(sums, part, sign);
}

int rfm_sums_merge(rfm_sums *sums, const rfm_sums *part) { return combine(sums, part, 1); }
int rfm_sums_subtract(rfm_sums *sums, const rfm_sums *part) { return combine(sums, part, -1); }

/* ---- a pass that adds up -------------------------------------------------------------------- */

typedef struct {
    desk *desk;
    basis *basis;
    rfm_sums *sums;
    sums_shape shape;
    const int *own; /* (c) outputs have units of their own, 2^own times that of the sums; NULL: that of the sums */
    size_t m, b, c;
    rfm_real *factor;   /* (b) w^1/2 in units of K */
    rfm_real *f;        /* (m, b) features */
    rfm_real *strip;    /* (STRIP_ROWS, m) */
    rfm_real *product;  /* (m, c) */
    rfm_real *square;   /* (c) */
    unsigned char *bad; /* (STRIP_ROWS) */
    size_t row, rows;   /* of the strip */
} adding;

static void adding_layout(rfm_arena *arena, adding *a) {
    size_t m = a->m, b = a->b, c = a->c, strip = min_size(m, STRIP_ROWS), bytes = 0, left;
    a->factor = rfm_arena_reals(arena, 1, b);
    a->f = rfm_arena_reals(arena, m, b);
    a->strip = rfm_arena_reals(arena, strip, m);
    a->product = rfm_arena_reals(arena, m, c);
    a->square = rfm_arena_reals(arena, 1, c);
    a->bad = (unsigned char *)rfm_arena_take(arena, strip, 1);
    for (left = m; left > 0; left -= min_size(left, strip))
        desk_for(a->desk, rfm_gemm_need(a->desk->ctx, min_size(left, strip), left, b, &bytes), &bytes);
    desk_for(a->desk, rfm_gemm_need(a->desk->ctx, m, c, b, &bytes), &bytes);
}

static void add_strip_row(void *arg, size_t index, size_t worker) {
    adding *a = (adding *)arg;
    size_t i = a->row + index, left = a->m - a->row;
    (void)worker;
    a->bad[index] =
        (unsigned char)!fixed_add(a->m - i, a->strip + index * left + index, numbers_of(a->sums) + row_at(a->m, i) + i);
}

/* Features of one block times themselves, strip by strip, on and above the diagonal. */
static int add_gram(adding *a) {
    size_t m = a->m, b = a->b, i;
    int status = RFM_OK;
    for (a->row = 0; a->row < m && status == RFM_OK; a->row += a->rows) {
        size_t left = m - a->row;
        a->rows = min_size(left, min_size(m, STRIP_ROWS));
        status = rfm_gemm(&a->desk->room.ctx, RFM_NT, R(1), rfm_cview(a->f + a->row * b, a->rows, b),
                          rfm_cview(a->f + a->row * b, left, b), R(0), rfm_view(a->strip, a->rows, left));
        if (status != RFM_OK) break;
        rfm_jobs(a->desk->ctx, add_strip_row, a, a->rows);
        for (i = 0; i < a->rows; i++)
            if (a->bad[i]) status = RFM_ERANGE;
    }
    return status;
}

/* w^1/2 (y - offset) of output k in its unit, and the sum of their squares; that is 0 only if all of them are 0, but
 * for what rounding makes of the offset. */
static rfm_real add_output(const adding *a, const passing *p, size_t k) {
    const rfm_real offset = a->basis->model->offset != NULL ? a->basis->model->offset[k] : R(0);
    const rfm_real unit = power(-(a->sums->unit_y + (a->own != NULL ? a->own[k] : 0)));
    rfm_real sum = R(0), least = R(0);
    size_t i;
    for (i = 0; i < a->b; i++) {
        rfm_real *y = p->y + i * a->c + k, off = *y - offset;
        if (p->w[i] > R(0) && RFM_MATH(fabs)(off) > RFM_MATH(fabs)(offset) * REAL_EPS) least = FIXED_LEAST;
        *y = a->factor[i] * (unit * off);
        sum += *y * *y;
    }
    return sum < least ? least : sum;
}

/* A block of rows; y is changed. */
static int add_block(adding *a, passing *p) {
    const rfm_model *model = a->basis->model;
    size_t m = a->m, b = a->b, c = a->c, i, k;
    rfm_real unit_k = power(-a->sums->unit_k), weight = R(0);
    fixed *numbers = numbers_of(a->sums);
    int status;
    for (i = 0; i < b; i++) a->factor[i] = RFM_MATH(sqrt)(p->w[i]), weight += p->w[i];
    for (k = 0; k < c; k++) a->square[k] = add_output(a, p, k);
    for (i = 0; i < b; i++) a->factor[i] *= unit_k;
    if (!rfm_finite(b, a->factor) || !rfm_finite(c, a->square)) return RFM_ERANGE;
    status = features(a->desk, a->basis, rfm_cview(p->x, b, model->d), a->factor, a->f);
    if (status == RFM_OK) status = add_gram(a);
    if (status == RFM_OK)
        status = rfm_gemm(&a->desk->room.ctx, RFM_NN, R(1), rfm_cview(a->f, m, b), rfm_cview(p->y, b, c), R(0),
                          rfm_view(a->product, m, c));
    if (status != RFM_OK) return status;
    if (!fixed_add(m * c, a->product, numbers + a->shape.triangle) ||
        !fixed_add(c, a->square, numbers + a->shape.products) || !fixed_add(1, &weight, numbers + a->shape.squares))
        return RFM_ERANGE;
    return RFM_OK;
}

/* A pass over all rows. */
static int add_rows(adding *a, passing *p) {
    size_t n = p->rows->n, first, count;
    int status = RFM_OK;
    for (first = 0; first < n && status == RFM_OK; first += count) {
        status = read_block(p, first, &count);
        if (status == RFM_OK) status = add_block(a, p);
        if (status == RFM_OK) status = desk_tick(a->desk, R(first + count) / R(n));
    }
    if (status == RFM_OK) status = end_pass(p);
    if (status == RFM_OK) status = enough_weight(numbers_of(a->sums), &a->shape);
    if (status == RFM_OK) set_rows(a->sums, rfm_sums_rows(a->sums) + n);
    return status;
}

/* ---- gradients ---- */

typedef struct {
    desk *desk;
    const rfm_model *model;
    size_t least_r, most_r, b; /* ranks as for a basis */
    rfm_real *sum, *mean;      /* (r, r) or (1, r); (c, r) of a block */
    rfm_real most;             /* on the diagonals of all blocks */
} outer;

static void outer_layout(rfm_arena *arena, outer *o) {
    size_t full = o->model->metric == RFM_FULL, bytes = 0, r;
    o->sum = rfm_arena_reals(arena, full ? o->most_r : 1, o->most_r);
    o->mean = rfm_arena_reals(arena, o->model->c, o->most_r);
    for (r = o->least_r; r <= o->most_r; r++) {
        rfm_model k = of_rank(o->model, r);
        desk_for(o->desk, rfm_agop_need(o->desk->ctx, &k, o->b, &bytes), &bytes);
    }
}

/* The gradients of a block of rows. */
static int outer_block(outer *o, const passing *p) {
    const rfm_model *m = o->model;
    return rfm_agop(&o->desk->room.ctx, m, rfm_cview(p->x, o->b, m->d), p->w,
                    rfm_view(o->sum, m->metric == RFM_FULL ? m->r : 1, m->r), rfm_view(o->mean, m->c, m->r));
}

/* Adds them to numbers of this shape, in units of 2^unit. */
static int outer_add(outer *o, const passing *p, const sums_shape *shape, int unit, fixed *numbers) {
    const rfm_model *m = o->model;
    size_t r = m->r, i, j;
    rfm_real scale = power(-unit), weight = R(0);
    int right = 1;
    for (i = 0; i < m->c * r; i++) o->mean[i] *= scale;
    for (i = 0; i < o->b; i++) weight += p->w[i];
    for (i = 0; i < (m->metric == RFM_FULL ? r : 1); i++) { /* below the diagonal there is nothing */
        rfm_real *row = o->sum + i * r + i;
        for (j = 0; j < r - i; j++) row[j] = row[j] * scale * scale;
        right &=
            rfm_finite(r - i, row) && fixed_add(r - i, row, numbers + (m->metric == RFM_FULL ? row_at(r, i) : 0) + i);
    }
    right &= fixed_add(m->c * r, o->mean, numbers + shape->triangle) && fixed_add(1, &weight, numbers + shape->squares);
    return right ? RFM_OK : RFM_ERANGE;
}

/* ---- sums of the caller ---- */

typedef struct {
    desk desk;
    passing passing;
    basis basis;
    adding adding;
    outer outer;
    rfm_sums *part; /* what this pass adds */
    size_t bytes;
} adding_call;

static int adding_call_start(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_model *model, int kind,
                             adding_call *s) {
    int status = ctx == NULL ? RFM_ENULL : rows_right(rows);
    memset(s, 0, sizeof *s);
    if (status == RFM_OK) status = rfm_sums_size(model, kind, &s->bytes);
    if (status != RFM_OK) return status;
    if (rows->d != model->d || rows->c != model->c) return RFM_ESHAPE;
    s->desk.ctx = ctx, s->desk.end = R(1);
    s->passing.rows = rows, s->passing.desk = &s->desk;
    s->basis.model = s->outer.model = model;
    s->basis.least_r = s->basis.most_r = s->outer.least_r = s->outer.most_r = model->r;
    s->adding.desk = s->outer.desk = &s->desk, s->adding.basis = &s->basis;
    s->adding.m = model->n, s->adding.c = model->c, s->adding.shape = shape_of(model, kind);
    return RFM_OK;
}

static int adding_call_layout(rfm_arena *arena, int kind, adding_call *s) {
    s->part = (rfm_sums *)rfm_arena_take(arena, s->bytes, 1);
    passing_layout(arena, &s->passing);
    s->adding.b = s->outer.b = s->passing.b;
    if (kind == RFM_SUMS_SOLVE) {
        basis_layout(arena, &s->desk, s->passing.b, &s->basis);
        adding_layout(arena, &s->adding);
    } else
        outer_layout(arena, &s->outer);
    desk_layout(arena, &s->desk);
    return arena->status;
}

int rfm_sums_add_need(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_model *model, int kind, size_t *bytes) {
    rfm_arena measure;
    adding_call s;
    int status = bytes == NULL ? RFM_ENULL : adding_call_start(ctx, rows, model, kind, &s);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = adding_call_layout(&measure, kind, &s);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

static int outer_rows(adding_call *s) {
    size_t n = s->passing.rows->n, first, count;
    int status = RFM_OK;
    for (first = 0; first < n && status == RFM_OK; first += count) {
        status = read_block(&s->passing, first, &count);
        if (status == RFM_OK) status = outer_block(&s->outer, &s->passing);
        if (status == RFM_OK)
            status = outer_add(&s->outer, &s->passing, &s->adding.shape, s->part->unit_y, numbers_of(s->part));
        if (status == RFM_OK) status = desk_tick(&s->desk, R(first + count) / R(n));
    }
    if (status == RFM_OK) status = enough_weight(numbers_of(s->part), &s->adding.shape);
    if (status == RFM_OK) set_rows(s->part, n);
    return status;
}

int rfm_sums_add(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_model *model, rfm_sums *sums) {
    adding_call s;
    size_t used;
    int status = ctx == NULL || sums == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = model == NULL ? RFM_ENULL : check_model(model);
    if (status == RFM_OK) status = rfm_sums_check(model, sums, SIZE_MAX);
    if (status == RFM_OK) status = adding_call_start(ctx, rows, model, sums->kind, &s);
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    status = adding_call_layout(ctx->arena, sums->kind, &s);
    if (status != RFM_OK) return leave(ctx->arena, used, status);
    desk_start(&s.desk);
    memset(s.part, 0, s.bytes);
    *s.part = *sums;
    set_rows(s.part, 0);
    s.adding.sums = s.part;
    if (sums->kind == RFM_SUMS_SOLVE) {
        status = basis_start(&s.desk, &s.basis);
        if (status == RFM_OK) status = add_rows(&s.adding, &s.passing);
        s.part->order = s.basis.order;
    } else
        status = outer_rows(&s);
    if (status == RFM_OK) status = combine_right(sums, s.part, 1);
    return leave(ctx->arena, used, status);
}

/* ==== 4. Direct ================================================================================= */

/* The equations (G + ridge I) g = rhs, alpha = U^-1 g. */
typedef struct {
    desk *desk;
    basis *basis;
    size_t m, c;
    rfm_real *v;        /* (m, m) G below its diagonal, the factor on and above it */
    rfm_real *diagonal; /* (m) of G */
    rfm_real *g;        /* (m, c) */
    rfm_real ridge;     /* as used, in units of K */
} equations;

static void equations_layout(rfm_arena *arena, equations *e) {
    size_t bytes = 0;
    e->diagonal = rfm_arena_reals(arena, 1, e->m);
    e->g = rfm_arena_reals(arena, e->m, e->c);
    desk_for(e->desk, rfm_chol_need(e->desk->ctx, e->m, &bytes), &bytes);
    desk_for(e->desk, rfm_trsm_need(e->desk->ctx, e->m, e->c, &bytes), &bytes);
}

/* A power of two near d^-1/2. */
static rfm_real scale_of(rfm_real d) {
    int e = 0;
    (void)RFM_MATH(frexp)(d, &e);
    return d > R(0) ? power(-(e >= 0 ? e / 2 : -(-e / 2))) : R(1);
}

/* V'V = G + ridge I. G is on and above the diagonal of v. Features differ much in size, the first of them is nearly
 * constant: so what is factored is D (G + ridge I) D with a diagonal of about 1, and V is that factor times D^-1. What
 * rounding costs is then a share of each feature, not of the largest. That share grows until the factor exists. */
static int factor_gram(equations *e, rfm_real ridge) {
    size_t m = e->m, i, j;
    rfm_real share = R(2) * REAL_EPS, most = R(0);
    int status;
    for (i = 0; i < m; i++) {
        e->diagonal[i] = e->v[i * (m + 1)];
        most = max_real(most, e->diagonal[i]);
        for (j = 0; j < i; j++) e->v[i * m + j] = e->v[j * m + i];
    }
    e->ridge = ridge;
    if (!(most + ridge > R(0))) e->ridge = R(1); /* no row has any feature */
    for (;;) {
        for (i = 0; i < m; i++) {
            const rfm_real d = e->diagonal[i] + e->ridge, unit = scale_of(d);
            e->v[i * (m + 1)] = d * unit * unit + share;
            for (j = i + 1; j < m; j++) e->v[i * m + j] = e->v[j * m + i] * unit * scale_of(e->diagonal[j] + e->ridge);
        }
        status = rfm_chol(&e->desk->room.ctx, rfm_view(e->v, m, m), NULL);
        if (status == RFM_OK) break;
        if (status != RFM_ENOTPD) return status;
        share = max_real(R(10) * share, R(m) * REAL_EPS);
        if (!(share < R(10) * R(m))) return RFM_ERANGE;
    }
    for (j = 0; j < m; j++) {
        const rfm_real unit = R(1) / scale_of(e->diagonal[j] + e->ridge);
        for (i = 0; i <= j; i++) e->v[i * m + j] *= unit;
    }
    return RFM_OK;
}

/* alpha (m, c) = U^-1 g in the order of the model's centres, from units of 2^unit, of an output times 2^own if it has
 * one of its own. */
static int alpha_of(equations *e, int unit, const int *own, rfm_mat alpha) {
    size_t m = e->m, c = e->c, i, k;
    int status = rfm_trsm(&e->desk->room.ctx, RFM_NN, rfm_cview(e->basis->u, m, m), rfm_view(e->g, m, c));
    if (status != RFM_OK) return status;
    for (i = 0; i < m; i++)
        for (k = 0; k < c; k++) e->g[i * c + k] = RFM_MATH(ldexp)(e->g[i * c + k], unit + (own != NULL ? own[k] : 0));
    if (!rfm_finite(m * c, e->g)) return RFM_ERANGE;
    for (i = 0; i < m; i++)
        for (k = 0; k < c; k++)
            alpha.at[e->basis->perm[i] * alpha.stride + k] = i < e->basis->rank ? e->g[i * c + k] : R(0);
    return RFM_OK;
}

/* Sums become equations: the numbers may be where v is. Elements are read behind the place that is written. */
static int solve_sums(equations *e, const rfm_sums *sums, const int *own, rfm_real ridge, rfm_mat alpha) {
    const unsigned char *from = (const unsigned char *)numbers_in(sums);
    size_t m = e->m, c = e->c, i, j, products = m * (m + 1) / 2;
    int status;
    for (i = 0; i < m * c; i++) e->g[i] = fixed_at(from, products + i);
    for (i = 0; i < m; i++)
        for (j = i; j < m; j++) e->v[i * m + j] = fixed_at(from, row_at(m, i) + j);
    status = factor_gram(e, ridge * power(-2 * sums->unit_k));
    if (status == RFM_OK) status = rfm_chol_solve(&e->desk->room.ctx, rfm_cview(e->v, m, m), rfm_view(e->g, m, c));
    return status == RFM_OK ? alpha_of(e, sums->unit_y - sums->unit_k, own, alpha) : status;
}

/* Has every output that is not 0 enough digits in units that all share: is the mean of w y^2 over the rows above the
 * last digit? Products with features then have half of the digits even where every row was a pass of its own. */
static int digits_left(const rfm_model *model, const rfm_sums *sums) {
    const size_t squares = shape_of(model, RFM_SUMS_SOLVE).products;
    size_t k;
    for (k = 0; k < model->c; k++) {
        const rfm_real sum = fixed_at((const unsigned char *)numbers_in(sums), squares + k);
        if (sum > R(0) && !(sum / FIXED_LEAST > R(rfm_sums_rows(sums)))) return 0;
    }
    return 1;
}

typedef struct {
    desk desk;
    basis basis;
    equations equations;
} sums_call;

static int sums_call_start(const rfm_ctx *ctx, const rfm_model *model, sums_call *s) {
    int status = ctx == NULL ? RFM_ENULL : check_model(model);
    if (status != RFM_OK) return status;
    memset(s, 0, sizeof *s);
    s->desk.ctx = ctx, s->desk.end = R(1);
    s->basis.model = model, s->basis.least_r = s->basis.most_r = model->r;
    s->equations.desk = &s->desk, s->equations.basis = &s->basis, s->equations.m = model->n, s->equations.c = model->c;
    return RFM_OK;
}

static int sums_call_layout(rfm_arena *arena, sums_call *s) {
    basis_layout(arena, &s->desk, 1, &s->basis);
    s->equations.v = rfm_arena_reals(arena, s->equations.m, s->equations.m);
    equations_layout(arena, &s->equations);
    desk_layout(arena, &s->desk);
    return arena->status;
}

int rfm_sums_solve_need(const rfm_ctx *ctx, const rfm_model *model, size_t *bytes) {
    rfm_arena measure;
    sums_call s;
    int status = bytes == NULL ? RFM_ENULL : sums_call_start(ctx, model, &s);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = sums_call_layout(&measure, &s);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

static int check_alpha(const rfm_model *model, rfm_mat alpha) {
    int status = check_view(rfm_const(alpha));
    if (status != RFM_OK) return status;
    return alpha.rows == model->n && alpha.cols == model->c ? RFM_OK : RFM_ESHAPE;
}

int rfm_sums_solve(const rfm_ctx *ctx, const rfm_model *model, const rfm_sums *sums, rfm_real ridge, rfm_mat alpha,
                   rfm_solve_report *report) {
    sums_call s;
    size_t used;
    int status = ctx == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = sums_call_start(ctx, model, &s);
    if (status == RFM_OK) status = rfm_sums_check(model, sums, SIZE_MAX);
    if (status == RFM_OK) status = check_alpha(model, alpha);
    if (status != RFM_OK) return status;
    if (sums->kind != RFM_SUMS_SOLVE || rfm_sums_rows(sums) == 0 || !rfm_finite(1, &ridge) || ridge < R(0))
        return RFM_EVALUE;
    used = ctx->arena->used;
    status = sums_call_layout(ctx->arena, &s);
    if (status != RFM_OK) return leave(ctx->arena, used, status);
    desk_start(&s.desk);
    status = basis_start(&s.desk, &s.basis);
    if (status == RFM_OK && s.basis.order != sums->order) status = RFM_ECHANGED;
    if (status == RFM_OK && !digits_left(model, sums)) status = RFM_ERANGE;
    if (status == RFM_OK) status = solve_sums(&s.equations, sums, NULL, ridge, alpha);
    if (status == RFM_OK && report != NULL) {
        memset(report, 0, sizeof *report);
        report->rows = rfm_sums_rows(sums), report->rank = s.basis.rank, report->weight = R(1);
        report->ridge = s.equations.ridge * power(2 * sums->unit_k);
    }
    return leave(ctx->arena, used, status);
}

/* ==== 5. Conjugate gradients ====================================================================
 *
 * With V'V = (sum w / m) U U' + ridge I, for all outputs together:
 *   V'^-1 (U'^-1 K_mn W K_nm U^-1 + ridge I) V^-1 g = V'^-1 U'^-1 K_mn W Y,   alpha = U^-1 V^-1 g.
 * A step is one pass: u = U^-1 V^-1 p, then the sum over blocks of K_b' W (K_b u). Sums over blocks are compensated.
 * Tiles of a product have tens of columns: for few outputs the loop of the port for four rows does both products.
 */

#define ROWS4_OUTPUTS 4    /* up to this many */
#define ROWS4_COLUMNS 1024 /* of a job */

typedef struct {
    equations *e;
    passing *passing;
    size_t m, b, c;
    rfm_real *k;                /* (b, m) */
    rfm_real *t;                /* (b, c) */
    rfm_real *x, *rest, *p, *q; /* (m, c) solution, residual, direction, its image */
    rfm_real *u, *sum, *lost;   /* (m, c) */
    rfm_real *part;             /* (m, c) of one block */
    int by_rows;                /* 1: the two products by four rows at a time; then */
    rfm_real *turned;           /* (c, m) u, or part */
    rfm_real *ignored;          /* (workers, m): what the loop makes beside */
    rfm_real *square, *start;   /* (c) squares of the residuals now and at the start */
    const int *own;             /* (c) outputs are in units of 2^own */
} conjugate;

static void conjugate_layout(rfm_arena *arena, conjugate *s) {
    size_t m = s->m, b = s->b, c = s->c, bytes = 0;
    desk *d = s->e->desk;
    s->k = rfm_arena_reals(arena, b, m);
    s->t = rfm_arena_reals(arena, b, c);
    s->x = rfm_arena_reals(arena, m, c);
    s->rest = rfm_arena_reals(arena, m, c);
    s->p = rfm_arena_reals(arena, m, c);
    s->q = rfm_arena_reals(arena, m, c);
    s->u = rfm_arena_reals(arena, m, c);
    s->sum = rfm_arena_reals(arena, m, c);
    s->lost = rfm_arena_reals(arena, m, c);
    s->part = rfm_arena_reals(arena, m, c);
    s->square = rfm_arena_reals(arena, 1, c);
    s->start = rfm_arena_reals(arena, 1, c);
    s->by_rows = c <= ROWS4_OUTPUTS && d->ctx->port != NULL && d->ctx->port->rows4 != NULL;
    s->turned = rfm_arena_reals(arena, s->by_rows ? c : 0, m);
    s->ignored = rfm_arena_reals(arena, s->by_rows ? rfm_workers(d->ctx) : 0, m);
    desk_for(d, rfm_gemm_need(d->ctx, b, c, m, &bytes), &bytes);
    desk_for(d, rfm_gemm_need(d->ctx, m, c, b, &bytes), &bytes);
    desk_for(d, rfm_syrk_need(d->ctx, m, m, &bytes), &bytes);
}

/* sum += part, and what is lost of it. */
static void add_compensated(size_t n, const rfm_real *part, rfm_real *sum, rfm_real *lost) {
    size_t i;
    for (i = 0; i < n; i++) {
        rfm_real a = sum[i], b = part[i], s = a + b, back = s - a;
        lost[i] += (a - (s - back)) + (b - back);
        sum[i] = s;
    }
}

/* Four rows of K and what they have in t: t = K u for them, or, of some columns, part += K' t. Where there are fewer
 * than four rows, one is taken four times, three of them with a factor of 0. */
static void dots_job(void *arg, size_t index, size_t worker) {
    static const rfm_real none[4] = {R(0), R(0), R(0), R(0)};
    const conjugate *s = (const conjugate *)arg;
    const size_t m = s->m, c = s->c, first = 4 * index, together = first + 4 <= s->b ? 4 : 1;
    size_t i, j, k;
    for (i = first; i < min_size(first + 4, s->b); i += together)
        for (k = 0; k < c; k++) {
            rfm_real dots[4] = {R(0), R(0), R(0), R(0)};
            s->e->desk->ctx->port->rows4(m, s->k + i * m, together == 4 ? m : 0, none, s->turned + k * m,
                                         s->ignored + worker * m, dots);
            for (j = 0; j < together; j++) s->t[(i + j) * c + k] = dots[j];
        }
}

static void columns_job(void *arg, size_t index, size_t worker) {
    const conjugate *s = (const conjugate *)arg;
    const size_t m = s->m, c = s->c, first = index * ROWS4_COLUMNS, cols = min_size(ROWS4_COLUMNS, m - first);
    size_t i, j, k, together;
    (void)worker;
    for (k = 0; k < c; k++) memset(s->turned + k * m + first, 0, cols * sizeof *s->turned);
    for (i = 0; i < s->b; i += together) {
        const rfm_real *at = s->k + i * m + first;
        together = i + 4 <= s->b ? 4 : 1;
        for (k = 0; k < c; k++) {
            rfm_real factor[4] = {R(0), R(0), R(0), R(0)}, unused[4] = {R(0), R(0), R(0), R(0)};
            for (j = 0; j < together; j++) factor[j] = s->t[(i + j) * c + k];
            s->e->desk->ctx->port->rows4(cols, at, together == 4 ? m : 0, factor, at, s->turned + k * m + first,
                                         unused);
        }
    }
}

/* t = K u */
static int times_u(conjugate *s, const rfm_real *u) {
    const rfm_ctx *ctx = &s->e->desk->room.ctx;
    size_t i, k;
    if (!s->by_rows)
        return rfm_gemm(ctx, RFM_NN, R(1), rfm_cview(s->k, s->b, s->m), rfm_cview(u, s->m, s->c), R(0),
                        rfm_view(s->t, s->b, s->c));
    for (k = 0; k < s->c; k++)
        for (i = 0; i < s->m; i++) s->turned[k * s->m + i] = u[i * s->c + k];
    rfm_jobs(s->e->desk->ctx, dots_job, s, (s->b + 3) / 4);
    return rfm_finite(s->b * s->c, s->t) ? RFM_OK : RFM_ERANGE;
}

/* part = K' t */
static int times_t(conjugate *s) {
    const rfm_ctx *ctx = &s->e->desk->room.ctx;
    size_t i, k;
    if (!s->by_rows)
        return rfm_gemm(ctx, RFM_TN, R(1), rfm_cview(s->k, s->b, s->m), rfm_cview(s->t, s->b, s->c), R(0),
                        rfm_view(s->part, s->m, s->c));
    rfm_jobs(s->e->desk->ctx, columns_job, s, (s->m + ROWS4_COLUMNS - 1) / ROWS4_COLUMNS);
    for (k = 0; k < s->c; k++)
        for (i = 0; i < s->m; i++) s->part[i * s->c + k] = s->turned[k * s->m + i];
    return rfm_finite(s->m * s->c, s->part) ? RFM_OK : RFM_ERANGE;
}

/* sum (m, c) of a pass: K_mn W Y, or K_mn W K_nm u if u is not NULL. */
static int conjugate_pass(conjugate *s, const rfm_real *u, rfm_real from, rfm_real to) {
    const rfm_model *model = &s->e->basis->turned;
    desk *d = s->e->desk;
    passing *p = s->passing;
    size_t n = p->rows->n, m = s->m, b = s->b, c = s->c, first, count, i, k;
    int status = RFM_OK;
    memset(s->sum, 0, m * c * sizeof *s->sum);
    memset(s->lost, 0, m * c * sizeof *s->lost);
    for (first = 0; first < n && status == RFM_OK; first += count) {
        status = read_block(p, first, &count);
        if (status == RFM_OK)
            status = rfm_kernel_values(&d->room.ctx, model, rfm_cview(p->x, b, model->d), RFM_NN, rfm_view(s->k, b, m));
        if (status == RFM_OK && u != NULL) status = times_u(s, u);
        for (k = 0; status == RFM_OK && k < c; k++) {
            const rfm_real unit = power(-s->own[k]);
            for (i = 0; i < b; i++) {
                rfm_real *t = s->t + i * c + k;
                if (u == NULL) *t = (p->y[i * c + k] - (model->offset != NULL ? model->offset[k] : R(0))) * unit;
                *t *= p->w[i];
            }
        }
        if (status == RFM_OK) status = times_t(s);
        if (status == RFM_OK) add_compensated(m * c, s->part, s->sum, s->lost);
        if (status == RFM_OK) status = desk_tick(d, from + (to - from) * R(first + count) / R(n));
    }
    if (status == RFM_OK) status = end_pass(p);
    for (i = 0; status == RFM_OK && i < m * c; i++)
        s->sum[i] = i / c < s->e->basis->rank ? s->sum[i] + s->lost[i] : R(0);
    return status;
}

/* V'V = (weight / m) U U' + ridge I. */
static int precondition(conjugate *s, rfm_real weight, rfm_real ridge) {
    equations *e = s->e;
    size_t m = s->m;
    int status =
        rfm_syrk(&e->desk->room.ctx, RFM_NT, weight / R(m), rfm_cview(e->basis->u, m, m), R(0), rfm_view(e->v, m, m));
    return status == RFM_OK ? factor_gram(e, ridge) : status;
}

static int solve_with(const conjugate *s, const rfm_real *factor, int op, rfm_real *b) {
    return rfm_trsm(&s->e->desk->room.ctx, op, rfm_cview(factor, s->m, s->m), rfm_view(b, s->m, s->c));
}

/* out (c) = the dot products of the columns of a and b (m, c). */
static void dots(const conjugate *s, const rfm_real *a, const rfm_real *b, rfm_real *out) {
    size_t i, k;
    for (k = 0; k < s->c; k++) {
        rfm_real sum = R(0), lost = R(0);
        for (i = 0; i < s->m; i++) {
            rfm_real product = a[i * s->c + k] * b[i * s->c + k];
            add_compensated(1, &product, &sum, &lost);
        }
        out[k] = sum + lost;
    }
}

/* The largest residual as a share of the start. */
static rfm_real residual_of(const conjugate *s) {
    rfm_real most = R(0);
    size_t k;
    for (k = 0; k < s->c; k++)
        if (s->start[k] > R(0)) most = max_real(most, RFM_MATH(sqrt)(s->square[k] / s->start[k]));
    return most;
}

/* q = V'^-1 (U'^-1 sum + ridge V^-1 p), where sum = K_mn W K_nm U^-1 V^-1 p. */
static int image(conjugate *s, rfm_real from, rfm_real to) {
    const basis *f = s->e->basis;
    size_t i, count = s->m * s->c;
    int status;
    memcpy(s->q, s->p, count * sizeof *s->q);
    status = solve_with(s, s->e->v, RFM_NN, s->q); /* V^-1 p */
    if (status == RFM_OK) {
        memcpy(s->u, s->q, count * sizeof *s->u);
        status = solve_with(s, f->u, RFM_NN, s->u);
    }
    if (status == RFM_OK) status = conjugate_pass(s, s->u, from, to);
    if (status == RFM_OK) status = solve_with(s, f->u, RFM_TN, s->sum);
    for (i = 0; status == RFM_OK && i < count; i++) s->q[i] = s->sum[i] + s->e->ridge * s->q[i];
    return status == RFM_OK ? solve_with(s, s->e->v, RFM_TN, s->q) : status;
}

/* One step for every output whose residual is above the tolerance; s->start is scratch-free, s->square is updated. */
static void conjugate_step(conjugate *s) {
    size_t m = s->m, c = s->c, i, k;
    for (k = 0; k < c; k++) {
        rfm_real curve = R(0), after = R(0), step, turn;
        for (i = 0; i < m; i++) curve += s->p[i * c + k] * s->q[i * c + k];
        if (!(s->square[k] > R(0)) || !(curve > R(0))) continue;
        step = s->square[k] / curve;
        for (i = 0; i < m; i++) {
            s->x[i * c + k] += step * s->p[i * c + k];
            s->rest[i * c + k] -= step * s->q[i * c + k];
            after += s->rest[i * c + k] * s->rest[i * c + k];
        }
        turn = after / s->square[k];
        s->square[k] = after;
        for (i = 0; i < m; i++) s->p[i * c + k] = s->rest[i * c + k] + turn * s->p[i * c + k];
    }
}

#define EXPECTED_STEPS 12 /* for ticks only */

static int conjugate_solve(conjugate *s, rfm_real weight, const rfm_solve_options *o, rfm_real ridge, size_t *steps,
                           rfm_real *residual) {
    size_t count = s->m * s->c;
    rfm_real done = R(1) / R(EXPECTED_STEPS + 1), next;
    int status = precondition(s, weight, ridge);
    *steps = 0;
    if (s->by_rows) memset(s->ignored, 0, rfm_workers(s->e->desk->ctx) * s->m * sizeof *s->ignored);
    if (status == RFM_OK) status = conjugate_pass(s, NULL, R(0), done);
    if (status == RFM_OK) status = solve_with(s, s->e->basis->u, RFM_TN, s->sum);
    if (status == RFM_OK) status = solve_with(s, s->e->v, RFM_TN, s->sum);
    if (status != RFM_OK) return status;
    memset(s->x, 0, count * sizeof *s->x);
    memcpy(s->rest, s->sum, count * sizeof *s->rest);
    memcpy(s->p, s->sum, count * sizeof *s->p);
    dots(s, s->rest, s->rest, s->start);
    memcpy(s->square, s->start, s->c * sizeof *s->square);
    for (*residual = R(1); *residual > o->tolerance; *residual = residual_of(s)) {
        if (!(residual_of(s) > R(0))) break;
        if (*steps == o->steps) return RFM_ECONVERGE;
        next = done + (R(1) - done) / R(*steps < EXPECTED_STEPS ? EXPECTED_STEPS - *steps : 2);
        status = image(s, done, next);
        if (status != RFM_OK) return status;
        done = next;
        conjugate_step(s);
        ++*steps;
        if (!rfm_finite(s->c, s->square)) return RFM_ERANGE;
    }
    memcpy(s->e->g, s->x, count * sizeof *s->x);
    *residual = residual_of(s);
    return solve_with(s, s->e->v, RFM_NN, s->e->g);
}

/* ==== 6. Solving ================================================================================ */

void rfm_solve_options_init(rfm_solve_options *o) {
    memset(o, 0, sizeof *o);
    o->solver = RFM_SOLVER_AUTO, o->ridge = R(1e-3), o->steps = 100;
    o->tolerance = R(RFM_REAL_BYTES == 8 ? 1e-10 : 1e-4);
}

static int solve_options_right(const rfm_solve_options *o) {
    if (!between(RFM_SOLVER_AUTO, o->solver, RFM_SOLVER_CONJUGATE) || !rfm_finite(1, &o->ridge) || o->ridge < R(0))
        return 0;
    return rfm_finite(1, &o->tolerance) && o->tolerance > R(0) && o->steps > 0;
}

/* A solve for a model of m centres, whatever its rank. The first passes over the rows tell the units. */
typedef struct {
    desk *desk;
    passing *passing;
    const rfm_solve_options *o;
    int direct;
    basis basis;
    adding adding;
    equations equations;
    conjugate conjugate;
    size_t bytes; /* of the sums */
} solving;

/* With room for models of rank least_r up to that of `model`. */
static void solving_start(desk *d, passing *p, const rfm_model *model, size_t least_r, const rfm_solve_options *o,
                          solving *s) {
    memset(s, 0, sizeof *s);
    s->desk = d, s->passing = p, s->o = o;
    s->direct = o->solver == RFM_SOLVER_DIRECT || (o->solver == RFM_SOLVER_AUTO && model->n <= RFM_DIRECT_CENTERS);
    s->basis.model = model, s->basis.least_r = least_r, s->basis.most_r = model->r;
    s->adding.desk = s->equations.desk = d, s->adding.basis = s->equations.basis = &s->basis;
    s->adding.m = s->equations.m = s->conjugate.m = model->n;
    s->adding.c = s->equations.c = s->conjugate.c = model->c;
    s->conjugate.e = &s->equations, s->conjugate.passing = p;
}

static void solving_layout(rfm_arena *arena, solving *s) {
    rfm_model model = of_rank(s->basis.model, s->basis.most_r);
    s->adding.b = s->conjugate.b = s->passing->b;
    basis_layout(arena, s->desk, s->passing->b, &s->basis);
    if (s->direct) {
        if (rfm_sums_size(&model, RFM_SUMS_SOLVE, &s->bytes) != RFM_OK) s->bytes = SIZE_MAX;
        s->adding.sums = (rfm_sums *)rfm_arena_take(arena, s->bytes, 1);
        s->adding.shape = shape_of(&model, RFM_SUMS_SOLVE);
        s->equations.v = arena->base == NULL || s->adding.sums == NULL
                             ? NULL
                             : (rfm_real *)(void *)numbers_of(s->adding.sums); /* as large as the triangle */
        adding_layout(arena, &s->adding);
    } else {
        s->equations.v = rfm_arena_reals(arena, s->equations.m, s->equations.m);
        conjugate_layout(arena, &s->conjugate);
    }
    equations_layout(arena, &s->equations);
}

/* What a pass has to know beforehand: the sum of the weights, and units of K w^1/2 and of (y - offset) w^1/2. */
typedef struct {
    rfm_real weight; /* sum */
    rfm_real most_w, most_y;
    int *own; /* (c) exponents of the units of outputs */
} extent;

static void extent_layout(rfm_arena *arena, size_t c, extent *e) {
    e->own = (int *)rfm_arena_take(arena, c, sizeof *e->own);
}

static void extent_start(size_t c, extent *e) {
    size_t k;
    e->weight = e->most_w = e->most_y = R(0);
    for (k = 0; k < c; k++) e->own[k] = -UNIT_MOST;
}

/* Adds a block of `count` rows. offset (c), or NULL: 0 */
static void extent_add(const passing *p, size_t count, const rfm_real *offset, extent *e) {
    size_t c = p->rows->c, i, k;
    rfm_real weight = R(0);
    for (i = 0; i < count; i++) {
        const int root = exponent_of(RFM_MATH(sqrt)(p->w[i]));
        weight += p->w[i];
        if (!(p->w[i] > R(0))) continue;
        e->most_w = max_real(e->most_w, p->w[i]);
        e->most_y = max_real(e->most_y, rfm_largest(c, p->y + i * c));
        for (k = 0; k < c; k++) {
            const rfm_real size = RFM_MATH(fabs)(p->y[i * c + k] - (offset != NULL ? offset[k] : R(0)));
            if (size > R(0)) e->own[k] = max_int(e->own[k], root + exponent_of(size));
        }
    }
    e->weight += weight;
}

/* Weights of any size, in units in which their sum is a fixed-point number. What is added to the sums, the ridge, is in
 * these units, too. Outputs that are 0, or below the number range, have the least unit that has an inverse. */
static void choose_units(passing *p, extent *e) {
    const int exponent = exponent_of(e->most_w) - 1;
    size_t k;
    p->unit = e->most_w >= R(1.0 / 16) && e->weight <= R(0x1p28) ? R(1) : power(exponent > -120 ? exponent : -120);
    e->weight /= p->unit, e->most_w /= p->unit;
    for (k = 0; k < p->rows->c; k++)
        e->own[k] = max_int(e->own[k] + 1 - exponent_of(RFM_MATH(sqrt)(p->unit)), RFM_LIMIT(MIN_EXP));
}

/* Only looks at the rows. */
static int look_pass(passing *p, const rfm_real *offset, extent *e) {
    size_t n = p->rows->n, first, count;
    int status = RFM_OK;
    extent_start(p->rows->c, e);
    for (first = 0; first < n && status == RFM_OK; first += count) {
        status = read_block(p, first, &count);
        if (status == RFM_OK) extent_add(p, count, offset, e);
    }
    if (status == RFM_OK) status = end_pass(p);
    if (status == RFM_OK) choose_units(p, e);
    return status == RFM_OK && !(e->weight > R(0)) ? RFM_EVALUE : status;
}

static int solve_direct(solving *s, const extent *e, rfm_real ridge, rfm_mat alpha) {
    rfm_sums *sums = s->adding.sums;
    int status, tries;
    s->adding.own = e->own;
    for (tries = 0;; tries++) {
        memset(sums, 0, s->bytes);
        sums->unit_k = unit_of_kernel(s->basis.model) + exponent_of(RFM_MATH(sqrt)(e->most_w)) + 4 * tries;
        sums->unit_y = 4 * tries; /* times those of the outputs */
        status = add_rows(&s->adding, s->passing);
        if (status != RFM_ERANGE || tries == 3) break;
    }
    if (status != RFM_OK) return status;
    status = solve_sums(&s->equations, sums, e->own, ridge, alpha);
    s->equations.ridge *= power(2 * sums->unit_k);
    return status;
}

static int solve_conjugate(solving *s, const extent *e, rfm_real ridge, rfm_mat alpha, rfm_solve_report *report) {
    int status;
    s->conjugate.own = e->own;
    status = conjugate_solve(&s->conjugate, e->weight, s->o, ridge, &report->steps, &report->residual);
    return status == RFM_OK ? alpha_of(&s->equations, 0, e->own, alpha) : status;
}

static int solve_rows(solving *s, const extent *e, rfm_real ridge, rfm_mat alpha, rfm_solve_report *report) {
    int status = basis_start(s->desk, &s->basis);
    ridge /= s->passing->unit;
    report->steps = 0, report->residual = R(0);
    if (status == RFM_OK)
        status = s->direct ? solve_direct(s, e, ridge, alpha) : solve_conjugate(s, e, ridge, alpha, report);
    report->rows = s->passing->seen, report->passes = s->passing->passes;
    report->ridge = s->equations.ridge * s->passing->unit, report->rank = s->basis.rank;
    report->weight = s->passing->unit;
    return status == RFM_EFINITE && s->passing->row == SIZE_MAX ? RFM_ERANGE : status;
}

typedef struct {
    desk desk;
    passing passing;
    extent extent;
    solving solving;
} solve_call;

static int solve_call_start(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_model *model,
                            const rfm_solve_options *options, solve_call *s) {
    int status = ctx == NULL || options == NULL ? RFM_ENULL : rows_right(rows);
    if (status == RFM_OK) status = check_model(model);
    if (status != RFM_OK) return status;
    if (rows->d != model->d || rows->c != model->c) return RFM_ESHAPE;
    if (!solve_options_right(options)) return RFM_EVALUE;
    memset(s, 0, sizeof *s);
    s->desk.ctx = ctx, s->desk.end = R(1);
    s->passing.rows = rows, s->passing.desk = &s->desk, s->passing.row = SIZE_MAX;
    solving_start(&s->desk, &s->passing, model, model->r, options, &s->solving);
    return RFM_OK;
}

static int solve_call_layout(rfm_arena *arena, solve_call *s) {
    passing_layout(arena, &s->passing);
    extent_layout(arena, s->passing.rows->c, &s->extent);
    solving_layout(arena, &s->solving);
    desk_layout(arena, &s->desk);
    return arena->status;
}

int rfm_large_solve_need(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_model *model,
                         const rfm_solve_options *options, size_t *bytes) {
    rfm_arena measure;
    solve_call s;
    int status = bytes == NULL ? RFM_ENULL : solve_call_start(ctx, rows, model, options, &s);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = solve_call_layout(&measure, &s);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

int rfm_large_solve(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_model *model, const rfm_solve_options *options,
                    rfm_mat alpha, rfm_solve_report *report) {
    solve_call s;
    rfm_solve_report own;
    size_t used;
    int status = ctx == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = solve_call_start(ctx, rows, model, options, &s);
    if (status == RFM_OK) status = check_alpha(model, alpha);
    if (status != RFM_OK) return status;
    if (report == NULL) report = &own;
    used = ctx->arena->used;
    status = solve_call_layout(ctx->arena, &s);
    if (status != RFM_OK) return leave(ctx->arena, used, status);
    desk_start(&s.desk);
    status = look_pass(&s.passing, model->offset, &s.extent);
    if (status == RFM_OK) status = solve_rows(&s.solving, &s.extent, options->ridge, alpha, report);
    return leave(ctx->arena, used, status);
}

/* ==== 7. The fit ================================================================================
 *
 * One pass draws the sample. rfm_fit learns P and L on it. Centres are rows of the sample; of RFM_CHOICE_RESIDUAL a
 * quarter of them, and rows drawn by residuals take the places of rows of the sample that are no centres. Then,
 * `rounds` times, alpha is solved for with all rows, and P becomes R P, where R'R is the mean of the outer products of
 * gradients by P z.
 */

#define MEDIAN_ROWS      128 /* centres whose distances the median is taken of */
#define LEVERAGE_COLUMNS 64

typedef struct {
    desk fit, choose, desk; /* of the three phases */
    passing passing;
    solving solving;
    outer outer;
    const rfm_rows *rows;
    const rfm_large_options *o;
    rfm_data data; /* the sample, and what was given for validation */
    rfm_options options;
    size_t s, m, d, c;
    size_t first;                          /* centres that are there before residuals are: m, or a quarter of it */
    rfm_real *shift, *p, *centers, *alpha; /* of the model */
    size_t store_end, mark;                /* where the phases begin */
    rfm_model model;
    rfm_real *sx, *sy, *sw;    /* the sample: (s, d), (s, c), (s) */
    uint32_t *order;           /* (s) the first m are the centres */
    rfm_real *z, *k, *columns; /* choice: (s, d) projected, (s, s), (s, LEVERAGE_COLUMNS) */
    rfm_real *keys;            /* (s) */
    rfm_real *predicted;       /* (b, c) of a block */
    rfm_real *centred;         /* (m, d) */
    fixed *numbers;            /* sums of outer products */
    rfm_real *root, *next;     /* (d, d) RFM_FULL */
    uint32_t *perm;            /* (d) */
    rfm_real *distances;
    rfm_real longest; /* network kernels: the largest length of a centre */
    extent extent;
    rfm_real done, cost[4]; /* of the sample's fit, the choice, a solve, an AGOP */
    int residual;           /* 1: RFM_CHOICE_RESIDUAL, with more than one centre */
} fitting;

void rfm_large_options_init(rfm_large_options *o) {
    memset(o, 0, sizeof *o);
    rfm_options_init(&o->fit);
    rfm_solve_options_init(&o->solve);
    o->centers = 1000, o->choice = RFM_CHOICE_RANDOM, o->power = R(1), o->agop_rows = 20000;
}

static int fitting_start(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_large_options *o,
                         const rfm_data *validation, fitting *f) {
    int status = ctx == NULL || o == NULL ? RFM_ENULL : rows_right(rows);
    rfm_real s, n, m;
    if (status != RFM_OK) return status;
    if (o->centers == 0 || !between(RFM_CHOICE_RANDOM, o->choice, RFM_CHOICE_RESIDUAL) ||
        !solve_options_right(&o->solve) || o->centers > UINT32_MAX || o->sample > UINT32_MAX)
        return RFM_EVALUE;
    if (!(o->power >= R(0.25) && o->power <= R(4))) return RFM_EVALUE;
    if (o->fit.metric == RFM_FULL && (o->power > R(1) || o->power < R(1))) return RFM_EVALUE;
    memset(f, 0, sizeof *f);
    f->rows = rows, f->o = o, f->d = rows->d, f->c = rows->c, f->options = o->fit;
    f->s = min_size(rows->n, max_size(o->sample, o->centers));
    f->m = min_size(f->s, o->centers);
    f->residual = o->choice == RFM_CHOICE_RESIDUAL && f->m > 1;
    f->first = f->residual ? (f->m + 3) / 4 : f->m;
    if (validation != NULL) f->data = *validation;
    f->data.x = rfm_cview(&somewhere, f->s, f->d), f->data.y = rfm_cview(&somewhere, f->s, f->c);
    f->data.weights = rows->weighted ? &somewhere : NULL;
    if (f->options.agop_points > f->s) f->options.agop_points = f->s;
    f->fit.ctx = f->choose.ctx = f->desk.ctx = ctx;
    f->passing.rows = rows, f->passing.desk = &f->desk, f->passing.row = SIZE_MAX;
    f->model.n = f->m, f->model.d = f->model.r = f->d, f->model.c = f->c;
    f->model.kernel = o->fit.kernel, f->model.metric = o->fit.metric, f->model.exponent = o->fit.exponent;
    f->model.bandwidth = R(1), f->model.radius = o->fit.unit_rows ? R(1) : R(0);
    s = R(f->s), n = R(rows->n), m = R(f->m);
    f->cost[0] = R(o->fit.iterations + 1) * s * s * (s / R(3) + R(2) * R(f->c) * R(f->d));
    f->cost[1] = o->choice == RFM_CHOICE_RANDOM ? R(0) : s * s * s;
    f->cost[2] = m * (n * R(f->d) + (m <= R(RFM_DIRECT_CENTERS) ? R(3) * n * m : R(EXPECTED_STEPS) * n * R(f->d + 9)));
    f->cost[3] = R(4) * m * R(o->agop_rows) * R(f->c) * R(f->d);
    if (f->residual) f->cost[1] = f->cost[2] / R(4) + m / R(4) * n * R(f->d);
    return RFM_OK;
}

static int has_rounds(const fitting *f) { return f->o->rounds > 0 && f->o->fit.metric != RFM_IDENTITY; }

/* The exact fit of the sample. */
static int fit_layout(rfm_arena *arena, fitting *f) {
    size_t scratch = 0, store = 0;
    int status = rfm_fit_need(f->fit.ctx, &f->data, &f->options, &scratch, &store);
    if (status != RFM_OK) return status;
    f->fit.room.bytes = store < SIZE_MAX - scratch ? scratch + store : SIZE_MAX;
    desk_layout(arena, &f->fit);
    return arena->status;
}

static rfm_model sample_model(const fitting *f, const rfm_real *z) {
    rfm_model k = f->model;
    k.n = f->s, k.centers = z;
    return k;
}

static int choose_layout(rfm_arena *arena, fitting *f) {
    size_t s = f->s, wide = min_size(s, LEVERAGE_COLUMNS), bytes = 0, r;
    f->choose.room.bytes = 0;
    if (f->o->choice == RFM_CHOICE_RANDOM || f->o->choice == RFM_CHOICE_RESIDUAL) return RFM_OK;
    f->z = rfm_arena_reals(arena, s, f->d);
    f->centred = rfm_arena_reals(arena, s, f->d);
    f->k = rfm_arena_reals(arena, s, s);
    f->keys = rfm_arena_reals(arena, 1, s);
    f->columns = rfm_arena_reals(arena, f->o->choice == RFM_CHOICE_LEVERAGE ? s : 0, wide);
    for (r = f->model.metric == RFM_FULL ? 1 : f->d; r <= f->d; r++) {
        rfm_model k = sample_model(f, &somewhere), flat;
        k = of_rank(&k, r), flat = flat_model(&k, &somewhere);
        desk_for(&f->choose, rfm_kernel_values_need(f->choose.ctx, &flat, s, &bytes), &bytes);
        desk_for(&f->choose, rfm_gemm_need(f->choose.ctx, s, r, f->d, &bytes), &bytes);
    }
    desk_for(&f->choose, rfm_chol_rank_need(f->choose.ctx, s, &bytes), &bytes);
    desk_for(&f->choose, rfm_chol_need(f->choose.ctx, s, &bytes), &bytes);
    desk_for(&f->choose, rfm_trsm_need(f->choose.ctx, s, wide, &bytes), &bytes);
    desk_layout(arena, &f->choose);
    return arena->status;
}

/* What solving for alpha and placing so many centres takes. */
static void centers_layout(rfm_arena *arena, fitting *f, size_t centers) {
    size_t full = f->model.metric == RFM_FULL, bytes = 0, near = min_size(centers, MEDIAN_ROWS), r;
    f->model.n = centers;
    solving_start(&f->desk, &f->passing, &f->model, full ? 1 : f->d, &f->o->solve, &f->solving);
    f->desk.room.bytes = 0;
    f->centred = rfm_arena_reals(arena, centers, f->d);
    f->distances = rfm_arena_reals(arena, near, near / 2 + 1);
    for (r = 1; full && r <= f->d; r++)
        desk_for(&f->desk, rfm_gemm_need(f->desk.ctx, centers, r, f->d, &bytes), &bytes);
    solving_layout(arena, &f->solving);
}

/* The first centres of RFM_CHOICE_RESIDUAL, and residuals of their model. */
static int residual_layout(rfm_arena *arena, fitting *f) {
    size_t bytes = 0, r;
    if (!f->residual) return RFM_OK;
    centers_layout(arena, f, f->first);
    f->keys = rfm_arena_reals(arena, 1, f->m - f->first);
    f->predicted = rfm_arena_reals(arena, f->passing.b, f->c);
    for (r = f->solving.basis.least_r; r <= f->d; r++) {
        rfm_model k = of_rank(&f->model, r);
        desk_for(&f->desk, rfm_predict_need(f->desk.ctx, &k, f->passing.b, &bytes), &bytes);
    }
    desk_layout(arena, &f->desk);
    return arena->status;
}

static int rounds_layout(rfm_arena *arena, fitting *f) {
    size_t full = f->model.metric == RFM_FULL ? f->d : 0, bytes = 0, r;
    centers_layout(arena, f, f->m);
    for (r = 1; full && r <= f->d; r++) desk_for(&f->desk, rfm_chol_rank_need(f->desk.ctx, r, &bytes), &bytes);
    if (has_rounds(f)) {
        f->outer.b = f->passing.b;
        outer_layout(arena, &f->outer);
        f->numbers = (fixed *)rfm_arena_take(arena, shape_of(&f->model, RFM_SUMS_AGOP).all, sizeof *f->numbers);
        f->root = rfm_arena_reals(arena, full, f->d);
        f->next = rfm_arena_reals(arena, full, f->d);
        f->perm = (uint32_t *)rfm_arena_take(arena, full, sizeof *f->perm);
    }
    desk_layout(arena, &f->desk);
    return arena->status;
}

/* All memory that there is at once: what stays, and each of the phases in turn. fit_all lays them out again. */
static int fitting_layout(rfm_arena *store, rfm_arena *arena, fitting *f) {
    size_t least_r = f->model.metric == RFM_FULL ? 1 : f->d;
    int status;
    f->shift = rfm_arena_reals(store, 1, f->d);
    f->p =
        f->model.metric == RFM_IDENTITY ? NULL : rfm_arena_reals(store, f->model.metric == RFM_FULL ? f->d : 1, f->d);
    f->centers = rfm_arena_reals(store, f->m, f->d);
    f->alpha = rfm_arena_reals(store, f->m, f->c);
    f->store_end = store->used;
    if (store->status != RFM_OK) return store->status;
    f->sx = rfm_arena_reals(arena, f->s, f->d);
    f->sy = rfm_arena_reals(arena, f->s, f->c);
    f->sw = rfm_arena_reals(arena, 1, f->s);
    f->order = (uint32_t *)rfm_arena_take(arena, f->s, sizeof *f->order);
    passing_layout(arena, &f->passing);
    extent_layout(arena, f->c, &f->extent);
    f->mark = arena->used;
    status = fit_layout(arena, f);
    if (status != RFM_OK) return status;
    rfm_arena_release(arena, f->mark);
    status = choose_layout(arena, f);
    if (status != RFM_OK) return status;
    rfm_arena_release(arena, f->mark);
    status = residual_layout(arena, f);
    if (status != RFM_OK) return status;
    rfm_arena_release(arena, f->mark);
    f->outer.desk = &f->desk, f->outer.model = &f->model, f->outer.least_r = least_r, f->outer.most_r = f->d;
    status = rounds_layout(arena, f);
    rfm_arena_release(arena, f->mark);
    return status;
}

int rfm_large_fit_need(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_large_options *options,
                       const rfm_data *validation, size_t *scratch, size_t *store) {
    rfm_arena kept, measure;
    fitting f;
    int status = scratch == NULL || store == NULL ? RFM_ENULL : fitting_start(ctx, rows, options, validation, &f);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&kept);
    rfm_arena_measure(&measure);
    status = fitting_layout(&kept, &measure, &f);
    if (status != RFM_OK) return status;
    *scratch = measure.peak, *store = kept.peak;
    return RFM_OK;
}

/* ---- the sample ---- */

/* A pass: s of the rows that have weight, each with the same chance, and what solves have to know. */
static int draw_sample(fitting *f) {
    passing *p = &f->passing;
    size_t n = f->rows->n, d = f->d, c = f->c, first, count, i, seen = 0;
    uint32_t state = rfm_random_start(f->options.seed);
    int status = RFM_OK;
    extent_start(c, &f->extent);
    for (first = 0; first < n && status == RFM_OK; first += count) {
        status = read_block(p, first, &count);
        if (status != RFM_OK) break;
        extent_add(p, count, NULL, &f->extent);
        for (i = 0; i < count; i++) {
            size_t to;
            if (!(p->w[i] > R(0))) continue;
            to = seen < f->s ? seen : rfm_random(&state) % (seen + 1);
            seen++;
            if (to >= f->s) continue;
            memcpy(f->sx + to * d, p->x + i * d, d * sizeof *f->sx);
            memcpy(f->sy + to * c, p->y + i * c, c * sizeof *f->sy);
            f->sw[to] = p->w[i];
        }
        status = desk_tick(&f->desk, R(0));
    }
    if (status == RFM_OK) status = end_pass(p);
    if (status == RFM_OK && seen == 0) status = RFM_EVALUE;
    choose_units(p, &f->extent);
    for (i = seen; status == RFM_OK && i < f->s; i++) { /* fewer rows have weight: the rest repeats them without */
        memcpy(f->sx + i * d, f->sx, d * sizeof *f->sx);
        memcpy(f->sy + i * c, f->sy, c * sizeof *f->sy);
        f->sw[i] = R(0);
    }
    return status;
}

/* Part of the whole work is about to begin. */
static void begin(fitting *f, desk *d, int part) {
    rfm_real all =
        f->cost[0] + f->cost[1] + f->cost[2] + (has_rounds(f) ? R(f->o->rounds) * (f->cost[2] + f->cost[3]) : R(0));
    d->base = f->done / all;
    f->done += f->cost[part];
    d->end = f->done / all;
}

/* P of the sample's machine; of one that has no metric yet, the identity in the form that rounds update. */
static void take_metric(fitting *f, const rfm_model *m) {
    const size_t rows = f->model.metric == RFM_FULL ? m->r : 1;
    size_t i;
    if (f->p != NULL && m->p != NULL) memcpy(f->p, m->p, rows * f->d * sizeof *f->p);
    if (f->p == NULL || m->p != NULL) return;
    for (i = 0; i < rows * f->d; i++) f->p[i] = R(rows == 1 || i % (f->d + 1) == 0);
}

static int fit_sample(fitting *f, rfm_large_report *report) {
    rfm_report fitted;
    rfm_model m;
    rfm_ctx ctx;
    int status;
    memset(&fitted, 0, sizeof fitted);
    desk_start(&f->fit);
    begin(f, &f->fit, 0);
    ctx = f->fit.room.ctx;
    ctx.tick = f->fit.ctx->tick != NULL ? desk_tick_inner : NULL, ctx.tick_arg = &f->fit;
    f->data.x = rfm_cview(f->sx, f->s, f->d), f->data.y = rfm_cview(f->sy, f->s, f->c);
    f->data.weights = f->rows->weighted ? f->sw : NULL;
    status = rfm_fit(&ctx, &f->data, &f->options, &f->fit.room.arena, &m, &fitted);
    if (status != RFM_OK) return status;
    report->round = fitted.best;
    f->model.r = m.r, f->model.bandwidth = m.bandwidth;
    memcpy(f->shift, m.shift, f->d * sizeof *f->shift);
    take_metric(f, &m);
    f->model.shift = f->shift, f->model.p = f->p, f->model.centers = f->centers, f->model.alpha = f->alpha;
    return RFM_OK;
}

/* ---- centres ---- */

/* z (count, r) = P (x - shift) of rows of the sample, scaled as the model's rows are; order NULL: as they come. The
 * largest length is returned in *longest. */
static int place(const fitting *f, desk *d, const uint32_t *order, size_t count, rfm_real *centred, rfm_real *z,
                 rfm_real *longest) {
    const rfm_model *m = &f->model;
    rfm_real to = rfm_kernels[m->kernel].layers ? R(1) : m->radius;
    rfm_real *out = m->metric == RFM_FULL ? centred : z;
    size_t i, j;
    int status = RFM_OK;
    for (i = 0; i < count; i++) {
        const rfm_real *x = f->sx + (order != NULL ? order[i] : i) * f->d;
        for (j = 0; j < f->d; j++)
            out[i * f->d + j] = (x[j] - f->shift[j]) * (m->metric == RFM_DIAGONAL ? f->p[j] : R(1));
    }
    if (m->metric == RFM_FULL)
        status = rfm_gemm(&d->room.ctx, RFM_NT, R(1), rfm_cview(centred, count, f->d), rfm_cview(f->p, m->r, f->d),
                          R(0), rfm_view(z, count, m->r));
    *longest = R(0);
    for (i = 0; status == RFM_OK && on_sphere(m) && i < count; i++) {
        rfm_real *row = z + i * m->r, most = rfm_largest(m->r, row), sum = R(0), length;
        for (j = 0; most > R(0) && j < m->r; j++) sum += row[j] / most * (row[j] / most);
        length = RFM_MATH(sqrt)(sum) * most;
        for (j = 0; length > R(0) && j < m->r; j++) row[j] = row[j] / length * to;
        *longest = max_real(*longest, length);
    }
    return status == RFM_EFINITE ? RFM_ERANGE : status;
}

/* Orders rows by their keys, smallest first (Shell's sort). */
static void sort_by_keys(size_t n, uint32_t *order, rfm_real *keys) {
    size_t gap, i, j;
    for (gap = 1; gap < n / 3; gap = 3 * gap + 1) {
    }
    for (; gap > 0; gap /= 3)
        for (i = gap; i < n; i++) {
            rfm_real key = keys[i];
            uint32_t row = order[i];
            for (j = i; j >= gap && keys[j - gap] > key; j -= gap) keys[j] = keys[j - gap], order[j] = order[j - gap];
            keys[j] = key, order[j] = row;
        }
}

/* Ridge leverage scores l_i = 1 - ridge ((K + ridge I)^-1)_ii. Rows drawn without replacement in proportion to them
 * are those with the smallest -log(u) / l. */
static int choose_by_leverage(fitting *f, uint32_t *state) {
    size_t s = f->s, wide = min_size(s, LEVERAGE_COLUMNS), first, i, j;
    rfm_real ridge = max_real(f->options.ridge, R(s) * REAL_EPS);
    int status;
    for (i = 0; i < s; i++) f->k[i * (s + 1)] += ridge;
    status = rfm_chol(&f->choose.room.ctx, rfm_view(f->k, s, s), NULL);
    for (first = 0; first < s && status == RFM_OK; first += wide) {
        memset(f->columns, 0, s * wide * sizeof *f->columns);
        for (j = 0; j < wide && first + j < s; j++) f->columns[(first + j) * wide + j] = R(1);
        status = rfm_trsm(&f->choose.room.ctx, RFM_TN, rfm_cview(f->k, s, s), rfm_view(f->columns, s, wide));
        for (j = 0; status == RFM_OK && j < wide && first + j < s; j++) {
            rfm_real sum = R(0);
            for (i = first + j; i < s; i++) sum += f->columns[i * wide + j] * f->columns[i * wide + j];
            sum = max_real(R(1) - ridge * sum, REAL_EPS);
            f->keys[first + j] = -RFM_MATH(log)(random_share(state)) / sum;
        }
        if (status == RFM_OK) status = desk_tick(&f->choose, R(first) / R(s));
    }
    if (status == RFM_OK) sort_by_keys(s, f->order, f->keys);
    return status;
}

static int choose_centers(fitting *f) {
    uint32_t state = rfm_random_start(f->options.seed + 1);
    size_t i, rank = 0, s = f->s;
    rfm_model flat;
    rfm_real ignored;
    int status;
    for (i = 0; i < s; i++) f->order[i] = (uint32_t)i;
    if (f->o->choice == RFM_CHOICE_RANDOM || f->o->choice == RFM_CHOICE_RESIDUAL) {
        for (i = 0; i < f->m; i++) {
            size_t other = i + rfm_random(&state) % (s - i);
            uint32_t row = f->order[i];
            f->order[i] = f->order[other], f->order[other] = row;
        }
        return RFM_OK;
    }
    desk_start(&f->choose);
    begin(f, &f->choose, 1);
    status = place(f, &f->choose, NULL, s, f->centred, f->z, &ignored);
    if (status != RFM_OK) return status;
    memset(f->centred, 0, f->d * sizeof *f->centred);
    flat = sample_model(f, f->z), flat = flat_model(&flat, f->centred);
    status =
        rfm_kernel_values(&f->choose.room.ctx, &flat, rfm_cview(f->z, s, f->model.r), RFM_NN, rfm_view(f->k, s, s));
    if (status != RFM_OK) return status;
    if (f->o->choice == RFM_CHOICE_LEVERAGE) return choose_by_leverage(f, &state);
    return rfm_chol_rank(&f->choose.room.ctx, rfm_view(f->k, s, s), R(0), f->order, &rank);
}

/* ---- the metric ---- */

/* The k-th smallest of x[0..n), which is rearranged. */
static rfm_real kth(size_t n, rfm_real *x, size_t k) {
    size_t low = 0, high = n - 1;
    while (low < high) {
        rfm_real pivot = x[low + (high - low) / 2], swap;
        size_t i = low, j = high;
        for (;;) {
            while (x[i] < pivot) i++;
            while (pivot < x[j]) j--;
            if (i >= j) break;
            swap = x[i], x[i++] = x[j], x[j--] = swap;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return x[k];
}

/* L by its rule, from the distances of some centres. */
static void set_bandwidth(fitting *f) {
    const rfm_model *m = &f->model;
    size_t r = m->r, rows = min_size(f->m, MEDIAN_ROWS), count = 0, i, j, q;
    int norm = rfm_kernels[m->kernel].norm;
    rfm_real median;
    if (f->options.bandwidth_rule != RFM_BANDWIDTH_MEDIAN || rfm_kernels[m->kernel].layers) return;
    for (i = 0; i < rows; i++)
        for (j = 0; j < i; j++) {
            const rfm_real *a = f->centers + i * f->m / rows * r, *b = f->centers + j * f->m / rows * r;
            rfm_real sum = R(0);
            for (q = 0; q < r; q++) sum += norm == 1 ? RFM_MATH(fabs)(a[q] - b[q]) : (a[q] - b[q]) * (a[q] - b[q]);
            f->distances[count++] = sum;
        }
    median = count > 0 ? kth(count, f->distances, count / 2) : R(0);
    f->model.bandwidth = f->options.bandwidth;
    if (median > R(0)) f->model.bandwidth *= norm == 1 ? median : RFM_MATH(sqrt)(median);
}

/* Numbers in units of 2^unit become those in units that are 2^by as large. */
static void outer_rescale(const sums_shape *shape, int by, fixed *numbers) {
    const rfm_real scale = power(-by);
    size_t i;
    for (i = 0; i < shape->triangle; i++) numbers[i] = fixed_of(fixed_value(numbers[i]) * scale * scale);
    for (; i < shape->products; i++) numbers[i] = fixed_of(fixed_value(numbers[i]) * scale);
}

/* Adds a block's gradients to f->numbers. The first that are not 0 choose the unit, and blocks far above it a larger
 * one: rows far from all centres have gradients that say nothing of the others. */
#define UNIT_SPREAD 4
static int outer_take(fitting *f, const sums_shape *shape, int *begun, int *unit) {
    const size_t r = f->model.r, apart = f->model.metric == RFM_FULL ? r + 1 : 1;
    rfm_real most = R(0);
    size_t i;
    int own;
    for (i = 0; i < r; i++) most = max_real(most, f->outer.sum[i * apart]);
    f->outer.most = max_real(f->outer.most, most);
    own = exponent_of(RFM_MATH(sqrt)(most / R(f->outer.b))) + 2;
    if (most > R(0) && !*begun)
        *begun = 1, *unit = own;
    else if (most > R(0) && own > *unit + UNIT_SPREAD) {
        outer_rescale(shape, own - *unit, f->numbers);
        *unit = own;
    }
    return outer_add(&f->outer, &f->passing, shape, *unit, f->numbers);
}

/* Gradients of the model at rows that are spread over all, into f->numbers. */
static int outer_pass(fitting *f, sums_shape *shape, int *unit) {
    passing *p = &f->passing;
    size_t n = f->rows->n, b = p->b, blocks = (n + b - 1) / b, wanted = (f->o->agop_rows + b - 1) / b, step, first,
           count;
    int status = RFM_OK, begun = 0;
    step = wanted == 0 || wanted >= blocks ? 1 : blocks / wanted;
    *shape = shape_of(&f->model, RFM_SUMS_AGOP);
    memset(f->numbers, 0, shape->all * sizeof *f->numbers);
    f->outer.most = R(0);
    for (first = 0; first < n && status == RFM_OK; first += count) {
        status = read_block(p, first, &count);
        if (status == RFM_OK && first / b % step == step / 2 % blocks) {
            status = outer_block(&f->outer, p);
            if (status == RFM_OK) status = outer_take(f, shape, &begun, unit);
        }
        if (status == RFM_OK) status = desk_tick(&f->desk, R(first + count) / R(n));
    }
    if (status == RFM_OK) status = end_pass(p);
    return status == RFM_OK && begun ? enough_weight(f->numbers, shape) : status;
}

/* The same, and once more with a larger alpha if the squares of all gradients are lost below the number range, as they
 * are of small targets or of rows far from all centres. Then they are in units of 2^unit, too. */
#define LIFT_EXPONENT (RFM_REAL_BYTES == 4 ? 96 : 768)
static int outer_lifted(fitting *f, sums_shape *shape, int *unit) {
    const size_t count = f->m * f->c;
    const int largest = exponent_of(rfm_largest(count, f->alpha)), lift = LIFT_EXPONENT - (largest > 0 ? largest : 0);
    int status = outer_pass(f, shape, unit);
    size_t i;
    if (status != RFM_OK || lift <= 0 || f->outer.most >= RFM_LIMIT(MIN) / REAL_EPS) return status;
    for (i = 0; i < count; i++) f->alpha[i] = RFM_MATH(ldexp)(f->alpha[i], lift);
    f->desk.base = f->desk.end; /* what is done does not fall */
    status = outer_pass(f, shape, unit);
    *unit -= lift;
    return status; /* alpha is made anew for the next M */
}

/* S (r, r) or (1, r) in f->outer.sum: the mean, centred if that is asked for. The unit is left out. */
static void outer_mean(fitting *f, const sums_shape *shape) {
    size_t r = f->model.r, c = f->c, full = f->model.metric == RFM_FULL, i, j, k;
    const unsigned char *from = (const unsigned char *)f->numbers;
    rfm_real weight = fixed_at(from, shape->squares), *s = f->outer.sum, *mean = f->outer.mean;
    if (!(weight > R(0))) weight = R(1);
    for (i = 0; i < c * r; i++) mean[i] = fixed_at(from, shape->triangle + i) / weight;
    for (i = 0; i < r; i++)
        for (j = i; j < (full ? r : i + 1); j++) {
            rfm_real *to = full ? s + i * r + j : s + i;
            *to = fixed_at(from, full ? row_at(r, i) + j : i) / weight;
            for (k = 0; f->options.center && k < c; k++) *to -= mean[k * r + i] * mean[k * r + j];
            if (i == j && *to < R(0)) *to = R(0);
        }
}

/* P = R P, and the scale of M that the options ask for. */
static int update_metric(fitting *f, int unit) {
    size_t d = f->d, r = f->model.r, rank = 1, i, j;
    rfm_real *s = f->outer.sum, largest = R(0), mean = R(0), factor = power(unit);
    if (f->model.metric == RFM_FULL) {
        int status = rfm_chol_rank(&f->desk.room.ctx, rfm_view(s, r, r), REAL_EPS, f->perm, &rank);
        if (status != RFM_OK && status != RFM_ENOTPD) return status; /* negative pivots are rounding */
        memset(f->root, 0, max_size(rank, 1) * r * sizeof *f->root);
        for (i = 0; i < rank; i++)
            for (j = i; j < r; j++) f->root[i * r + f->perm[j]] = s[i * r + j];
        rank = max_size(rank, 1);
        for (i = 0; i < rank; i++)
            for (j = 0; j < d; j++) f->next[i * d + j] = R(0);
        for (i = 0; i < rank; i++) {
            size_t q;
            for (q = 0; q < r; q++)
                for (j = 0; j < d; j++) f->next[i * d + j] += f->root[i * r + q] * f->p[q * d + j];
        }
        memcpy(f->p, f->next, rank * d * sizeof *f->p);
        f->model.r = rank;
    } else
        for (j = 0; j < d; j++) f->p[j] *= RFM_MATH(sqrt)(s[j]);
    for (j = 0; j < d; j++) {
        rfm_real sum = R(0);
        for (i = 0; i < rank; i++) sum += f->p[i * d + j] * f->p[i * d + j];
        largest = max_real(largest, sum), mean += sum / R(d);
    }
    if (f->options.scale != RFM_SCALE_NONE && largest > R(0))
        factor = RFM_MATH(sqrt)(R(1) / (f->options.scale == RFM_SCALE_MAX ? largest : mean));
    for (i = 0; i < rank * d; i++) f->p[i] *= factor;
    return rfm_finite(rank * d, f->p) ? RFM_OK : RFM_ERANGE;
}

static int sharper(const fitting *f) { return f->o->power > R(1) || f->o->power < R(1); }

/* p = most (p / most)^power */
static void sharpen(fitting *f) {
    rfm_real most;
    size_t j;
    if (f->model.metric != RFM_DIAGONAL || !sharper(f)) return;
    most = rfm_largest(f->d, f->p);
    for (j = 0; j < f->d && most > R(0); j++) f->p[j] = most * RFM_MATH(pow)(f->p[j] / most, f->o->power);
}

static int place_centers(fitting *f) { return place(f, &f->desk, f->order, f->m, f->centred, f->centers, &f->longest); }

/* alpha of the centres as they are placed. */
static int solve_placed(fitting *f, rfm_large_report *report) {
    rfm_real share = R(1);
    if (rfm_kernels[f->model.kernel].layers && f->options.ridge_rule == RFM_RIDGE_SHARE) {
        share = f->model.kernel == RFM_NTK ? f->model.exponent + R(1) : R(1);
        if (!(f->model.radius > R(0))) share *= f->longest * f->longest;
    }
    return solve_rows(&f->solving, &f->extent, f->options.ridge * share, rfm_view(f->alpha, f->m, f->c),
                      &report->solve);
}

static int solve_fit(fitting *f, rfm_large_report *report) {
    begin(f, &f->desk, 2);
    return solve_placed(f, report);
}

/* The heap of the rows with the smallest keys: the largest of these is on top. */
static void heap_replace(size_t n, rfm_real *keys, uint32_t *rows, rfm_real key) {
    const uint32_t row = rows[0];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < n) {
        if (child + 1 < n && keys[child + 1] > keys[child]) child++;
        if (!(keys[child] > key)) break;
        keys[at] = keys[child], rows[at] = rows[child], at = child;
    }
    keys[at] = key, rows[at] = row;
}

/* A pass: rows with the smallest -log(u) / w r^2, r the residual of the model, become the sample's rows at f->order
 * behind the first centres. Where there are not enough rows with weight, those of the sample stay. */
static int draw_by_residuals(fitting *f) {
    passing *p = &f->passing;
    const size_t n = f->rows->n, d = f->d, c = f->c, count_drawn = f->m - f->first;
    const rfm_real unit = power(-exponent_of(max_real(f->extent.most_y, REAL_LEAST)));
    uint32_t state = rfm_random_start(f->options.seed + 2), *slots = f->order + f->first;
    size_t first, count, i, k;
    int status = RFM_OK;
    for (i = 0; i < count_drawn; i++) f->keys[i] = RFM_LIMIT(MAX);
    for (first = 0; first < n && status == RFM_OK; first += count) {
        status = read_block(p, first, &count);
        if (status == RFM_OK)
            status =
                rfm_predict(&f->desk.room.ctx, &f->model, rfm_cview(p->x, p->b, d), rfm_view(f->predicted, p->b, c));
        for (i = 0; status == RFM_OK && i < count; i++) {
            rfm_real sum = REAL_EPS * REAL_EPS, key; /* rows that are met exactly can be drawn, too */
            if (!(p->w[i] > R(0))) continue;
            for (k = 0; k < c; k++) {
                const rfm_real off = p->y[i * c + k] * unit - f->predicted[i * c + k] * unit;
                sum += off * off;
            }
            key = -RFM_MATH(log)(random_share(&state)) / (p->w[i] / f->extent.most_w * sum);
            if (!(key < f->keys[0])) continue;
            memcpy(f->sx + slots[0] * d, p->x + i * d, d * sizeof *f->sx);
            heap_replace(count_drawn, f->keys, slots, key);
        }
        if (status == RFM_OK) status = desk_tick(&f->desk, R(first + count) / R(n));
    }
    return status == RFM_OK ? end_pass(p) : status;
}

/* The centres of RFM_CHOICE_RESIDUAL that are not there yet. */
static int choose_by_residuals(fitting *f, rfm_large_report *report) {
    const size_t m = f->m;
    int status;
    desk_start(&f->desk);
    f->m = f->first;
    begin(f, &f->desk, 1);
    f->desk.end = f->desk.base + (f->desk.end - f->desk.base) * R(0.9);
    status = place_centers(f);
    if (status == RFM_OK) status = solve_placed(f, report);
    f->m = m;
    f->desk.base = f->desk.end;
    return status == RFM_OK ? draw_by_residuals(f) : status;
}

static int fit_rounds(fitting *f, rfm_large_report *report) {
    size_t round;
    int status;
    desk_start(&f->desk);
    if (!has_rounds(f)) sharpen(f);
    status = place_centers(f);
    if (!has_rounds(f) && sharper(f)) set_bandwidth(f);
    if (status == RFM_OK) status = solve_fit(f, report);
    for (round = 0; status == RFM_OK && has_rounds(f) && round < f->o->rounds; round++) {
        sums_shape shape;
        int unit = 0;
        begin(f, &f->desk, 3);
        status = outer_lifted(f, &shape, &unit);
        if (status != RFM_OK) break;
        outer_mean(f, &shape);
        status = update_metric(f, unit);
        if (status == RFM_OK && round + 1 == f->o->rounds) sharpen(f);
        if (status == RFM_OK) status = place_centers(f);
        if (status != RFM_OK) break;
        set_bandwidth(f);
        status = solve_fit(f, report);
        report->round++;
    }
    return status;
}

static int fit_all(fitting *f, rfm_arena *arena, rfm_large_report *report) {
    int status = draw_sample(f);
    if (status == RFM_OK) status = fit_layout(arena, f);
    if (status == RFM_OK) status = fit_sample(f, report);
    rfm_arena_release(arena, f->mark);
    if (status == RFM_OK) status = choose_layout(arena, f);
    if (status == RFM_OK) status = choose_centers(f);
    rfm_arena_release(arena, f->mark);
    if (status == RFM_OK) status = residual_layout(arena, f);
    if (status == RFM_OK && f->residual) status = choose_by_residuals(f, report);
    rfm_arena_release(arena, f->mark);
    if (status == RFM_OK) status = rounds_layout(arena, f);
    return status == RFM_OK ? fit_rounds(f, report) : status;
}

int rfm_large_fit(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_large_options *options,
                  const rfm_data *validation, rfm_arena *store, rfm_model *model, rfm_large_report *report) {
    fitting f;
    rfm_large_report own;
    size_t used, store_used;
    int status = ctx == NULL || model == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_arena(store);
    if (status == RFM_OK) status = fitting_start(ctx, rows, options, validation, &f);
    if (status != RFM_OK) return status;
    if (report == NULL) report = &own;
    memset(report, 0, sizeof *report);
    used = ctx->arena->used, store_used = store->used;
    status = fitting_layout(store, ctx->arena, &f);
    if (status == RFM_OK) status = fit_all(&f, ctx->arena, report);
    report->sampled = f.s, report->centers = f.m;
    if (status == RFM_EFINITE) report->row = f.passing.row, report->col = f.passing.col;
    store->status = RFM_OK;
    (void)leave(ctx->arena, ctx->arena == store ? f.store_end : used, status);
    if (status != RFM_OK)
        rfm_arena_release(store, store_used);
    else
        *model = f.model;
    return status;
}

/* ==== 8. EigenPro ===============================================================================
 *
 * S: s rows, K_SS = V' diag(sigma) V, sigma falling. A step on a batch B:
 *   g = f(B) - Y_B,   alpha_B -= (eta / |B|) g,   alpha_S += (eta / |B|) V_q' D V_q K(S, B) g,
 *   D_j = (1 - (sigma_{q+1} / sigma_j)^a) / sigma_j.
 * Batches have one size: the last one of an epoch goes on with the epoch's first rows.
 */

#define DIRECTIONS_MOST 256 /* eigenpairs that q is chosen from */

typedef struct {
    desk desk;
    const rfm_data *data;
    const rfm_eigenpro_options *o;
    rfm_model model, part; /* all rows, and those of S, projected; with alpha as it is now */
    size_t n, c, s, pairs, most, q, batch;
    uint32_t *order;               /* (n) the first s of the first order are S */
    uint32_t *chosen;              /* (s) */
    rfm_real *alpha, *best;        /* (n, c) */
    rfm_real *centers, *zeros;     /* (s, r), (r) */
    rfm_real *k, *sigma, *v;       /* (s, s), (pairs), (pairs, s) */
    rfm_real *damping;             /* (q) D */
    rfm_real *x, *g, *ksb, *h, *t; /* (most, d), (most, c), (s, most), (s, c), (pairs, c) */
    rfm_real *predicted;           /* (v, c) */
    rfm_real eta;
    rfm_real unit; /* the largest target; 1 if all are 0 */
    int moved;     /* 1: a step is done */
} descent;

void rfm_eigenpro_options_init(rfm_eigenpro_options *o) {
    memset(o, 0, sizeof *o);
    o->subsample = 2000, o->epochs = 50, o->power = R(0.95);
}

static int descent_start(const rfm_ctx *ctx, const rfm_data *data, const rfm_model *model,
                         const rfm_eigenpro_options *o, descent *s) {
    int status = ctx == NULL || data == NULL || o == NULL ? RFM_ENULL : check_model(model);
    if (status == RFM_OK) status = check_view(data->x);
    if (status == RFM_OK) status = check_view(data->y);
    if (status == RFM_OK && data->x_validation.at != NULL) status = check_view(data->x_validation);
    if (status == RFM_OK && data->x_validation.at != NULL) status = check_view(data->y_validation);
    if (status != RFM_OK) return status;
    if (data->x.cols != model->d || data->y.cols != model->c || data->x.rows != model->n ||
        data->y.rows != data->x.rows)
        return RFM_ESHAPE;
    if (data->x_validation.at != NULL && (data->x_validation.cols != model->d || data->y_validation.cols != model->c ||
                                          data->x_validation.rows != data->y_validation.rows))
        return RFM_ESHAPE;
    if (rfm_kernels[model->kernel].layers || o->subsample < 2 || o->epochs == 0 || !rfm_finite(1, &o->power) ||
        !(o->power > R(0)) || o->power > R(1) || model->n < 2)
        return RFM_EVALUE;
    memset(s, 0, sizeof *s);
    s->desk.ctx = ctx, s->desk.end = R(1), s->data = data, s->o = o;
    s->model = *model, s->n = model->n, s->c = model->c, s->s = min_size(o->subsample, s->n);
    if (o->directions >= s->s) return RFM_EVALUE;
    s->pairs = o->directions > 0 ? o->directions + 1 : min_size(s->s, DIRECTIONS_MOST);
    s->most = min_size(s->n, o->batch > 0 ? o->batch : max_size(s->s / 5, 1));
    return RFM_OK;
}

static int descent_layout(rfm_arena *arena, descent *s) {
    const rfm_ctx *ctx = s->desk.ctx;
    rfm_model part = of_rank(&s->model, s->model.r), flat;
    size_t n = s->n, c = s->c, v = s->data->x_validation.at != NULL ? s->data->x_validation.rows : 0, bytes = 0, b;
    s->order = (uint32_t *)rfm_arena_take(arena, n, sizeof *s->order);
    s->chosen = (uint32_t *)rfm_arena_take(arena, s->s, sizeof *s->chosen);
    s->alpha = rfm_arena_reals(arena, n, c);
    s->best = rfm_arena_reals(arena, v > 0 ? n : 0, c);
    s->centers = rfm_arena_reals(arena, s->s, s->model.r);
    s->zeros = rfm_arena_reals(arena, 1, s->model.r);
    s->k = rfm_arena_reals(arena, s->s, s->s);
    s->sigma = rfm_arena_reals(arena, 1, s->pairs);
    s->v = rfm_arena_reals(arena, s->pairs, s->s);
    s->damping = rfm_arena_reals(arena, 1, s->pairs);
    s->x = rfm_arena_reals(arena, s->most, s->model.d);
    s->g = rfm_arena_reals(arena, s->most, c);
    s->ksb = rfm_arena_reals(arena, s->s, s->most);
    s->h = rfm_arena_reals(arena, s->s, c);
    s->t = rfm_arena_reals(arena, s->pairs, c);
    s->predicted = rfm_arena_reals(arena, v, c);
    part.n = s->s, flat = flat_model(&part, &somewhere);
    desk_for(&s->desk, rfm_kernel_values_need(ctx, &flat, s->s, &bytes), &bytes);
    desk_for(&s->desk, rfm_eig_need(ctx, s->s, s->pairs, &bytes), &bytes);
    if (v > 0) desk_for(&s->desk, rfm_predict_need(ctx, &s->model, v, &bytes), &bytes);
    for (b = 1; b <= s->most; b++) { /* the batch follows from the eigenvalues */
        desk_for(&s->desk, rfm_predict_need(ctx, &s->model, b, &bytes), &bytes);
        desk_for(&s->desk, rfm_kernel_values_need(ctx, &part, b, &bytes), &bytes);
        desk_for(&s->desk, rfm_gemm_need(ctx, s->s, c, b, &bytes), &bytes);
    }
    for (b = 1; b <= s->pairs; b++) {
        desk_for(&s->desk, rfm_gemm_need(ctx, b, c, s->s, &bytes), &bytes);
        desk_for(&s->desk, rfm_gemm_need(ctx, s->s, c, b, &bytes), &bytes);
    }
    desk_layout(arena, &s->desk);
    return arena->status;
}

int rfm_eigenpro_need(const rfm_ctx *ctx, const rfm_data *data, const rfm_model *model,
                      const rfm_eigenpro_options *options, size_t *bytes) {
    rfm_arena measure;
    descent s;
    int status = bytes == NULL ? RFM_ENULL : descent_start(ctx, data, model, options, &s);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = descent_layout(&measure, &s);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

static void shuffle(size_t n, uint32_t *order, uint32_t *state) {
    size_t i;
    for (i = 0; i + 1 < n; i++) {
        size_t other = i + rfm_random(state) % (n - i);
        uint32_t row = order[i];
        order[i] = order[other], order[other] = row;
    }
}

/* beta and lambda for q damped directions, and the batch that follows. */
static void set_step(descent *s, size_t q) {
    rfm_real a = s->o->power, next = s->sigma[q], beta = R(0), lambda, fits;
    size_t i, j;
    lambda = s->sigma[0] / R(s->s) * RFM_MATH(pow)(next / s->sigma[0], a);
    for (j = 0; j < q; j++) s->damping[j] = R(1) - RFM_MATH(pow)(next / s->sigma[j], a);
    for (i = 0; i < s->s; i++) {
        rfm_real left = R(1);
        for (j = 0; j < q; j++) left -= s->damping[j] * s->sigma[j] * s->v[j * s->s + i] * s->v[j * s->s + i];
        beta = max_real(beta, left);
    }
    for (j = 0; j < q; j++) s->damping[j] /= s->sigma[j];
    fits = beta / lambda + R(1);
    s->q = q;
    s->batch = fits < R(s->most) ? (size_t)fits : s->most;
    s->eta = R(s->batch) < fits ? R(s->batch) / beta : R(0.99) * R(2) * R(s->batch) / (beta + R(s->batch - 1) * lambda);
}

/* Eigenpairs of K_SS; q as large as the batch allows. */
static int descent_basis(descent *s, uint32_t *state) {
    size_t r = s->model.r, i, q;
    rfm_model flat;
    int status;
    for (i = 0; i < s->n; i++) s->order[i] = (uint32_t)i;
    shuffle(s->n, s->order, state);
    memcpy(s->chosen, s->order, s->s * sizeof *s->chosen);
    for (i = 0; i < s->s; i++) memcpy(s->centers + i * r, s->model.centers + s->chosen[i] * r, r * sizeof *s->centers);
    memset(s->zeros, 0, r * sizeof *s->zeros);
    s->part = s->model, s->part.n = s->s, s->part.centers = s->centers, s->part.alpha = s->zeros;
    flat = flat_model(&s->part, s->zeros);
    status =
        rfm_kernel_values(&s->desk.room.ctx, &flat, rfm_cview(s->centers, s->s, r), RFM_NN, rfm_view(s->k, s->s, s->s));
    if (status == RFM_OK)
        status =
            rfm_eig(&s->desk.room.ctx, rfm_view(s->k, s->s, s->s), s->pairs, s->sigma, rfm_view(s->v, s->pairs, s->s));
    if (status != RFM_OK) return status;
    q = s->pairs - 1;
    while (q > 0 && !(s->sigma[q] > R(s->s) * REAL_EPS * s->sigma[0])) q--;
    if (s->o->directions == 0) /* more directions would ask for a larger batch than fits */
        for (; q > 1; q = q / 2) {
            rfm_real lambda = s->sigma[0] / R(s->s) * RFM_MATH(pow)(s->sigma[q] / s->sigma[0], s->o->power);
            if (R(1) / lambda <= R(s->most)) break;
        }
    set_step(s, q);
    return RFM_OK;
}

/* One step on the batch from `first` of the order on. */
static int descent_step(descent *s, size_t first) {
    const rfm_cmat *x = &s->data->x, *y = &s->data->y;
    size_t d = s->model.d, c = s->c, b = s->batch, i, k;
    rfm_real rate = s->eta / R(b);
    int status;
    for (i = 0; i < b; i++) memcpy(s->x + i * d, x->at + s->order[(first + i) % s->n] * x->stride, d * sizeof *s->x);
    status = rfm_predict(&s->desk.room.ctx, &s->model, rfm_cview(s->x, b, d), rfm_view(s->g, b, c));
    if (status != RFM_OK) return status;
    for (i = 0; i < b; i++)
        for (k = 0; k < c; k++) s->g[i * c + k] -= y->at[s->order[(first + i) % s->n] * y->stride + k];
    if (s->q > 0) {
        status =
            rfm_kernel_values(&s->desk.room.ctx, &s->part, rfm_cview(s->x, b, d), RFM_TN, rfm_view(s->ksb, s->s, b));
        if (status == RFM_OK)
            status = rfm_gemm(&s->desk.room.ctx, RFM_NN, R(1), rfm_cview(s->ksb, s->s, b), rfm_cview(s->g, b, c), R(0),
                              rfm_view(s->h, s->s, c));
        if (status == RFM_OK)
            status = rfm_gemm(&s->desk.room.ctx, RFM_NN, R(1), rfm_cview(s->v, s->q, s->s), rfm_cview(s->h, s->s, c),
                              R(0), rfm_view(s->t, s->q, c));
        for (i = 0; status == RFM_OK && i < s->q * c; i++) s->t[i] *= s->damping[i / c];
        if (status == RFM_OK)
            status = rfm_gemm(&s->desk.room.ctx, RFM_TN, rate, rfm_cview(s->v, s->q, s->s), rfm_cview(s->t, s->q, c),
                              R(0), rfm_view(s->h, s->s, c));
    }
    if (status != RFM_OK) return status;
    for (i = 0; i < b; i++)
        for (k = 0; k < c; k++) s->alpha[s->order[(first + i) % s->n] * c + k] -= rate * s->g[i * c + k];
    for (i = 0; s->q > 0 && i < s->s; i++)
        for (k = 0; k < c; k++) s->alpha[s->chosen[i] * c + k] += s->h[i * c + k];
    s->moved = 1;
    return rfm_finite(s->n * c, s->alpha) ? RFM_OK : RFM_ECONVERGE;
}

/* In units of the largest target, squared. */
static int descent_score(descent *s, rfm_real *score) {
    rfm_cmat x = s->data->x_validation, y = s->data->y_validation;
    size_t i, k;
    int status = rfm_predict(&s->desk.room.ctx, &s->model, x, rfm_view(s->predicted, x.rows, s->c));
    *score = R(0);
    for (i = 0; status == RFM_OK && i < x.rows; i++)
        for (k = 0; k < s->c; k++) {
            rfm_real diff = s->predicted[i * s->c + k] / s->unit - y.at[i * y.stride + k] / s->unit;
            *score += diff * diff / R(x.rows * s->c);
        }
    return status;
}

/* Is alpha worse than no model at all on the rows that it was made from? */
static int descent_check(descent *s) {
    const rfm_cmat x = s->data->x, y = s->data->y;
    rfm_real error = R(0), zero = R(0);
    size_t first, count, i, k;
    int status = RFM_OK;
    for (first = 0; first < s->n && status == RFM_OK; first += count) {
        rfm_cmat rows = x;
        count = min_size(s->batch, s->n - first);
        rows.at += first * x.stride, rows.rows = count;
        status = rfm_predict(&s->desk.room.ctx, &s->model, rows, rfm_view(s->g, count, s->c));
        for (i = 0; status == RFM_OK && i < count; i++)
            for (k = 0; k < s->c; k++) {
                rfm_real target = y.at[(first + i) * y.stride + k] / s->unit;
                rfm_real diff = s->g[i * s->c + k] / s->unit - target;
                error += diff * diff, zero += target * target;
            }
    }
    return status != RFM_OK ? status : error <= zero ? RFM_OK : RFM_ECONVERGE;
}

static rfm_real largest_in(rfm_cmat a) {
    rfm_real most = R(0);
    size_t i;
    for (i = 0; i < a.rows; i++) most = max_real(most, rfm_largest(a.cols, a.at + i * a.stride));
    return most;
}

static int descend(descent *s, rfm_eigenpro_report *report) {
    uint32_t state = rfm_random_start(s->o->seed);
    size_t epoch, first, bytes = s->n * s->c * sizeof *s->alpha;
    int scored = s->data->x_validation.at != NULL, status;
    memset(report, 0, sizeof *report);
    s->unit = max_real(largest_in(s->data->y), scored ? largest_in(s->data->y_validation) : R(0)), s->moved = 0;
    if (!(s->unit > R(0))) s->unit = R(1);
    status = descent_basis(s, &state);
    memset(s->alpha, 0, bytes);
    s->model.alpha = s->alpha;
    for (epoch = 1; epoch <= s->o->epochs && status == RFM_OK; epoch++) {
        rfm_real score;
        shuffle(s->n, s->order, &state);
        for (first = 0; first < s->n && status == RFM_OK; first += s->batch) {
            status = descent_step(s, first);
            if (status == RFM_OK) status = desk_tick(&s->desk, (R(epoch - 1) + R(first) / R(s->n)) / R(s->o->epochs));
        }
        report->epochs = epoch;
        if (!scored) report->best = epoch;
        if (!scored || status != RFM_OK) continue;
        status = descent_score(s, &score);
        if (status == RFM_OK && report->best == 0 && !rfm_finite(1, &score)) status = RFM_ECONVERGE;
        if (status == RFM_OK && (report->best == 0 || score < report->score)) {
            report->best = epoch, report->score = score;
            memcpy(s->best, s->alpha, bytes);
        } else if (status == RFM_OK && epoch >= report->best + 2)
            break;
    }
    report->batch = s->batch, report->directions = s->q;
    if (scored && status == RFM_OK) memcpy(s->alpha, s->best, bytes);
    if (status == RFM_OK) status = descent_check(s);
    /* Scores of zeros fitted into the number type: it was the descent that took them out of it. */
    if (status == RFM_ERANGE && s->moved) status = RFM_ECONVERGE;
    if (status != RFM_OK) return status;
    report->score *= s->unit, report->score *= s->unit;
    return rfm_finite(1, &report->score) ? RFM_OK : RFM_ERANGE;
}

int rfm_eigenpro(const rfm_ctx *ctx, const rfm_data *data, const rfm_model *model, const rfm_eigenpro_options *options,
                 rfm_mat alpha, rfm_eigenpro_report *report) {
    rfm_eigenpro_report own;
    descent s;
    size_t used, i;
    int status = ctx == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = descent_start(ctx, data, model, options, &s);
    if (status == RFM_OK) status = check_alpha(model, alpha);
    if (status != RFM_OK) return status;
    if (!finite_view(data->x) || !finite_view(data->y)) return RFM_EFINITE;
    if (data->x_validation.at != NULL && (!finite_view(data->x_validation) || !finite_view(data->y_validation)))
        return RFM_EFINITE;
    used = ctx->arena->used;
    status = descent_layout(ctx->arena, &s);
    if (status != RFM_OK) return leave(ctx->arena, used, status);
    desk_start(&s.desk);
    status = descend(&s, report != NULL ? report : &own);
    for (i = 0; status == RFM_OK && i < s.n; i++)
        memcpy(alpha.at + i * alpha.stride, s.alpha + i * s.c, s.c * sizeof *s.alpha);
    return leave(ctx->arena, used, status);
}

#endif /* RFM_NO_TRAIN */

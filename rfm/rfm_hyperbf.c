/* rfm_hyperbf - see rfm_hyperbf.h
 *
 * Contents: 1 arguments, 2 rows, 3 loss and gradient, 4 least squares, 5 start, 6 descent.
 *
 * With X the rows less the shift, (m, d), Z = X W' (m, r), S the distances of rows and centres, Phi = phi(S) (m, n):
 *   F = Phi alpha + offset,  E = dH/dF (m, c),  A = (E alpha') o w(S),  w(s) = -phi'(s) / s,
 *   dH/dalpha = Phi'E + 2 ridge alpha,  dH/doffset = E'1,
 *   dH/dZ = A U - diag(A 1) Z,  dH/dU = A'Z - diag(A'1) U,  dH/dW = (dH/dZ)'X,
 *   dH/dlog L = <A, S o S>, because w(s) s^2 is the derivative of phi by log L.
 * Centres in the space of the inputs, U = T W' with T less the shift, add (dH/dU)'T to dH/dW, and dH/dT = dH/dU W.
 * All of this depends on differences Z_i - U_a only. Where these are small beside Z and U, products lose them, and sums
 * over pairs take their place.
 */
#include "rfm_hyperbf.h"

#ifndef RFM_NO_TRAIN

#define RFM_DESCENT
#include "rfm_private.h"
#include "rfm_small.h"

#include <math.h>
#include <string.h>

#define NORM_MOST     (RFM_LIMIT(MAX) / R(8)) /* what rfm_kernel_row takes */
#define BLOCK_ROWS    256
#define WORTH_SHARING 4194304   /* multiply-adds of a product, below which one thread is faster than several */
#define FAR_FROM_ZERO R(16)     /* |Z| or |U| in units of L, above which pairs take the place of products */
#define NEAR          R(0.0625) /* distances in units of L below which they do */

/* ==== 1. Arguments ============================================================================ */

static int kernel_right(int kernel, rfm_real exponent) {
    if (!between(0, kernel, RFM_KERNELS - 1) || rfm_kernels[kernel].norm != 2 || rfm_kernels[kernel].layers) return 0;
    return rfm_kernels[kernel].exponent != R(0) || (exponent > R(0) && exponent <= rfm_kernels[kernel].most);
}

/* f as a model of the same arrays. */
static rfm_model as_model(const rfm_hyperbf *f) {
    rfm_model m;
    memset(&m, 0, sizeof m);
    m.n = f->n, m.d = f->d, m.c = f->c, m.r = f->r;
    m.kernel = f->kernel, m.metric = RFM_FULL, m.task = RFM_REGRESS;
    m.bandwidth = f->bandwidth, m.exponent = f->exponent;
    m.shift = f->shift, m.p = f->p, m.centers = f->centers, m.alpha = f->alpha, m.offset = f->offset;
    return m;
}

/* Everything but the numbers in the arrays. */
static int check_shapes(const rfm_hyperbf *f) {
    rfm_model m;
    rfm_ctx ctx;
    size_t bytes;
    int status;
    if (f == NULL) return RFM_ENULL;
    m = as_model(f);
    memset(&ctx, 0, sizeof ctx);
    status = rfm_predict_need(&ctx, &m, 1, &bytes);
    if (status != RFM_OK) return status;
    return f->r <= f->d && kernel_right(f->kernel, f->exponent) ? RFM_OK : RFM_EVALUE;
}

static int check_numbers(const rfm_hyperbf *f) {
    size_t a, k;
    if (!rfm_finite(f->d, f->shift) || !rfm_finite(f->n * f->c, f->alpha) || !rfm_finite(f->r * f->d, f->p))
        return RFM_EFINITE;
    if (!rfm_finite(f->inputs != NULL ? f->n * f->d : f->n * f->r, f->inputs != NULL ? f->inputs : f->centers))
        return RFM_EFINITE;
    if (f->offset != NULL && !rfm_finite(f->c, f->offset)) return RFM_EFINITE;
    for (a = 0; f->labels != NULL && a < f->n; a++) {
        if (f->labels[a] >= f->c) return RFM_EVALUE;
        for (k = 0; k < f->c; k++)
            if (k != f->labels[a] && f->alpha[a * f->c + k] != R(0)) return RFM_EVALUE;
    }
    return RFM_OK;
}

static int check_rows(const rfm_data *data) {
    int status = data == NULL ? RFM_ENULL : check_view(data->x);
    if (status == RFM_OK) status = check_view(data->y);
    if (status != RFM_OK) return status;
    return data->x.rows == data->y.rows ? RFM_OK : RFM_ESHAPE;
}

/* *sum: of the weights. */
static int check_row_numbers(const rfm_data *data, rfm_real *sum) {
    size_t i;
    *sum = R(0);
    if (!finite_view(data->x) || !finite_view(data->y)) return RFM_EFINITE;
    if (data->weights != NULL && !rfm_finite(data->x.rows, data->weights)) return RFM_EFINITE;
    for (i = 0; i < data->x.rows; i++) {
        if (data->weights != NULL && data->weights[i] < R(0)) return RFM_EVALUE;
        *sum += data->weights != NULL ? data->weights[i] : R(1);
    }
    if (!rfm_finite(1, sum)) return RFM_ERANGE;
    return *sum > R(0) ? RFM_OK : RFM_EVALUE;
}

static int cost_right(const rfm_hyperbf_cost *cost) {
    return between(RFM_HYPERBF_SQUARED, cost->kind, RFM_HYPERBF_ENTROPY) && cost->temperature > R(0) &&
           cost->ridge >= R(0) && rfm_finite(1, &cost->temperature) && rfm_finite(1, &cost->ridge);
}

#define SPANS 16
static void add_function(span *list, size_t *count, const rfm_hyperbf *f, int written) {
    add_span(list, count, f->shift, f->d, 0);
    add_span(list, count, f->alpha, f->n * f->c, written);
    add_span(list, count, f->centers, f->n * f->r, written);
    add_span(list, count, f->inputs, f->n * f->d, written);
    add_span(list, count, f->p, f->r * f->d, written);
    add_span(list, count, f->offset, f->c, written);
}

static void add_data(span *list, size_t *count, const rfm_data *data) {
    add_span(list, count, data->x.at, view_reals(data->x), 0);
    add_span(list, count, data->y.at, view_reals(data->y), 0);
    add_span(list, count, data->weights, data->x.rows, 0);
}

static rfm_real *keep(rfm_arena *store, size_t rows, size_t cols, const rfm_real *from) {
    rfm_real *to = rfm_arena_reals(store, rows, cols);
    if (to != NULL) memcpy(to, from, rows * cols * sizeof *to);
    return to;
}

/* The model on copies of the arrays. */
static rfm_model keep_model(rfm_arena *store, const rfm_hyperbf *f) {
    rfm_model m = as_model(f);
    m.shift = keep(store, 1, f->d, f->shift);
    m.p = keep(store, f->r, f->d, f->p);
    m.centers = keep(store, f->n, f->r, f->centers);
    m.alpha = keep(store, f->n, f->c, f->alpha);
    if (f->offset != NULL) m.offset = keep(store, 1, f->c, f->offset);
    return m;
}

int rfm_hyperbf_model(const rfm_hyperbf *f, rfm_arena *store, rfm_model *model) {
    size_t used;
    rfm_model m;
    int status = store == NULL || model == NULL ? RFM_ENULL : check_shapes(f);
    if (status == RFM_OK) status = store->status;
    if (status == RFM_OK && store->base == NULL) status = RFM_EARENA;
    if (status == RFM_OK) status = check_numbers(f);
    if (status == RFM_OK && !rfm_finite(f->n * f->r, f->centers)) status = RFM_EFINITE;
    if (status != RFM_OK) return status;
    used = store->used;
    m = keep_model(store, f);
    status = store->status;
    if (status == RFM_OK)
        *model = m;
    else {
        store->status = RFM_OK;
        rfm_arena_release(store, used);
    }
    return status;
}

int rfm_hyperbf_model_need(const rfm_hyperbf *f, size_t *store) {
    rfm_arena measure;
    int status = store == NULL ? RFM_ENULL : check_shapes(f);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    (void)keep_model(&measure, f);
    if (measure.status == RFM_OK) *store = measure.peak;
    return measure.status;
}

/* ==== 2. Rows ====================================================================================
 *
 * What a batch is made of: the rows of the data, then `drawn` more that are made of two of them, or of one and noise.
 * Those are kept as recipes, and made again whenever they are used.
 */

typedef struct {
    const rfm_data *data;
    size_t n, d, c, drawn;
    rfm_real weight_scale;   /* makes the mean weight 1 */
    const rfm_real *targets; /* (n, c); NULL: data->y */
    rfm_real noise;
    rfm_real *spread;        /* (d) standard deviations */
    uint32_t *pairs;         /* (drawn, 3) i, j, and the state of the noise, 0: none */
    rfm_real *parts;         /* (drawn) the share of i */
    rfm_real *drawn_targets; /* (drawn, c) */
} source;

/* Nearly normal, variance 1: four bytes of one random number, added up. */
static rfm_real random_normal(uint32_t *state) {
    uint32_t u = rfm_random(state), sum = (u & 255) + (u >> 8 & 255) + (u >> 16 & 255) + (u >> 24);
    return (R(sum) - R(510)) * R(0.0067658);
}

static rfm_real weight_at(const source *s, size_t i) {
    return s->data->weights != NULL ? s->data->weights[i] * s->weight_scale : R(1);
}

/* Row `index`, less the shift (NULL: as it is), and its weight. */
static rfm_real make_row(const source *s, size_t index, const rfm_real *shift, rfm_real *x) {
    rfm_real weight;
    size_t j;
    if (index < s->n) {
        memcpy(x, row_at(s->data->x, index), s->d * sizeof *x);
        weight = weight_at(s, index);
    } else {
        const uint32_t *pair = s->pairs + 3 * (index - s->n);
        const rfm_real *a = row_at(s->data->x, pair[0]), *b = row_at(s->data->x, pair[1]);
        const rfm_real part = s->parts[index - s->n], rest = R(1) - part;
        uint32_t state = pair[2];
        for (j = 0; j < s->d; j++) x[j] = part * a[j] + rest * b[j];
        for (j = 0; state != 0 && j < s->d; j++) x[j] += s->noise * s->spread[j] * random_normal(&state);
        weight = part * weight_at(s, pair[0]) + rest * weight_at(s, pair[1]);
    }
    for (j = 0; shift != NULL && j < s->d; j++) x[j] -= shift[j];
    return weight;
}

static void make_target(const source *s, size_t index, rfm_real *y) {
    const rfm_real *from = index >= s->n        ? s->drawn_targets + (index - s->n) * s->c
                           : s->targets != NULL ? s->targets + index * s->c
                                                : row_at(s->data->y, index);
    memcpy(y, from, s->c * sizeof *y);
}

/* The mean and the standard deviation of every input. mean may be NULL, but not with rows to be spread around it. */
static void measure_inputs(rfm_cmat x, rfm_real *mean, rfm_real *spread) {
    size_t i, j;
    for (j = 0; j < x.cols; j++) {
        rfm_real sum = R(0), square = R(0), first = x.at[j], most = R(0);
        for (i = 0; i < x.rows; i++) {
            rfm_real off = x.at[i * x.stride + j] - first;
            sum += off / R(x.rows);
            most = max_real(most, RFM_MATH(fabs)(off));
        }
        for (i = 0; most > R(0) && i < x.rows; i++) {
            rfm_real off = (x.at[i * x.stride + j] - first - sum) / most;
            square += off * off;
        }
        if (mean != NULL) mean[j] = first + sum;
        spread[j] = most * RFM_MATH(sqrt)(square / R(x.rows));
    }
}

/* ==== 3. Loss and gradient ==================================================================== */

/* The arrays that move. */
enum { ALPHA, CENTERS, P, OFFSET, BANDWIDTH, ARRAYS };

typedef struct {
    rfm_real *at[ARRAYS]; /* CENTERS: of the inputs, if those are the parameters; BANDWIDTH: of log L */
} arrays;

static void sizes_of(const rfm_hyperbf *f, size_t *sizes) {
    sizes[ALPHA] = f->n * f->c;
    sizes[CENTERS] = f->n * (f->inputs != NULL ? f->d : f->r);
    sizes[P] = f->r * f->d;
    sizes[OFFSET] = f->offset != NULL ? f->c : 0;
    sizes[BANDWIDTH] = 1;
}

static void take_arrays(rfm_arena *arena, const rfm_hyperbf *f, arrays *a) {
    a->at[ALPHA] = rfm_arena_reals(arena, f->n, f->c);
    a->at[CENTERS] = rfm_arena_reals(arena, f->n, f->inputs != NULL ? f->d : f->r);
    a->at[P] = rfm_arena_reals(arena, f->r, f->d);
    a->at[OFFSET] = rfm_arena_reals(arena, 1, f->offset != NULL ? f->c : 0);
    a->at[BANDWIDTH] = rfm_arena_reals(arena, 1, 1);
}

/* Room for one block of rows. */
typedef struct {
    size_t n, d, c, r, b;      /* b rows at most */
    rfm_real *x, *y, *weights; /* (b, d) less the shift, (b, c), (b) */
    rfm_real *z, *dz;          /* (b, r) */
    rfm_real *phi;             /* (b, n + 1): the last column is for least squares */
    rfm_real *w, *q;           /* (b, n) */
    rfm_real *e;               /* (b, c) f, then dH/df */
    rfm_real *alpha, unit;     /* (n, c) alpha in units of a power of two near its largest, so that e alpha' is as e */
    rfm_real *norms;           /* (n) |u_a|^2 */
    rfm_real *placed;          /* (n, r) and */
    rfm_real *t;               /* (n, d), where centres are inputs: u_a, t_a - shift */
    rfm_real *du, *pulled;     /* (n, r) dH/dU, and what a block adds to it, likewise */
    rfm_real *own;             /* (3, n) prototypes: of each centre the one alpha, dH by it, E of its output */
    const rfm_real *u;         /* (n, r) */
    int far;                   /* a row of the block, or a centre, is far from 0 */
    call_room inner;           /* for the calls of rfm_small.h, too */
    rfm_ctx products;          /* for a block of rows: alone, where handing out work would cost more than the work */
} pass;

static void pass_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_hyperbf *f, size_t rows, pass *s) {
    size_t n = f->n, d = f->d, c = f->c, r = f->r, b = min_size(rows, BLOCK_ROWS);
    int placed = f->inputs != NULL;
    memset(s, 0, sizeof *s);
    s->n = n, s->d = d, s->c = c, s->r = r, s->b = b;
    s->x = rfm_arena_reals(arena, b, d);
    s->y = rfm_arena_reals(arena, b, c);
    s->weights = rfm_arena_reals(arena, 1, b);
    s->z = rfm_arena_reals(arena, b, r);
    s->dz = rfm_arena_reals(arena, b, r);
    s->phi = rfm_arena_reals(arena, b, n + 1);
    s->w = rfm_arena_reals(arena, b, n);
    s->q = rfm_arena_reals(arena, b, n);
    s->e = rfm_arena_reals(arena, b, c);
    s->alpha = rfm_arena_reals(arena, n, c);
    s->norms = rfm_arena_reals(arena, 1, n);
    s->placed = rfm_arena_reals(arena, placed ? n : 0, r);
    s->t = rfm_arena_reals(arena, placed ? n : 0, d);
    s->du = rfm_arena_reals(arena, placed ? n : 0, r);
    s->pulled = rfm_arena_reals(arena, placed ? n : 0, r);
    s->own = rfm_arena_reals(arena, f->labels != NULL ? 3 : 0, n);
    room_product(&s->inner, ctx, b, r, d); /* Z */
    room_product(&s->inner, ctx, b, n, r); /* Z U' */
    room_product(&s->inner, ctx, b, c, n); /* F */
    room_product(&s->inner, ctx, n, c, b); /* dalpha */
    room_product(&s->inner, ctx, b, n, c); /* E alpha' */
    room_product(&s->inner, ctx, b, r, n); /* A U */
    room_product(&s->inner, ctx, n, r, b); /* A'Z */
    room_product(&s->inner, ctx, r, d, b); /* dW */
    if (!placed) return;
    room_product(&s->inner, ctx, n, r, d); /* U */
    room_product(&s->inner, ctx, n, d, r); /* dT */
    room_product(&s->inner, ctx, r, d, n); /* dW */
}

static void inner_start(const rfm_ctx *ctx, pass *s) {
    room_start(ctx, &s->inner);
    s->products = s->inner.ctx;
    if (s->r * max_size(s->n, s->d) < WORTH_SHARING / s->b) s->products.run = NULL;
}

static int multiply(pass *s, int op, rfm_real alpha, rfm_cmat a, rfm_cmat b, rfm_real beta, rfm_mat c) {
    return in_range(rfm_gemm(&s->products, op, alpha, a, b, beta, c));
}

static rfm_cmat phi_view(const pass *s, size_t rows, size_t cols) {
    rfm_cmat v = rfm_cview(s->phi, rows, cols);
    v.stride = s->n + 1;
    return v;
}

static int set_norms(size_t rows, size_t cols, const rfm_real *x, rfm_real *norms) {
    size_t i, j;
    for (i = 0; i < rows; i++) {
        norms[i] = R(0);
        for (j = 0; j < cols; j++) norms[i] += x[i * cols + j] * x[i * cols + j];
        if (!(norms[i] <= NORM_MOST)) return RFM_ERANGE;
    }
    return RFM_OK;
}

static void set_alpha(pass *s, const rfm_hyperbf *f) {
    rfm_real inverse;
    size_t i;
    int e = 0;
    (void)RFM_MATH(frexp)(rfm_largest(s->n * s->c, f->alpha), &e);
    if (e < RFM_LIMIT(MIN_EXP)) e = RFM_LIMIT(MIN_EXP); /* 2^e and 2^-e are normal numbers */
    if (e > RFM_LIMIT(MAX_EXP) - 2) e = RFM_LIMIT(MAX_EXP) - 2;
    s->unit = RFM_MATH(ldexp)(R(1), e), inverse = RFM_MATH(ldexp)(R(1), -e);
    for (i = 0; i < s->n * s->c; i++) s->alpha[i] = f->alpha[i] * inverse;
    for (i = 0; f->labels != NULL && i < s->n; i++) {
        s->own[i] = s->alpha[i * s->c + f->labels[i]];
        s->own[s->n + i] = R(0);
    }
}

/* U and its norms; the gradient, if there shall be one, is 0 before the first row. */
static int pass_begin(pass *s, const rfm_hyperbf *f, const arrays *g) {
    size_t sizes[ARRAYS], a, j;
    int status = RFM_OK, k;
    s->u = f->centers;
    if (f->inputs != NULL) {
        for (a = 0; a < s->n; a++)
            for (j = 0; j < s->d; j++) s->t[a * s->d + j] = f->inputs[a * s->d + j] - f->shift[j];
        status = multiply(s, RFM_NT, R(1), rfm_cview(s->t, s->n, s->d), rfm_cview(f->p, s->r, s->d), R(0),
                          rfm_view(s->placed, s->n, s->r));
        s->u = s->placed;
    }
    if (status == RFM_OK) status = set_norms(s->n, s->r, s->u, s->norms);
    sizes_of(f, sizes);
    for (k = 0; g != NULL && k < ARRAYS; k++) memset(g->at[k], 0, sizes[k] * sizeof *g->at[k]);
    if (g != NULL && f->inputs != NULL) memset(s->du, 0, s->n * s->r * sizeof *s->du);
    if (g != NULL) set_alpha(s, f);
    return status;
}

/* Phi of `count` rows in s->x, and the weights w if asked for. */
static int set_phi(pass *s, const rfm_hyperbf *f, size_t count, int weights) {
    rfm_mat phi = rfm_view(s->phi, count, s->n);
    rfm_real inverse = R(1) / f->bandwidth, far = FAR_FROM_ZERO * f->bandwidth, most = R(0);
    size_t i;
    int status;
    phi.stride = s->n + 1;
    status = multiply(s, RFM_NT, R(1), rfm_cview(s->x, count, s->d), rfm_cview(f->p, s->r, s->d), R(0),
                      rfm_view(s->z, count, s->r));
    if (status == RFM_OK)
        status = multiply(s, RFM_NT, R(-2), rfm_cview(s->z, count, s->r), rfm_cview(s->u, s->n, s->r), R(0), phi);
    for (i = 0; status == RFM_OK && i < count; i++) {
        rfm_real norm = R(0);
        status = set_norms(1, s->r, s->z + i * s->r, &norm);
        if (status == RFM_OK)
            rfm_kernel_row(s->inner.ctx.port, f->kernel, f->exponent, inverse, s->n, s->r, s->z + i * s->r, norm, s->u,
                           s->norms, s->phi + i * (s->n + 1), weights ? s->w + i * s->n : NULL);
        most = max_real(most, norm);
    }
    for (i = 0; i < s->n; i++) most = max_real(most, s->norms[i]);
    s->far = RFM_MATH(sqrt)(most) > far;
    return status;
}

/* In four chains: one would wait for every addition. */
static rfm_real sum_of(size_t n, const rfm_real *x) {
    rfm_real sums[4] = {R(0), R(0), R(0), R(0)};
    size_t i, k;
    for (i = 0; i + 4 <= n; i += 4)
        for (k = 0; k < 4; k++) sums[k] += x[i + k];
    for (k = 0; i + k < n; k++) sums[k] += x[i + k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Adds one pair to dz and du, and returns A_ia s_ia^2; where centres are inputs also
 * dW += A_ia (u_a - z_i)(x_i - t_a)'. */
static rfm_real pull_pair(pass *s, rfm_real weight, size_t i, size_t a, rfm_real *du, rfm_real *dw) {
    rfm_real square = R(0);
    size_t q, j;
    for (q = 0; q < s->r; q++) {
        rfm_real off = s->u[a * s->r + q] - s->z[i * s->r + q], pull = weight * off;
        s->dz[i * s->r + q] += pull;
        du[a * s->r + q] -= pull;
        square += off * off;
        for (j = 0; dw != NULL && j < s->d; j++) dw[q * s->d + j] += pull * (s->x[i * s->d + j] - s->t[a * s->d + j]);
    }
    return weight * square;
}

/* Takes pairs with phi > near out of A: their weights go to phi, which has been used up and is 0 elsewhere. Returns how
 * many there are. */
static size_t part_near(pass *s, size_t count, rfm_real near) {
    size_t i, a, found = 0;
    for (i = 0; i < count; i++) {
        rfm_real *phi = s->phi + i * (s->n + 1), *w = s->w + i * s->n;
        for (a = 0; a < s->n; a++) {
            const int is_near = phi[a] > near;
            phi[a] = is_near ? w[a] : R(0);
            w[a] = is_near ? R(0) : w[a];
            found += (size_t)is_near;
        }
    }
    return found;
}

/* dz = A U - diag(A 1) Z, du += A'Z - diag(A'1) U; *spread += <A, S o S>, S o S being |Z|^2 + |U|^2 - 2 Z U'. That has
 * no digits left where s is small, and there w may be large: such pairs are added one by one. */
static int pull_products(pass *s, size_t count, rfm_real near, rfm_real *du, rfm_real *spread) {
    const rfm_cmat a = rfm_cview(s->w, count, s->n), z = rfm_cview(s->z, count, s->r), u = rfm_cview(s->u, s->n, s->r);
    const size_t close = part_near(s, count, near);
    rfm_real *column = s->q; /* the first row of what has been used up */
    size_t i, j;
    int status = multiply(s, RFM_TN, R(1), a, z, R(1), rfm_view(du, s->n, s->r));
    if (status == RFM_OK) status = multiply(s, RFM_NN, R(1), a, u, R(0), rfm_view(s->dz, count, s->r));
    memset(column, 0, s->n * sizeof *column);
    for (i = 0; i < count; i++) {
        const rfm_real *row = s->w + i * s->n, sum = sum_of(s->n, row);
        rfm_real squares = R(0);
        for (j = 0; j < s->n; j++) column[j] += row[j];
        for (j = 0; j < s->r; j++) {
            rfm_real at = s->z[i * s->r + j], pull = s->dz[i * s->r + j];
            squares += at * (sum * at - R(2) * pull);
            s->dz[i * s->r + j] = pull - sum * at;
        }
        *spread += squares;
    }
    for (i = 0; i < s->n; i++) {
        *spread += column[i] * s->norms[i];
        for (j = 0; j < s->r; j++) du[i * s->r + j] -= column[i] * s->u[i * s->r + j];
    }
    for (i = 0; close > 0 && i < count; i++)
        for (j = 0; j < s->n; j++) {
            const rfm_real weight = s->phi[i * (s->n + 1) + j];
            if (weight != R(0)) *spread += pull_pair(s, weight, i, j, du, NULL);
        }
    return status;
}

/* The same pair by pair. */
static void pull_pairs(pass *s, size_t count, rfm_real *du, rfm_real *spread, rfm_real *dw) {
    size_t i, a;
    memset(s->dz, 0, count * s->r * sizeof *s->dz);
    for (i = 0; i < count; i++)
        for (a = 0; a < s->n; a++) {
            const rfm_real weight = s->w[i * s->n + a];
            if (weight != R(0)) *spread += pull_pair(s, weight, i, a, du, dw);
        }
}

/* What A = (E alpha') o w, which is in w, adds to the gradient by centres, W and log L. */
static int pass_pull(pass *s, const rfm_hyperbf *f, size_t count, const arrays *g) {
    const int placed = f->inputs != NULL;
    const rfm_mat dw = rfm_view(g->at[P], s->r, s->d);
    rfm_real *du = placed ? s->pulled : g->at[CENTERS];
    size_t i;
    int status = RFM_OK;
    if (placed) memset(du, 0, s->n * s->r * sizeof *du);
    if (s->far)
        pull_pairs(s, count, du, g->at[BANDWIDTH], placed ? dw.at : NULL);
    else
        status =
            pull_products(s, count, rfm_phi(f->kernel, f->exponent, R(1), NEAR * NEAR, NULL), du, g->at[BANDWIDTH]);
    if (status == RFM_OK && !(placed && s->far))
        status = multiply(s, RFM_TN, R(1), rfm_cview(s->dz, count, s->r), rfm_cview(s->x, count, s->d), R(1), dw);
    if (status == RFM_OK && placed && !s->far)
        status = multiply(s, RFM_TN, R(1), rfm_cview(du, s->n, s->r), rfm_cview(s->t, s->n, s->d), R(1), dw);
    for (i = 0; placed && i < s->n * s->r; i++) s->du[i] += du[i];
    return status;
}

/* dH/dalpha, and A in w, by products. */
static int pass_weights(pass *s, size_t count, const arrays *g) {
    const rfm_cmat alpha = rfm_cview(s->alpha, s->n, s->c), e = rfm_cview(s->e, count, s->c);
    size_t i;
    int status = multiply(s, RFM_TN, R(1), phi_view(s, count, s->n), e, R(1), rfm_view(g->at[ALPHA], s->n, s->c));
    if (status == RFM_OK) status = multiply(s, RFM_NT, R(1), e, alpha, R(0), rfm_view(s->q, count, s->n));
    for (i = 0; status == RFM_OK && i < count * s->n; i++) s->w[i] *= s->q[i];
    return status;
}

/* The same for prototypes: one output of E for each centre. */
static void pass_prototypes(pass *s, const uint32_t *labels, size_t count) {
    rfm_real *alpha = s->own, *dalpha = s->own + s->n, *told = s->own + 2 * s->n;
    size_t i, a;
    for (i = 0; i < count; i++) {
        const rfm_real *phi = s->phi + i * (s->n + 1), *e = s->e + i * s->c;
        rfm_real *w = s->w + i * s->n;
        for (a = 0; a < s->n; a++) told[a] = e[labels[a]];
        for (a = 0; a < s->n; a++) dalpha[a] += phi[a] * told[a];
        for (a = 0; a < s->n; a++) w[a] *= told[a] * alpha[a];
    }
}

/* Adds `count` rows (s->x, y, weights) to *loss and to the gradient, both times `scale`. */
static int pass_rows(pass *s, const rfm_hyperbf *f, const rfm_hyperbf_cost *cost, size_t count, rfm_real scale,
                     rfm_real *loss, const arrays *g) {
    const rfm_cmat alpha = rfm_cview(f->alpha, s->n, s->c);
    rfm_real sum = R(0);
    size_t i, k;
    int status = set_phi(s, f, count, g != NULL);
    if (status == RFM_OK)
        status = multiply(s, RFM_NN, R(1), phi_view(s, count, s->n), alpha, R(0), rfm_view(s->e, count, s->c));
    if (status != RFM_OK) return status;
    for (i = 0; i < count; i++) {
        rfm_real *row = s->e + i * s->c, factor = s->weights[i] * scale;
        for (k = 0; f->offset != NULL && k < s->c; k++) row[k] += f->offset[k];
        sum += factor * row_loss(cost->kind, cost->temperature, s->c, s->y + i * s->c, row);
        for (k = 0; k < s->c; k++) row[k] *= factor;
    }
    *loss += sum;
    if (!rfm_finite(1, loss)) return RFM_ERANGE;
    if (g == NULL) return RFM_OK;
    for (i = 0; f->offset != NULL && i < count; i++)
        for (k = 0; k < s->c; k++) g->at[OFFSET][k] += s->e[i * s->c + k];
    if (f->labels != NULL)
        pass_prototypes(s, f->labels, count);
    else
        status = pass_weights(s, count, g);
    return status == RFM_OK ? pass_pull(s, f, count, g) : status;
}

/* After the last row: the ridge, and what follows for centres that are inputs. */
static int pass_end(pass *s, const rfm_hyperbf *f, rfm_real ridge, rfm_real *loss, const arrays *g) {
    size_t sizes[ARRAYS], i, k;
    int status = RFM_OK;
    for (i = 0; i < s->n * s->c; i++) *loss += ridge * f->alpha[i] * f->alpha[i];
    if (!rfm_finite(1, loss)) return RFM_ERANGE;
    if (g == NULL) return RFM_OK;
    for (i = 0; i < s->n; i++)
        for (k = 0; k < s->c; k++) {
            rfm_real *at = g->at[ALPHA] + i * s->c + k;
            if (f->labels != NULL) *at = f->labels[i] == k ? s->own[s->n + i] : R(0);
            *at += R(2) * ridge * f->alpha[i * s->c + k]; /* alpha of the other outputs is 0 */
        }
    if (f->inputs != NULL)
        status = multiply(s, RFM_NN, R(1), rfm_cview(s->du, s->n, s->r), rfm_cview(f->p, s->r, s->d), R(0),
                          rfm_view(g->at[CENTERS], s->n, s->d));
    sizes_of(f, sizes);
    for (i = 0; i < sizes[CENTERS]; i++) g->at[CENTERS][i] *= s->unit;
    for (i = 0; i < sizes[P]; i++) g->at[P][i] *= s->unit;
    for (i = 0; f->inputs != NULL && i < s->n * s->r; i++) s->du[i] *= s->unit;
    g->at[BANDWIDTH][0] *= s->unit;
    for (k = 0; k < ARRAYS && status == RFM_OK; k++)
        if (!rfm_finite(sizes[k], g->at[k])) status = RFM_ERANGE;
    if (status == RFM_OK && f->inputs != NULL && !rfm_finite(s->n * s->r, s->du)) status = RFM_ERANGE;
    return status;
}

void rfm_hyperbf_cost_init(rfm_hyperbf_cost *cost) {
    cost->kind = RFM_HYPERBF_SQUARED;
    cost->temperature = R(1), cost->ridge = R(0);
}

static int loss_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_hyperbf *f, size_t rows, pass *s, arrays *g) {
    pass_layout(arena, ctx, f, rows, s);
    take_arrays(arena, f, g);
    (void)room_layout(arena, &s->inner);
    return arena->status;
}

int rfm_hyperbf_loss_need(const rfm_ctx *ctx, const rfm_hyperbf *f, size_t rows, size_t *bytes) {
    rfm_arena measure;
    arrays g;
    pass s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_shapes(f);
    if (status == RFM_OK && rows == 0) status = RFM_EZERO;
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = loss_layout(&measure, ctx, f, rows, &s, &g);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

/* Blocks of rows first.. of the source into the pass. */
static void load_rows(pass *s, const source *from, const rfm_real *shift, size_t first, size_t count) {
    size_t i;
    for (i = 0; i < count; i++) {
        s->weights[i] = make_row(from, first + i, shift, s->x + i * s->d);
        make_target(from, first + i, s->y + i * s->c);
    }
}

/* H times scale over the rows of the data. */
static int whole_loss(pass *s, const rfm_hyperbf *f, const rfm_hyperbf_cost *cost, const source *from, rfm_real scale,
                      rfm_real *loss, const arrays *g) {
    size_t first, count;
    int status = pass_begin(s, f, g);
    *loss = R(0);
    for (first = 0; status == RFM_OK && first < from->n; first += count) {
        count = min_size(s->b, from->n - first);
        load_rows(s, from, f->shift, first, count);
        status = pass_rows(s, f, cost, count, scale, loss, g);
    }
    return status == RFM_OK ? pass_end(s, f, cost->ridge * scale, loss, g) : status;
}

static void plain_source(const rfm_data *data, rfm_real weight_scale, source *from) {
    memset(from, 0, sizeof *from);
    from->data = data, from->n = data->x.rows, from->d = data->x.cols, from->c = data->y.cols;
    from->weight_scale = weight_scale;
}

static int check_loss(const rfm_hyperbf *f, const rfm_data *data, const rfm_hyperbf_cost *cost,
                      const rfm_hyperbf_gradient *g) {
    span list[SPANS];
    rfm_real sum;
    size_t count = 0;
    int status = cost == NULL ? RFM_ENULL : check_shapes(f);
    if (status == RFM_OK) status = check_rows(data);
    if (status != RFM_OK) return status;
    if (data->x.cols != f->d || data->y.cols != f->c) return RFM_ESHAPE;
    if (g != NULL && ((g->inputs != NULL && f->inputs == NULL) || (g->offset != NULL && f->offset == NULL)))
        return RFM_ENULL;
    add_function(list, &count, f, 0);
    add_data(list, &count, data);
    if (g != NULL) {
        add_span(list, &count, g->alpha, f->n * f->c, 1);
        add_span(list, &count, g->centers, f->n * f->r, 1);
        add_span(list, &count, g->inputs, f->n * f->d, 1);
        add_span(list, &count, g->p, f->r * f->d, 1);
        add_span(list, &count, g->offset, f->c, 1);
    }
    if (spans_overlap(list, count)) return RFM_EALIAS;
    if (!cost_right(cost)) return RFM_EVALUE;
    status = check_numbers(f);
    if (status == RFM_OK) status = check_row_numbers(data, &sum);
    if (status == RFM_OK && !targets_right(cost->kind, data->y)) status = RFM_EVALUE;
    return status;
}

static void copy_out(rfm_real *to, const rfm_real *from, size_t n) {
    if (to != NULL) memcpy(to, from, n * sizeof *to);
}

int rfm_hyperbf_loss(const rfm_ctx *ctx, const rfm_hyperbf *f, const rfm_data *data, const rfm_hyperbf_cost *cost,
                     rfm_real *loss, rfm_hyperbf_gradient *gradient) {
    size_t used;
    rfm_real sum = R(0);
    source from;
    arrays g;
    pass s;
    int status = ctx == NULL || loss == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_loss(f, data, cost, gradient);
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    status = loss_layout(ctx->arena, ctx, f, data->x.rows, &s, &g);
    if (status == RFM_OK) {
        inner_start(ctx, &s);
        plain_source(data, R(1), &from);
        status = whole_loss(&s, f, cost, &from, R(1), &sum, gradient != NULL ? &g : NULL);
    }
    if (status == RFM_OK) {
        *loss = sum;
        if (gradient != NULL) {
            copy_out(gradient->alpha, g.at[ALPHA], f->n * f->c);
            copy_out(gradient->centers, f->inputs != NULL ? s.du : g.at[CENTERS], f->n * f->r);
            copy_out(gradient->inputs, g.at[CENTERS], f->n * f->d);
            copy_out(gradient->p, g.at[P], f->r * f->d);
            copy_out(gradient->offset, g.at[OFFSET], f->c);
            gradient->bandwidth = g.at[BANDWIDTH][0];
        }
    }
    ctx->arena->status = RFM_OK;
    rfm_arena_release(ctx->arena, used);
    return status;
}

/* ==== 4. Least squares ===========================================================================
 *
 * alpha and offset that minimise sum_i weight_i |y_i - offset - Phi_i alpha|^2 + ridge |alpha|^2: with Q = [Phi 1] the
 * normal equations (Q'Q + ridge) [alpha; offset] = Q'Y. Prototypes: for each output those of its own centres.
 */

typedef struct {
    size_t m;              /* centres, and 1 for the offset */
    rfm_real *gram, *work; /* (m, m) Q'Q and what is factored, on and above the diagonal */
    rfm_real *rhs, *x;     /* (m, c) Q'Y, the solution */
    uint32_t *which;       /* (m) rows of gram that belong to one output */
} squares;

static void squares_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_hyperbf *f, pass *s, squares *q) {
    size_t bytes = 0, m = f->n + (f->offset != NULL ? 1 : 0), i;
    q->m = m;
    q->gram = rfm_arena_reals(arena, m, m);
    q->work = rfm_arena_reals(arena, m, m);
    q->rhs = rfm_arena_reals(arena, m, f->c);
    q->x = rfm_arena_reals(arena, m, f->c);
    q->which = (uint32_t *)rfm_arena_take(arena, m, sizeof *q->which);
    room_for(&s->inner, rfm_syrk_need(ctx, m, s->b, &bytes), &bytes);
    room_product(&s->inner, ctx, m, f->c, s->b);
    for (i = f->labels != NULL ? 1 : m; i <= m; i++) { /* prototypes: any number of centres per output */
        room_for(&s->inner, rfm_chol_need(ctx, i, &bytes), &bytes);
        room_for(&s->inner, rfm_trsm_need(ctx, i, f->labels != NULL ? 1 : f->c, &bytes), &bytes);
    }
}

/* Q'Q and Q'Y over all rows of the source; drawn rows have `share` of the weight. */
static int squares_sums(pass *s, const rfm_hyperbf *f, const source *from, rfm_real share, squares *q) {
    const size_t total = from->n + from->drawn;
    const rfm_real scale = from->drawn > 0 ? R(1) - share : R(1);
    size_t first, count, i, k;
    int status = pass_begin(s, f, NULL);
    memset(q->gram, 0, q->m * q->m * sizeof *q->gram);
    memset(q->rhs, 0, q->m * s->c * sizeof *q->rhs);
    for (first = 0; status == RFM_OK && first < total; first += count) {
        count = min_size(s->b, total - first);
        load_rows(s, from, f->shift, first, count);
        status = set_phi(s, f, count, 0);
        for (i = 0; i < count && status == RFM_OK; i++) {
            rfm_real *row = s->phi + i * (s->n + 1);
            rfm_real root = first + i < from->n ? scale : share * R(from->n) / R(from->drawn);
            root = RFM_MATH(sqrt)(s->weights[i] * root);
            row[s->n] = R(1);
            for (k = 0; k < q->m; k++) row[k] *= root;
            for (k = 0; k < s->c; k++) s->y[i * s->c + k] *= root;
        }
        if (status == RFM_OK)
            status = in_range(
                rfm_syrk(&s->inner.ctx, RFM_TN, R(1), phi_view(s, count, q->m), R(1), rfm_view(q->gram, q->m, q->m)));
        if (status == RFM_OK)
            status = multiply(s, RFM_TN, R(1), phi_view(s, count, q->m), rfm_cview(s->y, count, s->c), R(1),
                              rfm_view(q->rhs, q->m, s->c));
    }
    return status;
}

/* The `m` rows in q->which, columns first.. of the right-hand side: q->x (m, cols). What is added to the diagonal grows
 * until the factor exists in this number type. */
static int squares_solve(pass *s, squares *q, size_t m, size_t first, size_t cols, rfm_real ridge) {
    rfm_real most = R(0), more = R(0);
    size_t i, j;
    int status;
    for (i = 0; i < m; i++) most = max_real(most, q->gram[q->which[i] * (q->m + 1)]);
    do {
        for (i = 0; i < m; i++)
            for (j = i; j < m; j++) {
                rfm_real value = q->gram[q->which[i] * q->m + q->which[j]];
                q->work[i * m + j] = i < j ? value : value + more + (q->which[i] < s->n ? ridge : R(0));
            }
        status = in_range(rfm_chol(&s->inner.ctx, rfm_view(q->work, m, m), NULL));
        more = max_real(R(10) * more, R(m) * REAL_EPS * max_real(most, ridge));
        if (status == RFM_ENOTPD && !(more > R(0) && more < R(100) * R(m) * max_real(most, ridge))) return RFM_ERANGE;
    } while (status == RFM_ENOTPD);
    for (i = 0; i < m; i++)
        for (j = 0; j < cols; j++) q->x[i * cols + j] = q->rhs[q->which[i] * s->c + first + j];
    if (status == RFM_OK)
        status = in_range(rfm_chol_solve(&s->inner.ctx, rfm_cview(q->work, m, m), rfm_view(q->x, m, cols)));
    return status;
}

/* Puts the solution into f. On failure f may be half done. */
static int solve_alpha(pass *s, rfm_hyperbf *f, const source *from, rfm_real share, rfm_real ridge, squares *q) {
    size_t outputs = f->labels != NULL ? s->c : 1, cols = f->labels != NULL ? 1 : s->c, k, i, m;
    int status = squares_sums(s, f, from, share, q);
    for (k = 0; status == RFM_OK && k < outputs; k++) {
        for (m = 0, i = 0; i < q->m; i++)
            if (f->labels == NULL || i == s->n || f->labels[i] == k) q->which[m++] = (uint32_t)i;
        if (m == 0) continue;
        status = squares_solve(s, q, m, k, cols, ridge);
        for (i = 0; status == RFM_OK && i < m; i++)
            memcpy((q->which[i] < s->n ? f->alpha + q->which[i] * s->c : f->offset) + k, q->x + i * cols,
                   cols * sizeof *q->x);
    }
    return status;
}

/* ==== 5. Start ================================================================================ */

typedef struct {
    const rfm_ctx *ctx;
    const rfm_data *data;
    const rfm_hyperbf_start_options *o;
    size_t rows, classes;
    rfm_hyperbf f; /* arrays from the store */
    size_t store_end;
    rfm_real *z, *weights; /* (rows, r) projected rows, (rows) those of one class */
    rfm_real *spread;      /* (d) */
    rfm_real *zeros, *one; /* (r), (1) */
    uint32_t *of;          /* (rows) the class of each, or the nearest centre */
    uint32_t *have, *take; /* (classes) rows that count, and centres to be made of them */
    pass s;
    squares q;
} beginning;

void rfm_hyperbf_start_init(rfm_hyperbf_start_options *o) {
    memset(o, 0, sizeof *o);
    o->centers = 10, o->rank = 4, o->choice = RFM_HYPERBF_CLASSES, o->offset = 1;
    o->kernel = RFM_GAUSSIAN, o->exponent = R(1), o->bandwidth = R(1), o->ridge = R(1e-3);
}

/* A kernel on projected rows: of it only the centres that rfm_small_centers finds are of interest. */
static void cluster_model(const beginning *g, rfm_model *m) {
    static const rfm_real somewhere = R(0); /* no array is read for a need, but NULL is refused */
    memset(m, 0, sizeof *m);
    m->n = m->c = 1, m->d = m->r = g->f.r, m->kernel = RFM_LAPLACE, m->metric = RFM_IDENTITY;
    m->exponent = m->bandwidth = R(1);
    m->shift = m->centers = g->zeros != NULL ? g->zeros : &somewhere;
    m->alpha = g->one != NULL ? g->one : &somewhere;
}

static void cluster_data(const beginning *g, rfm_data *data) {
    static const rfm_real somewhere = R(0);
    memset(data, 0, sizeof *data);
    data->x = data->y = rfm_cview(g->z != NULL ? g->z : &somewhere, g->rows, g->f.r);
    data->y.cols = 1;
    data->weights = g->weights;
}

static void cluster_how(const beginning *g, size_t centers, rfm_centers_options *how) {
    memset(how, 0, sizeof *how);
    how->centers = centers, how->method = RFM_CENTERS_KMEANS, how->ridge = R(1), how->seed = g->o->seed;
}

static void cluster_bytes(beginning *g) {
    rfm_centers_options how;
    rfm_model m;
    rfm_data data;
    size_t k;
    cluster_model(g, &m);
    cluster_data(g, &data);
    for (k = 1; k <= g->f.n; k++) {
        size_t scratch = 0, store = 0, bytes;
        int status;
        cluster_how(g, k, &how);
        status = rfm_small_centers_need(g->ctx, &m, &data, &how, &scratch, &store);
        bytes = scratch + store;
        room_for(&g->s.inner, bytes < scratch ? RFM_EOVERFLOW : status, &bytes);
    }
}

static int start_layout(rfm_arena *store, rfm_arena *arena, beginning *g) {
    const rfm_hyperbf_start_options *o = g->o;
    rfm_hyperbf *f = &g->f;
    rfm_hyperbf sized;         /* f as the layouts want it: a measuring store gives NULL, */
    rfm_real somewhere = R(0); /* but whether an array is there decides about sizes */
    uint32_t label = 0;
    size_t d = f->d, r = f->r, n = f->n, scratch = 0, kept = 0;
    f->shift = rfm_arena_reals(store, 1, d);
    f->p = rfm_arena_reals(store, r, d);
    f->centers = rfm_arena_reals(store, n, r);
    f->alpha = rfm_arena_reals(store, n, f->c);
    f->inputs = o->inputs ? rfm_arena_reals(store, n, d) : NULL;
    f->offset = o->offset ? rfm_arena_reals(store, 1, f->c) : NULL;
    f->labels = o->prototypes ? (uint32_t *)rfm_arena_take(store, n, sizeof *f->labels) : NULL;
    g->store_end = store->used;
    if (store->status != RFM_OK) return store->status;
    g->z = rfm_arena_reals(arena, g->rows, r);
    g->weights = rfm_arena_reals(arena, 1, g->rows);
    g->spread = rfm_arena_reals(arena, 1, d);
    g->zeros = rfm_arena_reals(arena, 1, r);
    g->one = rfm_arena_reals(arena, 1, 1);
    g->of = (uint32_t *)rfm_arena_take(arena, g->rows, sizeof *g->of);
    g->have = (uint32_t *)rfm_arena_take(arena, g->classes, sizeof *g->have);
    g->take = (uint32_t *)rfm_arena_take(arena, g->classes, sizeof *g->take);
    sized = *f;
    sized.offset = o->offset ? &somewhere : NULL, sized.inputs = o->inputs ? &somewhere : NULL;
    sized.labels = o->prototypes ? &label : NULL;
    pass_layout(arena, g->ctx, &sized, g->rows, &g->s);
    squares_layout(arena, g->ctx, &sized, &g->s, &g->q);
    room_product(&g->s.inner, g->ctx, BLOCK_ROWS, r, d);
    if (o->choice != RFM_HYPERBF_MODEL) cluster_bytes(g);
    if (o->model != NULL) {
        int status = rfm_small_rank_need(g->ctx, o->model, g->data, r, &scratch, &kept);
        scratch += kept;
        room_for(&g->s.inner, scratch < kept ? RFM_EOVERFLOW : status, &scratch);
    }
    (void)room_layout(arena, &g->s.inner);
    return arena->status;
}

static int check_start(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_start_options *o, beginning *g) {
    size_t bytes, ignored;
    int status = ctx == NULL || o == NULL ? RFM_ENULL : check_rows(data);
    if (status != RFM_OK) return status;
    if (o->centers == 0 || o->rank == 0) return RFM_EZERO;
    if (o->centers > data->x.rows || o->rank > data->x.cols || !kernel_right(o->kernel, o->exponent)) return RFM_EVALUE;
    if (!(o->bandwidth > R(0)) || !(o->ridge > R(0)) || !rfm_finite(1, &o->bandwidth) || !rfm_finite(1, &o->ridge))
        return RFM_EVALUE;
    if (!between(RFM_HYPERBF_KMEANS, o->choice, RFM_HYPERBF_MODEL)) return RFM_EVALUE;
    if (o->choice == RFM_HYPERBF_KMEANS && o->prototypes) return RFM_EVALUE;
    memset(g, 0, sizeof *g);
    g->classes = max_size(data->y.cols, 2);
    if (o->choice == RFM_HYPERBF_CLASSES && o->centers < g->classes) return RFM_EVALUE;
    if (o->choice == RFM_HYPERBF_MODEL && o->model == NULL) return RFM_ENULL;
    if (o->choice == RFM_HYPERBF_MODEL && o->inputs) return RFM_EVALUE;
    if (o->model != NULL) {
        status = rfm_predict_need(ctx, o->model, 1, &bytes);
        if (status != RFM_OK) return status;
        if (o->model->d != data->x.cols || o->model->c != data->y.cols) return RFM_ESHAPE;
        if (o->choice == RFM_HYPERBF_MODEL && o->model->n != o->centers) return RFM_EVALUE;
        status = rfm_small_rank_need(ctx, o->model, data, o->rank, &bytes, &ignored);
        if (status != RFM_OK) return status;
    }
    g->ctx = ctx, g->data = data, g->o = o, g->rows = data->x.rows;
    g->f.n = o->centers, g->f.d = data->x.cols, g->f.c = data->y.cols, g->f.r = o->rank;
    g->f.kernel = o->kernel, g->f.exponent = o->exponent;
    return RFM_OK;
}

int rfm_hyperbf_start_need(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_start_options *options,
                           size_t *scratch, size_t *store) {
    rfm_arena measure, kept;
    beginning g;
    int status = scratch == NULL || store == NULL ? RFM_ENULL : check_start(ctx, data, options, &g);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    rfm_arena_measure(&kept);
    status = start_layout(&kept, &measure, &g);
    if (status == RFM_OK) *scratch = measure.peak, *store = kept.peak;
    return status;
}

/* shift and W: of the model, or random ones that give projected rows a variance near 1. */
static int start_metric(beginning *g) {
    rfm_hyperbf *f = &g->f;
    uint32_t state = rfm_random_start(g->o->seed);
    size_t q, j;
    rfm_model small;
    int status;
    if (g->o->model == NULL) {
        measure_inputs(g->data->x, f->shift, g->spread);
        for (q = 0; q < f->r; q++)
            for (j = 0; j < f->d; j++) {
                rfm_real unit = g->spread[j] * RFM_MATH(sqrt)(R(f->d)), u = random_normal(&state);
                f->p[q * f->d + j] = unit > REAL_LEAST ? u / unit : R(0);
            }
        return rfm_finite(f->d, f->shift) && rfm_finite(f->r * f->d, f->p) ? RFM_OK : RFM_ERANGE;
    }
    status = rfm_small_rank(&g->s.inner.ctx, g->o->model, g->data, f->r, &g->s.inner.arena, &small, NULL);
    if (status != RFM_OK) return status;
    memcpy(f->shift, small.shift, f->d * sizeof *f->shift);
    memcpy(f->p, small.p, f->r * f->d * sizeof *f->p);
    if (g->o->choice == RFM_HYPERBF_MODEL) memcpy(f->centers, small.centers, f->n * f->r * sizeof *f->centers);
    rfm_arena_release(&g->s.inner.arena, 0);
    return RFM_OK;
}

static int start_project(beginning *g, const source *from) {
    const rfm_hyperbf *f = &g->f;
    pass *s = &g->s;
    size_t first, count, i;
    int status = RFM_OK;
    for (first = 0; status == RFM_OK && first < g->rows; first += count) {
        count = min_size(s->b, g->rows - first);
        for (i = 0; i < count; i++) (void)make_row(from, first + i, f->shift, s->x + i * f->d);
        status = multiply(s, RFM_NT, R(1), rfm_cview(s->x, count, f->d), rfm_cview(f->p, f->r, f->d), R(0),
                          rfm_view(g->z + first * f->r, count, f->r));
    }
    return status;
}

static uint32_t class_of(const rfm_data *data, size_t row) {
    const rfm_real *y = row_at(data->y, row);
    size_t k, best = 0;
    if (data->y.cols == 1) return y[0] > R(0);
    for (k = 1; k < data->y.cols; k++)
        if (y[k] > y[best]) best = k;
    return (uint32_t)best;
}

/* How many centres each class gets: equal shares, as far as it has rows. */
static int share_centers(beginning *g) {
    size_t i, k, left = g->f.n, classes = 0, given = 1;
    memset(g->have, 0, g->classes * sizeof *g->have);
    memset(g->take, 0, g->classes * sizeof *g->take);
    for (i = 0; i < g->rows; i++) {
        g->of[i] = g->o->choice == RFM_HYPERBF_CLASSES ? class_of(g->data, i) : 0;
        if (g->data->weights == NULL || g->data->weights[i] > R(0)) g->have[g->of[i]]++;
    }
    for (k = 0; k < g->classes; k++) classes += g->have[k] > 0;
    if (g->o->choice == RFM_HYPERBF_CLASSES && classes < 2) return RFM_EVALUE;
    while (left > 0 && given > 0)
        for (given = 0, k = 0; k < g->classes && left > 0; k++)
            if (g->take[k] < g->have[k]) g->take[k]++, left--, given++;
    return left > 0 ? RFM_EVALUE : RFM_OK;
}

/* Mean squared size of the projected rows: clusters are looked for at that scale. */
static rfm_real points_size(const beginning *g) {
    rfm_real most = R(0), sum = R(0);
    size_t i, count = g->rows * g->f.r;
    for (i = 0; i < count; i++) most = max_real(most, RFM_MATH(fabs)(g->z[i]));
    if (!(most > REAL_LEAST)) return R(0);
    for (i = 0; i < count; i++) sum += g->z[i] / most * (g->z[i] / most);
    return most * RFM_MATH(sqrt)(sum / R(g->rows));
}

static int start_clusters(beginning *g) {
    rfm_hyperbf *f = &g->f;
    rfm_centers_options how;
    rfm_model m, small;
    rfm_data data;
    rfm_real size = points_size(g);
    size_t k, i, done = 0;
    int status = share_centers(g);
    if (status != RFM_OK) return status;
    memset(g->zeros, 0, f->r * sizeof *g->zeros);
    g->one[0] = R(1);
    cluster_model(g, &m);
    cluster_data(g, &data);
    if (size > R(0)) m.bandwidth = size;
    for (k = 0; k < g->classes; k++) {
        if (g->take[k] == 0) continue;
        for (i = 0; i < g->rows; i++)
            g->weights[i] = g->of[i] != k ? R(0) : g->data->weights != NULL ? g->data->weights[i] : R(1);
        cluster_how(g, g->take[k], &how);
        status = rfm_small_centers(&g->s.inner.ctx, &m, &data, &how, &g->s.inner.arena, &small);
        if (status == RFM_EVALUE) status = RFM_ERANGE;
        if (status == RFM_OK && small.n < how.centers) status = RFM_EVALUE;
        if (status != RFM_OK) return status;
        memcpy(f->centers + done * f->r, small.centers, small.n * f->r * sizeof *f->centers);
        for (i = 0; f->labels != NULL && i < small.n; i++) f->labels[done + i] = f->c == 1 ? 0 : (uint32_t)k;
        done += small.n;
        rfm_arena_release(&g->s.inner.arena, 0);
        status = tick(g->ctx, R(0.5) * R(k + 1) / R(g->classes));
        if (status != RFM_OK) return status;
    }
    return RFM_OK;
}

/* Each row's nearest centre in g->of; the root of the mean squared distance to it. */
static rfm_real nearest_centers(beginning *g) {
    const rfm_hyperbf *f = &g->f;
    rfm_real sum = R(0);
    size_t i, a, q;
    for (i = 0; i < g->rows; i++) {
        rfm_real least = R(0);
        for (a = 0; a < f->n; a++) {
            rfm_real s2 = R(0);
            for (q = 0; q < f->r; q++) {
                rfm_real off = g->z[i * f->r + q] - f->centers[a * f->r + q];
                s2 += off * off;
            }
            if (a == 0 || s2 < least) least = s2, g->of[i] = (uint32_t)a;
        }
        sum += least / R(g->rows);
    }
    return RFM_MATH(sqrt)(sum);
}

/* t_a is the mean of the rows nearest to u_a, or the row that is nearest; u_a follows. */
static int start_inputs(beginning *g) {
    rfm_hyperbf *f = &g->f;
    size_t i, a, j, count;
    int status;
    for (a = 0; a < f->n; a++) {
        rfm_real *t = f->inputs + a * f->d;
        for (count = 0, i = 0; i < g->rows; i++) count += g->of[i] == a;
        memset(t, 0, f->d * sizeof *t);
        for (i = 0; i < g->rows; i++)
            for (j = 0; (count == 0 ? i == a : g->of[i] == a) && j < f->d; j++)
                t[j] += row_at(g->data->x, i)[j] / R(max_size(count, 1));
    }
    status = pass_begin(&g->s, f, NULL);
    if (status == RFM_OK) memcpy(f->centers, g->s.u, f->n * f->r * sizeof *f->centers);
    return status;
}

static int start(beginning *g) {
    rfm_hyperbf *f = &g->f;
    const rfm_model *m = g->o->model;
    rfm_real unit;
    source from;
    size_t a, k;
    int status;
    plain_source(g->data, R(1), &from);
    status = start_metric(g);
    if (status == RFM_OK) status = start_project(g, &from);
    if (status != RFM_OK) return status;
    if (g->o->choice != RFM_HYPERBF_MODEL) {
        status = start_clusters(g);
        if (status != RFM_OK) return status;
        unit = nearest_centers(g);
        /* Where every row is a centre, what is left is the rounding of the means. */
        if (!(unit > R(16) * REAL_EPS * points_size(g))) unit = points_size(g);
        if (!(unit > R(0))) unit = R(1);
        if (f->inputs != NULL) status = start_inputs(g);
    } else {
        unit = m->bandwidth;
        for (a = 0; f->labels != NULL && a < f->n; a++)
            for (f->labels[a] = 0, k = 1; k < f->c; k++)
                if (m->alpha[a * f->c + k] > m->alpha[a * f->c + f->labels[a]]) f->labels[a] = (uint32_t)k;
    }
    f->bandwidth = g->o->bandwidth * unit;
    memset(f->alpha, 0, f->n * f->c * sizeof *f->alpha);
    if (f->offset != NULL) memset(f->offset, 0, f->c * sizeof *f->offset);
    if (status == RFM_OK && check_shapes(f) != RFM_OK) status = RFM_ERANGE; /* the bandwidth */
    if (status == RFM_OK) status = solve_alpha(&g->s, f, &from, R(0), g->o->ridge, &g->q);
    if (status == RFM_OK && check_numbers(f) != RFM_OK) status = RFM_ERANGE;
    return status == RFM_OK ? tick(g->ctx, R(1)) : status;
}

int rfm_hyperbf_start(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_start_options *options,
                      rfm_arena *store, rfm_hyperbf *f) {
    beginning g;
    rfm_real sum;
    size_t used, store_used;
    int status = ctx == NULL || f == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_arena(store);
    if (status == RFM_OK) status = check_start(ctx, data, options, &g);
    if (status == RFM_OK) status = check_row_numbers(data, &sum);
    if (status != RFM_OK) return status;
    used = ctx->arena->used, store_used = store->used;
    status = start_layout(store, ctx->arena, &g);
    if (status == RFM_OK) {
        inner_start(ctx, &g.s);
        status = start(&g);
    }
    store->status = ctx->arena->status = RFM_OK;
    rfm_arena_release(ctx->arena, ctx->arena == store ? g.store_end : used);
    if (status != RFM_OK) rfm_arena_release(store, store_used);
    if (status == RFM_OK) *f = g.f;
    return status;
}

/* ==== 6. Descent ============================================================================== */

#define TEACHER_SHARE    R(0.2) /* of the work, as the ticks tell it */
#define DESCENT_BYTES    2048   /* of rfm_hyperbf_descent in the arena, the same on every machine */
#define BANDWIDTH_BOUNDS R(20)  /* log L moves at most this far: a ratio of 5e8 */

struct rfm_hyperbf_descent {
    const rfm_ctx *ctx;
    const rfm_hyperbf_options *o;
    rfm_hyperbf *f;
    rfm_hyperbf seen; /* where there is a projection */
    size_t used;      /* of the arena, before */
    size_t sizes[ARRAYS];
    arrays best, g, first, second; /* the best state; gradient; its mean, its mean square */
    rfm_real unit[ARRAYS];         /* of the rates */
    descent_rule rule;
    rfm_real bandwidth, log_bandwidth; /* L at the start, log of L in units of it */
    rfm_real limit;                    /* a loss above this is divergence */
    rfm_hyperbf_report report;
    size_t looked; /* steps at the last look */
    int projecting, status;
    uint32_t state;
    source from;
    rfm_real *targets; /* (rows, c) */
    pass s;
    squares q;
};

/* The shared descent knows them by these numbers. */
typedef char rules_agree[RFM_HYPERBF_PLAIN == DESCENT_PLAIN && RFM_HYPERBF_MOMENTUM == DESCENT_MOMENTUM &&
                                 RFM_HYPERBF_ADAM == DESCENT_ADAM && RFM_HYPERBF_ENTROPY == LOSS_ENTROPY
                             ? 1
                             : -1];

typedef char descent_fits[sizeof(rfm_hyperbf_descent) <= DESCENT_BYTES ? 1 : -1];

void rfm_hyperbf_options_init(rfm_hyperbf_options *o) {
    memset(o, 0, sizeof *o);
    rfm_hyperbf_cost_init(&o->cost);
    o->method = RFM_HYPERBF_ADAM, o->steps = 4000, o->batch = 256;
    o->rate = R(0.02), o->floor = R(0.01), o->warm = R(0.02);
    o->alpha_rate = o->center_rate = o->p_rate = o->offset_rate = R(1);
    o->momentum = R(0.9), o->second = R(0.999);
    o->look = 200, o->most = R(100);
    o->noise = R(0.1), o->project_from = R(0.5), o->teachers = 1;
}

static int options_right(const rfm_hyperbf_options *o) {
    if (!cost_right(&o->cost) || !between(RFM_HYPERBF_PLAIN, o->method, RFM_HYPERBF_ADAM)) return 0;
    if (!(o->rate > R(0)) || !rfm_finite(1, &o->rate) || !share_right(o->floor) || !share_right(o->warm)) return 0;
    if (!factor_right(o->alpha_rate) || !factor_right(o->center_rate) || !factor_right(o->p_rate)) return 0;
    if (!factor_right(o->bandwidth_rate) || !factor_right(o->offset_rate)) return 0;
    if (!decay_right(o->momentum) || !decay_right(o->second)) return 0;
    if (o->solve > 0 && o->cost.kind != RFM_HYPERBF_SQUARED) return 0;
    if (o->look == 0 || !(o->most > R(1)) || !rfm_finite(1, &o->most)) return 0;
    if (!share_right(o->truth) || !share_right(o->mixed) || !share_right(o->noisy) || !factor_right(o->noise)) return 0;
    return o->mixed + o->noisy <= R(1) && share_right(o->project_from);
}

static size_t teachers_of(const rfm_hyperbf_options *o) { return o->teacher != NULL ? o->teachers : 0; }

static size_t drawn_rows(const rfm_hyperbf_options *o, size_t rows) {
    if (!(o->mixed + o->noisy > R(0)) || o->batch == 0) return 0;
    return o->drawn > 0 ? o->drawn : 3 * rows;
}

static int check_descent(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_options *o, const rfm_hyperbf *f) {
    span list[SPANS];
    size_t count = 0, bytes, k;
    int status = ctx == NULL || o == NULL ? RFM_ENULL : check_shapes(f);
    if (status == RFM_OK) status = check_rows(data);
    for (k = 0; status == RFM_OK && k < teachers_of(o); k++) status = rfm_predict_need(ctx, o->teacher + k, 1, &bytes);
    if (status != RFM_OK) return status;
    if (data->x.cols != f->d || data->y.cols != f->c) return RFM_ESHAPE;
    for (k = 0; k < teachers_of(o); k++)
        if (o->teacher[k].d != f->d || o->teacher[k].c != f->c) return RFM_ESHAPE;
    if (o->steps == 0 || (o->teacher != NULL && o->teachers == 0)) return RFM_EZERO;
    if (!options_right(o) || (o->project != NULL && f->inputs != NULL)) return RFM_EVALUE;
    if (drawn_rows(o, data->x.rows) > UINT32_MAX) return RFM_EOVERFLOW;
    add_function(list, &count, f, 1);
    add_data(list, &count, data);
    return spans_overlap(list, count) ? RFM_EALIAS : RFM_OK;
}

/* The descent itself is the first block, so that a pointer to it lasts. */
static int descent_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_options *o,
                          const rfm_hyperbf *f, rfm_hyperbf_descent *g) {
    size_t rows = data->x.rows, drawn = drawn_rows(o, rows), block = max_size(rows, o->batch), bytes = 0, i, k;
    int kept = o->teacher != NULL || o->truth > R(0);
    take_arrays(arena, f, &g->best);
    take_arrays(arena, f, &g->g);
    take_arrays(arena, f, &g->first);
    take_arrays(arena, f, &g->second);
    memset(&g->seen, 0, sizeof g->seen);
    if (o->project != NULL) {
        g->seen.alpha = rfm_arena_reals(arena, f->n, f->c);
        g->seen.centers = rfm_arena_reals(arena, f->n, f->r);
        g->seen.p = rfm_arena_reals(arena, f->r, f->d);
        g->seen.offset = f->offset != NULL ? rfm_arena_reals(arena, 1, f->c) : NULL;
    }
    memset(&g->from, 0, sizeof g->from);
    g->targets = kept ? rfm_arena_reals(arena, rows, f->c) : NULL;
    g->from.spread = rfm_arena_reals(arena, drawn > 0 ? 1 : 0, f->d);
    g->from.pairs = (uint32_t *)rfm_arena_take(arena, drawn, 3 * sizeof *g->from.pairs);
    g->from.parts = rfm_arena_reals(arena, 1, drawn);
    g->from.drawn_targets = rfm_arena_reals(arena, drawn, f->c);
    pass_layout(arena, ctx, f, block, &g->s);
    if (o->solve > 0) squares_layout(arena, ctx, f, &g->s, &g->q);
    for (k = 1; k <= g->s.b; k++) /* blocks of rows and of drawn ones: whatever is left at the end */
        for (i = 0; (k == g->s.b || k == rows % g->s.b || k == drawn % g->s.b) && i < teachers_of(o); i++)
            room_for(&g->s.inner, rfm_predict_need(ctx, o->teacher + i, k, &bytes), &bytes);
    (void)room_layout(arena, &g->s.inner);
    return arena->status;
}

int rfm_hyperbf_descend_need(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_options *options,
                             const rfm_hyperbf *f, size_t *bytes) {
    rfm_hyperbf_descent g;
    rfm_arena measure;
    int status = bytes == NULL ? RFM_ENULL : check_descent(ctx, data, options, f);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    (void)rfm_arena_take(&measure, DESCENT_BYTES, 1);
    status = descent_layout(&measure, ctx, data, options, f, &g);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

/* ---- targets --------------------------------------------------------------------------------- */

/* What the loss compares with, of a teacher's scores: probabilities for the cross-entropy. */
static void scores_to_targets(const rfm_hyperbf_cost *cost, size_t c, rfm_real *y) {
    rfm_real most = y[0], sum = R(0);
    size_t k;
    if (cost->kind == RFM_HYPERBF_SQUARED) return;
    if (c == 1) {
        y[0] = RFM_MATH(tanh)(y[0] / (R(2) * cost->temperature));
        return;
    }
    for (k = 1; k < c; k++) most = max_real(most, y[k]);
    for (k = 0; k < c; k++) {
        y[k] = RFM_MATH(exp)((y[k] - most) / cost->temperature);
        sum += y[k];
    }
    for (k = 0; k < c; k++) y[k] /= sum;
}

/* Targets (count, c) of rows first..: what the teacher says, and the truth, which is y or its mixture. */
static int ask_teacher(rfm_hyperbf_descent *g, size_t first, size_t count, rfm_real *to) {
    const rfm_hyperbf_options *o = g->o;
    const source *from = &g->from;
    const rfm_real truth = o->teacher == NULL ? R(1) : o->truth;
    size_t c = from->c, i, k;
    int status = RFM_OK;
    for (i = 0; o->teacher != NULL && i < count; i++) (void)make_row(from, first + i, NULL, g->s.x + i * from->d);
    for (k = 0; status == RFM_OK && k < teachers_of(o); k++) {
        rfm_real *own = k == 0 ? to : g->s.e;
        status =
            rfm_predict(&g->s.inner.ctx, o->teacher + k, rfm_cview(g->s.x, count, from->d), rfm_view(own, count, c));
        for (i = 0; k > 0 && status == RFM_OK && i < count * c; i++) to[i] += (own[i] - to[i]) / R(k + 1);
    }
    for (i = 0; i < count && status == RFM_OK; i++) {
        size_t index = first + i;
        const uint32_t *pair = index < from->n ? NULL : from->pairs + 3 * (index - from->n);
        const rfm_real *a = row_at(from->data->y, pair == NULL ? index : pair[0]);
        const rfm_real *b = pair == NULL ? a : row_at(from->data->y, pair[1]);
        rfm_real part = pair == NULL ? R(1) : from->parts[index - from->n];
        if (o->teacher != NULL) scores_to_targets(&o->cost, c, to + i * c);
        for (k = 0; k < c; k++) {
            rfm_real told = part * a[k] + (R(1) - part) * b[k], *at = to + i * c + k;
            *at = truth < R(1) ? (R(1) - truth) * *at + truth * told : told;
        }
    }
    return in_range(status);
}

static int set_targets(rfm_hyperbf_descent *g) {
    source *from = &g->from;
    size_t first, count, total, done = 0;
    int status = RFM_OK, of_rows;
    total = from->drawn + (g->targets != NULL ? from->n : 0);
    for (of_rows = g->targets != NULL; of_rows >= 0; of_rows--) {
        size_t begin = of_rows ? 0 : from->n, end = of_rows ? from->n : from->n + from->drawn;
        rfm_real *to = of_rows ? g->targets : from->drawn_targets;
        for (first = begin; status == RFM_OK && first < end; first += count) {
            count = min_size(g->s.b, end - first);
            status = ask_teacher(g, first, count, to + (first - begin) * from->c);
            done += count;
            if (status == RFM_OK) status = tick(g->ctx, TEACHER_SHARE * R(done) / R(total));
        }
    }
    if (status == RFM_OK && !rfm_finite(from->drawn * from->c, from->drawn_targets)) status = RFM_ERANGE;
    from->targets = g->targets;
    return status;
}

static void draw_rows(rfm_hyperbf_descent *g) {
    const rfm_hyperbf_options *o = g->o;
    source *from = &g->from;
    size_t i;
    if (from->drawn > 0) measure_inputs(from->data->x, NULL, from->spread);
    for (i = 0; i < from->drawn; i++) {
        uint32_t *pair = from->pairs + 3 * i;
        int mixed = random_share(&g->state) * (o->mixed + o->noisy) < o->mixed;
        pair[0] = (uint32_t)random_index(&g->state, from->n);
        pair[1] = mixed ? (uint32_t)random_index(&g->state, from->n) : pair[0];
        from->parts[i] = mixed ? random_share(&g->state) : R(1);
        pair[2] = mixed ? 0 : rfm_random(&g->state);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void arrays_of(rfm_hyperbf_descent *g, arrays *a) {
    a->at[ALPHA] = g->f->alpha;
    a->at[CENTERS] = g->f->inputs != NULL ? g->f->inputs : g->f->centers;
    a->at[P] = g->f->p;
    a->at[OFFSET] = g->f->offset;
    a->at[BANDWIDTH] = &g->log_bandwidth;
}

static void copy_arrays(const rfm_hyperbf_descent *g, const arrays *to, const arrays *from) {
    int k;
    for (k = 0; k < ARRAYS; k++)
        if (g->sizes[k] > 0) memcpy(to->at[k], from->at[k], g->sizes[k] * sizeof *to->at[k]);
}

static void set_bandwidth(rfm_hyperbf_descent *g) { g->f->bandwidth = g->bandwidth * RFM_MATH(exp)(g->log_bandwidth); }

/* The parameters that loss and gradient see. */
static int seen_of(rfm_hyperbf_descent *g, const rfm_hyperbf **seen) {
    rfm_hyperbf *to = &g->seen, kept = g->seen;
    *seen = g->f;
    if (!g->projecting) return RFM_OK;
    *to = *g->f;
    to->alpha = kept.alpha, to->centers = kept.centers, to->p = kept.p, to->offset = kept.offset;
    memcpy(to->alpha, g->f->alpha, to->n * to->c * sizeof *to->alpha);
    memcpy(to->centers, g->f->centers, to->n * to->r * sizeof *to->centers);
    memcpy(to->p, g->f->p, to->r * to->d * sizeof *to->p);
    if (to->offset != NULL) memcpy(to->offset, g->f->offset, to->c * sizeof *to->offset);
    *seen = to;
    return g->o->project(g->o->project_arg, g->f, to);
}

/* The loss of all rows. A state that is no worse than the best is kept; `afresh`: whatever it is. */
static int look(rfm_hyperbf_descent *g, int afresh) {
    const rfm_hyperbf *seen;
    rfm_real loss = R(0);
    arrays now;
    int status = seen_of(g, &seen);
    if (status != RFM_OK) return status;
    status = whole_loss(&g->s, seen, &g->o->cost, &g->from, R(1) / R(g->from.n), &loss, NULL);
    if (status != RFM_OK) return status == RFM_ERANGE ? RFM_ECONVERGE : status;
    g->looked = g->report.steps;
    if (!afresh && loss > g->limit) return RFM_ECONVERGE;
    if (!afresh && loss > g->report.best) return RFM_OK;
    arrays_of(g, &now);
    copy_arrays(g, &g->best, &now);
    if (afresh) g->report.start = loss;
    g->report.best = loss, g->report.kept = g->report.steps;
    return RFM_OK;
}

/* The loss of f = 0, which even a good start may be near. */
static rfm_real zero_loss(const rfm_hyperbf_descent *g) {
    const source *from = &g->from;
    rfm_real sum = R(0), *y = g->s.y, *zero = g->s.e;
    size_t i;
    for (i = 0; i < from->n; i++) {
        make_target(from, i, y);
        memset(zero, 0, from->c * sizeof *zero);
        sum += weight_at(from, i) * row_loss(g->o->cost.kind, g->o->cost.temperature, from->c, y, zero) / R(from->n);
    }
    return sum;
}

static void set_units(rfm_hyperbf_descent *g) {
    const rfm_hyperbf_options *o = g->o;
    const rfm_real rates[ARRAYS] = {o->alpha_rate, o->center_rate, o->p_rate, o->offset_rate, o->bandwidth_rate};
    arrays now;
    size_t i;
    int k;
    arrays_of(g, &now);
    for (k = 0; k < ARRAYS; k++) {
        size_t count = g->sizes[k], others = 0;
        rfm_real most = R(0), sum = R(0);
        g->unit[k] = rates[k] * o->rate;
        if (o->method != RFM_HYPERBF_ADAM || k == BANDWIDTH) continue;
        for (i = 0; i < count; i++) most = max_real(most, RFM_MATH(fabs)(now.at[k][i]));
        for (i = 0; most > REAL_LEAST && i < count; i++) {
            rfm_real share = now.at[k][i] / most;
            sum += share * share;
            others += now.at[k][i] == R(0);
        }
        /* the zeros of prototypes do not count */
        if (k == ALPHA && g->f->labels != NULL) count -= min_size(others, count - g->f->n);
        if (sum > R(0)) g->unit[k] *= most * RFM_MATH(sqrt)(sum / R(count));
    }
    if (o->method == RFM_HYPERBF_ADAM && g->sizes[OFFSET] > 0 && !(g->unit[OFFSET] > R(0)))
        g->unit[OFFSET] = o->offset_rate * o->rate;
}

static int begin(rfm_hyperbf_descent *g) {
    int status, k;
    draw_rows(g);
    status = set_targets(g);
    if (status != RFM_OK) return status;
    for (k = 0; k < ARRAYS; k++) {
        memset(g->first.at[k], 0, g->sizes[k] * sizeof *g->first.at[k]);
        memset(g->second.at[k], 0, g->sizes[k] * sizeof *g->second.at[k]);
    }
    g->limit = RFM_LIMIT(MAX);
    status = look(g, 1);
    if (status == RFM_ECONVERGE) return RFM_ERANGE; /* not even the start has a finite loss */
    g->limit = g->o->most * max_real(g->report.start, zero_loss(g));
    set_units(g);
    return status;
}

int rfm_hyperbf_begin(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_options *options, rfm_hyperbf *f,
                      rfm_hyperbf_descent **descent) {
    rfm_hyperbf_descent *g;
    rfm_real sum;
    size_t used;
    int status = ctx == NULL || descent == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (descent != NULL) *descent = NULL;
    if (status == RFM_OK) status = check_descent(ctx, data, options, f);
    if (status == RFM_OK) status = check_numbers(f);
    if (status == RFM_OK) status = check_row_numbers(data, &sum);
    if (status == RFM_OK && !targets_right(options->cost.kind, data->y)) status = RFM_EVALUE;
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    g = (rfm_hyperbf_descent *)rfm_arena_take(ctx->arena, DESCENT_BYTES, 1);
    if (g != NULL) {
        memset(g, 0, sizeof *g);
        status = descent_layout(ctx->arena, ctx, data, options, f, g);
    } else
        status = ctx->arena->status;
    if (status == RFM_OK) {
        inner_start(ctx, &g->s);
        g->ctx = ctx, g->o = options, g->f = f, g->used = used;
        sizes_of(f, g->sizes);
        g->from.data = data, g->from.n = data->x.rows, g->from.d = f->d, g->from.c = f->c;
        g->from.drawn = drawn_rows(options, data->x.rows), g->from.noise = options->noise;
        g->from.weight_scale = R(data->x.rows) / sum;
        g->state = rfm_random_start(options->seed);
        g->rule = descent_rule_of(options->method, options->momentum, options->second);
        g->bandwidth = f->bandwidth, g->log_bandwidth = R(0);
        status = begin(g);
    }
    if (status == RFM_OK)
        *descent = g;
    else {
        ctx->arena->status = RFM_OK;
        rfm_arena_release(ctx->arena, used);
    }
    return status;
}

/* Loss and gradient of one batch. */
static int batch_gradient(rfm_hyperbf_descent *g, const rfm_hyperbf *f) {
    const rfm_hyperbf_options *o = g->o;
    const source *from = &g->from;
    pass *s = &g->s;
    const rfm_real drawn = from->drawn > 0 ? o->mixed + o->noisy : R(0);
    size_t first, count, i;
    rfm_real loss = R(0);
    int status;
    if (o->batch == 0) return whole_loss(s, f, &o->cost, from, R(1) / R(from->n), &g->report.batch, &g->g);
    status = pass_begin(s, f, &g->g);
    for (first = 0; status == RFM_OK && first < o->batch; first += count) {
        count = min_size(s->b, o->batch - first);
        for (i = 0; i < count; i++) {
            size_t index = random_share(&g->state) < drawn ? from->n + random_index(&g->state, from->drawn)
                                                           : random_index(&g->state, from->n);
            s->weights[i] = make_row(from, index, f->shift, s->x + i * s->d);
            make_target(from, index, s->y + i * s->c);
        }
        status = pass_rows(s, f, &o->cost, count, R(1) / R(o->batch), &loss, &g->g);
    }
    if (status == RFM_OK) status = pass_end(s, f, o->cost.ridge / R(from->n), &loss, &g->g);
    g->report.batch = loss;
    return status;
}

/* 0: L has left its range. Other numbers that are not finite are found by the next product. */
static int move(rfm_hyperbf_descent *g) {
    const rfm_hyperbf_options *o = g->o;
    const rfm_real factor = descent_factor(g->report.steps, o->steps, o->warm, o->floor);
    arrays now;
    int k;
    arrays_of(g, &now);
    descent_advance(&g->rule);
    for (k = 0; k < ARRAYS; k++) {
        if (g->sizes[k] == 0) continue;
        descent_move(&g->rule, g->sizes[k], g->unit[k] * factor, g->g.at[k], g->first.at[k], g->second.at[k],
                     now.at[k]);
    }
    if (!(RFM_MATH(fabs)(g->log_bandwidth) <= BANDWIDTH_BOUNDS)) return 0;
    set_bandwidth(g);
    return check_shapes(g->f) == RFM_OK;
}

static int step(rfm_hyperbf_descent *g) {
    const rfm_hyperbf_options *o = g->o;
    const rfm_real drawn = o->mixed + o->noisy;
    const rfm_hyperbf *seen;
    int status = RFM_OK;
    if (o->project != NULL && !g->projecting && R(g->report.steps) >= o->project_from * R(o->steps)) {
        g->projecting = 1;
        status = look(g, 1);
        if (status != RFM_OK) return status;
    }
    if (status == RFM_OK && o->solve > 0 && g->report.steps % o->solve == 0)
        status = solve_alpha(&g->s, g->f, &g->from, drawn, o->cost.ridge, &g->q);
    if (status == RFM_ERANGE) status = RFM_ECONVERGE;
    if (status == RFM_OK) status = seen_of(g, &seen);
    if (status != RFM_OK) return status;
    status = batch_gradient(g, seen);
    if (status != RFM_OK) return status == RFM_ERANGE ? RFM_ECONVERGE : status;
    if (!(g->report.batch * batch_share(o->batch, g->from.n) <= g->limit) || !move(g)) return RFM_ECONVERGE;
    g->report.steps++;
    if (g->report.steps % o->look == 0) status = look(g, 0);
    return status;
}

int rfm_hyperbf_step(rfm_hyperbf_descent *g) {
    if (g == NULL) return RFM_ENULL;
    if (g->status != RFM_OK) return g->status;
    if (g->report.steps == g->o->steps) return RFM_EVALUE;
    g->status = step(g);
    if (g->status == RFM_OK)
        g->status = tick(g->ctx, TEACHER_SHARE + (R(1) - TEACHER_SHARE) * R(g->report.steps) / R(g->o->steps));
    return g->status;
}

int rfm_hyperbf_end(rfm_hyperbf_descent *g, rfm_hyperbf_report *report) {
    rfm_hyperbf *f;
    arrays now;
    int status = RFM_OK;
    if (g == NULL) return RFM_ENULL;
    f = g->f;
    if (g->status == RFM_OK && g->looked != g->report.steps) status = look(g, 0);
    arrays_of(g, &now);
    copy_arrays(g, &now, &g->best);
    set_bandwidth(g);
    if (f->inputs != NULL) { /* they had a finite loss, so this goes well */
        (void)pass_begin(&g->s, f, NULL);
        memcpy(f->centers, g->s.u, f->n * f->r * sizeof *f->centers);
    }
    if (report != NULL) *report = g->report;
    rfm_arena_release(g->ctx->arena, g->used);
    return status;
}

int rfm_hyperbf_descend(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_options *options, rfm_hyperbf *f,
                        rfm_hyperbf_report *report) {
    rfm_hyperbf_descent *g;
    size_t i;
    int status = rfm_hyperbf_begin(ctx, data, options, f, &g), last;
    if (status == RFM_ECANCEL && report != NULL) memset(report, 0, sizeof *report); /* before the first step */
    if (status != RFM_OK) return status;
    for (i = 0; status == RFM_OK && i < options->steps; i++) status = rfm_hyperbf_step(g);
    last = rfm_hyperbf_end(g, report);
    return status == RFM_OK ? last : status;
}

#else
typedef int rfm_hyperbf_is_for_training;
#endif

/* rfm_nfa - see rfm_nfa.h
 *
 * Contents: 1 networks, 2 forwards and backwards, 3 loss, 4 descent, 5 layers, 6 the beginning of a training,
 * 7 data that spoils the alignment.
 *
 * With rows x_l of a block in X_l (b, width[l]) and D_l = dLoss/dh_l (b, width[l + 1]), products of matrices do it all:
 *   H_l = X_l W_l' + 1 b_l',   dW_l = D_l'X_l,   db_l = D_l'1,   D_{l-1} = (D_l W_l) o phi'(H_{l-1})
 * Tangents are the same with one output's row of W_L in place of the loss.
 */
#include "rfm_nfa.h"

#ifndef RFM_NO_TRAIN

#define RFM_DESCENT
#include "rfm_private.h"

#include <math.h>
#include <string.h>

#define BLOCK_ROWS    256
#define WORTH_SHARING 4194304 /* multiply-adds of a product, below which one thread is faster than several */
#define ARRAYS        (2 * (RFM_NFA_HIDDEN + 1)) /* the W, then the b */

/* ==== 1. Networks ============================================================================= */

/* op(A) has inner size `inner`. */
static int multiply(const call_room *r, int op, rfm_real alpha, rfm_cmat a, rfm_cmat b, rfm_real beta, rfm_mat c) {
    const size_t inner = op == RFM_TN ? a.rows : a.cols;
    rfm_ctx ctx = r->ctx;
    if (c.rows * c.cols < WORTH_SHARING / inner) ctx.run = NULL;
    return in_range(rfm_gemm(&ctx, op, alpha, a, b, beta, c));
}

/* The end of a call: the arena is as it was. */
static int give_back(const rfm_ctx *ctx, size_t used, int status) {
    ctx->arena->status = RFM_OK;
    rfm_arena_release(ctx->arena, used);
    return status;
}

/* The need of a layout, after it has been measured. */
static int tell_need(const rfm_arena *measure, size_t *bytes) {
    if (measure->status == RFM_OK) *bytes = measure->peak;
    return measure->status;
}

/* A layout that two sizes determine; `work` is what it fills in. */
typedef int layout(rfm_arena *arena, const rfm_ctx *ctx, size_t rows, size_t cols, void *work);

static int layout_need(layout *lay, void *work, const rfm_ctx *ctx, size_t rows, size_t cols, size_t *bytes) {
    rfm_arena measure;
    if (ctx == NULL || bytes == NULL) return RFM_ENULL;
    if (rows == 0 || cols == 0) return RFM_EZERO;
    rfm_arena_measure(&measure);
    (void)lay(&measure, ctx, rows, cols, work);
    return tell_need(&measure, bytes);
}

/* The beginning of a call: give_back takes *used. After a failure the arena is as it was. */
static int layout_take(layout *lay, void *work, call_room *inner, const rfm_ctx *ctx, size_t rows, size_t cols,
                       size_t *used) {
    int status;
    *used = ctx->arena->used;
    status = lay(ctx->arena, ctx, rows, cols, work);
    if (status != RFM_OK) return give_back(ctx, *used, status);
    room_start(ctx, inner);
    return RFM_OK;
}

static int check_out(rfm_mat a, size_t rows, size_t cols) {
    int status = check_view(rfm_const(a));
    if (status != RFM_OK) return status;
    return a.rows == rows && a.cols == cols ? RFM_OK : RFM_ESHAPE;
}

/* The same of a view that may be absent. */
static int check_wanted(rfm_mat a, size_t rows, size_t cols) {
    return a.at == NULL ? RFM_OK : check_out(a, rows, cols);
}

static void add_view(span *list, size_t *count, rfm_cmat a, int written) {
    if (a.at != NULL) add_span(list, count, a.at, view_reals(a), written);
}

static void copy_view(rfm_mat to, const rfm_real *from) {
    size_t i;
    for (i = 0; to.at != NULL && i < to.rows; i++)
        memcpy(to.at + i * to.stride, from + i * to.cols, to.cols * sizeof *from);
}

/* Numbers in units of unit^2 become plain ones. RFM_ERANGE. */
static int out_of_units(rfm_mat a, rfm_real unit) {
    size_t i, j;
    for (i = 0; a.at != NULL && i < a.rows; i++)
        for (j = 0; j < a.cols; j++) a.at[i * a.stride + j] = a.at[i * a.stride + j] * unit * unit;
    return a.at == NULL || finite_view(rfm_const(a)) ? RFM_OK : RFM_ERANGE;
}

static int check_widths(size_t layers, const size_t *width, int activation) {
    const rfm_real somewhere = R(0);
    size_t l;
    int status = RFM_OK;
    if (layers == 0 || layers > RFM_NFA_HIDDEN) return RFM_EVALUE;
    for (l = 0; l <= layers; l++) {
        if (status == RFM_OK) status = check_view(rfm_cview(&somewhere, width[l + 1], width[l]));
    }
    if (status != RFM_OK) return status;
    return between(RFM_NFA_RELU, activation, RFM_NFA_LINEAR) ? RFM_OK : RFM_EVALUE;
}

static int check_shapes(const rfm_nfa *f) {
    size_t l;
    int status = f == NULL ? RFM_ENULL : check_widths(f->layers, f->width, f->activation);
    for (l = 0; status == RFM_OK && l <= f->layers; l++)
        if (f->w[l] == NULL) status = RFM_ENULL;
    return status;
}

/* Array k of ARRAYS, of a network or a gradient, and how many numbers a network has in it; 0: none. */
static rfm_real *array_of(const rfm_nfa *f, size_t k) {
    return k <= RFM_NFA_HIDDEN ? f->w[k] : f->b[k - RFM_NFA_HIDDEN - 1];
}

static size_t layer_of(size_t k) { return k <= RFM_NFA_HIDDEN ? k : k - RFM_NFA_HIDDEN - 1; }

static size_t array_size(const rfm_nfa *f, size_t k) {
    const size_t l = layer_of(k);
    if (l > f->layers || array_of(f, k) == NULL) return 0;
    return f->width[l + 1] * (k <= RFM_NFA_HIDDEN ? f->width[l] : 1);
}

static int check_numbers(const rfm_nfa *f) {
    size_t k;
    for (k = 0; k < ARRAYS; k++)
        if (array_size(f, k) > 0 && !rfm_finite(array_size(f, k), array_of(f, k))) return RFM_EFINITE;
    return RFM_OK;
}

static void add_network(span *list, size_t *count, const rfm_nfa *f, int written) {
    size_t k;
    for (k = 0; k < ARRAYS; k++) add_span(list, count, array_of(f, k), array_size(f, k), written);
}

static rfm_cmat weights_view(const rfm_nfa *f, size_t l) { return rfm_cview(f->w[l], f->width[l + 1], f->width[l]); }

/* Normal, by Box and Muller. */
static rfm_real random_normal(uint32_t *state) {
    rfm_real u = random_share(state), v = random_share(state);
    return RFM_MATH(sqrt)(R(-2) * RFM_MATH(log)(u)) * RFM_MATH(cos)(R(2) * PI * v);
}

static void fill_normal(uint32_t *state, rfm_real scale, size_t n, rfm_real *x) {
    size_t i;
    for (i = 0; i < n; i++) x[i] = scale * random_normal(state);
}

void rfm_nfa_start_init(rfm_nfa_start_options *o) {
    size_t l;
    memset(o, 0, sizeof *o);
    o->layers = 2;
    for (l = 0; l <= RFM_NFA_HIDDEN; l++) o->scale[l] = R(1);
}

static int check_start(const rfm_nfa_start_options *o) {
    size_t l;
    int status = o == NULL ? RFM_ENULL : check_widths(o->layers, o->width, o->activation);
    if (status != RFM_OK) return status;
    for (l = 0; l <= o->layers; l++)
        if (!factor_right(o->scale[l])) return RFM_EVALUE;
    return between(RFM_NFA_NORMAL, o->kind, RFM_NFA_UNIFORM) ? RFM_OK : RFM_EVALUE;
}

static int start_layout(rfm_arena *store, const rfm_nfa_start_options *o, rfm_nfa *f) {
    size_t l;
    memset(f, 0, sizeof *f);
    f->layers = o->layers, f->activation = o->activation;
    memcpy(f->width, o->width, (o->layers + 2) * sizeof *f->width);
    for (l = 0; l <= o->layers; l++) {
        f->w[l] = rfm_arena_reals(store, o->width[l + 1], o->width[l]);
        f->b[l] = o->biases ? rfm_arena_reals(store, 1, o->width[l + 1]) : NULL;
    }
    return store->status;
}

int rfm_nfa_start_need(const rfm_nfa_start_options *options, size_t *store) {
    rfm_arena measure;
    rfm_nfa f;
    int status = store == NULL ? RFM_ENULL : check_start(options);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    (void)start_layout(&measure, options, &f);
    return tell_need(&measure, store);
}

int rfm_nfa_start(const rfm_nfa_start_options *o, rfm_arena *store, rfm_nfa *f) {
    uint32_t state;
    size_t used, l, i;
    rfm_nfa made;
    int status = f == NULL ? RFM_ENULL : check_arena(store);
    if (status == RFM_OK) status = check_start(o);
    if (status != RFM_OK) return status;
    used = store->used;
    status = start_layout(store, o, &made);
    if (status != RFM_OK) {
        store->status = RFM_OK;
        rfm_arena_release(store, used);
        return status;
    }
    state = rfm_random_start(o->seed);
    for (l = 0; l <= o->layers; l++) {
        const size_t weights = o->width[l + 1] * o->width[l];
        const rfm_real fan = R(o->width[l]), bound = o->scale[l] / RFM_MATH(sqrt)(fan);
        if (o->kind == RFM_NFA_NORMAL) {
            fill_normal(&state, RFM_MATH(sqrt)(o->scale[l] / fan), weights, made.w[l]);
            if (o->biases) memset(made.b[l], 0, o->width[l + 1] * sizeof *made.b[l]);
            continue;
        }
        for (i = 0; i < weights; i++) made.w[l][i] = bound * (R(2) * random_share(&state) - R(1));
        for (i = 0; o->biases && i < o->width[l + 1]; i++) made.b[l][i] = bound * (R(2) * random_share(&state) - R(1));
    }
    *f = made;
    return RFM_OK;
}

/* ==== 2. Forwards and backwards =============================================================== */

typedef struct {
    size_t b;                        /* rows of a block, at most */
    rfm_real *h[RFM_NFA_HIDDEN + 1]; /* (b, width[l + 1]); h[L] is f */
    rfm_real *x[RFM_NFA_HIDDEN + 1]; /* (b, width[l]), l >= 1 */
    rfm_real *delta[2];              /* (b, widest hidden layer) */
    rfm_real *rows, *targets;        /* (b, d), (b, c): a batch, gathered */
    rfm_real *ones;                  /* (b) for sums of columns */
    rfm_cmat at;                     /* x_0 of the block */
    call_room inner;
} pass;

static void pass_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_nfa *f, size_t rows, int gather, pass *s) {
    const size_t b = min_size(rows, BLOCK_ROWS);
    size_t l, widest = 1;
    memset(s, 0, sizeof *s);
    s->b = b;
    for (l = 0; l <= f->layers; l++) {
        const size_t in = f->width[l], out = f->width[l + 1];
        s->h[l] = rfm_arena_reals(arena, b, out);
        if (l > 0) {
            s->x[l] = rfm_arena_reals(arena, b, in);
            widest = max_size(widest, in);
        }
        room_product(&s->inner, ctx, b, out, in); /* H */
        room_product(&s->inner, ctx, out, in, b); /* dW */
        room_product(&s->inner, ctx, b, in, out); /* D */
        room_product(&s->inner, ctx, 1, out, b);  /* db */
    }
    s->delta[0] = rfm_arena_reals(arena, b, widest);
    s->delta[1] = rfm_arena_reals(arena, b, widest);
    s->ones = rfm_arena_reals(arena, 1, b);
    s->rows = rfm_arena_reals(arena, gather ? b : 0, f->width[0]);
    s->targets = rfm_arena_reals(arena, gather ? b : 0, f->width[f->layers + 1]);
}

static void pass_start(const rfm_ctx *ctx, pass *s) {
    size_t i;
    room_start(ctx, &s->inner);
    for (i = 0; i < s->b; i++) s->ones[i] = R(1);
}

static void activate(int activation, size_t n, const rfm_real *h, rfm_real *x) {
    size_t i;
    if (activation == RFM_NFA_RELU)
        for (i = 0; i < n; i++) x[i] = max_real(h[i], R(0));
    else if (activation == RFM_NFA_SQUARE)
        for (i = 0; i < n; i++) x[i] = h[i] * h[i];
    else
        memcpy(x, h, n * sizeof *x);
}

/* delta o phi'(h) */
static void times_slope(int activation, size_t n, const rfm_real *h, rfm_real *delta) {
    size_t i;
    if (activation == RFM_NFA_RELU)
        for (i = 0; i < n; i++) delta[i] = h[i] > R(0) ? delta[i] : R(0);
    else if (activation == RFM_NFA_SQUARE)
        for (i = 0; i < n; i++) delta[i] *= R(2) * h[i];
}

static rfm_cmat input_view(const pass *s, const rfm_nfa *f, size_t l) {
    return l == 0 ? s->at : rfm_cview(s->x[l], s->at.rows, f->width[l]);
}

/* Everything up to f of the rows in x. */
static int forwards(pass *s, const rfm_nfa *f, rfm_cmat x) {
    size_t l, i, j;
    int status = RFM_OK;
    s->at = x;
    for (l = 0; l <= f->layers; l++) {
        const size_t out = f->width[l + 1];
        status = multiply(&s->inner, RFM_NT, R(1), input_view(s, f, l), weights_view(f, l), R(0),
                          rfm_view(s->h[l], x.rows, out));
        if (status != RFM_OK) break;
        for (i = 0; f->b[l] != NULL && i < x.rows; i++)
            for (j = 0; j < out; j++) s->h[l][i * out + j] += f->b[l][j];
        if (l < f->layers) activate(f->activation, x.rows * out, s->h[l], s->x[l + 1]);
    }
    return status;
}

/* D_{l-1} into `to`, from D_l. */
static int one_layer_back(pass *s, const rfm_nfa *f, size_t l, const rfm_real *from, rfm_real *to) {
    const size_t rows = s->at.rows, in = f->width[l], out = f->width[l + 1];
    int status =
        multiply(&s->inner, RFM_NN, R(1), rfm_cview(from, rows, out), weights_view(f, l), R(0), rfm_view(to, rows, in));
    if (status == RFM_OK) times_slope(f->activation, rows * in, s->h[l - 1], to);
    return status;
}

/* Adds what the block's dLoss/df, in h[L], gives to the gradient; arrays that are NULL are not wanted. */
static int backwards(pass *s, const rfm_nfa *f, const rfm_nfa *g) {
    const size_t rows = s->at.rows;
    const rfm_real *from = s->h[f->layers];
    size_t l, turn = 0;
    int status = RFM_OK;
    for (l = f->layers + 1; status == RFM_OK && l-- > 0;) {
        const size_t out = f->width[l + 1];
        const rfm_cmat d = rfm_cview(from, rows, out);
        if (g->w[l] != NULL)
            status =
                multiply(&s->inner, RFM_TN, R(1), d, input_view(s, f, l), R(1), rfm_view(g->w[l], out, f->width[l]));
        if (status == RFM_OK && g->b[l] != NULL)
            status = multiply(&s->inner, RFM_NN, R(1), rfm_cview(s->ones, 1, rows), d, R(1), rfm_view(g->b[l], 1, out));
        if (status == RFM_OK && l > 0) {
            status = one_layer_back(s, f, l, from, s->delta[turn]);
            from = s->delta[turn];
            turn = 1 - turn;
        }
    }
    return status;
}

static rfm_cmat rows_from(rfm_cmat a, size_t first, size_t count) {
    rfm_cmat part = a;
    part.at = row_at(a, first), part.rows = count;
    return part;
}

/* X and everything else that does not belong to the network. */
static int check_rows(const rfm_nfa *f, rfm_cmat x) {
    int status = check_view(x);
    if (status != RFM_OK) return status;
    return x.cols == f->width[0] ? RFM_OK : RFM_ESHAPE;
}

static int check_targets(const rfm_nfa *f, rfm_cmat x, rfm_cmat y) {
    int status = check_rows(f, x);
    if (status == RFM_OK) status = check_view(y);
    if (status != RFM_OK) return status;
    return y.rows == x.rows && y.cols == f->width[f->layers + 1] ? RFM_OK : RFM_ESHAPE;
}

#define SPANS (3 * ARRAYS + 8)

int rfm_nfa_predict_need(const rfm_ctx *ctx, const rfm_nfa *f, size_t rows, size_t *bytes) {
    rfm_arena measure;
    pass s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_shapes(f);
    if (status == RFM_OK && rows == 0) status = RFM_EZERO;
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    pass_layout(&measure, ctx, f, rows, 0, &s);
    (void)room_layout(&measure, &s.inner);
    return tell_need(&measure, bytes);
}

int rfm_nfa_predict(const rfm_ctx *ctx, const rfm_nfa *f, rfm_cmat x, rfm_mat y) {
    span list[SPANS];
    size_t count = 0, used, first, rows;
    pass s;
    int status = ctx == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_shapes(f);
    if (status == RFM_OK) status = check_targets(f, x, rfm_const(y));
    if (status != RFM_OK) return status;
    add_network(list, &count, f, 0);
    add_view(list, &count, x, 0);
    add_view(list, &count, rfm_const(y), 1);
    if (spans_overlap(list, count)) return RFM_EALIAS;
    if (check_numbers(f) != RFM_OK || !finite_view(x)) return RFM_EFINITE;
    used = ctx->arena->used;
    pass_layout(ctx->arena, ctx, f, x.rows, 0, &s);
    status = room_layout(ctx->arena, &s.inner);
    if (status == RFM_OK) pass_start(ctx, &s);
    for (first = 0; status == RFM_OK && first < x.rows; first += rows) {
        rfm_mat to = y;
        rows = min_size(s.b, x.rows - first);
        status = forwards(&s, f, rows_from(x, first, rows));
        to.at = y.at + first * y.stride, to.rows = rows;
        if (status == RFM_OK) copy_view(to, s.h[f->layers]);
        if (status == RFM_OK && !finite_view(rfm_const(to))) status = RFM_ERANGE;
    }
    return give_back(ctx, used, status);
}

/* ==== 3. Loss ================================================================================= */

/* Adds `scale` times the loss of the rows, and its gradient (NULL: not wanted). */
static int pass_rows(pass *s, const rfm_nfa *f, rfm_cmat x, rfm_cmat y, int kind, rfm_real scale, rfm_real *loss,
                     const rfm_nfa *g) {
    const size_t c = y.cols;
    rfm_real *out = s->h[f->layers], sum = R(0);
    size_t i, k;
    int status = forwards(s, f, x);
    for (i = 0; status == RFM_OK && i < x.rows; i++) {
        sum += row_loss(kind, R(1), c, row_at(y, i), out + i * c);
        for (k = 0; k < c; k++) out[i * c + k] *= scale;
    }
    *loss += scale * sum;
    if (status == RFM_OK && !rfm_finite(1, loss)) status = RFM_ERANGE;
    return status == RFM_OK && g != NULL ? backwards(s, f, g) : status;
}

static void zero_arrays(const rfm_nfa *f, const rfm_nfa *g) {
    size_t k;
    for (k = 0; k < ARRAYS; k++)
        if (array_size(f, k) > 0 && array_of(g, k) != NULL)
            memset(array_of(g, k), 0, array_size(f, k) * sizeof(rfm_real));
}

/* The mean loss of all rows, and its gradient. */
static int whole_loss(pass *s, const rfm_nfa *f, rfm_cmat x, rfm_cmat y, int kind, rfm_real *loss, const rfm_nfa *g) {
    size_t first, rows;
    int status = RFM_OK;
    *loss = R(0);
    if (g != NULL) zero_arrays(f, g);
    for (first = 0; status == RFM_OK && first < x.rows; first += rows) {
        rows = min_size(s->b, x.rows - first);
        status = pass_rows(s, f, rows_from(x, first, rows), rows_from(y, first, rows), kind, R(1) / R(x.rows), loss, g);
    }
    return status;
}

int rfm_nfa_loss_need(const rfm_ctx *ctx, const rfm_nfa *f, size_t rows, size_t *bytes) {
    return rfm_nfa_predict_need(ctx, f, rows, bytes);
}

static int check_learning(const rfm_nfa *f, rfm_cmat x, rfm_cmat y, int kind) {
    if (!between(RFM_NFA_SQUARED, kind, RFM_NFA_ENTROPY)) return RFM_EVALUE;
    if (check_numbers(f) != RFM_OK || !finite_view(x) || !finite_view(y)) return RFM_EFINITE;
    return targets_right(kind, y) ? RFM_OK : RFM_EVALUE;
}

int rfm_nfa_loss(const rfm_ctx *ctx, const rfm_nfa *f, rfm_cmat x, rfm_cmat y, int loss_kind, rfm_real *loss,
                 const rfm_nfa *gradient) {
    span list[SPANS];
    size_t count = 0, used, k;
    rfm_real sum = R(0);
    pass s;
    int status = ctx == NULL || loss == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_shapes(f);
    if (status == RFM_OK) status = check_targets(f, x, y);
    for (k = 0; status == RFM_OK && gradient != NULL && k < ARRAYS; k++)
        if (layer_of(k) <= f->layers && array_of(gradient, k) != NULL && array_of(f, k) == NULL) status = RFM_ENULL;
    if (status != RFM_OK) return status;
    add_network(list, &count, f, 0);
    add_view(list, &count, x, 0);
    add_view(list, &count, y, 0);
    for (k = 0; gradient != NULL && k < ARRAYS; k++)
        if (array_size(f, k) > 0) add_span(list, &count, array_of(gradient, k), array_size(f, k), 1);
    if (spans_overlap(list, count)) return RFM_EALIAS;
    status = check_learning(f, x, y, loss_kind);
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    pass_layout(ctx->arena, ctx, f, x.rows, 0, &s);
    status = room_layout(ctx->arena, &s.inner);
    if (status == RFM_OK) {
        pass_start(ctx, &s);
        status = whole_loss(&s, f, x, y, loss_kind, &sum, gradient);
    }
    for (k = 0; status == RFM_OK && gradient != NULL && k < ARRAYS; k++)
        if (array_size(f, k) > 0 && array_of(gradient, k) != NULL &&
            !rfm_finite(array_size(f, k), array_of(gradient, k)))
            status = RFM_ERANGE;
    if (status == RFM_OK) *loss = sum;
    return give_back(ctx, used, status);
}

/* ==== 4. Descent ============================================================================== */

#define DESCENT_BYTES 2048 /* of rfm_nfa_descent in the arena, the same on every machine */

/* The shared descent knows them by these numbers. */
typedef char rules_agree[RFM_NFA_PLAIN == DESCENT_PLAIN && RFM_NFA_MOMENTUM == DESCENT_MOMENTUM &&
                                 RFM_NFA_ADAM == DESCENT_ADAM && RFM_NFA_SQUARED == LOSS_SQUARED &&
                                 RFM_NFA_ENTROPY == LOSS_ENTROPY
                             ? 1
                             : -1];

struct rfm_nfa_descent {
    const rfm_ctx *ctx;
    const rfm_nfa_options *o;
    rfm_nfa *f;
    rfm_cmat x, y;
    size_t used;     /* of the arena, before */
    rfm_nfa best, g; /* the best state; gradient */
    rfm_real *first[ARRAYS], *second[ARRAYS];
    uint32_t *order;    /* (rows) of the epoch; `next` is the first that is left */
    size_t next, taken; /* rows of the last batch */
    descent_rule rule;
    rfm_real limit; /* a loss above this is divergence */
    rfm_nfa_report report;
    size_t looked; /* steps at the last look */
    uint32_t state;
    int status;
    pass s;
};

typedef char descent_fits[sizeof(rfm_nfa_descent) <= DESCENT_BYTES ? 1 : -1];

void rfm_nfa_options_init(rfm_nfa_options *o) {
    size_t l;
    memset(o, 0, sizeof *o);
    o->loss = RFM_NFA_SQUARED, o->method = RFM_NFA_PLAIN, o->steps = 800;
    o->rate = R(0.05), o->floor = R(1), o->momentum = R(0.9), o->second = R(0.999);
    o->look = 100, o->most = R(100);
    for (l = 0; l <= RFM_NFA_HIDDEN; l++) o->part[l] = R(1);
}

static int options_right(const rfm_nfa_options *o, size_t layers) {
    size_t l;
    for (l = 0; l <= layers; l++)
        if (!factor_right(o->part[l])) return 0;
    if (!between(RFM_NFA_SQUARED, o->loss, RFM_NFA_ENTROPY)) return 0;
    if (!between(RFM_NFA_PLAIN, o->method, RFM_NFA_ADAM)) return 0;
    if (!(o->rate > R(0)) || !rfm_finite(1, &o->rate) || !share_right(o->floor) || !share_right(o->warm)) return 0;
    if (!decay_right(o->momentum) || !decay_right(o->second)) return 0;
    return o->look > 0 && o->most > R(1) && rfm_finite(1, &o->most);
}

static int check_descent(const rfm_ctx *ctx, const rfm_nfa_options *o, const rfm_nfa *f) {
    int status = ctx == NULL || o == NULL ? RFM_ENULL : check_shapes(f);
    if (status != RFM_OK) return status;
    if (o->steps == 0) return RFM_EZERO;
    return options_right(o, f->layers) ? RFM_OK : RFM_EVALUE;
}

static void take_arrays(rfm_arena *arena, const rfm_nfa *f, rfm_nfa *to) {
    size_t l;
    memset(to, 0, sizeof *to);
    for (l = 0; l <= f->layers; l++) {
        to->w[l] = rfm_arena_reals(arena, f->width[l + 1], f->width[l]);
        to->b[l] = f->b[l] != NULL ? rfm_arena_reals(arena, 1, f->width[l + 1]) : NULL;
    }
}

static int descent_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_nfa_options *o, const rfm_nfa *f, size_t rows,
                          rfm_nfa_descent *g) {
    size_t k;
    take_arrays(arena, f, &g->best);
    take_arrays(arena, f, &g->g);
    for (k = 0; k < ARRAYS; k++) {
        const size_t size = array_size(f, k);
        g->first[k] = rfm_arena_reals(arena, 1, o->method != RFM_NFA_PLAIN ? size : 0);
        g->second[k] = rfm_arena_reals(arena, 1, o->method == RFM_NFA_ADAM ? size : 0);
    }
    g->order = (uint32_t *)rfm_arena_take(arena, o->batch > 0 ? rows : 0, sizeof *g->order);
    pass_layout(arena, ctx, f, rows, o->batch > 0, &g->s);
    return room_layout(arena, &g->s.inner);
}

int rfm_nfa_descend_need(const rfm_ctx *ctx, const rfm_nfa_options *options, const rfm_nfa *f, size_t rows,
                         size_t *bytes) {
    rfm_nfa_descent g;
    rfm_arena measure;
    int status = bytes == NULL ? RFM_ENULL : check_descent(ctx, options, f);
    if (status == RFM_OK && rows == 0) status = RFM_EZERO;
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    (void)rfm_arena_take(&measure, DESCENT_BYTES, 1);
    (void)descent_layout(&measure, ctx, options, f, rows, &g);
    return tell_need(&measure, bytes);
}

static void copy_arrays(const rfm_nfa *shape, const rfm_nfa *to, const rfm_nfa *from) {
    size_t k;
    for (k = 0; k < ARRAYS; k++)
        if (array_size(shape, k) > 0)
            memcpy(array_of(to, k), array_of(from, k), array_size(shape, k) * sizeof(rfm_real));
}

/* The loss of all rows. A state that is no worse than the best is kept. */
static int look(rfm_nfa_descent *g, int first) {
    rfm_real loss;
    int status = whole_loss(&g->s, g->f, g->x, g->y, g->o->loss, &loss, NULL);
    if (status != RFM_OK) return status == RFM_ERANGE ? RFM_ECONVERGE : status;
    g->looked = g->report.steps;
    if (!first && loss > g->limit) return RFM_ECONVERGE;
    if (!first && loss > g->report.best) return RFM_OK;
    copy_arrays(g->f, &g->best, g->f);
    if (first) g->report.start = loss;
    g->report.best = loss, g->report.kept = g->report.steps;
    return RFM_OK;
}

/* The loss of f = 0, which even a good start may be near. */
static rfm_real zero_loss(const rfm_nfa_descent *g) {
    rfm_real sum = R(0), *zero = g->s.h[g->f->layers];
    size_t i;
    for (i = 0; i < g->y.rows; i++) {
        memset(zero, 0, g->y.cols * sizeof *zero);
        sum += row_loss(g->o->loss, R(1), g->y.cols, row_at(g->y, i), zero) / R(g->y.rows);
    }
    return sum;
}

static int begin(rfm_nfa_descent *g) {
    const rfm_nfa_options *o = g->o;
    size_t k, i;
    int status;
    for (k = 0; k < ARRAYS; k++) {
        const size_t bytes = array_size(g->f, k) * sizeof(rfm_real);
        if (bytes > 0 && o->method != RFM_NFA_PLAIN) memset(g->first[k], 0, bytes);
        if (bytes > 0 && o->method == RFM_NFA_ADAM) memset(g->second[k], 0, bytes);
    }
    for (i = 0; o->batch > 0 && i < g->x.rows; i++) g->order[i] = (uint32_t)i;
    g->next = g->x.rows;
    status = look(g, 1);
    if (status == RFM_ECONVERGE) return RFM_ERANGE; /* not even the start has a finite loss */
    g->limit = o->most * max_real(g->report.start, zero_loss(g));
    return status;
}

int rfm_nfa_begin(const rfm_ctx *ctx, const rfm_nfa_options *options, rfm_cmat x, rfm_cmat y, rfm_nfa *f,
                  rfm_nfa_descent **descent) {
    span list[SPANS];
    rfm_nfa_descent *g;
    size_t used, count = 0;
    int status = ctx == NULL || descent == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (descent != NULL) *descent = NULL;
    if (status == RFM_OK) status = check_descent(ctx, options, f);
    if (status == RFM_OK) status = check_targets(f, x, y);
    if (status != RFM_OK) return status;
    add_network(list, &count, f, 1);
    add_view(list, &count, x, 0);
    add_view(list, &count, y, 0);
    if (spans_overlap(list, count)) return RFM_EALIAS;
    status = check_learning(f, x, y, options->loss);
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    g = (rfm_nfa_descent *)rfm_arena_take(ctx->arena, DESCENT_BYTES, 1);
    status = ctx->arena->status;
    if (status == RFM_OK) {
        memset(g, 0, sizeof *g);
        status = descent_layout(ctx->arena, ctx, options, f, x.rows, g);
    }
    if (status == RFM_OK) {
        pass_start(ctx, &g->s);
        g->ctx = ctx, g->o = options, g->f = f, g->x = x, g->y = y, g->used = used;
        g->state = rfm_random_start(options->seed);
        g->rule = descent_rule_of(options->method, options->momentum, options->second);
        status = begin(g);
    }
    if (status == RFM_OK)
        *descent = g;
    else
        (void)give_back(ctx, used, status);
    return status;
}

/* The next rows of the epoch. */
static int batch_gradient(rfm_nfa_descent *g) {
    const size_t n = g->x.rows, d = g->x.cols, c = g->y.cols;
    size_t left, count, done, i;
    int status = RFM_OK;
    g->taken = 0;
    if (g->o->batch == 0) return whole_loss(&g->s, g->f, g->x, g->y, g->o->loss, &g->report.batch, &g->g);
    if (g->next == n) {
        for (i = n; i > 1; i--) {
            size_t other = random_index(&g->state, i);
            uint32_t row = g->order[i - 1];
            g->order[i - 1] = g->order[other], g->order[other] = row;
        }
        g->next = 0;
    }
    left = g->taken = min_size(g->o->batch, n - g->next);
    zero_arrays(g->f, &g->g);
    g->report.batch = R(0);
    for (done = 0; status == RFM_OK && done < left; done += count) {
        count = min_size(g->s.b, left - done);
        for (i = 0; i < count; i++) {
            const size_t row = g->order[g->next + done + i];
            memcpy(g->s.rows + i * d, row_at(g->x, row), d * sizeof(rfm_real));
            memcpy(g->s.targets + i * c, row_at(g->y, row), c * sizeof(rfm_real));
        }
        status = pass_rows(&g->s, g->f, rfm_cview(g->s.rows, count, d), rfm_cview(g->s.targets, count, c), g->o->loss,
                           R(1) / R(left), &g->report.batch, &g->g);
    }
    g->next += left;
    return status;
}

static int step(rfm_nfa_descent *g) {
    const rfm_nfa_options *o = g->o;
    const rfm_real rate = o->rate * descent_factor(g->report.steps, o->steps, o->warm, o->floor);
    size_t k;
    int status = batch_gradient(g);
    if (status != RFM_OK) return status == RFM_ERANGE ? RFM_ECONVERGE : status;
    if (!(g->report.batch * batch_share(g->taken, g->x.rows) <= g->limit)) return RFM_ECONVERGE;
    descent_advance(&g->rule);
    for (k = 0; k < ARRAYS; k++) {
        if (array_size(g->f, k) == 0) continue;
        descent_move(&g->rule, array_size(g->f, k), rate * o->part[layer_of(k)], array_of(&g->g, k), g->first[k],
                     g->second[k], array_of(g->f, k));
    }
    g->report.steps++; /* numbers that are not finite are found by the next product */
    return g->report.steps % o->look == 0 ? look(g, 0) : RFM_OK;
}

int rfm_nfa_step(rfm_nfa_descent *g) {
    if (g == NULL) return RFM_ENULL;
    if (g->status != RFM_OK) return g->status;
    if (g->report.steps == g->o->steps) return RFM_EVALUE;
    g->status = step(g);
    if (g->status == RFM_OK) g->status = tick(g->ctx, R(g->report.steps) / R(g->o->steps));
    return g->status;
}

int rfm_nfa_end(rfm_nfa_descent *g, rfm_nfa_report *report) {
    int status = RFM_OK;
    if (g == NULL) return RFM_ENULL;
    if (g->status == RFM_OK && g->looked != g->report.steps) status = look(g, 0);
    copy_arrays(g->f, g->f, &g->best);
    if (report != NULL) *report = g->report;
    return give_back(g->ctx, g->used, status);
}

int rfm_nfa_descend(const rfm_ctx *ctx, const rfm_nfa_options *options, rfm_cmat x, rfm_cmat y, rfm_nfa *f,
                    rfm_nfa_report *report) {
    rfm_nfa_descent *g;
    size_t i;
    int status = rfm_nfa_begin(ctx, options, x, y, f, &g), last;
    if (status != RFM_OK) return status;
    for (i = 0; status == RFM_OK && i < options->steps; i++) status = rfm_nfa_step(g);
    last = rfm_nfa_end(g, report);
    return status == RFM_OK ? last : status;
}

/* ==== 5. Layers =============================================================================== */

typedef struct {
    size_t n, c, in, out;
    rfm_real *t, *d;    /* (c n, out) tangents, output by output; those less the start's */
    rfm_real *k, *kbar; /* (out, out) */
    rfm_real *v, *kv;   /* (out, in) W - W_start; K times the weights in hand */
    rfm_real *f, *g;    /* (in, in) */
    rfm_real t_unit;    /* of t; k and g have its square */
    pass s;
} layer_work;

static int layer_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_nfa *f, int with_start, size_t rows, size_t l,
                        layer_work *a) {
    const size_t in = f->width[l], out = f->width[l + 1], c = f->width[f->layers + 1];
    const size_t other = with_start ? 1 : 0;
    a->n = rows, a->c = c, a->in = in, a->out = out;
    a->t = rfm_arena_reals(arena, c, rows * out);
    a->d = rfm_arena_reals(arena, other * c, rows * out);
    a->k = rfm_arena_reals(arena, out, out);
    a->kbar = rfm_arena_reals(arena, other * out, out);
    a->v = rfm_arena_reals(arena, other * out, in);
    a->kv = rfm_arena_reals(arena, out, in);
    a->f = rfm_arena_reals(arena, in, in);
    a->g = rfm_arena_reals(arena, in, in);
    pass_layout(arena, ctx, f, rows, 0, &a->s);
    room_product(&a->s.inner, ctx, out, out, c * rows);
    room_product(&a->s.inner, ctx, out, in, out);
    room_product(&a->s.inner, ctx, in, in, out);
    room_product(&a->s.inner, ctx, rows, rows, out);
    return room_layout(arena, &a->s.inner);
}

int rfm_nfa_measure_need(const rfm_ctx *ctx, const rfm_nfa *f, int with_start, size_t rows, size_t layer,
                         size_t *bytes) {
    rfm_arena measure;
    layer_work a;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_shapes(f);
    if (status == RFM_OK && rows == 0) status = RFM_EZERO;
    if (status == RFM_OK && layer >= f->layers) status = RFM_EVALUE;
    if (status == RFM_OK && rows > (size_t)PTRDIFF_MAX / f->width[layer + 1]) status = RFM_EOVERFLOW;
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    (void)layer_layout(&measure, ctx, f, with_start, rows, layer, &a);
    return tell_need(&measure, bytes);
}

/* t (c n, width[l + 1]): df_o/dh_l at every row, output by output. */
static int set_tangents(pass *s, const rfm_nfa *f, rfm_cmat x, size_t l, rfm_real *t) {
    const size_t c = f->width[f->layers + 1], out = f->width[l + 1], last = f->width[f->layers];
    size_t first, rows, o, i, m;
    int status = RFM_OK;
    for (first = 0; status == RFM_OK && first < x.rows; first += rows) {
        rows = min_size(s->b, x.rows - first);
        status = forwards(s, f, rows_from(x, first, rows));
        for (o = 0; status == RFM_OK && o < c; o++) {
            size_t turn = 0;
            for (i = 0; i < rows; i++)
                memcpy(s->delta[0] + i * last, f->w[f->layers] + o * last, last * sizeof(rfm_real));
            times_slope(f->activation, rows * last, s->h[f->layers - 1], s->delta[0]);
            for (m = f->layers - 1; status == RFM_OK && m > l; m--) {
                status = one_layer_back(s, f, m, s->delta[turn], s->delta[1 - turn]);
                turn = 1 - turn;
            }
            memcpy(t + (o * x.rows + first) * out, s->delta[turn], rows * out * sizeof *t);
        }
    }
    return status;
}

/* Divided by the power of two at or below its largest entry, which is returned; 1 for one of zeros. Nothing is
 * rounded. */
static rfm_real to_unit(size_t n, rfm_real *m) {
    const rfm_real most = rfm_largest(n, m);
    rfm_real unit;
    size_t i;
    int e = 0;
    if (!(most >= REAL_LEAST)) return R(1);
    (void)RFM_MATH(frexp)(most, &e);
    unit = RFM_MATH(ldexp)(R(1), e - 1);
    for (i = 0; i < n; i++) m[i] /= unit;
    return unit;
}

/* tr(F G) of symmetric matrices. */
static rfm_real trace_of_product(size_t n, const rfm_real *f, const rfm_real *g) {
    rfm_real sum = R(0);
    size_t i, j;
    for (i = 0; i < n; i++) {
        rfm_real row = R(0);
        for (j = 0; j < n; j++) row += f[i * n + j] * g[i * n + j];
        sum += row;
    }
    return sum;
}

/* F = A'A, G = A'K A, A (out, in), and how alike they are. */
static int correlate(layer_work *a, const rfm_real *weights, const rfm_real *k, rfm_real *cosine, rfm_real *pearson) {
    const call_room *r = &a->s.inner;
    const rfm_cmat w = rfm_cview(weights, a->out, a->in), f = rfm_cview(a->f, a->in, a->in);
    int status = multiply(r, RFM_TN, R(1), w, w, R(0), rfm_view(a->f, a->in, a->in));
    if (status == RFM_OK)
        status = multiply(r, RFM_NN, R(1), rfm_cview(k, a->out, a->out), w, R(0), rfm_view(a->kv, a->out, a->in));
    if (status == RFM_OK)
        status = multiply(r, RFM_TN, R(1), w, rfm_cview(a->kv, a->out, a->in), R(0), rfm_view(a->g, a->in, a->in));
    if (status == RFM_OK) status = in_range(rfm_cosine(f, rfm_cview(a->g, a->in, a->in), cosine));
    return status == RFM_OK ? in_range(rfm_pearson(f, rfm_cview(a->g, a->in, a->in), pearson)) : status;
}

/* The standard deviation of eigenvalues in units of their mean: only traces of K and K^2 are needed. */
static rfm_real spread_of(size_t n, const rfm_real *k) {
    const rfm_real most = rfm_largest(n * n, k);
    rfm_real trace = R(0), square = R(0);
    size_t i, j;
    if (!(most > R(0))) return R(0);
    for (i = 0; i < n; i++) {
        rfm_real row = R(0);
        trace += k[i * n + i] / most;
        for (j = 0; j < n; j++) row += k[i * n + j] / most * (k[i * n + j] / most);
        square += row;
    }
    return RFM_MATH(sqrt)(max_real(R(n) * square / (trace * trace) - R(1), R(0)));
}

static int check_measure(const rfm_nfa *f, const rfm_nfa *start, rfm_cmat x, size_t l, const rfm_nfa_layer *out) {
    span list[SPANS];
    size_t count = 0, i;
    int status = out == NULL ? RFM_ENULL : check_shapes(f);
    if (status == RFM_OK && start != NULL) status = check_shapes(start);
    if (status == RFM_OK) status = check_rows(f, x);
    if (status == RFM_OK && l >= f->layers) status = RFM_EVALUE;
    if (status != RFM_OK) return status;
    if (start != NULL) {
        if (start->layers != f->layers || start->activation != f->activation) return RFM_ESHAPE;
        for (i = 0; i < f->layers + 2; i++)
            if (start->width[i] != f->width[i]) return RFM_ESHAPE;
    } else if (out->kbar.at != NULL)
        return RFM_ENULL;
    status = check_wanted(out->f, f->width[l], f->width[l]);
    if (status == RFM_OK) status = check_wanted(out->g, f->width[l], f->width[l]);
    if (status == RFM_OK) status = check_wanted(out->k, f->width[l + 1], f->width[l + 1]);
    if (status == RFM_OK) status = check_wanted(out->kbar, f->width[l + 1], f->width[l + 1]);
    if (status == RFM_OK) status = check_wanted(out->q, x.rows, x.rows);
    if (status != RFM_OK) return status;
    add_network(list, &count, f, 0);
    if (start != NULL) add_network(list, &count, start, 0);
    add_view(list, &count, x, 0);
    add_view(list, &count, rfm_const(out->f), 1);
    add_view(list, &count, rfm_const(out->g), 1);
    add_view(list, &count, rfm_const(out->k), 1);
    add_view(list, &count, rfm_const(out->kbar), 1);
    add_view(list, &count, rfm_const(out->q), 1);
    if (spans_overlap(list, count)) return RFM_EALIAS;
    if (check_numbers(f) != RFM_OK || (start != NULL && check_numbers(start) != RFM_OK)) return RFM_EFINITE;
    return finite_view(x) ? RFM_OK : RFM_EFINITE;
}

static int gram(layer_work *a, const rfm_real *t, rfm_real *k) {
    const rfm_cmat all = rfm_cview(t, a->c * a->n, a->out);
    return multiply(&a->s.inner, RFM_TN, R(1) / R(a->n), all, all, R(0), rfm_view(k, a->out, a->out));
}

/* What depends on the start. */
static int measure_start(layer_work *a, const rfm_nfa *f, const rfm_nfa *start, rfm_cmat x, size_t l,
                         rfm_nfa_layer *out) {
    const size_t tangents = a->c * a->n * a->out, weights = a->out * a->in;
    rfm_real below = R(0), unit = R(1);
    size_t i;
    int status = set_tangents(&a->s, start, x, l, a->d);
    for (i = 0; status == RFM_OK && i < tangents; i++) a->d[i] = a->t[i] * a->t_unit - a->d[i];
    if (status == RFM_OK) unit = to_unit(tangents, a->d);
    for (i = 0; i < weights; i++) a->v[i] = f->w[l][i] - start->w[l][i];
    (void)to_unit(weights, a->v); /* nothing here depends on their size, and small ones have squares below the range */
    if (status == RFM_OK) status = gram(a, a->d, a->kbar);
    if (status == RFM_OK)
        status = correlate(a, a->v, a->k, &out->cosine[RFM_NFA_CENTRED], &out->pearson[RFM_NFA_CENTRED]);
    if (status == RFM_OK) below = trace_of_product(a->in, a->f, a->g);
    if (status == RFM_OK)
        status = correlate(a, a->v, a->kbar, &out->cosine[RFM_NFA_DOUBLE], &out->pearson[RFM_NFA_DOUBLE]);
    if (status == RFM_OK && below > R(0))
        out->ratio = trace_of_product(a->in, a->f, a->g) / below * (unit / a->t_unit) * (unit / a->t_unit);
    if (status == RFM_OK)
        status = correlate(a, start->w[l], a->kbar, &out->cosine[RFM_NFA_PTK], &out->pearson[RFM_NFA_PTK]);
    if (status == RFM_OK) copy_view(out->kbar, a->kbar), status = out_of_units(out->kbar, unit);
    return status == RFM_OK && !rfm_finite(1, &out->ratio) ? RFM_ERANGE : status;
}

int rfm_nfa_measure(const rfm_ctx *ctx, const rfm_nfa *f, const rfm_nfa *start, rfm_cmat x, size_t layer,
                    rfm_nfa_layer *out) {
    rfm_nfa_layer found;
    layer_work a;
    size_t used, o;
    int status = ctx == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_measure(f, start, x, layer, out);
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    status = layer_layout(ctx->arena, ctx, f, start != NULL, x.rows, layer, &a);
    if (status != RFM_OK) return give_back(ctx, used, status);
    pass_start(ctx, &a.s);
    memset(&found, 0, sizeof found);
    found.f = out->f, found.g = out->g, found.k = out->k, found.kbar = out->kbar, found.q = out->q;
    status = set_tangents(&a.s, f, x, layer, a.t);
    if (status == RFM_OK && !rfm_finite(a.c * a.n * a.out, a.t)) status = RFM_ERANGE;
    if (status == RFM_OK) a.t_unit = to_unit(a.c * a.n * a.out, a.t);
    if (status == RFM_OK) status = gram(&a, a.t, a.k);
    if (status == RFM_OK) status = correlate(&a, f->w[layer], a.k, &found.cosine[0], &found.pearson[0]);
    if (status == RFM_OK) {
        copy_view(out->f, a.f);
        copy_view(out->g, a.g);
        copy_view(out->k, a.k);
        found.spread = spread_of(a.out, a.k);
        status = out_of_units(out->g, a.t_unit);
    }
    if (status == RFM_OK) status = out_of_units(out->k, a.t_unit);
    for (o = 0; status == RFM_OK && out->q.at != NULL && o < a.c; o++) {
        const rfm_cmat t = rfm_cview(a.t + o * a.n * a.out, a.n, a.out);
        status = multiply(&a.s.inner, RFM_NT, R(1), t, t, o > 0 ? R(1) : R(0), out->q);
    }
    if (status == RFM_OK) status = out_of_units(out->q, a.t_unit);
    if (status == RFM_OK && start != NULL) status = measure_start(&a, f, start, x, layer, &found);
    if (status == RFM_OK) *out = found;
    return give_back(ctx, used, status);
}

typedef struct {
    rfm_real *copy, *v, *w; /* (n, n), (n, n), (n) */
    call_room inner;
} control_work;

static int control_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, size_t cols, void *work) {
    control_work *a = (control_work *)work;
    size_t bytes = 0;
    (void)cols; /* n, too */
    memset(a, 0, sizeof *a);
    a->copy = rfm_arena_reals(arena, n, n);
    a->v = rfm_arena_reals(arena, n, n);
    a->w = rfm_arena_reals(arena, 1, n);
    room_for(&a->inner, rfm_eig_need(ctx, n, n, &bytes), &bytes);
    room_product(&a->inner, ctx, n, n, n);
    return room_layout(arena, &a->inner);
}

int rfm_nfa_control_need(const rfm_ctx *ctx, size_t size, size_t *bytes) {
    control_work a;
    return layout_need(control_layout, &a, ctx, size, size, bytes);
}

/* Rows that are orthonormal to rounding: each loses its part along the earlier ones, twice. */
static void orthonormal_rows(uint32_t *state, size_t n, rfm_real *o) {
    size_t i, k, j, turn;
    for (i = 0; i < n; i++) {
        rfm_real *row = o + i * n, length = R(0);
        fill_normal(state, R(1), n, row);
        for (turn = 0; turn < 2; turn++)
            for (k = 0; k < i; k++) {
                rfm_real along = R(0);
                for (j = 0; j < n; j++) along += row[j] * o[k * n + j];
                for (j = 0; j < n; j++) row[j] -= along * o[k * n + j];
            }
        for (j = 0; j < n; j++) length += row[j] * row[j];
        length = RFM_MATH(sqrt)(length);
        for (j = 0; j < n; j++) row[j] /= length;
    }
}

int rfm_nfa_control(const rfm_ctx *ctx, rfm_cmat k, uint32_t seed, rfm_mat out) {
    span list[2];
    control_work a;
    uint32_t state = rfm_random_start(seed);
    size_t used, i, j, n = k.rows, count = 0;
    int status = ctx == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_view(k);
    if (status == RFM_OK && k.rows != k.cols) status = RFM_ESHAPE;
    if (status == RFM_OK) status = check_out(out, n, n);
    if (status != RFM_OK) return status;
    add_view(list, &count, k, 0);
    add_view(list, &count, rfm_const(out), 1);
    if (spans_overlap(list, count)) return RFM_EALIAS;
    if (!finite_view(k)) return RFM_EFINITE;
    status = layout_take(control_layout, &a, &a.inner, ctx, n, n, &used);
    if (status != RFM_OK) return status;
    for (i = 0; i < n; i++) memcpy(a.copy + i * n, row_at(k, i), n * sizeof *a.copy);
    status = rfm_eig(&a.inner.ctx, rfm_view(a.copy, n, n), n, a.w, rfm_view(a.v, n, n));
    if (status == RFM_OK) {
        orthonormal_rows(&state, n, a.v);
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++) a.copy[i * n + j] = a.w[i] * a.v[i * n + j];
        status = multiply(&a.inner, RFM_TN, R(1), rfm_cview(a.copy, n, n), rfm_cview(a.v, n, n), R(0), out);
    }
    return give_back(ctx, used, in_range(status));
}

/* ==== 6. The beginning of a training ========================================================== */

typedef struct {
    rfm_real *z, *qz; /* (n, d) Y X, Q Y X */
    rfm_real *f, *g;  /* (d, d) */
    call_room inner;
} early_work;

static int early_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, size_t d, void *work) {
    early_work *a = (early_work *)work;
    memset(a, 0, sizeof *a);
    a->z = rfm_arena_reals(arena, n, d);
    a->qz = rfm_arena_reals(arena, n, d);
    a->f = rfm_arena_reals(arena, d, d);
    a->g = rfm_arena_reals(arena, d, d);
    room_product(&a->inner, ctx, n, d, n);
    room_product(&a->inner, ctx, d, d, n);
    return room_layout(arena, &a->inner);
}

int rfm_nfa_early_need(const rfm_ctx *ctx, size_t rows, size_t cols, size_t *bytes) {
    early_work a;
    return layout_need(early_layout, &a, ctx, rows, cols, bytes);
}

/* Y X; y is one column. */
static void scale_rows(rfm_cmat x, rfm_cmat y, rfm_real *z) {
    size_t i, j;
    for (i = 0; i < x.rows; i++)
        for (j = 0; j < x.cols; j++) z[i * x.cols + j] = row_at(y, i)[0] * row_at(x, i)[j];
}

int rfm_nfa_early(const rfm_ctx *ctx, rfm_cmat x, rfm_cmat y, rfm_cmat q, rfm_real *cosine) {
    const size_t n = x.rows, d = x.cols;
    early_work a;
    rfm_cmat z, qz;
    rfm_real found = R(0);
    size_t used;
    int status = ctx == NULL || cosine == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_view(x);
    if (status == RFM_OK) status = check_view(y);
    if (status == RFM_OK) status = check_view(q);
    if (status != RFM_OK) return status;
    if (y.rows != n || y.cols != 1 || q.rows != n || q.cols != n) return RFM_ESHAPE;
    if (!finite_view(x) || !finite_view(y) || !finite_view(q)) return RFM_EFINITE;
    status = layout_take(early_layout, &a, &a.inner, ctx, n, d, &used);
    if (status != RFM_OK) return status;
    scale_rows(x, y, a.z);
    z = rfm_cview(a.z, n, d), qz = rfm_cview(a.qz, n, d);
    (void)to_unit(n * d, a.z);
    status = multiply(&a.inner, RFM_NN, R(1), q, z, R(0), rfm_view(a.qz, n, d));
    if (status == RFM_OK) (void)to_unit(n * d, a.qz);
    if (status == RFM_OK) status = multiply(&a.inner, RFM_TN, R(1), z, qz, R(0), rfm_view(a.f, d, d));
    if (status == RFM_OK) status = multiply(&a.inner, RFM_TN, R(1), qz, qz, R(0), rfm_view(a.g, d, d));
    if (status == RFM_OK) status = in_range(rfm_cosine(rfm_cview(a.f, d, d), rfm_cview(a.g, d, d), &found));
    if (status == RFM_OK) *cosine = found;
    return give_back(ctx, used, status);
}

static int mean_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, size_t d, void *work) {
    call_room *r = (call_room *)work;
    memset(r, 0, sizeof *r);
    room_product(r, ctx, n, n, d);
    return room_layout(arena, r);
}

int rfm_nfa_mean_ptk_need(const rfm_ctx *ctx, size_t rows, size_t cols, size_t *bytes) {
    call_room r;
    return layout_need(mean_layout, &r, ctx, rows, cols, bytes);
}

#define NEAR_ANGLE R(1.0 / 256) /* 1 - |rho| below this is taken from the directions: a cosine near 1 has few digits */

/* |p - q|^2 / 2 of the directions of two rows of these lengths; sign -1: |p + q|^2 / 2. */
static rfm_real half_square(size_t n, const rfm_real *x, rfm_real length, const rfm_real *z, rfm_real other,
                            rfm_real sign) {
    rfm_real sum = R(0);
    size_t j;
    for (j = 0; j < n; j++) {
        const rfm_real diff = x[j] / length - sign * z[j] / other;
        sum += diff * diff;
    }
    return sum < R(2) ? R(0.5) * sum : R(1);
}

/* k0(rho) k0(k1(rho)) of two rows with this product; 0 where a length is. */
static rfm_real relu_ptk(rfm_cmat x, size_t i, size_t j, rfm_real product, rfm_real length, rfm_real other) {
    rfm_real rho, minus, plus;
    rfm_arc arc;
    if (!(length > R(0)) || !(other > R(0))) return R(0);
    rho = product / length / other;
    minus = max_real(R(1) - rho, R(0)), plus = max_real(R(1) + rho, R(0));
    if (minus < NEAR_ANGLE)
        minus = half_square(x.cols, row_at(x, i), length, row_at(x, j), other, R(1)), plus = R(2) - minus;
    else if (plus < NEAR_ANGLE)
        plus = half_square(x.cols, row_at(x, i), length, row_at(x, j), other, R(-1)), minus = R(2) - plus;
    arc = rfm_arc_at(minus, plus);
    return arc.k0 * rfm_arc_at(arc.below, R(2) - arc.below).k0;
}

/* Of the products of x in q; its diagonal, the squared lengths, is done last. */
static void ptk_of_products(int activation, rfm_cmat x, rfm_mat q) {
    size_t i, j;
    for (i = 0; i < q.rows; i++)
        for (j = 0; j < q.rows; j++) {
            const rfm_real b = q.at[i * q.stride + i], e = q.at[j * q.stride + j];
            rfm_real *at = q.at + i * q.stride + j;
            if (i == j) continue;
            *at = activation == RFM_NFA_SQUARE ? *at * (b * e + R(2) * *at * *at)
                                               : relu_ptk(x, i, j, *at, RFM_MATH(sqrt)(b), RFM_MATH(sqrt)(e));
        }
    for (i = 0; i < q.rows; i++) {
        rfm_real *at = q.at + i * q.stride + i;
        *at = activation == RFM_NFA_SQUARE ? R(3) * *at * *at * *at : *at > R(0) ? R(1) : R(0);
    }
}

int rfm_nfa_mean_ptk(const rfm_ctx *ctx, int activation, rfm_cmat x, rfm_mat q) {
    span list[2];
    size_t used, count = 0;
    call_room r;
    int status = ctx == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_view(x);
    if (status == RFM_OK) status = check_out(q, x.rows, x.rows);
    if (status != RFM_OK) return status;
    add_view(list, &count, x, 0);
    add_view(list, &count, rfm_const(q), 1);
    if (spans_overlap(list, count)) return RFM_EALIAS;
    if (!between(RFM_NFA_RELU, activation, RFM_NFA_SQUARE)) return RFM_EVALUE;
    if (!finite_view(x)) return RFM_EFINITE;
    status = layout_take(mean_layout, &r, &r, ctx, x.rows, x.cols, &used);
    if (status != RFM_OK) return status;
    status = multiply(&r, RFM_NT, R(1), x, x, R(0), q);
    if (status == RFM_OK) {
        ptk_of_products(activation, x, q);
        if (!finite_view(rfm_const(q))) status = RFM_ERANGE;
    }
    return give_back(ctx, used, status);
}

typedef struct {
    rfm_real *aw;     /* (k, d) diag(a) W */
    rfm_real *r, *r2; /* (d, d) */
    call_room inner;
} moments_work;

static int moments_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t k, size_t d, void *work) {
    moments_work *a = (moments_work *)work;
    memset(a, 0, sizeof *a);
    a->aw = rfm_arena_reals(arena, k, d);
    a->r = rfm_arena_reals(arena, d, d);
    a->r2 = rfm_arena_reals(arena, d, d);
    room_product(&a->inner, ctx, d, d, k);
    room_product(&a->inner, ctx, d, d, d);
    return room_layout(arena, &a->inner);
}

int rfm_nfa_moments_need(const rfm_ctx *ctx, size_t width, size_t inputs, size_t *bytes) {
    moments_work a;
    return layout_need(moments_layout, &a, ctx, width, inputs, bytes);
}

int rfm_nfa_moments(const rfm_ctx *ctx, rfm_cmat w, rfm_cmat a, rfm_real moments[4], rfm_mat r) {
    const size_t k = w.rows, d = w.cols;
    span list[3];
    moments_work m;
    rfm_real found[4] = {R(0)};
    size_t used, i, j, count = 0;
    int status = ctx == NULL || moments == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_view(w);
    if (status == RFM_OK) status = check_view(a);
    if (status == RFM_OK && (a.rows != 1 || a.cols != k)) status = RFM_ESHAPE;
    if (status == RFM_OK) status = check_wanted(r, d, d);
    if (status != RFM_OK) return status;
    add_view(list, &count, w, 0);
    add_view(list, &count, a, 0);
    add_view(list, &count, rfm_const(r), 1);
    if (spans_overlap(list, count)) return RFM_EALIAS;
    if (!finite_view(w) || !finite_view(a)) return RFM_EFINITE;
    status = layout_take(moments_layout, &m, &m.inner, ctx, k, d, &used);
    if (status != RFM_OK) return status;
    for (i = 0; i < k; i++)
        for (j = 0; j < d; j++) m.aw[i * d + j] = a.at[i] * row_at(w, i)[j];
    status = multiply(&m.inner, RFM_TN, R(1), rfm_cview(m.aw, k, d), rfm_cview(m.aw, k, d), R(0), rfm_view(m.r, d, d));
    if (status == RFM_OK)
        status =
            multiply(&m.inner, RFM_NN, R(1), rfm_cview(m.r, d, d), rfm_cview(m.r, d, d), R(0), rfm_view(m.r2, d, d));
    if (status == RFM_OK) {
        for (i = 0; i < d; i++) found[0] += m.r[i * d + i];
        found[1] = trace_of_product(d, m.r, m.r);
        found[2] = trace_of_product(d, m.r2, m.r);
        found[3] = trace_of_product(d, m.r2, m.r2);
        if (!rfm_finite(4, found)) status = RFM_ERANGE;
    }
    for (i = 0; status == RFM_OK && i < 4; i++) moments[i] = found[i] / R(d);
    if (status == RFM_OK) copy_view(r, m.r);
    return give_back(ctx, used, status);
}

typedef struct {
    rfm_real *z;         /* (n, d) Y X */
    rfm_real *s, *b;     /* (d, d) divided by their largest entries */
    rfm_real *t, *u, *v; /* (d, d) */
    call_room inner;
} align_work;

static int align_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, size_t d, void *work) {
    align_work *a = (align_work *)work;
    memset(a, 0, sizeof *a);
    a->z = rfm_arena_reals(arena, n, d);
    a->s = rfm_arena_reals(arena, d, d);
    a->b = rfm_arena_reals(arena, d, d);
    a->t = rfm_arena_reals(arena, d, d);
    a->u = rfm_arena_reals(arena, d, d);
    a->v = rfm_arena_reals(arena, d, d);
    room_product(&a->inner, ctx, d, d, n);
    room_product(&a->inner, ctx, d, d, d);
    return room_layout(arena, &a->inner);
}

int rfm_nfa_align_need(const rfm_ctx *ctx, size_t rows, size_t inputs, size_t *bytes) {
    align_work a;
    return layout_need(align_layout, &a, ctx, rows, inputs, bytes);
}

/* m -= (trace / d) I; returns trace / d. */
static rfm_real take_trace(size_t d, rfm_real *m) {
    rfm_real trace = R(0);
    size_t i;
    for (i = 0; i < d; i++) trace += m[i * d + i];
    trace /= R(d);
    for (i = 0; i < d; i++) m[i * d + i] -= trace;
    return trace;
}

/* trace(P P) / d; P is not symmetric. */
static rfm_real trace_of_square(size_t d, const rfm_real *p) {
    rfm_real sum = R(0);
    size_t i, j;
    for (i = 0; i < d; i++) {
        rfm_real row = R(0);
        for (j = 0; j < d; j++) row += p[i * d + j] * p[j * d + i];
        sum += row;
    }
    return sum / R(d);
}

/* The formulas of free probability, with A = S^2 in t; the bars are made in place, in t and in b. In units of the first
 * moment, m1. */
static int predict_alignment(align_work *a, size_t d, const rfm_real *m, rfm_real m1, rfm_nfa_alignment *out) {
    const rfm_real m2 = m[1] / m1 / m1, m3 = m[2] / m1 / m1 / m1, m4 = m[3] / m1 / m1 / m1 / m1, n = R(d);
    const rfm_real aa = trace_of_product(d, a->t, a->t) / n, ta = take_trace(d, a->t), tb = take_trace(d, a->b);
    const rfm_real abar2 = trace_of_product(d, a->t, a->t) / n, bbar2 = trace_of_product(d, a->b, a->b) / n;
    const rfm_real ab = trace_of_product(d, a->t, a->b) / n;
    rfm_real aab, abb, abab;
    int status = multiply(&a->inner, RFM_NN, R(1), rfm_cview(a->t, d, d), rfm_cview(a->b, d, d), R(0),
                          rfm_view(a->u, d, d)); /* Abar Bbar */
    if (status != RFM_OK) return status;
    aab = trace_of_product(d, a->t, a->u) / n;
    abb = trace_of_product(d, a->u, a->b) / n;
    abab = trace_of_square(d, a->u);
    out->numerator = ta * ta * tb * m3 + R(2) * ta * m2 * ab + tb * m2 * abar2 + aab;
    out->d1 = aa + ta * ta * (m2 - R(1));
    out->d2 = abab + R(2) * (m2 - R(1)) * ab * ab + R(2) * m2 * (tb * aab + ta * abb) + R(4) * ta * tb * m3 * ab +
              ta * ta * tb * tb * m4 + ta * ta * bbar2 * m2 * m2 + tb * tb * abar2 * m2 * m2;
    out->predicted =
        out->d1 > R(0) && out->d2 > R(0) ? out->numerator / (RFM_MATH(sqrt)(out->d1) * RFM_MATH(sqrt)(out->d2)) : R(0);
    return RFM_OK;
}

/* Cosine and prediction in units of S, B and R, then the units. */
static int align(align_work *a, size_t d, const rfm_real *moments, rfm_cmat r, rfm_nfa_alignment *out) {
    const call_room *w = &a->inner;
    const rfm_real m1 = moments[0] > R(0) ? moments[0] : R(1);
    const rfm_cmat s = rfm_cview(a->s, d, d), b = rfm_cview(a->b, d, d);
    const rfm_cmat t = rfm_cview(a->t, d, d), u = rfm_cview(a->u, d, d), v = rfm_cview(a->v, d, d);
    const rfm_real s_unit = to_unit(d * d, a->s), b_unit = to_unit(d * d, a->b), a_unit = s_unit * s_unit;
    int status = multiply(w, RFM_NN, R(1), s, r, R(0), rfm_view(a->t, d, d)); /* T = S R */
    if (status == RFM_OK) (void)to_unit(d * d, a->t);
    if (status == RFM_OK) status = multiply(w, RFM_NN, R(1), t, b, R(0), rfm_view(a->u, d, d)); /* T B */
    if (status == RFM_OK) status = multiply(w, RFM_NT, R(1), u, t, R(0), rfm_view(a->v, d, d)); /* T B T' */
    if (status == RFM_OK) status = multiply(w, RFM_NN, R(1), t, s, R(0), rfm_view(a->u, d, d)); /* T S */
    if (status == RFM_OK) status = in_range(rfm_cosine(u, v, &out->observed));
    if (status == RFM_OK) status = multiply(w, RFM_NN, R(1), s, s, R(0), rfm_view(a->t, d, d));
    if (status == RFM_OK) status = predict_alignment(a, d, moments, m1, out);
    if (status != RFM_OK) return status;
    out->numerator = out->numerator * m1 * a_unit * m1 * a_unit * m1 * b_unit, out->d1 *= m1 * a_unit * (m1 * a_unit);
    out->d2 = out->d2 * m1 * a_unit * m1 * a_unit * m1 * b_unit * m1 * b_unit;
    return rfm_finite(1, &out->numerator) && rfm_finite(1, &out->d1) && rfm_finite(1, &out->d2) &&
                   rfm_finite(1, &out->predicted)
               ? RFM_OK
               : RFM_ERANGE;
}

static int check_align(rfm_cmat x, rfm_cmat y, const rfm_real *moments, rfm_cmat r, const rfm_nfa_alignment *out) {
    const size_t d = x.cols;
    span list[5];
    size_t count = 0;
    int status = moments == NULL || out == NULL ? RFM_ENULL : check_view(x);
    if (status == RFM_OK) status = check_view(y);
    if (status == RFM_OK) status = check_view(r);
    if (status != RFM_OK) return status;
    if (y.rows != x.rows || y.cols != 1 || r.rows != d || r.cols != d) return RFM_ESHAPE;
    status = check_wanted(out->s, d, d);
    if (status == RFM_OK) status = check_wanted(out->b, d, d);
    if (status != RFM_OK) return status;
    add_view(list, &count, x, 0);
    add_view(list, &count, y, 0);
    add_view(list, &count, r, 0);
    add_view(list, &count, rfm_const(out->s), 1);
    add_view(list, &count, rfm_const(out->b), 1);
    if (spans_overlap(list, count)) return RFM_EALIAS;
    return finite_view(x) && finite_view(y) && finite_view(r) && rfm_finite(4, moments) ? RFM_OK : RFM_EFINITE;
}

int rfm_nfa_align(const rfm_ctx *ctx, rfm_cmat x, rfm_cmat y, const rfm_real moments[4], rfm_cmat r,
                  rfm_nfa_alignment *out) {
    const size_t n = x.rows, d = x.cols;
    rfm_nfa_alignment found;
    align_work a;
    size_t used;
    int status = ctx == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_align(x, y, moments, r, out);
    if (status != RFM_OK) return status;
    if (moments[0] > R(0) && moments[3] < REAL_LEAST) return RFM_ERANGE; /* the fourth one has lost its digits */
    status = layout_take(align_layout, &a, &a.inner, ctx, n, d, &used);
    if (status != RFM_OK) return status;
    memset(&found, 0, sizeof found);
    found.s = out->s, found.b = out->b;
    scale_rows(x, y, a.z);
    status = multiply(&a.inner, RFM_TN, R(1), x, rfm_cview(a.z, n, d), R(0), rfm_view(a.s, d, d));
    if (status == RFM_OK) status = multiply(&a.inner, RFM_TN, R(1), x, x, R(0), rfm_view(a.b, d, d));
    if (status == RFM_OK) {
        copy_view(out->s, a.s);
        copy_view(out->b, a.b);
        status = align(&a, d, moments, r, &found);
    }
    if (status == RFM_OK) *out = found;
    return give_back(ctx, used, status);
}

/* ==== 7. Data that spoils the alignment ======================================================= */

void rfm_nfa_reversing_init(rfm_nfa_reversing_options *o) {
    o->balance = R(0.5), o->spread = R(0.5), o->noise = R(0.01), o->unit = R(1), o->seed = 0;
}

typedef struct {
    size_t first, others, parts; /* rows of X_1 and X_2, components of X_2 */
    rfm_real *gram, *e, *l;      /* (d, d), (parts, d), (d) eigenpairs of X_1'X_1 */
    rfm_real *like, *square;     /* (others, d) rows like X_1, (others, others) */
    rfm_real *v, *sizes;         /* (parts, others), (others) */
    call_room inner;
} reversing_work;

static int reversing_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, size_t d, reversing_work *a) {
    size_t bytes = 0;
    memset(&a->inner, 0, sizeof a->inner);
    a->others = n - a->first;
    a->parts = min_size(min_size(a->first, a->others), d);
    if (a->parts == 0) return arena->status;
    a->gram = rfm_arena_reals(arena, d, d);
    a->e = rfm_arena_reals(arena, a->parts, d);
    a->l = rfm_arena_reals(arena, 1, d);
    a->like = rfm_arena_reals(arena, a->others, d);
    a->square = rfm_arena_reals(arena, a->others, a->others);
    a->v = rfm_arena_reals(arena, a->parts, a->others);
    a->sizes = rfm_arena_reals(arena, 1, a->others);
    room_product(&a->inner, ctx, d, d, a->first);
    room_product(&a->inner, ctx, a->others, a->others, d);
    room_product(&a->inner, ctx, a->others, d, a->parts);
    room_for(&a->inner, rfm_eig_need(ctx, d, a->parts, &bytes), &bytes);
    room_for(&a->inner, rfm_eig_need(ctx, a->others, a->parts, &bytes), &bytes);
    return room_layout(arena, &a->inner);
}

static int check_reversing(const rfm_nfa_reversing_options *o, size_t n, size_t d, reversing_work *a) {
    if (o == NULL) return RFM_ENULL;
    if (n == 0 || d == 0) return RFM_EZERO;
    if (!(o->balance > R(0)) || !(o->balance <= R(1)) || !factor_right(o->spread) || !factor_right(o->noise))
        return RFM_EVALUE;
    if (!(o->unit > R(0)) || !rfm_finite(1, &o->unit)) return RFM_EVALUE;
    memset(a, 0, sizeof *a);
    a->first = min_size((size_t)(o->balance * R(n) + R(0.5)), n);
    return a->first > 0 ? RFM_OK : RFM_EVALUE;
}

int rfm_nfa_reversing_need(const rfm_ctx *ctx, const rfm_nfa_reversing_options *options, size_t rows, size_t inputs,
                           size_t *bytes) {
    rfm_arena measure;
    reversing_work a;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_reversing(options, rows, inputs, &a);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    (void)reversing_layout(&measure, ctx, rows, inputs, &a);
    return tell_need(&measure, bytes);
}

/* Rows of N(0, 11' + spread I) / unit. */
static void common_rows(const rfm_nfa_reversing_options *o, uint32_t *state, rfm_mat x) {
    const rfm_real own = RFM_MATH(sqrt)(o->spread);
    size_t i, j;
    for (i = 0; i < x.rows; i++) {
        const rfm_real common = random_normal(state);
        for (j = 0; j < x.cols; j++) x.at[i * x.stride + j] = (common + own * random_normal(state)) / o->unit;
    }
}

/* X_2 = V' diag(1 / l) E, with V (parts, others) and E (parts, d). An eigenvalue that is 0 to rounding counts as that
 * rounding. */
static int set_others(reversing_work *a, rfm_cmat x1, rfm_mat x2) {
    const size_t d = x1.cols, others = a->others, parts = a->parts;
    const call_room *r = &a->inner;
    const rfm_cmat like = rfm_cview(a->like, others, d);
    size_t p, j;
    int status = multiply(r, RFM_TN, R(1), x1, x1, R(0), rfm_view(a->gram, d, d));
    if (status == RFM_OK) status = rfm_eig(&r->ctx, rfm_view(a->gram, d, d), parts, a->l, rfm_view(a->e, parts, d));
    if (status == RFM_OK) status = multiply(r, RFM_NT, R(1), like, like, R(0), rfm_view(a->square, others, others));
    if (status == RFM_OK)
        status = rfm_eig(&r->ctx, rfm_view(a->square, others, others), parts, a->sizes, rfm_view(a->v, parts, others));
    if (status != RFM_OK) return status;
    for (p = 0; p < parts; p++) {
        const rfm_real l = max_real(a->l[p], max_real(R(d) * REAL_EPS * a->l[0], REAL_LEAST));
        for (j = 0; j < d; j++) a->e[p * d + j] /= l;
    }
    return multiply(r, RFM_TN, R(1), rfm_cview(a->v, parts, others), rfm_cview(a->e, parts, d), R(0), x2);
}

int rfm_nfa_reversing(const rfm_ctx *ctx, const rfm_nfa_reversing_options *options, rfm_mat x, rfm_mat y) {
    span list[2];
    reversing_work a;
    rfm_mat part;
    uint32_t state;
    size_t used, i, j, count = 0;
    int status = ctx == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_view(rfm_const(x));
    if (status == RFM_OK) status = check_out(y, x.rows, 1);
    if (status == RFM_OK) status = check_reversing(options, x.rows, x.cols, &a);
    if (status != RFM_OK) return status;
    add_view(list, &count, rfm_const(x), 1);
    add_view(list, &count, rfm_const(y), 1);
    if (spans_overlap(list, count)) return RFM_EALIAS;
    used = ctx->arena->used;
    status = reversing_layout(ctx->arena, ctx, x.rows, x.cols, &a);
    if (status != RFM_OK) return give_back(ctx, used, status);
    state = rfm_random_start(options->seed);
    part = x, part.rows = a.first;
    common_rows(options, &state, part);
    if (a.parts > 0) {
        rfm_mat others = x;
        room_start(ctx, &a.inner);
        common_rows(options, &state, rfm_view(a.like, a.others, x.cols));
        others.at = x.at + a.first * x.stride, others.rows = a.others;
        status = in_range(set_others(&a, rfm_const(part), others));
    }
    for (i = 0; status == RFM_OK && i < x.rows; i++) {
        for (j = 0; j < x.cols; j++) x.at[i * x.stride + j] += options->noise / options->unit * random_normal(&state);
        y.at[i * y.stride] = (i < a.first ? R(1) : R(0)) + R(1e-5);
    }
    if (status == RFM_OK && !finite_view(rfm_const(x))) status = RFM_ERANGE;
    return give_back(ctx, used, status);
}

#else
typedef int rfm_nfa_is_for_training;
#endif

/* rfm_nfa - small networks, and what the papers on the neural feature ansatz measure in them.
 *
 *   x_0 = x,   h_l = W_l x_l + b_l,   x_{l+1} = phi(h_l) for l < L,   f = h_L
 *
 * The ansatz says that W'W of a layer is proportional to the average gradient outer product (AGOP) of the network by
 * that layer's input. RFM is this ansatz made into an algorithm; here are the networks that it was read from. L is the
 * number of hidden layers. Conventions as in rfm.h; built on its public functions.
 */
#ifndef RFM_NFA_H
#define RFM_NFA_H

#include "rfm.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RFM_NO_TRAIN

/* ---- networks -------------------------------------------------------------------------------- */

#define RFM_NFA_HIDDEN 4 /* hidden layers, at most */

#define RFM_NFA_RELU   0 /* phi(h) = max(h, 0), phi'(0) = 0 */
#define RFM_NFA_SQUARE 1 /* phi(h) = h^2 */
#define RFM_NFA_LINEAR 2 /* phi(h) = h */

/* A plain description of arrays that live elsewhere. */
typedef struct {
    size_t layers;                    /* L, 1 to RFM_NFA_HIDDEN */
    size_t width[RFM_NFA_HIDDEN + 2]; /* inputs, hidden layers, outputs: L + 2 of them, none is 0 */
    int activation;
    rfm_real *w[RFM_NFA_HIDDEN + 1]; /* W_l (width[l + 1], width[l]), l <= L */
    rfm_real *b[RFM_NFA_HIDDEN + 1]; /* b_l (width[l + 1]); NULL: zeros */
} rfm_nfa;

#define RFM_NFA_NORMAL  0 /* W_l: N(0, scale_l / width[l]); biases 0 */
#define RFM_NFA_UNIFORM 1 /* as PyTorch starts: W_l and b_l uniform within scale_l / sqrt(width[l]) */

/* rfm_nfa_start_init() sets what is said in (parentheses). */
typedef struct {
    size_t layers;                      /* (2) */
    size_t width[RFM_NFA_HIDDEN + 2];   /* (0) */
    int activation;                     /* (RFM_NFA_RELU) */
    int biases;                         /* (0) 1: every layer has them */
    int kind;                           /* (RFM_NFA_NORMAL) */
    rfm_real scale[RFM_NFA_HIDDEN + 1]; /* (1) >= 0 */
    uint32_t seed;                      /* (0) */
} rfm_nfa_start_options;

void rfm_nfa_start_init(rfm_nfa_start_options *options);

/* A network with random weights; arrays from `store`. RFM_ENULL, RFM_EZERO (a layer without width), RFM_EVALUE,
 * RFM_EOVERFLOW, RFM_EARENA: neither *f nor `store` has changed. */
int rfm_nfa_start(const rfm_nfa_start_options *options, rfm_arena *store, rfm_nfa *f);
int rfm_nfa_start_need(const rfm_nfa_start_options *options, size_t *store);

/* Y (m, c) = f(X), X (m, d), 256 rows at a time. RFM_ENULL, RFM_EZERO, RFM_ESHAPE, RFM_ESTRIDE, RFM_EOVERFLOW,
 * RFM_EALIAS, RFM_EFINITE, RFM_EVALUE, RFM_EARENA: nothing written. RFM_ERANGE: Y is undefined. */
int rfm_nfa_predict(const rfm_ctx *ctx, const rfm_nfa *f, rfm_cmat x, rfm_mat y);
int rfm_nfa_predict_need(const rfm_ctx *ctx, const rfm_nfa *f, size_t rows, size_t *bytes);

/* ---- loss and descent ------------------------------------------------------------------------ */

#define RFM_NFA_SQUARED 0 /* |f - y|^2 */
#define RFM_NFA_ENTROPY 1 /* cross-entropy of softmax(f), y >= 0; c = 1: logistic, -1 <= y <= 1 */

/* The mean loss over the rows. gradient: its arrays, of f's shapes, become the derivatives; an array that is NULL is
 * not wanted, nor is any if gradient is NULL; nothing else in it is looked at. Status as rfm_nfa_predict. RFM_EVALUE:
 * also targets that the cross-entropy does not take. RFM_ENULL: also a gradient by biases that f has not. RFM_ERANGE:
 * the gradient is undefined. */
int rfm_nfa_loss(const rfm_ctx *ctx, const rfm_nfa *f, rfm_cmat x, rfm_cmat y, int loss_kind, rfm_real *loss,
                 const rfm_nfa *gradient);
int rfm_nfa_loss_need(const rfm_ctx *ctx, const rfm_nfa *f, size_t rows, size_t *bytes);

#define RFM_NFA_PLAIN    0 /* minus the rate times the gradient */
#define RFM_NFA_MOMENTUM 1 /* v = momentum v + gradient; minus the rate times v */
#define RFM_NFA_ADAM     2

/* rfm_nfa_options_init() sets what is said in (parentheses). */
typedef struct {
    int loss;                          /* (RFM_NFA_SQUARED) */
    int method;                        /* (RFM_NFA_PLAIN) */
    size_t steps;                      /* (800) */
    size_t batch;                      /* (0) rows of a step, 0: all. An epoch takes every row once, shuffled anew;
                                          its last batch has what is left */
    rfm_real rate;                     /* (0.05) > 0 */
    rfm_real floor;                    /* (1) share of it at the end, falling as a cosine; 1: constant */
    rfm_real warm;                     /* (0) share of the steps in which the rate rises from 0 */
    rfm_real part[RFM_NFA_HIDDEN + 1]; /* (1) factor of the rate for W_l and b_l; 0: held fixed */
    rfm_real momentum;                 /* (0.9) of RFM_NFA_MOMENTUM and RFM_NFA_ADAM, 0 <= momentum < 1 */
    rfm_real second;                   /* (0.999) decay of Adam's mean squares, likewise */
    size_t look;                       /* (100) steps between looks at the loss of all rows; the best is kept */
    rfm_real most;                     /* (100) a loss above this times that of the start, or of zeros: divergence; of
                                          a batch what it adds to the mean of all rows */
    uint32_t seed;                     /* (0) of the shuffles */
} rfm_nfa_options;

void rfm_nfa_options_init(rfm_nfa_options *options);

typedef struct {
    size_t steps;         /* done */
    rfm_real start, best; /* loss of all rows at the start, and of what was kept */
    size_t kept;          /* after this many steps */
    rfm_real batch;       /* loss of the last batch, before its step */
} rfm_nfa_report;

/* Moves f. After a refusal (RFM_ENULL ... RFM_EARENA) f is unchanged. RFM_ECONVERGE: it diverged; RFM_ECANCEL: f is the
 * state with the least loss that was looked at, as it is after success, and *report (which may be NULL) tells about it.
 * RFM_ERANGE: not even the start has a finite loss. Ticks. */
int rfm_nfa_descend(const rfm_ctx *ctx, const rfm_nfa_options *options, rfm_cmat x, rfm_cmat y, rfm_nfa *f,
                    rfm_nfa_report *report);
int rfm_nfa_descend_need(const rfm_ctx *ctx, const rfm_nfa_options *options, const rfm_nfa *f, size_t rows,
                         size_t *bytes);

/* The same step by step. From begin to end a descent holds memory of ctx->arena, as much as rfm_nfa_descend needs, and
 * looks at all arguments of begin. Between steps f is the state that the last one led to. */
typedef struct rfm_nfa_descent rfm_nfa_descent;

/* *descent is NULL after a failure. */
int rfm_nfa_begin(const rfm_ctx *ctx, const rfm_nfa_options *options, rfm_cmat x, rfm_cmat y, rfm_nfa *f,
                  rfm_nfa_descent **descent);
/* One step. RFM_EVALUE: options->steps are done. After another failure, which is as above, the only call is end. */
int rfm_nfa_step(rfm_nfa_descent *descent);
/* A last look; f becomes the best state, the memory goes back. */
int rfm_nfa_end(rfm_nfa_descent *descent, rfm_nfa_report *report);

/* ---- what a layer shows ---------------------------------------------------------------------- */

/* Places in rfm_nfa_layer's correlations. */
#define RFM_NFA_UNCENTRED 0 /* W'W, W'K W */
#define RFM_NFA_CENTRED   1 /* V'V, V'K V; V = W - W_start */
#define RFM_NFA_DOUBLE    2 /* V'V, V'Kbar V */
#define RFM_NFA_PTK       3 /* U'U, U'Kbar U; U = W_start */
#define RFM_NFA_CENTRINGS 4

/* Of layer l < L, with the tangents g_i = df/dh_l at row i (sums over the outputs). Views that are wanted, of the
 * shapes in parentheses, k = width[l + 1], j = width[l]; at == NULL: not wanted. */
typedef struct {
    rfm_mat f;    /* (j, j) F = W'W, the neural feature matrix */
    rfm_mat g;    /* (j, j) G = W'K W, the AGOP by the layer's input */
    rfm_mat k;    /* (k, k) K = (1/n) sum_i g_i g_i' */
    rfm_mat kbar; /* (k, k) the same of g_i less the start's */
    rfm_mat q;    /* (n, n) g_i'g_j, the pre-activation tangent kernel (PTK) */
    rfm_real cosine[RFM_NFA_CENTRINGS], pearson[RFM_NFA_CENTRINGS]; /* as rfm_cosine and rfm_pearson */
    rfm_real ratio;  /* tr(V'V V'Kbar V) / tr(V'V V'K V); 0 where the divisor is 0 */
    rfm_real spread; /* standard deviation of K's eigenvalues in units of their mean; 0 if K = 0 */
} rfm_nfa_layer;

/* Layer l of f at the rows X (n, d). start: the network at the start, of f's shape; NULL: there is none, and everything
 * with V, U or Kbar is 0 (a kbar that is wanted: RFM_ENULL). Status as rfm_nfa_predict; RFM_EVALUE: no such layer. */
int rfm_nfa_measure(const rfm_ctx *ctx, const rfm_nfa *f, const rfm_nfa *start, rfm_cmat x, size_t layer,
                    rfm_nfa_layer *out);
int rfm_nfa_measure_need(const rfm_ctx *ctx, const rfm_nfa *f, int with_start, size_t rows, size_t layer,
                         size_t *bytes);

/* The control of equal spectrum: out (k, k) = O' diag(eigenvalues of K) O with a random orthogonal O (rows of normal
 * numbers made orthogonal one after the other). RFM_ECONVERGE: no eigenvalues. */
int rfm_nfa_control(const rfm_ctx *ctx, rfm_cmat k, uint32_t seed, rfm_mat out);
int rfm_nfa_control_need(const rfm_ctx *ctx, size_t size, size_t *bytes);

/* ---- what the beginning of a training must show ---------------------------------------------- */

/* The centred correlation of the first small step from f ~ 0, squared loss, one output: the cosine of X'Y Q Y X and
 * X'Y Q^2 Y X, Y = diag(y). x (n, j) are the inputs of the layer, y (n, 1), q (n, n) its PTK. */
int rfm_nfa_early(const rfm_ctx *ctx, rfm_cmat x, rfm_cmat y, rfm_cmat q, rfm_real *cosine);
int rfm_nfa_early_need(const rfm_ctx *ctx, size_t rows, size_t cols, size_t *bytes);

/* q (n, n): the PTK that the first layer of a wide network with two hidden layers has on average, but for a factor.
 * RFM_NFA_RELU: k0(rho) k0(k1(rho)), 0 where a row is zero; RFM_NFA_SQUARE: x'z (|x|^2 |z|^2 + 2 (x'z)^2). */
int rfm_nfa_mean_ptk(const rfm_ctx *ctx, int activation, rfm_cmat x, rfm_mat q);
int rfm_nfa_mean_ptk_need(const rfm_ctx *ctx, size_t rows, size_t cols, size_t *bytes);

/* One hidden layer, f = a'(W x)^2: with S = X'Y X, B = X'X and R = W' diag(a^2) W the two matrices are S R S and
 * S R B R S. Free probability predicts their cosine from S, B and the moments of R. */

/* moments[p - 1] = trace(R^p) / d, p = 1..4; W (k, d), a (1, k). r (d, d) if wanted; at == NULL: not. */
int rfm_nfa_moments(const rfm_ctx *ctx, rfm_cmat w, rfm_cmat a, rfm_real moments[4], rfm_mat r);
int rfm_nfa_moments_need(const rfm_ctx *ctx, size_t width, size_t inputs, size_t *bytes);

typedef struct {
    rfm_mat s, b;                 /* (d, d) if wanted; at == NULL: not */
    rfm_real numerator, d1, d2;   /* of the prediction */
    rfm_real predicted, observed; /* numerator / sqrt(d1 d2); the cosine for this R */
} rfm_nfa_alignment;

/* x (n, d), y (n, 1), moments of rfm_nfa_moments (means over networks), r (d, d) of one network. Status as rfm_gemm.
 * RFM_ERANGE also: the fourth moment is below the normal range, and the first is not 0. */
int rfm_nfa_align(const rfm_ctx *ctx, rfm_cmat x, rfm_cmat y, const rfm_real moments[4], rfm_cmat r,
                  rfm_nfa_alignment *out);
int rfm_nfa_align_need(const rfm_ctx *ctx, size_t rows, size_t inputs, size_t *bytes);

/* Data that spoils the alignment: of n rows the first round(balance n) are X_1 ~ N(0, 11' + spread I) / unit, y = 1;
 * the others X_2 = V diag(1 / l) E, y = 0, with eigenvalues l and eigenvectors E (rows) of X_1'X_1, and V the left
 * singular vectors of as many rows like X_1. Then noise N(0, 1) noise / unit is added to all, and 1e-5 to y.
 * rfm_nfa_reversing_init() sets what is said in (parentheses). */
typedef struct {
    rfm_real balance; /* (0.5) 0 < balance <= 1, at least one row */
    rfm_real spread;  /* (0.5) >= 0 */
    rfm_real noise;   /* (0.01) >= 0 */
    rfm_real unit;    /* (1) > 0. With 1 X_2 vanishes beside X_1; n^0.8 lets the balance decide */
    uint32_t seed;    /* (0) */
} rfm_nfa_reversing_options;

void rfm_nfa_reversing_init(rfm_nfa_reversing_options *options);

/* x (n, d), y (n, 1) are written. RFM_EVALUE: an option outside its range. RFM_ECONVERGE: no eigenvalues. */
int rfm_nfa_reversing(const rfm_ctx *ctx, const rfm_nfa_reversing_options *options, rfm_mat x, rfm_mat y);
int rfm_nfa_reversing_need(const rfm_ctx *ctx, const rfm_nfa_reversing_options *options, size_t rows, size_t inputs,
                           size_t *bytes);

#endif /* RFM_NO_TRAIN */

#ifdef __cplusplus
}
#endif
#endif

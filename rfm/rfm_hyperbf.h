/* rfm_hyperbf - HyperBF networks: a few centres and a low rank, both moved by gradient descent.
 *
 *   f(x) = offset + sum_a alpha_a phi(|W (x - shift) - u_a|)
 *
 * In the papers' letters alpha is C, and u_a = W (t_a - shift) for centres t_a. An RFM finds W by gradient outer
 * products and keeps every row as a centre; here everything moves, so that a handful of centres does the same work. The
 * result is an ordinary rfm_model. Conventions as in rfm.h; built on its public functions and those of rfm_small.h.
 */
#ifndef RFM_HYPERBF_H
#define RFM_HYPERBF_H

#include "rfm.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RFM_NO_TRAIN

/* ---- parameters ------------------------------------------------------------------------------ */

/* A plain description of arrays that live elsewhere. 0 < r <= d. The kernel is one whose norm is 2. */
typedef struct {
    size_t n, d, c, r; /* centres, inputs, outputs, rank of W */
    int kernel;
    rfm_real exponent, bandwidth;
    rfm_real *shift;   /* (d) is taken from every input */
    rfm_real *alpha;   /* (n, c) */
    rfm_real *centers; /* (n, r) u_a */
    rfm_real
        *inputs; /* (n, d) t_a: then they are the parameters, and centers is W (t_a - shift). NULL: u_a move freely */
    rfm_real *p; /* (r, d) W */
    rfm_real *offset; /* (c); NULL: zeros */
    uint32_t *labels; /* (n) prototypes: alpha of centre a is 0, and stays so, but in column labels[a]. NULL: none */
} rfm_hyperbf;

/* The same function as a model: arrays from `store`, metric RFM_FULL, task RFM_REGRESS, no names. RFM_ENULL, RFM_EZERO,
 * RFM_EVALUE, RFM_EFINITE, RFM_EARENA: neither *model nor `store` has changed. */
int rfm_hyperbf_model(const rfm_hyperbf *f, rfm_arena *store, rfm_model *model);
int rfm_hyperbf_model_need(const rfm_hyperbf *f, size_t *store);

/* ---- loss and gradient ----------------------------------------------------------------------- */

#define RFM_HYPERBF_SQUARED 0 /* |y - f|^2 */
#define RFM_HYPERBF_ENTROPY 1 /* cross-entropy of softmax(f / temperature), y >= 0; c = 1: logistic, -1 <= y <= 1 */

/* H = sum_i weight_i loss(y_i, f(x_i)) + ridge |alpha|^2. rfm_hyperbf_cost_init() sets what is said in
 * (parentheses). */
typedef struct {
    int kind;             /* (RFM_HYPERBF_SQUARED) */
    rfm_real temperature; /* (1) of the cross-entropy, > 0 */
    rfm_real ridge;       /* (0) */
} rfm_hyperbf_cost;

void rfm_hyperbf_cost_init(rfm_hyperbf_cost *cost);

/* dH by each parameter, in the caller's arrays of the same shape. NULL: not wanted. Where f->inputs is there, `p` holds
 * t_a fixed, else u_a; `centers` always holds W fixed. Pairs at distance 0 add nothing to inputs, centers and p. */
typedef struct {
    rfm_real *alpha, *centers, *inputs, *p, *offset;
    rfm_real bandwidth; /* by log L */
} rfm_hyperbf_gradient;

/* H on data->x, y, weights; *gradient, if that is not NULL. Products of matrices, 256 rows at a time. RFM_ENULL (also
 * for a gradient by something that f does not have), RFM_EZERO, RFM_ESHAPE, RFM_ESTRIDE, RFM_EOVERFLOW, RFM_EALIAS,
 * RFM_EFINITE, RFM_EVALUE, RFM_EARENA: nothing written. RFM_ERANGE: the gradient is undefined. */
int rfm_hyperbf_loss(const rfm_ctx *ctx, const rfm_hyperbf *f, const rfm_data *data, const rfm_hyperbf_cost *cost,
                     rfm_real *loss, rfm_hyperbf_gradient *gradient);
int rfm_hyperbf_loss_need(const rfm_ctx *ctx, const rfm_hyperbf *f, size_t rows, size_t *bytes);

/* ---- where to start -------------------------------------------------------------------------- */

#define RFM_HYPERBF_KMEANS  0 /* means of clusters of the projected rows */
#define RFM_HYPERBF_CLASSES 1 /* likewise, in each class by itself; as many of each as can be */
#define RFM_HYPERBF_MODEL   2 /* the model's, as many as it has */

/* rfm_hyperbf_start_init() sets what is said in (parentheses). */
typedef struct {
    size_t centers;         /* (10) n, at most the rows; RFM_HYPERBF_CLASSES: at least one for each class */
    size_t rank;            /* (4) r, at most d; with a model at most its rank */
    int choice;             /* (RFM_HYPERBF_CLASSES) */
    int prototypes;         /* (0) 1: one weight per centre; not with RFM_HYPERBF_KMEANS */
    int inputs;             /* (0) 1: centres are parameters in the space of the inputs; not with RFM_HYPERBF_MODEL */
    int offset;             /* (1) 0: none */
    int kernel;             /* (RFM_GAUSSIAN) */
    rfm_real exponent;      /* (1) */
    rfm_real bandwidth;     /* (1) L in units of the root mean squared distance of a row to the nearest centre;
                               RFM_HYPERBF_MODEL: of the model's L */
    rfm_real ridge;         /* (1e-3) of the least squares that give alpha and offset, > 0 */
    const rfm_model *model; /* (NULL) W is its P, cut to the rank as rfm_small_rank does. NULL: W is random */
    uint32_t seed;          /* (0) */
} rfm_hyperbf_start_options;

void rfm_hyperbf_start_init(rfm_hyperbf_start_options *options);

/* Parameters that fit data->y (weights count) as well as alpha alone can make them; arrays from `store`. A row's class
 * is its largest y; c = 1: whether y > 0. RFM_EVALUE: an option outside its range; rows of one class only where classes
 * are asked for; fewer different rows than centres. RFM_ESHAPE: a model of other inputs or outputs. Ticks. After a
 * failure neither *f nor `store` has changed. */
int rfm_hyperbf_start(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_start_options *options,
                      rfm_arena *store, rfm_hyperbf *f);
int rfm_hyperbf_start_need(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_start_options *options,
                           size_t *scratch, size_t *store);

/* ---- descent --------------------------------------------------------------------------------- */

#define RFM_HYPERBF_PLAIN    0 /* minus the rate times the gradient */
#define RFM_HYPERBF_MOMENTUM 1 /* v = momentum v + gradient; minus the rate times v */
#define RFM_HYPERBF_ADAM     2 /* rates in units of each array's root mean square at the start (1 if that is 0) */

/* What is minimised is H / rows, weights scaled to a mean of 1. rfm_hyperbf_options_init() sets what is said in
 * (parentheses). */
typedef struct {
    rfm_hyperbf_cost cost;
    int method;              /* (RFM_HYPERBF_ADAM) */
    size_t steps;            /* (4000) */
    size_t batch;            /* (256) rows of a step, drawn with replacement; 0: all rows, in their order */
    rfm_real rate;           /* (0.02) at the start */
    rfm_real floor;          /* (0.01) share of it at the end, falling as a cosine; 1: constant */
    rfm_real warm;           /* (0.02) share of the steps in which the rate rises from 0 */
    rfm_real alpha_rate;     /* (1) factors of the rate; 0: held fixed */
    rfm_real center_rate;    /* (1) */
    rfm_real p_rate;         /* (1) */
    rfm_real bandwidth_rate; /* (0) of log L: W and the centres can do what L does */
    rfm_real offset_rate;    /* (1) */
    rfm_real momentum;       /* (0.9) of RFM_HYPERBF_MOMENTUM and RFM_HYPERBF_ADAM, 0 <= momentum < 1 */
    rfm_real second;         /* (0.999) decay of Adam's mean squares, likewise */
    size_t solve;  /* (0) alpha and offset are solved for, on all rows, before every so many steps; 0: never */
    size_t look;   /* (200) steps between looks at the loss of all rows: the state with the least is kept */
    rfm_real most; /* (100) a loss above this times that of the start, or of zeros, means divergence; of a batch
                      what it adds to the mean of all rows */
    uint32_t seed; /* (0) */

    /* Teacher: a model of the same inputs and outputs, whose scores are the targets (for the cross-entropy: their
     * softmax). NULL: data->y, and its mixtures. It is asked once about each row, before the first step. */
    const rfm_model *teacher;
    size_t teachers; /* (1) so many models in a row; the mean of their scores counts */
    rfm_real truth; /* (0) share of data->y in the targets; 1 is data->y alone */
    rfm_real mixed; /* (0) share of a batch that is a x_i + (1 - a) x_j, a uniform */
    rfm_real noisy; /* (0) share that is x_i with noise. mixed + noisy <= 1 */
    rfm_real noise; /* (0.1) its size in standard deviations of each input */
    size_t drawn;   /* (0: three times the rows) how many mixed and noisy rows there are */

    /* Rounding in the loop: turns the parameters into those that loss and gradient see. *seen is a copy whose alpha,
     * centers, p and offset are arrays of its own; change them, or bandwidth. The gradient found there moves the
     * parameters themselves. Anything but RFM_OK ends the descent with it. Not with f->inputs. */
    int (*project)(void *project_arg, const rfm_hyperbf *f, rfm_hyperbf *seen);
    void *project_arg;
    rfm_real project_from; /* (0.5) from this share of the steps on */
} rfm_hyperbf_options;

void rfm_hyperbf_options_init(rfm_hyperbf_options *options);

/* What a descent has seen; losses are H / rows. */
typedef struct {
    size_t steps;         /* done */
    rfm_real start, best; /* loss of all rows at the start (of the rounding, if there is one), and of what was kept */
    size_t kept;          /* after this many steps */
    rfm_real batch;       /* loss of the last batch */
} rfm_hyperbf_report;

/* Moves f. RFM_ESHAPE: rows or a teacher of another shape. RFM_EVALUE: an option outside its range. After a refusal
 * (RFM_ENULL ... RFM_EARENA) f is unchanged. RFM_ECONVERGE: it diverged; RFM_ECANCEL, or what `project` has returned:
 * f is the best state that was looked at, and *report (which may be NULL) tells about it. Ticks. */
int rfm_hyperbf_descend(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_options *options, rfm_hyperbf *f,
                        rfm_hyperbf_report *report);
int rfm_hyperbf_descend_need(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_options *options,
                             const rfm_hyperbf *f, size_t *bytes);

/* The same step by step. From begin to end a descent holds memory of ctx->arena, as much as rfm_hyperbf_descend needs,
 * and looks at all arguments of begin. What the arena hands out in between must have gone back before the end. */
typedef struct rfm_hyperbf_descent rfm_hyperbf_descent;

/* *descent is NULL after a failure. */
int rfm_hyperbf_begin(const rfm_ctx *ctx, const rfm_data *data, const rfm_hyperbf_options *options, rfm_hyperbf *f,
                      rfm_hyperbf_descent **descent);
/* One step. RFM_EVALUE: options->steps are done. After another failure, which is as above, the only call is end. */
int rfm_hyperbf_step(rfm_hyperbf_descent *descent);
/* A last look; f becomes the best state, the memory goes back. */
int rfm_hyperbf_end(rfm_hyperbf_descent *descent, rfm_hyperbf_report *report);

#endif /* RFM_NO_TRAIN */

#ifdef __cplusplus
}
#endif
#endif

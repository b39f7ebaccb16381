/* rfm_large - any number of rows in a fixed arena.
 *
 * A model of m centres is fitted to n rows that are read in passes, a block at a time. The arena holds two (m, m)
 * matrices and blocks; it does not depend on n. The result is an ordinary rfm_model. Conventions are those of rfm.h;
 * everything here is built on its public functions.
 *
 * Contents: rows, solving for alpha, sums that merge, the whole fit, EigenPro.
 */
#ifndef RFM_LARGE_H
#define RFM_LARGE_H

#include "rfm.h"

#ifndef RFM_NO_TRAIN

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rows ----------------------------------------------------------------------------------- */

/* Gives rows first .. first + count - 1: x (count, d), y (count, c), and weights (count) >= 0 unless that is NULL.
 * Returns how many it gave; fewer than count is a failure. A pass asks for blocks in order, the first of them from row
 * 0: so a stream starts over where first is 0. */
typedef size_t (*rfm_read)(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights);

/* Every pass computes a checksum of all rows. Where a call makes several passes, rows that have changed between them
 * are RFM_ECHANGED. RFM_EREAD: read gave fewer rows than it was asked for. RFM_EFINITE: a number in a row is not
 * finite. RFM_EVALUE: a weight is negative, or all are 0. */
typedef struct {
    size_t n, d, c; /* rows, inputs, outputs */
    int weighted;   /* 1: rows have weights; a row of weight 2 counts as two rows. 0: all weights are 1 */
    rfm_read read;
    void *from; /* passed to read */
} rfm_rows;

/* ---- solving for alpha ---------------------------------------------------------------------- */

/* alpha (m, c) minimises  sum_i w_i |y_i - offset - sum_j alpha_j K(x_i, z_j)|^2 + ridge tr(alpha' K_mm alpha)  for the
 * metric and the centres z_j of a model. With all rows as centres that is alpha of rfm_fit. K_mm = U'U, with pivots
 * where it is singular to rounding: centres that others represent have alpha 0. */

#define RFM_SOLVER_AUTO      0 /* the direct one up to RFM_DIRECT_CENTERS centres */
#define RFM_SOLVER_DIRECT    1 /* one pass, n m^2 operations: the sums below, solved */
#define RFM_SOLVER_CONJUGATE 2 /* conjugate gradients with the preconditioner of FALKON: a pass per step, n m (r + c) */

#define RFM_DIRECT_CENTERS 2048

typedef struct {
    int solver;         /* (RFM_SOLVER_AUTO) */
    rfm_real ridge;     /* (1e-3) >= 0, as RFM_RIDGE_FIXED */
    rfm_real tolerance; /* (1e-4 in float, 1e-10 in double) conjugate gradients: the residual of every output, as a
                           share of the right-hand side, in the preconditioned equations */
    size_t steps;       /* (100) at most; then RFM_ECONVERGE */
} rfm_solve_options;

void rfm_solve_options_init(rfm_solve_options *options);

typedef struct {
    uint64_t rows;     /* of all passes */
    size_t passes;     /* over the rows */
    size_t steps;      /* of conjugate gradients; 0: direct */
    rfm_real residual; /* where they ended */
    rfm_real ridge;    /* as used: that asked for, unless no row has any feature. Rounding adds a share of every
                          feature's own size, about eps, more where the equations have no factor otherwise */
    size_t rank;       /* of K_mm: centres with alpha */
    rfm_real weight;   /* unit in which weights were added up: a power of two, 1 unless they are very large or small */
} rfm_solve_report;

/* alpha (m, c) for `model`, whose own alpha is not read. Every output has the digits that it has alone, however much
 * larger others are. report may be NULL. RFM_ESHAPE: d or c of rows and model differ. After a failure alpha is
 * unchanged. Ticks. */
int rfm_large_solve(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_model *model, const rfm_solve_options *options,
                    rfm_mat alpha, rfm_solve_report *report);
int rfm_large_solve_need(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_model *model,
                         const rfm_solve_options *options, size_t *bytes);

/* ---- sums that merge ------------------------------------------------------------------------ */

/* What a pass adds up, in fixed-point numbers: adding and subtracting are exact, so the order of parts does not matter
 * and a part that is taken out leaves what was there before. The bytes are the same in memory and in a file. They
 * belong to one model: its kernel, metric and centres, for RFM_SUMS_AGOP also alpha.
 *   RFM_SUMS_SOLVE: U'^-1 K_mn W K_nm U^-1 (m, m), U'^-1 K_mn W (Y - offset) (m, c), squares w (y - offset)^2 (c)
 *   RFM_SUMS_AGOP:  sum of h h' (r, r), or its diagonal (r) unless the metric is RFM_FULL; sum of h (c, r): rfm_agop */
#define RFM_SUMS_SOLVE 0
#define RFM_SUMS_AGOP  1

typedef struct {
    uint32_t magic;    /* "rfms" */
    uint32_t checksum; /* CRC-32 of everything behind it */
    uint32_t bytes;    /* of all of it */
    uint8_t version, type, kind, unused;
    uint32_t model;               /* checksum of what the sums belong to */
    uint32_t m, c, r;             /* centres, outputs, rank */
    int32_t unit_k, unit_y;       /* K is counted in units of 2^unit_k, y (or gradients) of 2^unit_y */
    uint32_t rows_low, rows_high; /* how many rows */
    uint32_t order; /* of the centres in U: 0, or a checksum of the pivots of a K_mm that is singular to rounding */
    uint32_t unused_2, unused_3, unused_4;
} rfm_sums; /* the numbers follow */

/* Empty sums in `size` bytes at `sums`, 16-byte aligned. unit_y: near the largest |y| (or gradient), rounded to a power
 * of two; all parts have to agree on it. Sums hold up to 2^30 rows of that size. All outputs have this one unit: what
 * is added up of one has the last digit 2^-32 of the unit in float, 2^-64 in double. So an output has all digits of the
 * number type where it is above 2^-8 (2^-11) of the unit, fewer below, and from 2^-16 (2^-32) on, as the root of the
 * mean of w (y - offset)^2, the solve refuses it. Outputs that differ that much have to be scaled before. RFM_ENULL,
 * RFM_EALIGN, RFM_EARENA, RFM_EVALUE, RFM_EOVERFLOW (4 GiB), RFM_ETYPE (big-endian). */
int rfm_sums_size(const rfm_model *model, int kind, size_t *bytes);
int rfm_sums_init(const rfm_model *model, int kind, rfm_real unit_y, rfm_sums *sums, size_t size);

/* Checks that `size` bytes are sums of this model; model NULL: of any. RFM_ENULL, RFM_EALIGN, RFM_ETRUNCATED,
 * RFM_EMAGIC, RFM_EVERSION, RFM_ETYPE, RFM_ECHECKSUM, RFM_ECONTENT, RFM_ECHANGED (another model). */
int rfm_sums_check(const rfm_model *model, const rfm_sums *sums, size_t size);
uint64_t rfm_sums_rows(const rfm_sums *sums);

/* Adds a pass over the rows. After a failure sums are unchanged. RFM_ERANGE: numbers are too large for the units, or
 * all weights together are below 2^-8, too small for fixed-point numbers. */
int rfm_sums_add(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_model *model, rfm_sums *sums);
int rfm_sums_add_need(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_model *model, int kind, size_t *bytes);

/* sums += part, or sums -= part. RFM_ECHANGED: they do not belong together; so are sums of machines that round
 * differently, if rounding has decided which centres the others represent. RFM_EVALUE: there are fewer rows than are
 * to be taken out. RFM_ERANGE. Otherwise as rfm_sums_check; nothing has changed after a failure. */
int rfm_sums_merge(rfm_sums *sums, const rfm_sums *part);
int rfm_sums_subtract(rfm_sums *sums, const rfm_sums *part);

/* alpha (m, c) of RFM_SUMS_SOLVE. RFM_EVALUE: of another kind, or no rows. RFM_ECHANGED: also as in merging.
 * RFM_ERANGE: also if an output is not 0, but too small for the unit, as rfm_sums_init has it; 0 is also what is within
 * rounding of the offset. report may be NULL. */
int rfm_sums_solve(const rfm_ctx *ctx, const rfm_model *model, const rfm_sums *sums, rfm_real ridge, rfm_mat alpha,
                   rfm_solve_report *report);
int rfm_sums_solve_need(const rfm_ctx *ctx, const rfm_model *model, size_t *bytes);

/* ---- the whole fit -------------------------------------------------------------------------- */

/* How the m centres are chosen among the rows of the sample. */
#define RFM_CHOICE_RANDOM   0 /* by lot */
#define RFM_CHOICE_LEVERAGE 1 /* by lot, with ridge leverage scores as weights */
#define RFM_CHOICE_GREEDY   2 /* pivoted Cholesky: the row that is worst represented by those before it */
#define RFM_CHOICE_RESIDUAL 3 /* a quarter of them by lot; a model of these is solved for with all rows. The others are
                                 drawn among all rows, with the squares of its residuals as weights: near steps */

/* rfm_large_options_init() sets what is said in (parentheses). */
typedef struct {
    rfm_options fit;         /* kernel, metric, ridge and so on; iterations: exact rounds on the sample, with select and
                                score as given. Validation rows are part of the sample's fit */
    rfm_solve_options solve; /* its ridge is not read: fit.ridge by fit.ridge_rule is used */
    size_t centers;          /* (1000) m; at most the rows of the sample */
    size_t sample;           /* (0: centers) rows that M is learned on exactly and centres are chosen from */
    int choice;              /* (RFM_CHOICE_RANDOM) */
    size_t rounds;           /* (0) then M is updated this often by the AGOP of the model of m centres */
    rfm_real power;          /* (1) 0.25 to 4: after the last update of M the weights of inputs, sqrt(M_jj), are raised
                                to it; the largest stays. Above 1 inputs that hardly count count less: good for RFM_L1
                                where many are idle. Of RFM_DIAGONAL; with RFM_FULL only 1 */
    size_t agop_rows;        /* (20000) at about this many rows, spread over all; 0: at all */
} rfm_large_options;

void rfm_large_options_init(rfm_large_options *options);

typedef struct {
    rfm_solve_report solve;  /* of the last solve; rows and passes of all of them */
    size_t sampled, centers; /* as used */
    size_t round;            /* updates of M in the model: exact rounds and those by m centres */
    rfm_real score;          /* of the sample's fit on the validation rows or leave-one-out; 0: none */
    size_t row, col;         /* written with RFM_EFINITE: of x, or of y where col >= d */
} rfm_large_report;

/* Learns M, chooses centres, solves. validation: rows in memory to select the exact round by; NULL: none, only its
 * x_validation, y_validation and start are read. Arrays of the model are taken from `store`, scratch from ctx->arena;
 * those may be one arena. After a failure neither *model nor `store` has changed. Ticks. */
int rfm_large_fit(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_large_options *options,
                  const rfm_data *validation, rfm_arena *store, rfm_model *model, rfm_large_report *report);
int rfm_large_fit_need(const rfm_ctx *ctx, const rfm_rows *rows, const rfm_large_options *options,
                       const rfm_data *validation, size_t *scratch, size_t *store);

/* ---- EigenPro ------------------------------------------------------------------------------- */

/* The exact machine of n rows without an (n, n) matrix (appendix B of the RFM paper): stochastic gradient descent in
 * the kernel's space, in which the q largest directions of a subsample are damped. */
typedef struct {
    size_t subsample;  /* (2000) s, at most n */
    size_t directions; /* (0: as many as suit the batch) q, below s */
    size_t batch;      /* (0: s / 5) at most */
    size_t epochs;     /* (50) at most. It ends when the error on the validation rows has not fallen for two epochs */
    rfm_real power;    /* (0.95) the exponent of the damping: 1 in the paper, 0.95 in its authors' program */
    uint32_t seed;
} rfm_eigenpro_options;

void rfm_eigenpro_options_init(rfm_eigenpro_options *options);

typedef struct {
    size_t epochs, best;      /* done; of the model */
    size_t batch, directions; /* as used */
    rfm_real score;           /* mean squared error on the validation rows, 0: there are none */
} rfm_eigenpro_report;

/* alpha (n, c) for `model`, whose centres are all rows of data->x, projected, n of them; its own alpha is not read. Of
 * data x, y, x_validation and y_validation are read. Without a ridge, as in the paper; not for network kernels
 * (RFM_EVALUE). After a failure alpha is unchanged. RFM_ECONVERGE: it diverged, so that alpha is worse than no model on
 * these rows; a subsample that is too small can do that. Ticks. */
int rfm_eigenpro(const rfm_ctx *ctx, const rfm_data *data, const rfm_model *model, const rfm_eigenpro_options *options,
                 rfm_mat alpha, rfm_eigenpro_report *report);
int rfm_eigenpro_need(const rfm_ctx *ctx, const rfm_data *data, const rfm_model *model,
                      const rfm_eigenpro_options *options, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif /* RFM_NO_TRAIN */
#endif

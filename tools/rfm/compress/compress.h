/* Small models out of large ones: what the files of `rfm compress` share. */
#ifndef COMPRESS_H
#define COMPRESS_H

#include "rfm/learn/learn.h"

#define MOST_PARTS 5
#define MOST_RANKS 24
#define TYPES      3
#define POLISH     10 /* steps, where they are not given */

/* ---- shrink.c: one small model -------------------------------------------------------------- */

typedef struct {
    int method; /* RFM_CENTERS_... */
    size_t polish;
    rfm_real ridge; /* of the refits */
    uint32_t seed;
} thinning;

/* The part of the mean squared distance between rows that a lower rank leaves. */
int rank_share(const rfm_ctx *ctx, const rfm_model *source, const rfm_data *rows, size_t rank, double *share);

/* Rank and centres; what is already so stays as it is. *memory has the arrays and is to be freed, NULL: they are the
 * source's. */
int shrink(const rfm_ctx *ctx, const rfm_model *source, const rfm_data *rows, size_t rank, size_t centers,
           const thinning *how, rfm_model *small, void **memory);

/* That model in integers. */
int to_integers(const rfm_ctx *ctx, const rfm_model *source, const rfm_data *rows, int type, rfm_real ridge,
                rfm_model_i *small, void **memory);

/* What goes into a blob beside the numbers. Sizes are those of the blob that firmware gets: without a record, and
 * without the names of the inputs unless there is a summary. */
typedef struct {
    const char *class_names, *input_names; /* NULL: left out */
    int summary;
    const void *record;
    size_t record_bytes; /* 0: left out */
    size_t nodes;        /* of phi in 8 bits; 0: as many as there can be */
} extras;

/* Bytes of a blob of such sizes. `source` has d, c, the kernel's form, task and summary. */
size_t shape_bytes(const rfm_model *source, const extras *e, int type, size_t rank, size_t centers);

/* The most centres that fit into `bytes`, 0: none do. */
size_t shape_centers(const rfm_model *source, const extras *e, int type, size_t rank, size_t bytes);

/* The blob, to be freed. */
void *small_blob(const any_model *model, const extras *e, size_t *bytes);

/* The blob as firmware gets it, to be freed. */
void *firmware_blob(const any_model *model, const void *blob, size_t size, size_t *bytes);

/* ---- distill.c: tiny models, taught by the model at full size --------------------------------- */

/* How a student is taught. */
typedef struct {
    size_t rank, centers;
    int prototypes;     /* 1: each centre belongs to one class */
    int each;           /* 1: an exponent for each input */
    int entropy;        /* 1: cross-entropy; 0: squared error */
    double temperature; /* of the cross-entropy */
    double bandwidth;   /* at the start, in units of the distance to the nearest centre */
    double mixed;       /* share of mixtures of two rows */
    double noisy;       /* share of rows with noise */
    double truth;       /* share of the labels in the targets */
    size_t steps;
    uint32_t seed;
} recipe;

/* 1: the inputs are not of one kind, so that each needs an exponent of its own. */
int inputs_differ(rfm_cmat x);

/* What is taken where nothing is searched; rank and centres are 0. */
recipe recipe_usual(const rfm_model *like, uint32_t seed);

/* Bytes as firmware gets them: without names and record. `like` has d, c and task. SIZE_MAX: there is no such model. */
size_t tiny_bytes(const rfm_model *like, const recipe *k);

/* Taught by the mean of `count` models. The best of a few seeds, by its loss on these rows, which are raw; k->seed
 * becomes that seed. *memory has the arrays and is to be freed. */
int distill(const machine *m, const rfm_model *teachers, size_t count, const rfm_data *rows, recipe *k, rfm_tiny *tiny,
            void **memory);

/* A network of numbers, for rows as the teacher takes them. */
int distill_numbers(const rfm_ctx *ctx, const rfm_model *teacher, int task, const rfm_data *rows, const recipe *k,
                    rfm_model *model, void **memory);

/* ---- tradeoff.c: the search ----------------------------------------------------------------- */

/* A small model as it would be: its sizes, and its score on rows that were held out. */
typedef struct {
    int type;
    size_t features, rank, centers, bytes;
    size_t polish;
    double ridge;  /* of the refit, a multiple of the model's */
    double score;  /* accuracy or r2 */
    double loss;   /* squared error, as a share of the squares around the mean */
    recipe recipe; /* TYPE_TINY */
} candidate;

typedef struct {
    machine *machine;
    const rfm_model *source;          /* and, of a mean, its other models */
    size_t models;                    /* so many */
    rfm_options options[MOST_MODELS]; /* how each was trained */
    double shares[MOST_MODELS];       /* how many times each counts */
    size_t rows, d, c;
    const rfm_real *x, *y;  /* (rows, d), (rows, c) as the model takes and gives them */
    const uint32_t *labels; /* NULL: regression */
    const sample_form *form;
    int raw;
    thinning how; /* ridge: the source's */
    int polish_fixed, ridge_fixed;
    extras extras;       /* without a change of features */
    const size_t *order; /* (d) inputs, the most important first; NULL: none are to be left out */
    /* What is given: 0, or the only value. */
    int type;
    size_t rank, centers, features;
    size_t budget;   /* bytes; 0: any */
    double max_loss; /* of the score; negative: any */
    double coverage; /* of conformal sets; 0: none */
    const char *input_names, *model_file;
} tradeoff;

typedef struct {
    candidate chosen;
    double full_score; /* of a model of full size, fitted on the same rows */
    candidate *curve;  /* no other beats them in bytes and score (or squared error), the smallest first */
    size_t curve_count, curve_chosen, tried;
    size_t rows_held; /* scored on */
    size_t parts;
    double threshold; /* for the coverage, of scores in units that fit the targets */
} tradeoff_result;

tradeoff_result tradeoff_search(const tradeoff *t);

/* The unit with which scores fit their targets best: a tiny model of classes has none of its own. */
double scores_unit(const rfm_real *y, const rfm_real *target, size_t count);

/* (d) inputs, those that weigh most in M first, and what they weigh. */
size_t *input_order(const rfm_model *model, rfm_real *importance);

/* The kept inputs, in their old order: the `count` most important ones. */
size_t *kept_inputs(const size_t *order, size_t d, size_t count);
char *kept_names(const char *names, const size_t *kept, size_t count);
rfm_real *kept_columns(const rfm_real *x, size_t rows, size_t d, const size_t *kept, size_t count);

/* A model of the source's settings for these rows (x, y as in tradeoff; neither changes), its outputs `share` times as
 * large; the blob is to be freed. */
void *refit(machine *m, const rfm_options *options, double share, const rfm_real *x, const rfm_real *y,
            const uint32_t *labels, size_t rows, size_t d, const sample_form *form, const char *input_names, int raw,
            double temperature, rfm_model *opened);

/* ---- page.c --------------------------------------------------------------------------------- */

typedef struct {
    const char *model_file, *data_file, *out_file; /* without folders */
    int task;
    size_t source_bytes, source_centers, source_rank, source_features;
    const tradeoff_result *result;
    size_t bytes; /* of the blob that was written */
    size_t centers;
    size_t budget;
    double max_loss; /* points; negative: none */
    size_t rows_test;
    double test, test_full;
} compress_page_data;

void compress_page(text *t, const compress_page_data *p);

#endif

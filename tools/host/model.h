/* Model files, of numbers and of integers, and what people call their parts. */
#ifndef MODEL_H
#define MODEL_H

#include "rfm_conv.h"
#include "rfm_filters.h"
#include "rfm_signal.h"
#include "rfm_small.h"
#include "rfm_tiny.h"
#include "rfm_tree.h"
#include "text.h"

/* What the record of a model says, as far as it fits the model; NULL: nothing. It points into the blob. */
typedef struct {
    int has_options;
    rfm_options options;          /* of the fit */
    const char *targets;          /* names of the target columns, one after the other */
    const unsigned char *fill;    /* (d) numbers: what missing cells become */
    const unsigned char *offsets; /* (d + targets of a regression) numbers: taken out as double */
    const unsigned char *scales;  /* (d) numbers: of the inputs, if the summary does not have them */
    double coverage, threshold;   /* of conformal sets; coverage 0: none */
    const char *recipe;           /* how inputs are made: table.h */
    size_t recipe_bytes;
    const unsigned char *knots;                /* tables of its inputs: knots.h */
    int damaged;                               /* 1: the recipe needs tables that are not right */
    const char *absent, *left, *words, *notes; /* strings, so many: */
    size_t absent_count, left_count, word_count, note_count;
    const unsigned char *models; /* of a mean: what each of the model_count was trained with; record_model reads it */
    const unsigned char *shares; /* (model_count) how many times each counts */
    size_t model_count;
    const unsigned char *rows; /* (row_count) fingerprints: 4 bytes each, in order */
    size_t row_count;
    double temperature; /* 0: none */
    const void *signal; /* how inputs are made of samples, rfm_signal.h, with names */
    size_t signal_bytes;
    size_t bytes; /* of all of it */
} model_record;

/* A type of numbers beside RFM_I8 ... RFM_F64: 8-bit integers in the form of rfm_tiny.h. */
#define TYPE_TINY 3

/* And a bank of filters with a model of integers behind it, rfm_filters.h. */
#define TYPE_FILTERS 0

typedef struct {
    int type;             /* RFM_I8 ... RFM_F64, TYPE_TINY, TYPE_FILTERS */
    rfm_model numbers;    /* of a model of integers: sizes, task, names and summary; its arrays are NULL */
    rfm_model_i integers; /* RFM_I8, RFM_I16 */
    rfm_tiny tiny;        /* TYPE_TINY */
    int of_patches;       /* 1: the model is the next; numbers has its sizes, task and class names */
    rfm_conv_model patches;
    rfm_filters filters; /* TYPE_FILTERS */
    int of_tree; /* 1: a tree of models, the next; numbers has its sizes, task, shift and names, n of all leaves */
    rfm_tree tree;
    model_record record; /* of a file */
} any_model;

/* sizeof(rfm_model), sizeof(rfm_model_i) and sizeof(rfm_tiny) where pointers have 4 bytes: RAM of firmware. */
#define MODEL_BYTES_32   (RFM_REAL_BYTES == 4 ? 72 : 88) /* with RFM_SPHERE one number more */
#define MODEL_I_BYTES_32 84
#define TINY_BYTES_32    72
#define FILTERS_BYTES_32 136

/* Opens a model file; *blob is to be freed. One of patches is refused: few commands have something for it. */
void any_read(const char *file, char **blob, size_t *size, any_model *model);

/* 1 if a file has a model of patches: then it is open. The file is only looked at otherwise. */
int patches_read(const char *file, char **blob, size_t *size, any_model *model);

/* The same where only a model of numbers will do; or also a mean of those. */
void model_read(const char *file, char **blob, size_t *size, any_model *model);
void mean_read(const char *file, char **blob, size_t *size, any_model *model);

any_model any_of_numbers(const rfm_model *model);
any_model any_of_integers(const rfm_model_i *model);
any_model any_of_tiny(const rfm_tiny *model);
any_model any_of_patches(const rfm_conv_model *model);
any_model any_of_tree(const rfm_tree *tree);
any_model any_of_filters(const rfm_filters *model); /* inputs are the samples of a window */
int has_integers(const any_model *model);           /* of any type */
int is_tiny(const any_model *model);
int is_filters(const any_model *model);
int is_mean(const any_model *model); /* of several models: trees without a split */
const char *tree_word(const any_model *model); /* what a model with of_tree is called: a tree, or a mean */

size_t model_classes(const rfm_model *model); /* 0: regression */
size_t model_targets(const rfm_model *model); /* columns */

/* ---- records ---- */

double record_number(const unsigned char *numbers, size_t i);

uint32_t record_row(const unsigned char *rows, size_t i); /* a fingerprint */

/* What model i of a mean was trained with: a status as rfm_record_options. */
int record_model(const model_record *record, size_t i, rfm_options *options);

/* Words that the model takes as missing are taken so from now on. */
void record_absent(const model_record *record);

/* One more entry behind those in the text. */
void record_add(text *record, uint16_t tag, const void *data, size_t bytes);
void record_add_numbers(text *record, uint16_t tag, const double *numbers, size_t count);
void record_add_options(text *record, const rfm_options *options);

/* The words of the options, each in the order of the library's numbers for them; the last is NULL. */
extern const char *const metric_words[], *const scale_words[], *const task_words[];

/* Kernels by the words of rfm_kernels; a word that is none of them is wrong usage of the option `name`. */
int kernel_of(const char *name, const char *word);
int kernel_has_exponent(int kernel);   /* one that is the model's own */
int kernel_has_depth(int kernel);      /* a network kernel */
int on_sphere(const rfm_model *model); /* its rows are scaled to one length: a network kernel's, or unit rows */

/* With -DRFM_NO_TRAIN rfm_model_open takes exponents above 1/8 only. A header of another model says so. */
int needs_whole_build(const rfm_model *model);
#define WHOLE_BUILD \
    "#ifdef RFM_NO_TRAIN\n#error \"an exponent of 1/8 or less needs a build without -DRFM_NO_TRAIN\"\n#endif\n\n"

const char *any_kernel(const any_model *model); /* of integers: table, all that there is of it; tiny: gaussian */
const char *any_metric(const any_model *model);
int metric_given(
    const any_model *model); /* no iteration has made M, and it is not the identity: rfm train --metric-from */

/* Fails unless there are certificates of such a model: labels by the kernels laplace and gaussian, or of integers. */
void certifiable(const any_model *model, const char *file);

const char *type_word(int type); /* i8, i16, f32, f64, tiny, filters */

/* M of an opened model in the units it was trained in: (d, d), or (1, d) if it is diagonal. Returns how it is called:
 * full, diag, identity. `m` NULL: only that. */
const char *model_metric(const rfm_model *model, rfm_real *m);

/* Parts of a full M without its d^2 numbers: the diagonal (d), also of a diagonal M; row i (d); F (r, d), M = F'F. */
void model_diagonal(const rfm_model *model, rfm_real *m);
void model_metric_row(const rfm_model *model, size_t i, rfm_real *row);
rfm_real *model_factor(const rfm_model *model); /* to be freed */

/* P (r, d) of a tiny model in units of the inputs, phi = exp(-|P (x - z)|^2 / 2); with `scales` (d), of a record, in
 * those. To be freed. */
rfm_real *tiny_factor(const rfm_tiny *model, const unsigned char *scales);

#endif

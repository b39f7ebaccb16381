/* What the experiments share: random numbers, rows, machines that are fitted and scored. Whatever does not work
 * ends the program. */
#ifndef LAB_H
#define LAB_H

#include "papers.h"
#include "rfm.h"

double lab_uniform(uint64_t *state); /* between 0 and 1 */
double lab_normal(uint64_t *state);  /* mean 0, variance 1 */
size_t lab_below(uint64_t *state, size_t count);

/* ---- rows ----------------------------------------------------------------------------------- */

typedef struct {
    size_t n, d, c;
    rfm_real *x, *y;  /* (n, d), (n, c) */
    uint32_t *labels; /* (n) of classes */
} lab_rows;

lab_rows rows_make(size_t n, size_t d, size_t c); /* zeros */
void rows_free(lab_rows *s);

/* y of row i: 1 in the column of its class, else 0; with one column 1 or -1. */
void rows_label(lab_rows *s, size_t i, uint32_t label);

void rows_unit(lab_rows *s); /* each row to length 1, those of zeros apart */

/* The columns for which keep[j] is not 0. */
lab_rows rows_columns(const lab_rows *s, const unsigned char *keep);

/* Images of digits: 28 x 28 from the folder of --data, else 8 x 8 of tools/data; pixels from 0 to 1, one-hot targets.
 * *side becomes 28 or 8. At most so many of each; 0: all. `name` is what they are called. */
const char *lab_digits(const trial *t, size_t most_train, size_t most_test, lab_rows *train, lab_rows *test,
                       size_t *side);

/* ---- images put together of digits ----------------------------------------------------------- */

typedef struct {
    lab_rows train, test;
    size_t side;      /* of a digit */
    const char *name; /* of the set */
} digit_sets;

/* Digits of at most 14 pixels a side: larger ones are halved. At most so many to train on, 0: all; few of them if it is
 * to be quick. */
digit_sets small_digits(const trial *t, size_t most);
void digit_sets_free(digit_sets *d);

/* Copies an image (side, side) into one of the given width. */
void paste(const rfm_real *from, size_t side, rfm_real *to, size_t width, size_t top, size_t left);

/* Three by three digits; the one in the middle is the class, the others are drawn at random. Rows of length 1. */
lab_rows mosaic(const lab_rows *digits, size_t side, uint64_t *state);
unsigned char *middle_of(size_t side); /* (3 side, 3 side) 1 there, else 0; to be freed */

/* ---- machines ------------------------------------------------------------------------------- */

/* The context of a call with an arena of so many bytes. */
typedef struct {
    rfm_ctx ctx;
    rfm_arena arena;
} desk;
void desk_open(const trial *t, desk *d, size_t bytes);
void desk_close(desk *d);

typedef struct {
    rfm_model model;
    void *memory;
} lab_model;

/* start: M to begin with, (d, d) or (1, d) by the metric of the options; NULL: the identity. */
lab_model lab_fit(const trial *t, const lab_rows *s, const rfm_options *options, const rfm_real *start);
void lab_model_free(lab_model *f);

/* The best options so far. */
typedef struct {
    rfm_options options;
    double score; /* on held-out rows: accuracy, or minus the squared error; -HUGE_VAL: nothing was tried */
} lab_choice;

/* Fits without the last fifth of the rows; scores (iterations + 1), as above, by T. */
void lab_path(const trial *t, const lab_rows *s, int classes, const rfm_options *options, double *scores);

/* Tries these options with T up to their iterations. The last fifth of the rows is held out. Equal scores keep what
 * came first, and of one fit the smallest T. */
void lab_try(const trial *t, const lab_rows *s, int classes, const rfm_options *options, lab_choice *best);

void lab_predict(const trial *t, const lab_model *f, const lab_rows *s, rfm_real *y); /* y (n, c) */
double lab_accuracy(const trial *t, const lab_model *f, const lab_rows *s);           /* share of rows that are right */
double lab_error(const trial *t, const lab_model *f, const lab_rows *s);              /* mean squared error */

/* Of outputs y (n, c): the share of rows whose largest output, or with one output the sign, is that of their label; the
 * mean squared error. */
double rows_right(const lab_rows *s, const rfm_real *y);
double rows_error(const lab_rows *s, const rfm_real *y);

void lab_diagonal(const lab_model *f, double *diagonal); /* (d) of M */

/* The first eigenvalues w (count) and eigenvectors v (count, d) of a symmetric matrix (d, d), which is overwritten. */
void lab_eigenvectors(const trial *t, rfm_real *m, size_t d, size_t count, rfm_real *w, rfm_real *v);

#endif

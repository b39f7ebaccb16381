/* What the experiments share: random numbers, rows, machines that are lab_model and scored. Whatever does not work
 * ends the program. */
#ifndef LAB_H
#define LAB_H

#include "papers.h"
#include "rfm.h"
#include "rfm_nfa.h"

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

/* Digits of at most 14 pixels a side: larger ones are halved. Few of them if it is to be quick. */
digit_sets small_digits(const trial *t);
void digit_sets_free(digit_sets *d);

/* Copies an image (side, side) into one of the given width. */
void paste(const rfm_real *from, size_t side, rfm_real *to, size_t width, size_t top, size_t left);

/* Three by three digits; the one in the middle is the class, the others are drawn at random. Rows of length 1. */
lab_rows mosaic(const lab_rows *digits, size_t side, uint64_t *state);
unsigned char *middle_of(size_t side); /* (3 side, 3 side) 1 there, else 0; to be freed */

/* ---- machines ------------------------------------------------------------------------------- */

typedef struct {
    rfm_model model;
    void *memory;
} lab_model;

/* start: M to begin with, (d, d) or (1, d) by the metric of the options; NULL: the identity. */
lab_model lab_fit(const trial *t, const lab_rows *s, const rfm_options *options, const rfm_real *start);
void lab_model_free(lab_model *f);

void lab_predict(const trial *t, const lab_model *f, const lab_rows *s, rfm_real *y); /* y (n, c) */
double lab_accuracy(const trial *t, const lab_model *f, const lab_rows *s);           /* share of rows that are right */
double lab_error(const trial *t, const lab_model *f, const lab_rows *s);              /* mean squared error */

/* The share of rows whose largest output, or with one output the sign, is that of their label. */
double lab_right(const rfm_real *y, const lab_rows *s);

void lab_diagonal(const lab_model *f, double *diagonal); /* (d) of M */

/* ---- networks ------------------------------------------------------------------------------- */

typedef struct {
    rfm_nfa f;
    void *memory;
} network;

/* ReLU, no biases; so many hidden layers of one width. Weights N(0, 1 / 3 fan-in), whose variance is that of PyTorch's
 * start; the first layer's have the deviation `first` instead, if that is not 0. */
network lab_network(const trial *t, size_t layers, size_t inputs, size_t width, size_t outputs, double first);
void network_free(network *w);

/* Ends the program unless it converges. */
void lab_descend(const trial *t, network *w, const lab_rows *s, const rfm_nfa_options *options);

/* The same, and every `every` steps, at the start, too, `look` is called. */
void lab_descend_watched(const trial *t, network *w, const lab_rows *s, const rfm_nfa_options *options, size_t every,
                         void (*look)(void *arg, size_t step), void *arg);

void lab_network_predict(const trial *t, const network *w, const lab_rows *s, rfm_real *y);
double lab_network_accuracy(const trial *t, const network *w, const lab_rows *s);
double lab_network_error(const trial *t, const network *w, const lab_rows *s);

/* Of the first layer: F = W'W and G, the average gradient outer product at the rows; (d, d) each, or NULL. */
void lab_network_features(const trial *t, const network *w, const lab_rows *s, rfm_real *f, rfm_real *g);

/* Takes the mean gradient of each output out of such a G. */
void lab_network_center(const trial *t, const network *w, const lab_rows *s, rfm_real *g);

#endif

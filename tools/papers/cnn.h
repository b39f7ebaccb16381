/* A small convolutional network, for the columns that the paper on convolutional features has of one.
 *
 * One or two layers, each: convolution with patches of side q, stride 1, zero padded; ReLU; pooling, of 2 x 2 places
 * unless it is said otherwise. Then one
 * dense layer on what is left. No biases. Images and features lie as (row, column, channel); a patch likewise, so that
 * W_l (filters, q q channels) has the patch as its second index. */
#ifndef CNN_H
#define CNN_H

#include "lab.h"

#define CNN_LAYERS 2

#define CNN_NO_POOL 0
#define CNN_MAX     1
#define CNN_MEAN    2
#define CNN_GLOBAL  3 /* as CNN_MEAN, and in the last layer the mean over all places */

typedef struct {
    size_t layers, filters, patch;
    int pool;
    size_t height[CNN_LAYERS + 1], width[CNN_LAYERS + 1], channels[CNN_LAYERS + 1]; /* of the input of each layer */
    size_t outputs;
    rfm_real *w[CNN_LAYERS + 1]; /* the last: the dense layer's (outputs, features) */
} cnn;

/* Weights N(0, 1 / 3 fan-in), from the seed of the trial. */
cnn cnn_make(const trial *t, size_t height, size_t width, size_t outputs, size_t layers, size_t filters, size_t patch,
             int pooling);
void cnn_free(cnn *f);

/* Adam on the squared error, batches of 32; the rate falls as a cosine. With `held` the state that is right on the most
 * of these rows at the end of an epoch is kept. */
void cnn_train(const trial *t, cnn *f, const lab_rows *s, const lab_rows *held, size_t epochs, double rate);

double cnn_accuracy(const trial *t, cnn *f, const lab_rows *s);

/* Of a layer, both (D, D), D the numbers of a patch: F = W'W, and G = W'K W, the average gradient outer product over
 * all places and outputs by the patches of the layer's input; K = (1/n) sum over rows, places and outputs of g g'. */
void cnn_features(const trial *t, cnn *f, const lab_rows *s, size_t layer, rfm_real *w_w, rfm_real *g);

size_t cnn_patch_size(const cnn *f, size_t layer); /* D */

#endif

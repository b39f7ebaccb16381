/* Networks for the experiments: a network with its start, trained step by step and looked at on the way. Whatever does
 * not work ends the program. */
#ifndef NETS_H
#define NETS_H

#include "lab.h"
#include "rfm_nfa.h"

typedef struct {
    rfm_nfa f, start;
    void *memory;
} net;

net net_start(const rfm_nfa_start_options *o);
/* ReLU, no biases; so many hidden layers of one width. Weights N(0, 1 / 3 fan-in), whose variance is that of PyTorch's
 * start; the first layer's have the deviation `first` instead, if that is not 0. */
net net_make(const trial *t, size_t layers, size_t inputs, size_t width, size_t outputs, double first);
void net_free(net *n);

void net_predict(const trial *t, const net *n, const lab_rows *s, rfm_real *y);
double net_accuracy(const trial *t, const net *n, const lab_rows *s);

void net_measure(const trial *t, const net *n, const lab_rows *s, size_t layer, rfm_nfa_layer *out);
/* The same of a network alone: nothing that is centred. */
void net_look(const trial *t, const rfm_nfa *f, const lab_rows *s, size_t layer, rfm_nfa_layer *out);
double net_loss(const trial *t, const net *n, const lab_rows *s); /* mean squared error */

/* options->steps steps; look(arg, step) after every so many of them. The state afterwards is that of the last step. */
void net_train(const trial *t, net *n, const lab_rows *s, const rfm_nfa_options *options, const char *label,
               size_t every, void (*look)(void *arg, size_t step), void *arg);
/* The same without looks; the state afterwards is the best that rfm_nfa_descend has seen. */
void net_descend(const trial *t, net *n, const lab_rows *s, const rfm_nfa_options *options);

/* Of the first layer: F = W'W and G, the average gradient outer product at the rows; (d, d) each, or NULL. */
void net_features(const trial *t, const net *n, const lab_rows *s, rfm_real *f, rfm_real *g);
/* Takes the mean gradient of each output out of such a G. */
void net_center(const trial *t, const net *n, const lab_rows *s, rfm_real *g);

/* ---- rows ----------------------------------------------------------------------------------- */

/* Normal rows; decay > 0: with eigenvalues 1 / (1 + k^decay) in a random basis, which is the same for all rows drawn
 * with it. */
typedef struct {
    size_t d;
    double decay;
    double *basis; /* (d, d) rows; NULL: the axes */
} spectrum;
spectrum spectrum_make(uint64_t *state, size_t d, double decay); /* decay < 0: the identity */
void spectrum_free(spectrum *s);
lab_rows spectrum_rows(uint64_t *state, const spectrum *s, size_t n);

/* y = sum of x_k x_(k+1) over a ring of the first 5 inputs, then standard deviation 1: the chain monomial. */
void chain_targets(lab_rows *s);
/* y = |Q x|^2, Q (d, d) of normal numbers, likewise. */
void square_targets(uint64_t *state, lab_rows *s);

double mean_of(const double *x, size_t n);
double correlation(const double *x, const double *y, size_t n); /* Pearson */
/* W'A W; w (k, d), a (k, k), to (d, d) */
void sandwich(size_t k, size_t d, const rfm_real *w, const rfm_real *a, rfm_real *to);

#endif

/* Networks for the experiments: a network with its start, trained step by step and looked at on the way. Whatever does
 * not work ends the program. */
#ifndef NETS_H
#define NETS_H

#include "lab.h"
#include "rfm_nfa.h"

/* A context with an arena of so many bytes. */
typedef struct {
    rfm_ctx ctx;
    rfm_arena arena;
} desk;
void desk_open(const trial *t, desk *d, size_t bytes);
void desk_close(desk *d);

typedef struct {
    rfm_nfa f, start;
    void *memory;
} net;

net net_start(const rfm_nfa_start_options *o);
void net_free(net *n);

void net_measure(const trial *t, const net *n, const lab_rows *s, size_t layer, rfm_nfa_layer *out);
/* The same of a network alone: nothing that is centred. */
void net_look(const trial *t, const rfm_nfa *f, const lab_rows *s, size_t layer, rfm_nfa_layer *out);
double net_loss(const trial *t, const net *n, const lab_rows *s); /* mean squared error */

/* options->steps steps; look(arg, step) after every so many of them. The state afterwards is that of the last step. */
void net_train(const trial *t, net *n, const lab_rows *s, const rfm_nfa_options *options, const char *label,
               size_t every, void (*look)(void *arg, size_t step), void *arg);

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

/* Experiments for the table in main.c, those on the neural feature ansatz apart. */
#ifndef PHENOMENA_H
#define PHENOMENA_H

#include "papers.h"

/* phenomena.c: of the RFM paper */
void grokking(const trial *t, text *sheet);
void pruned(const trial *t, text *sheet);
void hybrid(const trial *t, text *sheet);
void simplicity(const trial *t, text *sheet);
void spurious(const trial *t, text *sheet);

/* tabular.c: likewise */
void tabular(const trial *t, text *sheet);

/* low_rank.c: likewise */
void low_rank(const trial *t, text *sheet);
void depth(const trial *t, text *sheet);

/* features.c: likewise */
void features(const trial *t, text *sheet);
void layers_of_networks(const trial *t, text *sheet);

/* conv_ansatz.c: of the paper on convolutional features */
void conv_ansatz(const trial *t, text *sheet);
void conv_theorem(const trial *t, text *sheet);

/* images.c: of the same paper */
void bars(const trial *t, text *sheet);
void noisy_digits(const trial *t, text *sheet);
void layers(const trial *t, text *sheet);
void pictures(const trial *t, text *sheet);
extern const option bars_options[], noisy_digits_options[], layers_options[];
extern const char setting_help[];

/* table1.c: of the paper on AGOP and gradient descent */
void table1(const trial *t, text *sheet);
extern const option table1_options[];
extern const char table1_help[];

#endif

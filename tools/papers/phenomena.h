/* Experiments of the RFM paper, for the table in main.c. */
#ifndef PHENOMENA_H
#define PHENOMENA_H

#include "papers.h"

/* phenomena.c */
void grokking(const trial *t, text *sheet);
void pruned(const trial *t, text *sheet);
void hybrid(const trial *t, text *sheet);
void simplicity(const trial *t, text *sheet);
void spurious(const trial *t, text *sheet);

/* tabular.c */
void tabular(const trial *t, text *sheet);

/* low_rank.c */
void low_rank(const trial *t, text *sheet);
void depth(const trial *t, text *sheet);

/* features.c */
void features(const trial *t, text *sheet);
void layers_of_networks(const trial *t, text *sheet);

/* conv_ansatz.c: of the paper on convolutional features */
void conv_ansatz(const trial *t, text *sheet);
void conv_theorem(const trial *t, text *sheet);

/* images.c: of the same paper */
void bars_on_page(const trial *t, text *sheet);
void noisy_digits_on_page(const trial *t, text *sheet);
void layers_on_page(const trial *t, text *sheet);
void pictures_on_page(const trial *t, text *sheet);

/* table1.c: of the paper on AGOP and gradient descent */
void table1_on_page(const trial *t, text *sheet);

#endif

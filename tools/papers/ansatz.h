/* The experiments of the papers on the neural feature ansatz. ansatz.c: networks in training; alignment.c: the
 * beginning of a training and what predicts it; identities.c: theorems as measured identities. */
#ifndef ANSATZ_H
#define ANSATZ_H

#include "papers.h"

void ansatz_control(const trial *t, text *sheet);
void ansatz_scales(const trial *t, text *sheet);
void ansatz_decay(const trial *t, text *sheet);
void ansatz_digits(const trial *t, text *sheet);

void alignment_balance(const trial *t, text *sheet);
void alignment_depth(const trial *t, text *sheet);
void alignment_start(const trial *t, text *sheet);

void identities(const trial *t, text *sheet);
void outer_products(const trial *t, text *sheet);

#endif

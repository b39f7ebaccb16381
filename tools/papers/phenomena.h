/* Experiments of the RFM paper's sections 3 and 4, for the table in main.c. */
#ifndef PHENOMENA_H
#define PHENOMENA_H

#include "papers.h"

void grokking(const trial *t, text *sheet);
void pruned(const trial *t, text *sheet);
void hybrid(const trial *t, text *sheet);
void simplicity(const trial *t, text *sheet);
void spurious(const trial *t, text *sheet);
void tabular(const trial *t, text *sheet); /* tabular.c */

#endif

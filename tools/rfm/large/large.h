/* rfm train --method large: all rows of a table, whatever their number, and a model of a fixed number of centres. */
#ifndef LARGE_H
#define LARGE_H

#include "../command.h"
#include "../learn/learn.h"
#include "../learn/search.h"

#define METHOD_EXACT   0
#define METHOD_HYPERBF 1
#define METHOD_LARGE   2
#define METHOD_TREE    3
#define METHOD_AUTO    4

/* What --method says; METHOD_AUTO is exact up to MOST_ROWS rows, then large. --rows N asks for N rows and the exact
 * method. */
int method_given(const call *a);
int method_of(const call *a, size_t rows);

/* How many centres a table of so many rows gets. */
size_t large_centers(const call *a, size_t rows);

typedef struct {
    size_t held;       /* rows that the ridge was chosen on */
    double validation; /* accuracy or r2 on them; NaN: nothing was chosen */
    size_t passes, steps;
} large_result;

/* A fit of the lesson's rows with these options. The ridge becomes the best of several, by rows that are held out of
 * one pass. labels: of classes, or NULL. RFM_OK or RFM_ECANCEL; any other status ends the program. */
int large_fit(machine *m, const lesson *l, const call *a, const uint32_t *labels, rfm_options *options,
              int (*tick)(void *arg, rfm_real done), fitted *f, large_result *result);

/* 1: several files, --in-passes, or a file that is large beside this machine's memory. */
int passes_wanted(const call *a);

/* The whole command for such tables: the settings are searched on rows that are drawn, then all rows are fitted. */
void passes_train(const call *a, machine *m, search_problem *p, int (*tick)(void *arg, rfm_real done), double start);

#endif

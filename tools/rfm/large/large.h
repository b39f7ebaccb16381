/* rfm train --method large: all rows of a table, whatever their number, and a model of a fixed number of centres. */
#ifndef LARGE_H
#define LARGE_H

#include "../command.h"
#include "../learn/learn.h"
#include "../learn/search.h"

#include "rfm_large.h"

#define METHOD_EXACT   0
#define METHOD_HYPERBF 1
#define METHOD_LARGE   2
#define METHOD_TREE    3
#define METHOD_AUTO    4

/* What --method says; METHOD_AUTO is exact up to MOST_ROWS rows, then large or tree: METHOD_AUTO, to be decided by
 * best_method, unless only the first can do what is asked for. --rows N asks for N rows and the exact method. */
int method_given(const call *a);
int method_of(const call *a, size_t rows);

/* Of so many rows the first is held out, where large and tree choose by rows that they are not fitted to. */
size_t held_every(size_t rows);

/* How many centres a table of so many rows gets. */
size_t large_centers(const call *a, size_t rows);

typedef struct {
    size_t held;       /* rows that the ridge was chosen on */
    double validation; /* accuracy or r2 on them; NaN: nothing was chosen */
    size_t passes, steps;
    double power; /* of the metric, in the last round */
    double ridge; /* as used: what is added to the diagonal of K, ... */
    double unit;  /* ... for a ridge of 1 */
} large_result;

/* A fit with these options to all of these rows, or to the lesson's if `in` is NULL. The ridge becomes the best of
 * several, by rows that are held out of one pass. RFM_OK or RFM_ECANCEL; any other status ends the program. */
int large_fit(machine *m, const lesson *l, const rfm_rows *in, const call *a, rfm_options *options,
              int (*tick)(void *arg, rfm_real done), fitted *f, large_result *result);

/* What large and tree score on the same held-out rows. */
typedef struct {
    size_t rows, held; /* fitted to, of all; scored on */
    double large, tree;
} compared;

/* METHOD_LARGE or METHOD_TREE, whichever is better. Of a large table it is tried with a part. */
int best_method(machine *m, const lesson *l, const call *a, const rfm_options *options,
                int (*tick)(void *arg, rfm_real done), compared *result);

#endif

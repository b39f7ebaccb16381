/* rfm train --method tree: rows are divided into leaves, each with a machine of its own; and what other commands do
 * with such a model. */
#ifndef TREE_H
#define TREE_H

#include "large.h"

typedef struct {
    size_t trees, leaves, depth;
    size_t rows, held; /* in the leaves of each tree; held out */
    double softness;
    double hard, validation; /* accuracy or r2 on the held rows: with hard routing, and as it is; NaN: none */
} tree_result;

/* A tree of the lesson's rows; a few of them are held out and choose how soft the routing is. In each leaf bandwidths
 * around that of the options are tried, and up to their iterations. *blob is the model, to be freed. RFM_OK or
 * RFM_ECANCEL; any other status ends the program. */
int tree_fit(machine *m, const lesson *l, const call *a, const rfm_options *options, double temperature,
             int (*tick)(void *arg, rfm_real done), fitted *f, void **blob, size_t *bytes, rfm_tree *tree,
             tree_result *result);

/* Multiplications, and bytes of arena and model that it will take. */
double tree_work(const lesson *l, const call *a, const rfm_options *options);
double tree_bytes(machine *m, const lesson *l, const call *a, const rfm_options *options);

void tree_json(text *out, const tree_result *r);
void tree_text(text *out, const tree_result *r);

/* They free the blob. */
int tree_info(const call *c, any_model *any, char *blob, size_t size);
int tree_export(any_model *any, char *blob, size_t size, char *id, const char *out);

#endif

/* ConvRFM in the commands: rfm train --image, and what the others do with its models. */
#ifndef CONV_H
#define CONV_H

#include "rfm/command.h"
#include "rfm/learn/score.h"
#include "rfm/learn/search.h"

/* train.c */
void conv_check(const call *a); /* the options, before a file is read */
void conv_train(const call *a, machine *m, const search_problem *open, int (*tick)(void *arg, rfm_real done),
                sample *learn, sample *check, const sample_form *form, size_t d, double start);

/* use.c: they free the blob and stop the machine */
int conv_predict(const call *c, machine *m, any_model *any, char *blob, size_t size);
int conv_evaluate(const call *c, machine *m, any_model *any, char *blob, size_t size);
int conv_info(const call *c, any_model *any, char *blob, size_t size);
const char *conv_kernel_word(const rfm_conv *f);

/* What a model of numbers adds to its sums (c): as double, for targets whose offset was taken out in training. */
double *conv_offset(const any_model *any);

/* Rows of a table for a model. */
sample conv_sample(model_table *t, row_list rows, const any_model *any);

/* How well a model does on rows. offset: of conv_offset. */
score conv_score(machine *m, const rfm_conv_model *model, const double *offset, const sample *s);

/* The top eigenvectors (count, d) of a metric (d, d), which is lost, and their shares of its trace (count). Returns how
 * many: at most d. */
size_t conv_directions(machine *m, size_t d, rfm_real *metric, size_t count, rfm_real *vectors, double *share);

/* report.c */
int conv_report(const call *c, machine *m, any_model *any, char *blob, size_t size);

#endif

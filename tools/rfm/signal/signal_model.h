/* Models of signals, rfm train --signal: a bank of filters and a small model of what they find (rfm_filters.h). */
#ifndef SIGNAL_MODEL_H
#define SIGNAL_MODEL_H

#include "rfm/command.h"
#include "rfm/learn/learn.h"

#define SIGNAL_CENTERS 64 /* of the small model, where --centers is not given */

typedef struct signal_job signal_job;

/* Wrong usage ends the program; nothing is done without --signal. */
void signal_check(const call *a);

/* The window that --signal says, of these inputs; --interleaved ones are put in order, channel by channel. */
signal_job *signal_begin(const call *a, input_list *inputs);

/* Learns the filters from the training rows. Rows and names of the inputs become those of the features, whose number is
 * returned. */
size_t signal_pool(signal_job *s, machine *m, const sample_form *form, sample *learn, input_list *inputs,
                   int (*tick)(void *arg, rfm_real done));

/* The model of the features in integers, behind the filters: *blob is freed and becomes that of both. */
any_model signal_finish(signal_job *s, machine *m, const sample_form *form, const rfm_options *options,
                        const any_model *features, void **blob, size_t *bytes);

/* Lines of what was made, for rfm train. */
void signal_show(text *t, const signal_job *s);
void signal_json(text *t, const signal_job *s);

/* rfm info and rfm export of such a model; the exit status. */
int signal_info(const call *c, const any_model *model, size_t bytes);
int signal_export(const rfm_filters *model, const char *id, const char *out);

#endif

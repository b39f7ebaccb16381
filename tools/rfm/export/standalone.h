/* Headers that need nothing else: a model's constants and the code of its prediction. */
#ifndef STANDALONE_H
#define STANDALONE_H

#include "rfm_filters.h"
#include "rfm_tiny.h"

#include "host/host.h"

/* A header in the making. */
typedef struct {
    text t;
    const char *id, *upper; /* the model's name, and in capitals: of macros */
    size_t column;          /* of the array that is being written */
} header;


/* Text with `@` for the name and `$` for the name in capitals. */
void put(header *h, const char *format, ...) PRINTF_LIKE(2, 3);

/* static const TYPE NAME[COUNT], number by number. */
void array_begin(header *h, const char *type, const char *name, size_t count);
void array_integer(header *h, long value);
void array_float(header *h, float value);
void array_end(header *h);

/* @_class of scores, and @_classify by @_scores; `type` is of an input, `number` is the scores' type, `zero` its 0. */
void put_classify(header *h, size_t c, const char *type, const char *number, const char *zero);

/* y = units scores, for integers. */
void put_predict(header *h);

/* @_integers, and prediction from floats. `exponents` (d); `rounding`: code that makes n of v, which has its range. */
void put_from_floats(header *h, size_t d, int task, const int *exponents, const char *rounding);

/* The arrays and functions of each kind. */
void put_tiny(header *h, const rfm_tiny *m);
void put_integers(header *h, const rfm_model_i *m);
void put_filters(header *h, const rfm_filters *m);
void put_floats(header *h, const rfm_model *m, int certify);

/* A loop over the centres of class k - 1: `score`. What is put between makes phi of the centre at `center`. */
void put_class_begin(header *h, const rfm_tiny *m, unsigned from);
void put_class_end(header *h, const rfm_tiny *m);
int positive_alpha(const rfm_tiny *m); /* none is negative */

/* @_weight(i, j): P_ij of a tiny model. */
void put_weight(header *h, const rfm_tiny *m);

/* @_certify of each kind, and how far single inputs may move: @_moves. */
void put_certify_tiny(header *h, const rfm_tiny *m);
void put_certify_integers(header *h, const rfm_model_i *m, const char *file);
void put_certify_floats(header *h, const rfm_model *m, const char *file);

#endif

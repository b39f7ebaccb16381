/* Model files, of numbers and of integers, and what people call their parts. */
#ifndef MODEL_H
#define MODEL_H

#include "rfm_small.h"

typedef struct {
    int type;             /* RFM_I8 ... RFM_F64 */
    rfm_model numbers;    /* of a model of integers: sizes, task, names and summary; its arrays are NULL */
    rfm_model_i integers; /* RFM_I8, RFM_I16 */
} any_model;

/* Opens a model file; *blob is to be freed. */
void any_read(const char *file, char **blob, size_t *size, any_model *model);

/* The same where only a model of numbers will do. */
void model_read(const char *file, char **blob, size_t *size, rfm_model *model);

any_model any_of_numbers(const rfm_model *model);
any_model any_of_integers(const rfm_model_i *model);
int has_integers(const any_model *model);

size_t model_classes(const rfm_model *model); /* 0: regression */

/* The words of the options, each in the order of the library's numbers for them; the last is NULL. */
extern const char *const metric_words[], *const scale_words[], *const task_words[];

/* Kernels by the words of rfm_kernels; a word that is none of them is wrong usage of the option `name`. */
int kernel_of(const char *name, const char *word);
int kernel_has_exponent(int kernel); /* one that is the model's own */

const char *any_kernel(const any_model *model); /* of integers: table, for that is all there is of it */
const char *any_metric(const any_model *model);
const char *type_word(int type); /* i8, i16, f32, f64 */

/* M of an opened model in the units it was trained in: (d, d), or (1, d) if it is diagonal. Returns how it is called:
 * full, diag, identity. `m` NULL: only that. */
const char *model_metric(const rfm_model *model, rfm_real *m);

/* Parts of a full M without its d^2 numbers: the diagonal (d), also of a diagonal M; row i (d); F (r, d), M = F'F. */
void model_diagonal(const rfm_model *model, rfm_real *m);
void model_metric_row(const rfm_model *model, size_t i, rfm_real *row);
rfm_real *model_factor(const rfm_model *model); /* to be freed */

#endif

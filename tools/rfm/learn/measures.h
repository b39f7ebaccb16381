/* How right predictions are, by every measure that people ask for. */
#ifndef MEASURES_H
#define MEASURES_H

#include "score.h"

/* Of classes. With two, the second is the positive one: f1, auc and brier are of it. With more, f1 is the mean over the
 * classes, auc that of each against the others, brier the sum over the classes. NaN: not known. */
typedef struct {
    size_t rows, classes; /* classes 0: numbers */
    double accuracy;
    double balanced; /* the mean over the classes of the share of their rows that is found */
    double f1, auc;
    double log_loss, brier; /* of probabilities */
    double r2, mse, rmse, mae;
    double baseline;   /* accuracy of the most frequent class */
    size_t *confusion; /* (classes, classes): the true one by row, the predicted one by column */
} measures;

/* p (classes) of one row's outputs (c). */
void probabilities(const rfm_real *y, size_t c, double temperature, double *p);

double model_temperature(const any_model *model); /* 0: it has none */

/* Of predictions y (rows, c) and their classes; `temperature` 0: no probabilities. To be freed by measures_free. */
measures measures_of(const sample *s, size_t classes, size_t c, const rfm_real *y, const uint32_t *predicted,
                     double temperature);
measures measures_sample(machine *m, const any_model *model, const sample *s, size_t *saturated);
void measures_free(measures *m);

/* What --tune names, in the order of tune_words; larger is better. */
#define TUNE_ACCURACY 0
#define TUNE_BALANCED 1
#define TUNE_F1       2
#define TUNE_AUC      3
#define TUNE_LOG_LOSS 4
#define TUNE_R2       5
#define TUNE_RMSE     6
#define TUNE_MAE      7
extern const char *const tune_words[];
double measures_tuned(const measures *m, int tune);

void measures_json(text *t, const measures *m);
void measures_text(text *t, const measures *m, const char *class_names, const char *kind); /* kind: "test rows" */

/* Says so if always naming the most frequent class, or the mean, would do as well. balanced: of --balance. */
void say_useless(const measures *m, const char *kind, int balanced);

#endif

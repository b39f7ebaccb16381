#include "command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SHOWN 8

/* The inputs with the largest diagonal of M. */
static void show_top(text *t, const rfm_model *model, const rfm_real *m, int full) {
    size_t d = model->d, shown[MOST_SHOWN], count = 0, j, i;
    double trace = 0;
    for (j = 0; j < d; j++) trace += (double)m[full ? j * d + j : j];
    while (count < MOST_SHOWN && count < d) {
        size_t best = d;
        for (j = 0; j < d; j++) {
            for (i = 0; i < count && shown[i] != j; i++) continue;
            if (i == count && (best == d || m[full ? j * d + j : j] > m[full ? best * d + best : best])) best = j;
        }
        shown[count++] = best;
        text_add(t, "%s%s %.1f %%", count == 1 ? "features      " : ", ", rfm_name(model->input_names, best),
                 trace > 0 ? 100 * (double)m[full ? best * d + best : best] / trace : 0);
    }
    text_add(t, " of the trace of M\n");
}

static void print_metric(text *t, const rfm_real *m, size_t rows, size_t d) {
    size_t i, j;
    for (i = 0; i < rows; i++) {
        for (j = 0; j < d; j++) text_add(t, j > 0 ? ",%.9g" : "%.9g", (double)m[i * d + j]);
        text_bytes(t, "\n", 1);
    }
}

int command_info(char **argv) {
    const char *file, *word;
    int json = 0, metric = 0, full;
    option table[] = {{"--json", OPTION_FLAG, &json}, {"--metric", OPTION_FLAG, &metric}, {NULL, 0, NULL}};
    size_t size, i, classes;
    rfm_model model;
    rfm_summary s;
    rfm_step *path;
    rfm_real *m;
    text t = {NULL, 0, 0};
    char *blob;
    memset(&s, 0, sizeof s);
    options_read("info", argv, table, 1, &file, "MODEL.rfm");
    if (json && metric) usage("info: expected --json or --metric, not both");
    model_read(file, &blob, &size, &model);
    (void)rfm_model_summary(&model, &s, NULL, 0);
    path = allocate((size_t)s.steps + 1, sizeof *path, "the path");
    (void)rfm_model_summary(&model, &s, path, s.steps);
    full = model.metric == RFM_FULL;
    m = allocate(full ? model.d : 1, model.d * sizeof *m, "the metric");
    word = model_metric(&model, m);
    classes = model.task == RFM_CLASSIFY ? (model.c == 1 ? 2 : model.c) : 0;
    if (metric) print_metric(&t, m, full ? model.d : 1, model.d);
    else if (json) {
        json_text(&t, "task", task_word(model.task));
        json_number(&t, "rows_train", s.rows);
        json_number(&t, "features", (double)model.d);
        json_number(&t, "outputs", (double)model.c);
        json_text(&t, "kernel", kernel_word(model.kernel));
        if (model.kernel == RFM_GENERAL) json_real(&t, "exponent", model.exponent);
        json_text(&t, "metric", word);
        json_number(&t, "rank", (double)model.r);
        json_real(&t, "bandwidth", s.bandwidth);
        json_real(&t, "ridge", s.ridge);
        json_number(&t, "iterations", s.iterations);
        json_real(&t, "validation", s.validation != 0 ? s.validation : (rfm_real)NAN);
        json_real(&t, "temperature", model.temperature);
        json_number(&t, "centers", (double)model.n);
        json_number(&t, "model_bytes", (double)size);
        json_number(&t, "scratch_bytes", (double)(RFM_PREDICT_SCRATCH(model.d, model.r) * sizeof(rfm_real)));
        if (model.class_names != NULL && classes > 0) json_names(&t, "classes", model.class_names, classes);
        if (model.input_names != NULL) json_names(&t, "inputs", model.input_names, model.d);
        json_end(&t);
    } else {
        text_add(&t, "task          %s", task_word(model.task));
        if (classes > 0) text_add(&t, ", %zu classes:", classes);
        for (i = 0; i < classes && i < 20; i++) text_add(&t, " %s", rfm_name(model.class_names, i));
        text_add(&t, "%s\ninputs        %zu\noutputs       %zu\n", classes > 20 ? " ..." : "", model.d, model.c);
        text_add(&t, "trained on    %zu rows, %zu centres are kept\n", (size_t)s.rows, model.n);
        text_add(&t, "kernel        %s", kernel_word(model.kernel));
        if (model.kernel == RFM_GENERAL) text_add(&t, " with exponent %.4g", (double)model.exponent);
        text_add(&t, ", bandwidth %.4g, ridge %.4g\n", (double)s.bandwidth, (double)s.ridge);
        text_add(&t, "metric        %s of rank %zu after %zu iterations\n", word, model.r, (size_t)s.iterations);
        if (strcmp(word, "identity") != 0) show_top(&t, &model, m, full);
        if (s.validation != 0) text_add(&t, "validation    %.4f\n", (double)s.validation);
        text_add(&t, "model         %zu bytes; a prediction needs %zu bytes of scratch\n", size, RFM_PREDICT_SCRATCH(model.d, model.r) * sizeof(rfm_real));
    }
    fwrite(t.at, 1, t.size, stdout);
    free(t.at);
    free(m);
    free(path);
    free(blob);
    return 0;
}

#include "command.h"
#include "learn/score.h"

#include <stdlib.h>
#include <string.h>

int command_predict(const call *c) {
    const char *const *operands = c->operands, *missing = c->missing;
    int scores = c->scores, confidence = c->confidence;
    size_t size, i, k;
    static const char *const missing_words[] = {"mean", NULL};
    any_model any;
    rfm_model model;
    machine m;
    csv file;
    char *blob;
    input_list inputs;
    row_list rows;
    unsigned char *use;
    rfm_real *x, *y;
    uint32_t *classes;
    size_t saturated;
    text lines = {NULL, 0, 0};
    if (missing != NULL) (void)options_word("--missing", missing, missing_words);
    machine_start(&m, c->threads, c->port);
    any_read(operands[0], &blob, &size, &any);
    model = any.numbers;
    if (missing != NULL) model_means(&any, operands[0]);
    if (confidence && (model.task != RFM_CLASSIFY || model.temperature <= 0)) fail("%s: expected a model of classes with a temperature for --confidence", operands[0]);
    csv_read(&file, operands[1], !c->no_header);
    file_check(c->out);
    inputs = inputs_of_model(&file, model.input_names, model.d, NULL, model.task == RFM_CLASSIFY ? 1 : model.c);
    use = split_read(NULL, &file, USE_TEST);
    rows = rows_of(&file, use, USE_TEST);
    x = allocate(rows.count, model.d * sizeof *x, "inputs");
    y = allocate(rows.count, model.c * sizeof *y, "predictions");
    inputs_fill(&file, inputs, rows, missing != NULL, x);
    if (missing != NULL) sample_impute(x, rows.count, model.d, model.shift);
    classes = allocate(rows.count, sizeof *classes, "predictions");
    predict_any(&m, &any, x, rows.count, y, classes, &saturated);
    saturated_note(&any, saturated, rows.count);
    for (i = 0; i < rows.count; i++) {
        const rfm_real *at = y + i * model.c;
        rfm_real sure;
        if (scores || model.task == RFM_REGRESS)
            for (k = 0; k < model.c; k++) text_add(&lines, k > 0 ? ",%.9g" : "%.9g", (double)at[k]);
        else if (model.class_names != NULL) csv_add(&lines, rfm_name(model.class_names, classes[i]));
        else text_add(&lines, "%lu", (unsigned long)classes[i]);
        if (confidence) {
            (void)rfm_class(&model, at, &sure);
            text_add(&lines, ",%.4f", (double)sure);
        }
        text_bytes(&lines, "\n", 1);
    }
    file_write(c->out, lines.at, lines.size);
    machine_stop(&m);
    csv_free(&file);
    free(lines.at);
    free(use);
    free(rows.at);
    inputs_free(&inputs);
    free(classes);
    free(x);
    free(y);
    free(blob);
    return 0;
}

#include "score.h"

#include <stdlib.h>
#include <string.h>

int command_predict(char **argv) {
    const char *operands[2], *out = NULL, *port = "auto", *missing = NULL;
    int scores = 0, confidence = 0, no_header = 0;
    size_t threads = 0, size, i, k;
    option table[] = {{"-o", OPTION_TEXT, &out}, {"--scores", OPTION_FLAG, &scores}, {"--confidence", OPTION_FLAG, &confidence},
                      {"--no-header", OPTION_FLAG, &no_header}, {"--missing", OPTION_TEXT, &missing}, {"--threads", OPTION_SIZE, &threads},
                      {"--port", OPTION_TEXT, &port}, {NULL, 0, NULL}};
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
    options_read("predict", argv, table, 2, operands, "MODEL.rfm DATA.csv");
    if (missing != NULL) (void)options_word("--missing", missing, missing_words);
    machine_start(&m, threads, port);
    any_read(operands[0], &blob, &size, &any);
    model = any.numbers;
    if (missing != NULL) model_means(&any, operands[0]);
    if (confidence && (model.task != RFM_CLASSIFY || model.temperature <= 0)) fail("%s: expected a model of classes with a temperature for --confidence", operands[0]);
    csv_read(&file, operands[1], !no_header);
    file_check(out);
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
    file_write(out, lines.at, lines.size);
    machine_stop(&m);
    csv_free(&file);
    free(lines.at);
    free(use);
    free(rows.at);
    free(inputs.at);
    free(inputs.names);
    free(classes);
    free(x);
    free(y);
    free(blob);
    return 0;
}

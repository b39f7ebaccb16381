#include "score.h"

#include <stdlib.h>
#include <string.h>

int command_evaluate(char **argv) {
    const char *operands[2], *split = NULL, *port = "auto", *missing = NULL, *target = NULL;
    int json = 0, no_header = 0;
    size_t threads = 0, size, bytes = 0, column, saturated;
    option table[] = {{"--split", OPTION_TEXT, &split}, {"--json", OPTION_FLAG, &json}, {"--target", OPTION_TEXT, &target},
                      {"--no-header", OPTION_FLAG, &no_header}, {"--missing", OPTION_TEXT, &missing}, {"--threads", OPTION_SIZE, &threads},
                      {"--port", OPTION_TEXT, &port}, {NULL, 0, NULL}};
    static const char *const missing_words[] = {"mean", NULL};
    double start = seconds_now();
    any_model any;
    rfm_model model;
    rfm_summary summary;
    machine m;
    csv file;
    char *blob;
    input_list inputs;
    row_list rows;
    unsigned char *use;
    sample_form form;
    sample given;
    score s;
    text out = {NULL, 0, 0};
    memset(&form, 0, sizeof form);
    memset(&summary, 0, sizeof summary);
    options_read("evaluate", argv, table, 2, operands, "MODEL.rfm DATA.csv");
    if (missing != NULL) (void)options_word("--missing", missing, missing_words);
    machine_start(&m, threads, port);
    any_read(operands[0], &blob, &size, &any);
    model = any.numbers;
    if (missing != NULL) model_means(&any, operands[0]);
    (void)rfm_model_summary(&model, &summary, NULL, 0);
    csv_read(&file, operands[1], !no_header);
    use = split_read(split, &file, USE_TEST);
    rows = rows_of(&file, use, USE_TEST);
    if (rows.count == 0) fail("%s: no row is marked 1 (test), expected at least one", split);
    form.targets = model.task == RFM_CLASSIFY ? 1 : model.c;
    inputs = inputs_of_model(&file, model.input_names, model.d, target, form.targets);
    form.missing_mean = missing != NULL;
    if (model.task == RFM_CLASSIFY) {
        if (model.class_names == NULL) fail("%s: expected a model that has class names", operands[0]);
        form.class_names = model.class_names, form.classes = model.c == 1 ? 2 : model.c;
    }
    if (target == NULL && form.targets == 1) target = target_guess(&file, inputs);
    column = target_find(&file, target, form.targets);
    given = sample_read(&file, inputs, column, &form, rows);
    if (missing != NULL) sample_impute(given.x, given.rows, model.d, model.shift);
    s = score_sample(&m, &any, &given, &saturated);
    saturated_note(&any, saturated, given.rows);
    bytes = m.arena.size;
    if (json) {
        json_text(&out, "task", task_word(model.task));
        json_number(&out, "rows_train", summary.rows);
        json_number(&out, "rows_test", (double)given.rows);
        json_number(&out, "features", (double)model.d);
        json_number(&out, "outputs", (double)model.c);
        json_text(&out, "type", type_word(any.type));
        json_text(&out, "kernel", any_kernel(&any));
        json_text(&out, "metric", any_metric(&any));
        json_real(&out, "bandwidth", summary.bandwidth);
        json_real(&out, "ridge", summary.ridge);
        json_number(&out, "iterations", summary.iterations);
        score_json(&out, &s, model.task);
        if (has_integers(&any)) json_number(&out, "saturated", (double)saturated);
        json_number(&out, "seconds", seconds_now() - start);
        json_number(&out, "arena_bytes", (double)bytes);
        json_number(&out, "model_bytes", (double)size);
        json_end(&out);
    } else score_text(&out, &s, model.task, given.rows);
    file_show(&out, NULL);
    machine_stop(&m);
    csv_free(&file);
    sample_free(&given);
    free(out.at);
    free(use);
    free(rows.at);
    free(inputs.at);
    free(inputs.names);
    free(blob);
    return 0;
}

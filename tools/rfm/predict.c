#include "command.h"
#include "learn/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Outputs whose offset was taken out when training, or, where that is not recorded, which differ by less than rfm_real
 * can tell at the size of the model's offset, are computed once more without it. Returns what is to be added to them
 * (c), to be freed; NULL: nothing. */
static rfm_real *move_outputs(machine *m, const any_model *model, const sample *s, rfm_real *y) {
    size_t c = model->numbers.c, i, k;
    offsets moved = {NULL, NULL};
    rfm_real *room;
    any_model other;
    if (has_integers(model) || model->numbers.task != RFM_REGRESS || model->numbers.offset == NULL) return NULL;
    for (k = 0; k < c; k++) {
        double offset = (double)model->numbers.offset[k], low = offset, high = offset;
        const model_record *r = &model->record;
        if (r->has_options && (r->offsets == NULL || record_number(r->offsets, model->numbers.d + k) == 0)) continue;
        for (i = 0; i < s->rows; i++) low = fmin(low, (double)y[i * c + k]), high = fmax(high, (double)y[i * c + k]);
        if (!r->has_options && !column_loses(ldexp(fabs(offset), sizeof(rfm_real) == 4 ? -24 : -53),
                                             fmax(high - low, fabs(offset) * 1e-300)))
            continue;
        if (moved.y == NULL) moved.y = allocate(c, sizeof *moved.y, "offsets");
        moved.y[k] = model->numbers.offset[k];
    }
    if (moved.y == NULL) return NULL;
    moved.x = s->moved.x;
    other = any_moved(model, &moved, &room);
    predict_any(m, &other, s->x, s->rows, y, NULL, NULL);
    free(room);
    return moved.y;
}

int command_predict(const call *c) {
    const char *const *operands = c->operands;
    int missing, scores = c->scores, confidence = c->confidence;
    size_t size, i, k;
    any_model any;
    rfm_model model;
    machine m;
    csv file;
    char *blob;
    input_list inputs;
    row_list rows;
    unsigned char *use;
    rfm_real *y, *added, *room;
    any_model moved;
    sample s;
    uint32_t *classes;
    size_t saturated;
    text lines = {NULL, 0, 0};
    if (c->missing != NULL) (void)options_word("--missing", c->missing, missing_words);
    machine_start(&m, c->threads, c->port);
    any_read(operands[0], &blob, &size, &any);
    model = any.numbers;
    missing = fills_missing(&any, operands[0], c->missing);
    if (confidence && (model.task != RFM_CLASSIFY || model.temperature <= 0))
        fail("%s: expected a model of classes with a temperature for --confidence", operands[0]);
    csv_read(&file, operands[1], !c->no_header);
    file_check(c->out);
    inputs = inputs_of_model(&file, model.input_names, model.d, NULL, model.task == RFM_CLASSIFY ? 1 : model.c);
    use = split_read(NULL, &file, USE_TEST);
    rows = rows_of(&file, use, USE_TEST);
    memset(&s, 0, sizeof s);
    s.rows = rows.count, s.x = allocate(rows.count, model.d * sizeof *s.x, "inputs");
    s.moved = offsets_find(&file, &inputs, 0, 0, rows, &any, has_integers(&any) ? LOSS_STAYS : LOSS_MOVED);
    y = allocate(rows.count, model.c * sizeof *y, "predictions");
    inputs_fill(&file, inputs, rows, missing, s.moved.x, s.x);
    sample_fill(&s, &any, operands[1]);
    classes = allocate(rows.count, sizeof *classes, "predictions");
    moved = any_moved(&any, &s.moved, &room);
    predict_any(&m, &moved, s.x, s.rows, y, classes, &saturated);
    added = move_outputs(&m, &any, &s, y);
    saturated_note(&any, saturated, rows.count);
    for (i = 0; i < rows.count; i++) {
        const rfm_real *at = y + i * model.c;
        rfm_real sure;
        if (scores || model.task == RFM_REGRESS)
            for (k = 0; k < model.c; k++) {
                double offset = added != NULL ? (double)added[k] : 0;
                text_add(&lines, "%s%.*g", k > 0 ? "," : "", offset != 0 ? 15 : 9, offset + (double)at[k]);
            }
        else if (model.class_names != NULL)
            csv_add(&lines, rfm_name(model.class_names, classes[i]));
        else
            text_add(&lines, "%lu", (unsigned long)classes[i]);
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
    free(y);
    free(added);
    free(room);
    sample_free(&s);
    free(blob);
    return 0;
}

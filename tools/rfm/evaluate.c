#include "command.h"
#include "conv/conv.h"
#include "learn/measures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int was_balanced(const model_record *r) {
    size_t i;
    for (i = 0; i < r->word_count; i++)
        if (strcmp(rfm_name(r->words, i), "--balance") == 0) return 1;
    return 0;
}

int command_evaluate(const call *c) {
    const char *const *operands = c->operands;
    const char *kind = c->split != NULL ? "test rows" : "rows";
    size_t size, bytes = 0, saturated, seen;
    double start = seconds_now();
    any_model any;
    rfm_model model;
    rfm_summary summary;
    machine m;
    model_table table;
    char *blob;
    row_list rows;
    sample given;
    measures s;
    text out = {NULL, 0, 0};
    memset(&summary, 0, sizeof summary);
    if (c->missing != NULL) (void)options_word("--missing", c->missing, missing_words);
    machine_start(&m, c->threads, c->port);
    if (patches_read(operands[0], &blob, &size, &any)) return conv_evaluate(c, &m, &any, blob, size);
    any_read(operands[0], &blob, &size, &any);
    model = any.numbers;
    (void)rfm_model_summary(&model, &summary, NULL, 0);
    model_table_read(&table, &any, operands[0], operands[1], !c->no_header, c->target,
                     fills_missing(&any, operands[0], c->missing));
    rows = rows_to_score(&table.file, c->split, table.column, table.form.targets);
    given = sample_read(&table.file, table.inputs, table.column, &table.form, rows,
                        model_table_offsets(&table, rows, &any));
    sample_fill(&given, &any, operands[1]);
    s = measures_sample(&m, &any, &given, &saturated);
    saturated_note(&any, saturated, given.rows);
    seen = rows_seen(&any, &given, NULL);
    bytes = m.arena.size;
    if (c->json) {
        json_text(&out, "task", task_words[model.task]);
        json_number(&out, "rows_train", summary.rows);
        json_number(&out, "rows_test", (double)given.rows);
        json_number(&out, "rows_seen", seen != SIZE_MAX ? (double)seen : (double)NAN); /* null: not known */
        json_number(&out, "features", (double)model.d);
        json_number(&out, "outputs", (double)model.c);
        json_text(&out, "type", type_word(any.type));
        json_text(&out, "kernel", any_kernel(&any));
        json_text(&out, "metric", any_metric(&any));
        json_real(&out, "bandwidth", summary.bandwidth);
        json_real(&out, "ridge", summary.ridge);
        json_number(&out, "iterations", summary.iterations);
        measures_json(&out, &s);
        if (has_integers(&any)) json_number(&out, "saturated", (double)saturated);
        json_number(&out, "seconds", seconds_now() - start);
        json_number(&out, "arena_bytes", (double)bytes);
        json_number(&out, "model_bytes", (double)size);
        json_end(&out);
    } else {
        measures_text(&out, &s, model.class_names, kind);
        if (seen != SIZE_MAX) text_add(&out, "trained on    %zu of them\n", seen);
    }
    say_useless(&s, kind, was_balanced(&any.record));
    if (seen != SIZE_MAX && seen > 0)
        note("%zu of the %zu %s were trained on: of new rows fewer will be right", seen, given.rows, kind);
    file_show(&out, NULL);
    machine_stop(&m);
    model_table_free(&table);
    sample_free(&given);
    measures_free(&s);
    free(out.at);
    free(rows.at);
    free(blob);
    return 0;
}

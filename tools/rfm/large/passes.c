/* rfm train on tables that are read in passes. */
#include "large.h"
#include "stream.h"

#include "../learn/search.h"
#include "rfm_large.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DRAWN_ROWS   8000 /* that the settings are searched on, and the scales are from */
#define CLASSES_MOST 1000

int passes_wanted(const call *a) {
    struct stat about;
    if (a->operands[1] != NULL) return 1;
    if (method_given(a) == METHOD_EXACT || method_given(a) == METHOD_HYPERBF || method_given(a) == METHOD_TREE ||
        a->image_size != NULL || a->signal != NULL)
        return 0;
    if (a->in_passes) return 1;
    return stat(a->operands[0], &about) == 0 && machine_room() > 0 && (double)about.st_size > 0.2 * machine_room();
}

typedef struct {
    const call *a;
    stream *from;
    size_t columns, target, d, c;
    size_t rows, next; /* of the table; the row that comes next */
    double *cells;     /* (columns) of a row */
    int is_class;      /* the target is a label */
    text classes;      /* labels, one after the other */
    size_t class_count;
    sample_form form;
    sample drawn;
    lesson lesson;
    rfm_real *one; /* (c) */
} table;

/* ---- the first pass --------------------------------------------------------------------------- */

static uint32_t class_of(table *t, const char *label, int may_add) {
    const char *name = t->classes.at;
    size_t i;
    for (i = 0; i < t->class_count; i++, name += strlen(name) + 1)
        if (strcmp(name, label) == 0) return (uint32_t)i;
    if (!may_add) return CLASS_UNKNOWN;
    if (t->class_count == CLASSES_MOST)
        fail("%s: more than %d labels in column %s; --task regress for numbers", t->a->operands[0], CLASSES_MOST,
             stream_name(t->from, t->target));
    text_bytes(&t->classes, label, strlen(label) + 1);
    return (uint32_t)t->class_count++;
}

static size_t find_target(const table *t) {
    const char *name = t->a->target != NULL ? t->a->target : "target";
    size_t i;
    for (i = 0; i < t->columns; i++)
        if (strcmp(stream_name(t->from, i), name) == 0) return i;
    if (t->a->target != NULL) fail("%s: no column %s", t->a->operands[0], name);
    return t->columns - 1;
}

/* Text in the first row, or --task classify: labels. */
static int target_is_label(const table *t) {
    double ignored;
    const char *end;
    if (strcmp(t->a->task, "auto") != 0) return strcmp(t->a->task, "classify") == 0;
    stream_rewind(t->from);
    if (!stream_row(t->from, t->target, t->cells)) fail("%s: no rows", t->a->operands[0]);
    end = csv_number(stream_label(t->from), &ignored);
    return end == NULL || *end != 0;
}

static void keep_row(table *t, size_t at) {
    size_t i, j;
    for (i = j = 0; i < t->columns; i++)
        if (i != t->target) t->drawn.x[at * t->d + j++] = (rfm_real)t->cells[i];
    if (t->is_class)
        t->drawn.labels[at] = class_of(t, stream_label(t->from), 1);
    else
        t->drawn.y[at] = (rfm_real)t->cells[t->target];
}

/* Counts the rows and draws some, each with the same chance. */
static void first_pass(table *t) {
    uint32_t state = rfm_random_start((uint32_t)t->a->seed);
    t->drawn.x = allocate(DRAWN_ROWS, t->d * sizeof *t->drawn.x, "a sample");
    t->drawn.y = allocate(DRAWN_ROWS, sizeof *t->drawn.y, "a sample");
    t->drawn.labels = t->is_class ? allocate(DRAWN_ROWS, sizeof *t->drawn.labels, "a sample") : NULL;
    stream_rewind(t->from);
    while (stream_row(t->from, t->is_class ? t->target : SIZE_MAX, t->cells)) {
        size_t to = t->rows < DRAWN_ROWS ? t->rows : rfm_random(&state) % (t->rows + 1);
        if (t->is_class) (void)class_of(t, stream_label(t->from), 1);
        if (!t->is_class && isnan(t->cells[t->target])) fail("%s: row %zu: no target", t->a->operands[0], t->rows + 1);
        if (to < DRAWN_ROWS) keep_row(t, to);
        if (++t->rows % 100000 == 0) note("%zu rows", t->rows);
    }
    t->drawn.rows = t->rows < DRAWN_ROWS ? t->rows : DRAWN_ROWS;
    if (t->drawn.rows < 5) fail("%s: %zu rows, expected at least 5", t->a->operands[0], t->rows);
    if (t->is_class && t->class_count < 2) fail("%s: one class only, expected at least 2", t->a->operands[0]);
}

static void begin(table *t, const call *a) {
    size_t files = 0, i;
    text names = {NULL, 0, 0}, target = {NULL, 0, 0};
    memset(t, 0, sizeof *t);
    if (a->split != NULL || a->one_hot || a->targets > 0 || a->metric_from != NULL || a->coverage > 0 ||
        a->drop != NULL || a->only != NULL || a->weights != NULL || a->balance || a->group != NULL || a->time != NULL ||
        a->test_size != NULL || a->cv != SIZE_MAX || a->tune != NULL)
        usage("tables in passes: expected none of --split, --one-hot, --targets, --metric-from and --coverage; test "
              "rows: "
              "--test FILE");
    while (files < MOST_OPERANDS && a->operands[files] != NULL) files++;
    t->a = a, t->from = stream_open(a->operands, files, !a->no_header);
    t->columns = stream_columns(t->from);
    if (t->columns < 2) fail("%s: 1 column, expected inputs and a target", a->operands[0]);
    t->d = t->columns - 1, t->target = find_target(t);
    t->cells = allocate(t->columns, sizeof *t->cells, "a row");
    t->form.target = a->target, t->form.targets = 1;
    t->is_class = target_is_label(t);
    for (i = 0; i < t->columns; i++) {
        const char *name = stream_name(t->from, i);
        text_bytes(i == t->target ? &target : &names, name, strlen(name) + 1);
    }
    t->form.target_names = target.at;
    first_pass(t);
    if (t->is_class) t->form.class_names = t->classes.at, t->form.classes = t->class_count;
    t->c = form_outputs(&t->form);
    t->one = allocate(t->c, sizeof *t->one, "a row");
    lesson_prepare(&t->lesson, &t->drawn, &t->form, names.at, t->d, a->raw, a->operands[0]);
}

/* ---- rows as they are fitted ------------------------------------------------------------------ */

static void standard_row(table *t, rfm_real *x, rfm_real *y) {
    const lesson *l = &t->lesson;
    size_t i, j;
    for (i = j = 0; i < t->columns; i++) {
        if (i == t->target) continue;
        x[j] = (rfm_real)t->cells[i];
        if (!l->raw) x[j] = (x[j] - l->mean[j]) / l->scale[j];
        j++;
    }
    if (t->is_class) {
        uint32_t label = class_of(t, stream_label(t->from), 0);
        if (label == CLASS_UNKNOWN) label = 0; /* the rows have changed, which the checksum tells */
        class_targets(&label, 1, t->c, y);
    } else
        *y = l->raw ? (rfm_real)t->cells[t->target] : ((rfm_real)t->cells[t->target] - *l->y_mean) / *l->y_scale;
}

static size_t read_rows(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    table *t = from;
    size_t i;
    (void)weights;
    if (first == 0) stream_rewind(t->from), t->next = 0;
    if (first != t->next) return 0;
    for (i = 0; i < count; i++) {
        if (!stream_row(t->from, t->is_class ? t->target : SIZE_MAX, t->cells)) return i;
        standard_row(t, x + i * t->d, y + i * t->c);
    }
    t->next = first + count;
    return count;
}

/* ---- the command ------------------------------------------------------------------------------ */

static void test_score(const call *a, machine *m, const rfm_model *model, text *out) {
    any_model any = any_of_numbers(model);
    model_table file;
    row_list rows;
    sample given;
    score s;
    model_table_read(&file, &any, a->out, a->test, !a->no_header, a->target, a->missing != NULL);
    rows = rows_to_score(&file.file, NULL, file.column, file.form.targets);
    given = sample_read(&file.file, file.inputs, file.column, &file.form, rows, model_table_offsets(&file, rows, &any));
    s = score_sample(m, &any, &given, NULL);
    if (a->json)
        json_number(out, "rows_test", (double)given.rows), score_json(out, &s, model->task);
    else
        score_text(out, &s, model->task, given.rows, "test rows");
    sample_free(&given);
    free(rows.at);
    model_table_free(&file);
}

void passes_train(const call *a, machine *m, search_problem *p, int (*tick)(void *arg, rfm_real done), double start) {
    table t;
    rfm_large_options o;
    rfm_large_report report;
    rfm_rows rows;
    search_result choice;
    fitted f;
    rfm_model opened;
    text out = {NULL, 0, 0};
    size_t scratch = 0, store = 0, bytes = 0;
    void *blob;
    int status;
    memset(&f, 0, sizeof f);
    begin(&t, a);
    file_check(a->out);
    p->machine = m, p->x = rfm_cview(t.lesson.x, t.lesson.rows, t.d), p->y = rfm_cview(t.lesson.y, t.lesson.rows, t.c);
    p->labels = t.drawn.labels, p->classes = t.form.classes;
    choice = search(p);
    rfm_large_options_init(&o);
    o.fit = choice.options, o.centers = large_centers(a, t.rows), o.sample = o.centers;
    o.rounds = o.fit.iterations > 0 && o.fit.metric != RFM_IDENTITY;
    memset(&rows, 0, sizeof rows);
    rows.n = t.rows, rows.d = t.d, rows.c = t.c, rows.read = read_rows, rows.from = &t;
    must(rfm_large_fit_need(&m->ctx, &rows, &o, NULL, &scratch, &store), "training");
    f.arena_bytes = scratch + store;
    machine_memory(m, f.arena_bytes, "training (fewer centres take less: --centers N)");
    m->ctx.tick = tick;
    status = rfm_large_fit(&m->ctx, &rows, &o, NULL, m->ctx.arena, &f.model, &report);
    m->ctx.tick = NULL;
    progress_end();
    if (status == RFM_ECANCEL) fail("interrupted; no model was written");
    if (status == RFM_ECHANGED || status == RFM_EREAD)
        fail("%s: the rows have changed while they were read", a->operands[0]);
    must(status, "training");
    f.path[o.fit.iterations].ridge = report.solve.ridge, f.path[o.fit.iterations].bandwidth = f.model.bandwidth;
    t.lesson.rows = t.rows;
    blob = lesson_pack(&t.lesson, &o.fit, &f, choice.validation, choice.temperature, &bytes, &opened);
    file_write(a->out, blob, bytes);
    if (a->json) {
        json_text(&out, "task", task_words[opened.task]);
        json_number(&out, "rows_train", (double)t.rows);
        json_number(&out, "features", (double)t.d);
        json_number(&out, "outputs", (double)t.c);
        json_text(&out, "kernel", rfm_kernels[o.fit.kernel].name);
        json_text(&out, "metric", metric_words[o.fit.metric]);
        json_real(&out, "bandwidth", f.model.bandwidth);
        json_real(&out, "ridge", report.solve.ridge);
        json_number(&out, "iterations", (double)o.fit.iterations);
        json_text(&out, "method", "large");
        json_number(&out, "centers", (double)f.model.n);
        json_number(&out, "passes", (double)report.solve.passes + 1);
        json_number(&out, "steps", (double)report.solve.steps);
        json_number(&out, "validation", choice.validation);
        json_number(&out, "search", (double)choice.tried);
        if (a->test != NULL) test_score(a, m, &opened, &out);
        json_number(&out, "seconds", seconds_now() - start);
        json_number(&out, "arena_bytes", (double)f.arena_bytes);
        json_number(&out, "model_bytes", (double)bytes);
        json_end(&out);
    } else {
        text_add(&out, "task          %s\n", task_words[opened.task]);
        text_add(&out, "rows          %zu trained on, read %zu times\n", t.rows, report.solve.passes + 1);
        text_add(&out, "features      %zu\n", t.d);
        text_add(&out, "method        large: %zu centres, %s after %zu iterations, ridge %.4g\n", f.model.n,
                 metric_words[o.fit.metric], o.fit.iterations, (double)report.solve.ridge);
        if (isfinite(choice.validation))
            text_add(&out, "validation    %s %.4f on %zu rows that were drawn, exact\n",
                     opened.task == RFM_CLASSIFY ? "accuracy" : "r2", choice.validation, choice.held);
        if (a->test != NULL) test_score(a, m, &opened, &out);
        text_add(&out, "model         ");
        text_name(&out, a->out);
        text_add(&out, ", %zu bytes, %zu centres\n", bytes, f.model.n);
        text_add(&out, "took          %.2f s, %zu bytes of arena\n", seconds_now() - start, f.arena_bytes);
    }
    file_show(&out, a->out);
    free(out.at), free(blob), free(t.cells), free(t.one);
    stream_close(t.from);
}

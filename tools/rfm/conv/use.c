/* What rfm predict, rfm evaluate and rfm info do with a model of patches. */
#include "conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_DIRECTIONS 8

const char *conv_kernel_word(const rfm_conv *f) { return conv_words[f->kernel]; }

double *conv_offset(const any_model *any) {
    const rfm_conv_model *model = &any->patches;
    double *offset = allocate(model->c, sizeof *offset, "offsets");
    size_t k;
    for (k = 0; k < model->c; k++) {
        offset[k] = any->record.offsets != NULL ? record_number(any->record.offsets, any->numbers.d + k) : 0;
        if (!(fabs(offset[k]) > 0) && model->offset != NULL) offset[k] = (double)model->offset[k];
    }
    return offset;
}

/* y (rows, c) without the model's offset. */
static int predict_sums(machine *m, const rfm_conv_model *model, rfm_cmat x, rfm_real *y, uint32_t *classes) {
    rfm_conv_model bare = *model;
    bare.offset = NULL;
    return patches_status(m, &bare, x, y, classes);
}

score conv_score(machine *m, const rfm_conv_model *model, const double *offset, const sample *s) {
    const size_t c = model->c;
    rfm_real *y = allocate(s->rows, c * sizeof *y, "predictions");
    uint32_t *classes = allocate(s->rows, sizeof *classes, "predictions");
    size_t i;
    score found;
    must(predict_sums(m, model, rfm_cview(s->x, s->rows, rfm_conv_pixels(&model->input)), y, classes), "predict");
    for (i = 0; i < s->rows * c; i++) {
        const double moved = s->moved.y != NULL ? s->moved.y[i % c] : 0;
        y[i] = (rfm_real)((double)y[i] + (offset[i % c] - moved));
    }
    found = score_of(s, c, y, classes);
    free(y);
    free(classes);
    return found;
}

/* Offsets are added to y (rows, c) where no digit is lost by that; they are 0 then. */
static void add_offsets(const any_model *any, size_t rows, rfm_real *y, double *offset) {
    size_t c = any->patches.c, i, k;
    for (k = 0; k < c; k++) {
        double low = 0, high = 0;
        for (i = 0; i < rows; i++) low = fmin(low, (double)y[i * c + k]), high = fmax(high, (double)y[i * c + k]);
        if (any->record.offsets != NULL && fabs(record_number(any->record.offsets, any->numbers.d + k)) > 0) continue;
        if (output_loses(offset[k], high - low)) continue;
        for (i = 0; i < rows; i++) y[i * c + k] = (rfm_real)((double)y[i * c + k] + offset[k]);
        offset[k] = 0;
    }
}

/* Some images by a model, only to see whether they can be predicted. */
typedef struct {
    machine *m;
    const rfm_conv_model *model;
    rfm_real *y;
} trial;

static int try_rows(void *arg, const rfm_real *x, size_t rows) {
    const trial *t = arg;
    return predict_sums(t->m, t->model, rfm_cview(x, rows, rfm_conv_pixels(&t->model->input)), t->y, NULL);
}

int conv_predict(const call *c, machine *m, any_model *any, char *blob, size_t size) {
    const rfm_conv_model *model = &any->patches;
    size_t d = any->numbers.d, i, k;
    csv file;
    input_list inputs;
    unsigned char *use;
    row_list rows;
    rfm_real *x, *y;
    double *offset;
    uint32_t *classes;
    text lines = {NULL, 0, 0};
    (void)size;
    if (c->confidence || c->proba || c->certify || c->sets || c->missing != NULL)
        usage("%s: a model of patches, expected none of --confidence, --proba, --certify, --sets and --missing",
              c->operands[0]);
    csv_read(&file, c->operands[1], !c->no_header);
    file_check(c->out);
    inputs = inputs_of_model(&file, NULL, d, any->record.targets, model_targets(&any->numbers));
    use = split_read(NULL, &file, USE_TEST);
    rows = rows_of(&file, use, USE_TEST);
    x = allocate(rows.count, d * sizeof *x, "inputs");
    y = allocate(rows.count, model->c * sizeof *y, "predictions");
    classes = allocate(rows.count, sizeof *classes, "predictions");
    inputs_fill(&file, inputs, rows, 0, NULL, x);
    if (predict_sums(m, model, rfm_cview(x, rows.count, d), y, classes) != RFM_OK) {
        trial t = {m, model, y};
        failed_rows failed = {&file, &inputs, rows, x, NULL, try_rows, &t};
        rows_fail(&failed);
    }
    offset = conv_offset(any);
    add_offsets(any, rows.count, y, offset);
    for (i = 0; i < rows.count; i++) {
        if (c->scores || model->task == RFM_REGRESS)
            for (k = 0; k < model->c; k++)
                text_add(&lines, "%s%.*g", k > 0 ? "," : "", output_digits(offset[k]),
                         offset[k] + (double)y[i * model->c + k]);
        else if (model->class_names != NULL)
            csv_add(&lines, rfm_name(model->class_names, classes[i]));
        else
            text_add(&lines, "%lu", (unsigned long)classes[i]);
        text_bytes(&lines, "\n", 1);
    }
    file_write(c->out, lines.at, lines.size);
    machine_stop(m);
    csv_free(&file);
    inputs_free(&inputs);
    free(lines.at);
    free(use);
    free(rows.at);
    free(x);
    free(y);
    free(offset);
    free(classes);
    free(blob);
    return 0;
}

sample conv_sample(model_table *t, row_list rows, const any_model *any) {
    const size_t targets = t->form.classes > 0 ? 0 : t->form.targets;
    return sample_read(&t->file, t->inputs, t->column, &t->form, rows,
                       offsets_of_targets(&t->file, t->column, targets, rows, any));
}

int conv_evaluate(const call *c, machine *m, any_model *any, char *blob, size_t size) {
    const rfm_conv_model *model = &any->patches;
    size_t d = any->numbers.d;
    double start = seconds_now(), *offset = conv_offset(any);
    model_table table;
    row_list rows;
    sample given;
    score s;
    text out = {NULL, 0, 0};
    if (c->missing != NULL) usage("%s: a model of patches, expected no --missing", c->operands[0]);
    model_table_read(&table, any, c->operands[0], c->operands[1], !c->no_header, c->target, 0);
    rows = rows_to_score(&table.file, c->split, table.column, table.form.targets);
    given = conv_sample(&table, rows, any);
    s = conv_score(m, model, offset, &given);
    if (c->json) {
        json_text(&out, "task", task_words[model->task]);
        json_number(&out, "rows_train", (double)model->n);
        json_number(&out, "rows_test", (double)given.rows);
        json_number(&out, "features", (double)d);
        json_number(&out, "outputs", (double)model->c);
        json_text(&out, "type", type_word(any->type));
        json_text(&out, "kernel", conv_kernel_word(&model->f));
        json_text(&out, "metric", metric_words[model->p == NULL ? RFM_IDENTITY : RFM_FULL]);
        score_json(&out, &s, model->task);
        json_number(&out, "seconds", seconds_now() - start);
        json_number(&out, "arena_bytes", (double)m->arena.size);
        json_number(&out, "model_bytes", (double)size);
        json_end(&out);
    } else
        score_text(&out, &s, model->task, given.rows, c->split != NULL ? "test rows" : "rows");
    file_show(&out, NULL);
    machine_stop(m);
    model_table_free(&table);
    sample_free(&given);
    free(out.at);
    free(rows.at);
    free(offset);
    free(blob);
    return 0;
}

size_t conv_directions(machine *m, size_t d, rfm_real *metric, size_t count, rfm_real *vectors, double *share) {
    rfm_real *values;
    double trace = 0;
    size_t i, j, bytes;
    if (count > d) count = d;
    values = allocate(count, sizeof *values, "eigenvalues");
    for (j = 0; j < d; j++) trace += (double)metric[j * d + j];
    must(rfm_eig_need(&m->ctx, d, count, &bytes), "eigenvectors");
    machine_memory(m, bytes, "eigenvectors");
    must(rfm_eig(&m->ctx, rfm_view(metric, d, d), count, values, rfm_view(vectors, count, d)), "eigenvectors");
    for (i = 0; i < count; i++) {
        rfm_real *v = vectors + i * d, most = 0;
        share[i] = trace > 0 && values[i] > 0 ? (double)values[i] / trace : 0;
        for (j = 0; j < d; j++)
            if (v[j] * v[j] > most * most) most = v[j];
        for (j = 0; j < d && most < 0; j++) v[j] = -v[j]; /* the largest entry is positive */
    }
    free(values);
    return count;
}

/* M (D, D), to be freed. */
static rfm_real *metric_of(const rfm_conv_model *model) {
    size_t d = rfm_conv_patch(&model->f);
    rfm_real *metric = allocate(d, d * sizeof *metric, "the metric");
    must(rfm_conv_metric(model, rfm_view(metric, d, d)), "the metric");
    return metric;
}

static void print_metric(const rfm_conv_model *model) {
    size_t d = rfm_conv_patch(&model->f), i, j;
    rfm_real *metric = metric_of(model);
    text lines = {NULL, 0, 0};
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++) text_add(&lines, "%.9g%s", (double)metric[i * d + j], j + 1 < d ? "," : "\n");
    file_show(&lines, NULL);
    free(lines.at);
    free(metric);
}

int conv_info(const call *c, any_model *any, char *blob, size_t size) {
    const rfm_conv_model *model = &any->patches;
    const rfm_conv *f = &model->input;
    size_t classes = model_classes(&any->numbers), i, count, d = rfm_conv_patch(&model->f);
    size_t scratch = rfm_conv_scratch(model) * sizeof(rfm_real);
    rfm_real *metric, *vectors;
    double share[SHOWN_DIRECTIONS];
    text t = {NULL, 0, 0};
    machine m;
    if (c->show_metric)
        print_metric(model);
    else if (c->json) {
        json_text(&t, "task", task_words[model->task]);
        json_number(&t, "rows_train", (double)model->n);
        json_number(&t, "features", (double)any->numbers.d);
        json_number(&t, "outputs", (double)model->c);
        json_text(&t, "type", type_word(any->type));
        json_text(&t, "kernel", conv_kernel_word(&model->f));
        json_text(&t, "metric", metric_words[model->p == NULL ? RFM_IDENTITY : RFM_FULL]);
        json_number(&t, "channels", (double)f->channels);
        json_number(&t, "height", (double)f->height);
        json_number(&t, "width", (double)f->width);
        json_number(&t, "patch", (double)f->patch);
        json_number(&t, "depth", model->f.depth);
        json_number(&t, "layers", (double)model->layers);
        json_number(&t, "filters", model->layers > 0 ? (double)model->layer[0].count : 0);
        json_number(&t, "rank", (double)model->r);
        if (f->kernel == RFM_CONV_LAPLACE) json_real(&t, "bandwidth", model->f.bandwidth);
        json_number(&t, "model_bytes", (double)size);
        json_number(&t, "scratch_bytes", (double)scratch);
        if (any->record.targets != NULL) json_names(&t, "targets", any->record.targets, model_targets(&any->numbers));
        if (model->class_names != NULL && classes > 0) json_names(&t, "classes", model->class_names, classes);
        json_end(&t);
        file_show(&t, NULL);
    } else {
        text_add(&t, "task          %s", task_words[model->task]);
        if (classes > 0) text_add(&t, ", %zu classes:", classes);
        for (i = 0; i < classes && i < 20; i++) {
            text_add(&t, " ");
            if (model->class_names != NULL)
                text_name(&t, rfm_name(model->class_names, i));
            else
                text_add(&t, "%zu", i);
        }
        text_add(&t, "%s\nimages        %zu x %zu x %zu: channels, rows, columns\n", classes > 20 ? " ..." : "",
                 f->channels, f->height, f->width);
        text_add(&t, "numbers       %s; pixels are taken as they are, in the order of the columns\n",
                 type_word(any->type));
        text_add(&t, "trained on    %zu images, all are kept\n", model->n);
        if (model->layers > 0) text_add(&t, "filters       %zu layers of %zu\n", model->layers, model->layer[0].count);
        text_add(&t, "kernel        %s, %d layer%s", conv_kernel_word(&model->f), model->f.depth,
                 model->f.depth == 1 ? "" : "s");
        if (f->kernel == RFM_CONV_LAPLACE) text_add(&t, ", bandwidth %.4g", (double)model->f.bandwidth);
        text_add(&t, "\nmetric        %s of patches with %zu numbers, side %zu, rank %zu\n",
                 metric_words[model->p == NULL ? RFM_IDENTITY : RFM_FULL], d, f->patch, model->r);
        if (model->p != NULL) {
            machine_start(&m, 1, "auto");
            vectors = allocate(SHOWN_DIRECTIONS, d * sizeof *vectors, "eigenvectors");
            metric = metric_of(model);
            count = conv_directions(&m, d, metric, SHOWN_DIRECTIONS, vectors, share);
            text_add(&t, "directions   ");
            for (i = 0; i < count; i++) text_add(&t, " %.1f %%%s", 100 * share[i], i + 1 < count ? "," : "");
            text_add(&t, " of the trace of M\n");
            free(metric);
            free(vectors);
            machine_stop(&m);
        }
        text_add(&t, "model         %zu bytes; a prediction needs %zu bytes of scratch\n", size, scratch);
        file_show(&t, NULL);
    }
    free(t.at);
    free(blob);
    return 0;
}

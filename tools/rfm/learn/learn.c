#include "learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Mean and scale of every column; NaN cells are left out. */
static void column_statistics(const rfm_real *x, size_t rows, size_t d, rfm_real *mean, rfm_real *scale) {
    size_t i, j;
    for (j = 0; j < d; j++) {
        double sum = 0, sum2 = 0, low = (double)INFINITY, high = -(double)INFINITY, centre;
        size_t count = 0;
        for (i = 0; i < rows; i++) {
            double value = (double)x[i * d + j];
            if (isnan(value)) continue;
            sum += value, count++;
            low = fmin(low, value), high = fmax(high, value);
        }
        mean[j] = count > 0 ? (rfm_real)(sum / (double)count) : (rfm_real)NAN;
        if (low == high) mean[j] = (rfm_real)low;
        centre = (double)mean[j];
        for (i = 0; i < rows; i++)
            if (!isnan(x[i * d + j])) sum2 += ((double)x[i * d + j] - centre) * ((double)x[i * d + j] - centre);
        scale[j] = low < high ? (rfm_real)sqrt(sum2 / (double)rows) : (rfm_real)1; /* missing cells become the mean */
        if (!(scale[j] > 0) || !isfinite(scale[j])) scale[j] = 1;
    }
}

/* The offset of a moved column takes the place of its mean, for that is what a model can keep exactly. */
static void keep_offsets(rfm_real *mean, const double *offset, size_t d) {
    size_t j;
    for (j = 0; offset != NULL && j < d; j++)
        if (fabs(offset[j]) > 0) mean[j] = (rfm_real)offset[j];
}

static void standardise(rfm_real *x, size_t rows, size_t d, const double *offset, const rfm_real *mean,
                        const rfm_real *scale) {
    size_t i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < d; j++) {
            double centre = offset != NULL && fabs(offset[j]) > 0 ? 0 : (double)mean[j];
            x[i * d + j] = (rfm_real)(((double)x[i * d + j] - centre) / (double)scale[j]);
        }
}

void class_targets(const uint32_t *labels, size_t rows, size_t c, rfm_real *y) {
    size_t i;
    memset(y, 0, rows * c * sizeof *y);
    for (i = 0; i < rows; i++) {
        if (c == 1)
            y[i] = labels[i] == 1 ? (rfm_real)1 : (rfm_real)-1;
        else
            y[i * c + labels[i]] = 1;
    }
}

void lesson_prepare(lesson *l, sample *s, const sample_form *form, const char *input_names, size_t d, int raw,
                    const char *file) {
    size_t c = form_outputs(form), k;
    memset(l, 0, sizeof *l);
    l->rows = s->rows, l->d = d, l->c = c, l->raw = raw, l->x = s->x;
    l->form = form, l->input_names = input_names, l->moved = s->moved;
    l->mean = allocate(d, sizeof *l->mean, "statistics");
    l->scale = allocate(d, sizeof *l->scale, "statistics");
    l->y_mean = allocate(c, sizeof *l->y_mean, "statistics");
    l->y_scale = allocate(c, sizeof *l->y_scale, "statistics");
    column_statistics(l->x, l->rows, d, l->mean, l->scale);
    for (k = 0; k < d; k++)
        if (isnan(l->mean[k]))
            fail("%s: input %s has no value in any training row, expected at least one", file,
                 rfm_name(input_names, k));
    keep_offsets(l->mean, s->moved.x, d);
    (void)sample_impute(s, d, l->mean);
    if (!raw) standardise(l->x, l->rows, d, s->moved.x, l->mean, l->scale);
    if (form->classes > 0) {
        l->y = allocate(l->rows, c * sizeof *l->y, "targets");
        class_targets(s->labels, l->rows, c, l->y);
    } else {
        l->y = s->y;
        column_statistics(l->y, l->rows, c, l->y_mean, l->y_scale);
        keep_offsets(l->y_mean, s->moved.y, c);
        if (!raw) standardise(l->y, l->rows, c, s->moved.y, l->y_mean, l->y_scale);
    }
}

rfm_real *lesson_rows(const lesson *l, sample *s) {
    rfm_real *y = allocate(s->rows, l->c * sizeof *y, "targets");
    size_t i;
    if (!l->raw) standardise(s->x, s->rows, l->d, s->moved.x, l->mean, l->scale);
    if (l->form->classes > 0) {
        for (i = 0; i < s->rows; i++) /* a label that is new: rows have changed, which their checksum tells */
            if (s->labels[i] == CLASS_UNKNOWN) s->labels[i] = 0;
        class_targets(s->labels, s->rows, l->c, y);
        return y;
    }
    memcpy(y, s->y, s->rows * l->c * sizeof *y);
    if (!l->raw) standardise(y, s->rows, l->c, s->moved.y, l->y_mean, l->y_scale);
    return y;
}

void lesson_free(lesson *l) {
    if (l->form->classes > 0) free(l->y);
    free(l->mean);
    free(l->scale);
    free(l->y_mean);
    free(l->y_scale);
}

static rfm_data data_of(const lesson *l) {
    rfm_data data;
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(l->x, l->rows, l->d), data.y = rfm_cview(l->y, l->rows, l->c);
    data.start = l->start, data.weights = l->weights;
    return data;
}

size_t lesson_need(machine *m, const lesson *l, const rfm_options *options) {
    rfm_data data = data_of(l);
    size_t scratch = 0, store = 0;
    int status = rfm_fit_need(&m->ctx, &data, options, &scratch, &store);
    if (status != RFM_OK) fail("cannot train on %zu rows, %zu inputs: %s", l->rows, l->d, rfm_status_text(status));
    if (machine_room() > 0 && (double)(scratch + store) > machine_room())
        fail("out of memory: training on %zu rows takes %zu bytes, this machine has %.0f; fewer rows: --rows N",
             l->rows, scratch + store, machine_room());
    return scratch + store;
}

/* The largest K of two rows that count. */
static double largest_kernel(const lesson *l, const rfm_options *o, const rfm_model *m) {
    double most = 0, zero = o->kernel == RFM_NTK ? (double)o->exponent + 1 : 1;
    size_t i, j, q;
    if (!kernel_has_depth(o->kernel)) return 1;
    if (m->radius > 0) return zero;
    for (i = 0; i < l->rows; i++) {
        double length = 0;
        if (l->weights != NULL && !(l->weights[i] > 0)) continue;
        for (q = 0; q < m->r; q++) {
            double sum = 0;
            for (j = m->metric == RFM_FULL ? 0 : q; j < (m->metric == RFM_FULL ? m->d : q + 1); j++) {
                double p = m->metric == RFM_FULL       ? (double)m->p[q * m->d + j]
                           : m->metric == RFM_DIAGONAL ? (double)m->p[j]
                                                       : 1;
                sum += p * ((double)l->x[i * l->d + j] - (double)m->shift[j]);
            }
            length += sum * sum;
        }
        most = fmax(most, length);
    }
    return most > 0 ? zero * most : 1;
}

int lesson_fit(machine *m, const lesson *l, const rfm_options *options, int (*tick)(void *arg, rfm_real done),
               fitted *f) {
    rfm_data data = data_of(l);
    rfm_report report;
    int status;
    report.path = f->path;
    f->arena_bytes = lesson_need(m, l, options);
    machine_memory(m, f->arena_bytes, "training (fewer rows take less: --rows N)");
    m->ctx.tick = tick;
    status = rfm_fit(&m->ctx, &data, options, m->ctx.arena, &f->model, &report);
    m->ctx.tick = NULL;
    if (status == RFM_ECANCEL) return status;
    if (status == RFM_EFINITE)
        fail("row %zu, input %zu (%s): too large to be trained on", report.row + 1, report.col + 1,
             report.col < l->d ? rfm_name(l->input_names, report.col) : "");
    if (status != RFM_OK) fail("cannot train on %zu rows, %zu inputs: %s", l->rows, l->d, rfm_status_text(status));
    f->unit = options->ridge_rule == RFM_RIDGE_SHARE ? largest_kernel(l, options, &f->model) : 1;
    return RFM_OK;
}

/* Folding adds the offset of a moved input to the fit's own shift s, and the sum would be rounded: s goes into the
 * centres, z_i + P s, and is 0 for these inputs then. *room (d + n r) is to be freed. */
static rfm_model without_shift(const rfm_model *model, const double *offset, rfm_real **room) {
    rfm_model to = *model;
    size_t d = model->d, r = model->r, i, j, q;
    rfm_real *shift = *room = allocate(d + model->n * r, sizeof **room, "the model"), *z = shift + d;
    for (j = 0; j < d; j++) shift[j] = offset[j] != 0 ? 0 : model->shift[j];
    for (q = 0; q < r; q++) {
        double more = 0; /* (P s)_q */
        for (j = 0; j < d; j++) {
            double p = model->metric == RFM_FULL       ? (double)model->p[q * d + j]
                       : j != q                        ? 0
                       : model->metric == RFM_DIAGONAL ? (double)model->p[j]
                                                       : 1;
            if (offset[j] != 0) more += p * (double)model->shift[j];
        }
        for (i = 0; i < model->n; i++) z[i * r + q] = (rfm_real)((double)model->centers[i * r + q] + more);
    }
    to.shift = shift, to.centers = z;
    return to;
}

void lesson_record(const lesson *l, const rfm_options *options, const fitted *f, text *record) {
    size_t d = l->d, targets = l->form->classes > 0 ? 0 : l->form->targets, j;
    double *numbers = allocate(d + targets, sizeof *numbers, "the record");
    const char *names = l->form->target_names;
    record_add_options(record, options);
    if (names != NULL)
        record_add(record, RFM_RECORD_TARGETS, names, (size_t)(rfm_name(names, l->form->targets) - names));
    for (j = 0; j < d; j++) numbers[j] = l->moved.x != NULL ? l->moved.x[j] : 0;
    for (j = 0; j < targets; j++) numbers[d + j] = l->moved.y != NULL ? l->moved.y[j] : 0;
    if (l->moved.x != NULL || l->moved.y != NULL) record_add_numbers(record, RFM_RECORD_OFFSETS, numbers, d + targets);
    free(numbers);
    if (f->coverage > 0) {
        double conformal[2];
        conformal[0] = f->coverage, conformal[1] = f->threshold;
        record_add_numbers(record, RFM_RECORD_CONFORMAL, conformal, 2);
    }
    text_bytes(record, l->record.at, l->record.size);
    if (l->decisions != NULL && l->decisions->size > 0)
        record_add(record, RFM_RECORD_DECISIONS, l->decisions->at, l->decisions->size);
}

/* What is said of the rows, for one model or for a mean. */
static rfm_contents contents_of(const lesson *l, double temperature) {
    rfm_contents parts;
    int regress = l->form->classes == 0;
    memset(&parts, 0, sizeof parts);
    parts.task = regress ? RFM_REGRESS : RFM_CLASSIFY;
    parts.temperature = (rfm_real)temperature;
    if (!l->raw) parts.x_mean = l->mean, parts.x_scale = l->scale;
    if (!l->raw && regress) parts.y_mean = l->y_mean, parts.y_scale = l->y_scale;
    return parts;
}

/* alpha and offset `times` as large. *room (c + n c) is to be freed. */
static rfm_model scaled(const rfm_model *model, double times, rfm_real **room) {
    rfm_model to = *model;
    size_t c = model->c, alphas = model->n * c, i;
    rfm_real *offset = *room = allocate(c + alphas, sizeof **room, "the model"), *alpha = offset + c;
    for (i = 0; i < c; i++) offset[i] = model->offset != NULL ? (rfm_real)(times * (double)model->offset[i]) : 0;
    for (i = 0; i < alphas; i++) alpha[i] = (rfm_real)(times * (double)model->alpha[i]);
    to.offset = offset, to.alpha = alpha;
    return to;
}

/* Outputs are `share` times as large. bare: without names and record. */
static void *pack(const lesson *l, const rfm_options *options, const fitted *f, double validation, double temperature,
                  double share, int bare, size_t *bytes, rfm_model *opened) {
    rfm_contents parts = contents_of(l, temperature);
    rfm_summary summary;
    rfm_model moved, shifted, shared;
    rfm_real *room = NULL, *share_room = NULL, offset;
    text record = {NULL, 0, 0};
    void *blob = NULL;
    int status;
    size_t last = options->iterations;
    memset(&summary, 0, sizeof summary);
    summary.bandwidth = f->model.bandwidth;
    summary.ridge = (rfm_real)((double)f->path[last].ridge * (f->unit > 0 ? f->unit : 1));
    summary.validation = isfinite(validation) ? (rfm_real)validation : 0;
    summary.rows = (uint32_t)l->rows, summary.iterations = (uint32_t)last;
    summary.steps = (uint32_t)last + 1, summary.path = f->path;
    shifted = f->model;
    offset = (shifted.offset != NULL ? shifted.offset[0] : 0) + (rfm_real)f->shift;
    if (f->shift != 0 && l->c == 1) shifted.offset = &offset;
    parts.model = &shifted;
    if (l->moved.x != NULL) moved = without_shift(&shifted, l->moved.x, &room), parts.model = &moved;
    parts.summary = &summary;
    if (share != 1) shared = scaled(parts.model, share, &share_room), parts.model = &shared;
    if (!bare) {
        parts.class_names = l->form->class_names, parts.input_names = l->input_names;
        lesson_record(l, options, f, &record);
        parts.record = record.at, parts.record_bytes = record.size;
    }
    status = rfm_model_size(&parts, bytes);
    if (status == RFM_OK) {
        blob = allocate_aligned(*bytes, "the model");
        status = rfm_model_write(&parts, blob, *bytes);
    }
    if (status == RFM_OK) status = rfm_model_open(blob, *bytes, opened);
    if (status != RFM_OK) fail("cannot write the model: %s", rfm_status_text(status));
    free(room);
    free(share_room);
    free(record.at);
    return blob;
}

void *lesson_pack(const lesson *l, const rfm_options *options, const fitted *f, double validation, double temperature,
                  double share, size_t *bytes, rfm_model *opened) {
    return pack(l, options, f, validation, temperature, share, 0, bytes, opened);
}

void *lesson_pack_one(const lesson *l, const rfm_options *options, const fitted *f, double share, size_t *bytes) {
    rfm_model opened;
    return pack(l, options, f, (double)NAN, 0, share, 1, bytes, &opened);
}

void *lesson_join(const lesson *l, const rfm_options *options, const double *shares, const fitted *f,
                  double temperature, size_t count, const void *const *blobs, const size_t *sizes, size_t *bytes,
                  rfm_tree *opened) {
    rfm_contents parts = contents_of(l, temperature);
    text record = {NULL, 0, 0}, models = {NULL, 0, 0};
    void *blob = NULL;
    size_t i;
    int status;
    parts.class_names = l->form->class_names, parts.input_names = l->input_names;
    lesson_record(l, options, f, &record);
    for (i = 0; i < count; i++) record_add_options(&models, &options[i]);
    record_add(&record, RFM_RECORD_MODELS, models.at, models.size);
    record_add_numbers(&record, RFM_RECORD_SHARES, shares, count);
    parts.record = record.at, parts.record_bytes = record.size;
    status = rfm_tree_join(&parts, count, blobs, sizes, NULL, 0, bytes);
    if (status == RFM_OK) {
        blob = allocate_aligned(*bytes, "the model");
        status = rfm_tree_join(&parts, count, blobs, sizes, blob, *bytes, bytes);
    }
    if (status == RFM_OK) status = rfm_tree_open(blob, *bytes, opened);
    if (status != RFM_OK) fail("cannot write the model: %s", rfm_status_text(status));
    free(record.at);
    free(models.at);
    return blob;
}

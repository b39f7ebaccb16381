/* rfm report: one HTML file that shows a model and how well it does. */
#include "command.h"
#include "compress/compress.h"
#include "conv/conv.h"
#include "report/report.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MADE_NAME 32 /* bytes of a name that the model does not have */

/* "28x28" */
static void read_image(const char *value, size_t d, report *r) {
    char *end = NULL;
    unsigned long width = 0, height = 0;
    if (isdigit((unsigned char)*value)) width = strtoul(value, &end, 10);
    if (end != NULL && (*end == 'x' || *end == 'X') && isdigit((unsigned char)end[1]))
        height = strtoul(end + 1, &end, 10);
    if (width == 0 || height == 0 || *end != 0)
        usage("--image: expected WIDTHxHEIGHT, as in 28x28, found \"%s\"", value);
    if (width > d || height > d || width * height != d)
        usage("--image: expected width times height to be %zu, the inputs of the model, found %s", d, value);
    r->width = width, r->height = height;
}

/* Strings one after the other as an array; without any, what `otherwise` and a number say. */
static const char **name_list(const char *names, size_t count, const char *otherwise, size_t first) {
    const char **list = allocate(count, sizeof *list + MADE_NAME, "names");
    char *made = (char *)(list + count); /* one block, one free() */
    size_t i;
    for (i = 0; i < count; i++, made += MADE_NAME) {
        list[i] = names != NULL && *names != 0 ? names : made;
        snprintf(made, MADE_NAME, "%s%zu", otherwise, i + first);
        if (names != NULL) names += strlen(names) + 1;
    }
    return list;
}

static void read_rows(report *r, model_table *table, const char *split) {
    const csv *file = &table->file;
    row_list rows = rows_to_score(&table->file, split, table->column, table->form.targets);
    size_t i, at = 0, line = 1;
    r->rows = sample_read(&table->file, table->inputs, table->column, &table->form, rows,
                          model_table_offsets(table, rows, &r->any));
    sample_fill(&r->rows, &r->any, r->data_file);
    r->is_split = split != NULL;
    r->lines = allocate(rows.count, sizeof *r->lines, "lines");
    for (i = 0; i < rows.count; i++) {
        for (; at < file->starts[rows.at[i]]; at++) line += file->text[at] == '\n';
        r->lines[i] = line;
    }
    r->targets = allocate(table->form.targets, sizeof *r->targets, "names");
    for (i = 0; i < table->form.targets; i++) r->targets[i] = file->names[table->column + i];
    free(rows.at);
}

static const double *sort_by;
static int by_share(const void *a, const void *b) {
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    return sort_by[i] != sort_by[j] ? (sort_by[i] < sort_by[j] ? 1 : -1) : i > j ? 1 : -1;
}

/* FF' (r, r) of M = F'F; it has the eigenvalues of M that are not 0. */
static rfm_real *gram(const rfm_real *f, size_t r, size_t d) {
    rfm_real *g = allocate(r, r * sizeof *g, "the metric");
    size_t p, q, j;
    for (p = 0; p < r; p++)
        for (q = 0; q <= p; q++) {
            double sum = 0;
            for (j = 0; j < d; j++) sum += (double)f[p * d + j] * (double)f[q * d + j];
            g[p * r + q] = g[q * r + p] = (rfm_real)sum;
        }
    return g;
}

/* v (d) of length 1 along F'u, which is an eigenvector of F'F if u is one of FF'. */
static void lift(const rfm_real *f, const rfm_real *u, size_t r, size_t d, rfm_real *v) {
    double *sum = allocate(d, sizeof *sum, "directions"), length = 0;
    size_t q, j;
    for (q = 0; q < r; q++)
        for (j = 0; j < d; j++) sum[j] += (double)u[q] * (double)f[q * d + j];
    for (j = 0; j < d; j++) length += sum[j] * sum[j];
    for (j = 0; j < d; j++) v[j] = (rfm_real)(length > 0 ? sum[j] / sqrt(length) : 0);
    free(sum);
}

/* The top directions of a full metric and the sum of the squares of its entries, from the smaller of M and FF': d^2
 * numbers would be far more than a model of low rank has. */
static double read_directions(report *r, machine *m, double trace) {
    size_t d = r->model.d, small = r->model.r < d, side = small ? r->model.r : d, count, i, j, bytes;
    rfm_real values[MOST_DIRECTIONS], *f = model_factor(&r->model), *square, *vectors;
    double squares = 0;
    int status;
    if (small)
        square = gram(f, side, d);
    else {
        square = allocate(d, d * sizeof *square, "the metric");
        (void)model_metric(&r->model, square);
    }
    for (i = 0; i < side * side; i++) squares += (double)square[i] * (double)square[i];
    if (trace > 0) {
        count = r->directions = side < MOST_DIRECTIONS ? side : MOST_DIRECTIONS;
        r->direction = allocate(count, d * sizeof *r->direction, "directions");
        vectors = allocate(count, side * sizeof *vectors, "directions");
        status = rfm_eig_need(&m->ctx, side, count, &bytes);
        if (status == RFM_OK) {
            machine_memory(m, bytes, "eigenvectors");
            status = rfm_eig(&m->ctx, rfm_view(square, side, side), count, values, rfm_view(vectors, count, side));
        }
        if (status != RFM_OK) fail("cannot compute the eigenvectors of the metric: %s", rfm_status_text(status));
        for (i = 0; i < count; i++) {
            rfm_real *v = r->direction + i * d, most = 0;
            if (small)
                lift(f, vectors + i * side, side, d, v);
            else
                memcpy(v, vectors + i * d, d * sizeof *v);
            r->direction_share[i] = values[i] > 0 ? (double)values[i] / trace : 0;
            for (j = 0; j < d; j++)
                if (v[j] * v[j] > most * most) most = v[j];
            for (j = 0; j < d && most < 0; j++)
                v[j] = -v[j]; /* a sign of its own it has not: the largest entry is positive */
        }
        free(vectors);
    }
    free(square);
    free(f);
    return squares;
}

/* Of integers: how far z moves over the range of an input, squared. The slope of z_p in x_j is
 * P_pj gain_j / 2^(shift_j + shifts_p), of a diagonal metric gain_j / 2^shift_j. */
static void integer_weights(const rfm_model_i *m, double *weight) {
    size_t j, q;
    for (j = 0; j < m->d; j++) {
        const rfm_input_i *in = &m->inputs[j];
        double reach = ldexp((double)in->gain, -in->shift) * ((double)in->high - (double)in->low), sum = 0;
        for (q = 0; q < m->r && m->metric == RFM_FULL; q++) {
            size_t at = q * m->d + j;
            double p = m->type == RFM_I8 ? ((const int8_t *)m->p)[at] : ((const int16_t *)m->p)[at];
            sum += ldexp(p * p, -2 * m->shifts[q]);
        }
        weight[j] = (m->metric == RFM_FULL ? sum : 1) * reach * reach;
    }
}

static void read_metric(report *r, machine *m) {
    size_t d = r->model.d, i;
    rfm_real *diagonal = allocate(d, sizeof *diagonal, "the metric");
    double trace = 0, squares = 0;
    int integers = has_integers(&r->any) && !is_tiny(&r->any);
    if (is_tiny(&r->any)) r->model.p = r->factor = tiny_factor(&r->any.tiny, r->any.record.scales);
    r->metric_word = any_metric(&r->any);
    if (!integers) model_diagonal(&r->model, diagonal);
    r->share = allocate(d, sizeof *r->share, "shares");
    r->order = allocate(d, sizeof *r->order, "an order");
    if (integers) integer_weights(&r->any.integers, r->share);
    for (i = 0; i < d; i++) {
        if (!integers) r->share[i] = (double)diagonal[i];
        trace += r->share[i];
    }
    for (i = 0; i < d; i++) squares += r->share[i] * r->share[i];
    if (r->model.metric == RFM_FULL && !integers) squares = read_directions(r, m, trace);
    for (i = 0; i < d; i++) r->share[i] = trace > 0 ? r->share[i] / trace : 0, r->order[i] = i;
    r->dimension = squares > 0 ? trace * trace / squares : 0;
    sort_by = r->share;
    qsort(r->order, d, sizeof *r->order, by_share);
    free(diagonal);
}

static void report_free(report *r) {
    measures_free(&r->measures);
    sample_free(&r->rows);
    free(r->path);
    free((void *)r->names);
    free((void *)r->labels);
    free((void *)r->targets);
    free(r->lines);
    free(r->outputs);
    free(r->predicted);
    free(r->confidence);
    free(r->share);
    free(r->order);
    free(r->direction);
    free(r->factor);
}

int command_report(const call *c) {
    const char *model_file = c->operands[0];
    report r;
    machine m;
    model_table table;
    text page = {NULL, 0, 0};
    char *blob;
    memset(&r, 0, sizeof r);
    if (c->data == NULL) usage("report: expected --data DATA.csv; see rfm help report");
    if (c->out == NULL) usage("report: expected -o report.html; see rfm help report");
    if (c->missing != NULL) (void)options_word("--missing", c->missing, missing_words);
    machine_start(&m, c->threads, c->port);
    if (patches_read(model_file, &blob, &r.model_bytes, &r.any)) return conv_report(c, &m, &r.any, blob, r.model_bytes);
    any_read(model_file, &blob, &r.model_bytes, &r.any);
    if (r.any.of_tree)
        fail("%s: %s; rfm info and rfm evaluate tell about it. For a report: %s", model_file, tree_word(&r.any),
             is_mean(&r.any) ? "train without --models" : "rfm train --method exact or large");
    if (is_filters(&r.any)) fail("%s: a bank of filters; rfm info and rfm evaluate tell about it", model_file);
    r.model = r.any.numbers;
    if (c->pictures != NULL || c->pictures_of != SIZE_MAX)
        usage("--pictures and --pictures-of: expected a model of rfm train --image, found another");
    if (c->image != NULL) read_image(c->image, r.model.d, &r);
    r.model_file = file_base(model_file, "standard input"), r.data_file = file_base(c->data, "standard input");
    r.names = name_list(r.model.input_names, r.model.d, "x", 1);
    if (rfm_model_summary(&r.model, &r.summary, NULL, 0) == RFM_OK) {
        r.path = allocate(r.summary.steps, sizeof *r.path, "the path");
        (void)rfm_model_summary(&r.model, &r.summary, r.path, r.summary.steps);
        if (r.summary.iterations < r.summary.steps) r.summary.ridge = r.path[r.summary.iterations].ridge;
    }
    model_table_read(&table, &r.any, model_file, c->data, !c->no_header, c->target,
                     fills_missing(&r.any, model_file, c->missing));
    r.classes = table.form.classes;
    r.labels = name_list(r.model.class_names, r.classes, "class ", 0);
    read_rows(&r, &table, c->split);
    file_check(c->out);
    free(firmware_blob(&r.any, blob, r.model_bytes, &r.model_bytes)); /* the page is about firmware */
    report_choose_rows(&r);
    report_scores(&r, &m);
    read_metric(&r, &m);
    report_page(&page, &r);
    file_write(c->out, page.at, page.size);
    machine_stop(&m);
    model_table_free(&table);
    report_free(&r);
    free(page.at);
    free(blob);
    return 0;
}

/* Rows of a table with the scores that this machine computes for them, for firmware to compare with its own. */
#include "extras.h"

#include "rfm/learn/score.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* x (rows, d) once more: of inputs that a table of knots makes, the number that it makes them of. */
static void undo_knots(csv *file, input_list inputs, row_list rows, rfm_real *x) {
    size_t i;
    for (i = 0; i < inputs.count; i++)
        if (has_knots(inputs.at[i].what)) inputs.at[i].what = INPUT_NUMBER, inputs.at[i].knots = NULL;
    inputs_fill(file, inputs, rows, 1, NULL, x);
}

/* (count, d) rows spread over those of a file that miss no cell. *columns (count, d): each input before its table of
 * knots; NULL: there are none. */
static rfm_real *rows_spread(const any_model *any, const call *c, size_t count, rfm_real **columns) {
    const rfm_model *m = &any->numbers;
    size_t d = m->d, whole = 0, i, j;
    csv file;
    unsigned char *use;
    row_list rows;
    input_list inputs;
    rfm_real *x, *chosen, *before = NULL;
    record_absent(&any->record);
    csv_read(&file, c->data, !c->no_header);
    use = split_read(NULL, &file, USE_TEST), rows = rows_of(&file, use, USE_TEST);
    inputs = model_inputs(&file, any, NULL, model_targets(m));
    x = allocate(rows.count, d * sizeof *x, "inputs");
    inputs_fill(&file, inputs, rows, 1, NULL, x);
    *columns = NULL;
    if (has_tables(any)) {
        before = allocate(rows.count, d * sizeof *before, "inputs"),
        *columns = allocate(count, d * sizeof **columns, "vectors");
        undo_knots(&file, inputs, rows, before);
    }
    for (i = 0; i < rows.count; i++) {
        for (j = 0; j < d && isfinite(x[i * d + j]); j++) continue;
        if (j < d) continue;
        if (before != NULL) memmove(before + whole * d, before + i * d, d * sizeof *x);
        memmove(x + whole++ * d, x + i * d, d * sizeof *x);
    }
    if (whole < count) fail("%s: %zu rows without an empty cell, expected --vectors %zu", c->data, whole, count);
    chosen = allocate(count, d * sizeof *chosen, "vectors");
    for (i = 0; i < count; i++) {
        size_t from = count > 1 ? i * (whole - 1) / (count - 1) : 0;
        memcpy(chosen + i * d, x + from * d, d * sizeof *x);
        if (before != NULL) memcpy(*columns + i * d, before + from * d, d * sizeof *x);
    }
    free(x);
    free(before);
    free(use);
    free(rows.at);
    inputs_free(&inputs);
    csv_free(&file);
    return chosen;
}

/* Inputs and scores of a model of integers, as firmware has them. */
static void integers_of(const any_model *any, const rfm_real *x, int16_t *xi, int32_t *scores) {
    const size_t d = any->numbers.d, r = any->numbers.r;
    int status;
    if (is_tiny(any)) {
        int8_t *scratch = allocate(r, sizeof *scratch, "vectors");
        status = rfm_tiny_integers(&any->tiny, x, xi);
        if (status == RFM_OK) status = rfm_tiny_predict(&any->tiny, xi, scores, scratch, NULL);
        free(scratch);
    } else {
        int16_t *scratch = allocate(RFM_PREDICT_I_SCRATCH(d, r), sizeof *scratch, "vectors");
        status = rfm_input_integers(&any->integers, x, xi);
        if (status == RFM_OK) status = rfm_predict_i(&any->integers, xi, scores, scratch, NULL, NULL);
        free(scratch);
    }
    must(status, "--vectors");
}

/* z (r) = P (x - shift), and *length of it. Returns what the rounding of its sums may come to, in the norm of the
 * kernel. */
static double place_of(const rfm_model *m, const rfm_real *x, double *z, double *length) {
    const size_t terms = m->metric == RFM_FULL ? m->d : 1;
    const int absolute = rfm_kernels[m->kernel].norm == 1;
    double square = 0, off = 0;
    size_t i, j;
    for (i = 0; i < m->r; i++) {
        double sum = 0, size = 0;
        for (j = 0; j < terms; j++) {
            const size_t at = terms > 1 ? j : m->metric == RFM_FULL ? 0 : i;
            const double p = m->p == NULL ? 1 : (double)m->p[i * terms + j];
            const double term = p * ((double)x[at] - (double)m->shift[at]);
            sum += term, size += fabs(term);
        }
        size *= (double)FLT_EPSILON * sqrt((double)terms);
        z[i] = sum, square += sum * sum, off += absolute ? size : size * size;
    }
    *length = sqrt(square);
    return absolute ? off : sqrt(off);
}

/* By how much phi may change when z moves by `step`. */
static double change_of(const rfm_model *m, const double *z, const rfm_real *center, double step) {
    const int absolute = rfm_kernels[m->kernel].norm == 1;
    const rfm_real inverse = 1 / m->bandwidth;
    double s = 0, near, far;
    size_t j;
    for (j = 0; j < m->r; j++) {
        const double off = z[j] - (double)center[j];
        s += absolute ? fabs(off) : off * off;
    }
    if (!absolute) s = sqrt(s);
    near = s > step ? s - step : 0, far = s + step;
    if (!absolute) near *= near, far *= far;
    return (double)(rfm_phi(m->kernel, m->exponent, inverse, (rfm_real)near, NULL) -
                    rfm_phi(m->kernel, m->exponent, inverse, (rfm_real)far, NULL));
}

/* Into off (n): what each K(z, center) may be off. K is off by a share of the most that it can be, and by what the
 * rounding of z changes in it: much where phi is a cusp. A network kernel is at most (depth + 1) |z|, and an angle t
 * next to 0 changes it by (depth + 1) depth / (2 pi) |z| t. */
static void terms_off(const rfm_model *m, const rfm_real *x, double *z, double *off) {
    const double share = (double)FLT_EPSILON * (8 + sqrt((double)m->r));
    double length, step = place_of(m, x, z, &length);
    size_t i, j;
    if (m->radius > 0 && length > 0) {
        const double scale = (double)m->radius / length;
        for (j = 0; j < m->r; j++) z[j] *= scale;
        step *= scale, length = (double)m->radius;
    }
    for (i = 0; i < m->n; i++)
        if (rfm_kernels[m->kernel].layers) {
            const double depth = (double)m->exponent, most = m->kernel == RFM_NTK ? depth + 1 : 1;
            off[i] = most * (share * length + (1 + depth / 2) * step) / (m->radius > 0 ? length : 1);
        } else
            off[i] = share + change_of(m, z, m->centers + i * m->r, step);
}

/* What floats may be off in the scores of these rows: processors fuse and order operations in their own ways. */
static double tolerance_of(const rfm_model *m, const rfm_real *x, size_t count) {
    double *z = allocate(m->r, sizeof *z, "vectors"), *off = allocate(m->n, sizeof *off, "vectors"), most = 0;
    size_t row, i, k;
    for (row = 0; row < count; row++) {
        terms_off(m, x + row * m->d, z, off);
        for (k = 0; k < m->c; k++) {
            double sum = m->offset != NULL ? (double)FLT_EPSILON * fabs((double)m->offset[k]) : 0;
            for (i = 0; i < m->n; i++) sum += fabs((double)m->alpha[i * m->c + k]) * off[i];
            if (sum > most) most = sum;
        }
    }
    free(z);
    free(off);
    return most;
}

/* `text` (count) */
static void put_numbers(header *h, const char *type, const char *name, const rfm_real *at, size_t count,
                        const char *end) {
    size_t i;
    put(h, "static const %s @_%s[%zu] = {", type, name, count);
    for (i = 0; i < count; i++) {
        char word[40];
        (void)snprintf(word, sizeof word, "%.*g", RFM_REAL_BYTES == 4 ? 9 : 17, (double)at[i]);
        text_add(&h->t, "%s%s%s%s,", i % 8 == 0 ? "\n    " : " ", word, strpbrk(word, ".en") != NULL ? "" : ".0", end);
    }
    put(h, "\n};\n");
}

static void put_integer_vectors(header *h, const any_model *any, const rfm_real *x, size_t count) {
    const size_t d = any->numbers.d, c = any->numbers.c;
    int16_t *xi = allocate(count, d * sizeof *xi, "vectors");
    int32_t *scores = allocate(count, c * sizeof *scores, "vectors");
    size_t i;
    for (i = 0; i < count; i++) integers_of(any, x + i * d, xi + i * d, scores + i * c);
    array_begin(h, "int16_t", "vectors", count * d);
    for (i = 0; i < count * d; i++) array_integer(h, xi[i]);
    array_end(h);
    array_begin(h, "int32_t", "expected", count * c);
    for (i = 0; i < count * c; i++) array_integer(h, scores[i]);
    array_end(h);
    free(xi);
    free(scores);
}

static void put_real_vectors(header *h, const any_model *any, const rfm_real *x, size_t count, int standalone) {
    const rfm_model *m = &any->numbers;
    const char *type = standalone ? "float" : "rfm_real", *end = standalone || RFM_REAL_BYTES == 4 ? "f" : "";
    rfm_real *scores = allocate(count, m->c * sizeof *scores, "vectors");
    rfm_real *scratch = allocate(RFM_PREDICT_SCRATCH(m->d, m->r), sizeof *scratch, "vectors");
    size_t i;
    for (i = 0; i < count; i++)
        must(rfm_predict_one(m, x + i * m->d, scores + i * m->c, scratch, NULL, NULL), "--vectors");
    put_numbers(h, type, "vectors", x, count * m->d, end);
    put_numbers(h, type, "expected", scores, count * m->c, end);
    put(h, "#define $_TOLERANCE ((%s)%.3g) /* what rounding may change */\n", type, tolerance_of(m, x, count));
    free(scores);
    free(scratch);
}

/* The columns of these rows, what @_inputs has to make of them, and how far off that may be. */
static void put_column_vectors(header *h, const any_model *any, const rfm_real *x, const rfm_real *columns,
                               size_t count, int standalone) {
    const char *type = standalone ? "float" : "rfm_real", *end = standalone || RFM_REAL_BYTES == 4 ? "f" : "";
    size_t d = any->numbers.d, *source = allocate(d, sizeof *source, "columns"), i, j;
    size_t sources = recipe_sources(any->record.recipe, d, source);
    rfm_real *off = allocate(d, sizeof *off, "vectors"), *at = allocate(count, sources * sizeof *at, "vectors");
    for (i = 0; i < count; i++)
        for (j = 0; j < d; j++) at[i * sources + source[j]] = columns[i * d + j];
    put_numbers(h, type, "columns", at, count * sources, end);
    put_numbers(h, type, "prepared", x, count * d, end);
    tables_rounding(any, off);
    put_numbers(h, type, "off", off, d, end);
    free(off);
    free(at);
    free(source);
}

static void put_column_check(header *h, int standalone) {
    put(h,
        "        %s x[$_INPUTS];\n"
        "        @_inputs(@_columns + i * $_COLUMNS, x);\n"
        "        for (k = 0; k < $_INPUTS; k++) {\n"
        "            const %s off = x[k] - @_prepared[i * $_INPUTS + k];\n"
        "            if (!(off <= @_off[k] && -off <= @_off[k])) return (int)i + 1;\n"
        "        }\n",
        standalone ? "float" : "rfm_real", standalone ? "float" : "rfm_real");
}

/* The lines of @_self_test that differ: what opens the model, and what makes the scores of x. */
static void put_open(header *h, const any_model *any, int standalone) {
    if (standalone) {
        put(h, "    %s scores[$_OUTPUTS];\n    uint32_t i, k;\n", has_integers(any) ? "int32_t" : "float");
        return;
    }
    put(h, "    %s m;\n", is_tiny(any) ? "rfm_tiny" : has_integers(any) ? "rfm_model_i" : "rfm_model");
    put(h, "    %s scores[$_OUTPUTS];\n", has_integers(any) ? "int32_t" : "rfm_real");
    put(h, "    %s scratch[$_SCRATCH];\n", is_tiny(any) ? "int8_t" : has_integers(any) ? "int16_t" : "rfm_real");
    put(h, "    uint32_t i, k;\n    int status = %s(@, $_BYTES, &m);\n    if (status != RFM_OK) return status;\n",
        is_tiny(any)        ? "rfm_tiny_open"
        : has_integers(any) ? "rfm_model_open_i"
                            : "rfm_model_open");
}

static void put_score(header *h, const any_model *any, int standalone) {
    if (standalone)
        put(h, "        (void)@_scores(@_vectors + i * $_INPUTS, scores);\n");
    else
        put(h,
            "        status = %s(&m, @_vectors + i * $_INPUTS, scores, scratch, NULL%s);\n"
            "        if (status != RFM_OK) return status;\n",
            is_tiny(any)        ? "rfm_tiny_predict"
            : has_integers(any) ? "rfm_predict_i"
                                : "rfm_predict_one",
            is_tiny(any) ? "" : ", NULL");
}

void put_vectors(header *h, const any_model *any, const call *c, int standalone) {
    const size_t count = c->vectors;
    rfm_real *x, *columns;
    if (count == SIZE_MAX) return;
    x = rows_spread(any, c, count, &columns);
    put(h,
        "\n/* A self-test: rows of a table, and the scores that rfm export computed for them. 0: the scores here are "
        "the "
        "same%s%s;\n * i: those of row i, from 1 on, are not%s. */\n#define $_VECTORS %zu\n",
        has_integers(any) ? "" : ", up to $_TOLERANCE", columns != NULL ? ", and so are the inputs of the columns" : "",
        standalone ? "" : "; negative: a status of rfm.h", count);
    if (has_integers(any))
        put_integer_vectors(h, any, x, count);
    else
        put_real_vectors(h, any, x, count, standalone);
    if (columns != NULL) put_column_vectors(h, any, x, columns, count, standalone);
    put(h, "%s int @_self_test(void) {\n", standalone ? "$_CODE" : "static inline");
    put_open(h, any, standalone);
    put(h, "    for (i = 0; i < $_VECTORS; i++) {\n");
    if (columns != NULL) put_column_check(h, standalone);
    put_score(h, any, standalone);
    put(h, "        for (k = 0; k < $_OUTPUTS; k++) {\n");
    if (has_integers(any))
        put(h, "            if (scores[k] != @_expected[i * $_OUTPUTS + k]) return (int)i + 1;\n");
    else
        put(h,
            "            const %s off = scores[k] - @_expected[i * $_OUTPUTS + k];\n"
            "            if (!(off <= $_TOLERANCE && -off <= $_TOLERANCE)) return (int)i + 1;\n",
            standalone ? "float" : "rfm_real");
    put(h, "        }\n    }\n    return 0;\n}\n");
    free(x);
    free(columns);
}

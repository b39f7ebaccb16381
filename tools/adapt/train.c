#include "adapt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ITERATIONS 2

void *train(machine *m, const draw *w, size_t rows, rfm_model *opened, size_t *bytes) {
    size_t d = w->d, c = w->classes, first = w->of->start, i, j, scratch = 0, store = 0;
    rfm_real *x = allocate(rows * d, sizeof *x, "rows"), *y = allocate(rows * c, sizeof *y, "targets");
    rfm_real mean[MOST_INPUTS], scale[MOST_INPUTS];
    rfm_step path[ITERATIONS + 1];
    rfm_options options;
    rfm_report report;
    rfm_summary summary;
    rfm_data data;
    rfm_model model;
    rfm_contents parts;
    void *blob;
    for (i = 0; i < rows; i++) y[i * c + scenario_row(w, i, i < first ? 0 : i - first, x + i * d)] = 1;
    for (j = 0; j < d; j++) {
        double sum = 0, squares = 0, centre;
        for (i = 0; i < rows; i++) sum += (double)x[i * d + j];
        mean[j] = (rfm_real)(sum / (double)rows), centre = (double)mean[j];
        for (i = 0; i < rows; i++) squares += ((double)x[i * d + j] - centre) * ((double)x[i * d + j] - centre);
        scale[j] = squares > 0 ? (rfm_real)sqrt(squares / (double)rows) : 1;
        for (i = 0; i < rows; i++) x[i * d + j] = (x[i * d + j] - mean[j]) / scale[j];
    }
    rfm_options_init(&options);
    options.metric = RFM_DIAGONAL, options.bandwidth_rule = RFM_BANDWIDTH_MEDIAN, options.bandwidth = 2;
    options.ridge = (rfm_real)1e-3, options.iterations = ITERATIONS;
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(x, rows, d), data.y = rfm_cview(y, rows, c);
    must(rfm_fit_need(&m->ctx, &data, &options, &scratch, &store), "training");
    machine_memory(m, scratch + store, "training");
    report.path = path;
    must(rfm_fit(&m->ctx, &data, &options, m->ctx.arena, &model, &report), "training");
    memset(&summary, 0, sizeof summary);
    summary.bandwidth = model.bandwidth, summary.ridge = path[ITERATIONS].ridge, summary.rows = (uint32_t)rows;
    summary.iterations = ITERATIONS, summary.steps = ITERATIONS + 1, summary.path = path;
    memset(&parts, 0, sizeof parts);
    parts.model = &model, parts.task = RFM_CLASSIFY, parts.x_mean = mean, parts.x_scale = scale,
    parts.summary = &summary;
    must(rfm_model_size(&parts, bytes), "the model");
    blob = allocate_aligned(*bytes, "the model");
    must(rfm_model_write(&parts, blob, *bytes), "the model");
    must(rfm_model_open(blob, *bytes, opened), "the model");
    free(x);
    free(y);
    return blob;
}

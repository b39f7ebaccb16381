#include "bank.h"

#include "files.h"
#include "progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

signal_options signal_usual(size_t channels, size_t samples, size_t filters) {
    signal_options o;
    memset(&o, 0, sizeof o);
    o.channels = channels, o.filters = filters, o.segments = 1, o.rows = 1000, o.rounds = 2;
    o.taps = samples < 24 ? (samples + 2) / 3 : 8;
    o.kernel = RFM_CONV_LAPLACE, o.bandwidth = 0.3, o.ridge = 1;
    o.pools = RFM_POOL_MAX | RFM_POOL_ENERGY, o.rectify = RFM_RECTIFY_ABS;
    return o;
}

/* Mean and deviation of every channel; a constant channel has the deviation 1. */
static void measure(rfm_cmat x, size_t channels, rfm_real *mean, rfm_real *scale) {
    size_t samples = x.cols / channels, c, i, t;
    for (c = 0; c < channels; c++) {
        double sum = 0, square = 0, count = (double)x.rows * (double)samples;
        for (i = 0; i < x.rows; i++)
            for (t = 0; t < samples; t++) sum += (double)x.at[i * x.stride + c * samples + t];
        sum /= count;
        for (i = 0; i < x.rows; i++)
            for (t = 0; t < samples; t++) square += pow((double)x.at[i * x.stride + c * samples + t] - sum, 2);
        square = sqrt(square / count);
        mean[c] = (rfm_real)sum, scale[c] = (rfm_real)(square > 0 ? square : 1);
    }
}

static int learn_filters(machine *m, const signal_options *o, rfm_cmat x, rfm_cmat y, const rfm_real *mean,
                         const rfm_real *scale, int (*tick)(void *arg, rfm_real done), rfm_mat filters) {
    size_t n = x.rows < o->rows ? x.rows : o->rows, samples = x.cols / o->channels, i, j, need;
    rfm_real *part = allocate(n, x.cols * sizeof *part, "windows"),
             *target = allocate(n, y.cols * sizeof *part, "targets");
    rfm_conv_options how;
    rfm_data data;
    rfm_ctx ctx = m->ctx;
    int status;
    for (i = 0; i < n; i++) { /* evenly spread over all rows */
        size_t from = i * x.rows / n;
        for (j = 0; j < x.cols; j++) {
            size_t c = j / samples;
            part[i * x.cols + j] = (x.at[from * x.stride + j] - mean[c]) / scale[c];
        }
        memcpy(target + i * y.cols, y.at + from * y.stride, y.cols * sizeof *target);
    }
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(part, n, x.cols), data.y = rfm_cview(target, n, y.cols);
    rfm_conv_options_init(&how);
    how.patch = o->taps, how.kernel = o->kernel, how.depth = 1, how.rounds = o->rounds;
    how.bandwidth = (rfm_real)(o->bandwidth * sqrt((double)(o->channels * o->taps)));
    how.ridges = 1, how.ridge[0] = (rfm_real)o->ridge, how.select = RFM_SELECT_LAST, how.scale = 1;
    ctx.tick = tick;
    status = rfm_filters_learn_need(&ctx, o->channels, samples, &data, &how, filters.rows, &need);
    if (status == RFM_OK) {
        machine_memory(m, need, "filters");
        ctx.arena = m->ctx.arena;
        status = rfm_filters_learn(&ctx, o->channels, samples, &data, &how, filters);
    }
    free(part);
    free(target);
    return status;
}

/* Numbers between -1 and 1, always the same. */
static void random_filters(rfm_real *filters, size_t count) {
    uint32_t state = rfm_random_start(1);
    size_t i;
    for (i = 0; i < count; i++) filters[i] = (rfm_real)((double)rfm_random(&state) / 2147483648.0 - 1);
}

int signal_learn(machine *m, const signal_options *o, rfm_cmat x, rfm_cmat y, int (*tick)(void *arg, rfm_real done),
                 rfm_filters *bank, void **memory) {
    size_t d = o->channels * o->taps, scratch, store;
    rfm_real *filters = allocate(o->filters, d * sizeof *filters, "filters");
    rfm_real *mean = allocate(o->channels, sizeof *mean, "means"),
             *scale = allocate(o->channels, sizeof *scale, "scales");
    int8_t *exponents = allocate(o->channels, 1, "exponents");
    rfm_filters_options how;
    rfm_arena kept;
    int status = RFM_OK;
    *memory = NULL;
    measure(x, o->channels, mean, scale);
    if (o->rounds == 0)
        random_filters(filters, o->filters * d);
    else
        status = learn_filters(m, o, x, y, mean, scale, tick, rfm_view(filters, o->filters, d));
    if (status == RFM_OK) status = rfm_filters_exponents(o->channels, x, exponents);
    rfm_filters_options_init(&how);
    how.segments = o->segments, how.pools = o->pools, how.rectify = o->rectify;
    how.mean = mean, how.scale = scale, how.exponents = exponents;
    if (status == RFM_OK)
        status = rfm_filters_make_need(o->channels, rfm_cview(filters, o->filters, d), &how, x, &scratch, &store);
    if (status == RFM_OK) {
        *memory = allocate_aligned(store, "a bank of filters");
        machine_memory(m, scratch, "a window");
        must(rfm_arena_init(&kept, *memory, store), "a bank of filters");
        status = rfm_filters_make(&m->ctx, o->channels, rfm_cview(filters, o->filters, d), &how, x, &kept, bank);
    }
    free(filters);
    free(mean);
    free(scale);
    free(exponents);
    return status;
}

rfm_real *signal_features(const rfm_filters *bank, rfm_cmat x) {
    size_t d = rfm_filters_count(bank), need;
    rfm_real *features = allocate(x.rows, d * sizeof *features, "features");
    rfm_arena arena;
    rfm_ctx ctx;
    void *memory;
    memset(&ctx, 0, sizeof ctx);
    must(rfm_filters_features_need(bank, &need), "features");
    memory = allocate_aligned(need, "a window");
    must(rfm_arena_init(&arena, memory, need), "features");
    ctx.arena = &arena;
    must(rfm_filters_features(&ctx, bank, x, rfm_view(features, x.rows, d)), "features");
    free(memory);
    return features;
}

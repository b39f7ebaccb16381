#include "signal_model.h"

#include "host/bank.h"
#include "rfm/compress/compress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct signal_job {
    const call *a;
    size_t samples;
    signal_options options;
    rfm_filters bank;
    void *bank_memory, *small_memory;
    char *names; /* of the samples, channel by channel */
    size_t rows, d, c;
    rfm_real *x, *y; /* (rows, d) features, (rows, c) targets as a model gives them */
};

static size_t window_of(const call *a, size_t *channels) {
    char *end;
    unsigned long c = strtoul(a->signal, &end, 10), q = 0;
    if (*end == ',' && end != a->signal) q = strtoul(end + 1, &end, 10);
    if (*end != 0 || c == 0 || q == 0 || c > 65535 || q > 65535 ||
        strspn(a->signal, "0123456789,") != strlen(a->signal))
        usage("--signal: expected C,Q, channels and samples, each 1 to 65535, found \"%s\"", a->signal);
    *channels = c;
    return q;
}

void signal_check(const call *a) {
    size_t channels, samples, taps, places;
    if (a->signal == NULL) {
        if ((a->filters != SIZE_MAX && a->image_size == NULL) || a->taps != SIZE_MAX || a->segments != SIZE_MAX ||
            a->interleaved)
            usage("--filters, --taps, --segments and --interleaved: expected --signal C,Q with them");
        return;
    }
    samples = window_of(a, &channels);
    taps = a->taps != SIZE_MAX ? a->taps : signal_usual(channels, samples, 1).taps;
    if (taps == 0 || taps > samples) usage("--taps: expected 1 to %zu, the samples of a channel", samples);
    if (a->filters == 0 || (a->filters != SIZE_MAX && a->filters > channels * taps))
        usage("--filters: expected 1 to %zu, the weights of a filter", channels * taps);
    places = samples - taps + 1;
    if (a->segments == 0 || (a->segments != SIZE_MAX && a->segments > places))
        usage("--segments: expected 1 to %zu, the places of a filter", places);
    if (a->metric_from != NULL) usage("--metric-from: expected no --signal with it");
    if (a->unit_rows || (strcmp(a->kernel, "auto") != 0 && kernel_has_depth(kernel_of("--kernel", a->kernel))))
        usage("--signal: expected a kernel of distances without --unit-rows, for its model has integers");
    if (strcmp(a->form, "exact") != 0 && strcmp(a->form, "auto") != 0) usage("--method: expected exact with --signal");
    if (a->coverage > 0) usage("--coverage: expected no --signal with it");
    if (a->one_hot) usage("--one-hot: expected no --signal with it, for samples are numbers");
    if (a->missing != NULL && strcmp(a->missing, "mean") == 0)
        usage("--missing mean: expected no --signal with it, for a window has all its samples");
    if (a->interleaved && a->no_header)
        usage("--interleaved: expected a header, by whose names columns are found again");
}

signal_job *signal_begin(const call *a, input_list *inputs) {
    signal_job *s = allocate(1, sizeof *s, "a signal");
    size_t channels, i, filters;
    text names = {NULL, 0, 0};
    s->a = a, s->samples = window_of(a, &channels);
    if (inputs->count != channels * s->samples)
        fail("%s: %zu inputs, expected %zu: %zu channels of %zu samples", a->operands[0], inputs->count,
             channels * s->samples, channels, s->samples);
    if (a->interleaved) {
        input *at = allocate(inputs->count, sizeof *at, "inputs");
        for (i = 0; i < inputs->count; i++) {
            size_t from = i % s->samples * channels + i / s->samples;
            const char *name = rfm_name(inputs->names, from);
            at[i] = inputs->at[from];
            text_bytes(&names, name, strlen(name) + 1);
        }
        free(inputs->at);
        free(inputs->names);
        inputs->at = at, inputs->names = names.at;
    }
    s->options = signal_usual(channels, s->samples, 0);
    if (a->taps != SIZE_MAX) s->options.taps = a->taps;
    if (a->segments != SIZE_MAX) s->options.segments = a->segments;
    filters = channels * s->options.taps < 16 ? channels * s->options.taps : 16;
    s->options.filters = a->filters != SIZE_MAX ? a->filters : filters;
    return s;
}

/* y (rows, c): the classes as a model has them, or the numbers. */
static rfm_real *targets_of(const sample_form *form, const sample *learn, size_t c) {
    rfm_real *y = allocate(learn->rows, c * sizeof *y, "targets");
    if (form->classes > 0)
        class_targets(learn->labels, learn->rows, c, y);
    else
        memcpy(y, learn->y, learn->rows * c * sizeof *y);
    return y;
}

/* Columns of mean 0 and deviation 1. */
static void standardise(rfm_real *y, size_t rows, size_t c) {
    size_t i, k;
    for (k = 0; k < c; k++) {
        double mean = 0, square = 0;
        for (i = 0; i < rows; i++) mean += (double)y[i * c + k] / (double)rows;
        for (i = 0; i < rows; i++) square += pow((double)y[i * c + k] - mean, 2) / (double)rows;
        for (i = 0; i < rows; i++)
            y[i * c + k] = (rfm_real)(((double)y[i * c + k] - mean) / (square > 0 ? sqrt(square) : 1));
    }
}

/* Names of the features: filter, segment if there are several, and what of it. */
static char *feature_names(const rfm_filters *b) {
    static const char *const pools[] = {"max", "mean", "energy"};
    text t = {NULL, 0, 0};
    uint32_t k, s, p;
    for (k = 0; k < b->filters; k++)
        for (s = 0; s < b->segments; s++)
            for (p = 0; p < 3; p++) {
                if (!(b->pools & 1u << p)) continue;
                text_add(&t, "filter%lu", (unsigned long)k);
                if (b->segments > 1) text_add(&t, "_%lu", (unsigned long)s);
                text_add(&t, "_%s%c", pools[p], 0);
            }
    return t.at;
}

size_t signal_pool(signal_job *s, machine *m, const sample_form *form, sample *learn, input_list *inputs,
                   int (*tick)(void *arg, rfm_real done)) {
    size_t window = s->options.channels * s->samples, i;
    rfm_cmat x = rfm_cview(learn->x, learn->rows, window);
    rfm_real *y;
    int status;
    for (i = 0; i < learn->rows * window; i++)
        if (!isfinite(learn->x[i])) fail("%s: a cell is empty, expected windows with all samples", s->a->operands[0]);
    s->rows = learn->rows, s->c = form_outputs(form);
    y = targets_of(form, learn, s->c);
    standardise(y, s->rows, s->c);
    status = signal_learn(m, &s->options, x, rfm_cview(y, s->rows, s->c), tick, &s->bank, &s->bank_memory);
    progress_end();
    free(y);
    if (status == RFM_ECANCEL) fail("interrupted; no model was written");
    if (status != RFM_OK) fail("%s: cannot learn filters: %s", s->a->operands[0], rfm_status_text(status));
    s->d = rfm_filters_count(&s->bank);
    s->x = signal_features(&s->bank, x);
    s->y = targets_of(form, learn, s->c);
    free(learn->x);
    learn->x = allocate(s->rows, s->d * sizeof *s->x, "features");
    memcpy(learn->x, s->x, s->rows * s->d * sizeof *s->x);
    s->names = inputs->names;
    s->bank.input_names = s->a->no_header ? NULL : s->names;
    inputs->names = feature_names(&s->bank), inputs->count = s->d;
    return s->d;
}

any_model signal_finish(signal_job *s, machine *m, const sample_form *form, const rfm_options *options,
                        const any_model *features, void **blob, size_t *bytes) {
    size_t most = s->a->network_centers != SIZE_MAX ? s->a->network_centers : SIGNAL_CENTERS;
    size_t centers = most < s->rows ? most : s->rows;
    thinning how = {RFM_CENTERS_RESIDUAL, POLISH, 0, 0};
    rfm_model fewer;
    rfm_filters opened;
    rfm_data rows;
    text record = {NULL, 0, 0}, names = {NULL, 0, 0};
    void *memory = NULL, *made = NULL;
    size_t k;
    int status;
    memset(&rows, 0, sizeof rows);
    rows.x = rfm_cview(s->x, s->rows, s->d), rows.y = rfm_cview(s->y, s->rows, s->c);
    how.ridge = options->ridge > 0 ? options->ridge : (rfm_real)1e-3, how.seed = (uint32_t)s->a->seed;
    m->ctx.tick = NULL;
    status = shrink(&m->ctx, &features->numbers, &rows, features->numbers.r, centers, &how, &fewer, &memory);
    if (status == RFM_OK)
        status = to_integers(&m->ctx, &fewer, &rows, RFM_I8, how.ridge, &s->bank.model, &s->small_memory);
    if (status != RFM_OK) fail("cannot make a model of %zu centres in 8 bits: %s", centers, rfm_status_text(status));
    s->bank.model.class_names = form->class_names, s->bank.model.input_names = NULL, s->bank.model.summary = NULL;
    s->bank.model.task = form->classes > 0 ? RFM_CLASSIFY : RFM_REGRESS;
    record_add_options(&record, options);
    for (k = 0; k < form->targets; k++) {
        const char *name = rfm_name(form->target_names, k);
        text_bytes(&names, name, strlen(name) + 1);
    }
    record_add(&record, RFM_RECORD_TARGETS, names.at, names.size);
    status = rfm_filters_size(&s->bank, record.size, bytes);
    if (status == RFM_OK) {
        made = allocate_aligned(*bytes, "the model");
        status = rfm_filters_write(&s->bank, record.at, record.size, made, *bytes);
    }
    if (status == RFM_OK) status = rfm_filters_open(made, *bytes, &opened);
    if (status != RFM_OK) fail("cannot write the model: %s", rfm_status_text(status));
    free(*blob);
    *blob = made;
    free(memory);
    free(record.at);
    free(names.at);
    return any_of_filters(&opened);
}

void signal_show(text *t, const signal_job *s) {
    text_add(t, "signal        %zu channels of %zu samples\n", s->options.channels, s->samples);
    text_add(t, "filters       %zu of %zu taps in 8 bits, learned from %zu rows, %lu segment%s\n", s->options.filters,
             s->options.taps, s->rows < s->options.rows ? s->rows : s->options.rows, (unsigned long)s->bank.segments,
             s->bank.segments == 1 ? "" : "s");
}

void signal_json(text *t, const signal_job *s) {
    json_number(t, "channels", (double)s->options.channels);
    json_number(t, "samples", (double)s->samples);
    json_number(t, "filters", (double)s->options.filters);
    json_number(t, "taps", (double)s->options.taps);
    json_number(t, "segments", (double)s->bank.segments);
}

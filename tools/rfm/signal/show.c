#include "signal_model.h"

#include "rfm/export/identifier.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* With a 0 behind them. */
static void pool_words(text *t, uint32_t pools) {
    static const char *const words[] = {"max", "mean", "energy"};
    const char *between = "";
    uint32_t p;
    for (p = 0; p < 3; p++)
        if (pools & 1u << p) text_add(t, "%s%s", between, words[p]), between = ", ";
    text_bytes(t, "", 1);
}

int signal_info(const call *c, const any_model *any, size_t bytes) {
    const rfm_filters *f = &any->filters;
    const rfm_model_i *m = &f->model;
    size_t classes = model_classes(&any->numbers), i;
    size_t bank = (size_t)f->filters * ((size_t)f->channels * f->taps + 5) + f->channels;
    size_t scratch = RFM_FILTERS_SCRATCH(m->d, m->r) * sizeof(int16_t);
    text t = {NULL, 0, 0}, pools = {NULL, 0, 0};
    if (c->show_metric) fail("%s: a bank of filters has no metric to print", c->operands[0]);
    pool_words(&pools, f->pools);
    if (c->json) {
        json_text(&t, "task", task_words[m->task]);
        json_text(&t, "type", type_word(any->type));
        json_number(&t, "features", (double)any->numbers.d);
        json_number(&t, "outputs", (double)m->c);
        json_number(&t, "channels", f->channels);
        json_number(&t, "samples", f->samples);
        json_number(&t, "filters", f->filters);
        json_number(&t, "taps", f->taps);
        json_number(&t, "segments", f->segments);
        json_text(&t, "pools", pools.at);
        json_number(&t, "pooled", (double)m->d);
        json_number(&t, "centers", (double)m->n);
        json_number(&t, "rank", (double)m->r);
        json_number(&t, "model_bytes", (double)bytes);
        json_number(&t, "bank_bytes", (double)bank);
        json_number(&t, "scratch_bytes", (double)scratch);
        if (m->class_names != NULL && classes > 0) json_names(&t, "classes", m->class_names, classes);
        json_end(&t);
    } else {
        text_add(&t, "task          %s", task_words[m->task]);
        if (classes > 0) text_add(&t, ", %zu classes:", classes);
        for (i = 0; i < classes && i < 20; i++) {
            text_add(&t, " ");
            text_name(&t, m->class_names != NULL ? rfm_name(m->class_names, i) : "?");
        }
        text_add(&t, "\nsignal        %lu channels of %lu samples\n", (unsigned long)f->channels,
                 (unsigned long)f->samples);
        text_add(&t, "numbers       integers: x is the sample times 2^");
        for (i = 0; i < f->channels && i < 8; i++) text_add(&t, "%s%d", i > 0 ? ", " : "", f->exponents[i]);
        text_add(&t, "%s\nfilters       %lu of %lu taps, %s, %lu bytes\n", f->channels > 8 ? ", ..." : "",
                 (unsigned long)f->filters, (unsigned long)f->taps,
                 f->rectify == RFM_RECTIFY_ABS ? "absolute values" : "relu", (unsigned long)bank);
        text_add(&t, "pooled        %s in %lu segment%s: %zu features\n", pools.at, (unsigned long)f->segments,
                 f->segments == 1 ? "" : "s", m->d);
        text_add(&t, "centres       %zu, rank %zu, 8-bit integers\n", m->n, m->r);
        text_add(&t, "model         %zu bytes; a window of %zu and scratch of %zu bytes of RAM\n", bytes,
                 any->numbers.d * sizeof(int16_t), scratch);
    }
    file_show(&t, NULL);
    free(t.at);
    free(pools.at);
    return 0;
}

int signal_export(const rfm_filters *model, const char *id, const char *out) {
    rfm_filters f = *model;
    const rfm_model_i *m = &model->model;
    const size_t window = (size_t)f.channels * f.samples, classes = m->task != RFM_CLASSIFY ? 0 : m->c == 1 ? 2 : m->c;
    size_t bytes, i;
    text t = {NULL, 0, 0};
    unsigned char *blob;
    char *upper = copy_text(id, strlen(id));
    f.input_names = NULL;
    for (i = 0; upper[i] != 0; i++) upper[i] = (char)toupper((unsigned char)upper[i]);
    must(rfm_filters_size(&f, 0, &bytes), "the model");
    blob = allocate_aligned(bytes, "the model");
    must(rfm_filters_write(&f, NULL, 0, blob, bytes), "the model");
    file_check(out);
    text_add(&t,
             "/* A model for rfm %d.%d: %s, %lu channels of %lu samples, %lu filters of %lu taps, %zu centres, all "
             "integers.\n",
             RFM_VERSION_MAJOR, RFM_VERSION_MINOR, task_words[m->task], (unsigned long)f.channels,
             (unsigned long)f.samples, (unsigned long)f.filters, (unsigned long)f.taps, m->n);
    text_add(
        &t,
        " * Compile rfm.c, rfm_small.c and rfm_filters.c with -DRFM_NO_TRAIN beside it; no floating-point operation "
        "is\n * made. The model stays in flash.\n"
        " * RAM: %zu bytes of x, %zu of scores and scratch, %d of m, about 300 of stack.\n *\n",
        window * sizeof(int16_t), RFM_FILTERS_SCRATCH(m->d, m->r) * sizeof(int16_t) + m->c * sizeof(int32_t),
        FILTERS_BYTES_32);
    text_add(&t,
             " *     static int16_t x[%s_WINDOW], scratch[%s_SCRATCH];\n *     static int32_t scores[%s_OUTPUTS];\n"
             " *     rfm_filters m;\n *     if (rfm_filters_open(%s, %s_BYTES, &m) != RFM_OK) ...\n"
             " *     if (rfm_filters_predict(&m, x, scores, scratch, NULL, NULL) != RFM_OK) ...\n",
             upper, upper, upper, id, upper);
    if (classes > 0)
        text_add(&t, " *     class = %s_class_names[rfm_class_i(&m.model, scores)];\n", id);
    else
        text_add(&t, " *     value k = scores[k] * m.model.units[k]\n");
    text_add(&t, " *\n * x are the samples, channel by channel, times 2^exponent, rounded. Exponents of the channels:");
    for (i = 0; i < f.channels; i++) text_add(&t, i % 16 == 0 ? "\n *     %d" : " %d", f.exponents[i]);
    text_add(&t, "\n */\n#ifndef RFM_MODEL_%s_%08lX_H\n#define RFM_MODEL_%s_%08lX_H\n\n#include \"rfm_filters.h\"\n\n",
             upper, (unsigned long)rfm_crc32(0, blob, bytes), upper, (unsigned long)rfm_crc32(0, blob, bytes));
    text_add(&t,
             "#define %s_BYTES    %zu\n#define %s_CHANNELS %lu\n#define %s_SAMPLES  %lu\n"
             "#define %s_WINDOW   (%s_CHANNELS * %s_SAMPLES)\n#define %s_FEATURES %zu\n#define %s_OUTPUTS  %zu\n"
             "#define %s_RANK     %zu\n#define %s_SCRATCH  RFM_FILTERS_SCRATCH(%s_FEATURES, %s_RANK)\n",
             upper, bytes, upper, (unsigned long)f.channels, upper, (unsigned long)f.samples, upper, upper, upper,
             upper, m->d, upper, m->c, upper, m->r, upper, upper, upper);
    if (classes > 0) {
        text_add(&t, "#define %s_CLASSES  %zu\n\nstatic const char *const %s_class_names[%s_CLASSES] = {", upper,
                 classes, id, upper);
        for (i = 0; i < classes; i++) {
            text_add(&t, i % 8 == 0 ? "\n    " : " ");
            if (m->class_names != NULL)
                c_string(&t, rfm_name(m->class_names, i));
            else
                text_add(&t, "\"%zu\"", i);
            text_add(&t, ",");
        }
        text_add(&t, "\n};\n");
    }
    text_add(&t, "\nRFM_ALIGNED static const unsigned char %s[%s_BYTES] = {", id, upper);
    for (i = 0; i < bytes; i++) text_add(&t, i % 24 == 0 ? "\n    %u," : "%u,", (unsigned)blob[i]);
    text_add(&t, "\n};\n\n#endif\n");
    file_write(out, t.at, t.size);
    note("%s: %zu bytes of model in %s", out, bytes, id);
    free(t.at);
    free(blob);
    free(upper);
    return 0;
}

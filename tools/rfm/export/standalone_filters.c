#include "standalone.h"

/* Filters, then the model of integers, whose inputs are the features. */

static void put_bank(header *h, const rfm_filters *f) {
    const size_t d = (size_t)f->channels * f->taps;
    size_t i;
    put(h, "#define $_CHANNELS %lu\n#define $_SAMPLES %lu\n#define $_WINDOW ($_CHANNELS * $_SAMPLES)\n",
        (unsigned long)f->channels, (unsigned long)f->samples);
    put(h, "#define $_FILTERS %lu\n#define $_TAPS %lu\n#define $_SPAN %lu\n\n", (unsigned long)f->filters,
        (unsigned long)f->taps, (unsigned long)f->span);
    array_begin(h, "int8_t", "bank", f->filters * d);
    for (i = 0; i < f->filters * d; i++) array_integer(h, f->bank[i]);
    array_end(h);
    array_begin(h, "int32_t", "filter_bias", f->filters);
    for (i = 0; i < f->filters; i++) array_integer(h, f->bias[i]);
    array_end(h);
    array_begin(h, "uint8_t", "filter_shifts", f->filters);
    for (i = 0; i < f->filters; i++) array_integer(h, f->shifts[i]);
    array_end(h);
    put(h, "\n/* Samples are what was trained on times 2^exponent, rounded; exponents of the channels:");
    for (i = 0; i < f->channels; i++) put(h, i % 16 == 0 ? "\n *     %d" : " %d", f->exponents[i]);
    put(h, " */\n");
}

/* Pools while sliding, as rfm_filters_pool does. */
static void put_pool(header *h, const rfm_filters *f) {
    unsigned b = 0;
    while (1u << b < f->span) b++;
    put(h, "\n/* The features of a window, channel by channel. */\n"
           "$_CODE void @_pool(const int16_t window[$_WINDOW], int16_t x[$_INPUTS]) {\n"
           "    const int8_t *w = @_bank;\n"
           "    uint32_t k, t, end, c, j;\n"
           "    for (k = 0U; k < $_FILTERS; k++, w += $_CHANNELS * $_TAPS)\n"
           "        for (t = 0U; t < $_SAMPLES - $_TAPS + 1U;) {\n"
           "            uint32_t largest = 0U, mean = 0U, energy = 0U;\n"
           "            end = t + $_SPAN < $_SAMPLES - $_TAPS + 1U ? t + $_SPAN : $_SAMPLES - $_TAPS + 1U;\n"
           "            for (; t < end; t++) {\n"
           "                const int8_t *at = w;\n"
           "                const int16_t *from = window + t;\n"
           "                int32_t v = @_filter_bias[k];\n"
           "                uint32_t h;\n"
           "                for (c = 0U; c < $_CHANNELS; c++, at += $_TAPS, from += $_SAMPLES)\n"
           "                    for (j = 0U; j < $_TAPS; j++) v += at[j] * from[j];\n"
           "                v >>= @_filter_shifts[k];\n");
    put(h, "                if (v < 0) v = %s;\n", f->rectify == RFM_RECTIFY_ABS ? "-v" : "0");
    put(h, "                h = v > 32767 ? 32767U : (uint32_t)v;\n"
           "                if (h > largest) largest = h;\n"
           "                mean += h;\n"
           "                energy += (h * h) >> 15;\n"
           "            }\n");
    put(h, f->pools & RFM_POOL_MAX ? "            *x++ = (int16_t)largest;\n" : "            (void)largest;\n");
    if (f->pools & RFM_POOL_MEAN)
        put(h, "            *x++ = (int16_t)(mean >> %u);\n", b);
    else
        put(h, "            (void)mean;\n");
    if (f->pools & RFM_POOL_ENERGY)
        put(h, "            *x++ = (int16_t)(energy >> %u);\n", b);
    else
        put(h, "            (void)energy;\n");
    put(h, "        }\n}\n");
}

void put_filters(header *h, const rfm_filters *f) {
    put_bank(h, f);
    put_pool(h, f);
    put_integers(h, &f->model);
    if (f->model.task == RFM_CLASSIFY)
        put(h, "\n/* The class of a window. */\n"
               "$_CODE uint32_t @_classify_window(const int16_t window[$_WINDOW]) {\n"
               "    int16_t x[$_INPUTS];\n"
               "    @_pool(window, x);\n"
               "    return @_classify(x);\n"
               "}\n");
    else
        put(h, "\n/* The predicted numbers of a window. */\n"
               "$_CODE void @_predict_window(const int16_t window[$_WINDOW], float y[$_OUTPUTS]) {\n"
               "    int16_t x[$_INPUTS];\n"
               "    @_pool(window, x);\n"
               "    @_predict(x, y);\n"
               "}\n");
}

#include "extras.h"
#include "identifier.h"

#include "rfm/signal/sensor.h"

#include <stdlib.h>
#include <string.h>

/* The signal of a model, and which feature each input is. */
typedef struct {
    unsigned char *bytes; /* without names */
    size_t size;
    rfm_signal signal; /* with names, in the record */
    uint16_t *index;   /* (d) */
} sensor;

static int sensor_open(const any_model *any, sensor *s) {
    memset(s, 0, sizeof *s);
    if (any->record.signal == NULL) return 0;
    must(rfm_signal_open(any->record.signal, any->record.signal_bytes, &s->signal), "the signal");
    s->index = sensor_index(&s->signal, any->numbers.input_names, any->numbers.d);
    if (s->index == NULL) return 0;
    s->size = any->record.signal_bytes, s->bytes = allocate(s->size, 1, "the signal");
    memcpy(s->bytes, any->record.signal, s->size);
    must(rfm_signal_strip(s->bytes, &s->size), "the signal");
    return 1;
}

static void sensor_close(sensor *s) {
    free(s->bytes);
    free(s->index);
}

int has_sensor(const any_model *any) {
    sensor s;
    int found = sensor_open(any, &s);
    sensor_close(&s);
    return found;
}

static int exponent_of_input(const any_model *any, size_t i) {
    if (!is_tiny(any)) return any->integers.inputs[i].exponent;
    return any->tiny.exponents != NULL ? any->tiny.exponents[i] : any->tiny.exponent;
}

/* What RFM_SIGNAL_LONGEST may be: 32 at least, and the window if it has a spectrum, whose length is a power of two. */
static uint32_t longest_of(const rfm_signal *s) {
    int power = s->window > 32 && s->window <= 4096 && (s->window & (s->window - 1)) == 0;
    return power ? s->window : 32;
}

static void put_comment(header *h, const rfm_signal *s) {
    const char *kind = s->reals ? "" : "_i", *number = s->reals ? "rfm_real" : "int16_t";
    size_t i;
    put(h,
        "\n/* From samples to x. Compile rfm_signal.c beside it; -DRFM_SIGNAL_LONGEST=%lu makes its table of sines as "
        "short\n"
        " * as it may be.\n *\n"
        " *     RFM_ALIGNED static unsigned char memory[$_STREAM_BYTES(0)];    0: samples that may come in between\n"
        " *     static %s sample[$_CHANNELS], features[$_FEATURES];\n"
        " *     rfm_signal_open(@_signal, sizeof @_signal, &signal);\n"
        " *     rfm_stream_init(&stream, &signal, 0, memory, sizeof memory);\n"
        " *     rfm_stream_push%s(&stream, sample);                            for every sample\n"
        " *     if (rfm_stream_take%s(&stream, features) == RFM_OK) @_inputs(features, x);\n *\n * A sample has",
        (unsigned long)longest_of(s), number, kind, kind);
    for (i = 0; i < s->channels; i++) {
        text_add(&h->t, "%s", i % 6 == 0 ? "\n *     " : ", ");
        c_string(&h->t, rfm_name(s->names, i));
        if (!s->reals && s->exponents[i] != 0) text_add(&h->t, " times 2^%d", s->exponents[i]);
    }
    put(h, "\n */\n");
}

/* Bytes of a stream: those of rfm_stream_need, as a macro of the slack. */
static void put_stream_bytes(header *h, const rfm_signal *s) {
    size_t none, one;
    must(rfm_stream_need(s, 0, &none), "the signal");
    must(rfm_stream_need(s, 1, &one), "the signal");
    if (s->reals) /* numbers of firmware may be others than here */
        put(h, "#define $_STREAM_BYTES(slack) ((%zuu + %zuu * (slack)) * sizeof(rfm_real))\n", none / sizeof(rfm_real),
            (one - none) / sizeof(rfm_real));
    else
        put(h, "#define $_STREAM_BYTES(slack) (%zuu + %zuu * (slack))\n", none, one - none);
}

/* @_inputs, and the arrays that it takes. */
static void put_inputs(header *h, const any_model *any, const sensor *s, const char *real) {
    const size_t d = any->numbers.d;
    int in_order = 1, scaled = 0, integers = has_integers(any) && !s->signal.reals;
    size_t i;
    for (i = 0; i < d; i++) {
        in_order = in_order && s->index[i] == i;
        scaled = scaled || (integers && exponent_of_input(any, i) != 0);
    }
    if (!in_order) {
        array_begin(h, "uint16_t", "index", d);
        for (i = 0; i < d; i++) array_integer(h, s->index[i]);
        array_end(h);
    }
    if (scaled) {
        array_begin(h, "int8_t", "exponents", d);
        for (i = 0; i < d; i++) array_integer(h, exponent_of_input(any, i));
        array_end(h);
    }
    if (integers) {
        put(h, "static inline void @_inputs(const int16_t *features, int16_t *x) {\n"
               "    (void)rfm_signal_inputs($_INPUTS, features, %s, %s, x);\n}\n",
            in_order ? "NULL" : "@_index", scaled ? "@_exponents" : "NULL");
        return;
    }
    put(h,
        "static inline void @_inputs(const %s *features, %s *x) {\n"
        "    unsigned j;\n    for (j = 0; j < $_INPUTS; j++) x[j] = (%s)features[%s];\n}\n",
        s->signal.reals ? "rfm_real" : "int16_t", real, real, in_order ? "j" : "@_index[j]");
}

void put_sensor(header *h, const any_model *any, int standalone) {
    sensor s;
    size_t i;
    if (!sensor_open(any, &s)) {
        sensor_close(&s);
        return;
    }
    if (standalone) put(h, "\n#ifdef RFM_SIGNAL_H /* rfm_signal.h was included before this file */\n");
    put_comment(h, &s.signal);
    put(h, "#define $_WINDOW   %lu\n#define $_STEP     %lu\n#define $_CHANNELS %lu\n#define $_FEATURES %lu\n",
        (unsigned long)s.signal.window, (unsigned long)s.signal.step, (unsigned long)s.signal.channels,
        (unsigned long)s.signal.features);
    put_stream_bytes(h, &s.signal);
    array_begin(h, "unsigned char", "signal", s.size);
    for (i = 0; i < s.size; i++) array_integer(h, s.bytes[i]);
    array_end(h);
    put_inputs(h, any, &s, standalone ? "float" : "rfm_real");
    if (standalone) put(h, "#endif\n");
    sensor_close(&s);
}

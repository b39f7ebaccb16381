/* rfm features: windows of a recording become the rows of a table. */
#include "command.h"
#include "signal/sensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const call *a;
    csv *files; /* (file_count) */
    size_t file_count;
    const char *target; /* the column's name; NULL: none */
    void *bytes;        /* the signal */
    size_t size;
    rfm_signal signal;
    rfm_stream stream;
    void *memory;
    int16_t *sample_i, *features_i;
    rfm_real *sample, *features;
    text table;
    size_t windows, unknown, cut, saturated; /* samples: without a target, in pieces of windows, beyond 16 bits */
} job;

/* ---- what is in the recordings -------------------------------------------------------------- */

/* The target: the column of that name, else "target", else the only one with texts. */
static void find_target(job *t) {
    const csv *c = &t->files[0];
    size_t j, texts = 0, at = c->columns;
    char room[GUESS_ROOM];
    if (t->a->target != NULL) {
        at = csv_column(c, t->a->target);
        if (at == c->columns)
            fail("%s: no column \"%s\", expected one for --target%s", c->file, t->a->target,
                 csv_like(c, t->a->target, room));
    } else if ((at = csv_column(c, "target")) == c->columns) {
        for (j = 0; j < c->columns; j++)
            if (csv_kind(csv_value(c, 0, j)) == CSV_TEXT) texts++, at = j;
        if (texts != 1) at = c->columns;
    }
    if (at < c->columns) t->target = c->names[at];
}

static size_t column_named(const csv *c, const char *name) {
    size_t at = csv_column(c, name);
    char room[GUESS_ROOM];
    if (at == c->columns)
        fail("%s: no column \"%s\", expected the same channels in every recording%s", c->file, name,
             csv_like(c, name, room));
    return at;
}

static double sample_at(csv *c, size_t row, size_t column) {
    double value = csv_value(c, row, column);
    if (csv_kind(value) != CSV_NUMBER) csv_fail(c, row, column, "a number, for a window has all its samples");
    return value;
}

#define HALF_RANGE 16384 /* what was recorded takes half of 16 bits: devices see more than a recording does */

/* The power of two that makes integers of a channel: none if they are integers of 16 bits already. */
static int8_t exponent_of(const job *t, const char *name) {
    double most = 0;
    size_t f, i;
    int whole = 1, exponent;
    for (f = 0; f < t->file_count; f++) {
        csv *c = &t->files[f];
        size_t at = column_named(c, name);
        for (i = 0; i < c->rows; i++) {
            double value = csv_value(c, i, at);
            if (csv_kind(value) != CSV_NUMBER) continue; /* sample_at refuses it, if the spec names the channel */
            if (fabs(value) > most) most = fabs(value);
            whole = whole && floor(value) == value;
        }
    }
    if (most == 0 || (whole && most <= INT16_MAX)) return 0;
    (void)frexp(most / HALF_RANGE, &exponent);
    return (int8_t)(exponent < -126 ? 126 : exponent > 126 ? -126 : -exponent);
}

/* ---- the signal ----------------------------------------------------------------------------- */

static void spec_fails(const char *spec, const rfm_signal_fault *fault) {
    int length = (int)(fault->length < 60 ? fault->length : 60);
    usage("--spec: %s: \"%.*s\", at character %zu of \"%.*s\"", fault->why, length, spec + fault->at, fault->at + 1,
          utf8_fit(spec, 200), spec);
}

static void compile_spec(job *t) {
    const call *a = t->a;
    const csv *c = &t->files[0];
    text names = {NULL, 0, 0}, exponents = {NULL, 0, 0};
    rfm_signal_options o;
    rfm_signal_fault fault;
    size_t j;
    int status;
    memset(&o, 0, sizeof o);
    if (a->spec == NULL || a->window == SIZE_MAX)
        usage("features: expected --window N and --spec TEXT, or --like MODEL.rfm");
    if (a->window < 1 || a->window > 32767) usage("--window: expected 1 to 32767 samples, found %zu", a->window);
    o.window = a->window, o.step = a->step != SIZE_MAX ? a->step : (a->window + 1) / 2;
    if (o.step < 1 || o.step > 65535) usage("--step: expected 1 to 65535 samples, found %zu", o.step);
    o.reals = a->reals, o.rate = (rfm_real)(a->rate > 0 ? a->rate : 0);
    if (a->rate == 0) usage("--rate: expected a number above 0");
    for (j = 0; j < c->columns; j++) {
        int8_t exponent;
        if ((t->target != NULL && strcmp(c->names[j], t->target) == 0) || csv_kind(csv_value(c, 0, j)) == CSV_TEXT)
            continue;
        exponent = a->reals ? 0 : exponent_of(t, c->names[j]);
        text_bytes(&names, c->names[j], strlen(c->names[j]) + 1);
        text_bytes(&exponents, (const char *)&exponent, 1);
        o.channels++;
    }
    if (o.channels == 0) fail("%s: expected a column of numbers for each channel, found none", c->file);
    o.names = names.at, o.exponents = (const int8_t *)exponents.at;
    status = rfm_signal_compile(a->spec, &o, NULL, 0, &t->size, &fault);
    if (status == RFM_EVALUE && fault.length > 0) spec_fails(a->spec, &fault);
    if (status != RFM_OK) usage("--spec: %s", status == RFM_EVALUE ? fault.why : rfm_status_text(status));
    t->bytes = allocate(t->size, 1, "the features");
    must(rfm_signal_compile(a->spec, &o, t->bytes, t->size, &t->size, &fault), "--spec");
    free(names.at);
    free(exponents.at);
}

/* Of a model, or of the file beside a table. */
static void take_like(job *t) {
    const call *a = t->a;
    any_model any;
    size_t size;
    char *blob;
    if (a->spec != NULL || a->window != SIZE_MAX || a->step != SIZE_MAX || a->rate >= 0 || a->reals)
        usage("--like: expected none of --window, --step, --spec, --rate and --reals with it");
    blob = file_read(a->like, &size);
    if (size >= 4 && memcmp(blob, "rfmw", 4) == 0) {
        t->bytes = blob, t->size = size;
        return;
    }
    free(blob);
    any_read(a->like, &blob, &size, &any);
    if (any.record.signal == NULL)
        fail("%s: a model of a table, expected one that was trained on what rfm features writes", a->like);
    t->size = any.record.signal_bytes, t->bytes = allocate(t->size, 1, "the features");
    memcpy(t->bytes, any.record.signal, t->size);
    free(blob);
}

/* ---- windows -------------------------------------------------------------------------------- */

static void start_stream(job *t) {
    size_t bytes;
    int status = rfm_signal_open(t->bytes, t->size, &t->signal);
    if (status != RFM_OK || t->signal.names == NULL)
        fail("%s: expected a signal with names: %s", t->a->like, rfm_status_text(status));
    must(rfm_stream_need(&t->signal, 0, &bytes), "windows");
    t->memory = allocate_aligned(bytes, "windows");
    must(rfm_stream_init(&t->stream, &t->signal, 0, t->memory, bytes), "windows");
    t->sample_i = allocate(t->signal.channels, sizeof *t->sample_i, "samples");
    t->sample = allocate(t->signal.channels, sizeof *t->sample, "samples");
    t->features_i = allocate(t->signal.features, sizeof *t->features_i, "features");
    t->features = allocate(t->signal.features, sizeof *t->features, "features");
}

static void add_head(job *t) {
    size_t i;
    for (i = 0; i < t->signal.features; i++) {
        char *name = sensor_feature(&t->signal, i);
        text_add(&t->table, "%s", i > 0 ? "," : "");
        csv_add(&t->table, name);
        free(name);
    }
    if (t->target != NULL) text_add(&t->table, ","), csv_add(&t->table, t->target);
    text_bytes(&t->table, "\n", 1);
}

static void add_window(job *t, const char *label) {
    size_t i;
    int status =
        t->signal.reals ? rfm_stream_take(&t->stream, t->features) : rfm_stream_take_i(&t->stream, t->features_i);
    must(status, "features");
    for (i = 0; i < t->signal.features; i++)
        if (t->signal.reals)
            text_add(&t->table, "%s%.9g", i > 0 ? "," : "", (double)t->features[i]);
        else
            text_add(&t->table, "%s%d", i > 0 ? "," : "", t->features_i[i]);
    if (label != NULL) text_add(&t->table, ","), csv_add(&t->table, label);
    text_bytes(&t->table, "\n", 1);
    t->windows++;
}

/* One row of a recording. */
static void push_row(job *t, csv *c, size_t row, const size_t *columns) {
    size_t i;
    int status;
    for (i = 0; i < t->signal.channels; i++) {
        double value = sample_at(c, row, columns[i]), whole = round(ldexp(value, t->signal.exponents[i]));
        if (t->signal.reals) {
            t->sample[i] = (rfm_real)value;
            continue;
        }
        if (whole > INT16_MAX || whole < INT16_MIN) t->saturated++, whole = whole > 0 ? INT16_MAX : INT16_MIN;
        t->sample_i[i] = (int16_t)whole;
    }
    status = t->signal.reals ? rfm_stream_push(&t->stream, t->sample) : rfm_stream_push_i(&t->stream, t->sample_i);
    if (status != RFM_OK) fail("%s: line %zu: %s", c->file, csv_line(c, row), rfm_status_text(status));
}

static void read_recording(job *t, csv *c) {
    size_t *columns = allocate(t->signal.channels, sizeof *columns, "channels");
    size_t target = t->target != NULL ? column_named(c, t->target) : 0, i, length = 0;
    char *label = NULL;
    for (i = 0; i < t->signal.channels; i++) columns[i] = column_named(c, rfm_name(t->signal.names, i));
    for (i = 0; i < c->rows; i++) {
        const char *now = t->target != NULL ? csv_text(c, i, target) : NULL;
        if (now != NULL && (label == NULL || strcmp(label, now) != 0)) {
            t->cut += length, length = 0;
            free(label);
            label = copy_text(now, strlen(now));
            must(rfm_stream_reset(&t->stream), "windows");
        }
        if (now != NULL && (*now == 0 || csv_kind(csv_value(c, i, target)) == CSV_MISSING)) {
            t->unknown++;
            continue;
        }
        push_row(t, c, i, columns);
        length++;
        if (!rfm_stream_ready(&t->stream)) continue;
        add_window(t, label);
        length = 0;
    }
    t->cut += length;
    must(rfm_stream_reset(&t->stream), "windows");
    free(label);
    free(columns);
}

static void say(const job *t, const char *out, const char *beside) {
    if (t->unknown > 0) note("%zu samples have no %s and are left out", t->unknown, t->target);
    if (t->cut > 0)
        note("%zu samples came behind the last whole window of their piece and are left out", t->cut);
    if (t->saturated > 0) note("%zu samples are beyond 16 bits and are taken as the end of the range", t->saturated);
    note("%s: %zu windows of %lu samples, %lu features%s%s", out != NULL ? out : "-", t->windows,
         (unsigned long)t->signal.window, (unsigned long)t->signal.features,
         beside != NULL ? "; how they are made: " : "", beside != NULL ? beside : "");
}

int command_features(const call *a) {
    int beside = a->out != NULL && strcmp(a->out, "-") != 0;
    char *signal_file = beside ? sensor_file(a->out) : NULL;
    size_t i;
    job t;
    memset(&t, 0, sizeof t);
    t.a = a;
    while (a->operands[t.file_count] != NULL) t.file_count++;
    t.files = allocate(t.file_count, sizeof *t.files, "recordings");
    for (i = 0; i < t.file_count; i++) {
        csv_read(&t.files[i], a->operands[i], !a->no_header);
        if (t.files[i].rows == 0) fail("%s: no samples", a->operands[i]);
    }
    find_target(&t);
    if (a->like != NULL)
        take_like(&t);
    else
        compile_spec(&t);
    file_check(a->out);
    if (beside) file_check(signal_file);
    start_stream(&t);
    add_head(&t);
    for (i = 0; i < t.file_count; i++) read_recording(&t, &t.files[i]);
    if (t.windows == 0)
        fail("%s: no window of %lu samples without a change of the target; expected a longer recording or a shorter "
             "--window",
             a->operands[0], (unsigned long)t.signal.window);
    file_write(a->out, t.table.at, t.table.size);
    if (beside) file_write(signal_file, t.bytes, t.size);
    say(&t, a->out, signal_file);
    for (i = 0; i < t.file_count; i++) csv_free(&t.files[i]);
    free(t.files);
    free(t.bytes);
    free(t.memory);
    free(t.sample_i);
    free(t.sample);
    free(t.features_i);
    free(t.features);
    free(t.table.at);
    free(signal_file);
    return 0;
}

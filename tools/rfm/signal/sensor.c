#include "sensor.h"

#include "host/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *sensor_file(const char *table) {
    size_t length = strlen(table);
    text t = {NULL, 0, 0};
    if (length > 4 && strcmp(table + length - 4, ".csv") == 0) length -= 4;
    text_bytes(&t, table, length);
    text_bytes(&t, ".signal", sizeof ".signal");
    return t.at;
}

char *sensor_feature(const rfm_signal *signal, size_t feature) {
    size_t room = 64;
    char *name = allocate(room, 1, "names");
    must(rfm_signal_name(signal, feature, name, room), "names");
    while (strlen(name) + 1 == room) { /* cut, maybe */
        free(name);
        room *= 2, name = allocate(room, 1, "names");
        must(rfm_signal_name(signal, feature, name, room), "names");
    }
    return name;
}

/* The feature of that name, or signal->features. */
static size_t feature_of(const rfm_signal *signal, const char *name) {
    size_t i;
    int found = 0;
    for (i = 0; signal->names != NULL && i < signal->features; i++) {
        char *other = sensor_feature(signal, i);
        found = strcmp(other, name) == 0;
        free(other);
        if (found) break;
    }
    return found ? i : signal->features;
}

uint16_t *sensor_index(const rfm_signal *signal, const char *input_names, size_t inputs) {
    uint16_t *index = allocate(inputs, sizeof *index, "features");
    size_t i, at;
    for (i = 0; i < inputs && input_names != NULL; i++) {
        at = feature_of(signal, rfm_name(input_names, i));
        if (at == signal->features) break;
        index[i] = (uint16_t)at;
    }
    if (i == inputs) return index;
    free(index);
    return NULL;
}

void sensor_record(text *record, const char *table, const char *input_names, size_t inputs) {
    rfm_signal signal;
    uint16_t *index;
    size_t size;
    char *file, *bytes;
    int status;
    if (session_now() != NULL || strcmp(table, "-") == 0) return;
    file = sensor_file(table);
    if (access(file, R_OK) != 0) {
        free(file);
        return;
    }
    bytes = file_read(file, &size);
    status = rfm_signal_open(bytes, size, &signal);
    if (status != RFM_OK || signal.names == NULL)
        fail("%s: expected what rfm features writes beside a table, found: %s", file, rfm_status_text(status));
    index = sensor_index(&signal, input_names, inputs);
    if (index != NULL)
        record_add(record, RFM_RECORD_SIGNAL, bytes, size);
    else
        note("%s: not kept in the model, because the table has inputs that are none of its features", file);
    free(index);
    free(bytes);
    free(file);
}

void sensor_show(text *t, const model_record *record) {
    rfm_signal s;
    size_t i;
    if (record->signal == NULL || rfm_signal_open(record->signal, record->signal_bytes, &s) != RFM_OK) return;
    text_add(t, "sensors       ");
    for (i = 0; i < s.channels; i++) {
        text_add(t, "%s", i > 0 ? ", " : "");
        text_name(t, rfm_name(s.names, i));
        if (!s.reals && s.exponents[i] != 0) text_add(t, " times 2^%d", s.exponents[i]);
    }
    text_add(t, ": windows of %lu samples, one every %lu; %lu features in %s\n", (unsigned long)s.window,
             (unsigned long)s.step, (unsigned long)s.features, s.reals ? "float" : "integers");
}

void sensor_json(text *t, const model_record *record) {
    rfm_signal s;
    if (record->signal == NULL || rfm_signal_open(record->signal, record->signal_bytes, &s) != RFM_OK) return;
    json_names(t, "channels", s.names, s.channels);
    json_number(t, "window", s.window);
    json_number(t, "step", s.step);
    json_text(t, "feature_numbers", s.reals ? "float" : "integers");
}

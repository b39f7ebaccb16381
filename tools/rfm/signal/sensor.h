/* Features of sensors, rfm features: how a model's inputs are made of samples (rfm_signal.h) goes from the table to the
 * model, and from there into the header for firmware. */
#ifndef SENSOR_H
#define SENSOR_H

#include "host/host.h"

/* The file beside a table: FEATURES.signal of FEATURES.csv. To be freed. */
char *sensor_file(const char *table);

/* Keeps what is beside the table in the record of a model, if every input is one of its features. */
void sensor_record(text *record, const char *table, const char *input_names, size_t inputs);

/* The name of a feature of a signal that has names, whole. To be freed. */
char *sensor_feature(const rfm_signal *signal, size_t feature);

/* (d) which feature each input is; NULL: one is none. To be freed. */
uint16_t *sensor_index(const rfm_signal *signal, const char *input_names, size_t inputs);

/* Of a model that has a signal, for people and as JSON. */
void sensor_show(text *t, const model_record *record);
void sensor_json(text *t, const model_record *record);

#endif

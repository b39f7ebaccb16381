/* What headers have beside the model: how inputs are made of samples, and vectors for a self-test. */
#ifndef EXTRAS_H
#define EXTRAS_H

#include "standalone.h"

#include "rfm/command.h"

/* Of a model that was trained on features of sensors: the bytes of its signal, its sizes, @_inputs. Nothing else is
 * put. Of a standalone header: for those who include rfm_signal.h before it. */
void put_sensor(header *h, const any_model *any, int standalone);
int has_sensor(const any_model *any); /* 1: there is something to be put */

/* Of a model whose inputs are made by tables of knots: the tables, @_inputs that makes x of the columns, and how many
 * columns there are. Nothing else is put. */
void put_knots(header *h, const any_model *any, int standalone);
int has_tables(const any_model *any); /* 1: there is something to be put */

/* off (d): how far off each input of a table may be with columns as floats. */
void tables_rounding(const any_model *any, rfm_real *off);

/* Rows of --data with their scores, and @_self_test. */
void put_vectors(header *h, const any_model *any, const call *c, int standalone);

/* Reads the model `file`, of any kind, and writes the header for it, with all that the call asks for. */
void standalone_export(const call *c, const char *file, const char *out, const char *id);

#endif

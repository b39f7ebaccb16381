/* Anomaly detector: knows the states of a machine, and says when it is in none of them.
 *
 * The model tells three states apart. Beside the class a prediction has the largest kernel value to any centre, `near`:
 * about 1 where the model has seen such windows, near 0 where it has not. No fault had to be recorded. The limit is
 * learned at the start, when the machine is known to be well: half of the least value seen.
 *
 * How the model was made, of windows of the simulated machine (machine.h):
 *     $ out=build/examples/anomaly
 *     $ cc -std=c99 -Iboards/examples -o $out/record boards/examples/record.c && $out/record states >$out/states.csv
 *     $ build/rfm train $out/states.csv --kernel gaussian --metric identity --bandwidth 0.35m --ridge 0.01 \
 *     $     --iterations 0 --port scalar -q -o $out/full.rfm
 *     $ build/rfm compress $out/full.rfm --data $out/states.csv --centers 24 --port scalar -q -o $out/small.rfm
 *     $ build/rfm export $out/small.rfm --name states -q -o $out/states_model.h
 */
#include "rfm.h"

#include "example.h"
#include "machine.h"
#include "states_model.h"

#define CALIBRATION 60 /* windows */
#define WATCH       90 /* windows after that; from the middle on a screw is loose */

static rfm_model model;
static rfm_real x[STATES_INPUTS], scores[STATES_OUTPUTS], scratch[STATES_SCRATCH], limit;
static machine watched;
static int windows, alarms_well, alarms_loose, known;

static void read_window(void) {
    static const int32_t loads[3] = {5, 40, 90};
    int32_t features[MACHINE_FEATURES], j;
    watched.load = loads[windows % 3];
    watched.loose = windows >= CALIBRATION + WATCH / 2;
    machine_window(&watched, features);
    for (j = 0; j < MACHINE_FEATURES; j++) x[j] = (rfm_real)features[j];
}

static void report(void) {
    say("of "), say_number(WATCH / 2), say(" windows of a machine that is well: "), say_number(alarms_well);
    say(" alarms, "), say_number(known), say(" states right\n");
    say("of "), say_number(WATCH / 2), say(" windows with a loose screw: "), say_number(alarms_loose), say(" alarms\n");
    finish(NULL);
}

void setup(void) {
    begin();
    watched.random = 777;
    limit = 1;
    if (rfm_model_open(states, STATES_BYTES, &model) != RFM_OK) finish("this is no model");
}

void loop(void) {
    static const char *const names[3] = {"idle", "running", "loaded"};
    const char *name, *expected = names[windows % 3];
    rfm_real near;
    if (windows == CALIBRATION + WATCH) report();
    read_window();
    if (rfm_predict_one(&model, x, scores, scratch, NULL, &near) != RFM_OK) finish("no prediction");
    if (windows < CALIBRATION) {
        if (near / 2 < limit) limit = near / 2;
    } else if (near < limit) {
        if (watched.loose) alarms_loose++;
        else alarms_well++;
        if (alarms_loose == 1)
            say("alarm: this is none of the states, "), say_number((long)(near * 1000)), say(" of 1000\n");
    } else if (!watched.loose) {
        name = rfm_name(model.class_names, rfm_class(&model, scores, NULL));
        known += name[0] == expected[0];
    }
    windows++;
}

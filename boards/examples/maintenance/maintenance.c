/* Predictive maintenance: how many hours a bearing has left, from vibration and temperature at any load.
 *
 * A regression. Single windows are noisy, so the estimate is a running mean. The machine of machine.h wears from 0 to
 * 100 %; the device asks for a bearing when less than 100 hours of 1,000 are left.
 *
 * How the model was made, of windows at random loads and wear:
 *     $ out=build/examples/maintenance
 *     $ cc -std=c99 -Iboards/examples -o $out/record boards/examples/record.c && $out/record wear >$out/wear.csv
 *     $ build/rfm train $out/wear.csv --kernel gaussian --metric full --bandwidth 2m --ridge 0.001 \
 *     $     --iterations 2 --port scalar -q -o $out/full.rfm
 *     $ build/rfm compress $out/full.rfm --data $out/wear.csv --centers 32 --port scalar -q -o $out/small.rfm
 *     $ build/rfm export $out/small.rfm --name wear -q -o $out/wear_model.h
 */
#include "rfm.h"

#include "example.h"
#include "machine.h"
#include "wear_model.h"

#define DAYS     25
#define A_DAY    16 /* windows */
#define HOURS(w) (10 * (100 - (w)))

static rfm_model model;
static rfm_real x[WEAR_INPUTS], hours, scratch[WEAR_SCRATCH];
static machine watched;
static int day, asked;
static long off; /* sum of |estimate - truth| */

static int estimate(void) {
    int32_t features[MACHINE_FEATURES], j;
    watched.load = 50 + machine_noise(&watched, 50);
    machine_window(&watched, features);
    for (j = 0; j < MACHINE_FEATURES; j++) x[j] = (rfm_real)features[j];
    return rfm_predict_one(&model, x, &hours, scratch, NULL, NULL);
}

void setup(void) {
    begin();
    watched.random = 4242;
    if (rfm_model_open(wear, WEAR_BYTES, &model) != RFM_OK) finish("this is no model");
}

void loop(void) {
    rfm_real sum = 0;
    long left;
    int i;
    if (day == DAYS) {
        say("off by "), say_number(off / DAYS), say(" hours on average\n");
        finish(NULL);
    }
    watched.wear = 4 * day;
    for (i = 0; i < A_DAY; i++) {
        if (estimate() != RFM_OK) finish("no prediction");
        sum += hours;
    }
    left = (long)(sum / A_DAY);
    off += left > HOURS(watched.wear) ? left - HOURS(watched.wear) : HOURS(watched.wear) - left;
    if (day % 6 == 0) say_number(left), say(" hours left, in truth "), say_number(HOURS(watched.wear)), say("\n");
    if (left < 100 && !asked) {
        say("order a bearing: "), say_number(left), say(" hours left\n");
        asked = 1;
    }
    day++;
}

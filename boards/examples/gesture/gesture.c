/* Gesture recogniser: digits drawn in the air with a motion sensor, by 8-bit integers.
 *
 * A gesture is 20 points x, y of the sensor's path. Here ten recorded ones stand for the sensor: test rows, which the
 * model has not seen. The model lies in flash and is opened where it is; RAM is what the arrays below take.
 *
 * How it was made, and the recordings:
 *     $ out=build/examples/gesture data=tools/data/gesture_digits
 *     $ build/rfm train $data.csv --split $data.split --kernel laplace --metric full --bandwidth 2m --ridge 0.01 \
 *     $     --iterations 2 --port scalar -q -o $out/full.rfm
 *     $ build/rfm compress $out/full.rfm --data $data.csv --split $data.split --type i8 --rank 8 --centers 40 \
 *     $     --port scalar -q -o $out/small.rfm
 *     $ build/rfm export $out/small.rfm --name gesture -q -o $out/gesture_model.h
 *     $ boards/examples/rows $data.csv $data.split >$out/recorded.h
 */
#include "rfm_small.h"

#include "example.h"
#include "gesture_model.h"
#include "recorded.h"

static rfm_model_i model;
static int16_t x[GESTURE_INPUTS], scratch[GESTURE_SCRATCH];
static int32_t scores[GESTURE_OUTPUTS];
static rfm_real reading[GESTURE_INPUTS];
static int next, right;

/* The next gesture, in the units of the table. 0: there is none. */
static int read_gesture(void) {
    int j;
    if (next == ROWS) return 0;
    for (j = 0; j < GESTURE_INPUTS; j++) reading[j] = (rfm_real)rows[next][j];
    return 1;
}

static int same(const char *a, const char *b) {
    while (*a != 0 && *a == *b) a++, b++;
    return *a == *b;
}

void setup(void) {
    begin();
    if (rfm_model_open_i(gesture, GESTURE_BYTES, &model) != RFM_OK) finish("this is no model");
    say("model of "), say_number(GESTURE_BYTES), say(" bytes\n");
}

void loop(void) {
    rfm_notes_i notes;
    const char *name;
    if (!read_gesture()) {
        say_number(right), say(" of "), say_number(ROWS), say(" right\n");
        finish(NULL);
    }
    if (rfm_input_integers(&model, reading, x) != RFM_OK) finish("a reading is not a number");
    if (rfm_predict_i(&model, x, scores, scratch, NULL, &notes) != RFM_OK) finish("no prediction");
    name = rfm_name(model.class_names, rfm_class_i(&model, scores));
    right += same(name, labels[next]);
    say(labels[next]), say(" is taken for "), say(name);
    if (notes.saturated > 0) say(", with inputs out of range");
    say("\n");
    next++;
}

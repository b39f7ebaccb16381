/* A device on the other end of a serial line: samples or vectors in, classes out. One line each way.
 *
 *     s 12            a sample, one number for each channel. At the end of a window: "well 175 8 149 ...", the
 *                     class and the features; nothing before that
 *     x 175 8 149 ... a vector of inputs, as rfm features writes it: "well 650 1237594 -196", the class and the scores
 *     t               the self-test of the model: "self-test 0"; else the vector that failed, or a status
 *     ?               what this is
 *     q               the end
 *
 * From a PC: sed -n '2,$s/,[^,]*$//; s/^/x /p' features.csv >/dev/ttyACM0
 *
 * The model knows three vibrations of the machine in machine.h. How it was made:
 *     $ out=build/examples/uart
 *     $ cc -std=c99 -Iboards/examples -o $out/record boards/examples/record.c
 *     $ $out/record vibration 1 >$out/train.csv
 *     $ build/rfm features $out/train.csv --window 128 --step 64 --spec "acceleration: std zero fft8" \
 *     $     -q -o $out/features.csv
 *     $ build/rfm train $out/features.csv --kernel laplace --metric full --bandwidth 2m --ridge 0.001 --iterations 2 \
 *     $     --port scalar -q -o $out/full.rfm
 *     $ build/rfm compress $out/full.rfm --data $out/features.csv --type i8 --budget 2048 --port scalar \
 *     $     -q -o $out/small.rfm
 *     $ build/rfm export $out/small.rfm --name vibration --data $out/features.csv --vectors 12 \
 *     $     -q -o $out/vibration_model.h
 */
#include "rfm_signal.h"
#include "rfm_small.h"

#include "example.h"
#include "line.h"
#include "vibration_model.h"

static rfm_model_i model;
static rfm_signal signal_;
static rfm_stream stream;
RFM_ALIGNED static unsigned char memory[VIBRATION_STREAM_BYTES(0)];
static int16_t features[VIBRATION_FEATURES], x[VIBRATION_INPUTS], scratch[VIBRATION_SCRATCH];
static int32_t scores[VIBRATION_OUTPUTS];

static void say_class(void) {
    if (rfm_predict_i(&model, x, scores, scratch, NULL, NULL) != RFM_OK) finish("no prediction");
    say(vibration_class_names[rfm_class_i(&model, scores)]);
}

static void take_sample(const char *numbers) {
    int16_t sample[VIBRATION_CHANNELS];
    int i;
    if (line_numbers(numbers, sample, VIBRATION_CHANNELS) != VIBRATION_CHANNELS) {
        say("error: expected "), say_number(VIBRATION_CHANNELS), say(" integers of 16 bits behind the s\n");
        return;
    }
    if (rfm_stream_push_i(&stream, sample) != RFM_OK) finish("a sample was lost");
    if (rfm_stream_take_i(&stream, features) != RFM_OK) return; /* no whole window yet */
    vibration_inputs(features, x);
    say_class();
    for (i = 0; i < VIBRATION_FEATURES; i++) say(" "), say_number(features[i]);
    say("\n");
}

static void take_vector(const char *numbers) {
    int i;
    if (line_numbers(numbers, x, VIBRATION_INPUTS) != VIBRATION_INPUTS) {
        say("error: expected "), say_number(VIBRATION_INPUTS), say(" integers of 16 bits behind the x\n");
        return;
    }
    say_class();
    for (i = 0; i < VIBRATION_OUTPUTS; i++) say(" "), say_number(scores[i]);
    say("\n");
}

static void introduce(void) {
    int i;
    say("inputs "), say_number(VIBRATION_INPUTS), say(", channels "), say_number(VIBRATION_CHANNELS);
    say(", window "), say_number(VIBRATION_WINDOW), say(", step "), say_number(VIBRATION_STEP), say(", classes");
    for (i = 0; i < VIBRATION_CLASSES; i++) say(" "), say(vibration_class_names[i]);
    say("\n");
}

void setup(void) {
    begin();
    if (rfm_model_open_i(vibration, VIBRATION_BYTES, &model) != RFM_OK) finish("this is no model");
    if (rfm_signal_open(vibration_signal, sizeof vibration_signal, &signal_) != RFM_OK) finish("this is no signal");
    if (rfm_stream_init(&stream, &signal_, 0, memory, sizeof memory) != RFM_OK) finish("no room for a window");
}

void loop(void) {
    int heard = hear_line();
    if (heard < 0) finish(NULL);
    if (heard == 0) return;
    switch (line[0]) {
    case 's': take_sample(line + 1); break;
    case 'x': take_vector(line + 1); break;
    case 't': say("self-test "), say_number(vibration_self_test()), say("\n"); break;
    case '?': introduce(); break;
    case 'q': finish(NULL); break;
    case 0: break;
    default: say("error: expected a line that begins with s, x, t, ? or q\n");
    }
}

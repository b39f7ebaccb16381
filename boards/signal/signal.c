/* What boards/signal/run measures: a bank of filters and its model, on windows of pseudo-random samples. Prints a hash
 * of all scores, which is the same on every machine, and the stack of a prediction. MEASURE_empty: nothing. */
#include "program.h"

#ifndef MEASURE_empty

#include "signal_model.h"

static int16_t x[SIGNAL_MODEL_WINDOW], scratch[SIGNAL_MODEL_SCRATCH];
static int32_t scores[SIGNAL_MODEL_OUTPUTS];

int main(void);
int main(void) {
    volatile uint32_t *word = NULL, *top = NULL;
    uint32_t state = 1, hash = 0, i, round;
    rfm_filters m;
    if (rfm_filters_open(signal_model, SIGNAL_MODEL_BYTES, &m) != RFM_OK) return 1;
    for (round = 0; round < 8; round++) {
        for (i = 0; i < SIGNAL_MODEL_WINDOW; i++) {
            state = state * 1664525u + 1013904223u;
            x[i] = (int16_t)((int32_t)(state >> (16 + round % 4)) - (int32_t)(32768u >> round % 4));
        }
        if (round == 7) PAINT_STACK();
        if (rfm_filters_predict(&m, x, scores, scratch, NULL, NULL) != RFM_OK) return 2;
        if (round == 7) PRINT_STACK("stack");
        for (i = 0; i < SIGNAL_MODEL_OUTPUTS; i++) hash = hash * 31 + (uint32_t)scores[i];
    }
    print_number("hash", hash);
    return 0;
}

#endif

/* The inputs that make_models_i.c computes the results of, and predict_i.c predicts: a random stream, and one input out
 * of it. */
#ifndef INPUTS_I_H
#define INPUTS_I_H

#include <stdint.h>

static uint32_t next_bits(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Of an input that is calibrated from low to high: within that, mostly; at its ends and beside them; anywhere; the
 * largest and the smallest. */
static int16_t next_input(uint32_t *state, int32_t low, int32_t high) {
    uint32_t bits = next_bits(state), choice = bits >> 27;
    int32_t x = low + (int32_t)((bits & 0xffff) * (uint32_t)(high - low) >> 16);
    if (choice < 3)
        x = low - 1 + (int32_t)choice;
    else if (choice < 6)
        x = high - 4 + (int32_t)choice;
    else if (choice == 6)
        x = -32768;
    else if (choice == 7)
        x = 32767;
    else if (choice == 8)
        x = (int32_t)(bits & 0xffff) - 32768;
    return (int16_t)(x < -32768 ? -32768 : x > 32767 ? 32767 : x);
}

#endif

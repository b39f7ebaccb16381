/* What boards/signal/window measures: a window of 128 samples and 8 bands, in integers, or in reals with
 * -DMEASURE_reals. Prints a hash of all features, which is the same on every machine, bytes of RAM, and the stack.
 * MEASURE_empty: nothing. */
#include "program.h"

#ifndef MEASURE_empty

#include <string.h>

#include "rfm_signal.h"
#include "window_signal.h"

#ifdef MEASURE_reals
typedef rfm_real number;
#define PUSH rfm_stream_push
#define TAKE rfm_stream_take
#else
typedef int16_t number;
#define PUSH rfm_stream_push_i
#define TAKE rfm_stream_take_i
#endif

RFM_ALIGNED static unsigned char memory[2 * 128 * sizeof(number)];
static number features[8];
static rfm_stream stream;

int main(void);
int main(void) {
    volatile uint32_t *word = NULL, *top = NULL;
    uint32_t state = 1, hash = 0, i, windows = 0;
    rfm_signal signal;
    size_t bytes;
    if (rfm_signal_open(window_signal, sizeof window_signal, &signal) != RFM_OK) return 1;
    if (rfm_stream_need(&signal, 0, &bytes) != RFM_OK) return 2;
    if (rfm_stream_init(&stream, &signal, 0, memory, sizeof memory) != RFM_OK) return 3;
    for (i = 0; i < 1024; i++) {
        number x;
        state = state * 1664525u + 1013904223u;
        x = (number)((int32_t)(state >> (18 + i / 256)) - (int32_t)(8192u >> i / 256));
        if (PUSH(&stream, &x) != RFM_OK) return 4;
        if (!rfm_stream_ready(&stream)) continue;
        if (++windows == 8) PAINT_STACK();
        if (TAKE(&stream, features) != RFM_OK) return 5;
        if (windows == 8) PRINT_STACK("stack");
        for (bytes = 0; bytes < sizeof features; bytes++) {
            unsigned char byte;
            memcpy(&byte, (const unsigned char *)features + bytes, 1);
            hash = hash * 31 + byte;
        }
    }
    print_number("hash", hash);
    print_number("ram", sizeof memory + sizeof stream + sizeof features);
    return windows == 8 ? 0 : 6;
}

#endif

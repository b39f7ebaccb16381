/* A network with one hidden layer of ReLU: 8-bit weights, 16-bit inputs and activations, 32-bit sums; train.py has the
 * equations and shows that no sum overflows. Rows of weights come in pairs, four of the one, four of the other, each in
 * the order 0 2 1 3. */
#include <string.h>

#include "peer.h"

#if INPUTS % 4 != 0 || HIDDEN % 4 != 0 || CLASSES % 2 != 0
#error "two rows at a time, four weights of each"
#endif

int peer_open(void) { return 0; }

#ifdef __ARM_FEATURE_DSP

#include <arm_acle.h>

static int8x4_t four(const int8_t *w) {
    int8x4_t v;
    memcpy(&v, __builtin_assume_aligned(w, 4), 4);
    return v;
}

/* Bytes 1 and 3; the compiler makes two instructions of it. */
static int16x2_t odd(int8x4_t v) {
    int16x2_t pair;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(v));
    return pair;
}

/* y[0], y[1] = b[0], b[1] + W x,  W (2, n): eight products in four loads, four SXTB16 and four SMLAD. */
static void two_rows(const int8_t *w, const int32_t *b, const int16_t *x, size_t n, int32_t *y) {
    const int8_t *end = w + 2 * n;
    int32_t s0 = b[0], s1 = b[1];
    for (; w < end; w += 8, x += 4) {
        int8x4_t w0 = four(w), w1 = four(w + 4);
        int16x2_t pairs[2];
        memcpy(pairs, __builtin_assume_aligned(x, 4), 8);
        s0 = __smlad(odd(w0), pairs[1], __smlad(__sxtb16(w0), pairs[0], s0));
        s1 = __smlad(odd(w1), pairs[1], __smlad(__sxtb16(w1), pairs[0], s1));
    }
    y[0] = s0;
    y[1] = s1;
}

#else

/* y[0], y[1] = b[0], b[1] + W x,  W (2, n) */
static void two_rows(const int8_t *w, const int32_t *b, const int16_t *x, size_t n, int32_t *y) {
    const int8_t *end = w + 2 * n;
    int32_t s0 = b[0], s1 = b[1];
    for (; w < end; w += 8, x += 4) {
        s0 += w[0] * x[0];
        s1 += w[4] * x[0];
        s0 += w[1] * x[2];
        s1 += w[5] * x[2];
        s0 += w[2] * x[1];
        s1 += w[6] * x[1];
        s0 += w[3] * x[3];
        s1 += w[7] * x[3];
    }
    y[0] = s0;
    y[1] = s1;
}

#endif

size_t peer_classify(const peer_input *x) {
    __attribute__((aligned(4))) int16_t hidden[HIDDEN];
    int32_t scores[CLASSES], y[2], h;
    size_t i, best;
    for (i = 0; i < HIDDEN; i++) {
        if (i % 2 == 0) two_rows(model_w1 + i * INPUTS, model_b1 + i, x, INPUTS, y);
        h = y[i % 2] < 0 ? 0 : y[i % 2] >> model_shift[i];
        hidden[i] = (int16_t)(h > 32767 ? 32767 : h);
    }
    for (i = 0; i < CLASSES; i += 2) two_rows(model_w2 + i * HIDDEN, model_b2 + i, hidden, HIDDEN, scores + i);
    PEER_SEEN(scores);
    PEER_LARGEST(scores, CLASSES, best);
    return best;
}

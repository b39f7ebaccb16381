/* A network with one hidden layer of ReLU, in float. */
#include "peer.h"

int peer_open(void) { return 0; }

#if HIDDEN % 2 != 0 || CLASSES % 2 != 0
#error "dense takes two rows at a time"
#endif

/* y (rows) = b + W x,  W (rows, n). Two rows at a time: half the loads of x. */
static void dense(const float *w, const float *b, size_t rows, size_t n, const float *x, float *y) {
    size_t i, j;
    for (i = 0; i < rows; i += 2, w += 2 * n) {
        const float *v = w + n;
        float s0 = b[i], s1 = b[i + 1];
        for (j = 0; j < n; j++) {
            s0 += w[j] * x[j];
            s1 += v[j] * x[j];
        }
        y[i] = s0;
        y[i + 1] = s1;
    }
}

size_t peer_classify(const peer_input *x) {
    float hidden[HIDDEN], scores[CLASSES];
    size_t i, best;
    dense(model_w1, model_b1, HIDDEN, INPUTS, x, hidden);
    for (i = 0; i < HIDDEN; i++)
        if (hidden[i] < 0) hidden[i] = 0;
    dense(model_w2, model_b2, CLASSES, HIDDEN, hidden, scores);
    PEER_SEEN(scores);
    PEER_LARGEST(scores, CLASSES, best);
    return best;
}

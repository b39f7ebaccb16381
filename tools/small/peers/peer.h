/* What measure.c wants of a peer: model.h is the model, by train.py or by `rfm export`. */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>

#include "model.h"

#ifdef PEER_FLOAT
typedef float peer_input;
#else
typedef int16_t peer_input; /* aligned to 4 bytes */
#endif

int peer_open(void);                          /* once, before the first prediction; 0 if all is well */
size_t peer_classify(const peer_input *x);    /* the class */

/* The largest of the scores, the first of equals. */
#define PEER_LARGEST(scores, n, best) \
    do { \
        size_t peer_k; \
        (best) = 0; \
        for (peer_k = 1; peer_k < (n); peer_k++) \
            if ((scores)[peer_k] > (scores)[best]) (best) = peer_k; \
    } while (0)

#endif

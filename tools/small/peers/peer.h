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
#ifndef CLASSES
#define CLASSES MODEL_OUTPUTS
#endif

int peer_open(void);                       /* once, before the first prediction; 0 if all is well */
size_t peer_classify(const peer_input *x); /* the class */

/* On this machine the scores are looked at as well. */
#ifdef MEASURE_host
extern double peer_seen[CLASSES];
#define PEER_SEEN(scores)                                                                          \
    do {                                                                                           \
        size_t peer_k;                                                                             \
        for (peer_k = 0; peer_k < CLASSES; peer_k++) peer_seen[peer_k] = (double)(scores)[peer_k]; \
    } while (0)
#else
#define PEER_SEEN(scores)
#endif

/* The largest of the scores, the first of equals. */
#define PEER_LARGEST(scores, n, best)                               \
    do {                                                            \
        size_t peer_k;                                              \
        (best) = 0;                                                 \
        for (peer_k = 1; peer_k < (n); peer_k++)                    \
            if ((scores)[peer_k] > (scores)[best]) (best) = peer_k; \
    } while (0)

#endif

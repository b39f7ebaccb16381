/* A random forest of hard votes. A child below 256 - CLASSES is a node of the same tree, any other is a class: leaves
 * take no memory. */
#include "peer.h"

#define FIRST_CLASS (256 - CLASSES)

int peer_open(void) { return 0; }

size_t peer_classify(const peer_input *x) {
    uint8_t votes[CLASSES] = {0};
    size_t i, best;
    for (i = 0; i < TREES; i++) {
        const node *tree = model_nodes + model_starts[i], *at = tree;
        unsigned next;
        for (;;) {
            next = x[at->feature] >> SHIFT <= at->threshold ? at->left : at->right;
            if (next >= FIRST_CLASS) break;
            at = tree + next;
        }
        votes[next - FIRST_CLASS]++;
    }
    PEER_SEEN(votes);
    PEER_LARGEST(votes, CLASSES, best);
    return best;
}

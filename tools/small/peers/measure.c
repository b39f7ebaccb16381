/* The programs that run measures, by MEASURE_...: an empty one; one that is only linked, for its size; one that runs
 * some rows on a board and says how much stack the calls took, while the plug-in counts their instructions; and one for
 * this machine, that reads rows.txt and prints the class of each, and its scores. */
#include "peer.h"

int main(void);

#if defined MEASURE_empty

int main(void) { return 0; }

#elif defined MEASURE_code

/* What the compiler cannot know it cannot leave out. */
int main(void) {
    const peer_input *volatile x = NULL;
    return peer_open() != 0 ? 1 : (int)peer_classify(x);
}

#elif defined MEASURE_host

#include <stdio.h>

#ifdef PEER_FLOAT
#define PEER_SCAN "%f"
#else
#define PEER_SCAN "%hd"
#endif

double peer_seen[CLASSES];

int main(void) {
    static __attribute__((aligned(4))) peer_input x[1024];
    size_t n, d, i, j;
    if (peer_open() != 0 || scanf("%zu %zu", &n, &d) != 2 || d > 1024) return 1;
    for (i = 0; i < n; i++) {
        for (j = 0; j < d; j++)
            if (scanf(PEER_SCAN, &x[j]) != 1) return 1;
        printf("%zu", peer_classify(x));
        for (j = 0; j < CLASSES; j++) printf(" %.10g", peer_seen[j]);
        printf("\n");
    }
    return 0;
}

#else

#include "measure.h"
#include "rows.h"

/* The calls are made from here alone: the counting ends when control comes back to main. */
int main(void) {
    volatile uint32_t *word, *top;
    size_t i, k, wrong = 0;
    int status;
    PAINT_STACK();
    status = peer_open();
    PRINT_STACK("open_stack");
    if (status != 0) return 255;
    for (i = 0; i < ROWS; i++) {
        PAINT_STACK();
        k = peer_classify(rows[i]);
        PRINT_STACK("stack");
        wrong += k != expected[i];
    }
    return (int)wrong;
}

#endif

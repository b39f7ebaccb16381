/* The programs that boards/retrain/measure measures, by MEASURE_...: an empty one; one that is linked for its size; and
 * one that retrains and says how much stack it took, while the plug-in counts the instructions of every slice.
 *
 * The window is that of the promise: 64 samples of 16 inputs, 4 classes, T = 3. For each bound on a slice the same
 * life: the window fills, a refit takes over from a start model, a second one from the first; then new samples replace
 * old ones, by each policy. Every part prints "part NAME BOUND" and "calls", the number of slices that it took, and the
 * plug-in prints the counts in the same order. */
#include <stddef.h>
#include <stdint.h>

#include "rfm_online.h"

int main(void);

#if defined MEASURE_empty

int main(void) { return 0; }

#elif defined MEASURE_link

/* Only linked, never run. */
static int put(void *arg, const void *bytes, size_t count) {
    return *(volatile int *)arg + (int)count + (bytes == NULL);
}
static int get(void *arg, void *bytes, size_t count) { return *(volatile int *)arg + (int)count + (bytes == NULL); }

int main(void) {
    void *volatile memory = NULL;
    volatile size_t size = 0;
    float volatile *volatile numbers = NULL;
    float *at = (float *)numbers;
    rfm_online online;
    rfm_online_options options;
    rfm_online_report report;
    rfm_arena arena;
    rfm_model model;
    int status = rfm_arena_init(&arena, memory, size);
    rfm_online_options_init(&options);
    options.inputs = options.outputs = size;
    if (status == RFM_OK) status = rfm_online_init(&online, &options, &arena);
    if (status == RFM_OK) status = rfm_online_load(&online, get, memory);
    if (status == RFM_OK) status = rfm_online_add(&online, at, size);
    if (status == RFM_OK) status = rfm_online_refit(&online);
    if (status == RFM_OK) status = rfm_online_step(&online, (uint32_t)size);
    if (status == RFM_OK) status = rfm_online_predict(&online, at, at, NULL, NULL);
    if (status == RFM_OK) status = rfm_online_report_get(&online, &report);
    if (status == RFM_OK) status = rfm_online_model(&online, &arena, &model);
    return status == RFM_OK ? rfm_online_save(&online, put, memory) : status;
}

#else

#include "measure.h"

#define N     64
#define D     16
#define C     4
#define BYTES 16384 /* what the learner may take at most, rfm_online itself included */

/* A number in [0, 1). */
static float number(uint32_t *state) {
    uint32_t x = *state;
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    *state = x;
    return (float)(x >> 8) / 16777216.0f;
}

/* Four classes that differ in a few of the inputs. */
static size_t sample(uint32_t *state, float *x) {
    size_t label = (size_t)(number(state) * 4.0f), q;
    for (q = 0; q < D; q++)
        x[q] = number(state) * 2.0f + (q == 2 * label ? 1.5f : 0.0f) - (q == 2 * label + 1 ? 1.0f : 0.0f);
    return label;
}

/* The start model: full rank 16, 64 centres. */
static float start_shift[D], start_p[D * D], start_centers[N * D], start_alpha[N * C];

static void make_start(rfm_model *m) {
    static const rfm_model empty;
    uint32_t state = 77;
    size_t i;
    *m = empty;
    for (i = 0; i < D * D; i++) start_p[i] = i % (D + 1) == 0 ? 1.0f : 0.1f * number(&state);
    for (i = 0; i < N * D; i++) start_centers[i] = 2.0f * number(&state);
    for (i = 0; i < N * C; i++) start_alpha[i] = number(&state) - 0.5f;
    m->n = N, m->d = m->r = D, m->c = C;
    m->kernel = RFM_LAPLACE, m->metric = RFM_FULL, m->task = RFM_CLASSIFY;
    m->bandwidth = m->exponent = 1.0f;
    m->shift = start_shift, m->p = start_p, m->centers = start_centers, m->alpha = start_alpha;
}

RFM_ALIGNED static unsigned char memory[BYTES];
static rfm_online online;

/* All slices are called from here: the counting ends when control comes back to main. */
int main(void) {
    static const uint32_t bounds[] = {2000, 5000, 20000, 100000, 2000000000};
    static const char *const policy[] = {"oldest", "balanced", "least", "awkward"};
    static float x[D], scores[C];
    static rfm_online_options options;
    static rfm_online_report report;
    static rfm_model start;
    volatile uint32_t *word, *top;
    rfm_arena arena;
    uint32_t state = 1;
    size_t need, bound, forget, part, calls, label, i;
    int status;
    make_start(&start);
    for (bound = 0; bound < 5; bound++)
        for (forget = 0; forget < 4; forget++) { /* the policies; then once more in an awkward shape */
            if (forget > 0 && bound != 1 && bound != 4) continue;
            rfm_online_options_init(&options);
            options.window = N, options.inputs = D, options.outputs = C, options.bandwidth = 5.0f,
            options.begin = RFM_BEGIN_UNITS;
            options.forget = (int)(forget % 3);
            options.margin = 1000.0f; /* so that each refit runs to its end and is taken */
            options.start = &start;
            if (forget == 3)
                options.start = NULL, options.inputs = 6, options.outputs = 3, options.int8 = 1,
                options.kernel = RFM_GAUSSIAN;
            if (rfm_online_need(&options, &need) != RFM_OK || need > sizeof memory) return 1;
            if (rfm_arena_init(&arena, memory, need) != RFM_OK) return 1;
            if (rfm_online_init(&online, &options, &arena) != RFM_OK) return 2;
            if (bound == 0 && forget == 0) print_number("arena", need), print_number("learner", sizeof online);
            for (part = 0; part < 5; part++) {
                static const char *const name[] = {"fill", "first-refit", "refit", "rejected", ""};
                calls = 0;
                if ((forget == 1 || forget == 2) && part != 0 && part != 4) continue;
                if (part == 3) online.options.margin = -1000.0f; /* not to be had by options: every refit is worse */
                for (i = part == 0 ? N : part == 4 ? 8 : 1; i > 0; i--) {
                    label = sample(&state, x) % options.outputs;
                    if (part >= 1 && part <= 3)
                        status = rfm_online_refit(&online);
                    else
                        status = rfm_online_add(&online, x, label);
                    if (status != RFM_OK) return 3;
                    PAINT_STACK();
                    do status = rfm_online_step(&online, bounds[bound]), calls++;
                    while (status == 1);
                    if (status != RFM_OK) return 4;
                }
                if (bound == 0 && forget == 0 && part == 2) PRINT_STACK("stack step");
                board_print("part ");
                print_number(part == 4 || forget > 0 ? policy[forget] : name[part], bounds[bound]);
                print_number("calls", calls);
            }
            if (rfm_online_report_get(&online, &report) != RFM_OK) return 5;
            if (forget == 0 && (report.refits != 2 || report.rejected != 1 || report.failed != 0)) return 6;
            PAINT_STACK();
            if (rfm_online_predict(&online, x, scores, NULL, NULL) != RFM_OK) return 7;
            if (bound == 0 && forget == 0) PRINT_STACK("stack predict");
        }
    return 0;
}

#endif

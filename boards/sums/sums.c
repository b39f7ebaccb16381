/* What boards/sums/run measures: a device that adds samples to sums of a model in flash (rfm_large.h), one at a time,
 * in blocks, and by the window of rfm_online. The sums are printed, a number for each byte, so that rfm merge can have
 * them. MEASURE_empty: a program that does nothing; MEASURE_code: only what sums take, linked and never run. */
#include "../signal/program.h"

#ifndef MEASURE_empty

#include <string.h>

#include "rfm_large.h"
#include "rfm_online.h"

#define BLOCK 32

int main(void);

/* A pass over n rows, on an arena of what it needs. Returns a status. */
static int add(const rfm_model *m, rfm_arena *arena, rfm_read read, void *from, size_t n, rfm_sums *sums) {
    rfm_ctx ctx;
    rfm_rows rows;
    memset(&ctx, 0, sizeof ctx), memset(&rows, 0, sizeof rows);
    rows.n = n, rows.d = m->d, rows.c = m->c, rows.read = read, rows.from = from;
    ctx.arena = arena;
    return rfm_sums_add(&ctx, &rows, m, sums);
}

#ifdef MEASURE_code

static size_t read_rows(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    *x = *y = *(rfm_real *)from;
    return weights == NULL ? first + count : 0;
}

int main(void) {
    void *volatile memory = NULL;
    volatile size_t size = 0;
    rfm_sums *sums = (rfm_sums *)memory;
    rfm_arena arena;
    rfm_model m;
    int status = rfm_model_open(memory, size, &m);
    if (status == RFM_OK) status = rfm_sums_init(&m, RFM_SUMS_SOLVE, rfm_largest(m.n * m.c, m.alpha), sums, size);
    if (status == RFM_OK) status = rfm_arena_init(&arena, memory, size);
    return status == RFM_OK ? add(&m, &arena, read_rows, memory, size, sums) : status;
}

#else

#include "sums_model.h"
#include "sums_rows.h"

#define D SUMS_MODEL_INPUTS
#define C SUMS_MODEL_OUTPUTS

static union {
    rfm_sums sums;
    RFM_ALIGNED unsigned char bytes[8192];
} all, again;
RFM_ALIGNED static unsigned char memory[40960], window[20480];
static rfm_online online;

/* Samples in flash in place of a sensor's. */
static size_t read_rows(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    size_t at = *(const size_t *)from + first, i, k;
    for (i = 0; i < count; i++) {
        memcpy(x + i * D, sums_x[at + i], D * sizeof *x);
        for (k = 0; k < C; k++) y[i * C + k] = sums_label[at + i] == k;
        if (weights != NULL) weights[i] = 1;
    }
    return count;
}

/* Samples first .. first + n - 1, and what adding them takes. */
static int measured(const rfm_model *m, size_t first, size_t n, rfm_sums *sums) {
    volatile uint32_t *word = NULL, *top = NULL;
    rfm_arena arena;
    int status = rfm_arena_init(&arena, memory, sizeof memory);
    PAINT_STACK();
    if (status == RFM_OK) status = add(m, &arena, read_rows, &first, n, sums);
    PRINT_STACK("stack");
    print_number("samples", n);
    print_number("arena", arena.peak);
    return status;
}

/* All samples, by the window of a learner whenever it is full of new ones. */
static int by_window(const rfm_model *m, rfm_sums *sums) {
    rfm_online_options options;
    rfm_arena arena;
    size_t at;
    int status;
    rfm_online_options_init(&options);
    options.window = BLOCK, options.inputs = D, options.outputs = C, options.bandwidth = m->bandwidth;
    status = rfm_arena_init(&arena, window, sizeof window);
    if (status == RFM_OK) status = rfm_online_init(&online, &options, &arena);
    for (at = 0; at < SUMS_ROWS && status == RFM_OK; at++) {
        status = rfm_online_add(&online, sums_x[at], sums_label[at]);
        while (status == RFM_OK && rfm_online_step(&online, 5000) == 1) {
        }
        if (status != RFM_OK || (at + 1) % BLOCK != 0) continue;
        status = rfm_arena_init(&arena, memory, sizeof memory);
        if (status == RFM_OK) status = add(m, &arena, rfm_online_read, &online, BLOCK, sums);
    }
    return status;
}

int main(void) {
    rfm_arena arena;
    rfm_model m;
    size_t at, bytes = 0;
    rfm_real unit;
    if (rfm_model_open(sums_model, SUMS_MODEL_BYTES, &m) != RFM_OK) return 1;
    if (rfm_sums_size(&m, RFM_SUMS_SOLVE, &bytes) != RFM_OK || bytes > sizeof all) return 2;
    unit = rfm_largest(m.n * m.c, m.alpha); /* that of rfm sums: so both merge */
    print_number("sums", bytes);
    if (rfm_sums_init(&m, RFM_SUMS_SOLVE, unit, &again.sums, bytes) != RFM_OK) return 3;
    if (measured(&m, 0, 1, &again.sums) != RFM_OK || measured(&m, 1, 8, &again.sums) != RFM_OK ||
        measured(&m, 9, BLOCK, &again.sums) != RFM_OK)
        return 4;
    for (at = 9 + BLOCK; at < SUMS_ROWS; at++) {
        if (rfm_arena_init(&arena, memory, sizeof memory) != RFM_OK) return 4;
        if (add(&m, &arena, read_rows, &at, 1, &again.sums) != RFM_OK) return 4;
    }
    if (rfm_sums_init(&m, RFM_SUMS_SOLVE, unit, &all.sums, bytes) != RFM_OK) return 3;
    if (by_window(&m, &all.sums) != RFM_OK) return 5;
    if (rfm_sums_rows(&all.sums) != SUMS_ROWS || rfm_sums_rows(&again.sums) != SUMS_ROWS) return 6;
    for (at = 0; at < bytes; at++) print_number("byte", all.bytes[at]);
    return 0;
}

#endif
#endif

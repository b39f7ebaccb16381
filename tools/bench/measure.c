/* The clock, and what the benches share. */
#define _POSIX_C_SOURCE 200809L

#include "host/pool.h"
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ENOUGH_SECONDS 0.6 /* of each side, and ... */
#define ENOUGH_REPEATS 5   /* ... of each side: both must be reached */
#define SETTLE_SECONDS 0.05
#define BURST_SECONDS  0.02

double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void *bench_alloc(size_t count, size_t size) {
    void *memory = NULL;
    if (size != 0 && count > (size_t)-1 / size) {
        fprintf(stderr, "rfm-bench: a size overflows\n");
        exit(1);
    }
    if (posix_memalign(&memory, 4096, count * size > 0 ? count * size : 1)) {
        fprintf(stderr, "rfm-bench: no %zu bytes of memory\n", count * size);
        exit(1);
    }
    return memory;
}

/* Knuth's 64-bit linear congruential generator; its upper half is random enough for a benchmark. */
void bench_random(rfm_real *x, size_t count, unsigned seed) {
    unsigned long long state = seed;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        x[i] = (rfm_real)((double)(state >> 40) / 8388608.0 - 1.0);
    }
}

double bench_distance(const rfm_real *a, const rfm_real *b, size_t count) {
    double apart = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs((double)a[i] - (double)b[i]), s = fabs((double)b[i]);
        if (!(d <= apart)) /* a NaN gets through, and stays */
            apart = d;
        if (s > size) size = s;
        if (isnan(apart)) return apart;
    }
    return size > 0 ? apart / size : apart;
}

void bench_ctx_init(bench_ctx *b, const bench_run *run) {
    rfm_arena_measure(&b->arena);
    b->memory = NULL;
    b->ctx.arena = &b->arena;
    b->ctx.port = run->port;
    b->ctx.workers = run->threads;
    b->ctx.run = run->pool ? pool_run : NULL;
    b->ctx.pool = run->pool;
}

int bench_ctx_arena(bench_ctx *b, size_t bytes) {
    b->memory = bench_alloc(bytes, 1);
    return rfm_arena_init(&b->arena, b->memory, bytes);
}

void bench_ctx_free(bench_ctx *b) {
    free(b->memory);
    b->memory = NULL;
}

static int timed(const char *name, const bench_pair *pair, int theirs, double *best, double *total) {
    pair->prepare(pair->data);
    double start = bench_now();
    int status = theirs ? pair->theirs(pair->data) : pair->ours(pair->data);
    double seconds = bench_now() - start;

    if (status != 0) {
        if (theirs)
            fprintf(stderr, "rfm-bench: %s: OpenBLAS reports info = %d\n", name, status);
        else
            fprintf(stderr, "rfm-bench: %s: %s (%d)\n", name, rfm_status_text(status), status);
        return -1;
    }
    *total += seconds;
    if (*best <= 0 || seconds < *best) *best = seconds;
    return 0;
}

/* OpenBLAS's threads go on polling for about 2^26 cycles after a call and would take our processors away. With several
 * threads the sides therefore alternate in bursts, each long enough to be warm itself, with a pause before ours. A busy
 * pause: an idle processor would drop its clock. */
static void settle(void) {
    for (double end = bench_now() + SETTLE_SECONDS; bench_now() < end;)
        ;
}

int bench_measure(const bench_run *run, const char *name, const bench_pair *pair, bench_result *result) {
    double best[2] = {0, 0}, total[2] = {0, 0};
    size_t burst = 1;

    /* The first call of each touches its memory for the first time: it warms up, and serves to compare. */
    if (timed(name, pair, 0, &best[0], &total[0])) return -1;
    result->diff = -1;
    if (run->peer) {
        pair->keep(pair->data);
        if (timed(name, pair, 1, &best[1], &total[1])) return -1;
        result->diff = pair->diff(pair->data);
    }
    if (run->threads > 1 && best[0] < BURST_SECONDS)
        burst = best[0] > BURST_SECONDS / 64 ? (size_t)(BURST_SECONDS / best[0]) : 64;
    if (run->repeats && burst > run->repeats) burst = run->repeats;

    best[0] = best[1] = total[0] = total[1] = 0;
    for (size_t i = 0;; i += burst) {
        if (run->repeats
                ? i >= run->repeats
                : i >= ENOUGH_REPEATS && total[0] >= ENOUGH_SECONDS && (!run->peer || total[1] >= ENOUGH_SECONDS))
            break;
        if (run->threads > 1 && run->peer) settle();
        for (size_t j = 0; j < burst; j++)
            if (timed(name, pair, 0, &best[0], &total[0])) return -1;
        for (size_t j = 0; run->peer && j < burst; j++)
            if (timed(name, pair, 1, &best[1], &total[1])) return -1;
    }
    result->seconds = best[0];
    result->peer_seconds = best[1];
    return 0;
}

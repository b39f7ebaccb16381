/* rfm.c and rfm_online.c by a compiler that may assume that all numbers are finite (-ffast-math): NaN and infinities
 * are refused all the same.
 *
 * One line for each check that fails; the exit status is 0 if none did. This file is compiled without that option. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rfm_online.h"

#define N 6
#define D 5

static unsigned char state[4096];
static size_t written, read_so_far;
static int failures;

static int put(void *arg, const void *bytes, size_t count) {
    (void)arg;
    memcpy(state + written, bytes, count);
    written += count;
    return RFM_OK;
}

static int get(void *arg, void *bytes, size_t count) {
    (void)arg;
    if (count > written - read_so_far) return RFM_ETRUNCATED;
    memcpy(bytes, state + read_so_far, count);
    read_so_far += count;
    return RFM_OK;
}

static void expect(int status, int got, const char *what, size_t i, size_t k) {
    if (got == status) return;
    failures++;
    printf("    %s, number %lu, place %lu: %d instead of %d\n", what, (unsigned long)i, (unsigned long)k, got, status);
}

static int little(void) {
    const uint16_t one = 1;

    return *(const unsigned char *)&one;
}

int main(void) {
    RFM_ALIGNED static unsigned char memory[16384];
    const rfm_real bad[3] = {(rfm_real)NAN, (rfm_real)INFINITY, -(rfm_real)INFINITY};
    rfm_online_options p, q;
    rfm_online_report r;
    rfm_online o, other;
    rfm_arena arena;
    rfm_real x[D], units[D], scores[2];
    size_t i, k;
    uint32_t refused = 0;

    rfm_online_options_init(&p);
    p.window = N, p.inputs = D, p.outputs = 2, p.bandwidth = 2, p.units = units;
    for (k = 0; k < D; k++) units[k] = 1;
    expect(RFM_OK, rfm_arena_init(&arena, memory, sizeof memory), "arena", 0, 0);
    expect(RFM_OK, rfm_online_init(&o, &p, &arena), "init", 0, 0);
    for (i = 0; i < N; i++) {
        for (k = 0; k < D; k++) x[k] = (rfm_real)((i * 7 + k * 3) % 5);
        expect(RFM_OK, rfm_online_add(&o, x, i % 2), "add", i, 0);
        expect(0, rfm_online_step(&o, 2000000000u), "step", i, 0);
    }
    expect(RFM_OK, rfm_online_refit(&o), "refit", 0, 0);
    expect(0, rfm_online_step(&o, 2000000000u), "step", N, 0);
    expect(RFM_OK, rfm_online_predict(&o, x, scores, NULL, NULL), "predict", 0, 0);
    expect(RFM_OK, rfm_online_save(&o, put, NULL), "save", 0, 0);
    for (i = 0; i < 3; i++) {
        for (k = 0; k < D; k++) {
            const rfm_real was = x[k];

            x[k] = bad[i];
            expect(RFM_EFINITE, rfm_online_add(&o, x, 0), "add", i, k);
            expect(RFM_EFINITE, rfm_online_predict(&o, x, scores, NULL, NULL), "predict", i, k);
            x[k] = was;
            units[k] = bad[i];
            expect(RFM_EVALUE, rfm_online_init(&other, &p, &arena), "units", i, k);
            units[k] = 1;
            refused++;
        }
        for (k = 0; k < 3; k++) {
            q = p;
            *(k == 0 ? &q.bandwidth : k == 1 ? &q.ridge : &q.margin) = bad[i];
            expect(RFM_EVALUE, rfm_online_init(&other, &q, &arena), "options", i, k);
        }
    }
    expect(RFM_OK, rfm_online_report_get(&o, &r), "report", 0, 0);
    expect((int)refused, (int)r.refused_value, "refused", 0, 0);
    expect(RFM_OK, rfm_online_init(&other, &p, &arena), "init", 1, 0);
    expect(RFM_OK, rfm_online_load(&other, get, NULL), "load", 0, 0);
    memcpy(state + 84, &bad[0], sizeof bad[0]); /* the ridge */
    read_so_far = 0;
    if (little()) expect(RFM_ECONTENT, rfm_online_load(&other, get, NULL), "load of a NaN", 0, 0);
    return failures > 0;
}

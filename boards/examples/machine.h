/* A machine with an accelerometer on it, simulated: replace machine_window() by windows of your sensor. Integers only,
 * so a PC that records it and a device that watches it see the same. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

#define MACHINE_WINDOW   64 /* samples */
#define MACHINE_FEATURES 5

typedef struct {
    int32_t load;    /* 0 to 100: how much it has to do */
    int32_t wear;    /* 0 to 100: of its bearing */
    int32_t loose;   /* 1: a screw has come loose */
    uint32_t random; /* state, not 0 */
    uint32_t phase;  /* of the shaft: 65,536 is a turn */
} machine;

static int32_t machine_noise(machine *m, int32_t most) { /* -most to most */
    m->random ^= m->random << 13, m->random ^= m->random >> 17, m->random ^= m->random << 5;
    return (int32_t)(m->random >> 8 & 0xffff) * (2 * most + 1) / 65536 - most;
}

static int32_t machine_sine(uint32_t phase) { /* -1000 to 1000: a parabola for each half of a turn */
    int32_t p = (int32_t)(phase & 0xffffu) - 32768, q = p < 0 ? -p : p;
    return -(p / 64) * ((32768 - q) / 64) / 66;
}

static int32_t machine_sample(machine *m) {
    int32_t a = machine_sine(m->phase) * (200 + 4 * m->load) / 1000; /* unbalance */
    a += machine_sine(7 * m->phase) * (10 + 3 * m->wear) / 1000;     /* a worn bearing hums */
    if (m->loose && (m->phase & 0xffffu) < 6000u) a += 500;          /* a blow in every turn */
    m->phase += (uint32_t)(1800 + 15 * m->load);
    return a + machine_noise(m, 20 + m->wear / 2);
}

/* One window as features: mean |a|, largest |a|, mean change, changes of sign, temperature. */
static void machine_window(machine *m, int32_t features[MACHINE_FEATURES]) {
    int32_t i, last = 0, sum = 0, peak = 0, change = 0, crossings = 0;
    for (i = 0; i < MACHINE_WINDOW; i++) {
        int32_t a = machine_sample(m), size = a < 0 ? -a : a, step = a < last ? last - a : a - last;
        sum += size, change += step;
        if (size > peak) peak = size;
        if (i > 0 && (a < 0) != (last < 0)) crossings++;
        last = a;
    }
    features[0] = sum / MACHINE_WINDOW, features[1] = peak;
    features[2] = change / MACHINE_WINDOW, features[3] = crossings;
    features[4] = 250 + 3 * m->load + m->wear + machine_noise(m, 15); /* tenths of a degree */
}

#endif

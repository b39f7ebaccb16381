/* Records the machine of machine.h as a table, to standard output: windows with `record states` and `record wear`,
 * samples with `record vibration SEED`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define WINDOWS 240

static const int32_t loads[3] = {5, 40, 90};
static const char *const states[3] = {"idle", "running", "loaded"};

/* Single samples of three vibrations: a machine that is well, one with a loose screw, one with a worn bearing. */
static int vibration(uint32_t seed) {
    static const char *const kinds[3] = {"well", "loose", "worn"};
    machine m = {0, 0, 0, 0, 0};
    int32_t piece, i;
    m.random = seed;
    printf("acceleration,state\n");
    for (piece = 0; piece < 24; piece++) {
        m.load = 40 + machine_noise(&m, 30), m.loose = piece % 3 == 1, m.wear = piece % 3 == 2 ? 70 : 0;
        for (i = 0; i < 1024; i++) printf("%d,%s\n", (int)machine_sample(&m), kinds[piece % 3]);
    }
    return 0;
}

int main(int argc, char **argv) {
    machine m = {0, 0, 0, 12345, 0};
    int32_t x[MACHINE_FEATURES], i, j;
    int wear = argc == 2 && strcmp(argv[1], "wear") == 0;
    if (argc == 3 && strcmp(argv[1], "vibration") == 0) return vibration((uint32_t)atol(argv[2]));
    if (!wear && (argc != 2 || strcmp(argv[1], "states") != 0)) {
        fprintf(stderr, "usage: record states|wear|vibration SEED\n");
        return 2;
    }
    printf("level,peak,change,crossings,temperature,%s\n", wear ? "hours" : "state");
    for (i = 0; i < WINDOWS; i++) {
        m.load = wear ? 50 + machine_noise(&m, 50) : loads[i % 3] + machine_noise(&m, 4);
        m.wear = wear ? 50 + machine_noise(&m, 50) : 0;
        machine_window(&m, x);
        for (j = 0; j < MACHINE_FEATURES; j++) printf("%d,", (int)x[j]);
        if (wear) printf("%d\n", (int)(10 * (100 - m.wear))); /* of life that is left */
        else printf("%s\n", states[i % 3]);
    }
    return 0;
}

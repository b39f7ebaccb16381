/* Records the machine of machine.h as a table, to standard output: record states, or record wear. */
#include <stdio.h>
#include <string.h>

#include "machine.h"

#define WINDOWS 240

static const int32_t loads[3] = {5, 40, 90};
static const char *const states[3] = {"idle", "running", "loaded"};

int main(int argc, char **argv) {
    machine m = {0, 0, 0, 12345, 0};
    int32_t x[MACHINE_FEATURES], i, j;
    int wear = argc == 2 && strcmp(argv[1], "wear") == 0;
    if (!wear && (argc != 2 || strcmp(argv[1], "states") != 0)) {
        fprintf(stderr, "usage: record states|wear\n");
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

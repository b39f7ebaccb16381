/* Golden cases on every port that runs here, with workers that take their jobs backwards. For hyperbf.c and conv.c. */
#ifndef PORTS_H
#define PORTS_H

#include <stdio.h>

#include "rfm_port.h"

typedef struct {
    size_t workers;
} deal;

static void deal_run(void *pool, rfm_job job, void *arg, size_t jobs) {
    size_t i;
    for (i = 0; i < jobs; i++) job(arg, jobs - 1 - i, i % ((deal *)pool)->workers);
}

/* Every file on every port, and the line that tests/golden/run adds up. Returns the exit status. */
static int on_every_port(int argc, char **argv, int (*case_right)(const char *path, const rfm_port *port)) {
    int passed = 0, failed = 0, i;
    size_t k;
    for (i = 1; i < argc; i++)
        for (k = 0; rfm_port_name(k) != NULL; k++) {
            const rfm_port *port = rfm_port_find(rfm_port_name(k));
            if (port == NULL) continue;
            if (case_right(argv[i], port))
                passed++;
            else {
                printf("FAIL  %s on %s\n", argv[i], port->name);
                failed++;
            }
        }
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed > 0;
}

#endif

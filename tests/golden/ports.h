/* Golden cases on every port that runs here, with workers that take their jobs backwards. What not every program uses
 * is inline. */
#ifndef PORTS_H
#define PORTS_H

#include <stdio.h>

#include "blocks.h"
#include "rfm_port.h"

typedef struct {
    size_t workers;
} deal;

static void deal_run(void *pool, rfm_job job, void *arg, size_t jobs) {
    size_t i;
    for (i = 0; i < jobs; i++) job(arg, jobs - 1 - i, i % ((deal *)pool)->workers);
}

/* 1 if `now` has the bits that the first call kept; they are to be freed. */
static inline int same_bits(rfm_real **kept, const rfm_real *now, size_t count, size_t workers) {
    if (*kept == NULL) {
        *kept = take(count, sizeof **kept);
        memcpy(*kept, now, count * sizeof **kept);
        return 1;
    }
    if (memcmp(*kept, now, count * sizeof **kept) == 0) return 1;
    printf("  other bits with %u workers\n", (unsigned)workers);
    return 0;
}

/* A case with 1, 2 and 7 workers; `right` compares their bits by what it keeps. */
static inline int with_workers(const char *path, const rfm_port *port,
                               int (*right)(const char *path, const rfm_ctx *ctx, rfm_real **kept)) {
    static const size_t workers[] = {1, 2, 7};
    rfm_real *kept = NULL;
    size_t i;
    int good = 1;
    for (i = 0; good && i < sizeof workers / sizeof *workers; i++) {
        deal pool;
        rfm_ctx ctx;
        memset(&ctx, 0, sizeof ctx);
        pool.workers = workers[i];
        ctx.port = port, ctx.workers = workers[i], ctx.run = deal_run, ctx.pool = &pool;
        good = right(path, &ctx, &kept);
    }
    free(kept);
    return good;
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

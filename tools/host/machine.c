#include "machine.h"

#include "pool.h"
#include "progress.h"
#include "rfm_port.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void machine_start(machine *m, size_t threads, const char *port) {
    memset(m, 0, sizeof *m);
    m->ctx.port = rfm_port_find(port);
    if (m->ctx.port == NULL) {
        text list = {NULL, 0, 0};
        size_t i;
        for (i = 0; rfm_port_name(i) != NULL; i++)
            if (rfm_port_find(rfm_port_name(i)) != NULL) text_add(&list, ", %s", rfm_port_name(i));
        text_bytes(&list, "", 1);
        usage("--port: this machine has auto%s; found \"%s\"", list.at, port);
    }
    if (threads == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        threads = online > 1 ? (size_t)online : 1;
        if (threads > 64) threads = 64;
    }
    if (threads > 1024) usage("--threads: expected at most 1024, found %zu", threads);
    m->pool = pool_create(threads);
    if (m->pool == NULL) fail("%zu threads are not to be had", threads);
    m->ctx.workers = pool_workers(m->pool);
    m->ctx.run = threads > 1 ? pool_run : NULL;
    m->ctx.pool = m->pool;
    m->ctx.arena = &m->arena;
}

void machine_memory(machine *m, size_t bytes, const char *what) {
    free(m->memory);
    m->memory = allocate_aligned(bytes, what);
    (void)rfm_arena_init(&m->arena, m->memory, bytes);
}

double machine_room(void) {
#ifdef _SC_PHYS_PAGES
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
#else
    return 0;
#endif
}

void machine_stop(machine *m) {
    pool_destroy(m->pool);
    free(m->memory);
}

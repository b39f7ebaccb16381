#include "machine.h"

#include "pool.h"
#include "progress.h"
#include "rfm_port.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Jobs of a session's thread are the session's, whichever thread has them. */
static void run_jobs(void *threads, rfm_job job, void *arg, size_t jobs) {
    session *s = session_now();
    if (s != NULL)
        s->run(s, threads, job, arg, jobs);
    else
        pool_run(threads, job, arg, jobs);
}

void machine_start(machine *m, size_t threads, const char *port) {
    session *s = session_now();
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
    if (s != NULL) s->pool = m->pool;
    m->ctx.workers = pool_workers(m->pool);
    m->ctx.run = threads > 1 ? run_jobs : NULL;
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
    session *s = session_now();
    if (s != NULL) s->pool = NULL;
    pool_destroy(m->pool);
    free(m->memory);
}

/* pool - a few threads that stay, for rfm_ctx.run.
 *
 *     pool *threads = pool_create(2);
 *     ctx.workers = pool_workers(threads);
 *     ctx.run = pool_run;
 *     ctx.pool = threads;
 *     ...
 *     pool_destroy(threads);
 *
 * The thread that calls pool_run works too, as worker 0, so a pool of one has no thread of its own. Between two runs
 * the threads watch for about 20 microseconds, then sleep: a factorisation hands out work every few microseconds, a
 * waiting program should cost nothing.
 */
#ifndef POOL_H
#define POOL_H

#include <stddef.h>

#include "rfm.h"

typedef struct pool pool;

/* `workers` of them including the caller; 0 counts as 1. NULL if the memory or the threads are not to be had. */
pool *pool_create(size_t workers);

/* Ends the threads. NULL is allowed. No run may be under way. */
void pool_destroy(pool *p);

size_t pool_workers(const pool *p);

/* job(arg, index, worker) once for every index < jobs; returns when all are done, and what the jobs wrote is visible.
 * `threads` is a pool *. Two callers at once take turns. A job must not call pool_run on the pool it runs in. */
void pool_run(void *threads, rfm_job job, void *arg, size_t jobs);

#endif

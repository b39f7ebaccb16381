/* The pool hands out indices from one atomic counter. A worker enters a run under the lock and only while the run is
 * open; the caller closes it when no index is left and then waits for those inside. So a thread that wakes up late
 * finds a closed door, and nobody waits for it. */
#define _POSIX_C_SOURCE 200809L

#include "pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 20000

struct worker {
    pool *p;
    pthread_t thread;
    size_t number;
};

struct pool {
    size_t workers;
    long spin_ns;         /* 0 if there are fewer processors than workers: a watcher would hold up the one who works */
    pthread_mutex_t turn; /* held for a whole run */

    pthread_mutex_t lock; /* of everything below; the atomics are also read without it, by those who watch */
    pthread_cond_t wake, left;
    size_t asleep;  /* workers waiting at `wake` */
    unsigned epoch; /* atomic: counts runs, and the end of the pool */
    int open, stop;
    size_t inside; /* atomic: workers at work, not counting the caller */
    rfm_job job;
    void *arg;
    size_t jobs;
    size_t next; /* atomic: the next index to hand out */

    struct worker worker[]; /* [0] is the caller's and has no thread */
};

static long elapsed_ns(const struct timespec *since) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)(now.tv_sec - since->tv_sec) * 1000000000L + (now.tv_nsec - since->tv_nsec);
}

static void work(pool *p, rfm_job job, void *arg, size_t jobs, size_t number) {
    size_t i;
    while ((i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED)) < jobs) job(arg, i, number);
}

static void *worker_main(void *argument) {
    struct worker *self = argument;
    pool *p = self->p;
    unsigned seen = 0;

    for (;;) {
        struct timespec start;
        clock_gettime(CLOCK_MONOTONIC, &start);
        while (__atomic_load_n(&p->epoch, __ATOMIC_RELAXED) == seen && elapsed_ns(&start) < p->spin_ns)
            ;

        pthread_mutex_lock(&p->lock);
        p->asleep++;
        while (p->epoch == seen) pthread_cond_wait(&p->wake, &p->lock);
        p->asleep--;
        seen = p->epoch;
        if (p->stop) {
            pthread_mutex_unlock(&p->lock);
            return NULL;
        }
        if (!p->open) {
            pthread_mutex_unlock(&p->lock);
            continue;
        }
        __atomic_add_fetch(&p->inside, 1, __ATOMIC_RELAXED);
        rfm_job job = p->job;
        void *arg = p->arg;
        size_t jobs = p->jobs;
        pthread_mutex_unlock(&p->lock);

        work(p, job, arg, jobs, self->number);

        /* Under the lock, or the caller could miss the signal between its look at `inside` and its wait. */
        pthread_mutex_lock(&p->lock);
        if (__atomic_sub_fetch(&p->inside, 1, __ATOMIC_RELEASE) == 0) pthread_cond_signal(&p->left);
        pthread_mutex_unlock(&p->lock);
    }
}

void pool_run(void *threads, rfm_job job, void *arg, size_t jobs) {
    pool *p = threads;

    if (p->workers == 1 || jobs <= 1) {
        for (size_t i = 0; i < jobs; i++) job(arg, i, 0);
        return;
    }
    pthread_mutex_lock(&p->turn);

    pthread_mutex_lock(&p->lock);
    p->job = job;
    p->arg = arg;
    p->jobs = jobs;
    __atomic_store_n(&p->next, 0, __ATOMIC_RELAXED);
    p->open = 1;
    __atomic_add_fetch(&p->epoch, 1, __ATOMIC_RELAXED);
    if (p->asleep > 0) pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);

    work(p, job, arg, jobs, 0);

    pthread_mutex_lock(&p->lock);
    p->open = 0;
    pthread_mutex_unlock(&p->lock);

    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (__atomic_load_n(&p->inside, __ATOMIC_ACQUIRE) > 0 && elapsed_ns(&start) < p->spin_ns)
        ;
    pthread_mutex_lock(&p->lock);
    while (p->inside > 0) pthread_cond_wait(&p->left, &p->lock);
    pthread_mutex_unlock(&p->lock);

    pthread_mutex_unlock(&p->turn);
}

size_t pool_workers(const pool *p) { return p->workers; }

void pool_destroy(pool *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    __atomic_add_fetch(&p->epoch, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 1; i < p->workers; i++) pthread_join(p->worker[i].thread, NULL);
    pthread_cond_destroy(&p->left);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->turn);
    free(p);
}

pool *pool_create(size_t workers) {
    if (workers == 0) workers = 1;
    if (workers > ((size_t)-1 - sizeof(pool)) / sizeof(struct worker)) return NULL;
    pool *p = calloc(1, sizeof(pool) + workers * sizeof(struct worker));
    if (!p) return NULL;

    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    p->spin_ns = processors > 0 && (size_t)processors < workers ? 0 : SPIN_NS;

    /* With default attributes these fail for want of memory only, and never on the systems with glibc or musl. */
    if (pthread_mutex_init(&p->turn, NULL) || pthread_mutex_init(&p->lock, NULL) || pthread_cond_init(&p->wake, NULL) ||
        pthread_cond_init(&p->left, NULL)) {
        free(p);
        return NULL;
    }
    for (p->workers = 1; p->workers < workers; p->workers++) {
        struct worker *w = &p->worker[p->workers];
        w->p = p;
        w->number = p->workers;
        if (pthread_create(&w->thread, NULL, worker_main, w)) {
            pool_destroy(p);
            return NULL;
        }
    }
    return p;
}

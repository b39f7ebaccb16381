/* The memory of a call, so that all of it can be freed when the call fails in the middle. */
#ifndef MEMORY_H
#define MEMORY_H

#include <pthread.h>
#include <stddef.h>

typedef struct {
    pthread_mutex_t lock;
    struct memory_block *blocks; /* (room) a hash table */
    size_t count, room;
    size_t bytes, peak;
} memory_list;

/* From now on, until memory_follow(NULL), what this thread allocates is in the list, and what it frees is out of it. */
void memory_follow(memory_list *list);

void memory_begin(memory_list *list);
void memory_end(memory_list *list); /* frees what is in it */

#endif

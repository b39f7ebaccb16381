/* The linker puts these in the place of malloc and its like for all of the shared library (--wrap), and calls those of
 * the system __real_malloc and so on. What a thread allocates goes into the list that it follows. */
#include "memory.h"

#include <stdint.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
int __real_posix_memalign(void **p, size_t unit, size_t size);
void __real_free(void *p);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
int __wrap_posix_memalign(void **p, size_t unit, size_t size);
void __wrap_free(void *p);

struct memory_block {
    void *at; /* NULL: a free place */
    size_t size;
};

static __thread memory_list *followed;

/* ---- the list: open addressing, at most half full ------------------------------------------- */

static size_t place_of(const memory_list *l, const void *p) {
    uint64_t key = (uint64_t)(uintptr_t)p * 0x9e3779b97f4a7c15u;
    return (size_t)(key >> 32) & (l->room - 1);
}

static size_t find(const memory_list *l, const void *p) {
    size_t i = place_of(l, p);
    while (l->blocks[i].at != NULL && l->blocks[i].at != p) i = (i + 1) & (l->room - 1);
    return i;
}

static int grow(memory_list *l) {
    memory_list more = *l;
    size_t i;
    more.room = l->room > 0 ? 2 * l->room : 256;
    more.blocks = __real_calloc(more.room, sizeof *more.blocks);
    if (more.blocks == NULL) return 0;
    for (i = 0; i < l->room; i++)
        if (l->blocks[i].at != NULL) more.blocks[find(&more, l->blocks[i].at)] = l->blocks[i];
    __real_free(l->blocks);
    l->blocks = more.blocks, l->room = more.room;
    return 1;
}

static int add(memory_list *l, void *p, size_t size) {
    size_t i;
    int room;
    pthread_mutex_lock(&l->lock);
    room = 2 * l->count < l->room || grow(l);
    if (room) {
        i = find(l, p);
        l->blocks[i].at = p, l->blocks[i].size = size;
        l->count++, l->bytes += size;
        if (l->bytes > l->peak) l->peak = l->bytes;
    }
    pthread_mutex_unlock(&l->lock);
    return room;
}

/* Returns its size. What is behind a free place moves up, so that every block is found from its own place on. */
static size_t drop(memory_list *l, const void *p) {
    size_t i, j, size = 0;
    pthread_mutex_lock(&l->lock);
    i = l->room > 0 ? find(l, p) : 0;
    if (l->room > 0 && l->blocks[i].at != NULL) {
        size = l->blocks[i].size;
        l->count--, l->bytes -= size;
        for (j = (i + 1) & (l->room - 1); l->blocks[j].at != NULL; j = (j + 1) & (l->room - 1)) {
            size_t home = place_of(l, l->blocks[j].at);
            if (((j - home) & (l->room - 1)) < ((j - i) & (l->room - 1))) continue;
            l->blocks[i] = l->blocks[j], i = j;
        }
        l->blocks[i].at = NULL;
    }
    pthread_mutex_unlock(&l->lock);
    return size;
}

void memory_follow(memory_list *list) { followed = list; }

void memory_begin(memory_list *list) {
    memset(list, 0, sizeof *list);
    pthread_mutex_init(&list->lock, NULL);
}

void memory_end(memory_list *list) {
    size_t i;
    for (i = 0; i < list->room; i++) __real_free(list->blocks[i].at);
    __real_free(list->blocks);
    pthread_mutex_destroy(&list->lock);
}

/* ---- in place of the system's --------------------------------------------------------------- */

static void *listed(void *p, size_t size) {
    if (p == NULL || followed == NULL || add(followed, p, size)) return p;
    __real_free(p);
    return NULL;
}

void *__wrap_malloc(size_t size) { return listed(__real_malloc(size), size); }

void *__wrap_calloc(size_t count, size_t size) { return listed(__real_calloc(count, size), count * size); }

int __wrap_posix_memalign(void **p, size_t unit, size_t size) {
    int status = __real_posix_memalign(p, unit, size);
    if (status == 0 && (*p = listed(*p, size)) == NULL) status = 12; /* ENOMEM */
    return status;
}

/* Out of the list before it is free: from then on another thread may get the same address. */
void *__wrap_realloc(void *p, size_t size) {
    size_t before = p != NULL && followed != NULL ? drop(followed, p) : 0;
    void *more = __real_realloc(p, size);
    if (more != NULL) return listed(more, size);
    if (p != NULL) (void)listed(p, before);
    return NULL;
}

void __wrap_free(void *p) {
    if (p != NULL && followed != NULL) (void)drop(followed, p);
    __real_free(p);
}

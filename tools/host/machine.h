/* Threads, inner loops and memory of a program. */
#ifndef MACHINE_H
#define MACHINE_H

#include "text.h"

#include "rfm.h"

typedef struct {
    rfm_ctx ctx;
    rfm_arena arena;
    void *memory;
    struct pool *pool;
} machine;

/* From --threads (0: as many as there are processors) and --port. */
void machine_start(machine *m, size_t threads, const char *port);
void machine_memory(machine *m, size_t bytes,
                    const char *what); /* an arena of so many bytes in place of the last one */
double machine_room(void);             /* bytes of memory that this computer has; 0: not known */
void machine_stop(machine *m);

#endif

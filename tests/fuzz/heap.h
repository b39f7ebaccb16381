/* Memory of the target fuzz_csv, which frees what a refused file has left behind. The command's sources are compiled
 * with this header before them and -DFUZZ_HEAP: what they call malloc, free and file_read is ours then. */
#ifndef HEAP_H
#define HEAP_H

#include <stddef.h>

void *fuzz_calloc(size_t count, size_t size);
void *fuzz_malloc(size_t size);
void *fuzz_realloc(void *block, size_t size);
int fuzz_posix_memalign(void **to, size_t alignment, size_t size);
void fuzz_free(void *block);
char *fuzz_file_read(const char *file, size_t *size);

#ifdef FUZZ_HEAP
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#define calloc         fuzz_calloc
#define malloc         fuzz_malloc
#define realloc        fuzz_realloc
#define posix_memalign fuzz_posix_memalign
#define free           fuzz_free
#endif

#endif

/* What the two programs of tests/fuzz share: valid blobs, the checksum, and what is done with bytes that may be a model. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>

#include "rfm_small.h"

/* Where things are in a blob: rfm/FORMAT.md. */
enum { FUZZ_CRC = 4, FUZZ_COVERED = 8, FUZZ_BYTES = 12, FUZZ_HEADER = 48, FUZZ_SECTIONS = 8, FUZZ_LARGEST = 4096 };

unsigned long fuzz_get32(const unsigned char *at);
void fuzz_put32(unsigned char *at, unsigned long value);

/* Makes the checksum right, and the length of the blob what there is of it. */
void fuzz_seal(unsigned char *blob, size_t size);

/* Valid blob number `index` of those there are, at most FUZZ_LARGEST bytes: all number types, kernels and metrics, small and
 * larger, with names and summary and without. Its size; 0 after the last. */
size_t fuzz_seed(size_t index, unsigned char *blob);

/* Opens a copy of the bytes in memory that ends with them, `shift` bytes past an aligned address, as a model of reals and of integers, and uses
 * what there is.
 * The status of opening. Ends the program with a message if something is wrong that no sanitizer sees. */
int fuzz_use(const unsigned char *bytes, size_t size, size_t shift);

#endif

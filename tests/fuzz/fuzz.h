/* What the programs of tests/fuzz share: valid blobs, the checksum, what is done with bytes that may be a model, and
 * bytes as decisions. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "rfm_small.h"
#include "rfm_tiny.h"

/* Ends the program with a message if the condition does not hold. */
void require(int condition, const char *what);

/* ---- blobs ---------------------------------------------------------------------------------- */

/* Where things are in a blob: rfm/FORMAT.md. */
enum { FUZZ_CRC = 4, FUZZ_COVERED = 8, FUZZ_BYTES = 12, FUZZ_HEADER = 48, FUZZ_SECTIONS = 9, FUZZ_LARGEST = 4096 };
enum { FUZZ_FILE_BYTES = 8 }; /* the length of trees and of models of patches */
enum { FUZZ_TINY = 0x636d6672, FUZZ_TINY_BYTES = 8, FUZZ_TINY_HEADER = 24 };

unsigned long fuzz_get32(const unsigned char *at);
void fuzz_put32(unsigned char *at, unsigned long value);

/* Makes the checksum right, and the length of the blob what there is of it: as a tiny model, if the magic is its. */
void fuzz_seal(unsigned char *blob, size_t size);

/* Valid blob number `index` of those there are, at most FUZZ_LARGEST bytes: all number types, kernels and metrics,
 * small and larger, with names and summary and without; tiny models. Its size; 0 after the last. */
size_t fuzz_seed(size_t index, unsigned char *blob);

/* Opens a copy of the bytes in memory that ends with them, `shift` bytes past an aligned address, as a model of reals,
 * of integers and as a tiny one, and uses what there is. The status of opening. */
int fuzz_use(const unsigned char *bytes, size_t size, size_t shift);

/* Uses the bytes as they are; then those that make multiples of RFM_ALIGN, if there are `head`, with this magic and
 * with a right length and checksum. `inside` comes first and mends what the blob holds; or NULL. */
void fuzz_use_sealed(const unsigned char *bytes, size_t size, unsigned long magic, size_t head,
                     void (*inside)(unsigned char *, size_t), void (*use)(const unsigned char *, size_t));

/* ---- bytes as decisions --------------------------------------------------------------------- */

/* What is left of an input; zeros follow it. */
typedef struct {
    const unsigned char *at;
    size_t left;
} fuzz_input;

unsigned char fuzz_byte(fuzz_input *in);
size_t fuzz_below(fuzz_input *in, size_t end); /* 0 .. end - 1 */

/* A number: multiples of 1/16 in [-4, 4) only; or half of the time the edges of the number range, any finite bits; or
 * any bits. */
enum { FUZZ_TAME, FUZZ_FINITE, FUZZ_ANY };
rfm_real fuzz_real(fuzz_input *in, int kind);

/* ---- a target of libFuzzer: fuzz_TARGET.c --------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Input number `index` to start from, at most FUZZ_LARGEST bytes; 0 after the last. */
size_t target_seed(size_t index, unsigned char *to);

#endif

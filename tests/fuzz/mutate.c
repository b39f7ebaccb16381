/* Damaged models, the same ones on every run: mutate [MUTANTS [SEED]]
 *
 * Each starts as one of the valid blobs, goes through one to three changes, two thirds of them get a right checksum
 * again, and then it is opened and, if it was taken, used. Prints how many ended with which status; fails if a way to
 * be refused never occurred. */
#include "fuzz.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM (2 * FUZZ_LARGEST)

static uint64_t state;

/* A number below `end`, which is not 0. */
static size_t below(size_t end) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)((state * 0x2545F4914F6CDD1Du) >> 33) % end;
}

static unsigned long interesting(unsigned long old) {
    static const unsigned long values[] = {
        0,          1,          2,          3,          4,          7,          8,          15,
        16,         31,         32,         48,         112,        127,        128,        255,
        256,        65535,      65536,      0x00FFFFFF, 0x10000000, 0x1FFFFFFF, 0x20000000, 0x3FFFFFFF,
        0x40000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF, 0x3F800000, 0x40000000, 0x7F800000,
        0x7FC00000, 0xFF800000, 0x00000001, 0x007FFFFF, 0x7F7FFFFF};

    switch (below(6)) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return old + 16;
    case 3: return old ^ 0x80000000;
    default: return values[below(sizeof values / sizeof values[0])];
    }
}

static void swap(unsigned char *a, unsigned char *b, size_t bytes) {
    size_t i;

    for (i = 0; i < bytes; i++) {
        unsigned char t = a[i];

        a[i] = b[i], b[i] = t;
    }
}

/* One change of a tiny model. */
static size_t change_tiny(unsigned char *blob, size_t size) {
    size_t a;

    if (size < FUZZ_TINY_HEADER) return size;
    switch (below(6)) {
    case 0: /* a bit */ blob[below(size)] ^= (unsigned char)(1 << below(8)); return size;
    case 1: /* a byte, anywhere */ blob[below(size)] = (unsigned char)below(256); return size;
    case 2: /* the end cut off */ return size - 1 - below(size < 40 ? size : 40);
    case 3: /* something behind the end: an entry, or nearly */
        if (size + 24 > ROOM) return size;
        memset(blob + size, 0, 24);
        blob[size] = (unsigned char)below(2), blob[size + 1] = (unsigned char)below(2);
        blob[size + 4] = (unsigned char)below(20), blob[size + 7] = (unsigned char)(below(4) ? 0 : 255);
        return size + 4 * below(7);
    case 4: /* a word with a number to trip over */
        a = 4 * below(size / 4);
        fuzz_put32(blob + a, interesting(fuzz_get32(blob + a)));
        return size;
    default: /* sizes and flags */
        blob[12 + below(12)] = (unsigned char)(below(4) ? below(8) : below(256));
        return size;
    }
}

/* One change. The blob may become shorter or longer; never more than ROOM. */
static size_t change(unsigned char *blob, size_t size, size_t seeds) {
    static const unsigned char specials[][4] = {{0, 0, 0x80, 0x7F}, {0, 0, 0x80, 0xFF},       {0, 0, 0xC0, 0x7F},
                                                {1, 0, 0x80, 0x7F}, {0xFF, 0xFF, 0x7F, 0x7F}, {0xFF, 0xFF, 0x7F, 0xFF},
                                                {1, 0, 0, 0}};
    static unsigned char other[FUZZ_LARGEST];
    size_t a, b, count, longer;

    if (size >= 4 && fuzz_get32(blob) == FUZZ_TINY) return change_tiny(blob, size);
    if (size < FUZZ_HEADER + 8 * FUZZ_SECTIONS) return size;
    switch (below(11)) {
    case 0: /* a bit */ blob[below(size)] ^= (unsigned char)(1 << below(8)); return size;
    case 1: /* bytes, anywhere */
        for (count = 1 + below(4); count > 0; count--) blob[below(size)] = (unsigned char)below(256);
        return size;
    case 2: /* the end cut off */ return below(3) == 0 ? below(size) : size - 1 - below(size < 40 ? size : 40);
    case 3: /* something behind the end */
        longer = size + 1 + below(64);
        if (longer > ROOM) return size;
        for (a = size; a < longer; a++) blob[a] = (unsigned char)(below(2) ? 0 : below(256));
        return longer;
    case 4: /* the end of another one */
        count = fuzz_seed(below(seeds), other);
        a = below(size), b = below(count);
        if (below(2)) b = a < count ? a : count; /* at the same place */
        if (a + (count - b) > ROOM) return size;
        memcpy(blob + a, other + b, count - b);
        return a + (count - b);
    case 5: /* the header, or the table, of another one */
        fuzz_seed(below(seeds), other);
        if (below(2))
            memcpy(blob, other, FUZZ_HEADER);
        else
            memcpy(blob + FUZZ_HEADER, other + FUZZ_HEADER, 8 * FUZZ_SECTIONS);
        return size;
    case 6: /* two fields swapped */
        a = 4 * below(FUZZ_HEADER / 4 + 2 * FUZZ_SECTIONS), b = 4 * below(FUZZ_HEADER / 4 + 2 * FUZZ_SECTIONS);
        if (a != b) swap(blob + a, blob + b, 4);
        return size;
    case 7: /* two entries of the table swapped */
        a = below(FUZZ_SECTIONS), b = below(FUZZ_SECTIONS);
        if (a != b) swap(blob + FUZZ_HEADER + 8 * a, blob + FUZZ_HEADER + 8 * b, 8);
        return size;
    case 8: /* a field with a number to trip over */
        a = 4 * below(FUZZ_HEADER / 4 + 2 * FUZZ_SECTIONS);
        fuzz_put32(blob + a, interesting(fuzz_get32(blob + a)));
        return size;
    case 9: /* one of the small fields */
        blob[16 + below(4)] = (unsigned char)(below(8) ? below(4) : below(256));
        return size;
    default: /* a NaN, an infinity, the largest and the smallest number in a section */
        a = FUZZ_HEADER + 8 * FUZZ_SECTIONS;
        if (size < a + 4) return size;
        a += 4 * below((size - a) / 4);
        memcpy(blob + a, specials[below(sizeof specials / sizeof specials[0])], 4);
        return size;
    }
}

int main(int argc, char **argv) {
    static const int refusals[] = {RFM_EALIGN,    RFM_EMAGIC,   RFM_EVERSION, RFM_ETRUNCATED,
                                   RFM_ECHECKSUM, RFM_ECONTENT, RFM_ETYPE};
    static unsigned char storage[ROOM + RFM_ALIGN];
    unsigned char *blob = storage + (RFM_ALIGN - (uintptr_t)storage % RFM_ALIGN) % RFM_ALIGN;
    unsigned long counts[32] = {0}, other = 0, mutants = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000, m;
    size_t seeds = 0, size, changes, i;
    int status, failed = 0;

    while (fuzz_seed(seeds, blob) > 0) seeds++;
    for (i = 0; i < seeds; i++) { /* as they are, and with their own checksum */
        size = fuzz_seed(i, blob);
        if (fuzz_use(blob, size, 0) != RFM_OK) failed = 1;
        fuzz_seal(blob, size);
        if (fuzz_use(blob, size, 0) != RFM_OK) failed = 1;
    }
    if (failed) printf("a valid model was refused\n");
    for (m = 0; m < mutants; m++) {
        state = (argc > 2 ? strtoul(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15u + m + 1; /* each stands for itself */
        for (i = 0; i < 4; i++) below(2);
        size = fuzz_seed(below(seeds), blob);
        for (changes = 1 + below(3); changes > 0; changes--) size = change(blob, size, seeds);
        if (below(3) > 0) fuzz_seal(blob, size);
        status = fuzz_use(blob, size, below(64) == 0 ? 1 + below(15) : 0);
        if (status <= 0 && status > -32)
            counts[-status]++;
        else
            other++;
    }
    printf("%8lu  taken and used\n", counts[0]);
    for (i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        printf("%8lu  refused: %s\n", counts[-refusals[i]], rfm_status_text(refusals[i]));
        if (counts[-refusals[i]] == 0) failed = 1;
        counts[-refusals[i]] = 0;
    }
    for (i = 1; i < 32; i++) other += counts[i];
    if (other > 0) printf("%8lu  of a status that opening does not have\n", other);
    if (counts[0] == 0 || other > 0) failed = 1;
    return failed;
}

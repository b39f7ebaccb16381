/* A simulated NOR flash that knows the rules, for tests/unit/test_store.c and tests/store/cuts.c.
 *
 * Whoever breaks a rule finds its name in `broken`: a granule programmed twice without an erase between, a bit set by
 * programming, an operation that is misaligned, crosses a page or leaves the flash. At the start nothing is known to be
 * erased, even where it reads 0xFF.
 *
 * Operations (erase and program) are counted from 0; number `at` can go wrong in a chosen way, and so can a number of
 * reads. A power cut ends everything: that operation is done in part, and all later ones, reads too, fail without doing
 * anything. After a cut erase the page holds anything, and counts as not erased even if it reads 0xFF. */
#ifndef NOR_H
#define NOR_H

#include <stddef.h>
#include <string.h>

#include "rfm_store.h"

#define NOR_NEVER 0xFFFFFFFFu

/* The alignment of 64-bit loads: 8, or 4 on 32-bit x86. */
struct nor_word {
    char before;
    uint64_t word;
};
#define NOR_ALIGN offsetof(struct nor_word, word)

/* What happens to operation `at`. */
enum {
    NOR_CUT,       /* the power goes */
    NOR_ERROR,     /* it says that it failed */
    NOR_SILENT,    /* it says that it is done */
    NOR_STRAY,     /* a program is done, and in silence once more 16 bytes before */
    NOR_ERROR_ALL, /* it fails, and so does everything after it, reads too, until `at` is set anew */
    NOR_HOWS
};

/* How much of it is done; of a program: which of the bits to be cleared are, of an erase: what is in the page. */
enum {
    NOR_NOTHING, /* program: none; erase: the page as it was */
    NOR_ALL,     /* program: all; erase: 0xFF */
    NOR_HALF,    /* each bit by chance: one in two ... */
    NOR_FEW,     /* ... one in sixteen ... */
    NOR_MOST,    /* ... fifteen in sixteen. Erase: that many bits of the old content are set */
    NOR_RANDOM,  /* program: as NOR_HALF; erase: random bits */
    NOR_PARTS
};

typedef struct {
    rfm_flash_geometry geometry;
    unsigned char *memory; /* pages * page_bytes */
    unsigned char *used;   /* one bit for each granule: programmed, or not known to be erased */
    const char *broken;    /* the first rule that was broken; NULL: none */

    uint32_t operations, reads; /* done so far */
    uint32_t erases[2];         /* of the first page of each half */
    uint32_t at;                /* the operation that goes wrong; NOR_NEVER */
    int how, part;
    uint32_t read_at;          /* the read that fails; NOR_NEVER */
    uint32_t bad_from, bad_to; /* reading within these addresses fails, until an erase: what ECC does after a cut */
    int dead;
    uint32_t random;

    /* One bit that cannot change: its address, or NOR_NEVER. */
    uint32_t stuck;
    unsigned char stuck_mask, stuck_value;

    /* Bits that are read wrong until their page is erased, one in each half: offset of the byte, or NOR_NEVER. */
    uint32_t flip[2];
    unsigned char flip_mask[2];
    uint32_t torn; /* the page whose erase was cut last and that has not been erased since; NOR_NEVER */
    uint32_t hard; /* erasing a page of this half fails and does nothing; NOR_NEVER */
} nor;

static uint32_t nor_random(nor *n) { /* xorshift */
    n->random ^= n->random << 13;
    n->random ^= n->random >> 17;
    n->random ^= n->random << 5;
    return n->random;
}

/* A byte in which each bit is 1 with the chance of the part. */
static unsigned char nor_mask(nor *n, int part) {
    const unsigned char a = (unsigned char)(nor_random(n) >> 11);

    if (part == NOR_NOTHING) return 0;
    if (part == NOR_ALL) return 0xFF;
    if (part != NOR_FEW && part != NOR_MOST) return a;
    {
        const unsigned char few = (unsigned char)(a & nor_random(n) >> 9 & nor_random(n) >> 7 & nor_random(n) >> 5);

        return part == NOR_FEW ? few : (unsigned char)~few;
    }
}

static uint32_t nor_bytes(const nor *n) { return n->geometry.pages * n->geometry.page_bytes; }
static uint32_t nor_used_bytes(const nor *n) { return (nor_bytes(n) / n->geometry.granularity + 7) / 8; }

static void nor_broken(nor *n, const char *rule) {
    if (n->broken == NULL) n->broken = rule;
}

static void nor_stick(nor *n) {
    if (n->stuck == NOR_NEVER) return;
    n->memory[n->stuck] = (unsigned char)((n->memory[n->stuck] & ~n->stuck_mask) | (n->stuck_value & n->stuck_mask));
}

/* No operation goes wrong, from here on; counts start at 0. */
static void nor_heal(nor *n) {
    n->operations = n->reads = 0;
    n->at = n->read_at = n->stuck = n->flip[0] = n->flip[1] = n->hard = NOR_NEVER;
    n->how = NOR_CUT, n->part = NOR_ALL;
    n->bad_from = n->bad_to = 0;
    n->dead = 0;
}

/* The geometry and the arrays are there; everything else is set. */
static void nor_init(nor *n, int fill) {
    memset(n->memory, fill, nor_bytes(n));
    memset(n->used, 0xFF, nor_used_bytes(n));
    n->broken = NULL;
    n->torn = NOR_NEVER;
    n->erases[0] = n->erases[1] = 0;
    n->random = 1;
    nor_heal(n);
}

static int nor_geometry(void *arg, rfm_flash_geometry *to) {
    *to = ((const nor *)arg)->geometry;
    return 0;
}

static int nor_read(void *arg, uint32_t address, void *to, uint32_t bytes) {
    nor *n = (nor *)arg;
    const uint32_t offset = address - n->geometry.address;
    int i;

    if (n->dead) return -1;
    if (bytes == 0 || offset > nor_bytes(n) || bytes > nor_bytes(n) - offset) {
        nor_broken(n, "a read leaves the flash");
        return -1;
    }
    if (n->reads++ == n->read_at) return -1;
    if (n->bad_from < n->bad_to && address < n->bad_to && address + bytes > n->bad_from) return -1;
    memcpy(to, n->memory + offset, bytes);
    for (i = 0; i < 2; i++)
        if (n->flip[i] - offset < bytes) ((unsigned char *)to)[n->flip[i] - offset] ^= n->flip_mask[i];
    return 0;
}

/* Whether this operation goes wrong; *part says how much of it is done, the result what it shall return. */
static int nor_next(nor *n, int *part) {
    *part = NOR_ALL;
    if (n->dead) {
        *part = NOR_NOTHING;
        return -1;
    }
    if (n->operations++ != n->at) return 0;
    *part = n->part;
    n->dead = n->how == NOR_CUT || n->how == NOR_ERROR_ALL;
    return n->how == NOR_SILENT || n->how == NOR_STRAY ? 0 : -1;
}

static int nor_erase(void *arg, uint32_t page) {
    nor *n = (nor *)arg;
    const int was_dead = n->dead;
    const uint32_t size = n->geometry.page_bytes, g = n->geometry.granularity;
    uint32_t i, at;
    int part, result = nor_next(n, &part), blank = 1;

    if (page >= n->geometry.pages) {
        nor_broken(n, "an erase leaves the flash");
        return -1;
    }
    if (was_dead) return result;
    if (page / (n->geometry.pages / 2) == n->hard) return -1;
    for (i = 0; i < 2 && part != NOR_NOTHING; i++)
        if (n->flip[i] / size == page) n->flip[i] = NOR_NEVER;
    if (n->dead)
        n->torn = page;
    else if (n->torn == page)
        n->torn = NOR_NEVER;
    if (page % (n->geometry.pages / 2) == 0) n->erases[page / (n->geometry.pages / 2)]++;
    if (n->geometry.address + page * size < n->bad_to && n->geometry.address + (page + 1) * size > n->bad_from)
        n->bad_to = n->bad_from;
    for (i = 0, at = page * size; i < size; i++, at++) {
        if (part == NOR_RANDOM)
            n->memory[at] = (unsigned char)(nor_random(n) >> 11);
        else
            n->memory[at] |= nor_mask(n, part);
        blank = blank && n->memory[at] == 0xFF;
    }
    /* One that failed or was cut may read 0xFF, and is not erased; one that pretends cannot be told from one that did
     * it, if it reads 0xFF. */
    for (at = page * size / g; at < (page + 1) * size / g; at++) {
        if (result == 0 && blank)
            n->used[at / 8] &= (unsigned char)~(1u << at % 8);
        else
            n->used[at / 8] |= (unsigned char)(1u << at % 8);
    }
    nor_stick(n);
    return result;
}

static int nor_program(void *arg, uint32_t address, const void *from, uint32_t bytes) {
    nor *n = (nor *)arg;
    const unsigned char *data = (const unsigned char *)from;
    const uint32_t g = n->geometry.granularity, at = address - n->geometry.address, page = n->geometry.page_bytes;
    const int was_dead = n->dead;
    uint32_t i;
    int part, result = nor_next(n, &part);

    if (at > nor_bytes(n) || bytes > nor_bytes(n) - at) {
        nor_broken(n, "a program leaves the flash");
        return -1;
    }
    if (bytes == 0 || bytes > 16 || at % 16 != 0 || bytes % g != 0 || (uintptr_t)from % NOR_ALIGN != 0)
        nor_broken(n, "a program is misaligned");
    else if (at / page != (at + bytes - 1) / page)
        nor_broken(n, "a program crosses a page");
    if (was_dead) return result;
    for (i = 0; i < bytes; i++) {
        const uint32_t granule = (at + i) / g;
        const unsigned char flag = (unsigned char)(1u << granule % 8);

        if ((at + i) % g == 0) {
            if (n->used[granule / 8] & flag) nor_broken(n, "a granule is programmed twice");
            n->used[granule / 8] |= flag;
        }
        if (data[i] & ~n->memory[at + i] & ~(at + i == n->stuck ? n->stuck_mask : 0))
            nor_broken(n, "a program sets a bit");
        n->memory[at + i] &= (unsigned char)(data[i] | ~nor_mask(n, part));
    }
    if (n->how == NOR_STRAY && n->operations == n->at + 1 && at >= 16)
        for (i = 0; i < bytes; i++) n->memory[at - 16 + i] &= data[i];
    nor_stick(n);
    return result;
}

static rfm_flash nor_flash(nor *n) {
    rfm_flash flash;

    flash.arg = n;
    flash.geometry = nor_geometry;
    flash.read = nor_read;
    flash.erase = nor_erase;
    flash.program = nor_program;
    return flash;
}

#endif

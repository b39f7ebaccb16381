/* rfm_store - keeps one thing in NOR flash: a model blob, a learner's state, any bytes. A power cut at any instant
 * loses nothing.
 *
 * The flash is two slots of whole pages. One holds the current thing; the next one is written into the other, and takes
 * over with the last program operation. FORMAT.md, "Storing", has the bytes. What a cut can leave behind: a cut program
 * operation has cleared any of the bits that it should clear; a cut erase has left anything in its page, even bytes
 * that read as erased. So
 *   - a slot counts only if its last 16 header bytes are zero. The last operation makes them zero from 0xFF; done only
 *     in part, the slot does not count;
 *   - before that operation, everything has been read back from the flash, and the payload's checksum computed from
 *     there;
 *   - a write always erases its pages, whatever is in them, and programs no granule twice;
 *   - where no slot counts, sequence numbers begin anew. Then a write first erases the header of the other slot too: a
 *     bit that has changed, or that a cut has left half way, may read right again later, and that slot would be taken
 *     for the newer thing.
 *
 * Writing:                                               Reading:
 *   rfm_store_begin(&store, total);                        if (rfm_store_open(&store, &flash) == RFM_OK)
 *   rfm_store_append(&store, piece, bytes); ...                rfm_store_read(&store, 0, to, store.size);
 *   status = rfm_store_commit(&store);                     or, from flash that is mapped into memory, in place:
 *                                                            at = (const void *)(uintptr_t)store.address;
 *                                                            rfm_model_open(at, store.size, &model);
 *
 * No static memory, no heap; needs rfm_crc32 of rfm.c, also with RFM_NO_TRAIN. A store is used by one caller at a time.
 */
#ifndef RFM_STORE_H
#define RFM_STORE_H

#include "rfm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the flash: four functions of yours ----------------------------------------------------- */

typedef struct {
    uint32_t address;     /* of the first page, a multiple of 16; in whatever sense read and program take addresses */
    uint32_t page_bytes;  /* what one erase erases, to 0xFF: a multiple of 16 */
    uint32_t pages;       /* an even number: the first half is slot 0, the second half slot 1 */
    uint32_t granularity; /* 1, 2, 4, 8 or 16: program takes multiples of this, and each such granule only once after an
                             erase */
} rfm_flash_geometry;

/* Each returns 0 if it is done, anything else if it failed. Long waits are in here, so a watchdog is fed here. What was
 * erased or programmed is read back at once: read must see it, past any cache. */
typedef struct {
    void *arg; /* passed to all of them */
    int (*geometry)(void *arg, rfm_flash_geometry *to);
    int (*read)(void *arg, uint32_t address, void *to, uint32_t bytes);
    int (*erase)(void *arg, uint32_t page); /* its number, 0 for the first */

    /* At most 16 bytes, at a multiple of 16, so never across a page; `from` is aligned for 64-bit loads. */
    int (*program)(void *arg, uint32_t address, const void *from, uint32_t bytes);
} rfm_flash;

/* ---- the store ------------------------------------------------------------------------------ */

#define RFM_STORE_HEADER 48 /* bytes of a slot before its payload */

/* What is in a slot. */
#define RFM_SLOT_EMPTY      0 /* nothing: never written, erased, or a write that ended before its commit */
#define RFM_SLOT_VALID      1 /* a thing, verified when opened or written: the current one, or the one before it */
#define RFM_SLOT_DAMAGED    2 /* a commit or an erase that was cut, a write that failed, bits that have changed */
#define RFM_SLOT_UNREADABLE 3 /* read() failed: flash with ECC may do that after a cut */

typedef struct {
    /* The report: to be read, not written. */
    int slot;          /* of the current thing; -1: there is none */
    uint32_t size;     /* of the current thing, in bytes; 0 without one */
    uint32_t sequence; /* one more with each thing, modulo 2^32; 0 without one */
    uint32_t address;  /* of its first byte, a multiple of 16; 0 without one */
    uint32_t room;     /* the most bytes that a thing can have: a slot less RFM_STORE_HEADER */
    int state[2];      /* RFM_SLOT_... of both slots */
    uint32_t wear[2];  /* how often each was erased. If a cut or damage has destroyed the count, it is the other
                          slot's less 1 */

    /* The write that is under way. */
    const rfm_flash *flash;
    rfm_flash_geometry geometry;
    int target;           /* the slot that is written next */
    int blank[2];         /* 1: erased for sure, and labelled; no header written since */
    int status;           /* RFM_OK: a write is under way; else what append and commit return */
    uint32_t total, done; /* bytes announced, bytes appended */
    uint32_t crc;         /* of those appended */
    uint64_t stage[2];    /* the 16 bytes that are programmed next */
} rfm_store;

/* Reads both slots, verifies all of them, payloads included, and chooses the newer one that is valid. `flash` must stay
 * where it is.
 *   RFM_OK      the report describes the current thing
 *   RFM_EEMPTY  there is none; the store can be written
 *   RFM_EFLASH  none was found, but a slot could not be read: open again, or give it up and write. Or geometry()
 *               failed; then *store is unchanged
 * Refused, *store is unchanged: RFM_ENULL (also for one of the four functions); and for the geometry RFM_EZERO;
 * RFM_EALIGN: the address is not a multiple of 16; RFM_EVALUE: granularity not 1, 2, 4, 8 or 16, page_bytes no multiple
 * of 16, an odd number of pages (one page would never be used), or a slot of no more than RFM_STORE_HEADER bytes;
 * RFM_EOVERFLOW: addresses beyond 2^32. */
int rfm_store_open(rfm_store *store, const rfm_flash *flash);

/* Bytes of the current thing, also while the next one is being written. RFM_ENULL, RFM_EEMPTY, RFM_ESHAPE (beyond its
 * end), RFM_EFLASH (read() failed: `to` may have changed). */
int rfm_store_read(const rfm_store *store, uint32_t offset, void *to, size_t bytes);

/* Starts to write a thing of that many bytes: erases as many pages of the other slot as it needs. A write that was
 * under way is abandoned. RFM_ENULL, RFM_EZERO, RFM_ESHAPE (more than store->room): nothing has changed. RFM_EFLASH:
 * erase or program failed, or reading back shows that they did not do it; the current thing is as it was. After
 * RFM_EFLASH from begin, append or commit the write has ended, and append and commit return RFM_EFLASH until the
 * next begin. Without a current thing the next begin then tries the other slot.
 *
 * Without a current thing both slots are erased: the header of one, and what the thing needs of the other. A header
 * that was erased and labelled, and not written since, is left alone. If that header cannot be erased, and its mark
 * still has a byte of zeros, it might become a thing again: RFM_EFLASH, and nothing is written. */
int rfm_store_begin(rfm_store *store, size_t total);

/* The next bytes of it, in pieces of any length. RFM_ENULL, RFM_EVALUE (no write is under way), RFM_ESHAPE (more than
 * announced): nothing has changed, the write goes on. RFM_EFLASH. */
int rfm_store_append(rfm_store *store, const void *from, size_t bytes);

/* Makes the new thing the current one. RFM_ENULL, RFM_EVALUE (no write is under way), RFM_ESHAPE (bytes are missing):
 * nothing has changed, the write goes on. RFM_EFLASH: the old thing stays the current one. If it was the very last
 * operation that failed, the new header is erased, so that it is not found later; only if that fails too can the next
 * open find the new thing, complete. */
int rfm_store_commit(rfm_store *store);

/* Appends zeros up to the size that begin announced: for a thing of which only the largest possible length was
 * known. RFM_ENULL, RFM_EVALUE, RFM_EFLASH. */
int rfm_store_pad(rfm_store *store);

/* append and read in the form that rfm_online_save and rfm_online_load take:
 *   rfm_online_save_need(&learner, &bytes), rfm_store_begin(&store, bytes);
 *   rfm_online_save(&learner, rfm_store_put, &store), rfm_store_pad(&store), rfm_store_commit(&store);
 * and back, from the beginning of the current thing or any place in it:
 *   rfm_store_reader from = {&store, 0};
 *   rfm_online_load(&learner, rfm_store_get, &from);
 * Status as append and read. */
typedef struct {
    const rfm_store *store;
    uint32_t at; /* of the next byte */
} rfm_store_reader;
int rfm_store_put(void *store, const void *bytes, size_t count);
int rfm_store_get(void *reader, void *bytes, size_t count);

/* Ends a write that is under way, if there is one; the current thing stays. RFM_ENULL. */
int rfm_store_abandon(rfm_store *store);

#ifdef __cplusplus
}
#endif
#endif

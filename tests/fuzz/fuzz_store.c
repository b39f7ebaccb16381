/* libFuzzer's target for rfm_store: a flash with any content, opened and written to, with a power cut or a failure at
 * one operation.
 *
 * An input is the flash's shape, how its checksums are made right, the operation that goes wrong and how, the content
 * (0xFF where it ends), and then what is done. The flash is that of tests/store, which knows the rules of NOR flash and
 * notices who breaks one. */
#include "fuzz.h"

#include <string.h>

#include "../store/nor.h"

enum { MOST = 2048, HEADER = 16, MARK = 32, CONTENT = 6 };

static unsigned char memory[MOST], used[MOST / 8];
static nor chip;
static rfm_flash flash;
static rfm_store store;

/* What the store must hold; what is being written; and what may be found in place of the first, because its commit was
 * cut. */
static unsigned char now[MOST], next[MOST], maybe[MOST];
static size_t now_size, next_size, next_done, maybe_size;
static int known, have, writing;

/* A bit that reads wrong for a while: where, and how often its slot had been erased. */
static uint32_t flipped, flipped_erases;
static unsigned char flipped_mask;
static int committed; /* since then */

/* ---- content -------------------------------------------------------------------------------- */

/* Checksums, mark and size of a slot, each where its bit of `how` is set. */
static void mend(unsigned char *slot, size_t bytes, unsigned how) {
    const size_t room = bytes - RFM_STORE_HEADER;

    if (how & 1) {
        memcpy(slot, "rfms\1\0\0\0", 8);
        fuzz_put32(slot + 12, rfm_crc32(0, slot, 12));
    }
    if (how & 2) memset(slot + MARK, 0, 16);
    if (how & 4) fuzz_put32(slot + HEADER + 4, 1 + (fuzz_get32(slot + HEADER + 4) % room));
    if (how & 8 && fuzz_get32(slot + HEADER + 4) <= room)
        fuzz_put32(slot + HEADER + 8, rfm_crc32(0, slot + RFM_STORE_HEADER, fuzz_get32(slot + HEADER + 4)));
    if (how & 4) fuzz_put32(slot + HEADER + 12, rfm_crc32(0, slot + HEADER, 12));
}

/* ---- what is done --------------------------------------------------------------------------- */

static void check_report(void) {
    require(store.room == nor_bytes(&chip) / 2 - RFM_STORE_HEADER, "room");
    if (store.slot < 0)
        require(store.slot == -1 && store.size == 0 && store.sequence == 0 && store.address == 0, "nothing is there");
    else
        require(store.slot <= 1 && store.size > 0 && store.size <= store.room &&
                    store.state[store.slot] == RFM_SLOT_VALID &&
                    store.address ==
                        chip.geometry.address + (unsigned)store.slot * (nor_bytes(&chip) / 2) + RFM_STORE_HEADER,
                "what is there");
}

static int holds(const unsigned char *thing, size_t size) {
    return store.slot >= 0 && store.size == size &&
           memcmp(memory + (store.address - chip.geometry.address), thing, size) == 0;
}

static void take(void) { /* whatever there is */
    have = store.slot >= 0;
    if (have) memcpy(now, memory + (store.address - chip.geometry.address), now_size = store.size);
    known = 1;
}

/* Opens it as after a reset, with the power back; nothing is lost. */
static void reopen(void) {
    int status;

    nor_heal(&chip);
    status = rfm_store_open(&store, &flash);
    require(status == RFM_OK || status == RFM_EEMPTY, "status of opening");
    require((status == RFM_OK) == (store.slot >= 0), "what is there and the status");
    check_report();
    if (known) {
        if (maybe_size > 0 && holds(maybe, maybe_size))
            take();
        else if (have)
            require(holds(now, now_size), "the current thing is as it was");
        else
            require(status == RFM_EEMPTY, "nothing was stored");
    }
    take();
    writing = 0, maybe_size = 0;
}

/* A bit reads wrong; or the one that did reads right again. What was stored in between must stay the current thing. */
static void flip(fuzz_input *in) {
    uint32_t half = nor_bytes(&chip) / 2;

    reopen();
    if (flipped == NOR_NEVER) {
        flipped = (uint32_t)fuzz_below(in, nor_bytes(&chip));
        flipped_mask = (unsigned char)(1u << fuzz_below(in, 8));
        flipped_erases = chip.erases[flipped / half];
        committed = 0;
        memory[flipped] ^= flipped_mask;
    } else {
        if (chip.erases[flipped / half] == flipped_erases) memory[flipped] ^= flipped_mask; /* else it is gone */
        flipped = NOR_NEVER;
    }
    known = flipped == NOR_NEVER && committed;
    reopen();
}

static void operate(fuzz_input *in) {
    static unsigned char piece[MOST];
    const rfm_store before = store;
    size_t bytes, i;
    int status;

    switch (fuzz_below(in, 7)) {
    case 0: reopen(); return;
    case 6: flip(in); return;
    case 1: /* begin */
        bytes = fuzz_below(in, MOST);
        if (bytes % 2 == 0) bytes %= store.room + 2;
        status = rfm_store_begin(&store, bytes);
        if (bytes == 0 || bytes > store.room) {
            require(status == (bytes == 0 ? RFM_EZERO : RFM_ESHAPE) && memcmp(&before, &store, sizeof store) == 0,
                    "a refusal");
            return;
        }
        require(status == RFM_OK || (status == RFM_EFLASH && chip.operations > chip.at), "status of a begin");
        writing = 1, next_size = bytes, next_done = 0;
        break;
    case 2: /* append */
        bytes = fuzz_below(in, 80);
        if (bytes > 64) bytes = next_size > next_done ? next_size - next_done : 0;
        for (i = 0; i < bytes; i++) piece[i] = (unsigned char)(i * 5 + bytes);
        status = rfm_store_append(&store, piece, bytes);
        if (status == RFM_OK)
            memcpy(next + next_done, piece, bytes), next_done += bytes;
        else if (status != RFM_EFLASH) {
            require(status == RFM_EVALUE || (status == RFM_ESHAPE && bytes > next_size - next_done),
                    "status of an append");
            require(memcmp(&before, &store, sizeof store) == 0, "a refusal");
        } else
            require(chip.operations > chip.at, "flash fails only where it fails");
        break;
    case 3: /* commit */
        status = rfm_store_commit(&store);
        if (status == RFM_OK) {
            require(writing && next_done == next_size && holds(next, next_size), "the new thing is the current one");
            require(!have || store.sequence == (uint32_t)(before.sequence + 1), "the sequence goes on");
            take();
            writing = 0, committed = 1;
        } else if (status != RFM_EFLASH) {
            require(status == RFM_EVALUE || (status == RFM_ESHAPE && next_done < next_size), "status of a commit");
            require(memcmp(&before, &store, sizeof store) == 0, "a refusal");
        } else {
            require(chip.operations > chip.at, "flash fails only where it fails");
            if (writing && next_done == next_size && maybe_size == 0) memcpy(maybe, next, maybe_size = next_size);
        }
        break;
    case 4: /* read */
        bytes = fuzz_below(in, 300);
        i = fuzz_below(in, 300);
        status = rfm_store_read(&store, (uint32_t)i, piece, bytes);
        if (status == RFM_OK)
            require(have && i + bytes <= now_size && memcmp(piece, now + i, bytes) == 0, "what is read");
        else
            require((status == RFM_EEMPTY && !have) || (status == RFM_ESHAPE && i + bytes > now_size) ||
                        (status == RFM_EFLASH && chip.dead),
                    "status of a read");
        break;
    default: require(rfm_store_abandon(&store) == RFM_OK, "abandon"); writing = 0;
    }
    check_report();
    if (have) require(holds(now, now_size), "the current thing, while the next one is written");
}

/* ---- the target ----------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_input in;
    unsigned shape, mended, fault;
    size_t content, slot, operations;

    in.at = bytes, in.left = size;
    shape = fuzz_byte(&in), mended = fuzz_byte(&in), fault = fuzz_byte(&in);
    memset(&chip, 0, sizeof chip);
    chip.memory = memory, chip.used = used;
    chip.geometry.address = 0x1000;
    chip.geometry.page_bytes = 64u << (shape & 1);
    chip.geometry.pages = 2 + 2 * (shape >> 1 & 3);
    chip.geometry.granularity = 1u << (shape >> 3) % 5;
    nor_init(&chip, 0xFF);
    content = fuzz_below(&in, 1025);
    if (content > in.left) content = in.left;
    if (content > nor_bytes(&chip)) content = nor_bytes(&chip);
    memcpy(memory, in.at, content);
    in.at += content, in.left -= content;
    slot = nor_bytes(&chip) / 2;
    mend(memory, slot, mended & 15);
    mend(memory + slot, slot, mended >> 4);
    flash = nor_flash(&chip);
    known = have = writing = 0, now_size = next_size = next_done = maybe_size = 0;
    flipped = NOR_NEVER;
    reopen();
    if (fault != 0)
        chip.at = fault % 32, chip.how = fault >> 5 & 1 ? NOR_CUT : NOR_ERROR_ALL,
        chip.part = (int)((fault >> 6) % NOR_PARTS);
    for (operations = 0; in.left > 0 && operations < 40; operations++) operate(&in);
    require(chip.broken == NULL, chip.broken);
    reopen();
    require(chip.broken == NULL, chip.broken);
    return 0;
}

/* Flashes that things were written to, empty ones and one with a cut write. */
size_t target_seed(size_t index, unsigned char *to) {
    static const unsigned char shapes[] = {0x00, 0x0a, 0x13, 0x1c, 0x27, 0x09};
    static const unsigned char steps[] = {1, 0, 20, 2, 70, 3, 1, 0, 64, 2,  7, 2, 79, 3,
                                          4, 0, 5,  0, 1,  0, 0, 1, 0,  33, 5, 2, 70, 0};
    static const unsigned char flips[] = {6, 20, 3,  1, 0,
                                          9, 2,  79, 3, 6}; /* of a header; another thing; the header is right again */
    size_t i, at = CONTENT - 1, content;

    if (index >= 3 * sizeof shapes) return 0;
    (void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0); /* sets up the flash */
    chip.geometry.page_bytes = 64u << (shapes[index / 3] & 1);
    chip.geometry.pages = 2 + 2 * (shapes[index / 3] >> 1 & 3);
    chip.geometry.granularity = 1u << (shapes[index / 3] >> 3) % 5;
    nor_init(&chip, 0xFF);
    require(rfm_store_open(&store, &flash) == RFM_EEMPTY, "a seed is empty");
    for (i = 0; i < index % 3; i++) {
        require(rfm_store_begin(&store, 5 + i) == RFM_OK && rfm_store_append(&store, "abcdefg", 5 + i) == RFM_OK &&
                    rfm_store_commit(&store) == RFM_OK,
                "a seed is written");
    }
    content = nor_bytes(&chip);
    to[0] = shapes[index / 3], to[1] = 0, to[2] = (unsigned char)(index % 2 ? 0 : 37 + index); /* what goes wrong */
    to[3] = (unsigned char)(content >> 8), to[4] = (unsigned char)content;
    memcpy(to + at, memory, content);
    if (index == 1) { /* one thing, that was not the first */
        to[at + HEADER] = 5, to[1] = 15;
        memcpy(to + at + content, flips, sizeof flips);
        return at + content + sizeof flips;
    }
    memcpy(to + at + content, steps, sizeof steps);
    return at + content + sizeof steps;
}

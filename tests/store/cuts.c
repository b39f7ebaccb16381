/* The store under power cuts, damaged bits and failing flash, on a simulated NOR flash that enforces the rules: cuts
 * CYCLES
 *
 * One line for each test and granularity, "passed: ..." or "FAILED: ..."; the exit status is 0 if none failed. Things
 * are numbered; number k has a size and bytes that follow from k, so that the old thing, the new one and a mixture can
 * be told apart.
 *
 *   cuts     CYCLES writes one after the other; each is cut at every single operation, in every way, and the flash
 * opened: it must have the old thing or the new one. Then the next write must succeed; that too is cut at every
 * operation first    the same for the very first write: nothing, or the thing flips    every bit of header and payload
 * of the newer slot, of the older one, of both returns  bits of both slots read wrong, so that nothing is found; the
 * next thing is written, with cuts and faults; then the bits read right again. What was written last must be found,
 * never one of the older things faults   every operation fails, pretends, strays; every read fails stuck    every bit
 * of the slot that is written cannot be cleared, or set
 */
#include <stdio.h>
#include <stdlib.h>

#include "nor.h"

#define BYTES_MAX 1024

typedef struct {
    unsigned char memory[BYTES_MAX], used[BYTES_MAX / 8];
    uint32_t erases[2];
} snapshot;

static unsigned char memory[BYTES_MAX], used[BYTES_MAX / 8];
static nor flash_state;
static rfm_flash flash;
static uint32_t room;
static unsigned long checks, failures;
static uint32_t seed;

/* ---- what is checked ------------------------------------------------------------------------ */

/* Counts; says what went wrong for the first few; the condition. */
static int expect(int condition, const char *what, uint32_t a, uint32_t b, uint32_t c) {
    checks++;
    if (condition) return 1;
    if (failures++ < 10)
        printf("    granularity %lu, %s: %lu %lu %lu\n", (unsigned long)flash_state.geometry.granularity, what,
               (unsigned long)a, (unsigned long)b, (unsigned long)c);
    return 0;
}

static void snapshot_take(snapshot *to) {
    memcpy(to->memory, memory, sizeof memory);
    memcpy(to->used, used, sizeof used);
    memcpy(to->erases, flash_state.erases, sizeof to->erases);
}

/* The flash as it was, in order, and with random numbers of its own. */
static void snapshot_restore(const snapshot *from) {
    memcpy(memory, from->memory, sizeof memory);
    memcpy(used, from->used, sizeof used);
    memcpy(flash_state.erases, from->erases, sizeof from->erases);
    nor_heal(&flash_state);
    flash_state.torn = NOR_NEVER;
    flash_state.random = ++seed * 2654435761u | 1u;
}

/* ---- things --------------------------------------------------------------------------------- */

static uint32_t mix(uint32_t x) {
    x ^= x >> 16, x *= 0x7feb352du;
    x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/* The ends, the neighbourhood of pages and lines, anything. */
static uint32_t thing_size(uint32_t k) {
    const uint32_t page = flash_state.geometry.page_bytes;
    uint32_t size;

    switch (k % 8) {
    case 0: return room;
    case 1: return 1 + k / 8 % 18;
    case 2: size = (1 + mix(k) % (flash_state.geometry.pages / 2)) * page - RFM_STORE_HEADER + k / 8 % 3 - 1; break;
    case 3: return room - k / 8 % 18;
    default: size = mix(k);
    }
    return 1 + (size - 1) % room;
}

static unsigned char thing_byte(uint32_t k, uint32_t i) {
    if (k % 5 == 4) return i % 3 == 0 ? 0xFF : 0; /* like erased flash, and like a mark */
    return (unsigned char)(mix(k * 4096 + i) >> 7);
}

/* In pieces of many lengths; the first status that is not RFM_OK. */
static int thing_write(rfm_store *store, uint32_t k) {
    unsigned char piece[64];
    const uint32_t size = thing_size(k);
    uint32_t at = 0, n, i;
    int status = rfm_store_begin(store, size);

    while (status == RFM_OK && at < size) {
        n = mix(k ^ at) % (k % 3 == 0 ? 4 : (uint32_t)sizeof piece) + 1;
        if (n > size - at) n = size - at;
        for (i = 0; i < n; i++) piece[i] = thing_byte(k, at + i);
        status = rfm_store_append(store, piece, n);
        at += n;
    }
    return status == RFM_OK ? rfm_store_commit(store) : status;
}

static int thing_is(const rfm_store *store, uint32_t k) {
    unsigned char piece[48];
    const uint32_t size = thing_size(k);
    uint32_t at, n, i;

    if (store->slot < 0 || store->size != size) return 0;
    for (at = 0; at < size; at += n) {
        n = size - at < sizeof piece - 1 ? size - at : (uint32_t)sizeof piece - 1;
        if (rfm_store_read(store, at, piece, n) != RFM_OK) return 0;
        for (i = 0; i < n; i++)
            if (piece[i] != thing_byte(k, at + i) ||
                piece[i] != memory[store->address - flash_state.geometry.address + at + i])
                return 0;
    }
    return 1;
}

/* Opens; the thing that is there, one of two, else 0. */
static uint32_t thing_open(rfm_store *store, uint32_t old, uint32_t new) {
    if (rfm_store_open(store, &flash) != RFM_OK) return 0;
    return thing_is(store, old) ? old : thing_is(store, new) ? new : 0;
}

/* Writes thing k after whatever happened, and finds it again. */
static void check_goes_on(rfm_store *store, uint32_t k, const char *what, uint32_t a, uint32_t b, uint32_t c) {
    const int status = thing_write(store, k);

    expect(status == RFM_OK && thing_is(store, k), what, a, b, c);
    expect(thing_open(store, k, k) == k, what, a, b, c);
    expect(flash_state.broken == NULL, flash_state.broken != NULL ? flash_state.broken : "", a, b, c);
}

/* An erased flash, and things 1 to `last` written into it. */
static void prepare(rfm_store *store, uint32_t last) {
    uint32_t k;

    nor_init(&flash_state, 0xFF);
    expect(rfm_store_open(store, &flash) == RFM_EEMPTY, "an erased flash is not empty", 0, 0, 0);
    room = store->room;
    for (k = 1; k <= last; k++) expect(thing_write(store, k) == RFM_OK, "a thing cannot be written", k, 0, 0);
}

/* Operations that it takes to write thing k from here. */
static uint32_t count_operations(uint32_t k, int *status) {
    rfm_store store;

    (void)rfm_store_open(&store, &flash);
    flash_state.operations = 0;
    *status = thing_write(&store, k);
    return flash_state.operations;
}

/* ---- power cuts ----------------------------------------------------------------------------- */

static const int cut_parts[] = {NOR_NOTHING, NOR_ALL, NOR_HALF, NOR_HALF, NOR_FEW, NOR_MOST, NOR_MOST, NOR_RANDOM};
#define CUT_PARTS (sizeof cut_parts / sizeof cut_parts[0])

/* Writes thing k, cut at operation `at` of `count`, from a flash that has thing `old` (0: none). What is there then:
 * old, or k. */
static uint32_t cut(const snapshot *from, uint32_t old, uint32_t k, uint32_t at, uint32_t count, int part) {
    rfm_store store;
    uint32_t found, i;
    int status;

    snapshot_restore(from);
    (void)rfm_store_open(&store, &flash);
    flash_state.operations = 0;
    flash_state.at = at, flash_state.how = NOR_CUT, flash_state.part = part;
    status = thing_write(&store, k);
    expect(status == RFM_EFLASH && flash_state.dead, "a cut went unnoticed", k, at, (uint32_t)part);
    nor_heal(&flash_state);
    status = rfm_store_open(&store, &flash);
    if (status == RFM_OK)
        found = thing_is(&store, k) ? k : old != 0 && thing_is(&store, old) ? old : NOR_NEVER;
    else
        found = 0;
    if (at + 1 == count) /* the mark: done or not, never in part */
        expect(part == NOR_ALL       ? found == k
               : part == NOR_NOTHING ? found == old
                                     : found == k || found == old,
               "cut at the mark", k, at, (uint32_t)part);
    else
        expect(found == old, old == 0 ? "a thing out of nothing" : "the old thing is lost", k, at, (uint32_t)part);
    expect(found != 0 || status == RFM_EEMPTY, "status", k, at, (uint32_t)part);
    for (i = 0; i < 2; i++) /* two cuts lose few counts */
        expect(store.wear[i] <= flash_state.erases[i] + 1 && store.wear[i] + 3 >= flash_state.erases[i], "wear",
               store.wear[i], flash_state.erases[i], at);
    return found;
}

/* Every cut of writing thing k; after each of them the next write is cut in the same manner. */
static void cut_everywhere(const snapshot *from, uint32_t old, uint32_t k, uint32_t count, unsigned long *cuts) {
    snapshot torn;
    rfm_store store;
    uint32_t at, second, found, part, next;
    int status;

    for (at = 0; at < count; at++)
        for (part = 0; part < CUT_PARTS; part++) {
            found = cut(from, old, k, at, count, cut_parts[part]);
            ++*cuts;
            snapshot_take(&torn);
            (void)rfm_store_open(&store, &flash);
            check_goes_on(&store, k + 1, "the write after a cut", k, at, part);
            if (part != (at + k) % CUT_PARTS) continue;
            snapshot_restore(&torn);
            next = count_operations(k + 1, &status);
            for (second = 0; second < next; second++) {
                cut(&torn, found, k + 1, second, next, cut_parts[mix(seed) % CUT_PARTS]);
                ++*cuts;
                (void)rfm_store_open(&store, &flash);
                check_goes_on(&store, k + 2, "the write after two cuts", k, at, second);
            }
        }
}

static unsigned long test_cuts(uint32_t cycles) {
    snapshot before, after;
    rfm_store store;
    uint32_t k, count;
    unsigned long cuts = 0;
    int status;

    prepare(&store, 1);
    for (k = 2; k < 2 + cycles; k++) {
        snapshot_take(&before);
        count = count_operations(k, &status);
        expect(status == RFM_OK, "a thing cannot be written", k, 0, 0);
        snapshot_take(&after);
        cut_everywhere(&before, k - 1, k, count, &cuts);
        snapshot_restore(&after);
        expect(thing_open(&store, k - 1, k) == k && store.sequence == k, "the thing that was not cut", k, 0, 0);
        expect(store.wear[0] == flash_state.erases[0] && store.wear[1] == flash_state.erases[1], "wear", k,
               store.wear[0], store.wear[1]);
        expect(store.state[0] == RFM_SLOT_VALID && store.state[1] == RFM_SLOT_VALID, "state", k, 0, 0);
    }
    return cuts;
}

/* From erased flash, and from flash that holds something else. */
static unsigned long test_first(void) {
    static const int fills[] = {0xFF, 0x00, 0xA5};
    snapshot before;
    rfm_store store;
    uint32_t i, k, count;
    unsigned long cuts = 0;
    int status;

    for (i = 0; i < 3; i++)
        for (k = 1; k < 9; k++) {
            prepare(&store, 0);
            nor_init(&flash_state, fills[i]);
            snapshot_take(&before);
            count = count_operations(k, &status);
            expect(status == RFM_OK, "a thing cannot be written", k, i, 0);
            cut_everywhere(&before, 0, k, count, &cuts);
        }
    return cuts;
}

/* ---- damaged bits --------------------------------------------------------------------------- */

/* Opens a flash whose slots were damaged or not: the things that should be found, and the states. */
static void check_damaged(rfm_store *store, const int damaged[2], int newer, uint32_t k, uint32_t bit) {
    const int status = rfm_store_open(store, &flash);
    int i;

    if (!damaged[newer])
        expect(status == RFM_OK && thing_is(store, k), "damage: not the newer thing", k, bit, 0);
    else if (!damaged[1 - newer])
        expect(status == RFM_OK && thing_is(store, k - 1), "damage: not the other thing", k, bit, 0);
    else
        expect(status == RFM_EEMPTY && store->slot == -1 && store->size == 0, "damage: a thing", k, bit, 0);
    for (i = 0; i < 2; i++)
        expect(store->state[i] == (damaged[i] ? RFM_SLOT_DAMAGED : RFM_SLOT_VALID), "damage: state", k, bit,
               (uint32_t)i);
}

static unsigned long test_flips(void) {
    snapshot before;
    rfm_store store;
    uint32_t k, bit, bits[2], start[2], i, count;
    unsigned long flips = 0;
    int newer, slot, damaged[2];

    for (k = 9; k < 18; k++) {
        prepare(&store, k);
        newer = store.slot;
        if (!expect(newer >= 0, "there is no thing", k, 0, 0)) continue;
        start[0] = 0, start[1] = nor_bytes(&flash_state) / 2;
        bits[newer] = 8 * (RFM_STORE_HEADER + thing_size(k)),
        bits[1 - newer] = 8 * (RFM_STORE_HEADER + thing_size(k - 1));
        snapshot_take(&before);
        for (slot = 0; slot < 2; slot++)
            for (bit = 0; bit < bits[slot]; bit++) {
                memory[start[slot] + bit / 8] ^= (unsigned char)(1u << bit % 8);
                damaged[slot] = 1, damaged[1 - slot] = 0;
                check_damaged(&store, damaged, newer, k, bit);
                flips++;
                if (bit % 61 == 0) check_goes_on(&store, k + 1, "the write after a flip", k, bit, (uint32_t)slot);
                snapshot_restore(&before);
                if (bit >= bits[1 - slot]) continue;
                for (i = 0; i < 2; i++) memory[start[i] + bit / 8] ^= (unsigned char)(1u << bit % 8);
                damaged[0] = damaged[1] = 1;
                check_damaged(&store, damaged, newer, k, bit);
                if (bit % 61 == 0) check_goes_on(&store, k + 1, "the write after flips", k, bit, (uint32_t)slot);
                snapshot_restore(&before);
            }
        /* Some bytes at random. */
        for (i = 0; i < 500; i++) {
            for (count = 1 + i % 8; count > 0; count--) {
                const uint32_t at = start[newer] + nor_random(&flash_state) % (bits[newer] / 8);

                memory[at] = (unsigned char)(nor_random(&flash_state) >> 9);
            }
            damaged[newer] = memcmp(memory + start[newer], before.memory + start[newer], bits[newer] / 8) != 0,
            damaged[1 - newer] = 0;
            check_damaged(&store, damaged, newer, k, i);
            flips++;
            memcpy(memory, before.memory, sizeof memory);
        }
    }
    return flips;
}

/* ---- bits that come back -------------------------------------------------------------------- */

typedef struct {
    uint32_t at[2];
    unsigned char mask[2];
} flips;

static void flips_set(const flips *f, int which) {
    int i;

    for (i = 0; i < 2; i++) {
        flash_state.flip[i] = which & 1 << i ? f->at[i] : NOR_NEVER;
        flash_state.flip_mask[i] = f->mask[i];
    }
}

/* Those that no erase has removed. */
static flips flips_left(void) {
    flips f;

    memcpy(f.at, flash_state.flip, sizeof f.at);
    memcpy(f.mask, flash_state.flip_mask, sizeof f.mask);
    return f;
}

static void flips_start(const snapshot *from, const flips *f) {
    snapshot_restore(from);
    flips_set(f, 3);
}

/* Thing k was written with RFM_OK: whichever bits read right again, it is found. All are right from here on. */
static void check_newest(uint32_t k, const char *what, uint32_t a, uint32_t b, uint32_t c) {
    rfm_store store;
    const flips left = flips_left();
    int which;

    for (which = 3; which >= 0; which--) {
        flips_set(&left, which);
        expect(thing_open(&store, k, k) == k, what, a, b, c);
    }
    expect(flash_state.broken == NULL, flash_state.broken != NULL ? flash_state.broken : "", a, b, c);
}

/* Writes thing k, at most `tries` times. */
static int write_again(uint32_t k, int tries) {
    rfm_store store;
    int status;

    (void)rfm_store_open(&store, &flash);
    while ((status = thing_write(&store, k)) != RFM_OK && --tries > 0) {
    }
    return status;
}

/* The write of thing k goes wrong at every operation. The older things are k - 1 and k - 2. */
static unsigned long returns_with_faults(const snapshot *from, const flips *f, uint32_t k) {
    rfm_store store;
    uint32_t at, count, part, found[4];
    unsigned long faults = 0;
    int how, status, which;

    flips_start(from, f);
    count = count_operations(k, &status);
    for (at = 0; at < count; at++)
        for (how = NOR_CUT; how <= NOR_SILENT; how++)
            for (part = 0; part < CUT_PARTS; part++) {
                flips left;

                flips_start(from, f);
                (void)rfm_store_open(&store, &flash);
                flash_state.operations = 0;
                flash_state.at = at, flash_state.how = how, flash_state.part = cut_parts[part];
                status = thing_write(&store, k);
                left = flips_left();
                faults++;
                nor_heal(&flash_state);
                flips_set(&left, 3);
                if (status == RFM_OK) {
                    check_newest(k, "older than what was written", k, at, part);
                    continue;
                }
                for (which = 0; which < 4; which++) { /* no mixture; the new one, if it is there, whatever else is */
                    flips_set(&left, which);
                    status = rfm_store_open(&store, &flash);
                    found[which] = status != RFM_OK          ? 0
                                   : thing_is(&store, k)     ? k
                                   : thing_is(&store, k - 1) ? k - 1
                                   : thing_is(&store, k - 2) ? k - 2
                                                             : NOR_NEVER;
                    expect(found[which] != NOR_NEVER && (found[which] == k) == (found[0] == k),
                           "found with bits that return", k, at, part);
                    expect(found[which] != k || at + 1 == count, "a thing before its mark", k, at, part);
                }
                flips_set(&left, 3);
                expect(write_again(k + 1, 3) == RFM_OK, "the write after a fault, with flips", k, at, part);
                check_newest(k + 1, "older than what was written later", k, at, part);
                if (flash_state.torn != NOR_NEVER) { /* from now on it reads as before the erase that was cut */
                    const uint32_t size = flash_state.geometry.page_bytes, page = flash_state.torn * size;

                    memcpy(memory + page, from->memory + page, size);
                }
                expect(thing_open(&store, k + 1, k + 1) == k + 1, "a cut erase returns", k, at, part);
            }
    return faults;
}

static unsigned long test_returns(void) {
    snapshot before;
    rfm_store store;
    flips f;
    uint32_t k, bit, bits[2], half;
    unsigned long count = 0;
    int newer, i, status;

    for (k = 9; k < 17; k++) {
        prepare(&store, k);
        newer = store.slot;
        if (!expect(newer >= 0, "there is no thing", k, 0, 0)) continue;
        bits[newer] = 8 * (RFM_STORE_HEADER + thing_size(k));
        bits[1 - newer] = 8 * (RFM_STORE_HEADER + thing_size(k - 1));
        half = nor_bytes(&flash_state) / 2;
        snapshot_take(&before);
        for (bit = 0; bit < bits[0] || bit < bits[1]; bit++) {
            uint32_t which[2];

            which[bit % 2] = bit % bits[bit % 2], which[1 - bit % 2] = mix(bit) % bits[1 - bit % 2];
            for (i = 0; i < 2; i++) {
                f.at[i] = (i ? half : 0) + which[i] / 8;
                f.mask[i] = (unsigned char)(1u << which[i] % 8);
            }
            flips_start(&before, &f);
            expect(rfm_store_open(&store, &flash) == RFM_EEMPTY, "a thing with a wrong bit", k, bit, 0);
            expect(thing_write(&store, k + 1) == RFM_OK, "the write with flips", k, bit, 0);
            check_newest(k + 1, "a bit came back", k, bit, 0);
            expect(thing_write(&store, k + 2) == RFM_OK, "the second write with flips", k, bit, 0);
            check_newest(k + 2, "a bit came back after two writes", k, bit, 0);
            count++;
            for (i = 0; i < 2; i++) { /* a slot that cannot be erased: what is written stays the newest */
                flips_start(&before, &f);
                flash_state.hard = (uint32_t)i;
                status = write_again(k + 1, 3);
                if (status == RFM_OK) check_newest(k + 1, "a bit came back in a slot that cannot be erased", k, bit, 0);
            }
            if (bit % 199 == 0) count += returns_with_faults(&before, &f, k + 1);
        }
    }
    return count;
}

/* ---- flash that fails ----------------------------------------------------------------------- */

/* After a write of thing k with a fault: done, and it is there; or RFM_EFLASH, and the old one is. `either`: the flash
 * failed at the mark, and when it should have been undone. `repaired`: the next write can succeed. */
static void check_fault(rfm_store *store, int status, uint32_t k, int either, int repaired, const char *what,
                        uint32_t a, uint32_t b) {
    uint32_t found = status == RFM_OK ? k : k - 1, now;
    snapshot torn;

    expect(status == RFM_OK || status == RFM_EFLASH, what, k, a, b);
    expect(thing_is(store, found), what, k, a, b);
    snapshot_take(&torn);
    if (repaired) check_goes_on(store, k + 1, what, k, a, b);
    memcpy(memory, torn.memory, sizeof memory);
    memcpy(used, torn.used, sizeof used);
    now = thing_open(store, found, k);
    expect(now == found || (either && now == k), what, k, a, b);
    if (repaired) check_goes_on(store, k + 1, what, k, a, b);
}

static unsigned long test_faults(void) {
    static const int parts[] = {NOR_NOTHING, NOR_ALL, NOR_HALF, NOR_MOST};
    snapshot before;
    rfm_store store;
    uint32_t k, at, part, operations, reads, noticed = 0;
    unsigned long faults = 0;
    int how, status;

    for (k = 3; k < 20; k++) {
        prepare(&store, k - 1);
        snapshot_take(&before);
        operations = count_operations(k, &status);
        for (at = 0; at < operations; at++)
            for (how = NOR_ERROR; how < NOR_HOWS; how++)
                for (part = 0; part < 4; part++) {
                    if (how == NOR_STRAY && part != 1) continue;
                    snapshot_restore(&before);
                    (void)rfm_store_open(&store, &flash);
                    flash_state.operations = 0;
                    flash_state.at = at, flash_state.how = how, flash_state.part = parts[part];
                    status = thing_write(&store, k);
                    nor_heal(&flash_state);
                    if (how == NOR_ERROR || how == NOR_ERROR_ALL)
                        expect(status == RFM_EFLASH, "a fault went unnoticed", k, at, (uint32_t)how);
                    if (how == NOR_SILENT && parts[part] == NOR_ALL)
                        expect(status == RFM_OK, "no fault", k, at, (uint32_t)how);
                    noticed += status == RFM_EFLASH && (how == NOR_SILENT || how == NOR_STRAY);
                    check_fault(&store, status, k, how == NOR_ERROR_ALL && at + 1 == operations, 1, "after a fault", at,
                                (uint32_t)how);
                    faults++;
                }
        /* Reads: while writing, and while opening. */
        snapshot_restore(&before);
        (void)rfm_store_open(&store, &flash);
        flash_state.reads = 0;
        (void)thing_write(&store, k);
        reads = flash_state.reads;
        for (at = 0; at < reads; at++) {
            snapshot_restore(&before);
            (void)rfm_store_open(&store, &flash);
            flash_state.reads = 0, flash_state.read_at = at;
            status = thing_write(&store, k);
            nor_heal(&flash_state);
            expect(status == RFM_EFLASH, "a failed read went unnoticed", k, at, 0);
            check_fault(&store, status, k, 0, 1, "after a failed read", at, 0);
            faults++;
        }
        snapshot_restore(&before);
        (void)rfm_store_open(&store, &flash);
        reads = flash_state.reads;
        for (at = 0; at < reads; at++) {
            nor_heal(&flash_state);
            flash_state.read_at = at;
            status = rfm_store_open(&store, &flash);
            flash_state.read_at = NOR_NEVER;
            expect(status == RFM_OK && (thing_is(&store, k - 1) || thing_is(&store, k - 2)), "open with a failed read",
                   k, at, 0);
            expect((store.state[0] == RFM_SLOT_UNREADABLE) + (store.state[1] == RFM_SLOT_UNREADABLE) == 1,
                   "state of a failed read", k, at, 0);
            expect(thing_open(&store, k - 1, k - 1) == k - 1, "open after a failed read", k, at, 0);
            faults++;
        }
    }
    expect(noticed > operations, "hardly any silent fault was noticed", noticed, 0, 0);
    return faults;
}

static unsigned long test_stuck(void) {
    snapshot before;
    rfm_store store;
    uint32_t k, at, bit, half, failed = 0, round;
    unsigned long faults = 0;
    int status, value;

    for (k = 8; k < 12; k++) {
        prepare(&store, k - 1);
        half = nor_bytes(&flash_state) / 2;
        snapshot_take(&before);
        for (at = 0; at < half; at++)
            for (bit = 0; bit < 8; bit++)
                for (value = 0; value < 2; value++) {
                    snapshot_restore(&before);
                    (void)rfm_store_open(&store, &flash);
                    flash_state.stuck = at + (store.slot == 0 ? half : 0);
                    flash_state.stuck_mask = (unsigned char)(1u << bit),
                    flash_state.stuck_value = (unsigned char)(value << bit);
                    nor_stick(&flash_state);
                    status = thing_write(&store, k);
                    failed += status == RFM_EFLASH;
                    check_fault(&store, status, k, 0, 0, "a stuck bit", at, bit);
                    if (bit == at % 8) { /* however often it is tried, and with a store opened anew */
                        (void)rfm_store_open(&store, &flash);
                        for (round = 0; round < 3 && status == RFM_EFLASH; round++) status = thing_write(&store, k);
                        check_fault(&store, status, k, 0, 0, "a stuck bit, again", at, bit);
                    }
                    faults++;
                }
        /* Nothing to lose: the first slot does not work, the second is tried. */
        for (at = 0; at < RFM_STORE_HEADER + thing_size(k); at++) {
            nor_init(&flash_state, 0xFF);
            (void)rfm_store_open(&store, &flash);
            flash_state.stuck = at;
            flash_state.stuck_mask = 0x10, flash_state.stuck_value = 0;
            nor_stick(&flash_state);
            status = thing_write(&store, k);
            expect(status == RFM_EFLASH && store.slot == -1 && rfm_store_open(&store, &flash) == RFM_EEMPTY,
                   "the first slot works", k, at, 0);
            (void)thing_write(&store, k);
            expect(store.slot >= 0 || thing_write(&store, k) == RFM_OK, "the second slot does not work", k, at, 0);
            expect(thing_open(&store, k, k) == k, "the second slot has nothing", k, at, 0);
            faults++;
        }
    }
    expect(failed > 100, "hardly any stuck bit was noticed", failed, 0, 0);
    return faults;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int report(const char *name, unsigned long count, const char *what) {
    if (failures == 0)
        expect(flash_state.broken == NULL, flash_state.broken != NULL ? flash_state.broken : "", 0, 0, 0);
    printf("%s: %-7s granularity %2lu, %3lu pages of %3lu: %lu %s, %lu checks", failures > 0 ? "FAILED" : "passed",
           name, (unsigned long)flash_state.geometry.granularity, (unsigned long)flash_state.geometry.pages,
           (unsigned long)flash_state.geometry.page_bytes, count, what, checks);
    if (failures > 0) printf(", %lu failures", failures);
    printf("\n");
    checks = 0;
    if (failures == 0) return 0;
    failures = 0;
    return 1;
}

int main(int argc, char **argv) {
    /* A page of the usual kind; pages shorter than the header; one page for each slot; not a power of two. */
    static const rfm_flash_geometry geometries[] = {
        {0x08000000, 64, 8, 1}, {0x10, 16, 24, 2}, {0, 128, 4, 4}, {0xFFFFFE00, 256, 2, 8}, {0x4000, 48, 10, 16}};
    const uint32_t cycles = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 200;
    int failed = 0;
    size_t i;

    flash_state.memory = memory, flash_state.used = used;
    flash = nor_flash(&flash_state);
    for (i = 0; i < sizeof geometries / sizeof geometries[0]; i++) {
        flash_state.geometry = geometries[i];
        failed += report("cuts", test_cuts(cycles), "cuts");
        failed += report("first", test_first(), "cuts");
        failed += report("flips", test_flips(), "flips");
        failed += report("returns", test_returns(), "flips and faults");
        failed += report("faults", test_faults(), "faults");
        failed += report("stuck", test_stuck(), "stuck bits");
    }
    return failed > 0;
}

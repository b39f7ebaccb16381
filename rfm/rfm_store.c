/* rfm_store.c - one thing in two slots of NOR flash; rfm_store.h has the contract, FORMAT.md the bytes of a slot.
 *
 * Contents:
 *   1. Flash      addresses, erase and program with a look at what they did
 *   2. Opening    what a slot holds, which one is current
 *   3. Writing    erase, label, payload, header, mark: in this order
 *
 * A slot is label, header, mark, payload. All of it is programmed from the stage, in lines of 16 bytes: the label right
 * after the erase, the payload, the header when the payload is complete, and at last the mark.
 */
#include "rfm_store.h"

#include <string.h>

#define LINE       16
#define AT_HEADER  16
#define AT_MARK    32
#define AT_PAYLOAD RFM_STORE_HEADER
#define MAGIC      0x736d6672u /* "rfms" */
#define VERSION    1
#define CHUNK      32 /* bytes read at a time, on the stack */

/* ==== 1. Flash =============================================================================== */

/* Label and header end with the checksum of what is before it. */
static uint32_t line_crc(const unsigned char *line) { return rfm_crc32(0, line, LINE - 4); }

static int all_are(const unsigned char *at, uint32_t bytes, int value) {
    while (bytes > 0 && *at == value) at++, bytes--;
    return bytes == 0;
}

static uint32_t slot_address(const rfm_store *s, int slot) {
    return s->geometry.address + (slot == 0 ? 0 : AT_PAYLOAD + s->room);
}

static int flash_read(const rfm_store *s, uint32_t address, void *to, uint32_t bytes) {
    return s->flash->read(s->flash->arg, address, to, bytes) == 0 ? RFM_OK : RFM_EFLASH;
}

static int flash_erase(const rfm_store *s, int slot, uint32_t page) {
    unsigned char back[CHUNK];
    uint32_t address = slot_address(s, slot) + page * s->geometry.page_bytes, left = s->geometry.page_bytes, n;
    if (s->flash->erase(s->flash->arg, page + (slot == 0 ? 0 : s->geometry.pages / 2)) != 0) return RFM_EFLASH;
    for (; left > 0; left -= n, address += n) {
        n = left < CHUNK ? left : CHUNK;
        if (flash_read(s, address, back, n) != RFM_OK || !all_are(back, n, 0xff)) return RFM_EFLASH;
    }
    return RFM_OK;
}

/* Programs the first bytes of the stage at an offset in the target. */
static int flash_program(const rfm_store *s, uint32_t offset, uint32_t bytes) {
    unsigned char back[LINE];
    uint32_t address = slot_address(s, s->target) + offset;
    if (s->flash->program(s->flash->arg, address, s->stage, bytes) != 0 ||
        flash_read(s, address, back, bytes) != RFM_OK)
        return RFM_EFLASH;
    return memcmp(back, s->stage, bytes) == 0 ? RFM_OK : RFM_EFLASH;
}

/* ==== 2. Opening ============================================================================= */

static int check_geometry(const rfm_flash_geometry *g) {
    if (g->page_bytes == 0 || g->pages == 0 || g->granularity == 0) return RFM_EZERO;
    if (g->address % LINE != 0) return RFM_EALIGN;
    if (g->granularity > LINE || (g->granularity & (g->granularity - 1)) != 0 || g->page_bytes % LINE != 0 ||
        g->pages % 2 != 0)
        return RFM_EVALUE;
    if ((uint64_t)g->pages * g->page_bytes + g->address > UINT64_C(0x100000000)) return RFM_EOVERFLOW;
    return g->pages / 2 * g->page_bytes > AT_PAYLOAD ? RFM_OK : RFM_EVALUE;
}

/* Whether the payload in the flash has this checksum: a RFM_SLOT_... */
static int examine_payload(const rfm_store *s, int slot, uint32_t size, uint32_t crc) {
    unsigned char piece[CHUNK];
    uint32_t address = slot_address(s, slot) + AT_PAYLOAD, sum = 0, n;
    for (; size > 0; size -= n, address += n) {
        n = size < CHUNK ? size : CHUNK;
        if (flash_read(s, address, piece, n) != RFM_OK) return RFM_SLOT_UNREADABLE;
        sum = rfm_crc32(sum, piece, n);
    }
    return sum == crc ? RFM_SLOT_VALID : RFM_SLOT_DAMAGED;
}

/* The RFM_SLOT_... of a slot whose mark should consist of bytes `mark`; for a valid slot also size and sequence. The
 * erase count is read if there is one: the label has a checksum of its own, so that the count outlives a write that
 * was cut. A label is programmed only after a complete erase, so what looks empty behind a label is blank. What
 * looks empty without a label may be left by a cut erase. */
static int examine(rfm_store *s, int slot, int mark, uint32_t *size, uint32_t *sequence) {
    unsigned char at[AT_PAYLOAD];
    int labelled;
    if (flash_read(s, slot_address(s, slot), at, sizeof at) != RFM_OK) return RFM_SLOT_UNREADABLE;
    labelled = rfm_get_u32(at) == MAGIC && rfm_get_u32(at + 4) == VERSION && rfm_get_u32(at + 12) == line_crc(at);
    if (labelled) s->wear[slot] = rfm_get_u32(at + 8);
    if (all_are(at + AT_HEADER, AT_PAYLOAD - AT_HEADER, 0xff)) {
        s->blank[slot] = labelled;
        return RFM_SLOT_EMPTY;
    }
    if (!labelled || rfm_get_u32(at + 28) != line_crc(at + AT_HEADER) || !all_are(at + AT_MARK, LINE, mark))
        return RFM_SLOT_DAMAGED;
    *sequence = rfm_get_u32(at + 16), *size = rfm_get_u32(at + 20);
    if (*size == 0 || *size > s->room) return RFM_SLOT_DAMAGED;
    return examine_payload(s, slot, *size, rfm_get_u32(at + 24));
}

static void make_current(rfm_store *s, int slot, uint32_t size, uint32_t sequence) {
    s->slot = slot;
    s->target = slot == 0;
    s->size = size, s->sequence = sequence;
    s->address = slot_address(s, slot) + AT_PAYLOAD;
    s->state[slot] = RFM_SLOT_VALID;
}

int rfm_store_open(rfm_store *s, const rfm_flash *flash) {
    rfm_flash_geometry g;
    uint32_t size[2], sequence[2];
    int status, i;
    if (s == NULL || flash == NULL || flash->geometry == NULL || flash->read == NULL || flash->erase == NULL ||
        flash->program == NULL)
        return RFM_ENULL;
    if (flash->geometry(flash->arg, &g) != 0) return RFM_EFLASH;
    status = check_geometry(&g);
    if (status != RFM_OK) return status;
    memset(s, 0, sizeof *s);
    s->slot = -1;
    s->flash = flash, s->geometry = g;
    s->status = RFM_EVALUE;
    s->room = g.pages / 2 * g.page_bytes - AT_PAYLOAD;
    for (i = 0; i < 2; i++) s->state[i] = examine(s, i, 0, &size[i], &sequence[i]);
    for (i = 0; i < 2; i++)
        if (s->wear[i] == 0 && s->wear[1 - i] > 0)
            s->wear[i] = s->wear[1 - i] - 1; /* no label: the slots take turns, so the count is nearly the other's */
    i = s->state[1] == RFM_SLOT_VALID;
    if (i == 1 && s->state[0] == RFM_SLOT_VALID)
        i = sequence[1] - sequence[0] < 0x80000000u; /* newer, also across 2^32 */
    if (s->state[i] == RFM_SLOT_VALID) {
        make_current(s, i, size[i], sequence[i]);
        return RFM_OK;
    }
    s->target = s->wear[1] < s->wear[0];
    return s->state[0] == RFM_SLOT_UNREADABLE || s->state[1] == RFM_SLOT_UNREADABLE ? RFM_EFLASH : RFM_EEMPTY;
}

int rfm_store_read(const rfm_store *s, uint32_t offset, void *to, size_t bytes) {
    if (s == NULL || s->flash == NULL || to == NULL) return RFM_ENULL;
    if (s->slot < 0) return RFM_EEMPTY;
    if (offset > s->size || bytes > s->size - offset) return RFM_ESHAPE;
    return bytes == 0 ? RFM_OK : flash_read(s, s->address + offset, to, (uint32_t)bytes);
}

/* ==== 3. Writing ============================================================================= */

/* Ends the write. If there is no current thing to keep, the other slot may be the better one. */
static int fail(rfm_store *s) {
    s->state[s->target] = RFM_SLOT_DAMAGED;
    s->blank[s->target] = 0;
    if (s->slot < 0) s->target = 1 - s->target;
    return s->status = RFM_EFLASH;
}

/* Erases the pages that hold the first bytes of the target, and programs its label. The page of the label goes
 * first: from its erase on nothing in the slot can be taken for a thing. */
static int prepare(rfm_store *s, uint32_t bytes) {
    unsigned char *label = (unsigned char *)s->stage;
    uint32_t page, at;
    s->state[s->target] = RFM_SLOT_DAMAGED;
    s->blank[s->target] = 0;
    s->wear[s->target]++;
    for (page = 0, at = 0; at < bytes; page++, at += s->geometry.page_bytes)
        if (flash_erase(s, s->target, page) != RFM_OK) return RFM_EFLASH;
    rfm_put_u32(label, MAGIC);
    rfm_put_u32(label + 4, VERSION);
    rfm_put_u32(label + 8, s->wear[s->target]);
    rfm_put_u32(label + 12, line_crc(label));
    if (flash_program(s, 0, LINE) != RFM_OK) return RFM_EFLASH;
    s->state[s->target] = RFM_SLOT_EMPTY;
    s->blank[s->target] = 1;
    return RFM_OK;
}

/* Makes the other slot blank. A slot that cannot be erased may stay as it is if no byte of its mark is zero: then a
 * few bits that change do not make a valid slot of it. */
static int clear_other(rfm_store *s) {
    unsigned char mark[LINE];
    uint32_t i;
    int status;
    s->target = 1 - s->target;
    status = prepare(s, AT_PAYLOAD);
    if (status != RFM_OK && flash_read(s, slot_address(s, s->target) + AT_MARK, mark, LINE) == RFM_OK) {
        for (i = 0; i < LINE && mark[i] != 0; i++) {
        }
        if (i == LINE) status = RFM_OK;
    }
    s->target = 1 - s->target;
    return status;
}

/* Without a current thing sequence numbers begin anew. The other slot may hold a higher one. If it became readable
 * again later, it would be taken for the newer thing. So it is erased first, unless it is blank. */
int rfm_store_begin(rfm_store *s, size_t total) {
    if (s == NULL || s->flash == NULL) return RFM_ENULL;
    if (total == 0) return RFM_EZERO;
    if (total > s->room) return RFM_ESHAPE;
    s->status = RFM_OK;
    s->total = (uint32_t)total, s->done = 0, s->crc = 0;
    if (s->slot < 0 && !s->blank[1 - s->target] && clear_other(s) != RFM_OK) return s->status = RFM_EFLASH;
    return prepare(s, AT_PAYLOAD + s->total) == RFM_OK ? RFM_OK : fail(s);
}

int rfm_store_append(rfm_store *s, const void *from, size_t bytes) {
    const unsigned char *next = (const unsigned char *)from;
    uint32_t left, in, n, rest;
    if (s == NULL || s->flash == NULL || from == NULL) return RFM_ENULL;
    if (s->status != RFM_OK) return s->status;
    if (bytes > s->total - s->done) return RFM_ESHAPE;
    rest = s->geometry.granularity - 1;
    for (left = (uint32_t)bytes; left > 0; left -= n, next += n) {
        in = s->done % LINE;
        n = left < LINE - in ? left : LINE - in;
        if (in == 0) memset(s->stage, 0xff, LINE);
        memcpy((unsigned char *)s->stage + in, next, n);
        s->crc = rfm_crc32(s->crc, next, n);
        s->done += n, in += n;
        if (in < LINE && s->done < s->total) continue;
        if (flash_program(s, AT_PAYLOAD + s->done - in, (in + rest) & ~rest) != RFM_OK) return fail(s);
    }
    return RFM_OK;
}

int rfm_store_commit(rfm_store *s) {
    unsigned char *header;
    uint32_t size, sequence;
    if (s == NULL || s->flash == NULL) return RFM_ENULL;
    if (s->status != RFM_OK) return s->status;
    if (s->done != s->total) return RFM_ESHAPE;
    header = (unsigned char *)s->stage;
    s->blank[s->target] = 0;
    rfm_put_u32(header, s->sequence + 1);
    rfm_put_u32(header + 4, s->total);
    rfm_put_u32(header + 8, s->crc);
    rfm_put_u32(header + 12, line_crc(header));
    if (flash_program(s, AT_HEADER, LINE) != RFM_OK) return fail(s);
    /* Each line was right when it was programmed. A later operation may have damaged it, through a wrong address for
     * instance. That shows only when the whole slot is read as open() reads it. It is read before the mark, so that
     * a cut cannot make a damaged slot count, and after the mark, so that RFM_OK means that open() will find it. */
    if (examine(s, s->target, 0xff, &size, &sequence) != RFM_SLOT_VALID) return fail(s);
    memset(s->stage, 0, LINE);
    if (flash_program(s, AT_MARK, LINE) != RFM_OK || examine(s, s->target, 0, &size, &sequence) != RFM_SLOT_VALID) {
        s->wear[s->target]++;
        (void)flash_erase(s, s->target, 0);
        return fail(s);
    }
    s->status = RFM_EVALUE;
    make_current(s, s->target, s->total, s->sequence + 1);
    return RFM_OK;
}

int rfm_store_pad(rfm_store *s) {
    static const unsigned char zeros[LINE] = {0};
    int status = s == NULL || s->flash == NULL ? RFM_ENULL : s->status;
    while (status == RFM_OK && s->done < s->total) {
        uint32_t left = s->total - s->done;
        status = rfm_store_append(s, zeros, left < LINE ? left : LINE);
    }
    return status;
}

int rfm_store_put(void *store, const void *bytes, size_t count) {
    return rfm_store_append((rfm_store *)store, bytes, count);
}

int rfm_store_get(void *reader, void *bytes, size_t count) {
    rfm_store_reader *r = (rfm_store_reader *)reader;
    int status = r == NULL ? RFM_ENULL : rfm_store_read(r->store, r->at, bytes, count);
    if (status == RFM_OK) r->at += (uint32_t)count;
    return status;
}

int rfm_store_abandon(rfm_store *s) {
    if (s == NULL || s->flash == NULL) return RFM_ENULL;
    s->status = RFM_EVALUE;
    return RFM_OK;
}

/* The store: things in simulated NOR flash, every refusal, every way in which a flash can fail.
 *
 * The flash of ../store/nor.h enforces the rules of NOR; after each test no rule may be broken. It is small, 8 pages of
 * 64 bytes, so that it finds room on the smallest board. ../store/cuts.c tries far more power cuts, on the host only.
 */
#include "test.h"

#include "../store/nor.h"

#define PAGE  64u
#define PAGES 8u
#define SLOT  (PAGE * PAGES / 2)
#define BASE  0x08004000u
#define ROOM  (SLOT - 48)

static nor chip;
static rfm_flash flash;
static rfm_store store;

static void reset_chip(uint32_t granularity) {
    rfm_flash_geometry g;

    g.address = BASE, g.page_bytes = PAGE, g.pages = PAGES, g.granularity = granularity;
    chip.geometry = g;
    nor_init(&chip, 0xFF);
}

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
    chip.memory = test_take(PAGE * PAGES);
    chip.used = test_take(PAGE * PAGES / 8);
    TEST_ASSERT_NOT_NULL(chip.memory);
    TEST_ASSERT_NOT_NULL(chip.used);
    flash = nor_flash(&chip);
    reset_chip(4);
}

void tearDown(void) { TEST_ASSERT_NULL_MESSAGE(chip.broken, chip.broken); }

/* ---- things --------------------------------------------------------------------------------- */

static unsigned char thing_byte(uint32_t k, uint32_t i) { return (unsigned char)(k * 37 + i * 11 + (i >> 3)); }

static int append_thing(uint32_t k, uint32_t from, uint32_t to, uint32_t piece) {
    unsigned char bytes[40];
    uint32_t n, i;
    int status = RFM_OK;

    for (; status == RFM_OK && from < to; from += n) {
        n = to - from < piece ? to - from : piece;
        for (i = 0; i < n; i++) bytes[i] = thing_byte(k, from + i);
        status = rfm_store_append(&store, bytes, n);
    }
    return status;
}

/* Begin, append, commit; the first status that is not RFM_OK. */
static int write_thing(uint32_t k, uint32_t size, uint32_t piece) {
    int status = rfm_store_begin(&store, size);

    if (status == RFM_OK) status = append_thing(k, 0, size, piece);
    return status == RFM_OK ? rfm_store_commit(&store) : status;
}

/* The current thing is k, by read() and where `address` says. */
static void check_thing(uint32_t k, uint32_t size) {
    unsigned char bytes[9];
    uint32_t at, n, i;

    CHECK(store.slot == 0 || store.slot == 1);
    CHECK_SIZE(size, store.size);
    CHECK_SIZE(BASE + (uint32_t)store.slot * SLOT + 48, store.address);
    CHECK_INT(RFM_SLOT_VALID, store.state[store.slot]);
    for (at = 0; at < size; at += n) {
        n = size - at < sizeof bytes ? size - at : (uint32_t)sizeof bytes;
        CHECK_INT(RFM_OK, rfm_store_read(&store, at, bytes, n));
        for (i = 0; i < n; i++) {
            CHECK_INT(thing_byte(k, at + i), bytes[i]);
            CHECK_INT(thing_byte(k, at + i), chip.memory[store.address - BASE + at + i]);
        }
    }
}

/* Also after a new start. */
static void check_kept(uint32_t k, uint32_t size) {
    check_thing(k, size);
    memset(&store, 0xA5, sizeof store);
    CHECK_INT(RFM_OK, rfm_store_open(&store, &flash));
    check_thing(k, size);
}

static void open_with(uint32_t k, uint32_t size) {
    (void)rfm_store_open(&store, &flash);
    CHECK_INT(RFM_OK, write_thing(k, size, 7));
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static void put32(unsigned char *at, uint32_t value) {
    size_t i;

    for (i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (8 * i));
}

/* Bit by bit, as the standard has it. */
static uint32_t crc_by_bits(const unsigned char *at, size_t bytes) {
    uint32_t crc = 0xFFFFFFFFu;
    size_t i;
    int bit;

    for (i = 0; i < bytes; i++) {
        crc ^= at[i];
        for (bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc & 0xFFFFFFFFu;
}

/* A slot by hand, as rfm/FORMAT.md has it. */
static void forge(int slot, uint32_t magic, uint32_t version, uint32_t sequence, uint32_t size, uint32_t k) {
    unsigned char *at = chip.memory + (slot == 0 ? 0 : SLOT);
    uint32_t i, bytes = size <= ROOM ? size : ROOM;

    put32(at, magic), put32(at + 4, version), put32(at + 8, 5), put32(at + 12, crc_by_bits(at, 12));
    for (i = 0; i < bytes; i++) at[48 + i] = thing_byte(k, i);
    put32(at + 16, sequence), put32(at + 20, size), put32(at + 24, crc_by_bits(at + 48, bytes)),
        put32(at + 28, crc_by_bits(at + 16, 12));
    memset(at + 32, 0, 16);
}
#define FORGE_MAGIC 0x736d6672u

static void test_crc(void) {
    static const unsigned char digits[] = "123456789";
    size_t i;

    TEST_ASSERT_EQUAL_HEX32(0xCBF43926u, rfm_crc32(0, digits, 9));
    TEST_ASSERT_EQUAL_HEX32(0, rfm_crc32(0, digits, 0));
    for (i = 0; i <= 9; i++) {
        TEST_ASSERT_EQUAL_HEX32(crc_by_bits(digits, i), rfm_crc32(0, digits, i));
        TEST_ASSERT_EQUAL_HEX32(0xCBF43926u, rfm_crc32(rfm_crc32(0, digits, i), digits + i, 9 - i));
    }
}

/* The example of rfm/FORMAT.md. */
static void test_bytes(void) {
    static const unsigned char expected[64] = {
        0x72, 0x66, 0x6d, 0x73, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x54, 0x92, 0xe4, 0x92,
        0x01, 0x00, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x26, 0x39, 0xf4, 0xcb, 0x57, 0x80, 0xba, 0x2d,
        0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
        0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    };

    CHECK_INT(RFM_EEMPTY, rfm_store_open(&store, &flash));
    CHECK_INT(RFM_OK, rfm_store_begin(&store, 9));
    CHECK_INT(RFM_OK, rfm_store_append(&store, "123456789", 9));
    CHECK_INT(RFM_OK, rfm_store_commit(&store));
    TEST_ASSERT_EQUAL_HEX8_ARRAY(expected, chip.memory, 64);
}

/* ---- there and back ------------------------------------------------------------------------- */

static void test_empty(void) {
    unsigned char byte = 0x5A;

    memset(&store, 0xA5, sizeof store);
    CHECK_INT(RFM_EEMPTY, rfm_store_open(&store, &flash));
    CHECK_INT(-1, store.slot);
    CHECK_SIZE(0, store.size);
    CHECK_SIZE(0, store.sequence);
    CHECK_SIZE(0, store.address);
    CHECK_SIZE(ROOM, store.room);
    CHECK_INT(RFM_SLOT_EMPTY, store.state[0]);
    CHECK_INT(RFM_SLOT_EMPTY, store.state[1]);
    CHECK_SIZE(0, store.wear[0]);
    CHECK_SIZE(0, store.wear[1]);
    CHECK_INT(RFM_EEMPTY, rfm_store_read(&store, 0, &byte, 1));
    CHECK_INT(0x5A, byte);
    CHECK_INT(RFM_EVALUE, rfm_store_append(&store, &byte, 1));
    CHECK_INT(RFM_EVALUE, rfm_store_commit(&store));
    CHECK_INT(RFM_OK, rfm_store_abandon(&store));
    CHECK_SIZE(0, chip.operations);

    memset(chip.memory, 0x33, PAGE * PAGES); /* something else was there */
    CHECK_INT(RFM_EEMPTY, rfm_store_open(&store, &flash));
    CHECK_INT(RFM_SLOT_DAMAGED, store.state[0]);
    CHECK_INT(RFM_OK, write_thing(1, 20, 7));
    check_kept(1, 20);
}

static void test_round_trips(void) {
    static const uint32_t pieces[] = {1, 3, 16, 40};
    uint32_t g, size, p, k = 0;

    for (g = 1; g <= 16; g *= 2) {
        reset_chip(g);
        CHECK_INT(RFM_EEMPTY, rfm_store_open(&store, &flash));
        for (size = 1; size <= ROOM; size += size < 36 ? 1 : size + 23 < ROOM ? 23 : size == ROOM ? 1 : ROOM - size) {
            p = k % (uint32_t)TEST_LENGTH(pieces);
            test_note("granularity, size, piece", g, size, pieces[p]);
            CHECK_INT(RFM_OK, write_thing(k, size, pieces[p]));
            k++;
            check_kept(k - 1, size);
        }
        CHECK(store.sequence > 36);
    }
}

/* Slots take turns; an empty append is nothing; only pages that are needed are erased. The first write makes the
 * other slot blank as well. */
static void test_turns(void) {
    uint32_t k;

    CHECK_INT(RFM_EEMPTY, rfm_store_open(&store, &flash));
    for (k = 1; k <= 9; k++) {
        CHECK_INT(RFM_OK, rfm_store_begin(&store, 30));
        CHECK_INT(RFM_OK, rfm_store_append(&store, &k, 0));
        CHECK_INT(RFM_OK, append_thing(k, 0, 30, 30));
        CHECK_INT(RFM_OK, rfm_store_append(&store, &k, 0));
        CHECK_INT(RFM_OK, rfm_store_commit(&store));
        check_kept(k, 30);
        CHECK_INT((int)((k - 1) % 2), store.slot);
        CHECK_SIZE(k, store.sequence);
        CHECK_SIZE((k + 1) / 2, store.wear[0]);
        CHECK_SIZE(k / 2 + 1, store.wear[1]);
        CHECK_SIZE(chip.erases[0], store.wear[0]);
        CHECK_SIZE(chip.erases[1], store.wear[1]);
    }
    chip.operations = 0;
    CHECK_INT(RFM_OK, rfm_store_begin(&store, PAGE - 48));
    CHECK_SIZE(1 + 1, chip.operations); /* one page and the label */
    chip.operations = 0;
    CHECK_INT(RFM_OK, rfm_store_begin(&store, PAGE - 48 + 1));
    CHECK_SIZE(2 + 1, chip.operations);
    check_thing(9, 30);
}

static void test_abandon(void) {
    open_with(1, 50);
    CHECK_INT(RFM_OK, rfm_store_begin(&store, 100));
    CHECK_INT(RFM_OK, append_thing(2, 0, 60, 40));
    check_thing(1, 50); /* also while the next one is being written */
    CHECK_INT(RFM_OK, rfm_store_abandon(&store));
    CHECK_INT(RFM_EVALUE, append_thing(2, 60, 100, 40));
    CHECK_INT(RFM_EVALUE, rfm_store_commit(&store));
    check_kept(1, 50);
    CHECK_INT(RFM_SLOT_EMPTY, store.state[1]);
    CHECK_SIZE(2, store.wear[1]); /* the label outlives it */

    CHECK_INT(RFM_OK, rfm_store_begin(&store, 100));
    CHECK_INT(RFM_OK, append_thing(2, 0, 60, 40));
    CHECK_INT(RFM_OK, write_thing(3, 70, 40)); /* a begin abandons, too */
    check_kept(3, 70);
    CHECK_SIZE(2, store.sequence);
    CHECK_SIZE(4, store.wear[1]);
}

/* A model is opened where it lies in flash. */
static void test_model_in_place(void) {
    static const rfm_real numbers[2] = {1, 2};
    const rfm_real x = 3;
    rfm_real score[2], scratch[2][2];
    rfm_model made, model[2];
    rfm_contents parts;
    size_t size;
    unsigned char *blob;
    const unsigned char *at;
    int status;

    memset(&made, 0, sizeof made);
    memset(&parts, 0, sizeof parts);
    made.n = made.d = made.c = made.r = 1, made.bandwidth = made.exponent = 1;
    made.metric = RFM_DIAGONAL;
    made.shift = made.p = made.centers = numbers, made.alpha = numbers + 1;
    parts.model = &made;
    CHECK_INT(RFM_OK, rfm_model_size(&parts, &size));
    CHECK(size <= ROOM);
    blob = test_take(size);
    CHECK(blob != NULL);
    status = rfm_model_write(&parts, blob, size);
    if (status == RFM_ETYPE) TEST_IGNORE_MESSAGE("big-endian: no blobs");
    CHECK_INT(RFM_OK, status);
    CHECK_INT(RFM_EEMPTY, rfm_store_open(&store, &flash));
    CHECK_INT(RFM_OK, rfm_store_begin(&store, size));
    CHECK_INT(RFM_OK, rfm_store_append(&store, blob, size));
    CHECK_INT(RFM_OK, rfm_store_commit(&store));
    CHECK_SIZE(0, store.address % RFM_ALIGN);
    at = chip.memory + (store.address - BASE);
    CHECK_INT(RFM_OK, rfm_model_open(blob, size, &model[0]));
    CHECK_INT(RFM_OK, rfm_model_open(at, store.size, &model[1]));
    CHECK((const unsigned char *)model[1].alpha > at && (const unsigned char *)model[1].alpha < at + size);
    CHECK_INT(RFM_OK, rfm_predict_one(&model[0], &x, &score[0], scratch[0], NULL, NULL));
    CHECK_INT(RFM_OK, rfm_predict_one(&model[1], &x, &score[1], scratch[1], NULL, NULL));
    CHECK(memcmp(&score[0], &score[1], sizeof score[0]) == 0);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void test_null(void) {
    rfm_flash part;
    rfm_store before, closed;
    unsigned char byte = 0;
    int i;

    memset(&before, 0x5A, sizeof before);
    store = before;
    CHECK_INT(RFM_ENULL, rfm_store_open(NULL, &flash));
    CHECK_INT(RFM_ENULL, rfm_store_open(&store, NULL));
    for (i = 0; i < 4; i++) {
        part = flash;
        if (i == 0) part.geometry = NULL;
        if (i == 1) part.read = NULL;
        if (i == 2) part.erase = NULL;
        if (i == 3) part.program = NULL;
        CHECK_INT(RFM_ENULL, rfm_store_open(&store, &part));
    }
    CHECK(memcmp(&store, &before, sizeof store) == 0);

    memset(&closed, 0, sizeof closed); /* never opened */
    CHECK_INT(RFM_ENULL, rfm_store_begin(&closed, 1));
    CHECK_INT(RFM_ENULL, rfm_store_append(&closed, &byte, 1));
    CHECK_INT(RFM_ENULL, rfm_store_commit(&closed));
    CHECK_INT(RFM_ENULL, rfm_store_abandon(&closed));
    CHECK_INT(RFM_ENULL, rfm_store_read(&closed, 0, &byte, 1));
    CHECK_INT(RFM_ENULL, rfm_store_begin(NULL, 1));
    CHECK_INT(RFM_ENULL, rfm_store_append(NULL, &byte, 1));
    CHECK_INT(RFM_ENULL, rfm_store_commit(NULL));
    CHECK_INT(RFM_ENULL, rfm_store_abandon(NULL));
    CHECK_INT(RFM_ENULL, rfm_store_read(NULL, 0, &byte, 1));

    open_with(1, 10);
    CHECK_INT(RFM_ENULL, rfm_store_read(&store, 0, NULL, 1));
    CHECK_INT(RFM_OK, rfm_store_begin(&store, 20));
    CHECK_INT(RFM_ENULL, rfm_store_append(&store, NULL, 1));
    CHECK_INT(RFM_OK, append_thing(2, 0, 20, 20)); /* the write went on */
    CHECK_INT(RFM_OK, rfm_store_commit(&store));
    check_kept(2, 20);
}

static int no_geometry(void *arg, rfm_flash_geometry *to) {
    (void)arg;
    (void)to;
    return 1;
}

static void test_geometry(void) {
    static const struct {
        rfm_flash_geometry geometry;
        int status;
    } cases[] = {
        {{BASE, 0, PAGES, 4}, RFM_EZERO},
        {{BASE, PAGE, 0, 4}, RFM_EZERO},
        {{BASE, PAGE, PAGES, 0}, RFM_EZERO},
        {{BASE + 8, PAGE, PAGES, 4}, RFM_EALIGN},
        {{BASE + 1, PAGE, PAGES, 1}, RFM_EALIGN},
        {{BASE, PAGE, PAGES, 3}, RFM_EVALUE},
        {{BASE, PAGE, PAGES, 12}, RFM_EVALUE},
        {{BASE, PAGE, PAGES, 32}, RFM_EVALUE},
        {{BASE, PAGE, PAGES, 0x80000000u}, RFM_EVALUE},
        {{BASE, PAGE + 8, PAGES, 4}, RFM_EVALUE},
        {{BASE, PAGE, 1, 4}, RFM_EVALUE},
        {{BASE, PAGE, PAGES - 1, 4}, RFM_EVALUE},
        {{BASE, 48, 2, 4}, RFM_EVALUE}, /* a header and nothing else */
        {{BASE, 16, 6, 4}, RFM_EVALUE},
        {{0xFFFFFE10u, PAGE, PAGES, 4}, RFM_EOVERFLOW},
        {{BASE, 0x80000000u, 2, 4}, RFM_EOVERFLOW},
        {{0, 0x10000, 0x10002, 4}, RFM_EOVERFLOW},
        {{16, 0x80000000u, 0x80000000u, 4}, RFM_EOVERFLOW},
        {{0xFFFFFFF0u, 0xFFFFFFF0u, 0xFFFFFFFEu, 16}, RFM_EOVERFLOW},
    };
    rfm_flash_geometry g;
    rfm_store before;
    size_t i;

    memset(&before, 0x5A, sizeof before);
    store = before;
    for (i = 0; i < TEST_LENGTH(cases); i++) {
        test_note("case", i, 0, 0);
        chip.geometry = cases[i].geometry;
        CHECK_INT(cases[i].status, rfm_store_open(&store, &flash));
        CHECK(memcmp(&store, &before, sizeof store) == 0);
    }
    flash.geometry = no_geometry;
    CHECK_INT(RFM_EFLASH, rfm_store_open(&store, &flash));
    CHECK(memcmp(&store, &before, sizeof store) == 0);
    CHECK_SIZE(0, chip.operations);
    flash = nor_flash(&chip);

    /* The smallest ones, and one that ends where addresses end. */
    g.address = 0, g.page_bytes = 64, g.pages = 2, g.granularity = 16;
    for (i = 0; i < 3; i++) {
        if (i == 1) g.page_bytes = 16, g.pages = 8;
        if (i == 2) g.address = 0xFFFFFE00u, g.page_bytes = PAGE, g.pages = PAGES;
        chip.geometry = g;
        nor_init(&chip, 0xFF);
        CHECK_INT(RFM_EEMPTY, rfm_store_open(&store, &flash));
        CHECK_SIZE(i < 2 ? 16 : ROOM, store.room);
        CHECK_INT(RFM_OK, write_thing(1, 15, 4));
        CHECK_INT(RFM_OK, write_thing(2, store.room, 4));
        CHECK_INT(RFM_OK, rfm_store_open(&store, &flash));
        CHECK_SIZE(store.room, store.size);
        CHECK_SIZE(2, store.sequence);
    }
}

static void test_sizes(void) {
    unsigned char bytes[4] = {9, 9, 9, 9};

    open_with(1, 50);
    chip.operations = 0;
    CHECK_INT(RFM_EZERO, rfm_store_begin(&store, 0));
    CHECK_INT(RFM_ESHAPE, rfm_store_begin(&store, ROOM + 1));
    CHECK_INT(RFM_ESHAPE, rfm_store_begin(&store, SIZE_MAX));
    CHECK_SIZE(0, chip.operations);
    CHECK_INT(RFM_EVALUE, rfm_store_commit(&store));

    CHECK_INT(RFM_OK, rfm_store_begin(&store, 41));
    CHECK_INT(RFM_ESHAPE, rfm_store_commit(&store));
    CHECK_INT(RFM_OK, append_thing(2, 0, 40, 11));
    chip.operations = 0;
    CHECK_INT(RFM_ESHAPE, rfm_store_append(&store, bytes, 2));
    CHECK_INT(RFM_ESHAPE, rfm_store_append(&store, bytes, SIZE_MAX));
    CHECK_INT(RFM_ESHAPE, rfm_store_commit(&store));
    CHECK_INT(RFM_EZERO, rfm_store_begin(&store, 0)); /* refused: the write goes on */
    CHECK_INT(RFM_ESHAPE, rfm_store_begin(&store, ROOM + 1));
    CHECK_SIZE(0, chip.operations);
    check_thing(1, 50);
    CHECK_INT(RFM_OK, append_thing(2, 40, 41, 1));
    CHECK_INT(RFM_ESHAPE, rfm_store_append(&store, bytes, 1));
    CHECK_INT(RFM_OK, rfm_store_commit(&store));
    CHECK_INT(RFM_EVALUE, rfm_store_commit(&store));
    check_kept(2, 41);

    CHECK_INT(RFM_ESHAPE, rfm_store_read(&store, 0, bytes, 42));
    CHECK_INT(RFM_ESHAPE, rfm_store_read(&store, 40, bytes, 2));
    CHECK_INT(RFM_ESHAPE, rfm_store_read(&store, 42, bytes, 0));
    CHECK_INT(RFM_ESHAPE, rfm_store_read(&store, 0xFFFFFFFFu, bytes, 2));
    CHECK_INT(RFM_ESHAPE, rfm_store_read(&store, 1, bytes, SIZE_MAX));
    CHECK_INT(9, bytes[0]);
    CHECK_INT(RFM_OK, rfm_store_read(&store, 41, bytes, 0));
    CHECK_INT(RFM_OK, rfm_store_read(&store, 40, bytes, 1));
    CHECK_INT(thing_byte(2, 40), bytes[0]);
    CHECK_INT(9, bytes[1]);
}

/* ---- which slot ----------------------------------------------------------------------------- */

static void test_sequences(void) {
    static const uint32_t pairs[][2] = {
        {1, 2}, {0xFFFFFFFFu, 0}, {0xFFFFFFFEu, 0xFFFFFFFFu}, {0x7FFFFFFFu, 0x80000000u}, {0xFFFFFFFFu, 3}};
    size_t i;
    int newer;

    for (i = 0; i < TEST_LENGTH(pairs); i++)
        for (newer = 0; newer < 2; newer++) {
            test_note("pair, newer", i, (size_t)newer, 0);
            forge(1 - newer, FORGE_MAGIC, 1, pairs[i][0], 30, 1);
            forge(newer, FORGE_MAGIC, 1, pairs[i][1], 40, 2);
            CHECK_INT(RFM_OK, rfm_store_open(&store, &flash));
            CHECK_INT(newer, store.slot);
            CHECK(store.sequence == pairs[i][1]);
            CHECK_SIZE(5, store.wear[0]);
            CHECK_SIZE(5, store.wear[1]);
            check_thing(2, 40);
            CHECK_INT(RFM_OK, write_thing(3, 50, 16));
            CHECK(store.sequence == pairs[i][1] + 1);
            check_kept(3, 50);
            CHECK_INT(1 - newer, store.slot);
            CHECK_SIZE(6, store.wear[1 - newer]);
        }
}

/* Right checksums, wrong content. */
static void test_forged(void) {
    static const struct {
        uint32_t magic, version, size;
    } cases[] = {{FORGE_MAGIC + 1, 1, 40}, {FORGE_MAGIC, 2, 40},       {FORGE_MAGIC, 0, 40},
                 {FORGE_MAGIC, 1, 0},      {FORGE_MAGIC, 1, ROOM + 1}, {FORGE_MAGIC, 1, 0xFFFFFFFFu}};
    size_t i;

    for (i = 0; i < TEST_LENGTH(cases); i++) {
        test_note("case", i, 0, 0);
        forge(0, FORGE_MAGIC, 1, 7, 30, 1);
        forge(1, cases[i].magic, cases[i].version, 8, cases[i].size, 2);
        CHECK_INT(RFM_OK, rfm_store_open(&store, &flash));
        check_thing(1, 30);
        CHECK_INT(RFM_SLOT_DAMAGED, store.state[1]);
        memset(chip.memory, 0xFF, SLOT);
        CHECK_INT(RFM_EEMPTY, rfm_store_open(&store, &flash));
        CHECK_INT(RFM_SLOT_EMPTY, store.state[0]);
        CHECK_INT(RFM_SLOT_DAMAGED, store.state[1]);
    }
    forge(1, FORGE_MAGIC, 1, 8, ROOM, 2);
    CHECK_INT(RFM_OK, rfm_store_open(&store, &flash));
    check_thing(2, ROOM);
}

static void test_flips(void) {
    uint32_t bit, bits = 8 * (48 + 21);

    open_with(1, 33);
    CHECK_INT(RFM_OK, write_thing(2, 21, 5));
    for (bit = 0; bit < bits; bit++) {
        test_note("bit", bit, 0, 0);
        chip.memory[SLOT + bit / 8] ^= (unsigned char)(1u << bit % 8);
        CHECK_INT(RFM_OK, rfm_store_open(&store, &flash));
        check_thing(1, 33);
        CHECK_INT(RFM_SLOT_DAMAGED, store.state[1]);
        chip.memory[0] ^= 1; /* and now the other one */
        CHECK_INT(RFM_EEMPTY, rfm_store_open(&store, &flash));
        CHECK_INT(RFM_SLOT_DAMAGED, store.state[0]);
        chip.memory[0] ^= 1;
        chip.memory[SLOT + bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    CHECK_INT(RFM_OK, rfm_store_open(&store, &flash));
    check_thing(2, 21);
    CHECK_INT(RFM_SLOT_VALID, store.state[0]);
}

/* ---- flash that fails ----------------------------------------------------------------------- */

typedef struct {
    unsigned char *memory, *used;
} copy;

static copy take_copy(void) {
    copy c;

    c.memory = test_take(PAGE * PAGES);
    c.used = test_take(PAGE * PAGES / 8);
    CHECK(c.memory != NULL && c.used != NULL);
    memcpy(c.memory, chip.memory, PAGE * PAGES);
    memcpy(c.used, chip.used, PAGE * PAGES / 8);
    return c;
}

static void restore(const copy *c) {
    memcpy(chip.memory, c->memory, PAGE * PAGES);
    memcpy(chip.used, c->used, PAGE * PAGES / 8);
    nor_heal(&chip);
    (void)rfm_store_open(&store, &flash);
    chip.operations = chip.reads = 0;
}

/* Every operation of a write, in every way: RFM_EFLASH and the old thing, or done and the new one. Then all goes on. */
static void test_faults(void) {
    copy before;
    uint32_t at, count, g, noticed = 0;
    int how, part, status;

    for (g = 1; g <= 16; g *= 4) {
        const size_t mark = test_mark();

        reset_chip(g);
        open_with(1, 33);
        CHECK_INT(RFM_OK, write_thing(2, 50, 16));
        before = take_copy();
        restore(&before);
        CHECK_INT(RFM_OK, write_thing(3, 41, 5));
        count = chip.operations;
        CHECK_SIZE(2 + 1 + 3 + 2, count); /* pages, label, lines of the payload, header and mark */
        for (at = 0; at < count; at++)
            for (how = NOR_CUT; how < NOR_HOWS; how++)
                for (part = 0; part < NOR_PARTS; part++) {
                    const int certain = how == NOR_CUT || how == NOR_ERROR || how == NOR_ERROR_ALL;

                    test_note("operation, how, part", at, (size_t)how, (size_t)part);
                    restore(&before);
                    chip.at = at, chip.how = how, chip.part = part;
                    status = write_thing(3, 41, 5);
                    CHECK(status == RFM_EFLASH || (status == RFM_OK && !certain));
                    noticed += status == RFM_EFLASH && how == NOR_SILENT;
                    if (status == RFM_EFLASH) { /* until the next begin */
                        CHECK_INT(RFM_EFLASH, rfm_store_append(&store, "", 1));
                        CHECK_INT(RFM_EFLASH, rfm_store_commit(&store));
                        CHECK_INT(RFM_SLOT_DAMAGED, store.state[0]);
                    }
                    nor_heal(&chip);
                    check_thing(status == RFM_OK ? 3 : 2, status == RFM_OK ? 41 : 50);
                    CHECK_INT(RFM_OK, rfm_store_open(&store, &flash));
                    if (at + 1 == count && (how == NOR_CUT || how == NOR_ERROR_ALL) && store.size == 41)
                        check_thing(3, 41);
                    else
                        check_thing(status == RFM_OK ? 3 : 2, status == RFM_OK ? 41 : 50);
                    CHECK_INT(RFM_OK, write_thing(4, 60, 40));
                    check_kept(4, 60);
                }
        test_rewind(mark);
    }
    CHECK(noticed > 20);
}

/* A line that is not as it should be is noticed at once; one that a later line has spoiled, before the mark makes the
 * slot count. */
static void test_noticed(void) {
    uint32_t at;

    for (at = 3; at < 5; at++) { /* after two erases and the label: the first and the second line of the payload */
        open_with(1, 33);
        chip.operations = 0;
        chip.at = at, chip.how = NOR_SILENT, chip.part = NOR_NOTHING;
        CHECK_INT(RFM_OK, rfm_store_begin(&store, 40));
        CHECK_INT(at == 3 ? RFM_EFLASH : RFM_OK, append_thing(2, 0, 16, 16));
        CHECK_INT(RFM_EFLASH, append_thing(2, 16, 32, 16));
        CHECK_SIZE(at + 1, chip.operations);
        check_kept(1, 33);
        reset_chip(4);
    }
    for (at = 4; at < 7; at++) { /* ... to the header, which spoils the line before it: the label */
        open_with(1, 33);
        chip.operations = chip.erases[1] = 0;
        chip.at = at, chip.how = NOR_STRAY;
        CHECK_INT(RFM_OK, rfm_store_begin(&store, 40));
        CHECK_INT(RFM_OK, append_thing(2, 0, 40, 16));
        CHECK_INT(RFM_EFLASH, rfm_store_commit(&store));
        CHECK_SIZE(2 + 1 + 3 + 1, chip.operations); /* no mark */
        CHECK_SIZE(1, chip.erases[1]);
        CHECK_INT(0xFF, chip.memory[SLOT + 32]);
        check_kept(1, 33);
        reset_chip(4);
    }
}

/* Reads that fail, while writing and while reading. */
static void test_reads(void) {
    unsigned char bytes[4];
    uint32_t at, count;
    copy before;

    open_with(1, 33);
    CHECK_INT(RFM_OK, write_thing(2, 50, 16));
    before = take_copy();
    restore(&before);
    CHECK_INT(RFM_OK, write_thing(3, 41, 5));
    count = chip.reads;
    for (at = 0; at < count; at++) {
        test_note("read", at, 0, 0);
        restore(&before);
        chip.read_at = at;
        CHECK_INT(RFM_EFLASH, write_thing(3, 41, 5));
        nor_heal(&chip);
        check_kept(2, 50);
    }
    restore(&before);
    chip.read_at = 0;
    CHECK_INT(RFM_EFLASH, rfm_store_read(&store, 0, bytes, 4));
    CHECK_INT(RFM_OK, rfm_store_read(&store, 0, bytes, 4));
    check_thing(2, 50);
}

/* Flash with ECC: what was cut cannot even be read, until it is erased. */
static void test_unreadable(void) {
    open_with(1, 33);
    CHECK_INT(RFM_OK, write_thing(2, 50, 16));
    chip.bad_from = BASE + SLOT + 32, chip.bad_to = chip.bad_from + 4; /* the newer one's mark */
    CHECK_INT(RFM_OK, rfm_store_open(&store, &flash));
    check_thing(1, 33);
    CHECK_INT(RFM_SLOT_UNREADABLE, store.state[1]);
    chip.bad_from = BASE + SLOT + 48 + 40, chip.bad_to = chip.bad_from + 4; /* its payload */
    CHECK_INT(RFM_OK, rfm_store_open(&store, &flash));
    check_thing(1, 33);
    CHECK_INT(RFM_SLOT_UNREADABLE, store.state[1]);
    CHECK_INT(RFM_OK, write_thing(3, 60, 16));
    check_kept(3, 60);
    CHECK_INT(RFM_SLOT_VALID, store.state[1]);
}

/* No slot can be read: none is found, but nobody says that there is none. What is written then is not outdone by what
 * comes back. */
static void test_unreadable_both(void) {
    uint32_t k;
    rfm_store before;

    (void)rfm_store_open(&store, &flash);
    for (k = 1; k < 8; k++) CHECK_INT(RFM_OK, write_thing(k, 50, 16));
    before = store;
    chip.bad_from = BASE, chip.bad_to = BASE + PAGE * PAGES;
    CHECK_INT(RFM_EFLASH, rfm_store_open(&store, &flash));
    CHECK_INT(-1, store.slot);
    CHECK_INT(RFM_SLOT_UNREADABLE, store.state[0]);
    CHECK_INT(RFM_SLOT_UNREADABLE, store.state[1]);
    CHECK_INT(RFM_EEMPTY, rfm_store_read(&store, 0, &k, 1));
    chip.bad_to = chip.bad_from;
    CHECK_INT(RFM_OK, rfm_store_open(&store, &flash)); /* it was for a moment only */
    check_thing(7, 50);
    CHECK_SIZE(before.sequence, store.sequence);

    chip.bad_to = BASE + PAGE * PAGES;
    CHECK_INT(RFM_EFLASH, rfm_store_open(&store, &flash));
    chip.bad_to = chip.bad_from;
    CHECK_INT(RFM_OK, write_thing(9, 30, 16));
    check_kept(9, 30);
}

/* Neither slot is right: what is written then stays the current thing when their bits read right again. A slot that
 * can be neither erased nor ruled out stops the write. */
static void test_bits_return(void) {
    uint32_t last, slot, bit;
    int hard;

    for (last = 6; last < 8; last++)
        for (bit = 0; bit < 8 * (48 + 20); bit += 7)
            for (hard = -1; hard < 2; hard++) {
                uint32_t k;

                test_note("last, bit, hard", last, bit, (size_t)(hard + 1));
                reset_chip(4);
                (void)rfm_store_open(&store, &flash);
                for (k = 1; k <= last; k++) CHECK_INT(RFM_OK, write_thing(k, 20, 16));
                for (slot = 0; slot < 2; slot++) {
                    chip.flip[slot] = slot * SLOT + bit / 8;
                    chip.flip_mask[slot] = (unsigned char)(1u << bit % 8);
                }
                CHECK_INT(RFM_EEMPTY, rfm_store_open(&store, &flash));
                if (hard >= 0) {
                    chip.hard = (uint32_t)hard;
                    CHECK_INT(RFM_EFLASH, write_thing(9, 30, 16));
                    CHECK_INT(RFM_EFLASH, rfm_store_commit(&store));
                    CHECK_INT(RFM_EFLASH, write_thing(9, 30, 16));
                    CHECK_INT(-1, store.slot);
                    chip.hard = NOR_NEVER; /* it was for a moment only */
                }
                CHECK_INT(RFM_OK, write_thing(9, 30, 16));
                CHECK_SIZE(1, store.sequence);
                chip.flip[0] = chip.flip[1] = NOR_NEVER;
                check_kept(9, 30);
                CHECK_SIZE(1, store.sequence);
                CHECK_INT(RFM_SLOT_EMPTY, store.state[1 - store.slot]);
                chip.operations = 0; /* the other slot was erased already */
                CHECK_INT(RFM_OK, rfm_store_begin(&store, 10));
                CHECK_SIZE(2, chip.operations);
            }
}

/* A worn page in the slot that is written next: reported each time, and the old thing is kept. Without one, the other
 * slot is tried. */
static void test_worn(void) {
    uint32_t at;
    int round, value;

    for (at = 0; at < 48 + 41; at++)
        for (value = 0; value < 2; value++) {
            test_note("stuck", at, (size_t)value, 0);
            reset_chip(4);
            open_with(1, 33);
            chip.stuck = SLOT + at, chip.stuck_mask = 0xFF, chip.stuck_value = value ? 0x7E : 0x5A;
            nor_stick(&chip);
            for (round = 0; round < 3; round++) {
                CHECK_INT(RFM_EFLASH, write_thing(3, 41, 16));
                check_kept(1, 33);
            }
            reset_chip(4);
            CHECK_INT(RFM_EEMPTY, rfm_store_open(&store, &flash));
            chip.stuck = at, chip.stuck_mask = 0xFF, chip.stuck_value = 0x7E;
            nor_stick(&chip);
            CHECK_INT(RFM_EFLASH, write_thing(3, 41, 16));
            CHECK_INT(-1, store.slot);
            CHECK_INT(RFM_OK, write_thing(3, 41, 16));
            CHECK_INT(1, store.slot);
            check_kept(3, 41);
        }
}

/* ---- the simulator -------------------------------------------------------------------------- */

/* It notices each rule that is broken. */
static void test_rules(void) {
    static const uint64_t ones[2] = {0xFFFFFFFFFFFFFFFFu, 0xFFFFFFFFFFFFFFFFu}, zeros[2] = {0, 0};
    const rfm_flash f = flash;
    int rule;

    for (rule = 0; rule < 11; rule++) {
        test_note("rule", (size_t)rule, 0, 0);
        reset_chip(8);
        if (rule != 0) CHECK_INT(0, f.erase(&chip, 0));
        CHECK(chip.broken == NULL);
        switch (rule) {
        case 0: f.program(&chip, BASE, ones, 8); break; /* not erased, though it reads so */
        case 1: f.program(&chip, BASE, zeros, 16), f.program(&chip, BASE, zeros, 8); break;
        case 2: memset(chip.memory, 0, 16), f.program(&chip, BASE, ones, 16); break;
        case 3: f.program(&chip, BASE + 4, zeros, 8); break;
        case 4: f.program(&chip, BASE, zeros, 4); break;
        case 5: f.program(&chip, BASE, zeros, 0); break;
        case 6: f.program(&chip, BASE - 16, zeros, 16); break;
        case 7: f.program(&chip, BASE + PAGE * PAGES, zeros, 16); break;
        case 8: f.erase(&chip, PAGES); break;
        case 9: f.program(&chip, BASE, (const unsigned char *)zeros + 2, 8); break;
        default:
            chip.at = 1, chip.how = NOR_ERROR, chip.part = NOR_ALL; /* an erase that failed reads 0xFF */
            f.erase(&chip, 0), f.program(&chip, BASE, zeros, 8);
        }
        CHECK(chip.broken != NULL);
    }
    reset_chip(8);
    CHECK_INT(0, f.erase(&chip, 0));
    CHECK_INT(0, f.program(&chip, BASE, zeros, 8));
    CHECK_INT(0, f.program(&chip, BASE + 16, zeros, 16));
    CHECK_INT(0, f.erase(&chip, 0));
    CHECK_INT(0, f.program(&chip, BASE, zeros, 16));
    CHECK(chip.broken == NULL);
}

/* In the form of callbacks: pieces in, zeros up to what was announced, pieces out again. */
static void test_callbacks(void) {
    unsigned char bytes[20], back[20];
    rfm_store_reader from;
    uint32_t i;

    (void)rfm_store_open(&store, &flash);
    CHECK_INT(RFM_EVALUE, rfm_store_pad(&store));
    CHECK_INT(RFM_OK, rfm_store_begin(&store, 40));
    for (i = 0; i < 20; i++) bytes[i] = thing_byte(3, i);
    CHECK_INT(RFM_OK, rfm_store_put(&store, bytes, 13));
    CHECK_INT(RFM_OK, rfm_store_put(&store, bytes + 13, 7));
    CHECK_INT(RFM_ESHAPE, rfm_store_commit(&store));
    CHECK_INT(RFM_OK, rfm_store_pad(&store));
    CHECK_INT(RFM_OK, rfm_store_pad(&store));
    CHECK_INT(RFM_ESHAPE, rfm_store_put(&store, bytes, 1));
    CHECK_INT(RFM_OK, rfm_store_commit(&store));
    from.store = &store, from.at = 5;
    CHECK_INT(RFM_OK, rfm_store_get(&from, back, 4));
    CHECK_INT(RFM_OK, rfm_store_get(&from, back + 4, 11));
    CHECK(memcmp(bytes + 5, back, 15) == 0 && from.at == 20);
    for (; from.at < 40;) {
        CHECK_INT(RFM_OK, rfm_store_get(&from, back, 1));
        CHECK_INT(0, back[0]);
    }
    CHECK_INT(RFM_ESHAPE, rfm_store_get(&from, back, 1));
    CHECK_SIZE(40, from.at);
    CHECK_INT(RFM_ENULL, rfm_store_get(NULL, back, 1));
    CHECK_INT(RFM_ENULL, rfm_store_put(NULL, back, 1));
    CHECK_INT(RFM_ENULL, rfm_store_pad(NULL));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_callbacks);
    RUN_TEST(test_crc);
    RUN_TEST(test_bytes);
    RUN_TEST(test_empty);
    RUN_TEST(test_round_trips);
    RUN_TEST(test_turns);
    RUN_TEST(test_abandon);
    RUN_TEST(test_model_in_place);
    RUN_TEST(test_null);
    RUN_TEST(test_geometry);
    RUN_TEST(test_sizes);
    RUN_TEST(test_sequences);
    RUN_TEST(test_forged);
    RUN_TEST(test_flips);
    RUN_TEST(test_faults);
    RUN_TEST(test_noticed);
    RUN_TEST(test_reads);
    RUN_TEST(test_unreadable);
    RUN_TEST(test_unreadable_both);
    RUN_TEST(test_bits_return);
    RUN_TEST(test_worn);
    RUN_TEST(test_rules);
    return UNITY_END();
}

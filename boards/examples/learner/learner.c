/* A device that learns, and keeps what it has learned through a power cut.
 *
 * Somebody shows it samples of two kinds; here one kind has exactly one of two inputs high, and nothing tells the
 * device so. It learns in slices between other work, stores its state in flash, loses its power, and goes on from the
 * flash with the same predictions, bit for bit. It needs no model and no data: everything is below.
 *
 * The flash is an array here. Put your chip's read, erase and program in the four functions; on Arduino boards they are
 * those of the core's flash or EEPROM library.
 */
#include "rfm_online.h"
#include "rfm_store.h"

#include <string.h>

#include "example.h"

#define PAGE    1024u
#define PAGES   4u
#define SAMPLES 48

RFM_ALIGNED static unsigned char memory[4096];
static unsigned char flash[PAGES * PAGE];

static int flash_geometry(void *arg, rfm_flash_geometry *to) {
    (void)arg;
    to->address = 0, to->page_bytes = PAGE, to->pages = PAGES, to->granularity = 4;
    return 0;
}
static int flash_read(void *arg, uint32_t address, void *to, uint32_t bytes) {
    (void)arg;
    memcpy(to, flash + address, bytes);
    return 0;
}
static int flash_erase(void *arg, uint32_t page) {
    (void)arg;
    memset(flash + page * PAGE, 0xff, PAGE);
    return 0;
}
static int flash_program(void *arg, uint32_t address, const void *from, uint32_t bytes) {
    const unsigned char *b = (const unsigned char *)from;
    uint32_t i;
    (void)arg;
    for (i = 0; i < bytes; i++) flash[address + i] &= b[i]; /* it can only clear bits */
    return 0;
}

static const rfm_flash chip = {NULL, flash_geometry, flash_read, flash_erase, flash_program};
static rfm_store store;
static rfm_online learner;
static rfm_arena arena;
static int samples;
static uint32_t noise = 99;

static rfm_real wobble(void) { /* -0.2 to 0.2 */
    noise = noise * 1664525u + 1013904223u;
    return (rfm_real)(noise >> 16) / 163840 - (rfm_real)0.2;
}

static void read_sample(rfm_real x[2], size_t *label) {
    size_t a = (size_t)samples & 1, b = (size_t)samples >> 1 & 1;
    x[0] = (rfm_real)a + wobble(), x[1] = (rfm_real)b + wobble(), *label = a ^ b;
}

/* After every start: an empty learner in the same memory, then what the flash has. */
static int start(void) {
    rfm_online_options options;
    rfm_store_reader from = {&store, 0};
    int status;
    rfm_online_options_init(&options);
    options.window = 24, options.inputs = 2, options.outputs = 2, options.bandwidth = 1, options.refit_every = 8;
    memset(memory, 0xee, sizeof memory); /* RAM has forgotten */
    status = rfm_arena_init(&arena, memory, sizeof memory);
    if (status == RFM_OK) status = rfm_online_init(&learner, &options, &arena);
    if (status != RFM_OK) return status;
    status = rfm_store_open(&store, &chip);
    return status == RFM_OK ? rfm_online_load(&learner, rfm_store_get, &from) : status;
}

static int save(void) {
    size_t bytes;
    int status = rfm_online_save_need(&learner, &bytes);
    if (status == RFM_OK) status = rfm_store_begin(&store, bytes);
    if (status == RFM_OK) status = rfm_online_save(&learner, rfm_store_put, &store);
    if (status == RFM_OK) status = rfm_store_pad(&store);
    return status == RFM_OK ? rfm_store_commit(&store) : status;
}

/* Scores at the four corners, and how many of their labels are right. */
static int look(rfm_real scores[4][2]) {
    size_t label, i;
    int right = 0;
    for (i = 0; i < 4; i++) {
        rfm_real x[2];
        x[0] = (rfm_real)(i & 1), x[1] = (rfm_real)(i >> 1);
        if (rfm_online_predict(&learner, x, scores[i], &label, NULL) != RFM_OK) finish("no prediction");
        right += label == ((i & 1) ^ i >> 1);
    }
    return right;
}

void setup(void) {
    begin();
    memset(flash, 0xff, sizeof flash);
    if (start() != RFM_EEMPTY) finish("the flash should be empty");
    say("nothing stored: learning from the start, in "), say_number((long)arena.used), say(" bytes\n");
}

void loop(void) {
    static rfm_real before[4][2], after[4][2];
    rfm_real x[2];
    size_t label;
    if (samples < SAMPLES) {
        read_sample(x, &label);
        if (rfm_online_add(&learner, x, label) != RFM_OK) finish("a sample was refused");
        while (rfm_online_step(&learner, 5000) == 1) {} /* a slice of the work; do your own between them */
        samples++;
        return;
    }
    say_number(look(before)), say(" of 4 right after "), say_number(samples), say(" samples\n");
    if (save() != RFM_OK) finish("it could not be stored");
    say("stored in "), say_number((long)store.size), say(" bytes; the power is cut\n");
    if (start() != RFM_OK) finish("it could not be loaded");
    say_number(look(after)), say(" of 4 right after the start from flash\n");
    finish(memcmp(before, after, sizeof before) == 0 ? NULL : "other scores than before");
}

/* Retraining in firmware: a device that is shipped with a model, gets labelled samples whose world drifts, retrains in
 * slices between its predictions, keeps what it has learned in flash, and goes on after a reset where it was. The exit
 * status is the number of checks that failed.
 *
 * A life begins with a reset and ends with saving. There are three: after half of the stream the device resets itself
 * (SYSRESETREQ); after three quarters it is switched off (the program ends: start it again, in the same folder); the
 * third life comes to the stream's end. Samples come from an interrupt, SysTick, so that rfm_online_add really
 * interrupts rfm_online_step; with -DPOLLED, and on a machine with an operating system, from the loop. What is learned
 * is the same, to the bit: it depends on the samples and their order only.
 *
 * The flash is a file, flash.bin in the current folder, reached by semihosting, because QEMU's flash cannot be written;
 * it has pages, erases to 0xFF and lets each granule be programmed once. ARENA is the bytes that the learner's arena
 * has; its window is the largest that fits.
 *
 * Contents: output, file, flash, learner, samples, saving, checks, main.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rfm_online.h"
#include "rfm_store.h"
#include "stream.h"

#ifdef BOARD_BARE
#include "startup.h"
#define print board_print
#else
#include <stdio.h>
#define POLLED
static void print(const char *text) { fputs(text, stdout); }
#endif

#define SLICE 5000 /* units of a call of rfm_online_step */

int main(void);

/* ---- output --------------------------------------------------------------------------------- */

static void print_line(const char *name, long value) {
    char text[24], *at = text + sizeof text - 1;
    unsigned long left = value < 0 ? 0UL - (unsigned long)value : (unsigned long)value;
    *at = 0;
    do *--at = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    if (value < 0) *--at = '-';
    print(name);
    print(" ");
    print(at);
    print("\n");
}

static int failed;

static void check(int right, const char *what) {
    if (right) return;
    failed++;
    print("FAILED: ");
    print(what);
    print("\n");
}

/* ---- file: open, read, write, close; 0: done ------------------------------------------------ */

#define FLASH_FILE "flash.bin"

#if defined BOARD_BARE && defined __arm__

/* Semihosting: a request and the address of its arguments. */
#define SYS_OPEN    0x01
#define SYS_CLOSE   0x02
#define SYS_WRITE   0x05
#define SYS_READ    0x06
#define SYS_SEEK    0x0a
#define OPEN_UPDATE 3 /* r+b */
#define OPEN_CREATE 7 /* w+b */

static uint32_t semihost(uint32_t request, const void *argument) {
    register uint32_t r0 __asm__("r0") = request;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static uint32_t file;

static int file_open(int create) {
    uintptr_t block[3];
    block[0] = (uintptr_t)FLASH_FILE, block[1] = create ? OPEN_CREATE : OPEN_UPDATE, block[2] = sizeof FLASH_FILE - 1;
    file = semihost(SYS_OPEN, block);
    return file == UINT32_MAX;
}

static int file_access(uint32_t request, uint32_t at, uintptr_t bytes, uint32_t count) {
    uintptr_t block[3];
    block[0] = file, block[1] = at;
    if (semihost(SYS_SEEK, block) != 0) return 1;
    block[1] = bytes, block[2] = count;
    return semihost(request, block) != 0;
}

static int file_read(uint32_t at, void *to, uint32_t count) { return file_access(SYS_READ, at, (uintptr_t)to, count); }
static int file_write(uint32_t at, const void *from, uint32_t count) {
    return file_access(SYS_WRITE, at, (uintptr_t)from, count);
}
static void file_close(void) { (void)semihost(SYS_CLOSE, &file); }

#elif !defined BOARD_BARE

static FILE *file;

static int file_open(int create) {
    file = fopen(FLASH_FILE, create ? "w+b" : "r+b");
    return file == NULL;
}
static int file_read(uint32_t at, void *to, uint32_t count) {
    return fseek(file, (long)at, SEEK_SET) != 0 || fread(to, 1, count, file) != count;
}
static int file_write(uint32_t at, const void *from, uint32_t count) {
    return fseek(file, (long)at, SEEK_SET) != 0 || fwrite(from, 1, count, file) != count;
}
static void file_close(void) { (void)fclose(file); }

#else
#error "retrain.c knows Cortex-M and machines with an operating system"
#endif

/* ---- flash ---------------------------------------------------------------------------------- */

#define PAGE    1024
#define PAGES   8
#define GRANULE 4

static int flash_geometry(void *arg, rfm_flash_geometry *to) {
    (void)arg;
    to->address = 0, to->page_bytes = PAGE, to->pages = PAGES, to->granularity = GRANULE;
    return 0;
}

static int flash_read(void *arg, uint32_t address, void *to, uint32_t bytes) {
    (void)arg;
    return file_read(address, to, bytes);
}

static int flash_erase(void *arg, uint32_t page) {
    unsigned char blank[64];
    uint32_t i;
    (void)arg;
    memset(blank, 0xff, sizeof blank);
    for (i = 0; i < PAGE; i += sizeof blank)
        if (file_write(page * PAGE + i, blank, sizeof blank) != 0) return 1;
    return 0;
}

static int flash_program(void *arg, uint32_t address, const void *from, uint32_t bytes) {
    unsigned char old[16];
    uint32_t i;
    (void)arg;
    if (bytes > sizeof old || bytes % GRANULE != 0 || file_read(address, old, bytes) != 0) return 1;
    for (i = 0; i < bytes; i++)
        if (old[i] != 0xff) return 1; /* programmed twice */
    return file_write(address, from, bytes);
}

static const rfm_flash flash = {NULL, flash_geometry, flash_read, flash_erase, flash_program};

/* A device that was never used has blank flash. */
static int flash_start(void) {
    uint32_t page;
    if (file_open(0) == 0) return 0;
    if (file_open(1) != 0) return 1;
    for (page = 0; page < PAGES; page++)
        if (flash_erase(NULL, page) != 0) return 1;
    return 0;
}

/* ---- learner -------------------------------------------------------------------------------- */

RFM_ALIGNED static unsigned char memory[ARENA];
static rfm_online online;
static rfm_model start;
static float scratch[RFM_PREDICT_SCRATCH(INPUTS, INPUTS)];

static int learner_start(size_t *need) {
    rfm_online_options options;
    rfm_arena arena;
    size_t window = 0, half;
    rfm_online_options_init(&options);
    options.inputs = INPUTS, options.outputs = CLASSES, options.start = &start;
    options.int8 = 1, options.iterations = 1, options.refit_every = 25;
    for (half = 1024; half > 0; half /= 2) {
        options.window = window + half;
        if (rfm_online_need(&options, need) == RFM_OK && *need <= sizeof memory) window = options.window;
    }
    options.window = window;
    if (window == 0 || rfm_online_need(&options, need) != RFM_OK || rfm_arena_init(&arena, memory, *need) != RFM_OK)
        return RFM_EARENA;
    return rfm_online_init(&online, &options, &arena);
}

/* Of all test rows: how many are right, and the CRC of all scores. */
static size_t score_learner(uint32_t *crc) {
    float scores[CLASSES];
    size_t i, label, right = 0;
    *crc = 0;
    for (i = 0; i < TESTS; i++) {
        if (rfm_online_predict(&online, test_x[i], scores, &label, NULL) != RFM_OK) return 0;
        right += label == test_label[i];
        *crc = rfm_crc32(*crc, scores, sizeof scores);
    }
    return right;
}

static size_t score_start(void) {
    float scores[CLASSES];
    size_t i, right = 0;
    for (i = 0; i < TESTS; i++)
        if (rfm_predict_one(&start, test_x[i], scores, scratch, NULL, NULL) == RFM_OK)
            right += rfm_class(&start, scores, NULL) == test_label[i];
    return right;
}

/* ---- samples -------------------------------------------------------------------------------- */

static volatile uint32_t position, until;      /* in the stream */
static volatile uint32_t working, interrupted; /* step is running; samples that came meanwhile */

/* A sample that finds the ring full comes again with the next tick: here nothing is lost. A sensor's would be, and
 * would be counted. */
void board_tick(void);
void board_tick(void) {
    uint32_t at = position;
    if (at == until || rfm_online_add(&online, stream_x[at], stream_label[at]) != RFM_OK) return;
    position = at + 1;
    interrupted += working;
}

#ifdef POLLED
static void ticks(int on) { (void)on; }
static void poll(void) { board_tick(); }
#else
#define SYST_CSR (*(volatile uint32_t *)0xe000e010u)
#define SYST_RVR (*(volatile uint32_t *)0xe000e014u)
#define SYST_CVR (*(volatile uint32_t *)0xe000e018u)
#define PERIOD   10007u /* cycles; prime, so that it falls anywhere in the work */

static void ticks(int on) {
    SYST_RVR = PERIOD;
    SYST_CVR = 0;
    SYST_CSR = on ? 7u : 0u; /* processor clock, interrupt, on */
}
static void poll(void) {}
#endif

/* The calls of rfm_online_step are made from here alone: boards/count counts them. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static int
work(void) {
    int status;
    working = 1;
    status = rfm_online_step(&online, SLICE);
    working = 0;
    return status;
}

/* Learns what comes until the position is reached, and predicts after each slice. Returns the number of slices. */
static uint32_t live(uint32_t to) {
    float scores[CLASSES];
    uint32_t slices = 0;
    size_t row = 0, label;
    int more = 0;
    interrupted = 0;
    until = to;
    ticks(1);
    while (position < to || more) {
        poll();
        more = work();
        slices++;
        if (more < 0) break;
        check(rfm_online_predict(&online, test_x[row], scores, &label, NULL) == RFM_OK, "a prediction between slices");
        row = row + 1 < TESTS ? row + 1 : 0;
        if (!more && position == to) more = work(); /* one may have come since */
    }
    ticks(0);
    check(more == 0, "step");
#ifndef POLLED
    check(interrupted > 0, "no sample has interrupted a step");
#endif
    return slices;
}

/* ---- saving --------------------------------------------------------------------------------- */

/* What is stored: this, the learner's state, zeros up to the length that was announced. */
typedef struct {
    uint32_t position, life;
    uint32_t crc; /* of the predictions when it was saved */
    uint32_t zero;
} head;

static int save(rfm_store *store, const head *h, size_t *bytes) {
    int status = rfm_online_save_need(&online, bytes);
    *bytes += sizeof *h;
    if (status == RFM_OK) status = rfm_store_begin(store, *bytes);
    if (status == RFM_OK) status = rfm_store_append(store, h, sizeof *h);
    if (status == RFM_OK) status = rfm_online_save(&online, rfm_store_put, store);
    if (status == RFM_OK) status = rfm_store_pad(store);
    if (status == RFM_OK) status = rfm_store_commit(store);
    return status;
}

static int load(const rfm_store *store, head *h) {
    rfm_store_reader r;
    int status = rfm_store_read(store, 0, h, sizeof *h);
    r.store = store, r.at = sizeof *h;
    if (status == RFM_OK) status = rfm_online_load(&online, rfm_store_get, &r);
    return status;
}

static void reset(void) {
#ifdef BOARD_BARE
    __asm__ volatile("dsb");
    *(volatile uint32_t *)0xe000ed0cu = 0x05fa0004u; /* AIRCR: SYSRESETREQ */
    for (;;) {
    }
#endif
}

/* ---- main ----------------------------------------------------------------------------------- */

#define HALF           (STREAM / 2)
#define THREE_QUARTERS (STREAM / 4 * 3)
#define GAIN           (TESTS / 4) /* test rows that the learner has to be ahead by */

static void print_result(size_t need, size_t frozen, size_t right, uint32_t crc) {
    static char classes[TESTS + 1];
    float scores[CLASSES];
    rfm_online_report report;
    size_t i, k, label = 0;
    (void)rfm_online_report_get(&online, &report);
    print_line("window", (long)online.window);
    print_line("room", (long)sizeof memory);
    print_line("arena", (long)need);
    print_line("learner", (long)sizeof online);
    print_line("absorbed", (long)report.absorbed);
    print_line("refits", (long)report.refits);
    print_line("rejected", (long)report.rejected);
    print_line("failed", (long)report.failed);
    print_line("frozen", (long)frozen);
    print_line("adapting", (long)right);
    for (i = 0; i < TESTS; i++) {
        (void)rfm_online_predict(&online, test_x[i], scores, &label, NULL);
        classes[i] = (char)('0' + label);
        for (k = 0; i < 8 && k < CLASSES; k++) print_line("score", (long)(scores[k] * 1e6f));
    }
    print_line("crc", (long)(crc & 0x7fffffff));
    print("classes ");
    print(classes);
    print("\n");
    check(report.samples == online.window && report.absorbed == STREAM && report.dropped == 0,
          "not all samples were absorbed");
    check(report.own && report.refits > 0 && report.failed == 0, "no refit was accepted");
    check(right >= frozen + GAIN, "the learner is not ahead");
}

int main(void) {
    rfm_store store;
    size_t need = 0, frozen, right, bytes = 0;
    uint32_t crc, slices;
    head h;
    int status;
    if (rfm_model_open(start_blob, sizeof start_blob, &start) != RFM_OK || learner_start(&need) != RFM_OK ||
        flash_start() != 0) {
        print("FAILED: the start\n");
        return 1;
    }
    memset(&h, 0, sizeof h);
    status = rfm_store_open(&store, &flash);
    if (status == RFM_OK) {
        check(load(&store, &h) == RFM_OK, "the state is not to be had");
        (void)score_learner(&crc);
        check(crc == h.crc, "other predictions than before the reset");
    } else
        check(status == RFM_EEMPTY, "the store");
    h.life++;
    print_line("life", (long)h.life);
    position = h.position;
    slices = live(position < HALF ? HALF : position < THREE_QUARTERS ? THREE_QUARTERS : STREAM);
    print_line("slices", (long)slices);
    h.position = position;
    frozen = score_start();
    right = score_learner(&h.crc);
    print_line("right", (long)right);
    if (h.position == STREAM) {
        check(h.life == 3, "not the third life");
        print_result(need, frozen, right, h.crc);
#ifdef BOARD_BARE
        print_line("stack", (long)board_stack_used());
#endif
        print(failed == 0 ? "done\n" : "");
    } else {
        check(save(&store, &h, &bytes) == RFM_OK, "the state cannot be saved");
        print_line("state", (long)bytes);
    }
    file_close();
    if (failed == 0 && h.position == HALF) reset();
    return failed;
}

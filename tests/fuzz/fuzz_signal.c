/* libFuzzer's target for rfm_signal_open: the bytes as they are, and then with a right length and checksum. What opens
 * is used: a stream on exactly its memory takes samples at their ends, and gives features. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "rfm_signal.h"

enum { SIGNAL_MAGIC = 0x776d6672, SIGNAL_BYTES = 8, SIGNAL_HEAD = 28, MOST_WORK = 1 << 16 };

size_t target_seed(size_t index, unsigned char *to) {
    static const struct {
        const char *spec;
        size_t window, step;
        int reals;
    } seeds[] = {
        {"a: mean std min max rms energy zero cross", 5, 2, 0},
        {"a: low0.1 mean fft3; b: log4 mel2 mfcc2/4", 32, 16, 0},
        {"*: band0.1-0.3 std mel4", 16, 40, 1},
        {"b, a: high0.2 mfcc3; a: cross", 64, 1, 1},
    };
    rfm_signal_options o;
    rfm_signal_fault fault;
    size_t size = 0;
    if (index >= sizeof seeds / sizeof *seeds) return 0;
    memset(&o, 0, sizeof o);
    o.window = seeds[index].window, o.step = seeds[index].step, o.reals = seeds[index].reals;
    o.channels = 2, o.names = "a\0b";
    require(rfm_signal_compile(seeds[index].spec, &o, to, FUZZ_LARGEST, &size, &fault) == RFM_OK, "a seed compiles");
    return size;
}

static void run_stream(const rfm_signal *signal) {
    static const int ends[] = {-32768, 32767, 0, -1, 777};
    const size_t count = signal->features;
    rfm_real *x = malloc(signal->channels * sizeof *x), *features = malloc(count * sizeof *features);
    int16_t *xi = malloc(signal->channels * sizeof *xi), *features_i = malloc(count * sizeof *features_i);
    rfm_stream stream;
    size_t bytes = 0, i, c;
    void *memory;
    require(rfm_stream_need(signal, 1, &bytes) == RFM_OK, "need of a signal that opens");
    memory = malloc(bytes);
    require(x != NULL && features != NULL && xi != NULL && features_i != NULL && memory != NULL, "memory");
    require(rfm_stream_init(&stream, signal, 1, memory, bytes) == RFM_OK, "init on what is needed");
    for (i = 0; i < signal->window + 3 * (size_t)signal->step && i < 4 * (size_t)signal->window + 9; i++) {
        for (c = 0; c < signal->channels; c++) {
            const int value = i % 7 < 5 ? ends[(i + c) % 5] : (int)((i * 7919 + c) % 65536) - 32768;
            xi[c] = (int16_t)value, x[c] = (rfm_real)value * (i % 3 == 0 ? (rfm_real)3e7 : 1);
        }
        require((signal->reals ? rfm_stream_push(&stream, x) : rfm_stream_push_i(&stream, xi)) == RFM_OK, "push");
        if (!rfm_stream_ready(&stream)) continue;
        if (signal->reals) {
            const int status = rfm_stream_take(&stream, features);
            require(status == RFM_OK || status == RFM_ERANGE, "status of features");
            if (status == RFM_OK) require(rfm_finite(count, features), "features are finite");
        } else
            require(rfm_stream_take_i(&stream, features_i) == RFM_OK, "features");
    }
    free(x), free(features), free(xi), free(features_i), free(memory);
}

static void use(const unsigned char *bytes, size_t size) {
    unsigned char *copy = malloc(size + (size == 0)); /* ends with the bytes */
    rfm_signal signal, before;
    char name[16];
    size_t i;
    require(copy != NULL, "memory");
    if (size > 0) memcpy(copy, bytes, size);
    memset(&signal, 0xA5, sizeof signal);
    before = signal;
    if (rfm_signal_open(copy, size, &signal) != RFM_OK) {
        require(memcmp(&signal, &before, sizeof signal) == 0, "a refusal leaves the signal alone");
        free(copy);
        return;
    }
    for (i = 0; i < signal.features; i++)
        require(rfm_signal_name(&signal, i, name, sizeof name) == (signal.names != NULL ? RFM_OK : RFM_EVALUE), "name");
    if ((size_t)signal.window * signal.tracks * (1 + signal.words) < MOST_WORK) run_stream(&signal);
    require(rfm_signal_strip(copy, &size) == RFM_OK && rfm_signal_open(copy, size, &signal) == RFM_OK, "strip");
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static unsigned char sealed[FUZZ_LARGEST];
    use(bytes, size);
    if (size < SIGNAL_HEAD || size > sizeof sealed) return 0;
    memcpy(sealed, bytes, size);
    fuzz_put32(sealed, SIGNAL_MAGIC);
    fuzz_put32(sealed + SIGNAL_BYTES, (unsigned long)size);
    fuzz_put32(sealed + FUZZ_CRC, rfm_crc32(0, sealed + FUZZ_COVERED, size - FUZZ_COVERED));
    use(sealed, size);
    return 0;
}

/* libFuzzer's harness for rfm_filters_open: the bytes as they are, and then with a right length and checksum, of the
 * bank and of the model inside. What opens is used with samples at their ends. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "rfm_filters.h"

#define MAGIC 0x666d6672u

static void seal(unsigned char *at, size_t size, size_t length) {
    fuzz_put32(at + length, (unsigned long)size);
    fuzz_put32(at + 4, rfm_crc32(0, at + 8, size - 8));
}

/* The bank of the seed that has a model of integers of d features behind it. */
static size_t bank_seed(const rfm_model_i *model, uint32_t channels, unsigned char *to) {
    static const int32_t bias[4] = {5, -70000, 0, 12};
    static const uint8_t shifts[4] = {0, 8, 31, 3};
    static const int8_t weights[4 * 3 * 2] = {127, -127, 3, 4, 5, -6, 7, 8, 9, 1, 2}, exponents[3] = {0, 14, -3};
    rfm_filters f;
    size_t size;
    memset(&f, 0, sizeof f);
    f.channels = channels, f.samples = (uint32_t)model->d + 1, f.taps = 2, f.filters = 1, f.span = 1;
    f.segments = (uint32_t)model->d, f.pools = RFM_POOL_MAX, f.rectify = RFM_RECTIFY_ABS;
    f.bias = bias, f.bank = weights, f.shifts = shifts, f.exponents = exponents, f.model = *model;
    if (rfm_filters_size(&f, 0, &size) != RFM_OK || size > FUZZ_LARGEST) return 0;
    return rfm_filters_write(&f, NULL, 0, to, size) == RFM_OK ? size : 0;
}

size_t target_seed(size_t index, unsigned char *to) {
    RFM_ALIGNED static unsigned char blob[FUZZ_LARGEST], bank[FUZZ_LARGEST];
    rfm_model_i model;
    size_t i, size, seen = 0;
    for (i = 0; (size = fuzz_seed(i, blob)) > 0; i++) {
        if (rfm_model_open_i(blob, size, &model) != RFM_OK) continue;
        size = bank_seed(&model, (uint32_t)(i % 3 + 1), bank);
        if (size == 0 || seen++ < index) continue;
        memcpy(to, bank, size);
        return size;
    }
    return 0;
}

static void use(const unsigned char *bytes, size_t size) {
    static const int ends[5] = {-32768, 32767, 0, -1, 777};
    unsigned char *blob = malloc(size > 0 ? size : 1);
    rfm_filters f, before;
    size_t i, window, end;
    require(blob != NULL, "memory");
    if (size > 0) memcpy(blob, bytes, size);
    memset(&f, 0xA5, sizeof f);
    before = f;
    if (rfm_filters_open(blob, size, &f) != RFM_OK) {
        require(memcmp(&f, &before, sizeof f) == 0, "a refusal leaves the bank alone");
        free(blob);
        return;
    }
    window = (size_t)f.channels * f.samples;
    require(rfm_filters_count(&f) == f.model.d, "features are the inputs of the model");
    if (window < 1 << 16 && (double)f.filters * f.samples * f.channels * f.taps < 1e6) {
        int16_t *x = malloc(window * sizeof *x);
        int16_t *scratch = malloc(RFM_FILTERS_SCRATCH(f.model.d, f.model.r) * sizeof *scratch);
        int32_t *scores = malloc(f.model.c * sizeof *scores);
        require(x != NULL && scratch != NULL && scores != NULL, "memory");
        for (end = 0; end < 5; end++) {
            for (i = 0; i < window; i++) x[i] = (int16_t)(end < 4 ? ends[end] : (int)(i * 7919 % 65536) - 32768);
            require(rfm_filters_predict(&f, x, scores, scratch, NULL, NULL) == RFM_OK, "status of a prediction");
            for (i = 0; i < f.model.d; i++) require(scratch[i] >= 0, "features are not negative");
            (void)rfm_class_i(&f.model, scores);
        }
        free(x);
        free(scratch);
        free(scores);
    }
    for (i = 0; f.input_names != NULL && i < window; i++) (void)strlen(rfm_name(f.input_names, i));
    free(blob);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    RFM_ALIGNED static unsigned char sealed[FUZZ_LARGEST];
    size_t at;
    use(bytes, size);
    if (size < 32 || size > sizeof sealed) return 0;
    memcpy(sealed, bytes, size);
    fuzz_put32(sealed, MAGIC);
    for (at = 32; at + 64 < size; at += 16) /* the model, if it is still there */
        if (memcmp(sealed + at, "rfmb", 4) == 0) seal(sealed + at, size - at, 12);
    seal(sealed, size, 8);
    use(sealed, size);
    return 0;
}

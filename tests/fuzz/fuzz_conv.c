/* libFuzzer's target for rfm_conv_open: the bytes as they are, and then with a right length and checksum, opened as a
 * model of patches; what opens is used, one image at a time and all at once, and written again. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "rfm_conv.h"

enum { CONV_MAGIC = 0x706d6672, CONV_HEAD = 80, MEMORY = 1 << 22 };

RFM_ALIGNED static unsigned char memory[MEMORY], kept[MEMORY / 4];

/* ---- seeds ------------------------------------------------------------------------------------- */

size_t target_seed(size_t index, unsigned char *to) {
    static const struct {
        int kernel, depth, padded;
        size_t channels, height, width, c, layers;
    } seeds[] = {
        {RFM_CONV_LAPLACE, 1, 0, 1, 3, 4, 1, 0}, {RFM_CONV_NNGP, 1, 1, 2, 2, 3, 2, 0},
        {RFM_CONV_NTK, 2, 0, 1, 3, 4, 2, 0},     {RFM_CONV_NTK, 3, 1, 1, 1, 5, 1, 0},
        {RFM_CONV_NTK, 2, 0, 1, 4, 3, 1, 1},
    };
    rfm_real x[3 * 16], y[6];
    rfm_conv_options o;
    rfm_conv_model m;
    rfm_arena arena, store;
    rfm_data data;
    rfm_ctx ctx;
    size_t i, pixels, bytes = 0;
    if (index >= sizeof seeds / sizeof *seeds) return 0;
    pixels = seeds[index].channels * seeds[index].height * seeds[index].width;
    for (i = 0; i < sizeof x / sizeof *x; i++) x[i] = (rfm_real)((int)(i * 37 % 17) - 8) / 8;
    for (i = 0; i < 6; i++) y[i] = (rfm_real)(i % 2);
    memset(&ctx, 0, sizeof ctx);
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(x, 3, pixels), data.y = rfm_cview(y, 3, seeds[index].c);
    rfm_conv_options_init(&o);
    o.kernel = seeds[index].kernel, o.depth = seeds[index].depth, o.padded = seeds[index].padded, o.patch = 2;
    o.rounds = index % 2, o.select = RFM_SELECT_LAST, o.layers = seeds[index].layers, o.filters = 2, o.best = 0;
    (void)rfm_arena_init(&arena, memory, sizeof memory);
    (void)rfm_arena_init(&store, kept, sizeof kept);
    ctx.arena = &arena;
    require(rfm_conv_fit(&ctx, seeds[index].channels, seeds[index].height, seeds[index].width, &data, &o, &store, &m,
                         NULL) == RFM_OK,
            "a seed is fitted");
    if (index % 2) m.class_names = seeds[index].c == 1 ? "a\0b" : "one\0two";
    require(rfm_conv_size(&m, 0, &bytes) == RFM_OK && bytes <= FUZZ_LARGEST, "size of a seed");
    memset(to, 0, FUZZ_LARGEST);
    {
        unsigned char *blob = malloc(bytes); /* malloc's are aligned to 16 */
        require(blob != NULL && rfm_conv_write(&m, NULL, 0, blob, bytes) == RFM_OK, "a seed is written");
        memcpy(to, blob, bytes);
        free(blob);
    }
    return bytes;
}

/* ---- use --------------------------------------------------------------------------------------- */

static void use_model(const rfm_conv_model *m, size_t size) {
    const size_t pixels = rfm_conv_pixels(&m->input), room = rfm_conv_scratch(m);
    rfm_real *x = malloc(pixels * sizeof *x), *scores = malloc(m->c * sizeof *scores);
    rfm_real *scratch = malloc(room * sizeof *scratch);
    size_t i, bytes = 0, kind;
    require(x != NULL && scores != NULL && scratch != NULL, "memory");
    for (kind = 0; kind < 2; kind++) {
        rfm_arena arena;
        rfm_ctx ctx;
        int status;
        for (i = 0; i < pixels; i++) x[i] = kind == 0 ? (rfm_real)((int)(i * 29 % 13) - 6) / 4 : (rfm_real)1e30;
        status = rfm_conv_predict_one(m, x, scores, scratch);
        require(status == RFM_OK || status == RFM_ERANGE, "status of a prediction");
        if (status == RFM_OK) require(rfm_finite(m->c, scores), "scores are finite");
        if (status == RFM_OK) require(rfm_conv_class(m, scores) < (m->c == 1 ? 2 : m->c), "class");
        memset(&ctx, 0, sizeof ctx);
        (void)rfm_arena_init(&arena, memory, sizeof memory);
        ctx.arena = &arena;
        status = rfm_conv_predict(&ctx, m, rfm_cview(x, 1, pixels), rfm_view(scores, 1, m->c));
        require(status == RFM_OK || status == RFM_ERANGE || status == RFM_EARENA || status == RFM_ESHAPE,
                "status of predictions");
        if (status == RFM_OK) require(rfm_finite(m->c, scores), "scores of many are finite");
    }
    if (m->r <= rfm_conv_patch(&m->f))
        require(rfm_conv_size(m, 0, &bytes) == RFM_OK && bytes <= size, "size of what was opened");
    free(x), free(scores), free(scratch);
}

static void use(const unsigned char *bytes, size_t size) {
    unsigned char *blob = malloc(size + (size == 0)); /* ends with the bytes */
    rfm_conv_model m, before;
    size_t record = 0;
    const void *found;
    require(blob != NULL, "memory");
    if (size > 0) memcpy(blob, bytes, size);
    memset(&m, 0xA5, sizeof m);
    before = m;
    if (rfm_conv_open(blob, size, &m) == RFM_OK)
        use_model(&m, size);
    else
        require(memcmp(&m, &before, sizeof m) == 0, "a refusal leaves the model alone");
    found = rfm_conv_record(blob, size, &record);
    if (found != NULL)
        require((const unsigned char *)found >= blob && (const unsigned char *)found + record <= blob + size, "record");
    free(blob);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_use_sealed(bytes, size, CONV_MAGIC, CONV_HEAD, NULL, use);
    return 0;
}

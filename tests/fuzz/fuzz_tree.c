/* libFuzzer's target for rfm_tree_open: the bytes as they are, and then with right lengths and checksums of the tree
 * and of its leaves; what opens is used, one row at a time and all at once, with hard and with soft routing. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "rfm_tree.h"

enum { TREE_MAGIC = 0x746d6672, TREE_HEAD = 64, LEAF_BYTES = 12, MEMORY = 1 << 22, MOST = 4096 };

RFM_ALIGNED static unsigned char memory[MEMORY], kept[1 << 16];

/* ---- seeds ------------------------------------------------------------------------------------- */

size_t target_seed(size_t index, unsigned char *to) {
    static const struct {
        size_t n, d, c, leaf, trees;
    } seeds[] = {{6, 1, 1, 3, 1}, {9, 2, 2, 3, 1}, {8, 2, 1, 4, 2}, {3, 1, 2, 4, 1}};
    rfm_real x[18], y[18];
    rfm_tree_options o;
    rfm_contents parts;
    rfm_tree tree;
    rfm_tree_report report;
    rfm_arena arena;
    rfm_data data;
    rfm_ctx ctx;
    size_t i;
    if (index >= sizeof seeds / sizeof *seeds) return 0;
    for (i = 0; i < 18; i++) x[i] = (rfm_real)((int)(i * 37 % 17) - 8) / 8, y[i] = (rfm_real)(i % 3);
    memset(&ctx, 0, sizeof ctx);
    memset(&data, 0, sizeof data);
    memset(&parts, 0, sizeof parts);
    data.x = rfm_cview(x, seeds[index].n, seeds[index].d), data.y = rfm_cview(y, seeds[index].n, seeds[index].c);
    rfm_tree_options_init(&o);
    o.leaf_rows = seeds[index].leaf, o.trees = seeds[index].trees, o.leaf[0].iterations = index % 2;
    o.leaf[0].metric = index % 2 ? RFM_FULL : RFM_DIAGONAL;
    if (index % 2) parts.class_names = "one\0two", parts.task = RFM_CLASSIFY;
    (void)rfm_arena_init(&arena, memory, sizeof memory);
    ctx.arena = &arena;
    require(rfm_tree_fit(&ctx, &data, &o, &parts, kept, sizeof kept, &tree, &report) == RFM_OK, "a seed is fitted");
    require(report.bytes <= FUZZ_LARGEST, "size of a seed");
    memset(to, 0, FUZZ_LARGEST);
    memcpy(to, kept, report.bytes);
    return report.bytes;
}

/* ---- use --------------------------------------------------------------------------------------- */

static void use_tree(const rfm_tree *opened) {
    rfm_tree t = *opened;
    const size_t room = RFM_TREE_SCRATCH(t.d, t.c, t.rank);
    rfm_real *x, *scores, *scratch;
    size_t kind, i;
    if (t.d > MOST || t.c > MOST || t.rank > MOST) return;
    x = malloc(t.d * sizeof *x), scores = malloc(t.c * sizeof *scores), scratch = malloc(room * sizeof *scratch);
    require(x != NULL && scores != NULL && scratch != NULL, "memory");
    for (kind = 0; kind < 3; kind++) {
        rfm_arena arena;
        rfm_ctx ctx;
        int status;
        for (i = 0; i < t.d; i++) x[i] = kind == 1 ? (rfm_real)1e30 : (rfm_real)((int)(i * 29 % 13) - 6) / 4;
        status = rfm_tree_predict_one(&t, x, scores, scratch, NULL, NULL);
        require(status == RFM_OK || status == RFM_ERANGE, "status of a prediction");
        if (status == RFM_OK) require(rfm_finite(t.c, scores), "scores are finite");
        if (status == RFM_OK) require(rfm_tree_class(&t, scores, NULL) < (t.c == 1 ? 2 : t.c), "class");
        if (kind == 2) t.softness = (rfm_real)0.5;
        memset(&ctx, 0, sizeof ctx);
        (void)rfm_arena_init(&arena, memory, sizeof memory);
        ctx.arena = &arena;
        status = rfm_tree_predict(&ctx, &t, rfm_cview(x, 1, t.d), rfm_view(scores, 1, t.c));
        require(status == RFM_OK || status == RFM_ERANGE || status == RFM_EARENA || status == RFM_EVALUE,
                "status of predictions");
        if (status == RFM_OK) require(rfm_finite(t.c, scores), "scores of many are finite");
    }
    free(x), free(scores), free(scratch);
}

static void use(const unsigned char *bytes, size_t size) {
    unsigned char *blob = malloc(size + (size == 0)); /* ends with the bytes */
    rfm_tree t, before;
    size_t record = 0;
    const void *found;
    require(blob != NULL, "memory");
    if (size > 0) memcpy(blob, bytes, size);
    memset(&t, 0xA5, sizeof t);
    before = t;
    if (rfm_tree_open(blob, size, &t) == RFM_OK)
        use_tree(&t);
    else
        require(memcmp(&t, &before, sizeof t) == 0, "a refusal leaves the tree alone");
    found = rfm_tree_record(blob, size, &record);
    if (found != NULL)
        require((const unsigned char *)found >= blob && (const unsigned char *)found + record <= blob + size, "record");
    free(blob);
}

/* Every leaf that begins at a multiple of 16 gets its checksum. */
static void seal_leaves(unsigned char *b, size_t size) {
    size_t at, bytes;
    for (at = TREE_HEAD; at + 48 <= size; at += RFM_ALIGN) {
        if (memcmp(b + at, "rfmb", 4) != 0) continue;
        bytes = rfm_get_u32(b + at + LEAF_BYTES);
        if (bytes >= 8 && bytes <= size - at) fuzz_put32(b + at + FUZZ_CRC, rfm_crc32(0, b + at + 8, bytes - 8));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_use_sealed(bytes, size, TREE_MAGIC, TREE_HEAD, seal_leaves, use);
    return 0;
}

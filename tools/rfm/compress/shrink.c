#include "compress.h"

#include <stdlib.h>
#include <string.h>

/* ---- steps ---------------------------------------------------------------------------------- */

/* Two blocks for a step: scratch for the context, and the store that stays. */
typedef struct {
    rfm_ctx ctx;
    rfm_arena scratch, store;
    void *scratch_memory, *store_memory;
} step;

static void step_begin(step *s, const rfm_ctx *ctx, size_t scratch, size_t store) {
    s->ctx = *ctx;
    s->ctx.arena = &s->scratch;
    s->scratch_memory = allocate_aligned(scratch, "compressing");
    s->store_memory = allocate_aligned(store, "a small model");
    (void)rfm_arena_init(&s->scratch, s->scratch_memory, scratch);
    (void)rfm_arena_init(&s->store, s->store_memory, store);
}

static int step_end(step *s, int status, void **memory) {
    free(s->scratch_memory);
    if (status == RFM_OK)
        *memory = s->store_memory;
    else
        free(s->store_memory);
    return status;
}

static rfm_ctx measuring(const rfm_ctx *ctx, rfm_arena *none) {
    rfm_ctx c = *ctx;
    rfm_arena_measure(none);
    c.arena = none;
    return c;
}

static int lower_rank(const rfm_ctx *ctx, const rfm_model *source, const rfm_data *rows, size_t rank, rfm_model *small,
                      rfm_real *share, void **memory) {
    rfm_arena none;
    rfm_ctx sizes = measuring(ctx, &none);
    size_t scratch = 0, store = 0;
    step s;
    int status = rfm_small_rank_need(&sizes, source, rows, rank, &scratch, &store);
    if (status != RFM_OK) return status;
    step_begin(&s, ctx, scratch, store);
    return step_end(&s, rfm_small_rank(&s.ctx, source, rows, rank, &s.store, small, share), memory);
}

static int fewer_centers(const rfm_ctx *ctx, const rfm_model *source, const rfm_data *rows, size_t centers,
                         const thinning *how, rfm_model *small, void **memory) {
    rfm_arena none;
    rfm_ctx sizes = measuring(ctx, &none);
    size_t scratch = 0, store = 0;
    rfm_centers_options thin;
    step s;
    int status;
    memset(&thin, 0, sizeof thin);
    thin.centers = centers, thin.method = how->method, thin.ridge = how->ridge, thin.polish = how->polish,
    thin.seed = how->seed;
    status = rfm_small_centers_need(&sizes, source, rows, &thin, &scratch, &store);
    if (status != RFM_OK) return status;
    step_begin(&s, ctx, scratch, store);
    return step_end(&s, rfm_small_centers(&s.ctx, source, rows, &thin, &s.store, small), memory);
}

int rank_share(const rfm_ctx *ctx, const rfm_model *source, const rfm_data *rows, size_t rank, double *share) {
    rfm_model low;
    rfm_real left = 1;
    void *memory = NULL;
    int status = lower_rank(ctx, source, rows, rank, &low, &left, &memory);
    *share = (double)left;
    free(memory);
    return status;
}

int shrink(const rfm_ctx *ctx, const rfm_model *source, const rfm_data *rows, size_t rank, size_t centers,
           const thinning *how, rfm_model *small, void **memory) {
    rfm_model low = *source;
    void *low_memory = NULL;
    int status = RFM_OK;
    *memory = NULL;
    if (rank < source->r) status = lower_rank(ctx, source, rows, rank, &low, NULL, &low_memory);
    if (status == RFM_OK && (rank < source->r || centers < source->n))
        status = fewer_centers(ctx, &low, rows, centers, how, small, memory);
    else
        *small = low;
    free(low_memory); /* the thinned model has its own copy of everything */
    return status;
}

int to_integers(const rfm_ctx *ctx, const rfm_model *source, const rfm_data *rows, int type, rfm_real ridge,
                rfm_model_i *small, void **memory) {
    rfm_arena none;
    rfm_ctx sizes = measuring(ctx, &none);
    size_t scratch = 0, store = 0;
    step s;
    int status = rfm_small_integers_need(&sizes, source, rows, type, &scratch, &store);
    if (status != RFM_OK) return status;
    step_begin(&s, ctx, scratch, store);
    return step_end(&s, rfm_small_integers(&s.ctx, source, rows, type, ridge, &s.store, small), memory);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

#define NODES_MOST 233 /* of phi: rfm_small.h */

/* The summary of an opened model as one that can be written. */
static void summary_of(const rfm_model *model, rfm_summary *s, rfm_step *path, size_t room) {
    memset(s, 0, sizeof *s);
    if (rfm_model_summary(model, s, path, room) == RFM_OK)
        s->path = path, s->steps = s->steps < room ? s->steps : (uint32_t)room;
}

size_t shape_bytes(const rfm_model *source, const extras *e, int type, size_t rank, size_t centers) {
    size_t bytes = 0;
    int status;
    if (type >= RFM_F32) {
        rfm_step path[MOST_ITERATIONS + 1];
        rfm_summary summary;
        rfm_model m = *source;
        rfm_contents parts;
        memset(&parts, 0, sizeof parts);
        if (rank < m.r) m.metric = RFM_FULL, m.p = source->shift; /* there is one: more is not looked at */
        m.r = rank, m.n = centers;
        summary_of(source, &summary, path, MOST_ITERATIONS + 1);
        parts.model = &m, parts.task = source->task, parts.class_names = e->class_names,
        parts.input_names = e->input_names;
        if (e->summary) parts.summary = &summary;
        parts.record = e->record, parts.record_bytes = e->record_bytes;
        status = rfm_model_size(&parts, &bytes);
    } else {
        static const int32_t there[2] = {0, 0}; /* what arrays point to where only their sizes count */
        rfm_model_i m;
        memset(&m, 0, sizeof m);
        m.n = centers, m.d = source->d, m.c = source->c, m.r = rank, m.type = type,
        m.nodes = e->nodes > 0 && e->nodes < NODES_MOST && type == RFM_I8 ? e->nodes : NODES_MOST;
        m.metric = rank < source->r || source->metric == RFM_FULL ? RFM_FULL : RFM_DIAGONAL;
        m.task = source->task;
        m.inputs = (const rfm_input_i *)there, m.centers = m.alpha = there, m.bias = m.offset = there;
        if (m.metric == RFM_FULL) m.p = there, m.shifts = (const uint8_t *)there;
        m.phi = (const uint16_t *)there, m.units = (const float *)there;
        m.class_names = e->class_names, m.input_names = e->input_names, m.summary = e->summary ? source->summary : NULL;
        status = rfm_model_size_i(&m, e->record_bytes, &bytes);
    }
    if (status != RFM_OK) fail("cannot tell the size of a model: %s", rfm_status_text(status));
    return bytes;
}

size_t shape_centers(const rfm_model *source, const extras *e, int type, size_t rank, size_t bytes) {
    size_t low = 0, high = 1;
    while (high < source->n && shape_bytes(source, e, type, rank, high) <= bytes) low = high, high *= 2;
    if (high > source->n) high = source->n;
    if (shape_bytes(source, e, type, rank, high) <= bytes) return high;
    while (high - low > 1) { /* low fits, high does not */
        size_t middle = low + (high - low) / 2;
        if (shape_bytes(source, e, type, rank, middle) <= bytes)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void *firmware_blob(const any_model *model, const void *blob, size_t size, size_t *bytes) {
    extras e;
    void *copy;
    memset(&e, 0, sizeof e);
    if (!is_tiny(model)) e.class_names = model->numbers.class_names;
    if (model->numbers.summary != NULL) e.summary = 1, e.input_names = model->numbers.input_names;
    if (model->numbers.summary == NULL || model->record.bytes > 0) return small_blob(model, &e, bytes);
    copy = allocate_aligned(size, "the model");
    memcpy(copy, blob, size);
    *bytes = size;
    return copy;
}

void *small_blob(const any_model *model, const extras *e, size_t *bytes) {
    void *blob = NULL;
    int status;
    if (is_tiny(model)) {
        rfm_tiny m = model->tiny;
        m.class_names = e->class_names, m.input_names = e->input_names;
        status = rfm_tiny_size(&m, e->record_bytes, bytes);
        if (status == RFM_OK) {
            blob = allocate_aligned(*bytes, "the model");
            status = rfm_tiny_write(&m, e->record, e->record_bytes, blob, *bytes);
        }
    } else if (has_integers(model)) {
        rfm_model_i m = model->integers;
        m.class_names = e->class_names, m.input_names = e->input_names;
        if (!e->summary) m.summary = NULL;
        status = rfm_model_size_i(&m, e->record_bytes, bytes);
        if (status == RFM_OK) {
            blob = allocate_aligned(*bytes, "the model");
            status = rfm_model_write_i(&m, e->record, e->record_bytes, blob, *bytes);
        }
    } else {
        rfm_model m = model->numbers;
        rfm_step path[MOST_ITERATIONS + 1];
        rfm_summary summary;
        rfm_contents parts;
        memset(&parts, 0, sizeof parts);
        parts.model = &m, parts.task = m.task, parts.temperature = m.temperature;
        parts.class_names = e->class_names, parts.input_names = e->input_names;
        summary_of(&m, &summary, path, MOST_ITERATIONS + 1);
        if (e->summary) parts.summary = &summary;
        parts.record = e->record, parts.record_bytes = e->record_bytes;
        status = rfm_model_size(&parts, bytes);
        if (status == RFM_OK) {
            blob = allocate_aligned(*bytes, "the model");
            status = rfm_model_write(&parts, blob, *bytes);
        }
    }
    if (status != RFM_OK) fail("cannot write the model: %s", rfm_status_text(status));
    return blob;
}

/* libFuzzer's target for rfm_online: a learner's saved state, and what is done with the learner that it becomes.
 *
 * An input is one byte that chooses the learner, one that says how the state is mended before it is loaded, two with
 * the length of the state, the state, and what is done then. The header is made right, and the checksum where load
 * looks for it, unless that byte says no. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "rfm_online.h"

enum { STATE_MOST = 2048, HEADER = 24, MEMORY = 1 << 14 };
enum { KEEP_HEADER = 1, KEEP_CHECKSUM = 2 };

typedef struct {
    unsigned char bytes[STATE_MOST];
    size_t size, at, last; /* `last`: where the last piece was taken from */
} state;

static int put(void *arg, const void *bytes, size_t count) {
    state *s = arg;

    require(count > 0 && count <= 64 && count <= STATE_MOST - s->size, "a piece of a state");
    memcpy(s->bytes + s->size, bytes, count);
    s->size += count;
    return RFM_OK;
}

static int get(void *arg, void *bytes, size_t count) {
    state *s = arg;

    require(count > 0 && count <= 64, "a piece of a state to be read");
    if (count > s->size - s->at) return RFM_ETRUNCATED;
    memcpy(bytes, s->bytes + s->at, count);
    s->last = s->at, s->at += count;
    return RFM_OK;
}

/* ---- learners ------------------------------------------------------------------------------- */

typedef struct {
    size_t window, inputs, outputs, pending;
    int int8, kernel, scale, forget, score, start;
    size_t iterations, refit_every;
} kind;

static const kind kinds[] = {
    {4, 1, 1, 1, 0, RFM_LAPLACE, RFM_SCALE_NONE, RFM_FORGET_OLDEST, RFM_SCORE_SQUARED, 0, 1, 0},
    {5, 2, 2, 2, 0, RFM_GAUSSIAN, RFM_SCALE_MAX, RFM_FORGET_BALANCED, RFM_SCORE_SQUARED, 0, 2, 3},
    {6, 3, 3, 4, 0, RFM_LAPLACE, RFM_SCALE_TRACE, RFM_FORGET_LEAST, RFM_SCORE_ACCURACY, 0, 1, 2},
    {5, 2, 1, 2, 1, RFM_LAPLACE, RFM_SCALE_MAX, RFM_FORGET_BALANCED, RFM_SCORE_ACCURACY, 0, 1, 4},
    {4, 2, 2, 3, 1, RFM_GAUSSIAN, RFM_SCALE_TRACE, RFM_FORGET_LEAST, RFM_SCORE_SQUARED, 1, 0, 1},
    {6, 2, 2, 2, 0, RFM_LAPLACE, RFM_SCALE_NONE, RFM_FORGET_BALANCED, RFM_SCORE_SQUARED, 1, 3, 2},
    {1, 1, 2, 1, 0, RFM_GAUSSIAN, RFM_SCALE_MAX, RFM_FORGET_OLDEST, RFM_SCORE_SQUARED, 0, 1, 1},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Two centres, two inputs, two outputs. */
static rfm_model start_model(int kernel) {
    static const rfm_real shift[] = {0, 1}, p[] = {1, 2}, centers[] = {0, 0, 1, 1}, alpha[] = {1, 0, 0, 1};
    rfm_model m;

    memset(&m, 0, sizeof m);
    m.n = m.d = m.c = m.r = 2;
    m.kernel = kernel, m.metric = RFM_DIAGONAL, m.task = RFM_CLASSIFY;
    m.bandwidth = 1, m.exponent = 1;
    m.shift = shift, m.p = p, m.centers = centers, m.alpha = alpha;
    return m;
}

/* In memory of exactly its need; the caller frees it. */
static void *make(rfm_online *o, const kind *k, const rfm_model *start) {
    rfm_online_options options;
    rfm_arena arena;
    size_t need = 0;
    void *memory;

    rfm_online_options_init(&options);
    options.window = k->window, options.inputs = k->inputs, options.outputs = k->outputs, options.pending = k->pending;
    options.int8 = k->int8, options.kernel = k->kernel, options.scale = k->scale, options.forget = k->forget,
    options.score = k->score;
    options.iterations = k->iterations, options.refit_every = k->refit_every, options.bandwidth = 1, options.seed = 3;
    if (k->start) options.start = start;
    require(rfm_online_need(&options, &need) == RFM_OK, "need of a learner");
    memory = malloc(need);
    require(memory != NULL && rfm_arena_init(&arena, memory, need) == RFM_OK, "memory for a learner");
    require(rfm_online_init(o, &options, &arena) == RFM_OK, "a learner");
    return memory;
}

/* ---- using one ------------------------------------------------------------------------------ */

static void check_model(const rfm_online *o) {
    void *memory = malloc(MEMORY);
    rfm_arena store;
    rfm_model m;
    int status;

    require(memory != NULL && rfm_arena_init(&store, memory, MEMORY) == RFM_OK, "memory");
    status = rfm_online_model(o, &store, &m);
    if (status == RFM_OK) {
        require(rfm_finite(m.d, m.shift) && rfm_finite(m.d, m.p) && rfm_finite(m.n * m.r, m.centers) &&
                    rfm_finite(m.n * m.c, m.alpha),
                "a model is finite");
    } else
        require(store.used == 0 && store.status == RFM_OK, "a refusal leaves the store alone");
    rfm_arena_release(&store, 0);
    free(memory);
}

static void check_predict(const rfm_online *o, fuzz_input *in, int values) {
    rfm_real x[3], scores[3], novelty = -1;
    size_t label = 99, j;
    int status;

    for (j = 0; j < o->d; j++) x[j] = fuzz_real(in, values);
    status = rfm_online_predict(o, x, scores, &label, &novelty);
    if (status != RFM_OK) {
        require(status == RFM_EZERO || status == RFM_EFINITE || status == RFM_ERANGE, "status of a prediction");
        require(status != RFM_EFINITE || !rfm_finite(o->d, x), "a finite input is not refused as infinite");
        return;
    }
    require(rfm_finite(o->d, x) && rfm_finite(o->c, scores), "scores are finite");
    require(label < (o->c == 1 ? 2 : o->c), "label");
    require(novelty >= 0 && novelty <= 1, "novelty");
}

static void work(rfm_online *o, uint32_t units) {
    unsigned long steps = 0;
    int more;

    do {
        more = rfm_online_step(o, units);
        require(more == 0 || more == 1, "status of a step");
        require(++steps < 1000000, "work comes to its end");
    } while (more == 1);
}

/* Saves it, loads that into another, which saves the same. */
static void check_saved(const rfm_online *o, const kind *k, const rfm_model *start) {
    static state saved, again;
    rfm_online other;
    size_t need = 0;
    void *memory = make(&other, k, start);

    saved.size = saved.at = again.size = 0;
    require(rfm_online_save_need(o, &need) == RFM_OK && rfm_online_save(o, put, &saved) == RFM_OK && saved.size <= need,
            "a state is saved");
    require(rfm_online_load(&other, get, &saved) == RFM_OK, "what was saved can be loaded");
    require(saved.at == saved.size, "all of it is read");
    require(rfm_online_save(&other, put, &again) == RFM_OK, "and saved again");
    require(again.size == saved.size && memcmp(again.bytes, saved.bytes, saved.size) == 0,
            "which gives the same bytes");
    free(memory);
}

static void use(rfm_online *o, const kind *k, const rfm_model *start, fuzz_input *in) {
    rfm_online_report report;
    int rounds, values = (int)fuzz_below(in, 3);

    check_predict(o, in, values);
    check_model(o);
    check_saved(o, k, start);
    for (rounds = 0; rounds < 24 && in->left > 0; rounds++) {
        const size_t what = fuzz_below(in, 8);
        rfm_real x[3];
        size_t j, label;
        int status;

        if (what < 4) {
            label = fuzz_below(in, 4);
            for (j = 0; j < o->d; j++) x[j] = fuzz_real(in, values);
            status = rfm_online_add(o, x, label);
            require(status == RFM_OK || status == RFM_EFINITE || status == RFM_EVALUE || status == RFM_EARENA,
                    "status of a sample");
            require(status != RFM_OK || rfm_finite(o->d, x), "only finite samples are taken");
        } else if (what == 4)
            require(rfm_online_refit(o) == RFM_OK, "a refit is wanted");
        else if (what == 5)
            work(o, 1 + (uint32_t)fuzz_below(in, 5000));
        else if (what == 6)
            (void)rfm_online_step(o, 1 + (uint32_t)fuzz_below(in, 3000));
        else
            check_saved(o, k, start);
        check_predict(o, in, values);
    }
    work(o, 1000000);
    require(rfm_online_report_get(o, &report) == RFM_OK && !report.busy && report.waiting == 0,
            "nothing is left to do");
    require(report.samples <= k->window, "samples in the window");
    check_model(o);
    check_predict(o, in, FUZZ_FINITE);
    check_saved(o, k, start);
}

/* ---- the target ----------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static state given, header;
    fuzz_input in;
    const kind *k;
    rfm_online o;
    rfm_model start;
    void *memory;
    int keep, status;

    in.at = bytes, in.left = size;
    k = &kinds[fuzz_below(&in, KINDS)];
    keep = fuzz_byte(&in) & 3;
    start = start_model(k->kernel);
    memory = make(&o, k, &start);
    header.size = 0, given.at = 0;
    require(rfm_online_save(&o, put, &header) == RFM_OK, "an empty learner is saved");
    given.size = fuzz_below(&in, STATE_MOST);
    if (given.size > in.left) given.size = in.left;
    memcpy(given.bytes, in.at, given.size);
    in.at += given.size, in.left -= given.size;
    if (!(keep & KEEP_HEADER) && given.size >= HEADER) memcpy(given.bytes, header.bytes, HEADER);
    status = rfm_online_load(&o, get, &given);
    if (status == RFM_ECHECKSUM && !(keep & KEEP_CHECKSUM)) { /* the last thing it read */
        fuzz_put32(given.bytes + given.last, rfm_crc32(0, given.bytes, given.last));
        given.at = 0;
        status = rfm_online_load(&o, get, &given);
        require(status == RFM_OK, "the checksum was all that was wrong");
    }
    require(status <= RFM_OK && status >= RFM_EEMPTY, "status of a load");
    use(&o, k, &start, &in);
    free(memory);
    return 0;
}

/* Each kind of learner as it is after no, a few and many samples. */
size_t target_seed(size_t index, unsigned char *to) {
    static const size_t samples[] = {0, 3, 20};
    static state saved;
    rfm_online o;
    rfm_model start;
    const kind *k = &kinds[index % KINDS];
    size_t i, j;
    void *memory;

    if (index >= KINDS * (sizeof samples / sizeof samples[0])) return 0;
    start = start_model(k->kernel);
    memory = make(&o, k, &start);
    for (i = 0; i < samples[index / KINDS]; i++) {
        rfm_real x[3];

        for (j = 0; j < 3; j++) x[j] = (rfm_real)((double)((i * 7 + j * 5) % 11) / 4.0 - 1.0);
        (void)rfm_online_add(&o, x, i % k->outputs);
        if (i % 2 == 0 || i < 10) work(&o, 100000);
    }
    saved.size = 0;
    require(rfm_online_save(&o, put, &saved) == RFM_OK, "a seed is saved");
    free(memory);
    to[0] = (unsigned char)(index % KINDS), to[1] = 0;
    to[2] = (unsigned char)(saved.size >> 8), to[3] = (unsigned char)saved.size;
    memcpy(to + 4, saved.bytes, saved.size);
    for (i = 0; i < 60; i++) to[4 + saved.size + i] = (unsigned char)(i * 37 + index);
    return 4 + saved.size + 60;
}

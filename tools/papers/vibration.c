/* Signals whose classes differ in a pattern at a random place: a plain RFM on the raw window beside a bank of filters
 * that a ConvRFM has learned, 8-bit integers, and a small RFM of integers on what it pools.
 *
 * A window has 3 channels of 128 samples of noise, y_t = y_(t-1) / 2 + N(0, 1). At a random place a burst of 24 samples
 * is added, with a Hann window and an amplitude a: a tone of period 4, one of period 6, a chirp from period 8 to 3, or
 * the two tones together. It has a sign of its own in every channel.
 *
 * Of both machines bandwidth, ridge and the number of updates of M are chosen on a fifth of the training rows. Then all
 * of them are trained on; test rows are seen once.
 */
#include "host/host.h"

#include "papers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/bank.h"
#include "rfm_small.h"

#define CHANNELS 3
#define SAMPLES  128
#define WINDOW   (CHANNELS * SAMPLES)
#define BURST    24
#define CLASSES  4
#define PI       3.141592653589793

static const char help[] = "usage: rfm-papers vibration [options]\n"
                           "\n"
                           "  --rows N        windows to train on, and as many to test (2000)\n"
                           "  --amplitude A   only this one (0.5, 0.75, 1, 1.5, 2, 3)\n"
                           "  --fixed         the burst is always in the middle of the window\n"
                           "  --filters K     (16)\n"
                           "  --taps Q        samples of a filter (8)\n"
                           "  --learn N       windows that filters are learned from (1000)\n"
                           "  --rounds T      updates of the metric of patches (2)\n"
                           "  --ridge R       of the fits that learn filters (1)\n"
                           "  --bandwidth L   of their kernel, times the root of a patch's numbers (0.3)\n"
                           "  --ntk           filters are learned with the network kernel instead of Laplace\n"
                           "  --pools WORDS   max, mean, energy, with + between them (max+energy)\n"
                           "  --relu          rectified by relu instead of the absolute value\n"
                           "  --centers N     of the model of integers (64)\n"
                           "  --model FILE    the model of the last amplitude is written there, for rfm export\n"
                           "  --seed N        (1)\n"
                           "  --threads N     (0: as many as there are processors)\n"
                           "  --quiet         no notes\n";

typedef struct {
    size_t rows, filters, taps, learn, rounds, centers, seed, threads;
    double amplitude; /* below 0: each of the table */
    double ridge, bandwidth;
    const char *pools, *model;
    int fixed, relu, ntk;
} call;

typedef struct {
    size_t n, d;
    rfm_real *x, *y;  /* (n, d), (n, CLASSES) */
    uint32_t *labels; /* (n) */
} rows;

/* ---- windows -------------------------------------------------------------------------------- */

/* xorshift64*, and from it normal numbers by Box and Muller. */
static double uniform(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return ((double)((*state * 2685821657736338717u) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state) { return sqrt(-2 * log(uniform(state))) * cos(2 * PI * uniform(state)); }

/* The burst of a class at sample t. The chirp's frequency goes from 1/8 to 1/3. */
static double burst(uint32_t label, size_t t) {
    const double at = (double)t, hann = 0.5 - 0.5 * cos(2 * PI * (at + 0.5) / BURST);
    const double four = sin(2 * PI * at / 4), six = sin(2 * PI * at / 6);
    const double rate = (1.0 / 3 - 1.0 / 8) / BURST;
    return hann * (label == 0   ? four
                   : label == 1 ? six
                   : label == 2 ? sin(2 * PI * (at / 8 + rate * at * at / 2))
                                : four + six);
}

static void window(const call *a, double amplitude, uint64_t *state, uint32_t label, rfm_real *x) {
    size_t place = (size_t)(uniform(state) * (SAMPLES - BURST + 1)), c, t;
    if (a->fixed) place = (SAMPLES - BURST) / 2;
    for (c = 0; c < CHANNELS; c++) {
        double y = normal(state) / sqrt(0.75), sign = uniform(state) < 0.5 ? -amplitude : amplitude;
        for (t = 0; t < SAMPLES; t++) {
            y = y / 2 + normal(state);
            x[c * SAMPLES + t] = (rfm_real)(y + (t >= place && t < place + BURST ? sign * burst(label, t - place) : 0));
        }
    }
}

static rows draw(const call *a, double amplitude, uint64_t seed) {
    rows r;
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    size_t i;
    r.n = a->rows, r.d = WINDOW;
    r.x = allocate(r.n, WINDOW * sizeof *r.x, "windows");
    r.y = allocate(r.n, CLASSES * sizeof *r.y, "targets");
    r.labels = allocate(r.n, sizeof *r.labels, "classes");
    for (i = 0; i < 100; i++) (void)uniform(&state);
    for (i = 0; i < r.n; i++) {
        r.labels[i] = (uint32_t)(uniform(&state) * CLASSES);
        r.y[i * CLASSES + r.labels[i]] = 1;
        window(a, amplitude, &state, r.labels[i], r.x + i * WINDOW);
    }
    return r;
}

static void rows_free(rows *r) {
    free(r->x);
    free(r->y);
    free(r->labels);
}

/* ---- a machine on rows of numbers ------------------------------------------------------------ */

/* Columns of both become standardised as those of `from` are: mean and scale (d). */
static void standardise(const rows *from, rfm_real *mean, rfm_real *scale) {
    size_t i, j;
    for (j = 0; j < from->d; j++) {
        double sum = 0, square = 0;
        for (i = 0; i < from->n; i++) sum += (double)from->x[i * from->d + j] / (double)from->n;
        for (i = 0; i < from->n; i++) square += pow((double)from->x[i * from->d + j] - sum, 2) / (double)from->n;
        mean[j] = (rfm_real)sum, scale[j] = (rfm_real)(square > 0 ? sqrt(square) : 1);
    }
}

static double right_of(const rfm_real *scores, const rows *r) {
    size_t i, k, right = 0;
    for (i = 0; i < r->n; i++) {
        const rfm_real *s = scores + i * CLASSES;
        size_t best = 0;
        for (k = 1; k < CLASSES; k++)
            if (s[k] > s[best]) best = k;
        right += best == r->labels[i];
    }
    return 100 * (double)right / (double)r->n;
}

static double score(machine *m, const rfm_model *model, const rows *r) {
    rfm_real *scores = allocate(r->n, CLASSES * sizeof *scores, "scores");
    rfm_ctx ctx = m->ctx;
    rfm_arena arena;
    size_t need;
    void *memory;
    double right;
    must(rfm_predict_need(&ctx, model, r->n, &need), "vibration");
    memory = allocate_aligned(need, "predictions");
    must(rfm_arena_init(&arena, memory, need), "vibration");
    ctx.arena = &arena;
    must(rfm_predict(&ctx, model, rfm_cview(r->x, r->n, r->d), rfm_view(scores, r->n, CLASSES)), "vibration");
    right = right_of(scores, r);
    free(memory);
    free(scores);
    return right;
}

/* Fits, and leaves the model in the machine's arena. */
static void fit(machine *m, const rfm_data *data, const rfm_options *o, rfm_model *model, rfm_report *report) {
    size_t scratch, store;
    must(rfm_fit_need(&m->ctx, data, o, &scratch, &store), "vibration");
    machine_memory(m, scratch + store, "a fit");
    must(rfm_fit(&m->ctx, data, o, m->ctx.arena, model, report), "vibration");
}

/* The best of a few settings on the last fifth of the rows; then a model of all of them, as a blob in the units of the
 * rows, to be freed. */
static void *learn(machine *m, const rows *r, rfm_real *ridge, rfm_model *opened) {
    static const double bandwidths[] = {0.5, 1, 2}, ridges[] = {1e-2, 1e-1, 1};
    size_t d = r->d, fitted = r->n * 4 / 5, i, j, bytes;
    rows z = *r;
    rfm_real *mean = allocate(d, sizeof *mean, "means"), *scale = allocate(d, sizeof *scale, "scales");
    rfm_real best = -1;
    rfm_step path[4];
    rfm_report report;
    rfm_options o, choice;
    rfm_contents contents;
    rfm_data data;
    rfm_model model;
    void *blob;
    standardise(r, mean, scale);
    z.x = allocate(r->n, d * sizeof *z.x, "rows");
    for (i = 0; i < r->n; i++)
        for (j = 0; j < d; j++) z.x[i * d + j] = (r->x[i * d + j] - mean[j]) / scale[j];
    memset(&data, 0, sizeof data);
    memset(&report, 0, sizeof report);
    report.path = path;
    rfm_options_init(&o);
    o.iterations = 3, o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN, o.select = RFM_SELECT_VALIDATION;
    o.score = RFM_SCORE_ACCURACY;
    choice = o;
    data.x = rfm_cview(z.x, fitted, d), data.y = rfm_cview(r->y, fitted, CLASSES);
    data.x_validation = rfm_cview(z.x + fitted * d, r->n - fitted, d);
    data.y_validation = rfm_cview(r->y + fitted * CLASSES, r->n - fitted, CLASSES);
    for (i = 0; i < sizeof bandwidths / sizeof *bandwidths; i++)
        for (j = 0; j < sizeof ridges / sizeof *ridges; j++) {
            o.bandwidth = (rfm_real)bandwidths[i], o.ridge = (rfm_real)ridges[j];
            fit(m, &data, &o, &model, &report);
            if (path[report.best].score > best)
                best = path[report.best].score, choice = o, choice.iterations = report.best;
        }
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(z.x, r->n, d), data.y = rfm_cview(r->y, r->n, CLASSES);
    choice.select = RFM_SELECT_LAST;
    fit(m, &data, &choice, &model, NULL);
    memset(&contents, 0, sizeof contents);
    contents.model = &model, contents.task = RFM_CLASSIFY, contents.x_mean = mean, contents.x_scale = scale;
    must(rfm_model_size(&contents, &bytes), "vibration");
    blob = allocate_aligned(bytes, "a model");
    must(rfm_model_write(&contents, blob, bytes), "vibration");
    must(rfm_model_open(blob, bytes, opened), "vibration");
    *ridge = choice.ridge;
    free(z.x);
    free(mean);
    free(scale);
    return blob;
}

/* ---- filters -------------------------------------------------------------------------------- */

static uint32_t pools_of(const char *words) {
    static const char *const names[] = {"max", "mean", "energy"};
    uint32_t pools = 0, p;
    while (*words != 0) {
        size_t length = strcspn(words, "+");
        for (p = 0; p < 3; p++)
            if (strlen(names[p]) == length && memcmp(names[p], words, length) == 0) break;
        if (p == 3) usage("--pools: expected max, mean, energy, with + between them");
        pools |= 1u << p;
        words += length;
        if (*words == '+') words++;
    }
    if (pools == 0) usage("--pools: expected at least one of max, mean, energy");
    return pools;
}

/* A model of 8-bit integers of the features; its arrays are in *memory, to be freed. */
static void compress(machine *m, const rfm_model *model, const rows *r, rfm_real ridge, size_t centers,
                     rfm_model_i *small, void **memory) {
    rfm_centers_options how = {0, RFM_CENTERS_RESIDUAL, 0, 10, 0};
    rfm_data data;
    rfm_model fewer;
    rfm_arena kept;
    size_t scratch, store, next_scratch, next_store;
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(r->x, r->n, r->d), data.y = rfm_cview(r->y, r->n, CLASSES);
    how.centers = centers, how.ridge = ridge;
    must(rfm_small_centers_need(&m->ctx, model, &data, &how, &scratch, &store), "vibration");
    machine_memory(m, scratch + store, "centres");
    must(rfm_small_centers(&m->ctx, model, &data, &how, m->ctx.arena, &fewer), "vibration");
    must(rfm_small_integers_need(&m->ctx, &fewer, &data, RFM_I8, &next_scratch, &next_store), "vibration");
    *memory = allocate_aligned(next_store + next_scratch, "integers");
    must(rfm_arena_init(&kept, *memory, next_store + next_scratch), "vibration");
    {
        rfm_ctx ctx = m->ctx;
        ctx.arena = &kept;
        must(rfm_small_integers(&ctx, &fewer, &data, RFM_I8, ridge, &kept, small), "vibration");
    }
}

static double score_integers(const rfm_filters *bank, const rows *r) {
    size_t i, right = 0;
    int16_t *x = allocate(WINDOW, sizeof *x, "a window");
    int16_t *scratch = allocate(RFM_FILTERS_SCRATCH(bank->model.d, bank->model.r), sizeof *scratch, "scratch");
    int32_t scores[CLASSES];
    for (i = 0; i < r->n; i++) {
        must(rfm_filters_integers(bank, r->x + i * WINDOW, x), "vibration");
        must(rfm_filters_predict(bank, x, scores, scratch, NULL, NULL), "vibration");
        right += rfm_class_i(&bank->model, scores) == r->labels[i];
    }
    free(x);
    free(scratch);
    return 100 * (double)right / (double)r->n;
}

/* What filters give on the test rows, in percent, and the bytes of the model. */
typedef struct {
    double numbers, integers; /* an RFM of the features, and the small one */
    size_t bytes;
} outcome;

static outcome filtered(machine *m, const call *a, size_t rounds, const rows *train, const rows *test) {
    rows pooled = *train, pooled_test = *test;
    signal_options o = signal_usual(CHANNELS, SAMPLES, a->filters);
    outcome result;
    rfm_model model;
    rfm_filters bank;
    rfm_real ridge;
    void *blob, *memory, *small;
    o.taps = a->taps, o.rows = a->learn, o.rounds = rounds, o.pools = pools_of(a->pools);
    o.rectify = a->relu ? RFM_RECTIFY_RELU : RFM_RECTIFY_ABS, o.kernel = a->ntk ? RFM_CONV_NTK : RFM_CONV_LAPLACE;
    o.ridge = a->ridge, o.bandwidth = a->bandwidth;
    must(signal_learn(m, &o, rfm_cview(train->x, train->n, WINDOW), rfm_cview(train->y, train->n, CLASSES), NULL, &bank,
                      &memory),
         "vibration: filters");
    pooled.d = pooled_test.d = rfm_filters_count(&bank);
    pooled.x = signal_features(&bank, rfm_cview(train->x, train->n, WINDOW));
    pooled_test.x = signal_features(&bank, rfm_cview(test->x, test->n, WINDOW));
    blob = learn(m, &pooled, &ridge, &model);
    result.numbers = score(m, &model, &pooled_test);
    compress(m, &model, &pooled, ridge, a->centers, &bank.model, &small);
    result.integers = score_integers(&bank, test);
    must(rfm_filters_size(&bank, 0, &result.bytes), "vibration");
    if (a->model != NULL && rounds > 0) {
        void *written = allocate_aligned(result.bytes, "the model");
        must(rfm_filters_write(&bank, NULL, 0, written, result.bytes), "vibration");
        file_write(a->model, written, result.bytes);
        free(written);
    }
    free(blob);
    free(small);
    free(memory);
    free(pooled.x);
    free(pooled_test.x);
    return result;
}

static void one(machine *m, const call *a, double amplitude) {
    rows train = draw(a, amplitude, 2 * a->seed), test = draw(a, amplitude, 2 * a->seed + 1);
    rfm_model model;
    rfm_real ridge;
    void *blob = learn(m, &train, &ridge, &model);
    const double plain = score(m, &model, &test);
    const outcome learned = filtered(m, a, a->rounds, &train, &test), random = filtered(m, a, 0, &train, &test);
    printf("| %g | %.1f | %.1f | %.1f | %.1f | %+.1f | %zu |\n", amplitude, plain, random.integers, learned.numbers,
           learned.integers, learned.integers - plain, learned.bytes);
    fflush(stdout);
    free(blob);
    rows_free(&train);
    rows_free(&test);
}

int vibration(char **argv) {
    static const double amplitudes[] = {0.5, 0.75, 1, 1.5, 2, 3};
    call a = {2000, 16, 8, 1000, 2, 64, 1, 0, -1, 1, 0.3, "max+energy", NULL, 0, 0, 0};
    const option options[] = {
        {"--rows", NULL, OPTION_SIZE, &a.rows},
        {"--amplitude", NULL, OPTION_NUMBER, &a.amplitude},
        {"--fixed", NULL, OPTION_FLAG, &a.fixed},
        {"--filters", NULL, OPTION_SIZE, &a.filters},
        {"--taps", NULL, OPTION_SIZE, &a.taps},
        {"--learn", NULL, OPTION_SIZE, &a.learn},
        {"--rounds", NULL, OPTION_SIZE, &a.rounds},
        {"--pools", NULL, OPTION_TEXT, &a.pools},
        {"--model", NULL, OPTION_TEXT, &a.model},
        {"--relu", NULL, OPTION_FLAG, &a.relu},
        {"--centers", NULL, OPTION_SIZE, &a.centers},
        {"--seed", NULL, OPTION_SIZE, &a.seed},
        {"--threads", NULL, OPTION_SIZE, &a.threads},
        {"--ridge", NULL, OPTION_NUMBER, &a.ridge},
        {"--bandwidth", NULL, OPTION_NUMBER, &a.bandwidth},
        {"--ntk", NULL, OPTION_FLAG, &a.ntk},
        {"--quiet", "-q", OPTION_FLAG, &quiet},
        {NULL, NULL, 0, NULL},
    };
    const command_line line = {"vibration", "no operands", 0, 0, "; see rfm-papers vibration --help", options};
    const char *none = NULL;
    machine m;
    size_t i;
    if (options_read(&line, argv, &none)) {
        fputs(help, stdout);
        return 0;
    }
    if (a.rows < 20) usage("--rows: expected at least 20");
    if (a.taps == 0 || a.taps > SAMPLES) usage("--taps: expected 1 to %d", SAMPLES);
    if (a.filters == 0 || a.filters > CHANNELS * a.taps) usage("--filters: expected 1 to %zu", CHANNELS * a.taps);
    if (a.learn == 0 || a.rounds == 0) usage("--learn and --rounds: expected at least 1");
    if (!(a.ridge > 0) || !(a.bandwidth > 0)) usage("--ridge and --bandwidth: expected more than 0");
    if (a.centers < CLASSES || a.centers > a.rows) usage("--centers: expected %d to the rows", CLASSES);
    (void)pools_of(a.pools);
    machine_start(&m, a.threads, "auto");
    printf("| amplitude | plain RFM, raw window %% | random filters, 8 bits %% | learned filters + RFM %% "
           "| learned filters + small RFM, 8 bits %% | points above the plain RFM | bytes |\n"
           "|---:|---:|---:|---:|---:|---:|---:|\n");
    for (i = 0; i < sizeof amplitudes / sizeof *amplitudes; i++)
        if (a.amplitude < 0 || i == 0) one(&m, &a, a.amplitude < 0 ? amplitudes[i] : a.amplitude);
    machine_stop(&m);
    return 0;
}

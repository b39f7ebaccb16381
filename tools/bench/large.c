/* rfm_large on generated rows beside scikit-learn (sklearn_large.py), which reads the same bits from a file.
 *
 * Rows are made where they are asked for, so a fit with centres needs no table in memory; a tree does. Three tasks:
 * "step", 20 inputs, smooth terms and an interaction with a step; "friedman", Friedman's function with 50 inputs, 45 of
 * them idle; "regions", 20 inputs, of which two say which directions of the others count. Noise keeps R^2 below 0.99.
 * With a folder the tasks are its tables instead. JSON lines have "what": "large". */
#define _POSIX_C_SOURCE 200809L

#include "rfm_large.h"
#include "rfm_tree.h"
#include "host/table.h"
#include "bench.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEST_ROWS 10000
#define CENTERS   4000
#define SAMPLE    6000
#define NYSTROEM  1000   /* centres of the peer; with 4,000 its features of 10^5 rows are 1.6 GB */
#define MANY_ROWS 200000 /* above: one tree with smaller leaves */

#define REGIONS_INPUTS 20
#define OFFSET_RIGHT   1.5
#define OFFSET_UPPER   3.0

typedef struct {
    const char *name;
    size_t d;
    int what;
    double mean, unit; /* of the function */
    size_t tests;      /* rows that come behind those that are fitted to */
    rfm_real *table;   /* TABLE: rows of d inputs and a target */
} task;

#define STEP     0
#define FRIEDMAN 1
#define REGIONS  2
#define TABLE    3

#define NOISE 0.1005 /* in units of the function's deviation: R^2 is at most 0.990 */

static const task tasks[] = {{"step", 20, STEP, 1.4225, 1.158, TEST_ROWS, NULL},
                             {"friedman", 50, FRIEDMAN, 14.41, 4.97, TEST_ROWS, NULL},
                             {"regions", REGIONS_INPUTS, REGIONS, 2.9165, 2.3735, TEST_ROWS, NULL}};
static const size_t sizes[] = {10000, 100000, 1000000};

typedef struct {
    const task *what;
    size_t first; /* row 0 is this one of the stream */
} rows_made;

/* A number in [0, 1) for each place (splitmix64). */
static double uniform(uint64_t at) {
    uint64_t z = (at + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Two orthogonal directions of unit length for each of four regions, drawn over all inputs but the first two. */
static double ways[4][2][REGIONS_INPUTS];

static void draw_ways(void) {
    uint64_t at = UINT64_C(1) << 60;
    size_t r, k, j, i;
    for (r = 0; r < 4; r++)
        for (k = 0; k < 2; k++) {
            double *u = ways[r][k], length = 0, along = 0;
            for (j = 2; j < REGIONS_INPUTS; j++)
                for (i = 0; i < 12; i++) u[j] += uniform(at++) - 0.5;
            for (j = 2; k > 0 && j < REGIONS_INPUTS; j++) along += u[j] * ways[r][0][j];
            for (j = 2; k > 0 && j < REGIONS_INPUTS; j++) u[j] -= along * ways[r][0][j];
            for (j = 2; j < REGIONS_INPUTS; j++) length += u[j] * u[j];
            for (j = 2; j < REGIONS_INPUTS; j++) u[j] /= sqrt(length);
        }
}

static double value(const task *t, const rfm_real *x) {
    const double pi = 3.14159265358979;
    if (t->what == REGIONS) {
        const int right = x[0] > 0, upper = x[1] > 0;
        double u = 0, v = 0;
        size_t j;
        for (j = 2; j < REGIONS_INPUTS; j++) {
            u += ways[2 * right + upper][0][j] * (double)x[j];
            v += ways[2 * right + upper][1][j] * (double)x[j];
        }
        return OFFSET_RIGHT * right + OFFSET_UPPER * upper + 2 * sin(3 * u) + 2 * v * v;
    }
    if (t->what == STEP)
        return sin(3 * (double)x[0]) + (double)x[1] * (double)x[1] + 0.5 * exp((double)x[2]) +
               (x[3] > (rfm_real)0.2 ? 2 * (double)x[4] : 0) + fabs((double)x[5]);
    return 10 * sin(pi * (double)x[0] * (double)x[1]) + 20 * pow((double)x[2] - 0.5, 2) + 10 * (double)x[3] +
           5 * (double)x[4];
}

/* Row i as it is fitted: inputs and target with a mean of about 0 and a variance of about 1. */
static void make_row(const rows_made *r, size_t i, rfm_real *x, rfm_real *y) {
    const task *t = r->what;
    uint64_t at = (uint64_t)(r->first + i) * (t->d + 12);
    double noise = 0;
    size_t j;
    if (t->what == TABLE) {
        memcpy(x, t->table + (r->first + i) * (t->d + 1), t->d * sizeof *x);
        *y = t->table[(r->first + i) * (t->d + 1) + t->d];
        return;
    }
    for (j = 0; j < t->d; j++) x[j] = (rfm_real)(t->what == FRIEDMAN ? uniform(at + j) : 2 * uniform(at + j) - 1);
    for (j = 0; j < 12; j++) noise += uniform(at + t->d + j) - 0.5;
    *y = (rfm_real)((value(t, x) - t->mean) / t->unit + NOISE * noise);
    for (j = 0; j < t->d; j++)
        x[j] = (rfm_real)(t->what == FRIEDMAN ? 3.464 * ((double)x[j] - 0.5) : 1.732 * (double)x[j]);
}

/* FOLDER/NAME.csv, the target last: rows that NAME.split marks with 1 are tested, all others are fitted to, in an order
 * by lot. Columns get a mean of 0 and a variance of 1 by the latter. Returns how many these are. */
static size_t read_table(const char *folder, const char *name, task *t) {
    char path[1024];
    unsigned char *use;
    uint32_t state = rfm_random_start(0);
    size_t n = 0, i, j, *order;
    csv c;
    snprintf(path, sizeof path, "%.900s/%s.csv", folder, name);
    csv_read(&c, path, 1);
    snprintf(path, sizeof path, "%.900s/%s.split", folder, name);
    use = split_read(path, &c, USE_TRAIN);
    t->name = name, t->d = c.columns - 1, t->what = TABLE, t->tests = 0;
    t->table = bench_alloc(c.rows * c.columns, sizeof *t->table);
    order = bench_alloc(c.rows, sizeof *order);
    for (i = 0; i < c.rows; i++)
        if (use[i] == USE_TEST)
            order[c.rows - ++t->tests] = i;
        else
            order[n++] = i;
    for (i = n; i > 1; i--) {
        const size_t other = rfm_random(&state) % i, row = order[i - 1];
        order[i - 1] = order[other], order[other] = row;
    }
    for (j = 0; j < c.columns; j++) {
        double mean = 0, squares = 0, scale;
        for (i = 0; i < n; i++) mean += csv_value(&c, order[i], j) / (double)n;
        for (i = 0; i < n; i++) squares += pow(csv_value(&c, order[i], j) - mean, 2) / (double)n;
        scale = squares > 0 ? sqrt(squares) : 1;
        for (i = 0; i < c.rows; i++)
            t->table[i * c.columns + j] = (rfm_real)((csv_value(&c, order[i], j) - mean) / scale);
    }
    free(order), free(use);
    csv_free(&c);
    return n;
}

static size_t read_rows(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    const rows_made *r = from;
    size_t i;
    (void)weights;
    for (i = 0; i < count; i++) make_row(r, first + i, x + i * r->what->d, y + i);
    return count;
}

static double r2_of(const rfm_real *y, const rfm_real *f, size_t n) {
    double mean = 0, all = 0, off = 0;
    size_t i;
    for (i = 0; i < n; i++) mean += (double)y[i] / (double)n;
    for (i = 0; i < n; i++) all += pow((double)y[i] - mean, 2), off += pow((double)y[i] - (double)f[i], 2);
    return 1 - off / all;
}

typedef struct {
    double seconds, cpu, r2; /* by the clock, of all processors; of rows that are not fitted to */
    size_t arena, passes, steps;
    size_t bytes; /* of arena, model and table */
} outcome;

static double cpu_now(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* Rows that come behind the n that are fitted to. */
typedef struct {
    size_t count;
    rfm_real *x, *y, *f;
} test_rows;

static test_rows test_make(const rows_made *train, size_t n) {
    rows_made behind = *train;
    test_rows t;
    t.count = train->what->tests;
    t.x = bench_alloc(t.count * train->what->d, sizeof *t.x);
    t.y = bench_alloc(t.count, sizeof *t.y), t.f = bench_alloc(t.count, sizeof *t.f);
    behind.first += n;
    (void)read_rows(&behind, 0, t.count, t.x, t.y, NULL);
    return t;
}

static double test_end(test_rows *t) {
    double found = r2_of(t->y, t->f, t->count);
    free(t->x), free(t->y), free(t->f);
    return found;
}

/* Settings for all tasks and methods, chosen on held-out rows of "step". */
static void settings(rfm_options *o) {
    o->kernel = RFM_L1, o->metric = RFM_DIAGONAL, o->iterations = 4, o->ridge = (rfm_real)0.1;
    o->bandwidth_rule = RFM_BANDWIDTH_MEDIAN, o->bandwidth = 1;
}

static int say(int status) {
    if (status != RFM_OK) fprintf(stderr, "rfm-bench: large: %s\n", rfm_status_text(status));
    return status == RFM_OK ? 0 : -1;
}

static int with_centers(const bench_run *run, rows_made *train, size_t n, outcome *out) {
    const size_t d = train->what->d;
    rfm_large_options o;
    rfm_large_report report;
    rfm_rows rows;
    rfm_model m;
    bench_ctx b, p;
    test_rows t;
    size_t scratch = 0, store = 0, bytes = 0;
    int status;
    memset(&rows, 0, sizeof rows);
    rows.n = n, rows.d = d, rows.c = 1, rows.read = read_rows, rows.from = train;
    rfm_large_options_init(&o);
    settings(&o.fit);
    o.centers = CENTERS, o.sample = SAMPLE, o.choice = RFM_CHOICE_RESIDUAL, o.rounds = 1, o.power = 2;
    o.fit.ridge = (rfm_real)0.02, o.solve.tolerance = (rfm_real)1e-3;
    memset(&b, 0, sizeof b), memset(&p, 0, sizeof p);
    bench_ctx_init(&b, run), bench_ctx_init(&p, run);
    status = rfm_large_fit_need(&b.ctx, &rows, &o, NULL, &scratch, &store);
    if (status != RFM_OK || bench_ctx_arena(&b, scratch + store)) return -1;
    out->seconds = -bench_now(), out->cpu = -cpu_now();
    status = rfm_large_fit(&b.ctx, &rows, &o, NULL, b.ctx.arena, &m, &report);
    out->seconds += bench_now(), out->cpu += cpu_now();
    out->arena = out->bytes = scratch + store, out->passes = report.solve.passes, out->steps = report.solve.steps;
    t = test_make(train, n);
    if (status == RFM_OK) status = rfm_predict_need(&p.ctx, &m, t.count, &bytes);
    if (status == RFM_OK && bench_ctx_arena(&p, bytes)) return -1;
    if (status == RFM_OK) status = rfm_predict(&p.ctx, &m, rfm_cview(t.x, t.count, d), rfm_view(t.f, t.count, 1));
    out->r2 = test_end(&t);
    bench_ctx_free(&b), bench_ctx_free(&p);
    return say(status);
}

static int by_tree(const bench_run *run, rows_made *train, size_t n, outcome *out) {
    const size_t d = train->what->d, held = n / 10 < 2000 ? n / 10 : 2000;
    rfm_tree_options o;
    rfm_contents contents;
    rfm_data data;
    rfm_tree tree;
    bench_ctx b, p;
    test_rows t;
    rfm_real *x = bench_alloc(n * d, sizeof *x), *y = bench_alloc(n, sizeof *y);
    void *blob;
    size_t scratch = 0, size = 0, bytes = 0;
    int status;
    (void)read_rows(train, 0, n, x, y, NULL);
    memset(&data, 0, sizeof data), memset(&contents, 0, sizeof contents);
    data.x = rfm_cview(x, n - held, d), data.y = rfm_cview(y, n - held, 1);
    data.x_validation = rfm_cview(x + (n - held) * d, held, d);
    data.y_validation = rfm_cview(y + (n - held), held, 1);
    rfm_tree_options_init(&o);
    settings(&o.leaf[0]), settings(&o.leaf[1]), settings(&o.split);
    o.tries = 2, o.leaf[1].kernel = RFM_LAPLACE, o.leaf[1].metric = RFM_FULL;
    o.leaf_rows = n > MANY_ROWS ? 1000 : 2000, o.trees = n > MANY_ROWS ? 1 : 4, o.split_rows = 1000;
    memset(&b, 0, sizeof b), memset(&p, 0, sizeof p);
    bench_ctx_init(&b, run), bench_ctx_init(&p, run);
    status = rfm_tree_fit_need(&b.ctx, &data, &o, &contents, &scratch, &size);
    if (status != RFM_OK || bench_ctx_arena(&b, scratch)) return say(status == RFM_OK ? RFM_EARENA : status);
    blob = bench_alloc(size, 1);
    out->seconds = -bench_now(), out->cpu = -cpu_now();
    status = rfm_tree_fit(&b.ctx, &data, &o, &contents, blob, size, &tree, NULL);
    out->seconds += bench_now(), out->cpu += cpu_now();
    out->arena = scratch, out->bytes = scratch + size + n * (d + 1) * sizeof *x, out->passes = 1, out->steps = 0;
    t = test_make(train, n);
    if (status == RFM_OK) status = rfm_tree_predict_need(&p.ctx, &tree, t.count, &bytes);
    if (status == RFM_OK && bench_ctx_arena(&p, bytes)) return -1;
    if (status == RFM_OK)
        status = rfm_tree_predict(&p.ctx, &tree, rfm_cview(t.x, t.count, d), rfm_view(t.f, t.count, 1));
    out->r2 = test_end(&t);
    free(x), free(y), free(blob);
    bench_ctx_free(&b), bench_ctx_free(&p);
    return say(status);
}

/* Writes the rows to a file and shows what scikit-learn says about them: a line for each of its methods. */
static int theirs(const bench_run *run, const rows_made *train, size_t n) {
    const char *base = getenv("TMPDIR"), *slash = strrchr(__FILE__, '/');
    const size_t d = train->what->d;
    char name[300], command[1200], line[400];
    rfm_real *x, y;
    FILE *file, *pipe;
    size_t i;
    int failed = 0, handle;
    snprintf(name, sizeof name, "%.200s/rfm-bench-XXXXXX", base && *base ? base : "/tmp");
    handle = mkstemp(name);
    file = handle < 0 ? NULL : fdopen(handle, "wb");
    if (file == NULL) {
        perror(name);
        return -1;
    }
    x = bench_alloc(d, sizeof *x);
    for (i = 0; i < n + train->what->tests && !failed; i++) {
        make_row(train, i, x, &y);
        failed = fwrite(x, sizeof *x, d, file) != d || fwrite(&y, sizeof y, 1, file) != 1;
    }
    failed |= fclose(file) != 0;
    free(x);
    snprintf(command, sizeof command,
             "OMP_NUM_THREADS=%zu OPENBLAS_NUM_THREADS=%zu /usr/bin/python3 -I -B "
             "'%.*ssklearn_large.py' '%s' f%d %s %zu %zu %d %s",
             run->threads, run->threads, slash ? (int)(slash + 1 - __FILE__) : 0, __FILE__, name, (int)sizeof(rfm_real),
             train->what->name, n, d, NYSTROEM, run->json ? "json" : "text");
    fflush(stdout);
    pipe = failed ? NULL : popen(command, "r");
    while (pipe != NULL && fgets(line, sizeof line, pipe) != NULL) fputs(line, stdout);
    if (pipe == NULL || pclose(pipe) != 0) failed = -1;
    unlink(name);
    return failed;
}

static void show(const bench_run *run, const task *t, size_t n, const char *method, const outcome *o, double exponent) {
    if (run->json)
        printf("{\"what\": \"large\", \"method\": \"%s\", \"task\": \"%s\", \"n\": %zu, \"d\": %zu, \"threads\": %zu, "
               "\"seconds\": %.4g, \"cpu_seconds\": %.4g, \"r2\": %.5f, \"memory_bytes\": %zu, \"arena_bytes\": %zu, "
               "\"passes\": %zu, \"steps\": %zu, \"exponent\": %.3f}\n",
               method, t->name, n, t->d, run->threads, o->seconds, o->cpu, o->r2, o->bytes, o->arena, o->passes,
               o->steps, exponent);
    else
        printf("large    %-8s n %8zu  %-18s %8.2f s %8.2f s of processors  R^2 %.4f  memory %.0f MB  exponent %.2f\n",
               t->name, n, method, o->seconds, o->cpu, o->r2, (double)o->bytes / 1e6, exponent);
    fflush(stdout);
}

/* Both methods of ours on the first n rows, then theirs. `first` is their processors' time on first_n rows: filled in
 * where that is n. */
static int measure_task(const bench_run *run, const task *t, size_t n, double first[2], size_t first_n) {
    static const char *const names[] = {"rfm centres", "rfm tree"};
    rows_made rows;
    size_t k;
    rows.what = t, rows.first = 0;
    for (k = 0; k < 2; k++) {
        outcome out;
        memset(&out, 0, sizeof out);
        if ((k == 0 ? with_centers : by_tree)(run, &rows, n, &out)) return -1;
        if (n == first_n) first[k] = out.cpu;
        show(run, t, n, names[k], &out, n != first_n ? log(out.cpu / first[k]) / log((double)n / (double)first_n) : 0);
    }
    if (!run->alone && theirs(run, &rows, n) != 0)
        fprintf(stderr, "rfm-bench: large: scikit-learn did not answer; tools/setup peers installs it\n");
    return 0;
}

/* A table of run->data. */
static int measure_table(const bench_run *run, const char *name) {
    double first[2];
    task t;
    size_t n = read_table(run->data, name, &t);
    int failed = -1;
    if (n == 0 || t.tests == 0)
        fprintf(stderr, "rfm-bench: large: %s.split has no rows to %s\n", name, n == 0 ? "fit to" : "test");
    else
        failed = measure_task(run, &t, n, first, n);
    free(t.table);
    return failed;
}

int bench_large(const bench_run *run) {
    static const char *const tables[] = {"california", "diamonds"};
    size_t t, i, count = run->sizes > 0 ? run->sizes : sizeof sizes / sizeof *sizes;
    const size_t *const n = run->sizes > 0 ? run->n : sizes;
    draw_ways();
    for (t = 0; t < sizeof tasks / sizeof *tasks && run->data == NULL; t++) {
        double first[2] = {0, 0};
        if (run->task != NULL && strcmp(run->task, tasks[t].name) != 0) continue;
        for (i = 0; i < count; i++)
            if (measure_task(run, &tasks[t], n[i], first, n[0])) return -1;
    }
    for (t = 0; t < sizeof tables / sizeof *tables && run->data != NULL; t++)
        if ((run->task == NULL || strcmp(run->task, tables[t]) == 0) && measure_table(run, tables[t])) return -1;
    return 0;
}

/* rfm_large on generated rows beside scikit-learn (sklearn_large.py), which reads the same bits from a file.
 *
 * Rows are made where they are asked for, so ours need no table in memory. Two tasks: "step", 20 inputs, smooth terms
 * and an interaction with a step; "friedman", Friedman's function with 50 inputs, 45 of them idle. Noise keeps R^2
 * below 1. JSON lines have "what": "large". */
#define _POSIX_C_SOURCE 200809L

#include "rfm_large.h"
#include "bench.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEST_ROWS 10000
#define CENTERS   1000
#define SAMPLE    3000

typedef struct {
    const char *name;
    size_t d;
    int kernel;
    double noise; /* standard deviation: 0.1 of that of the function, nearly */
} task;

static const task tasks[] = {{"step", 20, RFM_L1, 0.100}, {"friedman", 50, RFM_L1, 0.498}};
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

static double value(const task *t, const rfm_real *x) {
    const double pi = 3.14159265358979;
    if (t->kernel < 0) return 0;
    if (t->d == 20)
        return sin(3 * (double)x[0]) + (double)x[1] * (double)x[1] + 0.5 * exp((double)x[2]) +
               (x[3] > (rfm_real)0.2 ? 2 * (double)x[4] : 0) + fabs((double)x[5]);
    return 10 * sin(pi * (double)x[0] * (double)x[1]) + 20 * pow((double)x[2] - 0.5, 2) + 10 * (double)x[3] +
           5 * (double)x[4];
}

/* Row i as it is fitted: inputs of variance about 1, the target less its mean, roughly. */
static void make_row(const rows_made *r, size_t i, rfm_real *x, rfm_real *y) {
    const task *t = r->what;
    uint64_t at = (uint64_t)(r->first + i) * (t->d + 12);
    double noise = 0;
    size_t j;
    for (j = 0; j < t->d; j++) x[j] = (rfm_real)(t->d == 20 ? 2 * uniform(at + j) - 1 : uniform(at + j));
    for (j = 0; j < 12; j++) noise += uniform(at + t->d + j) - 0.5;
    *y = (rfm_real)(value(t, x) - (t->d == 20 ? 1.42 : 14.4) + t->noise * noise);
    for (j = 0; j < t->d; j++) x[j] = (rfm_real)(t->d == 20 ? 1.732 * (double)x[j] : 3.464 * ((double)x[j] - 0.5));
    if (t->d != 20) *y *= (rfm_real)0.2;
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
    double seconds, r2, solve_share;
    size_t arena, passes, steps;
} outcome;

static int ours(const bench_run *run, rows_made *train, size_t n, outcome *out) {
    const size_t d = train->what->d;
    rfm_large_options o;
    rfm_large_report report;
    rfm_rows rows;
    rfm_model m;
    rows_made test = *train;
    bench_ctx b, p;
    rfm_real *x, *y, *f;
    size_t scratch = 0, store = 0, bytes = 0;
    double start;
    int status;
    memset(&rows, 0, sizeof rows);
    rows.n = n, rows.d = d, rows.c = 1, rows.read = read_rows, rows.from = train;
    rfm_large_options_init(&o);
    o.fit.kernel = train->what->kernel, o.fit.metric = RFM_DIAGONAL, o.fit.iterations = 3, o.fit.ridge = 1;
    o.fit.bandwidth_rule = RFM_BANDWIDTH_MEDIAN, o.fit.bandwidth = 1;
    o.centers = CENTERS, o.sample = SAMPLE, o.rounds = 1;
    memset(&b, 0, sizeof b), memset(&p, 0, sizeof p);
    bench_ctx_init(&b, run), bench_ctx_init(&p, run);
    status = rfm_large_fit_need(&b.ctx, &rows, &o, NULL, &scratch, &store);
    if (status != RFM_OK || bench_ctx_arena(&b, scratch + store)) return -1;
    start = bench_now();
    status = rfm_large_fit(&b.ctx, &rows, &o, NULL, b.ctx.arena, &m, &report);
    out->seconds = bench_now() - start;
    out->arena = scratch + store, out->passes = report.solve.passes, out->steps = report.solve.steps;
    x = bench_alloc(TEST_ROWS * d, sizeof *x), y = bench_alloc(TEST_ROWS, sizeof *y),
    f = bench_alloc(TEST_ROWS, sizeof *f);
    test.first += n;
    (void)read_rows(&test, 0, TEST_ROWS, x, y, NULL);
    if (status == RFM_OK) status = rfm_predict_need(&p.ctx, &m, TEST_ROWS, &bytes);
    if (status == RFM_OK && bench_ctx_arena(&p, bytes)) return -1;
    if (status == RFM_OK) status = rfm_predict(&p.ctx, &m, rfm_cview(x, TEST_ROWS, d), rfm_view(f, TEST_ROWS, 1));
    out->r2 = r2_of(y, f, TEST_ROWS);
    if (status != RFM_OK) fprintf(stderr, "rfm-bench: large: %s\n", rfm_status_text(status));
    free(x), free(y), free(f);
    bench_ctx_free(&b), bench_ctx_free(&p);
    return status == RFM_OK ? 0 : -1;
}

/* Writes the rows to a file and shows what scikit-learn says about them: a line for each of its methods. */
static int theirs(const bench_run *run, const rows_made *train, size_t n) {
    const char *base = getenv("TMPDIR"), *slash = strrchr(__FILE__, '/');
    const size_t d = train->what->d;
    char name[300], command[1200], line[400];
    rfm_real x[64], y;
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
    for (i = 0; i < n + TEST_ROWS && !failed; i++) {
        make_row(train, i, x, &y);
        failed = fwrite(x, sizeof *x, d, file) != d || fwrite(&y, sizeof y, 1, file) != 1;
    }
    failed |= fclose(file) != 0;
    snprintf(command, sizeof command,
             "OMP_NUM_THREADS=%zu OPENBLAS_NUM_THREADS=%zu /usr/bin/python3 -I -B "
             "'%.*ssklearn_large.py' '%s' f%d %s %zu %zu %d %s",
             run->threads, run->threads, slash ? (int)(slash + 1 - __FILE__) : 0, __FILE__, name, (int)sizeof(rfm_real),
             train->what->name, n, d, CENTERS, run->json ? "json" : "text");
    fflush(stdout);
    pipe = failed ? NULL : popen(command, "r");
    while (pipe != NULL && fgets(line, sizeof line, pipe) != NULL) fputs(line, stdout);
    if (pipe == NULL || pclose(pipe) != 0) failed = -1;
    unlink(name);
    return failed;
}

int bench_large(const bench_run *run) {
    size_t t, i;
    for (t = 0; t < sizeof tasks / sizeof *tasks; t++) {
        double first = 0, first_n = 0;
        for (i = 0; i < (run->sizes > 0 ? run->sizes : sizeof sizes / sizeof *sizes); i++) {
            const size_t n = run->sizes > 0 ? run->n[i] : sizes[i];
            rows_made rows;
            outcome out;
            double exponent = 0;
            memset(&out, 0, sizeof out);
            rows.what = &tasks[t], rows.first = 0;
            if (ours(run, &rows, n, &out)) return -1;
            if (i > 0) exponent = log(out.seconds / first) / log((double)n / first_n);
            if (i == 0) first = out.seconds, first_n = (double)n;
            if (run->json)
                printf(
                    "{\"what\": \"large\", \"method\": \"rfm\", \"task\": \"%s\", \"n\": %zu, \"d\": %zu, \"centers\": "
                    "%d, \"threads\": %zu, \"seconds\": %.4g, \"r2\": %.5f, \"arena_bytes\": %zu, \"passes\": %zu, "
                    "\"steps\": %zu, \"exponent\": %.3f}\n",
                    tasks[t].name, n, tasks[t].d, CENTERS, run->threads, out.seconds, out.r2, out.arena, out.passes,
                    out.steps, exponent);
            else
                printf("large    %-8s n %8zu  rfm, %d centres     %8.2f s  R^2 %.4f  arena %.1f MB  exponent %.2f\n",
                       tasks[t].name, n, CENTERS, out.seconds, out.r2, (double)out.arena / 1e6, exponent);
            fflush(stdout);
            if (!run->alone && theirs(run, &rows, n) != 0)
                fprintf(stderr, "rfm-bench: large: scikit-learn did not answer; tools/setup peers installs it\n");
        }
    }
    return 0;
}

/* The Laplace patch kernel and its AGOP beside NumPy (numpy_conv.py), which reads the same bits from a file. */
#define _POSIX_C_SOURCE 200809L

#include "rfm_conv.h"
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The last ones show how cost grows with images and pixels; there ours is alone. */
static const struct {
    size_t n, side, patch;
    int peer;
} shapes[] = {{200, 28, 3, 1}, {500, 28, 3, 1}, {500, 28, 7, 1}, {500, 14, 7, 0}, {500, 56, 7, 0}, {1000, 28, 7, 0}};

#define REPEATS 3

typedef struct {
    rfm_conv f;
    size_t n, d, patch;
    rfm_real *x, *alpha, *k, *agop; /* (n, d), (n), (n, n), (D, D) */
    double kernel_seconds, agop_seconds;
} problem;

/* Seconds of the processor: other work on the machine counts little. One thread's; of several it is their sum. */
static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ours(const bench_run *run, problem *p) {
    const rfm_cmat x = rfm_cview(p->x, p->n, p->d), none = rfm_cview(NULL, 0, 0);
    bench_ctx b;
    size_t bytes = 0, more = 0;
    int status = 0;
    memset(&b, 0, sizeof b);
    bench_ctx_init(&b, run);
    if (rfm_conv_kernel_need(&b.ctx, &p->f, p->n, p->n, &bytes) != RFM_OK ||
        rfm_conv_agop_need(&b.ctx, &p->f, p->n, p->n, 1, &more) != RFM_OK)
        return -1;
    if (bench_ctx_arena(&b, bytes > more ? bytes : more)) return -1;
    p->kernel_seconds = p->agop_seconds = 1e30;
    for (int i = 0; status == RFM_OK && i < REPEATS; i++) {
        double start = cpu_now(), middle, end;
        status = rfm_conv_kernel(&b.ctx, &p->f, none, x, x, rfm_view(p->k, p->n, p->n));
        middle = cpu_now();
        if (status == RFM_OK)
            status = rfm_conv_agop(&b.ctx, &p->f, none, x, rfm_cview(p->alpha, p->n, 1), x,
                                   rfm_view(p->agop, p->patch, p->patch));
        end = cpu_now();
        if (middle - start < p->kernel_seconds) p->kernel_seconds = middle - start;
        if (end - middle < p->agop_seconds) p->agop_seconds = end - middle;
    }
    if (status != RFM_OK) fprintf(stderr, "rfm-bench: conv: %s\n", rfm_status_text(status));
    bench_ctx_free(&b);
    return status == RFM_OK ? 0 : -1;
}

/* One thread, whatever run->threads is. */
static int theirs(const problem *p, const char *way, double *kernel, double *agop, double *diff) {
    const char *base = getenv("TMPDIR"), *slash = strrchr(__FILE__, '/');
    const size_t nn = p->n * p->n, dd = p->patch * p->patch;
    char name[300], command[1200], out[320];
    rfm_real *back = bench_alloc(nn + dd, sizeof *back);
    FILE *file, *pipe;
    int failed = -1, handle;
    snprintf(name, sizeof name, "%.200s/rfm-bench-XXXXXX", base && *base ? base : "/tmp");
    handle = mkstemp(name);
    file = handle < 0 ? NULL : fdopen(handle, "wb");
    if (file == NULL) {
        perror(name);
        free(back);
        return -1;
    }
    snprintf(out, sizeof out, "%s.out", name);
    snprintf(command, sizeof command,
             "OPENBLAS_NUM_THREADS=1 /usr/bin/python3 -I -B '%.*snumpy_conv.py' '%s' f%d %zu %zu %zu %.9g %s %d",
             slash ? (int)(slash + 1 - __FILE__) : 0, __FILE__, name, (int)sizeof(rfm_real), p->n, p->f.width,
             p->f.patch, (double)p->f.bandwidth, way, strcmp(way, "direct") ? REPEATS : 1);
    if (fwrite(p->x, sizeof *p->x, p->n * p->d, file) == p->n * p->d &&
        fwrite(p->alpha, sizeof *p->alpha, p->n, file) == p->n && fclose(file) == 0 &&
        (pipe = popen(command, "r")) != NULL) {
        if (fscanf(pipe, "%lf %lf", kernel, agop) == 2) failed = 0;
        if (pclose(pipe) != 0) failed = -1;
    }
    file = failed ? NULL : fopen(out, "rb");
    if (file != NULL && fread(back, sizeof *back, nn + dd, file) == nn + dd) {
        const double k = bench_distance(p->k, back, nn), a = bench_distance(p->agop, back + nn, dd);
        *diff = k > a ? k : a;
    } else
        failed = -1;
    if (file != NULL) fclose(file);
    unlink(name);
    unlink(out);
    free(back);
    return failed;
}

static int bench_shape(const bench_run *run, size_t index) {
    static const char *const ways[] = {"direct", "products"};
    problem p;
    const int alone = run->alone || !shapes[index].peer;
    int failed;
    memset(&p, 0, sizeof p);
    p.f.channels = 1, p.f.height = p.f.width = shapes[index].side, p.f.patch = shapes[index].patch;
    p.f.kernel = RFM_CONV_LAPLACE, p.f.depth = 1, p.f.bandwidth = 2;
    p.n = shapes[index].n, p.d = rfm_conv_pixels(&p.f), p.patch = rfm_conv_patch(&p.f);
    p.x = bench_alloc(p.n * p.d, sizeof *p.x), p.alpha = bench_alloc(p.n, sizeof *p.alpha);
    p.k = bench_alloc(p.n * p.n, sizeof *p.k), p.agop = bench_alloc(p.patch * p.patch, sizeof *p.agop);
    bench_random(p.x, p.n * p.d, 1);
    bench_random(p.alpha, p.n, 2);
    failed = ours(run, &p);
    for (size_t i = 0; !failed && i < (alone ? 1 : 2); i++) {
        double kernel = 0, agop = 0, diff = 0;
        int there = !alone && theirs(&p, ways[i], &kernel, &agop, &diff) == 0;
        if (!there && !alone) fprintf(stderr, "rfm-bench: conv: NumPy did not answer\n");
        if (run->json)
            printf(
                "{\"bench\": \"conv\", \"n\": %zu, \"side\": %zu, \"patch\": %zu, \"numpy\": \"%s\", \"kernel\": %.6g, "
                "\"agop\": %.6g, \"numpy_kernel\": %.6g, \"numpy_agop\": %.6g, \"diff\": %.3g}\n",
                p.n, p.f.width, p.f.patch, ways[i], p.kernel_seconds, p.agop_seconds, kernel, agop, diff);
        else {
            printf("conv     n %4zu  %zux%zu  q %zu  kernel %9.2f ms  AGOP %9.2f ms", p.n, p.f.width, p.f.width,
                   p.f.patch, 1e3 * p.kernel_seconds, 1e3 * p.agop_seconds);
            if (there)
                printf("  NumPy (%-8s) %10.2f ms, %10.2f ms  ratio %6.1f, %6.1f  diff %.1e", ways[i], 1e3 * kernel,
                       1e3 * agop, kernel / p.kernel_seconds, agop / p.agop_seconds, diff);
            printf("\n");
        }
        fflush(stdout);
        if (there && !(diff < (sizeof(rfm_real) == 4 ? 2e-3 : 1e-6))) failed = -1;
    }
    free(p.x), free(p.alpha), free(p.k), free(p.agop);
    return failed;
}

int bench_conv(const bench_run *run) {
    int failed = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        size_t j = 0;
        while (j < run->sizes && run->n[j] != shapes[i].n) j++;
        if (run->sizes == 0 || j < run->sizes) failed |= bench_shape(run, i);
    }
    return failed;
}

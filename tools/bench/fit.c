/* Whole fits and predictions: ours in this process, NumPy's (numpy_rfm.py) in another one that answers over a pipe.
 *
 * Both get the same bits through a file. Each side times itself, around the work alone, and they take turns; the one
 * that waits is asleep. */
#define _DEFAULT_SOURCE /* madvise; brings POSIX.1-2008 */

#include "host/pool.h"
#include "bench.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define POINTS     1000 /* to predict */
#define ITERATIONS 5
#define BANDWIDTH  10
#define RIDGE      1e-3
#define NOISE      0.1
#define TOLERANCE  2e-2 /* of predictions and of M */
#define HUGE_PAGE  ((size_t)2 << 20)

typedef struct {
    size_t n, d, c;
    int metric;
    double aim, predict_aim; /* for the ratio; predict_aim 0: no predictions are measured */
    double memory_aim;       /* for the arena in n x n matrices; 0: none */
} shape;

static const shape shapes[] = {
    {1000, 30, 1, RFM_FULL, 1.5, 3, 0},      {2000, 100, 1, RFM_FULL, 1.5, 3, 0},
    {5000, 50, 1, RFM_FULL, 1.5, 3, 1.15},   {5000, 784, 1, RFM_FULL, 2, 3, 0},
    {2000, 100, 10, RFM_FULL, 2, 0, 0},      {1000, 30, 1, RFM_DIAGONAL, 1.5, 0, 0},
    {2000, 100, 1, RFM_DIAGONAL, 1.5, 0, 0}, {5000, 50, 1, RFM_DIAGONAL, 1.5, 0, 1.15},
    {5000, 784, 1, RFM_DIAGONAL, 2, 0, 0},   {2000, 100, 10, RFM_DIAGONAL, 2, 0, 0},
};

#define SHAPES (sizeof shapes / sizeof *shapes)

static const shape threads_shape = {5000, 50, 1, RFM_FULL, 0, 0, 0};
static const size_t growth_sizes[] = {500, 1000, 2000, 4000, 8000, 0};

/* ---- data ----------------------------------------------------------------------------------- */

typedef struct {
    size_t n, d, c;
    rfm_real *x, *y, *z; /* (n, d), (n, c), (POINTS, d) */
} problem;

/* Standard normal, by Box and Muller. */
static void normal(rfm_real *x, size_t count, unsigned seed) {
    const double turn = 6.283185307179586;
    rfm_real *u = bench_alloc(count + 2, sizeof *u);

    bench_random(u, count + 2, seed);
    for (size_t i = 0; i < count; i += 2) {
        double radius = sqrt(-2 * log(1 - 0.5 * ((double)u[i] + 1))), angle = turn * 0.5 * ((double)u[i + 1] + 1);
        x[i] = (rfm_real)(radius * cos(angle));
        if (i + 1 < count) x[i + 1] = (rfm_real)(radius * sin(angle));
    }
    free(u);
}

/* X and Z standard normal; y_k = sin(x_k) + x_k+1 x_k+2 / 2 + 0.1 normal, the indices modulo d. */
static void problem_make(problem *p, size_t n, size_t d, size_t c) {
    p->n = n;
    p->d = d;
    p->c = c;
    p->x = bench_alloc(n * d, sizeof(rfm_real));
    p->y = bench_alloc(n * c, sizeof(rfm_real));
    p->z = bench_alloc(POINTS * d, sizeof(rfm_real));
    normal(p->x, n * d, 11);
    normal(p->y, n * c, 12);
    normal(p->z, POINTS * d, 13);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c; k++) {
            const rfm_real *x = p->x + i * d;
            double clean = sin((double)x[k % d]) + 0.5 * (double)x[(k + 1) % d] * (double)x[(k + 2) % d];
            p->y[i * c + k] = (rfm_real)(clean + NOISE * (double)p->y[i * c + k]);
        }
}

static void problem_free(problem *p) {
    free(p->x);
    free(p->y);
    free(p->z);
}

/* ---- ours ----------------------------------------------------------------------------------- */

typedef struct {
    rfm_ctx ctx;
    rfm_arena arena; /* the model and the scratch of the fit */
    void *memory;
    size_t bytes;
    rfm_data data;
    rfm_options options;
    rfm_model model;
    rfm_real *predicted, *metric; /* (POINTS, c); (d, d) or (1, d) */
    rfm_arena predict_arena;
    void *predict_memory;
    size_t predict_bytes;
} ours;

static int complain(const char *what, int status) {
    fprintf(stderr, "rfm-bench: %s: %s (%d)\n", what, rfm_status_text(status), status);
    return -1;
}

/* On huge pages if the system has them: NumPy asks for them too. */
static void *huge_alloc(size_t bytes) {
    void *memory = NULL;
    size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;

    if (posix_memalign(&memory, HUGE_PAGE, whole)) {
        fprintf(stderr, "rfm-bench: no %zu bytes of memory\n", bytes);
        exit(1);
    }
#ifdef MADV_HUGEPAGE
    (void)madvise(memory, whole, MADV_HUGEPAGE);
#endif
    return memory;
}

static void ours_free(ours *o) {
    free(o->memory);
    free(o->predict_memory);
    free(o->predicted);
    free(o->metric);
}

static int ours_start(ours *o, const bench_run *run, const problem *p, int metric, size_t iterations, size_t threads) {
    size_t scratch = 0, store = 0;

    memset(o, 0, sizeof *o);
    rfm_arena_measure(&o->arena);
    o->ctx.arena = &o->arena;
    o->ctx.port = run->port;
    o->ctx.workers = threads;
    o->ctx.run = threads > 1 ? pool_run : NULL;
    o->ctx.pool = threads > 1 ? run->pool : NULL;
    rfm_options_init(&o->options);
    o->options.kernel = RFM_LAPLACE;
    o->options.bandwidth = BANDWIDTH;
    o->options.ridge = (rfm_real)RIDGE;
    o->options.metric = metric;
    o->options.iterations = iterations;
    o->data.x = rfm_cview(p->x, p->n, p->d);
    o->data.y = rfm_cview(p->y, p->n, p->c);

    int status = rfm_fit_need(&o->ctx, &o->data, &o->options, &scratch, &store);
    if (status != RFM_OK) return complain("fit", status);
    o->bytes = scratch + store;
    o->memory = huge_alloc(o->bytes);
    o->predicted = bench_alloc(POINTS * p->c, sizeof(rfm_real));
    o->metric = bench_alloc(metric == RFM_FULL ? p->d * p->d : p->d, sizeof(rfm_real));
    status = rfm_arena_init(&o->arena, o->memory, o->bytes);
    return status == RFM_OK ? 0 : complain("fit", status);
}

/* The seconds, or < 0. */
static double ours_fit(ours *o) {
    rfm_arena_release(&o->arena, 0);
    double start = bench_now();
    int status = rfm_fit(&o->ctx, &o->data, &o->options, &o->arena, &o->model, NULL);
    double seconds = bench_now() - start;
    return status == RFM_OK ? seconds : complain("fit", status);
}

static double ours_predict(ours *o, const problem *p) {
    rfm_ctx ctx = o->ctx;
    int status = RFM_OK;

    ctx.arena = &o->predict_arena;
    if (!o->predict_memory) {
        rfm_arena_measure(&o->predict_arena);
        status = rfm_predict_need(&ctx, &o->model, POINTS, &o->predict_bytes);
        if (status == RFM_OK) {
            o->predict_memory = huge_alloc(o->predict_bytes);
            status = rfm_arena_init(&o->predict_arena, o->predict_memory, o->predict_bytes);
        }
        if (status != RFM_OK) return complain("predict", status);
    }
    double start = bench_now();
    status = rfm_predict(&ctx, &o->model, rfm_cview(p->z, POINTS, p->d), rfm_view(o->predicted, POINTS, p->c));
    double seconds = bench_now() - start;
    return status == RFM_OK ? seconds : complain("predict", status);
}

static size_t metric_rows(const ours *o) { return o->options.metric == RFM_FULL ? o->data.x.cols : 1; }

static int ours_metric(ours *o) {
    int status = rfm_metric(&o->model, rfm_view(o->metric, metric_rows(o), o->data.x.cols));
    return status == RFM_OK ? 0 : complain("metric", status);
}

/* ---- the peer: numpy_rfm.py ----------------------------------------------------------------- */

typedef struct {
    pid_t child;
    FILE *to, *from;
    char folder[256]; /* temporary, for the data; "" if there is none */
    char numpy[32], version[32], core[32], library[256];
    int fair; /* the kernels of OpenBLAS that belong to the port */
} numpy;

static void file_name(const numpy *peer, char *out, size_t size) { snprintf(out, size, "%s/data", peer->folder); }

static void numpy_stop(numpy *peer) {
    char name[300];

    if (peer->to) fclose(peer->to); /* ends it */
    if (peer->from) fclose(peer->from);
    if (peer->child > 0) waitpid(peer->child, NULL, 0);
    if (peer->folder[0]) {
        file_name(peer, name, sizeof name);
        unlink(name);
        rmdir(peer->folder);
    }
    memset(peer, 0, sizeof *peer);
}

/* Sends one command; what follows "ok " in the answer. */
static int ask(numpy *peer, const char *command, char *answer, size_t size) {
    char line[1024];

    if (fprintf(peer->to, "%s\n", command) < 0 || fflush(peer->to) || !fgets(line, sizeof line, peer->from)) {
        fprintf(stderr, "rfm-bench: the NumPy process has ended\n");
        return -1;
    }
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "ok", 2) != 0) {
        fprintf(stderr, "rfm-bench: NumPy, %.*s: %s\n", (int)strcspn(command, " "), command, line);
        return -1;
    }
    const char *rest = line[2] ? line + 3 : line + 2;
    if (strlen(rest) >= size) {
        fprintf(stderr, "rfm-bench: NumPy's answer is too long: %s\n", rest);
        return -1;
    }
    memcpy(answer, rest, strlen(rest) + 1);
    return 0;
}

static double ask_number(numpy *peer, const char *command) {
    char answer[64];
    return ask(peer, command, answer, sizeof answer) ? -1 : strtod(answer, NULL);
}

/* Beside the source, seen from where make runs; or from where the program lies. */
static int find_script(char *out, size_t size) {
    static const char *const places[] = {"/../tools/bench/", "/../../tools/bench/"};
    const char *slash = strrchr(__FILE__, '/');
    char self[512];

    snprintf(out, size, "%.*snumpy_rfm.py", slash ? (int)(slash + 1 - __FILE__) : 0, __FILE__);
    if (access(out, R_OK) == 0) return 0;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return -1;
    self[length] = '\0';
    char *end = strrchr(self, '/');
    if (end) *end = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(out, size, "%s%snumpy_rfm.py", self, places[i]);
        if (access(out, R_OK) == 0) return 0;
    }
    return -1;
}

static int numpy_spawn(numpy *peer) {
    char script[1024];
    int down[2], up[2];

    if (find_script(script, sizeof script)) {
        fprintf(stderr, "rfm-bench: numpy_rfm.py is not to be found\n");
        return -1;
    }
    if (pipe(down)) return -1;
    if (pipe(up)) {
        close(down[0]);
        close(down[1]);
        return -1;
    }
    signal(SIGPIPE, SIG_IGN); /* a peer that dies is an error of fprintf */
    fflush(stdout);
    peer->child = fork();
    if (peer->child == 0) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        close(down[0]);
        close(down[1]);
        close(up[0]);
        close(up[1]);
        /* The system's Python: its NumPy takes the system's BLAS. */
        execl("/usr/bin/python3", "python3", "-I", "-B", script, (char *)NULL);
        execlp("python3", "python3", "-I", "-B", script, (char *)NULL);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    peer->to = fdopen(down[1], "w");
    peer->from = fdopen(up[0], "r");
    return peer->child > 0 && peer->to && peer->from ? 0 : -1;
}

static int write_data(const char *name, const problem *p) {
    FILE *file = fopen(name, "wb");
    int good = file && fwrite(p->x, sizeof(rfm_real), p->n * p->d, file) == p->n * p->d &&
               fwrite(p->y, sizeof(rfm_real), p->n * p->c, file) == p->n * p->c &&
               fwrite(p->z, sizeof(rfm_real), POINTS * p->d, file) == POINTS * p->d;
    if (file && fclose(file)) good = 0;
    if (!good) perror(name);
    return good ? 0 : -1;
}

/* Its own process for every shape, so that its memory is that shape's. */
static int numpy_start(numpy *peer, const bench_run *run, const problem *p, int metric, size_t iterations) {
    const char *base = getenv("TMPDIR");
    char command[512], name[300], answer[400];

    memset(peer, 0, sizeof *peer);
    snprintf(peer->folder, sizeof peer->folder, "%.200s/rfm-bench-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(peer->folder)) {
        perror(peer->folder);
        peer->folder[0] = '\0';
        return -1;
    }
    file_name(peer, name, sizeof name);
    if (write_data(name, p) || numpy_spawn(peer) || ask(peer, "hello", answer, sizeof answer)) {
        fprintf(stderr,
                "rfm-bench: no NumPy with OpenBLAS, so ours alone. `make bench` installs both (tools/setup bench).\n");
        numpy_stop(peer);
        return -1;
    }
    if (sscanf(answer, "%31s %31s %31s %255s", peer->numpy, peer->version, peer->core, peer->library) != 4) {
        fprintf(stderr, "rfm-bench: NumPy answers %s\n", answer);
        numpy_stop(peer);
        return -1;
    }
    const char *core = bench_peer_core(run->port->name, &peer->fair);
    if (core && strcmp(core, peer->core) != 0) {
        fprintf(stderr, "rfm-bench: *** WARNING: NumPy's OpenBLAS was asked for its %s kernels and uses %s. ***\n",
                core, peer->core);
        peer->fair = 0;
    }
    snprintf(command, sizeof command, "data %s %s %zu %zu %zu %d %s %d %g %zu", name, RFM_REAL_BYTES == 8 ? "f8" : "f4",
             p->n, p->d, p->c, POINTS, metric == RFM_FULL ? "full" : "diagonal", BANDWIDTH, RIDGE, iterations);
    int failed = ask(peer, command, answer, sizeof answer);
    unlink(name);
    if (failed) numpy_stop(peer);
    return failed;
}

/* f(Z) and M of the peer's last fit and prediction, `count` numbers. */
static int numpy_result(numpy *peer, rfm_real *out, size_t count) {
    char command[320], name[300], answer[8];

    file_name(peer, name, sizeof name);
    snprintf(command, sizeof command, "save %s", name);
    if (ask(peer, command, answer, sizeof answer)) return -1;
    FILE *file = fopen(name, "rb");
    int good = file && fread(out, sizeof *out, count, file) == count;
    if (file) fclose(file);
    unlink(name);
    if (!good) fprintf(stderr, "rfm-bench: NumPy's results cannot be read\n");
    return good ? 0 : -1;
}

/* ---- report --------------------------------------------------------------------------------- */

typedef struct {
    const char *what;
    shape s;
    double seconds, peer_seconds; /* best; peer_seconds 0: no peer */
    double aim;
    size_t bytes;
    double peer_bytes;        /* < 0: not known */
    double diff, metric_diff; /* < 0: not compared */
} row;

static const char *metric_name(int metric) { return metric == RFM_FULL ? "full" : "diagonal"; }
static double square(size_t n) { return (double)n * (double)n * sizeof(rfm_real); }

static void print_columns(const bench_run *run, const numpy *peer) {
    if (run->json) return;
    printf("\nT = %d, Laplace, L = %d, ridge %g; prediction of %d points", ITERATIONS, BANDWIDTH, RIDGE, POINTS);
    if (peer->child > 0)
        printf("; NumPy %s, %s: OpenBLAS %s with its %s kernels", peer->numpy, peer->library, peer->version,
               peer->core);
    printf("\n%-7s %5s %4s %3s %-8s  %9s %9s  %6s  %-9s  %8s %6s %8s  %7s %7s\n", "what", "n", "d", "out", "metric",
           "s", "NumPy", "ratio", "aim", "MB", "n x n", "NumPy", "diff f", "diff M");
}

static void print_row(const bench_run *run, const numpy *peer, const row *r) {
    double ratio = r->peer_seconds / r->seconds;

    if (run->json) {
        printf("{\"what\":\"%s\",\"n\":%zu,\"d\":%zu,\"outputs\":%zu,\"metric\":\"%s\",\"port\":\"%s\",\"threads\":1,"
               "\"seconds\":%.6f,",
               r->what, r->s.n, r->s.d, r->s.c, metric_name(r->s.metric), run->port->name, r->seconds);
        if (r->peer_seconds > 0)
            printf("\"peer\":\"numpy\",\"openblas\":\"%s\",\"peer_seconds\":%.6f,\"ratio\":%.3f,", peer->core,
                   r->peer_seconds, ratio);
        else
            printf("\"peer\":null,\"openblas\":null,\"peer_seconds\":null,\"ratio\":null,");
        printf("\"bytes\":%zu,", r->bytes);
        if (r->peer_bytes >= 0)
            printf("\"peer_bytes\":%.0f", r->peer_bytes);
        else
            printf("\"peer_bytes\":null");
        printf("}\n");
        fflush(stdout);
        return;
    }
    printf("%-7s %5zu %4zu %3zu %-8s  %9.4f ", r->what, r->s.n, r->s.d, r->s.c, metric_name(r->s.metric), r->seconds);
    if (r->peer_seconds > 0) {
        char aim[32] = "-";
        if (peer->fair) snprintf(aim, sizeof aim, "%.3g %s", r->aim, ratio >= r->aim ? "ok" : "below");
        printf("%9.4f  %6.3f  %-9s", r->peer_seconds, ratio, aim);
    } else {
        printf("%9s  %6s  %-9s", "-", "-", "-");
    }
    printf("  %8.1f %6.3f ", (double)r->bytes * 1e-6, (double)r->bytes / square(r->s.n));
    if (r->peer_bytes >= 0)
        printf("%8.1f", r->peer_bytes * 1e-6);
    else
        printf("%8s", "-");
    if (r->diff >= 0) printf("  %7.1e %7.1e", r->diff, r->metric_diff);
    if (r->s.memory_aim > 0 && strcmp(r->what, "fit") == 0)
        printf("  memory aim %.3g %s", r->s.memory_aim,
               (double)r->bytes / square(r->s.n) <= r->s.memory_aim ? "ok" : "above");
    printf("\n");
    fflush(stdout);
}

/* ---- measuring ------------------------------------------------------------------------------ */

typedef struct {
    double best, total;
} clock_side;

static int note(clock_side *side, double seconds) {
    if (seconds < 0) return -1;
    side->total += seconds;
    if (side->best <= 0 || seconds < side->best) side->best = seconds;
    return 0;
}

/* Ours, theirs, ours, theirs...: at least `least` times each and `enough` seconds of ours. */
static int take_turns(const bench_run *run, ours *o, numpy *peer, const problem *p, int predict, size_t least,
                      double enough, clock_side side[2]) {
    memset(side, 0, 2 * sizeof *side);
    for (size_t i = 0; run->repeats ? i < run->repeats : i < least || side[0].total < enough; i++) {
        if (note(&side[0], predict ? ours_predict(o, p) : ours_fit(o))) return -1;
        if (peer->child > 0 && note(&side[1], ask_number(peer, predict ? "predict" : "fit"))) return -1;
    }
    return 0;
}

static int compare(ours *o, numpy *peer, const problem *p, row *r) {
    size_t points = POINTS * p->c, metric = metric_rows(o) * p->d;
    rfm_real *theirs = bench_alloc(points + metric, sizeof *theirs);
    int failed = ours_metric(o) || numpy_result(peer, theirs, points + metric);

    if (!failed) {
        r->diff = bench_distance(o->predicted, theirs, points);
        r->metric_diff = bench_distance(o->metric, theirs + points, metric);
    }
    free(theirs);
    return failed;
}

static int measure_shape(const bench_run *run, const shape *s, int fits, int *started) {
    problem p;
    ours o;
    numpy peer;
    clock_side side[2] = {{0, 0}, {0, 0}};
    row r = {"fit", *s, 0, 0, s->aim, 0, -1, -1, -1};
    int big = s->n >= 5000 && s->d > 500;

    problem_make(&p, s->n, s->d, s->c);
    memset(&peer, 0, sizeof peer);
    if (!run->alone && run->peer) (void)numpy_start(&peer, run, &p, s->metric, ITERATIONS);
    if (!*started) print_columns(run, &peer);
    *started = 1;

    int failed = ours_start(&o, run, &p, s->metric, ITERATIONS, 1);
    if (!failed && fits)
        failed = take_turns(run, &o, &peer, &p, 0, big ? 2 : 3, 0.6, side);
    else if (!failed)
        failed = ours_fit(&o) < 0 || (peer.child > 0 && ask_number(&peer, "fit") < 0);
    if (!failed) {
        r.seconds = side[0].best;
        r.peer_seconds = side[1].best;
        r.bytes = o.bytes;
        if (peer.child > 0) r.peer_bytes = ask_number(&peer, "memory");
        failed = take_turns(run, &o, &peer, &p, 1, s->predict_aim > 0 ? 5 : 1, s->predict_aim > 0 ? 0.2 : 0, side);
    }
    if (!failed && peer.child > 0) failed = compare(&o, &peer, &p, &r);
    if (!failed && fits) print_row(run, &peer, &r);
    if (!failed && s->predict_aim > 0) {
        r.what = "predict";
        r.seconds = side[0].best;
        r.peer_seconds = side[1].best;
        r.aim = s->predict_aim;
        r.bytes = o.predict_bytes;
        r.peer_bytes = -1;
        print_row(run, &peer, &r);
    }
    if (!failed && r.diff >= 0 && !(r.diff <= TOLERANCE && r.metric_diff <= TOLERANCE)) {
        fprintf(stderr,
                "rfm-bench: *** WARNING: fit (%zu, %zu), %zu outputs, %s: predictions differ by %.1e, M by %.1e, more "
                "than %.1e ***\n",
                s->n, s->d, s->c, metric_name(s->metric), r.diff, r.metric_diff, TOLERANCE);
        failed = 1;
    }
    numpy_stop(&peer);
    ours_free(&o);
    problem_free(&p);
    return failed ? -1 : 0;
}

/* Our threads against our one thread, in turn; the results must be the same bits. */
static int measure_threads(const bench_run *run, const shape *s) {
    problem p;
    ours o[2];
    clock_side side[2] = {{0, 0}, {0, 0}};
    size_t repeats = run->repeats ? run->repeats : 3;

    problem_make(&p, s->n, s->d, s->c);
    int failed = ours_start(&o[0], run, &p, s->metric, ITERATIONS, 1);
    if (failed)
        memset(&o[1], 0, sizeof o[1]);
    else
        failed = ours_start(&o[1], run, &p, s->metric, ITERATIONS, run->threads);
    for (size_t i = 0; !failed && i < repeats; i++)
        failed = note(&side[0], ours_fit(&o[0])) || note(&side[1], ours_fit(&o[1]));
    failed = failed || ours_predict(&o[0], &p) < 0 || ours_predict(&o[1], &p) < 0;
    if (!failed) {
        double speedup = side[0].best / side[1].best;
        if (run->json)
            printf("{\"what\":\"fit\",\"n\":%zu,\"d\":%zu,\"outputs\":%zu,\"metric\":\"%s\",\"port\":\"%s\","
                   "\"threads\":%zu,"
                   "\"seconds\":%.6f,\"one_thread_seconds\":%.6f,\"speedup\":%.3f,\"bytes\":%zu}\n",
                   s->n, s->d, s->c, metric_name(s->metric), run->port->name, run->threads, side[1].best, side[0].best,
                   speedup, o[1].bytes);
        else
            printf("\nfit (%zu, %zu), ours alone: 1 thread %.4f s, %zu threads %.4f s, speedup %.3f\n", s->n, s->d,
                   side[0].best, run->threads, side[1].best, speedup);
        fflush(stdout);
        if (memcmp(o[0].predicted, o[1].predicted, POINTS * p.c * sizeof(rfm_real)) != 0) {
            fprintf(stderr, "rfm-bench: *** WARNING: fit: %zu threads do not give the bits of one ***\n", run->threads);
            failed = 1;
        }
    }
    ours_free(&o[0]);
    ours_free(&o[1]);
    problem_free(&p);
    return failed ? -1 : 0;
}

static int chosen(const size_t *list, size_t count, size_t value) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == value) return 1;
    return count == 0;
}

static int measure_all(const bench_run *run, int fits) {
    int failed = 0, started = 0;

    if (run->threads > 1) return fits ? measure_threads(run, &threads_shape) : 0;
    for (size_t i = 0; i < SHAPES; i++) {
        const shape *s = &shapes[i];
        if (!chosen(run->n, run->sizes, s->n) || !chosen(run->d, run->dims, s->d) ||
            !chosen(run->outputs, run->counts, s->c))
            continue;
        if (run->metric && strcmp(run->metric, metric_name(s->metric)) != 0) continue;
        if (fits || s->predict_aim > 0) failed |= measure_shape(run, s, fits, &started);
    }
    return failed ? -1 : 0;
}

int bench_fit(const bench_run *run) { return measure_all(run, 1); }
int bench_predict(const bench_run *run) { return measure_all(run, 0); }

/* ---- growth: time against n ----------------------------------------------------------------- */

int bench_growth(const bench_run *run) {
    const size_t d = 50;
    const size_t *sizes = run->sizes ? run->n : growth_sizes;
    size_t count = run->sizes, before = 0;
    double seconds_before = 0;

    if (!count)
        while (sizes[count]) count++;
    if (!run->json)
        printf("\nGrowth of a fit, T = 1, d = %zu: seconds ~ n^exponent since the line above\n%-7s %6s  %9s  %8s  "
               "%-12s  %8s %6s\n",
               d, "what", "n", "s", "exponent", "aim", "MB", "n x n");
    for (size_t i = 0; i < count; i++) {
        problem p;
        ours o;
        clock_side side = {0, 0};
        size_t n = sizes[i], repeats = run->repeats ? run->repeats : n > 2000 ? 2 : 5;

        problem_make(&p, n, d, 1);
        int failed = ours_start(&o, run, &p, RFM_FULL, 1, run->threads);
        for (size_t j = 0; !failed && j < repeats; j++) failed = note(&side, ours_fit(&o));
        if (!failed) {
            int known = before > 0 && before != n;
            double exponent = known ? log(side.best / seconds_before) / log((double)n / (double)before) : 0;
            if (run->json) {
                printf("{\"what\":\"growth\",\"n\":%zu,\"d\":%zu,\"outputs\":1,\"metric\":\"full\",\"port\":\"%s\","
                       "\"threads\":%zu,\"seconds\":%.6f,",
                       n, d, run->port->name, run->threads, side.best);
                if (known)
                    printf("\"exponent\":%.3f,", exponent);
                else
                    printf("\"exponent\":null,");
                printf("\"bytes\":%zu}\n", o.bytes);
            } else {
                printf("%-7s %6zu  %9.4f  ", "growth", n, side.best);
                if (known)
                    printf("%8.3f  %-12s", exponent, exponent <= 3 ? "3 ok" : "3 above");
                else
                    printf("%8s  %-12s", "-", "-");
                printf("  %8.1f %6.3f\n", (double)o.bytes * 1e-6, (double)o.bytes / square(n));
            }
            fflush(stdout);
            before = n;
            seconds_before = side.best;
        }
        ours_free(&o);
        problem_free(&p);
        if (failed) return -1;
    }
    return 0;
}

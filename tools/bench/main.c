/* rfm-bench: what it measures, what it is told on the command line, and how it reports. */
#define _POSIX_C_SOURCE 200809L

#include "rfm_port.h"
#include "host/pool.h"
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static const bench_entry benches[] = {
    {"gemm", "C = A B", {512, 1024, 2048, 0}, {0}, bench_gemm, NULL, 0},
    {"chol", "A = U'U", {1000, 2000, 4000, 0}, {8000, 0}, bench_chol, NULL, 0},
    {"solve", "A X = B from the factor, 10 right-hand sides", {1000, 2000, 4000, 0}, {0}, bench_solve, NULL, 0},
    {"eig", "all eigenpairs of a symmetric matrix", {100, 300, 1000, 0}, {0}, bench_eig, NULL, 0},
    {"fit", "whole fits at fixed shapes, then predictions, beside NumPy", {0}, {0}, NULL, bench_fit, 0},
    {"predict", "the predictions only", {0}, {0}, NULL, bench_predict, 1},
    {"growth", "time of a fit against n, if asked for", {0}, {0}, NULL, bench_growth, 1},
    {"conv", "a patch kernel and its AGOP, beside NumPy, if asked for", {0}, {0}, NULL, bench_conv, 1},
    {"large", "rows in passes, up to a million, beside scikit-learn, if asked for", {0}, {0}, NULL, bench_large, 1},
};

#define BENCHES   (sizeof benches / sizeof *benches)
#define MAX_SIZES 32
#define MAX_PORTS 16

typedef struct {
    const char *ports; /* names with commas; NULL: the SIMD ports that run here */
    const char *what;
    const char *blas;
    size_t n[MAX_SIZES], sizes;
    size_t d[MAX_SIZES], dims; /* which fits */
    size_t outputs[MAX_SIZES], counts;
    const char *metric, *task, *data;
    size_t threads, repeats;
    int json, peak, more, alone;
} options;

/* ---- command line --------------------------------------------------------------------------- */

static void help(FILE *out) {
    fprintf(out, "usage: rfm-bench [options]\n"
                 "Times rfm's linear algebra and OpenBLAS's in turn, rfm's fits and NumPy's; prints the ratio.\n\n"
                 "  --port NAME[,NAME..]  default: every SIMD port this machine runs, else scalar\n"
                 "  --what NAME[,NAME..]  default: all of these but predict and growth\n");
    for (size_t i = 0; i < BENCHES; i++) {
        fprintf(out, "                          %-7s %s%s", benches[i].name, benches[i].help,
                benches[i].n[0] ? ", n =" : "");
        for (const size_t *n = benches[i].n; *n; n++) fprintf(out, " %zu", *n);
        fputc('\n', out);
    }
    fprintf(out, "  --n N[,N..]           these sizes instead\n"
                 "  --long                larger sizes too\n"
                 "  --d N[,N..]           of the fits only those with so many inputs,\n"
                 "  --outputs N[,N..]     outputs,\n"
                 "  --metric NAME         full or diagonal\n"
                 "  --task NAME           of large only this one: step, friedman or regions\n"
                 "  --data FOLDER         large on tables instead: california.csv, diamonds.csv, each with a .split\n"
                 "  --threads N           on both sides; default 1. Fits: ours with N against ours with one\n"
                 "  --repeats N           of each side; default: at least 5, and 0.6 s; fits 3, the largest 2\n"
                 "  --alone               ours only\n"
                 "  --peak                measure one core's peak first and give rates in %% of it\n"
                 "  --blas FILE           the OpenBLAS library to load\n"
                 "  --json                one object per line\n"
                 "  --help\n"
                 "Exit status: 0, 1 if something failed or the results disagree, 2 for a wrong command line.\n");
}

/* 1 if `name` is one of the names in `list`, which have commas between them. */
static int listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *p = list; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
        if (strncmp(p, name, length) == 0 && (p[length] == ',' || p[length] == '\0')) return 1;
    return 0;
}

static int parse_size(const char *text, char **end, size_t *value) {
    if (*text < '0' || *text > '9') /* strtoul would take a sign and blanks */
        return -1;
    errno = 0;
    unsigned long number = strtoul(text, end, 10);
    if (errno || number == 0 || number > 1000000) return -1;
    *value = (size_t)number;
    return 0;
}

static int parse_sizes(const char *text, size_t *value, size_t *count, size_t limit) {
    for (*count = 0; *count < limit;) {
        char *end;
        if (parse_size(text, &end, &value[*count])) return -1;
        ++*count;
        if (*end == '\0') return 0;
        if (*end != ',') return -1;
        text = end + 1;
    }
    return -1;
}

/* Every name between the commas must be one of the benches. */
static int known_benches(const char *list) {
    size_t commas = 0, known = 0;
    for (const char *p = list; *p; p++) commas += *p == ',';
    for (size_t i = 0; i < BENCHES; i++) known += (size_t)listed(list, benches[i].name);
    return known == commas + 1;
}

static int wrong(const char *what, const char *option, const char *value) {
    fprintf(stderr, "rfm-bench: %s %s%s%s; see rfm-bench --help\n", what, option, value ? " " : "", value ? value : "");
    return 2;
}

/* 0: go on; else the exit status + 1. */
static int parse(options *o, int argc, char **argv) {
    static const char *const flags[] = {"--json", "--peak", "--long", "--alone"};
    int *const flag_values[] = {&o->json, &o->peak, &o->more, &o->alone};
    size_t one;

    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        int flag = 0, bad = 0;

        if (strcmp(name, "--help") == 0) {
            help(stdout);
            return 1;
        }
        for (size_t f = 0; f < sizeof flags / sizeof *flags; f++)
            if (strcmp(name, flags[f]) == 0) flag = *flag_values[f] = 1;
        if (flag) continue;

        if (!listed("--port,--what,--blas,--n,--d,--outputs,--metric,--task,--data,--threads,--repeats", name))
            return wrong("there is no option", name, NULL) + 1;
        if (!value) return wrong("a value must follow", name, NULL) + 1;
        i++;
        if (strcmp(name, "--port") == 0)
            o->ports = value;
        else if (strcmp(name, "--what") == 0)
            o->what = value, bad = !known_benches(value);
        else if (strcmp(name, "--blas") == 0)
            o->blas = value;
        else if (strcmp(name, "--n") == 0)
            bad = parse_sizes(value, o->n, &o->sizes, MAX_SIZES);
        else if (strcmp(name, "--d") == 0)
            bad = parse_sizes(value, o->d, &o->dims, MAX_SIZES);
        else if (strcmp(name, "--outputs") == 0)
            bad = parse_sizes(value, o->outputs, &o->counts, MAX_SIZES);
        else if (strcmp(name, "--task") == 0)
            o->task = value, bad = !listed("step,friedman,regions,california,diamonds", value);
        else if (strcmp(name, "--data") == 0)
            o->data = value;
        else if (strcmp(name, "--metric") == 0)
            o->metric = value, bad = strcmp(value, "full") != 0 && strcmp(value, "diagonal") != 0;
        else if (strcmp(name, "--threads") == 0)
            bad = parse_sizes(value, &o->threads, &one, 1) || o->threads > 256;
        else
            bad = parse_sizes(value, &o->repeats, &one, 1);
        if (bad) return wrong("cannot use", name, value) + 1;
    }
    return 0;
}

/* ---- report --------------------------------------------------------------------------------- */

static void print_head(const bench_run *run) {
    if (run->json) {
        if (run->peak > 0) printf("{\"what\":\"peak\",\"port\":\"%s\",\"gflops\":%.2f}\n", run->port->name, run->peak);
        return;
    }
    printf("port %s, %zu thread%s, ", run->port->name, run->threads, run->threads > 1 ? "s" : "");
    if (!run->peer)
        printf(run->alone ? "ours alone\n" : "no OpenBLAS to compare with\n");
    else
        printf("OpenBLAS %s with its %s kernels%s\n", run->peer->version, run->peer->core,
               run->peer->fair ? "" : ": NOT the same instructions, so no aims");
    if (run->peak > 0) printf("peak of one core: %.1f GFLOP/s\n", run->peak);
}

static void print_columns(const bench_run *run) {
    if (run->json) return;
    printf("\n%-6s %6s  %9s %9s  %10s %10s  %6s  %-12s  %8s%s\n", "what", "n", "GFLOP/s", "OpenBLAS", "ms", "OpenBLAS",
           "ratio", "aim", "diff", run->peak > 0 ? "   % peak" : "");
}

static void print_json(const bench_run *run, const char *what, size_t n, const bench_result *r) {
    double rate = r->flops * 1e-9;

    printf("{\"what\":\"%s\",\"n\":%zu,\"port\":\"%s\",\"threads\":%zu,\"gflops\":%.2f,", what, n, run->port->name,
           run->threads, rate / r->seconds);
    if (r->peer_seconds > 0)
        printf("\"openblas\":\"%s\",\"openblas_gflops\":%.2f,\"ratio\":%.3f", run->peer->core, rate / r->peer_seconds,
               r->peer_seconds / r->seconds);
    else
        printf("\"openblas\":null,\"openblas_gflops\":null,\"ratio\":null");
    if (r->ms) {
        printf(",\"ms\":%.4f,\"openblas_ms\":", r->seconds * 1e3);
        if (r->peer_seconds > 0)
            printf("%.4f", r->peer_seconds * 1e3);
        else
            printf("null");
    }
    printf("}\n");
}

static void print_row(const bench_run *run, const char *what, size_t n, const bench_result *r) {
    double rate = r->flops * 1e-9, ratio = r->peer_seconds / r->seconds;

    printf("%-6s %6zu  %9.2f ", what, n, rate / r->seconds);
    if (r->peer_seconds > 0) {
        char aim[32] = "-";
        if (run->peer->fair) snprintf(aim, sizeof aim, "%.3g %s", r->aim, ratio >= r->aim ? "ok" : "below");
        printf("%9.2f  %10.3f %10.3f  %6.3f  %-12s  %8.1e", rate / r->peer_seconds, r->seconds * 1e3,
               r->peer_seconds * 1e3, ratio, aim, r->diff);
    } else {
        printf("%9s  %10.3f %10s  %6s  %-12s  %8s", "-", r->seconds * 1e3, "-", "-", "-", "-");
    }
    if (run->peak > 0) printf("  %7.1f", 100 * rate / r->seconds / (run->peak * (double)run->threads));
    printf("\n");
}

/* ---- run ------------------------------------------------------------------------------------ */

static int measure_port(const options *o, const char *name) {
    bench_peer peer;
    bench_run run = {0};
    int failed = 0, columns = 0;

    run.port = rfm_port_find(name);
    if (!run.port) {
        fprintf(stderr, "rfm-bench: this machine does not run a port %s\n", name);
        return 1;
    }
    run.threads = o->threads;
    run.repeats = o->repeats;
    run.json = o->json;
    run.alone = o->alone;
    run.n = o->n;
    run.sizes = o->sizes;
    run.d = o->d;
    run.dims = o->dims;
    run.outputs = o->outputs;
    run.counts = o->counts;
    run.metric = o->metric, run.task = o->task, run.data = o->data;
    if (!o->alone && bench_peer_open(&peer, o->blas, run.port->name, o->threads) == 0) run.peer = &peer;
    if (run.threads > 1) {
        run.pool = pool_create(run.threads);
        if (!run.pool) {
            fprintf(stderr, "rfm-bench: cannot start %zu threads\n", run.threads);
            return 1;
        }
    }
    if (o->peak) run.peak = bench_peak(run.port->name);
    print_head(&run);
    fflush(stdout);

    for (size_t i = 0; i < BENCHES; i++) {
        size_t n[MAX_SIZES + 8], sizes = 0;

        if (o->what ? !listed(o->what, benches[i].name) : benches[i].rare) continue;
        if (benches[i].all) {
            failed |= benches[i].all(&run) != 0;
            continue;
        }
        if (!columns) print_columns(&run);
        columns = 1;
        if (o->sizes) {
            memcpy(n, o->n, o->sizes * sizeof *n);
            sizes = o->sizes;
        } else {
            for (const size_t *p = benches[i].n; *p; p++) n[sizes++] = *p;
            for (const size_t *p = benches[i].n_long; o->more && *p; p++) n[sizes++] = *p;
        }
        for (size_t j = 0; j < sizes; j++) {
            bench_result result = {0};
            if (benches[i].run(&run, n[j], &result)) {
                failed = 1;
                continue;
            }
            if (o->json)
                print_json(&run, benches[i].name, n[j], &result);
            else
                print_row(&run, benches[i].name, n[j], &result);
            fflush(stdout);
            if (result.peer_seconds > 0 && !(result.diff <= result.tolerance)) {
                fprintf(stderr, "rfm-bench: *** WARNING: %s, n = %zu: the results differ by %.1e, more than %.1e ***\n",
                        benches[i].name, n[j], result.diff, result.tolerance);
                failed = 1;
            }
        }
    }
    pool_destroy(run.pool);
    return failed;
}

/* This program once more, for one port: an OpenBLAS that is loaded keeps its core type. */
static int measure_in_child(int argc, char **argv, const char *port) {
    char option[] = "--port", name[32];
    char **args = bench_alloc((size_t)argc + 3, sizeof *args);
    int status = 0;

    snprintf(name, sizeof name, "%s", port);
    memcpy(args, argv, (size_t)argc * sizeof *args);
    args[argc] = option; /* the last one counts */
    args[argc + 1] = name;
    args[argc + 2] = NULL;

    pid_t child = fork();
    if (child == 0) {
        execv("/proc/self/exe", args);
        execvp(argv[0], args); /* where there is no /proc */
        perror("rfm-bench");
        _exit(1);
    }
    free(args);
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("rfm-bench");
        return 1;
    }
    if (WIFSIGNALED(status)) fprintf(stderr, "rfm-bench: port %s: killed by signal %d\n", port, WTERMSIG(status));
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int argc, char **argv) {
    options o = {0};
    const char *ports[MAX_PORTS], *name;
    size_t count = 0;

    o.threads = 1;
    int stop = parse(&o, argc, argv);
    if (stop) return stop - 1;

    if (o.ports && !strchr(o.ports, ',')) return measure_port(&o, o.ports);

    if (o.ports) {
        size_t commas = 0;
        for (const char *p = o.ports; *p; p++) commas += *p == ',';
        for (size_t i = 0; (name = rfm_port_name(i)) != NULL && count < MAX_PORTS; i++)
            if (listed(o.ports, name)) ports[count++] = name;
        if (count != commas + 1) return wrong("cannot use", "--port", o.ports);
    } else {
        for (size_t i = 1; (name = rfm_port_name(i)) != NULL && count < MAX_PORTS; i++)
            if (rfm_port_find(name)) ports[count++] = name;
        if (count == 0) ports[count++] = "scalar";
    }
    if (count == 1) return measure_port(&o, ports[0]);

    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && !o.json) printf("\n");
        fflush(stdout);
        failed |= measure_in_child(argc, argv, ports[i]);
    }
    return failed;
}

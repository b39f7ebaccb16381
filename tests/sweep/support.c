#define _DEFAULT_SOURCE
#include "sweep.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pool.h"

#define CASE_SECONDS 60   /* of the processor: more is a hang */
#define WAIT_SECONDS 1800 /* of the clock: on a busy machine a case may wait long for its turn */
#define FAILURES     20   /* enough to look at */

/* What child and parent both see. */
typedef struct {
    size_t next, failed;   /* the case that runs or comes next; how many failed */
    size_t loose, refused; /* cases that were not compared in all; calls that had a status */
    int running;
    char line[1000];
} progress;

static progress *shared;
static const char *program, *part_name;
static unsigned long seed;
static int case_failed, case_loose, show_loose;
static pool *threads;

/* ---- the case ------------------------------------------------------------------------------- */

void note(const char *format, ...) {
    const size_t used = strlen(shared->line);
    va_list list;
    va_start(list, format);
    vsnprintf(shared->line + used, sizeof shared->line - used, format, list);
    va_end(list);
}

static void print_failure(void) {
    printf("FAILED: %s --seed %lu --case %lu %s:%s", program, seed, (unsigned long)shared->next, part_name,
           shared->line);
}

void fail(const char *format, ...) {
    va_list list;
    if (case_failed++) return;
    print_failure();
    va_start(list, format);
    printf(" : ");
    vprintf(format, list);
    printf("\n");
    fflush(stdout);
    va_end(list);
}

struct slack slack;

void refused(const char *what, int status) {
    if (slack.statuses &&
        (status == RFM_ERANGE || status == RFM_EVALUE || status == RFM_ENOTPD || status == RFM_ECONVERGE))
        shared->refused++;
    else
        fail("%s: status %d", what, status);
}

void not_compared(const char *what) {
    if (show_loose && !case_loose)
        printf("not compared: %s at case %lu %s:%s\n", what, (unsigned long)shared->next, part_name, shared->line);
    case_loose = 1;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static uint64_t state;

static uint64_t next_number(void) { /* splitmix64 */
    uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

size_t draw(size_t below) { return (size_t)(next_number() % below); }
size_t draw_of(size_t count, const size_t *list) { return list[draw(count)]; }
int chance(size_t one_in) { return draw(one_in) == 0; }
double uniform(double low, double high) {
    return low + (high - low) * (double)(next_number() >> 11) / 9007199254740992.0;
}

static int no_scale(const char *what) {
    (void)what;
    return 0;
}
int (*draw_scale)(const char *what) = no_scale;

uint64_t hash_bytes(uint64_t hash, const void *at, size_t bytes) {
    const unsigned char *b = at;
    for (; bytes > 0; bytes--) hash = (hash ^ *b++) * UINT64_C(0x100000001b3);
    return hash;
}

size_t draw_size(size_t most) {
    /* mr, nr of the ports, then CHOL_LEAF, RANK_ROWS ..., JOB_ROWS, MEDIAN_ROWS, CHOL_BLOCK, GROUP_COLUMNS,
     * AGOP_ROWS, CENTER_COLUMNS */
    static const size_t blocks[] = {4, 6, 8, 12, 16, 24, 32, 64, 96, 128, 192, 256, 512, 1024};
    size_t size;
    do switch (draw(4)) {
        case 0: size = 1 + draw(100); break;
        case 1: size = draw_of(LENGTH(blocks), blocks) - 1 + draw(3); break;
        default: size = 1 + draw(20);
        }
    while (size > most);
    return size;
}

const rfm_port *draw_port(void) {
    static rfm_port blocks;
    const rfm_port *list[8];
    size_t count = 0, i;
    for (i = 0; rfm_port_name(i) != NULL; i++)
        if (rfm_port_find(rfm_port_name(i)) != NULL) list[count++] = rfm_port_find(rfm_port_name(i));
    blocks = rfm_port_scalar;
    blocks.name = "blocks", blocks.mc = blocks.mr, blocks.kc = 2 * blocks.mr, blocks.nc = blocks.nr;
    list[count++] = &blocks;
    i = draw(count);
    note(" %s", list[i]->name);
    return list[i];
}

/* ---- memory --------------------------------------------------------------------------------- */

static void **blocks_taken;
static size_t blocks_count, blocks_room;

void *take(size_t bytes) {
    void *block = malloc(bytes > 0 ? bytes : 1);
    if (blocks_count == blocks_room) {
        blocks_room = 2 * blocks_room + 64;
        blocks_taken = realloc(blocks_taken, blocks_room * sizeof *blocks_taken);
    }
    if (block == NULL || blocks_taken == NULL) {
        printf("no memory\n");
        exit(2);
    }
    blocks_taken[blocks_count++] = block;
    return block;
}

static void forget(size_t count) {
    while (blocks_count > count) free(blocks_taken[--blocks_count]);
}

rfm_real *take_reals(size_t count) { return take(count * sizeof(rfm_real)); }

void fill_nan(rfm_mat a) { memset(a.at, 0xff, ((a.rows - 1) * a.stride + a.cols) * sizeof *a.at); }

rfm_mat draw_view(size_t rows, size_t cols) {
    rfm_mat a = rfm_view(NULL, rows, cols);
    if (chance(2)) a.stride += 1 + draw(9);
    a.at = take_reals((rows - 1) * a.stride + cols);
    fill_nan(a);
    return a;
}

void fill(rfm_mat a, double low, double high) {
    size_t i, j;
    for (i = 0; i < a.rows; i++)
        for (j = 0; j < a.cols; j++) a.at[i * a.stride + j] = (rfm_real)uniform(low, high);
}

uint64_t hash_view(uint64_t hash, rfm_cmat a) {
    return hash_bytes(hash, a.at, ((a.rows - 1) * a.stride + a.cols) * sizeof *a.at);
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Workers in one thread, their jobs backwards: what goes wrong goes wrong again. */
static void deal(void *workers, rfm_job job, void *arg, size_t jobs) {
    const size_t count = *(const size_t *)workers;
    size_t i;
    for (i = 0; i < jobs; i++) job(arg, jobs - 1 - i, i % count);
}

static int run_on(const call *f, void *arg, rfm_ctx *ctx, size_t scratch, size_t store, int one) {
    rfm_arena arena, kept;
    int status;
    size_t used;
    memset(&kept, 0, sizeof kept);
    if (rfm_arena_init(&arena, take(one ? scratch + store : scratch), one ? scratch + store : scratch) != RFM_OK)
        fail("rfm_arena_init");
    if (!one && store > 0 && rfm_arena_init(&kept, take(store), store) != RFM_OK) fail("rfm_arena_init");
    ctx->arena = &arena;
    status = f->run(ctx, arg, one ? &arena : &kept);
    used = one && status == RFM_OK ? store : 0;
    if (arena.used != used || arena.status != RFM_OK)
        fail("%s leaves an arena with %lu bytes used", f->name, (unsigned long)arena.used);
    if (status == RFM_OK && arena.peak != arena.size)
        fail("%s takes %lu of %lu bytes", f->name, (unsigned long)arena.peak, (unsigned long)arena.size);
    if (!one && kept.used != (status == RFM_OK ? store : 0))
        fail("%s leaves a store with %lu bytes used", f->name, (unsigned long)kept.used);
    return status;
}

/* One byte less, if there is one; the arena must be refused. */
static void run_short(const call *f, void *arg, rfm_ctx *ctx, size_t scratch, size_t store, int one, int from_store) {
    size_t *less = from_store ? &store : &scratch;
    int status;
    if (*less == 0) return;
    --*less;
    status = run_on(f, arg, ctx, scratch, store, one);
    if (status != RFM_EARENA) fail("%s on one byte less: status %d", f->name, status);
}

int exact(const call *f, void *arg, const rfm_port *port) {
    static size_t seven = 7;
    const int one = chance(2);
    uint64_t hash = 0, first = 0;
    int status = RFM_OK, first_status = RFM_OK, turn;
    for (turn = 0; turn < 3; turn++) {
        rfm_ctx ctx;
        size_t scratch = 0, store = 0, mark;
        memset(&ctx, 0, sizeof ctx);
        ctx.port = port;
        if (turn == 1) ctx.workers = 2, ctx.run = pool_run, ctx.pool = threads;
        if (turn == 2) ctx.workers = seven, ctx.run = deal, ctx.pool = &seven;
        status = f->need(&ctx, arg, &scratch, &store);
        if (status != RFM_OK) return status;
        mark = blocks_count;
        run_short(f, arg, &ctx, scratch, store, one && store > 0, 0);
        if (!one) run_short(f, arg, &ctx, scratch, store, 0, 1);
        forget(mark);
        status = run_on(f, arg, &ctx, scratch, store, one && store > 0);
        hash = f->hash(arg);
        if (turn == 0)
            first = hash, first_status = status;
        else if (status != first_status)
            fail("%s: status %d with 1 worker, %d with %lu", f->name, first_status, status, (unsigned long)ctx.workers);
        else if (status == RFM_OK && hash != first)
            fail("%s: other bits with %lu workers", f->name, (unsigned long)ctx.workers);
    }
    return status;
}

void compare(const char *what, rfm_cmat got, const double *expected, double bound) {
    size_t i, j;
    if (slack.no_values) bound = -1;
    if (bound < 0) not_compared(what);
    for (i = 0; i < got.rows; i++)
        for (j = 0; j < got.cols; j++) {
            const double value = (double)got.at[i * got.stride + j];
            if (!rfm_finite(1, got.at + i * got.stride + j)) {
                fail("%s is not finite at %lu, %lu", what, (unsigned long)i, (unsigned long)j);
                return;
            }
            if (bound >= 0 && !(fabs(value - expected[i * got.cols + j]) <= bound + slack.least)) {
                fail("%s is %.9g at %lu, %lu, expected %.9g within %.2g, is off by %.2g", what, value, (unsigned long)i,
                     (unsigned long)j, expected[i * got.cols + j], bound, fabs(value - expected[i * got.cols + j]));
                return;
            }
        }
}

/* ---- the loop over the cases ---------------------------------------------------------------- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void child(const part *p, size_t end, double until) {
    const struct itimerval most = {{0, 0}, {CASE_SECONDS, 0}};
    threads = pool_create(2);
    for (; shared->next < end && shared->failed < FAILURES && now() < until; shared->next++) {
        setitimer(ITIMER_PROF, &most, NULL);
        alarm(WAIT_SECONDS);
        shared->line[0] = '\0';
        shared->running = 1;
        case_failed = case_loose = 0;
        memset(&slack, 0, sizeof slack);
        state = hash_bytes(hash_bytes(seed, p->name, strlen(p->name)), &shared->next, sizeof shared->next);
        p->run(shared->next);
        forget(0);
        shared->running = 0;
        shared->failed += case_failed > 0;
        shared->loose += (size_t)case_loose;
    }
    pool_destroy(threads);
    fflush(stdout);
    _exit(0);
}

/* Cases from `first` to before `end`, in children until one comes to the end. */
static void run_cases(const part *p, size_t first, size_t end, double until) {
    int status = 0;
    memset(shared, 0, sizeof *shared);
    shared->next = first;
    part_name = p->name;
    for (;;) {
        pid_t id;
        fflush(stdout);
        id = fork();
        if (id < 0) exit(2);
        if (id == 0) child(p, end, until);
        if (waitpid(id, &status, 0) != id) exit(2);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
        if (shared->running) print_failure();
        if (WIFSIGNALED(status))
            printf(" : ended by signal %d%s\n", WTERMSIG(status),
                   WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF ? ", hangs" : "");
        else
            printf(" : exit status %d\n", WEXITSTATUS(status));
        shared->failed++;
        shared->next++;
    }
    printf("%s %s: %lu cases, %lu failed, %lu not compared in all, %lu calls refused\n", program, p->name,
           (unsigned long)(shared->next - first), (unsigned long)shared->failed, (unsigned long)shared->loose,
           (unsigned long)shared->refused);
}

static unsigned long number_of(int argc, char **argv, int i) {
    char *end = NULL;
    const unsigned long value = i < argc ? strtoul(argv[i], &end, 10) : 0;
    if (i >= argc || *end != '\0' || end == argv[i]) {
        fprintf(stderr, "%s: a number is missing\n", program);
        exit(2);
    }
    return value;
}

int run_parts(int argc, char **argv, const part *parts, size_t count) {
    size_t passed = 0, failed = 0, wanted = 0, i, first = 0, cases = 0, one = 0;
    double seconds = 0;
    int a, named = argc;
    program = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];
    seed = 1;
    for (a = 1; a < argc && argv[a][0] == '-'; a += 2) {
        const unsigned long value = number_of(argc, argv, a + 1);
        if (strcmp(argv[a], "--seed") == 0)
            seed = value;
        else if (strcmp(argv[a], "--case") == 0)
            first = value, one = 1;
        else if (strcmp(argv[a], "--cases") == 0)
            cases = value;
        else if (strcmp(argv[a], "--loose") == 0)
            show_loose = value > 0;
        else if (strcmp(argv[a], "--seconds") == 0)
            seconds = (double)value;
        else {
            fprintf(stderr, "%s [--seed S] [--case K] [--cases N] [--seconds T] [--loose 1] [part ...]\n", program);
            return 2;
        }
    }
    named = a;
    wanted = named < argc ? (size_t)(argc - named) : count;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    printf("%s: seed %lu\n", program, seed);
    for (i = 0; i < count; i++) {
        size_t end = one ? first + 1 : cases > 0 ? cases : seconds > 0 ? (size_t)-1 : parts[i].cases;
        int is_named = named == argc;
        for (a = named; a < argc; a++) is_named |= strcmp(argv[a], parts[i].name) == 0;
        if (!is_named) continue;
        if (parts[i].most > 0 && end > parts[i].most) end = parts[i].most;
        run_cases(&parts[i], first, end, seconds > 0 ? now() + seconds / (double)wanted : 1e300);
        failed += shared->failed;
        passed += shared->next - first - shared->failed;
    }
    printf("%lu passed, %lu failed\n", (unsigned long)passed, (unsigned long)failed);
    return failed > 0;
}

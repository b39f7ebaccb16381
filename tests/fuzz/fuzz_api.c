/* libFuzzer's target for the calls of rfm.h, rfm_small.h, rfm_hyperbf.h and rfm_conv.h: bytes are decisions,
 * which call with which sizes, strides, options, numbers, memory.
 *
 * All memory is on the heap and ends where it must: arrays where their views end, arenas after exactly the need, or a
 * byte before it. Checked beside what the sanitizers see: one byte less than the need is refused and the need is not;
 * what is refused has changed nothing; after RFM_OK everything that was written is finite; arenas are as they were. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "rfm_conv.h"
#include "rfm_hyperbf.h"
#include "rfm_port.h"

static fuzz_input in;
static int values; /* FUZZ_... */

/* ---- memory that is watched ----------------------------------------------------------------- */

enum { MOST_BLOCKS = 64 };
static struct {
    unsigned char *at, *before;
    size_t bytes;
} blocks[MOST_BLOCKS];
static size_t block_count;

static void *block(size_t bytes) {
    require(block_count < MOST_BLOCKS, "blocks");
    blocks[block_count].at = malloc(bytes > 0 ? bytes : 1);
    blocks[block_count].before = malloc(bytes > 0 ? bytes : 1);
    blocks[block_count].bytes = bytes;
    require(blocks[block_count].at != NULL && blocks[block_count].before != NULL, "memory");
    memset(blocks[block_count].at, 0xA5, bytes);
    return blocks[block_count++].at;
}

static void watch(void) {
    size_t i;

    for (i = 0; i < block_count; i++) memcpy(blocks[i].before, blocks[i].at, blocks[i].bytes);
}

static int unchanged(void) {
    size_t i;

    for (i = 0; i < block_count; i++)
        if (memcmp(blocks[i].before, blocks[i].at, blocks[i].bytes) != 0) return 0;
    return 1;
}

static void free_blocks(size_t down_to) {
    while (block_count > down_to) {
        free(blocks[--block_count].at);
        free(blocks[block_count].before);
    }
}

/* ---- decisions ------------------------------------------------------------------------------ */

static size_t size_up_to(size_t most) {
    const size_t byte = fuzz_byte(&in);

    return byte < 232 ? 1 + byte % most : 1 + fuzz_below(&in, 72);
}

static rfm_real *reals(size_t count) {
    rfm_real *x = block(count * sizeof *x);
    size_t i;

    for (i = 0; i < count; i++) x[i] = fuzz_real(&in, values);
    return x;
}

/* Numbers in the view; what is between its rows is left as it is, not a number to be read. */
static rfm_mat matrix(size_t rows, size_t cols) {
    rfm_mat m;
    size_t i, j;

    m.rows = rows, m.cols = cols, m.stride = cols + fuzz_below(&in, 4) % 3;
    m.at = block(((rows - 1) * m.stride + cols) * sizeof *m.at);
    for (i = 0; i < rows; i++)
        for (j = 0; j < cols; j++) m.at[i * m.stride + j] = fuzz_real(&in, values);
    return m;
}

/* One argument of a call may be wrong; 0: none is. */
static size_t odd;

static rfm_mat maybe_odd(rfm_mat m, size_t which) {
    if (odd / 4 != which + 1) return m;
    if (odd % 4 == 0)
        m.at = NULL;
    else if (odd % 4 == 1)
        m.rows = 0;
    else if (odd % 4 == 2)
        m.stride = m.cols - 1;
    else
        m.rows = SIZE_MAX / 2;
    return m;
}

static int finite_matrix(rfm_mat m) {
    size_t i;

    for (i = 0; i < m.rows; i++)
        if (!rfm_finite(m.cols, m.at + i * m.stride)) return 0;
    return 1;
}

static int finite_upper(rfm_mat m) {
    size_t i;

    for (i = 0; i < m.rows; i++)
        if (!rfm_finite(m.cols - i, m.at + i * m.stride + i)) return 0;
    return 1;
}

/* ---- contexts ------------------------------------------------------------------------------- */

enum { EXACT, SHORT, NONE, FAILED, MEASURING };

static rfm_ctx ctx;
static rfm_arena arena, arena_before;
static int arena_kind, cancels;
static size_t ticks, tick_last;
static rfm_real tick_done;

static void run(void *pool, rfm_job job, void *arg, size_t jobs) {
    size_t i;

    (void)pool;
    for (i = 0; i < jobs; i++) job(arg, jobs - 1 - i, i % ctx.workers);
}

static int tick(void *arg, rfm_real done) {
    require(arg == &ticks && done >= tick_done && done <= 1, "the share that is done");
    tick_done = done;
    return ++ticks >= tick_last && cancels;
}

/* All but the arena, before the need is asked for. */
static void context(void) {
    const unsigned how = fuzz_byte(&in);

    memset(&ctx, 0, sizeof ctx);
    if (how & 1) ctx.port = rfm_port_auto();
    if (how & 2) ctx.run = run;
    ctx.workers = (how >> 2) % 4;
    if (ctx.run != NULL && ctx.workers == 0) ctx.workers = 1;
    cancels = how >> 7 & 1;
    ticks = 0, tick_done = 0, tick_last = 1 + (how >> 4 & 7);
    if (how & 192) ctx.tick = tick, ctx.tick_arg = &ticks;
    arena_kind = fuzz_byte(&in) % 16;
    odd = fuzz_byte(&in);
    odd = odd < 32 ? odd : 0;
}

/* The arena; `more` bytes of it are for something else. */
static void memory(size_t need) {
    size_t size = need;
    void *at;

    if (arena_kind == SHORT) size = need > 0 ? need - 1 : 0;
    require(size < 64u << 20, "a need that small calls cannot have");
    at = malloc(size > 0 ? size : 1);
    require(at != NULL && rfm_arena_init(&arena, at, size) == RFM_OK, "memory");
    if (arena_kind == FAILED) arena.status = RFM_EARENA;
    if (arena_kind == MEASURING) rfm_arena_measure(&arena), free(at);
    arena_before = arena;
    ctx.arena = arena_kind == NONE ? NULL : &arena;
    watch();
}

/* After a call: its status means what it says, and the arena is as it was. */
static int check(int status, size_t need, const char *what) {
    const int refused = status <= RFM_ENULL && status >= RFM_EARENA;

    require(status <= RFM_OK && status >= RFM_EEMPTY, what);
    require(arena.used == arena_before.used && arena.status == arena_before.status && arena.base == arena_before.base,
            what);
    if (refused) require(unchanged(), what);
    if (status == RFM_ECANCEL) require(cancels && ticks >= tick_last, what);
    if (arena_kind != EXACT && arena_kind <= MEASURING && need > 0) require(status != RFM_OK, what);
    if (arena_kind == EXACT || arena_kind > MEASURING) require(status != RFM_EARENA, what);
    if (odd / 4 != 0) return 0;
    return status == RFM_OK;
}

static void done_with_memory(void) {
    free(arena.base);
    arena.base = NULL;
}

/* ---- products, factors, eigenpairs ---------------------------------------------------------- */

static void call_product(int symmetric) {
    const size_t m = size_up_to(9), n = symmetric ? m : size_up_to(9), k = size_up_to(9);
    const int op = (int)fuzz_below(&in, symmetric ? 3 : 4);
    const rfm_real alpha = fuzz_real(&in, values), beta = fuzz_below(&in, 2) ? fuzz_real(&in, values) : 0;
    const rfm_mat a = op == RFM_TN ? matrix(k, m) : matrix(m, k), b = op == RFM_NT ? matrix(n, k) : matrix(k, n);
    const rfm_mat c = matrix(m, n), ca = maybe_odd(a, 0), cb = maybe_odd(b, 1), cc = maybe_odd(c, 2);
    size_t need = 0;
    int status;

    require((symmetric ? rfm_syrk_need(&ctx, n, k, &need) : rfm_gemm_need(&ctx, m, n, k, &need)) == RFM_OK,
            "need of a product");
    memory(need);
    if (symmetric)
        status = rfm_syrk(&ctx, op, alpha, rfm_const(ca), beta, cc);
    else
        status = rfm_gemm(&ctx, op, alpha, rfm_const(ca), rfm_const(cb), beta, cc);
    if (check(status, need, symmetric ? "syrk" : "gemm"))
        require(symmetric ? finite_upper(c) : finite_matrix(c), "a product is finite");
}

/* Symmetric, and with a large diagonal half of the time. */
static rfm_mat square(size_t n) {
    const rfm_mat a = matrix(n, n);
    const int dominant = (int)fuzz_below(&in, 2);
    size_t i, j;

    for (i = 0; i < n; i++) {
        for (j = 0; j < i; j++) a.at[i * a.stride + j] = a.at[j * a.stride + i];
        if (dominant && values == FUZZ_TAME) a.at[i * a.stride + i] += (rfm_real)(5 * n);
    }
    return a;
}

static void check_lower(rfm_mat a, const rfm_real *before) {
    size_t i;

    for (i = 1; i < a.rows; i++)
        require(memcmp(a.at + i * a.stride, before + i * a.stride, i * sizeof *a.at) == 0, "below the diagonal");
}

static void call_chol(int with_rank) {
    const size_t n = size_up_to(12), here = block_count;
    const rfm_mat a = square(n), given = maybe_odd(a, 0);
    const rfm_real tolerance = fuzz_below(&in, 4) ? 0 : fuzz_real(&in, values);
    uint32_t *perm = block(n * sizeof *perm);
    size_t need = 0, rank = 77, row = 77, i, j;
    int status;

    require((with_rank ? rfm_chol_rank_need(&ctx, n, &need) : rfm_chol_need(&ctx, n, &need)) == RFM_OK,
            "need of a factor");
    memory(need);
    status = with_rank ? rfm_chol_rank(&ctx, given, tolerance, perm, &rank) : rfm_chol(&ctx, given, &row);
    if (status == RFM_ENOTPD && !with_rank) require(row < n, "the row of a pivot");
    check_lower(a, (const rfm_real *)(const void *)blocks[here].before);
    if (!check(status, need, "chol")) return;
    if (!with_rank) {
        require(finite_upper(a), "a factor is finite");
        return;
    }
    require(rank <= n, "rank");
    for (i = 0; i < n; i++) {
        require(perm[i] < n, "a permutation");
        for (j = 0; j < i; j++) require(perm[i] != perm[j], "a permutation has each once");
    }
    for (i = 0; i < rank; i++) require(rfm_finite(n - i, a.at + i * a.stride + i), "a factor with rank is finite");
}

static void call_solve(int both) {
    const size_t n = size_up_to(12), c = size_up_to(5);
    const rfm_mat u = square(n), b = matrix(n, c), gu = maybe_odd(u, 0), gb = maybe_odd(b, 1);
    const int op = (int)fuzz_below(&in, 3);
    size_t need = 0;
    int status;

    require(rfm_trsm_need(&ctx, n, c, &need) == RFM_OK, "need of a solve");
    memory(need);
    status = both ? rfm_chol_solve(&ctx, rfm_const(gu), gb) : rfm_trsm(&ctx, op, rfm_const(gu), gb);
    if (status != RFM_OK) require(unchanged(), "a solve that failed");
    if (check(status, need, "solve")) require(finite_matrix(b), "a solution is finite");
}

static void call_eig(void) {
    const size_t n = size_up_to(12), k = 1 + fuzz_below(&in, n), here = block_count;
    const rfm_mat a = square(n), v = matrix(k, n), ga = maybe_odd(a, 0), gv = maybe_odd(v, 1);
    rfm_real *w = reals(k);
    size_t need = 0, i, j, p;
    int status;

    require(rfm_eig_need(&ctx, n, k, &need) == RFM_OK, "need of eigenpairs");
    memory(need);
    status = rfm_eig(&ctx, ga, k, w, gv);
    check_lower(a, (const rfm_real *)(const void *)blocks[here].before);
    if (!check(status, need, "eig")) return;
    require(rfm_finite(k, w) && finite_matrix(v), "eigenpairs are finite");
    for (i = 0; i < k; i++) {
        require(i == 0 || w[i] <= w[i - 1], "eigenvalues in order");
        for (j = 0; j <= i; j++) {
            double dot = i == j ? -1 : 0;

            for (p = 0; p < n; p++) dot += (double)v.at[i * v.stride + p] * (double)v.at[j * v.stride + p];
            require(dot < 1e-3 && dot > -1e-3, "eigenvectors are orthonormal");
        }
    }
}

static void call_similarity(void) {
    const size_t m = size_up_to(6), n = size_up_to(6);
    const rfm_mat a = matrix(m, n), b = matrix(m, n), ga = maybe_odd(a, 0), gb = maybe_odd(b, 1);
    rfm_real *result = reals(1);
    int status, pearson = (int)fuzz_below(&in, 2);

    memory(0);
    status =
        pearson ? rfm_pearson(rfm_const(ga), rfm_const(gb), result) : rfm_cosine(rfm_const(ga), rfm_const(gb), result);
    arena_kind = EXACT;
    if (check(status, 0, "similarity")) require(*result >= (rfm_real)-1.001 && *result <= (rfm_real)1.001, "a cosine");
}

/* ---- models --------------------------------------------------------------------------------- */

static int finite_model(const rfm_model *m) {
    const size_t p = m->metric == RFM_FULL ? m->r * m->d : m->d;

    return rfm_finite(m->d, m->shift) && (m->p == NULL || rfm_finite(p, m->p)) && rfm_finite(m->n * m->r, m->centers) &&
           rfm_finite(m->n * m->c, m->alpha) && (m->offset == NULL || rfm_finite(m->c, m->offset)) &&
           rfm_finite(1, &m->bandwidth);
}

/* The blob of a model: written in exactly its size, opened, used. */
static void call_write(const rfm_model *m) {
    rfm_contents parts;
    rfm_summary summary;
    size_t size = 0;
    unsigned char *blob;
    int status;

    memset(&parts, 0, sizeof parts);
    memset(&summary, 0, sizeof summary);
    parts.model = m;
    parts.task = (int)fuzz_below(&in, 2);
    if (fuzz_below(&in, 2)) parts.x_mean = reals(m->d), parts.x_scale = reals(m->d);
    if (fuzz_below(&in, 2)) parts.y_mean = reals(m->c), parts.y_scale = reals(m->c);
    if (fuzz_below(&in, 2)) parts.summary = &summary;
    require(rfm_model_size(&parts, &size) == RFM_OK && size < 1 << 20, "size of a blob");
    blob = block(size);
    watch();
    status = rfm_model_write(&parts, blob, size);
    if (status != RFM_OK) {
        require(status == RFM_EVALUE || status == RFM_EFINITE || status == RFM_ERANGE, "status of writing a blob");
        require(status == RFM_ERANGE || unchanged(), "a refusal to write a blob");
        return;
    }
    require(fuzz_use(blob, size, 0) == RFM_OK, "a blob that was written is opened");
}

/* Entries into a room that may be too small; what is counted without memory is what is used with it. Then any bytes as
 * a record. */
static void call_record(void) {
    const size_t room = fuzz_below(&in, 120), entries = 1 + fuzz_below(&in, 5);
    unsigned char *record = block(room), *data = block(40);
    size_t used = fuzz_below(&in, 16) == 0 ? fuzz_below(&in, 8) : 0, counted = used, first = used, added = 0, i, bytes;

    for (i = 0; i < 40; i++) data[i] = fuzz_byte(&in);
    for (i = 0; i < entries; i++) {
        const uint16_t tag = (uint16_t)fuzz_below(&in, 300);
        const size_t length = fuzz_below(&in, 40);
        const size_t before = used;
        int status;

        watch();
        status = rfm_record_add(record, room, &used, tag, data, length);
        if (status != RFM_OK) {
            require(status == RFM_EVALUE || status == RFM_EARENA, "status of an entry");
            require(used == before && unchanged(), "an entry that is refused");
            continue;
        }
        require(rfm_record_add(NULL, 0, &counted, tag, data, length) == RFM_OK && counted == used, "bytes of an entry");
        require(used <= room && used % 4 == 0, "an entry is within its room");
        added++;
    }
    if (first == 0) require(rfm_record_right(record, used) == (added > 0), "a record that was made");
    for (i = 0; i < room; i++) record[i] = fuzz_byte(&in);
    for (i = 0; i < 300; i++) {
        const unsigned char *at = rfm_record_find(record, room, (uint16_t)i, &bytes);

        if (at != NULL) require(at >= record + 8 && bytes <= room && at + bytes <= record + room, "a random entry");
    }
    (void)rfm_record_right(record, room);
}

static void call_predict(const rfm_model *m) {
    const size_t rows = size_up_to(6), what = fuzz_below(&in, 4);
    const rfm_mat z = matrix(rows, m->d), gz = maybe_odd(z, 0);
    rfm_mat y = matrix(rows, what == 1 ? m->c * m->d : m->c), gy;
    rfm_real *alignment = reals(1);
    size_t need = 0;
    int status;

    if (what == 3) y = fuzz_below(&in, 2) ? matrix(m->d, m->d) : matrix(1, m->d);
    gy = maybe_odd(y, 1);
    if (what == 0)
        status = rfm_predict_need(&ctx, m, rows, &need);
    else if (what == 1)
        status = rfm_gradients_need(&ctx, m, &need);
    else
        status = what == 2 ? rfm_alignment_need(&ctx, m, rows, &need) : RFM_OK;
    require(status == RFM_OK, "need of a prediction");
    memory(need);
    if (what == 0)
        status = rfm_predict(&ctx, m, rfm_const(gz), gy);
    else if (what == 1)
        status = rfm_gradients(&ctx, m, rfm_const(gz), gy);
    else if (what == 2)
        status = rfm_alignment(&ctx, m, rfm_const(gz), rfm_const(gy), alignment);
    else
        status = rfm_metric(m, gy);
    if (what == 3) arena_kind = EXACT;
    if (check(status, need, "predict"))
        require(what == 2 ? *alignment >= (rfm_real)-1.001 && *alignment <= (rfm_real)1.001 : finite_matrix(y),
                "predictions are finite");
    done_with_memory();
}

/* Smaller models, of the one that was fitted. */
static void call_small(const rfm_model *m, const rfm_data *data) {
    const size_t what = fuzz_below(&in, 5);
    rfm_model small, before;
    rfm_model_i integers;
    rfm_centers_options how;
    rfm_arena store;
    rfm_real *number = reals(m->d), *scale = reals(m->d), *gradient = reals(m->n * m->r),
             ridge = fuzz_real(&in, values);
    size_t need = 0, room = 0, rank = 1 + fuzz_below(&in, m->r);
    int status, type = fuzz_below(&in, 2) ? RFM_I8 : RFM_I16;
    void *at;

    if (ridge < 0) ridge = -ridge;
    memset(&small, 0xA5, sizeof small);
    memset(&integers, 0xA5, sizeof integers);
    before = small;
    memset(&how, 0, sizeof how);
    how.centers = fuzz_below(&in, data->x.rows + 2), how.method = (int)fuzz_below(&in, 5), how.ridge = ridge;
    how.polish = fuzz_below(&in, 4), how.seed = fuzz_byte(&in);
    if (what == 0)
        status = rfm_small_rank_need(&ctx, m, data, rank, &need, &room);
    else if (what == 1)
        status = rfm_small_centers_need(&ctx, m, data, &how, &need, &room);
    else if (what == 2)
        status = rfm_small_integers_need(&ctx, m, data, type, &need, &room);
    else
        status = what == 3 ? rfm_small_loss_need(&ctx, m, data, &need) : RFM_OK;
    if (status != RFM_OK) {
        require(status <= RFM_ENULL && status >= RFM_EARENA, "need of a smaller model");
        return;
    }
    at = malloc(room > 0 ? room : 1);
    require(at != NULL && rfm_arena_init(&store, at, room) == RFM_OK, "memory");
    memory(need);
    if (what == 0)
        status = rfm_small_rank(&ctx, m, data, rank, &store, &small, number);
    else if (what == 1)
        status = rfm_small_centers(&ctx, m, data, &how, &store, &small);
    else if (what == 2)
        status = rfm_small_integers(&ctx, m, data, type, ridge, &store, &integers);
    else if (what == 3)
        status = rfm_small_loss(&ctx, m, data, ridge, number, fuzz_below(&in, 2) ? gradient : NULL);
    else {
        status = rfm_small_importance(m, fuzz_below(&in, 2) ? scale : NULL, number);
        arena_kind = EXACT;
    }
    if (status != RFM_OK)
        require(store.used == 0 && store.status == RFM_OK && memcmp(&small, &before, sizeof small) == 0 &&
                    memcmp(&integers, &before, sizeof integers < sizeof before ? sizeof integers : sizeof before) == 0,
                "no smaller model, and nothing changed");
    odd = 0;
    if (check(status, need, "smaller models")) {
        if (what < 2) require(finite_model(&small), "a smaller model is finite");
        if (what == 2) {
            size_t size = 0;
            unsigned char *blob;

            require(rfm_model_size_i(&integers, 0, &size) == RFM_OK, "size of integers");
            blob = block(size);
            require(rfm_model_write_i(&integers, NULL, 0, blob, size) == RFM_OK && fuzz_use(blob, size, 0) == RFM_OK,
                    "integers that were made are opened");
        }
        if (what == 3) require(rfm_finite(1, number), "a loss is finite");
        if (what == 4) require(rfm_finite(m->d, number), "importances are finite");
    }
    done_with_memory();
    free(at);
}

static void call_fit(void) {
    const size_t n = size_up_to(10), d = size_up_to(6), c = size_up_to(3);
    const int together = (int)fuzz_below(&in, 2);
    rfm_options o;
    rfm_data data;
    rfm_model m, before;
    rfm_report report, report_before;
    rfm_step *path;
    rfm_arena store;
    size_t need = 0, room = 0, calls;
    void *at = NULL;
    int status;
    unsigned with;

    rfm_options_init(&o);
    o.kernel = (int)fuzz_below(&in, RFM_KERNELS), o.metric = (int)fuzz_below(&in, 3), o.scale = (int)fuzz_below(&in, 3);
    o.exponent = (rfm_real)(0.25 * (double)(1 + fuzz_below(&in, 8)));
    if (rfm_kernels[o.kernel].layers) o.exponent *= 4;
    with = fuzz_byte(&in);
    o.unit_rows = with & 1, o.ridge_rule = with >> 1 & 1;
    with = fuzz_byte(&in);
    o.center = with & 1, o.bandwidth_rule = with >> 1 & 1, o.score = with >> 2 & 1, o.select = (with >> 3) % 3;
    o.iterations = fuzz_below(&in, 4), o.seed = fuzz_byte(&in);
    o.agop_points = with & 128 ? 1 + fuzz_below(&in, n) : 0;
    o.bandwidth = fuzz_below(&in, 4) ? 2 : fuzz_real(&in, values);
    o.ridge = fuzz_below(&in, 4) ? (rfm_real)1e-3 : fuzz_below(&in, 2) ? 0 : fuzz_real(&in, values);
    if (odd == 29) o.kernel = RFM_KERNELS;
    if (odd == 30) o.metric = -1;
    if (odd == 31) o.agop_points = n + 1;
    memset(&data, 0, sizeof data);
    data.x = rfm_const(maybe_odd(matrix(n, d), 0)), data.y = rfm_const(maybe_odd(matrix(n, c), 1));
    with = fuzz_byte(&in);
    if (with & 1) data.weights = reals(n);
    if (with & 2 || o.select == RFM_SELECT_VALIDATION) {
        const size_t v = size_up_to(5);

        data.x_validation = rfm_const(maybe_odd(matrix(v, d), 2)),
        data.y_validation = rfm_const(maybe_odd(matrix(v, c), 3));
    }
    if (with & 4 && o.metric != RFM_IDENTITY)
        data.start = rfm_const(maybe_odd(o.metric == RFM_FULL ? square(d) : matrix(1, d), 4));
    path = block((o.iterations + 1) * sizeof *path);
    memset(&m, 0xA5, sizeof m);
    before = m;
    memset(&report, 0xA5, sizeof report);
    report.path = path;
    report_before = report;
    status = rfm_fit_need(&ctx, &data, &o, &need, &room);
    if (status != RFM_OK) {
        require(status <= RFM_ENULL && status >= RFM_EARENA, "need of a fit");
        need = room = 0;
    }
    at = malloc(room > 0 ? room : 1);
    require(at != NULL && rfm_arena_init(&store, at, together ? 0 : room) == RFM_OK, "memory");
    memory(together ? need + room : need);
    status = rfm_fit(&ctx, &data, &o, together ? &arena : &store, &m, &report);
    if (status != RFM_OK) {
        require(memcmp(&m, &before, sizeof m) == 0 && store.used == 0 && store.status == RFM_OK,
                "no model, and nothing changed");
        if (status <= RFM_ENULL && status >= RFM_EARENA && status != RFM_EFINITE)
            require(memcmp(&report, &report_before, sizeof report) == 0, "a refused fit leaves the report alone");
        if (status == RFM_EARENA && (arena_kind == EXACT || arena_kind > MEASURING)) require(0, "the need is enough");
        (void)check(status, need + room, "fit");
    } else {
        require(arena_kind == EXACT || arena_kind > MEASURING, "a fit without memory");
        require(odd < 4 || odd > 11, "a fit of odd arguments");
        require(finite_model(&m), "a model is finite");
        require(report.best <= o.iterations, "the best iterate");
        for (calls = 0; calls <= (o.metric == RFM_IDENTITY ? 0 : o.iterations); calls++)
            require(rfm_finite(1, &path[calls].score) && rfm_finite(1, &path[calls].ridge) &&
                        rfm_finite(1, &path[calls].bandwidth),
                    "a report is finite");
    }
    if (status == RFM_OK) {
        /* What is done with it has an arena of its own. */
        const rfm_arena fitted = arena;
        const size_t here = block_count;

        for (calls = 1 + fuzz_below(&in, 3); calls > 0; calls--) {
            const size_t what = fuzz_below(&in, 8);

            context();
            if (what < 3)
                call_predict(&m);
            else if (what < 7)
                odd = 0, call_small(&m, &data);
            else
                call_write(&m);
            free_blocks(here);
        }
        arena = fitted;
    }
    free(at);
}

/* ---- networks ------------------------------------------------------------------------------- */

static int finite_network(const rfm_hyperbf *f) {
    return rfm_finite(f->n * f->c, f->alpha) && rfm_finite(f->n * f->r, f->centers) && rfm_finite(f->r * f->d, f->p) &&
           rfm_finite(1, &f->bandwidth) && (f->offset == NULL || rfm_finite(f->c, f->offset));
}

/* From rows to a network, and a few steps of descent. */
static void call_descent(const rfm_data *data, size_t d) {
    rfm_hyperbf_start_options how;
    rfm_hyperbf_options o;
    rfm_hyperbf f, before;
    rfm_hyperbf_report report;
    rfm_arena store;
    size_t need = 0, room = 0;
    void *at;
    int status;

    rfm_hyperbf_start_init(&how);
    how.centers = 1 + fuzz_below(&in, 4), how.rank = 1 + fuzz_below(&in, d), how.choice = (int)fuzz_below(&in, 2);
    how.kernel = (int)fuzz_below(&in, 3), how.inputs = (int)fuzz_below(&in, 2), how.offset = (int)fuzz_below(&in, 2);
    how.prototypes = (int)fuzz_below(&in, 2), how.seed = fuzz_byte(&in);
    memset(&f, 0xA5, sizeof f);
    before = f;
    status = rfm_hyperbf_start_need(&ctx, data, &how, &need, &room);
    if (status != RFM_OK) return;
    at = malloc(room > 0 ? room : 1);
    require(at != NULL && rfm_arena_init(&store, at, room) == RFM_OK, "memory");
    memory(need);
    status = rfm_hyperbf_start(&ctx, data, &how, &store, &f);
    if (status != RFM_OK) require(store.used == 0 && memcmp(&f, &before, sizeof f) == 0, "no network, nothing changed");
    if (check(status, need, "start of a network")) {
        require(finite_network(&f), "a network is finite");
        done_with_memory();
        context();
        rfm_hyperbf_options_init(&o);
        o.method = (int)fuzz_below(&in, 3), o.steps = 1 + fuzz_below(&in, 6), o.batch = fuzz_below(&in, 4);
        o.solve = fuzz_below(&in, 3), o.look = 1 + fuzz_below(&in, 3), o.cost.kind = (int)fuzz_below(&in, 2);
        o.mixed = (rfm_real)0.25 * (rfm_real)fuzz_below(&in, 3), o.bandwidth_rate = (rfm_real)fuzz_below(&in, 2);
        status = rfm_hyperbf_descend_need(&ctx, data, &o, &f, &need);
        if (status == RFM_OK) {
            memory(need);
            status = rfm_hyperbf_descend(&ctx, data, &o, &f, &report);
            odd = 0;
            if (check(status, need, "descent")) require(rfm_finite(1, &report.best), "a descent's loss is finite");
            require(finite_network(&f), "a network is finite after its descent");
        }
    }
    free(at);
}

static void call_network(void) {
    const size_t rows = size_up_to(8), n = size_up_to(5), d = size_up_to(5), c = size_up_to(3),
                 r = 1 + fuzz_below(&in, d);
    rfm_hyperbf f;
    rfm_hyperbf_cost cost;
    rfm_hyperbf_gradient g;
    rfm_data data;
    rfm_real *loss = reals(1);
    size_t need = 0;
    int status;

    memset(&f, 0, sizeof f);
    memset(&g, 0, sizeof g);
    memset(&data, 0, sizeof data);
    data.x = rfm_const(maybe_odd(matrix(rows, d), 0)), data.y = rfm_const(maybe_odd(matrix(rows, c), 1));
    if (fuzz_below(&in, 2)) data.weights = reals(rows);
    if (fuzz_below(&in, 2)) {
        call_descent(&data, d);
        return;
    }
    f.n = n, f.d = d, f.c = c, f.r = r, f.kernel = (int)fuzz_below(&in, 4), f.exponent = (rfm_real)1.5;
    f.bandwidth = fuzz_below(&in, 2) ? 2 : fuzz_real(&in, values);
    f.shift = reals(d), f.alpha = reals(n * c), f.centers = reals(n * r), f.p = reals(r * d);
    if (fuzz_below(&in, 2)) f.inputs = reals(n * d);
    if (fuzz_below(&in, 2)) f.offset = reals(c);
    g.alpha = reals(n * c), g.centers = reals(n * r), g.p = reals(r * d);
    if (f.inputs != NULL) g.inputs = reals(n * d);
    rfm_hyperbf_cost_init(&cost);
    cost.kind = (int)fuzz_below(&in, 2), cost.ridge = fuzz_below(&in, 2) ? 0 : fuzz_real(&in, values);
    status = rfm_hyperbf_loss_need(&ctx, &f, rows, &need);
    if (status != RFM_OK) {
        require(status <= RFM_ENULL && status >= RFM_EARENA, "need of a loss");
        return;
    }
    memory(need);
    status = rfm_hyperbf_loss(&ctx, &f, &data, &cost, loss, &g);
    if (check(status, need, "loss of a network"))
        require(rfm_finite(1, loss) && rfm_finite(n * c, g.alpha) && rfm_finite(n * r, g.centers) &&
                    rfm_finite(r * d, g.p) && (g.inputs == NULL || rfm_finite(n * d, g.inputs)),
                "a loss and its gradient are finite");
}

/* ---- patches -------------------------------------------------------------------------------- */

static void call_patch_fit(const rfm_conv *f, const rfm_data *data) {
    rfm_conv_options o;
    rfm_conv_model m, before;
    rfm_arena store;
    size_t need = 0, room = 0;
    void *at;
    int status;

    rfm_conv_options_init(&o);
    o.patch = f->patch, o.padded = f->padded, o.kernel = f->kernel, o.depth = f->depth, o.bandwidth = f->bandwidth;
    o.rounds = fuzz_below(&in, 3), o.select = RFM_SELECT_LAST, o.power = (int)fuzz_below(&in, 2);
    o.layers = fuzz_below(&in, 2), o.filters = 1 + fuzz_below(&in, 3), o.agop_points = fuzz_below(&in, 3);
    memset(&m, 0xA5, sizeof m);
    before = m;
    status = rfm_conv_fit_need(&ctx, f->channels, f->height, f->width, data, &o, &need, &room);
    if (status != RFM_OK) return;
    at = malloc(room > 0 ? room : 1);
    require(at != NULL && rfm_arena_init(&store, at, room) == RFM_OK, "memory");
    memory(need);
    status = rfm_conv_fit(&ctx, f->channels, f->height, f->width, data, &o, &store, &m, NULL);
    if (status != RFM_OK) require(store.used == 0 && memcmp(&m, &before, sizeof m) == 0, "no model, nothing changed");
    if (check(status, need, "fit of patches")) require(rfm_finite(m.n * m.c, m.alpha), "alpha of patches is finite");
    free(at);
}

static void call_patches(void) {
    const size_t n = size_up_to(4), v = size_up_to(3), c = size_up_to(2), what = fuzz_below(&in, 4);
    rfm_conv f;
    rfm_data data;
    rfm_mat x, z, m, alpha, out;
    size_t need = 0, d, places;
    int status;

    memset(&f, 0, sizeof f);
    memset(&data, 0, sizeof data);
    f.channels = 1 + fuzz_below(&in, 2), f.height = 1 + fuzz_below(&in, 5), f.width = 1 + fuzz_below(&in, 5);
    f.patch = 1 + fuzz_below(&in, 3), f.padded = (int)fuzz_below(&in, 2), f.kernel = (int)fuzz_below(&in, 3);
    f.depth = f.kernel == RFM_CONV_LAPLACE ? 1 : 1 + (int)fuzz_below(&in, RFM_CONV_DEPTH);
    f.bandwidth = fuzz_below(&in, 2) ? 2 : fuzz_real(&in, values);
    status = rfm_conv_check(&f);
    require(status <= RFM_OK && status >= RFM_EEMPTY, "status of a shape");
    if (status != RFM_OK) return;
    d = rfm_conv_patch(&f), places = rfm_conv_places(&f);
    x = matrix(n, rfm_conv_pixels(&f)), z = matrix(v, rfm_conv_pixels(&f)), alpha = matrix(n, c);
    if (what == 3) {
        data.x = rfm_const(maybe_odd(x, 0)), data.y = rfm_const(maybe_odd(alpha, 1));
        call_patch_fit(&f, &data);
        return;
    }
    m = fuzz_below(&in, 2) ? square(d) : rfm_view(NULL, d, d);
    out = what == 0 ? matrix(n, v) : what == 1 ? matrix(v, c * places * d) : matrix(d, d);
    status = what == 0   ? rfm_conv_kernel_need(&ctx, &f, n, v, &need)
             : what == 1 ? rfm_conv_gradients_need(&ctx, &f, n, v, c, &need)
                         : rfm_conv_agop_need(&ctx, &f, n, v, c, &need);
    require(status == RFM_OK, "need of patches");
    memory(need);
    x = maybe_odd(x, 0), z = maybe_odd(z, 1);
    status = what == 0   ? rfm_conv_kernel(&ctx, &f, rfm_const(m), rfm_const(x), rfm_const(z), out)
             : what == 1 ? rfm_conv_gradients(&ctx, &f, rfm_const(m), rfm_const(x), rfm_const(alpha), rfm_const(z), out)
                         : rfm_conv_agop(&ctx, &f, rfm_const(m), rfm_const(x), rfm_const(alpha), rfm_const(z), out);
    if (check(status, need, "patches")) require(finite_matrix(out), "what patches make is finite");
}

/* ---- the target ----------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    in.at = bytes, in.left = size;
    memset(&arena, 0, sizeof arena);
    values = fuzz_byte(&in) % 4;
    if (values > FUZZ_ANY) values = FUZZ_TAME;
    do {
        const size_t what = fuzz_below(&in, 16);

        context();
        switch (what) {
        case 0: call_product(0); break;
        case 1: call_product(1); break;
        case 2: call_chol(0); break;
        case 3: call_chol(1); break;
        case 4: call_solve(0); break;
        case 5: call_solve(1); break;
        case 6: call_eig(); break;
        case 7: call_similarity(); break;
        case 8: call_record(); break;
        case 9: call_network(); break;
        case 10: call_patches(); break;
        default: call_fit();
        }
        done_with_memory();
        free_blocks(0);
    } while (in.left > 8);
    return 0;
}

/* Each call with numbers of every kind. */
size_t target_seed(size_t index, unsigned char *to) {
    uint32_t x = (uint32_t)index * 77 + 5;
    size_t i;

    if (index >= 96) return 0;
    for (i = 0; i < 400; i++) {
        x = x * 1664525u + 1013904223u;
        to[i] = (unsigned char)(x >> 24);
    }
    to[0] = (unsigned char)(index / 16 % 3), to[1] = (unsigned char)(index % 16);
    to[3] = 15, to[4] = 255; /* memory and arguments as they must be */
    return 400;
}

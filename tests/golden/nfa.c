/* The golden cases of rfm_nfa on every port that runs here: nfa FILE...
 *
 * nfa_*: f, loss and its gradient; everything that a layer shows, of both hidden layers; three steps of plain descent.
 * align_*: moments of R, the matrices of the data, prediction and observation. All on exactly the memory that is
 * needed, and the same bits with 1, 2 and 7 workers. A case on a port is one test. */
#include <float.h>
#include <math.h>

#include "rfm_nfa.h"

#include "blocks.h"
#include "ports.h"

#define STEPS 3
/* In float the centred quantities are differences of rounded numbers. */
#define BOUND (RFM_REAL_BYTES == 8 ? 1e-12 : 2e-5)

typedef struct {
    size_t n;
    rfm_real *x, *y, *w[3], *s[3];
    rfm_nfa f, start;
} network;

static const char *const names[2][3] = {{"W0", "W1", "W2"}, {"S0", "S1", "S2"}};

static void read_network(network *g) {
    size_t l, ignored;
    memset(g, 0, sizeof *g);
    g->f.layers = 2, g->f.activation = (int)number("act");
    shape("X", &g->n, &g->f.width[0]);
    for (l = 0; l < 3; l++) shape(names[0][l], &g->f.width[l + 1], &ignored);
    g->start = g->f;
    g->x = block_reals("X", g->n, g->f.width[0]);
    g->y = block_reals("Y", g->n, g->f.width[3]);
    for (l = 0; l < 3; l++) {
        g->f.w[l] = g->w[l] = block_reals(names[0][l], g->f.width[l + 1], g->f.width[l]);
        g->start.w[l] = g->s[l] = block_reals(names[1][l], g->f.width[l + 1], g->f.width[l]);
    }
}

static void release_network(network *g) {
    size_t l;
    free(g->x), free(g->y);
    for (l = 0; l < 3; l++) free(g->w[l]), free(g->s[l]);
}

/* An arena of `bytes`, for one call. */
static rfm_ctx on_memory(const rfm_ctx *ctx, rfm_arena *arena, size_t bytes) {
    rfm_ctx with = *ctx;
    (void)rfm_arena_init(arena, take(bytes, 1), bytes);
    with.arena = arena;
    return with;
}

static int used_up(rfm_arena *arena) {
    int good = arena->used == 0 && arena->peak == arena->size;
    free(arena->base);
    return good;
}

static int loss_right(const rfm_ctx *ctx, const network *g, rfm_real *loss) {
    const size_t n = g->n, c = g->f.width[3];
    rfm_real *f = take(n * c, sizeof *f);
    rfm_nfa gradient;
    rfm_arena arena;
    rfm_ctx with;
    size_t bytes = 0, l;
    int good = rfm_nfa_predict_need(ctx, &g->f, n, &bytes) == RFM_OK;
    memset(&gradient, 0, sizeof gradient);
    with = on_memory(ctx, &arena, bytes);
    good = good && rfm_nfa_predict(&with, &g->f, rfm_cview(g->x, n, g->f.width[0]), rfm_view(f, n, c)) == RFM_OK;
    good = used_up(&arena) && good && near("f", n, c, f, BOUND);
    for (l = 0; l < 3; l++) gradient.w[l] = take(g->f.width[l + 1] * g->f.width[l], sizeof *f);
    good = rfm_nfa_loss_need(ctx, &g->f, n, &bytes) == RFM_OK && good;
    with = on_memory(ctx, &arena, bytes);
    good = good && rfm_nfa_loss(&with, &g->f, rfm_cview(g->x, n, g->f.width[0]), rfm_cview(g->y, n, c), RFM_NFA_SQUARED,
                                loss, &gradient) == RFM_OK;
    good = used_up(&arena) && good;
    for (l = 0; l < 3; l++) {
        good = good && near_at("dW", l, g->f.width[l + 1], g->f.width[l], gradient.w[l], BOUND);
        free(gradient.w[l]);
    }
    free(f);
    return good;
}

static int layer_right(const rfm_ctx *ctx, const network *g, size_t l) {
    const size_t n = g->n, in = g->f.width[l], out = g->f.width[l + 1];
    rfm_real *room = take(2 * in * in + 2 * out * out + n * n, sizeof *room);
    rfm_nfa_layer m;
    rfm_arena arena;
    rfm_ctx with;
    size_t bytes = 0;
    int good = rfm_nfa_measure_need(ctx, &g->f, 1, n, l, &bytes) == RFM_OK;
    memset(&m, 0, sizeof m);
    m.f = rfm_view(room, in, in), m.g = rfm_view(m.f.at + in * in, in, in);
    m.k = rfm_view(m.g.at + in * in, out, out), m.kbar = rfm_view(m.k.at + out * out, out, out);
    m.q = rfm_view(m.kbar.at + out * out, n, n);
    with = on_memory(ctx, &arena, bytes);
    good = good && rfm_nfa_measure(&with, &g->f, &g->start, rfm_cview(g->x, n, g->f.width[0]), l, &m) == RFM_OK;
    good = used_up(&arena) && good && near_at("F", l, in, in, m.f.at, BOUND) &&
           near_at("G", l, in, in, m.g.at, BOUND) && near_at("K", l, out, out, m.k.at, BOUND) &&
           near_at("Kbar", l, out, out, m.kbar.at, BOUND) && near_at("Q", l, n, n, m.q.at, BOUND) &&
           near_at("corr", l, 1, 4, m.cosine, BOUND) && near_at("pearson", l, 1, 4, m.pearson, BOUND) &&
           near_at("ratio", l, 1, 1, &m.ratio, BOUND);
    free(room);
    return good;
}

/* Leaves the last state in *g. */
static int descent_right(const rfm_ctx *ctx, network *g, rfm_real *loss) {
    const rfm_cmat x = rfm_cview(g->x, g->n, g->f.width[0]), y = rfm_cview(g->y, g->n, g->f.width[3]);
    rfm_nfa_descent *descent;
    rfm_nfa_options o;
    rfm_arena arena;
    rfm_ctx with;
    size_t bytes = 0, t, l;
    int good;
    rfm_nfa_options_init(&o);
    o.rate = (rfm_real)number("rate"), o.steps = STEPS, o.look = 1;
    good = rfm_nfa_descend_need(ctx, &o, &g->f, g->n, &bytes) == RFM_OK;
    with = on_memory(ctx, &arena, bytes);
    if (!good || rfm_nfa_begin(&with, &o, x, y, &g->f, &descent) != RFM_OK) {
        free(arena.base);
        return 0;
    }
    for (t = 1; good && t <= STEPS; t++) {
        rfm_arena rest;
        rfm_ctx second;
        char name[16];
        good = rfm_nfa_step(descent) == RFM_OK;
        for (l = 0; l < 3; l++) {
            snprintf(name, sizeof name, "W%us%u", (unsigned)l, (unsigned)t);
            good = good && near(name, g->f.width[l + 1], g->f.width[l], g->w[l], BOUND);
        }
        (void)rfm_nfa_loss_need(ctx, &g->f, g->n, &bytes);
        second = on_memory(ctx, &rest, bytes);
        good = good && rfm_nfa_loss(&second, &g->f, x, y, RFM_NFA_SQUARED, &loss[t], NULL) == RFM_OK;
        free(rest.base);
    }
    good = rfm_nfa_end(descent, NULL) == RFM_OK && good;
    return used_up(&arena) && good;
}

/* The same bits as the first time. */
static int network_right(const rfm_ctx *ctx, rfm_real **kept) {
    rfm_real loss[STEPS + 1];
    network g;
    int good;
    read_network(&g);
    good = loss_right(ctx, &g, loss) && layer_right(ctx, &g, 0) && layer_right(ctx, &g, 1) &&
           descent_right(ctx, &g, loss) && near("loss", 1, STEPS + 1, loss, BOUND) &&
           same_bits(kept, g.w[0], g.f.width[1] * g.f.width[0], ctx->workers);
    release_network(&g);
    return good;
}

static int alignment_right(const rfm_ctx *ctx, rfm_real **kept) {
    const size_t nets = (size_t)number("nets"), k = (size_t)number("width");
    size_t n, d, bytes = 0, i, p;
    rfm_real *x, *y, *w, *a, *r, *s, *b, *observed, mean[4] = {0};
    rfm_nfa_alignment out;
    rfm_arena arena;
    rfm_ctx with;
    int good;
    shape("X", &n, &d);
    x = block_reals("X", n, d), y = block_reals("y", n, 1), w = block_reals("W", nets * k, d);
    a = block_reals("a", nets, k), r = take(nets * d * d, sizeof *r), observed = take(nets, sizeof *observed);
    s = take(d * d, sizeof *s), b = take(d * d, sizeof *b);
    good = rfm_nfa_moments_need(ctx, k, d, &bytes) == RFM_OK;
    for (i = 0; i < nets; i++) {
        rfm_real one[4];
        with = on_memory(ctx, &arena, bytes);
        good = rfm_nfa_moments(&with, rfm_cview(w + i * k * d, k, d), rfm_cview(a + i * k, 1, k), one,
                               rfm_view(r + i * d * d, d, d)) == RFM_OK &&
               good;
        good = used_up(&arena) && good;
        for (p = 0; p < 4; p++) mean[p] += one[p] / (rfm_real)nets;
    }
    memset(&out, 0, sizeof out);
    out.s = rfm_view(s, d, d), out.b = rfm_view(b, d, d);
    good = rfm_nfa_align_need(ctx, n, d, &bytes) == RFM_OK && good && near("R", nets * d, d, r, BOUND) &&
           near("m", 1, 4, mean, BOUND);
    for (i = 0; good && i < nets; i++) {
        with = on_memory(ctx, &arena, bytes);
        good = rfm_nfa_align(&with, rfm_cview(x, n, d), rfm_cview(y, n, 1), mean, rfm_cview(r + i * d * d, d, d),
                             &out) == RFM_OK;
        good = used_up(&arena) && good && near("num", 1, 1, &out.numerator, BOUND) &&
               near("d1", 1, 1, &out.d1, BOUND) && near("d2", 1, 1, &out.d2, BOUND) &&
               near("predicted", 1, 1, &out.predicted, BOUND);
        observed[i] = out.observed;
    }
    good = good && near("S", d, d, s, BOUND) && near("B", d, d, b, BOUND) &&
           near("observed", nets, 1, observed, BOUND) && same_bits(kept, observed, nets, ctx->workers);
    free(x), free(y), free(w), free(a), free(r), free(s), free(b), free(observed);
    return good;
}

static int case_right(const char *path, const rfm_ctx *ctx, rfm_real **kept) {
    int good;
    read_blocks(path);
    good = strstr(path, "align_") != NULL ? alignment_right(ctx, kept) : network_right(ctx, kept);
    free_blocks();
    return good;
}

static int workers_right(const char *path, const rfm_port *port) { return with_workers(path, port, case_right); }

int main(int argc, char **argv) { return on_every_port(argc, argv, workers_right); }

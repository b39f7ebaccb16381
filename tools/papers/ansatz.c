/* Networks in training: how alike W'W and the AGOP of a layer are, step by step (004, Fig. 1, 2, 4, 5, 7, 8 and 9). */
#include "host/host.h"

#include "ansatz.h"
#include "nets.h"
#include "sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS "quantity|setting|paper|ours|note"

/* Two hidden layers, as all of these experiments have them; `first` is the scale of the first layer's start. */
static net two_layers(size_t inputs, size_t width, double first, uint64_t seed) {
    rfm_nfa_start_options o;
    rfm_nfa_start_init(&o);
    o.layers = 2, o.width[0] = inputs, o.width[1] = o.width[2] = width, o.width[3] = 1;
    o.scale[0] = (rfm_real)first, o.seed = (uint32_t)seed;
    return net_start(&o);
}

/* ---- Fig. 1 and 9: a control of equal spectrum ------------------------------------------------ */

typedef struct {
    double cosine, control, diagonal, control_diagonal, spread;
    double uneven; /* the diagonal of W'W */
} controlled;

static rfm_cmat diagonal(const rfm_real *m, size_t d) {
    rfm_cmat v = rfm_cview(m, d, 1);
    v.stride = d + 1;
    return v;
}

static void image_of(text *sheet, const char *title, const rfm_real *m, size_t width, size_t height, size_t step) {
    double *values = allocate(width, height * sizeof *values, "a picture");
    size_t i;
    for (i = 0; i < width * height; i++) values[i] = (double)m[i * step];
    sheet_image(sheet, title, values, width, height);
    free(values);
}

/* Standard deviation of the diagonal, in units of its mean. */
static double unevenness(const rfm_real *m, size_t d) {
    double mean = 0, square = 0;
    size_t i;
    for (i = 0; i < d; i++) mean += (double)m[i * (d + 1)] / (double)d;
    for (i = 0; i < d; i++) square += pow((double)m[i * (d + 1)] - mean, 2) / (double)d;
    return sqrt(square) / mean;
}

/* rho(F, G) of the first layer, and with K's eigenvectors replaced by random ones: the mean of `controls` of them.
 * side: 0, or the diagonals are pictures of that side. */
static controlled control_of(const trial *t, const net *n, const lab_rows *s, size_t controls, size_t side,
                             text *sheet) {
    const size_t d = n->f.width[0], k = n->f.width[1];
    rfm_real *f = allocate(d, d * sizeof *f, "F"), *g = allocate(d, d * sizeof *g, "G");
    rfm_real *kk = allocate(k, k * sizeof *kk, "K"), *q = allocate(k, k * sizeof *q, "a control");
    rfm_nfa_layer layer;
    controlled out = {0, 0, 0, 0, 0, 0};
    rfm_real value;
    size_t i, bytes;
    desk room;
    memset(&layer, 0, sizeof layer);
    layer.f = rfm_view(f, d, d), layer.g = rfm_view(g, d, d), layer.k = rfm_view(kk, k, k);
    net_look(t, &n->f, s, 0, &layer);
    out.cosine = (double)layer.cosine[RFM_NFA_UNCENTRED], out.spread = (double)layer.spread;
    must(rfm_pearson(diagonal(f, d), diagonal(g, d), &value), "a correlation");
    out.diagonal = (double)value;
    out.uneven = unevenness(f, d);
    if (sheet != NULL) {
        const size_t width = side > 0 ? side : d, step = side > 0 ? d + 1 : 1;
        image_of(sheet, side > 0 ? "diagonal of W'W" : "W'W", f, width, width, step);
        image_of(sheet, side > 0 ? "diagonal of the AGOP" : "AGOP", g, width, width, step);
    }
    must(rfm_nfa_control_need(&t->m->ctx, k, &bytes), "the size of a control");
    desk_open(t, &room, bytes);
    for (i = 0; i < controls; i++) {
        must(rfm_nfa_control(&room.ctx, rfm_cview(kk, k, k), (uint32_t)(t->seed + i), rfm_view(q, k, k)), "a control");
        sandwich(k, d, n->f.w[0], q, g);
        must(rfm_cosine(rfm_cview(f, d, d), rfm_cview(g, d, d), &value), "a correlation");
        out.control += (double)value / (double)controls;
        must(rfm_pearson(diagonal(f, d), diagonal(g, d), &value), "a correlation");
        out.control_diagonal += (double)value / (double)controls;
        if (sheet != NULL && i == 0)
            image_of(sheet, side > 0 ? "diagonal of the control" : "control", g, side > 0 ? side : d,
                     side > 0 ? side : d, side > 0 ? d + 1 : 1);
    }
    desk_close(&room);
    free(f);
    free(g);
    free(kk);
    free(q);
    return out;
}

void ansatz_control(const trial *t, text *sheet) {
    const size_t seeds = t->quick ? 1 : 3;
    double rho[3], control[3], spread[3], least = 2, most = -2;
    double egop[32 * 32] = {0};
    size_t i, j;
    for (i = 0; i < 5; i++) egop[i * 33] = 2, egop[i * 32 + (i + 2) % 5] = 1, egop[(i + 2) % 5 * 32 + i] = 1;
    sheet_image(sheet, "EGOP of the target", egop, 32, 32);
    for (i = 0; i < seeds; i++) {
        uint64_t state = t->seed + i;
        spectrum axes = spectrum_make(&state, 32, -1);
        lab_rows s = spectrum_rows(&state, &axes, 384);
        net n = two_layers(32, 128, 0.01, t->seed + i);
        rfm_nfa_options o;
        controlled c;
        chain_targets(&s);
        rfm_nfa_options_init(&o);
        net_train(t, &n, &s, &o, "Fig. 1", 1, NULL, NULL);
        c = control_of(t, &n, &s, 5, 0, i == 0 ? sheet : NULL);
        rho[i] = c.cosine, control[i] = c.control, spread[i] = c.spread;
        least = fmin(least, rho[i]), most = fmax(most, rho[i]);
        net_free(&n);
        rows_free(&s);
        spectrum_free(&axes);
    }
    j = seeds;
    sheet_table(sheet, COLUMNS);
    sheet_row(sheet, "rho(W'W, AGOP)|first layer, after 800 steps|0.93|%.3f|seeds: %zu, from %.3f to %.3f",
              mean_of(rho, j), j, least, most);
    sheet_row(sheet, "rho(W'W, W'QW)|Q: the spectrum of K, random eigenvectors|0.53|%.3f|mean over 5 Q for each seed",
              mean_of(control, j));
    sheet_row(sheet, "spread of K's eigenvalues|standard deviation / mean|5.9|%.2f|", mean_of(spread, j));
    sheet_say(sheet,
              "Chain monomial of rank 5 in 32 inputs, 384 rows, width 128, scale 0.01 in the first layer, rate 0.05. "
              "The paper names one network; ours are other random numbers, so a few hundredths differ.");
}

/* ---- Fig. 2, 4, 5 and App. G: over time, by the scale of the start ---------------------------- */

#define LOOKS  160
#define SCALES 3
#define SEEDS  4

static const double scales[SCALES] = {1, 0.1, 0.01};

typedef struct {
    const trial *t;
    const net *n;
    const lab_rows *s;
    size_t count;
    double step[LOOKS], rho[2][RFM_NFA_CENTRINGS][LOOKS], ratio[2][LOOKS];
    double train, test; /* losses at the end */
} curve;

static void look(void *arg, size_t step) {
    curve *c = arg;
    rfm_nfa_layer layer;
    size_t l, k;
    if (step > 100 && step % 25 != 0) return;
    for (l = 0; l < 2; l++) {
        memset(&layer, 0, sizeof layer);
        net_measure(c->t, c->n, c->s, l, &layer);
        for (k = 0; k < RFM_NFA_CENTRINGS; k++) c->rho[l][k][c->count] = (double)layer.cosine[k];
        c->ratio[l][c->count] = (double)layer.ratio;
    }
    c->step[c->count++] = (double)step;
}

static void train_curve(const trial *t, double decay, double scale, uint64_t seed, curve *c) {
    uint64_t state = seed;
    spectrum data = spectrum_make(&state, 32, decay);
    lab_rows train = spectrum_rows(&state, &data, 256), test = spectrum_rows(&state, &data, 1024);
    net n = two_layers(32, 256, scale, seed);
    rfm_nfa_options o;
    chain_targets(&train);
    chain_targets(&test);
    rfm_nfa_options_init(&o);
    o.steps = t->quick ? 20 : 800;
    c->t = t, c->n = &n, c->s = &train, c->count = 0;
    net_train(t, &n, &train, &o, "two hidden layers", 5, look, c);
    c->train = net_loss(t, &n, &train), c->test = net_loss(t, &n, &test);
    net_free(&n);
    rows_free(&train);
    rows_free(&test);
    spectrum_free(&data);
}

static void draw_curves(text *sheet, const curve *c, size_t l, const size_t *which, const char *const *words,
                        size_t count, const char *what) {
    char title[80], name[40];
    size_t s, k, i;
    snprintf(title, sizeof title, "Layer %zu: %s", l + 1, what);
    sheet_chart(sheet, title, "step", "correlation");
    for (s = 0; s < SCALES; s++)
        for (k = 0; k < count; k++) {
            snprintf(name, sizeof name, "s = %g%s%s", scales[s], *words[k] != 0 ? ", " : "", words[k]);
            for (i = 0; i < c[s].count; i++) sheet_point(sheet, name, c[s].step[i], c[s].rho[l][which[k]][i]);
        }
}

static void draw_ratio(text *sheet, const curve *c, size_t l, const char *data) {
    char title[80], name[40];
    size_t s, i;
    snprintf(title, sizeof title, "Layer %zu: %s, Fig. 4's ratio", l + 1, data);
    sheet_chart(sheet, title, "step", "log10 of the ratio");
    for (s = 0; s < SCALES; s++) {
        snprintf(name, sizeof name, "s = %g", scales[s]);
        for (i = 0; i < c[s].count; i++) sheet_point(sheet, name, c[s].step[i], log10(c[s].ratio[l][i]));
    }
}

/* Means over seeds at one look. */
static double at_look(const curve *c, size_t seeds, size_t l, size_t which, size_t i) {
    double sum = 0;
    size_t k;
    for (k = 0; k < seeds; k++) sum += c[k * SCALES].rho[l][which][i] / (double)seeds;
    return sum;
}

/* c: [seed][scale]. */
static void tell_curves(text *sheet, const trial *t, const curve *c, size_t seeds, const char *data) {
    const size_t last = c->count - 1;
    size_t l, s, i, k;
    sheet_table(sheet, COLUMNS);
    for (l = 0; l < 2; l++) {
        double low[2] = {2, 2}, high[2] = {-2, -2};
        for (s = 0; s < SCALES; s++) {
            double least = 2;
            for (k = 0; k < seeds; k++)
                for (i = 0; i < 4; i++) { /* steps 5, 10, 15, 20 */
                    const curve *one = c + k * SCALES + s;
                    least = fmin(least, one->rho[l][RFM_NFA_CENTRED][i] - one->rho[l][RFM_NFA_UNCENTRED][i]);
                }
            for (k = 0; k < 2; k++) { /* RFM_NFA_UNCENTRED, RFM_NFA_CENTRED */
                low[k] = fmin(low[k], at_look(c + s, seeds, l, k, 1));
                high[k] = fmax(high[k], at_look(c + s, seeds, l, k, 1));
            }
            sheet_row(sheet, "uncentred; centred|%s, layer %zu, s = %g, step 10|curves|%.2f; %.2f|seeds: %zu", data,
                      l + 1, scales[s], at_look(c + s, seeds, l, RFM_NFA_UNCENTRED, 1),
                      at_look(c + s, seeds, l, RFM_NFA_CENTRED, 1), seeds);
            sheet_row(sheet, "centred above uncentred by|%s, layer %zu, s = %g, steps 5 to 20|above 0|%.3f|the least",
                      data, l + 1, scales[s], least);
            if (!t->quick)
                sheet_row(sheet, "uncentred; centred|%s, layer %zu, s = %g, step 800|curves|%.2f; %.2f|", data, l + 1,
                          scales[s], at_look(c + s, seeds, l, RFM_NFA_UNCENTRED, last),
                          at_look(c + s, seeds, l, RFM_NFA_CENTRED, last));
        }
        sheet_row(
            sheet,
            "uncentred; centred, largest less smallest over s|%s, layer %zu, step 10|robust if centred|%.3f; %.3f|",
            data, l + 1, high[0] - low[0], high[1] - low[1]);
    }
    for (s = 0; s < SCALES && !t->quick; s++) {
        double train = 0, test = 0;
        for (k = 0; k < seeds; k++)
            train += c[k * SCALES + s].train / (double)seeds, test += c[k * SCALES + s].test / (double)seeds;
        sheet_row(sheet, "loss: training; test|%s, s = %g, step 800|smaller s, smaller test loss|%.4f; %.3f|", data,
                  scales[s], train, test);
    }
}

static void tell_double(text *sheet, const trial *t, const curve *c, const char *data) {
    size_t l, s;
    for (l = 0; l < 2; l++)
        for (s = 0; s < SCALES; s++) {
            const size_t last = c[s].count - 1;
            sheet_row(sheet, "Fig. 4's ratio|%s, layer %zu, s = %g, steps 5; %.0f|small early, grows|%.4f; %.3f|", data,
                      l + 1, scales[s], c[s].step[last], c[s].ratio[l][0], c[s].ratio[l][last]);
        }
    for (l = 0; l < 2; l++)
        for (s = 0; s < SCALES; s++) {
            const size_t last = c[s].count - 1;
            sheet_row(sheet, "PTK-centred|%s, layer %zu, s = %g, steps 5; %.0f|%s|%.3f; %.3f|", data, l + 1, scales[s],
                      c[s].step[last], t->quick ? "-" : "falls", c[s].rho[l][RFM_NFA_PTK][0],
                      c[s].rho[l][RFM_NFA_PTK][last]);
        }
}

static void curves_of(const trial *t, text *sheet, double decay, size_t seeds, const char *data) {
    static const size_t both[] = {RFM_NFA_UNCENTRED, RFM_NFA_CENTRED}, ptk[] = {RFM_NFA_PTK};
    static const char *const words[] = {"uncentred", "centred"}, *const none[] = {""};
    curve *c = allocate(seeds * SCALES, sizeof *c, "curves");
    size_t k, s, l;
    for (k = 0; k < seeds; k++)
        for (s = 0; s < SCALES; s++) train_curve(t, decay, scales[s], t->seed + k, c + k * SCALES + s);
    for (l = 0; l < 2; l++) draw_curves(sheet, c, l, both, words, 2, data);
    tell_curves(sheet, t, c, seeds, data);
    tell_double(sheet, t, c, data);
    for (l = 0; l < 2; l++) draw_ratio(sheet, c, l, data);
    for (l = 0; l < 2; l++) {
        char title[60];
        snprintf(title, sizeof title, "%s, PTK-centred", data);
        draw_curves(sheet, c, l, ptk, none, 1, title);
    }
    free(c);
}

void ansatz_scales(const trial *t, text *sheet) {
    curves_of(t, sheet, -1, t->quick ? 1 : SEEDS, "isotropic");
    sheet_say(sheet, "Two hidden layers of 256, 32 inputs, 256 rows, rate 0.05, scale s in the first layer only. The "
                     "paper's figures have no numbers; its words are in their column. Early in training the centred "
                     "correlation hardly depends on s. At s = 1 the first steps overshoot: the rate is beyond what the "
                     "curvature of the start allows, the loss rises before it falls, tangents collapse, and Fig. 4's "
                     "ratio shows it. There, in the end, centred is not above uncentred in the first layer, and "
                     "PTK-centred does not fall. For the smaller s it is as the paper has it.");
}

void ansatz_decay(const trial *t, text *sheet) {
    curves_of(t, sheet, 1, t->quick ? 1 : 2, "decay 1/(1 + k)");
    curves_of(t, sheet, 2, t->quick ? 1 : 2, "decay 1/(1 + k^2)");
    sheet_say(sheet,
              "The same networks on normal rows whose covariance has a random eigenbasis and these eigenvalues. "
              "What differs from the paper's words: in the first layer at s = 1 the PTK-centred correlation rises "
              "again later, and with the fast decay the test loss is least at s = 0.1.");
}

/* ---- App. I: real images ---------------------------------------------------------------------- */

/* As many rows of `digit` as of all others together, drawn; y = 1 or -1. */
static lab_rows one_against_rest(const lab_rows *all, uint32_t digit, uint64_t *state) {
    size_t ones = 0, i, at = 0, need;
    lab_rows s;
    for (i = 0; i < all->n; i++) ones += all->labels[i] == digit;
    s = rows_make(2 * ones, all->d, 1);
    need = ones;
    for (i = 0; i < all->n; i++) {
        const int mine = all->labels[i] == digit;
        size_t later = 0, k;
        for (k = i; !mine && k < all->n && later <= need; k++) later += all->labels[k] != digit;
        if (!mine && (need == 0 || (later > need && lab_uniform(state) > (double)ones / (double)(all->n - ones))))
            continue;
        if (!mine) need--;
        memcpy(s.x + at * s.d, all->x + i * all->d, s.d * sizeof *s.x);
        rows_label(&s, at++, mine ? 1 : 0);
    }
    s.n = at;
    return s;
}

void ansatz_digits(const trial *t, text *sheet) {
    const size_t tasks = t->quick ? 1 : 4;
    lab_rows train, test;
    size_t side, k;
    const char *name = lab_digits(t, t->quick ? 600 : 4000, 10, &train, &test, &side);
    double rho[4], control[4], uneven[4], spread[4];
    for (k = 0; k < tasks; k++) {
        uint64_t state = t->seed + k;
        lab_rows s = one_against_rest(&train, (uint32_t)k, &state);
        net n = two_layers(s.d, 128, 0.02, t->seed + k);
        rfm_nfa_options o;
        controlled c;
        rfm_nfa_options_init(&o);
        o.method = RFM_NFA_ADAM, o.rate = (rfm_real)1e-4, o.batch = 32, o.seed = (uint32_t)t->seed;
        o.steps = (t->quick ? 100 : 500) * ((s.n + 31) / 32);
        net_train(t, &n, &s, &o, "digits", 1, NULL, NULL);
        c = control_of(t, &n, &s, 20, side, k == 0 ? sheet : NULL);
        rho[k] = c.diagonal, control[k] = c.control_diagonal, uneven[k] = c.uneven, spread[k] = c.spread;
        net_free(&n);
        rows_free(&s);
    }
    sheet_table(sheet, COLUMNS);
    for (k = 0; k < tasks; k++)
        sheet_row(
            sheet,
            "Pearson of the diagonals; control|%s, %zu against the rest|0.91; 0.04|%.2f; %.2f|mean of 20 controls",
            name, k, rho[k], control[k]);
    sheet_row(sheet, "Pearson of the diagonals|%s, mean|0.91|%.2f|", name, mean_of(rho, tasks));
    sheet_row(sheet, "Pearson of the diagonals, control|%s, mean|0.04|%.2f|", name, mean_of(control, tasks));
    sheet_row(sheet, "standard deviation / mean: diagonal of W'W; eigenvalues of K|%s, mean|-|%.2f; %.1f|", name,
              mean_of(uneven, tasks), mean_of(spread, tasks));
    sheet_say(
        sheet,
        "The paper tells glasses from none on 7,500 faces; here digits, balanced. Adam 1e-4, scale 0.02, width 128, "
        "%d epochs of batches of 32. The control is above the paper's: its diagonal is |w_j|^2 times a random "
        "factor of mean 1, and with 64 pixels, of which those at the border hardly move, |w_j|^2 differs from pixel "
        "to pixel about as much as the factor does.",
        t->quick ? 100 : 500);
    rows_free(&train);
    rows_free(&test);
}

/* Features of networks beside those of RFMs, from the RFM paper: the first layer's W'W and M of an RFM on the same task
 * (Fig. 2 and 15), and kernels on a network's first layer by depth (Fig. 11 to 13). */
#include "host/host.h"

#include "nets.h"
#include "phenomena.h"
#include "sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double pearson(const rfm_real *a, const rfm_real *b, size_t rows, size_t cols) {
    rfm_real result;
    must(rfm_pearson(rfm_cview(a, rows, cols), rfm_cview(b, rows, cols), &result), "a correlation");
    return (double)result;
}

/* The top eigenvector of a symmetric matrix (d, d), which is overwritten; returns its share of the trace. */
static double top_eigenvector(const trial *t, rfm_real *m, size_t d, rfm_real *v) {
    rfm_real w;
    double trace = 0;
    size_t j;
    for (j = 0; j < d; j++) trace += (double)m[j * d + j];
    lab_eigenvectors(t, m, d, 1, &w, v);
    return trace > 0 ? (double)w / trace : 0;
}

static void diagonal_of(const rfm_real *m, size_t d, rfm_real *to) {
    size_t j;
    for (j = 0; j < d; j++) to[j] = m[j * d + j];
}

/* ---- W'W and M (Fig. 2 and 15) ------------------------------------------------------------------ */

#define MOST_DIGITS 10

/* The digit `which` against the others, of which as many are drawn. */
static lab_rows against_rest(const lab_rows *digits, uint32_t which, uint64_t *state) {
    size_t many = 0, wanted, left, i, n = 0;
    lab_rows s;
    for (i = 0; i < digits->n; i++) many += digits->labels[i] == which;
    s = rows_make(2 * many, digits->d, 1);
    wanted = many, left = digits->n - many;
    for (i = 0; i < digits->n && n < s.n; i++) {
        int is = digits->labels[i] == which;
        if (!is && lab_below(state, left--) >= wanted) continue;
        wanted -= !is;
        memcpy(s.x + n * s.d, digits->x + i * digits->d, s.d * sizeof *s.x);
        rows_label(&s, n++, (uint32_t)is);
    }
    rows_unit(&s);
    return s;
}

typedef struct {
    rfm_real *rfm_diagonal, *network_diagonal; /* (d) */
    double vectors, diagonals, rfm_right, network_right, rfm_gap, network_gap;
} pair;

static pair compare(const trial *t, const lab_rows *train, const lab_rows *test, size_t width, size_t steps) {
    size_t d = train->d;
    rfm_real *m = allocate(d, d * sizeof *m, "M"), *f = allocate(d, d * sizeof *f, "W'W"),
             *v = allocate(2, d * sizeof *v, "vectors");
    net w = net_make(t, 2, d, width, 1, 0.01);
    rfm_nfa_options o;
    rfm_options r;
    lab_model rfm;
    pair p;
    size_t j;
    double sign = 0;
    rfm_options_init(&r);
    r.iterations = 1;
    rfm = lab_fit(t, train, &r, NULL);
    must(rfm_metric(&rfm.model, rfm_view(m, d, d)), "M");
    p.rfm_right = lab_accuracy(t, &rfm, test);
    lab_model_free(&rfm);
    rfm_nfa_options_init(&o);
    o.batch = 128, o.rate = (rfm_real)0.1, o.steps = steps, o.look = steps;
    net_descend(t, &w, train, &o);
    p.network_right = net_accuracy(t, &w, test);
    net_features(t, &w, train, f, NULL);
    net_free(&w);
    p.rfm_diagonal = allocate(d, sizeof *p.rfm_diagonal, "a diagonal");
    p.network_diagonal = allocate(d, sizeof *p.network_diagonal, "a diagonal");
    diagonal_of(m, d, p.rfm_diagonal);
    diagonal_of(f, d, p.network_diagonal);
    p.diagonals = pearson(p.rfm_diagonal, p.network_diagonal, 1, d);
    p.rfm_gap = top_eigenvector(t, m, d, v), p.network_gap = top_eigenvector(t, f, d, v + d);
    for (j = 0; j < d; j++) sign += (double)v[j] * (double)v[d + j];
    p.vectors = fabs(sign); /* both have length 1, and an eigenvector has no sign */
    free(m);
    free(f);
    free(v);
    return p;
}

void features(const trial *t, text *sheet) {
    size_t digits = t->quick ? 2 : 6, steps = t->quick ? 300 : 3000, width = t->quick ? 64 : 256, side, k, l, j;
    lab_rows train, test;
    const char *name = lab_digits(t, 0, 0, &train, &test, &side);
    pair pairs[MOST_DIGITS];
    double across = 0, same = 0;
    sheet_say(
        sheet,
        "%s, one digit against as many of the others, rows of length 1. RFM: Laplace, L = 10, ridge 0.001, one update. "
        "Network: two hidden layers of %zu, the first of deviation 0.01, %zu steps of descent, rate 0.1, batches of "
        "128.",
        name, width, steps);
    sheet_table(sheet, "digit|RFM test %|network test %|top eigenvectors, cosine|paper|diagonals, Pearson|paper|top "
                       "eigenvalue's share of M|of W'W");
    for (k = 0; k < digits; k++) {
        uint64_t state = t->seed;
        lab_rows a = against_rest(&train, (uint32_t)k, &state), b = against_rest(&test, (uint32_t)k, &state);
        pairs[k] = compare(t, &a, &b, width, steps);
        sheet_row(sheet, "%zu|%.1f|%.1f|%.3f|above 0.99|%.3f|above 0.8|%.2f|%.2f", k, 100 * pairs[k].rfm_right,
                  100 * pairs[k].network_right, pairs[k].vectors, pairs[k].diagonals, pairs[k].rfm_gap,
                  pairs[k].network_gap);
        rows_free(&a);
        rows_free(&b);
        progress_show("features", (double)k + 1, (double)digits);
    }
    progress_end();
    for (k = 0; k < digits; k++)
        for (l = 0; l < digits; l++) {
            double c = pearson(pairs[k].rfm_diagonal, pairs[l].network_diagonal, 1, train.d);
            if (k == l)
                same += c / (double)digits;
            else
                across += c / (double)(digits * (digits - 1));
        }
    sheet_table(sheet, "Pearson correlation of the diagonals|ours|paper");
    sheet_row(sheet, "M and W'W of the same task, mean|%.3f|above 0.8", same);
    sheet_row(sheet, "M of one task, W'W of another, mean|%.3f|0.110 (glasses and mustache)", across);
    sheet_say(sheet, "The paper has faces, networks of width 1,024 and 500 epochs. Here the first layer starts small, "
                     "because W'W of a short training is else mostly its random start.");
    sheet_chart(sheet, "M of an RFM beside W'W of a network", "digit", "cosine or correlation");
    for (k = 0; k < digits; k++) sheet_dot(sheet, "top eigenvectors", (double)k, pairs[k].vectors);
    for (k = 0; k < digits; k++) sheet_dot(sheet, "diagonals", (double)k, pairs[k].diagonals);
    for (k = 0; k < digits; k++)
        for (l = 0; l < digits; l++)
            if (k != l)
                sheet_dot(sheet, "of another digit", (double)k,
                          pearson(pairs[k].rfm_diagonal, pairs[l].network_diagonal, 1, train.d));
    for (k = 0; k < 2; k++) {
        double *picture = allocate(train.d, sizeof *picture, "a picture");
        for (l = 0; l < 2; l++) {
            const rfm_real *diagonal = l == 0 ? pairs[k].rfm_diagonal : pairs[k].network_diagonal;
            char title[60];
            for (j = 0; j < train.d; j++) picture[j] = (double)diagonal[j];
            snprintf(title, sizeof title, "Digit %zu: diagonal of %s", k, l == 0 ? "M" : "W'W");
            sheet_image(sheet, title, picture, side, side);
        }
        free(picture);
    }
    for (k = 0; k < digits; k++) {
        free(pairs[k].rfm_diagonal);
        free(pairs[k].network_diagonal);
    }
    rows_free(&train);
    rows_free(&test);
}

/* ---- kernels on a first layer, by depth (Fig. 11 to 13) ------------------------------------------- */

static double right_under(const trial *t, const lab_rows *train, const lab_rows *test, int kernel, double exponent,
                          const rfm_real *m) {
    rfm_options o;
    lab_model f;
    double right;
    rfm_options_init(&o);
    o.iterations = 0, o.kernel = kernel, o.exponent = (rfm_real)exponent;
    if (kernel == RFM_LAPLACE) o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN, o.bandwidth = 1;
    f = lab_fit(t, train, &o, m);
    right = lab_accuracy(t, &f, test);
    lab_model_free(&f);
    return right;
}

void layers_of_networks(const trial *t, text *sheet) {
    /* Figure 11, SVHN: network, NTK + W'W, Laplace + W'W by depth; NTK 73.6, Laplace 66.76. */
    static const char *const paper[] = {"77.61, 82.28, 79.55", "78.72, 79.88, 79.22", "79.32, 79.42, 78.90",
                                        "79.03, 78.89, 78.65"};
    static const char *const machines[] = {"network", "NTK", "NTK + W'W", "Laplace", "Laplace + W'W"};
    size_t depths = t->quick ? 2 : 4, width = t->quick ? 64 : 256, steps = t->quick ? 300 : 2000, side, l, i, d;
    digit_sets digits = small_digits(t, 2500);
    uint64_t state = t->seed;
    lab_rows train = mosaic(&digits.train, digits.side, &state), test = mosaic(&digits.test, digits.side, &state);
    unsigned char *inside = middle_of(digits.side);
    rfm_real *f, *g;
    double *picture, laplace;
    text chart = {NULL, 0, 0};
    side = digits.side, d = train.d;
    sheet_chart(&chart, "Right on test images", "hidden layers", "%");
    f = allocate(d, d * sizeof *f, "W'W"), g = allocate(d, d * sizeof *g, "an AGOP");
    picture = allocate(d, sizeof *picture, "a picture");
    laplace = right_under(t, &train, &test, RFM_LAPLACE, 1, NULL);
    sheet_say(sheet,
              "Nine %s in a square; the one in the middle is the class. %zu rows to train, %zu to test. Networks of "
              "width %zu, %zu "
              "steps of momentum 0.9, rate 0.05, batches of 100. Then kernels under M = W'W of the first layer: NTK of "
              "the network's depth, and "
              "Laplace with L the median distance; ridge 0.001. The AGOP is centred.",
              digits.name, train.n, test.n, width, steps);
    sheet_table(sheet, "hidden layers|network %|NTK %|NTK + W'W %|Laplace %|Laplace + W'W %|paper, SVHN: network, NTK "
                       "+ W'W, Laplace + W'W|"
                       "W'W in the middle %|AGOP and W'W, Pearson");
    for (l = 1; l <= depths; l++) {
        net w = net_make(t, l, d, width, 10, 0);
        rfm_nfa_options o;
        double in = 0, all = 0, right[5];
        rfm_nfa_options_init(&o);
        o.method = RFM_NFA_MOMENTUM, o.batch = 100, o.rate = (rfm_real)0.05, o.steps = steps, o.look = steps;
        net_descend(t, &w, &train, &o);
        net_features(t, &w, &train, f, g);
        net_center(t, &w, &train, g);
        for (i = 0; i < d; i++) {
            picture[i] = (double)f[i * d + i], all += picture[i];
            if (inside[i]) in += picture[i];
        }
        right[0] = net_accuracy(t, &w, &test), right[3] = laplace;
        right[1] = right_under(t, &train, &test, RFM_NTK, (double)l, NULL);
        right[2] = right_under(t, &train, &test, RFM_NTK, (double)l, f);
        right[4] = right_under(t, &train, &test, RFM_LAPLACE, 1, f);
        for (i = 0; i < 5; i++) sheet_point(&chart, machines[i], (double)l, 100 * right[i]);
        sheet_row(sheet, "%zu|%.2f|%.2f|%.2f|%.2f|%.2f|%s|%.1f|%.3f", l, 100 * right[0], 100 * right[1], 100 * right[2],
                  100 * right[3], 100 * right[4], paper[l - 1], 100 * in / all, pearson(f, g, d, d));
        net_free(&w);
        progress_show("layers of networks", (double)l, (double)depths);
    }
    progress_end();
    sheet_say(sheet, "The paper has house numbers: NTK 73.6 %%, Laplace 66.76 %%. There, too, kernels on the first "
                     "layer's features come up to "
                     "the network.");
    text_bytes(sheet, chart.at, chart.size);
    free(chart.at);
    sheet_image(sheet, "Diagonal of W'W, the deepest network", picture, 3 * side, 3 * side);
    for (i = 0; i < d; i++) picture[i] = (double)g[i * d + i];
    sheet_image(sheet, "Diagonal of its centred AGOP", picture, 3 * side, 3 * side);
    free(f);
    free(g);
    free(picture);
    free(inside);
    rows_free(&train);
    rows_free(&test);
    digit_sets_free(&digits);
}

/* The convolutional ansatz, from the paper on convolutional features: W'W of a layer's filters beside the average
 * gradient outer product by its patches (section 2, Fig. 9), and the theorem about one step of descent. */
#include "host/host.h"

#include "cnn.h"
#include "phenomena.h"
#include "sheet.h"

#include <math.h>
#include <stdlib.h>

static const char *const pool_words[] = {"none", "largest of 2 x 2", "mean of 2 x 2", "mean of 2 x 2, then of all"};

static double cosine_of(const rfm_real *a, const rfm_real *b, size_t d) {
    rfm_real result;
    must(rfm_cosine(rfm_cview(a, d, d), rfm_cview(b, d, d), &result), "a cosine");
    return (double)result;
}

static double similarity(const trial *t, cnn *f, const lab_rows *s, size_t layer) {
    size_t d = cnn_patch_size(f, layer);
    rfm_real *w_w = allocate(d, d * sizeof *w_w, "W'W"), *g = allocate(d, d * sizeof *g, "an AGOP");
    double cosine;
    cnn_features(t, f, s, layer, w_w, g);
    cosine = cosine_of(w_w, g, d);
    free(w_w);
    free(g);
    return cosine;
}

#define SIDES  3 /* patches of 3, 5 and 7 */
#define POOLS  4
#define LAYERS 2

/* [side][pooling][layer] */
typedef double cosines[SIDES][POOLS][LAYERS];

/* The mean over both layers and everything that is not fixed; side or pooling -1: any. */
static double mean_cosine(cosines c, int side, int pooling) {
    double sum = 0;
    int i, j, count = 0;
    for (i = 0; i < SIDES; i++)
        for (j = 0; j < POOLS; j++)
            if ((side < 0 || i == side) && (pooling < 0 || j == pooling))
                sum += c[i][j][0] + c[i][j][1], count += LAYERS;
    return sum / count;
}

void conv_ansatz(const trial *t, text *sheet) {
    digit_sets digits = small_digits(t, 1000); /* twelve networks are trained */
    size_t epochs = t->quick ? 3 : 10, filters = t->quick ? 8 : 32, l;
    lab_rows some = digits.train;
    cosines before, after;
    int i, j;
    if (some.n > 250) some.n = 250;
    sheet_say(sheet,
              "%s, %zu rows to train, %zu to test. Two layers of %zu filters, zero padded, then a dense layer; %zu "
              "epochs of Adam, rate 0.002, batches of 32. Cosine of W'W and the AGOP by the patches of %zu images.",
              digits.name, digits.train.n, digits.test.n, filters, epochs, some.n);
    sheet_table(sheet, "side of a patch|pooling|test %|layer 1: at the start|trained|layer 2: at the start|trained");
    for (i = 0; i < SIDES; i++)
        for (j = 0; j < POOLS; j++) {
            cnn f = cnn_make(t, digits.side, digits.side, 10, LAYERS, filters, (size_t)(3 + 2 * i), j);
            for (l = 0; l < LAYERS; l++) before[i][j][l] = similarity(t, &f, &some, l);
            cnn_train(t, &f, &digits.train, NULL, epochs, 2e-3);
            for (l = 0; l < LAYERS; l++) after[i][j][l] = similarity(t, &f, &some, l);
            sheet_row(sheet, "%d|%s|%.2f|%.3f|%.3f|%.3f|%.3f", 3 + 2 * i, pool_words[j],
                      100 * cnn_accuracy(t, &f, &digits.test), before[i][j][0], after[i][j][0], before[i][j][1],
                      after[i][j][1]);
            cnn_free(&f);
            progress_show("networks", i * POOLS + j + 1, SIDES * POOLS);
        }
    progress_end();
    sheet_table(sheet, "mean cosine, both layers|ours|paper (Fig. 9: ten sets, as pictures)");
    sheet_row(sheet, "mean over all, at the start; trained|%.3f; %.3f|more after training",
              mean_cosine(before, -1, CNN_GLOBAL), mean_cosine(after, -1, CNN_GLOBAL));
    sheet_row(sheet, "all networks, at the start; trained|%.3f; %.3f|large networks trained: 0.7 to above 0.9",
              mean_cosine(before, -1, -1), mean_cosine(after, -1, -1));
    sheet_row(sheet, "trained, side 3; 5; 7|%.3f; %.3f; %.3f|a little less with larger patches",
              mean_cosine(after, 0, -1), mean_cosine(after, 1, -1), mean_cosine(after, 2, -1));
    sheet_row(sheet, "trained, no pooling; largest; mean; mean of all|%.3f; %.3f; %.3f; %.3f|the most with the largest",
              mean_cosine(after, -1, CNN_NO_POOL), mean_cosine(after, -1, CNN_MAX), mean_cosine(after, -1, CNN_MEAN),
              mean_cosine(after, -1, CNN_GLOBAL));
    sheet_chart(sheet, "Layer 2, trained, by pooling", "side of a patch", "cosine of W'W and the AGOP");
    for (j = 0; j < POOLS; j++)
        for (i = 0; i < SIDES; i++) sheet_point(sheet, pool_words[j], 3 + 2 * i, after[i][j][1]);
    for (i = 0; i < SIDES; i++) sheet_point(sheet, "the last one, at the start", 3 + 2 * i, before[i][CNN_GLOBAL][1]);
    sheet_say(sheet,
              "The paper has ten sets, larger networks and longer training. Where the dense layer has weights of "
              "its own for every place, the tangents of two filters are hardly correlated at the start: K is "
              "nearly a multiple of I, so W'W and W'K W are alike before any training. With the mean over all "
              "places that is not so, and there training raises the cosine.");
    digit_sets_free(&digits);
}

/* ---- the theorem ----------------------------------------------------------------------------------- */

#define PLACES 20
#define PATCH  9
#define HIDDEN 16

/* f(x) = sum over places r of a' tanh(W x[r]), W = 0 at the start: one step of descent on the squared error. */
void conv_theorem(const trial *t, text *sheet) {
    size_t n = t->quick ? 50 : 500, i, r, j, k;
    uint64_t state = t->seed;
    double *x = allocate(n, PLACES * PATCH * sizeof *x, "patches"), w[HIDDEN][PATCH] = {{0}}, a[HIDDEN];
    rfm_real g[PATCH * PATCH] = {0}, w_w[PATCH * PATCH] = {0};
    double cosine, rate = 0.01;
    for (k = 0; k < HIDDEN; k++) a[k] = lab_normal(&state);
    for (i = 0; i < n; i++) {
        double *row = x + i * PLACES * PATCH, y = 0;
        for (j = 0; j < PLACES * PATCH; j++) row[j] = lab_normal(&state);
        for (r = 0; r < PLACES; r++) y += row[r * PATCH] * row[r * PATCH + 1] + row[r * PATCH + 2];
        /* f = 0 and tanh'(0) = 1, so the step is 2 rate y / n times a sum_r x[r]'. */
        for (k = 0; k < HIDDEN; k++)
            for (r = 0; r < PLACES; r++)
                for (j = 0; j < PATCH; j++) w[k][j] += 2 * rate * y / (double)n * a[k] * row[r * PATCH + j];
    }
    for (i = 0; i < n; i++)
        for (r = 0; r < PLACES; r++) {
            double gradient[PATCH] = {0};
            for (k = 0; k < HIDDEN; k++) {
                double h = 0;
                for (j = 0; j < PATCH; j++) h += w[k][j] * x[(i * PLACES + r) * PATCH + j];
                for (j = 0; j < PATCH; j++) gradient[j] += a[k] * (1 - tanh(h) * tanh(h)) * w[k][j];
            }
            for (j = 0; j < PATCH * PATCH; j++)
                g[j] += (rfm_real)(gradient[j / PATCH] * gradient[j % PATCH] / (double)n);
        }
    for (k = 0; k < HIDDEN; k++)
        for (j = 0; j < PATCH * PATCH; j++) w_w[j] += (rfm_real)(w[k][j / PATCH] * w[k][j % PATCH]);
    cosine = cosine_of(w_w, g, PATCH);
    sheet_say(sheet,
              "f(x) = sum over %d places of a'tanh(W x[r]), W = 0 at the start, a fixed and the same at every place; "
              "%zu rows of normal "
              "patches. One step of descent on all rows, then W'W beside the AGOP over all patches.",
              PLACES, n);
    sheet_table(sheet, "quantity|ours|paper");
    sheet_row(sheet, "1 - cosine|%.1e|0: proportional exactly", fabs(1 - cosine));
    sheet_say(sheet, "What is left is the rounding of single precision.");
    sheet_square(sheet, "W'W", w_w, PATCH);
    sheet_square(sheet, "AGOP by patches", g, PATCH);
    free(x);
}

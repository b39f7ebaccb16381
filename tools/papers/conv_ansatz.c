/* The convolutional ansatz, from the paper on convolutional features: W'W of a layer's filters beside the average
 * gradient outer product by its patches (section 2, Fig. 9), and the theorem about one step of descent. */
#include "host/host.h"

#include "cnn.h"
#include "phenomena.h"
#include "sheet.h"

#include <math.h>
#include <stdlib.h>

static const char *const pool_words[] = {"none", "largest of 2 x 2", "mean of 2 x 2"};

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

void conv_ansatz(const trial *t, text *sheet) {
    digit_sets digits = small_digits(t);
    size_t patch, epochs = t->quick ? 3 : 20, filters = t->quick ? 8 : 32, done = 0;
    lab_rows some = digits.train;
    int pooling;
    if (digits.train.n > 1500) digits.train.n = 1500; /* nine networks are trained */
    if (some.n > 500) some.n = 500;
    sheet_say(sheet,
              "%s, %zu rows to train, %zu to test. Two layers of %zu filters, zero padded, then a dense layer; %zu "
              "epochs of Adam, "
              "rate 0.002, batches of 32. Cosine of W'W and the AGOP by the patches of %zu images.",
              digits.name, digits.train.n, digits.test.n, filters, epochs, some.n);
    sheet_table(sheet, "side of a patch|pooling|test %|layer 1: at the start|trained|layer 2: at the start|trained");
    for (patch = 3; patch <= 7; patch += 2)
        for (pooling = CNN_NO_POOL; pooling <= CNN_MEAN; pooling++) {
            cnn f = cnn_make(t, digits.side, digits.side, 10, 2, filters, patch, pooling);
            double before[2], after[2];
            before[0] = similarity(t, &f, &some, 0), before[1] = similarity(t, &f, &some, 1);
            cnn_train(t, &f, &digits.train, NULL, epochs, 2e-3);
            after[0] = similarity(t, &f, &some, 0), after[1] = similarity(t, &f, &some, 1);
            sheet_row(sheet, "%zu|%s|%.2f|%.3f|%.3f|%.3f|%.3f", patch, pool_words[pooling],
                      100 * cnn_accuracy(t, &f, &digits.test), before[0], after[0], before[1], after[1]);
            cnn_free(&f);
            progress_show("networks", (double)++done, 9);
        }
    progress_end();
    sheet_say(sheet, "The paper, over ten sets: more correlation after training than at the start, a little less with "
                     "larger patches, the most "
                     "with pooling by the maximum. It gives these as pictures (Fig. 9), and for large networks "
                     "correlations of 0.7 to "
                     "above 0.9.");
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
    sheet_row(sheet, "1 - cosine|%.1e|0: proportional exactly", 1 - cosine);
    sheet_say(sheet, "What is left is the rounding of single precision.");
    free(x);
}

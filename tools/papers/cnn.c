#include "cnn.h"

#include "host/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RFM_DESCENT /* Adam is the library's */
#include "rfm_private.h"

#define BATCH 32

/* ---- products -------------------------------------------------------------------------------- */

static void multiply(const trial *t, int op, rfm_cmat a, rfm_cmat b, rfm_real beta, rfm_mat c) {
    size_t bytes, inner = op == RFM_TN ? a.rows : a.cols;
    desk d;
    must(rfm_gemm_need(&t->m->ctx, c.rows, c.cols, inner, &bytes), "the size of a product");
    desk_open(t, &d, bytes);
    must(rfm_gemm(&d.ctx, op, 1, a, b, beta, c), "a product");
    desk_close(&d);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

size_t cnn_patch_size(const cnn *f, size_t layer) { return f->patch * f->patch * f->channels[layer]; }

static size_t places(const cnn *f, size_t layer) { return f->height[layer] * f->width[layer]; }
static size_t features(const cnn *f) { return places(f, f->layers) * f->channels[f->layers]; } /* of the dense layer */

static size_t weights_of(const cnn *f, size_t layer) {
    return layer < f->layers ? f->filters * cnn_patch_size(f, layer) : f->outputs * features(f);
}

cnn cnn_make(const trial *t, size_t height, size_t width, size_t outputs, size_t layers, size_t filters, size_t patch,
             int pooling) {
    uint64_t state = t->seed;
    size_t l, i;
    cnn f;
    memset(&f, 0, sizeof f);
    f.layers = layers, f.filters = filters, f.patch = patch, f.pool = pooling, f.outputs = outputs;
    f.height[0] = height, f.width[0] = width, f.channels[0] = 1;
    for (l = 0; l < layers; l++) {
        const int all = pooling == CNN_GLOBAL && l + 1 == layers;
        f.height[l + 1] = all ? 1 : pooling == CNN_NO_POOL ? f.height[l] : f.height[l] / 2;
        f.width[l + 1] = all ? 1 : pooling == CNN_NO_POOL ? f.width[l] : f.width[l] / 2;
        f.channels[l + 1] = filters;
    }
    for (l = 0; l <= layers; l++) {
        double fan = (double)(l < layers ? cnn_patch_size(&f, l) : features(&f));
        f.w[l] = allocate(weights_of(&f, l), sizeof *f.w[l], "a network");
        for (i = 0; i < weights_of(&f, l); i++) f.w[l][i] = (rfm_real)(lab_normal(&state) / sqrt(3 * fan));
    }
    return f;
}

void cnn_free(cnn *f) {
    size_t l;
    for (l = 0; l <= f->layers; l++) free(f->w[l]);
}

/* ---- forwards and backwards, of a batch -------------------------------------------------------- */

/* What a batch leaves behind: for each layer its patches, its outputs before ReLU, and its input. */
typedef struct {
    size_t n;
    rfm_real *patches[CNN_LAYERS], *h[CNN_LAYERS], *input[CNN_LAYERS + 1], *y;
} pass;

static pass pass_make(const cnn *f, size_t n) {
    pass p;
    size_t l;
    p.n = n;
    for (l = 0; l < f->layers; l++) {
        p.patches[l] = allocate(n * places(f, l), cnn_patch_size(f, l) * sizeof(rfm_real), "patches");
        p.h[l] = allocate(n * places(f, l), f->filters * sizeof(rfm_real), "features");
    }
    for (l = 0; l <= f->layers; l++)
        p.input[l] = allocate(n * places(f, l), f->channels[l] * sizeof(rfm_real), "features");
    p.y = allocate(n, f->outputs * sizeof(rfm_real), "outputs");
    return p;
}

static void pass_free(const cnn *f, pass *p) {
    size_t l;
    for (l = 0; l < f->layers; l++) {
        free(p->patches[l]);
        free(p->h[l]);
    }
    for (l = 0; l <= f->layers; l++) free(p->input[l]);
    free(p->y);
}

/* Patches of one image around every place, zero beyond its border; `back`: the patches are added up in the image. */
static void gather(const cnn *f, size_t l, rfm_real *image, rfm_real *patches, int back) {
    size_t q = f->patch, c = f->channels[l], i, j, a, b, k;
    for (i = 0; i < f->height[l]; i++)
        for (j = 0; j < f->width[l]; j++)
            for (a = 0; a < q; a++)
                for (b = 0; b < q; b++) {
                    size_t y = i + a - q / 2, x = j + b - q / 2; /* below 0 becomes huge */
                    rfm_real *patch = patches + (i * f->width[l] + j) * cnn_patch_size(f, l) + (a * q + b) * c;
                    int outside = y >= f->height[l] || x >= f->width[l];
                    for (k = 0; k < c; k++) {
                        if (back && !outside) image[(y * f->width[l] + x) * c + k] += patch[k];
                        if (!back) patch[k] = outside ? 0 : image[(y * f->width[l] + x) * c + k];
                    }
                }
}

/* The place (row, column) of the largest of four outputs, channel k. */
static size_t largest_at(const cnn *f, size_t l, const rfm_real *h, size_t i, size_t j, size_t k) {
    size_t best = 0, a;
    for (a = 0; a < 4; a++) {
        size_t place = (2 * i + a / 2) * f->width[l] + 2 * j + a % 2;
        if (a == 0 || h[place * f->filters + k] > h[best * f->filters + k]) best = place;
    }
    return best;
}

/* ReLU and pooling of one image; with `slope` the derivative by the pooled features goes back to those before ReLU. */
static void pooled(const cnn *f, size_t l, rfm_real *h, rfm_real *out, rfm_real *slope) {
    const size_t c = f->filters, high = f->height[l] / f->height[l + 1], wide = f->width[l] / f->width[l + 1];
    const rfm_real share = 1 / (rfm_real)(high * wide);
    size_t i, j, k, a;
    for (i = 0; i < f->height[l + 1]; i++)
        for (j = 0; j < f->width[l + 1]; j++)
            for (k = 0; k < c; k++) {
                rfm_real *to = out + (i * f->width[l + 1] + j) * c + k, sum = 0;
                if (f->pool == CNN_NO_POOL || f->pool == CNN_MAX) {
                    size_t at = (f->pool == CNN_MAX ? largest_at(f, l, h, i, j, k) : i * f->width[l] + j) * c + k;
                    if (slope == NULL) *to = h[at] > 0 ? h[at] : 0;
                    if (slope != NULL && h[at] > 0) slope[at] = *to;
                    continue;
                }
                for (a = 0; a < high * wide; a++) {
                    size_t at = ((high * i + a / wide) * f->width[l] + wide * j + a % wide) * c + k;
                    if (h[at] > 0) sum += h[at] * share;
                    if (slope != NULL && h[at] > 0) slope[at] = *to * share;
                }
                if (slope == NULL) *to = sum;
            }
}

static void forwards(const trial *t, const cnn *f, pass *p) {
    size_t l, i;
    for (l = 0; l < f->layers; l++) {
        size_t m = places(f, l), d = cnn_patch_size(f, l);
        for (i = 0; i < p->n; i++) gather(f, l, p->input[l] + i * m * f->channels[l], p->patches[l] + i * m * d, 0);
        multiply(t, RFM_NT, rfm_cview(p->patches[l], p->n * m, d), rfm_cview(f->w[l], f->filters, d), 0,
                 rfm_view(p->h[l], p->n * m, f->filters));
        for (i = 0; i < p->n; i++)
            pooled(f, l, p->h[l] + i * m * f->filters, p->input[l + 1] + i * places(f, l + 1) * f->filters, NULL);
    }
    multiply(t, RFM_NT, rfm_cview(p->input[l], p->n, features(f)), rfm_cview(f->w[l], f->outputs, features(f)), 0,
             rfm_view(p->y, p->n, f->outputs));
}

/* From derivatives by the outputs (n, c): tangents[l] (n places, filters), by each layer's h, for l >= last; and the
 * derivatives by the weights if these are wanted. */
static void backwards(const trial *t, const cnn *f, const pass *p, const rfm_real *by_y, size_t last,
                      rfm_real *const *tangents, rfm_real *const *by_w) {
    size_t l = f->layers, d = features(f), i;
    rfm_real *by_input = allocate(p->n, d * sizeof *by_input, "gradients");
    if (by_w != NULL)
        multiply(t, RFM_TN, rfm_cview(by_y, p->n, f->outputs), rfm_cview(p->input[l], p->n, d), 0,
                 rfm_view(by_w[l], f->outputs, d));
    multiply(t, RFM_NN, rfm_cview(by_y, p->n, f->outputs), rfm_cview(f->w[l], f->outputs, d), 0,
             rfm_view(by_input, p->n, d));
    while (l-- > last) {
        size_t m = places(f, l), size = cnn_patch_size(f, l);
        memset(tangents[l], 0, p->n * m * f->filters * sizeof **tangents);
        for (i = 0; i < p->n; i++)
            pooled(f, l, p->h[l] + i * m * f->filters, by_input + i * places(f, l + 1) * f->filters,
                   tangents[l] + i * m * f->filters);
        if (by_w != NULL)
            multiply(t, RFM_TN, rfm_cview(tangents[l], p->n * m, f->filters), rfm_cview(p->patches[l], p->n * m, size),
                     0, rfm_view(by_w[l], f->filters, size));
        free(by_input);
        by_input = NULL;
        if (l > last) {
            rfm_real *by_patches = allocate(p->n * m, size * sizeof *by_patches, "gradients");
            multiply(t, RFM_NN, rfm_cview(tangents[l], p->n * m, f->filters), rfm_cview(f->w[l], f->filters, size), 0,
                     rfm_view(by_patches, p->n * m, size));
            by_input = allocate(p->n * m, f->channels[l] * sizeof *by_input, "gradients");
            for (i = 0; i < p->n; i++) gather(f, l, by_input + i * m * f->channels[l], by_patches + i * m * size, 1);
            free(by_patches);
        }
    }
    free(by_input);
}

/* ---- training ---------------------------------------------------------------------------------- */

static void load(const cnn *f, const lab_rows *s, const size_t *order, size_t first, pass *p) {
    size_t i;
    (void)f;
    for (i = 0; i < p->n; i++) {
        size_t row = order != NULL ? order[first + i] : first + i;
        memcpy(p->input[0] + i * s->d, s->x + row * s->d, s->d * sizeof *s->x);
    }
}

static void keep(const cnn *f, rfm_real **to, int back) {
    size_t l;
    for (l = 0; l <= f->layers; l++)
        memcpy(back ? f->w[l] : to[l], back ? to[l] : f->w[l], weights_of(f, l) * sizeof(rfm_real));
}

static void arrays(const cnn *f, rfm_real **to) {
    size_t l;
    for (l = 0; l <= f->layers; l++) to[l] = allocate(weights_of(f, l), sizeof **to, "a network");
}

void cnn_train(const trial *t, cnn *f, const lab_rows *s, const lab_rows *held, size_t epochs, double rate) {
    rfm_real *gradient[CNN_LAYERS + 1], *first[CNN_LAYERS + 1], *second[CNN_LAYERS + 1], *best[CNN_LAYERS + 1];
    rfm_real *tangents[CNN_LAYERS], *by_y;
    size_t *order = allocate(s->n, sizeof *order, "an order"), n = s->n < BATCH ? s->n : BATCH, steps = 0, l, i, e, at;
    size_t all = epochs * (s->n / n);
    descent_rule rule = descent_rule_of(DESCENT_ADAM, (rfm_real)0.9, (rfm_real)0.999);
    uint64_t state = t->seed + 1;
    double most = -1;
    pass p = pass_make(f, n);
    arrays(f, gradient), arrays(f, first), arrays(f, second), arrays(f, best);
    for (l = 0; l < f->layers; l++)
        tangents[l] = allocate(n * places(f, l), f->filters * sizeof **tangents, "tangents");
    by_y = allocate(n, f->outputs * sizeof *by_y, "gradients");
    for (i = 0; i < s->n; i++) order[i] = i;
    for (e = 0; e < epochs; e++) {
        for (i = s->n - 1; i > 0; i--) {
            size_t k = lab_below(&state, i + 1), was = order[i];
            order[i] = order[k], order[k] = was;
        }
        for (at = 0; at + n <= s->n; at += n) {
            load(f, s, order, at, &p);
            forwards(t, f, &p);
            for (i = 0; i < n * s->c; i++)
                by_y[i] = 2 * (p.y[i] - s->y[order[at + i / s->c] * s->c + i % s->c]) / (rfm_real)n;
            backwards(t, f, &p, by_y, 0, tangents, gradient);
            descent_advance(&rule);
            for (l = 0; l <= f->layers; l++)
                descent_move(&rule, weights_of(f, l), (rfm_real)rate * descent_factor(steps, all, 0, 0), gradient[l],
                             first[l], second[l], f->w[l]);
            steps++;
        }
        if (held != NULL) {
            double right = cnn_accuracy(t, f, held);
            if (right > most) keep(f, best, 0), most = right;
        }
        progress_show("network", (double)e + 1, (double)epochs);
    }
    progress_end();
    if (held != NULL) keep(f, best, 1);
    pass_free(f, &p);
    for (l = 0; l <= f->layers; l++) {
        free(gradient[l]);
        free(first[l]);
        free(second[l]);
        free(best[l]);
    }
    for (l = 0; l < f->layers; l++) free(tangents[l]);
    free(by_y);
    free(order);
}

double cnn_accuracy(const trial *t, cnn *f, const lab_rows *s) {
    rfm_real *y = allocate(s->n, s->c * sizeof *y, "outputs");
    double right;
    size_t at;
    for (at = 0; at < s->n; at += BATCH) {
        pass p = pass_make(f, s->n - at < BATCH ? s->n - at : BATCH);
        load(f, s, NULL, at, &p);
        forwards(t, f, &p);
        memcpy(y + at * s->c, p.y, p.n * s->c * sizeof *y);
        pass_free(f, &p);
    }
    right = rows_right(s, y);
    free(y);
    return right;
}

/* ---- the ansatz ---------------------------------------------------------------------------------- */

void cnn_features(const trial *t, cnn *f, const lab_rows *s, size_t layer, rfm_real *w_w, rfm_real *g) {
    size_t c = f->filters, d = cnn_patch_size(f, layer), at, i, k, l;
    rfm_real *k_sum = allocate(c, c * sizeof *k_sum, "K"), *half = allocate(c, d * sizeof *half, "K W"),
             *tangents[CNN_LAYERS];
    for (at = 0; at < s->n; at += BATCH) {
        pass p = pass_make(f, s->n - at < BATCH ? s->n - at : BATCH);
        rfm_real *by_y = allocate(p.n, f->outputs * sizeof *by_y, "gradients");
        load(f, s, NULL, at, &p);
        forwards(t, f, &p);
        for (l = 0; l < f->layers; l++) tangents[l] = allocate(p.n * places(f, l), c * sizeof **tangents, "tangents");
        for (k = 0; k < f->outputs; k++) {
            for (i = 0; i < p.n * f->outputs; i++) by_y[i] = i % f->outputs == k;
            backwards(t, f, &p, by_y, layer, tangents, NULL);
            multiply(t, RFM_TN, rfm_cview(tangents[layer], p.n * places(f, layer), c),
                     rfm_cview(tangents[layer], p.n * places(f, layer), c), 1, rfm_view(k_sum, c, c));
        }
        for (l = 0; l < f->layers; l++) free(tangents[l]);
        free(by_y);
        pass_free(f, &p);
    }
    multiply(t, RFM_NN, rfm_cview(k_sum, c, c), rfm_cview(f->w[layer], c, d), 0, rfm_view(half, c, d));
    multiply(t, RFM_TN, rfm_cview(f->w[layer], c, d), rfm_cview(half, c, d), 0, rfm_view(g, d, d));
    multiply(t, RFM_TN, rfm_cview(f->w[layer], c, d), rfm_cview(f->w[layer], c, d), 0, rfm_view(w_w, d, d));
    free(k_sum);
    free(half);
}

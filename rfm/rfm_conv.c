/* rfm_conv - see rfm_conv.h
 *
 * Contents: 1 shapes, 2 patches, 3 windows and angles, 4 one image, 5 blobs; then, for training: 6 arguments, 7 sets of
 * images, 8 depth 1, 9 depth 2 and more, 10 both, 11 features, 12 prediction, 13 solving, 14 ConvRFM, 15 Deep ConvRFM,
 * 16 writing models.
 *
 * Network kernels have fields over places for a pair x, z. At layer 1
 *   S[r] = x[r]'M z[r],  T = S,  p[r] = x[r]'M x[r],  e[r] = z[r]'M z[r];   at every layer, with k0 and k1 of rfm_arc,
 *   N = sqrt(p e),  rho = S / N,  A = N k1(rho),  B = T k0(rho)             (0 where p or e is 0);
 *   next layer, means over windows of q x q places:  S = mean A,  T = S + mean B,  p = mean p,  e = mean e.
 * RFM_CONV_NNGP is the mean of A at the last layer, RFM_CONV_NTK that of A + B. Backwards, gA = gB = 1 / places there
 * (gB = 0 for RFM_CONV_NNGP) and gE = 0; at every layer
 *   gS = gA k0 + gB T k0' / N,  gE += gA sqrt(p / e) sine / (2 pi) - gB T rho k0' / (2 e),  gT = gB k0;
 * below it, the windows transposed:  gA = gS + gT,  gB = gT,  gE. At layer 1 dK/dz[r] = (gS + gT) M x[r] + 2 gE M z[r].
 */
#include "rfm_conv.h"

#include "rfm_private.h"

#include <string.h>

#define NEAR_SHARE R(1.0 / 256)                  /* s^2 below this share of |x|^2 + |z|^2 is taken directly */
#define ZERO_SHARE (R(16) * REAL_EPS * REAL_EPS) /* below this it is 0 */
#define NEAR_ANGLE R(1.0 / 4096)                 /* 1 - |rho| below this is taken directly */
#define NORM_MOST  (RFM_LIMIT(MAX) / R(8))
#define NORM_LEAST (REAL_LEAST / (REAL_EPS * REAL_EPS)) /* if the largest is below this, small ones lose digits */
#if RFM_REAL_BYTES == 8
#define BANDWIDTH_MOST R(1e100)
#define UNIT_STEP      R(0x1p256)
#define UNIT_MOST      R(0x1p768) /* its inverse is a normal number */
#define M_UNIT_MOST    R(0x1p1000)
#else
#define BANDWIDTH_MOST R(1e12)
#define UNIT_STEP      R(0x1p32)
#define UNIT_MOST      R(0x1p96)
#define M_UNIT_MOST    R(0x1p124)
#endif

/* ==== 1. Shapes ================================================================================= */

typedef struct {
    size_t rows, cols;
} grid;

static size_t area(grid g) { return g.rows * g.cols; }

static size_t patch_rows(const rfm_conv *f) { return f->height == 1 ? 1 : f->patch; }

/* The places of a layer, 1 to depth. */
static grid grid_at(const rfm_conv *f, size_t layer) {
    grid g;
    g.rows = f->height, g.cols = f->width;
    if (!f->padded) g.rows -= layer * (patch_rows(f) - 1), g.cols -= layer * (f->patch - 1);
    return g;
}

size_t rfm_conv_pixels(const rfm_conv *f) { return f->channels * f->height * f->width; }
size_t rfm_conv_patch(const rfm_conv *f) { return f->channels * patch_rows(f) * f->patch; }
size_t rfm_conv_places(const rfm_conv *f) { return area(grid_at(f, 1)); }

/* *product = a * b, if that is at most `most`. */
static int times(size_t a, size_t b, size_t most, size_t *product) {
    if (b != 0 && a > most / b) return 0;
    *product = a * b;
    return 1;
}

int rfm_conv_check(const rfm_conv *f) {
    const size_t most = (size_t)PTRDIFF_MAX / sizeof(rfm_real) / 16 < UINT32_MAX
                            ? (size_t)PTRDIFF_MAX / sizeof(rfm_real) / 16
                            : (size_t)UINT32_MAX;
    size_t rows, size;
    if (f == NULL) return RFM_ENULL;
    if (f->channels == 0 || f->height == 0 || f->width == 0 || f->patch == 0) return RFM_EZERO;
    if (!between(0, f->kernel, RFM_CONV_KERNELS - 1) || !between(0, f->padded, 1)) return RFM_EVALUE;
    if (!between(1, f->depth, f->kernel == RFM_CONV_LAPLACE ? 1 : RFM_CONV_DEPTH)) return RFM_EVALUE;
    if (f->kernel == RFM_CONV_LAPLACE && !(f->bandwidth >= R(1) / BANDWIDTH_MOST && f->bandwidth <= BANDWIDTH_MOST))
        return RFM_EVALUE;
    rows = patch_rows(f);
    if (f->patch > f->width || rows > f->height) return RFM_ESHAPE;
    if (!f->padded && ((f->patch > 1 && (f->width - 1) / (f->patch - 1) < (size_t)f->depth) ||
                       (rows > 1 && (f->height - 1) / (rows - 1) < (size_t)f->depth)))
        return RFM_ESHAPE;
    /* The patches of one image, m D numbers, are the largest array that follows from f alone. */
    if (!times(f->height, f->width, most, &size) || !times(size, f->channels, most, &size)) return RFM_EOVERFLOW;
    return times(size, rows, most, &size) && times(size, f->patch, most, &size) ? RFM_OK : RFM_EOVERFLOW;
}

/* What a layer of filters makes of an image. */
static rfm_conv after_layer(const rfm_conv *f, size_t count) {
    grid g = grid_at(f, 1);
    rfm_conv next = *f;
    next.channels = count, next.height = g.rows, next.width = g.cols;
    return next;
}

/* ==== 2. Patches ================================================================================ */

/* The part of a patch that is inside the image. */
typedef struct {
    size_t y, x;       /* its first row and column in the image, ... */
    size_t top, left;  /* ... and in the patch */
    size_t rows, cols; /* 0: nothing is inside */
} part;

static void clip(size_t place, size_t before, size_t size, size_t patch, size_t *first, size_t *skip, size_t *count) {
    size_t end = place + patch - before; /* patch > before */
    *skip = place < before ? before - place : 0;
    *first = place + *skip - before;
    if (end > size) end = size;
    *count = end - *first;
}

static part part_at(const rfm_conv *f, size_t place) {
    const size_t cols = grid_at(f, 1).cols, rows = patch_rows(f);
    part t;
    clip(place / cols, f->padded ? (rows - 1) / 2 : 0, f->height, rows, &t.y, &t.top, &t.rows);
    clip(place % cols, f->padded ? (f->patch - 1) / 2 : 0, f->width, f->patch, &t.x, &t.left, &t.cols);
    return t;
}

static void take_patch(const rfm_conv *f, const part *t, const rfm_real *image, rfm_real *to) {
    const size_t rows = patch_rows(f), cols = f->patch;
    size_t channel, y, x;
    if (t->rows != rows || t->cols != cols) memset(to, 0, rfm_conv_patch(f) * sizeof *to);
    to += t->top * cols + t->left;
    image += t->y * f->width + t->x;
    for (channel = 0; channel < f->channels; channel++, to += rows * cols, image += f->height * f->width)
        for (y = 0; y < t->rows; y++)
            for (x = 0; x < t->cols; x++) to[y * cols + x] = image[y * f->width + x];
}

/* x[r]'v */
static rfm_real patch_dot(const rfm_conv *f, const part *t, const rfm_real *image, const rfm_real *v) {
    const size_t rows = patch_rows(f), cols = f->patch;
    size_t channel, y, x;
    rfm_real sum = R(0);
    v += t->top * cols + t->left;
    image += t->y * f->width + t->x;
    for (channel = 0; channel < f->channels; channel++, v += rows * cols, image += f->height * f->width)
        for (y = 0; y < t->rows; y++)
            for (x = 0; x < t->cols; x++) sum += v[y * cols + x] * image[y * f->width + x];
    return sum;
}

/* |P d|^2, d (D) */
static rfm_real squared_length(size_t r, size_t d, const rfm_real *p, const rfm_real *v) {
    rfm_real sum = R(0), dot;
    size_t i, j;
    if (p == NULL) {
        for (j = 0; j < d; j++) sum += v[j] * v[j];
        return sum;
    }
    for (i = 0; i < r; i++) {
        dot = R(0);
        for (j = 0; j < d; j++) dot += *p++ * v[j];
        sum += dot * dot;
    }
    return sum;
}

/* ==== 3. Windows and angles ===================================================================== */

#ifdef RFM_SPHERE

/* to[u] = factor sum of from[v] over the places v of a window around u: rows from u.row + low on, and so on. A place
 * has `width` numbers. `across` has room for in.rows x out.cols places; to == from is allowed. */
typedef struct {
    grid in, out;
    ptrdiff_t low_row, high_row, low_col, high_col;
    rfm_real factor;
} windows;

static size_t first_of(size_t at, ptrdiff_t low) {
    return low < 0 && (size_t)-low > at ? 0 : (size_t)((ptrdiff_t)at + low);
}

static size_t end_of(size_t at, ptrdiff_t high, size_t size) {
    size_t end = (size_t)((ptrdiff_t)at + high + 1);
    return end < size ? end : size;
}

static void add_numbers(size_t n, const rfm_real *from, rfm_real *to) {
    size_t i;
    for (i = 0; i < n; i++) to[i] += from[i];
}

static void window_means(const windows *w, size_t width, const rfm_real *from, rfm_real *across, rfm_real *to) {
    const size_t line = w->out.cols * width;
    size_t row, col, k, end;
    for (row = 0; row < w->in.rows; row++)
        for (col = 0; col < w->out.cols; col++) {
            rfm_real *sum = across + row * line + col * width;
            k = first_of(col, w->low_col), end = end_of(col, w->high_col, w->in.cols);
            memcpy(sum, from + (row * w->in.cols + k) * width, width * sizeof *sum);
            while (++k < end) add_numbers(width, from + (row * w->in.cols + k) * width, sum);
        }
    for (row = 0; row < w->out.rows; row++) {
        rfm_real *sum = to + row * line;
        k = first_of(row, w->low_row), end = end_of(row, w->high_row, w->in.rows);
        memcpy(sum, across + k * line, line * sizeof *sum);
        while (++k < end) add_numbers(line, across + k * line, sum);
        for (k = 0; k < line; k++) sum[k] *= w->factor;
    }
}

/* From layer `layer` to the next. */
static windows windows_of(const rfm_conv *f, size_t layer) {
    const ptrdiff_t rows = (ptrdiff_t)patch_rows(f), cols = (ptrdiff_t)f->patch;
    windows w;
    w.in = grid_at(f, layer), w.out = grid_at(f, layer + 1);
    w.low_row = f->padded ? -((rows - 1) / 2) : 0, w.high_row = w.low_row + rows - 1;
    w.low_col = f->padded ? -((cols - 1) / 2) : 0, w.high_col = w.low_col + cols - 1;
    w.factor = R(1) / R(rows * cols);
    return w;
}

/* N of two squared lengths and their roots. Of equal ones it is exact, so that equal images have rho = 1. */
static inline rfm_real length_product(rfm_real p, rfm_real e, rfm_real root_p, rfm_real root_e) {
    return p == e ? p : root_p * root_e;
}

/* 1 - rho and 1 + rho. What is below rounding counts as 0. */
static inline void angle_of(rfm_real s, rfm_real n, rfm_real *minus, rfm_real *plus) {
    const rfm_real rho = s / n;
    *minus = R(1) - rho, *plus = R(1) + rho;
    if (*minus < R(4) * REAL_EPS) *minus = R(0), *plus = R(2);
    if (*plus < R(4) * REAL_EPS) *plus = R(0), *minus = R(2);
}

/* 1 - rho of a small angle at a place above layer 1. With means over the window below, P of p and E of e,
 *   2 (1 - rho) = mean (sqrt(p / P) - sqrt(e / E))^2 + 2 mean N (1 - k1) / sqrt(P E),
 * where no digits are lost. rest: N (1 - k1). p, e and rest have `rows`, `cols` and `pairs` numbers for each place. */
static rfm_real window_angle(const windows *w, size_t place, size_t rows, const rfm_real *p, rfm_real root_p,
                             size_t cols, const rfm_real *e, rfm_real root_e, size_t pairs, const rfm_real *rest,
                             rfm_real n) {
    const size_t row = place / w->out.cols, col = place % w->out.cols;
    const size_t last_row = end_of(row, w->high_row, w->in.rows), last_col = end_of(col, w->high_col, w->in.cols);
    rfm_real sum = R(0);
    size_t i, j;
    for (i = first_of(row, w->low_row); i < last_row; i++)
        for (j = first_of(col, w->low_col); j < last_col; j++) {
            const size_t k = i * w->in.cols + j;
            const rfm_real off = rfm_sqrt(p[k * rows]) / root_p - rfm_sqrt(e[k * cols]) / root_e;
            sum += R(0.5) * off * off + rest[k * pairs] / n;
        }
    sum *= w->factor;
    return sum < R(1) ? sum : R(1);
}
#endif

/* ==== 4. One image ============================================================================== */

static size_t largest_features(const rfm_conv_model *m) {
    rfm_conv f = m->input;
    size_t most = 0, l;
    for (l = 0; l < m->layers; l++) {
        f = after_layer(&f, m->layer[l].count);
        most = max_size(most, rfm_conv_pixels(&f));
    }
    return most;
}

static size_t all_places(const rfm_conv *f) {
    size_t sum = 0, l;
    for (l = 1; l <= (size_t)f->depth; l++) sum += area(grid_at(f, l));
    return sum;
}

/* Feature images twice, then what one of the two functions below needs. */
size_t rfm_conv_scratch(const rfm_conv_model *m) {
    const size_t d = rfm_conv_patch(&m->f), places = rfm_conv_places(&m->f);
    const size_t features = min_size(m->layers, 2) * largest_features(m);
    if (m->f.depth == 1) return features + m->n + 3 * d + m->r;
    return features + places * d + all_places(&m->f) + 7 * places + 2 * d + m->r;
}

/* v = M z[r] of a patch; returns z[r]'M z[r]. u (r). */
static rfm_real metric_of_patch(const rfm_conv_model *m, size_t d, const rfm_real *patch, rfm_real *u, rfm_real *v) {
    rfm_real sum = R(0);
    size_t i, j;
    if (m->p == NULL) {
        memcpy(v, patch, d * sizeof *v);
        return squared_length(d, d, NULL, patch);
    }
    memset(v, 0, d * sizeof *v);
    for (i = 0; i < m->r; i++) {
        const rfm_real *row = m->p + i * d;
        u[i] = R(0);
        for (j = 0; j < d; j++) u[i] += row[j] * patch[j];
        for (j = 0; j < d; j++) v[j] += row[j] * u[i];
        sum += u[i] * u[i];
    }
    return sum;
}

/* x[r] / a - b z[r] in the place of z[r]; its squared length in the metric. */
static rfm_real direct(const rfm_conv_model *m, const part *t, size_t d, const rfm_real *image, const rfm_real *patch,
                       rfm_real a, rfm_real b, rfm_real *diff) {
    size_t j;
    take_patch(&m->f, t, image, diff);
    for (j = 0; j < d; j++) diff[j] = diff[j] / a - patch[j] * b;
    return squared_length(m->r, d, m->p, diff);
}

static rfm_real laplace_one(const rfm_conv_model *m, const part *t, size_t d, const rfm_real *image,
                            const rfm_real *patch, rfm_real s, rfm_real p, rfm_real e, rfm_real *diff) {
    rfm_real norms = p + e, s2 = norms - R(2) * s;
    if (s2 < NEAR_SHARE * norms) {
        s2 = direct(m, t, d, image, patch, R(1), R(1), diff);
        if (s2 < ZERO_SHARE * norms) s2 = R(0);
    }
    return rfm_exp(-rfm_sqrt(s2) / m->f.bandwidth);
}

#ifdef RFM_SPHERE
/* The arc of layer 1; *s becomes N rho. 0: p or e is 0. */
static int arc_one(const rfm_conv_model *m, const part *t, size_t d, const rfm_real *image, const rfm_real *patch,
                   rfm_real *s, rfm_real p, rfm_real e, rfm_real *diff, rfm_real *n, rfm_arc *arc) {
    const rfm_real root_p = rfm_sqrt(p), root_e = rfm_sqrt(e);
    rfm_real minus, plus;
    *n = length_product(p, e, root_p, root_e);
    if (!(*n > R(0))) return 0;
    angle_of(*s, *n, &minus, &plus);
    if (minus < NEAR_ANGLE) {
        minus = R(0.5) * direct(m, t, d, image, patch, root_p, R(1) / root_e, diff);
        if (minus > R(1)) minus = R(1);
        plus = R(2) - minus;
    } else if (plus < NEAR_ANGLE) {
        plus = R(0.5) * direct(m, t, d, image, patch, root_p, R(-1) / root_e, diff);
        if (plus > R(1)) plus = R(1);
        minus = R(2) - plus;
    }
    *s = *n * (minus < R(1) ? R(1) - minus : plus - R(1));
    *arc = rfm_arc_at(minus, plus);
    return 1;
}
#endif

/* Depth 1: one place after the other. */
static int scores_shallow(const rfm_conv_model *m, const rfm_real *z, rfm_real *scores, rfm_real *scratch) {
    const size_t d = rfm_conv_patch(&m->f), pixels = rfm_conv_pixels(&m->f), places = rfm_conv_places(&m->f);
    rfm_real *sums = scratch, *patch = sums + m->n, *v = patch + d, *diff = v + d, *u = diff + d;
    size_t place, i, k;
    memset(sums, 0, m->n * sizeof *sums);
    for (place = 0; place < places; place++) {
        const part t = part_at(&m->f, place);
        rfm_real e;
        take_patch(&m->f, &t, z, patch);
        e = metric_of_patch(m, d, patch, u, v);
        if (!(e <= NORM_MOST)) return RFM_ERANGE;
        for (i = 0; i < m->n; i++) {
            const rfm_real *image = m->images + i * pixels, p = m->norms[i * places + place];
            rfm_real s = patch_dot(&m->f, &t, image, v);
            if (m->f.kernel == RFM_CONV_LAPLACE) sums[i] += laplace_one(m, &t, d, image, patch, s, p, e, diff);
#ifdef RFM_SPHERE
            else {
                rfm_arc arc;
                rfm_real n;
                if (arc_one(m, &t, d, image, patch, &s, p, e, diff, &n, &arc))
                    sums[i] += n * arc.k1 + (m->f.kernel == RFM_CONV_NTK ? s * arc.k0 : R(0));
            }
#endif
        }
    }
    for (i = 0; i < m->n; i++)
        for (k = 0; k < m->c; k++) scores[k] += m->alpha[i * m->c + k] * (sums[i] / R(places));
    return RFM_OK;
}

#ifdef RFM_SPHERE
/* Depth 2 and more: one image after the other, with fields of all places. */
static int scores_deep(const rfm_conv_model *m, const rfm_real *z, rfm_real *scores, rfm_real *scratch) {
    const size_t d = rfm_conv_patch(&m->f), pixels = rfm_conv_pixels(&m->f), places = rfm_conv_places(&m->f);
    const int ntk = m->f.kernel == RFM_CONV_NTK;
    rfm_real *mz = scratch, *e = mz + places * d, *p = e + all_places(&m->f), *s = p + places, *t = s + places;
    rfm_real *rest = t + places, *across = rest + places, *next_p = across + places, *next_rest = next_p + places;
    rfm_real *diff = next_rest + places, *patch = diff + d, *u = patch + d, *below, *swap, n, sum;
    size_t place, i, k, layer;
    rfm_arc arc;
    windows w;
    for (place = 0; place < places; place++) {
        const part at = part_at(&m->f, place);
        take_patch(&m->f, &at, z, patch);
        e[place] = metric_of_patch(m, d, patch, u, mz + place * d);
        if (!(e[place] <= NORM_MOST)) return RFM_ERANGE;
    }
    for (layer = 1, below = e; layer < (size_t)m->f.depth; layer++, below += area(w.in)) {
        w = windows_of(&m->f, layer);
        window_means(&w, 1, below, across, below + area(w.in));
    }
    for (i = 0; i < m->n; i++) {
        const rfm_real *image = m->images + i * pixels;
        memcpy(p, m->norms + i * places, places * sizeof *p);
        for (place = 0; place < places; place++) { /* A in s, B in t */
            const part at = part_at(&m->f, place);
            s[place] = patch_dot(&m->f, &at, image, mz + place * d);
            take_patch(&m->f, &at, z, patch);
            arc.below = R(0);
            if (arc_one(m, &at, d, image, patch, &s[place], p[place], e[place], diff, &n, &arc))
                t[place] = s[place] * arc.k0, s[place] = n * arc.k1;
            else
                s[place] = t[place] = R(0);
            rest[place] = n * arc.below;
        }
        for (layer = 1, below = e; layer < (size_t)m->f.depth; layer++, below += area(w.in)) {
            const rfm_real *next_e;
            w = windows_of(&m->f, layer);
            next_e = below + area(w.in);
            window_means(&w, 1, s, across, s);
            window_means(&w, 1, t, across, t);
            window_means(&w, 1, p, across, next_p);
            for (place = 0; place < area(w.out); place++) {
                const rfm_real root_p = rfm_sqrt(next_p[place]), root_e = rfm_sqrt(next_e[place]);
                rfm_real minus, plus, tangent = s[place] + t[place];
                n = length_product(next_p[place], next_e[place], root_p, root_e);
                t[place] = next_rest[place] = R(0);
                if (!(n > R(0))) {
                    s[place] = R(0);
                    continue;
                }
                angle_of(s[place], n, &minus, &plus);
                if (minus < NEAR_ANGLE) {
                    minus = window_angle(&w, place, 1, p, root_p, 1, below, root_e, 1, rest, n);
                    plus = R(2) - minus;
                }
                arc = rfm_arc_at(minus, plus);
                s[place] = n * arc.k1, t[place] = tangent * arc.k0;
                next_rest[place] = n * arc.below;
            }
            swap = p, p = next_p, next_p = swap;
            swap = rest, rest = next_rest, next_rest = swap;
        }
        place = area(grid_at(&m->f, (size_t)m->f.depth));
        for (sum = R(0), k = 0; k < place; k++) sum += s[k] + (ntk ? t[k] : R(0));
        for (k = 0; k < m->c; k++) scores[k] += m->alpha[i * m->c + k] * (sum / R(place));
    }
    return RFM_OK;
}
#endif

static void features_one(const rfm_conv *f, const rfm_conv_layer *layer, const rfm_real *image, rfm_real *to) {
    const size_t d = rfm_conv_patch(f), places = rfm_conv_places(f);
    size_t place, k;
    for (place = 0; place < places; place++) {
        const part t = part_at(f, place);
        for (k = 0; k < layer->count; k++) {
            rfm_real value = patch_dot(f, &t, image, layer->filters + k * d);
            to[k * places + place] = value < R(0) ? R(0) : value;
        }
    }
}

int rfm_conv_predict_one(const rfm_conv_model *m, const rfm_real *x, rfm_real *scores, rfm_real *scratch) {
    rfm_conv f;
    size_t most, l;
    int status;
    if (m == NULL || x == NULL || scores == NULL || scratch == NULL) return RFM_ENULL;
    f = m->input;
    if (!rfm_finite(rfm_conv_pixels(&f), x)) return RFM_EFINITE;
    most = largest_features(m);
    for (l = 0; l < m->layers; l++) {
        rfm_real *to = scratch + l % 2 * most;
        features_one(&f, &m->layer[l], x, to);
        f = after_layer(&f, m->layer[l].count);
        if (!rfm_finite(rfm_conv_pixels(&f), to)) return RFM_ERANGE;
        x = to;
    }
    scratch += min_size(m->layers, 2) * most;
    for (l = 0; l < m->c; l++) scores[l] = m->offset != NULL ? m->offset[l] : R(0);
#ifdef RFM_SPHERE
    if (m->f.depth > 1)
        status = scores_deep(m, x, scores, scratch);
    else
#endif
        status = scores_shallow(m, x, scores, scratch);
    return status == RFM_OK && !rfm_finite(m->c, scores) ? RFM_ERANGE : status;
}

size_t rfm_conv_class(const rfm_conv_model *m, const rfm_real *scores) {
    rfm_model means;
    memset(&means, 0, sizeof means);
    means.c = m->c, means.task = m->task;
    return rfm_class(&means, scores, NULL);
}

/* ==== 5. Blobs ==================================================================================
 *
 * FORMAT.md, "Models of patches", describes the bytes. Sections follow each other in a fixed order, so their places
 * follow from the sizes in the head.
 */

#define BLOB_MAGIC    0x706d6672u /* "rfmp" */
#define BLOB_VERSION  1
#define BLOB_HEAD     80 /* bytes */
#define HAS_P         1
#define HAS_OFFSET    2
#define HAS_PADDING   4
#define HAS_ALL_FLAGS 7

enum { SECTION_P, SECTION_IMAGES, SECTION_NORMS, SECTION_ALPHA, SECTION_OFFSET, SECTION_FILTERS };
enum { SECTION_NAMES = SECTION_FILTERS + RFM_CONV_LAYERS, SECTION_RECORD, SECTIONS };

typedef struct {
    size_t at[SECTIONS], bytes[SECTIONS], total;
} blob_plan;

/* The sizes of a model, layer by layer; f becomes what the kernel compares. */
static int check_sizes(const rfm_conv *input, size_t layers, const rfm_conv_layer *layer, rfm_conv *f) {
    const int depth = input->depth;
    size_t l;
    int status;
    *f = *input;
    f->depth = 1;
    if (layers > RFM_CONV_LAYERS) return RFM_EVALUE;
    for (l = 0; l < layers; l++) {
        status = rfm_conv_check(f);
        if (status != RFM_OK) return status;
        *f = after_layer(f, layer[l].count);
    }
    f->depth = depth;
    return rfm_conv_check(f);
}

/* Needs sizes that are right. RFM_EOVERFLOW: 4 GiB or more. */
static int plan_blob(const rfm_conv_model *m, int has_p, int has_offset, size_t names, size_t record, blob_plan *plan) {
    const size_t most = UINT32_MAX - RFM_ALIGN;
    const size_t d = rfm_conv_patch(&m->f);
    size_t counts[SECTIONS][2], end = BLOB_HEAD, i;
    rfm_conv f = m->input;
    memset(counts, 0, sizeof counts);
    counts[SECTION_P][0] = has_p ? m->r : 0, counts[SECTION_P][1] = d;
    counts[SECTION_IMAGES][0] = m->n, counts[SECTION_IMAGES][1] = rfm_conv_pixels(&m->f);
    counts[SECTION_NORMS][0] = m->n, counts[SECTION_NORMS][1] = rfm_conv_places(&m->f);
    counts[SECTION_ALPHA][0] = m->n, counts[SECTION_ALPHA][1] = m->c;
    counts[SECTION_OFFSET][0] = has_offset ? 1 : 0, counts[SECTION_OFFSET][1] = m->c;
    for (i = 0; i < m->layers; i++) {
        counts[SECTION_FILTERS + i][0] = m->layer[i].count, counts[SECTION_FILTERS + i][1] = rfm_conv_patch(&f);
        f = after_layer(&f, m->layer[i].count);
    }
    counts[SECTION_NAMES][0] = names > 0, counts[SECTION_NAMES][1] = names;
    counts[SECTION_RECORD][0] = record > 0, counts[SECTION_RECORD][1] = record;
    for (i = 0; i < SECTIONS; i++) {
        size_t each = i < SECTION_NAMES ? sizeof(rfm_real) : 1, bytes;
        if (!times(counts[i][0], counts[i][1], most / each, &bytes)) return RFM_EOVERFLOW;
        bytes *= each;
        end = (end + RFM_ALIGN - 1) / RFM_ALIGN * RFM_ALIGN;
        if (end > most || bytes > most - end) return RFM_EOVERFLOW;
        plan->at[i] = end, plan->bytes[i] = bytes;
        end += bytes;
    }
    plan->total = (end + RFM_ALIGN - 1) / RFM_ALIGN * RFM_ALIGN;
    return RFM_OK;
}

static int norms_right(size_t n, const rfm_real *norms) {
    size_t i;
    for (i = 0; i < n; i++)
        if (!(norms[i] >= R(0) && norms[i] <= NORM_MOST)) return 0;
    return 1;
}

/* The head as a model without arrays, and where those are. */
static int read_head(const unsigned char *b, rfm_conv_model *m, blob_plan *plan) {
    rfm_conv *f = &m->input;
    size_t l;
    memset(m, 0, sizeof *m);
    if ((b[15] & ~HAS_ALL_FLAGS) != 0 || b[18] > RFM_CLASSIFY || b[19] > RFM_CONV_LAYERS) return RFM_ECONTENT;
    f->kernel = b[16], f->depth = b[17], f->padded = (b[15] & HAS_PADDING) != 0;
    m->task = b[18], m->layers = b[19];
    m->n = rfm_get_u32(b + 20), m->c = rfm_get_u32(b + 24), m->r = rfm_get_u32(b + 28);
    f->channels = rfm_get_u32(b + 32), f->height = rfm_get_u32(b + 36), f->width = rfm_get_u32(b + 40);
    f->patch = rfm_get_u32(b + 44);
    memcpy(&f->bandwidth, b + 48, sizeof f->bandwidth);
    if (!rfm_finite(1, &f->bandwidth)) return RFM_ECONTENT;
    for (l = 0; l < RFM_CONV_LAYERS; l++) {
        m->layer[l].count = rfm_get_u32(b + 56 + 4 * l);
        if ((l < m->layers) != (m->layer[l].count > 0)) return RFM_ECONTENT;
    }
    if (m->n == 0 || m->c == 0 || m->r == 0) return RFM_ECONTENT;
    if (check_sizes(&m->input, m->layers, m->layer, &m->f) != RFM_OK) return RFM_ECONTENT;
    if ((b[15] & HAS_P) == 0 && m->r != rfm_conv_patch(&m->f)) return RFM_ECONTENT;
#ifndef RFM_SPHERE
    if (f->kernel != RFM_CONV_LAPLACE) return RFM_ETYPE;
#endif
    if (plan_blob(m, b[15] & HAS_P, b[15] & HAS_OFFSET, rfm_get_u32(b + 72), rfm_get_u32(b + 76), plan) != RFM_OK)
        return RFM_ECONTENT;
    return plan->total == rfm_get_u32(b + 8) ? RFM_OK : RFM_ECONTENT;
}

static int check_bytes(const void *blob, size_t size) {
    const unsigned char *b = (const unsigned char *)blob;
    uint32_t bytes;
    int status;
    if (blob == NULL) return RFM_ENULL;
    if ((uintptr_t)blob % RFM_ALIGN != 0) return RFM_EALIGN;
    status = check_blob(blob, size, BLOB_MAGIC, BLOB_VERSION, BLOB_HEAD, &bytes);
    if (status != RFM_OK) return status;
    return b[13] == 0 && b[14] == sizeof(rfm_real) ? RFM_OK : RFM_ETYPE;
}

int rfm_conv_open(const void *blob, size_t size, rfm_conv_model *model) {
    const unsigned char *b = (const unsigned char *)blob;
    const rfm_real *at[SECTION_NAMES];
    rfm_conv_model m;
    blob_plan plan;
    size_t i;
    int status = model == NULL ? RFM_ENULL : check_bytes(blob, size);
    if (status == RFM_OK) status = read_head(b, &m, &plan);
    if (status != RFM_OK) return status;
    for (i = 0; i < SECTION_NAMES; i++) {
        at[i] = plan.bytes[i] > 0 ? (const rfm_real *)(const void *)(b + plan.at[i]) : NULL;
        if (!rfm_finite(plan.bytes[i] / sizeof(rfm_real), at[i])) return RFM_ECONTENT;
    }
    if (!norms_right(plan.bytes[SECTION_NORMS] / sizeof(rfm_real), at[SECTION_NORMS])) return RFM_ECONTENT;
    if (plan.bytes[SECTION_NAMES] > 0 &&
        !names_right(b + plan.at[SECTION_NAMES], (uint32_t)plan.bytes[SECTION_NAMES], (uint32_t)(m.c == 1 ? 2 : m.c)))
        return RFM_ECONTENT;
    m.p = at[SECTION_P], m.images = at[SECTION_IMAGES], m.norms = at[SECTION_NORMS];
    m.alpha = at[SECTION_ALPHA], m.offset = at[SECTION_OFFSET];
    for (i = 0; i < m.layers; i++) m.layer[i].filters = at[SECTION_FILTERS + i];
    if (plan.bytes[SECTION_NAMES] > 0) m.class_names = (const char *)(b + plan.at[SECTION_NAMES]);
    *model = m;
    return RFM_OK;
}

#ifndef RFM_NO_TRAIN

#include <math.h>

/* ==== 6. Arguments ============================================================================== */

static size_t view_bytes(rfm_cmat a) { return ((a.rows - 1) * a.stride + a.cols) * sizeof(rfm_real); }

static int overlap(rfm_cmat a, rfm_cmat b) {
    uintptr_t x = (uintptr_t)a.at, y = (uintptr_t)b.at;
    if (a.at == NULL || b.at == NULL) return 0;
    return x < y ? y - x < view_bytes(a) : x - y < view_bytes(b);
}

/* Images of f, one in each row. */
static int check_images(const rfm_conv *f, rfm_cmat x) {
    int status = check_view(x);
    return status == RFM_OK && x.cols != rfm_conv_pixels(f) ? RFM_ESHAPE : status;
}

/* M, if it is there. */
static int check_metric(const rfm_conv *f, rfm_cmat m) {
    int status = m.at == NULL ? RFM_OK : check_view(m);
    if (status == RFM_OK && m.at != NULL && (m.rows != rfm_conv_patch(f) || m.cols != m.rows)) return RFM_ESHAPE;
    return status;
}

/* Room for what calls of rfm.h take on top of what is taken: it is asked for now, and used later. */
static void reserve(rfm_arena *arena, size_t bytes) {
    size_t used = arena->used;
    (void)rfm_arena_take(arena, bytes, 1);
    if (arena->status == RFM_OK) rfm_arena_release(arena, used);
}

/* The largest of several needs; SIZE_MAX: one of them cannot be met. */
static void at_least(size_t *most, int status, const size_t *bytes) {
    *most = status == RFM_OK ? max_size(*most, *bytes) : SIZE_MAX;
}

static void product_bytes(size_t *most, const rfm_ctx *ctx, size_t m, size_t n, size_t k) {
    size_t bytes = 0;
    if (*most != SIZE_MAX) at_least(most, rfm_gemm_need(ctx, m, n, k, &bytes), &bytes);
}

static size_t round_up(size_t a, size_t unit) { return (a + unit - 1) / unit * unit; }

/* Work that is done and the total, in multiply-adds. */
typedef struct {
    const rfm_ctx *ctx;
    rfm_real done, total;
} progress;

static int advance(progress *p, rfm_real work) {
    p->done += work;
    if (p->ctx->tick == NULL) return RFM_OK;
    return p->ctx->tick(p->ctx->tick_arg, p->done < p->total ? p->done / p->total : R(1)) != 0 ? RFM_ECANCEL : RFM_OK;
}

/* ==== 7. Sets of images ========================================================================= */

/* Some rows of a matrix. */
typedef struct {
    const rfm_real *at;
    size_t count, stride;
    const uint32_t *pick; /* which; NULL: the first `count` */
    rfm_real unit;        /* patches are taken times this */
} image_set;

static image_set set_of(rfm_cmat x) {
    image_set s;
    s.at = x.at, s.count = x.rows, s.stride = x.stride, s.pick = NULL, s.unit = R(1);
    return s;
}

static image_set set_from(image_set s, size_t first, size_t count) {
    s.count = count;
    if (s.pick != NULL)
        s.pick += first;
    else
        s.at += first * s.stride;
    return s;
}

static const rfm_real *image_at(const image_set *s, size_t i) {
    return s->at + (s->pick != NULL ? s->pick[i] : i) * s->stride;
}

/* What all calls below share: M = P'P, and how to work. */
typedef struct {
    rfm_ctx ctx; /* without ticks */
    const rfm_conv *f;
    size_t d, places;  /* D, m */
    const rfm_real *p; /* (r, D); NULL: the identity, r = D */
    size_t r;
    rfm_real m_unit;  /* depth 2 and more: M = P'P is taken times this */
    rfm_real longest; /* squared length of a patch P x[r] so far, in whatever unit; 0: they are all 0 */
    progress *progress;
} work;

static void work_start(const rfm_ctx *ctx, const rfm_conv *f, const rfm_real *p, size_t r, progress *done, work *w) {
    memset(w, 0, sizeof *w);
    w->ctx = *ctx, w->ctx.tick = NULL, w->f = f;
    w->d = rfm_conv_patch(f), w->places = rfm_conv_places(f);
    w->p = p, w->r = p != NULL ? r : w->d;
    w->m_unit = R(1), w->progress = done;
}

/* For network kernels K of u x and v z is u v K, gradients by z are u times as large, and those by S, p and e go with
 * the lengths. So a set of short patches is taken in a unit, a power of two, in which their squared lengths have all
 * digits. 1: it has grown, as the largest squared length was too small. largest: of the numbers of the patches, in the
 * unit so far. */
static int grow_unit(work *w, image_set *x, rfm_real longest, rfm_real largest) {
    w->longest = max_real(w->longest, longest);
    if (longest >= NORM_LEAST || !(largest > R(0) && largest < UNIT_STEP)) return 0;
    if (w->f->kernel == RFM_CONV_LAPLACE || x->unit >= UNIT_MOST) return 0;
    x->unit *= UNIT_STEP;
    return 1;
}

static void take_in_unit(const work *w, const part *t, const image_set *x, size_t i, rfm_real *to) {
    size_t j;
    take_patch(w->f, t, image_at(x, i), to);
    for (j = 0; x->unit > R(1) && j < w->d; j++) to[j] *= x->unit;
}

/* The same without workers: for the inside of a job. */
static rfm_ctx alone(const rfm_ctx *ctx) {
    rfm_ctx one = *ctx;
    one.run = NULL, one.workers = 1, one.tick = NULL;
    return one;
}

static rfm_real squared_norm(size_t n, const rfm_real *x) {
    rfm_real sum = R(0);
    size_t i;
    for (i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/* A job's arena, in the worker's part of `memory`. */
static void job_arena(rfm_arena *arena, unsigned char *memory, size_t bytes, size_t worker) {
    (void)rfm_arena_init(arena, memory + worker * bytes, bytes);
}

/* Jobs report failures here, each worker in its own place. */
static int *take_status(rfm_arena *arena, const rfm_ctx *ctx) {
    return (int *)rfm_arena_take(arena, rfm_workers(ctx), sizeof(int));
}

static void clear_status(const rfm_ctx *ctx, int *status) {
    size_t i;
    for (i = 0; i < rfm_workers(ctx); i++) status[i] = RFM_OK;
}

static int worst_status(const rfm_ctx *ctx, const int *status) {
    size_t i;
    for (i = 0; i < rfm_workers(ctx); i++)
        if (status[i] != RFM_OK) return in_range(status[i]);
    return RFM_OK;
}

/* ---- norms (count, m) of P x[r]: an image is a job ----------------------------------------------- */

typedef struct {
    const work *w;
    image_set x;
    rfm_real *norms;
    unsigned char *memory;
    size_t bytes;
    int *status;
} norm_job;

static void norm_layout(rfm_arena *arena, const rfm_conv *f, rfm_real **patches, rfm_real **u) {
    *patches = rfm_arena_reals(arena, rfm_conv_places(f), rfm_conv_patch(f));
    *u = rfm_arena_reals(arena, rfm_conv_places(f), rfm_conv_patch(f));
}

static size_t norm_bytes(const rfm_ctx *ctx, const rfm_conv *f) {
    const size_t d = rfm_conv_patch(f), places = rfm_conv_places(f);
    const rfm_ctx one = alone(ctx);
    rfm_arena measure;
    rfm_real *patches, *u;
    size_t most = 0;
    rfm_arena_measure(&measure);
    norm_layout(&measure, f, &patches, &u);
    product_bytes(&most, &one, places, d, d);
    reserve(&measure, most);
    return measure.status == RFM_OK ? round_up(measure.peak, RFM_ALIGN) : SIZE_MAX / 2;
}

static void norm_run(void *arg, size_t index, size_t worker) {
    const norm_job *t = (const norm_job *)arg;
    const work *w = t->w;
    rfm_ctx one = alone(&w->ctx);
    rfm_arena arena;
    rfm_real *patches, *u;
    size_t place;
    int status = RFM_OK;
    job_arena(&arena, t->memory, t->bytes, worker);
    one.arena = &arena;
    norm_layout(&arena, w->f, &patches, &u);
    for (place = 0; place < w->places; place++) {
        const part at = part_at(w->f, place);
        take_in_unit(w, &at, &t->x, index, patches + place * w->d);
    }
    if (w->p != NULL)
        status = rfm_gemm(&one, RFM_NT, R(1), rfm_cview(patches, w->places, w->d), rfm_cview(w->p, w->r, w->d), R(0),
                          rfm_view(u, w->places, w->r));
    else
        u = patches;
    for (place = 0; status == RFM_OK && place < w->places; place++) {
        rfm_real norm = squared_norm(w->r, u + place * w->r);
        t->norms[index * w->places + place] = norm;
        if (!(norm <= NORM_MOST)) status = RFM_ERANGE;
    }
    if (status != RFM_OK) t->status[worker] = status;
}

/* `memory` has norm_bytes() for each worker. */
static int image_norms(const work *w, image_set x, rfm_real *norms, unsigned char *memory, int *status) {
    norm_job t;
    t.w = w, t.x = x, t.norms = norms, t.memory = memory, t.bytes = norm_bytes(&w->ctx, w->f), t.status = status;
    clear_status(&w->ctx, status);
    rfm_jobs(&w->ctx, norm_run, &t, x.count);
    return worst_status(&w->ctx, status);
}

/* ---- angles of many pairs ------------------------------------------------------------------------ */

#define SHARE R(0.318309886183790671538) /* 1 / pi */

#if RFM_REAL_BYTES == 4
/* The root of x >= 0 to a rounding or two, in operations that compilers turn into vectors: three steps of Newton's
 * method for 1 / root from the exponent's half, and one for the root itself. */
static inline float quick_root(float x) {
    uint32_t bits;
    float y, root;
    memcpy(&bits, &x, sizeof bits);
    bits = 0x5f3759dfu - (bits >> 1);
    memcpy(&y, &bits, sizeof y);
    y *= 1.5f - 0.5f * x * y * y;
    y *= 1.5f - 0.5f * x * y * y;
    y *= 1.5f - 0.5f * x * y * y;
    root = x * y;
    return root + 0.5f * y * (x - root * root);
}

/* k0, k1 and the sine at n cosines from -1 to 1. acos(u) = root(1 - u) times a polynomial of degree 7 for 0 <= u <= 1,
 * of Abramowitz and Stegun, 4.4.46, right to 2e-8. */
static void arc_values(size_t n, const float *restrict rho, float *restrict k0, float *restrict k1,
                       float *restrict sine) {
    size_t i;
    for (i = 0; i < n; i++) {
        float u = rho[i], x = fabsf(u), root = quick_root(1.0f - x), s = root * quick_root(1.0f + x), t, sign;
        t = -0.0012624911f * x + 0.0066700901f;
        t = t * x - 0.0170881256f;
        t = t * x + 0.0308918810f;
        t = t * x - 0.0501743046f;
        t = t * x + 0.0889789874f;
        t = t * x - 0.2145988016f;
        t = (t * x + 1.5707963050f) * root * SHARE;
        sign = u < 0.0f ? -1.0f : 1.0f;
        t = 0.5f + sign * (0.5f - t); /* 1 - t, or t: no branch */
        k0[i] = t;
        k1[i] = u * t + s * SHARE;
        sine[i] = s;
    }
}
#else
static inline rfm_real quick_root(rfm_real x) { return RFM_MATH(sqrt)(x); }

static void arc_values(size_t n, const rfm_real *rho, rfm_real *k0, rfm_real *k1, rfm_real *sine) {
    size_t i;
    for (i = 0; i < n; i++) {
        const rfm_arc arc = rfm_arc_at(R(1) - rho[i], R(1) + rho[i]);
        k0[i] = arc.k0, k1[i] = arc.k1, sine[i] = arc.sine;
    }
}
#endif

/* S becomes rho = S / N, 0 where N is 0. What is within rounding of 1 or -1 is that. */
static void cosines(size_t n, const rfm_real *restrict lengths, rfm_real *restrict s) {
    const rfm_real most = R(1) - R(4) * REAL_EPS;
    size_t i;
    for (i = 0; i < n; i++) {
        rfm_real safe = lengths[i] > R(0) ? lengths[i] : R(1), u = s[i] / safe;
        u = u > most ? R(1) : u;
        u = u < -most ? R(-1) : u;
        s[i] = lengths[i] > R(0) ? u : R(0);
    }
}

/* 1 / (pi sine), as good as 0 at equal and opposite directions: what rounding leaves of their sine is a few eps. */
#define SINE_LEAST (R(16) * REAL_EPS)
static inline rfm_real k0_slope(rfm_real sine) {
    const rfm_real square = sine * sine;
    return SHARE * sine / (square > SINE_LEAST * SINE_LEAST ? square : R(1e30));
}

/* A pair whose angle was taken directly: one of 1 - rho and 1 + rho is `half`, as *rho tells. Returns 1 - k1. */
static rfm_real set_arc(rfm_real half, rfm_real *rho, rfm_real *k0, rfm_real *k1, rfm_real *sine) {
    const int minus = *rho > R(0);
    const rfm_arc arc = rfm_arc_at(minus ? half : R(2) - half, minus ? R(2) - half : half);
    *rho = minus ? R(1) - half : half - R(1);
    *k0 = arc.k0, *k1 = arc.k1, *sine = arc.sine;
    return arc.below;
}

static inline int is_near(rfm_real rho) { return RFM_MATH(fabs)(rho) > R(1) - NEAR_ANGLE; }

static int any_near(size_t n, const rfm_real *rho) {
    int count = 0;
    size_t q;
    for (q = 0; q < n; q++) count += is_near(rho[q]);
    return count > 0;
}

/* ==== 8. Depth 1 ================================================================================
 *
 * One place after the other. There U = P x[r] (n, r), less the mean patch for the Laplace kernel. Tiles of U U' become
 * kernel values, which are added up, or the weights of gradients. With the weights W (b, n) of b images, and V for
 * network kernels,
 *   G_k = W diag(alpha_k) U + diag(V alpha_k) U_z,   V = -W for the Laplace kernel,
 * and the sum of the outer products is S (r, r), so that the AGOP is P'S P / v.
 */

#define TILE_ROWS     64
#define TILE_COLS     256
#define BLOCK_ROWS    256  /* images whose gradients are made at a time */
#define GROUP_COLUMNS 1024 /* outputs times r, at a time */

/* Images at one place. */
typedef struct {
    rfm_real *u;             /* (count, r) */
    rfm_real *norms, *roots; /* (count) squared lengths, lengths */
    rfm_real longest;        /* of `norms` */
    rfm_real largest;        /* of the patches' numbers */
    rfm_real unit;
} projected;

typedef struct {
    rfm_real *patches; /* (most images, D) */
    rfm_real *mean;    /* (D) */
    projected x, z;
    size_t tile_rows, tile_cols;
    unsigned char *tiles; /* tile_bytes for each worker */
    size_t tile_bytes;
    int *status;
    /* for gradients */
    size_t rows, group; /* images and outputs at a time */
    rfm_real *w, *v;    /* (rows, n) */
    rfm_real *b;        /* (n, group (r + 1)) alpha_ik u_i; for the Laplace kernel alpha_ik behind each */
    rfm_real *h;        /* (rows, group (r + 1)) W B: Laplace has W alpha in the last columns */
    rfm_real *hz;       /* (rows, group) V alpha, for network kernels */
    rfm_real *back;     /* (rows group, D), where gradients are asked for */
} shallow;

/* One worker's. */
typedef struct {
    rfm_real *values;                   /* (tile_rows, tile_cols) */
    rfm_real *lengths, *k0, *k1, *sine; /* (tile_cols) of one row, for network kernels */
} tile_space;

static void tile_layout(rfm_arena *arena, size_t rows, size_t cols, tile_space *s) {
    s->values = rfm_arena_reals(arena, rows, cols);
    s->lengths = rfm_arena_reals(arena, 1, cols);
    s->k0 = rfm_arena_reals(arena, 1, cols);
    s->k1 = rfm_arena_reals(arena, 1, cols);
    s->sine = rfm_arena_reals(arena, 1, cols);
}

static size_t tile_bytes(const rfm_ctx *ctx, size_t rows, size_t cols, size_t d) {
    const rfm_ctx one = alone(ctx);
    rfm_arena measure;
    tile_space s;
    size_t most = 0;
    rfm_arena_measure(&measure);
    tile_layout(&measure, rows, cols, &s);
    product_bytes(&most, &one, rows, cols, d);
    reserve(&measure, most);
    return measure.status == RFM_OK ? round_up(measure.peak, RFM_ALIGN) : SIZE_MAX / 2;
}

/* c = 0: for kernel matrices. */
static void shallow_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, size_t c,
                           int back, shallow *s) {
    const size_t d = rfm_conv_patch(f);
    size_t most = 0;
    memset(s, 0, sizeof *s);
    s->patches = rfm_arena_reals(arena, max_size(n, v), d);
    s->mean = rfm_arena_reals(arena, 1, d);
    s->x.u = rfm_arena_reals(arena, n, d), s->x.norms = rfm_arena_reals(arena, 1, n);
    s->x.roots = rfm_arena_reals(arena, 1, n);
    s->z.u = rfm_arena_reals(arena, v, d), s->z.norms = rfm_arena_reals(arena, 1, v);
    s->z.roots = rfm_arena_reals(arena, 1, v);
    s->status = take_status(arena, ctx);
    s->tile_rows = min_size(TILE_ROWS, c > 0 ? v : n), s->tile_cols = min_size(TILE_COLS, c > 0 ? n : v);
    s->tile_bytes = tile_bytes(ctx, s->tile_rows, s->tile_cols, d);
    s->tiles = (unsigned char *)rfm_arena_take(arena, rfm_workers(ctx), s->tile_bytes);
    product_bytes(&most, ctx, max_size(n, v), d, d);
    if (c > 0) {
        s->rows = min_size(v, BLOCK_ROWS), s->group = min_size(c, max_size(GROUP_COLUMNS / d, 1));
        s->w = rfm_arena_reals(arena, s->rows, n);
        s->v = rfm_arena_reals(arena, f->kernel == RFM_CONV_LAPLACE ? 0 : s->rows, n);
        s->b = rfm_arena_reals(arena, n, s->group * (d + 1));
        s->h = rfm_arena_reals(arena, s->rows, s->group * (d + 1));
        s->hz = rfm_arena_reals(arena, f->kernel == RFM_CONV_LAPLACE ? 0 : s->rows, s->group);
        s->back = rfm_arena_reals(arena, back ? s->rows * s->group : 0, d);
        product_bytes(&most, ctx, s->rows, s->group * (d + 1), n); /* W B */
        product_bytes(&most, ctx, s->rows, s->group, n);           /* V alpha */
        product_bytes(&most, ctx, d, d, s->rows * s->group);       /* S */
        product_bytes(&most, ctx, s->rows * s->group, d, d);       /* back */
    }
    reserve(arena, most);
}

/* U and its norms at one place. */
static int project_place(work *w, const shallow *s, const part *at, image_set x, projected *to) {
    rfm_real *patches = w->p != NULL ? s->patches : to->u;
    size_t i, j;
    int status = RFM_OK;
    for (i = 0; i < x.count; i++) {
        rfm_real *patch = patches + i * w->d;
        take_in_unit(w, at, &x, i, patch);
        for (j = 0; w->f->kernel == RFM_CONV_LAPLACE && j < w->d; j++) patch[j] -= s->mean[j];
    }
    if (w->p != NULL)
        status = in_range(rfm_gemm(&w->ctx, RFM_NT, R(1), rfm_cview(patches, x.count, w->d),
                                   rfm_cview(w->p, w->r, w->d), R(0), rfm_view(to->u, x.count, w->r)));
    for (i = 0; status == RFM_OK && i < x.count; i++) {
        to->norms[i] = squared_norm(w->r, to->u + i * w->r);
        to->roots[i] = RFM_MATH(sqrt)(to->norms[i]);
        if (!(to->norms[i] <= NORM_MOST)) status = RFM_ERANGE;
    }
    to->unit = x.unit, to->longest = rfm_largest(x.count, to->norms),
    to->largest = rfm_largest(x.count * w->d, patches);
    return status;
}

/* The mean patch of the images, as the first plus the mean difference from it: no digits are lost at any offset. */
static void mean_patch(const work *w, const part *at, image_set x, rfm_real *patch, rfm_real *first, rfm_real *mean) {
    size_t i, j;
    take_patch(w->f, at, image_at(&x, 0), first);
    memset(mean, 0, w->d * sizeof *mean);
    for (i = 1; i < x.count; i++) {
        take_patch(w->f, at, image_at(&x, i), patch);
        for (j = 0; j < w->d; j++) mean[j] += (patch[j] - first[j]) / R(x.count);
    }
    add_numbers(w->d, first, mean);
}

/* Tiles of a matrix between two projected sets. Kernel values are added to `sum`; or weights go to w and v. */
typedef struct {
    const work *w;
    const shallow *s;
    projected a, b; /* rows and columns */
    size_t rows, cols;
    int upper;              /* 1: nothing left of the column where a tile's first row has the diagonal */
    rfm_real *sum, *wt, *v; /* rows ld apart */
    size_t ld;
} tile_job;

/* The angle of rows a and b from their unit vectors: |a / |a| -+ b / |b||^2 / 2. */
static rfm_real direct_angle(size_t r, const rfm_real *a, rfm_real root_a, const rfm_real *b, rfm_real root_b) {
    rfm_real sum = R(0);
    size_t j;
    for (j = 0; j < r; j++) {
        rfm_real off = a[j] / root_a - b[j] / root_b;
        sum += off * off;
    }
    sum *= R(0.5);
    return sum < R(1) ? sum : R(1);
}

/* One row of a tile for a network kernel of depth 1. c: a'b_j. */
static void network_row(const tile_job *t, tile_space *s, size_t i, size_t col, size_t cols, rfm_real *c) {
    const int ntk = t->w->f->kernel == RFM_CONV_NTK;
    const size_t r = t->w->r;
    const rfm_real *a = t->a.u + i * r, e = t->a.norms[i], root_e = t->a.roots[i], flag = ntk ? R(1) : R(0);
    const rfm_real *p = t->b.norms + col, *root_p = t->b.roots + col;
    const rfm_real back_a = R(1) / t->a.unit, back_b = R(1) / t->b.unit;
    rfm_real *lengths = s->lengths, *k0 = s->k0, *k1 = s->k1, *sine = s->sine;
    size_t j;
    for (j = 0; j < cols; j++) lengths[j] = length_product(p[j], e, root_p[j], root_e);
    cosines(cols, lengths, c);
    arc_values(cols, c, k0, k1, sine);
    for (j = 0; j < cols; j++)
        if (is_near(c[j]))
            (void)set_arc(direct_angle(r, a, root_e, t->b.u + (col + j) * r, c[j] > R(0) ? root_p[j] : -root_p[j]),
                          &c[j], &k0[j], &k1[j], &sine[j]);
    if (t->wt != NULL) {
        rfm_real *w = t->wt + i * t->ld + col, *v = t->v + i * t->ld + col,
                 inverse = root_e > R(0) ? R(1) / root_e : R(0);
        for (j = 0; j < cols; j++) {
            const rfm_real slope = flag * k0_slope(sine[j]), there = lengths[j] > R(0) ? R(1) : R(0);
            w[j] = there * ((R(1) + flag) * k0[j] + c[j] * slope);
            v[j] = there * root_p[j] * inverse * (sine[j] * SHARE - c[j] * c[j] * slope);
        }
    }
    for (j = 0; j < cols; j++) c[j] = lengths[j] * (k1[j] + flag * c[j] * k0[j]) * back_a * back_b;
}

static void tile_run(void *arg, size_t index, size_t worker) {
    const tile_job *t = (const tile_job *)arg;
    const work *w = t->w;
    const size_t height = t->s->tile_rows, width = t->s->tile_cols, across = (t->cols + width - 1) / width, r = w->r;
    const size_t row = index / across * height, rows = min_size(height, t->rows - row);
    const size_t left = index % across * width, end = min_size(left + width, t->cols);
    const size_t col = t->upper ? max_size(left, row) : left, cols = end > col ? end - col : 0;
    const int laplace = w->f->kernel == RFM_CONV_LAPLACE;
    rfm_ctx one = alone(&w->ctx);
    rfm_arena arena;
    tile_space s;
    rfm_real *tile;
    size_t i;
    int status;
    if (cols == 0) return; /* below the diagonal */
    job_arena(&arena, t->s->tiles, t->s->tile_bytes, worker);
    one.arena = &arena;
    tile_layout(&arena, height, width, &s);
    tile = s.values;
    status = rfm_gemm(&one, RFM_NT, laplace ? R(-2) : R(1), rfm_cview(t->a.u + row * r, rows, r),
                      rfm_cview(t->b.u + col * r, cols, r), R(0), rfm_view(tile, rows, cols));
    if (status != RFM_OK) {
        t->s->status[worker] = status;
        return;
    }
    for (i = 0; i < rows; i++) {
        rfm_real *c = tile + i * cols;
        if (laplace)
            rfm_kernel_row(w->ctx.port, RFM_LAPLACE, R(1), R(1) / w->f->bandwidth, cols, r, t->a.u + (row + i) * r,
                           t->a.norms[row + i], t->b.u + col * r, t->b.norms + col, c,
                           t->wt != NULL ? t->wt + (row + i) * t->ld + col : NULL);
        else
            network_row(t, &s, row + i, col, cols, c);
        if (t->sum != NULL) add_numbers(cols, c, t->sum + (row + i) * t->ld + col);
    }
}

static int run_tiles(work *w, const shallow *s, tile_job *t) {
    const size_t down = (t->rows + s->tile_rows - 1) / s->tile_rows;
    const size_t across = (t->cols + s->tile_cols - 1) / s->tile_cols;
    t->w = w, t->s = s;
    clear_status(&w->ctx, s->status);
    rfm_jobs(&w->ctx, tile_run, t, down * across);
    return worst_status(&w->ctx, s->status);
}

/* The mean patch, and X and Z at a place. */
static int set_place(work *w, shallow *s, size_t place, image_set x, image_set z, int same) {
    const part at = part_at(w->f, place);
    int status;
    if (w->f->kernel == RFM_CONV_LAPLACE) mean_patch(w, &at, x, s->patches, s->x.u, s->mean);
    do status = project_place(w, s, &at, x, &s->x);
    while (status == RFM_OK && grow_unit(w, &x, s->x.longest, s->x.largest));
    if (same) s->z = s->x;
    while (status == RFM_OK && !same) {
        status = project_place(w, s, &at, z, &s->z);
        if (status == RFM_OK && !grow_unit(w, &z, s->z.longest, s->z.largest)) break;
    }
    return status;
}

/* K (n, v); if X and Z are the same only on and above the diagonal, tile by tile. */
static int shallow_kernel(work *w, shallow *s, image_set x, image_set z, int same, rfm_mat k) {
    size_t place, i, j;
    tile_job t;
    int status = RFM_OK;
    memset(&t, 0, sizeof t);
    for (i = 0; i < k.rows; i++) memset(k.at + i * k.stride, 0, k.cols * sizeof *k.at);
    for (place = 0; status == RFM_OK && place < w->places; place++) {
        status = set_place(w, s, place, x, z, same);
        t.a = s->x, t.b = s->z, t.rows = x.count, t.cols = z.count, t.upper = same;
        t.sum = k.at, t.ld = k.stride;
        if (status == RFM_OK) status = run_tiles(w, s, &t);
        if (status == RFM_OK)
            status = advance(w->progress, R(x.count) * R(z.count) * R(w->r + 8) / (same ? R(2) : R(1)));
    }
    for (i = 0; i < k.rows; i++)
        for (j = 0; j < k.cols; j++) k.at[i * k.stride + j] /= R(w->places);
    return status;
}

/* What becomes of gradients: outer products are added to S (r, r), on and above its diagonal; and, or, they are written
 * to rows of G, (images, c m D). */
typedef struct {
    rfm_real *s;
    rfm_real *g;
    size_t ld;
    rfm_real lift; /* gradients are taken times this */
} gradient_use;

/* G_k for outputs k0.. of some images at one place, from their weights. One product makes both terms of the Laplace
 * kernel: a narrow B costs as much as a wide one. */
static int shallow_outputs(work *w, shallow *s, size_t place, size_t n, size_t first, size_t rows, rfm_cmat alpha,
                           size_t k0, size_t g, const gradient_use *use) {
    const int laplace = w->f->kernel == RFM_CONV_LAPLACE;
    const size_t r = w->r, wide = laplace ? r + 1 : r, columns = g * wide;
    rfm_cmat part_of_alpha = alpha, all = rfm_cview(s->h, rows * g, r);
    size_t i, j, k;
    int status;
    part_of_alpha.at += k0, part_of_alpha.cols = g, all.stride = wide;
    for (i = 0; i < n; i++)
        for (k = 0; k < g; k++) {
            const rfm_real *u = s->x.u + i * r, a = alpha.at[i * alpha.stride + k0 + k];
            rfm_real *b = s->b + i * columns + k * wide;
            for (j = 0; j < r; j++) b[j] = a * u[j];
            if (laplace) b[r] = a;
        }
    status = rfm_gemm(&w->ctx, RFM_NN, R(1), rfm_cview(s->w, rows, n), rfm_cview(s->b, n, columns), R(0),
                      rfm_view(s->h, rows, columns));
    if (status == RFM_OK && !laplace)
        status =
            rfm_gemm(&w->ctx, RFM_NN, R(1), rfm_cview(s->v, rows, n), part_of_alpha, R(0), rfm_view(s->hz, rows, g));
    for (i = 0; status == RFM_OK && i < rows; i++)
        for (k = 0; k < g; k++) {
            const rfm_real *u = s->z.u + (first + i) * r;
            rfm_real *h = s->h + i * columns + k * wide;
            const rfm_real factor = laplace ? -h[r] : s->hz[i * g + k];
            for (j = 0; j < r; j++) h[j] = (h[j] + factor * u[j]) / (R(w->places) * (s->x.unit / use->lift));
        }
    if (status == RFM_OK && use->s != NULL) status = rfm_syrk(&w->ctx, RFM_TN, R(1), all, R(1), rfm_view(use->s, r, r));
    if (status == RFM_OK && use->g != NULL) {
        rfm_cmat from = all;
        if (w->p != NULL) {
            from = rfm_cview(s->back, rows * g, w->d);
            status =
                rfm_gemm(&w->ctx, RFM_NN, R(1), all, rfm_cview(w->p, r, w->d), R(0), rfm_view(s->back, rows * g, w->d));
        }
        for (i = 0; status == RFM_OK && i < rows; i++)
            for (k = 0; k < g; k++)
                memcpy(use->g + (first + i) * use->ld + ((k0 + k) * w->places + place) * w->d,
                       from.at + (i * g + k) * from.stride, w->d * sizeof *from.at);
    }
    return in_range(status);
}

static int shallow_agop(work *w, shallow *s, image_set x, rfm_cmat alpha, image_set z, const gradient_use *use) {
    const int same = x.at == z.at && x.count == z.count && x.stride == z.stride && x.pick == z.pick;
    size_t place, first, rows, k, g;
    tile_job t;
    int status = RFM_OK;
    memset(&t, 0, sizeof t);
    for (place = 0; status == RFM_OK && place < w->places; place++) {
        status = set_place(w, s, place, x, z, same);
        for (first = 0; status == RFM_OK && first < z.count; first += rows) {
            rows = min_size(s->rows, z.count - first);
            t.a = s->z, t.b = s->x;
            t.a.u += first * w->r, t.a.norms += first, t.a.roots += first;
            t.rows = rows, t.cols = x.count;
            t.wt = s->w, t.v = s->v, t.ld = x.count;
            status = run_tiles(w, s, &t);
            for (k = 0; status == RFM_OK && k < alpha.cols; k += g) {
                g = min_size(s->group, alpha.cols - k);
                status = shallow_outputs(w, s, place, x.count, first, rows, alpha, k, g, use);
            }
        }
        if (status == RFM_OK) status = advance(w->progress, R(x.count) * R(z.count) * R(w->r * (alpha.cols + 1) + 8));
    }
    return status;
}

/* ==== 9. Depth 2 and more =======================================================================
 *
 * A job takes a few images z_j, computes M z_j[r] for all places, and goes through all x_i, a block at a time. The
 * fields of a block of pairs have the pair as their last index. Gradients are added up before M is applied:
 *   H_k[r] = sum_i alpha_ik (gS + gT)_i[r] x_i[r] + 2 (sum_i alpha_ik gE_i[r]) z[r],
 * so that the AGOP is M S M / v with S (D, D) the sum of the outer products of H.
 */

#define PAIR_ROWS  16      /* images x of a block */
#define PAIR_COLS  8       /* images z of a job, at most */
#define JOB_REALS  2097152 /* numbers that a job's gradients may take, if it has more than one image */
#define BATCH_JOBS 8       /* jobs whose outer products are kept apart, so that they are added in order */

/* One worker's. */
typedef struct {
    rfm_real *zp, *mz;         /* (m, cols, D) patches of z, and M times these */
    rfm_real *xp;              /* (rows, D) patches of x at one place */
    rfm_real *p, *e;           /* (places of all layers, rows), (.., cols) */
    rfm_real *root_p, *root_e; /* (rows), (cols) at one place */
    rfm_real *rho, *k0, *t;    /* (places, pairs) of one layer; with gradients of all layers. t: at layer 1 the sine */
    rfm_real *a, *b, *ge, *across;              /* (m, pairs) */
    rfm_real *rest, *next_rest;                 /* (m, pairs) N (1 - k1) of the layer below, of this one */
    rfm_real *lengths, *inverse, *ratio, *sine; /* (pairs) at one place: N, 1 / N, sqrt(p / e) / 2 */
    rfm_real *less;                             /* (pairs) likewise: 1 - k1 */
    rfm_real *diff;                             /* (D) */
    rfm_real *h, *hz, *weights;                 /* (m, cols c, D), (m, cols c), (cols c, rows) */
    rfm_real *alpha, *turned;                   /* (c, rows) alpha transposed, (cols, rows) weights of one place */
} pair_space;

typedef struct {
    size_t rows, cols, c, all;   /* images x of a block, images z of a job, outputs, places of all layers */
    rfm_real *m;                 /* (D, D) */
    rfm_real *norms_x, *norms_z; /* (n, m), (v, m) */
    rfm_real *slots;             /* (BATCH_JOBS, D, D) */
    rfm_real *sum, *half;        /* (D, D) */
    unsigned char *memory;       /* bytes for each worker */
    size_t bytes;
    int *status;
} deep;

static size_t pair_columns(const rfm_conv *f, size_t v, size_t c) {
    const size_t each = rfm_conv_places(f) * rfm_conv_patch(f); /* fits: rfm_conv_check */
    size_t cols = min_size(v, PAIR_COLS);
    while (cols > 1 && each > JOB_REALS / max_size(c, 1) / cols) cols--;
    return cols;
}

static void pair_layout(rfm_arena *arena, const rfm_conv *f, size_t rows, size_t cols, size_t c, pair_space *s) {
    const size_t d = rfm_conv_patch(f), m = rfm_conv_places(f), all = all_places(f), pairs = rows * cols;
    const size_t kept = c > 0 ? all : m;
    s->zp = rfm_arena_reals(arena, m * cols, d);
    s->mz = rfm_arena_reals(arena, m * cols, d);
    s->xp = rfm_arena_reals(arena, rows, d);
    s->p = rfm_arena_reals(arena, all, rows);
    s->e = rfm_arena_reals(arena, all, cols);
    s->root_p = rfm_arena_reals(arena, 1, rows);
    s->root_e = rfm_arena_reals(arena, 1, cols);
    s->rho = rfm_arena_reals(arena, kept, pairs);
    s->k0 = rfm_arena_reals(arena, kept, pairs);
    s->t = rfm_arena_reals(arena, kept, pairs);
    s->a = rfm_arena_reals(arena, m, pairs);
    s->b = rfm_arena_reals(arena, m, pairs);
    s->ge = rfm_arena_reals(arena, m, pairs);
    s->across = rfm_arena_reals(arena, m, pairs);
    s->rest = rfm_arena_reals(arena, m, pairs);
    s->next_rest = s->ge; /* which is for the way back */
    s->lengths = rfm_arena_reals(arena, 1, pairs);
    s->inverse = rfm_arena_reals(arena, 1, pairs);
    s->ratio = rfm_arena_reals(arena, 1, pairs);
    s->sine = rfm_arena_reals(arena, 1, pairs);
    s->less = rfm_arena_reals(arena, 1, pairs);
    s->diff = rfm_arena_reals(arena, 1, d);
    s->h = rfm_arena_reals(arena, c > 0 ? m * cols : 0, c * d);
    s->hz = rfm_arena_reals(arena, c > 0 ? m * cols : 0, c);
    s->weights = rfm_arena_reals(arena, cols * c, rows);
    s->alpha = rfm_arena_reals(arena, c, rows);
    s->turned = rfm_arena_reals(arena, cols, rows);
}

static size_t pair_bytes(const rfm_ctx *ctx, const rfm_conv *f, size_t rows, size_t cols, size_t c) {
    const size_t d = rfm_conv_patch(f), m = rfm_conv_places(f);
    const rfm_ctx one = alone(ctx);
    rfm_arena measure;
    pair_space s;
    size_t most = 0;
    rfm_arena_measure(&measure);
    pair_layout(&measure, f, rows, cols, c, &s);
    product_bytes(&most, &one, m * cols, d, d); /* M z */
    product_bytes(&most, &one, rows, cols, d);  /* S */
    if (c > 0) {
        product_bytes(&most, &one, cols * c, d, rows);  /* H */
        product_bytes(&most, &one, d, d, m * cols * c); /* outer products */
        product_bytes(&most, &one, m * cols * c, d, d); /* M H */
    }
    reserve(&measure, most);
    return measure.status == RFM_OK ? round_up(measure.peak, RFM_ALIGN) : SIZE_MAX / 2;
}

/* c = 0: for kernel matrices. */
static void deep_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, size_t c,
                        deep *s) {
    const size_t d = rfm_conv_patch(f), m = rfm_conv_places(f);
    size_t most = 0;
    memset(s, 0, sizeof *s);
    s->rows = min_size(PAIR_ROWS, n), s->cols = pair_columns(f, v, c), s->c = c, s->all = all_places(f);
    s->m = rfm_arena_reals(arena, d, d);
    s->norms_x = rfm_arena_reals(arena, n, m);
    s->norms_z = rfm_arena_reals(arena, v, m);
    s->slots = rfm_arena_reals(arena, c > 0 ? BATCH_JOBS * d : 0, d);
    s->sum = rfm_arena_reals(arena, c > 0 ? d : 0, d);
    s->half = rfm_arena_reals(arena, c > 0 ? d : 0, d);
    s->status = take_status(arena, ctx);
    s->bytes = max_size(pair_bytes(ctx, f, s->rows, s->cols, c), norm_bytes(ctx, f));
    s->memory = (unsigned char *)rfm_arena_take(arena, rfm_workers(ctx), s->bytes);
    product_bytes(&most, ctx, d, d, d);
    reserve(arena, most);
}

typedef struct {
    const work *w;
    const deep *s;
    image_set x, z;
    int same;
    size_t first;            /* job that the batch begins with */
    rfm_mat k;               /* kernel values, or ... */
    rfm_cmat alpha;          /* ... gradients */
    const gradient_use *use; /* NULL: kernel values */
} pair_job;

/* Squared lengths of some images at all layers: (places, count), layer after layer. */
static void set_lengths(const work *w, const rfm_real *norms, size_t count, rfm_real *across, rfm_real *to) {
    size_t i, place, layer;
    for (i = 0; i < count; i++)
        for (place = 0; place < w->places; place++) to[place * count + i] = norms[i * w->places + place];
    for (layer = 1; layer < (size_t)w->f->depth; layer++) {
        const windows win = windows_of(w->f, layer);
        window_means(&win, count, to, across, to + area(win.in) * count);
        to += area(win.in) * count;
    }
}

/* minus = 1 - rho of x[r] and z[r], from their unit vectors; sign -1: 1 + rho. */
static rfm_real direct_patches(const work *w, const rfm_real *x, rfm_real root_p, const rfm_real *z, rfm_real root_e,
                               rfm_real sign, rfm_real *diff) {
    rfm_real half;
    size_t j;
    int equal = 1;
    for (j = 0; j < w->d; j++) {
        diff[j] = x[j] / root_p - sign * z[j] / root_e;
        equal &= diff[j] == R(0);
    }
    if (equal) return R(0); /* the diagonal of K, without D^2 operations for each place */
    half = R(0.5) * squared_length(w->r, w->d, w->p, diff);
    return half < R(1) ? half : R(1);
}

/* N of all pairs at one place; with gradients 1 / N and sqrt(p / e) / 2, too. */
static void pair_lengths(pair_space *s, int slopes, size_t rows, size_t cols, const rfm_real *p, const rfm_real *e) {
    size_t i, j, q = 0;
    for (i = 0; i < rows; i++) s->root_p[i] = RFM_MATH(sqrt)(p[i]);
    for (j = 0; j < cols; j++) s->root_e[j] = RFM_MATH(sqrt)(e[j]);
    for (i = 0; i < rows; i++)
        for (j = 0; j < cols; j++, q++) {
            rfm_real n = length_product(p[i], e[j], s->root_p[i], s->root_e[j]);
            if (slopes && n < REAL_LEAST) n = R(0); /* 1 / N would overflow */
            s->lengths[q] = n;
            if (!slopes) continue;
            s->inverse[q] = n > R(0) ? R(1) / n : R(0);
            s->ratio[q] = n > R(0) ? R(0.5) * s->root_p[i] / s->root_e[j] : R(0);
        }
}

/* The layer below: its windows, its squared lengths. */
typedef struct {
    windows to_next;
    const rfm_real *p, *e;
} beneath;

/* Small angles at one place: from patches at layer 1, above it from what is below. */
static void pair_near(const work *w, pair_space *s, const beneath *below, size_t place, size_t at, size_t rows,
                      size_t cols, rfm_real *sine) {
    const size_t pairs = rows * cols;
    rfm_real *rho = s->rho + at * pairs, *k0 = s->k0 + at * pairs, *a = s->a + place * pairs;
    size_t q;
    for (q = 0; q < pairs; q++)
        if (is_near(rho[q])) {
            const size_t i = q / cols, j = q % cols;
            const rfm_real root_p = s->root_p[i], root_e = s->root_e[j];
            const rfm_real half = below != NULL
                                      ? window_angle(&below->to_next, place, rows, below->p + i, root_p, cols,
                                                     below->e + j, root_e, pairs, s->rest + q, s->lengths[q])
                                      : direct_patches(w, s->xp + i * w->d, root_p, s->zp + (place * cols + j) * w->d,
                                                       root_e, rho[q] > R(0) ? R(1) : R(-1), s->diff);
            s->less[q] = set_arc(half, &rho[q], &k0[q], &a[q], &sine[q]);
        }
}

/* One place of a layer: S in rho (and T in t, above layer 1) become rho, k0 and, at layer 1, the sine; A and B, and
 * N - A in next_rest. below: NULL at layer 1. */
static void pair_place(const work *w, pair_space *s, const beneath *below, size_t place, size_t at, size_t rows,
                       size_t cols, const rfm_real *p, const rfm_real *e) {
    const size_t pairs = rows * cols;
    rfm_real *rho = s->rho + at * pairs, *k0 = s->k0 + at * pairs, *t = s->t + at * pairs;
    rfm_real *a = s->a + place * pairs, *b = s->b + place * pairs, *rest = s->next_rest + place * pairs;
    rfm_real *lengths = s->lengths, *sine = below == NULL ? t : s->sine, *less = s->less;
    size_t q;
    pair_lengths(s, 0, rows, cols, p, e);
    cosines(pairs, lengths, rho);
    arc_values(pairs, rho, k0, a, sine);
    for (q = 0; q < pairs; q++) less[q] = R(1) - a[q];
    if (any_near(pairs, rho)) pair_near(w, s, below, place, at, rows, cols, sine);
    if (below == NULL)
        for (q = 0; q < pairs; q++) b[q] = lengths[q] * rho[q] * k0[q];
    else
        for (q = 0; q < pairs; q++) b[q] = t[q] * k0[q];
    for (q = 0; q < pairs; q++) a[q] *= lengths[q], rest[q] = lengths[q] * less[q];
}

/* The fields of a block of pairs up to A and B of the last layer. */
static int pair_forward(const work *w, const rfm_ctx *one, pair_space *s, int keep, image_set x, size_t cols) {
    const size_t rows = x.count, pairs = rows * cols;
    const rfm_real *p = s->p, *e = s->e;
    size_t layer, place, i, at = 0;
    beneath below;
    int status = RFM_OK;
    for (layer = 1; status == RFM_OK && layer <= (size_t)w->f->depth; layer++) {
        const size_t count = area(grid_at(w->f, layer));
        for (place = 0; status == RFM_OK && place < count; place++) {
            if (layer == 1) {
                const part in = part_at(w->f, place);
                for (i = 0; i < rows; i++) take_in_unit(w, &in, &x, i, s->xp + i * w->d);
                status = rfm_gemm(one, RFM_NT, R(1) / w->m_unit, rfm_cview(s->xp, rows, w->d),
                                  rfm_cview(s->mz + place * cols * w->d, cols, w->d), R(0),
                                  rfm_view(s->rho + place * pairs, rows, cols));
                if (status != RFM_OK) break;
            }
            pair_place(w, s, layer > 1 ? &below : NULL, place, at + place, rows, cols, p + place * rows,
                       e + place * cols);
        }
        if (status == RFM_OK && layer < (size_t)w->f->depth) {
            const windows win = windows_of(w->f, layer);
            rfm_real *next_s, *next_t, *rest = s->rest;
            s->rest = s->next_rest, s->next_rest = rest;
            below.to_next = win, below.p = p, below.e = e;
            if (keep) at += count;
            next_s = s->rho + at * pairs, next_t = s->t + at * pairs;
            window_means(&win, pairs, s->a, s->across, next_s);
            window_means(&win, pairs, s->b, s->across, next_t);
            add_numbers(area(win.out) * pairs, next_s, next_t);
            p += count * rows, e += count * cols;
        }
    }
    return status;
}

/* The windows' transpose: from the gradients of a layer to those of the one below. */
static windows windows_back(const rfm_conv *f, size_t layer) {
    windows w = windows_of(f, layer), t = w;
    t.in = w.out, t.out = w.in;
    t.low_row = -w.high_row, t.high_row = -w.low_row, t.low_col = -w.high_col, t.high_col = -w.low_col;
    return t;
}

/* The sine of a small angle, pi (1 - k0), which has more digits than 1 - rho. */
static inline rfm_real small_sine(rfm_real k0) {
    const rfm_real t = (R(1) - k0) * R(3.14159265358979323846);
    return t - t * t * t * R(1.0 / 6);
}

/* The formulas of the backward pass for many pairs, with N, sqrt(p / e) / 2, T / N and the sine in s. */
static void slope_values(size_t n, const pair_space *s, const rfm_real *restrict rho, const rfm_real *restrict k0,
                         rfm_real *restrict a, rfm_real *restrict b, rfm_real *restrict ge) {
    const rfm_real *restrict lengths = s->lengths, *restrict ratio = s->ratio, *restrict tangent = s->inverse;
    const rfm_real *restrict sine = s->sine;
    size_t q;
    for (q = 0; q < n; q++) {
        const rfm_real there = lengths[q] > R(0) ? R(1) : R(0), ga = there * a[q], gb = there * b[q];
        const rfm_real slope = gb * tangent[q] * k0_slope(sine[q]), gt = gb * k0[q];
        ge[q] += ratio[q] * (ga * sine[q] * SHARE - slope * rho[q]);
        a[q] = ga * k0[q] + slope + gt;
        b[q] = gt;
    }
}

/* Gradients at one place: a holds gA and becomes gS + gT, b holds gB and becomes gT, ge grows. Where N is 0 only ge
 * from the layers above stays. */
static void pair_slopes(pair_space *s, int first, size_t place, size_t at, size_t rows, size_t cols, const rfm_real *p,
                        const rfm_real *e) {
    const size_t pairs = rows * cols;
    const rfm_real *rho = s->rho + at * pairs, *k0 = s->k0 + at * pairs, *t = s->t + at * pairs;
    rfm_real *a = s->a + place * pairs, *b = s->b + place * pairs, *ge = s->ge + place * pairs;
    rfm_real *sine = s->sine, *tangent = s->inverse; /* T / N */
    size_t q;
    pair_lengths(s, 1, rows, cols, p, e);
    if (first)
        for (q = 0; q < pairs; q++) sine[q] = t[q], tangent[q] = rho[q];
    else
        for (q = 0; q < pairs; q++) {
            sine[q] = quick_root((R(1) - rho[q]) * (R(1) + rho[q]));
            tangent[q] *= t[q];
        }
    for (q = 0; !first && q < pairs; q++) {
        const rfm_real small = small_sine(k0[q]), large = sine[q];
        sine[q] = is_near(rho[q]) ? small : large;
    }
    slope_values(pairs, s, rho, k0, a, b, ge);
}

/* From the fields of all layers to gS + gT in a and gE in ge, at layer 1. */
static void pair_backward(const work *w, pair_space *s, size_t all, size_t rows, size_t cols) {
    const size_t pairs = rows * cols;
    size_t layer, place, i, at = all, top = area(grid_at(w->f, (size_t)w->f->depth));
    for (i = 0; i < top * pairs; i++) {
        s->a[i] = R(1) / R(top);
        s->b[i] = w->f->kernel == RFM_CONV_NTK ? s->a[i] : R(0);
        s->ge[i] = R(0);
    }
    for (layer = (size_t)w->f->depth; layer >= 1; layer--) {
        const size_t count = area(grid_at(w->f, layer));
        at -= count;
        for (place = 0; place < count; place++)
            pair_slopes(s, layer == 1, place, at + place, rows, cols, s->p + (at + place) * rows,
                        s->e + (at + place) * cols);
        if (layer > 1) {
            const windows win = windows_back(w->f, layer - 1);
            window_means(&win, pairs, s->a, s->across, s->a);
            window_means(&win, pairs, s->b, s->across, s->b);
            window_means(&win, pairs, s->ge, s->across, s->ge);
        }
    }
}

/* Adds a block of pairs to H and to what belongs to z. alpha: the rows of the block. */
static int pair_gradients(const work *w, const rfm_ctx *one, pair_space *s, image_set x, rfm_cmat alpha, size_t cols) {
    const size_t rows = x.count, c = alpha.cols;
    size_t place, i, j, k;
    int status = RFM_OK;
    for (k = 0; k < c; k++)
        for (i = 0; i < rows; i++) s->alpha[k * rows + i] = alpha.at[i * alpha.stride + k];
    for (place = 0; status == RFM_OK && place < w->places; place++) {
        const rfm_real *g = s->a + place * rows * cols, *ge = s->ge + place * rows * cols;
        const part in = part_at(w->f, place);
        rfm_real *hz = s->hz + place * cols * c;
        for (i = 0; i < rows; i++) take_in_unit(w, &in, &x, i, s->xp + i * w->d);
        for (i = 0; i < rows; i++)
            for (j = 0; j < cols; j++) {
                const rfm_real *a = alpha.at + i * alpha.stride, factor = R(2) * ge[i * cols + j];
                s->turned[j * rows + i] = g[i * cols + j];
                for (k = 0; k < c; k++) hz[j * c + k] += factor * a[k];
            }
        for (j = 0; j < cols; j++)
            for (k = 0; k < c; k++)
                for (i = 0; i < rows; i++)
                    s->weights[(j * c + k) * rows + i] = s->alpha[k * rows + i] * s->turned[j * rows + i];
        status = rfm_gemm(one, RFM_NN, R(1), rfm_cview(s->weights, cols * c, rows), rfm_cview(s->xp, rows, w->d), R(1),
                          rfm_view(s->h + place * cols * c * w->d, cols * c, w->d));
    }
    return status;
}

/* H is complete: the part of z, outer products, gradients. */
static int pair_finish(const pair_job *t, const rfm_ctx *one, pair_space *s, size_t first, size_t cols, size_t slot) {
    const work *w = t->w;
    const size_t c = t->alpha.cols, d = w->d, rows = w->places * cols * c;
    const rfm_real back = t->use->lift / t->x.unit;
    size_t place, i, j, k;
    int status = RFM_OK;
    for (place = 0; place < w->places; place++)
        for (j = 0; j < cols; j++)
            for (k = 0; k < c; k++) {
                const rfm_real *z = s->zp + (place * cols + j) * d, factor = s->hz[(place * cols + j) * c + k];
                rfm_real *h = s->h + ((place * cols + j) * c + k) * d;
                for (i = 0; i < d; i++) h[i] = (h[i] + factor * z[i]) * back;
            }
    if (t->use->s != NULL)
        status =
            rfm_syrk(one, RFM_TN, R(1), rfm_cview(s->h, rows, d), R(0), rfm_view(t->s->slots + slot * d * d, d, d));
    if (t->use->g == NULL) return status;
    for (place = 0; status == RFM_OK && place < w->places; place++)
        for (j = 0; status == RFM_OK && j < cols; j++) {
            const rfm_cmat h = rfm_cview(s->h + (place * cols + j) * c * d, c, d);
            rfm_mat to = rfm_view(t->use->g + (first + j) * t->use->ld + place * d, c, d);
            to.stride = w->places * d;
            if (w->p != NULL)
                status = rfm_gemm(one, RFM_NN, R(1) / w->m_unit, h, rfm_cview(t->s->m, d, d), R(0), to);
            else
                for (k = 0; k < c; k++) memcpy(to.at + k * to.stride, h.at + k * d, d * sizeof *h.at);
        }
    return status;
}

/* A few images z with all x. */
static void pair_run(void *arg, size_t index, size_t worker) {
    const pair_job *t = (const pair_job *)arg;
    const work *w = t->w;
    const deep *d = t->s;
    const size_t first = (t->first + index) * d->cols, cols = min_size(d->cols, t->z.count - first);
    const int ntk = w->f->kernel == RFM_CONV_NTK;
    const rfm_real back_x = R(1) / t->x.unit, back_z = R(1) / t->z.unit;
    rfm_ctx one = alone(&w->ctx);
    rfm_arena arena;
    pair_space s;
    size_t place, i, j, q, rows, last = area(grid_at(w->f, (size_t)w->f->depth));
    int status = RFM_OK;
    job_arena(&arena, d->memory, d->bytes, worker);
    one.arena = &arena;
    pair_layout(&arena, w->f, d->rows, d->cols, d->c, &s);
    for (place = 0; place < w->places; place++) {
        const part in = part_at(w->f, place);
        for (j = 0; j < cols; j++) take_in_unit(w, &in, &t->z, first + j, s.zp + (place * cols + j) * w->d);
    }
    if (w->p != NULL)
        status = rfm_gemm(&one, RFM_NN, R(1), rfm_cview(s.zp, w->places * cols, w->d), rfm_cview(d->m, w->d, w->d),
                          R(0), rfm_view(s.mz, w->places * cols, w->d));
    else
        s.mz = s.zp;
    set_lengths(w, d->norms_z + first * w->places, cols, s.across, s.e);
    if (t->use != NULL) {
        memset(s.h, 0, w->places * cols * d->c * w->d * sizeof *s.h);
        memset(s.hz, 0, w->places * cols * d->c * sizeof *s.hz);
    }
    for (i = t->same ? first / d->rows * d->rows : 0; status == RFM_OK && i < t->x.count; i += rows) {
        image_set x;
        rows = min_size(d->rows, t->x.count - i);
        x = set_from(t->x, i, rows);
        set_lengths(w, d->norms_x + i * w->places, rows, s.across, s.p);
        status = pair_forward(w, &one, &s, t->use != NULL, x, cols);
        if (status == RFM_OK && t->use != NULL) {
            rfm_cmat alpha = t->alpha;
            alpha.at += i * alpha.stride, alpha.rows = rows;
            pair_backward(w, &s, d->all, rows, cols);
            status = pair_gradients(w, &one, &s, x, alpha, cols);
        } else if (status == RFM_OK)
            for (q = 0; q < rows * cols; q++) {
                const size_t row = i + q / cols, col = first + q % cols;
                rfm_real sum = R(0);
                for (place = 0; place < last; place++)
                    sum += s.a[place * rows * cols + q] + (ntk ? s.b[place * rows * cols + q] : R(0));
                sum = sum / R(last) * back_x * back_z;
                if (!t->same)
                    t->k.at[row * t->k.stride + col] = sum;
                else if (row >= col)
                    t->k.at[col * t->k.stride + row] = sum;
            }
    }
    if (status == RFM_OK && t->use != NULL) status = pair_finish(t, &one, &s, first, cols, index);
    if (status != RFM_OK) d->status[worker] = status;
}

/* The largest number of some images, in their unit. */
static rfm_real largest_of(const work *w, const image_set *x) {
    rfm_real most = R(0);
    size_t i;
    for (i = 0; i < x->count; i++) most = max_real(most, rfm_largest(rfm_conv_pixels(w->f), image_at(x, i)));
    return most * x->unit;
}

/* Squared lengths of all patches of a set (count, m), in its unit. */
static int set_norms(work *w, const deep *s, image_set *x, rfm_real *norms) {
    rfm_real longest, largest;
    int status;
    do {
        status = image_norms(w, *x, norms, s->memory, s->status);
        if (status != RFM_OK) return status;
        longest = rfm_largest(x->count * w->places, norms);
        largest = longest < NORM_LEAST ? largest_of(w, x) : R(0);
    } while (grow_unit(w, x, longest, largest));
    return RFM_OK;
}

/* M = P'P. One that is below the normal range is made of P times a power of two; RFM_ERANGE: it is still there. */
static int make_metric(work *w, rfm_real *m) {
    const rfm_real largest = rfm_largest(w->r * w->d, w->p);
    const size_t d = w->d;
    size_t i, j, k;
    int status = in_range(
        rfm_gemm(&w->ctx, RFM_TN, R(1), rfm_cview(w->p, w->r, d), rfm_cview(w->p, w->r, d), R(0), rfm_view(m, d, d)));
    rfm_real v = R(1);
    if (status != RFM_OK || !(largest > R(0)) || rfm_largest(d * d, m) >= REAL_LEAST) return status;
    while (v * largest < R(1) && v * v < M_UNIT_MOST) v *= R(2);
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++)
            for (m[i * d + j] = R(0), k = 0; k < w->r; k++) m[i * d + j] += v * w->p[k * d + i] * (v * w->p[k * d + j]);
    w->m_unit = v * v;
    return rfm_largest(d * d, m) >= REAL_LEAST ? RFM_OK : RFM_ERANGE;
}

/* M, and squared lengths. */
static int deep_start(work *w, deep *s, pair_job *t) {
    int status = w->p != NULL ? make_metric(w, s->m) : RFM_OK;
    if (status != RFM_OK) return status;
    status = set_norms(w, s, &t->x, s->norms_x);
    if (t->same) {
        s->norms_z = s->norms_x, t->z.unit = t->x.unit;
        return status;
    }
    return status == RFM_OK ? set_norms(w, s, &t->z, s->norms_z) : status;
}

/* All jobs, a batch at a time; their outer products in order. */
static int run_pairs(work *w, deep *s, pair_job *t) {
    const size_t jobs = (t->z.count + s->cols - 1) / s->cols, d2 = w->d * w->d;
    size_t count, i;
    int status = RFM_OK;
    for (t->first = 0; status == RFM_OK && t->first < jobs; t->first += count) {
        count = min_size(BATCH_JOBS, jobs - t->first);
        clear_status(&w->ctx, s->status);
        rfm_jobs(&w->ctx, pair_run, t, count);
        status = worst_status(&w->ctx, s->status);
        for (i = 0; status == RFM_OK && t->use != NULL && t->use->s != NULL && i < count; i++)
            add_numbers(d2, s->slots + i * d2, s->sum);
        if (status == RFM_OK)
            status = advance(w->progress, R(count * s->cols) * R(t->x.count) *
                                              R(s->all * 16 + w->places * w->d * (t->use != NULL ? s->c + 1 : 1)) /
                                              (t->same ? R(2) : R(1)));
    }
    return status;
}

static int deep_kernel(work *w, deep *s, image_set x, image_set z, int same, rfm_mat k) {
    pair_job t;
    int status;
    memset(&t, 0, sizeof t);
    t.w = w, t.s = s, t.x = x, t.z = z, t.same = same, t.k = k;
    status = deep_start(w, s, &t);
    return status == RFM_OK ? run_pairs(w, s, &t) : status;
}

static void mirror(size_t n, rfm_real *a, size_t ld) {
    size_t i, j;
    for (i = 1; i < n; i++)
        for (j = 0; j < i; j++) a[i * ld + j] = a[j * ld + i];
}

static int deep_agop(work *w, deep *s, image_set x, rfm_cmat alpha, image_set z, const gradient_use *use) {
    const size_t d = w->d, r = w->r;
    pair_job t;
    size_t i;
    int status;
    memset(&t, 0, sizeof t);
    t.w = w, t.s = s, t.x = x, t.z = z, t.alpha = alpha, t.use = use;
    memset(s->slots, 0, BATCH_JOBS * d * d * sizeof *s->slots);
    memset(s->sum, 0, d * d * sizeof *s->sum);
    status = deep_start(w, s, &t);
    if (status == RFM_OK) status = run_pairs(w, s, &t);
    if (status != RFM_OK || use->s == NULL) return status;
    mirror(d, s->sum, d);
    if (w->p == NULL) {
        add_numbers(d * d, s->sum, use->s);
        return RFM_OK;
    }
    status =
        rfm_gemm(&w->ctx, RFM_NN, R(1), rfm_cview(w->p, r, d), rfm_cview(s->sum, d, d), R(0), rfm_view(s->half, r, d));
    if (status == RFM_OK)
        status = rfm_gemm(&w->ctx, RFM_NT, R(1), rfm_cview(s->half, r, d), rfm_cview(w->p, r, d), R(0),
                          rfm_view(s->sum, r, r));
    for (i = 0; status == RFM_OK && i < r * r; i++) use->s[i] += s->sum[i];
    return in_range(status);
}

/* ==== 10. Kernel matrices, gradients, the AGOP ================================================== */

/* Room for either way. */
typedef struct {
    shallow one;
    deep more;
} engine;

static void kernel_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, engine *s) {
    if (f->depth == 1)
        shallow_layout(arena, ctx, f, n, v, 0, 0, &s->one);
    else
        deep_layout(arena, ctx, f, n, v, 0, &s->more);
}

static void gradient_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, size_t c,
                            int back, engine *s) {
    if (f->depth == 1)
        shallow_layout(arena, ctx, f, n, v, c, back, &s->one);
    else
        deep_layout(arena, ctx, f, n, v, c, &s->more);
}

static int finite_rows(rfm_mat a) { return finite_view(rfm_const(a)) ? RFM_OK : RFM_ERANGE; }

static int kernel_matrix(work *w, engine *s, image_set x, image_set z, int same, rfm_mat k) {
    int status = w->f->depth == 1 ? shallow_kernel(w, &s->one, x, z, same, k) : deep_kernel(w, &s->more, x, z, same, k);
    if (status == RFM_OK && same) mirror(k.rows, k.at, k.stride);
    return status == RFM_OK ? finite_rows(k) : status;
}

static int gradients(work *w, engine *s, image_set x, rfm_cmat alpha, image_set z, const gradient_use *use) {
    return w->f->depth == 1 ? shallow_agop(w, &s->one, x, alpha, z, use) : deep_agop(w, &s->more, x, alpha, z, use);
}

static rfm_real kernel_cost(const rfm_conv *f, size_t n, size_t v) {
    const rfm_real d = R(rfm_conv_patch(f)), m = R(rfm_conv_places(f));
    return R(n) * R(v) * (f->depth == 1 ? m * (d + R(8)) : R(16) * R(all_places(f)) + m * d);
}

static rfm_real gradient_cost(const rfm_conv *f, size_t n, size_t v, size_t c) {
    const rfm_real d = R(rfm_conv_patch(f)), m = R(rfm_conv_places(f));
    return R(n) * R(v) * (f->depth == 1 ? m * (d * R(c + 1) + R(8)) : R(16) * R(all_places(f)) + m * d * R(c + 1));
}

/* ---- the factor P of M = P'P ---------------------------------------------------------------------- */

typedef struct {
    rfm_real *a;    /* (D, D) what is factored */
    rfm_real *p;    /* (D, D) room for P */
    uint32_t *perm; /* (D) */
} factoring;

/* *most: what a call takes on top of everything. */
static void factor_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t d, size_t *most, factoring *s) {
    size_t bytes = 0;
    s->a = rfm_arena_reals(arena, d, d);
    s->p = rfm_arena_reals(arena, d, d);
    s->perm = (uint32_t *)rfm_arena_take(arena, d, sizeof *s->perm);
    if (*most != SIZE_MAX) at_least(most, rfm_chol_rank_need(ctx, d, &bytes), &bytes);
}

/* R (rank, n) with R'R = A, A (n, n) in s->a on and above the diagonal. A of rank 0 gives one row of zeros. */
static int factor(const rfm_ctx *ctx, factoring *s, size_t n, rfm_real tolerance, rfm_real *r, size_t *rank) {
    size_t i, j;
    int status = in_range(rfm_chol_rank(ctx, rfm_view(s->a, n, n), tolerance, s->perm, rank));
    if (status != RFM_OK) return status;
    memset(r, 0, max_size(*rank, 1) * n * sizeof *r);
    for (i = 0; i < *rank; i++)
        for (j = i; j < n; j++) r[i * n + s->perm[j]] = s->a[i * n + j];
    *rank = max_size(*rank, 1);
    return RFM_OK;
}

/* P of the caller's M, which is there and finite. */
static int factor_metric(const rfm_ctx *ctx, factoring *s, rfm_cmat m, size_t *r) {
    rfm_ctx quiet = *ctx;
    size_t i;
    quiet.tick = NULL;
    for (i = 0; i < m.rows; i++) memcpy(s->a + i * m.cols, m.at + i * m.stride, m.cols * sizeof *s->a);
    return factor(&quiet, s, m.rows, R(0), s->p, r);
}

/* ---- the calls ------------------------------------------------------------------------------------ */

/* Arguments of the three functions; alpha is absent for kernel matrices. */
typedef struct {
    const rfm_conv *f;
    rfm_cmat m, x, z, alpha;
    rfm_mat out;
} arguments;

static int check_call(const rfm_ctx *ctx, const arguments *t, size_t rows, size_t cols) {
    int status;
    if (ctx == NULL) return RFM_ENULL;
    status = check_arena(ctx->arena);
    if (status == RFM_OK) status = check_view(rfm_const(t->out));
    if (status == RFM_OK) status = check_metric(t->f, t->m);
    if (status == RFM_OK) status = check_images(t->f, t->x);
    if (status == RFM_OK) status = check_images(t->f, t->z);
    if (status != RFM_OK) return status;
    if (t->out.rows != rows || t->out.cols != cols) return RFM_ESHAPE;
    if (t->alpha.at != NULL && t->alpha.rows != t->x.rows) return RFM_ESHAPE;
    if (overlap(rfm_const(t->out), t->x) || overlap(rfm_const(t->out), t->z) || overlap(rfm_const(t->out), t->m) ||
        (t->alpha.at != NULL && overlap(rfm_const(t->out), t->alpha)))
        return RFM_EALIAS;
    if (!finite_view(t->x) || !finite_view(t->z) || (t->m.at != NULL && !finite_view(t->m)) ||
        (t->alpha.at != NULL && !finite_view(t->alpha)))
        return RFM_EFINITE;
    return RFM_OK;
}

/* Sizes that the layouts below can multiply. */
static int check_counts(const rfm_conv *f, size_t n, size_t v, size_t c) {
    size_t size = 0;
    int status = rfm_conv_check(f);
    if (status != RFM_OK) return status;
    if (n == 0 || v == 0 || c == 0) return RFM_EZERO;
    if (n > UINT32_MAX || v > UINT32_MAX || c > UINT32_MAX) return RFM_EOVERFLOW;
    return times(rfm_conv_places(f) * rfm_conv_patch(f), c, (size_t)PTRDIFF_MAX / 64, &size) ? RFM_OK : RFM_EOVERFLOW;
}

static int kernel_call_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, factoring *p,
                              engine *s) {
    size_t most = 0;
    factor_layout(arena, ctx, rfm_conv_patch(f), &most, p);
    kernel_layout(arena, ctx, f, n, v, s);
    reserve(arena, most);
    return arena->status;
}

int rfm_conv_kernel_need(const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, size_t *bytes) {
    rfm_arena measure;
    factoring p;
    engine s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_counts(f, n, v, 1);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = kernel_call_layout(&measure, ctx, f, n, v, &p, &s);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

static int same_view(rfm_cmat a, rfm_cmat b) { return a.at == b.at && a.rows == b.rows && a.stride == b.stride; }

int rfm_conv_kernel(const rfm_ctx *ctx, const rfm_conv *f, rfm_cmat m, rfm_cmat x, rfm_cmat z, rfm_mat k) {
    arguments t;
    factoring p;
    progress done;
    engine s;
    work w;
    size_t used, r = 0;
    int status = ctx == NULL ? RFM_ENULL : rfm_conv_check(f);
    memset(&t, 0, sizeof t);
    t.f = f, t.m = m, t.x = x, t.z = z, t.out = k;
    if (status == RFM_OK) status = check_call(ctx, &t, x.rows, z.rows);
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    status = kernel_call_layout(ctx->arena, ctx, f, x.rows, z.rows, &p, &s);
    if (status == RFM_OK && m.at != NULL) status = factor_metric(ctx, &p, m, &r);
    if (status == RFM_OK) {
        done.ctx = ctx, done.done = R(0), done.total = kernel_cost(f, x.rows, z.rows);
        if (same_view(x, z)) done.total /= R(2);
        work_start(ctx, f, m.at != NULL ? p.p : NULL, r, &done, &w);
        status = kernel_matrix(&w, &s, set_of(x), set_of(z), same_view(x, z), k);
    }
    return leave(ctx->arena, used, status);
}

/* What the two functions of gradients have in common. */
typedef struct {
    factoring p;
    rfm_real *s;    /* (D, D) */
    rfm_real *half; /* (D, D) */
    engine e;
} gradient_space;

static int gradient_call_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, size_t c,
                                int back, gradient_space *s) {
    const size_t d = rfm_conv_patch(f);
    size_t most = 0;
    factor_layout(arena, ctx, d, &most, &s->p);
    s->s = rfm_arena_reals(arena, back ? 0 : d, d);
    s->half = rfm_arena_reals(arena, back ? 0 : d, d);
    product_bytes(&most, ctx, d, d, d);
    gradient_layout(arena, ctx, f, n, v, c, back, &s->e);
    reserve(arena, most);
    return arena->status;
}

static int gradient_need(const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, size_t c, int back, size_t *bytes) {
    rfm_arena measure;
    gradient_space s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_counts(f, n, v, c);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = gradient_call_layout(&measure, ctx, f, n, v, c, back, &s);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

int rfm_conv_gradients_need(const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, size_t c, size_t *bytes) {
    return gradient_need(ctx, f, n, v, c, 1, bytes);
}

int rfm_conv_agop_need(const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, size_t c, size_t *bytes) {
    return gradient_need(ctx, f, n, v, c, 0, bytes);
}

/* A = P'S P / v; S (r, r) on and above the diagonal. */
static int apply_metric(const work *w, rfm_real *s, rfm_real *half, size_t v, rfm_mat a) {
    const size_t d = w->d, r = w->r;
    size_t i, j;
    int status = RFM_OK;
    for (i = 0; i < r * r; i++) s[i] /= R(v);
    mirror(r, s, r);
    if (w->p == NULL)
        for (i = 0; i < d; i++) memcpy(a.at + i * a.stride, s + i * d, d * sizeof *s);
    else {
        status = rfm_gemm(&w->ctx, RFM_NN, R(1), rfm_cview(s, r, r), rfm_cview(w->p, r, d), R(0), rfm_view(half, r, d));
        if (status == RFM_OK)
            status = rfm_gemm(&w->ctx, RFM_TN, R(1), rfm_cview(w->p, r, d), rfm_cview(half, r, d), R(0), a);
    }
    for (i = 1; i < d; i++) /* symmetric to the last bit */
        for (j = 0; j < i; j++) a.at[i * a.stride + j] = a.at[j * a.stride + i];
    return status == RFM_OK ? finite_rows(a) : in_range(status);
}

static int gradient_call(const rfm_ctx *ctx, arguments *t, int back) {
    const rfm_conv *f = t->f;
    gradient_space s;
    gradient_use use;
    progress done;
    work w;
    size_t used, r = 0, d, c = t->alpha.cols;
    int status = ctx == NULL ? RFM_ENULL : rfm_conv_check(f);
    if (status == RFM_OK) status = check_view(t->alpha);
    if (status == RFM_OK) status = check_view(t->x);
    if (status == RFM_OK) status = check_view(t->z);
    if (status == RFM_OK) status = check_counts(f, t->x.rows, t->z.rows, c);
    if (status != RFM_OK) return status;
    d = rfm_conv_patch(f);
    status = check_call(ctx, t, back ? t->z.rows : d, back ? c * rfm_conv_places(f) * d : d);
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    status = gradient_call_layout(ctx->arena, ctx, f, t->x.rows, t->z.rows, c, back, &s);
    if (status == RFM_OK && t->m.at != NULL) status = factor_metric(ctx, &s.p, t->m, &r);
    if (status == RFM_OK) {
        done.ctx = ctx, done.done = R(0), done.total = gradient_cost(f, t->x.rows, t->z.rows, c);
        work_start(ctx, f, t->m.at != NULL ? s.p.p : NULL, r, &done, &w);
        memset(&use, 0, sizeof use);
        use.lift = R(1);
        if (back)
            use.g = t->out.at, use.ld = t->out.stride;
        else
            use.s = s.s, memset(s.s, 0, d * d * sizeof *s.s);
        status = gradients(&w, &s.e, set_of(t->x), t->alpha, set_of(t->z), &use);
        if (status == RFM_OK) status = back ? finite_rows(t->out) : apply_metric(&w, s.s, s.half, t->z.rows, t->out);
    }
    return leave(ctx->arena, used, status);
}

static arguments gradient_arguments(const rfm_conv *f, rfm_cmat m, rfm_cmat x, rfm_cmat alpha, rfm_cmat z,
                                    rfm_mat out) {
    arguments t;
    t.f = f, t.m = m, t.x = x, t.z = z, t.alpha = alpha, t.out = out;
    return t;
}

int rfm_conv_gradients(const rfm_ctx *ctx, const rfm_conv *f, rfm_cmat m, rfm_cmat x, rfm_cmat alpha, rfm_cmat z,
                       rfm_mat g) {
    arguments t = gradient_arguments(f, m, x, alpha, z, g);
    return gradient_call(ctx, &t, 1);
}

int rfm_conv_agop(const rfm_ctx *ctx, const rfm_conv *f, rfm_cmat m, rfm_cmat x, rfm_cmat alpha, rfm_cmat z,
                  rfm_mat a) {
    arguments t = gradient_arguments(f, m, x, alpha, z, a);
    return gradient_call(ctx, &t, 0);
}

/* ==== 11. Features ============================================================================== */

typedef struct {
    const rfm_ctx *ctx;
    const rfm_conv *f;
    rfm_cmat filters;
    int relu;
    image_set z;
    rfm_real *to; /* rows ld apart */
    size_t ld;
    unsigned char *memory;
    size_t bytes;
    int *status;
} feature_job;

static rfm_real *feature_layout(rfm_arena *arena, const rfm_conv *f) {
    return rfm_arena_reals(arena, rfm_conv_places(f), rfm_conv_patch(f));
}

static size_t feature_bytes(const rfm_ctx *ctx, const rfm_conv *f, size_t count) {
    const rfm_ctx one = alone(ctx);
    rfm_arena measure;
    size_t most = 0;
    rfm_arena_measure(&measure);
    (void)feature_layout(&measure, f);
    product_bytes(&most, &one, count, rfm_conv_places(f), rfm_conv_patch(f));
    reserve(&measure, most);
    return measure.status == RFM_OK ? round_up(measure.peak, RFM_ALIGN) : SIZE_MAX / 2;
}

static void feature_run(void *arg, size_t index, size_t worker) {
    const feature_job *t = (const feature_job *)arg;
    const size_t d = rfm_conv_patch(t->f), places = rfm_conv_places(t->f), count = t->filters.rows;
    rfm_ctx one = alone(t->ctx);
    rfm_arena arena;
    rfm_real *patches, *to = t->to + index * t->ld;
    size_t place, i;
    int status;
    job_arena(&arena, t->memory, t->bytes, worker);
    one.arena = &arena;
    patches = feature_layout(&arena, t->f);
    for (place = 0; place < places; place++) {
        const part at = part_at(t->f, place);
        take_patch(t->f, &at, image_at(&t->z, index), patches + place * d);
    }
    status = rfm_gemm(&one, RFM_NT, R(1), t->filters, rfm_cview(patches, places, d), R(0), rfm_view(to, count, places));
    for (i = 0; t->relu && i < count * places; i++) to[i] = to[i] < R(0) ? R(0) : to[i];
    if (status != RFM_OK) t->status[worker] = status;
}

typedef struct {
    unsigned char *memory;
    size_t bytes;
    int *status;
} feature_space;

static void features_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_conv *f, size_t count, feature_space *s) {
    s->status = take_status(arena, ctx);
    s->bytes = feature_bytes(ctx, f, count);
    s->memory = (unsigned char *)rfm_arena_take(arena, rfm_workers(ctx), s->bytes);
}

static int make_features(const rfm_ctx *ctx, const feature_space *s, const rfm_conv *f, rfm_cmat filters, int relu,
                         image_set z, rfm_real *to, size_t ld) {
    feature_job t;
    t.ctx = ctx, t.f = f, t.filters = filters, t.relu = relu, t.z = z, t.to = to, t.ld = ld;
    t.memory = s->memory, t.bytes = s->bytes, t.status = s->status;
    clear_status(ctx, s->status);
    rfm_jobs(ctx, feature_run, &t, z.count);
    return worst_status(ctx, s->status);
}

/* Sizes, patch and padding of f, whatever its kernel is. */
static int check_places(const rfm_conv *f) {
    rfm_conv plain;
    if (f == NULL) return RFM_ENULL;
    plain = *f;
    plain.kernel = RFM_CONV_NNGP, plain.depth = 1;
    return rfm_conv_check(&plain);
}

static int check_features(const rfm_conv *f, size_t count, size_t v) {
    size_t size = 0;
    int status = check_places(f);
    if (status != RFM_OK) return status;
    if (count == 0 || v == 0) return RFM_EZERO;
    return times(rfm_conv_places(f), count, UINT32_MAX, &size) && v <= UINT32_MAX ? RFM_OK : RFM_EOVERFLOW;
}

int rfm_conv_features_need(const rfm_ctx *ctx, const rfm_conv *f, size_t count, size_t v, size_t *bytes) {
    rfm_arena measure;
    feature_space s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_features(f, count, v);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    features_layout(&measure, ctx, f, count, &s);
    if (measure.status == RFM_OK) *bytes = measure.peak;
    return measure.status;
}

int rfm_conv_features(const rfm_ctx *ctx, const rfm_conv *f, rfm_cmat filters, int relu, rfm_cmat z, rfm_mat features) {
    feature_space s;
    size_t used;
    int status = ctx == NULL ? RFM_ENULL : check_places(f);
    if (status == RFM_OK) status = check_arena(ctx->arena);
    if (status == RFM_OK) status = check_view(filters);
    if (status == RFM_OK) status = check_images(f, z);
    if (status == RFM_OK) status = check_view(rfm_const(features));
    if (status == RFM_OK) status = check_features(f, filters.rows, z.rows);
    if (status != RFM_OK) return status;
    if (filters.cols != rfm_conv_patch(f) || features.rows != z.rows ||
        features.cols != filters.rows * rfm_conv_places(f))
        return RFM_ESHAPE;
    if (overlap(rfm_const(features), filters) || overlap(rfm_const(features), z)) return RFM_EALIAS;
    if (!finite_view(filters) || !finite_view(z)) return RFM_EFINITE;
    used = ctx->arena->used;
    features_layout(ctx->arena, ctx, f, filters.rows, &s);
    status = ctx->arena->status;
    if (status == RFM_OK) status = make_features(ctx, &s, f, filters, relu, set_of(z), features.at, features.stride);
    return leave(ctx->arena, used, status);
}

int rfm_conv_patches(const rfm_conv *f, const rfm_real *x, rfm_mat patches) {
    size_t place;
    int status = x == NULL ? RFM_ENULL : check_places(f);
    if (status == RFM_OK) status = check_view(rfm_const(patches));
    if (status != RFM_OK) return status;
    if (patches.rows != rfm_conv_places(f) || patches.cols != rfm_conv_patch(f)) return RFM_ESHAPE;
    for (place = 0; place < patches.rows; place++) {
        const part at = part_at(f, place);
        take_patch(f, &at, x, patches.at + place * patches.stride);
    }
    return RFM_OK;
}

/* Nearly normal, variance 1: twelve uniform numbers of 24 bits, added up as integers. The same on every machine. */
static rfm_real random_normal(uint32_t *state) {
    int32_t sum = -6 * (1 << 24);
    int i;
    for (i = 0; i < 12; i++) sum += (int32_t)(rfm_random(state) >> 8);
    return R(sum + 6) / R(1 << 24);
}

/* P'g for each filter. */
static void random_filters(const rfm_real *p, size_t r, size_t d, uint32_t seed, rfm_mat filters) {
    uint32_t state = rfm_random_start(seed);
    size_t k, i, j;
    for (k = 0; k < filters.rows; k++) {
        rfm_real *filter = filters.at + k * filters.stride;
        memset(filter, 0, d * sizeof *filter);
        for (i = 0; i < (p != NULL ? r : d); i++) {
            const rfm_real g = random_normal(&state);
            if (p == NULL)
                filter[i] = g;
            else
                for (j = 0; j < d; j++) filter[j] += g * p[i * d + j];
        }
    }
}

/* ==== 12. Prediction ============================================================================ */

#define PREDICT_ROWS 128

static int check_model(const rfm_conv_model *m) {
    rfm_conv f;
    size_t l;
    int status;
    if (m == NULL || m->images == NULL || m->norms == NULL || m->alpha == NULL) return RFM_ENULL;
    if (m->n == 0 || m->c == 0 || m->r == 0) return RFM_EZERO;
    status = check_sizes(&m->input, m->layers, m->layer, &f);
    if (status != RFM_OK) return status;
    for (l = 0; l < m->layers; l++)
        if (m->layer[l].filters == NULL) return RFM_ENULL;
    if (f.channels != m->f.channels || f.height != m->f.height || f.width != m->f.width || f.patch != m->f.patch ||
        f.padded != m->f.padded || f.kernel != m->f.kernel || f.depth != m->f.depth ||
        (m->p == NULL && m->r != rfm_conv_patch(&f)) || m->r > rfm_conv_patch(&f))
        return RFM_ESHAPE;
    return check_counts(&f, m->n, 1, m->c);
}

typedef struct {
    size_t rows;
    rfm_real *features[2]; /* (rows, most) */
    rfm_real *k;           /* (rows, n) */
    engine e;
    feature_space filter[RFM_CONV_LAYERS];
} predicting;

static int predict_layout(rfm_arena *arena, const rfm_ctx *ctx, const rfm_conv_model *m, size_t v, predicting *s) {
    const size_t most = largest_features(m);
    rfm_conv f = m->input;
    size_t l, used, bytes = 0;
    s->rows = min_size(v, PREDICT_ROWS);
    s->features[0] = rfm_arena_reals(arena, m->layers > 0 ? s->rows : 0, most);
    s->features[1] = rfm_arena_reals(arena, m->layers > 1 ? s->rows : 0, most);
    s->k = rfm_arena_reals(arena, s->rows, m->n);
    product_bytes(&bytes, ctx, s->rows, m->c, m->n);
    reserve(arena, bytes);
    used = arena->used;
    for (l = 0; l < m->layers; l++) {
        features_layout(arena, ctx, &f, m->layer[l].count, &s->filter[l]);
        if (arena->status == RFM_OK) rfm_arena_release(arena, used);
        f = after_layer(&f, m->layer[l].count);
    }
    kernel_layout(arena, ctx, &m->f, s->rows, m->n, &s->e);
    if (arena->status == RFM_OK) rfm_arena_release(arena, used);
    return arena->status;
}

int rfm_conv_predict_need(const rfm_ctx *ctx, const rfm_conv_model *model, size_t v, size_t *bytes) {
    rfm_arena measure;
    predicting s;
    int status = ctx == NULL || bytes == NULL ? RFM_ENULL : check_model(model);
    if (status == RFM_OK && v == 0) status = RFM_EZERO;
    if (status == RFM_OK && v > UINT32_MAX) status = RFM_EOVERFLOW;
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = predict_layout(&measure, ctx, model, v, &s);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

/* A block of images through the layers; *z becomes what the kernel compares. */
static int predict_features(const rfm_ctx *ctx, const rfm_conv_model *m, predicting *s, image_set *z) {
    const size_t used = ctx->arena->used;
    rfm_conv f = m->input;
    size_t l;
    int status = RFM_OK;
    for (l = 0; status == RFM_OK && l < m->layers; l++) {
        const rfm_cmat filters = rfm_cview(m->layer[l].filters, m->layer[l].count, rfm_conv_patch(&f));
        rfm_conv next = after_layer(&f, filters.rows);
        features_layout(ctx->arena, ctx, &f, filters.rows, &s->filter[l]);
        status = make_features(ctx, &s->filter[l], &f, filters, 1, *z, s->features[l % 2], rfm_conv_pixels(&next));
        rfm_arena_release(ctx->arena, used);
        z->at = s->features[l % 2], z->stride = rfm_conv_pixels(&next), z->pick = NULL;
        f = next;
    }
    return status;
}

/* The layout has been made once; its last part is made again for each block. */
static int predict_rows(const rfm_ctx *ctx, const rfm_conv_model *m, predicting *s, progress *p, rfm_cmat z,
                        rfm_mat y) {
    const size_t used = ctx->arena->used;
    const image_set x = set_of(rfm_cview(m->images, m->n, rfm_conv_pixels(&m->f)));
    size_t first, rows, i, k;
    int status = RFM_OK;
    for (first = 0; status == RFM_OK && first < z.rows; first += rows) {
        image_set block = set_of(z);
        rfm_mat to = y;
        work w;
        rows = min_size(s->rows, z.rows - first);
        block = set_from(block, first, rows);
        to.at += first * y.stride, to.rows = rows;
        status = predict_features(ctx, m, s, &block);
        kernel_layout(ctx->arena, ctx, &m->f, s->rows, m->n, &s->e);
        work_start(ctx, &m->f, m->p, m->r, p, &w);
        if (status == RFM_OK) status = kernel_matrix(&w, &s->e, block, x, 0, rfm_view(s->k, rows, m->n));
        rfm_arena_release(ctx->arena, used);
        if (status == RFM_OK)
            status = in_range(
                rfm_gemm(&w.ctx, RFM_NN, R(1), rfm_cview(s->k, rows, m->n), rfm_cview(m->alpha, m->n, m->c), R(0), to));
        for (i = 0; status == RFM_OK && m->offset != NULL && i < rows; i++)
            for (k = 0; k < m->c; k++) to.at[i * to.stride + k] += m->offset[k];
    }
    return status == RFM_OK ? finite_rows(y) : status;
}

int rfm_conv_predict(const rfm_ctx *ctx, const rfm_conv_model *model, rfm_cmat z, rfm_mat y) {
    predicting s;
    progress p;
    size_t used;
    int status = ctx == NULL ? RFM_ENULL : check_model(model);
    if (status == RFM_OK) status = check_arena(ctx->arena);
    if (status == RFM_OK) status = check_images(&model->input, z);
    if (status == RFM_OK) status = check_view(rfm_const(y));
    if (status != RFM_OK) return status;
    if (y.rows != z.rows || y.cols != model->c) return RFM_ESHAPE;
    if (overlap(z, rfm_const(y))) return RFM_EALIAS;
    if (!finite_view(z)) return RFM_EFINITE;
    used = ctx->arena->used;
    status = predict_layout(ctx->arena, ctx, model, z.rows, &s);
    p.ctx = ctx, p.done = R(0), p.total = kernel_cost(&model->f, model->n, z.rows);
    if (status == RFM_OK) status = predict_rows(ctx, model, &s, &p, z, y);
    return leave(ctx->arena, used, status);
}

int rfm_conv_metric(const rfm_conv_model *model, rfm_mat m) {
    size_t d, i, j, k;
    int status = check_model(model);
    if (status == RFM_OK) status = check_view(rfm_const(m));
    if (status != RFM_OK) return status;
    d = rfm_conv_patch(&model->f);
    if (m.rows != d || m.cols != d) return RFM_ESHAPE;
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++) {
            rfm_real sum = model->p == NULL && i == j ? R(1) : R(0);
            for (k = 0; model->p != NULL && k < model->r; k++) sum += model->p[k * d + i] * model->p[k * d + j];
            m.at[i * m.stride + j] = sum;
        }
    return finite_rows(m);
}

int rfm_conv_filters(const rfm_conv_model *model, uint32_t seed, rfm_mat filters) {
    int status = check_model(model);
    if (status == RFM_OK) status = check_view(rfm_const(filters));
    if (status != RFM_OK) return status;
    if (filters.cols != rfm_conv_patch(&model->f)) return RFM_ESHAPE;
    random_filters(model->p, model->r, filters.cols, seed, filters);
    return finite_rows(filters);
}

/* ==== 13. Solving ===============================================================================
 *
 * (K + ridge I) alpha = Y for several ridges. K lies below the diagonal of a square, its diagonal apart; on and above
 * the diagonal is what is factored.
 */

#define RESIDUAL_ROWS 16
#define RESIDUAL_MOST R(0.01) /* share of the largest target; if rounding does more, alpha is noise */

typedef struct {
    size_t n, c;
    rfm_real *k;    /* (n, n) */
    rfm_real *diag; /* (n) */
    rfm_real *x;    /* (n, c) */
} solving;

static void solve_layout(rfm_arena *arena, const rfm_ctx *ctx, size_t n, size_t c, size_t *most, solving *s) {
    size_t bytes = 0;
    s->n = n, s->c = c;
    s->k = rfm_arena_reals(arena, n, n);
    s->diag = rfm_arena_reals(arena, 1, n);
    s->x = rfm_arena_reals(arena, n, c);
    if (*most != SIZE_MAX) at_least(most, rfm_chol_need(ctx, n, &bytes), &bytes);
    if (*most != SIZE_MAX) at_least(most, rfm_trsm_need(ctx, n, c, &bytes), &bytes);
}

/* The largest |y - (K + ridge I) alpha| of a few rows. */
static rfm_real largest_residual(const solving *s, rfm_cmat y, rfm_real ridge) {
    const size_t rows = min_size(RESIDUAL_ROWS, s->n), step = s->n / rows;
    rfm_real most = R(0);
    size_t q, i, j, k;
    for (q = 0; q < rows; q++)
        for (k = 0, i = q * step; k < s->c; k++) {
            rfm_real sum = y.at[i * y.stride + k] - (s->diag[i] + ridge) * s->x[i * s->c + k];
            for (j = 0; j < i; j++) sum -= s->k[i * s->n + j] * s->x[j * s->c + k];
            for (j = i + 1; j < s->n; j++) sum -= s->k[j * s->n + i] * s->x[j * s->c + k];
            most = max_real(most, RFM_MATH(fabs)(sum));
        }
    return most;
}

/* As long as rounding is larger than the ridge, the ridge grows. `largest` is that of K's diagonal. */
static int solve_ridge(const rfm_ctx *ctx, solving *s, rfm_cmat y, rfm_real largest, rfm_real target, rfm_real *ridge) {
    const size_t n = s->n;
    size_t i, j;
    int status;
    for (;;) {
        for (i = 0; i < n; i++) {
            s->k[i * n + i] = s->diag[i] + *ridge;
            for (j = i + 1; j < n; j++) s->k[i * n + j] = s->k[j * n + i];
        }
        status = in_range(rfm_chol(ctx, rfm_view(s->k, n, n), NULL));
        if (status == RFM_OK) {
            for (i = 0; i < n; i++) memcpy(s->x + i * s->c, y.at + i * y.stride, s->c * sizeof *s->x);
            status = in_range(rfm_chol_solve(ctx, rfm_cview(s->k, n, n), rfm_view(s->x, n, s->c)));
            if (status == RFM_OK && largest_residual(s, y, *ridge) <= RESIDUAL_MOST * target) return RFM_OK;
            if (status == RFM_OK) status = RFM_ENOTPD;
        }
        if (status != RFM_ENOTPD && status != RFM_ERANGE) return status;
        *ridge = max_real(R(10) * *ridge, R(n) * REAL_EPS * largest);
        if (!(*ridge < R(n) * max_real(largest, REAL_LEAST))) return RFM_ERANGE;
    }
}

/* ==== 14. ConvRFM =============================================================================== */

void rfm_conv_options_init(rfm_conv_options *o) {
    memset(o, 0, sizeof *o);
    o->patch = 3, o->kernel = RFM_CONV_NTK, o->depth = 1, o->bandwidth = R(10), o->rounds = 4;
    o->ridges = 3, o->ridge[0] = R(1e-8), o->ridge[1] = R(1e-5), o->ridge[2] = R(1e-3);
    o->scale = 1, o->select = RFM_SELECT_VALIDATION, o->score = RFM_SCORE_ACCURACY, o->task = RFM_CLASSIFY;
    o->layers = 0, o->filters = 64, o->best = 1;
}

typedef struct {
    const rfm_ctx *ctx;
    const rfm_conv *f;
    const rfm_conv_options *o;
    rfm_cmat x, y, xv, yv, start;
    size_t n, v, c, d, points, ridges; /* v: validation rows, 0: none */
    /* store */
    rfm_real *images, *norms, *alpha, *p; /* (n, pixels), (n, m), (n, c), (D, D) */
    size_t store_end;
    /* scratch */
    solving solve;
    factoring factor;
    rfm_real *trial;     /* (n, ridges c) alpha for every ridge */
    rfm_real *weights;   /* (n, c) alpha in units, for the AGOP */
    rfm_real *predicted; /* (min(n, v), ridges c) */
    rfm_real *held;      /* (ridges, v) scores of each validation row */
    rfm_real *held_best; /* (v) of the best round: the caller's room, or NULL */
    rfm_real *metric;    /* (D, D) room for P */
    rfm_real *s, *next;  /* (D, D) */
    uint32_t *picked;    /* (n) */
    size_t used;         /* of the arena: above it is room for an engine */
    int has_p;           /* 0: M = I */
    size_t r;
    progress *progress;
} fitting;

/* The parts of the scratch that are used one after the other. */
static void fit_phases(rfm_arena *arena, const fitting *t, size_t most) {
    const size_t used = arena->used;
    engine e;
    kernel_layout(arena, t->ctx, t->f, t->n, t->n, &e);
    if (arena->status == RFM_OK) rfm_arena_release(arena, used);
    if (t->v > 0) kernel_layout(arena, t->ctx, t->f, min_size(t->v, t->n), t->n, &e);
    if (arena->status == RFM_OK) rfm_arena_release(arena, used);
    if (t->o->rounds > 0) gradient_layout(arena, t->ctx, t->f, t->n, t->points, t->c, 0, &e);
    if (arena->status == RFM_OK) rfm_arena_release(arena, used);
    (void)take_status(arena, t->ctx);
    (void)rfm_arena_take(arena, rfm_workers(t->ctx), norm_bytes(t->ctx, t->f));
    if (arena->status == RFM_OK) rfm_arena_release(arena, used);
    product_bytes(&most, t->ctx, min_size(max_size(t->v, 1), t->n), t->ridges * t->c, t->n);
    product_bytes(&most, t->ctx, t->d, t->d, t->d);
    reserve(arena, most);
}

static int fit_layout(rfm_arena *store, rfm_arena *arena, fitting *t) {
    const size_t d = t->d;
    size_t most = 0;
    t->images = rfm_arena_reals(store, t->n, rfm_conv_pixels(t->f));
    t->norms = rfm_arena_reals(store, t->n, rfm_conv_places(t->f));
    t->alpha = rfm_arena_reals(store, t->n, t->c);
    t->p = rfm_arena_reals(store, d, d);
    t->store_end = store->used;
    if (store->status != RFM_OK) return store->status;
    solve_layout(arena, t->ctx, t->n, t->c, &most, &t->solve);
    factor_layout(arena, t->ctx, d, &most, &t->factor);
    t->trial = rfm_arena_reals(arena, t->n, t->ridges * t->c);
    t->weights = rfm_arena_reals(arena, t->n, t->c);
    t->predicted = rfm_arena_reals(arena, min_size(t->n, t->v), t->ridges * t->c);
    t->held = rfm_arena_reals(arena, t->ridges, t->v);
    t->metric = rfm_arena_reals(arena, d, d);
    t->s = rfm_arena_reals(arena, d, d);
    t->next = rfm_arena_reals(arena, d, d);
    t->picked = (uint32_t *)rfm_arena_take(arena, t->n, sizeof *t->picked);
    t->used = arena->used;
    if (arena->status == RFM_OK) fit_phases(arena, t, most);
    return arena->status;
}

static int rows_there(rfm_cmat a) { return a.at != NULL; }

static int check_options(const rfm_conv_options *o, size_t n, int validation) {
    size_t i;
    if (o->ridges == 0 || o->ridges > RFM_CONV_RIDGES) return RFM_EVALUE;
    for (i = 0; i < o->ridges; i++)
        if (!(o->ridge[i] > R(0)) || !rfm_finite(1, &o->ridge[i])) return RFM_EVALUE;
    if (!between(0, o->power, 1) || !between(0, o->scale, 1) || o->agop_points > n) return RFM_EVALUE;
    if (!between(RFM_SCORE_SQUARED, o->score, RFM_SCORE_ACCURACY) || !between(RFM_REGRESS, o->task, RFM_CLASSIFY))
        return RFM_EVALUE;
    if (o->select != RFM_SELECT_LAST && (o->select != RFM_SELECT_VALIDATION || !validation)) return RFM_EVALUE;
    return o->rounds <= UINT32_MAX ? RFM_OK : RFM_EVALUE;
}

/* Shapes of everything. */
static int check_fit(const rfm_conv *f, const rfm_data *data, const rfm_conv_options *o) {
    int status = rfm_conv_check(f);
    if (status == RFM_OK) status = check_images(f, data->x);
    if (status == RFM_OK) status = check_view(data->y);
    if (status == RFM_OK && data->y.rows != data->x.rows) status = RFM_ESHAPE;
    if (status == RFM_OK && rows_there(data->x_validation) != rows_there(data->y_validation)) status = RFM_ENULL;
    if (status == RFM_OK && rows_there(data->x_validation)) {
        status = check_images(f, data->x_validation);
        if (status == RFM_OK) status = check_view(data->y_validation);
        if (status == RFM_OK &&
            (data->y_validation.rows != data->x_validation.rows || data->y_validation.cols != data->y.cols))
            status = RFM_ESHAPE;
    }
    if (status == RFM_OK) status = check_metric(f, data->start);
    if (status == RFM_OK && data->weights != NULL) status = RFM_EVALUE;
    if (status == RFM_OK) status = check_options(o, data->x.rows, rows_there(data->x_validation));
    if (status == RFM_OK) status = check_counts(f, data->x.rows, 1, data->y.cols);
    if (status == RFM_OK && data->y.cols > UINT32_MAX / RFM_CONV_RIDGES) status = RFM_EOVERFLOW;
    return status;
}

static int check_fit_values(const rfm_data *data) {
    if (!finite_view(data->x) || !finite_view(data->y)) return RFM_EFINITE;
    if (rows_there(data->x_validation) && (!finite_view(data->x_validation) || !finite_view(data->y_validation)))
        return RFM_EFINITE;
    return rows_there(data->start) && !finite_view(data->start) ? RFM_EFINITE : RFM_OK;
}

static void fit_start(const rfm_ctx *ctx, const rfm_conv *f, const rfm_data *data, const rfm_conv_options *o,
                      fitting *t) {
    memset(t, 0, sizeof *t);
    t->ctx = ctx, t->f = f, t->o = o;
    t->x = data->x, t->y = data->y, t->start = data->start;
    t->n = data->x.rows, t->c = data->y.cols, t->d = rfm_conv_patch(f);
    if (rows_there(data->x_validation)) t->xv = data->x_validation, t->yv = data->y_validation, t->v = t->xv.rows;
    t->points = o->agop_points > 0 ? o->agop_points : t->n;
    t->ridges = t->v > 0 ? o->ridges : 1;
}

static rfm_real fit_cost(const fitting *t) {
    const rfm_real n = R(t->n), rounds = R(t->o->rounds);
    return (rounds + R(1)) * (kernel_cost(t->f, t->n, t->n) / R(2) + n * n * n / R(6) * R(t->ridges) +
                              kernel_cost(t->f, t->n, t->v)) +
           rounds * gradient_cost(t->f, t->n, t->points, t->c);
}

static void fit_work(const fitting *t, work *w) {
    work_start(t->ctx, t->f, t->has_p ? t->metric : NULL, t->r, t->progress, w);
}

/* K divided by its largest entry, in the square of `solve`; its diagonal apart. RFM_ERANGE: that entry is below the
 * normal range, though images are not 0. */
static int fit_kernel(fitting *t, rfm_real *largest) {
    rfm_arena *arena = t->ctx->arena;
    const image_set x = set_of(t->x);
    rfm_real *k = t->solve.k;
    size_t i, n = t->n;
    engine e;
    work w;
    int status;
    fit_work(t, &w);
    kernel_layout(arena, t->ctx, t->f, n, n, &e);
    status = kernel_matrix(&w, &e, x, x, 1, rfm_view(k, n, n));
    rfm_arena_release(arena, t->used);
    for (*largest = R(0), i = 0; t->o->scale && i < n * n; i++) *largest = max_real(*largest, k[i]);
    if (status == RFM_OK && t->o->scale && *largest < REAL_LEAST && w.longest > R(0)) status = RFM_ERANGE;
    if (!(*largest > R(0))) *largest = R(1);
    for (i = 0; t->o->scale && i < n * n; i++) k[i] /= *largest;
    for (i = 0; i < n; i++) t->solve.diag[i] = k[i * n + i];
    return status;
}

/* 1 if a is better than b. */
static int better(int score, rfm_real a, rfm_real b) { return score == RFM_SCORE_SQUARED ? a < b : a > b; }

static size_t largest_at(size_t c, const rfm_real *y) {
    size_t k, best = 0;
    for (k = 1; k < c; k++)
        if (y[k] > y[best]) best = k;
    return c == 1 ? y[0] > R(0) : best;
}

static rfm_real row_score(int score, size_t c, const rfm_real *y, const rfm_real *predicted) {
    rfm_real sum = R(0);
    size_t k;
    if (score == RFM_SCORE_ACCURACY) return largest_at(c, y) == largest_at(c, predicted) ? R(1) : R(0);
    for (k = 0; k < c; k++) sum += (y[k] - predicted[k]) * (y[k] - predicted[k]) / R(c);
    return sum;
}

/* Scores of all ridges on the validation rows; the square of K is free by now. */
static int fit_scores(fitting *t, rfm_real largest, rfm_real *scores) {
    rfm_arena *arena = t->ctx->arena;
    const size_t all = t->ridges * t->c;
    size_t first, rows, i, q;
    int status = RFM_OK;
    for (q = 0; q < t->ridges; q++) scores[q] = R(0);
    for (first = 0; status == RFM_OK && first < t->v; first += rows) {
        engine e;
        work w;
        rows = min_size(t->n, t->v - first);
        fit_work(t, &w);
        kernel_layout(arena, t->ctx, t->f, min_size(t->v, t->n), t->n, &e);
        status = kernel_matrix(&w, &e, set_from(set_of(t->xv), first, rows), set_of(t->x), 0,
                               rfm_view(t->solve.k, rows, t->n));
        rfm_arena_release(arena, t->used);
        if (status == RFM_OK)
            status = in_range(rfm_gemm(&w.ctx, RFM_NN, R(1) / largest, rfm_cview(t->solve.k, rows, t->n),
                                       rfm_cview(t->trial, t->n, all), R(0), rfm_view(t->predicted, rows, all)));
        for (i = 0; status == RFM_OK && i < rows; i++)
            for (q = 0; q < t->ridges; q++) {
                rfm_real *score = t->held + q * t->v + first + i;
                *score = row_score(t->o->score, t->c, t->yv.at + (first + i) * t->yv.stride,
                                   t->predicted + i * all + q * t->c);
                scores[q] += *score;
            }
    }
    for (q = 0; q < t->ridges; q++) scores[q] /= R(t->v);
    return status == RFM_OK && !rfm_finite(t->ridges, scores) ? RFM_ERANGE : status;
}

/* One round: alpha for every ridge; *best is the one that scores best. */
static int fit_solve(fitting *t, rfm_conv_step *step, size_t *best) {
    rfm_real used[RFM_CONV_RIDGES], scores[RFM_CONV_RIDGES], largest = R(0), target = R(0), cost;
    size_t q, i;
    rfm_ctx quiet = *t->ctx;
    int status = fit_kernel(t, &step->largest);
    quiet.tick = NULL;
    cost = R(t->n) * R(t->n) * R(t->n) / R(6);
    for (i = 0; i < t->n; i++) largest = max_real(largest, t->solve.diag[i]);
    for (i = 0; i < t->n; i++) target = max_real(target, rfm_largest(t->c, t->y.at + i * t->y.stride));
    for (q = 0; status == RFM_OK && q < t->ridges; q++) {
        used[q] = t->o->ridge[q];
        status = solve_ridge(&quiet, &t->solve, t->y, largest, target, &used[q]);
        for (i = 0; status == RFM_OK && i < t->n; i++)
            memcpy(t->trial + (i * t->ridges + q) * t->c, t->solve.x + i * t->c, t->c * sizeof *t->trial);
        if (status == RFM_OK) status = advance(t->progress, cost);
    }
    scores[0] = R(0);
    if (status == RFM_OK && t->v > 0) status = fit_scores(t, step->largest, scores);
    if (status != RFM_OK) return status;
    for (*best = 0, q = 1; q < t->ridges; q++)
        if (better(t->o->score, scores[q], scores[*best])) *best = q;
    step->score = scores[*best], step->ridge = used[*best];
    step->rank = (uint32_t)(t->has_p ? t->r : t->d);
    return RFM_OK;
}

/* R with R'R = S, for S that is positive semi-definite but for rounding. */
static int factor_sum(const rfm_ctx *ctx, factoring *s, size_t n, const rfm_real *sum, rfm_real *r, size_t *rank) {
    rfm_real tolerance = R(0);
    int status, tries;
    for (tries = 0;; tries++) {
        memcpy(s->a, sum, n * n * sizeof *sum);
        status = factor(ctx, s, n, tolerance, r, rank);
        if (status != RFM_ENOTPD || tries == 4) return status;
        tolerance = max_real(R(8) * tolerance, R(8) * R(n) * REAL_EPS);
    }
}

/* x times 2^-e, so that its largest number is from 1/4 to 1; returns e, a multiple of `step` (1, 2). Zeros have 0. */
static int to_unit(size_t n, rfm_real *x, int step) {
    size_t i;
    int e = 0;
    (void)RFM_MATH(frexp)(rfm_largest(n, x), &e);
    if (e % step != 0) e++;
    for (i = 0; e != 0 && i < n; i++) x[i] = RFM_MATH(ldexp)(x[i], -e);
    return e;
}

/* The next P from S (r, r): P = R P. With power 1 the AGOP B = P'P becomes the transform: P'P = B^2 = P'(P P')P. S and
 * P are taken in powers of two, 4^e and 2^e, as squares of S may leave the number range. S is of gradients times
 * `lift`, a power of two. */
static int next_metric(fitting *t, rfm_real unit, rfm_real lift) {
    const size_t d = t->d;
    rfm_real norm = R(0), most, factor_of = R(1);
    rfm_ctx quiet = *t->ctx;
    size_t r = t->has_p ? t->r : d, rank = 0, i;
    int status = rfm_finite(r * r, t->s) ? RFM_OK : RFM_ERANGE, squared, e = 0, more = 0;
    quiet.tick = NULL;
    if (status == RFM_OK) {
        mirror(r, t->s, r);
        (void)RFM_MATH(frexp)(lift, &more); /* 2^(more - 1) */
        e = to_unit(r * r, t->s, 2) / 2 - (more - 1);
        status = factor_sum(&quiet, &t->factor, r, t->s, t->factor.p, &rank);
    }
    for (squared = 0; status == RFM_OK && squared <= t->o->power; squared++) {
        const rfm_real *left = t->factor.p;
        if (t->has_p)
            status = in_range(rfm_gemm(&quiet, RFM_NN, R(1), rfm_cview(left, rank, r), rfm_cview(t->metric, r, d), R(0),
                                       rfm_view(t->next, rank, d)));
        else
            memcpy(t->next, left, rank * d * sizeof *left);
        memcpy(t->metric, t->next, rank * d * sizeof *left);
        t->has_p = 1, t->r = r = rank;
        if (status != RFM_OK) break;
        e = (squared ? 2 * e : e) + to_unit(r * d, t->metric, 1); /* R of P P' is in the unit of P */
        /* P P', for the norm of P'P and for its square */
        status = in_range(rfm_gemm(&quiet, RFM_NT, R(1), rfm_cview(t->metric, r, d), rfm_cview(t->metric, r, d), R(0),
                                   rfm_view(t->s, r, r)));
        if (status == RFM_OK && squared < t->o->power)
            status = factor_sum(&quiet, &t->factor, r, t->s, t->factor.p, &rank);
    }
    if (status != RFM_OK) return status;
    most = rfm_largest(r * r, t->s);
    if (!(most > R(0))) return RFM_OK;
    if (t->o->scale) {
        for (i = 0; i < r * r; i++) norm += t->s[i] / most * (t->s[i] / most);
        factor_of = R(1) / (RFM_MATH(sqrt)(most) * RFM_MATH(sqrt)(RFM_MATH(sqrt)(norm)));
        e = 0;
    } else {
        factor_of = RFM_MATH(frexp)(unit, &more);
        e += more;
        if (t->o->power) factor_of *= factor_of, e += more;
    }
    for (i = 0; i < r * d; i++) t->metric[i] = RFM_MATH(ldexp)(t->metric[i] * factor_of, e);
    return rfm_finite(r * d, t->metric) && rfm_largest(r * d, t->metric) >= REAL_LEAST ? RFM_OK : RFM_ERANGE;
}

/* S of the gradients times *lift, which makes up for gradients whose squares are too small: all over again. */
static int lifted_sum(fitting *t, int zeros, image_set z, rfm_real *lift) {
    rfm_arena *arena = t->ctx->arena;
    rfm_real most;
    gradient_use use;
    size_t i;
    engine e;
    work w;
    int status;
    memset(&use, 0, sizeof use);
    use.s = t->s;
    for (use.lift = R(1);; use.lift *= UNIT_STEP) {
        memset(t->s, 0, t->d * t->d * sizeof *t->s);
        fit_work(t, &w);
        gradient_layout(arena, t->ctx, t->f, t->n, t->points, t->c, 0, &e);
        status = gradients(&w, &e, set_of(t->x), rfm_cview(t->weights, t->n, t->c), z, &use);
        rfm_arena_release(arena, t->used);
        most = rfm_largest(w.r * w.r, t->s);
        if (status != RFM_OK || zeros || !(most < NORM_LEAST) || use.lift >= UNIT_MOST) break;
    }
    *lift = use.lift;
    if (status != RFM_OK) return status;
    /* Gradients themselves below the normal range. */
    if (most > R(0) && RFM_MATH(sqrt)(most) < REAL_LEAST * use.lift) return RFM_ERANGE;
    for (i = 0; i < w.r * w.r; i++) t->s[i] /= R(t->points);
    return RFM_OK;
}

/* M from the gradients of the best alpha. The gradients are those of f = K / largest alpha. */
static int fit_update(fitting *t, size_t best, rfm_real largest) {
    image_set z = set_of(t->x);
    rfm_real unit = R(0), lift;
    size_t i, k;
    int status, zeros;
    for (i = 0; i < t->n; i++)
        for (k = 0; k < t->c; k++) {
            t->weights[i * t->c + k] = t->trial[(i * t->ridges + best) * t->c + k];
            unit = max_real(unit, RFM_MATH(fabs)(t->weights[i * t->c + k]));
        }
    zeros = !(unit > R(0));
    if (zeros) unit = R(1);
    for (i = 0; i < t->n * t->c; i++) t->weights[i] /= unit;
    z.count = t->points;
    if (t->points < t->n) z.pick = t->picked;
    status = lifted_sum(t, zeros, z, &lift);
    return status == RFM_OK ? next_metric(t, unit / largest, lift) : status;
}

/* `points` of the rows, without replacement. */
static void pick_points(fitting *t) {
    uint32_t state = rfm_random_start(t->o->seed), swap;
    size_t i, j;
    for (i = 0; i < t->n; i++) t->picked[i] = (uint32_t)i;
    for (i = 0; i < t->points && t->points < t->n; i++) {
        j = i + rfm_random(&state) % (t->n - i);
        swap = t->picked[i], t->picked[i] = t->picked[j], t->picked[j] = swap;
    }
}

/* Rounds 0..T; the best one goes to the store. */
static int fit_rounds(fitting *t, rfm_conv_step *path, size_t *chosen, rfm_real *score, rfm_conv_model *model) {
    const size_t pixels = rfm_conv_pixels(t->f);
    rfm_arena *arena = t->ctx->arena;
    rfm_conv_step step;
    size_t round, best = 0, i, r = t->d;
    int kept_p = 0, status = RFM_OK;
    work w;
    *score = R(0), *chosen = 0;
    if (rows_there(t->start)) {
        status = factor_metric(t->ctx, &t->factor, t->start, &t->r);
        if (status != RFM_OK) return status;
        memcpy(t->metric, t->factor.p, t->r * t->d * sizeof *t->metric);
        t->has_p = 1;
    }
    pick_points(t);
    for (round = 0; round <= t->o->rounds; round++) {
        status = fit_solve(t, &step, &best);
        if (status != RFM_OK) return status;
        if (path != NULL) path[round] = step;
        if (round == 0 || t->o->select == RFM_SELECT_LAST || better(t->o->score, step.score, *score)) {
            *score = step.score, *chosen = round;
            if (t->held_best != NULL && t->v > 0) memcpy(t->held_best, t->held + best * t->v, t->v * sizeof *t->held);
            for (i = 0; i < t->n * t->c; i++)
                t->alpha[i] = t->trial[(i / t->c * t->ridges + best) * t->c + i % t->c] / step.largest;
            kept_p = t->has_p, r = t->has_p ? t->r : t->d;
            if (kept_p) memcpy(t->p, t->metric, r * t->d * sizeof *t->p);
        }
        if (round < t->o->rounds) status = fit_update(t, best, step.largest);
        if (status != RFM_OK) return status;
    }
    if (!rfm_finite(t->n * t->c, t->alpha)) return RFM_ERANGE;
    for (i = 0; i < t->n; i++) memcpy(t->images + i * pixels, t->x.at + i * t->x.stride, pixels * sizeof *t->images);
    work_start(t->ctx, t->f, kept_p ? t->p : NULL, r, t->progress, &w);
    {
        int *jobs = take_status(arena, t->ctx);
        unsigned char *memory = (unsigned char *)rfm_arena_take(arena, rfm_workers(t->ctx), norm_bytes(t->ctx, t->f));
        status = image_norms(&w, set_of(t->x), t->norms, memory, jobs);
        rfm_arena_release(arena, t->used);
    }
    memset(model, 0, sizeof *model);
    model->n = t->n, model->c = t->c, model->r = r, model->input = *t->f, model->f = *t->f, model->task = t->o->task;
    model->p = kept_p ? t->p : NULL;
    model->images = t->images, model->norms = t->norms, model->alpha = t->alpha;
    return status;
}

static rfm_conv conv_of(size_t channels, size_t height, size_t width, const rfm_conv_options *o) {
    rfm_conv f;
    f.channels = channels, f.height = height, f.width = width;
    f.patch = o->patch, f.padded = o->padded, f.kernel = o->kernel, f.depth = o->depth, f.bandwidth = o->bandwidth;
    return f;
}

/* ==== 15. Deep ConvRFM ==========================================================================
 *
 * Level l is a ConvRFM of the images after l layers of filters. Each is made in scratch; the one to be kept is copied
 * to the store.
 */

typedef struct {
    const rfm_ctx *ctx;
    const rfm_data *data;
    size_t levels; /* layers + 1 */
    rfm_conv f[RFM_CONV_LAYERS + 1];
    rfm_conv_options o[RFM_CONV_LAYERS + 1];
    size_t n, v, c;
    /* store */
    rfm_real *filters[RFM_CONV_LAYERS];   /* (count, D) */
    rfm_real *images, *norms, *alpha, *p; /* room for the largest level */
    size_t store_end;
    /* scratch */
    rfm_real *x[2], *xv[2]; /* feature images of this level and the next */
    rfm_real *held[2];      /* (v) scores of each validation row, of the model and of this level */
    unsigned char *made;    /* a level's arrays */
    size_t made_bytes;
} stack;

static int stack_start(const rfm_ctx *ctx, const rfm_conv *f, const rfm_data *data, const rfm_conv_options *o,
                       stack *s) {
    const int laplace = o->kernel == RFM_CONV_LAPLACE;
    size_t l;
    int status;
    memset(s, 0, sizeof *s);
    if (o->layers > RFM_CONV_LAYERS || !between(0, o->best, 1)) return RFM_EVALUE;
    if (o->layers > 0 && (o->filters == 0 || o->filters > UINT32_MAX)) return RFM_EVALUE;
    if (!laplace && o->depth >= 1 && o->layers >= (size_t)o->depth) return RFM_EVALUE;
    status = check_fit(f, data, o);
    if (status == RFM_OK && o->best && o->layers > 0 && !rows_there(data->x_validation)) status = RFM_EVALUE;
    s->ctx = ctx, s->data = data, s->levels = o->layers + 1;
    s->n = data->x.rows, s->c = data->y.cols, s->v = rows_there(data->x_validation) ? data->x_validation.rows : 0;
    for (l = 0; status == RFM_OK && l < s->levels; l++) {
        s->o[l] = *o;
        s->f[l] = l == 0 ? *f : after_layer(&s->f[l - 1], o->filters);
        if (!laplace && l > 0) s->f[l].depth--;
        s->o[l].depth = s->f[l].depth;
        status = check_counts(&s->f[l], s->n, 1, s->c);
    }
    return status;
}

/* A lead of independent differences has the standard error sqrt(sum d^2). */
int rfm_conv_leads(int score, size_t v, const rfm_real *a, const rfm_real *b) {
    rfm_real most = R(0), lead = R(0), square = R(0);
    size_t i;
    for (i = 0; i < v; i++) most = max_real(most, RFM_MATH(fabs)(a[i] - b[i]));
    for (i = 0; most > R(0) && i < v; i++) {
        const rfm_real d = (score == RFM_SCORE_SQUARED ? b[i] - a[i] : a[i] - b[i]) / most;
        lead += d, square += d * d;
    }
    return lead > R(0) && lead * lead > square;
}

/* The data of a level: the caller's, or feature images. */
static rfm_data level_data(const stack *s, size_t l) {
    rfm_data data = *s->data;
    if (l == 0) return data;
    memset(&data.start, 0, sizeof data.start);
    data.x = rfm_cview(s->x[l % 2], s->n, rfm_conv_pixels(&s->f[l]));
    if (s->v > 0) data.x_validation = rfm_cview(s->xv[l % 2], s->v, rfm_conv_pixels(&s->f[l]));
    return data;
}

/* A level's fit. Sizes are right also where there is no memory yet. */
static void level_start(const stack *s, size_t l, fitting *t) {
    const rfm_data data = level_data(s, l);
    fit_start(s->ctx, &s->f[l], &data, &s->o[l], t);
    t->v = s->v, t->ridges = s->v > 0 ? s->o[l].ridges : 1;
    if (s->v > 0) t->xv = data.x_validation, t->yv = data.y_validation;
}

static int stack_layout(rfm_arena *store, rfm_arena *arena, stack *s) {
    size_t pixels = 0, places = 0, patch = 0, odd = 0, even = 0, used, l;
    for (l = 0; l < s->levels; l++) {
        const size_t size = rfm_conv_pixels(&s->f[l]);
        if (l + 1 < s->levels) s->filters[l] = rfm_arena_reals(store, s->o[0].filters, rfm_conv_patch(&s->f[l]));
        pixels = max_size(pixels, size), places = max_size(places, rfm_conv_places(&s->f[l]));
        patch = max_size(patch, rfm_conv_patch(&s->f[l]));
        if (l > 0 && l % 2 == 1) odd = max_size(odd, size);
        if (l > 0 && l % 2 == 0) even = max_size(even, size);
    }
    s->images = rfm_arena_reals(store, s->n, pixels);
    s->norms = rfm_arena_reals(store, s->n, places);
    s->alpha = rfm_arena_reals(store, s->n, s->c);
    s->p = rfm_arena_reals(store, patch, patch);
    s->store_end = store->used;
    if (store->status != RFM_OK) return store->status;
    s->x[0] = rfm_arena_reals(arena, even > 0 ? s->n : 0, even);
    s->x[1] = rfm_arena_reals(arena, odd > 0 ? s->n : 0, odd);
    s->xv[0] = rfm_arena_reals(arena, even > 0 ? s->v : 0, even);
    s->xv[1] = rfm_arena_reals(arena, odd > 0 ? s->v : 0, odd);
    s->held[0] = rfm_arena_reals(arena, 1, s->v);
    s->held[1] = rfm_arena_reals(arena, 1, s->v);
    for (s->made_bytes = 0, l = 0; l < s->levels; l++) {
        rfm_arena kept, measure;
        fitting t;
        rfm_arena_measure(&kept);
        rfm_arena_measure(&measure);
        level_start(s, l, &t);
        at_least(&s->made_bytes, fit_layout(&kept, &measure, &t), &kept.peak);
        if (s->made_bytes == SIZE_MAX) break;
    }
    s->made = (unsigned char *)rfm_arena_take(arena, s->made_bytes, 1);
    used = arena->used;
    for (l = 0; arena->status == RFM_OK && l < s->levels; l++) {
        rfm_arena kept;
        fitting t;
        feature_space space;
        rfm_arena_measure(&kept);
        level_start(s, l, &t);
        (void)fit_layout(&kept, arena, &t);
        if (arena->status == RFM_OK) rfm_arena_release(arena, used);
        if (l + 1 < s->levels) features_layout(arena, s->ctx, &s->f[l], s->o[0].filters, &space);
        if (arena->status == RFM_OK) rfm_arena_release(arena, used);
    }
    return arena->status;
}

/* A level becomes the model: its arrays are copied to the store. */
static void keep_level(stack *s, size_t level, const rfm_conv_model *made, rfm_conv_model *model) {
    const rfm_conv *f = &s->f[level];
    size_t l;
    memcpy(s->images, made->images, s->n * rfm_conv_pixels(f) * sizeof *s->images);
    memcpy(s->norms, made->norms, s->n * rfm_conv_places(f) * sizeof *s->norms);
    memcpy(s->alpha, made->alpha, s->n * s->c * sizeof *s->alpha);
    if (made->p != NULL) memcpy(s->p, made->p, made->r * rfm_conv_patch(f) * sizeof *s->p);
    *model = *made;
    model->images = s->images, model->norms = s->norms, model->alpha = s->alpha, model->p = made->p ? s->p : NULL;
    model->layers = level, model->input = s->f[0], model->input.depth = f->depth;
    for (l = 0; l < level; l++) model->layer[l].count = s->o[0].filters, model->layer[l].filters = s->filters[l];
}

/* Filters from a level's M, and the images of the next level. */
static int next_level(stack *s, size_t l, const rfm_conv_model *made) {
    rfm_arena *arena = s->ctx->arena;
    const size_t used = arena->used, d = rfm_conv_patch(&s->f[l]), pixels = rfm_conv_pixels(&s->f[l + 1]);
    const rfm_data data = level_data(s, l);
    const rfm_mat filters = rfm_view(s->filters[l], s->o[0].filters, d);
    feature_space space;
    int status;
    random_filters(made->p, made->r, d, s->o[0].seed + 1 + (uint32_t)l, filters);
    features_layout(arena, s->ctx, &s->f[l], filters.rows, &space);
    status = make_features(s->ctx, &space, &s->f[l], rfm_const(filters), 1, set_of(data.x), s->x[(l + 1) % 2], pixels);
    if (status == RFM_OK && s->v > 0)
        status = make_features(s->ctx, &space, &s->f[l], rfm_const(filters), 1, set_of(data.x_validation),
                               s->xv[(l + 1) % 2], pixels);
    rfm_arena_release(arena, used);
    return status;
}

static int stack_levels(stack *s, rfm_conv_model *model, rfm_conv_report *report) {
    rfm_arena *arena = s->ctx->arena;
    const size_t used = arena->used, steps = s->o[0].rounds + 1;
    progress done;
    size_t l, chosen, i;
    int status = RFM_OK;
    done.ctx = s->ctx, done.done = R(0), done.total = R(0);
    for (l = 0; l < s->levels; l++) {
        fitting t;
        level_start(s, l, &t);
        done.total += fit_cost(&t);
    }
    for (l = 0; status == RFM_OK && l < s->levels; l++) {
        rfm_conv_step *path = report != NULL && report->path != NULL ? report->path + l * steps : NULL;
        rfm_conv_model made;
        rfm_real score = R(0);
        rfm_arena kept;
        fitting t;
        (void)rfm_arena_init(&kept, s->made, s->made_bytes);
        level_start(s, l, &t);
        t.progress = &done, t.held_best = s->held[l > 0];
        status = fit_layout(&kept, arena, &t);
        if (status == RFM_OK) status = fit_rounds(&t, path, &chosen, &score, &made);
        rfm_arena_release(arena, used);
        if (status != RFM_OK) break;
        if (l == 0 || !s->o[0].best || rfm_conv_leads(s->o[0].score, s->v, s->held[1], s->held[0])) {
            for (i = 0; l > 0 && i < s->v; i++) s->held[0][i] = s->held[1][i];
            keep_level(s, l, &made, model);
            if (report != NULL) report->best = chosen, report->layers = l;
        }
        if (report != NULL) report->scores[l] = score;
        for (i = 0; report != NULL && report->held != NULL && i < s->v; i++)
            report->held[l * s->v + i] = s->held[l > 0][i];
        if (l + 1 < s->levels) status = next_level(s, l, &made);
    }
    for (i = s->levels; report != NULL && i <= RFM_CONV_LAYERS; i++) report->scores[i] = R(0);
    return status;
}

/* No filters: the arrays are made where they stay. */
static int plain_layout(rfm_arena *store, rfm_arena *arena, stack *s, fitting *t) {
    int status;
    level_start(s, 0, t);
    status = fit_layout(store, arena, t);
    s->store_end = t->store_end;
    return status;
}

static int plain_fit(fitting *t, rfm_conv_model *model, rfm_conv_report *report) {
    progress done;
    rfm_real score;
    size_t chosen, l;
    int status;
    done.ctx = t->ctx, done.done = R(0), done.total = fit_cost(t);
    t->progress = &done, t->held_best = report != NULL ? report->held : NULL;
    status = fit_rounds(t, report != NULL ? report->path : NULL, &chosen, &score, model);
    if (status != RFM_OK || report == NULL) return status;
    report->best = chosen, report->layers = 0;
    for (l = 0; l <= RFM_CONV_LAYERS; l++) report->scores[l] = l == 0 ? score : R(0);
    return RFM_OK;
}

int rfm_conv_fit_need(const rfm_ctx *ctx, size_t channels, size_t height, size_t width, const rfm_data *data,
                      const rfm_conv_options *options, size_t *scratch, size_t *store) {
    rfm_arena measure, kept;
    fitting t;
    rfm_conv f;
    stack s;
    int status;
    if (ctx == NULL || data == NULL || options == NULL || scratch == NULL || store == NULL) return RFM_ENULL;
    f = conv_of(channels, height, width, options);
    status = stack_start(ctx, &f, data, options, &s);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    rfm_arena_measure(&kept);
    status = s.levels > 1 ? stack_layout(&kept, &measure, &s) : plain_layout(&kept, &measure, &s, &t);
    if (status == RFM_OK) *scratch = measure.peak, *store = kept.peak;
    return status;
}

int rfm_conv_fit(const rfm_ctx *ctx, size_t channels, size_t height, size_t width, const rfm_data *data,
                 const rfm_conv_options *options, rfm_arena *store, rfm_conv_model *model, rfm_conv_report *report) {
    rfm_conv_model made;
    fitting t;
    rfm_conv f;
    stack s;
    size_t kept, used;
    int status;
    if (ctx == NULL || data == NULL || options == NULL || store == NULL || model == NULL) return RFM_ENULL;
    status = check_arena(ctx->arena);
    if (status == RFM_OK) status = check_arena(store);
    f = conv_of(channels, height, width, options);
    if (status == RFM_OK) status = stack_start(ctx, &f, data, options, &s);
    if (status == RFM_OK) status = check_fit_values(data);
    if (status != RFM_OK) return status;
    kept = store->used, used = ctx->arena->used;
    if (s.levels > 1) {
        status = stack_layout(store, ctx->arena, &s);
        if (status == RFM_OK) status = stack_levels(&s, &made, report);
    } else {
        status = plain_layout(store, ctx->arena, &s, &t);
        if (status == RFM_OK) status = plain_fit(&t, &made, report);
    }
    if (ctx->arena != store) (void)leave(ctx->arena, used, status);
    if (status != RFM_OK) return leave(store, kept, status);
    rfm_arena_release(store, s.store_end);
    *model = made;
    return RFM_OK;
}

/* ==== 16. Writing models ======================================================================== */

static int model_plan(const rfm_conv_model *m, size_t record_bytes, blob_plan *plan) {
    int status = check_model(m);
    if (status == RFM_OK && !between(RFM_REGRESS, m->task, RFM_CLASSIFY)) status = RFM_EVALUE;
    if (status != RFM_OK) return status;
    return plan_blob(m, m->p != NULL, m->offset != NULL, names_bytes(m->class_names, m->c == 1 ? 2 : m->c),
                     record_bytes, plan);
}

int rfm_conv_size(const rfm_conv_model *model, size_t record_bytes, size_t *bytes) {
    blob_plan plan;
    int status = bytes == NULL ? RFM_ENULL : model_plan(model, record_bytes, &plan);
    if (status == RFM_OK) *bytes = plan.total;
    return status;
}

static void put_head(const rfm_conv_model *m, const blob_plan *plan, unsigned char *b) {
    const rfm_conv *f = &m->input;
    size_t l;
    memset(b, 0, plan->total);
    rfm_put_u32(b, BLOB_MAGIC);
    rfm_put_u32(b + 8, (uint32_t)plan->total);
    b[12] = BLOB_VERSION, b[14] = sizeof(rfm_real);
    b[15] = (unsigned char)((m->p != NULL ? HAS_P : 0) | (m->offset != NULL ? HAS_OFFSET : 0) |
                            (f->padded ? HAS_PADDING : 0));
    b[16] = (unsigned char)f->kernel, b[17] = (unsigned char)f->depth;
    b[18] = (unsigned char)m->task, b[19] = (unsigned char)m->layers;
    rfm_put_u32(b + 20, (uint32_t)m->n);
    rfm_put_u32(b + 24, (uint32_t)m->c);
    rfm_put_u32(b + 28, (uint32_t)m->r);
    rfm_put_u32(b + 32, (uint32_t)f->channels);
    rfm_put_u32(b + 36, (uint32_t)f->height);
    rfm_put_u32(b + 40, (uint32_t)f->width);
    rfm_put_u32(b + 44, (uint32_t)f->patch);
    memcpy(b + 48, &f->bandwidth, sizeof f->bandwidth);
    for (l = 0; l < m->layers; l++) rfm_put_u32(b + 56 + 4 * l, (uint32_t)m->layer[l].count);
    rfm_put_u32(b + 72, (uint32_t)plan->bytes[SECTION_NAMES]);
    rfm_put_u32(b + 76, (uint32_t)plan->bytes[SECTION_RECORD]);
}

int rfm_conv_write(const rfm_conv_model *m, const void *record, size_t record_bytes, void *blob, size_t size) {
    unsigned char *b = (unsigned char *)blob;
    const void *from[SECTIONS];
    blob_plan plan;
    size_t i;
    int status = blob == NULL || (record == NULL && record_bytes > 0) ? RFM_ENULL : model_plan(m, record_bytes, &plan);
    if (status != RFM_OK) return status;
    if ((uintptr_t)blob % RFM_ALIGN != 0) return RFM_EALIGN;
    if (record_bytes > 0 && !rfm_record_right(record, record_bytes)) return RFM_EVALUE;
    if (size < plan.total) return RFM_EARENA;
    if (!little_endian()) return RFM_ETYPE;
    memset(from, 0, sizeof from);
    from[SECTION_P] = m->p, from[SECTION_IMAGES] = m->images, from[SECTION_NORMS] = m->norms;
    from[SECTION_ALPHA] = m->alpha, from[SECTION_OFFSET] = m->offset;
    for (i = 0; i < m->layers; i++) from[SECTION_FILTERS + i] = m->layer[i].filters;
    from[SECTION_NAMES] = m->class_names, from[SECTION_RECORD] = record;
    for (i = 0; i < SECTION_NAMES; i++)
        if (!rfm_finite(plan.bytes[i] / sizeof(rfm_real), (const rfm_real *)from[i])) return RFM_EFINITE;
    if (!norms_right(plan.bytes[SECTION_NORMS] / sizeof(rfm_real), m->norms)) return RFM_EVALUE;
    if (!rfm_finite(1, &m->input.bandwidth)) return RFM_EFINITE;
    put_head(m, &plan, b);
    for (i = 0; i < SECTIONS; i++)
        if (plan.bytes[i] > 0) memcpy(b + plan.at[i], from[i], plan.bytes[i]);
    rfm_put_u32(b + 4, rfm_crc32(0, b + COVERED, plan.total - COVERED));
    return RFM_OK;
}

const void *rfm_conv_record(const void *blob, size_t size, size_t *bytes) {
    const unsigned char *b = (const unsigned char *)blob;
    rfm_conv_model m;
    blob_plan plan;
    if (bytes == NULL || check_bytes(blob, size) != RFM_OK || read_head(b, &m, &plan) != RFM_OK) return NULL;
    if (plan.bytes[SECTION_RECORD] == 0) return NULL;
    if (!rfm_record_right(b + plan.at[SECTION_RECORD], plan.bytes[SECTION_RECORD])) return NULL;
    *bytes = plan.bytes[SECTION_RECORD];
    return b + plan.at[SECTION_RECORD];
}

#endif /* RFM_NO_TRAIN */

#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *take(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    if (p == NULL) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return p;
}

static double *doubles(size_t count) { return take(count, sizeof(double)); }

double *ref_doubles(rfm_cmat a) {
    double *to = a.at == NULL ? NULL : doubles(a.rows * a.cols);
    size_t i, j;
    for (i = 0; to != NULL && i < a.rows; i++)
        for (j = 0; j < a.cols; j++) to[i * a.cols + j] = (double)a.at[i * a.stride + j];
    return to;
}

double ref_largest(size_t n, const double *a) {
    double most = 0;
    size_t i;
    for (i = 0; i < n; i++) most = fmax(most, fabs(a[i]));
    return most;
}

double ref_difference(size_t n, const double *a, const double *b) {
    double most = 0;
    size_t i;
    for (i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= most)) most = fabs(a[i] - b[i]); /* a NaN stays */
    return most;
}

double ref_bound(size_t n, const double *plain, const double *noisy, double noise) {
    double most = ref_largest(n, plain), bound = 32 * ref_difference(n, plain, noisy) + 64 * noise * most;
    return bound <= most / 10 ? bound : -1;
}

/* ---- noise ---------------------------------------------------------------------------------- */

/* A number in [-1, 1] that depends on both arguments. */
static double scatter(uint64_t a, uint64_t b) {
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b + 1;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)(x >> 11) / 4503599627370496.0 - 1;
}

static double noise_at(const ref_fit *f, uint64_t a, uint64_t b) { return f->noise * scatter(a + (f->turn << 40), b); }
static double off(const ref_fit *f, double value, size_t a, size_t b) { return value * (1 + noise_at(f, a, b)); }

/* Rows that are equal stay so. */
static void move_rows(const ref_fit *f, size_t rows, double *x) {
    size_t i, j;
    for (i = 0; i < rows; i++) {
        double *row = x + i * f->d;
        uint64_t key = 0, bits;
        for (j = 0; j < f->d; j++) memcpy(&bits, row + j, 8), key = (key ^ bits) * UINT64_C(0x100000001b3) + j;
        for (j = 0; j < f->d; j++) row[j] += f->most[j] * noise_at(f, key, j);
    }
}

double *ref_rows(const ref_fit *f, rfm_cmat rows) {
    double *x = ref_doubles(rows);
    if (x != NULL) move_rows(f, rows.rows, x);
    return x;
}

/* ---- linear algebra ------------------------------------------------------------------------- */

/* out (m, d) = Z M; M is symmetric. */
static void times_metric(size_t m, size_t d, const double *z, const double *metric, double *out) {
    size_t i, j, p;
    memset(out, 0, m * d * sizeof *out);
    for (i = 0; i < m; i++)
        for (p = 0; p < d; p++)
            for (j = 0; j < d; j++) out[i * d + j] += z[i * d + p] * metric[p * d + j];
}

/* A = L L' in its lower triangle; 0: not positive definite. */
static int factor(size_t n, double *a) {
    size_t i, j, p;
    for (i = 0; i < n; i++)
        for (j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (p = 0; p < j; p++) sum -= a[i * n + p] * a[j * n + p];
            if (i == j && !(sum > 0)) return 0;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return 1;
}

/* b (n), `step` apart, becomes A^-1 b. */
static void solve_factored(size_t n, const double *a, double *b, size_t step) {
    size_t i, p;
    for (i = 0; i < n; i++) {
        for (p = 0; p < i; p++) b[i * step] -= a[i * n + p] * b[p * step];
        b[i * step] /= a[i * n + i];
    }
    for (i = n; i-- > 0;) {
        for (p = i + 1; p < n; p++) b[i * step] -= a[p * n + i] * b[p * step];
        b[i * step] /= a[i * n + i];
    }
}

static void rotate(double *x, double *y, double c, double s) {
    const double t = *x;
    *x = c * t - s * *y;
    *y = s * t + c * *y;
}

void ref_eig(size_t n, double *a, double *v) {
    size_t sweep, p, q, i;
    for (i = 0; i < n * n; i++) v[i] = i / n == i % n;
    for (sweep = 0; sweep < 60; sweep++) {
        double rest = 0, all = 0;
        for (p = 0; p < n; p++)
            for (q = 0; q < n; q++) *(p == q ? &all : &rest) += a[p * n + q] * a[p * n + q];
        if (!(rest > 1e-36 * all)) return;
        for (p = 0; p < n; p++)
            for (q = p + 1; q < n; q++) {
                double theta, t, c, s;
                if (!(fabs(a[p * n + q]) > 0)) continue;
                theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
                t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
                c = 1 / sqrt(t * t + 1), s = t * c;
                for (i = 0; i < n; i++) rotate(&a[i * n + p], &a[i * n + q], c, s);
                for (i = 0; i < n; i++) rotate(&a[p * n + i], &a[q * n + i], c, s);
                for (i = 0; i < n; i++) rotate(&v[i * n + p], &v[i * n + q], c, s);
            }
    }
}

/* B (n, c) becomes A^+ B. Eigenvalues are kept above `low` of the largest, and dropped below 1e-14 of it; 0: some
 * are between. */
static int solve_pseudo(size_t n, size_t c, double *a, double *b, double low) {
    double *v = doubles(n * n), *x = doubles(n * c), most = 0;
    size_t i, j, k;
    int defined = 1;
    ref_eig(n, a, v);
    for (i = 0; i < n; i++) most = fmax(most, a[i * n + i]);
    for (i = 0; i < n; i++) {
        const double value = a[i * n + i];
        if (value <= 1e-14 * most) continue;
        if (value < low * most) defined = 0;
        for (k = 0; k < c; k++) {
            double sum = 0;
            for (j = 0; j < n; j++) sum += v[j * n + i] * b[j * c + k];
            for (j = 0; j < n; j++) x[j * c + k] += v[j * n + i] * sum / value;
        }
    }
    memcpy(b, x, n * c * sizeof *b);
    free(v);
    free(x);
    return defined;
}

/* ---- the kernel ----------------------------------------------------------------------------- */

static const double pi = 3.14159265358979323846;

double ref_phi(int kernel, double bandwidth, double exponent, double s2, double *w) {
    const double s = sqrt(s2), t = s / bandwidth, q = kernel == RFM_GAUSSIAN ? 2 : kernel == RFM_LAPLACE ? 1 : exponent;
    const double phi = exp(kernel == RFM_GAUSSIAN ? -t * t / 2 : -pow(t, q));
    if (w != NULL) *w = kernel == RFM_GAUSSIAN ? phi / bandwidth / bandwidth : s > 0 ? q * pow(t, q) / s / s * phi : 0;
    return phi;
}

/* (a - b)'M(a - b), with Ma and Mb. */
static double distance2(size_t d, const double *a, const double *ma, const double *b, const double *mb) {
    double sum = 0;
    size_t j;
    for (j = 0; j < d; j++) sum += (a[j] - b[j]) * (ma[j] - mb[j]);
    return sum > 0 ? sum : 0;
}

/* 1 - k1 at a small angle, with its digits: 2 sin^2(t / 2) - (sin t - t cos t) / pi. */
static double below_one(double t) {
    const double half = sin(t / 2), t2 = t * t;
    const double lag = t > 0.1 ? sin(t) - t * cos(t) : t * t2 * (1.0 / 3 - t2 * (1.0 / 30 - t2 * (1.0 / 840)));
    return 2 * half * half - lag / pi;
}

/* r or t of a network at an angle, and its derivative by the cosine in *slope; k0' is 0 where the sine is. */
static double network(int kernel, size_t depth, double angle, double *slope) {
    double r = cos(angle), t = r, dr = 1, dt = 1;
    for (; depth > 0; depth--) {
        const double sine = sin(angle), k0 = (pi - angle) / pi, k1 = (r * (pi - angle) + sine) / pi;
        const double dk0 = sine > 1e-12 ? 1 / (pi * sine) : 0;
        dt = dt * k0 + t * dk0 * dr + k0 * dr, t = t * k0 + k1;
        dr = k0 * dr, r = k1;
        angle = 2 * asin(sqrt(fmin(1, below_one(angle) / 2)));
    }
    *slope = kernel == RFM_NTK ? dt : dr;
    return kernel == RFM_NTK ? t : r;
}

/* A row with Mx, and its length in M. */
typedef struct {
    const double *x, *mx;
    double length;
} placed;

static placed place(size_t d, const double *x, const double *mx) {
    placed p;
    double sum = 0;
    size_t j;
    for (j = 0; j < d; j++) sum += x[j] * mx[j];
    p.x = x, p.mx = mx, p.length = sum > 0 ? sqrt(sum) : 0;
    return p;
}

/* s^2 of x / a and z / b in M, or s for RFM_L1; `sign` -1 adds them instead. */
static double apart(const ref_fit *f, const double *metric, const placed *x, double a, const placed *z, double b,
                    double sign) {
    double sum = 0;
    size_t j;
    for (j = 0; j < f->d; j++) {
        const double diff = x->x[j] / a - sign * z->x[j] / b;
        sum += f->o.kernel == RFM_L1 ? sqrt(metric[j * (f->d + 1)]) * fabs(diff)
                                     : diff * (x->mx[j] / a - sign * z->mx[j] / b);
    }
    return sum > 0 ? sum : 0;
}

/* K(x, z), and its gradient by z in g (d) if that is not NULL; `noise` is the share that its terms are off. */
static double kernel_at(const ref_fit *f, const ref_step *s, const placed *x, const placed *z, double noise,
                        double *g) {
    const int unit = f->o.unit_rows, layers = rfm_kernels[f->o.kernel].layers;
    const double a = unit || layers ? x->length : 1, b = unit || layers ? z->length : 1;
    double distance, w, value, along = 0;
    size_t j;
    if (layers && !(a > 0 && b > 0)) {
        for (j = 0; g != NULL && j < f->d; j++) g[j] = 0;
        return 0;
    }
    distance = apart(f, s->metric, x, a > 0 ? a : 1, z, b > 0 ? b : 1, 1);
    if (layers) {
        const double other = apart(f, s->metric, x, a, z, b, -1), near = 1e-26;
        const double angle = distance < near ? 0 : other < near ? pi : 2 * atan2(sqrt(distance), sqrt(other));
        const double size = unit ? 1 / (a * b) : 1;
        value = network(f->o.kernel, (size_t)f->o.exponent, angle, &w), w *= 1 + noise;
        for (j = 0; g != NULL && j < f->d; j++)
            g[j] = size * (w * x->mx[j] + ((unit ? 0 : value) - cos(angle) * w * (1 - noise)) * a / b * z->mx[j]);
        return unit ? value : a * b * value;
    }
    value = ref_phi(f->o.kernel, s->bandwidth, (double)f->o.exponent,
                    f->o.kernel == RFM_L1 ? distance * distance : distance, &w);
    w *= 1 + noise;
    if (g == NULL) return value;
    for (j = 0; j < f->d; j++) {
        const double way = x->x[j] / (a > 0 ? a : 1) - z->x[j] / (b > 0 ? b : 1);
        g[j] = w * (x->mx[j] / (a > 0 ? a : 1) - z->mx[j] / (b > 0 ? b : 1));
        if (f->o.kernel == RFM_L1)
            g[j] = w * distance * sqrt(s->metric[j * (f->d + 1)]) * (double)((way > 0) - (way < 0));
        if (unit && b > 0) along += g[j] * z->x[j] / b;
    }
    for (j = 0; unit && j < f->d; j++) g[j] = b > 0 ? (g[j] - (1 - noise) * along * z->mx[j] / b) / b : 0;
    return value;
}

/* K of X and Z (m, d): (n, m). `each`, if there, is called with every pair's gradient. */
typedef void (*pair_function)(void *arg, size_t i, size_t j, const double *gradient);
static void kernel_of(const ref_fit *f, size_t t, size_t m, const double *z, double *phi, pair_function each,
                      void *arg) {
    const ref_step *s = &f->step[t];
    double *mx = doubles(f->n * f->d), *mz = doubles(m * f->d), *g = doubles(f->d);
    size_t i, j, d = f->d;
    times_metric(f->n, d, f->x, s->metric, mx);
    times_metric(m, d, z, s->metric, mz);
    for (i = 0; i < f->n; i++)
        for (j = 0; j < m; j++) {
            const placed x = place(d, f->x + i * d, mx + i * d), at = place(d, z + j * d, mz + j * d);
            const double value = kernel_at(f, s, &x, &at, noise_at(f, j, i), each != NULL ? g : NULL);
            phi[i * m + j] = off(f, value, i < j ? i : j, i < j ? j : i);
            if (each != NULL) each(arg, i, j, g);
        }
    free(mx), free(mz), free(g);
}

int ref_vague(const ref_fit *f, size_t t, size_t m, const double *z) {
    const double *metric = f->step[t].metric;
    size_t i, p, q, d = f->d;
    if (!f->o.unit_rows && !rfm_kernels[f->o.kernel].layers) return 0;
    for (i = 0; i < m; i++) {
        double sum = 0, terms = 0;
        for (p = 0; p < d; p++)
            for (q = 0; q < d; q++) {
                const double term = z[i * d + p] * metric[p * d + q] * z[i * d + q];
                sum += term, terms += fabs(term);
            }
        if (sum < 64 * f->noise * terms) return 1;
    }
    return 0;
}

/* sqrt((a - b)'M(a - b)); *terms becomes the same of absolute values. */
static double length_in(size_t d, const double *metric, const double *a, const double *b, double *terms) {
    double sum = 0;
    size_t p, q;
    *terms = 0;
    for (p = 0; p < d; p++)
        for (q = 0; q < d; q++) {
            const double term = (a[p] - b[p]) * metric[p * d + q] * (a[q] - b[q]);
            sum += term, *terms += fabs(term);
        }
    *terms = sqrt(*terms);
    return sqrt(fmax(sum, 0));
}

int ref_near(const ref_fit *f, size_t t, size_t m, const double *z, double noise) {
    const size_t d = f->d;
    const ref_step *s = &f->step[t];
    double *mean = doubles(d);
    size_t i, j;
    int near = 0;
    if (rfm_kernels[f->o.kernel].layers) m = 0;
    for (i = 0; i < f->n * d; i++) mean[i % d] += f->x[i] / (double)f->n;
    for (j = 0; j < m; j++)
        for (i = 0; i < f->n; i++) {
            double x, at, apart, ignored;
            (void)length_in(d, s->metric, f->x + i * d, mean, &x);
            (void)length_in(d, s->metric, z + j * d, mean, &at);
            x = 64 * noise * (x + at);
            if (!(x > 0.01 * s->bandwidth)) continue;
            apart = length_in(d, s->metric, f->x + i * d, z + j * d, &ignored);
            near |= apart < x && memcmp(f->x + i * d, z + j * d, d * sizeof *z) != 0;
        }
    free(mean);
    return near;
}

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* L, or L times the median distance of at most 128 rows, evenly spread; 1 for a network kernel. */
static double bandwidth_of(const ref_fit *f, const double *metric) {
    const size_t n = f->n, d = f->d, rows = n < 128 ? n : 128;
    double *mx, *all, median;
    size_t i, j, count = 0;
    if (rfm_kernels[f->o.kernel].layers) return 1;
    if (f->o.bandwidth_rule != RFM_BANDWIDTH_MEDIAN || n < 2) return (double)f->o.bandwidth;
    mx = doubles(n * d), all = doubles(rows * rows);
    times_metric(n, d, f->x, metric, mx);
    for (i = 0; i < rows; i++)
        for (j = 0; j < i; j++) {
            const size_t a = i * n / rows * d, b = j * n / rows * d;
            const placed x = place(d, f->x + a, mx + a), z = place(d, f->x + b, mx + b);
            const int unit = f->o.unit_rows;
            const double s =
                apart(f, metric, &x, unit && x.length > 0 ? x.length : 1, &z, unit && z.length > 0 ? z.length : 1, 1);
            all[count++] = f->o.kernel == RFM_L1 ? s : sqrt(s);
        }
    qsort(all, count, sizeof *all, rising);
    median = all[count / 2];
    free(mx);
    free(all);
    return (double)f->o.bandwidth * (median > 0 ? median : 1);
}

/* ---- one iterate ---------------------------------------------------------------------------- */

/* What a row adds to a score. */
static double row_score(const ref_fit *f, const double *y, const double *predicted) {
    double sum = 0;
    size_t k, best = 0, right = 0;
    if (f->o.score == RFM_SCORE_SQUARED) {
        for (k = 0; k < f->c; k++) sum += (y[k] - predicted[k]) * (y[k] - predicted[k]);
        return sum / (double)f->c;
    }
    if (f->c == 1) return (y[0] > 0) == (predicted[0] > 0);
    for (k = 1; k < f->c; k++) {
        if (predicted[k] > predicted[best]) best = k;
        if (y[k] > y[right]) right = k;
    }
    return best == right;
}

/* y_i - f(x_i) without row i is beta_i / (w_i^1/2 (A^-1)_ii), A = w^1/2 K w^1/2 + ridge I, factored. */
static double leave_one_out(const ref_fit *f, const double *a, const double *beta) {
    double *column = doubles(f->n), *predicted = doubles(f->c), sum = 0, total = 0;
    size_t i, k;
    for (i = 0; i < f->n; i++) {
        if (!(f->weights[i] > 0)) continue;
        memset(column, 0, f->n * sizeof *column);
        column[i] = 1;
        solve_factored(f->n, a, column, 1);
        for (k = 0; k < f->c; k++)
            predicted[k] = f->y[i * f->c + k] - beta[i * f->c + k] / sqrt(f->weights[i]) / column[i];
        sum += f->weights[i] * row_score(f, f->y + i * f->c, predicted);
        total += f->weights[i];
    }
    free(column);
    free(predicted);
    return sum / total;
}

/* alpha and the score, from M. */
static void solve_step(ref_fit *f, size_t t) {
    const size_t n = f->n, c = f->c;
    const int layers = rfm_kernels[f->o.kernel].layers;
    double ridge = (double)f->o.ridge;
    ref_step *s = &f->step[t];
    double *a = doubles(n * n);
    size_t i, j, k;
    s->bandwidth = bandwidth_of(f, s->metric);
    s->alpha = doubles(n * c);
    s->defined = !ref_vague(f, t, n, f->x) && !ref_vague(f, t, f->v, f->xv);
    kernel_of(f, t, n, f->x, a, NULL, NULL);
    s->largest = layers ? 0 : 1;
    for (i = 0; i < n; i++) s->largest = fmax(s->largest, a[i * (n + 1)]);
    if (layers && !(s->largest > 0)) s->largest = 1;
    if (f->o.ridge_rule == RFM_RIDGE_SHARE && layers) ridge *= s->largest;
    if (layers) s->reach = 1;
    for (k = 0; k < f->points; k++) /* rows without weight have no alpha, and no gradient is taken there */
        for (i = f->picked[k], j = 0; j < n; j++)
            if (!layers && f->weights[i] > 0 && f->weights[j] > 0 && a[i * n + j] < 1 - 4 * f->noise)
                s->reach = fmax(s->reach, a[i * n + j]);
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            a[i * n + j] = sqrt(f->weights[i] * f->weights[j]) * a[i * n + j] + (i == j ? ridge : 0);
    for (i = 0; i < n; i++)
        for (k = 0; k < c; k++) s->alpha[i * c + k] = sqrt(f->weights[i]) * f->y[i * c + k];
    if (ridge > 0) {
        s->defined &= factor(n, a);
        for (k = 0; k < c && s->defined; k++) solve_factored(n, a, s->alpha + k, c);
        if (s->defined && f->o.select == RFM_SELECT_LOO) s->score = leave_one_out(f, a, s->alpha);
    } else
        s->defined &= solve_pseudo(n, c, a, s->alpha, 10 * (double)n * f->noise);
    for (i = 0; i < n; i++)
        for (k = 0; k < c; k++) s->alpha[i * c + k] *= sqrt(f->weights[i]);
    if (f->v > 0 && f->o.select != RFM_SELECT_LOO) {
        double *predicted = doubles(f->v * c);
        ref_predict(f, t, f->v, f->xv, predicted);
        for (i = 0; i < f->v; i++) s->score += row_score(f, f->yv + i * c, predicted + i * c) / (double)f->v;
        free(predicted);
    }
    free(a);
}

/* To M (d, d): its rounding, where the terms of its diagonal add up to `square` (d). */
static void add_noise(const ref_fit *f, double *metric, const double *square) {
    const size_t d = f->d;
    size_t p, j;
    for (p = 0; p < d; p++)
        for (j = p; j < d; j++) {
            const double noise = noise_at(f, p, j) * sqrt(square[p] * square[j]);
            if (f->o.metric != RFM_FULL && j != p) continue;
            metric[p * d + j] += j == p ? fabs(noise) : noise;
            metric[j * d + p] = metric[p * d + j];
        }
}

/* M of step t + 1: the weighted mean over the gradient points of the outer products. */
static void next_metric(ref_fit *f, size_t t) {
    const size_t d = f->d, c = f->c, m = f->points;
    double *z = doubles(m * d), *g = doubles(m * c * d), *next = doubles(d * d), *mean = doubles(c * d),
           *square = doubles(d);
    double total = 0, most = 0, trace = 0, scale = 1;
    size_t i, j, k, p;
    for (i = 0; i < m; i++) {
        memcpy(z + i * d, f->x + f->picked[i] * d, d * sizeof *z);
        total += f->weights[f->picked[i]];
    }
    ref_gradients(f, t, m, z, g);
    for (i = 0; i < m && total > 0; i++)
        for (j = 0; j < c * d; j++) {
            square[j % d] += f->weights[f->picked[i]] / total * g[i * c * d + j] * g[i * c * d + j];
            mean[j] += f->weights[f->picked[i]] / total * g[i * c * d + j];
        }
    for (i = 0; i < m && total > 0; i++)
        for (k = 0; k < c; k++)
            for (p = 0; p < d; p++)
                for (j = 0; j < d; j++) {
                    const double *h = g + (i * c + k) * d, *shift = mean + k * d;
                    const double a = f->o.center ? h[p] - shift[p] : h[p], b = f->o.center ? h[j] - shift[j] : h[j];
                    if (f->o.metric == RFM_FULL || j == p) next[p * d + j] += f->weights[f->picked[i]] / total * a * b;
                }
    add_noise(f, next, square); /* a mean that is taken out may leave nothing but rounding */
    for (j = 0; j < d; j++) most = fmax(most, next[j * d + j]), trace += next[j * d + j];
    f->step[t + 1].trace = trace;
    if (f->o.scale == RFM_SCALE_MAX && most > 0) scale = 1 / most;
    if (f->o.scale == RFM_SCALE_TRACE && trace > 0) scale = (double)d / trace;
    for (j = 0; j < d * d; j++) next[j] *= scale;
    f->step[t + 1].metric = next;
    free(z), free(g), free(mean), free(square);
}

/* ---- the fit -------------------------------------------------------------------------------- */

/* The rows of the gradient points, of those with weight: the library's stream of random numbers, which is not part
 * of the mathematics. */
static void pick(ref_fit *f) {
    uint32_t state = f->o.seed * UINT32_C(2654435761) + UINT32_C(0x9e3779b9);
    const int all = f->points == f->n;
    size_t i, j, swap, count = 0;
    if (state == 0) state = 1;
    f->picked = take(f->n, sizeof *f->picked);
    for (i = 0; i < f->n; i++)
        if (all || f->weights[i] > 0) f->picked[count++] = i;
    if (f->points > count) f->points = count;
    for (i = 0; i < f->points && !all; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        j = i + state % (count - i);
        swap = f->picked[i], f->picked[i] = f->picked[j], f->picked[j] = swap;
    }
}

void ref_make(ref_fit *f, const rfm_data *data, const rfm_options *o, double noise, unsigned turn) {
    double *start = ref_doubles(data->start);
    size_t i, t, d = data->x.cols;
    memset(f, 0, sizeof *f);
    f->o = *o, f->noise = noise, f->turn = turn;
    f->n = data->x.rows, f->d = d, f->c = data->y.cols;
    f->points = o->agop_points > 0 ? o->agop_points : f->n;
    f->steps = o->metric == RFM_IDENTITY ? 0 : o->iterations;
    f->most = doubles(d);
    for (i = 0; i < f->n * d; i++)
        f->most[i % d] = fmax(f->most[i % d], fabs((double)data->x.at[i / d * data->x.stride + i % d]));
    f->x = ref_rows(f, data->x), f->y = ref_doubles(data->y);
    f->xv = ref_rows(f, data->x_validation), f->yv = ref_doubles(data->y_validation);
    f->v = f->xv != NULL ? data->x_validation.rows : 0;
    f->weights = doubles(f->n);
    for (i = 0; i < f->n; i++) f->weights[i] = data->weights != NULL ? (double)data->weights[i] : 1;
    pick(f);
    f->step[0].metric = doubles(d * d);
    for (i = 0; i < d * d; i++)
        f->step[0].metric[i] = start != NULL && o->metric == RFM_FULL ? start[i]
                               : i / d != i % d                       ? 0
                               : start != NULL                        ? start[i / d]
                                                                      : 1;
    if (start != NULL && o->metric == RFM_FULL) { /* what is below the rounding of the largest entry is not kept */
        double most = 0, *square = doubles(d);
        for (i = 0; i < d; i++) most = fmax(most, start[i * (d + 1)]);
        for (i = 0; i < d; i++) square[i] = most;
        add_noise(f, f->step[0].metric, square);
        free(square);
    }
    free(start);
    for (t = 0; t <= f->steps; t++) {
        solve_step(f, t);
        if (t < f->steps) next_metric(f, t);
    }
}

void ref_free(ref_fit *f) {
    size_t t;
    for (t = 0; t < REF_STEPS; t++) free(f->step[t].metric), free(f->step[t].alpha);
    free(f->x), free(f->y), free(f->xv), free(f->yv), free(f->weights), free(f->most), free(f->picked);
    memset(f, 0, sizeof *f);
}

/* ---- what a fit is used for ----------------------------------------------------------------- */

void ref_predict(const ref_fit *f, size_t t, size_t m, const double *z, double *out) {
    double *phi = doubles(f->n * m);
    size_t i, j, k;
    kernel_of(f, t, m, z, phi, NULL, NULL);
    memset(out, 0, m * f->c * sizeof *out);
    for (i = 0; i < f->n; i++)
        for (j = 0; j < m; j++)
            for (k = 0; k < f->c; k++) out[j * f->c + k] += f->step[t].alpha[i * f->c + k] * phi[i * m + j];
    free(phi);
}

/* grad f_k(z) = sum_i alpha_ik grad_z K(x_i, z). */
typedef struct {
    const ref_fit *f;
    const double *alpha;
    double *out;
} gradient_sum;

static void add_gradient(void *arg, size_t i, size_t j, const double *g) {
    const gradient_sum *s = arg;
    const size_t c = s->f->c, d = s->f->d;
    size_t k, p;
    for (k = 0; k < c; k++)
        for (p = 0; p < d; p++) s->out[(j * c + k) * d + p] += s->alpha[i * c + k] * g[p];
}

void ref_gradients(const ref_fit *f, size_t t, size_t m, const double *z, double *out) {
    double *phi = doubles(f->n * m);
    gradient_sum s;
    s.f = f, s.alpha = f->step[t].alpha, s.out = out;
    memset(out, 0, m * f->c * f->d * sizeof *out);
    kernel_of(f, t, m, z, phi, add_gradient, &s);
    free(phi);
}

double ref_alignment(const ref_fit *f, size_t t, size_t m, const double *z, const double *y) {
    ref_fit rows = *f;
    double *phi = doubles(m * m), ky = 0, kk = 0, yy = 0;
    size_t i, j, k;
    rows.n = m;
    rows.x = doubles(m * f->d);
    memcpy(rows.x, z, m * f->d * sizeof *z);
    kernel_of(&rows, t, m, z, phi, NULL, NULL);
    for (i = 0; i < m; i++)
        for (j = 0; j < m; j++) {
            double dot = 0;
            for (k = 0; k < f->c; k++) dot += y[i * f->c + k] * y[j * f->c + k];
            ky += phi[i * m + j] * dot, kk += phi[i * m + j] * phi[i * m + j], yy += dot * dot;
        }
    free(phi);
    free(rows.x);
    return yy > 0 ? ky / sqrt(kk) / sqrt(yy) : 0;
}

/* ---- a model as it stands ------------------------------------------------------------------- */

void ref_project(const rfm_model *m, const double *z, double *out) {
    size_t q, j;
    for (q = 0; q < m->r; q++) {
        double sum = 0;
        for (j = 0; j < m->d; j++) {
            const double p = m->metric == RFM_FULL       ? (double)m->p[q * m->d + j]
                             : j != q                    ? 0
                             : m->metric == RFM_DIAGONAL ? (double)m->p[j]
                                                         : 1;
            sum += p * (z[j] - (double)m->shift[j]);
        }
        out[q] = sum;
    }
}

static double phi_between(const rfm_model *m, const double *a, const double *b) {
    return ref_phi(m->kernel, (double)m->bandwidth, (double)m->exponent, distance2(m->r, a, a, b, b), NULL);
}

static void scores_at(const rfm_model *m, const double *centers, const double *projected, double *scores) {
    size_t i, k;
    for (k = 0; k < m->c; k++) scores[k] = m->offset != NULL ? (double)m->offset[k] : 0;
    for (i = 0; i < m->n; i++) {
        const double phi = phi_between(m, centers + i * m->r, projected);
        for (k = 0; k < m->c; k++) scores[k] += (double)m->alpha[i * m->c + k] * phi;
    }
}

void ref_model(const rfm_model *m, const double *z, double *scores) {
    double *centers = ref_doubles(rfm_cview(m->centers, m->n, m->r)), *projected = doubles(m->r);
    ref_project(m, z, projected);
    scores_at(m, centers, projected, scores);
    free(centers);
    free(projected);
}

double ref_loss(const rfm_model *m, const rfm_data *data, double ridge, const double *centers) {
    double *x = ref_doubles(data->x), *y = ref_doubles(data->y), *z = doubles(m->r), *scores = doubles(m->c), loss = 0;
    size_t i, j, k;
    for (i = 0; i < data->x.rows; i++) {
        const double w = data->weights != NULL ? (double)data->weights[i] : 1;
        ref_project(m, x + i * m->d, z);
        scores_at(m, centers, z, scores);
        for (k = 0; k < m->c; k++) loss += w * (y[i * m->c + k] - scores[k]) * (y[i * m->c + k] - scores[k]);
    }
    for (i = 0; i < m->n; i++)
        for (j = 0; j < m->n; j++)
            for (k = 0; k < m->c; k++)
                loss += ridge * (double)m->alpha[i * m->c + k] * (double)m->alpha[j * m->c + k] *
                        phi_between(m, centers + i * m->r, centers + j * m->r);
    free(x), free(y), free(z), free(scores);
    return loss;
}

double ref_alpha_slope(const rfm_model *m, const rfm_data *data, double ridge, double least, double share) {
    double *x = ref_doubles(data->x), *y = ref_doubles(data->y),
           *centers = ref_doubles(rfm_cview(m->centers, m->n, m->r));
    double *z = doubles(m->r), *scores = doubles(m->c), *slope = doubles(m->n * m->c), *terms = doubles(m->n * m->c),
           most = 0;
    size_t i, j, k;
    least += ridge * (double)m->n * (double)RFM_LIMIT(MIN);
    for (i = 0; i < data->x.rows; i++) {
        const double w = data->weights != NULL ? (double)data->weights[i] : 1;
        ref_project(m, x + i * m->d, z);
        scores_at(m, centers, z, scores);
        for (j = 0; j < m->n; j++) {
            const double phi = w * phi_between(m, centers + j * m->r, z);
            for (k = 0; k < m->c; k++) {
                slope[j * m->c + k] += phi * (y[i * m->c + k] - scores[k]);
                terms[j * m->c + k] += phi * (fabs(y[i * m->c + k]) + fabs(scores[k]));
            }
        }
    }
    for (i = 0; i < m->n; i++)
        for (j = 0; j < m->n; j++) {
            const double phi = ridge * phi_between(m, centers + i * m->r, centers + j * m->r);
            for (k = 0; k < m->c; k++) {
                slope[i * m->c + k] -= phi * (double)m->alpha[j * m->c + k];
                terms[i * m->c + k] += phi * fabs((double)m->alpha[j * m->c + k]);
            }
        }
    for (k = 0; k < m->c; k++) {
        double square = 0;
        for (j = 0; j < m->n; j++) square += terms[j * m->c + k] * terms[j * m->c + k];
        for (j = 0; j < m->n; j++) { /* an alpha below the normal range may be 0 */
            const double here = terms[j * m->c + k], allowed = least + share * sqrt(square);
            if (here > 0) most = fmax(most, (fabs(slope[j * m->c + k]) - allowed) / here);
        }
    }
    free(x), free(y), free(centers), free(z), free(scores), free(slope), free(terms);
    return most;
}

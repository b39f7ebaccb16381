/* The kernels of patches in double, one pair at a time, from lists of patches: no running sums, no products. */
#ifndef PLAIN_CONV_H
#define PLAIN_CONV_H

#include <math.h>
#include <string.h>

#include "rfm_conv.h"

#define PATCH_MOST 18 /* numbers of a patch */

/* Patches of x and z; S, T, p, e and room for windows: a number or a patch for each place. The caller takes them. */
static double *fields[7];

static void set_patches(const rfm_conv *f, const rfm_real *x, double *to) {
    const size_t rows = f->height == 1 ? 1 : f->patch, q = f->patch;
    const size_t down = f->padded ? f->height : f->height - rows + 1, across = f->padded ? f->width : f->width - q + 1;
    const size_t top = f->padded ? (rows - 1) / 2 : 0, left = f->padded ? (q - 1) / 2 : 0;
    size_t y, u, k, dy, dx;
    for (y = 0; y < down; y++)
        for (u = 0; u < across; u++)
            for (k = 0; k < f->channels; k++)
                for (dy = 0; dy < rows; dy++)
                    for (dx = 0; dx < q; dx++) {
                        const size_t py = y + dy, px = u + dx;
                        const int in = py >= top && py - top < f->height && px >= left && px - left < f->width;
                        *to++ = in ? (double)x[(k * f->height + py - top) * f->width + px - left] : 0;
                    }
}

static double form(size_t d, const rfm_real *m, const double *a, const double *b) {
    double sum = 0;
    size_t i, j;
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++) sum += a[i] * b[j] * (m != NULL ? (double)m[i * d + j] : i == j);
    return sum;
}

/* Means over windows, in place; down and across become those of the next layer. */
static void plain_windows(const rfm_conv *f, size_t down, size_t across, double *field) {
    double *next = fields[6];
    const size_t rows = f->height == 1 ? 1 : f->patch, q = f->patch;
    const size_t to_down = f->padded ? down : down - rows + 1, to_across = f->padded ? across : across - q + 1;
    const size_t top = f->padded ? (rows - 1) / 2 : 0, left = f->padded ? (q - 1) / 2 : 0;
    size_t y, x, dy, dx;
    for (y = 0; y < to_down; y++)
        for (x = 0; x < to_across; x++) {
            double sum = 0;
            for (dy = 0; dy < rows; dy++)
                for (dx = 0; dx < q; dx++) {
                    const size_t py = y + dy, px = x + dx;
                    if (py >= top && py - top < down && px >= left && px - left < across)
                        sum += field[(py - top) * across + px - left];
                }
            next[y * to_across + x] = sum / (double)(rows * q);
        }
    memcpy(field, next, to_down * to_across * sizeof *field);
}

/* Without the cosine, which loses half of the digits of a small angle. */
static double plain_angle(size_t d, const rfm_real *m, const double *x, const double *z, double p, double e) {
    double minus[PATCH_MOST], plus[PATCH_MOST];
    size_t j;
    for (j = 0; j < d; j++) {
        minus[j] = x[j] / sqrt(p) - z[j] / sqrt(e);
        plus[j] = x[j] / sqrt(p) + z[j] / sqrt(e);
    }
    return 2 * atan2(sqrt(form(d, m, minus, minus)), sqrt(form(d, m, plus, plus)));
}

static double plain_kernel(const rfm_conv *f, const rfm_real *m, const double *x, const double *z) {
    const double pi = 3.14159265358979323846;
    const size_t d = rfm_conv_patch(f), rows = f->height == 1 ? 1 : f->patch;
    size_t down = f->padded ? f->height : f->height - rows + 1, places = rfm_conv_places(f), across = places / down, r;
    double *s = fields[2], *t = fields[3], *p = fields[4], *e = fields[5], sum = 0;
    int layer;
    for (r = 0; r < places; r++) {
        s[r] = t[r] = form(d, m, x + r * d, z + r * d);
        p[r] = form(d, m, x + r * d, x + r * d), e[r] = form(d, m, z + r * d, z + r * d);
        if (f->kernel == RFM_CONV_LAPLACE) {
            double diff[PATCH_MOST];
            size_t j;
            for (j = 0; j < d; j++) diff[j] = x[r * d + j] - z[r * d + j];
            sum += exp(-sqrt(form(d, m, diff, diff)) / (double)f->bandwidth);
        }
    }
    if (f->kernel == RFM_CONV_LAPLACE) return sum / (double)places;
    for (layer = 1;; layer++) {
        for (r = 0; r < down * across; r++) {
            const double n = p[r] > e[r] || p[r] < e[r] ? sqrt(p[r]) * sqrt(e[r]) : p[r]; /* p e may underflow */
            const double rho = n > 0 ? fmax(-1, fmin(1, s[r] / n)) : 0;
            const double angle = layer == 1 && n > 0 ? plain_angle(d, m, x + r * d, z + r * d, p[r], e[r]) : acos(rho);
            const double k0 = (pi - angle) / pi, k1 = (rho * (pi - angle) + sin(angle)) / pi;
            s[r] = n > 0 ? n * k1 : 0, t[r] = n > 0 ? t[r] * k0 : 0;
        }
        if (layer == f->depth) break;
        plain_windows(f, down, across, s);
        plain_windows(f, down, across, t);
        plain_windows(f, down, across, p);
        plain_windows(f, down, across, e);
        if (!f->padded) down -= rows - 1, across -= f->patch - 1;
        for (r = 0; r < down * across; r++) t[r] += s[r];
    }
    for (r = 0; r < down * across; r++) sum += s[r] + (f->kernel == RFM_CONV_NTK ? t[r] : 0);
    return sum / (double)(down * across);
}

#endif

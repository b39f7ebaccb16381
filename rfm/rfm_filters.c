/* rfm_filters.c - filter banks of integers for signals; rfm_filters.h has the contract, FORMAT.md the bytes.
 *
 * Contents:
 *   1. The blob     opened in place; why nothing can overflow
 *   2. Prediction
 *   (the rest is not there with RFM_NO_TRAIN)
 *   3. Learning     filters from the metric of patches
 *   4. Making       a bank of integers
 *   5. Writing
 */
#include "rfm_filters.h"
#include "rfm_private.h"

#include <math.h>
#include <string.h>

/* ==== 1. The blob ===============================================================================
 *
 * Sums of 32 bits, whatever the samples are:
 *
 *   bias_k + any part of sum w_kcj x     |bias_k| + 2^15 sum |w_kcj| <= 2^31 - 1 is checked; |v| fits, too
 *   sum of h, sum of h^2 >> 15           h <= 32767 and h^2 >> 15 <= 32766, at most 65535 places: below 2^31
 *   features                             such a sum over at most 2^b places, >> b: at most 32767, an int16_t
 */

#define MAGIC         0x666d6672u /* "rfmf" */
#define VERSION       1
#define HEAD          32
#define SIZE_MOST     65535u
#define SHIFT_MOST    31
#define EXPONENT_MOST 126 /* 2^e and 2^-e are normal floats */
#define ALL_POOLS     (RFM_POOL_MAX | RFM_POOL_MEAN | RFM_POOL_ENERGY)
#define H_MOST        32767
#define WEIGHTS_MOST  65535u /* sum |w| of a filter, times 2^15 below 2^31 */

static uint32_t pool_count(uint32_t pools) { return (pools & 1) + (pools >> 1 & 1) + (pools >> 2); }

static uint32_t places_of(const rfm_filters *f) { return f->samples - f->taps + 1; }

/* m / each, rounded up. */
static uint32_t segments_of(uint32_t places, uint32_t each) {
    uint32_t segments = 1;
    for (; places > each; places -= each) segments++;
    return segments;
}

static int head_right(const rfm_filters *f) {
    return f->channels - 1 < SIZE_MOST && f->samples - 1 < SIZE_MOST && f->taps - 1 < f->samples &&
           f->filters - 1 < SIZE_MOST && f->span - 1 < SIZE_MOST && f->pools - 1 < ALL_POOLS &&
           between(RFM_RECTIFY_RELU, f->rectify, RFM_RECTIFY_ABS);
}

/* No sum overflows, every number is in its range. The sizes are right. */
static int numbers_right(const rfm_filters *f) {
    const uint32_t d = f->channels * f->taps;
    const int8_t *w = f->bank;
    uint32_t k, j;
    for (k = 0; k < f->filters; k++) {
        uint32_t sum = 0;
        for (j = 0; j < d && sum <= WEIGHTS_MOST; j++) sum += magnitude(w[j]);
        if (sum > WEIGHTS_MOST || magnitude(f->bias[k]) > 0x7fffffffu - (sum << 15) || f->shifts[k] > SHIFT_MOST)
            return 0;
        w += d;
    }
    for (k = 0; k < f->channels; k++)
        if (!between(-EXPONENT_MOST, f->exponents[k], EXPONENT_MOST)) return 0;
    return 1;
}

/* The model has the features as its inputs. K S and 3 times d, of which each takes 8 bytes in a blob, have 32 bits. */
static int model_fits(const rfm_filters *f) {
    const uint32_t rows = f->filters * f->segments;
    return rows <= f->model.d && rows * pool_count(f->pools) == f->model.d;
}

/* The next `count` times `each` bytes of a blob; NULL: there are less. */
static const unsigned char *take(const unsigned char **at, uint32_t *left, uint32_t count, uint32_t each) {
    const unsigned char *from = *at;
    for (; count > 0; count--) {
        if (each > *left) return NULL;
        *at += each, *left -= each;
    }
    return from;
}

int rfm_filters_open(const void *blob, size_t size, rfm_filters *filters) {
    const unsigned char *b = (const unsigned char *)blob, *at, *bias, *bank, *shifts, *exponents, *names;
    uint32_t bytes, left, name_bytes;
    rfm_filters f;
    int status;
    if (blob == NULL || filters == NULL) return RFM_ENULL;
    if ((uintptr_t)blob % RFM_ALIGN != 0) return RFM_EALIGN;
    status = check_blob(blob, size, MAGIC, VERSION, HEAD, &bytes);
    if (status != RFM_OK) return status;
    f.rectify = b[13], f.pools = b[14];
    f.channels = get_u16(b + 16), f.samples = get_u16(b + 18), f.taps = get_u16(b + 20), f.filters = get_u16(b + 22);
    f.span = get_u16(b + 24), name_bytes = rfm_get_u32(b + 28);
    if (!head_right(&f)) return RFM_ECONTENT;
    f.segments = segments_of(places_of(&f), f.span);
    at = b + HEAD, left = bytes - HEAD;
    bias = take(&at, &left, f.filters, 4);
    bank = bias != NULL ? take(&at, &left, f.filters, f.channels * f.taps) : NULL;
    shifts = bank != NULL ? take(&at, &left, f.filters, 1) : NULL;
    exponents = shifts != NULL ? take(&at, &left, f.channels, 1) : NULL;
    names = exponents != NULL ? take(&at, &left, 1, name_bytes) : NULL;
    if (names == NULL || take(&at, &left, 1, (0u - (bytes - left)) % RFM_ALIGN) == NULL) return RFM_ECONTENT;
    f.bias = (const int32_t *)(const void *)bias, f.bank = (const int8_t *)bank;
    f.shifts = shifts, f.exponents = (const int8_t *)exponents;
    f.input_names = name_bytes > 0 ? (const char *)names : NULL;
    if (name_bytes > 0 && !names_right(names, name_bytes, f.channels * f.samples)) return RFM_ECONTENT;
    if (!numbers_right(&f) || rfm_model_open_i(at, left, &f.model) != RFM_OK) return RFM_ECONTENT;
    if (rfm_get_u32(at + 12) != left || !model_fits(&f)) return RFM_ECONTENT;
    *filters = f;
    return RFM_OK;
}

/* ==== 2. Prediction ============================================================================= */

size_t rfm_filters_count(const rfm_filters *f) { return (size_t)f->filters * f->segments * pool_count(f->pools); }

/* sum w_cj x_c(t+j), x being at t of channel 0. */
static int32_t response(const rfm_filters *f, const int8_t *w, const int16_t *x, int32_t sum) {
    const uint32_t taps = f->taps;
    uint32_t c, j;
    for (c = f->channels; c > 0; c--) {
        for (j = 0; j < taps; j++) sum += w[j] * x[j];
        w += taps, x += f->samples;
    }
    return sum;
}

/* The same at four places in a row: every weight is loaded once. */
static void responses(const rfm_filters *f, const int8_t *w, const int16_t *x, int32_t bias, int32_t *sums) {
    const uint32_t taps = f->taps;
    int32_t s0 = bias, s1 = bias, s2 = bias, s3 = bias;
    uint32_t c, j;
    for (c = f->channels; c > 0; c--) {
        int32_t x0 = x[0], x1 = x[1], x2 = x[2];
        for (j = 0; j < taps; j++) {
            const int32_t weight = w[j], x3 = x[j + 3];
            s0 += weight * x0, s1 += weight * x1, s2 += weight * x2, s3 += weight * x3;
            x0 = x1, x1 = x2, x2 = x3;
        }
        w += taps, x += f->samples;
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

int rfm_filters_pool(const rfm_filters *f, const int16_t *x, int16_t *features) {
    const int8_t *w;
    int32_t sums[4];
    uint32_t k, t, i, end, places, count, b = 0;
    if (f == NULL || x == NULL || features == NULL) return RFM_ENULL;
    places = places_of(f);
    while (1u << b < f->span) b++;
    for (w = f->bank, k = 0; k < f->filters; k++, w += f->channels * f->taps)
        for (t = 0; t < places;) {
            uint32_t largest = 0, mean = 0, energy = 0;
            for (end = places - t > f->span ? t + f->span : places; t < end; t += count) {
                count = end - t < 4 ? 1 : 4;
                if (count == 4)
                    responses(f, w, x + t, f->bias[k], sums);
                else
                    sums[0] = response(f, w, x + t, f->bias[k]);
                for (i = 0; i < count; i++) {
                    int32_t v = sums[i] >> f->shifts[k];
                    uint32_t h;
                    if (v < 0) v = f->rectify == RFM_RECTIFY_ABS ? -v : 0;
                    h = v > H_MOST ? H_MOST : (uint32_t)v;
                    if (h > largest) largest = h;
                    mean += h, energy += h * h >> 15;
                }
            }
            if (f->pools & RFM_POOL_MAX) *features++ = (int16_t)largest;
            if (f->pools & RFM_POOL_MEAN) *features++ = (int16_t)(mean >> b);
            if (f->pools & RFM_POOL_ENERGY) *features++ = (int16_t)(energy >> b);
        }
    return RFM_OK;
}

int rfm_filters_predict(const rfm_filters *f, const int16_t *x, int32_t *scores, int16_t *scratch, rfm_loop_i loop,
                        rfm_notes_i *notes) {
    if (f == NULL || x == NULL || scores == NULL || scratch == NULL || f->model.d == 0) return RFM_ENULL;
    (void)rfm_filters_pool(f, x, scratch);
    return rfm_predict_i(&f->model, scratch, scores, scratch + f->model.d, loop, notes);
}

int rfm_filters_integers(const rfm_filters *f, const rfm_real *x, int16_t *xi) {
    uint32_t c, t;
    if (f == NULL || x == NULL || xi == NULL) return RFM_ENULL;
    if (!rfm_finite((size_t)f->channels * f->samples, x)) return RFM_EFINITE;
    for (c = 0; c < f->channels; c++)
        for (t = 0; t < f->samples; t++) *xi++ = integer_of(*x++, f->exponents[c]);
    return RFM_OK;
}

#ifndef RFM_NO_TRAIN

/* ==== 3. Learning =============================================================================== */

/* Memory of rfm_filters_learn: `work` is first that of the fit, then that of the eigenpairs. */
typedef struct {
    rfm_conv_options options;
    size_t d, work_bytes;
    rfm_real *m, *w, *v; /* (D, D), (K), (K, D) */
    void *work;
} learning;

static int learn_start(const rfm_ctx *ctx, size_t channels, size_t samples, const rfm_data *data,
                       const rfm_conv_options *options, size_t count, learning *l) {
    size_t scratch, store, eig;
    int status;
    if (ctx == NULL || data == NULL || options == NULL) return RFM_ENULL;
    if (options->rounds == 0) return RFM_EVALUE;
    l->options = *options, l->options.select = RFM_SELECT_LAST;
    status = rfm_conv_fit_need(ctx, channels, 1, samples, data, &l->options, &scratch, &store);
    if (status != RFM_OK) return status;
    l->d = channels * options->patch;
    if (count == 0 || count > l->d) return RFM_ESHAPE;
    status = rfm_eig_need(ctx, l->d, count, &eig);
    if (status != RFM_OK) return status;
    if (store > SIZE_MAX - scratch) return RFM_EOVERFLOW;
    l->work_bytes = max_size(scratch + store, eig);
    return RFM_OK;
}

static int learn_layout(rfm_arena *arena, size_t count, learning *l) {
    l->m = rfm_arena_reals(arena, l->d, l->d);
    l->w = rfm_arena_reals(arena, count, 1);
    l->v = rfm_arena_reals(arena, count, l->d);
    l->work = rfm_arena_take(arena, l->work_bytes, 1);
    return arena->status;
}

int rfm_filters_learn_need(const rfm_ctx *ctx, size_t channels, size_t samples, const rfm_data *data,
                           const rfm_conv_options *options, size_t count, size_t *bytes) {
    rfm_arena measure;
    learning l;
    int status = bytes == NULL ? RFM_ENULL : learn_start(ctx, channels, samples, data, options, count, &l);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    status = learn_layout(&measure, count, &l);
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

int rfm_filters_learn(const rfm_ctx *ctx, size_t channels, size_t samples, const rfm_data *data,
                      const rfm_conv_options *options, rfm_mat filters) {
    rfm_ctx inner;
    rfm_arena work;
    rfm_conv_model model;
    learning l;
    size_t used, k;
    int status = filters.at == NULL ? RFM_ENULL : learn_start(ctx, channels, samples, data, options, filters.rows, &l);
    if (status == RFM_OK && filters.cols != l.d) status = RFM_ESHAPE;
    if (status == RFM_OK && filters.stride < filters.cols) status = RFM_ESTRIDE;
    if (status == RFM_OK) status = check_arena(ctx->arena);
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    status = learn_layout(ctx->arena, filters.rows, &l);
    if (status == RFM_OK) status = rfm_arena_init(&work, l.work, l.work_bytes);
    inner = *ctx, inner.arena = &work;
    if (status == RFM_OK) status = rfm_conv_fit(&inner, channels, 1, samples, data, &l.options, &work, &model, NULL);
    if (status == RFM_OK) status = rfm_conv_metric(&model, rfm_view(l.m, l.d, l.d));
    if (status == RFM_OK) {
        rfm_arena_release(&work, 0);
        status = rfm_eig(&inner, rfm_view(l.m, l.d, l.d), filters.rows, l.w, rfm_view(l.v, filters.rows, l.d));
    }
    for (k = 0; status == RFM_OK && k < filters.rows; k++)
        memcpy(filters.at + k * filters.stride, l.v + k * l.d, l.d * sizeof *l.v);
    return leave(ctx->arena, used, status);
}

/* ==== 4. Making ================================================================================= */

int rfm_filters_exponents(size_t channels, rfm_cmat x, int8_t *exponents) {
    size_t i, c, t, samples;
    int status = exponents == NULL ? RFM_ENULL : check_view(x), whole = 1, low = EXPONENT_MOST, high = -EXPONENT_MOST;
    if (status != RFM_OK) return status;
    if (channels == 0 || x.cols % channels != 0) return RFM_ESHAPE;
    if (!finite_view(x)) return RFM_EFINITE;
    samples = x.cols / channels;
    for (c = 0; c < 2 * channels; c++) { /* looks at all channels, then writes */
        rfm_real most = R(0);
        int e = EXPONENT_MOST;
        for (i = 0; i < x.rows; i++)
            for (t = 0; t < samples; t++) {
                const rfm_real v = x.at[i * x.stride + c % channels * samples + t];
                most = max_real(most, RFM_MATH(fabs)(v));
                whole = whole && RFM_MATH(floor)(v) == v;
            }
        if (most > R(0)) {
            (void)RFM_MATH(frexp)(most, &e); /* most < 2^e */
            e = 14 - e;
            if (e < -EXPONENT_MOST) return RFM_ERANGE;
            if (e > EXPONENT_MOST) e = EXPONENT_MOST;
            low = e < low ? e : low, high = e > high ? e : high;
        } else
            e = 0;
        if (c >= channels) exponents[c - channels] = (int8_t)(whole && low >= -1 && high - low <= 4 ? 0 : e);
    }
    return RFM_OK;
}

void rfm_filters_options_init(rfm_filters_options *options) {
    memset(options, 0, sizeof *options);
    options->segments = 1;
    options->pools = RFM_POOL_MAX | RFM_POOL_ENERGY;
    options->rectify = RFM_RECTIFY_ABS;
}

/* The arrays of a bank in the making. */
typedef struct {
    int32_t *bias;
    int8_t *bank, *exponents;
    uint8_t *shifts;
    int16_t *window; /* (C, W) scratch */
} bank_arrays;

static int make_layout(rfm_arena *store, rfm_arena *scratch, const rfm_filters *f, bank_arrays *a) {
    a->bias = (int32_t *)rfm_arena_take(store, f->filters, 4);
    a->bank = (int8_t *)rfm_arena_take(store, f->filters, (size_t)f->channels * f->taps);
    a->exponents = (int8_t *)rfm_arena_take(store, f->channels, 1);
    a->shifts = (uint8_t *)rfm_arena_take(store, f->filters, 1);
    if (store->status != RFM_OK) return store->status;
    a->window = (int16_t *)rfm_arena_take(scratch, (size_t)f->channels * f->samples, 2);
    return scratch->status;
}

/* Sizes and options; the bank gets its sizes. */
static int make_start(size_t channels, rfm_cmat filters, const rfm_filters_options *o, rfm_cmat x, rfm_filters *f) {
    size_t places, c;
    int status = o == NULL ? RFM_ENULL : check_view(filters);
    if (status == RFM_OK) status = check_view(x);
    if (status == RFM_OK && channels == 0) status = RFM_EZERO;
    if (status != RFM_OK) return status;
    if (x.cols % channels != 0 || filters.cols % channels != 0 || filters.cols > x.cols) return RFM_ESHAPE;
    if (channels > SIZE_MOST || x.cols / channels > SIZE_MOST || filters.rows > SIZE_MOST) return RFM_EVALUE;
    if (o->pools - 1 >= ALL_POOLS || !between(RFM_RECTIFY_RELU, o->rectify, RFM_RECTIFY_ABS)) return RFM_EVALUE;
    places = (x.cols - filters.cols) / channels + 1;
    if (o->segments == 0 || o->segments > places) return RFM_EVALUE;
    if ((o->mean != NULL && !rfm_finite(channels, o->mean)) || (o->scale != NULL && !rfm_finite(channels, o->scale)))
        return RFM_EFINITE;
    for (c = 0; c < channels; c++) {
        if (o->scale != NULL && !(o->scale[c] > R(0))) return RFM_EVALUE;
        if (o->exponents != NULL && !between(-EXPONENT_MOST, o->exponents[c], EXPONENT_MOST)) return RFM_EVALUE;
    }
    memset(f, 0, sizeof *f);
    f->channels = (uint32_t)channels, f->samples = (uint32_t)(x.cols / channels);
    f->taps = (uint32_t)(filters.cols / channels), f->filters = (uint32_t)filters.rows;
    f->span = (uint32_t)((places + o->segments - 1) / o->segments);
    f->segments = segments_of((uint32_t)places, f->span);
    f->pools = o->pools, f->rectify = o->rectify;
    return RFM_OK;
}

int rfm_filters_make_need(size_t channels, rfm_cmat filters, const rfm_filters_options *options, rfm_cmat x,
                          size_t *scratch, size_t *store) {
    rfm_arena measure, kept;
    bank_arrays a;
    rfm_filters f;
    int status = scratch == NULL || store == NULL ? RFM_ENULL : make_start(channels, filters, options, x, &f);
    if (status != RFM_OK) return status;
    rfm_arena_measure(&measure);
    rfm_arena_measure(&kept);
    status = make_layout(&kept, &measure, &f, &a);
    if (status == RFM_OK) *scratch = measure.peak, *store = kept.peak;
    return status;
}

/* Integers of one filter, in proportion to what it does to integer samples. The largest is 127, unless their sum of
 * magnitudes would be above 32767, which leaves as much for the bias: the mean of a channel is at most 2^15. */
static int set_filter(const rfm_filters_options *o, const rfm_filters *f, const rfm_real *from, int8_t *w,
                      int32_t *bias) {
    const size_t d = (size_t)f->channels * f->taps;
    rfm_real most = R(0), sum = R(0), factor, shift = R(0);
    size_t j;
    if (d > 16384) return RFM_ERANGE;
    for (j = 0; j < d; j++) {
        const size_t c = j / f->taps;
        const rfm_real gain = RFM_MATH(ldexp)(o->scale != NULL ? R(1) / o->scale[c] : R(1), -f->exponents[c]);
        const rfm_real value = RFM_MATH(fabs)(from[j] * gain);
        if (!rfm_finite(1, &value) || !rfm_finite(1, &gain)) return RFM_ERANGE;
        most = max_real(most, value), sum += value;
    }
    if (!rfm_finite(1, &sum)) return RFM_ERANGE;
    factor = most > R(0) ? R(127) / most : R(0);
    if (sum * factor > R(16383)) factor = R(16383) / sum;
    if (!rfm_finite(1, &factor)) return RFM_ERANGE;
    for (j = 0; j < d; j++) {
        const size_t c = j / f->taps;
        const rfm_real gain = RFM_MATH(ldexp)(o->scale != NULL ? R(1) / o->scale[c] : R(1), -f->exponents[c]);
        const rfm_real value = RFM_MATH(floor)(from[j] * gain * factor + R(0.5));
        const rfm_real mean = o->mean != NULL ? RFM_MATH(ldexp)(o->mean[c], f->exponents[c]) : R(0);
        if (!(RFM_MATH(fabs)(mean) <= R(32768))) return RFM_ERANGE;
        w[j] = (int8_t)(value > R(127) ? R(127) : value < R(-127) ? R(-127) : value);
        shift += mean * R(w[j]);
    }
    *bias = (int32_t)-RFM_MATH(floor)(shift + R(0.5));
    return RFM_OK;
}

/* The largest |v| of every filter on these windows decides its shift. */
static void set_shifts(const rfm_filters *f, rfm_cmat x, int16_t *window, uint8_t *shifts) {
    const size_t d = (size_t)f->channels * f->taps;
    const uint32_t places = places_of(f);
    size_t i, k;
    uint32_t t;
    memset(shifts, 0, f->filters);
    for (i = 0; i < x.rows; i++) {
        (void)rfm_filters_integers(f, x.at + i * x.stride, window);
        for (k = 0; k < f->filters; k++)
            for (t = 0; t < places; t++) {
                const uint32_t v = magnitude(response(f, f->bank + k * d, window + t, f->bias[k]));
                while (v >> shifts[k] > H_MOST) shifts[k]++;
            }
    }
}

int rfm_filters_make(const rfm_ctx *ctx, size_t channels, rfm_cmat filters, const rfm_filters_options *options,
                     rfm_cmat x, rfm_arena *store, rfm_filters *bank) {
    bank_arrays a;
    rfm_filters f;
    size_t kept, used, k;
    int status =
        ctx == NULL || store == NULL || bank == NULL ? RFM_ENULL : make_start(channels, filters, options, x, &f);
    if (status == RFM_OK) status = check_arena(ctx->arena);
    if (status == RFM_OK) status = check_arena(store);
    if (status == RFM_OK && !(finite_view(filters) && finite_view(x))) status = RFM_EFINITE;
    if (status != RFM_OK) return status;
    kept = store->used, used = ctx->arena->used;
    status = make_layout(store, ctx->arena, &f, &a);
    if (status == RFM_OK) {
        f.bias = a.bias, f.bank = a.bank, f.shifts = a.shifts, f.exponents = a.exponents;
        memset(a.exponents, 0, channels);
        if (options->exponents != NULL) memcpy(a.exponents, options->exponents, channels);
    }
    for (k = 0; status == RFM_OK && k < f.filters; k++)
        status = set_filter(options, &f, filters.at + k * filters.stride, a.bank + k * filters.cols, &a.bias[k]);
    if (status == RFM_OK) set_shifts(&f, x, a.window, a.shifts);
    if (ctx->arena != store) (void)leave(ctx->arena, used, status);
    if (status != RFM_OK) return leave(store, kept, status);
    if (ctx->arena == store) rfm_arena_release(store, (size_t)((unsigned char *)a.window - store->base));
    *bank = f;
    return RFM_OK;
}

int rfm_filters_features_need(const rfm_filters *bank, size_t *bytes) {
    rfm_arena measure;
    if (bank == NULL || bytes == NULL) return RFM_ENULL;
    rfm_arena_measure(&measure);
    (void)rfm_arena_take(&measure, (size_t)bank->channels * bank->samples, 2);
    (void)rfm_arena_take(&measure, rfm_filters_count(bank), 2);
    if (measure.status == RFM_OK) *bytes = measure.peak;
    return measure.status;
}

int rfm_filters_features(const rfm_ctx *ctx, const rfm_filters *bank, rfm_cmat x, rfm_mat features) {
    int16_t *window, *pooled;
    size_t used, i, j;
    int status = ctx == NULL || bank == NULL ? RFM_ENULL : check_view(x);
    if (status == RFM_OK) status = check_view(rfm_const(features));
    if (status == RFM_OK) status = check_arena(ctx->arena);
    if (status != RFM_OK) return status;
    if (x.cols != (size_t)bank->channels * bank->samples || features.rows != x.rows ||
        features.cols != rfm_filters_count(bank))
        return RFM_ESHAPE;
    if (!finite_view(x)) return RFM_EFINITE;
    used = ctx->arena->used;
    window = (int16_t *)rfm_arena_take(ctx->arena, x.cols, 2);
    pooled = (int16_t *)rfm_arena_take(ctx->arena, features.cols, 2);
    status = ctx->arena->status;
    for (i = 0; status == RFM_OK && i < x.rows; i++) {
        (void)rfm_filters_integers(bank, x.at + i * x.stride, window);
        (void)rfm_filters_pool(bank, window, pooled);
        for (j = 0; j < features.cols; j++) features.at[i * features.stride + j] = R(pooled[j]);
    }
    return leave(ctx->arena, used, status);
}

/* ==== 5. Writing ================================================================================ */

/* Where the model's blob begins. */
static uint64_t model_at(const rfm_filters *f, size_t names) {
    const uint64_t at = HEAD + (uint64_t)f->filters * ((uint64_t)f->channels * f->taps + 5) + f->channels + names;
    return (at + RFM_ALIGN - 1) / RFM_ALIGN * RFM_ALIGN;
}

int rfm_filters_size(const rfm_filters *f, size_t record_bytes, size_t *bytes) {
    uint64_t total;
    size_t model;
    int status;
    if (f == NULL || bytes == NULL || f->bias == NULL || f->bank == NULL || f->shifts == NULL || f->exponents == NULL)
        return RFM_ENULL;
    if (f->model.d == 0) return RFM_EZERO;
    if (!head_right(f) || f->segments != segments_of(places_of(f), f->span)) return RFM_EVALUE;
    status = rfm_model_size_i(&f->model, record_bytes, &model);
    if (status != RFM_OK) return status;
    total = model_at(f, names_bytes(f->input_names, (size_t)f->channels * f->samples)) + model;
    if (total > UINT32_MAX) return RFM_EOVERFLOW;
    *bytes = (size_t)total;
    return RFM_OK;
}

int rfm_filters_write(const rfm_filters *f, const void *record, size_t record_bytes, void *blob, size_t size) {
    unsigned char *b = (unsigned char *)blob;
    size_t total, at, model, names;
    int status = blob == NULL ? RFM_ENULL : rfm_filters_size(f, record_bytes, &total);
    if (status != RFM_OK) return status;
    if ((uintptr_t)blob % RFM_ALIGN != 0) return RFM_EALIGN;
    if (size < total) return RFM_EARENA;
    if (!little_endian()) return RFM_ETYPE;
    if (!numbers_right(f) || !model_fits(f)) return RFM_EVALUE;
    names = names_bytes(f->input_names, (size_t)f->channels * f->samples), model = (size_t)model_at(f, names);
    status = rfm_model_write_i(&f->model, record, record_bytes, b + model, total - model);
    if (status != RFM_OK) return status;
    memset(b, 0, model);
    rfm_put_u32(b, MAGIC);
    rfm_put_u32(b + 8, (uint32_t)total);
    b[12] = VERSION, b[13] = (unsigned char)f->rectify, b[14] = (unsigned char)f->pools;
    rfm_put_u32(b + 16, f->channels | f->samples << 16);
    rfm_put_u32(b + 20, f->taps | f->filters << 16);
    rfm_put_u32(b + 24, f->span);
    rfm_put_u32(b + 28, (uint32_t)names);
    at = HEAD;
    memcpy(b + at, f->bias, 4 * (size_t)f->filters), at += 4 * (size_t)f->filters;
    memcpy(b + at, f->bank, (size_t)f->filters * f->channels * f->taps);
    at += (size_t)f->filters * f->channels * f->taps;
    memcpy(b + at, f->shifts, f->filters), at += f->filters;
    memcpy(b + at, f->exponents, f->channels), at += f->channels;
    if (names > 0) memcpy(b + at, f->input_names, names);
    rfm_put_u32(b + 4, rfm_crc32(0, b + COVERED, total - COVERED));
    return RFM_OK;
}

const void *rfm_filters_model(const void *blob, size_t *bytes) {
    const unsigned char *b = (const unsigned char *)blob;
    rfm_filters f;
    uint64_t at;
    if (blob == NULL || bytes == NULL) return NULL;
    f.channels = get_u16(b + 16), f.taps = get_u16(b + 20), f.filters = get_u16(b + 22);
    at = model_at(&f, rfm_get_u32(b + 28));
    *bytes = rfm_get_u32(b + 8) - (size_t)at;
    return b + at;
}

#endif /* RFM_NO_TRAIN */

/* Signals: spectra against the sum of the definition in double, features of integers and reals against their
 * definitions, windows and rings, forged bytes, specs with mistakes, exact memory, every refusal. And one checksum of
 * integer features that every machine must have. */
#include "test.h"

#include "rfm_signal.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

#define R_TEST(x) ((rfm_real)(x))
#define PI        3.14159265358979323846

static double largest_of(size_t n, const double *x) {
    double most = 0;
    size_t i;
    for (i = 0; i < n; i++)
        if (fabs(x[i]) > most) most = fabs(x[i]);
    return most;
}

/* ---- spectra -------------------------------------------------------------------------------- */

/* Kinds of signals, at sample i of n, in -1 to 1. */
enum { NOISE, SINE, IMPULSE, CONSTANT, ALTERNATING, QUIET, SQUARE, FADING, KINDS };

static double sample(int kind, size_t n, size_t i) {
    switch (kind) {
    case SINE: return cos(2 * PI * (double)(i * (n / 8 + 1) % n) / (double)n + 0.3);
    case IMPULSE: return i == n / 3 ? -1 : 0;
    case CONSTANT: return 1;
    case ALTERNATING: return i % 2 == 0 ? 1 : -1;
    case QUIET: return test_number(2, i, 0) / 8192; /* a few units of 16 bits */
    case SQUARE: return i % n < n / 2 ? -1 : 1;
    case FADING: return test_number(3, i, 0) * exp(-8. * (double)i / (double)n);
    default: return test_number(1, i, 0);
    }
}

/* Bin k of x by definition. Sines are turned on from one to the next, and made anew after 16: a processor without
 * floating point takes a thousand instructions for one. */
static void bin(size_t n, const double *x, size_t k, double *re, double *im) {
    const double step = 2 * PI * (double)k / (double)n, turn_c = cos(step), turn_s = sin(step);
    double c = 1, s = 0, was;
    size_t i;
    *re = *im = 0;
    for (i = 0; i < n; i++, was = c, c = was * turn_c - s * turn_s, s = s * turn_c + was * turn_s) {
        const double angle = 2 * PI * (double)(k * i % n) / (double)n;
        if (i % 16 == 0) c = cos(angle), s = sin(angle);
        *re += x[i] * c, *im -= x[i] * s;
    }
}

/* All bins of short signals, some of long ones. */
static size_t next_bin(size_t n, size_t k) { return k + (n <= 64 || k + n / 32 > n / 2 ? 1 : n / 32 - 1); }

static void test_fft(void) {
    size_t n, k;
    int kind;
    for (n = 2; n <= 4096; n *= 2)
        for (kind = 0; kind < KINDS; kind++) {
            double *x, re, im, most = 0, off = 0;
            rfm_real *y;
            test_reset();
            x = (double *)test_take(n * sizeof *x), y = (rfm_real *)test_take(n * sizeof *y);
            if (x == NULL || y == NULL || (TEST_FEW && n > 128 && kind > 1)) break;
            test_note("n, kind", n, (size_t)kind, 0);
            for (k = 0; k < n; k++) y[k] = (rfm_real)sample(kind, n, k), x[k] = (double)y[k];
            CHECK_INT(RFM_OK, rfm_fft(n, y));
            for (k = 0; k <= n / 2; k = next_bin(n, k)) {
                double a = k == 0 || 2 * k == n ? (double)y[k > 0] : (double)y[2 * k];
                double b = k == 0 || 2 * k == n ? 0 : (double)y[2 * k + 1];
                bin(n, x, k, &re, &im);
                most = fmax(most, hypot(re, im)), off = fmax(off, hypot(re - a, im - b));
            }
            for (k = 0; k < n; k++) most = fmax(most, fabs((double)y[k]));
            CHECK_BELOW(off, 1e-5 * most);
            if (RFM_REAL_BYTES == 8) CHECK_BELOW(off, 1e-8 * most);
        }
}

static void test_fft_integers(void) {
    size_t n, k;
    int kind, exponent;
    double worst = 0;
    for (n = 2; n <= 4096; n *= 2)
        for (kind = 0; kind < KINDS; kind++) {
            double *x, re, im, off = 0, bound;
            int16_t *y;
            test_reset();
            x = (double *)test_take(n * sizeof *x), y = (int16_t *)test_take(n * sizeof *y);
            if (x == NULL || y == NULL || (TEST_FEW && n > 128 && kind > 1)) break;
            test_note("n, kind", n, (size_t)kind, 0);
            for (k = 0; k < n; k++) {
                double v = floor(sample(kind, n, k) * 32768 + 0.5);
                y[k] = (int16_t)(v > 32767 ? 32767 : v), x[k] = y[k];
            }
            bound = RFM_FFT_ERROR(n) * (double)n * largest_of(n, x);
            CHECK_INT(RFM_OK, rfm_fft_i(n, y, &exponent));
            for (k = 0; k <= n / 2; k = next_bin(n, k)) {
                double unit = ldexp(1, exponent), a = unit * (k == 0 || 2 * k == n ? y[k > 0] : y[2 * k]);
                double b = k == 0 || 2 * k == n ? 0 : unit * y[2 * k + 1];
                bin(n, x, k, &re, &im);
                off = fmax(off, fmax(fabs(re - a), fabs(im - b)));
            }
            CHECK_BELOW(off, bound);
            worst = fmax(worst, off / bound);
        }
    test_note("largest error, thousandths of the bound", (size_t)(worst * 1000), 0, 0);
    CHECK_BELOW(worst, 0.5); /* a bound that says nothing would be no bound */
}

static void test_fft_refusals(void) {
    rfm_real x[8];
    int16_t xi[8];
    int exponent = 77;
    static const size_t lengths[] = {0, 1, 3, 6, 12, 4095, 8192, (size_t)1 << 31};
    size_t i;
    for (i = 0; i < 8; i++) x[i] = R_TEST(i), xi[i] = (int16_t)i;
    CHECK_INT(RFM_ENULL, rfm_fft(8, NULL));
    CHECK_INT(RFM_ENULL, rfm_fft_i(8, NULL, &exponent));
    CHECK_INT(RFM_ENULL, rfm_fft_i(8, xi, NULL));
    for (i = 0; i < TEST_LENGTH(lengths); i++) {
        CHECK_INT(RFM_EVALUE, rfm_fft(lengths[i], x));
        CHECK_INT(RFM_EVALUE, rfm_fft_i(lengths[i], xi, &exponent));
    }
    for (i = 0; i < 8; i++) CHECK(x[i] == R_TEST(i) && xi[i] == (int16_t)i);
    CHECK_INT(77, exponent);
    x[3] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_fft(8, x));
    for (i = 0; i < 8; i++) x[i] = RFM_LIMIT(MAX);
    CHECK_INT(RFM_ERANGE, rfm_fft(8, x));
    memset(xi, 0, sizeof xi);
    CHECK_INT(RFM_OK, rfm_fft_i(8, xi, &exponent));
    for (i = 0; i < 8; i++) CHECK_INT(0, xi[i]);
}

/* ---- signals by hand ------------------------------------------------------------------------ */

enum { MEAN, STD, LEAST, MOST, RMS, ENERGY, ZERO, CROSS, FFT, LOG, MEL, MFCC };
enum { HEAD = 28, AT_FLAGS = 13, AT_CHANNELS, AT_TRACKS, AT_WINDOW = 16, AT_STEP = 18, AT_WORDS = 20 };
enum { AT_FEATURES = 22, AT_SECTIONS = 24, AT_NAMES = 26 };

static unsigned char bytes[600];
static size_t used;
static rfm_signal made;

static void put_8(unsigned value) { bytes[used++] = (unsigned char)value; }
static void put_16(unsigned value) { put_8(value & 255), put_8(value >> 8 & 255); }
static void set_16(size_t at, unsigned value) { bytes[at] = value & 255, bytes[at + 1] = (unsigned char)(value >> 8); }
static unsigned get_16(size_t at) { return bytes[at] | (unsigned)bytes[at + 1] << 8; }

static void seal(void) {
    rfm_put_u32(bytes + 8, (uint32_t)used);
    rfm_put_u32(bytes + 4, rfm_crc32(0, bytes + 8, used - 8));
}

/* A signal without words: `filtered` tracks have a section c each. */
static void begin(unsigned window, unsigned step, int reals, unsigned channels, unsigned filtered, const int16_t *c) {
    unsigned i, j;
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, "rfmw", 4);
    bytes[12] = 1, bytes[AT_FLAGS] = (unsigned char)reals,
    bytes[AT_CHANNELS] = bytes[AT_TRACKS] = (unsigned char)channels;
    set_16(AT_WINDOW, window), set_16(AT_STEP, step), set_16(AT_SECTIONS, filtered);
    used = HEAD;
    for (i = 0; i < channels; i++) put_8(0);
    for (i = 0; i < channels; i++) put_8(i), put_8(i < filtered);
    for (i = 0; i < filtered; i++)
        for (j = 0; j < 5; j++) put_16((uint16_t)c[j]);
}

/* Bands of about equal width. */
static void word(unsigned track, unsigned what, unsigned count, unsigned bands) {
    unsigned b, bins = get_16(AT_WINDOW) / 2;
    put_8(track), put_8(what), put_8(count), put_8(bands);
    if (what >= FFT)
        for (b = 0; b <= bands; b++) put_16(1 + b * bins / bands);
    set_16(AT_WORDS, get_16(AT_WORDS) + 1);
    set_16(AT_FEATURES, get_16(AT_FEATURES) + count);
}

static int open_made(void) {
    seal();
    return rfm_signal_open(bytes, used, &made);
}

static int has_spectrum(size_t window) { return window >= 16 && (window & (window - 1)) == 0; }

/* All words of a track. */
static void all_words(unsigned track) {
    unsigned what;
    for (what = MEAN; what < FFT; what++) word(track, what, 1, 0);
    if (!has_spectrum(get_16(AT_WINDOW))) return;
    word(track, FFT, 5, 5);
    word(track, LOG, 8, 8);
    word(track, MFCC, 3, 4);
}

/* A stream on exactly the memory that it needs; 0: no room for it. */
static rfm_stream stream;
static int start(size_t slack) {
    size_t need;
    void *memory;
    CHECK_INT(RFM_OK, rfm_stream_need(&made, slack, &need));
    memory = test_take(need);
    if (memory == NULL) return 0;
    CHECK_INT(RFM_EARENA, rfm_stream_init(&stream, &made, slack, memory, need - 1));
    CHECK_INT(RFM_OK, rfm_stream_init(&stream, &made, slack, memory, need));
    return 1;
}

/* ---- features by definition ----------------------------------------------------------------- */

static double power(size_t n, const double *x, unsigned first, unsigned end) {
    double sum = 0, re, im;
    unsigned k;
    for (k = first; k < end; k++) bin(n, x, k, &re, &im), sum += (re * re + im * im) * 4 / (double)n / (double)n;
    return sum;
}

static double log_1024(double v) { return 1024 * log(1 + v) / log(2.); }

/* The features of all_words; x becomes what the spectrum is of. */
static size_t features_of(size_t n, double *x, double *to) {
    double sum = 0, squares = 0, mean, *start_of = to, logs[4];
    size_t i, b, j;
    for (i = 0; i < n; i++) sum += x[i], squares += x[i] * x[i];
    mean = sum / (double)n;
    to[MEAN] = mean, to[LEAST] = to[MOST] = x[0], to[RMS] = sqrt(squares / (double)n);
    to[ENERGY] = log_1024(squares / (double)n), to[ZERO] = to[CROSS] = 0;
    for (i = 0, squares = 0; i < n; i++) {
        to[LEAST] = fmin(to[LEAST], x[i]), to[MOST] = fmax(to[MOST], x[i]);
        if (i > 0 && (x[i] < 0) != (x[i - 1] < 0)) to[ZERO]++;
        if (i > 0 && (x[i] < mean) != (x[i - 1] < mean)) to[CROSS]++;
        squares += (x[i] - mean) * (x[i] - mean);
    }
    to[STD] = sqrt(squares / (double)n);
    to += FFT;
    if (!has_spectrum(n)) return FFT;
    for (i = 0; i < n; i++) x[i] = (x[i] - mean) * (0.5 - 0.5 * cos(2 * PI * (double)i / (double)n));
    for (b = 0; b < 5; b++)
        *to++ = sqrt(power(n, x, (unsigned)(1 + b * (n / 2) / 5), (unsigned)(1 + (b + 1) * (n / 2) / 5)));
    for (b = 0; b < 8; b++)
        *to++ = log_1024(power(n, x, (unsigned)(1 + b * (n / 2) / 8), (unsigned)(1 + (b + 1) * (n / 2) / 8)));
    for (b = 0; b < 4; b++)
        logs[b] = log_1024(power(n, x, (unsigned)(1 + b * (n / 2) / 4), (unsigned)(1 + (b + 1) * (n / 2) / 4)));
    for (j = 0; j < 3; j++, to++)
        for (*to = 0, b = 0; b < 4; b++) *to += logs[b] * cos(PI * (double)j * ((double)b + 0.5) / 4) / 4;
    return (size_t)(to - start_of);
}

static const unsigned windows[] = {1, 2, 3, 7, 8, 16, 31, 64, 100, 128, 256};

/* Numbers of 16 bits of a kind and size. */
static int16_t sample_i(int kind, size_t n, size_t i, double scale) {
    double v = floor(sample(kind, n, i) * scale + 0.5);
    return (int16_t)(v > 32767 ? 32767 : v < -32768 ? -32768 : v);
}

static void test_features_of_integers(void) {
    static double expect[32];
    static int16_t got[32];
    static const double scales[] = {32768, 3000, 20};
    size_t w, i, count, scale;
    int kind;
    for (w = 0; w < TEST_LENGTH(windows); w++)
        for (kind = 0; kind < KINDS; kind++)
            for (scale = 0; scale < (TEST_FEW ? 1 : 3); scale++) {
                const unsigned n = windows[w];
                double *x, most = 0, loss;
                test_reset();
                test_note("window, kind, scale", n, (size_t)kind, scale);
                if (TEST_FEW && n > 256) return;
                x = (double *)test_take(n * sizeof *x);
                begin(n, n, 0, 1, 0, NULL);
                all_words(0);
                CHECK_INT(RFM_OK, open_made());
                if (x == NULL || !start(0)) return;
                for (i = 0; i < n; i++) {
                    int16_t v = sample_i(kind, n, i, scales[scale]);
                    CHECK_INT(0, rfm_stream_ready(&stream));
                    CHECK_INT(RFM_OK, rfm_stream_push_i(&stream, &v));
                    x[i] = v;
                }
                CHECK_INT(1, rfm_stream_ready(&stream));
                CHECK_INT(RFM_OK, rfm_stream_take_i(&stream, got));
                CHECK_INT(RFM_EEMPTY, rfm_stream_take_i(&stream, got));
                count = features_of(n, x, expect);
                CHECK_SIZE(count, made.features);
                for (i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
                for (i = 0; i < FFT; i++)
                    if (i != CROSS) CHECK_BELOW(fabs(got[i] - fmin(expect[i], 32767)), i == ENERGY ? 1.5 : 1.001);
                /* A rounded mean can pass samples that lie within 1/2 of it. */
                if (kind == NOISE && scale < 2) CHECK_BELOW(fabs(got[CROSS] - expect[CROSS]), 2);
                /* The error of the transform, in each bin, and the rounding of the window's products. */
                loss = !has_spectrum(n) ? 0 : (RFM_FFT_ERROR(n) * (double)n + 2) * (most + 1) * 2 / (double)n * 1.5;
                for (i = FFT; i < count; i++) {
                    double bins = (double)n / 2, allowed = loss * sqrt(bins) + 1;
                    if (i < FFT + 5) CHECK_BELOW(fabs(got[i] - fmin(expect[i], 32767)), allowed);
                    if (i >= FFT + 5 && i < FFT + 13) { /* as far as the amplitude may be off */
                        double root = sqrt(exp(expect[i] / 1024 * log(2.)) - 1), low = fmax(root - allowed, 0);
                        CHECK(got[i] >= log_1024(low * low) - 2 && got[i] <= log_1024(pow(root + allowed, 2)) + 2);
                    }
                    if (i >= FFT + 13 && kind == NOISE && scale == 0) CHECK_BELOW(fabs(got[i] - expect[i]), 60);
                }
            }
}

static void test_features_of_reals(void) {
    static double expect[32];
    static rfm_real got[32];
    static const double scales[] = {1, 1e11, 1e-6, 5000};
    size_t w, i, count, scale;
    int kind;
    for (w = 0; w < TEST_LENGTH(windows); w++)
        for (kind = 0; kind < KINDS; kind++)
            for (scale = 0; scale < (TEST_FEW ? 1 : 4); scale++) {
                const unsigned n = windows[w];
                double *x, most = 0;
                test_reset();
                test_note("window, kind, scale", n, (size_t)kind, scale);
                if (TEST_FEW && n > 256) return;
                x = (double *)test_take(n * sizeof *x);
                begin(n, n, 1, 1, 0, NULL);
                all_words(0);
                CHECK_INT(RFM_OK, open_made());
                if (x == NULL || !start(0)) return;
                for (i = 0; i < n; i++) {
                    rfm_real v = (rfm_real)(sample(kind, n, i) * scales[scale]);
                    CHECK_INT(RFM_OK, rfm_stream_push(&stream, &v));
                    x[i] = (double)v;
                }
                CHECK_INT(RFM_OK, rfm_stream_take(&stream, got));
                count = features_of(n, x, expect);
                for (i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
                most = fmax(most, expect[MOST]), most = fmax(most, -expect[LEAST]);
                for (i = 0; i < count; i++) {
                    double bound = i == ZERO || i == CROSS       ? 0
                                   : i == ENERGY || i >= FFT + 5 ? 0.1 + 40 * 1e-5 * most * (most < 100)
                                                                 : 3e-5 * most;
                    if (i == CROSS && kind != NOISE) continue; /* a rounding decides */
                    /* A band without power has the rounding of the others. */
                    if (i >= FFT + 5 && expect[i] < log_1024(pow(3e-3 * most, 2))) continue;
                    if (i >= FFT + 13 && kind != NOISE) continue;
                    CHECK_BELOW(fabs((double)got[i] - expect[i]), bound);
                }
            }
}

/* One band of all bins of an impulse: each has the same power, and their sum takes more than 32 bits. */
static void test_wide_band(void) {
    enum { WINDOW = 1024, SIZE = 32000 };
    int16_t x, got = 0;
    size_t i;
    begin(WINDOW, WINDOW, 0, 1, 0, NULL);
    word(0, FFT, 1, 1);
    CHECK_INT(RFM_OK, open_made());
    if (!start(0)) return;
    for (i = 0; i < WINDOW; i++) {
        x = i == WINDOW / 2 ? SIZE : 0; /* where the window's weight is 1 */
        CHECK_INT(RFM_OK, rfm_stream_push_i(&stream, &x));
    }
    CHECK_INT(RFM_OK, rfm_stream_take_i(&stream, &got));
    CHECK_BELOW(fabs(got - SIZE * 2. / WINDOW * sqrt(WINDOW / 2)), 5);
}

/* ---- streams -------------------------------------------------------------------------------- */

/* Means of the windows of a ramp are known: window k of step s begins at k s. Channel 1 is twice channel 0. */
static void test_windows(void) {
    static const unsigned shapes[][3] = {{8, 4, 0}, {8, 8, 3}, {8, 1, 2}, {5, 3, 1},
                                         {4, 9, 0}, {4, 5, 7}, {1, 1, 0}, {1, 3, 1}};
    size_t i, k, windows_seen, total = 500;
    for (k = 0; k < TEST_LENGTH(shapes); k++) {
        const unsigned n = shapes[k][0], step = shapes[k][1];
        test_reset();
        test_note("window, step, slack", n, step, shapes[k][2]);
        begin(n, step, 0, 2, 0, NULL);
        word(0, LEAST, 1, 0), word(0, MOST, 1, 0), word(1, LEAST, 1, 0);
        CHECK_INT(RFM_OK, open_made());
        CHECK(start(shapes[k][2]));
        for (i = windows_seen = 0; i < total; i++) {
            int16_t x[2], f[3];
            x[0] = (int16_t)(10 * i), x[1] = (int16_t)(20 * i);
            CHECK_INT(RFM_OK, rfm_stream_push_i(&stream, x));
            if (!rfm_stream_ready(&stream)) continue;
            CHECK_INT(RFM_OK, rfm_stream_take_i(&stream, f));
            CHECK_INT(10 * (int)(windows_seen * step), f[0]);
            CHECK_INT(10 * (int)(windows_seen * step + n - 1), f[1]);
            CHECK_INT(20 * (int)(windows_seen * step), f[2]);
            CHECK_SIZE(windows_seen * step + n - 1, i);
            windows_seen++;
        }
        CHECK_SIZE((total - n) / step + 1, windows_seen);
        CHECK_SIZE(0, stream.lost);
        /* It stopped in mid-window; after a reset nothing of the old samples is left. */
        CHECK_INT(RFM_OK, rfm_stream_reset(&stream));
        for (i = 0; i < n; i++) {
            int16_t x[2] = {7, 7};
            CHECK_INT(0, rfm_stream_ready(&stream));
            CHECK_INT(RFM_OK, rfm_stream_push_i(&stream, x));
        }
        CHECK_INT(1, rfm_stream_ready(&stream));
    }
}

/* The counters may pass 2^32. */
static void test_full_ring(void) {
    int16_t x, f;
    size_t i;
    begin(4, 2, 0, 1, 0, NULL);
    word(0, MEAN, 1, 0);
    CHECK_INT(RFM_OK, open_made());
    CHECK(start(3));
    stream.pushed = stream.taken = UINT32_MAX - 2;
    for (i = 0; i < 9; i++) {
        x = (int16_t)i;
        CHECK_INT(i < 7 ? RFM_OK : RFM_EARENA, rfm_stream_push_i(&stream, &x));
    }
    CHECK_SIZE(2, stream.lost);
    CHECK_INT(RFM_OK, rfm_stream_take_i(&stream, &f));
    CHECK_INT(2, f); /* (0 + 1 + 2 + 3) / 4, halves up */
    x = 100;
    CHECK_INT(RFM_OK, rfm_stream_push_i(&stream, &x));
    CHECK_INT(RFM_OK, rfm_stream_push_i(&stream, &x));
    CHECK_INT(RFM_EARENA, rfm_stream_push_i(&stream, &x));
    CHECK_INT(RFM_OK, rfm_stream_take_i(&stream, &f));
    CHECK_INT(4, f);
    CHECK_INT(RFM_OK, rfm_stream_take_i(&stream, &f)); /* 4, 5, 6, 100 */
    CHECK_INT(29, f);
    CHECK_INT(RFM_EEMPTY, rfm_stream_take_i(&stream, &f));
}

static void test_stream_refusals(void) {
    int16_t x = 1, f[2] = {5, 5};
    rfm_real y = 1, g[2] = {5, 5};
    size_t need = 9;
    unsigned char *memory = (unsigned char *)test_take(256);
    begin(4, 2, 0, 1, 0, NULL);
    word(0, MEAN, 1, 0);
    CHECK_INT(RFM_OK, open_made());
    CHECK_INT(RFM_ENULL, rfm_stream_need(NULL, 0, &need));
    CHECK_INT(RFM_ENULL, rfm_stream_need(&made, 0, NULL));
    CHECK_INT(RFM_EVALUE, rfm_stream_need(&made, 65536, &need));
    CHECK_SIZE(9, need);
    memset(&stream, 0x55, sizeof stream);
    CHECK_INT(RFM_ENULL, rfm_stream_init(NULL, &made, 0, memory, 256));
    CHECK_INT(RFM_ENULL, rfm_stream_init(&stream, NULL, 0, memory, 256));
    CHECK_INT(RFM_ENULL, rfm_stream_init(&stream, &made, 0, NULL, 256));
    CHECK_INT(RFM_EALIGN, rfm_stream_init(&stream, &made, 0, memory + 2, 200));
    CHECK_INT(RFM_EVALUE, rfm_stream_init(&stream, &made, 65536, memory, 256));
    CHECK_INT(0x55, *(unsigned char *)&stream);
    CHECK_INT(RFM_OK, rfm_stream_init(&stream, &made, 0, memory, 256));
    CHECK_INT(RFM_ENULL, rfm_stream_push_i(NULL, &x));
    CHECK_INT(RFM_ENULL, rfm_stream_push_i(&stream, NULL));
    CHECK_INT(RFM_ETYPE, rfm_stream_push(&stream, &y));
    CHECK_INT(RFM_ENULL, rfm_stream_take_i(NULL, f));
    CHECK_INT(RFM_ENULL, rfm_stream_take_i(&stream, NULL));
    CHECK_INT(RFM_ETYPE, rfm_stream_take(&stream, g));
    CHECK_INT(RFM_EEMPTY, rfm_stream_take_i(&stream, f));
    CHECK_INT(0, rfm_stream_ready(NULL));
    CHECK_INT(RFM_ENULL, rfm_stream_reset(NULL));
    CHECK(f[0] == 5 && g[0] == 5);
    begin(1, 1, 1, 1, 0, NULL);
    word(0, MEAN, 1, 0);
    CHECK_INT(RFM_OK, open_made());
    CHECK_INT(RFM_OK, rfm_stream_init(&stream, &made, 0, memory, 256));
    CHECK_INT(RFM_ETYPE, rfm_stream_push_i(&stream, &x));
    CHECK_INT(RFM_ETYPE, rfm_stream_take_i(&stream, f));
    CHECK_INT(RFM_ENULL, rfm_stream_push(&stream, NULL));
    CHECK_INT(RFM_ENULL, rfm_stream_push(NULL, &y));
    CHECK_INT(RFM_ENULL, rfm_stream_take(NULL, g));
    CHECK_INT(RFM_ENULL, rfm_stream_take(&stream, NULL));
    CHECK_INT(RFM_EEMPTY, rfm_stream_take(&stream, g));
    y = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_stream_push(&stream, &y));
    y = (rfm_real)-1.5e12;
    CHECK_INT(RFM_ERANGE, rfm_stream_push(&stream, &y));
    CHECK_INT(0, rfm_stream_ready(&stream));
    y = 3;
    CHECK_INT(RFM_OK, rfm_stream_push(&stream, &y));
    CHECK_INT(RFM_EARENA, rfm_stream_push(&stream, &y));
    CHECK_SIZE(1, stream.lost);
    CHECK_INT(RFM_OK, rfm_stream_take(&stream, g));
    CHECK(g[0] == 3 && g[1] == 5);
}

/* ---- filters -------------------------------------------------------------------------------- */

/* 8192 times those of Butterworth filters at 0.1 of the rate, by the bilinear transform: low, high. */
static const int16_t filters[2][5] = {{553, 1105, 553, -9363, 3382}, {5234, -10468, 5234, -9363, 3382}};

/* The amplitude that passes, |H| at the frequency f, by its definition. */
static double response(const int16_t *c, double f) {
    double w = 2 * PI * f, re = c[0] + c[1] * cos(w) + c[2] * cos(2 * w), im = c[1] * sin(w) + c[2] * sin(2 * w);
    double den_re = 8192 + c[3] * cos(w) + c[4] * cos(2 * w), den_im = c[3] * sin(w) + c[4] * sin(2 * w);
    return hypot(re, im) / hypot(den_re, den_im);
}

static void test_filters(void) {
    static const double frequencies[] = {0, 1 / 64., 1 / 16., 1 / 8., 1 / 4., 7 / 16.};
    const unsigned n = 64;
    size_t which, i, k;
    int reals;
    for (which = 0; which < 2; which++)
        for (k = 0; k < TEST_LENGTH(frequencies); k++)
            for (reals = 0; reals < 2; reals++) {
                double expect = response(filters[which], frequencies[k]) * 10000 * (k == 0 ? 1 : sqrt(0.5)), got;
                rfm_real g = 0;
                int16_t f = 0;
                test_reset();
                test_note("filter, frequency, reals", which, k, (size_t)reals);
                begin(n, n, reals, 1, 1, filters[which]);
                word(0, RMS, 1, 0);
                CHECK_INT(RFM_OK, open_made());
                CHECK(start(0));
                for (i = 0; i < 6 * n; i++) {
                    double v = 10000 * cos(2 * PI * frequencies[k] * (double)i);
                    int16_t xi = (int16_t)floor(v + 0.5);
                    rfm_real x = (rfm_real)v;
                    CHECK_INT(RFM_OK, reals ? rfm_stream_push(&stream, &x) : rfm_stream_push_i(&stream, &xi));
                    if (!rfm_stream_ready(&stream)) continue;
                    CHECK_INT(RFM_OK, reals ? rfm_stream_take(&stream, &g) : rfm_stream_take_i(&stream, &f));
                    /* A constant is there for ever: nothing swings in. */
                    got = reals ? (double)g : f;
                    if (k == 0 && which == 0) CHECK_BELOW(fabs(got - 10000), 1);
                    if (k == 0 && which == 1) CHECK_BELOW(got, 1);
                }
                CHECK_BELOW(fabs((reals ? (double)g : f) - expect), reals ? 1 : 2);
            }
}

/* The largest steps: nothing overflows (the sanitizer looks), and everything is at most 16 bits. */
static void test_filter_extremes(void) {
    static const int16_t hard[5] = {8191, -16383, 8191, -16300, 8150};
    size_t i;
    int16_t f[3];
    begin(16, 16, 0, 1, 1, hard);
    word(0, LEAST, 1, 0), word(0, MOST, 1, 0), word(0, FFT, 1, 1);
    CHECK_INT(RFM_OK, open_made());
    CHECK(start(0));
    for (i = 0; i < 4096; i++) {
        int16_t x = (int16_t)(test_number(9, i, 0) < 0 ? -32768 : 32767);
        CHECK_INT(RFM_OK, rfm_stream_push_i(&stream, &x));
        if (rfm_stream_ready(&stream)) CHECK_INT(RFM_OK, rfm_stream_take_i(&stream, f));
    }
    CHECK_INT(-32768, f[0]);
    CHECK_INT(32767, f[1]);
}

/* ---- inputs --------------------------------------------------------------------------------- */

static void test_inputs(void) {
    static const int16_t f[6] = {3, -3, 32767, -32768, 0, 5};
    static const uint16_t index[6] = {5, 1, 2, 3, 4, 0};
    static const int8_t exponents[6] = {-1, -1, 1, 2, 126, 13};
    static const int16_t expect[6] = {3, -2, 32767, -32768, 0, 24576};
    int16_t x[6];
    size_t i;
    CHECK_INT(RFM_OK, rfm_signal_inputs(6, f, NULL, NULL, x));
    for (i = 0; i < 6; i++) CHECK_INT(f[i], x[i]);
    CHECK_INT(RFM_OK, rfm_signal_inputs(6, f, index, exponents, x));
    for (i = 0; i < 6; i++) CHECK_INT(expect[i], x[i]);
    CHECK_INT(RFM_ENULL, rfm_signal_inputs(6, NULL, NULL, NULL, x));
    CHECK_INT(RFM_ENULL, rfm_signal_inputs(6, f, NULL, NULL, NULL));
    for (i = 0; i < 253; i++) { /* against a product in double */
        int8_t e = (int8_t)((int)i - 126);
        size_t j;
        for (j = 0; j < 6; j++) {
            double v = ldexp(f[j], e), rounded = v < 0 ? -floor(-v + 0.5) : floor(v + 0.5);
            CHECK_INT(RFM_OK, rfm_signal_inputs(1, f + j, NULL, &e, x));
            CHECK_INT((int)fmax(fmin(rounded, 32767), -32768), x[0]);
        }
    }
}

/* ---- the same bits everywhere ---------------------------------------------------------------- */

static void test_same_bits(void) {
    static int16_t f[2 * 24];
    uint32_t hash = 0, state = 1;
    size_t i, k, round;
    test_reset();
    begin(64, 32, 0, 2, 1, filters[1]);
    all_words(0), all_words(1);
    CHECK_INT(RFM_OK, open_made());
    CHECK(start(0));
    for (round = 0; round < 16; round++)
        for (i = 0; i < 64; i++) {
            int16_t x[2];
            for (k = 0; k < 2; k++) {
                state = state * 1664525u + 1013904223u;
                x[k] = (int16_t)((int32_t)(state >> 16 >> round) - (32768 >> round));
            }
            CHECK_INT(RFM_OK, rfm_stream_push_i(&stream, x));
            if (!rfm_stream_ready(&stream)) continue;
            CHECK_INT(RFM_OK, rfm_stream_take_i(&stream, f));
            hash = rfm_crc32(hash, "", 1); /* a window */
            for (k = 0; k < made.features; k++) {
                unsigned char b[2];
                b[0] = (unsigned char)(f[k] & 255), b[1] = (unsigned char)((uint16_t)f[k] >> 8);
                hash = rfm_crc32(hash, b, 2);
            }
        }
    /* There is no other source of this number than a run of this program: it says that all machines agree. */
    TEST_ASSERT_EQUAL_HEX32(0xE6D6454D, hash);
}

/* ---- bytes that are wrong -------------------------------------------------------------------- */

/* Two channels, the first filtered, with names. */
static void example(void) {
    begin(16, 8, 0, 2, 1, filters[0]);
    word(0, MEAN, 1, 0), word(0, MFCC, 2, 4), word(1, FFT, 3, 3);
    memcpy(bytes + used, "a\0b\0a_low\0b", 12);
    used += 12;
    set_16(AT_NAMES, 12);
}

static void refused(int status, const char *what) {
    rfm_signal before = made;
    test_note(what, 0, 0, 0);
    seal();
    CHECK_INT(status, rfm_signal_open(bytes, used, &made));
    CHECK(memcmp(&before, &made, sizeof made) == 0);
    example();
}

static void test_forged(void) {
    enum { TRACK = HEAD + 2, SECTION = TRACK + 4, WORD = SECTION + 10, CEPSTRUM = WORD + 4, BANDS = CEPSTRUM + 14 };
    size_t i;
    memset(&made, 0, sizeof made);
    example();
    CHECK_INT(RFM_OK, open_made());
    CHECK_SIZE(6, made.features);
    CHECK_INT(0, strcmp("a_low", rfm_name(made.names, 2)));
    CHECK_INT(RFM_ENULL, rfm_signal_open(NULL, used, &made));
    CHECK_INT(RFM_ENULL, rfm_signal_open(bytes, used, NULL));
    for (i = 0; i < used; i++) {
        test_note("size", i, 0, 0);
        CHECK_INT(RFM_ETRUNCATED, rfm_signal_open(bytes, i, &made));
        bytes[i] ^= 1;
        CHECK(rfm_signal_open(bytes, used, &made) != RFM_OK);
        bytes[i] ^= 1;
    }
    memmove(bytes + 1, bytes, used); /* any address will do */
    CHECK_INT(RFM_OK, rfm_signal_open(bytes + 1, used, &made));
    example();
    bytes[0] = 'x', refused(RFM_EMAGIC, "magic");
    bytes[12] = 2, refused(RFM_EVERSION, "version");
    bytes[AT_FLAGS] = 2, refused(RFM_ECONTENT, "flags");
    bytes[AT_CHANNELS] = 0, refused(RFM_ECONTENT, "no channel");
    bytes[AT_CHANNELS] = 65, refused(RFM_ECONTENT, "channels");
    bytes[AT_TRACKS] = 0, refused(RFM_ECONTENT, "no track");
    bytes[AT_TRACKS] = 65, refused(RFM_ECONTENT, "tracks");
    set_16(AT_WINDOW, 0), refused(RFM_ECONTENT, "no window");
    set_16(AT_WINDOW, 15), refused(RFM_ECONTENT, "window of 15 with spectra");
    set_16(AT_WINDOW, 8), refused(RFM_ECONTENT, "bands beyond the spectrum");
    set_16(AT_WINDOW, 32768), refused(RFM_ECONTENT, "window");
    set_16(AT_WINDOW, 8192), refused(RFM_ETYPE, "a spectrum longer than the table");
    set_16(AT_STEP, 0), refused(RFM_ECONTENT, "step");
    set_16(AT_WORDS, 0), refused(RFM_ECONTENT, "no words");
    set_16(AT_WORDS, 4), refused(RFM_ECONTENT, "words");
    set_16(AT_FEATURES, 5), refused(RFM_ECONTENT, "features");
    set_16(AT_SECTIONS, 0), refused(RFM_ECONTENT, "sections");
    set_16(AT_SECTIONS, 60000), refused(RFM_ECONTENT, "sections beyond the end");
    set_16(AT_NAMES, 11), refused(RFM_ECONTENT, "bytes of names");
    set_16(AT_NAMES, 60000), refused(RFM_ECONTENT, "names beyond the end");
    bytes[used - 1] = 'x', refused(RFM_ECONTENT, "the last name has no end");
    bytes[used - 2] = 0, refused(RFM_ECONTENT, "a name too many");
    bytes[HEAD] = 127, refused(RFM_ECONTENT, "exponent");
    bytes[TRACK] = 2, refused(RFM_ECONTENT, "track of no channel");
    bytes[TRACK + 1] = 2, refused(RFM_ECONTENT, "sections of a track");
    set_16(SECTION + 8, 8192), refused(RFM_ECONTENT, "a pole on the circle");
    set_16(SECTION + 6, (uint16_t)-11575), refused(RFM_ECONTENT, "a real pole outside");
    set_16(SECTION, 32767), set_16(SECTION + 2, 32767), refused(RFM_ECONTENT, "a filter that overflows");
    bytes[WORD] = 2, refused(RFM_ECONTENT, "word of no track");
    bytes[WORD] = 1, refused(RFM_ECONTENT, "tracks out of order");
    bytes[WORD + 1] = 12, refused(RFM_ECONTENT, "no such word");
    bytes[WORD + 2] = 0, refused(RFM_ECONTENT, "no number");
    bytes[WORD + 2] = 2, refused(RFM_ECONTENT, "a mean has one number");
    bytes[WORD + 3] = 1, refused(RFM_ECONTENT, "a mean has no bands");
    bytes[CEPSTRUM + 2] = 5, refused(RFM_ECONTENT, "more numbers than bands");
    bytes[CEPSTRUM + 3] = 3, refused(RFM_ECONTENT, "bands not a power of two");
    set_16(CEPSTRUM + 4, 0), refused(RFM_ECONTENT, "the bin of constants");
    set_16(CEPSTRUM + 6, 1), refused(RFM_ECONTENT, "an empty band");
    bytes[BANDS + 2] = 2, refused(RFM_ECONTENT, "fewer numbers than bands");
    set_16(BANDS + 10, 10), refused(RFM_ECONTENT, "a bin behind the last");
    CHECK_INT(RFM_OK, open_made());
}

/* ---- specs ----------------------------------------------------------------------------------- */

static rfm_signal_options options;
static rfm_signal_fault fault;

static void spec_options(size_t window) {
    memset(&options, 0, sizeof options);
    options.window = window, options.step = window, options.channels = 3, options.names = "acc_x\0acc y\0mic";
}

/* The compiler takes 12 KB of stack: not for every board. */
#define NEED_STACK() \
    if (TEST_RAM < 200000) TEST_IGNORE_MESSAGE("a board with little stack")

static void test_specs(void) {
    static const char *const names[] = {"mic_mean",        "mic_high0.1_fft2_1",   "mic_high0.1_fft2_2",
                                        "mic_high0.1_std", "acc_x_high0.1_fft2_1", "acc_x_high0.1_fft2_2",
                                        "acc_x_mfcc2/4_1", "acc_x_mfcc2/4_2"};
    const char *spec = "mic: mean; mic,acc_x:high0.1 fft2 ;\n\tacc_x : mfcc2; ; mic: std high0.1";
    char name[40];
    size_t size = 0, i;
    NEED_STACK();
    spec_options(16);
    CHECK_INT(RFM_OK, rfm_signal_compile(spec, &options, NULL, 0, &size, &fault));
    CHECK(size > HEAD && size < sizeof bytes);
    memset(bytes, 0x5a, sizeof bytes);
    CHECK_INT(RFM_EARENA, rfm_signal_compile(spec, &options, bytes, size - 1, &i, &fault));
    CHECK_INT(0x5a, bytes[0]);
    CHECK_INT(RFM_OK, rfm_signal_compile(spec, &options, bytes, size, &i, &fault));
    CHECK_SIZE(size, i);
    CHECK_INT(0x5a, bytes[size]);
    CHECK_INT(RFM_OK, rfm_signal_open(bytes, size, &made));
    CHECK_SIZE(2, made.channels);
    CHECK_SIZE(4, made.tracks);
    CHECK_SIZE(TEST_LENGTH(names), made.features);
    CHECK_INT(0, strcmp("mic", rfm_name(made.names, 0)));
    CHECK_INT(0, strcmp("acc_x", rfm_name(made.names, 1)));
    for (i = 0; i < made.features; i++) {
        CHECK_INT(RFM_OK, rfm_signal_name(&made, i, name, sizeof name));
        TEST_ASSERT_EQUAL_STRING(names[i], name);
    }
    CHECK_INT(RFM_OK, rfm_signal_name(&made, 1, name, 5));
    TEST_ASSERT_EQUAL_STRING("mic_", name);
    CHECK_INT(RFM_EVALUE, rfm_signal_name(&made, made.features, name, sizeof name));
    CHECK_INT(RFM_EVALUE, rfm_signal_name(&made, 0, name, 0));
    CHECK_INT(RFM_ENULL, rfm_signal_name(NULL, 0, name, 9));
    CHECK_INT(RFM_ENULL, rfm_signal_name(&made, 0, NULL, 9));
    /* The filter is that of the definition. */
    for (i = 0; i < 5; i++)
        CHECK_BELOW(fabs((int16_t)(made.section[2 * i] | made.section[2 * i + 1] << 8) - (double)filters[1][i]), 1);
    i = size;
    CHECK_INT(RFM_ENULL, rfm_signal_strip(NULL, &i));
    CHECK_INT(RFM_ENULL, rfm_signal_strip(bytes, NULL));
    CHECK_INT(RFM_OK, rfm_signal_strip(bytes, &i));
    CHECK(i < size);
    CHECK_INT(RFM_OK, rfm_signal_open(bytes, i, &made));
    CHECK(made.names == NULL && made.features == TEST_LENGTH(names));
    CHECK_INT(RFM_EVALUE, rfm_signal_name(&made, 0, name, sizeof name));
    bytes[5] ^= 1;
    CHECK_INT(RFM_ECHECKSUM, rfm_signal_strip(bytes, &i));
}

/* Every band has its bins, in order, and all of them together are 1 to W / 2. */
static void test_bands(void) {
    static const char *const specs[] = {"*: mel5",  "*: fft7",   "*: log16", "*: mfcc3/16",
                                        "*: mel32", "*: fft255", "*: mel1"};
    size_t size, i, b;
    NEED_STACK();
    for (i = 0; i < 2 * TEST_LENGTH(specs); i++) {
        unsigned before = 0;
        test_note("spec", i, 0, 0);
        spec_options(i / 2 == 5 ? 512 : 64);
        options.rate = i % 2 ? 100 : 0;
        CHECK_INT(RFM_OK, rfm_signal_compile(specs[i / 2], &options, NULL, 0, &size, &fault));
        if (size > sizeof bytes) options.channels = 1;
        CHECK_INT(RFM_OK, rfm_signal_compile(specs[i / 2], &options, bytes, sizeof bytes, &size, &fault));
        CHECK_INT(RFM_OK, rfm_signal_open(bytes, size, &made));
        CHECK_SIZE(options.channels, made.tracks);
        for (b = 0; b <= made.word[3]; b++) {
            unsigned edge = made.word[4 + 2 * b] | (unsigned)made.word[5 + 2 * b] << 8;
            CHECK(edge > before);
            if (b == 0) CHECK_INT(1, edge);
            if (b == made.word[3]) CHECK_INT(options.window / 2 + 1, edge);
            before = edge;
        }
    }
    /* The mel scale: of 5 bands at 16 kHz the first is narrower than the last by what log(1 + f / 700) says. */
    spec_options(4096);
    CHECK_INT(RFM_OK, rfm_signal_compile("mic: mel5", &options, bytes, sizeof bytes, &size, &fault));
    CHECK_INT(RFM_OK, rfm_signal_open(bytes, size, &made));
    for (b = 1; b < 5; b++) {
        double top = log(1 + 8000 / 700.), edge = made.word[4 + 2 * b] | (unsigned)made.word[5 + 2 * b] << 8;
        CHECK_BELOW(fabs(edge - 700 * (exp(top * (double)b / 5) - 1) / 16000 * 4096), 4);
    }
}

/* What is wrong, and at which place. */
static void test_wrong_specs(void) {
    static const struct {
        const char *spec;
        size_t window, at, length;
        const char *why;
    } wrongs[] = {
        {"acc_x: mean sdt", 16, 12, 3, "unknown word"},
        {"acc_x: mean; mic: Mean", 16, 18, 4, "unknown word"},
        {"acc_x: mean fft", 16, 12, 3, "unknown word"},
        {"acc_x: mean2", 16, 7, 5, "unknown word"},
        {"acc_z: mean", 16, 0, 5, "no such channel"},
        {"acc_x, gyro,mic: mean", 16, 7, 4, "no such channel"},
        {"acc_x,: mean", 16, 6, 0, "no such channel"},
        {"acc_x mean", 16, 0, 10, "expected CHANNEL: WORDS"},
        {"mic: std; : mean", 16, 10, 1, "expected a channel before the colon"},
        {"acc_x:", 16, 0, 6, "expected words behind the colon"},
        {"acc_x: low0.1", 16, 7, 6, "expected a feature beside the filters"},
        {"", 16, 0, 0, "the spec is empty"},
        {" ; ", 16, 0, 3, "the spec is empty"},
        {"mic: fft8", 100, 5, 4, "a spectrum needs a window that is a power of two"},
        {"mic: fft1", 1, 5, 4, "a spectrum needs a window of 4 to 4096"},
        {"mic: fft1", 8192, 5, 4, "a spectrum needs a window of 4 to 4096"},
        {"mic: fft0", 16, 5, 4, "expected at least 1"},
        {"mic: fft9", 16, 5, 4, "more bands than half of the window, or than 255"},
        {"mic: fft256", 4096, 5, 6, "more bands than half of the window, or than 255"},
        {"mic: fft99999999999", 4096, 5, 14, "expected a number and nothing behind it"},
        {"mic: log8x", 16, 5, 5, "expected a number and nothing behind it"},
        {"mic: mfcc9/8", 64, 5, 7, "more numbers than bands"},
        {"mic: mfcc3/12", 64, 5, 8, "expected a power of two of bands, 4 to a quarter of the window, at most 64"},
        {"mic: mfcc3/32", 64, 5, 8, "expected a power of two of bands, 4 to a quarter of the window, at most 64"},
        {"mic: mfcc3/", 64, 5, 6, "expected a power of two of bands, 4 to a quarter of the window, at most 64"},
        {"mic: mfcc8", 16, 5, 5, "expected a power of two of bands, 4 to a quarter of the window, at most 64"},
        {"mic: mean std mean", 16, 14, 4, "twice for the same channel"},
        {"mic: mfcc4 mfcc4/8", 64, 11, 7, "twice for the same channel"},
        {"*: mean; mic: mean", 16, 14, 4, "twice for the same channel"},
        {"mic: low0.6 mean", 16, 5, 6, "expected a frequency from 0.005 to 0.495 of the sampling rate"},
        {"mic: high0.001 mean", 16, 5, 9, "expected a frequency from 0.005 to 0.495 of the sampling rate"},
        {"mic: low0.1z mean", 16, 5, 7, "expected a number and nothing behind it"},
        {"mic: band0.1 mean", 16, 5, 7, "expected bandF-G"},
        {"mic: band0.1-0.2- mean", 16, 5, 12, "expected bandF-G"},
        {"mic: band0.1x0.2 mean", 16, 5, 11, "expected bandF-G"},
        {"mic: low.1 mean", 16, 5, 5, "unknown word"},
        {"mic: low0.1 low0.1 low0.1 low0.1 low0.1 mean", 16, 33, 6, "more than four filters"},
    };
    size_t i, size = 77;
    NEED_STACK();
    for (i = 0; i < TEST_LENGTH(wrongs); i++) {
        test_note(wrongs[i].spec, i, 0, 0);
        spec_options(wrongs[i].window);
        CHECK_INT(RFM_EVALUE, rfm_signal_compile(wrongs[i].spec, &options, bytes, sizeof bytes, &size, &fault));
        TEST_ASSERT_EQUAL_STRING_MESSAGE(wrongs[i].why, fault.why, wrongs[i].spec);
        CHECK_SIZE(wrongs[i].at, fault.at);
        CHECK_SIZE(wrongs[i].length, fault.length);
        CHECK_SIZE(77, size);
    }
}

static void test_spec_refusals(void) {
    static const int8_t exponents[3] = {0, 127, 0};
    size_t size = 77;
    NEED_STACK();
    spec_options(16);
    CHECK_INT(RFM_ENULL, rfm_signal_compile(NULL, &options, bytes, 600, &size, &fault));
    CHECK_INT(RFM_ENULL, rfm_signal_compile("mic: mean", NULL, bytes, 600, &size, &fault));
    CHECK_INT(RFM_ENULL, rfm_signal_compile("mic: mean", &options, bytes, 600, NULL, &fault));
    CHECK_INT(RFM_ENULL, rfm_signal_compile("mic: mean", &options, bytes, 600, &size, NULL));
#define REFUSED(status, change)                                                                  \
    do {                                                                                         \
        spec_options(16);                                                                        \
        change;                                                                                  \
        CHECK_INT(status, rfm_signal_compile("mic: mean", &options, bytes, 600, &size, &fault)); \
        CHECK_SIZE(0, fault.length);                                                             \
    } while (0)
    REFUSED(RFM_ENULL, options.names = NULL);
    REFUSED(RFM_EZERO, options.window = 0);
    REFUSED(RFM_EZERO, options.step = 0);
    REFUSED(RFM_EZERO, options.channels = 0);
    REFUSED(RFM_EVALUE, options.window = 32768);
    REFUSED(RFM_EVALUE, options.step = 65536);
    REFUSED(RFM_EVALUE, options.channels = 65536);
    REFUSED(RFM_EVALUE, options.rate = -1);
    REFUSED(RFM_EVALUE, options.rate = (rfm_real)NAN);
    REFUSED(RFM_EVALUE, options.exponents = exponents);
    CHECK_SIZE(77, size);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_fft);
    RUN_TEST(test_fft_integers);
    RUN_TEST(test_fft_refusals);
    RUN_TEST(test_features_of_integers);
    RUN_TEST(test_features_of_reals);
    RUN_TEST(test_wide_band);
    RUN_TEST(test_windows);
    RUN_TEST(test_full_ring);
    RUN_TEST(test_stream_refusals);
    RUN_TEST(test_filters);
    RUN_TEST(test_filter_extremes);
    RUN_TEST(test_inputs);
    RUN_TEST(test_same_bits);
    RUN_TEST(test_forged);
    RUN_TEST(test_specs);
    RUN_TEST(test_bands);
    RUN_TEST(test_wrong_specs);
    RUN_TEST(test_spec_refusals);
    return UNITY_END();
}

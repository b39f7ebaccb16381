/* Signals: random specs, compiled and opened on exactly their bytes; streams on exactly their memory; the features of
 * every window against the definitions at the head of rfm_signal.h, in double. */
#include "signals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rfm_signal.h"

#define PI         3.14159265358979323846
#define BIN_ERROR  (RFM_REAL_BYTES == 4 ? 1e-5 : 1e-8) /* of rfm_fft, of the largest |X|; sines have 30 bits */
#define REACH_MOST 1e12                                /* of reals that a stream takes */
#define AS_ZERO    1e-15                               /* of reals: below this is as good as 0 */

enum { MEAN, STD, LEAST, MOST, RMS, ENERGY, ZERO, CROSS, FFT, LOG, MEL, MFCC };

typedef struct {
    rfm_signal_options o;
    char spec[600];
    int exponent; /* samples are multiplied by a power of two */
    double most;  /* of what goes into the tracks */
    size_t steps; /* samples that are pushed */
    double *x;    /* (tracks, steps) behind the filters */
    rfm_signal signal;
    rfm_stream stream;
} sensor;

/* ---- specs ---------------------------------------------------------------------------------- */

static void add_text(sensor *s, const char *text) {
    const size_t used = strlen(s->spec);
    snprintf(s->spec + used, sizeof s->spec - used, "%s", text);
}

static void add_words(sensor *s) {
    static const char *const single[] = {"mean", "std", "min", "max", "rms", "energy", "zero", "cross"},
                             *const bands[] = {"fft", "log", "mel"};
    const size_t window = s->o.window, first = draw(8), more = draw(4);
    const int spectrum = window >= 16 && (window & (window - 1)) == 0;
    char text[40];
    size_t i;
    if (chance(3)) {
        snprintf(text, sizeof text, " %s%.4f", chance(2) ? "low" : "high", uniform(0.03, 0.45));
        add_text(s, text);
    }
    if (chance(6)) {
        snprintf(text, sizeof text, " band%.4f-%.4f", uniform(0.03, 0.1), uniform(0.2, 0.4));
        add_text(s, text);
    }
    for (i = 0; i <= more; i++) {
        snprintf(text, sizeof text, " %s", single[(first + i) % 8]);
        add_text(s, text);
    }
    for (i = 0; spectrum && i < 3; i++) {
        const size_t count = 1 + draw(window / 4 < 20 ? window / 4 : 20);
        if (chance(2)) continue;
        snprintf(text, sizeof text, " %s%lu", bands[i], (unsigned long)count);
        add_text(s, text);
    }
    if (spectrum && chance(2)) add_text(s, chance(2) ? " mfcc3/4" : " mfcc2");
}

static void draw_spec(sensor *s, size_t channels) {
    static const char *const groups[] = {"a:", "b:", "*:", "c, a:"};
    size_t kinds = channels == 1 ? 1 : channels == 2 ? 3 : 4, i;
    s->spec[0] = 0;
    if (chance(3)) {
        add_text(s, groups[draw(kinds)]);
        add_words(s);
    } else
        for (i = 0; i < channels; i++) { /* each channel has a group of its own: no word comes twice */
            const char *one[] = {"; a:", "; b:", "; c:"};
            add_text(s, one[i] + (i == 0 ? 2 : 0));
            add_words(s);
        }
    note(" %s", s->spec);
}

/* Compiled into exactly its bytes, and opened. */
static int make_signal(sensor *s) {
    rfm_signal_fault fault;
    size_t bytes = 0, again = 0;
    unsigned char *at;
    int status = rfm_signal_compile(s->spec, &s->o, NULL, 0, &bytes, &fault);
    if (status != RFM_OK) {
        fail("rfm_signal_compile: status %d, %s", status, fault.why);
        return 0;
    }
    at = take(bytes);
    if (rfm_signal_compile(s->spec, &s->o, at, bytes - 1, &again, &fault) != RFM_EARENA)
        fail("rfm_signal_compile into one byte less");
    if (rfm_signal_compile(s->spec, &s->o, at, bytes, &again, &fault) != RFM_OK || again != bytes) {
        fail("rfm_signal_compile into its own bytes");
        return 0;
    }
    if (rfm_signal_open(at, bytes - 1, &s->signal) != RFM_ETRUNCATED) fail("rfm_signal_open of one byte less");
    if (chance(2) && rfm_signal_strip(at, &bytes) != RFM_OK) fail("rfm_signal_strip");
    status = rfm_signal_open(at, bytes, &s->signal);
    if (status != RFM_OK) fail("rfm_signal_open: status %d", status);
    return status == RFM_OK;
}

/* ---- filters -------------------------------------------------------------------------------- */

static int number_16(const unsigned char *at) {
    const int value = at[0] | at[1] << 8;
    return value < 32768 ? value : value - 65536;
}

/* y = b0 x + b1 x1 + b2 x2 - a1 y1 - a2 y2, in units of 2^-13; integers carry what was cut off. The first sample has
 * been there for ever. */
static void plain_filter(const unsigned char *c, size_t count, double *x, int reals) {
    const int passes = number_16(c) + number_16(c + 2) + number_16(c + 4) != 0;
    double x1 = x[0], x2 = x[0], y1 = passes ? x[0] : 0, y2 = y1, rest = 0;
    size_t i;
    for (i = 0; i < count; i++) {
        double sum = number_16(c) * x[i] + number_16(c + 2) * x1 + number_16(c + 4) * x2 - number_16(c + 6) * y1 -
                     number_16(c + 8) * y2 + rest,
               y = sum / 8192;
        if (!reals) {
            y = floor(y), rest = sum - 8192 * y;
            if (y > 32767 || y < -32768) y = y > 0 ? 32767 : -32768, rest = 0;
        }
        x2 = x1, x1 = x[i], y2 = y1, y1 = y;
        x[i] = y;
    }
}

/* ---- features by definition ----------------------------------------------------------------- */

static double log_1024(double v) { return 1024 * log(1 + v) / log(2.); }

/* The power of the bins from first to before end, of x (n) that is weighed already. */
static double power_of(size_t n, const double *x, size_t first, size_t end) {
    double sum = 0;
    size_t k, i;
    for (k = first; k < end; k++) {
        double re = 0, im = 0;
        for (i = 0; i < n; i++) {
            const double angle = 2 * PI * (double)(k * i % n) / (double)n;
            re += x[i] * cos(angle), im -= x[i] * sin(angle);
        }
        sum += (re * re + im * im) * 4 / (double)n / (double)n;
    }
    return sum;
}

/* A feature and what it may be off, down and up. */
typedef struct {
    double value, below, above;
} expectation;

static expectation within(double value, double error) {
    expectation e;
    e.value = value, e.below = e.above = error;
    return e;
}

/* How a logarithm of a power changes where its root is off by `error`. */
static expectation log_within(double power, double error, double rounding) {
    const double root = sqrt(power), low = fmax(root - error, 0);
    expectation e;
    e.value = log_1024(power);
    e.below = e.value - log_1024(low * low) + rounding, e.above = log_1024(pow(root + error, 2)) - e.value + rounding;
    return e;
}

/* A word of one number. `off` is what a sample may be off. */
static expectation plain_single(const sensor *s, int what, const double *x, double off) {
    const size_t n = s->signal.window;
    const double unit = s->signal.reals ? 0 : 1, rounding = s->signal.reals ? ((double)n + 64) * EPSILON * s->most : 1;
    double sum = 0, squares = 0, about = 0, least = x[0], most = x[0], mean, doubtful = 0, count = 0, level;
    size_t i;
    for (i = 0; i < n; i++) {
        sum += x[i], squares += x[i] * x[i] / (double)n;
        least = fmin(least, x[i]), most = fmax(most, x[i]);
    }
    mean = sum / (double)n;
    for (i = 0; i < n; i++) about += (x[i] - mean) * (x[i] - mean) / (double)n;
    level = what == CROSS ? mean : 0;
    off += unit > 0 ? what == CROSS : AS_ZERO + (what == CROSS ? 4 * EPSILON * s->most : 0);
    for (i = 0; i < n; i++) {
        if (i > 0 && (x[i] < level) != (x[i - 1] < level)) count++;
        if (off > 0 && fabs(x[i] - level) <= off) doubtful++;
    }
    switch (what) {
    case MEAN: return within(mean, off + rounding);
    case STD: return within(sqrt(about), 2 * off + rounding);
    case LEAST: return within(least, off);
    case MOST: return within(most, off);
    case RMS: return within(sqrt(squares), off + rounding);
    case ENERGY: return log_within(squares, off + rounding * (1 - unit), 0.1 + 1.4 * unit);
    default: return within(count, 2 * doubtful);
    }
}

/* A word of a spectrum: `to` has what it counts. */
static void plain_bands(const sensor *s, const unsigned char *word, const double *x, double off, expectation *to) {
    const size_t n = s->signal.window, bands = word[3];
    const double unit = s->signal.reals ? 0 : 1;
    const double bin = unit > 0 ? (RFM_FFT_ERROR(n) * (double)n + 2) * (s->most + 1) * 2 / (double)n * 1.5
                                : 2 * BIN_ERROR * s->most;
    double *weighed = take(n * sizeof *weighed), mean = 0;
    expectation logs[64];
    size_t i, b, j;
    for (i = 0; i < n; i++) mean += x[i] / (double)n;
    for (i = 0; i < n; i++) weighed[i] = (x[i] - mean) * (0.5 - 0.5 * cos(2 * PI * (double)i / (double)n));
    for (b = 0; b < bands; b++) {
        const size_t first = (size_t)number_16(word + 4 + 2 * b), end = (size_t)number_16(word + 6 + 2 * b);
        const double power = power_of(n, weighed, first, end),
                     error = (bin + 2 * off) * sqrt((double)(end - first)) + unit;
        const expectation e = log_within(power, error, 0.1 + 2 * unit);
        if (word[1] == FFT)
            to[b] = within(sqrt(power), error);
        else if (word[1] != MFCC)
            to[b] = e;
        else
            logs[b] = e;
    }
    for (j = 0; word[1] == MFCC && j < word[2]; j++) {
        to[j] = within(0, 0.1 + 3 * unit);
        for (b = 0; b < bands; b++) {
            const double turn = cos(PI * (double)j * ((double)b + 0.5) / (double)bands) / (double)bands,
                         error = fmax(logs[b].below, logs[b].above) * fabs(turn);
            to[j].value += logs[b].value * turn, to[j].below += error, to[j].above += error;
        }
    }
}

/* All features of the window that begins at sample `first`. */
static void plain_features(const sensor *s, size_t first, expectation *to) {
    const unsigned char *word = s->signal.word;
    size_t w, t, filtered[RFM_SIGNAL_MOST];
    for (t = 0; t < s->signal.tracks; t++) filtered[t] = s->signal.track[2 * t + 1];
    for (w = 0; w < s->signal.words; w++) {
        const double *x = s->x + word[0] * s->steps + first,
                     off = s->signal.reals && filtered[word[0]] > 0 ? 2e3 * EPSILON * s->most : 0;
        if (word[1] < FFT)
            *to = plain_single(s, word[1], x, off);
        else
            plain_bands(s, word, x, off, to);
        to += word[2], word += word[1] < FFT ? 4 : 6 + 2 * (size_t)word[3];
    }
}

/* ---- streams -------------------------------------------------------------------------------- */

static int start_stream(sensor *s, size_t slack_samples) {
    size_t bytes = 0;
    void *memory;
    if (rfm_stream_need(&s->signal, slack_samples, &bytes) != RFM_OK) {
        fail("rfm_stream_need");
        return 0;
    }
    memory = take(bytes);
    memset(memory, 0xa5, bytes);
    if (rfm_stream_init(&s->stream, &s->signal, slack_samples, memory, bytes - 1) != RFM_EARENA)
        fail("rfm_stream_init on one byte less");
    if (rfm_stream_init(&s->stream, &s->signal, slack_samples, memory, bytes) != RFM_OK) {
        fail("rfm_stream_init");
        return 0;
    }
    return 1;
}

/* Samples of the channels that the signal has: noise, a sine, a constant, or none; their scale. */
static void draw_samples(sensor *s, double *raw) {
    const size_t channels = s->signal.channels;
    size_t c, i;
    for (c = 0; c < channels; c++) {
        const size_t kind = draw(5);
        const double f = uniform(0.01, 0.5), size = kind == 4 ? 0.001 : 1, level = chance(3) ? uniform(-0.5, 0.5) : 0;
        for (i = 0; i < s->steps; i++) {
            double v = kind == 0 ? 0 : kind == 1 ? sin(2 * PI * f * (double)i) : uniform(-1, 1);
            v = fmin(fmax(size * v + level, -1), 1);
            if (s->signal.reals) {
                v = (double)(rfm_real)ldexp(v, s->exponent);
            } else
                v = floor(fmin(32767 * v + 0.5, 32767));
            raw[c * s->steps + i] = v;
            if (fabs(v) > s->most) s->most = fabs(v);
        }
    }
}

static int push(sensor *s, const double *raw, size_t i) {
    rfm_real x[RFM_SIGNAL_MOST];
    int16_t xi[RFM_SIGNAL_MOST];
    size_t c;
    for (c = 0; c < s->signal.channels; c++) {
        const double v = raw[c * s->steps + i];
        if (s->signal.reals)
            x[c] = (rfm_real)v;
        else
            xi[c] = (int16_t)v;
    }
    return s->signal.reals ? rfm_stream_push(&s->stream, x) : rfm_stream_push_i(&s->stream, xi);
}

static void check_window(sensor *s, size_t first) {
    const size_t count = s->signal.features;
    expectation *expected = take(count * sizeof *expected);
    rfm_real *features = take_reals(count);
    int16_t *features_i = take(count * sizeof *features_i);
    const double least = s->signal.reals ? 10 * AS_ZERO : 0;
    size_t j;
    const int status =
        s->signal.reals ? rfm_stream_take(&s->stream, features) : rfm_stream_take_i(&s->stream, features_i);
    if (status != RFM_OK) {
        refused("rfm_stream_take", status);
        return;
    }
    plain_features(s, first, expected);
    for (j = 0; j < count; j++) {
        const double got = s->signal.reals ? (double)features[j] : features_i[j],
                     value = s->signal.reals ? expected[j].value : fmin(expected[j].value, 32767);
        if (!(got >= value - expected[j].below - least && got <= value + expected[j].above + least)) {
            fail("feature %lu of the window at %lu is %g, expected %g - %g + %g", (unsigned long)j,
                 (unsigned long)first, got, value, expected[j].below, expected[j].above);
            return;
        }
    }
}

void signal_case(size_t number) {
    static const size_t windows[] = {16, 32, 64, 128, 256};
    size_t channels = 1 + draw(3), slack_samples, i, t, seen = 0;
    double *raw;
    sensor s;
    memset(&s, 0, sizeof s);
    s.exponent = draw_scale("x");
    s.o.window = chance(3) ? 1 + draw(100) : draw_of(LENGTH(windows) - (number % 8 != 0), windows);
    s.o.step = chance(4) ? 1 + draw(2 * s.o.window) : 1 + s.o.window / 2;
    s.o.channels = channels, s.o.names = "a\0b\0c", s.o.reals = chance(2);
    if (!s.o.reals) s.exponent = 0;
    slack_samples = draw(20);
    note(" window %lu step %lu slack %lu %s", (unsigned long)s.o.window, (unsigned long)s.o.step,
         (unsigned long)slack_samples, s.o.reals ? "reals" : "integers");
    draw_spec(&s, channels);
    if (!make_signal(&s) || !start_stream(&s, slack_samples)) return;
    s.steps = s.o.window + 2 * s.o.step + draw(5);
    raw = take(s.signal.channels * s.steps * sizeof *raw);
    s.x = take(s.signal.tracks * s.steps * sizeof *s.x);
    draw_samples(&s, raw);
    if (s.most > REACH_MOST) {
        for (i = 0; i < s.steps; i++) {
            const int status = push(&s, raw, i);
            if (status == RFM_ERANGE) return;
            if (status != RFM_OK && status != RFM_EARENA) fail("rfm_stream_push: status %d", status);
        }
        fail("samples up to %g are taken", s.most);
        return;
    }
    {
        const unsigned char *section = s.signal.section;
        for (t = 0; t < s.signal.tracks; t++) {
            memcpy(s.x + t * s.steps, raw + s.signal.track[2 * t] * s.steps, s.steps * sizeof *raw);
            for (i = 0; i < s.signal.track[2 * t + 1]; i++, section += 10)
                plain_filter(section, s.steps, s.x + t * s.steps, s.signal.reals);
        }
        for (i = 0; i < s.signal.tracks * s.steps; i++) s.most = fmax(s.most, fabs(s.x[i]));
    }
    for (i = 0; i < s.steps; i++) {
        const int status = push(&s, raw, i);
        if (status != RFM_OK) fail("rfm_stream_push: status %d at sample %lu", status, (unsigned long)i);
        if ((i + 1 >= s.o.window + seen * s.o.step) != rfm_stream_ready(&s.stream))
            fail("rfm_stream_ready at sample %lu", (unsigned long)i);
        if (rfm_stream_ready(&s.stream)) check_window(&s, seen++ * s.o.step);
    }
}

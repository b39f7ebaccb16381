/* rfm_signal - from the samples of sensors to the inputs of a model: windows with overlap, filters, statistics,
 * spectra.
 *
 *   rfm_signal   what is computed, compiled from text on a PC: "acc_x, acc_y: mean std fft8; mic: high0.05 mfcc8"
 *   rfm_stream   the samples of C channels in a ring of yours; each whole window gives the features
 *
 * The same code runs on a PC and in firmware. In integers there is no floating-point operation and no division, sums of
 * 32 bits cannot overflow (rfm_signal.c has the proof), and every machine gives the same bits. A signal is made for
 * integers or for reals, and a stream takes only what its signal is made for. Samples may be pushed from an interrupt.
 *
 * Words of a spec, for each channel that is named before the colon (* is all of them):
 *
 *   mean min max     of the window
 *   std              standard deviation
 *   rms              root of the mean square
 *   energy           1024 log2(1 + mean square)
 *   zero cross       how often the sign changes; how often x passes the mean
 *   fftN             N bands of equal width: the root of the band's power
 *   logN melN        1024 log2(1 + power) of N bands of equal width, or of bands on the mel scale
 *   mfccN mfccN/B    the first N numbers of a cosine transform of B mel bands; B is a power of two, by default at least
 *                    2 N, and at most a quarter of the window
 *   lowF highF       a filter, for all words of the group: second-order Butterworth; F is a part of the sampling rate,
 *   bandF-G          0.005 to 0.495, or in Hz if the rate is given. bandF-G is highF and lowG
 *
 * Spectra are of x - mean, weighed by a Hann window w_i = (1 - cos(2 pi i / W)) / 2. The power of a band is the sum of
 * |X_k|^2 (2 / W)^2 over its bins. The bins of all bands are k = 1 to W / 2. A sine of amplitude a has 3/8 a^2 of
 * power. In integers results are rounded, and at most 32767. Without -DRFM_NO_TRAIN there is also the compiler of
 * specs.
 */
#ifndef RFM_SIGNAL_H
#define RFM_SIGNAL_H

#include "rfm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The longest window that has a spectrum: a power of two, 32 to 4096. The table of sines has as many bytes, and 4. */
#ifndef RFM_SIGNAL_LONGEST
#define RFM_SIGNAL_LONGEST 4096
#endif

/* ---- spectra ---------------------------------------------------------------------------------------------------- */

/* X_k = sum_i x_i exp(-2 pi i k / n), n a power of two, 2 to RFM_SIGNAL_LONGEST; in place: X_0, X_n/2, then the real
 * and imaginary parts of X_1, X_2, ... Error: 1e-5 of the largest |X| in float. RFM_ENULL, RFM_EVALUE (n): x is
 * unchanged. RFM_EFINITE, RFM_ERANGE: x is undefined. */
int rfm_fft(size_t n, rfm_real *x);

/* The same in 16 bits: X_k = x 2^*exponent. Scaled where it has to be and no further. Each part of every X_k has an
 * error of at most RFM_FFT_ERROR(n) times n times the largest |x_i|: that is proven in rfm_signal.c, and what is found
 * is a tenth of it. RFM_ENULL, RFM_EVALUE: x is unchanged. */
int rfm_fft_i(size_t n, int16_t *x, int *exponent);
#define RFM_FFT_ERROR(n) (0.00030 * (1 + ((n) > 2) + ((n) > 8) + ((n) > 32) + ((n) > 128) + ((n) > 512) + ((n) > 2048)))

/* ---- what is computed ------------------------------------------------------------------------------------------- */

#define RFM_SIGNAL_MOST 64 /* channels, and tracks */

/* Opened in place; FORMAT.md, "Signals", has the bytes. A track is a channel behind its filters. */
typedef struct {
    uint32_t window, step; /* samples: 1 to 32767; of `step` more */
    uint32_t channels;     /* C */
    uint32_t tracks;       /* T */
    uint32_t sections;     /* of filters, in all tracks */
    uint32_t features;
    uint32_t words;          /* in all tracks */
    int reals;               /* 0: int16_t */
    const int8_t *exponents; /* (C) integers: a sample is the quantity in the recording times 2^exponent */
    const unsigned char *track, *section, *word;
    const char *names; /* (C + T) channels, tracks; NULL: none */
} rfm_signal;

/* The bytes are not trusted; they may be at any address, and the machine of any byte order. RFM_ENULL, RFM_EMAGIC,
 * RFM_EVERSION, RFM_ETRUNCATED, RFM_ECHECKSUM, RFM_ECONTENT; RFM_ETYPE: spectra longer than RFM_SIGNAL_LONGEST.
 * *signal is unchanged then. */
int rfm_signal_open(const void *bytes, size_t size, rfm_signal *signal);

/* ---- streams ---------------------------------------------------------------------------------------------------- */

/* Push may interrupt every other function but init and reset; nothing else may run while another one does. */
typedef struct {
    rfm_signal signal;
    uint32_t capacity;      /* samples of a track in the ring: window + slack */
    uint32_t pushed, taken; /* samples in the ring: those behind `taken`, modulo 2^32 */
    uint32_t at, from;      /* where the next sample and the next window are in the ring */
    uint32_t phase;         /* samples since the start of the last window that began, modulo step */
    uint32_t lost;          /* samples that did not fit; yours to set to 0 */
    int started;            /* filters have seen a sample */
    void *ring;             /* (T, capacity) int16_t or rfm_real, as the next two */
    void *state;            /* (sections, 5) */
    void *work;             /* (W) the window of a track */
} rfm_stream;

/* Bytes of a stream's memory. `slack`: samples that may come in while features are computed, at most 65535.
 * RFM_ENULL, RFM_EVALUE, RFM_EOVERFLOW. */
int rfm_stream_need(const rfm_signal *signal, size_t slack, size_t *bytes);

/* `memory` is aligned to RFM_ALIGN. RFM_ENULL, RFM_EALIGN, RFM_EARENA, and those of need: *stream is unchanged. */
int rfm_stream_init(rfm_stream *stream, const rfm_signal *signal, size_t slack, void *memory, size_t size);

/* Forgets the samples: the next one begins a window. RFM_ENULL. */
int rfm_stream_reset(rfm_stream *stream);

/* One sample of each channel (C). The first one sets the filters as if it had been there for ever. RFM_ENULL, RFM_ETYPE
 * (the signal is for the other type), RFM_EARENA: no room, the sample is lost. Reals: RFM_EFINITE, RFM_ERANGE (above
 * 1e12; below 1e-15 is as good as 0): it is not taken. */
int rfm_stream_push_i(rfm_stream *stream, const int16_t *x);
int rfm_stream_push(rfm_stream *stream, const rfm_real *x);

/* 1 if there is a whole window. */
int rfm_stream_ready(const rfm_stream *stream);

/* The features of the next window, which is given free: features (signal.features). RFM_ENULL, RFM_ETYPE, RFM_EEMPTY:
 * no whole window yet, nothing written. Reals: RFM_ERANGE, features are undefined. */
int rfm_stream_take_i(rfm_stream *stream, int16_t *features);
int rfm_stream_take(rfm_stream *stream, rfm_real *features);

/* Inputs of a model of integers from features: x_j = features[index_j] 2^exponent_j, j < count, rounded (halves away
 * from 0), at most what an int16_t holds. index NULL: 0, 1, ...; exponents NULL: zeros, else each -126 to 126. x may
 * be `features` if index is NULL. RFM_ENULL. */
int rfm_signal_inputs(size_t count, const int16_t *features, const uint16_t *index, const int8_t *exponents,
                      int16_t *x);

#ifndef RFM_NO_TRAIN

/* ---- compiling a spec ------------------------------------------------------------------------------------------- */

typedef struct {
    size_t window, step;     /* samples */
    int reals;               /* 1: features of reals, 0: of integers */
    rfm_real rate;           /* Hz; 0: frequencies are parts of the rate, and mel bands those of 16 kHz */
    size_t channels;         /* that may be named, up to 65535 */
    const char *names;       /* of these, as class names in rfm_model */
    const int8_t *exponents; /* (channels) as in rfm_signal; NULL: zeros */
} rfm_signal_options;

/* What is wrong with a spec, and where: `length` bytes of it from `at` on. */
typedef struct {
    size_t at, length;
    const char *why;
} rfm_signal_fault;

/* The bytes of a signal, or with bytes NULL only their number, *size. The signal has the channels that the spec names,
 * in the order in which it does. RFM_ENULL, RFM_EZERO (window, step, channels), RFM_EVALUE (an option outside its
 * range: fault->length is 0; or the spec is wrong: *fault says where), RFM_EARENA (room): *size is unchanged. */
int rfm_signal_compile(const char *spec, const rfm_signal_options *options, void *bytes, size_t room, size_t *size,
                       rfm_signal_fault *fault);

/* The name of a feature, as "acc_x_fft8_1"; cut to `room` bytes with its 0. RFM_ENULL, RFM_EVALUE (no such feature, no
 * names, no room). */
int rfm_signal_name(const rfm_signal *signal, size_t feature, char *name, size_t room);

/* The bytes without the names, for firmware: in place; *size becomes less. RFM_ENULL, and those of rfm_signal_open. */
int rfm_signal_strip(void *bytes, size_t *size);

#endif /* RFM_NO_TRAIN */

#ifdef __cplusplus
}
#endif
#endif

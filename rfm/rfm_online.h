/* rfm_online - retraining on the device: a window of labelled samples, a diagonal metric, fixed memory, time slices.
 *
 * A learner holds the last samples that are worth keeping and a kernel machine on them. A new sample is absorbed in
 * O(n^2): its row joins the Cholesky factor, the row of the sample that it replaces leaves it. Now and then a refit
 * learns the metric M anew, as rfm_fit does with RFM_DIAGONAL, and replaces the model if a guard agrees. All of that
 * happens in rfm_online_step, in pieces as small as the caller asks for; predictions are served between the pieces,
 * from the last complete model.
 *
 * Who may call what, and when:
 *   - rfm_online_add may be called from an interrupt (or another thread) while any other function but init and load
 *     runs. One producer: two calls of add must not overlap.
 *   - rfm_online_predict and rfm_online_report_get may interrupt rfm_online_step: what they read changes in a single
 *     store of a word. The other way round, step interrupting predict, is not allowed, nor are two predictions at once
 *     (they share scratch).
 *   - everything else: one at a time.
 * Why that holds. The ring of pending samples has two indices; each is written by one side only. add writes the
 * sample, then, by a store-release, the head; step sees the head by a load-acquire, and gives a place back by a
 * store-release of the tail after its last read. With gcc and clang these are __atomic operations, so this holds on
 * several cores too, for add. With another compiler they are volatile accesses, and it holds on one core whose compiler
 * keeps volatile accesses and the others between them in order. That predict may interrupt step is a promise for one
 * core: there the two never run at the same moment.
 *
 * Status codes are those of rfm.h. In contrast to an rfm_arena's other users the learner keeps its memory: it lies in
 * the arena until the caller releases it. rfm_online has pointers into the arena; the arena itself holds numbers only.
 */
#ifndef RFM_ONLINE_H
#define RFM_ONLINE_H

#include "rfm.h"

#ifndef RFM_NO_TRAIN
#ifdef __cplusplus
extern "C" {
#endif

/* ---- options -------------------------------------------------------------------------------- */

/* Which sample goes when the window is full. */
#define RFM_FORGET_OLDEST 0
#define RFM_FORGET_BALANCED \
    1 /* a reservoir for every class: one of the largest class makes room for a smaller class; within the largest \
         class each sample ever seen is kept with equal probability, so the new one may be dropped */
#define RFM_FORGET_LEAST \
    2 /* the one whose leave-one-out error is smallest: the others predict it best. Costs n^3 / 6 more per sample, \
         and keeps wrong labels for long */

/* Where every refit starts. */
#define RFM_BEGIN_MODEL \
    0 /* the diagonal of the start model's M; an input of weight 0 stays out. No start model: RFM_BEGIN_UNITS */
#define RFM_BEGIN_UNITS 1 /* M = I in the units below */

/* rfm_online_options_init() sets what is said in (parentheses). Arrays are copied by rfm_online_init, but not `start`.
 *
 * The learner's coordinates are x / units. In them all is as in rfm_fit: M starts from I or from the start model,
 * options.scale is that of M there, and L is the bandwidth. Every refit starts from the same metric, never from the
 * last one: a refit is a function of the window alone. So the scale of M cannot drift however many there are, and an
 * input whose weight once went to zero can come back. */
typedef struct {
    size_t window;      /* (64) N: samples that are kept; window + pending <= 65,535 */
    size_t inputs;      /* (0) d */
    size_t outputs;     /* (0) c: as many classes, targets 0 and 1; c = 1: two classes, target -1 for class 0 and 1 for
                           class 1 */
    size_t pending;     /* (4) places of the ring between add and step */
    int int8;           /* (0) 1: samples are kept as 8-bit integers, (x - offset) / step, rounded, at most +-127 */
    int kernel;         /* (RFM_LAPLACE), or RFM_GAUSSIAN */
    rfm_real bandwidth; /* (0) L, 1e-12 to 1e17 (double: 1e-130 to 1e150); 0: L of the start model's summary */
    rfm_real ridge;     /* (1e-3) lambda > 0 */
    size_t iterations;  /* (3) T */
    int scale;          /* (RFM_SCALE_NONE) */
    int begin;          /* (RFM_BEGIN_MODEL) */
    int forget;         /* (RFM_FORGET_OLDEST) */
    uint32_t seed;      /* (0) of the reservoir */
    size_t refit_every; /* (0: only when asked) samples absorbed between refits */
    int score; /* (RFM_SCORE_SQUARED) what the guard compares. A sample is left out of alpha, not out of M. So a new
                  M looks a little better than it is, the more so with more iterations */
    rfm_real margin; /* (0) >= 0: a new model may be worse by this much. RFM_FORGET_LEAST needs a margin, say 0.05:
                        its window holds samples that the others do not predict, so every new model looks bad there,
                        while a start model may know these rows by heart */
    const rfm_real *units; /* (NULL) (d) 1e-15 to 1e15 (double: 1e-100 to 1e100), with int8 times its step; NULL: the
                              start model's x_scale if its summary has it, else ones */
    const rfm_real *step, *offset; /* (NULL) (d) of int8; NULL: units / 32, and the start model's shift or zeros */
    const rfm_model *start;        /* (NULL) serves until the first refit is accepted. Has d inputs, c outputs, the same
                                      kernel; stays where it is */
} rfm_online_options;

void rfm_online_options_init(rfm_online_options *options);

/* ---- the learner ---------------------------------------------------------------------------- */

/* All of it is private; here so that it can be declared. */
typedef struct {
    rfm_online_options options;
    size_t d, c, window, pending, classes;
    rfm_real inverse;        /* 1 / L */
    rfm_real *x;             /* (window + pending, d): one pool for the window and the ring */
    int8_t *x8;              /* (window + pending, d): 8-bit samples in place of x, when options.int8 is set */
    rfm_real *triangle;      /* packed, row by row: the factor of K + ridge I, or K, or the gradient weights W */
    rfm_real *alpha[2];      /* (window, c), but room for at least two columns */
    rfm_real *metric[2];     /* (d) M in the units of the stored numbers */
    rfm_real *first, *unit2; /* (d) M to start from; units^2, both in the units of the stored numbers */
    rfm_real *step, *offset; /* (d) of int8 */
    rfm_real *agop;          /* (max(d, c)) */
    rfm_real *work;          /* (max(window, rank of the start model + d)) */
    rfm_real *query;         /* (d + rank of the start model) scratch of rfm_online_predict */
    uint16_t *rows[2];       /* (window) places in the pool, oldest first */
    uint16_t *label;         /* (window + pending) the label of each place */
    uint16_t *ring;          /* (pending) places */
    uint16_t *held;          /* (classes) samples in the window */
    uint32_t *seen;          /* (classes) samples so far */
    uint32_t head;           /* of the ring, modulo 2 pending; written by add */
    uint32_t refused_value, refused_label, refused_full, taken; /* written by add */
    uint32_t tail;                                              /* of the ring; written by step */
    uint32_t serving; /* SERVE_... bits: which of the pairs above serves, and whether the start model still does */
    uint32_t absorbed, dropped, refits, rejected, failed;
    uint32_t random, next_random, since;
    uint32_t refit_after; /* the position of the ring that a wanted refit waits for */
    size_t count[2];      /* how many samples rows[] has */
    rfm_real ridge[2];    /* the ridge that was used with metric[] */
    rfm_real old_score, new_score;
    int wanted, factored; /* a refit is wanted; the triangle holds the factor of the serving metric */
    int task, phase;      /* what is being done now */
    int bad;
    int32_t budget;
    int first_piece;
    size_t set, met, n, victim, t; /* the variables of the task */
    size_t i, j, k, q, at;         /* the counters of its loops */
    int stage;
    rfm_real sum, total, other, least;
    rfm_real h[16];
} rfm_online;

/* Bytes of arena that a learner takes. Reads the sizes and `start`'s. RFM_ENULL, RFM_EZERO (window, inputs, outputs,
 * pending), RFM_EOVERFLOW, RFM_ESHAPE (the start model's d, c or kernel is another), RFM_EVALUE (an option outside its
 * range). */
int rfm_online_need(const rfm_online_options *options, size_t *bytes);

/* Makes an empty learner. Errors are those of rfm_online_need, and: RFM_EARENA; RFM_EFINITE; RFM_EVALUE: bandwidth 0
 * without a start model that has one, a ridge or step that is not positive, bandwidth or units outside their range,
 * a start model whose M is above 1e30 (double: 1e200) in the units of the stored numbers. After a failure neither
 * *online nor the arena has changed. */
int rfm_online_init(rfm_online *online, const rfm_online_options *options, rfm_arena *arena);

/* Puts a sample into the ring: x (d), label < classes. RFM_ENULL; RFM_EFINITE: x has a NaN or an infinity; RFM_EVALUE:
 * no such label; RFM_EARENA: the ring is full, step was not called often enough. What is refused is counted and changes
 * nothing else. */
int rfm_online_add(rfm_online *online, const rfm_real *x, size_t label);

/* Asks for a refit, of the samples that have been added up to now. It starts when step comes to it. RFM_ENULL. */
int rfm_online_refit(rfm_online *online);

/* Works for at most `units`, but at least one piece. Returns 1 if there is more to do, 0 if nothing is left, or
 * RFM_ENULL, RFM_EZERO. A unit is about one instruction of a Cortex-M4F (gcc -O2). From 2,000 units on, and with up
 * to 50 outputs, no call takes more instructions than units, whatever the window. For other processors and options
 * boards/retrain/measure counts what the largest slice takes: up to 1.4 instructions per unit with -Os, some 80
 * without an FPU. The result does not depend on how the work is cut, to the bit. */
int rfm_online_step(rfm_online *online, uint32_t units);

/* scores (c) of x (d) by the model that serves. If not NULL, *label becomes the class and *novelty the largest
 * kernel value. RFM_ENULL; RFM_EZERO: no start model and no sample absorbed yet; RFM_EFINITE: x has a NaN or an
 * infinity, nothing was written; RFM_ERANGE: a score is not finite. */
int rfm_online_predict(const rfm_online *online, const rfm_real *x, rfm_real *scores, size_t *label, rfm_real *novelty);

/* ---- what it has done ----------------------------------------------------------------------- */

typedef struct {
    size_t samples;             /* in the window */
    size_t waiting;             /* in the ring */
    int own;                    /* 0: the start model serves */
    int busy;                   /* step has something to do */
    uint32_t taken;             /* by add; of these: */
    uint32_t absorbed, dropped; /* into the window; dropped by the reservoir */
    uint32_t refused_value, refused_label, refused_full;
    /* Refits that were accepted, that were worse than the guard allows, and that had numbers out of range. After the
     * last two the old model stays. */
    uint32_t refits, rejected, failed;
    rfm_real old_score, new_score; /* of the last refit, and of the last that did not fail: leave-one-out on the
                                      window; of a start model: its plain score there. Never infinite: at most the
                                      largest number, and a new model with that error is rejected */
    rfm_real ridge;                /* as used by the window's model: more than asked for if it had to be */
} rfm_online_report;

/* RFM_ENULL. */
int rfm_online_report_get(const rfm_online *online, rfm_online_report *report);

/* The serving model as rfm_predict_one and rfm_model_write take it, its arrays from `store`: (2 d + n (d + c))
 * numbers. A start model that still serves is handed out as it is. RFM_ENULL, RFM_EZERO (nothing serves yet),
 * RFM_EARENA, RFM_ERANGE (a number is not finite, with samples near the largest number): nothing changed. Not in
 * slices. */
int rfm_online_model(const rfm_online *online, rfm_arena *store, rfm_model *model);

/* Samples first .. first + count - 1 of the window, the oldest is 0, as they are kept: x (count, d), their targets y
 * (count, c) as above at `outputs`, weights (count) 1 unless that is NULL. It is an rfm_read of rfm_large.h: with this
 * as its `read` and the learner as its `from`, an rfm_rows adds the window to sums that merge elsewhere. Its n is
 * `samples` of the report. No step may be made while a pass runs. Returns how many samples it gave: fewer than count
 * where the window ends. */
size_t rfm_online_read(void *online, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights);

/* ---- the state, for a reset ----------------------------------------------------------------- */

/* put takes `count` bytes, get fills them: at most 64, in order. Returns RFM_OK, or a status that save and load then
 * return. */
typedef int (*rfm_online_put)(void *arg, const void *bytes, size_t count);
typedef int (*rfm_online_get)(void *arg, void *bytes, size_t count);

/* Writes the learner's state: window, pending samples, model, counters. It takes at most rfm_online_save_need bytes,
 * whatever the learner holds. load reads no more than was written, so a store that needs the size beforehand can
 * announce that many and fill up the rest. Work under way is not saved: it begins anew after load. RFM_ENULL, and
 * what put returns. */
int rfm_online_save(const rfm_online *online, rfm_online_put put, void *arg);
int rfm_online_save_need(const rfm_online *online, size_t *bytes);

/* Reads a state into a learner made by rfm_online_init with the same options; add must not be called meanwhile. The
 * learner serves predictions at once; step makes the factor again. RFM_EMAGIC, RFM_EVERSION, RFM_ETYPE (numbers),
 * RFM_ESHAPE (window, inputs, outputs), RFM_EVALUE (other options): nothing changed. RFM_ECONTENT (it contradicts
 * itself, or has a NaN), RFM_ECHECKSUM, and what get returns, even for the first byte: the learner is empty then, as
 * after init. What save has written is never refused. */
int rfm_online_load(rfm_online *online, rfm_online_get get, void *arg);

#ifdef __cplusplus
}
#endif
#endif /* RFM_NO_TRAIN */
#endif

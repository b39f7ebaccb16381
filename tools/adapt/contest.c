#include "adapt.h"

#include <stdlib.h>
#include <string.h>

static size_t predict(const rfm_model *model, const rfm_real *x, rfm_real *scores) {
    rfm_real scratch[RFM_PREDICT_SCRATCH(MOST_INPUTS, MOST_INPUTS)];
    must(rfm_predict_one(model, x, scores, scratch, NULL, NULL), "prediction");
    return rfm_class(model, scores, NULL);
}

/* ---- the learner ---------------------------------------------------------------------------- */

#define REFIT_EVERY 50

/* Guard: the start model's centres are among the samples, and it has them by heart; a sample that RFM_FORGET_LEAST
 * keeps is one that the others do not predict. Both make the left-out error of a new model look worse than it is. 0.1
 * is the error of all zeros. */
#define MARGIN 0.05

typedef struct {
    rfm_online online;
    rfm_arena arena;
    void *memory;
} learner;

static void learn(learner *l, const rfm_real *x, size_t label) {
    int status;
    must(rfm_online_add(&l->online, x, label), "a sample");
    do status = rfm_online_step(&l->online, 1000000);
    while (status == 1);
    must(status, "learning");
}

/* The window is filled from what the device has in its flash, the start model: its centres are the rows it was trained
 * on, and it knows their classes. */
static void recall(learner *l, const rfm_model *start) {
    rfm_real x[MOST_INPUTS], scores[MOST_CLASSES];
    size_t i, j;
    for (i = 0; i < start->n; i++) {
        for (j = 0; j < start->d; j++)
            x[j] = start->shift[j] + (start->p[j] > 0 ? start->centers[i * start->d + j] / start->p[j] : 0);
        learn(l, x, predict(start, x, scores));
    }
}

static void learner_start(learner *l, const learner_kind *kind, const draw *w, const rfm_model *start,
                          learner_result *r) {
    rfm_online_options o;
    size_t need = 0, window = 0, half;
    rfm_online_options_init(&o);
    o.inputs = w->d, o.outputs = w->classes, o.start = start, o.int8 = 1, o.iterations = 1;
    o.forget = kind->forget, o.refit_every = REFIT_EVERY, o.margin = (rfm_real)MARGIN;
    for (half = 32768; half > 0; half /= 2) { /* the largest window that fits, bit by bit */
        o.window = window + half;
        if (rfm_online_need(&o, &need) == RFM_OK && need + sizeof l->online <= kind->memory) window = o.window;
    }
    o.window = window;
    must(rfm_online_need(&o, &need), "the learner");
    l->memory = allocate_aligned(need, "the learner");
    must(rfm_arena_init(&l->arena, l->memory, need), "the learner");
    must(rfm_online_init(&l->online, &o, &l->arena), "the learner");
    recall(l, start);
    r->window = window, r->bytes = need + sizeof l->online;
}

/* ---- the contest ---------------------------------------------------------------------------- */

/* Share of the test rows of this time, by a model or by a learner. */
static double share_right(const draw *w, size_t seen, const rfm_model *model, const learner *l) {
    const scenario *s = w->of;
    rfm_real x[MOST_INPUTS], scores[MOST_CLASSES];
    size_t i, right = 0, count = 0, label, found = 0;
    for (i = s->start + s->stream; i < s->start + s->stream + s->test; i++) {
        label = scenario_row(w, i, seen, x);
        if (!scenario_has(w, label, seen)) continue;
        if (model != NULL)
            found = predict(model, x, scores);
        else
            must(rfm_online_predict(&l->online, x, scores, &found, NULL), "prediction");
        right += found == label, count++;
    }
    return (double)right / (double)count;
}

/* Mean over the points after the change. */
static double mean_after(const contest *c, const scenario *s, const double *share) {
    double sum = 0, count = 0;
    size_t i;
    for (i = 0; i < c->points; i++)
        if (c->seen[i] > (double)s->to) sum += share[i], count++;
    return sum / count;
}

void contest_run(machine *m, const draw *w, const learner_kind *kinds, size_t learners, size_t every, contest *c) {
    const scenario *s = w->of;
    learner *l = allocate(learners, sizeof *l, "learners");
    rfm_real x[MOST_INPUTS], scores[MOST_CLASSES];
    rfm_online_report report;
    rfm_model start, pc;
    size_t i, k, label, found = 0, last, bytes;
    double after = (double)(s->stream - s->to);
    void *blob, *other;
    memset(c, 0, sizeof *c);
    blob = train(m, w, s->start, &start, &c->model_bytes);
    c->centres = start.n;
    for (k = 0; k < learners; k++) learner_start(&l[k], &kinds[k], w, &start, &c->learners[k]);
    for (i = 0; i <= s->stream; i++) {
        if ((i % every == 0 && c->points < MOST_POINTS - 1) || i == s->stream) {
            other = train(m, w, s->start + i, &pc, &bytes);
            c->seen[c->points] = (double)i;
            c->frozen[c->points] = share_right(w, i, &start, NULL);
            c->pc[c->points] = share_right(w, i, &pc, NULL);
            for (k = 0; k < learners; k++) c->learners[k].right[c->points] = share_right(w, i, NULL, &l[k]);
            c->points++;
            free(other);
        }
        if (i == s->stream) break;
        label = scenario_row(w, s->start + i, i, x);
        if (i >= s->to) c->streamed += (predict(&start, x, scores) == label) / after;
        for (k = 0; k < learners; k++) {
            must(rfm_online_predict(&l[k].online, x, scores, &found, NULL), "prediction");
            if (i >= s->to) c->learners[k].streamed += (found == label) / after;
            learn(&l[k], x, label);
        }
    }
    last = c->points - 1;
    for (k = 0; k < learners; k++) {
        learner_result *r = &c->learners[k];
        r->won_end = (r->right[last] - c->frozen[last]) / (c->pc[last] - c->frozen[last]);
        r->won_mean = (mean_after(c, s, r->right) - mean_after(c, s, c->frozen)) /
                      (mean_after(c, s, c->pc) - mean_after(c, s, c->frozen));
        must(rfm_online_report_get(&l[k].online, &report), "the report");
        r->refits = report.refits, r->rejected = report.rejected, r->failed = report.failed;
        free(l[k].memory);
    }
    free(l);
    free(blob);
}

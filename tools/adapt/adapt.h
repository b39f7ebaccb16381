/* What the files of rfm-adapt share: a scenario, which is a stream of labelled rows whose world changes, and the
 * contest of models on it. README.md says what is simulated. */
#ifndef ADAPT_H
#define ADAPT_H

#include "host/host.h"
#include "rfm_online.h"

#define MOST_INPUTS  64
#define MOST_CLASSES 10

/* ---- scenario.c: the data ------------------------------------------------------------------- */

typedef struct {
    const char *name, *file, *change; /* change: in a few words */
    size_t start, stream, test;       /* rows: trained on at first, streamed, held out */
    size_t from, to;                  /* the world changes between these rows of the stream */
    size_t late;                      /* the class that is absent until `from`; MOST_CLASSES: none */
    int drifts;                       /* 1: rows are strokes that turn, shrink and move */
} scenario;

extern const scenario scenarios[];
extern const size_t scenario_count;

/* A scenario's file, and one draw of it: which row is where. */
typedef struct {
    const scenario *of;
    size_t d, classes, rows;
    rfm_real *x;      /* (rows, d) of the file */
    uint32_t *labels; /* (rows) */
    size_t *at;       /* (start + stream + test) rows of the file, in this order */
    uint32_t *given;  /* (start + stream + test) their labels, as they are given */
} draw;

/* The file is in `folder`. A problem with it ends the program. */
void scenario_read(draw *w, const scenario *s, const char *folder);
void scenario_draw(draw *w, uint64_t seed, double wrong); /* this share of the stream's labels is drawn at random */
void scenario_free(draw *w);

/* Row i of the draw as it looks after `seen` rows of the stream: x (d). Returns its label. */
size_t scenario_row(const draw *w, size_t i, size_t seen, rfm_real *x);

/* 1 if a row with this label can come after `seen` rows of the stream. */
int scenario_has(const draw *w, size_t label, size_t seen);

/* ---- train.c -------------------------------------------------------------------------------- */

/* As `rfm train --metric diag --bandwidth 2m --ridge 1e-3 --iterations 2`, on the first `rows` rows of the draw, each
 * as it looked when it came. The model is opened from a blob of so many bytes, which is returned, to be freed. */
void *train(machine *m, const draw *w, size_t rows, rfm_model *opened, size_t *bytes);

/* ---- contest.c: models on one stream -------------------------------------------------------- */

/* A learner is what its memory and its policy make of it. */
typedef struct {
    size_t memory; /* bytes that it may take, rfm_online included: its window is the largest that fits */
    int forget;    /* RFM_FORGET_... */
} learner_kind;

#define MOST_LEARNERS 8
#define MOST_POINTS   256

typedef struct {
    size_t window, bytes;      /* samples; bytes taken */
    double right[MOST_POINTS]; /* share of the test rows */
    double streamed;          /* share of the stream's rows after the change that it had right before it learned them */
    double won_end, won_mean; /* (learner - frozen) / (PC - frozen) at the end, and of their means after the change */
    size_t refits, rejected, failed;
} learner_result;

typedef struct {
    size_t centres, model_bytes; /* of the start model */
    size_t points;
    double seen[MOST_POINTS];   /* rows of the stream, when the shares were taken */
    double frozen[MOST_POINTS]; /* the start model, for ever */
    double pc[MOST_POINTS];     /* rfm_fit on everything seen so far */
    double streamed;            /* as above, by the frozen model */
    learner_result learners[MOST_LEARNERS];
} contest;

/* Shares are taken before the stream, after every `every` rows of it, and at its end. */
void contest_run(machine *m, const draw *w, const learner_kind *kinds, size_t learners, size_t every, contest *c);

#endif

/* What a report tells: a model, rows with known targets, and what was computed from the two. */
#ifndef REPORT_H
#define REPORT_H

#include "rfm/learn/measures.h"

#define MOST_DIRECTIONS 40

typedef struct {
    const char *model_file, *data_file; /* without folders */
    any_model any;
    rfm_model model; /* its numbers */
    rfm_summary summary;
    rfm_step *path; /* (summary.steps) */
    size_t model_bytes;
    const char **names;   /* (d) of the inputs */
    size_t width, height; /* of an image; 0: the inputs are none */

    /* The rows it is scored on. */
    int is_split; /* they are the test rows of a split */
    sample rows;
    size_t *lines;        /* (rows) of the file */
    rfm_real *outputs;    /* (rows, c) */
    size_t classes;       /* 0: regression */
    const char **labels;  /* (classes) */
    const char **targets; /* (c) names, regression */
    uint32_t *predicted;  /* (rows) classes */
    double *confidence;   /* (rows); NULL: the model has none */
    score score;
    measures measures;
    size_t seen;        /* of them were trained on; SIZE_MAX: not known */
    size_t skipped;     /* rows of the file that were trained on, and therefore are not scored */
    double main_score;  /* accuracy or r2 */
    double interval[2]; /* 95 %; equal: not known */
    double baseline;    /* the score of the most frequent class, or of the mean */

    /* M, as trained. */
    const char *metric_word;
    double *share;     /* (d) of the trace */
    size_t *order;     /* (d) the largest share first */
    double dimension;  /* (trace M)^2 / trace M^2 */
    size_t directions; /* of a full M */
    double direction_share[MOST_DIRECTIONS];
    rfm_real *direction; /* (directions, d) */
    rfm_real *factor;    /* P of a tiny model */
} report;

/* score.c */
void report_choose_rows(report *r); /* those that the model was not trained on, if there are enough */
void report_scores(report *r, machine *m);

/* page.c */
void report_page(text *t, const report *r);

#endif

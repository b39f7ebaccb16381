/* Scores of several methods on several sets, summed up as appendix E of the RFM paper does:
 *
 *     rfm-papers metrics SCORES.csv     sets in rows, their names first; methods in columns; empty: missing
 *
 * x_ij is the score of method j on set i, higher is better. All but the rank are means over the sets that j has:
 *
 *     average   x_ij
 *     PMA       100 x_ij / max_k x_ik
 *     P90, P95  100 where x_ij is at least 0.90, 0.95 of max_k x_ik, else 0
 *     rank      of j on i, 1 is best (Friedman); equal scores share the mean rank, a missing score counts as the mean of
 *               the set's others
 *     ADTM      (x_ij - min_k x_ik) / (max_k x_ik - min_k x_ik)
 */
#include "host/host.h"

#include "papers.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    double average, pma, pma_square, p90, p95, rank, adtm;
    double sets, shares, spreads; /* how many sets the means are over: of scores, of shares of the best, of ADTM */
} summary;

static int here(double x) { return csv_kind(x) == CSV_NUMBER; }

/* Adds one set, x (methods), to the sums. */
static void add_set(summary *s, const double *x, size_t methods) {
    double best = -HUGE_VAL, worst = HUGE_VAL, mean = 0;
    size_t count = 0, j, k;
    for (j = 0; j < methods; j++) {
        if (!here(x[j])) continue;
        best = fmax(best, x[j]), worst = fmin(worst, x[j]);
        mean += x[j], count++;
    }
    mean /= (double)count;
    for (j = 0; j < methods; j++) {
        double mine = here(x[j]) ? x[j] : mean, better = 0, equal = 0;
        for (k = 0; k < methods; k++) {
            double other = here(x[k]) ? x[k] : mean;
            better += other > mine, equal += other == mine; /* itself among them */
        }
        s[j].rank += better + (equal + 1) / 2;
        if (!here(x[j])) continue;
        s[j].sets++, s[j].average += x[j];
        if (best > 0) {
            double share = 100 * x[j] / best;
            s[j].shares++, s[j].pma += share, s[j].pma_square += share * share;
            s[j].p90 += 100 * (x[j] >= 0.9 * best), s[j].p95 += 100 * (x[j] >= 0.95 * best);
        }
        if (best > worst) s[j].spreads++, s[j].adtm += (x[j] - worst) / (best - worst);
    }
}

/* A mean, or nothing where there is nothing to take it of. */
static void add_mean(text *t, double sum, double count) {
    text_add(t, ",");
    if (count > 0) text_add(t, "%.15g", sum / count);
}

int metrics(char **argv) {
    static const option none[] = {{NULL, NULL, 0, NULL}};
    command_line line = {"metrics", "SCORES.csv", 1, 1, "; see rfm-papers metrics --help", none};
    const char *file;
    csv c;
    summary *sums;
    text t = {NULL, 0, 0};
    size_t i, j, methods, ranked = 0, dark = 0;
    if (options_read(&line, argv, &file)) {
        puts("usage: rfm-papers metrics SCORES.csv\n\nSets in rows, the first column their names; methods in columns; "
             "an empty cell is a missing score.\nPrints a line for each method: average, PMA, P90, P95, mean rank "
             "(Friedman), ADTM, and the deviation of PMA.");
        return 0;
    }
    csv_read(&c, file, 1);
    if (c.columns < 2) fail("%s: one column, expected names of sets and a column for each method", file);
    methods = c.columns - 1;
    sums = allocate(methods, sizeof *sums, "sums");
    for (i = 0; i < c.rows; i++) {
        const double *x = c.values + i * c.columns + 1;
        size_t count = 0;
        for (j = 0; j < methods; j++) {
            int kind = csv_kind(x[j]);
            if (kind == CSV_TEXT || kind == CSV_HUGE) csv_fail(&c, i, j + 1, "a score, or nothing where it is missing");
            count += kind == CSV_NUMBER;
        }
        if (count == 0) {
            note("%s: line %zu: no score at all, the set is left out", file, csv_line(&c, i));
            continue;
        }
        add_set(sums, x, methods), ranked++;
        for (j = 0; j < methods && !(here(x[j]) && x[j] > 0); j++) continue;
        dark += j == methods;
    }
    if (ranked == 0) fail("%s: no score in it", file);
    if (dark > 0) note("%zu sets have no positive score and are left out of PMA, P90 and P95", dark);
    text_add(&t, "method,average,PMA,P90,P95,rank,ADTM,PMA deviation\n");
    for (j = 0; j < methods; j++) {
        const summary *s = &sums[j];
        csv_add(&t, c.names[j + 1]);
        add_mean(&t, s->average, s->sets);
        add_mean(&t, s->pma, s->shares);
        add_mean(&t, s->p90, s->shares);
        add_mean(&t, s->p95, s->shares);
        add_mean(&t, s->rank, (double)ranked);
        add_mean(&t, s->adtm, s->spreads);
        text_add(&t, ",");
        if (s->shares > 0) {
            double mean = s->pma / s->shares;
            text_add(&t, "%.9g", sqrt(fmax(0, s->pma_square / s->shares - mean * mean)));
        }
        text_add(&t, "\n");
    }
    file_show(&t, NULL);
    free(t.at);
    free(sums);
    csv_free(&c);
    return 0;
}

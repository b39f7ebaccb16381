/* Scores of several methods on several sets, summed up as appendix E of the RFM paper does:
 *
 *     rfm-papers metrics SCORES.csv     sets in rows, their names first; methods in columns; empty: missing
 *
 * x_ij is the score of method j on set i, higher is better. All but the rank are means over the sets that j has:
 *
 *     average   x_ij
 *     PMA       100 x_ij / max_k x_ik
 *     P90, P95  100 where x_ij is at least 0.90, 0.95 of max_k x_ik, else 0
 *     rank      of j on i, 1 is best (Friedman); equal scores share the mean rank, a missing score counts as the mean
 *               of the set's others
 *     ADTM      (x_ij - min_k x_ik) / (max_k x_ik - min_k x_ik)
 */
#include "host/host.h"

#include "metrics.h"
#include "papers.h"

#include <math.h>
#include <stdlib.h>

/* Sums of one method, and over how many sets: of scores, of shares of the best, of ADTM. */
typedef struct {
    double average, pma, pma_square, p90, p95, rank, adtm;
    double sets, shares, spreads;
} sums;

/* Adds one set, x (methods), whose scores that are there have this mean. */
static void add_set(sums *s, const double *x, size_t methods, double mean) {
    double best = -HUGE_VAL, worst = HUGE_VAL;
    size_t j, k;
    for (j = 0; j < methods; j++)
        if (!isnan(x[j])) best = fmax(best, x[j]), worst = fmin(worst, x[j]);
    for (j = 0; j < methods; j++) {
        double mine = isnan(x[j]) ? mean : x[j], better = 0, equal = 0;
        for (k = 0; k < methods; k++) {
            double other = isnan(x[k]) ? mean : x[k];
            better += other > mine, equal += other == mine; /* itself among them */
        }
        s[j].rank += better + (equal + 1) / 2;
        if (isnan(x[j])) continue;
        s[j].sets++, s[j].average += x[j];
        if (best > 0) {
            double share = 100 * x[j] / best;
            s[j].shares++, s[j].pma += share, s[j].pma_square += share * share;
            s[j].p90 += 100 * (x[j] >= 0.9 * best), s[j].p95 += 100 * (x[j] >= 0.95 * best);
        }
        if (best > worst) s[j].spreads++, s[j].adtm += (x[j] - worst) / (best - worst);
    }
}

static double mean_of(double sum, double count) { return count > 0 ? sum / count : (double)NAN; }

void metrics_of(const double *x, size_t sets, size_t methods, summary *to) {
    sums *all = allocate(methods, sizeof *all, "sums");
    double ranked = 0;
    size_t i, j;
    for (i = 0; i < sets; i++) {
        double sum = 0, count = 0;
        for (j = 0; j < methods; j++)
            if (!isnan(x[i * methods + j])) sum += x[i * methods + j], count++;
        if (count == 0) continue;
        ranked++;
        add_set(all, x + i * methods, methods, sum / count);
    }
    for (j = 0; j < methods; j++) {
        const sums *s = &all[j];
        to[j].average = mean_of(s->average, s->sets);
        to[j].pma = mean_of(s->pma, s->shares);
        to[j].pma_deviation = sqrt(fmax(0, mean_of(s->pma_square, s->shares) - to[j].pma * to[j].pma));
        to[j].p90 = mean_of(s->p90, s->shares), to[j].p95 = mean_of(s->p95, s->shares);
        to[j].rank = mean_of(s->rank, ranked);
        to[j].adtm = mean_of(s->adtm, s->spreads);
    }
    free(all);
}

/* Empty where there is none. */
static void add_number(text *t, double value) {
    text_add(t, ",");
    if (!isnan(value)) text_add(t, "%.15g", value);
}

int metrics(char **argv) {
    static const option none[] = {{NULL, NULL, 0, NULL}};
    command_line line = {"metrics", "SCORES.csv", 1, 1, "; see rfm-papers metrics --help", none};
    const char *file;
    csv c;
    summary *all;
    double *scores;
    text t = {NULL, 0, 0};
    size_t i, j, methods, empty = 0, dark = 0;
    if (options_read(&line, argv, &file)) {
        puts("usage: rfm-papers metrics SCORES.csv\n\nSets in rows, the first column their names; methods in columns; "
             "an empty cell is a missing score.\nPrints a line for each method: average, PMA, P90, P95, mean rank "
             "(Friedman), ADTM, and the deviation of PMA.");
        return 0;
    }
    csv_read(&c, file, 1);
    if (c.columns < 2) fail("%s: one column, expected names of sets and a column for each method", file);
    methods = c.columns - 1;
    all = allocate(methods, sizeof *all, "sums");
    scores = allocate(c.rows, methods * sizeof *scores, "scores");
    for (i = 0; i < c.rows; i++) {
        double best = -HUGE_VAL;
        for (j = 0; j < methods; j++) {
            double value = c.values[i * c.columns + 1 + j];
            int kind = csv_kind(value);
            if (kind == CSV_TEXT || kind == CSV_HUGE) csv_fail(&c, i, j + 1, "a score, or nothing where it is missing");
            scores[i * methods + j] = kind == CSV_NUMBER ? value : (double)NAN;
            if (kind == CSV_NUMBER) best = fmax(best, value);
        }
        if (isinf(best)) note("%s: line %zu: no score at all, the set is left out", file, csv_line(&c, i));
        empty += isinf(best) != 0, dark += !isinf(best) && best <= 0;
    }
    if (empty == c.rows) fail("%s: no score in it", file);
    if (dark > 0) note("%zu sets have no positive score and are left out of PMA, P90 and P95", dark);
    metrics_of(scores, c.rows, methods, all);
    text_add(&t, "method,average,PMA,P90,P95,rank,ADTM,PMA deviation\n");
    for (j = 0; j < methods; j++) {
        csv_add(&t, c.names[j + 1]);
        add_number(&t, all[j].average);
        add_number(&t, all[j].pma);
        add_number(&t, all[j].p90);
        add_number(&t, all[j].p95);
        add_number(&t, all[j].rank);
        add_number(&t, all[j].adtm);
        add_number(&t, all[j].pma_deviation);
        text_add(&t, "\n");
    }
    file_show(&t, NULL);
    free(t.at);
    free(all);
    free(scores);
    csv_free(&c);
    return 0;
}

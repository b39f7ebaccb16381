/* Tables, as figures 4 and 5 of the RFM paper have them: RFM beside the kernels that learn no features, summed up by
 * the metrics of its appendix E.
 *
 * As in the paper: features are standardised, L = 10, the ridge is one of five, T at most 5, M full or a diagonal, NTKs
 * have 1 to 3 hidden layers (the paper: 5). Each choice is made on a fifth of the training rows, in small sets on all
 * fifths in turn; then the machine is trained on all of them. */
#include "host/host.h"

#include "lab.h"
#include "metrics.h"
#include "phenomena.h"
#include "sheet.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define T_MAX     5
#define MOST_SETS 64
#define METHODS   3 /* of ours; the others' scores are read */

static const double ridges[] = {10, 1, 0.1, 0.01, 0.001};
#define RIDGES (sizeof ridges / sizeof *ridges)

/* ---- sets ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Names of the sets in a folder: NAME.csv with NAME.split beside it. */
static size_t sets_find(const char *folder, char **names) {
    DIR *dir = opendir(folder);
    const struct dirent *e;
    size_t count = 0;
    if (dir == NULL) fail("%s: cannot be read, expected a folder", folder);
    while ((e = readdir(dir)) != NULL && count < MOST_SETS) {
        size_t length = strlen(e->d_name);
        if (length > 6 && strcmp(e->d_name + length - 6, ".split") == 0)
            names[count++] = copy_text(e->d_name, length - 6);
    }
    closedir(dir);
    if (count == 0) fail("%s: no file NAME.split in it", folder);
    qsort(names, count, sizeof *names, by_name);
    return count;
}

typedef struct {
    lab_rows train, test;
    int classes; /* 1: labels, else numbers */
} table_set;

/* Standardised by the rows of `from`; what is constant there becomes 0. */
static void standardise(const lab_rows *from, lab_rows *to, double *mean, double *scale) {
    size_t i, j;
    for (j = 0; j < from->d && to == from; j++) {
        mean[j] = scale[j] = 0;
        for (i = 0; i < from->n; i++) mean[j] += (double)from->x[i * from->d + j] / (double)from->n;
        for (i = 0; i < from->n; i++) scale[j] += pow((double)from->x[i * from->d + j] - mean[j], 2) / (double)from->n;
        scale[j] = sqrt(scale[j]);
    }
    for (i = 0; i < to->n; i++)
        for (j = 0; j < to->d; j++)
            to->x[i * to->d + j] = (rfm_real)(scale[j] > 0 ? ((double)to->x[i * to->d + j] - mean[j]) / scale[j] : 0);
}

static lab_rows rows_read(csv *c, row_list rows, size_t target, const char *classes, size_t count) {
    input_list inputs = inputs_of_file(c, target, 1, rows, 0);
    lab_rows s = rows_make(rows.count, inputs.count, count > 2 ? count : 1);
    size_t i;
    inputs_fill(c, inputs, rows, 0, NULL, s.x);
    if (count > 0) {
        uint32_t *labels = classes_of(c, target, rows, classes, count);
        for (i = 0; i < s.n; i++) rows_label(&s, i, labels[i]);
        free(labels);
    } else
        targets_fill(c, target, 1, rows, NULL, s.y);
    inputs_free(&inputs);
    return s;
}

static table_set set_read(const trial *t, const char *folder, const char *name) {
    text file = {NULL, 0, 0};
    size_t most = t->quick ? 200 : 2500, split, target, count = 0, i;
    char *classes = NULL;
    double *mean, *scale, middle = 0, spread = 0;
    unsigned char *use;
    row_list for_train, for_test;
    table_set s;
    csv c;
    text_add(&file, "%s/%s.csv", folder, name);
    text_bytes(&file, "", 1), split = file.size;
    text_add(&file, "%s/%s.split", folder, name);
    text_bytes(&file, "", 1);
    csv_read(&c, file.at, 1);
    use = split_read(file.at + split, &c, USE_TRAIN);
    for_train = rows_of(&c, use, USE_TRAIN), for_test = rows_of(&c, use, USE_TEST);
    if (for_train.count > most) rows_draw(&for_train, most, t->seed);
    target = target_find(&c, NULL, 1);
    s.classes = target_is_class(&c, target, for_train);
    if (s.classes) classes = classes_find(&c, target, for_train, &count);
    s.train = rows_read(&c, for_train, target, classes, count);
    s.test = rows_read(&c, for_test, target, classes, count);
    mean = allocate(s.train.d, sizeof *mean, "statistics"), scale = allocate(s.train.d, sizeof *scale, "statistics");
    standardise(&s.train, &s.train, mean, scale);
    standardise(&s.train, &s.test, mean, scale);
    if (!s.classes) {
        for (i = 0; i < s.train.n; i++) middle += (double)s.train.y[i] / (double)s.train.n;
        for (i = 0; i < s.train.n; i++) spread += pow((double)s.train.y[i] - middle, 2) / (double)s.train.n;
        for (i = 0; i < s.train.n; i++) s.train.y[i] = (rfm_real)(((double)s.train.y[i] - middle) / sqrt(spread));
        for (i = 0; i < s.test.n; i++) s.test.y[i] = (rfm_real)(((double)s.test.y[i] - middle) / sqrt(spread));
    }
    free(mean);
    free(scale);
    free(classes);
    free(use);
    free(for_train.at);
    free(for_test.at);
    free(file.at);
    csv_free(&c);
    return s;
}

/* ---- machines --------------------------------------------------------------------------------- */

/* Accuracy, or R^2, in %. */
static double score_of(const trial *t, const lab_model *f, const table_set *s) {
    double mean = 0, variance = 0;
    size_t i;
    if (s->classes) return 100 * lab_accuracy(t, f, &s->test);
    for (i = 0; i < s->test.n; i++) mean += (double)s->test.y[i] / (double)s->test.n;
    for (i = 0; i < s->test.n; i++) variance += pow((double)s->test.y[i] - mean, 2) / (double)s->test.n;
    return 100 * (1 - lab_error(t, f, &s->test) / variance);
}

/* The last rows will be held out. */
static void shuffle_rows(lab_rows *s, uint64_t *state) {
    rfm_real *x = allocate(s->d, sizeof *x, "a row"), *y = allocate(s->c, sizeof *y, "a row");
    size_t i;
    for (i = s->n - 1; i > 0; i--) {
        size_t k = lab_below(state, i + 1);
        uint32_t label = s->labels[i];
        memcpy(x, s->x + i * s->d, s->d * sizeof *x);
        memmove(s->x + i * s->d, s->x + k * s->d, s->d * sizeof *x);
        memcpy(s->x + k * s->d, x, s->d * sizeof *x);
        memcpy(y, s->y + i * s->c, s->c * sizeof *y);
        memmove(s->y + i * s->c, s->y + k * s->c, s->c * sizeof *y);
        memcpy(s->y + k * s->c, y, s->c * sizeof *y);
        s->labels[i] = s->labels[k], s->labels[k] = label;
    }
    free(x);
    free(y);
}

/* The last rows come first, so that others are held out. */
static void turn_rows(lab_rows *s, size_t count) {
    lab_rows to = rows_make(s->n, s->d, s->c);
    size_t i;
    for (i = 0; i < s->n; i++) {
        size_t at = (i + count) % s->n;
        memcpy(to.x + at * s->d, s->x + i * s->d, s->d * sizeof *s->x);
        memcpy(to.y + at * s->c, s->y + i * s->c, s->c * sizeof *s->y);
        to.labels[at] = s->labels[i];
    }
    rows_free(s);
    *s = to;
}

#define CHOICES 15 /* ridges times forms of M or depths, at most */

static size_t choices(const trial *t, size_t method, rfm_options *o) {
    size_t r, other, count = 0;
    for (r = 0; r < RIDGES; r++)
        for (other = 0; other < (method == 0 ? 2u : method == 1 ? 1u : 3u); other++, count++) {
            rfm_options_init(&o[count]);
            o[count].ridge = (rfm_real)ridges[r];
            o[count].iterations = method == 0 ? (t->quick ? 2 : T_MAX) : 0;
            o[count].metric = method == 0 && other == 1 ? RFM_FULL : RFM_DIAGONAL;
            if (method == 2) o[count].kernel = RFM_NTK, o[count].exponent = (rfm_real)(other + 1);
        }
    return count;
}

/* The least rows for one fifth to choose by; with fewer each fifth is held out in turn. */
#define ONE_FIFTH 1000

static rfm_options choose(const trial *t, table_set *s, size_t method) {
    size_t folds = s->train.n < ONE_FIFTH ? 5 : 1, count, fold, i, k, best = 0, best_t = 0;
    double sums[CHOICES][T_MAX + 1] = {{0}}, scores[T_MAX + 1];
    rfm_options o[CHOICES];
    count = choices(t, method, o);
    for (fold = 0; fold < folds; fold++) {
        for (i = 0; i < count; i++) {
            lab_path(t, &s->train, s->classes, &o[i], scores);
            for (k = 0; k <= o[i].iterations; k++) sums[i][k] += scores[k];
        }
        if (folds > 1) turn_rows(&s->train, s->train.n / 5);
    }
    if (folds > 1) turn_rows(&s->train, s->train.n % 5); /* as they were, for the next method */
    for (i = 0; i < count; i++)
        for (k = 0; k <= o[i].iterations; k++)
            if (sums[i][k] > sums[best][best_t]) best = i, best_t = k;
    o[best].iterations = best_t;
    return o[best];
}

/* ---- others' scores ---------------------------------------------------------------------------- */

#define OTHERS 5 /* random forest, boosting, SVM, MLP, nearest neighbours */

/* The last columns of a line of tools/accuracy/peers.txt; NaN where the set is not in it. */
static void others_read(const char *name, int classes, double *to) {
    size_t size, k, length = strlen(name);
    char *all = file_read("tools/accuracy/peers.txt", &size), *line;
    for (k = 0; k < OTHERS; k++) to[k] = (double)NAN;
    for (line = all; line != NULL && *line != 0; line = strchr(line, '\n'), line = line == NULL ? NULL : line + 1) {
        double v[9];
        if (strncmp(line, name, length) != 0 || line[length] != ' ') continue;
        if (sscanf(line + length, "%lf%lf%lf%lf%lf%lf%lf%lf%lf", v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7,
                   v + 8) != 9)
            continue;
        for (k = 0; k < OTHERS; k++) to[k] = classes ? v[4 + k] : 100 * v[4 + k];
    }
    free(all);
}

/* ---- the sheet ---------------------------------------------------------------------------------- */

static void sums_table(text *sheet, const double *scores, size_t sets) {
    static const struct {
        const char *name, *paper; /* of 121 sets: average, P90, P95, PMA, rank among 182 methods */
    } rows[METHODS + OTHERS] = {{"RFM", "85.39, 92.56, 85.96, 97.36, 17.79"},
                                {"Laplace kernel", "83.76, 90.08, 74.38, 95.95, 28.48"},
                                {"NTK", "82.70, 85.95, 68.60, 94.84, 33.55"},
                                {"random forest", "81.96, 83.47, 68.60, 93.48, 33.52"},
                                {"boosting", ""},
                                {"SVM", "81.81, 82.35, 69.75, 93.21, 37.50"},
                                {"MLP", "79.37, 73.55, 53.72, 91.14, 44.13"},
                                {"nearest neighbours", ""}};
    summary all[METHODS + OTHERS];
    size_t k;
    metrics_of(scores, sets, METHODS + OTHERS, all);
    sheet_table(sheet, "method|average|P90|P95|PMA|rank of 8|ADTM|paper: average, P90, P95, PMA, rank of 182");
    for (k = 0; k < METHODS + OTHERS; k++)
        sheet_row(sheet, "%s|%.2f|%.1f|%.1f|%.2f +- %.2f|%.2f|%.3f|%s", rows[k].name, all[k].average, all[k].p90,
                  all[k].p95, all[k].pma, all[k].pma_deviation, all[k].rank, all[k].adtm, rows[k].paper);
}

void tabular(const trial *t, text *sheet) {
    const char *folder = t->data != NULL ? t->data : "tools/data";
    char *names[MOST_SETS];
    double scores[MOST_SETS][METHODS + OTHERS], size[MOST_SETS][2];
    size_t sets = sets_find(folder, names), i, k, plain = 0;
    double gain = 0;
    text rows = {NULL, 0, 0};
    sheet_say(
        sheet,
        "%zu sets%s. L = 10; ridge, T up to %d, form of M and depth chosen on a fifth of the training rows, of which "
        "at most %d are used; with fewer than %d each fifth is held out in turn. Scores of the test rows: accuracy, or "
        "R^2, in %%.",
        sets, t->data == NULL ? " that come with the library" : "", t->quick ? 2 : T_MAX, t->quick ? 200 : 2500,
        ONE_FIFTH);
    sheet_table(&rows, "set|rows|inputs|RFM|form of M, T|Laplace|NTK, depth|error of Laplace that RFM takes away %");
    for (i = 0; i < sets; i++) {
        table_set s = set_read(t, folder, names[i]);
        uint64_t state = t->seed;
        rfm_options chosen[METHODS];
        shuffle_rows(&s.train, &state);
        for (k = 0; k < METHODS; k++) {
            lab_model f;
            chosen[k] = choose(t, &s, k);
            f = lab_fit(t, &s.train, &chosen[k], NULL);
            scores[i][k] = score_of(t, &f, &s);
            lab_model_free(&f);
            progress_show("tables", (double)(i * METHODS + k + 1), (double)(sets * METHODS));
        }
        others_read(names[i], s.classes, scores[i] + METHODS);
        plain += chosen[0].iterations == 0, gain += scores[i][0] - scores[i][1];
        size[i][0] = (double)s.train.n, size[i][1] = (double)s.train.d;
        sheet_row(&rows, "%s|%zu|%zu|%.2f|%s, %zu|%.2f|%.2f, %.0f|%.1f", names[i], s.train.n, s.train.d, scores[i][0],
                  chosen[0].metric == RFM_FULL ? "full" : "diagonal", chosen[0].iterations,
                  scores[i][1], scores[i][2], (double)chosen[2].exponent,
                  scores[i][1] < 100 ? 100 * (scores[i][0] - scores[i][1]) / (100 - scores[i][1]) : 0.0);
        rows_free(&s.train);
        rows_free(&s.test);
    }
    progress_end();
    text_bytes(sheet, rows.at, rows.size);
    sums_table(sheet, scores[0], sets);
    sheet_table(sheet, "quantity|ours|paper");
    sheet_row(sheet, "sets for which T = 0, the plain kernel, was chosen|%zu of %zu|45 of 121", plain, sets);
    sheet_row(sheet, "average of RFM less that of the Laplace kernel, points|%.2f|1.63", gain / (double)sets);
    sheet_say(
        sheet,
        "The methods from random forest on "
        "are scikit-learn's, as in tools/accuracy; they were trained on up to 5,000 rows. The paper's ranks are among "
        "182 methods on 121 sets of labels; ours are among 8 on few sets, some of them numbers.");
    sheet_chart(sheet, "Error of the Laplace kernel that RFM takes away, %", "log10 of training rows, or of inputs",
                "%");
    for (k = 0; k < 2; k++)
        for (i = 0; i < sets; i++)
            if (scores[i][1] < 100)
                sheet_dot(sheet, k == 0 ? "rows" : "inputs", log10(size[i][k]),
                          100 * (scores[i][0] - scores[i][1]) / (100 - scores[i][1]));
    for (i = 0; i < sets; i++) free(names[i]);
    free(rows.at);
}

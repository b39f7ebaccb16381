/* The sections of a report. */
#include "board_sizes.h"
#include "report.h"
#include "html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FEATURES         30
#define MOST_COMPONENTS       8
#define MOST_SHOWN_DIRECTIONS 6
#define MOST_BESIDE           10 /* classes of a confusion table in half the width */
#define MOST_CONFUSION        24 /* classes of one at all */
#define MOST_PER_CLASS        24
#define MOST_NAMED_MATRIX     32
#define MOST_PIXELS           256 /* of a picture of M, each way */
#define MOST_MISTAKES         12
#define MOST_SCATTERS         4

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

/* ---- top ------------------------------------------------------------------------------------ */

static void tile_open(text *t, const char *what) {
    text_add(t, "<div class=\"tile\"><p class=\"what\">%s</p><p class=\"big\">", what);
}
static void tile_close(text *t) { text_add(t, "</p></div>\n"); }

/* The number with all its digits is in the value, as rfm evaluate prints it. */
static void score_data(text *t, const char *name, double value, int percent) {
    char room[NUMBER_ROOM];
    text_add(t, "<data class=\"%s\" value=\"%.9g\">", name, value);
    if (percent)
        text_add(t, "%.1f\xc2\xa0%%</data>", 100 * value);
    else
        text_add(t, "%s</data>", html_score(room, value));
}

static void interval_words(text *t, const report *r) {
    char room[NUMBER_ROOM], more[NUMBER_ROOM];
    if (r->interval[1] > r->interval[0] && r->classes > 0)
        text_add(t, "%.1f to %.1f\xc2\xa0%% with 95\xc2\xa0%% confidence", 100 * r->interval[0], 100 * r->interval[1]);
    else if (r->interval[1] > r->interval[0])
        text_add(t, "%s to %s with 95\xc2\xa0%% confidence", html_score(room, r->interval[0]),
                 html_score(more, r->interval[1]));
    else
        text_add(t, "too few rows for an interval");
}

static void top(text *t, const report *r) {
    char room[NUMBER_ROOM], more[NUMBER_ROOM];
    size_t n = r->rows.rows;
    text_add(t, "<header>\n<p class=\"over\">Model report</p>\n<h1>");
    html_text(t, r->model_file);
    text_add(t, "</h1>\n<p class=\"lead\">");
    if (r->classes > 0)
        text_add(t, "Tells %zu classes apart by %zu feature%s.", r->classes, r->model.d, plural(r->model.d));
    else
        text_add(t, "Predicts %zu number%s from %zu feature%s.", r->model.c, plural(r->model.c), r->model.d,
                 plural(r->model.d));
    if (r->summary.rows > 0) text_add(t, " Trained on %s rows,", html_count(room, r->summary.rows));
    text_add(t, " %s on %s %s row%s of ", r->summary.rows > 0 ? "scored" : "Scored",
             r->is_split || r->skipped > 0 ? "the" : "all", html_count(more, (double)n), plural(n));
    html_name(t, r->data_file, 60);
    text_add(t, "%s.</p>\n",
             r->is_split      ? " that the split keeps for testing"
             : r->skipped > 0 ? " that it was not trained on"
                              : "");
    text_add(t, "<nav aria-label=\"Sections\"><a href=\"#score\">Score</a><a href=\"#training\">Training</a><a "
                "href=\"#features\">Features</a>");
    if (r->directions > 0) text_add(t, "<a href=\"#directions\">Directions</a><a href=\"#metric\">Metric</a>");
    text_add(t, "<a href=\"#rows\">Rows to look at</a><a href=\"#board\">On a board</a><a href=\"#use\">In "
                "C</a></nav>\n</header>\n");
}

static int integers_in(const report *r) { return has_integers(&r->any); }

#define STACK           \
    "about 200\xc2\xa0" \
    "bytes of stack" /* boards/SIZES.md has it by core and loop */

/* Inputs, scratch and scores of a prediction. */
static double array_bytes(const report *r) {
    size_t inputs = r->model.d + RFM_PREDICT_SCRATCH(r->model.d, r->model.r);
    if (is_tiny(&r->any)) return (double)(r->model.d * sizeof(int16_t) + r->model.r + r->model.c * sizeof(int32_t));
    return (double)(integers_in(r) ? inputs * sizeof(int16_t) + r->model.c * sizeof(int32_t)
                                   : (inputs + r->model.c) * sizeof(rfm_real));
}

static double ram_bytes(const report *r) {
    return array_bytes(r) + (is_tiny(&r->any) ? TINY_BYTES_32 : integers_in(r) ? MODEL_I_BYTES_32 : MODEL_BYTES_32);
}

/* Which rows a score is of. */
static const char *rows_word(const report *r) {
    return r->seen == SIZE_MAX       ? ""
           : r->seen == 0            ? " on held-out rows"
           : r->seen == r->rows.rows ? " on training rows"
                                     : ", partly on training rows";
}

static void tiles(text *t, const report *r) {
    char room[NUMBER_ROOM];
    text title = {NULL, 0, 0};
    text_add(t, "<div class=\"tiles\">\n");
    text_add(&title, "%s%s%c", r->classes > 0 ? "Accuracy" : "R\xc2\xb2", rows_word(r), 0);
    tile_open(t, title.at);
    score_data(t, r->classes > 0 ? "accuracy" : "r2", r->main_score, r->classes > 0);
    text_add(t, "</p><p class=\"what\">");
    interval_words(t, r);
    tile_close(t);
    tile_open(t, "Size of the model");
    text_add(t, "%s</p><p class=\"what\">%zu centres of %zu numbers", html_bytes(room, (double)r->model_bytes),
             r->model.n, r->model.r);
    tile_close(t);
    tile_open(t, "RAM for a prediction");
    text_add(t, "%s</p><p class=\"what\">and " STACK "; no heap", html_bytes(room, ram_bytes(r)));
    tile_close(t);
    if (strcmp(r->metric_word, "identity") != 0) {
        tile_open(t, "Strongest feature");
        html_name(t, r->names[r->order[0]], 24);
        text_add(t, "</p><p class=\"what\">%s of the metric\xe2\x80\x99s trace",
                 html_percent(room, r->share[r->order[0]]));
        tile_close(t);
    }
    text_add(t, "</div>\n");
    free(title.at);
}

/* ---- score ---------------------------------------------------------------------------------- */

/* (classes + 1, classes): true, predicted; the last row is of labels that the model does not know. */
static size_t *confusion(const report *r) {
    size_t *count = allocate(r->classes + 1, r->classes * sizeof *count, "counts"), i;
    for (i = 0; i < r->rows.rows; i++) {
        size_t label = r->rows.labels[i] == CLASS_UNKNOWN ? r->classes : r->rows.labels[i];
        count[label * r->classes + r->predicted[i]]++;
    }
    return count;
}

static size_t row_sum(const size_t *count, size_t classes, size_t row) {
    size_t k, sum = 0;
    for (k = 0; k < classes; k++) sum += count[row * classes + k];
    return sum;
}

static void confusion_table(text *t, const report *r, const size_t *count) {
    size_t c = r->classes, i, k, rows = row_sum(count, c, c) > 0 ? c + 1 : c;
    text_add(
        t,
        "<div class=\"wide\"><table class=\"confusion%s\"><thead><tr><td class=\"z\" style=\"background:none\"></td>",
        c > 10 ? " tight" : "");
    for (k = 0; k < c; k++) {
        text_add(t, "<th scope=\"col\">");
        html_name(t, r->labels[k], c > 6 ? 10 : 16);
        text_add(t, "</th>");
    }
    text_add(t, "</tr></thead><tbody>\n");
    for (i = 0; i < rows; i++) {
        size_t sum = row_sum(count, c, i);
        text_add(t, "<tr><th scope=\"row\">");
        if (i < c)
            html_name(t, r->labels[i], 24);
        else
            text_add(t, "<em>other</em>");
        text_add(t, "</th>");
        for (k = 0; k < c; k++) {
            size_t n = count[i * c + k];
            double share = sum > 0 ? (double)n / (double)sum : 0;
            if (n == 0)
                text_add(t, "<td class=\"z\">\xc2\xb7</td>");
            else
                text_add(t, "<td class=\"%s%s\" style=\"--v:%.2f\">%zu</td>", i == k ? "r" : "w",
                         share > 0.55 ? " hi" : "", share, n);
        }
        text_add(t, "</tr>\n");
    }
    text_add(t, "</tbody></table></div>\n<p class=\"small\" style=\"margin-top:10px\">A row for each true class, a "
                "column for each predicted one; the shade is the share "
                "of the row.</p>\n");
}

static void confusion_picture(text *t, const report *r, const size_t *count) {
    size_t c = r->classes, i, k;
    double *v = allocate(c, c * sizeof *v, "a picture");
    for (i = 0; i < c; i++) {
        double sum = (double)row_sum(count, c, i);
        for (k = 0; k < c && sum > 0; k++) v[i * c + k] = (i == k ? 1 : -1) * sqrt((double)count[i * c + k] / sum);
    }
    html_image(t, v, c, c, "matrix", "Confusion matrix: a row for each true class, a column for each predicted one");
    text_add(t,
             "<p class=\"small\" style=\"margin-top:10px\">A row for each of the %zu true classes, a column for each "
             "predicted one. Blue: right; orange: wrong.</p>\n",
             c);
    free(v);
}

static const double *class_recall;
static int by_recall(const void *a, const void *b) {
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    return class_recall[i] != class_recall[j] ? (class_recall[i] > class_recall[j] ? 1 : -1) : i > j ? 1 : -1;
}

static void per_class(text *t, const report *r, const size_t *count) {
    size_t c = r->classes, i, k, shown = c < MOST_PER_CLASS ? c : MOST_PER_CLASS,
           *order = allocate(c, sizeof *order, "an order");
    double *recall = allocate(c, sizeof *recall, "recalls");
    char room[NUMBER_ROOM];
    for (i = 0; i < c; i++) {
        size_t sum = row_sum(count, c, i);
        recall[i] = sum > 0 ? (double)count[i * c + i] / (double)sum : 2;
        order[i] = i;
    }
    class_recall = recall;
    if (shown < c) qsort(order, c, sizeof *order, by_recall);
    text_add(t, "<div class=\"wide\"><table class=\"full\"><thead><tr><th class=\"l\" scope=\"col\">Class</th><th "
                "scope=\"col\">Rows</th><th scope=\"col\">Precision</th>"
                "<th scope=\"col\">Recall</th></tr></thead><tbody>\n");
    for (k = 0; k < shown; k++) {
        size_t predicted = 0, sum;
        i = order[k], sum = row_sum(count, c, i);
        {
            size_t q;
            for (q = 0; q <= c; q++) predicted += count[q * c + i];
        }
        text_add(t, "<tr><th scope=\"row\">");
        html_name(t, r->labels[i], 32);
        text_add(t, "</th><td>%zu</td><td>%s</td>", sum,
                 predicted > 0 ? html_percent(room, (double)count[i * c + i] / (double)predicted) : "\xe2\x80\x93");
        text_add(t, "<td>%s</td></tr>\n", sum > 0 ? html_percent(room, recall[i]) : "\xe2\x80\x93");
    }
    text_add(t, "</tbody></table></div>\n");
    if (shown < c) text_add(t, "<p class=\"small\">The %zu classes with the lowest recall.</p>\n", shown);
    free(order);
    free(recall);
}

static void metric_row(text *t, const char *name, double value) {
    char room[NUMBER_ROOM];
    if (isnan(value)) return;
    html_row(t, name);
    text_add(t, "%s</dd>", html_number(room, value));
}

static void score_classify(text *t, const report *r) {
    size_t *count = confusion(r), i, right = 0;
    char room[NUMBER_ROOM];
    for (i = 0; i < r->rows.rows; i++) right += r->predicted[i] == r->rows.labels[i];
    text_add(t, "<div class=\"two\"><div>\n");
    chart_interval(t, 0, 1, r->main_score, r->interval, r->baseline,
                   "Accuracy with its interval, beside that of the most frequent class");
    text_add(t, "<dl>");
    html_row(t, "Right");
    text_add(t, "%zu of %zu</dd>", right, r->rows.rows);
    html_row(t, "95\xc2\xa0% interval (Wilson)");
    text_add(t, "%.1f to %.1f\xc2\xa0%%</dd>", 100 * r->interval[0], 100 * r->interval[1]);
    html_row(t, "Always the most frequent class");
    text_add(t, "%s</dd>", html_percent(room, r->baseline));
    if (r->confidence != NULL) {
        double mean = 0;
        for (i = 0; i < r->rows.rows; i++) mean += r->confidence[i] / (double)r->rows.rows;
        html_row(t, "Mean confidence of the model");
        text_add(t, "%s</dd>", html_percent(room, mean));
    }
    metric_row(t, "Balanced accuracy", r->measures.balanced);
    metric_row(t, r->classes > 2 ? "F1, mean over the classes" : "F1", r->measures.f1);
    metric_row(t, r->classes > 2 ? "AUC, mean over the classes" : "AUC", r->measures.auc);
    metric_row(t, "Log-loss", r->measures.log_loss);
    metric_row(t, "Brier score", r->measures.brier);
    text_add(t, "</dl>\n");
    if (r->classes <= MOST_BESIDE) {
        text_add(t, "<h3 style=\"margin-top:24px\">Class by class</h3>\n");
        per_class(t, r, count);
        text_add(t, "</div><div>\n<h3>Confusion</h3>\n");
        confusion_table(t, r, count);
        text_add(t, "</div></div>\n");
    } else {
        int table = r->classes <= MOST_CONFUSION; /* in the whole width */
        if (!table) {
            text_add(t, "<h3 style=\"margin-top:24px\">Confusion</h3>\n");
            confusion_picture(t, r, count);
        }
        text_add(t, "</div><div>\n");
        per_class(t, r, count);
        text_add(t, "</div></div>\n");
        if (table) {
            text_add(t, "<h3 style=\"margin-top:26px\">Confusion</h3>\n");
            confusion_table(t, r, count);
        }
    }
    free(count);
}

/* What was taken out of a target before it was read. */
static double offset_of(const report *r, size_t k) { return r->rows.moved.y != NULL ? r->rows.moved.y[k] : 0; }

static void output_columns(const report *r, size_t k, double *truth, double *predicted, double *error) {
    size_t i, c = r->model.c;
    for (i = 0; i < r->rows.rows; i++) {
        truth[i] = (double)r->rows.y[i * c + k], predicted[i] = (double)r->outputs[i * c + k];
        error[i] = predicted[i] - truth[i];
        truth[i] += offset_of(r, k), predicted[i] += offset_of(r, k);
    }
}

static void per_target(text *t, const report *r) {
    size_t n = r->rows.rows, c = r->model.c, shown = c < MOST_PER_CLASS ? c : MOST_PER_CLASS, i, k;
    char room[NUMBER_ROOM];
    text_add(t, "<div class=\"wide\"><table class=\"full\"><thead><tr><th class=\"l\" scope=\"col\">Target</th><th "
                "scope=\"col\">R\xc2\xb2</th><th scope=\"col\">Root of the mean squared "
                "error</th></tr></thead><tbody>\n");
    for (k = 0; k < shown; k++) {
        double mean = 0, around = 0, error = 0;
        for (i = 0; i < n; i++) mean += (double)r->rows.y[i * c + k] / (double)n;
        for (i = 0; i < n; i++) {
            double y = (double)r->rows.y[i * c + k], off = y - (double)r->outputs[i * c + k];
            around += (y - mean) * (y - mean), error += off * off;
        }
        text_add(t, "<tr><th scope=\"row\">");
        html_name(t, r->targets[k], 32);
        if (around > 0)
            text_add(t, "</th><td>%s</td>", html_score(room, 1 - error / around));
        else
            text_add(t, "</th><td>\xe2\x80\x93</td>");
        text_add(t, "<td>%s</td></tr>\n", html_number(room, sqrt(error / (double)n)));
    }
    text_add(t, "</tbody></table></div>\n");
    if (shown < c) text_add(t, "<p class=\"small\">The first %zu of %zu targets.</p>\n", shown, c);
}

static void score_regress(text *t, const report *r) {
    size_t n = r->rows.rows, c = r->model.c, k, i;
    double *truth = allocate(3 * n, sizeof *truth, "columns"), *predicted = truth + n, *error = truth + 2 * n,
           absolute = 0;
    char room[NUMBER_ROOM], more[NUMBER_ROOM];
    for (i = 0; i < n * c; i++)
        absolute += fabs((double)r->rows.y[i] - (double)r->outputs[i]) / ((double)n * (double)c);
    text_add(t, "<div class=\"two\"><div>\n");
    chart_interval(t, r->main_score < 0 ? floor(r->main_score) : 0, 1, r->main_score, r->interval, 0,
                   "R squared with its interval; 0 is what the mean of the rows scores");
    text_add(t, "<dl>");
    html_row(t, "R\xc2\xb2");
    text_add(t, "%s</dd>", html_score(room, r->score.r2));
    html_row(t, "95\xc2\xa0% interval");
    if (r->interval[1] > r->interval[0])
        text_add(t, "%s to %s</dd>", html_score(room, r->interval[0]), html_score(more, r->interval[1]));
    else
        text_add(t, "not known</dd>");
    html_row(t, "Mean squared error");
    text_add(t, "<data class=\"mse\" value=\"%.9g\">%s</data></dd>", r->score.mse, html_number(room, r->score.mse));
    html_row(t, "Its root");
    text_add(t, "%s</dd>", html_number(room, sqrt(r->score.mse)));
    html_row(t, "Mean absolute error");
    text_add(t,
             "%s</dd></dl>\n<p class=\"small\" style=\"margin-top:14px\">The interval is a normal approximation: the "
             "standard error of R\xc2\xb2 over these rows by the delta "
             "method. R\xc2\xb2 of 0 is what predicting their mean gives.</p>\n",
             html_number(room, absolute));
    output_columns(r, 0, truth, predicted, error);
    if (c == 1)
        chart_histogram(t, "How far off the predictions are", "predicted minus true", error, n);
    else
        per_target(t, r);
    text_add(t, "</div>\n");
    for (k = 0; k < c && k < MOST_SCATTERS; k++) {
        text true_name = {NULL, 0, 0};
        output_columns(r, k, truth, predicted, error);
        text_add(&true_name, "true %.*s%c", utf8_fit(r->targets[k], 60), r->targets[k], 0);
        text_add(t, "<div>");
        if (c > 1) {
            text_add(t, "<h3>");
            html_name(t, r->targets[k], 40);
            text_add(t, "</h3>");
        }
        chart_scatter(t, "Predicted against true values", true_name.at, "predicted", truth, predicted, n);
        text_add(t, "</div>\n");
        free(true_name.at);
    }
    text_add(t, "</div>\n");
    if (c > MOST_SCATTERS)
        text_add(t, "<p class=\"small\">The first %d of %zu targets are drawn.</p>\n", MOST_SCATTERS, c);
    free(truth);
}

static void section_score(text *t, const report *r) {
    html_section(t, "score", "How well it predicts");
    text_add(t, "<p class=\"say\">On %s%zu row%s of <span class=\"name\">",
             r->is_split || r->skipped > 0 ? "the " : "all ", r->rows.rows, plural(r->rows.rows));
    html_text(t, r->data_file);
    text_add(t, "</span>%s. ", r->is_split ? " that the split marks as test rows" : "");
    if (r->skipped > 0)
        text_add(t,
                 "The model was trained on none of them: the other %zu are its training rows, and are not "
                 "scored.</p>\n",
                 r->skipped);
    else if (r->seen == SIZE_MAX)
        text_add(t, "Whether the model was trained on them is not recorded.</p>\n");
    else if (r->seen > 0)
        text_add(t, "<strong>The model was trained on %zu of them</strong>: of new rows fewer will be right.</p>\n",
                 r->seen);
    else
        text_add(t, "The model was trained on none of them.</p>\n");
    if (r->classes > 0)
        score_classify(t, r);
    else
        score_regress(t, r);
    text_add(t, "</section>\n");
}

/* ---- training ------------------------------------------------------------------------------- */

static const char *metric_form(const report *r) {
    return r->metric_word[0] == 'f'   ? "full matrix"
           : r->metric_word[0] == 'd' ? "diagonal: a weight for each feature"
                                      : "identity: all features alike";
}

/* A curve, or if it is flat a sentence into `flat`. */
static void path_chart(text *t, const report *r, const char *title, double (*get)(const rfm_step *), text *flat) {
    size_t n = r->summary.steps, i;
    double *y = allocate(n, sizeof *y, "the path");
    int same = 1;
    char room[NUMBER_ROOM];
    for (i = 0; i < n; i++) {
        y[i] = get(r->path + i);
        same &= fabs(y[i] - y[0]) <= 1e-9 * fabs(y[0]);
    }
    if (same)
        text_add(flat, " %s: %s throughout.", title, html_number(room, y[0]));
    else {
        text_add(t, "<div><h3>%s</h3>\n", title);
        chart_line(t, title, y, n, r->summary.iterations);
        text_add(t, "</div>\n");
    }
    free(y);
}

static double step_score(const rfm_step *s) { return (double)s->score; }
static double step_rank(const rfm_step *s) { return (double)s->rank; }
static double step_bandwidth(const rfm_step *s) { return (double)s->bandwidth; }

/* What was decided about the table. */
static void decisions(text *t, const report *r) {
    const model_record *record = &r->any.record;
    size_t i, made = 0;
    text how = {NULL, 0, 0};
    for (i = 0; record->recipe != NULL && i < r->model.d; i++) {
        how.size = 0;
        recipe_show(&how, record->recipe, record->knots, i);
        if (how.size == 0) continue;
        if (made++ == 0) text_add(t, "<h3>Inputs that are made of columns</h3>\n<dl>");
        text_bytes(&how, "", 1);
        text_add(t, "<dt>");
        html_text(t, r->names[i]);
        text_add(t, "</dt><dd>");
        html_text(t, how.at);
        text_add(t, "</dd>");
    }
    if (made > 0) text_add(t, "</dl>\n");
    for (i = 0; i < record->left_count; i++) {
        text_add(t, "%s", i == 0 ? "<p class=\"small\">Columns left out: " : "; ");
        html_text(t, rfm_name(record->left, 2 * i));
        text_add(t, " (");
        html_text(t, rfm_name(record->left, 2 * i + 1));
        text_add(t, ")");
    }
    if (record->left_count > 0) text_add(t, ".</p>\n");
    if (record->note_count > 0)
        text_add(t, "<h3>Decided about the table and the training</h3>\n<ul class=\"small\">\n");
    for (i = 0; i < record->note_count; i++) {
        text_add(t, "<li>");
        html_text(t, rfm_name(record->notes, i));
        text_add(t, "</li>\n");
    }
    if (record->note_count > 0) text_add(t, "</ul>\n");
    free(how.at);
}

static void section_training(text *t, const report *r) {
    char room[NUMBER_ROOM];
    size_t i, n = r->summary.steps;
    int scored = 0;
    const rfm_options *known = r->any.record.has_options ? &r->any.record.options : NULL;
    html_section(t, "training", "What was trained");
    text_add(t,
             "<p class=\"say\">A kernel machine: the closer two rows, the more one says about the other. %s%s.</p>\n"
             "<div class=\"two\"><dl>",
             on_sphere(&r->model) ? "What counts is the angle between them in the metric M, "
                                  : "Distance is |x \xe2\x88\x92 z|<sub>M</sub>, ",
             r->metric_word[0] == 'i' ? "here with the identity for M"
                                      : "and M was learned from the gradients of the predictions");
    html_row(t, "Task");
    text_add(t, r->classes > 0 ? "classification, %zu classes</dd>" : "regression, %zu output%s</dd>",
             r->classes > 0 ? r->classes : r->model.c, plural(r->model.c));
    html_row(t, "Rows trained on");
    text_add(t, "%s</dd>", r->summary.rows > 0 ? html_count(room, r->summary.rows) : "not recorded");
    html_row(t, "Features");
    text_add(t, "%zu</dd>", r->model.d);
    html_row(t, "Kernel");
    if (integers_in(r) && !is_tiny(&r->any) && known != NULL)
        text_add(t, "%s, as a table", rfm_kernels[known->kernel].name);
    else
        text_add(t, "%s", integers_in(r) && !is_tiny(&r->any) ? "a table" : any_kernel(&r->any));
    if (!integers_in(r) && kernel_has_exponent(r->model.kernel))
        text_add(t, ", exponent %s", html_number(room, (double)r->model.exponent));
    if (!integers_in(r) && kernel_has_depth(r->model.kernel))
        text_add(t, ", depth %s", html_number(room, (double)r->model.exponent));
    text_add(t, "%s</dd>", r->model.radius > 0 ? ", unit rows" : "");
    html_row(t, "Metric M");
    text_add(t, "%s</dd></dl><dl>", metric_form(r));
    html_row(t, "Bandwidth L");
    if (kernel_has_depth(r->model.kernel))
        text_add(t, "none</dd>");
    else if (r->summary.bandwidth > 0)
        text_add(t, "%s</dd>", html_number(room, (double)r->summary.bandwidth));
    else if (known != NULL)
        text_add(t, "%s%s</dd>", html_number(room, (double)known->bandwidth),
                 known->bandwidth_rule == RFM_BANDWIDTH_MEDIAN ? " times the median distance" : "");
    else
        text_add(t, "not recorded</dd>");
    html_row(t, "Ridge");
    text_add(t, "%s</dd>",
             r->model.summary != NULL ? html_number(room, (double)r->summary.ridge)
             : known != NULL          ? html_number(room, (double)known->ridge)
                                      : "not recorded");
    html_row(t, "Iterations T");
    if (r->model.summary != NULL || known != NULL)
        text_add(t, "%zu</dd>", r->model.summary != NULL ? (size_t)r->summary.iterations : known->iterations);
    else
        text_add(t, "not recorded</dd>");
    html_row(t, "Inputs standardised");
    text_add(t, "%s</dd>",
             r->summary.x_scale != NULL || r->any.record.scales != NULL ? "yes, inside the model"
             : r->model.summary == NULL && known == NULL                ? "not recorded"
                                                                        : "no");
    if (r->summary.validation != 0) {
        html_row(t, r->classes > 0 ? "Accuracy in validation" : "Score in validation");
        text_add(t, "%s</dd>",
                 r->classes > 0 ? html_percent(room, (double)r->summary.validation)
                                : html_number(room, (double)r->summary.validation));
    }
    html_row(t, "Numbers");
    text_add(t, "%s</dd>", type_word(r->any.type));
    html_row(t, "Size");
    text_add(t, "%s bytes</dd></dl></div>\n", html_count(room, (double)r->model_bytes));
    decisions(t, r);
    for (i = 0; i < n; i++) scored |= r->path[i].score != 0;
    if (n > 1) {
        text charts = {NULL, 0, 0}, flat = {NULL, 0, 0};
        if (scored) path_chart(&charts, r, "Score", step_score, &flat);
        path_chart(&charts, r, "Rank of M", step_rank, &flat);
        path_chart(&charts, r, "Bandwidth", step_bandwidth, &flat);
        text_add(t, "<h3 style=\"margin-top:26px\">Over the iterations</h3>\n<p class=\"small\">%zu updates of M.%s",
                 n - 1, charts.size > 0 ? " The filled point became the model." : "");
        if (flat.size > 0) text_bytes(t, flat.at, flat.size);
        text_add(t, "</p>\n");
        if (charts.size > 0) {
            text_add(t, "<div class=\"three\">\n");
            text_bytes(t, charts.at, charts.size);
            text_add(t, "</div>\n");
        }
        free(charts.at);
        free(flat.at);
    }
    text_add(t, "</section>\n");
}

/* ---- features ------------------------------------------------------------------------------- */

static void bar(text *t, const char *name, double width, double share) {
    char room[NUMBER_ROOM];
    text_add(t, "<li>");
    html_name(t, name, 40);
    text_add(t, "<span class=\"bar\"><i style=\"width:%.1f%%\"></i></span><span class=\"n\">%s</span></li>\n",
             100 * width, html_percent(room, share));
}

static void section_features(text *t, const report *r) {
    size_t d = r->model.d, shown = d < MOST_FEATURES + 1 ? d : MOST_FEATURES, i, most = 0;
    double sum = 0, largest = r->share[r->order[0]], rest = 0;
    int identity = strcmp(r->metric_word, "identity") == 0;
    char room[NUMBER_ROOM];
    html_section(t, "features", "Which features count");
    if (identity) {
        text_add(t,
                 "<p class=\"say\">The metric is the identity: no weights were learned, all %zu features count "
                 "alike.</p>\n</section>\n",
                 d);
        return;
    }
    while (most < d && sum < 0.9) sum += r->share[r->order[most++]];
    text_add(
        t, "<p class=\"say\">The diagonal of M%s, as shares of its trace. %zu of %zu feature%s carr%s %s of it.</p>\n",
        is_tiny(&r->any)             ? r->any.record.scales != NULL ? " for standardised features" : ""
        : integers_in(r)             ? ", each feature over the range that the model was calibrated for"
        : r->summary.x_scale != NULL ? " for standardised features"
                                     : "",
        most, d, plural(d), most == 1 ? "ies" : "y", html_percent(room, sum));
    if (r->width > 0) {
        double *v = allocate(d, sizeof *v, "a picture");
        for (i = 0; i < d; i++) v[i] = largest > 0 ? r->share[i] / largest : 0;
        text_add(t, "<div class=\"two\"><figure>");
        html_image(t, v, r->width, r->height, "pixels", "The diagonal of M as an image");
        text_add(t,
                 "<figcaption>The diagonal of M as an image of %zu \xc3\x97 %zu; the strongest pixel has "
                 "%s.</figcaption></figure>\n<div>",
                 r->width, r->height, html_percent(room, largest));
        free(v);
    }
    text_add(t, "<ol class=\"bars\">\n");
    for (i = 0; i < shown; i++)
        bar(t, r->names[r->order[i]], largest > 0 ? r->share[r->order[i]] / largest : 0, r->share[r->order[i]]);
    for (i = shown; i < d; i++) rest += r->share[r->order[i]];
    if (shown < d)
        text_add(t,
                 "<li class=\"rest\"><span>%zu others together</span><span></span><span class=\"n\">%s</span></li>\n",
                 d - shown, html_percent(room, rest));
    text_add(t, "</ol>%s\n</section>\n", r->width > 0 ? "</div></div>" : "");
}

/* ---- directions and M ----------------------------------------------------------------------- */

static void components(text *t, const report *r, const rfm_real *v) {
    size_t d = r->model.d, shown = d < MOST_COMPONENTS ? d : MOST_COMPONENTS, done[MOST_COMPONENTS], i, j, k;
    double most = 0;
    for (j = 0; j < d; j++) most = fmax(most, fabs((double)v[j]));
    text_add(t, "<ol class=\"bars\">\n");
    for (i = 0; i < shown; i++) {
        size_t best = d;
        double x, width;
        for (j = 0; j < d; j++) {
            for (k = 0; k < i && done[k] != j; k++) continue;
            if (k == i && (best == d || v[j] * v[j] > v[best] * v[best])) best = j;
        }
        done[i] = best, x = (double)v[best], width = most > 0 ? 50 * fabs(x) / most : 0;
        text_add(t, "<li>");
        html_name(t, r->names[best], 32);
        text_add(t,
                 "<span class=\"bar mid\"><i%s style=\"left:%.1f%%;width:%.1f%%\"></i></span><span "
                 "class=\"n\">%s%.2f</span></li>\n",
                 x < 0 ? " class=\"neg\"" : "", x < 0 ? 50 - width : 50, width, x < 0 ? "\xe2\x88\x92" : "", fabs(x));
    }
    text_add(t, "</ol>\n");
}

static void section_directions(text *t, const report *r) {
    size_t d = r->model.d, shown = 0, i, j, enough = 0;
    double sum = 0;
    char room[NUMBER_ROOM];
    while (shown < r->directions && shown < MOST_SHOWN_DIRECTIONS && (shown == 0 || r->direction_share[shown] >= 0.005))
        shown++;
    for (i = 0; i < r->directions && sum < 0.9; i++) sum += r->direction_share[i], enough++;
    html_section(t, "directions", "Which directions count");
    text_add(t, "<p class=\"say\">The eigenvectors of M: along them the predictions change most.");
    if (sum >= 0.9)
        text_add(t, " %zu of %zu carr%s %s of the trace;", enough, d, enough == 1 ? "ies" : "y",
                 html_percent(room, sum));
    text_add(t, " M acts like %.1f equal directions (participation ratio).</p>\n", r->dimension);
    text_add(t, "<div class=\"two\"><figure>");
    chart_shares(t, "Share of each eigenvector of M", r->direction_share, r->directions < 20 ? r->directions : 20);
    text_add(t, "<figcaption>Share of each direction, and their sum (dashed).</figcaption></figure>\n");
    if (r->width > 0) {
        double *v = allocate(d, sizeof *v, "a picture");
        text_add(t, "<div class=\"gallery\">\n");
        for (i = 0; i < shown; i++) {
            double most = 0;
            for (j = 0; j < d; j++) most = fmax(most, fabs((double)r->direction[i * d + j]));
            for (j = 0; j < d && most > 0; j++) v[j] = (double)r->direction[i * d + j] / most;
            text_add(t, "<figure>");
            html_image(t, v, r->width, r->height, "pixels", "An eigenvector of M as an image");
            text_add(t, "<figcaption>%zu \xc2\xb7 %s</figcaption></figure>\n", i + 1,
                     html_percent(room, r->direction_share[i]));
        }
        text_add(t, "</div></div>\n<div class=\"scale\">negative <i></i> positive</div>\n");
        free(v);
    } else {
        for (i = 0; i < shown; i++) {
            text_add(t, "<div><h3>Direction %zu \xc2\xb7 %s</h3>\n", i + 1, html_percent(room, r->direction_share[i]));
            components(t, r, r->direction + i * d);
            text_add(t, "</div>\n");
        }
        text_add(t, "</div>\n");
    }
    text_add(t, "</section>\n");
}

static void section_metric(text *t, const report *r) {
    size_t d = r->model.d, side = d < MOST_PIXELS ? d : MOST_PIXELS, i, j;
    double *v = allocate(side, side * sizeof *v, "a picture"), most = 0;
    int named = d <= MOST_NAMED_MATRIX;
    rfm_real *rows = allocate(named ? d : 1, d * sizeof *rows, "the metric");
    html_section(t, "metric", "The metric M");
    /* Where a pixel stands for several entries, the one furthest from zero. */
    for (i = 0; i < d; i++) {
        rfm_real *row = rows + (named ? i * d : 0);
        model_metric_row(&r->model, i, row);
        for (j = 0; j < d; j++) {
            double *to = v + i * side / d * side + j * side / d;
            if (fabs((double)row[j]) > fabs(*to)) *to = (double)row[j];
        }
    }
    for (i = 0; i < side * side; i++) most = fmax(most, fabs(v[i]));
    for (i = 0; i < side * side; i++) v[i] = v[i] < 0 ? -sqrt(-v[i] / most) : sqrt(v[i] / most);
    text_add(t, "<p class=\"say\">Entry (i, j) says how much features i and j count together: blue, a move of both in "
                "one direction counts more; orange, it counts "
                "less. Colour grows with the square root.</p>\n");
    if (named)
        chart_matrix(t, "M, entry by entry", v, rows, d, r->names);
    else {
        html_image(t, v, side, side, "matrix", "M as a picture, features in the order of the data");
        text_add(t,
                 "<p class=\"small\" style=\"margin-top:10px\">%zu \xc3\x97 %zu entries, features in the order of the "
                 "data%s.</p>\n",
                 d, d, side < d ? "; a pixel shows the strongest of several" : "");
    }
    text_add(t, "<div class=\"scale\">negative <i></i> positive</div>\n</section>\n");
    free(rows);
    free(v);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* How wrong a row is: the lead of the predicted class over the true one, or the error. */
static double wrongness(const report *r, size_t i) {
    size_t c = r->model.c, k;
    const rfm_real *y = r->outputs + i * c;
    double sum = 0;
    if (r->classes > 0) {
        if (r->predicted[i] == r->rows.labels[i]) return 0;
        if (r->rows.labels[i] == CLASS_UNKNOWN) return 1e30;
        return c == 1 ? fabs((double)y[0]) : (double)y[r->predicted[i]] - (double)y[r->rows.labels[i]];
    }
    for (k = 0; k < c; k++) sum += fabs((double)r->rows.y[i * c + k] - (double)y[k]);
    return sum;
}

static const double *wrong_by;
static int by_wrongness(const void *a, const void *b) {
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    return wrong_by[i] != wrong_by[j] ? (wrong_by[i] < wrong_by[j] ? 1 : -1) : i > j ? 1 : -1;
}

static const char *true_label(const report *r, size_t i) {
    return r->rows.labels[i] == CLASS_UNKNOWN ? "not a class of the model" : r->labels[r->rows.labels[i]];
}

static void row_picture(text *t, const report *r, size_t i) {
    size_t d = r->model.d, j;
    const rfm_real *x = r->rows.x + i * d;
    double *v = allocate(d, sizeof *v, "a picture"), low = (double)x[0], high = (double)x[0];
    for (j = 0; j < d; j++) low = fmin(low, (double)x[j]), high = fmax(high, (double)x[j]);
    for (j = 0; j < d && high > low; j++) v[j] = ((double)x[j] - low) / (high - low);
    html_image(t, v, r->width, r->height, "pixels", "The row as an image");
    free(v);
}

static void row_gallery(text *t, const report *r, const size_t *order, size_t shown) {
    size_t k;
    char room[NUMBER_ROOM];
    text_add(t, "<div class=\"gallery\">\n");
    for (k = 0; k < shown; k++) {
        size_t i = order[k];
        text_add(t, "<figure>");
        row_picture(t, r, i);
        text_add(t, "<figcaption>");
        html_name(t, true_label(r, i), 24);
        text_add(t, " taken for ");
        html_name(t, r->labels[r->predicted[i]], 24);
        text_add(t, "<br>line %zu", r->lines[i]);
        if (r->confidence != NULL) text_add(t, ", confidence %s", html_percent(room, r->confidence[i]));
        text_add(t, "</figcaption></figure>\n");
    }
    text_add(t, "</div>\n");
}

/* Decimals that show three digits of a typical error. */
static int error_places(double error) { return error > 0 ? (int)fmax(0, fmin(12, 2 - floor(log10(error)))) : 3; }

static void row_table(text *t, const report *r, const size_t *order, size_t shown) {
    size_t k, c = r->model.c;
    char room[NUMBER_ROOM];
    int places = error_places(sqrt(r->score.mse));
    text_add(t,
             "<div class=\"wide\"><table class=\"full\"><thead><tr><th class=\"l\" scope=\"col\">Line</th><th "
             "scope=\"col\">True</th><th scope=\"col\">Predicted</th>%s</tr></thead><tbody>\n",
             r->classes == 0         ? "<th scope=\"col\">Off by</th>"
             : r->confidence != NULL ? "<th scope=\"col\">Confidence</th>"
                                     : "");
    for (k = 0; k < shown; k++) {
        size_t i = order[k];
        text_add(t, "<tr><th scope=\"row\">%zu</th><td>", r->lines[i]);
        if (r->classes > 0) {
            html_name(t, true_label(r, i), 32);
            text_add(t, "</td><td>");
            html_name(t, r->labels[r->predicted[i]], 32);
            text_add(t, "</td>");
            if (r->confidence != NULL) text_add(t, "<td>%s</td>", html_percent(room, r->confidence[i]));
        } else {
            size_t q, worst = 0;
            for (q = 1; q < c; q++)
                if (fabs((double)r->rows.y[i * c + q] - (double)r->outputs[i * c + q]) >
                    fabs((double)r->rows.y[i * c + worst] - (double)r->outputs[i * c + worst]))
                    worst = q;
            if (c > 1) {
                html_name(t, r->targets[worst], 24);
                text_add(t, " ");
            }
            text_add(t, "%.*f</td><td>%.*f</td><td>%+.*f</td>", places,
                     offset_of(r, worst) + (double)r->rows.y[i * c + worst], places,
                     offset_of(r, worst) + (double)r->outputs[i * c + worst], places,
                     (double)r->outputs[i * c + worst] - (double)r->rows.y[i * c + worst]);
        }
        text_add(t, "</tr>\n");
    }
    text_add(t, "</tbody></table></div>\n");
}

static void section_rows(text *t, const report *r) {
    size_t n = r->rows.rows, *order = allocate(n, sizeof *order, "an order"), i, wrong = 0, shown;
    double *by = allocate(n, sizeof *by, "errors");
    for (i = 0; i < n; i++) by[i] = wrongness(r, i), order[i] = i;
    for (i = 0; i < n; i++) wrong += r->classes > 0 ? r->predicted[i] != r->rows.labels[i] : by[i] > 0;
    wrong_by = by;
    qsort(order, n, sizeof *order, by_wrongness);
    shown = wrong < MOST_MISTAKES ? wrong : MOST_MISTAKES;
    html_section(t, "rows", "Rows to look at");
    if (shown == 0)
        text_add(t, "<p class=\"say\">Every one of these rows is predicted right.</p>\n");
    else if (r->classes > 0)
        text_add(t,
                 "<p class=\"say\">%zu row%s %s wrong; %s, the surest mistake first. Mislabelled rows are often found "
                 "here.</p>\n",
                 wrong, plural(wrong), wrong == 1 ? "is" : "are",
                 shown < wrong ? "some of them"
                 : wrong == 1  ? "here it is"
                               : "all of them");
    else
        text_add(t, "<p class=\"say\">The largest errors first.</p>\n");
    if (shown > 0 && r->classes > 0 && r->width > 0)
        row_gallery(t, r, order, shown);
    else if (shown > 0)
        row_table(t, r, order, shown);
    text_add(t, "</section>\n");
    free(order);
    free(by);
}

/* ---- board ---------------------------------------------------------------------------------- */

/* Code and instructions of boards/SIZES.md, -Os with the portable loop: those of a multiply-add, and of what else a
 * centre takes. 0: not measured. A board that is not emulated has the figures of one with the same core. */
static const struct {
    const char *id, *name, *core;
    double flash, ram; /* KiB */
    double code, code_i;
    struct {
        double multiply_add, center;
    } numbers, i8, i16;
} boards[] = {
    {"stm32vldiscovery",
     "STM32VLDISCOVERY",
     "Cortex-M3",
     BOARD_stm32vldiscovery_MEMORY,
     BOARD_stm32vldiscovery_CODE,
     BOARD_stm32vldiscovery_CODE_I,
     {BOARD_stm32vldiscovery_INSTRUCTIONS},
     {BOARD_stm32vldiscovery_INSTRUCTIONS_I8},
     {BOARD_stm32vldiscovery_INSTRUCTIONS_I16}},
    {"microbit",
     "BBC micro:bit",
     "Cortex-M0",
     BOARD_microbit_MEMORY,
     BOARD_microbit_CODE,
     BOARD_microbit_CODE_I,
     {BOARD_microbit_INSTRUCTIONS},
     {BOARD_microbit_INSTRUCTIONS_I8},
     {BOARD_microbit_INSTRUCTIONS_I16}},
    {"netduinoplus2",
     "Netduino Plus 2",
     "Cortex-M4F",
     BOARD_netduinoplus2_MEMORY,
     BOARD_netduinoplus2_CODE,
     BOARD_netduinoplus2_CODE_I,
     {BOARD_netduinoplus2_INSTRUCTIONS},
     {BOARD_netduinoplus2_INSTRUCTIONS_I8},
     {BOARD_netduinoplus2_INSTRUCTIONS_I16}},
    {"nano33ble",
     "Arduino Nano 33 BLE",
     "Cortex-M4F",
     1024,
     256,
     BOARD_netduinoplus2_CODE,
     BOARD_netduinoplus2_CODE_I,
     {BOARD_netduinoplus2_INSTRUCTIONS},
     {BOARD_netduinoplus2_INSTRUCTIONS_I8},
     {BOARD_netduinoplus2_INSTRUCTIONS_I16}},
    {"pico",
     "Raspberry Pi Pico",
     "Cortex-M0+",
     2048,
     264,
     BOARD_microbit_CODE,
     BOARD_microbit_CODE_I,
     {0, 0},
     {0, 0},
     {0, 0}},
};

static void legend_part(text *t, const char *key, const char *what, double bytes) {
    char room[NUMBER_ROOM];
    text_add(t, "<dt><span class=\"key %s\"></span>%s</dt><dd>%s</dd>", key, what, html_bytes(room, bytes));
}

static void section_board(text *t, const report *r) {
    double b = is_tiny(&r->any) ? 1 : (double)r->any.type, n = (double)r->model.n, d = (double)r->model.d,
           c = (double)r->model.c, rank = (double)r->model.r;
    int integers = integers_in(r), projects = r->model.metric == RFM_FULL;
    double centers = n * rank * b, alpha = is_tiny(&r->any) && r->any.tiny.counts != NULL ? n : n * c * b,
           p = (projects   ? rank * d
                : integers ? 0
                           : d) *
               b,
           total = (double)r->model_bytes;
    double rest = total - centers - alpha - p, ram = ram_bytes(r), work = (projects ? rank * d : d) + n * (rank + c);
    char room[NUMBER_ROOM], more[NUMBER_ROOM];
    size_t i;
    html_section(t, "board", "On a board");
    text_add(t,
             "<p class=\"say\">The model stays in flash and is used where it lies. RAM is needed for the inputs, "
             "the scratch and the scores of one prediction, for the struct of the model, and on the stack.</p>\n<div "
             "class=\"two\"><div>\n"
             "<h3>%s of flash</h3><div class=\"stack\" aria-hidden=\"true\"><i class=\"k1\" style=\"flex:%.4f\"></i><i "
             "class=\"k2\" style=\"flex:%.4f\"></i>"
             "<i class=\"k3\" style=\"flex:%.4f\"></i><i class=\"k4\" style=\"flex:%.4f\"></i></div><dl>",
             html_bytes(room, total), centers / total, alpha / total, p / total, rest / total);
    legend_part(t, "k1", "Centres", centers);
    legend_part(t, "k2", "Coefficients", alpha);
    legend_part(t, "k3", "Projection", p);
    legend_part(t, "k4", "Names, summary, rest", rest);
    text_add(t, "</dl></div>\n<div><h3>A prediction</h3><dl>");
    html_row(t, "Inputs, scratch and scores");
    text_add(t, "%s</dd>", html_bytes(room, array_bytes(r)));
    html_row(t, is_tiny(&r->any) ? "rfm_tiny" : integers ? "rfm_model_i" : "rfm_model");
    text_add(t, "%s</dd>", html_bytes(room, ram - array_bytes(r)));
    html_row(t, "Beside that");
    text_add(t, STACK "</dd>");
    html_row(t, "Multiply-adds");
    text_add(t, "%s</dd>", html_count(room, work));
    html_row(t, integers && !is_tiny(&r->any) ? "Look-ups in a table" : "Exponentials");
    text_add(t, "%s</dd>", html_count(room, n));
    if (!integers && r->model.kernel != RFM_GAUSSIAN) {
        html_row(t, "Square roots or powers");
        text_add(t, "%s</dd>", html_count(room, n));
    }
    text_add(t,
             "</dl></div></div>\n<div class=\"wide\" style=\"margin-top:22px\"><table class=\"full "
             "boards\"><thead><tr><th class=\"l\" scope=\"col\">Board</th><th class=\"l opt\" scope=\"col\">Core</th>"
             "<th scope=\"col\">Fits</th><th scope=\"col\">Flash</th><th scope=\"col\">RAM</th><th "
             "scope=\"col\">Instructions</th></tr></thead><tbody>\n");
    for (i = 0; i < sizeof boards / sizeof *boards; i++) {
        double flash = (total + (integers ? boards[i].code_i : boards[i].code)) / (1024 * boards[i].flash),
               of_ram = ram / (1024 * boards[i].ram);
        double each = r->any.type == RFM_I8    ? boards[i].i8.multiply_add
                      : r->any.type == RFM_I16 ? boards[i].i16.multiply_add
                                               : boards[i].numbers.multiply_add,
               center = r->any.type == RFM_I8    ? boards[i].i8.center
                        : r->any.type == RFM_I16 ? boards[i].i16.center
                                                 : boards[i].numbers.center;
        double count = each * work + center * n, digits = count > 0 ? pow(10, floor(log10(count)) - 1) : 1;
        int fits = flash < 0.9 && of_ram < 0.75;
        text_add(t,
                 "<tr><th scope=\"row\">%s</th><td class=\"l opt\">%s</td><td class=\"%s\">%s</td><td>%s of %.0f "
                 "KiB</td><td>%s of %.0f KiB</td>",
                 boards[i].name, boards[i].core, fits ? "yes" : "no", fits ? "\xe2\x9c\x93 yes" : "\xe2\x9c\x97 no",
                 html_percent(room, flash), boards[i].flash, html_percent(more, of_ram), boards[i].ram);
        if (fits && count > 0 && r->any.type != RFM_F64 && !is_tiny(&r->any))
            text_add(t, "<td><data class=\"%s\" value=\"%.0f\">about\xc2\xa0%s</data></td></tr>\n", boards[i].id, count,
                     html_count(room, digits * floor(count / digits + 0.5)));
        else
            text_add(t, "<td>\xe2\x80\x93</td></tr>\n");
    }
    text_add(t,
             "</tbody></table></div>\n<p class=\"small\" style=\"margin-top:10px\">Flash holds the model and the code "
             "of a prediction; \xe2\x80\x9c"
             "fits\xe2\x80\x9d leaves a tenth of "
             "it and a quarter of the RAM to the rest of the program. Instructions of one prediction are estimated "
             "from measurements of the portable code; loops made for "
             "a core need fewer.%s</p>\n</section>\n",
             rest > total / 3 ? "" : " Fewer centres, a lower rank or fewer features make a model smaller.");
}

/* ---- use ------------------------------------------------------------------------------------ */

static void use_numbers(text *code, const report *r) {
    size_t d = r->model.d, c = r->model.c;
    text_add(code, "#include \"model.h\"\n\n");
    text_add(code, "static rfm_model m;\nstatic rfm_real scratch[MODEL_SCRATCH]; /* %zu numbers, %zu bytes */\n",
             RFM_PREDICT_SCRATCH(d, r->model.r), RFM_PREDICT_SCRATCH(d, r->model.r) * sizeof(rfm_real));
    text_add(code, "static rfm_real scores[MODEL_OUTPUTS];  /* %zu number%s, %zu bytes */\n\n", c, plural(c),
             c * sizeof(rfm_real));
    text_add(code,
             "/* Once, at the start: checks the %zu bytes of the model, copies none of them. */\nint start(void) {\n"
             "    return rfm_model_open(model, MODEL_BYTES, &m); /* RFM_OK is 0 */\n}\n\n",
             r->model_bytes);
    text_add(code, "/* x: %zu raw value%s, in the order of the inputs in model.h. */\n", d, plural(d));
    if (r->classes > 0)
        text_add(code, "const char *predict(const rfm_real x[MODEL_INPUTS]) {\n    if (rfm_predict_one(&m, x, scores, "
                       "scratch, NULL, NULL) != RFM_OK) return NULL;\n"
                       "    return model_class_names[rfm_class(&m, scores, NULL)];\n}\n");
    else
        text_add(code,
                 "const rfm_real *predict(const rfm_real x[MODEL_INPUTS]) {\n    if (rfm_predict_one(&m, x, scores, "
                 "scratch, NULL, NULL) != RFM_OK) return NULL;\n"
                 "    return scores; /* %zu value%s */\n}\n",
                 c, plural(c));
}

/* Of integers: what a type of models is called in C. */
typedef struct {
    const char *model, *scratch, *open, *predict, *classify; /* predict: with what comes behind the scratch */
    const char *inputs;                                      /* what they are, for a comment */
} integer_names;

static void use_integers(text *code, const report *r) {
    static const integer_names names[] = {
        {"rfm_model_i", "int16_t", "rfm_model_open_i", "rfm_predict_i(&m, x, scores, scratch, NULL, NULL)",
         "rfm_class_i", "times 2^m.inputs[i].exponent, rounded, in the order of the inputs in model.h."},
        {"rfm_tiny", "int8_t", "rfm_tiny_open", "rfm_tiny_predict(&m, x, scores, scratch, NULL)", "rfm_tiny_class",
         "as integers, in the order of the inputs in model.h, which has their units."}};
    const integer_names *n = &names[is_tiny(&r->any)];
    size_t d = r->model.d, c = r->model.c, scratch = RFM_PREDICT_I_SCRATCH(d, r->model.r);
    text_add(code, "#include \"model.h\"\n\nstatic %s m;\nstatic %s scratch[MODEL_SCRATCH]; /* ", n->model, n->scratch);
    if (is_tiny(&r->any))
        text_add(code, "%zu bytes */\n", r->model.r);
    else
        text_add(code, "%zu numbers, %zu bytes */\n", scratch, scratch * sizeof(int16_t));
    text_add(code, "static int32_t scores[MODEL_OUTPUTS]; /* %zu number%s, %zu bytes */\n\n", c, plural(c),
             c * sizeof(int32_t));
    text_add(code,
             "/* Once, at the start: checks the %zu bytes of the model, copies none of them. */\nint start(void) {\n"
             "    return %s(model, MODEL_BYTES, &m); /* RFM_OK is 0 */\n}\n\n",
             r->model_bytes, n->open);
    text_add(code, "/* x: %zu value%s %s */\n", d, plural(d), n->inputs);
    text_add(code, "const %s *predict(const int16_t x[MODEL_INPUTS]) {\n    if (%s != RFM_OK) return NULL;\n",
             r->classes > 0 ? "char" : "int32_t", n->predict);
    if (r->classes > 0)
        text_add(code, "    return model_class_names[%s(&m, scores)];\n}\n", n->classify);
    else
        text_add(code, "    return scores; /* value k is scores[k] * m.units[k] */\n}\n");
}

static void section_use(text *t, const report *r) {
    text code = {NULL, 0, 0};
    if (integers_in(r))
        use_integers(&code, r);
    else
        use_numbers(&code, r);
    text_bytes(&code, "", 1);
    html_section(t, "use", "In C");
    text_add(t,
             "<p class=\"say\">Compile <code>rfm.c</code>%s with <code>-DRFM_NO_TRAIN</code> beside this. It needs no "
             "heap and no operating system%s. <code>rfm export <span class=\"name\">",
             is_tiny(&r->any) ? " and <code>rfm_tiny.c</code>"
             : integers_in(r) ? " and <code>rfm_small.c</code>"
                              : "",
             integers_in(r) ? ", and makes no floating-point operation" : "");
    html_text(t, r->model_file);
    text_add(t,
             "</span> -o model.h --name model</code> writes the header.</p>\n<pre tabindex=\"0\"><code id=\"code\">");
    html_text_lines(t, code.at);
    text_add(t, "</code></pre>\n</section>\n");
    free(code.at);
}

void report_page(text *t, const report *r) {
    html_page_open(t, r->model_file);
    top(t, r);
    text_add(t, "<main>\n");
    tiles(t, r);
    section_score(t, r);
    section_training(t, r);
    section_features(t, r);
    if (r->directions > 0) {
        section_directions(t, r);
        section_metric(t, r);
    }
    section_rows(t, r);
    section_board(t, r);
    section_use(t, r);
    text_add(t,
             "</main>\n<footer>Made by rfm %d.%d.%d report. This file needs nothing else: no network, no "
             "scripts.</footer>\n",
             RFM_VERSION_MAJOR, RFM_VERSION_MINOR, RFM_VERSION_PATCH);
    html_page_close(t);
}

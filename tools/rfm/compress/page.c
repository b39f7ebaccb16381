#include "compress.h"
#include "rfm/report/html.h"

#include <math.h>
#include <stdlib.h>

static void tile(text *t, const char *what, const char *big, const char *small) {
    text_add(t, "<div class=\"tile\"><p class=\"what\">%s</p><p class=\"big\">%s</p><p class=\"small\">%s</p></div>\n",
             what, big, small);
}

static void score_word(char room[NUMBER_ROOM], int task, double value) {
    if (task == RFM_CLASSIFY)
        snprintf(room, NUMBER_ROOM, "%.2f\xc2\xa0%%", 100 * value);
    else
        (void)html_score(room, value);
}

static void tiles(text *t, const compress_page_data *p) {
    const candidate *k = &p->result->chosen;
    char big[NUMBER_ROOM], small[3 * NUMBER_ROOM], other[NUMBER_ROOM];
    text_add(t, "<div class=\"tiles\">\n");
    (void)html_bytes(other, (double)p->source_bytes);
    snprintf(small, sizeof small, "instead of %s: %.0f times smaller", other,
             (double)p->source_bytes / (double)p->bytes);
    tile(t, "Model", html_bytes(big, (double)p->bytes), small);
    score_word(big, p->task, k->score), score_word(other, p->task, p->result->full_score);
    snprintf(small, sizeof small, "%s at full size", other);
    tile(t, p->task == RFM_CLASSIFY ? "Accuracy, held-out training rows" : "r2, held-out training rows", big, small);
    if (p->rows_test > 0) {
        score_word(big, p->task, p->test), score_word(other, p->task, p->test_full);
        snprintf(small, sizeof small, "%s at full size; %zu rows", other, p->rows_test);
        tile(t, p->task == RFM_CLASSIFY ? "Accuracy, test rows" : "r2, test rows", big, small);
    }
    snprintf(big, sizeof big, "%s", type_word(k->type));
    snprintf(small, sizeof small, "%zu inputs, rank %zu, %zu centres", k->features, k->rank, p->centers);
    tile(t, "Shape", big, small);
    text_add(t, "</div>\n");
}

static void curve(text *t, const compress_page_data *p) {
    const tradeoff_result *r = p->result;
    double *x = allocate(r->curve_count, sizeof *x, "a curve"), *y = allocate(r->curve_count, sizeof *y, "a curve");
    size_t i;
    for (i = 0; i < r->curve_count; i++)
        x[i] = (double)r->curve[i].bytes, y[i] = p->task == RFM_CLASSIFY ? 100 * r->curve[i].score : r->curve[i].score;
    chart_curve(t, "Bytes of the model against its score on held-out training rows", "bytes of the model",
                p->task == RFM_CLASSIFY ? "accuracy, %" : "r2", x, y, r->curve_count, r->curve_chosen,
                (p->task == RFM_CLASSIFY ? 100 : 1) * r->full_score);
    free(x);
    free(y);
}

static void table(text *t, const compress_page_data *p) {
    const tradeoff_result *r = p->result;
    char room[NUMBER_ROOM];
    size_t i;
    text_add(t,
             "<div class=\"wide\"><table class=\"full\"><thead><tr><th class=\"l\" scope=\"col\">Bytes</th><th "
             "scope=\"col\">Type</th><th scope=\"col\">Inputs</th>"
             "<th scope=\"col\">Rank</th><th scope=\"col\">Centres</th><th scope=\"col\">%s</th><th "
             "scope=\"col\"></th></tr></thead>\n<tbody>\n",
             p->task == RFM_CLASSIFY ? "Accuracy" : "r2");
    for (i = 0; i < r->curve_count; i++) {
        const candidate *k = &r->curve[i];
        text_add(t, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%zu</td><td>%zu</td><td>%zu</td>",
                 html_count(room, (double)k->bytes), type_word(k->type), k->features, k->rank, k->centers);
        score_word(room, p->task, k->score);
        text_add(t, "<td>%s</td><td>%s</td></tr>\n", room, i == r->curve_chosen ? "taken" : "");
    }
    text_add(t, "</tbody></table></div>\n");
}

void compress_page(text *t, const compress_page_data *p) {
    const tradeoff_result *r = p->result;
    char room[NUMBER_ROOM];
    html_page_open(t, p->out_file);
    text_add(t, "<header><p class=\"over\">rfm compress</p><h1>");
    html_name(t, p->out_file, 80);
    text_add(t, "</h1>\n<p class=\"lead\">A smaller model made of ");
    html_name(t, p->model_file, 60);
    text_add(t, " with the training rows of ");
    html_name(t, p->data_file, 60);
    text_add(t, "; wanted: ");
    if (p->max_loss >= 0)
        text_add(t, "the smallest that loses at most %s points", html_number(room, p->max_loss));
    else
        text_add(t, "the best");
    if (p->budget > 0) text_add(t, " within %s bytes", html_count(room, (double)p->budget));
    text_add(t, ".</p></header>\n<main>\n");
    tiles(t, p);
    html_section(t, "tradeoff", "Bytes against score");
    text_add(t,
             "<p class=\"say\">%zu candidates were scored on %zu training rows that neither they nor the fit that they "
             "were made of had seen%s. Shown are those that "
             "no other beats in both; the dashed line is the model of full size on the same rows, the filled point is "
             "the one that was taken. Test rows "
             "were not looked at for this.</p>\n<figure>\n",
             r->tried, r->rows_held, r->parts > 1 ? ", in five folds" : "");
    curve(t, p);
    text_add(t, "</figure>\n</section>\n");
    html_section(t, "table", "The candidates of the curve");
    table(t, p);
    text_add(t, "</section>\n");
    html_section(t, "parts", "Before and after");
    text_add(t, "<dl>");
    html_row(t, "Bytes");
    text_add(t, "%s to ", html_count(room, (double)p->source_bytes));
    text_add(t, "%s</dd>", html_count(room, (double)p->bytes));
    html_row(t, "Numbers");
    text_add(t, "%s to %s</dd>", type_word(RFM_REAL_BYTES), type_word(r->chosen.type));
    html_row(t, "Inputs");
    text_add(t, "%zu to %zu</dd>", p->source_features, r->chosen.features);
    html_row(t, "Rank of the metric");
    text_add(t, "%zu to %zu</dd>", p->source_rank, r->chosen.rank);
    html_row(t, "Centres");
    text_add(t, "%zu to %zu</dd>", p->source_centers, p->centers);
    text_add(t, "</dl></section>\n</main>\n<footer>rfm %d.%d.%d</footer>\n", RFM_VERSION_MAJOR, RFM_VERSION_MINOR,
             RFM_VERSION_PATCH);
    html_page_close(t);
}

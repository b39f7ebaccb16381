/* rfm-small DATA.csv --model FILE - what is lost on the way to a small model: the ways to choose centres side by side, in float and in
 * integers.
 *
 *   --split FILE       as for the `rfm train` that made the model: 0 is a row that it was trained on, 1 is one to score on, 2 none of both
 *   --rank a,b,...     ranks; 0: the model's
 *   --centers a,b,...  how many centres
 *   --methods a,b,...  0 cholesky, 1 leverage, 2 residual, 3 kmeans
 *   --polish a,b,...   steps of polish
 *   --ridge a,b,...    of the refit, as multiples of the model's
 *   --seeds N          methods that draw: the mean over so many seeds
 *
 * The score is the accuracy, or r2, on the rows to score on. bytes: of the i8 blob with class names, without input names and summary.
 */
#include "rfm_small.h"
#include "score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIST 16

typedef struct {
    double at[LIST];
    size_t count;
} list;

static list list_of(const char *words) {
    list l;
    char *end;
    l.count = 0;
    for (;; words = end + 1) {
        if (l.count == LIST) usage("expected at most %d numbers, found more", LIST);
        l.at[l.count++] = strtod(words, &end);
        if (end == words || (*end != ',' && *end != '\0')) usage("expected numbers with commas between them, found \"%s\"", words);
        if (*end == '\0') return l;
    }
}

static void check(int status, const char *what) {
    if (status != RFM_OK) fail("%s: %s", what, rfm_status_text(status));
}

static void memory_for(machine *m, size_t scratch, rfm_arena *store, size_t bytes) {
    machine_memory(m, scratch, "scratch");
    check(rfm_arena_init(store, allocate_aligned(bytes, "a model"), bytes), "a model");
}

/* The score of predictions f (rows, c). */
static double score_of(const sample *s, const rfm_model *model, const rfm_real *f) {
    size_t i, k, c = model->c, right = 0;
    double r2 = 0;
    for (i = 0; s->labels != NULL && i < s->rows; i++) right += rfm_class(model, f + i * c, NULL) == s->labels[i];
    if (s->labels != NULL) return (double)right / (double)s->rows;
    for (k = 0; k < c; k++) {
        double mean = 0, around = 0, error = 0;
        for (i = 0; i < s->rows; i++) mean += (double)s->y[i * c + k] / (double)s->rows;
        for (i = 0; i < s->rows; i++) {
            around += pow((double)s->y[i * c + k] - mean, 2);
            error += pow((double)s->y[i * c + k] - (double)f[i * c + k], 2);
        }
        r2 += (1 - error / around) / (double)c;
    }
    return r2;
}

static double score_float(machine *m, const rfm_model *model, const sample *s) {
    rfm_real *f = allocate(s->rows, model->c * sizeof *f, "predictions");
    double result;
    predict_rows(m, model, s->x, s->rows, f);
    result = score_of(s, model, f);
    free(f);
    return result;
}

/* Made, written, opened again; *bytes of the blob. */
static double score_integers(machine *m, const rfm_model *model, const rfm_data *rows, int type, rfm_real ridge, const sample *s, size_t *bytes) {
    rfm_model_i made, opened;
    rfm_arena store;
    size_t scratch, kept, i, k;
    rfm_real *f = allocate(s->rows, model->c * sizeof *f, "predictions");
    int16_t *x = allocate(model->d, sizeof *x, "a row"), *room = allocate(RFM_PREDICT_I_SCRATCH(model->d, model->r), sizeof *room, "a row");
    int32_t *scores = allocate(model->c, sizeof *scores, "a row");
    void *blob;
    double result;
    check(rfm_small_integers_need(&m->ctx, model, rows, type, &scratch, &kept), "integers");
    memory_for(m, scratch, &store, kept);
    check(rfm_small_integers(&m->ctx, model, rows, type, ridge, &store, &made), "integers");
    made.input_names = NULL, made.summary = NULL;
    check(rfm_model_size_i(&made, bytes), "the blob");
    blob = allocate_aligned(*bytes, "the blob");
    check(rfm_model_write_i(&made, blob, *bytes), "the blob");
    check(rfm_model_open_i(blob, *bytes, &opened), "the blob");
    for (i = 0; i < s->rows; i++) {
        check(rfm_input_integers(&opened, s->x + i * model->d, x), "a row");
        check(rfm_predict_i(&opened, x, scores, room, NULL, NULL), "a row");
        for (k = 0; k < model->c; k++) f[i * model->c + k] = (rfm_real)scores[k] * (rfm_real)opened.units[k];
    }
    result = score_of(s, model, f);
    free(f), free(x), free(room), free(scores), free(blob), free(store.base);
    return result;
}

/* The targets as the command trains on them. */
static rfm_real *targets_of(const sample *s, size_t c) {
    rfm_real *y;
    size_t i;
    if (s->labels == NULL) return s->y;
    y = allocate(s->rows, c * sizeof *y, "targets");
    for (i = 0; i < s->rows; i++) {
        if (c == 1) y[i] = s->labels[i] == 1 ? (rfm_real)1 : (rfm_real)-1;
        else y[i * c + s->labels[i]] = 1;
    }
    return y;
}

typedef struct {
    machine machine;
    rfm_data rows;
    sample learn, check;
    size_t seeds;
    double ridge; /* of the model */
} job;

/* One line of the table. */
static void compare(job *j, const rfm_model *model, int method, size_t centers, size_t polish, double ridge) {
    static const char *const words[] = {"cholesky", "leverage", "residual", "kmeans"};
    double sums[4] = {0, 0, 0, 0}, seconds = 0;
    size_t seed, tries = method == RFM_CENTERS_LEVERAGE || method == RFM_CENTERS_KMEANS ? j->seeds : 1, scratch, kept, bytes = 0, ignored;
    for (seed = 0; seed < tries; seed++) {
        rfm_thin how;
        rfm_model thin;
        rfm_arena store;
        double start = seconds_now();
        memset(&how, 0, sizeof how);
        how.centers = centers, how.method = method, how.ridge = (rfm_real)ridge, how.polish = polish, how.seed = (uint32_t)seed;
        check(rfm_small_centers_need(&j->machine.ctx, model, &j->rows, &how, &scratch, &kept), "centres");
        memory_for(&j->machine, scratch, &store, kept);
        check(rfm_small_centers(&j->machine.ctx, model, &j->rows, &how, &store, &thin), "centres");
        seconds += seconds_now() - start;
        sums[0] += score_float(&j->machine, &thin, &j->learn);
        sums[1] += score_float(&j->machine, &thin, &j->check);
        sums[2] += score_integers(&j->machine, &thin, &j->rows, RFM_I8, how.ridge, &j->check, &bytes);
        sums[3] += score_integers(&j->machine, &thin, &j->rows, RFM_I16, how.ridge, &j->check, &ignored);
        free(store.base);
    }
    printf("| %zu | %g | %zu | %s | %zu | %.4f | %.4f | %.4f | %.4f | %zu | %.2f |\n", model->r, ridge, centers, words[method], polish,
           sums[0] / (double)tries, sums[1] / (double)tries, sums[3] / (double)tries, sums[2] / (double)tries, bytes, seconds / (double)tries);
    fflush(stdout);
}

int main(int argc, char **argv) {
    const char *file = NULL, *split = NULL, *model_file = NULL, *ranks = "0", *centers = "50,100,200,400", *polishes = "0", *ridges = "1";
    const char *methods = "0,1,2,3";
    job j;
    option table[] = {{"--split", OPTION_TEXT, &split},     {"--model", OPTION_TEXT, &model_file}, {"--rank", OPTION_TEXT, &ranks},
                      {"--centers", OPTION_TEXT, &centers}, {"--polish", OPTION_TEXT, &polishes},  {"--ridge", OPTION_TEXT, &ridges},
                      {"--methods", OPTION_TEXT, &methods}, {"--seeds", OPTION_SIZE, &j.seeds},    {NULL, 0, NULL}};
    csv data;
    unsigned char *use;
    input_list inputs;
    sample_form form;
    char *blob;
    size_t size, target, scratch, kept, r, m, p, g, a;
    rfm_model model;
    rfm_summary summary;
    list rank, count, polish, ridge, method;
    (void)argc;
    memset(&j, 0, sizeof j);
    j.seeds = 3;
    options_read("rfm-small", argv + 1, table, 1, &file, "DATA.csv");
    if (model_file == NULL) usage("--model: expected a model");
    rank = list_of(ranks), count = list_of(centers), polish = list_of(polishes), ridge = list_of(ridges), method = list_of(methods);
    for (g = 0; g < method.count; g++)
        if (method.at[g] < 0 || method.at[g] > 3) usage("--methods: expected 0 to 3, found %g", method.at[g]);
    machine_start(&j.machine, 1, "auto");
    model_read(model_file, &blob, &size, &model);
    check(rfm_model_summary(&model, &summary, NULL, 0), model_file);
    csv_read(&data, file, 1);
    use = split_read(split, &data, USE_TRAIN);
    target = target_find(&data, NULL, 1);
    memset(&form, 0, sizeof form);
    form.targets = 1;
    if (model.task == RFM_CLASSIFY) form.class_names = model.class_names, form.classes = model.c == 1 ? 2 : model.c;
    inputs = inputs_of_names(&data, model.input_names, model.d);
    j.learn = sample_read(&data, inputs, target, &form, rows_of(&data, use, USE_TRAIN));
    j.check = sample_read(&data, inputs, target, &form, rows_of(&data, use, USE_TEST));
    j.rows.x = rfm_cview(j.learn.x, j.learn.rows, model.d);
    j.rows.y = rfm_cview(targets_of(&j.learn, model.c), j.learn.rows, model.c);
    printf("%zu rows, scored on %zu; the model: %zu centres, rank %zu, score %.4f\n\n", j.learn.rows, j.check.rows, model.n, model.r,
           score_float(&j.machine, &model, &j.check));
    printf("| rank | ridge | centres | method | polish | trained on | float | i16 | i8 | bytes | seconds |\n");
    printf("|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (r = 0; r < rank.count; r++) {
        rfm_model low = model;
        rfm_arena store;
        if (rank.at[r] > 0) {
            check(rfm_small_rank_need(&j.machine.ctx, &model, &j.rows, (size_t)rank.at[r], &scratch, &kept), "rank");
            memory_for(&j.machine, scratch, &store, kept);
            check(rfm_small_rank(&j.machine.ctx, &model, &j.rows, (size_t)rank.at[r], &store, &low, NULL), "rank");
        }
        for (a = 0; a < ridge.count; a++)
            for (m = 0; m < count.count; m++)
                for (g = 0; g < method.count; g++)
                    for (p = 0; p < polish.count; p++)
                        compare(&j, &low, (int)method.at[g], (size_t)count.at[m], (size_t)polish.at[p], ridge.at[a] * (double)summary.ridge);
    }
    machine_stop(&j.machine);
    return 0;
}

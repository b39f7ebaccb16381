/* rfm-small DATA.csv --model FILE - what is lost on the way to a small model: the ways to choose centres side by side,
 * in float and in integers.
 *
 *   --split FILE       as for the `rfm train` that made the model: 0 is a row that it was trained on, 1 is one to score
 *                      on, 2 none of both
 *   --rank a,b,...     ranks; 0: the model's
 *   --centers a,b,...  how many centres
 *   --methods a,b,...  0 cholesky, 1 leverage, 2 residual, 3 kmeans
 *   --polish a,b,...   steps of polish
 *   --ridge a,b,...    of the refit, as multiples of the model's
 *   --seeds N          methods that draw: the mean over so many seeds
 *
 * The score is the accuracy, or r2, on the rows to score on. bytes: of the i8 blob with class names, without input
 * names and summary. */
#include "rfm/learn/learn.h"

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
        if (end == words || (*end != ',' && *end != '\0'))
            usage("expected numbers with commas between them, found \"%s\"", words);
        if (*end == '\0') return l;
    }
}

static void memory_for(machine *m, size_t scratch, rfm_arena *store, size_t bytes) {
    machine_memory(m, scratch, "scratch");
    must(rfm_arena_init(store, allocate_aligned(bytes, "a model"), bytes), "a model");
}

static double score_float(machine *m, const rfm_model *model, const sample *s) {
    any_model any = any_of_numbers(model);
    score result = score_sample(m, &any, s, NULL);
    return main_score(&result, model->task);
}

/* Made, written, opened again; *bytes of the blob. */
static double score_integers(machine *m, const rfm_model *model, const rfm_data *rows, int type, rfm_real ridge,
                             const sample *s, size_t *bytes) {
    rfm_model_i made, opened;
    any_model any;
    rfm_arena store;
    size_t scratch, kept;
    void *blob;
    score result;
    must(rfm_small_integers_need(&m->ctx, model, rows, type, &scratch, &kept), "integers");
    memory_for(m, scratch, &store, kept);
    must(rfm_small_integers(&m->ctx, model, rows, type, ridge, &store, &made), "integers");
    made.input_names = NULL, made.summary = NULL;
    must(rfm_model_size_i(&made, 0, bytes), "the blob");
    blob = allocate_aligned(*bytes, "the blob");
    must(rfm_model_write_i(&made, NULL, 0, blob, *bytes), "the blob");
    must(rfm_model_open_i(blob, *bytes, &opened), "the blob");
    any = any_of_integers(&opened);
    result = score_sample(m, &any, s, NULL);
    free(blob), free(store.base);
    return main_score(&result, model->task);
}

/* The targets as the command trains on them. */
static rfm_real *targets_of(const sample *s, size_t c) {
    rfm_real *y;
    if (s->labels == NULL) return s->y;
    y = allocate(s->rows, c * sizeof *y, "targets");
    class_targets(s->labels, s->rows, c, y);
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
    size_t seed, tries = method == RFM_CENTERS_LEVERAGE || method == RFM_CENTERS_KMEANS ? j->seeds : 1, scratch, kept,
                 bytes = 0, ignored;
    for (seed = 0; seed < tries; seed++) {
        rfm_centers_options how;
        rfm_model thin;
        rfm_arena store;
        double start = seconds_now();
        memset(&how, 0, sizeof how);
        how.centers = centers, how.method = method, how.ridge = (rfm_real)ridge, how.polish = polish,
        how.seed = (uint32_t)seed;
        must(rfm_small_centers_need(&j->machine.ctx, model, &j->rows, &how, &scratch, &kept), "centres");
        memory_for(&j->machine, scratch, &store, kept);
        must(rfm_small_centers(&j->machine.ctx, model, &j->rows, &how, &store, &thin), "centres");
        seconds += seconds_now() - start;
        sums[0] += score_float(&j->machine, &thin, &j->learn);
        sums[1] += score_float(&j->machine, &thin, &j->check);
        sums[2] += score_integers(&j->machine, &thin, &j->rows, RFM_I8, how.ridge, &j->check, &bytes);
        sums[3] += score_integers(&j->machine, &thin, &j->rows, RFM_I16, how.ridge, &j->check, &ignored);
        free(store.base);
    }
    printf("| %zu | %g | %zu | %s | %zu | %.4f | %.4f | %.4f | %.4f | %zu | %.2f |\n", model->r, ridge, centers,
           words[method], polish, sums[0] / (double)tries, sums[1] / (double)tries, sums[3] / (double)tries,
           sums[2] / (double)tries, bytes, seconds / (double)tries);
    fflush(stdout);
}

int main(int argc, char **argv) {
    const char *file = NULL, *split = NULL, *model_file = NULL, *ranks = "0", *centers = "50,100,200,400",
               *polishes = "0", *ridges = "1";
    const char *methods = "0,1,2,3";
    job j;
    option table[] = {{"--split", NULL, OPTION_TEXT, &split},
                      {"--model", NULL, OPTION_TEXT, &model_file},
                      {"--rank", NULL, OPTION_TEXT, &ranks},
                      {"--centers", NULL, OPTION_TEXT, &centers},
                      {"--polish", NULL, OPTION_TEXT, &polishes},
                      {"--ridge", NULL, OPTION_TEXT, &ridges},
                      {"--methods", NULL, OPTION_TEXT, &methods},
                      {"--seeds", NULL, OPTION_SIZE, &j.seeds},
                      {NULL, NULL, 0, NULL}};
    command_line line = {"rfm-small", "DATA.csv", 1, 1, "; see the head of tools/small/methods.c", NULL};
    model_table data;
    offsets loss;
    unsigned char *use;
    char *blob;
    size_t size, scratch, kept, r, m, p, g, a;
    any_model any;
    rfm_model model;
    rfm_summary summary;
    list rank, count, polish, ridge, method;
    (void)argc;
    memset(&j, 0, sizeof j);
    j.seeds = 3;
    line.options = table;
    if (options_read(&line, argv + 1, &file)) {
        puts("usage: rfm-small DATA.csv --model FILE [options]; see the head of tools/small/methods.c");
        return 0;
    }
    if (model_file == NULL) usage("--model: expected a model");
    rank = list_of(ranks), count = list_of(centers), polish = list_of(polishes), ridge = list_of(ridges),
    method = list_of(methods);
    for (g = 0; g < method.count; g++)
        if (method.at[g] < 0 || method.at[g] > 3) usage("--methods: expected 0 to 3, found %g", method.at[g]);
    machine_start(&j.machine, 1, "auto");
    model_read(model_file, &blob, &size, &any);
    model = any.numbers;
    must(rfm_model_summary(&model, &summary, NULL, 0), model_file);
    model_table_read(&data, &any, model_file, file, 1, NULL, 0);
    use = split_read(split, &data.file, USE_TRAIN);
    loss = offsets_find(&data.file, &data.inputs, data.column, data.form.classes > 0 ? 0 : data.form.targets,
                        rows_of(&data.file, use, USE_TRAIN), &any, LOSS_REFUSED);
    j.learn = sample_read(&data.file, data.inputs, data.column, &data.form, rows_of(&data.file, use, USE_TRAIN), loss);
    j.check = sample_read(&data.file, data.inputs, data.column, &data.form, rows_of(&data.file, use, USE_TEST), loss);
    j.rows.x = rfm_cview(j.learn.x, j.learn.rows, model.d);
    j.rows.y = rfm_cview(targets_of(&j.learn, model.c), j.learn.rows, model.c);
    printf("%zu rows, scored on %zu; the model: %zu centres, rank %zu, score %.4f\n\n", j.learn.rows, j.check.rows,
           model.n, model.r, score_float(&j.machine, &model, &j.check));
    printf("| rank | ridge | centres | method | polish | trained on | float | i16 | i8 | bytes | seconds |\n");
    printf("|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (r = 0; r < rank.count; r++) {
        rfm_model low = model;
        rfm_arena store;
        if (rank.at[r] > 0) {
            must(rfm_small_rank_need(&j.machine.ctx, &model, &j.rows, (size_t)rank.at[r], &scratch, &kept), "rank");
            memory_for(&j.machine, scratch, &store, kept);
            must(rfm_small_rank(&j.machine.ctx, &model, &j.rows, (size_t)rank.at[r], &store, &low, NULL), "rank");
        }
        for (a = 0; a < ridge.count; a++)
            for (m = 0; m < count.count; m++)
                for (g = 0; g < method.count; g++)
                    for (p = 0; p < polish.count; p++)
                        compare(&j, &low, (int)method.at[g], (size_t)count.at[m], (size_t)polish.at[p],
                                ridge.at[a] * (double)summary.ridge);
    }
    machine_stop(&j.machine);
    return 0;
}

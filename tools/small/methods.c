/* rfm-small DATA.csv - how the ways to choose centres compare: accuracy (or r2) on every fifth training row, which were held out.
 *
 *   --split FILE       as for rfm train: rows marked 1 (test) are not looked at
 *   --model FILE       a model that rfm train made of the data: kernel, metric, bandwidth, ridge and iterations are taken from it
 *   --center           gradients centred, if rfm train said so
 *   --rank a,b,...     ranks (0: as it is)
 *   --centers a,b,...  how many centres
 *   --polish a,b,...   steps of polish
 *   --ridge a,b,...    ridges of the refit, as multiples of the model's
 *   --methods a,b,...  0 cholesky, 1 leverage, 2 residual, 3 kmeans
 *   --seeds N          the mean over so many seeds of the methods that draw
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
    while (l.count < LIST) {
        l.at[l.count++] = strtod(words, &end);
        if (end == words || (*end != ',' && *end != '\0')) usage("expected numbers with commas between them, found \"%s\"", words);
        if (*end == '\0') break;
        words = end + 1;
    }
    return l;
}

typedef struct {
    size_t rows;
    rfm_real *x, *y;
    uint32_t *labels;
} part;

static void standardise(part *p, const part *from, size_t d) {
    size_t i, j;
    for (j = 0; j < d; j++) {
        double sum = 0, sum2 = 0, scale;
        for (i = 0; i < from->rows; i++) sum += (double)from->x[i * d + j];
        sum /= (double)from->rows;
        for (i = 0; i < from->rows; i++) sum2 += pow((double)from->x[i * d + j] - sum, 2);
        scale = sum2 > 0 ? sqrt(sum2 / (double)from->rows) : 1;
        for (i = 0; i < p->rows; i++) p->x[i * d + j] = (rfm_real)(((double)p->x[i * d + j] - sum) / scale);
    }
}

static double accuracy(machine *m, const rfm_model *model, const part *p) {
    rfm_real *f = allocate(p->rows, model->c * sizeof *f, "predictions");
    size_t i, k, right = 0;
    double error = 0, mean = 0, all = 0;
    predict_rows(m, model, p->x, p->rows, f);
    for (i = 0; p->labels != NULL && i < p->rows; i++) right += rfm_class(model, f + i * model->c, NULL) == p->labels[i];
    for (i = 0; i < p->rows; i++) mean += (double)p->y[i * model->c] / (double)p->rows;
    for (i = 0; i < p->rows; i++)
        for (k = 0; k < 1; k++) error += pow((double)(p->y[i * model->c] - f[i * model->c]), 2), all += pow((double)p->y[i * model->c] - mean, 2);
    free(f);
    return p->labels != NULL ? (double)right / (double)p->rows : 1 - error / all;
}

static void *memory_of(rfm_arena *arena, size_t bytes) {
    void *memory = allocate_aligned(bytes, "a model");
    (void)rfm_arena_init(arena, memory, bytes);
    return memory;
}

static void check(int status, const char *what) {
    if (status != RFM_OK) fail("%s: %s", what, rfm_status_text(status));
}

int main(int argc, char **argv) {
    static const char *const words[] = {"cholesky", "leverage", "residual", "kmeans"};
    const char *file = NULL, *split = NULL, *model_file = NULL, *ranks = "0", *centers = "50,100,200,400", *polishes = "0,20", *ridges = "1", *methods = "0,1,2,3";
    size_t seeds = 3, i, k, d, c, classes = 0, n[2] = {0, 0};
    int center = 0, class_task;
    option table[] = {{"--split", OPTION_TEXT, &split}, {"--model", OPTION_TEXT, &model_file}, {"--center", OPTION_FLAG, &center},
                      {"--rank", OPTION_TEXT, &ranks}, {"--centers", OPTION_TEXT, &centers}, {"--polish", OPTION_TEXT, &polishes},
                      {"--ridge", OPTION_TEXT, &ridges}, {"--methods", OPTION_TEXT, &methods}, {"--seeds", OPTION_SIZE, &seeds}, {NULL, 0, NULL}};
    machine m;
    csv data;
    unsigned char *use;
    row_list train;
    input_list inputs;
    sample_form form;
    sample all;
    part parts[2];
    char *blob;
    size_t blob_size, target, scratch, store, ir, im, ip, ig, ia, seed;
    rfm_model source, model;
    rfm_summary summary;
    rfm_options o;
    rfm_data rows;
    rfm_arena kept;
    list rank = {{0}, 0}, count, polish, ridge, method;
    (void)argc;
    options_read("rfm-small", argv + 1, table, 1, &file, "DATA.csv");
    if (model_file == NULL) usage("--model: expected a model");
    rank = list_of(ranks), count = list_of(centers), polish = list_of(polishes), ridge = list_of(ridges), method = list_of(methods);
    machine_start(&m, 1, "auto");
    model_read(model_file, &blob, &blob_size, &source);
    check(rfm_model_summary(&source, &summary, NULL, 0), "the model's summary");
    csv_read(&data, file, 1);
    use = split_read(split, &data, USE_TRAIN);
    train = rows_of(&data, use, USE_TRAIN);
    target = target_find(&data, NULL, 1);
    memset(&form, 0, sizeof form);
    form.targets = 1;
    class_task = source.task == RFM_CLASSIFY;
    if (class_task) form.class_names = classes_find(&data, target, train, &classes), form.classes = classes;
    inputs = inputs_of_file(&data, target, 1, train, 0);
    all = sample_read(&data, inputs, target, &form, train);
    d = inputs.count, c = source.c;
    for (i = 0; i < 2; i++) {
        parts[i].x = allocate(all.rows, d * sizeof(rfm_real), "rows");
        parts[i].y = allocate(all.rows, c * sizeof(rfm_real), "rows");
        parts[i].labels = class_task ? allocate(all.rows, sizeof(uint32_t), "rows") : NULL;
    }
    for (i = 0; i < all.rows; i++) {
        part *to = &parts[i % 5 == 4];
        size_t at = n[i % 5 == 4]++;
        memcpy(to->x + at * d, all.x + i * d, d * sizeof(rfm_real));
        if (class_task) {
            to->labels[at] = all.labels[i];
            if (c == 1) to->y[at] = all.labels[i] == 1 ? (rfm_real)1 : (rfm_real)-1;
            else to->y[at * c + all.labels[i]] = 1;
        } else memcpy(to->y + at * c, all.y + i * c, c * sizeof(rfm_real));
    }
    parts[0].rows = n[0], parts[1].rows = n[1];
    standardise(&parts[1], &parts[0], d);
    standardise(&parts[0], &parts[0], d);
    rfm_options_init(&o);
    o.kernel = source.kernel, o.exponent = source.exponent, o.bandwidth = summary.bandwidth, o.ridge = summary.ridge;
    o.metric = source.metric, o.iterations = summary.iterations, o.center = center;
    memset(&rows, 0, sizeof rows);
    rows.x = rfm_cview(parts[0].x, n[0], d), rows.y = rfm_cview(parts[0].y, n[0], c);
    check(rfm_fit_need(&m.ctx, &rows, &o, &scratch, &store), "training");
    (void)memory_of(&kept, store);
    machine_memory(&m, scratch, "training");
    check(rfm_fit(&m.ctx, &rows, &o, &kept, &model, NULL), "training");
    model.task = source.task;
    printf("%zu rows, %zu held out, rank %zu: full model %.4f\n", n[0], n[1], model.r, accuracy(&m, &model, &parts[1]));
    for (ir = 0; ir < rank.count; ir++) {
        rfm_model low = model;
        rfm_arena low_arena;
        rfm_real share = 1;
        if (rank.at[ir] > 0) {
            check(rfm_small_rank_need(&m.ctx, &model, &rows, (size_t)rank.at[ir], &scratch, &store), "rank");
            (void)memory_of(&low_arena, store);
            machine_memory(&m, scratch, "rank");
            check(rfm_small_rank(&m.ctx, &model, &rows, (size_t)rank.at[ir], &low_arena, &low, &share), "rank");
            printf("rank %zu: %.4f of the spread, model %.4f\n", low.r, (double)share, accuracy(&m, &low, &parts[1]));
        }
        for (ia = 0; ia < ridge.count; ia++)
            for (im = 0; im < count.count; im++)
                for (ig = 0; ig < method.count; ig++)
                    for (ip = 0; ip < polish.count; ip++) {
                        double sum = 0, seen = 0, start = seconds_now();
                        size_t tries = (int)method.at[ig] % 2 == 1 ? seeds : 1;
                        for (seed = 0; seed < tries; seed++) {
                            rfm_thin how;
                            rfm_model thin;
                            rfm_arena thin_arena;
                            void *memory;
                            memset(&how, 0, sizeof how);
                            how.centers = (size_t)count.at[im], how.method = (int)method.at[ig], how.ridge = (rfm_real)(ridge.at[ia] * (double)summary.ridge);
                            how.polish = (size_t)polish.at[ip], how.seed = (uint32_t)seed;
                            check(rfm_small_centers_need(&m.ctx, &low, &rows, &how, &scratch, &store), "centres");
                            memory = memory_of(&thin_arena, store);
                            machine_memory(&m, scratch, "centres");
                            check(rfm_small_centers(&m.ctx, &low, &rows, &how, &thin_arena, &thin), "centres");
                            sum += accuracy(&m, &thin, &parts[1]), seen += accuracy(&m, &thin, &parts[0]);
                            free(memory);
                        }
                        printf("rank %zu ridge %g centres %g %-9s polish %3g: %.4f  (train %.4f)  %.2f s\n", low.r, ridge.at[ia] * (double)summary.ridge, count.at[im],
                               words[(int)method.at[ig]], polish.at[ip], sum / (double)tries, seen / (double)tries, (seconds_now() - start) / (double)tries);
                        fflush(stdout);
                    }
    }
    for (k = 0; k < 2; k++) free(parts[k].x), free(parts[k].y), free(parts[k].labels);
    machine_stop(&m);
    return 0;
}

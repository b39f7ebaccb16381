/* rfm compress: a smaller model for less memory. */
#include "compress/compress.h"
#include "command.h"
#include "learn/measures.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const call *a;
    machine machine;
    char *blob;
    size_t blob_bytes;
    any_model any;                 /* as it was given */
    rfm_model source;              /* its numbers; of a mean those of its first model */
    rfm_model models[MOST_MODELS]; /* the source, and the others of a mean: */
    rfm_options options[MOST_MODELS];
    double shares[MOST_MODELS]; /* how many times each counts */
    size_t model_count;
    rfm_summary summary;
    model_table table;
    sample_form form;
    sample learn, check;
    size_t c, features; /* features: to be kept; 0: not asked for */
    rfm_real *y;        /* (rows, c) */
    size_t *order;      /* inputs, the most important first */
    int levels;         /* inputs are one-hot coded: their names are needed */
    const char *names;  /* of the inputs: the model's, or else the file's */
    char *file_names;   /* those, if they are taken */
    int raw;            /* trained without standardisation */
    int given;          /* a metric is that of another model */
    tradeoff wishes;
    tradeoff_result result;
    int searched;
    /* what comes out */
    any_model small;
    void *small_bytes; /* as firmware gets it */
    size_t small_size;
    void *file_bytes; /* with the names of the inputs and the record */
    size_t file_size;
    size_t *kept;
    char *kept_name_list;
    candidate shape;
} job;

/* ---- arguments ------------------------------------------------------------------------------ */

static void check_arguments(const call *a) {
    if (a->data == NULL)
        usage("compress: expected --data DATA.csv, rows that the model was trained on; see rfm help compress");
    if (a->out == NULL) usage("compress: expected -o SMALL.rfm; see rfm help compress");
    if (a->missing != NULL) (void)options_word("--missing", a->missing, missing_words);
    if (a->rank == 0) usage("--rank: expected at least 1, found 0");
    if (a->centers == 0) usage("--centers: expected at least 1, found 0");
    if (a->budget == 0) usage("--budget: expected a number of bytes above 0, found 0");
    if (a->refit_ridge >= 0 && (!((rfm_real)a->refit_ridge > 0) || !isfinite((rfm_real)a->refit_ridge)))
        usage("--ridge: expected a number above 0 that fits, found %g", a->refit_ridge);
    if (a->rows < 2) usage("--rows: expected at least 2");
    if (a->seed > UINT32_MAX) usage("--seed: expected at most %lu", (unsigned long)UINT32_MAX);
    if (a->page != NULL && a->budget == SIZE_MAX && a->max_loss < 0)
        usage("--report: expected --budget or --max-loss with it; without a search there is no trade-off to show");
    if (a->page != NULL && strcmp(a->page, a->out) == 0) usage("--report and -o: expected two files, found one name");
}

static int read_type(const char *word) {
    static const char *const words[] = {RFM_REAL_BYTES == 4 ? "f32" : "f64", "i16", "i8", "tiny", NULL};
    static const int types[] = {RFM_REAL_BYTES, RFM_I16, RFM_I8, TYPE_TINY};
    return word == NULL ? 0 : types[options_word("--type", word, words)];
}

/* auto: 0 and not fixed; off or a number of steps. */
static size_t read_polish(const char *word, int *fixed) {
    size_t steps = 0, i;
    *fixed = strcmp(word, "auto") != 0;
    if (!*fixed || strcmp(word, "off") == 0) return 0;
    for (i = 0; isdigit((unsigned char)word[i]) && i < 6; i++) steps = 10 * steps + (size_t)(word[i] - '0');
    if (i == 0 || word[i] != 0) usage("--polish: expected auto, off or a number of steps, found \"%s\"", word);
    return steps;
}

static int read_method(const char *word) {
    static const char *const words[] = {"cholesky", "leverage", "residual", "kmeans", NULL};
    return options_word("--method", word, words);
}

/* A count from 1 on, or a threshold between 0 and 1: *threshold, and the count is 0. */
static size_t read_features(const char *word, double *threshold) {
    char *end;
    double number = strtod(word, &end);
    if (*word == 0 || *end != 0 || !(number > 0) || (number >= 1 && number != floor(number)) || number > 1e9 ||
        strpbrk(word, "xX") != NULL)
        usage("--features: expected a number of inputs from 1 on, or a threshold between 0 and 1, found \"%s\"", word);
    *threshold = number < 1 ? number : 0;
    return number < 1 ? 0 : (size_t)number;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The models of a mean, and how they were trained. */
static void read_mean(job *t) {
    const rfm_tree *mean = &t->any.tree;
    const char *file = t->a->operands[0];
    size_t i;
    if (read_type(t->a->type) != TYPE_TINY)
        fail("%s: a mean of models becomes smaller only as a tiny model; expected --type tiny, or one model "
             "(rfm train --models 1)",
             file);
    if (mean->trees > MOST_MODELS || t->any.record.model_count != mean->trees || t->any.record.shares == NULL)
        fail("%s: has no record of how each of its models was trained. Train it anew", file);
    t->model_count = mean->trees;
    for (i = 0; i < t->model_count; i++) {
        any_model one;
        rfm_tree_leaf(mean, rfm_tree_route(mean, i, mean->shift), &t->models[i]);
        one = any_of_numbers(&t->models[i]);
        if (record_model(&t->any.record, i, &one.record.options) != RFM_OK)
            fail("%s: its record of training is damaged", file);
        one.record.has_options = 1;
        t->options[i] = one.record.options, t->shares[i] = record_number(t->any.record.shares, i);
        if (metric_given(&one)) t->given = 1;
    }
    t->source = t->models[0];
    t->source.class_names = mean->class_names, t->source.input_names = mean->input_names;
    t->source.temperature = mean->temperature;
}

static void read_model(job *t) {
    mean_read(t->a->operands[0], &t->blob, &t->blob_bytes, &t->any);
    t->source = t->any.numbers, t->model_count = 1, t->shares[0] = 1;
    if (is_mean(&t->any))
        read_mean(t);
    else
        t->given = metric_given(&t->any);
    t->models[0] = t->source;
    if (on_sphere(&t->source) && read_type(t->a->type) != TYPE_TINY)
        fail("%s: a model of %s becomes smaller only as a tiny one; expected --type tiny", t->a->operands[0],
             kernel_has_depth(t->source.kernel) ? "a network kernel" : "unit rows");
    if (t->given)
        fail("%s: its metric is that of another model (--metric-from), which cannot be learned anew on fewer rows",
             t->a->operands[0]);
    if (rfm_kernels[t->source.kernel].axes && read_type(t->a->type) != TYPE_TINY && t->a->rank < t->source.r)
        fail("%s: a model of the kernel %s has a lower rank only as a tiny one; expected --type tiny, or no --rank",
             t->a->operands[0], rfm_kernels[t->source.kernel].name);
    (void)rfm_model_summary(&t->source, &t->summary, NULL, 0);
    t->raw = t->summary.x_scale == NULL && t->any.record.scales == NULL;
}

/* One class for every training row, and at least two of them. */
static void check_classes(job *t, size_t column, row_list rows) {
    size_t i, other = 0;
    for (i = 0; i < t->learn.rows; i++) {
        if (t->learn.labels[i] == CLASS_UNKNOWN)
            csv_fail(&t->table.file, rows.at[i], column, "a class that the model knows");
        other += t->learn.labels[i] != t->learn.labels[0];
    }
    if (other == 0) {
        const char *only = rfm_name(t->form.class_names, t->learn.labels[0]);
        fail("%s: column %zu (%s): all training rows have the class \"%.*s\", expected at least two classes",
             t->a->data, column + 1, t->table.file.names[column], utf8_fit(only, 60), only);
    }
}

/* Rows that the model was not trained on, by its fingerprints, go from train to test, or are left out where there are
 * others to test on; if all that it was trained on are there. So what rfm train --test-size has held out stays so. */
static void hold_unseen(job *t, row_list *train, row_list *test) {
    sample all;
    unsigned char *seen;
    size_t i, count;
    if (t->any.record.rows == NULL || train->count <= t->any.record.row_count) return;
    all = sample_read(&t->table.file, t->table.inputs, t->table.column, &t->form, *train,
                      model_table_offsets(&t->table, *train, &t->any));
    (void)sample_filled(&all, &t->any);
    seen = allocate(all.rows, 1, "rows");
    count = rows_seen(&t->any, &all, seen);
    if (count >= t->any.record.row_count && count < train->count) {
        size_t kept = 0, others = 0;
        free(test->at);
        test->at = allocate(train->count - count, sizeof *test->at, "rows");
        for (i = 0; i < train->count; i++)
            if (seen[i])
                train->at[kept++] = train->at[i];
            else
                test->at[others++] = train->at[i];
        train->count = kept, test->count = t->a->test == NULL ? others : 0;
        note("%s: %zu rows that the model was not trained on are %s", t->a->data, others,
             t->a->test == NULL ? "only scored" : "left out");
    }
    free(seen);
    sample_free(&all);
}

static void read_data(job *t) {
    const call *a = t->a;
    unsigned char *use;
    row_list train, test;
    size_t column, given, i;
    const csv *file = &t->table.file;
    int missing = fills_missing(&t->any, a->operands[0], a->missing);
    offsets none;
    model_table_read(&t->table, &t->any, a->operands[0], a->data, !a->no_header, a->target, missing);
    use = split_read(a->split, file, USE_TRAIN);
    train = rows_of(file, use, USE_TRAIN);
    test = rows_of(file, use, USE_TEST);
    say_unknown(file, rows_known(&t->table.file, &train, t->table.column, t->table.form.targets) +
                          rows_known(&t->table.file, &test, t->table.column, t->table.form.targets));
    if (train.count < 2)
        fail("%s: %zu training rows, expected at least 2", a->split != NULL ? a->split : a->data, train.count);
    t->form = t->table.form;
    if (a->split == NULL) hold_unseen(t, &train, &test);
    given = train.count;
    if (train.count > (a->rows == SIZE_MAX ? MOST_ROWS : a->rows)) {
        rows_draw(&train, a->rows == SIZE_MAX ? MOST_ROWS : a->rows, a->seed);
        note("%zu training rows: %zu of them are drawn with seed %zu (--rows N for another number)", given, train.count,
             a->seed);
    }
    t->c = t->source.c;
    t->names = t->source.input_names;
    if (t->names == NULL) {
        text names = {NULL, 0, 0};
        for (i = 0; i < t->source.d; i++) {
            const char *name = file->names[t->table.inputs.at[i].column];
            text_bytes(&names, name, strlen(name) + 1);
        }
        t->names = t->file_names = names.at;
    }
    for (i = 0; i < t->source.d; i++) t->levels |= t->table.inputs.at[i].what != INPUT_NUMBER;
    column = t->table.column;
    none = offsets_find(file, &t->table.inputs, column, t->form.classes > 0 ? 0 : t->form.targets, train, &t->any,
                        LOSS_REFUSED);
    t->learn = sample_read(&t->table.file, t->table.inputs, column, &t->form, train, none);
    if (t->form.classes > 0) check_classes(t, column, train);
    if (a->test != NULL) {
        model_table other;
        row_list rows;
        if (a->split != NULL && test.count > 0) usage("--test and test rows in --split: expected one of them");
        model_table_read(&other, &t->any, a->operands[0], a->test, !a->no_header,
                         a->no_header || t->form.targets > 1 ? a->target : file->names[column], missing);
        rows = rows_to_score(&other.file, NULL, other.column, other.form.targets);
        t->check = sample_read(&other.file, other.inputs, other.column, &t->form, rows, none);
        free(rows.at);
        model_table_free(&other);
    } else
        t->check = sample_read(&t->table.file, t->table.inputs, column, &t->form, test, none);
    if (a->test != NULL) {
        sample_fill(&t->learn, &t->any, a->data);
        sample_fill(&t->check, &t->any, a->test);
    } else {
        size_t filled = sample_filled(&t->learn, &t->any);
        say_filled(filled + sample_filled(&t->check, &t->any), a->data);
    }
    if (t->form.classes > 0) {
        t->y = allocate(t->learn.rows, t->c * sizeof *t->y, "targets");
        class_targets(t->learn.labels, t->learn.rows, t->c, t->y);
    } else
        t->y = t->learn.y;
    if (t->summary.rows != 0 && t->summary.rows != t->learn.rows)
        note("%s was trained on %zu rows, here are %zu: expected the same rows; --split leaves others out",
             a->operands[0], (size_t)t->summary.rows, t->learn.rows);
    free(use);
    free(train.at);
    free(test.at);
}

/* ---- the record ----------------------------------------------------------------------------- */

/* How the source was trained, or each model of a mean: needed to fit anew. */
static const rfm_options *settings(const job *t) {
    if (!t->any.record.has_options)
        fail("%s: has no record of its training, expected one, as rfm train writes it since format 1.2: the model is "
             "fitted anew for --features, --budget and --max-loss. Train it anew",
             t->a->operands[0]);
    return t->model_count > 1 ? t->options : &t->any.record.options;
}

/* Numbers of the source's inputs that are kept: of its record, or, without that, of an array. */
static void add_kept(const job *t, text *record, uint16_t tag, const unsigned char *from, const rfm_real *array) {
    size_t count = t->shape.features, j;
    double *numbers = allocate(count, sizeof *numbers, "the record");
    for (j = 0; j < count; j++) {
        size_t at = t->kept != NULL ? t->kept[j] : j;
        numbers[j] = from != NULL ? record_number(from, at) : (double)array[at];
    }
    record_add_numbers(record, tag, numbers, count);
    free(numbers);
}

/* What one unit of the small model's scores is in the scores of the large one; 0: not known. x: the training rows. */
static double small_unit(const job *t, const rfm_real *x) {
    size_t rows = t->learn.rows, saturated;
    double unit;
    rfm_real *y;
    if (!is_tiny(&t->small)) return 1;
    y = allocate(rows, t->c * sizeof *y, "predictions");
    must(predict_tiny(&t->small.tiny, x, rows, y, NULL, &saturated), "predict");
    unit = scores_unit(y, t->y, rows * t->c);
    free(y);
    return unit > 0 ? unit : 0;
}

/* The threshold of conformal sets in the units of the small model's scores; negative: there is none. */
static double small_threshold(const job *t, double unit) {
    const double found = t->result.threshold;
    if (!(t->wishes.coverage > 0)) return -1;
    if (!t->searched) {
        note("the threshold of the model's sets of labels is left out: it is for the scores of the large model. With "
             "--budget or --max-loss there are held-out rows to find one of its own");
        return -1;
    }
    if (found >= (double)RFM_LIMIT(MAX)) return found;
    return unit > 0 && isfinite((rfm_real)(found / unit)) ? found / unit : -1;
}

/* Strings of the source's record. */
static void add_strings(text *record, uint16_t tag, const char *strings, size_t count) {
    if (count > 0) record_add(record, tag, strings, (size_t)(rfm_name(strings, count) - strings));
}

/* How inputs are made of a table, and which rows were trained on, by the inputs that are left. */
static void small_table(const job *t, text *record) {
    const model_record *r = &t->any.record;
    size_t count = t->shape.features, bytes;
    uint32_t *prints = sample_prints(&t->learn, t->source.d, t->kept, count, t->form.targets);
    if (r->recipe != NULL) {
        char *recipe_left = recipe_keep(r->recipe, t->kept, count, t->source.d, t->form.targets, &bytes);
        record_add(record, RFM_RECORD_RECIPE, recipe_left, bytes);
        free(recipe_left);
        recipe_left = knots_keep(r->knots, r->recipe, t->kept, count, t->source.d, &bytes);
        if (bytes > 0) record_add(record, RFM_RECORD_KNOTS, recipe_left, bytes);
        free(recipe_left);
    }
    add_strings(record, RFM_RECORD_ABSENT, r->absent, r->absent_count);
    add_strings(record, RFM_RECORD_LEFT, r->left, 2 * r->left_count);
    add_strings(record, RFM_RECORD_WORDS, r->words, r->word_count);
    add_strings(record, RFM_RECORD_DECISIONS, r->notes, r->note_count);
    if (r->signal != NULL) record_add(record, RFM_RECORD_SIGNAL, r->signal, r->signal_bytes);
    record_add_rows(record, prints, t->learn.rows);
    free(prints);
}

/* The record of the small model: what is known of the source, for the inputs that are left. */
static void small_record(const job *t, const rfm_real *x, text *record) {
    const model_record *r = &t->any.record;
    const rfm_real *scale = t->summary.x_scale;
    /* a summary in integers has scales of 4 bytes */
    int in_summary =
        t->a->summary && scale != NULL && !is_tiny(&t->small) && (sizeof(rfm_real) == 4 || !has_integers(&t->small));
    double conformal[2], unit = small_unit(t, x), temperature = model_temperature(&t->any);
    size_t k;
    text names = {NULL, 0, 0};
    if (r->has_options) record_add_options(record, &r->options);
    for (k = 0; k < t->form.targets; k++) {
        const char *name = r->targets != NULL ? rfm_name(r->targets, k) : t->table.file.names[t->table.column + k];
        text_bytes(&names, name, strlen(name) + 1);
    }
    record_add(record, RFM_RECORD_TARGETS, names.at, names.size);
    if (r->fill != NULL) add_kept(t, record, RFM_RECORD_FILL, r->fill, NULL);
    if (!in_summary && (r->scales != NULL || scale != NULL)) add_kept(t, record, RFM_RECORD_SCALES, r->scales, scale);
    conformal[0] = r->coverage, conformal[1] = small_threshold(t, unit);
    if (conformal[1] >= 0) record_add_numbers(record, RFM_RECORD_CONFORMAL, conformal, 2);
    if (has_integers(&t->small) && temperature > 0 && unit > 0 && t->form.classes > 0) {
        temperature /= unit;
        record_add_numbers(record, RFM_RECORD_TEMPERATURE, &temperature, 1);
    }
    small_table(t, record);
    free(names.at);
}

/* ---- features ------------------------------------------------------------------------------- */

static void rank_features(job *t) {
    size_t d = t->source.d, i;
    double threshold = 0;
    rfm_real *importance = allocate(d, sizeof *importance, "importances");
    int equal;
    t->order = input_order(&t->source, importance);
    equal = strcmp(model_metric(&t->source, NULL), "identity") == 0 ||
            importance[t->order[0]] == importance[t->order[d - 1]];
    if (t->a->features != NULL) {
        t->features = read_features(t->a->features, &threshold);
        if (t->features > d) usage("--features %zu: expected at most %zu, the inputs of the model", t->features, d);
        if (equal && t->features != d)
            fail("--features: the metric of %s weighs all %zu inputs the same, expected one that was learned",
                 t->a->operands[0], d);
        for (i = 0; threshold > 0 && i < d; i++) t->features += (double)importance[i] >= threshold;
        if (t->features == d) t->features = 0; /* nothing to leave out */
    } else if (equal || t->levels)
        free(t->order), t->order = NULL; /* one-hot inputs stay together */
    free(importance);
}

/* ---- the small model ------------------------------------------------------------------------ */

/* The offset of a tiny model is at most twice its largest alpha; beyond that alpha gets coarser steps. */
#define TINY_OFFSET 16

/* What a tiny model cannot be, or not well. */
static void check_tiny(const job *t) {
    const call *a = t->a;
    size_t least = t->form.classes > 0 ? t->form.classes : 1, i, k;
    if (a->centers != SIZE_MAX && a->centers < least)
        usage("--centers %zu: expected at least %zu, one for each class", a->centers, least);
    if (a->budget == SIZE_MAX && a->max_loss < 0 && (a->rank == SIZE_MAX || a->centers == SIZE_MAX))
        usage("--type tiny: expected --budget, --max-loss, or --rank and --centers");
    if (a->rank != SIZE_MAX && a->rank > 255) usage("--rank %zu: expected at most 255 with --type tiny", a->rank);
    if (t->source.d > 65535 || t->c > 65535)
        fail("%s: %zu inputs and %zu outputs, expected at most 65535 for --type tiny", a->operands[0], t->source.d,
             t->c);
    for (k = 0; t->form.classes == 0 && k < t->c; k++) {
        double mean = 0, squares = 0, spread;
        for (i = 0; i < t->learn.rows; i++) mean += (double)t->y[i * t->c + k] / (double)t->learn.rows;
        for (i = 0; i < t->learn.rows; i++) squares += pow((double)t->y[i * t->c + k] - mean, 2);
        spread = sqrt(squares / (double)t->learn.rows);
        if (fabs(mean) > TINY_OFFSET * spread)
            fail("%s: column %zu (%s): the mean is %.4g and the deviation %.4g, expected at most %d times that for "
                 "--type tiny. Subtract the mean and train anew",
                 a->data, t->table.column + k + 1, t->table.file.names[t->table.column + k], mean, spread, TINY_OFFSET);
    }
}

static void check_shape(job *t) {
    const call *a = t->a;
    size_t d = t->features > 0 ? t->features : t->source.d, r = t->source.r < d ? t->source.r : d;
    if (a->rank != SIZE_MAX && a->rank > d)
        usage("--rank %zu: expected at most %zu, the inputs of the model", a->rank, d);
    if (a->rank != SIZE_MAX && a->rank > r && t->features == 0)
        usage("--rank %zu: expected at most %zu, the rank of the model's metric", a->rank, r);
    if (read_type(a->type) == TYPE_TINY) check_tiny(t);
    if (a->centers != SIZE_MAX && a->centers > t->learn.rows)
        usage("--centers %zu: expected at most %zu, the training rows", a->centers, t->learn.rows);
    if (a->centers != SIZE_MAX && a->centers < t->c)
        usage("--centers %zu: expected at least %zu, one for each output: fewer cannot tell them apart", a->centers,
              t->c);
}

static int build_tick(void *arg, rfm_real done) {
    (void)arg;
    progress_show("making the small model", (double)done, 1);
    return 0;
}

/* A tiny model of the shape likewise. Firmware gets it without the names of the classes. */
static void build_tiny(job *t, const rfm_model *sources, const rfm_real *x) {
    extras none;
    rfm_data rows;
    rfm_tiny tiny;
    void *memory = NULL;
    recipe *k = &t->shape.recipe;
    int status;
    memset(&none, 0, sizeof none);
    memset(&rows, 0, sizeof rows);
    rows.x = rfm_cview(x, t->learn.rows, sources->d), rows.y = rfm_cview(t->y, t->learn.rows, t->c);
    if (k->rank > sources->r) k->rank = sources->r;
    progress_show("teaching the tiny model", 0, 1);
    status = distill(&t->machine, sources, t->model_count, &rows, k, &tiny, &memory);
    progress_end();
    if (status == RFM_ECONVERGE)
        fail("cannot teach a tiny model of rank %zu and %zu centres: its descent did not converge", k->rank,
             k->centers);
    if (status == RFM_EVALUE)
        fail("cannot teach a tiny model of rank %zu and %zu centres: expected at least as many different rows, and at "
             "most 255 centres of a class",
             k->rank, k->centers);
    if (status == RFM_ERANGE)
        fail("cannot make a tiny model of rank %zu and %zu centres: its integers have no room for it. Inputs that are "
             "far from 0 for their spread, as dates are, need an offset: subtract it in the table, or take --type i8",
             k->rank, k->centers);
    if (status != RFM_OK)
        fail("cannot make a tiny model of rank %zu and %zu centres: %s", k->rank, k->centers, rfm_status_text(status));
    t->small = any_of_tiny(&tiny);
    t->small_bytes = small_blob(&t->small, &none, &t->small_size);
    t->shape.centers = tiny.n, t->shape.rank = tiny.r;
    free(memory);
}

/* The blob of a shape, from all training rows. */
static void build(job *t, const rfm_model *source, const rfm_real *x, const extras *e, size_t centers) {
    machine *m = &t->machine;
    rfm_data rows;
    rfm_model numbers;
    rfm_model_i integers;
    thinning how = t->wishes.how;
    void *memory = NULL, *more = NULL;
    int status;
    memset(&rows, 0, sizeof rows);
    rows.x = rfm_cview(x, t->learn.rows, source->d), rows.y = rfm_cview(t->y, t->learn.rows, t->c);
    how.polish = t->shape.polish, how.ridge = (rfm_real)((double)how.ridge * t->shape.ridge);
    m->ctx.tick = build_tick;
    status = shrink(&m->ctx, source, &rows, t->shape.rank < source->r ? t->shape.rank : source->r, centers, &how,
                    &numbers, &memory);
    if (status == RFM_OK && t->shape.type < RFM_F32)
        status = to_integers(&m->ctx, &numbers, &rows, t->shape.type, how.ridge, &integers, &more);
    m->ctx.tick = NULL;
    progress_end();
    if (status != RFM_OK)
        fail("cannot make a model of rank %zu, %zu centres and type %s: %s", t->shape.rank, centers,
             type_word(t->shape.type), rfm_status_text(status));
    t->small = t->shape.type < RFM_F32 ? any_of_integers(&integers) : any_of_numbers(&numbers);
    free(t->small_bytes);
    t->small_bytes = small_blob(&t->small, e, &t->small_size);
    t->shape.centers = t->small.numbers.n, t->shape.rank = t->small.numbers.r;
    free(memory);
    free(more);
}

/* The final model: of the given one, or of a fit on fewer inputs; within the budget if there is one. */
static void finish(job *t) {
    rfm_model sources[MOST_MODELS], *source = &sources[0];
    rfm_real *x = t->learn.x;
    void *blobs[MOST_MODELS] = {NULL};
    extras e = t->wishes.extras;
    size_t d = t->source.d, asked = t->shape.centers, most = t->wishes.budget, tries, i;
    int full = 16 * t->result.chosen.bytes >
               15 * most; /* the winner filled the budget; a smaller one stays as small as it was scored */
    rfm_model opened;
    rfm_model_i opened_i;
    rfm_tiny opened_tiny;
    text record = {NULL, 0, 0};
    int status;
    memcpy(sources, t->models, sizeof sources);
    if (t->shape.features < d) {
        t->kept = kept_inputs(t->order, d, t->shape.features);
        t->kept_name_list = kept_names(t->names, t->kept, t->shape.features);
        x = kept_columns(t->learn.x, t->learn.rows, d, t->kept, t->shape.features);
        if (e.input_names != NULL) e.input_names = t->kept_name_list;
        for (i = 0; i < t->model_count; i++)
            blobs[i] = refit(&t->machine, settings(t) + i, t->shares[i], x, t->y, t->learn.labels, t->learn.rows,
                             t->shape.features, &t->form, t->kept_name_list, t->raw, (double)t->source.temperature,
                             &sources[i]);
        if (t->a->rank != SIZE_MAX && t->a->rank > source->r)
            usage("--rank %zu: expected at most %zu, the rank of the metric on these inputs", t->a->rank, source->r);
        if (asked > source->n) asked = source->n;
    }
    if (t->shape.type == TYPE_TINY)
        build_tiny(t, sources, x);
    else
        build(t, source, x, &e, asked);
    for (tries = 0; t->shape.type != TYPE_TINY && most > 0 && t->a->centers == SIZE_MAX && tries < 4;
         tries++) { /* the table of phi is as long as it is: what is left is for centres */
        size_t fit;
        e.nodes = has_integers(&t->small) ? t->small.integers.nodes : 0;
        fit = shape_centers(source, &e, t->shape.type, t->shape.rank, most);
        if (fit > t->learn.rows) fit = t->learn.rows;
        if (t->small_size <= most && (fit <= asked || !full || t->wishes.max_loss >= 0 || tries > 0)) break;
        asked = t->small_size <= most ? fit : fit < asked ? fit : asked - 1;
        if (asked < t->c) break;
        build(t, source, x, &e, asked);
    }
    if (most > 0 && t->small_size > most)
        fail("--budget %zu: the model takes %zu bytes, and fewer centres are too few", most, t->small_size);
    /* the copy that is written is the one that is scored */
    if (t->shape.type == TYPE_TINY)
        status = rfm_tiny_open(t->small_bytes, t->small_size, &opened_tiny), t->small = any_of_tiny(&opened_tiny);
    else if (t->shape.type < RFM_F32)
        status = rfm_model_open_i(t->small_bytes, t->small_size, &opened_i), t->small = any_of_integers(&opened_i);
    else
        status = rfm_model_open(t->small_bytes, t->small_size, &opened), t->small = any_of_numbers(&opened);
    if (status != RFM_OK) fail("cannot open what was written: %s", rfm_status_text(status));
    e.input_names = t->kept_name_list != NULL ? t->kept_name_list : t->names;
    small_record(t, x, &record);
    e.record = record.at, e.record_bytes = record.size;
    t->file_bytes = small_blob(&t->small, &e, &t->file_size);
    free(record.at);
    if (x != t->learn.x) free(x);
    for (i = 0; i < t->model_count; i++) free(blobs[i]);
}

static void wish(job *t) {
    const call *a = t->a;
    tradeoff *w = &t->wishes;
    w->machine = &t->machine, w->source = &t->source, w->models = t->model_count;
    w->rows = t->learn.rows, w->d = t->source.d, w->c = t->c;
    w->x = t->learn.x, w->y = t->y, w->labels = t->learn.labels;
    w->form = &t->form, w->raw = t->raw;
    w->how.method = read_method(a->method);
    w->how.polish = read_polish(a->polish, &w->polish_fixed);
    if (rfm_kernels[t->source.kernel].axes) {
        if (w->how.polish > 0)
            fail("%s: a model of the kernel %s cannot be polished, expected no --polish or 0", a->operands[0],
                 rfm_kernels[t->source.kernel].name);
        w->polish_fixed = 1;
    }
    w->ridge_fixed = a->refit_ridge >= 0;
    w->how.ridge = a->refit_ridge >= 0                                            ? (rfm_real)a->refit_ridge
                   : t->summary.ridge > 0                                         ? t->summary.ridge
                   : t->any.record.has_options && t->any.record.options.ridge > 0 ? t->any.record.options.ridge
                                                                                  : (rfm_real)1e-3;
    w->how.seed = (uint32_t)a->seed;
    w->extras.class_names = t->source.class_names;
    w->extras.summary = a->summary && t->source.summary != NULL;
    if (w->extras.summary) w->extras.input_names = t->names;
    w->type = read_type(a->type);
    w->rank = a->rank == SIZE_MAX ? 0 : a->rank, w->centers = a->centers == SIZE_MAX ? 0 : a->centers;
    w->budget = a->budget == SIZE_MAX ? 0 : a->budget, w->max_loss = a->max_loss < 0 ? -1 : a->max_loss / 100;
    w->coverage = t->source.task == RFM_CLASSIFY ? t->any.record.coverage : 0;
    w->order = t->order, w->features = t->features;
    w->input_names = t->names, w->model_file = a->operands[0];
}

/* The one that was taken stands in the curve with the size it has in the end; what it beats is left out. */
static void curve_final(job *t) {
    tradeoff_result *r = &t->result;
    candidate taken = r->curve[r->curve_chosen];
    size_t i, kept = 0, chosen = r->curve_chosen;
    taken.bytes = t->small_size, taken.centers = t->shape.centers, taken.rank = t->shape.rank;
    for (i = 0; i < r->curve_count; i++) {
        if (i < chosen ? r->curve[i].bytes >= taken.bytes : i > chosen && r->curve[i].bytes <= taken.bytes) continue;
        if (i == chosen) r->curve_chosen = kept;
        r->curve[kept++] = i == chosen ? taken : r->curve[i];
    }
    r->curve_count = kept;
    r->chosen = taken;
}

/* ---- output --------------------------------------------------------------------------------- */

static void candidate_json(text *objects, const candidate *k) {
    text one = {NULL, 0, 0};
    json_number(&one, "bytes", (double)k->bytes);
    json_text(&one, "type", type_word(k->type));
    json_number(&one, "features", (double)k->features);
    json_number(&one, "rank", (double)k->rank);
    json_number(&one, "centers", (double)k->centers);
    json_number(&one, "validation", k->score);
    json_add(objects, &one);
}

static void recipe_json(text *out, const recipe *k) {
    json_text(out, "method", "hyperbf");
    json_number(out, "prototypes", k->prototypes);
    json_number(out, "exponent_each", k->each);
    json_text(out, "loss", k->entropy ? "entropy" : "squared");
    if (k->entropy) json_number(out, "temperature", k->temperature);
    json_number(out, "start_bandwidth", k->bandwidth);
    json_number(out, "mixed", k->mixed);
    json_number(out, "noisy", k->noisy);
    json_number(out, "truth", k->truth);
    json_number(out, "steps", (double)k->steps);
    json_number(out, "seed", k->seed);
}

static void show_recipe(text *out, const recipe *k) {
    text_add(out, "taught        by the model, %zu steps, %s", k->steps,
             k->entropy ? "cross-entropy" : "squared error");
    if (k->entropy) text_add(out, " at temperature %g", k->temperature);
    text_add(out, "; %.0f %% mixtures of two rows, %.0f %% rows with noise, start bandwidth %g", 100 * k->mixed,
             100 * k->noisy, k->bandwidth);
    text_add(out, "%s%s\n", k->truth > 0 ? ", labels count half" : "",
             k->prototypes ? "; a class for each centre" : "");
}

static void report(job *t, const score *s, const score *full, size_t saturated, double seconds) {
    text out = {NULL, 0, 0};
    int task = t->source.task;
    size_t i;
    if (t->a->json) {
        text objects = {NULL, 0, 0};
        json_text(&out, "task", task_words[task]);
        json_number(&out, "rows_train", (double)t->learn.rows);
        json_number(&out, "rows_test", (double)t->check.rows);
        json_text(&out, "type", type_word(t->shape.type));
        json_number(&out, "features", (double)t->shape.features);
        json_number(&out, "features_before", (double)t->source.d);
        json_number(&out, "outputs", (double)t->c);
        json_number(&out, "rank", (double)t->shape.rank);
        json_number(&out, "rank_before", (double)t->source.r);
        json_number(&out, "centers", (double)t->shape.centers);
        json_number(&out, "centers_before", (double)t->any.numbers.n);
        if (t->shape.type == TYPE_TINY)
            recipe_json(&out, &t->shape.recipe);
        else {
            json_text(&out, "method", t->a->method);
            json_number(&out, "polish", (double)t->shape.polish);
            json_number(&out, "ridge", (double)t->wishes.how.ridge * t->shape.ridge);
        }
        json_number(&out, "model_bytes", (double)t->small_size);
        json_number(&out, "file_bytes", (double)t->file_size);
        json_number(&out, "model_bytes_before", (double)t->blob_bytes);
        if (t->check.rows > 0) {
            score_json(&out, s, task);
            json_number(&out, task == RFM_CLASSIFY ? "accuracy_before" : "r2_before", main_score(full, task));
            if (has_integers(&t->small)) json_number(&out, "saturated", (double)saturated);
        }
        if (t->searched) {
            json_number(&out, "validation", t->result.chosen.score);
            json_number(&out, "validation_full", t->result.full_score);
            json_number(&out, "rows_held", (double)t->result.rows_held);
            json_number(&out, "search", (double)t->result.tried);
            for (i = 0; i < t->result.curve_count; i++) candidate_json(&objects, &t->result.curve[i]);
            json_array(&out, "tradeoff", &objects);
        }
        json_number(&out, "seconds", seconds);
        json_end(&out);
    } else {
        if (t->searched) {
            text_add(&out,
                     "what no other candidate beats in bytes and in %s of held-out training rows; the model of full "
                     "size: %.4f\n\n",
                     task == RFM_CLASSIFY ? "accuracy" : "r2", t->result.full_score);
            text_add(&out, "    bytes  type  features  rank  centres  validation\n");
            for (i = 0; i < t->result.curve_count; i++) {
                const candidate *k = &t->result.curve[i];
                text_add(&out, "%9zu  %4s  %8zu  %4zu  %7zu      %.4f%s\n", k->bytes, type_word(k->type), k->features,
                         k->rank, k->centers, k->score, i == t->result.curve_chosen ? "  taken" : "");
            }
            text_add(&out, "\n");
        }
        text_add(&out, "model         ");
        text_name(&out, t->a->out);
        text_add(&out, ", %zu bytes in firmware instead of %zu", t->small_size, t->blob_bytes);
        if (t->file_size != t->small_size)
            text_add(&out, "; the file has %zu, with the names of the inputs and what the model was trained with",
                     t->file_size);
        text_add(&out, "\n");
        if (t->shape.type == TYPE_TINY) show_recipe(&out, &t->shape.recipe);
        text_add(&out, "shape         %s, %zu of %zu features, rank %zu of %zu, %zu of %zu centres\n",
                 type_word(t->shape.type), t->shape.features, t->source.d, t->shape.rank, t->source.r, t->shape.centers,
                 t->any.numbers.n);
        if (t->searched)
            text_add(&out,
                     "validation    %s %.4f on %zu held-out training rows, %.4f at full size; best of %zu candidates\n",
                     task == RFM_CLASSIFY ? "accuracy" : "r2", t->result.chosen.score, t->result.rows_held,
                     t->result.full_score, t->result.tried);
        if (t->check.rows > 0) {
            score_text(&out, s, task, t->check.rows, "test rows");
            if (task == RFM_CLASSIFY)
                text_add(&out, "before        %.2f %%\n", 100 * full->accuracy);
            else
                text_add(&out, "before        %.4f\n", full->r2);
        }
        text_add(&out, "took          %.2f s\n", seconds);
    }
    file_show(&out, t->a->out);
    free(out.at);
}

static void write_page(job *t, const score *s, const score *full) {
    compress_page_data p;
    text page = {NULL, 0, 0};
    memset(&p, 0, sizeof p);
    p.model_file = file_base(t->a->operands[0], "standard input"),
    p.data_file = file_base(t->a->data, "standard input"), p.out_file = file_base(t->a->out, "standard output");
    p.task = t->source.task;
    p.source_bytes = t->blob_bytes, p.source_centers = t->any.numbers.n, p.source_rank = t->source.r,
    p.source_features = t->source.d;
    p.result = &t->result;
    p.bytes = t->small_size, p.centers = t->shape.centers;
    p.budget = t->wishes.budget, p.max_loss = t->a->max_loss;
    p.rows_test = t->check.rows, p.test = main_score(s, p.task), p.test_full = main_score(full, p.task);
    compress_page(&page, &p);
    file_write(t->a->page, page.at, page.size);
    free(page.at);
}

/* The test rows with the inputs that are left. */
static score score_small(job *t, size_t *saturated) {
    sample s = t->check;
    score result;
    if (t->kept != NULL) s.x = kept_columns(t->check.x, t->check.rows, t->source.d, t->kept, t->shape.features);
    result = score_sample(&t->machine, &t->small, &s, saturated);
    if (t->kept != NULL) free(s.x);
    return result;
}

static void job_free(job *t) {
    machine_stop(&t->machine);
    free(t->file_names);
    if (t->form.classes > 0) free(t->y);
    sample_free(&t->learn);
    sample_free(&t->check);
    model_table_free(&t->table);
    free(t->order);
    free(t->result.curve);
    free(t->small_bytes);
    free(t->file_bytes);
    free(t->kept);
    free(t->kept_name_list);
    free(t->blob);
    free(t);
}

/* What the fit of the small model does not take over. */
static void say_weights(const job *t) {
    const model_record *r = &t->any.record;
    size_t i;
    for (i = 0; i < r->word_count; i++) {
        const char *word = rfm_name(r->words, i);
        if (strcmp(word, "--balance") == 0 || strcmp(word, "--weights") == 0)
            note("%s was trained with %s; in the fit of the small model every row counts the same", t->a->operands[0],
                 word);
    }
}

int command_compress(const call *a) {
    job *t = allocate(1, sizeof *t, "compressing");
    score s = {0, 0, 0}, full = {0, 0, 0};
    double start = seconds_now(), none;
    size_t saturated = 0;
    int fixed;
    t->a = a;
    check_arguments(a);
    (void)read_type(t->a->type); /* wrong usage is said before a file is read */
    (void)read_polish(t->a->polish, &fixed);
    (void)read_method(t->a->method);
    if (t->a->features != NULL) (void)read_features(t->a->features, &none);
    machine_start(&t->machine, t->a->threads, t->a->port);
    read_model(t);
    read_data(t);
    file_check(t->a->out);
    if (t->a->page != NULL) file_check(t->a->page);
    rank_features(t);
    check_shape(t);
    wish(t);
    t->shape.type = t->wishes.type != 0 ? t->wishes.type : RFM_REAL_BYTES;
    t->shape.features = t->features > 0 ? t->features : t->source.d;
    t->shape.rank = t->wishes.rank > 0 ? t->wishes.rank : t->source.r;
    t->shape.centers = t->wishes.centers > 0         ? t->wishes.centers
                       : t->source.n < t->learn.rows ? t->source.n
                                                     : t->learn.rows;
    if (t->shape.type == TYPE_TINY) {
        t->shape.recipe = recipe_usual(&t->source, (uint32_t)a->seed);
        t->shape.recipe.rank = t->shape.rank, t->shape.recipe.centers = t->shape.centers;
        t->shape.recipe.each = inputs_differ(rfm_cview(t->learn.x, t->learn.rows, t->source.d));
    }
    t->shape.polish = t->wishes.polish_fixed ? t->wishes.how.polish : POLISH, t->shape.ridge = 1;
    if (t->wishes.budget > 0 || t->wishes.max_loss >= 0) {
        memcpy(t->wishes.options, settings(t), t->model_count * sizeof *t->options);
        memcpy(t->wishes.shares, t->shares, sizeof t->shares);
        t->result = tradeoff_search(&t->wishes);
        t->shape = t->result.chosen;
        t->searched = 1;
    }
    finish(t);
    if (t->searched) curve_final(t);
    if (t->shape.centers < t->source.n) say_weights(t);
    if (t->check.rows > 0) {
        s = score_small(t, &saturated);
        full = score_sample(&t->machine, &t->any, &t->check, NULL);
        saturated_note(&t->small, saturated, t->check.rows);
    }
    file_write(t->a->out, t->file_bytes, t->file_size);
    if (t->a->page != NULL) write_page(t, &s, &full);
    report(t, &s, &full, saturated, seconds_now() - start);
    job_free(t);
    return 0;
}

#include "command.h"
#include "compress/compress.h"
#include "conv/conv.h"
#include "large/passes.h"
#include "large/tree.h"
#include "learn/hold.h"
#include "learn/learn.h"
#include "learn/measures.h"
#include "learn/search.h"
#include "signal/sensor.h"
#include "signal/signal_model.h"

#include "host/folds.h"
#include "host/session.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Images and signals are rows of numbers: their columns are taken as they are. */
static int is_plain(const call *a) { return a->image_size != NULL || a->signal != NULL; }

/* ---- arguments ------------------------------------------------------------------------------ */

static int takes_all_rows(int method) {
    return method == METHOD_LARGE || method == METHOD_TREE || method == METHOD_AUTO;
}

static int is_network(const call *a) { return method_given(a) == METHOD_HYPERBF; }

static int kernel_is_auto(const call *a) { return strcmp(a->kernel, "auto") == 0; }

/* The kernel, of auto the first that is tried. */
static int kernel_wanted(const call *a) { return kernel_is_auto(a) ? RFM_LAPLACE : kernel_of("--kernel", a->kernel); }

/* How many models a mean may have. */
static size_t models_wanted(const call *a) {
    char *end;
    double number = strtod(a->models, &end);
    if (strcmp(a->models, "auto") == 0) return MOST_MODELS;
    if (*a->models == 0 || *end != 0 || number != floor(number) || number < 1 || number > MOST_MODELS)
        usage("--models: expected auto or 1 to %d, found \"%s\"", MOST_MODELS, a->models);
    return (size_t)number;
}

static int way_wanted(const call *a) { return options_word("--inputs", a->inputs, way_words); }

static void check_arguments(const call *a) {
    if (a->out == NULL) usage("train: expected -o MODEL.rfm");
    if (a->targets > 0 && a->target != NULL)
        usage("--target names one column, --targets takes the last ones: expected one of them");
    if (a->targets > 0 && strcmp(a->task, "classify") == 0)
        usage("--targets: expected --task regress with it; a class is one column (--target)");
    if (a->coverage == 0 || a->coverage >= 1) usage("--coverage: expected a number above 0 and below 1");
    if (a->rows < 2) usage("--rows: expected at least 2");
    if (a->seed > UINT32_MAX) usage("--seed: expected at most %lu", (unsigned long)UINT32_MAX);
    if (a->missing != NULL) (void)options_word("--missing", a->missing, missing_words);
    if (way_wanted(a) != WAY_STANDARD && way_wanted(a) != WAYS && is_plain(a))
        usage("--image and --signal: expected --inputs standard or auto with them");
    if (a->tune != NULL) (void)options_word("--tune", a->tune, tune_words);
    if (a->cv < 2) usage("--cv: expected at least 2 folds");
    if (a->group != NULL && a->time != NULL) usage("--group and --time: expected one of them");
    if (a->test_size != NULL && a->test != NULL) usage("--test-size and --test: expected one of them");
    if (is_plain(a) && (a->test_size != NULL || a->cv != SIZE_MAX || a->group != NULL || a->time != NULL ||
                        a->weights != NULL || a->balance || a->tune != NULL))
        usage("--image and --signal: expected none of --test-size, --cv, --group, --time, --weights, --balance and "
              "--tune with them; --split or --test says which rows are to test on");
    if (is_network(a) && (a->weights != NULL || a->balance))
        usage("--method hyperbf: expected neither --weights nor --balance with it");
    if (a->drop != NULL && a->only != NULL) usage("--drop and --only: expected one of them");
    if (is_plain(a) && (a->drop != NULL || a->only != NULL || a->na != NULL))
        usage("--image and --signal: expected none of --drop, --only and --na with them");
    signal_check(a);
    if (!is_network(a) && ((a->network_centers != SIZE_MAX && a->signal == NULL && method_given(a) != METHOD_LARGE) ||
                           a->network_rank != SIZE_MAX))
        usage(
            "--centers and --rank: expected --method hyperbf with them, or large and --centers; a smaller exact model "
            "is made by rfm compress");
    if ((a->leaf_rows != SIZE_MAX || a->trees != SIZE_MAX) && method_given(a) != METHOD_TREE)
        usage("--leaf-rows and --trees: expected --method tree with them");
    if (a->leaf_rows < 2 || a->trees == 0) usage("--leaf-rows: expected at least 2; --trees: at least 1");
    if (method_given(a) == METHOD_TREE &&
        (a->coverage > 0 || a->image_size != NULL || a->signal != NULL || a->balance || a->metric_from != NULL))
        usage("--method tree: expected none of --coverage, --image, --signal, --balance and --metric-from with it");
    if (method_given(a) == METHOD_LARGE && (a->coverage > 0 || a->image_size != NULL || a->signal != NULL))
        usage("--method large: expected no --coverage, --image or --signal with it");
    if (is_network(a) && a->coverage > 0)
        usage("--coverage: expected --method exact with it, for its threshold is of the exact model");
    if (models_wanted(a) > 1 && (is_plain(a) || a->metric_from != NULL || is_network(a) ||
                                 method_given(a) == METHOD_LARGE || method_given(a) == METHOD_TREE))
        usage("--models: expected --method exact and none of --image, --signal and --metric-from with it");
    if (a->network_centers == 0) usage("--centers: expected at least 1, found 0");
    conv_check(a);
    if (a->network_rank == 0) usage("--rank: expected at least 1, found 0");
    if (is_network(a) && rfm_kernels[kernel_wanted(a)].axes)
        usage("--method hyperbf: expected a kernel with a full metric, found %s", a->kernel);
    if (is_network(a) && kernel_has_depth(kernel_wanted(a)))
        usage("--method hyperbf: expected a kernel of distances, found %s", a->kernel);
    if (is_network(a) && a->unit_rows) usage("--method hyperbf: expected rows as they are, found --unit-rows");
    if (a->metric_from != NULL && strcmp(a->metric, "auto") != 0)
        usage("--metric-from: expected no --metric with it, for the form of M is the model's");
    if (a->metric_from != NULL && strcmp(a->iterations, "auto") != 0 && strcmp(a->iterations, "0") != 0)
        usage("--metric-from: expected no --iterations with it, for M stays as it is");
}

/* The position among the words; auto comes after the last of them. */
static int word_or_auto(const char *name, const char *value, const char *const *words) {
    const char *list[8];
    size_t n = 0;
    for (; words[n] != NULL; n++) list[n] = words[n];
    list[n] = "auto", list[n + 1] = NULL;
    return options_word(name, value, list);
}

/* A number, or auto: 0. A number with an m behind it is a multiple of the median distance: *median = 1. */
static int number_or_auto(const char *name, const char *value, double *number, int *median) {
    char *end;
    if (strcmp(value, "auto") == 0) return 0;
    *number = strtod(value, &end);
    if (median != NULL && end != value && strcmp(end, "m") == 0) *median = 1, end++;
    if (*value == 0 || *end != 0 || !isfinite(*number) || *number < 0 || strpbrk(value, "xX") != NULL)
        usage("%s: expected auto or a number%s, found \"%s\"", name,
              median != NULL ? " above 0 (or 2m: twice the median distance)" : ", not negative", value);
    return 1;
}

/* What is fixed and what is to be searched. */
static void read_settings(const call *a, search_problem *p, size_t d) {
    static const double bandwidths[] = {0.5, 1, 2, 4, 8}, ridges[] = {1e-4, 1e-3, 1e-2, 1e-1, 1},
                        shares[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2}; /* the largest K is that of the longest row */
    int metric = word_or_auto("--metric", a->metric, metric_words), median = 0;
    double number = 0;
    size_t i;
    rfm_options_init(&p->base);
    p->base.kernel = kernel_wanted(a);
    p->kernels[p->kernel_count++] = p->base.kernel;
    p->base.scale = options_word("--normalize", a->normalize, scale_words);
    p->base.seed = (uint32_t)a->seed;
    if (a->exponent >= 0) {
        double most = (double)rfm_kernels[p->base.kernel].most;
        if (!kernel_has_exponent(p->base.kernel))
            usage("--exponent is for --kernel general and l1, found %s", a->kernel);
        if (a->exponent > most || (rfm_real)a->exponent <= 0)
            usage("--exponent: expected a number above 0, at most %g with --kernel %s", most, a->kernel);
        p->base.exponent = (rfm_real)a->exponent;
    }
    if (a->depth != SIZE_MAX) {
        size_t most = (size_t)rfm_kernels[RFM_NTK].most;
        if (!kernel_has_depth(p->base.kernel)) usage("--depth is for --kernel nngp and ntk, found %s", a->kernel);
        if (a->depth < 1 || a->depth > most) usage("--depth: expected 1 to %zu, found %zu", most, a->depth);
        p->base.exponent = (rfm_real)a->depth;
    }
    p->base.unit_rows = a->unit_rows;
    p->bandwidth_rule = RFM_BANDWIDTH_MEDIAN;
    if (kernel_has_depth(p->base.kernel)) {
        if (strcmp(a->bandwidth, "auto") != 0) usage("--bandwidth: the kernel %s has none", a->kernel);
        p->bandwidths[p->bandwidth_count++] = 1, p->bandwidth_rule = RFM_BANDWIDTH_FIXED;
    } else if (number_or_auto("--bandwidth", a->bandwidth, &number, &median)) {
        if ((rfm_real)number <= 0 || !isfinite((rfm_real)number))
            usage("--bandwidth: expected auto or a number above 0, found \"%s\"", a->bandwidth);
        p->bandwidths[p->bandwidth_count++] = number;
        if (!median) p->bandwidth_rule = RFM_BANDWIDTH_FIXED;
    } else
        for (i = 0; i < sizeof bandwidths / sizeof *bandwidths; i++)
            p->bandwidths[p->bandwidth_count++] = bandwidths[i];
    if (number_or_auto("--ridge", a->ridge, &number, NULL))
        p->ridges[p->ridge_count++] = number;
    else
        for (i = 0; i < sizeof ridges / sizeof *ridges; i++)
            p->ridges[p->ridge_count++] = kernel_has_depth(p->base.kernel) && !a->unit_rows ? shares[i] : ridges[i];
    p->last_iterations = 4;
    if (number_or_auto("--iterations", a->iterations, &number, NULL)) {
        if (number > MOST_ITERATIONS || number != floor(number))
            usage("--iterations: expected auto or a whole number up to %d, found \"%s\"", MOST_ITERATIONS,
                  a->iterations);
        p->first_iterations = p->last_iterations = (size_t)number;
    }
    if (a->metric_from != NULL) p->first_iterations = p->last_iterations = 0;
    if (metric < 3)
        p->metrics[p->metric_count++] = metric;
    else if (p->last_iterations == 0)
        p->metrics[p->metric_count++] = RFM_IDENTITY;
    else {
        if (p->first_iterations == 0) p->metrics[p->metric_count++] = RFM_IDENTITY;
        p->metrics[p->metric_count++] = RFM_DIAGONAL;
        if (d > 1) p->metrics[p->metric_count++] = RFM_FULL;
    }
    if (metric == RFM_IDENTITY) p->first_iterations = p->last_iterations = 0;
    p->centers[p->center_count++] = a->center;
    if (metric == 3 && !a->center && p->last_iterations > 0) p->centers[p->center_count++] = 1;
    if (kernel_is_auto(a) && p->bandwidth_count > 1 && d > 1 && !a->unit_rows && a->metric_from == NULL &&
        a->signal == NULL && !is_network(a))
        p->kernels[p->kernel_count++] = RFM_L1;
    p->models = models_wanted(a);
    p->time_limit = a->time_limit;
    p->coverage = fmax(a->coverage, 0);
    p->interrupted = interrupt_flag();
}

/* ---- the command ---------------------------------------------------------------------------- */

typedef struct job job;
struct job {
    const call *a;
    machine *machine; /* shared by folds */
    csv file;
    passes *passes; /* of a table that is read in passes: then `file` has rows that were drawn; else NULL */
    row_list train, test;
    size_t target, targets; /* columns */
    sample_form form;
    input_list inputs;
    sample learn, check; /* check: to score on */
    size_t d, c, rows_given;
    int method;        /* METHOD_EXACT ... */
    compared compared; /* rows 0: there was one method */
    large_result large;
    tree_result tree;
    int missing;                       /* MISSING_... */
    size_t rows_missing, rows_unknown; /* with missing cells; without a target */
    int *target_kinds;                 /* (targets) COLUMN_... */
    left_out left;                     /* columns */
    char *recipe_text;                 /* how inputs are made: table.h */
    size_t recipe_bytes;
    char *knots; /* tables of inputs: knots.h */
    size_t knots_bytes;
    rfm_real *fill;               /* (d) what missing cells become */
    text decisions;               /* strings */
    size_t apart[3], apart_count; /* columns of weights, groups, times */
    hold_rules hold;              /* of the training rows */
    rfm_real *weights;            /* (training rows), or NULL */
    int tune;                     /* TUNE_..., or -1 */
    measures tested;              /* of the test rows */
    double *folds;                /* of --cv: (cv, CV_FIELDS) */
    lesson lesson;
    search_problem problem;
    search_result choice;
    fitted fit;
    any_model opened;
    size_t blob_bytes;
    void *blob;
    double bandwidth;   /* of the fit */
    recipe recipe;      /* of the network, if there is one */
    void *network;      /* its memory */
    signal_job *signal; /* of --signal, else NULL */
    int way;            /* WAY_... of the inputs */
    size_t changed;     /* columns that it changes */
    job *others[WAYS];  /* with the inputs made in other ways; NULL: not tried */
};

static void say_constant(const job *t) {
    const input *at = t->inputs.at;
    size_t i;
    for (i = 0; i < t->d; i++) {
        column_range r = column_look(&t->file, at[i].column, t->train);
        if (at[i].what == INPUT_NUMBER || has_knots(at[i].what) ? r.low < r.high
                                                                : i > 0 && at[i].column == at[i - 1].column)
            return;
    }
    decided(t->file.file, "every input is the same in all training rows: there is nothing to learn from");
}

/* The task, and what the targets are. */
static void read_target(job *t) {
    const call *a = t->a;
    text names = {NULL, 0, 0};
    size_t i;
    int task = word_or_auto("--task", a->task, task_words);
    t->targets = a->targets > 0 ? a->targets : 1;
    t->target = target_find(&t->file, a->target, t->targets);
    if (t->file.columns < 2) fail("%s: 1 column, expected inputs and a target", a->operands[0]);
    t->rows_unknown =
        rows_known(&t->file, &t->train, t->target, t->targets) + rows_known(&t->file, &t->test, t->target, t->targets);
    say_unknown(&t->file, t->rows_unknown);
    if (t->train.count < (search_needed(&t->problem) ? 2 : 1))
        fail("%s: %zu training rows, expected at least 2 (one is enough if metric, bandwidth, ridge and iterations are "
             "all given)",
             a->split != NULL ? a->split : a->operands[0], t->train.count);
    if (a->targets > 0) task = RFM_REGRESS;
    t->target_kinds = allocate(t->targets, sizeof *t->target_kinds, "targets");
    for (i = 0; i < t->targets; i++) {
        int kind = column_kind(&t->file, t->target + i, t->train);
        t->target_kinds[i] = kind == COLUMN_COMMA || kind == COLUMN_THOUSANDS ? kind : COLUMN_NUMBER;
        if (task != RFM_CLASSIFY && !is_plain(a)) column_decode(&t->file, t->target + i, t->target_kinds[i]);
    }
    if (task == 2) {
        task = target_is_class(&t->file, t->target, t->train) ? RFM_CLASSIFY : RFM_REGRESS;
        note("target %s: %s", t->file.names[t->target],
             task == RFM_CLASSIFY ? "classes (--task regress for numbers)" : "numbers (--task classify for classes)");
    }
    t->form.target = a->target;
    for (i = 0; i < t->targets; i++) {
        const char *name = t->file.names[t->target + i];
        text_bytes(&names, name, strlen(name) + 1);
    }
    t->form.target_names = names.at;
    t->form.targets = t->targets;
    t->form.missing_mean = t->missing != MISSING_ERROR;
    if (task == RFM_CLASSIFY) t->form.class_names = classes_find(&t->file, t->target, t->train, &t->form.classes);
    if (task == RFM_REGRESS && a->coverage > 0)
        fail("%s: --coverage is for classes, expected no numbers as targets", a->operands[0]);
    t->c = form_outputs(&t->form);
}

/* A column that is no input, by its name; NULL: none. */
static size_t apart_column(job *t, const char *option_name, const char *name) {
    size_t column, i;
    char room[GUESS_ROOM];
    if (name == NULL) return t->file.columns;
    column = csv_column(&t->file, name);
    if (column == t->file.columns)
        fail("%s: line 1: expected a column %s (%s), found none of that name%s", t->file.file, name, option_name,
             csv_like(&t->file, name, room));
    if (column >= t->target && column < t->target + t->targets)
        fail("%s: column %zu (%s): %s is the target, expected another column", t->file.file, column + 1, name,
             option_name);
    for (i = 0; i < t->apart_count && t->apart[i] != column; i++) continue;
    if (i == t->apart_count) t->apart[t->apart_count++] = column;
    return column;
}

/* Groups, times and classes of the training rows, for holding some of them out. */
static void read_hold(job *t) {
    const call *a = t->a;
    size_t group = apart_column(t, "--group", a->group), time = apart_column(t, "--time", a->time);
    memset(&t->hold, 0, sizeof t->hold);
    t->hold.rows = t->train.count, t->hold.seed = a->seed, t->hold.classes = t->form.classes;
    if (t->form.classes > 0)
        t->hold.labels = classes_of(&t->file, t->target, t->train, t->form.class_names, t->form.classes);
    if (a->group != NULL) {
        t->hold.groups = column_groups(&t->file, group, t->train, &t->hold.group_count);
        if (t->hold.group_count < 2)
            fail("%s: column %zu (%s): all training rows are one group, expected at least two", t->file.file, group + 1,
                 a->group);
    }
    if (a->time != NULL) t->hold.times = column_times(&t->file, time, t->train);
}

static void free_hold(job *t) {
    free((void *)t->hold.labels);
    free((void *)t->hold.groups);
    free((void *)t->hold.times);
}

/* Those of `rows` that are marked, or the others. */
static row_list rows_marked(row_list rows, const unsigned char *mark, int wanted) {
    row_list list;
    size_t i;
    list.at = allocate(rows.count, sizeof *list.at, "rows");
    list.count = 0;
    for (i = 0; i < rows.count; i++)
        if (mark[i] == wanted) list.at[list.count++] = rows.at[i];
    return list;
}

/* --test-size: a share below 1, or a number of rows. */
static void take_test_rows(job *t) {
    const char *value = t->a->test_size;
    unsigned char *held;
    row_list train, test;
    size_t count;
    double number;
    char *end;
    if (value == NULL) return;
    number = strtod(value, &end);
    if (*value == 0 || *end != 0 || !(number > 0) || (number >= 1 && number != floor(number)))
        usage("--test-size: expected a share between 0 and 1, or a number of rows, found \"%s\"", value);
    if (t->test.count > 0) usage("--test-size and test rows in --split: expected one of them");
    count = (size_t)(number < 1 ? floor(number * (double)t->train.count + 0.5) : fmin(number, 1e15));
    if (count < 1 || count + 1 >= t->train.count)
        fail("%s: --test-size %s is %zu of %zu rows, expected at least one, and two to train on", t->file.file, value,
             count, t->train.count);
    held = allocate(t->train.count, 1, "test rows");
    if (hold_out(&t->hold, count, held) == 0)
        fail("%s: --time %s: too few different times to hold out the last ones", t->file.file, t->a->time);
    train = rows_marked(t->train, held, 0), test = rows_marked(t->train, held, 1);
    text_add(&t->decisions, "%zu rows held out to test on (--test-size %s)%c", test.count, value, 0);
    free(t->train.at);
    free(t->test.at);
    t->train = train, t->test = test;
    free(held);
    free_hold(t);
    read_hold(t);
}

/* What becomes of the columns, by the training rows. */
static void decide_inputs(job *t) {
    const call *a = t->a;
    table_rules rules;
    uint32_t *labels = NULL;
    if (is_plain(a)) {
        t->inputs = inputs_of_file(&t->file, t->target, t->targets, t->train, a->one_hot);
        return;
    }
    memset(&rules, 0, sizeof rules);
    if (t->form.classes > 0) labels = classes_of(&t->file, t->target, t->train, t->form.class_names, t->form.classes);
    rules.one_hot = a->one_hot, rules.missing = t->missing, rules.drop = a->drop, rules.only = a->only;
    rules.apart = t->apart, rules.apart_count = t->apart_count;
    rules.labels = labels, rules.classes = t->form.classes;
    t->inputs = inputs_decide(&t->file, t->target, t->targets, t->train, &rules, &t->left);
    free(labels);
    t->changed = t->way != WAY_STANDARD ? inputs_change(&t->file, &t->inputs, t->train, t->way) : 0;
    if (t->way != WAY_STANDARD && t->changed == 0)
        note("--inputs %s changes no column: it would make hardly a difference to any", way_words[t->way]);
    t->rows_missing = rows_missing(&t->file, &t->inputs, t->train);
    t->recipe_text = recipe_write(&t->file, &t->inputs, t->target, t->targets, t->target_kinds, &t->recipe_bytes);
    t->knots = knots_write(&t->inputs, &t->knots_bytes);
}

static int by_real(const void *a, const void *b) {
    rfm_real x = *(const rfm_real *)a, y = *(const rfm_real *)b;
    return (x > y) - (x < y);
}

/* What missing cells of an input become, less its offset: the mean; or the median where that is asked for, or far from
 * the mean. */
static double fill_of(const job *t, size_t j, rfm_real *room) {
    const sample *s = &t->learn;
    size_t i, count = 0;
    double mean = 0, square = 0, median;
    for (i = 0; i < s->rows; i++)
        if (!isnan(s->x[i * t->d + j])) room[count++] = s->x[i * t->d + j];
    if (count == 0)
        fail("%s: input %s has no value in any training row, expected at least one", t->a->operands[0],
             rfm_name(t->inputs.names, j));
    for (i = 0; i < count; i++) mean += (double)room[i];
    mean /= (double)count;
    if (t->missing == MISSING_MEAN || t->missing == MISSING_ERROR) return mean;
    for (i = 0; i < count; i++) square += ((double)room[i] - mean) * ((double)room[i] - mean);
    qsort(room, count, sizeof *room, by_real);
    median = ((double)room[(count - 1) / 2] + (double)room[count / 2]) / 2;
    return t->missing == MISSING_MEDIAN || fabs(mean - median) > 0.25 * sqrt(square / (double)count) ? median : mean;
}

#define MOST_SAID 8 /* columns, one line each */

static void say_fill(const job *t, size_t j, size_t *said) {
    size_t i, count = 0;
    for (i = 0; i < t->learn.rows; i++) count += isnan(t->learn.x[i * t->d + j]) != 0;
    if (count > 0 && ++*said <= MOST_SAID)
        decided(NULL, "input %s: %zu missing cell%s: %.6g in place of %s", rfm_name(t->inputs.names, j), count,
                count == 1 ? "" : "s", (double)t->fill[j], count == 1 ? "it" : "them");
}

static void fill_missing(job *t) {
    rfm_real *room = allocate(t->learn.rows, sizeof *room, "a column");
    const double *moved = t->learn.moved.x;
    size_t j, said = 0;
    t->fill = allocate(t->d, sizeof *t->fill, "means");
    for (j = 0; j < t->d; j++) t->fill[j] = (rfm_real)(fill_of(t, j, room) + (moved != NULL ? moved[j] : 0));
    for (j = 0; j < t->d; j++) say_fill(t, j, &said);
    if (said > MOST_SAID)
        decided(NULL, "%zu more inputs have missing cells that are filled in likewise", said - MOST_SAID);
    free(room);
    (void)sample_impute(&t->learn, t->d, t->fill);
    (void)sample_impute(&t->check, t->d, t->fill);
}

static void read_test_file(job *t, offsets moved) {
    const call *a = t->a;
    csv other;
    row_list rows;
    input_list inputs;
    size_t target, i;
    text *before = decisions_keep(NULL); /* they are of other rows */
    if (a->split != NULL && t->test.count > 0) usage("--test and test rows in --split: expected one of them");
    csv_read(&other, a->test, !a->no_header);
    inputs = t->recipe_text != NULL
                 ? inputs_of_recipe(&other, t->recipe_text, (unsigned char *)t->knots, t->inputs.names, t->d)
                 : inputs_of_names(&other, t->inputs.names, t->d);
    target = target_find(&other, a->no_header ? NULL : t->file.names[t->target], t->targets);
    for (i = 0; t->form.classes == 0 && i < t->targets; i++) column_decode(&other, target + i, t->target_kinds[i]);
    rows = rows_to_score(&other, NULL, target, t->targets);
    t->check = sample_read(&other, inputs, target, &t->form, rows, moved);
    free(rows.at);
    csv_free(&other);
    (void)decisions_keep(before);
}

static void read_table(job *t) {
    const call *a = t->a;
    unsigned char *use;
    t->missing = a->missing != NULL ? options_word("--missing", a->missing, missing_words)
                 : is_plain(a)      ? MISSING_ERROR
                                    : MISSING_AUTO;
    if (passes_wanted(a))
        t->passes = passes_open(a, &t->file);
    else
        csv_read(&t->file, a->operands[0], !a->no_header);
    use = split_read(a->split, &t->file, USE_TRAIN);
    t->train = rows_of(&t->file, use, USE_TRAIN);
    t->test = rows_of(&t->file, use, USE_TEST);
    free(use);
    read_target(t);
    read_hold(t);
    (void)apart_column(t, "--weights", a->weights);
    take_test_rows(t);
    t->tune = a->tune != NULL ? options_word("--tune", a->tune, tune_words) : a->balance ? TUNE_BALANCED : -1;
    if (a->balance && t->form.classes == 0) fail("%s: --balance is for classes, found numbers", a->operands[0]);
    if (t->tune >= 0 && (t->tune < TUNE_R2) != (t->form.classes > 0))
        fail("%s: --tune %s is for %s, found %s", a->operands[0], tune_words[t->tune],
             t->tune < TUNE_R2 ? "classes" : "numbers", t->form.classes > 0 ? "classes" : "numbers");
}

/* The weight of each training row: its own, times what makes all classes count the same. */
static void read_weights(job *t) {
    const call *a = t->a;
    size_t i, k;
    if (a->weights != NULL) t->weights = column_weights(&t->file, csv_column(&t->file, a->weights), t->train);
    if (a->balance) {
        double *sum = allocate(t->form.classes, sizeof *sum, "weights"), all = 0;
        if (t->weights == NULL) {
            t->weights = allocate(t->train.count, sizeof *t->weights, "weights");
            for (i = 0; i < t->train.count; i++) t->weights[i] = 1;
        }
        for (i = 0; i < t->train.count; i++)
            sum[t->learn.labels[i]] += (double)t->weights[i], all += (double)t->weights[i];
        for (i = 0; i < t->train.count; i++) {
            k = t->learn.labels[i];
            if (sum[k] > 0)
                t->weights[i] = (rfm_real)((double)t->weights[i] * all / (sum[k] * (double)t->form.classes));
        }
        free(sum);
    }
}

/* What is taken out of the rows that are learned from. Pixels stay as they are. */
static offsets offsets_to_learn(const job *t) {
    const call *a = t->a;
    const size_t targets = t->form.classes > 0 ? 0 : t->targets;
    const int stays = a->raw || is_plain(a) || t->method == METHOD_TREE;
    offsets moved, of_inputs;
    if (a->image_size == NULL)
        return offsets_find(&t->file, &t->inputs, t->target, targets, t->train, NULL, stays ? LOSS_STAYS : LOSS_MOVED);
    of_inputs = offsets_find(&t->file, &t->inputs, t->target, 0, t->train, NULL, LOSS_STAYS);
    moved = offsets_of_targets(&t->file, t->target, targets, t->train, NULL);
    moved.x = of_inputs.x;
    return moved;
}

/* The rows as a machine takes them. */
static void read_rows(job *t) {
    const call *a = t->a;
    offsets moved;
    t->rows_given = t->passes != NULL ? passes_known(t->passes) : t->train.count;
    if (t->passes != NULL) t->rows_unknown = passes_unknown(t->passes), say_unknown(&t->file, t->rows_unknown);
    decide_inputs(t);
    t->d = t->inputs.count;
    if (a->signal != NULL) t->signal = signal_begin(a, &t->inputs);
    say_constant(t);
    t->method = t->passes != NULL ? METHOD_LARGE : method_of(a, t->train.count);
    if (!takes_all_rows(t->method) && t->train.count > (a->rows == SIZE_MAX ? MOST_ROWS : a->rows)) {
        rows_draw(&t->train, a->rows == SIZE_MAX ? MOST_ROWS : a->rows, a->seed);
        decided(NULL,
                "%zu training rows: %zu of them are drawn with seed %zu and trained on (--rows N for another number)",
                t->rows_given, t->train.count, a->seed);
        free_hold(t);
        read_hold(t);
    }
    t->learn = sample_read(&t->file, t->inputs, t->target, &t->form, t->train, offsets_to_learn(t));
    moved = offsets_copy(&t->learn.moved, t->d, t->targets);
    if (a->test != NULL)
        read_test_file(t, moved);
    else
        t->check = sample_read(&t->file, t->inputs, t->target, &t->form, t->test, moved);
    if (!is_plain(a)) fill_missing(t);
    read_weights(t);
}

/* The network that is asked for. */
static void check_network(job *t) {
    const call *a = t->a;
    size_t least = t->form.classes > 0 ? t->form.classes : 1, usual = t->form.classes > 0 ? 4 * t->form.classes : 40;
    rfm_model like;
    if (!is_network(a)) return;
    if (a->network_rank != SIZE_MAX && a->network_rank > t->d)
        usage("--rank %zu: expected at most %zu, the inputs", a->network_rank, t->d);
    if (a->network_centers != SIZE_MAX && a->network_centers > t->learn.rows)
        usage("--centers %zu: expected at most %zu, the training rows", a->network_centers, t->learn.rows);
    if (a->network_centers < least)
        usage("--centers %zu: expected at least %zu, one for each class", a->network_centers, least);
    memset(&like, 0, sizeof like);
    like.c = t->c, like.task = t->form.classes > 0 ? RFM_CLASSIFY : RFM_REGRESS;
    t->recipe = recipe_usual(&like, (uint32_t)a->seed);
    if (usual > t->learn.rows) usual = t->learn.rows;
    t->recipe.centers = a->network_centers != SIZE_MAX ? a->network_centers : usual;
    t->recipe.rank = a->network_rank != SIZE_MAX ? a->network_rank : 8;
}

/* The options that were given for the table, as words for rfm info; and how its inputs are made. */
static void record_words(const job *t, text *record) {
    const call *a = t->a;
    text words = {NULL, 0, 0};
    if (a->one_hot) text_add(&words, "--one-hot%c", 0);
    if (a->missing != NULL) text_add(&words, "--missing%c%s%c", 0, a->missing, 0);
    if (a->na != NULL) text_add(&words, "--na%c%s%c", 0, a->na, 0);
    if (a->drop != NULL) text_add(&words, "--drop%c%s%c", 0, a->drop, 0);
    if (a->only != NULL) text_add(&words, "--only%c%s%c", 0, a->only, 0);
    if (a->weights != NULL) text_add(&words, "--weights%c%s%c", 0, a->weights, 0);
    if (a->balance) text_add(&words, "--balance%c", 0);
    if (a->group != NULL) text_add(&words, "--group%c%s%c", 0, a->group, 0);
    if (a->time != NULL) text_add(&words, "--time%c%s%c", 0, a->time, 0);
    if (t->changed > 0) text_add(&words, "--inputs%c%s%c", 0, way_words[t->way], 0);
    if (a->tune != NULL) text_add(&words, "--tune%c%s%c", 0, a->tune, 0);
    if (words.size > 0) record_add(record, RFM_RECORD_WORDS, words.at, words.size);
    free(words.at);
}

/* What the model's tools have to know of the table. */
static void record_table(job *t) {
    text *record = &t->lesson.record;
    double *fill = allocate(t->d, sizeof *fill, "the record");
    uint32_t *prints = sample_prints(&t->learn, t->d, NULL, t->d, t->targets);
    size_t j;
    for (j = 0; j < t->d; j++) fill[j] = (double)t->fill[j];
    record_add_numbers(record, RFM_RECORD_FILL, fill, t->d);
    record_add(record, RFM_RECORD_RECIPE, t->recipe_text, t->recipe_bytes);
    if (t->knots != NULL) record_add(record, RFM_RECORD_KNOTS, t->knots, t->knots_bytes);
    if (csv_more_absent.size > 0) record_add(record, RFM_RECORD_ABSENT, csv_more_absent.at, csv_more_absent.size);
    if (t->left.count > 0)
        record_add(record, RFM_RECORD_LEFT, t->left.at, (size_t)(rfm_name(t->left.at, 2 * t->left.count) - t->left.at));
    record_words(t, record);
    sensor_record(record, t->a->operands[0], t->inputs.names, t->d);
    if (t->passes == NULL) record_add_rows(record, prints, t->learn.rows);
    free(prints);
    free(fill);
}

static void prepare(job *t) {
    text record;
    if (t->signal == NULL) record_table(t);
    record = t->lesson.record;
    lesson_prepare(&t->lesson, &t->learn, &t->form, t->inputs.names, t->d, t->a->raw, t->a->operands[0]);
    t->lesson.record = record, t->lesson.weights = t->weights, t->lesson.decisions = &t->decisions;
}

/* ---- inputs made in other ways -------------------------------------------------------------- */

/* 1 if the search has a say in how inputs are made. */
static int ways_open(const job *t) {
    const call *a = t->a;
    char *sensor = sensor_file(a->operands[0]);
    int open = way_wanted(a) == WAYS && t->method == METHOD_EXACT && t->passes == NULL && !a->raw &&
               a->metric_from == NULL && !is_network(a) && search_needed(&t->problem) &&
               (session_now() != NULL || access(sensor, R_OK) != 0); /* else firmware computes the inputs itself */
    free(sensor);
    return open;
}

static void free_way(job *other) {
    free(other->learn.x);
    sample_free(&other->check);
    free(other);
}

/* The rows once more in every other way that has as many inputs, for the search. */
static void make_ways(job *t) {
    int way, was_quiet = quiet;
    for (way = 1; way < WAYS && ways_open(t); way++) {
        job *other;
        text *before;
        if (way == WAY_BOTH) continue; /* a larger model is made on request only */
        other = allocate(1, sizeof *other, "training");
        *other = *t, other->way = way;
        memset(&other->lesson, 0, sizeof other->lesson);
        quiet = 1, before = decisions_keep(NULL); /* they are those of the standard inputs */
        read_rows(other);
        if (other->changed > 0) prepare(other);
        quiet = was_quiet, (void)decisions_keep(before);
        if (other->changed > 0) {
            t->others[way] = other;
            t->problem.other[way] = rfm_cview(other->learn.x, other->learn.rows, other->d);
        } else
            free_way(other);
    }
}

/* The rows in the way that was chosen take the place of the standard ones. */
static void use_way(job *t) {
    int way, chosen = t->choice.way;
    job *other = chosen != WAY_STANDARD ? t->others[chosen] : NULL;
    if (other != NULL) {
        free(t->learn.x);
        sample_free(&t->check);
        t->way = chosen, t->changed = other->changed, t->d = other->d;
        t->inputs = other->inputs, t->recipe_text = other->recipe_text, t->recipe_bytes = other->recipe_bytes;
        t->knots = other->knots, t->knots_bytes = other->knots_bytes, t->fill = other->fill;
        t->learn = other->learn, t->check = other->check, t->lesson = other->lesson;
        t->lesson.form = &t->form, t->lesson.decisions = &t->decisions;
        decided(NULL, "inputs: %s do better on held-out rows, of %zu columns (--inputs)", way_words[chosen],
                t->changed);
    }
    for (way = 1; way < WAYS; way++) {
        if (t->others[way] == NULL) continue;
        if (t->others[way] == other)
            free(other);
        else
            free_way(t->others[way]);
        t->others[way] = NULL;
    }
}

/* M of another model, for rows as they are fitted here: its P takes raw inputs, and has its bandwidth in it. */
static void take_metric(job *t) {
    const char *file = t->a->metric_from;
    size_t d = t->d, size, i, j, q;
    any_model any;
    const rfm_model *m = &any.numbers;
    rfm_summary summary;
    rfm_real *start;
    char *blob;
    int full;
    if (file == NULL) return;
    model_read(file, &blob, &size, &any);
    if (m->d != d) fail("%s: a model of %zu inputs, expected the %zu of %s", file, m->d, d, t->file.file);
    for (j = 0; j < d && m->input_names != NULL; j++)
        if (strcmp(rfm_name(m->input_names, j), rfm_name(t->inputs.names, j)) != 0)
            fail("%s: its input %zu is %s, expected %s as in %s", file, j + 1, rfm_name(m->input_names, j),
                 rfm_name(t->inputs.names, j), t->file.file);
    full = m->metric == RFM_FULL;
    memset(&summary, 0, sizeof summary);
    if (rfm_model_summary(m, &summary, NULL, 0) != RFM_OK) summary.bandwidth = 1;
    start = allocate(full ? d : 1, d * sizeof *start, "the metric");
    for (i = 0; i < (full ? d : 1); i++)
        for (j = 0; j < d; j++) {
            double sum = 0, unit = (double)summary.bandwidth * (double)summary.bandwidth;
            if (!t->lesson.raw) unit *= (double)t->lesson.scale[full ? i : j] * (double)t->lesson.scale[j];
            for (q = 0; full && q < m->r; q++) sum += (double)m->p[q * d + i] * (double)m->p[q * d + j];
            if (!full) sum = (double)m->p[j] * (double)m->p[j];
            start[i * d + j] = (rfm_real)(sum * unit);
            if (!isfinite(start[i * d + j])) fail("%s: its metric is too large for these inputs", file);
        }
    t->lesson.start = t->problem.start = rfm_cview(start, full ? d : 1, d);
    t->problem.metrics[0] = full ? RFM_FULL : RFM_DIAGONAL;
    free(blob);
}

#define MANY_CLASSES 64
#define MANY_POINTS  512 /* rows at which gradients are taken then */

/* The middle three of five. */
static void middle(double *list, size_t *count) {
    if (*count != 5) return;
    memmove(list, list + 1, 3 * sizeof *list);
    *count = 3;
}

/* Every fit has as many outputs as there are classes: fewer settings, and M from the gradients at fewer rows. */
static void many_classes(job *t) {
    search_problem *p = &t->problem;
    if (t->form.classes <= MANY_CLASSES || t->learn.rows < 2 * MANY_POINTS) return;
    middle(p->bandwidths, &p->bandwidth_count);
    middle(p->ridges, &p->ridge_count);
    p->center_count = 1;
    if (p->first_iterations < p->last_iterations && p->last_iterations > 2) p->last_iterations = 2;
    if (p->last_iterations > 0) p->base.agop_points = MANY_POINTS;
    decided(NULL, "%zu classes: fewer settings are tried, and M is learned from the gradients at %d rows",
            t->form.classes, MANY_POINTS);
}

/* Multiplications in a second, by a fit to a few rows. */
static double speed(job *t) {
    lesson some = t->lesson;
    rfm_options o = t->problem.base;
    fitted *f = allocate(1, sizeof *f, "a trial");
    double start, passed;
    some.rows = some.rows < 400 ? some.rows : 400;
    some.start.at = NULL, some.weights = NULL;
    o.metric = RFM_IDENTITY, o.iterations = 0, o.ridge = 1, o.agop_points = 0;
    start = seconds_now();
    (void)lesson_fit(t->machine, &some, &o, NULL, f);
    passed = seconds_now() - start;
    free(f);
    return fit_work((double)some.rows, (double)t->d, (double)t->c, &o) / fmax(passed, 1e-6);
}

#define WORTH_SAYING 5 /* seconds */

/* Says what search and fit will take; what cannot be is refused. */
static void say_cost(job *t, int searched, size_t fit_bytes) {
    rfm_options o = t->problem.base;
    search_cost cost = {0, 0};
    double fit_cost, rate, workers = t->machine->ctx.run != NULL ? (double)t->machine->ctx.workers : 1;
    char search_time[TIME_ROOM], fit_time[TIME_ROOM];
    o.metric = t->problem.metrics[t->problem.metric_count - 1], o.iterations = t->problem.last_iterations;
    if (searched) cost = search_estimate(&t->problem);
    if (machine_room() > 0 && cost.bytes > machine_room())
        fail("out of memory: the search takes about %.0f bytes, this machine has %.0f; fewer rows: --rows N, or fewer "
             "--threads",
             cost.bytes, machine_room());
    fit_cost = fit_work((double)t->learn.rows, (double)t->d, (double)t->c, &o);
    if (quiet || cost.work + fit_cost < 1e9) return;
    rate = speed(t);
    if (cost.work / rate / workers + fit_cost / rate < WORTH_SAYING) return;
    (void)time_text(cost.work / rate / workers, search_time);
    (void)time_text(fit_cost / rate, fit_time);
    if (searched)
        note("the search will take about %s and %.0f MB, training about %s and %.0f MB", search_time, cost.bytes / 1e6,
             fit_time, (double)fit_bytes / 1e6);
    else
        note("training will take about %s and %.0f MB", fit_time, (double)fit_bytes / 1e6);
}

/* To a row of weight w a ridge is 1 / w as large: rows of a rare class need larger ones. By powers of ten. */
static void raise_ridges(job *t) {
    search_problem *p = &t->problem;
    double most = 0, sum = 0;
    size_t i;
    if (!t->a->balance || p->ridge_count < 2) return;
    for (i = 0; i < t->learn.rows; i++) most = fmax(most, (double)t->weights[i]), sum += (double)t->weights[i];
    for (i = 0; i < p->ridge_count; i++)
        p->ridges[i] *= pow(10, floor(log10(most * (double)t->learn.rows / sum) + 0.5));
}

static void choose(job *t) {
    search_problem *p = &t->problem;
    int fixed = !search_needed(p);
    rfm_options least;
    p->machine = t->machine;
    many_classes(t);
    raise_ridges(t);
    p->x = rfm_cview(t->learn.x, t->learn.rows, t->d);
    p->y = rfm_cview(t->lesson.y, t->learn.rows, t->c);
    p->labels = t->learn.labels;
    p->classes = t->form.classes;
    p->weights = t->weights, p->even = t->a->balance, p->apart = t->hold, p->apart.labels = NULL, p->tune = t->tune;
    if (p->models > 1 && t->method != METHOD_EXACT)
        decided(NULL, "%zu training rows: one model, no mean (--models), which needs the exact method (--rows N)",
                t->rows_given);
    else if (p->models > 1 && (t->lesson.moved.x != NULL || t->lesson.moved.y != NULL))
        decided(NULL, "one model, no mean (--models), for columns have offsets that are taken out");
    if (t->method != METHOD_EXACT || t->lesson.moved.x != NULL || t->lesson.moved.y != NULL) p->models = 1;
    if (p->models > 1 && p->labels != NULL && p->x.rows <= FOLD_ROWS && p->kernel_count > 1 &&
        p->metrics[0] == RFM_IDENTITY)
        p->kernels[p->kernel_count++] = RFM_GAUSSIAN;
    p->balance = t->a->balance || t->tune == TUNE_BALANCED || t->tune == TUNE_F1;
    least = p->base;
    least.metric = p->metrics[0], least.iterations = p->first_iterations, least.bandwidth = 1, least.ridge = 1;
    if (!takes_all_rows(t->method)) /* what cannot be trained is not searched for */
        say_cost(t, !fixed, lesson_need(t->machine, &t->lesson, &least));
    if (fixed && (p->labels == NULL || t->learn.rows < 5)) { /* nothing to choose, nothing to calibrate */
        t->choice.options = p->base;
        t->choice.options.metric = p->metrics[0], t->choice.options.center = p->centers[0];
        t->choice.options.bandwidth_rule = p->bandwidth_rule;
        t->choice.options.bandwidth = (rfm_real)p->bandwidths[0], t->choice.options.ridge = (rfm_real)p->ridges[0];
        t->choice.options.iterations = p->last_iterations;
        t->choice.validation = t->choice.spread = t->choice.tuned = (double)NAN, t->choice.threshold = -1,
        t->choice.models = 1;
    } else
        t->choice = search(p);
    if (t->tune == TUNE_RMSE || t->tune == TUNE_MAE) /* the search has targets as they are fitted */
        t->choice.tuned =
            t->c > 1 && !t->a->raw ? (double)NAN : t->choice.tuned * (t->a->raw ? 1 : (double)t->lesson.y_scale[0]);
    if (fixed) t->choice.tried = 1;
    if (!fixed && t->choice.folds > 1)
        text_add(&t->decisions, "the best of %zu settings in %zu folds of the training rows%c", t->choice.tried,
                 t->choice.folds, 0);
    else if (!fixed)
        text_add(&t->decisions, "the best of %zu settings on %zu held-out training rows%c", t->choice.tried,
                 t->choice.held, 0);
    interrupt_forget(); /* it ended the search; the next one ends the fit */
}

static int teach_tick(void *arg, rfm_real done) {
    (void)arg;
    progress_show("teaching the network", (double)done, 1);
    return *interrupt_flag() != 0;
}

static int fit_tick(void *arg, rfm_real done) {
    (void)arg;
    progress_show("training", (double)done, 1);
    return *interrupt_flag() != 0;
}

/* A network takes the place of the fit that has taught it. */
static void teach(job *t) {
    rfm_ctx ctx;
    rfm_data rows;
    rfm_model model;
    int status;
    memset(&ctx, 0, sizeof ctx);
    memset(&rows, 0, sizeof rows);
    ctx.port = t->machine->ctx.port, ctx.tick = teach_tick;
    rows.x = rfm_cview(t->learn.x, t->learn.rows, t->d), rows.y = rfm_cview(t->lesson.y, t->learn.rows, t->c);
    status = distill_numbers(&ctx, &t->fit.model, t->form.classes > 0 ? RFM_CLASSIFY : RFM_REGRESS, &rows, &t->recipe,
                             &model, &t->network);
    progress_end();
    if (status == RFM_ECANCEL) fail("interrupted; no model was written");
    if (status == RFM_EVALUE)
        fail("cannot make a network of %zu centres: expected at least as many different rows, of at least two classes",
             t->recipe.centers);
    if (status != RFM_OK)
        fail("cannot make a network of %zu centres and rank %zu: %s", t->recipe.centers, t->recipe.rank,
             rfm_status_text(status));
    t->fit.model = model;
}

/* The leaves of a tree have settings of their own; those of the choice are where they begin. */
static void fit_tree(job *t) {
    rfm_tree tree;
    int status = tree_fit(t->machine, &t->lesson, t->a, &t->choice.options, t->choice.temperature, fit_tick, &t->fit,
                          &t->blob, &t->blob_bytes, &tree, &t->tree);
    progress_end();
    if (status == RFM_ECANCEL) fail("interrupted; no model was written");
    if (isfinite(t->tree.validation))
        t->choice.validation = t->tree.validation, t->choice.tuned = (double)NAN, t->choice.held = t->tree.held,
        t->choice.folds = 1;
    t->bandwidth = (double)t->choice.options.bandwidth;
    t->opened = any_of_tree(&tree);
}

/* The other models of a mean; that of the fit is its first. */
static void fit_mean(job *t) {
    size_t count = t->choice.models, sizes[MOST_MODELS], i;
    double shares[MOST_MODELS];
    void *blobs[MOST_MODELS];
    const void *all[MOST_MODELS];
    rfm_tree tree;
    fitted *f = allocate(1, sizeof *f, "a model");
    f->shift = t->fit.shift;
    for (i = 0; i < count; i++) {
        if (i > 0 && lesson_fit(t->machine, &t->lesson, &t->choice.mean[i], fit_tick, f) != RFM_OK)
            fail("interrupted; no model was written");
        shares[i] = t->choice.weights[i] * (double)count;
        all[i] = blobs[i] = lesson_pack_one(&t->lesson, &t->choice.mean[i], i > 0 ? f : &t->fit, shares[i], &sizes[i]);
    }
    t->blob = lesson_join(&t->lesson, t->choice.mean, shares, &t->fit, t->choice.temperature, count, all, sizes,
                          &t->blob_bytes, &tree);
    t->opened = any_of_tree(&tree);
    for (i = 0; i < count; i++) free(blobs[i]);
    free(f);
}

/* A fit with centres to all rows, of the lesson or in passes. */
static int fit_large(job *t) {
    passes_form form;
    rfm_rows rows;
    int status;
    if (t->passes == NULL)
        return large_fit(t->machine, &t->lesson, NULL, t->a, &t->choice.options, fit_tick, &t->fit, &t->large);
    form.recipe = t->recipe_text, form.knots = (unsigned char *)t->knots, form.names = t->inputs.names;
    form.form = &t->form;
    form.target_kinds = t->target_kinds, form.fill = t->fill, form.lesson = &t->lesson;
    rows = passes_rows(t->passes, &form);
    status = large_fit(t->machine, &t->lesson, &rows, t->a, &t->choice.options, fit_tick, &t->fit, &t->large);
    t->large.passes = passes_count(t->passes), t->lesson.rows = t->rows_given;
    return status;
}

static void fit(job *t) {
    rfm_options *o = &t->choice.options;
    rfm_model opened;
    int status = t->method == METHOD_LARGE ? fit_large(t) : lesson_fit(t->machine, &t->lesson, o, fit_tick, &t->fit);
    progress_end();
    if (status == RFM_ECANCEL) fail("interrupted; no model was written");
    if (t->method == METHOD_LARGE && isfinite(t->large.validation))
        t->choice.validation = t->large.validation, t->choice.tuned = (double)NAN, t->choice.held = t->large.held,
        t->choice.folds = 1;
    if (t->fit.path[o->iterations].ridge > o->ridge)
        decided(NULL, "the ridge was raised from %g to %g: the kernel matrix was not positive definite",
                (double)o->ridge, (double)t->fit.path[o->iterations].ridge);
    if (t->a->coverage > 0) {
        if (t->choice.threshold < 0)
            fail("%s: --coverage needs rows to hold out, expected at least 5 training rows", t->a->operands[0]);
        t->fit.coverage = t->a->coverage, t->fit.threshold = t->choice.threshold;
        if (t->choice.threshold >= (double)RFM_LIMIT(MAX))
            decided(NULL, "%zu held-out rows are too few for a coverage of %g: every set will have all classes",
                    t->choice.held, t->a->coverage);
    }
    t->bandwidth = (double)t->fit.model.bandwidth;
    t->fit.shift = t->choice.shift;
    if (is_network(t->a)) teach(t);
    if (t->choice.models > 1) {
        fit_mean(t);
        return;
    }
    t->blob = lesson_pack(&t->lesson, o, &t->fit, is_network(t->a) ? (double)NAN : t->choice.validation,
                          t->choice.temperature, 1, &t->blob_bytes, &opened);
    t->opened = any_of_numbers(&opened);
}

#define CV_FIELDS 6 /* of classes; of numbers 3 */

static const char *const cv_names[2][CV_FIELDS] = {{"r2", "rmse", "mae"},
                                                   {"accuracy", "balanced_accuracy", "f1", "auc", "log_loss", "brier"}};

/* Mean and standard deviation over the folds; those that are not known are left out. */
static double fold_mean(const job *t, size_t field, double *deviation) {
    size_t f, count = 0;
    double sum = 0, sum2 = 0;
    for (f = 0; f < t->a->cv; f++) {
        double value = t->folds[f * CV_FIELDS + field];
        if (isnan(value)) continue;
        sum += value, sum2 += value * value, count++;
    }
    *deviation = count > 1 ? sqrt(fmax(sum2 - sum * sum / (double)count, 0) / (double)(count - 1)) : 0;
    return count > 0 ? sum / (double)count : (double)NAN;
}

static void folds_json(text *out, const job *t) {
    int classes = t->form.classes > 0;
    size_t i;
    text inside = {NULL, 0, 0};
    json_number(&inside, "folds", (double)t->a->cv);
    for (i = 0; i < (classes ? CV_FIELDS : 3); i++) {
        double deviation, mean = fold_mean(t, i, &deviation);
        char name[40];
        json_number(&inside, cv_names[classes][i], mean);
        snprintf(name, sizeof name, "%s_spread", cv_names[classes][i]);
        json_number(&inside, name, deviation);
    }
    json_object(out, "cv", &inside);
    free(inside.at);
}

static void folds_text(text *out, const job *t) {
    int classes = t->form.classes > 0;
    size_t i;
    for (i = 0; i < (classes ? CV_FIELDS : 3); i++) {
        double deviation, mean = fold_mean(t, i, &deviation);
        text_add(out, i == 0 ? "folds         " : i % 3 == 0 ? ",\n              " : ", ");
        text_add(out, "%s %.4g +- %.2g", cv_names[classes][i], mean, deviation);
    }
    text_add(out, ": %zu times\n", t->a->cv);
}

static void dropped_json(text *out, const left_out *left) {
    text names = {NULL, 0, 0};
    size_t i;
    for (i = 0; i < left->count; i++) {
        const char *name = rfm_name(left->at, 2 * i);
        text_bytes(&names, name, strlen(name) + 1);
    }
    json_names(out, "columns_dropped", names.at, left->count);
    free(names.at);
}

/* What each model of a mean is, one string after the other. */
static void mean_names(const job *t, text *list) {
    size_t i;
    for (i = 0; i < t->choice.models; i++) {
        const rfm_options *o = &t->choice.mean[i];
        text_add(list, "%s %s after %zu iterations%c", rfm_kernels[o->kernel].name,
                 metric_words[o->iterations == 0 ? RFM_IDENTITY : o->metric], o->iterations, 0);
    }
}

static void mean_weights(const job *t, text *list, const char *between) {
    size_t i;
    for (i = 0; i < t->choice.models; i++) text_add(list, "%s%.3g", i > 0 ? between : "", t->choice.weights[i]);
}

/* What the measures of --tune are called in the report, in the order of tune_words. */
static const char *const tuned_names[] = {"accuracy", "balanced accuracy", "f1", "auc", "log-loss", "r2", "rmse",
                                          "mae"};

static void report(job *t, double seconds) {
    text out = {NULL, 0, 0};
    const rfm_options *o = &t->choice.options;
    int task = t->form.classes > 0 ? RFM_CLASSIFY : RFM_REGRESS;
    const char *metric = metric_words[o->iterations == 0 && t->a->metric_from == NULL ? RFM_IDENTITY : o->metric];
    double ridge = (double)t->fit.path[o->iterations].ridge;
    if (t->a->json) {
        json_text(&out, "task", task_words[task]);
        json_number(&out, "rows_train", (double)t->lesson.rows);
        json_number(&out, "rows_test", (double)t->check.rows);
        json_number(&out, "rows_missing", (double)t->rows_missing);
        json_number(&out, "rows_left_out", (double)t->rows_unknown);
        dropped_json(&out, &t->left);
        json_number(&out, "features", (double)t->d);
        json_number(&out, "outputs", (double)t->c);
        json_text(&out, "kernel", rfm_kernels[o->kernel].name);
        if (kernel_has_depth(o->kernel)) json_number(&out, "depth", (double)o->exponent);
        json_number(&out, "unit_rows", o->unit_rows);
        json_text(&out, "metric", metric);
        json_real(&out, "bandwidth", (rfm_real)t->bandwidth);
        json_real(&out, "ridge", (rfm_real)ridge);
        json_number(&out, "iterations", (double)o->iterations);
        json_number(&out, "center", o->center);
        json_text(&out, "transform", way_words[t->changed > 0 ? t->way : WAY_STANDARD]);
        json_text(&out, "method",
                  t->method == METHOD_LARGE  ? "large"
                  : t->method == METHOD_TREE ? "tree"
                  : is_network(t->a)         ? "hyperbf"
                                             : "exact");
        if (t->compared.rows > 0) {
            json_number(&out, "validation_large", t->compared.large);
            json_number(&out, "validation_tree", t->compared.tree);
        }
        if (t->method == METHOD_TREE) tree_json(&out, &t->tree);
        if (t->choice.models > 1) {
            text list = {NULL, 0, 0}, weights = {NULL, 0, 0};
            mean_names(t, &list);
            mean_weights(t, &weights, ", ");
            json_number(&out, "models", (double)t->choice.models);
            json_names(&out, "mean_of", list.at, t->choice.models);
            json_array(&out, "mean_weights", &weights);
            free(list.at);
        }
        if (t->method == METHOD_LARGE) {
            json_number(&out, "centers", (double)t->fit.model.n);
            json_number(&out, "passes", (double)t->large.passes);
            json_number(&out, "steps", (double)t->large.steps);
            json_number(&out, "metric_power", t->large.power);
        }
        if (t->signal != NULL) signal_json(&out, t->signal);
        if (is_network(t->a)) {
            json_number(&out, "centers", (double)t->fit.model.n);
            json_number(&out, "rank", (double)t->fit.model.r);
        }
        if (t->check.rows > 0) measures_json(&out, &t->tested);
        if (t->folds != NULL) folds_json(&out, t);
        json_number(&out, "validation", t->choice.validation);
        json_number(&out, "validation_spread", t->choice.spread);
        json_number(&out, "validation_folds", (double)t->choice.folds);
        json_number(&out, "validation_rows", (double)t->choice.held);
        if (isfinite(t->choice.tuned)) {
            json_text(&out, "validation_measure", tune_words[t->tune]);
            json_number(&out, "validation_tuned", t->choice.tuned);
        }
        json_number(&out, "search", (double)t->choice.tried);
        if (t->fit.coverage > 0) {
            json_number(&out, "coverage", t->fit.coverage);
            json_number(&out, "threshold", t->fit.threshold);
            json_number(&out, "rows_held", (double)t->choice.held);
        }
        json_number(&out, "seconds", seconds);
        json_number(&out, "arena_bytes", (double)t->fit.arena_bytes);
        json_number(&out, "model_bytes", (double)t->blob_bytes);
        json_end(&out);
    } else {
        text_add(&out, "task          %s", task_words[task]);
        text_add(&out, task == RFM_CLASSIFY ? ", %zu classes\n" : ", %zu target%s\n",
                 task == RFM_CLASSIFY ? t->form.classes : t->c, t->c == 1 ? "" : "s");
        text_add(&out, "rows          %zu trained on, %zu to test\n", t->lesson.rows, t->check.rows);
        text_add(&out, "features      %zu", t->d);
        if (t->changed > 0) text_add(&out, "; %s of %zu columns", way_words[t->way], t->changed);
        text_add(&out, "\n");
        if (t->signal != NULL) signal_show(&out, t->signal);
        text_add(&out, "kernel        %s", rfm_kernels[o->kernel].name);
        if (kernel_has_depth(o->kernel))
            text_add(&out, " of depth %g", (double)o->exponent);
        else
            text_add(&out, ", bandwidth %.4g", t->bandwidth);
        text_add(&out, ", ridge %.4g%s\n", ridge, o->unit_rows ? ", unit rows" : "");
        if (t->a->metric_from != NULL) {
            text_add(&out, "metric        %s, from ", metric);
            text_name(&out, t->a->metric_from);
            text_add(&out, "\n");
        } else
            text_add(&out, "metric        %s after %zu iterations%s\n", metric, o->iterations,
                     o->center && o->iterations > 0 ? ", gradients centred" : "");
        if (t->choice.models > 1) {
            text list = {NULL, 0, 0};
            size_t i;
            mean_names(t, &list);
            text_add(&out, "mean          of %zu models, the first being that:", t->choice.models);
            for (i = 1; i < t->choice.models; i++) text_add(&out, "%s %s", i > 1 ? "," : "", rfm_name(list.at, i));
            text_add(&out, "; weights ");
            mean_weights(t, &out, " ");
            text_add(&out, "\n");
            free(list.at);
        }
        if (isfinite(t->choice.validation)) {
            if (isfinite(t->choice.tuned))
                text_add(&out, "validation    %s %.4f", tuned_names[t->tune], t->choice.tuned);
            else
                text_add(&out, "validation    %s %.4f", task == RFM_CLASSIFY ? "accuracy" : "r2", t->choice.validation);
            if (t->choice.folds > 1)
                text_add(&out, " in %zu folds of the training rows", t->choice.folds);
            else
                text_add(&out, " on %zu held-out training rows", t->choice.held);
            if (search_needed(&t->problem)) text_add(&out, ", best of %zu settings", t->choice.tried);
            text_add(&out, "\n");
        }
        if (t->method == METHOD_LARGE)
            text_add(&out, "method        large: %zu centres and all rows, read %zu times%s\n", t->fit.model.n,
                     t->large.passes, t->large.power > 1 ? "; weights of inputs squared" : "");
        if (t->method == METHOD_TREE) tree_text(&out, &t->tree);
        if (is_network(t->a))
            text_add(&out, "method        hyperbf: a network of %zu centres and rank %zu, taught by that\n",
                     t->fit.model.n, t->fit.model.r);
        if (t->fit.coverage > 0)
            text_add(&out, "sets          coverage %g by a threshold of %.4g, from %zu held-out rows\n",
                     t->fit.coverage, t->fit.threshold, t->choice.held);
        if (t->folds != NULL) folds_text(&out, t);
        if (t->check.rows > 0) measures_text(&out, &t->tested, t->form.class_names, "test rows");
        text_add(&out, "model         ");
        text_name(&out, t->a->out);
        text_add(&out, ", %zu bytes, %zu centres\n", t->blob_bytes, t->opened.numbers.n);
        text_add(&out, "took          %.2f s, %zu bytes of arena\n", seconds, t->fit.arena_bytes);
    }
    file_show(&out, t->a->out);
    free(out.at);
}

/* For all rows of a large table: a fit with centres, or a tree. */
static void decide_method(job *t) {
    compared *c = &t->compared;
    if (t->method != METHOD_AUTO) return;
    t->method = METHOD_LARGE;
    if (t->learn.moved.x != NULL || t->learn.moved.y != NULL) return; /* a tree has no offsets */
    t->method = best_method(t->machine, &t->lesson, t->a, &t->choice.options, fit_tick, c);
    decided(NULL, "%zu rows: %s of %zu held-out rows %.4f with centres (large), %.4f by a tree: %s (--method)", c->rows,
            t->form.classes > 0 ? "accuracy" : "r2", c->held, c->large, c->tree,
            t->method == METHOD_TREE ? "a tree is trained" : "the first is trained on all");
}

/* ---- cross-validation ----------------------------------------------------------------------- */

/* From the table to a model, and its measures on the rows to test. */
static void learn(job *t) {
    read_rows(t);
    memset(&t->problem, 0, sizeof t->problem);
    read_settings(t->a, &t->problem, t->d);
    check_network(t);
    prepare(t);
    take_metric(t);
    make_ways(t);
    choose(t);
    use_way(t);
    decide_method(t);
    if (t->method == METHOD_TREE)
        fit_tree(t);
    else
        fit(t);
    if (t->check.rows > 0) t->tested = measures_sample(t->machine, &t->opened, &t->check, NULL);
}

/* The same on the rows of one fold, whose measures are all that stays of it. */
static void learn_fold(const job *whole, const size_t *fold, size_t f, double *values) {
    job *t = allocate(1, sizeof *t, "training");
    uint32_t *fit_rows = allocate(whole->train.count, sizeof *fit_rows, "folds");
    uint32_t *held_rows = allocate(whole->train.count, sizeof *held_rows, "folds");
    int was_quiet = quiet;
    text *before;
    size_t i;
    *t = *whole, t->file = csv_apart(&whole->file); /* its own rows say what its columns are */
    memset(&t->decisions, 0, sizeof t->decisions), before = decisions_keep(NULL);
    t->train.at = allocate(whole->train.count, sizeof *t->train.at, "folds");
    t->test.at = allocate(whole->train.count, sizeof *t->test.at, "folds");
    hold_part(&whole->hold, fold, f, fit_rows, &t->train.count, held_rows, &t->test.count);
    if (t->train.count < 2 || t->test.count == 0)
        fail("%s: --cv %zu: fold %zu has %zu rows to train on and %zu to test, expected more groups or times",
             whole->file.file, whole->a->cv, f + 1, t->train.count, t->test.count);
    for (i = 0; i < t->train.count; i++) t->train.at[i] = whole->train.at[fit_rows[i]];
    for (i = 0; i < t->test.count; i++) t->test.at[i] = whole->train.at[held_rows[i]];
    quiet = 1;
    read_hold(t);
    learn(t);
    quiet = was_quiet, (void)decisions_keep(before);
    if (t->form.classes > 0) {
        values[0] = t->tested.accuracy, values[1] = t->tested.balanced, values[2] = t->tested.f1;
        values[3] = t->tested.auc, values[4] = t->tested.log_loss, values[5] = t->tested.brier;
    } else
        values[0] = t->tested.r2, values[1] = t->tested.rmse, values[2] = t->tested.mae;
    note("fold %zu of %zu: %s %.4f of %zu rows", f + 1, whole->a->cv, t->form.classes > 0 ? "accuracy" : "r2",
         values[0], t->test.count);
    measures_free(&t->tested);
    free_hold(t);
    free(t->blob);
    free(t->weights);
    free(t->decisions.at);
    free(t->learn.x);
    sample_free(&t->check);
    csv_apart_free(&t->file);
    free(fit_rows);
    free(held_rows);
    free(t->train.at);
    free(t->test.at);
    free(t);
}

static void cross_validate(job *t) {
    size_t folds = t->a->cv, *fold, f;
    call alone;
    job whole = *t;
    if (folds == SIZE_MAX) return;
    if (folds > t->train.count) fail("%s: --cv %zu: %zu rows are fewer", t->file.file, folds, t->train.count);
    if (t->hold.groups != NULL && t->hold.group_count < folds)
        fail("%s: --cv %zu: %zu groups are fewer", t->file.file, folds, t->hold.group_count);
    alone = *t->a, alone.test = NULL; /* what is held out is all there is to test on */
    whole.a = &alone;
    fold = allocate(t->train.count, sizeof *fold, "folds");
    t->folds = allocate(folds, CV_FIELDS * sizeof *t->folds, "folds");
    hold_folds(&t->hold, folds, fold);
    for (f = 0; f < folds; f++) learn_fold(&whole, fold, f, t->folds + f * CV_FIELDS);
    free(fold);
}

int command_train(const call *a) {
    job *t = allocate(1, sizeof *t, "training");
    double start = seconds_now();
    t->a = a;
    (void)decisions_keep(&t->decisions);
    t->way = way_wanted(a) == WAYS ? WAY_STANDARD : way_wanted(a);
    check_arguments(a); /* wrong usage is said before a file is read */
    (void)word_or_auto("--task", a->task, task_words);
    read_settings(a, &t->problem, 2);
    t->machine = allocate(1, sizeof *t->machine, "training");
    machine_start(t->machine, t->a->threads, t->a->port);
    read_table(t);
    file_check(t->a->out);
    interrupt_catch();
    if (is_plain(a)) {
        read_rows(t);
        if (t->signal != NULL) t->d = signal_pool(t->signal, t->machine, &t->form, &t->learn, &t->inputs, fit_tick);
        memset(&t->problem, 0, sizeof t->problem);
        read_settings(t->a, &t->problem, t->d);
        check_network(t);
        if (a->image_size != NULL) {
            conv_train(a, t->machine, &t->problem, fit_tick, &t->learn, &t->check, &t->form, t->d, start);
            machine_stop(t->machine);
            (void)decisions_keep(NULL);
            return 0;
        }
        prepare(t);
        choose(t);
        fit(t);
        t->opened =
            signal_finish(t->signal, t->machine, &t->form, &t->choice.options, &t->opened, &t->blob, &t->blob_bytes);
        if (t->check.rows > 0) t->tested = measures_sample(t->machine, &t->opened, &t->check, NULL);
    } else {
        cross_validate(t);
        learn(t);
    }
    file_write(t->a->out, t->blob, t->blob_bytes);
    report(t, seconds_now() - start);
    say_useless(&t->tested, "test rows", a->balance);
    if (t->passes != NULL) passes_close(t->passes);
    free(t->network);
    machine_stop(t->machine);
    (void)decisions_keep(NULL);
    return 0;
}

#include "model.h"

#include "files.h"
#include "knots.h"
#include "options.h"
#include "progress.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

any_model any_of_numbers(const rfm_model *model) {
    any_model a;
    memset(&a, 0, sizeof a);
    a.type = RFM_REAL_BYTES, a.numbers = *model;
    return a;
}

any_model any_of_integers(const rfm_model_i *model) {
    any_model a;
    memset(&a, 0, sizeof a);
    a.type = model->type, a.integers = *model;
    a.numbers.n = model->n, a.numbers.d = model->d, a.numbers.c = model->c, a.numbers.r = model->r;
    a.numbers.metric = model->metric, a.numbers.task = model->task;
    a.numbers.class_names = model->class_names, a.numbers.input_names = model->input_names,
    a.numbers.summary = model->summary;
    return a;
}

any_model any_of_tiny(const rfm_tiny *model) {
    any_model a;
    memset(&a, 0, sizeof a);
    a.type = TYPE_TINY, a.tiny = *model;
    a.numbers.n = model->n, a.numbers.d = model->d, a.numbers.c = model->c, a.numbers.r = model->r;
    a.numbers.metric = RFM_FULL, a.numbers.task = model->task;
    a.numbers.class_names = model->class_names, a.numbers.input_names = model->input_names;
    return a;
}

any_model any_of_patches(const rfm_conv_model *model) {
    any_model a;
    memset(&a, 0, sizeof a);
    a.type = RFM_REAL_BYTES, a.of_patches = 1, a.patches = *model;
    a.numbers.n = model->n, a.numbers.d = rfm_conv_pixels(&model->input), a.numbers.c = model->c,
    a.numbers.r = model->r, a.numbers.metric = RFM_FULL, a.numbers.task = model->task,
    a.numbers.class_names = model->class_names, a.numbers.offset = model->offset;
    return a;
}

any_model any_of_tree(const rfm_tree *tree) {
    any_model a;
    rfm_model leaf;
    size_t i;
    memset(&a, 0, sizeof a);
    a.type = RFM_REAL_BYTES, a.of_tree = 1, a.tree = *tree;
    for (i = 0; i < tree->leaves; i++) rfm_tree_leaf(tree, i, &leaf), a.numbers.n += leaf.n;
    a.numbers.d = tree->d, a.numbers.c = tree->c, a.numbers.r = tree->rank, a.numbers.metric = leaf.metric;
    a.numbers.kernel = leaf.kernel, a.numbers.exponent = leaf.exponent, a.numbers.task = tree->task;
    a.numbers.bandwidth = 1, a.numbers.temperature = tree->temperature, a.numbers.shift = tree->shift;
    a.numbers.class_names = tree->class_names, a.numbers.input_names = tree->input_names;
    return a;
}

any_model any_of_filters(const rfm_filters *model) {
    any_model a = any_of_integers(&model->model);
    a.type = TYPE_FILTERS, a.filters = *model;
    a.numbers.d = (size_t)model->channels * model->samples, a.numbers.input_names = model->input_names;
    return a;
}

int has_integers(const any_model *model) { return model->type < RFM_F32; }
int is_tiny(const any_model *model) { return model->type == TYPE_TINY; }
int is_filters(const any_model *model) { return model->type == TYPE_FILTERS; }

int is_mean(const any_model *model) { return model->of_tree && model->tree.nodes == 0; }

const char *tree_word(const any_model *model) {
    return is_mean(model) ? "a mean of models" : "a tree of leaf machines";
}

void mean_read(const char *file, char **blob, size_t *size, any_model *model) {
    any_read(file, blob, size, model);
    if (has_integers(model))
        fail("%s: a model of integers; expected the model of numbers that it was compressed from", file);
    if (model->of_tree && !is_mean(model))
        fail("%s: a tree of leaf machines; expected one model (rfm train --method exact or large)", file);
}

void model_read(const char *file, char **blob, size_t *size, any_model *model) {
    mean_read(file, blob, size, model);
    if (is_mean(model)) fail("%s: a mean of models; expected one model (rfm train --models 1)", file);
}

size_t model_classes(const rfm_model *model) { return model->task != RFM_CLASSIFY ? 0 : model->c == 1 ? 2 : model->c; }
size_t model_targets(const rfm_model *model) { return model->task == RFM_CLASSIFY ? 1 : model->c; }

/* ---- records -------------------------------------------------------------------------------- */

double record_number(const unsigned char *numbers, size_t i) {
    double value;
    memcpy(&value, numbers + i * sizeof value, sizeof value);
    return value;
}

/* An entry of so many finite numbers; NULL: there is none. */
static const unsigned char *numbers_of(const void *record, size_t size, uint16_t tag, size_t count) {
    size_t bytes = 0, i;
    const unsigned char *at = rfm_record_find(record, size, tag, &bytes);
    if (at == NULL || bytes / sizeof(double) != count || bytes % sizeof(double) != 0) return NULL;
    for (i = 0; i < count; i++)
        if (!isfinite((rfm_real)record_number(at, i))) return NULL;
    return at;
}

/* An entry of so many strings. */
static const char *strings_of(const void *record, size_t size, uint16_t tag, size_t count) {
    size_t bytes = 0, i;
    const char *at = rfm_record_find(record, size, tag, &bytes);
    if (at == NULL || bytes == 0 || at[bytes - 1] != 0) return NULL;
    for (i = 0; i < bytes; i++) count -= at[i] == 0;
    return count == 0 ? at : NULL;
}

/* An entry of any number of strings, pieces of `each` of them. */
static const char *any_strings(const void *record, size_t size, uint16_t tag, size_t each, size_t *count) {
    size_t bytes = 0, i, found = 0;
    const char *at = rfm_record_find(record, size, tag, &bytes);
    *count = 0;
    if (at == NULL || bytes == 0 || at[bytes - 1] != 0) return NULL;
    for (i = 0; i < bytes; i++) found += at[i] == 0;
    if (found % each != 0) return NULL;
    *count = found / each;
    return at;
}

uint32_t record_row(const unsigned char *rows, size_t i) { return rfm_get_u32(rows + 4 * i); }

#define MODEL_ENTRY (RFM_RECORD_OPTIONS_BYTES + 8) /* tag and length before it */

int record_model(const model_record *record, size_t i, rfm_options *options) {
    return rfm_record_options(record->models + i * MODEL_ENTRY, MODEL_ENTRY, options);
}

void record_absent(const model_record *record) {
    size_t i;
    const char *word = record->absent;
    for (i = 0; i < record->absent_count; i++, word += strlen(word) + 1) csv_absent_add(word, strlen(word));
}

/* How the inputs are made, if it fits the model. */
static void table_record(const void *at, size_t bytes, const rfm_model *model, size_t targets, model_record *r) {
    size_t found = 0, options = 0;
    const unsigned char *number = numbers_of(at, bytes, RFM_RECORD_TEMPERATURE, 1);
    r->recipe = rfm_record_find(at, bytes, RFM_RECORD_RECIPE, &r->recipe_bytes);
    if (r->recipe != NULL && !recipe_right(r->recipe, r->recipe_bytes, model->d, targets)) r->recipe = NULL;
    if (r->recipe != NULL) {
        size_t tables = 0;
        r->knots = rfm_record_find(at, bytes, RFM_RECORD_KNOTS, &tables);
        r->damaged = !knots_right(r->knots, tables, r->recipe, model->d);
    }
    r->absent = any_strings(at, bytes, RFM_RECORD_ABSENT, 1, &r->absent_count);
    r->left = any_strings(at, bytes, RFM_RECORD_LEFT, 2, &r->left_count);
    r->words = any_strings(at, bytes, RFM_RECORD_WORDS, 1, &r->word_count);
    r->notes = any_strings(at, bytes, RFM_RECORD_DECISIONS, 1, &r->note_count);
    r->models = rfm_record_find(at, bytes, RFM_RECORD_MODELS, &options);
    if (options % MODEL_ENTRY == 0) r->model_count = options / MODEL_ENTRY;
    r->shares = numbers_of(at, bytes, RFM_RECORD_SHARES, r->model_count);
    r->rows = rfm_record_find(at, bytes, RFM_RECORD_ROWS, &found);
    r->row_count = found / 4;
    if (found == 0 || found % 4 != 0) r->rows = NULL, r->row_count = 0;
    if (number != NULL && record_number(number, 0) > 0) r->temperature = record_number(number, 0);
}

/* How the inputs are made of samples. */
static void signal_record(const void *at, size_t bytes, model_record *r) {
    rfm_signal signal;
    r->signal = rfm_record_find(at, bytes, RFM_RECORD_SIGNAL, &r->signal_bytes);
    if (r->signal == NULL || rfm_signal_open(r->signal, r->signal_bytes, &signal) != RFM_OK || signal.names == NULL)
        r->signal = NULL, r->signal_bytes = 0;
}

/* Names and record of a tiny model are one list of entries behind the numbers: *record is what is not names. */
static const void *tiny_entries(const void *blob, const rfm_tiny *model, size_t *bytes, size_t *record) {
    rfm_tiny numbers = *model;
    size_t named = 0, at = 0, all = rfm_get_u32((const unsigned char *)blob + 8);
    (void)rfm_tiny_size(&numbers, 0, &named);
    numbers.class_names = numbers.input_names = NULL;
    (void)rfm_tiny_size(&numbers, 0, &at);
    *bytes = all - at, *record = all - named;
    return all > at ? (const unsigned char *)blob + at : NULL;
}

static model_record record_of(const void *blob, size_t size, const any_model *any) {
    const rfm_model *model = &any->numbers;
    model_record r;
    size_t bytes = 0, targets = model_targets(model);
    const void *at;
    const unsigned char *conformal;
    memset(&r, 0, sizeof r);
    if (is_tiny(any))
        at = tiny_entries(blob, &any->tiny, &bytes, &r.bytes);
    else if (any->of_patches)
        at = rfm_conv_record(blob, size, &bytes), r.bytes = bytes;
    else if (any->of_tree)
        at = rfm_tree_record(blob, size, &bytes), r.bytes = bytes;
    else {
        if (is_filters(any)) blob = rfm_filters_model(blob, &size);
        at = rfm_record_open(blob, size, &bytes), r.bytes = bytes;
    }
    if (at == NULL) return r;
    r.has_options = rfm_record_options(at, bytes, &r.options) == RFM_OK;
    r.targets = strings_of(at, bytes, RFM_RECORD_TARGETS, targets);
    r.fill = numbers_of(at, bytes, RFM_RECORD_FILL, model->d);
    r.offsets = numbers_of(at, bytes, RFM_RECORD_OFFSETS, model->d + (model->task == RFM_CLASSIFY ? 0 : targets));
    r.scales = numbers_of(at, bytes, RFM_RECORD_SCALES, model->d);
    table_record(at, bytes, model, targets, &r);
    signal_record(at, bytes, &r);
    conformal = numbers_of(at, bytes, RFM_RECORD_CONFORMAL, 2);
    if (conformal != NULL && model->task == RFM_CLASSIFY && record_number(conformal, 0) > 0 &&
        record_number(conformal, 0) <= 1 && record_number(conformal, 1) >= 0)
        r.coverage = record_number(conformal, 0), r.threshold = record_number(conformal, 1);
    return r;
}

void record_add(text *record, uint16_t tag, const void *data, size_t bytes) {
    size_t before = record->size, used = before;
    int status = rfm_record_add(NULL, 0, &used, tag, data, bytes);
    while (record->size < used) text_bytes(record, "", 1);
    if (status == RFM_OK) status = rfm_record_add((unsigned char *)record->at, used, &before, tag, data, bytes);
    if (status != RFM_OK) fail("cannot write the record of the model: %s", rfm_status_text(status));
}

void record_add_numbers(text *record, uint16_t tag, const double *numbers, size_t count) {
    record_add(record, tag, numbers, count * sizeof *numbers); /* no blob is written where bytes have another order */
}

void record_add_options(text *record, const rfm_options *options) {
    unsigned char entry[MODEL_ENTRY];
    size_t used = 0;
    int status = rfm_record_add_options(entry, sizeof entry, &used, options);
    if (status != RFM_OK) fail("cannot write the options of the model: %s", rfm_status_text(status));
    text_bytes(record, (const char *)entry, used);
}

/* ---- files ---------------------------------------------------------------------------------- */

#define PATCHES_MAGIC "rfmp"

/* Sums have the magic of patches, and 16 bytes on a model. */
static int has_sums(const char *bytes, size_t size) {
    return size >= 20 && memcmp(bytes, PATCHES_MAGIC, 4) == 0 && memcmp(bytes + 16, "rfmb", 4) == 0;
}

int patches_read(const char *file, char **blob, size_t *size, any_model *model) {
    FILE *f = strcmp(file, "-") == 0 ? NULL : fopen(file, "rb");
    char magic[4] = {0, 0, 0, 0};
    rfm_conv_model patches;
    int status;
    if (f == NULL) return 0; /* any_read says why */
    status = fread(magic, 1, 4, f) == 4 && memcmp(magic, PATCHES_MAGIC, 4) == 0;
    fclose(f);
    if (!status) return 0;
    *blob = file_read(file, size);
    if (has_sums(*blob, *size)) return free(*blob), 0;
    status = rfm_conv_open(*blob, *size, &patches);
    if (status != RFM_OK) fail("%s: expected a model made by rfm train --image: %s", file, rfm_status_text(status));
    *model = any_of_patches(&patches);
    model->record = record_of(*blob, *size, model);
    return 1;
}

static void blob_read(const char *file, char **blob, size_t *size, any_model *model) {
    rfm_blob head;
    rfm_model numbers;
    rfm_model_i integers;
    rfm_tiny tiny;
    int status;
    *blob = file_read(file, size);
    if (has_sums(*blob, *size)) fail("%s: sums of rows; expected a model, as rfm merge makes it of them", file);
    if (*size >= 4 && memcmp(*blob, PATCHES_MAGIC, 4) == 0)
        fail("%s: a model of patches of images; rfm predict, evaluate, info and report take it, from a file. Firmware "
             "takes the file itself, as an aligned array: rfm_conv_open (rfm_conv.h)",
             file);
    if (*size >= 4 && memcmp(*blob, "rfmc", 4) == 0) {
        status = rfm_tiny_open(*blob, *size, &tiny);
        if (status == RFM_OK) *model = any_of_tiny(&tiny), model->record = record_of(*blob, *size, model);
        if (status != RFM_OK) fail("%s: expected a tiny model: %s", file, rfm_status_text(status));
        return;
    }
    if (*size >= 4 && memcmp(*blob, "rfmf", 4) == 0) {
        rfm_filters filters;
        status = rfm_filters_open(*blob, *size, &filters);
        if (status != RFM_OK) fail("%s: expected a bank of filters: %s", file, rfm_status_text(status));
        *model = any_of_filters(&filters), model->record = record_of(*blob, *size, model);
        return;
    }
    if (*size >= 4 && memcmp(*blob, "rfmt", 4) == 0) {
        rfm_tree tree;
        status = rfm_tree_open(*blob, *size, &tree);
        if (status != RFM_OK) fail("%s: expected a tree of rfm train --method tree: %s", file, rfm_status_text(status));
        *model = any_of_tree(&tree), model->record = record_of(*blob, *size, model);
        return;
    }
    status = rfm_blob_open(*blob, *size, RFM_I8 + RFM_I16 + RFM_REAL_BYTES, &head);
    if (status == RFM_OK && head.type < RFM_F32) {
        status = rfm_model_open_i(*blob, *size, &integers);
        if (status == RFM_OK) *model = any_of_integers(&integers);
    } else if (status == RFM_OK) {
        status = rfm_model_open(*blob, *size, &numbers);
        if (status == RFM_OK) *model = any_of_numbers(&numbers);
    }
    if (status == RFM_OK) model->record = record_of(*blob, *size, model);
    if (status != RFM_OK)
        fail("%s: expected a model made by rfm train or rfm compress: %s", file, rfm_status_text(status));
}

void any_read(const char *file, char **blob, size_t *size, any_model *model) {
    blob_read(file, blob, size, model);
    if (model->record.damaged)
        fail("%s: expected a table of knots for each input that needs one, found others in its record", file);
}

/* ---- words ---------------------------------------------------------------------------------- */

const char *const metric_words[] = {"identity", "diag", "full", NULL};
const char *const scale_words[] = {"none", "max", "trace", NULL};
const char *const task_words[] = {"regress", "classify", NULL};

int kernel_of(const char *name, const char *word) {
    const char *words[RFM_KERNELS + 1];
    int k;
    for (k = 0; k < RFM_KERNELS; k++) words[k] = rfm_kernels[k].name;
    words[RFM_KERNELS] = NULL;
    return options_word(name, word, words);
}

int kernel_has_depth(int kernel) { return rfm_kernels[kernel].layers; }
int kernel_has_exponent(int kernel) { return rfm_kernels[kernel].exponent <= 0 && !kernel_has_depth(kernel); }

int needs_whole_build(const rfm_model *m) { return kernel_has_exponent(m->kernel) && m->exponent <= (rfm_real)0.125; }
int on_sphere(const rfm_model *model) { return kernel_has_depth(model->kernel) || model->radius > 0; }

const char *any_kernel(const any_model *model) {
    return is_tiny(model)        ? rfm_kernels[RFM_GAUSSIAN].name
           : has_integers(model) ? "table"
                                 : rfm_kernels[model->numbers.kernel].name;
}

const char *any_metric(const any_model *model) {
    if (model->of_tree) return metric_words[model->numbers.metric]; /* of its last leaf */
    return has_integers(model) ? metric_words[model->numbers.metric] : model_metric(&model->numbers, NULL);
}

int metric_given(const any_model *model) {
    const rfm_options *o = &model->record.options;
    return model->record.has_options && o->iterations == 0 && o->metric != RFM_IDENTITY && !has_integers(model) &&
           strcmp(any_metric(model), metric_words[RFM_IDENTITY]) != 0;
}

void certifiable(const any_model *model, const char *file) {
    if (model->numbers.task != RFM_CLASSIFY) fail("%s: expected a model of classes for --certify", file);
    if (is_filters(model)) fail("%s: a bank of filters has no certificates; expected a model of a table", file);
    if (model->of_tree) fail("%s: %s has no certificates; expected one model", file, tree_word(model));
    if (!has_integers(model) && model->numbers.kernel != RFM_LAPLACE && model->numbers.kernel != RFM_GAUSSIAN)
        fail("%s: expected a model of the kernel laplace or gaussian for --certify, found %s", file, any_kernel(model));
    if (has_integers(model) && !is_tiny(model) && model->integers.absolute)
        fail("%s: expected squared distances for --certify, found a model of the kernel l1", file);
    if (!has_integers(model) && on_sphere(&model->numbers))
        fail("%s: expected rows as they are for --certify, found a model of unit rows", file);
}

const char *type_word(int type) {
    return type == RFM_I8         ? "i8"
           : type == RFM_I16      ? "i16"
           : type == TYPE_TINY    ? "tiny"
           : type == TYPE_FILTERS ? "filters"
           : type == RFM_F32      ? "f32"
                                  : "f64";
}

/* ---- the metric ----------------------------------------------------------------------------- */

/* M = S P'P S bandwidth^2, S the scales of the inputs: the units of the data are folded into P. */
typedef struct {
    double bandwidth;
    const rfm_real *scale;
} units;

static units units_of(const rfm_model *model) {
    rfm_summary s;
    units u = {1, NULL};
    if (rfm_model_summary(model, &s, NULL, 0) == RFM_OK) u.bandwidth = (double)s.bandwidth, u.scale = s.x_scale;
    return u;
}

static double unit_of(units u, size_t j) { return u.bandwidth * (u.scale != NULL ? (double)u.scale[j] : 1); }

static rfm_real metric_entry(const rfm_model *model, units u, size_t i, size_t j) {
    double sum = 0;
    size_t q;
    for (q = 0; q < model->r; q++) sum += (double)model->p[q * model->d + i] * (double)model->p[q * model->d + j];
    return (rfm_real)(sum * (unit_of(u, i) * unit_of(u, j)));
}

void model_metric_row(const rfm_model *model, size_t i, rfm_real *row) {
    units u = units_of(model);
    size_t j;
    for (j = 0; j < model->d; j++) row[j] = metric_entry(model, u, i, j);
}

void model_diagonal(const rfm_model *model, rfm_real *m) {
    units u = units_of(model);
    size_t j;
    if (model->metric != RFM_FULL)
        (void)model_metric(model, m);
    else
        for (j = 0; j < model->d; j++) m[j] = metric_entry(model, u, j, j);
}

rfm_real *model_factor(const rfm_model *model) {
    units u = units_of(model);
    rfm_real *f = allocate(model->r, model->d * sizeof *f, "a factor of the metric");
    size_t i;
    for (i = 0; i < model->r * model->d; i++) f[i] = (rfm_real)((double)model->p[i] * unit_of(u, i % model->d));
    return f;
}

/* phi = 2^(-t / 2^s), t in units of 2^(shift_p - exponent_j) for one of P_pj. */
rfm_real *tiny_factor(const rfm_tiny *model, const unsigned char *scales) {
    size_t d = model->d, q, j;
    rfm_real *f = allocate(model->r, d * sizeof *f, "a factor of the metric");
    double width = sqrt(2 * log(2) * ldexp(1, -(int)model->phi_shift));
    for (q = 0; q < model->r; q++)
        for (j = 0; j < d; j++) {
            int e = model->exponents != NULL ? model->exponents[j] : model->exponent;
            f[q * d + j] = (rfm_real)(ldexp(model->p[q * d + j] * width, e - model->shifts[q]) *
                                      (scales != NULL ? record_number(scales, j) : 1));
        }
    return f;
}

const char *model_metric(const rfm_model *model, rfm_real *m) {
    size_t d = model->d, j;
    units u = units_of(model);
    int identity = 1;
    if (model->metric == RFM_FULL) {
        for (j = 0; m != NULL && j < d; j++) model_metric_row(model, j, m + j * d);
        return metric_words[RFM_FULL];
    }
    for (j = 0; j < d; j++) {
        double p = (double)model->p[j] * unit_of(u, j);
        identity &= fabs(p - 1) < 1e-6;
        if (m != NULL) m[j] = (rfm_real)(p * p);
    }
    for (j = 0; m != NULL && identity && j < d; j++) m[j] = 1; /* but for rounding it is */
    return metric_words[identity ? RFM_IDENTITY : RFM_DIAGONAL];
}

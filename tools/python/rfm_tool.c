#include "rfm_tool.h"

#include "memory.h"

#include "host/arrays.h"
#include "host/pool.h"
#include "host/session.h"
#include "rfm/command.h"
#include "rfm/learn/measures.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORDS   200
#define MOST_ERROR   10000
#define PROGRESS_GAP 0.05 /* seconds between two calls of it, at least */

static const char canceled[] = "canceled";

const uint32_t *rfm_tool_abi(void) {
    static const uint32_t abi[] = {9,
                                   RFM_TOOL_ABI,
                                   RFM_VERSION_MAJOR,
                                   RFM_VERSION_MINOR,
                                   RFM_VERSION_PATCH,
                                   RFM_REAL_BYTES,
                                   sizeof(rfm_tool_array),
                                   sizeof(rfm_tool_rows),
                                   sizeof(rfm_tool_options),
                                   sizeof(rfm_tool_result)};
    return abi;
}

/* ---- a call --------------------------------------------------------------------------------- */

/* What a call has to do, on the thread of the session. */
typedef struct work work;
struct work {
    session session; /* the first: a session is its work */
    void (*run)(work *w);
    memory_list memory;
    pthread_mutex_t lock; /* of status and error */
    int status;
    char error[MOST_ERROR];
    text notes, summary, made; /* not in the list: they outlive it */
    const rfm_tool_options *options;
    double shown; /* when progress was called last */
    /* inputs */
    const void *model;
    size_t model_size;
    const rfm_tool_rows *rows;
    array_table table;
    size_t command;
    const char *words[MOST_WORDS];
    size_t word_count;
    /* of predict and metric */
    size_t c, class_count;
    int full;
    double *y, *probabilities;
    uint32_t *classes;
};

/* Where a failure of this thread goes on. */
static __thread jmp_buf *way_out;

static void set_error(work *w, int status, const char *message) {
    pthread_mutex_lock(&w->lock);
    if (w->status == RFM_TOOL_OK) {
        size_t length = strlen(message) < MOST_ERROR - 1 ? strlen(message) : MOST_ERROR - 1;
        w->status = status;
        memcpy(w->error, message, length);
        w->error[length] = 0;
    }
    pthread_mutex_unlock(&w->lock);
}

static int has_failed(work *w) {
    int status;
    pthread_mutex_lock(&w->lock);
    status = w->status;
    pthread_mutex_unlock(&w->lock);
    return status != RFM_TOOL_OK;
}

static int is_canceled(const work *w) { return *w->session.cancel != 0; }

static void on_fail(session *s, int status, const char *message) {
    work *w = (work *)s;
    if (is_canceled(w))
        set_error(w, RFM_TOOL_CANCELED, canceled);
    else
        set_error(w, strncmp(message, "out of memory", 13) == 0 ? RFM_TOOL_MEMORY : status, message);
    longjmp(*way_out, 1);
}

/* Texts of the result are not the call's memory. */
static void keep(work *w, text *to, const void *bytes, size_t size) {
    pthread_mutex_lock(&w->lock);
    memory_follow(NULL);
    if (size + 1 > to->room - to->size) {
        size_t room = 2 * to->room + size + 64;
        char *more = realloc(to->at, room);
        if (more != NULL) to->at = more, to->room = room;
    }
    if (size + 1 <= to->room - to->size) {
        memcpy(to->at + to->size, bytes, size);
        to->size += size;
        to->at[to->size] = 0;
        size = 0;
    }
    memory_follow(&w->memory);
    pthread_mutex_unlock(&w->lock);
    if (size > 0) fail("out of memory: %zu bytes for the result", size);
}

static void on_note(session *s, const char *message) {
    work *w = (work *)s;
    keep(w, &w->notes, message, strlen(message));
    keep(w, &w->notes, "\n", 1);
}

static void on_progress(session *s, const char *label, double share) {
    work *w = (work *)s;
    double now = seconds_now();
    if (is_canceled(w)) fail("%s", canceled);
    if (w->options == NULL || w->options->progress == NULL || now - w->shown < PROGRESS_GAP) return;
    w->shown = now;
    if (w->options->progress(w->options->arg, label, share) != 0) {
        set_error(w, RFM_TOOL_CANCELED, canceled);
        fail("%s", canceled);
    }
}

static const void *on_bytes(session *s, const char *file, size_t *size) {
    const work *w = (work *)s;
    *size = w->model_size;
    return strcmp(file, "model") == 0 ? w->model : NULL;
}

static const array_table *on_table(session *s, const char *file) {
    work *w = (work *)s;
    return w->rows != NULL && strcmp(file, "data") == 0 ? &w->table : NULL;
}

static void on_write(session *s, const char *file, const void *bytes, size_t size) {
    work *w = (work *)s;
    keep(w, file == NULL ? &w->summary : &w->made, bytes, size);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

typedef struct {
    work *w;
    rfm_job job;
    void *arg;
} carried;

/* A job that fails ends itself; those that have not begun then do nothing. */
static void carried_job(void *arg, size_t index, size_t worker) {
    const carried *k = arg;
    session *before = session_now();
    jmp_buf *way_before = way_out, here;
    if (has_failed(k->w)) return;
    session_set(&k->w->session);
    memory_follow(&k->w->memory);
    way_out = &here;
    if (setjmp(here) == 0) k->job(k->arg, index, worker);
    way_out = way_before;
    session_set(before);
    memory_follow(before != NULL ? &k->w->memory : NULL);
}

static void on_run(session *s, struct pool *threads, rfm_job job, void *arg, size_t jobs) {
    carried k;
    k.w = (work *)s, k.job = job, k.arg = arg;
    pool_run(threads, carried_job, &k, jobs);
    if (has_failed(k.w)) longjmp(*way_out, 1);
}

/* ---- the table ------------------------------------------------------------------------------ */

static array_column column_of(const rfm_tool_array *a, size_t j, const char *name) {
    array_column k;
    memset(&k, 0, sizeof k);
    k.at = (const char *)a->at + (ptrdiff_t)j * a->col_step, k.step = a->row_step, k.type = a->type, k.name = name;
    return k;
}

/* A name that no input has: the word, with as many _ behind it as it takes. */
static char *free_name(const char *word, const char *names, size_t count) {
    size_t length = strlen(word), j = 0;
    char *name = allocate(length + count + 1, 1, "a name");
    strcpy(name, word);
    while (names != NULL && j < count) {
        for (j = 0; j < count && strcmp(rfm_name(names, j), name) != 0; j++) continue;
        if (j < count) name[length++] = '_';
    }
    return name;
}

static char *numbered(const char *word, size_t number) {
    char name[40];
    int length = snprintf(name, sizeof name, "%s%zu", word, number);
    return copy_text(name, (size_t)length);
}

static void check_array(const rfm_tool_array *a, const char *what, size_t rows) {
    if (a->type < 0 || a->type >= RFM_TOOL_TYPES) fail("%s: numbers of type %d, which is none", what, a->type);
    if (a->rows != rows) fail("%s has %zu rows, X has %zu: expected as many", what, a->rows, rows);
}

/* Classes: y has their numbers. */
static void set_labels(const rfm_tool_rows *r, array_column *y) {
    const char **texts = allocate(r->label_count, sizeof *texts, "classes"), *at = r->labels;
    double *values = allocate(r->label_count, sizeof *values, "classes");
    size_t k, i;
    for (k = 0; k < r->label_count; k++, at += strlen(at) + 1) {
        const char *end = r->label_texts ? NULL : csv_number(at, &values[k]);
        texts[k] = at;
        if (end == NULL || *end != 0) values[k] = (double)INFINITY; /* CSV_TEXT */
    }
    for (i = 0; i < r->y.rows; i++) {
        double code = array_value(y, i);
        if (!(code >= 0 && code < (double)r->label_count)) fail("y: row %zu: class %.0f, which is none", i, code);
    }
    y->texts = texts, y->values = values;
}

/* Of those that are given; NULL: it is not among them. */
static const char *option_value(const work *w, const char *name) {
    const char *const *word = w->options != NULL ? w->options->words : NULL;
    for (; word != NULL && *word != NULL; word++)
        if (strcmp(*word, name) == 0) return word[1];
    return NULL;
}

/* A command leaves out rows without a target and columns without a value; who has arrays does not expect that. */
static void check_numbers(const char *what, const array_column *a, size_t rows, size_t j) {
    size_t i;
    for (i = 0; i < rows; i++)
        if (csv_kind(array_value(a, i)) != CSV_NUMBER)
            fail("Input %s contains NaN, infinity or a value too large: row %zu, column %zu is %g", what, i, j,
                 array_number(a, i));
}

/* X, weights, y, in this order. Without names the columns are called x0, x1, ... */
static void set_table(work *w, const char *names) {
    const rfm_tool_rows *r = w->rows;
    size_t d = r->x.cols, targets = r->y.at != NULL ? r->y.cols : 0, weights = r->weights.at != NULL, j, n = 0;
    int given = names != NULL;
    const char *refused = option_value(w, "--missing");
    array_column *all;
    if (d == 0 || r->x.at == NULL) fail("X: 0 columns, expected at least one");
    if (r->x.rows == 0) fail("X: 0 rows, expected at least one");
    check_array(&r->x, "X", r->x.rows);
    if (targets > 0) check_array(&r->y, "y", r->x.rows);
    if (weights) check_array(&r->weights, "sample_weight", r->x.rows);
    all = allocate(d + weights + targets, sizeof *all, "columns");
    for (j = 0; j < d; j++) {
        all[n++] = column_of(&r->x, j, names != NULL ? names : numbered("x", j));
        if (names != NULL) names += strlen(names) + 1;
    }
    if (weights) all[n++] = column_of(&r->weights, 0, free_name("sample_weight", r->names, d));
    for (j = 0; j < targets; j++)
        all[n++] = column_of(&r->y, j, targets > 1 ? numbered("y", j) : free_name("y", r->names, d));
    if (targets == 1 && r->labels != NULL)
        set_labels(r, &all[n - 1]);
    else
        for (j = 0; j < targets; j++) check_numbers("y", &all[n - targets + j], r->x.rows, j);
    for (j = 0; refused != NULL && strcmp(refused, "error") == 0 && j < d; j++)
        check_numbers("X", &all[j], r->x.rows, j);
    w->table.name = "data", w->table.header = given, w->table.rows = r->x.rows, w->table.columns = n,
    w->table.column = all;
}

/* ---- what is done --------------------------------------------------------------------------- */

static void add_word(work *w, const char *word) {
    if (w->word_count + 1 >= MOST_WORDS) fail("too many options");
    w->words[w->word_count++] = word;
}

static void add_options(work *w) {
    size_t i;
    if (w->options == NULL || w->options->words == NULL) return;
    for (i = 0; w->options->words[i] != NULL; i++) add_word(w, w->options->words[i]);
}

static const char *column_name(const work *w, size_t from_end) {
    return w->table.column[w->table.columns - from_end].name;
}

static void run_train(work *w) {
    set_table(w, w->rows->names);
    if (w->rows->y.at == NULL) fail("y: there is none, expected the targets");
    add_word(w, "data"), add_word(w, "-o"), add_word(w, "made"), add_word(w, "--json");
    if (w->rows->y.cols > 1)
        add_word(w, "--targets"), add_word(w, numbered("", w->rows->y.cols));
    else
        add_word(w, "--target"), add_word(w, column_name(w, 1));
    add_word(w, "--task"), add_word(w, w->rows->labels != NULL ? "classify" : "regress");
    if (w->rows->weights.at != NULL) add_word(w, "--weights"), add_word(w, column_name(w, w->rows->y.cols + 1));
    add_options(w);
    (void)command_run(w->command, (char **)w->words);
}

/* Columns without names are those that the model was trained on, if they are as many. */
static const char *names_by_model(work *w) {
    char *blob;
    size_t size;
    any_model any;
    const char *names = w->rows->names;
    if (names != NULL) return names;
    any_read("model", &blob, &size, &any);
    if (any.record.recipe != NULL) {
        size_t columns;
        names = recipe_columns(any.record.recipe, any.numbers.d, &columns);
        return columns == w->rows->x.cols ? names : NULL;
    }
    return any.numbers.d == w->rows->x.cols ? any.numbers.input_names : NULL;
}

static void run_with_rows(work *w) {
    set_table(w, names_by_model(w));
    add_word(w, "model");
    if (w->command == COMMAND_compress) add_word(w, "-o"), add_word(w, "made"), add_word(w, "--data");
    add_word(w, "data"), add_word(w, "--json");
    if (w->rows->y.at == NULL) fail("y: there is none, expected the targets");
    if (w->rows->y.cols == 1) add_word(w, "--target"), add_word(w, column_name(w, 1));
    add_options(w);
    (void)command_run(w->command, (char **)w->words);
}

static void run_with_model(work *w) {
    add_word(w, "model");
    if (w->command == COMMAND_export)
        add_word(w, "-o"), add_word(w, "made");
    else
        add_word(w, "--json");
    add_options(w);
    (void)command_run(w->command, (char **)w->words);
}

static void run_predict(work *w) {
    machine m;
    any_model any;
    csv file;
    char *blob;
    size_t size, i, k;
    predictions p;
    double temperature, *row;
    const char *threads = option_value(w, "--threads");
    any_read("model", &blob, &size, &any);
    if (any.numbers.c != w->c || model_classes(&any.numbers) != w->class_count)
        fail("a model of %zu outputs and %zu classes, expected room for as many, found %zu and %zu", any.numbers.c,
             model_classes(&any.numbers), w->c, w->class_count);
    temperature = model_temperature(&any);
    if (w->probabilities != NULL && !(temperature > 0)) fail("the model has no probabilities");
    set_table(w, names_by_model(w));
    machine_start(&m, threads != NULL ? (size_t)strtoul(threads, NULL, 10) : 0, "auto");
    csv_read(&file, "data", 1);
    p = predict_table(&m, &any, &file, fills_missing(&any, "model", option_value(w, "--missing")));
    row = allocate(w->class_count + 1, sizeof *row, "probabilities");
    for (i = 0; i < p.s.rows; i++) {
        const rfm_real *y = p.y + i * w->c;
        for (k = 0; w->y != NULL && k < w->c; k++)
            w->y[i * w->c + k] = (p.added != NULL ? (double)p.added[k] : 0) + (double)y[k];
        if (w->classes != NULL) w->classes[i] = p.classes[i];
        if (w->probabilities == NULL) continue;
        probabilities(y, w->c, temperature, row);
        memcpy(w->probabilities + i * w->class_count, row, w->class_count * sizeof *row);
    }
    machine_stop(&m);
}

static void run_metric(work *w) {
    any_model any;
    char *blob;
    size_t size, d = w->c, i, j;
    rfm_real *row;
    any_read("model", &blob, &size, &any);
    if (is_tiny(&any))
        any.numbers.p = tiny_factor(&any.tiny, any.record.scales);
    else if (has_integers(&any))
        fail("a model of integers has no metric; expected the one that it was compressed from");
    if (any.numbers.d != d || (any.numbers.metric == RFM_FULL) != w->full)
        fail("a model of %zu inputs whose metric is %s, expected another", any.numbers.d, any_metric(&any));
    row = allocate(d, sizeof *row, "a row of the metric");
    for (i = 0; i < (w->full ? d : 1); i++) {
        if (w->full)
            model_metric_row(&any.numbers, i, row);
        else
            model_diagonal(&any.numbers, row);
        for (j = 0; j < d; j++) w->y[i * d + j] = (double)row[j];
    }
}

/* ---- the functions -------------------------------------------------------------------------- */

static void run_guarded(work *w) {
    jmp_buf here;
    way_out = &here;
    if (setjmp(here) == 0) w->run(w);
    way_out = NULL;
    (void)decisions_keep(NULL); /* memory of the call */
    csv_absent_forget();
}

/* Runs it, and hands over what was made. */
static int finish(work *w, void (*run)(work *w), rfm_tool_result *result) {
    static const volatile sig_atomic_t never = 0;
    session *outer = session_now();
    int status;
    memset(result, 0, sizeof *result);
    w->run = run;
    w->session.fail = on_fail, w->session.note = on_note, w->session.progress = on_progress;
    w->session.bytes = on_bytes, w->session.table = on_table, w->session.write = on_write, w->session.run = on_run;
    w->session.cancel = w->options != NULL && w->options->cancel != NULL ? w->options->cancel : &never;
    pthread_mutex_init(&w->lock, NULL);
    memory_begin(&w->memory);
    session_set(&w->session);
    memory_follow(&w->memory);
    run_guarded(w);
    pool_destroy(w->session.pool);
    memory_follow(NULL);
    session_set(outer);
    result->peak = w->memory.peak;
    memory_end(&w->memory);
    pthread_mutex_destroy(&w->lock);
    status = w->status;
    result->summary = w->summary.at, result->notes = w->notes.at;
    result->bytes = w->made.at, result->size = w->made.size;
    if (status != RFM_TOOL_OK) {
        result->error = malloc(strlen(w->error) + 1);
        if (result->error != NULL) strcpy(result->error, w->error);
    }
    free(w);
    return status;
}

/* NULL: no memory, and the result says so. */
static work *begin(const void *model, size_t size, const rfm_tool_rows *rows, const rfm_tool_options *options,
                   rfm_tool_result *result) {
    work *w = calloc(1, sizeof *w);
    memset(result, 0, sizeof *result);
    if (w == NULL) return NULL;
    w->model = model, w->model_size = size, w->rows = rows, w->options = options;
    return w;
}

int rfm_tool_train(const rfm_tool_rows *rows, const rfm_tool_options *options, rfm_tool_result *result) {
    work *w = begin(NULL, 0, rows, options, result);
    if (w == NULL) return RFM_TOOL_MEMORY;
    w->command = COMMAND_train;
    return finish(w, run_train, result);
}

static int with_rows(size_t command, const void *model, size_t size, const rfm_tool_rows *rows,
                     const rfm_tool_options *options, rfm_tool_result *result) {
    work *w = begin(model, size, rows, options, result);
    if (w == NULL) return RFM_TOOL_MEMORY;
    w->command = command;
    return finish(w, run_with_rows, result);
}

int rfm_tool_compress(const void *model, size_t size, const rfm_tool_rows *rows, const rfm_tool_options *options,
                      rfm_tool_result *result) {
    return with_rows(COMMAND_compress, model, size, rows, options, result);
}

int rfm_tool_evaluate(const void *model, size_t size, const rfm_tool_rows *rows, const rfm_tool_options *options,
                      rfm_tool_result *result) {
    return with_rows(COMMAND_evaluate, model, size, rows, options, result);
}

static int with_model(size_t command, const void *model, size_t size, const rfm_tool_options *options,
                      rfm_tool_result *result) {
    work *w = begin(model, size, NULL, options, result);
    if (w == NULL) return RFM_TOOL_MEMORY;
    w->command = command;
    return finish(w, run_with_model, result);
}

int rfm_tool_export(const void *model, size_t size, const rfm_tool_options *options, rfm_tool_result *result) {
    return with_model(COMMAND_export, model, size, options, result);
}

int rfm_tool_info(const void *model, size_t size, const rfm_tool_options *options, rfm_tool_result *result) {
    return with_model(COMMAND_info, model, size, options, result);
}

int rfm_tool_predict(const void *model, size_t size, const rfm_tool_rows *rows, const rfm_tool_options *options,
                     size_t c, size_t class_count, double *y, uint32_t *classes, double *probabilities_to,
                     rfm_tool_result *result) {
    work *w = begin(model, size, rows, options, result);
    if (w == NULL) return RFM_TOOL_MEMORY;
    w->c = c, w->class_count = class_count, w->y = y, w->classes = classes, w->probabilities = probabilities_to;
    return finish(w, run_predict, result);
}

int rfm_tool_metric(const void *model, size_t size, size_t d, int full, double *m, rfm_tool_result *result) {
    work *w = begin(model, size, NULL, NULL, result);
    if (w == NULL) return RFM_TOOL_MEMORY;
    w->c = d, w->full = full, w->y = m;
    return finish(w, run_metric, result);
}

void rfm_tool_free(rfm_tool_result *result) {
    free(result->bytes);
    free(result->summary);
    free(result->notes);
    free(result->error);
    memset(result, 0, sizeof *result);
}

#include "tree.h"

#include "../decisions.h"
#include "../export/extras.h"
#include "../export/identifier.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAF_ROWS     2000
#define MANY_LEAF     1000   /* of more than ... */
#define MANY_ROWS     200000 /* ... so many rows, which also have one tree instead of ... */
#define TREES         4
#define SPLIT_ROWS    1000
#define SHOWN_INPUTS  8
#define TREE_BYTES_32 (RFM_REAL_BYTES == 4 ? 68 : 76) /* sizeof(rfm_tree) where pointers have 4 bytes */

/* ---- rfm train -------------------------------------------------------------------------------- */

static rfm_tree_options options_of(const call *a, const lesson *l, const rfm_options *options) {
    static const double factors[] = {1, 0.5};
    rfm_tree_options o;
    size_t i;
    rfm_tree_options_init(&o);
    o.leaf_rows = a->leaf_rows != SIZE_MAX ? a->leaf_rows : l->rows > MANY_ROWS ? MANY_LEAF : LEAF_ROWS;
    o.trees = a->trees != SIZE_MAX ? a->trees : l->rows <= o.leaf_rows || l->rows > MANY_ROWS ? 1 : TREES;
    o.split_rows = SPLIT_ROWS, o.seed = options->seed;
    o.score = l->form->classes > 0 ? RFM_SCORE_ACCURACY : RFM_SCORE_SQUARED;
    o.split.kernel = options->kernel, o.split.exponent = options->exponent, o.split.ridge = options->ridge;
    o.split.bandwidth = options->bandwidth, o.split.bandwidth_rule = options->bandwidth_rule;
    o.split.ridge_rule = options->ridge_rule, o.split.unit_rows = options->unit_rows;
    o.tries = strcmp(a->bandwidth, "auto") == 0 && !kernel_has_depth(options->kernel) && l->rows <= MANY_ROWS ? 2 : 1;
    for (i = 0; i < o.tries; i++) {
        o.leaf[i] = *options;
        o.leaf[i].select = RFM_SELECT_LOO, o.leaf[i].score = RFM_SCORE_SQUARED;
        o.leaf[i].bandwidth = (rfm_real)((double)options->bandwidth * factors[i]);
    }
    return o;
}

static size_t held_of(const lesson *l) {
    size_t every = held_every(l->rows);
    return l->rows < 50 ? 0 : (l->rows + every - 1) / every;
}

double tree_work(const lesson *l, const call *a, const rfm_options *options) {
    rfm_tree_options o = options_of(a, l, options);
    double leaf = (double)(l->rows < o.leaf_rows ? l->rows : o.leaf_rows), rows = (double)l->rows;
    double parts = pow(2, ceil(log2(fmax(rows / leaf, 1))));
    return 2 * (double)(o.trees * o.tries) * parts * fit_work(rows / parts, (double)l->d, (double)l->c, options);
}

/* Rows of the lesson, those that are held out at the end. */
typedef struct {
    rfm_data data;
    rfm_contents parts;
    rfm_real *x, *y, *w;
    size_t *order, held;
} tree_rows;

static void rows_make(const lesson *l, tree_rows *r) {
    size_t held = held_of(l), every = held_every(l->rows), i, at = 0, end = l->rows - held;
    memset(r, 0, sizeof *r);
    r->held = held;
    r->order = allocate(l->rows, sizeof *r->order, "rows");
    r->x = allocate(l->rows, l->d * sizeof *r->x, "rows");
    r->y = allocate(l->rows, l->c * sizeof *r->y, "rows");
    if (l->weights != NULL) r->w = allocate(l->rows, sizeof *r->w, "rows");
    for (i = 0; i < l->rows; i++) {
        size_t to = held > 0 && i % every == 0 ? end++ : at++;
        r->order[to] = i;
        memcpy(r->x + to * l->d, l->x + i * l->d, l->d * sizeof *r->x);
        memcpy(r->y + to * l->c, l->y + i * l->c, l->c * sizeof *r->y);
        if (r->w != NULL) r->w[to] = l->weights[i];
    }
    r->data.x = rfm_cview(r->x, at, l->d), r->data.y = rfm_cview(r->y, at, l->c), r->data.weights = r->w;
    if (held == 0) return;
    r->data.x_validation = rfm_cview(r->x + at * l->d, held, l->d);
    r->data.y_validation = rfm_cview(r->y + at * l->c, held, l->c);
}

static void rows_free(tree_rows *r) { free(r->x), free(r->y), free(r->w), free(r->order); }

double tree_bytes(machine *m, const lesson *l, const call *a, const rfm_options *options) {
    rfm_tree_options o = options_of(a, l, options);
    rfm_contents parts;
    rfm_data data;
    size_t scratch = 0, blob = 0;
    memset(&parts, 0, sizeof parts);
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(l->x, l->rows, l->d), data.y = rfm_cview(l->y, l->rows, l->c), data.weights = l->weights;
    if (rfm_tree_fit_need(&m->ctx, &data, &o, &parts, &scratch, &blob) != RFM_OK) return HUGE_VAL;
    return (double)scratch + (double)blob + (double)l->rows * (double)(l->d + l->c) * sizeof(rfm_real);
}

/* Accuracy or r2 on the held rows, from the score of the fit. */
static double shown(const lesson *l, const tree_rows *r, double found) {
    double mean, all = 0;
    size_t i, k;
    if (l->form->classes > 0) return found;
    for (k = 0; k < l->c; k++) {
        for (i = 0, mean = 0; i < r->held; i++) mean += (double)r->data.y_validation.at[i * l->c + k] / (double)r->held;
        for (i = 0; i < r->held; i++)
            all += pow((double)r->data.y_validation.at[i * l->c + k] - mean, 2) / (double)(r->held * l->c);
    }
    return all > 0 ? 1 - found / all : 0;
}

int tree_fit(machine *m, const lesson *l, const call *a, const rfm_options *options, double temperature,
             int (*tick)(void *arg, rfm_real done), fitted *f, void **blob, size_t *bytes, rfm_tree *tree,
             tree_result *result) {
    rfm_tree_options o = options_of(a, l, options);
    rfm_tree_report report;
    tree_rows r;
    text record = {NULL, 0, 0};
    size_t scratch = 0;
    int status, regress = l->form->classes == 0;
    memset(result, 0, sizeof *result);
    memset(&report, 0, sizeof report);
    rows_make(l, &r);
    lesson_record(l, options, f, &record);
    r.parts.task = regress ? RFM_REGRESS : RFM_CLASSIFY, r.parts.temperature = (rfm_real)temperature;
    if (!l->raw) r.parts.x_mean = l->mean, r.parts.x_scale = l->scale;
    if (!l->raw && regress) r.parts.y_mean = l->y_mean, r.parts.y_scale = l->y_scale;
    r.parts.class_names = l->form->class_names, r.parts.input_names = l->input_names;
    r.parts.record = record.at, r.parts.record_bytes = record.size;
    status = rfm_tree_fit_need(&m->ctx, &r.data, &o, &r.parts, &scratch, bytes);
    if (status == RFM_OK) {
        if (machine_room() > 0 && (double)scratch + (double)*bytes > machine_room())
            fail("out of memory: a tree takes %zu bytes, this machine has %.0f; smaller leaves: --leaf-rows N",
                 scratch + *bytes, machine_room());
        machine_memory(m, scratch, "training (smaller leaves take less: --leaf-rows N)");
        *blob = allocate_aligned(*bytes, "the model");
        f->arena_bytes = scratch + *bytes;
        m->ctx.tick = tick;
        status = rfm_tree_fit(&m->ctx, &r.data, &o, &r.parts, *blob, *bytes, tree, &report);
        m->ctx.tick = NULL;
    }
    if (status == RFM_EFINITE && report.row < l->rows)
        fail("row %zu, input %zu (%s): too large to be trained on", r.order[report.row] + 1, report.col + 1,
             report.col < l->d ? rfm_name(l->input_names, report.col) : "");
    if (status != RFM_OK && status != RFM_ECANCEL)
        fail("cannot grow a tree on %zu rows, %zu inputs: %s", l->rows, l->d, rfm_status_text(status));
    *bytes = report.bytes;
    result->validation = result->hard = (double)NAN;
    result->rows = l->rows - r.held, result->held = r.held;
    if (status == RFM_OK) {
        result->trees = tree->trees, result->leaves = tree->leaves, result->depth = report.depth;
        result->softness = (double)tree->softness;
        if (r.held > 0 && tree->nodes > 0) {
            result->validation = shown(l, &r, (double)report.soft);
            result->hard = shown(l, &r, (double)report.hard);
        }
        f->path[options->iterations].ridge = report.ridge;
    }
    rows_free(&r);
    free(record.at);
    return status;
}

void tree_json(text *out, const tree_result *r) {
    json_number(out, "trees", (double)r->trees);
    json_number(out, "leaves", (double)r->leaves);
    json_number(out, "depth", (double)r->depth);
    json_number(out, "softness", r->softness);
    json_number(out, "validation_hard", r->hard);
}

void tree_text(text *out, const tree_result *r) {
    text_add(out, "method        tree: %zu leaves", r->leaves);
    if (r->trees > 1)
        text_add(out, " in %zu trees", r->trees);
    else
        text_add(out, " in a tree");
    text_add(out, " of %zu rows", r->rows);
    text_add(out, ", %zu splits deep; ", r->depth);
    if (r->softness > 0)
        text_add(out, "soft routing %.3g (hard: %.4f)", r->softness, r->hard);
    else
        text_add(out, "hard routing");
    if (r->held > 0) text_add(out, "; %zu more rows are held out for that choice", r->held);
    text_add(out, "\n");
}

/* ---- rfm info --------------------------------------------------------------------------------- */

static void sizes_of(const rfm_tree *t, size_t *least, size_t *most, size_t *iterations) {
    size_t i;
    *least = SIZE_MAX, *most = *iterations = 0;
    for (i = 0; i < t->leaves; i++) {
        rfm_model leaf;
        rfm_summary s;
        memset(&s, 0, sizeof s);
        rfm_tree_leaf(t, i, &leaf);
        (void)rfm_model_summary(&leaf, &s, NULL, 0);
        if (leaf.n < *least) *least = leaf.n;
        if (leaf.n > *most) *most = leaf.n;
        *iterations += s.iterations;
    }
}

/* The share (d) of each input in the trace of M, mean over the leaves. */
static double *shares_of(const rfm_tree *t) {
    double *share = allocate(t->d, sizeof *share, "the metric");
    rfm_real *m = allocate(t->d, sizeof *m, "the metric");
    size_t i, j;
    for (i = 0; i < t->leaves; i++) {
        rfm_model leaf;
        double trace = 0;
        rfm_tree_leaf(t, i, &leaf);
        model_diagonal(&leaf, m);
        for (j = 0; j < t->d; j++) trace += (double)m[j];
        for (j = 0; trace > 0 && j < t->d; j++) share[j] += (double)m[j] / trace / (double)t->leaves;
    }
    free(m);
    return share;
}

static void add_input(text *t, const rfm_tree *tree, size_t j) {
    if (tree->input_names != NULL)
        text_name(t, rfm_name(tree->input_names, j));
    else
        text_add(t, "%zu:", j + 1);
}

static void show_inputs(text *t, const rfm_tree *tree) {
    double *share = shares_of(tree);
    size_t count, j, columns = LIST_INDENT;
    text item = {NULL, 0, 0};
    text_add(t, "features      ");
    for (count = 0; count < SHOWN_INPUTS && count < tree->d; count++) {
        size_t best = 0;
        for (j = 1; j < tree->d; j++)
            if (share[j] > share[best]) best = j;
        add_input(&item, tree, best);
        text_add(&item, " %.1f %%", 100 * share[best]);
        list_item(t, &columns, &item);
        share[best] = -1;
    }
    text_add(t, " of the trace of M, mean over the %s\n", tree->nodes > 0 ? "leaves" : "models");
    free(item.at);
    free(share);
}

/* The inputs that count most in the first split, each times its deviation. */
static void show_split(text *t, const rfm_tree *tree) {
    rfm_model leaf;
    rfm_summary s;
    size_t count, j, shown_at[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
    memset(&s, 0, sizeof s);
    rfm_tree_leaf(tree, 0, &leaf);
    (void)rfm_model_summary(&leaf, &s, NULL, 0);
    for (count = 0; count < 3 && count < tree->d; count++) {
        size_t best = SIZE_MAX;
        double most = -1, at;
        for (j = 0; j < tree->d; j++) {
            at = fabs((double)tree->directions[j]) * (s.x_scale != NULL ? (double)s.x_scale[j] : 1);
            if (j != shown_at[0] && j != shown_at[1] && at > most) most = at, best = j;
        }
        shown_at[count] = best;
        text_add(t, count == 0 ? "first split   " : ", ");
        add_input(t, tree, best);
        text_add(t, " %.2f", tree->directions[best] < 0 ? -most : most);
    }
    text_add(t, ": the direction in standard deviations\n");
}

static int has_weights(const any_model *any) { return is_mean(any) && any->record.shares != NULL; }

/* What each model of a mean counts. */
static void mean_weights(const any_model *any, const char *between, text *list) {
    const model_record *r = &any->record;
    size_t i;
    for (i = 0; i < r->model_count; i++)
        text_add(list, "%s%.3g", i > 0 ? between : "", record_number(r->shares, i) / (double)r->model_count);
}

int tree_info(const call *c, any_model *any, char *blob, size_t size) {
    const rfm_tree *tree = &any->tree;
    size_t least, most, iterations, i, classes = model_classes(&any->numbers);
    size_t scratch = RFM_TREE_SCRATCH(tree->d, tree->c, tree->rank) * sizeof(rfm_real);
    text t = {NULL, 0, 0}, weights = {NULL, 0, 0};
    if (c->show_metric) fail("%s: a tree has a metric in each leaf; expected one model for --metric", c->operands[0]);
    sizes_of(tree, &least, &most, &iterations);
    if (c->json) {
        json_text(&t, "task", task_words[tree->task]);
        json_number(&t, "rows_train", (double)any->numbers.n / (double)tree->trees);
        json_number(&t, "features", (double)tree->d);
        columns_json(&t, any);
        json_number(&t, "outputs", (double)tree->c);
        json_text(&t, "type", type_word(any->type));
        json_text(&t, "kernel", any_kernel(any));
        json_text(&t, "method", "tree");
        json_number(&t, "trees", (double)tree->trees);
        json_number(&t, "nodes", (double)tree->nodes);
        json_number(&t, "leaves", (double)tree->leaves);
        json_number(&t, "leaf_rows_least", (double)least);
        json_number(&t, "leaf_rows_most", (double)most);
        json_number(&t, "iterations_mean", (double)iterations / (double)tree->leaves);
        json_number(&t, "softness", (double)tree->softness);
        if (has_weights(any)) {
            mean_weights(any, ", ", &weights);
            json_array(&t, "mean_weights", &weights);
        }
        json_real(&t, "temperature", tree->temperature);
        json_number(&t, "model_bytes", (double)size);
        json_number(&t, "scratch_bytes", (double)scratch);
        decisions_json(&t, &any->record);
        if (any->record.targets != NULL) json_names(&t, "targets", any->record.targets, model_targets(&any->numbers));
        if (tree->class_names != NULL && classes > 0) json_names(&t, "classes", tree->class_names, classes);
        if (tree->input_names != NULL) json_names(&t, "inputs", tree->input_names, tree->d);
        json_end(&t);
    } else {
        text_add(&t, "task          %s", task_words[tree->task]);
        if (classes > 0) text_add(&t, ", %zu classes:", classes);
        for (i = 0; i < classes && i < 20; i++) {
            text_add(&t, " ");
            if (tree->class_names != NULL)
                text_name(&t, rfm_name(tree->class_names, i));
            else
                text_add(&t, "%zu", i);
        }
        text_add(&t, "%s\ninputs        %zu\noutputs       %zu\nnumbers       %s\n", classes > 20 ? " ..." : "",
                 tree->d, tree->c, type_word(any->type));
        if (is_mean(any)) {
            text_add(&t, "mean          of %zu models of %zu rows",
                     has_weights(any) ? any->record.model_count : tree->trees, most);
            if (has_weights(any)) text_add(&t, "; weights "), mean_weights(any, " ", &t);
            text_add(&t, "\n");
        } else {
            text_add(&t, "tree          %zu leaves of %zu to %zu rows", tree->leaves, least, most);
            if (tree->trees > 1) text_add(&t, " in %zu trees", tree->trees);
            if (tree->softness > 0)
                text_add(&t, ", soft routing %.3g; firmware routes hard\n", (double)tree->softness);
            else
                text_add(&t, ", hard routing\n");
        }
        text_add(&t, "kernel        %s, a metric %s of its own in each %s, %.1f iterations in the mean\n",
                 any_kernel(any), any_metric(any), is_mean(any) ? "model" : "leaf",
                 (double)iterations / (double)tree->leaves);
        if (tree->nodes > 0) show_split(&t, tree);
        show_inputs(&t, tree);
        decisions_show(&t, any);
        text_add(&t, "model         %zu bytes; a prediction needs %zu bytes of scratch\n", size, scratch);
    }
    file_show(&t, NULL);
    free(t.at);
    free(blob);
    return 0;
}

/* ---- rfm export ------------------------------------------------------------------------------- */

int tree_export(any_model *any, char *file_blob, size_t size, char *id, const char *out) {
    const rfm_tree *tree = &any->tree;
    size_t bytes = 0, classes = model_classes(&any->numbers), i;
    char *upper = copy_text(id, strlen(id));
    unsigned char *blob;
    unsigned long mark;
    header more;
    text t = {NULL, 0, 0};
    int whole = 0;
    for (i = 0; i < tree->leaves; i++) {
        rfm_model leaf;
        rfm_tree_leaf(tree, i, &leaf);
        whole |= needs_whole_build(&leaf);
    }
    must(rfm_tree_bare(file_blob, size, NULL, 0, &bytes), "the model");
    blob = allocate_aligned(bytes, "the model");
    must(rfm_tree_bare(file_blob, size, blob, bytes, &bytes), "the model");
    file_check(out);
    for (i = 0; upper[i] != 0; i++) upper[i] = (char)toupper((unsigned char)upper[i]);
    mark = (unsigned long)rfm_crc32(0, blob, bytes);
    text_add(
        &t, "/* A tree for rfm %d.%d: %s, %zu inputs, %zu output%s, %zu leaves with %zu centres, numbers of type %s.\n",
        RFM_VERSION_MAJOR, RFM_VERSION_MINOR, task_words[tree->task], tree->d, tree->c, tree->c == 1 ? "" : "s",
        tree->leaves, any->numbers.n, type_word(any->type));
    text_add(&t,
             " * Compile rfm.c and rfm_tree.c%s beside it; the model stays in flash. Routing is hard: one leaf\n * of "
             "each tree is "
             "evaluated.\n"
             " * RAM: %zu bytes of x, scores and scratch, %d of m, about 300 of stack.\n *\n",
             whole ? "" : " with -DRFM_NO_TRAIN",
             (tree->d + RFM_TREE_SCRATCH(tree->d, tree->c, tree->rank) + tree->c) * sizeof(rfm_real), TREE_BYTES_32);
    text_add(&t,
             " *     static rfm_real scratch[%s_SCRATCH], scores[%s_OUTPUTS];\n"
             " *     rfm_tree m;\n *     if (rfm_tree_open(%s, %s_BYTES, &m) != RFM_OK) ...\n"
             " *     if (rfm_tree_predict_one(&m, x, scores, scratch, NULL, NULL) != RFM_OK) ...\n",
             upper, upper, id, upper);
    if (classes > 0) text_add(&t, " *     class = %s_class_names[rfm_tree_class(&m, scores, NULL)];\n", id);
    inputs_comment(&t, tree->input_names, tree->d, &any->record);
    text_add(&t, " */\n#ifndef RFM_MODEL_%s_%08lX_H\n#define RFM_MODEL_%s_%08lX_H\n\n#include \"rfm_tree.h\"\n\n",
             upper, mark, upper, mark);
    text_add(&t,
             "#define %s_BYTES   %zu\n#define %s_INPUTS  %zu\n#define %s_OUTPUTS %zu\n#define %s_LEAVES  %zu\n"
             "#define %s_RANK    %zu\n#define %s_SCRATCH RFM_TREE_SCRATCH(%s_INPUTS, %s_OUTPUTS, %s_RANK)\n\n",
             upper, bytes, upper, tree->d, upper, tree->c, upper, tree->leaves, upper, tree->rank, upper, upper, upper,
             upper);
    text_add(&t,
             "#if RFM_REAL_BYTES != %d\n#error \"this model was made for numbers of %d bytes (RFM_REAL)\"\n#endif\n\n",
             RFM_REAL_BYTES, RFM_REAL_BYTES);
    if (whole) text_add(&t, WHOLE_BUILD);
    if (classes > 0) {
        text_add(&t, "static const char *const %s_class_names[%zu] = {", id, classes);
        for (i = 0; i < classes; i++) {
            text_add(&t, i % 8 == 0 ? "\n    " : " ");
            if (tree->class_names != NULL)
                c_string(&t, rfm_name(tree->class_names, i));
            else
                text_add(&t, "\"%zu\"", i);
            text_add(&t, ",");
        }
        text_add(&t, "\n};\n\n");
    }
    text_add(&t, "RFM_ALIGNED static const unsigned char %s[%s_BYTES] = {", id, upper);
    for (i = 0; i < bytes; i++) text_add(&t, i % 24 == 0 ? "\n    %u," : "%u,", (unsigned)blob[i]);
    text_add(&t, "\n};\n");
    memset(&more, 0, sizeof more);
    more.t = t, more.id = id, more.upper = upper;
    put_knots(&more, any, 0);
    t = more.t;
    text_add(&t, "\n#endif\n");
    file_write(out, t.at, t.size);
    note("%s: %zu bytes of model in %s", out, bytes, id);
    free(t.at), free(blob), free(upper), free(id), free(file_blob);
    return 0;
}

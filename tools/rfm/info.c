#include "command.h"
#include "conv/conv.h"
#include "decisions.h"
#include "large/tree.h"
#include "learn/score.h"
#include "signal/sensor.h"
#include "signal/signal_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SHOWN  8
#define MOST_RANGES 64

/* By its name; without one by its number from 1 on. */
static void add_input(text *t, const char *names, size_t i) {
    if (names != NULL)
        name_show(t, rfm_name(names, i));
    else
        text_add(t, "%zu:", i + 1);
}

/* The inputs with the largest diagonal of M. */
static void show_top(text *t, const any_model *any) {
    const rfm_model *model = &any->numbers;
    size_t d = model->d, shown[MOST_SHOWN], count = 0, j, i, columns = LIST_INDENT;
    text item = {NULL, 0, 0};
    rfm_real *m = allocate(d, sizeof *m, "the metric");
    double trace = 0;
    model_diagonal(model, m);
    for (j = 0; any->record.scales != NULL && j < d; j++) {
        double unit = record_number(any->record.scales, j); /* M_jj of the standardised input */
        m[j] = (rfm_real)((double)m[j] * unit * unit);
    }
    for (j = 0; j < d; j++) trace += (double)m[j];
    text_add(t, "features      ");
    while (count < MOST_SHOWN && count < d) {
        size_t best = d;
        for (j = 0; j < d; j++) {
            for (i = 0; i < count && shown[i] != j; i++) continue;
            if (i == count && (best == d || m[j] > m[best])) best = j;
        }
        shown[count++] = best;
        add_input(&item, model->input_names, best);
        text_add(&item, " %.1f %%", trace > 0 ? 100 * (double)m[best] / trace : 0);
        list_item(t, &columns, &item);
    }
    text_add(t, " of the trace of M\n");
    free(item.at);
    free(m);
}

/* Row by row: M is d times as large as what is held of it. */
static void print_metric(const rfm_model *model) {
    int full = model->metric == RFM_FULL;
    size_t d = model->d, i, j;
    rfm_real *row = allocate(d, sizeof *row, "a row of the metric");
    text line = {NULL, 0, 0};
    for (i = 0; i < (full ? d : 1); i++) {
        if (full)
            model_metric_row(model, i, row);
        else
            model_diagonal(model, row);
        line.size = 0;
        for (j = 0; j < d; j++) text_add(&line, j > 0 ? ",%.9g" : "%.9g", (double)row[j]);
        text_bytes(&line, "\n", 1);
        file_show(&line, NULL);
    }
    free(row);
    free(line.at);
}

/* ---- sections ------------------------------------------------------------------------------- */

/* Calls `each` with the name and the bytes of everything that a model has, and last with the rest of `size`. */
static void sections(const any_model *any, size_t size, text *t,
                     void (*each)(text *t, const char *name, size_t bytes)) {
    const rfm_model *m = &any->numbers;
    size_t type = (size_t)any->type, classes = m->c == 1 && m->task == RFM_CLASSIFY ? 2 : m->c, count = 0, i;
    size_t outputs = m->c, offset = sizeof(int32_t);
    struct {
        const char *name;
        size_t bytes;
    } list[15];
    int full = m->metric == RFM_FULL;
    rfm_summary s;
    if (is_tiny(any)) {
        list[count].name = "units", list[count++].bytes = any->tiny.units != NULL ? m->c * sizeof(float) : 0;
        list[count].name = "bias", list[count++].bytes = m->r * sizeof(int16_t);
        list[count].name = "P", list[count++].bytes = m->r * m->d;
        list[count].name = "counts", list[count++].bytes = any->tiny.counts != NULL ? m->c : 0;
        list[count].name = "shifts", list[count++].bytes = m->r;
        list[count].name = "exponents", list[count++].bytes = any->tiny.exponents != NULL ? m->d : 0;
        type = 1, outputs = any->tiny.counts != NULL ? 1 : m->c,
        offset = any->tiny.offset != NULL ? sizeof(int16_t) : 0;
    } else if (has_integers(any)) {
        list[count].name = "inputs", list[count++].bytes = m->d * sizeof(rfm_input_i);
        list[count].name = "P", list[count++].bytes = full ? m->r * m->d * type : 0;
        list[count].name = "bias", list[count++].bytes = m->r * sizeof(int32_t);
        list[count].name = "shifts", list[count++].bytes = full ? m->r : 0;
        list[count].name = "phi", list[count++].bytes = any->integers.nodes * sizeof(uint16_t);
        list[count].name = "units", list[count++].bytes = m->c * sizeof(float);
    } else {
        offset = type;
        list[count].name = "shift", list[count++].bytes = m->d * type;
        list[count].name = "P", list[count++].bytes = (full ? m->r : 1) * m->d * type;
        list[count].name = "radius", list[count++].bytes = m->radius > 0 ? type : 0;
    }
    list[count].name = "centers", list[count++].bytes = m->n * m->r * type;
    list[count].name = "alpha", list[count++].bytes = m->n * outputs * type;
    list[count].name = "offset", list[count++].bytes = m->c * offset;
    list[count].name = "class_names",
    list[count++].bytes = m->class_names != NULL ? (size_t)(rfm_name(m->class_names, classes) - m->class_names) : 0;
    list[count].name = "input_names",
    list[count++].bytes = m->input_names != NULL ? (size_t)(rfm_name(m->input_names, m->d) - m->input_names) : 0;
    list[count].name = "summary", list[count].bytes = 0;
    if (rfm_model_summary(m, &s, NULL, 0) == RFM_OK) /* rfm/FORMAT.md */
        list[count].bytes =
            32 + 16 * (size_t)s.steps + (s.x_scale != NULL ? m->d * (has_integers(any) ? sizeof(float) : type) : 0);
    list[++count].name = "record", list[count].bytes = any->record.bytes;
    for (i = 0; i <= count; i++) {
        if (list[i].bytes > 0) each(t, list[i].name, list[i].bytes);
        size -= list[i].bytes;
    }
    each(t, "head", size);
}

static void section_json(text *t, const char *name,
                         size_t bytes) { /* centers and others are counts outside of this object */
    char key[40];
    snprintf(key, sizeof key, "%s_bytes", name);
    json_number(t, key, (double)bytes);
}

static void section_text(text *t, const char *name, size_t bytes) { text_add(t, "%s %zu, ", name, bytes); }

/* The ranges that the inputs of a model of integers were calibrated for, in the units of the data. */
static void show_ranges(text *t, const rfm_model_i *m) {
    size_t i, columns = LIST_INDENT;
    text item = {NULL, 0, 0};
    text_add(t, "ranges        ");
    for (i = 0; i < m->d && i < MOST_RANGES; i++) {
        double unit = ldexp(1, -m->inputs[i].exponent);
        add_input(&item, m->input_names, i);
        text_add(&item, " %.6g to %.6g", m->inputs[i].low * unit, m->inputs[i].high * unit);
        list_item(t, &columns, &item);
    }
    free(item.at);
    text_add(t, m->d > MOST_RANGES ? ", ... (--json has all)\n" : "\n");
}

static void ranges_json(text *t, const rfm_model_i *m) {
    text objects = {NULL, 0, 0};
    size_t i;
    for (i = 0; i < m->d; i++) {
        text one = {NULL, 0, 0};
        json_number(&one, "low", m->inputs[i].low);
        json_number(&one, "high", m->inputs[i].high);
        json_number(&one, "exponent", m->inputs[i].exponent);
        json_add(&objects, &one);
    }
    json_array(t, "ranges", &objects);
}

/* The form of alpha, and what integers the inputs are. */
static void show_tiny(text *t, const rfm_tiny *m) {
    size_t j, columns = LIST_INDENT;
    text item = {NULL, 0, 0};
    text_add(t, "weights       %s\n",
             m->counts != NULL ? "one of each centre, for its class" : "one of each centre for every output");
    text_add(t, "integers      ");
    if (m->exponents == NULL && m->exponent == 0) text_add(t, "the inputs themselves, rounded\n");
    if (m->exponents == NULL && m->exponent != 0) text_add(t, "the inputs times 2^%d, rounded\n", m->exponent);
    for (j = 0; m->exponents != NULL && j < m->d && j < MOST_RANGES; j++) {
        add_input(&item, m->input_names, j);
        text_add(&item, " times 2^%d", m->exponents[j]);
        list_item(t, &columns, &item);
    }
    free(item.at);
    if (m->exponents != NULL) text_add(t, m->d > MOST_RANGES ? ", ... (--json has all)\n" : "\n");
}

static void exponents_json(text *t, const rfm_tiny *m) {
    text list = {NULL, 0, 0};
    size_t j;
    json_number(t, "prototypes", m->counts != NULL);
    for (j = 0; j < m->d; j++)
        text_add(&list, j > 0 ? ", %d" : "%d", m->exponents != NULL ? m->exponents[j] : m->exponent);
    json_array(t, "exponents", &list);
}

/* ---- the record ------------------------------------------------------------------------------- */

static int is_raw(const any_model *any) {
    rfm_summary s;
    memset(&s, 0, sizeof s);
    (void)rfm_model_summary(&any->numbers, &s, NULL, 0);
    return s.x_scale == NULL && any->record.scales == NULL;
}

/* An input is called NAME=LEVEL then; a column may be, too, but with numbers in it --one-hot changes nothing. */
static int is_one_hot(const any_model *any) {
    const rfm_model *model = &any->numbers;
    size_t i;
    for (i = 0; any->record.recipe == NULL && model->input_names != NULL && i < model->d; i++)
        if (strchr(rfm_name(model->input_names, i), '=') != NULL) return 1;
    for (i = 0; i < any->record.word_count; i++)
        if (strcmp(rfm_name(any->record.words, i), "--one-hot") == 0) return 1;
    return 0;
}

/* What was given for the table. */
static void show_words(text *t, const any_model *any) {
    const model_record *r = &any->record;
    size_t i;
    if (r->recipe == NULL) {
        text_add(t, "%s%s", is_one_hot(any) ? " --one-hot" : "", r->fill != NULL ? " --missing mean" : "");
        return;
    }
    for (i = 0; i < r->word_count; i++) {
        text_add(t, " ");
        name_show(t, rfm_name(r->words, i));
    }
}

/* As the options of rfm train have them. */
static void show_options(text *t, const any_model *any) {
    const rfm_options *o = &any->record.options;
    int given = metric_given(any);
    text_add(t, "trained with  --task %s", task_words[any->numbers.task]);
    show_words(t, any);
    text_add(t, "%s --kernel %s", is_raw(any) ? " --raw" : "", rfm_kernels[o->kernel].name);
    if (kernel_has_exponent(o->kernel)) text_add(t, " --exponent %.6g", (double)o->exponent);
    if (kernel_has_depth(o->kernel)) text_add(t, " --depth %g", (double)o->exponent);
    if (o->unit_rows) text_add(t, " --unit-rows");
    if (given)
        text_add(t, " --metric-from MODEL.rfm");
    else
        text_add(t, " --metric %s", metric_words[o->metric]);
    if (!kernel_has_depth(o->kernel))
        text_add(t, " --bandwidth %.6g%s", (double)o->bandwidth, o->bandwidth_rule == RFM_BANDWIDTH_MEDIAN ? "m" : "");
    text_add(t, " --ridge %.6g", (double)o->ridge);
    if (!given) text_add(t, " --iterations %zu", o->iterations);
    text_add(t, "%s --normalize %s --seed %lu\n", o->center ? " --center" : "", scale_words[o->scale],
             (unsigned long)o->seed);
}

static void record_json(text *t, const any_model *any) {
    const model_record *r = &any->record;
    const rfm_options *o = &r->options;
    text inside = {NULL, 0, 0};
    if (r->targets != NULL) json_names(t, "targets", r->targets, model_targets(&any->numbers));
    json_number(t, "fills_missing", r->fill != NULL);
    decisions_json(t, r);
    columns_json(t, any);
    sensor_json(t, r);
    if (r->coverage > 0) json_number(t, "coverage", r->coverage), json_number(t, "threshold", r->threshold);
    if (!r->has_options) return;
    json_text(&inside, "kernel", rfm_kernels[o->kernel].name);
    json_real(&inside, "exponent", o->exponent);
    json_text(&inside, "metric", metric_words[o->metric]);
    json_text(&inside, "normalize", scale_words[o->scale]);
    json_number(&inside, "center", o->center);
    json_number(&inside, "bandwidth_median", o->bandwidth_rule == RFM_BANDWIDTH_MEDIAN);
    json_real(&inside, "bandwidth", o->bandwidth);
    json_real(&inside, "ridge", o->ridge);
    json_number(&inside, "iterations", (double)o->iterations);
    json_number(&inside, "agop_points", (double)o->agop_points);
    json_number(&inside, "seed", o->seed);
    json_number(&inside, "select", o->select);
    json_number(&inside, "score", o->score);
    json_number(&inside, "raw", is_raw(any));
    json_number(&inside, "one_hot", is_one_hot(any));
    json_number(&inside, "unit_rows", o->unit_rows);
    json_object(t, "options", &inside);
    free(inside.at);
}

/* ---- the command ---------------------------------------------------------------------------- */

int command_info(const call *c) {
    const char *file = c->operands[0], *word;
    int json = c->json, metric = c->show_metric, integers, tiny;
    size_t size, i, classes, number_bytes, scratch;
    any_model any;
    rfm_model model;
    rfm_summary s;
    rfm_step *path;
    text t = {NULL, 0, 0}, parts = {NULL, 0, 0};
    char *blob;
    rfm_real *factor = NULL;
    memset(&s, 0, sizeof s);
    if (json && metric) usage("info: expected --json or --metric, not both");
    if (patches_read(file, &blob, &size, &any)) return conv_info(c, &any, blob, size);
    any_read(file, &blob, &size, &any);
    if (is_filters(&any)) return signal_info(c, &any, size);
    if (any.of_tree) return tree_info(c, &any, blob, size);
    tiny = is_tiny(&any), integers = has_integers(&any) && !tiny;
    if (tiny) any.numbers.p = factor = tiny_factor(&any.tiny, NULL);
    model = any.numbers;
    if (metric && integers)
        fail("%s: a model of integers has no metric to print; expected the one that it was compressed from", file);
    (void)rfm_model_summary(&model, &s, NULL, 0);
    path = allocate((size_t)s.steps + 1, sizeof *path, "the path");
    (void)rfm_model_summary(&model, &s, path, s.steps);
    if (s.iterations < s.steps) s.ridge = path[s.iterations].ridge; /* as it was asked for */
    word = any_metric(&any);
    number_bytes = tiny ? 1 : integers ? sizeof(int16_t) : sizeof(rfm_real);
    scratch = tiny ? model.r : RFM_PREDICT_SCRATCH(model.d, model.r);
    classes = model_classes(&model);
    if (metric)
        print_metric(&model);
    else if (json) {
        json_text(&t, "task", task_words[model.task]);
        json_number(&t, "rows_train", s.rows);
        json_number(&t, "features", (double)model.d);
        json_number(&t, "outputs", (double)model.c);
        json_text(&t, "type", type_word(any.type));
        json_text(&t, "kernel", any_kernel(&any));
        if (!integers && !tiny && kernel_has_exponent(model.kernel)) json_real(&t, "exponent", model.exponent);
        if (!integers && !tiny && kernel_has_depth(model.kernel)) json_real(&t, "depth", model.exponent);
        if (!integers && !tiny) json_number(&t, "unit_rows", model.radius > 0);
        json_text(&t, "metric", word);
        json_number(&t, "rank", (double)model.r);
        json_real(&t, "bandwidth", s.bandwidth);
        json_real(&t, "ridge", s.ridge);
        json_number(&t, "iterations", s.iterations);
        json_real(&t, "validation", s.validation != 0 ? s.validation : (rfm_real)NAN);
        json_real(&t, "temperature", model.temperature);
        json_number(&t, "centers", (double)model.n);
        json_number(&t, "model_bytes", (double)size);
        json_number(&t, "scratch_bytes", (double)(scratch * number_bytes));
        sections(&any, size, &parts, section_json);
        json_object(&t, "sections", &parts);
        record_json(&t, &any);
        if (integers) ranges_json(&t, &any.integers);
        if (tiny) exponents_json(&t, &any.tiny);
        if (model.class_names != NULL && classes > 0) json_names(&t, "classes", model.class_names, classes);
        if (model.input_names != NULL) json_names(&t, "inputs", model.input_names, model.d);
        json_end(&t);
    } else {
        text_add(&t, "task          %s", task_words[model.task]);
        if (classes > 0) text_add(&t, ", %zu classes:", classes);
        for (i = 0; i < classes && i < 20; i++) {
            text_add(&t, " ");
            if (model.class_names != NULL)
                name_show(&t, rfm_name(model.class_names, i));
            else
                text_add(&t, "%zu", i);
        }
        text_add(&t, "%s\ninputs        %zu\noutputs       %zu\n", classes > 20 ? " ..." : "", model.d, model.c);
        text_add(&t, "numbers       %s%s\n", type_word(any.type),
                 model.input_names == NULL ? "; inputs are taken in the order of the columns, they have no names" : "");
        for (i = 0; any.record.targets != NULL && i < model_targets(&model); i++) {
            text_add(&t, i == 0 ? "target        " : ", ");
            name_show(&t, rfm_name(any.record.targets, i));
        }
        if (any.record.targets != NULL) text_add(&t, "\n");
        if (any.record.fill != NULL) text_add(&t, "missing       cells are filled in as in training\n");
        decisions_show(&t, &any);
        sensor_show(&t, &any.record);
        if (any.record.coverage > 0)
            text_add(&t, "sets          coverage %g, threshold %.4g\n", any.record.coverage, any.record.threshold);
        if (any.record.has_options) show_options(&t, &any);
        if (model.summary != NULL)
            text_add(&t, "trained on    %zu rows, %zu centres are kept\n", (size_t)s.rows, model.n);
        else
            text_add(&t, "centres       %zu\n", model.n);
        text_add(&t, "kernel        %s", integers ? "a table" : any_kernel(&any));
        if (!integers && !tiny && kernel_has_exponent(model.kernel))
            text_add(&t, " with exponent %.4g", (double)model.exponent);
        if (!integers && !tiny && kernel_has_depth(model.kernel))
            text_add(&t, " of depth %g", (double)model.exponent);
        else if (model.summary != NULL)
            text_add(&t, ", bandwidth %.4g", (double)s.bandwidth);
        if (model.summary != NULL) text_add(&t, ", ridge %.4g", (double)s.ridge);
        text_add(&t, "%s\nmetric        %s of rank %zu", model.radius > 0 ? ", unit rows" : "", word, model.r);
        if (model.summary != NULL) text_add(&t, " after %zu iterations", (size_t)s.iterations);
        text_add(&t, "\n");
        if (tiny) show_tiny(&t, &any.tiny);
        if (integers)
            show_ranges(&t, &any.integers);
        else if (strcmp(word, "identity") != 0)
            show_top(&t, &any);
        if (s.validation != 0) text_add(&t, "validation    %.4f\n", (double)s.validation);
        text_add(&t, "model         %zu bytes; a prediction needs %zu bytes of scratch\n", size,
                 scratch * number_bytes);
        text_add(&t, "bytes         ");
        sections(&any, size, &t, section_text);
        t.size -= 2; /* the last comma */
        text_add(&t, "\n");
    }
    if (!metric) file_show(&t, NULL);
    free(t.at);
    free(parts.at);
    free(path);
    free(factor);
    free(blob);
    return 0;
}

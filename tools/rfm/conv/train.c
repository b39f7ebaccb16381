#include "conv.h"

#include "rfm/learn/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options -------------------------------------------------------------------------------- */

#define USUAL_DEEP_LAYERS 3 /* convolutions of a network kernel with --deep */
#define LAPLACE_LAYERS    2 /* of filters at most, where no depth limits them */
#define LARGE_SIDE        14

static int kernel_asked(const call *a) {
    return a->conv != NULL ? options_word("--conv", a->conv, conv_words) : RFM_CONV_NTK;
}

/* 3, of laplace 7 unless the image is small; no more than the image has. */
static size_t usual_patch(const rfm_conv *f) {
    size_t side = f->height > 1 && f->height < f->width ? f->height : f->width;
    size_t usual = f->kernel == RFM_CONV_LAPLACE && side >= LARGE_SIDE ? 7 : 3;
    return usual < side ? usual : side;
}

static rfm_conv conv_asked(const call *a) {
    image_size s = image_size_of("--image", a->image_size);
    rfm_conv f;
    memset(&f, 0, sizeof f);
    f.channels = s.channels, f.height = s.height, f.width = s.width;
    f.kernel = kernel_asked(a), f.bandwidth = 1;
    f.patch = a->patch != SIZE_MAX ? a->patch : usual_patch(&f);
    f.depth = f.kernel == RFM_CONV_LAPLACE || (a->layers == SIZE_MAX && !a->deep) ? 1
              : a->layers == SIZE_MAX                                             ? USUAL_DEEP_LAYERS
                                                                                  : (int)a->layers;
    while (a->layers == SIZE_MAX && f.depth > 2 && rfm_conv_check(&f) == RFM_ESHAPE) f.depth--;
    return f;
}

/* Layers of filters: one less than the kernel's convolutions; of laplace as many as the image has room for. */
static size_t layers_asked(const call *a, rfm_conv f) {
    size_t layers;
    if (!a->deep) return 0;
    if (f.kernel != RFM_CONV_LAPLACE) return (size_t)f.depth - 1;
    for (layers = 0; layers < LAPLACE_LAYERS; layers++) {
        if (f.height > 1) f.height -= f.patch - 1;
        f.width -= f.patch - 1;
        if (rfm_conv_check(&f) != RFM_OK) break;
    }
    return layers;
}

void conv_check(const call *a) {
    rfm_conv f;
    if (a->image_size == NULL) {
        if (a->conv != NULL || a->patch != SIZE_MAX || a->layers != SIZE_MAX || a->deep ||
            (a->filters != SIZE_MAX && a->signal == NULL) || a->agop_rows > 0)
            usage("--conv, --patch, --layers, --deep, --filters and --agop-rows: expected --image CxPxQ with them");
        return;
    }
    if (a->signal != NULL) usage("--image: expected no --signal with it");
    if (a->layers != SIZE_MAX && (a->layers < 1 || a->layers > RFM_CONV_DEPTH))
        usage("--layers: expected 1 to %d, found %zu", RFM_CONV_DEPTH, a->layers);
    if (a->layers != SIZE_MAX && a->layers > 1 && kernel_asked(a) == RFM_CONV_LAPLACE)
        usage("--layers: --conv laplace has one layer, expected cnngp or cntk with more");
    if (a->layers == 1 && a->deep && kernel_asked(a) != RFM_CONV_LAPLACE)
        usage("--deep: expected --layers 2 or more, for each layer of filters takes one of the kernel's");
    if (a->filters != SIZE_MAX && !a->deep) usage("--filters: expected --deep with it");
    if (a->filters == 0) usage("--filters: expected at least 1, found 0");
    if (a->patch == 0) usage("--patch: expected at least 1, found 0");
    if (strcmp(a->metric, "auto") != 0 || a->center || strcmp(a->normalize, "none") != 0 || a->exponent >= 0 ||
        a->coverage >= 0 || a->one_hot || a->missing != NULL ||
        (strcmp(a->form, "exact") != 0 && strcmp(a->form, "auto") != 0) || a->unit_rows || a->metric_from != NULL ||
        a->depth != SIZE_MAX || strcmp(a->kernel, "auto") != 0 || a->raw || a->time_limit > 0)
        usage("--image: expected none of --kernel (it has --conv), --metric, --center, --normalize, --exponent, "
              "--coverage, --one-hot, --missing, --method, --unit-rows, --metric-from, --depth, --raw and --time-limit "
              "with it");
    if (strcmp(a->bandwidth, "auto") != 0 && kernel_asked(a) != RFM_CONV_LAPLACE)
        usage("--bandwidth: expected --conv laplace with it, for %s has none", conv_words[kernel_asked(a)]);
    f = conv_asked(a);
    if (f.patch > f.width || (f.height > 1 && f.patch > f.height))
        usage("--patch %zu: expected at most the %zu rows and %zu columns of --image", f.patch, f.height, f.width);
    if (a->layers == SIZE_MAX && (rfm_conv_check(&f) == RFM_ESHAPE || (a->deep && layers_asked(a, f) == 0)))
        usage("--deep: two convolutions of side %zu do not fit into %zux%zu pixels, expected a smaller --patch",
              f.patch, f.height, f.width);
    if (rfm_conv_check(&f) != RFM_OK)
        usage("--layers %d: convolutions of side %zu do not fit into %zux%zu pixels: %s", f.depth, f.patch, f.height,
              f.width, rfm_status_text(rfm_conv_check(&f)));
}

static patch_plan plan_of(const call *a, const search_problem *open, rfm_cmat x, int task,
                          int (*tick)(void *arg, rfm_real done)) {
    static const double ridges[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1}, bandwidths[] = {0.5, 2, 8};
    rfm_conv f = conv_asked(a);
    patch_plan plan;
    rfm_conv_options *o = &plan.options;
    size_t i;
    memset(&plan, 0, sizeof plan);
    rfm_conv_options_init(o);
    o->patch = f.patch, o->kernel = f.kernel, o->depth = f.depth, o->seed = (uint32_t)a->seed, o->task = task;
    o->score = task == RFM_CLASSIFY ? RFM_SCORE_ACCURACY : RFM_SCORE_SQUARED;
    o->rounds = open->last_iterations;
    o->agop_points = a->agop_rows;
    plan.tick = tick;
    o->layers = layers_asked(a, f);
    if (a->filters != SIZE_MAX) o->filters = a->filters;
    if (open->ridge_count == 1) {
        o->ridges = 1, o->ridge[0] = (rfm_real)open->ridges[0];
        if (!(o->ridge[0] > 0)) usage("--ridge: expected more than 0 with --image");
    } else
        for (o->ridges = 0; o->ridges < sizeof ridges / sizeof *ridges; o->ridges++)
            o->ridge[o->ridges] = (rfm_real)ridges[o->ridges];
    if (f.kernel == RFM_CONV_LAPLACE) {
        double unit = patch_distance(x, f.channels, f.patch, f.height);
        if (open->bandwidth_count == 1)
            plan.bandwidths[plan.bandwidth_count++] =
                open->bandwidths[0] * (open->bandwidth_rule == RFM_BANDWIDTH_FIXED ? 1 : unit);
        else
            for (i = 0; i < sizeof bandwidths / sizeof *bandwidths; i++)
                plan.bandwidths[plan.bandwidth_count++] = bandwidths[i] * unit;
    }
    /* With every setting given there is nothing to choose, and M is learned from all rows. */
    if (open->first_iterations == open->last_iterations) o->select = RFM_SELECT_LAST;
    plan.hold = o->ridges > 1 || o->select == RFM_SELECT_VALIDATION || plan.bandwidth_count > 1 || a->deep;
    return plan;
}

/* ---- the model file -------------------------------------------------------------------------- */

/* Targets of which an offset was taken out have it as double in the record, behind zeros for the pixels. */
static void record_offsets(text *record, const rfm_conv_model *model, const offsets *moved, const double *offset) {
    size_t d = rfm_conv_pixels(&model->input), k;
    double *numbers = allocate(d + model->c, sizeof *numbers, "the record");
    for (k = 0; k < d; k++) numbers[k] = 0;
    for (k = 0; k < model->c; k++) numbers[d + k] = fabs(moved->y[k]) > 0 ? offset[k] : 0;
    record_add_numbers(record, RFM_RECORD_OFFSETS, numbers, d + model->c);
    free(numbers);
}

static void *pack(const rfm_conv_model *model, const sample_form *form, const offsets *moved, const double *offset,
                  size_t *bytes) {
    text record = {NULL, 0, 0};
    const char *names = form->target_names;
    void *blob = NULL;
    int status;
    if (names != NULL) record_add(&record, RFM_RECORD_TARGETS, names, (size_t)(rfm_name(names, form->targets) - names));
    if (moved->y != NULL) record_offsets(&record, model, moved, offset);
    status = rfm_conv_size(model, record.size, bytes);
    if (status == RFM_OK) {
        blob = allocate_aligned(*bytes, "the model");
        status = rfm_conv_write(model, record.at, record.size, blob, *bytes);
    }
    if (status != RFM_OK) fail("cannot write the model: %s", rfm_status_text(status));
    free(record.at);
    return blob;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* y (rows, c): classes as numbers, or values less their means (c) in units (c), powers of two near their deviations. So
 * squared errors have a range, and several targets count alike. A mean is an rfm_real, as a model has it, but where an
 * offset was taken out: the record has it with all digits. */
static rfm_real *targets_of(const sample *s, const sample_form *form, size_t c, double *mean, double *unit) {
    rfm_real *y = allocate(s->rows, c * sizeof *y, "targets");
    size_t i, k;
    if (form->classes > 0) {
        class_targets(s->labels, s->rows, c, y);
        return y;
    }
    for (k = 0; k < c; k++) {
        const double moved = s->moved.y != NULL ? s->moved.y[k] : 0;
        double sum = 0, most = 0, square = 0, centre;
        for (i = 0; i < s->rows; i++) sum += (double)s->y[i * c + k] / (double)s->rows;
        centre = fabs(moved) > 0 ? sum : (double)(rfm_real)sum, mean[k] = moved + centre;
        for (i = 0; i < s->rows; i++) most = fmax(most, fabs((double)s->y[i * c + k] - centre));
        if (!(most > 0)) most = 1;
        for (i = 0; i < s->rows; i++) square += pow(((double)s->y[i * c + k] - centre) / most, 2);
        unit[k] = ldexp(1, square > 0 ? (int)floor(log2(most) + log2(square / (double)s->rows) / 2 + 0.5) : 0);
        for (i = 0; i < s->rows; i++) y[i * c + k] = (rfm_real)(((double)s->y[i * c + k] - centre) / unit[k]);
    }
    return y;
}

/* alpha, and the scores of a single target, in the units of the table. */
static void units_back(patch_fit *fit, const double *unit) {
    const rfm_conv_model *m = &fit->model;
    rfm_real *alpha = (rfm_real *)(uintptr_t)m->alpha; /* in fit->memory */
    size_t i;
    for (i = 0; i < m->n * m->c; i++) alpha[i] = (rfm_real)((double)alpha[i] * unit[i % m->c]);
    if (m->c > 1) return;
    fit->score *= unit[0] * unit[0];
    for (i = 0; i <= RFM_CONV_LAYERS; i++) fit->scores[i] *= unit[0] * unit[0];
}

typedef struct {
    const call *a;
    const sample_form *form;
    const sample *learn, *check;
    const patch_plan *plan;
    const patch_fit *fit;
    score score;
    size_t blob_bytes;
    double seconds;
} summary;

static void show_json(text *out, const summary *s) {
    const rfm_conv_model *m = &s->fit->model;
    text layers = {NULL, 0, 0};
    size_t l;
    json_text(out, "task", task_words[m->task]);
    json_number(out, "rows_train", (double)s->learn->rows);
    json_number(out, "rows_test", (double)s->check->rows);
    json_number(out, "features", (double)rfm_conv_pixels(&m->input));
    json_number(out, "outputs", (double)m->c);
    json_text(out, "kernel", conv_words[m->f.kernel]);
    json_text(out, "metric", m->p == NULL ? metric_words[RFM_IDENTITY] : metric_words[RFM_FULL]);
    json_number(out, "patch", (double)m->f.patch);
    json_number(out, "depth", m->f.depth);
    json_number(out, "layers", (double)m->layers);
    if (m->f.kernel == RFM_CONV_LAPLACE) json_real(out, "bandwidth", m->f.bandwidth);
    json_real(out, "ridge", (rfm_real)s->fit->ridge);
    json_number(out, "iterations", (double)s->fit->round);
    if (s->check->rows > 0) score_json(out, &s->score, m->task);
    json_number(out, "validation", s->fit->held > 0 ? s->fit->score : (double)NAN);
    json_number(out, "validation_rows", (double)s->fit->held);
    json_number(out, "validation_folds", (double)s->fit->folds);
    if (s->plan->options.layers > 0) {
        for (l = 0; l <= s->plan->options.layers; l++) text_add(&layers, l > 0 ? ", %.6g" : "%.6g", s->fit->scores[l]);
        json_array(out, "validation_layers", &layers);
    }
    json_number(out, "search", (double)s->fit->tried);
    json_number(out, "seconds", s->seconds);
    json_number(out, "arena_bytes", (double)s->fit->arena_bytes);
    json_number(out, "model_bytes", (double)s->blob_bytes);
    json_end(out);
}

static void show_text(text *out, const summary *s) {
    const rfm_conv_model *m = &s->fit->model;
    const rfm_conv *f = &m->input;
    size_t l;
    text_add(out, "task          %s, %zu %s\n", task_words[m->task], m->task == RFM_CLASSIFY ? s->form->classes : m->c,
             m->task == RFM_CLASSIFY ? "classes" : "targets");
    text_add(out, "rows          %zu trained on, %zu to test\n", s->learn->rows, s->check->rows);
    text_add(out, "images        %zu x %zu x %zu, patches of side %zu\n", f->channels, f->height, f->width, f->patch);
    text_add(out, "kernel        %s, %d layer%s", conv_words[m->f.kernel], m->f.depth, m->f.depth == 1 ? "" : "s");
    if (m->f.kernel == RFM_CONV_LAPLACE) text_add(out, ", bandwidth %.4g", (double)m->f.bandwidth);
    text_add(out, ", ridge %.4g\nmetric        of patches, rank %zu after %zu iterations\n", s->fit->ridge, m->r,
             s->fit->round);
    if (m->layers > 0) text_add(out, "filters       %zu layers of %zu\n", m->layers, m->layer[0].count);
    if (s->fit->held > 0)
        text_add(
            out,
            m->task == RFM_CLASSIFY ? "validation    %s %.4f%s on %zu held-out training rows, best of %zu settings\n"
                                    : "validation    %s %.4g%s on %zu held-out training rows, best of %zu settings\n",
            m->task == RFM_CLASSIFY ? "accuracy" : "mean squared error", s->fit->score,
            m->task == RFM_REGRESS && m->c > 1 ? " in units of about a deviation" : "", s->fit->held, s->fit->tried);
    for (l = 0; s->plan->options.layers > 0 && l <= s->plan->options.layers; l++)
        text_add(out, m->task == RFM_CLASSIFY ? "%s %.4f with %zu" : "%s %.4g with %zu",
                 l == 0 ? "              by layers of filters:" : ",", s->fit->scores[l], l);
    if (s->plan->options.layers > 0) text_add(out, "; folds that decided: %zu\n", s->fit->folds);
    if (s->check->rows > 0) score_text(out, &s->score, m->task, s->check->rows, "test rows");
    text_add(out, "model         ");
    text_name(out, s->a->out);
    text_add(out, ", %zu bytes, %zu images\n", s->blob_bytes, m->n);
    text_add(out, "took          %.2f s, %zu bytes of arena\n", s->seconds, s->fit->arena_bytes);
}

void conv_train(const call *a, machine *m, const search_problem *open, int (*tick)(void *arg, rfm_real done),
                sample *learn, sample *check, const sample_form *form, size_t d, double start) {
    image_size size = image_size_of("--image", a->image_size);
    size_t pixels = size.channels * size.height * size.width, c = form_outputs(form);
    rfm_real *offset = allocate(c, sizeof *offset, "targets"), *y;
    double *unit = allocate(c, sizeof *unit, "targets"), *mean = allocate(c, sizeof *mean, "targets");
    rfm_cmat x = rfm_cview(learn->x, learn->rows, d);
    text out = {NULL, 0, 0};
    patch_plan plan;
    patch_fit fit;
    summary s;
    void *blob;
    size_t k;
    if (d != pixels) fail("%s: %zu inputs, expected the %zu of --image %s", a->operands[0], d, pixels, a->image_size);
    memset(&s, 0, sizeof s);
    plan = plan_of(a, open, x, form->classes > 0 ? RFM_CLASSIFY : RFM_REGRESS, tick);
    y = targets_of(learn, form, c, mean, unit);
    patches_learn(m, size, x, rfm_cview(y, learn->rows, c), form->classes > 0 ? learn->labels : NULL, form->classes,
                  &plan, &fit);
    fit.model.task = form->classes > 0 ? RFM_CLASSIFY : RFM_REGRESS;
    fit.model.class_names = form->class_names;
    for (k = 0; k < c; k++) offset[k] = (rfm_real)mean[k];
    if (form->classes == 0) units_back(&fit, unit), fit.model.offset = offset;
    blob = pack(&fit.model, form, &learn->moved, mean, &s.blob_bytes);
    if (check->rows > 0) s.score = conv_score(m, &fit.model, mean, check);
    file_write(a->out, blob, s.blob_bytes);
    s.a = a, s.form = form, s.learn = learn, s.check = check, s.plan = &plan, s.fit = &fit;
    s.seconds = seconds_now() - start;
    (a->json ? show_json : show_text)(&out, &s);
    file_show(&out, a->out);
    free(out.at);
    free(blob);
    free(y);
    free(mean);
    free(offset);
    free(unit);
    patch_fit_free(&fit);
}

#include "patches.h"

#include "folds.h"
#include "progress.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HELD_OUT       5   /* one row of so many */
#define ROWS_AT_ONCE   256 /* that are predicted */
#define DISTANCE_PAIRS 200

const char *const conv_words[] = {"laplace", "cnngp", "cntk", NULL};

image_size image_size_of(const char *name, const char *word) {
    size_t side[3] = {0, 0, 0}, count = 0;
    const char *at = word;
    image_size s;
    while (count < 3 && isdigit((unsigned char)*at)) {
        char *end;
        side[count] = strtoul(at, &end, 10);
        if (side[count] == 0 || side[count] > 65535) break;
        count++, at = end;
        if (*at == 'x' || *at == 'X')
            at++;
        else
            break;
    }
    if (*at != 0 || count < 2 || at[-1] == 'x' || at[-1] == 'X')
        usage("%s: expected CHANNELSxROWSxCOLUMNS, as in 3x32x32, or 28x28, found \"%s\"", name, word);
    s.channels = count == 3 ? side[0] : 1, s.height = side[count - 2], s.width = side[count - 1];
    return s;
}

double patch_distance(rfm_cmat x, size_t channels, size_t patch, size_t height) {
    size_t pairs = x.rows - 1 < DISTANCE_PAIRS ? x.rows - 1 : DISTANCE_PAIRS, i, j;
    double sum = 0, numbers = (double)(channels * patch * (height > 1 ? patch : 1));
    for (i = 0; i < pairs; i++)
        for (j = 0; j < x.cols; j++)
            sum += pow((double)x.at[i * x.stride + j] - (double)x.at[(i + 1) * x.stride + j], 2);
    return pairs > 0 && sum > 0 ? sqrt(numbers * sum / (double)(pairs * x.cols)) : 1;
}

/* ---- one fit -------------------------------------------------------------------------------- */

/* Rows of one image size. */
typedef struct {
    machine *machine;
    image_size size;
    rfm_data data;
    int (*tick)(void *arg, rfm_real done);
} patch_rows;

static void failed(int status, const patch_rows *r, const rfm_conv_options *o) {
    if (status == RFM_ECANCEL) fail("interrupted; no model was written");
    if (status == RFM_ESHAPE)
        fail("patches of side %zu in %d layers do not fit into images of %zux%zu: expected a smaller patch or fewer "
             "layers",
             o->patch, o->depth, r->size.height, r->size.width);
    if (status == RFM_EVALUE && o->kernel == RFM_CONV_LAPLACE)
        fail("a bandwidth of %.4g is outside the range of laplace: expected pixels in other units, or --bandwidth",
             (double)o->bandwidth);
    fail("cannot learn from %zu images of %zux%zux%zu: %s", r->data.x.rows, r->size.channels, r->size.height,
         r->size.width, rfm_status_text(status));
}

/* The model's arrays are in *memory, which is to be freed. A fold may have fewer images than gradients are asked for:
 * then they are taken at all. */
static void fit_once(const patch_rows *r, const rfm_conv_options *tried, rfm_conv_model *model, rfm_conv_report *report,
                     void **memory, size_t *most) {
    machine *m = r->machine;
    const image_size *s = &r->size;
    size_t scratch = 0, store = 0;
    rfm_conv_options options = *tried;
    const rfm_conv_options *o = &options;
    rfm_arena kept;
    int status;
    if (options.agop_points >= r->data.x.rows) options.agop_points = 0;
    status = rfm_conv_fit_need(&m->ctx, s->channels, s->height, s->width, &r->data, o, &scratch, &store);
    if (status != RFM_OK) failed(status, r, o);
    if (machine_room() > 0 && (double)(scratch + store) > machine_room())
        fail("out of memory: learning from %zu images takes %zu bytes, this machine has %.0f; fewer rows: --rows N",
             r->data.x.rows, scratch + store, machine_room());
    *memory = allocate_aligned(store, "the model");
    must(rfm_arena_init(&kept, *memory, store), "learning from images");
    machine_memory(m, scratch, "learning from images (fewer rows take less: --rows N)");
    if (scratch + store > *most) *most = scratch + store;
    m->ctx.tick = r->tick;
    status = rfm_conv_fit(&m->ctx, s->channels, s->height, s->width, &r->data, o, &kept, model, report);
    m->ctx.tick = NULL;
    progress_end();
    if (status != RFM_OK) failed(status, r, o);
}

/* ---- alpha from all rows -------------------------------------------------------------------- */

/* The images that the last layer of a model makes of x; to be freed. */
static rfm_real *last_images(machine *m, const rfm_conv_model *model, rfm_cmat x) {
    rfm_conv f = model->input;
    rfm_real *from = NULL;
    rfm_cmat at = x;
    size_t l, bytes;
    for (l = 0; l < model->layers; l++) {
        const rfm_conv_layer *layer = &model->layer[l];
        size_t places = rfm_conv_places(&f), columns = layer->count * places;
        rfm_real *to = allocate(x.rows, columns * sizeof *to, "feature images");
        must(rfm_conv_features_need(&m->ctx, &f, layer->count, x.rows, &bytes), "feature images");
        machine_memory(m, bytes, "feature images");
        must(rfm_conv_features(&m->ctx, &f, rfm_cview(layer->filters, layer->count, rfm_conv_patch(&f)), 1, at,
                               rfm_view(to, x.rows, columns)),
             "feature images");
        free(from);
        from = to, at = rfm_cview(to, x.rows, columns);
        f.height = f.padded ? f.height : f.height == 1 ? 1 : f.height - f.patch + 1;
        f.width = f.padded ? f.width : f.width - f.patch + 1;
        f.channels = layer->count;
    }
    return from;
}

/* fit->model has M and filters from some of the rows: now alpha comes from all of them. */
static void solve_all(const patch_rows *all, const rfm_conv_options *tried, patch_fit *fit) {
    const rfm_conv_model *found = &fit->model;
    size_t d = rfm_conv_patch(&found->f);
    rfm_real *images = last_images(all->machine, found, all->data.x), *metric = NULL;
    rfm_conv_options o = *tried;
    rfm_conv_model model;
    rfm_conv_report report;
    patch_rows rows = *all;
    memset(&report, 0, sizeof report);
    o.depth = found->f.depth, o.bandwidth = found->f.bandwidth, o.rounds = 0, o.select = RFM_SELECT_LAST;
    o.layers = 0, o.ridges = 1, o.ridge[0] = (rfm_real)fit->ridge;
    rows.size.channels = found->f.channels, rows.size.height = found->f.height, rows.size.width = found->f.width;
    if (images != NULL) rows.data.x = rfm_cview(images, all->data.x.rows, rfm_conv_pixels(&found->f));
    if (found->p != NULL) {
        metric = allocate(d, d * sizeof *metric, "the metric");
        must(rfm_conv_metric(found, rfm_view(metric, d, d)), "the metric");
        rows.data.start = rfm_cview(metric, d, d);
    }
    fit_once(&rows, &o, &model, &report, &fit->memory[1], &fit->arena_bytes);
    model.layers = found->layers, model.input = found->input;
    memcpy(model.layer, found->layer, sizeof model.layer);
    fit->model = model;
    free(images);
    free(metric);
}

/* ---- the choice ----------------------------------------------------------------------------- */

/* The rows without fold f, which is there for validation; to be freed. */
static part hold_fold(const patch_rows *all, const uint32_t *order, size_t f, patch_rows *rows) {
    size_t n = all->data.x.rows, d = all->data.x.cols, c = all->data.y.cols, fits = 0, held = 0;
    uint32_t *fit_rows = allocate(2 * n, sizeof *fit_rows, "folds"), *held_rows = fit_rows + n;
    part some;
    rows_fold(order, n, HELD_OUT, f, fit_rows, &fits, held_rows, &held);
    some = part_make(all->data.x, all->data.y, NULL, d, fit_rows, fits, held_rows, held);
    *rows = *all;
    rows->data.x = rfm_cview(some.x, fits, d), rows->data.y = rfm_cview(some.y, fits, c);
    rows->data.x_validation = rfm_cview(some.xv, held, d), rows->data.y_validation = rfm_cview(some.yv, held, c);
    free(fit_rows);
    return some;
}

/* The model of a fit goes to *fit. */
static void keep_fit(const rfm_conv_model *model, const rfm_conv_report *report, const rfm_conv_options *o,
                     void *memory, patch_fit *fit) {
    const rfm_conv_step *step = &report->path[report->layers * (o->rounds + 1) + report->best];
    free(fit->memory[0]);
    fit->memory[0] = memory, fit->model = *model;
    fit->score = (double)step->score, fit->round = report->best, fit->ridge = (double)step->ridge;
}

/* Is a model better than the one in fit? More layers have to lead by more than the error of the lead, with another
 * bandwidth as with the same. Scores of held-out rows: found (held), kept (held). */
static int takes(const rfm_conv_options *o, const rfm_conv_report *report, const patch_fit *fit, size_t held,
                 const rfm_real *found, const rfm_real *kept) {
    double score = (double)report->scores[report->layers];
    if (report->layers > fit->model.layers) return rfm_conv_leads(o->score, held, found, kept);
    if (report->layers < fit->model.layers) return !rfm_conv_leads(o->score, held, kept, found);
    return o->score == RFM_SCORE_SQUARED ? score < fit->score : score > fit->score;
}

/* Scores of the same rows with 0, 1, ... layers, `apart` numbers from one to the next: the layers that they take.
 * *open: do more layers lead, but not by enough? */
static size_t layers_led(const rfm_conv_options *o, size_t count, size_t apart, const rfm_real *scores, int *open) {
    size_t chosen = 0, l, i;
    for (l = 1; l <= o->layers; l++)
        if (rfm_conv_leads(o->score, count, scores + l * apart, scores + chosen * apart)) chosen = l;
    for (*open = 0, l = chosen + 1; l <= o->layers; l++) {
        double lead = 0;
        for (i = 0; i < count; i++) lead += (double)scores[l * apart + i] - (double)scores[chosen * apart + i];
        *open |= o->score == RFM_SCORE_SQUARED ? lead < 0 : lead > 0;
    }
    return chosen;
}

/* Layers by the scores (levels, held) of the first fold; while a lead is within its error, by one fold more. */
static size_t layers_settled(const patch_rows *all, const uint32_t *order, const rfm_conv_options *tried,
                             rfm_conv_report *report, const rfm_real *first, patch_fit *fit) {
    size_t n = all->data.x.rows, levels = tried->layers + 1, count = fit->held, v, l, chosen;
    rfm_real *pool = allocate(levels, n * sizeof *pool, "scores");
    rfm_conv_options o = *tried;
    int open;
    o.best = 0;
    for (l = 0; l < levels; l++) memcpy(pool + l * n, first + l * count, count * sizeof *pool);
    report->held = allocate(levels, count * sizeof *pool, "scores"); /* the first fold is the largest */
    for (;; count += v, fit->folds++) {
        rfm_conv_model model;
        patch_rows rows;
        void *memory;
        part some;
        chosen = layers_led(&o, count, n, pool, &open);
        if (!open || fit->folds == HELD_OUT) break;
        some = hold_fold(all, order, fit->folds, &rows);
        fit_once(&rows, &o, &model, report, &memory, &fit->arena_bytes);
        v = rows.data.x_validation.rows;
        for (l = 0; l < levels; l++) memcpy(pool + l * n + count, report->held + l * v, v * sizeof *pool);
        free(memory);
        part_free(&some);
    }
    free(report->held);
    free(pool);
    report->held = NULL;
    return chosen;
}

void patches_learn(machine *m, image_size size, rfm_cmat x, rfm_cmat y, const uint32_t *labels, size_t classes,
                   const patch_plan *plan, patch_fit *fit) {
    int chooses = plan->hold;
    size_t n = x.rows, steps = (plan->options.rounds + 1) * (RFM_CONV_LAYERS + 1), turn, turns, held = 0, levels, l;
    uint32_t *order = NULL;
    rfm_real *scores;
    rfm_conv_options o = plan->options;
    rfm_conv_model model;
    rfm_conv_report report;
    patch_rows rows, all;
    void *memory;
    part some;
    memset(fit, 0, sizeof *fit);
    memset(&all, 0, sizeof all);
    memset(&some, 0, sizeof some);
    memset(&report, 0, sizeof report);
    all.machine = m, all.size = size, all.tick = plan->tick;
    all.data.x = x, all.data.y = y;
    rows = all;
    if (chooses) {
        if (n < HELD_OUT) fail("%zu training rows, expected at least %d: every fifth is held out", n, HELD_OUT);
        order = rows_in_turn(n, labels, classes, o.seed);
        some = hold_fold(&all, order, 0, &rows);
        held = rows.data.x_validation.rows;
    } else
        o.best = 0, o.select = RFM_SELECT_LAST;
    report.path = allocate(steps, sizeof *report.path, "the path");
    levels = o.layers + 1;
    scores = allocate(2 * levels, held * sizeof *scores, "scores"); /* of the model, and of this turn */
    turns = plan->bandwidth_count > 0 ? plan->bandwidth_count : 1;
    for (turn = 0; turn < turns; turn++) {
        if (plan->bandwidth_count > 0) o.bandwidth = (rfm_real)plan->bandwidths[turn];
        report.held = scores + (turn > 0 ? levels * held : 0);
        fit_once(&rows, &o, &model, &report, &memory, &fit->arena_bytes);
        if (turn > 0 &&
            !takes(&o, &report, fit, held, report.held + report.layers * held, scores + fit->model.layers * held)) {
            free(memory);
            continue;
        }
        if (turn > 0) memcpy(scores, report.held, levels * held * sizeof *scores);
        keep_fit(&model, &report, &o, memory, fit);
        for (l = 0; l <= RFM_CONV_LAYERS; l++) fit->scores[l] = (double)report.scores[l];
    }
    fit->held = held, fit->folds = chooses ? 1 : 0;
    fit->tried = turns * (o.rounds + 1) * (chooses ? o.ridges : 1) * (o.layers + 1);
    if (chooses && o.best && o.layers > 0) {
        size_t layers;
        o.bandwidth = fit->model.f.bandwidth;
        layers = layers_settled(&all, order, &o, &report, scores, fit);
        if (layers != fit->model.layers) {
            o.layers = layers, o.best = 0;
            fit_once(&rows, &o, &model, &report, &memory, &fit->arena_bytes);
            keep_fit(&model, &report, &o, memory, fit);
        }
    }
    if (chooses) {
        solve_all(&all, &o, fit);
        part_free(&some);
    }
    free(order);
    free(report.path);
    free(scores);
}

void patch_fit_free(patch_fit *fit) {
    size_t i;
    for (i = 0; i < 3; i++) free(fit->memory[i]);
}

int patches_status(machine *m, const rfm_conv_model *model, rfm_cmat x, rfm_real *y, uint32_t *classes) {
    size_t first, count, bytes, i;
    int status;
    must(rfm_conv_predict_need(&m->ctx, model, x.rows < ROWS_AT_ONCE ? x.rows : ROWS_AT_ONCE, &bytes), "predict");
    machine_memory(m, bytes, "prediction");
    for (first = 0; first < x.rows; first += count) {
        rfm_cmat some = rfm_cview(x.at + first * x.stride, 0, x.cols);
        count = x.rows - first < ROWS_AT_ONCE ? x.rows - first : ROWS_AT_ONCE;
        some.rows = count, some.stride = x.stride;
        if (count < ROWS_AT_ONCE && first > 0) {
            must(rfm_conv_predict_need(&m->ctx, model, count, &bytes), "predict");
            machine_memory(m, bytes, "prediction");
        }
        status = rfm_conv_predict(&m->ctx, model, some, rfm_view(y + first * model->c, count, model->c));
        if (status != RFM_OK) return status;
        for (i = first; classes != NULL && i < first + count; i++)
            classes[i] = (uint32_t)rfm_conv_class(model, y + i * model->c);
    }
    return RFM_OK;
}

void patches_predict(machine *m, const rfm_conv_model *model, rfm_cmat x, rfm_real *y, uint32_t *classes) {
    must(patches_status(m, model, x, y, classes), "predict");
}

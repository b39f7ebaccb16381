#include "score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_AT_ONCE 8192

size_t form_outputs(const sample_form *form) {
    return form->classes == 0 ? form->targets : form->classes == 2 ? 1 : form->classes;
}

sample_form form_of_model(const any_model *model, const char *model_file, const char *target, int missing_mean) {
    sample_form form;
    form.target = target;
    form.classes = model_classes(&model->numbers);
    form.class_names = model->numbers.class_names;
    form.targets = model_targets(&model->numbers);
    form.target_names = model->record.targets;
    form.missing_mean = missing_mean;
    if (form.classes > 0 && form.class_names == NULL) fail("%s: expected a model that has class names", model_file);
    return form;
}

/* The first of the targets that the model was trained on, if the file has them side by side; else its columns. */
static size_t target_recorded(const csv *c, const sample_form *form) {
    size_t column, k;
    if (form->target != NULL || form->target_names == NULL) return c->columns;
    column = csv_column(c, form->target_names);
    for (k = 0; column < c->columns && k < form->targets; k++)
        if (column + k >= c->columns || strcmp(c->names[column + k], rfm_name(form->target_names, k)) != 0)
            return c->columns;
    return column;
}

/* The target where its recorded name does not help. */
static size_t target_unrecorded(const model_table *t, const char *model_file, const char *data, int header,
                                const char *target) {
    char room[GUESS_ROOM];
    if (target == NULL && t->form.targets == 1) {
        target = target_guess(&t->file, t->inputs);
        if (target == NULL && header && t->form.target_names != NULL &&
            csv_column(&t->file, "target") == t->file.columns)
            fail("%s: line 1: expected a column %s, the target of %s, found none of that name%s (--target NAME for "
                 "another)",
                 data, t->form.target_names, model_file, csv_like(&t->file, t->form.target_names, room));
    }
    return target_find(&t->file, target, t->form.targets);
}

void model_table_read(model_table *t, const any_model *any, const char *model_file, const char *data, int header,
                      const char *target, int missing_mean) {
    size_t k;
    t->form = form_of_model(any, model_file, target, missing_mean);
    record_absent(&any->record);
    csv_read(&t->file, data, header);
    need_labels(&t->file);
    t->column = target_recorded(&t->file, &t->form);
    if (t->column < t->file.columns && t->form.targets == 1) target = t->file.names[t->column];
    t->inputs = model_inputs(&t->file, any, target, t->form.targets);
    if (t->column == t->file.columns) t->column = target_unrecorded(t, model_file, data, header, target);
    for (k = 0; k < t->inputs.count; k++)
        if (t->inputs.at[k].column >= t->column && t->inputs.at[k].column < t->column + t->form.targets)
            fail("%s: column %zu (%s) is an input of %s, expected another target", data, t->inputs.at[k].column + 1,
                 t->file.names[t->inputs.at[k].column], model_file);
    for (k = 0; any->record.recipe != NULL && t->form.classes == 0 && k < t->form.targets; k++)
        column_decode(&t->file, t->column + k, recipe_kind(any->record.recipe, any->numbers.d + k));
}
void model_table_free(model_table *t) {
    csv_free(&t->file);
    inputs_free(&t->inputs);
}

input_list model_inputs(csv *c, const any_model *model, const char *target, size_t targets) {
    const rfm_model *m = &model->numbers;
    if (model->record.recipe != NULL)
        return inputs_of_recipe(c, model->record.recipe, model->record.knots, m->input_names, m->d);
    return inputs_of_model(c, m->input_names, m->d, target, targets);
}

void say_unknown(const csv *c, size_t count) {
    if (count > 0) decided(c->file, "%zu row%s without a target: left out", count, count == 1 ? "" : "s");
}

row_list rows_to_score(csv *c, const char *split, size_t target, size_t targets) {
    unsigned char *use = split_read(split, c, USE_TEST);
    row_list rows = rows_of(c, use, USE_TEST);
    if (rows.count > 0) {
        say_unknown(c, rows_known(c, &rows, target, targets));
        if (rows.count == 0) fail("%s: no row has a target, expected at least one", c->file);
    }
    if (rows.count == 0) fail("%s: no row is marked 1 (test), expected at least one", split);
    free(use);
    return rows;
}

/* ---- columns that rfm_real would lose ------------------------------------------------------- */

#define FEW_ROWS 8 /* too few to say what a column's spread is */

static void say_loss(const csv *c, size_t column, double off, double spread, double center, int loss) {
    static const char *const end[] = {
        "this command subtracts %.10g itself, firmware cannot. For firmware subtract it in the table and train again",
        "that is lost. Subtract %.10g from the column and train anew",
        "expected a column without that. Subtract %.10g from it and train anew"};
    text t = {NULL, 0, 0};
    text_add(&t, "%s: column %zu (%s): as %s its numbers are up to %.3g off, in a spread of %.6g; ", c->file,
             column + 1, c->names[column], sizeof(rfm_real) == sizeof(float) ? "float" : "double", off, spread);
    text_add(&t, loss == LOSS_MOVED ? end[0] : loss == LOSS_STAYS ? end[1] : end[2], center);
    text_bytes(&t, "", 1);
    if (loss == LOSS_REFUSED) fail("%s", t.at);
    note("%s", t.at);
    free(t.at);
}

/* center, scale (NULL: not known): of a model that was trained on such a column. recorded: what was taken out of it
 * then; NULL: that is not known, and these rows say whether it has to be. */
static double offset_of(const csv *c, size_t column, row_list rows, const rfm_real *center, const rfm_real *scale,
                        const double *recorded, int loss) {
    column_range r = column_look(c, column, rows);
    double middle = center != NULL ? (double)*center : r.mean, known = 0, spread;
    if (recorded != NULL && loss == LOSS_MOVED) {
        known = *recorded;
        if (!(fabs(known) > 0)) return 0;
    }
    if (r.count == 0) return known;
    if (center != NULL) r.low = fmin(r.low, middle), r.high = fmax(r.high, middle);
    spread = fmax(r.high - r.low, scale != NULL ? (double)*scale : 0);
    if (!column_loses(r.off, spread)) return known;
    if (center == NULL || scale != NULL || r.count >= FEW_ROWS) say_loss(c, column, r.off, spread, middle, loss);
    return fabs(known) > 0 ? known : loss == LOSS_MOVED ? middle : 0;
}

/* NULL in place of zeros only. */
static double *none_if_zero(double *offset, size_t count) {
    size_t i;
    for (i = 0; i < count; i++)
        if (fabs(offset[i]) > 0) return offset;
    free(offset);
    return NULL;
}

offsets offsets_find(const csv *c, const input_list *inputs, size_t target, size_t targets, row_list rows,
                     const any_model *like, int loss) {
    const rfm_model *model = like != NULL && !has_integers(like) ? &like->numbers : NULL;
    const rfm_real *shift = model != NULL ? model->shift : NULL, *offset = model != NULL ? model->offset : NULL;
    int known = model != NULL && like->record.has_options; /* without an entry nothing was taken out */
    rfm_summary summary;
    offsets o;
    size_t i;
    memset(&summary, 0, sizeof summary);
    if (model != NULL) (void)rfm_model_summary(model, &summary, NULL, 0);
    o.x = allocate(inputs->count, sizeof *o.x, "offsets");
    o.y = allocate(targets, sizeof *o.y, "offsets");
    for (i = 0; i < inputs->count + targets; i++) {
        double recorded = known && like->record.offsets != NULL ? record_number(like->record.offsets, i) : 0;
        const double *said = known ? &recorded : NULL;
        if (i >= inputs->count)
            o.y[i - inputs->count] = offset_of(c, target + (i - inputs->count), rows,
                                               offset != NULL ? offset + (i - inputs->count) : NULL, NULL, said, loss);
        else if (inputs->at[i].what == INPUT_NUMBER)
            o.x[i] = offset_of(c, inputs->at[i].column, rows, shift != NULL ? shift + i : NULL,
                               summary.x_scale != NULL ? summary.x_scale + i : NULL, said, loss);
    }
    o.x = none_if_zero(o.x, inputs->count), o.y = none_if_zero(o.y, targets);
    return o;
}

offsets offsets_of_targets(const csv *c, size_t target, size_t targets, row_list rows, const any_model *like) {
    input_list none;
    memset(&none, 0, sizeof none);
    return offsets_find(c, &none, target, targets, rows, like, LOSS_MOVED);
}

static double *copy_numbers(const double *from, size_t count) {
    double *to = NULL;
    if (from == NULL) return NULL;
    to = allocate(count, sizeof *to, "offsets");
    memcpy(to, from, count * sizeof *to);
    return to;
}

offsets offsets_copy(const offsets *o, size_t d, size_t targets) {
    offsets copy;
    copy.x = copy_numbers(o->x, d), copy.y = copy_numbers(o->y, targets);
    return copy;
}

any_model any_moved(const any_model *model, const offsets *moved, rfm_real **room) {
    any_model to = *model;
    size_t d = model->numbers.d, c = model->numbers.c, i;
    rfm_real *at = *room = allocate(d + c, sizeof **room, "offsets");
    if (has_integers(model) || model->of_tree) return to;
    for (i = 0; i < d; i++) at[i] = to.numbers.shift[i] - (rfm_real)(moved->x != NULL ? moved->x[i] : 0);
    for (i = 0; i < c; i++)
        at[d + i] =
            (to.numbers.offset != NULL ? to.numbers.offset[i] : 0) - (rfm_real)(moved->y != NULL ? moved->y[i] : 0);
    to.numbers.shift = at, to.numbers.offset = at + d;
    return to;
}

/* ---- samples -------------------------------------------------------------------------------- */

offsets model_table_offsets(const model_table *t, row_list rows, const any_model *model) {
    return offsets_find(&t->file, &t->inputs, t->column, t->form.classes > 0 ? 0 : t->form.targets, rows, model,
                        has_integers(model) || model->of_tree ? LOSS_STAYS : LOSS_MOVED);
}

sample sample_read(csv *c, input_list inputs, size_t target, const sample_form *form, row_list rows, offsets moved) {
    sample s;
    s.rows = rows.count;
    s.x = allocate(rows.count, inputs.count * sizeof *s.x, "inputs");
    s.y = NULL, s.labels = NULL;
    s.moved = moved;
    inputs_fill(c, inputs, rows, form->missing_mean, moved.x, s.x);
    if (form->classes > 0) {
        s.labels = classes_of(c, target, rows, form->class_names, form->classes);
    } else {
        s.y = allocate(rows.count, form->targets * sizeof *s.y, "targets");
        targets_fill(c, target, form->targets, rows, moved.y, s.y);
    }
    return s;
}

void sample_keep(sample *s, size_t d, size_t c, const unsigned char *mark, int wanted) {
    size_t i, kept = 0;
    for (i = 0; i < s->rows; i++) {
        if (mark[i] != wanted) continue;
        memmove(s->x + kept * d, s->x + i * d, d * sizeof *s->x);
        if (s->y != NULL) memmove(s->y + kept * c, s->y + i * c, c * sizeof *s->y);
        if (s->labels != NULL) s->labels[kept] = s->labels[i];
        kept++;
    }
    s->rows = kept;
}

size_t sample_impute(sample *s, size_t d, const rfm_real *means) {
    size_t i, j, count = 0;
    for (i = 0; i < s->rows; i++)
        for (j = 0; j < d; j++)
            if (isnan(s->x[i * d + j])) {
                s->x[i * d + j] = means[j] - (rfm_real)(s->moved.x != NULL ? s->moved.x[j] : 0);
                count++;
            }
    return count;
}

void sample_free(sample *s) {
    free(s->x);
    free(s->y);
    free(s->labels);
    free(s->moved.x);
    free(s->moved.y);
}

/* ---- predictions ---------------------------------------------------------------------------- */

int predict_integers(const rfm_model_i *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes,
                     size_t *saturated) {
    size_t d = model->d, c = model->c, i, k;
    int16_t *xi = allocate(d, sizeof *xi, "inputs"),
            *scratch = allocate(RFM_PREDICT_I_SCRATCH(d, model->r), sizeof *scratch, "scratch");
    int32_t *scores = allocate(c, sizeof *scores, "scores");
    int status = RFM_OK;
    *saturated = 0;
    for (i = 0; i < rows && status == RFM_OK; i++) {
        rfm_notes_i notes;
        status = rfm_input_integers(model, x + i * d, xi);
        if (status == RFM_OK) status = rfm_predict_i(model, xi, scores, scratch, NULL, &notes);
        if (status != RFM_OK) break;
        for (k = 0; k < c; k++) y[i * c + k] = (rfm_real)((double)scores[k] * (double)model->units[k]);
        if (classes != NULL) classes[i] = (uint32_t)rfm_class_i(model, scores);
        *saturated += notes.saturated;
    }
    free(xi);
    free(scratch);
    free(scores);
    return status;
}

int predict_tiny(const rfm_tiny *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes,
                 size_t *saturated) {
    size_t d = model->d, c = model->c, i, j, k;
    int16_t *xi = allocate(d, sizeof *xi, "inputs");
    int8_t *scratch = allocate(model->r, sizeof *scratch, "scratch");
    int32_t *scores = allocate(c, sizeof *scores, "scores");
    int status = RFM_OK;
    *saturated = 0;
    for (i = 0; i < rows && status == RFM_OK; i++) {
        status = rfm_tiny_integers(model, x + i * d, xi);
        if (status == RFM_OK) status = rfm_tiny_predict(model, xi, scores, scratch, NULL);
        if (status != RFM_OK) break;
        for (k = 0; k < c; k++)
            y[i * c + k] = (rfm_real)((double)scores[k] * (model->units != NULL ? (double)model->units[k] : 1));
        if (classes != NULL) classes[i] = (uint32_t)rfm_tiny_class(model, scores);
        for (j = 0; j < d; j++) {
            double exact =
                ldexp((double)x[i * d + j], model->exponents != NULL ? model->exponents[j] : model->exponent);
            *saturated += exact > 32767.5 || exact < -32768.5;
        }
    }
    free(xi);
    free(scratch);
    free(scores);
    return status;
}

int predict_filters(const rfm_filters *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes,
                    size_t *saturated) {
    const rfm_model_i *m = &model->model;
    size_t i, j, k, d = (size_t)model->channels * model->samples, c = m->c;
    int16_t *xi = allocate(d, sizeof *xi, "a window");
    int16_t *scratch = allocate(RFM_FILTERS_SCRATCH(m->d, m->r), sizeof *scratch, "scratch");
    int32_t *scores = allocate(c, sizeof *scores, "scores");
    int status = RFM_OK;
    *saturated = 0;
    for (i = 0; i < rows && status == RFM_OK; i++) {
        status = rfm_filters_integers(model, x + i * d, xi);
        if (status == RFM_OK) status = rfm_filters_predict(model, xi, scores, scratch, NULL, NULL);
        if (status != RFM_OK) break;
        for (k = 0; k < c; k++) y[i * c + k] = (rfm_real)((double)scores[k] * (double)m->units[k]);
        if (classes != NULL) classes[i] = (uint32_t)rfm_class_i(m, scores);
        for (j = 0; j < d; j++) {
            double exact = ldexp((double)x[i * d + j], model->exponents[j / model->samples]);
            *saturated += exact > 32767.5 || exact < -32768.5;
        }
    }
    free(xi);
    free(scratch);
    free(scores);
    return status;
}

static int numbers_of_rows(machine *m, const rfm_model *model, const rfm_real *x, size_t rows, rfm_real *y) {
    size_t first, count, bytes = 0;
    int status = rfm_predict_need(&m->ctx, model, rows < ROWS_AT_ONCE ? rows : ROWS_AT_ONCE, &bytes);
    if (status == RFM_OK) machine_memory(m, bytes, "predictions");
    for (first = 0; status == RFM_OK && first < rows; first += count) {
        count = rows - first < ROWS_AT_ONCE ? rows - first : ROWS_AT_ONCE;
        status = rfm_predict(&m->ctx, model, rfm_cview(x + first * model->d, count, model->d),
                             rfm_view(y + first * model->c, count, model->c));
    }
    return status;
}

static int tree_of_rows(machine *m, const rfm_tree *tree, const rfm_real *x, size_t rows, rfm_real *y) {
    size_t bytes = 0;
    int status = rfm_tree_predict_need(&m->ctx, tree, rows, &bytes);
    if (status == RFM_OK) machine_memory(m, bytes, "predictions");
    if (status == RFM_OK)
        status = rfm_tree_predict(&m->ctx, tree, rfm_cview(x, rows, tree->d), rfm_view(y, rows, tree->c));
    return status;
}

static int predict_status(machine *m, const any_model *model, const rfm_real *x, size_t rows, rfm_real *y,
                          uint32_t *classes, size_t *saturated) {
    size_t i, none = 0;
    int status;
    if (saturated == NULL) saturated = &none;
    *saturated = 0;
    if (rows == 0) return RFM_OK;
    if (is_tiny(model))
        status = predict_tiny(&model->tiny, x, rows, y, classes, saturated);
    else if (is_filters(model))
        status = predict_filters(&model->filters, x, rows, y, classes, saturated);
    else if (has_integers(model))
        status = predict_integers(&model->integers, x, rows, y, classes, saturated);
    else {
        status = model->of_tree ? tree_of_rows(m, &model->tree, x, rows, y)
                                : numbers_of_rows(m, &model->numbers, x, rows, y);
        for (i = 0; status == RFM_OK && classes != NULL && i < rows; i++)
            classes[i] = (uint32_t)rfm_class(&model->numbers, y + i * model->numbers.c, NULL);
    }
    return status;
}

void predict_any(machine *m, const any_model *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes,
                 size_t *saturated) {
    int status = predict_status(m, model, x, rows, y, classes, saturated);
    if (status != RFM_OK) fail("cannot predict: %s", rfm_status_text(status));
}

void rows_fail(const failed_rows *f) {
    size_t d = f->inputs->count, end = f->rows.count, first = 0, j;
    rfm_real *row = allocate(d, sizeof *row, "a row");
    int status;
    while (end - first > 1) { /* the first that fails is one of first ... end - 1 */
        size_t middle = first + (end - first) / 2;
        if (f->tries(f->arg, f->x + first * d, middle - first) == RFM_OK)
            first = middle;
        else
            end = middle;
    }
    status = f->tries(f->arg, f->x + first * d, 1);
    for (j = 0; j < d; j++) {
        memcpy(row, f->x + first * d, d * sizeof *row);
        row[j] = f->middle != NULL ? f->middle[j] : 0;
        if (f->tries(f->arg, row, 1) == RFM_OK)
            csv_fail(f->file, f->rows.at[first], f->inputs->at[j].column,
                     "a number near enough to the training rows for a distance that fits");
    }
    fail("%s: %s %zu: cannot be predicted: %s", f->file->file, f->file->arrays != NULL ? "row" : "line",
         csv_line(f->file, f->rows.at[first]), rfm_status_text(status));
}

void saturated_note(const any_model *model, size_t saturated, size_t rows) {
    if (saturated > 0)
        note(is_tiny(model) || is_filters(model)
                 ? "%zu of %zu inputs were more than an integer of 16 bits holds; they were taken as its end"
                 : "%zu of %zu inputs were outside of the range that the model was calibrated for; they "
                   "were taken as its end (rfm info shows the ranges)",
             saturated, rows * model->numbers.d);
}

int output_digits(double offset) { return !(fabs(offset) > 0) ? 9 : fabs(offset) < 1e12 ? 15 : 17; }

int output_loses(double offset, double spread) {
    return column_loses(ldexp(fabs(offset), sizeof(rfm_real) == 4 ? -24 : -53), fmax(spread, fabs(offset) * 1e-300));
}

/* Outputs whose offset was taken out when training, or, where that is not recorded, which differ by less than rfm_real
 * can tell at the size of the model's offset, are computed once more without it. Returns what is to be added to them
 * (c), to be freed; NULL: nothing. */
static double *move_outputs(machine *m, const any_model *model, const sample *s, rfm_real *y) {
    size_t c = model->numbers.c, i, k;
    offsets moved = {NULL, NULL};
    rfm_real *room;
    any_model other;
    if (has_integers(model) || model->numbers.task != RFM_REGRESS || model->numbers.offset == NULL) return NULL;
    for (k = 0; k < c; k++) {
        double offset = (double)model->numbers.offset[k], low = offset, high = offset;
        const model_record *r = &model->record;
        if (r->has_options && (r->offsets == NULL || record_number(r->offsets, model->numbers.d + k) == 0)) continue;
        for (i = 0; i < s->rows; i++) low = fmin(low, (double)y[i * c + k]), high = fmax(high, (double)y[i * c + k]);
        if (!r->has_options && !output_loses(offset, high - low)) continue;
        if (moved.y == NULL) moved.y = allocate(c, sizeof *moved.y, "offsets");
        moved.y[k] = r->has_options ? record_number(r->offsets, model->numbers.d + k) : offset;
    }
    if (moved.y == NULL) return NULL;
    moved.x = s->moved.x;
    other = any_moved(model, &moved, &room);
    predict_any(m, &other, s->x, s->rows, y, NULL, NULL);
    free(room);
    return moved.y;
}

/* Some rows by a model, only to see whether they can be predicted. */
typedef struct {
    machine *m;
    const any_model *model;
    rfm_real *y;
} trial;

static int try_rows(void *arg, const rfm_real *x, size_t rows) {
    const trial *t = arg;
    return predict_status(t->m, t->model, x, rows, t->y, NULL, NULL);
}

predictions predict_table(machine *m, const any_model *model, csv *file, int fills) {
    const rfm_model *numbers = &model->numbers;
    unsigned char *use = split_read(NULL, file, USE_TEST);
    row_list rows = rows_of(file, use, USE_TEST);
    predictions p;
    size_t saturated;
    memset(&p, 0, sizeof p);
    p.inputs = model_inputs(file, model, NULL, numbers->task == RFM_CLASSIFY ? 1 : numbers->c);
    p.s.rows = rows.count, p.s.x = allocate(rows.count, numbers->d * sizeof *p.s.x, "inputs");
    p.s.moved = offsets_find(file, &p.inputs, 0, 0, rows, model, has_integers(model) ? LOSS_STAYS : LOSS_MOVED);
    p.y = allocate(rows.count, numbers->c * sizeof *p.y, "predictions");
    p.classes = allocate(rows.count, sizeof *p.classes, "predictions");
    inputs_fill(file, p.inputs, rows, fills, p.s.moved.x, p.s.x);
    sample_fill(&p.s, model, file->file);
    p.moved = any_moved(model, &p.s.moved, &p.room);
    if (predict_status(m, &p.moved, p.s.x, p.s.rows, p.y, p.classes, &saturated) != RFM_OK) {
        trial t = {m, &p.moved, p.y};
        failed_rows failed = {file, &p.inputs, rows, p.s.x, p.moved.numbers.shift, try_rows, &t};
        rows_fail(&failed);
    }
    p.added = move_outputs(m, model, &p.s, p.y);
    saturated_note(model, saturated, rows.count);
    free(use);
    free(rows.at);
    return p;
}

void predictions_free(predictions *p) {
    inputs_free(&p->inputs);
    sample_free(&p->s);
    free(p->y);
    free(p->added);
    free(p->room);
    free(p->classes);
}

const char *const missing_words[] = {"auto", "mean", "median", "error", NULL};

int fills_missing(const any_model *model, const char *model_file, const char *word) {
    int refuses = word != NULL && options_word("--missing", word, missing_words) == MISSING_ERROR;
    int means = !has_integers(model) || model->record.fill != NULL;
    if (word != NULL && !refuses && !means)
        fail("%s: a model of integers without a record of what missing cells become; expected data without them",
             model_file);
    return !refuses && means;
}

size_t sample_filled(sample *s, const any_model *model) {
    size_t d = model->numbers.d, count, j;
    rfm_real *means;
    if (has_integers(model) && model->record.fill == NULL) return 0;
    means = allocate(d, sizeof *means, "means");
    for (j = 0; j < d; j++)
        means[j] =
            model->record.fill != NULL ? (rfm_real)record_number(model->record.fill, j) : model->numbers.shift[j];
    count = sample_impute(s, d, means);
    free(means);
    return count;
}

void say_filled(size_t count, const char *data) {
    if (count > 0)
        note("%s: %zu empty cell%s: filled in as in training (--missing error to refuse them)", data, count,
             count == 1 ? "" : "s");
}

void sample_fill(sample *s, const any_model *model, const char *data) { say_filled(sample_filled(s, model), data); }

score score_of(const sample *s, size_t c, const rfm_real *y, const uint32_t *classes) {
    score result = {0, 0, 0};
    double *around = allocate(c, sizeof *around, "statistics");
    size_t i, k, right = 0;
    if (s->labels != NULL) {
        for (i = 0; i < s->rows; i++) right += classes[i] == s->labels[i];
        result.accuracy = s->rows > 0 ? (double)right / (double)s->rows : 0;
    } else {
        target_spread(rfm_cview(s->y, s->rows, c), around);
        for (k = 0; k < c && s->rows > 0; k++) {
            double error = 0, size = 0;
            for (i = 0; i < s->rows; i++) {
                double target = (double)s->y[i * c + k], off = target - (double)y[i * c + k];
                error += off * off;
                size += target * target;
            }
            result.mse += error / ((double)s->rows * (double)c);
            /* equal targets: what is around their mean is rounding */
            result.r2 += (around[k] > 1e-13 * size ? 1 - error / around[k] : error > 1e-13 * size ? 0 : 1) / (double)c;
        }
    }
    free(around);
    return result;
}

double main_score(const score *s, int task) { return task == RFM_CLASSIFY ? s->accuracy : s->r2; }

score score_sample(machine *m, const any_model *model, const sample *s, size_t *saturated) {
    size_t c = model->numbers.c;
    rfm_real *y = allocate(s->rows, c * sizeof *y, "predictions");
    uint32_t *classes = allocate(s->rows, sizeof *classes, "predictions");
    score result;
    rfm_real *room;
    any_model moved = any_moved(model, &s->moved, &room);
    predict_any(m, &moved, s->x, s->rows, y, classes, saturated);
    result = score_of(s, c, y, classes);
    free(room);
    free(y);
    free(classes);
    return result;
}

void columns_json(text *t, const any_model *model) {
    size_t count;
    char *columns;
    if (model->record.recipe == NULL) return;
    columns = recipe_columns(model->record.recipe, model->numbers.d, &count);
    json_names(t, "columns", columns, count);
    free(columns);
}

void score_json(text *t, const score *s, int task) {
    if (task == RFM_CLASSIFY)
        json_number(t, "accuracy", s->accuracy);
    else {
        json_number(t, "r2", s->r2);
        json_number(t, "mse", s->mse);
    }
}

void score_text(text *t, const score *s, int task, size_t rows, const char *kind) {
    if (task == RFM_CLASSIFY)
        text_add(t, "accuracy      %.2f %% of %zu %s\n", 100 * s->accuracy, rows, kind);
    else
        text_add(t, "r2            %.4f on %zu %s, mean squared error %.6g\n", s->r2, rows, kind, s->mse);
}

/* ---- rows that were trained on -----------------------------------------------------------------
 *
 * A record has a number for every row, made of the bits of its inputs and its target. */

static uint64_t mix(uint64_t state, double value) { /* FNV-1a over its bytes; 0 and -0 are one */
    unsigned char bytes[sizeof value];
    size_t i;
    value += 0.0;
    memcpy(bytes, &value, sizeof value);
    for (i = 0; i < sizeof value; i++) state = (state ^ bytes[i]) * 0x100000001b3u;
    return state;
}

uint32_t *sample_prints(const sample *s, size_t columns, const size_t *kept, size_t d, size_t c) {
    uint32_t *prints = allocate(s->rows, sizeof *prints, "fingerprints");
    size_t i, j;
    for (i = 0; i < s->rows; i++) {
        uint64_t state = 0xcbf29ce484222325u;
        for (j = 0; j < d; j++) {
            size_t at = kept != NULL ? kept[j] : j;
            state = mix(state, (double)s->x[i * columns + at] + (s->moved.x != NULL ? s->moved.x[at] : 0));
        }
        if (s->labels != NULL) state = mix(state, s->labels[i]);
        for (j = 0; s->labels == NULL && j < c; j++)
            state = mix(state, (double)s->y[i * c + j] + (s->moved.y != NULL ? s->moved.y[j] : 0));
        prints[i] = (uint32_t)(state ^ state >> 32);
    }
    return prints;
}

static int by_print(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void record_add_rows(text *record, uint32_t *prints, size_t count) {
    unsigned char *bytes = allocate(count, 4, "fingerprints");
    size_t i;
    qsort(prints, count, sizeof *prints, by_print);
    for (i = 0; i < count; i++) rfm_put_u32(bytes + 4 * i, prints[i]);
    record_add(record, RFM_RECORD_ROWS, bytes, 4 * count);
    free(bytes);
}

static size_t prints_seen(const any_model *model, const sample *s, unsigned char *seen) {
    const model_record *r = &model->record;
    size_t d = model->numbers.d, i, count = 0;
    uint32_t *prints = sample_prints(s, d, NULL, d, model->numbers.c);
    for (i = 0; i < s->rows; i++) {
        size_t low = 0, high = r->row_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (record_row(r->rows, middle) < prints[i])
                low = middle + 1;
            else
                high = middle;
        }
        seen[i] = low < r->row_count && record_row(r->rows, low) == prints[i];
        count += seen[i];
    }
    free(prints);
    return count;
}

/* Without that: a row is a centre if both are the same but for rounding: |P (x - shift) - z_i| is small beside
 * |z_i|. Centres are sorted by their sum along one direction, so that only those close by are compared. */

#define SAME 1e-4

typedef struct {
    double key;
    size_t at;
} keyed;

static int by_key(const void *a, const void *b) {
    double x = ((const keyed *)a)->key, y = ((const keyed *)b)->key;
    return (x > y) - (x < y);
}

static double key_of(const double *z, size_t r) {
    double key = 0;
    size_t q;
    for (q = 0; q < r; q++) key += z[q] * cos((double)q); /* no two coordinates count the same */
    return key;
}

static int is_centre(const rfm_model *m, const keyed *order, const double *z) {
    size_t low = 0, high = m->n, q;
    double length = 1, key = key_of(z, m->r), reach;
    for (q = 0; q < m->r; q++) length += z[q] * z[q];
    reach = SAME * sqrt(length) * sqrt((double)m->r); /* |cos| <= 1: keys differ by at most sqrt(r) |z - z_i| */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order[middle].key < key - reach)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < m->n && order[low].key <= key + reach; low++) {
        const rfm_real *center = m->centers + order[low].at * m->r;
        double off = 0;
        for (q = 0; q < m->r; q++) off += (z[q] - (double)center[q]) * (z[q] - (double)center[q]);
        if (off <= SAME * SAME * length) return 1;
    }
    return 0;
}

static size_t centres_seen(const any_model *model, const sample *s, unsigned char *seen) {
    rfm_real *room;
    any_model moved = any_moved(model, &s->moved, &room);
    const rfm_model *m = &moved.numbers;
    rfm_summary summary;
    size_t i, j, q, count = 0;
    double *z = allocate(m->r, sizeof *z, "a row");
    keyed *order;
    memset(&summary, 0, sizeof summary);
    (void)rfm_model_summary(m, &summary, NULL, 0);
    if (has_integers(model) || model->of_tree || summary.rows == 0 || summary.rows != m->n || m->radius > 0) {
        free(room);
        free(z);
        return SIZE_MAX;
    }
    order = allocate(m->n, sizeof *order, "centres");
    for (i = 0; i < m->n; i++) {
        for (q = 0; q < m->r; q++) z[q] = (double)m->centers[i * m->r + q];
        order[i].key = key_of(z, m->r), order[i].at = i;
    }
    qsort(order, m->n, sizeof *order, by_key);
    for (i = 0; i < s->rows; i++) {
        const rfm_real *x = s->x + i * m->d;
        for (q = 0; q < m->r; q++) {
            z[q] = 0;
            for (j = m->metric == RFM_FULL ? 0 : q; j < (m->metric == RFM_FULL ? m->d : q + 1); j++) {
                double p = m->metric == RFM_FULL ? (double)m->p[q * m->d + j] : m->p != NULL ? (double)m->p[j] : 1;
                z[q] += p * ((double)x[j] - (double)m->shift[j]);
            }
        }
        seen[i] = is_centre(m, order, z) != 0;
        count += seen[i];
    }
    free(order);
    free(room);
    free(z);
    return count;
}

size_t rows_seen(const any_model *model, const sample *s, unsigned char *seen) {
    unsigned char *room = seen == NULL ? allocate(s->rows, 1, "rows") : NULL, *mark = seen != NULL ? seen : room;
    size_t count = model->record.rows != NULL ? prints_seen(model, s, mark) : centres_seen(model, s, mark);
    free(room);
    return count;
}

#include "command.h"
#include "conv/conv.h"
#include "learn/measures.h"

#include "rfm_certify.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What certificates of rows need; of a model of numbers or of integers. */
typedef struct {
    rfm_real *scores, *scratch, *moves;
    int32_t *scores_i;
    int16_t *x_i, *scratch_i;
    int8_t *scratch_tiny;
    int64_t *room_i;
    uint16_t *counts;
} certifier;

static certifier certifier_make(const any_model *model, const char *file) {
    size_t d = model->numbers.d, c = model->numbers.c, r = model->numbers.r;
    certifier t;
    memset(&t, 0, sizeof t);
    certifiable(model, file);
    t.moves = allocate(d, sizeof *t.moves, "certificates");
    t.scores = allocate(c, sizeof *t.scores, "certificates");
    t.scratch = allocate(RFM_CERTIFY_SCRATCH(d, r, c), sizeof *t.scratch, "certificates");
    if (!has_integers(model)) return t;
    t.scores_i = allocate(c, sizeof *t.scores_i, "certificates");
    t.x_i = allocate(d, sizeof *t.x_i, "certificates");
    t.scratch_i = allocate(RFM_PREDICT_I_SCRATCH(d, r), sizeof *t.scratch_i, "certificates");
    t.scratch_tiny = allocate(r, sizeof *t.scratch_tiny, "certificates");
    t.room_i = allocate(RFM_CERTIFY_I_ROOM(r, c), sizeof *t.room_i, "certificates"); /* tiny: the same */
    t.counts = allocate(d, sizeof *t.counts, "certificates");
    return t;
}

static void certifier_free(certifier *t) {
    free(t->moves);
    free(t->scores);
    free(t->scratch);
    free(t->scores_i);
    free(t->x_i);
    free(t->scratch_i);
    free(t->scratch_tiny);
    free(t->room_i);
    free(t->counts);
}

/* certify_row for integers of any type. */
static double certify_integers(certifier *t, const any_model *model, const rfm_real *x) {
    const rfm_model_i *m = &model->integers;
    const rfm_tiny *tiny = &model->tiny;
    size_t found, j;
    uint32_t square;
    int status = is_tiny(model) ? rfm_tiny_integers(tiny, x, t->x_i) : rfm_input_integers(m, x, t->x_i);
    must(status, "certify");
    if (is_tiny(model))
        status = rfm_tiny_certify(tiny, t->x_i, t->scores_i, t->scratch_tiny, t->room_i, &found, &square, t->counts);
    else
        status = rfm_certify_i(m, t->x_i, t->scores_i, t->scratch_i, t->room_i, &found, &square, t->counts);
    must(status, "certify");
    for (j = 0; j < model->numbers.d; j++) {
        int exponent = !is_tiny(model)           ? m->inputs[j].exponent
                       : tiny->exponents != NULL ? tiny->exponents[j]
                                                 : tiny->exponent;
        t->moves[j] = (rfm_real)ldexp(t->counts[j], -exponent);
        if (t->counts[j] == RFM_CERTIFY_I_FREE) t->moves[j] = (rfm_real)INFINITY; /* tiny: the same */
    }
    return sqrt(square);
}

/* The radius of a row whose class was found to be class_at, and t->moves in the units of the table: infinite for an
 * input that does not matter. */
static double certify_row(certifier *t, const any_model *model, const rfm_real *x, size_t class_at) {
    rfm_real radius = 0;
    size_t found = class_at, j;
    if (has_integers(model)) return certify_integers(t, model, x);
    must(rfm_certify(&model->numbers, x, t->scores, t->scratch, &found, &radius, t->moves), "certify");
    for (j = 0; j < model->numbers.d; j++) {
        if (t->moves[j] >= RFM_LIMIT(MAX)) t->moves[j] = (rfm_real)INFINITY;
        if (found != class_at && isfinite(t->moves[j])) t->moves[j] = 0; /* two ways of rounding: too close to call */
    }
    return found == class_at ? (double)radius : 0;
}

/* Radius, the input that may move least, and by how much; both empty if no input matters. Six digits of a number that
 * is a little smaller are rounded down. */
static void certificate_add(text *lines, double radius, const certifier *t, input_list inputs) {
    size_t least = 0, j;
    for (j = 1; j < inputs.count; j++)
        if (t->moves[j] < t->moves[least]) least = j;
    text_add(lines, ",%.6g,", radius * (1 - 5e-6));
    if (!isfinite(t->moves[least])) {
        text_add(lines, ",");
        return;
    }
    csv_add(lines, rfm_name(inputs.names, least));
    text_add(lines, ",%.6g", (double)t->moves[least] * (1 - 5e-6));
}

/* No label has the sign that separates the labels of a set. */
static void check_labels(const rfm_model *m, const char *file) {
    size_t k;
    for (k = 0; m->class_names != NULL && k < model_classes(m); k++) {
        const char *name = rfm_name(m->class_names, k);
        if (strchr(name, '|') != NULL)
            fail("%s: the class \"%.*s\" has a |, which separates the classes of --sets; expected other names", file,
                 utf8_fit(name, 60), name);
    }
}

/* The conformal set of a row: its labels, separated by |. member: room, a byte for each class. */
static void set_add(text *lines, const any_model *model, const rfm_real *scores, unsigned char *member) {
    const rfm_model *m = &model->numbers;
    size_t count = 0, k;
    text set = {NULL, 0, 0};
    must(rfm_conformal_set(m->c, scores, (rfm_real)model->record.threshold, member, &count), "--sets");
    for (k = 0; k < model_classes(m); k++) {
        if (!member[k]) continue;
        if (set.size > 0) text_add(&set, "|");
        if (m->class_names != NULL)
            text_add(&set, "%s", rfm_name(m->class_names, k));
        else
            text_add(&set, "%zu", k);
    }
    text_bytes(&set, "", 1);
    text_add(lines, ",");
    csv_add(lines, set.at);
    free(set.at);
}

static void label_add(text *lines, const rfm_model *m, size_t k) {
    if (m->class_names != NULL)
        csv_add(lines, rfm_name(m->class_names, k));
    else
        text_add(lines, "%zu", k);
}

/* A header of the classes if that is wanted, and for each row its probabilities. They are rounded so that what is
 * printed has sum 1: the largest one takes what is over. */
static void proba_add(text *lines, const rfm_model *m, const rfm_real *y, size_t rows, double temperature,
                      size_t header) {
    size_t classes = model_classes(m), i, k;
    double *p = allocate(classes, sizeof *p, "probabilities");
    for (k = 0; header && k < classes; k++) {
        if (k > 0) text_add(lines, ",");
        label_add(lines, m, k);
    }
    if (header) text_add(lines, "\n");
    for (i = 0; i < rows; i++) {
        double over = 1;
        size_t most = 0;
        probabilities(y + i * m->c, m->c, temperature, p);
        for (k = 0; k < classes; k++) {
            if (p[k] > p[most]) most = k;
            over -= p[k] = rint(p[k] * 1e9) / 1e9;
        }
        p[most] += over;
        for (k = 0; k < classes; k++) text_add(lines, k > 0 ? ",%.9f" : "%.9f", p[k]);
        text_add(lines, "\n");
    }
    free(p);
}

/* What is needed to write the line of a row. */
typedef struct {
    const call *call;
    const any_model *any;
    double temperature, *p; /* p: (c) */
    unsigned char *member;
    certifier certificates;
} row_writer;

static void rows_add(row_writer *w, predictions *found, text *lines) {
    const call *c = w->call;
    const rfm_model *model = &w->any->numbers;
    size_t i, k;
    for (i = 0; i < found->s.rows; i++) {
        const rfm_real *at = found->y + i * model->c;
        if (c->scores || model->task == RFM_REGRESS)
            for (k = 0; k < model->c; k++) {
                double offset = found->added != NULL ? found->added[k] : 0;
                text_add(lines, "%s%.*g", k > 0 ? "," : "",
                         !(fabs(offset) > 0)   ? 9
                         : fabs(offset) < 1e12 ? 15
                                               : 17,
                         offset + (double)at[k]);
            }
        else
            label_add(lines, model, found->classes[i]);
        if (c->confidence) {
            probabilities(at, model->c, w->temperature, w->p);
            text_add(lines, ",%.4f", w->p[found->classes[i]]);
        }
        if (c->sets) set_add(lines, w->any, at, w->member);
        if (c->certify)
            certificate_add(lines,
                            certify_row(&w->certificates, &found->moved, found->s.x + i * model->d, found->classes[i]),
                            &w->certificates, found->inputs);
        text_bytes(lines, "\n", 1);
    }
}

/* The table is read, and the predictions are written, part by part. */
int command_predict(const call *c) {
    const char *const *operands = c->operands;
    int missing;
    size_t size, first = 1;
    any_model any;
    rfm_model model;
    machine m;
    csv file;
    csv_parts *parts;
    char *blob;
    row_writer w;
    file_parts out;
    text lines = {NULL, 0, 0};
    int was_quiet = quiet;
    if (c->missing != NULL) (void)options_word("--missing", c->missing, missing_words);
    machine_start(&m, c->threads, c->port);
    if (patches_read(operands[0], &blob, &size, &any)) return conv_predict(c, &m, &any, blob, size);
    any_read(operands[0], &blob, &size, &any);
    model = any.numbers;
    missing = fills_missing(&any, operands[0], c->missing);
    memset(&w, 0, sizeof w);
    w.call = c, w.any = &any, w.temperature = model_temperature(&any);
    if ((c->confidence || c->proba) && (model.task != RFM_CLASSIFY || w.temperature <= 0))
        fail("%s: expected a model of classes with a temperature for --%s, found %s", operands[0],
             c->proba ? "proba" : "confidence", model.task != RFM_CLASSIFY ? "one of numbers" : "one without");
    if (c->proba && (c->scores || c->confidence || c->sets || c->certify))
        usage("--proba: expected none of --scores, --confidence, --sets and --certify with it");
    if (c->sets && any.record.coverage <= 0)
        fail("%s: has no threshold for --sets, expected a model of rfm train --coverage", operands[0]);
    if (c->sets) check_labels(&model, operands[0]);
    w.member = allocate(model.c + 1, 1, "sets");
    w.p = allocate(model.c + 1, sizeof *w.p, "probabilities");
    if (c->certify) w.certificates = certifier_make(&any, operands[0]);
    record_absent(&any.record);
    parts = csv_parts_open(operands[1], !c->no_header);
    while (csv_parts_next(parts, &file)) {
        predictions found;
        if (first) {
            file_check(c->out);
            out = file_begin(c->out);
        }
        quiet = quiet || !first; /* notes are of the first part */
        found = predict_table(&m, &any, &file, missing);
        quiet = was_quiet;
        if (c->proba)
            proba_add(&lines, &model, found.y, found.s.rows, w.temperature, first);
        else
            rows_add(&w, &found, &lines);
        file_add(&out, lines.at, lines.size);
        lines.size = 0, first = 0;
        predictions_free(&found);
        csv_free(&file);
    }
    csv_parts_close(parts);
    file_end(&out);
    machine_stop(&m);
    free(lines.at);
    certifier_free(&w.certificates);
    free(w.member);
    free(w.p);
    free(blob);
    return 0;
}

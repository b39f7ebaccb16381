#include "command.h"
#include "compress/compress.h"
#include "export/extras.h"
#include "export/identifier.h"
#include "large/tree.h"
#include "signal/signal_model.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW_INTEGERS 64 /* over the range of an input */

/* How the model is used from C, as the head of a comment. */
static void use_numbers(text *t, const rfm_model *model, const char *id, const char *upper) {
    int sphere = on_sphere(model);
    text_add(t,
             " * Compile rfm.c%s%s beside it; the model stays in flash.\n"
             " * RAM: %zu bytes of x, scores and scratch, %d of m, about 200 of stack.\n *\n",
             needs_whole_build(model) ? "" : " with -DRFM_NO_TRAIN", sphere ? " -DRFM_SPHERE" : "",
             (model->d + RFM_PREDICT_SCRATCH(model->d, model->r) + model->c) * sizeof(rfm_real),
             MODEL_BYTES_32 + (sphere ? RFM_REAL_BYTES : 0));
    text_add(t, " *     static rfm_real scratch[%s_SCRATCH], scores[%s_OUTPUTS];\n", upper, upper);
    text_add(t, " *     rfm_model m;\n *     if (rfm_model_open(%s, %s_BYTES, &m) != RFM_OK) ...\n", id, upper);
    text_add(
        t,
        " *     if (rfm_predict_one(&m, x, scores, scratch, NULL, NULL) != RFM_OK) ...      x: %s_INPUTS raw values\n",
        upper);
    if (model->task == RFM_CLASSIFY) text_add(t, " *     class = %s_class_names[rfm_class(&m, scores, NULL)];\n", id);
}

static void use_integers(text *t, const rfm_model_i *model, const char *id, const char *upper) {
    size_t i, scaled = 0;
    for (i = 0; i < model->d; i++) scaled += model->inputs[i].exponent != 0;
    text_add(t,
             " * Compile rfm.c and rfm_small.c with -DRFM_NO_TRAIN%s beside it; no floating-point operation is made.\n"
             " * The model stays in flash.\n"
             " * RAM: %zu bytes of x, scores and scratch, %d of m, about 200 of stack.\n *\n",
             model->absolute ? " -DRFM_SMALL_L1" : "",
             (model->d + RFM_PREDICT_I_SCRATCH(model->d, model->r)) * sizeof(int16_t) + model->c * sizeof(int32_t),
             MODEL_I_BYTES_32);
    text_add(t, " *     static int16_t x[%s_INPUTS], scratch[%s_SCRATCH];\n *     static int32_t scores[%s_OUTPUTS];\n",
             upper, upper, upper);
    text_add(t, " *     rfm_model_i m;\n *     if (rfm_model_open_i(%s, %s_BYTES, &m) != RFM_OK) ...\n", id, upper);
    text_add(t, " *     if (rfm_predict_i(&m, x, scores, scratch, NULL, NULL) != RFM_OK) ...\n");
    if (model->task == RFM_CLASSIFY)
        text_add(t, " *     class = %s_class_names[rfm_class_i(&m, scores)];\n", id);
    else
        text_add(t, " *     value k = scores[k] * m.units[k]\n");
    text_add(t, scaled == 0
                    ? " *\n * x are the quantities that were trained on, as integers. Calibrated for, input by input"
                    : " *\n * x are the quantities that were trained on times 2^exponent, rounded: rfm_input_integers "
                      "makes them of numbers.\n * Calibrated for, input by input");
    text_add(t, " (what is outside is taken as the end):");
    for (i = 0; i < model->d; i++) {
        const rfm_input_i *in = &model->inputs[i];
        text_add(t, i % 6 == 0 ? "\n *     " : ", ");
        text_add(t, "%d..%d", in->low, in->high);
        if (scaled > 0) text_add(t, " 2^%d", in->exponent);
    }
    text_add(t, "\n");
}

static void use_tiny(text *t, const rfm_tiny *model, const char *id, const char *upper) {
    size_t j;
    text_add(t,
             " * Compile rfm.c and rfm_tiny.c with -DRFM_NO_TRAIN beside it; no floating-point operation is made. The "
             "model\n * stays in flash.\n"
             " * RAM: %zu bytes of x, scores and scratch, %d of m, about 200 of stack.\n *\n",
             model->d * sizeof(int16_t) + model->r + model->c * sizeof(int32_t), TINY_BYTES_32);
    text_add(t, " *     static int16_t x[%s_INPUTS];\n *     static int8_t scratch[%s_SCRATCH];\n", upper, upper);
    text_add(t, " *     static int32_t scores[%s_OUTPUTS];\n *     rfm_tiny m;\n", upper);
    text_add(t, " *     if (rfm_tiny_open(%s, %s_BYTES, &m) != RFM_OK) ...\n", id, upper);
    text_add(t, " *     if (rfm_tiny_predict(&m, x, scores, scratch, NULL) != RFM_OK) ...\n");
    if (model->task == RFM_CLASSIFY)
        text_add(t, " *     class = %s_class_names[rfm_tiny_class(&m, scores)];\n", id);
    else
        text_add(t, " *     value k = scores[k] * m.units[k]\n");
    text_add(t, " *\n * x are the quantities that were trained on");
    if (model->exponents == NULL && model->exponent == 0) text_add(t, ", as integers.\n");
    if (model->exponents == NULL && model->exponent != 0) text_add(t, " times 2^%d, rounded.\n", model->exponent);
    if (model->exponents != NULL) text_add(t, ", rounded, times");
    for (j = 0; model->exponents != NULL && j < model->d; j++)
        text_add(t, j % 16 == 0 ? "\n *     2^%d" : " 2^%d", model->exponents[j]);
    if (model->exponents != NULL) text_add(t, "\n");
}

static const char *input_name(const char *names, size_t i) { return names != NULL ? rfm_name(names, i) : "no name"; }

/* Says which inputs have few integers over their range, because they are far from 0 or reach far. */
static void say_few_integers(const rfm_model_i *model) {
    size_t i;
    for (i = 0; i < model->d; i++) {
        const rfm_input_i *in = &model->inputs[i];
        int levels = in->high - in->low + 1;
        if (in->exponent >= 0 || levels >= FEW_INTEGERS) continue;
        note("input %zu (%s): %d integers are all there are between %.10g and %.10g: subtract %.10g in the table and "
             "train again",
             i + 1, input_name(model->input_names, i), levels, ldexp(in->low, -in->exponent),
             ldexp(in->high, -in->exponent), ldexp(in->low, -in->exponent));
    }
}

/* Firmware has inputs as rfm_real: says which of them lose too much that way. */
static void say_losses(const any_model *any) {
    const rfm_model *model = &any->numbers;
    const unsigned char *taken = any->record.offsets;
    rfm_summary s;
    size_t i;
    memset(&s, 0, sizeof s);
    if (rfm_model_summary(model, &s, NULL, 0) != RFM_OK || s.x_scale == NULL) return;
    for (i = 0; i < model->d; i++) {
        double off;
        int exponent;
        (void)frexp((double)model->shift[i], &exponent);
        off = ldexp(1, exponent - (sizeof(rfm_real) == 4 ? 25 : 54));      /* half of the step between two rfm_real */
        if (!column_loses(off, sqrt(12) * (double)s.x_scale[i])) continue; /* the width of an even spread */
        note("input %zu (%s): as %s its numbers are up to %.3g off, with a deviation of %.4g; for firmware subtract "
             "%.10g in the table and train again",
             i + 1, input_name(model->input_names, i), sizeof(rfm_real) == 4 ? "float" : "double", off,
             (double)s.x_scale[i],
             taken != NULL && fabs(record_number(taken, i)) > 0 ? record_number(taken, i) : (double)model->shift[i]);
    }
}

/* Vectors are of rows of a table, for one model. */
static void no_vectors(const any_model *any, const call *c, const char *file) {
    if (c->vectors != SIZE_MAX && (is_filters(any) || any->of_tree))
        fail("%s: %s; expected a model of rows for --vectors", file,
             any->of_tree ? tree_word(any) : "a bank of filters");
}

int command_export(const call *c) {
    const char *file = c->operands[0], *out = c->out;
    size_t size, i, classes;
    any_model any;
    rfm_model model;
    header more;
    text t = {NULL, 0, 0}, guard = {NULL, 0, 0};
    char *file_blob, *id, *upper;
    unsigned char *blob;
    int integers;
    if (out == NULL) usage("export: expected -o model.h");
    if (c->certify && !c->standalone)
        usage("export: --certify goes with --standalone; rfm_certify.h has it for others");
    if ((c->vectors != SIZE_MAX) != (c->data != NULL))
        usage("export: expected --vectors N and --data DATA.csv together");
    if (c->vectors == 0) usage("--vectors: expected at least 1");
    id = c->name != NULL ? identifier_given(c->name) : identifier_of_file(file);
    if (c->standalone) {
        standalone_export(c, file, out, id);
        free(id);
        return 0;
    }
    any_read(file, &file_blob, &size, &any);
    no_vectors(&any, c, file);
    if (is_filters(&any)) return signal_export(&any.filters, id, out);
    if (any.of_tree) return tree_export(&any, file_blob, size, id, out);
    blob = firmware_blob(&any, file_blob, size, &size);
    file_check(out);
    model = any.numbers, integers = has_integers(&any);
    upper = copy_text(id, strlen(id));
    for (i = 0; upper[i] != 0; i++) upper[i] = (char)toupper((unsigned char)upper[i]);
    classes = model_classes(&model);
    text_add(&t,
             "/* A model for rfm %d.%d: %s, %zu inputs, %zu output%s, %zu centres, metric %s of rank %zu, numbers of "
             "type %s.\n",
             RFM_VERSION_MAJOR, RFM_VERSION_MINOR, task_words[model.task], model.d, model.c, model.c == 1 ? "" : "s",
             model.n, any_metric(&any), model.r, type_word(any.type));
    if (is_tiny(&any))
        use_tiny(&t, &any.tiny, id, upper);
    else if (integers)
        use_integers(&t, &any.integers, id, upper);
    else
        use_numbers(&t, &model, id, upper);
    inputs_comment(&t, model.input_names, model.d, &any.record);
    /* Another model of the same name has another guard: the compiler finds the names twice and says so. */
    text_add(&guard, "RFM_MODEL_%s_%08lX_H%c", upper, (unsigned long)rfm_crc32(0, blob, size), 0);
    text_add(&t, " */\n#ifndef %s\n#define %s\n\n#include \"%s\"\n\n", guard.at, guard.at,
             is_tiny(&any) ? "rfm_tiny.h"
             : integers    ? "rfm_small.h"
                           : "rfm.h");
    if (has_sensor(&any)) text_add(&t, "#include \"rfm_signal.h\"\n\n");
    text_add(&t,
             "#define %s_BYTES   %zu\n#define %s_INPUTS  %zu\n#define %s_OUTPUTS %zu\n#define %s_CENTERS %zu\n#define "
             "%s_RANK    %zu\n",
             upper, size, upper, model.d, upper, model.c, upper, model.n, upper, model.r);
    if (classes > 0) text_add(&t, "#define %s_CLASSES %zu\n", upper, classes);
    if (is_tiny(&any))
        text_add(&t, "#define %s_SCRATCH %s_RANK\n\n", upper, upper);
    else
        text_add(&t, "#define %s_SCRATCH RFM_PREDICT_%sSCRATCH(%s_INPUTS, %s_RANK) /* numbers: %zu */\n\n", upper,
                 integers ? "I_" : "", upper, upper, RFM_PREDICT_SCRATCH(model.d, model.r));
    if (!integers)
        text_add(
            &t,
            "#if RFM_REAL_BYTES != %d\n#error \"this model was made for numbers of %d bytes (RFM_REAL)\"\n#endif\n\n",
            RFM_REAL_BYTES, RFM_REAL_BYTES);
    if (integers && !is_tiny(&any) && !is_filters(&any) && any.integers.absolute)
        text_add(&t, "#ifndef RFM_SMALL_L1\n#error \"this model needs -DRFM_SMALL_L1\"\n#endif\n\n");
    if (!integers && on_sphere(&model))
        text_add(&t, "#ifndef RFM_SPHERE\n#error \"this model needs -DRFM_SPHERE\"\n#endif\n\n");
    if (!integers && needs_whole_build(&model)) text_add(&t, WHOLE_BUILD);
    if (classes > 0) {
        text_add(&t, "static const char *const %s_class_names[%s_CLASSES] = {", id, upper);
        for (i = 0; i < classes; i++) {
            text_add(&t, i % 8 == 0 ? "\n    " : " ");
            if (model.class_names != NULL)
                c_string(&t, rfm_name(model.class_names, i));
            else
                text_add(&t, "\"%zu\"", i);
            text_add(&t, ",");
        }
        text_add(&t, "\n};\n\n");
    }
    text_add(&t, "RFM_ALIGNED static const unsigned char %s[%s_BYTES] = {", id, upper);
    for (i = 0; i < size; i++) text_add(&t, i % 24 == 0 ? "\n    %u," : "%u,", (unsigned)blob[i]);
    text_add(&t, "\n};\n");
    memset(&more, 0, sizeof more);
    more.t = t, more.id = id, more.upper = upper;
    put_sensor(&more, &any, 0);
    put_knots(&more, &any, 0);
    put_vectors(&more, &any, c, 0);
    t = more.t;
    text_add(&t, "\n#endif\n");
    file_write(out, t.at, t.size);
    if (!integers)
        say_losses(&any);
    else if (!is_tiny(&any))
        say_few_integers(&any.integers);
    note("%s: %zu bytes of model in %s", out, size, id);
    free(t.at);
    free(guard.at);
    free(id);
    free(upper);
    free(blob);
    free(file_blob);
    return 0;
}

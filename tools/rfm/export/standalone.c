/* What all standalone headers have: the comment, sizes and names; arrays; and which kind a model is of. */
#include "extras.h"
#include "identifier.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 110 /* of lines of numbers */

/* ---- text ----------------------------------------------------------------------------------- */

void put(header *h, const char *format, ...) {
    char line[8192], *at = line, *sign;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    while ((sign = strpbrk(at, "@$")) != NULL) {
        const char *name = *sign == '@' ? h->id : h->upper;
        text_bytes(&h->t, at, (size_t)(sign - at));
        text_bytes(&h->t, name, strlen(name));
        at = sign + 1;
    }
    text_bytes(&h->t, at, strlen(at));
}

void array_begin(header *h, const char *type, const char *name, size_t count) {
    put(h, "static const %s @_%s[%zu] = {", type, name, count);
    h->column = WIDTH;
}

static void array_word(header *h, const char *word) {
    size_t length = strlen(word);
    if (h->column + length + 1 > WIDTH) put(h, "\n   "), h->column = 4;
    put(h, " %s,", word);
    h->column += length + 2;
}

void array_integer(header *h, long value) {
    char word[24];
    (void)snprintf(word, sizeof word, "%ld", value);
    array_word(h, word);
}

void array_float(header *h, float value) {
    char word[40];
    (void)snprintf(word, sizeof word, "%.9g", (double)value);
    (void)snprintf(word + strlen(word), 8, strpbrk(word, ".e") != NULL ? "f" : ".0f");
    array_word(h, word);
}

void array_end(header *h) { put(h, "\n};\n"); }

/* ---- functions that several kinds have ------------------------------------------------------- */

void put_classify(header *h, size_t c, const char *type, const char *number, const char *zero) {
    put(h, "\n/* The class: %s. */\n$_CODE uint32_t @_class(const %s *scores) {\n",
        c == 1 ? "1 where the score is positive, else 0" : "the first of the largest score", number);
    if (c == 1)
        put(h, "    return scores[0] > %s ? 1U : 0U;\n}\n", zero);
    else
        put(h, "    uint32_t best = 0U, k = 1U;\n"
               "    do {\n"
               "        if (scores[k] > scores[best]) best = k;\n"
               "        k++;\n"
               "    } while (k < $_OUTPUTS);\n"
               "    return best;\n"
               "}\n");
    put(h,
        "\n$_CODE uint32_t @_classify(const %s x[$_INPUTS]) {\n"
        "    %s scores[$_OUTPUTS];\n"
        "    (void)@_scores(x, scores);\n"
        "    return @_class(scores);\n"
        "}\n",
        type, number);
}

void put_predict(header *h) {
    put(h, "\n/* The predicted numbers. */\n"
           "$_CODE void @_predict(const int16_t x[$_INPUTS], float y[$_OUTPUTS]) {\n"
           "    int32_t scores[$_OUTPUTS];\n"
           "    uint32_t k = 0U;\n"
           "    (void)@_scores(x, scores);\n"
           "    do {\n"
           "        y[k] = @_units[k] * (float)scores[k];\n"
           "        k++;\n"
           "    } while (k < $_OUTPUTS);\n"
           "}\n");
}

static int same_exponents(const int *exponents, size_t d) {
    size_t j;
    for (j = 1; j < d; j++)
        if (exponents[j] != exponents[0]) return 0;
    return 1;
}

void put_from_floats(header *h, size_t d, int task, const int *exponents, const char *rounding) {
    int same = same_exponents(exponents, d);
    size_t j;
    put(h, "\n/* x 2^exponent, rounded, at most what an int16_t holds; a NaN counts as the least. */\n");
    array_begin(h, "float", same ? "scale" : "scales", same ? 1 : d);
    for (j = 0; j < (same ? 1 : d); j++) array_float(h, ldexpf(1, exponents[j]));
    array_end(h);
    put(h,
        "$_CODE void @_integers(const float x[$_INPUTS], int16_t xi[$_INPUTS]) {\n"
        "    uint32_t j = 0U;\n"
        "    do {\n"
        "        float v = x[j] * @_%s;\n"
        "        int32_t n;\n"
        "        v = v > -32768.0f ? v : -32768.0f;\n"
        "        v = v < 32767.0f ? v : 32767.0f;\n"
        "%s"
        "        xi[j] = (int16_t)n;\n"
        "        j++;\n"
        "    } while (j < $_INPUTS);\n"
        "}\n",
        same ? "scale[0]" : "scales[j]", rounding);
    if (task == RFM_CLASSIFY)
        put(h, "\n$_CODE uint32_t @_classify_floats(const float x[$_INPUTS]) {\n"
               "    int16_t xi[$_INPUTS];\n"
               "    @_integers(x, xi);\n"
               "    return @_classify(xi);\n"
               "}\n");
    else
        put(h, "\n$_CODE void @_predict_floats(const float x[$_INPUTS], float y[$_OUTPUTS]) {\n"
               "    int16_t xi[$_INPUTS];\n"
               "    @_integers(x, xi);\n"
               "    @_predict(xi, y);\n"
               "}\n");
}

/* ---- the frame ------------------------------------------------------------------------------ */

/* What the comment and the sizes need of a model. */
typedef struct {
    size_t n, d, c, r;
    int task;
    const char *words; /* what kind it is */
    const char *input; /* the type of an input */
    const char *class_names, *input_names;
    const model_record *record; /* how inputs are made */
} facts;

static void put_use(header *h, const facts *f, int certify) {
    int whole = strcmp(f->input, "int16_t") == 0;
    put(h,
        "/* A model of rfm %d.%d and the code of its prediction: %s, %zu inputs, %zu output%s, %zu centres, rank %zu, "
        "%s.\n * This file needs <stdint.h> and nothing else; what is not used takes no room. Made by rfm export "
        "--standalone.\n *\n",
        RFM_VERSION_MAJOR, RFM_VERSION_MINOR, task_words[f->task], f->d, f->c, f->c == 1 ? "" : "s", f->n, f->r,
        f->words);
    put(h, " *     %s x[$_INPUTS];\n", f->input);
    if (f->task == RFM_CLASSIFY)
        put(h, " *     name = @_class_names[@_classify(x)];\n");
    else
        put(h, " *     float y[$_OUTPUTS];\n *     @_predict(x, y);\n");
    put(h,
        " *\n * @_scores(x, scores) also returns how near x is to the nearest centre: $_ONE at it, 0 far from all.\n");
    if (whole)
        put(h,
            " * x are the quantities that were trained on times 2^exponent, rounded: @_integers makes them of floats, "
            "and\n * @_%s_floats takes floats. No other function has a floating-point operation%s.\n",
            f->task == RFM_CLASSIFY ? "classify" : "predict",
            f->task == RFM_CLASSIFY ? "" : ", but the units of @_predict");
    else
        put(h,
            " * A NaN in x is a NaN in every score. With -ffp-contract=off the bits are those of rfm_predict_one.\n");
    if (certify)
        put(h,
            " * @_certify says how far inputs may move before the class can change, @_moves how far each may alone.\n");
    if (strncmp(f->words, "tiny", 4) == 0)
        put(h, " * Define $_PORTABLE to have plain C where there are DSP or Helium instructions; the bits are the "
               "same.\n");
}

static void put_names(header *h, const facts *f) {
    size_t classes = f->task != RFM_CLASSIFY ? 0 : f->c == 1 ? 2 : f->c, i;
    if (classes == 0) return;
    put(h, "#define $_CLASSES %zu\n\nstatic const char *const @_class_names[$_CLASSES] $_UNUSED = {", classes);
    for (i = 0; i < classes; i++) {
        text_add(&h->t, i % 8 == 0 ? "\n    " : " ");
        if (f->class_names != NULL)
            c_string(&h->t, rfm_name(f->class_names, i));
        else
            text_add(&h->t, "\"%zu\"", i);
        text_add(&h->t, ",");
    }
    put(h, "\n};\n");
}

static void put_head(header *h, const facts *f, int certify, uint32_t checksum) {
    put_use(h, f, certify);
    inputs_comment(&h->t, f->input_names, f->d, f->record);
    put(h, " */\n#ifndef RFM_MODEL_$_%08lX_H\n#define RFM_MODEL_$_%08lX_H\n\n#include <stdint.h>\n\n",
        (unsigned long)checksum, (unsigned long)checksum);
    put(h, "/* Functions; those that are better apart, where there are eight registers. */\n#if defined __GNUC__\n"
           "#define $_UNUSED __attribute__((unused))\n#define $_CODE static $_UNUSED\n"
           "#if defined __thumb__ && !defined __thumb2__\n#define $_FEW\n#define $_APART static __attribute__((unused, "
           "noinline))\n"
           "#else\n#define $_APART $_CODE\n#endif\n#else\n#define $_UNUSED\n#define $_CODE static inline\n"
           "#define $_APART $_CODE\n#endif\n\n");
    put(h, "#define $_INPUTS %zu\n#define $_OUTPUTS %zu\n#define $_CENTERS %zu\n#define $_RANK %zu\n", f->d, f->c, f->n,
        f->r);
    put_names(h, f);
}

static facts facts_of(const any_model *any) {
    const rfm_model *m = &any->numbers;
    facts f;
    f.n = m->n, f.d = m->d, f.c = m->c, f.r = m->r, f.task = m->task;
    f.class_names = m->class_names, f.input_names = m->input_names, f.record = &any->record;
    if (is_filters(any)) f.d = any->filters.model.d, f.input_names = NULL;
    f.words = is_filters(any)        ? "a bank of filters and integers of 8 bits"
              : is_tiny(any)         ? "tiny"
              : any->type == RFM_I8  ? "integers of 8 bits"
              : any->type == RFM_I16 ? "integers of 16 bits"
                                     : "floats";
    f.input = has_integers(any) ? "int16_t" : "float";
    return f;
}

void standalone_export(const call *c, const char *file, const char *out, const char *id) {
    const int certify = c->certify;
    header h;
    facts f;
    any_model any;
    size_t size, i;
    char *blob, *upper = copy_text(id, strlen(id));
    memset(&h, 0, sizeof h);
    for (i = 0; upper[i] != 0; i++) upper[i] = (char)toupper((unsigned char)upper[i]);
    h.id = id, h.upper = upper;
    any_read(file, &blob, &size, &any);
    if (any.of_tree)
        fail("%s: %s; without --standalone rfm export makes a header for rfm_tree.c", file, tree_word(&any));
    f = facts_of(&any);
    if (any.type == RFM_F64)
        fail("%s: numbers of type f64; --standalone is for f32, i16, i8 and tiny models (rfm compress)", file);
    if (!has_integers(&any) && on_sphere(&any.numbers))
        fail("%s: --standalone is for kernels of distances, found %s; without it rfm export makes a header for rfm.c",
             file, kernel_has_depth(any.numbers.kernel) ? "a network kernel" : "unit rows");
    if (!has_integers(&any) && needs_whole_build(&any.numbers))
        fail("%s: an exponent of %g; --standalone takes exponents above 1/8 only, for far rows would be wrong", file,
             (double)any.numbers.exponent);
    if (certify) certifiable(&any, file);
    if (c->vectors != SIZE_MAX && is_filters(&any))
        fail("%s: a bank of filters; expected a model of rows for --vectors", file);
    file_check(out);
    put_head(&h, &f, certify, rfm_crc32(0, blob, size));
    if (is_tiny(&any)) {
        put_tiny(&h, &any.tiny);
        if (certify) put_certify_tiny(&h, &any.tiny);
    } else if (is_filters(&any)) {
        put_filters(&h, &any.filters);
    } else if (has_integers(&any)) {
        put_integers(&h, &any.integers);
        if (certify) put_certify_integers(&h, &any.integers, file);
    } else {
        put_floats(&h, &any.numbers, certify);
        if (certify) put_certify_floats(&h, &any.numbers, file);
    }
    put_sensor(&h, &any, 1);
    put_knots(&h, &any, 1);
    put_vectors(&h, &any, c, 1);
    put(&h, "\n#endif\n");
    file_write(out, h.t.at, h.t.size);
    note("%s: %s, everything that it needs is in it", out, f.words);
    free(h.t.at);
    free(upper);
    free(blob);
}

/* Inputs that tables of knots make of the columns, as firmware does it: without a division. */
#include "extras.h"
#include "identifier.h"

#include "rfm/learn/score.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COARSE 1e-3 /* of the range of an input */

int has_tables(const any_model *any) {
    size_t i;
    for (i = 0; any->record.recipe != NULL && i < any->numbers.d; i++)
        if (has_knots(recipe_what(any->record.recipe, i))) return 1;
    return 0;
}

/* Knots as floats: those that are one as floats become one, that of the later y. */
typedef struct {
    float *x, *y;
    size_t *first; /* (d + 1) of each input; an input without knots has none */
    size_t count;
} float_knots;

static float_knots knots_of(const any_model *any) {
    const model_record *r = &any->record;
    const unsigned char *at = r->knots;
    size_t d = any->numbers.d, room = 0, i, k;
    float_knots f;
    for (i = 0; i < d; i++) room += has_knots(recipe_what(r->recipe, i)) ? MOST_KNOTS : 0;
    memset(&f, 0, sizeof f);
    f.x = allocate(room, sizeof *f.x, "knots"), f.y = allocate(room, sizeof *f.y, "knots");
    f.first = allocate(d + 1, sizeof *f.first, "knots");
    for (i = 0; i < d; i++) {
        f.first[i] = f.count;
        if (!has_knots(recipe_what(r->recipe, i))) continue;
        for (k = 0; k < knots_count(at); k++) {
            float x = (float)fmax(fmin(knots_x(at, k), FLT_MAX), -FLT_MAX);
            if (f.count > f.first[i] && !(f.x[f.count - 1] < x)) f.count--;
            f.x[f.count] = x, f.y[f.count++] = (float)knots_y(at, k);
        }
        at = knots_next(at);
    }
    f.first[d] = f.count;
    return f;
}

static void put_arrays(header *h, const float_knots *f, const size_t *source, size_t d) {
    size_t i, k;
    array_begin(h, "uint16_t", "source", d);
    for (i = 0; i < d; i++) array_integer(h, (long)source[i]);
    array_end(h);
    array_begin(h, "uint16_t", "first", d + 1);
    for (i = 0; i <= d; i++) array_integer(h, (long)f->first[i]);
    array_end(h);
    array_begin(h, "float", "knots", f->count);
    for (k = 0; k < f->count; k++) array_float(h, f->x[k]);
    array_end(h);
    array_begin(h, "float", "values", f->count);
    for (k = 0; k < f->count; k++) array_float(h, f->y[k]);
    array_end(h);
    array_begin(h, "float", "slopes", f->count);
    for (i = 0; i < d; i++)
        for (k = f->first[i]; k < f->first[i + 1]; k++) {
            double slope = 0;
            if (k + 1 < f->first[i + 1])
                slope = ((double)f->y[k + 1] - (double)f->y[k]) / ((double)f->x[k + 1] - (double)f->x[k]);
            array_float(h, (float)fmin(slope, FLT_MAX));
        }
    array_end(h);
}

/* The columns in their order, as a comment. */
static void put_columns(header *h, const any_model *any, const size_t *source) {
    const model_record *r = &any->record;
    size_t i, next = 0;
    put(h,
        "\n/* From the columns of the table to x; x goes on to the model as the head says%s:\n *\n"
        " *     @_inputs(columns, x);\n *\n * Columns, in this order:",
        has_integers(any) ? ", rounded" : "");
    for (i = 0; i < any->numbers.d; i++) {
        if (source[i] != next) continue;
        text_add(&h->t, next++ % 8 == 0 ? "\n *     " : " ");
        c_string(&h->t, has_knots(recipe_what(r->recipe, i)) ? recipe_at(r->recipe, i) + 2
                                                             : rfm_name(any->numbers.input_names, i));
    }
    put(h, "\n */\n");
}

static void put_function(header *h, const char *real, const char *code) {
    put(h,
        "%s void @_inputs(const %s *columns, %s *x) {\n"
        "    unsigned i;\n"
        "    for (i = 0; i < $_INPUTS; i++) {\n"
        "        const %s value = columns[@_source[i]];\n"
        "        unsigned k = @_first[i];\n"
        "        const unsigned end = @_first[i + 1];\n"
        "        x[i] = value;\n"
        "        if (k == end || value != value) continue; /* the number itself; or NaN */\n"
        "        while (k + 1 < end && value >= @_knots[k + 1]) k++;\n"
        "        x[i] = @_values[k];\n"
        "        if (k + 1 < end && value > @_knots[k]) {\n"
        "            x[i] += (value - @_knots[k]) * @_slopes[k];\n"
        "            if (!(x[i] <= @_values[k + 1])) x[i] = @_values[k + 1];\n"
        "        }\n"
        "    }\n"
        "}\n",
        code, real, real, real);
}

/* A column's number and a knot are off by half a step between two floats each, which the steepest slope multiplies. */
void tables_rounding(const any_model *any, rfm_real *off) {
    const model_record *r = &any->record;
    const char *entry = r->recipe;
    const unsigned char *at = r->knots;
    size_t i, k;
    for (i = 0; i < any->numbers.d; i++, entry = recipe_at(entry, 1)) {
        double farthest = 0, largest = 0, steepest = 0;
        if (!has_knots(entry[0])) continue;
        for (k = 0; k < knots_count(at); k++) {
            farthest = fmax(farthest, fabs(knots_x(at, k))), largest = fmax(largest, fabs(knots_y(at, k)));
            if (k > 0)
                steepest =
                    fmax(steepest, (knots_y(at, k) - knots_y(at, k - 1)) / (knots_x(at, k) - knots_x(at, k - 1)));
        }
        off[i] = (rfm_real)fmin((double)FLT_EPSILON * (4 * largest + 2 * farthest * steepest), (double)FLT_MAX);
        at = knots_next(at);
    }
}

/* Says which inputs lose too much with columns as floats. */
static void say_rounding(const any_model *any) {
    size_t d = any->numbers.d, i;
    rfm_real *off = allocate(d, sizeof *off, "knots");
    const char *entry = any->record.recipe;
    const unsigned char *at = any->record.knots;
    tables_rounding(any, off);
    for (i = 0; i < d; i++, entry = recipe_at(entry, 1)) {
        double range;
        if (!has_knots(entry[0])) continue;
        range = knots_y(at, knots_count(at) - 1) - knots_y(at, 0);
        if ((double)off[i] > COARSE * range)
            note("input %zu (%s): as float the numbers of its column are too coarse, it may be %.2g off in a range of "
                 "%.3g; for firmware subtract %.10g in the table and train again",
                 i + 1, any->numbers.input_names != NULL ? rfm_name(any->numbers.input_names, i) : "no name",
                 (double)off[i], range, knots_x(at, 0));
        at = knots_next(at);
    }
    free(off);
}

void put_knots(header *h, const any_model *any, int standalone) {
    size_t d = any->numbers.d, *source, count;
    float_knots f;
    if (!has_tables(any)) return;
    source = allocate(d, sizeof *source, "columns"), count = recipe_sources(any->record.recipe, d, source);
    f = knots_of(any);
    if (f.count > UINT16_MAX || d > UINT16_MAX)
        fail("%zu inputs with %zu knots, expected at most %d of either for a header", d, f.count, UINT16_MAX);
    put_columns(h, any, source);
    put(h, "#define $_COLUMNS %zu\n", count);
    put_arrays(h, &f, source, d);
    put_function(h, standalone ? "float" : "rfm_real", standalone ? "$_CODE" : "static inline");
    say_rounding(any);
    free(source);
    free(f.x);
    free(f.y);
    free(f.first);
}

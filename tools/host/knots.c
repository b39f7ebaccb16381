#include "knots.h"

#include "files.h"
#include "progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANK_KNOTS 33
#define CLIPPED    0.01  /* of the rows, at each end */
#define FARTHEST   1e150 /* of a knot and its value: differences are finite */

const char *const way_words[] = {"standard", "clipped", "ranks", "both", "auto", NULL};

int has_knots(int what) { return what == INPUT_CLIPPED || what == INPUT_RANK; }

/* ---- one table ------------------------------------------------------------------------------ */

static double number_at(const unsigned char *knots, size_t i) {
    double value;
    memcpy(&value, knots + i * sizeof value, sizeof value);
    return value;
}

size_t knots_count(const unsigned char *knots) { return (size_t)number_at(knots, 0); }
double knots_x(const unsigned char *knots, size_t i) { return number_at(knots, 1 + i); }
double knots_y(const unsigned char *knots, size_t i) { return number_at(knots, 1 + knots_count(knots) + i); }

const unsigned char *knots_next(const unsigned char *knots) {
    return knots + (1 + 2 * knots_count(knots)) * sizeof(double);
}

double knots_value(const unsigned char *knots, double x) {
    size_t low = 0, high = knots_count(knots) - 1;
    double from, to, from_y, to_y;
    if (isnan(x)) return x;
    if (x <= knots_x(knots, low)) return knots_y(knots, low);
    if (x >= knots_x(knots, high)) return knots_y(knots, high);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (x < knots_x(knots, middle))
            high = middle;
        else
            low = middle;
    }
    from = knots_x(knots, low), to = knots_x(knots, high);
    from_y = knots_y(knots, low), to_y = knots_y(knots, high);
    return fmin(from_y + (x - from) / (to - from) * (to_y - from_y), to_y);
}

/* Bytes of the table at the start of these; 0: there is no right one. */
static size_t table_bytes(const unsigned char *knots, size_t bytes) {
    double count = bytes >= sizeof(double) ? number_at(knots, 0) : 0;
    size_t n, i;
    if (!(count >= 2 && count <= MOST_KNOTS) || count != floor(count)) return 0;
    n = (size_t)count;
    if (bytes / sizeof(double) < 1 + 2 * n) return 0;
    for (i = 0; i < n; i++) {
        if (!(fabs(knots_x(knots, i)) <= FARTHEST && fabs(knots_y(knots, i)) <= FARTHEST)) return 0;
        if (!isfinite((rfm_real)knots_y(knots, i))) return 0;
        if (i > 0 && !(knots_x(knots, i - 1) < knots_x(knots, i) && knots_y(knots, i - 1) <= knots_y(knots, i)))
            return 0;
    }
    return (1 + 2 * n) * sizeof(double);
}

static unsigned char *table_of(const double *x, const double *y, size_t count) {
    unsigned char *knots = allocate(1 + 2 * count, sizeof *x, "knots");
    double number = (double)count;
    memcpy(knots, &number, sizeof number);
    memcpy(knots + sizeof number, x, count * sizeof *x);
    memcpy(knots + (1 + count) * sizeof number, y, count * sizeof *y);
    return knots;
}

/* ---- tables of a recipe --------------------------------------------------------------------- */

char *knots_write(const input_list *inputs, size_t *bytes) {
    text t = {NULL, 0, 0};
    size_t i;
    for (i = 0; i < inputs->count; i++) {
        const unsigned char *knots = inputs->at[i].knots;
        if (knots != NULL) text_bytes(&t, (const char *)knots, (size_t)(knots_next(knots) - knots));
    }
    *bytes = t.size;
    return t.at;
}

int knots_right(const unsigned char *knots, size_t bytes, const char *recipe, size_t count) {
    size_t i, each;
    for (i = 0; i < count; i++, recipe = recipe_at(recipe, 1)) {
        if (!has_knots(recipe[0])) continue;
        each = knots != NULL ? table_bytes(knots, bytes) : 0;
        if (each == 0 || (recipe[0] == INPUT_CLIPPED && knots_count(knots) != 2)) return 0;
        knots += each, bytes -= each;
    }
    return bytes == 0;
}

const unsigned char *knots_from(const unsigned char *knots, const char *recipe, size_t i) {
    for (; i > 0; i--, recipe = recipe_at(recipe, 1))
        if (has_knots(recipe[0])) knots = knots_next(knots);
    return knots;
}

char *knots_keep(const unsigned char *knots, const char *recipe, const size_t *kept, size_t count, size_t all,
                 size_t *bytes) {
    const unsigned char **at = allocate(all, sizeof *at, "knots");
    text t = {NULL, 0, 0};
    size_t i;
    for (i = 0; i < all; i++, recipe = recipe_at(recipe, 1))
        if (has_knots(recipe[0])) at[i] = knots, knots = knots_next(knots);
    for (i = 0; i < count; i++) {
        const unsigned char *from = at[kept != NULL ? kept[i] : i];
        if (from != NULL) text_bytes(&t, (const char *)from, (size_t)(knots_next(from) - from));
    }
    free(at);
    *bytes = t.size;
    return t.at;
}

static int of_number(const char *entry) { return entry[0] == INPUT_NUMBER || has_knots(entry[0]); }

size_t recipe_sources(const char *recipe, size_t count, size_t *source) {
    const char **entry = allocate(count, sizeof *entry, "columns");
    size_t i, k, found = 0;
    for (i = 0; i < count; i++, recipe = recipe_at(recipe, 1)) {
        entry[i] = recipe;
        for (k = 0; of_number(recipe) && k < i; k++)
            if (of_number(entry[k]) && strcmp(entry[k] + 2, recipe + 2) == 0) break;
        source[i] = of_number(recipe) && k < i ? source[k] : found++;
    }
    free(entry);
    return found;
}

/* ---- tables of the training rows ------------------------------------------------------------ */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The numbers of a column in order; how many. */
static size_t sorted_numbers(const csv *c, size_t column, row_list rows, double *to) {
    size_t i, count = 0;
    for (i = 0; i < rows.count; i++) {
        double value = csv_value(c, rows.at[i], column);
        if (csv_kind(value) == CSV_NUMBER) to[count++] = value;
    }
    qsort(to, count, sizeof *to, by_value);
    return count;
}

/* 1 if there are three values, all of them within reach. */
static int has_three(const double *sorted, size_t count) {
    size_t i, different = count > 0;
    for (i = 1; i < count && different < 3; i++) different += sorted[i] > sorted[i - 1];
    return different == 3 && fabs(sorted[0]) <= FARTHEST && fabs(sorted[count - 1]) <= FARTHEST;
}

/* The column itself between its quantiles; less the lower one where a number would lose its digits. NULL: these are
 * one. */
static unsigned char *clip(const csv *c, size_t column, row_list rows, const double *sorted, size_t count) {
    size_t out = (size_t)(CLIPPED * (double)(count - 1) + 0.5);
    double x[2], y[2];
    x[0] = sorted[out], x[1] = sorted[count - 1 - out];
    if (!(x[0] < x[1])) return NULL;
    y[0] = x[0], y[1] = x[1];
    if (column_loses(column_look(c, column, rows).off, x[1] - x[0])) y[0] = 0, y[1] = x[1] - x[0];
    return table_of(x, y, 2);
}

/* The share of the rows below a value, equal ones counting half; at the value of each quantile, or at all of few
 * values. */
static unsigned char *rank(const double *sorted, size_t count) {
    double x[RANK_KNOTS], y[RANK_KNOTS];
    size_t first, last, n = 0, different = 1, i, next = 0;
    for (i = 1; i < count; i++) different += sorted[i] > sorted[i - 1];
    for (first = 0; first < count; first = last + 1) {
        for (last = first; last + 1 < count && sorted[last + 1] == sorted[first]; last++) continue;
        if (different > RANK_KNOTS && next * (count - 1) / (RANK_KNOTS - 1) > last) continue; /* between quantiles */
        x[n] = sorted[first], y[n++] = ((double)first + (double)last + 1) / (2 * (double)count);
        while (next < RANK_KNOTS && next * (count - 1) / (RANK_KNOTS - 1) <= last) next++;
    }
    return table_of(x, y, n);
}

static void input_put(input_list *list, text *names, const input *one, const char *name, const char *suffix) {
    list->at[list->count++] = *one;
    text_add(names, "%s%s%c", name, suffix, 0);
}

size_t inputs_change(csv *c, input_list *inputs, row_list rows, int way) {
    const char *name = inputs->names, *suffix = way == WAY_CLIPPED ? ":clipped" : ":rank";
    double *sorted = allocate(rows.count + 1, sizeof *sorted, "a column");
    input_list list;
    text names = {NULL, 0, 0};
    size_t i, changed = 0;
    list.at = allocate(inputs->count, 2 * sizeof *list.at, "inputs"), list.count = 0;
    for (i = 0; i < inputs->count; i++, name += strlen(name) + 1) {
        input one = inputs->at[i];
        size_t count =
            one.what == INPUT_NUMBER && way != WAY_STANDARD ? sorted_numbers(c, one.column, rows, sorted) : 0;
        text new_name = {NULL, 0, 0};
        text_add(&new_name, "%s%s%c", name, suffix, 0);
        if (has_three(sorted, count) && csv_column(c, new_name.at) == c->columns)
            one.knots = way == WAY_CLIPPED ? clip(c, one.column, rows, sorted, count) : rank(sorted, count);
        if (one.knots == NULL || way == WAY_BOTH) input_put(&list, &names, &inputs->at[i], name, "");
        if (one.knots != NULL) {
            one.what = way == WAY_CLIPPED ? INPUT_CLIPPED : INPUT_RANK;
            input_put(&list, &names, &one, name, suffix);
            changed++;
        }
        free(new_name.at);
    }
    free(sorted);
    free(inputs->at);
    free(inputs->names);
    list.names = names.at;
    *inputs = list;
    return changed;
}

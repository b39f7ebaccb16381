#include "table.h"

#include "files.h"
#include "progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TEXTS           1000 /* different ones in a column */
#define MOST_INTEGER_CLASSES 20
#define MOST_LISTED          8 /* columns in a message */

/* ---- rows ----------------------------------------------------------------------------------- */

unsigned char *split_read(const char *file, const csv *c, unsigned char otherwise) {
    unsigned char *use = allocate(c->rows, 1, "the split");
    size_t size, line = 0;
    char *content, *p;
    memset(use, otherwise, c->rows);
    if (file == NULL) return use;
    content = file_read(file, &size);
    for (p = content; *p != 0; line++) {
        size_t length = strcspn(p, "\r\n");
        if (length == 0 && p[strspn(p, "\r\n")] == 0) break;
        if (length != 1 || *p < '0' || *p > '2')
            fail("%s: line %zu: expected 0 (train), 1 (test) or 2 (leave out), found \"%.*s\"", file, line + 1,
                 (int)(length < 40 ? length : 40), p);
        if (line < c->rows) use[line] = (unsigned char)(*p - '0');
        p += length;
        if (*p == '\r') p++;
        if (*p == '\n') p++;
    }
    if (line != c->rows) fail("%s: %zu lines, expected %zu: one for each row of %s", file, line, c->rows, c->file);
    free(content);
    return use;
}

row_list rows_of(const csv *c, const unsigned char *use, unsigned char which) {
    row_list list;
    size_t i;
    list.at = allocate(c->rows, sizeof *list.at, "rows");
    list.count = 0;
    for (i = 0; i < c->rows; i++)
        if (use[i] == which) list.at[list.count++] = i;
    return list;
}

void rows_draw(row_list *rows, size_t count, uint64_t seed) {
    size_t i, left = rows->count, taken = 0;
    uint64_t state = seed * 6364136223846793005u + 1442695040888963407u;
    for (i = 0; i < rows->count; i++, left--) { /* each with probability needed / left */
        uint64_t z;
        state = state * 6364136223846793005u + 1442695040888963407u;
        z = state >> 32;
        if ((z * left) >> 32 < count - taken) rows->at[taken++] = rows->at[i];
    }
    rows->count = taken;
}

/* ---- sets of texts -------------------------------------------------------------------------- */

typedef struct {
    char *at[MOST_TEXTS]; /* in order */
    size_t count;
} text_set;

/* Where it is, or belongs. */
static size_t set_place(const text_set *s, const char *value, int *there) {
    size_t low = 0, high = s->count;
    *there = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(s->at[middle], value);
        if (order == 0) {
            *there = 1;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int set_add(text_set *s, const char *value) { /* 0: it is full */
    int there;
    size_t place = set_place(s, value, &there);
    if (there) return 1;
    if (s->count == MOST_TEXTS) return 0;
    memmove(s->at + place + 1, s->at + place, (s->count - place) * sizeof *s->at);
    s->at[place] = copy_text(value, strlen(value));
    s->count++;
    return 1;
}

static void set_free(text_set *s) {
    while (s->count > 0) free(s->at[--s->count]);
}

/* ---- texts that were meant as numbers --------------------------------------------------------- */

static size_t digits(const char *p) { return strspn(p, "0123456789"); }

/* 1,5 */
static int has_comma(const char *cell) {
    const char *p = cell + (*cell == '-' || *cell == '+');
    size_t whole = digits(p);
    return whole > 0 && p[whole] == ',' && digits(p + whole + 1) > 0 && p[whole + 1 + digits(p + whole + 1)] == 0;
}

/* 12:30, or three numbers, one of them a year, with - / or . between them; a time may follow. */
static int is_date(const char *cell) {
    size_t first = digits(cell), second, third;
    const char *p = cell + first;
    char between = *p;
    if (first == 0 || between == 0 || strchr("-/.:", between) == NULL) return 0;
    second = digits(++p), p += second;
    if (between == ':') return first <= 2 && second == 2;
    if (second == 0 || *p != between) return 0;
    third = digits(++p), p += third;
    return (first == 4 || third == 4) && second <= 2 && third > 0 && (*p == 0 || *p == ' ' || *p == 'T');
}

/* What is expected in place of such a cell. */
static const char *number_wanted(const char *cell, const char *otherwise) {
    return has_comma(cell) ? "a number with a point (decimal commas are not read)"
           : is_date(cell) ? "a number (dates and times are not read as numbers)"
                           : otherwise;
}

/* Says so where such a cell is taken as a text. */
static void doubt_text(csv *c, size_t row, size_t column, const char *what) {
    const char *cell = csv_text(c, row, column);
    if (has_comma(cell) || is_date(cell))
        note("%s: line %zu, column %zu (%s): \"%s\" is %s: %s are not read as numbers", c->file, csv_line(c, row),
             column + 1, c->names[column], cell, what, has_comma(cell) ? "decimal commas" : "dates and times");
}

/* ---- inputs --------------------------------------------------------------------------------- */

static int has_text(const csv *c, size_t column, row_list rows) {
    size_t i;
    for (i = 0; i < rows.count; i++)
        if (csv_kind(c->values[rows.at[i] * c->columns + column]) == CSV_TEXT) return 1;
    return 0;
}

/* A column of numbers with a few texts is hardly one of texts. */
static void doubt_texts(csv *c, size_t column, row_list rows) {
    size_t i, numbers = 0, texts = 0, first = 0;
    for (i = 0; i < rows.count; i++) {
        int kind = csv_kind(c->values[rows.at[i] * c->columns + column]);
        numbers += kind == CSV_NUMBER, texts += kind == CSV_TEXT;
        if (kind == CSV_TEXT && texts == 1) first = rows.at[i];
    }
    if (numbers > texts) {
        const char *cell = csv_text(c, first, column);
        note("%s: line %zu, column %zu (%s): \"%.*s\" among %zu numbers: one-hot coded, every number an input of its "
             "own",
             c->file, csv_line(c, first), column + 1, c->names[column], utf8_fit(cell, 60), cell, numbers);
    } else
        doubt_text(c, first, column, "one-hot coded as a text");
}

static void input_add(input_list *list, size_t *room, text *names, const char *name, size_t column, const char *level) {
    if (list->count == *room) {
        input *more = allocate(2 * *room, sizeof *more, "inputs");
        memcpy(more, list->at, *room * sizeof *more);
        free(list->at);
        list->at = more, *room *= 2;
    }
    list->at[list->count].column = column;
    list->at[list->count++].level = level;
    text_add(names, level != NULL ? "%s=%s" : "%s", name, level);
    text_bytes(names, "", 1);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Columns are found by their names, so no two inputs may have one. */
static void names_differ(const csv *c, const input_list *list) {
    const char **names = allocate(list->count, sizeof *names, "names"), *name = list->names;
    size_t i;
    for (i = 0; i < list->count; i++, name += strlen(name) + 1) names[i] = name;
    qsort(names, list->count, sizeof *names, by_name);
    for (i = 1; i < list->count; i++)
        if (strcmp(names[i - 1], names[i]) == 0) {
            size_t first = csv_column(c, names[i]), second = first + 1;
            while (second < c->columns && strcmp(c->names[second], names[i]) != 0) second++;
            if (second < c->columns)
                fail("%s: line 1: columns %zu and %zu are both called %s, expected names that differ", c->file,
                     first + 1, second + 1, names[i]);
            fail("%s: line 1: two inputs are called %s, a column and a text of another; expected another name", c->file,
                 names[i]);
        }
    free(names);
}

input_list inputs_of_file(csv *c, size_t target, size_t targets, row_list rows, int one_hot) {
    input_list list;
    text names = {NULL, 0, 0};
    size_t room = c->columns, j, i;
    list.at = allocate(room, sizeof *list.at, "inputs");
    list.count = 0;
    for (j = 0; j < c->columns; j++) {
        if (j >= target && j < target + targets) continue;
        if (one_hot && has_text(c, j, rows)) {
            text_set levels;
            levels.count = 0;
            doubt_texts(c, j, rows);
            for (i = 0; i < rows.count; i++) {
                if (csv_kind(c->values[rows.at[i] * c->columns + j]) == CSV_MISSING) continue;
                if (!set_add(&levels, csv_text(c, rows.at[i], j)))
                    csv_fail(c, rows.at[i], j, "at most 1000 different texts in a column to one-hot code");
            }
            for (i = 0; i < levels.count; i++)
                input_add(&list, &room, &names, c->names[j], j, levels.at[i]); /* keeps the text */
        } else
            input_add(&list, &room, &names, c->names[j], j, NULL);
    }
    if (list.count == 0) fail("%s: no column is left for inputs beside the target", c->file);
    list.names = names.at;
    if (c->header) names_differ(c, &list);
    return list;
}

/* No column behind it has its name. */
static void only_column(const csv *c, size_t column) {
    size_t j;
    for (j = column + 1; j < c->columns; j++)
        if (strcmp(c->names[j], c->names[column]) == 0)
            fail("%s: line 1: columns %zu and %zu are both called %s, expected one of that name", c->file, column + 1,
                 j + 1, c->names[j]);
}

/* The column of the input `name`, by the header; a name that is not there may be NAME=LEVEL. */
static size_t column_by_name(const csv *c, const char *name, const char **level) {
    size_t column = csv_column(c, name);
    const char *equals = name;
    *level = NULL;
    while (column == c->columns && (equals = strchr(equals, '=')) != NULL) {
        char *base = copy_text(name, (size_t)(equals - name));
        column = csv_column(c, base);
        *level = ++equals;
        free(base);
    }
    return column;
}

/* Without a header: names are taken for c1, c2, ... of the file that was trained on; a file with as many columns as the
 * model has sources of inputs is taken in their order. */
static void columns_by_position(const csv *c, input_list *list) {
    const char *name = list->names, *before = NULL;
    size_t i, sources = 0, same = 0;
    for (i = 0; i < list->count; i++) {
        const char *equals = strchr(name, '=');
        size_t length = equals != NULL ? (size_t)(equals - name) : 0;
        sources += before == NULL || equals == NULL || length != same || strncmp(before, name, length) != 0;
        list->at[i].column = sources - 1;
        list->at[i].level = equals != NULL ? equals + 1 : NULL;
        before = name, same = length;
        name += strlen(name) + 1;
    }
    if (sources == c->columns) return;
    for (i = 0, name = list->names; i < list->count; i++, name += strlen(name) + 1) {
        unsigned long number = *name == 'c' ? strtoul(name + 1, NULL, 10) : 0;
        list->at[i].column = number > 0 ? number - 1 : c->columns;
    }
}

/* A model without names: all columns, or all but the targets. */
static void columns_in_order(const csv *c, input_list *list, const char *target, size_t targets) {
    size_t first = c->columns, i;
    if (c->columns != list->count && c->columns != list->count + targets)
        fail("%s: %zu columns, expected the %zu inputs of the model, which has no names for them, or those and %zu "
             "target%s",
             c->file, c->columns, list->count, targets, targets == 1 ? "" : "s");
    if (c->columns != list->count) first = target_find(c, target, targets);
    for (i = 0; i < list->count; i++) list->at[i].column = i < first ? i : i + targets;
}

input_list inputs_of_model(csv *c, const char *names, size_t count, const char *target, size_t targets) {
    input_list list;
    if (names != NULL) return inputs_of_names(c, names, count);
    list.at = allocate(count, sizeof *list.at, "inputs");
    list.count = count, list.names = NULL;
    columns_in_order(c, &list, target, targets);
    return list;
}

input_list inputs_of_names(csv *c, const char *names, size_t count) {
    input_list list;
    size_t i, bytes = 0;
    const char *name;
    for (i = 0; i < count; i++) bytes += strlen(names + bytes) + 1;
    list.at = allocate(count, sizeof *list.at, "inputs");
    list.count = count;
    list.names = copy_text(names, bytes);
    if (!c->header)
        columns_by_position(c, &list);
    else
        for (i = 0, name = list.names; i < count; i++, name += strlen(name) + 1) {
            list.at[i].column = column_by_name(c, name, &list.at[i].level);
            if (list.at[i].column == c->columns)
                fail("%s: line 1: expected a column %s, which is input %zu of the %zu of the model, found none of that "
                     "name",
                     c->file, name, i + 1, count);
            only_column(c, list.at[i].column);
        }
    for (i = 0; i < count; i++)
        if (list.at[i].column >= c->columns)
            fail("%s: %zu columns, expected the %zu inputs of the model", c->file, c->columns, count);
    return list;
}

void inputs_free(input_list *inputs) {
    free(inputs->at);
    free(inputs->names);
}

void inputs_fill(csv *c, input_list inputs, row_list rows, int missing_allowed, const rfm_real *offset, rfm_real *x) {
    size_t i, j, unknown = 0;
    for (j = 0; j < inputs.count; j++) {
        size_t column = inputs.at[j].column, end = j + 1;
        while (inputs.at[j].level != NULL && end < inputs.count && inputs.at[end].level != NULL &&
               inputs.at[end].column == column)
            end++;
        for (i = 0; i < rows.count; i++) {
            double value = c->values[rows.at[i] * c->columns + column];
            rfm_real *to = x + i * inputs.count + j;
            int kind = csv_kind(value);
            if (inputs.at[j].level == NULL) {
                if (kind == CSV_MISSING && !missing_allowed)
                    csv_fail(c, rows.at[i], column, "a number (or use --missing mean)");
                if (kind == CSV_TEXT) {
                    const char *cell = csv_text(c, rows.at[i], column);
                    csv_fail(c, rows.at[i], column,
                             number_wanted(cell, "a number (text columns: --one-hot when training)"));
                }
                if (kind == CSV_HUGE) csv_fail(c, rows.at[i], column, "a finite number that fits");
                *to = (rfm_real)(value - (offset != NULL ? (double)offset[j] : 0));
            } else {
                const char *cell = csv_text(c, rows.at[i], column);
                size_t q, hits = 0;
                for (q = j; q < end; q++) {
                    int hit = strcmp(inputs.at[q].level, cell) == 0; /* one may be NA */
                    to[q - j] = hit ? (rfm_real)1 : (rfm_real)0;
                    hits += (size_t)hit;
                }
                if (kind == CSV_MISSING && hits == 0 && !missing_allowed)
                    csv_fail(c, rows.at[i], column, "a text (or use --missing mean)");
                for (q = j; kind == CSV_MISSING && hits == 0 && q < end; q++) to[q - j] = (rfm_real)NAN;
                unknown += hits == 0 && kind != CSV_MISSING;
            }
        }
        j = end - 1;
    }
    if (unknown > 0)
        note("%s: %zu cells have a text that was not there in training; they count as none of the known ones", c->file,
             unknown);
}

/* ---- targets -------------------------------------------------------------------------------- */

static void no_target(const csv *c, const char *name) {
    text there = {NULL, 0, 0};
    size_t j;
    for (j = 0; j < c->columns && j < MOST_LISTED; j++) text_add(&there, j > 0 ? ", %s" : "%s", c->names[j]);
    if (c->columns > MOST_LISTED) text_add(&there, " and %zu more", c->columns - MOST_LISTED);
    text_bytes(&there, "", 1);
    fail("%s: line 1: expected a column %s (--target), found %s", c->file, name, there.at);
}

void need_labels(const csv *c) {
    if (c->unlabelled) fail("%s: images without labels, expected --labels FILE", c->file);
}

size_t target_find(const csv *c, const char *name, size_t count) {
    size_t column = c->columns - 1;
    need_labels(c);
    if (count >= c->columns) fail("%s: %zu columns, expected more than the %zu targets", c->file, c->columns, count);
    if (count > 1) return c->columns - count;
    if (name != NULL) {
        column = csv_column(c, name);
        if (column == c->columns) no_target(c, name);
    } else if (csv_column(c, "target") < c->columns)
        column = csv_column(c, "target");
    return column;
}

const char *target_guess(const csv *c, input_list inputs) {
    size_t j, i, others = 0, other = 0;
    if (!c->header || csv_column(c, "target") < c->columns) return NULL;
    for (j = 0; j < c->columns; j++) {
        for (i = 0; i < inputs.count && inputs.at[i].column != j; i++) continue;
        if (i == inputs.count) others++, other = j;
    }
    return others == 1 ? c->names[other] : NULL;
}

void targets_fill(csv *c, size_t target, size_t count, row_list rows, const rfm_real *offset, rfm_real *y) {
    size_t i, k;
    for (i = 0; i < rows.count; i++)
        for (k = 0; k < count; k++) {
            double value = c->values[rows.at[i] * c->columns + target + k];
            if (csv_kind(value) != CSV_NUMBER)
                csv_fail(c, rows.at[i], target + k,
                         number_wanted(csv_text(c, rows.at[i], target + k), "a finite number as target"));
            y[i * count + k] = (rfm_real)(value - (offset != NULL ? (double)offset[k] : 0));
        }
}

column_range column_look(const csv *c, size_t column, row_list rows) {
    column_range r = {0, (double)INFINITY, -(double)INFINITY, 0, 0};
    size_t i;
    for (i = 0; i < rows.count; i++) {
        double value = c->values[rows.at[i] * c->columns + column];
        if (!isfinite(value)) continue;
        r.low = fmin(r.low, value), r.high = fmax(r.high, value);
        r.off = fmax(r.off, fabs(value - (double)(rfm_real)value));
        r.mean += value, r.count++;
    }
    if (r.count > 0) r.mean /= (double)r.count;
    return r;
}

int column_loses(double off, double spread) { return off > spread / 8192 && spread > 0; }

int target_is_class(csv *c, size_t target, row_list rows) {
    unsigned seen = 0;
    size_t i, signs = 0;
    if (has_text(c, target, rows)) return 1;
    for (i = 0; i < rows.count; i++) {
        double value = c->values[rows.at[i] * c->columns + target];
        if (value == 1 || value == -1) signs++;
        if (value >= 0 && value < MOST_INTEGER_CLASSES && value == floor(value))
            seen |= 1u << (int)value;
        else if (value != -1)
            return 0;
    }
    if (signs == rows.count) return 1;
    for (i = 0; i < rows.count; i++)
        if (c->values[rows.at[i] * c->columns + target] == -1) return 0;
    return seen > 1 && (seen & (seen + 1)) == 0; /* no gap, and 0 is there */
}

/* The label of a cell: numbers in one way of writing, so that 1 and 1.0 are one class. */
static const char *label(csv *c, size_t row, size_t target, char *room, size_t size) {
    const char *cell;
    int kind = csv_kind(c->values[row * c->columns + target]);
    cell = csv_text(c, row, target);
    if (kind == CSV_MISSING && !csv_absent(cell)) csv_fail(c, row, target, "a class as target"); /* null is a class */
    if (kind != CSV_NUMBER) return cell;
    snprintf(room, size, "%.15g", strtod(cell, NULL) + 0.0);
    return room;
}

static int by_number(const void *a, const void *b) {
    double x = strtod(*(char *const *)a, NULL), y = strtod(*(char *const *)b, NULL);
    return (x > y) - (x < y);
}

char *classes_find(csv *c, size_t target, row_list rows, size_t *count) {
    text_set labels;
    text names = {NULL, 0, 0};
    char room[40];
    size_t i;
    int texts = has_text(c, target, rows);
    labels.count = 0;
    for (i = 0; i < rows.count; i++)
        if (!set_add(&labels, label(c, rows.at[i], target, room, sizeof room)))
            csv_fail(c, rows.at[i], target, "at most 1000 classes (for numbers: --task regress)");
    if (labels.count == 1)
        fail("%s: column %zu (%s): all training rows have the class \"%.*s\", expected at least two classes", c->file,
             target + 1, c->names[target], utf8_fit(labels.at[0], 60), labels.at[0]);
    for (i = 0; texts && i < rows.count; i++)
        if (csv_kind(c->values[rows.at[i] * c->columns + target]) == CSV_TEXT) {
            doubt_text(c, rows.at[i], target, "taken as a class");
            break;
        }
    for (i = 0; !texts && i < rows.count; i++)
        if (csv_kind(c->values[rows.at[i] * c->columns + target]) == CSV_MISSING)
            csv_fail(c, rows.at[i], target, "a class as target, a number as the others");
    for (i = 0; i < labels.count; i++)
        if (csv_absent(labels.at[i]))
            note("%s: column %zu (%s): \"%s\" is taken as a class", c->file, target + 1, c->names[target],
                 labels.at[i]);
    if (!texts) qsort(labels.at, labels.count, sizeof *labels.at, by_number);
    for (i = 0; i < labels.count; i++) text_bytes(&names, labels.at[i], strlen(labels.at[i]) + 1);
    *count = labels.count;
    set_free(&labels);
    return names.at;
}

uint32_t *classes_of(csv *c, size_t target, row_list rows, const char *names, size_t count) {
    uint32_t *classes = allocate(rows.count, sizeof *classes, "classes"), last = 0;
    const char **name = allocate(count, sizeof *name, "class names");
    size_t i, k, unknown = 0;
    char room[40];
    for (k = 0; k < count; k++, names += strlen(names) + 1) name[k] = names;
    for (i = 0; i < rows.count; i++) {
        const char *cell = label(c, rows.at[i], target, room, sizeof room);
        if (strcmp(cell, name[last]) != 0) {
            for (k = 0; k < count && strcmp(cell, name[k]) != 0; k++) continue;
            if (k == count) {
                classes[i] = CLASS_UNKNOWN;
                unknown++;
                continue;
            }
            last = (uint32_t)k;
        }
        classes[i] = last;
    }
    if (unknown > 0)
        note("%s: %zu rows have a class that was not there in training; they count as wrong", c->file, unknown);
    free(name);
    return classes;
}

#include "table.h"

#include "columns.h"
#include "files.h"
#include "knots.h"
#include "progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TEXTS           1000 /* different ones in a column */
#define MOST_INTEGER_CLASSES 20
#define MOST_LISTED          8   /* columns in a message */
#define MOST_LEVELS          50  /* texts of a column that are inputs of their own */
#define FEW_ROWS             100 /* where every text counts */
#define RARE                 200 /* above that a text in fewer than 1 of so many rows is rare */
#define FEW_TEXTS            20  /* never an identifier */

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

/* ---- inputs --------------------------------------------------------------------------------- */

static int has_text(const csv *c, size_t column, row_list rows) {
    size_t i;
    for (i = 0; i < rows.count; i++)
        if (csv_kind(csv_value(c, rows.at[i], column)) == CSV_TEXT) return 1;
    return 0;
}

/* A column of numbers with a few texts is hardly one of texts. */
static void doubt_texts(csv *c, size_t column, row_list rows) {
    size_t i, numbers = 0, texts = 0, first = 0;
    for (i = 0; i < rows.count; i++) {
        int kind = csv_kind(csv_value(c, rows.at[i], column));
        numbers += kind == CSV_NUMBER, texts += kind == CSV_TEXT;
        if (kind == CSV_TEXT && texts == 1) first = rows.at[i];
    }
    if (numbers > texts) {
        const char *cell = csv_text(c, first, column);
        decided(c->file,
                "line %zu, column %zu (%s): \"%.*s\" among %zu numbers: one-hot coded, every number an input of its "
                "own",
                csv_line(c, first), column + 1, c->names[column], utf8_fit(cell, 60), cell, numbers);
    }
}

static void input_add(input_list *list, size_t *room, text *names, const char *name, size_t column, int kind, int what,
                      const char *level) {
    static const char *const suffix[INPUT_WHATS] = {"",         "=",     "=(other)", "=(missing)", ":month",
                                                    ":weekday", ":hour", ":clipped", ":rank"};
    input *to;
    if (list->count == *room) {
        input *more = allocate(2 * *room, sizeof *more, "inputs");
        memcpy(more, list->at, *room * sizeof *more);
        free(list->at);
        list->at = more, *room *= 2;
    }
    to = &list->at[list->count++];
    to->column = column, to->kind = kind, to->what = what, to->level = level, to->knots = NULL;
    text_add(names, "%s%s%s", name, suffix[what], level != NULL ? level : "");
    text_bytes(names, "", 1);
}

/* Two columns are called the same. */
static void same_names(const csv *c, size_t first, size_t second, const char *expected) NEVER_RETURNS;
static void same_names(const csv *c, size_t first, size_t second, const char *expected) {
    if (*c->names[first] == 0)
        fail("%s: line 1: columns %zu and %zu have no name, expected a name for each", c->file, first + 1, second + 1);
    fail("%s: line 1: columns %zu and %zu are both called %s, expected %s", c->file, first + 1, second + 1,
         c->names[first], expected);
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
            if (second < c->columns) same_names(c, first, second, "names that differ");
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
                if (csv_kind(csv_value(c, rows.at[i], j)) == CSV_MISSING) continue;
                if (!set_add(&levels, csv_text(c, rows.at[i], j)))
                    csv_fail(c, rows.at[i], j, "at most 1000 different texts in a column to one-hot code");
            }
            for (i = 0; i < levels.count; i++)
                input_add(&list, &room, &names, c->names[j], j, COLUMN_TEXT, INPUT_LEVEL, levels.at[i]); /* keeps it */
        } else
            input_add(&list, &room, &names, c->names[j], j, COLUMN_NUMBER, INPUT_NUMBER, NULL);
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
        if (strcmp(c->names[j], c->names[column]) == 0) same_names(c, column, j, "one of that name");
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
        list->at[i].what = equals != NULL ? INPUT_LEVEL : INPUT_NUMBER;
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
    if (c->columns != list->count)
        first = target_find(c, target, targets);
    else if (c->header && target != NULL && csv_column(c, target) < c->columns)
        fail("%s: %zu columns with the target, %s, expected the %zu inputs of the model besides it", c->file,
             c->columns, target, list->count);
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

static void no_input(const csv *c, const char *name, size_t i, size_t count) {
    char room[GUESS_ROOM];
    fail("%s: line 1: expected a column %s, which is input %zu of the %zu of the model, found none of that name%s",
         c->file, name, i + 1, count, csv_like(c, name, room));
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
            list.at[i].what = list.at[i].level != NULL ? INPUT_LEVEL : INPUT_NUMBER;
            if (list.at[i].column == c->columns) no_input(c, name, i, count);
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

static int of_text(int what) { return what == INPUT_LEVEL || what == INPUT_OTHER; }

/* The inputs from `first` on that are made of one column end before this one. */
static size_t group_end(const input_list *inputs, size_t first) {
    size_t end = first + 1;
    while (end < inputs->count && inputs->at[end].column == inputs->at[first].column) end++;
    return end;
}

static double number_of(int what, double value) {
    return what == INPUT_MONTH     ? date_month(value)
           : what == INPUT_WEEKDAY ? date_weekday(value)
           : what == INPUT_HOUR    ? date_hour(value)
                                   : value;
}

/* The input of a number: of a table of knots, or less an offset. */
static rfm_real real_of(const input *at, double value, const double *offset) {
    if (at->knots != NULL) return (rfm_real)knots_value(at->knots, value);
    return (rfm_real)(number_of(at->what, value) - (offset != NULL ? *offset : 0));
}

/* The inputs of one cell that are numbers. */
static void fill_numbers(csv *c, size_t row, const input *at, size_t count, int missing_allowed, const double *offset,
                         rfm_real *to) {
    size_t column = at->column, q;
    double value = csv_value(c, row, column);
    int kind = csv_kind(value);
    for (q = 0; q < count; q++) {
        if (of_text(at[q].what)) continue;
        if (at[q].what == INPUT_MISSING) {
            to[q] = kind == CSV_MISSING ? (rfm_real)1 : (rfm_real)0;
            continue;
        }
        if (kind == CSV_MISSING && !missing_allowed) csv_fail(c, row, column, "a number (or use --missing mean)");
        if (kind == CSV_TEXT) {
            text wanted = {NULL, 0, 0};
            text_add(&wanted, "%s (--na TEXT for a word that means missing)%c", column_wanted(at[q].kind), 0);
            csv_fail(c, row, column, wanted.at);
        }
        if (kind == CSV_HUGE) csv_fail(c, row, column, "a finite number that fits");
        to[q] = real_of(&at[q], value, offset != NULL ? offset + q : NULL);
    }
}

/* The inputs of one cell that are texts. Returns 1 if the text was not there in training. */
static int fill_texts(csv *c, size_t row, const input *at, size_t count, int missing_allowed, rfm_real *to) {
    size_t column = at->column, q, hits = 0, other = count;
    int missing = csv_kind(csv_value(c, row, column)) == CSV_MISSING, said = 0;
    const char *cell = csv_text(c, row, column);
    for (q = 0; q < count; q++) {
        if (at[q].what == INPUT_LEVEL) {
            int hit = strcmp(at[q].level, cell) == 0; /* one may be NA */
            to[q] = hit ? (rfm_real)1 : (rfm_real)0;
            hits += (size_t)hit;
        }
        if (at[q].what == INPUT_OTHER) other = q, to[q] = 0;
        said |= at[q].what == INPUT_MISSING;
    }
    if (hits > 0) return 0;
    if (!missing) {
        if (other < count) to[other] = 1;
        return other == count;
    }
    if (!missing_allowed) csv_fail(c, row, column, "a text (or use --missing mean)");
    for (q = 0; !said && q < count; q++)
        if (of_text(at[q].what)) to[q] = (rfm_real)NAN;
    return 0;
}

void inputs_fill(csv *c, input_list inputs, row_list rows, int missing_allowed, const double *offset, rfm_real *x) {
    size_t i, first, end, q, unknown = 0;
    for (first = 0; first < inputs.count; first = end) {
        const input *at = inputs.at + first;
        int texts = 0, numbers = 0;
        end = group_end(&inputs, first);
        for (q = first; q < end; q++)
            if (of_text(inputs.at[q].what))
                texts = 1;
            else
                numbers = 1;
        for (i = 0; i < rows.count; i++) {
            rfm_real *to = x + i * inputs.count + first;
            if (numbers)
                fill_numbers(c, rows.at[i], at, end - first, missing_allowed, offset != NULL ? offset + first : NULL,
                             to);
            if (texts) unknown += (size_t)fill_texts(c, rows.at[i], at, end - first, missing_allowed, to);
        }
    }
    if (unknown > 0)
        note("%s: %zu cells have a text that was not there in training; they count as none of the known ones", c->file,
             unknown);
}

/* ---- decisions ------------------------------------------------------------------------------ */

/* 1 if a comma-separated list has the name. */
static int listed(const char *list, const char *name) {
    size_t length = strlen(name);
    while (list != NULL) {
        if (strncmp(list, name, length) == 0 && (list[length] == ',' || list[length] == 0)) return 1;
        list = strchr(list, ',');
        if (list != NULL) list++;
    }
    return 0;
}

/* Every name of the list is a column. */
static void check_listed(const csv *c, const char *option_name, const char *list) {
    char room[GUESS_ROOM];
    while (list != NULL && *list != 0) {
        size_t length = strcspn(list, ",");
        char *name = copy_text(list, length);
        if (csv_column(c, name) == c->columns)
            fail("%s: line 1: expected a column %s (%s), found none of that name%s", c->file, name, option_name,
                 csv_like(c, name, room));
        free(name);
        list += length + (list[length] == ',');
    }
}

static void leave_out(csv *c, size_t column, const char *reason, text *left, size_t *count) {
    text_bytes(left, c->names[column], strlen(c->names[column]) + 1);
    text_bytes(left, reason, strlen(reason) + 1);
    ++*count;
    note("%s: column %zu (%s) is left out: %s", c->file, column + 1, c->names[column], reason);
}

typedef struct {
    char *at;
    size_t count;
} level;

static int level_by_text(const void *a, const void *b) {
    return strcmp(((const level *)a)->at, ((const level *)b)->at);
}

static int level_by_count(const void *a, const void *b) {
    const level *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->at, y->at);
}

/* The different texts of a column and how often each is there; *cells: all of them together. */
static level *levels_of(csv *c, size_t column, row_list rows, size_t *count, size_t *cells) {
    level *all = allocate(rows.count + 1, sizeof *all, "texts");
    size_t i, n = 0;
    for (i = 0; i < rows.count; i++) {
        const char *cell;
        if (csv_kind(csv_value(c, rows.at[i], column)) == CSV_MISSING) continue;
        cell = csv_text(c, rows.at[i], column);
        all[n].at = copy_text(cell, strlen(cell)), all[n++].count = 1;
    }
    *cells = n;
    qsort(all, n, sizeof *all, level_by_text);
    for (i = 1, *count = n > 0; i < n; i++) {
        level *last = &all[*count - 1];
        if (strcmp(all[i].at, last->at) == 0)
            last->count++, free(all[i].at);
        else
            all[(*count)++] = all[i];
    }
    return all;
}

/* 1 if where cells are missing tells of the target: chi-square of classes, or the difference of two means, beyond what
 * chance does once in a few hundred times. */
static int missing_tells(const csv *c, size_t column, size_t target, size_t targets, row_list rows,
                         const table_rules *rules) {
    size_t i, k, missing = 0, n = rows.count;
    double *sum = allocate(2 * (rules->classes + targets), sizeof *sum, "statistics"), *part, chi = 0;
    int tells = 0;
    for (i = 0; i < n; i++) missing += csv_kind(csv_value(c, rows.at[i], column)) == CSV_MISSING;
    if (missing < 5 || n - missing < 5) return free(sum), 0;
    if (rules->labels != NULL) {
        part = sum + rules->classes;
        for (i = 0; i < n; i++) {
            sum[rules->labels[i]]++;
            if (csv_kind(csv_value(c, rows.at[i], column)) == CSV_MISSING) part[rules->labels[i]]++;
        }
        for (k = 0; k < rules->classes; k++) {
            double share = (double)missing / (double)n, off = part[k] - share * sum[k];
            if (sum[k] > 0) chi += off * off / (sum[k] * share * (1 - share));
        }
        k = rules->classes - 1;
        tells = chi > (double)k + 3 * sqrt(2 * (double)k) + 2;
    }
    for (k = 0; rules->labels == NULL && k < targets; k++) {
        double mean[2] = {0, 0}, square[2] = {0, 0}, count[2];
        count[0] = (double)(n - missing), count[1] = (double)missing;
        for (i = 0; i < n; i++) {
            int at = csv_kind(csv_value(c, rows.at[i], column)) == CSV_MISSING;
            mean[at] += csv_value(c, rows.at[i], target + k) / count[at];
        }
        for (i = 0; i < n; i++) {
            int at = csv_kind(csv_value(c, rows.at[i], column)) == CSV_MISSING;
            double off = csv_value(c, rows.at[i], target + k) - mean[at];
            square[at] += off * off / count[at];
        }
        tells |= fabs(mean[0] - mean[1]) > 3 * sqrt(square[0] / count[0] + square[1] / count[1]);
    }
    free(sum);
    return tells;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* 1 if whole numbers, all different, are called an identifier. */
static int is_identifier(const csv *c, size_t column, row_list rows) {
    const char *name = c->names[column];
    size_t length = strlen(name), i;
    double *sorted;
    int same = 0;
    if (!(length == 0 || (length >= 2 && (name[length - 1] | 32) == 'd' && (name[length - 2] | 32) == 'i' &&
                          (length == 2 || strchr("_- .", name[length - 3]) != NULL ||
                           (name[length - 2] == 'I' && name[length - 3] >= 'a')))))
        return 0;
    for (i = 0; i < rows.count; i++) {
        double value = csv_value(c, rows.at[i], column);
        if (csv_kind(value) != CSV_NUMBER || value != floor(value)) return 0;
    }
    sorted = allocate(rows.count, sizeof *sorted, "a column");
    for (i = 0; i < rows.count; i++) sorted[i] = csv_value(c, rows.at[i], column);
    qsort(sorted, rows.count, sizeof *sorted, by_value);
    for (i = 1; i < rows.count; i++) same |= sorted[i - 1] == sorted[i];
    free(sorted);
    return !same && rows.count > FEW_TEXTS;
}

/* 1 if the column is the number of the row, from wherever it begins. */
static int counts_rows(const csv *c, size_t column, row_list rows) {
    size_t i;
    for (i = 0; i < rows.count; i++)
        if (csv_value(c, rows.at[i], column) - csv_value(c, rows.at[0], column) != (double)(rows.at[i] - rows.at[0]))
            return 0;
    return rows.count > FEW_TEXTS;
}

static int is_constant(const csv *c, size_t column, row_list rows) {
    column_range r = column_look(c, column, rows);
    return r.count == rows.count && r.low == r.high;
}

/* A list of inputs that grows. */
typedef struct {
    csv *c;
    row_list rows;
    const table_rules *rules;
    size_t target, targets;
    input_list list;
    size_t room;
    text names, left;
    size_t left_count;
    int plain; /* nothing but numbers so far */
} decision;

static void add_input(decision *t, size_t column, int kind, int what, const char *level_text) {
    input_add(&t->list, &t->room, &t->names, t->c->names[column], column, kind, what, level_text);
}

static size_t count_missing(const decision *t, size_t column) {
    size_t i, missing = 0;
    for (i = 0; i < t->rows.count; i++) missing += csv_kind(csv_value(t->c, t->rows.at[i], column)) == CSV_MISSING;
    return missing;
}

static void decide_texts(decision *t, size_t column) {
    csv *c = t->c;
    size_t count, cells, missing = count_missing(t, column), i, rare, kept = 0, others = 0, left = 0;
    level *levels = levels_of(c, column, t->rows, &count, &cells);
    char reason[120];
    const int says_missing = missing > 0 && t->rules->missing == MISSING_AUTO;
    rare = t->rows.count < FEW_ROWS ? 0 : t->rows.count / RARE > 1 ? t->rows.count / RARE : 1;
    if (t->rules->one_hot) {
        doubt_texts(c, column, t->rows);
        if (count > MOST_TEXTS) {
            for (i = 0; csv_kind(csv_value(c, t->rows.at[i], column)) == CSV_MISSING; i++) continue;
            csv_fail(c, t->rows.at[i], column, "at most 1000 different texts in a column to one-hot code");
        }
        for (i = 0; i < count; i++) add_input(t, column, COLUMN_TEXT, INPUT_LEVEL, levels[i].at);
        free(levels);
        return;
    }
    if (count == 1 && missing == 0) {
        leave_out(c, column, "one text in all training rows", &t->left, &t->left_count);
    } else if (count > FEW_TEXTS && 2 * count > cells) {
        snprintf(reason, sizeof reason, "%zu different texts in %zu cells, as an identifier has them%s", count, cells,
                 count > MOST_TEXTS ? "" : " (--one-hot to take them)");
        leave_out(c, column, reason, &t->left, &t->left_count);
    } else {
        level *order = allocate(count, sizeof *order, "texts");
        memcpy(order, levels, count * sizeof *order);
        qsort(order, count, sizeof *order, level_by_count);
        for (i = 0; i < count; i++) {
            if (i < MOST_LEVELS && order[i].count > rare)
                kept++;
            else
                others += order[i].count, left++;
        }
        qsort(order, kept, sizeof *order, level_by_text);
        if (kept == 0 && !says_missing) {
            snprintf(reason, sizeof reason, "%zu different texts in %zu cells, all of them rare%s", count, cells,
                     count > MOST_TEXTS ? "" : " (--one-hot to take them)");
            leave_out(c, column, reason, &t->left, &t->left_count), others = left = 0;
        }
        for (i = 0; i < kept; i++)
            add_input(t, column, COLUMN_TEXT, INPUT_LEVEL, copy_text(order[i].at, strlen(order[i].at)));
        if (others > 0) add_input(t, column, COLUMN_TEXT, INPUT_OTHER, NULL);
        if (says_missing) add_input(t, column, COLUMN_TEXT, INPUT_MISSING, NULL);
        if (left > 0)
            decided(c->file, "column %zu (%s): %zu texts are inputs; %zu rare ones, in %zu cells, are one together",
                    column + 1, c->names[column], kept, left, others);
        else if (kept > 0)
            note("%s: column %zu (%s): %zu texts, each an input", c->file, column + 1, c->names[column], kept);
        free(order);
    }
    for (i = 0; i < count; i++) free(levels[i].at);
    free(levels);
}

/* A date is a number, and those of its parts that differ. */
static void decide_parts(decision *t, size_t column, int kind) {
    double low[INPUT_WHATS], high[INPUT_WHATS];
    size_t i;
    int what;
    for (what = INPUT_MONTH; what <= INPUT_HOUR; what++) {
        low[what] = (double)INFINITY, high[what] = -(double)INFINITY;
        for (i = 0; i < t->rows.count; i++) {
            double value = csv_value(t->c, t->rows.at[i], column), part;
            if (csv_kind(value) != CSV_NUMBER) continue;
            part = number_of(what, value);
            low[what] = fmin(low[what], part), high[what] = fmax(high[what], part);
        }
        if (low[what] < high[what]) add_input(t, column, kind, what, NULL);
    }
}

static void decide_column(decision *t, size_t column) {
    csv *c = t->c;
    int kind = column_kind(c, column, t->rows);
    if (kind == COLUMN_LOOSE && t->rules->one_hot) kind = COLUMN_TEXT;
    if (kind == COLUMN_EMPTY) {
        leave_out(c, column, "no value in any training row", &t->left, &t->left_count);
        return;
    }
    if (kind == COLUMN_NUMBER && t->rules->only == NULL && is_identifier(c, column, t->rows)) {
        leave_out(c, column, "whole numbers, all different, with the name of an identifier (--only to take it)",
                  &t->left, &t->left_count);
        return;
    }
    if (kind == COLUMN_NUMBER && t->rules->only == NULL && counts_rows(c, column, t->rows))
        note("%s: column %zu (%s): counts the rows, and is an input; --drop %s if it says nothing else", c->file,
             column + 1, c->names[column], c->names[column]);
    if (kind != COLUMN_NUMBER) t->plain = 0;
    if (kind == COLUMN_TEXT) {
        decide_texts(t, column);
        return;
    }
    column_decode(c, column, kind);
    if (kind != COLUMN_NUMBER && kind != COLUMN_LOOSE)
        note("%s: column %zu (%s): %s", c->file, column + 1, c->names[column], column_words[kind]);
    add_input(t, column, kind, INPUT_NUMBER, NULL);
    if (is_date_kind(kind)) decide_parts(t, column, kind);
    if (t->rules->missing == MISSING_AUTO && missing_tells(c, column, t->target, t->targets, t->rows, t->rules)) {
        add_input(t, column, kind, INPUT_MISSING, NULL);
        note("%s: column %zu (%s): where it is missing tells of the target, and is an input", c->file, column + 1,
             c->names[column]);
    }
}

/* Constant columns go, unless the table is plain: the numbers of sensors or pixels keep their order. */
static void drop_constants(decision *t) {
    size_t i, kept = 0, differ = 0;
    const char *name = t->names.at;
    text names = {NULL, 0, 0};
    for (i = 0; i < t->list.count; i++) {
        const input *at = &t->list.at[i];
        differ += at->what != INPUT_NUMBER || !is_constant(t->c, at->column, t->rows);
    }
    if (differ == t->list.count || differ == 0 || t->plain) return;
    for (i = 0; i < t->list.count; i++, name += strlen(name) + 1) {
        input at = t->list.at[i];
        if (at.what == INPUT_NUMBER && is_constant(t->c, at.column, t->rows)) {
            leave_out(t->c, at.column, "one value in all training rows", &t->left, &t->left_count);
            continue;
        }
        t->list.at[kept++] = at;
        text_bytes(&names, name, strlen(name) + 1);
    }
    t->list.count = kept;
    free(t->names.at);
    t->names = names;
}

input_list inputs_decide(csv *c, size_t target, size_t targets, row_list rows, const table_rules *rules,
                         left_out *left) {
    decision t;
    size_t j, k;
    memset(&t, 0, sizeof t);
    t.c = c, t.rows = rows, t.rules = rules, t.target = target, t.targets = targets, t.plain = 1;
    t.room = c->columns;
    t.list.at = allocate(t.room, sizeof *t.list.at, "inputs");
    check_listed(c, "--drop", rules->drop);
    check_listed(c, "--only", rules->only);
    for (j = 0; j < c->columns; j++) {
        if (j >= target && j < target + targets) continue;
        for (k = 0; k < rules->apart_count && rules->apart[k] != j; k++) continue;
        if (k < rules->apart_count) {
            if (listed(rules->only, c->names[j]))
                decided(c->file, "column %zu (%s) is no input, in spite of --only: it says groups, times or weights",
                        j + 1, c->names[j]);
            continue;
        }
        if (listed(rules->drop, c->names[j]) || (rules->only != NULL && !listed(rules->only, c->names[j]))) {
            t.plain = t.plain && rules->drop == NULL;
            if (rules->drop != NULL) leave_out(c, j, "--drop", &t.left, &t.left_count);
            continue;
        }
        decide_column(&t, j);
    }
    drop_constants(&t);
    if (t.list.count == 0) fail("%s: no column is left for inputs beside the target", c->file);
    t.list.names = t.names.at;
    if (c->header) names_differ(c, &t.list);
    left->at = t.left.at, left->count = t.left_count;
    return t.list;
}

size_t rows_missing(const csv *c, const input_list *inputs, row_list rows) {
    size_t i, j, count = 0;
    for (i = 0; i < rows.count; i++) {
        for (j = 0; j < inputs->count; j++)
            if (csv_kind(csv_value(c, rows.at[i], inputs->at[j].column)) == CSV_MISSING) break;
        count += j < inputs->count;
    }
    return count;
}

/* ---- recipes -------------------------------------------------------------------------------- */

char *recipe_write(const csv *c, const input_list *inputs, size_t target, size_t targets, const int *target_kinds,
                   size_t *bytes) {
    text t = {NULL, 0, 0};
    size_t i;
    for (i = 0; i < inputs->count + targets; i++) {
        const input *at = i < inputs->count ? &inputs->at[i] : NULL;
        const char *name = c->names[at != NULL ? at->column : target + i - inputs->count];
        const char *level_text = at != NULL && at->level != NULL ? at->level : "";
        char head[2];
        head[0] = (char)(at != NULL ? at->what : INPUT_NUMBER);
        head[1] = (char)(at != NULL ? at->kind : target_kinds[i - inputs->count]);
        text_bytes(&t, head, 2);
        text_bytes(&t, name, strlen(name) + 1);
        text_bytes(&t, level_text, strlen(level_text) + 1);
    }
    *bytes = t.size;
    return t.at;
}

/* Behind entry `recipe`, which ends at `end` at the latest; NULL: it is none. */
static const char *recipe_next(const char *recipe, const char *end) {
    const char *name = recipe + 2, *level_text, *next;
    if (end - recipe < 4 || recipe[0] < 0 || recipe[0] >= INPUT_WHATS || recipe[1] < 0 || recipe[1] >= COLUMN_KINDS)
        return NULL;
    level_text = memchr(name, 0, (size_t)(end - name));
    if (level_text == NULL || ++level_text == end) return NULL;
    next = memchr(level_text, 0, (size_t)(end - level_text));
    return next != NULL ? next + 1 : NULL;
}

int recipe_right(const char *recipe, size_t bytes, size_t count, size_t targets) {
    const char *end = recipe + bytes;
    size_t i;
    for (i = 0; recipe != NULL && recipe < end && i < count + targets; i++) recipe = recipe_next(recipe, end);
    return i == count + targets && recipe == end;
}

/* Entry i of a recipe that is right. */
const char *recipe_at(const char *recipe, size_t i) {
    for (; i > 0; i--) {
        recipe += 2 + strlen(recipe + 2) + 1;
        recipe += strlen(recipe) + 1;
    }
    return recipe;
}

int recipe_kind(const char *recipe, size_t i) { return recipe_at(recipe, i)[1]; }
int recipe_what(const char *recipe, size_t i) { return recipe_at(recipe, i)[0]; }

char *recipe_columns(const char *recipe, size_t count, size_t *columns) {
    text t = {NULL, 0, 0};
    const char *last = NULL;
    size_t i;
    *columns = 0;
    for (i = 0; i < count; i++, recipe = recipe_at(recipe, 1)) {
        if (last == NULL || strcmp(last, recipe + 2) != 0)
            text_bytes(&t, recipe + 2, strlen(recipe + 2) + 1), ++*columns;
        last = recipe + 2;
    }
    return t.at;
}

char *recipe_keep(const char *recipe, const size_t *kept, size_t count, size_t all, size_t targets, size_t *bytes) {
    text t = {NULL, 0, 0};
    size_t i;
    for (i = 0; i < count + targets; i++) {
        const char *from = recipe_at(recipe, i >= count ? all + i - count : kept != NULL ? kept[i] : i);
        text_bytes(&t, from, (size_t)(recipe_at(from, 1) - from));
    }
    *bytes = t.size;
    return t.at;
}

void recipe_show(text *t, const char *recipe, const unsigned char *knots, size_t i) {
    const char *at = recipe_at(recipe, i), *column = at + 2, *level_text = column + strlen(column) + 1;
    switch (at[0]) {
    case INPUT_LEVEL:
        text_add(t, "1 if ");
        text_name(t, column);
        text_add(t, " is '");
        text_name(t, level_text);
        text_add(t, "', else 0");
        break;
    case INPUT_OTHER:
        text_add(t, "1 if ");
        text_name(t, column);
        text_add(t, " is a text that is none of these, else 0");
        break;
    case INPUT_MISSING:
        text_add(t, "1 if ");
        text_name(t, column);
        text_add(t, " is missing, else 0");
        break;
    case INPUT_MONTH: text_add(t, "the month, 1 to 12"); break;
    case INPUT_WEEKDAY: text_add(t, "the day of the week, 0 is Monday"); break;
    case INPUT_HOUR: text_add(t, "the hour, with its fraction"); break;
    case INPUT_CLIPPED:
        knots = knots_from(knots, recipe, i);
        text_name(t, column);
        text_add(t, " between %.9g and %.9g", knots_x(knots, 0), knots_x(knots, 1));
        if (knots_y(knots, 0) != knots_x(knots, 0)) text_add(t, ", less %.15g", knots_x(knots, 0) - knots_y(knots, 0));
        break;
    case INPUT_RANK:
        text_add(t, "the rank of ");
        text_name(t, column);
        text_add(t, " among the training rows, 0 to 1, by %zu knots", knots_count(knots_from(knots, recipe, i)));
        break;
    default:
        if (at[1] > COLUMN_LOOSE) text_add(t, "%s", column_words[(int)at[1]]);
    }
}

input_list inputs_of_recipe(csv *c, const char *recipe, const unsigned char *knots, const char *names, size_t count) {
    input_list list;
    size_t i, bytes = 0, sources = 0, before = 0;
    const char *at, *last = NULL;
    for (i = 0; names != NULL && i < count; i++) bytes += strlen(names + bytes) + 1;
    list.at = allocate(count, sizeof *list.at, "inputs");
    list.count = count, list.names = names != NULL ? copy_text(names, bytes) : NULL;
    for (i = 0, at = recipe; i < count; i++, at = recipe_at(at, 1)) {
        input *to = &list.at[i];
        sources += last == NULL || strcmp(last, at + 2) != 0;
        last = at + 2;
        to->what = at[0], to->kind = at[1];
        if (has_knots(to->what)) to->knots = knots, knots = knots_next(knots);
        to->level = to->what == INPUT_LEVEL
                        ? copy_text(at + 2 + strlen(at + 2) + 1, strlen(at + 2 + strlen(at + 2) + 1))
                        : NULL;
        to->column = sources - 1;
    }
    for (i = 0, at = recipe; i < count; i++, at = recipe_at(at, 1)) {
        input *to = &list.at[i];
        if (!c->header && sources == c->columns) continue; /* in their order */
        to->column = csv_column(c, at + 2);
        if (to->column == c->columns && c->header) no_input(c, at + 2, i, count);
        if (to->column == c->columns)
            fail("%s: %zu columns, expected the %zu inputs of the model", c->file, c->columns, sources);
        if (c->header) only_column(c, to->column);
    }
    for (i = 0; i < count; before = list.at[i++].column)
        if (i == 0 || list.at[i].column != before) column_decode(c, list.at[i].column, list.at[i].kind);
    return list;
}

/* ---- targets -------------------------------------------------------------------------------- */

static void no_target(const csv *c, const char *name) {
    text there = {NULL, 0, 0};
    char room[GUESS_ROOM];
    size_t j;
    for (j = 0; j < c->columns && j < MOST_LISTED; j++) text_add(&there, j > 0 ? ", %s" : "%s", c->names[j]);
    if (c->columns > MOST_LISTED) text_add(&there, " and %zu more", c->columns - MOST_LISTED);
    text_bytes(&there, "", 1);
    fail("%s: line 1: expected a column %s (--target), found %s%s", c->file, name, there.at, csv_like(c, name, room));
}

void need_labels(const csv *c) {
    if (c->unlabelled) fail("%s: images without labels, expected --labels FILE", c->file);
}

size_t target_find(const csv *c, const char *name, size_t count) {
    size_t column = c->columns - 1;
    need_labels(c);
    if (count >= c->columns)
        fail("%s: %zu column%s, expected %zu target%s and at least one input", c->file, c->columns,
             c->columns == 1 ? "" : "s", count, count == 1 ? "" : "s");
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

void targets_fill(csv *c, size_t target, size_t count, row_list rows, const double *offset, rfm_real *y) {
    size_t i, k;
    for (i = 0; i < rows.count; i++)
        for (k = 0; k < count; k++) {
            double value = csv_value(c, rows.at[i], target + k);
            if (csv_kind(value) != CSV_NUMBER) csv_fail(c, rows.at[i], target + k, "a finite number as target");
            y[i * count + k] = (rfm_real)(value - (offset != NULL ? offset[k] : 0));
        }
}

column_range column_look(const csv *c, size_t column, row_list rows) {
    column_range r = {0, (double)INFINITY, -(double)INFINITY, 0, 0};
    size_t i;
    for (i = 0; i < rows.count; i++) {
        double value = csv_value(c, rows.at[i], column);
        if (!isfinite(value)) continue;
        r.low = fmin(r.low, value), r.high = fmax(r.high, value);
        r.off = fmax(r.off, fabs(value - (double)(rfm_real)value));
        r.mean += value, r.count++;
    }
    if (r.count > 0) r.mean /= (double)r.count;
    return r;
}

int column_loses(double off, double spread) { return off > spread / 8192 && spread > 0; }

/* Words that may well be a class: no activity, no disease. */
static int class_word(const char *cell) { return (cell[0] | 32) == 'n' && strlen(cell) == 4 && csv_absent(cell); }

size_t rows_known(csv *c, row_list *rows, size_t target, size_t targets) {
    size_t i, k, kept = 0, given = rows->count;
    int texts = targets == 1 && has_text(c, target, *rows);
    for (i = 0; i < given; i++) {
        int known = 1;
        for (k = 0; k < targets; k++)
            known = known && (csv_kind(csv_value(c, rows->at[i], target + k)) != CSV_MISSING ||
                              (texts && class_word(csv_text(c, rows->at[i], target))));
        if (known) rows->at[kept++] = rows->at[i];
    }
    rows->count = kept;
    return given - kept;
}

/* Counts are fewer and fewer behind the most frequent one, and few at the end. */
static int look_like_counts(const size_t *often, size_t count) {
    size_t most = 0, i;
    for (i = 1; i < count; i++)
        if (often[i] > often[most]) most = i;
    for (i = 1; i <= most; i++)
        if (often[i] < often[i - 1]) return 0;
    for (i = most + 1; i < count; i++)
        if (often[i] > often[i - 1]) return 0;
    return 10 * often[count - 1] < often[most];
}

int target_is_class(csv *c, size_t target, row_list rows) {
    double values[MOST_INTEGER_CLASSES];
    size_t often[MOST_INTEGER_CLASSES] = {0}, count = 0, i, k;
    if (has_text(c, target, rows)) return 1;
    for (i = 0; i < rows.count; i++) {
        double value = csv_value(c, rows.at[i], target);
        if (csv_kind(value) == CSV_MISSING) continue;
        if (csv_kind(value) != CSV_NUMBER || value != floor(value)) return 0;
        for (k = 0; k < count && values[k] < value; k++) continue;
        if (k < count && values[k] == value) {
            often[k]++;
            continue;
        }
        if (count == MOST_INTEGER_CLASSES) return 0;
        memmove(values + k + 1, values + k, (count - k) * sizeof *values);
        memmove(often + k + 1, often + k, (count - k) * sizeof *often);
        values[k] = value, often[k] = 1, count++;
    }
    if (count < 2) return 0;
    if (count <= 3) return 1;
    return (values[0] == 0 || values[0] == 1) && values[count - 1] - values[0] == (double)(count - 1) &&
           !look_like_counts(often, count);
}

/* The label of a cell: numbers in one way of writing, so that 1 and 1.0 are one class. */
static const char *label(csv *c, size_t row, size_t target, char *room, size_t size) {
    const char *cell;
    int kind = csv_kind(csv_value(c, row, target));
    cell = csv_text(c, row, target);
    if (kind == CSV_MISSING && !class_word(cell)) csv_fail(c, row, target, "a class as target");
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
    for (i = 0; !texts && i < rows.count; i++)
        if (csv_kind(csv_value(c, rows.at[i], target)) == CSV_MISSING)
            csv_fail(c, rows.at[i], target, "a class as target, a number as the others");
    for (i = 0; i < labels.count; i++)
        if (csv_absent(labels.at[i]))
            decided(c->file, "column %zu (%s): \"%s\" is taken as a class", target + 1, c->names[target], labels.at[i]);
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

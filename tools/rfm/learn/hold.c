#include "hold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns -------------------------------------------------------------------------------- */

typedef struct {
    char *at;
    size_t row;
} named;

static int by_text(const void *a, const void *b) { return strcmp(((const named *)a)->at, ((const named *)b)->at); }

uint32_t *column_groups(csv *c, size_t column, row_list rows, size_t *count) {
    named *names = allocate(rows.count, sizeof *names, "groups");
    uint32_t *groups = allocate(rows.count, sizeof *groups, "groups"), last = 0;
    size_t i;
    for (i = 0; i < rows.count; i++) {
        const char *cell = csv_text(c, rows.at[i], column);
        names[i].at = copy_text(cell, strlen(cell)), names[i].row = i;
    }
    qsort(names, rows.count, sizeof *names, by_text);
    for (i = 0; i < rows.count; i++) {
        if (i > 0 && strcmp(names[i - 1].at, names[i].at) != 0) last++;
        groups[names[i].row] = last;
    }
    for (i = 0; i < rows.count; i++) free(names[i].at);
    free(names);
    *count = (size_t)last + 1;
    return groups;
}

double *column_times(csv *c, size_t column, row_list rows) {
    double *times = allocate(rows.count, sizeof *times, "times");
    size_t i;
    int kind = column_kind(c, column, rows);
    column_decode(c, column, kind);
    for (i = 0; i < rows.count; i++) {
        times[i] = csv_value(c, rows.at[i], column);
        if (csv_kind(times[i]) != CSV_NUMBER) csv_fail(c, rows.at[i], column, "a number or a date (--time)");
    }
    return times;
}

rfm_real *column_weights(csv *c, size_t column, row_list rows) {
    rfm_real *weights = allocate(rows.count, sizeof *weights, "weights");
    size_t i, some = 0;
    for (i = 0; i < rows.count; i++) {
        double value = csv_value(c, rows.at[i], column);
        if (csv_kind(value) != CSV_NUMBER || value < 0)
            csv_fail(c, rows.at[i], column, "a weight: a number that is not negative (--weights)");
        weights[i] = (rfm_real)value;
        some += weights[i] > 0;
    }
    if (some == 0)
        fail("%s: column %zu (%s): all weights are 0, expected some above that", c->file, column + 1, c->names[column]);
    return weights;
}

/* ---- parts ---------------------------------------------------------------------------------- */

typedef struct {
    double time;
    size_t row;
} timed;

static int by_time(const void *a, const void *b) {
    const timed *x = a, *y = b;
    return x->time != y->time ? (x->time < y->time ? -1 : 1) : x->row < y->row ? -1 : x->row > y->row;
}

/* Rows in the order of time, and for each the first one of its time. */
static timed *in_time(const hold_rules *h, size_t **first) {
    timed *order = allocate(h->rows, sizeof *order, "times");
    size_t i;
    *first = allocate(h->rows, sizeof **first, "times");
    for (i = 0; i < h->rows; i++) order[i].time = h->times[i], order[i].row = i;
    qsort(order, h->rows, sizeof *order, by_time);
    for (i = 0; i < h->rows; i++) (*first)[i] = i > 0 && order[i].time == order[i - 1].time ? (*first)[i - 1] : i;
    return order;
}

/* Sizes of the groups, and the groups in random order. */
static uint32_t *group_order(const hold_rules *h, size_t *size) {
    uint32_t *order = allocate(h->group_count, sizeof *order, "groups");
    size_t i;
    for (i = 0; i < h->group_count; i++) order[i] = (uint32_t)i;
    for (i = 0; i < h->rows; i++) size[h->groups[i]]++;
    rows_shuffle(order, h->group_count, h->seed * 2654435761u + 29);
    return order;
}

size_t hold_out(const hold_rules *h, size_t count, unsigned char *held) {
    size_t n = h->rows, i, taken = 0;
    memset(held, 0, n);
    if (h->times != NULL) {
        size_t *first;
        timed *order = in_time(h, &first);
        size_t from = first[n - count]; /* equal times are not parted */
        for (i = from > 0 ? from : n; i < n; i++) held[order[i].row] = 1, taken++;
        free(order);
        free(first);
    } else if (h->groups != NULL) {
        size_t *size = allocate(h->group_count, sizeof *size, "groups"), g;
        uint32_t *order = group_order(h, size);
        for (g = 0; g + 1 < h->group_count && taken < count; g++) {
            if (taken > 0 && taken + size[order[g]] > count + size[order[g]] / 2) continue;
            for (i = 0; i < n; i++)
                if (h->groups[i] == order[g]) held[i] = 1, taken++;
        }
        free(order);
        free(size);
    } else {
        uint32_t *order = rows_in_turn(n, h->labels, h->classes, h->seed);
        for (i = 0; i < n; i++)
            if ((i + 1) * count / n > i * count / n) held[order[i]] = 1, taken++;
        free(order);
    }
    return taken;
}

void hold_folds(const hold_rules *h, size_t folds, size_t *fold) {
    size_t n = h->rows, i;
    if (h->times != NULL) {
        size_t *first;
        timed *order = in_time(h, &first);
        for (i = 0; i < n; i++) fold[order[i].row] = first[i] * (folds + 1) / n;
        free(order);
        free(first);
    } else if (h->groups != NULL) { /* each to the fold that has fewest rows yet */
        size_t *size = allocate(h->group_count, sizeof *size, "groups"), g;
        size_t *rows = allocate(folds, sizeof *rows, "folds"), *to = allocate(h->group_count, sizeof *to, "groups");
        uint32_t *order = group_order(h, size);
        for (g = 0; g < h->group_count; g++) {
            size_t least = 0;
            for (i = 1; i < folds; i++)
                if (rows[i] < rows[least]) least = i;
            to[order[g]] = least, rows[least] += size[order[g]];
        }
        for (i = 0; i < n; i++) fold[i] = to[h->groups[i]];
        free(size);
        free(rows);
        free(to);
        free(order);
    } else {
        uint32_t *order = rows_in_turn(n, h->labels, h->classes, h->seed);
        for (i = 0; i < n; i++) fold[order[i]] = i % folds;
        free(order);
    }
}

void hold_part(const hold_rules *h, const size_t *fold, size_t f, uint32_t *fit, size_t *fit_count, uint32_t *held,
               size_t *held_count) {
    size_t i;
    *fit_count = *held_count = 0;
    for (i = 0; i < h->rows; i++) {
        if (h->times != NULL ? fold[i] == f + 1 : fold[i] == f)
            held[(*held_count)++] = (uint32_t)i;
        else if (h->times == NULL || fold[i] <= f)
            fit[(*fit_count)++] = (uint32_t)i;
    }
}

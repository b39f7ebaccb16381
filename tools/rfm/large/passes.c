#include "passes.h"

#include "../learn/hold.h"
#include "large.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DRAWN_ROWS  8000 /* that columns are looked at, settings are searched on, and scales are from */
#define MOST_LABELS 1000
#define LABEL_SLOTS 4096 /* a power of two */

int passes_wanted(const call *a) {
    struct stat about;
    int method = method_given(a), all_rows = method == METHOD_LARGE || method == METHOD_AUTO;
    if (a->operands[1] != NULL || a->in_passes) return 1;
    if (!all_rows || a->image_size != NULL || a->signal != NULL) return 0;
    return stat(a->operands[0], &about) == 0 && machine_room() > 0 && (double)about.st_size > 0.2 * machine_room();
}

/* A row that was drawn, as it is written. */
typedef struct {
    char *line;
    size_t number, file;
} drawn_row;

struct passes {
    const call *a;
    size_t files, file; /* of the table; which one is read */
    csv_parts *parts;   /* of that; NULL: none is open */
    csv part;
    int has_part;
    size_t target, targets, columns;
    char **names;                /* (columns) of the first file */
    char delimiter;              /* of the first file */
    size_t rows, unknown, count; /* with and without a target; how often they were read */
    passes_form form;
    sample given;    /* the rows of a part */
    rfm_real *y, *w; /* (rows of it, c), (rows of it) */
    size_t at, next; /* the next row of the part, and of the table */
};

/* ---- parts ------------------------------------------------------------------------------------ */

static void check_columns(const passes *p) {
    const csv *c = &p->part;
    const char *first = p->a->operands[0];
    size_t j;
    for (j = 0; j < p->columns && j < c->columns && c->header; j++)
        if (strcmp(c->names[j], p->names[j]) != 0)
            fail("%s: column %zu is %s, expected %s as in %s: parts have the same columns in the same order", c->file,
                 j + 1, c->names[j], p->names[j], first);
    if (c->columns != p->columns)
        fail("%s: %zu columns, expected the same %zu as in %s", c->file, c->columns, p->columns, first);
    if (c->delimiter != p->delimiter)
        fail("%s: fields are separated by another sign than in %s, expected the same", c->file, first);
}

static void end_part(passes *p) {
    if (p->has_part) csv_free(&p->part);
    p->has_part = 0;
}

/* The next part of the table; 0: there are no more. */
static int next_part(passes *p) {
    end_part(p);
    for (;;) {
        if (p->parts == NULL) p->parts = csv_parts_open(p->a->operands[p->file], !p->a->no_header);
        if (csv_parts_next(p->parts, &p->part)) break;
        csv_parts_close(p->parts);
        p->parts = NULL;
        if (++p->file == p->files) return 0;
    }
    p->has_part = 1;
    if (p->names != NULL) check_columns(p);
    return 1;
}

static void go_back(passes *p) {
    end_part(p);
    if (p->parts != NULL) csv_parts_close(p->parts);
    p->parts = NULL, p->file = 0, p->count++;
}

/* The rows of the part that have a target. */
static row_list known_rows(passes *p, size_t *unknown) {
    unsigned char *use = split_read(NULL, &p->part, USE_TRAIN);
    row_list rows = rows_of(&p->part, use, USE_TRAIN);
    *unknown = rows_known(&p->part, &rows, p->target, p->targets);
    free(use);
    return rows;
}

/* ---- the first pass --------------------------------------------------------------------------- */

/* Labels, each with the first row that has it: so that no class is missed by the rows that are drawn. */
typedef struct {
    char *label[LABEL_SLOTS];
    drawn_row row[LABEL_SLOTS];
    size_t count; /* above MOST_LABELS: these are no classes */
} label_set;

static drawn_row row_copy(const passes *p, size_t row) {
    size_t length;
    const char *from = csv_row(&p->part, row, &length);
    drawn_row r;
    r.line = copy_text(from, length), r.number = csv_line(&p->part, row), r.file = p->file;
    return r;
}

static size_t slot_of(const label_set *set, const char *label) {
    size_t at = rfm_crc32(0, label, strlen(label)) % LABEL_SLOTS;
    while (set->label[at] != NULL && strcmp(set->label[at], label) != 0) at = (at + 1) % LABEL_SLOTS;
    return at;
}

static void see_label(passes *p, label_set *set, size_t row) {
    const char *label;
    size_t at;
    if (p->targets > 1 || set->count > MOST_LABELS) return;
    label = csv_text(&p->part, row, p->target);
    at = slot_of(set, label);
    if (set->label[at] != NULL) return;
    set->label[at] = copy_text(label, strlen(label));
    set->row[at] = row_copy(p, row);
    set->count++;
}

static void describe(passes *p) {
    const csv *c = &p->part;
    size_t j;
    p->columns = c->columns, p->delimiter = c->delimiter;
    p->names = allocate(c->columns, sizeof *p->names, "names");
    for (j = 0; j < c->columns; j++) p->names[j] = copy_text(c->names[j], strlen(c->names[j]));
    p->targets = p->a->targets > 0 ? p->a->targets : 1;
    p->target = target_find(c, p->a->target, p->targets);
    if (p->columns < 2) fail("%s: 1 column, expected inputs and a target", c->file);
}

/* Reads all rows and draws some, each with the same chance. */
static size_t draw(passes *p, drawn_row *drawn, label_set *set) {
    uint32_t state = rfm_random_start((uint32_t)p->a->seed);
    size_t said = 0, i;
    go_back(p);
    while (next_part(p)) {
        row_list rows;
        size_t unknown;
        if (p->names == NULL) describe(p);
        rows = known_rows(p, &unknown);
        p->unknown += unknown;
        for (i = 0; i < rows.count; i++, p->rows++) {
            size_t to = p->rows < DRAWN_ROWS ? p->rows : rfm_random(&state) % (p->rows + 1);
            see_label(p, set, rows.at[i]);
            if (to >= DRAWN_ROWS) continue;
            free(drawn[to].line);
            drawn[to] = row_copy(p, rows.at[i]);
        }
        free(rows.at);
        if (p->rows / 1000000 > said) said = p->rows / 1000000, note("%zu million rows", said);
    }
    if (p->rows > UINT32_MAX) fail("%s: %zu rows, expected fewer than 2^32", p->a->operands[0], p->rows);
    return p->rows < DRAWN_ROWS ? p->rows : DRAWN_ROWS;
}

static int by_place(const void *a, const void *b) {
    const drawn_row *x = a, *y = b;
    return x->file != y->file ? (x->file < y->file ? -1 : 1) : x->number < y->number ? -1 : x->number > y->number;
}

/* First rows of labels come behind the drawn rows, unless they are among them. */
static size_t add_labels(drawn_row *drawn, size_t count, label_set *set) {
    size_t i, all = count;
    for (i = 0; i < LABEL_SLOTS; i++) {
        if (set->label[i] == NULL) continue;
        if (set->count <= MOST_LABELS && bsearch(&set->row[i], drawn, count, sizeof *drawn, by_place) == NULL)
            drawn[all++] = set->row[i];
        else
            free(set->row[i].line);
        free(set->label[i]);
    }
    return all;
}

/* The header and the rows as a table. */
static void table_of(const passes *p, drawn_row *drawn, size_t count, csv *table) {
    static const char *const names[] = {"the parts of the table"};
    text t = {NULL, 0, 0};
    size_t *lines = allocate(count, sizeof *lines, "rows"), i;
    for (i = 0; !p->a->no_header && i < p->columns; i++) {
        if (i > 0) text_bytes(&t, &p->delimiter, 1);
        csv_add(&t, p->names[i]);
    }
    if (!p->a->no_header) text_bytes(&t, "\n", 1);
    for (i = 0; i < count; i++) {
        text_add(&t, "%s\n", drawn[i].line);
        lines[i] = drawn[i].number;
        free(drawn[i].line);
    }
    text_bytes(&t, "", 1);
    csv_of_text(table, p->files > 1 ? names[0] : p->a->operands[0], !p->a->no_header, p->delimiter, t.at, t.size - 1,
                lines);
}

passes *passes_open(const call *a, csv *drawn) {
    passes *p = allocate(1, sizeof *p, "the table");
    label_set *set = allocate(1, sizeof *set, "labels");
    drawn_row *rows = allocate(DRAWN_ROWS + MOST_LABELS + 1, sizeof *rows, "a sample");
    size_t count;
    int method = method_given(a);
    if (a->split != NULL || a->coverage > 0 || a->balance || a->test_size != NULL || a->cv != SIZE_MAX)
        usage("tables in passes: expected none of --split, --test-size, --cv, --balance and --coverage; test rows: "
              "--test FILE");
    if ((method != METHOD_LARGE && method != METHOD_AUTO) || a->image_size != NULL || a->signal != NULL)
        usage("tables in passes: expected --method large, without --image and --signal");
    while (p->files < MOST_OPERANDS && a->operands[p->files] != NULL) p->files++;
    p->a = a;
    count = draw(p, rows, set);
    if (count < 5) fail("%s: %zu rows with a target, expected at least 5", a->operands[0], p->rows);
    qsort(rows, count, sizeof *rows, by_place);
    count = add_labels(rows, count, set);
    table_of(p, rows, count, drawn);
    free(rows);
    free(set);
    return p;
}

/* ---- rows as they are fitted ------------------------------------------------------------------ */

/* The rows of the next part that has any; 0: there are no more. */
static int fill_part(passes *p) {
    const passes_form *f = &p->form;
    int was_quiet = quiet;
    do {
        row_list rows;
        input_list inputs;
        size_t unknown, i;
        sample_free(&p->given);
        memset(&p->given, 0, sizeof p->given);
        free(p->w);
        p->w = NULL;
        if (!next_part(p)) return 0;
        rows = known_rows(p, &unknown);
        quiet = 1; /* all of it was said of the rows that were drawn */
        inputs = inputs_of_recipe(&p->part, f->recipe, f->knots, f->names, f->lesson->d);
        for (i = 0; f->form->classes == 0 && i < p->targets; i++)
            column_decode(&p->part, p->target + i, f->target_kinds[i]);
        p->given = sample_read(&p->part, inputs, p->target, f->form, rows,
                               offsets_copy(&f->lesson->moved, f->lesson->d, p->targets));
        quiet = was_quiet;
        (void)sample_impute(&p->given, f->lesson->d, f->fill);
        free(p->y);
        p->y = lesson_rows(f->lesson, &p->given);
        if (p->a->weights != NULL && rows.count > 0)
            p->w = column_weights(&p->part, csv_column(&p->part, p->a->weights), rows);
        p->at = 0;
        inputs_free(&inputs);
        free(rows.at);
        end_part(p);
    } while (p->given.rows == 0);
    return 1;
}

static size_t read_rows(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    passes *p = from;
    const lesson *l = p->form.lesson;
    size_t i;
    if (first == 0) {
        go_back(p);
        p->next = p->at = 0;
        sample_free(&p->given);
        memset(&p->given, 0, sizeof p->given);
    }
    if (first != p->next) return 0;
    for (i = 0; i < count; i++, p->at++) {
        if (p->at == p->given.rows && !fill_part(p)) return i;
        memcpy(x + i * l->d, p->given.x + p->at * l->d, l->d * sizeof *x);
        memcpy(y + i * l->c, p->y + p->at * l->c, l->c * sizeof *y);
        if (weights != NULL) weights[i] = p->w[p->at];
    }
    p->next = first + count;
    return count;
}

rfm_rows passes_rows(passes *p, const passes_form *form) {
    rfm_rows rows;
    memset(&rows, 0, sizeof rows);
    p->form = *form;
    rows.n = p->rows, rows.d = form->lesson->d, rows.c = form->lesson->c, rows.weighted = p->a->weights != NULL;
    rows.read = read_rows, rows.from = p;
    return rows;
}

size_t passes_known(const passes *p) { return p->rows; }
size_t passes_unknown(const passes *p) { return p->unknown; }
size_t passes_count(const passes *p) { return p->count; }

void passes_close(passes *p) {
    size_t j;
    go_back(p);
    for (j = 0; j < p->columns; j++) free(p->names[j]);
    free(p->names);
    sample_free(&p->given);
    free(p->y);
    free(p->w);
    free(p);
}

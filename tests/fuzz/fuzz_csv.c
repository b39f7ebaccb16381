/* libFuzzer's target for the command's CSV reader and for what it makes of a table: inputs, targets, classes, the rows
 * of a split.
 *
 * An input is one byte of options, one with the number of targets, and the file. The command ends when it refuses a
 * file; here fail() jumps back, and all memory that was allocated meanwhile is given back: csv.c, table.c and files.c
 * are compiled with these malloc and free. */
#include "knots.h"
#include "progress.h"
#include "table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "heap.h"

static jmp_buf refused;
static int inside;
static const unsigned char *file_bytes;
static size_t file_size;

/* ---- memory --------------------------------------------------------------------------------- */

enum { MOST_BLOCKS = 1 << 16 };
static void *blocks[MOST_BLOCKS];
static size_t block_count;

static void *remember(void *block) {
    require(block != NULL && block_count < MOST_BLOCKS, "memory");
    return blocks[block_count++] = block;
}

static void forget(void *block) {
    size_t i = block_count;

    while (i > 0 && blocks[i - 1] != block) i--;
    require(i > 0, "only what was allocated is freed");
    blocks[i - 1] = blocks[--block_count];
}

void *fuzz_calloc(size_t count, size_t size) { return remember(calloc(count, size)); }
void *fuzz_malloc(size_t size) { return remember(malloc(size)); }

void *fuzz_realloc(void *block, size_t size) {
    if (block != NULL) forget(block);
    return remember(realloc(block, size));
}

int fuzz_posix_memalign(void **to, size_t alignment, size_t size) {
    if (posix_memalign(to, alignment, size) != 0) return 1;
    (void)remember(*to);
    return 0;
}

void fuzz_free(void *block) {
    if (block == NULL) return;
    forget(block);
    free(block);
}

/* ---- the command's other parts -------------------------------------------------------------- */

int quiet = 1;

/* Every byte of a message is looked at. */
static void look(const char *format, va_list list) {
    char message[2000];

    require(vsnprintf(message, sizeof message, format, list) > 0, "a message");
}

void fail(const char *format, ...) {
    va_list list;

    require(inside, "a failure");
    va_start(list, format);
    look(format, list);
    va_end(list);
    longjmp(refused, 1);
}

void usage(const char *format, ...) {
    (void)format;
    longjmp(refused, 1);
}

void note(const char *format, ...) {
    va_list list;

    va_start(list, format);
    look(format, list);
    va_end(list);
}

void decided(const char *file, const char *format, ...) {
    va_list list;

    (void)file;
    va_start(list, format);
    look(format, list);
    va_end(list);
}

/* The bytes with a 0 behind them, as files.c has it, and nothing behind that. */
char *fuzz_file_read(const char *file, size_t *size) {
    char *at = fuzz_malloc(file_size + 1);

    (void)file;
    if (file_size > 0) memcpy(at, file_bytes, file_size);
    at[file_size] = 0;
    *size = file_size;
    return at;
}

/* ---- what is done with a table -------------------------------------------------------------- */

/* NA, N/A, null, None, ? and -, in any case. */
static int is_absent(const char *cell) {
    return strcasecmp(cell, "na") == 0 || strcasecmp(cell, "n/a") == 0 || strcasecmp(cell, "null") == 0 ||
           strcasecmp(cell, "none") == 0 || strcmp(cell, "?") == 0 || strcmp(cell, "-") == 0;
}

/* Numbers are what the C library makes of the same text, to the bit; what is not one is marked so. */
static void check_cell(csv *c, size_t row, size_t column) {
    const double value = c->values[row * c->columns + column];
    const int kind = csv_kind(value);
    const char *text_of = csv_text(c, row, column);
    char *end;
    const double expected = strtod(text_of, &end);

    if (kind == CSV_NUMBER)
        require(*text_of != 0 && *end == 0 && memcmp(&expected, &value, sizeof value) == 0,
                "a number is rounded correctly");
    if (kind == CSV_MISSING)
        require(*text_of == 0 || isnan(expected) || is_absent(text_of),
                "a missing cell is empty, NaN or a word for it");
    if (kind == CSV_HUGE) require(isinf((rfm_real)expected), "what is huge is infinite");
}

/* A field that is written is read back. */
static void check_written(const char *field) {
    text t = {NULL, 0, 0};
    csv c;
    const unsigned char *bytes = file_bytes;
    const size_t size = file_size;

    text_bytes(&t, "a,b\n", 4);
    csv_add(&t, field);
    text_bytes(&t, ",1\n", 3);
    file_bytes = (unsigned char *)t.at, file_size = t.size;
    csv_read(&c, "written", 1);
    require(c.rows == 1 && c.columns == 2 && strcmp(csv_text(&c, 0, 0), field) == 0,
            "a field that was written is read back");
    csv_free(&c);
    fuzz_free(t.at);
    file_bytes = bytes, file_size = size;
}

/* An exact copy, so that what is read behind it is seen, with bytes changed by those of the file. */
static unsigned char *spoiled(const char *from, size_t size) {
    unsigned char *copy = fuzz_malloc(size + 1);
    size_t i;

    copy = fuzz_realloc(copy, size > 0 ? size : 1);
    if (size > 0) memcpy(copy, from, size);
    for (i = 0; size > 0 && i + 1 < file_size && i < 8; i += 2) copy[file_bytes[i] * 7u % size] ^= file_bytes[i + 1];
    return copy;
}

/* A recipe and tables that are spoiled are refused, or used without harm: an input is between the ends of its table. */
static void spoil(const char *recipe, size_t bytes, const char *tables, size_t table_bytes, size_t count,
                  size_t targets) {
    const double probes[] = {-1e300, -1, -1e-310, 0, 1e-310, 0.5, 1e300};
    unsigned char *at = spoiled(tables, table_bytes), *other = spoiled(recipe, bytes);
    size_t i, k;

    if (recipe_right((char *)other, bytes, count, targets) &&
        knots_right((unsigned char *)tables, table_bytes, (char *)other, count)) {
        text shown = {NULL, 0, 0};
        for (i = 0; i < count; i++) recipe_show(&shown, (char *)other, (unsigned char *)tables, i);
        fuzz_free(shown.at);
    }
    if (!knots_right(at, table_bytes, recipe, count)) return;
    for (i = 0; i < count; i++) {
        const unsigned char *knots = knots_from(at, recipe, i);
        if (!has_knots(recipe_what(recipe, i))) continue;
        for (k = 0; k < sizeof probes / sizeof *probes; k++) {
            const double y = knots_value(knots, probes[k]);
            require(y >= knots_y(knots, 0) && y <= knots_y(knots, knots_count(knots) - 1), "an input of a table");
        }
    }
}

/* What training decides about the columns is found again by the recipe, in the same file. */
static void decide(csv *c, size_t target, size_t count, row_list rows, row_list train, unsigned options) {
    table_rules rules;
    left_out left;
    input_list made, again;
    int kinds[3] = {0, 0, 0};
    rfm_real *x, *other;
    char *recipe, *tables;
    size_t bytes, table_bytes;

    memset(&rules, 0, sizeof rules);
    rules.one_hot = options >> 1 & 1, rules.missing = (int)(options >> 6 & 1);
    if (rules.missing == MISSING_AUTO) { /* numbers as targets */
        (void)rows_known(c, &train, target, count);
        require(rows_known(c, &train, target, count) == 0, "rows are left out once");
        if (count == 1 && target_is_class(c, target, train)) rules.missing = MISSING_MEAN;
    }
    made = inputs_decide(c, target, count, train, &rules, &left);
    (void)inputs_change(c, &made, train, (int)(options >> 2 & 1) + 2 * (int)(options >> 4 & 1));
    recipe = recipe_write(c, &made, target, count, kinds, &bytes);
    require(recipe_right(recipe, bytes, made.count, count), "a recipe");
    require(!recipe_right(recipe, bytes - 1, made.count, count), "half a recipe");
    tables = knots_write(&made, &table_bytes);
    require(knots_right((unsigned char *)tables, table_bytes, recipe, made.count), "tables of knots");
    again = inputs_of_recipe(c, recipe, (unsigned char *)tables, made.names, made.count);
    x = allocate(rows.count * made.count, sizeof *x, "inputs");
    other = allocate(rows.count * made.count, sizeof *other, "inputs");
    inputs_fill(c, made, rows, 1, NULL, x);
    inputs_fill(c, again, rows, 1, NULL, other);
    require(memcmp(x, other, rows.count * made.count * sizeof *x) == 0, "inputs by the recipe");
    spoil(recipe, bytes, tables, table_bytes, made.count, count);
}

static void use(unsigned options, unsigned targets) {
    csv c;
    row_list rows, train;
    input_list inputs, named;
    unsigned char *use_rows;
    rfm_real *x, *y;
    size_t target, i, j, count, classes = 0;

    csv_read(&c, "file", options & 1);
    require(c.rows > 0 && c.columns > 0, "rows and columns");
    for (i = 0; i < c.rows; i++)
        for (j = 0; j < c.columns; j++) check_cell(&c, i, j);
    for (j = 0; j < c.columns; j++)
        require(strcmp(c.names[csv_column(&c, c.names[j])], c.names[j]) == 0, "a column by its name");
    if (options & 16) check_written(csv_text(&c, c.rows - 1, c.columns - 1));
    use_rows = split_read(NULL, &c, USE_TRAIN);
    rows = rows_of(&c, use_rows, USE_TRAIN);
    train = rows_of(&c, use_rows, USE_TRAIN);
    require(rows.count == c.rows, "all rows");
    rows_draw(&train, train.count / 2 + 1, targets);
    require(train.count <= c.rows && train.count == c.rows / 2 + 1, "drawn rows");
    count = 1 + targets % 3;
    target = target_find(&c, options & 8 ? c.names[0] : NULL, count);
    if (options & 32) {
        decide(&c, target, count, rows, train, options);
        csv_free(&c);
        return;
    }
    inputs = inputs_of_file(&c, target, count, train, options >> 1 & 1);
    named = inputs_of_names(&c, inputs.names, inputs.count);
    require(named.count == inputs.count, "inputs by their names");
    (void)target_guess(&c, inputs);
    x = allocate(rows.count * inputs.count, sizeof *x, "inputs");
    if (count == 1 && target_is_class(&c, target, train)) {
        char *names = classes_find(&c, target, train, &classes);
        uint32_t *class_of = classes_of(&c, target, rows, names, classes);

        for (i = 0; i < rows.count; i++) require(class_of[i] < classes || class_of[i] == CLASS_UNKNOWN, "a class");
        fuzz_free(class_of);
        fuzz_free(names);
    } else {
        y = allocate(rows.count * count, sizeof *y, "targets");
        targets_fill(&c, target, count, rows, NULL, y);
        require(rfm_finite(rows.count * count, y), "targets are finite");
        fuzz_free(y);
    }
    inputs_fill(&c, inputs, rows, options >> 2 & 1, NULL, x);
    require(options & 4 || rfm_finite(rows.count * inputs.count, x), "inputs are finite");
    inputs_fill(&c, named, rows, 1, NULL, x);
    csv_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (size < 2) return 0;
    file_bytes = bytes + 2, file_size = size - 2;
    inside = 1;
    if (setjmp(refused) == 0) use(bytes[0], bytes[1]);
    inside = 0;
    while (block_count > 0) free(blocks[--block_count]);
    if (setjmp(refused) == 0) { /* the lines of a split for a table of as many rows */
        csv c;

        memset(&c, 0, sizeof c);
        c.file = "file", c.rows = 1 + bytes[0];
        file_bytes = bytes, file_size = size;
        inside = 1;
        (void)split_read("split", &c, USE_NONE);
    }
    inside = 0;
    while (block_count > 0) free(blocks[--block_count]);
    return 0;
}

size_t target_seed(size_t index, unsigned char *to) {
    static const char *const files[] = {
        "a,b,target\n1,2,yes\n3.5,-4e-3,no\n1e10,.5,yes\n",
        "\xef\xbb\xbfx;y;z\r\n1;\"2\";\"a\"\"b\"\r\n\" 3 \";4.000000000000000000001;c\r\n",
        "1\t2\t0\n3\t4\t1\n5\t6\t2\n",
        "a,b,c\n1,nan,3\n,inf,1e999\n-0,16777217,3.4028235e38\n",
        "a,a,b=c\n1,2,-1\n1.17549435e-38,7e-46,1\n",
        "name,value,y1,y2\n\"line\nbreak\",1,2,3\nother,4,5,6\n",
        "0\n1\n2\n1\n",
        "d,c,b,y\n2024-02-30,red,true,1\n31.12.2023,blue,no,2\n1/2/2024,,TRUE,\n2024-01-31T12:30:05.5+01:00,NA,-,4\n",
        "a;b;y\n1,5;1.234,5;0\n-2,25;x;1\n3;7;0\n",
        "n\xf6,y\n\x80,a\nb,c\n",
        "a,b\n0.1,1\n0.30000000000000004,2\n12345678901234567890123,3\n0.0000000000000000000000000000000001,4\n",
    };
    static const unsigned char flags[] = {1, 0, 7, 31, 33, 97};
    const size_t count = sizeof files / sizeof files[0];
    size_t size;

    if (index >= sizeof flags * count) return 0;
    size = strlen(files[index % count]);
    to[0] = flags[index / count];
    to[1] = (unsigned char)(index % 3);
    memcpy(to + 2, files[index % count], size);
    return size + 2;
}

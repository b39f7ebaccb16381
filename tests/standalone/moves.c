/* Moves inside of the certificates of a standalone header: none may change the class.
 *
 *     moves MODEL.rfm ROWS.csv MOVES SEED [STRETCH]
 *
 * Compiled with the header model.h of MODEL.rfm (rfm export --standalone --certify --name model) and with the library;
 * KIND as in check.h. The certificate of a row has to be the library's. At every x' inside of it the header and the
 * library have to give the class of x. Moves are: single inputs, as far as they may; random directions; towards rows of
 * other classes, to the last point that is still inside. STRETCH: the radius is taken that many times as large as it
 * is; then classes do change. Prints how many moves were inside and how many rows had a radius; the exit status is 1
 * after a move that changed a class. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rfm_certify.h"
#include "rfm_tiny.h"

#include "model.h"

#define D    MODEL_INPUTS
#define R    MODEL_RANK
#define C    MODEL_OUTPUTS
#define MOST 4096 /* rows */

#if KIND == 2
typedef float input;
#else
typedef int16_t input;
#endif

static float table[MOST][D];
static input rows[MOST][D];
static size_t row_count;
static uint32_t state;
static double stretch = 1;

static void fail(const char *why) {
    fprintf(stderr, "moves: %s\n", why);
    exit(2);
}

static double uniform(void) { return (double)(rfm_random(&state) >> 8) / (1 << 24); }

/* ---- the library ---------------------------------------------------------------------------- */

#if KIND == 0
static rfm_tiny library;
static int32_t scores[C];
static int8_t scratch[R];
static int64_t room[RFM_TINY_CERTIFY_ROOM(R, C)];
#elif KIND == 1
static rfm_model_i library;
static int32_t scores[C];
static int16_t scratch[RFM_PREDICT_I_SCRATCH(D, R)];
static int64_t room[RFM_CERTIFY_I_ROOM(R, C)];
#else
static rfm_model library;
static float scores[C], scratch[RFM_CERTIFY_SCRATCH(D, R, C)];
#endif

/* The blob is never freed. */
static void open_model(const char *file) {
    FILE *f = fopen(file, "rb");
    static union {
        unsigned char bytes[1 << 22];
        double aligned[2];
    } blob;
    unsigned char *at = blob.bytes + (16 - (uintptr_t)blob.bytes % 16) % 16;
    size_t size;
    if (f == NULL) fail("no model");
    size = fread(at, 1, sizeof blob - 16, f);
    fclose(f);
#if KIND == 0
    if (rfm_tiny_open(at, size, &library) != RFM_OK) fail("not opened");
#elif KIND == 1
    if (rfm_model_open_i(at, size, &library) != RFM_OK) fail("not opened");
#else
    if (rfm_model_open(at, size, &library) != RFM_OK) fail("not opened");
#endif
    if (library.d != D || library.r != R || library.c != C) fail("another model");
}

static size_t library_class(const input *x) {
#if KIND == 0
    if (rfm_tiny_predict(&library, x, scores, scratch, NULL) != RFM_OK) fail("predict");
    return rfm_tiny_class(&library, scores);
#elif KIND == 1
    if (rfm_predict_i(&library, x, scores, scratch, NULL, NULL) != RFM_OK) fail("predict");
    return rfm_class_i(&library, scores);
#else
    if (rfm_predict_one(&library, x, scores, scratch, NULL, NULL) != RFM_OK) fail("predict");
    return rfm_class(&library, scores, NULL);
#endif
}

/* ---- a certificate -------------------------------------------------------------------------- */

typedef struct {
    size_t class_at;
    double radius;
    double moves[D];
#if KIND == 0
    uint8_t z[R];
#elif KIND == 1
    int16_t z[R];
#endif
} certificate;

/* The header's, which is the library's. */
static void certify(const input *x, certificate *t) {
    size_t k, j;
#if KIND == 2
    static float radius, theirs, moves[D], their_moves[D];
    t->class_at = model_certify(x, &radius);
    model_moves(radius, moves);
    if (rfm_certify(&library, x, scores, scratch, &k, &theirs, their_moves) != RFM_OK) fail("rfm_certify");
    if (radius != theirs) fail("the library has another radius");
    t->radius = (double)radius;
#else
    static uint16_t moves[D], their_moves[D];
    uint32_t square, theirs;
    t->class_at = model_certify(x, &square);
    model_moves(x, square, moves);
#if KIND == 0
    if (rfm_tiny_certify(&library, x, scores, scratch, room, &k, &theirs, their_moves) != RFM_OK) fail("certify");
#else
    if (rfm_certify_i(&library, x, scores, scratch, room, &k, &theirs, their_moves) != RFM_OK) fail("certify");
#endif
    if (square != theirs) fail("the library has another square");
    t->radius = sqrt(square);
    model_project(x, t->z);
#endif
    if (k != t->class_at || k != model_classify(x)) fail("the library has another class");
    for (j = 0; j < D; j++) {
        if (moves[j] != their_moves[j]) fail("the library has other moves");
        t->moves[j] = (double)moves[j];
    }
}

/* |P (y - x)|, of integers |z' - z| as it is rounded. */
static double length(const certificate *t, const input *x, const input *y) {
    double sum = 0, part;
    size_t i;
#if KIND == 2
    size_t j;
    (void)t;
    for (i = 0; i < R; i++) {
        part = 0;
        if (library.metric == RFM_FULL)
            for (j = 0; j < D; j++) part += (double)library.p[i * D + j] * ((double)y[j] - (double)x[j]);
        else
            part = (library.p != NULL ? (double)library.p[i] : 1) * ((double)y[i] - (double)x[i]);
        sum += part * part;
    }
#else
#if KIND == 0
    uint8_t z[R];
#else
    int16_t z[R];
#endif
    (void)x;
    model_project(y, z);
    for (i = 0; i < R; i++) part = (double)z[i] - (double)t->z[i], sum += part * part;
#endif
    return sqrt(sum);
}

static int inside(const certificate *t, const input *x, const input *y) {
#if KIND == 2
    /* A full metric: not farther along what P hardly sees than rfm_certify.h has it. */
    double moved = 0, seen = 0;
    size_t i, j;
    for (i = 0; library.metric == RFM_FULL && i < R; i++) {
        double one = 0, two = 0;
        for (j = 0; j < D; j++) {
            double p = fabs((double)library.p[i * D + j]);
            one += p * fabs((double)y[j] - (double)x[j]), two += p * fabs((double)x[j] - (double)library.shift[j]);
        }
        moved += one * one, seen += two * two;
    }
    if (sqrt(moved) > sqrt(seen) + 16 * t->radius) return 0;
#endif
    return length(t, x, y) <= stretch * t->radius;
}

/* x + size direction, as an input can be. */
static void move_along(const input *x, const double *direction, double size, input *y) {
    size_t j;
    for (j = 0; j < D; j++) {
        double v = (double)x[j] + size * direction[j];
#if KIND == 2
        y[j] = (float)v;
#else
        y[j] = (int16_t)floor(fmin(32767, fmax(-32768, v)) + 0.5);
#endif
    }
}

/* ---- moves ---------------------------------------------------------------------------------- */

static size_t inside_count, changed;

/* Counts a move that is inside, and what it changes. */
static int try_move(const certificate *t, const input *x, const input *y) {
    if (!inside(t, x, y)) return 0;
    inside_count++;
    changed += model_classify(y) != t->class_at || library_class(y) != t->class_at;
    return 1;
}

/* The farthest point in a direction that is inside, by halving; then a random one on the way. */
static void try_direction(const certificate *t, const input *x, const double *direction, double size) {
    double low = 0, high = size;
    input y[D];
    int i;
    for (i = 0; i < 40; i++) {
        move_along(x, direction, high, y);
        if (!inside(t, x, y)) break;
        high *= 2;
    }
    for (i = 0; i < 16; i++) {
        double middle = (low + high) / 2;
        move_along(x, direction, middle, y);
        if (inside(t, x, y))
            low = middle;
        else
            high = middle;
    }
    move_along(x, direction, low, y);
    (void)try_move(t, x, y);
    for (i = 0; i < 14; i++) {
        move_along(x, direction, low * sqrt(uniform()), y);
        (void)try_move(t, x, y);
    }
}

static void try_row(size_t at, size_t wanted) {
    const input *x = rows[at];
    const size_t end = inside_count + wanted;
    certificate t;
    double direction[D];
    input y[D];
    size_t j, which = 0, other;
    certify(x, &t);
    if (t.class_at != library_class(x)) fail("the library has another class");
    for (which = 0; inside_count < end && which < 20 * wanted; which++) {
        switch (which % 4) {
        case 0: /* one input, to its end and beside it */
            j = rfm_random(&state) % D;
            memcpy(y, x, sizeof y);
            for (other = 0; other < D; other++) direction[other] = 0;
            direction[j] = uniform() < 0.5 ? -1 : 1;
            if (stretch == 1 && t.moves[j] < 60000) {
                move_along(x, direction, t.moves[j] * (1 - 1e-6), y);
                if (!try_move(&t, x, y) && KIND != 2) fail("a single move is outside");
            }
            break;
        case 1: /* a row of another class */
            do other = rfm_random(&state) % row_count;
            while (model_classify(rows[other]) == t.class_at);
            for (j = 0; j < D; j++) direction[j] = (double)rows[other][j] - (double)x[j];
            break;
        case 2: /* some inputs, by shares of what each may */
            for (j = 0; j < D; j++)
                direction[j] = rfm_random(&state) % 3 == 0 ? (2 * uniform() - 1) * fmin(t.moves[j] + 1e-3, 1000) : 0;
            break;
        default: /* all */
            for (j = 0; j < D; j++) direction[j] = (2 * uniform() - 1) * fmin(t.moves[j] + 1e-3, 1000);
        }
        try_direction(&t, x, direction, which % 4 == 1 ? 0.01 : 1);
    }
}

static void read_rows(const char *file) {
    FILE *f = fopen(file, "r");
    static char line[65536];
    if (f == NULL || fgets(line, sizeof line, f) == NULL) fail("no rows");
    while (row_count < MOST && fgets(line, sizeof line, f) != NULL) {
        char *at = line;
        size_t j;
        for (j = 0; j < D; j++, at++) table[row_count][j] = (float)strtod(at, &at);
#if KIND == 2
        memcpy(rows[row_count], table[row_count], sizeof rows[0]);
#else
        model_integers(table[row_count], rows[row_count]);
#endif
        row_count++;
    }
    fclose(f);
}

int main(int argc, char **argv) {
    size_t moves, i, used = 50, with_radius = 0;
    if (argc < 5) fail("MODEL.rfm ROWS.csv MOVES SEED [STRETCH]");
    open_model(argv[1]);
    read_rows(argv[2]);
    moves = strtoul(argv[3], NULL, 10);
    state = rfm_random_start((uint32_t)strtoul(argv[4], NULL, 10));
    if (argc > 5) stretch = strtod(argv[5], NULL);
    for (i = 0; with_radius < used && i < row_count; i++) {
        size_t at = i * 7919 % row_count;
        certificate t;
        certify(rows[at], &t);
        if (!(t.radius > 0)) continue;
        with_radius++;
        try_row(at, moves / used + 1);
    }
    printf("%zu moves inside, %zu of %zu rows have a radius, %zu changed the class\n", inside_count, with_radius, i,
           changed);
    if (inside_count < moves) fail("too few moves");
    return changed != 0;
}

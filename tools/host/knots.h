/* Inputs that a table of knots makes of a column: clipped columns, and ranks.
 *
 * A table is f64: how many knots, k, then x_1 < ... < x_k, then y_1 <= ... <= y_k. An input is y_i at x_i, straight
 * between two knots and constant outside. Tables lie one behind the other, at any address, as tag 23 of rfm/FORMAT.md
 * has them: one for each input of a recipe that has one. */
#ifndef KNOTS_H
#define KNOTS_H

#include "table.h"

#define MOST_KNOTS 64

/* How the numbers of a table become inputs: --inputs. */
#define WAY_STANDARD 0 /* as they are */
#define WAY_CLIPPED  1 /* between two quantiles */
#define WAY_RANKS    2 /* by their ranks among the training rows */
#define WAY_BOTH     3 /* as they are, and their ranks beside them */
#define WAYS         4

extern const char *const way_words[]; /* these, then auto; the last is NULL */

int has_knots(int what); /* of an INPUT_... */

/* Changes these inputs by the numbers of these rows; returns how many columns it changed. Columns of two values stay,
 * and so does one whose new name another column has. */
size_t inputs_change(csv *c, input_list *inputs, row_list rows, int way);

/* The input at x; NaN at NaN. */
double knots_value(const unsigned char *knots, double x);

size_t knots_count(const unsigned char *knots);
double knots_x(const unsigned char *knots, size_t i);
double knots_y(const unsigned char *knots, size_t i);
const unsigned char *knots_next(const unsigned char *knots); /* the table behind it */

/* The tables of a list of inputs, to be freed; NULL: there are none. */
char *knots_write(const input_list *inputs, size_t *bytes);

/* 1 if these bytes are tables for a right recipe of so many inputs; of a recipe without any, NULL and 0. */
int knots_right(const unsigned char *knots, size_t bytes, const char *recipe, size_t count);

/* The tables of input i of a recipe and of those behind it. */
const unsigned char *knots_from(const unsigned char *knots, const char *recipe, size_t i);

/* Those of the kept inputs (`count`, NULL: all) of `all`, as recipe_keep. To be freed. */
char *knots_keep(const unsigned char *knots, const char *recipe, const size_t *kept, size_t count, size_t all,
                 size_t *bytes);

/* source (count): which number each input is made of. Inputs of one column's number share it; what is made of texts and
 * dates is a number of its own. Returns how many numbers there are. */
size_t recipe_sources(const char *recipe, size_t count, size_t *source);

#endif

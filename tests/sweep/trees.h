/* Trees of leaf machines, fits in passes: parts of the program, on problems of fits.h. */
#ifndef TREES_H
#define TREES_H

#include "fits.h"

void tree_case(size_t number);
void large_case(size_t number);

/* Of a drawn problem; plain: it was drawn so, and values are compared. */
void check_tree(fitting *f, int plain);

/* One function of rfm_large on a fitted model: number % LARGE_FUNCTIONS. */
#define LARGE_FUNCTIONS 4
void check_large(fitting *f, size_t number);

#endif

/* What signal.c and window.c share: lines of numbers, and the stack of a call, which only boards have. MEASURE_empty: a
 * program that does nothing. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#if defined MEASURE_empty
int main(void);
int main(void) { return 0; }
#elif defined BOARD_BARE
#include "measure.h"
#else
#include <stdio.h>
#define PAINT_STACK()     (void)word, (void)top
#define PRINT_STACK(name) (void)0
static void print_number(const char *name, size_t value) { printf("%s %zu\n", name, value); }
#endif

#endif

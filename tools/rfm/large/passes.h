/* Tables that are read in passes, a part at a time: CSVs larger than memory, and several files that are parts of one
 * table. The first pass draws rows. What is decided about a table is decided by these, and holds for all. */
#ifndef PASSES_H
#define PASSES_H

#include "../command.h"
#include "../learn/learn.h"

#include "rfm_large.h"

typedef struct passes passes;

/* 1: several files, --in-passes, or a file that is large beside this machine's memory. */
int passes_wanted(const call *a);

/* The first pass over the files of the call. *drawn is a table of rows with a target, each drawn with the same chance,
 * and one row of each label that these lack, if there are few labels. */
passes *passes_open(const call *a, csv *drawn);
void passes_close(passes *p);

size_t passes_known(const passes *p);   /* rows with a target */
size_t passes_unknown(const passes *p); /* rows without */
size_t passes_count(const passes *p);   /* how often the table was read */

/* How a row is made for the fit. */
typedef struct {
    const char *recipe, *names; /* of the inputs: table.h */
    const unsigned char *knots; /* knots.h */
    const sample_form *form;
    const int *target_kinds; /* (targets) COLUMN_... */
    const rfm_real *fill;    /* (d) what missing cells become */
    const lesson *lesson;    /* its scales and offsets */
} passes_form;

/* All rows, for rfm_large.h: in order, and from the first row on. */
rfm_rows passes_rows(passes *p, const passes_form *form);

#endif

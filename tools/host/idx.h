/* IDX files, as MNIST has them: bytes of images, and bytes of labels beside them. */
#ifndef IDX_H
#define IDX_H

#include "text.h"

/* --labels: the labels of the next images that are read. NULL: a file beside them whose name has labels for images and
 * idx1 for idx3, if it is there. */
extern const char *idx_labels;

/* 1 if the bytes begin as an IDX file does. */
int idx_begins(const char *bytes, size_t size);

/* The images as a table with a row for each of them: the text of a CSV file. Pixels are columns p1, p2, ..., in the
 * order of the file; the label is the column target behind them. *labelled: 0 if there are no labels. */
text idx_table(const char *file, const char *bytes, size_t size, int header, int *labelled);

#endif

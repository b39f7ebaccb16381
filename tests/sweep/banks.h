/* Kernels of patches, ConvRFM, banks of filters: parts of the program. Scales are those of draw_scale. */
#ifndef BANKS_H
#define BANKS_H

#include "sweep.h"

void conv_case(size_t number);
void filters_case(size_t number);

#endif

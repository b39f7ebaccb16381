/* Samples of sensors to features: a part of the program. The scale is that of draw_scale. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "sweep.h"

void signal_case(size_t number);

#endif

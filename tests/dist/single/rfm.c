#define RFM_IMPLEMENTATION
#include "rfm-single.h"

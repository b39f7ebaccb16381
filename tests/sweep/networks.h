/* Networks, tiny models, certificates: parts of the program. Scales are those of draw_scale. */
#ifndef NETWORKS_H
#define NETWORKS_H

#include "fits.h"

void hyperbf_case(size_t number);
void tiny_case(size_t number);
void certify_case(size_t number);

/* Moves within the certificate of one row of a model's data. */
void check_certificate(fitting *f);

#endif

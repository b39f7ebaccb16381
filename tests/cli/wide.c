/* A model with many inputs and a metric of rank 1: wide INPUTS FILE. It is small; its M would be INPUTS squared. */
#include "rfm.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    size_t d = argc == 3 ? strtoul(argv[1], NULL, 10) : 0, i, bytes = 0;
    rfm_real *p = calloc(2 * d + 1, sizeof *p), centers[2] = {0, 1}, alpha[2] = {1, -1};
    rfm_model m = {0};
    rfm_contents parts = {0};
    void *blob = NULL;
    FILE *out = argc == 3 ? fopen(argv[2], "wb") : NULL;
    if (p == NULL || out == NULL) return 1;
    for (i = 0; i < d; i++) p[i] = (rfm_real)(i % 100 == 7 ? 2 : 1);
    m.n = 2, m.d = d, m.c = 1, m.r = 1, m.kernel = RFM_LAPLACE, m.metric = RFM_FULL, m.bandwidth = 1;
    m.shift = p + d, m.p = p, m.centers = centers, m.alpha = alpha;
    parts.model = &m, parts.task = RFM_REGRESS;
    if (rfm_model_size(&parts, &bytes) != RFM_OK || posix_memalign(&blob, RFM_ALIGN, bytes) != 0) return 2;
    if (rfm_model_write(&parts, blob, bytes) != RFM_OK || fwrite(blob, 1, bytes, out) != bytes) return 3;
    return fclose(out) != 0;
}

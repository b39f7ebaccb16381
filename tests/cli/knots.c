/* A model with another number in its tables of knots: knots MODEL TO PLACE NUMBER. The checksum is right again. */
#include "rfm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    static double aligned[1 << 17];
    unsigned char *blob = (unsigned char *)aligned;
    FILE *in = argc == 5 ? fopen(argv[1], "rb") : NULL, *out = argc == 5 ? fopen(argv[2], "wb") : NULL;
    size_t size, bytes = 0, found = 0, place;
    const void *record;
    const unsigned char *tables;
    double number;
    if (in == NULL || out == NULL) return 1;
    size = fread(blob, 1, sizeof aligned, in);
    record = rfm_record_open(blob, size, &bytes);
    if (record == NULL) return 2;
    tables = rfm_record_find(record, bytes, RFM_RECORD_KNOTS, &found);
    place = strtoul(argv[3], NULL, 10), number = strtod(argv[4], NULL);
    if (tables == NULL || place >= found / sizeof number) return 3;
    if (strcmp(argv[4], "same") != 0)
        memcpy(blob + (size_t)(tables - blob) + place * sizeof number, &number, sizeof number);
    rfm_put_u32(blob + 4, rfm_crc32(0, blob + 8, size - 8));
    if (fwrite(blob, 1, size, out) != size) return 4;
    return fclose(out) != 0;
}

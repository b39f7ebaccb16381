/* In the record of a mean of models the first two exchange how many times they count: shares FROM TO. What the mean
 * predicts stays, for that is in the models themselves. */
#include "rfm_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL, *out = argc == 3 ? fopen(argv[2], "wb") : NULL;
    size_t size, room = 1 << 24, record_bytes = 0, bytes = 0;
    const unsigned char *record, *found;
    unsigned char *blob, *at, first[8];
    uint32_t crc, i;
    void *memory = NULL;
    if (in == NULL || out == NULL || posix_memalign(&memory, RFM_ALIGN, room) != 0) return 1;
    blob = memory;
    size = fread(blob, 1, room, in);
    record = rfm_tree_record(blob, size, &record_bytes);
    found = record != NULL ? rfm_record_find(record, record_bytes, RFM_RECORD_SHARES, &bytes) : NULL;
    if (found == NULL || bytes < 16) return 2;
    at = blob + (found - blob);
    memcpy(first, at, 8), memcpy(at, at + 8, 8), memcpy(at + 8, first, 8);
    crc = rfm_crc32(0, blob + 8, size - 8);
    for (i = 0; i < 4; i++) blob[4 + i] = (unsigned char)(crc >> 8 * i);
    return fwrite(blob, 1, size, out) != size || fclose(out) != 0;
}

/* Writes a model of format 1.0, which has no record: old FILE */
#include "../unit/old_models.h"

#include <stdio.h>

int main(int argc, char **argv) {
    FILE *out = argc == 2 ? fopen(argv[1], "wb") : NULL;
    if (out == NULL || fwrite(f32_full, 1, sizeof f32_full, out) != sizeof f32_full) return 1;
    return fclose(out) != 0;
}

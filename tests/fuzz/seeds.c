/* Linked to every target of libFuzzer: TARGET --seeds FOLDER writes the inputs to start from, one file each, and
 * ends. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    static unsigned char bytes[FUZZ_LARGEST];
    char name[1024];
    size_t i, size;

    if (*argc != 3 || strcmp((*argv)[1], "--seeds") != 0) return 0;
    for (i = 0; (size = target_seed(i, bytes)) > 0; i++) {
        FILE *file;
        int ok;

        snprintf(name, sizeof name, "%s/seed%u", (*argv)[2], (unsigned)i);
        file = fopen(name, "wb");
        ok = file != NULL && fwrite(bytes, 1, size, file) == size;
        if (file != NULL) ok = fclose(file) == 0 && ok;
        if (!ok) {
            fprintf(stderr, "cannot write %s\n", name);
            exit(1);
        }
    }
    exit(0);
}

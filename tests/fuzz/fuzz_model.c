/* libFuzzer's harness for rfm_model_open and rfm_model_open_i: clang -fsanitize=fuzzer,address,undefined. The bytes as
 * they are, and then with a right length and checksum, which no random change would hit. */
#include "fuzz.h"

#include <string.h>

size_t target_seed(size_t index, unsigned char *to) { return fuzz_seed(index, to); }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    unsigned char sealed[FUZZ_LARGEST];

    fuzz_use(bytes, size, 0);
    if (size > sizeof sealed) size = sizeof sealed;
    if (size > 0) memcpy(sealed, bytes, size);
    fuzz_seal(sealed, size);
    fuzz_use(sealed, size, 0);
    return 0;
}

/* A model as a program of its own may write it, without names for its inputs: nameless MODEL.rfm OUT.rfm */
#include "host/host.h"
#include "rfm/compress/compress.h"

#include <string.h>

int main(int argc, char **argv) {
    any_model model;
    extras e;
    char *blob;
    void *other;
    size_t size, bytes;
    if (argc != 3) return 2;
    any_read(argv[1], &blob, &size, &model);
    memset(&e, 0, sizeof e);
    e.class_names = model.numbers.class_names;
    other = small_blob(&model, &e, &bytes);
    file_write(argv[2], other, bytes);
    return 0;
}

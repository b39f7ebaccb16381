/* A model as a program of its own may write it, without names for its inputs: nameless MODEL.rfm OUT.rfm [COVERAGE]
 * With a coverage its record has that, and a threshold of 0.5. */
#include "host/host.h"
#include "rfm/compress/compress.h"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    any_model model;
    extras e;
    char *blob;
    void *other;
    size_t size, bytes;
    text record = {NULL, 0, 0};
    double conformal[2];
    if (argc != 3 && argc != 4) return 2;
    any_read(argv[1], &blob, &size, &model);
    memset(&e, 0, sizeof e);
    e.class_names = model.numbers.class_names;
    if (argc == 4) {
        conformal[0] = strtod(argv[3], NULL), conformal[1] = 0.5;
        record_add_numbers(&record, RFM_RECORD_CONFORMAL, conformal, 2);
        e.record = record.at, e.record_bytes = record.size;
    }
    other = small_blob(&model, &e, &bytes);
    file_write(argv[2], other, bytes);
    return 0;
}

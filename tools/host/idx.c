#include "idx.h"

#include "files.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TYPE_UBYTE 8
#define MOST_SIDES 4 /* images, channels, rows, columns */

const char *idx_labels;

/* The head: 0, 0, the type, the number of sides, then each side as a big-endian number of 4 bytes. */
typedef struct {
    size_t sides, side[MOST_SIDES];
    const unsigned char *values;
    size_t count; /* of values for each of side[0] */
} idx;

int idx_begins(const char *bytes, size_t size) {
    return size >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] >= 8 && bytes[2] <= 14 && bytes[3] > 0;
}

/* what: images, or labels. */
static idx idx_open(const char *file, const char *bytes, size_t size, const char *what) {
    const unsigned char *at = (const unsigned char *)bytes;
    int labels = strcmp(what, "labels") == 0;
    size_t i, left;
    idx x;
    memset(&x, 0, sizeof x);
    if (size >= 2 && at[0] == 0x1f && at[1] == 0x8b)
        fail("%s: compressed by gzip, expected an IDX file; gunzip it first", file);
    if (!idx_begins(bytes, size)) fail("%s: expected an IDX file of %s, found other bytes", file, what);
    if (at[2] != TYPE_UBYTE)
        fail("%s: IDX numbers of type 0x%02x, expected 0x08: a byte for each", file, (unsigned)at[2]);
    x.sides = at[3];
    if (labels && x.sides != 1) fail("%s: IDX with %zu sides, expected labels, which have 1", file, x.sides);
    if (!labels && (x.sides < 2 || x.sides > MOST_SIDES))
        fail("%s: IDX with %zu side%s, expected images, which have 2 to %d%s", file, x.sides, x.sides == 1 ? "" : "s",
             MOST_SIDES, x.sides == 1 ? "; labels come by --labels" : "");
    if (size < 4 + 4 * x.sides) fail("%s: ends in its head: %zu bytes, expected %zu", file, size, 4 + 4 * x.sides);
    left = size - 4 - 4 * x.sides, x.values = at + 4 + 4 * x.sides, x.count = 1;
    for (i = 0; i < x.sides; i++) {
        const unsigned char *s = at + 4 + 4 * i;
        x.side[i] = (size_t)s[0] << 24 | (size_t)s[1] << 16 | (size_t)s[2] << 8 | s[3];
        if (x.side[i] == 0) fail("%s: side %zu is 0, expected at least 1", file, i + 1);
        if (i > 0 && x.side[i] > UINT32_MAX / x.count) fail("%s: images too large", file);
        if (i > 0) x.count *= x.side[i];
    }
    if (left / x.count < x.side[0])
        fail("%s: truncated: %zu whole %s, its head says %zu", file, left / x.count, what, x.side[0]);
    if (left > x.side[0] * x.count)
        fail("%s: %zu bytes more than the %zu %s that its head says", file, left - x.side[0] * x.count, x.side[0],
             what);
    return x;
}

/* The last `from` in a name becomes `to`, which is as long. */
static int rename_part(char *name, const char *from, const char *to) {
    char *at = NULL, *next = name;
    while ((next = strstr(next, from)) != NULL) at = next++;
    if (at == NULL) return 0;
    memcpy(at, to, strlen(to));
    return 1;
}

/* To be freed; NULL: there is no such file. */
static char *labels_beside(const char *file) {
    char *name = copy_text(file, strlen(file)), *slash = strrchr(name, '/');
    char *base = slash != NULL ? slash + 1 : name;
    if (rename_part(base, "images", "labels")) {
        (void)rename_part(base, "idx3", "idx1");
        if (access(name, R_OK) == 0) return name;
    }
    free(name);
    return NULL;
}

text idx_table(const char *file, const char *bytes, size_t size, int header, int *labelled) {
    idx images = idx_open(file, bytes, size, "images"), labels;
    char *beside = idx_labels != NULL ? copy_text(idx_labels, strlen(idx_labels)) : labels_beside(file), *label = NULL;
    char number[256][8];
    size_t i, j, label_size;
    text t = {NULL, 0, 0};
    memset(&labels, 0, sizeof labels);
    idx_labels = NULL;
    *labelled = beside != NULL;
    if (beside != NULL) {
        label = file_read(beside, &label_size);
        labels = idx_open(beside, label, label_size, "labels");
        if (labels.side[0] != images.side[0])
            fail("%s: %zu labels, expected %zu: one for each image of %s", beside, labels.side[0], images.side[0],
                 file);
    }
    for (i = 0; i < 256; i++) snprintf(number[i], sizeof number[i], "%zu,", i);
    for (j = 0; header && j < images.count; j++) text_add(&t, "p%zu,", j + 1);
    if (header) text_add(&t, "target\n");
    if (header && !*labelled) t.size -= 8, text_add(&t, "\n");
    for (i = 0; i < images.side[0]; i++) {
        const unsigned char *pixel = images.values + i * images.count;
        for (j = 0; j < images.count; j++) text_bytes(&t, number[pixel[j]], strlen(number[pixel[j]]));
        if (*labelled)
            text_add(&t, "%u\n", (unsigned)labels.values[i]);
        else
            t.at[t.size - 1] = '\n';
    }
    free(beside);
    free(label);
    return t;
}

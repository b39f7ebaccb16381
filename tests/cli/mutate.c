/* Spoiled copies of a file: mutate FILE SEED COUNT PREFIX writes PREFIX0 .. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long state;

static unsigned long next(unsigned long below) {
    state = (state * 1103515245ul + 12345ul) & 0x7ffffffful;
    return (state >> 8) % below;
}

int main(int argc, char **argv) {
    static const char *const pieces[] = {"\"",    "\"\"", ",", ";", "\t",           "\n", "\r\n", "\r", "nan",
                                         "1e999", "-",    "e", ".", "\xef\xbb\xbf", " ",  "\n\n", "0",  "a"};
    static char original[1 << 16], copy[1 << 18];
    size_t size, used;
    long i, count;
    FILE *in = argc == 5 ? fopen(argv[1], "rb") : NULL;
    if (in == NULL) return 2;
    size = fread(original, 1, sizeof original, in);
    fclose(in);
    count = atol(argv[3]);
    for (i = 0; i < count; i++) {
        char name[1000];
        FILE *out;
        unsigned long changes;
        state = (unsigned long)atol(argv[2]) * 7919ul + (unsigned long)i * 104729ul + 1;
        memcpy(copy, original, size);
        used = size;
        for (changes = 1 + next(8); changes > 0; changes--) {
            size_t at = used > 0 ? next((unsigned long)used) : 0, length;
            const char *piece;
            switch (next(5)) {
            case 0:
                if (used > 0) copy[at] = (char)next(256);
                break;
            case 1: used = next(4) == 0 ? at : used; break;
            case 2:
                length = used - at < 40 ? used - at : next(40);
                memmove(copy + at, copy + at + length, used - at - length);
                used -= length;
                break;
            case 3:
                piece = pieces[next(sizeof pieces / sizeof *pieces)];
                length = strlen(piece);
                memmove(copy + at + length, copy + at, used - at);
                memcpy(copy + at, piece, length);
                used += length;
                break;
            default:
                length = used - at < 200 ? used - at : next(200);
                if (used + length < sizeof copy) {
                    memmove(copy + at + length, copy + at, used - at);
                    used += length;
                }
            }
        }
        snprintf(name, sizeof name, "%s%ld", argv[4], i);
        out = fopen(name, "wb");
        if (out == NULL || fwrite(copy, 1, used, out) != used || fclose(out) != 0) return 1;
    }
    return 0;
}

/* The command's number parser beside the C library's, and the speed of its reader: numbers COUNT FILE
 * FILE is written, read and measured. */
#include "host/host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state = 1;

static uint64_t bits(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static float random_float(void) {
    uint32_t u = (uint32_t)bits();
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* A number in one of the ways people and programs write them. */
static void write_number(char *to, size_t size) {
    float f = random_float();
    double g;
    uint64_t u = bits();
    while (!isfinite(f)) f = random_float();
    switch (bits() % 8) {
    case 0: snprintf(to, size, "%.9g", (double)f); break;
    case 1: snprintf(to, size, "%.17g", (double)f * 1.0000000001); break;
    case 2: snprintf(to, size, "%.*f", (int)(bits() % 12), (double)(int64_t)u / 1e15); break;
    case 3: snprintf(to, size, "%lld", (long long)u); break;
    case 4: snprintf(to, size, "%u.%05u", (unsigned)(bits() % 1000), (unsigned)(bits() % 100000)); break;
    case 5: /* half way between two floats, and a hair beside it */
        memcpy(&u, (g = (double)f, &g), 8);
        u |= 0x10000000u;
        memcpy(&g, &u, 8);
        snprintf(to, size, "%.40g%s", g, bits() % 2 ? "" : "1");
        if (strpbrk(to, "e.") == NULL || strchr(to, 'e') != NULL) snprintf(to, size, "%.60g", g);
        break;
    case 6: snprintf(to, size, "%.25e", (double)f); break;
    default:
        snprintf(to, size, "%s%llue%d", bits() % 2 ? "-" : "+", (unsigned long long)(bits() % 1000000),
                 (int)(bits() % 60) - 30);
    }
}

/* Of this program only, so that others on the machine do not count. */
static double processor_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 0, i, wrong = 0;
    char field[512];
    for (i = 0; i < count; i++) {
        double got, want;
        const char *end;
        write_number(field, sizeof field);
        end = csv_number(field, &got);
        want = strtod(field, NULL);
        if (end == NULL || *end != 0 || memcmp(&got, &want, sizeof want) != 0) {
            if (wrong++ < 5) printf("%s: %.17g, expected %.17g\n", field, got, want);
        }
    }
    printf("%ld numbers, %ld wrong\n", count, wrong);
    if (argc > 2) {
        text t = {NULL, 0, 0};
        csv c;
        double start;
        text_add(&t, "a,b,c,d,e,f,g,h,i,target\n");
        for (i = 0; i < 300000; i++)
            text_add(&t, "%u.%u,%.8g,-0.%06u,%u,%.6f,%.5e,%.17g,0,%.4f,%u\n", (unsigned)(bits() % 100),
                     (unsigned)(bits() % 100), (double)(bits() % 1000000) / 7e4, (unsigned)(bits() % 1000000),
                     (unsigned)(bits() % 1000), (double)(bits() % 1000000) / 1e5, (double)(bits() % 1000000) / 3e7,
                     (double)(bits() % 1000000) / 1e6 / 3, (double)(bits() % 10000) / 17, (unsigned)(bits() % 10));
        file_write(argv[2], t.at, t.size);
        start = processor_seconds();
        csv_read(&c, argv[2], 1);
        start = processor_seconds() - start;
        printf("%zu rows, %.0f MB/s\n", c.rows, (double)t.size / 1e6 / start);
        csv_free(&c);
        free(t.at);
    }
    return wrong > 0;
}

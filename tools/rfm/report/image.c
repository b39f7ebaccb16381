/* PNG with a palette, not compressed: a picture of a few thousand numbers is small enough. */
#include "html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS 120 /* on either side of zero */

static void put32(text *t, uint32_t value) {
    char bytes[4];
    bytes[0] = (char)(value >> 24), bytes[1] = (char)(value >> 16), bytes[2] = (char)(value >> 8),
    bytes[3] = (char)value;
    text_bytes(t, bytes, 4);
}

static uint32_t crc(const char *bytes, size_t count) {
    uint32_t c = 0xffffffff;
    size_t i;
    int bit;
    for (i = 0; i < count; i++) {
        c ^= (unsigned char)bytes[i];
        for (bit = 0; bit < 8; bit++) c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
    }
    return ~c;
}

static void chunk(text *png, const char *type, const char *bytes, size_t count) {
    size_t start;
    put32(png, (uint32_t)count);
    start = png->size;
    text_bytes(png, type, 4);
    if (count > 0) text_bytes(png, bytes, count);
    put32(png, crc(png->at + start, count + 4));
}

/* The zlib form of bytes: stored blocks. */
static void store(text *z, const unsigned char *bytes, size_t count) {
    uint32_t a = 1, b = 0;
    size_t i, at = 0;
    text_bytes(z, "\x78\x01", 2);
    do {
        size_t n = count - at < 65535 ? count - at : 65535;
        char head[5];
        head[0] = at + n == count;
        head[1] = (char)n, head[2] = (char)(n >> 8), head[3] = (char)~n, head[4] = (char)(~n >> 8);
        text_bytes(z, head, 5);
        text_bytes(z, (const char *)bytes + at, n);
        at += n;
    } while (at < count);
    for (i = 0; i < count; i++) a = (a + bytes[i]) % 65521, b = (b + a) % 65521;
    put32(z, b << 16 | a);
}

static void base64(text *t, const char *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t i;
    for (i = 0; i < count; i += 3) {
        uint32_t v = (uint32_t)(unsigned char)bytes[i] << 16;
        char four[4];
        if (i + 1 < count) v |= (uint32_t)(unsigned char)bytes[i + 1] << 8;
        if (i + 2 < count) v |= (unsigned char)bytes[i + 2];
        four[0] = digits[v >> 18], four[1] = digits[v >> 12 & 63];
        four[2] = (char)(i + 1 < count ? digits[v >> 6 & 63] : '='),
        four[3] = (char)(i + 2 < count ? digits[v & 63] : '=');
        text_bytes(t, four, 4);
    }
}

void html_image(text *t, const double *values, size_t width, size_t height, const char *css, const char *alt) {
    text png = {NULL, 0, 0}, head = {NULL, 0, 0}, z = {NULL, 0, 0};
    unsigned char *pixels = allocate(height, width + 1, "a picture"), palette[3 * (2 * LEVELS + 1)],
                  alpha[2 * LEVELS + 1];
    static const unsigned char colours[2][3] = {{232, 112, 36}, {58, 112, 228}};
    size_t i, j;
    for (i = 0; i <= 2 * LEVELS; i++) {
        memcpy(palette + 3 * i, colours[i >= LEVELS], 3);
        alpha[i] = (unsigned char)(255 * (i >= LEVELS ? i - LEVELS : LEVELS - i) / LEVELS);
    }
    for (i = 0; i < height; i++)
        for (j = 0; j < width; j++) {
            double v = fmax(-1, fmin(1, values[i * width + j]));
            pixels[i * (width + 1) + 1 + j] = (unsigned char)(LEVELS + (int)floor(LEVELS * v + 0.5));
        }
    text_bytes(&png, "\x89PNG\r\n\x1a\n", 8);
    put32(&head, (uint32_t)width);
    put32(&head, (uint32_t)height);
    text_bytes(&head, "\x08\x03\0\0\0", 5);
    chunk(&png, "IHDR", head.at, head.size);
    chunk(&png, "PLTE", (const char *)palette, sizeof palette);
    chunk(&png, "tRNS", (const char *)alpha, sizeof alpha);
    store(&z, pixels, height * (width + 1));
    chunk(&png, "IDAT", z.at, z.size);
    chunk(&png, "IEND", NULL, 0);
    text_add(t, "<img class=\"%s\" width=\"%zu\" height=\"%zu\" alt=\"", css, width, height);
    html_text(t, alt);
    text_add(t, "\" src=\"data:image/png;base64,");
    base64(t, png.at, png.size);
    text_add(t, "\">");
    free(png.at);
    free(head.at);
    free(z.at);
    free(pixels);
}

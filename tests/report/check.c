/* check FILE.html: is a report well formed, and does it need nothing from elsewhere? Says what is wrong; exit status 1
 * then.
 *
 * Every element that is opened is closed, in order; attributes have quotes; & starts a character reference; ids are
 * there once, links lead to them; pictures are PNG files of stored blocks with right checksums; nothing is fetched. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPEN 64
#define MOST_IDS  256

static const char *file_text;
static int failures;

static void wrong(const char *what, const char *at) {
    size_t line = 1;
    const char *p;
    for (p = file_text; p < at; p++) line += *p == '\n';
    printf("line %lu: %s: %.60s\n", (unsigned long)line, what, at);
    if (++failures > 20) exit(1);
}

/* ---- pictures ------------------------------------------------------------------------------- */

static uint32_t get32(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t crc32(const unsigned char *p, size_t n) {
    uint32_t c = 0xffffffffu;
    int bit;
    for (; n > 0; n--)
        for (c ^= *p++, bit = 0; bit < 8; bit++) c = (c & 1) != 0 ? c >> 1 ^ 0xedb88320u : c >> 1;
    return ~c;
}

static size_t unbase64(const char *at, size_t n, unsigned char *to) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t i, out = 0;
    uint32_t bits = 0;
    int have = 0;
    for (i = 0; i < n && at[i] != '='; i++) {
        const char *d = strchr(digits, at[i]);
        if (d == NULL) return 0;
        bits = bits << 6 | (uint32_t)(d - digits), have += 6;
        if (have >= 8) to[out++] = (unsigned char)(bits >> (have -= 8));
    }
    return n % 4 == 0 ? out : 0;
}

/* The pixels of stored blocks: as many as there should be, the right sum, all in the palette. */
static int right_pixels(const unsigned char *z, size_t n, size_t width, size_t height, size_t colours) {
    uint32_t a = 1, b = 0;
    size_t at = 2, seen = 0;
    int last = 0;
    if (n < 2 || (z[0] * 256 + z[1]) % 31 != 0) return 0;
    while (!last) {
        size_t length, i;
        if (n - at < 5) return 0;
        last = z[at], length = (size_t)z[at + 1] | (size_t)z[at + 2] << 8;
        if (last > 1 || (length ^ 0xffff) != ((size_t)z[at + 3] | (size_t)z[at + 4] << 8) || length > n - at - 5)
            return 0;
        for (i = 0; i < length; i++, seen++) {
            unsigned char v = z[at + 5 + i];
            if (seen % (width + 1) == 0 ? v != 0 : v >= colours) return 0;
            a = (a + v) % 65521, b = (b + a) % 65521;
        }
        at += 5 + length;
    }
    return n - at == 4 && get32(z + at) == (b << 16 | a) && seen == height * (width + 1);
}

static int right_png(const unsigned char *p, size_t n) {
    size_t at = 8, width = 0, height = 0, colours = 0;
    int pixels = 0;
    if (n < 8 || memcmp(p, "\x89PNG\r\n\x1a\n", 8) != 0) return 0;
    while (n - at >= 12) {
        size_t length = get32(p + at);
        const unsigned char *type = p + at + 4, *data = type + 4;
        if (length > n - at - 12 || crc32(type, length + 4) != get32(data + length)) return 0;
        if (memcmp(type, "IHDR", 4) == 0) width = get32(data), height = get32(data + 4);
        if (memcmp(type, "PLTE", 4) == 0) colours = length / 3;
        if (memcmp(type, "tRNS", 4) == 0 && length > colours) return 0;
        if (memcmp(type, "IDAT", 4) == 0) pixels = right_pixels(data, length, width, height, colours);
        at += length + 12;
        if (memcmp(type, "IEND", 4) == 0) return pixels && at == n;
    }
    return 0;
}

static void check_picture(const char *value, size_t n) {
    static const char head[] = "data:image/png;base64,";
    unsigned char *bytes = malloc(n);
    if (bytes == NULL) exit(1);
    if (n < sizeof head || strncmp(value, head, sizeof head - 1) != 0)
        wrong("a source from elsewhere", value);
    else {
        size_t size = unbase64(value + sizeof head - 1, n - (sizeof head - 1), bytes);
        if (!right_png(bytes, size)) wrong("not a right PNG", value);
    }
    free(bytes);
}

/* ---- elements ------------------------------------------------------------------------------- */

typedef struct {
    const char *at;
    size_t length;
} piece;

static piece ids[MOST_IDS], links[MOST_IDS], open_elements[MOST_OPEN];
static size_t id_count, link_count, depth;

static int same(piece a, piece b) { return a.length == b.length && strncmp(a.at, b.at, a.length) == 0; }
static int is(piece a, const char *word) { return a.length == strlen(word) && strncmp(a.at, word, a.length) == 0; }

static void check_reference(const char *p) {
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    size_t i;
    for (i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(p, known[i], strlen(known[i])) == 0) return;
    wrong("& starts nothing", p);
}

static void check_attribute(piece name, piece value) {
    size_t i;
    for (i = 0; i < value.length; i++) {
        if (value.at[i] == '&') check_reference(value.at + i);
        if (value.at[i] == '<') wrong("< in an attribute", value.at + i);
    }
    if (is(name, "src")) check_picture(value.at, value.length);
    if (is(name, "href")) {
        if (value.length < 2 || value.at[0] != '#' || link_count == MOST_IDS)
            wrong("a link to elsewhere", value.at);
        else
            links[link_count].at = value.at + 1, links[link_count++].length = value.length - 1;
    }
    if (is(name, "id")) {
        for (i = 0; i < id_count; i++)
            if (same(ids[i], value)) wrong("an id for the second time", value.at);
        if (id_count < MOST_IDS) ids[id_count++] = value;
    }
    if (name.length > 2 && strncmp(name.at, "on", 2) == 0) wrong("a script", name.at);
}

static piece word_at(const char *p) {
    piece w;
    w.at = p;
    while (isalnum((unsigned char)*p) || *p == '-' || *p == ':') p++;
    w.length = (size_t)(p - w.at);
    return w;
}

/* At <; returns what comes behind the >. */
static const char *check_tag(const char *p) {
    int closing = p[1] == '/', empty = 0;
    piece name = word_at(p + 1 + closing);
    const char *start = p;
    if (name.length == 0) {
        wrong("< starts nothing", p);
        return p + 1;
    }
    for (p = name.at + name.length; *p != '>';) {
        piece attribute, value;
        while (isspace((unsigned char)*p)) p++;
        if (*p == '>') break;
        if (p[0] == '/' && p[1] == '>') {
            empty = 1, p++;
            break;
        }
        attribute = word_at(p);
        p += attribute.length;
        if (attribute.length == 0 || p[0] != '=' || p[1] != '"' || strchr(p + 2, '"') == NULL) {
            wrong("expected name=\"value\"", p);
            return start + 1;
        }
        value.at = p + 2, value.length = strcspn(p + 2, "\"");
        check_attribute(attribute, value);
        p = value.at + value.length + 1;
    }
    if (is(name, "script") || is(name, "link") || is(name, "iframe") || is(name, "object"))
        wrong("an element that has no place here", start);
    if (is(name, "meta") || is(name, "img") || is(name, "br")) return p + 1;
    if (closing) {
        if (depth == 0 || !same(open_elements[depth - 1], name))
            wrong("closes what is not open", start);
        else
            depth--;
    } else if (!empty) {
        if (depth == MOST_OPEN)
            wrong("too deep", start);
        else
            open_elements[depth++] = name;
    }
    return p + 1;
}

int main(int argc, char **argv) {
    FILE *in = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t size, i, k;
    const char *p;
    char *content;
    long end;
    if (in == NULL || fseek(in, 0, SEEK_END) != 0 || (end = ftell(in)) < 0) return 2;
    rewind(in);
    size = (size_t)end;
    content = calloc(size + 1, 1);
    if (content == NULL || fread(content, 1, size, in) != size) return 2;
    fclose(in);
    file_text = content;
    if (strncmp(content, "<!DOCTYPE html>", 15) != 0) wrong("no document type", content);
    if (strlen(content) != size) wrong("a zero byte", content + strlen(content));
    for (p = content + 15; *p != 0;) {
        if (*p == '<') {
            p = check_tag(p);
            if (depth > 0 && is(open_elements[depth - 1], "style")) {
                const char *close = strstr(p, "</style>");
                if (close == NULL) wrong("style without end", p);
                for (; close != NULL && p < close; p++)
                    if (strncmp(p, "url(", 4) == 0 || strncmp(p, "@import", 7) == 0) wrong("a style from elsewhere", p);
            }
        } else if (*p++ == '&')
            check_reference(p - 1);
    }
    if (depth != 0) wrong("not closed", open_elements[depth - 1].at);
    for (i = 0; i < link_count; i++) {
        for (k = 0; k < id_count && !same(ids[k], links[i]); k++) continue;
        if (k == id_count) wrong("a link to nothing", links[i].at);
    }
    if (strstr(content, "http://") != NULL || strstr(content, "https://") != NULL) wrong("an address", content);
    free(content);
    return failures > 0;
}

/* Writes a zip archive to standard output, of the files whose names come by standard input, one to a line.
 *
 * gzip does the work: between its head of 10 bytes and its tail, checksum and length, lies what a zip file has as the
 * data of a member. All members are of 1980, so the same files give the same bytes. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GZIP_HEAD 10
#define GZIP_TAIL 8
#define DEFLATED  8
#define FIRST_DAY 0x21u /* 1980-01-01 */
#define UNIX_20   (3u << 8 | 20u)

typedef struct {
    char *name;
    uint32_t at, bytes, tail[2]; /* place in the archive; of the data; checksum and length */
    uint32_t mode;
} member;

static uint32_t written;

static void fail(const char *what, const char *name) {
    fprintf(stderr, "zip: %s %s\n", what, name);
    exit(1);
}

static void *memory(void *old, size_t bytes) {
    void *more = realloc(old, bytes);
    if (more == NULL) fail("out of memory", "");
    return more;
}

static void put(const void *from, size_t bytes) {
    if (fwrite(from, 1, bytes, stdout) != bytes) fail("cannot write", "");
    written += (uint32_t)bytes;
}

static void put_16(uint32_t value) {
    unsigned char b[2];
    b[0] = (unsigned char)value, b[1] = (unsigned char)(value >> 8);
    put(b, 2);
}

static void put_32(uint32_t value) {
    put_16(value & 0xffffu);
    put_16(value >> 16);
}

/* What the local head of a member and its entry at the end of the archive have in common. */
static void put_fields(const member *m) {
    put_16(20), put_16(0), put_16(DEFLATED), put_16(0), put_16(FIRST_DAY);
    put_32(m->tail[0]), put_32(m->bytes), put_32(m->tail[1]);
    put_16((uint32_t)strlen(m->name)), put_16(0);
}

static unsigned char *compressed(const char *name, size_t *bytes) {
    char command[4200];
    unsigned char *data = NULL;
    size_t room = 0, got;
    FILE *pipe;
    if (strchr(name, '\'') != NULL || strlen(name) > 4000) fail("a name that it cannot take:", name);
    sprintf(command, "gzip -n9c -- '%s'", name);
    if ((pipe = popen(command, "r")) == NULL) fail("no gzip for", name);
    *bytes = 0;
    do {
        if (*bytes == room) data = memory(data, room = 2 * room + 65536);
        *bytes += got = fread(data + *bytes, 1, room - *bytes, pipe);
    } while (got > 0);
    if (pclose(pipe) != 0 || *bytes < GZIP_HEAD + GZIP_TAIL || data[3] != 0) fail("gzip cannot read", name);
    return data;
}

static void add(member *m) {
    size_t bytes, i;
    unsigned char *data = compressed(m->name, &bytes), *tail = data + bytes - GZIP_TAIL;
    struct stat about;
    if (stat(m->name, &about) != 0) fail("cannot see", m->name);
    m->mode = 0100000u | (about.st_mode & 0111 ? 0755u : 0644u);
    m->at = written, m->bytes = (uint32_t)(bytes - GZIP_HEAD - GZIP_TAIL);
    for (i = 0; i < 2; i++, tail += 4)
        m->tail[i] = tail[0] | (uint32_t)tail[1] << 8 | (uint32_t)tail[2] << 16 | (uint32_t)tail[3] << 24;
    put_32(0x04034b50u), put_fields(m), put(m->name, strlen(m->name)), put(data + GZIP_HEAD, m->bytes);
    free(data);
}

int main(void) {
    char line[4096];
    member *members = NULL;
    size_t count = 0, i;
    uint32_t directory, end;
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        members = memory(members, (count + 1) * sizeof *members);
        members[count].name = strcpy(memory(NULL, strlen(line) + 1), line);
        add(&members[count++]);
    }
    directory = written;
    for (i = 0; i < count; i++) {
        put_32(0x02014b50u), put_16(UNIX_20), put_fields(&members[i]);
        put_16(0), put_16(0), put_16(0), put_32(members[i].mode << 16), put_32(members[i].at);
        put(members[i].name, strlen(members[i].name));
    }
    end = written;
    put_32(0x06054b50u), put_32(0), put_16((uint32_t)count), put_16((uint32_t)count);
    put_32(end - directory), put_32(directory), put_16(0);
    return fflush(stdout) == 0 ? 0 : 1;
}

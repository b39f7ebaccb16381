#define _XOPEN_SOURCE 700 /* realpath; brings POSIX.1-2008 */

#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

void *allocate(size_t count, size_t size, const char *what) {
    void *p = count != 0 && size > SIZE_MAX / count ? NULL : calloc(count != 0 ? count : 1, size);
    if (p == NULL) fail("out of memory: %.0f bytes for %s", (double)count * (double)size, what);
    return p;
}

void *allocate_aligned(size_t bytes, const char *what) {
    void *p = NULL;
    size_t unit = sizeof(void *) > 64 ? sizeof(void *) : 64;
    if (posix_memalign(&p, unit, bytes != 0 ? bytes : 1) != 0) fail("out of memory: %zu bytes for %s", bytes, what);
    return p;
}

char *copy_text(const char *from, size_t length) {
    char *p = allocate(length + 1, 1, "text");
    memcpy(p, from, length);
    return p;
}

void text_bytes(text *t, const char *bytes, size_t count) {
    if (count > t->room - t->size || t->at == NULL) {
        size_t room = 2 * t->room + count + 256;
        char *more = realloc(t->at, room);
        if (more == NULL) fail("out of memory: %zu bytes for the output", room);
        t->at = more, t->room = room;
    }
    memcpy(t->at + t->size, bytes, count);
    t->size += count;
}

void text_add(text *t, const char *format, ...) {
    char small[512], *large = small;
    va_list list;
    int n;
    va_start(list, format);
    n = vsnprintf(small, sizeof small, format, list);
    va_end(list);
    if (n < 0) fail("cannot format the output");
    if ((size_t)n >= sizeof small) {
        large = allocate((size_t)n + 1, 1, "text");
        va_start(list, format);
        vsnprintf(large, (size_t)n + 1, format, list);
        va_end(list);
    }
    text_bytes(t, large, (size_t)n);
    if (large != small) free(large);
}

/* ---- reading --------------------------------------------------------------------------------------------------------------- */

char *file_read(const char *file, size_t *size) {
    int in = strcmp(file, "-") == 0 ? 0 : open(file, O_RDONLY);
    const char *name = in == 0 ? "standard input" : file;
    struct stat about;
    size_t room = 1 << 16, used = 0;
    char *at;
    if (in < 0 || fstat(in, &about) != 0) fail("%s: cannot be opened: %s", name, strerror(errno));
    if (S_ISDIR(about.st_mode)) fail("%s: is a directory, expected a file", name);
    if (S_ISREG(about.st_mode) && about.st_size > 0) room = (size_t)about.st_size + 2;
    at = allocate_aligned(room, name);
    for (;;) {
        ssize_t n;
        if (room - used < 2) {
            char *more = allocate_aligned(2 * room, name);
            memcpy(more, at, used);
            free(at);
            at = more, room *= 2;
        }
        n = read(in, at + used, room - used - 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("%s: cannot be read: %s", name, strerror(errno));
        if (n == 0) break;
        used += (size_t)n;
    }
    if (in != 0) close(in);
    at[used] = 0;
    *size = used;
    return at;
}

/* ---- writing --------------------------------------------------------------------------------------------------------------- */

static int is_stdout(const char *file) { return file == NULL || strcmp(file, "-") == 0; }

/* 1 if the file is to be replaced as a whole; 0 if it is a device or a pipe. *mode: the permissions that it has now. */
static int replaceable(const char *file, mode_t *mode) {
    struct stat about;
    *mode = 0;
    if (stat(file, &about) != 0) return 1;
    if (S_ISDIR(about.st_mode)) fail("%s: is a directory, expected a file to write", file);
    *mode = about.st_mode & 0777;
    return S_ISREG(about.st_mode);
}

/* A new file beside `file`; a link is followed first, so that it stays a link. */
static int open_beside(const char *file, char **target, char **beside) {
    int out;
    *target = realpath(file, NULL);
    if (*target == NULL) *target = copy_text(file, strlen(file));
    *beside = allocate(strlen(*target) + 16, 1, "a file name");
    sprintf(*beside, "%s.XXXXXX", *target);
    out = mkstemp(*beside);
    if (out < 0) fail("%s: cannot be written: %s", file, strerror(errno));
    return out;
}

void file_check(const char *file) {
    mode_t mode;
    if (is_stdout(file)) return;
    if (replaceable(file, &mode)) {
        char *target, *beside;
        sigset_t all, before;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, &before);
        close(open_beside(file, &target, &beside));
        unlink(beside);
        sigprocmask(SIG_SETMASK, &before, NULL);
        free(target);
        free(beside);
    } else {
        int out = open(file, O_WRONLY);
        if (out < 0) fail("%s: cannot be written: %s", file, strerror(errno));
        close(out);
    }
}

static int write_all(int out, const char *at, size_t size) {
    while (size > 0) {
        ssize_t n = write(out, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        at += n, size -= (size_t)n;
    }
    return 0;
}

void file_write(const char *file, const void *bytes, size_t size) {
    char *target, *beside;
    mode_t mode;
    int out, status;
    sigset_t all, before;
    if (is_stdout(file)) {
        fflush(stdout);
        if (write_all(1, bytes, size) != 0) fail("standard output: cannot be written: %s", strerror(errno));
        return;
    }
    if (!replaceable(file, &mode)) {
        out = open(file, O_WRONLY);
        if (out < 0 || write_all(out, bytes, size) != 0 || close(out) != 0) fail("%s: cannot be written: %s", file, strerror(errno));
        return;
    }
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* a signal waits until there is nothing beside any more */
    out = open_beside(file, &target, &beside);
    if (mode == 0) {
        mode_t mask = umask(0);
        umask(mask);
        mode = 0666 & ~mask;
    }
    (void)fchmod(out, mode); /* some file systems have none */
    status = write_all(out, bytes, size);
    if (status == 0) status = fsync(out);
    if (close(out) != 0) status = -1;
    if (status == 0) status = rename(beside, target);
    if (status != 0) {
        int why = errno;
        unlink(beside);
        sigprocmask(SIG_SETMASK, &before, NULL);
        fail("%s: cannot be written: %s", file, strerror(why));
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(target);
    free(beside);
}

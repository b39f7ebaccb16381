#define _XOPEN_SOURCE 700 /* S_ISVTX; brings POSIX.1-2008 */

#include "files.h"

#include "progress.h"
#include "session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- which file is which -------------------------------------------------------------------- */

typedef struct {
    dev_t device;
    ino_t number;
} identity;

static identity *inputs; /* the regular files that were read */
static size_t input_count;

static identity identity_of(const struct stat *about) {
    identity id;
    id.device = about->st_dev, id.number = about->st_ino;
    return id;
}

static int same_file(identity a, identity b) { return a.device == b.device && a.number == b.number; }

static void remember_input(const struct stat *about) {
    identity *more = realloc(inputs, (input_count + 1) * sizeof *more);
    if (more == NULL) fail("out of memory: the list of inputs");
    inputs = more;
    inputs[input_count++] = identity_of(about);
}

/* Wrong usage if the output is a file that was read. */
static void refuse_input(const char *name, const struct stat *about) {
    size_t i;
    for (i = 0; i < input_count; i++)
        if (S_ISREG(about->st_mode) && same_file(inputs[i], identity_of(about)))
            usage("%s: is an input of this command, expected another file as output", name);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* A copy of an input of a session. */
static char *session_read(session *s, const char *file, size_t *size) {
    const void *bytes = s->bytes(s, file, size);
    char *at;
    if (bytes == NULL) fail("%s: there is no input of that name", file);
    at = allocate_aligned(*size + 1, file);
    memcpy(at, bytes, *size);
    at[*size] = 0;
    return at;
}

static const char *shown_name(const char *file) {
    return strcmp(file, "-") == 0 ? "standard input" : *file != 0 ? file : "\"\"";
}

/* The file, and about it. */
static int stored_open(const char *file, struct stat *about) {
    int in = strcmp(file, "-") == 0 ? 0 : open(file, O_RDONLY);
    const char *name = shown_name(file);
    if (in < 0 || fstat(in, about) != 0) fail("%s: cannot be opened: %s", name, strerror(errno));
    if (S_ISDIR(about->st_mode)) fail("%s: is a directory, expected a file", name);
    if (S_ISREG(about->st_mode)) remember_input(about);
    return in;
}

FILE *file_open(const char *file) {
    struct stat about;
    int in = stored_open(file, &about);
    FILE *stream = in == 0 ? stdin : fdopen(in, "rb");
    if (stream == NULL) fail("%s: cannot be opened: %s", shown_name(file), strerror(errno));
    return stream;
}

static char *stored_read(const char *file, size_t *size) {
    struct stat about;
    int in = stored_open(file, &about);
    const char *name = shown_name(file);
    size_t room = 1 << 16, used = 0;
    char *at;
    if (S_ISREG(about.st_mode) && about.st_size > 0) room = (size_t)about.st_size + 2;
    at = allocate_aligned(room, name);
    for (;;) {
        ssize_t n;
        if (room - used < 2) {
            char *more = allocate_aligned(room <= SIZE_MAX / 2 ? 2 * room : SIZE_MAX, name);
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

char *file_read(const char *file, size_t *size) {
    session *s = session_now();
    return s != NULL ? session_read(s, file, size) : stored_read(file, size);
}

/* ---- standard output ------------------------------------------------------------------------ */

/* By its name, or because it is the file or pipe behind it (/dev/stdout). */
static int is_stdout(const char *file) {
    struct stat a, b;
    if (file == NULL || strcmp(file, "-") == 0) return 1;
    if (stat(file, &a) != 0 || fstat(1, &b) != 0 || !(S_ISREG(a.st_mode) || S_ISFIFO(a.st_mode))) return 0;
    return same_file(identity_of(&a), identity_of(&b));
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

static void write_stdout(const char *bytes, size_t size) {
    text visible = {NULL, 0, 0};
    if (isatty(1)) { /* nothing in a file commands a terminal */
        text_shown(&visible, bytes, size, "\n\t");
        bytes = visible.at, size = visible.size;
    }
    if (fflush(stdout) != 0 || write_all(1, bytes, size) != 0) {
        int why = errno;
        if (why == EPIPE) {
            signal(SIGPIPE, SIG_DFL);
            raise(SIGPIPE);
        }
        fail("standard output: cannot be written: %s", strerror(why));
    }
    free(visible.at);
}

void file_show(const text *summary, const char *out) {
    session *s = session_now();
    if (s != NULL) {
        s->write(s, NULL, summary->at, summary->size);
        return;
    }
    if (out == NULL || !is_stdout(out))
        write_stdout(summary->at, summary->size);
    else
        (void)write_all(2, summary->at, summary->size);
}

/* ---- outputs -------------------------------------------------------------------------------- */

#define MOST_LINKS    40
#define MOST_LINK     4096 /* bytes of one */
#define MOST_BASE     200  /* bytes of a name that are repeated in that of the file beside it */
#define BESIDE_MARK   ".rfm-tmp-"
#define BESIDE_DIGITS 12

typedef struct {
    const char *name; /* as it was given */
    char *target;     /* links followed; NULL: a device or pipe */
    size_t folder;    /* bytes of the target before its last part */
    mode_t mode;      /* of the file that is there; 0: none is */
} output;

static void cannot_write(const char *name, int why) NEVER_RETURNS;
static void cannot_write(const char *name, int why) { fail("%s: cannot be written: %s", name, strerror(why)); }

static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* The path that `file` leads to when it is a link, or a link to a link; there need not be anything. */
static char *follow_links(const char *file) {
    char *path = copy_text(file, strlen(file)), *next, to[MOST_LINK];
    size_t hops, folder;
    for (hops = 0; hops < MOST_LINKS; hops++) {
        ssize_t n = readlink(path, to, sizeof to);
        if (n < 0) return path;
        if ((size_t)n >= sizeof to) cannot_write(file, ENAMETOOLONG);
        folder = to[0] == '/' ? 0 : folder_length(path);
        next = allocate(folder + (size_t)n + 1, 1, "a file name");
        memcpy(next, path, folder);
        memcpy(next + folder, to, (size_t)n);
        free(path);
        path = next;
    }
    cannot_write(file, ELOOP);
}

/* 1 if nobody but the owners of file and folder may replace the file (the sticky bit, as in /tmp). */
static int is_sticky(const char *target, size_t folder, uid_t owner) {
    struct stat about;
    char *path = folder > 0 ? copy_text(target, folder) : copy_text(".", 1);
    int known = stat(path, &about) == 0;
    uid_t user = geteuid();
    free(path);
    return known && (about.st_mode & S_ISVTX) != 0 && user != 0 && user != owner && user != about.st_uid;
}

/* Where the bytes go, or the end of the program with what speaks against it. */
static output output_find(const char *file) {
    output o = {file, NULL, 0, 0};
    struct stat about, target;
    int there = stat(file, &about) == 0;
    if (*file == 0) usage("expected the name of an output file, found an empty one");
    if (!there && errno != ENOENT) cannot_write(file, errno);
    if (there) {
        int out;
        if (S_ISDIR(about.st_mode)) fail("%s: is a directory, expected a file to write", file);
        refuse_input(file, &about);
        if (S_ISSOCK(about.st_mode)) fail("%s: is a socket, expected a file to write", file);
        if (!S_ISREG(about.st_mode)) {
            if (access(file, W_OK) != 0) cannot_write(file, errno);
            return o; /* not opened: the reader of a pipe would take that for the whole output */
        }
        if ((about.st_mode & 0222) == 0) fail("%s: cannot be written: it is read-only", file); /* also for root */
        out = open(file, O_WRONLY);
        if (out < 0) cannot_write(file, errno);
        close(out);
        o.mode = about.st_mode & 0777;
    }
    o.target = follow_links(file);
    o.folder = folder_length(o.target);
    if (o.target[o.folder] == 0) fail("%s: is the name of a directory, expected a file to write", file);
    if (there && is_sticky(o.target, o.folder, about.st_uid)) cannot_write(file, EPERM);
    if (there && (stat(o.target, &target) != 0 || !same_file(identity_of(&about), identity_of(&target)))) {
        free(o.target); /* as /dev/fd/3 of a removed file: there is no name to rename to */
        o.target = NULL;
    }
    return o;
}

/* 1 if `name` is that of a file beside the output whose last part is `base`. */
static int is_beside(const char *name, const char *base, size_t length) {
    size_t mark = strlen(BESIDE_MARK);
    if (strncmp(name, base, length) != 0 || strncmp(name + length, BESIDE_MARK, mark) != 0) return 0;
    name += length + mark;
    return strlen(name) == BESIDE_DIGITS && strspn(name, "0123456789abcdef") == BESIDE_DIGITS;
}

static int lock(int file) {
    struct flock all;
    memset(&all, 0, sizeof all);
    all.l_type = F_WRLCK, all.l_whence = SEEK_SET;
    return fcntl(file, F_SETLK, &all);
}

/* Removes what killed writers of this output left: files of this user with such a name that nobody holds a lock on. */
static void sweep(const output *o, char *path, size_t base) {
    DIR *folder;
    struct dirent *entry;
    char *name = path + o->folder;
    memcpy(path, o->target, o->folder);
    *name = 0;
    folder = opendir(o->folder > 0 ? path : ".");
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        struct stat about;
        int file;
        if (!is_beside(entry->d_name, o->target + o->folder, base)) continue;
        strcpy(name, entry->d_name); /* as long as the name that `path` has room for */
        file = lstat(path, &about) == 0 && S_ISREG(about.st_mode) ? open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK) : -1;
        if (file < 0) continue;
        if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() && lock(file) == 0)
            unlink(path);
        close(file);
    }
    if (folder != NULL) closedir(folder);
}

/* A new file beside the target, locked while it is open. */
static int open_beside(const output *o, char **path) {
    size_t base = strlen(o->target + o->folder), length;
    struct timespec now;
    uint64_t number;
    if (base > MOST_BASE) base = MOST_BASE;
    length = o->folder + base + strlen(BESIDE_MARK);
    *path = allocate(length + BESIDE_DIGITS + 1, 1, "a file name");
    sweep(o, *path, base);
    clock_gettime(CLOCK_REALTIME, &now);
    number = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) ^ (uint64_t)getpid() << 24;
    for (;; number += 0x9e3779b97f4a7c15u) {
        struct stat about;
        int out;
        memcpy(*path, o->target, o->folder + base);
        sprintf(*path + o->folder + base, BESIDE_MARK "%0*llx", BESIDE_DIGITS,
                (unsigned long long)(number & 0xffffffffffffu));
        out = open(*path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (out < 0 && errno == EEXIST) continue;
        if (out < 0) cannot_write(o->name, errno);
        /* Another process may have found it before it was locked, and remove it: then there is another try. Where a
         * file system has no locks, nothing is removed. */
        if (lock(out) == 0 || (errno != EACCES && errno != EAGAIN))
            if (fstat(out, &about) == 0 && about.st_nlink > 0) return out;
        close(out);
    }
}

/* Two outputs of one command shall be two files: compared by folder and name, for they need not be there yet. */
static void refuse_twice(const output *o) {
    static char *names[4];
    static identity folders[4];
    static size_t count;
    struct stat about;
    size_t i;
    char *folder = o->folder > 0 ? copy_text(o->target, o->folder) : copy_text(".", 1);
    if (stat(folder, &about) != 0) cannot_write(o->name, errno);
    free(folder);
    for (i = 0; i < count; i++)
        if (same_file(folders[i], identity_of(&about)) && strcmp(names[i], o->target + o->folder) == 0)
            usage("%s: is already an output of this command, expected another file", o->name);
    if (count == sizeof names / sizeof *names) return;
    names[count] = copy_text(o->target + o->folder, strlen(o->target + o->folder));
    folders[count++] = identity_of(&about);
}

static void block_signals(sigset_t *before) { /* one that comes waits until there is nothing beside any more */
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, before);
}

void file_check(const char *file) {
    struct stat about;
    sigset_t before;
    output o;
    char *path;
    int out;
    if (session_now() != NULL) return;
    if (is_stdout(file)) {
        if (fstat(1, &about) == 0) refuse_input("standard output", &about);
        return;
    }
    o = output_find(file);
    if (o.target == NULL) return;
    refuse_twice(&o);
    block_signals(&before);
    out = open_beside(&o, &path);
    unlink(path);
    close(out);
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(o.target);
    free(path);
}

/* These bytes, or all of `kept` if that is not NULL. */
static int write_source(int out, const void *bytes, size_t size, FILE *kept) {
    char room[1 << 14];
    size_t n;
    if (kept == NULL) return write_all(out, bytes, size);
    while ((n = fread(room, 1, sizeof room, kept)) > 0)
        if (write_all(out, room, n) != 0) return -1;
    return ferror(kept) ? -1 : 0;
}

static void write_file(const char *file, const void *bytes, size_t size, FILE *kept) {
    sigset_t before;
    output o = output_find(file);
    char *path;
    int out, status;
    if (o.target == NULL) {
        out = open(file, O_WRONLY | O_TRUNC);
        if (out < 0 || write_source(out, bytes, size, kept) != 0 || close(out) != 0) cannot_write(file, errno);
        return;
    }
    block_signals(&before);
    out = open_beside(&o, &path);
    if (o.mode == 0) {
        mode_t mask = umask(0);
        umask(mask);
        o.mode = 0666 & ~mask;
    }
    status = write_source(out, bytes, size, kept);
    if (status == 0) status = fsync(out);
    if (status == 0) {
        (void)fchmod(out, o.mode);       /* some file systems have none */
        status = rename(path, o.target); /* while it is locked: nobody takes it for a leftover */
    }
    if (status != 0) {
        int why = errno;
        unlink(path);
        sigprocmask(SIG_SETMASK, &before, NULL);
        cannot_write(file, why);
    }
    close(out);
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(o.target);
    free(path);
}

void file_write(const char *file, const void *bytes, size_t size) {
    session *s = session_now();
    if (s != NULL)
        s->write(s, file, bytes, size);
    else if (is_stdout(file))
        write_stdout(bytes, size);
    else
        write_file(file, bytes, size, NULL);
}

file_parts file_begin(const char *file) {
    file_parts p;
    memset(&p, 0, sizeof p);
    p.file = file;
    if (session_now() != NULL || is_stdout(file)) return p;
    p.kept = tmpfile();
    if (p.kept == NULL) fail("a temporary file: cannot be written: %s", strerror(errno));
    return p;
}

void file_add(file_parts *p, const void *bytes, size_t size) {
    if (session_now() != NULL)
        text_bytes(&p->whole, bytes, size);
    else if (p->kept == NULL)
        write_stdout(bytes, size);
    else if (fwrite(bytes, 1, size, p->kept) != size)
        fail("a temporary file: cannot be written: %s", strerror(errno));
}

void file_end(file_parts *p) {
    session *s = session_now();
    if (s != NULL) s->write(s, p->file, p->whole.at, p->whole.size);
    if (p->kept != NULL) {
        if (fflush(p->kept) != 0) fail("a temporary file: cannot be written: %s", strerror(errno));
        rewind(p->kept);
        write_file(p->file, NULL, 0, p->kept);
        fclose(p->kept);
    }
    free(p->whole.at);
    p->whole.at = NULL;
}

const char *file_base(const char *file, const char *standard) {
    const char *slash = strrchr(file, '/');
    return strcmp(file, "-") == 0 ? standard : slash != NULL ? slash + 1 : file;
}

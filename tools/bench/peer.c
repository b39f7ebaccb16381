/* OpenBLAS chooses its kernels and its threads when it is loaded, from the environment. Left alone it may take a new
 * processor for a very old one and lose a factor of five: a comparison must ask for the core type and look at the
 * answer. */
#define _POSIX_C_SOURCE 200809L

#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernels of OpenBLAS that use the instructions of a port. core NULL: what OpenBLAS takes by itself. */
static const struct {
    const char *port, *core;
    int fair;
} core_types[] = {
    {"avx2", "Haswell", 1},
    {"avx512", "SkylakeX", 1},
    {"neon", NULL, 1},
#if defined(__x86_64__) || defined(__i386__)
    {"scalar", "Prescott", 0},
#else
    {"scalar", NULL, 0},
#endif
};

static const char *const library_names[] = {
    "libopenblas.so.0",
    "libopenblas.so",
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "libopenblas.dylib",
};

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that the bits are the same. */
static int find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    if (symbol) memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* sgemm_ or dgemm_, as rfm_real is. */
static int find_lapack(void *library, const char *name, void *function) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "%c%s_", RFM_REAL_BYTES == 8 ? 'd' : 's', name);
    if (find(library, symbol, function)) return 1;
    fprintf(stderr, "rfm-bench: this OpenBLAS has no %s\n", symbol);
    return 0;
}

const char *bench_peer_core(const char *port, int *fair) {
    for (size_t i = 0; i < sizeof core_types / sizeof *core_types; i++)
        if (strcmp(core_types[i].port, port) == 0) {
            *fair = core_types[i].fair;
            return core_types[i].core;
        }
    *fair = 0;
    return NULL;
}

int bench_peer_open(bench_peer *peer, const char *file, const char *port, size_t threads) {
    char number[32];
    void *library = NULL;

    memset(peer, 0, sizeof *peer);
    const char *core = bench_peer_core(port, &peer->fair);
    if (core)
        setenv("OPENBLAS_CORETYPE", core, 1);
    else
        unsetenv("OPENBLAS_CORETYPE");
    snprintf(number, sizeof number, "%zu", threads);
    setenv("OPENBLAS_NUM_THREADS", number, 1);
    setenv("OMP_NUM_THREADS", number, 1); /* for a build with OpenMP */

    if (file)
        library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    else
        for (size_t i = 0; !library && i < sizeof library_names / sizeof *library_names; i++)
            library = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "rfm-bench: no OpenBLAS, so ours alone. `make bench` installs it (tools/setup bench).\n");
        return -1;
    }
    if (!find_lapack(library, "gemm", &peer->gemm) || !find_lapack(library, "potrf", &peer->potrf) ||
        !find_lapack(library, "potrs", &peer->potrs) || !find_lapack(library, "syevd", &peer->syevd))
        return -1;

    char *(*get_corename)(void), *(*get_config)(void);
    int (*get_num_threads)(void);
    void (*set_num_threads)(int);

    snprintf(peer->core, sizeof peer->core, "unknown");
    if (find(library, "openblas_get_corename", &get_corename))
        snprintf(peer->core, sizeof peer->core, "%s", get_corename());
    snprintf(peer->version, sizeof peer->version, "?");
    if (find(library, "openblas_get_config", &get_config)) sscanf(get_config(), "OpenBLAS %31s", peer->version);

    if (core && strcmp(core, peer->core) != 0) {
        fprintf(stderr,
                "rfm-bench: *** WARNING: OpenBLAS was asked for its %s kernels and uses %s. The ratios below do not "
                "compare like with like. ***\n",
                core, peer->core);
        peer->fair = 0;
    }
    if (find(library, "openblas_set_num_threads", &set_num_threads)) set_num_threads((int)threads);
    if (find(library, "openblas_get_num_threads", &get_num_threads) && get_num_threads() != (int)threads) {
        fprintf(stderr, "rfm-bench: *** WARNING: OpenBLAS runs %d threads, not %zu. ***\n", get_num_threads(), threads);
        peer->fair = 0;
    }
    return 0;
}

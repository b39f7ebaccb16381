/* Which ports are in this build, and which of them this machine can run. No state: every call asks the processor again,
 * so ask once and keep the answer. */
#include "rfm_port.h"

#ifndef RFM_NO_TRAIN

#include <string.h>

#if RFM_PORT_HAVE_X86

#if defined(_MSC_VER)
#include <intrin.h>
#endif

/* out: eax, ebx, ecx, edx of CPUID leaf, subleaf 0; all zero if there is no such leaf. */
static void cpuid(uint32_t leaf, uint32_t out[4]) {
#if defined(_MSC_VER)
    int r[4];
    __cpuid(r, 0);
    if ((uint32_t)r[0] < leaf)
        memset(r, 0, sizeof r);
    else
        __cpuidex(r, (int)leaf, 0);
    memcpy(out, r, sizeof r);
#else
    uint32_t a = 0, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (a < leaf) {
        memset(out, 0, 4 * sizeof *out);
        return;
    }
    a = leaf;
    c = 0;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
#endif
}

/* The register state that the operating system saves at a task switch: bit 1 XMM, 2 YMM, 5 opmask, 6 and 7 ZMM. */
static uint32_t xcr0(void) {
#if defined(_MSC_VER)
    return (uint32_t)_xgetbv(0);
#else
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
#endif
}

static int has(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

/* 2: AVX-512F, 1: AVX2 and FMA, 0: neither. */
static int x86_level(void) {
    const uint32_t fma = 1u << 12, osxsave = 1u << 27, avx = 1u << 28; /* leaf 1, ecx */
    const uint32_t avx2 = 1u << 5, avx512f = 1u << 16;                 /* leaf 7, ebx */
    uint32_t r1[4], r7[4], os;
    cpuid(1, r1);
    cpuid(7, r7);
    if (!has(r1[2], osxsave | avx | fma) || !has(r7[1], avx2)) return 0;
    os = xcr0();
    if (!has(os, 0x06)) return 0;
    return has(r7[1], avx512f) && has(os, 0xe6) ? 2 : 1;
}

static int runs(size_t index) { return index == 0 || (int)index <= x86_level(); }

#else

static int runs(size_t index) {
    (void)index; /* what the compiler was told to use is there */
    return 1;
}

#endif

static const rfm_port *const ports[] = {
    /* slowest first */
    &rfm_port_scalar,
#if RFM_PORT_HAVE_X86
    &rfm_port_avx2,
    &rfm_port_avx512,
#endif
#if RFM_PORT_HAVE_NEON
    &rfm_port_neon,
#endif
};
#define PORTS (sizeof ports / sizeof *ports)

const char *rfm_port_name(size_t index) { return index < PORTS ? ports[index]->name : NULL; }

const rfm_port *rfm_port_auto(void) {
    size_t i = PORTS - 1;
    while (!runs(i)) i--;
    return ports[i];
}

const rfm_port *rfm_port_find(const char *name) {
    size_t i;
    if (name == NULL) return NULL;
    if (strcmp(name, "auto") == 0) return rfm_port_auto();
    for (i = 0; i < PORTS; i++)
        if (strcmp(name, ports[i]->name) == 0) return runs(i) ? ports[i] : NULL;
    return NULL;
}

#endif /* RFM_NO_TRAIN */

/* A QEMU plug-in that counts executed instructions: from the first instruction of a function until control is back in
 * its caller, for every call. What the function calls is counted, an instruction under a false condition too.
 *
 *   qemu-... -plugin count.so,from=ADDRESS,low=ADDRESS,high=ADDRESS ...
 *
 * `from` is the function, `low` to `high` (exclusive) is the caller, all in hexadecimal as nm -S prints them. At the
 * end every call's count is written to standard error: "count 1234". The same program gives the same counts every time.
 *
 * Debian ships no header for plug-ins; this is what is used of version 1 of the interface, which QEMU keeps stable. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { QEMU_PLUGIN_CB_NO_REGS };

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                                  void (*f)(qemu_plugin_id_t, struct qemu_plugin_tb *));
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*f)(unsigned int, void *),
                                                   int flags, void *data);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*f)(qemu_plugin_id_t, void *), void *data);

#define EXPORT __attribute__((visibility("default")))
extern EXPORT int qemu_plugin_version;
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

#define CALLS 65536
static uint64_t from, low, high, counts[CALLS], count;
static size_t calls;
static int inside;

static void executed(unsigned int cpu, void *data) {
    uint64_t address = (uint64_t)(uintptr_t)data;
    (void)cpu;
    if (!inside && address == from) inside = 1, count = 0;
    if (!inside) return;
    if (address >= low && address < high) {
        if (calls < CALLS) counts[calls++] = count;
        inside = 0;
    } else {
        count++;
    }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    size_t i, n = qemu_plugin_tb_n_insns(tb);
    (void)id;
    for (i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, QEMU_PLUGIN_CB_NO_REGS,
                                               (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
    }
}

static void finished(qemu_plugin_id_t id, void *data) {
    size_t i;
    (void)id, (void)data;
    for (i = 0; i < calls; i++) fprintf(stderr, "count %llu\n", (unsigned long long)counts[i]);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
    int i;
    (void)info;
    for (i = 0; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        uint64_t address = value == NULL ? 0 : strtoull(value + 1, NULL, 16);
        if (strncmp(argv[i], "from=", 5) == 0)
            from = address;
        else if (strncmp(argv[i], "low=", 4) == 0)
            low = address;
        else if (strncmp(argv[i], "high=", 5) == 0)
            high = address;
        else
            return -1;
    }
    if (low >= high) return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}

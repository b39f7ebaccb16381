/* Start-up of every bare-metal board: Cortex-M0 to M55 and RISC-V, with output and exit through semihosting.
 *
 * main() runs on a painted stack. What it returns is the exit status of the emulator, cut to 255, because a process
 * keeps only the low eight bits and 256 failures must not look like none. Any fault names itself and exits with 255. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "startup.h"

extern uint32_t __stack_bottom[], __stack_top[], __data_start[], __data_end[], __data_load[], __bss_start[],
    __bss_end[];

int main(void);
void board_reset(void);
void board_main(void);

/* ---- semihosting: a breakpoint that the emulator (or a debugger) takes as a request --------- */

#define SYS_OPEN          0x01
#define SYS_WRITEC        0x03
#define SYS_WRITE0        0x04
#define SYS_READ          0x06
#define SYS_GET_CMDLINE   0x15
#define SYS_EXIT_EXTENDED 0x20

#if defined __arm__

static uint32_t semihost(uint32_t request, const void *argument) {
    register uint32_t r0 __asm__("r0") = request;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

#elif defined __riscv

/* The three instructions are the mark; they must be uncompressed and in one page. */
static uint32_t semihost(uint32_t request, const void *argument) {
    register uint32_t a0 __asm__("a0") = request;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n\t.option push\n\t.option norvc\n\t"
                     "slli x0, x0, 0x1f\n\tebreak\n\tsrai x0, x0, 7\n\t"
                     ".option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

#else
#error "startup.c knows Cortex-M and RISC-V"
#endif

void board_putchar(int c) {
    char byte = (char)c;
    (void)semihost(SYS_WRITEC, &byte);
}

void board_print(const char *text) { (void)semihost(SYS_WRITE0, text); }

/* Not SYS_READC: it loses bytes in QEMU 7.2. The file's name is the program's command line. */
int board_getchar(void) {
    static uint32_t file; /* its handle, which is not 0 */
    static char name[256];
    uint32_t block[3];
    char byte = 0;
    if (file == 0) {
        block[0] = (uint32_t)(uintptr_t)name, block[1] = sizeof name;
        if (semihost(SYS_GET_CMDLINE, block) != 0) return -1;
        block[2] = block[1], block[1] = 0; /* for reading */
        file = semihost(SYS_OPEN, block);
    }
    block[0] = file, block[1] = (uint32_t)(uintptr_t)&byte, block[2] = 1;
    return semihost(SYS_READ, block) == 0 ? (unsigned char)byte : -1;
}

void board_exit(int status) {
    uint32_t block[2];
    block[0] = 0x20026; /* ADP_Stopped_ApplicationExit */
    block[1] = status >= 0 && status < 255 ? (uint32_t)status : 255u;
    (void)semihost(SYS_EXIT_EXTENDED, block);
    for (;;) {
    }
}

static void print_hex(const char *name, uint32_t value) {
    int shift;
    board_print(name);
    for (shift = 28; shift >= 0; shift -= 4) board_putchar("0123456789abcdef"[(value >> shift) & 15u]);
}

/* ---- start ---------------------------------------------------------------------------------- */

#define PAINT 0xa5a5a5a5u

size_t board_stack_used(void) {
    const uint32_t *p = __stack_bottom;
    while (p < __stack_top && *p == PAINT) p++;
    return (size_t)(__stack_top - p) * sizeof *p;
}

/* Called by board_reset with the stack pointer at the top and nothing on the stack worth keeping. */
void board_main(void) {
    uint32_t *to;
    const uint32_t *from = __data_load;
    uint32_t *here = (uint32_t *)__builtin_frame_address(0) - 16; /* leave this function's own frame alone */

    for (to = __stack_bottom; to < here; to++) *to = PAINT;
    for (to = __data_start; to < __data_end; to++) *to = *from++;
    for (to = __bss_start; to < __bss_end; to++) *to = 0;
    board_exit(main());
}

/* What a C library calls when something ends a program. */
void _exit(int status);
void _exit(int status) { board_exit(status); }

void abort(void) {
    board_print("\nabort()\n");
    board_exit(255);
}

void __assert_func(const char *file, int line, const char *function, const char *expression);
void __assert_func(const char *file, int line, const char *function, const char *expression) {
    (void)line;
    board_print("\nassertion failed: ");
    board_print(expression);
    board_print(" in ");
    board_print(function ? function : file);
    board_print("\n");
    board_exit(255);
}

#if defined __arm__

#define CPACR    (*(volatile uint32_t *)0xe000ed88u) /* coprocessor access: the FPU */
#define SHCSR    (*(volatile uint32_t *)0xe000ed24u) /* which faults have a handler of their own */
#define CFSR     (*(volatile uint32_t *)0xe000ed28u) /* why a fault was raised */
#define CCR      (*(volatile uint32_t *)0xe000ed14u) /* configuration: traps, loops */
#define MPU_TYPE (*(volatile uint32_t *)0xe000ed90u)
#define MPU_CTRL (*(volatile uint32_t *)0xe000ed94u)
#define MPU_RNR  (*(volatile uint32_t *)0xe000ed98u)
#define MPU_RBAR (*(volatile uint32_t *)0xe000ed9cu)
#define MPU_RASR (*(volatile uint32_t *)0xe000eda0u)
#define ARMV6M   (__ARM_ARCH == 6)

void board_reset(void) {
#if !ARMV6M
    SHCSR |= 7u << 16; /* MemManage, BusFault, UsageFault by name, not as HardFault */
    CCR |= 1u << 4;    /* a division by zero faults */
    CPACR |= 0xfu << 20;
    __asm__ volatile("dsb\n\tisb");
#endif
#if __ARM_ARCH == 7
    /* Some boards ignore a write below RAM. Where there is a memory protection unit, its region 0 forbids access to the
     * 4 KiB there; everything else stays as it is. */
    if (MPU_TYPE >> 8 & 0xffu) {
        MPU_RNR = 0;
        MPU_RBAR = (uint32_t)__stack_bottom - 4096u;
        MPU_RASR = 1u << 28 | 11u << 1 | 1u; /* never execute, no access, 2^(11 + 1) bytes, on */
        MPU_CTRL = 1u << 2 | 1u;             /* the default map for the rest, on */
        __asm__ volatile("dsb\n\tisb");
    }
#elif __ARM_ARCH >= 8
    __asm__ volatile("msr msplim, %0" : : "r"(__stack_bottom));
#endif
#if defined __ARM_FEATURE_MVE
    /* Low-overhead loops: without this bit QEMU and the core fall back to plain branches, which is right but slow. */
    CCR |= 1u << 19;
    __asm__ volatile("dsb\n\tisb");
#endif
    board_main();
}

static void fault(uint32_t pc) __attribute__((noreturn, used));
static void fault(uint32_t pc) {
    static const char *const names[] = {"fault", "reset", "NMI", "HardFault", "MemManage", "BusFault", "UsageFault"};
    uint32_t exception;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    board_print("\nfault: ");
    board_print(names[exception < 7 ? exception : 0]);
    print_hex(" at 0x", pc);
#if !ARMV6M
    print_hex(", CFSR 0x", CFSR);
#endif
    board_print("\n");
    board_exit(255);
}

/* The stack may be the reason: find the program counter in the exception frame if there can be one, then start afresh
 * at the top of the stack. Thumb-1 instructions only. */
void board_fault(void);
__attribute__((naked)) void board_fault(void) {
    __asm__ volatile("mov r0, sp\n\t"
                     "ldr r1, =__stack_bottom\n\t"
                     "ldr r2, =__stack_top\n\t"
                     "mov sp, r2\n\t"
                     "sub r2, #32\n\t"
                     "cmp r0, r1\n\t"
                     "blo 1f\n\t"
                     "cmp r0, r2\n\t"
                     "bhi 1f\n\t"
                     "ldr r0, [r0, #24]\n\t"
                     "b 2f\n"
                     "1: mov r0, #0\n"
                     "2: bl fault\n\t"
                     ".ltorg");
}

/* SysTick belongs to a program that defines board_tick(); without one it is a fault like the others. */
void board_tick(void) __attribute__((weak, alias("board_fault")));

/* The first words of flash: initial stack pointer, reset, then the system exceptions. No other interrupts are used. */
typedef union {
    uint32_t *stack;
    void (*handler)(void);
} vector;

extern const vector board_vectors[16];
__attribute__((section(".vectors"), used)) const vector board_vectors[16] = {
    {.stack = __stack_top},   {.handler = board_reset}, {.handler = board_fault}, {.handler = board_fault},
    {.handler = board_fault}, {.handler = board_fault}, {.handler = board_fault}, {.handler = board_fault},
    {.handler = NULL},        {.handler = NULL},        {.handler = NULL},        {.handler = board_fault},
    {.handler = board_fault}, {.handler = NULL},        {.handler = board_fault}, {.handler = board_tick},
};

#elif defined __riscv

/* rv32imac leaves the access to control registers out of its name, so the assembler has to be told. */
__asm__(".option arch, +zicsr");

void board_fault(void);

__attribute__((naked, section(".vectors"), used)) void board_reset(void) {
    __asm__ volatile(".option push\n\t.option norelax\n\t"
                     "la gp, __global_pointer$\n\t"
                     ".option pop\n\t"
                     "la sp, __stack_top\n\t"
                     "la tp, __tls\n\t"
                     "la t0, board_fault\n\t"
                     "csrw mtvec, t0\n\t"
                     /* Here flash is RAM and lies below the stack: PMP entry 0 makes it read-only, for a
                      * naturally aligned power of two, and so makes an overflow a fault. */
                     "lui t0, %hi(__flash)\n\t"
                     "addi t0, t0, %lo(__flash)\n\t"
                     "lui t1, %hi(__flash_size)\n\t"
                     "addi t1, t1, %lo(__flash_size)\n\t"
                     "srli t0, t0, 2\n\t"
                     "srli t1, t1, 3\n\t"
                     "add t0, t0, t1\n\t"
                     "addi t0, t0, -1\n\t"
                     "csrw pmpaddr0, t0\n\t"
                     "li t0, 0x9d\n\t" /* locked, so machine mode obeys; NAPOT; execute, read */
                     "csrw pmpcfg0, t0\n\t"
#if defined __riscv_flen
                     "li t0, 0x2000\n\t" /* mstatus.FS: the FPU on */
                     "csrs mstatus, t0\n\t"
                     "csrw fcsr, zero\n\t"
#endif
                     "j board_main");
}

static void fault(uint32_t cause, uint32_t pc, uint32_t value) __attribute__((noreturn, used));
static void fault(uint32_t cause, uint32_t pc, uint32_t value) {
    static const char *const names[] = {
        "instruction address misaligned", "instruction access", "illegal instruction",      "breakpoint",
        "load address misaligned",        "load access",        "store address misaligned", "store access"};
    board_print("\nfault: ");
    board_print(cause < 8 ? names[cause] : "exception");
    print_hex(" at 0x", pc);
    print_hex(", value 0x", value);
    board_print("\n");
    board_exit(255);
}

__attribute__((naked, aligned(4), used)) void board_fault(void) {
    __asm__ volatile("la sp, __stack_top\n\t"
                     "csrr a0, mcause\n\t"
                     "csrr a1, mepc\n\t"
                     "csrr a2, mtval\n\t"
                     "j fault");
}

#endif

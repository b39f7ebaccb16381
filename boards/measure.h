/* For programs that are measured: lines of a name and a number, and the stack of a call. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "startup.h"

static void print_number(const char *name, size_t value) {
    char text[12], *at = text + sizeof text - 1;
    *at = 0;
    do *--at = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    board_print(name);
    board_print(" ");
    board_print(at);
    board_print("\n");
}

#define PAINT 0x5ca1ab1eu
extern uint32_t __stack_bottom[];

#if defined __arm__
#define STACK_POINTER(p) __asm__ volatile("mov %0, sp" : "=r"(p) : : "memory")
#else
#define STACK_POINTER(p) __asm__ volatile("mv %0, sp" : "=r"(p) : : "memory")
#endif

/* Around the call, in the function that makes it and has `volatile uint32_t *word, *top`: so the stack pointer is the
 * one that the call is made with. Volatile: no call of memset. */
#define PAINT_STACK()                                                  \
    do {                                                               \
        STACK_POINTER(top);                                            \
        for (word = __stack_bottom; word < top; word++) *word = PAINT; \
    } while (0)
#define PRINT_STACK(name)                                                           \
    do {                                                                            \
        for (word = __stack_bottom; word < top && *word == PAINT; word++) {         \
        }                                                                           \
        print_number(name, (size_t)((volatile char *)top - (volatile char *)word)); \
    } while (0)

#endif

/* What startup.c gives a bare-metal program. */
#ifndef STARTUP_H
#define STARTUP_H

#include <stddef.h>

void board_putchar(int c);
void board_print(const char *text);
int board_getchar(void); /* the next byte of the file that boards/run has as INPUT; -1: the end */
void board_exit(int status) __attribute__((noreturn)); /* the emulator ends with this status, at most 255 */
size_t board_stack_used(void);                         /* the deepest the stack has been since the start, in bytes */
void board_tick(void);                                 /* Cortex-M: yours, if SysTick is to interrupt; else it faults */

#endif

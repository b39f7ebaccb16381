/* How a check of check.c is reported, here and on boards. */
#ifdef BOARD_BARE
#include "startup.h"
#else
#include <stdio.h>
static void board_print(const char *text) { fputs(text, stdout); }
#endif

static int report(const char *name, int wrong) {
    if (wrong != 0) {
        board_print(name);
        board_print(": other results than the library's\n");
    }
    return wrong != 0;
}

int main(void);

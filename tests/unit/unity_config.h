/* Unity's settings: the same tests on the host and on every board. */
#ifndef UNITY_CONFIG_H
#define UNITY_CONFIG_H

#include "../../rfm/rfm.h"

/* Bare metal: there is no stdio. */
#ifdef BOARD_BARE
void board_putchar(int c);
#define UNITY_OUTPUT_CHAR(c) board_putchar(c)
#else
#define UNITY_USE_FLUSH_STDOUT
#endif

#define UNITY_SUPPORT_64 /* also on 32-bit targets */

#if RFM_REAL_BYTES == 8
#define UNITY_INCLUDE_DOUBLE
#endif

/* Unity calls this before each test. The line says which one is running if it never ends, or ends the program. */
#define UNITY_EXEC_TIME_START()            \
    do {                                   \
        UnityPrint("run ");                \
        UnityPrint(Unity.CurrentTestName); \
        UNITY_PRINT_EOL();                 \
        UNITY_FLUSH_CALL();                \
    } while (0)

#endif

/* As much of an Arduino core as the examples use, on boards/startup.c. It also defines what cores define: macros with
 * short names, which a library must not trip over. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HIGH        1
#define LOW         0
#define PI          3.1415926535897932384626433832795
#define EULER       2.718281828459045235360287471352
#define DEFAULT     1
#define B1          1
#define A0          14
#define min(a, b)   ((a) < (b) ? (a) : (b))
#define max(a, b)   ((a) > (b) ? (a) : (b))
#define abs(x)      ((x) > 0 ? (x) : -(x))
#define round(x)    ((x) >= 0 ? (long)((x) + 0.5) : (long)((x)-0.5))
#define sq(x)       ((x) * (x))
#define bit(b)      (1UL << (b))
#define lowByte(w)  ((uint8_t)((w)&0xff))
#define F(text)     (text)

typedef uint8_t byte;
typedef bool boolean;

struct SerialPort {
    void begin(unsigned long baud);
    void print(const char *text);
    int read();
    explicit operator bool() const { return true; }
};
extern SerialPort Serial;

void delay(unsigned long milliseconds);
void setup(void);
void loop(void);

#endif

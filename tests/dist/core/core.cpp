#include "Arduino.h"

extern "C" {
#include "startup.h"
}

SerialPort Serial;
void SerialPort::begin(unsigned long) {}
int SerialPort::read() { return board_getchar(); }
void SerialPort::print(const char *text) { board_print(text); }

/* A sketch of ours waits only when it is done. */
void delay(unsigned long) { board_exit(0); }

int main() {
    setup();
    for (;;) loop();
}

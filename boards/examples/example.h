/* What the examples take from the platform: text out, a start, an end. An example has setup() and loop(), as a sketch;
 * elsewhere the main() below calls them. Arduino's editor takes the same file under the name .ino, as C++. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#if defined(ARDUINO)

#include <Arduino.h>
static void say(const char *text) { Serial.print(text); }
static void begin(void) {
    Serial.begin(115200);
    while (!Serial) {}
}
static void end_of_program(int status) {
    (void)status; /* nobody to give it to */
    for (;;) delay(1000);
}

#else

void setup(void);
void loop(void);

#if defined(BOARD_BARE) /* the boards of the tests: boards/startup.h */
#include "startup.h"
static void say(const char *text) { board_print(text); }
static void end_of_program(int status) { board_exit(status); }
#else
#include <stdio.h>
#include <stdlib.h>
static void say(const char *text) { fputs(text, stdout); }
static void end_of_program(int status) { exit(status); }
#endif
static void begin(void) {}

#if defined(ESP_PLATFORM)
void app_main(void) {
#else
int main(void) {
#endif
    setup();
    for (;;) loop();
}

#endif

static void say_number(long value) {
    char text[24], *at = text + sizeof text;
    unsigned long rest = value < 0 ? 0ul - (unsigned long)value : (unsigned long)value;
    *--at = 0;
    do *--at = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (value < 0) *--at = '-';
    say(at);
}

/* The last words: what went wrong, or nothing. */
static void finish(const char *wrong) {
    if (wrong != NULL) say("stopped: "), say(wrong), say("\n");
    end_of_program(wrong != NULL);
}

#endif

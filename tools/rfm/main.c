/* rfm - the command. CSV in, models, predictions and headers for firmware out. */
#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A standard stream that is closed must not become the next file that is opened: it is there, and its use fails. */
static void hold_streams(void) {
    int i;
    for (i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0) (void)open("/dev/null", i == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
    text names = {NULL, 0, 0};
    size_t i;
    hold_streams();
    signal(SIGPIPE, SIG_IGN); /* a reader of the progress that is gone does not end a training */
    for (i = 0; i < COMMAND_COUNT; i++) text_add(&names, i > 0 ? ", %s" : "%s", commands[i].name);
    text_bytes(&names, "", 1);
    if (argc < 2) usage("expected a command: %s", names.at);
    if (strcmp(argv[1], "--version") == 0) {
        text version = {NULL, 0, 0};
        text_add(&version, "rfm %d.%d.%d\n", RFM_VERSION_MAJOR, RFM_VERSION_MINOR, RFM_VERSION_PATCH);
        file_show(&version, NULL);
        free(version.at);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return command_run(COMMAND_help, argv + argc);
    for (i = 0; i < COMMAND_COUNT && strcmp(argv[1], commands[i].name) != 0; i++) continue;
    if (i == COMMAND_COUNT) usage("no command \"%s\"; expected one of %s", argv[1], names.at);
    free(names.at);
    return command_run(i, argv + 2);
}

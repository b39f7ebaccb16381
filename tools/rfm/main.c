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
    hold_streams();
    signal(SIGPIPE, SIG_IGN); /* a reader of the progress that is gone does not end a training */
    if (argc < 2) (void)command_find(NULL, "");
    if (strcmp(argv[1], "--version") == 0) {
        text version = {NULL, 0, 0};
        text_add(&version, "rfm %d.%d.%d\n", RFM_VERSION_MAJOR, RFM_VERSION_MINOR, RFM_VERSION_PATCH);
        file_show(&version, NULL);
        free(version.at);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return command_run(COMMAND_help, argv + argc);
    return command_run(command_find(argv[1], ""), argv + 2);
}

/* rfm - the command. CSV in, models, predictions and headers for firmware out. */
#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(char **argv);
} commands[] = {
    {"train", command_train}, {"predict", command_predict}, {"evaluate", command_evaluate},
    {"info", command_info},   {"compress", command_compress}, {"export", command_export}, {"report", command_report}, {"help", command_help},
};

/* A standard stream that is closed must not become the next file that is opened: it is there, and its use fails. */
static void hold_streams(void) {
    int i;
    for (i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0) (void)open("/dev/null", i == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
    size_t i;
    hold_streams();
    signal(SIGPIPE, SIG_IGN); /* a reader of the progress that is gone does not end a training */
    if (argc < 2) usage("expected a command: train, predict, evaluate, info, compress, export, report; see rfm help");
    if (strcmp(argv[1], "--version") == 0) {
        text version = {NULL, 0, 0};
        text_add(&version, "rfm %d.%d.%d\n", RFM_VERSION_MAJOR, RFM_VERSION_MINOR, RFM_VERSION_PATCH);
        file_show(&version, NULL);
        free(version.at);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        char *none[] = {NULL};
        return command_help(none);
    }
    for (i = 0; i < sizeof commands / sizeof *commands && strcmp(argv[1], commands[i].name) != 0; i++) continue;
    if (i == sizeof commands / sizeof *commands)
        usage("no command \"%s\"; expected train, predict, evaluate, info, compress, export, report or help", argv[1]);
    return commands[i].run(argv + 2);
}

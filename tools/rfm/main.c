/* rfm - the command. CSV in, models, predictions and headers for firmware out. */
#include "command.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(char **argv);
} commands[] = {
    {"train", command_train}, {"predict", command_predict}, {"evaluate", command_evaluate},
    {"info", command_info},   {"compress", command_compress}, {"export", command_export}, {"report", command_report}, {"help", command_help},
};

int main(int argc, char **argv) {
    size_t i;
    int status;
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, said as such */
    if (argc < 2) usage("expected a command: train, predict, evaluate, info, compress, export, report; see rfm help");
    if (strcmp(argv[1], "--version") == 0) {
        printf("rfm %d.%d.%d\n", RFM_VERSION_MAJOR, RFM_VERSION_MINOR, RFM_VERSION_PATCH);
        status = 0;
    } else if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        char *none[] = {NULL};
        status = command_help(none);
    } else {
        for (i = 0; i < sizeof commands / sizeof *commands && strcmp(argv[1], commands[i].name) != 0; i++) continue;
        if (i == sizeof commands / sizeof *commands)
            usage("no command \"%s\"; expected train, predict, evaluate, info, compress, export, report or help", argv[1]);
        status = commands[i].run(argv + 2);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) fail("standard output: cannot be written: %s", strerror(errno));
    return status;
}

/* rfm-papers: experiments of the papers, each by one command. README.md has what they measured. */
#include "host/host.h"

#include "ansatz.h"
#include "papers.h"
#include "phenomena.h"
#include "sheet.h"

#include <stdlib.h>
#include <string.h>

const experiment experiments[] = {
    {"features", "RFM paper, Fig. 2 and 15", "Features of networks and of RFMs", 25, features, NULL, NULL},
    {"hybrid", "RFM paper, Fig. 3", "M of one kernel for another", 22, hybrid, NULL, NULL},
    {"tabular", "RFM paper, Fig. 4 and 5", "Tables", 22, tabular, NULL, NULL},
    {"pruned", "RFM paper, Fig. 6", "Pruned pixels: RFM-T", 9, pruned, NULL, NULL},
    {"low-rank", "RFM paper, Fig. 10, 14 and 16", "Targets of a few directions", 6, low_rank, NULL, NULL},
    {"depth", "RFM paper, Fig. 10 and 14", "Depth and the first layer", 10, depth, NULL, NULL},
    {"network-layers", "RFM paper, Fig. 11 to 13", "Kernels on a network's first layer", 22, layers_of_networks, NULL,
     NULL},
    {"grokking", "RFM paper, Fig. 7", "Grokking", 17, grokking, NULL, NULL},
    {"simplicity", "RFM paper, Fig. 8", "Simplicity bias", 5, simplicity, NULL, NULL},
    {"spurious", "RFM paper, Fig. 9", "Spurious features", 2, spurious, NULL, NULL},
    {"pictures", "Convolutional features, Fig. 2 to 4, 10 to 12", "What a metric of patches looks at", 1, pictures,
     NULL, NULL},
    {"bars", "Convolutional features, Fig. 5", "Bars in noise", 16, bars, bars_options, setting_help},
    {"noisy-digits", "Convolutional features, Fig. 5", "Digits in noise", 75, noisy_digits, noisy_digits_options,
     setting_help},
    {"layers", "Convolutional features, Fig. 6B", "Layers of features", 120, layers, layers_options, setting_help},
    {"conv-ansatz", "Convolutional features, section 2 and Fig. 9", "The convolutional ansatz", 40, conv_ansatz, NULL,
     NULL},
    {"conv-theorem", "Convolutional features, Theorem 1", "One step of descent", 1, conv_theorem, NULL, NULL},
    {"ansatz", "Ansatz paper, Fig. 1", "The neural feature ansatz, and a control", 1, ansatz_control, NULL, NULL},
    {"ansatz-scales", "Ansatz paper, Fig. 2, 4 and 5", "Centred and not, by the scale of the start", 12, ansatz_scales,
     NULL, NULL},
    {"ansatz-decay", "Ansatz paper, App. G, Fig. 5", "The same under decaying spectra", 12, ansatz_decay, NULL, NULL},
    {"ansatz-balance", "Ansatz paper, Fig. 3", "Predicted and observed alignment", 9, alignment_balance, NULL, NULL},
    {"ansatz-depth", "Ansatz paper, Fig. 6", "Two hidden layers, to first order", 4, alignment_depth, NULL, NULL},
    {"ansatz-start", "Ansatz paper, Prop. 3, 4 and 10", "The first step of a training", 1, alignment_start, NULL, NULL},
    {"ansatz-digits", "Ansatz paper, App. I", "The ansatz on images", 22, ansatz_digits, NULL, NULL},
    {"identities", "RFM paper, Theorem 1, Prop. 1 to 5", "Theorems as measured identities", 3, identities, NULL, NULL},
    {"table1", "AGOP and gradient descent, Table 1", "AGOP beside gradient descent", 58, table1, table1_options,
     table1_help},
    {"outer-products", "AGOP and gradient descent", "cos(W'W, AGOP) over time", 1, outer_products, NULL, NULL},
    {NULL, NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct {
    const char *name, *usage;
    int (*run)(char **argv);
} commands[] = {
    {"page", "[-o FOLDER] [--quick] [--data FOLDER]", page},
    {"metrics", "SCORES.csv", metrics},
    {"vibration", "[options]", vibration},
};
#define COMMANDS (sizeof commands / sizeof *commands)

static const char common_help[] = "  --quick            small: shows that it runs\n"
                                  "  --data FOLDER      with more sets than tools/data has\n"
                                  "  --seed N           (1)\n"
                                  "  --threads N        (0: as many as there are processors)\n"
                                  "  --json             each row of its tables as an object on a line\n"
                                  "  --quiet            no progress\n";

static void help(void) {
    const experiment *e;
    size_t i;
    puts("usage:");
    for (i = 0; i < COMMANDS; i++) printf("  rfm-papers %s %s\n", commands[i].name, commands[i].usage);
    puts("  rfm-papers EXPERIMENT [options], one of");
    for (e = experiments; e->name != NULL; e++)
        printf("    %-16s %s: %s%s\n", e->name, e->source, e->title, e->help != NULL ? " *" : "");
    printf("\n%s\nThose with * have more options: rfm-papers EXPERIMENT --help\n", common_help);
}

#define MOST_OPTIONS 32

/* One experiment, its sheet as text. */
static int run(const experiment *e, char **argv) {
    size_t threads = 0, seed = 1, i;
    const option *own;
    int json = 0;
    trial t = {NULL, 0, 0, NULL};
    machine m;
    option table[MOST_OPTIONS] = {{"--quick", NULL, OPTION_FLAG, &t.quick},
                                  {"--data", NULL, OPTION_TEXT, &t.data},
                                  {"--seed", NULL, OPTION_SIZE, &seed},
                                  {"--threads", NULL, OPTION_SIZE, &threads},
                                  {"--quiet", "-q", OPTION_FLAG, &quiet},
                                  {"--json", NULL, OPTION_FLAG, &json},
                                  {NULL, NULL, 0, NULL}};
    command_line line = {NULL, "no operand", 0, 0, "; see rfm-papers --help", NULL};
    text sheet = {NULL, 0, 0}, shown = {NULL, 0, 0};
    for (i = 0; table[i].name != NULL;) i++;
    for (own = e->options; own != NULL && own->name != NULL; own++) table[i++] = *own; /* what is left has no name */
    line.name = e->name, line.options = table;
    if (options_read(&line, argv, NULL)) {
        printf("usage: rfm-papers %s [options]\n\n%s: %s\n\n%s%s", e->name, e->source, e->title, common_help,
               e->help != NULL ? e->help : "");
        return 0;
    }
    t.m = &m, t.seed = seed;
    machine_start(&m, threads, "auto");
    e->run(&t, &sheet);
    machine_stop(&m);
    text_bytes(&sheet, "", 1);
    if (json)
        sheet_json(&shown, e->name, sheet.at);
    else
        sheet_markdown(&shown, sheet.at);
    file_show(&shown, NULL);
    free(sheet.at);
    free(shown.at);
    return 0;
}

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    const experiment *e;
    size_t i;
    for (i = 0; i < COMMANDS; i++)
        if (strcmp(word, commands[i].name) == 0) return commands[i].run(argv + 2);
    for (e = experiments; e->name != NULL; e++)
        if (strcmp(word, e->name) == 0) return run(e, argv + 2);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        help();
        return 0;
    }
    usage(*word == 0 ? "expected a sub-command; see rfm-papers --help"
                     : "%s: no such sub-command; see rfm-papers --help",
          word);
}

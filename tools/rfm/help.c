#include "command.h"

#include <string.h>

static const char *const overview =
    "usage: rfm COMMAND ...\n"
    "\n"
    "  train      DATA.csv -o MODEL.rfm     learn from a table; settings are chosen by themselves\n"
    "  predict    MODEL.rfm DATA.csv        a label or value for each row\n"
    "  evaluate   MODEL.rfm DATA.csv        how right the predictions are\n"
    "  info       MODEL.rfm                 what is in a model, which features it uses\n"
    "  compress   MODEL.rfm --data DATA.csv a smaller model for less memory, in integers if wanted; -o SMALL.rfm\n"
    "  export     MODEL.rfm -o model.h      a C header for firmware\n"
    "  report     MODEL.rfm --data DATA.csv a page to look at: scores, features, size; -o report.html\n"
    "  help       [COMMAND]                 this, or all options of a command\n"
    "\n"
    "Results go to stdout, progress to stderr (--quiet: none). Exit status: 0 done, 1 the work failed, 2 wrong usage.\n"
    "A file name - is standard input or output.\n";

static const struct {
    const char *name, *content;
} topics[] = {
    {"train",
     "usage: rfm train DATA.csv -o MODEL.rfm [options]\n"
     "\n"
     "The data\n"
     "  --target NAME          column to predict (default: the one named target, else the last)\n"
     "  --targets K            the last K columns are a vector of regression targets\n"
     "  --task auto|classify|regress\n"
     "                         auto: text, the integers 0..c-1 (2 to 20 of them, no gap), or -1 and 1 are classes;\n"
     "                         all other numbers are regression targets. Only training rows are looked at.\n"
     "  --split FILE           one line per data row: 0 train, 1 test, 2 leave out\n"
     "  --test FILE            a separate CSV to score on after training\n"
     "  --no-header            the first line is data; the columns are called c1, c2, ...\n"
     "  --one-hot              text columns become one 0/1 input per text (at most 1000)\n"
     "  --missing mean         empty and NaN cells become the mean of the training rows (default: an error)\n"
     "  --rows N               train on at most N rows, drawn with the seed (default 20000; memory grows as N * N * 4 bytes)\n"
     "\n"
     "The settings; auto is the default and chooses by validation inside the training rows\n"
     "  --kernel laplace|gaussian|general   --exponent Q     exp(-(s/L)^Q) for general, 0 < Q <= 2\n"
     "  --metric full|diag|identity|auto    the form of M; auto also tries centred gradients\n"
     "  --bandwidth L|auto     a number; 2m is twice the median distance in each iteration's metric\n"
     "  --ridge R|auto   --iterations T|auto\n"
     "  --center               centre the gradients\n"
     "  --normalize none|max|trace          scale of M\n"
     "  --raw                  features and targets as they are: no standardisation\n"
     "  --time-limit SECONDS   of the search; the last fit comes after it. Ctrl-C ends the search with the best so far\n"
     "  --seed N               same data, options and seed: same model, whatever --threads is\n"
     "\n"
     "The machine and the output\n"
     "  --threads N   --port auto|scalar|avx2|...\n"
     "  --json                 one JSON object instead of the text summary\n"
     "  --quiet                no progress and no notes on stderr\n"
     "\n"
     "How auto chooses: up to 1500 rows by 5-fold cross-validation, M learned anew in each fold; above on a hold-out of a fifth. Metric\n"
     "identity, diagonal and full; bandwidth 0.5 to 8 times the median distance; ridge 1e-4 to 1; 0 to 4 iterations. The best few are\n"
     "compared once more on new folds. Test rows are never looked at.\n"},
    {"predict",
     "usage: rfm predict MODEL.rfm DATA.csv [options]\n"
     "\n"
     "One line per row: the label, or the values. Columns are found by their names, other columns are ignored; with --no-header they\n"
     "are taken in order.\n"
     "\n"
     "  --scores               the raw outputs, %.9g, separated by commas\n"
     "  --confidence           one more field: the probability of the label\n"
     "  -o OUT.csv             a file instead of standard output\n"
     "  --missing mean         empty and NaN cells become the mean of the training rows\n"
     "  --no-header   --threads N   --port NAME   --quiet\n"
     "\n"
     "A model of integers (rfm compress) is computed in integers, with the bits that firmware has; inputs outside of the range that it was\n"
     "calibrated for are taken as its end, and a note says how many.\n"},
    {"evaluate",
     "usage: rfm evaluate MODEL.rfm DATA.csv [options]\n"
     "\n"
     "Accuracy, or r2 and mean squared error, on all rows or on those that the split marks with 1.\n"
     "\n"
     "  --split FILE           one line per data row: 0 train, 1 test, 2 leave out\n"
     "  --target NAME          default: the one named target, else the only column that is no input, else the last\n"
     "  --json                 one JSON object instead of text\n"
     "  --missing mean   --no-header   --threads N   --port NAME   --quiet\n"},
    {"info",
     "usage: rfm info MODEL.rfm [--json | --metric]\n"
     "\n"
     "  --metric               prints M, %.9g, separated by commas: d rows, or 1 row when it is diagonal; in standardised features\n"
     "                         unless the model was trained with --raw\n"
     "  --json                 one JSON object instead of text\n"
     "\n"
     "The type of the numbers, the bytes of every part, of a model of integers the range that each input was calibrated for.\n"},
    {"compress",
     "usage: rfm compress MODEL.rfm --data DATA.csv -o SMALL.rfm [options]\n"
     "\n"
     "A smaller model of one that rfm train made. DATA.csv has the rows that it was trained on, found by the names of the columns.\n"
     "\n"
     "What becomes smaller; what is not given stays as it is\n"
     "  --features N|T         keep the N inputs that weigh most in M, or those whose weight is at least T (0 < T < 1) of the way from the\n"
     "                         smallest to the largest (0.05 is that of RFM-T in the paper), and train anew on them\n"
     "  --rank R               the R directions in which the projected rows differ most\n"
     "  --centers N            N centres in place of all training rows, at least one for each output; alpha is fitted again to all rows\n"
     "  --type f32|i16|i8      numbers (default), or integers: no floating-point operation in firmware (rfm_small.h)\n"
     "\n"
     "A search; what is given above is kept, the rest is found\n"
     "  --budget BYTES         the best model of at most so many bytes\n"
     "  --max-loss POINTS      the smallest model that loses at most so many points of accuracy (or of 100 r2) against the model at full size;\n"
     "                         with --budget: the smallest within both\n"
     "  --report FILE.html     the trade-off of bytes and score as a curve and a table\n"
     "\n"
     "How it is made\n"
     "  --method residual|cholesky|leverage|kmeans\n"
     "                         how centres are chosen (default residual: the row that takes most of what is left)\n"
     "  --polish auto|off|N    N steps in which the centres move; auto: 10, or none if that was better in the search\n"
     "  --ridge R              of the fits of alpha (default: the model's; a search also tries a tenth and ten times that)\n"
     "  --names                input names stay in the model. They are left out unless inputs were left out or one-hot coded; without them the\n"
     "                         columns are taken in their order, all but the target\n"
     "  --summary              what rfm info and rfm report tell about the training stays in the model; left out otherwise\n"
     "  --seed N               same data, options and seed: same model, whatever --threads is\n"
     "\n"
     "The data and the output\n"
     "  --split FILE           one line per data row: 0 train, 1 test, 2 leave out; test rows are scored at the end, nothing else\n"
     "  --test FILE            a separate CSV to score on at the end\n"
     "  --target NAME   --rows N   --missing mean   --no-header   --threads N   --port NAME   --json   --quiet\n"
     "\n"
     "How the search chooses: inside the training rows, on rows that neither the candidates nor the fit that they are made of have seen; up to 1500\n"
     "rows in five folds, above on a hold-out of a fifth. For that the model is fitted anew with its own settings, and that fit at full size is\n"
     "what a loss is measured against. In the end the model is made from all training rows.\n"},
    {"export",
     "usage: rfm export MODEL.rfm -o model.h [--name NAME]\n"
     "\n"
     "A C header with the model as a const aligned array, its sizes and class names, and how to use it. NAME is the name of the\n"
     "array (default: from the file's name, with model_ before it if C, C++ or rfm.h have that name).\n"},
    {"report",
     "usage: rfm report MODEL.rfm --data DATA.csv -o report.html [options]\n"
     "\n"
     "One HTML file that needs nothing else: scores with an interval, confusion or errors, the features and directions that count, the\n"
     "rows to look at, the size on boards, the code to use the model from C.\n"
     "\n"
     "  --split FILE           one line per data row: 0 train, 1 test, 2 leave out; only the test rows are scored\n"
     "  --image WxH            the inputs are the pixels of an image, row by row\n"
     "  --target NAME          default: the one named target, else the only column that is no input, else the last\n"
     "  --missing mean   --no-header   --threads N   --port NAME   --quiet\n"},
    {"help", "usage: rfm help [COMMAND]\n"},
};

int command_help(char **argv) {
    size_t i;
    if (argv[0] == NULL || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        file_write(NULL, overview, strlen(overview));
        return 0;
    }
    for (i = 0; i < sizeof topics / sizeof *topics; i++)
        if (strcmp(argv[0], topics[i].name) == 0) {
            file_write(NULL, topics[i].content, strlen(topics[i].content));
            return 0;
        }
    usage("help: no command \"%s\"", argv[0]);
}

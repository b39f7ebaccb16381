/* rfm-papers: experiments of the papers, each by one command. README.md has what they measured.
 *
 *     rfm-papers low-rank [train rows, 1000] [test rows, 10000] [seed, 1]
 *     rfm-papers table1 DATA.csv [--split FILE] [options]
 *     rfm-papers bars [options]
 *     rfm-papers noisy-digits | layers IMAGES-idx3-ubyte --test IMAGES-idx3-ubyte [options]
 *     rfm-papers vibration [options]
 */
#include "papers.h"

#include <stdio.h>
#include <string.h>

#include "host/progress.h"

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "low-rank") == 0) return low_rank(argv + 2);
    if (strcmp(word, "table1") == 0) return table1(argv + 2);
    if (strcmp(word, "vibration") == 0) return vibration(argv + 2);
    if (strcmp(word, "bars") == 0) return bars(argv + 2);
    if (strcmp(word, "noisy-digits") == 0) return noisy_digits(argv + 2);
    if (strcmp(word, "layers") == 0) return layers(argv + 2);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        puts("usage: rfm-papers low-rank [train rows] [test rows] [seed]\n"
             "       rfm-papers table1 DATA.csv [--split FILE] [options]; see rfm-papers table1 --help\n"
             "       rfm-papers bars | noisy-digits | layers [options]; see rfm-papers bars --help\n"
             "       rfm-papers vibration [options]; see rfm-papers vibration --help");
        return 0;
    }
    usage("expected rfm-papers low-rank [train rows] [test rows] [seed], rfm-papers table1 DATA.csv [options], or "
          "rfm-papers bars, noisy-digits, layers or vibration");
}

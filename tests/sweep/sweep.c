/* The library on random cases against a plain reference, under the arena's red zones; ./run, ./soak. */
#include "networks.h"
#include "banks.h"
#include "signals.h"
#include "trees.h"

int main(int argc, char **argv) {
    static const part parts[] = {
        {"fits", fits_case, 150, 0},       {"algebra", algebra_case, 140, 0}, {"small", small_case, 120, 0},
        {"pairs", pairs_case, 150, 10000}, {"hyperbf", hyperbf_case, 100, 0}, {"tiny", tiny_case, 100, 0},
        {"certify", certify_case, 100, 0}, {"conv", conv_case, 100, 0},       {"filters", filters_case, 100, 0},
        {"tree", tree_case, 100, 0},       {"large", large_case, 100, 0},     {"signal", signal_case, 100, 0},
    };
    return run_parts(argc, argv, parts, LENGTH(parts));
}

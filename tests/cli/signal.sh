# Signals: filters, a small model of integers, its headers. Read by tests/cli/run, whose functions are used here.
# shellcheck shell=sh disable=SC2154,SC2086

dir=$out/signal
mkdir -p "$dir"

# 240 windows of 2 channels and 16 samples: noise, and at a random place a bump of 4 samples that is slow or fast. One table
# is channel by channel, the other sample by sample.
awk -v other="$dir/samples.csv" 'BEGIN {
    srand(7)
    for (c = 0; c < 2; c++) for (t = 0; t < 16; t++) printf "c%dt%d,", c, t
    print "kind"
    for (t = 0; t < 16; t++) for (c = 0; c < 2; c++) printf "c%dt%d,", c, t >other
    print "kind" >other
    for (i = 0; i < 240; i++) {
        fast = i % 2; place = int(13 * rand())
        for (c = 0; c < 2; c++) for (t = 0; t < 16; t++) x[c, t] = int(40 * rand()) - 20
        for (j = 0; j < 4; j++) x[0, place + j] += fast ? (j % 2 ? -90 : 90) : 90
        for (c = 0; c < 2; c++) for (t = 0; t < 16; t++) printf "%d,", x[c, t]
        print fast ? "fast" : "slow"
        for (t = 0; t < 16; t++) for (c = 0; c < 2; c++) printf "%d,", x[c, t] >other
        print fast ? "fast" : "slow" >other
    }
}' >"$dir/channels.csv"
awk 'BEGIN { for (i = 0; i < 240; i++) print (i >= 160) }' >"$dir/split"

signal="--signal 2,16 --filters 4 --taps 4 --centers 12 --split $dir/split $quick"
check 'signal' train "$dir/channels.csv" -o "$dir/model.rfm" --json $signal
same_text 'sizes of the bank' "$(field filters) $(field taps) $(field segments)" '4 4 1'
trained=$(field accuracy)
same_text 'a bump is told at any place' "$(awk "BEGIN { print (${trained:-0} >= 0.95) }")" 1
check 'sample by sample' train "$dir/samples.csv" -o "$dir/interleaved.rfm" --interleaved $signal
same 'the order of the columns does not matter' "$dir/model.rfm" "$dir/interleaved.rfm"
check 'signal, one thread' train "$dir/channels.csv" -o "$dir/one.rfm" --threads 1 --port scalar $signal
check 'signal, again' train "$dir/channels.csv" -o "$dir/again.rfm" --threads 1 --port scalar $signal
same 'the same every time' "$dir/one.rfm" "$dir/again.rfm"
check 'evaluate a signal' "$rfm" evaluate "$dir/model.rfm" "$dir/samples.csv" --split "$dir/split" --json --quiet
same_text 'evaluate says what train did' "$(field accuracy) $(field type)" "$trained filters"
check 'info of a signal' "$rfm" info "$dir/model.rfm"
says 'info of a signal' '^signal +2 channels of 16 samples'
says 'info of a signal' '^pooled +max, energy in 1 segment: 8 features'
check 'predict a signal' "$rfm" predict "$dir/model.rfm" "$dir/samples.csv" -o "$dir/labels" --quiet

# Both headers say what rfm predict says, of integers as the table has them.
check 'header of a signal' "$rfm" export "$dir/model.rfm" --name bumps -o "$dir/bumps.h" --quiet
check 'standalone of a signal' "$rfm" export "$dir/model.rfm" --standalone --name alone -o "$dir/alone.h" --quiet
cat >"$dir/program.c" <<'END'
#include <stdio.h>
#include "bumps.h"
#include "alone.h"
int main(void) {
    static int16_t x[BUMPS_WINDOW], scratch[BUMPS_SCRATCH];
    int32_t scores[BUMPS_OUTPUTS];
    rfm_filters m;
    int value;
    size_t i;
    if (rfm_filters_open(bumps, BUMPS_BYTES, &m) != RFM_OK) return 1;
    while (scanf("%d", &value) == 1) {
        for (i = 0; i < BUMPS_WINDOW; i++) {
            x[i] = (int16_t)value;
            if (i + 1 < BUMPS_WINDOW && scanf(",%d", &value) != 1) return 2;
        }
        scanf(",%*s");
        if (rfm_filters_predict(&m, x, scores, scratch, NULL, NULL) != RFM_OK) return 3;
        if (rfm_class_i(&m.model, scores) != alone_classify_window(x)) return 4;
        puts(bumps_class_names[rfm_class_i(&m.model, scores)]);
    }
    return 0;
}
END
check 'the headers of a signal compile' "$cc" -std=c99 -Wall -Wextra -Wno-unused-result -Werror -DRFM_NO_TRAIN -Irfm -I"$dir" -o "$dir/program" \
    "$dir/program.c" rfm/rfm.c rfm/rfm_small.c rfm/rfm_filters.c -lm
sed 1d "$dir/channels.csv" | "$dir/program" >"$dir/firmware"
same 'firmware and command agree' "$dir/labels" "$dir/firmware"

bad() { # what, status, message, options
    what=$1 want=$2 words=$3
    shift 3
    refuse "$what" "$want" "$words" "$rfm" train "$dir/channels.csv" -o "$out/refused.rfm" --quiet $quick "$@"
}
bad 'a window of other sizes' 1 '32 inputs, expected 30: 2 channels of 15 samples' --signal 2,15
bad 'no window' 2 'signal: expected C,Q' --signal 2x16
bad 'no channels' 2 'signal: expected C,Q' --signal 0,16
bad 'taps' 2 'taps: expected 1 to 16' --signal 2,16 --taps 17
bad 'filters' 2 'filters: expected 1 to 8' --signal 2,16 --taps 4 --filters 9
bad 'segments' 2 'segments: expected 1 to 13' --signal 2,16 --taps 4 --segments 14
bad 'taps alone' 2 'expected --signal' --taps 4
bad 'a network kernel' 2 'expected a kernel of distances' --signal 2,16 --kernel ntk
bad 'a network' 2 'method: expected exact' --signal 2,16 --method hyperbf
bad 'one-hot' 2 'one-hot: expected no --signal' --signal 2,16 --one-hot
refuse 'compress a signal' 1 'a model of integers' "$rfm" compress "$dir/model.rfm" --data "$dir/channels.csv" -o "$out/refused.rfm" --rank 1
refuse 'report of a signal' 1 'a bank of filters' "$rfm" report "$dir/model.rfm" --data "$dir/channels.csv" -o "$dir/page.html"
refuse 'certificates of a signal' 1 'no certificates' "$rfm" predict "$dir/model.rfm" "$dir/channels.csv" --certify

# Features of sensors: from a recording to the table, the model, the header and its self-test. Read by tests/cli/run, whose
# functions are used here.
# shellcheck shell=sh disable=SC2154,SC2086

dir=$out/features
mkdir -p "$dir"

# Two channels, three states of 40 samples each, twice; a is an integer, b is a with an offset, in quarters. The last state
# ends in the middle of a window.
awk 'BEGIN {
    srand(11)
    print "a,b,state"
    for (p = 0; p < 6; p++) for (i = 0; i < 40 - 3 * (p == 5); i++) {
        s = p % 3; a = int((s + 1) * 40 * (2 * rand() - 1)) + 10 * s
        printf "%d,%.2f,%s\n", a, a / 4 - 7, s == 0 ? "low" : s == 1 ? "mid" : "high"
    }
}' >"$dir/recording.csv"
features="$rfm features $dir/recording.csv"

# The table, by another program: means are rounded with halves up, no window has two states, windows are 8 long, 4 apart.
awk -F, 'NR == 1 { print "a_mean,a_min,a_max,a_zero,state"; next }
    $3 != state { state = $3; n = 0 }
    {
        x[n++] = $1
        if (n < 8 || (n - 8) % 4 != 0) next
        sum = 0; zero = 0; low = high = x[n - 8]
        for (i = n - 8; i < n; i++) {
            sum += x[i]; if (x[i] < low) low = x[i]; if (x[i] > high) high = x[i]
            if (i > n - 8 && (x[i] < 0) != (x[i - 1] < 0)) zero++
        }
        mean = (sum + 4) / 8; floor = int(mean); if (floor > mean) floor--
        printf "%d,%d,%d,%d,%s\n", floor, low, high, zero, state
    }' "$dir/recording.csv" >"$dir/expected.csv"
check 'features' $features --window 8 --step 4 --spec 'a: mean min max zero' -o "$dir/table.csv"
same 'the table is that of another program' "$dir/table.csv" "$dir/expected.csv"
same_text 'what is cut off is said' "$(grep -c '^rfm: 1 samples came behind the last whole window' "$out/stderr")" 1
check 'features to standard output' $features --window 8 --step 4 --spec 'a: mean min max zero' --quiet
same 'the same table' "$dir/table.csv" "$out/stdout"
check 'like a file' $features --like "$dir/table.signal" -o "$dir/like.csv" -q
same 'like a file' "$dir/table.csv" "$dir/like.csv"
# Quarters become integers by the largest power of two that leaves them at most half of 16 bits.
check 'quarters' $features --window 8 --spec 'b: max' -q
same_text 'the largest of a window' "$(sed -n 2p "$out/stdout" | cut -d, -f1)" \
    "$(awk -F, 'NR > 1 { size = $2 < 0 ? -$2 : $2; if (size > far) far = size } NR > 1 && NR < 10 && (NR == 2 || $2 > most) { most = $2 }
        END { for (e = 1; far * e * 2 < 16384; ) e *= 2; print most * e }' "$dir/recording.csv")"
check 'reals' $features --window 8 --spec 'b: max' --reals -q
same_text 'the largest of a window, as it is' "$(sed -n 2p "$out/stdout" | cut -d, -f1)" \
    "$(awk -F, 'NR > 1 && NR < 10 && (NR == 2 || $2 > most) { most = $2 } END { print most + 0 }' "$dir/recording.csv")"
check 'windows of one sample' $features --window 1 --step 1 --spec 'a: mean' -q
same_text 'each sample is a window' "$(tail -n +2 "$out/stdout" | cut -d, -f1 | cksum)" "$(tail -n +2 "$dir/recording.csv" | cut -d, -f1 | cksum)"
check 'two recordings' "$rfm" features "$dir/recording.csv" "$dir/recording.csv" --window 8 --step 4 --spec 'a: mean min max zero' -q
same_text 'they do not run into each other' "$(sed 1d "$out/stdout" | cksum)" "$( (sed 1d "$dir/table.csv"; sed 1d "$dir/table.csv") | cksum)"

refuse 'no spec' 2 'expected --window N and --spec TEXT, or --like' $features --window 8
refuse 'a window of 0' 2 'window: expected 1 to 32767 samples, found 0' $features --window 0 --spec 'a: mean'
refuse 'a step of 0' 2 'step: expected 1 to 65535' $features --window 8 --step 0 --spec 'a: mean'
refuse 'an unknown word' 2 'spec: unknown word: "meen", at character 9 of "a: mean meen"' $features --window 8 --spec 'a: mean meen'
refuse 'an unknown channel' 2 'spec: no such channel: "c", at character 4' $features --window 8 --spec 'a, c: mean'
refuse 'no power of two' 2 'a spectrum needs a window that is a power of two: "fft4"' $features --window 12 --spec 'a: fft4'
refuse 'a spectrum of one sample' 2 'a spectrum needs a window of 4 to 4096' $features --window 1 --spec 'a: fft1'
refuse 'a recording without a window' 1 'no window of 64 samples' $features --window 64 --spec 'a: mean' -o "$out/refused.rfm"
refuse 'no such target' 1 'no column "nix", expected one for --target' $features --window 8 --spec 'a: mean' --target nix
sed '1s/^a,/accel,/' "$dir/recording.csv" >"$dir/named.csv"
refuse 'a target, misspelt' 1 'no column "acel", expected one for --target; did you mean accel\?' "$rfm" features "$dir/named.csv" --window 8 --spec 'b: mean' --target acel
refuse 'like a table' 1 'a model of a table, expected' $features --like "$out/two.rfm"
refuse 'like, and a spec' 2 'like: expected none of --window' $features --like "$dir/table.signal" --window 8
sed '5s/^[^,]*/x/' "$dir/recording.csv" >"$dir/hole.csv"
refuse 'a sample that is no number' 1 'hole.csv: line 5, column 1 \(a\): expected a number, for a window has all its samples' \
    "$rfm" features "$dir/hole.csv" --window 8 --spec 'a: mean'

# Names of 700 characters that differ in the last one.
long=$(awk 'BEGIN { for (i = 0; i < 699; i++) printf "n" }')
sed "1s/.*/${long}a,${long}b,state/" "$dir/recording.csv" >"$dir/long.csv"
check 'long names' "$rfm" features "$dir/long.csv" --window 8 --step 4 --spec '*: min max' -o "$dir/wide.csv" -q
same_text 'long names are whole' "$(head -n 1 "$dir/wide.csv")" "${long}a_min,${long}a_max,${long}b_min,${long}b_max,state"
check 'train on long names' train "$dir/wide.csv" -o "$dir/wide.rfm" $quick
check 'info of long names' "$rfm" info "$dir/wide.rfm"
says 'info of long names' ': windows of 8 samples, one every 4; 4 features in integers'

# ---- the model and its header ------------------------------------------------------------------------------------------

check 'features to train on' $features --window 8 --step 2 --spec '*: std; a: min max fft2 zero' -o "$dir/train.csv" -q
check 'train on features' train "$dir/train.csv" -o "$dir/model.rfm" $quick
check 'info of sensors' "$rfm" info "$dir/model.rfm"
says 'info of sensors' '^sensors +a, b times 2\^[0-9]+: windows of 8 samples, one every 2; 7 features in integers'
check 'like a model' $features --like "$dir/model.rfm" -o "$dir/like.csv" -q
same 'like a model' "$dir/train.csv" "$dir/like.csv"
check 'compress to integers' "$rfm" compress "$dir/model.rfm" --data "$dir/train.csv" --type i8 --centers 20 --features 5 -o "$dir/i8.rfm" -q
check 'compress to a tiny model' "$rfm" compress "$dir/model.rfm" --data "$dir/train.csv" --type tiny --centers 9 --rank 3 -o "$dir/tiny.rfm" -q
sed '1s/a_min/a_other/' "$dir/train.csv" >"$dir/changed.csv"
cp "$dir/train.signal" "$dir/changed.signal"
check 'other columns' timeout 100 "$rfm" train "$dir/changed.csv" -o "$dir/changed.rfm" $quick
same_text 'a signal that does not fit is not kept' "$(grep -c 'changed.signal: not kept in the model' "$out/stderr")" 1
echo nonsense >"$dir/changed.signal"
refuse 'a signal that is none' 1 'changed.signal: expected what rfm features writes' "$rfm" train "$dir/changed.csv" -o "$out/refused.rfm" $quick

# A program that makes the features of the recording itself, and predicts; by the library, or standalone.
cat >"$dir/program.c" <<'END'
#include <stdio.h>
#include "rfm_signal.h"
#include "header.h"
int main(void) {
    RFM_ALIGNED static unsigned char memory[SENSE_STREAM_BYTES(0)];
    static int16_t features[SENSE_FEATURES], sample[SENSE_CHANNELS];
    static X x[SENSE_INPUTS];
    rfm_signal signal;
    rfm_stream stream;
    char state[16], before[16] = "";
    int a, failed = sense_self_test();
    double b;
    if (failed != 0) return printf("self-test %d\n", failed), 3;
    if (rfm_signal_open(sense_signal, sizeof sense_signal, &signal) != RFM_OK) return 1;
    if (rfm_stream_init(&stream, &signal, 0, memory, sizeof memory) != RFM_OK) return 2;
    while (scanf("%d,%lf,%15s", &a, &b, state) == 3) {
        int i;
        for (i = 0; state[i] == before[i] && state[i] != 0; i++) continue;
        if (state[i] != before[i]) rfm_stream_reset(&stream);
        for (i = 0; i < 16; i++) before[i] = state[i];
        sample[0] = (int16_t)a, sample[1] = (int16_t)(b * (1 << signal.exponents[1]));
        if (rfm_stream_push_i(&stream, sample) != RFM_OK) return 4;
        if (rfm_stream_take_i(&stream, features) != RFM_OK) continue;
        sense_inputs(features, x);
        puts(sense_class_names[CLASS]);
    }
    return 0;
}
END
use() { # model, type of an input, expression of the class, what it needs, options of export
    check "vectors of $1 $5" "$rfm" export "$dir/$1.rfm" --name sense --data "$dir/train.csv" --vectors 7 -o "$dir/header.h" -q $5
    check "predict $1" "$rfm" predict "$dir/$1.rfm" "$dir/train.csv" -q -o "$dir/labels"
    check "program of $1 $5" "$cc" -std=c99 -Wall -Wextra -Wpedantic -Werror -ffp-contract=off -DX=$2 "-DCLASS=$3" -Irfm -I"$dir" \
        "$dir/program.c" $4 "$build/librfm.a" -lm -o "$dir/program"
    tail -n +2 "$dir/recording.csv" >"$dir/samples"
    check "run of $1 $5" sh -c '"$1" <"$2" >"$3"' run "$dir/program" "$dir/samples" "$dir/printed"
    same "the features and classes of $1 $5 are those of the command" "$dir/printed" "$dir/labels"
    # One expected score is another one: the self-test says which.
    awk '/_expected\[/ { on = 1; print; next } on { sub(/-?[0-9.e+-]+f?,/, "777777.0f,"); on = 0 } { print }' "$dir/header.h" |
        sed 's/777777\.0f,/777777,/' >"$dir/wrong.h"
    mv "$dir/wrong.h" "$dir/header.h"
    check "program of $1 $5 with a wrong score" "$cc" -std=c99 -DX=$2 "-DCLASS=$3" -Irfm -I"$dir" "$dir/program.c" $4 "$build/librfm.a" -lm -o "$dir/program"
    "$dir/program" </dev/null >"$dir/printed"
    same_text "the self-test of $1 $5 finds it" "$(cat "$dir/printed")" 'self-test 1'
}
opened() { # file of helper, type of the model, open, predict, class, type of scores, of scratch
    cat >"$dir/$1" <<END
static $7 sense_scratch_[SENSE_SCRATCH];
static size_t class_of(const X *x) {
    $2 m;
    $6 scores[SENSE_OUTPUTS];
    if ($3(sense, SENSE_BYTES, &m) != RFM_OK || $4 != RFM_OK) return 0;
    return $5;
}
END
}
opened real.h rfm_model rfm_model_open 'rfm_predict_one(&m, x, scores, sense_scratch_, NULL, NULL)' 'rfm_class(&m, scores, NULL)' rfm_real rfm_real
opened i8.h rfm_model_i rfm_model_open_i 'rfm_predict_i(&m, x, scores, sense_scratch_, NULL, NULL)' 'rfm_class_i(&m, scores)' int32_t int16_t
opened tiny.h rfm_tiny rfm_tiny_open 'rfm_tiny_predict(&m, x, scores, sense_scratch_, NULL)' 'rfm_tiny_class(&m, scores)' int32_t int8_t
sed -i 's/#include "header.h"/#include "header.h"\n#include HELPER/' "$dir/program.c"
echo >"$dir/none.h"
use model rfm_real 'class_of(x)' '-DHELPER="real.h"' ''
use i8 int16_t 'class_of(x)' '-DHELPER="i8.h"' ''
use tiny int16_t 'class_of(x)' '-DHELPER="tiny.h"' ''
use i8 int16_t 'sense_classify(x)' '-DHELPER="none.h"' --standalone
use tiny int16_t 'sense_classify(x)' '-DHELPER="none.h"' --standalone
use model float 'sense_classify(x)' '-DHELPER="none.h"' --standalone

refuse 'vectors without data' 2 'expected --vectors N and --data DATA.csv together' "$rfm" export "$dir/i8.rfm" --vectors 3 -o "$out/refused.rfm"
refuse 'no vectors' 2 'vectors: expected at least 1' "$rfm" export "$dir/i8.rfm" --vectors 0 --data "$dir/train.csv" -o "$out/refused.rfm"
refuse 'more vectors than rows' 1 'rows without an empty cell, expected --vectors 100000' \
    "$rfm" export "$dir/i8.rfm" --vectors 100000 --data "$dir/train.csv" -o "$out/refused.rfm"

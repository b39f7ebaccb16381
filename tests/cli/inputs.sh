# Inputs that are made of columns in other ways than as they are: clipped, by ranks. Part of tests/cli/run.
# shellcheck shell=sh disable=SC2154,SC2086

dir=$out/inputs
mkdir -p "$dir"

# a and b are lognormal with a few values far out, c is even, f is 0 or 1, t a time, w a text; some cells are missing.
awk 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.28318530717958 * rand()) }
    BEGIN { srand(5); print "a,b,c,f,t,w,target" >"'"$dir/skewed.csv"'"; print "a,b,c,target" >"'"$dir/even.csv"'"
    print "a,b,c,f,t,w,target" >"'"$dir/labels.csv"'"; print "p,q,target" >"'"$dir/few.csv"'"
    for (i = 0; i < 260; i++) {
        u = normal(); v = normal(); c = rand(); f = rand() < 0.5; t = int(1e5 * rand()); w = rand() < 0.5 ? "red" : "blue"
        a = exp(2 * u) * (rand() < 0.03 ? 1e4 : 1); b = exp(1.5 * v)
        y = u + sin(2 * v) + (w == "red") + 0.1 * normal()
        line = (i % 29 == 3 ? "" : sprintf("%.6g", a)) "," sprintf("%.6g,%.4f,%d,%d,%s", b, c, f, t, w)
        print line "," sprintf("%.5f", y) >"'"$dir/skewed.csv"'"
        print line "," (y > 0.5 ? "up" : "down") >"'"$dir/labels.csv"'"
        d = rand(); e = rand()
        printf "%.4f,%.4f,%.4f,%.5f\n", c, d, e, sin(4 * c) + d * d + 0.05 * normal() >"'"$dir/even.csv"'"
        if (i < 120) printf "%d,%.5f,%.4f\n", int(exp(3 * rand())), exp(2 * v), u + v >"'"$dir/few.csv"'"
    } }'
fixed='--kernel laplace --metric diag --bandwidth 2m --ridge 1e-2 --iterations 1'
some='--kernel laplace --metric diag'

# ---- what the search decides -----------------------------------------------------------------------------------------

check 'skewed columns' "$rfm" train "$dir/skewed.csv" -o "$dir/auto.rfm" $some --json
says 'skewed columns: ranks are chosen' '"transform": "(ranks|both)"'
noted 'skewed columns: it is said' '^rfm: inputs: (ranks|both) do better on held-out rows, of 4 columns'
check 'skewed columns: info' "$rfm" info "$dir/auto.rfm"
says 'skewed columns: what is in the model' '^input +a:rank: the rank of a among the training rows, 0 to 1, by 33 knots$'
says 'skewed columns: the option' '^trained with .* --inputs (ranks|both) '
check 'even columns' "$rfm" train "$dir/even.csv" -o "$dir/t.rfm" $some --json
says 'even columns stay' '"features": 3, .*"transform": "standard"'
not_noted 'even columns: nothing is said' 'inputs:'
check 'standard, asked for' train "$dir/skewed.csv" -o "$dir/t.rfm" $some --inputs standard --json
says 'standard, asked for' '"transform": "standard"'
check 'raw columns stay' train "$dir/skewed.csv" -o "$dir/t.rfm" $some --raw --iterations 0 --json
says 'raw columns stay' '"transform": "standard"'
check 'a fit without a search' train "$dir/skewed.csv" -o "$dir/t.rfm" $fixed --json
says 'a fit without a search' '"transform": "standard"'
check 'folds choose for themselves' train "$dir/skewed.csv" -o "$dir/t.rfm" $some --iterations 0 --cv 2 --json
says 'folds choose for themselves' '"cv": {"folds": 2, "r2": 0\.[6-9]'
check 'a mean of models' "$rfm" train "$dir/skewed.csv" -o "$dir/t.rfm" --iterations 1 --bandwidth 2m --ridge 1e-2 --models auto --json
says 'a mean of models: ranks' '"transform": "(ranks|both)"'
check 'a mean of models: evaluate' "$rfm" evaluate "$dir/t.rfm" "$dir/skewed.csv" --json
says 'a mean of models: evaluate' '"r2": 0\.9'
check 'a mean of models: info' "$rfm" info "$dir/t.rfm"
says 'a mean of models: info' '^input +a:rank: the rank of a among the training rows'

# ---- the numbers, computed elsewhere ---------------------------------------------------------------------------------

# p has few values: ranks at each of them. q has 120: at 33 quantiles, straight between them. Clipped: the second lowest
# and the second highest of 120.
awk -F, -v OFS=, -v ranks="$dir/ranks.csv" -v clipped="$dir/clipped.csv" '
    function below(v, n, x,   i, low, equal) { for (i = 1; i <= n; i++) { low += v[i] < x; equal += v[i] == x }; return (low + equal / 2) / n }
    function sort(v, n,   i, j, x) { for (i = 2; i <= n; i++) { x = v[i]; for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]; v[j + 1] = x } }
    NR > 1 { n++; p[n] = sp[n] = $1 + 0; q[n] = sq[n] = $2 + 0; y[n] = $3 }
    END {
        sort(sp, n); sort(sq, n)
        for (i = 0; i < 33; i++) { x[i] = sq[1 + int(i * (n - 1) / 32)]; r[i] = below(sq, n, x[i]) }
        print "p,q,target" >ranks; print "p,q,target" >clipped
        for (i = 1; i <= n; i++) {
            for (k = 0; k < 31 && q[i] >= x[k + 1]; k++) continue
            printf "%.17g,%.17g,%s\n", below(sp, n, p[i]), r[k] + (q[i] - x[k]) / (x[k + 1] - x[k]) * (r[k + 1] - r[k]), y[i] >ranks
            printf "%.17g,%.17g,%s\n", (p[i] < sp[2] ? sp[2] : p[i] > sp[n - 1] ? sp[n - 1] : p[i]), (q[i] < sq[2] ? sq[2] : q[i] > sq[n - 1] ? sq[n - 1] : q[i]), y[i] >clipped
        } }' "$dir/few.csv"
near() { # what, file, file: numbers that differ by at most 1e-4
    same_text "$1" "$(paste -d ' ' "$2" "$3" | awk '{ d = $1 - $2; if (d * d > 1e-8 || NF != 2) n++ } END { print n + 0, (NR > 0) }')" '0 1'
}
for way in ranks clipped; do
    check "$way" train "$dir/few.csv" -o "$dir/t.rfm" $fixed --inputs $way
    check "$way by hand" train "$dir/$way.csv" -o "$dir/hand.rfm" $fixed --inputs standard
    "$rfm" predict "$dir/t.rfm" "$dir/few.csv" --quiet >"$dir/after.txt"
    "$rfm" predict "$dir/hand.rfm" "$dir/$way.csv" --quiet >"$dir/before.txt"
    near "$way: as by hand" "$dir/before.txt" "$dir/after.txt"
done
# What is beyond the ends is taken as the end: so far out both rows are one.
printf 'p,q\n1e9,-1e9\n' >"$dir/out.csv"
awk -F, -v OFS=, 'NR == 1 { print "p,q"; next } { if (NR == 2 || $1 > p) p = $1; if (NR == 2 || $2 < q) q = $2 } END { print p, q }' "$dir/few.csv" >"$dir/end.csv"
"$rfm" predict "$dir/t.rfm" "$dir/out.csv" --quiet >"$dir/after.txt"
"$rfm" predict "$dir/t.rfm" "$dir/end.csv" --quiet >"$dir/before.txt"
same 'beyond the ends' "$dir/before.txt" "$dir/after.txt"

# ---- every way through every command ---------------------------------------------------------------------------------

# A C program that reads rows of columns, makes x of them and prints what the header predicts.
cat >"$dir/main.c" <<'END'
#include <stdio.h>
#include "header.h"
int main(void) {
    static float columns[PROBE_COLUMNS], x[PROBE_INPUTS];
    unsigned i = 0;
    while (scanf("%f", &columns[i]) == 1)
        if (++i == PROBE_COLUMNS) {
            i = 0;
            probe_inputs(columns, x);
#ifdef PROBE_CLASSES
            puts(probe_class_names[probe_classify(x)]);
#else
            {
                float y[PROBE_OUTPUTS];
                probe_predict(x, y);
                printf("%.9g\n", y[0]);
            }
#endif
        }
    return probe_self_test();
}
END
sed 's/probe_classify(x)/probe_classify_floats(x)/; s/probe_predict(x, y)/probe_predict_floats(x, y)/' "$dir/main.c" >"$dir/integers.c"
for way in clipped ranks both; do
    for data in skewed labels; do
        check "$way: train, $data" train "$dir/$data.csv" -o "$dir/$way.rfm" $fixed --inputs $way --test "$dir/$data.csv" --json
        says "$way: train, $data" "\"transform\": \"$way\", .*\"(r2|accuracy)\": (1|0\.[89])"
        check "$way: evaluate, $data" "$rfm" evaluate "$dir/$way.rfm" "$dir/$data.csv" --json
        says "$way: evaluate, $data" '"rows_test": 260, "rows_seen": 260,.*"(r2|accuracy)": (1|0\.[89])'
    done
    check "$way: info" "$rfm" info "$dir/$way.rfm"
    [ $way = clipped ] || says "$way: missing cells, texts and two values stay" '^trained with'
    check "$way: report" "$rfm" report "$dir/$way.rfm" --data "$dir/labels.csv" -o "$dir/t.html"
    check "$way: compress fits anew" "$rfm" compress "$dir/$way.rfm" --data "$dir/labels.csv" --budget 3000 -o "$dir/small.rfm" --quiet
    # The rows without a missing cell, as numbers: the columns that the header asks for.
    awk -F, -v OFS=, 'NR == 1 || $1 != ""' "$dir/labels.csv" >"$dir/whole.csv"
    awk -F, 'NR > 1 { print $1, $2, $3, $4, $5, ($6 == "blue"), ($6 == "red") }' "$dir/whole.csv" >"$dir/whole.txt"
    for type in f32 i8 i16 tiny; do
        main=integers shape=
        [ $type = f32 ] && main=main
        [ $type = tiny ] && shape='--rank 3'
        check "$way: compress to $type" "$rfm" compress "$dir/$way.rfm" --data "$dir/labels.csv" --type $type --centers 40 $shape -o "$dir/small.rfm" --quiet
        check "$way: evaluate $type" "$rfm" evaluate "$dir/small.rfm" "$dir/labels.csv" --json
        says "$way: evaluate $type" '"rows_seen": 260,.*"accuracy": (1|0\.[789])'
        check "$way: export $type" "$rfm" export "$dir/small.rfm" -o "$dir/header.h" --name probe --standalone --vectors 20 --data "$dir/labels.csv"
        check "$way: $type compiles" $cc -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wdouble-promotion -Werror -o "$dir/probe" "$dir/$main.c"
        check "$way: $type, self-test" sh -c "'$dir/probe' <'$dir/whole.txt' >'$dir/after.txt'"
        "$rfm" predict "$dir/small.rfm" "$dir/whole.csv" --quiet >"$dir/before.txt"
        same_text "$way: $type, predictions of the header" "$(paste -d ' ' "$dir/before.txt" "$dir/after.txt" | awk '$1 != $2 { n++ } END { print (n <= 2), (NR > 240) }')" '1 1'
    done
    check "$way: export" "$rfm" export "$dir/$way.rfm" -o "$dir/header.h" --name probe --vectors 20 --data "$dir/labels.csv"
    check "$way: it compiles" $cc -std=c99 -Wall -Wextra -Wconversion -Werror -DRFM_NO_TRAIN -Irfm -I"$dir" -o "$dir/probe" -x c - rfm/rfm.c -lm <<'END'
#include "header.h"
int main(void) { return probe_self_test(); }
END
    check "$way: self-test" "$dir/probe"
done
check 'fewer inputs' "$rfm" compress "$dir/both.rfm" --data "$dir/labels.csv" --features 3 --type i8 -o "$dir/small.rfm" --quiet
check 'fewer inputs: evaluate' "$rfm" evaluate "$dir/small.rfm" "$dir/labels.csv" --json
says 'fewer inputs: evaluate' '"rows_seen": 260, "features": 3'

# ---- other methods, tables in other forms ----------------------------------------------------------------------------

for method in large tree hyperbf; do
    check "ranks: $method" train "$dir/skewed.csv" -o "$dir/t.rfm" $fixed --method $method --inputs ranks --json
    says "ranks: $method" '"transform": "ranks"'
    check "ranks: $method, evaluate" "$rfm" evaluate "$dir/t.rfm" "$dir/skewed.csv" --json
    says "ranks: $method, evaluate" '"r2": 0\.[6-9]'
    check "ranks: $method, export" "$rfm" export "$dir/t.rfm" -o "$dir/header.h" --name probe
    same_text "ranks: $method, the header has the tables" "$(grep -c 'void probe_inputs' "$dir/header.h")" 1
done
check 'ranks: in passes' train "$dir/skewed.csv" -o "$dir/passes.rfm" $fixed --method large --in-passes --inputs ranks
check 'ranks: in memory' train "$dir/skewed.csv" -o "$dir/memory.rfm" $fixed --method large --inputs ranks
"$rfm" predict "$dir/passes.rfm" "$dir/skewed.csv" --quiet >"$dir/after.txt"
"$rfm" predict "$dir/memory.rfm" "$dir/skewed.csv" --quiet >"$dir/before.txt"
near 'ranks: passes' "$dir/before.txt" "$dir/after.txt"
check 'ranks: sums' "$rfm" sums "$dir/memory.rfm" "$dir/skewed.csv" -o "$dir/t.sums"
check 'ranks: merge' "$rfm" merge "$dir/t.sums" -o "$dir/merged.rfm"
"$rfm" predict "$dir/merged.rfm" "$dir/skewed.csv" --quiet >"$dir/after.txt"
near 'ranks: merge' "$dir/before.txt" "$dir/after.txt"
tail -n +2 "$dir/few.csv" >"$dir/bare.csv"
check 'ranks: no header' train "$dir/bare.csv" --no-header -o "$dir/t.rfm" $fixed --inputs ranks
"$rfm" predict "$dir/t.rfm" "$dir/bare.csv" --no-header --quiet >"$dir/after.txt"
check 'ranks: a header' train "$dir/few.csv" -o "$dir/t.rfm" $fixed --inputs ranks
"$rfm" predict "$dir/t.rfm" "$dir/few.csv" --quiet >"$dir/before.txt"
same 'ranks: no header' "$dir/before.txt" "$dir/after.txt"
sed '1s/q/p:rank/' "$dir/few.csv" >"$dir/v.csv"
check 'a column with the name of a rank' train "$dir/v.csv" -o "$dir/t.rfm" $fixed --inputs both
"$rfm" info "$dir/t.rfm" --json >"$out/stdout"
says 'a column with the name of a rank' '"inputs": \["p", "p:rank", "p:rank:rank"\]'
printf 'a,b,target\n0,1,1\n1,1,2\n0,2,3\n1,2,4\n' >"$dir/v.csv"
check 'two values stay' "$rfm" train "$dir/v.csv" -o "$dir/t.rfm" $fixed --task regress --inputs ranks --json
says 'two values stay' '"transform": "standard"'
noted 'two values stay' 'inputs ranks changes no column: none has three different numbers'

# A Unix time, which float would lose: of a table of knots nothing is lost but in firmware, and that is said.
for way in clipped ranks both; do
    awk -F, -v OFS=, 'NR > 1 { $5 += 1700000000 } { print }' "$dir/skewed.csv" >"$dir/unix.csv"
    check "$way: a Unix time" train "$dir/unix.csv" -o "$dir/unix.rfm" $fixed --inputs $way
    check "$way: a time" train "$dir/skewed.csv" -o "$dir/t.rfm" $fixed --inputs $way
    "$rfm" predict "$dir/unix.rfm" "$dir/unix.csv" --quiet >"$dir/after.txt"
    "$rfm" predict "$dir/t.rfm" "$dir/skewed.csv" --quiet >"$dir/before.txt"
    near "$way: a Unix time is a time" "$dir/before.txt" "$dir/after.txt"
    check "$way: a Unix time, exported" "$rfm" export "$dir/unix.rfm" -o "$dir/header.h" --standalone --name probe --vectors 20 --data "$dir/unix.csv"
    noted "$way: a Unix time, exported" 'input [0-9]* \(t:[a-z]*\): as float the numbers of its column are too coarse'
    check "$way: a Unix time, compiled" $cc -std=c99 -o "$dir/probe" "$dir/main.c"
    check "$way: a Unix time, self-test" "$dir/probe" </dev/null
done

# ---- wrong words, models that are damaged ----------------------------------------------------------------------------

refuse 'no such way' 2 '--inputs: expected one of standard, clipped, ranks, both, auto, found "normal"' "$rfm" train "$dir/even.csv" -o "$out/refused.rfm" --inputs normal
refuse 'ways of images' 2 '--image and --signal: expected --inputs standard or auto' "$rfm" train "$dir/even.csv" -o "$out/refused.rfm" --inputs ranks --image 1x3
refuse 'ways of predict' 2 'no option.* --inputs|--inputs.*no option' "$rfm" predict "$dir/t.rfm" "$dir/even.csv" --inputs ranks
check 'a program that damages tables' $cc -std=c99 -Irfm -o "$dir/damage" tests/cli/knots.c "$build/librfm.a" -lm
check 'damage: none' "$dir/damage" "$dir/both.rfm" "$dir/bad.rfm" 1 same
"$rfm" predict "$dir/bad.rfm" "$dir/labels.csv" --quiet >"$dir/after.txt"
"$rfm" predict "$dir/both.rfm" "$dir/labels.csv" --quiet >"$dir/before.txt"
same 'damage: none' "$dir/before.txt" "$dir/after.txt"
for damage in '0 1' '0 65' '0 2.5' '0 nan' '0 32' '0 34' '1 1e9' '1 nan' '1 -1e200' '2 -1e100' '34 0.9' '40 nan' '66 inf'; do
    "$dir/damage" "$dir/both.rfm" "$dir/bad.rfm" $damage
    for command in "predict $dir/bad.rfm $dir/labels.csv" "evaluate $dir/bad.rfm $dir/labels.csv" "export $dir/bad.rfm -o $out/refused.rfm" "info $dir/bad.rfm"; do
        refuse "damage: $damage, ${command%% *}" 1 'bad.rfm: expected a table of knots for each input that needs one' "$rfm" $command
    done
done

# Trees of leaf machines: --method tree, and what the other commands do with such a model. Read by tests/cli/run after
# large.sh, whose tables are used here.
# shellcheck shell=sh disable=SC2154,SC2086

set_tree='--metric diag --bandwidth 2m --ridge 1e-3 --iterations 1 --method tree --leaf-rows 150 --trees 1'
check 'tree' train "$dir/all.csv" -o "$dir/tree.rfm" $set_tree --test "$dir/all.csv" --json
says 'tree: what it is' '"method": "tree", "trees": 1, "leaves": 8, "depth": 3,'
says 'tree: it has learned' '"r2": 0\.9[89]'
check 'tree: text' train "$dir/all.csv" -o "$dir/again.rfm" $set_tree --threads 2
says 'tree: text' '^method +tree: 8 leaves in a tree of 1170 rows, 3 splits deep; .* routing.*; 130 more rows are held out for that choice$'
same 'tree: two threads' "$dir/tree.rfm" "$dir/again.rfm"
check 'tree: several' train "$dir/all.csv" -o "$dir/trees.rfm" $set_tree --trees 2 --json
says 'tree: several' '"trees": 2, "leaves": 16,'
check 'tree: a search' train "$dir/one.csv" -o "$dir/t.rfm" --method tree --leaf-rows 200 --kernel laplace --metric diag --iterations 1
says 'tree: a search' '^validation +r2 0\.9[0-9]* on 50 held-out training rows'
check 'tree: few rows' train "$out/two.csv" -o "$dir/t.rfm" $set_tree
says 'tree: few rows' '^method +tree: 1 leaves in a tree of 108 rows, 0 splits deep; hard routing; 12 more rows'
check 'tree: info' "$rfm" info "$dir/tree.rfm"
says 'tree: info' '^tree +8 leaves of 14[67] to 14[67] rows'
check 'tree: info as JSON' "$rfm" info "$dir/tree.rfm" --json
says 'tree: info as JSON' '"nodes": 7, "leaves": 8, .*"inputs": \["a", "b", "c"\]'
refuse 'tree: no metric' 1 'a tree has a metric in each leaf' "$rfm" info "$dir/tree.rfm" --metric
check 'tree: evaluate' "$rfm" evaluate "$dir/tree.rfm" "$dir/all.csv"
says 'tree: evaluate' '^r2 +0\.9[89]'
says 'tree: it knows its rows' '^trained on +1300 of them'
check 'tree: predict' "$rfm" predict "$dir/tree.rfm" "$dir/one.csv" -o "$dir/tree.txt"
same_text 'tree: a line for each row' "$(wc -l <"$dir/tree.txt" | tr -d ' ')" 499

# Above 20000 rows: centres and tree are compared, and a tree is better where regions differ.
awk 'BEGIN {
    srand(1)
    print "a,b,c,target"
    for (i = 0; i < 20100; i++) {
        a = rand(); b = rand(); c = rand()
        printf "%.3f,%.3f,%.3f,%.3f\n", a, b, c, (a < 0.5 ? sin(25 * b) : sin(25 * c))
    }
}' >"$dir/many.csv"
check 'tree: by itself' train "$dir/many.csv" -o "$dir/t.rfm" --kernel laplace --metric diag --bandwidth 1m --ridge 1e-2 --iterations 1 --json
says 'tree: by itself' '"method": "tree", "validation_large": 0\.[0-9]*, "validation_tree": 0\.9[0-9]*, "trees": 4,'

check 'tree: labels' train "$dir/quoted.csv" -o "$dir/labels.rfm" $set_tree --test "$dir/quoted.csv" --json
says 'tree: labels are right' '"accuracy": (1,|0\.9[5-9])'
check 'tree: names of classes' "$rfm" predict "$dir/labels.rfm" "$dir/quoted.csv" --confidence
says 'tree: a name with a comma' '^"up, ""high""",[01]\.'
check 'tree: export' "$rfm" export "$dir/labels.rfm" -o "$dir/labels.h"
cat >"$dir/program.c" <<'END'
#include <stdio.h>
#include "labels.h"
int main(void) {
    static rfm_real x[LABELS_INPUTS], scores[LABELS_OUTPUTS], scratch[LABELS_SCRATCH];
    float a, b, c;
    rfm_tree m;
    if (rfm_tree_open(labels, LABELS_BYTES, &m) != RFM_OK) return 1;
    while (scanf("%f,%f,%f%*[^\n]", &a, &b, &c) == 3) {
        x[0] = a, x[1] = b, x[2] = c;
        if (rfm_tree_predict_one(&m, x, scores, scratch, NULL, NULL) != RFM_OK) return 2;
        puts(labels_class_names[rfm_tree_class(&m, scores, NULL)]);
    }
    return 0;
}
END
check 'tree: the header compiles' "$cc" -std=c99 -Wall -Wextra -Werror -DRFM_NO_TRAIN -Irfm -I"$dir" -o "$dir/program" "$dir/program.c" rfm/rfm.c rfm/rfm_tree.c -lm
tail -n +2 "$dir/labels.csv" | "$dir/program" >"$dir/firmware.txt"
"$rfm" predict "$dir/labels.rfm" "$dir/quoted.csv" | sed 's/^"//; s/"$//; s/""/"/g' >"$dir/command.txt"
# Firmware routes hard, the command as the tree says: few rows at borders may differ.
same_text 'tree: firmware says the same' "$(paste -d '#' "$dir/firmware.txt" "$dir/command.txt" | awk -F'#' '$1 != $2 { n++ } END { print (n + 0 < 13) }')" 1

refuse 'tree: report' 1 'a tree of leaf machines; rfm info and rfm evaluate tell about it. For a report: rfm train --method exact or large$' "$rfm" report "$dir/tree.rfm" --data "$dir/all.csv" -o "$dir/t.html"
refuse 'tree: compress' 1 'a tree of leaf machines; expected one model' "$rfm" compress "$dir/tree.rfm" --data "$dir/all.csv" -o "$out/refused.rfm"
refuse 'tree: standalone' 1 'a tree of leaf machines; without --standalone' "$rfm" export "$dir/tree.rfm" -o "$dir/t.h" --standalone
refuse 'tree: certificates' 1 'a tree of leaf machines has no certificates' "$rfm" predict "$dir/labels.rfm" "$dir/quoted.csv" --certify
refuse 'tree: sums' 1 'a tree of leaf machines; expected one model' "$rfm" sums "$dir/tree.rfm" "$dir/all.csv" -o "$dir/t.sums"
refuse 'tree: --leaf-rows without it' 2 'expected --method tree' "$rfm" train "$dir/all.csv" -o "$out/refused.rfm" --leaf-rows 9
refuse 'tree: leaves of one row' 2 'leaf-rows: expected at least 2' "$rfm" train "$dir/all.csv" -o "$out/refused.rfm" --method tree --leaf-rows 1
refuse 'tree: --balance' 2 'method tree: expected none of' "$rfm" train "$dir/quoted.csv" -o "$out/refused.rfm" --method tree --balance
{ head -c 2000 "$dir/tree.rfm"; printf X; tail -c +2002 "$dir/tree.rfm"; } >"$dir/damaged.rfm"
refuse 'tree: damaged' 1 'expected a tree of rfm train --method tree: .*damaged' "$rfm" evaluate "$dir/damaged.rfm" "$dir/all.csv"
head -c 2000 "$dir/tree.rfm" >"$dir/cut.rfm"
refuse 'tree: cut off' 1 'expected a tree of rfm train --method tree' "$rfm" predict "$dir/cut.rfm" "$dir/all.csv"

# The mean of several models of a search, in the same form.
check 'models' train "$out/noisy.csv" --models auto --test "$out/noisy.csv" -o "$dir/mean.rfm" --metric auto --ridge 1 --json
says 'models: how many' '"models": [2-6], "mean_of": \["(laplace|l1|gaussian) (full|diag|identity) after [0-4] iterations", '
check 'models: text' train "$out/noisy.csv" --models auto -o "$dir/again.rfm" --ridge 1 --threads 1
says 'models: text' '^mean +of [2-6] models, the first being that: (laplace|l1|gaussian) .*; weights 0[.0-9 ]+$'
same 'models: one thread' "$dir/mean.rfm" "$dir/again.rfm"
check 'models: info' "$rfm" info "$dir/mean.rfm"
says 'models: info' '^mean +of [2-6] models of 120 rows; weights '
check 'models: evaluate' "$rfm" evaluate "$dir/mean.rfm" "$out/noisy.csv" --json
says 'models: the same score' '"accuracy": 0\.[89]'
# Of classes a mean has the plain gaussian, too: five bandwidths more, whatever the metrics; one model and numbers do not.
for metric in identity auto; do
    few="--inputs standard --ridge 1 --metric $metric --json"
    check "models: settings of one, $metric" train "$out/noisy.csv" $few -o "$dir/one.rfm"
    one=$(sed 's/.*"search": \([0-9]*\).*/\1/' "$out/stdout")
    check "models: settings of classes, $metric" train "$out/noisy.csv" $few --models auto -o "$dir/one.rfm"
    says "models: settings of classes, $metric" "\"search\": $((one + 5)),"
    check "models: settings of numbers, $metric" train "$out/noisy.csv" $few --models auto --task regress -o "$dir/one.rfm"
    says "models: settings of numbers, $metric" "\"search\": $one,"
done
# The outputs of the mean are those of its models, times their weights.
fixed='--kernel laplace --bandwidth 2m --ridge 1 --iterations 1 --center --inputs standard'
check 'models: weights' train "$out/noisy.csv" --models auto $fixed -o "$dir/mean.rfm" --json
says 'models: weights' '"mean_of": \["laplace (diag|full) after 1 iterations", "laplace (diag|full) after 1 iterations"\], "mean_weights": \[0'
weights=$(sed 's/.*"mean_weights": \[\([0-9., ]*\)\].*/\1/' "$out/stdout") names=$(grep -o 'laplace [a-z]*' "$out/stdout" | cut -d' ' -f2)
check 'models: info of weights' "$rfm" info "$dir/mean.rfm" --json
says 'models: info of weights' "\"mean_weights\": \[$weights\]"
check 'models: info of weights, text' "$rfm" info "$dir/mean.rfm"
says 'models: info of weights, text' "^mean +of 2 models of 120 rows; weights $(echo "$weights" | tr -d ,)"
"$rfm" predict "$dir/mean.rfm" "$out/noisy.csv" --scores --quiet >"$out/scores.csv"
for metric in $names; do
    check "models: $metric alone" train "$out/noisy.csv" $fixed --metric "$metric" -o "$dir/one.rfm"
    "$rfm" predict "$dir/one.rfm" "$out/noisy.csv" --scores --quiet | paste -d, "$out/scores.csv" - >"$out/more.csv"
    mv "$out/more.csv" "$out/scores.csv"
done
same_text 'models: weights' "$(awk -F, -v weights="$weights" 'BEGIN { split(weights, w, ", "); bad = w[1] + w[2] < 0.998 || w[1] + w[2] > 1.002 || w[1] == w[2] }
    { for (k = 1; k <= 3; k++) { off = $k - w[1] * $(3 + k) - w[2] * $(6 + k); gap = $(3 + k) - $(6 + k); if (off * off > (0.002 * gap) ^ 2 + 1e-11) bad++; rows++ } } END { print rows, bad + 0 }' "$out/scores.csv")" '360 0'
# What the record says of the weights counts where a model of the mean is fitted anew, and only there.
if $cc -std=gnu99 -Irfm -o "$dir/shares" tests/cli/shares.c "$build/librfm.a" -lm && "$dir/shares" "$dir/mean.rfm" "$dir/turned.rfm"; then
    for name in mean turned; do
        check 'models: fitted anew' "$rfm" compress "$dir/$name.rfm" --data "$out/noisy.csv" --type tiny --rank 1 --centers 6 --features 2 -o "$dir/$name.few" --quiet
        check 'models: not fitted anew' "$rfm" compress "$dir/$name.rfm" --data "$out/noisy.csv" --type tiny --rank 1 --centers 6 -o "$dir/$name.all" --quiet
    done
    same 'models: weights of models as they are' "$dir/mean.all" "$dir/turned.all"
    if cmp -s "$dir/mean.few" "$dir/turned.few"; then fail 'models fitted anew have no weights'; else pass; fi
else
    fail 'models: the weights could not be exchanged'
fi
check 'models: one' train "$out/noisy.csv" --models 1 -o "$dir/one.rfm" --metric diag --iterations 1 --ridge 1
check 'models: one is the default' train "$out/noisy.csv" -o "$dir/again.rfm" --metric diag --iterations 1 --ridge 1
same 'models: one is the default' "$dir/one.rfm" "$dir/again.rfm"
refuse 'models: too many' 2 '\-\-models: expected auto or 1 to 6, found "7"' "$rfm" train "$out/noisy.csv" --models 7 -o "$out/refused.rfm"
refuse 'models: none' 2 '\-\-models: expected auto or 1 to 6, found "0"' "$rfm" train "$out/noisy.csv" --models 0 -o "$out/refused.rfm"
refuse 'models: a tree' 2 '\-\-models: expected --method exact' "$rfm" train "$out/noisy.csv" --models 3 --method tree -o "$out/refused.rfm"
check 'models: a tiny one' "$rfm" compress "$dir/mean.rfm" --data "$out/noisy.csv" --test "$out/noisy.csv" --type tiny --rank 1 --centers 6 --budget 90 -o "$dir/small.rfm" --quiet --json
tiny="$(field type) $(field accuracy_before)"
check 'models: the mean has taught it' "$rfm" evaluate "$dir/mean.rfm" "$out/noisy.csv" --json
same_text 'models: the mean has taught it' "$tiny" "tiny $(field accuracy)"
check 'models: a tiny one predicts' "$rfm" evaluate "$dir/small.rfm" "$out/noisy.csv"
refuse 'models: compress' 1 'mean.rfm: a mean of models becomes smaller only as a tiny model; expected --type tiny, or one model' "$rfm" compress "$dir/mean.rfm" --data "$out/noisy.csv" -o "$out/refused.rfm"
refuse 'models: report' 1 'mean.rfm: a mean of models; rfm info and rfm evaluate tell about it. For a report: train without --models$' "$rfm" report "$dir/mean.rfm" --data "$out/noisy.csv" -o "$dir/t.html"
refuse 'models: standalone' 1 'mean.rfm: a mean of models; without --standalone' "$rfm" export "$dir/mean.rfm" -o "$dir/t.h" --standalone
refuse 'models: sums' 1 'mean.rfm: a mean of models; expected one model' "$rfm" sums "$dir/mean.rfm" "$out/noisy.csv" -o "$dir/t.sums"

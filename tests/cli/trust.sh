# Scores that one can trust: measures, weights, rows that are held out, probabilities. Part of tests/cli/run.

field_of() { grep -o "\"$1\": [-0-9.e+]*" "$out/stdout" | head -n 1 | cut -d' ' -f2; } # of the last JSON
near() { # what, is, shall be: to 1e-6
    if awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; exit !(a != "" && b != "" && d < 1e-6 && d > -1e-6) }'; then pass; else fail "$1: $2, expected $3"; fi
}

# ---- measures, once more by awk --------------------------------------------------------------------------------------

# noisy.csv: three classes with some wrong; odd.csv: two, one of them rare.
awk 'BEGIN { srand(12); print "a,b,target"; for (i = 0; i < 300; i++) { a = 2 * rand() - 1; b = 2 * rand() - 1; printf "%.4f,%.4f,%s\n", a, b, (a + b + rand() > 1.4) ? "rare" : "common" } }' >"$out/odd.csv"
awk -F, -v OFS=, 'FNR > 1 && FNR % 5 == 0 { $4 = ($4 + 1) % 3 } { print }' "$out/three.csv" >"$out/noisy.csv"
for name in noisy odd; do
    classes='0 1 2'
    [ $name = noisy ] || classes='common rare'
    check "measures of $name" train "$out/$name.csv" --test-size 0.4 -o "$out/$name.rfm" --metric diag --bandwidth 1 --ridge 1 --iterations 1 --json
    check "measures of $name: evaluate" "$rfm" evaluate "$out/$name.rfm" "$out/$name.csv" --json
    cp "$out/stdout" "$out/measures.json"
    "$rfm" predict "$out/$name.rfm" "$out/$name.csv" --proba --quiet >"$out/proba.csv"
    "$rfm" predict "$out/$name.rfm" "$out/$name.csv" --quiet >"$out/labels.csv"
    same_text "probabilities of $name: the header" "$(head -n 1 "$out/proba.csv")" "$(echo $classes | tr ' ' ,)"
    same_text "probabilities of $name: the sums" "$(awk -F, 'NR > 1 { s = 0; for (i = 1; i <= NF; i++) { s += $i; if ($i < 0 || $i > 1) bad++ } if (s < 1 - 1e-8 || s > 1 + 1e-8) bad++ } END { print bad + 0 }' "$out/proba.csv")" 0
    awk -F, 'NR > 1 { print $NF }' "$out/$name.csv" | paste -d, - "$out/labels.csv" >"$out/truth.csv"
    tail -n +2 "$out/proba.csv" | paste -d, "$out/truth.csv" - | awk -F, -v names="$classes" '
        BEGIN { c = split(names, name, " "); for (i = 1; i <= c; i++) at[name[i]] = i }
        { n++; t[n] = at[$1]; q[n] = at[$2]; m[t[n], q[n]]++; all[t[n]]++; said[q[n]]++; right += $1 == $2
          for (k = 1; k <= c; k++) p[n, k] = $(2 + k)
          loss -= log(p[n, t[n]])
          for (k = c == 2 ? 2 : 1; k <= c; k++) brier += (p[n, k] - (t[n] == k)) ^ 2 }
        END {
            for (k = 1; k <= c; k++) { balanced += m[k, k] / all[k] / c; f = 2 * m[k, k] / (all[k] + said[k]); if (c > 2) f1 += f / c; else if (k == 2) f1 = f }
            for (k = c == 2 ? 2 : 1; k <= c; k++) { # pairs, one by one
                above = pairs = 0
                for (i = 1; i <= n; i++) if (t[i] == k) for (j = 1; j <= n; j++) if (t[j] != k) { pairs++; above += p[i, k] > p[j, k] ? 1 : p[i, k] == p[j, k] ? 0.5 : 0 }
                auc += above / pairs; kinds++
            }
            printf "%.9f %.9f %.9f %.9f %.9f %.9f\n", right / n, balanced, f1, auc / kinds, loss / n, brier / n
        }' >"$out/by-awk"
    read -r accuracy balanced f1 auc loss brier <"$out/by-awk"
    cp "$out/measures.json" "$out/stdout"
    near "$name: accuracy" "$(field_of accuracy)" "$accuracy"
    near "$name: balanced accuracy" "$(field_of balanced_accuracy)" "$balanced"
    near "$name: f1" "$(field_of f1)" "$f1"
    near "$name: log-loss" "$(field_of log_loss)" "$loss"
    near "$name: Brier" "$(field_of brier)" "$brier"
    check "$name: auc" awk -v a="$(field_of auc)" -v b="$auc" 'BEGIN { exit !((a - b) ^ 2 < 1e-8) }' # nine digits tie where all do not
done
cp "$out/measures.json" "$out/stdout"
says 'the confusion' '"confusion": \[\[[0-9]+, [0-9]+\], \[[0-9]+, [0-9]+\]\]'
check 'measures as text' "$rfm" evaluate "$out/odd.rfm" "$out/odd.csv"
for word in accuracy balanced f1 auc log-loss brier confusion; do says 'measures as text' "^$word +[0-9.]+"; done
check 'measures of numbers' train "$out/values.csv" --target y2 --test-size 30 -o "$out/values2.rfm" --metric diag --bandwidth 1 --ridge 1 --iterations 1 --json
says 'measures of numbers' '"rows_test": 30, .*"r2": .*"mse": .*"rmse": .*"mae": '
"$rfm" evaluate "$out/values2.rfm" "$out/values.csv" --json >"$out/stdout" 2>/dev/null
"$rfm" predict "$out/values2.rfm" "$out/values.csv" --quiet | paste -d, - "$out/values.csv" >/dev/null
awk -F, 'NR > 1 { print $5 }' "$out/values.csv" >"$out/true.csv"
"$rfm" predict "$out/values2.rfm" "$out/values.csv" --quiet | paste -d, "$out/true.csv" - |
    awk -F, '{ n++; s += $1; s2 += $1 ^ 2; e += ($1 - $2) ^ 2; d = $1 - $2; a += d < 0 ? -d : d } END { printf "%.9f %.9f %.9f\n", 1 - e / (s2 - s * s / n), sqrt(e / n), a / n }' >"$out/by-awk"
read -r r2 rmse mae <"$out/by-awk"
near 'r2' "$(field_of r2)" "$r2"
near 'rmse' "$(field_of rmse)" "$rmse"
near 'mae' "$(field_of mae)" "$mae"

# ---- no better than nothing ------------------------------------------------------------------------------------------

awk 'BEGIN { srand(2); print "a,b,target"; for (i = 0; i < 200; i++) print rand() "," rand() "," (i % 20 == 7) }' >"$out/luck.csv"
check 'nothing to learn' "$rfm" train "$out/luck.csv" --test-size 0.5 -o "$out/luck.rfm" --metric identity --bandwidth 2 --ridge 1
noted 'nothing to learn' 'on 100 test rows the model is no better than always saying the most frequent class, which is right in 95.00 %; for a rare class train with --balance, or look at rfm predict --proba$'
awk 'BEGIN { srand(2); print "a,b,target"; for (i = 0; i < 200; i++) print rand() "," rand() "," rand() }' >"$out/v.csv"
check 'no numbers to learn' "$rfm" train "$out/v.csv" --test-size 0.5 -o "$out/t.rfm" --metric identity --bandwidth 0.1 --ridge 1e-3
noted 'no numbers to learn' 'the model is no better than always saying their mean: r2 is -'

# ---- rows that are held out --------------------------------------------------------------------------------------------

check '--test-size, a share' train "$out/three.csv" --test-size 0.25 -o "$out/t.rfm" $quick --json
says '--test-size, a share' '"rows_train": 90, "rows_test": 30,'
check '--test-size, rows' train "$out/three.csv" --test-size 12 -o "$out/t.rfm" $quick --json
says '--test-size, rows' '"rows_train": 108, "rows_test": 12,'
check '--test-size: they were not trained on' "$rfm" evaluate "$out/t.rfm" "$out/three.csv" --json
says '--test-size: they were not trained on' '"rows_seen": 108,'
check '--cv' train "$out/three.csv" --cv 4 -o "$out/t.rfm" $quick --json
says '--cv' '"rows_train": 120, .*"cv": \{"folds": 4, "accuracy": [0-9.]+, "accuracy_spread": [0-9.]+, .*"log_loss": '
check '--cv of numbers' train "$out/values.csv" --cv 3 -o "$out/t.rfm" $quick
says '--cv of numbers' '^folds +r2 [0-9.-]+ \+- [0-9.]+, rmse .*mae .*: 3 times$'
# Each fold says what its columns are, and all rows what they are for the model. Where row k of these is held out,
# nothing tells that the day comes first.
for k in 1 2 3 4 5 6; do
    awk -v k=$k 'BEGIN { srand(5); print "day,a,target"; for (i = 1; i <= 60; i++) { d = i == k ? 25 : 1 + i % 12; printf "%d/%d/2024,%.4f,%.4f\n", d, 1 + i % 9, rand(), i % 9 + d / 10 } }' >"$out/days.csv"
    check "dates with day $k first" train "$out/days.csv" -o "$out/days.rfm" $quick
    check "dates with day $k first, --cv" train "$out/days.csv" --cv 3 -o "$out/days-cv.rfm" $quick
    same "dates with day $k first" "$out/days.rfm" "$out/days-cv.rfm"
done
# A group has one class and a place of its own: who has seen it knows it, who has not can only guess.
awk 'BEGIN { srand(6); print "who,a,b,target"; for (g = 0; g < 24; g++) { x = rand(); y = rand(); for (i = 0; i < 6; i++) printf "p%d,%.4f,%.4f,%d\n", g, x + 0.001 * rand(), y + 0.001 * rand(), g % 2 } }' >"$out/who.csv"
check 'groups apart from each other' train "$out/who.csv" --group who --test-size 0.25 -o "$out/t.rfm" --metric identity --bandwidth 0.1m --ridge 1e-3 --json
same_text 'groups: unseen ones are guessed' "$(awk -v a="$(field_of accuracy)" 'BEGIN { print (a < 0.9) }')" 1
same_text 'groups: those held out to validate, too' "$(awk -v a="$(field_of validation)" 'BEGIN { print (a < 0.9) }')" 1
says 'groups: the column is no input' '"features": 2,'
same_text 'groups: whole ones' "$(awk -v n="$(field_of rows_test)" 'BEGIN { print n % 6 }')" 0
check 'without groups' train "$out/who.csv" --drop who --test-size 0.25 -o "$out/t.rfm" --metric identity --bandwidth 0.1m --ridge 1e-3 --json
same_text 'without groups: it looks perfect' "$(field_of accuracy)" 1
check '--cv of groups' train "$out/who.csv" --group who --cv 3 -o "$out/t.rfm" --metric identity --bandwidth 0.1m --ridge 1e-3 --json
# Time: the last rows are the test, and a search with it runs.
awk 'BEGIN { srand(5); print "day,a,target"; for (i = 0; i < 90; i++) { d = (i * 37) % 90; a = rand(); printf "2024-%02d-%02d,%.4f,%.4f\n", 1 + int(d / 30), 1 + d % 28, a, a + (d >= 60 ? 5 : 0) } }' >"$out/days.csv"
check '--time' train "$out/days.csv" --time day --test-size 0.3 -o "$out/t.rfm" --metric identity --ridge 1e-3 --json
same_text '--time: the future is another' "$(awk -v a="$(field_of r2)" 'BEGIN { print (a < 0) }')" 1
says '--time: the column is no input' '"features": 1,'
check '--cv in time' train "$out/days.csv" --time day --cv 3 -o "$out/t.rfm" --metric identity --bandwidth 1 --ridge 1e-3 --json

# ---- weights ---------------------------------------------------------------------------------------------------------

# A row of weight k is k rows: the same machine, whatever M is learned.
awk -F, -v OFS=, 'NR == 1 { print $0, "w"; next } { print $0, NR % 3 }' "$out/values.csv" >"$out/weighted.csv"
awk -F, -v OFS=, 'NR == 1 { print; next } { for (i = 0; i < (NR % 3); i++) print }' "$out/values.csv" >"$out/repeated.csv"
for metric in identity full; do
    fixed="--raw --metric $metric --bandwidth 2 --ridge 0.1 --iterations 2"
    [ $metric = full ] || fixed="--raw --metric identity --bandwidth 2 --ridge 0.1"
    check "weights, $metric" train "$out/weighted.csv" --target y1 --drop y2 --weights w -o "$out/weighted.rfm" $fixed
    check "weights as rows, $metric" train "$out/repeated.csv" --target y1 --drop y2 -o "$out/repeated.rfm" $fixed
    "$rfm" predict "$out/weighted.rfm" "$out/values.csv" --quiet >"$out/before.csv"
    "$rfm" predict "$out/repeated.rfm" "$out/values.csv" --quiet >"$out/after.csv"
    same_text "weights, $metric: as many rows" "$(paste -d, "$out/before.csv" "$out/after.csv" | awk -F, '($1 - $2) ^ 2 > 1e-6 { bad++ } END { print bad + 0 }')" 0
done
awk -F, -v OFS=, 'NR == 1 { print; next } NR == 5 { $NF = -1 } { print }' "$out/weighted.csv" >"$out/v.csv"
refuse 'a weight below 0' 1 'v.csv: line 5, column 6 \(w\): expected a weight' "$rfm" train "$out/v.csv" --target y1 --weights w -o "$out/refused.rfm" $quick
awk -F, -v OFS=, 'NR > 1 { $NF = 0 } { print }' "$out/weighted.csv" >"$out/v.csv"
refuse 'all weights 0' 1 'v.csv: column 6 \(w\): all weights are 0' "$rfm" train "$out/v.csv" --target y1 --weights w -o "$out/refused.rfm" $quick
# Parts of the rows in which none counts are no trouble.
awk -F, -v OFS=, 'NR == 1 { print $0, "w"; next } { print $0, NR % 40 == 7 ? 5 : 0 }' "$out/values.csv" >"$out/v.csv"
check 'few rows count' train "$out/v.csv" --target y1 --drop y2 --weights w -o "$out/t.rfm" --kernel laplace --metric identity
# One row in a hundred: all that is frequent is said, unless classes count the same.
awk 'BEGIN { srand(21); print "a,b,c,target"; for (i = 0; i < 1200; i++) { f = i % 100 == 42; printf "%.4f,%.4f,%.4f,%s\n", rand() + (f ? 0.75 : 0), rand() + (f ? 0.65 : 0), rand(), f ? "fraud" : "fine" } }' >"$out/fraud.csv"
rare='--metric identity --bandwidth 2m --ridge 0.1 --test-size 0.5 --seed 3'
found() { sed 's/.*"confusion": \[\[\([0-9]*\), \([0-9]*\)\], \[\([0-9]*\), \([0-9]*\)\]\].*/\3 \4/' "$out/stdout" | awk '{ print 100 * $2 / ($1 + $2) }'; } # % of the second class
check 'one in a hundred' train "$out/fraud.csv" -o "$out/t.rfm" $rare --json
plain=$(found)
check '--balance' train "$out/fraud.csv" --balance -o "$out/t.rfm" $rare --json
balanced=$(found) accuracy=$(field_of accuracy)
check "--balance finds at least 70 %: $balanced, $plain without" awk -v a="$balanced" -v b="$plain" 'BEGIN { exit !(a >= 70 && a > b) }'
check "--balance: not everything is fraud: $accuracy" awk -v a="$accuracy" 'BEGIN { exit !(a > 0.8) }'
# Rare and not certain: small ridges and settings that undo the weights would lose the order of the rows, too.
for part in rare:2000:31 rare-test:6000:32; do
    rows=${part#*:}
    awk -v rows="${rows%:*}" -v seed="${rows#*:}" 'BEGIN { srand(seed); print "a,b,c,kind,target"; for (i = 0; i < rows; i++) { a = b = c = -3; for (k = 0; k < 6; k++) { a += rand(); b += rand(); c += rand() } k = int(3 * rand()); printf "%.4f,%.4f,%.4f,%s,%s\n", a, b, c, substr("uvw", k + 1, 1), rand() < 1 / (1 + exp(6.8 - 2.6 * a + 2 * b - k)) ? "yes" : "no" } }' >"$out/${part%%:*}.csv"
done
logistic='--kernel laplace --metric identity'
auc_of() { "$rfm" evaluate "$1" "$out/rare-test.csv" --json 2>/dev/null >"$out/stdout"; field_of auc; }
check 'one in a hundred, by chance' train "$out/rare.csv" -o "$out/t.rfm" $logistic
plain=$(auc_of "$out/t.rfm") plain_balance=$(field_of balanced_accuracy)
for tune in '' '--tune auc'; do
    name="by chance, --balance $tune"
    check "$name" train "$out/rare.csv" --balance $tune -o "$out/rare.rfm" $logistic
    auc=$(auc_of "$out/rare.rfm") balance=$(field_of balanced_accuracy) share=$(found)
    check "$name: AUC $auc, $plain without" awk -v a="$auc" -v b="$plain" 'BEGIN { exit !(a > 0.8 && a > b - 0.02) }'
    check "$name finds at least 70 %: $share" awk -v a="$share" 'BEGIN { exit !(a >= 70) }'
    check "$name: balanced accuracy $balance, $plain_balance without" awk -v a="$balance" -v b="$plain_balance" 'BEGIN { exit !(a > b + 0.1) }'
done
# The line of validation has what was asked for; accuracy of a table with 1 % would be 0.99.
quickly='--metric identity --kernel laplace --bandwidth 2m'
for pair in 'balanced:balanced accuracy' 'auc:auc' 'f1:f1' 'logloss:log-loss'; do
    check "validation by ${pair%:*}" train "$out/fraud.csv" --tune "${pair%:*}" -o "$out/t.rfm" $quickly
    says "validation by ${pair%:*}" "^validation +${pair#*:} [0-9.]+ in 5 folds"
done
check 'validation of --balance' train "$out/fraud.csv" --balance -o "$out/t.rfm" $quickly
says 'validation of --balance' '^validation +balanced accuracy 0\.[0-9]+ in 5 folds'
check 'validation of --balance' train "$out/fraud.csv" --balance -o "$out/t.rfm" $quickly --json
says 'validation of --balance' '"validation_measure": "balanced", "validation_tuned": 0\.[0-9]+'
check 'validation by mae' train "$out/values.csv" --target y1 --drop y2 --tune mae -o "$out/t.rfm" --metric identity --json
mae=$(sed 's/.*"validation_tuned": \([-0-9.e]*\).*/\1/' "$out/stdout")
# Of outputs a thousand times as large it is a thousand times as large.
awk -F, -v OFS=, 'NR > 1 { $4 *= 1000 } { print }' "$out/values.csv" >"$out/v.csv"
check 'validation by mae of large numbers' train "$out/v.csv" --target y1 --drop y2 --tune mae -o "$out/t.rfm" --metric identity --json
more=$(sed 's/.*"validation_tuned": \([-0-9.e]*\).*/\1/' "$out/stdout")
check "validation by mae: $mae, $more of large numbers" awk -v a="$mae" -v b="$more" 'BEGIN { off = b - 1000 * a; exit !(a > 0 && off * off < 1e-4 * b * b) }'
# What was trained with --balance is not told to do so.
check '--balance in vain' "$rfm" train "$out/luck.csv" --balance --test-size 0.5 -o "$out/t.rfm" --metric identity --bandwidth 0.1 --ridge 1e-3
noted '--balance in vain' 'no better than always saying the most frequent class, which is right in 95.00 %; look at rfm predict --proba$'
awk 'BEGIN { srand(5); print "a,b,target"; for (i = 0; i < 400; i++) print rand() "," rand() "," (i % 20 == 7) }' >"$out/v.csv"
check '--balance in vain: evaluate' "$rfm" evaluate "$out/t.rfm" "$out/v.csv"
noted '--balance in vain: evaluate' 'in [0-9.]+ %; look at rfm predict --proba$'
# A mean needs the exact method, and says so where there are too many rows for it.
awk 'BEGIN { srand(3); print "a,b,target"; for (i = 0; i < 20100; i++) { a = rand(); print a "," rand() "," (a + rand() > 1.2 ? "yes" : "no") } }' >"$out/many.csv"
check 'a mean of many rows' "$rfm" train "$out/many.csv" --models auto --balance -o "$out/t.rfm" --metric identity --kernel laplace --bandwidth 2m --ridge 1
noted 'a mean of many rows' '20100 training rows: one model, no mean \(--models\), which needs the exact method \(--rows N\)$'
check '--tune f1' train "$out/fraud.csv" --tune f1 -o "$out/t.rfm" $rare --json
for measure in accuracy balanced f1 auc logloss; do
    check "--tune $measure" train "$out/noisy.csv" --tune $measure -o "$out/t.rfm" --metric identity --bandwidth 1 --json
done
for measure in r2 rmse mae; do check "--tune $measure" train "$out/values.csv" --tune $measure -o "$out/t.rfm" --metric identity --bandwidth 1 --json; done
check 'validation has its spread' train "$out/three.csv" -o "$out/t.rfm" --metric identity --bandwidth 1 --json
says 'validation has its spread' '"validation": [0-9.]+, "validation_spread": [0-9.]+, "validation_folds": 5'

# ---- what is refused -------------------------------------------------------------------------------------------------

refuse 'probabilities of a regression' 1 'values2.rfm: expected a model of classes with a temperature for --proba, found one of numbers' "$rfm" predict "$out/values2.rfm" "$out/values.csv" --proba
refuse '--proba and --scores' 2 '--proba: expected none of --scores' "$rfm" predict "$out/odd.rfm" "$out/odd.csv" --proba --scores
no_train() { # what, status, message, options...
    what=$1 want=$2 words=$3
    shift 3
    refuse "$what" "$want" "$words" "$rfm" train "$out/three.csv" -o "$out/refused.rfm" --quiet $quick "$@"
}
awk -F, -v OFS=, 'NR == 1 { print "g", $0; next } { print "one", $0 }' "$out/three.csv" >"$out/one.csv"
refuse 'one group' 1 'one.csv: column 1 \(g\): all training rows are one group' "$rfm" train "$out/one.csv" --group g --test-size 0.2 -o "$out/refused.rfm" $quick
printf 'day,price,weight,y\n' >"$out/apart.csv"
awk 'BEGIN { for (i = 0; i < 40; i++) print i "," i % 7 "," 1 + i % 2 "," i % 7 * 2 + i % 3 / 10 }' >>"$out/apart.csv"
check '--only and --time' "$rfm" train "$out/apart.csv" --only day,price --time day --weights weight --test-size 10 -o "$out/apart.rfm" $quick --task regress
noted '--only and --time' 'apart.csv: column 1 \(day\) is no input, in spite of --only: it says groups, times or weights'
check '--only and --time: info' "$rfm" info "$out/apart.rfm"
says '--only and --time: info' '^decided       column 1 \(day\) is no input'
no_train 'no such group' 1 'expected a column nix \(--group\)' --group nix
no_train 'no such time' 1 'expected a column nix \(--time\)' --time nix
no_train 'no such weights' 1 'expected a column nix \(--weights\)' --weights nix
no_train 'the target as weights' 1 '--weights is the target' --weights target
no_train 'groups and times' 2 '--group and --time: expected one of them' --group x1 --time x2
no_train 'a fold' 2 '--cv: expected at least 2' --cv 1
no_train 'more folds than rows' 1 '--cv 500: 120 rows are fewer' --cv 500
for size in 0 x -1 1.5 ''; do no_train "--test-size $size" 2 '--test-size: expected a share between 0 and 1' --test-size "$size"; done
no_train 'all rows to test on' 1 'is 120 of 120 rows' --test-size 120
no_train 'another measure' 2 '--tune: expected one of accuracy, balanced' --tune luck
no_train 'a measure of numbers' 1 '--tune r2 is for numbers, found classes' --tune r2
refuse 'a measure of classes' 1 '--tune auc is for classes, found numbers' "$rfm" train "$out/values.csv" --tune auc -o "$out/refused.rfm" $quick
refuse 'numbers in balance' 1 '--balance is for classes' "$rfm" train "$out/values.csv" --balance -o "$out/refused.rfm" $quick

# ---- many classes, and what it will take -------------------------------------------------------------------------------

awk 'BEGIN { srand(3); print "a,b,c,d,target"; for (i = 0; i < 1200; i++) { k = i % 200; s = ""; for (j = 0; j < 4; j++) s = s sprintf("%.4f,", sin(k * (j + 1.3) * 1.7) + 0.05 * rand()); print s "k" k } }' >"$out/many.csv"
check '200 classes' "$rfm" train "$out/many.csv" --test-size 0.1 -o "$out/t.rfm" --metric diag --bandwidth 1m --ridge 1e-2 --iterations 1 --json
says '200 classes' '"outputs": 200, .*"accuracy": (1|0\.9)'
noted '200 classes' '200 classes: fewer settings are tried, and M is learned from the gradients at 512 rows'

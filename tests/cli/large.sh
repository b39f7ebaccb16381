# Tables of any size: --method large, several files, tables in passes. Read by tests/cli/run, whose functions are used
# here.
# shellcheck shell=sh disable=SC2154,SC2086

dir=$out/large
mkdir -p "$dir"
awk -v labels="$dir/labels.csv" 'BEGIN {
    srand(3)
    print "a,b,c,target"
    print "a,b,c,kind" >labels
    for (i = 0; i < 1300; i++) {
        a = 2 * rand() - 1; b = 2 * rand() - 1; c = 2 * rand() - 1; y = sin(3 * a) + b * b
        printf "%.4f,%.4f,%.4f,%.5f\n", a, b, c, y
        printf "%.4f,%.4f,%.4f,%s\n", a, b, c, (y > 0.3 ? "up, \"high\"" : "down") >labels
    }
}' >"$dir/all.csv"
sed 's/up, "high"/"up, ""high"""/' "$dir/labels.csv" >"$dir/quoted.csv"
{ head -n 1 "$dir/all.csv"; sed -n '2,500p' "$dir/all.csv"; } >"$dir/one.csv"
{ printf '\357\273\277'; head -n 1 "$dir/all.csv"; sed -n '501,$p' "$dir/all.csv"; } | sed 's/$/\r/' >"$dir/two.csv"
set_large='--metric diag --bandwidth 2m --ridge 1e-3 --iterations 1 --method large --centers 60'

check 'large' train "$dir/all.csv" -o "$dir/memory.rfm" $set_large --test "$dir/all.csv" --json
says 'large: its method' '"method": "large", "centers": 60, "passes": 4, "steps": 0'
says 'large: it has learned' '"r2": 0\.9[5-9]'
check 'large: text' train "$dir/all.csv" -o "$dir/t.rfm" $set_large
says 'large: text' '^method +large: 60 centres and all rows, read 4 times'
check 'large: the ridge from sums' train "$dir/all.csv" -o "$dir/t.rfm" --metric diag --bandwidth 2m --iterations 1 --method large --centers 60 --json
says 'large: rows that it was chosen on' '"validation": 0\.9[0-9]*, .*"validation_rows": 130,'
# Twenty inputs of which one counts: their weights are squared, for held-out rows are predicted better so.
awk 'BEGIN {
    srand(8)
    for (j = 0; j < 20; j++) printf "x%d,", j
    print "target"
    for (i = 0; i < 1500; i++) {
        for (j = 0; j < 20; j++) { v = 2 * rand() - 1; if (j == 0) x = v; printf "%.4f,", v }
        printf "%.5f\n", sin(4 * x)
    }
}' >"$dir/idle.csv"
check 'large: idle inputs' train "$dir/idle.csv" -o "$dir/t.rfm" --kernel l1 --metric diag --bandwidth 1m --iterations 1 --method large --centers 100 --json
says 'large: weights of inputs squared' '"metric_power": 2,'
check 'large: with a ridge given there is no choice' train "$dir/idle.csv" -o "$dir/t.rfm" --kernel l1 --metric diag --bandwidth 1m --iterations 1 --ridge 1e-2 --method large --centers 100 --json
says 'large: weights of inputs as they are' '"metric_power": 1,'
check 'large: labels' train "$dir/quoted.csv" -o "$dir/t.rfm" $set_large --test "$dir/quoted.csv" --json
says 'large: labels are right' '"accuracy": 0\.9'
check 'large: rows as centres' train "$dir/one.csv" -o "$dir/t.rfm" --metric diag --bandwidth 2m --ridge 1e-3 --iterations 1 --method large --json
says 'large: no more centres than rows' '"centers": 499'

check 'passes' train "$dir/all.csv" -o "$dir/passes.rfm" $set_large --in-passes --test "$dir/all.csv" --json
says 'passes: it has learned' '"rows_train": 1300, .*"passes": 5, .*"r2": 0\.9[5-9]'
check 'parts' train "$dir/one.csv" "$dir/two.csv" -o "$dir/parts.rfm" $set_large
same 'parts: the model of one file' "$dir/passes.rfm" "$dir/parts.rfm"
check 'passes: two threads' train "$dir/all.csv" -o "$dir/threads.rfm" $set_large --in-passes --threads 2
same 'passes: two threads' "$dir/passes.rfm" "$dir/threads.rfm"
check 'passes: labels' train "$dir/quoted.csv" -o "$dir/t.rfm" $set_large --in-passes --test "$dir/quoted.csv" --json
says 'passes: labels are right' '"accuracy": 0\.9'
check 'passes: the names of classes' "$rfm" predict "$dir/t.rfm" "$dir/quoted.csv"
says 'passes: a name with a comma' '^"up, ""high"""$'

# Columns as they come: missing cells, texts, dates, commas, a class that few rows have.
awk 'BEGIN {
    srand(5)
    print "when;size;kind;w;target"
    for (i = 0; i < 900; i++) {
        s = rand(); k = i % 3
        printf "2024-0%d-1%d;%s;%s;%d;%s\n", 1 + i % 9, i % 10, (i % 40 == 3 ? "NA" : sprintf("%d,%03d", s, 999 * s)), \
            substr("redtangry", 1 + 3 * k, 3), 1 + (i % 2), (i == 700 ? "rare" : i % 77 == 5 ? "" : s + k > 1.4 ? "up" : "down")
    }
}' >"$dir/columns.csv"
check 'passes: columns as they come' train "$dir/columns.csv" -o "$dir/t.rfm" $set_large --in-passes --weights w --test "$dir/columns.csv" --json
says 'passes: rows, missing targets, inputs' '"rows_train": 888, "rows_test": 888, "rows_missing": 2[0-9], "rows_left_out": 12, .*"features": 7, "outputs": 3,'
says 'passes: it has learned of them' '"accuracy": 0\.9'
check 'passes: their names' "$rfm" info "$dir/t.rfm" --json
says 'passes: their names' '"rare"'
check 'passes: columns left out' train "$dir/columns.csv" -o "$dir/t.rfm" $set_large --in-passes --drop w,when --json
says 'passes: columns left out' '"columns_dropped": \["when", "w"\], "features": 4,'

# A table that is read in several parts, and one row at its end that is wrong.
awk 'BEGIN {
    print "a,b,\"c, quoted\",target"
    for (i = 0; i < 200000; i++) printf "%.6f,%.6f,\"%.3f\",%d\n", (i * 37 % 1000) / 1000, (i * 91 % 777) / 777, i % 10 / 10, i % 5
}' >"$dir/parts.csv"
head -n 300 "$dir/parts.csv" >"$dir/few.csv"
check 'parts: a model' train "$dir/few.csv" -o "$dir/parts.rfm" --metric diag --bandwidth 2m --ridge 1e-1 --iterations 1 --task regress --rows 100
check 'parts: predict' "$rfm" predict "$dir/parts.rfm" "$dir/parts.csv" -o "$dir/parts.txt"
{ head -n 1 "$dir/parts.csv"; tail -n 50000 "$dir/parts.csv"; } >"$dir/end.csv"
"$rfm" predict "$dir/parts.rfm" "$dir/end.csv" >"$dir/end.txt"
tail -n 50000 "$dir/parts.txt" >"$dir/tail.txt"
same 'parts: the last rows' "$dir/tail.txt" "$dir/end.txt"
same_text 'parts: a line for each row' "$(wc -l <"$dir/parts.txt" | tr -d ' ')" 200000
tail -n +2 "$dir/parts.csv" | cut -d, -f1-3 | "$rfm" predict "$dir/parts.rfm" - --no-header >"$dir/bare.txt"
same 'parts: standard input without a header' "$dir/parts.txt" "$dir/bare.txt"
echo '1,2' >>"$dir/parts.csv"
rm -f "$dir/parts.txt"
refuse 'parts: a short row at the end' 1 'parts.csv: line 200002: 2 fields, expected 4' "$rfm" predict "$dir/parts.rfm" "$dir/parts.csv" -o "$dir/parts.txt"
same_text 'parts: no output then' "$(ls "$dir/parts.txt" 2>/dev/null)" ''

for part in one two all; do
    check "sums: $part" "$rfm" sums "$dir/memory.rfm" "$dir/$part.csv" -o "$dir/$part.sums"
done
says 'sums: what they are' '^sums +of 1300 rows for 60 centres'
awk -F, -v OFS=, '{ print $2, $1, $3, $4 }' "$dir/one.csv" >"$dir/turned.csv"
check 'sums: columns in another order' "$rfm" sums "$dir/memory.rfm" "$dir/turned.csv" -o "$dir/turned.sums"
same 'sums: columns in another order' "$dir/one.sums" "$dir/turned.sums"
cut -d, -f2-4 "$dir/one.csv" >"$dir/without.csv"
refuse 'sums: a column less' 1 'without.csv: line 1: expected a column a' "$rfm" sums "$dir/memory.rfm" "$dir/without.csv" -o "$out/refused.sums"
check 'merge' "$rfm" merge "$dir/one.sums" "$dir/two.sums" -o "$dir/merged.rfm"
says 'merge: its rows' '60 centres, of 1300 rows in 2 parts'
check 'merge: the other order' "$rfm" merge "$dir/two.sums" "$dir/one.sums" -o "$dir/turned.rfm"
same 'merge: the other order' "$dir/merged.rfm" "$dir/turned.rfm"
check 'merge: scores' "$rfm" evaluate "$dir/merged.rfm" "$dir/all.csv" --json
says 'merge: scores' '"r2": 0\.9[5-9]'
check 'merge: one part' "$rfm" merge "$dir/all.sums" -o "$dir/whole.rfm"
for model in merged whole; do "$rfm" predict "$dir/$model.rfm" "$dir/all.csv" >"$dir/$model.txt"; done
same_text 'merge: predictions of one pass' "$(paste -d ' ' "$dir/merged.txt" "$dir/whole.txt" | awk '{ d = $1 - $2; if (d * d > 1e-8) n++ } END { print n + 0 }')" 0
# Sums of another machine, and without a model in front of them: 64 bytes and the numbers of 60 centres.
check 'sums: another port' "$rfm" sums "$dir/memory.rfm" "$dir/two.csv" --port scalar -o "$dir/scalar.sums"
tail -c $((64 + 8 * (60 * 61 / 2 + 60 + 2))) "$dir/scalar.sums" >"$dir/bare.sums"
check 'merge: bare sums of another port' "$rfm" merge "$dir/one.sums" "$dir/bare.sums" -o "$dir/bare.rfm"
says 'merge: their rows' '60 centres, of 1300 rows in 2 parts'
"$rfm" predict "$dir/bare.rfm" "$dir/all.csv" >"$dir/bare.txt"
same_text 'merge: their predictions' "$(paste -d ' ' "$dir/merged.txt" "$dir/bare.txt" | awk '{ d = $1 - $2; if (d * d > 1e-8) n++ } END { print n + 0 }')" 0
check 'merge: a model in front' "$rfm" merge "$dir/memory.rfm" "$dir/bare.sums" "$dir/one.sums" -o "$dir/front.rfm"
same 'merge: a model in front' "$dir/bare.rfm" "$dir/front.rfm"
refuse 'merge: bare sums alone' 1 'bare.sums: sums without a model: expected' "$rfm" merge "$dir/bare.sums" -o "$out/refused.rfm"
check 'merge: another width' train "$dir/all.csv" -o "$dir/wider.rfm" --metric diag --bandwidth 3m --ridge 1e-3 --iterations 1 --method large --centers 60
refuse 'merge: bare sums of another model' 1 'bare.sums: sums of another model' "$rfm" merge "$dir/wider.rfm" "$dir/bare.sums" -o "$out/refused.rfm"
refuse 'merge: only a model' 2 'merge: expected PART.sums behind the model .*memory.rfm' "$rfm" merge "$dir/memory.rfm" -o "$out/refused.rfm"
# A target of a ten millionth of the other: alone it is learned, beside it, too. Sums have one unit for both.
awk -F, 'NR == 1 { print "a,b,y,z"; next } { printf "%s,%s,%s,%.6g\n", $1, $2, $4, 1e-7 * ($1 - $2 * $2) }' "$dir/all.csv" >"$dir/unlike.csv"
for raw in '' --raw; do
    check "unlike targets $raw" train "$dir/unlike.csv" -o "$dir/unlike.rfm" --metric diag --bandwidth 2m --iterations 1 --method large --centers 60 --targets 2 $raw
    "$rfm" predict "$dir/unlike.rfm" "$dir/unlike.csv" >"$dir/unlike.txt"
    same_text "unlike targets $raw: the small one" "$(awk -F, 'NR > 1 { print $4 }' "$dir/unlike.csv" | paste -d , - "$dir/unlike.txt" |
        awk -F, '{ wrong += ($1 - $3) ^ 2; sum += $1; all += $1 ^ 2 } END { print (NR == 1300 && wrong < 0.01 * (all - sum * sum / NR)) }')" 1
done
check 'unlike targets: sums' "$rfm" sums "$dir/unlike.rfm" "$dir/unlike.csv" -o "$dir/unlike.sums"
refuse 'unlike targets: merge' 1 'a target too small for sums' "$rfm" merge "$dir/unlike.sums" -o "$out/refused.rfm"
# Targets are as large as they are, whatever alpha is: it is small where rows are alike, and where the ridge is large.
awk 'BEGIN { print "a,b,target"; for (i = 0; i < 600; i++) print i % 2 "," int(i / 2) % 2 "," 3 * (i % 2) + int(i / 2) % 2 + 0.5 }' >"$dir/alike.csv"
for settings in '--ridge 1e-3 --kernel laplace --bandwidth 2' '--ridge 3e4 --kernel laplace --bandwidth 2' '--ridge 1e-3 --kernel ntk'; do
    check "alike, $settings" train "$dir/alike.csv" -o "$dir/alike.rfm" --task regress --metric identity --iterations 0 $settings
    check "alike, $settings: sums" "$rfm" sums "$dir/alike.rfm" "$dir/alike.csv" -o "$dir/alike.sums"
    check "alike, $settings: merge" sh -c '"$1" merge "$3" "$3" "$3" "$3" "$3" "$3" "$3" "$3" "$3" "$3" "$3" "$3" -o "$2"' - "$rfm" "$dir/alike-merged.rfm" "$dir/alike.sums"
    check "alike, $settings: scores" "$rfm" evaluate "$dir/alike-merged.rfm" "$dir/alike.csv"
done
says 'alike: scores' '^r2 +(1\.0000|0\.999)'
# Weights of any size: what counts is how large they are beside each other, and beside the ridge.
for size in 1 1e9 1e-9; do
    awk -v size=$size '{ print (NR == 1 ? "w" : size * (1 + NR % 3)) "," $0 }' "$dir/quoted.csv" >"$dir/weighed.csv"
    ridge=$(awk -v size=$size 'BEGIN { print 0.01 * size }')
    check "weights of $size" train "$dir/weighed.csv" -o "$dir/weighed$size.rfm" --weights w --kernel laplace --metric diag --bandwidth 2 --iterations 1 --ridge "$ridge" --method large --centers 40
    says "weights of $size: held-out rows" '^validation +accuracy 0\.9'
    "$rfm" predict "$dir/weighed$size.rfm" "$dir/weighed.csv" >"$dir/weighed$size.txt"
    same_text "weights of $size: predictions" "$(paste -d '|' "$dir/weighed1.txt" "$dir/weighed$size.txt" | awk -F '|' '$1 != $2 { n++ } END { print (n < 5 && NR == 1300) }')" 1
done
# The ridge of a network kernel is a share of the largest K. Sums have no K of two rows: the model says what was added.
for settings in '--method exact' '--method large --centers 40' '--method exact --unit-rows'; do
    check "ntk, $settings" train "$dir/one.csv" -o "$dir/ntk.rfm" --kernel ntk --metric diag --iterations 1 --ridge 1e-3 $settings
    "$rfm" info "$dir/ntk.rfm" >"$dir/ntk.txt"
    same_text "ntk, $settings: nothing is kept of a raised one" "$(grep -c raised "$dir/ntk.txt")" 0
    "$rfm" sums "$dir/ntk.rfm" "$dir/one.csv" -o "$dir/ntk.sums" >"$dir/ntk.txt"
    check "ntk, $settings: merge" "$rfm" merge "$dir/ntk.sums" -o "$dir/ntk-merged.rfm"
    for model in ntk ntk-merged; do "$rfm" predict "$dir/$model.rfm" "$dir/one.csv" >"$dir/$model.txt"; done
    same_text "ntk, $settings: predictions" "$(paste -d ' ' "$dir/ntk.txt" "$dir/ntk-merged.txt" | awk '
        { d += ($1 - $2) ^ 2; s += $1; t += $1 ^ 2 } END { print (d < 4e-4 * (t - s * s / NR)) }')" 1
done
check 'sums of another model' "$rfm" sums "$dir/passes.rfm" "$dir/one.csv" -o "$dir/other.sums"
refuse 'merge: another model' 1 'other.sums: sums of another model than .*one.sums' "$rfm" merge "$dir/one.sums" "$dir/other.sums" -o "$out/refused.rfm"
head -c 3000 "$dir/one.sums" >"$dir/cut.sums"
refuse 'merge: cut off' 1 'cut.sums: the sums are cut off|cut.sums: the model' "$rfm" merge "$dir/cut.sums" -o "$out/refused.rfm"
refuse 'merge: no sums' 1 'all.csv: expected sums' "$rfm" merge "$dir/all.csv" -o "$out/refused.rfm"
refuse 'merge: a model of images' 1 'conv.rfm: expected sums' "$rfm" merge "$out/images/conv.rfm" -o "$out/refused.rfm"
refuse 'info: sums' 1 'one.sums: sums of rows; expected a model' "$rfm" info "$dir/one.sums"
refuse 'predict: sums' 1 'one.sums: sums of rows; expected a model' "$rfm" predict "$dir/one.sums" "$dir/all.csv"
refuse 'export: sums' 1 'one.sums: sums of rows; expected a model' "$rfm" export "$dir/one.sums" -o "$out/refused.rfm"
refuse 'merge: without -o' 2 'merge: expected -o' "$rfm" merge "$dir/one.sums"

wrong_large() { # what, status, message, files and options
    name=$1 want_status=$2 message=$3
    shift 3
    refuse "passes: $name" "$want_status" "$message" "$rfm" train "$@" -o "$out/refused.rfm" --quiet $set_large
}
sed 's/^a,b/b,a/' "$dir/one.csv" >"$dir/other.csv"
wrong_large 'other columns' 1 'other.csv: column 1 is b, expected a as in .*one.csv' "$dir/one.csv" "$dir/other.csv"
cut -d, -f1-3 "$dir/one.csv" >"$dir/narrow.csv"
wrong_large 'fewer columns' 1 'narrow.csv: 3 columns, expected the same 4 as in .*one.csv' "$dir/one.csv" "$dir/narrow.csv"
sed '9s/,[^,]*$//' "$dir/one.csv" >"$dir/short.csv"
wrong_large 'a short row' 1 'short.csv: line 9: 3 fields, expected 4 as in the header' "$dir/short.csv" --in-passes
sed 's/,/;/g' "$dir/one.csv" >"$dir/semicolon.csv"
wrong_large 'another delimiter' 1 'semicolon.csv: fields are separated by another sign' "$dir/one.csv" "$dir/semicolon.csv"
refuse 'passes: a tree' 2 'tables in passes: expected --method large' "$rfm" train "$dir/one.csv" "$dir/two.csv" -o "$out/refused.rfm" --quiet --method tree
wrong_large 'no such file' 1 'none.csv: cannot be opened' "$dir/one.csv" "$dir/none.csv"
wrong_large 'a split' 2 'expected none of --split' "$dir/one.csv" "$dir/two.csv" --split "$dir/one.csv"
wrong_large 'no such target' 1 'expected a column y|no column y' "$dir/one.csv" --in-passes --target y
refuse 'large: sets' 2 '--method large: expected no --coverage' "$rfm" train "$dir/all.csv" -o "$out/refused.rfm" --quiet --method large --coverage 0.9

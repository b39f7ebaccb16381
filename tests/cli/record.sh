# What a model was trained with, in its record: part of tests/cli/run.

# Columns: three inputs, the target between them, and one that nobody asked for at the end.
awk 'BEGIN { srand(11); print "a,b,price,c,other" >"'"$out/price.csv"'"; print "a,c,price" >"'"$out/two-of.csv"'"
    for (i = 0; i < 90; i++) {
        a = rand(); b = rand(); c = rand()
        printf "%.5f,%.5f,%.5f,%.5f,%d\n", a, b, 3 * a * a + 2 * c + 0.1 * b, c, i % 7 >"'"$out/price.csv"'"
        printf "%.5f,%.5f,%.5f\n", a, c, 3 * a * a + 2 * c + 0.1 * b >"'"$out/two-of.csv"'"
    } }'
cut -d, -f1-4 "$out/price.csv" >"$out/price4.csv"
priced='--metric full --iterations 2 --ridge 1e-3 --seed 9'

# info: target and options, as text and as JSON
check 'a target in the middle' train "$out/price4.csv" --target price -o "$out/price.rfm" $priced --bandwidth 1.5m --center --normalize trace
check 'info of a record' "$rfm" info "$out/price.rfm"
says 'info: the target' '^target        price$'
says 'info: the options' '^trained with  --task regress --kernel laplace --metric full --bandwidth 1.5m --ridge 0.001 --iterations 2 --center --normalize trace --seed 9$'
says 'info: the bytes' 'record [1-9][0-9]*, head'
check 'info --json of a record' "$rfm" info "$out/price.rfm" --json
says 'info --json: the target' '"targets": \["price"\]'
says 'info --json: the options' '"options": {"kernel": "laplace", "exponent": 1, "metric": "full", "normalize": "trace", "center": 1, "bandwidth_median": 1, "bandwidth": 1.5, "ridge": 0.001, "iterations": 2, "agop_points": 0, "seed": 9,'

# The target is found by its name, also among columns that nobody knows.
check 'the target by its recorded name' "$rfm" evaluate "$out/price.rfm" "$out/price.csv"
cp "$out/stdout" "$out/by-record"
check 'the target by --target' "$rfm" evaluate "$out/price.rfm" "$out/price.csv" --target price
same 'the target by its recorded name' "$out/by-record" "$out/stdout"
sed '1s/price/cost/' "$out/price.csv" >"$out/v.csv"
refuse 'another name among several columns' 1 'v.csv: line 1: expected a column price, the target of .*price.rfm' "$rfm" evaluate "$out/price.rfm" "$out/v.csv"
check 'another name, given' "$rfm" evaluate "$out/price.rfm" "$out/v.csv" --target cost
cut -d, -f1-4 "$out/v.csv" >"$out/v4.csv"
check 'another name, the only column left' "$rfm" evaluate "$out/price.rfm" "$out/v4.csv"
same 'another name, the only column left' "$out/by-record" "$out/stdout"
tail -n +2 "$out/price4.csv" >"$out/plain4.csv"
train "$out/plain4.csv" --no-header --target c3 -o "$out/plain4.rfm" $quick >/dev/null
check 'no header: the target by its number' "$rfm" evaluate "$out/plain4.rfm" "$out/plain4.csv" --no-header
same_text 'no header: the target by its number' "$(awk '$1 == "r2" { print ($2 > 0.9) }' "$out/stdout")" 1
train "$out/values.csv" --targets 2 -o "$out/v.rfm" $quick >/dev/null
awk -F, '{ print $4 "," $5 "," $1 "," $2 "," $3 }' "$out/values.csv" >"$out/v.csv"
check 'two targets, elsewhere' "$rfm" evaluate "$out/v.rfm" "$out/v.csv"
cp "$out/stdout" "$out/elsewhere"
check 'two targets' "$rfm" evaluate "$out/v.rfm" "$out/values.csv"
same 'two targets, elsewhere' "$out/elsewhere" "$out/stdout"

# compress fits anew with the options of the record: the same model as one that is trained on the kept columns.
for options in '--bandwidth 1.5m --center --normalize trace' '--bandwidth 2 --normalize max' '--bandwidth 0.7m' '--bandwidth 2 --center --raw' \
    '--bandwidth 1m --kernel gaussian --normalize trace' '--bandwidth 3 --kernel general --exponent 1.3 --center'; do
    # shellcheck disable=SC2086
    train "$out/price4.csv" --target price -o "$out/kind.rfm" $priced $options >/dev/null 2>&1
    # shellcheck disable=SC2086
    train "$out/two-of.csv" --target price -o "$out/direct.rfm" $priced $options >/dev/null 2>&1
    check "fitted anew: $options" "$rfm" compress "$out/kind.rfm" --data "$out/price4.csv" --features 2 -o "$out/anew.rfm" --quiet
    "$rfm" predict "$out/anew.rfm" "$out/two-of.csv" --scores --quiet >"$out/after.csv"
    "$rfm" predict "$out/direct.rfm" "$out/two-of.csv" --scores --quiet >"$out/before.csv"
    same "fitted anew: $options" "$out/before.csv" "$out/after.csv"
done

# The record goes on into the small model, not into firmware.
for type in f32 i8 i16; do
    check "compress to $type" "$rfm" compress "$out/price.rfm" --data "$out/price.csv" --centers 60 --type $type -o "$out/small.rfm" --quiet --json
    firmware=$(grep -o '"model_bytes": [0-9]*' "$out/stdout")
    check "info of $type" "$rfm" info "$out/small.rfm"
    says "$type: the target" '^target        price$'
    says "$type: the options" '^trained with .* --bandwidth 1.5m .* --center --normalize trace --seed 9$'
    check "evaluate $type by the recorded name" "$rfm" evaluate "$out/small.rfm" "$out/price.csv"
    "$rfm" export "$out/small.rfm" -o "$out/small.h" 2>/dev/null
    same_text "$type: firmware has no record" "\"model_bytes\": $(sed -n 's/#define .*_BYTES  *//p' "$out/small.h")" "$firmware"
done
check 'features of a small model are standardised' "$rfm" compress "$out/price.rfm" --data "$out/price.csv" -o "$out/small.rfm" --quiet
"$rfm" info "$out/price.rfm" | grep '^features' >"$out/before"
"$rfm" info "$out/small.rfm" | grep '^features' >"$out/after"
same 'features of a small model are standardised' "$out/before" "$out/after"
"$rfm" export "$out/price.rfm" -o "$out/full.h" --name model 2>/dev/null
"$rfm" compress "$out/price.rfm" --data "$out/price.csv" -o "$out/again.rfm" --summary --quiet >/dev/null
"$rfm" export "$out/again.rfm" -o "$out/again.h" --name model 2>/dev/null
same 'numbers, names and summary stay as they are, to the bit' "$out/full.h" "$out/again.h"
check 'compress twice' "$rfm" compress "$out/small.rfm" --data "$out/price.csv" --budget 900 -o "$out/twice.rfm" --quiet
check 'info of the second' "$rfm" info "$out/twice.rfm"
says 'the second knows the target' '^target        price$'

# Missing cells: a model that was trained with some has what to put there, in integers, too.
awk -F, 'NR % 9 == 5 { $1 = "" } NR % 11 == 7 { $4 = "nan" } { print $1 "," $2 "," $3 "," $4 }' "$out/price4.csv" >"$out/gaps.csv"
check 'trained with gaps' train "$out/gaps.csv" --target price --missing mean -o "$out/gaps.rfm" $priced --bandwidth 2m
says_means=$(awk -F, 'NR > 1 { if ($1 != "") { s += $1; n++ } } END { printf "%.5f", s / n }' "$out/gaps.csv")
for type in f32 i8; do
    "$rfm" compress "$out/gaps.rfm" --data "$out/gaps.csv" --centers 60 --type $type -o "$out/gaps-$type.rfm" --quiet >/dev/null
    check "info: $type fills gaps" "$rfm" info "$out/gaps-$type.rfm" --json
    says "info: $type fills gaps" '"fills_missing": 1'
    for word in '' '--missing mean'; do
        # shellcheck disable=SC2086
        check "predict with gaps, $type $word" "$rfm" predict "$out/gaps-$type.rfm" "$out/gaps.csv" -o "$out/predicted" $word
        # shellcheck disable=SC2086
        check "evaluate with gaps, $type $word" "$rfm" evaluate "$out/gaps-$type.rfm" "$out/gaps.csv" $word
    done
    same_text "gaps are counted, $type" "$(grep -c 'gaps.csv: 18 empty cells' "$out/stderr")" 1
    printf 'a,b,c\n,0.5,0.5\n' >"$out/gap.csv"
    printf 'a,b,c\n%s,0.5,0.5\n' "$says_means" >"$out/mean.csv"
    "$rfm" predict "$out/gaps-$type.rfm" "$out/gap.csv" --quiet >"$out/gap"
    "$rfm" predict "$out/gaps-$type.rfm" "$out/mean.csv" --quiet >"$out/mean"
    same_text "a gap is the mean, $type" "$(paste "$out/gap" "$out/mean" | awk '{ print (($1 - $2) ^ 2 < 1e-6) }')" 1
    refuse "gaps refused, $type" 1 'gaps.csv: line [0-9]+, column [14]' "$rfm" predict "$out/gaps-$type.rfm" "$out/gaps.csv" --missing error
done
check 'report with gaps in integers' "$rfm" report "$out/gaps-i8.rfm" --data "$out/gaps.csv" -o "$out/gaps.html" --quiet
"$rfm" compress "$out/price.rfm" --data "$out/price.csv" --type i8 -o "$out/small.rfm" --quiet >/dev/null
check 'trained without gaps: integers have what to put there' "$rfm" predict "$out/small.rfm" "$out/gaps.csv"
check 'features that are left keep their means' "$rfm" compress "$out/gaps.rfm" --data "$out/gaps.csv" --features 2 --type i8 -o "$out/small.rfm" --quiet
check 'two of three with gaps' "$rfm" evaluate "$out/small.rfm" "$out/gaps.csv"

# Offsets: a row is predicted alike whatever rows are beside it.
{ cat "$out/times.csv"; echo '0,0.5,0'; echo '4000000000,0.5,0'; } >"$out/far.csv"
"$rfm" predict "$out/times.rfm" "$out/times.csv" --scores --quiet >"$out/before.csv"
"$rfm" predict "$out/times.rfm" "$out/far.csv" --scores --quiet | head -n 300 >"$out/after.csv"
same 'a time beside others that are far off' "$out/before.csv" "$out/after.csv"
for line in 2 77 301; do sed -n "1p;${line}p" "$out/times.csv" | "$rfm" predict "$out/times.rfm" - --scores --quiet; done >"$out/after.csv"
sed -n '1p;76p;300p' "$out/before.csv" >"$out/three-of"
same 'a time alone' "$out/three-of" "$out/after.csv"

# Without a record, as format 1.0 has it: everything but what has to be fitted anew.
if $cc -std=c99 -Irfm -o "$out/old" tests/cli/old.c && "$out/old" "$out/old.rfm"; then
    awk 'BEGIN { srand(2); print "a,b,c,target"; for (i = 0; i < 40; i++) { a = 120 * rand() - 60; b = 120 * rand() - 60
        print a "," b "," 120 * rand() - 60 "," (a > 10 ? "red" : b > 0 ? "green" : "blue") } }' >"$out/old.csv"
    check 'format 1.0: info' "$rfm" info "$out/old.rfm"
    same_text 'format 1.0: nothing is made up' "$(grep -c '^target\|^trained with' "$out/stdout")" 0
    check 'format 1.0: evaluate' "$rfm" evaluate "$out/old.rfm" "$out/old.csv"
    check 'format 1.0: compress' "$rfm" compress "$out/old.rfm" --data "$out/old.csv" --centers 10 --type i8 -o "$out/small.rfm" --quiet
    refuse 'format 1.0: nothing to fit anew with' 1 'old.rfm: has no record of its training' "$rfm" compress "$out/old.rfm" --data "$out/old.csv" --budget 1000 -o "$out/refused.rfm" --quiet
else fail 'tests/cli/old.c'; fi

# Tables as they come: cells that are missing, texts, dates, odd numbers; what is said and done. Part of tests/cli/run.

# ---- a table with everything -----------------------------------------------------------------------------------------

# The class hangs on size and colour; size misses a fifth of its cells. Everything else is noise of some kind.
awk 'BEGIN { srand(4)
    print "id,when,size,colour,flag,price,city,const,code,kind"
    for (i = 0; i < 240; i++) {
        a = rand(); colour = substr("red  greenblue ", 1 + 5 * int(3 * rand()), 5); sub(/ +$/, "", colour)
        day = i == 9 ? "2024-02-30" : sprintf("2024-%02d-%02d %02d:%02d", 1 + int(12 * rand()), 1 + int(28 * rand()), int(24 * rand()), int(60 * rand()))
        printf "%d,%s,%s,%s,%s,\"%d,%02d\",%s,7,k%d,%s\n", 1000 + i, day, (rand() < 0.2 ? "NA" : sprintf("%.3f", a)), i % 11 ? colour : "", \
            (rand() < 0.5 ? "true" : "False"), 100 * rand(), 100 * rand(), i % 60 ? (rand() < 0.5 ? "Oslo" : "Rome") : "town" i, i, \
            i % 40 == 5 ? "" : (a + (colour == "red" ? 0.3 : 0) > 0.6) ? "yes" : "no"
    } }' >"$out/all.csv"
check 'a table with everything' "$rfm" train "$out/all.csv" -o "$out/all.rfm" $quick --json
says 'everything: rows and columns' '"rows_train": 234, "rows_test": 0, "rows_missing": [0-9]+, "rows_left_out": 6, "columns_dropped": \["id", "code", "const"\], "features": 14'
noted 'everything: targets' 'all.csv: 6 rows without a target: left out'
noted 'everything: id' 'column 1 \(id\) is left out: whole numbers, all different'
noted 'everything: a date that does not exist' 'line 11, column 2 \(when\): "2024-02-30" is no date that exists; 1 such cell counts as missing'
noted 'everything: dates' 'column 2 \(when\): dates as days since 1970'
noted 'everything: texts' 'column 4 \(colour\): 3 texts, each an input'
noted 'everything: true and false' 'column 5 \(flag\): true and false as 1 and 0'
noted 'everything: commas' 'column 6 \(price\): numbers with decimal commas'
noted 'everything: rare texts' 'column 7 \(city\): 2 texts are inputs; 4 rare ones, in 4 cells, are one together'
noted 'everything: identifiers' 'column 9 \(code\) is left out: 234 different texts in 234 cells'
noted 'everything: a constant' 'column 8 \(const\) is left out: one value in all training rows'
noted 'everything: cells that are filled in' 'input size: [0-9]+ missing cells: 0\.[0-9]+ in place of them'
sed -n 's/^rfm: //; s,^[^ ]*all.csv: ,,p; /^input /p' "$out/stderr" | sort -u >"$out/said"
# Whatever was said is kept, as decided or in the lines of the columns.
kept_in() { # what, model
    check "$1: info" "$rfm" info "$2"
    awk -v what="$1" 'NR == FNR { kept[$0]; next }
        /^column .* (is left out|days since 1970|each an input|as 1 and 0|decimal commas$)/ { next }
        !("decided       " $0 in kept) { print what ": not kept: " $0; bad = 1 }
        { n++ }
        END { exit bad || n < 4 }' "$out/stdout" "$out/said"
}
if kept_in 'everything' "$out/all.rfm"; then pass; else fail 'a decision that info does not have'; fi
for line in 'input +when:weekday: the day of the week' "input +colour=red: 1 if colour is 'red', else 0" 'input +"?colour=\(missing\)"?: 1 if colour is missing' \
    'input +price: numbers with decimal commas' 'left out +code: 234 different texts' 'left out +const: one value'; do
    says "everything: info" "^$line"
done
# No flag is needed to use it, and the rows that it has seen are known.
check 'everything: evaluate' "$rfm" evaluate "$out/all.rfm" "$out/all.csv" --json
says 'everything: evaluate' '"rows_test": 234, "rows_seen": 234,.*"accuracy": (1|0\.9)'
noted 'everything: evaluate' '234 of the 234 rows were trained on'
check 'everything: predict' "$rfm" predict "$out/all.rfm" "$out/all.csv" --scores -o "$out/before.csv"
same_text 'everything: predict' "$(wc -l <"$out/before.csv" | tr -d ' ')" 240
awk -F, 'NR == 1 { print; next } { print }' "$out/all.csv" | sed 's/,Oslo,/,Bonn,/' >"$out/v.csv"
check 'a text that was not there in training' "$rfm" predict "$out/all.rfm" "$out/v.csv"
same_text 'it is one of the rare ones then' "$(grep -c 'was not there' "$out/stderr")" 0
sed 's/,blue,/,pink,/' "$out/all.csv" >"$out/v.csv"
check 'a text that was not there in training' "$rfm" predict "$out/all.rfm" "$out/v.csv"
noted 'a text that was not there is counted' "v.csv: $(grep -c ',pink,' "$out/v.csv") cells have a text that was not there in training"
refuse 'a text in a column of true and false' 1 'v.csv: line 2, column 5 \(flag\): expected true or false \(--na TEXT for a word that means missing\), found "perhaps"' \
    sh -c "sed 's/,true,/,perhaps,/; s/,False,/,perhaps,/' '$out/all.csv' >'$out/v.csv'; '$rfm' predict '$out/all.rfm' '$out/v.csv'"
check 'that text as missing' "$rfm" predict "$out/all.rfm" "$out/v.csv" --na perhaps
check 'a search, held-out rows' "$rfm" train "$out/all.csv" -o "$out/held.rfm" --test-size 0.25 --kernel laplace --metric diag --bandwidth 2m --iterations 1
check 'a search, held-out rows: info' "$rfm" info "$out/held.rfm"
says 'info: rows held out' '^decided       5[0-9] rows held out to test on \(--test-size 0.25\)$'
says 'info: the search' '^decided       the best of [0-9]+ settings in 5 folds of the training rows$'
"$rfm" train "$out/all.csv" -o "$out/quiet.rfm" --test-size 0.25 --kernel laplace --metric diag --bandwidth 2m --iterations 1 --quiet --cv 2 >/dev/null
check 'decisions are said with --cv, too' "$rfm" train "$out/all.csv" -o "$out/crossed.rfm" $quick --cv 2
noted '--cv: a date that does not exist' 'line 11, column 2 \(when\): "2024-02-30" is no date that exists; 1 such cell counts as missing'
same '--cv changes nothing that is kept' "$out/all.rfm" "$out/crossed.rfm"
same 'neither --quiet nor --cv changes what is kept' "$out/held.rfm" "$out/quiet.rfm"
# Long names: lists are in lines that a terminal shows whole, and no name is cut.
awk 'BEGIN { for (j = 0; j < 12; j++) printf "the_mean_of_the_acceleration_along_the_axis_of_channel_number_%d_in_m_per_s2,", j; print "target"
    srand(5); for (i = 0; i < 60; i++) { s = 0; for (j = 0; j < 12; j++) { x = rand(); s += x; printf "%.3f,", x } print s } }' >"$out/lengthy.csv"
check 'long names' train "$out/lengthy.csv" -o "$out/lengthy.rfm" $quick
"$rfm" compress "$out/lengthy.rfm" --data "$out/lengthy.csv" --type i8 --centers 9 -o "$out/lengthy-i8.rfm" --quiet >/dev/null
"$rfm" compress "$out/lengthy.rfm" --data "$out/lengthy.csv" --type tiny --centers 9 --rank 3 -o "$out/lengthy-tiny.rfm" --quiet >/dev/null
for kind in '' -i8 -tiny; do
    check "long names$kind: info" "$rfm" info "$out/lengthy$kind.rfm"
    same_text "long names$kind: the longest line" "$(awk 'length > 120' "$out/stdout" | grep -vc -e '^bytes' -e '^trained with')" 0
    same_text "long names$kind: they are whole" "$(grep -o 'the_mean_of[a-z_0-9]*' "$out/stdout" | grep -cvx 'the_mean_of_the_acceleration_along_the_axis_of_channel_number_[0-9]*_in_m_per_s2')" 0
done
# A small model of integers takes the same table, with what it needs of it.
for type in f32 i8; do
    check "everything: compress to $type" "$rfm" compress "$out/all.rfm" --data "$out/all.csv" --centers 100 --type $type -o "$out/small.rfm" --quiet
    if kept_in "everything, $type" "$out/small.rfm"; then pass; else fail 'a decision that info of a small model does not have'; fi
    check "everything: evaluate $type" "$rfm" evaluate "$out/small.rfm" "$out/all.csv" --json
    says "everything: evaluate $type" '"rows_test": 234, "rows_seen": 234,.*"accuracy": (1|0\.[89]).*"log_loss": [0-9.]+'
    check "everything: probabilities of $type" "$rfm" predict "$out/small.rfm" "$out/all.csv" --proba
    says "everything: probabilities of $type" '^no,yes$'
done
check 'everything: fewer inputs' "$rfm" compress "$out/all.rfm" --data "$out/all.csv" --features 3 --type i8 -o "$out/small.rfm" --quiet
check 'everything: evaluate fewer inputs' "$rfm" evaluate "$out/small.rfm" "$out/all.csv" --json
says 'everything: evaluate fewer inputs' '"rows_seen": 234, "features": 3'
check 'everything: export' "$rfm" export "$out/all.rfm" -o "$out/all.h"
cp "$out/all.h" "$out/stdout"
says 'export: how inputs are made' "^ \*     \"colour=red\": \"1 if colour is 'red', else 0\""
check 'export: standalone' "$rfm" export "$out/small.rfm" -o "$out/all.h" --standalone
check 'export: it compiles' "$cc" -std=c99 -Wall -Werror -fsyntax-only -x c "$out/all.h"
check 'everything: report' "$rfm" report "$out/all.rfm" --data "$out/all.csv" -o "$out/all.html"
cp "$out/all.html" "$out/stdout"
says 'report: rows that were trained on' 'The model was trained on 234 of them'
says 'report: columns' 'Columns left out: id .*code .*const '
says 'report: inputs' '<dt>colour=red</dt><dd>1 if colour is'

# ---- what people write for nothing --------------------------------------------------------------------------------------

printf 'a,b,target\n1,2,0\n-99,3,1\n4,none such,0\n5,6,1\n7,7,0\n' >"$out/v.csv"
printf 'a,b,target\n1,2,0\n,3,1\n4,,0\n5,6,1\n7,7,0\n' >"$out/v2.csv"
check '--na' train "$out/v.csv" --na '-99,none such' -o "$out/words.rfm" $quick
check '--na: info' "$rfm" info "$out/words.rfm"
says '--na: info' '^missing +also -99, "none such"$'
says '--na: info' '^trained with .* --na "-99,none such" '
check 'nothing in their place' train "$out/v2.csv" -o "$out/empty.rfm" $quick
"$rfm" predict "$out/words.rfm" "$out/v.csv" --scores --quiet >"$out/before.csv"
"$rfm" predict "$out/empty.rfm" "$out/v2.csv" --scores --quiet >"$out/after.csv"
same '--na is kept in the model' "$out/before.csv" "$out/after.csv"
awk 'BEGIN { print "a,b,target"; for (i = 0; i < 60; i++) print i % 7 "," (i % 10 == 3 ? "broken" : i % 9) "," (i % 7 > 3) }' >"$out/v.csv"
check 'a few texts among numbers' "$rfm" train "$out/v.csv" -o "$out/t.rfm" $quick --json
noted 'a few texts among numbers' 'v.csv: line 5, column 2 \(b\): "broken" is no number, as most cells of the column are; 6 such cells count as missing'
says 'a few texts among numbers' '"features": 2'
check 'the model takes them, too' "$rfm" predict "$out/t.rfm" "$out/v.csv"
printf 'a,b,target\n,2,0\n,3,1\n,4,0\n' >"$out/v.csv"
check 'all cells of a column missing' "$rfm" train "$out/v.csv" -o "$out/t.rfm" $quick --json
noted 'all cells of a column missing' 'v.csv: column 1 \(a\) is left out: no value in any training row'
says 'all cells of a column missing' '"columns_dropped": \["a"\], "features": 1'
# Where it is missing tells of the target: an input says so. Where it does not, there is none.
awk 'BEGIN { srand(8); print "a,b,c,target"; for (i = 0; i < 200; i++) { y = rand() < 0.5; print (rand() < (y ? 0.7 : 0.1) ? "" : rand()) "," (rand() < 0.3 ? "" : rand()) "," exp(4 * rand()) "," y } }' >"$out/tells.csv"
check 'what is missing tells' "$rfm" train "$out/tells.csv" -o "$out/t.rfm" $quick --json
says 'what is missing tells' '"features": 4'
noted 'what is missing tells' 'column 1 \(a\): where it is missing tells of the target, and is an input'
not_noted 'what is missing does not tell' 'column 2 \(b\): where it is missing'
awk -F, 'NR == 1 { print; next } { print $1 "," $2 "," (NR % 4 ? $3 : "") "," $4 }' "$out/tells.csv" >"$out/v.csv"
check 'a skewed column' "$rfm" train "$out/v.csv" -o "$out/t.rfm" $quick
median=$(awk -F, 'NR > 1 && $3 != "" { print $3 }' "$out/v.csv" | sort -g | awk '{ v[NR] = $1 } END { printf "%.4g", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }')
same_text 'a skewed column has its median' "$(sed -n 's/.*input c: [0-9]* missing cells: \([0-9.]*\) in place.*/\1/p' "$out/stderr" | awk '{ printf "%.4g", $1 }')" "$median"
check '--missing median' "$rfm" train "$out/v.csv" --missing median -o "$out/t.rfm" $quick --json
says '--missing median: no input for where' '"features": 3'

# ---- targets ---------------------------------------------------------------------------------------------------------

printf 'a,b,target\n1,2,0.5\n2,3,NA\n4,4,2.5\n5,5,\n6,6,1.5\n' >"$out/v.csv"
check 'targets that are missing' "$rfm" train "$out/v.csv" -o "$out/t.rfm" $quick --json
says 'targets that are missing' '"rows_train": 3, .*"rows_left_out": 2,'
noted 'targets that are missing' 'v.csv: 2 rows without a target: left out'
check 'targets that are missing: evaluate' "$rfm" evaluate "$out/t.rfm" "$out/v.csv" --json
says 'targets that are missing: evaluate' '"rows_test": 3, '
printf 'a,b,target\n1,2,x\n2,3,\n4,4,y\n' >"$out/v.csv"
check 'a class that is missing' "$rfm" train "$out/v.csv" -o "$out/t.rfm" $quick --json
says 'a class that is missing' '"rows_train": 2, .*"rows_left_out": 1,'
printf 'a,b,target\n1,2,\n2,3,NA\n' | refuse_data 'all targets missing' '0 training rows, expected at least 2'
task() { # what, task, values of the target
    what=$1 wanted=$2
    shift 2
    { echo 'a,target'; for value; do echo "$((i = i + 1)),$value"; done; } >"$out/v.csv"
    check "$what" "$rfm" train "$out/v.csv" -o "$out/t.rfm" $quick --json
    says "$what" "\"task\": \"$wanted\""
}
i=0
task 'classes 1 and 2' classify 1 2 1 2 2 1
task 'classes 1, 2 and 4' classify 1 2 4 4 2 1
task 'classes 2 and 4' classify 2 4 2 4
task 'classes -1 and 1' classify -1 1 1 -1
task 'classes 1 to 5' classify 1 2 3 4 5 1 2 3 4 5
task 'classes yes and no' classify yes no yes no
task 'classes true and false' classify true false true
task 'counts' regress 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 2 2 2 2 3 3 4
task 'whole numbers with gaps' regress 10 20 30 50 70
task 'fractions' regress 0.5 1.5 0.5
task 'decimal commas' regress '"1,5"' '"2,5"' '"4,25"'
check 'counts as classes, if asked' sh -c "awk 'BEGIN { print \"a,target\"; for (i = 0; i < 60; i++) print i \",\" int(sqrt(i / 4)) }' >'$out/v.csv'; '$rfm' train '$out/v.csv' --task classify -o '$out/t.rfm' --json $quick"
says 'counts as classes, if asked' '"task": "classify"'

# ---- numbers and dates in other ways of writing ----------------------------------------------------------------------

# Each file means the same as one with plain numbers: the same predictions.
means() { # what, the file with plain numbers, the other one
    check "$1" train "$3" -o "$out/v.rfm" $quick
    check "$1: plain" train "$2" -o "$out/plain-v.rfm" $quick
    "$rfm" predict "$out/v.rfm" "$3" --scores --quiet >"$out/after.csv"
    "$rfm" predict "$out/plain-v.rfm" "$2" --scores --quiet >"$out/before.csv"
    same "$1" "$out/before.csv" "$out/after.csv"
}
printf 'a;target\n1.5;0\n2.25;1\n-1234.5;0\n7;1\n' >"$out/plain-v.csv"
printf 'a;target\n1,5;0\n2,25;1\n-1.234,5;0\n7;1\n' >"$out/v.csv"
means 'decimal commas' "$out/plain-v.csv" "$out/v.csv"
printf 'a,target\n1500,0\n2250.5,1\n"-1,234,567",0\n7,1\n' | sed 's/"//g; s/,234,567/234567/' >"$out/plain-v.csv"
printf 'a,target\n"1,500",0\n"2,250.5",1\n"-1,234,567",0\n7,1\n' >"$out/v.csv"
means 'commas between thousands' "$out/plain-v.csv" "$out/v.csv"
printf 'a,target\n1,0\n0,1\n0,0\n1,1\n' >"$out/plain-v.csv"
printf 'a,target\nTrue,0\nfalse,1\nFALSE,0\ntrue,1\n' >"$out/v.csv"
means 'true and false' "$out/plain-v.csv" "$out/v.csv"
printf 'a,target\n12.5,0\n0.25,1\n23,0\n' >"$out/plain-v.csv"
printf 'a,target\n12:30,0\n00:15:00,1\n11:00 pm,0\n' >"$out/v.csv"
means 'times of day' "$out/plain-v.csv" "$out/v.csv"
# Days since 1970 by the date of this machine; month, weekday and hour by hand.
for form in '2024-01-31 2024-02-29 2023-03-01' '2024/01/31 2024/02/29 2023/03/01' '31.01.2024 29.2.2024 1.3.2023' '01/31/2024 02/29/2024 03/01/2023' '31/01/2024 29/02/2024 01/03/2023' \
    '2024-01-31T00:00:00Z 2024-02-29T00:00Z 2023-03-01T00:00:00.000Z' '2024-01-31T02:00:00+02:00 2024-02-28T19:00-05:00 2023-03-01' '31-Jan-2024 29-February-2024 1-mar-2023'; do
    { echo 'a,target'; i=0; for date in $form; do echo "$date,$((i = i + 1))"; done; } >"$out/v.csv"
    check "dates: $form" train "$out/v.csv" --task regress -o "$out/v.rfm" $quick
    "$rfm" info "$out/v.rfm" --json >"$out/stdout"
    says "dates: $form" '"inputs": \["a", "a:month", "a:weekday"\]'
    "$rfm" predict "$out/v.rfm" "$out/v.csv" --scores --quiet >"$out/after.csv"
    [ -e "$out/dates.csv" ] || cp "$out/after.csv" "$out/dates.csv"
    same "dates: $form" "$out/dates.csv" "$out/after.csv"
done
printf 'a,m,w,target\n19753,1,2,1\n19782,2,3,2\n19417,3,2,3\n' >"$out/plain-v.csv" # date -u -d 2024-01-31 +%%s / 86400; Wednesday, Thursday, Wednesday
check 'dates: plain' train "$out/plain-v.csv" --task regress -o "$out/plain-v.rfm" $quick
"$rfm" predict "$out/plain-v.rfm" "$out/plain-v.csv" --scores --quiet >"$out/before.csv"
same 'dates are days, months and weekdays' "$out/dates.csv" "$out/before.csv"
printf 'a,target\n1/2/2024,0\n3/4/2024,1\n5/6/2024,0\n' >"$out/v.csv"
check 'dates of either order' "$rfm" train "$out/v.csv" -o "$out/t.rfm" $quick
noted 'dates of either order' 'column 1 \(a\): dates like 1/2/2024 are taken as month/day/year; write 2024-01-31 to be sure'
for other in '1.2.3.4 10.0.0.1 1.2.3.5' '2024-1 2024-2 2024-3' '1/2/3 4/5/6 7/8/9'; do
    { echo 'a,target'; i=0; for cell in $other; do echo "$cell,$((i = i + 1))"; done; } >"$out/v.csv"
    check "no dates: $other" "$rfm" train "$out/v.csv" -o "$out/t.rfm" --task regress $quick
    noted "no dates: $other" 'column 1 \(a\): 3 texts, each an input'
done

# ---- which columns ---------------------------------------------------------------------------------------------------

check '--drop' train "$out/three.csv" --drop x3,x1 -o "$out/t.rfm" $quick --json
says '--drop' '"columns_dropped": \["x1", "x3"\], "features": 1'
check '--only' train "$out/three.csv" --only x2 -o "$out/v.rfm" $quick --json
says '--only' '"features": 1'
"$rfm" predict "$out/t.rfm" "$out/three.csv" --scores --quiet >"$out/before.csv"
"$rfm" predict "$out/v.rfm" "$out/three.csv" --scores --quiet >"$out/after.csv"
same '--drop and --only' "$out/before.csv" "$out/after.csv"
again 'columns that are dropped' '--task classify --drop x3 --kernel' "$out/three.csv" $quick --drop x3
refuse '--drop of nothing' 1 'three.csv: line 1: expected a column nix \(--drop\)' "$rfm" train "$out/three.csv" --drop nix -o "$out/refused.rfm"
refuse '--only of nothing' 1 'three.csv: line 1: expected a column nix \(--only\)' "$rfm" train "$out/three.csv" --only nix -o "$out/refused.rfm"
refuse '--drop and --only' 2 '--drop and --only: expected one of them' "$rfm" train "$out/three.csv" --drop x1 --only x2 -o "$out/refused.rfm"
refuse 'nothing is left' 1 'no column is left for inputs' "$rfm" train "$out/three.csv" --drop x1,x2,x3 -o "$out/refused.rfm"
printf 'a,b,a,target\n1,2,3,0\n2,3,4,1\n' >"$out/v.csv"
check 'two columns of one name, dropped' train "$out/v.csv" --drop a -o "$out/t.rfm" $quick

# ---- encodings -------------------------------------------------------------------------------------------------------

printf 'gr\303\266\303\237e,target\n1,K\303\266ln\n2,\342\202\254\n3,K\303\266ln\n4,\342\202\254\n' >"$out/utf8.csv"
printf 'gr\366\337e,target\n1,K\366ln\n2,\200\n3,K\366ln\n4,\200\n' >"$out/latin.csv"
check 'UTF-8' train "$out/utf8.csv" -o "$out/utf8.rfm" $quick
check 'Latin-1' "$rfm" train "$out/latin.csv" -o "$out/latin.rfm" $quick
noted 'Latin-1' 'latin.csv: not UTF-8: taken as Latin-1'
same 'Latin-1 is converted' "$out/utf8.rfm" "$out/latin.rfm"
printf 'gr\303\266\337e,target\n1,a\n2,b\n' | refuse_data 'both at once' 'bad.csv: line 1: the byte 0xdf is no UTF-8, which other parts of the file are'

# ---- real tables, spoiled ----------------------------------------------------------------------------------------------

# A fifth of all cells is gone, or numbers have become words, or there are columns that have nothing to say.
awk -F, -v OFS=, 'BEGIN { srand(7); n = split("NA,,?,null,NaN", w, ",") } NR > 1 { for (i = 1; i < NF; i++) if (rand() < 0.2) $i = w[1 + int(n * rand())] } { print }' tools/data/gesture_digits.csv >"$out/gone.csv"
check 'a complete table' train tools/data/gesture_digits.csv --split tools/data/gesture_digits.split -o "$out/t.rfm" --json --metric diag --ridge 1e-2 --iterations 2
whole=$(grep -o '"accuracy": [0-9.]*' "$out/stdout" | head -n 1 | cut -d' ' -f2)
check 'a fifth of its cells missing' train "$out/gone.csv" --split tools/data/gesture_digits.split -o "$out/t.rfm" --json --metric diag --ridge 1e-2 --iterations 2
says 'a fifth of its cells missing' '"rows_missing": (799|800),'
part=$(grep -o '"accuracy": [0-9.]*' "$out/stdout" | head -n 1 | cut -d' ' -f2)
check "at most 5 points less: $whole, $part" awk -v a="$whole" -v b="$part" 'BEGIN { exit !(a - b <= 0.05) }'
awk -F, -v OFS=, 'NR == 1 { print "row_id,day", $0; next } { for (i = 1; i < NF; i += 4) $i = "l" int(($i + 100) / 50); print 7000 + NR, "1" NR % 10 ".05.2023", $0 }' tools/data/gesture_digits.csv >"$out/words.csv"
check 'numbers as words' train "$out/words.csv" --split tools/data/gesture_digits.split -o "$out/t.rfm" --json --metric diag --ridge 1e-2 --iterations 2
says 'numbers as words' '"columns_dropped": \["row_id"\].*"accuracy": 0\.[89]'
awk -F, -v OFS=, 'NR == 1 { print; next } { $1 += 1000000000; $2 += 1700000000; print }' tools/data/gesture_digits.csv >"$out/far.csv"
check 'offsets of 1e9' train "$out/far.csv" --split tools/data/gesture_digits.split -o "$out/t.rfm" --json --metric diag --ridge 1e-2 --iterations 2
same_text 'offsets of 1e9: as without' "$(grep -o '"accuracy": [0-9.]*' "$out/stdout" | head -n 1 | awk -v a="$whole" '{ print ($2 > a - 0.01) }')" 1

# ---- texts that are all rare -----------------------------------------------------------------------------------------

# 400 and 1500 texts, each three times: all together would be one input that is always 1. --one-hot takes 1000.
for texts in 400 1500; do
    awk -v n="$texts" 'BEGIN { print "a,words,target"; for (i = 0; i < 3 * n; i++) printf "%d,w%d,%s\n", i * 7 % 101, i % n, (i * 7 % 101 > 50 ? "yes" : "no") }' >"$out/rare.csv"
    check "$texts rare texts" "$rfm" train "$out/rare.csv" -o "$out/t.rfm" --rows 200 $quick --json
    says "$texts rare texts" '"columns_dropped": \["words"\], "features": 1'
    offer='of them rare'
    [ "$texts" = 1500 ] || offer='of them rare \(--one-hot to take them\)'
    noted "$texts rare texts" "column 2 \\(words\\) is left out: $texts different texts in $((3 * texts)) cells, all $offer\$"
done
# Each text once.
awk 'BEGIN { print "a,words,target"; for (i = 0; i < 1500; i++) printf "%d,w%d,%s\n", i * 7 % 101, i, (i * 7 % 101 > 50 ? "yes" : "no") }' >"$out/rare.csv"
check '1500 different texts' "$rfm" train "$out/rare.csv" -o "$out/t.rfm" --rows 200 $quick
noted '1500 different texts' '1500 different texts in 1500 cells, as an identifier has them$'

# ---- what is said once, or refused -----------------------------------------------------------------------------------

printf 'a,b,target\n1,,0\n2,3,1\n,4,0\n3,9,1\n5,1,0\n6,2,1\n7,8,0\n8,4,1\n' >"$out/holes.csv"
check 'holes' "$rfm" train "$out/holes.csv" --missing mean -o "$out/holes.rfm" $quick -q
printf '0\n0\n0\n0\n0\n0\n1\n1\n' >"$out/t.split"
check 'holes: compress' "$rfm" compress "$out/holes.rfm" --data "$out/holes.csv" --split "$out/t.split" --centers 3 -o "$out/t.rfm"
printf '1\n1\n0\n0\n0\n0\n0\n0\n' >"$out/t.split"
check 'holes: compress' "$rfm" compress "$out/holes.rfm" --data "$out/holes.csv" --split "$out/t.split" --centers 3 -o "$out/t.rfm"
same_text 'holes: said once' "$(grep -c 'holes.csv: 2 empty cells: filled in' "$out/stderr") $(grep -c 'filled in' "$out/stderr")" '1 1'
for form in '' --standalone; do
    check "holes: export $form" "$rfm" export "$out/holes.rfm" -o "$out/holes.h" $form
    same_text "holes: what they become $form" "$(grep -A 1 'Inputs where cells are missing' "$out/holes.h" | tail -n 1)" ' *     "a" 4.57142878, "b" 4.42857122'
done
refuse 'a target that is an input' 1 'holes.csv: column 2 \(b\) is an input of .*holes.rfm, expected another target' "$rfm" evaluate "$out/holes.rfm" "$out/holes.csv" --target b
refuse 'an option in place of a value' 2 'test-size: needs a value, found the option -o' "$rfm" train "$out/holes.csv" --test-size -o "$out/refused.rfm"

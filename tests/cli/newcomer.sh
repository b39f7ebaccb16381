# What people meet with their first tables, and what they are told: part of tests/cli/run.

noted() { # what, extended regular expression: the last standard error has it
    if grep -Eq -e "$2" "$out/stderr"; then pass; else
        fail "$1: no note: $2"
        head -n 5 "$out/stderr"
    fi
}
not_noted() { # what, extended regular expression
    if grep -Eq -e "$2" "$out/stderr"; then
        fail "$1: a note: $2"
        cat "$out/stderr"
    else pass; fi
}

# ---- names of columns ------------------------------------------------------------------------------------------------

printf 'a,b,a,target\n1,2,3,0\n2,3,4,1\n' | refuse_data 'two columns of one name' 'bad.csv: line 1: columns 1 and 3 are both called a'
printf 'a,a,target\n1,2,0\n2,3,1\n' | refuse_data 'the target may be called so once more' 'columns 1 and 2 are both called a' --target target
printf ',,target\n1,2,0\n2,3,1\n' | refuse_data 'two columns without a name' 'bad.csv: line 1: columns 1 and 2 have no name, expected a name for each'
printf 'a=x,a,target\n1,x,0\n2,y,1\n' | refuse_data 'a column called as a text of another' 'two inputs are called a=x'
awk -F, 'NR == 1 { print "x1,x2,x3,x1,target"; next } { print $1 "," $2 "," $3 "," $2 "," $4 }' "$out/three.csv" >"$out/v.csv"
refuse 'two columns of one name to predict' 1 'v.csv: line 1: columns 1 and 4 are both called x1' "$rfm" predict "$out/three.rfm" "$out/v.csv"
sed '1s/x1,x2,x3,x1/x1,x2,x3,other/' "$out/v.csv" >"$out/v2.csv"
check 'other columns beside the inputs' "$rfm" predict "$out/three.rfm" "$out/v2.csv"
sed '1s/x1,x2,x3,x1/x1,x2,x3,target/' "$out/v.csv" >"$out/v2.csv"
check 'columns that are no inputs may share a name' "$rfm" predict "$out/three.rfm" "$out/v2.csv"

# ---- a header that is none -------------------------------------------------------------------------------------------

awk -F, 'NR > 1 { print $1 "," $2 "," ($4 == 0 ? "low" : $4 == 1 ? "middle" : "high") }' "$out/three.csv" >"$out/bare.csv"
check 'no header, labels' "$rfm" train "$out/bare.csv" -o "$out/t.rfm" $quick
noted 'no header, labels' 'bare.csv: line 1 looks like data but is taken as a header: --no-header if it is data'
printf '1,2,3\n4,5,6.5\n7,8,9\n' >"$out/v.csv"
check 'no header, numbers' "$rfm" train "$out/v.csv" -o "$out/t.rfm" $quick
noted 'no header, numbers' 'v.csv: line 1 looks like data'
check 'no header, said' "$rfm" train "$out/bare.csv" --no-header -o "$out/t.rfm" $quick
not_noted 'no header, said' 'looks like data'
{ echo '2019,2020,target'; cat "$out/bare.csv"; } >"$out/v.csv"
check 'years as names' "$rfm" train "$out/v.csv" -o "$out/t.rfm" $quick
not_noted 'years as names' 'looks like data'

# ---- cells that are no numbers ---------------------------------------------------------------------------------------

for word in NA N/A n/a NaN null NULL None '?' - '"NA"'; do
    printf 'a,b,target\n1,2,0\n%s,3,1\n4,%s,0\n5,6,1\n7,7,0\n' "$word" "$word" >"$out/v.csv"
    check "missing: $word" train "$out/v.csv" -o "$out/words.rfm" $quick
    sed "s|$word||" "$out/v.csv" >"$out/v2.csv"
    check "missing: nothing" train "$out/v2.csv" -o "$out/empty.rfm" $quick
    same "missing: $word as nothing" "$out/words.rfm" "$out/empty.rfm"
    refuse "$word refused" 1 'v.csv: line 3, column 1 \(a\): expected a number \(or use --missing mean\), found ' "$rfm" train "$out/v.csv" --missing error -o "$out/refused.rfm" $quick
done
printf 'a,b,target\n1,x,0\nNA,NA,1\n4,y,0\n5,x,1\n7,?,0\n' >"$out/v.csv"
check 'missing texts' train "$out/v.csv" --one-hot --missing mean -o "$out/t.rfm" $quick --json
says 'missing texts' '"features": 3'
printf 'a,b,target\n1,2,null\n2,3,walk\n4,4,null\n5,5,run\n' >"$out/v.csv"
check 'a class called null' "$rfm" train "$out/v.csv" -o "$out/t.rfm" $quick --json
says 'a class called null' '"outputs": 3'
noted 'a class called null' 'v.csv: column 3 \(target\): "null" is taken as a class'
printf 'a,b,target\n1,2,0\n2,3,1\n4,4.5.6,0\n5,oops,1\n' >"$out/v.csv"
check 'one-hot of numbers' "$rfm" train "$out/v.csv" --one-hot -o "$out/t.rfm" $quick
not_noted 'one-hot of few numbers' 'cells are numbers'
printf 'a,b,target\n1,2,0\n2,3,1\n4,4,0\n5,oops,1\n' >"$out/v.csv"
check 'one-hot of numbers' "$rfm" train "$out/v.csv" --one-hot -o "$out/t.rfm" $quick
noted 'one-hot of numbers' 'v.csv: line 5, column 2 \(b\): "oops" among 3 numbers: one-hot coded, every number an input of its own'
printf 'a,b,target\n3,4,0\n3,4,1\n3,4,0\n' >"$out/v.csv"
check 'all inputs constant' "$rfm" train "$out/v.csv" -o "$out/t.rfm" $quick
noted 'all inputs constant' 'v.csv: every input is the same in all training rows: there is nothing to learn from'
printf 'a,b,target\n3,x,0\n3,x,1\n3,x,0\n' >"$out/v.csv"
check 'all inputs constant, a text' "$rfm" train "$out/v.csv" --one-hot -o "$out/t.rfm" $quick
noted 'all inputs constant, a text' 'nothing to learn from'
check 'one input constant' "$rfm" train "$out/two.csv" -o "$out/t.rfm" $quick
not_noted 'one input constant' 'nothing to learn from'
printf 'a,b,target\n1,2,0\n1,3,1\n' | refuse_data 'no such target: those there are' 'expected a column nix \(--target\), found a, b, target$' --target nix
{ seq 1 30 | sed 's/^/c/' | paste -s -d, -; seq 1 30 | paste -s -d, -; } | refuse_data 'no such target among many' 'found c1, c2, c3, c4, c5, c6, c7, c8 and 22 more$' --target nix

# ---- options that do nothing -----------------------------------------------------------------------------------------

for kernel in laplace gaussian; do
    refuse "--exponent of $kernel" 2 "--exponent is for --kernel general and l1, found $kernel" "$rfm" train "$out/two.csv" -o "$out/refused.rfm" --kernel $kernel --exponent 1.5
done
refuse '--exponent of the default' 2 '--exponent is for --kernel general and l1' "$rfm" train "$out/two.csv" -o "$out/refused.rfm" --exponent 1
for kernel in general l1; do
    refuse "--exponent 0 of $kernel" 2 '--exponent: expected a number above 0' "$rfm" train "$out/two.csv" -o "$out/refused.rfm" --kernel $kernel --exponent 0
done

# ---- rows out of range -----------------------------------------------------------------------------------------------

# The row and the column are named, in every part of a large file; the row alone where two columns are out of range.
check 'far rows: a model' train "$out/three.csv" -o "$out/far.rfm" $quick
check 'far rows: a tree' train "$out/three.csv" -o "$out/far-tree.rfm" --method tree
{ head -n 40 "$out/three.csv"; echo 1,-1e38,2,0; echo 1,1e38,2,0; } >"$out/far.csv"
{ echo x1,x2,x3; yes 1,2,3 | head -n 70000; echo 1,2,3e38; yes 1,2,3 | head -n 100; } >"$out/far-long.csv"
printf 'x1,x2,x3\n1,2,3\n1e38,-1e38,3\n' >"$out/far-two.csv"
for model in far far-tree; do
    refuse "$model" 1 'far.csv: line 41, column 2 \(x2\): expected a number near enough to the training rows .*, found "-1e38"' "$rfm" predict "$out/$model.rfm" "$out/far.csv"
    refuse "$model, many rows" 1 'far-long.csv: line 70002, column 3 \(x3\): expected .*, found "3e38"' "$rfm" predict "$out/$model.rfm" "$out/far-long.csv" -o "$out/refused.rfm"
    refuse "$model, two columns" 1 'far-two.csv: line 3: cannot be predicted: the result is too large' "$rfm" predict "$out/$model.rfm" "$out/far-two.csv"
done

# ---- info ------------------------------------------------------------------------------------------------------------

# The options that info prints, given to train, make the same model.
awk -F, 'NR == 1 { print "colour," $0; next } { print ($1 > 0 ? "red" : "green") "," (NR % 9 == 0 ? "" : $1) "," $2 "," $3 "," $4 }' "$out/three.csv" >"$out/colours.csv"
again() { # what, regular expression of the options, data, options...
    what=$1 words=$2 data=$3
    shift 3
    check "$what" train "$data" -o "$out/first.rfm" "$@"
    check "$what: info" "$rfm" info "$out/first.rfm"
    says "$what: info" "^trained with  $words"
    # shellcheck disable=SC2046
    check "$what: again" train "$data" -o "$out/again.rfm" $(sed -n 's/^trained with//p' "$out/stdout")
    same "$what: again" "$out/first.rfm" "$out/again.rfm"
}
again 'classes' '--task classify --kernel' "$out/three.csv" $quick
again 'classes as values, raw' '--task regress --raw --kernel' "$out/three.csv" $quick --task regress --raw
again 'texts and gaps' '--task classify --one-hot --missing mean --kernel' "$out/colours.csv" $quick --one-hot --missing mean
check 'json of texts' "$rfm" info "$out/first.rfm" --json
says 'json of texts' '"raw": 0, "one_hot": 1,'
check 'a small raw model' sh -c "'$rfm' train '$out/three.csv' --raw $quick --quiet -o '$out/raw.rfm' && '$rfm' compress '$out/raw.rfm' --data '$out/three.csv' --type i8 --quiet -o '$out/t.rfm'"
check 'info of a small raw model' "$rfm" info "$out/t.rfm"
says 'info of a small raw model' '^trained with  --task classify --raw --kernel'
check 'a small model' "$rfm" compress "$out/three.rfm" --data "$out/three.csv" --type i8 --quiet -o "$out/t.rfm"
check 'info of a small model' "$rfm" info "$out/t.rfm"
says 'info of a small model' '^trained with  --task classify --kernel'

printf '"petal length","width, cm",plain,"the kind"\n1,2,3,very small\n2,3,5,large\n4,4,4,very small\n5,5,1,large\n' >"$out/v.csv"
check 'names with spaces' train "$out/v.csv" -o "$out/names.rfm" $quick
check 'info: names with spaces' "$rfm" info "$out/names.rfm"
says 'info: classes with spaces' '2 classes: large "very small"$'
says 'info: inputs with spaces' '^features .*"petal length" [0-9.]+ %'
says 'info: inputs with commas' '^features .*"width, cm" [0-9.]+ %'
says 'info: a plain input' '^features .*[ ,]plain [0-9.]+ %'
says 'info: a target with spaces' '^target        "the kind"$'

# ---- validation ------------------------------------------------------------------------------------------------------

check 'validation of all settings given' train "$out/three.csv" -o "$out/t.rfm" $quick
says 'validation of all settings given' '^validation    accuracy [0-9.]+ on 24 held-out training rows$'
check 'validation of a search' train "$out/three.csv" -o "$out/t.rfm" --metric diag --ridge 1e-2 --iterations 1
says 'validation of a search' '^validation    accuracy [0-9.]+ in 5 folds of the training rows, best of [0-9]+ settings$'
check 'validation as JSON' train "$out/three.csv" -o "$out/t.rfm" $quick --json
says 'validation as JSON' '"validation": [0-9.]+, "validation_spread": null, "validation_folds": 1, "validation_rows": 24,'
check 'no validation' train "$out/values.csv" -o "$out/t.rfm" $quick
same_text 'no validation' "$(grep -c '^validation' "$out/stdout")" 0
check 'help: validation' "$rfm" help train
says 'help: validation' 'With all settings given'
says 'help: missing' 'The model keeps'

# ---- export ----------------------------------------------------------------------------------------------------------

# The lines of the comment in a program: they compile, whatever the array is called.
example() { # header: its example as the body of a function
    sed -n '/^ \*     static/,/^ \*$/p' "$1" | sed '/^ \*$/,$d; s/^ \*//; s/) \.\.\..*/) return 1;/; s/class = /puts(/' |
        sed '/puts(/s/;$/);/'
}
mkdir -p "$out/example"
for name in m x scores scratch M; do
    cp "$out/three.rfm" "$out/example/$name.rfm"
    check "export $name.rfm" "$rfm" export "$out/example/$name.rfm" -o "$out/example/model.h"
    {
        printf '#include <stdio.h>\n#include "model.h"\nint main(void) {\n    static const rfm_real x[3];\n'
        example "$out/example/model.h"
        printf '    return 0;\n}\n'
    } >"$out/example/main.c"
    check "the example of $name.rfm compiles" "$cc" -std=c99 -Wall -Werror -Irfm -I"$out/example" -fsyntax-only "$out/example/main.c"
done
same_text 'the example is there' "$(grep -c 'rfm_model_open\|rfm_predict_one\|rfm_class' "$out/example/main.c")" 3
for name in m x scores scratch; do
    refuse "--name $name" 2 "--name: \"$name\" is a name in the example of the header; expected another" \
        "$rfm" export "$out/three.rfm" -o "$out/refused.rfm" --name $name
done
# RAM: all that a prediction needs, and the size of the struct where pointers have 4 bytes.
check 'RAM of numbers' "$rfm" export "$out/three.rfm" -o "$out/t.h" --quiet
cp "$out/t.h" "$out/stdout"
says 'RAM of numbers' '^ \* RAM: [0-9]+ bytes of x, scores and scratch, [0-9]+ of m, about 200 of stack\.$'
same_text 'RAM of numbers: x, scores, scratch' "$(sed -n 's/^ \* RAM: \([0-9]*\).*/\1/p' "$out/t.h")" "$(sed -n 's/.*numbers: \([0-9]*\) .*/\1/p' "$out/t.h" | awk '{ print 4 * (3 + 3 + $1) }')"
check 'RAM of integers' sh -c "'$rfm' compress '$out/three.rfm' --data '$out/three.csv' --type i8 --quiet -o '$out/t.rfm' && '$rfm' export '$out/t.rfm' -o '$out/ti.h' --quiet"
same_text 'RAM of integers: x, scores, scratch' "$(sed -n 's/^ \* RAM: \([0-9]*\).*/\1/p' "$out/ti.h")" "$(sed -n 's/.*numbers: \([0-9]*\) .*/\1/p' "$out/ti.h" | awk '{ print 2 * 3 + 4 * 3 + 2 * $1 }')"
printf '#include "rfm_small.h"\nchar a[sizeof(rfm_model) == %s ? 1 : -1], b[sizeof(rfm_model_i) == %s ? 1 : -1];\n' \
    "$(sed -n 's/^ \* RAM: .* \([0-9]*\) of m,.*/\1/p' "$out/t.h")" "$(sed -n 's/^ \* RAM: .* \([0-9]*\) of m,.*/\1/p' "$out/ti.h")" >"$out/sizes.c"
if command -v arm-none-eabi-gcc >/dev/null; then
    check 'RAM: the structs' arm-none-eabi-gcc -std=c99 -mcpu=cortex-m4 -DRFM_NO_TRAIN -Irfm -fsyntax-only "$out/sizes.c"
else skip 'no compiler for pointers of 4 bytes'; fi

# ---- large numbers that differ little: one figure, and what to do ----------------------------------------------------

awk 'BEGIN { print "time,x,target"; for (i = 0; i < 300; i++) print 1700000000 + 7 * i "," i % 13 "," (i % 50 > 25) }' >"$out/unix.csv"
check 'a Unix time' "$rfm" train "$out/unix.csv" -o "$out/unix.rfm" $quick
noted 'a Unix time' 'column 1 \(time\): as float its numbers are up to 64 off, in a spread of 2093; this command subtracts [0-9]+ itself, firmware cannot. For firmware subtract it in the table and train again$'
subtract=$(sed -n 's/.*subtracts \([0-9]*\) itself.*/\1/p' "$out/stderr")
check 'a Unix time, exported' "$rfm" export "$out/unix.rfm" -o "$out/t.h"
noted 'a Unix time, exported' "input 1 \\(time\\): as float its numbers are up to 64 off, with a deviation of [0-9.]+; for firmware subtract $subtract in the table and train again\$"
# In integers: steps that are wider than a 64th of the range.
awk 'BEGIN { print "time,x,target"; for (i = 0; i < 300; i++) print 1700000000 + 3600 * i "," i % 13 "," (i % 50 > 25) }' >"$out/hours.csv"
check 'hours' sh -c "'$rfm' train '$out/hours.csv' -o '$out/hours.rfm' --quiet $quick && '$rfm' compress '$out/hours.rfm' --data '$out/hours.csv' --type i16 --quiet -o '$out/t.rfm'"
check 'hours in integers, exported' "$rfm" export "$out/t.rfm" -o "$out/t.h"
noted 'hours in integers, exported' 'input 1 \(time\): 9 integers are all there are between 1700003840 and 1701052416: subtract 1700003840 in the table and train again$'
not_noted 'inputs of a few whole numbers' 'input 2'

# ---- what was held out stays held out --------------------------------------------------------------------------------

check 'a model with held-out rows' train "$out/three.csv" --test-size 30 -o "$out/held.rfm" $quick
check 'compress: other rows' "$rfm" compress "$out/held.rfm" --data "$out/three.csv" --type i8 --centers 20 -o "$out/t.rfm"
noted 'compress: other rows' 'three.csv: 30 rows that the model was not trained on are only scored$'
says 'compress: other rows' '^shape .*, 20 of 90 centres$'
says 'compress: other rows' '^accuracy .* of 30 test rows$'
check 'compress: other rows, and a test' "$rfm" compress "$out/held.rfm" --data "$out/three.csv" --test "$out/three.csv" --type i8 --centers 20 -o "$out/t2.rfm"
noted 'compress: other rows, and a test' 'three.csv: 30 rows that the model was not trained on are left out$'
same 'compress: other rows, and a test' "$out/t.rfm" "$out/t2.rfm"
check 'evaluate: rows of the small model' "$rfm" evaluate "$out/t.rfm" "$out/three.csv"
says 'evaluate: rows of the small model' '^trained on    90 of them$'
check 'a model of all rows' train "$out/three.csv" -o "$out/held.rfm" $quick
awk 'NR <= 91 || NR > 111' "$out/three.csv" >"$out/v.csv"
check 'compress: all rows are known' "$rfm" compress "$out/held.rfm" --data "$out/v.csv" --type i8 --centers 20 -o "$out/t.rfm"
not_noted 'compress: all rows are known' 'only scored'
noted 'compress: fewer rows' 'was trained on 120 rows, here are 100: expected the same rows; --split leaves others out$'

awk -F, -v OFS=, 'NR > 1 && NR <= 40 { $1 = $1 + 1 } { print }' "$out/three.csv" >"$out/v.csv"
awk -F, -v OFS=, 'NR > 100 { $2 = $2 + 1; print }' "$out/three.csv" >>"$out/v.csv"
check 'compress: rows of another table' "$rfm" compress "$out/held.rfm" --data "$out/v.csv" --type i8 --centers 20 -o "$out/t.rfm"
not_noted 'compress: rows of another table' 'only scored'
check 'a balanced model' train "$out/two.csv" --balance -o "$out/balanced.rfm" $quick
check 'compress: a balanced model' "$rfm" compress "$out/balanced.rfm" --data "$out/two.csv" --type i8 --centers 20 -o "$out/t.rfm"
noted 'compress: a balanced model' 'balanced.rfm was trained with --balance; in the fit of the small model every row counts the same$'
check 'compress: all centres stay' "$rfm" compress "$out/balanced.rfm" --data "$out/two.csv" --type f32 -o "$out/t.rfm"
not_noted 'compress: all centres stay' 'counts the same'

# ---- a column that counts the rows -----------------------------------------------------------------------------------

awk -F, 'NR == 1 { print "nr," $0; next } { print NR + 7 "," $0 }' "$out/three.csv" >"$out/v.csv"
check 'a column that counts' "$rfm" train "$out/v.csv" -o "$out/t.rfm" --test-size 30 $quick
noted 'a column that counts' 'v.csv: column 1 \(nr\): counts the rows, and is an input; --drop nr if it says nothing else$'
check 'a column that counts, dropped' "$rfm" train "$out/v.csv" -o "$out/t.rfm" --drop nr $quick
not_noted 'a column that counts, dropped' 'counts the rows'
check 'a column that counts by two' sh -c "awk -F, -v OFS=, 'NR > 1 { \$1 = 2 * NR } { print }' '$out/v.csv' >'$out/v2.csv' && '$rfm' train '$out/v2.csv' -o '$out/t.rfm' $quick"
not_noted 'a column that counts by two' 'counts the rows'

# ---- parts in another order ------------------------------------------------------------------------------------------

awk -F, -v OFS=, '{ print $2, $1, $3, $4 }' "$out/three.csv" >"$out/v.csv"
refuse 'parts in another order' 1 'v.csv: column 1 is x2, expected x1 as in .*: parts have the same columns in the same order$' \
    "$rfm" train "$out/three.csv" "$out/v.csv" -o "$out/refused.rfm"

# ---- the man page, beside its commands -------------------------------------------------------------------------------

same_text 'the man page has the defaults of texts and gaps' "$(sed -n '/^\.SH CSV/,/^\.SH OUTPUT/p' tools/rfm/rfm.1 | grep -c 'Up to 50 texts\|one-hot')" 1

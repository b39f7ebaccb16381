# Images: IDX files, ConvRFM, pictures. Read by tests/cli/run, whose functions are used here.
# shellcheck shell=sh disable=SC2154,SC2086

dir=$out/images
mkdir -p "$dir"
bytes() { awk '{ for (i = 1; i <= NF; i++) printf "\\%03o", $i; print "" }' | while read -r line; do printf "$line"; done; } # decimals to bytes

# 60 images of 5 x 6 pixels: a bright bar that lies or stands, at a random place, on noise. The same as text.
awk -v labels="$dir/labels.txt" -v csv="$dir/bars.csv" 'BEGIN {
    srand(5)
    print "0 0 8 3 0 0 0 60 0 0 0 5 0 0 0 6"
    print "0 0 8 1 0 0 0 60" >labels
    for (j = 1; j <= 30; j++) printf "p%d,", j >csv
    print "target" >csv
    for (i = 0; i < 60; i++) {
        lies = i % 2; at = int(4 * rand()); from = int(3 * rand()); line = ""
        for (r = 0; r < 5; r++) for (c = 0; c < 6; c++) {
            on = lies ? r == at && c >= from && c < from + 3 : c == at && r >= from && r < from + 3
            v = int(60 * rand()) + (on ? 190 : 0)
            line = line v " "
            printf "%d,", v >csv
        }
        print line
        print lies >labels
        print lies >csv
    }
}' >"$dir/images.txt"
bytes <"$dir/images.txt" >"$dir/bar-images-idx3-ubyte"
bytes <"$dir/labels.txt" >"$dir/bar-labels-idx1-ubyte"
awk 'BEGIN { for (i = 0; i < 60; i++) print (i >= 40) }' >"$dir/split"
cp "$dir/bar-images-idx3-ubyte" "$dir/alone.idx"
idx=$dir/bar-images-idx3-ubyte

# ---- IDX ---------------------------------------------------------------------------------------------------------------

same_text 'the bytes of the test itself' "$(wc -c <"$idx" | tr -d ' ') $(wc -c <"$dir/bar-labels-idx1-ubyte" | tr -d ' ')" '1816 68'
check 'IDX' train "$idx" -o "$dir/plain.rfm" $quick
check 'the same as text' train "$dir/bars.csv" -o "$dir/text.rfm" $quick
same 'IDX and text make one model' "$dir/plain.rfm" "$dir/text.rfm"
check 'labels by --labels' train "$dir/alone.idx" --labels "$dir/bar-labels-idx1-ubyte" -o "$dir/named.rfm" $quick
same 'labels beside and by name' "$dir/plain.rfm" "$dir/named.rfm"
check 'predict without labels' "$rfm" predict "$dir/plain.rfm" "$dir/alone.idx" --scores -o "$dir/a.csv"
check 'predict with labels' "$rfm" predict "$dir/plain.rfm" "$dir/bars.csv" --scores -o "$dir/b.csv"
same 'predictions of IDX and text' "$dir/a.csv" "$dir/b.csv"
check 'evaluate IDX' "$rfm" evaluate "$dir/plain.rfm" "$idx"
says 'evaluate IDX' 'trained on +60 of them'
check 'a test set in IDX' train "$dir/bars.csv" --test "$idx" -o "$dir/t.rfm" $quick
says 'a test set in IDX' '60 to test'
check 'IDX without a header' train "$idx" --no-header -o "$dir/t.rfm" $quick
says 'IDX without a header' 'rows +60 trained on'

refuse_idx() { # what, message, options; the bytes come from standard input as decimals
    bytes >"$dir/bad.idx"
    what=$1 words=$2
    shift 2
    refuse "$what" 1 "$words" "$rfm" train "$dir/bad.idx" -o "$out/refused.rfm" --quiet $quick "$@"
}
head='0 0 8 3 0 0 0 2 0 0 0 1 0 0 0 2'
refuse 'no labels' 1 'alone.idx: images without labels, expected --labels' "$rfm" train "$dir/alone.idx" -o "$out/refused.rfm"
refuse 'evaluate without labels' 1 'images without labels' "$rfm" evaluate "$dir/plain.rfm" "$dir/alone.idx"
echo "$head 1 2 3" | refuse_idx 'truncated' 'bad.idx: truncated: 1 whole images, its head says 2'
echo "$head 1 2 3 4 5" | refuse_idx 'too long' '1 bytes more than the 2 images'
echo "0 0 8 3 0 0 0 2 0 0" | refuse_idx 'a head that ends' 'ends in its head: 10 bytes, expected 16'
echo "0 0 13 3 0 0 0 1 0 0 0 1 0 0 0 1 0 0 0 0" | refuse_idx 'numbers of four bytes' 'type 0x0d, expected 0x08'
echo "0 0 8 3 0 0 0 0 0 0 0 1 0 0 0 2" | refuse_idx 'no images' 'side 1 is 0'
echo "0 0 8 3 255 255 255 255 255 255 255 255 255 255 255 255 1" | refuse_idx 'sides that overflow' 'too large'
echo "0 0 8 9 1" | refuse_idx 'nine sides' 'IDX with 9 sides'
refuse 'labels as images' 1 'IDX with 1 side, expected images' "$rfm" train "$dir/bar-labels-idx1-ubyte" -o "$out/refused.rfm"
refuse 'images as labels' 1 'IDX with 3 sides, expected labels' "$rfm" train "$idx" --labels "$dir/alone.idx" -o "$out/refused.rfm"
refuse 'text as labels' 1 'bars.csv: expected an IDX file of labels' "$rfm" train "$idx" --labels "$dir/bars.csv" -o "$out/refused.rfm"
echo "0 0 8 1 0 0 0 3 0 1 0" | bytes >"$dir/three.idx"
refuse 'counts that disagree' 1 'three.idx: 3 labels, expected 60: one for each image of .*bar-images' "$rfm" train "$idx" --labels "$dir/three.idx" -o "$out/refused.rfm"
echo "0 0 8 1 0 0 0 60 0 1 0" | bytes >"$dir/cut.idx"
refuse 'truncated labels' 1 'cut.idx: truncated: 3 whole labels, its head says 60' "$rfm" train "$idx" --labels "$dir/cut.idx" -o "$out/refused.rfm"
refuse 'no such labels' 1 'no-labels: cannot be opened' "$rfm" train "$idx" --labels "$dir/no-labels" -o "$out/refused.rfm"
echo "31 139 8 0 0 0" | refuse_idx 'gzip' 'bad.idx: compressed by gzip.*gunzip'
echo "31 139 8 0" | bytes >"$dir/labels.gz"
refuse 'labels in gzip' 1 'labels.gz: compressed by gzip' "$rfm" train "$idx" --labels "$dir/labels.gz" -o "$out/refused.rfm"
refuse 'an output onto the labels' 2 'is an input of this command' "$rfm" train "$idx" -o "$dir/bar-labels-idx1-ubyte" $quick

# ---- ConvRFM -----------------------------------------------------------------------------------------------------------

conv="--image 1x5x6 --split $dir/split"
check 'ConvRFM' train "$idx" $conv -o "$dir/conv.rfm" --json
for field in '"task": "classify"' '"rows_train": 40' '"rows_test": 20' '"features": 30' '"kernel": "cntk"' '"patch": 3' '"depth": 1' \
    '"layers": 0' '"iterations": [0-4],' '"accuracy": (1|0\.[7-9])' '"validation": (1|0\.[7-9])' '"validation_rows": 8' '"search": 30' \
    '"arena_bytes": [1-9]' "\"model_bytes\": $(wc -c <"$dir/conv.rfm" | tr -d ' ')"; do
    says 'json of ConvRFM' "$field"
done
check 'ConvRFM of text' train "$dir/bars.csv" $conv -o "$dir/conv2.rfm" --threads 1
says 'ConvRFM as text' '1 x 5 x 6, patches of side 3'
same 'IDX and text, one thread and two' "$dir/conv.rfm" "$dir/conv2.rfm"
check 'two sides are one channel' train "$idx" --image 5x6 --split "$dir/split" -o "$dir/conv2.rfm"
same 'two sides are one channel' "$dir/conv.rfm" "$dir/conv2.rfm"
check 'laplace' train "$idx" $conv --conv laplace --patch 2 -o "$dir/t.rfm" --json
says 'laplace: three bandwidths, six ridges, five rounds' '"kernel": "laplace".*"bandwidth": [1-9].*"search": 90'
check 'laplace on small images' train "$idx" $conv --conv laplace -o "$dir/t.rfm" --json
says 'laplace on small images' '"patch": 3'
check 'deep on small images' train "$idx" $conv --deep --filters 5 -o "$dir/t.rfm" --json
check 'deep laplace on small images' train "$idx" $conv --conv laplace --deep --filters 5 -o "$dir/t.rfm" --json
says 'deep laplace: as many layers as fit' '"patch": 3.*"validation_layers": \[[0-9.]+, [0-9.]+\]'
refuse 'images too small for deep laplace' 2 'deep: two convolutions of side 4 do not fit' "$rfm" train "$idx" $conv --conv laplace --deep --patch 4 -o "$out/refused.rfm"
refuse 'images too small to be deep' 2 'deep: two convolutions of side 4 do not fit' "$rfm" train "$idx" $conv --deep --patch 4 -o "$out/refused.rfm"
check 'all given: nothing is held out' train "$idx" $conv --conv cnngp --layers 2 --ridge 1e-3 --iterations 2 -o "$dir/t.rfm" --json
says 'all given: nothing is held out' '"kernel": "cnngp".*"depth": 2.*"iterations": 2,.*"validation": null.*"validation_rows": 0'
check 'iterations as asked for' train "$idx" $conv --iterations 3 -o "$dir/t.rfm" --json
says 'iterations as asked for' '"iterations": 3,.*"validation_rows": 8'
check 'gradients at as many images as there are' train "$idx" $conv --agop-rows 40 -o "$dir/conv2.rfm"
same 'gradients at as many images as there are' "$dir/conv.rfm" "$dir/conv2.rfm"
check 'gradients at more images than are learned from' train "$idx" $conv --agop-rows 35 -o "$dir/conv2.rfm"
same 'gradients at more images than are learned from' "$dir/conv.rfm" "$dir/conv2.rfm"
check 'Deep ConvRFM' train "$idx" $conv --deep --layers 2 --filters 5 --seed 3 -o "$dir/deep.rfm" --json
says 'Deep ConvRFM' '"validation_layers": \[[0-9.]+, [0-9.]+\]'
check 'Deep ConvRFM again' train "$idx" $conv --deep --layers 2 --filters 5 --seed 3 -o "$dir/deep2.rfm" --threads 3
same 'Deep ConvRFM repeats' "$dir/deep.rfm" "$dir/deep2.rfm"
# Faint bars: machines differ by an image or two of the eight that are held out. One image does not take a layer: more
# folds are asked then, and may. No lead, or one of three images, needs no other fold. At another bandwidth, where the
# layer leads its own machine by two, it is not taken for that either.
awk -F, -v OFS=, 'NR > 1 { for (j = 1; j <= 30; j++) if ($j >= 190) $j -= 170 } 1' "$dir/bars.csv" >"$dir/faint.csv"
awk -F, -v OFS=, 'NR > 1 { for (j = 1; j <= 30; j++) if ($j >= 190) $j -= 150 } 1' "$dir/bars.csv" >"$dir/dim.csv"
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    for kind in 'dim --conv laplace --filters 5' 'faint --conv cntk --patch 2 --layers 2 --filters 12'; do
        train "$dir/${kind%% *}.csv" $conv --deep ${kind#* } --seed $seed -o "$dir/t.rfm" --json >"$out/stdout"
        [ "$(field layers)" = 0 ] || cp "$dir/t.rfm" "$dir/layer-${kind##* }.rfm"
        echo "$(field layers) $(field validation_folds) $(sed -n 's/.*"validation_layers": \[\([0-9.]*\), \([0-9.]*\)\].*/\1 \2/p' "$out/stdout")"
    done
done >"$dir/choices"
same_text 'folds that decide' "$(awk '
    { lead = 8 * ($4 - $3) }
    NF != 4 || lead <= 0 && ($1 != 0 || $2 != 1) || lead == 1 && $2 == 1 || lead >= 3 && ($1 != 1 || $2 != 1) { wrong++ }
    { asked += $2 > 1; taken += $2 > 1 && $1; refused += lead == 1 && !$1 }
    END { print NR, wrong + 0, (asked > 5), (taken > 0), (refused > 0) }' "$dir/choices")" '40 0 1 1 1'
check 'another bandwidth' train "$dir/faint.csv" $conv --conv laplace --deep --filters 5 --iterations 1 --seed 8 -o "$dir/t.rfm" --json
says 'another bandwidth' '"layers": 0,.*"validation_layers": \[0.75, 0.625\]'
awk -F, -v OFS=, 'NR == 1 { $31 = "y" } NR > 1 { $31 = 42 + 16 * $31 } 1' "$dir/bars.csv" >"$dir/levels.csv"
check 'ConvRFM of numbers' train "$dir/levels.csv" $conv --task regress -o "$dir/levels.rfm" --json
says 'ConvRFM of numbers' '"task": "regress".*"r2": (1|0\.[4-9])'
check 'numbers around their mean' "$rfm" predict "$dir/levels.rfm" "$dir/levels.csv"
same_text 'numbers around their mean' "$(awk '$1 > 30 && $1 < 70' "$out/stdout" | wc -l | tr -d ' ')" 60

# The unit of a target changes nothing, nor does a second target in another unit.
check 'deep of numbers' train "$dir/levels.csv" $conv --task regress --conv laplace --deep --filters 5 -o "$dir/units.rfm" --json
choice() { echo "$(field ridge) $(field iterations) $(field layers) $(field validation_folds)"; }
chosen=$(choice)
check 'predictions of numbers' "$rfm" predict "$dir/units.rfm" "$dir/levels.csv" -o "$dir/one" --quiet
for power in -100 100; do
    awk -F, -v OFS=, -v unit=$power 'NR > 1 { $31 = sprintf("%.17g", $31 * 2 ^ unit) } 1' "$dir/levels.csv" >"$dir/unit.csv"
    check "numbers times 2^$power" train "$dir/unit.csv" $conv --task regress --conv laplace --deep --filters 5 -o "$dir/units.rfm" --json
    same_text "numbers times 2^$power: what is chosen" "$(choice)" "$chosen"
    "$rfm" predict "$dir/units.rfm" "$dir/unit.csv" --quiet >"$dir/two"
    same_text "numbers times 2^$power: predictions" "$(paste "$dir/one" "$dir/two" | awk -v unit=$power '{ d = $2 / 2 ^ unit - $1; if (d * d > 1e-8) n++ } END { print NR, n + 0 }')" '60 0'
done
for power in -40 40; do
    awk -F, -v OFS=, -v unit=$power 'NR == 1 { print $0, "z" } NR > 1 { print $0, sprintf("%.17g", $8 * 2 ^ unit) }' "$dir/levels.csv" >"$dir/both.csv"
    check "two targets, 2^$power" train "$dir/both.csv" $conv --targets 2 --conv laplace --deep --filters 5 -o "$dir/units.rfm" --json
    [ $power = 40 ] || chosen=$(choice)
done
same_text 'two targets: what is chosen' "$(choice)" "$chosen"
# Targets of 1e9 and a little are learned as well as the little; the second target stays as it is.
awk -v dir="$dir" 'BEGIN {
    srand(8)
    for (j = 1; j <= 30; j++) printf "p%d,", j >(dir "/near.csv")
    print "y,z" >(dir "/near.csv")
    for (i = 0; i < 80; i++) {
        line = ""
        for (j = 1; j <= 30; j++) { v[j] = rand(); line = line sprintf("%.5f,", v[j]) }
        print line sprintf("%.6f,%.6f", 17 + 2 * v[8] - v[20], v[3]) >(dir "/near.csv")
        print (i % 4 == 3) >(dir "/near.split")
    }
}'
awk -F, -v OFS=, 'NR > 1 { $31 = sprintf("%.6f", 1000000000 + $31) } { print }' "$dir/near.csv" >"$dir/large.csv"
for name in near large; do
    check "images, $name" "$rfm" train "$dir/$name.csv" --image 1x5x6 --targets 2 --split "$dir/near.split" -o "$dir/$name.rfm" --json
    grep -Eo '"(r2|iterations)": [0-9.]*' "$out/stdout" | head -n 2 | tr '\n' ' ' | awk '{ printf "%s %.3f\n", $2, $4 }' >"$dir/$name.score"
    same_text "images, $name: said" "$(grep -c 'column 31 (y): as float its numbers are up to .*; this command subtracts 10000000[0-9.]* itself' "$out/stderr")" "$([ $name = large ] && echo 1 || echo 0)"
    same_text "images, $name: not said of others" "$(grep -c 'this command subtracts' "$out/stderr")" "$([ $name = large ] && echo 1 || echo 0)"
    check "images, $name: predict" "$rfm" predict "$dir/$name.rfm" "$dir/$name.csv" -o "$dir/$name.predicted"
    check "images, $name: report" "$rfm" report "$dir/$name.rfm" --data "$dir/$name.csv" -o "$dir/t.html" --split "$dir/near.split"
    check "images, $name: evaluate" "$rfm" evaluate "$dir/$name.rfm" "$dir/$name.csv" --split "$dir/near.split" --json
    same_text "images, $name: evaluate" "$(grep -Eo '"r2": [0-9.]*' "$out/stdout" | awk '{ printf "%.3f\n", $2 }')" "$(cut -d' ' -f2 "$dir/$name.score")"
done
same 'images, offset of 1e9: the same round and r2' "$dir/near.score" "$dir/large.score"
same_text 'images, offset of 1e9: predictions' "$(paste -d, "$dir/near.predicted" "$dir/large.predicted" | awk -F, '
    { d = $3 - 1000000000 - $1; e = $4 - $2; if (d * d > 1e-4 || e * e > 1e-4) bad++ } END { print bad + 0, NR }')" '0 80'

awk -F, -v OFS=, 'NR == 6 { $4 = "1e30" } NR == 9 { $4 = "1e31" } { print }' "$dir/near.csv" >"$dir/far.csv"
refuse 'a pixel out of range' 1 'far.csv: line 6, column 4 \(p4\): expected a number near enough to the training rows .*, found "1e30"' "$rfm" predict "$dir/near.rfm" "$dir/far.csv"

# One image is enough to predict and too little to learn from.
{ echo "0 0 8 3 0 0 0 1 0 0 0 5 0 0 0 6"; sed -n 2p "$dir/images.txt"; } | bytes >"$dir/one-images-idx3-ubyte"
echo "0 0 8 1 0 0 0 1 0" | bytes >"$dir/one-labels-idx1-ubyte"
check 'one image' "$rfm" predict "$dir/conv.rfm" "$dir/one-images-idx3-ubyte"
same_text 'one image' "$(grep -c '^[01]$' "$out/stdout")" 1
refuse 'to learn from one image' 1 'one-images-idx3-ubyte: 1 training row' "$rfm" train "$dir/one-images-idx3-ubyte" --image 5x6 -o "$out/refused.rfm" --quiet
check 'predict by patches' "$rfm" predict "$dir/conv.rfm" "$dir/alone.idx" -o "$dir/a.csv"
check 'predict by patches, text' "$rfm" predict "$dir/conv.rfm" "$dir/bars.csv" -o "$dir/b.csv"
same 'predictions of IDX and text' "$dir/a.csv" "$dir/b.csv"
right=$(cut -d, -f31 "$dir/bars.csv" | tail -n 20 >"$dir/true"; tail -n 20 "$dir/a.csv" | paste "$dir/true" - | awk '$1 == $2' | wc -l | tr -d ' ')
check 'evaluate patches' "$rfm" evaluate "$dir/conv.rfm" "$idx" --split "$dir/split" --json
says 'evaluate counts what predict says' "\"rows_test\": 20,.*\"accuracy\": $(awk "BEGIN { print $right / 20 }"),"
check 'scores of patches' "$rfm" predict "$dir/conv.rfm" "$idx" --scores
same_text 'scores of patches' "$(grep -cE '^-?[0-9.e-]+$' "$out/stdout")" 60
check 'info of patches' "$rfm" info "$dir/deep.rfm"
says 'info of patches' 'images +1 x 5 x 6'
check 'info of patches, json' "$rfm" info "$dir/conv.rfm" --json
says 'info of patches, json' '"channels": 1, "height": 5, "width": 6, "patch": 3, .*"targets": \["target"\], "classes": \["0", "1"\]'
check 'M of patches' "$rfm" info "$dir/t.rfm" --metric
same_text 'M of patches' "$(awk -F, 'NF == 9' "$out/stdout" | wc -l | tr -d ' ')" 9
same_text 'M is symmetric' "$(tr ',' ' ' <"$out/stdout" | awk '{ for (j = 1; j <= 9; j++) m[NR, j] = $j } END { for (i = 1; i < 10; i++) for (j = 1; j < i; j++) n += m[i, j] != m[j, i]; print n + 0 }')" 0

for command in compress export; do
    refuse "$command of patches" 1 'a model of patches.* Firmware takes the file itself, .*rfm_conv_open' "$rfm" $command "$dir/conv.rfm" -o "$out/refused.rfm" $([ $command = compress ] && echo --data "$dir/bars.csv" --rank 2)
done
refuse 'images: a share to test on' 2 'expected none of --test-size, .*; --split or --test says which rows are to test on' "$rfm" train "$idx" $conv --test-size 0.2 -o "$out/refused.rfm"
refuse 'rows of another size' 1 '30 inputs, expected the 36 of --image 6x6' "$rfm" train "$idx" --image 6x6 -o "$out/refused.rfm" --quiet
refuse 'a patch that is too large' 2 'patch 6: expected at most the 5 rows and 6 columns' "$rfm" train "$idx" $conv --patch 6 -o "$out/refused.rfm"
refuse 'no patch' 2 'patch: expected at least 1' "$rfm" train "$idx" $conv --patch 0 -o "$out/refused.rfm"
refuse 'layers that do not fit' 2 'layers 3: convolutions of side 3 do not fit' "$rfm" train "$idx" $conv --layers 3 -o "$out/refused.rfm"
refuse 'no layer' 2 'layers: expected 1 to 5, found 0' "$rfm" train "$idx" $conv --layers 0 -o "$out/refused.rfm"
refuse 'nine layers' 2 'layers: expected 1 to 5, found 9' "$rfm" train "$idx" $conv --layers 9 -o "$out/refused.rfm"
refuse 'laplace has one layer' 2 'laplace has one layer' "$rfm" train "$idx" $conv --conv laplace --layers 2 -o "$out/refused.rfm"
refuse 'one layer is not deep' 2 'deep: expected --layers 2' "$rfm" train "$idx" $conv --deep --layers 1 -o "$out/refused.rfm"
refuse 'filters without --deep' 2 'expected --deep' "$rfm" train "$idx" $conv --filters 3 -o "$out/refused.rfm"
refuse 'another kernel' 2 'conv: expected one of laplace, cnngp, cntk' "$rfm" train "$idx" $conv --conv ntk -o "$out/refused.rfm"
refuse '--patch without --image' 2 'expected --image CxPxQ' "$rfm" train "$idx" --patch 3 -o "$out/refused.rfm"
for size in 0x6 5 5x6x x5x6 1x5x6x1 1x-5x6 99999x1 ''; do
    refuse "--image '$size'" 2 'image: expected CHANNELSxROWSxCOLUMNS' "$rfm" train "$idx" --image "$size" -o "$out/refused.rfm"
done
refuse 'settings of tables' 2 'image: expected none of --kernel' "$rfm" train "$idx" $conv --metric diag -o "$out/refused.rfm"
for option in '--kernel gaussian' --raw '--time-limit 5'; do
    refuse "$option of tables" 2 'image: expected none of --kernel' "$rfm" train "$idx" $conv $option -o "$out/refused.rfm"
done
refuse 'a bandwidth of cntk' 2 'bandwidth: expected --conv laplace with it, for cntk has none' "$rfm" train "$idx" $conv --bandwidth 3 -o "$out/refused.rfm"
refuse 'a bandwidth out of range' 1 'bandwidth of 1e.20 is outside' "$rfm" train "$idx" $conv --conv laplace --bandwidth 1e20 -o "$out/refused.rfm" --quiet
refuse 'a ridge of 0' 2 'ridge: expected more than 0' "$rfm" train "$idx" $conv --ridge 0 -o "$out/refused.rfm"
awk 'BEGIN { for (i = 0; i < 60; i++) print (i >= 4) }' >"$dir/few"
refuse 'four rows' 1 '4 training rows, expected at least 5' "$rfm" train "$idx" --image 5x6 --split "$dir/few" -o "$out/refused.rfm" --quiet
for option in --confidence --proba --certify --sets; do
    refuse "predict: $option" 2 'a model of patches, expected none of' "$rfm" predict "$dir/conv.rfm" "$idx" $option
done
cut -d, -f2- "$dir/bars.csv" >"$dir/less.csv"
for command in predict evaluate; do
    refuse "$command: the target in the place of a pixel" 1 '30 columns with the target, target, expected the 30 inputs' "$rfm" $command "$dir/conv.rfm" "$dir/less.csv" --quiet
done
refuse 'predict: other columns' 1 '5 columns, expected the 30 inputs' "$rfm" predict "$dir/conv.rfm" "$out/two.csv"
{ head -c 200 "$dir/conv.rfm"; printf X; tail -c +202 "$dir/conv.rfm"; } >"$dir/damaged.rfm"
refuse 'a damaged model of patches' 1 'expected a model made by rfm train --image: .*damaged' "$rfm" evaluate "$dir/damaged.rfm" "$idx"
head -c 100 "$dir/conv.rfm" >"$dir/damaged.rfm"
refuse 'a truncated model of patches' 1 'damaged.rfm: expected a model made by rfm train --image' "$rfm" info "$dir/damaged.rfm"

# Images that are all zero, or all the same, are learned from: every image has the same scores.
for value in 0 7; do
    awk -F, -v OFS=, -v value=$value 'NR > 1 { for (i = 1; i < 31; i++) $i = value } 1' "$dir/bars.csv" >"$dir/same.csv"
    for kernel in laplace cntk; do
        check "images of $value, $kernel" train "$dir/same.csv" --image 5x6 --conv $kernel --patch 2 -o "$dir/t.rfm"
        check "images of $value, $kernel: scores" "$rfm" predict "$dir/t.rfm" "$dir/same.csv" --scores
        same_text "images of $value, $kernel: one score" "$(tail -n +2 "$out/stdout" | sort -u | wc -l | tr -d ' ') $(grep -ci nan "$out/stdout")" '1 0'
    done
done

# ---- pictures ----------------------------------------------------------------------------------------------------------

check 'a model with M' train "$idx" $conv --conv laplace --patch 3 --bandwidth 300 --ridge 1e-2 --iterations 1 -o "$dir/m.rfm"
check 'report of patches' "$rfm" report "$dir/m.rfm" --data "$idx" --split "$dir/split" -o "$dir/m.html" --pictures "$dir/m" --pictures-of 2
same_text 'pictures' "$(find "$dir" -name 'm-*.pgm' | wc -l | tr -d ' ')" 18
same_text 'pictures on the page' "$(grep -o '<img' "$dir/m.html" | wc -l | tr -d ' ')" 18
same_text 'the size of a picture' "$(head -n 2 "$dir/m-root-1.pgm" | tr '\n' ' ')$(wc -c <"$dir/m-root-1.pgm" | tr -d ' ')" 'P5 4 3 23'
# The first test image, row 41, from 0 to its brightest pixel.
head -n 42 "$dir/bars.csv" | tail -n 1 | tr ',' '\n' | awk 'NR < 31 { v[NR] = $1; if ($1 > most) most = $1 } END { for (i = 1; i < 31; i++) print int(255 * v[i] / most + 0.5) }' >"$dir/want"
tail -c 30 "$dir/m-image-1.pgm" | od -An -v -tu1 | tr -s ' ' '\n' | grep . >"$dir/is"
same 'a picture is the image' "$dir/is" "$dir/want"
# |M x[r]| and sqrt(x[r]'M x[r]) from the printed M and the table.
"$rfm" info "$dir/m.rfm" --metric >"$dir/M"
for power in root metric; do
    { cat "$dir/M"; head -n 42 "$dir/bars.csv" | tail -n 1; } | awk -F, -v power=$power '
        NR < 10 { for (j = 1; j < 10; j++) m[NR, j] = $j; next }
        { for (r = 0; r < 3; r++) for (c = 0; c < 4; c++) {
            for (i = 0; i < 9; i++) x[i + 1] = $((r + int(i / 3)) * 6 + c + i % 3 + 1)
            a = b = 0
            for (i = 1; i < 10; i++) { s = 0; for (j = 1; j < 10; j++) s += m[i, j] * x[j]; a += x[i] * s; b += s * s }
            v[++n] = sqrt(power == "root" ? a : b); if (v[n] > most) most = v[n]
        } for (i = 1; i <= n; i++) print int(255 * v[i] / most + 0.5) }' >"$dir/want"
    tail -c 12 "$dir/m-$power-1.pgm" | od -An -v -tu1 | tr -s ' ' '\n' | grep . >"$dir/is"
    same_text "$power over an image" "$(paste "$dir/is" "$dir/want" | awk '{ d = $1 - $2; if (d * d > 1) n++ } END { print NR, n + 0 }')" '12 0'
done
# The first eigenvector: M v = lambda v, as far as 255 levels say.
tail -c 9 "$dir/m-eigenvector-1.pgm" | od -An -v -tu1 | tr -s ' ' '\n' | grep . >"$dir/v"
same_text 'the first eigenvector' "$({ cat "$dir/v"; cat "$dir/M"; } | awk -F, '
    NR < 10 { v[NR] = $1 / 127.5 - 1; n += v[NR] * v[NR]; next }
    { s = 0; for (j = 1; j < 10; j++) s += $j * v[j]; a += s * v[NR - 9]; b += s * s }
    END { print (a / sqrt(b * n) > 0.995 ? "yes" : a / sqrt(b * n)) }')" yes
awk 'BEGIN { for (j = 1; j <= 16; j++) printf "q%d%s", j, j < 16 ? "," : "\n"; for (j = 1; j <= 16; j++) printf "%d%s", j * j, j < 16 ? "," : "\n" }' >"$dir/other.csv"
check 'images of another set and size' "$rfm" report "$dir/m.rfm" --data "$dir/other.csv" --image 4x4 -o "$dir/other.html" --pictures "$dir/other"
same_text 'images of another size' "$(head -n 2 "$dir/other-image-1.pgm" | tail -n 1) $(head -n 2 "$dir/other-root-1.pgm" | tail -n 1)" '4 4 2 2'
refuse 'images of other channels' 2 '4 channels, expected the 1' "$rfm" report "$dir/m.rfm" --data "$dir/other.csv" --image 4x2x2 -o "$dir/t.html"
refuse 'images smaller than a patch' 2 'expected images that hold the patches' "$rfm" report "$dir/m.rfm" --data "$dir/other.csv" --image 2x8 -o "$dir/t.html"
# Three channels are colours where a picture is of pixels.
awk 'BEGIN { for (j = 1; j <= 48; j++) printf "q%d,", j; print "target"; for (i = 0; i < 20; i++) { for (j = 0; j < 48; j++) printf "%d,", (i * 37 + j * j * 11) % 256; print i % 2 } }' >"$dir/rgb.csv"
check 'a model of colours' train "$dir/rgb.csv" --image 3x4x4 --conv laplace --patch 2 --bandwidth 300 --ridge 1e-2 --iterations 1 -o "$dir/rgb.rfm"
check 'pictures in colours' "$rfm" report "$dir/rgb.rfm" --data "$dir/rgb.csv" -o "$dir/rgb.html" --pictures "$dir/rgb" --pictures-of 1
same_text 'pictures in colours' "$(head -n 2 "$dir/rgb-image-1.ppm" | tr '\n' ' ')$(head -n 2 "$dir/rgb-eigenvector-1.ppm" | tr '\n' ' ')$(head -n 2 "$dir/rgb-root-1.pgm" | tr '\n' ' ')" 'P6 4 4 P6 2 2 P5 3 3 '
refuse 'pictures of a table' 2 'pictures-of: expected a model of rfm train --image' "$rfm" report "$dir/plain.rfm" --data "$idx" -o "$dir/t.html" --pictures "$dir/x"
same_text 'a page with M' "$(grep -c 'M is the identity' "$dir/m.html")" 0
check 'a model without M' train "$idx" $conv --conv laplace --patch 3 --bandwidth 300 --ridge 1e-2 --iterations 0 -o "$dir/without.rfm"
check 'report of patches without M' "$rfm" report "$dir/without.rfm" --data "$idx" --split "$dir/split" -o "$dir/t.html"
same_text 'a page without M says so' "$(grep -c 'M is the identity: all pixels of a patch count the same' "$dir/t.html")" 1
check 'report of Deep ConvRFM' "$rfm" report "$dir/deep.rfm" --data "$idx" -o "$dir/t.html"
# M of the first layer is that of its filters, fewer or more of them than a patch has numbers.
for filters in 5 12; do
    rm -f "$dir"/deep-*.pgm
    check "$filters filters" "$rfm" info "$dir/layer-$filters.rfm"
    says "$filters filters" "^filters +1 layers of $filters$"
    check "report of $filters filters" "$rfm" report "$dir/layer-$filters.rfm" --data "$dir/dim.csv" -o "$dir/t.html" --pictures "$dir/deep" --pictures-of 1
    same_text "pictures of $filters filters" "$(find "$dir" -name 'deep-*.pgm' | wc -l | tr -d ' ') $(head -n 2 "$dir/deep-image-1.pgm" | tail -n 1)" \
        "$([ $filters = 5 ] && echo 12 || echo 10) 6 5"
done

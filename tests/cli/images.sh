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
refuse 'no such labels' 1 'no-labels: cannot be opened' "$rfm" train "$idx" --labels "$dir/no-labels" -o "$out/refused.rfm"
echo "31 139 8 0 0 0" | refuse_idx 'gzip' 'bad.idx: compressed by gzip.*gunzip'
echo "31 139 8 0" | bytes >"$dir/labels.gz"
refuse 'labels in gzip' 1 'labels.gz: compressed by gzip' "$rfm" train "$idx" --labels "$dir/labels.gz" -o "$out/refused.rfm"
refuse 'an output onto the labels' 2 'is an input of this command' "$rfm" train "$idx" -o "$dir/bar-labels-idx1-ubyte" $quick

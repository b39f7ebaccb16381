# Files, names and streams from outside. Read by tests/cli/run, whose functions, data and models are used here.
# shellcheck shell=sh disable=SC2154,SC2086

dir=$out/files
data=$dir/in.csv model=$dir/in.rfm
mkdir -p "$dir/sub"
visible() { # what, file: nothing but printable ASCII and line ends in it
    if [ "$(LC_ALL=C tr -d '\n -~' <"$2" | wc -c | tr -d ' ')" = 0 ]; then pass; else
        fail "$1: control characters or no ASCII"
        LC_ALL=C od -c "$2" | head -n 5
    fi
}
no_leftover() { # what, folder
    left=$(find "$2" -name '*rfm-tmp*')
    if [ -z "$left" ]; then pass; else fail "$1: $left"; fi
}

# ---- an output that is an input --------------------------------------------------------------------------------------

cp "$out/three.csv" "$data"
cp "$out/three.rfm" "$model"
cp "$out/split" "$dir/in.split"
ln -sf in.csv "$dir/soft.csv"
ln -f "$data" "$dir/hard.csv"
kept() { # what, arguments of the command: refused, and no input has changed
    what=$1
    shift
    refuse "$what" 2 'is an input of this command' "$rfm" "$@"
    if cmp -s "$data" "$out/three.csv" && cmp -s "$model" "$out/three.rfm" && cmp -s "$dir/in.split" "$out/split" &&
        [ -L "$dir/soft.csv" ]; then pass; else
        fail "$what: an input was changed"
        cp "$out/three.csv" "$data"
        cp "$out/three.rfm" "$model"
        cp "$out/split" "$dir/in.split"
    fi
}
for name in "$dir/in.csv" "$dir/./in.csv" "$dir/sub/../in.csv" "$dir/soft.csv" "$dir/hard.csv"; do
    kept "train onto its data as $name" train "$data" -o "$name" --quiet $quick
    kept "train through a link onto $name" train "$dir/soft.csv" -o "$name" --quiet $quick
done
kept 'train onto the split' train "$data" --split "$dir/in.split" -o "$dir/in.split" --quiet $quick
kept 'train onto the test file' train "$out/three.csv" --test "$data" -o "$data" --quiet $quick
kept 'train onto standard input' train - -o "$data" --quiet $quick <"$data"
kept 'predict onto its data' predict "$model" "$data" -o "$data"
kept 'predict onto its model' predict "$model" "$data" -o "$model"
kept 'compress onto its model' compress "$model" --data "$data" -o "$model" --quiet
kept 'compress onto its data' compress "$model" --data "$data" -o "$data" --quiet
kept 'compress: the page onto its data' compress "$model" --data "$data" -o "$out/refused.rfm" --report "$data" \
    --budget 1200 --quiet
kept 'export onto its model' export "$model" -o "$model"
kept 'report onto its model' report "$model" --data "$data" -o "$model"
kept 'report onto its split' report "$model" --data "$data" --split "$dir/in.split" -o "$dir/in.split"
refuse 'predictions behind their data' 2 'standard output: is an input' \
    sh -c "'$rfm' predict '$model' '$data' >>'$data'"
same 'predictions behind their data' "$data" "$out/three.csv"
refuse 'two outputs, one file' 2 'already an output' "$rfm" compress "$model" --data "$data" -o "$dir/both" \
    --report "$dir/./both" --budget 1200 --quiet

# ---- outputs that cannot be written are refused before the work ------------------------------------------------------

early() { # what, message, output: the search has not begun
    refuse "$1" 1 "$2" "$rfm" train "$data" -o "$3"
    if grep -q 'trying settings' "$out/stderr"; then fail "$1: said after the search"; else pass; fi
}
cp "$out/two.rfm" "$dir/locked.rfm"
chmod 444 "$dir/locked.rfm"
early 'a read-only file' 'locked.rfm: cannot be written: it is read-only' "$dir/locked.rfm"
same 'a read-only file is kept' "$dir/locked.rfm" "$out/two.rfm"
ln -sf locked.rfm "$dir/to-locked.rfm"
early 'a link to a read-only file' 'read-only' "$dir/to-locked.rfm"
early 'a directory' 'is a directory' "$dir/sub"
early 'the name of a directory' 'directory' "$dir/none/"
early 'a folder that is not there' 'cannot be written: No such file' "$dir/none/x.rfm"
early 'a file as a folder' 'cannot be written: Not a directory' "$dir/in.csv/x.rfm"
ln -sf none/x.rfm "$dir/nowhere.rfm"
early 'a link into a folder that is not there' 'cannot be written' "$dir/nowhere.rfm"
ln -sf loop2 "$dir/loop1"
ln -sf loop1 "$dir/loop2"
early 'links in a circle' 'cannot be written' "$dir/loop1"
refuse 'an empty name' 2 'expected the name of an output file' "$rfm" train "$data" -o ''
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then # somebody who is not allowed everything
    open_dir=$(mktemp -d)
    chmod 755 "$open_dir"
    cp "$rfm" "$data" "$open_dir"
    other='setpriv --reuid=65534 --clear-groups'
    if $other true 2>/dev/null; then
        touch "$open_dir/mine.rfm"
        chmod 644 "$open_dir/mine.rfm"
        refuse "somebody else's file" 1 'mine.rfm: cannot be written: Permission denied' $other "$open_dir/rfm" train \
            "$open_dir/in.csv" -o "$open_dir/mine.rfm" --quiet
        refuse "somebody else's folder" 1 'new.rfm: cannot be written: Permission denied' $other "$open_dir/rfm" train \
            "$open_dir/in.csv" -o "$open_dir/new.rfm" --quiet
        chmod 1777 "$open_dir"
        chmod 666 "$open_dir/mine.rfm"
        refuse "somebody else's file in a folder for all" 1 'mine.rfm: cannot be written: Operation not permitted' \
            $other "$open_dir/rfm" train "$open_dir/in.csv" -o "$open_dir/mine.rfm"
        if grep -q 'trying settings' "$out/stderr"; then fail 'said after the search'; else pass; fi
    fi
    rm -rf "$open_dir"
fi

# ---- links stay links ------------------------------------------------------------------------------------------------

through() { # what, link, file that it leads to
    check "$1" train "$data" -o "$2" $quick
    same "$1" "$3" "$out/diag.rfm"
    if [ -L "$2" ] && [ ! -L "$3" ]; then pass; else fail "$1: the link is gone"; fi
}
ln -sf sub/new.rfm "$dir/dangling.rfm"
through 'a link to a file that is not there' "$dir/dangling.rfm" "$dir/sub/new.rfm"
cp "$out/two.rfm" "$dir/sub/new.rfm"
through 'a link to a file that is there' "$dir/dangling.rfm" "$dir/sub/new.rfm"
ln -sf ../sub/other.rfm "$dir/sub/second"
ln -sf "$(cd "$dir" && pwd)/sub/second" "$dir/first"
through 'a link to a link' "$dir/first" "$dir/sub/other.rfm"
if [ -L "$dir/sub/second" ]; then pass; else fail 'the second link is gone'; fi
(cd "$dir" && ln -sf bare.rfm bare-link)
full=$(cd "$build" && pwd)/rfm
check 'a link without a folder' sh -c "cd '$dir' && '$full' train in.csv -o bare-link --quiet $quick"
same 'a link without a folder' "$dir/bare.rfm" "$out/diag.rfm"
long=$(awk 'BEGIN { for (i = 0; i < 251; i++) printf "n"; print ".rfm" }')
check 'the longest name there is' train "$data" -o "$dir/$long" $quick
same 'the longest name there is' "$dir/$long" "$out/diag.rfm"
for name in 'a name' '*' '-dash.rfm' 'a%s%n.rfm' "quote'\"" "$(printf 'new\nline')" "$(printf 'gr\303\266\303\237e')" \
    "$(printf 'latin\366')"; do
    check "odd names: $name" train "$data" "-o=$dir/$name" $quick
    same "odd names: $name" "$dir/$name" "$out/diag.rfm"
    check "odd names: $name" "$rfm" info "$dir/$name"
    rm -f "$dir/$name"
done

# ---- killed writers --------------------------------------------------------------------------------------------------

mkdir -p "$dir/killed"
if $cc -shared -fPIC -o "$dir/late.so" tests/cli/late.c 2>/dev/null; then
    ours() { find "$dir/killed" -type f | grep -cE '/m\.rfm\.rfm-tmp-[0-9a-f]{12}$'; }
    write() { train "$data" -o "$dir/killed/m.rfm" $quick >/dev/null 2>&1; }
    preload=$(cd "$dir" && pwd)/late.so
    cp "$out/two.rfm" "$dir/killed/m.rfm"
    for i in 1 2; do
        (LD_PRELOAD=$preload LATE=kill "$rfm" train "$data" -o "$dir/killed/m.rfm" --quiet $quick || :) >/dev/null 2>&1
    done
    same 'killed before the rename: the old file is there' "$dir/killed/m.rfm" "$out/two.rfm"
    # What is not a leftover of this output: other names, other outputs, folders, links.
    others='m.rfm m.rfm.rfm-tmp-backup m.rfm.rfm-tmp-0123456789abc m.rfm.rfm-tmp-0123456789AB m.rfm.0123456789ab
        m2.rfm.rfm-tmp-0123456789ab'
    for name in $others; do [ -e "$dir/killed/$name" ] || echo mine >"$dir/killed/$name"; done
    mkdir "$dir/killed/m.rfm.rfm-tmp-0000000000aa"
    ln -s "$(cd "$dir" && pwd)/in.csv" "$dir/killed/m.rfm.rfm-tmp-0000000000bb"
    same_text 'two killed writers leave what can be found' "$(ours)" 1 # the second removed what the first had left
    LD_PRELOAD=$preload LATE=wait "$rfm" train "$data" -o "$dir/killed/m.rfm" --quiet $quick >/dev/null 2>&1 &
    writer=$!
    i=0
    bytes=$(wc -c <"$out/diag.rfm" | tr -d ' ')
    while [ $i -lt 100 ] && [ -z "$(find "$dir/killed" -name 'm.rfm.rfm-tmp-*' -size "${bytes}c")" ]; do
        sleep 0.1
        i=$((i + 1))
    done
    write
    same 'written beside another writer' "$dir/killed/m.rfm" "$out/diag.rfm"
    same_text 'the file of a writer that is alive is left alone' "$(ours)" 1
    kill -9 $writer
    wait $writer 2>/dev/null
    write
    same_text 'killed, its file is removed by the next' "$(ours)" 0
    for name in $others; do [ -f "$dir/killed/$name" ] || fail "$name was removed"; done
    alike=$dir/killed/m.rfm.rfm-tmp-0000000000
    if [ -d "${alike}aa" ] && [ -L "${alike}bb" ]; then pass; else
        fail 'a folder or a link was removed'
    fi
    same 'what the link leads to' "$data" "$out/three.csv"
    rm -rf "$dir/killed"
else skip 'no shared libraries here'; fi

# ---- streams ---------------------------------------------------------------------------------------------------------

gone() { # what, command: its standard output is a pipe that nobody reads any more
    what=$1
    shift
    rm -f "$dir/status"
    { sleep 0.2; "$@" 2>"$out/stderr"; echo $? >"$dir/status"; } | true
    same_text "$what: ends as others do (SIGPIPE)" "$(cat "$dir/status")" 141
    same_text "$what: nothing is said" "$(wc -c <"$out/stderr" | tr -d ' ')" 0
}
gone 'predict' "$rfm" predict "$model" "$data"
gone 'info' "$rfm" info "$model"
gone 'help' "$rfm" help train
gone 'version' "$rfm" --version
gone 'evaluate' "$rfm" evaluate "$model" "$data" --json --quiet
gone 'a model' "$rfm" train "$data" -o - --quiet $quick
{ sleep 0.2; "$rfm" train "$data" -o "$dir/unheard.rfm" 2>&1 >/dev/null; echo $? >"$dir/status"; } | true
same_text 'nobody reads the progress' "$(cat "$dir/status")" 0
check 'nobody reads the progress: the model is made' "$rfm" info "$dir/unheard.rfm"
if [ -w /dev/full ]; then
    for command in 'help' 'train --help' '--version' 'evaluate %m %d' "train %d -o $dir/t.rfm --quiet $quick"; do
        line=$(echo "$command" | sed "s|%m|$model|; s|%d|$data|")
        refuse "rfm $command >/dev/full" 1 'standard output: cannot be written: No space' \
            sh -c "'$rfm' $line >/dev/full"
    done
fi
refuse 'standard output is closed' 1 'standard output: cannot be written' sh -c "'$rfm' info '$model' >&-"
refuse 'standard input is closed' 1 'standard input: cannot be' sh -c "'$rfm' train - -o '$out/refused.rfm' <&-"
"$rfm" train "$data" -o "$dir/closed.rfm" $quick <&- >&- 2>&-
same 'all three are closed' "$dir/closed.rfm" "$out/diag.rfm"
mkfifo "$dir/fifo"
timeout 20 cat "$dir/fifo" >"$dir/received" &
reader=$!
check 'a pipe as output' timeout 20 "$rfm" train "$data" -o "$dir/fifo" --quiet $quick
wait $reader
same 'a pipe as output' "$dir/received" "$out/diag.rfm"
cat "$data" >"$dir/fifo" &
check 'a pipe as input' timeout 20 "$rfm" train "$dir/fifo" -o "$dir/t.rfm" --quiet $quick
same 'a pipe as input' "$dir/t.rfm" "$out/diag.rfm"
if [ -e /dev/stdout ]; then
    check '/dev/stdout is standard output' sh -c "'$rfm' train '$data' -o /dev/stdout $quick >'$dir/t.rfm'"
    same '/dev/stdout as a file' "$dir/t.rfm" "$out/diag.rfm"
    check '/dev/stdout is standard output' sh -c "'$rfm' train '$data' -o /dev/stdout $quick | cat >'$dir/t.rfm'"
    same '/dev/stdout as a pipe' "$dir/t.rfm" "$out/diag.rfm"
fi

# ---- memory ----------------------------------------------------------------------------------------------------------

if $cc -std=c99 -D_POSIX_C_SOURCE=200809L -O1 -Irfm -o "$dir/wide" tests/cli/wide.c rfm/rfm.c -lm &&
    "$dir/wide" 20000 "$dir/wide.rfm"; then
    awk 'BEGIN { for (i = 0; i < 3; i++) for (j = 0; j <= 20000; j++)
        printf "%s%s", i == 0 ? "c" j : (i + j) % 5, j < 20000 ? "," : "\n" }' >"$dir/wide.csv"
    few() { what=$1; shift; check "$what in 100 MB" sh -c 'ulimit -v 100000 && exec "$@"' sh "$@"; }
    few 'info' "$rfm" info "$dir/wide.rfm"
    # P is 2 for inputs 8, 108, ..., else 1: their entries of M are 4 of a trace of 20,600.
    says 'the diagonal is right' 'features +8: 0\.0 %, 108: 0\.0 %'
    few 'info --json' "$rfm" info "$dir/wide.rfm" --json
    few 'info --metric' sh -c "'$rfm' info '$dir/wide.rfm' --metric | head -n 8 | tail -n 1 | cut -d, -f 7-9"
    says 'a row of M' '^2,4,2$'
    few 'predict' "$rfm" predict "$dir/wide.rfm" "$dir/wide.csv" --threads 1
    few 'evaluate' "$rfm" evaluate "$dir/wide.rfm" "$dir/wide.csv" --threads 1
    few 'report' "$rfm" report "$dir/wide.rfm" --data "$dir/wide.csv" -o "$dir/wide.html" --threads 1
    few 'export' "$rfm" export "$dir/wide.rfm" -o "$dir/wide.h"
    "$dir/wide" 8 "$dir/narrow.rfm"
    check 'few inputs' "$rfm" info "$dir/narrow.rfm"
    says 'the diagonal has its shares' 'features +8: 36\.4 %, 1: 9\.1 %, 2: 9\.1 %'
else fail 'wide.c does not work'; fi

# ---- names from files ------------------------------------------------------------------------------------------------

# Columns and classes that would colour a terminal, ring its bell, go to another line; controls of C1.
esc=$(printf '\033') bell=$(printf '\007') c1=$(printf '\302\233') other=$(printf '\302\234')
awk -F, -v OFS=, -v esc="$esc" -v bell="$bell" -v c1="$c1" -v other="$other" '
    NR == 1 { print esc "[31m" bell, "x" c1 "m", "caf" other, "\"ta" esc "]0;t" bell "\""; next }
    { print $1, $2, $3, ($4 == 0 ? "\"no\nt" esc "[2J\"" : $4 == 1 ? c1 "A" : "z" other) }' "$data" >"$dir/odd.csv"
check 'odd names' "$rfm" train "$dir/odd.csv" -o "$dir/odd$esc[7m.rfm" $quick
visible 'messages of train' "$out/stderr"
visible 'summary of train' "$out/stdout"
cp "$dir/odd$esc[7m.rfm" "$dir/odd.rfm"
check 'info' "$rfm" info "$dir/odd.rfm"
visible 'info' "$out/stdout"
says 'info shows them' 'classes: no\\nt\\x1b\[2J z\\xc2\\x9c \\xc2\\x9bA'
check 'compress odd names' "$rfm" compress "$dir/odd.rfm" --data "$dir/odd.csv" --centers 20 --type i8 \
    -o "$dir/odd$esc[7m-i8.rfm"
visible 'summary of compress' "$out/stdout"
check 'ranges' "$rfm" info "$dir/odd$esc[7m-i8.rfm"
visible 'ranges' "$out/stdout"
refuse 'a file name' 1 'no\\x1b\[31m: cannot be opened' "$rfm" train "no$esc[31m" -o "$out/refused.rfm"
visible 'a file name' "$out/stderr"
printf 'x,%s\n1,0\n2,1\n3,%s\n' "$esc[31m$bell" "a$esc[1mb" >"$dir/bad.csv"
refuse 'a cell' 1 'column 2 \(\\x1b\[31m\\x07\): expected a (finite )?number.*found "a\\x1b\[1mb"' \
    "$rfm" train "$dir/bad.csv" -o "$out/refused.rfm" --quiet $quick --task regress
visible 'a cell' "$out/stderr"
refuse 'an option' 2 'no option --\\x1b\[1m' "$rfm" train "--$esc[1m"
visible 'an option' "$out/stderr"
printf 'gr\303\266\303\237e,target\n1,\342\202\254\n2,b\n3,\342\202\254\n4,b\n' >"$dir/utf8.csv"
check 'UTF-8' train "$dir/utf8.csv" -o "$dir/utf8.rfm" $quick
check 'UTF-8' "$rfm" info "$dir/utf8.rfm"
says 'UTF-8 is shown as it is' "$(printf 'classes: b \342\202\254')"
says 'UTF-8 is shown as it is' "$(printf 'gr\303\266\303\237e')"
printf 'a,target\n1,2\n2,%059d\342\202\254\n' 0 >"$dir/cut.csv"
refuse 'a long cell is cut between characters' 1 'found "0{59}"' \
    "$rfm" train "$dir/cut.csv" -o "$out/refused.rfm" --quiet $quick --task regress
if command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    script -qec "'$rfm' predict '$dir/odd.rfm' '$dir/odd.csv'" /dev/null </dev/null 2>/dev/null |
        tr -d '\r' >"$dir/terminal"
    visible 'predictions on a terminal' "$dir/terminal"
else skip 'no script, which is a terminal'; fi
"$rfm" predict "$dir/odd.rfm" "$dir/odd.csv" >"$dir/odd.txt"
if grep -q "$esc" "$dir/odd.txt"; then pass; else fail 'predictions in a file are what the data has'; fi

check 'json' "$rfm" info "$dir/odd.rfm" --json
visible 'json' "$out/stdout"
says 'json: controls are escaped' \
    '"classes": \["no(\\n|\\u000a)t\\u001b\[2J", "z\\u009c", "\\u009bA"\]'
check 'json of UTF-8' "$rfm" info "$dir/utf8.rfm" --json
says 'json of UTF-8' "$(printf '"classes": ."b", "\342\202\254"')"
# Not UTF-8: too long, surrogates, beyond the last, cut.
printf 'a\300\257,b\355\240\200,c\364\220\200\200,d\342\202,target\n1,2,3,4,0\n4,3,2,1,1\n1,3,2,4,0\n' >"$dir/wrong.csv"
check 'not UTF-8' train "$dir/wrong.csv" -o "$dir/wrong.rfm" $quick
check 'not UTF-8' "$rfm" info "$dir/wrong.rfm" --json
# Read as Latin-1, which becomes UTF-8.
says 'json of what is not UTF-8' "$(printf '"a\303\200\302\257", "b\303\255\302\240')"
says 'json of what is not UTF-8: controls' "$(printf '"c\303\264.u0090')"

# ---- names in headers ------------------------------------------------------------------------------------------------

check_header() { # what, header, name: with everything around it, alone, twice, as C and as C++
    {
        printf '#include <%s.h>\n' math stdio stdlib string time signal
        printf '#include "%s"\n' rfm.h "$2" "$2"
        printf 'rfm_model m;\nint main(void) { return rfm_model_open(%s, sizeof %s, &m); }\n' "$3" "$3"
    } >"$dir/use.c"
    flags="-Wall -Werror -Wno-unused-variable -Irfm -I$dir -fsyntax-only"
    check "$1 in C" "$cc" -std=gnu99 $flags "$dir/use.c"
    sed '/^#include "rfm.h"/d' "$dir/use.c" >"$dir/use2.c"
    check "$1 without rfm.h before it" "$cc" -std=c99 $flags "$dir/use2.c"
    if command -v g++ >/dev/null; then check "$1 in C++" g++ -std=gnu++17 $flags -x c++ "$dir/use.c"; fi
}
for name in rfm rfm_fit int double class linux time signal main exp size_t uint8_t INT8_MAX 1st _x __a a__b 'a b' NULL \
    RFM_OK RFM rfm_model three; do
    cp "$out/three.rfm" "$dir/$name.rfm"
    check "export $name.rfm" "$rfm" export "$dir/$name.rfm" -o "$dir/header.h"
    id=$(sed -n 's/^RFM_ALIGNED static const unsigned char \([A-Za-z0-9_]*\)\[.*/\1/p' "$dir/header.h")
    check_header "$name.rfm" header.h "$id"
done
same_text 'an ordinary name is kept' "$id" three
for name in int double class static_assert rfm RFM Rfm_x RFM_OK rfm_fit size_t uint8_t INT8_MAX time main NULL _x __a \
    a__b a_; do
    refuse "--name $name" 2 "--name: \"$name\" is (a |reserved )" \
        "$rfm" export "$model" -o "$out/refused.rfm" --name $name
done
for name in model Model rfmodel interior t x1 tiny_t1; do
    check "--name $name" "$rfm" export "$out/three.rfm" -o "$dir/header.h" --name $name
    check_header "--name $name" header.h $name
done
# Two models of one name: the compiler says so, the second is not left out.
"$rfm" export "$out/three.rfm" -o "$dir/one.h" --name twin --quiet
"$rfm" export "$out/two.rfm" -o "$dir/other.h" --name twin --quiet
printf '#include "one.h"\n#include "other.h"\n' >"$dir/use.c"
refuse 'two models of one name' 1 'redefin' "$cc" -std=c99 -Irfm -I"$dir" -fsyntax-only "$dir/use.c"

# ---- no error leaves anything behind ---------------------------------------------------------------------------------

no_leftover 'nothing is left beside any output' "$out"

# Moves inside of the certificates of standalone headers; for run and soak, which set out, rfm, cc and build, and have pass and fail.
#
# Three sets of rows: the gestures, the digits, and three classes of six sensors that count from 0 to 4095. Of each a model of floats (laplace,
# of the sensors gaussian), one of 8-bit integers and a tiny one, 20 to 40 centres each.

sensors() { # rows of three overlapping classes
    awk 'function noise() { return rand() + rand() + rand() + rand() - 2 }
        BEGIN { srand(11); print "a,b,c,d,e,f,target"
            for (i = 0; i < 600; i++) { k = i % 3; swing = noise()
                for (j = 0; j < 6; j++) printf "%d,", 2048 + 900 * sin(1.3 * k * (j + 1) + j) * (1 + 0.2 * swing) + 260 * noise()
                print k } }'
}

moves_model() { # set, kind 0 1 2, number of moves, seed: makes its program once, and runs it
    dir=$out/$1-$2
    case $2 in 0) type=tiny options='--rank 4' ;; 1) type=i8 options= ;; *) type=f32 options= ;; esac
    # Narrow kernels and a large ridge, where alphas hardly cancel: radii that are not far from what is true.
    case $1 in
    sensors) rows=$out/sensors.csv centers=20 fit='--kernel gaussian --bandwidth 0.3m --ridge 1' ;;
    *) rows=tools/data/$1.csv centers=40 fit='--kernel laplace --bandwidth 2m --ridge 1e-2' ;;
    esac
    if [ ! -x "$dir/moves" ]; then
        # shellcheck disable=SC2086
        mkdir -p "$dir" &&
            { [ -f "$out/$1.rfm" ] || "$rfm" train "$rows" $fit --metric full --iterations 1 --rows 800 --quiet -o "$out/$1.rfm" >"$dir/log" 2>&1; } &&
            "$rfm" compress "$out/$1.rfm" --data "$rows" --rows 800 --centers $centers --type $type $options --quiet -o "$dir/model.rfm" >"$dir/log" 2>&1 &&
            "$rfm" export "$dir/model.rfm" --standalone --certify --name model --quiet -o "$dir/model.h" >"$dir/log" 2>&1 &&
            $cc -std=c99 -O2 -Wall -Wextra -Werror -ffp-contract=off -DKIND="$2" -I"$dir" -Irfm tests/standalone/moves.c "$build/librfm.a" -o "$dir/moves" -lm >"$dir/log" 2>&1 ||
            { fail "moves of $1, $type: not made" "$dir/log"; return; }
    fi
    if "$dir/moves" "$dir/model.rfm" "$rows" "$3" "$4" >"$dir/log" 2>&1; then pass "moves of $1, $type: $(cat "$dir/log")"; else fail "moves of $1, $type" "$dir/log"; fi
}

moves_all() { # number of moves of each model, seed
    sensors >"$out/sensors.csv"
    for set in gesture_digits digits sensors; do
        for kind in 0 1 2; do moves_model $set $kind "$1" "$2"; done
    done
}

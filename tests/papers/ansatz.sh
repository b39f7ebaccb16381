# The papers on the neural feature ansatz: what they claim, small. Read by tests/papers/run.

# Rows as JSON; what an experiment says is looked up by the beginnings of quantity and setting.
for name in ansatz ansatz-scales ansatz-decay ansatz-balance ansatz-depth ansatz-start ansatz-digits identities outer-products; do
    timeout -k 5 200 "$papers" $name --quick --quiet --json >"$out/$name.json" 2>"$out/$name.log" || fail "$name: $(cat "$out/$name.log")"
done
ours() { # experiment, quantity, setting[, number in a list like "1; 2", from 1]: what was measured
    awk -F'", "' -v quantity="\"quantity\": \"$2" -v setting="setting\": \"$3" -v which="${4:-1}" '
        index($0, quantity) && index($0, setting) {
            for (i = 1; i <= NF; i++)
                if ($i ~ /^ours": "/) { sub(/^ours": "/, "", $i); split($i, part, "; "); print part[which]; exit }
        }' "$out/$1.json"
}
within() { # what, low, value, high
    holds "$1: $3, expected $2 to $4" "$(true_of "${3:-1e9} >= $2 && ${3:-1e9} <= $4")"
}

# Figure 1: the ansatz holds, and a K of the same eigenvalues with other eigenvectors breaks it.
within 'ansatz: rho(F, G)' 0.85 "$(ours ansatz 'rho(W'"'"'W, AGOP)' first)" 0.99
within 'ansatz: control' 0 "$(ours ansatz 'rho(W'"'"'W, W'"'"'QW)' Q)" 0.65
within 'ansatz: spread of K' 4 "$(ours ansatz 'spread of K' standard)" 20

# Figure 2: centred above uncentred early on, and hardly changed by the scale of the start.
for setting in 'isotropic, layer 1, s = 0.1,' 'isotropic, layer 1, s = 0.01,' 'isotropic, layer 2, s = 1,' \
    'isotropic, layer 2, s = 0.1,' 'isotropic, layer 2, s = 0.01,'; do
    within "centred above uncentred, $setting" 0.01 "$(ours ansatz-scales 'centred above uncentred' "$setting")" 1
done
for layer in 1 2; do
    plain=$(ours ansatz-scales 'uncentred; centred, largest' "isotropic, layer $layer," 1)
    centred=$(ours ansatz-scales 'uncentred; centred, largest' "isotropic, layer $layer," 2)
    within "over the scales, layer $layer" 0 "$centred" 0.15
    holds "over the scales, layer $layer: $centred of $plain" "$(true_of "${centred:-9} < ${plain:-0} / 2")"
done
# Appendix G: under decaying spectra for every scale; figures 4 and 5: the tangents move later than the weights.
for decay in '1/(1 + k)' '1/(1 + k^2)'; do
    for s in 1 0.1 0.01; do
        for layer in 1 2; do
            setting="decay $decay, layer $layer, s = $s,"
            within "centred above uncentred, $setting" 0.01 "$(ours ansatz-decay 'centred above uncentred' "$setting")" 1
            early=$(ours ansatz-decay 'Fig. 4' "$setting" 1) later=$(ours ansatz-decay 'Fig. 4' "$setting" 2)
            holds "ratio, $setting: $early, then $later" "$(true_of "${early:-1} < 0.05 && ${later:-0} > ${early:-1}")"
            early=$(ours ansatz-decay PTK "$setting" 1) later=$(ours ansatz-decay PTK "$setting" 2)
            holds "PTK-centred, $setting: $early, then $later" "$(true_of "${later:-9} < ${early:-0}")"
        done
    done
done

# Figure 3: predicted follows observed; and both fall where the balance is small.
within 'predicted and observed' 0.95 "$(ours ansatz-balance 'correlation of predicted' 'sets: 1')" 1
low=$(ours ansatz-balance 'predicted; observed' 'balance 0.2' 2) high=$(ours ansatz-balance 'predicted; observed' 'balance 0.9' 2)
holds "observed from $low to $high" "$(true_of "${high:-0} - ${low:-1} > 0.2")"
# Figure 6: wide networks of squares are nearer to the prediction, which follows the decay.
for task in 'square, chain' 'square, squared' 'ReLU, chain' 'ReLU, squared'; do
    within "depth, $task" 0.8 "$(ours ansatz-depth 'correlation over' "$task")" 1
done
for task in 'square, chain' 'square, squared'; do
    narrow=$(ours ansatz-depth 'mean distance' "$task" 1) wide=$(ours ansatz-depth 'mean distance' "$task" 2)
    holds "depth, $task: $narrow, wide $wide" "$(true_of "${wide:-9} < ${narrow:-0}")"
done
# Appendix I: the diagonals agree on images too.
within 'digits' 0.75 "$(ours ansatz-digits 'Pearson of the diagonals"' digits)" 1
holds 'digits: control' "$(true_of "$(ours ansatz-digits 'Pearson of the diagonals, control' digits) < $(ours ansatz-digits 'Pearson of the diagonals"' digits) - 0.2")"

# Identities: to rounding; or to a few standard errors, which are printed beside them.
for what in "dW'dW and" "dW'K dW and"; do within "Prop. 4: $what" 0 "$(ours ansatz-start "Prop. 4: $what" '')" 1e-5; done
slow=$(ours ansatz-start 'Prop. 3' 't = 0.025') fast=$(ours ansatz-start 'Prop. 3' 't = 0.00625')
holds "Prop. 3: $slow, then $fast" "$(true_of "${fast:-9} < ${slow:-0} / 2 && ${fast:-9} < 0.1")"
errors=$(awk -F'", "' '/standard error/ {
    for (i = 1; i <= NF; i++) {
        if ($i ~ /^ours": "/) { value = $i; sub(/^ours": "/, "", value) }
        if ($i ~ /^note": "standard error/) { error = $i; sub(/.*error /, "", error); sub(/".*/, "", error) }
    }
    n++
    if (!(value + 0 <= 3 * error && error > 0 && error < 0.1)) bad = bad " " value "/" error
} END { print n + 0, bad }' "$out/ansatz-start.json" "$out/identities.json")
holds "identities within three standard errors: $errors" "$([ "$errors" = '5 ' ] && echo 1)"
within 'Prop. 1' 0 "$(ours identities 'Prop. 1' '')" 1e-5
for d in 5 10 20 40; do
    within "Prop. 2 with the EGOP, $d inputs" 0 "$(ours identities 'Prop. 2' "y = x1 x2, $d inputs" 2)" 0.005
done
within 'Prop. 2 without, 40 inputs' 0.8 "$(ours identities 'Prop. 2' 'y = x1 x2, 40 inputs' 1)" 1.2
for proposition in 4 5; do
    within "Prop. $proposition, k = 10000" 0 "$(ours identities "Prop. $proposition" 'k = 10000')" 0.043
done
# One sample: proportional for ever; many: alike.
within 'one row' 0.99999 "$(ours outer-products cos '1 row,' 3)" 1.00001
within '1000 rows' 0.5 "$(ours outer-products cos '1000 rows' 2)" 0.99
# The same digits with any number of threads.
for name in ansatz-scales ansatz-balance; do
    if "$papers" $name --quick --quiet --json --threads 1 | cmp -s - "$out/$name.json" &&
        "$papers" $name --quick --quiet --json --threads 3 | cmp -s - "$out/$name.json"; then pass; else fail "$name: threads"; fi
done

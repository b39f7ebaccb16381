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
printf 'a=x,a,target\n1,x,0\n2,y,1\n' | refuse_data 'a column called as a text of another' 'two inputs are called a=x' --one-hot
awk -F, 'NR == 1 { print "x1,x2,x3,x1,target"; next } { print $1 "," $2 "," $3 "," $2 "," $4 }' "$out/three.csv" >"$out/v.csv"
refuse 'two columns of one name to predict' 1 'v.csv: line 1: columns 1 and 4 are both called x1' "$rfm" predict "$out/three.rfm" "$out/v.csv"
sed '1s/x1,x2,x3,x1/x1,x2,x3,other/' "$out/v.csv" >"$out/v2.csv"
check 'other columns beside the inputs' "$rfm" predict "$out/three.rfm" "$out/v2.csv"
sed '1s/x1,x2,x3,x1/x1,x2,x3,target/' "$out/v.csv" >"$out/v2.csv"
check 'columns that are no inputs may share a name' "$rfm" predict "$out/three.rfm" "$out/v2.csv"

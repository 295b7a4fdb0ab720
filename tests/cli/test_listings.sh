# solvers, problems and check, as text and as JSON.
. "$(dirname "$0")/lib.sh"

run 0 solvers
err_empty
for word in NAME NEEDS STOCHASTIC SUMMARY s-tfbo d-tfbo aid-cg exact soba; do
    out_has "$word"
done
cp out list
run 0 solvers --json
err_empty
names=$("$json_get" out '*' name) || fail "solvers --json: not valid"
cp out all
# One heading for each group, with a summary, and each solver below its own
"$json_get" all '*' group | uniq >groups
grep -v '^  ' list | sed 's/: .*//' >found
same found groups
grep -v '^  ' list | grep -v ': ' && fail "a group has no summary"
for name in $names; do
    "$json_get" all '*' name >left
    "$json_get" all '*' group >right
    group=$(paste left right | awk -F '\t' -v name="$name" '$1 == name { print $2 }')
    awk -v name="$name" '!/^  / { group = $0 } $1 == name { print group }' list |
        grep -qF "$group: " || fail "$name is not listed below $group"
done
for name in $names; do
    run 0 solvers "$name"
    out_has "$name: "
    run 0 solvers "$name" --json
    json "$name" name
    "$json_get" out citation >value || fail "$case_name: no citation"
    [ -s value ] || fail "$case_name: empty citation"
    for key in $("$json_get" out parameters '*' key); do
        "$bilevel" solvers "$name" | grep -qE "^  $key +" || fail "$case_name: $key is not listed"
    done
    # What it needs, in words and in bits
    needs="f, g"
    [ "$("$json_get" out uses_hvp)" = false ] || needs="$needs, Hv"
    [ "$("$json_get" out uses_jvp)" = false ] || needs="$needs, Jv"
    stochastic=$([ "$("$json_get" out stochastic)" = true ] && echo yes || echo no)
    grep -qE "^  $name +$needs +$stochastic " list || fail "$name: not listed with $needs, $stochastic"
    # Markdown: as many rows as there are parameters
    "$json_get" out parameters '*' key >keys
    "$json_get" out citation >citation
    run 0 solvers "$name" --markdown
    sed -n '/^## Parameters/,$ s/^| `\([^`]*\)` | `.*/\1/p' out >found
    same found keys
    grep -qF "$(cut -c 1-40 citation)" out || fail "$case_name: no citation"
done
run 0 solvers --markdown
sed -n 's/^| \[`\([^`]*\)`](\(.*\)\.md) .*/\1 \2/p' out >found
for name in $names; do echo "$name $name"; done >expected
same found expected
refused "neither" solvers --markdown --json
refused "neither" solvers --markdown --for parabola

# ---- Those that suit a problem
# fits HVP JVP INVERSE SUM ARGUMENT...: what must be said by the rule, for a problem that has no Hv,
# no Jv, no inverse or is no sum of samples ("no"), else "yes"
fits() {
    hvp=$1 jvp=$2 inverse=$3 sum=$4
    shift 4
    run 0 solvers "$@" --json
    err_empty
    cp out fitted
    for key in name uses_hvp uses_jvp uses_inverse stochastic fit remark; do
        "$json_get" fitted '*' $key >column_$key
    done
    paste -d ';' column_name column_uses_hvp column_uses_jvp column_uses_inverse \
        column_stochastic column_fit column_remark >lines
    run 0 solvers "$@"
    err_empty
    while IFS=';' read -r name uses_hvp uses_jvp uses_inverse stochastic fit remark rest; do
        expected=suited
        if [ "$uses_hvp" = true ] && [ $hvp = no ]; then expected=differences; fi
        if [ "$uses_jvp" = true ] && [ $jvp = no ]; then expected=differences; fi
        if [ "$uses_inverse" = true ] && [ $inverse = no ]; then expected=refused; fi
        [ "$fit" = $expected ] || fail "$case_name: $name is $fit, expected $expected"
        case $expected in
        differences) words="differences of gradients" ;;
        refused) words=singular ;;
        *) words= ;;
        esac
        [ $expected = refused ] || [ $sum = yes ] || [ "$stochastic" = false ] || words="$words*no batches"
        # shellcheck disable=SC2254
        case "$remark;$rest" in
        *$words*) ;;
        *) fail "$case_name: $name: '$remark', expected '$words'" ;;
        esac
        [ -n "$words" ] || [ -z "$remark" ] || fail "$case_name: $name: '$remark', expected nothing"
        listed=no
        if grep -qE "^  $name +f, g" out; then listed=yes; fi
        [ $listed = "$([ $fit = suited ] && echo yes || echo no)" ] ||
            fail "$case_name: $name is $fit, listed: $listed"
        [ -z "$words" ] || grep -qE "^  ([^ ]+, )*$name(,|\$)" out ||
            fail "$case_name: $name does not stand below its remark"
    done <lines
}
fits yes yes yes no --for quadratic
out_has "For quadratic, dimension 50 in x and 50 in y, f64"
fits yes yes yes yes --for quadratic --problem-set terms=5 --problem-set dx=2
out_has "dimension 2 in x"
fits no no yes no --for quadratic --gradients-only
fits no no yes yes --for quadratic --gradients-only --problem-set terms=5
fits yes yes no no --for non-singleton
fits no no no no --for non-singleton --gradients-only
run 0 solvers exact --for non-singleton
grep -qE '^Suits non-singleton +no: .*singular' out || fail "$case_name: not said to be refused"
run 0 solvers exact --for parabola --json
json suited fit
json exact name
refused "did you mean 'parabola'" solvers --for parabla
refused "did you mean 'kappa'" solvers --for quadratic --problem-set kapa=1
refused "need --for" solvers --problem-set kappa=1
refused "need --for" solvers --gradients-only
refused "did you mean 'soba'" solvers sobba --for parabola

run 0 problems
err_empty
for word in NAME SUMMARY quadratic parabola; do
    out_has "$word"
done
run 0 problems --json
names=$("$json_get" out '*' name) || fail "problems --json: not valid"
# Problems on data need a training file.
i=0
while [ $i -lt 30 ]; do
    echo "$((i % 3)) 1:$((i % 7)) 2:0.$i 4:1"
    i=$((i + 1))
done >train.svm
for name in $names; do
    data=
    run 0 problems "$name"
    out_has "$name: "
    run 0 problems "$name" --json
    json "$name" name
    "$json_get" out formula >value || fail "$case_name: no formula"
    if grep -q '"train"' out; then data="--problem-set train=train.svm"; fi
    # steps for differences in f32 are so long that they cross the kinks of ReLU
    if grep -q '"net"' out; then data="$data --problem-set net=mlp:in-20-out,act=gelu"; fi
    # shellcheck disable=SC2086
    run 0 check "$name" $data
    out_has "ok"
    err_empty
    # shellcheck disable=SC2086
    run 0 check "$name" $data --json --precision f32 --seed 3
    json true ok
    json f32 precision
    "$json_get" out items 0 error >value || fail "$case_name: no items"
done

# Without products there is less to check
run 0 check quadratic --gradients-only
grep -qE '^(Hv|Jv|lower_all)' out && fail "$case_name: products are there"
out_has "gy against differences of g"

run 0 problems quadratic --problem-set dx=7
grep -qE '^  dx +7 ' out || fail "$case_name: the value in effect is not shown"
run 0 problems quadratic --problem-set dx=7 --problem-set dx=8 --json
json 8 values dx

finish

# solvers, problems and check, as text and as JSON.
. "$(dirname "$0")/lib.sh"

run 0 solvers
err_empty
for word in NAME GROUP STOCHASTIC USES SUMMARY s-tfbo d-tfbo aid-cg exact soba; do
    out_has "$word"
done
run 0 solvers --json
err_empty
names=$("$json_get" out '*' name) || fail "solvers --json: not valid"
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
done

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

run 0 problems quadratic --problem-set dx=7
grep -qE '^  dx +7 ' out || fail "$case_name: the value in effect is not shown"
run 0 problems quadratic --problem-set dx=7 --problem-set dx=8 --json
json 8 values dx

finish

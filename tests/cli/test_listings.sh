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
for key in name group citation uses_hvp uses_jvp stochastic; do
    "$json_get" all '*' $key >"column_$key" || fail "$case_name: $key is missing"
done
paste column_name column_group >expected
awk '!/^  / { group = $0; sub(/: .*/, "", group) } /^  / && $1 != "NAME" { print $1 "\t" group }' \
    list >found
same found expected
grep -n '^$' column_citation && fail "a citation is empty"
# What each needs, in words and in bits
paste column_name column_uses_hvp column_uses_jvp column_stochastic |
    awk '{ print $1 " f, g" ($2 == "true" ? ", Hv" : "") ($3 == "true" ? ", Jv" : "") " " \
        ($4 == "true" ? "yes" : "no") }' >expected
sed -nE 's/^  ([^ ]+) +(f, g(, Hv)?(, Jv)?) +(yes|no) .*/\1 \2 \5/p' list >found
same found expected
# One by one: text and Markdown have every parameter, JSON is what the array has
i=0
for name in $names; do
    run 0 solvers "$name"
    out_has "$name: "
    "$json_get" all $i parameters '*' key >keys
    sed -n '/^Parameters/,/^$/ s/^  \([^ ]*\) .*/\1/p' out | grep -vx KEY >found
    same found keys
    run 0 solvers "$name" --markdown
    sed -n '/^## Parameters/,$ s/^| `\([^`]*\)` | `.*/\1/p' out >found
    same found keys
    "$json_get" all $i citation | cut -c 1-40 >citation
    grep -qFf citation out || fail "$case_name: no citation"
    i=$((i + 1))
done
for name in exact soba; do
    run 0 solvers $name --json
    json $name name
    "$json_get" out >found
    "$json_get" all "$(($(grep -nx $name column_name | cut -d: -f1) - 1))" >expected
    same found expected
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
    awk -F ';' -v has_hvp=$hvp -v has_jvp=$jvp -v has_inverse=$inverse -v sum=$sum '
        FILENAME == "out" && match($0, /^  [^ ]+ +f, g/) { listed[word($0)] = 1; next }
        FILENAME == "out" { if ($0 ~ /^  /) { gsub(/,/, ""); n = split($0, names, " ")
            for (k = 1; k <= n; k++) below[names[k]] = 1 } next }
        function word(line) { split(line, words, " "); return words[1] }
        function wrong(what) { print $1 ": " what }
        { expected = "suited"
          if ($2 == "true" && has_hvp == "no" || $3 == "true" && has_jvp == "no") expected = "differences"
          if ($4 == "true" && has_inverse == "no") expected = "refused"
          if ($6 != expected) wrong($6 ", expected " expected)
          remark = $7; for (k = 8; k <= NF; k++) remark = remark ";" $k
          differs = remark ~ /differences of gradients/; singular = remark ~ /singular/
          whole = remark ~ /no batches/
          if (expected == "differences" && !differs) wrong("no word of differences")
          if (expected == "refused" && !singular) wrong("no word of what is singular")
          batches = expected != "refused" && sum == "no" && $5 == "true"
          if (batches && !whole) wrong("no word of batches")
          if (expected == "suited" && !batches && remark != "") wrong("a remark: " remark)
          if (remark != "" && !($1 in below)) wrong("does not stand below its remark")
          if (($1 in listed) != (expected == "suited")) wrong("listed, or not") }' out lines >differ
    [ ! -s differ ] || fail "$case_name: $(cat differ)"
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
grep -qE '^suits non-singleton +no: .*singular' out || fail "$case_name: not said to be refused"
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
    # Differences need a network without kinks.
    if grep -q '"net"' out; then data="$data --problem-set net=mlp:in-8-out,act=softplus"; fi
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

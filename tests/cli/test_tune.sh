# bilevel tune and bilevel predict: what they write, checked from the files alone.
digits=$(cd "$(dirname "$0")/../../data" && pwd)/digits.csv.gz
. "$(dirname "$0")/lib.sh"

# made ROWS SEED: rows of 30 features, of which the first three decide the class.
made() {
    awk -v rows="$1" -v seed="$2" '
        function uniform() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
        function normal() { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()) }
        BEGIN {
            for (j = 0; j < 30; j++) printf "f%d,", j
            print "kind"
            for (i = 0; i < rows; i++) {
                s = 0.7 * normal()
                for (j = 0; j < 30; j++) {
                    a = normal()
                    if (j < 3) s += 1.5 * a
                    printf "%.6f,", a * (j + 1)
                }
                print (s > 0 ? "yes" : "no")
            }
        }'
}
made 150 11 >train.csv
made 900 12 >val.csv
made 2000 13 >test.csv

# ---- per feature: the useless features are penalized, and the model gains by it
run 0 tune train.csv --val val.csv --test test.csv -o model.npz --penalties penalties.csv \
    --precision f64 --json
err_empty
json true kept
json 30 penalties
json 150 train_rows
json 900 val_rows
json 900 held_out_rows
for pair in "many one" "one none"; do
    # shellcheck disable=SC2086
    set -- $pair
    awk -v a="$("$json_get" out models "$1" test_loss)" -v b="$("$json_get" out models "$2" test_loss)" \
        'BEGIN { exit !(a < b) }' || fail "$case_name: $1 is not better than $2 on the test rows"
done
cp out tuned.json
[ "$(head -1 penalties.csv)" = "of,penalty" ] || fail "another header in penalties.csv"
[ "$(sed -n '2s/,.*//p;31s/,.*//p' penalties.csv | tr '\n' ' ')" = "f0 f29 " ] ||
    fail "penalties.csv: names"
tail -n +2 penalties.csv | awk -F, 'NR <= 3 { used += log($2) / 3 } NR > 3 && NR <= 30 { idle += log($2) / 27 }
    END { exit !(idle > used + 1) }' || fail "useless features are not penalized more"

# ---- a solver that fails says so, and the best single penalty is the result
run 0 tune train.csv --val val.csv --solver aid-cg --set step_x=1 --set step_y=1e9 -o one.npz --json
err_has "solver aid-cg: diverged"
json false kept
"$npz_tool" print one.npz penalties >/dev/null || fail "no model where the solver failed"

# ---- the model file: the model minimizes mean loss + 1/2 sum penalty w^2 on the training rows
for array in weights intercept shift divisor penalties unit_rows; do
    "$npz_tool" print model.npz $array >$array || fail "no array $array"
done
tail -n +2 penalties.csv | cut -d, -f2 >expected
awk 'NR == FNR { a[NR] = $1; next } (a[FNR] - $1) ^ 2 > 1e-24 * $1 ^ 2' penalties expected >differ
[ ! -s differ ] || fail "penalties of the model are not those of the table"
# scores FILE: the score of each row, from the arrays and the file; then the gradient
scores='
    FILENAME == "weights" { w[FNR] = $1; next } FILENAME == "shift" { shift[FNR] = $1; next }
    FILENAME == "divisor" { divisor[FNR] = $1; next } FILENAME == "intercept" { b = $1; next }
    FILENAME == "penalties" { penalty[FNR] = $1; next }
    FNR > 1 { s = b
        for (j = 1; j <= 30; j++) { z[j] = ($j - shift[j]) / divisor[j]; s += w[j] * z[j] }
        p = 1 / (1 + exp(-s)) }'
awk -F, "$scores"'
    FNR > 1 { n++; for (j = 1; j <= 30; j++) g[j] += (p - ($31 == "yes")) * z[j]
        gb += p - ($31 == "yes") }
    END { worst = gb / n + 1e-6 * b; worst = worst < 0 ? -worst : worst
        for (j = 1; j <= 30; j++) { d = g[j] / n + penalty[j] * w[j]; d = d < 0 ? -d : d
            worst = d > worst ? d : worst }
        print worst; exit !(n == 150 && worst < 2e-6) }' \
    weights intercept shift divisor penalties train.csv >worst ||
    fail "the model is not the minimizer: gradient $(cat worst)"

# ---- predict: the same from the arrays by hand
run 0 predict model.npz test.csv -o answers.csv --all --json
err_empty
json_near "$("$json_get" tuned.json models result test_accuracy)" 1e-12 accuracy
json_near "$("$json_get" tuned.json models result test_loss)" 1e-6 loss
[ "$(head -1 answers.csv)" = "row,predicted,probability,label,no,yes,text" ] || fail "another header"
awk -F, "$scores"' FNR > 1 { print FNR - 2 "," p }' \
    weights intercept shift divisor penalties test.csv >by_hand
tail -n +2 answers.csv | paste -d, by_hand - | awk -F, '
    { d = $2 - $8; sum = $7 + $8 - 1; top = $7 > $8 ? $7 : $8; word = $8 > $7 ? "yes" : "no" }
    d * d > 1e-12 || sum * sum > 1e-24 || $1 != $3 || $5 != top || $4 != word' >differ
[ ! -s differ ] || fail "answers are not those of the arrays"
cut -d, -f1-30 test.csv >unlabelled.csv
run 0 predict model.npz unlabelled.csv -o without.csv --all --json
json null accuracy
cut -d, -f1-3 answers.csv >expected
cut -d, -f1-3 without.csv >found
same found expected
run 0 predict model.npz test.csv
out_has "accuracy"
run 0 predict model.npz test.csv --quiet
[ ! -s out ] || fail "--quiet wrote to stdout"

# ---- the recipe on the page, for two classes
awk '/^```python$/ { inside = 1; next } /^```/ { inside = 0 } inside' \
    "$(dirname "$digits")/../docs/tune.md" >recipe.py
if python3 -c 'import numpy' 2>/dev/null; then
    python3 recipe.py >found || fail "the recipe of docs/tune.md does not run"
    tail -n +2 answers.csv | cut -d, -f2 >expected
    same found expected
else
    echo "python3 has no numpy: the recipe of docs/tune.md is not run"
fi

# ---- other penalties
printf '%s\n' a a a >groups
i=3
while [ $i -lt 30 ]; do echo "the rest" >>groups && i=$((i + 1)); done
run 0 tune train.csv --val val.csv --test test.csv --penalty groups:groups --penalties g.csv --json
json 2 penalties
cut -d, -f1 g.csv | tr '\n' ' ' >found
printf 'of a the rest ' >expected
same found expected
json true kept
run 0 tune train.csv --val val.csv --penalty one --penalties g.csv -o one.npz --json
json 1 penalties
json null models many
[ "$(wc -l <g.csv)" -eq 2 ] || fail "one penalty: $(cat g.csv)"
run 0 data split "$digits" dt.csv de.csv --sizes 500,400
run 0 tune dt.csv --test de.csv --penalty per-class --penalties g.csv -o digits.npz --val-share 0.3
err_has "dt.csv: 64 numbers; label 'label'"
out_has "for learning penalties"
out_has "hardly any"
[ "$(wc -l <g.csv)" -eq 11 ] || fail "ten classes: $(cat g.csv)"
run 0 predict digits.npz de.csv --json
json 400 rows
awk -v a="$("$json_get" out accuracy)" 'BEGIN { exit !(a > 0.9) }' || fail "$case_name: accuracy"
run 0 tune dt.csv --test de.csv --penalty one --val-share 0.3 --refit --json
json 350 train_rows
json 150 val_rows

# ---- cross-validation where there is no validation set; a seed deals other folds
run 0 tune train.csv --test test.csv --json -o a.npz
json 5 folds
json 0 val_rows
json 150 held_out_rows
run 0 tune train.csv --test test.csv --seed 9 -o b.npz --quiet
cmp -s a.npz b.npz && fail "another seed gave the same folds"

# ---- numbers: ridge regression
awk -F, 'NR == 1 { sub(/kind/, "amount"); print; next }
    { amount = 0; for (j = 1; j <= 3; j++) amount += $j / j
      sub(/[a-z]*$/, 100 + 7 * amount + 3 * $5 / 5); print }' train.csv >numbers.csv
run 0 tune numbers.csv --label amount -o numbers.npz --json
json true real
awk -v a="$("$json_get" out models result held_out_r2)" 'BEGIN { exit !(a > 0.9) }' ||
    fail "$case_name: R2"
run 0 predict numbers.npz numbers.csv -o guesses.csv --json
tail -n +2 guesses.csv | awk -F, '{ e += ($2 - $3) ^ 2; m += $3; q += $3 ^ 2; n++ }
    END { printf "%.9f %.9f\n", sqrt(e / n), 1 - e / (q - m * m / n) }' >by_hand
read -r rmse r2 <by_hand
json_near "$rmse" 1e-6 rmse
json_near "$r2" 1e-6 r2
run 0 tune numbers.csv --val numbers.csv --test numbers.csv --real
out_has "TEST RMSE"
refused "labels name classes here" clean numbers.csv --real
# times in seconds and values beyond f32: scaled in f64, so that f32 learns the same
awk -F, -v OFS=, 'NR == 1 { print "when", "size", $NF; next }
    { print 1600000000 + int(100 * $1), $2 * 1e40, $NF }' train.csv >times.csv
sed '9s/^[0-9]*,/,/' times.csv >hole.csv
for file in times hole; do
    for precision in f32 f64; do
        run 0 tune $file.csv --val times.csv --precision $precision --json
        "$json_get" out models one held_out_loss >$precision
        run 0 tune $file.csv --precision $precision --json
        "$json_get" out models one held_out_loss >>$precision
    done
    paste f32 f64 | awk '{ if (($1 - $2) ^ 2 > 1e-8) exit 1 }' || fail "$file.csv: f32 learns something else: $(paste f32 f64)"
done
# a solver that fails: one penalty, and the reason in all that is said and stored
run 0 tune train.csv --solver soba --set step_x=1e300 --set step_y=1e300 --json
json one\ for\ all models result name
"$json_get" out failure | grep -q "solver soba: diverged" || fail "$case_name: reason in JSON"
run 0 tune train.csv --solver soba --set step_x=1e300 --set step_y=1e300
out_has "Many penalties could not be learned: solver soba: diverged"
run 0 report "$(sed -n "s/^Stored as run \([0-9]*\);.*/\1/p" out)" --no-plots -o page.html
grep -q "many could not be learned: solver soba: diverged" page.html || fail "page: why not many"
[ "$(grep -c "<td>one for all</td>" page.html)" -eq 1 ] || fail "page: the result is not listed again"
# the model keeps how columns become features: the label is not the last one, a level and a number are missing
awk -F, -v OFS=, 'NR == 1 { print "amount,tint", $1, $2; next }
    { tint = NR % 3 ? (NR % 2 ? "red" : "blue") : "green"
      print 5 * $1 - $2 + (tint == "red" ? 4 : 0), tint, $1, $2 }' train.csv >tinted.csv
run 0 tune tinted.csv --label amount -o tinted.npz --json
run 0 predict tinted.npz tinted.csv -o all.csv --json
json_near "$(awk -F, 'NR > 1 { e += ($2 - $3) ^ 2; n++ } END { printf "%.9f\n", sqrt(e / n) }' all.csv)" 1e-6 rmse
grep -e amount -e ,red, tinted.csv | cut -d, -f2- | head -3 >two_rows.csv
run 0 predict tinted.npz two_rows.csv -o two.csv --quiet
grep ,red, all.csv | cut -d, -f2 | head -2 >expected
tail -n +2 two.csv | cut -d, -f2 >found
same found expected
echo "tint,f0,f1
red,,1" >hole.csv
run 0 predict tinted.npz hole.csv --quiet

# ---- a validation set that cannot tell many penalties: one is kept
head -41 val.csv >small.csv
run 0 tune train.csv --val small.csv --test test.csv --json
if [ "$("$json_get" out kept)" = false ]; then
    [ "$("$json_get" out models result test_loss)" = "$("$json_get" out models one test_loss)" ] ||
        fail "$case_name: the result is not the single penalty"
fi

# ---- libsvm: sparse rows of length 1, files of other widths
awk 'BEGIN { seed = 7
    for (i = 0; i < 400; i++) { c = i % 2; line = c ? "+1" : "-1"
        for (j = 1; j <= 60; j++) { seed = (seed * 16807) % 2147483647
            if (seed % 10 == 0 || (seed % 10 == 1 && j % 2 == c)) line = line " " j ":" 1 + seed % 3 }
        print line } }' >all.svm
head -200 all.svm >t.svm
tail -200 all.svm >v.svm
run 0 tune t.svm --val v.svm -o sparse.npz --json
head -5 v.svm | cut -d' ' -f1-4 >narrow.svm
run 0 predict sparse.npz narrow.svm --json
json 5 rows

# ---- the same bits again, in any number of threads
run 0 tune train.csv --val val.csv -o a.npz --threads 1 --quiet
run 0 tune train.csv --val val.csv -o b.npz --threads 2 --quiet
same a.npz b.npz
run 0 tune train.csv --val val.csv --solver s-tfbo --iters 200 --json --trace trace
json s-tfbo solver
"$json_get" --lines trace val_loss >value || fail "no trace"
run 0 tune train.csv --val val.csv --progress=lines
err_has "one penalty for all"
err_has "penalties  iteration 1"

# ---- Ctrl-C: the best so far is written
case_name="tune and SIGINT"
"$helpers/with_signals" trace int "$bilevel" tune train.csv --val val.csv --solver aid-cg \
    --iters 1e12 --trace trace --json -o stopped.npz >out 2>err
code=$?
[ $code -eq 0 ] || fail "exit code $code, expected 0"
json 30 penalties
"$npz_tool" print stopped.npz weights >value || fail "no model"

# ---- what is refused; nothing is written
refuse() {
    words=$1
    shift
    refused "$words" tune "$@" -o never.npz
    [ ! -e never.npz ] || fail "$case_name: wrote its file"
    [ -z "$(find . -name '*.tmp')" ] || fail "$case_name: temporary files are left"
}
sed 's/,yes$/,maybe/' val.csv >unknown.csv
grep -v ',no$' val.csv >without.csv
cut -d, -f2- val.csv >narrow.csv
sed '3s/^[^,]*/inf/' train.csv >inf.csv
grep -v ',no$' train.csv >one.csv
head -4 val.csv >few.csv
: >empty.csv
head -29 groups >short
refuse "no file is named"
refuse "missing.csv" missing.csv
refuse "no label column 'sort'" train.csv --label sort
refuse "one class only ('yes')" one.csv --val val.csv
refuse "has class 'maybe'" train.csv --val unknown.csv
refuse "without.csv: no row of class 'no', which train.csv has" train.csv --val without.csv
refuse "narrow.csv: there is no column" train.csv --val narrow.csv
refuse "inf.csv: line 3, column 1 of 31 (f0): expected a finite number, found 'inf'" inf.csv
refuse "empty.csv" empty.csv
refuse "few.csv: 3 validation rows are too few" train.csv --val few.csv
refuse "short, line 30: fewer lines than features" train.csv --val val.csv --penalty groups:short
refuse "missing: cannot open" train.csv --val val.csv --penalty groups:missing
refuse "expected per-feature, per-class, groups:FILE or one" train.csv --penalty all
refuse "expected a share" train.csv --val-share 0
refuse "nowhere/p.csv" train.csv --val val.csv --penalties nowhere/p.csv
refused "nowhere/m.npz" tune train.csv --val val.csv -o nowhere/m.npz
refused "expected MODEL and DATA" predict model.npz
refused "missing.npz" predict missing.npz test.csv
refused "missing.csv" predict model.npz missing.csv
"$npz_tool" write other.npz x=1,2
refused "not a model" predict other.npz test.csv
refused "narrow.csv: there is no column 'f0'" predict model.npz narrow.csv --label kind
refused "has class 'maybe', which model.npz does not have" predict model.npz unknown.csv
sed '1s/f3/g3/' test.csv >renamed.csv
refused "there is no column 'f3'" predict model.npz renamed.csv
refused "--all needs --out" predict model.npz test.csv --all
refused "nowhere/p.csv" predict model.npz test.csv -o nowhere/p.csv
for command in tune predict; do
    run 0 $command --help
    out_has "Usage: bilevel $command"
    err_empty
done

finish

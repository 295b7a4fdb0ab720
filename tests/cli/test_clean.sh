# bilevel clean: what it writes, how its figures are counted, what it refuses.
digits=$(cd "$(dirname "$0")/../../data" && pwd)/digits.csv.gz
. "$(dirname "$0")/lib.sh"

# at_least BOUND VALUE
at_least() {
    awk -v a="$2" -v b="$1" 'BEGIN { exit !(a >= b) }' || fail "$2, expected at least $1"
}

run 0 data split "$digits" train.csv val.csv test.csv --sizes 400,150,300 --seed 3
run 0 data corrupt train.csv noisy.csv --share 0.3 --seed 3 --truth truth.csv

# ---- the table: every row once, ranks with suspects first, none of which is believed to be right
run 0 clean noisy.csv --model linear --val val.csv --test test.csv --truth truth.csv -o out.csv \
    --write-clean clean.csv --json
err_empty
cp out first.json
[ "$(head -1 out.csv)" = "row,label,verdict,probability,believed,rank,text" ] ||
    fail "another header"
cut -d, -f1-5 out.csv | tail -n +2 >in_order
cut -d, -f1 in_order >found
seq 0 399 >expected
same found expected
# the text is the row of the file
tail -n +2 noisy.csv >expected
sed '1d; s/^[^"]*,"//; s/"$//' out.csv >found
same found expected
cut -d, -f1-6 out.csv | tail -n +2 | sort -t, -k6,6n >rows
cut -d, -f6 rows >found
seq 1 400 >expected
same found expected
cut -d, -f1-5 rows >first_five && mv first_five rows
cut -d, -f1 rows | sort -n >found
seq 0 399 >expected
same found expected
for verdict in suspect keep; do
    grep ",$verdict," rows | cut -d, -f4 >found
    sort -g found >expected
    same found expected
done
awk -F, '$3 == "keep" { kept = 1 } $3 == "suspect" && kept' rows >wrong_rows
[ ! -s wrong_rows ] || fail "$case_name: suspects are not the first rows"
threshold=$("$json_get" out threshold)
awk -F, -v t="$threshold" '$3 == "suspect" && ($4 > t || $5 == $2) || $4 < 0 || $4 > 1 ||
    $5 !~ /^[0-9]$/' rows >wrong_rows
[ ! -s wrong_rows ] || fail "$case_name: rows that do not agree with themselves"
suspects=$(grep -c ,suspect, rows)
json "$suspects" suspects
json 400 rows
json exact solver

# ---- figures, counted anew from the two tables
sort -t, -k1,1n rows >by_row
tail -n +2 truth.csv | paste -d, - by_row >joined
# row,given,true,row,label,verdict,probability,believed
awk -F, '$1 != $4 || $2 != $5' joined >wrong_rows
[ ! -s wrong_rows ] || fail "labels of the table are not those given"
# figures WRONG COLUMN: recall, precision and AUROC by pairs
figures=$(awk -F, '{ bad = $2 != $3; wrong += bad; s = $6 == "suspect"; flagged += s; found += s && bad
      if (bad) pb[++b] = $7; else pg[++g] = $7 }
    END { for (i = 1; i <= b; i++) for (j = 1; j <= g; j++)
              p += pb[i] < pg[j] ? 1 : pb[i] == pg[j] ? 0.5 : 0
          printf "%d %d %.12f %.12f %.12f\n", wrong, found, found / wrong, found / flagged, \
              p / (b * g) }' joined)
# shellcheck disable=SC2086
set -- $figures
json "$1" truth wrong
json "$2" truth found
json_near "$3" 1e-9 truth recall
json_near "$4" 1e-9 truth precision
json_near "$5" 1e-9 truth auroc_probability
json 120 truth wrong

# ---- the cleaned file: the rows that are kept, as they were
grep ,keep, rows | cut -d, -f1 | sort -n >kept
awk 'NR == FNR { keep[$1]; next } FNR == 1 || (FNR - 2) in keep' kept noisy.csv >expected
same clean.csv expected
run 0 clean noisy.csv --model linear --val val.csv --write-clean relabelled.csv --relabel --quiet
[ ! -s out ] || fail "$case_name: wrote to stdout"
awk -F, 'NR == FNR { if ($3 == "suspect") believed[$1] = $5; next }
    FNR > 1 && (FNR - 2) in believed { sub(/,[^,]*$/, "," believed[FNR - 2]) } { print }' \
    rows noisy.csv >expected
same relabelled.csv expected
run 0 clean noisy.csv --model linear --val val.csv --write-clean clean.npz --quiet
run 0 data info clean.npz --json
json "$((400 - suspects))" rows
run 0 clean noisy.csv --model linear --val val.csv --write-clean plain --quiet
same plain clean.csv

# ---- the same answer again, in any number of threads, and another one with another seed
run 0 clean noisy.csv --model linear --val val.csv --quiet -o again.csv --threads 1
same again.csv out.csv
run 0 clean noisy.csv --model linear --val val.csv --quiet -o again.csv --threads 2
same again.csv out.csv
run 0 clean noisy.csv --model linear --val val.csv --quiet -o again.csv --seed 1
cmp -s again.csv out.csv && fail "another seed gave the same folds"

# ---- thresholds
run 0 clean noisy.csv --model linear --val val.csv --threshold 0.25 -o again.csv --json
json "$(awk -F, 'NR > 1 && $4 < 0.25 && $2 != $5' again.csv | wc -l)" suspects
run 0 clean noisy.csv --model linear --val val.csv --flag-share 0.1 --json
json 40 suspects
run 0 clean noisy.csv --model linear --val val.csv --false-alarms 0.01 --json
[ "$("$json_get" out suspects)" -lt "$suspects" ] || fail "$case_name: not fewer suspects"
awk -v a="$("$json_get" out false_alarms)" 'BEGIN { exit !(a <= 0.01) }' || fail "$case_name: too many"

# ---- true labels in a column; without validation rows; the summary
paste -d, noisy.csv truth.csv | awk -F, -v OFS=, '{ $66 = $68; NF = 66; print }' >with_truth.csv
run 0 clean with_truth.csv --model linear --label label --truth true --val val.csv --json
json 120 truth wrong
for key in suspects threshold ridge; do
    [ "$("$json_get" out $key)" = "$("$json_get" first.json $key)" ] ||
        fail "$case_name: $key is another with the truth in a column"
done
run 0 clean noisy.csv --model linear --truth truth.csv --test test.csv --json
err_empty
json null val
found=$("$json_get" out truth auroc_probability)
awk -v a="$found" 'BEGIN { exit !(a > 0.9) }' || fail "$case_name: AUROC $found"
run 0 clean noisy.csv --model linear --val val.csv --test test.csv --truth truth.csv
err_has "noisy.csv: 64 numbers; label 'label'"
out_has "rows suspect"
out_has "TRAIN as given"
out_has "VAL alone"
out_has "AUROC by probability"
run 0 clean noisy.csv --model linear --val val.csv --solver s-tfbo --iters 50 --json
json s-tfbo solver
json 50 iterations

# ---- probabilities of a model of one's own: no model is trained, and every tenth row is suspect
awk -F, 'NR == 1 { print "0,1,2,3,4,5,6,7,8,9"; next }
    { for (k = 0; k < 10; k++) { p = k == $NF ? 0.9 : 0.1 / 9
          if (NR % 10 == 0) p = k == ($NF + 1) % 10 ? 0.95 : 0.05 / 9
          printf "%s%g", k ? "," : "", p }
      print "" }' noisy.csv >probabilities.csv
run 0 clean noisy.csv --model linear --probabilities probabilities.csv -o again.csv --json
json 40 suspects
json 0 iterations
awk -F, '$3 == "suspect" && (($1 + 2) % 10 != 0 || $5 != ($2 + 1) % 10)' again.csv >wrong_rows
[ ! -s wrong_rows ] || fail "$case_name: other rows are suspect"
run 0 clean noisy.csv --image none --probabilities probabilities.csv
out_has "BELIEVED"
grep -q "SPEAKS AGAINST" out && fail "$case_name: no model, but features that speak against a label"
head -9 probabilities.csv >few.csv
refused "expected 400 rows of 10" clean noisy.csv --probabilities few.csv
# in any order by their names, which all have then
awk -F, -v OFS=, '{ first = $1; $1 = $10; $10 = first; print }' probabilities.csv >turned.csv
run 0 clean noisy.csv --model linear --probabilities turned.csv -o turned.out --quiet
same turned.out again.csv
sed '1s/3/three/' probabilities.csv >names.csv
refused "no column of class '3', and other columns have the names of classes" \
    clean noisy.csv --probabilities names.csv
sed '5s/^[^,]*/1.5/' probabilities.csv >above.csv
refused "row 3: expected numbers from 0 to 1" clean noisy.csv --probabilities above.csv
awk -F, -v OFS=, 'NR == 5 { for (i = 1; i <= NF; i++) $i = 0.2 } 1' probabilities.csv >sum.csv
refused "row 3: the numbers add up to 2, not to 1" clean noisy.csv --probabilities sum.csv
sed '5s/^[^,]*//' probabilities.csv >gap.csv
refused "line 5, column 1 of 10 (0): expected a value, found nothing" \
    clean noisy.csv --probabilities gap.csv

# ---- progress
run 0 clean noisy.csv --model linear --val val.csv --progress=lines
err_has "ridge 1e-01"
err_has "noise"
"$helpers/on_terminal" screen "$bilevel" clean noisy.csv --model linear --val val.csv >out 2>err ||
    fail "on a terminal: not exit code 0"
tr '\r' '\n' <screen >lines
grep -qF "weight of trusted rows" lines || fail "the progress line does not say what is done"
"$helpers/on_terminal" screen "$bilevel" clean noisy.csv --model linear --val val.csv --quiet >out 2>err
[ ! -s screen ] || fail "--quiet: something is shown on the terminal"

# ---- Ctrl-C while it works: nothing is written
signal_at ridge int clean noisy.csv --model linear --val val.csv --solver s-tfbo --iters 1e12 --progress lines -o never.csv
code=$?
case_name="clean and SIGINT"
[ $code -eq 1 ] || fail "exit code $code, expected 1"
cp progress err
err_has "stopped on request: nothing is written"
err_has "'bilevel resume "
[ ! -s out ] && [ ! -e never.csv ] || fail "something was written"

# ---- what is refused; nothing is written
no_files() {
    [ ! -e never.csv ] || fail "$case_name: wrote its file"
    [ -z "$(find . -name '*.tmp')" ] || fail "$case_name: temporary files are left"
}
refuse() {
    words=$1
    shift
    refused "$words" clean "$@" -o never.csv
    no_files
}
head -1 train.csv >header_only.csv
: >empty.csv
awk -F, -v OFS=, 'NR == 1 || $NF == 3' train.csv >one.csv
awk -F, -v OFS=, '$NF != 3' val.csv >without.csv
awk -F, -v OFS=, 'NR == 5 { $NF = "ten" } { print }' val.csv >unknown.csv
awk -F, -v OFS=, 'NR == 5 { $7 = "inf" } { print }' train.csv >inf.csv
cut -d, -f2-65 val.csv >narrow.csv
sed '1s/x3/y3/' val.csv >renamed.csv
refuse "no file is named"
refuse "missing.csv" missing.csv --val val.csv
refuse "missing.csv" noisy.csv --val missing.csv
refuse "missing.csv" noisy.csv --val val.csv --test missing.csv
refuse "no label column 'kind'" noisy.csv --val val.csv --label kind
refuse "one.csv: one class only ('3')" one.csv --val val.csv
refuse "unknown.csv: row 3 has class 'ten'" noisy.csv --val unknown.csv
refuse "inf.csv: line 5, column 7 of 65 (x6): expected a finite number, found 'inf'" inf.csv --val val.csv
refuse "narrow.csv: there is no column" noisy.csv --val narrow.csv
refuse "renamed.csv: there is no column 'x3'" noisy.csv --val renamed.csv
refuse "header_only.csv" header_only.csv --val val.csv
refuse "empty.csv" empty.csv --val val.csv
refuse "empty.csv" noisy.csv --val empty.csv
refuse "no labels" noisy.csv --label none --val val.csv
refuse "--val-share" noisy.csv --val val.csv --val-share 0.1
refuse "expected a share" noisy.csv --val-share 1.5
refuse "one of them" noisy.csv --val val.csv --threshold 0.5 --flag-share 0.1
refuse "--relabel needs --write-clean" noisy.csv --val val.csv --relabel
refuse "expected a whole number from 2 to 100" noisy.csv --val val.csv --folds 1
refuse "expected a number above 0" noisy.csv --val val.csv --ridge 0
refuse "did you mean 'exact'" noisy.csv --val val.csv --solver exakt
refuse "solver exact has no parameter 'memori'" noisy.csv --val val.csv --set memori=3
refuse "expected bar, lines or none" noisy.csv --val val.csv --progress dots
refuse "expected f32 or f64" noisy.csv --val val.csv --precision f16
refuse "no truth column 'right'" noisy.csv --val val.csv --truth right
head -10 truth.csv >val_truth.csv
refuse "val_truth.csv: 9 rows; expected 400 as in noisy.csv" noisy.csv --val val.csv --truth val_truth.csv
refuse "truth.csv: row" train.csv --val val.csv --truth truth.csv
refuse "nowhere/clean.csv" noisy.csv --val val.csv --write-clean nowhere/clean.csv
refuse "never.csv is named twice" noisy.csv --val val.csv --write-clean never.csv
refuse "the name does not tell the format" noisy.csv --val val.csv --write-clean never.xyz
cp noisy.csv kept.csv
refused "nowhere/out.csv" clean noisy.csv --val val.csv --write-clean kept.csv -o nowhere/out.csv
same noisy.csv kept.csv

# ---- models, and few trusted rows
run 0 clean noisy.csv --val val.csv --json
case $("$json_get" out model) in
*"by the held-out loss: linear 0."*" mlp 0."*" linear and mlp 0."*) ;;
*) fail "the model: $("$json_get" out model)" ;;
esac
run 0 clean noisy.csv --model mlp
out_has "Model: mlp, as asked"
head -2 val.csv >one.csv
run 0 clean noisy.csv --val one.csv --truth truth.csv --model linear --json
at_least 0.9 "$("$json_get" out truth auroc_probability)"
grep -v ',3$' val.csv >without.csv
run 0 clean noisy.csv --val without.csv --truth truth.csv --model linear --json
at_least 0.9 "$("$json_get" out truth auroc_probability)"

run 0 clean --help
out_has "--write-clean"
out_has "--seconds"
err_empty

finish

# Tables with texts, dates and missing values, as they come: every command that reads a file, and the
# answers of a model to raw rows.
. "$(dirname "$0")/lib.sh"

# income > 50 and city Rome decide the class, up to a few rows
awk 'BEGIN {
    srand(3); split("Rome Bern Oslo", city, " "); print ",when,income,city,member,class"
    for (i = 0; i < 240; i++) {
        x = int(rand() * 1000) / 10; c = city[1 + int(rand() * 3)]
        y = (x > 50) + (c == "Rome") > (rand() < 0.9 ? 0 : 1) ? "buys" : "leaves"
        printf "%d,2024-%02d-%02d,%s,%s,%s,%s\n", i, 1 + i % 12, 1 + i % 28,
            rand() < 0.1 ? "NA" : x, rand() < 0.1 ? "" : c, rand() < 0.5 ? "yes" : "No", y
    }
}' >all.csv
head -181 all.csv >train.csv
{ head -1 all.csv && tail -60 all.csv; } >val.csv

run 0 data info train.csv
out_has "csv, 180 rows, 9 features, 2 classes"
out_has "note         column '' left out: it counts the rows"
out_has "note         column 'when': date"
out_has "note         column 'city': category of 3 levels, "
out_has "note         column 'member': boolean"
refused "expected a value, found " data info train.csv --missing error
run 0 data info train.csv --missing drop --columns when:drop,member:drop
out_has "5 features, 2 classes"
refused "there is no column 'cty'; did you mean 'city'?" data info train.csv --columns cty:drop
refused "--missing 'guess': expected impute, error or drop" data info train.csv --missing guess

# ---- other columns, another order, a level that is new: the same answers as for the same rows
run 0 tune train.csv --val val.csv -o model.npz --no-store --quiet
run 0 predict model.npz val.csv -o known.csv --all
awk -F, -v OFS=, 'NR == 1 { print "note", $5, $4, $3, $2; next } { print "text " NR, $5, $4, $3, $2 }' \
    val.csv >raw.csv
run 0 predict model.npz raw.csv -o raw_answers.csv --all
cut -d, -f1-3 raw_answers.csv >a
cut -d, -f1-3 known.csv >b
[ "$(wc -l <raw_answers.csv)" -eq 61 ] || fail "answers for 60 rows were expected"
cmp -s a b || {
    # columns of the label may stand between: compare the probabilities alone
    head -3 raw_answers.csv known.csv >out
    fail "raw rows in another order have other answers"
}
sed 's/Bern/Paris/' raw.csv >new_level.csv
run 0 predict model.npz new_level.csv -o new_answers.csv
err_has "warning: new_level.csv: column 'note' left out: the rows of the training do not have it"
err_has "1 level not seen before"
run 0 predict model.npz new_level.csv --json
grep -q '"warnings"' out && grep -q "1 level not seen before" out || fail "no warnings in the JSON"
run 0 predict model.npz new_level.csv --quiet
err_empty
sed 1d val.csv >bare.csv
run 0 predict model.npz bare.csv
err_has "warning: bare.csv: there is no header: columns are in the order of the training"
cut -d, -f1-4 raw.csv >short.csv
refused "short.csv: there is no column 'when', which the rows of the training have" \
    predict model.npz short.csv

run 0 clean train.csv --val val.csv -o suspects.csv --no-store --quiet
err_empty
# ---- kinds and warnings, a line each; fills and levels of validation rows are not learned
{ cat val.csv; sed -n '2,11p' train.csv; } >leaky.csv
grep -v buys leaky.csv >one_class.csv
run 0 tune train.csv --val leaky.csv --test one_class.csv --no-store
err_has "train.csv: 1 number, 1 category, 1 boolean, 1 date, 1 left out; 2 with missing values; label 'class'"
err_has "warning: 10 of 70 rows of leaky.csv are also in train.csv"
err_has "warning: one_class.csv has no row of class 'buys'"
awk -F, -v OFS=, 'NR == 1 { print $0 ",copy"; next } { print $0 "," ($6 == "buys" ? "x" : "y") }' \
    train.csv >telling.csv
run 0 tune telling.csv --label class --val-share 0.3 --no-store -o shared.npz
err_has "warning: telling.csv: the label follows from one column alone: 'copy'"
sed '1s/.*/0,2,4,6,8,size/' train.csv >numbered.csv
run 0 tune numbered.csv --no-store --quiet --penalty one --json
grep -q "line 1 may be a header" out || fail "a header of numbers is read as a row without a word"
awk -F, 'NR == 1 { print "x;n;class"; next } { print NR ";" 1 + NR % 7 ",130;" $6 }' train.csv >thousands.csv
run 0 tune thousands.csv --no-store --penalty one
err_has "warning: thousands.csv: commas are taken for decimal ones, not for those of thousands: '"
# ---- folds: what fills and scales a fold is not learned from it; dense, sparse, and real targets
run 0 tune train.csv --no-store -o folds.npz --json
run 0 tune train.csv --no-store --sparse --penalty one --quiet
run 0 tune train.csv --no-store --label income --missing drop --real --penalty one --quiet
run 0 tune train.csv --no-store --label member --penalty one --quiet
# ---- weights: rows of weight 0 are not there
awk -F, -v OFS=, 'NR == 1 { print $0 ",w"; next } { print $0 "," (NR % 4 ? 2 : 0) }' train.csv >weighted.csv
awk -F, -v OFS=, 'NR == 1 { print $0 ",w"; next } { print $0 ",1" }' val.csv >weighted_val.csv
run 0 tune weighted.csv --val weighted_val.csv --weight w --scaling none --penalty one -o weighted.npz \
    --columns when:drop --precision f64 --no-store --json
cp out weighted.json
awk 'NR == 1 || NR % 4' train.csv >kept.csv
run 0 tune kept.csv --val val.csv --scaling none --penalty one -o kept.npz --columns when:drop \
    --precision f64 --no-store --json
json_near "$("$json_get" weighted.json single_penalty)" 1e-3 single_penalty
run 0 predict weighted.npz val.csv -o weighted_answers.csv
awk -F, -v OFS=, 'NR == 1 { print $0 ",w"; next } { print $0 "," (NR == 9) }' train.csv >one.csv
refused "all rows that weigh more than 0 are in one fold" clean one.csv --weight w --model linear
# clean: the same as without where all weigh alike, and rows of weight 0 are not learned from
awk -F, -v OFS=, 'NR == 1 { print $0 ",w"; next } { print $0 ",4" }' train.csv >alike.csv
run 0 clean alike.csv --weight w --model linear --no-store --json
cp out alike.json
run 0 clean train.csv --model linear --no-store --json
for key in suspects estimated_wrong ridge; do
    "$json_get" out $key >a
    "$json_get" alike.json $key | cmp -s - a || fail "weights that are all alike change $key"
done
awk -F, -v OFS=, 'NR == 1 { print; next } NR % 4 == 0 { $6 = $6 == "buys" ? "leaves" : "buys" } { print }' \
    weighted.csv >flipped.csv
run 0 clean flipped.csv --val weighted_val.csv --weight w --test weighted_val.csv --no-store --json
[ "$("$json_get" out suspects)" -ge 30 ] || fail "labels of rows without weight were learned from"
refused "--weight: the weights of rows are what is found" coreset weighted.csv --weight w --size 5
refused "no weight column 'x'" tune weighted.csv --weight x -o never.npz
# ---- real targets: a clear word rather than as many classes
awk 'BEGIN { print "x,target"; for (i = 0; i < 90; i++) print i % 7 "," i * i % 83 }' >real.csv
run 0 data info real.csv
out_has "the labels are taken as real numbers"
refused "real.csv: the labels are real numbers; expected classes" clean real.csv -o never.csv
run 0 data info real.csv --targets classes
out_has "42 classes"

# ---- pipes, standard input and zstd: the same as from the file, and files that are read twice
run 0 data info train.csv --json
"$json_get" out fingerprint >expected
cat train.csv | "$bilevel" data info - --json >out 2>err || fail "standard input was not read"
"$json_get" out fingerprint | cmp -s - expected || fail "standard input has other rows"
mkfifo pipe
cat train.csv >pipe &
run 0 data info pipe --json
"$json_get" out fingerprint | cmp -s - expected || fail "a pipe has other rows"
cat train.csv >pipe &
run 0 clean pipe -o from_pipe.csv --write-clean clean.csv --no-store --quiet
cmp -s from_pipe.csv suspects_alone.csv || run 0 clean train.csv -o suspects_alone.csv --no-store --quiet
cmp -s from_pipe.csv suspects_alone.csv || fail "a pipe has other suspects"
for arguments in "data info pipe" "predict model.npz pipe" "clean pipe -o never.csv" "solve l2reg --problem-set train=pipe"; do
    # shellcheck disable=SC2086 # words
    "$bilevel" $arguments >out 2>err &
    waiting=$!
    sleep 0.2
    kill -TERM "$waiting"
    wait "$waiting"
    [ $? -ge 128 ] || fail "'$arguments' without a writer did not end by a signal"
done
finish

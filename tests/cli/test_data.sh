# bilevel data: info, stats, convert, split, corrupt.
. "$(dirname "$0")/lib.sh"

# Three classes of 60, 30 and 10 rows; column a counts the rows, c is mostly zero.
awk 'BEGIN {
    print "a,\"b, long\",c,kind"
    for (i = 0; i < 100; i++)
        printf "%d,%.3f,%d,%s\n", i, i / 8, i % 20 == 0 ? 3 : 0, i < 60 ? "ant" : i < 90 ? "bee" : "cow"
}' >iris.csv

awk -F, 'NR == 1 { print "x0,x1" } NR > 1 { print $1 "," $3 }' iris.csv >numbers.csv

# ---- info and stats
run 0 data info iris.csv
err_empty
out_has "iris.csv: csv, 100 rows, 3 features, 3 classes"
out_has "from 0 to 99"
grep -qE '^  bee +30 +30.00%' out || fail "$case_name: class bee is not shown"
run 0 data info iris.csv --json
json 100 rows
json 3 columns
json csv format
json dense layout
json f64 precision
json 30 class_rows 1
json cow classes 2
json 99.0 high
"$json_get" out history 0 | grep -qF "read iris.csv: csv" || fail "$case_name: no history"
fingerprint=$("$json_get" out fingerprint)
run 0 data info iris.csv --sparse --precision f32 --json
json "$fingerprint" fingerprint
json sparse layout
json f32 precision
run 0 data info numbers.csv --label none --json
json 2 columns
json "[]" classes
run 0 data info numbers.csv --label x0 --real --json
json 0.0 target_low
json 99.0 target_high
json "[]" classes
run 0 data info numbers.csv --label 0 --real
out_has "targets      from 0 to 99"

run 0 data stats iris.csv
err_empty
out_has "b, long"
out_has "class cow: 10 rows"
for layout in --dense --sparse; do
    run 0 data stats iris.csv $layout --json
    json_near 49.5 1e-12 stats 0 mean
    json_near 28.866070047722118 1e-12 stats 0 std
    json_near 0.15 1e-15 stats 2 mean
    json_near 0.6538348415311014 1e-14 stats 2 std
    json 0.0 stats 2 low
    json 3.0 stats 2 high
    json 5 stats 2 non_zero
    json "b, long" stats 1 name
done

# ---- convert: there and back through every format
for name in t.libsvm t.svm.gz t.txt t.csv t.tsv.gz t.npz; do
    run 0 data convert iris.csv $name
    err_empty
    out_has "$name: 100 rows, 3 features, 3 classes as"
    run 0 data convert $name back.csv --label label
    run 0 data stats back.csv --json
    json_near 49.5 1e-12 stats 0 mean
    json 30 class_rows 1
    json 5 stats 2 non_zero
done
run 0 data convert t.csv back.csv
same t.csv back.csv
run 0 data convert iris.csv odd --format csv
same t.csv odd
run 0 data convert iris.csv scaled.csv --standardize --intercept --json
json csv out_format
json scaled.csv out
run 0 data stats scaled.csv --json
json_near 0 1e-12 stats 0 mean
json_near 1 1e-12 stats 0 std
json_near 1 0 stats 3 mean
json intercept stats 3 name
run 0 data convert iris.csv scaled.csv --unit
run 0 data stats scaled.csv --json
json_near 0 0 stats 0 low
json_near 1 0 stats 0 high
run 0 data convert iris.csv scaled.csv --unit-rows
run 0 data stats scaled.csv --json
json_near 0.9922778767136677 1e-12 stats 0 high
# not over itself
cp iris.csv own.csv
refused "own.csv is an input of this command" data convert own.csv own.csv
same own.csv iris.csv

# ---- split
run 0 data split iris.csv train.csv valid.npz test.libsvm --seed 5
err_empty
out_has "train.csv: 64 rows"
run 0 data info train.csv --json
json 64 rows
json_near 38.4 0.6 class_rows 0
cp train.csv first.csv
run 0 data info valid.npz --json
json 16 rows
run 0 data info test.libsvm --json
json 20 rows
json 12 class_rows 0
json 6 class_rows 1
json 2 class_rows 2
# every row once
{
    tail -n +2 train.csv | cut -d, -f1
    "$npz_tool" print valid.npz X | awk 'NR % 3 == 1'
    sed -E 's/^[^ ]+ (1:([0-9]+))?.*/\2/; s/^$/0/' test.libsvm
} | sort -n >found
seq 0 99 >expected
same found expected
run 0 data split iris.csv train.csv valid.npz test.libsvm --seed 5
same train.csv first.csv
run 0 data split iris.csv train.csv valid.npz test.libsvm --seed 6
cmp -s train.csv first.csv && fail "$case_name: another seed gave the same split"
run 0 data split iris.csv ten.csv rest.csv --sizes 10,0.5 --no-stratify --json
json 10 parts 0 rows
json 50 parts 1 rows
json 0 seed
"$json_get" out parts 0 history 1 | grep -qF "split 10 0.5, seed 0: part 1 of 2, 10 of 100 rows" ||
    fail "$case_name: the history does not tell the split"
run 0 data split numbers.csv half.csv --sizes 0.5 --label 0 --real
out_has "half.csv: 50 rows, 1 feature, real targets"
run 0 data split iris.csv a1.csv a2.csv
out_has "a1.csv: 80 rows"

# ---- corrupt
run 0 data corrupt iris.csv noisy.csv --share 0.4 --seed 1 --truth truth.csv
err_empty
out_has "corrupt uniform 0.4, seed 1: 40 of 100 labels changed"
[ "$(awk -F, 'NR > 1 && $2 != $3' truth.csv | wc -l)" -eq 40 ] || fail "$case_name: not 40 changed"
[ "$(wc -l <truth.csv)" -eq 101 ] || fail "$case_name: truth.csv has another length"
tail -n +2 noisy.csv | awk -F, '{ print $NF }' >expected
tail -n +2 truth.csv | cut -d, -f2 >found
same expected found
tail -n +2 iris.csv | awk -F, '{ print $NF }' >expected
tail -n +2 truth.csv | cut -d, -f3 >found
same expected found
cp noisy.csv first.csv
run 0 data corrupt iris.csv noisy.csv --share 0.4 --seed 1
same noisy.csv first.csv
run 0 data corrupt iris.csv noisy.csv --share 0.4 --seed 2
cmp -s noisy.csv first.csv && fail "$case_name: another seed gave the same labels"
run 0 data corrupt iris.csv noisy.csv --share 0.25 --kind pairwise --truth truth.csv --json
json 25 changed
awk -F, 'NR > 1 && $2 != $3 { print $3 $2 }' truth.csv | sort -u | grep -vxE 'antbee|beecow|cowant' &&
    fail "$case_name: not to the next class"
run 0 data corrupt iris.csv noisy.csv --share 1 --kind redraw --json
changed=$("$json_get" out changed)
[ "$changed" -gt 40 ] && [ "$changed" -lt 95 ] || fail "$case_name: $changed changed"

# ---- what is refused; nothing is left behind
refused "Usage: bilevel data" data
refused "there is no action 'inform'" data inform iris.csv
refused "no file is named" data info
refused "one argument too many" data info iris.csv iris.csv
refused "missing.csv" data info missing.csv
refused "expected yes or no" data info iris.csv --header maybe
refused "expected f32 or f64" data info iris.csv --precision f16
refused "one of the two" data info iris.csv --dense --sparse
refused "expected IN and OUT" data convert iris.csv
refused "too many" data convert iris.csv a.csv b.csv
refused "odd.dat: the name does not tell the format" data convert iris.csv odd.dat
refused "expected libsvm, csv or npz" data convert iris.csv never.dat --format arff
refused "not compressed again" data convert iris.csv never.npz.gz
refused "one of the two" data convert iris.csv never.csv --unit --standardize
refused "nowhere/never.csv" data convert iris.csv nowhere/never.csv
refused "expected IN and at least one OUT" data split iris.csv
refused "--sizes is needed" data split iris.csv never.csv
refused "2 sizes for 3 files" data split iris.csv never.csv b.csv c.csv --sizes 0.5,0.5
refused "'half' is not a number" data split iris.csv never.csv --sizes half
refused "add up to 110 rows" data split iris.csv never.csv never.npz --sizes 60,0.5
refused "never.csv is named twice" data split iris.csv never.csv never.csv
refused "--seed" data split iris.csv never.csv b.csv --seed -1
refused "--share is required" data corrupt iris.csv never.csv
refused "from 0 to 1" data corrupt iris.csv never.csv --share 1.5
refused "from 0 to 1" data corrupt iris.csv never.csv --share nan
refused "expected uniform, pairwise or redraw" data corrupt iris.csv never.csv --share 0.1 --kind all
refused "no classes" data corrupt numbers.csv never.csv --share 0.1 --label 0 --real
# either all files or none, and what was there stays
mkdir taken.csv
cp first.csv never_changed.csv
refused "taken.csv: is there and is not a regular file" data split iris.csv never_changed.csv taken.csv
same first.csv never_changed.csv
refused "nowhere/truth.csv" data corrupt iris.csv never_changed.csv --share 0.5 \
    --truth nowhere/truth.csv
same first.csv never_changed.csv
printf 'a,b\n1,2\nx,3\n' >bad.csv
refused "bad.csv" data convert bad.csv never.csv
[ ! -e never.csv ] && [ ! -e never.npz ] || fail "a refused command wrote its file"
[ -z "$(find . -name '*.tmp')" ] || fail "temporary files are left"

for action in info stats convert split corrupt; do
    run 0 data $action --help
    out_has "Usage: bilevel data $action"
    err_empty
done
run 0 help data
out_has "Usage: bilevel data ACTION"
run 0 data --help
out_has "corrupt"

finish

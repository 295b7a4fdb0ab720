# bilevel coreset and bilevel continual: what they write, how their figures are counted, what they
# refuse.
digits=$(cd "$(dirname "$0")/../../data" && pwd)/digits.csv.gz
. "$(dirname "$0")/lib.sh"

run 0 data split "$digits" train.csv test.csv --sizes 300,200 --seed 3
quick="--iters 20 --steps 100"

# ---- the table: as many different rows as asked for, weights in descending order with sum 1
# shellcheck disable=SC2086
run 0 coreset train.csv --size 20 $quick -o out.csv --write-subset subset.csv --compare \
    --test test.csv --json
err_empty
cp out first.json
json 300 rows
json 20 size
# the default is one of four methods
method=$("$json_get" out method)
case "$method" in d-tfbo | kmeans-by-class | facility-by-class | uniform) ;; *) fail "method $method" ;; esac
[ "$(head -1 out.csv)" = "row,weight" ] || fail "another header"
tail -n +2 out.csv >rows
[ "$(cut -d, -f1 rows | sort -nu | wc -l)" -eq 20 ] || fail "not 20 different rows"
awk -F, 'NR > 1 && $2 > last { bad = 1 } { last = $2; sum += $2; bad = bad || $1 > 299 || $2 < 0 }
    END { exit bad || sum < 0.999999 || sum > 1.000001 }' rows || fail "rows or weights are not sound"
for key in accuracy_chosen accuracy_uniform accuracy_all; do
    awk -v a="$("$json_get" out $key)" 'BEGIN { exit !(a > 0.3 && a <= 1) }' || fail "$key"
done

# ---- the subset: the chosen rows as they are in the file, in its order
cut -d, -f1 rows | sort -n >chosen
awk 'NR == FNR { keep[$1]; next } FNR == 1 || (FNR - 2) in keep' chosen train.csv >expected
same subset.csv expected
total=0
for digit in 0 1 2 3 4 5 6 7 8 9; do
    count=$(tail -n +2 subset.csv | grep -c ",$digit\$")
    json "$count" chosen_of_class "$digit"
    total=$((total + count))
done
[ "$total" -eq 20 ] || fail "the classes do not add up"

# ---- the same answer in any number of threads; every method; shares; formats
# shellcheck disable=SC2086
run 0 coreset train.csv --size 20 $quick -o again.csv --quiet --threads 3
[ ! -s out ] || fail "$case_name: wrote to stdout"
same again.csv out.csv
"$bilevel" coreset --help | sed -n '/^Methods:/,$p' | tail -n +2 | awk '{ print $1 }' >methods
[ "$(wc -l <methods)" -eq 14 ] || fail "the help does not list fourteen methods"
while read -r method; do
    run 0 coreset train.csv --size 0.05 --method "$method" --iters 5 -o again.csv --quiet
    [ "$(wc -l <again.csv)" -eq 16 ] || fail "$method: not 15 rows"
done <methods
run 0 coreset train.csv --size 10 --method uniform --write-subset subset.npz
out_has "10 of 300 rows chosen by uniform"
run 0 data info subset.npz --json
json 10 rows
run 0 coreset train.csv --size 300 --method uniform -o again.csv --quiet
[ "$(tail -n +2 again.csv | cut -d, -f1 | sort -nu | wc -l)" -eq 300 ] || fail "not all rows"

# ---- refused: nothing is written
refused "--size K is needed" coreset train.csv
refused "no file is named" coreset --size 3
refused "one argument too many" coreset train.csv test.csv --size 3
refused "--size '0'" coreset train.csv --size 0
refused "--size '2.5'" coreset train.csv --size 2.5
refused "300 rows; expected at least the 301" coreset train.csv --size 301 -o new.csv
refused "no method 'random'; there are bcsr," coreset train.csv --size 3 --method random
refused "--test needs --compare" coreset train.csv --size 3 --test test.csv
refused "at character 8" coreset train.csv --size 3 --method uniform --compare --net mlp:in-x-out
refused "dense rows" coreset train.csv --size 3 --sparse
refused "by their classes" coreset train.csv --size 3 --real
refused "expected unit or none" coreset train.csv --size 3 --scaling rows
refused "nowhere" coreset train.csv --size 3 --method uniform -o nowhere/out.csv
refused "does not tell the format" coreset train.csv --size 3 --write-subset subset.xyz
refused "none.csv" coreset none.csv --size 3
printf '1,2,a\n3,4,a\n' >one.csv
refused "one class only ('a')" coreset one.csv --size 1
printf '1,2,0\n3,4,1\n' >narrow.csv
refused "3 columns are fewer" coreset train.csv --size 3 --compare \
    --test narrow.csv
[ ! -e new.csv ] || fail "a refused command left a file"

# ---- continual: the figures are those of the table of accuracies
run 0 continual train.csv --test test.csv --tasks 3 --memory 12 --methods uniform,herding,d-tfbo \
    --seeds 2 --steps 40 --iters 10 -o folder --json
err_empty
json 3 tasks
[ "$(wc -l <folder/results.csv)" -eq 7 ] || fail "not six runs"
[ "$(wc -l <folder/accuracies.csv)" -eq 37 ] || fail "not six times six accuracies"
awk -F, 'NR > 1 { key = $1 "," $3; if ($4 == 3) last[key, $5] = $6
        else if ($6 > best[key, $5]) best[key, $5] = $6; seen[key] }
    END { for (k in seen) { a = f = 0
            for (t = 1; t <= 3; t++) { a += last[k, t] / 3; if (t < 3) f += (best[k, t] - last[k, t]) / 2 }
            printf "%s,%.9f,%.9f\n", k, a, f } }' folder/accuracies.csv | sort >expected
awk -F, 'NR > 1 { printf "%s,%s,%.9f,%.9f\n", $1, $3, $4, $5 }' folder/results.csv | sort >found
same found expected
cp folder/accuracies.csv accuracies
run 0 continual train.csv --test test.csv --tasks 3 --memory 12 --methods uniform,herding,d-tfbo \
    --seeds 2 --steps 40 --iters 10 -o folder --quiet --threads 3
same folder/accuracies.csv accuracies

# ---- sensitivity: five initial values of each bilevel method
run 0 continual train.csv --tasks 2 --memory 6 --methods s-tfbo,uniform --seeds 1 --steps 5 \
    --iters 2 --sensitivity --imbalanced --task-known
out_has "Relative change of A_T"
[ "$(grep -c '^  s-tfbo ' out)" -eq 6 ] || fail "not five rows and a change"
awk '$1 == "s-tfbo" && NF > 2 { if ($2 == 5) usual = $3; else sum += $3 }
    $1 == "s-tfbo" && NF == 2 { change = $2 + 0 }
    END { want = 100 * (sum / 4 - usual) / usual; want = want < 0 ? -want : want
          exit !(change - want < 0.02 && want - change < 0.02) }' out || fail "another change"
[ "$(grep -c '^  uniform ' out)" -eq 1 ] || fail "not one row"

refused "10 classes; expected at least one for each of 11 tasks" continual train.csv --tasks 11
refused "--memory 3" continual train.csv --memory 3
awk 'BEGIN { print "a,b,label"; for (i = 0; i < 10; i++) print i "," i * i ",c" i }' >single.csv
refused "task 1, classes 'c0' to 'c4', has no row to test on" continual single.csv --tasks 2 \
    --memory 4 --methods uniform --seeds 1 --steps 1
head -n 3 train.csv >few.csv
refused "has no row to test on" continual train.csv --test few.csv --tasks 5 --methods uniform
for net in mlp:in--1-out mlp:in-0-out nonsense; do
    refused "network '$net'" coreset train.csv --size 4 --method uniform --net "$net" -o never.csv
done
refused "--tasks '1'" continual train.csv --tasks 1
refused "no method 'x'" continual train.csv --methods uniform,x
refused "one of the two" continual train.csv --sensitivity --initial 3
refused "train.csv" continual train.csv -o train.csv

finish

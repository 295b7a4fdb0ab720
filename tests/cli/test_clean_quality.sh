# bilevel clean on the handwritten digits with 40% of 1000 labels wrong, defaults throughout: means
# over five seeds of split and corruption. Test rows are not looked at before the end.
digits=$(cd "$(dirname "$0")/../../data" && pwd)/digits.csv.gz
. "$(dirname "$0")/lib.sh"

# mean KEY...: over the five results
mean() {
    for seed in 0 1 2 3 4; do
        "$json_get" "result.$seed" "$@" || fail "no JSON value at $*"
    done | awk '{ sum += $1 } END { printf "%.6f", sum / NR }'
}

# at_least BOUND VALUE WHAT
at_least() {
    echo "$kind: $3: $2, expected at least $1"
    awk -v a="$2" -v b="$1" 'BEGIN { exit !(a >= b) }' || fail "$kind: $3"
}

for kind in uniform pairwise; do
    for seed in 0 1 2 3 4; do
        run 0 data split "$digits" train.csv val.csv test.csv --sizes 1000,300,497 --seed $seed
        run 0 data corrupt train.csv noisy.csv --share 0.4 --kind $kind --seed $seed \
            --truth truth.csv
        run 0 clean noisy.csv --val val.csv --test test.csv --truth truth.csv --seed $seed --threads 1 --json
        cp out "result.$seed"
    done
    at_least 0.985 "$(mean truth auroc_probability)" "AUROC"
    at_least 0.93 "$(mean truth recall)" "share of the wrong labels that is found"
    at_least 0.9 "$(mean truth precision)" "share of the suspects that is wrong"
    given=$(mean models given test_accuracy)
    if [ $kind = uniform ]; then
        bound=$(awk -v a="$given" 'BEGIN { print a + 0.03 }')
    else
        bound=0.93
    fi
    for model in weighted cleaned cleaned_and_val; do
        at_least "$bound" "$(mean models $model test_accuracy)" "test accuracy of $model"
    done
    at_least "$(mean models val_alone test_accuracy)" \
        "$(mean models cleaned_and_val test_accuracy)" "more than the validation rows alone give"
done

# Without wrong labels there is hardly anything to suspect.
kind=none
for seed in 0 1 2 3 4; do
    run 0 data split "$digits" train.csv val.csv --sizes 1000,300 --seed $seed
    run 0 clean train.csv --val val.csv --seed $seed --threads 1 --json
    cp out "result.$seed"
done
at_least "$(mean suspects)" 10 "suspects among right labels"

finish

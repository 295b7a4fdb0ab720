# bilevel clean on the handwritten digits with 40% of 1000 labels wrong, defaults throughout: means
# over three seeds of split and corruption. Test rows are not looked at before the end.
digits=$(cd "$(dirname "$0")/../../data" && pwd)/digits.csv.gz
. "$(dirname "$0")/lib.sh"

# mean KEY...: over the three results
mean() {
    mean_of result "$@"
}

# mean_of FILE KEY...: over FILE.0 to FILE.2
mean_of() {
    file=$1
    shift
    for seed in 0 1 2; do
        "$json_get" "$file.$seed" "$@" || fail "no JSON value at $*"
    done | awk '{ sum += $1 } END { printf "%.6f", sum / NR }'
}

# at_least BOUND VALUE WHAT
at_least() {
    echo "$kind: $3: $2, expected at least $1"
    awk -v a="$2" -v b="$1" 'BEGIN { exit !(a >= b) }' || fail "$kind: $3"
}

for kind in uniform pairwise; do
    for seed in 0 1 2; do
        run 0 data split "$digits" train.csv val.csv test.csv --sizes 1000,300,497 --seed $seed
        run 0 data corrupt train.csv noisy.csv --share 0.4 --kind $kind --seed $seed \
            --truth truth.csv
        run 0 clean noisy.csv --val val.csv --test test.csv --truth truth.csv --seed $seed --no-certificate --threads 1 --json
        cp out "result.$seed"
        # The truly clean part: the rows whose label is the true one
        awk -F, 'NR == FNR { right[FNR] = $2 == $3; next } FNR == 1 || right[FNR]' truth.csv noisy.csv \
            >right.csv
        [ "$(wc -l <right.csv)" -eq 601 ] || fail "not 600 rows are right"
        run 0 clean right.csv --val val.csv --test test.csv --folds 2 --model linear --no-certificate --threads 1 \
            --ridge "$("$json_get" "result.$seed" ridge)" --json
        cp out "right.$seed"
    done
    echo "$kind: test accuracy when trained on"
    echo "  the labels as given          $(mean models given test_accuracy)"
    echo "  the validation rows alone    $(mean models val_alone test_accuracy)"
    echo "  the truly clean part         $(mean_of right models given test_accuracy)"
    echo "  the noise model              $(mean models noise test_accuracy)"
    echo "  the rows that are kept       $(mean models cleaned test_accuracy)"
    echo "  these and the validation rows  $(mean models cleaned_and_val test_accuracy)"
    at_least "$(mean models given test_accuracy)" "$(mean_of right models given test_accuracy)" \
        "right labels alone beat all labels"
    at_least 0.985 "$(mean truth auroc_probability)" "AUROC"
    at_least 0.93 "$(mean truth recall)" "share of the wrong labels that is found"
    at_least 0.9 "$(mean truth precision)" "share of the suspects that is wrong"
    bound=$(awk -v a="$(mean models given test_accuracy)" -v kind=$kind \
        'BEGIN { a += 0.03; print kind == "pairwise" && a < 0.93 ? 0.93 : a }')
    for model in noise cleaned cleaned_and_val; do
        at_least "$bound" "$(mean models $model test_accuracy)" "test accuracy of $model"
    done
    at_least "$(mean models val_alone test_accuracy)" \
        "$(mean models cleaned_and_val test_accuracy)" "more than the validation rows alone give"
done

# Many labels that are wrong by a rule are found without trusted rows: models that have learned them
# learn again.
kind="pairwise, no trusted rows"
for seed in 0 1 2; do
    run 0 data split "$digits" train.csv val.csv --sizes 1000,300 --seed $seed
    run 0 data corrupt train.csv noisy.csv --share 0.4 --kind pairwise --seed $seed --truth truth.csv
    run 0 clean noisy.csv --truth truth.csv --seed $seed --no-certificate --threads 1 --json
    cp out "result.$seed"
done
at_least 0.98 "$(mean truth auroc_probability)" "AUROC"
at_least 0.9 "$(mean truth recall)" "share of the wrong labels that is found"
at_least 0.9 "$(mean truth precision)" "share of the suspects that is wrong"

# Without wrong labels there is hardly anything to suspect.
kind=none
for seed in 0 1 2; do
    run 0 data split "$digits" train.csv val.csv --sizes 1000,300 --seed $seed
    run 0 clean train.csv --val val.csv --seed $seed --no-certificate --threads 1 --json
    cp out "result.$seed"
done
at_least "$(mean suspects)" 10 "suspects among right labels"

finish

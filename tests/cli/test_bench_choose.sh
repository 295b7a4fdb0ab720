# bilevel bench with suites that choose rows (coreset, continual), and what suites with networks need
# besides: baselines, seeds of the problem, levels and bounds.
. "$(dirname "$0")/lib.sh"
digits=$(dirname "$0")/../../data/digits.csv.gz
run 0 data split "$digits" train.csv test.csv --sizes 240,200 --seed 5
run 0 data split "$digits" ignored.csv other.csv --sizes 240,150 --seed 6
export BILEVEL_DATA="$directory"

lines() {
    wc -l <"$1/points.jsonl" | tr -d ' '
}
# value FILE ENTRY SEED KEY: the last number under the key of one run
value() {
    grep "\"entry\":\"$2\"" "$1/points.jsonl" | grep '"kind":"run"' | grep "\"seed\":$3," |
        sed "s/.*\"$4\":\([^,}]*\).*/\1/"
}
same_number() {
    [ -n "$1" ] && [ -n "$2" ] &&
        [ "$(awk -v a="$1" 'BEGIN {printf "%.12g", a}')" = "$(awk -v a="$2" 'BEGIN {printf "%.12g", a}')" ] ||
        fail "$3: $1 and by hand $2"
}

# ---- coreset
cat >few.json <<'JSON'
{
  "name": "few",
  "title": "Few rows",
  "reproduces": {"paper": "none", "figure": "none", "claim": "none"},
  "command": "coreset",
  "problem_set": {"size": 12, "steps": 30, "net": "mlp:in-6-out"},
  "data": {"train": "train.csv", "test": "test.csv"},
  "precision": "f32",
  "run_set": {"candidates": 60, "iters": 8},
  "seeds": 2,
  "metric": "test_accuracy",
  "show": ["weighted_accuracy", "linear_accuracy"],
  "tuning": {"choose": "val_accuracy"},
  "solvers": [
    {"solver": "bcsr", "untuned": true, "grid": {"initial": [1, 20], "ridge": [0.001, 0.1]}},
    {"solver": "uniform", "untuned": true}
  ],
  "claims": [{"text": "bcsr first", "who": ["bcsr"], "of": ["uniform"], "by": "end"}]
}
JSON
changed() {
    sed "$1" few.json >changed.json
    if cmp -s few.json changed.json; then fail "changed $1: nothing changed"; fi
}
few_refused() {
    changed "$2"
    refused "changed.json: $1" bench ./changed.json -o refused
    [ ! -e refused ] || fail "$case_name: a folder was made"
}
few_refused "command is 'corest': expected coreset or continual" 's/"command": "coreset"/"command": "corest"/'
few_refused "expected a problem or a command, found both" 's/"command"/"problem": "quadratic", "command"/'
few_refused "'problem' is missing" '/"command"/d'
few_refused "'limit': the command coreset has none" 's/"seeds": 2/"limit": {"seconds": 1}, "seeds": 2/'
few_refused "solvers: no method 'soba'" 's/"solver": "uniform"/"solver": "soba"/'
few_refused "problem_set has no parameter 'sizes'; did you mean 'size'?" 's/"size": 12/"sizes": 12/'
few_refused "problem_set has no parameter 'memory'" 's/"size": 12/"size": 12, "memory": 3/'
few_refused "problem_set: size = '0' is not allowed: expected a whole number from 1" 's/"size": 12/"size": 0/'
few_refused "problem_set: 'size' is missing" 's/"size": 12, //'
few_refused "bcsr/untuned has no parameter 'steps'" 's/"iters": 8/"steps": 8/'
few_refused "bcsr/tuned: initial = '-1' is not allowed: expected a number > 0" 's/\[1, 20\]/[1, -1]/'
few_refused "metric is 'phi': expected test_accuracy" '/"metric"/d'
few_refused "show is 'forgetting': expected" 's/"weighted_accuracy"/"forgetting"/'
few_refused "tuning.choose is 'test_accuracy': expected f or a measure of validation rows" \
    's/"val_accuracy"/"test_accuracy"/'
few_refused "tuning.choose is 'f': expected val_accuracy" 's/"val_accuracy"/"f"/'
few_refused "solvers: uniform: baseline: the command coreset has none" \
    's/"uniform", "untuned": true/"uniform", "baseline": {"name": "x"}/'
few_refused "data: 'train' is missing" 's/"train": "train.csv", //'
few_refused "claims[0]: expected one of 'of' and 'bounds'" 's/"of": \["uniform"\], //'
few_refused "claims[0].bounds: there is no variant 'none'" 's/"of": \["uniform"\]/"bounds": {"none": 1}/'
few_refused "claims[0].bounds.: expected a number above 0" 's/"of": \["uniform"\]/"bounds": {"": "x"}/'
changed 's/test.csv/nowhere.csv/'
refused "suite few needs the file nowhere.csv" bench ./changed.json -o refused
refused "suite few runs coreset, which has no limit" bench ./few.json -o refused --seconds 1
refused "no method 'soba'" bench ./few.json -o refused --solvers soba
[ ! -e refused ] || fail "a folder was made"
changed 's/"size": 12/"size": 100000/'
run 2 bench ./changed.json -o large --no-plots
err_has "count: expected from 1 to the number of rows"

# 1 untuned setting and 4 others, 3 entries with 2 seeds each
run 0 bench ./few.json -o few
out_has "one choice for each run, 2 seeds"
out_has "val_accuracy of 5 settings, on training rows that were held out"
[ "$(lines few)" -eq 11 ] || fail "$case_name: $(lines few) runs, expected 11"
grep '"kind":"tuning"' few/points.jsonl | grep -q test_accuracy && fail "tuning looked at test rows"
cp few/points.jsonl before
run 0 bench ./few.json -o few --no-plots
same few/points.jsonl before

# The same by hand
for seed in 0 1; do
    run 0 coreset train.csv --test test.csv --size 12 --steps 30 --net mlp:in-6-out --method bcsr \
        --candidates 60 --iters 8 --seed $seed --threads 1 --compare --json
    same_number "$(value few bcsr/untuned $seed weighted_accuracy)" \
        "$("$json_get" out accuracy_chosen)" "bcsr, seed $seed"
    same_number "$(value few uniform/untuned $seed test_accuracy)" \
        "$("$json_get" out accuracy_uniform)" "uniform, seed $seed"
done

# A grid without a word about tuning: held-out rows choose all the same
changed 's/"tuning": {"choose": "val_accuracy"},//'
run 0 bench ./changed.json -o few --no-plots
same few/points.jsonl before

# Other test rows: the same settings are chosen by the same values
changed 's/test.csv/other.csv/'
run 0 bench ./changed.json -o other --no-plots --markdown
out_has "| method | test_accuracy |"
tuning() {
    grep '"kind":"tuning"' "$1/points.jsonl" |
        sed 's/"key":[^,]*,//;s/"seconds":[^,]*,//;s/,"processor_share":[^,}]*//' | sort
}
tuning few >first
tuning other >second
same first second
[ -s first ] || fail "nothing was tuned"

# Without a file to test on a fifth of the rows is; other methods by name
changed 's/, "test": "test.csv"//'
run 0 bench ./changed.json -o fifth --no-plots --seeds 1 --solvers herding,uniform
out_has "herding/untuned"
grep -q bcsr fifth/points.jsonl && fail "$case_name: bcsr ran"

# ---- continual
cat >stream.json <<'JSON'
{
  "name": "stream", "title": "A stream",
  "reproduces": {"paper": "none", "figure": "none", "claim": "none"},
  "command": "continual",
  "problem_set": {"tasks": 3, "memory": 9, "steps": 20, "net": "mlp:in-6-out"},
  "data": {"train": "train.csv", "test": "test.csv"},
  "precision": "f32",
  "variants": [
    {"name": "all", "problem_set": {"imbalanced": "off"}},
    {"name": "some", "problem_set": {"imbalanced": "on", "task_known": "on"}}
  ],
  "run_set": {"candidates": 40},
  "seeds": 2,
  "metric": "average_accuracy",
  "show": ["forgetting"],
  "solvers": [
    {"solver": "s-tfbo", "set": {"iters": 6}, "sweep": {"keys": ["initial"], "values": [2, 8]}},
    {"solver": "uniform", "untuned": true}
  ],
  "claims": [
    {"text": "uniform first", "who": ["uniform"], "of": ["s-tfbo"], "by": "end"},
    {"text": "it changes little", "who": ["s-tfbo"], "by": "spread", "bounds": {"all": 1.5}}
  ]
}
JSON
run 0 bench ./stream.json -o stream
out_has "all tasks for each run, 2 seeds"
[ "$(lines stream)" -eq 12 ] || fail "$case_name: $(lines stream) runs, expected 12"
[ "$(grep -c "the bound is 1.5" out)" -eq 1 ] || fail "$case_name: a bound for one variant"
if command -v gnuplot >/dev/null; then
    [ "$(grep -c '<svg' stream/index.html)" -eq 2 ] || fail "$case_name: expected 2 plots"
fi
awk -F, '$3 == "uniform/untuned" && $1 == "all" && $6 == 0' stream/points.csv >tasks
[ "$(wc -l <tasks)" -eq 3 ] || fail "$case_name: a point for each task"
run 0 continual train.csv --test test.csv --tasks 3 --memory 9 --steps 20 --net mlp:in-6-out \
    --candidates 40 --iters 6 --initial 8 --methods s-tfbo --seeds 2 --threads 1 --imbalanced \
    --task-known -o hand
grep '"variant":"some"' stream/points.jsonl >some.jsonl
mkdir some && mv some.jsonl some/points.jsonl
for seed in 0 1; do
    awk -F, -v s=$seed 'NR > 1 && $3 == s {print $4, $5}' hand/results.csv >ends
    read -r average forgetting <ends
    same_number "$(value some s-tfbo/initial=8 $seed average_accuracy | tail -1)" "$average" "A_T, seed $seed"
    same_number "$(value some s-tfbo/initial=8 $seed forgetting | tail -1)" "$forgetting" "FGT_T, seed $seed"
done
sed 's/"tasks": 3/"tasks": 11/' stream.json >changed.json
run 2 bench ./changed.json -o refused --no-plots
err_has "10 classes; expected at least one for each of 11 tasks"

# ---- Baselines, seeds of the problem, levels and bounds
cat >clean.json <<'JSON'
{
  "name": "clean", "title": "Cleaning",
  "reproduces": {"paper": "none", "figure": "none", "claim": "none"},
  "problem": "hyperclean-nn",
  "problem_set": {"train_size": 100, "val_size": 60, "net": "mlp:in-5-out", "scaling": "unit"},
  "data": {"train": "train.csv", "test": "test.csv"},
  "seeded": ["data_seed", "net_seed"],
  "variants": [
    {"name": "p = 0.1", "problem_set": {"corrupt": 0.1}},
    {"name": "p = 0.4", "problem_set": {"corrupt": 0.4}}
  ],
  "run_set": {"batch": 20},
  "limit": {"iterations": 30}, "seeds": 2, "points": 6, "certify": "never",
  "metric": "test_accuracy",
  "level": 0.15,
  "solvers": [
    {"solver": "s-tfbo", "untuned": true,
     "baseline": {"name": "clean rows", "problem_set": {"trained_on": "val", "corrupt": 0}}}
  ],
  "claims": [
    {"text": "good", "who": ["s-tfbo/untuned"], "by": "end", "bounds": {"p = 0.1": 0.05, "p = 0.4": 1.0}},
    {"text": "fast", "who": ["s-tfbo/untuned"], "by": "calls", "bounds": {"p = 0.1": 1e9}},
    {"text": "better", "who": ["s-tfbo/untuned"], "of": ["s-tfbo/clean rows"], "by": "end"}
  ]
}
JSON
run 0 bench ./clean.json -o clean --no-plots --no-store
# The baseline is the same for both variants, and made once
[ "$(lines clean)" -eq 6 ] || fail "$case_name: $(lines clean) runs, expected 6"
out_has "The level is test_accuracy = 0.15, as the suite says."
out_has "p = 0.1: holds: s-tfbo/untuned ended at"
out_has "p = 0.4: does not hold: s-tfbo/untuned ended at"
out_has "the bound is 1e+09"
for corrupt in 0.1 0.4; do
    run 0 solve hyperclean-nn --problem-set train=train.csv --problem-set test=test.csv \
        --problem-set train_size=100 --problem-set val_size=60 --problem-set net=mlp:in-5-out \
        --problem-set scaling=unit --problem-set corrupt=$corrupt --problem-set data_seed=1 \
        --problem-set net_seed=1 --solver s-tfbo --batch 20 --iters 30 --seed 1 --threads 1 --json \
        --no-store
    hand=$("$json_get" out measures test_loss)
    grep "\"variant\":\"p = $corrupt\"" clean/points.jsonl >one.jsonl
    mkdir -p one && mv one.jsonl one/points.jsonl
    same_number "$(value one s-tfbo/untuned 1 test_loss)" "$hand" "seeds of the problem"
done
sed 's/"data_seed"/"data_sed"/' clean.json >changed.json
refused "data_sed" bench ./changed.json -o refused
sed 's/"trained_on"/"traned_on"/' clean.json >changed.json
refused "did you mean 'trained_on'" bench ./changed.json -o refused
echo '{"s-tfbo": {"alpha0": [1, 2]}}' >grid.json
refused "tuning.choose is 'test_accuracy': expected f or a measure of validation rows" \
    bench ./clean.json -o refused --grid grid.json
sed 's/"level": 0.15/"level": "high"/' clean.json >changed.json
refused "changed.json: level: expected a number above 0" bench ./changed.json -o refused
finish

# bilevel bench --from: what is made of points that are known. Every verdict, amount and row below
# follows from a few numbers that are written here.
. "$(dirname "$0")/lib.sh"

# facts SUITE SEEDS KEYS COLUMN...: the first line of stored points
facts() {
    suite=$1 seeds=$2 keys=$3
    shift 3
    columns=$(printf '"%s",' iteration seconds calls "$@")
    printf '{"suite":"%s","command":"c","version":"0.1.0","machine":"m","threads":1,"quick":false,"seeds":%s,%s"columns":[%s]}\n' \
        "$suite" "$seeds" "$keys" "${columns%,}"
}
# stored VARIANT ENTRY SEED ROWS [MORE]
stored() {
    printf '{"kind":"run","variant":"%s","entry":"%s","seed":%s,"failed":%s,%s"rows":[%s]}\n' \
        "$1" "$2" "$3" "${6:-false}" "${5:-}" "$4"
}
# suite NAME KEYS CLAIMS SOLVERS
suite() {
    printf '{"name": "%s", "title": "Known points", "reproduces": {"paper": "p", "figure": "f", "claim": "c"},\n %s,' "$1" "$2"
    [ -z "$3" ] || printf ' "claims": [%s],' "$3"
    printf '\n "solvers": [%s]}\n' "$4"
}
judge() { # NAME OPTION...: its text in out
    name=$1
    shift
    run 0 bench "./$name.json" --from "$name.jsonl" -o "$name" --no-store "$@"
}
claim() { # TEXT LINE: what the text says below a claim
    awk -v text="Claim: $1" '$0 == text { on = 1; next } /^Claim: / { on = 0 } on' out >said
    grep -qF -e "$2" said || {
        fail "$case_name: '$1' does not say '$2'"
        cat said
    }
}

# ---- Of a number that is the less the better
suite ends '"problem": "quadratic", "metric": "f", "limit": {"calls": 100}, "seeds": 1, "show": ["grad_norm", "val_accuracy"],
 "variants": [{"name": "easy"}, {"name": "hard"}]' '
 {"text": "alike", "who": ["soba"], "of": ["saba"], "by": "end"},
 {"text": "by a factor", "who": ["soba"], "of": ["saba"], "by": "end", "factor": 0.5},
 {"text": "below zero", "who": ["aid-cg/inner=1"], "of": ["soba"], "by": "end"},
 {"text": "bounds", "who": ["soba/untuned"], "by": "end", "bounds": {"easy": 2}},
 {"text": "too much", "who": ["soba", "aid-cg/inner=3"], "by": "end", "bounds": {"easy": 0.5, "hard": 0.5}},
 {"text": "first in calls", "who": ["saba"], "of": ["soba"], "by": "calls", "level": 1.5},
 {"text": "first in seconds", "who": ["saba"], "of": ["soba"], "by": "seconds", "level": 1.5, "paper": "Q"},
 {"text": "never", "who": ["aid-cg/inner=3"], "of": ["saba"], "by": "calls", "level": 1.5},
 {"text": "the others never", "who": ["saba"], "of": ["aid-cg/inner=3"], "by": "calls", "level": 1.5, "paper": "P"},
 {"text": "neither", "who": ["saba"], "of": ["soba"], "by": "calls", "level": 0.2},
 {"text": "at the start", "who": ["saba"], "of": ["soba"], "by": "calls", "level": 50},
 {"text": "spread", "who": ["aid-cg"], "of": ["aid-fp"], "by": "spread"},
 {"text": "change", "who": ["aid-fp"], "of": ["aid-cg"], "by": "change"},
 {"text": "no sweep", "who": ["soba"], "of": ["aid-fp"], "by": "spread"},
 {"text": "absent", "who": ["vrbo"], "of": ["*"], "by": "end"},
 {"text": "nobody is named", "who": ["*/gone"], "of": ["soba"], "by": "end"},
 {"text": "nothing usual", "who": ["ttsa"], "of": ["aid-fp"], "by": "change"},
 {"text": "first to little", "who": ["soba"], "of": ["saba"], "by": "calls", "metric": "grad_norm", "level": 2.5},
 {"text": "of nobody", "who": ["soba"], "of": ["soba"], "by": "end"},
 {"text": "tuned ones", "who": ["*/published"], "of": ["*/untuned"], "by": "end"},
 {"text": "accuracy", "who": ["soba"], "of": ["saba"], "by": "end", "metric": "val_accuracy", "paper": "P"}' '
 {"solver": "soba", "untuned": true, "published": {"step_x": 0.1}}, {"solver": "saba", "untuned": true},
 {"solver": "vrbo", "untuned": true},
 {"solver": "aid-cg", "untuned": true, "sweep": {"keys": ["inner"], "values": [1, 2, 3]}},
 {"solver": "aid-fp", "untuned": true, "sweep": {"keys": ["inner"], "values": [1, 2, 9]}},
 {"solver": "ttsa", "sweep": {"keys": ["step_x"], "values": [1]}}' >ends.json
{
    facts ends 1 '"limit":"calls","amount":100,"least":[],' f grad_norm val_accuracy
    # from 10 to its end in 100 calls and 2 s; halfway soba is at 2
    for variant in easy hard; do
        stored $variant soba/untuned 0 '[0,0,0,10,9,0.5],[20,1,50,2,3,0.6],[40,2,100,1,1,0.75]'
        stored $variant soba/published 0 '[0,0,0,10,9,0.5],[20,1,60,4,3,0.6],[40,2,100,3,1,0.7]'
        stored $variant saba/untuned 0 '[0,0,0,10,9,0.5],[5,0.5,50,1.25,3,0.5],[9,1,100,1.0005,2,0.5]'
        stored $variant aid-cg/untuned 0 '[0,0,0,10,9,0.5],[40,2,100,2,1,0.5]'
        stored $variant aid-cg/inner=1 0 '[0,0,0,10,9,0.5],[40,2,100,-1,1,0.5]'
        stored $variant aid-cg/inner=2 0 '[0,0,0,10,9,0.5],[40,2,100,3,1,0.5]'
        stored $variant aid-cg/inner=3 0 '[0,0,0,10,9,0.5],[40,2,100,null,1,0.5]' '' true
        stored $variant aid-fp/untuned 0 '[0,0,0,10,9,0.5],[40,2,100,4,1,0.5]'
        stored $variant aid-fp/inner=1 0 '[0,0,0,10,9,0.5],[40,2,100,5,1,0.5]'
        stored $variant aid-fp/inner=2 0 '[0,0,0,10,9,0.5],[40,2,100,7,1,0.5]'
        stored $variant aid-fp/inner=9 0 '' '"refused":"it is too many",'
        stored $variant ttsa/step_x=1 0 '[0,0,0,10,9,0.5],[40,2,100,7,1,0.5]'
        stored $variant vrbo/untuned 0 '' '"refused":"no gradients",'
    done
    stored gone soba/untuned 0 '[0,0,0,10,9,0.5]'
    stored easy soba/gone 0 '[0,0,0,10,9,0.5]'
} >ends.jsonl
judge ends
if command -v gnuplot >/dev/null; then # for each variant one for no paper, for P and for Q
    [ "$(grep -c '<svg' ends/index.html)" -eq 6 ] || fail "index.html: not 6 figures"
    grep -q 'aid-cg (1 of 3 diverged)' ends/index.html || fail "index.html: no bar of the sweep"
fi
out_has "vrbo/untuned did not run: no gradients"
claim alike "soba ended at 1, and saba is within 0.1 % of that"
claim "by a factor" "soba ended at 1; of the others saba ended at 1.0005 (alike)"
claim "below zero" "aid-cg/inner=1 ended at -1; of the others soba ended at 1 (-1 against 1)"
claim bounds "easy: holds: soba/untuned ended at 1; the bound is 2 (2 times lower)"
if grep -q hard: said; then fail "a variant without a bound is judged"; fi
claim "too much" "hard: does not hold: aid-cg/inner=3 failed; the bound is 0.5 (failed)"
claim "first in calls" "saba reached 1.5 after 50 calls; of the others soba reached 1.5 after 100 calls (2 times fewer calls)"
claim "first in seconds" "saba reached 1.5 after 0.5 s; of the others soba reached 1.5 after 2 s (4 times faster)"
claim never "aid-cg/inner=3 did not reach 1.5; of the others saba reached 1.5 after 50 calls (never)"
claim "the others never" "of the others aid-cg/inner=3 did not reach 1.5 (others never)"
claim neither "saba did not reach 0.2; of the others soba did not reach 0.2 (neither)"
claim "at the start" "half of those compared did not leave the start, 50"
claim spread "aid-cg failed for a value of the sweep; of the others aid-fp changed by 2 over the sweep (failed)"
claim change "aid-fp changed by 50.00 % to the mean of the sweep; of the others aid-cg failed for a value of the sweep"
claim "no sweep" "soba did not run"
claim absent "vrbo did not run"
claim "nobody is named" "what it is compared with did not run"
claim "nothing usual" "ttsa did not run"
claim "first to little" "soba reached 2.5 after 100 calls, and saba is within 0.1 % of that"
claim "of nobody" "what it is compared with did not run"
claim "tuned ones" "soba/published ended at 3; of the others soba/untuned ended at 1 (3 times higher)"
claim accuracy "soba ended at 0.75; of the others saba ended at 0.5 (+25.00 points)"
out_has "The limit is short for rows of fewer than ten iterations: saba/untuned (9)"
grep -q '| \[`c`\](#ends) | alike | \*\*cannot be told\*\* | alike | - | 1 |' ends/verdicts.md ||
    fail "verdicts.md: no row of the first claim"
grep -q '^P	| .* | accuracy | .* | +25.00 points | ' ends/verdicts.md || fail "verdicts.md: no row of a paper"
[ "$(grep -c '^' ends/regret.csv)" -eq 1 ] || fail "regret.csv has times to a Phi that nobody knows"
[ "$(grep -c '"kind":"run"' ends/stored.jsonl)" -eq 26 ] || fail "runs that the suite does not have are kept"

# A paper: its claims alone, and the rows that these compare
judge ends --no-plots --paper P
[ "$(grep -c '^Claim:' out)" -eq 2 ] || fail "$case_name: not the claims of the paper"
if grep -q '^aid-fp' out; then fail "$case_name: rows of another paper"; fi
run 0 bench ./ends.json --from ends.jsonl -o ends --no-store --no-plots --markdown --paper Q
out_has '**first in seconds**'

# The same numbers, where more is better: seeds, points on a scale of accuracy, failed runs
suite more '"command": "coreset", "data": {"train": "none.csv"}, "metric": "val_accuracy", "seeds": 6, "show": ["test_accuracy"]' '
 {"text": "more", "who": ["uniform"], "of": ["bcsr"], "by": "end"},
 {"text": "a bound", "who": ["uniform"], "by": "end", "bounds": {"": 0.7}},
 {"text": "alone", "who": ["probabilistic"], "of": ["uniform"], "by": "end"}' '
 {"solver": "uniform", "untuned": true}, {"solver": "bcsr", "untuned": true}, {"solver": "probabilistic", "untuned": true}' >more.json
{
    facts more 6 '"least":[],' val_accuracy test_accuracy
    for seed in 0 1 2 3 4 5; do
        stored "" uniform/untuned $seed "[0,1,1,0.8,0.$seed]"
        stored "" bcsr/untuned $seed "[0,3,1,0.6,0.7]"
        stored "" probabilistic/untuned $seed "[0,3,1,0.9,0.7]" '' true
    done
} >more.jsonl
judge more
claim more "holds: uniform ended at 0.8; of the others bcsr ended at 0.6 (+20.00 points); 5 of 5 groups of seeds say so"
claim "a bound" "holds: uniform ended at 0.8; the bound is 0.7 (+10.00 points)"
claim alone "does not hold: probabilistic failed; of the others uniform ended at 0.8 (failed)"
awk '$1 ~ /^[a-z]+\/untuned$/ { print $1 }' out | head -n 3 | tr '\n' ' ' >order
[ "$(cat order)" = "uniform/untuned bcsr/untuned probabilistic/untuned " ] || fail "the best accuracy is not first"
out_has "one choice for each run, 6 seeds, 1 thread, bilevel 0.1.0; m"

# ---- Phi, its regret and what half of the limit says
suite gaps '"problem": "quadratic", "limit": {"seconds": 10}, "seeds": 2, "reference": {"iterations": 5}' '
 {"text": "one is first", "who": ["soba"], "of": ["saba"], "by": "seconds", "level": 1, "paper": "P"},
 {"text": "ends lower", "who": ["saba"], "of": ["soba"], "by": "end"}' '
 {"solver": "soba", "untuned": true}, {"solver": "saba", "untuned": true}, {"solver": "vrbo", "untuned": true}' >gaps.json
{
    facts gaps 2 '"limit":"seconds","amount":10,"least":[{"variant":"","phi":3,"from":"saba/untuned"}],' phi
    for seed in 0 1; do
        stored "" soba/untuned $seed '[0,0,0,100],[50,5,50,1],[90,10,100,0.5]' '"processor_share":0.5,'
        stored "" saba/untuned $seed '[0,0,0,100],[50,5,50,10],[90,10,100,0]' '"processor_share":0.5,'
        stored "" vrbo/untuned $seed '[0,0,0,100],[50,5,50,null],[90,10,100,100]'
    done
} >gaps.jsonl
judge gaps
out_has "Phi* = 3, the least certified Phi of all points: saba/untuned (exact had 5 iterations)."
out_has "other programs were at work: the runs had 50 % of a processor"
out_has "From half of the limit to all of it 1 of 2 verdicts changes, and cannot be told."
out_has "Left of the first gap of Phi in the end: 0 % (saba/untuned)."
claim "one is first" "other programs disturbed the clock"
claim "ends lower" "cannot be told: saba ended at 0; of the others soba ended at 0.5 (0 against 0.5); the opposite at half the limit"
# the gap falls at a constant rate: from 100 to 10 in 5 s is to 10 in 5 s, from 100 to 1 to 10 in 2.5 s
awk '/^soba\/untuned/ && $2 == 2.5 && $3 == "1.00" { soba = 1 } /^saba\/untuned/ && $2 == 5 && $3 == "2.00" { saba = 1 }
    /^vrbo\/untuned/ && $2 == "never" { vrbo = 1 } END { exit !(soba && saba && !vrbo) }' out || fail "$case_name: another regret"
awk -F, '$3 == "saba/untuned" && $4 == 0.1 && $5 == 5 && $6 == 2 { ok = 1 } END { exit !ok }' gaps/regret.csv ||
    fail "regret.csv: another regret"

# ---- What suites may leave out: claims, columns that are asked for, a level of the suite
suite bare '"problem": "quadratic", "metric": "test_accuracy", "level": 0.6, "limit": {"iterations": 10}, "seeds": 2,
 "show": ["grad_norm", "a", "b", "c", "d", "e", "f", "last", "too many"]' '' '{"solver": "soba", "untuned": true},
 {"solver": "saba", "untuned": true}, {"solver": "vrbo", "grid": {"step_x": [1]}}' >bare.json
{
    facts bare 2 '"limit":"iterations","amount":10,"least":[],' grad_norm
    stored "" soba/untuned 0 '[0,0,0,1],[10,1,10,0.5]'
    stored "" soba/untuned 1 ''
    stored "" saba/untuned 0 '[0,0,0,1],[10,1,10,0.25]'
} >bare.jsonl
judge bare
awk '$1 == "saba/untuned" { ok = $2 == "failed" && /0.2500 / } END { exit !ok }' out || fail "$case_name: no row of saba"
grep -q 'The suite states no claim' bare/index.html || fail "index.html: no word of no claim"
[ "$(wc -l <bare/verdicts.md)" -eq 0 ] || fail "verdicts.md has a row"
sed 's/"metric": "test_accuracy"/"metric": "grad_norm"/;s/"grad_norm"\]/"test_accuracy"]/' bare.json >other.json
sed 's/"grad_norm"/"grad_norm"/' bare.jsonl >other.jsonl
judge other
out_has "The level is grad_norm = 0.6, as the suite says."
awk '$1 == "saba/untuned" { ok = $2 == 0.25 && $3 == "-" && $4 == 1 && $5 == 10 } END { exit !ok }' out ||
    fail "$case_name: saba did not reach the level after 10 calls"

# ---- Stored points that are damaged
damaged() { # WORDS SED_COMMAND
    sed "$2" gaps.jsonl >torn.jsonl
    refused "$1" bench ./gaps.json --from torn.jsonl -o torn --no-store
}
damaged "torn.jsonl: line 2: expected a variant and an entry" '2s/"entry"/"other"/'
damaged "torn.jsonl: line 1: expected a JSON object" '1s/.*/[]/'
damaged "torn.jsonl: line 1: " '1s/"suite":"gaps",//'
damaged "torn.jsonl: line 0: expected a line with facts about the runs" 'd'

# ---- Suites that contradict themselves
wrong() { # WORDS SED_COMMAND
    sed "$2" "${3:-gaps}.json" >wrong.json
    refused "wrong.json: $1" bench ./wrong.json -o wrong --no-store
    [ ! -e wrong ] || fail "$case_name: a folder was made"
}
wrong "claims[0]: expected one of 'of' and 'bounds'" 's/"of": \["saba"\], "by": "sec/"by": "sec/'
wrong "claims[0]: expected one of 'of' and 'bounds'" 's/"by": "sec/"bounds": {"": 1}, "by": "sec/'
wrong "claims[3].bounds: there is no variant 'soft'" 's/{"easy": 2}/{"soft": 2}/' ends
wrong "claims[3].bounds.easy: expected a number above 0" 's/{"easy": 2}/{"easy": 0}/' ends
wrong "'points': the command coreset has none" 's/"command"/"points": 3, "command"/' more
wrong "expected a problem or a command, found both" 's/"command"/"problem": "quadratic", "command"/' more
wrong "solvers: uniform: baseline: the command coreset has none" \
    's/"solver": "uniform", /&"baseline": {"name": "b"}, /' more
wrong "solvers: uniform: tuned: the command coreset has no automatic settings" \
    's/"solver": "uniform", /&"tuned": ["size"], /' more
wrong "solvers: no method 'uniforn'" 's/"solver": "uniform"/"solver": "uniforn"/' more
wrong "tuning: expected one of seconds, calls and iterations, found 0" 's/"reference"/"tuning": {"choose": "f"}, "reference"/'
wrong "reference: expected one of seconds, calls and iterations, found 2" 's/"iterations": 5/"iterations": 5, "calls": 5/'
wrong "tuning.choose is 'test_accuracy': expected f or a measure of validation rows" \
    's/"reference"/"tuning": {"seconds": 1, "choose": "test_accuracy"}, "reference"/;s/"solver": "soba", /&"grid": {"step_x": [1]}, /'
wrong "solvers[0].grid: expected an object of arrays" 's/"solver": "soba", /&"grid": {}, /'
wrong "solvers[0].sweep.values: expected an array of texts and numbers" \
    's/"solver": "soba", /&"sweep": {"keys": ["step_x"], "values": []}, /'
printf '{"soba": {}}' >grid.json
refused "grid.json: soba: expected an object of arrays" bench ./gaps.json --grid grid.json -o wrong --no-store
refused "no suite 'gaps' in ./none" bench gaps --suites ./none -o wrong --no-store
refused "no suite 'nothing' in ." bench nothing --suites . -o wrong --no-store
: >file
refused "file: the folder cannot be created: " bench ./gaps.json -o file --no-store
printf '{"suite": "held", ' >cut.json
refused "cut.json: line 1, column 18" bench ./cut.json -o wrong --no-store
refused "suite more runs coreset, which has no limit" bench ./more.json --seconds 1 -o wrong --no-store

# ---- All solvers: a line of progress and a row for each
suite all '"problem": "quadratic", "problem_set": {"dx": 2, "dy": 2, "terms": 4}, "limit": {"iterations": 1}, "seeds": 1,
 "points": 1, "certify": "never", "metric": "f"' '' '{"solver": "soba", "untuned": true, "published": {"step_x": 0.1}}' >all.json
run 0 bench ./all.json --solvers all --no-store --no-plots -o all --progress lines
solvers=$(grep -c '"kind":"run"' all/points.jsonl)
[ "$solvers" -gt 30 ] || fail "$case_name: $solvers runs"
[ "$(grep -c "^[0-9]*/$solvers  .*/[a-z]* run, seed 0: " err)" -eq "$solvers" ] || fail "$case_name: not a line for each run"
rows=$(grep -cE '^[a-z0-9-]+/(untuned|published) ' out)
[ "$rows" -eq "$solvers" ] || fail "$case_name: $rows rows, $solvers runs"
# Runs that are missing are made by two processes, which leave one file
head -n 3 all/points.jsonl >kept
cp kept all/points.jsonl
run 0 bench ./all.json --solvers all --no-store --no-plots -o all --jobs 2
[ "$(grep -c '"kind":"run"' all/points.jsonl)" -eq "$solvers" ] || fail "$case_name: other runs"
head -n 3 all/points.jsonl >first
same kept first
# Where the lower level has many minimizers most of them refuse: they have no row and a reason, and
# the others have no gradient
sed 's/"quadratic"/"non-singleton"/;s/"problem_set": {[^}]*},//;s/"never"/"points"/;s/"metric": "f"/&, "show": ["phi", "grad_norm"]/' \
    all.json >many.json
run 0 bench ./many.json --solvers all --no-store --no-plots -o many
refused=$(grep -c '"refused":"' many/points.jsonl)
[ "$refused" -gt 10 ] || fail "$case_name: $refused solvers refuse"
[ "$(grep -c ' did not run: ' out)" -eq "$refused" ] || fail "$case_name: not a reason for each that refuses"
rows=$(grep -cE '^[a-z0-9-]+/(untuned|published) .* - .* [01] of 1$' out)
[ $((rows + refused)) -eq "$solvers" ] || fail "$case_name: $rows rows and $refused that refuse"
# --grid none: what is tuned is left out
sed 's/"untuned": true/&, "grid": {"step_x": [0.1, 0.01]}/' all.json >tuned.json
run 0 bench ./tuned.json --grid none --no-store --no-plots -o none
if grep -q '"kind":"tuning"' none/points.jsonl; then fail "$case_name: it was tuned"; fi

finish

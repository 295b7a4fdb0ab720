#!/bin/sh
# The command under mpirun: the same answer as without, printed once; what is rejected; kill and
# resume; a rank that dies; Ctrl-C.
#
#     command_test.sh BILEVEL RUN_RANKS DATA
set -eu
bilevel=$1
run_ranks=$2
data=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$data" data # its path may have blanks
data=$work/data
export BILEVEL_STORE="$work/runs.db"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

awk() { # its numbers have a point in every locale
    LC_ALL=C command awk "$@"
}

ranks() {
    n=$1
    shift
    timeout 120 "$run_ranks" "$n" "$bilevel" "$@"
}

# wait_for COMPLAINT COMMAND...: until the command succeeds
wait_for() {
    complaint=$1
    shift
    tries=0
    while ! "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "$complaint"
        sleep 0.1
    done
}

digits="--problem-set train=$data/digits.csv.gz --problem-set train_size=80 --problem-set val_size=40"
settings="--solver s-tfbo --iters 15 --threads 1"

# same_phi ONE OTHER: the Phi of two reports, to rounding.
phi() {
    sed -n 's/.*"phi": \([^,}]*\).*/\1/p' "$1"
}
same_phi() {
    awk -v a="$(phi "$1")" -v b="$(phi "$2")" \
        'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a != "" && d <= 1e-9 * a) }' ||
        fail "Phi is $(phi "$1") in $1 and $(phi "$2") in $2"
}

# The same Phi, one report.
# shellcheck disable=SC2086
"$bilevel" solve hyperclean $digits $settings --json --no-store >one.json
for n in 1 2 3; do
    # shellcheck disable=SC2086
    ranks $n solve hyperclean $digits $settings --json --no-store --out $n.npz --trace $n.jsonl >$n.json
    [ "$(wc -l <$n.json)" -eq "$(wc -l <one.json)" ] || fail "printed more than once"
    same_phi one.json $n.json
    [ -s $n.npz ] || fail "no output file"
    [ "$(wc -l <$n.jsonl)" -ge 2 ] || fail "no trace"
done

# The same bits from run to run.
# shellcheck disable=SC2086
ranks 2 solve hyperclean $digits $settings --json --no-store --out again.npz >again.json
cmp -s 2.npz again.npz || fail "two runs on 2 ranks differ"

# The note about a file that one rank reads, on standard error and once.
# shellcheck disable=SC2086
ranks 2 solve hyperclean $digits --solver soba --iters 2 --no-store >said.txt 2>note.txt
[ "$(grep -c "digits.csv.gz: one rank has read the whole file" note.txt)" -eq 1 ] || fail "no note"
grep -q "one rank" 2.json && fail "the note is in the report"

# Started as srun --mpi=pmix does it.
# shellcheck disable=SC2016,SC2086
timeout 120 "$run_ranks" 2 sh -c 'unset OMPI_COMM_WORLD_SIZE; SLURM_STEP_NUM_TASKS=2 exec "$@"' - \
    "$bilevel" solve hyperclean $digits $settings --json --no-store >srun.json
[ "$(wc -l <srun.json)" -eq "$(wc -l <one.json)" ] || fail "tasks of srun are no ranks"

# clean: the verdicts of one process, but for what rounding turns; the files of one process.
gzip -dc "$data/digits.csv.gz" | head -250 >digits.csv
"$bilevel" data corrupt digits.csv noisy.csv --share 0.2 >/dev/null
cleaning="--threads 1 --folds 2 --ridge 0.001 --no-certificate --no-store --model linear"
# shellcheck disable=SC2086
"$bilevel" clean noisy.csv $cleaning -o one.csv >said.txt 2>&1 || fail "clean: $(cat said.txt)"
gzip -k noisy.csv # which one rank reads
for file in noisy.csv noisy.csv.gz; do
    # shellcheck disable=SC2086
    ranks 2 clean $file $cleaning -o two.csv --write-clean kept.csv >said.txt 2>&1 || fail "clean $file: $(cat said.txt)"
    cut -d, -f3 two.csv | paste -d, - one.csv |
        awk -F, 'NR > 1 { same += $1 == $4 } END { exit !(same >= 240) }' ||
        fail "clean on ranks has other verdicts for $file"
    for fields in 1-2 7-; do # row and label; the text of the row
        cut -d, -f$fields one.csv >expected.txt
        cut -d, -f$fields two.csv | cmp -s - expected.txt || fail "$file: other labels or texts"
    done
    awk -F, 'NR == FNR { keep[NR] = FNR == 1 || $3 == "keep"; next } keep[FNR]' two.csv noisy.csv |
        cmp -s - kept.csv || fail "$file: other rows are kept"
    said=$(grep -c "noisy.csv.gz: one rank has read the whole file" said.txt || true)
    [ "$said" -eq "$([ $file = noisy.csv ] && echo 0 || echo 1)" ] || fail "note about $file"
done

# With models beside the learned one, which see the covariance of all rows: sizes that grow together.
awk 'BEGIN { srand(5)
             print "a,b,c,d,e,label"
             for (i = 0; i < 160; i++) {
                 grown = 6 * rand() - 3
                 for (j = 0; j < 5; j++)
                     printf "%.6f,", grown + (j == i % 2) * 0.2 + 0.2 * rand()
                 other = rand() < 0.35
                 print other ? 1 - i % 2 : i % 2
             } }' >narrow.csv
beside="--threads 1 --folds 2 --no-certificate --no-store --model linear --precision f64"
# shellcheck disable=SC2086
"$bilevel" clean narrow.csv $beside -o one.csv >said.txt 2>&1 || fail "clean: $(cat said.txt)"
for n in 2 3; do
    # shellcheck disable=SC2086
    ranks $n clean narrow.csv $beside -o two.csv >said.txt 2>&1 || fail "clean on $n ranks: $(cat said.txt)"
    cut -d, -f4 two.csv | paste -d, - one.csv |
        awk -F, 'NR > 1 { d = $1 - $5; far += d * d > 1e-6 } END { exit !(NR == 161 && far == 0) }' ||
        fail "clean has other probabilities on $n ranks"
done

# Where nothing is computed the files are those of one process, byte for byte.
awk 'BEGIN { srand(7)
             for (i = 1; i <= 250; i++) {
                 sum = 0
                 for (k = 1; k <= 10; k++) sum += p[k] = rand()
                 for (k = 1; k <= 10; k++) printf "%.5f%s", p[k] / sum, k < 10 ? "," : "\n"
             } }' >given.csv
"$bilevel" clean noisy.csv --probabilities given.csv -o p1.csv --write-clean k1.csv --relabel --no-store >said.txt 2>&1 ||
    fail "clean with given probabilities: $(cat said.txt)"
for n in 2 3; do
    ranks $n clean noisy.csv --probabilities given.csv -o p2.csv --write-clean k2.csv --relabel --no-store >said.txt 2>&1 ||
        fail "clean with given probabilities on $n ranks: $(cat said.txt)"
    cmp p1.csv p2.csv || fail "other verdicts on $n ranks"
    cmp k1.csv k2.csv || fail "other labels on $n ranks"
done
if ranks 2 clean noisy.csv --probabilities given.csv -o no/such/folder.csv --no-store 2>refused; then
    fail "no folder for the output"
fi
[ "$(grep -c "no/such/folder.csv" refused)" -eq 1 ] || fail "messages about the folder: $(cat refused)"
for model in mlp forest; do
    if ranks 2 clean noisy.csv --model $model --no-store 2>refused; then fail "clean --model $model"; fi
    grep -q "need all rows in one process" refused || fail "no reason for $model: $(cat refused)"
done

# bench: the ranks share the runs.
suite="quadratic --quick --no-plots --iters 5 --seeds 2 --solvers soba,saba --grid none --no-store"
# shellcheck disable=SC2086
"$bilevel" bench $suite -o bench-1 >/dev/null
# shellcheck disable=SC2086
ranks 2 bench $suite -o bench-2 >bench.txt
[ "$(grep -c "Quadratic" bench.txt)" -eq 1 ] || fail "bench prints more than once"
[ "$(wc -l <bench-1/points.jsonl)" -eq "$(wc -l <bench-2/points.jsonl)" ] || fail "runs are missing"

# What does not work on several ranks.
if ranks 2 coreset x.csv --size 3 2>refused; then fail "coreset on 2 ranks"; fi
grep -q "does not work on several ranks" refused || fail "no reason for coreset"
# shellcheck disable=SC2086
if ranks 2 solve hyperclean-nn $digits --no-store 2>refused; then fail "a network on 2 ranks"; fi
grep -q "cannot be spread over ranks" refused || fail "no reason for a network"
if ranks 2 solve hyperclean --problem-set train=none.csv --no-store 2>refused; then fail "no file"; fi
[ "$(grep -c "^bilevel solve: .*none.csv" refused)" -eq 1 ] || fail "the message comes more than once"

# Ranks that have another file, or other arguments: neither a wrong answer nor an endless wait.
mkdir elsewhere
head -200 digits.csv >elsewhere/digits.csv
# apart COMMAND: run by one rank elsewhere, with RANK the number of the rank
apart() {
    # shellcheck disable=SC2016
    timeout 60 "$run_ranks" 2 sh -c 'RANK=$OMPI_COMM_WORLD_RANK; [ "$RANK" = 0 ] || cd elsewhere; bilevel=$1; eval "$2"' \
        - "$bilevel" "$1" >said.txt 2>refused
}
code=0
# shellcheck disable=SC2016
apart '"$bilevel" solve hyperclean --problem-set train=digits.csv --iters 3 --no-store' || code=$?
[ $code -eq 2 ] || fail "exit code $code where a rank has another file"
grep -q "^bilevel solve: digits.csv: [0-9]* bytes, and [0-9]* on rank 0 (rank 1)" refused ||
    fail "no message about another file: $(cat refused)"
code=0
# shellcheck disable=SC2016
apart '[ "$RANK" = 0 ] || rm digits.csv; "$bilevel" clean digits.csv --no-store' || code=$?
[ $code -eq 2 ] || fail "exit code $code where a rank has no file"
grep -q "^bilevel clean: digits.csv: cannot open: .* (rank 1)" refused || fail "no message about no file: $(cat refused)"
if BILEVEL_ISA=avx2 "$bilevel" version >said.txt 2>&1; then
    code=0
    # shellcheck disable=SC2016
    apart '[ "$RANK" = 0 ] || export BILEVEL_ISA=base; "$bilevel" solve quadratic --no-store' || code=$?
    [ $code -eq 2 ] || fail "exit code $code where a rank has other instructions"
    grep -q "processors of the ranks have different instructions" refused ||
        fail "no message about instructions: $(cat refused)"
fi
code=0
# shellcheck disable=SC2016
apart '"$bilevel" solve quadratic --iters 1$RANK --no-store' || code=$?
[ $code -eq 2 ] || fail "exit code $code where a rank has other arguments"
grep -q "^bilevel: 1 of 2 ranks have other arguments than the first" refused ||
    fail "no message about other arguments: $(cat refused)"

# 40,000 images, 250 MB as numbers, where a process may have 230 MB: three have room for them. (Not
# with sanitizers, whose own memory is more.)
small() (
    # shellcheck disable=SC3045
    ulimit -d 230000
    "$@"
)
if small "$bilevel" version >said.txt 2>&1; then
    size='\0\0\234\100'
    {
        # shellcheck disable=SC2059
        printf '\0\0\010\3'"$size"'\0\0\0\034\0\0\0\034'
        head -c 31360000 /dev/urandom
    } >images
    {
        # shellcheck disable=SC2059
        printf '\0\0\010\1'"$size"
        yes ab | tr -d '\n' | head -c 40000 | tr ab '\0\1'
    } >labels
    images="--problem-set train=images --problem-set labels=labels --problem-set scaling=unit"
    images="$images --problem-set C=1 --problem-set val_size=0.1 --solver soba --iters 2 --threads 1"
    # shellcheck disable=SC2086
    if small "$bilevel" solve hyperclean $images --no-store >said.txt 2>refused; then
        fail "one process had room for all"
    fi
    grep -q memory refused || fail "other than short of memory: $(cat refused)"
    # shellcheck disable=SC2086
    small ranks 3 solve hyperclean $images --no-store >said.txt 2>&1 ||
        fail "three ranks have no room: $(cat said.txt)"
    rm images labels
fi

# Killed and resumed: the end of a run that was not killed.
long="--solver soba --threads 1"
# shellcheck disable=SC2086
"$run_ranks" 2 "$bilevel" solve hyperclean $digits $long --iters 100000000 --checkpoint 0.05 \
    --out killed.npz >killed.txt 2>&1 &
job=$!
has_checkpoint() { "$bilevel" runs --json 2>/dev/null | grep -q '"checkpoint_iteration": [0-9]'; }
wait_for "no checkpoint came" has_checkpoint
victim=$(pgrep -P "$job" | tail -1)
kill -9 "$victim"
if wait "$job"; then fail "a job whose rank died ended well"; fi
grep -q "rank\|signal" killed.txt || fail "no message about the rank that died"
all_ended() { ! "$bilevel" runs --json | grep -q '"status": "running"'; }
wait_for "a rank did not end" all_ended # the others end a moment later
newest() { "$bilevel" runs --json | grep -o "\"$1\": [0-9]*" | grep -o '[0-9]*' | sort -n | tail -1; }
more=$(($(newest checkpoint_iteration) + 40))
id=$(newest id)
mkdir copy
cp runs.db* copy/
[ "$(ls runs.db.run"$id".*.part[01] | wc -l)" -ge 2 ] || fail "no parts of the ranks"
if "$bilevel" runs export "$id" --checkpoint one.npz 2>refused; then fail "half a checkpoint"; fi
grep -q "several ranks have written .*'mpirun -n RANKS bilevel resume $id'" refused ||
    fail "not said what to do in place of half a checkpoint: $(cat refused)"
[ ! -e one.npz ] && [ ! -e "run-$id.csv" ] || fail "half an export is left"
(
    # A part that is gone or is another's.
    export BILEVEL_STORE="$work/copy/runs.db"
    cd copy
    for damage in gone other; do # of every set: a kill while one is written leaves two
        mkdir aside
        mv runs.db.run"$id".*.part1 aside/
        for part in aside/*; do
            [ $damage = gone ] ||
                cp "$(find . -name "runs.db.run$id.*.part0" | head -1)" "${part#aside/}"
        done
        code=0
        ranks 2 resume "$id" --iters $more -o part.npz 2>refused || code=$?
        [ $code -eq 2 ] || fail "exit code $code after a part is $damage"
        [ "$(grep -c "^bilevel resume: .*\.part1: " refused)" -eq 1 ] || fail "no message: $(cat refused)"
        mv -f aside/* .
        rmdir aside
    done
)
if "$bilevel" resume "$id" --iters $more --allow-outputs 2>refused; then fail "what ranks have begun, resumed by one process"; fi
grep -q "their fingerprint is .* (under mpirun it is another" refused || fail "not said why: $(cat refused)"
ranks 2 resume "$id" --iters $more --allow-outputs --json >resumed.json || fail "resume on 2 ranks"
(export BILEVEL_STORE="$work/copy/runs.db" && ranks 3 resume "$id" --iters $more --json -o other.npz) \
    >other.json || fail "resume on 3 ranks"
same_phi resumed.json other.json
# shellcheck disable=SC2086
ranks 2 solve hyperclean $digits $long --iters $more --out whole.npz >whole.txt
cmp -s whole.npz killed.npz || fail "the resumed run has another end"
[ "$(ls runs.db.run"$id".*.part* | wc -l)" -eq 2 ] || fail "parts of former checkpoints are left"
"$bilevel" runs rm "$id" >/dev/null
ls runs.db.run"$id".* 2>/dev/null && fail "parts of a run that was removed are left"

# Killed at any time, while checkpoints are written all the time: the last one is whole.
for pause in 0.02 0.05 0.08; do
    rm -f runs.db*
    # shellcheck disable=SC2086
    "$run_ranks" 2 "$bilevel" solve hyperclean $digits $long --iters 100000000 --checkpoint 0.0001 \
        >killed.txt 2>&1 &
    job=$!
    wait_for "no checkpoint came" has_checkpoint
    sleep $pause
    # shellcheck disable=SC2046
    kill -9 "$job" $(pgrep -P "$job")
    wait "$job" || true
    wait_for "a rank did not end" all_ended
    ranks 2 resume 1 --iters $(($(newest checkpoint_iteration) + 5)) >/dev/null ||
        fail "the checkpoint of a run that was killed after $pause s"
done

# Ctrl-C, and what a batch system sends: the result so far, and a report of it.
# The last time it is one rank that gets it, and not the first.
for signal in INT TERM one; do
    rm -f stopped.*
    # shellcheck disable=SC2086
    OMPI_MCA_odls_base_sigkill_timeout=15 "$run_ranks" 2 "$bilevel" solve hyperclean $digits \
        --solver soba --threads 1 --iters 100000000 --no-store --trace stopped.jsonl --out stopped.npz \
        >stopped.txt 2>&1 &
    job=$!
    wait_for "the run does not begin" [ -s stopped.jsonl ]
    if [ $signal = one ]; then
        kill -TERM "$(pgrep -P "$job" | tail -1)"
    else
        kill -$signal "$job"
    fi
    wait "$job" || true
    [ -s stopped.npz ] || fail "no result after SIG$signal: $(cat stopped.txt)"
    [ "$(grep -c "stopped: a stop was requested" stopped.txt)" -eq 1 ] || fail "no report after SIG$signal"
done
echo "the command works on ranks"

# Checkpoints and bilevel resume: killed at any moment, a run ends with the bits of one that was not.
. "$(dirname "$0")/lib.sh"
sql=$helpers/store_tool

random_below() {
    number=$(od -An -N4 -tu4 /dev/urandom)
    echo $((number % $1))
}

# The newest run of the store
newest() {
    "$sql" "$BILEVEL_STORE" "SELECT max(id) FROM run" 2>/dev/null
}

status_of() {
    "$bilevel" runs show "$1" --json >one && "$json_get" one status
}

# figures JSON: all that depends neither on time nor on where it was stopped
figures() {
    sed 's/"run": [^,]*, //; s/"seconds": [^,]*, //; s/"memory_bytes": [^,]*, //
        s/"check_counts": {[^}]*}, //' "$1"
}

# The rows of a trace, less the time
rows_of() {
    sed 's/"seconds":[^,]*,//' "$1"
}

# straight ARGUMENT...: the run that is never stopped
straight() {
    began=$(date +%s%N)
    run 0 solve --solver s-tfbo "$@" --out straight.npz --trace straight.trace --no-store --json
    milliseconds=$((($(date +%s%N) - began) / 1000000 + 1))
    figures out >straight.figures
    rows_of straight.trace >straight.rows
}

# wait_and_kill PROCESS: within the time that the straight run took
wait_and_kill() {
    moment=$(random_below "$milliseconds")
    sleep "$((moment / 1000)).$(printf '%03d' $((moment % 1000)))"
    kill -9 "$1" 2>/dev/null
    wait "$1" 2>/dev/null
}

# stopped ARGUMENT...: as with Ctrl-C, once it has a checkpoint, or has ended; prints its number
stopped() {
    before=$(newest)
    "$bilevel" solve --solver s-tfbo "$@" --checkpoint 0.005 --quiet 2>err &
    process=$!
    while kill -0 $process 2>/dev/null; do
        id=$(newest)
        if [ "$id" != "$before" ] && [ "$(status_of "$id")" = running ] &&
            [ "$("$json_get" one checkpoint_iteration)" != null ]; then
            kill -TERM $process 2>/dev/null
            break
        fi
        sleep 0.01
    done
    wait $process
    newest
}

# killed ARGUMENT...: killed once or more on its way, and then on to the end
killed() {
    rm -f out.npz out.trace
    before=$(newest)
    "$bilevel" solve --solver s-tfbo "$@" --out out.npz --trace out.trace --checkpoint 0.005 --quiet 2>err &
    wait_and_kill $!
    id=$(newest)
    [ "$id" = "$before" ] && return # before it began
    case_name="run $id"
    if [ "$(status_of "$id")" = interrupted ]; then
        interrupted=$((interrupted + 1))
        [ "$("$json_get" one checkpoint_iteration)" = null ] || from_checkpoint=$((from_checkpoint + 1))
        "$bilevel" resume "$id" --quiet 2>err &
        wait_and_kill $!
    fi
    case $(status_of "$id") in
    interrupted) run 0 resume "$id" --json ;;
    finished) "$json_get" one result >out ;;
    *) fail "$case_name: $(status_of "$id")" ;;
    esac
    same out.npz straight.npz
    figures out >found
    same found straight.figures
    rows_of out.trace >found
    same found straight.rows
}

# iterations_for ARGUMENT...: how many take about a tenth of a second here
iterations_for() {
    "$bilevel" solve --solver s-tfbo "$@" --iters 2000 --no-store --json >out 2>err
    "$json_get" out seconds | awk '{ n = int(200 / ($1 + 1e-9)); print n < 1000 ? 1000 : n }'
}

# ---- Killed at twenty moments, each time somewhere else in the run
interrupted=0
from_checkpoint=0
sum="quadratic --problem-set dx=40 --problem-set dy=30 --problem-set terms=50 --solver soba"
awk 'BEGIN { srand(3); for (i = 0; i < 200; i++) { printf "%d", i % 3
    for (j = 1; j < 12; j++) printf " %d:%.4f", j, rand() + (i % 3 == j % 3); print "" } }' >data.svm
# shellcheck disable=SC2086
set -- $sum --batch 7 --sampler shuffle --start random --iters "$(iterations_for $sum --batch 7)" \
    --every 1000
straight "$@"
for i in 1 2 3 4 5 6 7; do
    killed "$@"
done
data="l2reg --problem-set train=data.svm --precision f32"
# shellcheck disable=SC2086
set -- $data --iters "$(iterations_for $data)" --every 1000
straight "$@"
for i in 1 2 3 4 5 6 7; do
    killed "$@"
done
set -- synthetic-logistic --problem-set rows=400 --problem-set columns=12 --solver exact \
    --set accuracy=0 --every 5
straight "$@"
for i in 1 2 3 4 5 6; do
    killed "$@"
done
echo "$interrupted were interrupted, $from_checkpoint of them had a checkpoint"
[ $from_checkpoint -ge 3 ] || fail "hardly any run was killed between its checkpoints"
"$sql" .runs.db "PRAGMA integrity_check" >found
echo ok >expected
same found expected
"$sql" .runs.db "SELECT count(*) FROM run WHERE status != 'finished'" >found
echo 0 >expected
same found expected
# The rows in the store are those of the trace, once each
"$json_get" --lines straight.trace iteration >expected
"$sql" .runs.db "SELECT iteration FROM trace WHERE run = $(newest) ORDER BY iteration" >found
same found expected

# ---- What has ended
id=$(newest)
run 0 resume "$id"
out_has "Run $id has finished: "
run 0 resume "$id" --json
json stalled status
run 0 resume "$id" --quiet
[ ! -s out ] || fail "$case_name: not quiet"
"$npz_tool" write far.npz x=1e308 y=1e308
run 1 solve --solver s-tfbo parabola --start far.npz --quiet
refused "has failed: diverged" resume "$(newest)"
refused "there is no run 9999" resume 9999
refused "no run is named" resume
refused "'x': expected the number of a run" resume x

# ---- Ctrl-C, then on
# shellcheck disable=SC2086
set -- $sum --batch 7 --iters "$(iterations_for $sum --batch 7)"
run 0 solve --solver s-tfbo "$@" --no-store --json
"$json_get" out x >expected_x
id=$(stopped "$@")
run 0 resume "$id" --json
json iterations status
"$json_get" out x >found
same found expected_x

# ---- On another device: here there is one
id=$(stopped "$@")
refused "--device 'gpu': expected same, cpu, cuda or auto" resume "$id" --device gpu
run 0 resume "$id" --device cpu --json
"$json_get" out x >found
same found expected_x

# ---- No checkpoint: from the start, the same all the same
rm -f trace
"$helpers/with_signals" trace int "$bilevel" solve --solver s-tfbo "$@" --trace trace --json >out 2>err
json stopped status
run 0 resume "$(newest)" --json
err_has "has no checkpoint: it starts again"
"$json_get" out x >found
same found expected_x

# ---- Several at once: one goes on, the others are told
id=$(stopped "$@")
for i in 1 2 3; do
    "$bilevel" resume "$id" --json >"out.$i" 2>"err.$i" &
done
wait
case_name="several at once"
went_on=0
for i in 1 2 3; do
    if [ -s "out.$i" ]; then # it went on, or came when all was over
        "$json_get" "out.$i" x >found
        same found expected_x
        went_on=$((went_on + 1))
    else
        grep -q "run $id is under way" "err.$i" || fail "nothing was said"
    fi
done
[ $went_on -ge 1 ] || fail "none went on"

# ---- A later limit
run 0 solve quadratic --solver soba --iters 500 --no-store --json
"$json_get" out x >expected_x
run 0 solve quadratic --solver soba --iters 200 --checkpoint 60 --quiet
id=$(newest)
run 0 resume "$id"
out_has "has finished"
run 0 resume "$id" --iters 500 --json
json 500 iterations
json "$id" run
"$json_get" out x >found
same found expected_x
run 0 solve quadratic --solver soba --iters 200 --quiet
refused "has no checkpoint to resume from" resume "$(newest)" --iters 500
# A tolerance that is met ends it, and nothing is left to go on from
run 0 solve --solver s-tfbo parabola --tol 1e-6 --checkpoint 60 --quiet
"$sql" .runs.db "SELECT count(*) FROM attachment WHERE run = $(newest)" >found
echo 0 >expected
same found expected

# ---- The checkpoint as a file
run 0 solve --solver s-tfbo quadratic --iters 100 --checkpoint 60 --quiet
id=$(newest)
run 0 runs export "$id" --checkpoint state.npz
"$npz_tool" print state.npz vector/x >found
"$json_get" "run-$id.json" result x '*' | awk '{ printf "%.17g\n", $1 }' >expected
awk '{ printf "%.17g\n", $1 }' found >given
same given expected
run 0 solve --solver s-tfbo quadratic --iters 1 --quiet
id=$(newest)
refused "has no checkpoint" runs export "$id" --checkpoint none.npz
[ ! -e none.npz ] && [ ! -e "run-$id.csv" ] || fail "$case_name: wrote a file"

# ---- What must be as it was
mkdir place
cp data.svm place/data.svm
id=$(cd place && stopped l2reg --problem-set train=data.svm --iters 1e9)
sed 's/1:0/1:1/' data.svm >place/data.svm
refused "the data are not those of the run" resume "$id"
cp data.svm place/data.svm
run 0 resume "$id" --iters 1000000000 --budget 1 --json # from another folder; ends at once
json budget status
id=$(cd place && stopped l2reg --problem-set train=data.svm --iters 1e9)
rm -r place
refused "place/data.svm" resume "$id"
id=$(stopped quadratic --iters 1e9)
"$sql" .runs.db "UPDATE attachment SET bytes = substr(bytes, 1, 1000) WHERE run = $id"
refused "checkpoint" resume "$id"
"$sql" .runs.db "UPDATE run SET version = '0.0.1' WHERE id = $id"
"$sql" .runs.db "DELETE FROM attachment WHERE run = $id"
run 0 resume "$id" --iters 10 --quiet
err_has "made by version 0.0.1"
"$sql" .runs.db "UPDATE run SET status = 'interrupted',
    task = '{\"problem\": \"quadratic\", \"settings\": [[\"iters\", \"10\"]]}' WHERE id = $id"
refused "an earlier version of the program stored the run" resume "$id"
"$sql" .runs.db "UPDATE run SET kind = 'bench', status = 'interrupted' WHERE id = $id"
refused "is one of 'bilevel bench'" resume "$id"

# ---- Files that a store names: those outside the current folder are not written unasked
mkdir inside elsewhere
echo precious >elsewhere/thesis.txt
# stored_with FIELD PATH ARGUMENT...: an interrupted run whose request has this path
stored_with() {
    field=$1
    path=$2
    shift 2
    (cd inside && "$bilevel" "$@" --quiet) || fail "$*"
    id=$(newest)
    "$sql" .runs.db "UPDATE run SET status = 'interrupted', message = NULL,
        task = json_set(task, '\$.$field', '$path') WHERE id = $id"
}
# precious WORDS ARGUMENT...: refused in the folder inside, and the file is as it was
precious() {
    words=$1
    shift
    cd inside || exit 1
    refused "$words" "$@"
    cd .. || exit 1
    mv inside/err err
    mv inside/out out
    [ "$(cat elsewhere/thesis.txt)" = precious ] || fail "$case_name: the file was overwritten"
}
outside="is outside the current folder"
awk 'BEGIN { for (i = 0; i < 40; i++) print i % 3 "," i % 2 + i / 40 "," i % 2 }' >inside/rows.csv
for field in out trace; do
    for path in "$PWD/elsewhere/thesis.txt" ../elsewhere/thesis.txt "$PWD/inside/../elsewhere/thesis.txt"; do
        stored_with $field "$path" solve quadratic --iters 5
        precious "$outside" resume "$id"
        err_has "thesis.txt"
    done
done
ln -s ../elsewhere/thesis.txt inside/link
stored_with trace "$PWD/inside/link" solve quadratic --iters 5
precious "$outside" resume "$id"
stored_with out "$PWD/elsewhere/thesis.txt" clean rows.csv --folds 2 --iters 2
precious "$outside" resume "$id"
stored_with write_clean "$PWD/elsewhere/thesis.txt" clean rows.csv --folds 2 --iters 2
precious "$outside" resume "$id"
for field in out trace penalties; do
    stored_with $field "$PWD/elsewhere/thesis.txt" tune rows.csv --iters 2
    precious "$outside" resume "$id"
done
stored_with out "$PWD/elsewhere/thesis.txt" solve quadratic --iters 5
cd inside || exit 1
run 0 resume "$id" -o here.npz
err_has "the run writes here.npz"
"$npz_tool" list here.npz >listed || fail "$case_name: no result"
cd .. || exit 1
stored_with trace "$PWD/elsewhere/thesis.txt" solve quadratic --iters 5 --out end.npz
cd inside || exit 1
mkdir results
run 0 resume "$id" -o results
[ -s results/thesis.txt ] && [ -s results/end.npz ] || fail "$case_name: not all files are there"
cd .. || exit 1
[ "$(cat elsewhere/thesis.txt)" = precious ] || fail "$case_name: the file was overwritten"
stored_with out "$PWD/elsewhere/new.npz" solve quadratic --iters 5
cd inside || exit 1
run 0 resume "$id" --allow-outputs
"$npz_tool" list ../elsewhere/new.npz >listed || fail "$case_name: no result"
cd .. || exit 1
# a request cannot name an input as its output either
stored_with out "$PWD/inside/rows.csv" tune rows.csv --iters 2
refused "is an input of this command" resume "$id"

# nor be without the name or the value of a setting
for setting in '{}' '{"key": "iters"}' '{"value": "1"}' '{"key": null, "value": "1"}'; do
    for kind in "tune rows.csv" "solve quadratic"; do
        # shellcheck disable=SC2086
        (cd inside && "$bilevel" $kind --iters 2 --quiet) || fail "$kind"
        where=$([ "$kind" = "solve quadratic" ] || echo training.)settings
        "$sql" .runs.db "UPDATE run SET status = 'interrupted',
            task = json_set(task, '\$.$where', json('[$setting]')) WHERE id = $(newest)"
        refused "is missing" resume "$(newest)"
    done
done

# ---- Names that are not UTF-8
cd inside || exit 1
name=$(printf 'caf\351')
cp rows.csv "$name.csv"
for kind in clean tune; do
    run 0 $kind "$name.csv" --iters 2 -o "$name-$kind" --quiet
    mv "$name-$kind" whole
    "$sql" ../.runs.db "UPDATE run SET status = 'interrupted' WHERE id = $(newest)"
    run 0 resume "$(newest)" --quiet
    same "$name-$kind" whole
done
cd .. || exit 1

# ---- A full disk: the checkpoint before is as it was, the run goes on, and so does the next one
large="quadratic --problem-set dx=1000 --problem-set dy=4 --solver soba --iters 300"
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $large --no-store --json
"$json_get" out phi >expected_phi

# expect_full CODE: of a run whose checkpoints did not fit, in out and err
expect_full() {
    [ "$1" -eq 2 ] || fail "exit code $1, expected 2"
    json 300 iterations
    "$json_get" out phi >found
    same found expected_phi
    err_has "no checkpoint was stored, the one before is kept"
}

# expect_resumed STORE: with room again, it goes on from there
expect_resumed() {
    "$sql" "$1" "PRAGMA integrity_check" >found
    echo ok >expected
    same found expected
    "$sql" "$1" "UPDATE run SET status = 'interrupted' WHERE id = 1"
    run 0 resume 1 --store "$1" --json
    "$json_get" out phi >found
    same found expected_phi
}

case_name="file that may not grow"
(
    ulimit -f 200
    # shellcheck disable=SC2086
    "$bilevel" solve --solver s-tfbo $large --checkpoint 0.0001 --store small.db --json
) >out 2>err
expect_full $?
expect_resumed small.db

case_name="small file system"
mkdir small
cat >in_namespace <<'END'
mount -t tmpfs -o size=400k none small || exit 77
"$1" solve $2 --checkpoint 0.0001 --store small/runs.db --json
code=$?
cp small/runs.db full.db
if [ -e small/runs.db-wal ]; then
    cp small/runs.db-wal full.db-wal # what did not fit into the file itself
fi
exit $code
END
unshare -rm sh in_namespace "$bilevel" "$large" >out 2>err
code=$?
if [ -e full.db ]; then
    expect_full $code
    expect_resumed full.db
else
    echo "no file system can be mounted here: left out"
fi

finish

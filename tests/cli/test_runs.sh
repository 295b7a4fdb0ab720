# The run store: what is kept of a run, bilevel runs, and stores that are shared, damaged or full.
. "$(dirname "$0")/lib.sh"
sql=$helpers/store_tool
quadratic="quadratic --problem-set dx=5 --problem-set dy=4"

# whole FILE: SQLite finds nothing wrong with it
whole() {
    "$sql" "$1" "PRAGMA integrity_check" >found 2>&1
    echo ok >expected
    same found expected
}

# field RUN KEY...: a field of a run
field() {
    id=$1
    shift
    "$bilevel" runs show "$id" --json >one 2>err || fail "runs show $id"
    "$json_get" one "$@"
}

# is VALUE RUN KEY...
is() {
    wanted=$1
    shift
    got=$(field "$@")
    [ "$got" = "$wanted" ] || fail "run $*: '$got', expected '$wanted'"
}

# ---- Nothing yet
refused "there is no run store at" runs
refused "there is no run store at" resume 1

# ---- What is kept
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 40 --every 10 --set alpha0=2 --seed 7 --precision f32 --json
err_empty
json 1 run
cp out solved
is solve 1 kind
is finished 1 status
is '["bilevel solve", "--solver", "s-tfbo", "quadratic", "--problem-set", "dx=5", "--problem-set", "dy=4", "--iters", "40", "--every", "10", "--set", "alpha0=2", "--seed", "7", "--precision", "f32", "--json"]' 1 command
is quadratic 1 problem
is 5 1 problem_parameters dx
is 5 1 dim_x
is 4 1 dim_y
is f32 1 precision
is s-tfbo 1 solver
is 2.0 1 parameters alpha0
is 7 1 options seed
is iterations 1 outcome
is 40 1 iterations
is "$("$bilevel" version | awk '{ print $NF }')" 1 version
for key in phi grad_norm seconds message; do
    is "$("$json_get" solved $key)" 1 $key
    is "$("$json_get" solved $key)" 1 result $key
done
is "$("$json_get" solved x)" 1 result x
is "$("$json_get" solved certificate)" 1 result certificate
is 5 1 rows
[ "$(field 1 fingerprint | wc -c)" -eq 17 ] || fail "no fingerprint of the data"
field 1 started | grep -qE '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$' || fail "no time of the start"
[ "$(field 1 started)" \> "$(field 1 ended)" ] && fail "ended before it began"
whole .runs.db

# The text says where it is
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 5
out_has "Stored as run 2"
# Data of a file have a fingerprint as well, that of another file is another
printf '1 1:1 2:2\n0 1:0 2:1\n1 1:3 2:1\n0 1:-1 2:2\n1 1:1\n0 2:1\n' >a.svm
sed 's/3/4/' a.svm >b.svm
for file in a b a; do
    run 0 solve --solver s-tfbo l2reg --problem-set train=$file.svm --iters 3 --quiet
done
[ "$(field 3 fingerprint)" = "$(field 5 fingerprint)" ] || fail "same data, other fingerprint"
[ "$(field 3 fingerprint)" != "$(field 4 fingerprint)" ] || fail "other data, same fingerprint"

# ---- Rows: as many as the trace has when rows were asked for, else few
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 1000 --every 1 --trace trace --quiet
is 1001 6 rows
run 0 runs export 6 --out traced
err_empty
head -n 1 traced.csv | tr , '\n' | head -n 8 >found
printf '%s\n' iteration f_grad g_grad hvp jvp values seconds f >expected
same found expected
"$json_get" --lines trace f >expected
awk -F, 'NR > 1 { print $8 }' traced.csv | awk '{ printf "%.17g\n", $1 }' >found
awk '{ printf "%.17g\n", $1 }' expected >given
same found given
"$json_get" traced.json trace '#' >found
echo 1001 >expected
same found expected
"$json_get" traced.json id >found
echo 6 >expected
same found expected
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 20000 --quiet
[ "$(field 7 rows)" -gt 2 ] && [ "$(field 7 rows)" -lt 400 ] || fail "$(field 7 rows) rows"
# Iterates become columns
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 2 --every 1 --set iterates=on --quiet
run 0 runs export 8
head -n 1 run-8.csv | grep -qF ',x[0],x[1],x[2],x[3],x[4],y[0],' || fail "no columns of x"
awk -F, '{ print NF }' run-8.csv | sort -u | wc -l >found
echo 1 >expected
same found expected

# ---- Lists
run 0 runs
err_empty
out_has "RUN  STARTED"
out_has "finished"
[ "$(wc -l <out)" -eq 9 ] || fail "$case_name: not eight runs"
run 0 runs list --json
json 8 '#'
json 1 0 id
json s-tfbo 0 solver
run 0 runs list --problem l2reg --json
json 3 '#'
run 0 runs --last 2 --json
json 2 '#'
json 7 0 id
run 0 runs --status failed
out_has "No runs of this kind"
refused "--status 'odd'" runs --status odd
refused "there is no action 'lst'" runs lst
refused "'x': expected the number of a run" runs show x
refused "there is no run 99" runs show 99
refused "there is no run 99" runs rm 99
refused "no run is named" runs show
refused "one run at a time" runs export 1 2
run 0 runs show 1 2
out_has "bilevel solve --solver s-tfbo quadratic --problem-set dx=5"
out_has "Solver parameters"
out_has "alpha0 = 2"

# ---- Removing
run 0 runs rm 2 3
err_empty
run 0 runs --json
json 6 '#'
refused "there is no run 2" runs show 2
"$sql" .runs.db "SELECT count(*) FROM trace WHERE run IN (2, 3)" >found
echo 0 >expected
same found expected
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 1 --json
json 9 run # numbers are not used again

# ---- How runs end
"$npz_tool" write far.npz x=1e308 y=1e308
run 1 solve --solver s-tfbo parabola --start far.npz --iters 10 --quiet
is failed 10 status
is diverged 10 outcome
run 0 solve quadratic --solver s-tfbo,soba --iters 5 --quiet
is s-tfbo 11 solver
is soba 12 solver
# Refused before it began: not a run
refused "alpha0" solve --solver s-tfbo quadratic --set alpha0=x
refused "there is no run 13" runs show 13

# ---- Which store
(
    unset BILEVEL_STORE
    XDG_STATE_HOME=$PWD/state "$bilevel" solve --solver s-tfbo parabola --iters 1 --quiet
    HOME=$PWD/home "$bilevel" solve --solver s-tfbo parabola --iters 1 --quiet
) >out 2>err
case_name="usual store"
err_empty
whole state/bilevel/runs.db
whole home/.local/state/bilevel/runs.db
(
    unset BILEVEL_STORE XDG_STATE_HOME
    HOME=$PWD/trace "$bilevel" solve --solver s-tfbo parabola --iters 1 --json # a file, not a folder
) >out 2>err || fail "a store that cannot be made stops the run"
case_name="no usual store"
err_has "the run is not stored"
json null run
(
    unset BILEVEL_STORE
    XDG_STATE_HOME=$PWD/trace "$bilevel" solve --solver s-tfbo parabola --iters 1 --checkpoint 1 --quiet
) >out 2>err && fail "checkpoints without a store"
err_has "checkpoints are kept in the run store"
run 0 solve --solver s-tfbo parabola --iters 1 --store other.db --json
json 1 run
run 0 solve --solver s-tfbo parabola --iters 1 --store other.db --quiet
run 0 runs --store other.db --json
json 2 '#'
run 0 solve --solver s-tfbo parabola --iters 1 --no-store --json
json null run
BILEVEL_STORE=none "$bilevel" solve --solver s-tfbo parabola --iters 1 --json >out 2>err || fail "BILEVEL_STORE=none"
json null run
refused "one of the two" solve --solver s-tfbo parabola --store a --no-store
refused "--checkpoint needs the store" solve --solver s-tfbo parabola --checkpoint 1 --no-store
refused "--checkpoint '0'" solve --solver s-tfbo parabola --checkpoint 0
refused "no/such.db" solve --solver s-tfbo parabola --iters 1 --store no/such.db

# ---- Files that are no store, damaged or newer
bad_store() {
    words=$1
    file=$2
    cp "$file" before
    refused "$words" solve --solver s-tfbo parabola --iters 1 --store "$file"
    refused "$words" runs --store "$file"
    refused "$words" resume 1 --store "$file"
    same before "$file"
}
printf 'not a database, but long enough to look like one: %0500d\n' 7 >text.db
bad_store "text.db: it is no run store, and no SQLite database at all" text.db
"$sql" mine.db "CREATE TABLE mine (a); INSERT INTO mine VALUES (1)"
bad_store "mine.db: it is a SQLite database, but no run store" mine.db
cp other.db newer.db
"$sql" newer.db "PRAGMA user_version = 2"
bad_store "newer.db: it is of version 2" newer.db
cp .runs.db torn.db
size=$(wc -c <torn.db)
dd if=/dev/zero of=torn.db bs=4096 seek=1 count=$((size / 4096 - 1)) conv=notrunc 2>/dev/null
run 2 runs --store torn.db
err_has "torn.db: it is damaged"
run 2 solve --solver s-tfbo parabola --iters 3 --store torn.db --json
err_has "torn.db: it is damaged"
json 3 iterations # the run itself went well

# ---- Several processes at once
for i in 1 2 3 4 5 6 7 8; do
    # shellcheck disable=SC2086
    "$bilevel" solve --solver s-tfbo $quadratic --iters 200 --every 10 --store shared.db --quiet 2>err.$i &
done
wait
cat err.? >err
case_name="eight at once"
err_empty
run 0 runs --store shared.db --status finished --json
json 8 '#'
"$sql" shared.db "SELECT run, count(*) FROM trace GROUP BY run" | cut -d'|' -f2 | sort -u >found
echo 21 >expected
same found expected
whole shared.db

# ---- Under way, stopped, killed
long="solve --solver s-tfbo quadratic --problem-set dx=300 --problem-set dy=300 --iters 1e15 --every 100"
# shellcheck disable=SC2086
"$bilevel" $long --store live.db --quiet &
process=$!
for i in $(seq 100); do
    "$bilevel" runs --store live.db --json >out 2>err && [ "$("$json_get" out '#')" -gt 0 ] && break
    sleep 0.05
done
run 0 runs --store live.db --json
json running 0 status
json $process 0 pid
refused "is under way: process $process" resume 1 --store live.db
refused "is under way: process $process" runs rm 1 --store live.db
for i in $(seq 200); do # rows are written every second, on a machine that is not busy
    [ "$("$sql" live.db "SELECT count(*) FROM trace WHERE iteration > 0")" -gt 0 ] && break
    sleep 0.1
done
kill -9 $process
wait $process 2>/dev/null
run 0 runs --store live.db --json
json interrupted 0 status
[ "$("$json_get" out 0 iterations)" -gt 0 ] || fail "$case_name: no rows of a killed run"
whole live.db
# shellcheck disable=SC2086
"$helpers/with_signals" trace int "$bilevel" $long --trace trace --store live.db --quiet ||
    fail "stopped by Ctrl-C"
run 0 runs --store live.db --json
json interrupted 1 status
json stopped 1 outcome
# The number of the process is taken by another one now
"$sql" live.db "UPDATE run SET status = 'running', pid = $$ WHERE id = 1"
run 0 runs --store live.db --json
json interrupted 0 status
# Another machine: it cannot be told
"$sql" live.db "UPDATE run SET host = 'elsewhere' WHERE id = 1"
run 0 runs --store live.db --json
json running 0 status
refused "on elsewhere" runs rm 1 --store live.db
run 0 runs rm 1 --force --store live.db

# ---- A store that may not grow
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 10 --store small.db --quiet
(
    ulimit -f 200 # blocks of 512 bytes
    # shellcheck disable=SC2086
    "$bilevel" solve --solver s-tfbo $quadratic --iters 3000 --every 1 --store small.db --json
) >out 2>err
code=$?
case_name="full disk"
[ "$code" -eq 2 ] || fail "exit code $code, expected 2"
json 3000 iterations
err_has "small.db"
err_has "the run continues without it"
[ "$(wc -l <err)" -eq 1 ] || fail "said more than once"
whole small.db
run 0 runs --store small.db --json
json 1 0 id
json finished 0 status
(
    ulimit -f 1
    # shellcheck disable=SC2086
    "$bilevel" solve --solver s-tfbo $quadratic --iters 10 --store small.db --json
) >out 2>err && fail "a store that cannot be opened"
[ ! -s out ] || fail "ran without the store that was asked for"
err_has "small.db"
whole small.db

# ---- Removing runs makes the file smaller, also one of an earlier version
size_of() {
    wc -c <"$1"
}
for kind in INCREMENTAL NONE; do
    rm -f shrink.db*
    for i in 1 2 3; do
        run 0 solve quadratic --solver s-tfbo --iters 500 --every 1 --quiet --store shrink.db
    done
    "$sql" shrink.db "PRAGMA journal_mode = DELETE" "PRAGMA auto_vacuum = $kind" VACUUM \
        "PRAGMA journal_mode = WAL" >/dev/null
    before=$(size_of shrink.db)
    run 0 runs rm 1 2 --store shrink.db
    err_empty
    after=$(size_of shrink.db)
    [ $((2 * after)) -lt "$before" ] || fail "$case_name: $before bytes became $after ($kind)"
    "$sql" shrink.db "PRAGMA integrity_check" >found
    [ "$(cat found)" = ok ] || fail "$case_name: the store is damaged"
    run 0 runs show 3 --store shrink.db
done

# ---- A full disk, and a place where nothing may be written: runs are listed, shown and removed
cat >in_namespace <<'END'
mount -t tmpfs -o size=2m none full || exit 77
export BILEVEL_STORE=$PWD/full/runs.db
for i in 1 2 3; do
    "$1" solve quadratic --solver s-tfbo --iters 300 --every 1 --quiet
done
dd if=/dev/zero of=full/rest bs=1k 2>/dev/null
"$1" runs --json >full.json && "$1" runs show 2 >/dev/null || exit 1
before=$(wc -c <full/runs.db)
"$1" runs rm 1 || exit 1
[ "$(wc -c <full/runs.db)" -lt "$before" ] || exit 2
"$1" runs --json >less.json || exit 1
rm full/rest
cp full/runs.db "closed/#store?.db"
mount --bind closed closed && mount -o remount,ro,bind closed || exit 77
BILEVEL_STORE="$PWD/closed/#store?.db" "$1" runs --json >closed.json || exit 3
BILEVEL_STORE="$PWD/closed/#store?.db" "$1" runs rm 2 && exit 4
exit 0
END
mkdir full closed
case_name="full disk"
unshare -rm sh in_namespace "$bilevel" >out 2>err
code=$?
if [ $code -ne 77 ] && [ -e full.json ]; then
    [ $code -eq 0 ] || fail "$case_name: step $code failed"
    for list in "full.json 3" "less.json 2" "closed.json 2"; do
        [ "$("$json_get" "${list% *}" '#')" = "${list#* }" ] || fail "$case_name: $list"
    done
fi

finish

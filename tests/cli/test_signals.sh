# Ctrl-C, and the progress line on a terminal.
. "$(dirname "$0")/lib.sh"

long="solve quadratic --problem-set dx=300 --problem-set dy=300 --iters 1e15 --every 1000000"

# signalled CODES SIGNALS ARGUMENT...: CODES is a regular expression
signalled() {
    expected=$1
    signals=$2
    shift 2
    case_name="bilevel $* ($signals)"
    "$helpers/with_signals" trace "$signals" "$bilevel" "$@" --trace trace >out 2>err
    code=$?
    echo "$code" | grep -qxE "$expected" ||
        fail "$case_name: exit code $code, expected $expected"
}

for signal in int term hup; do
    # shellcheck disable=SC2086
    signalled 0 $signal $long --solver s-tfbo --json --out result.npz
    err_empty
    json stopped status
    json 300 x '#'
    "$json_get" out certificate phi >value || fail "$case_name: no certificate"
    "$npz_tool" print result.npz x >value || fail "$case_name: no result file"
    rm -f result.npz
done
# shellcheck disable=SC2086
signalled 0 int $long --solver s-tfbo
out_has "stopped"
out_has "Phi(x)"

# Several solvers: the present run ends, those behind it do not begin, and what there is is shown
several() {
    trace=$1
    shift
    case_name="bilevel $* (int)"
    rm -f trace.*
    "$helpers/with_signals" "$trace" int "$bilevel" "$@" --trace trace >out 2>err ||
        fail "$case_name: not exit code 0"
    err_empty
}
# shellcheck disable=SC2086
several trace.s-tfbo $long --solver s-tfbo,soba,exact --json
json 1 runs '#'
json stopped runs 0 status
"$json_get" out runs 0 certificate phi >value || fail "$case_name: no certificate"
json soba not_run 0 solver
json "stopped before its turn" not_run 1 reason
# shellcheck disable=SC2086
several trace.soba $long --solver s-tfbo,soba,exact --set s-tfbo.iters=5
grep -qE '^s-tfbo +iterations ' out || fail "$case_name: s-tfbo is not shown"
grep -qE '^soba +stopped ' out || fail "$case_name: soba is not shown"
grep -qE '^  exact  stopped before its turn' out || fail "$case_name: exact is not listed"

# timeout(1) sends its signal twice: both are one wish, and the result is kept
# shellcheck disable=SC2086
signalled 0 int,term,hup $long --solver s-tfbo --json --out result.npz
json stopped status
[ -s result.npz ] || fail "$case_name: no result file"
rm -f result.npz

# A second one that comes later ends it at once, with 128 + SIGTERM. No file is left.
# shellcheck disable=SC2086
signalled 143 int+term $long --problem-set kappa=1e6 --solver s-tfbo --json --out result.npz
[ ! -s out ] || fail "$case_name: wrote to stdout"
# shellcheck disable=SC2010
ls -A | grep result && fail "$case_name: left a result file"

# A signal that was ignored from the start stays so: nohup
# shellcheck disable=SC2086
case_name="nohup"
(
    trap '' HUP
    "$bilevel" solve quadratic --iters 1e12 --tol 0 --seconds 2 --solver s-tfbo --quiet --json >out 2>err &
    pid=$!
    sleep 0.5
    kill -HUP $pid
    wait $pid
) || fail "$case_name: not exit code 0"

# Where nothing is under way a signal ends the command, and what it was writing is removed
awk 'BEGIN { for (j = 0; j < 50; j++) row = row "0." j ","
    for (i = 0; i < 100000; i++) print row i % 2 }' >rows.csv
for signal in int term hup; do
    case_name="data convert ($signal)"
    "$helpers/with_signals" big.csv.gz.000000000000.tmp $signal "$bilevel" data convert rows.csv \
        big.csv.gz >out 2>err
    code=$?
    [ $code -gt 128 ] || fail "$case_name: exit code $code, expected that of a signal"
    # shellcheck disable=SC2010
    ls -A | grep big.csv && fail "$case_name: left a file"
done
case_name="continual (term)"
"$bilevel" continual rows.csv --tasks 2 --seeds 100 --steps 100000 --methods uniform -o folder >out 2>err &
pid=$!
sleep 1
kill -TERM $pid
wait $pid
[ ! -e folder ] || fail "$case_name: left a folder"

# Pipes are read as files are, whatever reads them
awk 'BEGIN { for (i = 0; i < 40; i++) print i % 7 "," i % 3 "," (i + 1) % 2 }' >points.csv
run 0 tune points.csv --iters 2 -o model.npz --quiet
"$npz_tool" write start.npz x=1,2,3
printf 'one\ntwo\n' >groups.txt
echo '{"s-tfbo": {"alpha0": [1]}}' >grid.json
echo '{"name": "none"}' >suite.json
mkfifo pipe
# piped CODE FILE ARGUMENT...: the file comes through the pipe
piped() {
    code=$1
    cat "$2" >pipe &
    shift 2
    run "$code" "$@"
    wait
}
piped 0 model.npz predict pipe points.csv
out_has "accuracy"
piped 0 points.csv predict model.npz pipe
piped 0 points.csv tune pipe --iters 2 --quiet
piped 0 groups.txt tune points.csv --penalty groups:pipe --iters 2 --quiet
piped 0 start.npz solve quadratic --problem-set dx=3 --problem-set dy=2 --iters 1 --start pipe --quiet
piped 2 suite.json bench ./pipe
err_has "is missing"
refused "no regular file" runs --store pipe
refused "no regular file" solve quadratic --store pipe
cat pipe >rows &
run 0 solve quadratic --iters 3 --trace pipe --quiet
wait
[ "$(grep -c iteration rows)" -gt 0 ] || fail "$case_name: no trace came through"
# and where nobody writes, or reads a trace, a signal ends the waiting
for command in "predict pipe points.csv" "predict model.npz pipe" "solve quadratic --start pipe" \
    "bench ./pipe" "tune points.csv --penalty groups:pipe" "clean points.csv --probabilities pipe" \
    "data info pipe" "coreset pipe --size 3" "solve quadratic --trace pipe" \
    "tune points.csv --trace pipe"; do
    case_name="bilevel $command"
    # shellcheck disable=SC2086
    timeout -k 2 -s TERM 0.3 "$bilevel" $command >out 2>err
    code=$?
    [ $code -eq 124 ] || fail "$case_name: exit code $code, expected 124: it survived SIGTERM"
done

# The progress line, on a terminal only, cleared at the end
escape=$(printf '\033')
case_name="progress"
"$helpers/on_terminal" screen "$bilevel" solve quadratic --seconds 0.5 >out 2>err ||
    fail "on a terminal: not exit code 0"
tr '\r' '\n' <screen >lines
grep -qF "iteration " lines || fail "no progress line"
grep -qF "|gy| " lines || fail "no |gy| in the progress line"
[ "$(tail -c 4 screen)" = "$(printf '\r')${escape}[K" ] || fail "the progress line is not cleared"
out_has "Phi(x)"
"$helpers/on_terminal" screen "$bilevel" solve quadratic --solver s-tfbo,d-tfbo --seconds 0.3 >out \
    2>err || fail "several on a terminal: not exit code 0"
tr '\r' '\n' <screen >lines
for name in s-tfbo d-tfbo; do
    grep -qF "$name  iteration " lines || fail "no progress line of $name"
done
[ "$(tail -c 4 screen)" = "$(printf '\r')${escape}[K" ] || fail "the progress line is not cleared"
for option in --json --quiet; do
    "$helpers/on_terminal" screen "$bilevel" solve quadratic --seconds 0.3 $option >out 2>err ||
        fail "$option on a terminal: not exit code 0"
    [ ! -s screen ] || fail "$option: something is shown on the terminal"
done

finish

#!/bin/sh
# The command on two ranks of which one is short of memory once, at different calls, or cannot read or
# write: the job ends, well or with a message, and no rank waits for the other.
#
#     fault_test.sh BILEVEL_FAULTS RUN_RANKS DATA
set -eu
bilevel=$1
run_ranks=$2
data=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export BILEVEL_STORE="$work/runs.db"
gzip -dc "$data/digits.csv.gz" | head -150 >digits.csv
rows="train=digits.csv --problem-set val_size=50 --problem-set scaling=standard"
job="solve hyperclean --problem-set $rows --solver soba --iters 3 --threads 1 --checkpoint 0.001"

# one RANK FAULT: the exit code of the job
one() {
    # shellcheck disable=SC2016,SC2086
    timeout -s KILL 60 "$run_ranks" 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" != "$1" ] || export BILEVEL_FAULT="$2"
        shift 2; exec "$@"' - "$1" "$2" "$bilevel" $job >said.txt 2>err.txt && echo 0 || echo $?
}

failed=0
for fault in 1:alloc:100 0:alloc:200 1:alloc:300 1:alloc:520 1:alloc:667 1:alloc:780 0:alloc:850 0:file:4; do
    code=$(one "${fault%%:*}" "${fault#*:}")
    if [ "$code" -gt 2 ] || { [ "$code" -gt 0 ] && ! grep -q "^bilevel" err.txt; }; then
        echo "FAILED: exit code $code after $fault: $(cat err.txt)" >&2
        exit 1
    fi
    failed=$((failed + (code > 0)))
done
[ $failed -ge 5 ] || {
    echo "FAILED: only $failed of the faults did anything" >&2
    exit 1
}
echo "no rank waits for one that has failed"

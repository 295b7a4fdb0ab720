# --out, --start, --trace and the arrays of an instance.
. "$(dirname "$0")/lib.sh"

quadratic="quadratic --problem-set dx=3 --problem-set dy=2"

# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 10 --start random --out first.npz --json
"$npz_tool" list first.npz | sort >listed
printf '%s\n' "v 2" "v0 2" "x 3" "x0 3" "y 2" "y0 2" >expected
same listed expected
"$json_get" out x '*' | awk '{ printf "%.17g\n", $1 }' >expected
"$npz_tool" print first.npz x | awk '{ printf "%.17g\n", $1 }' >found
same expected found

# The end of one run is the start of the next
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 0 --start first.npz --out second.npz --quiet
for name in x y v; do
    "$npz_tool" print first.npz $name >expected
    "$npz_tool" print second.npz ${name}0 >found
    same expected found
done

# Without --start everything starts at zero
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 1 --out zero.npz --quiet
for name in x0 y0 v0; do
    "$npz_tool" print zero.npz $name | grep -qv '^0$' && fail "$case_name: $name is not zero"
done

# Bad starts: nothing is run, and no file is written
bad_start() {
    words=$1
    file=$2
    # shellcheck disable=SC2086
    refused "$words" solve --solver s-tfbo $quadratic --iters 10 --start "$file" --out never.npz
    [ ! -e never.npz ] || fail "$case_name: wrote never.npz"
}
"$npz_tool" write long.npz x=1,2,3,4
bad_start "long.npz: array x: expected 3 entries, found 4" long.npz
"$npz_tool" write short.npz x=1,2,3 v=1
bad_start "short.npz: array v: expected 2 entries, found 1" short.npz
"$npz_tool" write nan.npz x=1,nan,3
bad_start "nan.npz: array x: entry 1" nan.npz
"$npz_tool" write infinite.npz y=1,inf
bad_start "infinite.npz: array y: entry 1" infinite.npz
"$npz_tool" write other.npz z=1
bad_start "other.npz" other.npz
echo "not an archive" >text.npz
bad_start "text.npz" text.npz
bad_start "missing.npz" missing.npz
"$npz_tool" write large.npz x=1e300,0,0
# shellcheck disable=SC2086
refused "array x: entry 0" solve --solver s-tfbo $quadratic --precision f32 --start large.npz
# A start without x or y leaves them at zero
"$npz_tool" write part.npz y=1,2
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 0 --start part.npz --out part_out.npz --quiet
"$npz_tool" print part_out.npz y0 >found
printf '1\n2\n' >expected
same expected found
# A v is refused by a solver that has none
for solver in $("$bilevel" solvers --json >all && "$json_get" all '*' name); do
    rm -f has.npz
    # shellcheck disable=SC2086
    run 0 solve $quadratic --solver "$solver" --iters 1 --out has.npz --quiet
    if [ -e has.npz ] && ! "$npz_tool" list has.npz | grep -q '^v '; then
        # shellcheck disable=SC2086
        refused "has no v" solve $quadratic --solver "$solver" --iters 1 --start first.npz
    fi
done

# Output that cannot be written is refused before the run
mkdir taken.npz
# shellcheck disable=SC2086
refused "taken.npz" solve --solver s-tfbo $quadratic --iters 10 --out taken.npz
# shellcheck disable=SC2086
refused "nowhere/out.npz" solve --solver s-tfbo $quadratic --iters 10 --out nowhere/out.npz
# shellcheck disable=SC2086
refused "nowhere/trace" solve --solver s-tfbo $quadratic --iters 10 --trace nowhere/trace
# What was there stays when a run is refused
cp first.npz kept.npz
# shellcheck disable=SC2086
refused "alpha0" solve --solver s-tfbo $quadratic --set alpha0=x --out kept.npz
same first.npz kept.npz

# The trace
# shellcheck disable=SC2086
run 0 solve --solver s-tfbo $quadratic --iters 20 --every 5 --trace trace.jsonl --json
"$json_get" --lines trace.jsonl iteration >found || fail "$case_name: the trace is not JSON lines"
printf '%s\n' 0 5 10 15 20 >expected
same found expected
for key in seconds f g gy_norm d_norm; do
    "$json_get" --lines trace.jsonl $key >value || fail "$case_name: no $key in the trace"
done
# A trace that cannot be written to its end: the result is still shown
if [ -w /dev/full ]; then
    # shellcheck disable=SC2086
    run 2 solve --solver s-tfbo $quadratic --iters 20 --trace /dev/full --json
    json 20 iterations
    err_has "/dev/full"
fi

# The arrays of an instance
run 0 problems quadratic --problem-set dx=3 --problem-set dy=2 --out instance.npz
err_empty
"$npz_tool" list instance.npz | sort >listed
printf '%s\n' "A 4" "C 6" "b 2" "c 2" "ridge 1" | sort >expected
same listed expected
run 0 problems quadratic --problem-set dx=3 --problem-set dy=2 --out instance.npz --json
json "[2, 3]" arrays C
refused "nowhere/out.npz" problems quadratic --out nowhere/out.npz

# Where a mapped file is cut under the command the system sends SIGBUS: a message and exit code 2
"$bilevel" solve --solver s-tfbo pl-shift --iters 1e12 --tol 0 --no-store --quiet --out never.npz >out 2>err &
pid=$!
sleep 0.5
kill -BUS $pid
wait $pid
code=$?
case_name="solve with a file that is cut"
[ $code -eq 2 ] || fail "$case_name: exit code $code, expected 2"
err_has "a file that is in use was cut"
[ ! -e never.npz ] || fail "$case_name: wrote never.npz"

finish

# solve with several solvers: each runs as it would alone, and one table shows them all.
. "$(dirname "$0")/lib.sh"

small="solve quadratic --problem-set dx=6 --problem-set dy=4 --problem-set kappa=10"

"$bilevel" solvers --json >all
"$json_get" all '*' name >names
count=$(wc -l <names)

# without_time FILE KEY...: everything that does not depend on when and how fast it ran
without_time() {
    "$json_get" "$@" | sed 's/"run": [0-9]*, //; s/"seconds": [^,]*, //'
}

# calls_of FILE KEY...: of the steps and the setup together
calls_of() {
    "$json_get" "$@" | sed 's/.*"counts": {\([^}]*\)}, "setup_counts": {\([^}]*\)}.*/\1, \2/' |
        tr ',' '\n' | awk '{ sum += $2 } END { print NR == 10 ? sum : "not all counts" }'
}

# ---- All of them, and each as alone
# shellcheck disable=SC2086
run 0 $small --solver all --iters 30 --seed 3 --start random
err_empty
for words in "Problem  quadratic, dimension 6 in x and 4 in y, f64" SOLVER OUTCOME PHI "|GRAD PHI|" \
    ITERATIONS SECONDS CALLS certified; do
    out_has "$words"
done
cp out table
# shellcheck disable=SC2086
run 0 $small --solver all --iters 30 --seed 3 --start random --json
err_empty
[ "$(wc -l <out)" -eq 1 ] || fail "$case_name: more than one line on stdout"
json quadratic problem
json "$count" runs '#'
json 0 not_run '#'
"$json_get" out runs '*' phi >found
LC_ALL=C sort -g found >expected
same found expected
"$json_get" out runs '*' solver | sort >found
sort names >expected
same found expected
awk 'NR > 3 && NF == 7 { print $1 }' table >found
"$json_get" out runs '*' solver >expected
same found expected
cp out together
i=0
for name in $("$json_get" together runs '*' solver); do
    # shellcheck disable=SC2086
    run 0 $small --solver "$name" --iters 30 --seed 3 --start random --json
    without_time out >expected
    without_time together runs $i >found
    cmp -s found expected || fail "$name: not as when it runs alone: $(diff found expected)"
    calls=$(calls_of out)
    awk -v name="$name" -v calls="$calls" \
        '$1 == name { found = $NF == calls } END { exit !found }' table ||
        fail "$name: the table does not show $calls calls"
    i=$((i + 1))
done

# ---- A list
run 0 solve parabola --solver exact,s-tfbo --iters 20 --json
json 2 runs '#'
"$json_get" out runs '*' solver | sort >found
printf '%s\n' exact s-tfbo >expected
same found expected
# The same start for all
# shellcheck disable=SC2086
run 0 $small --solver all --iters 0 --seed 5 --start random --json
[ "$("$json_get" out runs '*' x | sort -u | wc -l)" -eq 1 ] || fail "$case_name: other starts"
[ "$("$json_get" out runs 0 x 0)" != 0.0 ] || fail "$case_name: not a random start"
# The same budget for all: no call is made once it is used up
# shellcheck disable=SC2086
run 0 $small --solver all --budget 300 --json
i=0
while [ $i -lt "$count" ]; do
    calls=$(calls_of out runs $i)
    status=$("$json_get" out runs $i status)
    case $status in
    budget) [ $calls -ge 300 ] && [ $calls -le 305 ] || fail "$case_name: run $i: $calls calls" ;;
    converged | uncertified | stalled) [ $calls -le 305 ] || fail "$case_name: run $i: $calls calls" ;;
    *) fail "$case_name: run $i ended as $status" ;;
    esac
    i=$((i + 1))
done
run 0 solve parabola --solver soba,exact --iters 5 --quiet
err_empty
[ ! -s out ] || fail "$case_name: not quiet"

# ---- One that diverges does not stop the others
run 1 solve parabola --solver soba,exact,s-tfbo --set soba.step_x=1e300 --iters 50 --json
err_has "bilevel solve: soba: diverged"
[ "$(wc -l <err)" -eq 1 ] || fail "$case_name: more than one message"
json 3 runs '#'
for name in soba exact s-tfbo; do
    "$json_get" out runs '*' solver >solvers
    "$json_get" out runs '*' status >status
    paste solvers status | grep -qE "^$name	$([ $name = soba ] && echo diverged || echo '(converged|iterations)')" ||
        fail "$case_name: $name did not end as it should"
done
run 1 solve parabola --solver soba,exact --set soba.step_x=1e300 --iters 50
out_has "diverged"
out_has "converged"
# No certificate: at the end of the table, and null
"$npz_tool" write far.npz x=1e308 y=1e308
run 1 solve parabola --solver soba,s-tfbo --start far.npz --iters 3 --json
json null runs 0 phi
run 1 solve parabola --solver soba,s-tfbo --start far.npz --iters 3
grep -qE '^soba +diverged +- +- ' out || fail "$case_name: no dash for what is not known"

# ---- Settings
# shellcheck disable=SC2086
run 0 $small --solver soba,aid-cg,exact --set soba.step_x=0.5 --set step_x=0.25 --set inner=3 \
    --set soba.iters=4 --iters 7 --set exact.memory=5 --json
i=0
for name in $("$json_get" out runs '*' solver); do
    case $name in
    soba) step=0.5 iters=4 ;;
    aid-cg) step=0.25 iters=7 ;;
    exact) step= iters= ;;
    esac
    [ -z "$iters" ] || json $iters runs $i iterations
    [ -z "$step" ] || json $step runs $i parameters step_x
    [ "$name" != aid-cg ] || json 3 runs $i parameters inner
    [ "$name" != exact ] || json 5 runs $i parameters memory
    i=$((i + 1))
done
run 0 solve parabola --solver soba --set soba.step_x=0.5 --set step_x=0.25 --iters 3 --json
json 0.5 parameters step_x
refused "none of the solvers that run has a parameter 'stepx'; did you mean 'step_x'?" \
    solve parabola --solver soba,exact --set stepx=1
refused "did you mean 'iters'" solve parabola --solver soba,exact --set iter=1
refused "none of the solvers that run has a parameter 'inner'" solve parabola --solver soba,exact \
    --set inner=3
refused "among the solvers that run is no 'sobba'; did you mean 'soba'?" \
    solve parabola --solver soba,exact --set sobba.step_x=1
refused "among the solvers that run is no 'aid-cg'" solve parabola --solver soba,exact \
    --set aid-cg.inner=3
refused "is no 'aid-cg'" solve parabola --solver soba --set aid-cg.inner=3
refused "solver soba has no parameter 'inner'" solve parabola --solver soba,aid-cg --set soba.inner=3
refused "decay" solve parabola --solver exact,soba --set decay=7 --trace never.jsonl --out never.npz
refused "iters" solve parabola --solver exact,soba --iters x
[ -z "$(find . -name 'never*')" ] || fail "a refused command wrote its file"

# ---- Names
refused "there is no solver 'sobba'; did you mean 'soba'?" solve parabola --solver exact,sobba
refused "there is no solver ''" solve parabola --solver soba,,exact
refused "there is no solver ''" solve parabola --solver soba,
refused "there is no solver ''" solve parabola --solver ,soba
refused "soba is named twice" solve parabola --solver soba,exact,soba
refused "there is no solver 'all'" solve parabola --solver all,soba
refused "there is no solver ''" solve parabola --solver ""
refused "there is no solver 'All'" solve parabola --solver All
refused "there is no problem" solve nothing --solver all

# ---- Files
run 0 solve parabola --solver soba,exact --iters 3 --every 1 --trace run.jsonl --out end.npz --quiet
mkdir folder.d
run 0 solve parabola --solver soba,exact --iters 3 --trace folder.d/run --quiet
run 0 solve parabola --solver soba,exact --iters 3 --trace .run --quiet
for name in soba exact; do
    for file in run.$name.jsonl folder.d/run.$name .run.$name; do
        "$json_get" --lines $file iteration >found || fail "$case_name: $file is no trace"
    done
    run 0 solve parabola --solver $name --iters 3 --every 1 --trace alone.jsonl --out alone.npz --quiet
    "$json_get" --lines alone.jsonl f >expected
    "$json_get" --lines run.$name.jsonl f >found
    same expected found
    "$npz_tool" print alone.npz x >expected
    "$npz_tool" print end.$name.npz x >found
    same expected found
done
[ ! -e run.jsonl ] && [ ! -e end.npz ] || fail "a file without the name of a solver was written"
refused "nowhere/end.npz" solve parabola --solver soba,exact --iters 3 --out nowhere/end.npz
refused "nowhere/run.exact.jsonl" solve parabola --solver soba,exact --iters 3 \
    --trace nowhere/run.jsonl
refused "missing.npz" solve parabola --solver soba,exact --iters 3 --start missing.npz
[ "$(wc -l <err)" -eq 1 ] || fail "$case_name: more than one message"
# v goes to those that have one
"$npz_tool" write start.npz x=0.25 y=0.5 v=0.75
run 0 solve parabola --solver all --iters 0 --start start.npz --json
[ "$("$json_get" out runs '*' x 0 | sort -u)" = 0.25 ] || fail "$case_name: another x"
[ "$("$json_get" out runs '*' y 0 | sort -u)" = 0.5 ] || fail "$case_name: another y"
grep -qF '"v": [0.75]' out || fail "$case_name: no solver took v"
"$npz_tool" write long.npz x=1,2
refused "array x: expected 1 entries, found 2" solve parabola --solver soba,exact --start long.npz

# ---- What does not suit is listed with the reason
"$json_get" all '*' name >names
"$json_get" all '*' uses_inverse >inverse
paste names inverse | awk '$2 == "true" { print $1 }' | sort >unsuited
paste names inverse | awk '$2 == "false" { print $1 }' | sort >suited
if [ -s suited ]; then
    "$bilevel" solve non-singleton --solver all --iters 20 --json >out 2>err
    [ $? -le 1 ] || fail "non-singleton: refused"
    "$json_get" out runs '*' solver | sort >found
    same found suited
    "$json_get" out not_run '*' solver | sort >found
    same found unsuited
    "$json_get" out not_run '*' reason | grep -qv singular && fail "non-singleton: another reason"
    first=$(head -n 1 suited)
    "$bilevel" solve non-singleton --solver "exact,$first" --iters 20 >out 2>err
    grep -A 1 '^Not run' out | grep -q '^  exact  .*singular' || fail "$case_name: no reason"
else
    refused "none of the solvers suits problem non-singleton as it is" solve non-singleton --solver all
    refused "singular" solve non-singleton --solver soba,exact
fi

# With gradients only, those that want products run when they are named
"$json_get" all '*' uses_hvp >hvp
"$json_get" all '*' uses_jvp >jvp
paste names hvp jvp | awk '/true/ { print $1 }' | sort >unsuited
paste names hvp jvp | awk '!/true/ { print $1 }' | sort >suited
if [ -s suited ]; then
    # shellcheck disable=SC2086
    run 0 $small --solver all --gradients-only --iters 20 --json
    "$json_get" out runs '*' solver | sort >found
    same found suited
    "$json_get" out not_run '*' solver | sort >found
    same found unsuited
    "$json_get" out not_run '*' reason | grep -qv differences && fail "$case_name: another reason"
else
    # shellcheck disable=SC2086
    refused "differences" $small --solver all --gradients-only --iters 20
fi
# shellcheck disable=SC2086
run 0 $small --solver exact,s-tfbo --gradients-only --iters 20 --json
json 2 runs '#'
json true runs 0 gradients_only
json 0 runs 1 counts hvp
grep -qF "Hv by central differences" out || fail "$case_name: no note on differences"

finish

# solve: summary, JSON, limits, exit codes.
. "$(dirname "$0")/lib.sh"

run 0 solve --solver s-tfbo quadratic --problem-set dx=6 --problem-set dy=4 --iters 10
err_empty
for words in "quadratic" "dimension 6 in x and 4 in y" "s-tfbo" "iterations: " "Memory" \
    "Oracle calls" "Phi(x)" "|grad Phi(x)|" "inner residual" "known solution" "alpha0 = " \
    "kappa = "; do
    out_has "$words"
done
if grep -q "$(printf '\033')" out; then
    fail "$case_name: colours in a file"
fi
run 0 solve --solver s-tfbo parabola --iters 10 --quiet
err_empty
[ ! -s out ] || fail "$case_name: not quiet"

run 0 solve --solver s-tfbo quadratic --problem-set dx=6 --problem-set dy=4 --iters 10 --json
err_empty
json quadratic problem
json s-tfbo solver
json f64 precision
json iterations status
json 10 iterations
json 10 options iters
json 6 problem_parameters dx
json 4 problem_parameters dy
json 6 x '#'
json 4 y '#'
json 4 v '#'
for keys in "message" "seconds" "memory_bytes" "counts f_grad" "counts g_grad" "counts hvp" \
    "counts jvp" "counts values" "setup_counts hvp" "check_counts hvp" "phi" "grad_norm" \
    "inner_residual" "estimate_error" "certificate phi" "certificate grad_norm" \
    "certificate inner_residual" "certificate solve_residual" "certificate linear_residual" \
    "certificate estimate_error" "certificate projected" "certificate singular" \
    "certificate tight" "parameters alpha0" "notes" "distance_to_solution x"; do
    # shellcheck disable=SC2086
    "$json_get" out $keys >value || fail "$case_name: no $keys"
done
[ "$(wc -l <out)" -eq 1 ] || fail "$case_name: more than one line on stdout"

run 0 solve --solver s-tfbo parabola --set alpha0=2.5 --set beta0=3 --set beta0=0.5 --iters 3 --iters 4 --json
json 2.5 parameters alpha0
json 0.5 parameters beta0
json 4 iterations

# An option that has no name of its own here
run 0 solve --solver s-tfbo parabola --set certify=on --iters 3 --json
json on options certify

run 0 solve --solver s-tfbo parabola --tol 1e-8 --json
json converged status
json_near 0.5 1e-6 phi
json_near 0.5 1e-4 x 0
json_near 0 1e-4 distance_to_solution x
run 0 solve --solver s-tfbo parabola --target 0.6 --every 1 --json
json target status
run 0 solve --solver s-tfbo quadratic --budget 1000 --json
json budget status
run 0 solve --solver s-tfbo quadratic --problem-set dx=300 --problem-set dy=300 --seconds 0.05 --json
json seconds status
run 0 solve parabola --solver exact --tol 1e-9 --json
json exact solver
json_near 0.5 1e-6 phi

# Long vectors are not printed
run 0 solve --solver s-tfbo quadratic --problem-set dx=1001 --problem-set dy=3 --iters 1 --json
json 1001 dim_x
json 3 y '#'
if "$json_get" out x >value 2>/dev/null; then
    fail "$case_name: 1001 entries of x were printed"
fi

# The same bits from the same seed, others from another, whatever the threads
run 0 solve --solver s-tfbo quadratic --iters 20 --start random --seed 5 --threads 1 --json
"$json_get" out x >first
run 0 solve --solver s-tfbo quadratic --iters 20 --start random --seed 5 --threads 2 --json
"$json_get" out x >second
same first second
run 0 solve --solver s-tfbo quadratic --iters 20 --start random --seed 6 --json
"$json_get" out x >second
cmp -s first second && fail "$case_name: the seed changes nothing"

run 0 solve --solver s-tfbo parabola --precision f32 --iters 5 --json
json f32 precision

# A start at which the functions overflow: diverged, and the report is still complete
"$npz_tool" write far.npz x=1e308 y=1e308 || fail "npz_tool"
run 1 solve --solver s-tfbo parabola --start far.npz --iters 10 --json
json diverged status
json null phi
err_has "diverged"
run 1 solve --solver s-tfbo parabola --start far.npz --iters 10
out_has "diverged"
out_has "No certificate"
err_has "diverged"

# A lower level without a unique solution: implicit methods must not return nonsense
"$bilevel" solve non-singleton --solver aid-cg --iters 10 >out 2>err
code=$?
case_name="non-singleton"
[ "$code" -ne 0 ] || fail "exit code 0 on a singular lower level"
err_has "singular"

# A box, and a Phi that curves down along the steps: longer ones are tried, and that is no failure
for digit in 1 9; do
    run 0 solve l2reg --problem-set "train=$(dirname "$0")/../../data/digits.csv.gz" --problem-set header=no \
        --problem-set positive=$digit --problem-set val_size=300 --problem-set scaling=unit \
        --problem-set lo=-12 --problem-set hi=1 --batch full --no-store --threads 1
    out_has "converged: certified to the tolerance"
done

# Without a GPU, or without its library: the reason. auto does without
export CUDA_VISIBLE_DEVICES=
printf '%s\n' 1,2,a 2,1,b 1,3,a 3,1,b 2,4,a 4,2,b >rows.csv
for command in "solve quadratic" "check quadratic" "clean rows.csv" "tune rows.csv"; do
    # shellcheck disable=SC2086
    refused " here: " $command --device cuda
    grep -q "^bilevel [a-z]*: no \(GPU\|CUDA\) here: " err || fail "$case_name: no reason"
    [ -e /proc/driver/nvidia ] || ! grep -q version err || fail "$case_name: there is no driver"
done
run 0 solve quadratic --device auto --iters 2
out_has "Iterations  2"

# A library for GPUs beside the other that cannot be loaded: what is wrong with that one
library=$(ldd "$bilevel" | sed -n 's/.*=> \([^ ]*libbilevel\.so[^ ]*\) .*/\1/p')
beside=$PWD/${library##*/}
[ -z "$library" ] || cp "$library" "$beside"
if [ -n "$library" ] && LD_PRELOAD=$beside "$bilevel" version >out 2>err; then # not with sanitizers
    : >"libbilevel-cuda.${library##*/libbilevel.}"
    case_name="an empty library for GPUs"
    LD_PRELOAD=$beside "$bilevel" solve quadratic --device cuda >out 2>err
    [ $? -eq 2 ] || fail "other exit code than 2"
    err_has "file too short"
fi

finish

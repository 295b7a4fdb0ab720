# --isa and BILEVEL_ISA: all instructions with fused multiply-add give the same bits; those without
# give nearly the same, and `resume` on the other kind says so.
. "$(dirname "$0")/lib.sh"

refused "--isa: there are no instructions 'mmx'" --isa mmx version
refused "--isa: there are no instructions ''" --isa
BILEVEL_ISA=mmx refused "BILEVEL_ISA: there are no instructions 'mmx'" version
run 0 --isa=best version
out_has "bilevel "
case $(uname -m) in
x86_64) ;;
*)
    echo "one set of instructions here"
    finish
    ;;
esac

digits=$(dirname "$0")/../../data/digits.csv.gz
run 0 data split "$digits" train.csv val.csv test.csv --sizes 300,120,200 --seed 2

# solves ISA ARGUMENT...: the answer in ISA.npz, Phi in ISA.phi
solves() {
    isa=$1
    shift
    run 0 --isa "$isa" solve "$@" --threads 1 --no-store --json --out "$isa.npz"
    "$json_get" out certificate phi >"$isa.phi"
}

# Whole solves: softmax and logistic rows, by gradients and by products with the Hessian.
for precision in f64 f32; do
    for problem in "l2reg --problem-set train=train.csv --problem-set val=val.csv --solver soba --iters 40" \
        "l2reg --problem-set train=train.csv --problem-set val=val.csv --problem-set positive=3 --solver soba --iters 40" \
        "hyperclean --problem-set train=train.csv --problem-set val=val.csv --solver soba --iters 40"; do
        # shellcheck disable=SC2086
        for isa in best base; do
            solves $isa $problem --precision $precision --seed 1
        done
        paste best.phi base.phi | awk '($1 - $2) ^ 2 > 1e-4 * $2 ^ 2 { exit 1 }' ||
            fail "$problem: $(paste best.phi base.phi)"
        "$bilevel" --isa avx2 version >out 2>err || continue # this processor has no more
        # shellcheck disable=SC2086
        solves avx2 $problem --precision $precision --seed 1
        same avx2.npz best.npz
    done
done

# ---- A run that goes on with the other kind of arithmetic
"$bilevel" --isa avx2 version >out 2>err || finish
set -- --solver soba quadratic --problem-set dx=5 --problem-set dy=5 --iters 200000
"$helpers/with_signals" trace int "$bilevel" --isa base solve "$@" --trace trace --json >out 2>err
json stopped status
run 0 runs show 1 --json
json "$("$bilevel" version | awk '{ print $NF }') without FMA" version
cp .runs.db kept.db
run 0 resume 1 --json
err_has "without FMA, this is"
cp kept.db .runs.db
run 0 --isa base resume 1 --json
if grep -q "without FMA" err; then
    fail "the same arithmetic"
fi
finish

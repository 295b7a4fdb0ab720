# Help, and what is refused with exit code 2.
. "$(dirname "$0")/lib.sh"

run 0 --help
out_has "Usage: bilevel COMMAND"
run 0 help
out_has "solvers"
run 0 help solve
out_has "--problem-set"
run 0 version
grep -qE '^bilevel [0-9]+\.[0-9]+\.[0-9]+$' out || fail "version: unexpected text"
run 0 --version
grep -qE '^bilevel [0-9]+\.[0-9]+\.[0-9]+$' out || fail "--version: unexpected text"
for command in solve solvers problems check data version; do
    run 0 $command --help
    out_has "Usage: bilevel $command"
    err_empty
done
run 0 solve --help
for option in iters seconds budget tol target seed batch sampler every certify; do
    out_has "$option"
done

refused "Usage"
refused "did you mean 'solve'" slove parabola
refused "there is no command" entirely-different
refused "no problem is named" solve
refused "no problem is named" check
refused "too many" solve --solver s-tfbo parabola parabola
refused "too many" solvers s-tfbo exact
refused "one argument too many" version now
refused "unrecognized option" solve --solver s-tfbo parabola --iterations 3
refused "unrecognized option" solvers --yaml
refused "unrecognized option '--sedd'; did you mean '--seed'?" check parabola --sedd 3
refused "did you mean '--threads'" check parabola --problem-set --seedd --thraed=3
refused "did you mean 'quadratic'" solve --solver s-tfbo quadratc
refused "did you mean 'parabola'" check parabla
refused "did you mean 'parabola'" problems parabla
refused "did you mean 's-tfbo'" solve parabola --solver s-tfob
refused "did you mean 's-tfbo'" solvers s-tfob
refused "did you mean 'alpha0'" solve --solver s-tfbo parabola --set alpa0=1
refused "did you mean 'kappa'" solve --solver s-tfbo quadratic --problem-set kapa=10
refused "did you mean 'kappa'" problems quadratic --problem-set kapa=10
refused "KEY=VALUE" solve --solver s-tfbo parabola --set alpha0
refused "KEY=VALUE" solve --solver s-tfbo parabola --set =1
refused "KEY=VALUE" solve --solver s-tfbo quadratic --problem-set kappa
refused "name of a problem" problems --problem-set kappa=3
refused "name of a problem" problems --out instance.npz
refused "alpha0" solve --solver s-tfbo parabola --set alpha0=
refused "alpha0" solve --solver s-tfbo parabola --set alpha0=one
refused "kappa" solve --solver s-tfbo quadratic --problem-set kappa=-1
refused "f32 or f64" solve --solver s-tfbo parabola --precision f16
refused "--threads" solve --solver s-tfbo parabola --threads -1
refused "--threads" solve --solver s-tfbo parabola --threads 2x
refused "--threads" solve --solver s-tfbo parabola --threads 99999999999999999999
refused "--seed" check parabola --seed " 1"
refused "iters" solve --solver s-tfbo parabola --iters 10x
refused "iters" solve --solver s-tfbo parabola --iters -3
refused "seconds" solve --solver s-tfbo parabola --seconds soon
refused "budget" solve --solver s-tfbo parabola --budget 0
refused "tol" solve --solver s-tfbo parabola --tol -1
refused "target" solve --solver s-tfbo parabola --target nan
refused "seed" solve --solver s-tfbo parabola --seed 0x10
refused "batch" solve --solver s-tfbo parabola --batch none
refused "sampler" solve --solver s-tfbo parabola --sampler sorted
refused "every" solve --solver s-tfbo parabola --every 0

if [ -w /dev/full ]; then
    for arguments in "solvers" "problems --json" "version" "--help" "solve --help" \
        "solve parabola --iters 5" "solve parabola --iters 5 --json"; do
        case_name="bilevel $arguments >/dev/full"
        : >out
        # shellcheck disable=SC2086
        "$bilevel" $arguments >/dev/full 2>err
        code=$?
        [ "$code" -eq 2 ] || fail "$case_name: exit code $code, expected 2"
        err_has "standard output cannot be written"
    done
fi
case_name="stdout closed"
"$bilevel" version >&- 2>err
code=$?
[ "$code" -eq 2 ] || fail "$case_name: exit code $code, expected 2"

# ---- Numbers and messages do not depend on the locale
printf 'a,b,label\n0.5,1.25,x\n2.5,0.75,y\n1.5,3.5,x\n0.25,2,y\n' >numbers.csv
for command in "data stats numbers.csv" "data info numbers.csv --json" "data convert numbers.csv out.csv" \
    "solve quadratic --no-store --solver s-tfbo --iters 20 --set alpha0=0.5 --trace trace" "solve"; do
    for locale in C de_DE.UTF-8 de_DE.utf8 fr_FR.UTF-8; do
        rm -f trace out.csv
        # shellcheck disable=SC2086
        LC_ALL=$locale "$bilevel" $command >out 2>&1
        cat trace out.csv >>out 2>/dev/null
        sed -e '/^Seconds/d' -e 's/"seconds":[^,]*//g' out >"out.$locale"
        case_name="bilevel $command in the locale $locale"
        same "out.$locale" out.C
    done
done

finish

# No output of any command overwrites an input, the run store or another output, by whatever name.
. "$(dirname "$0")/lib.sh"

awk 'BEGIN { OFS = ","; srand(1); print "a,b,label"
    for (i = 0; i < 60; i++) { c = i % 2; print c + rand(), rand() - c, c ? "yes" : "no" } }' >dig.csv
cp dig.csv original.csv
cp dig.csv other.csv
ln -s dig.csv link.csv
ln dig.csv hard.csv
mkdir folder

# kept WORDS ARGUMENT...: refused with these words, and every file is as it was
kept() {
    refused "$@"
    for input in dig.csv other.csv hard.csv; do
        cmp -s original.csv $input || fail "$case_name: $input was changed"
        cp original.csv dig.csv # in place: hard.csv stays the same file
    done
    find . -name '*.tmp' | grep -q . && fail "$case_name: left a temporary file"
}

# An input, by every kind of name
for name in dig.csv ./dig.csv folder/../dig.csv "$PWD/dig.csv" link.csv hard.csv; do
    kept "is an input of this command" clean dig.csv -o $name
    kept "is an input of this command" clean dig.csv --write-clean $name
    kept "is an input of this command" tune dig.csv --trace $name
    kept "is an input of this command" data split dig.csv $name b.csv
done
kept "is an input of this command" clean link.csv -o dig.csv
kept "is an input of this command" clean dig.csv --val other.csv -o other.csv
kept "is an input of this command" clean dig.csv --test other.csv -o other.csv
kept "is an input of this command" tune dig.csv -o dig.csv
kept "is an input of this command" tune dig.csv --penalties dig.csv
kept "is an input of this command" tune dig.csv --penalty groups:other.csv -o other.csv
kept "is an input of this command" coreset dig.csv --size 5 -o dig.csv
kept "is an input of this command" coreset dig.csv --size 5 --write-subset dig.csv
kept "is an input of this command" data convert dig.csv dig.csv
kept "is an input of this command" data corrupt dig.csv dig.csv --share 0.1
kept "is an input of this command" data corrupt dig.csv a.csv --share 0.1 --truth hard.csv
kept "is an input of this command" predict model.npz dig.csv -o dig.csv
kept "is an input of this command" solve l2reg --problem-set train=dig.csv --out hard.csv
BILEVEL_DATA=$PWD kept "is an input of this command" solve l2reg --problem-set train=dig.csv \
    --trace ./dig.csv
"$npz_tool" write start.npz x=1,2,3
cp start.npz kept.npz
refused "is an input of this command" solve quadratic --start start.npz --out ./start.npz
same start.npz kept.npz
mkdir results
ln dig.csv results/results.csv
kept "is an input of this command" continual dig.csv --tasks 2 --seeds 1 --steps 5 \
    --methods uniform --memory 4 -o results --quiet

# A file of labels that is read without being named
{
    printf '\000\000\010\003\000\000\000\004\000\000\000\001\000\000\000\002'
    printf 'abcdefgh'
} >train-images-idx3-ubyte
printf '\000\000\010\001\000\000\000\004\000\001\000\001' >train-labels-idx1-ubyte
cp train-labels-idx1-ubyte kept
refused "is an input of this command" data convert train-images-idx3-ubyte \
    train-labels-idx1-ubyte --format csv
refused "is an input of this command" clean train-images-idx3-ubyte -o ./train-labels-idx1-ubyte
refused "is an input of this command" solve l2reg \
    --problem-set train=train-images-idx3-ubyte --out train-labels-idx1-ubyte
same train-labels-idx1-ubyte kept
cp dig.csv my-images.csv
cp dig.csv my-labels.csv # of another format: no labels of those
run 0 data convert my-images.csv my-labels.csv

# The run store
run 0 solve quadratic --iters 5 --quiet
cp "$BILEVEL_STORE" store.kept
for name in .runs.db ./.runs.db .runs.db-wal; do
    refused "is the run store" solve quadratic --iters 5 --out $name
    refused "is the run store" clean dig.csv -o $name
    refused "is the run store" data convert dig.csv $name --format csv
done
refused "is the run store" report 1 -o .runs.db
refused "is the run store" runs export 1 --checkpoint .runs.db
run 0 runs show 1

# One output twice
for name in a.csv ./a.csv folder/../a.csv; do
    kept "is named twice as output" data split dig.csv a.csv $name
    kept "is named twice as output" data corrupt dig.csv a.csv --share 0.1 --truth $name
    kept "is named twice as output" clean dig.csv -o a.csv --write-clean $name
    kept "is named twice as output" tune dig.csv -o a.csv --penalties $name
    kept "is named twice as output" tune dig.csv -o a.csv --trace $name
    kept "is named twice as output" coreset dig.csv --size 5 -o a.csv --write-subset $name
    kept "is named twice as output" solve quadratic --trace a.csv --out $name
    [ ! -e a.csv ] || fail "$case_name: wrote a.csv"
done
echo there >a.csv
ln a.csv same.csv
kept "is named twice as output" data split dig.csv a.csv same.csv
ln -s later.csv dangling.csv
kept "is named twice as output" solve quadratic --trace dangling.csv --out later.csv
kept "is named twice as output" runs export 1 --out new --checkpoint ./new.csv

# No name at all: told before the work, not when it is lost
for arguments in "clean dig.csv -o" "tune dig.csv -o" "coreset dig.csv --size 3 -o" "data convert dig.csv" \
    "solve quadratic --out" "solve quadratic --trace" "bench quadratic --page" "data split dig.csv a.csv"; do
    # shellcheck disable=SC2086
    refused "expected the name of a file" $arguments ""
done

# What a benchmark writes in its folder, its finished runs among it, and figures
run 0 bench quadratic --quick --iters 2 --seeds 1 --solvers soba -o bench --no-plots --no-store
cp bench/points.jsonl bench/stored.jsonl .
for name in points.jsonl ./points.jsonl stored.jsonl index.html; do
    refused "is named twice as output" bench quadratic --quick --iters 2 --seeds 1 --solvers soba \
        -o bench --no-plots --no-store --page bench/$name
    same bench/points.jsonl points.jsonl
done
if command -v gnuplot >/dev/null; then
    refused "is named twice as output" bench quadratic --from stored.jsonl -o again --no-plots \
        --figures "$PWD" --page "$PWD/quadratic-kappa100.svg"
fi

# Names of what is open are nobody's: they would be replaced, for everybody. In a /dev of its own.
cat >in_namespace <<'END'
mount -t tmpfs none /dev || exit 77
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/1 /dev/stdout
for name in /dev/stdout /dev/fd/1 /proc/self/fd/1 /dev/new.csv; do
    "$1" data convert dig.csv $name --format csv >out 2>err
    [ $? -eq 2 ] || echo "$name: expected exit code 2"
done
[ -L /dev/stdout ] || echo "/dev/stdout was replaced"
[ ! -e /dev/new.csv ] || echo "wrote to /dev"
END
case_name="outputs in /dev"
unshare -rm sh in_namespace "$bilevel" >found 2>/dev/null
[ ! -s found ] || fail "$case_name: $(cat found)"

# What is no file, or another file, may be named
run 0 solve quadratic --iters 5 --trace /dev/null --quiet
run 0 data split dig.csv one.csv two.csv
run 0 data split dig.csv one.csv two.csv
run 0 data convert one.csv one.libsvm
run 0 solve quadratic --iters 5 --out end.npz --quiet
run 0 solve quadratic --iters 5 --out end.npz --quiet

finish

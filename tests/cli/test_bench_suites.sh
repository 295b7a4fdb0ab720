# The quick form of every suite that comes along: each file is read and each of its entries runs.
. "$(dirname "$0")/lib.sh"
unset BILEVEL_DATA

run 0 bench list
tail -n +2 out | sed '/^$/,$d' | awk '{print $1}' >names
for name in quadratic l2reg-synthetic l2reg-ijcnn1 l2reg-covtype hyperclean-mnist \
    hyperclean-fashion news20 sensitivity vrbo-inner-steps hyperclean-nn-mnist coreset-mnist \
    coreset-digits continual-digits continual-mnist continual-sensitivity continual-cifar100 decay-cifar10 \
    decay-cifar100; do
    grep -qx "$name" names || fail "there is no suite $name"
done
while read -r name; do
    run 0 bench "$name" --quick --no-plots --no-store -o "$name"
    err_empty
    grep -q "did not run" out && fail "$case_name: an entry did not run, or a claim names none"
    grep -q "Claim:" out || fail "$case_name: no claim"
    [ -s "$name/points.csv" ] || fail "$case_name: no points"
done <names

# What is not there is said
refused "suite l2reg-ijcnn1 needs the file ijcnn1/ijcnn1.gz" bench l2reg-ijcnn1 -o none
[ ! -e none ] || fail "$case_name: a folder was made"
finish

# Small files that stand for much memory or disk: rejected by their size, before it is taken.
. "$(dirname "$0")/lib.sh"

# little ARGUMENT...: refused, under a limit on memory that is far below what the file asks for
limit=1000000 # KiB of address space
[ -n "${BLV_NO_LIMIT:-}" ] && limit=unlimited # sanitizers reserve terabytes
little() {
    words=$1
    shift
    case_name="bilevel $*"
    (
        ulimit -v "$limit"
        ulimit -f 20000
        "$bilevel" "$@"
    ) >out 2>err
    code=$?
    [ $code -eq 2 ] || fail "$case_name: exit code $code, expected 2"
    err_has "$words"
    [ ! -s out ] || fail "$case_name: wrote to stdout"
}

# ---- A high index
awk 'BEGIN { for (i = 0; i < 30; i++) print (i % 2 ? "+1" : "-1") " 1:" i " 150000000:1" }' >high.svm
for command in "data info" "data stats" clean tune "coreset --size 3" "data convert --dense"; do
    # shellcheck disable=SC2086
    little "would take 1.1 GiB, more than 1000 times the file of 590 bytes" $command high.svm \
        $([ "$command" = "data convert --dense" ] && echo out.csv)
done
little "would take 1.1 GiB" solve l2reg --problem-set train=high.svm
little "more than the limit of 1.0 GiB" data info high.svm --max-memory 1G
little "statistics of its columns would take" data stats high.svm --max-memory 2G
little "weights of its columns would take" clean high.svm --max-memory 2G
little "--dense allows it" data convert high.svm out.csv --max-memory 2G
little "the set with all its zeros would take 33.5 GiB" data convert high.svm out.csv --dense \
    --max-memory 2G
[ ! -e out.csv ] || fail "out.csv was written"
run 0 data convert high.svm out.npz --max-memory 2G # sparse stays sparse
for size in 0 x 5X 99999999999999999999 1.5G ""; do
    refused "--max-memory" data info high.svm --max-memory "$size"
done

# ---- Little memory: the command starts, and needs no library that takes much for itself
case_name="version with 150 MB"
if [ "$limit" != unlimited ]; then
    (
        ulimit -v 150000
        timeout -k 1 10 "$bilevel" version
    ) >out 2>err || fail "$case_name: exit code $?"
    out_has "bilevel"
fi
ldd "$bilevel" | grep -iE 'blas|lapack' && fail "the command is linked with a library for matrices"

# ---- Little is always allowed, whatever the ratio
echo "+1 1:1 100000:1
-1 2:1" >wide.svm
run 0 data info wide.svm
run 0 data stats wide.svm --max-memory 100M

# ---- Sparse to dense
refused "--dense allows it" data convert wide.svm wide.csv
run 0 data convert wide.svm wide.csv --dense
awk 'BEGIN { for (i = 0; i < 1000; i++) print (i % 2 ? "+1" : "-1") " " i + 1 ":1 40000:1" }' >rows.svm
little "the set with all its zeros would take 305.2 MiB, more than 1000 times the file" \
    coreset rows.svm --size 3

# ---- What is packed
awk 'BEGIN { for (j = 0; j < 50; j++) row = row "0,"
    for (i = 0; i < 400000; i++) print row "1" }' | gzip -9 >zeros.csv.gz # 40 MB in some 120 kB
little "would take" data info zeros.csv.gz
little "more than the limit of 20.0 MiB" data info zeros.csv.gz --max-memory 20M
if command -v zstd >/dev/null; then
    gzip -dc zeros.csv.gz | zstd -q -19 >zeros.csv.zst
    little "would take" data info zeros.csv.zst
fi

# All alike: seen from the part that was read, before the file has become 1000 times its size
head -c 10000000 /dev/zero | gzip -9 >member.gz
i=0
while [ $i -lt 100 ]; do
    cat member.gz
    i=$((i + 1))
done >alike.gz # 1 GB in 1 MB
words="KiB of it that were read"
for command in "data info" "data stats" clean "data convert"; do
    # shellcheck disable=SC2086
    little "$words" $command alike.gz $([ "$command" = "data convert" ] && echo out.npz)
done
echo "1,2,a
3,4,b" >two.csv
little "$words" data info two.csv --columns alike.gz
little "more than the limit of 200.0 MiB" data info alike.gz --max-memory 200M
awk 'BEGIN { for (i = 0; i < 100000; i++) print "0:number,1:number" }' >list
refused "at most 1 MiB" data info two.csv --columns list

finish

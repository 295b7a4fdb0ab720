# Runs of clean and tune in the run store: what is kept, what is shown of them, and going on with
# those that were killed.
digits=$(cd "$(dirname "$0")/../../data" && pwd)/digits.csv.gz
. "$(dirname "$0")/lib.sh"
sql=$helpers/store_tool

newest() {
    "$sql" "$BILEVEL_STORE" "SELECT max(id) FROM run" 2>/dev/null
}

# field RUN KEY...: a field of a run; what has finished does not change
shown=
field() {
    wanted_run=$1
    shift
    if [ "$shown" != "$wanted_run" ]; then
        "$bilevel" runs show "$wanted_run" --json >one 2>err || fail "runs show $wanted_run"
        shown=
        grep -q '"status": "finished"' one && shown=$wanted_run
    fi
    "$json_get" one "$@"
}

# is VALUE RUN KEY...
is() {
    wanted=$1
    shift
    field "$@" >got
    [ "$(cat got)" = "$wanted" ] || fail "run $*: '$(cat got)', expected '$wanted'"
}

# attached RUN: names of what is attached
attached() {
    "$sql" .runs.db "SELECT DISTINCT name FROM attachment WHERE run = $1 ORDER BY name"
}

run 0 data split "$digits" train.csv val.csv test.csv --sizes 300,120,200 --seed 2
run 0 data corrupt train.csv noisy.csv --share 0.3 --seed 2 --truth truth.csv

# ---- clean: everything that there is to know
run 0 clean noisy.csv --val val.csv --test test.csv --truth truth.csv --folds 3 --ridge 0.001 \
    --seed 4 -o table.csv --json
err_empty
json 1 run
cp out cleaned
is clean 1 kind
is finished 1 status
is '["bilevel clean", "noisy.csv", "--val", "val.csv", "--test", "test.csv", "--truth", "truth.csv", "--folds", "3", "--ridge", "0.001", "--seed", "4", "-o", "table.csv", "--json"]' 1 command
is label-noise 1 problem
is noisy.csv 1 problem_parameters train
is val.csv 1 problem_parameters val
is 3 1 problem_parameters folds
is 0.001 1 problem_parameters ridge
is auto 1 problem_parameters threshold
is 92 1 dim_x
is 1950 1 dim_y
is f32 1 precision
is exact 1 solver
is 0.0001 1 parameters solve_tol
is 4 1 options seed
field 1 version | grep -q "^$("$bilevel" version | awk '{ print $NF }')" || fail "version"
is "$PWD/noisy.csv" 1 task training train
[ "$(field 1 fingerprint | wc -c)" -eq 17 ] || fail "no fingerprint of the data"
is "$("$json_get" cleaned suspects) of 300 rows suspect; of 90 wrong labels $("$json_get" cleaned truth found) found" 1 message
"$json_get" cleaned >expected
field 1 result >found
same found expected
# the certificate agrees with the last row of the trace; the counts go on, for a last search that found no step
is "$("$json_get" cleaned certificate phi)" 1 phi
run 0 runs export 1 --out one_run
awk -F, 'NR == 1 { for (j = 1; j <= NF; j++) { if ($j == "f") f = j; if ($j == "hvp") h = j } }
    NR > 1 { value = $f; products = $h } END { print NR - 2, products, value }' one_run.csv >last
"$json_get" cleaned certificate phi >phi
paste -d ' ' last phi >both
awk '($3 - $4) ^ 2 > 1e-4 * $4 ^ 2' both >differ # y is not quite solved
[ ! -s differ ] || fail "rows and certificate: $(cat both)"
[ "$(cut -d ' ' -f1 last)" -eq "$("$json_get" cleaned iterations)" ] || fail "rows and iterations: $(cat last)"
[ "$(cut -d ' ' -f2 last)" -le "$("$json_get" cleaned counts hvp)" ] || fail "rows and products: $(cat last)"

# ---- the images: those of the first rows of the table
attached 1 >found
echo suspects.html >expected
same found expected
run 0 report 1 --no-plots -o page.html
err_empty
suspects=$("$json_get" cleaned suspects)
pictures=$((suspects < 60 ? suspects : 60))
sed -n 's/.*<figcaption>row \([0-9]*\): .*/\1/p' page.html >found
tail -n +2 table.csv | cut -d, -f1-6 | sort -t, -k6,6n | head -n "$pictures" | cut -d, -f1 >expected
same found expected
[ "$(grep -c 'src="data:image/png;base64,' page.html)" -eq $pictures ] || fail "not $pictures images"
# their pixels: the values of the file from 0 to 16 as shades from 0 to 255, within the rounding of f32
if command -v python3 >/dev/null; then
    python3 - page.html noisy.csv >found 2>&1 <<'PYTHON' || { cat found; fail "pixels of the images"; }
import base64, re, struct, sys, zlib
rows = [line.split(",") for line in open(sys.argv[2]).read().split("\n")[1:]]
figures = re.findall(r'base64,([^"]*)"[^>]*>\s*<figcaption>row (\d+):', open(sys.argv[1]).read())
if not figures:
    sys.exit("no images")
for data, row in figures:
    png = base64.b64decode(data)
    width, height, depth, color = struct.unpack(">IIBB", png[16:26])
    at = png.index(b"IDAT")
    size = struct.unpack(">I", png[at - 4:at])[0]
    lines = zlib.decompress(png[at + 4:at + 4 + size])
    if (width, height, depth, color, len(lines)) != (8, 8, 8, 0, 72):
        sys.exit(f"row {row}: {width}x{height}, depth {depth}, color {color}")
    for y in range(8):
        for x in range(8):
            expected = 255 * float(rows[int(row)][8 * y + x]) / 16
            if abs(lines[9 * y + 1 + x] - expected) > 0.51:
                sys.exit(f"row {row}, pixel {x}, {y}: {lines[9 * y + 1 + x]}, expected {expected}")
PYTHON
else
    echo "no python3: pixels are not compared"
fi
grep -qF "Of 90 labels that are known to be wrong, $("$json_get" cleaned truth found) are among them" page.html ||
    fail "page: wrong labels that were found"
grep -qF "<td>TRAIN as given</td>" page.html || fail "page: no table of accuracies"
awk -v a="$("$json_get" cleaned models given test_accuracy)" 'BEGIN { printf "%.1f%%", 100 * a }' >value
grep -F "<td>TRAIN as given</td>" page.html | grep -qF "$(cat value)" || fail "page: accuracy"
grep -qF "<h3>Certificate</h3>" page.html || fail "page: no certificate"
# rows that are no images, by the names of the columns or by the option
sed '1s/x3/height/' noisy.csv >named.csv
sed '1s/x3/height/' val.csv >named_val.csv
run 0 clean named.csv --model linear --val named_val.csv --folds 2 --ridge 0.001 --quiet
run 0 report 2 --no-plots -o page.html
grep -q 'src="data:image/png;base64,' page.html && fail "page: images of rows that are none"
grep -qF "Speaks against it" page.html ||
    fail "page: nothing about the features of suspects"
# rows that are said to be none are told by their features, on the terminal as on the page
run 0 clean noisy.csv --model linear --val val.csv --folds 2 --ridge 0.001 --image none
out_has "SPEAKS AGAINST IT"
grep "right labels among the suspects" out | tr -dc '0-9%' >expected
run 0 report 3 --no-plots -o page.html
grep -qE "Right labels expected among the suspects: $(cat expected)\." page.html ||
    fail "page: right labels among the suspects"
grep -qE "<td>x[0-9]+ [0-9.]+, x[0-9]+ " page.html || fail "page: features against a label"
sed 1d noisy.csv >nameless.csv
run 0 clean nameless.csv --header no --label 64 --model linear --folds 2 --ridge 0.001 --image none --no-store
grep -qE "feature [0-9]+: [0-9.]+, feature " out || fail "$case_name: features without names"
run 0 clean named.csv --model linear --val named_val.csv --folds 2 --ridge 0.001 --image 16x4 --quiet
attached 4 >found
echo suspects.html >expected
same found expected
run 0 report 4 --no-plots -o page.html
# width and height of the first image, bytes 16 to 23 of a PNG file
sed -n 's/.*data:image\/png;base64,\([^"]*\)".*/\1/p' page.html | head -1 | base64 -d | od -An -tu1 -j16 -N8 |
    tr -s ' ' >found
echo " 0 0 0 16 0 0 0 4" >expected
same found expected
refused "expected auto, none, or a size" clean noisy.csv --val val.csv --image 8
refused "rows of 64 features are no images of 8x9; expected 72" clean noisy.csv --val val.csv --image 8x9

# ---- tune, and lists
run 0 tune train.csv --val val.csv --test test.csv -o model.npz --penalties penalties.csv --json
err_empty
json 5 run
cp out tuned
is tune 5 kind
is l2reg 5 problem
is 64 5 dim_x
is per-feature 5 problem_parameters penalty
is "$("$json_get" tuned certificate phi)" 5 phi
"$json_get" tuned >expected
field 5 result >found
same found expected
[ "$(field 5 rows)" -eq "$(($("$json_get" tuned iterations) + 1))" ] || fail "rows of tune"
run 0 tune train.csv --val val.csv --penalty one --json
json null certificate
for command in "clean noisy.csv --model linear --ridge 0.001 --folds 2" "tune train.csv"; do
    # shellcheck disable=SC2086
    run 0 $command --val val.csv --no-certificate --no-store --json
    json null certificate
done
is finished 6 status
run 0 runs list --kind clean --json
json 4 '#'
run 0 runs
out_has "label-noise"
run 0 report 5 --no-plots -o page.html
grep -qF "<td>one for all</td>" page.html || fail "page: no table of models"
grep -qF "Penalties for train.csv" page.html || fail "page: title"
if command -v gnuplot >/dev/null; then
    run 0 plot 1 -o plot.svg
    # another seed: one curve of both runs
    run 0 clean noisy.csv --val val.csv --test test.csv --truth truth.csv --folds 3 --ridge 0.001 \
        --seed 5 -o table.csv --quiet
    run 0 plot 1 "$(newest)" --x iterations -o plot.svg
    grep -qF "exact, 2 runs" plot.svg || fail "$case_name: two runs are not one curve"
    run 0 runs rm "$(newest)"
    run 0 plot 5 --term
    run 0 plot 1 5 -o plot.svg
else
    echo "gnuplot is not installed: no plots"
fi
run 0 runs rm 2 3 4
run 0 runs list --kind clean --json
json 1 '#'

# ---- which store
run 0 clean noisy.csv --model linear --val val.csv --folds 2 --ridge 0.001 --no-store --json
json null run
run 0 clean noisy.csv --model linear --val val.csv --folds 2 --ridge 0.001 --store other.db --json
json 1 run
[ "$(newest)" -eq 6 ] || fail "$case_name: in the usual store"
refused "one of the two" clean noisy.csv --val val.csv --store other.db --no-store
refused "needs the store" tune train.csv --val val.csv --checkpoint 1 --no-store
refused "expected a number of seconds" tune train.csv --val val.csv --checkpoint 0
refused "no SQLite database" clean noisy.csv --val val.csv --store noisy.csv -o never.csv
[ ! -e never.csv ] || fail "$case_name: wrote its file"
# what is refused leaves no run
refused "missing.csv" clean missing.csv
[ "$(newest)" -eq 6 ] || fail "$case_name: in the usual store"

# ---- on with it: killed at any moment, it ends with the files of one that was not
random_below() {
    number=$(od -An -N4 -tu4 /dev/urandom)
    echo $((number % $1))
}

# wait_and_kill PROCESS: within the time that the straight run took
wait_and_kill() {
    moment=$(random_below "$milliseconds")
    sleep "$((moment / 1000)).$(printf '%03d' $((moment % 1000)))"
    kill -9 "$1" 2>/dev/null
    wait "$1" 2>/dev/null
}

# killed FILES ARGUMENT...: the command, killed twice on its way; FILES are those that it writes
killed() {
    files=$1
    shift
    # shellcheck disable=SC2086
    rm -f $files
    before=$(newest)
    "$bilevel" "$@" --checkpoint 0.01 --quiet 2>err &
    wait_and_kill $!
    id=$(newest)
    [ "$id" = "$before" ] && return # before it began
    case_name="run $id, killed"
    if [ "$(field "$id" status)" = interrupted ]; then
        [ -z "$(attached "$id")" ] || has_progress=$((has_progress + 1))
        "$bilevel" resume "$id" --quiet 2>err &
        wait_and_kill $!
        [ "$(field "$id" status)" = finished ] || run 0 resume "$id" --quiet
    fi
    is finished "$id" status
    for file in $files; do
        same "$file" "straight.$file"
    done
    "$sql" .runs.db "SELECT iteration FROM trace WHERE run = $id ORDER BY iteration" >found
    same found straight.rows
    attached "$id" | grep -qE '^(end|checkpoint|carried)' && fail "$case_name: something is left in the store"
}

# straight FILES ARGUMENT...: the same, never stopped
straight() {
    files=$1
    shift
    began=$(date +%s%N)
    run 0 "$@" --quiet
    milliseconds=$((($(date +%s%N) - began) / 1000000 + 1))
    for file in $files; do
        mv "$file" "straight.$file"
    done
    "$sql" .runs.db "SELECT iteration FROM trace WHERE run = $(newest) ORDER BY iteration" >straight.rows
}

has_progress=0
set -- clean noisy.csv --val val.csv --solver s-tfbo --folds 3 --iters 300 --every 100 \
    -o rows.csv --write-clean clean.csv
for models in auto linear; do
    straight "rows.csv clean.csv" "$@" --model $models
    killed "rows.csv clean.csv" "$@" --model $models
done
killed "rows.csv clean.csv" "$@" --model linear
set -- tune train.csv --val val.csv --solver s-tfbo --iters 1500 --every 100 \
    -o model.npz --penalties penalties.csv
straight "model.npz penalties.csv" "$@"
for i in 1 2 3; do
    killed "model.npz penalties.csv" "$@"
done
[ $has_progress -ge 1 ] || echo "no run was killed after it had kept something"

# ---- stopped by a signal: interrupted, and on from there; also from another folder
signal_at ridge term clean noisy.csv --model linear --val val.csv --solver s-tfbo --folds 3 --iters 300 --every 100 \
    -o rows.csv --write-clean clean.csv --checkpoint 0.001 --progress lines
id=$(newest)
is interrupted "$id" status
rm -f rows.csv clean.csv
cd / && "$bilevel" resume "$id" --json >"$directory/out" 2>"$directory/err"
code=$?
cd "$directory" || exit 1
case_name="resume from another folder"
[ $code -eq 0 ] || fail "exit code $code"
json "$id" run
same rows.csv straight.rows.csv
same clean.csv straight.clean.csv

# ---- what is refused, and what has ended
run 0 resume "$id"
out_has "Run $id has finished: "
refused "which keeps its own limits" resume "$id" --iters 5
"$sql" .runs.db "UPDATE run SET status = 'interrupted' WHERE id = $id"
shown=
run 0 resume "$id" --quiet
err_has "has no checkpoint: it starts again"
same rows.csv straight.rows.csv
"$sql" .runs.db "UPDATE run SET status = 'interrupted' WHERE id = $id"
shown=
cp noisy.csv kept.csv
sed '2s/^[0-9]*/9/' kept.csv >noisy.csv
refused "the data are not those of the run" resume "$id"
cp kept.csv noisy.csv
"$sql" .runs.db "UPDATE run SET version = '0.0.1' WHERE id = $id"
run 0 resume "$id" --quiet
err_has "made by version 0.0.1, this is"
same rows.csv straight.rows.csv

# ---- what an earlier version of the program has stored
"$sql" .runs.db "UPDATE run SET status = 'interrupted',
    task = '{\"folder\": \"/\", \"arguments\": [\"bilevel clean\", \"noisy.csv\"]}' WHERE id = $id"
shown=
refused "kept its command line alone: run that command again" resume "$id"

# ---- a full disk: said once, the files are there, the store is whole
case_name="full disk"
rm -f rows.csv clean.csv
(
    ulimit -f 110 # blocks of 512 bytes: room for the files, not for all that the store is to keep
    "$bilevel" clean noisy.csv --model linear --val val.csv --solver s-tfbo --folds 3 --iters 300 --every 100 \
        -o rows.csv --checkpoint 0.001 --store small.db --quiet
) >out 2>err
code=$?
[ $code -eq 2 ] || fail "exit code $code, expected 2"
err_has "the run continues without it"
[ "$(wc -l <err)" -eq 1 ] || fail "said more than once"
same rows.csv straight.rows.csv
"$sql" small.db "SELECT status FROM run WHERE status NOT IN ('finished', 'running')" >found
: >expected
same found expected
"$sql" small.db "PRAGMA integrity_check" >found
echo ok >expected
same found expected

finish

# Plots of stored runs: what is drawn, in which formats, and what is refused.
. "$(dirname "$0")/lib.sh"
sql=$helpers/store_tool
small="quadratic --problem-set dx=5 --problem-set dy=4"

refused "there is no run store at" plot 1
# Runs 1 to 3: three solvers. 4 to 6: one solver, three seeds.
# shellcheck disable=SC2086
run 0 solve $small --solver s-tfbo,soba,exact --iters 300 --every 50 --quiet
for seed in 1 2 3; do
    # shellcheck disable=SC2086
    run 0 solve $small --problem-set terms=40 --batch 4 --solver soba --iters 200 --every 20 \
        --set certify=on --seed $seed --quiet
done

# ---- Refused before anything is drawn
refused "no run is named" plot
refused "there is no run 99" plot 1 99
refused "'x': expected the number of a run" plot x
refused "'0': expected the number of a run" plot 0
refused "expected a name that ends in .svg, .png or .pdf" plot 1 -o plot.gif
refused "expected a name that ends in .svg, .png or .pdf" plot 1 -o .svg
refused "--x 'hours'" plot 1 --x hours
refused "did you mean 'd_norm'" plot 1 --y d_nrm
refused "There are: iteration" plot 1 --y d_nrm
refused "no run has numbers in a column 'test_accuracy'" plot 1 --y accuracy
refused "in a column 'x[0]'" plot 1 --y 'x[0]'
refused "nowhere/a.svg" plot 1 -o nowhere/a.svg

if ! command -v gnuplot >/dev/null; then
    run 2 plot 1 -o a.svg
    err_has "gnuplot is not there"
    echo "gnuplot is not installed: no pictures were drawn"
    finish
fi

# ---- No gnuplot in PATH
mkdir empty
case_name="without gnuplot"
PATH=$PWD/empty "$bilevel" plot 1 -o missing.svg >out 2>err
code=$?
[ "$code" -eq 2 ] || fail "$case_name: exit code $code, expected 2"
err_has "gnuplot is not there"
err_has "gnuplot-nox"
[ ! -e missing.svg ] || fail "$case_name: wrote missing.svg"

# A gnuplot that fails, and one that stops in the middle of a picture
mkdir odd
case_name="a gnuplot that fails"
printf '#!/bin/sh\necho "no such terminal" >&2\nexit 1\n' >odd/gnuplot
chmod +x odd/gnuplot
PATH=$PWD/odd:$PATH "$bilevel" plot 1 -o odd.svg >out 2>err && fail "$case_name: exit code 0"
err_has "no such terminal"
case_name="half a picture"
printf '#!/bin/sh\ncat >/dev/null\necho "<?xml version=1?><svg><g>"\n' >odd/gnuplot
PATH=$PWD/odd:$PATH "$bilevel" plot 1 -o odd.svg >out 2>err && fail "$case_name: exit code 0"
err_has "gnuplot did not draw it"
case_name="a gnuplot that does not read"
printf '#!/bin/sh\nexec <&-\nexit 3\n' >odd/gnuplot
PATH=$PWD/odd:$PATH "$bilevel" plot 1 -o odd.svg >out 2>err && fail "$case_name: exit code 0"
err_has "gnuplot did not draw it"
[ ! -e odd.svg ] || fail "$case_name: wrote odd.svg"

# What the next call of gnuplot is told is kept in the file script
real=$(command -v gnuplot)
printf '#!/bin/sh\ntee "%s/script" | "%s" "$@"\n' "$PWD" "$real" >odd/gnuplot
recorded() {
    case_name="bilevel plot $*"
    PATH=$PWD/odd:$PATH "$bilevel" plot "$@" >out 2>err || fail "$case_name: exit code $?"
}

# ---- A curve for each solver
recorded 1 2 3 -o three.svg
err_empty
[ ! -s out ] || fail "$case_name: wrote to stdout"
for solver in s-tfbo soba exact; do
    [ "$(grep -c "<text>$solver</text>" three.svg)" -eq 1 ] || fail "$case_name: $solver"
done
[ "$(grep -c 'id="gnuplot_plot_' three.svg)" -eq 3 ] || fail "$case_name: not three curves"
grep -qF "|f(x, y) - best known Phi|" three.svg || fail "$case_name: no label"
grep -q "^set logscale y" script || fail "$case_name: axis is not logarithmic"
# The points are those of the trace, over each axis
block() { sed -n "/^\\\$curve$1 << END/,/^END/p" script | sed '1d;$d'; }
best=$("$sql" .runs.db "SELECT min(phi) FROM run WHERE id <= 3")
same_points() {
    block 0 | awk '{ print NF == 4, $1, $2 }' >found
    awk -v OFMT=%.17g -v best="$best" '{ d = $2 - best; print 1, $1, d < 0 ? -d : d }' given >expected
    paste -d' ' found expected | awk '
        function far(a, b) { d = a - b; if (d < 0) d = -d; return d > 1e-9 * (b < 0 ? -b : b) + 1e-15 }
        NF != 6 || $1 != 1 || far($2, $5) || far($3, $6) { bad = 1 } END { exit bad || NR != 7 }' ||
        fail "$case_name: the points are not those of the trace"
}
rows="FROM trace WHERE run = 1 ORDER BY iteration"
"$sql" .runs.db "SELECT seconds || ' ' || (row ->> 'f') $rows" >given
same_points
recorded 1 2 3 -o three.svg --x iterations
"$sql" .runs.db "SELECT iteration || ' ' || (row ->> 'f') $rows" >given
same_points
recorded 1 2 3 -o three.svg --x calls
"$sql" .runs.db "SELECT ((row ->> 'f_grad') + (row ->> 'g_grad') + (row ->> 'hvp')
    + (row ->> 'jvp') + (row ->> 'values')) || ' ' || (row ->> 'f') $rows" >given
same_points

# ---- Seeds become one curve with a band
recorded 4 5 6 --x iterations -o seeds.svg
[ "$(grep -c '<text>soba, 3 runs</text>' seeds.svg)" -eq 1 ] || fail "$case_name: not one curve"
grep -q "<polygon" seeds.svg || fail "$case_name: no band"
grep -qF "Phi(x) - best known Phi" seeds.svg || fail "$case_name: no label"
# Median of three is the middle one; 20 and 80 % lie 0.4 of the way from it to the others
least=$("$sql" .runs.db "SELECT min(p) FROM (SELECT min(phi) AS p FROM run WHERE id >= 4
    UNION ALL SELECT min(row ->> 'phi') FROM trace WHERE run >= 4)")
"$sql" .runs.db "SELECT iteration, row ->> 'phi' FROM trace WHERE run >= 4
    ORDER BY iteration, (row ->> 'phi') + 0.0" | tr '|' ' ' |
    awk -v OFMT=%.17g -v b="$least" '{ v[NR % 3] = $2 - b }
        NR % 3 == 0 { lo = v[1]; mid = v[2]; hi = v[0]; if (lo <= 0) lo = mid # the least above 0
        print $1, mid, mid - 0.6 * (mid - lo), mid + 0.6 * (hi - mid) }' >expected
block 0 >found
[ "$(wc -l <found)" -eq 11 ] || fail "$case_name: $(wc -l <found) points"
paste -d' ' found expected | awk '
    { for (i = 1; i <= 4; i++) { d = $i - $(i + 4); if (d < 0) d = -d
        if ($(i + 4) > 1e-12 && d > 1e-6 * $(i + 4)) bad = 1 } } END { exit bad }' ||
    fail "$case_name: median and band are wrong"

# ---- Other columns
recorded 4 5 --y grad --x iterations -o grad.svg
grep -qF "|grad Phi(x)|" grad.svg || fail "$case_name: no label"
recorded 1 --y grad -o grad.svg
grep -qF "|d|" grad.svg || fail "$case_name: no label"
run 0 plot 1 2 3 --y step_x -o step.svg
err_has "run 3 (exact) has no step_x and is left out"
[ "$(grep -c 'id="gnuplot_plot_' step.svg)" -eq 2 ] || fail "$case_name: not two curves"
printf '1 1:1 2:2\n0 1:0 2:1\n1 1:3 2:1\n0 1:-1 2:2\n1 1:1\n0 2:1\n1 1:2\n0 2:3\n' >a.svm
run 0 solve --solver s-tfbo l2reg --problem-set train=a.svm --iters 20 --every 5 --set iterates=on --quiet
recorded 7 --y accuracy -o accuracy.svg
grep -qE "accuracy on the (validation|test) rows" accuracy.svg || fail "$case_name: no label"
grep -q "^set logscale" script && fail "$case_name: an accuracy on a logarithmic axis"
run 0 plot 7 --y 'x[1]' -o element.svg
refused "in a column 'x[99]'" plot 7 --y 'x[99]' -o element.svg
# Parameters tell runs of one solver apart, several problems are named
# shellcheck disable=SC2086
run 0 solve $small --solver soba --set step_x=0.01 --iters 300 --every 50 --quiet
recorded 2 8 -o steps.svg
grep -qF "<text>soba, step_x = 0.01</text>" steps.svg || fail "$case_name: step_x"
grep -qF "<text>soba, step_x = auto</text>" steps.svg || fail "$case_name: auto"
recorded 1 7 -o problems.svg
grep -qF "<text>s-tfbo, l2reg</text>" problems.svg || fail "$case_name: l2reg"
grep -qF "2 problems" problems.svg || fail "$case_name: title"
# A run named twice is drawn once
recorded 4 4 -o twice.svg
grep -qF "<text>soba</text>" twice.svg || fail "$case_name: two runs"

# ---- Formats
run 0 plot 1 2 -o a.png
head -c 8 a.png | od -An -tx1 | tr -d ' \n' >found
printf 89504e470d0a1a0a >expected
same found expected
run 0 plot 1 2 -o a.PDF
head -c 5 a.PDF >found
printf '%%PDF-' >expected
same found expected
run 0 plot 1 2 --term
err_empty
out_has "s-tfbo"
[ "$(wc -l <out)" -ge 20 ] || fail "$case_name: too few lines"
[ "$(awk '{ if (length($0) > n) n = length($0) } END { print n }' out)" -le 80 ] ||
    fail "$case_name: too wide"
cp out drawn
run 0 plot 1 2
same out drawn
run 0 plot 1 2 --term -o both.svg
same out drawn
[ -s both.svg ] || fail "$case_name: no file"
ls -A | grep -q '\.tmp$' && fail "something was left behind"

# ---- Rows in different places: straight lines of the picture between them, the last value holds
"$sql" .runs.db "DELETE FROM trace WHERE run IN (5, 6)" "INSERT INTO trace VALUES \
    (5, 0, 0, '{\"seconds\": 0, \"line\": 0, \"log\": 1}'), \
    (5, 2, 2, '{\"seconds\": 2, \"line\": 4, \"log\": 10000}'), \
    (6, 1, 1, '{\"seconds\": 1, \"line\": 10, \"log\": 10}'), \
    (6, 2, 2, '{\"seconds\": 2, \"line\": null, \"log\": null}'), \
    (6, 3, 3, '{\"seconds\": 3, \"line\": 20, \"log\": 10}')"
rounded() { block 0 | awk '{ printf "%.9g %.9g %.9g %.9g\n", $1, $2, $3, $4 }' >found; }
recorded 5 6 --y line -o lines.svg
rounded
printf '%s\n' "0 0 0 0" "1 6 3.6 8.4" "2 9.5 6.2 12.8" "3 12 7.2 16.8" >expected
same found expected
recorded 5 6 --y log -o lines.svg
rounded
printf '%s\n' "0 1 1 1" "1 55 28 82" "2 5005 2008 8002" "3 5005 2008 8002" >expected
same found expected

# ---- Text of the user is text
"$sql" .runs.db "UPDATE run SET solver = 'it''s \`touch t1\` \$(touch t2) \"; system(\"touch t3\") #
<b>&\\' || char(10) || 'END' || char(10) || 'system \"touch t4\"' WHERE id = 1"
recorded 1 -o quoted.svg
for file in t1 t2 t3 t4; do
    [ ! -e $file ] || fail "$case_name: $file was made"
done
grep -qF 'touch t1' quoted.svg || fail "$case_name: the text is not there"
grep -qF '<b>' quoted.svg && fail "$case_name: not escaped"

# ---- A disk that is full: what was there stays
# shellcheck disable=SC2086
run 0 solve $small --solver s-tfbo,soba --iters 900 --every 1 --quiet
cp three.svg before
(
    ulimit -f 68 # blocks of 512 bytes: room for the store's own files, not for the picture
    "$bilevel" plot 9 10 --x iterations -o three.svg
) >out 2>err
code=$?
case_name="full disk"
[ "$code" -eq 2 ] || fail "$case_name: exit code $code, expected 2"
err_has "three.svg: cannot write"
same three.svg before
ls -A | grep -q '\.tmp$' && fail "something was left behind"
mkdir folder.svg
refused "is there and is not a regular file" plot 1 -o folder.svg

finish

#!/bin/sh
# scripts/results: the pages that it writes from the stored points of quick runs in tests/results are
# those in tests/results/expected; the pages in docs are those of the points in bench/results; a folder
# of benchmarks is taken over; nothing needs data. UPDATE=1 writes what is expected.
#
#     results_test.sh ROOT BILEVEL
set -eu
root=$1
BILEVEL=$2
export BILEVEL
if ! command -v gnuplot >/dev/null; then
    echo "skipped: no gnuplot here (Debian package gnuplot-nox)"
    exit 77
fi
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0
unset BILEVEL_DATA

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# plant NAME SUITES POINTS: a source tree with these
plant() {
    mkdir -p "$tree/$1/scripts" "$tree/$1/bench/results"
    cp "$root/scripts/results" "$root/scripts/regret-table" "$tree/$1/scripts"
    cp -r "$2" "$tree/$1/bench/suites"
    cp "$3"/* "$tree/$1/bench/results"
    cp "$root/bench/results/which-method.md" "$tree/$1/bench/results"
}

# pages MADE EXPECTED: the same pages
pages() {
    for page in results.md results/tuning-free.md results/faster.md results/accelerated.md results/momentum.md \
        results/minimax.md results/public-benchmark.md results/beyond.md results/which-method.md; do
        [ -z "${UPDATE:-}" ] || [ "$2" = "$root/docs" ] || { mkdir -p "$2/results" && cp "$1/$page" "$2/$page"; }
        diff -u "$2/$page" "$1/$page" || fail "$page is another one"
    done
}

# ---- Quick points
plant quick "$root/tests/results/suites" "$root/tests/results/points"
sh "$tree/quick/scripts/results"
pages "$tree/quick/docs" "$root/tests/results/expected"
for name in $(sed -n 's/^!\[.*](..\/\(figures.*\))$/\1/p' "$tree"/quick/docs/results/*.md); do
    grep -q '</svg>' "$tree/quick/docs/$name" || fail "$name is not there"
    [ "$(wc -c <"$tree/quick/docs/$name")" -lt 60000 ] || fail "$name is large"
done
[ "$(find "$tree/quick/docs/figures/results" -name '*.svg' | wc -l)" -ge 4 ] || fail "few figures"

# ---- One number more, and another verdict: the page is made from the points
sed -i 's/"seed":0,\(.*\)"rows":\[\[0,/"seed":0,"failed":true,\1"rows":[[0,/' "$tree/quick/bench/results/quadratic.jsonl"
sh "$tree/quick/scripts/results"
cmp -s "$tree/quick/docs/results.md" "$root/tests/results/expected/results.md" && fail "other points, the same page"

# ---- From a folder of benchmarks
mkdir -p "$tree/folder/quadratic"
cp "$root/tests/results/points/quadratic.jsonl" "$tree/folder/quadratic/stored.jsonl"
sh "$tree/quick/scripts/results" --from "$tree/folder" 2>"$tree/said"
grep -q "quadratic is taken from" "$tree/said" || fail "nothing was taken"
pages "$tree/quick/docs" "$root/tests/results/expected"

# ---- The pages in docs, and the figures that they name
plant whole "$root/bench/suites" "$root/bench/results"
sh "$tree/whole/scripts/results"
pages "$tree/whole/docs" "$root/docs"
sed -n 's/^!\[.*](..\/\(figures.*\))$/\1/p' "$root"/docs/results/*.md | sort -u >"$tree/named"
(cd "$root/docs" && ls figures/results/*.svg) | sort >"$tree/there"
diff "$tree/named" "$tree/there" || fail "figures that no page has, or that are not there"
while read -r name; do
    grep -q '</svg>' "$root/docs/$name" || fail "docs/$name is not whole"
    [ "$(wc -c <"$root/docs/$name")" -lt 80000 ] || fail "docs/$name is large"
done <"$tree/named"

# ---- Links of the summary lead to a section
sed -n 's/.*](results\/\([a-z-]*\.md\)#\([a-z0-9-]*\)).*/\1 \2/p' "$root/docs/results.md" | sort -u >"$tree/links"
[ "$(wc -l <"$tree/links")" -ge 20 ] || fail "few links to sections"
while read -r page section; do
    grep -qF "<a id=\"$section\"></a>" "$root/docs/results/$page" || fail "docs/results/$page has no section $section"
done <"$tree/links"

papers="tuning-free.md faster.md accelerated.md momentum.md minimax.md public-benchmark.md beyond.md"

# ---- Tables have the best row first: no tuned row comes behind the untuned one of its solver, or ends with a higher
# test loss by more than noise
# worse PAGES: those that do
worse() {
    awk -F' *[|] *' '
        function compare(solver) {
            for (solver in tuned) {
                if (!(solver in untuned)) continue
                if (place[solver, "tuned"] > place[solver, "untuned"] && tuned[solver] != untuned[solver])
                    print FILENAME ": " solver "/tuned " tuned[solver] ", untuned " untuned[solver]
                if (column && loss[solver, "tuned"] > 1.01 * loss[solver, "untuned"])
                    print FILENAME ": " solver "/tuned has test_loss " loss[solver, "tuned"] ", untuned " loss[solver, "untuned"]
            }
            split("", tuned)
            split("", untuned)
            column = 0
        }
        !/^[|]/ { compare(); next }
        $2 == "solver" { for (i = 4; i <= NF; i++) if ($i == "test_loss") column = i }
        $2 ~ /^[a-z0-9-]*\/(tuned|untuned)( = tuned)?$/ {
            split($2, parts, /[\/ ]/)
            place[parts[1], parts[2]] = FNR
            loss[parts[1], parts[2]] = column ? $column + 0 : 0
            if (parts[2] == "tuned") tuned[parts[1]] = $3
            else untuned[parts[1]] = $3
        }
        END { compare() }' "$@"
}
printf '| solver | end | test_loss |\n| --- | ---: | ---: |\n| a/tuned | 1 | 5 |\n| a/untuned | 2 | 5 |\n| b/untuned | 3 | 5 |\n| b/tuned | 4 | 5 |\n| c/tuned | 5 | 6 |\n| c/untuned = tuned | 6 | 5 |\n' >"$tree/bad.md"
[ "$(worse "$tree/bad.md" | sort)" = "$tree/bad.md: b/tuned 4, untuned 3
$tree/bad.md: c/tuned has test_loss 6, untuned 5" ] || fail "a tuned row that is worse was not noticed"
(cd "$root/docs/results" && worse $papers) >"$tree/worse"
[ ! -s "$tree/worse" ] || fail "tuned rows are worse than untuned ones: $(cat "$tree/worse")"

# ---- A claim that does not hold in all cases says what was tried
for page in $papers; do
    awk -v page="$page" '
        function done() { if (claim && open && !tried) print page ": " claim }
        /^\*\*/ { done(); claim = $0; open = tried = 0 }
        /^- .*\*\*(does not hold|cannot be told|holds only)/ { open = 1 }
        /^- Tried: / { tried = 1 }
        END { done() }' "$root/docs/results/$page"
done >"$tree/silent"
[ ! -s "$tree/silent" ] || fail "no word of what was tried: $(cat "$tree/silent")"
[ "$failures" -eq 0 ] && echo "all as expected"
exit "$((failures > 0))"

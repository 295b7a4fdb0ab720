#!/bin/sh
# The pages of the solvers must be refused when they are not as the command says, in each of the ways
# that there are, and written anew where that can be done.
#
#     solver_pages_test.sh SOLVER_PAGES BILEVEL ROOT
set -eu
script=$1
bilevel=$2
root=$3
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0
cases=0
marker='<!-- Below this line: written by scripts/solver-pages from the descriptor. -->'
pages=$tree/copy/docs/solvers

# Every case starts from pages that are as they should be.
fresh() {
    rm -rf "$tree/copy"
    cp -R "$tree/right" "$tree/copy"
}

fail() {
    echo "FAILED: $*"
    cat "$tree/said"
    failures=$((failures + 1))
}

accepted() {
    cases=$((cases + 1))
    "$script" --check "$bilevel" "$tree/copy" >"$tree/said" 2>&1 || fail "$1: refused"
    [ ! -s "$tree/said" ] || fail "$1: something is said"
}

# refused PAGE WORDS: by --check, which changes nothing
refused() {
    cases=$((cases + 1))
    rm -rf "$tree/before"
    cp -R "$tree/copy" "$tree/before"
    if "$script" --check "$bilevel" "$tree/copy" >"$tree/said" 2>&1; then
        fail "$1 $2: accepted"
    elif ! grep -F "$1: " "$tree/said" | grep -qF -e "$2"; then
        fail "$1 $2: refused for another reason"
    fi
    diff -r "$tree/before" "$tree/copy" >"$tree/said" || fail "$1: --check has changed something"
}

# repaired PAGE: refused, and then written as it was
repaired() {
    refused "$1" "out of date"
    "$script" "$bilevel" "$tree/copy" >"$tree/said" || fail "$1: cannot be written"
    grep -qF "$1: written" "$tree/said" || fail "$1: not said to be written"
    diff -r "$tree/right" "$tree/copy" >"$tree/said" || fail "$1: not as it was"
}

# stuck PAGE WORDS: refused, and writing says the same, since a hand is needed
stuck() {
    refused "$1" "$2"
    if "$script" "$bilevel" "$tree/copy" >"$tree/said" 2>&1; then
        fail "$1 $2: written"
    fi
    grep -F "$1: " "$tree/said" | grep -qF -e "$2" || fail "$1: writing does not say $2"
}

# edit PAGE PROGRAM: with sed
edit() {
    sed "$2" "$tree/copy/$1" >"$tree/edited"
    cmp -s "$tree/edited" "$tree/copy/$1" && fail "$1 $2: changes nothing"
    cat "$tree/edited" >"$tree/copy/$1"
}

# A command that knows three of the solvers, with the answers of the real one: more solvers would be
# more of the same.
few="exact s-tfbo soba"
mkdir -p "$tree/answers" "$tree/right/docs/solvers"
cp "$root/README.md" "$tree/right"
cp "$root/docs/solvers/README.md" "$tree/right/docs/solvers"
for name in $few; do
    cp "$root/docs/solvers/$name.md" "$tree/right/docs/solvers"
    "$bilevel" solvers "$name" --markdown >"$tree/answers/$name"
    echo "\"name\": \"$name\"" >>"$tree/answers/--json"
done
"$bilevel" solvers --markdown >"$tree/all"
awk -v few=" $few " '!/^[|] \[/ { print; next }
    { split($0, word, "`"); if (index(few, " " word[2] " ")) print }' "$tree/all" \
    >"$tree/answers/--markdown"
for name in $few; do
    grep -qF "| [\`$name\`](" "$tree/answers/--markdown" || fail "$name is not listed"
    "$bilevel" solvers --json | grep -qF "$(grep -F "\"$name\"" "$tree/answers/--json")" ||
        fail "$name is not in the JSON array"
done
cat >"$tree/command" <<END
#!/bin/sh
cat "$tree/answers/\$2"
END
chmod +x "$tree/command"
bilevel=$tree/command
"$script" "$bilevel" "$tree/right" >"$tree/said" || fail "the pages cannot be written"

fresh
accepted "pages as they should be"
edit docs/solvers/soba.md 's/^One step/ONE step/'
edit README.md 's/^## Installing/## Install/'
accepted "another text in the part that is written by hand"

# shellcheck disable=SC2016
for change in 's/first x-step/second x-step/' '/^| `decay`/d' '$a more' '/^## In short/,$d'; do
    fresh
    edit docs/solvers/soba.md "$change"
    repaired docs/solvers/soba.md
done
# shellcheck disable=SC2016
for page in docs/solvers/README.md README.md; do
    fresh
    edit $page 's/^\(| .*`exact`\)/\1 and others/'
    repaired $page
    edit $page '/^| .*`soba`/d'
    repaired $page
done

fresh
rm "$pages/exact.md"
stuck docs/solvers/exact.md missing
fresh
edit docs/solvers/exact.md '/^<!--/d'
stuck docs/solvers/exact.md "expected once"
fresh
echo "$marker" >>"$pages/exact.md"
stuck docs/solvers/exact.md "expected once"
fresh
edit docs/solvers/exact.md '1s/exact/excat/'
stuck docs/solvers/exact.md "expected the title # exact"
fresh
printf '# exact\n\n%s\n' "$marker" >"$pages/exact.md"
stuck docs/solvers/exact.md "nothing is written by hand"
fresh
cp "$pages/exact.md" "$pages/former.md"
stuck docs/solvers/former.md "there is no solver former"
for line in 1,/solver-pages/ '/The end of what/'; do
    fresh
    edit README.md "${line}{/^<!--/d}"
    stuck README.md "expected once"
done

cases=$((cases + 1))
if "$script" --check "$tree/no-command" "$tree/copy" >"$tree/said" 2>&1; then
    fail "without a command all is well"
fi
echo "$cases cases, $failures failed"
[ "$failures" -eq 0 ]

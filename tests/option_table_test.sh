#!/bin/sh
# scripts/option-table must find a table that is out of date, repair it, and reject a page without
# markers.
#
#     option_table_test.sh OPTION_TABLE PROGRAM PAGE
set -eu
script=$1
program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
page=$folder/page.md
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

cp "$3" "$folder/right"
# shellcheck disable=SC2016
for change in '/^| `tol` |/d' 's/^\(| `seed` | `\)0/\11/' 's/^\(| `every`.*\)rows/\1lines/' \
    '/^| `seed`/p'; do
    sed "$change" "$folder/right" >"$page"
    ! cmp -s "$folder/right" "$page" || fail "$change: changes nothing"
    cp "$page" "$folder/before"
    ! "$script" --check "$program" "$page" >"$folder/said" || fail "$change: accepted"
    grep -q "out of date" "$folder/said" || fail "$change: no word of it"
    cmp -s "$page" "$folder/before" || fail "$change: --check has changed the page"
    "$script" "$program" "$page"
    cmp -s "$folder/right" "$page" || fail "$change: not repaired"
    "$script" --check "$program" "$page" || fail "$change: still out of date"
done
for marker in '<!-- run options' '<!-- end of run options'; do
    grep -v "^$marker" "$folder/right" >"$page"
    ! "$script" --check "$program" "$page" >"$folder/said" || fail "no $marker: accepted"
    grep -q "expected once" "$folder/said" || fail "no $marker: no word of it"
done
[ "$failures" -eq 0 ] && echo "all cases passed"

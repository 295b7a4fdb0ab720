#!/bin/sh
# scripts/line-count must add up, and must fail on a tree that is too large.
#
#     line_count_test.sh LINE_COUNT
set -eu
count=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

fail() {
    echo "FAILED: $*"
    cat "$tree/said"
    exit 1
}

# lines N FILE
lines() {
    awk -v n="$1" 'BEGIN { while (n-- > 0) print "int line;" }' >"$tree/src/$2"
}

mkdir -p "$tree/src/base" "$tree/src/cli/commands"
lines 10 base/a.c
lines 20 base/b.h
lines 8999 cli/main.c
lines 1 cli/commands/one.c
lines 7 cli/notes.txt
"$count" "$tree" >"$tree/said" 2>&1 || fail "9000 lines of the command are too many"
grep -qx ' *30 src/base' "$tree/said" || fail "base has not 30 lines"
grep -qx ' *9030 src' "$tree/said" || fail "src has not 9030 lines"

lines 2 cli/commands/one.c
! "$count" "$tree" >"$tree/said" 2>&1 || fail "9001 lines of the command are accepted"
grep -q 'src/cli has 9001 lines' "$tree/said" || fail "not for the reason that it is"

lines 1 cli/commands/one.c
lines 41000 base/a.c
! "$count" "$tree" >"$tree/said" 2>&1 || fail "50020 lines are accepted"
grep -q 'src has 50020 lines' "$tree/said" || fail "not for the reason that it is"

rm -r "$tree/src"
! "$count" "$tree" >"$tree/said" 2>&1 || fail "an empty tree is accepted"

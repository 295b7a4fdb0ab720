#!/bin/sh
# Holds README.md to the truth: its C program and what it prints are those of examples/quickstart.c,
# its tables name the solvers and problems that the command lists, and the links of all pages lead
# somewhere.
#
#     check_readme.sh ROOT BILEVEL
set -eu
root=$1
bilevel=$2
readme=$root/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# block LANGUAGE: the first fenced block of that language
block() {
    awk -v fence="\`\`\`$1" '/^```/ && inside { exit } inside { print } $0 == fence { inside = 1 }' \
        "$readme"
}

# names TITLE COLUMN: what stands in backquotes in that column of the table below the heading
names() {
    awk -v title="## $1" -v column="$2" -F'|' '/^## / { inside = $0 == title }
        inside && /^\|/ {
            count = split($(column + 1), part, "`")
            for (i = 2; i <= count; i += 2) print part[i]
        }' "$readme"
}

# listed COMMAND: the names that the command knows
listed() {
    "$bilevel" "$1" --json | grep -o '"name": "[^"]*"' | sed 's/.*: "\(.*\)"/\1/'
}

# same WHAT: compares got with wanted
same() {
    if diff -u "$work/wanted" "$work/got"; then
        echo "$1: as it should be"
    else
        echo "FAILED: $1 (- what it should be, + what README.md holds)"
        failed=1
    fi
}

block c >"$work/got"
cp "$root/examples/quickstart.c" "$work/wanted"
same "the quick start"
block text >"$work/got"
cp "$root/examples/quickstart.c.out" "$work/wanted"
same "what the quick start prints"
names Solvers 3 >"$work/got"
listed solvers >"$work/wanted"
same "the table of solvers"
names Problems 1 >"$work/got"
listed problems >"$work/wanted"
same "the table of problems"

for page in "$readme" "$root"/docs/*.md "$root"/docs/*/*.md "$root/CONTRIBUTING.md"; do
    for link in $(grep -o ']([^)#]*' "$page" | sed 's/^](//' | grep -v '^http'); do
        [ -e "$(dirname "$page")/$link" ] || {
            echo "FAILED: ${page#"$root"/} links to $link, which is not there"
            failed=1
        }
    done
done
exit "$failed"

#!/bin/sh
# Holds README.md to the truth: its C program and what it prints are those of examples/quickstart.c,
# its tables name the solvers and problems that the command lists, and its links lead somewhere.
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

# names TITLE: the first column of the table below the heading, without backquotes
names() {
    awk -v title="## $1" -F'|' '/^## / { inside = $0 == title }
        inside && $2 ~ /`/ { gsub(/[` ]/, "", $2); print $2 }' "$readme"
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
for kind in Solvers Problems; do
    names "$kind" >"$work/got"
    listed "$(echo "$kind" | tr '[:upper:]' '[:lower:]')" >"$work/wanted"
    same "the table of $kind"
done

for page in "$readme" "$root"/docs/*.md "$root/CONTRIBUTING.md"; do
    for link in $(grep -o ']([^)#]*' "$page" | sed 's/^](//' | grep -v '^http'); do
        [ -e "$(dirname "$page")/$link" ] || {
            echo "FAILED: ${page#"$root"/} links to $link, which is not there"
            failed=1
        }
    done
done
exit "$failed"

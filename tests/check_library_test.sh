#!/bin/sh
# scripts/check-library must be able to fail: a library that prints and counts is refused for both.
#
#     check_library_test.sh CHECK_LIBRARY CC
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/bad.c" <<'C'
#include <stdio.h>
static int calls;
int count(void);
int count(void) {
    printf("%d\n", ++calls);
    return calls;
}
C
"$2" -shared -fPIC -o "$folder/bad.so" "$folder/bad.c" || exit 1
if "$1" "$folder/bad.so" >"$folder/said"; then
    echo "a library that prints was accepted"
    exit 1
fi
grep -q 'calls: printf' "$folder/said" && grep -q 'variables: calls' "$folder/said" && exit 0
cat "$folder/said"
exit 1

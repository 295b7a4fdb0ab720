#!/bin/sh
# The programs in docs/library.md compile without warnings and print what the page says. A program is
# a block of C with a main; the next block without a language is its output.
#
#     library_page_test.sh CC ROOT LIBRARY_FOLDER
set -eu
cc=$1
root=$2
library=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# The blocks as files: 1.c, 1.out, 2.c, 2.out
awk '
/^```/ && inside {
    if (inside == "c" && text ~ /int main/) printf "%s", text >(++programs ".c")
    if (inside == "output") printf "%s", text >(programs ".out")
    wants_output = inside == "c" ? text ~ /int main/ : wants_output && inside != "output"
    inside = text = ""
    next
}
/^```/ { inside = $0 == "```c" ? "c" : $0 == "```" && wants_output ? "output" : "other"; next }
inside { text = text $0 "\n" }
' "$root/docs/library.md"

# The table of docs/data.md, as the file that the last program reads.
awk '/^```/ { inside = 0 } inside { print } /^## A first look/ { look = 1 }
    look && /^```/ { if (!seen++) inside = 1 }' "$root/docs/data.md" >flowers.csv

programs=0
for source in [0-9]*.c; do
    name=${source%.c}
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -I "$root/include" -o "$name" "$source" \
        -L "$library" -lbilevel -Wl,-rpath,"$library"
    [ -s "$name.out" ] || { echo "FAILED: the page has no output of program $name" && exit 1; }
    "./$name" >got || { echo "FAILED: program $name" && exit 1; }
    diff -u "$name.out" got || { echo "FAILED: program $name prints something else" && exit 1; }
    programs=$((programs + 1))
done
[ "$programs" -eq 3 ] || { echo "FAILED: $programs programs, expected 3" && exit 1; }
echo "$programs programs compiled, and their output compared"

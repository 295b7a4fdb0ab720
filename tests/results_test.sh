#!/bin/sh
# scripts/results must have a section for every suite that comes along, and say which it leaves out. The
# command here only prints a section, or fails.
#
#     results_test.sh ROOT
set -eu
root=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/scripts" "$tree/docs"
cp "$root/scripts/results" "$tree/scripts/results"
page=$tree/docs/results.md
failures=0

cat >"$tree/command" <<COMMAND
#!/bin/sh
echo "\$*" >>"$tree/called"
if [ "\$2" = "\$(cat "$tree/absent")" ]; then
    echo "bilevel bench: suite \$2 needs the file there.gz" >&2
    exit 2
fi
[ "\$2" != "\$(cat "$tree/broken")" ] || exit 1
printf '## %s: a title\n\nWhat it says: %s\n' "\$2" "\$(cat "$tree/version")"
COMMAND
chmod +x "$tree/command"
echo none >"$tree/absent"
echo none >"$tree/broken"
echo first >"$tree/version"

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# results CODE FOLDER [SUITE...]
results() {
    expected=$1
    folder=$2
    shift 2
    : >"$tree/called"
    code=0
    sh "$tree/scripts/results" "$tree/command" "$tree/$folder" "$@" 2>"$tree/said" || code=$?
    [ "$code" -eq "$expected" ] || fail "results $*: exit code $code, expected $expected"
}

has() {
    grep -qF -e "$2" "$1" || fail "$1 has no '$2'"
}

# ---- Every suite has its section and its command
echo decay-cifar10 >"$tree/absent"
results 0 one
for suite in "$root"/bench/suites/*.json; do
    name=$(basename "$suite" .json)
    has "$page" "## $name"
    has "$tree/called" "bench $name "
    [ "$name" = decay-cifar10 ] || has "$page" "    bilevel bench $name"
done
has "$page" "What it says: first"
has "$page" "Left out: its data were not there."
has "$tree/said" "decay-cifar10 is left out: its data were not there"
[ "$(grep -c "Left out" "$page")" -eq 1 ] || fail "more than one suite is left out"

# ---- Named suites run, the others keep their sections
echo second >"$tree/version"
results 0 one quadratic coreset-mnist
[ "$(wc -l <"$tree/called")" -eq 2 ] || fail "more than the named suites ran"
[ "$(grep -c "What it says: second" "$page")" -eq 2 ] || fail "named suites have no new sections"
has "$page" "    bilevel bench news20 --seconds 15"
has "$page" "What it says: first"
results 0 two quadratic
has "$page" "Left out: it was not run."
has "$tree/said" "coreset-mnist is left out: it was not run"
results 2 two quadratc
has "$tree/said" "no suite quadratc"

# ---- A suite that fails: no page is written from what there is
cp "$page" "$tree/before"
echo news20 >"$tree/broken"
results 1 one
cmp -s "$page" "$tree/before" || fail "a page was written after a failure"
[ "$failures" -eq 0 ] && echo "all as expected"
exit "$((failures > 0))"

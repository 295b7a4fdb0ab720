# Shared by the test scripts of the command: sh test_TOPIC.sh BILEVEL DIRECTORY_OF_HELPERS
# In a directory of its own, `run CODE ARGUMENT...` runs the command into the files out and err.
bilevel=$1
helpers=$2
json_get=$helpers/json_get
npz_tool=$helpers/npz_tool
failures=0
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
export BILEVEL_STORE="$directory/.runs.db" # not the user's own
export LC_ALL=C # numbers with a point from awk and sort; test_usage.sh has other locales

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    echo "--- out"
    head -c 2000 out
    echo "--- err"
    head -c 2000 err
    echo "---"
}

run() {
    expected=$1
    shift
    case_name="bilevel $*"
    "$bilevel" "$@" >out 2>err
    code=$?
    [ "$code" -eq "$expected" ] || fail "$case_name: exit code $code, expected $expected"
}

# signal_at WORD SIGNAL ARGUMENT...: the command gets the signal once its messages, which go to the
# file progress, have the word.
signal_at() {
    word=$1
    signal=$2
    shift 2
    rm -f begun
    : >progress
    "$helpers/with_signals" begun "$signal" /bin/sh -c '
        word=$1
        shift
        (tries=0
        until grep -q "$word" progress || [ $tries -gt 600 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
        echo now >begun) &
        exec "$@" >out 2>progress' sh "$word" "$bilevel" "$@"
}

# Refused as bad usage or input: exit code 2, nothing on stdout, a message with the given words.
refused() {
    words=$1
    shift
    run 2 "$@"
    [ ! -s out ] || fail "$case_name: wrote to stdout"
    err_has "$words"
}

out_has() {
    grep -qF -e "$1" out || fail "$case_name: stdout has no '$1'"
}

err_has() {
    grep -qF -e "$1" err || fail "$case_name: stderr has no '$1'"
}

err_empty() {
    [ ! -s err ] || fail "$case_name: stderr is not empty"
}

# json VALUE KEY...: the value under the keys of the JSON object in out
json() {
    expected=$1
    shift
    found=$("$json_get" out "$@") || fail "$case_name: no JSON value at $*"
    [ "$found" = "$expected" ] || fail "$case_name: $* is '$found', expected '$expected'"
}

# json_near VALUE TOLERANCE KEY...
json_near() {
    value=$1
    tolerance=$2
    shift 2
    found=$("$json_get" out "$@") || fail "$case_name: no JSON value at $*"
    awk -v a="$found" -v b="$value" -v t="$tolerance" \
        'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a ~ /^[-0-9]/ && d <= t) }' ||
        fail "$case_name: $* is '$found', expected $value within $tolerance"
}

# same FILE FILE: equal contents
same() {
    cmp -s "$1" "$2" || fail "$case_name: $1 and $2 differ"
}

finish() {
    [ "$failures" -eq 0 ] && echo "all as expected"
    exit "$((failures > 0))"
}

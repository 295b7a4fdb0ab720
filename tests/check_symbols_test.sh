#!/bin/sh
# The symbol rule must refuse objects that break it.
#
#     check_symbols_test.sh CHECK_SYMBOLS CC
set -eu
check=$1
cc=$2
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
failures=0

cat >"$build/folders" <<'LIST'
low  |                 | values
mid  | low             | doubles them
free | public          | calls what is exported
some | low:public      | calls what is exported of low
high | mid             | calls mid alone
LIST

# compile FOLDER NAME CODE
compile() {
    object=src/CMakeFiles/all_objects.dir/$1/$2.c.o
    mkdir -p "$build/${object%/*}"
    echo "$3" | "$cc" -fPIC -x c -c - -o "$build/$object"
    echo "  \"command\": \"cc -o $object -c $2.c\"," >>"$build/compile_commands.json"
}

fresh() {
    rm -rf "$build/src" "$build/compile_commands.json"
    compile low value 'int low_value(void) { return 1; }
        __attribute__((visibility("hidden"))) int low_hidden(void) { return 2; }'
    compile mid twice 'int low_value(void); int mid_twice(void) { return 2 * low_value(); }'
    compile free use 'int mid_twice(void); int free_use(void) { return mid_twice(); }'
    compile some use 'int low_value(void); int some_use(void) { return low_value(); }'
    compile high use 'int mid_twice(void); int high_use(void) { return mid_twice(); }'
}

link() {
    find "$build/src" -name '*.o' -exec "$cc" -shared -o "$build/src/libbilevel.so" {} +
}

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

refused() {
    link
    said=$("$check" "$build" "$build/folders" 2>&1) && fail "accepted: $1"
    [ "$said" = "$1" ] || fail "expected '$1', got '$said'"
}

fresh
link
"$check" "$build" "$build/folders" || fail "refused objects that keep the rule"

fresh
compile low bad 'int mid_twice(void); int low_bad(void) { return mid_twice(); }'
refused "low must not use mid_twice of mid"

fresh
compile high bad 'int low_value(void); int high_bad(void) { return low_value(); }'
refused "high must not use low_value of low"

fresh
compile free bad 'int low_hidden(void); int free_bad(void) { return low_hidden(); }'
refused "free must not use low_hidden of low"

fresh
compile some bad 'int mid_twice(void); int some_bad(void) { return mid_twice(); }'
refused "some must not use mid_twice of mid"

fresh
compile attic bad 'int attic;'
refused "attic: no line for this folder in the list"

[ "$failures" -eq 0 ] && echo "all cases passed"

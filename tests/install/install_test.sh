#!/bin/sh
# Installs into a temporary prefix, moves it, and builds a program against it with CMake and with
# pkg-config, each with the shared and with the static library. Looks at what these export.
#
#     install_test.sh CMAKE CC BUILD_DIR VERSION
set -eu
cmake=$1
cc=$2
build=$3
version=$4
here=$(cd "$(dirname "$0")" && pwd)
unset DESTDIR LD_LIBRARY_PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

# what GOT WANTED
same() {
    [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
    echo "$1: $2"
}

"$cmake" --install "$build" --prefix "$work/first" >"$work/log" || {
    cat "$work/log"
    fail "install"
}
mv "$work/first" "$work/moved"
prefix=$work/moved
library=$(find "$prefix" -name libbilevel.so)
[ -n "$library" ] || fail "no libbilevel.so was installed"
libdir=$(dirname "$library")

# Nothing that is installed may lead back to where it was built or first installed.
if grep -rlIF -e "$build" -e "$work/first" "$prefix"; then
    fail "these files name the place of the build"
fi

# The number in the soname: major.minor before version 1, then major.
number=${version%%.*}
[ "$number" != 0 ] || number=${version%.*}
same "soname" "$(objdump -p "$library" | sed -n 's/^ *SONAME *//p')" "libbilevel.so.$number"
needed=$(objdump -p "$library" | sed -n 's/^ *NEEDED *//p' | sort | tr '\n' ' ')
for name in $needed; do
    case $name in
    libz.so.* | libzstd.so.* | libm.so.* | libc.so.* | libpthread.so.* | ld-linux*) ;;
    *) fail "the library needs $name" ;;
    esac
done
others=$(nm -D --defined-only "$library" | awk '$NF !~ /^blv_/ { print $NF }')
[ -z "$others" ] || fail "exported without the prefix blv_: $others"
exported=$(nm -D --defined-only "$library" | awk 'END { print NR }')
[ "$exported" -gt 0 ] || fail "nothing is exported"
echo "exported: $exported symbols, all blv_"
nm -D --defined-only "$library" | awk '{ print $NF }' | sort >"$work/shared"
nm -g --defined-only "$libdir/libbilevel.a" | awk 'NF == 3 { print $NF }' | sort >"$work/static"
diff "$work/shared" "$work/static" || fail "the static library shows other names"
if objdump -p "$library" | grep -E 'RUNPATH|RPATH'; then
    fail "the library carries a run path"
fi

# Each public header stands alone, in strict C11.
for header in "$prefix"/include/bilevel/*.h; do
    [ "${header##*/}" != mpi.h ] || continue # needs the headers of MPI
    echo "#include <bilevel/$(basename "$header")>" >"$work/header.c"
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$prefix/include" \
        "$work/header.c" || fail "$(basename "$header") does not stand alone"
done

# with_cmake TARGET COMPONENTS
with_cmake() {
    rm -rf "$work/cmake"
    {
        "$cmake" -S "$here" -B "$work/cmake" -DCMAKE_C_COMPILER="$cc" -DWANTED_COMPONENTS="$2" \
            -DCMAKE_PREFIX_PATH="$prefix" -DWANTED_VERSION="$version" -DWANTED_TARGET="$1" &&
            "$cmake" --build "$work/cmake"
    } >"$work/log" 2>&1 || {
        cat "$work/log"
        fail "build with CMake and $1"
    }
    same "with CMake and $1" "$("$work/cmake/consumer")" "$answer"
}

# static PROGRAM: it must not need the shared library
static() {
    ! objdump -p "$1" | grep -q 'NEEDED *libbilevel' || fail "$1 needs the shared library"
}

answer="$version 0.45"
with_cmake bilevel::bilevel ""
with_cmake bilevel::bilevel_static static
static "$work/cmake/consumer"

export PKG_CONFIG_PATH="$libdir/pkgconfig"
same "version in pkg-config" "$(pkg-config --modversion bilevel)" "$version"
# shellcheck disable=SC2046
"$cc" -o "$work/consumer" "$here/consumer.c" $(pkg-config --cflags --libs bilevel)
same "with pkg-config" "$(LD_LIBRARY_PATH=$libdir "$work/consumer")" "$answer"
mkdir "$work/hidden"
mv "$libdir"/libbilevel.so* "$work/hidden"
# shellcheck disable=SC2046
"$cc" -o "$work/consumer" "$here/consumer.c" $(pkg-config --static --cflags --libs bilevel)
mv "$work/hidden"/* "$libdir"
static "$work/consumer"
same "with pkg-config --static" "$("$work/consumer")" "$answer"

# The run store is a library of its own, which finds the other one beside it.
# shellcheck disable=SC2046
"$cc" -std=c11 -D_POSIX_C_SOURCE=200809L -o "$work/list_runs" "$here/../../examples/list_runs.c" \
    $(pkg-config --cflags --libs bilevel-store)
(cd "$work" && LD_LIBRARY_PATH=$libdir ./list_runs) >"$work/listed"
cmp "$work/listed" "$here/../../examples/list_runs.c.out" || fail "a program with the run store"

# The installed command finds its library by itself.
if [ -x "$build/bilevel" ]; then
    "$prefix/bin/bilevel" version | grep -F "$version" || fail "bilevel version"
    "$prefix/bin/bilevel" completion bash >"$work/bash"
    cmp "$work/bash" "$prefix/share/bash-completion/completions/bilevel" || fail "bash completion"
    "$prefix/bin/bilevel" completion zsh >"$work/zsh"
    cmp "$work/zsh" "$prefix/share/zsh/site-functions/_bilevel" || fail "zsh completion"
    "$prefix/bin/bilevel" manual >"$work/manual"
    cmp "$work/manual" "$prefix/share/man/man1/bilevel.1" || fail "manual"
    "$prefix/bin/bilevel" manual clean >"$work/manual"
    cmp "$work/manual" "$prefix/share/man/man1/bilevel-clean.1" || fail "manual of clean"

    # A C program finds the rows that `bilevel clean` finds, on the data of scripts/demo.
    command=$prefix/bin/bilevel
    export BILEVEL_STORE="$work/runs.db"
    "$command" data split "$prefix/share/bilevel/data/digits.csv.gz" "$work/train.csv" \
        "$work/val.csv" "$work/test.csv" --sizes 1000,300,497 --seed 1 >/dev/null
    "$command" data corrupt "$work/train.csv" "$work/noisy.csv" --kind pairwise --share 0.4 \
        --seed 1 >/dev/null
    "$command" clean "$work/noisy.csv" --val "$work/val.csv" --seed 1 -o "$work/suspects.csv" \
        --quiet
    # shellcheck disable=SC2046
    "$cc" -o "$work/clean_labels" "$here/../../examples/clean_labels.c" \
        $(pkg-config --cflags --libs bilevel)
    LD_LIBRARY_PATH=$libdir "$work/clean_labels" "$work/noisy.csv" "$work/val.csv" 1000 \
        >"$work/found"
    awk -F, '$3 == "suspect" { print "row " $1 ": labelled " $2 ", probably " $5 }' \
        "$work/suspects.csv" >"$work/expected"
    [ -s "$work/expected" ] || fail "the command finds no wrong labels"
    tail -n +2 "$work/found" | cmp - "$work/expected" || fail "the C program finds other rows"
    same "wrong labels found in C" "$(head -1 "$work/found")" \
        "$(awk 'END { print NR }' "$work/expected") of 1000 labels are suspect"
fi
echo "install: all well"

#!/bin/sh
# Installs into a temporary prefix, moves it, and builds a program against it with CMake and with
# pkg-config. Looks at what the library exports.
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

same "soname" "$(objdump -p "$library" | sed -n 's/^ *SONAME *//p')" "libbilevel.so.${version%%.*}"
others=$(nm -D --defined-only "$library" | awk '$NF !~ /^blv_/ { print $NF }')
[ -z "$others" ] || fail "exported without the prefix blv_: $others"
exported=$(nm -D --defined-only "$library" | awk 'END { print NR }')
[ "$exported" -gt 0 ] || fail "nothing is exported"
echo "exported: $exported symbols, all blv_"
if objdump -p "$library" | grep -E 'RUNPATH|RPATH'; then
    fail "the library carries a run path"
fi

# Each public header stands alone, in strict C11.
for header in "$prefix"/include/bilevel/*.h; do
    echo "#include <bilevel/$(basename "$header")>" >"$work/header.c"
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$prefix/include" \
        "$work/header.c" || fail "$(basename "$header") does not stand alone"
done

{
    "$cmake" -S "$here" -B "$work/cmake" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" \
        -DWANTED_VERSION="$version" && "$cmake" --build "$work/cmake"
} >"$work/log" 2>&1 || {
    cat "$work/log"
    fail "build with CMake"
}
same "with CMake" "$("$work/cmake/consumer")" "$version 3"

export PKG_CONFIG_PATH="$libdir/pkgconfig"
same "version in pkg-config" "$(pkg-config --modversion bilevel)" "$version"
# shellcheck disable=SC2046
"$cc" -o "$work/consumer" "$here/consumer.c" $(pkg-config --cflags --libs bilevel)
same "with pkg-config" "$(LD_LIBRARY_PATH=$libdir "$work/consumer")" "$version 3"

# The installed command finds its library by itself.
if [ -x "$build/bilevel" ]; then
    "$prefix/bin/bilevel" version | grep -F "$version" || fail "bilevel version"
    "$prefix/bin/bilevel" completion bash >"$work/bash"
    cmp "$work/bash" "$prefix/share/bash-completion/completions/bilevel" || fail "bash completion"
    "$prefix/bin/bilevel" completion zsh >"$work/zsh"
    cmp "$work/zsh" "$prefix/share/zsh/site-functions/_bilevel" || fail "zsh completion"
    "$prefix/bin/bilevel" manual >"$work/manual"
    cmp "$work/manual" "$prefix/share/man/man1/bilevel.1" || fail "manual"
fi
echo "install: all well"

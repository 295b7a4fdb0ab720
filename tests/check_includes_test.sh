#!/bin/sh
# The include rule must refuse a tree that breaks it, in each of the ways that there are.
#
#     check_includes_test.sh CHECK_INCLUDES
set -eu
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0
cases=0

# A tree that keeps the rules. Every case starts from it.
fresh() {
    rm -rf "$tree/src" "$tree/include" "$tree/examples"
    mkdir -p "$tree/include/bilevel" "$tree/examples"
    for folder in base io data space kernels nn linsolve core blocks solvers problems registry \
        learn store report bench cli; do
        mkdir -p "$tree/src/$folder"
        printf '#include "bilevel/status.h"\n#include "%s/own.h"\n' "$folder" \
            >"$tree/src/$folder/good_$folder.c"
    done
    printf '#include <stdio.h>\n#include "bilevel/status.h"\n' >"$tree/include/bilevel/bilevel.h"
    printf '#include <stdio.h>\n#include <bilevel/bilevel.h>\n' >"$tree/examples/hello.c"
    for pair in io:base/message data:io/input space:base/random kernels:base/thread_pool \
        nn:kernels/rows linsolve:space/space core:io/npz core:linsolve/cg blocks:core/run \
        solvers:blocks/guard solvers:core/run solvers:space/space problems:kernels/rows \
        problems:nn/nn problems:data/reading registry:solvers/list registry:problems/list \
        learn:nn/nn; do
        echo "#include \"${pair#*:}.h\"" >>"$tree/src/${pair%%:*}/good_${pair%%:*}.c"
    done
    cat >>"$tree/src/solvers/good_solvers.c" <<'C'
/* free of printf, #if and malloc:
#include "problems/in_a_comment.h"
#if 0
*/
static blv_flow good_step(blv_run *run, void *state);
static const blv_solver good = {.summary = "free: printf(\"{\")", .step = good_step};
static double time_scale(double clock) { return clock; } // free
C
    lines_of_step 79 good_step >>"$tree/src/solvers/good_solvers.c"
}

# A function of that many lines, with a brace where it does not count.
lines_of_step() {
    echo "static blv_flow $2(blv_run *run, void *state) {"
    echo "    char open = '{'; /* { */"
    i=3
    while [ "$i" -lt "$1" ]; do
        echo "    work(run);"
        i=$((i + 1))
    done
    echo "}"
}

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

accepted() {
    cases=$((cases + 1))
    "$check" "$tree" >"$tree/said" 2>&1 || fail "$1: refused"
    [ ! -s "$tree/said" ] || cat "$tree/said"
}

# The tree must be refused at this place and with these words.
refused() {
    cases=$((cases + 1))
    if "$check" "$tree" >"$tree/said" 2>&1; then
        fail "$1 $2: accepted"
    elif ! grep -F "$1:" "$tree/said" | grep -qF -e "$2"; then
        fail "$1 $2: refused for another reason:"
        cat "$tree/said"
    elif [ "$(wc -l <"$tree/said")" -ne 1 ]; then
        fail "$1 $2: more was refused than that:"
        cat "$tree/said"
    fi
}

fresh
accepted "a tree that keeps the rules"

# Every folder that must not be seen, from every folder.
for pair in \
    base:io base:core io:data io:space data:core data:kernels data:learn space:core space:kernels \
    kernels:space kernels:data nn:space nn:core linsolve:core linsolve:data core:blocks core:data \
    core:problems core:registry core:solvers blocks:solvers blocks:kernels blocks:problems \
    solvers:kernels solvers:problems solvers:data solvers:registry solvers:learn \
    problems:core problems:blocks problems:solvers problems:registry problems:learn \
    registry:learn registry:cli learn:data learn:core learn:problems learn:cli \
    cli:core cli:space cli:linsolve cli:solvers cli:problems cli:data cli:kernels store:core report:core bench:core; do
    from=${pair%%:*}
    to=${pair#*:}
    fresh
    echo "#include \"$to/other.h\"" >"$tree/src/$from/bad.c"
    refused "src/$from/bad.c:1" "$from must not include $to/other.h"
done

fresh
printf '\n  #  include <core/run.h>\n' >"$tree/src/cli/bad.h"
refused src/cli/bad.h:2 "cli must not include core/run.h"

fresh
echo '#include "core/run.h"' >"$tree/include/bilevel/bad.h"
refused include/bilevel/bad.h:1 "include must not include core/run.h"

fresh
echo '#include "core/run.h"' >"$tree/examples/bad.c"
refused examples/bad.c:1 "examples must not include core/run.h"

for path in own.h cli_table.h ../core/run.h space/../core/run.h other/run.h; do
    fresh
    echo "#include \"$path\"" >"$tree/src/space/bad.c"
    refused src/space/bad.c:1 "as \"folder/name.h\""
done

fresh
echo '#include HEADER' >"$tree/src/space/bad.c"
refused src/space/bad.c:1 "must name its header"

fresh
mkdir -p "$tree/src/attic"
echo 'int attic;' >"$tree/src/attic/bad.c"
refused src/attic/bad.c:1 "no rule for this place"

for word in printf malloc calloc realloc free clock_gettime fopen; do
    fresh
    printf '/* a comment\n*/ int a = %s(b);\n' "$word" >"$tree/src/solvers/bad.c"
    refused src/solvers/bad.c:2 "must not use $word"
done
fresh
echo 'double now = (double)time (NULL);' >"$tree/src/solvers/bad.c"
refused src/solvers/bad.c:1 "must not use time"

for directive in '#if FAST' '#ifdef FAST' '  # ifndef FAST'; do
    fresh
    echo "$directive" >"$tree/src/solvers/bad.c"
    refused src/solvers/bad.c:1 "conditionally"
done
fresh
printf '#ifndef GUARD_H\n#define GUARD_H\n#endif\n' >"$tree/src/solvers/guard.h"
accepted "an include guard in a header of solvers"

fresh
lines_of_step 80 bad_step >"$tree/src/solvers/bad.c"
refused src/solvers/bad.c:1 "bad_step has 80 lines"
fresh
lines_of_step 200 bad_helper >"$tree/src/solvers/long.c"
accepted "a long function that is no step"
fresh
echo 'const blv_solver bad = {.name = "bad", .step = bad_loop};' >"$tree/src/solvers/bad.c"
refused src/solvers/bad.c:1 "name the step function bad_loop"

fresh
echo 'int again;' >"$tree/examples/good_core.c"
refused good_core.c "several files have this name"
mkdir -p "$tree/tests"
fresh
echo 'int again;' >"$tree/tests/bilevel.h"
refused bilevel.h "several files have this name: include/bilevel/bilevel.h tests/bilevel.h"
rm -rf "$tree/tests"

fresh
rm -rf "$tree/src" "$tree/include" "$tree/examples"
if "$check" "$tree" >/dev/null 2>&1; then
    fail "an empty tree was accepted"
fi

echo "$cases cases, $failures failed"
[ "$failures" -eq 0 ]

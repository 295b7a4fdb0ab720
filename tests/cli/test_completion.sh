# Completion and manual name every command and option that the help names.
. "$(dirname "$0")/lib.sh"

refused "no shell is named" completion
refused "'fish': expected bash or zsh" completion fish
refused "one argument too many" completion bash zsh
refused "there is no command 'now'" manual now
refused "one argument too many" manual solve now
run 0 completion bash
err_empty
cp out bash.sh
run 0 completion zsh
err_empty
cp out _bilevel
run 0 manual
err_empty
cp out bilevel.1
run 0 --help
for hidden in completion manual; do
    grep -qE "^  $hidden" out && fail "$hidden is in the help"
done
sed -nE 's/^  ([a-z]+) .*/\1/p' out | grep -v '^bilevel$' >commands
[ "$(wc -l <commands)" -ge 8 ] || fail "few commands: $(cat commands)"

# Commands, and behind them their actions: "data split"
: >all
while read -r name; do
    "$bilevel" "$name" --help >out 2>err </dev/null || fail "bilevel $name --help"
    if grep -q "ACTION --help" out; then
        sed -nE "s/^  ([a-z]+) .*/$name \1/p" out >>all
    else
        echo "$name" >>all
    fi
done <commands
grep -qx "data split" all || fail "no action 'data split'"
grep -qx "runs rm" all || fail "no action 'runs rm'"

options=0
while read -r name; do
    # shellcheck disable=SC2086
    "$bilevel" $name --help >out 2>err </dev/null || fail "bilevel $name --help"
    grep -qF ".SS bilevel $name " bilevel.1 || fail "manual: no $name"
    sed -n "/^\.SS bilevel $name /,/^\.S/p" bilevel.1 | sed 's/\\-/-/g; s/\\f[A-Z]//g' >section
    # shellcheck disable=SC2086
    "$bilevel" completion words -- $name - >offered 2>err || fail "completion words $name"
    sed -nE 's/^ +(-., )?--([a-z-]+).*/\2/p' out >long
    for option in $(cat long); do
        options=$((options + 1))
        grep -qE "^--$option	." offered || fail "completion: $name --$option"
        grep -qE "^(-., )?--$option(=|$)" section || fail "manual: $name --$option"
    done
done <all
[ "$options" -ge 100 ] || fail "only $options options were looked at"
run 0 completion words -- ""
while read -r name; do
    grep -qE "^$name	." out || fail "completion: $name"
done <commands
run 0 completion words -- unknown ""
[ ! -s out ] || fail "completion of an unknown command"
[ "$(awk '/^\./ && $1 !~ /^\.(TH|SH|SS|TP|PP)$/' bilevel.1 | wc -l)" -eq 0 ] ||
    fail "a line of the manual is taken for a command"
# A page for each command, with all that its part of the manual has.
while read -r name; do
    run 0 manual "$name"
    err_empty
    cp out page.1
    grep -qF "bilevel\\-$name \\- " page.1 || fail "page of $name: no name"
    sed -n "/^\.SS bilevel $name /,/^\.S/p" bilevel.1 | grep -F '\fB\-\-' >long
    while read -r line; do
        grep -qF -- "$line" page.1 || fail "page of $name: $line"
    done <long
    if command -v man >/dev/null; then
        man --warnings -l page.1 >/dev/null 2>err || fail "man: $name"
        err_empty
    fi
done <commands
if command -v man >/dev/null; then
    man --warnings -l bilevel.1 >out 2>err && grep -q "problem-set" out || fail "man"
fi

if command -v zsh >/dev/null; then
    zsh -n _bilevel 2>err || fail "zsh -n"
else
    echo "no zsh here: its completion was not parsed"
fi
command -v bash >/dev/null || {
    echo "no bash here: completion was not tried"
    finish
}
bash -n bash.sh 2>err || fail "bash -n"

# completes WORD... : what bash offers for the last of the words
completes() {
    case_name="completing: $*"
    bash -c '. ./bash.sh; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bilevel
        printf "%s\n" "${COMPREPLY[@]}"' bash "$bilevel" "$@" >out 2>err || fail "$case_name"
    err_empty
}
# exactly WORDS WORD...
exactly() {
    wanted=$1
    shift
    completes "$@"
    # shellcheck disable=SC2086
    printf '%s\n' $wanted | sort >expected
    sort out >found
    same found expected
}
exactly "solve solvers" sol
exactly "plot predict problems" p
exactly "plot predict problems" help p
exactly "quadratic" solve qua
exactly "--problem-set" solve quadratic --prob
exactly "f32 f64" solve quadratic --precision ""
exactly "soba" solve quadratic --solver sob
exactly "soba" solvers sob
exactly "list show rm export" runs ""
exactly "--last" runs --la
exactly "--last" runs list --la
exactly "quadratic" runs list --problem qua
exactly "split stats" data s
exactly "--sizes" data split a.csv --si
exactly "time iterations calls" plot 1 --x ""
exactly "" data -
exactly "" unknown --pr
exactly "solvers" help solver
touch "a file.svg" afar.txt
completes plot 1 -o a
out_has "a file.svg"
out_has "afar.txt"
completes data info a
out_has "a file.svg"
completes solve quadratic --start ""
out_has "zero"
out_has "afar.txt"

finish

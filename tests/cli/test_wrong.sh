# Wrong files, to every command that reads one: exit code 2, a message that names the file, nothing
# on standard output, no file written, no run stored.
digits=$(cd "$(dirname "$0")/../../data" && pwd)/digits.csv.gz
. "$(dirname "$0")/lib.sh"

run 0 data split "$digits" train.csv val.csv --sizes 120,80
run 0 tune train.csv --val val.csv --penalty one -o model.npz --no-store --quiet
awk -F, 'NR == 1 || $NF == 3' train.csv >one.csv
awk -F, '$NF != 3' val.csv >without.csv
awk -F, -v OFS=, 'NR == 5 { $7 = "inf" } { print }' train.csv >inf.csv
awk -F, -v OFS=, 'NR == 5 { $7 = "" } { print }' train.csv >hole.csv
awk -F, -v OFS=, 'NR == 5 { NF = 60 } { print }' train.csv >ragged.csv
cut -d, -f2-65 val.csv >narrow.csv

# wrong WORDS COMMAND ARGUMENT...
wrong() {
    refused "$@"
    [ "$(wc -l <err)" -eq 1 ] || fail "$case_name: more than one line"
    for written in never*; do
        [ ! -e "$written" ] || fail "$case_name: wrote $written"
    done
    [ ! -e .runs.db ] || fail "$case_name: a run is stored"
}

# each WORDS FILE [OPTION...]: a wrong file, to every command
each() {
    words=$1
    file=$2
    shift 2
    wrong "$words" clean "$file" "$@" --val val.csv -o never.csv
    wrong "$words" tune "$file" "$@" --val val.csv -o never.npz
    wrong "$words" predict model.npz "$file" "$@" -o never.csv
    wrong "$words" data info "$file" "$@"
    wrong "$words" data stats "$file" "$@"
    wrong "$words" data convert "$file" "$@" never.npz
    wrong "$words" data split "$file" "$@" never.csv never2.csv
    wrong "$words" data corrupt "$file" "$@" never.csv --share 0.1
}
on_data="l2reg hyperclean hyperclean-nn decay-nn coreset"

each "missing.csv: cannot open: No such file or directory" missing.csv
each "train.csv: no label column 'kind'; the header has " train.csv --label kind
each "inf.csv: line 5, column 7 of 65 (x6): expected a finite number, found 'inf'" inf.csv
each "hole.csv: line 5, column 7 of 65 (x6): expected a " hole.csv --missing error
each "ragged.csv: line 5" ragged.csv
for problem in $on_data; do
    set -- solve $problem --iters 1 --out never.npz --problem-set
    wrong "missing.csv: cannot open: No such file or directory" "$@" train=missing.csv
    wrong "train.csv: no label column 'kind'" "$@" train=train.csv --problem-set label=kind
    wrong "inf.csv: line 5, column 7 of 65 (x6): expected a finite number, found 'inf'" "$@" train=inf.csv
    wrong "one.csv: one class only ('3'); expected at least two" "$@" train=one.csv
    wrong "narrow.csv: there is no column" "$@" train=train.csv \
        --problem-set val=narrow.csv
done
wrong "one.csv: one class only ('3'); expected at least two" check l2reg --problem-set train=one.csv
wrong "missing.csv: cannot open" solvers --for l2reg --problem-set train=missing.csv
for command in clean tune; do
    wrong "one.csv: one class only ('3')" $command one.csv --val val.csv
    wrong "narrow.csv: there is no column" $command train.csv --val narrow.csv
    wrong "narrow.csv: there is no column" $command train.csv --val val.csv \
        --test narrow.csv
done
wrong "without.csv: no row of class '3', which train.csv has" tune train.csv --val without.csv
wrong "one class only" data corrupt one.csv never.csv --share 0.1
wrong "narrow.csv: there is no column 'x0', which the rows of the training have" predict model.npz narrow.csv
cut -d, -f2- narrow.csv | tail -n +2 >plain.csv
wrong "plain.csv: 63 columns are fewer than the rows of the training have" predict model.npz plain.csv
wrong "missing.npz: cannot open" predict missing.npz val.csv
wrong "train.csv" predict train.csv val.csv

# ---- Stores and runs that are not there
for command in runs "runs show 1" "runs rm 1" "runs export 1" "resume 1" "plot 1" "report 1"; do
    # shellcheck disable=SC2086
    wrong "there is no run store at missing.db" $command --store missing.db
    # shellcheck disable=SC2086
    wrong "train.csv: it is no run store" $command --store train.csv
done

finish

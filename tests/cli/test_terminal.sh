# Text from stores, suites and data files cannot steer a terminal: escape sequences, C1 controls,
# marks of direction and newlines are shown, on standard output and standard error, as text and JSON.
. "$(dirname "$0")/lib.sh"
sql=$helpers/store_tool

escape=$(printf '\033')
bell=$(printf '\007')
return=$(printf '\r')
c1=$(printf '\302\233') # U+009B, CSI
override=$(printf '\342\200\256') # U+202E
byte=$(printf '\233') # no UTF-8
evil="${escape}]0;pwned${bell}${c1}31m${override}cod${return}
FAKE LINE"

# harmless: nothing of it is in out and err, and no line begins with FAKE
harmless() {
    for stream in out err; do
        for bytes in "$escape" "$bell" "$c1" "$override" "$return"; do
            LC_ALL=C grep -qF -e "$bytes" $stream &&
                fail "$case_name: $stream has the bytes $(printf %s "$bytes" | od -An -tx1)"
        done
        LC_ALL=C grep -q '^FAKE' $stream && fail "$case_name: $stream has a line of its own"
    done
}

# Stores
run 0 solve quadratic --iters 5 --quiet
for column in kind problem solver message host version precision started outcome; do
    "$sql" "$BILEVEL_STORE" "UPDATE run SET $column = '$evil'"
done
"$sql" "$BILEVEL_STORE" "UPDATE run SET command = '[\"solve\", \"\\u001b[2J\\u009b\\u202e\\nFAKE\"]',
    options = '{\"\\u001b[2J\": \"\\u009b\\u202e\\nFAKE\"}', parameters = '{\"\\nFAKE\": \"\\u001b\"}'"
run 0 runs
out_has '\u001b]0;pwned\u0007\u009b31m\u202ecod\u000d'
harmless
run 0 runs show 1
out_has '\nFAKE LINE'
harmless
run 0 runs --json
harmless
json "$evil" 0 message
"$sql" "$BILEVEL_STORE" "UPDATE run SET message = '$byte$evil'"
run 0 runs show 1
harmless
run 0 runs show 1 --json
harmless
for command in "resume 1" "resume 1 --iters 9" "plot 1" "report 1"; do
    # shellcheck disable=SC2086
    "$bilevel" $command >out 2>err
    case_name="bilevel $command"
    harmless
done

# Class names and names of columns
name="${c1}31m${override}cod
FAKE LINE"
evil=$name awk 'BEGIN { evil = ENVIRON["evil"]; print "\"a" evil "\",b,label"
    for (i = 0; i < 40; i++) print i % 2 + rand() "," rand() ",\"" (i % 2 ? "no" : evil) "\"" }' >names.csv
for command in "data info" "data stats" "clean --folds 2 --iters 2" "coreset --size 4" "tune --iters 2 -o m.npz"; do
    # shellcheck disable=SC2086
    run 0 $command names.csv
    harmless
done
run 0 predict m.npz names.csv
harmless
run 0 data info names.csv --json
harmless
case_name="on a terminal"
"$helpers/on_terminal" err "$bilevel" tune names.csv --seconds 1 --progress bar >out
LC_ALL=C sed -e "s/$return$escape\[K//g" -e "s/$return\$//" err >rest # what the progress line is made of
mv rest err
harmless

# Suites
cat >evil.json <<'END'
{"name": "evil", "title": "x\u001b[2J\u009b\u202e\nFAKE"}
END
run 2 bench ./evil.json
err_has "a text without control characters"
harmless

# Messages about files
printf 'a,label\n1,x\n%s,y\n' "$(printf '\033[2J')" >bad.csv
run 2 data info bad.csv --columns a:number
harmless
printf '%s\n' "$evil" >"$(printf 'f\033[2J')"
run 2 data info "$(printf 'f\033[2J')"
harmless
run 2 data info "$(printf 'none\n%sFAKE' "$c1")"
harmless

# What is no control character stays
printf 'größe,label\n1,naïve\n2,日本\n3,naïve\n4,日本\n' >plain.csv
run 0 data info plain.csv
out_has "naïve"
out_has "日本"
out_has "größe"

finish

# scripts/demo removes nothing but what it has written: sh demo_test.sh ROOT
root=$1
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1

fail() {
    echo "FAILED: $*"
    exit 1
}

# In place of the command: what the demo reads of its output
cat >bilevel <<'END'
#!/bin/sh
case $1 in
clean) printf '  TRAIN as given  0.5  0.5\n  TRAIN with the noise model  0.9  0.9\n' ;;
report) echo page >report.html ;;
esac
END
chmod +x bilevel
bilevel=$directory/bilevel

# A folder of the user
mkdir mine
echo precious >mine/thesis.txt
"$root/scripts/demo" "$bilevel" digits mine >out 2>err && fail "a folder of the user is taken"
grep -q "holds files that this demo did not write" err || fail "no message: $(cat err)"
[ "$(cat mine/thesis.txt)" = precious ] || fail "a file of the user is gone"
[ "$(ls -A mine)" = thesis.txt ] || fail "something was written into a folder of the user"
# a link to one
mkdir empty
ln -s empty link
"$root/scripts/demo" "$bilevel" digits link >out 2>err && fail "a link is taken"

# An empty folder, and then the same again: what else is there stays
"$root/scripts/demo" "$bilevel" digits "empty" >out 2>err || fail "an empty folder: $(cat err)"
[ -s empty/report.html ] || fail "no report"
echo precious >empty/notes.txt
"$root/scripts/demo" "$bilevel" digits "empty" >out 2>err || fail "its own folder: $(cat err)"
[ "$(cat empty/notes.txt)" = precious ] || fail "a file that the user put there is gone"
echo "all as expected"

# scripts/check-docs finds pages that are broken: sh check_docs_test.sh ROOT FOLDER_OF_THE_BUILD
root=$1
build=$2
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
failures=0

fresh() {
    rm -rf tree
    mkdir -p tree/scripts
    cp -r "$root/docs" tree/
    cp "$root/README.md" "$root/CONTRIBUTING.md" "$root/Makefile" tree/
    ln -s "$root"/scripts/* tree/scripts/
    ln -s "$root/src" "$root/.clang-tidy" tree/
    ln -s "$root/tests" tree/tests
}

# finds WORDS: the check fails and says so
finds() {
    if "$root/scripts/check-docs" "$build" "$directory/tree" >out 2>&1 || ! grep -qF -e "$1" out; then
        echo "FAILED: '$1' is not found:"
        cat out
        failures=1
    fi
}

fresh
"$root/scripts/check-docs" "$build" "$directory/tree" >out 2>&1 || {
    echo "FAILED: the pages as they are:"
    cat out
    failures=1
}
printf '\n## Counts\n' >>tree/docs/promises.md
finds "the section is there twice"
fresh
printf '\n| a | b |\n| --- | --- |\n| one | tw\n' >>tree/docs/data.md
finds "docs/data.md:"
finds "the row is cut off"
fresh
printf '\n| a | b |\n| --- | --- |\n| one |\n' >>tree/docs/data.md
finds "1 cells in a table of 2"
fresh
echo '>>>>>>> main' >>tree/README.md
finds "left of a merge"
fresh
echo 'As `scripts/analyze` says: 85 files.' >>tree/docs/data.md
finds '85 beside `scripts/analyze`'
fresh
sed -i 's/`cli_overwrite`/`cli_overwritten`, `make nothing`, `test_of_nothing`/' tree/docs/promises.md
finds "there is no cli_overwritten"
finds "there is no make nothing"
finds "there is no test_of_nothing"

[ $failures -eq 0 ] && echo "all as expected"
exit $failures

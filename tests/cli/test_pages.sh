# The examples on the pages docs/clean.md, docs/tune.md and docs/coreset.md: every command runs, and
# what it prints is what the page shows, numbers aside: these may differ in their last digits from
# one processor to the next, and seconds always do.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/lib.sh"
ln -s "$root/data" data
mkdir bin
ln -s "$bilevel" bin/bilevel
PATH=$directory/bin:$PATH

# commands PAGE: the lines of its console blocks
console() {
    awk '/^```console$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$1"
}

# Numbers become N, and runs of blanks one.
shape() {
    sed -E 's/[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/N/g; s/ +/ /g' "$1"
}

for page in clean tune coreset; do
    case_name="docs/$page.md"
    console "$root/docs/$page.md" >shown
    grep '^\$ ' shown | sed 's/^\$ //' >commands
    [ "$(wc -l <commands)" -ge 2 ] || fail "$case_name: no examples found"
    : >printed
    while IFS= read -r command; do
        echo "\$ $command" >>printed
        sh -c "$command" >>printed 2>err </dev/null || fail "$case_name: $command"
    done <commands
    cp shown out
    shape shown >expected
    shape printed >found
    diff expected found >err || fail "$case_name: the page shows something else"
done

finish

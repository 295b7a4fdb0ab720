# The page of bilevel report: what is on it, that it stands alone, and what is refused.
. "$(dirname "$0")/lib.sh"
sql=$helpers/store_tool
small="quadratic --problem-set dx=5 --problem-set dy=4"

page_has() {
    grep -qF -e "$1" "$page" || fail "$case_name: the page has no '$1'"
}

page_lacks() {
    if grep -qF -e "$1" "$page"; then fail "$case_name: the page has '$1'"; fi
}

# Tags that close each other, and nothing that is loaded from elsewhere
well_formed() {
    page_has "<!DOCTYPE html>"
    page_has "</html>"
    page_lacks "http://"
    page_lacks "https://"
    page_lacks "<script"
    page_lacks "xmlns"
    grep -oE '(src|href)="[^"]{0,30}' "$page" | grep -vE 'src="data:image/' &&
        fail "$case_name: something is loaded"
    if ! command -v python3 >/dev/null; then
        echo "no python3: tags are only counted"
        for tag in table tr td figure svg details pre div; do
            [ "$(grep -oE "<$tag[ >]" "$page" | wc -l)" -eq "$(grep -o "</$tag>" "$page" | wc -l)" ] ||
                fail "$case_name: <$tag>"
        done
        return
    fi
    python3 - "$page" >found 2>&1 <<'PYTHON' || { cat found; fail "$case_name: not well-formed"; }
import html.parser, sys

class Tags(html.parser.HTMLParser):
    empty = {"meta", "img", "br", "hr", "link", "input"}
    def __init__(self):
        super().__init__()
        self.open, self.ids = [], []
    def handle_starttag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in self.empty:
            self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            sys.exit(f"line {self.getpos()[0]}: </{tag}> closes {self.open[-1:]}")
        self.open.pop()

tags = Tags()
tags.feed(open(sys.argv[1], encoding="utf-8").read())
tags.close()
if tags.open:
    sys.exit(f"left open: {tags.open}")
if len(set(tags.ids)) != len(tags.ids):
    sys.exit("an id is used twice")
PYTHON
}

refused "there is no run store at" report 1
# shellcheck disable=SC2086
run 0 solve $small --solver soba,exact,s-tfbo --iters 300 --every 50 --quiet
refused "no run is named" report
refused "there is no run 99" report 1 99
refused "expected the number of a run" report one
[ ! -e report.html ] || fail "a refused report was written"

# ---- Without gnuplot
mkdir empty
case_name="without gnuplot"
PATH=$PWD/empty "$bilevel" report 1 -o missing.html >out 2>err
code=$?
[ "$code" -eq 2 ] || fail "$case_name: exit code $code, expected 2"
err_has "gnuplot is not there"
[ ! -e missing.html ] || fail "$case_name: a page was written"
case_name="without gnuplot and without plots"
PATH=$PWD/empty "$bilevel" report 1 2 3 --no-plots -o plain.html >out 2>err ||
    fail "$case_name: exit code $?"
page=plain.html
well_formed
page_lacks "<svg"

# ---- The parts of the page
figures=0
if command -v gnuplot >/dev/null; then
    run 0 report 1 2 3
    figures=3 # Phi over time, Phi over calls, |d| over time
else
    run 0 report 1 2 3 --no-plots
    echo "gnuplot is not installed: pages have no curves"
fi
err_empty
page=report.html
well_formed
[ "$(grep -c '<svg ' "$page")" -eq "$figures" ] || fail "$case_name: not $figures drawings"
[ "$(grep -c '<g class="curve">' "$page")" -eq $((3 * figures)) ] || fail "$case_name: curves"
page_has "<title>quadratic: 3 runs</title>"
page_has 'name="viewport"'
page_has "g = y&#39;Ay/2 + y&#39;(Cx+c)"
page_has "<tr><td>kappa</td><td>100</td></tr>"
page_has "<h2>Answer</h2>"
[ "$(grep '^<h2>' "$page" | head -n 1)" = "<h2>Answer</h2>" ] || fail "$case_name: the answer is not first"
page_has "<h2>Problem</h2>"
page_has "Fingerprint of the data"
page_has "<tr><td>step_x</td>"
page_has "<h3>Certificate</h3>"
page_has "<tr><td>tight</td><td>"
page_has "bilevel solve quadratic --problem-set dx=5"
phi=$("$bilevel" runs show 2 --json >one && "$json_get" one phi | awk '{ printf "%.10g", $1 }')
page_has "the least certified Phi is $phi,"
page_has "exact reached it (run 2)"
# Sorted by certified Phi
sed -n 's/^<tr><td>\([a-z-]*\)<\/td><td>[a-z]*<\/td><td class="r">[0-9].*/\1/p' "$page" >found
"$sql" .runs.db "SELECT solver FROM run ORDER BY phi" >expected
same found expected

# ---- Seeds, several problems, accuracy, notes
printf '1 1:1 2:2\n0 1:0 2:1\n1 1:3 2:1\n0 1:-1 2:2\n1 1:1\n0 2:1\n1 1:2\n0 2:3\n' >a.svm
for seed in 1 2; do
    run 0 solve --solver s-tfbo l2reg --problem-set train=a.svm --iters 20 --every 5 --seed $seed --quiet
done
[ "$figures" -eq 0 ] && plots=--no-plots || plots=
# shellcheck disable=SC2086
run 0 report 1 4 5 $plots -o two.html --title 'Me & <you>'
page=two.html
well_formed
page_has "<title>Me &amp; &lt;you&gt;</title>"
page_has "<h3>l2reg</h3>"
page_has "<h3>quadratic</h3>"
page_has "val_accuracy"
if [ "$figures" -gt 0 ]; then
    page_has "<text>s-tfbo, l2reg, 2 runs</text>"
    [ "$(grep -c '<svg ' "$page")" -eq 4 ] || fail "$case_name: not four drawings"
fi

# ---- What is attached is shown
"$sql" .runs.db "INSERT INTO attachment VALUES (1, 'a sheet.html', 0, '<p>part one, '), \
    (1, 'a sheet.html', 1, 'part two</p>'), (1, 'dot.png', 0, x'89504e470d0a1a0a'), \
    (1, '<i>.svg', 0, '<svg></svg>'), (1, 'other.bin', 0, 'secret bytes')"
run 0 report 1 --no-plots -o attached.html
page=attached.html
well_formed
page_has "<p>part one, part two</p>"
page_has 'src="data:image/png;base64,iVBORw0KGgo="'
page_has 'src="data:image/svg+xml;base64,PHN2Zz48L3N2Zz4="'
page_has "<figcaption>&lt;i&gt;.svg</figcaption>"
page_lacks "secret bytes"
page_has "default-src 'none'"

# ---- Text of the user is text
"$sql" .runs.db "UPDATE run SET solver = '<img src=x onerror=\"a\">', message = '</table>&', \
    problem_parameters = '{\"<u>\": \"</td>\"}', command = '[\"<script>\", \"b\"]', \
    result = '{\"notes\": [\"<h1>\", null], \"certificate\": {\"<em>\": \"<em>\"}}' WHERE id = 3"
# shellcheck disable=SC2086
run 0 report 3 2 $plots -o odd.html
page=odd.html
well_formed
for tag in "<img src=x" "<u>" "<em>" "<script>"; do
    page_lacks "$tag"
done
page_has "&lt;img src=x onerror=&quot;a&quot;&gt;"
page_has "<li>&lt;h1&gt;</li>"
# A run that has not ended, and one that was never certified
"$sql" .runs.db "UPDATE run SET result = NULL, phi = NULL, grad_norm = NULL, outcome = NULL, \
    parameters = NULL, options = NULL, command = NULL, dim_x = NULL WHERE id = 3"
run 0 report 3 --no-plots -o bare.html
page=bare.html
well_formed
page_has "no run has a certified Phi"

# ---- A disk that is full: what was there stays
cp report.html before
(
    ulimit -f 68 # blocks of 512 bytes: room for the store's own files, not for the page
    "$bilevel" report 1 2 4 5 --no-plots --title "$(head -c 40000 /dev/zero | tr '\0' x)" -o report.html
) >out 2>err
code=$?
case_name="full disk"
[ "$code" -eq 2 ] || fail "$case_name: exit code $code, expected 2"
err_has "report.html: cannot write"
same report.html before
ls -A | grep -q '\.tmp$' && fail "something was left behind"

finish

# The pages of bilevel report and bilevel bench in a browser: no message on the console, every picture drawn, nothing
# loaded, no wider than the screen of a phone. Two pages that are made bad show that this is seen.
digits=$(cd "$(dirname "$0")/../../data" && pwd)/digits.csv.gz
. "$(dirname "$0")/lib.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
    echo "skipped: no chromium here (Debian package chromium)"
    exit 77
fi
if ! command -v gnuplot >/dev/null; then
    echo "skipped: no gnuplot here, so pages have no plots (Debian package gnuplot-nox)"
    exit 77
fi

# ---- The pages
run 0 data split "$digits" train.csv val.csv --sizes 300,150
run 0 data corrupt train.csv noisy.csv --share 0.3 --truth truth.csv
run 0 clean noisy.csv --val val.csv --test val.csv --truth truth.csv --quiet
run 0 tune train.csv --val val.csv --test val.csv --quiet
run 0 solve quadratic --solver soba,exact --iters 200 --quiet
run 0 report 1 -o clean.html
run 0 report 2 -o tune.html
run 0 report 3 4 -o solve.html
run 0 bench quadratic --quick --no-store -o bench --page bench.html
sed 's|<h2>Answer</h2>|<div style="width:600px">wide</div>&|' solve.html >wide.html
sed 's|<h2>Answer</h2>|<img src="http://example.com/a.png">&|' solve.html >loads.html

# ---- All of them beside each other, each as wide as a phone, with every part opened
cat >all.html <<'END'
<!DOCTYPE html><meta charset="utf-8"><pre id="found"></pre>
<script>
const width = 390, names = ["clean", "tune", "solve", "bench", "wide", "loads"], found = {};
function drawn(svg) {
    const box = svg.getBoundingClientRect();
    return box.width > 100 && box.height > 50 && svg.querySelectorAll("path").length > 1;
}
function look(name, frame) {
    const page = frame.contentDocument, all = tag => [...page.querySelectorAll(tag)];
    all("details").forEach(part => part.open = true);
    const loaded = frame.contentWindow.performance.getEntriesByType("resource");
    found[name] = {
        title: page.title,
        inner: frame.contentWindow.innerWidth,
        scroll: page.documentElement.scrollWidth,
        font: parseFloat(frame.contentWindow.getComputedStyle(page.body).fontSize),
        plots: all("svg").length,
        plots_drawn: all("svg").filter(drawn).length,
        images: all("img").length,
        images_drawn: all("img").filter(i => i.complete && i.naturalWidth > 0).length,
        loaded: loaded.filter(entry => !entry.name.startsWith("data:")).length};
    if (Object.keys(found).length == names.length)
        document.getElementById("found").textContent = JSON.stringify(found);
}
for (const name of names) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width:${width}px;height:800px;border:0`;
    frame.onload = () => look(name, frame);
    frame.src = name + ".html";
    document.documentElement.append(frame);
}
</script>
END
case_name="in a browser"
timeout 100 "$browser" --headless --no-sandbox --disable-gpu --disable-extensions --no-first-run \
    --disable-background-networking --disable-component-update --disable-dev-shm-usage \
    --host-resolver-rules="MAP * ~NOTFOUND" --proxy-server=127.0.0.1:9 \
    --allow-file-access-from-files --enable-logging=stderr --user-data-dir="$PWD/profile" \
    --timeout=20000 --dump-dom "file://$PWD/all.html" >dom 2>log
sed -n 's/.*<pre id="found">\(.*\)<\/pre>.*/\1/p' dom | sed 's/&amp;/\&/g; s/&lt;/</g; s/&gt;/>/g' >out
cp log err

# ---- What was seen
for name in clean tune solve bench; do
    json 390 $name inner
    awk -v w="$("$json_get" out $name scroll)" 'BEGIN { exit !(w > 0 && w <= 390) }' ||
        fail "$name.html is $("$json_get" out $name scroll) wide on a screen of 390"
    awk -v s="$("$json_get" out $name font)" 'BEGIN { exit !(s >= 14) }' || fail "$name.html: small print"
    [ "$("$json_get" out $name plots)" -ge 1 ] || fail "$name.html: no plots"
    json "$("$json_get" out $name plots)" $name plots_drawn
    json "$("$json_get" out $name images)" $name images_drawn
    json 0 $name loaded
    grep "CONSOLE.*/$name\.html" log && fail "$name.html: messages on the console"
done
json "Wrong labels in noisy.csv" clean title
"$bilevel" runs show 1 --json >one
suspects=$("$json_get" one result suspects)
json "$((suspects < 60 ? suspects : 60))" clean images
grep "CONSOLE.*/all\.html" log && fail "messages on the console"

# ---- The bad ones are told apart
[ "$("$json_get" out wide scroll)" -gt 390 ] || fail "a page that is too wide was not noticed"
grep -q "CONSOLE.*/loads\.html" log || fail "a page that loads something was not noticed"

finish

"""The same algorithm, settings, data and number of iterations here and in other libraries.

    compare.py BILEVEL [--quick] [--markdown FILE] [--threads 1,2] [--only TEXT]

Prints a line for each case: time of an iteration on both sides and the ratio, and the losses on the
validation rows at the end, which must be alike for the comparison to mean something. With one thread
also a line from certified values: the time to a stated Phi on both sides, and Phi on both sides after
the time that `bilevel` took for all iterations. Evaluation, reading and compilation are off the
clock. A library that this python does not have is left out.
Data: the folder of BILEVEL_DATA; with --quick made-up data and few iterations.
"""
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import numpy
from algorithms import REPEATS

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- Data: split, scaled and shuffled once, the same files for all ----


def save(folder, name, train, val):
    paths = {}
    for part, (a, b) in (("train", train), ("val", val)):
        paths[part] = os.path.join(folder, f"{name}-{part}.npz")
        numpy.savez(paths[part], X=numpy.ascontiguousarray(a), y=b.astype(numpy.int64))
    return paths


def split(a, b, train, val, random):
    order = random.permutation(len(a))
    a, b = a[order], b[order]
    return (a[:train], b[:train]), (a[train : train + val], b[train : train + val])


def idx(path, offset, shape):
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=offset).reshape(shape)


def mnist(data, folder, random):
    a = idx(f"{data}/mnist/train-images-idx3-ubyte.gz", 16, (60000, 784)) / numpy.float32(255)
    b = idx(f"{data}/mnist/train-labels-idx1-ubyte.gz", 8, (60000,)).astype(int)
    train, val = split(a.astype(numpy.float32), b, 20000, 5000, random)
    wrong = random.random(20000) < 0.1
    train[1][wrong] = random.integers(10, size=wrong.sum())
    return save(folder, "mnist", train, val)


def covtype_rows(data, random):
    rows = numpy.loadtxt(f"{data}/covtype/covtype.sample.data.gz", delimiter=",", dtype=numpy.int32)
    a, b = rows[:, :-1].astype(float), rows[:, -1] - 1
    train, val = split(a, b, int(0.64 * len(a)), int(0.16 * len(a)), random)
    mean, deviation = train[0].mean(0), train[0].std(0)
    deviation[deviation == 0] = 1
    return [((a - mean) / deviation, b) for a, b in (train, val)]


def covtype(data, folder, random):
    return save(folder, "covtype", *covtype_rows(data, random))


def covtype_pine(data, folder, random):
    """Two classes: lodgepole pine, which is half of the rows, or not."""
    parts = [(a, (b == 1).astype(int)) for a, b in covtype_rows(data, random)]
    return save(folder, "covtype-pine", *parts)


def read_libsvm(path, columns):
    a, b = [], []
    with gzip.open(path, "rt") as file:
        for line in file:
            label, *pairs = line.split()
            row = numpy.zeros(columns)
            for pair in pairs:
                k, value = pair.split(":")
                row[int(k) - 1] = float(value)
            a.append(row)
            b.append(float(label) > 0)
    return numpy.array(a), numpy.array(b, dtype=int)


def ijcnn1(data, folder, random):
    train = read_libsvm(f"{data}/ijcnn1/ijcnn1.gz", 22)
    val = read_libsvm(f"{data}/ijcnn1/ijcnn1.t.gz", 22)
    shuffled = []
    for a, b in (train, val):
        order = random.permutation(len(a))
        shuffled.append((a[order], b[order]))
    return save(folder, "ijcnn1", *shuffled)


def made_up(name, rows, columns, classes, single):
    def make(data, folder, random):
        a = random.standard_normal((2 * rows, columns))
        b = (a[:, :classes] + 0.5 * random.standard_normal((2 * rows, classes))).argmax(1)
        a = a.astype(numpy.float32) if single else a
        return save(folder, name, *split(a, b, rows, rows, random))

    return make


DATA = {"mnist": mnist, "covtype": covtype, "covtype-pine": covtype_pine, "ijcnn1": ijcnn1}
SMALL = {
    "mnist": made_up("mnist", 2000, 20, 10, True),
    "covtype": made_up("covtype", 1000, 10, 7, False),
    "covtype-pine": made_up("covtype-pine", 1000, 10, 2, False),
    "ijcnn1": made_up("ijcnn1", 1000, 8, 2, False),
}


# ---- Cases ----

NEUMANN = {"eta": 0.5, "Q": 3}
CLEAN = {"problem": "hyperclean", "batch": 1000, "double": False, "logistic": False, "C": 0.001}
SOFTMAX = {"problem": "l2reg", "batch": 64, "double": True, "logistic": False}
LOGISTIC = dict(SOFTMAX, logistic=True)
SINGLE = {"step_x": 0.1, "step_y": 0.05, "step_v": 0.05, "decay": 0.5}
STORM = {"step_x": 0.1, "step_y": 0.05, "eta": 0.05, "Q": 3}

CASES = [
    ("mnist", CLEAN, "mrbo", 200, dict(NEUMANN, step_x=100, step_y=0.1)),
    ("mnist", CLEAN, "stocbio", 10, dict(NEUMANN, step_x=100, step_y=0.1, inner=200)),
    ("mnist", CLEAN, "aid-cg", 10, {"step_x": 100, "step_y": 0.1, "inner": 200, "linear": 10}),
    ("mnist", CLEAN, "vrbo", 10,
     dict(NEUMANN, step_x=100, step_y=0.1, inner=20, S2=500, period=3)),
    ("mnist", CLEAN, "soba", 500, dict(SINGLE, step_x=100, step_y=0.1, step_v=0.1)),
    ("mnist", CLEAN, "s-tfbo", 500, {}),
    ("covtype", SOFTMAX, "soba", 5000, SINGLE),
    ("covtype", SOFTMAX, "s-tfbo", 5000, {}),
    ("covtype", SOFTMAX, "mrbo", 1000, STORM),
    ("covtype-pine", LOGISTIC, "soba", 5000, SINGLE),
    ("ijcnn1", LOGISTIC, "soba", 5000, SINGLE),
    ("ijcnn1", LOGISTIC, "s-tfbo", 5000, {}),
    ("ijcnn1", LOGISTIC, "mrbo", 1000, STORM),
]


def command_of(bilevel, case, threads, iterations):
    command = [bilevel, "solve", case["problem"], "--json", "--no-store", "--progress", "none"]
    command += ["--threads", str(threads), "--solver", case["algorithm"]]
    command += ["--precision", "f64" if case["double"] else "f32"]
    command += ["--iters", str(iterations), "--batch", str(case["batch"])]
    for key in ("train", "val"):
        command += ["--problem-set", f"{key}={case[key]}"]
    if "C" in case:
        command += ["--problem-set", f"C={case['C']}"]
    settings = dict(case["settings"])
    if case["algorithm"] == "vrbo":
        settings["S1"] = case["batch"]
    if case["algorithm"] == "stocbio":
        settings.update(decay_x=0, decay_y=0)
    if case["problem"] == "l2reg":
        command += ["--problem-set", "loss=" + ("logistic" if case["logistic"] else "softmax")]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    return command


def result_of(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare.py: {' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def ours(bilevel, case, threads):
    command = command_of(bilevel, case, threads, case["iterations"])
    best = min((result_of(command) for _ in range(REPEATS)), key=lambda r: r["seconds"])
    return {"seconds": best["seconds"], "val_loss": best["measures"]["val_loss"]}


NUMBA = {"numba": [], "numba oracles": ["oracles"]}  # and what soba_numba.py is told


def numba_can(which, case):
    soba = case["algorithm"] == "soba" and case["double"]
    return soba and (case["logistic"] or not NUMBA[which])


def theirs(which, case, threads, folder):
    path = os.path.join(folder, "case.json")
    with open(path, "w") as file:
        json.dump(case, file)
    script, words = "algorithms.py", [which, path, str(threads)]
    if which in NUMBA:
        script, words = "soba_numba.py", [path] + NUMBA[which]
    command = [sys.executable, os.path.join(HERE, script)] + words
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        print(f"compare.py: {which}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def has(library):
    return importlib.util.find_spec(library) is not None


# ---- Certified values on both sides ----

POINTS = 3


def points_of(case):
    """Numbers of iterations, closer together at the beginning."""
    count = case["iterations"]
    return sorted({max(1, round(count * (k / POINTS) ** 2)) for k in range(1, POINTS + 1)} | {0})


def phi_of(bilevel, case, path):
    """Of a file with an x whose rows are in the order of the training file."""
    in_order = ["--problem-set", "order=file", "--start", path]
    return result_of(command_of(bilevel, case, 0, 0) + in_order)["phi"]


def curve_of_ours(bilevel, case):
    return {n: result_of(command_of(bilevel, case, 0, n))["phi"] for n in points_of(case)}


def first_at(curve, level):
    return min(n for n, phi in curve.items() if phi <= level)


def quality(bilevel, case, mine, curve, peer, folder):
    """Time to the lowest Phi that both sides come to, and Phi of both after the same time."""
    path = lambda n: os.path.join(folder, f"{n}.npz")
    other = {n: phi_of(bilevel, case, path(n)) for n in curve}
    level = max(min(curve.values()), min(other.values()))
    mine_at, peer_at = first_at(curve, level), first_at(other, level)
    mine_seconds = mine["seconds"] * mine_at / case["iterations"]
    peer_seconds = peer["seconds"] * peer_at / case["iterations"]
    ratio = f"{peer_seconds / mine_seconds:.3g}" if mine_at else "-"
    return (
        case["data"], case["algorithm"], peer["library"], f"{level:.5g}", f"{mine_seconds:.3g}",
        f"{peer_seconds:.3g}", ratio, f"{mine['seconds']:.3g}", f"{curve[0]:.5g}",
        f"{curve[case['iterations']]:.5g}",
        f"{phi_of(bilevel, case, path(peer['equal_time_point'])):.5g}",
    )


def microseconds(result, case):
    return 1e6 * result["seconds"] / case["iterations"]


# ---- What is printed ----

TITLES = ("data", "algorithm", "threads", "peer", "bilevel, us", "peer, us", "ratio",
          "loss, bilevel", "loss, peer")
QUALITY_TITLES = ("data", "algorithm", "peer", "Phi stated", "s to it, bilevel", "s to it, peer",
                  "ratio", "seconds", "Phi at 0", "Phi then, bilevel", "Phi then, peer")


def table(file, titles, words, lines):
    file.write("| " + " | ".join(titles) + " |\n")
    file.write("| " + " | ".join(["---"] * words + ["---:"] * (len(titles) - words)) + " |\n")
    for line in lines:
        file.write("| " + " | ".join(line) + " |\n")
    file.write("\n")


def write_page(path, lines, quality_lines):
    with open(path, "w") as file:
        file.write("## Other libraries, the same algorithm\n\n    make bench-peers\n\n")
        file.write("Times of an iteration in microseconds, the least of up to 7 runs; the losses on ")
        file.write("the validation rows at the end show that both did the same. How the peers are ")
        file.write("built is said at the head of `bench/peers/algorithms.py`: PyTorch and JAX by hand ")
        file.write("and without a graph, \"autograd\" as one would write it first; likewise numba ")
        file.write("in one loop, and \"oracles\" by array expressions.\n\n")
        busy = os.getloadavg()[0] / os.cpu_count()
        if busy > 1.0:
            file.write(f"Other programs were at work (load {busy:.1f} for each processor): the ")
            file.write("ratios are rough.\n\n")
        table(file, TITLES, 4, lines)
        file.write("Certified values, one thread: the time to the lowest Phi that both come to, and ")
        file.write("Phi of both after the seconds that `bilevel` takes for all iterations. Phi is ")
        file.write("computed from x alone, by a tight solve of the lower level, for both sides.\n\n")
        table(file, QUALITY_TITLES, 3, quality_lines)


def compare(bilevel, case, threads, libraries, folder):
    """Lines of the first table and of the second."""
    lines, quality_lines = [], []
    for count in threads:
        mine = ours(bilevel, case, count)
        curve = curve_of_ours(bilevel, case) if count == 1 else None
        for which in libraries:
            if which in NUMBA and (count > 1 or not numba_can(which, case)):
                continue
            asked = dict(case)
            if curve and which not in NUMBA:
                asked.update(points=list(curve), equal_time=mine["seconds"])
            peer = theirs(which, asked, count, folder)
            if not peer:
                continue
            line = (
                case["data"], case["algorithm"], str(count), peer["library"],
                f"{microseconds(mine, case):.4g}", f"{microseconds(peer, case):.4g}",
                f"{peer['seconds'] / mine['seconds']:.3g}",
                f"{mine['val_loss']:.4f}", f"{peer['val_loss']:.4f}",
            )
            print("  ".join(line), flush=True)
            lines.append(line)
            if "points" in asked:
                line = quality(bilevel, case, mine, curve, peer, folder)
                print("  Phi:  " + "  ".join(line), flush=True)
                quality_lines.append(line)
    return lines, quality_lines


def main():
    arguments = sys.argv[1:]
    bilevel, quick = os.path.abspath(arguments[0]), "--quick" in arguments

    def option(name, otherwise):
        return arguments[arguments.index(name) + 1] if name in arguments else otherwise

    threads = [int(t) for t in option("--threads", "1" if quick else "1,2").split(",")]
    only, markdown = option("--only", ""), option("--markdown", None)
    data = os.environ.get("BILEVEL_DATA", "")
    libraries = [name for name in ("torch", "jax", "numba") if has(name)]
    if "torch" in libraries:
        libraries.insert(1, "autograd")
    if "numba" in libraries:
        libraries.append("numba oracles")
    lines, quality_lines, ready = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        for name, base, algorithm, iterations, settings in CASES:
            if only not in f"{name} {algorithm}":
                continue
            make = SMALL[name] if quick else DATA[name]
            if name not in ready:
                try:
                    ready[name] = make(data, folder, numpy.random.default_rng(0))
                except OSError as error:
                    print(f"compare.py: {name} is left out: {error}", file=sys.stderr)
                    ready[name] = None
            if not ready[name]:
                continue
            case = dict(base, algorithm=algorithm, settings=settings, **ready[name])
            case["data"] = f"{name}, batch {case['batch']}"
            case["iterations"] = min(iterations, 3) if quick else iterations
            more, more_quality = compare(bilevel, case, threads, libraries, folder)
            lines += more
            quality_lines += more_quality
    if markdown:
        write_page(markdown, lines, quality_lines)
    return 0 if lines else 1


if __name__ == "__main__":
    sys.exit(main())

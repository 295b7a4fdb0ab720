"""What the Python package costs, and what it is beside other ways to solve a PyTorch problem.

    python.py [--only overhead,loop,start,penalties,network,noisy,labels] [--seconds N] [--seeds N,...]
              [--chosen-on N,...] [--match REGEX] [--jobs N] [--ways NAME,...] [--markdown FILE]

overhead  A NumPy problem whose functions do nothing: time of an iteration beyond the functions.
loop      SOBA on a PyTorch problem, beside the same steps as a hand-written loop: time of an iteration.
start     Oracle calls of `auto` on networks of several widths and random starts (--seeds): those of its
          first step, and those of the whole run with the Phi at which it ends.
penalties, network, noisy
          Penalties of a 20-class softmax regression, one for each feature; weight decay of each
          layer of a network 64-8-10 for handwritten digits; the same with 20% of the training labels
          wrong. Time until Phi is within 20%, 5% and 1% of the way from the start to the best that
          any method found: bilevel with `auto` and with given steps, a plain loop (L-BFGS below,
          conjugate gradients, Adam above), TorchOpt (custom_root with conjugate gradients) and Betty
          (Adam below, darts or conjugate gradients). f and g themselves note every new x with y and
          the time, the same way for everybody, and the time of noting is taken off. Phi is certified
          afterwards, by a tight solve of the lower level from where the method was. Times are
          processor time of one thread, the median of three runs, each after a short one that is not
          counted. `bilevel` with given steps and Betty have as many settings; for each share the one
          counts that was first on the starts of --chosen-on (medians), and it is run on those of
          --seeds. Without starts to choose on ("") the best of all counts.
          A seed is that of the data, or of the network's start; --jobs: so many seeds at
          once. --ways: some of auto, bilevel, plain loop, TorchOpt and Betty; --match: of their
          settings those in which the expression is found.
labels    LabelCleaner().fit(X, y) beside cleanlab on the sets of clean.py (--sets NAME,...): means over
          uniform and hard noise of 10, 20 and 40%, at most 300 rows, and over the seeds, with the
          difference and its standard error over the seeds. --models: some of "logistic regression"
          and "random forest" (find_label_issues on cross-validated probabilities, columns
          standardized), "as it comes" (CleanLearning().fit(X, y)).

One thread each. Needs torch and scikit-learn, and torchopt, betty-ml and cleanlab where these are
compared.
"""

import argparse
import gc
import logging
import re
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context

import numpy as np
import torch

import bilevel

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
warnings.filterwarnings("ignore", category=FutureWarning)  # of TorchOpt
logging.disable(logging.INFO)  # of Betty


def least(function, times=5, clock=time.thread_time):
    """The least seconds of several calls."""
    best = np.inf
    for _ in range(times):
        began = clock()
        function()
        best = min(best, clock() - began)
    return best


LEAST_PENALTY = 1e-4  # so that there is a minimizer, whatever x is
SHARES = 0.2, 0.05, 0.01  # of Phi(start) - Phi(best) that are left
REPEATS = 3  # of every run; the median of the times at each point counts

# ---- Overhead ----


def overhead():
    nothing_x, nothing_y = np.zeros(5), np.zeros(20)

    def f(x, y):
        return 0.0, nothing_x, nothing_y

    def hvp(x, y, v):
        return nothing_y

    def jvp(x, y, v):
        return nothing_x

    problem = bilevel.Problem(f, f, np.ones(5), np.ones(20), hvp=hvp, jvp=jvp, threads=1)
    count = 5000
    rows = []
    for solver in ("s-tfbo", "soba"):
        settings = {"solver": solver, "iters": count, "trace": False, "certificate": False}
        whole = least(lambda settings=settings: bilevel.solve(problem, **settings))
        x, y = np.ones(5), np.ones(20)
        functions = least(lambda: [(f(x, y), f(x, y), hvp(x, y, y), jvp(x, y, y)) for _ in range(count)])
        rows.append((solver, (whole - functions) / count * 1e6))
    print("overhead of an iteration with NumPy functions (2 callbacks, 4 functions; processor time)")
    for solver, microseconds in rows:
        print(f"  {solver:8} {microseconds:6.1f} us")
    return [["NumPy, " + solver, f"{us:.1f} us an iteration"] for solver, us in rows]


# ---- The same steps by hand ----


def softmax_problem(classes=20, features=30, rows=200, seed=0):
    make = torch.Generator().manual_seed(seed)
    useful = min(10, features)
    true = torch.zeros(features, classes)
    true[:useful] = torch.randn(useful, classes, generator=make)
    parts = []
    for _ in range(2):
        a = torch.randn(rows, features, generator=make)
        scores = 1.5 * (a @ true) + torch.randn(rows, classes, generator=make)
        parts.append((a, scores.argmax(1)))
    (a, labels), (a_val, labels_val) = parts

    def loss(y, rows, wanted):
        return torch.nn.functional.cross_entropy(rows @ y.reshape(features, classes), wanted)

    def f(x, y):
        return loss(y, a_val, labels_val)

    def g(x, y):
        squares = y.reshape(features, classes).square().sum(1)
        return loss(y, a, labels) + 0.5 * ((LEAST_PENALTY + x.exp()) * squares).sum()

    return f, g, torch.full((features,), -3.0), torch.zeros(features * classes)


def network_problem(wrong_share=0.0, rows=200, wide=8, seed=0):
    from sklearn.datasets import load_digits

    images, labels = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
    images = images / 16.0
    train, val = slice(0, rows), slice(rows, 2 * rows)
    shapes = [(64, wide), (wide,), (wide, 10), (10,)]
    ends = torch.tensor([torch.Size(shape).numel() for shape in shapes]).cumsum(0).tolist()
    make = torch.Generator().manual_seed(seed)
    wrong = torch.rand(rows, generator=make) < wrong_share  # of the training rows
    given = torch.where(wrong, torch.randint(10, (rows,), generator=make), labels[train])
    y0 = torch.cat([torch.randn(shape, generator=make).reshape(-1) / shape[0] ** 0.5 for shape in shapes])

    def parts(y):
        return [piece.reshape(shape) for piece, shape in zip(y.tensor_split(ends[:-1]), shapes)]

    def loss(y, part, wanted):
        w1, b1, w2, b2 = parts(y)
        scores = torch.tanh(images[part] @ w1 + b1) @ w2 + b2
        return torch.nn.functional.cross_entropy(scores, wanted)

    def f(x, y):
        return loss(y, val, labels[val])

    def g(x, y):
        w1, b1, w2, b2 = parts(y)
        layers = torch.stack([w1.square().sum() + b1.square().sum(), w2.square().sum() + b2.square().sum()])
        return loss(y, train, given) + 0.5 * ((LEAST_PENALTY + x.exp()) * layers).sum()

    return f, g, torch.full((2,), -3.0), y0


def soba_by_hand(f, g, x, y, step_x, step_y, count):
    """The fastest that we know: one double backward for both products, steps in place, and f is
    known not to depend on x."""
    v = torch.zeros_like(y)
    x.requires_grad_()
    y.requires_grad_()
    for _ in range(count):
        (gy,) = torch.autograd.grad(g(x, y), y, create_graph=True)
        hv, jv = torch.autograd.grad(gy, (y, x), v)
        (fy,) = torch.autograd.grad(f(x, y), y)
        with torch.no_grad():
            v.sub_(hv.sub_(fy), alpha=step_y)
            y.sub_(gy, alpha=step_y)
            x.add_(jv, alpha=step_x)
    return x, y


def loop():
    problems = {
        f"{classes} classes, {features} features, {rows} rows": softmax_problem(classes, features, rows)
        for classes, features, rows in ((3, 5, 50), (20, 30, 200), (20, 100, 2000))
    }
    problems["network 64-8-10"] = network_problem()
    return [one_loop(name, *problem) for name, problem in problems.items()]


def one_loop(name, f, g, x0, y0):
    count, step_x, step_y = 200, 0.1, 0.1
    problem = bilevel.Problem(f, g, x0, y0, threads=1)
    settings = {"step_x": step_x, "step_y": step_y, "step_v": step_y, "decay": 0, "batch": "full"}

    def ours():
        return bilevel.solve(
            problem, solver="soba", iters=count, trace=False, certificate=False, settings=settings
        )

    def by_hand():
        return soba_by_hand(f, g, x0.clone(), y0.clone(), step_x, step_y, count)

    for mine, other in zip((ours().x, ours().y), by_hand()):
        torch.testing.assert_close(mine, other.detach(), rtol=1e-8, atol=1e-10)
    # in turns, since the machine is not the same all the time
    hand, whole = np.min([[least(by_hand, 1), least(ours, 1)] for _ in range(15)], axis=0)
    text = f"{100 * (whole / hand - 1):+.1f}% time"
    print(f"PyTorch, SOBA, {name}: {whole / count * 1e6:.0f} us an iteration, "
          f"by hand {hand / count * 1e6:.0f} us: {text}", flush=True)
    return [f"PyTorch, SOBA beside the same loop by hand, {name}", text]


# ---- Random starts of networks, where g curves down ----


def start(seeds):
    rows = []
    for wide in (4, 8, 16, 32):
        for seed in seeds:
            f, g, x0, y0 = network_problem(wide=wide, seed=seed)
            problem = bilevel.Problem(f, g, x0, y0, threads=1)
            first = bilevel.solve(problem, iters=1, trace=False, certificate=False).counts.total
            whole = bilevel.solve(problem, budget=5000, trace=False)
            text = f"first step {first} calls, whole run {whole.counts.total}, Phi {whole.phi:.5f}, {whole.outcome}"
            print(f"network 64-{wide}-10, seed {seed}: {text}", flush=True)
            rows.append([f"`auto`, network 64-{wide}-10, seed {seed}", text])
    return rows


# ---- Others ----


class Watch:
    """Every x at which f or g is called for the first time, with y there, the calls so far and the
    time: processor time of this process without what looking takes. The same for everybody, since
    it is f and g that look. Phi at the points is computed afterwards."""

    def __init__(self, seconds):
        self.points, self.seconds = [], seconds
        self.calls, self.looking, self.last = 0, 0.0, None
        self.began = time.process_time()

    def watched(self, function):
        def called(x, y):
            now = time.process_time()
            self.look(x, y, now - self.began - self.looking)
            self.looking += time.process_time() - now
            return function(x, y)

        return called

    def look(self, x, y, when):
        if when > self.seconds:
            raise Enough
        wrapped = torch._C._functorch.is_functorch_wrapped_tensor
        if wrapped(x) or wrapped(y):  # inside of torch.func, at an x that has been seen
            return
        if self.last is None or not torch.equal(x, self.last):
            self.last = x.detach().clone()
            self.points.append((when, self.calls, self.last, y.detach().clone()))
        self.calls += 1


class Runs:
    """Several runs of one setting, which go through the same points."""

    def __init__(self, watches, phi):
        points = [watch.points for watch in watches]
        self.count = min(map(len, points))
        self.times = np.median([[run[k][0] for k in range(self.count)] for run in points], axis=0)
        self.points, self.phi, self.known = points[0], phi, {}
        self.ladder, k = [], 0
        while k < self.count:
            self.ladder.append(k)
            k = max(k + 1, round(1.5 * k))

    def at(self, k):
        if k not in self.known:
            self.known[k] = self.phi(*self.points[k][2:])
        return self.known[k]

    def least(self):
        return min(map(self.at, self.ladder))

    def reached(self, target, closely):
        """When Phi was first at most the target, with the calls of f and g until then: on a ladder
        of points, each half as late again; closely: and then by halving the last step of it."""
        below = next((k for k in self.ladder if self.at(k) <= target), None)
        if below is None:
            return np.inf, np.inf
        above = max((k for k in self.ladder if k < below), default=below)
        while closely and below - above > 1:
            middle = (above + below) // 2
            above, below = (above, middle) if self.at(middle) <= target else (middle, below)
        return self.times[below], self.points[below][1]


class Enough(Exception):
    pass


def solve_lower(g, x, y):
    """y*(x) by L-BFGS from y, as a user would."""
    y = y.detach().clone().requires_grad_()
    optimizer = torch.optim.LBFGS(
        [y], max_iter=100, tolerance_grad=1e-7, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        value = g(x.detach(), y)
        value.backward()
        return value

    optimizer.step(closure)
    return y.detach()


def conjugate_gradients(product, b, count=30, tol=1e-8):
    v, r = torch.zeros_like(b), b.clone()
    p, rr = r.clone(), r @ r
    first = rr.clone()
    for _ in range(count):
        hp = product(p)
        alpha = rr / (p @ hp)
        v, r = v + alpha * p, r - alpha * hp
        new = r @ r
        if new <= tol**2 * first:
            break
        p, rr = r + (new / rr) * p, new
    return v


def plain(f, g, x0, y0, lr):
    x, y = x0.clone().requires_grad_(), y0
    optimizer = torch.optim.Adam([x], lr=lr)
    while True:
        y = solve_lower(g, x, y).requires_grad_()
        fx, fy = torch.autograd.grad(f(x, y), (x, y), allow_unused=True, materialize_grads=True)
        (gy,) = torch.autograd.grad(g(x, y), y, create_graph=True)
        v = conjugate_gradients(
            lambda p, gy=gy, y=y: torch.autograd.grad(gy, y, p, retain_graph=True)[0], fy
        )
        (jv,) = torch.autograd.grad(gy, x, v)
        x.grad = fx - jv
        optimizer.step()


def with_torchopt(f, g, x0, y0, lr):
    import torchopt

    def optimality(y, x):
        return torch.func.grad(lambda y: g(x, y))(y)

    solver = torchopt.linear_solve.solve_cg(maxiter=30, atol=0, rtol=1e-8)

    @torchopt.diff.implicit.custom_root(optimality, argnums=1, solve=solver)
    def solution(y, x):
        return solve_lower(g, x, y)

    x, y = x0.clone().requires_grad_(), y0
    optimizer = torch.optim.Adam([x], lr=lr)
    while True:
        found = solution(y, x)
        optimizer.zero_grad()
        f(x, found).backward()
        optimizer.step()
        y = found.detach()


def with_betty(f, g, x0, y0, setting):
    from betty.configs import Config, EngineConfig
    from betty.engine import Engine
    from betty.problems import ImplicitProblem

    lr, lr_lower, kind, steps = setting

    class Variables(torch.nn.Module):
        def __init__(self, start):
            super().__init__()
            self.value = torch.nn.Parameter(start.clone())

        def forward(self):
            return self.value

    class Upper(ImplicitProblem):
        def training_step(self, batch):
            return f(self(), self.lower())

    class Lower(ImplicitProblem):
        def training_step(self, batch):
            return g(self.upper(), self())

    def made(level, name, start, rate, config):
        module = Variables(start)
        optimizer = torch.optim.Adam(module.parameters(), lr=rate)
        nothing = [[torch.zeros(1)]]  # a batch: f and g have their own rows
        return level(name, config, module, optimizer, train_data_loader=nothing, device="cpu")

    upper = made(Upper, "upper", x0, lr, Config(retain_graph=True))
    lower = made(Lower, "lower", y0, lr_lower, Config(type=kind, unroll_steps=steps, cg_iterations=20))
    engine = Engine(
        config=EngineConfig(train_iters=10**9),
        problems=[upper, lower],
        dependencies={"u2l": {upper: [lower]}, "l2u": {lower: [upper]}},
    )
    engine.run()


def with_bilevel(f, g, x0, y0, setting):
    solver, settings = setting
    bilevel.solve(f, g, x0, y0, solver=solver, settings=settings, threads=1, trace=False, certificate=False)


# Adam's steps above and, where it is used there, below: the same ones for everybody.
STEPS = 0.3, 1.0, 3.0
BOTH = [(lr, below) for lr in (1.0, 3.0) for below in (0.02, 0.05)]


def by_adam(lr, below, alpha=1.0):
    """minimaxopt with Adam: x moves after the first steps below."""
    settings = {"optimizer": "adam", "order": "sequential", "alpha0": alpha}
    return "minimaxopt", {**settings, "eta0": below, "factor_x": lr / below}


def by_soba(step_x, step_y, ratio):
    return "soba", {"step_x": step_x, "step_y": step_y, "step_v": ratio * step_y, "decay": 0}


# As many settings for `bilevel` as for Betty. For penalties steps without Adam are better, for the
# network steps with it.
PLAIN_STEPS = [by_soba(*steps) for steps in product((100, 200), (2, 4), (1, 2))]
ADAM_STEPS = [by_adam(*steps, alpha) for steps in BOTH for alpha in (1.0, 3.0)]
UNROLLED = [(*steps, "darts", count) for steps in BOTH for count in (1, 2)]


def ways_for(given_steps):
    return {
        "auto": (with_bilevel, [("auto", {})]),
        "bilevel": (with_bilevel, [*given_steps, ("s-tfbo", {"eta_x": 30})]),
        "plain loop": (plain, STEPS),
        "TorchOpt": (with_torchopt, STEPS),
        "Betty": (with_betty, [*UNROLLED, (1.0, 0.05, "cg", 20)]),
    }


def run_once(way, f, g, x0, y0, setting, seconds):
    """The second time: what is made at first calls, and caches, are left out. As timeit does,
    without the collector of garbage, which takes as long as some of these runs, now and then."""
    gc.collect()
    gc.disable()
    for limit in (min(seconds, 0.02), seconds):
        watch = Watch(limit)
        try:
            way(watch.watched(f), watch.watched(g), x0, y0, setting)
        except Enough:
            pass
    gc.enable()
    return watch


def times_of(make, seed, *, seconds, ways, closely):
    """Seconds until each share with the calls until then, by way and setting, from one start."""
    f, g, x0, y0 = make(seed=seed)
    exact = bilevel.implicit(g, tol=1e-4)

    def phi(x, y):
        try:
            return float(f(x, exact(x, y)))
        except (bilevel.BilevelError, ValueError):  # a step into nowhere
            return np.inf

    found = {}
    for name in ways:
        way, settings = ways[name]
        run_once(way, f, g, x0, y0, settings[0], 1.0)  # what is imported at first calls
        for setting in settings:
            try:
                watches = [run_once(way, f, g, x0, y0, setting, seconds) for _ in range(REPEATS)]
            except Exception as error:
                print(f"  {name}, {setting}: {type(error).__name__}: {error}", flush=True)
                continue
            found[name, str(setting)] = Runs(watches, phi)
    start, end = phi(x0, y0), min(runs.least() for runs in found.values())
    targets = [end + share * (start - end) for share in SHARES]
    times = {key: [runs.reached(target, closely) for target in targets] for key, runs in found.items()}
    print(f"  start {seed}: Phi is {start:.4f} at the start, {end:.4f} at best", flush=True)
    return times


NEVER = [(np.inf, np.inf)] * len(SHARES)


def rank(runs, name, setting, share):
    """Median time to the share, then to the shares before it: for those that no run came to."""
    return [np.median([times.get((name, setting), NEVER)[i][0] for times in runs]) for i in range(share, -1, -1)]


def peers(title, make, ways, seeds, seconds, jobs, chosen_on):
    """All settings on the starts that they are chosen on, then those that were chosen on the others.
    Without starts to choose on, the best median of all settings counts."""
    print(title, flush=True)
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:

        def run(starts, ways, closely):
            one = partial(times_of, make, seconds=seconds, ways=ways, closely=closely)
            return list(pool.map(one, starts))

        before = run(chosen_on or seeds, ways, closely=not chosen_on)
        best, kept = {}, {}
        for name, (way, settings) in ways.items():
            for i in range(len(SHARES)):
                best[name, i] = min(settings, key=lambda one: rank(before, name, str(one), i))  # noqa: B023
            kept[name] = way, [one for one in settings if one in [best[name, i] for i in range(len(SHARES))]]
            for one in settings:
                medians = " ".join(f"{1e3 * rank(before, name, str(one), i)[0]:8.1f}" for i in range(len(SHARES)))
                print(f"      {medians} ms   {name} {one}", flush=True)
        counted = run(seeds, kept, closely=True) if chosen_on else before
    rows = []
    for i, share in enumerate(SHARES):
        for name in ways:
            one = best[name, i]
            each = np.array([times.get((name, str(one)), NEVER)[i] for times in counted])
            median, calls = np.median(each, axis=0)
            text = f"{1e3 * median:.1f} ms" if np.isfinite(median) else f"not in {seconds:g} s"
            starts = " ".join(f"{1e3 * when:.1f}" for when in each[:, 0])
            print(f"  within {share:4.0%}: {name:10} {text:>12}, {calls:5.0f} calls   {one}; each start: {starts}", flush=True)
            rows.append([f"{title}, within {share:.0%}, {name}", f"{text} ({one})"])
    return rows


def labels(sets, seeds, chosen):
    import clean
    from cleanlab.classification import CleanLearning
    from sklearn.datasets import make_classification
    from threadpoolctl import threadpool_limits

    from bilevel.sklearn import LabelCleaner

    threadpool_limits(1)  # or the time of scikit-learn's models is that of threads that wait

    models = {
        "logistic regression": clean.make_pipeline(
            clean.StandardScaler(), clean.LogisticRegression(max_iter=500)
        ),
        "random forest": clean.RandomForestClassifier(100, random_state=0),
    }

    def cleanlab(model, x, given):
        p = clean.cross_val_predict(model, x, given, cv=5, method="predict_proba")
        clean.find_label_issues(given, p, n_jobs=1)
        return clean.get_label_quality_scores(given, p)

    def as_it_comes(x, given):
        cleaner = CleanLearning(seed=0, find_label_issues_kwargs={"n_jobs": 1}).fit(x, given)
        return cleaner.get_label_issues()["label_quality"].to_numpy()

    others = {"as it comes": as_it_comes}
    for name, model in models.items():
        others[name] = lambda x, given, model=model: cleanlab(model, x, given)
    ways = {"LabelCleaner": lambda x, given: LabelCleaner(n_jobs=1).fit(x, given).label_quality_}
    for name in chosen.split(",") if chosen else others:
        ways["cleanlab, " + name] = others[name]
    groups = [clean.SETS[name] for name in ("development", "seen", "held-out")]  # not the last ones
    known = {name: load for group in groups for name, load in group.items()}
    # before anything is timed: imports and first calls
    x, y = make_classification(60, random_state=0)
    for way in ways.values():
        way(x, y)

    def figures(x, y, way, seed):
        """AUROC, average precision and seconds: means over the kinds and rates of noise."""
        chosen, _ = clean.split(x, y, 300, seed)
        x, y = x[chosen], y[chosen]
        found = []
        for kind in ("uniform", "hard"):
            for rate in clean.RATES:
                given = clean.corrupt(x, y, kind, rate, seed)
                began = time.process_time()
                score = way(x, given)
                seconds = time.process_time() - began
                area = clean.roc_auc_score(given != y, -score)
                found.append((area, clean.average_precision_score(given != y, -score), seconds))
        return np.mean(found, 0)

    rows, behind, slower = [], {who: [] for who in ways}, {who: [] for who in ways}
    for name in sets.split(",") if sets else known:
        x, y = known[name]()
        found = {who: np.array([figures(x, y, way, seed) for seed in seeds]) for who, way in ways.items()}
        ours = found["LabelCleaner"]
        for who, theirs in found.items():
            area, precision, seconds = theirs.mean(0)
            text = f"AUROC {area:.3f}, average precision {precision:.3f}, {seconds:.3f} s"
            if theirs is not ours:
                apart = (ours - theirs)[:, :2]
                mean, error = apart.mean(0), apart.std(0, ddof=1) / len(seeds) ** 0.5
                text += f"; ours - theirs {mean[0]:+.3f} ({error[0]:.3f}), {mean[1]:+.3f} ({error[1]:.3f})"
                if (mean < 0.0).any():
                    behind[who].append((name, (mean < -2.0 * error).any()))
                slower[who].append(ours[:, 2].mean() / seconds)
            print(f"{name:14} {who:30} {text}", flush=True)
            rows.append([f"{name}, {who}", text])
    for who in list(ways)[1:]:
        clear = ", ".join(name for name, beyond in behind[who] if beyond)
        other = ", ".join(name for name, beyond in behind[who] if not beyond)
        text = f"behind by more than two standard errors: {clear or 'none'}; by less: {other or 'none'}"
        text += f"; {min(slower[who]):.2f} to {max(slower[who]):.2f} of its time"
        print(f"{len(slower[who])} sets, {who}: {text}", flush=True)
        rows.append([who, text])
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="overhead,loop,penalties,network")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seeds", default="0,1,2,3")
    parser.add_argument("--chosen-on", default="0")
    parser.add_argument("--match", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--ways", default=",".join(ways_for([])))
    parser.add_argument("--sets")
    parser.add_argument("--models")
    parser.add_argument("--markdown")
    options = parser.parse_args()
    rows, seeds = [], [int(seed) for seed in options.seeds.split(",")]
    chosen_on = [int(seed) for seed in options.chosen_on.split(",") if seed]
    compared = seeds, options.seconds, options.jobs, chosen_on

    def chosen(given_steps):
        ways = {}
        for name, (way, settings) in ways_for(given_steps).items():
            matching = [one for one in settings if re.search(options.match, f"{name} {one}")]
            if name in options.ways.split(",") and matching:
                ways[name] = way, matching
        return ways

    network = chosen(ADAM_STEPS)
    parts = {
        "overhead": overhead,
        "loop": loop,
        "start": lambda: start(seeds),
        "penalties": lambda: peers("20-class penalties", softmax_problem, chosen(PLAIN_STEPS), *compared),
        "network": lambda: peers("decay of a network", network_problem, network, *compared),
        "noisy": lambda: peers("the same, wrong labels", partial(network_problem, 0.2), network, *compared),
        "labels": lambda: labels(options.sets, seeds, options.models),
    }
    for name in options.only.split(","):
        rows += parts[name]()
    if options.markdown:
        with open(options.markdown, "w") as file:
            print("| what | figure |\n| --- | --- |", file=file)
            for row in rows:
                print("| " + " | ".join(row) + " |", file=file)


if __name__ == "__main__":
    main()

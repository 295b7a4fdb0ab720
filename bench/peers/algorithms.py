"""Whole algorithms in PyTorch or JAX, on the problems that `bilevel` has built in.

    algorithms.py torch|autograd|jax CASE.json THREADS

CASE.json names the data (train.npz and val.npz with X and y), the problem, the algorithm and its
settings. Prints one JSON object: seconds for the iterations, evaluation and compilation left out,
and the losses on the validation rows. With "points", a list of numbers of iterations, x at each of
them goes to POINT.npz in the folder of the case; with "equal_time", a number of seconds, also x after
as many iterations as that time is enough for.

How the peers are built: gradients and products are written out by hand, no graph is recorded;
y and v share one product over the rows where both are needed; products with the same Hessian share
its probabilities; batches are slices of rows that were shuffled once, so nothing is copied. In JAX
all iterations are one compiled loop, which is compiled before the clock starts. `autograd` is PyTorch
as one would write it first (autograd.py), with the same algorithms and batches.
"""
import json
import os
import sys
import time


REPEATS, MOST_SECONDS = 7, 4.0


def fastest(run_once):
    """The least time of several runs: what else the machine does can only add to it."""
    times, began = [], time.perf_counter()
    while len(times) < REPEATS and (not times or time.perf_counter() - began < MOST_SECONDS):
        state, seconds = run_once()
        times.append(seconds)
    return state, min(times)


class Settings:
    def __init__(self, values):
        self.__dict__.update(values)


# ---- What differs between the libraries ----


class Torch:
    name = "PyTorch"

    def __init__(self, threads, double):
        import torch

        torch.set_num_threads(threads)
        self.t, self.type = torch, torch.float64 if double else torch.float32
        self.version = torch.__version__
        self.sigmoid, self.exp = torch.sigmoid, torch.exp

    def array(self, values):
        return self.t.as_tensor(values, dtype=self.type).contiguous()

    def places(self, values):
        return [int(v) for v in values]

    def rows(self, a, start, count):
        return a.narrow(0, start, count)

    def softmax(self, scores):
        return self.t.softmax(scores, 1)

    def join(self, a, b):
        return self.t.cat((a, b))

    def norm(self, a):
        return self.t.linalg.vector_norm(a)

    def dot(self, a, b):
        return (a * b).sum()

    def largest(self, a, b):
        return self.t.maximum(a, b)

    def zeros_like(self, a):
        return self.t.zeros_like(a)

    def moved(self, a, factor, d):
        return self.t.add(a, d, alpha=factor) if isinstance(factor, float) else a + factor * d

    def moved_rows(self, x, start, factor, part):
        y = x.clone()
        y.narrow(0, start, len(part)).add_(factor * part)
        return y

    def loop(self, count, body, state):
        for i in range(count):
            state = body(i, state)
        return state

    def run(self, step, state, count):
        def once():
            at, began = state, time.perf_counter()
            for k in range(count):
                at = step(k, at)
            return at, time.perf_counter() - began

        with self.recording():
            for k in range(min(count, 3)):  # warm
                step(k, state)
            return fastest(once)

    def recording(self):
        return self.t.inference_mode()

    def between(self, step):
        """(state, from, to) -> the state `to - from` iterations later."""

        def go(state, begin, end):
            with self.recording():
                for k in range(begin, end):
                    state = step(k, state)
            return state

        return go

    def host(self, a):
        return a.numpy()


class Jax:
    name = "JAX"

    def __init__(self, threads, double):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", double)
        import jax.numpy as jnp

        self.jax, self.n = jax, jnp
        self.type = jnp.float64 if double else jnp.float32
        self.version = jax.__version__
        self.sigmoid, self.exp = jax.nn.sigmoid, jnp.exp

    def array(self, values):
        return self.n.asarray(values, dtype=self.type)

    def places(self, values):
        return self.n.asarray(values, dtype=self.n.int32)

    def rows(self, a, start, count):
        return self.jax.lax.dynamic_slice_in_dim(a, start, count)

    def softmax(self, scores):
        return self.jax.nn.softmax(scores, axis=1)

    def join(self, a, b):
        return self.n.concatenate((a, b))

    def norm(self, a):
        return self.n.sqrt(self.n.vdot(a, a))

    def dot(self, a, b):
        return self.n.vdot(a, b)

    def largest(self, a, b):
        return self.n.maximum(a, b)

    def zeros_like(self, a):
        return self.n.zeros_like(a)

    def moved(self, a, factor, d):
        return a + factor * d

    def moved_rows(self, x, start, factor, part):
        before = self.rows(x, start, part.shape[0])
        return self.jax.lax.dynamic_update_slice_in_dim(x, before + factor * part, start, 0)

    def loop(self, count, body, state):
        return self.jax.lax.fori_loop(0, count, body, state)

    def run(self, step, state, count):
        whole = self.jax.jit(lambda s: self.jax.lax.fori_loop(0, count, step, s))
        compiled = whole.lower(state).compile()
        self.jax.block_until_ready(compiled(state))  # warm

        def once():
            began = time.perf_counter()
            end = self.jax.block_until_ready(compiled(state))
            return end, time.perf_counter() - began

        return fastest(once)

    def between(self, step):
        return self.jax.jit(
            lambda state, begin, end: self.jax.lax.fori_loop(begin, end, step, state)
        )

    def host(self, a):
        import numpy

        return numpy.asarray(a)


# ---- Oracles ----


class Oracles:
    """g = mean over a batch of weight loss + penalty; f = mean loss of a batch of the validation rows.

    The weight of a row is sigmoid(x_i) and the penalty C |y|^2 (hyperclean), or the weight is 1 and
    the penalty 1/2 sum exp(x_k) y_k^2 (l2reg). The loss is softmax, or logistic for one score.
    """

    def __init__(self, lib, case, train, val, batch):
        self.lib, self.batch, self.clean = lib, batch, case["problem"] == "hyperclean"
        self.C, self.train, self.val = case.get("C", 0.001), train, val
        self.logistic = train[1].shape[1] == 1
        import numpy

        random = numpy.random.default_rng(0)
        self.g_starts = lib.places(self.blocks(random, train[0].shape[0]))
        self.f_starts = lib.places(self.blocks(random, val[0].shape[0]))
        self.g_count, self.f_count = len(self.g_starts), len(self.f_starts)

    def blocks(self, random, rows):
        import numpy

        starts = numpy.arange(0, rows - self.batch + 1, self.batch)
        return numpy.concatenate([random.permutation(starts) for _ in range(50)])

    def g_at(self, i):
        return self.g_starts[i % self.g_count]

    def f_at(self, i):
        return self.f_starts[i % self.f_count]

    def answers(self, scores):
        return self.lib.sigmoid(scores) if self.logistic else self.lib.softmax(scores)

    def curve(self, p, u):
        if self.logistic:
            return p * (1.0 - p) * u
        return p * (u - (p * u).sum(1)[:, None])

    def weights(self, x, start):
        if not self.clean:
            return 1.0 / self.batch, None
        s = self.lib.sigmoid(self.lib.rows(x, start, self.batch))
        return (s * (1.0 / self.batch))[:, None], s

    def penalty(self, x):
        return 2.0 * self.C if self.clean else self.lib.exp(x)

    def slice_g(self, start):
        a, t = self.train
        return self.lib.rows(a, start, self.batch), self.lib.rows(t, start, self.batch)

    def gy(self, x, y, start):
        a, t = self.slice_g(start)
        w, _ = self.weights(x, start)
        r = self.answers(a @ y.T) - t
        return (w * r).T @ a + self.penalty(x) * y

    def hessian(self, x, y, start):
        """v -> Hv, with all that does not depend on v computed once."""
        a, _ = self.slice_g(start)
        w, _ = self.weights(x, start)
        p, c = self.answers(a @ y.T), self.penalty(x)
        return lambda v: (w * self.curve(p, a @ v.T)).T @ a + c * v

    def jv_part(self, x, y, v, s, r, u):
        if self.clean:
            return (s * (1.0 - s) * (1.0 / self.batch)) * (r * u).sum(1)
        return self.lib.exp(x) * (y * v).sum(0)

    def jv(self, x, y, v, start):
        if not self.clean:
            return self.jv_part(x, y, v, None, None, None)
        a, t = self.slice_g(start)
        _, s = self.weights(x, start)
        return self.jv_part(x, y, v, s, self.answers(a @ y.T) - t, a @ v.T)

    def all(self, x, y, v, start):
        """gy, Hv and Jv with two products over the rows."""
        a, t = self.slice_g(start)
        w, s = self.weights(x, start)
        c, both = self.penalty(x), a @ self.lib.join(y, v).T
        k = y.shape[0]
        p, u = self.answers(both[:, :k]), both[:, k:]
        r = p - t
        if hasattr(self.lib, "t"):
            left = self.lib.t.cat((w * r, w * self.curve(p, u)), 1)
        else:
            left = self.lib.n.concatenate((w * r, w * self.curve(p, u)), 1)
        out = left.T @ a
        return out[:k] + c * y, out[k:] + c * v, self.jv_part(x, y, v, s, r, u)

    def fy(self, y, start):
        a, t = self.val
        a, t = self.lib.rows(a, start, self.batch), self.lib.rows(t, start, self.batch)
        r = self.answers(a @ y.T) - t
        return (r.T @ a) * (1.0 / self.batch)

    def move_x(self, x, factor, part, start):
        """x + factor Jv, where Jv is known by its rows of the batch."""
        if self.clean:
            return self.lib.moved_rows(x, start, factor, part)
        return self.lib.moved(x, factor, part)

    def spread(self, x, part, start):
        return self.move_x(self.lib.zeros_like(x), 1.0, part, start)


# ---- Algorithms: (oracles, settings) -> start of the state, step(k, state) ----


def soba(o, p):
    def step(k, state):
        x, y, v = state
        sg, c = o.g_at(k), (k + 1.0) ** -p.decay
        fy = o.fy(y, o.f_at(k))
        gy, hv, jv = o.all(x, y, v, sg)
        return (
            o.move_x(x, p.step_x * c, jv, sg),
            o.lib.moved(y, -p.step_y * c, gy),
            o.lib.moved(v, -p.step_v * c, hv - fy),
        )

    return lambda x, y: (x, y, o.lib.zeros_like(y)), step


def s_tfbo(o, p):
    lib = o.lib

    def step(k, state):
        x, y, v, a2, b2, c2 = state
        sg = o.g_at(k)
        fy = o.fy(y, o.f_at(k))
        gy, hv, jv = o.all(x, y, v, sg)
        r = hv - fy
        a2, b2, c2 = a2 + lib.dot(jv, jv), b2 + lib.dot(gy, gy), c2 + lib.dot(r, r)
        alpha, beta = a2**0.5, b2**0.5
        phi = lib.largest(beta, c2**0.5)
        x = o.move_x(x, 1.0 / (alpha * phi), jv, sg)
        return x, y - gy / beta, v - r / phi, a2, b2, c2

    def start(x, y):
        one = lib.dot(y, y) * 0.0 + 1.0
        return x, y, lib.zeros_like(y), one, one, one

    return start, step


def inner_steps(o, p, x, y, first):
    body = lambda i, at: o.lib.moved(at, -p.step_y, o.gy(x, at, o.g_at(first + i)))
    return o.lib.loop(p.inner, body, y)


def aid_cg(o, p):
    lib, g = o.lib, p.inner + 1

    def step(k, state):
        x, y, v = state
        y = inner_steps(o, p, x, y, k * g)
        sg = o.g_at(k * g + p.inner)
        hessian, fy = o.hessian(x, y, sg), o.fy(y, o.f_at(k))
        r = fy - hessian(v)

        def cg(i, at):
            v, r, d, rr = at
            hd = hessian(d)
            a = rr / lib.dot(d, hd)
            v, r = v + a * d, r - a * hd
            new = lib.dot(r, r)
            return v, r, r + (new / rr) * d, new

        v = lib.loop(p.linear - 1, cg, (v, r, r, lib.dot(r, r)))[0]
        return o.move_x(x, p.step_x, o.jv(x, y, v, sg), sg), y, v

    return lambda x, y: (x, y, lib.zeros_like(y)), step


def neumann(o, p, points, f_start, g_first):
    """v of the Neumann sum at each point, every product on a batch of its own."""
    lib = o.lib
    r = tuple(o.fy(y, f_start) for _, y in points)

    def term(q, state):
        s = o.g_at(g_first + q)
        r = tuple(
            lib.moved(a, -p.eta, o.hessian(x, y, s)(a)) for (x, y), a in zip(points, state[0])
        )
        return r, tuple(a + b for a, b in zip(state[1], r))

    return [p.eta * s for s in lib.loop(p.Q, term, (r, r))[1]]


def stocbio(o, p):
    g = p.inner + p.Q + 1

    def step(k, state):
        x, y = state
        y = inner_steps(o, p, x, y, k * g)
        v = neumann(o, p, [(x, y)], o.f_at(k), k * g + p.inner)[0]
        sg = o.g_at(k * g + p.inner + p.Q)
        return o.move_x(x, p.step_x, o.jv(x, y, v, sg), sg), y

    return lambda x, y: (x, y), step


def hypergradients(o, p, points, f_start, g_first):
    """-Jv at each point, whole."""
    v = neumann(o, p, points, f_start, g_first)
    sg = o.g_at(g_first + p.Q)
    return [-1.0 * o.spread(x, o.jv(x, y, w, sg), sg) for (x, y), w in zip(points, v)]


def mrbo(o, p):
    lib, g = o.lib, p.Q + 2

    def step(k, state):
        x, y, x_old, y_old, u, w, previous = state
        eta, first = (k + 1.0) ** (-1.0 / 3.0), (k == 0) * 1.0
        c = first + (1.0 - first) * 0.3 * previous**2
        sy = o.g_at(k * g)
        gy, gy_old = o.gy(x, y, sy), o.gy(x_old, y_old, sy)
        hg, hg_old = hypergradients(o, p, [(x, y), (x_old, y_old)], o.f_at(k), k * g + 1)
        u = gy + (1.0 - c) * (u - gy_old)
        w = hg + (1.0 - c) * (w - hg_old)
        return x - p.step_x * eta * w, y - p.step_y * eta * u, x, y, u, w, eta

    def start(x, y):
        one = lib.dot(y, y) * 0.0 + 1.0
        return x, y, x, y, lib.zeros_like(y), lib.zeros_like(x), one

    return start, step


def vrbo(o, p):
    lib, g, small = o.lib, p.Q + 2, p.small

    def large(k, x, y):
        return o.gy(x, y, o.g_at(k * g)), hypergradients(o, p, [(x, y)], o.f_at(k), k * g + 1)[0]

    def estimate(n, x, y, x_old, y_old, u, w):
        s = small.g_at(n * g)
        hg, hg_old = hypergradients(small, p, [(x, y), (x_old, y_old)], small.f_at(n), n * g + 1)
        u = u + small.gy(x, y, s) - small.gy(x_old, y_old, s)
        return u, w + hg - hg_old

    def step(k, state):
        x, y, u, w = state
        if hasattr(lib, "t"):
            u, w = large(k, x, y) if k % p.period == 0 else (u, w)
        else:
            u, w = lib.jax.lax.cond(
                k % p.period == 0, lambda: large(k, x, y), lambda: (u, w)
            )
        x_new = x - p.step_x * w

        def inner(t, at):
            y, x_old, y_old, u, w = at
            u, w = estimate(k * (p.inner + 2) + t, x_new, y, x_old, y_old, u, w)
            return y - p.step_y * u, x_new, y, u, w

        y, x_old, y_old, u, w = lib.loop(p.inner + 1, inner, (y, x, y, u, w))
        u, w = estimate(k * (p.inner + 2) + p.inner + 1, x_new, y, x_old, y_old, u, w)
        return x_new, y, u, w

    return lambda x, y: (x, y, lib.zeros_like(y), lib.zeros_like(x)), step


ALGORITHMS = {
    "soba": soba,
    "s-tfbo": s_tfbo,
    "aid-cg": aid_cg,
    "stocbio": stocbio,
    "mrbo": mrbo,
    "vrbo": vrbo,
}


# ---- The case ----


def read(lib, path, logistic):
    import numpy

    file = numpy.load(path)
    label = file["y"].astype(int)
    targets = label[:, None] if logistic else numpy.eye(label.max() + 1)[label]
    return lib.array(file["X"]), lib.array(targets)


def loss_of(a, t, y):
    import numpy

    s = a.astype(float) @ y.astype(float).T
    if t.shape[1] == 1:
        return float(numpy.logaddexp(0.0, numpy.where(t > 0.5, -s, s)).mean())
    top = s.max(1, keepdims=True)
    return float((numpy.log(numpy.exp(s - top).sum(1)) + top[:, 0] - (s * t).sum(1)).mean())


def leave_points(lib, step, state, points, folder):
    import numpy

    go, at = lib.between(step), 0
    for point in sorted(set(points)):
        state, at = go(state, at, point), point
        path = os.path.join(folder, f"{point}.npz")
        numpy.savez(path, x=numpy.asarray(lib.host(state[0]), dtype=float))


def library(which):
    """The class that stands for the library, and that of the oracles."""
    if which == "autograd":
        from autograd import AutogradOracles, TorchAutograd

        return TorchAutograd, AutogradOracles
    return {"torch": Torch, "jax": Jax}[which], Oracles


def main():
    import numpy

    which, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    case = json.load(open(path))
    kind, oracles = library(which)
    lib = kind(threads, case["double"])
    p = Settings(case["settings"])
    train = read(lib, case["train"], case["logistic"])
    val = read(lib, case["val"], case["logistic"])
    o = oracles(lib, case, train, val, case["batch"])
    if "S2" in case["settings"]:
        p.small = oracles(lib, case, train, val, p.S2)
    start, step = ALGORITHMS[case["algorithm"]](o, p)
    rows, columns = train[0].shape
    y = lib.array(numpy.zeros((train[1].shape[1], columns)))
    x = lib.array(numpy.zeros(rows if o.clean else columns))
    first = start(x, y)
    state, seconds = lib.run(step, first, case["iterations"])
    enough = None
    if "points" in case:
        enough = int(case["iterations"] * min(1.0, case["equal_time"] / seconds))
        leave_points(lib, step, first, case["points"] + [enough], os.path.dirname(path))
    y = lib.host(state[1])
    print(
        json.dumps(
            {
                "library": f"{lib.name} {lib.version}",
                "seconds": seconds,
                "equal_time_point": enough,
                "val_loss": loss_of(lib.host(val[0]), lib.host(val[1]), y),
            }
        )
    )


if __name__ == "__main__":
    main()

"""SOBA on logistic regression and on softmax regression with a penalty for each feature, in numba.

    soba_numba.py CASE.json [oracles]

One compiled loop, all arrays set aside before, no call of BLAS: at 64 rows a product costs less than
the call. With "oracles" as one would write it first, for logistic regression: each oracle a compiled
function of array expressions, called from a compiled loop. Prints what algorithms.py prints.
"""
import json
import sys
import time

import numba
import numpy
from algorithms import fastest, loss_of


@numba.njit(fastmath=True)
def run(a, label, va, vlabel, y, v, x, starts_g, starts_f, batch, iterations, steps, decay):
    classes, columns = y.shape
    logistic = classes == 1
    gy, hv, fy = numpy.empty_like(y), numpy.empty_like(y), numpy.empty_like(y)
    s, u, e = numpy.empty(classes), numpy.empty(classes), numpy.exp(x)
    for k in range(iterations):
        c = (k + 1.0) ** -decay
        gy[:], hv[:], fy[:] = 0.0, 0.0, 0.0
        first = starts_f[k % len(starts_f)]
        for i in range(first, first + batch):
            row = va[i]
            for j in range(classes):
                t = 0.0
                for m in range(columns):
                    t += row[m] * y[j, m]
                s[j] = t
            if logistic:
                s[0] = 1.0 / (1.0 + numpy.exp(-s[0])) - vlabel[i]
            else:
                top = s.max()
                total = 0.0
                for j in range(classes):
                    s[j] = numpy.exp(s[j] - top)
                    total += s[j]
                for j in range(classes):
                    s[j] = s[j] / total - (1.0 if j == vlabel[i] else 0.0)
            for j in range(classes):
                t = s[j] / batch
                for m in range(columns):
                    fy[j, m] += t * row[m]
        first = starts_g[k % len(starts_g)]
        for i in range(first, first + batch):
            row = a[i]
            for j in range(classes):
                t = 0.0
                w = 0.0
                for m in range(columns):
                    t += row[m] * y[j, m]
                    w += row[m] * v[j, m]
                s[j] = t
                u[j] = w
            if logistic:
                p = 1.0 / (1.0 + numpy.exp(-s[0]))
                s[0] = p - label[i]
                u[0] = p * (1.0 - p) * u[0]
            else:
                top = s.max()
                total = 0.0
                for j in range(classes):
                    s[j] = numpy.exp(s[j] - top)
                    total += s[j]
                mean = 0.0
                for j in range(classes):
                    s[j] /= total
                    mean += s[j] * u[j]
                for j in range(classes):
                    u[j] = s[j] * (u[j] - mean)
                    s[j] -= 1.0 if j == label[i] else 0.0
            for j in range(classes):
                t = s[j] / batch
                w = u[j] / batch
                for m in range(columns):
                    gy[j, m] += t * row[m]
                    hv[j, m] += w * row[m]
        for m in range(columns):
            jv = 0.0
            for j in range(classes):
                jv += e[m] * y[j, m] * v[j, m]
                g = gy[j, m] + e[m] * y[j, m]
                h = hv[j, m] + e[m] * v[j, m]
                y[j, m] -= steps[1] * c * g
                v[j, m] -= steps[2] * c * (h - fy[j, m])
            x[m] += steps[0] * c * jv
            e[m] = numpy.exp(x[m])


@numba.njit
def gradient(a, label, y):
    return a.T @ (1.0 / (1.0 + numpy.exp(-(a @ y))) - label) / len(a)


@numba.njit
def hessian_product(a, y, v):
    p = 1.0 / (1.0 + numpy.exp(-(a @ y)))
    return a.T @ (p * (1.0 - p) * (a @ v)) / len(a)


@numba.njit
def run_oracles(a, label, va, vlabel, y, v, x, starts_g, starts_f, batch, iterations, steps, decay):
    y, v = y[0], v[0]
    for k in range(iterations):
        c = (k + 1.0) ** -decay
        first = starts_f[k % len(starts_f)]
        fy = gradient(va[first:first + batch], vlabel[first:first + batch], y)
        first = starts_g[k % len(starts_g)]
        rows, ridge = a[first:first + batch], numpy.exp(x)
        gy = gradient(rows, label[first:first + batch], y) + ridge * y
        hv = hessian_product(rows, y, v) + ridge * v
        x += steps[0] * c * (ridge * y * v)
        y -= steps[1] * c * gy
        v -= steps[2] * c * (hv - fy)


def blocks(random, rows, batch):
    starts = numpy.arange(0, rows - batch + 1, batch)
    return numpy.concatenate([random.permutation(starts) for _ in range(50)])


def main():
    case = json.load(open(sys.argv[1]))
    train, val = numpy.load(case["train"]), numpy.load(case["val"])
    a, va = (numpy.ascontiguousarray(f["X"], dtype=float) for f in (train, val))
    label, vlabel = (f["y"].astype(numpy.int64) for f in (train, val))
    classes = 1 if case["logistic"] else int(label.max()) + 1
    oracles = sys.argv[2:] == ["oracles"]
    solve = run_oracles if oracles else run
    random, p = numpy.random.default_rng(0), case["settings"]
    shape = (classes, a.shape[1])

    def once(iterations):
        y, v, x = numpy.zeros(shape), numpy.zeros(shape), numpy.zeros(shape[1])
        began = time.perf_counter()
        solve(a, label, va, vlabel, y, v, x, starts_g, starts_f, case["batch"], iterations,
            numpy.array([p["step_x"], p["step_y"], p["step_v"]]), p["decay"])
        return y, time.perf_counter() - began

    starts_g = blocks(random, len(a), case["batch"])
    starts_f = blocks(random, len(va), case["batch"])
    once(2)
    y, seconds = fastest(lambda: once(case["iterations"]))
    targets = vlabel[:, None] if classes == 1 else numpy.eye(classes)[vlabel]
    name = f"numba {'oracles ' if oracles else ''}{numba.__version__}"
    print(json.dumps({"library": name, "seconds": seconds,
                      "val_loss": loss_of(va, targets, y)}))


if __name__ == "__main__":
    main()

"""Seconds that JAX and PyTorch take on a GPU for what bench_cuda times on our side.

Prints lines "tool case rows seconds": softmax rows of 784 columns and 10 classes, f32 without TF32,
the gradient and gradient + Hv + Jv, weights from logits; and a step of SOBA, batch 64, 54 columns,
logistic, all on the device.
"""
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

COLUMNS, CLASSES = 784, 10


def median(call, wait, samples=15):
    for _ in range(3):
        wait(call())
    times = []
    for _ in range(samples):
        begin = time.perf_counter()
        wait(call())
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]


def with_jax():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_default_matmul_precision", "highest")

    def loss(w, x, a, label):
        s = a @ w.T
        each = jax.nn.logsumexp(s, axis=1) - jnp.take_along_axis(s, label[:, None], 1)[:, 0]
        return jnp.mean(jax.nn.sigmoid(x) * each) + 5e-4 * jnp.sum(w * w)

    gradient = jax.jit(jax.grad(loss))

    @jax.jit
    def everything(w, v, x, a, label):
        gy, hv = jax.jvp(lambda u: jax.grad(loss)(u, x, a, label), (w,), (v,))
        jv = jax.jvp(lambda u: jax.grad(loss, 1)(u, x, a, label), (w,), (v,))[1]
        return gy, hv, jv

    def clean(a, label, w, steps=50):
        """SOBA on whole sums, 10,000 validation rows, all steps in one call."""
        val, val_label = a[:10000] + 0.0, label[:10000] + 0

        def validation(u):
            s = val @ u.T
            own = jnp.take_along_axis(s, val_label[:, None], 1)[:, 0]
            return jnp.mean(jax.nn.logsumexp(s, axis=1) - own)

        def step(state, _):
            x, y, v = state
            gy, hv, jv = everything(y, v, x, a, label)
            fy = jax.grad(validation)(y)
            return (x + 3e5 * jv, y - 4 * gy, v - 4 * (hv - fy)), None

        @jax.jit
        def run(x, y, v):
            return jax.lax.scan(step, (x, y, v), None, length=steps)[0]

        zero = jnp.zeros_like(w)
        return median(lambda: run(jnp.zeros(len(a)), zero, zero), jax.block_until_ready, 3) / steps

    for rows in (1000000, 20000):
        keys = jax.random.split(jax.random.PRNGKey(0), 4)
        a = jax.random.uniform(keys[0], (rows, COLUMNS)) - 0.5
        label = jax.random.randint(keys[1], (rows,), 0, CLASSES)
        w = 0.1 * jax.random.normal(keys[2], (CLASSES, COLUMNS))
        v = 0.1 * jax.random.normal(keys[3], (CLASSES, COLUMNS))
        x = jnp.zeros(rows)
        wait = jax.block_until_ready
        print("jax gradient", rows, median(lambda: gradient(w, x, a, label), wait), flush=True)
        print("jax all", rows, median(lambda: everything(w, v, x, a, label), wait), flush=True)
        if rows == 1000000:
            print("jax clean", rows, clean(a, label, w), flush=True)
        del a

    def logistic(y, x, a, b):
        return jnp.mean(jnp.log1p(jnp.exp(-b * (a @ y)))) + 0.5 * jnp.sum(jnp.exp(x) * y * y)

    def mean(y, a, b):
        return jnp.mean(jnp.log1p(jnp.exp(-b * (a @ y))))

    rows, columns, batch, steps = 100000, 54, 64, 2000
    a = jax.random.normal(jax.random.PRNGKey(1), (rows, columns))
    b = jnp.sign(a[:, 0] + 0.1)

    def step(state, key):
        x, y, v = state
        i, j = jax.random.randint(key, (2,), 0, rows // batch) * batch
        ag, bg = jax.lax.dynamic_slice(a, (i, 0), (batch, columns)), jax.lax.dynamic_slice(b, (i,), (batch,))
        af, bf = jax.lax.dynamic_slice(a, (j, 0), (batch, columns)), jax.lax.dynamic_slice(b, (j,), (batch,))
        fy = jax.grad(mean)(y, af, bf)
        gy, hv = jax.jvp(lambda u: jax.grad(logistic)(u, x, ag, bg), (y,), (v,))
        jv = jnp.exp(x) * y * v
        return (x + 0.01 * jv, y - 0.01 * gy, v - 0.01 * (hv - fy)), None

    @jax.jit
    def run(keys):
        zero = jnp.zeros(columns)
        return jax.lax.scan(step, (zero, zero, zero), keys)[0]

    keys = jax.random.split(jax.random.PRNGKey(2), steps)
    print("jax step soba", median(lambda: run(keys), jax.block_until_ready, 5) / steps, flush=True)


def with_torch():
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False

    def wait(_):
        torch.cuda.synchronize()

    for rows in (1000000, 20000):
        a = torch.rand(rows, COLUMNS, device="cuda") - 0.5
        label = torch.randint(CLASSES, (rows,), device="cuda")
        target = torch.nn.functional.one_hot(label, CLASSES).float()
        w = 0.1 * torch.randn(CLASSES, COLUMNS, device="cuda")
        v = 0.1 * torch.randn(CLASSES, COLUMNS, device="cuda")
        x = torch.zeros(rows, device="cuda")

        def gradient():
            c = torch.sigmoid(x)[:, None] / rows
            return (c * (torch.softmax(a @ w.T, 1) - target)).T @ a + 1e-3 * w

        def everything():
            s = torch.sigmoid(x)[:, None]
            both = a @ torch.cat((w, v)).T
            p, t = torch.softmax(both[:, :CLASSES], 1), both[:, CLASSES:]
            q = p * (t - (p * t).sum(1, keepdim=True))
            r = p - target
            jv = (s * (1 - s))[:, 0] * (r * t).sum(1) / rows
            g = torch.cat((s * r, s * q), 1).T @ a / rows
            return g[:CLASSES] + 1e-3 * w, g[CLASSES:] + 1e-3 * v, jv

        with torch.inference_mode():
            print("torch gradient", rows, median(gradient, wait), flush=True)
            print("torch all", rows, median(everything, wait), flush=True)
        del a


if __name__ == "__main__":
    for part in (with_jax, with_torch):
        try:
            part()
        except Exception as error:  # a tool that is not there
            print(error, file=sys.stderr)

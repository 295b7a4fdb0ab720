"""Median milliseconds of SciPy's X @ W and X.T @ R in single precision, one thread.

    sparse_products.py rows columns entries-a-row classes

The least that a softmax gradient on sparse data costs there: softmax, loss and penalty are left
out. Words are drawn as in bench_sparse: the chance of rank r falls with 1 / (r + 20).
"""
import sys
import time

import numpy as np
import scipy.sparse as sp

rows, columns, mean_entries, classes = map(int, sys.argv[1:5])
rng = np.random.default_rng(1)
lengths = rng.integers(1, 2 * mean_entries, rows)
ranks = 20.0 * (1.0 + columns / 20.0) ** rng.random(int(lengths.sum() * 1.15)) - 20.0
words = (np.minimum(ranks.astype(np.int64), columns - 1) * 7919 + 11) % columns
owners = np.repeat(np.arange(rows), (lengths * 1.15).astype(np.int64) + 1)[: len(words)]
words = words[: len(owners)]
x = sp.csr_matrix((np.ones(len(words), np.float32), (owners, words)), (rows, columns))
x.sum_duplicates()
x.data = (0.02 + 0.2 * rng.random(x.nnz)).astype(np.float32)
transposed = x.T.tocsr()
w = (rng.random((columns, classes)) - 0.5).astype(np.float32)
residual = (rng.random((rows, classes)) - 0.5).astype(np.float32)

times = []
for _ in range(25):
    start = time.perf_counter()
    x @ w
    transposed @ residual
    times.append(time.perf_counter() - start)
print(1e3 * float(np.median(times)) * (mean_entries * rows / x.nnz))

"""Median and lowest milliseconds of SciPy's X @ W and X.T @ R in single precision, one thread.

    sparse_products.py rows columns entries-a-row classes

The least that a softmax gradient on sparse data costs there: softmax, loss and penalty are left
out. Words are drawn as in bench_sparse, and the time is scaled to the number of entries asked for.
"""
import sys
import time

import numpy as np
import scipy.sparse as sp

rows, columns, mean_entries, classes = map(int, sys.argv[1:5])
rng = np.random.default_rng(1)
shift, power = 30.0, -0.2
low, high = shift**power, (columns + shift) ** power
lengths = rng.integers(1, 2 * mean_entries, rows) * 5 // 4
draws = rng.random(int(lengths.sum()))
ranks = ((low + (high - low) * draws) ** (1.0 / power) - shift).astype(np.int64)
words = (np.minimum(ranks, columns - 1) * 7919 + 11) % columns
owners = np.repeat(np.arange(rows), lengths)
x = sp.csr_matrix((np.ones(len(words), np.float32), (owners, words)), (rows, columns))
x.sum_duplicates()
x.data = (0.02 + 0.2 * rng.random(x.nnz)).astype(np.float32)
transposed = x.T.tocsr()
w = (rng.random((columns, classes)) - 0.5).astype(np.float32)
residual = (rng.random((rows, classes)) - 0.5).astype(np.float32)

times = []
for _ in range(51):
    start = time.perf_counter()
    x @ w
    transposed @ residual
    times.append(time.perf_counter() - start)
unit = 1e3 * mean_entries * rows / x.nnz
print(unit * float(np.median(times)), unit * min(times))

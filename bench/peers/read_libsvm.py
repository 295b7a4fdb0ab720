"""Prints the median seconds that scikit-learn takes to read a libsvm file.

    read_libsvm.py FILE
"""
import statistics
import sys
import time

from sklearn.datasets import load_svmlight_file


def timed(path):
    start = time.perf_counter()
    load_svmlight_file(path)
    return time.perf_counter() - start


print(statistics.median(timed(sys.argv[1]) for _ in range(3)))

# SPDX-License-Identifier: MIT
"""Calls the launch marker under 40 frames of a mixed stack (a Python function and sorted(), in turn): for
bench/marker.c.

usage: marker_python.py LIBRARY MARKER WHAT

What ctypes costs is in the figures with and without the recorder alike."""
import ctypes
import sys
import time

LEVELS = 20
ROUNDS = 41
HITS = 100

marker = getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])
marker.argtypes = [ctypes.c_uint64] * 3
marker.restype = None


def hit():
    begin = time.perf_counter_ns()
    for i in range(HITS):
        marker(1, i, 1)
    return (time.perf_counter_ns() - begin) / HITS


def deep(level):
    if not level:
        return hit()
    result = []
    sorted([0], key=lambda _: result.append(deep(level - 1)))
    return result[0]


def main():
    time.sleep(2)  # until the recorder knows this process
    took_ns = []
    for _ in range(ROUNDS):
        took_ns.append(deep(LEVELS // 2))
        time.sleep(0.01)
    took_ns.sort()
    print("%-8s  Python, 20 frames in 10 loops  %5.0f ns a hit (median of %d; 5th to 95th percentile %.0f to %.0f)" % (
        sys.argv[3], took_ns[ROUNDS // 2], ROUNDS, took_ns[ROUNDS // 20], took_ns[ROUNDS * 19 // 20]))


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `xpuprof record -p --overhead PERCENT` costs on a real GPU, seen from outside, and how near its sums come.

One process a workload, that runs all the time; it is joined and left again, block by block, in random order: with records and
callbacks off all the time (the floor: CUPTI is there and subscribed), at each --overhead, and recorded as a whole. Each block is
many short runs of the workload; what counts is the mean of all that lie in it. Printed per workload and arm: the median ratio of
a block to the floor's of the same round, its 95 % interval (order statistics), and before all else the time without CUPTI.
Then, for the ten kernels with the most GPU time in the recording of everything, how many points their shares are off in the
estimate of all blocks of an arm together. With --shares the same for one recording of so many seconds under each budget.

usage: governed.py [--rounds N] [--block SECONDS] [--overheads P,...] [--shares P:SECONDS,...] [--xpuprof PATH] [--tiny PROGRAM]
                   [--only WORKLOAD,...]
"""
import argparse
import collections
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import overhead

FLOOR, WHOLE = "0.001", "off"
SECONDS_A_RUN = 0.05


def block(worker, workload, count, seconds):
    """Seconds an iteration, of those that lie in the block."""
    until, runs = time.monotonic() + seconds, []
    while time.monotonic() < until:
        runs.append(worker.run(workload, count) / count)
    return statistics.fmean(runs)


def joined_block(worker, workload, count, seconds, arm, given, path):
    recorder = subprocess.Popen([given.xpuprof, "record", "-q", "--gpu-only", "--overhead", arm, "-o", path,
                                 "-p", str(worker.process.pid)], stderr=subprocess.PIPE, text=True)
    block(worker, workload, count, 1.2)  # until it has joined, and its first burst is over
    took = block(worker, workload, count, seconds)
    recorder.send_signal(signal.SIGINT)
    said = recorder.communicate()[1]
    if recorder.returncode:
        sys.exit(f"governed.py: record --overhead {arm} failed: {said}")
    return took


def add_shares(sums, given, path):
    report = json.loads(subprocess.run([given.xpuprof, "report", "--json", path], stdout=subprocess.PIPE, check=True).stdout)
    for kernel in report["kernels"]:
        sums[kernel["name"]] += kernel["total_ns"]


def shares(sums):
    whole = sum(sums.values()) or 1
    return {name: 100 * ns / whole for name, ns in sums.items()}


def points_off(sums, true):
    """The ten longest of `true`: how many there are, and the most that a share is off."""
    top = sorted(true, key=true.get, reverse=True)[:10]
    have = shares(sums)
    return len(top), max([abs(have.get(name, 0) - true[name]) for name in top], default=float("nan"))


def one_recording(worker, workload, count, seconds, arm, given, path):
    sums = collections.Counter()
    took = joined_block(worker, workload, count, seconds, arm, given, path)
    add_shares(sums, given, path)
    return sums, took


def measure_shares(worker, workload, count, given, path):
    whole, whole_took = one_recording(worker, workload, count, 20, WHOLE, given, path)
    true = shares(whole)
    for arm, seconds in given.shares:
        sums, took = one_recording(worker, workload, count, float(seconds), arm, given, path)
        kernels, off = points_off(sums, true)
        print(f"  --overhead {arm:5} {seconds} s: {took * 1e6:.1f} us ({whole_took * 1e6:.1f} as a whole); the shares of the {kernels} longest "
              f"kernels are off by {off:.2f} points at most", flush=True)


def measure(workload, given):
    kind = overhead.WORKLOADS[workload][0]
    command = [given.tiny] if kind == "tiny" else [sys.executable, os.path.join(overhead.HERE, f"{kind}_worker.py"), "--free"]
    worker = overhead.Worker(command, {})
    worker.wait_ready()
    count = max(1, overhead.WORKLOADS[workload][1] // 10)
    worker.run(workload, count)
    count = max(1, round(count * SECONDS_A_RUN / worker.run(workload, count)))
    plain = block(worker, workload, count, given.block)
    arms = [FLOOR, *given.overheads, WHOLE]
    times, sums = collections.defaultdict(list), collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.xpu")
        joined_block(worker, workload, count, 0.5, WHOLE, given, path)  # CUPTI is loaded, whatever it costs
        for _ in range(given.rounds):
            for arm in random.sample(arms, len(arms)):
                times[arm].append(joined_block(worker, workload, count, given.block, arm, given, path))
                if arm != FLOOR:
                    add_shares(sums[arm], given, path)
        if given.rounds:
            print_arms(workload, plain, block(worker, workload, count, given.block), times, sums)
        measure_shares(worker, workload, count, given, path)
    worker.process.stdin.close()
    worker.process.wait()


def print_arms(workload, plain, left, times, sums):
    floor = statistics.median(times[FLOOR])
    print(f"{workload}: {plain * 1e6:.1f} us before all, {floor * 1e6:.1f} with CUPTI subscribed and off ({floor / plain:.3f}), "
          f"{left * 1e6:.1f} when left ({left / plain:.3f})")
    for arm in sorted(set(times) - {FLOOR}):
        ratios = [a / b for a, b in zip(times[arm], times[FLOOR])]
        low, high = overhead.interval(ratios)
        kernels, off = points_off(sums[arm], shares(sums[WHOLE]))
        print(f"  --overhead {arm:5} {statistics.median(ratios):.4f} [{low:.4f}, {high:.4f}]  {len(ratios)} blocks; the shares of the "
              f"{kernels} longest kernels are off by {off:.2f} points at most", flush=True)


def main():
    parser = argparse.ArgumentParser()
    build = os.environ.get("XPUPROF_BUILD", os.path.join(overhead.HERE, "../../build"))
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--block", type=float, default=4)
    parser.add_argument("--overheads", default="1,0.1")
    parser.add_argument("--shares", default="")
    parser.add_argument("--xpuprof", default=os.path.join(build, "xpuprof"))
    parser.add_argument("--tiny", default=os.path.join(build, "bench/tiny_worker"))
    parser.add_argument("--only", default="eager,graph,tiny,decode")
    given = parser.parse_args()
    given.overheads = given.overheads.split(",")
    given.shares = [one.split(":") for one in given.shares.split(",") if one]
    for workload in given.only.split(","):
        measure(workload, given)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the OpenCL layer costs a launch, on a real GPU: nanoseconds from the first launch to the end of the last, for each.

Pairs of a plain run and one of each arm take turns, in random order; a run is a process. "own events": the program asks for an event
of each launch, in a queue with profiling, and is not recorded; "own times": and reads its times when it has waited; "own 1/16": so too,
of every 16th launch. That is what the driver takes for times, which no layer can avoid. "all": recorded, with times and stacks; "1/16",
"1/100": with the times of some (--opencl-times). First with an empty kernel, then with one of some 2 ms. Printed are the median time
alone, for each arm the median of its ratios to the plain run, with their quartiles, and how much more a launch takes than with events
of the program's own.

usage: opencl.py [--pairs N] [--launches N] [--us MICROSECONDS] [--vendor LIBRARY] [--xpuprof FILE]

--vendor is the driver to use (libnvidia-opencl.so.1), "" the one that the loader finds first. The loader has to know layers.
"""
import argparse
import os
import random
import statistics
import subprocess
import tempfile

BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "build")))
PROGRAM = os.path.join(BUILD, "tests", "targets", "opencl")
OWN = {"own events": "events", "own times": "times", "own 1/16": "sixteenth"}
ARMS = {**dict.fromkeys(OWN), "all": [], "1/16": ["--opencl-times", "1/16"], "1/100": ["--opencl-times", "1/100"]}
ASKED = {"all": "own events + 500 ns", "1/16": "1.15", "1/100": "1.04"}


def took_ns(command):
    """Of a launch, until its kernel has ended."""
    return float(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.split()[-1])


def steps_for(us):
    """Of the kernel, for it to take so long."""
    steps = 1000
    for _ in range(2):
        empty, one = took_ns([PROGRAM, "rate", "10"]), took_ns([PROGRAM, "rate", "10", str(steps)])
        steps = min(int(steps * us * 1000 / max(one - empty, 1)), 1 << 30)
    return steps


def measure(given, folder, launches, steps):
    """Times alone, and for each arm pairs of the time alone before it and its own."""
    record = [given.xpuprof, "record", "-q", "--gpu-only", "-o", os.path.join(folder, "p.xpu")]
    work = [str(launches), *([str(steps)] if steps else [])]
    pairs = {arm: [] for arm in ARMS}
    for _ in range(given.pairs):
        for arm, options in random.sample(sorted(ARMS.items()), len(ARMS)):
            plain = took_ns([PROGRAM, "rate", *work])
            command = [PROGRAM, OWN[arm]] if arm in OWN else [*record, *options, "--", PROGRAM, "rate"]
            pairs[arm].append((plain, took_ns([*command, *work])))
    return pairs


def show(what, pairs):
    plain = statistics.median(p for of in pairs.values() for p, _ in of)
    own = statistics.median(t for _, t in pairs["own events"])
    print(f"{what}: {plain:.0f} ns alone")
    for arm, of in pairs.items():
        low, middle, high = statistics.quantiles([t / p for p, t in of], n=4)
        more = statistics.median(t for _, t in of) - own
        print(f"  {arm:12} {middle:.4f} ({low:.4f} to {high:.4f})  {more:+8.0f} ns beside own events   asked: {ASKED.get(arm, '-')}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--launches", type=int, default=2000)
    parser.add_argument("--us", type=float, default=2000, help="what the long kernel takes")
    parser.add_argument("--vendor", default="libnvidia-opencl.so.1")
    parser.add_argument("--xpuprof", default=os.path.join(BUILD, "xpuprof"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.vendor:
            with open(os.path.join(folder, "only.icd"), "w", encoding="utf-8") as vendor:
                vendor.write(given.vendor + "\n")
            os.environ["OCL_ICD_VENDORS"] = folder + "/"
        os.environ["POCL_CACHE_DIR"] = os.path.join(folder, "pocl")
        show(f"{given.launches} empty kernels", measure(given, folder, given.launches, 0))
        show(f"20 kernels of {given.us:.0f} us (asked: all at most 1.005)", measure(given, folder, 20, steps_for(given.us)))


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares this build with another one: the same work by both in turn, in random order.

usage: bench/against_build.py OTHER_BUILD [--pairs N] [--only WORD]

OTHER_BUILD is a build folder of another revision, with its benchmarks (make bench-programs). Prints for each piece of work
the ratio of this build to the other, of user and system time: the median of the pairs and the 95 % interval of that median,
from order statistics. Below 1 this build is faster.
"""
import argparse
import math
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(ROOT, "build")))
LAUNCHES = 1000000


def interval(values):
    ordered = sorted(values)
    half = 1.96 * math.sqrt(len(ordered)) / 2
    low = max(0, math.floor(len(ordered) / 2 - half))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + half))
    return ordered[low], ordered[high]


def run(command, environment=None):
    """CPU seconds, and what it printed."""
    with tempfile.TemporaryFile() as out:
        pid = os.posix_spawnp(command[0], command, {**os.environ, **(environment or {})},
                              file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)])
        _, status, usage = os.wait4(pid, 0)
        if status:
            sys.exit(f"{' '.join(command)}: ended with {status}")
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, out.read().decode()


def command(*arguments):
    """Work whose cost is the time of the whole command."""
    def measure(build, folder):
        seconds, _ = run([f"{build}/xpuprof", *(a.replace("FOLDER", folder) for a in arguments)])
        return {" ".join(arguments).replace("FOLDER/", "").replace(" -o /dev/null", ""): seconds}
    return measure


def launches(build, _):
    """Work that times itself: lines of a name and the median in nanoseconds."""
    _, text = run([f"{build}/bench/gpu_path"])
    rows = re.findall(r"^(\S.*?) {2,}([\d.]+) +[\d.]+ +[\d.]+$", text, re.M)
    return {name: float(median) for name, median in rows}


def recorder(build, folder):
    """The recorder's own time for a simulated program of a second or so."""
    program = f"{build}/tests/programs/launch_rate"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run([f"{build}/xpuprof", "record", "-q", "-o", f"{folder}/r.xpu", "--", program],
        {"LD_LIBRARY_PATH": f"{build}/sim"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"record launch_rate (with the program)": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


WORK = {
    "report": command("report", "FOLDER/p.xpu"),
    "json": command("report", "--json", "FOLDER/p.xpu"),
    "merge": command("flame", "-o", "/dev/null", "FOLDER/p.xpu"),
    "gpu": command("flame", "--view", "gpu", "-o", "/dev/null", "FOLDER/p.xpu"),
    "wall": command("flame", "--view", "wall", "-o", "/dev/null", "FOLDER/w.xpu"),
    "waits": command("report", "FOLDER/w.xpu"),
    "chrome": command("export", "--to", "chrome", "-o", "/dev/null", "FOLDER/p.xpu"),
    "record": recorder,
    "launch": launches,
}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("other")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    builds = {"this": BUILD, "other": os.path.abspath(options.other)}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([f"{BUILD}/bench/profile_gen", f"{folder}/p.xpu", str(LAUNCHES)], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([f"{BUILD}/bench/wall_gen", f"{folder}/w.xpu", str(LAUNCHES)], check=True,
                       stdout=subprocess.DEVNULL)
        for name, measure in WORK.items():
            if options.only in name:
                compare(measure, builds, folder, options.pairs)


def compare(measure, builds, folder, pairs):
    ratios = {}
    for _ in range(pairs):
        found = {}
        for which in random.sample(list(builds), 2):
            found[which] = measure(builds[which], folder)
        for name in found["this"].keys() & found["other"].keys():
            ratios.setdefault(name, []).append(found["this"][name] / max(found["other"][name], 1e-9))
    for name, values in ratios.items():
        low, high = interval(values)
        print(f"{name:62} {statistics.median(values):6.3f}  [{low:.3f}, {high:.3f}]", flush=True)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU time by function in `xpuprof report`: of a program whose functions take known shares of its CPU time, and the same as the
flame graph has."""
import collections
import json
import os
import shutil
import subprocess
import sys


import tap
from tap import PROGRAM, can_record, result, run

# By the CPU time of the thread, so that no load changes the shares, and in turns, since the first samples may come before it is
# known how to read the interpreter. What is called meanwhile is native code. What Python does
# alone needs nothing but its evaluation loop, and asks for the time rarely: where that is a system call, it is native time.
SHARES = """
import ctypes, time
strlen, data = ctypes.CDLL(None).strlen, b"x" * (4 << 20)

def python_alone(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(2000):
            a = b = c = d = i; a = d; b = c; c = b; d = a; a = c; b = d; a = d; b = c; c = b; d = a; a = c; b = d

def native_below(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        strlen(data)

def calls_itself(depth, seconds):
    return calls_itself(depth - 1, seconds) if depth else python_alone(seconds)

def calls_both():
    calls_itself(5, 0.04)
    native_below(0.08)

for _ in range(10):
    python_alone(0.04)
    calls_both()
"""

def is_near(ns, whole_ns, share):
    return abs(ns / whole_ns - share) < 0.1


def check_shares(rows):
    """Shares of what the script takes: for how long Python starts is the machine's."""
    by_name = {row["name"]: row for row in rows}
    whole_ns = by_name["<module> (shares.py)"]["total_ns"]
    alone, recursive = by_name["python_alone (shares.py)"], by_name["calls_itself (shares.py)"]
    below, both = by_name["native_below (shares.py)"], by_name["calls_both (shares.py)"]
    result(is_near(alone["self_ns"], whole_ns, 0.5) and is_near(alone["total_ns"], whole_ns, 0.5),
           "what a Python function does is its own time", alone, whole_ns)
    result(is_near(below["total_ns"], whole_ns, 0.5) and is_near(below["self_ns"], whole_ns, 0),
           "what native code does that it calls is not", below, whole_ns)
    result(is_near(both["total_ns"], whole_ns, 0.75) and is_near(both["self_ns"], whole_ns, 0),
           "callers have it in their total", both, whole_ns)
    result(is_near(recursive["total_ns"], whole_ns, 0.25), "recursion counts once", recursive, whole_ns)
    native = max((row for row in rows if "module" in row), key=lambda row: row["self_ns"])
    result(is_near(native["self_ns"], whole_ns, 0.5) and native["module"].startswith("/"),
           "native functions stand beside those of Python, with their module", native, whole_ns)
    result(os.path.basename(alone["file"]) == "shares.py", "those of Python with their file", alone)


def sums_of_folded(path):
    """By name: self and total, from the stacks of the flame graph, one by one."""
    selfs, totals = collections.Counter(), collections.Counter()
    for line in run(PROGRAM, "export", "--to", "folded", "--unit", "ns", "--view", "cpu", "-o", "-", path).splitlines():
        stack, ns = line.rsplit(" ", 1)
        frames = [frame.removesuffix("_[k]") for frame in stack.split(";")]
        selfs[frames[-1]] += int(ns)
        for name in set(frames):
            totals[name] += int(ns)
    return selfs, totals


def check_flame(path, report):
    """Two functions of one name are one frame there."""
    selfs, totals = sums_of_folded(path)
    places = collections.Counter(row["name"] for row in report["functions"])
    own = collections.Counter()
    for row in report["functions"]:
        own[row["name"]] += row["self_ns"]
    result(own == selfs, "own times are those of the leaves of the flame graph", own - selfs, selfs - own)
    total = {row["name"]: row["total_ns"] for row in report["functions"] if places[row["name"]] == 1}
    result(total == {name: totals[name] for name in total} and set(places) == set(totals),
           "totals are those of its frames", [(n, total[n], totals[n]) for n in total if total[n] != totals[n]])
    result(sum(row["self_ns"] for row in report["functions"]) == report["cpu_ns"]
           and sum(row["self_samples"] for row in report["functions"]) == report["samples"], "and all time is somewhere")


SPINS = """
static volatile unsigned x;
#define TWICE(code) code code
/* Many instructions, so that samples fall on more places of it than of anything else. */
static void __attribute__((noinline)) spin(void)
{
	for (unsigned i = 0; i < 5000000u; i++) { TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(x += i;)))))) }
}
int main(void) { spin(); return 0; }
"""


def check_stripped():
    compiler = os.environ.get("CC", "cc").split()
    if not shutil.which(compiler[0]):
        return
    with open("spins.c", "w") as f:
        f.write(SPINS)
    for name, options in (("named", []), ("stripped", ["-s"])):
        run(*compiler, "-O1", *options, "-o", name, "spins.c")
        done = subprocess.run([PROGRAM, "record", "--cpu-only", "-F", "997", "-o", "spins.xpu", f"./{name}"],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        result(("/stripped' has no symbols" in done.stderr) == (name == "stripped"), f"what record says of a {name} program", done.stderr)
        said = [line for line in run(PROGRAM, "report", "spins.xpu").splitlines() if line.startswith("no names")]
        result(len(said) == (name == "stripped") and all("/stripped'" in line and "DEBUGINFOD_URLS" in line for line in said),
               f"a {name} program has {len(said)} lines about what would name it", *said)


def main():
    with open("shares.py", "w") as f:
        f.write(SHARES)
    run(PROGRAM, "record", "-q", "--cpu-only", "-F", "997", "-o", "p.xpu", sys.executable, "shares.py")
    report = json.loads(run(PROGRAM, "report", "--json", "p.xpu"))
    check_shares(report["functions"])
    check_flame("p.xpu", report)
    check_stripped()
    text = run(PROGRAM, "report", "--top", "3", "p.xpu")
    result(f"\nCPU time by function (3 of {len(report['functions'])})\n" in text and
           text.index("CPU time by function") < text.index("\nProcesses"), "the table stands near the top", text)


tap.main(main, lambda: "" if can_record("--cpu-only") else "CPU stacks cannot be had here")

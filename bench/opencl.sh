#!/bin/sh
# SPDX-License-Identifier: MIT
# What the OpenCL layer costs a command, in CPU time of the thread that launches empty kernels and waits for them: over a driver of ours that
# does nothing, and over PoCL where it is installed, with times of all commands, of some, and of next to none. Beside it, as the floor,
# what the driver takes for events of the program's own. Pairs of runs take turns; the median of their differences and its
# quartiles are printed, in nanoseconds. At last, all CPU time of PoCL's only worker beside that of its kernels
# (tests/cli/opencl_workers.t has what of it is in the kernels' code).
build=$("$(dirname "$0")/needs" xpuprof libxpuprof-inject.so tests/targets/opencl tests/targets/opencl_liar) || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so" POCL_CACHE_DIR="$work/pocl"
PYTHONPATH=$(dirname "$0") exec python3 - "$build" "$work/p.xpu" <<'END'
import json
import os
import statistics
import subprocess
import sys

from results import note

build, profile = sys.argv[1:]
PAIRS = 20


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split()


def record(options, *command):
    return run(f"{build}/xpuprof", "record", "-q", "-o", profile, *options, "--", *command)


def show(what, differences, plain, at_most):
    low, middle, high = statistics.quantiles(differences, n=4)
    print(f"{what:44} {middle:6.0f}   ({low:.0f} to {high:.0f}; without us {statistics.median(plain):.0f})")
    note(what, f"{middle:.0f} ns ({low:.0f} to {high:.0f})", at_most)


liar = [[float(n) for n in record(["--gpu-only"], f"{build}/tests/targets/opencl_liar", "cost")] for _ in range(5)]
print("CPU time of a command more than without us, ns")
show("a driver that does nothing", [layer - plain for plain, layer in liar], [plain for plain, _ in liar], "")

program = [f"{build}/tests/targets/opencl", "rate", "5000"]
if not run(*program):
    print("PoCL: no OpenCL device here")
    sys.exit()

def compare(what, run_it, at_most):
    pairs = [(float(run(*program)[0]), float(run_it()[0])) for _ in range(PAIRS)]
    show(what, [other - plain for plain, other in pairs], [plain for plain, _ in pairs], at_most)


compare("PoCL, events of the program's own (the floor)", lambda: run(program[0], "events", "5000"), "")
compare("PoCL, and it reads their times", lambda: run(program[0], "times", "5000"), "")
for what, options, at_most in (("PoCL, with times and stacks", [], "1000 ns"),
                               ("PoCL, with times", ["--stack-source", "none"], "1000 ns"),
                               ("PoCL, times of 1/16", ["--opencl-times", "1/16"], ""),
                               ("PoCL, times of 1/100", ["--opencl-times", "1/100"], ""),
                               ("PoCL, no times", ["--opencl-times", "1/1000000"], "300 ns"),
                               ("PoCL, no times, no stacks", ["--opencl-times", "1/1000000", "--stack-source", "none"], "300 ns")):
    compare(what, lambda: record(["--gpu-only", *options], *program), at_most)

ratios = []
for _ in range(5):
    subprocess.run([f"{build}/xpuprof", "record", "-q", "-F", "999", "-o", profile, "--", f"{build}/tests/targets/opencl", "long", "3"],
                   env={**os.environ, "POCL_MAX_PTHREAD_COUNT": "1"}, stdout=subprocess.DEVNULL, check=True)
    report = json.loads(subprocess.run([f"{build}/xpuprof", "report", "--json", profile], stdout=subprocess.PIPE, check=True).stdout)
    workers = [t["cpu_ns"] for t in report["threads"] if not t["works"] and not t.get("profiler")]
    ratios.append(max(workers) / report["gpu_ns"])
low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
print(f"All CPU time of PoCL's worker by kernel time  {middle:.3f}   ({low:.3f} to {high:.3f})")
note("PoCL's worker: all its CPU time by kernel time", f"{middle:.3f} ({low:.3f} to {high:.3f})", "")
END

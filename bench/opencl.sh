#!/bin/sh
# SPDX-License-Identifier: MIT
# What the OpenCL layer costs a command, in CPU time of the thread that launches empty kernels: over a driver of ours that
# does nothing, and over PoCL where it is installed. Pairs of runs take turns; the median of their differences and its
# quartiles are printed, in nanoseconds.
build=$("$(dirname "$0")/needs" xpuprof libxpuprof-inject.so tests/targets/opencl tests/targets/opencl_liar) || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so" POCL_CACHE_DIR="$work/pocl"
PYTHONPATH=$(dirname "$0") exec python3 - "$build" "$work/p.xpu" <<'END'
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
for what, options in (("PoCL, with times and stacks", ["--gpu-only"]),
                      ("PoCL, with times", ["--gpu-only", "--stack-source", "none"])):
    pairs = [(float(run(*program)[0]), float(record(options, *program)[0])) for _ in range(PAIRS)]
    show(what, [recorded - plain for plain, recorded in pairs], [plain for plain, _ in pairs], "1000 ns")
END

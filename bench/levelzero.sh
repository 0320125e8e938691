#!/bin/sh
# SPDX-License-Identifier: MIT
# What recording Level Zero costs an append to an immediate list, in CPU time of the thread that appends, over the simulated
# device: below the simulated loader, and below the real one where it is installed (or $XPUPROF_LEVELZERO names its folder).
# Beside it, as the floor, the loader's tracing layer with callbacks that do nothing, and what the
# device takes for events. Runs take turns; the median of
# their differences and its quartiles are printed, in nanoseconds. The device is simulated: nothing here is of a GPU.
build=$("$(dirname "$0")/needs" xpuprof libxpuprof-inject.so tests/targets/levelzero sim/levelzero/libze_loader.so.1) || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A microsecond for each: so what is waited for has always ended, also where the loader is too old to wait.
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so" XPUPROF_SIM_ZE_HZ=1000000000
real=${XPUPROF_LEVELZERO:-$(ldconfig -p 2>/dev/null | sed -n 's|.* => \(/.*\)/libze_loader.so.1$|\1|p' | head -1)}
PYTHONPATH=$(dirname "$0") exec python3 - "$build" "$work/p.xpu" "$real" <<'END2'
import os
import statistics
import subprocess
import sys

from results import note

build, profile, real = sys.argv[1:]
PAIRS = 20
COUNT = "10000"
target = f"{build}/tests/targets/levelzero"


def run(folder, *command, traced=False):
    environment = {**os.environ, "LD_LIBRARY_PATH": folder, **({"ZE_ENABLE_TRACING_LAYER": "1"} if traced else {})}
    return float(subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)


def record(folder, *options):
    return run(folder, f"{build}/xpuprof", "record", "-q", "--gpu-only", "-o", profile, *options, "--", target, "cost", COUNT)


def show(what, values, at_most):
    low, middle, high = statistics.quantiles(values, n=4)
    print(f"{what:60} {middle:6.0f}   ({low:.0f} to {high:.0f})")
    note(what, f"{middle:.0f} ns ({low:.0f} to {high:.0f})", at_most)


def compare(name, folder):
    rows = [(run(folder, target, "cost", COUNT), run(folder, target, "traced", COUNT, traced=True),
             run(folder, target, "timed", COUNT, traced=True), record(folder, "--stack-source", "none"), record(folder))
            for _ in range(PAIRS)]
    show(f"{name}: an append, plain", [row[0] for row in rows], "")
    show(f"{name}: empty callbacks, more than plain", [row[1] - row[0] for row in rows], "")
    show(f"{name}: events of the program's own, more than empty callbacks", [row[2] - row[1] for row in rows], "")
    show(f"{name}: recorded without stacks, more than empty callbacks", [row[3] - row[1] for row in rows], "500 ns")
    show(f"{name}: recorded, more than empty callbacks", [row[4] - row[1] for row in rows], "500 ns")


print("CPU time of the thread that appends, ns")
compare("simulated loader", f"{build}/sim/levelzero")
if os.path.exists(f"{real}/libze_tracing_layer.so.1"):
    compare("real loader", f"{build}/sim/levelzero/driver:{real}")
else:
    print("the real loader: it is not installed (libze1)")
END2

#!/bin/sh
# SPDX-License-Identifier: MIT
# What a hit of a driver's own probe (USDT) costs the program, in CPU time of the thread that launches, by the depth of its stack, and
# what it costs the recorder. The driver is simulated and does nothing but hit its probe; the probe in it is a real one of the
# kernel's. Runs without and with a recorder take turns; the median of their differences and its quartiles are printed. Needs root.
build=$("$(dirname "$0")/needs" xpuprof libxpuprof-inject.so tests/targets/probed_driver sim/xe/node.so) || exit
[ "$(id -u)" = 0 ] || { echo "bench: the kernel's probes need root" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkfifo "$work/pipe"
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so" XPUPROF_SIM_XE="$work/pipe" XPUPROF_SIM_XE_PATIENCE_MS=0 XPUPROF_LIBIGA64= \
	LD_LIBRARY_PATH="$build/tests/targets/probed_driver_library"
PYTHONPATH=$(dirname "$0") exec python3 - "$build" "$work" "$(cd "$(dirname "$0")/.." && pwd)/tests/data/zebin/bmg.zebin" <<'END'
import json
import os
import resource
import statistics
import subprocess
import sys

from results import note

build, work, zebin = sys.argv[1:]
PAIRS, ROUNDS, MANY, HITS = 20, 21, 201, 500
profile = f"{work}/p.xpu"


def cost(depth, rounds=ROUNDS, recorder=()):
    """Of a hit in the thread, of the process, and of all who worked."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run([*recorder, f"{build}/tests/targets/probed_driver", zebin, f"{work}/dumped.elf", "cost", str(depth), str(rounds)],
                          env={**os.environ, "LD_PRELOAD": f"{build}/sim/xe/node.so", "PROBED_PATIENCE_MS": "60000" if recorder else "0"},
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.split("\n")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if (said[0] == "probed") != bool(recorder):
        sys.exit(f"the driver is {said[0]}")
    hit_ns, process_s = map(float, said[1].split())
    return hit_ns, process_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def recorded(depth, rounds=ROUNDS):
    row = cost(depth, rounds, (f"{build}/xpuprof", "record", "-q", "--gpu-only", "--stalls", "-o", profile, "--"))
    report = json.loads(subprocess.run([f"{build}/xpuprof", "report", "--json", profile], stdout=subprocess.PIPE, check=True).stdout)
    if report["works"] != rounds * HITS:
        losses = {name: count for name, count in report["losses"].items() if count}
        sys.exit(f"{report['works']} of {rounds * HITS} launches are in the recording: {losses}")
    return row


def show(what, values):
    low, middle, high = statistics.quantiles(values, n=4)
    print(f"{what:60} {middle:6.0f}   ({low:.0f} to {high:.0f})")
    note(what, f"{middle:.0f} ns ({low:.0f} to {high:.0f})")


print("CPU time, ns")
for depth in (1, 40):
    pairs = [(cost(depth), recorded(depth)) for _ in range(PAIRS)]
    show(f"a hit, {depth} calls below main: the program's thread", [b[0] - a[0] for a, b in pairs])
pairs = [(recorded(1, 1), recorded(1, MANY)) for _ in range(PAIRS)]
show("a hit: the recorder", [((b[2] - b[1]) - (a[2] - a[1])) / ((MANY - 1) * HITS) * 1e9 for a, b in pairs])
END

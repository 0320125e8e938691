#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Go's pprof finds in a profile of ours what the report and the folded stacks of the recording say.

    check_pprof.py PPROF BASE      (BASE.pb.gz, BASE.report, BASE.folded, BASE.waits; prints TAP)

BASE.waits are the folded stacks of `--view off-cpu`, in nanoseconds."""
import json
import re
import subprocess
import sys

PPROF, BASE = sys.argv[1:]
count = 0


def is_(got, expected, name):
    global count
    count += 1
    if got != expected:
        print(f"# got:      {got}\n# expected: {expected}")
    print(f"{'ok' if got == expected else 'not ok'} {count} - {name}")


def pprof(*words):
    return subprocess.run([PPROF, *words, BASE + ".pb.gz"], check=True, text=True, capture_output=True).stdout


def folded(path):
    """Frames and number of each line."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            stack, number = line.rstrip("\n").rsplit(" ", 1)
            yield stack.split(";"), int(number)


def samples(raw):
    """Values, locations and labels of each sample."""
    found = []
    for line in raw[raw.index("\nSamples:\n"):raw.index("\nLocations\n")].splitlines()[3:]:
        values, _, places = line.partition(": ")
        if re.fullmatch(r"[\d ]+", values):
            found.append(([int(v) for v in values.split()], places.split(), {}))
        else:
            found[-1][2].update(re.findall(r"(\w+):\[(.*?)\]", line))
    return found


with open(BASE + ".report", encoding="utf-8") as file:
    report = json.load(file)
raw = pprof("-raw")
found = samples(raw)
sums = [sum(values[kind] for values, _, _ in found) for kind in range(4)]
types = re.search(r"\nSamples:\n(.*)\n", raw).group(1).replace("[dflt]", "")
is_(types, "cpu/nanoseconds off-cpu/nanoseconds gpu/nanoseconds stalls/count", "the types of samples have their names")
is_(sums[0], report["cpu_ns"], "CPU time is that of the report")
is_(sums[1], sum(number for _, number in folded(BASE + ".waits")), "time off the CPU is that of the view")
is_(sums[2], report["gpu_ns"], "GPU time is that of the report")
is_(sums[3], report.get("stalls", {}).get("samples", 0), "and so are the samples of instructions")
top = pprof("-top", "-sample_index=gpu", "-unit=nanoseconds", "-nodefraction=0", "-nodecount=100000")
flat = {match[2]: int(match[1]) for match in re.finditer(r"\n *(\d+)ns? +\S+ +\S+ +\S+ +\S+ +(.*)", top)}
is_([flat.get(kernel["name"], 0) for kernel in report["kernels"]], [kernel["total_ns"] for kernel in report["kernels"]],
    "each kernel has its time")
threads = {}
for values, _, labels in found:
    label = labels.get("thread", "").replace(" (profiler)", "")
    threads[label] = threads.get(label, 0) + values[0]
expected = {}
for thread in report["threads"]:
    label = f"{thread['name']} {thread['tid']}"
    expected[label] = expected.get(label, 0) + thread["cpu_ns"]
is_({label: ns for label, ns in threads.items() if ns}, {label: ns for label, ns in expected.items() if ns},
    "each thread has its CPU time, by its label")
devices = {}
for values, _, labels in found:
    if values[2]:
        devices[labels["device"]] = devices.get(labels["device"], 0) + values[2]
is_(devices, {f"GPU {d['number']}": d["work_ns"] for d in report["devices"] if d["work_ns"]}, "and each device its GPU time")
is_(len([labels for values, _, labels in found if values[2] and "stream" not in labels]), 0, "GPU work has its stream")
is_(len([labels for values, _, labels in found if (values[1] or values[3]) and "reason" not in labels]), 0,
    "what waited has the reason")
print(f"1..{count}")

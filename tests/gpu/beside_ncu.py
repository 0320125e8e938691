#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shares of stall reasons beside the hardware counters that Nsight Compute reads.

    tests/gpu/beside_ncu.py [--keep FOLDER]

The kernels of stall_kernels.cu keep their number of warps steady. There a sample of one warp each period and counters that
add up all warps must agree (docs/stalls.md): no share of a reason may differ by more than 3 points. Clocks and caches are left alone.
A loop in step with the period is sampled at the same few instructions as long as one launch lasts, so there are several.
Prints TAP. Needs ncu ($CUDA_HOME/bin, the toolkit's usual place or PATH) and what stalls.py needs.
"""
import csv
import json
import os
import re
import shutil
import sys

import gpu_tap
from gpu_tap import XPUPROF, note, result, run

SOURCE = os.path.join(gpu_tap.HERE, "stall_kernels.cu")
COUNTER = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active")
POINTS = 3
# What a counter is called where a sample's reason has another name.
NAMES = {"no_instruction": "no_instructions"}


def find_ncu():
    for folder in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"):
        if folder and os.access(os.path.join(folder, "bin/ncu"), os.X_OK):
            return os.path.join(folder, "bin/ncu")
    return shutil.which("ncu")


def counted_shares(ncu, program):
    """{kernel: {reason: percent}} by counters. Each kernel runs several times for them, with its memory restored."""
    made = run(ncu, "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw", "--metrics",
               "regex:" + COUNTER.pattern, program, "--ms", "20")
    rows = list(csv.DictReader(line for line in made.stdout.splitlines() if line.startswith('"')))
    shares = {}
    for row in rows[1:]:  # the first has the units
        found = {}
        for column, value in row.items():
            reason = COUNTER.match(column)
            if reason and "not_issued" not in column and value not in ("", "nan"):
                found[NAMES.get(reason.group(1), reason.group(1))] = float(value.replace(",", ""))
        whole = sum(found.values())
        shares[row["Kernel Name"].split("(")[0]] = {k: 100 * v / whole for k, v in found.items()} if whole else {}
    return shares, made


def sampled_shares(program, folder):
    profile = os.path.join(folder, "beside.xpu")
    recorded = run(XPUPROF, "record", "-q", "--stalls", "-o", profile, "--", program, "--ms", "12.5",
                   "--launches", "16")
    result(recorded.returncode == 0, "the program ends as alone", recorded.stderr)
    kernels = json.loads(run(XPUPROF, "report", "--stalls", "--json", "--top", "100", profile).stdout)["stalls"]["kernels"]
    return {k["name"].split("(")[0]: {r["reason"]: 100 * r["samples"] / k["samples"] for r in k["reasons"]}
            for k in kernels if k["samples"]}


def check_all(program, folder):
    ncu = find_ncu()
    if not ncu:
        gpu_tap.skip("shares beside Nsight Compute's counters", "no ncu")
        return
    counted, made = counted_shares(ncu, program)
    sampled = sampled_shares(program, folder)
    names = [line.split()[0] for line in run(program, "--list").stdout.splitlines()]
    result(len(names) >= 12 and all(counted.get(name) for name in names), "counters of all kernels", made.stderr[-2000:])
    for name in names:
        ours, theirs = sampled.get(name, {}), counted.get(name, {})
        apart = {reason: abs(ours.get(reason, 0) - theirs.get(reason, 0)) for reason in {*ours, *theirs}}
        worst = max(apart, key=apart.get, default=None)
        result(worst and ours and theirs and apart[worst] <= POINTS, f"{name}: samples and counters are at most {POINTS} points apart",
               worst and f"{worst}: {ours.get(worst, 0):.1f} % of samples, {theirs.get(worst, 0):.1f} % by counters")
    note(f"ncu: {ncu}")


sys.exit(gpu_tap.main(check_all, SOURCE, "-lineinfo"))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `xpuprof report` names in its first lines why PyTorch programs leave a GPU idle that are slow for one known
reason each (torch_causes.py). Needs PyTorch, a GPU, and the rights for BPF.

usage: causes.py [REASON...]
"""
import os
import re
import sys

import gpu_tap
from gpu_tap import PYTHON, XPUPROF, folder, note, result, run

HERE = os.path.dirname(os.path.abspath(__file__))
# reason: (what the process is called, the first cause of idleness, where); None: not looked at
EXPECTED = {
    "data": ("input-bound", "data loading", "__getitem__"),
    "workers": ("input-bound", "data loading", None),
    "item": (None, "synchronization", "read_the_loss"),
    "tiny": ("launch-bound", "launch rate", "launch_tiny"),
    "tiny-item": ("bound by synchronization", "synchronization", "launch_tiny"),
    "compute": ("compute-bound", None, None),
}


def section(text):
    """The lines of the report about idle GPUs."""
    lines = text.split("\n")
    begin = next((n for n, line in enumerate(lines) if line.startswith("Why GPUs were idle")), len(lines))
    end = next((n for n in range(begin, len(lines)) if not lines[n]), len(lines))
    return lines[begin + 1:end]


def check(reason, profile):
    bound, cause, where = EXPECTED[reason]
    recorded = run(XPUPROF, "record", "--off-cpu", "-o", profile, "--", PYTHON, os.path.join(HERE, "torch_causes.py"), reason)
    told = run(XPUPROF, "report", profile)
    lines = section(told.stdout)
    note("\n".join(lines[:12]))
    if recorded.returncode or told.returncode or not lines:
        result(False, f"{reason}: recorded and reported", recorded.stderr, told.stderr)
        return
    if bound:
        result(f"is mostly {bound}" in lines[0], f"{reason}: the process is {bound}", lines[0])
    rows = [line for line in lines if re.match(r" +[\d.]+ [mun]?s +[\d.]+ % +[\d,]+  ", line)]
    if cause:
        result(bool(rows) and cause in rows[0] and (not where or where in rows[0]),
               f"{reason}: the first cause of idleness is {cause}" + (f" at {where}" if where else ""), *rows[:3])


def main():
    with folder() as path:
        for reason in sys.argv[1:] or EXPECTED:
            check(reason, os.path.join(path, "causes.xpu"))
    return gpu_tap.end()


sys.exit(main())

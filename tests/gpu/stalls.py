#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instruction sampling on a real NVIDIA GPU: does it say why the kernels of stall_kernels.cu wait, and where?

    tests/gpu/stalls.py [--keep FOLDER]

Each kernel stalls for one known reason, at a line that is marked STALL. With `xpuprof record --stalls` that reason and
that line must lead, and the number of samples must be what the time, the clock and the period make it. Prints TAP.
Needs nvcc ($CUDA_HOME/bin, the toolkit's usual place or PATH), $XPUPROF_BUILD as tests/gpu/run does.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import gpu_tap  # noqa: E402
import stall_streams as streams  # noqa: E402
from gpu_tap import XPUPROF, note, result, run  # noqa: E402

SOURCE = os.path.join(HERE, "stall_kernels.cu")
MS = 100


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "none"


def check_kernel(name, expected, kernel, lines, device):
    reasons = sorted(kernel["reasons"], key=lambda r: -r["samples"])
    told = ", ".join(f"{r['reason']} {share(r['samples'], kernel['samples'])}" for r in reasons[:4])
    result(reasons and reasons[0]["reason"] == expected, f"{name} waits for {expected}", told)
    top = max(kernel["lines"], key=lambda l: sum(r["samples"] for r in l["reasons"] if r["reason"] == expected))
    result(streams.is_at(top, os.path.basename(SOURCE), lines), f"{name} waits at the line that is marked",
           f"{top['file']}:{top['line']}, marked {sorted(lines)}")
    due = device["multiprocessors"] * kernel["total_ns"] * 1e-6 * device["khz"] / device["period"]
    result(abs(kernel["samples"] / due - 1) < 0.05, f"{name} has the samples its time makes, within 5 %",
           f"{kernel['samples']} of {due:.0f}: {kernel['samples'] / due:.4f}")


def check_all(program, folder):
    profile = os.path.join(folder, "stalls.xpu")
    recorded = run(XPUPROF, "record", "--stalls", "-o", profile, "--", program, "--ms", str(MS))
    note(recorded.stderr)
    result(recorded.returncode == 0, "the program ends as alone", recorded.returncode)
    report = json.loads(run(XPUPROF, "report", "--stalls", "--json", "--top", "100", profile).stdout)
    stalls, lines = report["stalls"], streams.marked_lines(SOURCE)
    note(json.dumps({k: v for k, v in stalls.items() if not isinstance(v, list)}))
    result(stalls["dropped"] == 0, "no sample was dropped", stalls["dropped"])
    result(stalls["period_cycles_min"] == stalls["period_cycles_max"], "one period for all",
           stalls["period_cycles_max"])
    for line in recorded.stdout.splitlines():
        name, expected, multiprocessors, khz = line.split()
        device = {"multiprocessors": int(multiprocessors), "khz": int(khz), "period": stalls["period_cycles_max"]}
        kernel = [k for k in stalls["kernels"] if k["name"].startswith(name + "(")]
        if not kernel:
            result(False, f"{name} was sampled")
            continue
        check_kernel(name, expected, kernel[0], lines[name], device)
    check_short_period(program, folder)


def check_short_period(program, folder):
    """Three kernels one after the other at periods that CUPTI can hardly follow: all samples that are due come, or the
    recording says that they did not, and why."""
    profile = os.path.join(folder, "short.xpu")
    names = ("stall_mio_throttle", "stall_wait", "stall_not_selected")
    for period in (8192, 4096, 2048):
        recorded = run(XPUPROF, "record", f"--stalls={period}", "-o", profile, "--", program, "--ms", "230", *names)
        note(recorded.stderr)
        stalls = json.loads(run(XPUPROF, "report", "--stalls", "--json", "--top", "100", profile).stdout)["stalls"]
        refused = stalls["refused"] or ""
        shares = [k["samples"] / k["due"] for k in stalls["kernels"] if k["due"] and k["name"].startswith(names)]
        whole = len(shares) == len(names) and min(shares) > 0.9
        result(whole or "faster than CUPTI hands them over" in refused and "--stalls=" in refused,
               f"a sample every {period} cycles: all that are due come, or it is said", *(f"{s:.4f}" for s in shares), refused)
        if period == 8192:
            result(whole, "at 8192 cycles all three kernels have theirs", stalls["taken"], stalls["due"])


sys.exit(gpu_tap.main(check_all, SOURCE, "-lineinfo"))

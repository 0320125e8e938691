#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How late kernels begin after they were asked for: what `launchlate` finds, beside CUPTI's own times in the queue.

    tests/gpu/launchlate.py                 in a built tree, on a machine with an NVIDIA GPU

CUPTI serves one tool, so the same program (bench/gpu/probed_times.c) runs once with queue_times.c and once under `xpuprof record --probe
launchlate`: matrix products are launched back to back, each later in its queue than the one before. The means have to
agree within 5 % and 20 us: CUPTI counts from where the driver puts a launch into its queue, launchlate from where the program makes the call.
"""
import json
import os
import re
import statistics
import subprocess
import sys

from gpu_tap import BUILD, HERE, XPUPROF, end, folder, note, result

PROGRAM = os.path.join(BUILD, "bench", "probed_times")
PTX = os.path.join(HERE, "..", "..", "bench", "gpu", "probed_kernels.ptx")


def queued_ns(command):
    tool = {"CUDA_INJECTION64_PATH": os.path.join(BUILD, "tests", "gpu", "libqueue_times.so")}
    said = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True, env={**os.environ, **tool}).stderr
    return [int(ns) for ns in re.findall(r"^queued matrix (\d+)$", said, re.M)], said


def late(command, path):
    done = subprocess.run([XPUPROF, "record", "--gpu-only", "--probe", "launchlate", "-o", path, "--", *command], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    report = json.loads(subprocess.run([XPUPROF, "report", "--probes", "--json", path], stdout=subprocess.PIPE, check=True).stdout)
    return next((k for k in report["probes"]["first_blocks"]["kernels"] if k["name"] == "matrix"), None), done.stderr


def check(launches, path):
    command = [PROGRAM, PTX, "matrix", "1024", str(launches)]
    cupti, said = queued_ns(command)
    found, err = late(command, path)
    ran = launches + launches // 10 + 1
    result(len(cupti) == ran and found and found["count"] == ran, f"{ran} launches are in both", len(cupti), found, said[-300:], err)
    if not cupti or not found:
        return
    mean, ours = statistics.fmean(cupti), found["mean_ns"]
    note(f"us from the queue, CUPTI: {min(cupti) / 1000:.1f} to {max(cupti) / 1000:.1f}, mean {mean / 1000:.1f}; from the call, "
         f"launchlate: {found['min_ns'] / 1000:.1f} to {found['max_ns'] / 1000:.1f}, mean {ours / 1000:.1f}")
    result(abs(ours - mean) < 0.05 * mean + 20000, f"and begin as late, of {launches} in the queue")


def main():
    with folder() as work:
        for launches in (20, 300):
            check(launches, os.path.join(work, "p.xpu"))
    return end()


sys.exit(main())

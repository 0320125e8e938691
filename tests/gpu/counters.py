#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hardware counters on a real NVIDIA GPU: do they say what the kernels of counter_kernels.cu are known to do?

    tests/gpu/counters.py [--keep FOLDER]

Bytes of the GPU's memory must be within 10 % of what a copy reads and writes, occupancy, caches and pipes as each kernel
makes them; a matrix product of cuBLAS (with PyTorch) must keep the tensor pipes active; an idle GPU must say 0. Prints
TAP. Needs nvcc ($CUDA_HOME/bin, the toolkit's usual place or PATH), $XPUPROF_BUILD and $PYTHON as tests/gpu/run does.
"""
import json
import os
import sys

import gpu_tap
from gpu_tap import PYTHON, XPUPROF, note, result, run

SOURCE = os.path.join(gpu_tap.HERE, "counter_kernels.cu")
GEMM = """
import torch
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
for _ in range(300):
    c = a @ b
torch.cuda.synchronize()
"""

# Of each kernel: a counter, and the least and the most that it may say. Some GPUs have no L2 hit rate.
EXPECTED = {
    "copy_rows": [("sm_active", 90, 100), ("tensor_active", 0, 0.1), ("l1_hit_rate", 0, 5), ("l2_hit_rate", 40, 60)],
    "full_occupancy": [("occupancy", 95, 101), ("sm_active", 90, 100), ("dram_read", 0, 1e9)],
    "quarter_occupancy": [("occupancy", 23, 27), ("sm_active", 90, 100)],
    "read_l2": [("l2_hit_rate", 90, 100), ("dram_read", 0, 1e11)],
    "read_l1": [("l1_hit_rate", 90, 100)],
    "fma_only": [("fma", 80, 101), ("fp64", 0, 0.1), ("tensor_active", 0, 0.1)],
    "fp64_only": [("fp64", 80, 101)],
    "tensor_only": [("tensor_active", 20, 101)],
}


def record(profile, *command):
    recorded = run(XPUPROF, "record", "--counters", "-o", profile, "--", *command)
    note(recorded.stderr)
    result(recorded.returncode == 0, "the program ends as alone", recorded.returncode)
    counters = json.loads(run(XPUPROF, "report", "--counters", "--json", profile).stdout)["counters"]
    result(not counters["refused"] and not counters["dropped"], "no sample was refused or lost",
           counters["refused"], counters["dropped"])
    note(", ".join(f"{c['key']}={c['name']}" for c in counters["counters"]))
    return recorded.stdout, counters


def find(counters, name):
    return next((k for k in counters["kernels"] if k["name"].split("(")[0] == name), None)


def check_bytes(name, kernel, launches, read, written):
    for key, expected in (("dram_read", read), ("dram_write", written)):
        rate = kernel["average"].get(key, 0)
        due = launches * expected / kernel["total_ns"] * 1e9
        result(abs(rate / due - 1) < 0.1, f"{name}: {key} is what it moves in its time, within 10 %",
               f"{rate / 1e12:.3f} of {due / 1e12:.3f} TB/s")


def check_kernel(name, kernel):
    note(name + ": " + ", ".join(f"{k} {v:.5g}" for k, v in kernel["average"].items()))
    result(kernel["alone_ns"] > 0.7 * kernel["total_ns"], f"{name} ran alone",
           f"{kernel['alone_ns'] / kernel['total_ns']:.3f} in {kernel['samples']} samples")
    for key, least, most in EXPECTED[name]:
        value = kernel["average"].get(key)
        if value is None and key == "l2_hit_rate":
            note(f"{name}: no {key}")
            continue
        result(value is not None and least <= value <= most, f"{name}: {key} is from {least:g} to {most:g}", value)


def check_idle(device):
    """What there is outside of work is what all samples have and those with work have not."""
    idle_ns = device["sampled_ns"] - device["busy_ns"]
    for key in ("sm_active", "dram_read"):
        idle = (device["average"][key] * device["sampled_ns"] -
                device["average_with_work"][key] * device["busy_ns"]) / idle_ns
        result(idle < (0.5 if key == "sm_active" else 2e9), f"{key} of an idle GPU is next to nothing",
               f"{idle:.4g} in {idle_ns / 1e9:.3f} s")


def check_kernels(folder, program):
    stdout, counters = record(os.path.join(folder, "counters.xpu"), program)
    for line in stdout.splitlines():
        name, launches, read, written = line.split()
        kernel = find(counters, name)
        if not kernel:
            result(False, f"{name} was recorded")
            continue
        check_kernel(name, kernel)
        if int(read):
            check_bytes(name, kernel, int(launches), int(read), int(written))
    check_idle(counters["devices"][0])


def check_gemm(folder):
    if run(PYTHON, "-c", "import torch; torch.cuda.init()").returncode:
        note("no PyTorch: no matrix product of cuBLAS")
        return
    _, counters = record(os.path.join(folder, "gemm.xpu"), PYTHON, "-c", GEMM)
    kernel = counters["kernels"][0]
    note(kernel["name"][:90] + ": " + ", ".join(f"{k} {v:.5g}" for k, v in kernel["average"].items()))
    result(kernel["average"].get("tensor_active", 0) > 50, "a matrix product keeps the tensor pipes active",
           kernel["average"].get("tensor_active"))


def check_all(program, folder):
    check_kernels(folder, program)
    check_gemm(folder)


sys.exit(gpu_tap.main(check_all, SOURCE))

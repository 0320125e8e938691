#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ranges of torch.cuda.nvtx: each is there, and what ran in them is what the program did in them.

    tests/gpu/nvtx.py                  in a built tree, with an NVIDIA GPU and PyTorch ($PYTHON)
"""
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "build")))
XPUPROF = os.path.join(BUILD, "xpuprof")
STEPS, INSIDE, OUTSIDE = 10, 5, 3
failed = 0


def program():
    import torch

    a = torch.rand(1 << 20, device="cuda")
    torch.cuda.synchronize()
    for _ in range(STEPS):
        torch.cuda.nvtx.range_push("step")
        torch.cuda.nvtx.range_push("inner")
        for _ in range(INSIDE):
            torch.sqrt(a)
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
        torch.cuda.nvtx.range_pop()
        for _ in range(OUTSIDE):
            torch.sqrt(a)
        torch.cuda.synchronize()
        handle = torch.cuda.nvtx.range_start("handled")
        torch.sqrt(a)
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_end(handle)


def result(ok, name, *notes):
    global failed
    failed += not ok
    print(f"{'ok' if ok else 'NOT OK'}: {name}", *([] if ok else notes), flush=True)


def square_roots(profile, *options):
    report = json.loads(subprocess.run([XPUPROF, "report", "--json", *options, profile], stdout=subprocess.PIPE, check=True, text=True).stdout)
    return sum(k["count"] for k in report["kernels"] if "sqrt" in k["name"])


def main():
    if sys.argv[1:] == ["program"]:
        return program()
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "p.xpu")
        done = subprocess.run([XPUPROF, "record", "--nvtx", "-o", profile, "--", os.environ.get("PYTHON", "python3"), __file__, "program"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        result(not done.returncode, "PyTorch is recorded with its ranges", done.stderr)
        result(square_roots(profile) == STEPS * (INSIDE + OUTSIDE + 1), "all kernels", square_roots(profile))
        for name, each in (("step", INSIDE), ("inner", INSIDE), ("handled", 1)):
            got = square_roots(profile, "--marker", name)
            result(got == STEPS * each, f"those in ranges '{name}'", got, STEPS * each)
            got = square_roots(profile, "--marker", f"{name}#3")
            result(got == each, f"those of the third range '{name}'", got, each)
        print(done.stderr.strip())
    print(f"{failed} failed" if failed else "all good")
    return failed != 0


sys.exit(main())

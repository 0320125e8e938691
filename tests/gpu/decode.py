#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether stacks are whole in a program that people run: transformers generates tokens with a Llama, all imports included
(bench/gpu/decode_worker.py). Of 20,000 samples 99.9 % are to be whole, 0.5 % at most may lack frames of Python, and 0.1 % of
the frames of Python names; every launch has its stack, with Python's frames. Needs PyTorch, transformers, and the rights for BPF.

usage: decode.py [SAMPLES]
"""
import json
import os
import re
import subprocess
import sys

import gpu_tap
from gpu_tap import HERE, PYTHON, XPUPROF, folder, note, result, run, skip

WORKER = os.path.join(HERE, "../../bench/gpu/decode_worker.py")
REASONS = ("python_incomplete", "python_unplaced")


def record(path):
    """The report of one recording, and how many samples run Python code without a frame of it, as far as symbols show that."""
    done = subprocess.run([XPUPROF, "record", "-q", "-F", "999", "-o", path, "--", PYTHON, WORKER, "--free"], input="decode 48\n" * 2,
                          capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr
    report = json.loads(run(XPUPROF, "report", "--json", path).stdout)
    events = run(XPUPROF, "export", "--to", "extended-folded", "--view", "cpu", "--native-python", "-o", "-", path).stdout
    stacks = [line.split(" ", 5)[-1].split(";") for line in events.splitlines()]
    lacking = sum("_PyEval_EvalFrameDefault" in stack and not any(re.search(r"\(.*\)$", frame) for frame in stack)
                  for stack in stacks)
    return report, lacking


def check(wanted, path):
    samples = incomplete = lacking = launches = with_stack = python_frames = 0
    losses, reasons = {}, {}
    while samples < wanted:
        report, more = record(path)
        if not report:
            result(False, "it is recorded", more)
            return
        stacks = report["stacks"]
        samples += stacks["samples"]
        incomplete += stacks["samples_incomplete"]
        python_frames += stacks["samples_python"]
        lacking += more
        launches += stacks["launches"]
        with_stack += stacks["launches_python"] - stacks["launches_incomplete"]
        for reason in stacks["samples_reasons"]:
            reasons[reason["reason"]] = reasons.get(reason["reason"], 0) + reason["count"]
        for key, count in report["losses"].items():
            losses[key] = losses.get(key, 0) + count
    note(f"{samples} samples, {python_frames} of them with Python's frames, {incomplete} incomplete {reasons}, {launches} launches")
    note({key: count for key, count in losses.items() if count})
    result(incomplete <= samples / 1000, f"{samples - incomplete} of {samples} samples are whole")
    few = lacking + sum(losses[reason] for reason in REASONS)
    result(few <= samples / 200, f"{few} lack frames of Python: {lacking} all of them")
    result(losses["python_unnamed"] <= samples / 1000, f"{losses['python_unnamed']} frames of Python have no name")
    result(launches == with_stack, f"{with_stack} of {launches} launches have whole stacks with Python's frames")


def main():
    if run(PYTHON, "-c", "import torch, transformers; assert torch.cuda.is_available()").returncode:
        skip("transformers", "there is no transformers, or no GPU for PyTorch")
        return gpu_tap.end()
    with folder() as work:
        check(int(sys.argv[1]) if len(sys.argv) > 1 else 20000, os.path.join(work, "p.xpu"))
    return gpu_tap.end()


sys.exit(main())

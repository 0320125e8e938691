#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many launches of a profile have a whole stack: complete from main or the thread's start, and with Python frames.

usage: check_stacks.py PROFILE.xpu [FUNCTION,...]

Counts every piece of GPU work by the stack of its launch. With functions, work launched from the main program's
threads must come from below one of those Python functions; threads without any Python (PyTorch's backward pass) are counted
apart. Fails below 99.5 %. The program is $XPUPROF, or xpuprof in $XPUPROF_BUILD or in build/.
"""
import collections
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "..", "..", "build"))
XPUPROF = os.environ.get("XPUPROF", os.path.join(BUILD, "xpuprof"))
ENOUGH = 0.995
NATIVE_THREADS = re.compile(r"autograd::Engine|thread_init|torch::autograd")


def launches(profile):
    """(process name, frames down to the GPU work) of every piece of work with its launch stack."""
    lines = subprocess.run([XPUPROF, "export", "--to", "extended-folded", profile],
                           stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    for line in lines:
        fields = line.split(" ", 5)
        frames = fields[5].split(";")
        at = next((i for i, f in enumerate(frames) if f.startswith("[GPU")), None)
        if at is not None:
            yield frames[:at]


def share(part, whole):
    return part / whole if whole else 0.0


def main():
    profile, functions = sys.argv[1], sys.argv[2].split(",") if len(sys.argv) > 2 else []
    count = collections.Counter()
    examples = collections.Counter()
    for frames in launches(profile):
        count["launches"] += 1
        if frames and frames[0].startswith("[incomplete stack"):
            examples[("incomplete", ";".join(frames[:4]))] += 1
        else:
            count["complete"] += 1
        if any(".py:" in f or ".py)" in f for f in frames):
            count["python"] += 1
            if functions and not any(f.split(" ")[0] in functions for f in frames):
                examples[("elsewhere", ";".join(frames[:6]))] += 1
            else:
                count["under"] += 1
        elif any(NATIVE_THREADS.search(f) for f in frames):
            count["native thread"] += 1
        else:
            examples[("no Python", ";".join(frames[:4]))] += 1
    of_python = count["launches"] - count["native thread"]
    complete, python = share(count["complete"], count["launches"]), share(count["python"], of_python)
    print(f"{count['launches']} launches: {100 * complete:.2f} % complete; {count['native thread']} from threads "
          f"without Python, of the others {100 * python:.2f} % with Python frames"
          + (f", {100 * share(count['under'], of_python):.2f} % below {' or '.join(functions)}" if functions else ""))
    for (what, path), n in examples.most_common(5):
        print(f"  {n} {what}: {path[:300]}")
    good = complete >= ENOUGH and python >= ENOUGH
    if functions:
        good = good and share(count["under"], of_python) >= ENOUGH
    sys.exit(0 if good else 1)


main()

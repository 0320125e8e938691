#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that speak to `xpuprof probe` as the preloaded library does (probe.py): it ends with them, in time and memory."""
import os
import re
import resource
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import tap

# "endless" makes it keep 20,000 names of 3 KiB; sanitizers keep what was freed.
MIB_MAX = 1000 if os.path.basename(tap.BUILD) == "san" else 400


def check():
    for tool in ("blocks", "coalesce", "threadhist"):
        for what in ("garbage", "endless", "renames", "arenas", "scribble", "silent", "compiler"):
            if tool != "blocks" and what != "scribble":
                continue
            begun = time.monotonic()
            done = subprocess.run([tap.PROGRAM, "probe", tool, "--", sys.executable, os.path.join(HERE, "probe.py"), what], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120)
            took = time.monotonic() - begun
            clean = not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.stdout + done.stderr)
            lied = done.returncode in (0, 1)  # a program whose connection was closed may fail
            tap.result(lied and took < 60 and clean and f"{tool}: " in done.stdout, f"{what}, {tool}: it ends with the program, and prints",
                       done.returncode, took, done.stdout[-500:], done.stderr[-1500:])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    tap.result(peak < MIB_MAX, f"at most {MIB_MAX} MiB of memory", peak)


def why_not():
    listed = subprocess.run([tap.PROGRAM, "probe", "--list"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return "" if not listed.returncode else "this build has no tools"


tap.main(check, why_not)

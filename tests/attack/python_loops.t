#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python programs whose frames, names, line tables and threads have no end (python_loops.py)."""
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack

LINES = ("lines", "pairs")
OTHERS = ("many", "frames", "circle", "long", "negative", "types", "threads")


def stacks(profile):
    return attack.run(None, attack.XPUPROF, "export", "--to", "folded", profile)[0]


def check_kinds(quiet, name, kinds, function):
    target = attack.start(attack.STRANGER, *attack.python("python_loops"), *kinds, stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    with attack.Recorder("--cpu-only", "-F", "499", "-p", target.pid) as r:
        time.sleep(1)
    attack.end(target)
    attack.check_lived(r, name, quiet)
    attack.note(r.losses())
    found = stacks(r.profile)
    attack.result(f"{function} (python_loops.py)" in found, f"{name}: others have their names", r.losses(), found)


def check():
    quiet = attack.quiet("--cpu-only")
    if sys.argv[1:]:
        check_kinds(quiet, " ".join(sys.argv[1:]), sys.argv[1:], "genuine")
        return
    check_kinds(quiet, "line tables", LINES, "deep")
    check_kinds(quiet, "frames, names, threads", OTHERS, "genuine")


attack.main(check)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program with more of something than anybody has (crowd.c)."""
import platform
import sys
import time

sys.dont_write_bytecode = True
import attack

KINDS = ["files", "mappings", "forks", "changes", "names", "threads", "processes", "images"]
if platform.machine() == "x86_64":
    KINDS.append("stacks") # made of machine code
SECONDS = {"forks": 2.5} # until all are there


def check():
    quiet = attack.quiet("--cpu-only")
    for kind in sys.argv[1:] or KINDS:
        target = attack.start(attack.STRANGER, attack.program("crowd"), kind, cwd=attack.folder(attack.STRANGER))
        with attack.Recorder("--cpu-only", "-p", target.pid) as r:
            time.sleep(SECONDS.get(kind, 0.5))
        attack.end(target)
        attack.check_lived(r, f"endless {kind}", quiet)


attack.main(check)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that have been replaced when their code is named: by a pipe, by a device (replaced_program.c)."""
import sys

sys.dont_write_bytecode = True
import attack


def check():
    quiet = attack.quiet("--cpu-only")
    for what in "pipe", "/dev/tty":
        with attack.Recorder("--cpu-only", "-F", 9973, command=[attack.program("replaced_program"), what],
                             user=attack.STRANGER, cwd=attack.folder(attack.STRANGER)) as r:
            r.wait()
        attack.check_lived(r, f"programs replaced by {what}", quiet)
        attack.note(r.losses())
        attack.note(r.said)


attack.main(check)

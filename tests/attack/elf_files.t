#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of a stranger's that claim terabytes (elf_files.py), mapped by the program that is recorded."""
import os
import platform
import sys
import time

sys.dont_write_bytecode = True
import attack

KINDS = ("notes", "sections", "segments", "symbols", "frames", "link")


def check_kind(quiet, kind):
    own = attack.folder(attack.STRANGER)
    target = attack.start(attack.STRANGER, *attack.python("elf_files"), kind, own)
    attack.wait_until(lambda: os.path.join(own, "bomb") in attack.read(f"/proc/{target.pid}/maps"))
    with attack.Recorder("--cpu-only", "-p", target.pid) as r:
        time.sleep(0.3)
    attack.end(target)
    attack.check_lived(r, f"an ELF file: {kind}", quiet)
    attack.note(f"{kind}: {(r.peak - quiet.peak) / attack.MIB:.0f} MiB above {quiet.peak / attack.MIB:.0f}, "
                f"ended in {r.stopped_in_s}, longest stop {r.longest_stop_s}")


def check():
    quiet = attack.quiet("--cpu-only")
    for kind in KINDS:
        check_kind(quiet, kind)


if platform.machine() != "x86_64":
    print("1..0 # SKIP the code it makes is for x86-64")
else:
    attack.main(check)

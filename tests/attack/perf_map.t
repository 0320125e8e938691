#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Perf maps of a stranger's that are no file, somebody else's file, or without end (perf_map.c)."""
import os
import platform
import sys
import time

sys.dont_write_bytecode = True
import attack

SECRET = "secret_of_root"


def check_map(quiet, kind, *arguments):
    target = attack.start(attack.STRANGER, attack.program("perf_map"), kind, *arguments)
    attack.wait_until(lambda: os.path.lexists(f"/tmp/perf-{target.pid}.map"))
    with attack.Recorder("--cpu-only", "-p", target.pid) as r:
        time.sleep(0.7)
    attack.end(target)
    attack.check_lived(r, f"a perf map: {kind}", quiet)
    return r


def check():
    quiet = attack.quiet("--cpu-only")
    for kind in ("huge", "growing", "overlapping", "pipe"):
        check_map(quiet, kind)
    lines = "".join(f"{page << 12:x} 1000 {SECRET}\n" for page in range(0x7f0000000, 0x7f0000100))
    secret = attack.write("/tmp/root_only", (f"0 7fffffffffff {SECRET}\n" + lines).encode(), mode=0o600)
    with attack.Untouched(secret):
        r = check_map(quiet, "link", secret)
    with open(r.profile, "rb") as profile:
        attack.result(SECRET.encode() not in profile.read(), "nothing of root's file is in the profile")


if platform.machine() != "x86_64":
    print("1..0 # SKIP the code it makes is for x86-64")
else:
    attack.main(check)

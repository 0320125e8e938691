#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jitdumps of a stranger's that are without end, somebody else's, or no longer what was mapped (jitdump.c)."""
import os
import platform
import struct
import sys
import time

sys.dont_write_bytecode = True
import attack

SECRET = "secret_of_root"
FALSE = "false_name"
END_MAX_S = 5


def dump_with(name):
    """A jitdump that calls all code so."""
    load = struct.pack("<IIQQQQ", 1, 1, 0, 0, (1 << 47) - 1, 0) + name.encode() + b"\0"
    return struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, 1, 0, 0) + struct.pack("<IIQ", 0, 16 + len(load), 0) + load


def profile_of(r):
    with open(r.profile, "rb") as profile:
        return profile.read()


def check_dumps(quiet, name, kinds, other="/"):
    """The programs are started by the recorder, which so learns of what is mapped when it is. Each runs for a second of its own, however
    busy the machine is; what is limited is the time after that."""
    program, place = attack.program("jitdump"), attack.folder(attack.STRANGER)
    runs = [f"(ulimit -t 1; exec {program} {kind} {other}) & " for kind in kinds]
    with attack.Recorder("--cpu-only", "-F", "2999",
                         command=["sh", "-c", f"cd {place}; {''.join(runs)} wait; date +%s.%N >ended"],
                         user=attack.STRANGER) as r:
        r.wait()
    with open(os.path.join(place, "ended")) as ended:
        took = time.time() - float(ended.read())
    attack.note(f"{name}: {took:.1f} s after the programs")
    attack.check_lived(r, name, quiet)
    attack.result(took < END_MAX_S or attack.SANITIZED, f"{name}: the recording ends soon", f"{took:.1f} s")
    return r


def check():
    quiet = attack.quiet("--cpu-only")
    r = check_dumps(quiet, "jitdumps without end", ("endless", "overlapping", "lines"))
    attack.result(r.losses().get("files_unreadable") == 3, "that not all of them is read is counted", r.losses(), r.said)
    check_dumps(quiet, "jitdumps that change", ("growing", "changing", "pipe"))
    secret = attack.write("/tmp/root_only", dump_with(SECRET), mode=0o600)
    with attack.Untouched(secret):
        r = check_dumps(quiet, "a jitdump that is a link by now", ("link",), secret)
    attack.result(SECRET.encode() not in profile_of(r), "nothing of root's file is in the profile")
    # Whoever leaves a dump where a program is about to write its own must not name that program's code.
    foreign = attack.write("/tmp/jit-1.dump", dump_with(FALSE), owner=attack.OTHER)
    r = check_dumps(quiet, "somebody else's jitdump", ("foreign",), foreign)
    attack.result(FALSE.encode() not in profile_of(r), "somebody else does not name the program's code")
    attack.result(r.losses().get("files_unreadable") == 1, "and that is counted", r.losses(), r.said)


if platform.machine() != "x86_64":
    print("1..0 # SKIP the code it makes is for x86-64")
else:
    attack.main(check)

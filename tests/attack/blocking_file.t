#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A file system that never answers the recorder: neither its loop nor its end may wait for it (blocking_file.c)."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack

END_S = 20 # 5 s for tables, NAMES_OPEN_LOST_NS (sandbox/limits.h) for names; and the machine may be busy


def start_target(how):
    mounted = attack.folder()
    fd = os.open("/dev/fuse", os.O_RDWR)
    attack.mount("fuse", mounted, "fuse", 0, f"fd={fd},rootmode=40000,user_id={attack.STRANGER.uid},"
                 f"group_id={attack.STRANGER.gid},allow_other")
    target = attack.start(attack.STRANGER, attack.program("blocking_file"), how, fd, os.path.join(mounted, "served.so"),
                          pass_fds=[fd], stdout=subprocess.PIPE, text=True)
    os.close(fd)
    target.stdout.readline()
    return target


def check_blocked(quiet, how, before):
    target = start_target(how) if before else None
    with attack.Recorder("--cpu-only", *(["-p", target.pid] if target else []), deadline=30) as r:
        target = target or start_target(how)
        time.sleep(1)
        r.ask_to_end()
        r.process.wait()
        attack.end(target) # who waits in the kernel for its answer, with SIGKILL, ends now
    name = f"who {how}s a file of a program that {'runs' if before else 'starts'} gets no answer"
    attack.check_lived(r, name, quiet)
    attack.result(r.stopped_in_s < END_S, f"{name}: the recording ends in time", f"{r.stopped_in_s:.1f} s")
    attack.note(r.losses())


def check():
    if not os.path.exists("/dev/fuse"):
        attack.skip("files that block", "there is no FUSE")
        return
    quiet = attack.quiet("--cpu-only")
    for how in ("open", "read"):
        for before in (True, False):
            check_blocked(quiet, how, before)


attack.main(check)

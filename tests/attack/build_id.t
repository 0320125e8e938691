#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stranger's copy of a program, with its build id and without its unwind information, is recorded before it."""
import os
import shutil
import sys
import time

sys.dont_write_bytecode = True
import attack

PROGRAM = """
static volatile unsigned long n;
__attribute__((noinline)) static void inner(unsigned long depth) { if (depth) inner(depth - 1); else for (;;) n++; n++; }
int main(void) { inner(20); return 0; }
"""


def record(user, program, environment):
    target = attack.start(user, program)
    time.sleep(0.1)
    with attack.Recorder("--cpu-only", "-p", target.pid, environment=environment) as r:
        time.sleep(0.7)
    attack.end(target)
    return r


def check():
    own, place = attack.folder(), attack.folder(attack.STRANGER)
    source = attack.write(os.path.join(own, "p.c"), PROGRAM.encode())
    genuine, copy = os.path.join(own, "p"), os.path.join(place, "p")
    text, status = attack.run(None, "cc", "-O1", "-fomit-frame-pointer", "-fno-optimize-sibling-calls",
                              "-Wl,--build-id", "-o", genuine, source)
    attack.result(not status, "there is a program", text)
    text, status = attack.run(None, "objcopy", "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", genuine,
                              copy)
    attack.result(not status, "and a copy", text)
    os.chmod(copy, 0o755)
    cache = os.path.join(own, "cache")
    environment = {"XPUPROF_CACHE_DIR": cache}
    poisoned = record(attack.STRANGER, copy, environment)
    attack.result(poisoned.status == 0 and os.listdir(cache), "the copy is recorded, its table is kept", poisoned.said)
    r = record(None, genuine, environment)
    losses = str(r.losses())
    attack.result(r.status == 0 and "no unwind information" not in losses and "walk_no_rule" not in losses,
                  "the program's stacks are whole all the same", losses, r.said)


if not shutil.which("cc") or not shutil.which("objcopy"):
    print("1..0 # SKIP no compiler or binutils")
else:
    attack.main(check)

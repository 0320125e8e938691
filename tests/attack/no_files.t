#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stranger's profile, and debug information, name sources and code that are no files, but pipes: opening them, or a
device, has effects."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack
import debug_loops


def waits_for_reader(pipe):
    """A process that goes on when somebody opens the pipe."""
    return attack.start(attack.STRANGER, "sh", "-c", 'echo opened >"$0"', pipe, stderr=subprocess.DEVNULL)


def check_not_opened(name, pipe, *command):
    os.mkfifo(pipe, 0o600)
    attack.give(pipe, attack.STRANGER)
    waiting = waits_for_reader(pipe)
    attack.wait_until(lambda: attack.read(f"/proc/{waiting.pid}/comm") == "sh\n")
    time.sleep(0.2)
    said, status = attack.run(None, attack.XPUPROF, *command)
    time.sleep(0.2)
    attack.result(status == 0 and waiting.poll() is None, f"{name}: what is no file is not opened", status, said)


def check_sources():
    own = attack.folder(attack.STRANGER)
    helper = os.path.join(attack.OUR_BUILD, "tests", "helpers", "stall_profile")
    attack.run(None, helper, "small", f"{own}/p.xpu", own)
    check_not_opened("annotate", f"{own}/kernel.cu", "annotate", "--all", "matmul", f"{own}/p.xpu")


def check_code():
    own = attack.folder(attack.STRANGER)
    target = attack.start(attack.STRANGER, *attack.python("debug_loops"), own, "plain", "elsewhere", stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    with attack.Recorder("--cpu-only", "-p", target.pid) as r:
        time.sleep(0.5)
    attack.end(target)
    check_not_opened("symbolize, debug information", f"{own}/other", "symbolize", "--inline", "-o", "named.xpu", r.profile)
    os.unlink(f"{own}/plain")
    check_not_opened("symbolize", f"{own}/plain", "symbolize", "--inline", r.profile)


def check():
    check_sources()
    if debug_loops.MACHINE:
        check_code()


attack.main(check)

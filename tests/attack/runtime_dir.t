#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The folder of a recording's socket: put elsewhere by the program, and left behind by recorders that were killed."""
import os
import pwd
import signal
import sys

sys.dont_write_bytecode = True
import attack

COMMON = "/run/xpuprof"
KILLED = 4


def check_replaced():
    """The program's user is one that sudo names, so it has to have an account."""
    user = attack.User(pwd.getpwnam("nobody").pw_uid)
    own = attack.folder()
    precious = attack.write(os.path.join(own, "nvidia.sock"))
    with attack.Untouched(precious, own, name="a link in the place of the folder leads to no file of root's"):
        r = attack.Recorder("--gpu-only", command=attack.python("runtime_dir") + [own],
                            environment={"SUDO_UID": str(user.uid)}, cwd=attack.folder(user), wait=False)
        r.wait()
    attack.result(r.status == 0 and "not replaced" in r.said, "the program cannot replace the folder", r.status, r.said)
    attack.result(not folders(), "nothing is left", *folders())


def folders():
    """Of recordings: /run/xpuprof itself stays."""
    common = os.listdir(COMMON) if os.path.exists(COMMON) else []
    return [path for path in attack.leftovers() if path != COMMON] + [os.path.join(COMMON, name) for name in common]


def check_left_behind():
    for _ in range(KILLED):
        with attack.Recorder("--gpu-only", command=("sleep", "60")) as r:
            os.kill(r.pid, signal.SIGKILL)
    foreign = "/tmp/xpuprof-recording-0123456789abcdef"
    os.mkdir(foreign, 0o700)
    attack.give(foreign, attack.STRANGER)
    with attack.Recorder("--gpu-only", command=("sleep", "60")):
        now = folders()
    attack.result(len(now) == 2 and foreign in now,
                  "what killed recorders left is removed by the next, which has its own, and a stranger's stays", *now)
    attack.result(folders() == [foreign], "and in the end nothing of its own is left", *folders())


def check():
    check_replaced()
    check_left_behind()


attack.main(check)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that connects to its recorder in another's name, takes all places, or passes its connection on."""
import os
import pwd
import sys

sys.dont_write_bytecode = True
import attack


def attacked_by(kind):
    """By a user that sudo names, who has to have an account."""
    user = attack.User(pwd.getpwnam("nobody").pw_uid)
    r = attack.Recorder(command=[attack.program("connections"), kind], environment={"SUDO_UID": str(user.uid)},
                        cwd=attack.folder(user), wait=False)
    r.wait()
    return r


def loses(kind, name, counted=True):
    r = attacked_by(kind)
    attack.result("lost:" in r.said and "won:" not in r.said, name, r.said)
    if counted:
        attack.result(r.losses().get("gpu_strangers"), f"{name}: it is counted", r.said, r.losses())
    return r


def check():
    loses("name", "nobody speaks in another process's name")
    quiet = attack.quiet()
    attack.check_lived(loses("silent", "those who say nothing make room for those who do"), "4,200 silent connections", quiet)
    for kind in ("before", "after"):
        if os.path.exists("/bin/su"):
            loses(kind, f"what a program of root's maps is not for whoever holds its connection ({kind})", counted=False)


attack.main(check)

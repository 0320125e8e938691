#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The socket of injected libraries: messages with descriptors, connections that say nothing, and floods (ring.c)."""
import os
import pwd
import sys
import threading
import time

sys.dont_write_bytecode = True
import attack

DESCRIPTORS_MORE = 100 # beside those of the recorder: connections that have not sent a hello yet


def check_kind(user, quiet, what, name):
    most = []
    r = attack.Recorder(command=[attack.program("ring"), what],
                        environment={"SUDO_UID": str(user.pw_uid), "SUDO_GID": str(user.pw_gid)},
                        output=os.path.join(attack.folder(attack.User(user.pw_uid)), "p.xpu"), wait=False)
    while r.process.poll() is None:
        try:
            most.append(len(os.listdir(f"/proc/{r.pid}/fd")))
        except OSError:
            break
        time.sleep(0.05)
    r.wait()
    attack.check_lived(r, name, quiet)
    attack.note(f"{what}: {r.said.split()[:3]}, {max(most)} descriptors, {r.losses()}")
    attack.result(max(most) < 60 + DESCRIPTORS_MORE, f"{name}: descriptors are closed", max(most), r.said)
    attack.result("connected" in r.said, f"{name}: another program can connect", r.said)


def check():
    user = pwd.getpwnam("nobody")
    quiet = attack.quiet()
    check_kind(user, quiet, "descriptors", "messages of no bytes with descriptors")
    check_kind(user, quiet, "silent", "connections that say nothing")
    check_kind(user, quiet, "flood", "messages without an end")


attack.main(check)

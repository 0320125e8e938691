#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Descriptors that a program passes to its recorder, some of which block who closes them (descriptors.c)."""
import os
import pwd
import sys

sys.dont_write_bytecode = True
import attack


def silent_file(user):
    """In a file system of this user's that does not answer a recorder that closes it, and who serves that."""
    mounted = attack.folder()
    fd = os.open("/dev/fuse", os.O_RDWR)
    attack.mount("fuse", mounted, "fuse", 0, f"fd={fd},rootmode=40000,user_id={user.uid},group_id={user.gid}")
    server = attack.start(user, *attack.python("file_server"), fd, "flush", pass_fds=[fd])
    os.close(fd)
    return os.path.join(mounted, "file"), server


def check_kind(user, quiet, what, name, file="", server=None, counted=True):
    r = attack.Recorder("--stalls", command=[attack.program("descriptors"), what, file],
                        environment={"SUDO_UID": str(user.uid), "SUDO_GID": str(user.gid)},
                        output=os.path.join(attack.folder(user), "p.xpu"), wait=False, deadline=15)
    r.process.wait()
    if server: # who is held up ends then
        attack.end(server)
    r.wait()
    attack.check_lived(r, name, quiet)
    attack.note(f"{what}: {r.said}, {r.losses()}")
    attack.result("connected" in r.said, f"{name}: another program can connect", r.said)
    if counted:
        attack.result(r.losses().get("gpu_descriptors"), f"{name}: it is counted", r.said, r.losses())


def check():
    nobody = pwd.getpwnam("nobody")
    user = attack.User(nobody.pw_uid)
    user.gid = nobody.pw_gid
    quiet = attack.quiet()
    check_kind(user, quiet, "odd", "descriptors of all kinds", counted=False)
    check_kind(user, quiet, "linger", "sockets that take an hour to close")
    if os.path.exists("/dev/fuse"):
        check_kind(user, quiet, "flush", "a file of a file system that never answers", *silent_file(user))


attack.main(check)

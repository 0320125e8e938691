#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that runs is to be joined, and what it has mapped as its C library is a file that claims terabytes (elf_files.py),
or one in a file system that never answers (blocking_file.c)."""
import os
import platform
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack

KINDS = ("sections", "segments", "symbols")
NAME = "libc.so.6"
SOON_S = 15 # the joiner gives up after ten seconds, and the machine may be busy


def gpu():
    """The environment of a program that uses a GPU: it has mapped a driver's library."""
    copy = os.path.join(attack.folder(), "libcuda.so.1")
    shutil.copy(os.path.join(attack.OUR_BUILD, "sim", "libcuda.so.1"), copy)
    os.chmod(copy, 0o755)
    return {**os.environ, "LD_PRELOAD": copy}


def joiners(target):
    """Processes that join it: they outlive the recorder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        line = attack.read(f"/proc/{pid}/cmdline").split("\0")
        if attack.read(f"/proc/{pid}/comm") == "xpuprof-join\n" and str(target.pid) in line:
            found.append(pid)
    return found


def started(user, *command, path, **more):
    target = attack.start(user, *command, env=gpu(), **more)
    if not attack.wait_until(lambda: path in attack.read(f"/proc/{target.pid}/maps")):
        attack.note("it does not map its file")
    return target


def claims(kind):
    own = attack.folder(attack.STRANGER)
    return started(attack.STRANGER, *attack.python("elf_files"), kind, own, NAME, path=os.path.join(own, NAME))


def blocks(how):
    mounted = attack.folder()
    fd = os.open("/dev/fuse", os.O_RDWR)
    attack.mount("fuse", mounted, "fuse", 0, f"fd={fd},rootmode=40000,user_id={attack.STRANGER.uid},"
                 f"group_id={attack.STRANGER.gid},allow_other")
    target = started(attack.STRANGER, attack.program("blocking_file"), how, fd, os.path.join(mounted, NAME),
                     path=os.path.join(mounted, NAME), pass_fds=[fd], stdout=subprocess.DEVNULL)
    os.close(fd)
    return target


def check_joined(quiet, name, target):
    with attack.Recorder("-p", target.pid) as r:
        attack.wait_until(lambda: joiners(target), 1)
        ended = attack.wait_until(lambda: not joiners(target), SOON_S)
        time.sleep(0.3)  # its result is passed on
        r.ask_to_end()
        r.process.wait()
        goes_on = target.poll() is None
        attack.end(target)  # who waits in the kernel for its answer, with SIGKILL, ends now
    attack.check_lived(r, name, quiet)
    attack.result(ended, f"{name}: the process that joins it has an end")
    refused = re.search(rf"the GPU work of process {target.pid} is not recorded: (.*)", r.said)
    attack.result(refused, f"{name}: that it could not be joined is said", r.said)
    attack.result(goes_on, f"{name}: the program goes on")
    attack.note(refused and refused[1])


def check():
    quiet = attack.quiet()
    for kind in KINDS:
        check_joined(quiet, f"a C library that claims: {kind}", claims(kind))
    if not os.path.exists("/dev/fuse"):
        return attack.skip("files that block", "there is no FUSE")
    for how in ("open", "read"):
        check_joined(quiet, f"a C library of which to {how} it is never answered", blocks(how))


if platform.machine() != "x86_64":
    print("1..0 # SKIP programs are joined on x86-64 only")
else:
    attack.main(check)

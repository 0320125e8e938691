#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with a root folder and mounts of their own, whose names lead outside (own_root.py)."""
import os
import platform
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack
import own_root

KINDS = ("good", "up", "rooted", "link", "folder", "exchanged")
IN_OPEN, MNT_DETACH = 0x20, 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}.get(platform.machine())


def make_root():
    """As a container's: the system's programs, and a folder of the stranger's."""
    root = attack.folder()
    attack.mount("tmpfs", root, "tmpfs", 0, "mode=755")
    for name in ("usr", "d"):
        os.mkdir(f"{root}/{name}")
    for name in ("bin", "lib", "lib64"):
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{root}/{name}")
        elif os.path.isdir(f"/{name}"):
            os.mkdir(f"{root}/{name}")
            attack.mount(f"/{name}", f"{root}/{name}", "none", attack.MS_BIND)
    attack.mount("/usr", f"{root}/usr", "none", attack.MS_BIND)
    attack.give(f"{root}/d", attack.STRANGER)
    attack.write(f"{root}/d/own_root.py", open(attack.program("own_root"), "rb").read())
    return root


def enter(root):
    """As a container begins."""
    libc = attack.libc
    os.chdir(root)
    if libc.unshare(attack.CLONE_NEWNS) or libc.syscall(PIVOT_ROOT, b".", b".") or libc.umount2(b".", MNT_DETACH):
        raise OSError("no root folder of its own")
    os.chroot(".")
    os.setgroups([])
    os.setgid(attack.STRANGER.gid)
    os.setuid(attack.STRANGER.uid)


def start_target(root, kind, outside):
    target = attack.start(None, attack.PYTHON, "/d/own_root.py", kind, outside, stdout=subprocess.PIPE, text=True,
                          preexec_fn=lambda: enter(root))
    attack.result(target.stdout.readline() == "ready\n", f"{kind}: the program runs")


class Opened:
    """What of a folder is opened from now on, by anybody."""

    def __init__(self, path):
        self.fd = attack.libc.inotify_init1(os.O_NONBLOCK)
        if attack.libc.inotify_add_watch(self.fd, path.encode(), IN_OPEN) < 0:
            raise OSError("cannot watch " + path)

    def events(self):
        try:
            return os.read(self.fd, 65536)
        except BlockingIOError:
            return b""


def check():
    secret = attack.folder(mode=0o700)
    outside = attack.write(f"{secret}/precious", own_root.elf(b"secret_function"), mode=0o600)
    opened = Opened(secret)
    root = make_root()
    for kind in KINDS:
        start_target(root, kind, outside)
    attack.result(not opened.events(), "the programs cannot open what is outside")
    with attack.Recorder("--cpu-only", "-F", 199) as r:
        time.sleep(1)
    attack.result(not opened.events(), "nothing outside of their root is opened for them", r.said)
    attack.check_lived(r, "programs with a root of their own")
    folded = attack.run(None, attack.XPUPROF, "export", "--to", "folded", r.profile)[0]
    folded = "\n".join(line for line in folded.splitlines() if "own_root" in line)
    attack.result("own_function" in folded, "a debug file inside is found", folded)
    attack.result("secret_function" not in folded, "none outside is", folded)


if own_root.MACHINE:
    attack.main(check)
else:
    print("1..0 # SKIP it has no code for this machine")

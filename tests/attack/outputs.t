#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Outputs in a folder of a stranger's, who puts links, pipes and other folders in their place.

Each attack is made on root that writes for itself, and on root that was called through sudo by the stranger.
"""
import os
import pwd
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack

DEADLINE_S = 10 # of a recording, and of its end after SIGTERM


def caller():
    """The stranger, who has an account: nobody else can have called sudo."""
    user = attack.User(pwd.getpwnam("nobody").pw_uid)
    user.gid = pwd.getpwnam("nobody").pw_gid
    return user


class Attacked:
    """A folder of the stranger's, and things of root's that are to stay as they are."""

    def __init__(self, stranger, sudo):
        self.stranger, self.sudo = stranger, sudo
        self.who = "under sudo" if sudo else "as root"
        self.folder = attack.folder(stranger)
        self.roots = attack.folder(mode=0o700)
        self.precious = attack.write(f"{self.roots}/precious")

    def path(self, name):
        return os.path.join(self.folder, name)

    def link(self, target, name):
        os.symlink(target, self.path(name))
        attack.give(self.path(name), self.stranger)

    def start(self, *options, does="true"):
        """A recording in the stranger's folder of a shell command that is the stranger's."""
        command = ["sh", "-c", does]
        environment = dict(os.environ, SUDO_UID=str(self.stranger.uid)) if self.sudo else os.environ
        return attack.start(None, attack.XPUPROF, "record", "-q", "--cpu-only", *options, "--",
                            *(command if self.sudo else self.stranger.command(*command)),
                            cwd=self.folder, env=environment, stderr=subprocess.DEVNULL)

    def record(self, *options, does="true"):
        process = self.start(*options, does=does)
        attack.wait_until(lambda: process.poll() is not None, DEADLINE_S)
        attack.end(process)

    def untouched(self, what):
        return attack.Untouched(self.roots, self.precious, name=f"{self.who}: {what}: nothing of root's is touched")


def links(at):
    a = at()
    a.link(a.precious, "p.xpu")
    with a.untouched("a link to a file"):
        a.record("-o", "p.xpu")
    a = at()
    a.link(f"{a.roots}/made", "p.xpu")
    with a.untouched("a link to nothing"):
        a.record("-o", "p.xpu")
    a = at()
    a.link(a.roots, "d")
    with a.untouched("a link to a folder"):
        a.record("-o", "d/p.xpu")
    a = at()
    with a.untouched("a link while it records"):
        a.record("-o", "p.xpu", "-o", "c.folded", does=f"ln -s {a.precious} c.folded")
    a = at()
    os.mkdir(a.path("d"))
    attack.give(a.path("d"), a.stranger)
    with a.untouched("a folder that becomes a link while it records"):
        a.record("-o", "p.xpu", "-o", "d/c.folded", does=f"mv d e; ln -s {a.roots} d")
    a = at()
    a.link(a.precious, "p.xpu.old")
    with a.untouched("a link in the place of the earlier profile"):
        for _ in range(2):
            a.record("-o", "p.xpu")


def another_file(at):
    """The kernel may forbid strangers to make such a name; root makes it here."""
    a = at()
    os.link(a.precious, a.path("p.xpu"))
    with a.untouched("a second name of a file"):
        a.record("-o", "p.xpu")
    a = at()
    secret = f"{a.roots}/secret.xpu"
    attack.run(None, attack.XPUPROF, "record", "-q", "--cpu-only", "-o", secret, "sh", "-c", ": the secret of root")
    a.record("-o", "p.xpu", "-o", "c.svg", does=f"rm p.xpu; ln -s {secret} p.xpu")
    attack.result("secret of root" not in attack.read(a.path("c.svg")),
                  f"{a.who}: a profile of root's in the place of the new one is not read")


def pipe(at):
    a = at()
    os.mkfifo(a.path("p.xpu"))
    attack.give(a.path("p.xpu"), a.stranger)
    process = a.start("-o", "p.xpu")
    time.sleep(0.3)
    process.terminate()
    ended = attack.wait_until(lambda: process.poll() is not None, DEADLINE_S)
    attack.end(process)
    attack.result(ended, f"{a.who}: a pipe that nobody reads does not keep it from ending")


def others_read(at):
    a = at()
    a.record("-o", "p.xpu", "-o", "c.folded")
    mode = os.stat(a.path("p.xpu")).st_mode & 0o777
    attack.result(mode == 0o600, f"{a.who}: others cannot read the profile", oct(mode))
    owners = [os.stat(a.path(name)).st_uid for name in ("p.xpu", "c.folded")]
    attack.result(owners == [a.stranger.uid if a.sudo else 0] * 2, f"{a.who}: the files are the caller's", owners)


def check():
    def as_root():
        return Attacked(attack.STRANGER, False)

    def under_sudo():
        return Attacked(caller(), True)
    for at in (as_root, under_sudo):
        links(at)
        another_file(at)
        pipe(at)
        others_read(at)


attack.main(check)

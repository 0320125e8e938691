#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that speaks to the recorder as the injected library does, and makes it keep all it can (ring.c)."""
import os
import pwd
import sys

sys.dont_write_bytecode = True
import attack

# What it sends more of than there is room for, and what then is counted (None: it is bounded before, or the ring given
# up). Samples of instructions have an option.
ENDLESS = (
    ("names", "gpu_names_cut"),
    ("operations", "gpu_names_cut"),
    ("devices", None),
    ("functions", "stalls_cut"),
    ("instructions", "stalls_cut"),
    ("images", None),
    ("stacks", "gpu_stacks_cut"),
    ("threads", "gpu_threads_unknown"),
    ("marks", None),
)
OPTIONS = {"functions": ["--stalls"], "instructions": ["--stalls"], "images": ["--stalls"]}


def record(user, what):
    command, environment, output = [attack.program("ring"), what], {}, None
    if what == "threads": # such a namespace is root's to make
        command = ["unshare", "--pid", "--fork", *command]
    else:
        environment = {"SUDO_UID": str(user.pw_uid), "SUDO_GID": str(user.pw_gid)}
        output = os.path.join(attack.folder(attack.User(user.pw_uid)), "p.xpu")
    r = attack.Recorder(*OPTIONS.get(what, []), command=command, environment=environment, output=output, wait=False)
    r.wait()
    return r


def check():
    user = pwd.getpwnam("nobody")
    quiet = attack.quiet()
    chosen = sys.argv[1:]
    for what, loss in ENDLESS:
        if chosen and what not in chosen:
            continue
        r = record(user, what)
        attack.check_lived(r, f"endless {what}", quiet)
        counted = r.losses()
        attack.note(f"{what}: {r.said.split()[:2]}, {counted}")
        if loss:
            attack.result(counted.get(loss), f"endless {what}: what was left out is counted", counted, r.said)


attack.main(check)

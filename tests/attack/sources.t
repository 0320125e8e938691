#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stranger's profile names a file of root's as source, and root looks at it for a caller of sudo; and the stranger's
nvdisasm stands in root's PATH."""
import os
import sys

sys.dont_write_bytecode = True
import attack

SECRET = "secret_of_root"
NOBODY = 65534 # has an account
KINDS = ("link", "source itself")


def check_source(kind):
    theirs = attack.folder(attack.User(NOBODY))
    secret = attack.write("/tmp/root_only", f"{SECRET}\n".encode() * 99, mode=0o600)
    helper = os.path.join(attack.OUR_BUILD, "tests", "helpers", "stall_profile")
    source = os.path.join(theirs, "kernel.cu")
    if kind == "link":
        os.symlink(secret, source)
    else:
        os.rename(secret, source)
    attack.run(None, helper, "small", f"{theirs}/p.xpu", theirs)
    attack.give(f"{theirs}/p.xpu", attack.User(NOBODY))
    for output in ([], ["-o", f"{theirs}/page.html"]):
        said, status = attack.run(None, attack.XPUPROF, "annotate", "--all", *output, "matmul", f"{theirs}/p.xpu",
                                  env=dict(os.environ, SUDO_UID=str(NOBODY)))
        shown = said + attack.read(f"{theirs}/page.html")
        attack.result(status == 0 and SECRET not in shown, f"{kind}: {'a page' if output else 'annotate'} has nothing of "
                      "a file that the caller may not read", shown[:2000])
    shown, _ = attack.run(None, attack.XPUPROF, "annotate", "--all", "matmul", f"{theirs}/p.xpu")
    attack.result(SECRET in shown, f"{kind}: root itself reads it")


def check_inputs():
    """What is read itself, by its name or by a link of the caller's."""
    caller, theirs, own = attack.User(NOBODY), attack.folder(attack.User(NOBODY)), attack.folder(mode=0o700)
    folded = attack.write("/tmp/root_only.folded", f"main;{SECRET} 5\n".encode(), mode=0o600)
    profile = f"{own}/p.xpu"
    attack.run(None, attack.XPUPROF, "record", "-q", "--cpu-only", "-o", profile, "sh", "-c", f": {SECRET}")
    for name, target in ("l.folded", folded), ("l.xpu", profile):
        os.symlink(target, f"{theirs}/{name}")
        attack.give(f"{theirs}/{name}", caller)
    for path in folded, profile, f"{theirs}/l.folded", f"{theirs}/l.xpu":
        said = [attack.run(None, attack.XPUPROF, *command, cwd=theirs, env=dict(os.environ, SUDO_UID=str(NOBODY)))
                for command in (["flame", "-o", "-", path], ["report", path], ["export", "--to", "chrome", path],
                                ["annotate", "matmul", path], ["symbolize", "-o", "named.xpu", path])]
        attack.result(all(status == 1 and f"cannot read '{path}' as nobody, who called sudo" in text and SECRET not in text
                          for text, status in said) and not os.path.exists(f"{theirs}/named.xpu"),
                      f"what the caller may not read is refused: {os.path.basename(path)}", said)


def check_program():
    theirs = attack.folder(attack.STRANGER)
    attack.write(f"{theirs}/nvdisasm", b"#!/bin/sh\ntouch /tmp/ran_as_$(id -u)\n", attack.STRANGER, 0o755)
    path = f"{theirs}:{os.environ['PATH']}"
    program = os.path.join(attack.OUR_BUILD, "tests", "programs", "launches")
    said, status = attack.run(
        None, attack.XPUPROF, "record", "-q", "--gpu-only", "--stalls=32", "-o", "p.xpu", "--", program, "--repeat", "20",
        env=dict(os.environ, PATH=path, LD_LIBRARY_PATH=f"{attack.OUR_BUILD}/sim", XPUPROF_SIM_BOARD="/run/board"))
    attack.result(status == 0, "a program is recorded", said)
    attack.result(not os.path.exists("/tmp/ran_as_0"), "root runs no nvdisasm of the stranger's", said)


def check():
    for kind in KINDS:
        check_source(kind)
    check_inputs()
    check_program()


attack.main(check)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that is handed the unwind tables writes over them (chunks.py), while another one is recorded."""
import os
import pwd
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import attack

PROGRAM = """
static volatile unsigned long n;
__attribute__((noinline)) static void inner(unsigned long depth) { if (depth) inner(depth - 1); else for (;;) n++; n++; }
int main(void) { inner(20); return 0; }
"""


def stacks(profile, name):
    """How long code of that name ran (us), and how long of that with a stack that goes back to main."""
    text = subprocess.run([attack.XPUPROF, "export", "--to", "folded", "--view", "cpu", profile],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [line for line in text.splitlines() if name in line]
    return [sum(int(line.split()[-1]) for line in lines) for lines in (found, [x for x in found if ";main;" in x])]


def check():
    user = pwd.getpwnam("nobody")
    own = attack.folder()
    source, program = attack.write(os.path.join(own, "p.c"), PROGRAM.encode()), os.path.join(own, "victim")
    text, status = attack.run(None, "cc", "-O1", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", program,
                              source)
    attack.result(not status, "there is a program", text)
    r = attack.Recorder(command=[*attack.python("chunks"), program], wait=False,
                        environment={"SUDO_UID": str(user.pw_uid), "SUDO_GID": str(user.pw_gid)},
                        output=os.path.join(attack.folder(attack.User(user.pw_uid)), "p.xpu"))
    r.wait()
    attack.result(" 0 written, 0 updated" in r.said and "0 chunks" not in r.said, "chunks can only be read", r.said)
    found, whole = stacks(r.profile, "inner")
    attack.note(f"{whole} of {found} us have whole stacks")
    attack.result(found and whole == found, "the other program's stacks are whole", f"{whole} of {found}", r.losses())


if not shutil.which("cc"):
    print("1..0 # SKIP no compiler")
else:
    attack.main(check)

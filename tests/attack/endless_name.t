#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A function whose name would keep a demangler busy for years (endless_name.c)."""
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack

READERS = (["report"], ["export", "--to", "folded"], ["flame", "-o", "x.svg"])
READ_S = 5


def check():
    target = attack.start(attack.STRANGER, attack.program("endless_name"))
    with attack.Recorder("--cpu-only", "-p", target.pid) as r:
        time.sleep(0.5)
    attack.end(target)
    attack.result(r.status == 0 and not r.hung, "the recording is made", r.said)
    for command in READERS:
        try:
            done = subprocess.run([attack.XPUPROF, *command, r.profile], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=READ_S)
            attack.result(done.returncode == 0 and "FiiEFS_S_E" in done.stdout or "-o" in command,
                          f"xpuprof {command[0]} shows it as it is", done.stdout)
        except subprocess.TimeoutExpired:
            attack.result(False, f"xpuprof {command[0]} shows it as it is", "it hangs")


attack.main(check)

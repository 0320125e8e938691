#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory that blocks whoever reads it (blocking_memory.py): the loop waits for nobody's, and others keep their names."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack

GENUINE = "def genuine():\n  while True: pass\ngenuine()"


def start_target(how):
    mounted = attack.folder()
    fd = os.open("/dev/fuse", os.O_RDWR)
    attack.mount("fuse", mounted, "fuse", 0, f"fd={fd},rootmode=40000,user_id={attack.STRANGER.uid},"
                 f"group_id={attack.STRANGER.gid}")
    target = attack.start(attack.STRANGER, *attack.python("blocking_memory"), how, fd, mounted, pass_fds=[fd],
                          stdout=subprocess.PIPE, text=True)
    os.close(fd)
    target.stdout.readline()
    return target


def run_for(processes, seconds):
    """Of CPU time, each of them: beside other work that takes longer."""
    def ticks(process):
        return int(attack.read(f"/proc/{process.pid}/stat").rpartition(")")[2].split()[11])
    wanted = [(p, ticks(p) + seconds * os.sysconf("SC_CLK_TCK")) for p in processes]
    attack.wait_until(lambda: all(ticks(p) >= enough for p, enough in wanted))


def check():
    if not os.path.exists("/dev/fuse"):
        attack.skip("memory that blocks", "there is no FUSE")
        return
    targets = [start_target(how) for how in ("arguments", "interpreter", *["names"] * 6)]
    genuine = attack.start(attack.OTHER, attack.PYTHON, "-c", GENUINE)
    r = attack.Recorder("--cpu-only", "-F", 499)
    time.sleep(1.5)
    run_for([*targets, genuine], 0.2)
    r.ask_to_end()
    r.process.wait() # what it left behind ends with the targets
    attack.wait_until(lambda: len(r.pids()) <= 4) # others are dying
    left = len(r.pids())
    for target in [*targets, genuine]:
        attack.end(target)
    r.stop()
    attack.check_lived(r, "memory that blocks")
    unread = r.losses().get("python_unreadable", 0)
    # The one whose arguments are hidden has names, unless its user is distrusted already. Those that serve the memory
    # are of that user, too, and run at times.
    attack.result(len(targets) - 1 <= unread <= 2 * len(targets), "who held up what reads is counted", unread, r.said)
    attack.result(0 < left <= 4, "after some of a user's, no other process of that user is asked", left)
    folded = attack.run(None, attack.XPUPROF, "export", "--to", "folded", r.profile)[0]
    attack.result("genuine" in folded, "others keep their names", folded)


attack.main(check)

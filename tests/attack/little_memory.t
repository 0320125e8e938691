#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recorder in a memory cgroup that is too small: the kernel may end it or a process of its, and harms nothing else."""
import os
import sys
import time

sys.dont_write_bytecode = True
import attack

# Of what a recording of it takes where it has enough: there it cannot begin, or is ended as it begins.
SHARES = (0.3, 0.95)
PROGRAM = """echo >begun; timeout 1.2 "$0" files; echo >done; exit 7"""
# Another in the same cgroup, which the kernel does not choose: who is in it is ended in the middle of the recording.
GREEDY = """
import sys, time
open("/proc/self/oom_score_adj", "w").write("-1000")
open(sys.argv[1], "w").write("0")
held = [b"x" * (1 << 20) for n in range(int(sys.argv[2]))]
time.sleep(60)
"""


def record(limit, greedy=False):
    own = attack.folder(attack.STRANGER)
    user = [arg for arg in attack.STRANGER.command() if "pdeathsig" not in arg] # it outlives the recorder
    r = attack.Recorder("--cpu-only", command=[*user, "sh", "-c", PROGRAM, attack.program("crowd")],
                        limit=limit, wait=False, deadline=20, cwd=own, output=os.path.join(attack.folder(), "p.xpu"))
    most, other = [0], None
    while r.process.poll() is None:
        most.append(used(r))
        if greedy and not other and os.path.exists(f"{own}/begun") and os.path.exists(r.profile) and os.path.getsize(r.profile):
            other = attack.start(None, attack.PYTHON, "-c", GREEDY, f"{r.memory.path}/cgroup.procs", limit // attack.MIB)
        time.sleep(0.01)
    if other:
        attack.end(other)
    r.wait()
    return r, own, max(most)


def used(r):
    """By its cgroup, files and what it keeps in the kernel included."""
    for name in ("memory.usage_in_bytes", "memory.current"):
        text = attack.read(f"{r.memory.path}/{name}")
        if text:
            return int(text)
    return 0


def check_limit(limit, what, greedy=False):
    r, own, _ = record(limit, greedy)
    began = os.path.exists(f"{own}/begun")
    name = f"{what} ({limit / attack.MIB:.0f} MiB)"
    attack.note(f"{name}: status {r.status}, the program {'ran' if began else 'did not begin'}, {r.losses()}, {r.said[-300:]}")
    attack.result(not r.hung, f"{name}: the recorder ends", r.said)
    attack.result(not began or attack.wait_until(lambda: os.path.exists(f"{own}/done"), 30),
                  f"{name}: a program that was begun runs to its end", r.status, r.said)
    if greedy:
        attack.result(began, f"{name}: the program had begun", r.status, r.said)
    attack.result(r.report() or (r.status not in (0, 7) and not greedy), f"{name}: what was recorded can be read", r.status, r.said)


def check():
    group = attack.MemoryGroup(attack.MIB)
    group.close()
    if not group.path:
        attack.skip("a recorder that has little memory", "there are no memory cgroups here")
        return
    enough, _, most = record(attack.MEMORY_LIMIT)
    attack.result(enough.status == 7 and enough.report(), "with enough memory the program is recorded", enough.status, enough.said)
    attack.note(f"it takes {most / attack.MIB:.0f} MiB")
    for share in SHARES:
        check_limit(int(most * share), f"{100 * share:.0f} % of what it takes")
    check_limit(most + 16 * attack.MIB, "beside another that takes it", greedy=True)
    attack.run(None, attack.XPUPROF, "record", "-q", "--cpu-only", "-o", "/tmp/next", "true")
    attack.result(not attack.leftovers(), "the next recording removes what was left", *attack.leftovers())


attack.main(check)

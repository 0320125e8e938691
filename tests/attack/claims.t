#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stranger has the name by which processes agree on who samples a GPU."""
import os
import sys

sys.dont_write_bytecode = True
import attack

LAUNCHES = os.path.join(attack.OUR_BUILD, "tests", "programs", "launches")
ENVIRONMENT = {"LD_LIBRARY_PATH": os.path.join(attack.OUR_BUILD, "sim"), "XPUPROF_SIM_MACHINE": f"claims {os.getpid()}"}


def record():
    r = attack.Recorder("--stalls", "--gpu-only", environment=ENVIRONMENT, wait=False,
                        command=("sh", "-c", f"{LAUNCHES} --repeat 20 >/dev/null"))
    r.wait()
    return r


def claim(user, kind, name):
    with open("said", "w", encoding="ascii") as said:
        process = attack.start(user, *attack.python("claims"), kind, name, stdout=said, stderr=said)
    attack.wait_until(lambda: "has it" in attack.read("said"))
    return process


def check_stranger(kind, name):
    stranger = claim(attack.STRANGER, kind, name)
    r = record()
    attack.end(stranger)
    report = r.report("--stalls")
    attack.result(r.status == 0 and report["stalls"]["taken"] and not report["losses"]["stalls_refused"],
                  f"a stranger's claim stops nobody: {kind}", r.said)
    whose = f" (user {attack.STRANGER.uid}, process {stranger.pid})" if kind == "listens" else ""
    attack.result(f"another user claims to sample the GPU's instructions{whose}" in r.said, f"and is reported: {kind}", r.said)


def check():
    name = "xpuprof-stalls-" + record().report()["devices"][0]["uuid"]
    for kind in ("listens", "silent", "full"):
        check_stranger(kind, name)
    ours = claim(None, "listens", name)
    r = record()
    attack.result(r.losses().get("stalls_refused") == 1 and f"one alone to have its samples (process {ours.pid})" in r.said,
                  "for a process of root's way is made", r.said)


attack.main(check)

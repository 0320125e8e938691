#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Waiting for the GPU: does a recording know how long each synchronizing call waited, and for what?

    tests/gpu/waits.py [PROGRAM...]

Records programs that wait by each synchronizing call for a kernel they know and measure that themselves
(tests/programs/gpu_waits.c, in the driver's form and in the runtime's, as far as they were built), with `--off-cpu`,
and compares. Prints TAP. The times of the GPU are compared only where it is a real one. $XPUPROF_BUILD as tests/gpu/run.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import gpu_tap  # noqa: E402
from gpu_tap import BUILD, XPUPROF, note, result, run, skip  # noqa: E402

PROGRAMS = [os.path.join(BUILD, "tests", place) for place in
            ("programs/gpu_waits", "programs/gpu_waits_runtime", "gpu/gpu_waits_shared", "gpu/gpu_waits_static")]
LENGTH_NS = 100_000  # or 5 %


def lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def is_as_long(told_ns, real_ns):
    return abs(told_ns - real_ns) <= max(LENGTH_NS, 0.05 * real_ns)


def waited_for(sync, works):
    """The piece of work that ended last of what the wait was for."""
    until = sync["start_ns"] + sync["duration_ns"]
    launched = sync["recorded_ns"] or sync["start_ns"]
    mine = [w for w in works if w["context"] == sync["context"] and w["end_ns"] <= until + LENGTH_NS
            and w["launch_ns"] <= launched and (sync["kind"] == "context" or w["stream"] == sync["stream"])]
    return max(mine, key=lambda w: w["end_ns"], default=None)


def check_wait(name, wait, syncs, works, simulated):
    mine = [s for s in syncs if s["call_start_ns"] >= wait["start_ns"] and s["call_end_ns"] <= wait["end_ns"]]
    what = f"{name}: {wait['api']} for {wait['kernel']}"
    result(len(mine) == 1, f"{what} is one wait", *([json.dumps(wait)] + [json.dumps(s) for s in syncs]
                                                    if len(mine) != 1 else []))
    if len(mine) != 1:
        return
    sync, real_ns = mine[0], wait["end_ns"] - wait["start_ns"]
    result((sync["kind"], sync["api"]) == (wait["kind"], wait["api"]), f"{what}: of this kind, by this call",
           sync["kind"] + " " + sync["api"])
    result(sync["call_start_ns"] <= sync["start_ns"] + 1000 and
           sync["start_ns"] + sync["duration_ns"] <= sync["call_end_ns"] + 1000, f"{what}: inside of the call")
    result(sync["thread"] != 0, f"{what}: by the thread that waited")
    if simulated:
        result(sync["duration_ns"] <= real_ns, f"{what}: no longer than the call", sync["duration_ns"], real_ns)
    else:
        result(is_as_long(sync["duration_ns"], real_ns), f"{what}: as long as the program measured",
               f"{sync['duration_ns']} of {real_ns} ns")
    last = waited_for(sync, works)
    kernel = sorted((w for w in works if wait["kernel"] in w["name"]), key=lambda w: w["launch_ns"])
    if not simulated:
        until = sync["start_ns"] + sync["duration_ns"]
        others = [w for w in works if w["end_ns"] > until and w["launch_ns"] < sync["start_ns"]]
        result(bool(others) == wait["others_go_on"], f"{what}: other work went on behind it, or did not", *others)
    if sync["kind"] == "event" and kernel:
        launched = kernel[-1]["launch_ns"]
        behind = min(w["launch_ns"] for w in works if w["launch_ns"] > launched)
        result(launched < sync["recorded_ns"] <= behind, f"{what}: recorded behind the kernel's launch and before the next",
               f"{launched} < {sync['recorded_ns']} <= {behind}")
    if kernel and sync["kind"] != "context":
        result(sync["stream"] == kernel[-1]["stream"], f"{what}: in its stream",
               f"{sync['stream']}, {kernel[-1]['stream']}")


def check_program(program, folder):
    name, profile = os.path.basename(program), os.path.join(folder, "waits.xpu")
    recorded = run(XPUPROF, "record", "--off-cpu", "-o", profile, "--", program)
    if recorded.returncode:
        result(False, f"{name} ends as alone", recorded.returncode, recorded.stderr)
        return
    note(recorded.stderr)
    read = run(os.path.join(BUILD, "tests/helpers/profile_syncs"), profile)
    told = lines(read.stdout)
    report = json.loads(run(XPUPROF, "report", "--json", profile).stdout)
    simulated = any(d["name"].startswith("Simulated") for d in report["devices"])
    syncs = [t for t in told if t["type"] == "sync"]
    works = [t for t in told if t["type"] == "work"]
    waits = lines(recorded.stdout)
    result(read.returncode == 0 and len(waits) == 5, f"{name} waits in five ways", read.stderr)
    for wait in waits:
        check_wait(name, wait, syncs, works, simulated)
    result(all(s["thread"] for s in syncs), f"{name}: each wait has a thread",
           *(json.dumps(s) for s in syncs if not s["thread"]))
    losses = {t["name"]: t["count"] for t in told if t["type"] == "loss"}
    result(not any("sync" in n or n.startswith("gpu_") for n in losses), f"{name}: nothing is lost", losses)


def main():
    programs = sys.argv[1:] or PROGRAMS
    with gpu_tap.folder() as folder:
        for program in programs:
            if os.access(program, os.X_OK):
                check_program(program, folder)
            else:
                skip(os.path.basename(program), "it was not built")
    return gpu_tap.end()


sys.exit(main())

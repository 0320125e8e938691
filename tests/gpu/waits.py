#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Waiting for the GPU: does a recording know how long each synchronizing call waited, and for what?

    tests/gpu/waits.py [PROGRAM...]

Records programs that wait by each synchronizing call for a kernel they know and measure that themselves
(tests/programs/gpu_waits.c, in the driver's form and in the runtime's, as far as they were built), with `--off-cpu`,
and compares; so too what `--view wall` says of each. Prints TAP. The times of the GPU are compared only where it is a
real one. Where there are two GPUs some waits are for streams of the one that is not current; where there is one, in the
driver's form, of another context. $XPUPROF_BUILD as tests/gpu/run.
"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import gpu_tap  # noqa: E402
from gpu_tap import BUILD, XPUPROF, note, result, run, skip  # noqa: E402

PROGRAMS = [os.path.join(BUILD, "tests", place) for place in
            ("programs/gpu_waits", "programs/gpu_waits_runtime", "gpu/gpu_waits_shared", "gpu/gpu_waits_static")]
LENGTH_NS = 100_000  # or 5 %
WAITING = "[waiting for the GPU]"


def lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def is_as_long(told_ns, real_ns):
    return abs(told_ns - real_ns) <= max(LENGTH_NS, 0.05 * real_ns)


def stream_of(work):
    """Work of a graph is waited for in the stream that the graph was launched into."""
    return work["graph_stream"] if work["in_graph"] else work["stream"]


def waited_for(sync, works):
    """The piece of work that ended last of what the wait was for."""
    until = sync["start_ns"] + sync["duration_ns"]
    launched = sync["recorded_ns"] or sync["start_ns"]
    mine = [w for w in works if w["context"] == sync["context"] and w["end_ns"] <= until + LENGTH_NS
            and w["launch_ns"] <= launched and (sync["kind"] == "context" or stream_of(w) == sync["stream"])]
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
    kernel = sorted((w for w in works if wait["kernel"] in w["name"] and w["launch_ns"] <= sync["start_ns"]),
                    key=lambda w: w["launch_ns"])
    if not kernel:
        result(False, f"{what}: the kernel is in the profile")
        return
    kernel, last = kernel[-1], waited_for(sync, works)
    result(last is kernel, f"{what}: that was the last of what was waited for to end", last, kernel)
    if not simulated:
        until = sync["start_ns"] + sync["duration_ns"]
        others = [w for w in works if w["end_ns"] > until and w["launch_ns"] < sync["start_ns"]]
        result(bool(others) == wait["others_go_on"], f"{what}: other work went on behind it, or did not", *others)
    if sync["kind"] == "event":
        behind = min(w["launch_ns"] for w in works if w["launch_ns"] > kernel["launch_ns"])
        result(kernel["launch_ns"] < sync["recorded_ns"] <= behind,
               f"{what}: recorded behind the kernel's launch and before the next",
               f"{kernel['launch_ns']} < {sync['recorded_ns']} <= {behind}")
    result(sync["context"] == kernel["context"] and sync["device"] in (0, kernel["device"]),
           f"{what}: in its context and device", sync, kernel)
    if sync["kind"] != "context":
        result(sync["stream"] == stream_of(kernel), f"{what}: in its stream", f"{sync['stream']}, {stream_of(kernel)}; work is of {kernel['stream']}")


def waits_of_wall(profile):
    """Of `--view wall`: (frames down to the wait, frames below it, time in ns)."""
    text = run(XPUPROF, "export", "--to", "folded", "--unit", "ns", "--view", "wall", profile).stdout
    for line in text.splitlines():
        frames, _, ns = line.rpartition(" ")
        frames = frames.split(";")
        if WAITING in frames:
            at = frames.index(WAITING)
            yield frames[:at], frames[at + 1:], int(ns)


def check_wall(name, wait, waits, kernels):
    """The time of the wait belongs to its kernel, with the kernel's launch, and to no other."""
    is_stage = re.compile(re.escape(wait["stage"]) + r"\b").match
    mine = [(below, ns) for above, below, ns in waits if wait["api"] in above and any(map(is_stage, above))]
    what = f"{name}: --view wall, {wait['stage']}"
    result(any(wait["kernel"] in below[-1] and len(below) > 2 for below, _ in mine), f"{what}: waits for {wait['kernel']}",
           *mine)
    strangers = [below for below, _ in mine if any(k in f for f in below for k in kernels - {wait["kernel"]})]
    result(not strangers, f"{what}: and for no other kernel", *strangers)


def began_in_time(recorded, profile):
    """Whether each wait began while its kernel ran. A program whose CPU others had in between has nothing to wait for."""
    works = [t for t in lines(run(os.path.join(BUILD, "tests/helpers/profile_syncs"), profile).stdout) if t["type"] == "work"]
    return all(any(wait["kernel"] in w["name"] and w["launch_ns"] <= wait["start_ns"] < w["end_ns"] for w in works)
               for wait in lines(recorded.stdout)[:-1])


def check_program(program, folder):
    name, profile = os.path.basename(program), os.path.join(folder, "waits.xpu")
    for _ in range(5):
        recorded = run(XPUPROF, "record", "--off-cpu", "-o", profile, "--", program)
        if recorded.returncode or began_in_time(recorded, profile):
            break
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
    waits, (end,) = lines(recorded.stdout)[:-1], lines(recorded.stdout)[-1:]
    note(end)
    result(read.returncode == 0 and len(waits) == (9 if end["contexts"] == 2 else 6), f"{name} waits in all its ways",
           read.stderr)
    if end["contexts"] == 1:
        skip(f"{name}: waits for streams of another context", "this needs two GPUs")
    elif simulated:
        result(end["handle_used_again"], f"{name}: the simulated driver used a stream's handle again")
    result(sum("short_graph" in w["name"] and w["in_graph"] for w in works) == 2,
           f"{name}: a graph's launch that is captured is no work")
    walls, kernels = list(waits_of_wall(profile)), {w["kernel"] for w in waits} | {"behind"}
    for wait in waits:
        check_wait(name, wait, syncs, works, simulated)
        check_wall(name, wait, walls, kernels)
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

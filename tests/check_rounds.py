#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a recording that began and ended in the middle of a program has all of each round in between: every call, every
piece of work, the stacks of both (tests/programs/rounds.c). The tests on the simulated and on real GPUs share this.

usage: check_rounds.py PROFILE.xpu LOG [--least ROUNDS] [--most-seconds SECONDS] [--no-graph]

LOG is what the program printed. Rounds that begin before the first recorded call or end after the last count for nothing, and
so do those of the moments in which the calls are switched on and off, one after the other: SECONDS at most, 0.3 where not said,
are between the recording's first and last recorded call and its whole rounds. Prints what is wrong, a line each, and fails; or
how many rounds were compared. The program is $XPUPROF, or xpuprof in $XPUPROF_BUILD or in build/."""
import argparse
import collections
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "..", "build"))
XPUPROF = os.environ.get("XPUPROF", os.path.join(BUILD, "xpuprof"))
# The function that calls, its call's work, and how often a round does.
WANTED = {("launch_direct", "count_a_us5"): 5, ("move_bytes", "copy"): 1, ("move_bytes", "set"): 1,
          ("replay_graph", "count_b_us3"): 3}


def xpuprof(*arguments):
    return subprocess.run([XPUPROF, *arguments], stdout=subprocess.PIPE, check=True).stdout.decode()


def read_rounds(path):
    """(tid, begin, end) in nanoseconds."""
    with open(path, encoding="utf-8") as f:
        lines = [line.split() for line in f]
    return [tuple(map(int, words)) for words in lines if len(words) == 3 and all(w.isdigit() for w in words)]


def read_calls(profile, *options):
    """(tid, time) of each call that asked for work, with its work: {correlation: (tid, time, [what])}."""
    calls, work = {}, collections.defaultdict(list)
    for event in json.loads(xpuprof("export", "--to", "chrome", "-o", "-", *options, profile))["traceEvents"]:
        arguments = event.get("args", {})
        if event.get("cat", "").startswith("CUDA_") and arguments.get("kind") != "sync":
            calls[arguments["correlationId"]] = (event["tid"], round(event["ts"] * 1000))
        elif event.get("cat") == "GPU_Kernel":
            work[arguments["correlationId"]].append(event["name"].removeprefix("Kernel: "))
        elif event.get("cat") in ("MemCopy", "MemSet"):
            work[arguments["correlationId"]].append("copy" if event["cat"] == "MemCopy" else "set")
    return {number: (*call, work.get(number, [])) for number, call in calls.items()}, len(set(work) - set(calls))


def read_paths(profile):
    """(function that called, work) of each path: how often."""
    paths = collections.Counter()
    for line in xpuprof("export", "--to", "extended-folded", "--view", "gpu", "-o", "-", profile).splitlines():
        frames = line.split(" ", 5)[-1].split(";")
        at = next(i for i, frame in enumerate(frames) if frame.startswith("[GPU"))
        stage = [frame.split("(")[0] for frame in frames[:at]  # in C++ with its arguments
                 if frame.split("(")[0] in ("launch_direct", "move_bytes", "replay_graph")]
        name = {"[GPU_MemCopy]": "copy", "[GPU_MemSet]": "set"}.get(frames[at].split("]")[0] + "]",
                                                                    frames[at].split("]")[1])
        paths[(stage[-1] if stage else "(none)", name)] += 1
    return paths


def widest_gap(times):
    """Between calls, as a person reads it."""
    length, begin = max(((b - a, a) for a, b in zip(times, times[1:])), default=(0, 0))
    return f"{len(times)} calls from {times[0]} to {times[-1]}, none for {length / 1e9:.3f} s from {begin} on"


def check(profile, rounds, least, margin_ns, graph=True, options=()):
    """options: of the export; programs number their calls alike, and of several, one after the other is looked at."""
    wrong, wanted = [], {path: n for path, n in WANTED.items() if graph or path[0] != "replay_graph"}
    calls, lost = read_calls(profile, *options)
    if lost:
        wrong.append(f"{lost} calls have work and are not there")
    if not calls:
        return [*wrong, "there are no calls"], 0
    # The program counts its threads as its own namespace does.
    inside, outside = sorted({r[0] for r in rounds}), sorted({c[0] for c in calls.values()})
    number = dict(zip(inside, outside)) if not set(inside) & set(outside) else {tid: tid for tid in inside}
    begin, end = min(c[1] for c in calls.values()) + margin_ns, max(c[1] for c in calls.values()) - margin_ns
    by_thread = collections.defaultdict(list)
    for tid, time, work in calls.values():
        by_thread[tid].append((time, work))
    compared = 0
    for tid, start, stop in rounds:
        if start < begin or stop > end:
            continue
        compared += 1
        have = collections.Counter(name for time, work in by_thread[number.get(tid)] if start <= time <= stop for name in work)
        want = collections.Counter()
        for (_, name), count in wanted.items():
            want[name] += count
        if have != want:
            wrong.append(f"round {start} to {stop} of {tid} has {dict(have)}")
    for path, count in read_paths(profile).items():
        if path not in wanted:
            wrong.append(f"{count} times {path}")
    if compared < least:
        wrong.append(f"only {compared} rounds could be compared, from {begin} to {end}")
    return [widest_gap(sorted(c[1] for c in calls.values())), *wrong] if wrong else [], compared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("profile")
    parser.add_argument("log")
    parser.add_argument("--least", type=int, default=10)
    parser.add_argument("--most-seconds", type=float, default=0.3)
    parser.add_argument("--no-graph", action="store_true")
    given = parser.parse_args()
    wrong, compared = check(given.profile, read_rounds(given.log), given.least, given.most_seconds * 1e9,
                            not given.no_graph)
    for line in wrong[:10]:
        print(line)
    if not wrong:
        print(f"{compared} rounds are whole")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

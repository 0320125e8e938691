#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The thread that the profiler runs in programs is in no picture of where their threads wait; a thread of the program's that is
called the same is (tests/programs/named_thread.c), as is every other."""
import collections
import json
import os
import re
import subprocess

import tap
from tap import BUILD, PROGRAM, can_record, result, run

TARGET = os.path.join(BUILD, "tests", "programs", "named_thread")
LINES = os.path.join(BUILD, "tests", "helpers", "wait_lines")

class Recording:
    def __init__(self, name, *command, options=("--off-cpu",)):
        self.path = name + ".xpu"
        self.told = [json.loads(line) for line in
                     run(PROGRAM, "record", "-q", *options, "-o", self.path, "--", *command).splitlines()]
        self.lives, self.own, self.lost, waits = collections.Counter(), {}, {}, collections.Counter()
        for line in run(LINES, self.path).splitlines():
            kind, *fields = line.split("\t")
            if kind == "own":
                self.own[int(fields[1])] = fields[2]
            elif kind == "life":
                self.lives[int(fields[1])] += int(fields[4])
            elif kind == "wait":
                waits[int(fields[1])] += int(fields[5]) + int(fields[8])
            elif kind == "lost":
                self.lost[fields[0]] = int(fields[1])
        # What was written before the recorder knew of the thread; of a life all, if it was too busy meanwhile.
        self.own_lives = {tid: self.lives.pop(tid) for tid in self.own if tid in self.lives}
        self.own_waits = {tid: waits[tid] for tid in self.own if waits[tid] > 100e6}

    def shown(self, view):
        """The time of each thread in a view, by its number; all names."""
        times, names = collections.Counter(), set()
        for line in run(PROGRAM, "export", "--to", "folded", "--unit", "ns", "--view", view, "--by", "thread",
                        self.path).splitlines():
            stack, ns = line.rsplit(" ", 1)
            frames = [frame for frame in stack.split(";") if re.fullmatch(r".*-\d+", frame)]
            times[int(frames[0].rsplit("-", 1)[1])] += int(ns)
            names.add(frames[0])
        return times, names


def check_wall(r, name, named):
    """All threads have their lives in the wall view, but for the profiler's own."""
    times, names = r.shown("wall")
    result(times == r.lives, f"{name}: the wall view has the life of each thread of the program's, and no other time", r.own,
           names, times, r.lives, r.lost)
    result(all(times[tid] for tid in named), f"{name}: also of those that are called as the profiler's", names, named)
    result("waits_untold" not in r.lost, f"{name}: and of none it is said that it is not known", r.lost)


def check_views(r, named):
    own, tid = next(iter(r.own)), named[0]
    times, names = r.shown("off-cpu")
    result(own not in times and times[tid] > 200e6, "so it is in the off-CPU view", r.own, names)
    report = json.loads(run(PROGRAM, "report", "--json", r.path))
    waits = {row["tid"] for row in report["waits"]["rows"]}
    result(own not in waits and tid in waits, "in the report's waits of threads", own, waits)
    gaps = [gap["threads"] for device in report["idle"]["devices"] for gap in device["gaps"] if gap.get("threads")]
    result(gaps and all(own not in {t["tid"] for t in threads} and tid in {t["tid"] for t in threads} for threads in gaps),
           "among the threads that did something meanwhile when the GPU was idle", own, gaps)
    timeline = json.loads(run(PROGRAM, "export", "--to", "chrome", r.path))
    rows = {e["args"]["name"] for e in timeline["traceEvents"] if e["name"] == "thread_name"}
    result(not [row for row in rows if f" {own} " in f"{row} "] and f"xpuprof {tid} not running" in rows,
           "and in the timeline", own, rows)


def check_family():
    """A forked child has none of the profiler's, one that executes the program again has its own."""
    r = Recording("family", TARGET, "family")
    named = [t["tid"] for t in r.told]
    result(len(named) == 3 and len(r.own) == 2 and not set(r.own) & set(named),
           "each process with a GPU has a thread of the profiler's, and a forked child none", r.told, r.own)
    check_wall(r, "several processes", named)


def check_namespace():
    if subprocess.run(["unshare", "--pid", "--fork", "true"], stderr=subprocess.DEVNULL).returncode:
        result(True, "within a pid namespace # SKIP no right to make one")
        return
    r = Recording("namespace", "unshare", "--pid", "--fork", TARGET)
    result(list(r.own.values()) == ["xpuprof"], "a program with numbers of its own tells of the right thread", r.own, r.told)
    named = named_threads(r)
    result(len(named) == 1, "and not of another", named, r.lives, r.shown("off-cpu"))
    check_wall(r, "in a pid namespace", named)


def named_threads(r):
    """What is called xpuprof: threads of the program's, and the recorder's child before it executed the program."""
    return [int(name.rsplit("-", 1)[1]) for name in r.shown("off-cpu")[1] if name.startswith("xpuprof-")
            and "wait_for_rounds" in waits_of(r, name)]


def waits_of(r, name):
    return "\n".join(line for line in run(PROGRAM, "export", "--to", "folded", "--view", "off-cpu", "--by", "thread",
                                          r.path).splitlines() if f"{name};" in line)


def check_before_exec():
    """Between fork and exec the program's process is the profiler's own code."""
    path = "sleep.xpu"
    run(PROGRAM, "record", "-q", "--off-cpu", "-F", "9999", "-o", path, "--", "sleep", "0.1")
    shown = {view: {line.rsplit(" ", 1)[0].split(";")[0] for line in
                    run(PROGRAM, "export", "--to", "folded", "--unit", "ns", "--view", view, "--by", "process",
                        path).splitlines()} for view in ("wall", "off-cpu", "cpu")}
    result(all(re.fullmatch(r"sleep-\d+", name) for names in shown.values() for name in names) and shown["wall"],
           "what a program's process did before its exec is in no view", shown)


def main():
    for _ in range(3):
        r = Recording("one", TARGET)
        if not r.own_lives and not r.own_waits:
            break
    named = [t["tid"] for t in r.told]
    result(list(r.own.values()) == ["xpuprof"] and set(named) <= set(r.lives) and not set(r.own) & set(named),
           "the profiler's own thread is known by its number", r.own, r.told, r.lives)
    result(not r.own_lives and not r.own_waits, "and its waits are not recorded", r.own_lives, r.own_waits)
    check_wall(r, "one process", named)
    check_views(r, named)
    check_family()
    check_namespace()
    check_before_exec()
    r = Recording("gpu_only", TARGET, options=("--gpu-only",))
    result(len(r.own) == 1 and not r.lives, "it is known also where nobody asked for waits", r.own)


os.environ.update(LD_LIBRARY_PATH=os.path.join(BUILD, "sim"), XPUPROF_SIM_MACHINE=f"own thread {os.getpid()}")
tap.main(main, lambda: "" if can_record("--cpu-only", "--off-cpu") else "waits cannot be recorded here")

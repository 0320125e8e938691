#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What programs inside a kernel cost it, on a real GPU: a vector add of tests/targets/probed.c, launched back to back.

Pairs of a run without and one with each tool, in alternation; the base loads the same PTX. Printed are the median time of a launch
without, and for each tool the median ratio with its 95 % interval (order statistics) and whether all threads were counted. Small
programs (bench/ebpf) stand for what tools are made of; "detached": one that was switched off again (-d).

usage: probes.py [--pairs N] [--threads N,...] [--launches N] [--tools TOOL,...] [--xpuprof FILE]
"""
import argparse
import json
import os
import statistics
import subprocess

import overhead

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "..", "..", "build")))
SHAPES = os.path.join(HERE, "..", "..", "tests", "data", "ptx", "shapes-sm75.ptx")
TOOLS = "detached,empty,count,timer,hash,blocktime,smload,threadhist,blocks,threadscheduling,divergence,memtrace,coalesce"
# What counts all threads: the map, and the key of arrays that have more than one sum.
COUNTED = {"count": ("threads", None), "hash": ("threads", None), "blocktime": ("nanoseconds", None), "threadhist": ("runs", None),
           "threadscheduling": ("threads", None), "smload": ("load", 0)}


def options_of(tool):
    file = os.path.join(BUILD, "bench", "ebpf", f"{tool}.bpf.o")
    if tool == "detached":
        return ["-d", "2", "blocktime"]
    return ["-e", file] if os.path.exists(file) else [tool]


def run(xpuprof, tool, threads, launches):
    """Microseconds a launch, and how many threads were counted for each that ran."""
    command = [os.path.join(BUILD, "tests", "targets", "probed"), SHAPES, "time", "dlsym", str(threads), str(launches), "3" if tool == "detached" else "0"]
    if tool:
        command = [xpuprof, "probe", "--json", "--threads", str((threads + 255) // 256 * 256), *options_of(tool), "--", *command]
    lines = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout.splitlines()
    took = float(next(line for line in lines if line.endswith(" us")).split()[0])
    ran = int(next(line for line in lines if line.isdigit()))
    if tool not in COUNTED:
        return took, None
    name, key = COUNTED[tool]
    maps = [m for m in json.loads(next(line for line in lines if line.startswith("{")))["objects"][0]["maps"] if m["name"] == name]
    counted = sum(e["value"] for e in maps[0]["entries"] if key is None or e["key"] == key)
    return took, counted / (ran * ((threads + 255) // 256 * 256))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--threads", default="32,1048576,16777216")
    parser.add_argument("--launches", type=int, default=2000)
    parser.add_argument("--tools", default=TOOLS)
    parser.add_argument("--xpuprof", default=os.path.join(BUILD, "xpuprof"))
    given = parser.parse_args()
    for threads in map(int, given.threads.split(",")):
        plain, ratios, counted = [], {tool: [] for tool in given.tools.split(",")}, {}
        for _ in range(given.pairs):
            for tool, seen in ratios.items():
                base = run(given.xpuprof, None, threads, given.launches)[0]
                took, counted[tool] = run(given.xpuprof, tool, threads, given.launches)
                plain.append(base)
                seen.append(took / base)
        print(f"{threads} threads: {statistics.median(plain):.3f} us a launch")
        for tool, seen in ratios.items():
            low, high = overhead.interval(seen)
            said = "" if counted[tool] is None else f"  counted {counted[tool]:.4f}"
            print(f"  {tool:<18} {statistics.median(seen):.3f} [{low:.3f}, {high:.3f}]{said}", flush=True)


main()

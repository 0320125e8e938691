#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What programs inside a kernel cost it, on a real GPU: kernels of probed_times.c, launched back to back.

Rounds of a run without and one with each tool, in random order; the base loads the same PTX. Printed are the median time of a launch
without, and for each tool the median ratio to its round's with the 95 % interval (order statistics), what it adds, and whether all
threads were counted. Of several builds each is run in each round, and named by its folder. Small programs (bench/ebpf) stand for what
tools are made of; "detached": one that was switched off again (-d); "TOOL.thread": run by each thread. "swap": no programs, and the
machine code that nvcc makes of the same kernels, over which the base is what loading PTX costs them. A kernel is add, early (half of the
threads leave at once), matrix (of so many rows) or node (of a graph). A wrong result ends it.

usage: probes.py [--pairs N] [--seconds N] [--kernels KERNEL:THREADS,...] [--launches N] [--tools TOOL,...] [--xpuprof FILE,...]
"""
import argparse
import functools
import itertools
import json
import math
import os
import random
import re
import statistics
import subprocess
import tempfile
import time

import overhead

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "..", "..", "build")))
KERNELS = os.path.join(HERE, "probed_kernels.ptx")
ALL = "add:1048576,add:16777216,add:32,early:1048576,matrix:1024,node:32"
TOOLS = "detached,empty,count,timer,hash,blocktime,smload,threadhist,blocks,threadscheduling,divergence,memtrace,coalesce"
# What counts all threads: the map, and the key of arrays that have more than one sum.
COUNTED = {"count": ("threads", None), "hash": ("threads", None), "blocktime": ("nanoseconds", None), "threadhist": ("runs", None),
           "threadscheduling": ("threads", None), "smload": ("load", 0)}


def options_of(tool):
    file = os.path.join(BUILD, "bench", "ebpf", f"{tool}.bpf.o")
    if tool == "detached":
        return ["-d", "1", "blocktime"]
    if tool.endswith(".thread"):
        return ["--thread", *options_of(tool[:-len(".thread")])]
    return ["-e", file] if os.path.exists(file) else [tool]


@functools.cache
def machine_code():
    """Of the kernels, for this GPU."""
    capability = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], stdout=subprocess.PIPE, text=True, check=True).stdout
    path = os.path.join(tempfile.mkdtemp(), "kernels.cubin")
    subprocess.run(["ptxas", "-arch=sm_" + capability.split()[0].replace(".", ""), "-o", path, KERNELS], check=True)
    return path


def run(xpuprof, tool, kernel, threads, launches):
    """Microseconds a launch, and how many threads were counted for each that ran."""
    image = machine_code() if tool == "swap" else KERNELS
    command = [os.path.join(BUILD, "bench", "probed_times"), image, kernel, str(threads), str(launches), "2" if tool == "detached" else "0"]
    if tool and tool != "swap":
        most = threads * threads if kernel == "matrix" else threads
        command = [xpuprof, "probe", "--json", "--threads", str((most + 255) // 256 * 256), *options_of(tool), "--", *command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")
    lines = done.stdout.splitlines()
    took, ran, each = re.search(r"^([0-9.]+) us, (\d+) times, (\d+) threads$", "\n".join(lines), re.M).groups()
    if not tool or tool.removesuffix(".thread") not in COUNTED:
        return float(took), None
    name, key = COUNTED[tool.removesuffix(".thread")]
    maps = [m for m in json.loads(next(line for line in lines if line.startswith("{")))["objects"][0]["maps"] if m["name"] == name]
    counted = sum(e["value"] for e in maps[0]["entries"] if key is None or e["key"] == key)
    return float(took), counted / (int(ran) * int(each))


def measure(given, kernel, threads):
    runs = [(None, None), *itertools.product(given.xpuprof.split(","), given.tools.split(","))]
    took, counted, begin = {r: [] for r in runs}, {}, time.monotonic()
    while len(took[runs[0]]) < given.pairs and time.monotonic() - begin < given.seconds:
        for r in random.sample(runs, len(runs)):
            us, counted[r] = run(*r, kernel, threads, given.launches)
            took[r].append(us)
    plain = took.pop(runs[0])
    print(f"{kernel}, {threads}: {statistics.median(plain):.3f} us a launch, {len(plain)} rounds")
    for (xpuprof, tool), seen in took.items():
        ratios = [with_tool / without for with_tool, without in zip(seen, plain)]
        low, high = overhead.interval(ratios)
        added = statistics.median(with_tool - without for with_tool, without in zip(seen, plain))
        said = "" if counted[xpuprof, tool] is None else f"  counted {counted[xpuprof, tool]:.4f}"
        of = f"  {os.path.basename(os.path.dirname(xpuprof))}" if "," in given.xpuprof else ""
        print(f"  {tool:<18} {statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}]  {added:+.3f} us{said}{of}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=math.inf, help="no new round of a kernel after so long")
    parser.add_argument("--kernels", default=ALL)
    parser.add_argument("--launches", type=int, default=2000)
    parser.add_argument("--tools", default=TOOLS)
    parser.add_argument("--xpuprof", default=os.path.join(BUILD, "xpuprof"))
    given = parser.parse_args()
    for kernel, threads in (of.split(":") for of in given.kernels.split(",")):
        measure(given, kernel, int(threads))


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes on a real GPU: counts are those of the launches, and results are what they are without.

    tests/gpu/probe.py                 in a built tree, on a machine with an NVIDIA GPU

It runs tests/targets/probed.c, which checks each of its results, with every tool, each way to load images, and kills xpuprof.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "build")))
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ptx")
TARGET = os.path.join(BUILD, "tests", "targets", "probed")
THREADS, BLOCKS, COUNT = 40 * 128, 40, 5000
WARPS = THREADS // 32
failed = 0


def result(ok, name, *notes):
    global failed
    failed += not ok
    print(f"{'ok' if ok else 'NOT OK'}: {name}", *([] if ok else notes), flush=True)


def probe(tool, *command):
    done = subprocess.run([os.path.join(BUILD, "xpuprof"), "probe", "--json", tool, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=120)
    launches = re.search(r"^(\d+)$", done.stdout, re.M)
    found = json.loads(done.stdout[done.stdout.index("{"):]) if "{" in done.stdout else None
    return found, int(launches[1]) if launches and not done.returncode else 0, done.stderr


def values(found, name):
    return [e["value"] for m in found["objects"][0]["maps"] if m["name"] == name for e in m["entries"]]


# By tool: what it finds of n launches, and what that should be.
TOOLS = {
    "blocktime": lambda f, n: (sum(values(f, "nanoseconds")), THREADS * n),
    "blocks": lambda f, n: (len(f["records"]) + f["losses"]["records_dropped"], BLOCKS * n),
    "smload": lambda f, n: (sum(e["value"] for e in f["objects"][0]["maps"][0]["entries"] if e["key"] == 0), THREADS * n),
    "divergence": lambda f, n: (sum(values(f, "active_lanes")), 3 * ((COUNT + 31) // 32) * n),
    "memtrace": lambda f, n: (values(f, "accesses"), [2 * COUNT * n, COUNT * n]),
    "memheat": lambda f, n: (sum(values(f, "bytes")), 12 * COUNT * n),
    "coalesce": lambda f, n: (sorted(v["lines"] for v in values(f, "accesses")), 3 * [(COUNT + 31) // 32 * n]),
    "threadhist": lambda f, n: (sum(values(f, "runs")), THREADS * n),
    "threadscheduling": lambda f, n: (sum(values(f, "threads")), THREADS * n),
    "kernelretsnoop": lambda f, n: (len(f["records"]) + f["losses"]["records_dropped"], THREADS * n),
    "kernel_trace": lambda f, n: (len(f["records"]), n),
    "cudagraph": lambda f, n: (sum(v["count"] for v in values(f, "runs")), n),
}
MODES = ["launch", "options", "file", "library", "graph", "streams", "contexts", "reset", "unload", "fork-after", "fork-before"]


def check(tool, mode, how="dlsym", ptx="shapes-sm75.ptx"):
    found, n, said = probe(tool, TARGET, os.path.join(DATA, ptx), mode, how)
    got, wanted = TOOLS[tool](found, n) if found else (None, None)
    result(n > 0 and got == wanted, f"{tool}, {mode}, {how}: {n} launches", got, wanted, said)


def killed(tool):
    run = subprocess.Popen([os.path.join(BUILD, "xpuprof"), "probe", tool, "--", TARGET, os.path.join(DATA, "shapes-sm75.ptx"), "on-and-on"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    run.stdout.readline()
    os.kill(run.pid, signal.SIGKILL)
    time.sleep(3)
    run.stdin.close()
    # It prints nothing where one result is wrong.
    rest = run.stdout.read()
    result(re.match(r"\d+$", rest) and int(rest) > 1, f"{tool}: xpuprof killed, the program runs on", rest)


def main():
    for tool in TOOLS:
        check(tool, "launch")
        check(tool, "streams")
    for mode in MODES:
        check("blocktime", mode)
        check("blocktime", mode, "procaddress")
    for tool in ("blocktime", "coalesce", "blocks"):
        killed(tool)
    print(f"{failed} failed" if failed else "all good")
    return failed != 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `xpuprof record --finalize` does on a real GPU, for programs that make no graphs: they are recorded for their first seconds,
and go on. How long do launches take then, with CUPTI taken out and with CUPTI left in, and are the programs well? Each is then
joined and left once more.

A process for each, in random order. Printed per workload and arm: the medians over processes of seconds an iteration while the
program is recorded, and after that; of how many CUPTI was taken out, how many could be joined again, and how many ended well.

The floor is a program in which a tool only subscribed to CUPTI, and unsubscribed (tests/gpu/floor_tool.c).

usage: finalized.py [--processes N] [--xpuprof PATH] [--floor LIB] [--tiny PROGRAM] [--only WORKLOAD,...]
"""
import argparse
import collections
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import overhead

ALONE, FLOOR, LEFT, FINALIZED = "alone", "floor", "left", "finalized"
RECORDED_S = 3


def has_library(pid):
    try:
        return any(open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8").read() == "xpuprof\n" for task in os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return False


def blocks(worker, workload, count, going_on):
    took = []
    while going_on():
        took.append(worker.run(workload, count) / count)
    return statistics.median(took) if took else float("nan")


def until(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def join_again(worker, workload, count, pid, given, path):
    """Whether a second recording has work, and nothing was in its way."""
    recorder = subprocess.Popen([given.xpuprof, "record", "-q", "--gpu-only", "-d", "2", "-o", path, "-p", str(pid)],
                                stderr=subprocess.PIPE, text=True)
    blocks(worker, workload, count, lambda: recorder.poll() is None)
    report = json.loads(subprocess.run([given.xpuprof, "report", "--json", path], stdout=subprocess.PIPE, check=True).stdout)
    return report["works"] > 0 and not any(n for key, n in report["losses"].items() if key.startswith("gpu"))


def one(workload, arm, given, folder):
    kind, count = overhead.WORKLOADS[workload]
    program = [given.tiny] if kind == "tiny" else [sys.executable, os.path.join(overhead.HERE, f"{kind}_worker.py"), "--free"]
    path, pid_file = os.path.join(folder, "p.xpu"), os.path.join(folder, "pid")
    command = ["sh", "-c", f'echo $$ >"{pid_file}"; exec "$@"', "sh", *program]
    environment = {"CUDA_INJECTION64_PATH": given.floor, "XPUPROF_FLOOR": "left"} if arm == FLOOR else {}
    if arm in (LEFT, FINALIZED):
        command = [given.xpuprof, "record", "-d", str(RECORDED_S + 20 * (kind != "tiny")), "-o", path,
                   *(["--finalize"] if arm == FINALIZED else []), "--", *command]
    with open(os.path.join(folder, "err"), "w+", encoding="utf-8") as err:
        worker = overhead.Worker(command, environment, stderr=err)
        worker.wait_ready()
        with open(pid_file, encoding="utf-8") as f:
            pid = int(f.read())
        during = blocks(worker, workload, count, lambda: has_library(pid))
        after = blocks(worker, workload, count, until(2))
        again = arm in (ALONE, FLOOR) or join_again(worker, workload, count, pid, given, path + "2")
        well = worker.close() == 0
        err.seek(0)
        said = [line.split(": ", 1)[1].strip() for line in err if "CUPTI" in line]
    return during, after, again, well, said


def main():
    parser = argparse.ArgumentParser()
    build = os.environ.get("XPUPROF_BUILD", os.path.join(overhead.HERE, "../../build"))
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--xpuprof", default=os.path.join(build, "xpuprof"))
    parser.add_argument("--floor", default=os.path.join(build, "tests/gpu/libfloor_tool.so"))
    parser.add_argument("--tiny", default=os.path.join(build, "bench/tiny_worker"))
    parser.add_argument("--only", default="tiny,decode")
    given = parser.parse_args()
    for workload in given.only.split(","):
        results = collections.defaultdict(list)
        for _ in range(given.processes):
            for arm in random.sample([ALONE, FLOOR, LEFT, FINALIZED], 4):
                with tempfile.TemporaryDirectory() as folder:
                    results[arm].append(one(workload, arm, given, folder))
        print(workload)
        for arm, of in results.items():
            print(f"  {arm:9} recorded {statistics.median(r[0] for r in of) * 1e6:.2f} us, after that {statistics.median(r[1] for r in of) * 1e6:.2f}; "
                  f"taken out of {sum(any('taken out' in line for line in r[4]) for r in of)} of "
                  f"{len(of)}, joined again {sum(r[2] for r in of)}, ended well {sum(r[3] for r in of)}", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs on a real GPU: the time of a workload under the profiler over its time alone.

The recording is tried with each source of launch stacks, with GPU instructions sampled as well, and with waits; with --arms probe,
`xpuprof probe` that has no kernel to put programs into. Beside it stand the floors under any such tool: CUPTI's activity records alone, received and thrown away
(tests/gpu/floor_tool.c), and the same with callbacks at launches.

Every arm is a process that stays alive and runs a block of a workload when told to, so that blocks of the
arms alternate within a second and a drifting machine moves all of them. Printed per workload and arm: the
median ratio to the plain program over the pairs, its 95 % interval (order statistics), and the plain time. Last, for
the sampling of instructions and for waits, the same over the recording without them.

Two processes of one arm can differ by more than what is measured. With --processes each arm is as many processes, one
after the other; for each the median of its blocks stands, and the table is of these. With --free the launching thread is not
kept on one core, as users do not keep theirs.

usage: overhead.py [--pairs N] [--processes N] [--free] [--xpuprof PATH] [--floor LIB] [--tiny PROGRAM] [--only WORKLOAD,...]
                   [--arms ARM,...]
"""
import argparse
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# workload: (worker, iterations a block)
WORKLOADS = {
    "eager": ("torch", 200),
    "fused": ("torch", 200),
    "graph": ("torch", 100),
    "gemm": ("torch", 100),
    "naive": ("torch", 200),
    "tiny": ("tiny", 100000),
    "decode": ("decode", 24),
    "jax": ("jax", 2000),
}
# What floor_tool.c is asked for; the last two only with --arms.
FLOORS = ["activity", "activity,callbacks", "activity,driver", "activity,runtime"]
DEFAULT = ["eager", "fused", "graph", "gemm", "naive", "tiny"]


class Worker:
    def __init__(self, command, environment, stderr=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                                        env={**os.environ, **environment}, text=True)

    def wait_ready(self):
        line = self.process.stdout.readline()
        if line != "ready\n":
            sys.exit(f"overhead.py: {self.process.args} did not get ready: {line!r}")

    def run(self, workload, count):
        self.process.stdin.write(f"{workload} {count}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"overhead.py: {self.process.args} ended early")
        return float(line)

    def close(self):
        self.process.stdin.close()
        return self.process.wait(60)


def interval(values):
    """The 95 % interval of the median from order statistics (normal approximation of the binomial)."""
    ordered = sorted(values)
    half = 1.96 * math.sqrt(len(ordered)) / 2
    low = max(0, math.floor(len(ordered) / 2 - half))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + half))
    return ordered[low], ordered[high]


def commands_of_arms(command, options, folder, worker):
    """Per arm: its command, and what it finds in its environment."""
    def record(name, *arguments):
        return [options.xpuprof, "record", *arguments, "-o", os.path.join(folder, f"{worker}-{name}.xpu"), "--", *command]

    arms = {"plain": (command, {})}
    for kinds in FLOORS if options.floor else ():
        arms[kinds.replace(",", "+")] = (command, {"CUDA_INJECTION64_PATH": os.path.abspath(options.floor), "XPUPROF_FLOOR": kinds})
    arms["gpu-only"] = (record("gpu-only", "--gpu-only"), {})
    for source in ("bpf", "inprocess"):
        arms[source] = (record(source, "--stack-source=" + source), {})
    arms["stalls"] = (record("stalls", "--stalls"), {})
    arms["off-cpu"] = (record("off-cpu", "--off-cpu"), {})
    arms["probe"] = ([options.xpuprof, "probe", "blocktime", "-k", "no kernel has this name", "--", *command], {})
    return arms


def start_arms(command, options, folder, worker):
    commands = commands_of_arms(command, options, folder, worker)
    chosen = ["plain", *(options.arms.split(",") if options.arms else set(commands) - {"activity+driver", "activity+runtime", "probe"})]
    arms = {name: Worker(*how) for name, how in commands.items() if name in chosen}
    for arm in random.sample(list(arms.values()), len(arms)):
        arm.wait_ready()
    return arms


def measure(arms, workload, count, pairs):
    times = {name: [] for name in arms}
    for name in arms:
        arms[name].run(workload, count)
    for _ in range(pairs):
        order = list(arms)
        random.shuffle(order)
        for name in order:
            times[name].append(arms[name].run(workload, count))
    return times


def report(workload, name, values, base, count, unit):
    ratios = [a / b for a, b in zip(values, base)]
    extra = [(a - b) / count * 1e6 for a, b in zip(values, base)]
    low, high = interval(ratios)
    print(f"{workload:6} {name:18} {statistics.median(ratios):6.3f}  [{low:.3f}, {high:.3f}]  "
          f"{statistics.median(values) / count * 1e6:10.2f} us each  "
          f"{statistics.median(extra):+8.2f} us  [{interval(extra)[0]:+.2f}, {interval(extra)[1]:+.2f}]  "
          f"{len(values)} {unit}", flush=True)


def report_all(workload, times, count, unit="pairs"):
    for name, values in times.items():
        report(workload, name, values, times["plain"], count, unit)
    for name, base in (("stalls", "inprocess"), ("off-cpu", "inprocess"), ("inprocess", "activity")):
        if name in times and base in times:
            report(workload, f"{name}/{base}", times[name], times[base], count, unit)


def measure_processes(command, options, folder, worker, chosen):
    """For each workload and arm, a median for each process."""
    medians = {workload: {} for workload in chosen}
    for _ in range(options.processes):
        arms = start_arms(command, options, folder, worker)
        for workload in chosen:
            for name, values in measure(arms, workload, WORKLOADS[workload][1], options.pairs).items():
                medians[workload].setdefault(name, []).append(statistics.median(values))
        close_arms(arms)
    for workload in chosen:
        report_all(workload, medians[workload], WORKLOADS[workload][1], "processes")


def close_arms(arms):
    for name, arm in arms.items():
        if arm.close():
            sys.exit(f"overhead.py: {name} ended with an error")


def main():
    parser = argparse.ArgumentParser()
    build = os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "../../build"))
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--xpuprof", default=os.path.join(build, "xpuprof"))
    parser.add_argument("--floor")
    parser.add_argument("--tiny", default=os.path.join(build, "bench/tiny_worker"))
    parser.add_argument("--only", default=",".join(DEFAULT), help="of " + ", ".join(WORKLOADS))
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--free", action="store_true")
    parser.add_argument("--arms", help="only these, beside the plain program")
    options = parser.parse_args()
    commands = {worker: [sys.executable, os.path.join(HERE, worker + "_worker.py"), *["--free"][:options.free]]
                for worker in ("torch", "decode", "jax")}
    commands["tiny"] = [options.tiny]
    chosen = options.only.split(",")
    print("load   arm                 ratio  95 % interval   time              over plain")
    with tempfile.TemporaryDirectory() as folder:
        for worker in dict.fromkeys(WORKLOADS[name][0] for name in chosen):
            workloads = [name for name in chosen if WORKLOADS[name][0] == worker]
            if options.processes:
                measure_processes(commands[worker], options, folder, worker, workloads)
                continue
            arms = start_arms(commands[worker], options, folder, worker)
            for workload in workloads:
                count = WORKLOADS[workload][1]
                report_all(workload, measure(arms, workload, count, options.pairs), count)
            close_arms(arms)


if __name__ == "__main__":
    main()

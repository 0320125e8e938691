#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a profile with what the recorded programs say they did (tests/programs/expect.h): the
tests on the simulated and on real GPUs share this.

usage: check_launches.py PROFILE.xpu EXPECTATIONS

Lines of EXPECTATIONS that are not JSON are ignored; those of several programs add up. Prints what
differs, a line each, and fails; or one line that says what was compared. Checked are:

  every call and every piece of work, each under the function that made the call, by kernel, kind
  and bytes; work of graphs under the function that launched and the one that made the node; calls
  that failed, were captured or asked for nothing, known as such; nothing else, nothing unmatched,
  nothing lost; each device's share; and that GPU time is the same nanoseconds in the records'
  durations, the folded stacks, the report and the driver's own sum.

The program is $XPUPROF, or xpuprof in $XPUPROF_BUILD or in build/."""
import collections
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "..", "build"))
XPUPROF = os.environ.get("XPUPROF", os.path.join(BUILD, "xpuprof"))
NODE = "[graph node made at]"
ASKS_FOR_WORK = ("launch", "copy", "set", "graph launch")
LEAVES = {"Kernel": "kernel", "MemCopy": "copy", "MemSet": "set"}
# Losses that are about stacks: whether a stack is the right one is checked at its end that matters.
HARMLESS = ("stacks_incomplete", "walk_", "python_", "tables_", "stacks_given_up")

# A piece of GPU work: what it is, and the functions that called CUDA for it.
Work = collections.namedtuple("Work", "type name function captured_by device bytes ns")


def xpuprof(*arguments):
    return subprocess.run([XPUPROF, *arguments], stdout=subprocess.PIPE, check=True).stdout.decode()


def caller(frames):
    """The function that called CUDA, of a path that ends with the call."""
    return frames[-2].split("(")[0] if len(frames) > 1 else "(none)"


def parse_leaf(leaf):
    """("kernel", name, device or None) of "[GPU_Kernel]name" or "[GPU1_Kernel]name"."""
    mark, name = leaf[1:].split("]", 1)
    device, kind = mark[3:].split("_", 1)
    return LEAVES.get(kind), name, int(device) if device else None


def parse_path(path):
    """(type, name, function, captured_by, device) of a path that ends with GPU work; or None."""
    frames = path.split(";")
    at = next((i for i, f in enumerate(frames) if f.startswith("[GPU")), None)
    if at is None:
        return None
    kind, name, device = parse_leaf(frames[at])
    launch, node = frames[:at], None
    if NODE in launch:
        node = launch[launch.index(NODE) + 1:]
        launch = launch[:launch.index(NODE)]
    return kind, name, caller(launch), caller(node) if node else None, device


class Profile:
    def __init__(self, path):
        self.report = json.loads(xpuprof("report", "--json", path))
        chrome = json.loads(xpuprof("export", "--to", "chrome", path))["traceEvents"]
        lines = xpuprof("export", "--to", "extended-folded", "--graph-stack", "both", path)
        self.works, self.calls = [], []
        self.join(chrome, [line.split(" ", 5) for line in lines.splitlines()])
        self.folded = self.read_folded(path)
        self.by_device = self.read_folded(path, "--by", "device,stream")

    def join(self, chrome, lines):
        """One export knows times and bytes, one stacks. Work that began at the same time is told apart by its name."""
        stacks = [line for line in lines if line[4] == "-1"]
        works = [line for line in stacks if "[GPU" in line[5]]
        calls = {(int(line[3]), int(line[0])): line[5] for line in stacks if "[GPU" not in line[5]}
        gpu = [e for e in chrome if e.get("cat") in ("GPU_Kernel", "MemCopy", "MemSet")]
        if len(works) != len(gpu):
            sys.exit(f"{len(works)} works in one export, {len(gpu)} in another")
        gpu.sort(key=lambda event: (round(event["ts"] * 1000), event["args"].get("linkerName", "")))
        works.sort(key=lambda line: (int(line[0]), line[5].split("_Kernel]")[1] if "_Kernel]" in line[5] else ""))
        for event, line in zip(gpu, works):
            kind, name, function, captured_by, _ = parse_path(line[5])
            if round(event["ts"] * 1000) != int(line[0]):
                sys.exit(f"exports differ: {event} {line}")
            args = event["args"]
            self.works.append(Work(kind, name, function, captured_by, args["deviceId"],
                                   args.get("bytes", 0), round(event["dur"] * 1000)))
        for event in chrome:
            if event.get("cat") in ("CUDA_Runtime", "CUDA_Driver"):
                path = calls.get((event["tid"], round(event["ts"] * 1000)), "")
                self.calls.append((event["args"]["kind"], caller(path.split(";")),
                                   event["args"]["result"]))

    @staticmethod
    def read_folded(path, *options):
        """Nanoseconds by (type, name, function, captured_by, device)."""
        sums = collections.Counter()
        text = xpuprof("export", "--to", "folded", "--unit", "ns", "--view", "gpu",
                       "--graph-stack", "both", *options, path)
        for line in text.splitlines():
            stack, ns = line.rsplit(" ", 1)
            sums[parse_path(stack)] += int(ns)
        return sums


class Check:
    def __init__(self, profile, expected):
        self.profile, self.report, self.expected = profile, profile.report, expected
        self.differences = []

    def same(self, got, expected, what):
        if got != expected:
            self.differences.append(f"{what}: {got}, expected {expected}")

    def same_counts(self, got, expected, what):
        for key in sorted(set(got) | set(expected), key=str):
            self.same(got[key], expected[key], f"{what} {key}")

    def sum(self, field, *types):
        return sum(e.get(field, 0) for e in self.expected if e["type"] in types)

    def whole(self):
        self.same(self.report["incomplete"], None, "the profile is incomplete")
        for name, count in self.report["losses"].items():
            if not name.startswith(HARMLESS):
                self.same(count, 0, f"lost, {name}")
        for name, count in self.report["works_without_stack"].items():
            self.same(count, 0, f"work without a stack, {name}")

    def works(self):
        got, got_bytes = collections.Counter(), collections.Counter()
        expected, expected_bytes = collections.Counter(), collections.Counter()
        for work in self.profile.works:
            if work.captured_by is None:
                key = (work.type, work.function, work.name)
                got[key] += 1
                got_bytes[key] += work.bytes
        for e in self.expected:
            if e["type"] in ("kernel", "copy", "set"):
                key = (e["type"], e["function"], e["name"])
                expected[key] += e["works"]
                expected_bytes[key] += e.get("bytes", 0)
        self.same_counts(got, expected, "works")
        self.same_counts(got_bytes, expected_bytes, "bytes")

    def nodes(self):
        got, expected, graphs = collections.Counter(), collections.Counter(), collections.Counter()
        for work in self.profile.works:
            if work.captured_by is not None:
                got[work.function, work.captured_by, work.name or work.type] += 1
                graphs[work.function] += 1
        for e in self.expected:
            if e["type"] == "node":
                expected[e["function"], e["captured_by"], e["name"]] += e["works"]
        self.same_counts(got, expected, "works of nodes")
        self.same_counts(graphs, collections.Counter({e["function"]: e["works"] for e in
                                                      self.merged("graph")}), "works of graphs")

    def merged(self, kind):
        """The lines of a type, those of several programs added up."""
        works = collections.Counter()
        for e in self.expected:
            if e["type"] == kind:
                works[e["function"]] += e["works"]
        return [{"function": f, "works": n} for f, n in works.items()]

    def calls(self):
        got, failed = collections.Counter(), collections.Counter()
        expected, expected_failed = collections.Counter(), collections.Counter()
        for kind, function, result in self.profile.calls:
            if kind in ASKS_FOR_WORK:
                got[function] += 1
                failed[function] += result != 0
        for e in self.expected:
            expected[e.get("function")] += e.get("launches", 0)
            if e["type"] == "failed":
                expected_failed[e["function"]] += e["launches"]
        del expected[None]
        self.same_counts(got, expected, "calls of")
        self.same_counts(failed, expected_failed, "failed calls of")

    def pending(self):
        empty = sum(e["launches"] for e in self.expected
                    if e["type"] in ("copy", "set", "graph") and not e["works"])
        expected = {"failed": self.sum("launches", "failed"), "empty": empty,
                    "captured": self.sum("launches", "captured")}
        for name, count in self.report["launches_without_work"].items():
            self.same(count, expected.get(name, 0), f"calls without work, {name}")

    def devices(self):
        works = {e["ordinal"]: e["works"] for e in self.expected if e["type"] == "device"}
        got = {d["ordinal"]: d["works"] for d in self.report["devices"]}
        if works:
            self.same(got, works, "works of devices")
        sums = collections.Counter()
        for key, ns in self.profile.by_device.items():
            if ns:
                sums[key[4]] += ns
        self.same(dict(sums), {d["ordinal"]: d["work_ns"] for d in self.report["devices"]},
                  "time of devices in folded stacks")

    def times(self):
        sums = collections.Counter()
        for w in self.profile.works:
            sums[w.type, w.name, w.function, w.captured_by, None] += w.ns
        folded = collections.Counter({k: ns for k, ns in self.profile.folded.items() if ns})
        self.same_counts(folded, sums, "nanoseconds in folded stacks")
        total = sum(w.ns for w in self.profile.works)
        self.same(self.report["gpu_ns"], total, "GPU time of the report")
        self.same(int(self.report["meta"].get("gpu_reported_ns", -1)), total,
                  "GPU time that the driver reported")

    def all(self):
        self.whole()
        self.works()
        self.nodes()
        self.calls()
        self.pending()
        self.devices()
        self.times()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[2], encoding="utf-8") as file:
        expected = [json.loads(line) for line in file if line.startswith("{")]
    if not any(e.get("launches") for e in expected):
        sys.exit("no expectations: did the program run?")
    check = Check(Profile(sys.argv[1]), expected)
    check.all()
    for line in check.differences:
        print(line)
    if check.differences:
        sys.exit(1)
    calls = sum(k in ASKS_FOR_WORK for k, _, _ in check.profile.calls)
    print(f"{calls} calls, {len(check.profile.works)} pieces of work, "
          f"{check.report['gpu_ns']} ns of GPU time: all as expected")


main()

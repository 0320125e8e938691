#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`export --to firefox`: the processed format of Firefox Profiler, version 70, by its types (src/types/profile.ts of
github.com/firefox-devtools/profiler); firefox_reader.t lets its own code read it. What the file has is what the report says."""
import json
import os
import sys
from decimal import Decimal

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

HELPERS = os.path.join(tap.BUILD, "tests", "helpers")
# Columns of tables, all of one length: what each is an index of, None for anything.
SHARED = {
    "stackTable": {"frame": "frameTable", "prefixOffset": None},
    "frameTable": {"address": None, "lib": None, "inlineDepth": None, "category": "categories", "subcategory": None, "func": "funcTable", "nativeSymbol": None,
                   "innerWindowID": None, "line": None, "column": None, "originalLocation": None},
    "funcTable": {"name": "strings", "isJS": None, "relevantForJS": None, "resource": None, "source": "sources", "lineNumber": None, "columnNumber": None,
                  "originalLocation": None},
    "resourceTable": {"name": None, "host": None, "type": None},
    "nativeSymbols": {"libIndex": None, "address": None, "name": None, "functionSize": None},
    "sources": {"id": None, "filename": "strings", "startLine": None, "startColumn": None, "sourceMapURL": None, "content": None},
    "sourceLocationTable": {"source": None, "line": None, "column": None},
}
SAMPLES = {"stack": "stackTable", "time": None, "weight": None}
MARKERS = {"data": None, "name": "strings", "startTime": None, "endTime": None, "phase": None, "category": "categories"}
UNSEEN = ("[no sample]", "not sampled]")


def export(path, *options):
    out = tap.run(tap.PROGRAM, "export", "--to", "firefox", "-o", "-", *options, path)
    return json.loads(out, parse_float=Decimal)


def report(path, *options):
    return json.loads(tap.run(tap.PROGRAM, "report", "--json", *options, path))


def folded_ns(path, *options):
    lines = tap.run(tap.PROGRAM, "export", "--to", "folded", "--unit", "ns", *options, path).splitlines()
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines if not line.rsplit(" ", 1)[0].endswith(UNSEEN))


def faults_of_table(name, table, columns, sizes):
    faults = []
    for column, target in columns.items():
        values = table.get(column)
        if values is None or len(values) != table["length"]:
            faults.append(f"{name}.{column} is not as long as the table")
        elif target:
            faults += [f"{name}.{column}: {v}" for v in values if v is not None and not 0 <= v < sizes[target]][:3]
    return faults + [f"{name}: what is {more}?" for more in set(table) - set(columns) - {"length", "weightType"}]


def faults_of_thread(thread, sizes, schemas):
    name, samples, markers = thread["name"], thread["samples"], thread["markers"]
    faults = faults_of_table(name + " samples", samples, SAMPLES, sizes) + faults_of_table(name + " markers", markers, MARKERS, sizes)
    if samples["weightType"] != "tracing-ms" or samples["time"] != sorted(samples["time"]):
        faults.append(f"{name}: samples are not in order of their times")
    for data, phase, begin, end in zip(markers["data"], markers["phase"], markers["startTime"], markers["endTime"]):
        if data["type"] not in schemas or set(data) - {"type", "cause"} - schemas[data["type"]]:
            faults.append(f"{name}: a marker that no schema has: {data}")
        if not (phase == 1 and begin <= end or phase == 0 and end is None):
            faults.append(f"{name}: a marker from {begin} to {end} is of phase {phase}")
        if "cause" in data and not 0 <= data["cause"]["stack"] < sizes["stackTable"]:
            faults.append(f"{name}: a cause that is none: {data}")
    if not (isinstance(thread["pid"], str) and isinstance(thread["isMainThread"], bool) and thread["pausedRanges"] == []):
        faults.append(f"{name}: {thread['pid']}")
    return faults


def faults_of(profile):
    meta, shared = profile["meta"], profile["shared"]
    sizes = {name: shared[name]["length"] for name in SHARED} | {"strings": len(shared["stringArray"]), "categories": len(meta["categories"])}
    faults = [fault for name, columns in SHARED.items() for fault in faults_of_table(name, shared[name], columns, sizes)]
    faults += [f"the parent of stack {n} is {offset} before it" for n, offset in enumerate(shared["stackTable"]["prefixOffset"]) if not 0 <= offset <= n]
    if meta["preprocessedProfileVersion"] != 70 or meta["interval"] <= 0 or not any(c["color"] == "grey" for c in meta["categories"]):
        faults.append(f"meta: {meta}")
    schemas = {schema["name"]: {field["key"] for field in schema["fields"]} for schema in meta["markerSchema"]}
    ids = [(thread["pid"], thread["tid"]) for thread in profile["threads"]]
    faults += [f"two threads are {one}" for one in set(ids) if ids.count(one) > 1]
    return faults + [fault for thread in profile["threads"] for fault in faults_of_thread(thread, sizes, schemas)]


def is_stream(thread):
    return thread["tid"].startswith("device")


def weight_ns(profile, of_streams):
    return sum(sum(thread["samples"]["weight"]) for thread in profile["threads"] if is_stream(thread) == of_streams) * 1000000


def markers_of(profile, kind):
    return [(thread["markers"]["startTime"][n], thread["markers"]["endTime"][n], profile["shared"]["stringArray"][thread["markers"]["name"][n]], data)
            for thread in profile["threads"] for n, data in enumerate(thread["markers"]["data"]) if data["type"] == kind]


def check_totals(path, what, *options):
    profile, said = export(path, *options), report(path, *options)
    faults = faults_of(profile)
    tap.result(not faults, f"{what}: it is as the format says", *faults[:10])
    work, calls = markers_of(profile, "GPU work"), markers_of(profile, "GPU call")
    tap.result(weight_ns(profile, False) == folded_ns(path, "--view", "cpu", *options), f"{what}: CPU time of samples", weight_ns(profile, False))
    tap.result(weight_ns(profile, True) == said["gpu_ns"] == sum(end - begin for begin, end, _, _ in work) * 1000000, f"{what}: GPU time, of samples and of markers",
               weight_ns(profile, True), said["gpu_ns"])
    by_name = {kernel["name"]: kernel["count"] for kernel in said["kernels"] if kernel["count"]}
    found = {}
    for _, _, name, data in work:
        if "grid" in data:
            found[name] = found.get(name, 0) + 1
    if not options:
        tap.result(found == by_name and len(work) == said["works"], f"{what}: each launch is a marker with the name of its kernel", found, by_name)
        tap.result(len(calls) == sum(call["count"] for call in said["calls"]), f"{what}: and each call", len(calls), said["calls"])
    return profile


def stack_of(profile, stack):
    table, names = profile["shared"]["stackTable"], []
    while True:
        names.append(profile["shared"]["stringArray"][profile["shared"]["funcTable"]["name"][profile["shared"]["frameTable"]["func"][table["frame"][stack]]]])
        if not table["prefixOffset"][stack]:
            return ";".join(reversed(names))
        stack -= table["prefixOffset"][stack]


def check_stacks():
    """Sums by stack are those of folded stacks."""
    profile, sums = export("random.xpu", "--view", "gpu"), {}
    for thread in profile["threads"]:
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            if stack is not None:
                sums[stack_of(profile, stack)] = sums.get(stack_of(profile, stack), 0) + int(weight * 1000000)
    lines = tap.run(tap.PROGRAM, "export", "--to", "folded", "--unit", "ns", "--view", "gpu", "random.xpu").splitlines()
    expected = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines if not line.endswith(" 0")}

    def by_path(stacks):
        """What stands on each call, whatever the work is called."""
        return sorted((stack.rsplit(";", 1)[0], ns) for stack, ns in stacks.items())
    tap.result(by_path(sums) == by_path(expected), "stacks have the time that folded ones have", by_path(sums)[:5], by_path(expected)[:5])
    files = {profile["shared"]["stringArray"][name] for name in profile["shared"]["sources"]["filename"]}
    tap.result(files == {"app.py"}, "functions have their files", files)
    causes = [stack_of(profile, data["cause"]["stack"]) for _, _, _, data in markers_of(profile, "GPU work") if "cause" in data]
    tap.result(causes and all("function" in cause and "kernel" not in cause for cause in causes), "GPU work has the code that asked for it as its cause", causes[:5])


def check():
    tap.run(os.path.join(HELPERS, "range_profile"), "random.xpu", "7")
    tap.run(os.path.join(HELPERS, "sample_profile"), "small", "small.xpu")
    tap.run(os.path.join(HELPERS, "sample_profile"), "hostile", "hostile.xpu")
    tap.run(os.path.join(HELPERS, "wait_profile"), "gpu", "waits.xpu")
    check_totals("random.xpu", "random")
    check_totals("random.xpu", "a range", "--from", "200ms", "--to", "700ms")
    check_totals("small.xpu", "small")
    for path in "hostile.xpu", "waits.xpu":
        faults = faults_of(export(path))
        tap.result(not faults, f"{path}: it is as the format says", *faults[:10])
    check_stacks()
    tap.run(tap.PROGRAM, "export", "-o", "named.firefox.json", "small.xpu")
    with open("named.firefox.json", encoding="utf-8") as f:
        tap.result(json.load(f)["meta"]["importedFrom"] == "xpuprof", "the suffix decides")


tap.main(check, lambda: "")

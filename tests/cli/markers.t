#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Markers of NVTX and numbers that were written down: recorded, reported, and as parts of a recording.

tests/targets/nvtx_target.c has a picture of the program's markers."""
import contextlib
import json
import os
import re
import subprocess
import sys
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from tap import PROGRAM, result

TARGETS = os.path.join(tap.BUILD, "tests", "targets")
TARGET = os.path.join(TARGETS, "nvtx_target")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CUDA = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include")
SIMULATED = {**os.environ, "LD_LIBRARY_PATH": os.path.join(tap.BUILD, "sim"), "XPUPROF_SIM_MACHINE": f"test {os.getpid()}"}
MS = 1000000
EXPECTED = {("request", None): 1, ("step", None): 3, ("load", None): 3, ("compute", None): 3, ("batch", "loader"): 3, ("done", None): 1,
            ("never ends", None): 1}
NUMBERS = """
import sys, time
def say(name, value):
    with open(sys.argv[1], "a") as file:
        file.write(f"{time.time():.9f} {name} {value}\\n")
say("loss", 4)
say("rate", 0.5)
time.sleep(0.2)
say("loss", 1)
time.sleep(0.1)
with open(sys.argv[1], "a") as file:
    file.write("# a comment\\n\\nno metric\\n12.5 early 1\\n" + f"{time.time():.6f} loss inf\\n")
"""


def xpuprof(*arguments, env=SIMULATED):
    return subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                          env=env, timeout=120)


def report(path, *options):
    return json.loads(xpuprof("report", "--json", *options, path).stdout)


def markers(path, *options):
    return {(row["name"], row["domain"]): row for row in report(path, *options)["markers"]}


def perfetto(path):
    """What is in the compressed packets of a trace."""
    with open(path, "rb") as file:
        data, found = file.read(), b""
    while b"\x92\x03" in data:  # field 50, bytes
        data = data.partition(b"\x92\x03")[2]
        with contextlib.suppress(zlib.error):
            size = next(n for n in range(1, 6) if data[n - 1] < 128)
            found += zlib.decompressobj().decompress(data[size:])
    return found


def check_recorded(program, what):
    done = xpuprof("record", "-q", "--nvtx", "-o", "m.xpu", "--", program)
    result(done.returncode == 0 and not done.stderr, f"{what} is recorded", done.stderr)
    found = markers("m.xpu")
    result({key: row["count"] for key, row in found.items()} == EXPECTED, f"{what}: all markers are there, as often as they were set", found)
    long = {name: found[name, None]["total_ns"] / MS for name in ("request", "step", "load", "compute") if (name, None) in found}
    result(60 <= long.get("load", 0) < long.get("step", 0) <= long.get("request", 0) < 3 * 60000 and 90 <= long.get("compute", 0),
           f"{what}: as long as they were", long)
    result(long.get("load", 0) + long.get("compute", 0) <= long.get("step", 0), f"{what}: and inside each other", long)


def check_text():
    text = xpuprof("report", "m.xpu").stdout
    result("Markers" in text and "loader: batch" in text, "the report has a table of them", text)
    done = xpuprof("export", "--to", "perfetto", "-o", "m.pftrace", "m.xpu")
    trace = perfetto("m.pftrace")
    result(done.returncode == 0 and b"never ends" in trace and b"Marker" in trace, "a Perfetto trace has them", done.stderr)
    for form in "pprof", "perf-script":
        result(xpuprof("export", "--to", form, "-o", "m.out", "m.xpu").returncode == 0, f"{form} leaves them out")
    check_forms()


def exported(form):
    return json.loads(xpuprof("export", "--to", form, "-o", "-", "m.xpu").stdout)


def sums_of(pairs):
    """(name, nanoseconds) added up: name -> [count, nanoseconds]."""
    sums = {}
    for name, ns in pairs:
        count, total = sums.get(name, (0, 0))
        sums[name] = (count + 1, total + round(ns))
    return sums


def check_forms():
    """Each form has each marker, as long as the report says."""
    said = {name: (row["count"], row["total_ns"]) for (name, _), row in markers("m.xpu").items()}
    lasting = {name: row for name, row in said.items() if row[1]}
    events = [e for e in exported("chrome")["traceEvents"] if e.get("cat") == "Marker"]
    found = sums_of((e["name"], 1000 * e.get("dur", 0)) for e in events)
    near = {name: (count, said[name][1]) for name, (count, ns) in found.items() if name in said and abs(said[name][1] - ns) <= count}
    result(near == said, "so has a Chrome trace", found, said)
    result({e["name"] for e in events if e["ph"] == "i"} == set(said) - set(lasting) and
           {e["args"].get("domain") for e in events if e["name"] == "batch"} == {"loader"}, "moments are moments, and domains are there", events[:3])
    rows = {}
    for event in events:
        rows.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event.get("dur", 0)))
    over = [pair for spans in map(sorted, rows.values()) for pair in zip(spans, spans[1:]) if pair[0][1] > pair[1][0]]
    result(not over and len(rows) > 1, "none overlaps another of its row", over[:3])
    profile = exported("speedscope")
    names = [frame["name"] for frame in profile["shared"]["frames"]]
    found = sums_of((names[stack[0]], weight) for one in profile["profiles"] if " markers" in one["name"]
                    for stack, weight in zip(one["samples"], one["weights"]) if stack)
    result(found == lasting, "so has a file for speedscope, but for moments", found, lasting)
    profile = exported("firefox")
    strings, found = profile["shared"]["stringArray"], []
    for thread in profile["threads"]:
        rows = thread["markers"]
        found += [(strings[rows["name"][n]], ((rows["endTime"][n] or begin) - begin) * MS) for n, begin in enumerate(rows["startTime"])
                  if rows["data"][n]["type"] == "Marker"]
    near = {name: (count, said[name][1]) for name, (count, ns) in sums_of(found).items() if name in said and abs(said[name][1] - ns) <= count}
    result(near == said, "so has a profile for Firefox Profiler", sums_of(found), said)


def wall_ns(*options):
    out = xpuprof("export", "--to", "folded", "--view", "wall", "--by", "thread", "--unit", "ns", *options, "m.xpu").stdout
    return sum(int(line.rpartition(" ")[2]) for line in out.splitlines())


def check_parts():
    kernels = {name: sum(row["count"] for row in report("m.xpu", "--marker", name)["kernels"]) for name in ("step", "compute", "load", "step#2")}
    result(kernels == {"step": 15, "compute": 15, "load": 0, "step#2": 5}, "--marker shows the time of a marker", kernels)
    whole = report("m.xpu", "--marker", "step")
    lengths = re.fullmatch(r"([\d.]+) s of ([\d.]+) s, marker step", whole["range"])
    result(lengths and all(len(n.replace(".", "").lstrip("0")) <= 5 for n in lengths.groups()), "lengths have no more digits than are read", whole["range"])
    parts = [report("m.xpu", "--marker", f"step#{n}") for n in (1, 2, 3)]
    for name, of in ("GPU time", lambda r: sum(row["total_ns"] for row in r["kernels"])), ("CPU time", lambda r: r["cpu_ns"]), \
            ("calls", lambda r: sum(row["count"] for row in r["calls"])), \
            ("time in markers", lambda r: sum(row["total_ns"] for row in r["markers"])):
        result(of(whole) == sum(map(of, parts)), f"{name} of all of a name is that of each of them", of(whole), list(map(of, parts)))
    result(wall_ns("--marker", "step") == sum(wall_ns("--marker", f"step#{n}") for n in (1, 2, 3)), "so is the time of threads")
    both = wall_ns("--marker", "request", "--to", "100ms") + wall_ns("--marker", "request", "--from", "100ms")
    result(both == wall_ns("--marker", "request"), "--from and --to divide it to the nanosecond", both)
    done = xpuprof("flame", "--view", "gpu", "--marker", "compute", "-o", "m.svg", "m.xpu")
    result(done.returncode == 0 and "marker compute" in done.stderr, "flame has it", done.stderr)
    done = xpuprof("annotate", "--marker", "compute", "named_work", "m.xpu")
    result("--marker" not in done.stderr, "annotate has it", done.stderr)
    for name, words in ("nothing", "no marker of that name"), ("step#4", "there are 3"), ("done", "moments"):
        done = xpuprof("report", "--marker", name, "m.xpu")
        result(done.returncode == 1 and words in done.stderr, f"--marker {name}: {words}", done.stderr)
    done = xpuprof("report", "--marker", "step#1", "--from", "10s", "m.xpu")
    result(done.returncode == 1, "a range after the end is refused", done.stderr)


def check_off():
    xpuprof("record", "-q", "-o", "off.xpu", "--", TARGET)
    result(not markers("off.xpu"), "without --nvtx there are none")
    done = xpuprof("record", "-q", "--nvtx", "-o", "off.xpu", "--", TARGET, env={**SIMULATED, "NVTX_INJECTION64_PATH": "/other.so"})
    result("/other.so" in done.stderr and not markers("off.xpu"), "another tool's NVTX is left alone, and that is said", done.stderr)
    done = xpuprof("record", "-q", "--nvtx", "-o", "bursts.xpu", "--overhead", "1", "--", TARGET)
    result({key: row["count"] for key, row in markers("bursts.xpu").items()} == EXPECTED, "with --overhead all markers are there", done.stderr)
    done = xpuprof("record", "--nvtx", "--cpu-only", "--", "true")
    result(done.returncode == 2, "--nvtx with --cpu-only is refused", done.stderr)


def check_metrics():
    done = xpuprof("record", "-q", "--metrics", "numbers", "-o", "n.xpu", "--", sys.executable, "-c", NUMBERS, "numbers")
    result(done.returncode == 0 and "2 of 8 lines of 'numbers' are no metrics, the first is line 6" in done.stderr
           and "recording: 1;" in done.stderr, "lines that are no metrics, or of another time, are said", done.stderr)
    rows = {row["name"]: row for row in report("n.xpu")["metrics"]}
    loss = rows.get("loss", {})
    result(set(rows) == {"loss", "rate"} and loss["values"] == 2 and (loss["min"], loss["max"]) == (1, 4), "metrics are in the report", rows)
    whole = report("n.xpu")
    first, second = (float(line.split()[0]) for line in open("numbers") if " loss " in line and "inf" not in line)
    ns, first_ns = loss.get("ns", 0), (second - first) * 1e9
    result(ns > first_ns and abs(loss["average"] - (4 * first_ns + ns - first_ns) / ns) < 0.01, "their average is by time", rows, first_ns)
    within_ns = whole["elapsed_ns"] - ns + round(first_ns / 2)
    half = {row["name"]: row for row in report("n.xpu", "--to", f"{within_ns}ns")["metrics"]}
    result(half.get("loss", {}).get("average") == 4 and half["loss"]["values"] == 1, "of a part only those of it", half)
    result("Metrics" in xpuprof("report", "n.xpu").stdout and whole["metrics"], "the text has them")
    result(xpuprof("export", "--to", "perfetto", "-o", "n.pftrace", "n.xpu").returncode == 0 and b"loss" in perfetto("n.pftrace"),
           "a Perfetto trace has them")
    result(xpuprof("export", "--to", "chrome", "n.xpu", "-o", "n.json").returncode == 0 and '"loss"' in open("n.json").read(),
           "a Chrome trace, too")
    done = xpuprof("record", "-q", "--metrics", "not there", "-o", "n.xpu", "--", "true")
    result(done.returncode == 0 and "no metrics: cannot read 'not there'" in done.stderr, "a file that is not there is said", done.stderr)


def check():
    check_recorded(TARGET, "a program with its own NVTX")
    check_text()
    check_parts()
    if os.path.exists(os.path.join(CUDA, "nvtx3", "nvToolsExt.h")):
        real = os.path.join(os.getcwd(), "real_target")
        built = subprocess.run(["cc", "-D_GNU_SOURCE", "-DREAL_NVTX", f"-I{ROOT}/sim/include", f"-I{ROOT}/demo", "-isystem", CUDA, "-o", real,
                                os.path.join(ROOT, "tests", "targets", "nvtx_target.c"), os.path.join(tap.BUILD, "demo", "driver.o"),
                                "-ldl", "-lpthread"], stderr=subprocess.PIPE, text=True)
        result(built.returncode == 0, "a program with NVIDIA's NVTX is built", built.stderr)
        check_recorded(real, "a program with NVIDIA's NVTX")
    check_off()
    check_metrics()


tap.main(check, lambda: "" if tap.can_record() else "nothing can be recorded here")

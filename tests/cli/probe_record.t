#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `xpuprof record --probe`: what programs find inside kernels is in the recording, with the launches that it is of, and nothing of the
# library that puts them there is.
import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from probing import TARGET, why_not

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ptx")
SHAPES = os.path.join(DATA, "shapes-sm75.ptx")
OBJECT = os.path.join(tap.BUILD, "tests", "ebpf", "contended.v3.bpf.o")
BLOCKS, THREADS = 40, 128
SIMULATED = {"LD_LIBRARY_PATH": os.path.join(tap.BUILD, "sim"), "XPUPROF_SIM_COMPUTE": "1"}
SECONDS = 60
FOLDER = tempfile.mkdtemp(prefix="probe_record.")
atexit.register(shutil.rmtree, FOLDER)


def run(*arguments, **variables):
    return subprocess.run([tap.PROGRAM, *arguments], cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **SIMULATED, **variables}, timeout=SECONDS)


def record(mode, *options, **variables):
    """What the timeline has, and what the report says of the recording."""
    profile, trace = os.path.join(FOLDER, "a.xpu"), os.path.join(FOLDER, "a.json")
    done = run("record", "--gpu-only", *options, "-o", profile, "-o", trace, "--", TARGET, SHAPES, mode, **variables)
    report = json.loads(run("report", "--probes", "--json", profile).stdout)
    with open(trace, encoding="utf-8") as f:
        return done, json.load(f)["traceEvents"], report


def of(events, category):
    return [e for e in events if e.get("cat") == category]


def works(events):
    """How much work of each kind there is, and how many calls asked for it."""
    return [len(of(events, category)) for category in ("GPU_Kernel", "MemCopy", "MemSet", "CUDA_DRIVER_API", "CUDA")]


def is_inside(block, kernel):
    # The times of a timeline are microseconds, in floating point.
    return kernel["ts"] - 0.5 <= block["ts"] and block["ts"] + block["dur"] <= kernel["ts"] + kernel["dur"] + 0.5


def check_blocks(mode, kernels, **variables):
    _, plain, _ = record(mode, **variables)
    done, events, report = record(mode, "--probe", "blocks", **variables)
    found, blocks = report["probes"], of(events, "GPU_Block")
    tap.result(works(events) == works(plain) and len(of(events, "GPU_Kernel")) == kernels,
               f"{mode}: the recording has the program's work, and none of ours", works(events), works(plain), done.stderr)
    tap.result(found["records_found"] == found["records_joined"] == BLOCKS * kernels, f"{mode}: each block is of a launch that was recorded",
               found["records_found"], found["records_joined"])
    wrong = []
    for kernel in of(events, "GPU_Kernel"):
        mine = [b for b in blocks if b["pid"] == kernel["pid"] and b["args"]["correlationId"] == kernel["args"]["correlationId"]]
        if sorted(b["name"] for b in mine) != sorted(f"block {n}" for n in range(BLOCKS)) or not all(is_inside(b, kernel) for b in mine):
            wrong.append((kernel, mine[:3], len(mine)))
    tap.result(not wrong and len(blocks) == BLOCKS * kernels, f"{mode}: the timeline has each block once, in the time of its kernel", wrong[:2],
               len(blocks))
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    tap.result(blocks and all(rows.get((b["pid"], b["tid"]), "").startswith(f"SM {b['args']['sm']} blocks") for b in blocks),
               f"{mode}: the row of a block is named after its multiprocessor", blocks[:1])


def total(report, name, index=0):
    for found in report["probes"]["objects"][index]["maps"]:
        if found["name"] == name:
            return sum(e["value"] for e in found["entries"])
    return -1


def check_maps():
    profile = os.path.join(FOLDER, "b.xpu")
    done = run("probe", "blocktime", "-e", "smload", "-o", profile, "--", TARGET, SHAPES, "launch")
    text = run("report", "--probes", profile)
    tap.result(not done.returncode and f"  {3 * BLOCKS * THREADS:,} threads\n" in text.stdout and "smload: load of each multiprocessor" in text.stdout,
               "probe -o records, and report --probes has the tables of both tools", done.stderr, text.stdout, text.stderr)
    live = json.loads(run("probe", "blocktime", "--json", "--", TARGET, SHAPES, "launch").stdout.split("\n", 1)[1])
    report = json.loads(run("report", "--probes", "--json", profile).stdout)
    shape = [[m["name"], m["kind"], m["added_up"]] for m in live["objects"][0]["maps"]]
    tap.result(shape == [[m["name"], m["kind"], m["added_up"]] for m in report["probes"]["objects"][0]["maps"]]
               and [k["name"] for k in report["probes"]["kernels"]] == [k["name"] for k in live["kernels"]], "maps and kernels are as those of probe", shape, report["probes"])
    done, _, report = record("contexts", "--probe", "blocktime", XPUPROF_SIM_DEVICES="2")
    tap.result(total(report, "nanoseconds") == 12 * BLOCKS * THREADS, "contexts of two devices are added up", report["probes"])
    text = run("report", "--probes", os.path.join(FOLDER, "a.xpu")).stdout
    tap.result("blocktime: time of threads in kernels, device 1\n" in text, "and each device has its tables", text)


def check_snapshots():
    """What changes in maps is written again and again: the report is the same, and a recording that is cut short has what was there."""
    profile, cut = os.path.join(FOLDER, "f.xpu"), os.path.join(FOLDER, "g.xpu")
    for tool, name in (("blocktime", "nanoseconds"), ("threadhist", "runs"), ("memheat", "bytes")):
        sizes = []
        for options in ((), ("--probe-interval", "0.02")):
            done = run("record", "--gpu-only", "--probe", tool, *options, "-o", profile, "--", TARGET, SHAPES, "checked", "dlsym", "30")
            report = json.loads(run("report", "--probes", "--json", profile).stdout)
            wanted = 30 * (12 * 5000 if tool == "memheat" else BLOCKS * THREADS)
            tap.result(not done.returncode and total(report, name) == wanted and not report["probes"]["unreadable"],
                       f"{tool} {' '.join(options)}: the sum is that of all", total(report, name), wanted, done.stderr)
            sizes.append(len(report["probes"]["objects"][0]["maps"][0]["entries"]))
        tap.result(tool != "threadhist" or sizes[0] == sizes[1], f"{tool}: and each entry is there once", sizes)
        if tool == "blocktime":
            part = json.loads(run("report", "--probes", "--json", "--to", "10ms", profile).stdout)
            tap.result(total(part, name) == wanted, "of a part of the recording, maps are as at the end", total(part, name))
    target = subprocess.Popen([tap.PROGRAM, "probe", "blocktime", "-i", "0.05", "-o", cut, "--", TARGET, SHAPES, "on-and-on"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **SIMULATED})
    # Chunks are written each second.
    deadline, found = time.monotonic() + SECONDS, 0
    while not found and time.monotonic() < deadline:
        time.sleep(0.2)
        read = run("report", "--probes", "--json", cut)
        found = total(json.loads(read.stdout), "nanoseconds") if not read.returncode and read.stdout else 0
    target.kill()
    target.communicate()
    report = json.loads(run("report", "--probes", "--json", cut).stdout)
    tap.result(found > 0 and total(report, "nanoseconds") >= found, "a recording that is cut short has maps", found, total(report, "nanoseconds"))


def check_stopped():
    """A program that is stopped says nothing: snapshots have those of another that goes on, and the recorder waits without haste."""
    cut, pids = os.path.join(FOLDER, "k.xpu"), os.path.join(FOLDER, "pids")
    script = 'for n in 1 2; do "$@" <"$0.input" & echo $! >>"$0"; done; wait'
    os.mkfifo(pids + ".input")
    holder = os.open(pids + ".input", os.O_RDWR)
    recorder = subprocess.Popen([tap.PROGRAM, "probe", "blocktime", "-i", "0.05", "-o", cut, "--", "sh", "-c", script, pids, TARGET, SHAPES, "on-and-on"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, **SIMULATED})

    def found():
        read = run("report", "--probes", "--json", cut)
        report = json.loads(read.stdout) if not read.returncode and read.stdout else None
        return total(report, "nanoseconds") if report and report["probes"]["objects"] else 0

    def wait_for(condition, seconds=SECONDS):
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.3)
        return condition()

    def cpu():
        with open(f"/proc/{recorder.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    tap.result(wait_for(lambda: found() > 0), "two programs are recorded")
    with open(pids, encoding="utf-8") as f:
        stopped, other = map(int, f.read().split())
    os.kill(stopped, signal.SIGSTOP)
    begun, used, seen = time.monotonic(), cpu(), []
    # The first that comes may be of before; of each later one the program that goes on has written more.
    for _ in range(4):
        before = found()
        if not wait_for(lambda before=before: found() > before):
            break
        seen.append(before)
    share = (cpu() - used) / (time.monotonic() - begun)
    tap.result(len(seen) == 4, "one is stopped, and what the other finds is written", seen)
    tap.result(share < 0.5, "while the recorder is not busy with waiting", share)
    os.kill(stopped, signal.SIGCONT)
    os.write(holder, b"\n")
    said = recorder.communicate(timeout=SECONDS)[1]
    os.close(holder)
    tap.result(not recorder.returncode and found() > seen[-1] if seen else False, "both go on to their end", recorder.returncode, said)
    report = json.loads(run("report", "--json", cut).stdout)
    tap.result(report["losses"]["probe_late"] > 0, "and that one did not answer in time is counted", said)


def bytes_of(cell):
    """Of "0x7f75d3210000: 1.03 MB, from 0 ns on"."""
    number, unit = re.search(r": ([0-9.]+) (k|M|G|)B,", cell).groups()
    return float(number) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[unit]


def check_picture():
    profile, picture = os.path.join(FOLDER, "h.xpu"), os.path.join(FOLDER, "h.memheat.svg")
    run("record", "--gpu-only", "--probe", "memheat", "-o", profile, "-o", picture, "--", TARGET, SHAPES, "checked", "dlsym", "30")
    done = run("export", "--to", "memheat", profile)
    with open(picture, encoding="utf-8") as f:
        tap.result(f.read() == done.stdout, "record and export draw the same picture", done.stderr)
    root = xml.etree.ElementTree.fromstring(done.stdout)
    cells = [r[0].text for r in root.iter("{http://www.w3.org/2000/svg}rect") if len(r)]
    found = json.loads(run("report", "--probes", "--json", profile).stdout)["probes"]["objects"][0]["maps"][0]["entries"]
    wanted = {}
    for e in found:
        place = e["key"]["number"] << 16, e["key"]["time"]
        wanted[place] = wanted.get(place, 0) + e["value"]
    tap.result(len(cells) == len(wanted) > 1 and {c.split(":")[0] for c in cells} == {hex(page) for page, _ in wanted},
               "each page and time that has bytes is a cell", cells[:5], list(wanted.items())[:5])
    drawn, most = max(map(bytes_of, cells)), max(wanted.values())
    tap.result(0.99 < drawn / most < 1.01 and "simulated GPU" in done.stdout, "with how many they are", cells[:5], drawn, most)
    run("record", "--gpu-only", "--probe", "blocks", "-o", profile, "--", TARGET, SHAPES, "launch")
    done = run("export", "--to", "memheat", profile)
    tap.result(done.returncode == 1 and "record --probe memheat' records it" in done.stderr and not done.stdout, "what was not recorded is not drawn", done.stderr)


def check_annotated():
    profile = os.path.join(FOLDER, "i.xpu")
    said = run("record", "--gpu-only", "--stalls", "--probe", "coalesce", "-o", profile, "--", TARGET, SHAPES, "checked", "dlsym", "10").stderr
    done = run("annotate", "vector_add", profile)
    # 32 numbers of 4 bytes are one line; 157 of the warps access something, three times.
    rows = [line.split() for line in done.stdout.splitlines() if "access " in line]
    tap.result(sorted(rows) == [["1.00", "1.00", "1,570", "access", str(n)] for n in range(3)] and "why" not in done.stderr,
               "annotate shows coalescing beside stall reasons", rows, done.stdout[:1500], done.stderr, said)
    run("record", "--gpu-only", "--stalls", "--probe", "blocks", "-o", profile, "--", TARGET, SHAPES, "checked", "dlsym", "10")
    done = run("annotate", "vector_add", profile)
    tap.result(not done.returncode and "coalesce" not in done.stdout, "and nothing of it where that was not recorded", done.stdout[:1500])


def check_weight():
    profile = os.path.join(FOLDER, "j.xpu")
    run("record", "--gpu-only", "--probe", "blocks", "-o", profile, "--", TARGET, SHAPES, "launch")
    records = json.loads(run("export", "--to", "chrome", profile).stdout)["traceEvents"]
    blocks = sum(round(b["dur"] * 1000) for b in records if b.get("cat") == "GPU_Block")
    done = run("export", "--to", "folded", "--unit", "ns", "--view", "gpu", "--weight", "block-time", profile)
    lines = done.stdout.splitlines()
    tap.result(len(lines) == 1 and "vector_add" in lines[0] and abs(int(lines[0].split()[-1]) - blocks) <= BLOCKS * 3,
               "the weight of a kernel can be the time of its blocks", lines, blocks, done.stderr)
    picture = run("flame", "--view", "gpu", "--weight", "block-time", "-o", "-", profile).stdout
    tap.result("widths are the time of blocks" in picture and "block time " in picture and "GPU time " not in picture.split("<script")[0], "which a picture says",
               picture[:2000])
    run("record", "--gpu-only", "-o", profile, "--", TARGET, SHAPES, "launch")
    done = run("export", "--to", "folded", "--view", "gpu", "--weight", "block-time", profile)
    tap.result(done.returncode == 1 and "record --probe blocks' records them" in done.stderr, "without blocks there is none", done.stderr)
    for options in (("--view", "cpu"), ("--view", "gpu", "--to", "1ms")):
        done = run("flame", *options, "--weight", "block-time", profile)
        tap.result(done.returncode == 2 and "--weight block-time is about" in done.stderr, f"nor with {' '.join(options)}", done.stderr)


def check_late():
    for mode, launches in (("launch", 3), ("graph", 5)):
        _, events, report = record(mode, "--probe", "launchlate")
        calls = {e["args"]["correlationId"]: e for e in events if e.get("cat") in ("CUDA_Driver", "CUDA_Runtime")}
        kernels = of(events, "GPU_Kernel")
        late = [k["ts"] - calls[k["args"]["correlationId"]]["ts"] for k in kernels]
        found = report["probes"]["first_blocks"]["kernels"]
        # The first block begins with its kernel, or up to the end of the kernel later.
        tap.result([(k["name"], k["count"]) for k in found] == [("vector_add", launches)] and found[0]["min_ns"] / 1000 >= min(late) - 0.01
                   and found[0]["max_ns"] / 1000 <= max(late) + max(k["dur"] for k in kernels), f"{mode}: how late kernels begin after their call",
                   found, late)


def check_files():
    done, _, report = record("launch", "--probe", OBJECT, "--probe-only", "vector_add")
    names = [m["name"] for m in report["probes"]["objects"][0]["maps"]]
    tap.result(not done.returncode and names and report["probes"]["kernels"], "an object file is in the recording, with its types", report["probes"],
               done.stderr)
    slow = "map 'counts' of '" + OBJECT + "' is slow: programs in every thread use atomics on it"
    tap.result(slow in done.stderr, "a map that threads wait for is named", done.stderr)
    done = run("probe", "-e", OBJECT, "--warp", "--", TARGET, SHAPES, "launch")
    tap.result(not done.returncode and "is slow" not in done.stderr, "and not where one thread of a warp runs the program", done.stderr)
    done, _, report = record("launch", "--probe", "blocks", "--probe-only", "no_such_kernel")
    tap.result(not done.returncode and "no kernel was loaded that the programs of --probe are for" in done.stderr
               and not report["probes"]["kernels"], "a recording without such kernels says so", done.stderr)
    plain = os.path.join(FOLDER, "c.xpu")
    run("record", "-o", plain, "--", TARGET, SHAPES, "launch")
    text = run("report", "--probes", plain)
    tap.result(not text.returncode and "No programs ran inside GPU kernels in this recording" in text.stdout, "so does one without programs",
               text.stdout)


def check_sizes():
    def kernels(*options):
        done = run("probe", "coalesce", "--json", *options, "--", TARGET, SHAPES, "launch")
        return done, json.loads(done.stdout.split("\n", 1)[1])["kernels"]

    done, measured = kernels("--kernels")
    tap.result(measured and all(k["with"]["registers"] > k["without"]["registers"] > 0 and k["with"]["warps"] <= k["without"]["warps"]
                                and k["with"]["local_bytes"] == k["without"]["local_bytes"] for k in measured),
               "--kernels: what kernels take with programs and without", measured)
    fewer = sum(k["with"]["warps"] < k["without"]["warps"] for k in measured)
    tap.result(fewer and f"xpuprof: {fewer} kernels have fewer warps at once" in done.stderr, "and how many of them are slower for that", fewer, done.stderr)
    done, plain = kernels()
    tap.result([k["name"] for k in plain] == [k["name"] for k in measured] and not any("with" in k for k in plain)
               and "fewer warps" not in done.stderr, "without it no image is loaded twice", plain, done.stderr)
    profile = os.path.join(FOLDER, "e.xpu")
    run("probe", "coalesce", "--kernels", "-o", profile, "--", TARGET, SHAPES, "launch")
    recorded = json.loads(run("report", "--probes", "--json", profile).stdout)["probes"]["kernels"]
    tap.result(recorded == measured, "a recording has the same", recorded, measured)


def check_long_names():
    """Names of kernels are the program's: one that takes more of the stack to be made readable than a thread has."""
    path = os.path.join(FOLDER, "long.ptx")
    with open(SHAPES, encoding="utf-8") as shapes, open(path, "w", encoding="utf-8") as text:
        text.write(shapes.read() + "\n.visible .entry _Z1f" + 7000 * "P" + "i()\n{\n\tret;\n}\n")
    done = run("probe", "blocktime", "-k", "*vector_ad?", "--", TARGET, path, "thin")
    tap.result(not done.returncode and f"  {3 * BLOCKS * THREADS:,} threads\n" in done.stdout, "names are not made readable on the program's stack",
               done.returncode, done.stdout, done.stderr)


def check_use():
    for arguments, why in ((("record", "--probe", "blocks", "--cpu-only", "--", "true"), "--probe is about GPU work"),
                           (("record", "--probe", "blocks", "-p", "1"), "--probe needs a command"),
                           (("record", "--probe-only", "x", "--", "true"), "--probe-only needs --probe"),
                           (("record", "--probe-interval", "1", "--", "true"), "--probe-interval needs --probe"),
                           (("probe", "blocks", "-o", "x.xpu", "--json", "--", "true"), "-o records")):
        done = run(*arguments)
        tap.result(done.returncode == 2 and why in done.stderr, f"wrong use: {' '.join(arguments)}", done.returncode, done.stderr)
    done = run("record", "--probe", "/nonexistent.bpf.o", "-o", os.path.join(FOLDER, "d.xpu"), "--", TARGET, SHAPES, "launch")
    tap.result(done.returncode == 1 and "/nonexistent.bpf.o" in done.stderr and not os.path.exists(os.path.join(FOLDER, "d.xpu")),
               "a file that is not there ends it, and no recording is left", done.stderr)


def check_taken():
    """Another tool has CUPTI: there is no GPU work in the recording, and what programs found is."""
    profile = os.path.join(FOLDER, "taken.xpu")
    done = run("record", "--gpu-only", "--probe", "blocktime", "-o", profile, "--", TARGET, SHAPES, "launch", XPUPROF_SIM_FAULTS="subscriber-before")
    report = json.loads(run("report", "--probes", "--json", profile).stdout)
    losses = json.loads(run("report", "--json", profile).stdout)["losses"]
    tap.result(not done.returncode and "3" in done.stdout.split() and total(report, "nanoseconds") == 3 * BLOCKS * THREADS,
               "where CUPTI is taken, programs run", report["probes"], done.stderr)
    tap.result(losses["gpu_taken"] == 1, "and it is said", losses)


def check():
    check_taken()
    check_blocks("launch", 3)
    check_blocks("graph", 5)
    check_blocks("contexts", 12, XPUPROF_SIM_DEVICES="2")
    check_maps()
    check_snapshots()
    check_stopped()
    check_picture()
    check_weight()
    check_annotated()
    check_late()
    check_files()
    check_sizes()
    check_long_names()
    check_use()


tap.main(check, why_not)

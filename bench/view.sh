#!/bin/sh
# SPDX-License-Identifier: MIT
# How fast `xpuprof view` answers over PAIRS launches with their work (two events each), and how much memory it takes: until
# the first picture, until all is read, the flame graph of ranges and of all, the time axis, and the report. Five recordings:
# 8 GPUs with 1,000 operations (bench/profile_gen.c), one GPU with 3,000 stacks, and one with a million, of launches that each
# are from another (bench/pipeline.c); 100,000 launches with a million rows of samples of instructions; and as many events of
# 16 threads that wait for each other and for the GPU (bench/wall_gen.c). The first flame graphs of stalls and of elapsed time
# are read from the file. CPU is the server's.
#
#	bench/view.sh [PAIRS [RANGES]]
build=$("$(dirname "$0")/needs" xpuprof bench/pipeline bench/profile_gen bench/wall_gen) || exit
pairs=${1:-5000000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$build/bench/profile_gen" "$work/8-gpus.xpu" "$pairs" || exit 1
"$build/bench/pipeline" -n "$pairs" "$work/1-gpu.xpu" || exit 1
"$build/bench/pipeline" -n "$pairs" -s 1000000 "$work/stacks.xpu" || exit 1
"$build/bench/profile_gen" "$work/stalls.xpu" 100000 1000000 || exit 1
"$build/bench/wall_gen" "$work/waits.xpu" $((2 * pairs)) || exit 1
PYTHONPATH=$(dirname "$0") python3 - "$build/xpuprof" "$work" "$pairs" "${2:-20}" <<'END_OF_PYTHON'
import http.client, json, os, random, signal, statistics, subprocess, sys, time, urllib.parse
from results import note
program, work, pairs, ranges = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
TICK = os.sysconf("SC_CLK_TCK")


class Viewer:
    def __init__(self, path):
        self.start = time.monotonic()
        self.process = subprocess.Popen([program, "view", "--no-browser", path], stdout=subprocess.PIPE, text=True)
        self.host, self.secret = self.process.stdout.readline().strip()[len("http://"):].split("/", 1)

    def ask(self, name, **words):
        connection = http.client.HTTPConnection(self.host, timeout=100)
        connection.request("GET", "/" + self.secret + name + ("?" + urllib.parse.urlencode(words) if words else ""))
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            sys.exit(f"{name}: {answer.status} {text.decode()}")
        return text

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def peak_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


def measured(viewer, call, times):
    walls, before = [], viewer.cpu()
    for n in range(times):
        start = time.monotonic()
        call(n)
        walls.append(time.monotonic() - start)
    return walls, (viewer.cpu() - before) / times


def show(what, walls, cpu, file, limit):
    print(f"{file:7} {what:34} {1e3 * statistics.median(walls):9.0f} {1e3 * max(walls):9.0f} {1e3 * cpu:9.0f}   {limit}")
    note(f"`view`, {what}, {file}", f"{1e3 * statistics.median(walls):.0f} ms, {1e3 * max(walls):.0f} at most ({1e3 * cpu:.0f} ms of CPU)", limit)


def first_picture(viewer):
    viewer.ask("")
    about = json.loads(viewer.ask("about.json", partial=1))
    rows = ",".join(map(str, range(min(len(about["rows"]), 60))))
    columns = {"from": 0, "to": 1000 * about["column_ns"] * (about["elapsed_ns"] // (1000 * about["column_ns"]) + 1), "columns": 1000}
    viewer.ask("sums.json", partial=1, **columns)
    viewer.ask("timeline.json", partial=1, rows=rows, **columns)
    return about, rows, columns


def until_whole(viewer):
    while not json.loads(viewer.ask("about.json", partial=1))["whole"]:
        time.sleep(0.05)


def measure(file):
    viewer = Viewer(os.path.join(work, file + ".xpu"))
    about, rows, columns = first_picture(viewer)
    show("command to first picture", [time.monotonic() - viewer.start], viewer.cpu(), file, "1 s")
    until_whole(viewer)
    show("everything read", [time.monotonic() - viewer.start], viewer.cpu(), file, "4 s")
    random.seed(1)
    pieces = [sorted(random.sample(range(about["elapsed_ns"]), 2)) for _ in range(ranges)]
    views = {"stalls": ("stall",), "waits": ("wall", "off-cpu")}.get(file, ("merge", "gpu"))
    if views[0] in ("stall", "wall"):
        show(f"first flame graph ({views[0]})", *measured(viewer, lambda n: viewer.ask("flame.svg", view=views[0]), 1), file, "")
    for view in views:
        walls = measured(viewer, lambda n: viewer.ask("flame.svg", view=view, **{"from": pieces[n][0], "to": pieces[n][1]}), ranges)
        show(f"flame graph of a range ({view})", *walls, file, "100 ms")
    show("flame graph of all", *measured(viewer, lambda n: viewer.ask("flame.svg"), 3), file, "100 ms")
    show("time axis, all", *measured(viewer, lambda n: viewer.ask("timeline.json", rows=rows, **columns), 5), file, "")
    middle = about["elapsed_ns"] // 2
    show("time axis, a hundredth", *measured(viewer, lambda n: viewer.ask("timeline.json", rows=rows, **{"from": middle, "to": middle + about["elapsed_ns"] // 100,
        "columns": 1000}), 5), file, "")
    show("search on the time axis", *measured(viewer, lambda n: viewer.ask("find.json", text="la", **{"from": n * middle // 5}), 10), file, "50 ms")
    show("report of a hundredth", *measured(viewer, lambda n: viewer.ask("report.txt", **{"from": middle, "to": middle + about["elapsed_ns"] // 100}), 3), file, "")
    show("report of all", *measured(viewer, lambda n: viewer.ask("report.txt"), 1), file, "2 s")
    print(f"{file:7} peak memory of the server: {viewer.peak_mib():.0f} MiB (300)")
    note(f"`view`, peak memory of the server, {file}", f"{viewer.peak_mib():.0f} MiB", "300 MiB")
    viewer.process.send_signal(signal.SIGINT)
    viewer.process.wait()


print(f"{pairs:,} launches with their work, {ranges} ranges\n\nprofile what                                 median ms   most ms    CPU ms   limit")
for profile in "8-gpus", "1-gpu", "stacks", "stalls", "waits":
    measure(profile)
END_OF_PYTHON

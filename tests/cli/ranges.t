#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A part of a recording, by --from, --to, --thread and --device.

Recordings of random events of all kinds (tests/helpers/range_profile.c) are divided at random times. What `export`
and `report` have of the parts must add up to what they have of the whole: to the nanosecond, for each stack and each
row. Then what is cut and counted where is compared with events that are known, and wrong ranges with what is said."""
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

HELPERS = os.path.join(tap.BUILD, "tests", "helpers")
RECORDING_NS = 10**9
SPLITS = 1 if os.path.basename(tap.BUILD) == "san" else 6  # of each recording
VIEWS = [("--view", view) for view in ("merge", "gpu", "cpu", "calls", "off-cpu", "wall", "stall")] + [
    ("--view", "stall", "--latency"),
    ("--view", "stall", "--weight", "samples"),
    ("--view", "gpu", "--by", "process,thread,device,stream"),
    ("--view", "wall", "--by", "process"),
    ("--view", "stall", "--lines", "--graph-stack", "both"),
]


def helper(name, *arguments):
    tap.run(os.path.join(HELPERS, name), *map(str, arguments))


def xpuprof(*arguments):
    done = subprocess.run([tap.PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def folded(file, *options):
    status, out, err = xpuprof("export", "--to", "folded", "--unit", "ns", *options, file)
    sums = Counter()
    for line in out.splitlines():
        stack, _, count = line.rpartition(" ")
        sums[stack] += int(count)
    if status:
        tap.result(False, f"export {' '.join(map(str, options))} {file} succeeds", err)
    return +sums


def parts_of(cuts):
    """Options for the stretches between these times, the first and the last without an end."""
    edges = [None, *cuts, None]
    for begin, end in zip(edges, edges[1:]):
        yield [*(["--from", f"{begin}ns"] if begin is not None else []), *(["--to", f"{end}ns"] if end is not None else [])]


def random_cuts(count):
    return sorted(random.sample(range(1, RECORDING_NS), count))


def difference(whole, parts):
    return [f"{key}: whole {whole.get(key, 0)}, parts {parts.get(key, 0)}" for key in sorted(set(whole) | set(parts), key=str)
            if whole.get(key, 0) != parts.get(key, 0)]


def perf_script(file, *options):
    """Its time by thread, kind of event and stack."""
    sums, out = Counter(), xpuprof("export", "--to", "perf-script", *options, file)[1]
    for text in out.split("\n\n"):
        head, _, stack = text.strip().partition("\n")
        found = re.fullmatch(r"(.*) \[\d+\] [0-9.]+: +(\d+) (.*):", head)
        if found:
            sums[found[1], found[3], stack] += int(found[2])
    return +sums


def check_events(file):
    """So do events one by one, which their formats have in a new order."""
    whole, wrong = perf_script(file), []
    for _ in range(SPLITS):
        cuts = random_cuts(random.choice((1, 2, 5)))
        parts = Counter()
        for part in parts_of(cuts):
            parts.update(perf_script(file, *part))
        wrong += [f"cut at {cuts}: {line}" for line in difference(whole, parts)]
    tap.result(whole and not wrong, f"{file}: parts add up to the whole of perf-script", *(wrong or ["nothing is in it"])[:20])


def check_folded(file):
    for view in VIEWS:
        whole = folded(file, *view)
        wrong = []
        for _ in range(SPLITS):
            cuts = random_cuts(random.choice((1, 2, 5)))
            parts = Counter()
            for part in parts_of(cuts):
                parts.update(folded(file, *view, *part))
            wrong += [f"cut at {cuts}: {line}" for line in difference(whole, parts)]
        tap.result(whole and not wrong, f"{file}: parts add up to the whole of {' '.join(view)}", *(wrong or ["nothing is in it"])[:20])


# What adds up: sums of times and numbers of what began. What is largest, smallest, typical or a share does not.
ADDED = {"samples", "cpu_ns", "works", "gpu_ns", "elapsed_ns", "total_ns", "count", "bytes", "failed", "work_ns", "busy_ns", "self_ns",
         "self_samples", "queued_ns", "jobs", "run_ns", "foreign_jobs", "foreign_run_ns", "launches", "latency", "issuing",
         "idle_ns", "span_ns", "kernels_ns", "transfers_ns", "not_sampled_ns"}
# A row is known by these; what else is in it are names of the longest, or follow from them.
NAMES = ("linker_name", "name", "kind", "source", "target", "api", "number", "device", "tid", "pid", "reason", "cause", "thread", "work",
         "ring", "offset", "image", "observed", "file", "line")
PATHS = {"gpu_waits": ("path", "launch_path"), "rows": ("path",)}
# A path is that of the longest only; what lists or guesses has no sums; percentiles are of what there is.
LEFT_OUT = {"gaps", "run_time", "queue_delay", "events", "meta", "losses", "stacks", "min_ns", "due", "wakers", "others"}


def sums_of(value, where=(), sums=None):
    sums = Counter() if sums is None else sums
    if isinstance(value, dict):
        if where and where[-1] == "idle_ns":
            return sums  # of a process: in proportion to its gaps
        for key, inner in value.items():
            if key in LEFT_OUT:
                continue
            if isinstance(inner, (dict, list)):
                sums_of(inner, where + (key,), sums)
            elif key in ADDED or (where and where[-1] in ("reasons_ns", "launches_without_work", "works_without_stack")):
                sums[where + (key,)] += inner
    else:
        for row in value:
            if isinstance(row, dict):
                name = tuple(str(row.get(key)) for key in NAMES + PATHS.get(where[-1], ()))
                sums_of(row, where + (name,), sums)
    return sums


def report(file, *options):
    status, out, err = xpuprof("report", "--json", *options, file)
    if status:
        tap.result(False, f"report {' '.join(options)} {file} succeeds", err)
        return {}
    return json.loads(out)


def check_report(file, *options):
    whole = +sums_of(report(file, *options))
    wrong = []
    for _ in range(SPLITS):
        cuts = random_cuts(random.choice((1, 2, 5)))
        parts = Counter()
        for part in parts_of(cuts):
            parts.update(sums_of(report(file, *options, *part)))
        wrong += [f"cut at {cuts}: {line}" for line in difference(whole, +parts)]
    tap.result(len(whole) > 40 and not wrong, f"{file}: parts add up to the whole of report {' '.join(options)}", len(whole), *wrong[:30])


def check_threads_and_devices(file):
    for view, threads in (("gpu", True), ("cpu", True), ("merge", True), ("calls", True), ("off-cpu", True), ("wall", True), ("gpu", False)):
        names = ["thread0", "101", "thread2", "0"] if threads else ["0", "1"]
        parts = Counter()
        for name in names:
            parts.update(folded(file, "--view", view, "--thread" if threads else "--device", name))
        wrong = difference(folded(file, "--view", view), parts)
        tap.result(not wrong, f"{file}: {'threads' if threads else 'devices'} add up to the whole of {view}", *wrong[:20])
    kernels = sum(folded(file, "--view", "stall").values())
    parts = sum(sum(folded(file, "--view", "stall", "--thread", name).values()) for name in ("thread0", "thread1", "thread2", "0"))
    tap.result(kernels == parts, f"{file}: and to the GPU time of the stall view", kernels, parts)
    both = folded(file, "--view", "gpu", "--device", 1, "--thread", "thread2", "--from", "0.3s", "--to", "+100ms", "--by", "thread,device")
    tap.result(both and all("thread2-102" in stack and "GPU1" in stack.replace("[GPU1_Kernel]", "GPU1") for stack in both),
               f"{file}: a thread, a device and a stretch of time can be chosen at once", *list(both)[:3])
    by_name = folded(file, "--view", "gpu", "--device", "Example GPU")
    tap.result(by_name == folded(file, "--view", "gpu"), f"{file}: a device's name means all that are called so")


def check_gpu_sums(file):
    """The time in a stretch, against intervals taken from the timeline."""
    status, out, _ = xpuprof("export", "--to", "chrome", "--view", "gpu", file)
    works = [(round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in json.loads(out)["traceEvents"]
             if e.get("ph") == "X" and e.get("cat") in ("GPU_Kernel", "MemCopy", "MemSet")]
    begin = report(file)["meta"]["start_ns"]
    for _ in range(5):
        a, b = sorted(int(begin) + cut for cut in random_cuts(2))
        expected = sum(max(0, min(b, start + length) - max(a, start)) for start, length in works)
        shown = sum(folded(file, "--view", "gpu", "--from", f"{a - int(begin)}ns", "--to", f"+{b - a}ns").values())
        tap.result(works and shown == expected, f"{file}: {a} to {b} has the GPU time that overlaps it", shown, expected, len(works))
        counted = report(file, "--from", f"{a - int(begin)}ns", "--to", f"+{b - a}ns")["works"]
        tap.result(counted == sum(a <= start < b for start, _ in works), "and as much work as begins there", counted)


def check_texts(file):
    status, out, err = xpuprof("report", "--from", "0.25s", "--to", "+500ms", "--thread", "thread0", file)
    tap.result(re.search(r"^range +0\.25 s to 0\.75 s of 1 s, thread thread0$", out, re.M) and re.search(r"^elapsed +500 ms$", out, re.M),
               "the report says which part it is of", out[:400], err)
    tap.result(report(file, "--from", "0.25s")["range"] == "0.25 s to 1 s of 1 s", "so does its JSON")
    tap.result(report(file)["range"] is None, "which has none for all of it")
    status, out, err = xpuprof("flame", "-o", "-", "--from", "0.25s", "--to", "0.5s", file)
    tap.result(status == 0 and "range 0.25 s to 0.5 s of 1 s" in out and "elapsed 250.000 ms" in out, "so does a picture", err, out[:3000])
    status, out, err = xpuprof("export", "--to", "folded", "--from", "0.25s", file)
    tap.result(status == 0 and err == "xpuprof: the folded output has 0.25 s to 1 s of 1 s\n", "text that has no place for it is said what it has", err)
    status, out, err = xpuprof("annotate", "--from", "0.25s", "kernel1", file)
    tap.result(status == 0 and re.search(r"^range +0\.25 s to 1 s of 1 s$", out, re.M), "so does an annotated kernel", out[:300], err)
    status, out, err = xpuprof("annotate", "-o", "k.html", "--from", "0.25s", "kernel1", file)
    tap.result(status == 0 and "only a part is shown: 0.25 s to 1 s of 1 s" in open("k.html").read(), "and its page", err)
    tap.result(folded(file, "--from", "200ms", "--to", "12:00:00.5") == folded(file, "--from", "2026-05-01T12:00:00.2", "--to", "0.5")
               == folded(file, "--from", "200000us", "--to", "+300ms"), "times of day are times since the start")
    status, out, err = xpuprof("export", "--to", "chrome", "--to", "300ms", "-o", "p.json", file)
    tap.result(status == 0 and "chrome output has 0 s to 0.3 s of 1 s" in err, "export --to takes a format and a time", err)
    ends = [e["ts"] * 1000 + e.get("dur", 0) * 1000 for e in json.load(open("p.json"))["traceEvents"] if "ts" in e and e.get("cat") != "CPU"]
    tap.result(ends and max(ends) <= 5.3e9 + 1, "and a timeline ends there", max(ends))


WRONG = [
    (2, ("--from", "soon"), "option '--from' takes a time such as 12.5s, 200ms, +1s (after --from) or 14:03:20, not 'soon'"),
    (2, ("--to", "5 s"), "option '--to' takes a time such as"),
    (2, ("--from", "+1s"), "takes a time from the start of the recording, not '+1s': leave out the '+'"),
    (2, ("--from", "99999999999h"), "takes a time within 500 years"),
    (1, ("--from", "0.5s", "--to", "0.5s"), "the range is empty: --to 0.5s is not after --from 0.5s"),
    (1, ("--from", "0.5s", "--to", "0.2s"), "the range is empty: --to 0.2s is not after --from 0.5s"),
    (1, ("--from", "2s"), "--from 2s is behind the end of the recording, which lasts 1 s"),
    (1, ("--to", "11:00"), "--to 11:00 is not behind the start of the recording, which lasts 1 s"),
    (1, ("--thread", "loader"), "no thread 'loader' in the recording: it has 'thread0', 'thread1', 'thread2'"),
    (1, ("--device", "7"), "no device '7' in the recording: it has '0: Example GPU', '1: Example GPU'"),
    (2, ("--device", "0", "--view", "wall"), "--device is about GPU work: the view 'wall' is of threads"),
]


def check_wrong(file):
    for status, options, text in WRONG:
        got, out, err = xpuprof("flame", "-o", "x.svg", *options, file)
        tap.result(got == status and text in err and err.count("\n") == 1 and not os.path.exists("x.svg"),
                   f"{' '.join(options)} is refused in one line", got, err)
    open("t.folded", "w").write("a;b 3\n")
    got, _, err = xpuprof("flame", "-o", "x.svg", "--from", "1s", "t.folded")
    tap.result(got == 1 and "folded text has no views, groups and times" in err, "folded text has no times", err)


def check_large():
    """One of many chunks, of which a part needs few: the others are passed over."""
    helper("sample_profile", "pairs", "large.xpu", 300000)
    for view in ("gpu", "calls"):
        whole, parts = folded("large.xpu", "--view", view), Counter()
        for part in parts_of((10**6, 10**8, 2 * 10**8 + 7, 2 * 10**8 + 1007, 5 * 10**8)):
            parts.update(folded("large.xpu", "--view", view, *part))
        tap.result(whole and whole == parts, f"parts of a file of many chunks add up to the whole of {view}", *difference(whole, parts)[:10])
    whole, parts = +sums_of(report("large.xpu")), Counter()
    for part in parts_of((10**6, 10**8, 5 * 10**8)):
        parts.update(sums_of(report("large.xpu", *part)))
    wrong = [line for line in difference(whole, +parts) if "elapsed_ns" not in line]
    tap.result(whole[("works",)] == 300000 and not wrong, "and of the report", *wrong[:10])


def check_recorded(name, views, *command):
    """A recording of a program that runs."""
    done = subprocess.run([tap.PROGRAM, "record", "-q", "-o", f"{name}.xpu", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not os.path.exists(f"{name}.xpu"):
        print(f"# not recorded here: {done.stderr.strip()}")
        return
    elapsed_ns = report(f"{name}.xpu")["elapsed_ns"]
    for view in views:
        whole, wrong = folded(f"{name}.xpu", "--view", view), []
        for _ in range(3):
            cuts, parts = sorted(random.sample(range(1, elapsed_ns), 3)), Counter()
            for part in parts_of(cuts):
                parts.update(folded(f"{name}.xpu", "--view", view, *part))
            wrong += [f"cut at {cuts}: {line}" for line in difference(whole, parts)]
        tap.result(not wrong, f"recorded, {name}: parts add up to the whole of {view}", *wrong[:10])


def check_programs():
    simulated = ["env", f"LD_LIBRARY_PATH={os.path.join(tap.BUILD, 'sim')}", os.path.join(tap.BUILD, "demo", "train"), "--seconds", "0.5"]
    busy = [sys.executable, "-c", "import time, threading\ndef f():\n while time.time() < end: sum(range(999)); time.sleep(.001)\n"
            "end = time.time() + .6\nt = [threading.Thread(target=f) for _ in 'ab']\n[x.start() for x in t]; f()"]
    check_recorded("simulated", ("merge", "gpu", "cpu", "calls", "wall"), "--", *simulated)
    check_recorded("cpu", ("cpu", "wall"), "--", *busy)
    check_recorded("waits", ("cpu", "off-cpu", "wall"), "--off-cpu", "--", *busy)
    check_recorded("both", ("merge", "off-cpu", "wall"), "--off-cpu", "--", *simulated)


def check():
    seed = int(os.environ.get("XPUPROF_TEST_SEED", "1"))
    random.seed(seed)
    os.environ["TZ"] = "UTC"
    print(f"# seed {seed} (XPUPROF_TEST_SEED)")
    for number in range(2):
        file = f"random{number}.xpu"
        helper("range_profile", file, seed + number)
        check_folded(file)
        check_events(file)
        check_report(file)
        check_report(file, "--stalls")
        check_report(file, "--counters")
    helper("range_profile", "bursts.xpu", seed + 2, "bursts")
    for view in (("--view", "gpu"), ("--view", "merge"), ("--view", "stall")):
        whole, parts = folded("bursts.xpu", *view), Counter()
        for part in parts_of(random_cuts(4)):
            parts.update(folded("bursts.xpu", *view, *part))
        wrong = difference(whole, parts)
        tap.result(whole and not wrong, f"times that stand for more add up: {' '.join(view)}", *wrong[:20])
    check_large()
    check_programs()
    check_threads_and_devices("random0.xpu")
    check_gpu_sums("random1.xpu")
    check_texts("random0.xpu")
    check_wrong("random0.xpu")


tap.main(check, lambda: "")

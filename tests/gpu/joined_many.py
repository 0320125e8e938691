#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many processes, joined while they run, on real NVIDIA GPUs; as root, with PyTorch.

    tests/gpu/joined_many.py [nccl|all|idle...]

nccl: on two GPUs and on all, a process each, which sum up by NCCL: all work of every pass is there, told apart by GPU.
all: `record -a` beside ten processes of PyTorch on one GPU: each is joined, and left; what the recorder takes.
idle: `record -a` on a machine that does nothing; what the recorder takes.

$XPUPROF_BUILD and $PYTHON as tests/gpu/run has them. What is measured is printed as notes."""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

from gpu_tap import HERE, PYTHON, XPUPROF, end, folder, note, result, run, skip

ALLOWED = ("stacks_incomplete", "walk_", "python_", "tables_")
PROCESSES = 10
RECORDER_KIB = 150 * 1024
IDLE_S = 30
IDLE_SHARE = 0.001


def wait_for(holds, seconds=120):
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return holds()


def text_of(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as f:
        return f.read()


def report():
    return json.loads(run(XPUPROF, "report", "--json", "p.xpu").stdout)


def missing(losses):
    return {key: n for key, n in losses.items() if n and not key.startswith(ALLOWED)}


def processes_by_gpu():
    """{GPU: {process: {correlation: (when the call began, [names of its work])}}}"""
    calls, work, starts, found = {}, collections.defaultdict(list), {}, collections.defaultdict(dict)
    gpu_of_row, pairs = {}, set()
    for event in json.loads(run(XPUPROF, "export", "--to", "chrome", "-o", "-", "p.xpu").stdout)["traceEvents"]:
        args, category = event.get("args", {}), event.get("cat", "")
        if category.startswith("CUDA_"):
            calls[event["pid"], args["correlationId"]] = round(event["ts"] * 1000)
        elif category in ("GPU_Kernel", "MemCopy", "MemSet"):
            gpu_of_row[event["pid"]] = args["deviceId"]
            work[args["deviceId"], args["correlationId"]].append(event["name"].split("(")[0])
        elif event["ph"] == "s":
            starts[event["id"]] = event["pid"]
        elif event["ph"] == "f":
            pairs.add((event["pid"], starts[event["id"]]))
    for row, process in pairs:
        gpu = gpu_of_row[row]
        found[gpu][process] = {n: (time_ns, work[gpu, n]) for (pid, n), time_ns in calls.items() if pid == process and work.get((gpu, n))}
    return found


def work_of_passes(log, launches):
    """How often passes have which work, of those that were recorded from begin to end."""
    times, counts, at = sorted(launches.values()), collections.Counter(), 0
    for words in map(str.split, text_of(log).splitlines()):
        if words[0] != "pass" or int(words[1]) < times[0][0] + 50e6 or int(words[2]) > times[-1][0] - 50e6:
            continue
        names = []
        while at < len(times) and times[at][0] <= int(words[2]):
            names += times[at][1] if times[at][0] >= int(words[1]) else []
            at += 1
        counts[tuple(names)] += 1
    return counts


def check_nccl(count):
    what = f"{count} GPUs"
    with open("go", "w", encoding="utf-8"), open("out", "w", encoding="utf-8") as out:
        program = subprocess.Popen([PYTHON, os.path.join(HERE, "nccl_rounds.py"), str(count), "go"], stdout=out, stderr=out)
    wait_for(lambda: all("ready" in text_of(f"go.{r}") for r in range(count)) or program.poll() is not None)
    time.sleep(0.5)
    done = run(XPUPROF, "record", "-d", "3", "-o", "p.xpu", "-p", str(program.pid))
    time.sleep(0.5)
    os.unlink("go")
    program.wait()
    lasts = [text_of(f"go.{rank}").splitlines()[-1:] for rank in range(count)]
    result(lasts == [["done True"]] * count, f"{what}: all sums are right", lasts, text_of("out")[-2000:], done.stderr)
    r = report()
    result(not missing(r["losses"]) and not any(r["works_without_stack"].values()) and len(r["devices"]) == count, f"{what}: nothing is lost",
           missing(r["losses"]), r["works_without_stack"], [d["works"] for d in r["devices"]])
    by_gpu = processes_by_gpu()
    result(len(by_gpu) == count and all(len(of) == 1 for of in by_gpu.values()), f"{what}: work is told apart by GPU",
           {gpu: list(of) for gpu, of in by_gpu.items()})
    passes = {gpu: work_of_passes(f"go.{gpu}", next(iter(of.values()))) for gpu, of in sorted(by_gpu.items())}
    kinds = {names for of in passes.values() for names in of}
    result(len(kinds) == 1 and any("nccl" in name for name in min(kinds)) and all(sum(of.values()) > 100 for of in passes.values()),
           f"{what}: every pass has the same work on each", passes)
    note(f"{what}: {[sum(of.values()) for of in passes.values()]} passes of {kinds}")


def check_many_gpus():
    counted = run(PYTHON, "-c", "import torch; print(torch.cuda.device_count())").stdout
    if int(counted or 0) < 2:
        skip("work of several GPUs", "this needs two, and PyTorch")
    for count in sorted({2, int(counted or 0)}) if int(counted or 0) > 1 else ():
        check_nccl(count)


def tree_of(pid):
    found = [pid]
    for child in run("pgrep", "-P", str(pid)).stdout.split():
        found += tree_of(int(child))
    return found


def proportional_kib(pid):
    """What a process takes, pages that several share in parts; 0 when it is gone."""
    try:
        return int(re.search(r"^Pss:\s+(\d+)", text_of(f"/proc/{pid}/smaps_rollup"), re.M).group(1))
    except (AttributeError, OSError):
        return 0


def record_all(seconds):
    """What was said, and the most memory of the recorder and its processes (KiB)."""
    recorder = subprocess.Popen([XPUPROF, "record", "-a", "-d", str(seconds), "-o", "p.xpu"], stderr=subprocess.PIPE, text=True)
    most = 0
    while recorder.poll() is None:
        most = max(most, sum(map(proportional_kib, tree_of(recorder.pid))))
        time.sleep(0.5)
    return recorder.stderr.read(), most


def check_all():
    programs = []
    for n in range(PROCESSES):
        with open(f"log.{n}", "w", encoding="utf-8") as log:
            programs.append(subprocess.Popen([PYTHON, os.path.join(HERE, "torch_rounds.py")], stdin=subprocess.PIPE, stdout=log, stderr=log))
    wait_for(lambda: all("ready" in text_of(f"log.{n}") for n in range(PROCESSES)))
    time.sleep(2)
    said, most = record_all(30)
    alive = [p.poll() is None for p in programs]
    for p in programs:
        p.stdin.close()
        p.wait()
    ends = [text_of(f"log.{n}").splitlines()[-1:] for n in range(PROCESSES)]
    result(all(alive) and ends == [["done True"]] * PROCESSES, f"-a: {PROCESSES} processes go on, and end as alone", alive, ends)
    r = report()
    joined = {int(word) for word in re.findall(r"\d+", r["meta"].get("joined", ""))}
    result({p.pid for p in programs} <= joined, f"-a: all {PROCESSES} were joined", joined, said)
    lost = missing(r["losses"])
    # Whatever else looks at the GPUs of this machine meanwhile (nvidia-smi) maps the driver, too.
    note(f"-a: {lost.pop('gpu_never_connected', 0)} other processes mapped a driver")
    result(r["works"] > 0 and r["bursts"]["count"] > PROCESSES and not lost, "-a: work is recorded in bursts of all", r["works"], r.get("bursts"), lost)
    result(most < RECORDER_KIB, f"-a: the recorder takes {most / 1024:.0f} MiB at most")
    note(said)


def cpu_s_of(pids):
    return sum(int(text_of(f"/proc/{pid}/task/{task}/schedstat").split()[0]) for pid in pids
               for task in os.listdir(f"/proc/{pid}/task")) / 1e9


def check_idle():
    """When it has begun: all processes that were there are known by then."""
    recorder = subprocess.Popen([XPUPROF, "record", "-q", "-a", "-o", "p.xpu"])
    time.sleep(IDLE_S / 3)
    before_s, begin_s = cpu_s_of(tree_of(recorder.pid)), time.monotonic()
    time.sleep(IDLE_S)
    share = (cpu_s_of(tree_of(recorder.pid)) - before_s) / (time.monotonic() - begin_s)
    recorder.send_signal(signal.SIGINT)
    recorder.wait()
    result(share < IDLE_SHARE, f"-a: an idle machine costs {100 * share:.3f} % of a core")


def main():
    parts = {"nccl": check_many_gpus, "all": check_all, "idle": check_idle}
    with folder() as work:
        os.chdir(work)
        for part in sys.argv[1:] or parts:
            parts[part]()
    return end()


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record -p` on a real NVIDIA GPU: programs that run already are joined, at random times, and left again. Is everything
there that they did meanwhile, and do they go on as before? Needs root; what needs PyTorch or
JAX is left out without it.

    tests/gpu/joined.py [--joins N] [--kills N] [--parts rounds,torch,profiler,kills,jax]

With CUDA_INJECTION64_PATH set to the library the programs are prepared, and the library in them is woken.

$XPUPROF_BUILD and $PYTHON as tests/gpu/run has them. What a thread was kept from its work, and what passes took before,
during and after, is printed as notes."""
import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

from gpu_tap import BUILD, HERE, PYTHON, XPUPROF, end, folder, note, result, run, skip

sys.path.insert(0, os.path.join(HERE, ".."))
import check_rounds

PROGRAMS = [os.path.join(BUILD, "tests/programs/rounds"), os.path.join(BUILD, "tests/gpu/rounds_static")]
ALLOWED = ("stacks_incomplete", "walk_", "python_", "tables_")
NOBODY = 65534
PREPARED = "CUDA_INJECTION64_PATH" in os.environ


def told(good, name, *notes):
    result(good, name, *(() if good else notes))


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def wait_for(holds, seconds=90):
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


@contextlib.contextmanager
def running(*command, log="log", **options):
    with open(log, "w", encoding="utf-8") as out:
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT, text=True, bufsize=1, **options)
    try:
        if not wait_for(lambda: "ready" in text_of(log) or program.poll() is not None) or program.poll() is not None:
            told(False, f"{command[-1]} begins", text_of(log))
        yield program
    finally:
        program.kill()
        program.wait()


def has_library(pid):
    with contextlib.suppress(FileNotFoundError):
        return any(text_of(f"/proc/{pid}/task/{task}/comm") == "xpuprof\n" for task in os.listdir(f"/proc/{pid}/task"))
    return False


def is_left(pid):
    """No library, and none comes: who puts it in outlives the recorder."""
    return not any(has_library(pid) or time.sleep(0.05) for _ in range(20))


def record(pid, seconds, *options, path="p.xpu", before=()):
    """For so long from when the library is there: what the recorder said, and when the library came and had gone (ns)."""
    recorder = subprocess.Popen([*before, XPUPROF, "record", "-o", path, *options, "-p", str(pid)], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_for(lambda: has_library(pid) or recorder.poll() is not None, 20)
    joined_ns = time.monotonic_ns()
    time.sleep(seconds)
    recorder.send_signal(signal.SIGINT)
    err = recorder.communicate()[1]
    wait_for(lambda: not has_library(pid), 10)
    return err, joined_ns, time.monotonic_ns()


def report(path="p.xpu"):
    return json.loads(run(XPUPROF, "report", "--json", path).stdout)


def missing(path="p.xpu"):
    return {key: n for key, n in report(path)["losses"].items() if n and not key.startswith(ALLOWED)}


def whole(what, path="p.xpu", log="log"):
    wrong, compared = check_rounds.check(path, check_rounds.read_rounds(log), 10, 0.2e9)
    told(not wrong and not missing(path), f"{what}: {compared} rounds are whole", *wrong[:5], missing(path))
    if PREPARED:
        told("woken" in report(path)["meta"], f"{what}: the library that slept in it was woken", report(path)["meta"])


def check_rounds_of(command, what, before=(), joins=2, **options):
    with running(*command, "--threads", "3", "--pause", "200", **options) as program:
        pid = program.pid
        if before or command[0] == "unshare":
            pid = int(run("pgrep", "-n", "-f", "rounds --threads").stdout.split()[0])
        for _ in range(joins):
            err = record(pid, random.uniform(0.7, 1.2), before=before)[0]
            whole(what)
        os.kill(pid, signal.SIGTERM)
        program.wait()
        told(text_of("log").endswith("done\n"), f"{what}: it ends as alone", text_of("log")[-300:], err)


def read_passes(path="log"):
    """(name, begin, end) of each."""
    words = [line.split() for line in text_of(path).splitlines()]
    return [(w[0], int(w[1]), int(w[2])) for w in words if len(w) == 3 and w[0] in ("eager", "graph", "step")]


def work_of_passes(passes, path="p.xpu"):
    """How many pieces of work each pass has that was in the recording as a whole, by name."""
    calls, work = {}, collections.Counter()
    for event in json.loads(run(XPUPROF, "export", "--to", "chrome", "-o", "-", path).stdout)["traceEvents"]:
        number = event.get("args", {}).get("correlationId")
        if event.get("cat", "").startswith("CUDA_"):
            calls[number] = round(event["ts"] * 1000)
        elif event.get("cat") in ("GPU_Kernel", "MemCopy", "MemSet"):
            work[number] += 1
    times = sorted((time_ns, work[number]) for number, time_ns in calls.items() if work[number])
    begin, last, at, counts = times[0][0] + 50e6, times[-1][0] - 50e6, 0, collections.defaultdict(collections.Counter)
    for name, start, stop in passes:
        while at < len(times) and times[at][0] < start:
            at += 1
        first = at
        while at < len(times) and times[at][0] <= stop:
            at += 1
        if start > begin and stop < last:
            counts[name][sum(n for _, n in times[first:at])] += 1
    return counts, sum(work[n] for n in set(work) - set(calls))


def median_us(passes, name, begin_ns=0, end_ns=1 << 63):
    times = [(stop - start) / 1000 for n, start, stop in passes if n == name and begin_ns <= start < end_ns]
    return statistics.median(times) if times else float("nan")


def longest_us(passes, begin_ns, end_ns):
    return max([(stop - start) / 1000 for _, start, stop in passes if stop > begin_ns and start < end_ns] or [0])


def ask(program, what):
    """The program's answer to a line."""
    before = text_of("log").count(what)
    program.stdin.write({"profiled": "profile\n", "state": "state\n"}[what])
    wait_for(lambda: text_of("log").count(what) > before or program.poll() is not None, 60)
    lines = [line for line in text_of("log").splitlines() if line.startswith(what)]
    return [int(word) for word in lines[-1].split()[1:]] if lines else []


def check_torch(joins):
    """Counts, times and what stays, of passes in PyTorch."""
    with running(PYTHON, os.path.join(HERE, "torch_rounds.py")) as program:
        time.sleep(3)
        alone_ns, states, seen, spans = time.monotonic_ns(), [ask(program, "state")], collections.defaultdict(collections.Counter), []
        for n in range(joins):
            time.sleep(random.uniform(0.2, 0.6))
            asked_ns = time.monotonic_ns()
            err, joined_ns, left_ns = record(program.pid, 0.9)
            spans.append((asked_ns, joined_ns, left_ns))
            states.append(ask(program, "state"))
            if n < 3:
                counts, orphans = work_of_passes(read_passes())
                told(not missing() and not orphans, f"join {n + 1}: nothing is lost", missing(), orphans, err)
                for name, of in counts.items():
                    seen[name].update(of)
        for name in ("eager", "graph"):
            told(len(seen[name]) == 1 and sum(seen[name].values()) > 20, f"every {name} pass has the same work", dict(seen[name]))
        time.sleep(3)
        passes = read_passes()
        for name in ("eager", "graph"):
            during = [median_us(passes, name, joined + 200e6, left - 400e6) for _, joined, left in spans]
            note(f"{name}: alone {median_us(passes, name, 0, alone_ns):.1f} us, joined {statistics.median(during):.1f}, "
                 f"left {median_us(passes, name, spans[-1][2]):.1f}")
        note("longest pass, us: alone %.0f; while joining %s; while leaving %s" % (
            longest_us(passes, alone_ns - 2e9, alone_ns), [round(longest_us(passes, a, j)) for a, j, _ in spans],
            [round(longest_us(passes, e - 500e6, e)) for _, _, e in spans]))
        note(f"GPU memory, resident, mappings, descriptors, threads: before {states[0]}, after each {states[1:]}")
        told(states[2][2:] == states[-1][2:] and states[2][0] == states[-1][0], "after the second join nothing more stays", states)
        end_well(program)


def check_jax(joins):
    """Each step has the same work, the program goes on, and its last result is a number."""
    seen = collections.Counter()
    with running(PYTHON, os.path.join(HERE, "jax_rounds.py")) as program:
        for n in range(joins):
            time.sleep(random.uniform(0.2, 0.6))
            err = record(program.pid, 0.9)[0]
            counts, orphans = work_of_passes(read_passes())
            told(not missing() and not orphans, f"JAX, join {n + 1}: nothing is lost", missing(), orphans, err)
            seen.update(counts["step"])
        told(len(seen) == 1 and sum(seen.values()) > 20, "every step of JAX has the same work", dict(seen))
        note(f"work of steps: {dict(seen)}")
        end_well(program)


def check_profiler():
    """torch.profiler before, during and after. Once it has been used it holds CUPTI until the program ends."""
    worker = [PYTHON, os.path.join(HERE, "torch_rounds.py")]
    with running(*worker) as program:
        alone = ask(program, "profiled")
        told(alone[0] > 100, "torch.profiler sees kernels alone", alone)
        err = record(program.pid, 0.5)[0]
        told("another profiler held CUPTI" in err and not report()["works"], "a program that has used it is left alone", err)
        told(ask(program, "profiled") == alone, "and sees the same again")
    with running(*worker) as program:
        record(program.pid, 0.5)
        told(report()["works"] > 100, "a program that has not can be joined", missing())
        after = ask(program, "profiled")
        told(after == alone, "torch.profiler sees the same after we have left", alone, after)
        end_well(program)
    with running(*worker) as program:
        recorder = subprocess.Popen([XPUPROF, "record", "-q", "-d", "4", "-o", "p.xpu", "-p", str(program.pid)])
        wait_for(lambda: has_library(program.pid), 10)
        time.sleep(0.3)
        note(f"during a recording torch.profiler sees {ask(program, 'profiled')}")
        recorder.wait()
        told(program.poll() is None and report()["works"] > 100, "beside it both go on", missing())
        note(f"and then {ask(program, 'profiled')}")
        end_well(program)


def end_well(program):
    program.stdin.close()
    program.wait()
    told(text_of("log").endswith("done True\n"), "the program ends as alone", text_of("log")[-300:])


def check_kills(kills):
    with running(PYTHON, os.path.join(HERE, "torch_rounds.py")) as program:
        for _ in range(kills):
            recorder = subprocess.Popen([XPUPROF, "record", "-q", "--gpu-only", "-o", "k.xpu", "-p", str(program.pid)])
            time.sleep(random.uniform(0.02, 0.7))
            recorder.kill()
            recorder.wait()
            if program.poll() is not None:
                break
        told(program.poll() is None, f"a recorder that is killed {kills} times harms nothing", text_of("log")[-300:])
        told(wait_for(lambda: is_left(program.pid), 20), "and the library leaves by itself")
        record(program.pid, 0.8)
        counts, orphans = work_of_passes(read_passes())
        told(all(len(of) == 1 for of in counts.values()) and counts and not orphans, "the next recording is whole",
               {name: dict(of) for name, of in counts.items()}, missing())
        end_well(program)


def check_all_rounds():
    for program in PROGRAMS:
        if os.path.exists(program):
            check_rounds_of([program], os.path.basename(program))
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
    check_rounds_of([*user, "env", "HOME=/tmp", PROGRAMS[0]], "as a user", joins=1, before=[*user, "env", "HOME=/tmp"])
    if shutil.which("unshare"):
        check_rounds_of(["unshare", "--mount", "--pid", "--net", "--fork", "--mount-proc", PROGRAMS[0]], "in namespaces", joins=1)


NEEDS = {"torch": "import torch; assert torch.cuda.is_available()", "jax": "import jax; assert jax.default_backend() == 'gpu'"}


def check_part(part, given):
    needed = {"rounds": None, "jax": "jax"}.get(part, "torch")
    if needed and run(PYTHON, "-c", NEEDS[needed]).returncode:
        skip(part, f"there is no {needed}, or no GPU for it")
        return
    {"rounds": check_all_rounds, "torch": lambda: check_torch(given.joins), "profiler": check_profiler,
     "kills": lambda: check_kills(given.kills), "jax": lambda: check_jax(given.joins)}[part]()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--joins", type=int, default=12)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--parts", default="rounds,torch,profiler,kills,jax")
    given = parser.parse_args()
    begin = time.monotonic()
    with folder() as work:
        os.chdir(work)
        os.chmod(work, 0o777)
        for part in given.parts.split(","):
            check_part(part, given)
            note(f"{part}: {time.monotonic() - begin:.0f} s since the beginning")
    return end()


sys.exit(main())

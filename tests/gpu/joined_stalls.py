#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record -p --stalls` on a real NVIDIA GPU: instructions of programs that run already are sampled, for which their calls
of the driver are held, as CUPTI hangs for good if sampling is switched beside one. Do programs go on, does the library leave,
and do samples have names? Needs root; what needs PyTorch is left out without it. Takes two minutes at most.

    tests/gpu/joined_stalls.py            programs as they are
    tests/gpu/joined_stalls.py armed      programs that are armed (XPUPROF_ARMED=1): all samples have names, also in graphs

$XPUPROF_BUILD and $PYTHON as tests/gpu/run has them. How long each step of CUPTI's took, and the longest round or pass around
it, is printed as notes."""
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

from gpu_tap import BUILD, HERE, PYTHON, XPUPROF, end, folder, note, result, run, skip

sys.path.insert(0, os.path.join(HERE, ".."))
import check_rounds

LIMIT_S = 115
LIBRARY = os.path.join(BUILD, "libxpuprof-inject.so")
ROUNDS = os.path.join(BUILD, "tests/programs/rounds")
ALLOWED = ("stacks_incomplete", "walk_", "python_", "tables_", "maps_lost")
# CUPTI's own kernels, those of the driver's copies and sets, and such of its code that it knows by no name.
NAMED_LEAST = 0.8
NAMELESS = "sampled without names"
begun = time.monotonic()


def left_s():
    return max(1.0, LIMIT_S - (time.monotonic() - begun))


def told(good, name, *notes):
    result(bool(good), name, *(() if good else notes))


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def wait_for(holds, seconds):
    until = time.monotonic() + min(seconds, left_s())
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


@contextlib.contextmanager
def running(*command, armed=False):
    environment = {**os.environ, **({"CUDA_INJECTION64_PATH": LIBRARY, "XPUPROF_ARMED": "1"} if armed else {})}
    with open("log", "w", encoding="utf-8") as out:
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        wait_for(lambda: "ready" in text_of("log") or program.poll() is not None, 60)
        yield program
    finally:
        program.kill()
        program.wait()


def has_library(pid):
    """The recorder's: not that of a prepared program, with its page, nor what stays."""
    return re.search(r"/memfd:xpuprof(?!-stay|-door)", text_of(f"/proc/{pid}/maps")) is not None


def holds_place(pid):
    """The GPU's one for sampling."""
    claims = {line.split()[6] for line in text_of("/proc/net/unix").splitlines() if "@xpuprof-stalls-" in line}
    open_files = [os.readlink(path) for path in (f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")) if os.path.lexists(path)]
    return any(f"socket:[{inode}]" in open_files for inode in claims)


def times_ns(path="log"):
    """(begin, end) of each round or pass."""
    words = [line.split() for line in text_of(path).splitlines()]
    return [(int(w[1]), int(w[2])) for w in words if len(w) == 3 and w[1].isdigit() and w[2].isdigit()]


def longest_ms(begin_ns, end_ns):
    return max([(stop - start) / 1e6 for start, stop in times_ns() if stop > begin_ns and start < end_ns] or [0])


def goes_on(since_ns):
    """Rounds or passes begin after that."""
    return wait_for(lambda: any(start > since_ns for start, _ in times_ns()), 15)


def record(pid, seconds, path="p.xpu", options=("--stalls",)):
    """For so long from when the library is there: what the recorder says, and when it began, was told to end, and had ended."""
    recorder = subprocess.Popen([XPUPROF, "record", *options, "-o", path, "-p", str(pid)], text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    at_ns = [time.monotonic_ns()]
    wait_for(lambda: has_library(pid) or recorder.poll() is not None, 20)
    time.sleep(seconds)
    recorder.send_signal(signal.SIGINT)
    at_ns.append(time.monotonic_ns())
    with contextlib.suppress(subprocess.TimeoutExpired):
        return recorder.communicate(timeout=min(40, left_s()))[1], [*at_ns, time.monotonic_ns()]
    recorder.kill()
    return "the recorder did not end\n" + recorder.communicate()[1], [*at_ns, time.monotonic_ns()]


def report(path="p.xpu"):
    return json.loads(run(XPUPROF, "report", "--json", "--stalls", path).stdout)


def check_recorded(what, program, said, at_ns, named_all=False):
    """Sampling was switched on and off, there are samples with names, where they can be had, the program goes on, and nothing is
    lost."""
    for line in said.splitlines():
        if "held" in line or "sampl" in line:
            note(f"{what}: {line.removeprefix('xpuprof: ')}")
    held = {step: [float(ms) for ms in re.findall(rf"held for ([0-9.]+) ms to {step} ", said)] for step in ("begin", "end")}
    told(len(held["begin"]) == 1 and len(held["end"]) == 1, f"{what}: sampling was switched on and off", said)
    told(goes_on(at_ns[2]), f"{what}: the program goes on", program.poll(), text_of("log")[-300:])
    told(wait_for(lambda: not has_library(program.pid), 20), f"{what}: the library has left")
    if not os.path.exists("p.xpu"):
        told(False, f"{what}: there is a recording", said)
        return
    found = report()
    stalls, losses = found["stalls"], found["losses"]
    samples = {kernel["name"]: kernel["samples"] for kernel in stalls["kernels"] if kernel["samples"]}
    named = sum(samples.values())
    note(f"{what}: {stalls['taken']} samples, {stalls['without_code']} of them without code, of {len(samples)} kernels")
    if named_all:
        told(named and named >= NAMED_LEAST * stalls["taken"] and NAMELESS not in said, f"{what}: samples have the names of kernels",
             stalls["taken"], samples)
        told(sum(kernel["total_ns"] for kernel in stalls["kernels"]) > 0, f"{what}: GPU time of kernels is there")
    else:
        told(NAMELESS in said, f"{what}: that what runs in graphs has no names is said", stalls["taken"], samples, said)
    own_calls(what)
    missing = {key: n for key, n in losses.items() if n and not key.startswith(ALLOWED + (("stalls_refused",) if NAMELESS in said else ()))}
    told(not missing, f"{what}: nothing is lost", missing)
    note(f"{what}: longest round, ms: before {longest_ms(at_ns[0] - 1_000_000_000, at_ns[0]):.1f}, from begin to end of the "
         f"recording {longest_ms(at_ns[0], at_ns[1]):.1f}, while leaving {longest_ms(at_ns[1], at_ns[2]):.1f}, "
         f"after {longest_ms(at_ns[2] + 200_000_000, at_ns[2] + 1_200_000_000):.1f}")


def own_calls(what):
    """Calls have ids of their own, and work those of its call: but for some where the recording begins and ends."""
    found = report()
    astray = found["launches_without_work"]["unfinished"] + found["works_without_stack"]["no_launch"]
    told(found["works"] and astray <= found["works"] / 100, f"{what}: work has its calls", astray, found["works"])


def end_well(what, program, last):
    """By a signal, or where its standard input ends."""
    if program.stdin.closed or what == "rounds":
        program.send_signal(signal.SIGTERM)
    else:
        program.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        program.wait(min(15, left_s()))
    told(program.poll() == 0 and text_of("log").endswith(last), f"{what}: it ends as alone", program.poll(), text_of("log")[-300:])


def check_plain_rounds():
    with running(ROUNDS, "--threads", "3", "--pause", "2000", "--no-graph") as program:
        time.sleep(1)
        for name in ("rounds without graphs, first", "rounds without graphs, second"):
            said, at_ns = record(program.pid, 3)
            check_recorded(name, program, said, at_ns, named_all=True)
        end_well("rounds", program, "done\n")


def check_rounds_program():
    with running(ROUNDS, "--threads", "3", "--pause", "2000") as program:
        time.sleep(1)
        for name in ("rounds, first", "rounds, second"):
            said, at_ns = record(program.pid, 3)
            check_recorded(name, program, said, at_ns)
            note(f"{time.monotonic() - begun:.0f} s")
        wrong, compared = check_rounds.check("p.xpu", check_rounds.read_rounds("log"), 10, 0.6e9)
        told(not wrong, f"rounds: {compared} rounds are whole", *wrong[:5])
        check_kills(program)
        end_well("rounds", program, "done\n")


def check_kills(program):
    """A recorder that is killed, at moments in which calls are held among others."""
    random.seed(3)
    for _ in range(4):
        recorder = subprocess.Popen([XPUPROF, "record", "-q", "--stalls", "--gpu-only", "-o", "k.xpu", "-p", str(program.pid)])
        time.sleep(random.uniform(0.1, 1.2))
        recorder.kill()
        recorder.wait()
        at_ns = time.monotonic_ns()
        told(goes_on(at_ns + 500_000_000), "a recorder that is killed harms nothing", text_of("log")[-200:])
    told(wait_for(lambda: not has_library(program.pid), 20), "and the library leaves by itself")


def check_torch():
    with running(PYTHON, os.path.join(HERE, "torch_rounds.py")) as program:
        wait_for(lambda: len(times_ns()) > 50, 20)
        for name in ("PyTorch, first", "PyTorch, second"):
            said, at_ns = record(program.pid, 4)
            check_recorded(name, program, said, at_ns)
        end_well("PyTorch", program, "done True\n")


def check_armed_program(what, *command, last):
    """Recorded without --stalls first, or with it; each of the two next has all names, too."""
    for first in (("--stalls",), ()):
        name = f"{what}, armed, first recorded {'with' if first else 'without'} --stalls"
        with running(*command, armed=True) as program:
            wait_for(lambda: len(times_ns()) > 50, 30)
            told(holds_place(program.pid), f"{name}: it has the GPU's place for sampling", text_of("log")[-300:])
            note(f"{name}: {resident_mib(program.pid)} MiB resident")
            said, at_ns = record(program.pid, 3, options=first)
            told("was armed" in said, f"{name}: that is said", said)
            if first:
                check_recorded(f"{name}, the first", program, said, at_ns, named_all=True)
            else:
                for line in said.splitlines():
                    note(line)
                told(goes_on(at_ns[2]) and report()["gpu_ns"], f"{name}: there is GPU work", said)
                own_calls(name)
            wait_for(lambda: not has_library(program.pid), 20)
            said, at_ns = record(program.pid, 3)
            check_recorded(f"{name}, the second", program, said, at_ns, named_all=True)
            end_well(what, program, last)


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s*(\d+)", text_of(f"/proc/{pid}/status"))[1]) // 1024


def check_armed():
    check_armed_program("rounds", ROUNDS, "--threads", "3", "--pause", "2000", last="done\n")
    note(f"{time.monotonic() - begun:.0f} s")
    if run(PYTHON, "-c", "import torch; assert torch.cuda.is_available()").returncode:
        skip("PyTorch", "there is none, or no GPU for it")
    else:
        check_armed_program("PyTorch", PYTHON, os.path.join(HERE, "torch_rounds.py"), last="done True\n")


def main():
    wish = sys.argv[1:2]
    if wish not in ([], ["armed"]):
        sys.exit(f"usage: {sys.argv[0]} [armed]")
    with folder() as work:
        os.chdir(work)
        if wish:
            check_armed()
            return end()
        check_plain_rounds()
        check_rounds_program()
        note(f"{time.monotonic() - begun:.0f} s")
        if run(PYTHON, "-c", "import torch; assert torch.cuda.is_available()").returncode:
            skip("PyTorch", "there is none, or no GPU for it")
        else:
            check_torch()
        note(f"{time.monotonic() - begun:.0f} s")
    return end()


sys.exit(main())

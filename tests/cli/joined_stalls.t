#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record -p --stalls` samples GPU instructions of programs that run already, on the simulated CUDA. As NVIDIA's, its
CUPTI hangs for good if sampling is switched while another thread is in a call of the driver: then nothing is sampled here, and
the library never leaves. tests/gpu/joined_stalls.py does the same on a real GPU.

usage: joined_stalls.t [options|rounds|calls|forks|waits|earlier|contexts|ends|never|exits|kills...]"""
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap
from joining import (ROUNDS, end_well, has_library, is_left, lost, record, record_joined, report, run_parts, running, state_of,
                     text_of, wait_for, whole, why_not)

HELD = os.path.join(tap.BUILD, "tests/targets/held_target")
KILLS = int(os.environ.get("JOINED_STALLS_KILLS", 10))
HELD_MAX_MS = 2000
MISSING = "the code of"


def stalls(path="p.xpu"):
    """Samples by kernel."""
    return {kernel["name"]: kernel["samples"] for kernel in report_stalls(path)["kernels"]}


def report_stalls(path="p.xpu"):
    return json.loads(tap.run(tap.PROGRAM, "report", "--json", "--stalls", path))["stalls"]


def held_ms(said, what):
    """How long the program was held to begin or to end, as the summary says."""
    return [float(ms) for ms in re.findall(rf"was held for ([0-9.]+) ms to {what} sampling", said)]


def sampled(what, done, *kernels):
    """There are samples of these kernels, the program was held twice, and sampling was off in the end."""
    found = stalls()
    begin, end = held_ms(done.stderr, "begin"), held_ms(done.stderr, "end")
    tap.result(not done.returncode and all(found.get(kernel, 0) > 0 for kernel in kernels) and len(begin) == len(end) == 1 and
               max(begin + end) < HELD_MAX_MS, f"{what}: instructions are sampled", found, done.stderr)


def stays(pid):
    """Something of the library does."""
    return state_of(pid)[2] != ["/memfd:xpuprof-stay"]


def ends(program, what):
    program.send_signal(signal.SIGTERM)
    status = program.wait()
    said = text_of("log").split("\n")
    tap.result(status == 0 and said[-2].startswith("done ") and not any("child" in line for line in said),
               f"{what}: the program ends as alone", status, text_of("log")[-300:])


def begun(times=1, path="p.xpu", seconds=50):
    """Whether sampling was switched on so often, as the recording says that is being made."""
    def says():
        done = subprocess.run([tap.PROGRAM, "report", "--json", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return not done.returncode and len(held_ms(json.loads(done.stdout)["meta"].get("stalls_held", ""), "begin")) == times
    return wait_for(says, seconds)


def recording(pid):
    """A recording of which it is told when to end."""
    with contextlib.suppress(FileNotFoundError):
        os.remove("p.xpu")
    return subprocess.Popen([tap.PROGRAM, "record", "--stalls", "--gpu-only", "-o", "p.xpu", "-p", str(pid)], stderr=subprocess.PIPE,
                            text=True)


def check_options():
    for options, says in ((["-a", "--stalls"], "--stalls"), (["-p", "1", "--stalls=exact"], "--stalls=exact needs a command")):
        done = subprocess.run([tap.PROGRAM, "record", *options], stderr=subprocess.PIPE, text=True)
        tap.result(done.returncode == 2 and says in done.stderr, f"'{' '.join(options)}' is refused", done.stderr)


def check_rounds():
    """All is recorded as without --stalls, for the second time, too; and sums are what they are elsewhere."""
    with running(ROUNDS, "--threads", "3", "--pause", "1000") as program:
        for time_of in ("first", "second"):
            done = record_joined(program.pid, "--stalls", seconds=1.5)
            sampled(f"rounds, for the {time_of} time", done, "count_a_us5", "count_b_us3")
            wait_for(lambda: is_left(program.pid))
            tap.result(state_of(program.pid)[2] == ["/memfd:xpuprof-stay"] and not has_library(program.pid),
                       "only a page stays", state_of(program.pid))
            whole(f"rounds, for the {time_of} time")
        tap.result("code that was loaded before the recording cannot be had" in done.stderr,
                   "the summary says which code is missing", done.stderr)
        said = report()["meta"]
        tap.result("process" in said.get("stalls_held", "") and "held for" in tap.run(tap.PROGRAM, "report", "p.xpu"),
                   "the report says how long the program was held", said)
        check_sums()
        tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])


def check_sums():
    """The time of kernels' instructions is their GPU time."""
    folded = tap.run(tap.PROGRAM, "export", "--view", "stall", "--to", "folded", "--unit", "ns", "-o", "-", "p.xpu").splitlines()
    by_kernel = {}
    for line in folded:
        stack, ns = line.rsplit(" ", 1)
        for kernel in re.findall(r"\[GPU_Kernel\]([a-z_0-9]+)", stack):
            by_kernel[kernel] = by_kernel.get(kernel, 0) + int(ns)
    kernels = {kernel["name"]: kernel["total_ns"] for kernel in report_stalls()["kernels"]}
    tap.result(by_kernel == kernels and kernels, "the time of each kernel's instructions is its GPU time", by_kernel, kernels)


def check_calls():
    for what in (["launch", "copy"], ["host", "launch"], ["signals", "launch"], ["locks"], ["sleeps", "launch"]):
        with running(HELD, *what) as program:
            sampled(" and ".join(what), record_joined(program.pid, "--stalls", "--gpu-only", seconds=1), "early_us20")
            ends(program, " and ".join(what))


def check_forks():
    with running(HELD, "forks", "launch") as program:
        sampled("forks", record_joined(program.pid, "--stalls", "--gpu-only", seconds=1.5), "early_us20")
        ends(program, "forks")


def check_waits():
    """One that waits 300 ms for the GPU at a time is held when it has just come out, after some tries."""
    with running(HELD, "waits", "launch") as program:
        recorder = recording(program.pid)
        on = begun()
        time.sleep(0.5)
        recorder.send_signal(signal.SIGINT)
        said = recorder.communicate()[1]
        tap.result(on and stalls().get("early_us20", 0) > 0 and held_ms(said, "begin"), "waits: instructions are sampled after some tries", said)
        tap.result(wait_for(lambda: not stays(program.pid), 60), "waits: the library leaves, if by and by", said)
        ends(program, "waits")


def check_earlier():
    """A call that began before the library came is not seen. It is waited for."""
    with running(HELD, "since", "launch") as program:
        short = record(program.pid, "--stalls", "--gpu-only", seconds="1")
        tap.result("since before the recording" in short.stderr and lost().get("stalls_refused") == 1 and "waited" not in text_of("log"),
                   "while a call goes on that began before, nothing is switched, and that is said", short.stderr, lost())
        sampled("when it has ended", record_joined(program.pid, "--stalls", "--gpu-only", seconds=6), "early_us20")
        tap.result("waited" in text_of("log"), "which it had", text_of("log"))
        ends(program, "since")
    with running(HELD, "spins", "launch") as program:
        done = record(program.pid, "--stalls", "--gpu-only", seconds="1")
        tap.result("since before the recording" in done.stderr and not stalls(), "a thread that only runs could be in one",
                   done.stderr)
        ends(program, "spins")


def check_contexts():
    with running(HELD, "contexts", "launch") as program:
        done = record_joined(program.pid, "--stalls", "--gpu-only", seconds=1)
        tap.result("more than one GPU context" in done.stderr and lost().get("stalls_refused") == 1 and not held_ms(done.stderr, "begin"),
                   "a program with two contexts is refused, with the reason", done.stderr)
        ends(program, "contexts")


def check_ends():
    """Where the context ends the thread that ends it switches sampling off; the next one is sampled, too."""
    with running(HELD, "ends") as program:
        recorder = recording(program.pid)
        begun()
        program.send_signal(signal.SIGUSR1)
        again = begun(2)
        recorder.send_signal(signal.SIGINT)
        said = recorder.communicate()[1]
        tap.result(again and len(held_ms(said, "begin")) == 2 and len(held_ms(said, "end")) == 1,
                   "a context ends while it is sampled, and the next is sampled", said, text_of("log"))
        tap.result(wait_for(lambda: not stays(program.pid)), "and the library leaves", said)
        ends(program, "ends")


def check_never():
    """If the hold for the end cannot be had, sampling stays on and the library stays, until it can."""
    with running(HELD, "never", "launch") as program:
        recorder = recording(program.pid)
        begun()
        program.send_signal(signal.SIGUSR1)
        wait_for(lambda: text_of("log").count("inside") == 2)
        recorder.send_signal(signal.SIGINT)
        said = recorder.communicate()[1]
        tap.result(f"sampling goes on in process {program.pid}" in said and stays(program.pid) and
                   stalls().get("early_us20", 0) > 0, "what cannot be switched off stays on, with the library, and that is said", said)
        tap.result("cannot leave" in said, "as is that the library stays", said)
        program.send_signal(signal.SIGUSR2)
        tap.result(wait_for(lambda: not stays(program.pid), 60), "when it can be, it is, and the library leaves",
                   state_of(program.pid))
        sampled("and the next recording", record_joined(program.pid, "--stalls", "--gpu-only", seconds=1), "early_us20")
        program.send_signal(signal.SIGUSR1)
        wait_for(lambda: text_of("log").count("inside") == 4)
        done = record(program.pid, "--stalls", "--gpu-only", seconds="2")
        tap.result("always was in a call" in done.stderr and lost().get("stalls_refused") == 1 and not has_library(program.pid),
                   "one that always is in a call is not sampled, with the reason", done.stderr)
        ends(program, "never")


def check_exits():
    """A program ends in whatever moment of the beginning."""
    random.seed(11)
    wrong = []
    for _ in range(6):
        with running(HELD, "exits", "launch", "copy") as program:
            recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "--stalls", "--gpu-only", "-o", "e.xpu", "-p", str(program.pid)])
            wait_for(lambda: has_library(program.pid))
            time.sleep(random.uniform(0, 0.2))
            program.send_signal(signal.SIGUSR1)
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(15)
            if program.poll() != 0 or recorder.wait(30):
                wrong.append((program.poll(), recorder.poll(), text_of("log")[-200:]))
    tap.result(not wrong, "a program that exits while it is held, or soon after, ends as alone", *wrong)


def check_kills():
    random.seed(5)
    with running(HELD, "launch", "copy", "forks") as program:
        for _ in range(KILLS):
            recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "--stalls", "--gpu-only", "-o", "k.xpu", "-p", str(program.pid)])
            time.sleep(random.uniform(0.02, 0.6))
            recorder.kill()
            recorder.wait()
            if program.poll() is not None:
                break
        tap.result(program.poll() is None, f"a recorder that is killed {KILLS} times harms nothing", text_of("log")[-300:])
        tap.result(wait_for(lambda: is_left(program.pid), 60), "nothing of the library stays, by and by", state_of(program.pid))
        sampled("the next recording", record_joined(program.pid, "--stalls", "--gpu-only", seconds=1), "early_us20")
        ends(program, "kills")


def check():
    run_parts(check_options, check_rounds, check_calls, check_forks, check_waits, check_earlier, check_contexts, check_ends,
              check_never, check_exits, check_kills)


tap.main(check, why_not)

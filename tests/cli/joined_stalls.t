#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record -p --stalls` samples GPU instructions of programs that run already, on the simulated CUDA. As NVIDIA's, its
CUPTI hangs for good if sampling is switched while another thread is in a call of the driver: then nothing is sampled here, and
the library never leaves. tests/gpu/joined_stalls.py does the same on a real GPU.

usage: joined_stalls.t [options|rounds|plain|waits|prepared|calls|forks|contexts|ends...]"""
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap
from joining import (ROUNDS, WAITS, calls_have_their_work, end_well, has_library, is_left, lost, record_joined, report, run_parts, running, state_of, text_of,
                     wait_for, whole, why_not)
from joining_stalls import HELD, begun, ends, held_ms, record_sampled, recording, report_stalls, sampled, stalls, stays


def check_options():
    for options, says in ((["-a", "--stalls"], "--stalls"), (["-p", "1", "--stalls=exact"], "--stalls=exact needs a command")):
        done = subprocess.run([tap.PROGRAM, "record", *options], stderr=subprocess.PIPE, text=True)
        tap.result(done.returncode == 2 and says in done.stderr, f"'{' '.join(options)}' is refused", done.stderr)


def check_rounds():
    """All is recorded as without --stalls, for the second time, too; and sums are what they are elsewhere. CUPTI has no names of
    functions that ran in a graph between its first use and the first sampling."""
    with running(ROUNDS, "--threads", "3", "--pause", "1000") as program:
        done = recorded_once(program, "first")
        sampled("rounds", done, "count_a_us5")
        nameless_is_said("rounds, for the first time", done)
        tap.result("code that was loaded before the recording cannot be had" in done.stderr,
                   "the summary says which code is missing", done.stderr)
        said = report()["meta"]
        tap.result("process" in said.get("stalls_held", "") and "held for" in tap.run(tap.PROGRAM, "report", "p.xpu"),
                   "the report says how long the program was held", said)
        check_sums()
        whole("rounds, for the first time", allowed=("stalls_refused",))
        done = recorded_once(program, "second")
        nameless_is_said("rounds, for the second time", done)
        whole("rounds, for the second time", allowed=("stalls_refused",))
        tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])


def nameless_is_said(what, done):
    tap.result("count_b_us3" not in stalls() and report_stalls()["without_code"] > 0 and "sampled without names" in done.stderr and
               "XPUPROF_ARMED=1" in done.stderr and
               lost().get("stalls_refused") == 1, f"{what}: what ran in graphs has no names, which is said", done.stderr, lost())


def check_plain():
    """Without graphs all instructions have names, each time."""
    with running(ROUNDS, "--threads", "3", "--pause", "1000", "--no-graph") as program:
        for time_of in ("first", "second"):
            done = recorded_once(program, time_of)
            sampled(f"rounds without graphs, for the {time_of} time", done, "count_a_us5")
            tap.result(not report_stalls()["without_code"] and "without names" not in done.stderr and
                       "stalls_refused" not in lost(), "with names, all of them", done.stderr, lost())
        tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])


def recorded_once(program, time_of):
    done = record_joined(program.pid, "--stalls", seconds=1.5)
    wait_for(lambda: is_left(program.pid))
    tap.result(state_of(program.pid)[2] == ["/memfd:xpuprof-stay"] and not has_library(program.pid),
               f"only a page stays, for the {time_of} time", state_of(program.pid))
    return done


def check_waits():
    """A thread is in a call of the driver when the library leaves; and the next one comes."""
    with running(sys.executable, "-c", WAITS) as program:
        for what in ("a program that waits", "recorded again"):
            record_joined(program.pid, "--stalls", seconds=1.5)
            calls_have_their_work(what)
            wait_for(lambda: is_left(program.pid))


def check_prepared():
    with running(ROUNDS, "--threads", "2", "--pause", "1000", prepared=True) as program:
        done = record_joined(program.pid, "--stalls", seconds=3)
        sampled("a prepared program", done, "count_a_us5")
        tap.result(report()["meta"].get("woken") == str(program.pid), "whose library was woken", report()["meta"])
        whole("a prepared program", allowed=("stalls_refused",))
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
    tap.result(kernels and all(by_kernel[name] == ns for name, ns in kernels.items()), "the time of each kernel's instructions is its GPU time", by_kernel, kernels)


def check_calls():
    for what in (["launch", "copy"], ["host", "launch"], ["signals", "launch"], ["locks"], ["sleeps", "launch"]):
        with running(HELD, *what) as program:
            sampled(" and ".join(what), record_sampled(program.pid), "early_us20", busy=True)
            ends(program, " and ".join(what))


def check_forks():
    with running(HELD, "forks", "launch") as program:
        sampled("forks", record_sampled(program.pid), "early_us20", busy=True)
        ends(program, "forks")


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


def check():
    run_parts(check_options, check_rounds, check_plain, check_waits, check_prepared, check_calls, check_forks, check_contexts, check_ends)


tap.main(check, why_not)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that have loaded the library themselves, without a recorder, do whatever they do as alone: they fork, execute another
program, close what they have not opened, end. So they do while the library in them is woken. On the simulated CUDA.

usage: dormant_harm.t [asleep|awake|forking|ends|closed...]"""
import os
import random
import resource
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap
from joining import (LIBRARY, ROUNDS, SIMULATED, TARGET, end_well, record, record_joined, report, run_parts, running, text_of,
                     wait_for, whole, why_not)

WHAT = ("launch", "threads", "fork", "forks", "orphan", "spawn", "exec", "close", "_exit", "signals", "descriptors")
ENDS = int(os.environ.get("DORMANT_ENDS", 8))
FORKINGS = int(os.environ.get("DORMANT_FORKINGS", 4))


def said_by(what, prepared, descriptors=1024):
    """Its status and output, where it may have so many descriptors."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    environment = {**os.environ, **SIMULATED, **({"CUDA_INJECTION64_PATH": LIBRARY} if prepared else {})}
    done = subprocess.run([TARGET, what, "200"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(descriptors, most), most)))
    return done.returncode, done.stdout


def sleeps(pid):
    names = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            names.append(text_of(f"/proc/{pid}/task/{task}/comm"))
        except OSError:
            pass
    return "xpuprof-idle\n" in names


def check_asleep():
    for what in WHAT:
        alone, prepared = said_by(what, False), said_by(what, True)
        tap.result(alone == prepared, f"{what}: a program in which the library sleeps does as alone", alone, prepared)
    few = said_by("descriptors", True, descriptors=150)
    tap.result(few == (0, "done\n"), "its descriptor has a high number where the program may have few", few)


def check_awake():
    woken = []
    for what in ("fork", "forks", "spawn", "exec", "close", "signals", "threads"):
        with running("sh", "-c", f"echo ready; sleep 1; exec '{TARGET}' {what} 4000", name="awake", prepared=True) as program:
            done = record(program.pid, seconds="20")
            status = program.wait()
            tap.result(status == 0 and "done" in text_of("awake") and not done.returncode, f"{what}: so it does while it is woken",
                       status, text_of("awake")[-300:], done.stderr)
            woken += [what] * ("woken" in report()["meta"])
    tap.result(woken, "and some were woken indeed", woken)


def check_forking():
    with running(TARGET, "forking", prepared=True) as program:
        good = True
        for _ in range(FORKINGS):
            done = record_joined(program.pid, "--gpu-only", seconds=0.05)
            good = not done.returncode and wait_for(lambda: sleeps(program.pid)) and good
        tap.result(good, f"a program that does nothing but fork is woken {FORKINGS} times", done.stderr)
        tap.result(end_well(program) and "child" not in text_of("log"), "none of its children fails in exit(), or hangs",
                   text_of("log")[-500:])


def check_ends():
    """Whenever the program ends, and however."""
    random.seed(11)
    wrong = []
    for n in range(ENDS):
        with running(ROUNDS, "--pause", "1000", prepared=True) as program:
            wait_for(lambda: sleeps(program.pid))
            recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "--gpu-only", "-o", "e.xpu", "-p", str(program.pid)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(random.uniform(0, 0.3))
            if n % 2:
                ended = end_well(program)
            else:
                program.send_signal(signal.SIGKILL)
                ended = program.wait() == -signal.SIGKILL
            try:
                said = recorder.communicate(timeout=60)[1]
            except subprocess.TimeoutExpired:
                recorder.kill()
                said = "the recorder hangs"
            if not ended or recorder.returncode not in (0, 1):
                wrong.append((n, ended, recorder.returncode, said, text_of("log")[-100:]))
    tap.result(not wrong, f"{ENDS} programs end while they are woken, as alone", *wrong)


def check_closed():
    script = f"exec '{TARGET}' close 20000"
    with running("sh", "-c", f"echo ready; {script}", name="closed", prepared=True) as program:
        wait_for(lambda: sleeps(program.pid))
        status = program.wait()
        tap.result(status == 0 and text_of("closed").endswith("done\n"), "what a program opens in our descriptor's place is its own",
                   status, text_of("closed")[-300:])
    with running(ROUNDS, "--pause", "1000", prepared=True) as program:
        wait_for(lambda: sleeps(program.pid))
        record_joined(program.pid)
        whole("a program that still has it")
        tap.result("woken" in report()["meta"] and end_well(program), "is woken", report()["meta"])


def check():
    run_parts(check_asleep, check_awake, check_forking, check_ends, check_closed)


tap.main(check, why_not)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that run already and are to have their instructions sampled, where that does not go by itself: on the simulated CUDA,
whose CUPTI hangs for good if sampling is switched while another thread is in a call of the driver.

usage: joined_stalls_harm.t [waits|earlier|never|exits|kills|ends|hangs...]"""
import concurrent.futures
import contextlib
import os
import random
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap
from joining import (ROUNDS, end_well, has_library, is_left, lost, record, run_parts, running, state_of, text_of, wait_for,
                     why_not)
from joining_stalls import HELD, begun, ends, held_ms, record_sampled, recording, report_stalls, sampled, stalls, stays

KILLS = int(os.environ.get("JOINED_STALLS_KILLS", 30))


def check_waits():
    """One that waits 300 ms for the GPU at a time is held when it has just come out, after some tries."""
    with running(HELD, "waits", "launch") as program:
        recorder = recording(program.pid)
        on = begun()
        time.sleep(0.5)
        recorder.send_signal(signal.SIGINT)
        said = recorder.communicate()[1]
        tap.result(on and report_stalls()["taken"] and held_ms(said, "begin"), "waits: instructions are sampled after some tries", said)
        tap.result(wait_for(lambda: not stays(program.pid), 60), "waits: the library leaves, if by and by", said)
        ends(program, "waits")


def check_earlier():
    """A call that began before the library came is not seen. It is waited for."""
    with running(HELD, "since", "launch") as program:
        short = record(program.pid, "--stalls", "--gpu-only", seconds="2")
        tap.result("since before the recording" in short.stderr and lost().get("stalls_refused") == 1 and "waited" not in text_of("log"),
                   "while a call goes on that began before, nothing is switched, and that is said", short.stderr, lost())
        sampled("when it has ended", record_sampled(program.pid))
        tap.result("waited" in text_of("log"), "which it had", text_of("log"))
        ends(program, "since")
    with running(HELD, "spins", "launch") as program:
        done = record(program.pid, "--stalls", "--gpu-only", seconds="2")
        tap.result("since before the recording" in done.stderr and not stalls(), "a thread that only runs could be in one",
                   done.stderr)
        ends(program, "spins")


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
        sampled("and the next recording", record_sampled(program.pid))
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
            recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "--stalls", "--gpu-only", "-o", "e.xpu", "-p", str(program.pid)],
                                        stderr=subprocess.DEVNULL)
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
        sampled("the next recording", record_sampled(program.pid))
        ends(program, "kills")


def end_at(fault):
    """CUPTI ends so in a program that is recorded for a moment: what is wrong then."""
    log, path = f"{fault}.log", f"{fault}.xpu"
    with running(ROUNDS, "--threads", "2", "--pause", "1000", faults=fault, name=log, variables={"XPUPROF_SIM_MACHINE": log}) as program:
        said = record(program.pid, "--stalls", "--gpu-only", seconds="1.2", path=path).stderr
        ended, missing = f"CUPTI ended in process {program.pid}, " in said, lost(path)
        told = ended == ("gpu_cupti_ended" in missing) and (ended or "gpu_refused" in missing) == ("left process" not in said)
        return [] if told and end_well(program, log) else [(fault, program.poll(), said, missing)]


def check_ends():
    """CUPTI ends before instructions are sampled, or, without a word, when the last are fetched, which is one of these times."""
    faults = [f"cupti-ends={n}" for n in (1, 2)] + [f"stalls-end={n},stalls-slow-ms=300" for n in range(2, 8)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        wrong = sum(pool.map(end_at, faults), [])
    tap.result(not wrong, "programs go on in which CUPTI ends as sampling begins or ends, and that is said", *wrong)


def check_hangs():
    """To switch sampling on never returns: a hold of the program's calls ends by itself."""
    with running(ROUNDS, "--pause", "1000", faults="stalls-hang=1") as program:
        said = record(program.pid, "--stalls", "--gpu-only").stderr
        tap.result(lost() == {"gpu_never_connected": 1} and f"has not left process {program.pid}, and does not answer" in said,
                   "what hangs in CUPTI has recorded nothing and stays, which is said", said, lost())
        said = record(program.pid, "--gpu-only").stderr
        tap.result("left process" not in said and end_well(program), "nor has it left after another recording", said, text_of("log")[-200:])


def check():
    run_parts(check_waits, check_earlier, check_never, check_exits, check_kills, check_ends, check_hangs)


tap.main(check, why_not)

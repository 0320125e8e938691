#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record -a` and `xpuprof top` of the whole system, with GPU work: every program that uses CUDA is joined, those that
run and those that begin. On the simulated CUDA. It runs alone: programs of other tests would be joined as well."""
import contextlib
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check_rounds
import tap
from joining import ROUNDS, SIMULATED, end_well, has_library, lost, report, running, text_of, wait_for, why_not

MARGIN_NS = int(1e9)  # in which programs are joined, one after the other


def settled(name):
    """The rounds of a program that began meanwhile, without those in which it was joined."""
    rounds = check_rounds.read_rounds(name)
    return [r for r in rounds if r[1] > rounds[0][1] + 2 * MARGIN_NS]


def check_record():
    with contextlib.ExitStack() as programs:
        first, second = (programs.enter_context(running(ROUNDS, "--pause", "2000", name=name)) for name in ("first", "second"))
        recorder = subprocess.Popen([tap.PROGRAM, "record", "-a", "--overhead", "off", "-o", "p.xpu"], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        tap.result(wait_for(lambda: has_library(first.pid) and has_library(second.pid)), "programs that run are joined")
        third = programs.enter_context(running(ROUNDS, "--pause", "2000", name="third"))
        tap.result(wait_for(lambda: has_library(third.pid)), "and one that begins meanwhile")
        time.sleep(4)
        recorder.send_signal(signal.SIGINT)
        said = recorder.communicate()[1]
        left = [wait_for(lambda: not has_library(p.pid)) for p in (first, second, third)]
        tap.result(all(left), "all are left", left, said)
        ends = [end_well(p, name) for p, name in ((first, "first"), (second, "second"), (third, "third"))]
        tap.result(all(ends), "and end as alone", ends)
    for name in "first", "second", "third":
        rounds = settled(name) if name == "third" else check_rounds.read_rounds(name)
        wrong, compared = check_rounds.check("p.xpu", rounds, 10, MARGIN_NS, options=("--thread", str(rounds[0][0])))
        tap.result(not wrong, f"every round of the {name} is whole", *wrong[:10], compared, said)
    # what was never connected may be any program of this machine
    missing = {key: n for key, n in lost().items() if key.startswith("gpu") and key != "gpu_never_connected"}
    tap.result(not missing, "no GPU work is lost", missing)


def check_budget():
    with running(ROUNDS, "--pause", "2000") as program:
        subprocess.run([tap.PROGRAM, "record", "-q", "-a", "-d", "3", "-o", "p.xpu"], check=True, stdin=subprocess.DEVNULL)
        tap.result(report()["meta"].get("overhead") == "1", "where nothing else is said, it costs 1 % at most", report()["meta"])
        tap.result(end_well(program), "and the program ends as alone", text_of("log")[-200:])


def check_top():
    train = os.path.join(tap.BUILD, "demo", "train")
    with subprocess.Popen([train, "--seconds", "60"], stdout=subprocess.DEVNULL, env={**os.environ, **SIMULATED}) as program:
        time.sleep(1)
        text = tap.run(tap.PROGRAM, "top", "--once", "-w", "3", "-n", "1000")
        tap.result("of the whole system" in text and f"  {program.pid} " in text, "top has the whole system's processes", text)
        tap.result("GPU 0 Simulated GPU 0: busy" in text and "matmul" in text, "with the GPU work of those that run", text)
        tap.result(program.poll() is None, "which go on")
        program.kill()


def check():
    os.environ.pop("CUDA_INJECTION64_PATH", None)
    check_record()
    check_budget()
    check_top()


tap.main(check, why_not)

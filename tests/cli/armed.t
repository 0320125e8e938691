#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prepared programs that are armed (XPUPROF_ARMED): instructions of all their functions have names, whenever a recorder comes.
On the simulated CUDA, whose CUPTI, as NVIDIA's, refuses records of kernels as long as a program is armed, and hangs for good if
that ends while another thread is in a call of the driver. tests/gpu/joined_stalls.py does some of it on a real GPU.

usage: armed.t [alone|stalls|plain|waits|place|contexts|threads|never|early|others|kills...]"""
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
from joining import (LIBRARY, ONE_THREAD, ROUNDS, SIMULATED, TARGET, WAITS, calls_have_their_work, end_well, has_library, kill_recorders, lost, record, record_joined, report, run_parts,
                     running, state_of, text_of, wait_for, whole, why_not)
from joining_stalls import HELD, begun, ends, held_ms, recording, report_stalls, sampled, stalls

THREADED = int(os.environ.get("ARMED_THREADED", 6))
KILLS = int(os.environ.get("ARMED_KILLS", 5))
ARMED = {"XPUPROF_ARMED": "1"}
EARLY_THREADS = os.path.join(tap.BUILD, "tests/targets/early_target")
FORKS = os.path.join(tap.BUILD, "tests/programs/fork_after_cuda")

# Uses CUDA without a context until SIGUSR1, and then makes one. At SIGUSR2 it says what CUPTI says to a profiler of its own.
EARLY = r"""
import ctypes, signal, time
cuda, cupti = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcupti.so.13")
assert not cuda.cuInit(0)
context = ctypes.c_void_p()
def use(*_):
    assert not cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
    print("context", flush=True)
def profile(*_):
    subscriber, called = ctypes.c_void_p(), ctypes.CFUNCTYPE(None)(lambda: None)
    result = cupti.cuptiSubscribe(ctypes.byref(subscriber), called, None)
    print("subscribe", result, "records", cupti.cuptiActivityEnable(10), flush=True)
    assert result or not (cupti.cuptiActivityDisable(10) or cupti.cuptiUnsubscribe(subscriber))
signal.signal(signal.SIGUSR1, use)
signal.signal(signal.SIGUSR2, profile)
print("ready", flush=True)
while True:
    time.sleep(0.01)
"""

# Launches and replays, until SIGTERM, and has closed all descriptors of ours.
CLOSES = ONE_THREAD + r"""
print("ready", flush=True)
time.sleep(0.5)
os.closerange(100, 1024)
print("closed", flush=True)
while True:
    launch(direct)
    call("cuGraphLaunch", replay, stream)
    call("cuStreamSynchronize", stream)
    time.sleep(0.001)
"""

# Forks when it is armed, and its child forks again, many times; says whether that was fast.
FORKS_AGAIN = r"""
import ctypes, os, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert not cuda.cuInit(0) and not cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
def fork(then):
    pid = os.fork()
    if not pid:
        then()
        os._exit(0)
    os.waitpid(pid, 0)
def seconds():
    begin = time.monotonic()
    fork(lambda: None)
    return time.monotonic() - begin
def again():
    print("fast" if min(seconds() for _ in range(40)) < 0.025 else "slow", flush=True)
fork(again)
"""


def armed(*command, variables=(), **options):
    return running(*command, prepared=True, variables={**ARMED, **dict(variables)}, **options)


def holds_place(pid):
    """Whether the process has the claim of a GPU's instructions."""
    claims = {line.split()[6] for line in text_of("/proc/net/unix").splitlines() if "@xpuprof-stalls-" in line}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inode = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            continue
        if inode and inode[1] in claims:
            return True
    return False


def threads(pid):
    return sorted(text_of(f"/proc/{pid}/task/{task}/comm").strip() for task in os.listdir(f"/proc/{pid}/task"))


def is_armed(pid):
    """And the thread that has seen to it has ended."""
    return holds_place(pid) and "xpuprof-arms" not in threads(pid)


def has_cupti(pid):
    return "libcupti" in text_of(f"/proc/{pid}/maps")


def said_by(*command, variables=()):
    environment = {**os.environ, **SIMULATED, **dict(variables)}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True)
    return done.returncode, done.stdout


def complete(what, done, *kernels):
    """All samples have names."""
    tap.result(all(stalls().get(kernel, 0) > 0 for kernel in kernels) and not report_stalls()["without_code"] and
               "without names" not in done.stderr and "stalls_refused" not in lost(), f"{what}: all instructions have names",
               stalls(), done.stderr, lost())


def check_alone():
    """Whatever the variable is, programs do as without it."""
    prepared = {"CUDA_INJECTION64_PATH": LIBRARY}
    for what in ("launch", "threads", "fork", "forks", "orphan", "spawn", "exec", "close", "_exit", "signals", "descriptors"):
        alone, with_it = said_by(TARGET, what, "200"), said_by(TARGET, what, "200", variables={**prepared, **ARMED})
        tap.result(alone == with_it, f"{what}: an armed program does as alone", alone, with_it)
    alone, with_it = said_by(FORKS), said_by(FORKS, variables={**prepared, **ARMED})
    tap.result(alone == with_it and not alone[0], "so does one whose children leave by exit()", alone, with_it)
    said = said_by(sys.executable, "-c", FORKS_AGAIN, variables={**prepared, **ARMED})
    tap.result(said == (0, "fast\n"), "nothing keeps a child of an armed program from forking", said)
    without = {"LD_LIBRARY_PATH": os.path.join(tap.BUILD, "sim/without-cupti")}
    alone, with_it = said_by(TARGET, "launch", "200", variables=without), said_by(TARGET, "launch", "200",
                                                                                 variables={**without, **prepared, **ARMED})
    tap.result(alone == with_it and not alone[0], "so does one on a machine without CUPTI", alone, with_it)
    for fault in ("no-cupti", "subscriber-before", "stalls-refused=35", "stalls-refused=8", "one-sampler"):
        faults = {"XPUPROF_SIM_FAULTS": fault}
        alone, with_it = said_by(TARGET, "launch", "200", variables=faults), said_by(TARGET, "launch", "200",
                                                                                    variables={**faults, **prepared, **ARMED})
        tap.result(alone == with_it and not alone[0], f"so it does where CUPTI does not let it be armed ({fault})", alone, with_it)
    for value in ("", "0", "yes", "once"):
        with armed(ROUNDS, "--pause", "1000", variables={"XPUPROF_ARMED": value}) as program:
            wait_for(lambda: "xpuprof-idle" in threads(program.pid))
            time.sleep(0.3)
            tap.result(not has_cupti(program.pid) and not holds_place(program.pid), f"XPUPROF_ARMED='{value}' arms nothing",
                       state_of(program.pid))


def check_stalls():
    """Three kernels of eight run in graphs, from the program's first moment on."""
    for form in ("", "_runtime"):
        check_stalls_of(ROUNDS + form)


def check_stalls_of(rounds):
    with armed(rounds, "--threads", "3", "--pause", "1000") as program:
        tap.result(wait_for(lambda: is_armed(program.pid)) and threads(program.pid).count("xpuprof-idle") == 1,
                   "a program is armed with its first context, and has one thread more", threads(program.pid))
        time.sleep(0.5)
        done = record_joined(program.pid, "--stalls", seconds=1.5)
        sampled("armed", done, "count_a_us5", "count_b_us3")
        complete("armed", done, "count_a_us5", "count_b_us3")
        tap.result(f"process {program.pid} was armed" in done.stderr and report()["meta"].get("woken") == str(program.pid),
                   "the recording says that it was", done.stderr)
        whole("armed")
        tap.result(wait_for(lambda: not has_library(program.pid)) and not holds_place(program.pid),
                   "then it is no more: others can sample the GPU", state_of(program.pid))
        time.sleep(0.5)
        done = record_joined(program.pid, "--stalls", seconds=1.5)
        complete("for the second time", done, "count_a_us5", "count_b_us3")
        tap.result("was armed" not in done.stderr, "for which nothing has to end", done.stderr)
        whole("for the second time")
        tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])


def check_plain():
    """CUPTI refuses all recordings as long as a program is armed."""
    for options in ((), ("--overhead", "2")):
        with armed(ROUNDS, "--threads", "3", "--pause", "1000") as program:
            wait_for(lambda: is_armed(program.pid))
            done = record_joined(program.pid, *options, seconds=1.5)
            what = f"recorded {options[0]} first" if options else "recorded without --stalls first"
            tap.result(f"process {program.pid} was armed: to end that it was held for" in done.stderr and "gpu_refused" not in lost() and
                       report()["gpu_ns"], f"{what}: it is held until it is no more", done.stderr, lost())
            if not options:
                whole(what)
            wait_for(lambda: not has_library(program.pid))
            done = record_joined(program.pid, "--stalls", seconds=1.5)
            complete(f"{what}, then with it", done, "count_a_us5", "count_b_us3")
            tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])


def check_waits():
    """One thread does all, also where the context is made, and is in a call most of the time."""
    with armed(sys.executable, "-c", WAITS) as program:
        wait_for(lambda: is_armed(program.pid))
        for what, options in (("an armed program of one thread", ()), ("recorded again", ()), ("and with --stalls", ("--stalls",))):
            record_joined(program.pid, *options, seconds=1)
            calls_have_their_work(what)
            wait_for(lambda: not has_library(program.pid))


def check_place():
    """The GPU's one place for sampling is the armed program's, until it is recorded or ends; not its children's."""
    def other():
        return subprocess.run([tap.PROGRAM, "record", "--stalls", "-o", "o.xpu", "--", ROUNDS, "--seconds", "0.3"], stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True, env={**os.environ, **SIMULATED}).stderr
    with armed(ROUNDS, "--pause", "1000") as program:
        wait_for(lambda: is_armed(program.pid))
        said = other()
        tap.result("another process samples the GPU's instructions" in said and f"{program.pid}" in said,
                   "while a program is armed no other is sampled, and that is said", said)
        with armed(ROUNDS, "--pause", "1000", name="second") as second:
            wait_for(lambda: has_cupti(second.pid) and "xpuprof-arms" not in threads(second.pid))
            tap.result(not holds_place(second.pid), "a second one is not armed", state_of(second.pid))
            record_joined(second.pid, seconds=1)
            whole("a second one", name="second")
        record_joined(program.pid, "--gpu-only", seconds=0.3)
        wait_for(lambda: not has_library(program.pid))
        said = other()
        tap.result("another process" not in said, "after its first recording others are", said)
    script = "import os, time; print('ready', flush=True); os.fork() or time.sleep(100); time.sleep(100)"
    setup = "import ctypes; c = ctypes.CDLL('libcuda.so.1'); c.cuInit(0); c.cuCtxCreate_v2(ctypes.byref(ctypes.c_void_p()), 0, 0); "
    with armed(sys.executable, "-c", setup + script) as program:
        wait_for(lambda: is_armed(program.pid) and text_of(f"/proc/{program.pid}/task/{program.pid}/children"))
        children = text_of(f"/proc/{program.pid}/task/{program.pid}/children").split()
        tap.result(len(children) == 1 and wait_for(lambda: not holds_place(children[0])), "a child does not have the place", children)
        os.kill(int(children[0]), signal.SIGKILL)


def check_contexts():
    with armed(HELD, "contexts", "launch") as program:
        wait_for(lambda: is_armed(program.pid))
        done = record_joined(program.pid, "--stalls", "--gpu-only", seconds=1)
        tap.result("more than one GPU context" in done.stderr and "was armed" in done.stderr and report()["gpu_ns"],
                   "a program with two contexts is recorded, without samples, as ever", done.stderr, lost())
        ends(program, "contexts")
    with armed(HELD, "ends") as program:
        wait_for(lambda: is_armed(program.pid))
        program.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        recorder = recording(program.pid)
        tap.result(begun(), "after the armed context has ended the next one is sampled", text_of("log"))
        recorder.send_signal(signal.SIGINT)
        said = recorder.communicate()[1]
        tap.result(not report_stalls()["without_code"] and held_ms(said, "end"), "with all names", said)
        wait_for(lambda: not has_library(program.pid))
        tap.result(not holds_place(program.pid), "and the place is free then", said)
        ends(program, "ends")


def check_threads():
    """Sampling is not switched on beside other threads in calls, which are held."""
    wrong, found = [], 0
    for _ in range(THREADED):
        with armed(EARLY_THREADS, faults="stalls-alone") as program:
            found += bool(wait_for(lambda: is_armed(program.pid), 0.5))
            try:
                program.wait(20)
            except subprocess.TimeoutExpired:
                pass
            if program.poll() != 0 or not text_of("log").endswith("done\n"):
                wrong.append((program.poll(), text_of("log")))
    tap.result(not wrong, f"{THREADED} programs go on whose threads call while the first context is made", *wrong)
    tap.result(found, "and some are armed", found)


def check_never():
    """That it is armed cannot end while one of its threads is in a call."""
    with armed(HELD, "never", "launch") as program:
        wait_for(lambda: is_armed(program.pid))
        program.send_signal(signal.SIGUSR1)
        wait_for(lambda: text_of("log").count("inside") == 2)
        done = record(program.pid, "--gpu-only", seconds="2")
        tap.result(f"nothing was recorded of process {program.pid}, which is armed" in done.stderr and lost().get("gpu_refused") == 1 and
                   wait_for(lambda: not has_library(program.pid)) and holds_place(program.pid),
                   "one that always is in a call is not recorded, which is said", done.stderr, lost())
        program.send_signal(signal.SIGUSR2)
        done = record_joined(program.pid, "--stalls", "--gpu-only", seconds=2)
        complete("as soon as it is in none", done, "early_us20")
        ends(program, "never")


def check_early():
    """Until there is a context CUPTI is kept; who comes before that is given way."""
    with armed(sys.executable, "-c", EARLY) as program:
        wait_for(lambda: "xpuprof-arms" in threads(program.pid))
        done = record_joined(program.pid, seconds=0.5)
        tap.result(not done.returncode and "gpu_taken" not in lost() and "xpuprof-arms" not in threads(program.pid),
                   "a recorder that comes before the first context is given way", done.stderr, threads(program.pid))
        wait_for(lambda: not has_library(program.pid))
        program.send_signal(signal.SIGUSR1)
        tap.result(wait_for(lambda: "context" in text_of("log")) and not holds_place(program.pid),
                   "then the program is not armed", text_of("log"))
    with armed(sys.executable, "-c", EARLY) as program:
        wait_for(lambda: "xpuprof-arms" in threads(program.pid))
        program.send_signal(signal.SIGUSR1)
        tap.result(wait_for(lambda: is_armed(program.pid)), "nor is it armed before that", text_of("log"))
        program.send_signal(signal.SIGUSR2)
        tap.result(wait_for(lambda: "subscribe 0 records 14" in text_of("log")),
                   "a profiler of the program's own can subscribe then, and has no records of kernels", text_of("log"))
        record_joined(program.pid, seconds=0.3)
        wait_for(lambda: not has_library(program.pid))
        program.send_signal(signal.SIGUSR2)
        tap.result(wait_for(lambda: "subscribe 0 records 0" in text_of("log")), "but after a recording", text_of("log"))


def check_others():
    """The door's library and the recorder's are two copies, also where the one does not wake the other."""
    with armed(sys.executable, "-c", CLOSES) as program:
        wait_for(lambda: "closed" in text_of("log"))
        tap.result(not holds_place(program.pid), "a program closes what it has not opened", text_of("log"))
        done = record_joined(program.pid, "--stalls", seconds=1.5)
        complete("joined by ptrace", done, "direct_us20", "node_us20")
        tap.result("woken" not in report()["meta"] and "was armed" in done.stderr, "which finds out that it is armed", done.stderr)
        program.send_signal(signal.SIGTERM)
        tap.result(program.wait() == 0, "the program ends as alone", text_of("log")[-200:])


def check_kills():
    with armed(ROUNDS, "--threads", "2", "--pause", "1000") as program:
        wait_for(lambda: is_armed(program.pid))
        kill_recorders(program, KILLS)
        wait_for(lambda: not has_library(program.pid))
        done = record_joined(program.pid, "--stalls", seconds=1.5)
        complete("after that", done, "count_a_us5", "count_b_us3")
        tap.result(end_well(program), "and the program ends as alone", text_of("log")[-200:])
    random.seed(13)
    wrong = []
    for n in range(KILLS):
        with armed(ROUNDS, "--pause", "1000") as program:
            recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "--stalls", "--gpu-only", "-o", "k.xpu", "-p", str(program.pid)],
                                        stderr=subprocess.DEVNULL)
            wait_for(lambda: has_library(program.pid) or recorder.poll() is not None)
            time.sleep(random.uniform(0, 0.4))
            if not end_well(program) or recorder.wait(30) not in (0, 1):
                wrong.append((n, program.poll(), recorder.poll(), text_of("log")[-200:]))
    tap.result(not wrong, "it ends as alone in whatever moment of being armed and joined", *wrong)


def check():
    run_parts(check_alone, check_stalls, check_plain, check_waits, check_place, check_contexts, check_threads, check_never, check_early, check_others,
              check_kills)


tap.main(check, why_not)

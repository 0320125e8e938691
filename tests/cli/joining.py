# SPDX-License-Identifier: MIT
"""Programs on the simulated CUDA that run already, and recordings of them: what joined.t, dormant.t, dormant_harm.t and observed.t share."""
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import check_rounds
import tap

ROUNDS = os.path.join(tap.BUILD, "tests/programs/rounds")
TARGET = os.path.join(tap.BUILD, "tests/targets/inject_target")
LIBRARY = os.path.join(tap.BUILD, "libxpuprof-inject.so")
SIMULATED = {"LD_LIBRARY_PATH": os.path.join(tap.BUILD, "sim")}
NOBODY = 65534


# A program of one thread, ready to launch and replay: what it does follows.
ONE_THREAD = r"""
import ctypes, os, signal, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
p = ctypes.c_void_p
context, module, stream, graph, replay = p(), p(), p(), p(), p()
direct, node, long = p(), p(), p()
text = b".version 7.0\n.target sm_70\n.address_size 64\n" + b"".join(
    b".visible .entry %s(.param .u64 a) { ret; }\n" % name for name in (b"direct_us20", b"node_us20", b"long_us15000"))
def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    assert not result, (name, result)
def launch(function):
    call("cuLaunchKernel", function, 64, 1, 1, 32, 1, 1, 0, stream, None, None)
call("cuInit", 0)
call("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
call("cuModuleLoadData", ctypes.byref(module), text)
call("cuModuleGetFunction", ctypes.byref(direct), module, b"direct_us20")
call("cuModuleGetFunction", ctypes.byref(node), module, b"node_us20")
call("cuModuleGetFunction", ctypes.byref(long), module, b"long_us15000")
call("cuStreamCreate", ctypes.byref(stream), 1)
call("cuStreamBeginCapture_v2", stream, 2)
launch(node)
call("cuStreamEndCapture", stream, ctypes.byref(graph))
call("cuGraphInstantiateWithFlags", ctypes.byref(replay), graph, ctypes.c_uint64(0))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
"""

# It waits in a call of the driver for most of its time.
WAITS = ONE_THREAD + r"""
print("ready", flush=True)
while True:
    for function in direct, node, long:
        launch(function)
    call("cuStreamSynchronize", stream)
"""


@contextlib.contextmanager
def running(*command, faults="", name="log", prepared=False, variables=(), **options):
    """A program that prints "ready" when it has begun, into a file; prepared: it has loaded the library itself."""
    environment = {**os.environ, **SIMULATED, **({"XPUPROF_SIM_FAULTS": faults} if faults else {}),
                   **({"CUDA_INJECTION64_PATH": LIBRARY} if prepared else {}), **dict(variables)}
    with open(name, "w", encoding="utf-8") as log:
        program = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, **options)
    try:
        wait_for(lambda: "ready" in text_of(name) or program.poll() is not None)
        yield program
    finally:
        program.kill()
        program.wait()


def text_of(name):
    with open(name, encoding="utf-8") as f:
        return f.read()


def wait_for(holds, seconds=20):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def record(pid, *options, seconds="1", path="p.xpu", before=()):
    return subprocess.run([*before, tap.PROGRAM, "record", "-d", seconds, "-o", path, *options, "-p", str(pid)], env=os.environ,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)


def has_library(pid):
    """Whether the library's thread is there."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return any(text_of(f"/proc/{pid}/task/{task}/comm") == "xpuprof\n" for task in os.listdir(f"/proc/{pid}/task"))
    return False


def is_left(pid):
    """Nothing of the library, and none comes: who puts it in outlives the recorder."""
    return not any(has_library(pid) or set(state_of(pid)[2]) - {"/memfd:xpuprof-stay"} or time.sleep(0.05) for _ in range(20))


def record_joined(pid, *options, seconds=1, path="p.xpu", before=()):
    """So long from when the library is there."""
    recorder = subprocess.Popen([*before, tap.PROGRAM, "record", "-o", path, *options, "-p", str(pid)], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    wait_for(lambda: has_library(pid) or recorder.poll() is not None)
    time.sleep(seconds)
    recorder.send_signal(signal.SIGINT)
    out, err = recorder.communicate()
    return subprocess.CompletedProcess(recorder.args, recorder.returncode, out, err)


def kill_recorders(program, times):
    """At random moments of joining and recording."""
    random.seed(7)
    for _ in range(times):
        recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "--gpu-only", "-o", "k.xpu", "-p", str(program.pid)])
        time.sleep(random.uniform(0.02, 0.6))
        recorder.kill()
        recorder.wait()
        if program.poll() is not None:
            break
    tap.result(program.poll() is None, f"a recorder that is killed {times} times harms nothing", text_of("log")[-300:])


def run_parts(*parts):
    """Those that are named as arguments, or all."""
    for name in ("CUDA_INJECTION64_PATH", "XPUPROF_ARMED"):
        os.environ.pop(name, None)
    for of in parts:
        if of.__name__.removeprefix("check_") in sys.argv[1:] or not sys.argv[1:]:
            of()


def why_not():
    if os.geteuid():
        return "needs root"
    return "" if tap.can_record("--cpu-only") else "CPU samples cannot be had here"


def report(path="p.xpu"):
    return json.loads(tap.run(tap.PROGRAM, "report", "--json", path))


def lost(path="p.xpu"):
    return {key: count for key, count in report(path)["losses"].items() if count}


def state_of(pid):
    """What a program has: threads, descriptors, mapped files of ours."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        ours = sorted(re.findall(r"/memfd:xpuprof[^ ]*|[^ ]*libxpuprof[^ ]*|/memfd:.*xpu.*", f.read()))
    return len(os.listdir(f"/proc/{pid}/task")), len(os.listdir(f"/proc/{pid}/fd")), ours


def end_well(program, name="log"):
    program.send_signal(signal.SIGTERM)
    status = program.wait()
    return status == 0 and text_of(name).endswith("done\n")


def whole(what, path="p.xpu", name="log", graph=True, allowed=()):
    """A recording has all rounds that it saw whole, with nothing lost."""
    wrong, compared = check_rounds.check(path, check_rounds.read_rounds(name), 10, 0.3e9, graph)
    # what the kernel drops of mappings may be other programs': all share its buffers
    missing = {key: n for key, n in lost(path).items() 
               if not key.startswith(("walk_", "stacks_incomplete", "tables_", "maps_lost", *allowed))}
    tap.result(not wrong and not missing, f"{what}: every round is whole, under the functions that asked for it", *wrong[:10],
               compared, missing)


def calls_have_their_work(what, path="p.xpu"):
    """Each call has an id of its own, and if it asked for work, that; and all work has its call."""
    calls, without = check_rounds.read_calls(path)
    made = sum(call["count"] for call in report(path)["calls"])
    asked = made - sum(call["count"] for call in report(path)["calls"] if call["kind"] == "wait")
    answered = sum(len(work) == 1 for _, _, work in calls.values())
    tap.result(len(calls) == made and answered == asked > 100 and not without, f"{what}: all calls have their own work", len(calls), made,
               answered, asked, without)

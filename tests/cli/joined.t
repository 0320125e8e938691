#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record -p` records the GPU work of programs that run already, on the simulated CUDA: all of it, while it records,
with its stacks; and the program goes on as if nothing had been, whatever happens meanwhile. tests/gpu/joined.py does the same
on a real GPU.

usage: joined.t [twice|sources|later|end|two|kills|forks|rights...]"""
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
import check_rounds
import tap

ROUNDS = os.path.join(tap.BUILD, "tests/programs/rounds")
TARGET = os.path.join(tap.BUILD, "tests/targets/inject_target")
SIMULATED = {"LD_LIBRARY_PATH": os.path.join(tap.BUILD, "sim")}
NOBODY = 65534
KILLS = int(os.environ.get("JOINED_KILLS", 12))  # a thousand take some minutes


@contextlib.contextmanager
def running(*command, faults="", name="log", **options):
    """A program that prints "ready" when it has begun, into a file."""
    environment = {**os.environ, **SIMULATED, **({"XPUPROF_SIM_FAULTS": faults} if faults else {})}
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
    with contextlib.suppress(FileNotFoundError):
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


def whole(what, path="p.xpu", name="log"):
    """A recording has all rounds that it saw whole, with nothing lost."""
    wrong, compared = check_rounds.check(path, check_rounds.read_rounds(name), 10, 0.3e9)
    missing = {key: n for key, n in lost(path).items() if not key.startswith(("walk_", "stacks_incomplete", "tables_"))}
    tap.result(not wrong and not missing, f"{what}: every round is whole, under the functions that asked for it", *wrong[:10],
               compared, missing)


def check_twice():
    for form in ("", "_runtime"):
        with running(ROUNDS + form, "--threads", "3", "--pause", "300") as program:
            done = record_joined(program.pid)
            whole(f"rounds{form}")
            tap.result(done.returncode == 0 and "GPU time" in done.stderr, "the summary has its GPU time", done.stderr)
            tap.result(f"left process {program.pid}: CUPTI stays loaded" in done.stderr, "and says what stays", done.stderr)
            tap.result(f"process {program.pid}, which ran already" in tap.run(tap.PROGRAM, "report", "p.xpu") and
                       report()["meta"]["joined"] == str(program.pid), "reports say that it was joined", report()["meta"])
            after_one = state_of(program.pid)
            tap.result(after_one[2] == ["/memfd:xpuprof-stay"] and not has_library(program.pid),
                       "only a page stays, and no thread", after_one)
            record_joined(program.pid)
            whole(f"rounds{form}, for the second time")
            for _ in range(3):
                record_joined(program.pid, "--gpu-only", seconds=0.1)
            tap.result(state_of(program.pid) == after_one, "the fifth leaves what the first did", after_one,
                       state_of(program.pid))
            tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])


def check_sources():
    with running(ROUNDS, "--pause", "300") as program:
        done = record_joined(program.pid, "--stack-source=none", seconds=0.3)
        tap.result(done.returncode == 0 and report()["gpu_ns"] > 0 and not report()["stacks"]["launches"],
                   "--stack-source=none: GPU work is recorded without stacks", done.stderr, report()["stacks"])
        done = record(program.pid, "--stack-source=bpf", path="refused.xpu")
        tap.result(done.returncode == 2 and not os.path.exists("refused.xpu"),
                   "there are no probes in a library that was put into a program", done.stderr)
        before = state_of(program.pid)
        done = record(program.pid, "--cpu-only", path="cpu.xpu")
        tap.result(not done.returncode and state_of(program.pid) == before and not report("cpu.xpu")["gpu_ns"],
                   "--cpu-only puts nothing into it", before, state_of(program.pid))


def check_later():
    """CUDA comes in after the recording has begun: in a child, and in a program that loads it late."""
    script = f"echo ready; sleep 1; exec '{ROUNDS}' --seconds 6 --pause 300"
    with running("sh", "-c", f"{script} & wait") as program:
        done = record(program.pid, seconds="4")
        wrong, compared = check_rounds.check("p.xpu", check_rounds.read_rounds("log"), 10, 0.3e9)
        tap.result(not wrong, "a program that begins meanwhile is joined, too", *wrong[:5], compared, done.stderr)


def check_end():
    for what, number in (("ends", signal.SIGTERM), ("is killed", signal.SIGKILL)):
        with running(ROUNDS, "--pause", "300") as program:
            recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "-o", "p.xpu", "-p", str(program.pid)],
                                        stderr=subprocess.PIPE, text=True)
            wait_for(lambda: has_library(program.pid))
            time.sleep(1)
            program.send_signal(number)
            recorder.wait()
            if number == signal.SIGTERM:
                whole(f"a program that {what}")
            else:
                tap.result(report()["gpu_ns"] > 0, f"a program that {what} has what came until then", recorder.stderr.read())


def check_two():
    with running(ROUNDS, "--pause", "300") as program:
        first = subprocess.Popen([tap.PROGRAM, "record", "-q", "-o", "first.xpu", "-p", str(program.pid)])
        wait_for(lambda: has_library(program.pid))
        record(program.pid, seconds="4", path="second.xpu")
        first.send_signal(signal.SIGINT)
        first.wait()
        whole("the first of two recorders", "first.xpu")
        tap.result(lost("second.xpu").get("gpu_taken") == 1 and not report("second.xpu")["gpu_ns"],
                   "the second is refused by CUPTI, and says so", lost("second.xpu"))
        tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])
    with running(ROUNDS, "--pause", "300", faults="subscriber-before") as program:
        done = record(program.pid, seconds="2")
        tap.result("another profiler held CUPTI" in done.stderr, "so it is where another tool holds CUPTI", done.stderr)
        state = state_of(program.pid)
        tap.result(state[0] == 2 and end_well(program), "which is left alone", state, text_of("log")[-200:])


def check_kills():
    with running(ROUNDS, "--threads", "2", "--pause", "300") as program:
        random.seed(7)
        for _ in range(KILLS):
            recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "--gpu-only", "-o", "k.xpu", "-p", str(program.pid)])
            time.sleep(random.uniform(0.02, 0.6))
            recorder.kill()
            recorder.wait()
            if program.poll() is not None:
                break
        tap.result(program.poll() is None, f"a recorder that is killed {KILLS} times harms nothing", text_of("log")[-300:])
        clean = wait_for(lambda: is_left(program.pid))
        tap.result(clean, "nothing of the library stays, by and by", state_of(program.pid))
        record_joined(program.pid)
        whole("the next recording")
        tap.result(end_well(program), "and the program ends as alone", text_of("log")[-200:])


def check_forks():
    """A joined program may fork, execute another program, close what it has not opened, and end threads."""
    for what in ("fork", "spawn", "exec", "close", "signals", "threads"):
        with running("sh", "-c", f"echo ready; sleep 1.5; exec '{TARGET}' {what} 4000", name="forks") as program:
            done = record(program.pid, seconds="20")
            status = program.wait()
            tap.result(status == 0 and "done" in text_of("forks") and not done.returncode, f"{what}: the program ends as alone",
                       status, text_of("forks")[-300:], done.stderr)


def check_rights():
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
    os.chmod(".", 0o777)
    with running(*user, "env", *(f"{key}={value}" for key, value in SIMULATED.items()), ROUNDS, "--pause", "300") as program:
        done = record_joined(program.pid, path="user.xpu", before=[*user, "env", "HOME=/tmp"])
        tap.result(not done.returncode, "an ordinary user records a program of his own", done.stderr)
        whole("an ordinary user's program", "user.xpu")
        record_joined(program.pid)
        whole("another user's program, by root")
    with running(ROUNDS, "--pause", "300") as program:
        before = state_of(program.pid)
        done = record(program.pid, path="user.xpu", before=[*user, "env", "HOME=/tmp"])
        tap.result(state_of(program.pid) == before and done.stderr.startswith("xpuprof: ") and
                   ("ermi" in done.stderr or "not recorded" in done.stderr), "a program of somebody else's is refused", done.stderr)


def check():
    os.environ.pop("CUDA_INJECTION64_PATH", None)
    for of in (check_twice, check_sources, check_later, check_end, check_two, check_kills, check_forks, check_rights):
        if of.__name__.removeprefix("check_") in sys.argv[1:] or not sys.argv[1:]:
            of()


def why_not():
    if os.geteuid():
        return "needs root"
    return "" if tap.can_record("--cpu-only") else "CPU samples cannot be had here"


tap.main(check, why_not)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record -p` records the GPU work of programs that run already, on the simulated CUDA: all of it, while it records,
with its stacks; and the program goes on as if nothing had been, whatever happens meanwhile. tests/gpu/joined.py does the same
on a real GPU.

usage: joined.t [twice|sources|clock|later|end|ended|short|two|kills|forks|forking|rights|finalize...]"""
import contextlib
import fcntl
import os
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
from joining import (NOBODY, ONE_THREAD, ROUNDS, SIMULATED, TARGET, end_well, has_library, is_left, kill_recorders, lost, record,
                     record_joined, report, run_parts, running, state_of, text_of, wait_for, whole, why_not)

KILLS = int(os.environ.get("JOINED_KILLS", 6))
FORKINGS = int(os.environ.get("JOINED_FORKINGS", 4))
BEGUN_BYTES = 10000  # of a recording that has calls


def record_begin(*options):
    """The first seconds of a program that goes on: the recorder, which waits for it, and its pid."""
    with open("log", "w", encoding="utf-8") as log:
        recorder = subprocess.Popen([tap.PROGRAM, "record", "-d", "3", "-o", "begin.xpu", "--finalize", "--", "sh", "-c",
                                     "echo pid $$; exec \"$0\" --threads 2 --pause 1000 --seconds 60 $@", ROUNDS, *options],
                                    env={**os.environ, **SIMULATED}, stdout=log, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: "ready" in text_of("log"))
    pid = int(text_of("log").split()[1])
    wait_for(lambda: has_library(pid))
    wait_for(lambda: not has_library(pid))
    return recorder, pid


def end_begun(recorder, pid):
    """What the recorder says when the program has ended, as it is told to."""
    os.kill(pid, signal.SIGTERM)
    return recorder.communicate()[1]


def left_times(pid, said):
    """How long it took to leave a program in which CUPTI stays, and how much of that was CUPTI, in milliseconds."""
    found = re.search(fr"left process {pid} in (\S+) (ms|s) \((\S+) (us|ms|s) of it in CUPTI\): CUPTI stays loaded", said)
    factor = {"us": 0.001, "ms": 1, "s": 1000}
    return found and (float(found[1]) * factor[found[2]], float(found[3]) * factor[found[4]])


def check_finalize():
    recorder, pid = record_begin("--no-graph")
    said = record_joined(pid).stderr
    whole("joined when CUPTI had been taken out", graph=False)
    tap.result(left_times(pid, said), "where it stays if nobody asks", said)
    said = record_joined(pid, "--finalize").stderr
    tap.result(f"CUPTI stays in process {pid}: the program used the GPU before the library came\n" in said,
               "and if the library has not seen all", said)
    said = end_begun(recorder, pid)
    tap.result(f"CUPTI was taken out of process {pid}\n" in said, "CUPTI is taken out of a program without graphs", said)
    tap.result(text_of("log").endswith("done\n"), "which ends as alone")
    whole("before that", "begin.xpu", graph=False)
    recorder, pid = record_begin()
    said = end_begun(recorder, pid)
    tap.result(f"CUPTI stays in process {pid}: graphs were made in it\n" in said, "it stays where graphs are", said)
    said = subprocess.run([tap.PROGRAM, "record", "-o", "p.xpu", "--finalize", "--", ROUNDS, "--seconds", "0.5", "--no-graph"],
                          env={**os.environ, **SIMULATED}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stderr
    tap.result("CUPTI" not in said and report()["works"] > 0, "nothing is said of a program that ends by itself", said)


def check_twice():
    for form in ("", "_runtime"):
        with running(ROUNDS + form, "--threads", "3", "--pause", "1000") as program:
            done = record_joined(program.pid)
            whole(f"rounds{form}")
            tap.result(done.returncode == 0 and "GPU time" in done.stderr, "the summary has its GPU time", done.stderr)
            times = left_times(program.pid, done.stderr)
            # when recording ends, graphs that were launched before get 50 ms to run
            tap.result(times and 50 <= times[0] < 10000 and 0 < times[1] < times[0], "and says how long it took to leave, and what stays",
                       times, done.stderr)
            text = tap.run(tap.PROGRAM, "report", "p.xpu")
            tap.result(f"process {program.pid}, which ran already: where graphs and lists were made before is not known, nor always what is in"
                       " them\n" in text and report()["meta"]["joined"] == str(program.pid),
                       "reports say that it was joined, and what is not known of it", text, report()["meta"])
            after_one = state_of(program.pid)
            tap.result(after_one[2] == ["/memfd:xpuprof-stay"] and not has_library(program.pid),
                       "only a page stays, and no thread", after_one)
            record_joined(program.pid)
            whole(f"rounds{form}, for the second time")
            for _ in range(3):
                record_joined(program.pid, "--gpu-only", seconds=0.1)
            tap.result(wait_for(lambda: state_of(program.pid) == after_one), "the fifth leaves what the first did", after_one,
                       state_of(program.pid))
            tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])


def check_sources():
    with running(ROUNDS, "--pause", "1000") as program:
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


# At SIGUSR2 it says how far CUPTI's clock is from the day's, which is CUPTI's own.
CLOCK = ONE_THREAD + r"""
cupti, at = ctypes.CDLL("libcupti.so.13"), ctypes.c_uint64()
def tell(*_):
    assert not cupti.cuptiGetTimestamp(ctypes.byref(at))
    print("off", abs(at.value - time.time_ns()), flush=True)
signal.signal(signal.SIGUSR2, tell)
print("ready", flush=True)
while True:
    launch(direct)
    call("cuStreamSynchronize", stream)
    time.sleep(0.001)
"""


def check_clock():
    """CUPTI never forgets a clock that it was given, and a profiler of the program's own would have wrong times."""
    with running(sys.executable, "-c", CLOCK) as program:
        for _ in range(2):
            done = record_joined(program.pid, seconds=1.5)
            wait_for(lambda: is_left(program.pid))
        program.send_signal(signal.SIGUSR2)
        wait_for(lambda: "off" in text_of("log"))
        off = re.search(r"off (\d+)", text_of("log"))
        tap.result(report()["gpu_ns"] and off and int(off[1]) < 1e9, "CUPTI keeps its own clock in a program that was joined", text_of("log"),
                   done.stderr, report())


def check_later():
    """CUDA comes in after the recording has begun: in a child, and in a program that loads it late."""
    script = f"echo ready; sleep 1; exec '{ROUNDS}' --seconds 6 --pause 1000"
    with running("sh", "-c", f"{script} & wait") as program:
        done = record(program.pid, seconds="4")
        wrong, compared = check_rounds.check("p.xpu", check_rounds.read_rounds("log"), 10, 0.3e9)
        tap.result(not wrong, "a program that begins meanwhile is joined, too", *wrong[:5], compared, done.stderr)
        program.wait()  # for what would go on writing into the next one's log


def check_end():
    for what, number in (("ends", signal.SIGTERM), ("is killed", signal.SIGKILL)):
        with running(ROUNDS, "--pause", "1000") as program:
            path = f"{number}.xpu"
            recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "-o", path, "-p", str(program.pid)],
                                        stderr=subprocess.PIPE, text=True)
            wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > BEGUN_BYTES)
            time.sleep(1)
            program.send_signal(number)
            recorder.wait()
            if number == signal.SIGTERM:
                whole(f"a program that {what}", path)
            else:
                tap.result(report(path)["gpu_ns"] > 0, f"a program that {what} has what came until then", recorder.stderr.read())


def check_ended():
    """CUPTI met an error while it was recorded; a program that uses it after that crashes."""
    with running(ROUNDS, "--pause", "1000", faults="cupti-ends=300") as program:
        first = record(program.pid, seconds="2", path="first.xpu").stderr
        tap.result(f"CUPTI ended in process {program.pid}, " in first, "CUPTI may end in a program that was joined", first)
        tap.result(f"cannot leave process {program.pid} yet: it sleeps there" in first and "left process" not in first,
                   "the library stays, for what CUPTI may call", first)
        for time_again in ("second", "third"):
            said = record(program.pid, path="after.xpu").stderr
            tap.result(lost("after.xpu") == {"gpu_refused": 1} and "left process" not in said,
                       f"nothing is recorded there a {time_again} time, which is said", said)
        tap.result(end_well(program), "and the program goes on", program.poll(), text_of("log")[-200:])


def check_short():
    """The recording is over before the library has begun."""
    with running(ROUNDS, "--pause", "1000") as program:
        said = record(program.pid, "--gpu-only", seconds="0.02").stderr
        tap.result(report()["works"] or lost() == {"gpu_never_connected": 1}, "that nothing was recorded so soon is said", said)
        tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])


def check_late():
    with running(ROUNDS, "--pause", "1000") as program:
        first = subprocess.Popen([tap.PROGRAM, "record", "-q", "-o", "first.xpu", "-p", str(program.pid)])
        wait_for(lambda: has_library(program.pid))
        second = subprocess.Popen([tap.PROGRAM, "record", "-o", "late.xpu", "-p", str(program.pid)], stderr=subprocess.PIPE, text=True)
        time.sleep(4)  # it is refused, and tries again every five seconds
        first.send_signal(signal.SIGINT)
        first.wait()
        wait_for(lambda: not has_library(program.pid))
        wait_for(lambda: has_library(program.pid))
        time.sleep(1)
        second.send_signal(signal.SIGINT)
        said = second.communicate()[1]
        found = re.search(fr"process {program.pid} was recorded from ([0-9.]+) s on: before that another profiler held CUPTI\n", said)
        tap.result(found and 4 < float(found[1]) < 60 and report("late.xpu")["gpu_ns"] > 0,
                   "one that waits records from when the other leaves, and says so", said)
        tap.result(found and lost("late.xpu").get("gpu_taken") == 1 and "joined late   " + found[0].strip() in
                   tap.run(tap.PROGRAM, "report", "late.xpu"), "and so do reports", lost("late.xpu"))


def check_two():
    with running(ROUNDS, "--pause", "1000") as program:
        first = subprocess.Popen([tap.PROGRAM, "record", "-q", "-o", "first.xpu", "-p", str(program.pid)])
        wait_for(lambda: has_library(program.pid))
        record(program.pid, seconds="4", path="second.xpu")
        first.send_signal(signal.SIGINT)
        first.wait()
        whole("the first of two recorders", "first.xpu")
        tap.result(lost("second.xpu").get("gpu_taken") == 1 and not report("second.xpu")["gpu_ns"],
                   "the second is refused by CUPTI, and says so", lost("second.xpu"))
        tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])
    check_late()
    with running(ROUNDS, "--pause", "1000", faults="subscriber-before") as program:
        done = record(program.pid, seconds="2")
        tap.result("another profiler held CUPTI" in done.stderr, "so it is where another tool holds CUPTI", done.stderr)
        state = state_of(program.pid)
        tap.result(state[0] == 2 and end_well(program), "which is left alone", state, text_of("log")[-200:])


def joiners_of(pid):
    """The processes that join a program for recorders."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if text_of(f"/proc/{process}/comm") == "xpuprof-join\n" and str(pid) in text_of(f"/proc/{process}/cmdline").split("\0"):
                found.append(process)
    return found


def mappings(pid):
    """Where they are: the stack of a thread that was made for us stays, for the next one."""
    return [line.split()[0] for line in text_of(f"/proc/{pid}/maps").splitlines() if "[heap]" not in line]


def check_kills():
    with running(ROUNDS, "--threads", "2", "--pause", "1000") as program:
        wait_for(lambda: text_of("log").count("\n") > 10)  # it has all its memory
        before = mappings(program.pid)
        with open(f"/proc/{program.pid}/mem", "rb") as joining:  # as another recorder that joins it
            fcntl.flock(joining, fcntl.LOCK_EX)
            recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "--gpu-only", "-o", "k.xpu", "-p", str(program.pid)])
            waits = wait_for(lambda: joiners_of(program.pid))
            recorder.kill()
            recorder.wait()
        gone = wait_for(lambda: not joiners_of(program.pid))
        tap.result(waits and gone and mappings(program.pid) == before, "a program is not joined for a recorder that has ended meanwhile",
                   waits, len(before), len(mappings(program.pid)))
        kill_recorders(program, KILLS)
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


def check_forking():
    """Children that are forked at whatever moment, and end by exit(): while the library comes, is there, and goes."""
    with running(TARGET, "forking") as program:
        unclean = []
        for _ in range(FORKINGS):
            done = record_joined(program.pid, "--gpu-only", seconds=0.05)
            left = wait_for(lambda: is_left(program.pid))
            if done.returncode or not left:
                unclean.append((left, done))
        tap.result(not unclean and state_of(program.pid)[2] == ["/memfd:xpuprof-stay"],
                   f"a program that does nothing but fork is joined {FORKINGS} times", *unclean, state_of(program.pid))
        tap.result(end_well(program) and "child" not in text_of("log"), "none of its children fails in exit(), or hangs",
                   text_of("log")[-500:])


def check_rights():
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
    os.chmod(".", 0o777)
    with running(*user, "env", *(f"{key}={value}" for key, value in SIMULATED.items()), ROUNDS, "--pause", "1000") as program:
        done = record_joined(program.pid, path="user.xpu", before=[*user, "env", "HOME=/tmp"])
        tap.result(not done.returncode, "an ordinary user records a program of his own", done.stderr)
        whole("an ordinary user's program", "user.xpu")
        record_joined(program.pid)
        whole("another user's program, by root")
    with running(ROUNDS, "--pause", "1000") as program:
        before = state_of(program.pid)
        done = record(program.pid, path="user.xpu", before=[*user, "env", "HOME=/tmp"])
        tap.result(state_of(program.pid) == before and done.stderr.startswith("xpuprof: ") and
                   ("ermi" in done.stderr or "not recorded" in done.stderr), "a program of somebody else's is refused", done.stderr)
        rights = "+sys_ptrace,+dac_override,+bpf,+perfmon"
        done = record_joined(program.pid, path="capable.xpu", before=[*user[:-1], f"--inh-caps={rights}", f"--ambient-caps={rights}",
                                                                      "env", "HOME=/tmp"])
        tap.result(not done.returncode, "four capabilities suffice for it", done.stderr)
        whole("a program of somebody else's, by capabilities", "capable.xpu")


def check():
    run_parts(check_twice, check_sources, check_clock, check_later, check_end, check_ended, check_short, check_two, check_kills, check_forks,
              check_forking, check_rights, check_finalize)


tap.main(check, why_not)

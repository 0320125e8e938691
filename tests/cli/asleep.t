#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`record --off-cpu -p`: threads that sleep when the recording begins have their stacks, native and Python's, and no others."""
import collections
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

TARGET = os.path.join(tap.BUILD, "tests", "targets", "asleep_target")
LINES = os.path.join(tap.BUILD, "tests", "helpers", "wait_lines")
PYTHON = os.environ.get("PYTHON", sys.executable)
PROGRAM = """
import threading, time
def sleep_here():
    time.sleep(1000000)
def lock_here():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
def sort_here():
    sorted([3, 2], key=lambda x: time.sleep(1000000))
def deep_here(depth):
    if depth:
        deep_here(depth - 1)
    time.sleep(1000000)
for function in sleep_here, lock_here, sort_here:
    threading.Thread(target=function, daemon=True).start()
print("asleep", flush=True)
deep_here(200)
"""
CROWD = 1000

Wait = collections.namedtuple("Wait", "pid tid thread reason start duration queued others others_ns waker stack")


class Program:
    """One that has begun and whose threads, so many, all wait."""

    def __init__(self, *command, threads):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.process.stdout.readline()
        while not self.all_wait(threads):
            time.sleep(0.01)

    def all_wait(self, threads):
        tids = os.listdir(f"/proc/{self.pid}/task")
        states = [self.read(tid, "stat").rpartition(")")[2].split()[0] for tid in tids]
        return len(tids) == threads and set(states) == {"S"}

    def read(self, tid, name):
        with open(f"/proc/{self.pid}/task/{tid}/{name}") as file:
            return file.read()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


def record(program, seconds, *options):
    return subprocess.Popen([tap.PROGRAM, "record", "-q", "-o", "p.xpu", "--off-cpu", "-d", str(seconds), *options,
                             *(() if "-a" in options else ("-p", str(program.pid)))],
                            stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)


def waits_of(program, recorder):
    said = recorder.communicate()[1]
    if recorder.returncode:
        tap.result(False, "the recording succeeds", said)
    waits = []
    for line in tap.run(LINES, "p.xpu").splitlines():
        kind, *fields = line.split("\t")
        if kind == "wait" and int(fields[0]) == program.pid:
            waits.append(Wait(*map(int, fields[:2]), *fields[2:4], *map(int, fields[4:10]), fields[10].split(";")))
    return waits


def is_at(wait, *functions):
    """Whether it waits in the first of these, which was called by the next."""
    user = wait.stack[::-1]
    return functions[0] in user and tuple(user[user.index(functions[0]):][:len(functions)]) == functions


def check_at(waits, reason, *functions, count=1):
    here = [w for w in waits if is_at(w, *functions)]
    tap.result(len(here) == count and {w.reason for w in here} == {reason} and min(w.duration for w in here) > 1e9,
               f"the time of {functions[0]} is under it, as '{reason}'", here, waits)


def share_of(view, function):
    """Of all time of the program."""
    sums = collections.Counter()
    for line in tap.run(tap.PROGRAM, "export", "--to", "folded", "--view", view, "-o", "-", "p.xpu").splitlines():
        stack, _, ns = line.rpartition(" ")
        sums[function in stack] += float(ns)
    return sums[True] / max(1, sum(sums.values()))


def try_test(test):
    """How soon stacks come depends on how busy the machine is: so a recording may be longer, and longer again."""
    first = len(tap.results)
    for seconds in 2, 8, 30:
        del tap.results[first:]
        begin = time.monotonic()
        test(seconds)
        wrong = [name for ok, name, _ in tap.results[first:] if not ok]
        print(f"# {test.__name__}: {time.monotonic() - begin:.1f} s", *wrong[:1], sep=", not: ", flush=True)
        if not wrong:
            return


def native(seconds):
    with Program(TARGET, threads=9) as program:
        waits = waits_of(program, record(program, seconds))
    check_at(waits, "sleep", "sleep_long", "begin")
    check_at(waits, "lock", "take_lock", "begin")
    check_at(waits, "lock", "wait_condition", "begin")
    check_at(waits, "I/O", "read_pipe", "begin")
    check_at(waits, "I/O", "read_pipe", "read_with_room", "be_called_room", "begin")
    check_at(waits, "events", "wait_for_events", "begin")
    check_at(waits, "lock", "wait_condition", *["wait_below"] * 501, "be_deep", "begin")
    check_at(waits, "I/O", "wait_for_line", "be_woken", "begin")
    check_at(waits, "lock", "main")
    tap.result(len(waits) == 9 and not [w for w in waits if "incomplete" in w.stack[0]], "all stacks reach their root", waits)
    for view in "off-cpu", "wall":
        tap.result(0.1 < share_of(view, "read_with_room") < 0.12, f"a ninth of --view {view} is one thread's",
                   share_of(view, "read_with_room"))
    tap.result(share_of("off-cpu", "[waits without a stack]") == 0, "and no wait is without a stack")


def woken(seconds):
    """A stack is only of the wait that it was read in."""
    with Program(TARGET, threads=9) as program:
        recorder = record(program, 2 * seconds)
        time.sleep(seconds)
        program.process.stdin.write("x\n")
        program.process.stdin.flush()
        program.process.stdout.readline()
        waits = waits_of(program, recorder)
    first = [w for w in waits if "wait_for_line" in w.stack]
    second = [w for w in waits if "wait_after_line" in w.stack]
    tap.result(len(first) == 1 and len(second) == 1 and first[0].tid == second[0].tid and
               first[0].start + first[0].duration <= second[0].start and
               not [w for w in waits if "wait_for_line" in w.stack and "wait_after_line" in w.stack],
               "who wakes up has been where it was, and is where it goes", first, second, waits)


def crowd(seconds):
    with Program(TARGET, str(CROWD), threads=9 + CROWD) as program:
        waits = waits_of(program, record(program, seconds))
    here = {w.tid for w in waits if "wait_in_crowd" in w.stack and "incomplete" not in w.stack[0]}
    tap.result(len(here) == CROWD, f"each of {CROWD} threads has its stack", len(here), len(waits))


def whole_system(seconds):
    with Program(TARGET, threads=9) as program:
        waits = waits_of(program, record(program, seconds, "-a", "--cpu-only"))
    check_at(waits, "I/O", "read_pipe", "read_with_room", "be_called_room", "begin")


def python(seconds):
    with Program(PYTHON, "-c", PROGRAM, threads=4) as program:
        waits = waits_of(program, record(program, seconds))
    for function, reason in (("sleep_here", "sleep"), ("lock_here", "lock"), ("sort_here", "sleep")):
        here = [w for w in waits if "Thread.run" in w.stack and function in w.stack]
        tap.result(len(here) == 1 and here[0].reason == reason and
                   here[0].stack.index("Thread.run") < here[0].stack.index(function),
                   f"Python's {function} has the time of its thread, as '{reason}'", here, waits)
    deep = [w for w in waits if w.stack.count("deep_here") == 201]
    tap.result(len(deep) == 1 and deep[0].tid == program.pid, "and the main thread's stack is whole", deep, waits)
    losses = json.loads(tap.run(tap.PROGRAM, "report", "--json", "p.xpu"))["losses"]
    tap.result(not [name for name in losses if losses[name] and name.startswith(("python", "walk", "stacks"))],
               "nothing of them is lost", losses)


def check():
    for test in native, woken, crowd, whole_system, python:
        try_test(test)


def why_not():
    done = subprocess.run([tap.PROGRAM, "record", "-q", "--cpu-only", "--off-cpu", "-o", "none.xpu", "true"],
                          stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    refused = done.returncode or "no waits" in done.stderr
    return f"waits cannot be recorded here: {' '.join(done.stderr.split())}" if refused else ""


tap.main(check, why_not)

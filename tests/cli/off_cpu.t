#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record --off-cpu` on programs that measure themselves how long they wait: reasons, places, lengths, sums.

usage: off_cpu.t [TEST]...      these of its functions; without any all"""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "build")))
PROGRAM = os.path.join(BUILD, "xpuprof")
TARGET = os.path.join(BUILD, "tests", "targets", "wait_target")
LINES = os.path.join(BUILD, "tests", "helpers", "wait_lines")

Wait = collections.namedtuple("Wait", "pid tid thread reason start duration queued others others_ns waker stack")
Life = collections.namedtuple("Life", "pid tid thread start duration run")
results = []


def result(ok, name, *notes):
    results.append((bool(ok), name, notes))


def skip(name, reason):
    results.append((True, f"{name} # SKIP {reason}", ()))


def try_test(test):
    """What a program measures around its waits is not exactly these when others take its CPU in between: so it may be
    recorded three times, and has to be right once."""
    first = len(results)
    for _ in range(3):
        del results[first:]
        begin = time.monotonic()
        test()
        wrong = [name for ok, name, _ in results[first:] if not ok]
        print(f"# {test.__name__}: {time.monotonic() - begin:.1f} s", *wrong[:1], sep=", not: ", flush=True)
        if not wrong:
            return


def print_results():
    for number, (ok, name, notes) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {name}")
        for line in [line for note in notes for line in str(note).splitlines()[:60]] if not ok else ():
            print(f"# {line}")
    print(f"1..{len(results)}")


class Recording:
    def __init__(self, path, out="", said=""):
        self.out, self.said = out, said
        self.waits, self.lives, self.lost = [], [], {}
        lines = subprocess.run([LINES, path], stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in lines.splitlines():
            kind, *fields = line.split("\t")
            if kind == "wait":
                self.waits.append(Wait(*map(int, fields[:2]), *fields[2:4], *map(int, fields[4:10]), fields[10].split(";")))
            elif kind == "life":
                self.lives.append(Life(*map(int, fields[:2]), fields[2], *map(int, fields[3:])))
            elif kind == "lost":
                self.lost[fields[0]] = int(fields[1])

    def at(self, function):
        return [w for w in self.waits if function in w.stack]

    def check_sums(self, name):
        """Run time and waits of each thread are its life, and nothing waits that has none."""
        missing = collections.Counter()
        for life in self.lives:
            missing[life.pid, life.tid, life.thread] += life.duration - life.run
        for w in self.waits:
            missing[w.pid, w.tid, w.thread] -= w.duration + w.others_ns
        wrong = {thread: ns for thread, ns in missing.items() if ns}
        result(self.lives and not wrong and not any(n.startswith("waits") for n in self.lost),
               f"{name}: each thread's run time and waits are its life, exactly", wrong, self.lost, self.said)


def record(*command, options=("--off-cpu",)):
    done = subprocess.run([PROGRAM, "record", "-q", "--cpu-only", "-o", "r.xpu", *options, "--", *command],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        print(f"# {command}: status {done.returncode}: {done.stderr}")
    return Recording("r.xpu", done.stdout, done.stderr)


def total(waits):
    return sum(w.duration + w.others_ns for w in waits)


def check_way(r, reason, function, tid, calls):
    """Waits at a function: as long as the program was not running there. On a busy machine some of those it asked for are not
    to be waited for any more; and where the machine itself is stopped for a while, as a virtual one, between the moments at
    which the kernel's clock of CPU time and ours see a switch, they tell of different lengths. So most calls have to agree,
    and no wait may be longer than its call."""
    here = [w for w in r.at(function) if w.tid == tid]
    slept = [w for w in here if w.reason == reason]
    result(sum(1 + w.others for w in slept) >= 0.7 * len(calls), f"{function}: its waits are found, as '{reason}'", here, r.said)
    within = [[w for w in here if begin <= w.start < end] for begin, end, _, _ in calls]
    result(sum(map(len, within)) == len(here) and total(here) <= sum(end - begin for begin, end, _, _ in calls) and
           all(sum(w.duration for w in waits) <= end - begin for waits, (begin, end, _, _) in zip(within, calls)),
           f"{function}: it waits only while it is called", calls, here)
    wrong = [(total(waits), call) for waits, call in zip(within, calls) if not agree(waits, *call)]
    result(len(wrong) < len(calls) / 2, f"{function}: its waits are as long as it did not run", wrong, here)


def agree(waits, begin, end, least, most):
    slack = 0.05 * most + 100000 * (1 + sum(1 + w.others for w in waits))
    return least - slack <= total(waits) <= most + slack


def by_thread(lines):
    calls = collections.defaultdict(list)
    for tid, *call in lines:
        calls[tid].append(call)
    return calls


def report_names_holder(holder):
    """It sleeps while it has the lock."""
    report = json.loads(subprocess.run([PROGRAM, "report", "--json", "--top", "1000", "r.xpu"], stdout=subprocess.PIPE, check=True).stdout)
    rows = [row for row in report["waits"]["rows"] if row["reason"] == "lock" and "take_lock" in row["path"]]
    result(len(rows) == 1 and [waker["tid"] for waker in rows[0]["wakers"]] == [holder] and not rows[0]["no_waker_ns"],
           "report names who let the lock go", rows)
    doings = [doing for row in rows for doing in row["meanwhile"]][:1]
    result([(doing["tid"], doing["reason"], "sleep_us" in doing["path"]) for doing in doings] == [(holder, "sleep", True)] and
           doings[0]["total_ns"] > 0.5 * rows[0]["meanwhile_of_ns"], "and what it did meanwhile, where", rows)
    text = subprocess.run([PROGRAM, "report", "--top", "1000", "--wide", "r.xpu"], stdout=subprocess.PIPE, text=True, check=True).stdout
    result(re.search(rf"lock +wait_target \d+ at .*take_lock\n +woken by wait_target {holder} \(100.0 %\), meanwhile sleep", text),
           "in the text, too", text)


def known_waits():
    r = record(TARGET, "known", os.path.join(os.getcwd(), "pages"))
    lines = [line.split() for line in r.out.splitlines()]
    ways = collections.defaultdict(list)
    for fields in lines:
        ways[fields[0]].append([int(f) for f in fields[1:]])
    for function, reason in (("take_lock", "lock"), ("read_pipe", "I/O"), ("sleep_a_while", "sleep"),
                             ("poll_pipe", "events"), ("wait_for_child", "process"), ("be_stopped", "stopped"),
                             ("hog", "run queue")):
        result(bool(ways[function]), f"{function} was run", r.out, r.said)
        for tid, calls in by_thread(ways[function]).items():
            check_way(r, reason, function, tid, calls)
    (holder,) = ways["lock"][0]
    wakers = {w.waker for w in r.at("take_lock") if w.reason == "lock"}
    result(wakers == {holder}, "who let the lock go is named", wakers, holder)
    report_names_holder(holder)
    wakers = {w.waker for w in r.at("sleep_a_while")}
    result(wakers == {0}, "nobody ends a sleep", wakers)
    if ways["absent"][0][0] < 32:
        skip("touch_pages: page faults", "the file cannot be dropped from memory here")
    else:
        here = r.at("touch_pages")
        if any(w.reason == "page fault" for w in here):
            for tid, calls in by_thread(ways["touch_pages"]).items():
                check_way(r, "page fault", "touch_pages", tid, calls)
        else:
            skip("touch_pages: page faults", "no page had to be waited for")
    hogs = [w for w in r.at("hog") if w.reason == "run queue"]
    result(all(w.queued == w.duration for w in hogs), "who was preempted could have run all the time", hogs)
    result(all(w.queued <= w.duration for w in r.waits), "no wait was in the run queue for longer than it took")
    result(not [w for w in r.at("take_lock") if "incomplete" in w.stack[0]], "stacks reach their roots")
    r.check_sums("known waits")


def least_length():
    r = record(TARGET, "lengths", options=("--off-cpu=5ms",))
    sleeps = r.at("sleep_us")
    result(len(sleeps) >= 5 and all(w.duration >= 5000000 for w in sleeps), "what lasts MIN has its stack", sleeps)
    result(not [w for w in r.waits if len(w.stack) > 1 and w.duration < 5000000], "nothing shorter has one", r.waits)
    rests = [w for w in r.waits if w.stack == [""] and w.reason == "sleep" and not w.duration]
    result(sum(w.others for w in rests) + len(sleeps) >= 20 and total(rests) > 0,
           "but is reported by its sum and number", rests, sleeps)
    r.check_sums("with MIN")


def threads():
    r = record(TARGET, "threads")
    lives = [life for life in r.lives if life.thread == "wait_target" and life.pid != life.tid]
    result(len(lives) == 200, "every thread of many short ones has its life", len(lives), r.lost, r.said)
    result(all(life.duration >= 200000 for life in lives), "which is as long as it slept at least")
    r.check_sums("short threads")


def crowd():
    """More threads at once than have a place of their own in the programs' table: a few of them share one."""
    r = record(TARGET, "crowd")
    lives = [life for life in r.lives if life.thread == "wait_target" and life.pid != life.tid]
    slept = collections.Counter()
    for w in r.waits:
        slept[w.tid] += w.duration + w.others_ns
    result(len(lives) == 600, "every thread of a crowd has its life", len(lives), r.lost, r.said)
    result(all(life.duration >= 1000000 for life in lives) and all(slept[life.tid] >= 1000000 for life in lives),
           "and its waits", [life for life in lives if slept[life.tid] < 1000000])
    r.check_sums("crowd")


def storm():
    """On one CPU, since each CPU's time pays for walks of its own. In this time it pays for as many on a busy machine as on
    an idle one; on a faster machine for more, of more waits."""
    on_one_cpu = "import os, sys; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); os.execv(sys.argv[1], sys.argv[1:])"
    r = record(sys.executable, "-c", on_one_cpu, TARGET, "storm", "400")
    carried = sum(w.others for w in r.waits)
    rounds = int(r.out.split()[1])
    walked = sum(len(w.stack) > 1 for w in r.waits)
    result(rounds < 20000 or carried > rounds / 2, "in a storm most waits are carried by others", carried, rounds)
    result(walked < max(6000, (walked + carried) / 8), "and few have stacks", walked, carried, rounds)
    r.check_sums("storm")


def share_with_stack(r):
    """Of the time of waits of threads whose waits are recorded."""
    return total(w for w in r.waits if len(w.stack) > 1) / max(1, total(r.waits))


def places():
    """In a storm walks are for all places that are waited at, also when there are more than are kept of a thread."""
    for depths in 1, 24:
        r = record(TARGET, "storm", "1000", str(depths))
        result(share_with_stack(r) > 0.8, f"of a storm at {depths} places nearly all has its stack", share_with_stack(r))
        found = {w.stack.count("read_below") for w in r.at("read_below") if w.reason == "I/O"}
        result(found == set(range(1, depths + 1)), f"and all {depths} are found", found)
        r.check_sums(f"{depths} places")


def other_programs():
    """The process of the profile is another one after exec."""
    r = record("sh", "-c", "sleep 0.05; exec sleep 0.05")
    result({life.thread for life in r.lives} >= {"sh", "sleep"}, "before and after exec there are two lives", r.lives)
    slept = [w for w in r.waits if w.thread == "sleep" and w.reason == "sleep"]
    result(len(slept) >= 2 and total(slept) >= 100000000, "waits belong to the program that waits", slept)
    r.check_sums("exec")


def unfinished():
    r = record(TARGET, "long", "1500", options=("--off-cpu", "-d", "0.7"))
    slept = [w for w in r.at("sleep_us") if w.reason == "sleep"]
    result(len(slept) == 1 and 0 < slept[0].duration < 1500000000,
           "a wait that goes on at the end is reported up to there, with its stack", slept, r.said)
    r.check_sums("at the end")


def wait_until_asleep(pid):
    """In nanosleep; a second where the kernel does not say."""
    for _ in range(100):
        with open(f"/proc/{pid}/wchan") as file:
            if "nanosleep" in file.read():
                return
        time.sleep(0.01)


def attached():
    program = subprocess.Popen([TARGET, "long", "600000"])
    wait_until_asleep(program.pid)
    done = subprocess.run([PROGRAM, "record", "-q", "-o", "p.xpu", "--off-cpu", "-p", str(program.pid), "-d", "0.5"],
                          stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    program.send_signal(signal.SIGKILL)
    program.wait()
    r = Recording("p.xpu", said=done.stderr)
    mine = [w for w in r.waits if w.pid == program.pid]
    lives = [life for life in r.lives if life.pid == program.pid]
    result(len(lives) == 1 and lives[0].duration == total(mine) and lives[0].run == 0,
           "a process that sleeps all the time has waited all the time", lives, mine, r.said)
    result({w.reason for w in mine} == {"sleep"}, "and why is known, though it slept before", mine)
    r.check_sums("-p")


def main():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    try:
        done = subprocess.run([PROGRAM, "record", "-q", "--cpu-only", "--off-cpu", "-o", "r.xpu", "true"],
                              stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        if done.returncode or "no waits" in done.stderr:
            print(f"1..0 # SKIP waits cannot be recorded here: {' '.join(done.stderr.split())}")
            return 0
        for test in (known_waits, least_length, threads, crowd, storm, places, other_programs, unfinished, attached):
            if test.__name__ in (sys.argv[1:] or test.__name__):
                try_test(test)
    finally:
        os.chdir("/")
        shutil.rmtree(folder)
    print_results()
    return 0 if all(ok for ok, _, _ in results) else 1


sys.exit(main())

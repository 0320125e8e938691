#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU time is what the kernel says it is, by getrusage(), whatever samples there are: of a busy loop, a thousand threads of a
millisecond, trees of processes, a process with a large heap, and a program that runs already."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

# Runs what it is asked for in a child, and prints what getrusage() has of all that ended.
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static long now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}
static void spin(clockid_t clock, long ns)
{
	for (long end = now_ns(clock) + ns; now_ns(clock) < end;)
		;
}
static void *in_thread(void *ns)
{
	spin(CLOCK_MONOTONIC, (long)ns);
	return NULL;
}
static void threads(int count, long ns)
{
	for (int i = 0; i < count; i++) {
		pthread_t t;
		pthread_create(&t, NULL, in_thread, (void *)ns);
		pthread_join(t, NULL);
	}
}
static void heap(size_t bytes)
{
	volatile char *p = malloc(bytes);
	for (size_t at = 0; at < bytes; at += 4096)
		p[at] = 1;
}
static void tree(char **argv)
{
	for (int i = 0; i < 100; i++) {
		if (!fork()) {
			if (!fork()) {
				spin(CLOCK_PROCESS_CPUTIME_ID, 1000000);
				_exit(0);
			}
			spin(CLOCK_PROCESS_CPUTIME_ID, 1000000);
			wait(NULL);
			if (i % 2)
				execl(argv[0], argv[0], "nothing", NULL);
			_exit(0);
		}
		wait(NULL);
	}
}
int main(int argc, char **argv)
{
	struct rusage r;
	if (!strcmp(argv[1], "already"))
		spin(CLOCK_PROCESS_CPUTIME_ID, 1500000000);
	if (!strcmp(argv[1], "nothing") || !strcmp(argv[1], "already"))
		return 0;
	if (!fork()) {
		if (!strcmp(argv[1], "loop"))
			spin(CLOCK_PROCESS_CPUTIME_ID, 500000000);
		else if (!strcmp(argv[1], "threads"))
			threads(1000, 1000000);
		else if (!strcmp(argv[1], "heap"))
			heap(256 << 20);
		else if (!strcmp(argv[1], "tree"))
			tree(argv);
		_exit(0);
	}
	wait(NULL);
	getrusage(RUSAGE_CHILDREN, &r);
	printf("%d %ld\n", getpid(), r.ru_utime.tv_sec * 1000000000 + r.ru_utime.tv_usec * 1000 +
		r.ru_stime.tv_sec * 1000000000 + r.ru_stime.tv_usec * 1000);
	return 0;
}
"""


def report(path):
    return json.loads(tap.run(tap.PROGRAM, "report", "--json", path))


def near(a, b, part=0.001, least_ns=5000):
    """getrusage() has whole microseconds, of each of its two numbers."""
    return abs(a - b) <= max(part * b, least_ns)


def check_program(what):
    out = tap.run(tap.PROGRAM, "record", "-q", "--cpu-only", "-o", "p.xpu", "--", "./program", what)
    pid, used_ns = map(int, out.split())
    r = report("p.xpu")
    recorded_ns = sum(p["cpu_ns"] for p in r["processes"] if p["pid"] != pid)
    # of each process the last microseconds of its end are in no account
    tap.result(near(recorded_ns, used_ns, least_ns=5000 * len(r["processes"])), f"{what}: CPU time is that of getrusage()",
               f"{recorded_ns} for {used_ns} ns", r["losses"])
    tap.result(not r["losses"]["accounts_lost"], f"{what}: of every thread")
    for rows in ("threads", "processes"):
        tap.result(sum(row["cpu_ns"] for row in r[rows]) == r["cpu_ns"], f"{what}: {rows} add up to all of it")
    tap.result(sum(f["self_ns"] for f in r["functions"]) == r["cpu_ns"], f"{what}: and so do functions")
    folded = tap.run(tap.PROGRAM, "export", "--to", "folded", "--view", "cpu", "p.xpu")
    shown_us = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
    tap.result(abs(shown_us - r["cpu_ns"] / 1000) <= 1, f"{what}: and so do stacks", shown_us, r["cpu_ns"])
    tap.result(all(0 <= f[part + "_low_ns"] <= f[part + "_ns"] <= f[part + "_high_ns"] <= r["cpu_ns"]
                   for f in r["functions"] for part in ("self", "total")), f"{what}: times of functions are within their bounds",
               r["functions"])
    return r


def check_threads():
    r = check_program("threads")
    threads = [t for t in r["threads"] if not t["samples"]]
    tap.result(len(threads) > 500, "most threads of a millisecond have no sample", len(threads))
    row = [f for f in r["functions"] if f["name"] == "[no sample]"]
    tap.result(len(row) == 1 and row[0]["self_ns"] == sum(t["cpu_ns"] for t in threads) and not row[0]["samples"],
               "their time is in a row of its own", row)
    for options in ((), ("--reverse",)):
        tap.run(tap.PROGRAM, "flame", "--view", "cpu", *options, "-o", "p.svg", "p.xpu")
        with open("p.svg", encoding="utf-8") as f:
            titles = re.findall("<title>([^<]*)</title>", f.read())
        whole = [title for title in titles if title.startswith("all, CPU ") and f", {r['samples']} samples (100.00 %)" in title]
        none = [title for title in titles if title.startswith("[no sample], CPU ") and "samples" not in title]
        tap.result(len(whole) == 1 and len(none) == 1, f"a picture says how many samples a time is of {options}", titles[:9])
    tap.result(row and row[0]["self_low_ns"] == row[0]["self_ns"] == row[0]["self_high_ns"], "which is exact", row)
    tap.result(r["cpu_exact"], "and all CPU time is")


def ran_ns(pid):
    """Of a process of one thread; exact while that does not run."""
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0])


def wait_for(what):
    for _ in range(400):
        if what():
            return True
        time.sleep(0.05)
    return False


def is_stopped(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0] == "T"


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    tap.result(wait_for(lambda: is_stopped(pid)), "the program is stopped")


def check_attached(ends):
    """Beginning and end of the recording are moments in which the program stands still, so that the kernel's account is exact."""
    name = "a program that runs already" + (" and ends" if ends else "")
    program = subprocess.Popen(["./program", "already"])
    try:
        time.sleep(0.3)
        stop(program.pid)
        before_ns = ran_ns(program.pid)
        if os.path.exists("p.xpu"):
            os.remove("p.xpu")
        recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "--cpu-only", "-p", str(program.pid), "-o", "p.xpu"])
        tap.result(wait_for(lambda: os.path.exists("p.xpu") and os.path.getsize("p.xpu")), f"{name}: it is recorded")
        os.kill(program.pid, signal.SIGCONT)
        if ends:
            used = os.wait4(program.pid, 0)[2]
            used_ns = round((used.ru_utime + used.ru_stime) * 1e9) - before_ns
            program.returncode = 0
        else:
            time.sleep(0.5)
            stop(program.pid)
            used_ns = ran_ns(program.pid) - before_ns
            recorder.send_signal(signal.SIGINT)
        recorder.wait(60)
        r = report("p.xpu")
        tap.result(near(r["cpu_ns"], used_ns), f"{name}: only what was recorded counts, and all of it", r["cpu_ns"], used_ns)
        tap.result(not r["losses"]["accounts_lost"], f"{name}: of every thread")
    finally:
        if program.returncode is None:
            program.kill()
            program.wait()
        os.remove("p.xpu")


def check_running():
    """Begins and ends while the program runs: what its thread ran since the last tick counts, too."""
    program = subprocess.Popen(["./program", "already"])
    try:
        time.sleep(0.1)
        before_ns = ran_ns(program.pid)
        tap.run(tap.PROGRAM, "record", "-q", "--cpu-only", "-d", "0.5", "-p", str(program.pid), "-o", "p.xpu")
        most_ns = ran_ns(program.pid) - before_ns
        r = report("p.xpu")
        tap.result(0 < r["cpu_ns"] <= most_ns + 10_000_000, "a recording within a run has no more than there was", r["cpu_ns"],
                   most_ns)
    finally:
        program.kill()
        program.wait()


def check_whole_system():
    """Of processes that no sample has seen, too; getrusage() has those that a shell waited for."""
    name = f"tree{os.getpid()}"
    os.link("program", name)
    if os.path.exists("p.xpu"):
        os.remove("p.xpu")
    recorder = subprocess.Popen([tap.PROGRAM, "record", "-q", "--cpu-only", "-a", "-o", "p.xpu"])
    try:
        wait_for(lambda: os.path.exists("p.xpu") and os.path.getsize("p.xpu"))  # it has begun
        time.sleep(0.5)
        used_ns, trees = 0, []
        for _ in range(3):
            pid, ns = map(int, tap.run(f"./{name}", "tree").split())
            trees.append(pid)
            used_ns += ns
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.wait(60)
    r = report("p.xpu")
    recorded_ns = sum(p["cpu_ns"] for p in r["processes"] if p["name"] == name and p["pid"] not in trees)
    tap.result(near(recorded_ns, used_ns), "the whole system: CPU time of short processes is that of getrusage()",
               f"{recorded_ns} for {used_ns} ns")
    tap.result(not r["losses"]["accounts_lost"], "the whole system: of every thread", r["losses"])
    threads = [t for t in r["threads"] if not t["samples"]]
    tap.result(len(threads) > 300, "most of them have no sample", len(threads))


def why_not():
    if not shutil.which("cc"):
        return "there is no C compiler"
    return "" if tap.can_record("--cpu-only") else "CPU stacks cannot be recorded here"


def check():
    with open("program.c", "w") as f:
        f.write(PROGRAM)
    tap.run("cc", "-O1", "-pthread", "-o", "program", "program.c")
    for what in ("loop", "heap", "tree"):
        check_program(what)
    check_threads()
    check_attached(True)
    check_attached(False)
    check_running()
    check_whole_system()


tap.main(check, why_not)

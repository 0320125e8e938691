#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU time is what the kernel says it is, by getrusage(), whatever samples there are: of a busy loop, a thousand threads of a
millisecond, trees of processes, a process with a large heap, and a program that runs already."""
import json
import os
import shutil
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
				execl("/proc/self/exe", argv[0], "nothing", NULL);
			_exit(0);
		}
		wait(NULL);
	}
}
int main(int argc, char **argv)
{
	struct rusage r;
	if (!strcmp(argv[1], "nothing"))
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

# Says how much CPU time it has had, when it is asked; in two threads, of which one only waits.
RUNS_ALREADY = """
import sys, threading, time
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
while True:
    sum(range(1000))
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
    tap.result(near(recorded_ns, used_ns), f"{what}: CPU time is that of getrusage()", f"{recorded_ns} for {used_ns} ns",
               r["losses"])
    tap.result(not r["losses"]["accounts_lost"], f"{what}: of every thread")
    for rows in ("threads", "processes"):
        tap.result(sum(row["cpu_ns"] for row in r[rows]) == r["cpu_ns"], f"{what}: {rows} add up to all of it")
    tap.result(sum(f["self_ns"] for f in r["functions"]) == r["cpu_ns"], f"{what}: and so do functions")
    folded = tap.run(tap.PROGRAM, "export", "--to", "folded", "--view", "cpu", "p.xpu")
    shown_us = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
    tap.result(abs(shown_us - r["cpu_ns"] / 1000) <= 1, f"{what}: and so do stacks", shown_us, r["cpu_ns"])
    return r


def check_threads():
    r = check_program("threads")
    threads = [t for t in r["threads"] if not t["samples"]]
    tap.result(len(threads) > 500, "most threads of a millisecond have no sample", len(threads))
    row = [f for f in r["functions"] if f["name"] == "[no sample]"]
    tap.result(len(row) == 1 and row[0]["self_ns"] == sum(t["cpu_ns"] for t in threads) and not row[0]["samples"],
               "their time is in a row of its own", row)


def task_ns(pid):
    """Of all threads; the kernel brings it up to date every few milliseconds."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
            total += int(f.read().split()[0])
    return total


def check_attached():
    program = subprocess.Popen([sys.executable, "-c", RUNS_ALREADY])
    try:
        time.sleep(0.3)
        before_ns, before = task_ns(program.pid), time.monotonic()
        tap.run(tap.PROGRAM, "record", "-q", "--cpu-only", "-d", "2", "-p", str(program.pid), "-o", "p.xpu")
        most_ns = task_ns(program.pid) - before_ns
        program.send_signal(19)  # SIGSTOP: from here on it does not run
        r = report("p.xpu")
        tap.result(r["cpu_ns"] <= most_ns + 10_000_000, "of a program that runs already only what was recorded counts",
                   r["cpu_ns"], most_ns)
        tap.result(r["cpu_ns"] >= 0.2 * r["elapsed_ns"], "and that counts", r["cpu_ns"], r["elapsed_ns"])
        tap.result(not r["losses"]["accounts_lost"], "of every thread")
    finally:
        program.kill()
        program.wait()


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
    check_attached()


tap.main(check, why_not)

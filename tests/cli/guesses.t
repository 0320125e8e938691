#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Callers in code without unwind information: they are guessed, said to be guesses, and never counted as whole."""
import json
import os
import platform
import re
import shutil
import subprocess

import tap
from tap import PROGRAM, can_record, result, run

DEEP = """
static volatile unsigned x;
#define ALONE static __attribute__((noinline, noclone)) unsigned
ALONE inner_spin(unsigned n) { for (unsigned i = 0; i < n; i++) x += i; return n; }
ALONE middle_work(unsigned n) { volatile unsigned a[24]; a[n & 15] = inner_spin(n); return a[n & 15] + x; }
ALONE outer_work(unsigned n) { return middle_work(n) + middle_work(n + 1); }
int main(void)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < 200; i++)
		sum += outer_work(1000000);
	return sum == 1;
}
"""

EXPECTED = "main;outer_work;middle_work;[callers guessed];inner_spin"
NO_TABLES = ["-O1", "-fno-optimize-sibling-calls", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]


ORDINARY = ["setpriv", "--reuid", "4242", "--regid", "4242", "--clear-groups", "--inh-caps=-all"]
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
GUESSES = "[callers guessed]"
SAID = "[incomplete stack: some callers are guesses];"


def events(profile):
    """The stack of each sample, in their order."""
    lines = run(PROGRAM, "export", "--to", "extended-folded", "-o", "-", profile).splitlines()
    return [line.split(" ", 5)[5] for line in sorted(lines, key=lambda line: int(line.split(" ", 1)[0]))]


def share(stacks, expected):
    return sum(bool(expected(stack)) for stack in stacks) / (len(stacks) or 1)


def check_never_whole(profile, name):
    """For all samples of a recording."""
    guessed = [stack for stack in events(profile) if GUESSES in stack]
    losses = json.loads(run(PROGRAM, "report", "--json", profile))["losses"]
    result(all(stack.startswith(SAID) for stack in guessed), f"each stack with guesses is said to be incomplete: {name}",
           *{stack for stack in guessed if not stack.startswith(SAID)})
    result(guessed and losses["walk_guessed"] == len(guessed) <= losses["stacks_incomplete"],
           f"and counted so, under a cause of its own: {name}", len(guessed), losses)


def check_found(name, among, expected, *command):
    """From when the code's table is there: how many samples come before is a matter of what else the machine does. There the
    program may also have ended by then, and its code cannot be looked at any more. The first recording keeps the table for the
    others."""
    for _ in range(3):
        run(*command)
        stacks = [stack for stack in events("guesses.xpu") if among in stack]
        first = next((n for n, stack in enumerate(stacks) if expected(stack)), len(stacks))
        found = share(stacks[first:], expected)
        if first < len(stacks) / 2:
            break
    result(found > 0.97 and first < len(stacks) / 2, f"callers are found: {name}", found, first, len(stacks), *set(stacks))
    early = [stack for stack in stacks[:first] if "incomplete stack" not in stack]
    result(not early, f"samples from before have incomplete stacks: {name}", *early)
    check_never_whole("guesses.xpu", name)


def check_recording(name, *before):
    check_found(name, "inner_spin", lambda stack: EXPECTED in stack, *before, "env", f"HOME={os.getcwd()}", PROGRAM, "record",
                "-q", "--cpu-only", "-F", "997", "-o", "guesses.xpu", "./deep")
    os.remove("guesses.xpu")


def has_ordinary_user():
    if os.geteuid() or not shutil.which("setpriv") or int(open(PARANOID).read()) > 2:
        return False
    return not subprocess.run([*ORDINARY, "test", "-x", PROGRAM, "-a", "-w", "."]).returncode


def check_program(name, compiler, *options):
    if subprocess.run([*compiler, *NO_TABLES, *options, "-o", "deep", "deep.c"], stderr=subprocess.DEVNULL).returncode:
        return
    check_recording(name)
    # Of an ordinary user the recorder walks all stacks, from copies.
    if has_ordinary_user():
        check_recording(f"{name}, of an ordinary user", *ORDINARY)


def check_java():
    with open("Spin.java", "w") as f:
        f.write("""
public class Spin {
	static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	public static void main(String[] a) {
		long start = System.currentTimeMillis(), sum = 0;
		while (System.currentTimeMillis() - start < 900) sum += fib(22);
		System.out.println(sum > 0 ? "" : "none");
	}
}
""")
    run("javac", "Spin.java")
    began = re.compile(r"start_thread;.*\[JIT code without names\]")
    check_found("Java's compiled code stands on what began its thread", "[JIT code without names]", began.search,
                PROGRAM, "record", "-q", "--cpu-only", "-F", "499", "-o", "guesses.xpu", "java", "Spin")


def check():
    compiler = os.environ.get("CC", "cc").split()
    os.chmod(".", 0o777)
    with open("deep.c", "w") as f:
        f.write(DEEP)
    check_program("without frame pointers", compiler, "-fomit-frame-pointer")
    check_program("with frame pointers", compiler, "-fno-omit-frame-pointer")
    if shutil.which("musl-gcc"):
        check_program("musl", ["musl-gcc"], "-static", "-fomit-frame-pointer")
    if shutil.which("javac"):
        check_java()


def why_not():
    if platform.machine() != "x86_64":
        return "callers are guessed on x86-64"
    if not shutil.which(os.environ.get("CC", "cc").split()[0]):
        return "there is no compiler"
    return "" if can_record("--cpu-only") else "CPU samples cannot be had here"


tap.main(check, why_not)

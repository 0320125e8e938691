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

	for (unsigned i = 0; i < 400; i++)
		sum += outer_work(1000000);
	return sum == 1;
}
"""

EXPECTED = "main;outer_work;middle_work;[callers guessed];inner_spin"
NO_TABLES = ["-O1", "-fno-optimize-sibling-calls", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]


def stacks(profile):
    """Of a recording: how long each was sampled."""
    lines = run(PROGRAM, "export", "--to", "folded", "-o", "-", profile).splitlines()
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}


def share(profile, wanted, among="inner_spin"):
    sums = stacks(profile)
    total = sum(n for stack, n in sums.items() if among in stack)
    return sum(n for stack, n in sums.items() if among in stack and wanted in stack) / (total or 1)


def check_program(name, compiler, *options):
    if subprocess.run([*compiler, *NO_TABLES, *options, "-o", "deep", "deep.c"], stderr=subprocess.DEVNULL).returncode:
        return
    run(PROGRAM, "record", "-q", "--cpu-only", "-F", "997", "-o", "deep.xpu", "./deep")
    found = share("deep.xpu", EXPECTED)
    result(found > 0.85, f"callers are found: {name}", found, *list(stacks("deep.xpu"))[:20])
    guessed = share("deep.xpu", "[incomplete stack: some callers are guesses];", "[callers guessed]")
    result(guessed == 1, f"and each such stack is said to be incomplete: {name}", *list(stacks("deep.xpu"))[:20])
    losses = json.loads(run(PROGRAM, "report", "--json", "deep.xpu"))["losses"]
    result("walk_guessed" in str(losses), f"and counted under a cause of its own: {name}", losses)


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
    run(PROGRAM, "record", "-q", "--cpu-only", "-F", "499", "-o", "java.xpu", "java", "Spin")
    to_main = re.compile(r"start_thread;.*JavaMain;.*JavaCalls::call_helper.*;\[JIT code without names\]")
    made = {stack: n for stack, n in stacks("java.xpu").items() if "[JIT code without names]" in stack}
    found = sum(n for stack, n in made.items() if to_main.search(stack)) / (sum(made.values()) or 1)
    result(found > 0.9, "Java's compiled code stands on what began its thread", found, *list(made)[:10])


def check():
    compiler = os.environ.get("CC", "cc").split()
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
    return "" if can_record("--cpu-only") and not os.geteuid() else "CPU stacks of the kernel cannot be had here"


tap.main(check, why_not)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What code that programs make while they run is called: by maps of their compilers, and where there is none."""
import json
import os
import platform
import shutil
import subprocess


import tap
from tap import BUILD, PROGRAM, can_record, result, run

NAMELESS = "[JIT code without names]"
TARGET = os.path.join(BUILD, "tests", "programs", "made_code")

SPIN_JS = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const start = Date.now();
while (Date.now() - start < 700) fib(20);
"""

SPIN_JAVA = """
public class Spin {
	static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	public static void main(String[] a) {
		long start = System.currentTimeMillis(), sum = 0;
		while (System.currentTimeMillis() - start < 900) sum += fib(20);
		System.out.println(sum > 0 ? "" : "none");
	}
}
"""


def record(*command):
    """What it says, the report, and its table of functions."""
    done = subprocess.run([PROGRAM, "record", "--cpu-only", "-F", "499", "-o", "jit.xpu", *command],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rows = json.loads(run(PROGRAM, "report", "--json", "jit.xpu"))["functions"]
    for pid in {row.get("module", "")[len("[anon:"):-1] for row in rows if row.get("module", "").startswith("[anon:")}:
        if os.path.exists(f"/tmp/perf-{pid}.map"):
            os.remove(f"/tmp/perf-{pid}.map")
    return done.stderr, run(PROGRAM, "report", "jit.xpu"), rows


def stacks():
    return run(PROGRAM, "export", "--to", "folded", "-o", "-", "jit.xpu").splitlines()


def in_made_code(rows):
    """Names of functions without a file."""
    return {row["name"] for row in rows if row.get("module", "").startswith("[anon:")}


def check_nameless(hint, *command):
    said, report, rows = record(*command)
    lines = [line for line in report.splitlines() if line.startswith("no names")]
    name = os.path.basename(command[0])
    nameless = [row for row in rows if row["name"] == NAMELESS]
    result(len(nameless) == 1 and in_made_code(rows) == {NAMELESS}, f"what {name} makes is one row without names", rows)
    result(said.count("has no names") == 1 and hint in said, f"record says once what would name it: {name}", said)
    result(len(lines) == 1 and hint in lines[0], f"and so does report: {name}", report)
    result(not any(f"{NAMELESS};{NAMELESS}" in stack for stack in stacks()), f"it is one frame of a stack: {name}")


def check_named(expected, *command):
    said, report, rows = record(*command)
    names = in_made_code(rows)
    result(all(any(text in name for name in names) for text in expected), f"names are found: {' '.join(command)[:60]}", sorted(names))
    result("has no names" not in said and "\nno names" not in report, f"and nothing is asked for: {command[0]}", said, report)


def check_maps():
    check_named(["void [app] Work::Outer(int32,class [mscorlib] T)[Tier1]", "TRACE_7::inner.lua:12"], TARGET, "map")
    result(any(";void [app] Work::Outer(int32,class [mscorlib] T)[Tier1];TRACE_7::inner.lua:12 " in stack for stack in stacks()),
           "and they stand in their stacks", *stacks()[:20])


def remove_dumps():
    for name in os.listdir("."):
        if name.startswith("jit-") and name.endswith(".dump"):
            os.remove(name)


def check_dumps():
    check_named(["outer_of_dump", "inner_of_dump"], TARGET, "dump")
    result(any(";outer_of_dump;inner_of_dump " in stack for stack in stacks()), "names of a jitdump stand in their stacks", *stacks()[:20])
    with_lines = run(PROGRAM, "flame", "--lines", "-o", "-", "jit.xpu")
    result("inner_of_dump (inner.js:42)" in with_lines, "and so do its lines", with_lines[:2000])
    remove_dumps()
    _, report, rows = record(TARGET, "replaced")
    seen = {row["name"]: row["self_samples"] for row in rows}
    # An instruction that no sample was at in the first half is first seen with the other code.
    result(seen.get("inner_of_dump", 0) > 20 * seen.get("inner_of_later", 0),
           "a place is called as what was there when it was first seen", rows)
    result("in JIT code named as what was first there" in report, "that other code came later is counted", report)
    remove_dumps()


def check_node():
    with open("spin.js", "w") as f:
        f.write(SPIN_JS)
    check_nameless("--perf-basic-prof", shutil.which("node"), "spin.js")
    check_named(["fib"], shutil.which("node"), "--perf-basic-prof", "spin.js")
    check_named(["fib"], shutil.which("node"), "--perf-prof", "spin.js")
    remove_dumps()


def check_java():
    with open("Spin.java", "w") as f:
        f.write(SPIN_JAVA)
    run("javac", "Spin.java")
    check_nameless("-XX:+DumpPerfMapAtExit", shutil.which("java"), "Spin")
    check_named(["Spin.fib"], shutil.which("java"), "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions",
                "-XX:+DumpPerfMapAtExit", "Spin")


def check():
    for name, hint in (("anything", "/tmp/perf-PID.map"), ("luajit-2.1", "LUAJIT_USE_PERFTOOLS")):
        shutil.copy(TARGET, name)
        check_nameless(hint, f"./{name}")
    check_maps()
    check_dumps()
    if shutil.which("node"):
        check_node()
    if shutil.which("javac"):
        check_java()


def why_not():
    if platform.machine() != "x86_64":
        return "the code it makes is for x86-64"
    return "" if can_record("--cpu-only") else "nothing can be recorded here"


tap.main(check, why_not)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks as deep as programs are: of CPU samples and of launches, native and Python's, whole to the root; of those that are
deeper than 2,048 frames both ends stay, and the cut is marked."""
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

NATIVE = """
#include <stdlib.h>
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) static int spin(void)
{
	for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;)
		for (int i = 0; i < 100000; i++)
			sink += i;
	return 1;
}
__attribute__((noinline)) static int down(int n)
{
	int r = n > 1 ? down(n - 1) : spin();
	sink += r;
	return r + 1;
}
int main(int argc, char **argv)
{
	return argc > 1 && down(atoi(argv[1])) == 0;
}
"""

# Each level is a frame of Python and several of the interpreter: `straight` calls Python from Python, which since 3.11 has no
# native frames, `through` goes through C each time.
PYTHON = """
import ctypes, sys, time
sys.setrecursionlimit(6000)
def spin():
    end = time.process_time() + 0.5
    while time.process_time() < end: pass
def launch():
    cuda, context, memory = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)
    cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096))
    for _ in range(100):
        cuda.cuMemsetD8Async(memory, 0, ctypes.c_size_t(4096), None)
    cuda.cuCtxSynchronize()
leaf = {"spin": spin, "launch": launch}[sys.argv[1]]
def straight(n):
    return straight(n - 1) if n > 1 else leaf()
def through(n):
    return list(map(through, [n - 1])) if n > 1 else leaf()
{"straight": straight, "through": through}[sys.argv[2]](int(sys.argv[3]))
"""
CC = os.environ.get("CC", "cc")
SIMULATED = dict(os.environ, LD_LIBRARY_PATH=os.path.join(tap.BUILD, "sim"))


class Recording:
    def __init__(self, options, *command):
        done = subprocess.run([tap.PROGRAM, "record", "-q", *options, "-o", "p.xpu", "--", *command], env=SIMULATED,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        tap.result(not done.returncode, f"{command[0]}: it is recorded", done.stdout)
        report = json.loads(tap.run(tap.PROGRAM, "report", "--json", "p.xpu"))
        self.losses = {key: n for key, n in report["losses"].items() if n}
        # A sample of a program's first instruction comes before it is known what that has mapped.
        first = min(self.losses.get("walk_no_mapping", 0), 2)
        for key in ("walk_no_mapping", "stacks_incomplete"):
            self.losses[key] = self.losses.get(key, 0) - first
            if self.losses[key] <= 0:
                del self.losses[key]
        report["stacks"]["samples_incomplete"] -= first
        self.stacks = report["stacks"]
        self.folded = [line.rpartition(" ")[0].split(";")
                       for line in tap.run(tap.PROGRAM, "export", "--to", "folded", "-o", "-", "p.xpu").splitlines()]

    def with_frame(self, name):
        """The stacks that have it."""
        return [stack for stack in self.folded if any(frame.split(" ")[0] == name for frame in stack)]


def count(stack, name):
    return sum(frame.split(" ")[0] == name for frame in stack)


def check_native():
    with open("deep.c", "w", encoding="utf-8") as f:
        f.write(NATIVE)
    subprocess.run([CC, "-O1", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "deep", "deep.c"],
                   check=True)
    for depth in (100, 300, 2000):
        r = Recording(["--cpu-only", "-F", "199"], "./deep", str(depth))
        stacks = r.with_frame("spin")
        tap.result(stacks and all(count(s, "down") == depth and "main" in s for s in stacks), f"{depth} frames are all there",
                   [(len(s), count(s, "down")) for s in stacks], r.losses)
        tap.result(not r.stacks["samples_incomplete"] and not r.losses, "and nothing is amiss", r.losses)
    # Before the program's table is ready the stack is copied, for a later walk: unless the recorder gets no CPU to fetch copies.
    for _ in range(3):
        r = Recording(["--cpu-only", "-F", "1999"], "./deep", "5000")
        stacks = r.with_frame("spin")
        if "walk_pending" not in r.losses:
            break
    tap.result(stacks and all("main" in s and 1700 < count(s, "down") < 2048 and s.count("[frames left out]") == 1 for s in stacks),
               "of 5,000 frames both ends are there, and a mark between them", [len(s) for s in stacks], r.losses)
    tap.result(r.losses.get("stacks_cut", 0) >= len(stacks) and len(r.losses) == 1, "which is counted", r.losses)
    r = Recording(["--cpu-only", "-F", "199"], "./deep", "20000")
    stacks = r.with_frame("spin")
    tap.result(any("[incomplete stack: too deep]" in s for s in stacks) and all(s[0].startswith("[incomplete stack: ") for s in stacks),
               "a stack whose root cannot be reached says so", [s[:4] for s in stacks], r.losses)


def check_python(python):
    version = tap.run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    for way, depth in (("straight", 900), ("through", 300)):
        r = Recording(["--cpu-only", "-F", "199"], python, "-c", PYTHON, "spin", way, str(depth))
        stacks = r.with_frame("spin")
        tap.result(stacks and all(count(s, way) == depth and count(s, "<module>") for s in stacks),
                   f"Python {version}, {way}: {depth} Python frames are all there, in a whole stack",
                   [(len(s), count(s, way)) for s in stacks], r.losses)
    for source in ("inprocess", "bpf"):
        for way, depth in (("straight", 900), ("through", 300)):
            r = Recording([f"--stack-source={source}"], python, "-c", PYTHON, "launch", way, str(depth))
            s = r.stacks
            tap.result(s["launches"] >= 100 and not s["launches_incomplete"] and s["launches_python"] == s["launches"],
                       f"Python {version}, {way}, {source}: launches have their stacks", s, r.losses)
            deepest = max((count(stack, way) for stack in r.folded), default=0)
            tap.result(deepest == depth, "with all of their frames", deepest)
    if tuple(map(int, version.split("."))) >= (3, 11):
        check_deepest(python, version)


def check_deepest(python, version):
    """Python alone is too deep: its middle is left out."""
    for options in (["--cpu-only", "-F", "199"], ["--stack-source=inprocess"], ["--stack-source=bpf"]):
        leaf = "spin" if "--cpu-only" in options else "launch"
        r = Recording(options, python, "-c", PYTHON, leaf, "straight", "5000")
        stacks = r.with_frame(leaf)
        whole = [s for s in stacks if 1700 < count(s, "straight") < 2048 and s.count("[frames left out]") == 1 and
                 count(s, "<module>") and not s[0].startswith("[incomplete")]
        tap.result(stacks and len(whole) == len(stacks), f"Python {version}, {options[0]}: of 5,000 frames both ends are there, "
                   "and a mark between them", [(len(s), count(s, "straight"), s[:2]) for s in stacks][:5], r.losses)
        tap.result(r.losses.get("stacks_cut") and "python_incomplete" not in r.losses, "which is counted", r.losses)


def check():
    check_native()
    check_python(sys.executable)


def why_not():
    if not shutil.which(CC):
        return "there is no compiler"
    return "" if tap.can_record("--cpu-only") else "CPU stacks cannot be had here"


tap.main(check, why_not)

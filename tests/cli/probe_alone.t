#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs that are kernels of their own (bpftime's kprobe/__directly_run): the library launches them once in each context, as wide as is
# asked for, and the program's own kernels are what they are.
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

TARGET = os.path.join(tap.BUILD, "tests", "targets", "probed")
SHAPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ptx", "shapes-sm75.ptx")
OBJECT = os.path.join(tap.BUILD, "tests", "ebpf", "alone.v3.bpf.o")
SIMULATED = {"LD_LIBRARY_PATH": os.path.join(tap.BUILD, "sim"), "XPUPROF_SIM_COMPUTE": "1"}


def run(*arguments, **variables):
    return subprocess.run([tap.PROGRAM, "probe", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **SIMULATED, **variables}, timeout=60)


def answer(*options, mode="launch", how="dlsym", **variables):
    done = run("--json", "-e", OBJECT, *options, "--", TARGET, SHAPES, mode, how, **variables)
    return done, json.loads(done.stdout[done.stdout.index("{"):]) if "{" in done.stdout else None


def entries(found, name, index=0):
    return [e for m in found["objects"][index]["maps"] if m["name"] == name for e in m["entries"]]


def runs(found):
    return sum(int(str(e["value"] if not isinstance(e["value"], dict) else list(e["value"].values())[0])) for e in entries(found, ".bss"))


def check_results():
    for size, options in ((1, ()), (16, ("--run", "cuda__each=2:8")), (48, ("--run", "cuda__each=4,1,1:12,1,1"))):
        done, found = answer("--set", "in[3]=100", *options)
        wanted = {i: i + 1 + (100 if i == 3 else 0) for i in range(size)}
        tap.result(not done.returncode and done.stdout.startswith("3\n"), f"{size} threads: the program is as it was", done.stderr)
        tap.result({e["key"]: e["value"] for e in entries(found, "out")} == wanted, f"{size} threads: each has its result", entries(found, "out"))


def check_contexts():
    for mode, contexts in (("launch", 1), ("library", 1), ("contexts", 4), ("no-exit", 1)):
        for how in ("dlsym", "procaddress"):
            done, found = answer("--run", "cuda__count=3:5", mode=mode, how=how, XPUPROF_SIM_DEVICES="2")
            tap.result(found and runs(found) == 15 * contexts, f"{mode}, {how}: once in each of {contexts} contexts", entries(found, ".bss"), done.stderr)


def check_beside():
    done, found = answer("-e", "blocktime", "--run", "cuda__count=3:5")
    threads = sum(e["value"] for e in entries(found, "nanoseconds", 1))
    tap.result(runs(found) == 15 and threads == 3 * 40 * 128, "programs in kernels run beside, and not in these", runs(found), threads, done.stderr)
    names = {k["name"] for k in found["kernels"]}
    tap.result({"cuda__each", "cuda__count", "vector_add"} <= names, "they are among the kernels", names)


def check_numbers():
    done = run("-e", OBJECT, "--set", "in[0]=1,2", "--", TARGET, SHAPES, "launch")
    tap.result(not done.returncode and f"0: {2 << 16 | 1}" in done.stdout, "--set sets several numbers", done.stdout, done.stderr)
    done = run("-e", OBJECT, "--set", "in[0]=1,2,3", "--", TARGET, SHAPES, "launch")
    tap.result(done.returncode == 1 and "is not made up of 3 numbers" in done.stderr, "if the value is made up of so many", done.stderr)
    for wrong, why in (("cuda__each=8", "cannot read 'cuda__each=8'"), ("cuda__each=1:0", "cannot read"), ("cuda__each=1,1,1,1:1", "cannot read"),
                       ("nothing=1:1", "no program is a kernel of its own that is called 'nothing'")):
        done = run("-e", OBJECT, "--run", wrong, "--", TARGET, SHAPES, "launch")
        tap.result(done.returncode == 1 and why in done.stderr and done.stderr.count("\n") == 1, f"--run {wrong} is refused", done.stderr)
    done = run("-e", OBJECT, "--run", "cuda__each=1:1000000", "--", TARGET, SHAPES, "launch")
    tap.result(not done.returncode and done.stdout.startswith("3\n") and "programs that are kernels: error" in done.stderr,
               "what the driver does not launch is said, and harms nothing", done.returncode, done.stderr)


def check():
    check_results()
    check_contexts()
    check_beside()
    check_numbers()


tap.main(check, lambda: "" if os.path.exists(TARGET) and os.path.exists(OBJECT) else "the programs are not built")

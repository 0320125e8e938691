#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose stacks are known (truth.h), built in many ways and recorded: every stack must be the known one.

    truth.t [BUILD...]     some of the builds; without names the few of every test run, with "all" all"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile

import harness
from harness import KEEP, ROOT, SOURCES, run, source

FRAME_POINTERS = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]
STATIC = ["-static", "-DTRUTH_STATIC", "-DTRUTH_NO_CUDA"]


def build(name, language, flags, usual=False, **more):
    return dict(name=name, language=language, flags=flags.split() if isinstance(flags, str) else flags,
                usual=usual, **more)


BUILDS = [
    build("c-O0", "c", "-O0", usual=True),
    build("c-O1", "c", "-O1"),
    build("c-O2", "c", "-O2", usual=True),
    build("c-O3", "c", "-O3"),
    build("c-Os", "c", "-Os"),
    build("c-O0-without-fp", "c", "-O0 -fomit-frame-pointer"),
    build("c-O2-fp", "c", ["-O2", *FRAME_POINTERS]),
    build("c-O3-nopie", "c", "-O3 -fno-pie -no-pie", usual=True),
    build("c-O2-nopie-fp", "c", ["-O2", "-fno-pie", "-no-pie", *FRAME_POINTERS]),
    build("c-O2-static", "c", ["-O2", "-no-pie", *STATIC], usual=True),
    build("c-O2-static-pie", "c", ["-O2", "-fPIE", "-static-pie", *STATIC[1:]]),
    build("c-O2-debuglink", "c", "-O2 -g", usual=True, stripped=True),
    build("c-O2-cet", "c", "-O2 -fcf-protection=full -Wl,-z,ibtplt"),
    build("c-O2-hardened", "c", "-O2 -fstack-protector-all -fstack-clash-protection -D_FORTIFY_SOURCE=2 -Wl,-z,now"),
    build("c-O3-avx", "c", "-O3 -mavx2 -ftree-vectorize", cpu="avx2"),
    build("c-O2-debug_frame", "c", "-O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables"),
    build("c-O2-noplt", "c", "-O2 -fno-plt"),
    build("c-clang-O0", "c", "-O0", compiler="clang"),
    build("c-clang-O2", "c", "-O2", compiler="clang"),
    build("cxx-O0", "cxx", "-O0", usual=True),
    build("cxx-O1", "cxx", "-O1"),
    build("cxx-O2", "cxx", "-O2", usual=True),
    build("cxx-O3", "cxx", "-O3"),
    build("cxx-O2-fp", "cxx", ["-O2", *FRAME_POINTERS]),
    build("cxx-O2-nopie", "cxx", "-O2 -fno-pie -no-pie"),
    build("cxx-O2-static", "cxx", ["-O2", "-no-pie", *STATIC]),
    build("cxx-O2-debuglink", "cxx", "-O2 -g", stripped=True),
    build("cxx-clang-O2", "cxx", "-O2", compiler="clang"),
    build("rust-O0", "rust", "-C opt-level=0", usual=True),
    build("rust-O1", "rust", "-C opt-level=1"),
    build("rust-O2", "rust", "-C opt-level=2", usual=True),
    build("rust-O3", "rust", "-C opt-level=3"),
    build("rust-O2-fp", "rust", "-C opt-level=2 -C force-frame-pointers=yes"),
    build("rust-O2-nopie", "rust", "-C opt-level=2 -C relocation-model=static"),
    build("rust-O2-debuglink", "rust", "-C opt-level=2 -g", stripped=True),
]


def compiler_of(b):
    if b["language"] == "rust":
        return "rustc"
    c = b.get("compiler", "gcc")
    return c if b["language"] == "c" else {"gcc": "g++", "clang": "clang++"}[c]


def why_not(b):
    """Why this build cannot be made here; None: it can."""
    if not shutil.which(compiler_of(b)):
        return f"no {compiler_of(b)} here"
    if b.get("cpu") and b["cpu"] not in open("/proc/cpuinfo").read().split():
        return f"this CPU has no {b['cpu']}"
    if platform.machine() != "x86_64" and any(f.startswith(("-m", "-fcf")) for f in b["flags"]):
        return "not on this kind of machine"
    return None


def compile_c(b, folder, c, flags):
    truth = os.path.join(folder, "truth.o")
    run([c, *flags, *KEEP, "-c", source("truth.c"), "-o", truth])
    if "-DTRUTH_NO_CUDA" in flags:
        return [truth]
    driver = os.path.join(folder, "driver.o")
    run([c, *flags, *KEEP, "-c", os.path.join(ROOT, "demo/driver.c"), "-o", driver])
    return [truth, driver]


def make_rust(b, folder, program):
    objects = compile_c(b, folder, "gcc", ["-O2"])
    run(["rustc", "--edition", "2021", *b["flags"], source("chains.rs"), "-o", program,
         *(x for o in objects for x in ("-C", "link-arg=" + o)), "-C", "link-arg=-ldl"], cwd=folder)


def make_c(b, folder, program):
    c = b.get("compiler", "gcc")
    link = [f for f in b["flags"] if f.startswith("-Wl") or f in ("-static", "-static-pie", "-no-pie")]
    flags = [f for f in b["flags"] if f not in link]
    objects, libraries = compile_c(b, folder, c, flags), []
    main = os.path.join(folder, "main.o")
    if b["language"] == "c":
        run([c, *flags, *KEEP, "-c", source("chains.c"), "-o", main])
        if "-DTRUTH_STATIC" not in flags:
            run([c, *[f for f in flags if f != "-fno-pie"], *KEEP, "-fPIC", "-shared", source("other.c"), "-o",
                 os.path.join(folder, "libother.so")])
            libraries = ["-L", folder, "-lother", "-Wl,-rpath," + folder, "-rdynamic"]
    else:
        run([compiler_of(b), "-std=c++17", *flags, *KEEP, "-c", source("chains.cc"), "-o", main])
    run([compiler_of(b), *link, main, *objects, "-o", program, *libraries, "-pthread", "-ldl"])


def strip(program):
    """Keeps the names in a file of their own, which the program names."""
    debug = program + ".debug"
    run(["objcopy", "--only-keep-debug", program, debug])
    run(["strip", "--strip-all", program])
    run(["objcopy", "--add-gnu-debuglink=" + os.path.basename(debug), program], cwd=os.path.dirname(program))


def make(b, folder):
    program = os.path.join(folder, "chains")
    (make_rust if b["language"] == "rust" else make_c)(b, folder, program)
    if b.get("stripped"):
        strip(program)
    return program



def try_build(b):
    static = "-DTRUTH_NO_CUDA" in b["flags"]
    with tempfile.TemporaryDirectory() as folder:
        program = make(b, folder)
        for s in SOURCES[:1] if static else SOURCES:
            launches = "" if static else f", launches by {s}"
            harness.compare(f"{b['name']}{launches}: all stacks are the known ones", [program], folder, s)


def main(names):
    if not harness.can_record():
        print("1..0 # SKIP CPU stacks cannot be had here")
        return 0
    for b in BUILDS:
        if not (b["usual"] if not names else names == ["all"] or b["name"] in names):
            continue
        reason = why_not(b)
        if reason:
            harness.skip(b["name"], reason)
            continue
        try:
            try_build(b)
        except (RuntimeError, subprocess.SubprocessError) as e:
            harness.result(False, f"{b['name']} is built and recorded", str(e).splitlines())
    return harness.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

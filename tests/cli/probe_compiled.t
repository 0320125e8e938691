#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels that a program compiles itself before it loads them, as Triton does: `xpuprof probe` has them compiled with the programs
in them, by the compiler that would have run (src/preload/nvidia/ptxas/). The compiler and the GPU are pretended ones."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from probing import COUNT, SHAPES, TARGET, answer, entries, launches_of, probe
from probing import environment as probing_environment

# As Triton does it: asks the compiler for its version, looks in a folder for what has been compiled, and compiles it else.
PRETENDED_TRITON = """
import ctypes, hashlib, os, subprocess, sys
package = os.path.join(os.environ["PACKAGES"], "triton")
ctypes.CDLL(os.path.join(package, "_C", "libtriton.so"))
name = "TRITON_PTXAS" + os.environ.get("SECOND", "") + "_PATH"
ptxas = os.environ.get(name, os.path.join(package, "backends", "nvidia", "bin", "ptxas"))
version = subprocess.check_output([ptxas, "--version"])
assert b"release 13.0" in version
text = open(sys.argv[1], "rb").read()
folder = os.environ.get("TRITON_CACHE_DIR", os.path.expanduser("~/.triton/cache"))
cubin = os.path.join(folder, hashlib.sha256(version + text).hexdigest() + ".cubin")
if os.path.exists(cubin):
    print("found", flush=True)
else:
    os.makedirs(folder, exist_ok=True)
    open("in.ptx", "wb").write(text)
    done = subprocess.run([ptxas, "-lineinfo", "-v", "--gpu-name=sm_90a", "in.ptx", "-o", cubin], stderr=subprocess.PIPE)
    print("compiled", done.returncode, done.stderr.decode().strip(), os.listdir("."), flush=True)
os.execv(os.environ["TARGET"], [os.environ["TARGET"], cubin, "launch"])
"""

# What it compiles is an ELF file with the text in it, which the simulated driver takes.
PRETENDED_PTXAS = """#!/usr/bin/env python3
import struct, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("NAME pretended\\nCuda compilation tools, release 13.0, V13.0.0"))
text = open(sys.argv[-3], "rb").read()
if b"__xpuprof" in text and FAILS:
    sys.exit("error: no such instruction")
head = struct.pack("<16sHHIQQQIHHHHHH", b"\\x7fELF\\x02\\x01\\x01", 2, 190, 1, 0, 0, 64, 0, 64, 0, 0, 64, 2, 0)
sections = bytes(64) + struct.pack("<IIQQQQIIQQ", 0, 0x80000001, 0, 0, 64 + 128, len(text), 0, 0, 1, 0)
open(sys.argv[-1], "wb").write(head + sections + text)
print("NAME used 8 registers", file=sys.stderr)
"""


def make_ptxas(path, name, fails=False):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(PRETENDED_PTXAS.replace("NAME", name).replace("FAILS", str(fails)))
    os.chmod(path, 0o755)


def make_package(folder, **options):
    library = os.path.join(folder, "triton", "_C", "libtriton.so")
    os.makedirs(os.path.dirname(library))
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", library], check=True)
    for name in ("ptxas", "ptxas-blackwell"):
        make_ptxas(os.path.join(folder, "triton", "backends", "nvidia", "bin", name), name, **options)


def write_kernels():
    """Each says how large its blocks are and where its accesses stand, as Triton's do; in the other file they do not."""
    with open(SHAPES, encoding="utf-8") as f:
        text = f.read()
    with open("k.ptx", "w", encoding="utf-8") as f:
        f.write(text)
    text = re.sub(r"(\.entry [^{]*\))\n\{", "\\1\n.reqntid 128\n{", text)
    text = re.sub(r"(\.address_size 64)", '\\1\n.file 1 "shapes.py"', text)
    with open("k90.ptx", "w", encoding="utf-8") as f:
        f.write(re.sub(r"\n(\s*ld\.global)", "\n.loc 1 7 0\n\\1", text))


def command(ptx):
    return sys.executable, "triton.py", ptx


def environment(**more):
    return {"PACKAGES": os.path.abspath("packages"), "TARGET": TARGET, "HOME": os.getcwd(), "XDG_CACHE_HOME": os.path.abspath("cache"), **more}


def counted(found, launches):
    return [e["value"] for e in entries(found, "by_size")] == [2 * COUNT * launches, COUNT * launches]


def files_below(folder):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)


def check_runs():
    done, found = answer("memtrace", command=command("k90.ptx"), **environment())
    tap.result("compiled 0 ptxas used 8 registers" in done.stdout, "the compiler of the package runs, and what it says is passed on", done.stdout, done.stderr)
    tap.result("'in.ptx'" in done.stdout and "probed" not in done.stdout, "nothing of ours stays beside what it compiles", done.stdout)
    tap.result(found and counted(found, launches_of(done)), "programs count in what it has made", found, done.stderr)
    tap.result(found and not found["losses"]["images_of_machine_code"], "which is not code that nothing is known of", found)
    before = files_below("cache")
    done, found = answer("memtrace", command=command("k90.ptx"), **environment())
    tap.result("found" in done.stdout and found and counted(found, launches_of(done)), "so they do where it was compiled in an earlier run",
               done.stdout, done.stderr)
    tap.result(files_below("cache") == before and before, "which leaves no more than that", files_below("cache"))
    done, found = answer("memtrace", command=command("k90.ptx"), **environment(SECOND="_BLACKWELL"))
    tap.result("compiled 0 ptxas-blackwell used" in done.stdout and found and counted(found, launches_of(done)), "there is another compiler for newer GPUs",
               done.stdout, done.stderr)
    done = probe("coalesce", command=command("k90.ptx"), **environment())
    tap.result("compiled" in done.stdout and re.search(r" shapes\.py:7 of vector_add", done.stdout), "other programs are compiled anew, and lines of source are known", done.stdout, done.stderr)


def check_as_without():
    """Whatever does not succeed is as without xpuprof."""
    done, found = answer("memtrace", command=command("k.ptx"), **environment())
    tap.result("compiled 0" in done.stdout and launches_of(done) == 3 and not done.returncode, "a kernel of any block runs", done.stdout, done.stderr)
    tap.result(found and not counted(found, 3) and "how large its blocks can be" in done.stderr, "without the programs, and it is said why", done.stderr)
    done, found = answer("memtrace", "-k", "nobody*", command=command("k90.ptx"), **environment())
    tap.result("compiled 0" in done.stdout and launches_of(done) == 3, "kernels that no program is for are compiled as they are", done.stdout, done.stderr)
    make_package("failing", fails=True)
    done, found = answer("memtrace", command=command("k90.ptx"), **environment(PACKAGES=os.path.abspath("failing"), XDG_CACHE_HOME=os.path.abspath("other")))
    tap.result("compiled 0 ptxas used 8 registers" in done.stdout and launches_of(done) == 3, "where the compiler refuses the programs it runs without",
               done.stdout, done.stderr)
    tap.result("no such instruction" in done.stderr, "and what it said is told", done.stderr)
    done, found = answer("memtrace", command=command("k90.ptx"), **environment(XDG_CACHE_HOME="/proc/nowhere"))
    tap.result("compiled 0" in done.stdout and launches_of(done) == 3 and found and found["losses"]["images_of_machine_code"],
               "where nothing can be kept it runs without", done.stdout, done.stderr)
    done, found = answer("memtrace", command=command("k90.ptx"), **environment(TRITON_CACHE_DIR=os.path.abspath("their")))
    tap.result("compiled 0" in done.stdout and found and counted(found, launches_of(done)) and files_below("their"),
               "a folder that the user has named for it is used", done.stdout, done.stderr)
    done = subprocess.run([tap.PROGRAM, "probe", "memtrace", "--", tap.PROGRAM, "probe", "memtrace", "--", *command("k90.ptx")], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, env=probing_environment(**environment()))
    tap.result(launches_of(done) == 3 and not done.returncode, "xpuprof may run xpuprof", done.stdout, done.stderr)
    make_ptxas("own/ptxas", "own")
    done, found = answer("memtrace", command=command("k90.ptx"), **environment(TRITON_PTXAS_PATH=os.path.abspath("own/ptxas"), XDG_CACHE_HOME=os.path.abspath("third")))
    tap.result("own used 8 registers" in done.stdout and found and counted(found, launches_of(done)), "the compiler that the user has named is used", done.stdout, done.stderr)


def check_damaged():
    """What is kept is the user's to damage; then it is code without programs."""
    for path in files_below("cache"):
        if "/compiled/" in path:
            with open(path, "r+b") as f:
                f.seek(16)
                f.write(b"\xff" * 40)
    done, found = answer("memtrace", command=command("k90.ptx"), **environment())
    tap.result("found" in done.stdout and launches_of(done) == 3 and not done.returncode, "where what was kept is damaged the program runs", done.stdout, done.stderr)
    tap.result(found and found["losses"]["images_of_machine_code"], "and its code is one that nothing is known of", found)


def check():
    with open("triton.py", "w", encoding="utf-8") as f:
        f.write(PRETENDED_TRITON)
    make_package("packages")
    write_kernels()
    check_runs()
    check_as_without()
    check_damaged()


def why_not():
    return "" if os.path.exists(TARGET) else "the program is not built"


tap.main(check, why_not)

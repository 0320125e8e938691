#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels without PTX: `xpuprof probe --sanitizer` runs the programs in them as patches of NVIDIA's Sanitizer library. The GPU is a
simulated one, and so is the library (sim/sanitizer/), which calls the patches from where NVIDIA's would."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from probing import COUNT, DATA, GRID, SECONDS, SHAPES, TARGET, answer, entries, environment, launches_of, probe, why_not

SANITIZER = os.path.join(tap.BUILD, "sim", "libsanitizer-public.so")
CUBIN = "shapes.cubin"
COMMAND = (TARGET, CUBIN, "launch")
# What a program keeps from the entry to the exit of a thread, knows of a kernel's arguments or of places in its PTX, patches do not have.
POSSIBLE = ["divergence", "memtrace", "memheat", "threadhist", "threadscheduling", "kernelretsnoop", "kernel_trace", "launchlate"]
IMPOSSIBLE = ["blocktime", "blocks", "smload", "cudagraph", "coalesce"]


def make_cubin():
    """Machine code to the library; the simulated driver finds text in it."""
    with open(SHAPES, "rb") as f:
        text = f.read()
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 190, 1, 0, 0, 64, 0, 64, 0, 0, 64, 2, 0)
    sections = bytes(64) + struct.pack("<IIQQQQIIQQ", 0, 0x80000001, 0, 0, 64 + 128, len(text), 0, 0, 1, 0)
    with open(CUBIN, "wb") as f:
        f.write(head + sections + text)


# The text itself, which the simulated driver takes; of one GPU that it knows. The arguments are -arch=sm_N --compile-as-tools-patch -o OUT IN.
PRETENDED_PTXAS = """#!/bin/sh
[ "$2" = --compile-as-tools-patch ] || { echo "these are no patches" >&2; exit 1; }
[ "$1" = -arch=sm_KNOWN ] || { echo "Value '$1' is not defined for option 'gpu-name'" >&2; exit 1; }
{ cat "$5"; printf '\\0'; } >"$4"
"""


def make_ptxas(path, known=90):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(PRETENDED_PTXAS.replace("KNOWN", str(known)))
    os.chmod(path, 0o755)
    return os.path.abspath(path)


def patched(tool, *arguments, command=COMMAND, **variables):
    return answer(tool, "--sanitizer", *arguments, command=command,
                  **{"XPUPROF_SANITIZER": SANITIZER, "XPUPROF_PTXAS": os.path.abspath("ptxas"), **variables})


def values(found, name):
    return [entry["value"] for entry in entries(found, name)] if found else []


def is_sum(name, wanted):
    return lambda found, n: sum(values(found, name)) == wanted * n


def sizes(found):
    """How many accesses of each kind there were, by kind and size."""
    return {e["key"]: e["value"] for e in entries(found, "by_size")} if found else {}


def check_memtrace(found, n):
    return sizes(found) == {4: 2 * COUNT * n, 64 + 4: COUNT * n}


def check_divergence(found, n):
    return {e["key"]: e["value"] for e in entries(found, "active_lanes")} == {32: 3 * (COUNT // 32) * n, COUNT % 32: 3 * n}


def check_threadhist(found, n):
    runs = entries(found, "runs")
    return {e["thread"] for e in runs} == set(range(GRID)) and all(e["value"] == n for e in runs)


CHECKS = {
    "memtrace": check_memtrace,
    "divergence": check_divergence,
    "memheat": is_sum("bytes", 3 * 4 * COUNT),
    "threadhist": check_threadhist,
    "threadscheduling": is_sum("threads", GRID),
    "kernelretsnoop": lambda found, n: len(found["records"]) == GRID * n,
}


def is_whole(found):
    return found and not any(n for name, n in found["losses"].items())


def check_tools():
    for tool, check in CHECKS.items():
        done, found = patched(tool)
        n = launches_of(done)
        tap.result(n == 3 and not done.returncode and found and check(found, n) and is_whole(found) and
                   "kernels of machine code were patched" in done.stderr, f"{tool} finds what ran in machine code", done.stdout[-1500:], done.stderr)


def check_impossible():
    for tool in IMPOSSIBLE:
        done, found = patched(tool)
        tap.result(launches_of(done) == 3 and not done.returncode and found and not found["kernels"] and
                   re.search(r"^xpuprof: program '\w+' cannot run in machine code \(--sanitizer\): it needs \w.+$", done.stderr, re.M),
                   f"{tool} cannot, and says why", done.stderr)
        done, found = patched(tool, command=(TARGET, SHAPES, "launch"))
        tap.result(found and len(found["kernels"]) > 0 and "patched" not in done.stderr, f"{tool} runs in kernels with PTX all the same", done.stderr)


def check_modes():
    ways = [(TARGET, mode, how) for mode in ("options", "library", "graph", "streams", "contexts", "reset", "unload") for how in ("dlsym", "procaddress")]
    ways += [(TARGET + "_linked", mode, "linked") for mode in ("launch", "library", "contexts")]
    for program, mode, how in ways:
        done, found = patched("memtrace", command=(program, CUBIN, mode, how))
        n = launches_of(done)
        tap.result(n > 0 and not done.returncode and found and check_memtrace(found, n) and is_whole(found), f"{mode}, {how}: all accesses are counted",
                   done.stdout[-800:], done.stderr)


def check_choice():
    done, found = patched("memtrace", "-k", "vector*")
    tap.result(found and [k["name"] for k in found["kernels"]] == ["vector_add"] and check_memtrace(found, 3) and
               "1 kernel of machine code" in done.stderr, "-k chooses kernels of machine code", done.stderr)
    done, found = patched("memtrace", "-k", "leave*")
    tap.result(launches_of(done) == 3 and not done.returncode and found and [k["name"] for k in found["kernels"]] == ["leave_early"] and not sizes(found),
               "others run without programs, in the same module too", done.stdout[-500:], done.stderr)
    done, found = patched("memtrace", "-k", "none*")
    tap.result(found and not found["kernels"] and "patched" not in done.stderr, "a module of other kernels is left as it is", done.stderr)
    done, found = answer("memtrace", command=COMMAND, XPUPROF_SANITIZER=SANITIZER)
    tap.result(found and not found["kernels"] and "machine code only" in done.stderr and found["losses"]["images_of_machine_code"] == 1,
               "nothing is patched without the option", done.stderr)


def check_both():
    done, found = patched("memtrace", command=(TARGET, SHAPES, "launch"), XPUPROF_SIM_SANITIZER_TAKEN="1")
    tap.result(found and check_memtrace(found, 3) and is_whole(found), "kernels with PTX do not need the library", done.stderr)


# Whatever is wrong with the library, the program runs as it does without us, and a line says what it was.
def check_trouble():
    with open("damaged.so", "w", encoding="utf-8") as f:
        f.write("no library\n")
    shutil.copy(os.path.join(tap.BUILD, "sim", "libcudart.so.13"), "other.so")
    for name, reason, variables in (
            ("taken by another tool", "cannot be subscribed to: SANITIZER_ERROR_MAX_LIMIT_REACHED", {"XPUPROF_SIM_SANITIZER_TAKEN": "1"}),
            ("that refuses the patches", "not taken as patches: SANITIZER_ERROR_INVALID_PARAMETER", {"XPUPROF_SIM_SANITIZER_REFUSES": "1"}),
            ("that is damaged", "damaged.so: ", {"XPUPROF_SANITIZER": os.path.abspath("damaged.so")}),
            ("that is another one", "no function sanitizerSubscribe", {"XPUPROF_SANITIZER": os.path.abspath("other.so")})):
        for mode in ("launch", "contexts"):
            done, found = patched("memtrace", command=(TARGET, CUBIN, mode), **variables)
            tap.result(launches_of(done) > 0 and not done.returncode and found and not sizes(found) and reason in done.stderr and
                       done.stderr.count("could not be patched") == 1 and found["losses"]["images_not_patched"] > 0,
                       f"{mode}, with a library {name}", done.stderr)
    done = probe("memtrace", "--sanitizer", command=COMMAND, XPUPROF_SANITIZER="/nowhere/libsanitizer-public.so")
    tap.result(done.returncode and not done.stdout and len(done.stderr.splitlines()) == 1 and "/nowhere/libsanitizer-public.so" in done.stderr,
               "a library that is not there is one line, and nothing runs", done.stdout, done.stderr)
    check_toolkits()
    done, found = patched("memtrace", XPUPROF_PTXAS=make_ptxas("other/ptxas", 80))
    tap.result(launches_of(done) > 0 and found and not sizes(found) and "made none for this GPU" in done.stderr,
               "an assembler that does not know the GPU: the program runs without", done.stderr)
    for what, path, wanted in (("that fails", "/bin/false", "makes no patches of the programs"), ("that is not there", "/nowhere/ptxas", "/nowhere/ptxas"),
                               ("without a whole path", "ptxas", "not a whole path"), ("that says why it fails", make_ptxas("older/ptxas", "none"), "")):
        done = probe("memtrace", "--sanitizer", command=COMMAND, XPUPROF_SANITIZER=SANITIZER, XPUPROF_PTXAS=path)
        tap.result(done.returncode and not done.stdout and len(done.stderr.splitlines()) == 1 and wanted in done.stderr,
                   f"an assembler {what} is one line, and nothing runs", done.stdout, done.stderr)


def check_toolkits():
    """Both are found in a toolkit."""
    os.makedirs("cuda/compute-sanitizer", exist_ok=True)
    shutil.copy(SANITIZER, "cuda/compute-sanitizer/")
    make_ptxas("cuda/bin/ptxas")
    unset = {"XPUPROF_SANITIZER": "", "XPUPROF_PTXAS": "", "CUDA_PATH": ""}
    done, found = patched("memtrace", **unset, CUDA_HOME=os.path.abspath("cuda"))
    tap.result(found and check_memtrace(found, 3), "the library and the assembler are found in a toolkit", done.stderr)
    if os.path.exists("/usr/local/cuda") or os.path.exists("/opt/cuda"):
        tap.result(True, "without a toolkit nothing runs # SKIP there is one")
        return
    done, found = patched("memtrace", **unset, CUDA_HOME="/nowhere")
    tap.result(done.returncode and not done.stdout and len(done.stderr.splitlines()) == 1 and "libsanitizer-public.so" in done.stderr,
               "without a toolkit nothing runs, and why is said", done.stdout, done.stderr)


# The library calls the driver itself while we call it, or waits for a thread that does: the program goes on.
def check_calls():
    for name in ("INITS", "UNLOADS", "WAITS"):
        done, found = patched("memtrace", **{"XPUPROF_SIM_SANITIZER_" + name: "1"})
        n = launches_of(done)
        tap.result(n == 3 and not done.returncode and found and check_memtrace(found, n) and is_whole(found),
                   f"a library that calls the driver ({name.lower()}) holds nothing up", done.stdout[-800:], done.stderr)


def unprobed(found):
    return {(k["name"], k["why"]) for k in found["kernels_without_programs"]} if found else None


# Kernels of machine code that have no patches are told by name, whatever the reason.
def check_named():
    kernels = {"vector_add", "leave_early"}
    for name, variables in (("is taken", {"XPUPROF_SIM_SANITIZER_TAKEN": "1"}), ("refuses the patches", {"XPUPROF_SIM_SANITIZER_REFUSES": "1"})):
        for mode in ("launch", "library"):
            done, found = patched("memtrace", command=(TARGET, CUBIN, mode), **variables)
            told = unprobed(found)
            tap.result(told and kernels <= {k for k, _ in told} and {why for _, why in told} == {"could not be patched"},
                       f"{mode}, where the library {name}: kernels are named", told, done.stderr)
    code = os.path.join(DATA, "..", "cubin", "ptx.cubin")
    done, found = patched("blocktime", "-k", "shared_*", command=(TARGET, code, "launch"))
    tap.result(unprobed(found) == {("_Z13shared_kernelPf", "machine code only")} and found["losses"]["images_of_machine_code"] == 1,
               "so are those of programs that cannot be patches", unprobed(found), done.stderr)


def check_refused():
    for arguments in (["probe", "memtrace", "--sanitizer", "-o", "x.xpu"], ["probe", "memtrace", "--sanitizer", "--cost"],
                      ["record", "--probe", "memtrace", "--sanitizer", "-o", "x.xpu"]):
        done = subprocess.run([tap.PROGRAM, *arguments, "--", "true"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS,
                              env=environment(XPUPROF_SANITIZER=SANITIZER))
        tap.result(done.returncode == 2 and "that recordings need" in done.stderr and not os.path.exists("x.xpu"),
                   f"{' '.join(arguments)} is refused", done.stderr)


def check_switching():
    done, _ = patched("memtrace", "-d", "3", command=(TARGET, CUBIN, "checked", "dlsym", "150"), XPUPROF_SIM_KERNEL_NS="30000000")
    # What the program prints at its end is behind it.
    found, _ = json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("{"):])
    loads = [sizes(found).get(4, 0), sizes(found).get(64 + 4, 0)]
    # One kernel may have been switched in its midst.
    tap.result(launches_of(done) == 150 and 0 < loads[0] < 2 * COUNT * 150 and abs(2 * loads[1] - loads[0]) < 2 * COUNT,
               "programs are switched off while the command runs on", loads, done.stdout[-300:], done.stderr)


def check_assembled():
    """NVIDIA's assembler makes functions of them, which the Sanitizer library finds by their names."""
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    for tool in POSSIBLE:
        done = subprocess.run([tap.PROGRAM, "probe", "--check", tool, "--sanitizer"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        names = re.findall(r"^\.visible \.func .* (xpuprof_patch_\w+)\(", done.stdout, re.M)
        tap.result(not done.returncode and names, f"{tool} is a patch", done.stderr)
        if not os.path.exists(ptxas):
            tap.result(True, f"{tool} is assembled as a patch # SKIP ptxas (of a CUDA toolkit) is not installed")
            continue
        with open("patch.ptx", "w", encoding="utf-8") as f:
            f.write(done.stdout)
        failed = ""
        for arch in ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120"):
            made = subprocess.run([ptxas, "-arch=" + arch, "--compile-as-tools-patch", "-o", "patch.cubin", "patch.ptx"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
            failed += made.stderr if made.returncode else ""
            with open("patch.cubin", "rb") as f:
                cubin = f.read()
            failed += "".join(f"{arch}: no {name}\n" for name in names if (".text." + name).encode() not in cubin)
        tap.result(not failed, f"{tool} is assembled as a patch", failed)


def check():
    make_cubin()
    make_ptxas("ptxas")
    for part in (check_tools, check_impossible, check_modes, check_choice, check_both, check_trouble, check_calls, check_named, check_refused, check_switching, check_assembled):
        part()


tap.main(check, why_not)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes on a real GPU: counts are those of the launches, and results are what they are without.

    tests/gpu/probe.py [PART ...]      in a built tree, on a machine with an NVIDIA GPU

It runs tests/targets/probed.c, which checks each of its results, with every tool, each way to load images, switches programs 1,000
times, and kills xpuprof. With nvcc also probe_kernels.cu, on both runtimes, with each compression, and as machine code
alone, and strided.cu, whose lines of memory are known; with PyTorch also kernels of Triton and torch.compile, and one of a library. The blocks
of matrix products have to take as long as CUPTI says of their kernels. Where there are several GPUs a program works on each.
"""
import functools
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "build")))
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ptx")
TARGET = os.path.join(BUILD, "tests", "targets", "probed")
THREADS, BLOCKS, COUNT = 40 * 128, 40, 5000
WARPS = THREADS // 32
failed = 0


def result(ok, name, *notes):
    global failed
    failed += not ok
    print(f"{'ok' if ok else 'NOT OK'}: {name}", *([] if ok else notes), flush=True)


def probe(tool, *command, options=()):
    done = subprocess.run([os.path.join(BUILD, "xpuprof"), "probe", "--json", *options, tool, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=120)
    launches = re.search(r"^(\d+)$", done.stdout, re.M)
    found = json.loads(done.stdout[done.stdout.index("{"):]) if "{" in done.stdout else None
    return found, int(launches[1]) if launches and not done.returncode else 0, done.stderr


def values(found, name):
    return [e["value"] for m in found["objects"][0]["maps"] if m["name"] == name for e in m["entries"]]


# By tool: what it finds of n launches, and what that should be.
TOOLS = {
    "blocktime": lambda f, n: (sum(values(f, "nanoseconds")), THREADS * n),
    "blocks": lambda f, n: (len(f["records"]) + f["losses"]["records_dropped"], BLOCKS * n),
    "smload": lambda f, n: (sum(e["value"] for e in f["objects"][0]["maps"][0]["entries"] if e["key"] == 0), THREADS * n),
    "divergence": lambda f, n: (sum(values(f, "active_lanes")), 3 * ((COUNT + 31) // 32) * n),
    "memtrace": lambda f, n: (values(f, "by_size"), [2 * COUNT * n, COUNT * n]),
    "memheat": lambda f, n: (sum(values(f, "bytes")), 12 * COUNT * n),
    "coalesce": lambda f, n: (sorted(v["accesses"] + v["lines_more"] for v in values(f, "accesses")), 3 * [(COUNT + 31) // 32 * n]),
    "threadhist": lambda f, n: (sum(values(f, "runs")), THREADS * n),
    "threadscheduling": lambda f, n: (sum(values(f, "threads")), THREADS * n),
    "kernelretsnoop": lambda f, n: (len(f["records"]) + f["losses"]["records_dropped"], THREADS * n),
    "kernel_trace": lambda f, n: (len(f["records"]), n),
    "cudagraph": lambda f, n: (sum(v["count"] for v in values(f, "runs")), n),
}
MODES = ["launch", "options", "file", "library", "graph", "streams", "contexts", "reset", "unload", "fork-after", "fork-before"]


@functools.cache
def runs_plain(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=120).returncode == 0


def check(tool, mode, how="dlsym", ptx="shapes-sm75.ptx"):
    if not runs_plain(TARGET, os.path.join(DATA, ptx), mode, how):
        return result(False, f"{mode}, {how}: runs without probes")
    found, n, said = probe(tool, TARGET, os.path.join(DATA, ptx), mode, how)
    got, wanted = TOOLS[tool](found, n) if found else (None, None)
    return result(n > 0 and got == wanted, f"{tool}, {mode}, {how}: {n} launches", got, wanted, said)


def killed(tool):
    run = subprocess.Popen([os.path.join(BUILD, "xpuprof"), "probe", tool, "--", TARGET, os.path.join(DATA, "shapes-sm75.ptx"), "on-and-on"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    run.stdout.readline()
    os.kill(run.pid, signal.SIGKILL)
    time.sleep(3)
    run.stdin.close()
    # It prints nothing where one result is wrong.
    rest = run.stdout.read()
    result(re.match(r"\d+$", rest) and int(rest) > 1, f"{tool}: xpuprof killed, the program runs on", rest)


def switched(tool, turns=1000):
    """Programs are switched off and on under load: results are right, and launches of both states are told apart."""
    launches = 20000
    while True:
        found, n, said = probe(tool, TARGET, os.path.join(DATA, "shapes-sm75.ptx"), "checked", "dlsym", str(launches), options=("--cost=1",))
        cost = found["probes"]["cost"] if found else {"switches": 0, "kernels": []}
        if not n or cost["switches"] >= turns or launches > 1000000:
            break
        launches *= 2
    result(n == launches and cost["switches"] >= turns, f"{tool}: switched {cost['switches']} times, all results are right", n, said)
    for k in cost["kernels"]:
        on, off, rest = k["on"]["launches"], k["off"]["launches"], k["straddling"] + k["unknown"]
        ran = sum(values(found["probes"], "nanoseconds"))
        result(on + off + rest == n and on * THREADS <= ran <= (on + rest) * THREADS and on and off,
               f"{tool}: {on} launches with programs, {off} without, {rest} left out", ran)
        print("  ratio", k.get("ratio"), k.get("ratio_low"), k.get("ratio_high"))


# ---- programs of the CUDA runtime ----

BUILDS = {  # of probe_kernels.cu: how nvcc makes it, for a compute capability
    "static": "-cudart static -arch=sm_{0}",
    "shared": "-cudart shared -arch=sm_{0}",
    **{f"PTX alone, {mode}": "-gencode arch=compute_{0},code=compute_{0} --compress-mode=" + mode for mode in ("none", "speed", "size", "balance")},
}


def capability():
    said = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return said.split()[0].replace(".", "")


def compile_kernels(nvcc, flags, source="probe_kernels.cu", to="probe_kernels"):
    program = os.path.join(BUILD, "tests", "gpu", to)
    os.makedirs(os.path.dirname(program), exist_ok=True)
    libraries = os.path.join(os.path.dirname(os.path.realpath(nvcc)), "..", "lib64")
    subprocess.run([nvcc, *flags.split(), "-Xlinker", f"-rpath,{libraries}", "-o", program, os.path.join(os.path.dirname(__file__), source)],
                   check=True)
    return program


def run_probed(program, *options):
    """What was found, how often each kernel ran, its blocks and threads a block, and what was said."""
    command = program if isinstance(program, tuple) else (program,)
    done = subprocess.run([os.path.join(BUILD, "xpuprof"), "probe", "--json", *options, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=240)
    launched = {name: tuple(map(int, rest)) for name, *rest in (line.split() for line in re.findall(r"^\w+ \d+ \d+ \d+$", done.stdout, re.M))}
    return json.loads(done.stdout[done.stdout.index("{"):]) if "{" in done.stdout else None, launched if not done.returncode else {}, done.stderr


COUNTED = {  # by tool: what it found, and what that is of (launches, blocks, threads of a block)
    "blocktime": (lambda f: sum(values(f, "nanoseconds")), lambda n, blocks, threads: n * blocks * threads),
    "threadhist": (lambda f: sum(values(f, "runs")), lambda n, blocks, threads: n * blocks * threads),
    "blocks": (lambda f: len(f["records"]) + f["losses"]["records_dropped"], lambda n, blocks, threads: n * blocks),
    "kernel_trace": (lambda f: len(f["records"]), lambda n, blocks, threads: n),
}


def check_runtime(name, program):
    for tool, (found_of, of) in COUNTED.items():
        found, launched, said = run_probed(program, tool)
        got, wanted = found_of(found) if found else None, sum(of(*kernel) for kernel in launched.values())
        result(launched and got == wanted, f"{tool} of all kernels, {name}", got, wanted, launched, said)


def check_kernels(program):
    launched = run_probed(program, "blocktime")[1]
    for kernel, counts in launched.items():
        for tool, (found_of, of) in COUNTED.items():
            found, _, said = run_probed(program, "-k", kernel, tool)
            got = found_of(found) if found else None
            result(got == of(*counts), f"{tool} of {kernel}: {counts[0]} launches", got, of(*counts), said)


def check_runtimes():
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc):
        print("programs of the CUDA runtime: skipped (no nvcc)")
        return
    for name, flags in BUILDS.items():
        program = compile_kernels(nvcc, flags.format(capability()))
        check_runtime(name, program)
    check_kernels(program)


def check_sanitizer():
    """Machine code alone, which programs are put into by NVIDIA's Sanitizer library."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc):
        print("machine code: skipped (no nvcc)")
        return
    library = os.path.join(os.path.dirname(os.path.realpath(nvcc)), "..", "compute-sanitizer", "libsanitizer-public.so")
    if not os.path.exists(library):
        print("machine code: skipped (no Sanitizer library)")
        return
    os.environ["XPUPROF_SANITIZER"] = os.path.abspath(library)
    program = compile_kernels(nvcc, "-gencode arch=compute_{0},code=sm_{0}".format(capability()))
    for tool in ("threadhist", "kernel_trace"):
        found_of, of = COUNTED[tool]
        found, launched, said = run_probed(program, "--sanitizer", tool)
        got, wanted = found_of(found) if found else None, sum(of(*kernel) for kernel in launched.values())
        result(launched and got == wanted, f"{tool} of all kernels, machine code", got, wanted, launched, said)
        for kernel, counts in launched.items():
            found, _, said = run_probed(program, "--sanitizer", "-k", kernel, tool)
            got = found_of(found) if found else None
            result(got == of(*counts), f"{tool} of {kernel}, machine code: {counts[0]} launches", got, of(*counts), said)
    for tool in ("memtrace", "divergence", "memheat", "threadscheduling", "kernelretsnoop", "launchlate"):
        found, launched, said = run_probed(program, "--sanitizer", tool)
        result(len(launched) == 6 and len(found["kernels"]) == 6, f"{tool} in all kernels, machine code", found, launched, said)


def check_strided():
    """Each access of a warp is of as many lines of 128 bytes as the stride makes it."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc):
        print("strided copies: skipped (no nvcc)")
        return
    program = compile_kernels(nvcc, "-gencode arch=compute_{0},code=compute_{0}".format(capability()), "strided.cu", "strided")
    for stride in (1, 2, 4, 8, 16, 32, 100):
        found, launched, said = run_probed((program, str(stride)), "-k", "strided", "coalesce")
        launches, blocks, threads = launched.get("strided", (0, 0, 0))
        warps = launches * blocks * threads // 32
        got = [(v["accesses"], v["accesses"] + v["lines_more"]) for v in values(found, "accesses")] if found else []
        result(warps and got == 2 * [(warps, warps * min(stride, 32))], f"coalesce, a copy with stride {stride}: {min(stride, 32)} lines an access", got, said)


def check_library():
    """A kernel of a library of one's own that works on PyTorch's memory."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc) or subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("a library's kernel in PyTorch: skipped (no nvcc, or no PyTorch)")
        return
    flags = "-shared -Xcompiler -fPIC -cudart shared -gencode arch=compute_{0},code=compute_{0}".format(capability())
    library = compile_kernels(nvcc, flags, "strided.cu", "libstrided.so")
    program = (sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_strided.py"), library)
    for tool in ("blocktime", "blocks", "kernel_trace"):
        found, launched, said = run_probed(program, "-k", "strided", tool)
        found_of, of = COUNTED[tool]
        got, wanted = found_of(found) if found else None, of(*launched.get("strided", (0, 0, 0)))
        result(wanted and got == wanted, f"{tool} of a library's kernel in PyTorch", got, wanted, said)


def check_block_times():
    """From the beginning of a kernel's first block to the end of its last: CUPTI's time of the kernel, but for what begins and ends it."""
    bench = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "gpu", "probed_kernels.ptx")
    path = os.path.join(BUILD, "tests", "gpu", "blocks")
    said = subprocess.run([os.path.join(BUILD, "xpuprof"), "record", "--gpu-only", "--probe", "blocks", "-o", path + ".xpu", "-o", path + ".json", "--",
                           os.path.join(BUILD, "bench", "probed_times"), bench, "matrix", "1024", "40"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, check=False).stderr
    with open(path + ".json", encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    spans = {}
    for block in (e for e in events if e.get("cat") == "GPU_Block"):
        begin, end = spans.get(block["args"]["correlationId"], (block["ts"], 0))
        spans[block["args"]["correlationId"]] = min(begin, block["ts"]), max(end, block["ts"] + block["dur"])
    shorter, outside = [], 0
    for kernel in (e for e in events if e.get("cat") == "GPU_Kernel" and e["args"]["linkerName"] == "matrix"):
        begin, end = spans.get(kernel["args"]["correlationId"], (0, 0))
        shorter.append(kernel["dur"] - (end - begin))
        outside += begin < kernel["ts"] - 1 or end > kernel["ts"] + kernel["dur"] + 1
    print(f"  kernels of {statistics.median(e['dur'] for e in events if e.get('cat') == 'GPU_Kernel'):.1f} us take "
          f"{min(shorter, default=0):.2f} to {max(shorter, default=0):.2f} us longer than their blocks")
    result(len(shorter) == 45 and not outside and -1 < min(shorter) and statistics.median(shorter) < 6 and max(shorter) < 12, "blocks are where CUPTI has their kernels, and as long", shorter, outside, said)


def check_devices():
    """Contexts of a program on every GPU: their counts are told apart, and each block is of a kernel of its GPU."""
    gpus = len(subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines())
    if gpus < 2:
        print("several GPUs: skipped (here is one)")
        return
    check("blocktime", "contexts")
    command = (TARGET, os.path.join(DATA, "shapes-sm75.ptx"), "contexts")
    found, launched, said = probe("blocktime", *command)
    got = sorted(c["device"] for c in found["contexts"]) if found else None
    result(got == sorted(2 * list(range(gpus))), f"contexts of {gpus} GPUs are told apart", got, said)
    profile, trace = (os.path.join(BUILD, "tests", "gpu", name) for name in ("devices.xpu", "devices.json"))
    said = subprocess.run([os.path.join(BUILD, "xpuprof"), "record", "--gpu-only", "--probe", "blocks", "--probe", "blocktime", "-o", profile, "-o", trace, "--", *command],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False).stderr
    with open(trace, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    kernels = {(e["args"]["correlationId"], e["pid"]): 0 for e in events if e.get("cat") == "GPU_Kernel"}
    unknown = 0
    for block in (e for e in events if e.get("cat") == "GPU_Block"):
        key = block["args"]["correlationId"], block["pid"]
        unknown += key not in kernels
        kernels[key] = kernels.get(key, 0) + 1
    result(len(kernels) == launched and not unknown and set(kernels.values()) == {BLOCKS}, f"each of {launched} kernels on {gpus} GPUs has its blocks", kernels, said)
    text = subprocess.run([os.path.join(BUILD, "xpuprof"), "report", "--probes", profile], stdout=subprocess.PIPE, text=True, check=False).stdout
    got = re.findall(r"^  ([0-9,]+) threads$", text, re.M)
    result(got == [f"{THREADS * launched:,}"] + gpus * [f"{THREADS * launched // gpus:,}"], "a table has all of them, and each GPU its own", got, text)


def check_triton():
    if subprocess.run([sys.executable, "-c", "import torch, triton"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("kernels of Triton: skipped (no PyTorch, or no Triton)")
        return
    program = (sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "triton_probed.py"))
    for how in ("compiled", "as kept"):
        for tool in ("blocks", "kernel_trace", "blocktime"):
            found, launched, said = run_probed((*program, "triton"), "-k", "add_kernel", tool)
            found_of, of = COUNTED[tool]
            got, wanted = found_of(found) if found else None, of(*launched.get("add_kernel", (0, 0, 0)))
            result(wanted and got == wanted, f"{tool} of a kernel of Triton, {how}", got, wanted, said)
    found, launched, said = run_probed((*program, "compile"), "-k", "triton_*", "kernel_trace")
    got = len(found["records"]) if found else 0
    result(launched and got >= launched["compiled"][0], "kernel_trace of what torch.compile makes", got, launched, said)


def check_tools():
    for tool in TOOLS:
        check(tool, "launch")
        check(tool, "streams")
    for mode in MODES:
        check("blocktime", mode)
        check("blocktime", mode, "procaddress")
    for tool in ("blocktime", "coalesce", "blocks"):
        killed(tool)
    switched("blocktime")


PARTS = {"sanitizer": check_sanitizer, "triton": check_triton, "runtimes": check_runtimes, "strided": check_strided, "library": check_library,
         "times": check_block_times, "devices": check_devices, "tools": check_tools}


def main():
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
    print(f"{failed} failed" if failed else "all good")
    return failed != 0


sys.exit(main())

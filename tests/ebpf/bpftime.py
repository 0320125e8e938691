#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the CUDA examples of github.com/eunomia-bpf/bpftime, unmodified, in a program whose launches are known.

usage: bpftime.py CHECKOUT [--objects FOLDER] [--gpu]

Their eBPF programs are compiled by clang, with a vmlinux.h by bpftool, into FOLDER (build/tests/bpftime); what is there already
stays, for machines that have neither. They run on the simulated GPU, with --gpu on a real one. Each is told what its own loader in
bpftime would do for it (options). Fails if a program cannot run, a result of the kernel is wrong, or a count is. Those that take
an uprobe need root. Our build is $XPUPROF_BUILD, or build."""
import argparse
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "..", "..", "build")))
SHAPES = os.path.join(HERE, "..", "data", "ptx", "shapes-sm75.ptx")
LAUNCHES, THREADS = 3, 40 * 128
ALL = LAUNCHES * THREADS
PLAIN, WITH_COUNT = "_Z9vectorAddPKfS0_Pf", "_Z9vectorAddPKfS0_Pfi"
DRIVER = "libcuda.so.1"


def values(found, name):
    return [e["value"] for o in found["objects"] for m in o["maps"] if m["name"] == name for e in m["entries"]]


def is_sum(name, wanted):
    return lambda found: sum(values(found, name)) == wanted


def has_records(count):
    return lambda found: len(found["records"]) + found["losses"]["records_dropped"] == count


def clock_offset():
    return int((time.clock_gettime(time.CLOCK_REALTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)) * 1e9)


def launchlate():
    return ["--attach", f"uprobe_cuda_launch={driver_path()}:cuLaunchKernel", "--set", f"clock_offset[0]={clock_offset()}"]


def shared_histogram():
    return ["--attach", f"launch_kernel_ret_probe={driver_path()}:cuLaunchKernel"]


# What is in the maps of programs that add without atomics, or to one hash from all threads at once, is no certain number.
EXAMPLES = {
    "atomizer/atomizer": (PLAIN, lambda: ["--allow-exit"], None),
    "cuda-counter/cuda_probe": (PLAIN, list, has_records(2 * ALL)),
    "cudagraph/cuda_probe": (PLAIN, list, is_sum("call_count", LAUNCHES)),
    "directly_run_on_gpu/directly_run": (PLAIN, list, has_records(1)),
    "gpu_shared_map/gpu_shared_map": (PLAIN, list, lambda found: values(found, "counter")),
    "host_map_test/host_map_test": (PLAIN, list, lambda found: sum(1 for v in values(found, "perthread_counter") if v == LAUNCHES) >= THREADS),
    "kernel_trace/kernel_trace": (WITH_COUNT, list, lambda found: found["records"]),
    "kernelretsnoop/kernelretsnoop": (PLAIN, list, has_records(ALL)),
    "launchlate/launchlate": (PLAIN, launchlate, lambda found: sum(values(found, "time_histogram")) > 0),
    "launchlate-kernel-gpu-shared-map/launchlate": (PLAIN, launchlate, lambda found: sum(values(found, "time_histogram")) > 0),
    "mem_trace/mem_trace": (PLAIN, list, lambda found: values(found, "counter")),
    "threadhist/threadhist": (PLAIN, list, is_sum("call_count", ALL)),
    "threadhist-gpu-kernel-shared-map/threadhist": (PLAIN, shared_histogram, lambda found: values(found, "call_count")[:2] == [ALL, LAUNCHES]),
    "threadscheduling/threadscheduling": (PLAIN, list, lambda found: len(values(found, "thread_mapping")) > 0),
    "threadscheduling_dynamic_hook/threadscheduling": (WITH_COUNT, list, lambda found: len(values(found, "thread_mapping")) > 0),
    # For kernels of programs that are not here: they are read, checked and translated.
    "cutlass/counter/cutlass_launch_counter": (None, list, None),
    "faiss-test/threadhist": (None, list, None),
    "llama-cpp-test/threadhist": (None, list, None),
    "pytorch-test/threadhist": (None, list, None),
}


def driver_path():
    listed = subprocess.run(["ldconfig", "-p"], stdout=subprocess.PIPE, text=True, check=False).stdout
    found = re.search(rf"{DRIVER} .*=> (\S+)", listed) if given.gpu else None
    return found[1] if found else os.path.join(BUILD, "sim", DRIVER)


def compile_object(name):
    source, made = os.path.join(given.checkout, "example", "gpu", name + ".bpf.c"), os.path.join(given.objects, name.replace("/", "-") + ".bpf.o")
    header = os.path.join(given.objects, "vmlinux.h")
    if os.path.exists(made):
        return made
    if not os.path.exists(header):
        with open(header, "wb") as f:
            subprocess.run(["bpftool", "btf", "dump", "file", "/sys/kernel/btf/vmlinux", "format", "c"], stdout=f, check=True)
    subprocess.run(["clang", "-g", "-O2", "-target", "bpf", "-D__TARGET_ARCH_x86", "-I", given.objects, "-c", source, "-o", made], check=True,
                   stderr=subprocess.DEVNULL)
    return made


def make_text(kernel):
    path = os.path.join(given.objects, kernel + ".ptx")
    with open(SHAPES, encoding="utf-8") as f, open(path, "w", encoding="utf-8") as out:
        out.write(re.sub(r"\bvector_add\b", kernel, f.read()))
    return path


def run(made, kernel, options):
    simulated = {} if given.gpu else {"LD_LIBRARY_PATH": os.path.join(BUILD, "sim"), "XPUPROF_SIM_COMPUTE": "1"}
    command = [os.path.join(BUILD, "xpuprof"), "probe", "--json", *options, "-e", made, "--", os.path.join(BUILD, "tests", "targets", "probed"),
               make_text(kernel), "launch"]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
                          env={**os.environ, **simulated, "PROBED_KERNEL": kernel})


def check(name):
    """None, or what is wrong."""
    kernel, options, holds = EXAMPLES[name]
    made = compile_object(name)
    if not kernel:
        done = subprocess.run([os.path.join(BUILD, "xpuprof"), "probe", "--check", made], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False)
        return done.stderr if done.returncode else None
    done = run(made, kernel, options())
    if holds is None:  # it ends threads, and so the kernel's results are others
        return None if "{" in done.stdout else done.stderr
    if done.returncode or not re.search(rf"^{LAUNCHES}$", done.stdout, re.M):
        return done.stderr or done.stdout[-300:]
    found, _ = json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("{"):])
    return None if holds(found) else json.dumps(found)[:600]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("checkout")
parser.add_argument("--objects", default=os.path.join(BUILD, "tests", "bpftime"))
parser.add_argument("--gpu", action="store_true")
given = parser.parse_args()
given.objects = os.path.abspath(given.objects)
os.makedirs(given.objects, exist_ok=True)
wrong = 0
for example in EXAMPLES:
    problem = check(example)
    wrong += problem is not None
    print(f"{'NOT OK' if problem else 'ok'}: {example}", *([problem] if problem else []), flush=True)
print(f"{len(EXAMPLES) - wrong} of {len(EXAMPLES)}")
sys.exit(wrong > 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record --gpu=observe` on a real NVIDIA GPU: are the functions that libcuda exports those that programs call, through the
runtime too, and is every call counted? Needs root.

    tests/gpu/observed.py

$XPUPROF_BUILD as tests/gpu/run has it. Which functions cuGetProcAddress hands out at other addresses is printed, and what a launch
takes alone and while it is observed."""
import collections
import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time

from gpu_tap import BUILD, HERE, XPUPROF, end, folder, note, result

FILTERED = [sys.executable, os.path.join(HERE, "../cli/observed.t"), "filtered"]
CALLS = os.path.join(HERE, "../../src/vendor/nvidia/calls.h")
PROGRAMS = [os.path.join(BUILD, "tests/programs/rounds"), os.path.join(BUILD, "tests/gpu/rounds_static"),
            os.path.join(BUILD, "tests/gpu/rounds_shared")]


def told(good, name, *notes):
    result(good, name, *(() if good else notes))


def observed_calls():
    with open(CALLS, encoding="utf-8") as f:
        return re.findall(r"\bDRIVER\(\d+, (?:LAUNCH|COPY|SET|GRAPH|SYNC), (\w+),", f.read())


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def compare_addresses():
    """Of each function that is observed, and of the variants that cuGetProcAddress has of it, by the release that is asked for."""
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuInit(0)
    exported = {name: address_of(getattr(driver, name)) for name in observed_calls() if hasattr(driver, name)}
    named = {address: name for name, address in exported.items()}
    others = []
    for base in sorted({re.sub(r"_v\d+|_ptsz|_ptds", "", name) for name in exported}):
        for version in (4000, 7000, 11030, 12000, 13000):
            for flags in (0, 2):  # CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                got, status = ctypes.c_void_p(), ctypes.c_int()
                if driver.cuGetProcAddress_v2(base.encode(), ctypes.byref(got), version, ctypes.c_uint64(flags), ctypes.byref(status)):
                    continue
                if got.value and got.value not in named:
                    others.append(f"{base}, {version}, {'per thread' if flags else 'legacy'}: {got.value:#x}")
    missing = [name for name in observed_calls() if name not in exported]
    note(f"{len(exported)} of {len(observed_calls())} calls are exported, at {len(named)} addresses; not there: {', '.join(missing)}")
    told(not others, "cuGetProcAddress hands out the functions that the library exports", *others)
    begins = collections.Counter(ctypes.string_at(address, 5).hex() for address in named)
    note("their first bytes: " + ", ".join(f"{code} ({n})" for code, n in begins.most_common(8)))


@contextlib.contextmanager
def running(program):
    with open("log", "w", encoding="utf-8") as log:
        process = subprocess.Popen([*FILTERED, program, "--threads", "2", "--pause", "300"], stdout=log, stderr=subprocess.STDOUT)
    until = time.monotonic() + 60
    while "ready" not in text() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def text():
    with open("log", encoding="utf-8") as f:
        return f.read()


def rounds_between(start, stop):
    words = [line.split() for line in text().splitlines()]
    return [int(w[2]) - int(w[1]) for w in words if len(w) == 3 and w[1].isdigit() and start < int(w[1]) and int(w[2]) < stop]


def middle(times):
    return sorted(times)[len(times) // 2] / 1000 if times else 0


def check_program(program):
    name = os.path.basename(program)
    with running(program) as process:
        time.sleep(1)
        done = subprocess.run([XPUPROF, "record", "-q", "-d", "3", "-o", "p.xpu", "--gpu=observe", "-p", str(process.pid)],
                              stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        well = process.wait() == 0 and text().endswith("done\n")
    r = json.loads(subprocess.run([XPUPROF, "report", "--json", "p.xpu"], stdout=subprocess.PIPE, check=True).stdout)
    start, stop = int(r["meta"]["start_ns"]), int(r["meta"]["end_ns"])
    counts = {call["api"]: call["count"] for call in r["calls"] if call["observed"]}
    true = len(rounds_between(start, stop))
    kernels = sum(n for api, n in counts.items() if "Launch" in api and "Graph" not in api)
    told(well and 0.6 * 5 * true < kernels <= 5 * true + 20, f"{name}: it goes on, and its launches are counted",
         done.stderr, counts, f"{true} rounds of 5 launches")
    note(f"{name}: {counts}; {true} rounds; a round takes {middle(rounds_between(0, start)):.1f} us alone, "
         f"{middle(rounds_between(start + 10 ** 9, stop)):.1f} us observed; {r['meta'].get('observed', done.stderr)}")
    paths = subprocess.run([XPUPROF, "export", "--to", "folded", "--view", "calls", "-o", "-", "p.xpu"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    told("launch_direct" in paths and "incomplete" not in paths, f"{name}: with whole stacks", paths[:2000])


with folder():
    compare_addresses()
    for one in PROGRAMS:
        if os.path.exists(one):
            check_program(one)
        else:
            note(f"'{one}' is not there")
sys.exit(end())

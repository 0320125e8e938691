#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the parts of a recording cost a launch, within one process.

Two processes that do the same differ by more than what is to be measured (overhead.py). So here a program that is being recorded
runs blocks of a workload in random order, and switches parts of its recording off and on between them:

    nothing      neither activity records nor callbacks; CUPTI stays
    records      CUPTI's activity records
    callbacks    these and CUPTI's callbacks, which the library does not answer
    driver       records, and the driver's callbacks only, answered: without the runtime's names and results
    all          all of it

Printed for each: the time of one iteration, and what it takes more than the records alone, as the median over the rounds with its 95 %
interval (order statistics).

The recording itself is of no use. The library's state is found by its symbols: one that was not stripped, and nm.

usage: xpuprof record -o FILE -- launch_parts.py decode|jax [--rounds N] [--block ITERATIONS]
"""
import argparse
import ctypes
import math
import random
import statistics
import subprocess
import sys
import time

DRIVER, RUNTIME = 1, 2
CALL_NUMBERS = 1200
RECORD_KINDS = (10, 1, 22, 2)  # kernels, copies, copies between GPUs, sets
# part: activity records, the driver's callbacks, the runtime's, and whether the library answers
PARTS = {
    "nothing": (False, False, False, True),
    "records": (True, False, False, True),
    "callbacks": (True, True, True, False),
    "driver": (True, True, False, True),
    "all": (True, True, True, True),
}


def find_file(name):
    """Where a library is mapped, and its path."""
    lines = [line.split() for line in open("/proc/self/maps") if name in line]
    if not lines:
        sys.exit(f"launch_parts.py: no {name} here: run this under `xpuprof record`")
    return min(int(line[0].split("-")[0], 16) for line in lines), lines[0][-1]


def find_symbol(name):
    base, path = find_file("libxpuprof-inject.so")
    for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
        address, *_, symbol = line.split(" ")
        if symbol == name:
            return base + int(address, 16)
    sys.exit(f"launch_parts.py: '{path}' has no symbol '{name}': it was stripped")


class Recording:
    def __init__(self):
        self.cupti = ctypes.CDLL(find_file("libcupti.so")[1])
        # The first member of each, as src/inject/library.h and src/inject/cupti/cupti.h say.
        guard = ctypes.c_void_p.from_address(find_symbol("library")).value
        self.recording = ctypes.c_uint32.from_address(guard + 4)
        self.subscriber = ctypes.c_void_p(ctypes.c_void_p.from_address(find_symbol("cupti")).value)
        self.calls = {domain: [n for n in range(CALL_NUMBERS) if self.is_on(domain, n)] for domain in (DRIVER, RUNTIME)}
        self.now = (True, True, True, True)

    def is_on(self, domain, number):
        state = ctypes.c_uint32()
        return not self.cupti.cuptiGetCallbackState(ctypes.byref(state), self.subscriber, domain, number) and state.value

    def switch(self, part):
        records, *calls, answered = PARTS[part]
        if records != self.now[0]:
            for kind in RECORD_KINDS:
                (self.cupti.cuptiActivityEnable if records else self.cupti.cuptiActivityDisable)(kind)
        for domain, on, before in zip((DRIVER, RUNTIME), calls, self.now[1:]):
            for number in self.calls[domain] if on != before else ():
                self.cupti.cuptiEnableCallback(int(on), self.subscriber, domain, number)
        self.recording.value = int(answered)
        self.now = PARTS[part]


def decode():
    import decode_worker
    import torch
    model = decode_worker.make_model()
    decode_worker.generate(model, 8)

    def run(count):
        decode_worker.generate(model, count)
        torch.cuda.synchronize()
    return run, 6


def jax():
    import jax_worker
    weights, first = jax_worker.make_arguments()

    def run(count):
        x = first
        for _ in range(count):
            x = jax_worker.step(weights, x).block_until_ready()
    return run, 1500


def measure(run, rounds, block):
    recording, times = Recording(), {part: [] for part in PARTS}
    for _ in range(rounds):
        for part in random.sample(list(PARTS), len(PARTS)):
            recording.switch(part)
            run(max(1, block // 8))
            start = time.perf_counter()
            run(block)
            times[part].append((time.perf_counter() - start) / block * 1e6)
    recording.switch("all")
    return times


def report(times):
    for part, values in times.items():
        over = sorted(a - b for a, b in zip(values, times["records"]))
        half = math.ceil(1.96 * math.sqrt(len(over)) / 2)
        low, high = over[max(0, len(over) // 2 - half)], over[min(len(over) - 1, len(over) // 2 + half)]
        print(f"{part:10} {statistics.median(values):10.1f} us, over records {statistics.median(over):+9.1f} us "
              f"[{low:+.1f}, {high:+.1f}]  {len(over)} rounds", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.rsplit("usage: ", 1)[1])
    parser.add_argument("workload", choices=["decode", "jax"])
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--block", type=int)
    options = parser.parse_args()
    run, block = {"decode": decode, "jax": jax}[options.workload]()
    run(options.block or block)
    report(measure(run, options.rounds, options.block or block))


main()

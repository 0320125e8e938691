#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instruction samples of our own kernels, recorded on an H200 and replayed by the simulated GPU (tests/data/h200), through
everything that `record --stalls` does: known kernels wait for the reason and at the lines that they were written to wait
at, as often as their time makes it, and each instruction is told as it was on that GPU.
"""
import collections
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import stall_streams as streams  # noqa: E402

DATA = os.path.join(HERE, "../data/h200")
# Every kernel gets more samples than its stream has, and so, each row some.
PERIOD, KERNEL_NS = 256, 400000
MISPLACED = 0.005
SIM_SMS, SIM_CYCLES_PER_US = 64, 1500  # sim/README.md

tests = failed = 0


def result(good, name, *notes):
    global tests, failed
    tests += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {tests} - {name}", flush=True)
    for note in () if good else notes:
        print("# " + str(note), flush=True)


def some(differences):
    return [*map(str, differences[:5]), f"{len(differences)} in all"]


def launches_of(kernels):
    """Different ones for each, some of them on a part of the GPU only."""
    return {kernel: (3 + n % 4, SIM_SMS if n % 3 else SIM_SMS // 4) for n, kernel in enumerate(kernels)}


def made_by_the_gpu(path):
    counts = collections.Counter()
    for line in open(path):
        kernel, samples = line.split()
        counts[kernel] += int(samples)
    return counts


def check_samples(kernel, launches, made):
    times, blocks = launches
    name = kernel["name"].split("(")[0]
    due = times * KERNEL_NS * SIM_CYCLES_PER_US // 1000 * min(blocks, SIM_SMS) / PERIOD
    result((kernel["count"], kernel["total_ns"]) == (times, times * KERNEL_NS), f"{name} has all its launches and its time",
           kernel["count"], kernel["total_ns"])
    result(kernel["samples"] == made and abs(made - due) <= times, f"{name} has the samples that its time makes",
           f"{kernel['samples']}, {made} made, {due} due")


def check_lead(kernel, truth):
    name = kernel["name"].split("(")[0]
    reason = kernel["reasons"][0]["reason"]
    result(reason == truth.reason, f"{name} waits for {truth.reason}", reason)
    top = max(kernel["lines"], key=lambda l: sum(r["samples"] for r in l["reasons"] if r["reason"] == truth.reason))
    result(streams.is_at(top, truth.file, truth.lines), f"{name} waits at the line that is known",
           f"{top['file']}:{top['line']}, not one of {sorted(truth.lines)}")


def check_rows(name, stream, rows, part):
    """The simulated GPU spreads samples evenly, though not perfectly; part: all of them, or latency samples."""
    weight, taken = sum(samples for samples, _ in stream.values()), sum(rows[0].values())
    due = {row: weights[part] * taken / weight for row, weights in stream.items()}
    got = rows[part]
    wrong = [row for row in due if due[row] >= 1 and not got[row]] + [row for row in got if row not in due]
    misplaced = sum(abs(got[row] - due[row]) for row in due) / 2
    result(not wrong and misplaced < MISPLACED * taken,
           f"{name}: {'latency samples' if part else 'samples'} are at the instructions and for the reasons recorded",
           f"{misplaced:.0f} of {taken} elsewhere", *some(wrong))


def check_instructions(name, truth, replayed):
    wrong = [(hex(at), replayed.get(at), "not", known) for at, known in truth.items() if replayed.get(at) != known]
    result(not wrong, f"{name}: {len(truth)} instructions are what they were on the GPU, at the same places", *some(wrong))


def check_stacks(name, profile, gpu_ns):
    """Order of frames: stall_streams.parse."""
    try:
        stacks = streams.stacks(profile)
    except streams.WrongStack as wrong:
        result(False, f"{name}: frames stand in their order", wrong)
        return
    result(stacks and all(s.folder and s.file and s.functions for s in stacks),
           f"{name}: frames stand in their order, from folder to offset")
    result({tuple(s.launched_by[-2:]) for s in stacks} == {("launch_kernel", "cuLaunchKernel")},
           f"{name}: on the function that launches, and its call", *some([s.launched_by for s in stacks]))
    folded = streams.xpuprof("export", "--view", "stall", "--unit", "ns", "--to", "folded", profile)
    time = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
    result(time == gpu_ns, f"{name}: their time is the GPU's, to the nanosecond", f"{time}, {gpu_ns}")


def check_replayed(name, profile, launches, made):
    stream = streams.read_stream(os.path.join(DATA, name + ".stalls"))
    truths = streams.read_truth(os.path.join(DATA, name + ".truth"))
    report = streams.report(profile)
    kernels = {kernel["linker_name"]: kernel for kernel in report["stalls"]["kernels"]}
    result(set(kernels) == set(truths), f"{name}: every kernel was sampled", sorted(kernels))
    result(report["stalls"]["taken"] == report["stalls"]["samples"] == sum(made.values()),
           f"{name}: every sample has an instruction", report["stalls"]["taken"], report["stalls"]["samples"])
    rows, latency = streams.rows(profile), streams.latency_rows(profile)
    replayed = streams.instructions(profile)
    for linker_name in truths.keys() & kernels.keys():
        short = kernels[linker_name]["name"].split("(")[0]
        check_samples(kernels[linker_name], launches[linker_name], made[linker_name])
        check_lead(kernels[linker_name], truths[linker_name])
        both = rows[linker_name], latency.get(linker_name, collections.Counter())
        check_rows(short, stream[linker_name], both, 0)
        check_rows(short, stream[linker_name], both, 1)
        check_instructions(short, truths[linker_name].instructions, replayed[linker_name])
    check_stacks(name, profile, report["gpu_ns"])


def check_cupti(name):
    """NVIDIA's own reader of line tables has the same innermost file and line, where it is installed."""
    title = f"{name}: CUPTI has the same lines"
    ran = subprocess.run([os.path.join(streams.BUILD, "tests/helpers/cupti_lines"), os.path.join(DATA, name + ".cubin")],
                         capture_output=True, text=True)
    if ran.returncode == 77:
        result(True, title + " # SKIP " + ran.stderr.strip())
        return
    lines, kernel = {}, None
    for words in map(str.split, ran.stdout.splitlines()):
        if words[0] == "function":
            kernel = lines.setdefault(words[1], [])
        elif kernel is not None:
            kernel.append((int(words[0], 16), os.path.basename(words[1])))
    wrong = []
    for linker_name, truth in streams.read_truth(os.path.join(DATA, name + ".truth")).items():
        for at, (_, place) in truth.instructions.items():
            theirs = [where for start, where in lines[linker_name] if start <= at][-1]
            if place.endswith(")") and not place.endswith(f" ({theirs})"):
                wrong.append((linker_name, hex(at), theirs, place))
    result(not wrong, title, *some(wrong))


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("stall_kernels", "raymarch"):
            profile, made = os.path.join(folder, name + ".xpu"), os.path.join(folder, name + ".made")
            launches = launches_of(streams.read_truth(os.path.join(DATA, name + ".truth")))
            status, said = streams.replay(DATA, launches, profile, PERIOD, KERNEL_NS, made)
            result(status == 0, f"{name}: its kernels are recorded", said)
            if status == 0:
                check_replayed(name, profile, launches, made_by_the_gpu(made))
            check_cupti(name)
    print(f"1..{tests}")
    return failed > 0


sys.exit(main())

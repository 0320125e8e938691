# SPDX-License-Identifier: MIT
"""Streams of instruction samples: read from recordings, written for the simulator (sim/cupti/code.h), replayed by it.

What there is to say of a recording is read from the folded stacks of `--view stall`, as any reader of docs/formats.md
would. The program is xpuprof in $XPUPROF_BUILD, or in build/.
"""
import collections
import json
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "../build")))
XPUPROF = os.path.join(BUILD, "xpuprof")
GPU_FRAME = "[GPU_Kernel]"

# One line of folded stacks: what launched the kernel, the kernel, folder, file and functions of the instruction, its
# mnemonic, why warps waited there, its offset, the samples. Everything from folder to functions is optional.
Stack = collections.namedtuple("Stack", "launched_by kernel folder file functions mnemonic reason offset samples")


class WrongStack(Exception):
    """Frames that are not in the order of docs/formats.md."""


def xpuprof(*arguments):
    return subprocess.run([XPUPROF, *arguments], stdout=subprocess.PIPE, check=True).stdout.decode()


def suffixed(frames, suffix, line):
    if any(not frame.endswith(suffix) for frame in frames):
        raise WrongStack(line)
    return [frame[:-len(suffix)] for frame in frames]


def parse(line):
    """A folded line of a kernel's instruction; None for others."""
    text, samples = line.rsplit(" ", 1)
    frames = text.split(";")
    kernel = next((i for i, frame in enumerate(frames) if frame.startswith(GPU_FRAME)), None)
    if kernel is None or frames[kernel + 1:] == ["[not sampled]"]:
        return None
    if len(frames) < kernel + 5 or frames[kernel + 1] != "-":
        raise WrongStack(line)
    source, code = suffixed(frames[kernel + 2:-3], "_[G]", line), suffixed(frames[-3:], "_[g]", line)
    folder = source.pop(0) if source and source[0].startswith("/") else None
    file = source.pop(0) if len(source) > 1 and re.search(r"\.\w+$", source[0]) else None
    return Stack(frames[:kernel], frames[kernel][len(GPU_FRAME):], folder, file, source, code[0], code[1],
                 int(code[2], 16), int(samples))


def stacks(profile, *options):
    """Every kernel's instructions with their samples."""
    folded = xpuprof("export", "--view", "stall", "--weight", "samples", "--lines", "--to", "folded", *options, profile)
    return [stack for stack in map(parse, folded.splitlines()) if stack]


def place(stack):
    """Where an instruction comes from, as the recorded places tell it: without folders, which another compilation changes,
    and without the namespace that nvcc puts static functions into."""
    return ";".join([stack.file or "", *(f.replace("(anonymous namespace)::", "") for f in stack.functions)])


def opcode(stack):
    """How much of an instruction is known depends on who took it apart: nvdisasm, or we ourselves."""
    return stack.mnemonic.split()[-1].split(".")[0]


def rows(profile):
    """{kernel: {(offset, reason): samples}}"""
    all_rows = {}
    for stack in stacks(profile):
        counts = all_rows.setdefault(stack.kernel, collections.Counter())
        counts[stack.offset, stack.reason] += stack.samples
    return all_rows


def latency_rows(profile):
    all_rows = {}
    for stack in stacks(profile, "--latency"):
        counts = all_rows.setdefault(stack.kernel, collections.Counter())
        counts[stack.offset, stack.reason] += stack.samples
    return all_rows


def instructions(profile):
    """{kernel: {offset: (opcode, place)}}"""
    all_instructions = {}
    for stack in stacks(profile):
        all_instructions.setdefault(stack.kernel, {})[stack.offset] = opcode(stack), place(stack)
    return all_instructions


def report(profile):
    return json.loads(xpuprof("report", "--stalls", "--json", profile))


def marked_lines(source):
    """{kernel: lines that it is to wait at} of a source that marks them STALL."""
    lines, kernel = {}, None
    for number, text in enumerate(open(source), 1):
        found = re.match(r"__global__ void (\w+)", text)
        kernel = found.group(1) if found else kernel
        mark = re.search(r"/\* STALL(.*?) \*/", text)
        for name in mark.group(1).split() or [kernel] if mark else []:
            lines.setdefault(name, set()).add(number)
    return lines


def is_at(line, file, lines):
    """Whether a line of a report, or one that it was inlined at, is one of those."""
    places = [line, *(function for chain in line["inlined"] for function in chain["functions"])]
    return any(os.path.basename(p["file"] or "") == file and p["line"] in lines for p in places)


def replay(folder, launches, profile, period, kernel_ns, made=""):
    """Records a program that launches {kernel: (times, blocks)} on the simulated GPU; (status, stderr)."""
    environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILD, "sim"), XPUPROF_SIM_STALLS=folder,
                       XPUPROF_SIM_STALLS_MADE=made, XPUPROF_SIM_KERNEL_NS=str(kernel_ns),
                       XPUPROF_SIM_MACHINE=f"replay {os.getpid()}")
    for name in ("CUDA_INJECTION64_PATH", "XPUPROF_SIM_FAULTS", "XPUPROF_SIM_DEVICES"):
        environment.pop(name, None)
    kernels = [f"{kernel}={times}x{blocks}" for kernel, (times, blocks) in launches.items()]
    ran = subprocess.run(["timeout", "60", XPUPROF, "record", f"--stalls={period}", "-o", profile, "--",
                          os.path.join(BUILD, "tests/targets/replay_target"), *kernels],
                         env=environment, capture_output=True, text=True)
    return ran.returncode, ran.stderr


# A kernel's stream: {(offset, reason): (samples, those of them that are latency samples)}
def write_stream(file, image, streams):
    file.write(f"image {image}\n")
    for kernel, stream in streams.items():
        file.write(f"\nkernel {kernel}\n")
        for (offset, reason), (samples, latency) in sorted(stream.items()):
            file.write(f"0x{offset:04x} {reason} {samples}\n")
            if latency:
                file.write(f"0x{offset:04x} {reason}_not_issued {latency}\n")


def read_stream(path):
    streams = {}
    for line in open(path):
        words = line.split()
        if not words or words[0] in ("#", "image"):
            continue
        if words[0] == "kernel":
            stream = streams.setdefault(words[1], {})
        elif words[1].endswith("_not_issued"):
            at = int(words[0], 16), words[1][:-len("_not_issued")]
            stream[at] = stream[at][0], int(words[2])
        else:
            stream[int(words[0], 16), words[1]] = int(words[2]), 0
    return streams


# What must hold for a kernel: the reason that leads, at which lines of which file; {offset: (opcode, place)}
Truth = collections.namedtuple("Truth", "reason file lines instructions")


def write_truth(file, truths):
    for kernel, truth in truths.items():
        file.write(f"\nkernel {kernel}\n")
        file.write(f"waits {truth.reason} {truth.file} {' '.join(map(str, sorted(truth.lines)))}\n")
        by_place = {}
        for offset, (code, where) in sorted(truth.instructions.items()):
            by_place.setdefault(where, []).append(f"{offset:x}:{code}")
        for where, found in by_place.items():
            file.write(f"place {where}\n")
            for i in range(0, len(found), 10):
                file.write(" ".join(found[i:i + 10]) + "\n")


def read_truth(path):
    truths = {}
    for line in open(path):
        word, _, rest = line.rstrip("\n").partition(" ")
        if word in ("", "#"):
            continue
        if word == "kernel":
            kernel = rest
        elif word == "waits":
            reason, file, *lines = rest.split()
            truths[kernel] = Truth(reason, file, set(map(int, lines)), {})
        elif word == "place":
            where = rest
        else:
            for found in line.split():
                offset, code = found.split(":")
                truths[kernel].instructions[int(offset, 16)] = code, where
    return truths

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles that somebody changed: whatever is in them, commands that show them end, without a crash and within bounds.

usage: changed_profiles.t [CHANGES [SEED]]"""
import os
import random
import resource
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
sys.dont_write_bytecode = True
import tap

HEADER, CHUNK = 16, 12
MIB = 1 << 20
ADDRESSES, MEMORY = 1024 * MIB, 128 * MIB
LIMIT_S = 30
SANITIZED = os.path.basename(tap.BUILD) == "san"
CHANGES = int(sys.argv[1]) if sys.argv[1:] else 60 if SANITIZED else 240
SEED = int(sys.argv[2]) if sys.argv[2:] else 1
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "stalls")
SHAPES = os.path.join(SOURCES, "..", "ptx", "shapes-sm75.ptx")
PROBED = ["export --to memheat", "report --probes", "report --probes --json", "flame --view gpu --weight block-time -o -"]
COMMANDS = (
    "report --wide", "report --json --stalls --counters --inline", "report --stalls --counters",
    "export --to folded --by process,thread", "export --to extended-folded", "export --to chrome", "export --to svg",
    "export --to pprof", "export --to speedscope", "export --to firefox", "export --to perfetto", "export --to perf-script", "export --to memheat",
    "flame --view wall -o -", "flame --view off-cpu --inline -o -", "flame --view stall -o -", "flame --view gpu --by device,stream -o -",
    "symbolize --inline -o named.xpu",
)


def crc_table():
    table = list(range(256))
    for _ in range(8):
        table = [n >> 1 ^ (0x82f63b78 if n & 1 else 0) for n in table]
    return table


CRC_TABLE = crc_table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xffffffff


# --- a profile as a list of chunks: (type, payload)

def chunks_of(data):
    found, at = [], HEADER
    while at + CHUNK <= len(data):
        size = struct.unpack_from("<I", data, at + 4)[0]
        found.append((data[at:at + 4], data[at + CHUNK:at + CHUNK + size]))
        at += CHUNK + size
    return found


def join(header, chunks):
    """With checksums that are right, so that what is in them is looked at."""
    parts = [header]
    for kind, payload in chunks:
        head = kind + struct.pack("<I", len(payload))
        parts += [head, struct.pack("<I", crc32c(head + payload)), payload]
    return b"".join(parts)


# --- changes: of a payload

def other_bytes(rng, payload):
    """Mostly one, and not by much: more of a chunk that makes no sense at all is not looked at."""
    changed = bytearray(payload)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        at = rng.randrange(len(changed))
        changed[at] = rng.choice((0, 0x7f, 0xff, changed[at] ^ 1 << rng.randrange(8), changed[at] ^ 1, changed[at] + 1 & 255, changed[at] - 1 & 255))
    return bytes(changed)


def two_bytes_exchanged(rng, payload):
    changed = bytearray(payload)
    one, other = rng.randrange(len(changed)), rng.randrange(len(changed))
    changed[one], changed[other] = changed[other], changed[one]
    return bytes(changed)


def large_number(rng, payload):
    at = rng.randrange(len(payload))
    return payload[:at] + rng.choice((b"\xff" * 9 + b"\1", b"\xff" * 4 + b"\x0f", b"\x80" * 20, b"\xff" * 8)) + payload[at + rng.randint(0, 4):]


def without_a_piece(rng, payload):
    at, size = rng.randrange(len(payload)), rng.randint(1, 40)
    return payload[:at] + payload[at + size:]


def a_piece_again(rng, payload):
    at, size, times = rng.randrange(len(payload)), rng.randint(1, 60), rng.choice((2, 3, 500))
    return payload[:at] + payload[at:at + size] * times + payload[at + size:]


# --- of their order

def chunk_elsewhere(rng, chunks):
    moved = chunks.pop(rng.randrange(len(chunks)))
    chunks.insert(rng.randint(0, len(chunks)), moved)


def chunk_again(rng, chunks):
    again = rng.choice(chunks)
    at = rng.randint(0, len(chunks))
    chunks[at:at] = [again] * rng.choice((1, 2, 30))


def without_a_chunk(rng, chunks):
    del chunks[rng.randrange(len(chunks))]


def another_kind(rng, chunks):
    at = rng.randrange(len(chunks))
    chunks[at] = (rng.choice(chunks)[0], chunks[at][1])


PAYLOAD_CHANGES = (other_bytes, other_bytes, other_bytes, two_bytes_exchanged, two_bytes_exchanged, large_number, without_a_piece, a_piece_again)
ORDER_CHANGES = (chunk_elsewhere, chunk_again, without_a_chunk, another_kind)


def changed(rng, data):
    if rng.random() < 0.05: # checksums show it
        at = rng.randrange(len(data))
        return data[:at] + (b"" if rng.random() < 0.5 else bytes(rng.randrange(256) for _ in range(9)) + data[at + 9:])
    chunks = chunks_of(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if rng.random() < 0.1:
            rng.choice(ORDER_CHANGES)(rng, chunks)
            continue
        at = rng.choice([n for n, (_, payload) in enumerate(chunks) if payload] or [0])
        kind, payload = chunks[at]
        if payload:
            chunks[at] = (kind, rng.choice(PAYLOAD_CHANGES)(rng, payload))
    return join(data[:HEADER], chunks)


# --- commands

def make(name, *command):
    tap.run(*command)
    with open(name, "rb") as f:
        return f.read()


def annotate(kernel):
    return [f"annotate --wide {kernel}", f"annotate --all -o - {kernel}"]


def probed():
    """A recording of programs in kernels; none where this build has no tools for it."""
    if subprocess.run([tap.PROGRAM, "probe", "--list"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        return
    os.environ["XPUPROF_SIM_COMPUTE"] = "1"
    yield make("probed.xpu", tap.PROGRAM, "record", "-q", "--gpu-only", "--probe", "memheat", "--probe", "blocks", "--probe", "threadhist", "-o", "probed.xpu",
               os.path.join(tap.BUILD, "tests", "targets", "probed"), SHAPES, "launch"), PROBED


def profiles():
    """Contents, and what shows what only it has."""
    helpers = os.path.join(tap.BUILD, "tests", "helpers")
    launches = os.path.join(tap.BUILD, "tests", "programs", "launches")
    os.environ.update(LD_LIBRARY_PATH=os.path.join(tap.BUILD, "sim"), XPUPROF_SIM_MACHINE=f"changed_profiles {os.getpid()}")
    cpu = [] if tap.can_record("--cpu-only") else ["--gpu-only"]
    yield make("recorded.xpu", tap.PROGRAM, "record", "-q", *cpu, "--stalls", "-o", "recorded.xpu", launches), annotate("count_a")
    for helper, what, kernel, *more in (("stall_profile", "small", "matmul", SOURCES), ("wait_profile", "gpu", ""),
                                        ("counter_profile", "small", ""), ("driver_profile", "small", "")):
        name = f"{helper}.xpu"
        yield make(name, os.path.join(helpers, helper), what, name, *more), annotate(kernel) if kernel else []
    yield from probed()


def limit():
    if not SANITIZED: # they take terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))


def end_of(command):
    """Status and complaints; None: it did not end."""
    with open("said", "w+b") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, preexec_fn=limit)
        try:
            status = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = None
        said.seek(0)
        return status, said.read().decode(errors="replace")


def is_fault(status, said):
    return status not in (0, 1, 2) or "Sanitizer" in said or "out of memory" in said


def check():
    rng, sources, faults, whole = random.Random(SEED), list(profiles()), [], 0
    for n in range(CHANGES):
        data, own = sources[n % len(sources)]
        with open("changed.xpu", "wb") as f:
            f.write(changed(rng, data))
        for words in [COMMANDS[n % 7], rng.choice([*COMMANDS[7:], *own * 3])]:
            status, said = end_of([tap.PROGRAM, *words.split(), "changed.xpu"])
            whole += status == 0 and "not whole" not in said
            if is_fault(status, said):
                faults.append(f"change {n}: {words}: {status} {said}")
    tap.result(not faults, f"{CHANGES} changed profiles harm no command", *faults)
    tap.result(whole > CHANGES / 4, "of which many are read to their end", whole)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    tap.result(SANITIZED or peak <= MEMORY, "and none takes much memory", f"{peak / MIB:.0f} MiB")
    if sys.argv[1:]:
        print(f"# {whole} of {2 * CHANGES} are whole, {peak / MIB:.0f} MiB at most")


tap.main(check, lambda: "")

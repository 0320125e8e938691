#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that speaks to `xpuprof probe` as the preloaded library does, and lies: probe.py MODE."""
import array
import mmap
import os
import random
import socket
import struct
import sys
import time

MAGIC, VERSION = 0x5558504B, 7  # of wire/probe.h
ARENA, KERNEL, LINES, FILE, IMAGE = 1, 2, 3, 4, 5


def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(os.environ["XPUPROF_PROBE_SOCKET"])
    s.settimeout(5)
    return s


def receive(s):
    """What has come with a message, mapped; None: nothing comes."""
    try:
        data, ancillary, _, _ = s.recvmsg(64, socket.CMSG_SPACE(4))
    except OSError:
        return None
    if not data or not ancillary:
        return None
    fd = array.array("i", ancillary[0][2])[0]
    size = os.fstat(fd).st_size
    try:
        memory = mmap.mmap(fd, size)
    except PermissionError:  # the plan is sealed
        memory = mmap.mmap(fd, size, prot=mmap.PROT_READ)
    os.close(fd)
    return memory


def greet(s, role=0):
    s.send(struct.pack("<4I", MAGIC, VERSION, os.getpid(), role))
    given = receive(s), receive(s)
    if not all(given):
        sys.exit(4)  # nothing would be tried
    return given


def ask_arena(s):
    s.send(struct.pack("<4IQQ16s64s", ARENA, 0, 16, 0, 1, 1, b"", b"GPU \x1b[31m\n"))
    return receive(s)


def kernel(n, name, fate=0):
    return struct.pack("<6IQQ6I512s3072s", KERNEL, fate, 1, 1, 1, n % 3, n, n // 3, 1, 2, 3, 4, 5, 6, b"\x1b[1m%d\n" % n, name)


def garbage():
    for n in range(200):
        s = connect()
        if n % 3:
            greet(s)
        for _ in range(20):
            try:
                size = random.choice([0, 1, 4, 24, 112, 2584, 3080, 3096, 3648, 4096])
                s.send(struct.pack("<I", random.randrange(8))[:size] + os.urandom(max(0, size - 4)))
            except OSError:
                break
        s.close()


def endless():
    s = connect()
    greet(s)
    for n in range(20000):
        s.send(kernel(n, b"\x1b]0;name\x07 %d" % n + b"x" * 3000, n // 2 % 16 if n % 2 else 0))
        s.send(struct.pack("<IIQQ3072s", IMAGE, n % 16, 2**63, n // 2, os.urandom(3072)))
        s.send(struct.pack("<II3072s", FILE, n, b"/file/%d" % n))
        s.send(struct.pack("<IIQQ", LINES, 2**31, n, random.choice([n, 2**31, 2**64 - 2, 2**64 - 1])) + os.urandom(2560))


def renames():
    """Each number has one path; another one would be kept for ever."""
    s = connect()
    greet(s)
    for n in range(400000):
        s.send(struct.pack("<II3072s", FILE, 1, b"/file/%d/" % n + b"x" * 3000))


def arenas():
    s = connect()
    greet(s)
    kept = []
    while len(kept) < 5000:
        memory = ask_arena(s)
        if not memory:
            break
        kept.append(memory)
    time.sleep(2)


def scribble():
    """Memory that changes all the time: values, states, and records that seem to be there."""
    s = connect()
    control, plan = greet(s)
    memory = ask_arena(s)
    for first in range(0, 2000, 128):  # numbers of accesses
        s.send(struct.pack("<IIQQ", LINES, 128, 1, first) + os.urandom(2560))
    end = time.monotonic() + 5
    size = len(memory)
    snapshot, outside = struct.unpack_from("<QQ", plan, 32)
    while time.monotonic() < end:
        noise = os.urandom(4096)
        for _ in range(200):
            at = random.randrange(0, size - 4096)
            memory[at:at + 4096] = noise
            at = random.randrange(snapshot, min(outside, size - 4096))
            memory[at:at + 512] = b"\xff" * 512
        for sequence in range(1, 2000):
            at = outside + (sequence - 1) * 64
            if at + 64 < size:
                struct.pack_into("<QQIHH", memory, at, sequence, 5, 2**32 - 1, random.randrange(4), random.randrange(4))
        control[0:64] = os.urandom(64)
        struct.pack_into("<4IQQ", memory, 0, MAGIC, VERSION, random.randrange(2**32), 0, 1, 1)


def compiler():
    """Its number becomes another's, so it may say what became of an image, and nothing else."""
    for message in (struct.pack("<II3072s", FILE, 1, b"/file"), struct.pack("<IIQQ", LINES, 0, 1, 0) + bytes(2560)):
        s = connect()
        greet(s, 1)
        s.send(message)
        try:
            closed = not s.recv(64)
        except ConnectionResetError:
            closed = True
        except OSError:
            closed = False
        if not closed:
            sys.exit(3)


def silent():
    kept = [connect() for _ in range(450)]
    time.sleep(2)
    kept.clear()


{"garbage": garbage, "endless": endless, "renames": renames, "arenas": arenas, "scribble": scribble, "silent": silent, "compiler": compiler}[sys.argv[1]]()

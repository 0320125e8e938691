#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""chunks.py PROGRAM: starts PROGRAM, says hello to the recorder as the injected library does, and writes over all
unwind tables that it is handed, for a second and a half."""
import ctypes
import mmap
import os
import socket
import struct
import subprocess
import sys
import time

MAGIC, CHUNK_BYTES = 0x5558504C, 4 << 20
BPF, BPF_MAP_UPDATE_ELEM = 321, 2

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def greet(version):
    """The connection and the recorder's version; no ring comes if that is not ours."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(1)
    connection.connect(os.environ["XPUPROF_SOCKET"])
    connection.send(struct.pack("IIII", MAGIC, version, os.getpid(), 0))
    message, fds, _, _ = socket.recv_fds(connection, 64, 4)
    return connection, struct.unpack("II", message[:8])[1], fds


def update(fd):
    """By the system call, the first line of the chunk."""
    key, value = ctypes.create_string_buffer(4), ctypes.create_string_buffer(64)
    request = struct.pack("IIQQQ", fd, 0, ctypes.addressof(key), ctypes.addressof(value), 0)
    return not libc.syscall(BPF, BPF_MAP_UPDATE_ELEM, request, len(request))


def map_writable(fd):
    """At once, or for reading and then changed; None: neither."""
    for first in mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_READ:
        address = libc.mmap(None, CHUNK_BYTES, first, mmap.MAP_SHARED, fd, 0)
        if address != ctypes.c_void_p(-1).value and not libc.mprotect(address, CHUNK_BYTES, 3):
            return address
    return None


victim = subprocess.Popen([sys.argv[1]])
connection, version, fds = greet(9)
if not fds:
    connection, version, fds = greet(version)
connection.setblocking(False)
chunks, written, updated, end = 0, [], 0, time.monotonic() + 1.5
while time.monotonic() < end:
    try:
        message, fds, _, _ = socket.recv_fds(connection, 64, 4)
    except BlockingIOError:
        fds = []
    for fd in fds:
        chunks += 1
        updated += update(fd)
        written += filter(None, [map_writable(fd)])
    for address in written:
        ctypes.memset(address, 0, CHUNK_BYTES)
    time.sleep(0.01)
victim.kill()
print(f"{chunks} chunks, {len(written)} written, {updated} updated", flush=True)

# SPDX-License-Identifier: MIT
"""file_server.py FD OPERATION ...: serves a FUSE file system that was mounted with FD.

These operations of a recorder's processes are not answered. It has one file, `file`, whose content is zeros."""
import os
import signal
import struct
import sys

OPERATIONS = {"lookup": 1, "getattr": 3, "open": 14, "read": 15, "flush": 25}
INIT, FORGET, RELEASE = 26, 2, 18
FILE, SIZE = 2, 1 << 20


def attributes(node):
    mode = 0o100644 if node == FILE else 0o40755
    return struct.pack("<QQQQQQIIIIIIIIII", node, SIZE if node == FILE else 0, 0, 0, 0, 0, 0, 0, 0, mode, 1,
                       os.getuid(), os.getgid(), 0, 4096, 0)


def answer_to(code, node, body):
    """Error and data."""
    if code == INIT:
        return 0, struct.pack("<IIIIHHII", 7, 31, 65536, 0, 0, 0, 4096, 0) + bytes(36)
    if code == OPERATIONS["lookup"]:
        return 0, struct.pack("<QQQQII", FILE, 0, 1, 1, 0, 0) + attributes(FILE)
    if code == OPERATIONS["getattr"]:
        return 0, struct.pack("<QII", 1, 0, 0) + attributes(node)
    if code == OPERATIONS["open"]:
        return 0, bytes(16)
    if code == OPERATIONS["read"]:
        return 0, bytes(struct.unpack_from("<QQI", body)[2])
    return (0, b"") if code == RELEASE else (-38, b"") # ENOSYS


def is_recorder(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as f:
            return f.read() in ("xpuprof\n", "exe\n")
    except OSError:
        return True


def serve(fd, silent):
    while True:
        request = os.read(fd, 1 << 17)
        _, code, unique, node, _, _, pid = struct.unpack_from("<IIQQIII", request)
        if code == FORGET or (code in silent and is_recorder(pid)):
            continue
        error, data = answer_to(code, node, request[40:])
        os.write(fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)


signal.alarm(30) # then those who wait go on
serve(int(sys.argv[1]), [OPERATIONS[name] for name in sys.argv[2:]])

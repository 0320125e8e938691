#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""false_recorder.py SOCKET: listens where a recorder did, welcomes a library with memory that is not sealed, and
takes that away when it is in use."""
import mmap
import os
import socket
import struct
import sys
import time

SLOTS = 4096
SIZE = 66 * 4096 + 64 * SLOTS

listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listener.listen()
print("listens", flush=True)
connection = listener.accept()[0]
hello = connection.recv(64)
if not hello:
    sys.exit("lost: nobody trusts us")
magic, version = struct.unpack("II", hello[:8])
memory = os.memfd_create("ring")
os.truncate(memory, SIZE)
with mmap.mmap(memory, SIZE) as ring:
    ring[:16] = struct.pack("IIII", magic, version, SLOTS, 1)
socket.send_fds(connection, [struct.pack("II", magic, version)], [memory])
time.sleep(0.3)
os.truncate(memory, 0)
print("won: a program has our memory", flush=True)
time.sleep(5)

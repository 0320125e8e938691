#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""claims.py KIND NAME: has the name by which processes agree on who samples a GPU.

    listens     and answers, as a process that samples does
    silent      and does not listen
    full        and listens, but has no room for anybody who asks
"""
import socket
import sys
import time

kind, name = sys.argv[1:]
held = []
for type_ in (socket.SOCK_STREAM, socket.SOCK_DGRAM): # recorders before used the latter
    s = socket.socket(socket.AF_UNIX, type_)
    s.bind("\0" + name)
    if type_ == socket.SOCK_STREAM and kind != "silent":
        s.listen(0 if kind == "full" else 64)
    held.append(s)
while kind == "full":
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.setblocking(False)
    try:
        s.connect("\0" + name)
    except BlockingIOError:
        break
    held.append(s)
print("has it", flush=True)
time.sleep(60)

# SPDX-License-Identifier: MIT
"""Holds as many connections to an HTTP server as it can, and finishes no request: slow_headers.py HOST PORT COUNT"""
import contextlib
import socket
import sys
import time

host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
clients = []


def send(client, data):
    with contextlib.suppress(OSError):
        client.sendall(data)


# None is waited for: a server that accepts no more of them makes each connection take seconds.
for n in range(count):
    clients.append(socket.socket())
    clients[-1].setblocking(False)
    clients[-1].connect_ex((host, port))
time.sleep(0.2)
for client in clients:
    send(client, b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
print("ready", flush=True)
while True:
    for client in clients:
        send(client, b"X-More: 1\r\n")
    time.sleep(0.2)

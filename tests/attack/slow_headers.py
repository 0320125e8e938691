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


for n in range(count):
    clients.append(socket.create_connection((host, port), timeout=5))
    send(clients[-1], b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
print("ready", flush=True)
while True:
    for client in clients:
        send(client, b"X-More: 1\r\n")
    time.sleep(0.2)

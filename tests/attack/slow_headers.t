#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Connections to the metrics that send a header line now and then, for ever (slow_headers.py)."""
import contextlib
import http.client
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack

CLIENTS = 64
SCRAPE_MAX_S = 10 # alone it takes a few milliseconds; slow clients may stay for ever
ENDS_MAX_S = 60


def scrape_s(host, port):
    """How long a scrape takes; None: longer than anybody waits."""
    begin = time.monotonic()
    connection = http.client.HTTPConnection(host, port, timeout=SCRAPE_MAX_S)
    try:
        connection.request("GET", "/metrics")
        if b"xpuprof_build_info" not in connection.getresponse().read():
            return None
    except OSError:
        return None
    finally:
        connection.close()
    return time.monotonic() - begin


def count_sockets(files):
    """Some are closed meanwhile."""
    sockets = 0
    for fd in os.listdir(files):
        with contextlib.suppress(FileNotFoundError):
            sockets += os.readlink(os.path.join(files, fd)).startswith("socket:")
    return sockets


def check():
    helper = os.path.join(attack.BUILD, "tests", "helpers", "serve_metrics")
    server = subprocess.Popen([helper, "127.0.0.1:0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, start_new_session=True)
    attack.started.append(server)
    address = server.stdout.readline().strip()
    if not address:
        attack.skip("slow clients keep nobody from the metrics", server.stderr.read())
        return
    host, port = address.rsplit(":", 1)
    attacker = attack.start(attack.STRANGER, *attack.python("slow_headers"), host, port, CLIENTS, stdout=subprocess.PIPE)
    attacker.stdout.readline()
    took = [scrape_s(host, int(port)) for _ in range(3)]
    attack.note(f"{CLIENTS} slow clients: scrapes took {[t and round(t * 1000) for t in took]} ms")
    attack.result(all(took), "slow clients keep nobody from the metrics", took)
    sockets = count_sockets(f"/proc/{server.pid}/fd")
    attack.result(sockets < CLIENTS, "and no more of them are connected than there are places", sockets)
    try:
        server.communicate(timeout=ENDS_MAX_S)
    except subprocess.TimeoutExpired:
        attack.note("the server does not end")
    attack.result(server.returncode == 0, "the server comes to a good end")


attack.main(check)

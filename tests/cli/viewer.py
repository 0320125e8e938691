# SPDX-License-Identifier: MIT
"""`xpuprof view` for tests: it serves until the end of the block.

    with Viewer("a.xpu") as viewer:
        rows = viewer.json("about.json")["rows"]
"""
import http.client
import json
import os
import re
import signal
import subprocess
import urllib.parse

import tap


def why_not():
    done = subprocess.run([tap.PROGRAM, "doctor"], capture_output=True, text=True, check=False)
    return "built without libmicrohttpd" if "built without libmicrohttpd" in done.stdout else ""


class Viewer:
    def __init__(self, *files, options=()):
        self.process = subprocess.Popen([tap.PROGRAM, "view", "--no-browser", *options, *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, text=True, env={**os.environ, "DISPLAY": ":none"})

    def __enter__(self):
        self.address = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32}/)", self.address)
        tap.result(found, "the address is this machine's, with a secret", self.address)
        self.port, self.secret = int(found[1]), found[2]
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.status = self.process.wait(20)

    def ask(self, name, method="GET", path=None, headers=None, **words):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        path = self.secret + name if path is None else path
        connection.request(method, path + ("?" + urllib.parse.urlencode(words) if words else ""), headers=headers or {})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text, dict(answer.getheaders())

    def json(self, name, **words):
        status, text, _ = self.ask(name, **words)
        if status != 200:
            tap.result(False, f"{name} {words} is answered", status, text)
        return json.loads(text)

    def memory(self):
        """Bytes that are in memory now."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as f:
            return 1024 * int(re.search(r"^VmRSS:\s+(\d+) kB$", f.read(), re.M)[1])

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

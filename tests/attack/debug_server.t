#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server of debug files that sends no end, byte after byte, something else, or elsewhere (debug_server.py)."""
import ctypes.util
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack

SENT_MAX = 8 << 30


def size_limits(recorder):
    """Of what the recorder's processes may write to a file."""
    texts = [attack.read(f"/proc/{pid}/limits") for pid in recorder.pids() if pid != recorder.pid]
    return [int(limit) if limit.isdigit() else None for text in texts
            for limit in re.findall(r"^Max file size +(\S+)", text, re.M)]


def check_server(quiet, how):
    server = attack.start(attack.OTHER, *attack.python("debug_server"), how, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    environment = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.stdout.readline().strip()}",
                   "DEBUGINFOD_CACHE_PATH": attack.folder(mode=0o700)}
    target = attack.start(attack.STRANGER, attack.program("stripped"))
    with attack.Recorder("--cpu-only", "-p", target.pid, environment=environment) as r:
        time.sleep(0.3)
        r.ask_to_end() # now it asks the server
        if how == "endless":
            limits = attack.wait_until(lambda: [n for n in size_limits(r) if n] or r.process.poll() is not None)
            attack.result(limits and limits != True and limits[0] <= SENT_MAX, "what a server sends has a bound", limits)
        if how in ("endless", "slow"):
            time.sleep(0.3)
        else:
            r.wait()
        # Whoever does not want to wait for servers sends another signal.
    attack.end(target)
    attack.end(server)
    attack.check_lived(r, f"a server of debug files: {how}", quiet)
    attack.result(r.stopped_in_s < 5, f"a server of debug files: {how}: the recording ends when it is asked to")


def check():
    if not ctypes.util.find_library("debuginfod"):
        attack.skip("servers of debug files", "libdebuginfod is missing")
        return
    quiet = attack.quiet("--cpu-only")
    for how in ("endless", "slow", "wrong", "redirect"):
        check_server(quiet, how)


attack.main(check)

# SPDX-License-Identifier: MIT
"""What tests of `xpuprof probe` share: a program whose launches are known, on the simulated GPU, and its maps."""
import json
import os
import re
import subprocess

import tap

TARGET = os.path.join(tap.BUILD, "tests", "targets", "probed")
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ptx")
SHAPES = os.path.join(DATA, "shapes-sm75.ptx")
OBJECTS = os.path.join(tap.BUILD, "tests", "ebpf")
BLOCKS, THREADS, COUNT = 40, 128, 5000
GRID = BLOCKS * THREADS
WARPS = GRID // 32
SIMULATED = {"LD_LIBRARY_PATH": os.path.join(tap.BUILD, "sim"), "XPUPROF_SIM_COMPUTE": "1"}
SECONDS = 60


def environment(**more):
    return {**os.environ, **SIMULATED, **more}


def probe(*arguments, command=(TARGET, SHAPES, "launch"), **variables):
    return subprocess.run([tap.PROGRAM, "probe", *arguments, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, env=environment(**variables), timeout=SECONDS)


def launches_of(done):
    """What the program says: the first line that is a number."""
    found = re.search(r"^(\d+)$", done.stdout, re.M)
    return int(found[1]) if found else -1


def answer(*arguments, **more):
    done = probe("--json", *arguments, **more)
    try:
        return done, json.loads(done.stdout[done.stdout.index("{"):])
    except ValueError:
        return done, None


def entries(found, name, index=0):
    maps = [m for m in found["objects"][index]["maps"] if m["name"] == name]
    return maps[0]["entries"] if maps else []


def why_not():
    if not os.path.exists(TARGET):
        return "the program is not built"
    listed = subprocess.run([tap.PROGRAM, "probe", "--list"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return "" if not listed.returncode else "this build has no tools"

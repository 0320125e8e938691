#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files and lines of functions in profiles for pprof, read field by field."""
import gzip
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from encoded import fields
from tap import PROGRAM, result

PYTHON = os.environ.get("PYTHON", sys.executable)
SCRIPT = """import time
def spin_here(seconds):
    end = time.process_time() + seconds
    n = 0
    while time.process_time() < end:
        n += 1
spin_here(0.5)
"""
LOCATION, FUNCTION, STRING = 4, 5, 6


def functions(*options):
    """{name: (file, {lines})} of a profile."""
    subprocess.run([PROGRAM, "export", "-o", "f.pb.gz", *options, "f.xpu"], check=True, stderr=subprocess.DEVNULL)
    with gzip.open("f.pb.gz") as file:
        profile = fields(file.read())
    strings = [value.decode() for field, value in profile if field == STRING]
    named = {f[1]: (strings[f[2]], strings[f.get(4, 0)]) for f in (dict(fields(value)) for field, value in profile if field == FUNCTION)}
    found = {}
    for field, value in profile:
        if field == LOCATION:
            line = dict(fields(dict(fields(value))[4]))
            name, file = named[line[1]]
            found.setdefault(name, (file, set()))[1].add(line.get(2, 0))
    return found


def check():
    with open("spin.py", "w") as file:
        file.write(SCRIPT)
    path = os.path.abspath("spin.py")
    subprocess.run([PROGRAM, "record", "-q", "-F", "999", "-o", "f.xpu", "--", PYTHON, path], check=True, stdin=subprocess.DEVNULL)
    found = functions()
    spin = [(name, place) for name, place in found.items() if name.startswith("spin_here")]
    result(len(spin) == 1 and spin[0][1] == (path, {0}), "a Python function has its file, and no line", spin)
    result(all(not file for name, (file, _) in found.items() if not name.endswith(")")), "native functions without DWARF have none", found)
    lines = {line: name for name, (file, numbers) in functions("--lines").items() if file == path for line in numbers}
    result(lines and set(lines) <= {1, 2, 3, 4, 5, 6, 7} and {5, 6} & set(lines) and 7 in lines, "with --lines each line has its number", lines)
    result(all(f":{line})" in name for line, name in lines.items()), "that its name has", lines)


tap.main(check, lambda: "" if tap.can_record() else "nothing can be recorded here")

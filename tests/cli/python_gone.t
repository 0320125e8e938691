#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python code that is freed as soon as it has run, as that of modules is when they were imported: it has its names and its
lines all the same."""
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

MODULES = 150
PROGRAM = """
import time
files = ["gone_%%03d.py" %% i for i in range(%d)] # modules have theirs in __file__
source = "import time\\n\\nend = time.perf_counter() + 0.002\\nwhile time.perf_counter() < end:\\n    pass\\n"
for file in files:
    exec(compile(source, file, "exec"), {})
""" % MODULES


def check():
    tap.run(tap.PROGRAM, "record", "-q", "--cpu-only", "-F", "999", "-o", "p.xpu", "--",
            os.environ.get("PYTHON", sys.executable), "-c", PROGRAM)
    report = json.loads(tap.run(tap.PROGRAM, "report", "--json", "p.xpu"))
    folded = tap.run(tap.PROGRAM, "export", "--to", "folded", "--lines", "-o", "-", "p.xpu")
    modules = set(re.findall(r"<module> \(gone_(\d+)\.py:[345]\)", folded))
    tap.result(len(modules) > MODULES / 2, "modules that are gone have names and lines", len(modules), folded)
    # Where others have the CPUs, the recorder may look when one is gone.
    unnamed = report["losses"]["python_unnamed"]
    tap.result(unnamed <= MODULES / 10, "and next to no function is unknown", unnamed)


tap.main(check, lambda: "" if tap.can_record("--cpu-only") else "CPU stacks cannot be had here")

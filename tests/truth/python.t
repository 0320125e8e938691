#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A Python program whose stacks are known (pychains.py), with C between its functions: recorded stacks must have all
frames in their true order, with the interpreter's own and without.

    python.t [INTERPRETER...]     without names, Debian's python3 and the one that runs this; with "all" all that are
                                  on the PATH or pyenv's"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

import harness
from harness import KEEP, ROOT, SOURCES, run, source


def facts(python):
    """Version and folder of headers."""
    return run([python, "-c", "import sys, sysconfig; print('%d.%d' % sys.version_info[:2]); "
                "print(sysconfig.get_paths()['include'])"]).split()


def try_python(python):
    version, include = facts(python)
    name = f"Python {version} ({python})"
    if not os.path.exists(os.path.join(include, "Python.h")):
        harness.skip(name, f"no Python.h in {include}")
        return
    with tempfile.TemporaryDirectory() as folder:
        run(["gcc", "-O2", "-fPIC", "-shared", *KEEP, "-I", include, source("pyext.c"), source("truth.c"),
             os.path.join(ROOT, "demo/driver.c"), "-o", os.path.join(folder, "pyext.so"), "-ldl"])
        program = os.path.join(folder, "pychains.py")
        os.symlink(source("pychains.py"), program)
        os.environ["PYTHONPATH"] = folder
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        for s in SOURCES:
            harness.compare(f"{name}, launches by {s}: all stacks are the known ones", [python, program], folder, s)


def all_pythons():
    found = [shutil.which(f"python3.{minor}") for minor in range(8, 20)]
    found += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    return [f for f in found if f and "/shims/" not in f and
            int(facts(f)[0].split(".")[1]) >= 8]


def main(names):
    if not harness.can_record():
        print("1..0 # SKIP CPU stacks cannot be had here")
        return 0
    usual = [p for p in ("/usr/bin/python3", sys.executable) if os.path.exists(p)]
    names = usual + all_pythons() if names == ["all"] else names or usual
    for python in dict.fromkeys(os.path.realpath(n) for n in names):
        try:
            try_python(python)
        except (RuntimeError, subprocess.SubprocessError) as e:
            harness.result(False, f"{python} is recorded", str(e).splitlines())
    return harness.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

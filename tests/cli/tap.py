# SPDX-License-Identifier: MIT
"""For tests of commands that are written in Python: they run in a folder of their own, and end with TAP.

    tap.main(check, why_not)    # why_not(): why nothing can be tested here; "" if it can

Whatever is said of a result is printed where it is not good.
"""
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "build")))
PROGRAM = os.path.join(BUILD, "xpuprof")

results = []


def result(ok, name, *notes):
    results.append((bool(ok), name, notes))


def run(*command):
    """What it prints. Why it failed is said at once: whoever reads its output may fail, too."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        result(False, f"{' '.join(map(str, command))} succeeds", done.stderr)
        print(f"status {done.returncode}: {done.stderr}", file=sys.stderr)
    return done.stdout


def can_record(*options):
    return not subprocess.run([PROGRAM, "record", "-q", *options, "-o", "none.xpu", "true"], stderr=subprocess.DEVNULL).returncode


def print_results():
    for number, (ok, name, notes) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {name}")
        for line in [line for note in notes for line in str(note).splitlines()[:60]] if not ok else ():
            print(f"# {line}")
    print(f"1..{len(results)}")


def main(check, why_not):
    work = tempfile.mkdtemp()
    os.chdir(work)
    try:
        reason = why_not()
        if reason:
            print(f"1..0 # SKIP {reason}")
            sys.exit(0)
        check()
    finally:
        shutil.rmtree(work)
    print_results()
    sys.exit(not all(ok for ok, _, _ in results))

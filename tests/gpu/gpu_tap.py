# SPDX-License-Identifier: MIT
"""TAP and CUDA programs, for the tests on a real NVIDIA GPU that are written in Python.

    sys.exit(gpu_tap.main(check, source, *flags))

makes a folder (`--keep FOLDER`: that one, which stays), compiles the CUDA source there and calls check(program, folder).
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "../../build")))
XPUPROF = os.path.join(BUILD, "xpuprof")
PYTHON = os.environ.get("PYTHON", "python3")

tests = failed = 0


def note(text):
    for line in str(text).splitlines():
        print("# " + line, flush=True)


def result(good, name, *notes):
    global tests, failed
    tests += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {tests} - {name}", flush=True)
    for text in notes:
        note(text)


def skip(name, reason):
    global tests
    tests += 1
    print(f"ok {tests} - {name} # SKIP {reason}", flush=True)


def end():
    """The plan; the status to exit with."""
    print(f"1..{tests}")
    return failed > 0


def find_nvcc():
    for folder in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"):
        if folder and os.access(os.path.join(folder, "bin/nvcc"), os.X_OK):
            return os.path.join(folder, "bin/nvcc")
    return shutil.which("nvcc")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


@contextlib.contextmanager
def folder(keep=None):
    path = keep or tempfile.mkdtemp()
    os.makedirs(path, exist_ok=True)
    try:
        yield path
    finally:
        if not keep:
            shutil.rmtree(path)


def main(check, source, *flags):
    nvcc = find_nvcc()
    if not nvcc:
        print("1..0 # SKIP no nvcc: the kernels cannot be compiled")
        return 0
    with folder(sys.argv[2] if sys.argv[1:2] == ["--keep"] else None) as path:
        program = os.path.join(path, os.path.splitext(os.path.basename(source))[0])
        made = run(nvcc, "-std=c++17", "-O2", *flags, "-arch=native", "-o", program, source)
        result(made.returncode == 0, "the kernels compile", made.stderr.strip())
        if not made.returncode:
            check(program, path)
    return end()

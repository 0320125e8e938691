#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Objects with programs for the operating system's kernel, too: both run, and arrays that both use are one memory. The uprobe is on the
# simulated driver's cuLaunchKernel, of a copy that only this test uses.
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

TARGET = os.path.join(tap.BUILD, "tests", "targets", "probed")
SHAPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ptx", "shapes-sm75.ptx")
OBJECT, RING = (os.path.join(tap.BUILD, "tests", "ebpf", f"{name}.v3.bpf.o") for name in ("shared", "shared_ring"))
THREADS = 40 * 128
SECONDS = 60
FOLDER = tempfile.mkdtemp(prefix="probe_shared.")
atexit.register(shutil.rmtree, FOLDER)
FIFO = os.path.join(FOLDER, "fifo")
DRIVER = os.path.join(FOLDER, "libcuda.so.1")
SIMULATED = {"LD_LIBRARY_PATH": FOLDER + ":" + os.path.join(tap.BUILD, "sim"), "XPUPROF_SIM_COMPUTE": "1"}
SET = ("--set", "both[3]=11", "--set", "step[0]=1", "--set", "constant=9", "--set", "constant_of_kernel=8")
ATTACH = ("--attach", f"on_launch={DRIVER}:cuLaunchKernel")


def run(*arguments, before=(), **variables):
    return subprocess.run([*before, tap.PROGRAM, *arguments], cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, env={**os.environ, **SIMULATED, **variables}, timeout=SECONDS)


def maps(found):
    return {m["name"]: {e["key"]: e["value"] for e in m["entries"]} for m in found["objects"][0]["maps"]}


def check_values(what, found, launches):
    both, threads = maps(found)["both"], launches * THREADS
    tap.result(both.get(0) == launches, f"{what}: the uprobe has counted {launches} launches", both)
    tap.result(both.get(1) == threads, f"{what}: the GPU's program has counted {threads} threads", both)
    # The n-th launch has seen n, as each is waited for.
    tap.result(both.get(2) == THREADS * launches * (launches + 1) // 2, f"{what}: what one wrote the other has read", both)
    tap.result(both.get(3) == 11, f"{what}: --set sets it, too", both)
    tap.result([both.get(n) for n in (4, 5, 6)] == [9, 9, 8], f"{what}: so it does constants, for both and for the kernel's alone", both)
    tap.result(maps(found)["bpftimes"] == {999: 7}, f"{what}: bpftime's type of such a map, up to its end", maps(found)["bpftimes"])
    sections = {m["name"]: m["entries"] for m in found["objects"][0]["maps"] if m["name"] in (".bss", ".data")}
    text = json.dumps(sections)
    tap.result(str(1000000 * launches + threads) in text and str(40 + launches) in text, f"{what}: so are variables", sections)


def check_run():
    done = run("probe", "--json", "-e", OBJECT, *ATTACH, *SET, "--", TARGET, SHAPES, "launch")
    tap.result(not done.returncode, "programs of both kinds run", done.stderr)
    check_values("probe", json.loads(done.stdout[done.stdout.index("{"):]), 3)
    tap.result("map 'only_kernel'" in done.stderr and "is not shown" in done.stderr, "a map that is not shown is named", done.stderr)
    done = run("probe", "-e", OBJECT, *ATTACH, "--set", "step[0]=100", "--", TARGET, SHAPES, "launch")
    tap.result("both (array)" in done.stdout and "0: 300\n" in done.stdout, "as text; and --set sets what is the kernel's alone", done.stdout)
    shape = run("probe", "--check", OBJECT).stdout
    tap.result("red.sys.global.add.u64" in shape and "map 'both': array" in shape and "in host memory" in shape, "atomics are those of the whole system", shape)


def check_contexts():
    done = run("probe", "--json", "-e", OBJECT, *ATTACH, *SET, "--", TARGET, SHAPES, "contexts", XPUPROF_SIM_DEVICES="2")
    both = maps(json.loads(done.stdout[done.stdout.index("{"):]))["both"]
    tap.result(both.get(0) == 12 and both.get(1) == 12 * THREADS, "contexts of two devices have one memory, which counts once", both, done.stderr)


def check_recording():
    profile = os.path.join(FOLDER, "a.xpu")
    done = run("probe", "-e", OBJECT, *ATTACH, *SET, "-o", profile, "--", TARGET, SHAPES, "launch")
    tap.result(not done.returncode, "so it is recorded", done.stderr)
    check_values("recording", json.loads(run("report", "--probes", "--json", profile).stdout)["probes"], 3)


def check_rights():
    """Under sudo, a file that its caller cannot read takes no uprobe."""
    done = run("probe", "-e", OBJECT, *ATTACH, "--", TARGET, SHAPES, "nothing", SUDO_UID="65534", SUDO_GID="65534")
    tap.result("cannot attach" not in done.stderr, "for the caller of sudo, a file that it can read", done.stderr)
    os.chmod(DRIVER, 0o700)
    done = run("probe", "-e", OBJECT, *ATTACH, "--", TARGET, SHAPES, "nothing", SUDO_UID="65534", SUDO_GID="65534")
    os.chmod(DRIVER, 0o755)
    tap.result(done.returncode == 1 and f"cannot attach program 'on_launch' at '{DRIVER}:cuLaunchKernel': Permission denied" in done.stderr,
               "and none that it cannot read", done.returncode, done.stderr)


def check_refused():
    os.mkfifo(FIFO)
    for arguments, why in ((("-e", OBJECT), "which does not say where it runs: --attach on_launch=FILE:FUNCTION does"),
                           (("-e", OBJECT, "--attach", "on_launch=/no/such/file:f"), "cannot attach program 'on_launch' at '/no/such/file:f'"),
                           (("-e", OBJECT, "--attach", "on_launch=nowhere"), "FILE:FUNCTION is needed"),
                           (("-e", OBJECT, "--attach", f"on_launch={FIFO}:cuLaunchKernel"), f"cannot attach program 'on_launch' at '{FIFO}:cuLaunchKernel'"),
                           (("-e", OBJECT, "--attach", f"on_launch={DRIVER}:no_such_function"), ":no_such_function'"),
                           (("-e", OBJECT, *ATTACH, "--attach", "nobody=a:b"), "--attach nobody=a:b: there is no such program for the kernel"),
                           (("blocktime", *ATTACH), "there is no such program for the kernel"),
                           (("-e", RING), "ring buffer 'events' is used by programs for the kernel and for the GPU, which cannot share it")):
        done = run("probe", *arguments, "--", TARGET, SHAPES, "launch")
        tap.result(done.returncode == 1 and why in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, f"refused in one line: {why}", done.stderr)
    if shutil.which("setpriv"):
        done = run("probe", "-e", OBJECT, *ATTACH, "--", TARGET, SHAPES, "launch", before=("setpriv", "--bounding-set=-all", "--inh-caps=-all"))
        tap.result(done.returncode == 1 and "needs root, or the capabilities CAP_BPF and CAP_PERFMON" in done.stderr and done.stderr.count("\n") == 1,
                   "without rights it says which are needed", done.stderr)


def check():
    os.chmod(FOLDER, 0o755)
    shutil.copy(os.path.join(tap.BUILD, "sim", "libcuda.so.1"), DRIVER)
    check_run()
    check_contexts()
    check_recording()
    check_rights()
    check_refused()


def why_not():
    if not os.path.exists(TARGET) or not os.path.exists(OBJECT):
        return "the programs are not built"
    if os.geteuid():
        return "this needs root"
    shutil.copy(os.path.join(tap.BUILD, "sim", "libcuda.so.1"), DRIVER)
    tried = run("probe", "-e", OBJECT, *ATTACH, "--", TARGET, SHAPES, "nothing")
    return "" if not tried.returncode or "CAP_BPF" not in tried.stderr else "this machine allows no BPF"


tap.main(check, why_not)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kernel.perf_event_paranoid on this kernel, for an ordinary user: at 2 samples of the program itself, at 3 and 4 (Debian's and
Ubuntu's default; other kernels take the numbers, and mean 2) one line that says why there are none, never a time of 0, and GPU work
all the same."""
import json
import os
import shutil
import subprocess
import tempfile

import vm_test as vm

PATH = "/proc/sys/kernel/perf_event_paranoid"
USER = 4242


class Recording:
    def __init__(self, folder, *command):
        done = subprocess.run([f"{folder}/xpuprof", "record", "-o", "p.xpu", "--", *command], cwd=folder, user=USER, group=USER,
                              extra_groups=[], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "HOME": folder, "LD_LIBRARY_PATH": f"{vm.BUILD}/sim"})
        self.err = done.stderr
        vm.same(done.returncode, 0, f"{os.path.basename(command[0])} is recorded")
        self.text = self.report()
        self.json = json.loads(self.report("--json"))

    @staticmethod
    def report(*options):
        return subprocess.run([f"{vm.BUILD}/xpuprof", "report", *options, "p.xpu"], capture_output=True, text=True, check=False).stdout

    def lines(self, word):
        return [line for line in self.err.splitlines() if word in line]


def is_refused():
    """Whether this kernel refuses a user's events at the level that is set: upstream's know no level above 2."""
    code = """
import ctypes, os
attr = (ctypes.c_uint8 * 112)(1, *[0] * 3, 112)
attr[40] = 1 | 1 << 5 | 1 << 6
exit(ctypes.CDLL(None).syscall(298, attr, 0, -1, -1, 0) < 0)
"""
    return bool(subprocess.run(["python3", "-c", code], user=USER, group=USER, extra_groups=[], check=False).returncode)


def check(folder, level):
    with open(PATH, "w", encoding="utf-8") as f:
        f.write(str(level))
    refused = is_refused()
    print(f"# {level}: {'refused' if refused else 'allowed'} by {os.uname().release}")
    r = Recording(folder, f"{vm.BUILD}/demo/train", "--steps", "3")
    vm.same(len(r.lines("CPU: not sampled")), int(refused), f"{level}: where there are no samples, one line says so")
    reason = f"kernel.perf_event_paranoid is {level}"
    vm.same(reason in r.err and "sysctl kernel.perf_event_paranoid=2" in r.err, refused, f"{level}: why, and what would allow it")
    vm.same("CPU time not sampled" in r.err, refused, f"{level}: the time is not sampled")
    vm.result("CPU time 0" not in r.err, f"{level}: and never 0", r.err)
    vm.same("CPU time      not sampled: " + reason in r.text, refused, f"{level}: reports say so, too")
    vm.same(r.json["samples"] > 0, not refused, f"{level}: samples")
    stacks = r.json["stacks"]
    vm.result(stacks["launches"] > 50 and not stacks["launches_without"], f"{level}: each launch has its stack", stacks, r.err)
    vm.result(r.json["gpu_ns"] > 0, f"{level}: and GPU work its time", r.text)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        os.chdir(folder)
        for name in ("xpuprof", "libxpuprof-inject.so"):
            shutil.copy(f"{vm.BUILD}/{name}", folder)
        for level in (2, 3, 4):
            check(folder, level)
    vm.done_testing()


main()

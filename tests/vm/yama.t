#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kernel.yama.ptrace_scope on this kernel: what `xpuprof record -p` of a program that runs already says where it may not be
joined. Its last value cannot be changed any more: this test is the last, and leaves a machine in which nobody traces."""
import os
import subprocess
import sys
import tempfile

import vm_test as vm

sys.path[:0] = [f"{vm.HERE}/..", f"{vm.HERE}/../cli"]
import joining

PATH = "/proc/sys/kernel/yama/ptrace_scope"
USER = 4242
AS_USER = {"user": USER, "group": USER, "extra_groups": []}


def recorded(pid, **options):
    return subprocess.run([f"{vm.BUILD}/xpuprof", "record", "-d", "1", "--gpu-only", "-o", "p.xpu", "-p", str(pid)], **options,
                          capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "HOME": os.getcwd()})


def refusals(done):
    return [line for line in done.stderr.splitlines() if "is not recorded" in line]


def check_joined(pid, who, **options):
    done = recorded(pid, **options)
    vm.result(not refusals(done) and f"left process {pid}" in done.stderr, f"{who} joins it", done.stderr)


def check_refused(pid, who, scope, **options):
    before = joining.state_of(pid)
    done = recorded(pid, **options)
    lines = refusals(done)
    why = f"kernel.yama.ptrace_scope {'is' if scope == 3 else '0, which is'} {scope}"
    vm.result(len(lines) == 1 and why in lines[0], f"{who} is told why not, in one line",
              done.returncode, done.stderr)
    vm.same(joining.state_of(pid), before, f"{who}: nothing in the program has changed")


def check(pid):
    for scope in range(4):
        with open(PATH, "w", encoding="utf-8") as f:
            f.write(str(scope))
        if scope:
            check_refused(pid, f"{scope}: its own user", scope, **AS_USER)
        else:
            check_joined(pid, f"{scope}: its own user", **AS_USER)
        if scope < 3:
            check_joined(pid, f"{scope}: root")
        else:
            check_refused(pid, f"{scope}: root", scope)


def main():
    if not os.path.exists(PATH):
        vm.skip_all("the kernel has no Yama")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        os.chdir(folder)
        with joining.running(joining.ROUNDS, "--pause", "5000", **AS_USER) as program:
            check(program.pid)
            vm.result(joining.end_well(program), "the program ends as alone", joining.text_of("log")[-200:])
    vm.done_testing()


main()

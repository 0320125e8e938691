#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record -p` joins a program that runs already, on this kernel: the rounds of its GPU work are whole, also when it is
joined for the second time, only a page stays of that, and the program ends as alone. So does one with threads of all kinds,
also where the kernel takes its time: what they run for us is not taken away before they have left it."""
import os
import signal
import subprocess
import sys
import tempfile
import time

import vm_test as vm

sys.path[:0] = [f"{vm.HERE}/..", f"{vm.HERE}/../cli"]
import check_rounds
import joining

STAYS = ["/memfd:xpuprof-stay"]
SECONDS = 3
LEAST_ROUNDS = 10
MARGIN_NS = 0.5e9
TIMES = 10
KINDS = "spin alloc load sleep poll epoll read condition signals".split()


def check_recorded(pid, name):
    """One recording. Its lines are the summary's."""
    begun = time.monotonic()
    done = joining.record_joined(pid, seconds=SECONDS)
    print(f"# {name}: {time.monotonic() - begun:.1f} s")
    vm.result(not done.returncode and f"left process {pid}" in done.stderr and "is not recorded" not in done.stderr,
              f"{name}: the program is joined, and left", done.stderr)
    wrong, compared = check_rounds.check("p.xpu", check_rounds.read_rounds("log"), LEAST_ROUNDS, MARGIN_NS)
    vm.result(not wrong, f"{name}: every round is whole, under the functions that asked for it", *wrong[:10])
    print(f"# {name}: {compared} rounds")


def check_rounds_of_program():
    with joining.running(joining.ROUNDS, "--threads", "2", "--pause", "5000") as program:
        check_recorded(program.pid, "once")
        first = joining.state_of(program.pid)
        vm.same((first[2], joining.has_library(program.pid)), (STAYS, False), "once: only a page stays, and no thread")
        check_recorded(program.pid, "again")
        vm.result(joining.wait_for(lambda: joining.state_of(program.pid) == first), "again: nothing more stays", first,
                  joining.state_of(program.pid))
        vm.result(joining.end_well(program), "the program ends as alone", joining.text_of("log")[-200:])


def check_kinds():
    targets = f"{vm.BUILD}/tests/targets"
    with joining.running(f"{targets}/join_target", *KINDS, name="kinds") as program:
        done = subprocess.run([f"{vm.BUILD}/tests/helpers/join_once", str(program.pid), f"{targets}/joined.so", "joined_entry",
                               str(TIMES), "1"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        vm.same(done.stdout.count("left"), TIMES, f"a program with {len(KINDS)} kinds of threads is joined {TIMES} times")
        program.send_signal(signal.SIGTERM)
        vm.same(program.wait(), 0, "and nothing in it went wrong")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_rounds_of_program()
        check_kinds()
    vm.done_testing()


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof monitor` i915 and amdgpu tell which buffers were never freed: whose they are, how many and how large, and the
stacks that made them, by name; and where a process is no longer what made them, that its code has no names."""
# modules: stand_in_i915 stand_in_amdgpu
import json
import os
import re
import signal
import subprocess

import vm_test as vm

PAGE = 4096
PROGRAM = f"{vm.BUILD}/tests/vm/leaks"
# What leaks.c keeps, by function: how many, and their bytes.
KEPT = {"keep_textures": (3, 3 * 2 * PAGE), "keep_meshes": (2, 2 * PAGE)}
TITLE = "buffers that were not freed"


class Leaks:
    """The program, which has made its buffers."""

    def __init__(self, driver, *arguments):
        self.process = subprocess.Popen([PROGRAM, driver, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.pid = self.process.pid
        vm.same(self.process.stdout.readline(), "made\n", f"{driver}: a program makes buffers")

    def becomes(self, program):
        """Goes on as another program."""
        self.process.stdin.write(f"{program}\n")
        self.process.stdin.flush()
        while os.readlink(f"/proc/{self.pid}/exe") == os.path.realpath(PROGRAM):
            pass

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait()


def rows_of(left, pid):
    return [row for row in left["rows"] if row["pid"] == pid]


def user_frames(row):
    return [frame for frame in row["stack"] if not frame.endswith(" [kernel]")]


def function_of(frame):
    return frame.split("+")[0]


def check_named(driver, rows):
    """What a process left that is still the same: by its functions, which the kernel's called."""
    found = {name: (row["count"], row["sum_bytes"]) for row in rows for name in map(function_of, user_frames(row))
             if name.startswith("keep_")}
    vm.same(found, KEPT, f"{driver}: what was left, by the function that made it")
    for row in rows:
        kernel = [function_of(frame) for frame in row["stack"] if frame.endswith(" [kernel]")]
        user = [function_of(frame) for frame in user_frames(row)]
        vm.result(kernel and row["stack"][:len(kernel)] == [f for f in row["stack"] if f.endswith(" [kernel]")] and
                  not [name for name in kernel if name.startswith("0x")],
                  f"{driver}: the kernel's functions are first, and have names", row["stack"])
        vm.result({"device_write", "vfs_write"} <= set(kernel), f"{driver}: its modules' too", kernel)
        vm.same([name for name in user if name in (*KEPT, "main")], [*(name for name in user if name in KEPT), "main"],
                f"{driver}: the program's follow, up to main")
        vm.same((row["comm"], "unnamed" in row), ("leaks", False), f"{driver}: it is the program's")


def check_unnamed(driver, rows, why):
    """What a process left that is not there any more: the kernel's functions, and why the others have no names."""
    vm.same(sorted((row["count"], row["sum_bytes"]) for row in rows), sorted(KEPT.values()),
            f"{driver}: what was left by one that {why}, in number and size")
    for row in rows:
        vm.same([frame for frame in user_frames(row) if not re.fullmatch(r"0x[0-9a-f]+", frame)], [],
                f"{driver}: no function gets a name that is not its own")
        vm.result(user_frames(row) and "vfs_write" in map(function_of, row["stack"]), f"{driver}: the kernel's have theirs",
                  row["stack"])
        vm.result(why in row.get("unnamed", ""), f"{driver}: and why is said", row)


def check_json(driver):
    watched = vm.Monitor(driver)
    same, ended, other = (Leaks(driver, n) for n in (1, 2, 3))
    vm.same(ended.end(), 0, f"{driver}: one program ends")
    other.becomes("/bin/cat")
    left = watched.done().statistics["left"]["buffer"]
    count, size = (3 * sum(column) for column in zip(*KEPT.values()))
    vm.same((left["known"], left["count"], left["sum_bytes"], len(left["rows"])), (True, count, size, 3 * len(KEPT)),
            f"{driver}: all that was left")
    check_named(driver, rows_of(left, same.pid))
    check_unnamed(driver, rows_of(left, ended.pid), "ended")
    check_unnamed(driver, rows_of(left, other.pid), "another program")
    same.end()
    other.end()


def check_text(driver):
    monitor = subprocess.Popen([f"{vm.BUILD}/xpuprof", "monitor", driver, "--summary-only", "--metrics", "127.0.0.1:0"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "http://" not in (monitor.stderr.readline() or "http://"):
        pass
    same, ended = Leaks(driver, 1), Leaks(driver, 2)
    ended.end()
    monitor.send_signal(signal.SIGINT)
    said = monitor.communicate()[0]
    same.end()
    part = next((part for part in said.split("\n\n") if part.startswith(TITLE)), "")
    vm.same(part.splitlines()[:1], [f"{TITLE}: 10, 64 KiB"], f"{driver}: all that was left, as text")
    texts = re.findall(r"^ +(\d+) +(\d+ KiB) (leaks \((\d+)\).*)\n((?: {26}.*\n?)+)", part, re.M)
    vm.same([(count, size, int(pid)) for count, size, _, pid, _ in texts],
            [(count, size, pid) for count, size in (("3", "24 KiB"), ("2", "8 KiB")) for pid in (same.pid, ended.pid)],
            f"{driver}: the largest first")
    for count, _, _, pid, stack in texts:
        frames = [frame.strip() for frame in stack.splitlines()]
        name = "keep_textures" if count == "3" else "keep_meshes"
        vm.result("vfs_write" in map(function_of, frames) and (
            f"{name}" in map(function_of, frames) if int(pid) == same.pid else "(addresses only: the process has ended)" in frames),
                  f"{driver}: with its stack", stack)


def check_crowd(driver):
    """More stacks than the kernel finds places for: none is told as another's."""
    watched = vm.Monitor(driver)
    leaks = Leaks(driver, 1, 11)
    statistics = watched.done().statistics
    rows = statistics["left"]["buffer"]["rows"]
    leaks.end()
    vm.same(sum(row["count"] for row in rows), 2048, f"{driver}: what was left, from 2048 places")
    vm.result(rows[0]["count"] > 1 and rows[0].get("stack_lost") and not user_frames(rows[0]),
              f"{driver}: those whose stacks were not kept are told as such", rows[0])
    vm.same(rows[0]["count"], sum(event["lost_stacks"] for event in statistics["events"]), f"{driver}: and counted")
    vm.result(not any(row["count"] > 1 or row.get("stack_lost") for row in rows[1:10]) and "go" in map(function_of, rows[1]["stack"]),
              f"{driver}: all others have their own", rows[1:10])


for driver in ("i915", "amdgpu"):
    vm.load(f"stand_in_{driver}")
    if driver == "amdgpu" and not os.path.exists("/sys/kernel/btf/amdgpu"):
        print("# what frees buffers of amdgpu's cannot be watched here")
    else:
        check_json(driver)
        check_text(driver)
        check_crowd(driver)
    vm.unload(f"stand_in_{driver}")
vm.done_testing()

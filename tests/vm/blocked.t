#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stranger's file system that never answers root (tests/attack/blocking_file.c): a monitor names the stacks of what was
left all the same, and says that it could not read the file."""
# modules: stand_in_i915 fuse
import json
import os
import signal
import subprocess

import vm_test as vm

STRANGER = 65534
FOLDER = "/tmp/served"
DEVICE = "/dev/xpuprof_i915"
LINE = "i915_gem_object_create obj=0x1000 size=4096"
END_S = 50 # a file that never answers costs a second, on a machine that is not emulated; the stranger stays for 60


class Target:
    """Runs code of the file system's file, which makes a buffer."""

    def __init__(self, how):
        fd = os.open("/dev/fuse", os.O_RDWR)
        subprocess.run(["mount", "-t", "fuse", "-o", f"fd={fd},rootmode=40000,user_id={STRANGER},group_id={STRANGER},"
                        "allow_other", "fuse", FOLDER], pass_fds=[fd], check=True)
        self.process = subprocess.Popen([f"{vm.BUILD}/tests/attack/blocking_file", how, str(fd), f"{FOLDER}/served.so", DEVICE,
                                         LINE], stdout=subprocess.PIPE, text=True, pass_fds=[fd], user=STRANGER, group=STRANGER,
                                        extra_groups=[], start_new_session=True)
        os.close(fd)
        vm.same(self.process.stdout.readline(), "mapped\n", f"{how}: a stranger runs code of its file system")

    def has_begun(self):
        """It spins: the line is written."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[11]) > 10

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        # The process that reads for the monitor may have the file open until its request ends, a moment after the server.
        subprocess.run(["umount", "-l", FOLDER], check=True)


def check_blocked(how):
    watched = vm.Monitor("i915", "--summary-only")
    target = Target(how)
    while not target.has_begun():
        pass
    watched.process.send_signal(signal.SIGINT)
    try:
        output, errors = watched.process.communicate(timeout=END_S)
    except subprocess.TimeoutExpired:
        target.end()
        watched.process.communicate()
        vm.result(False, f"{how}: the monitor ends in time")
        return
    target.end()
    vm.same((watched.process.returncode, errors), (0, ""), f"{how}: the monitor ends in time")
    left = json.loads(output)["statistics"]["left"]["buffer"]
    vm.same((left["count"], left.get("files_unreadable")), (1, 1), f"{how}: the file that could not be read is counted")
    stack = [frame for row in left["rows"] for frame in row.get("stack", [])]
    vm.result([frame for frame in stack if frame.startswith("served.so+0x")], f"{how}: what runs there has an address", left)
    vm.result([frame for frame in stack if frame.startswith("vfs_write")], f"{how}: other frames have names", left)


os.mkdir(FOLDER)
vm.load("fuse")
vm.load("stand_in_i915")
os.chmod(DEVICE, 0o666)
for way in ("open", "read"):
    check_blocked(way)
vm.unload("stand_in_i915")
vm.done_testing()

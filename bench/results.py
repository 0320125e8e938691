# SPDX-License-Identifier: MIT
"""What a benchmark measured: a command's time and memory, and rows for bench/figures."""
import os
import statistics
import subprocess
import sys
import time


def measure(command):
    """Wall seconds, CPU seconds and peak MiB of a command whose output is thrown away."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)}: status {status}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def note(what, figure, at_most=""):
    """A row of the result: into the file that $XPUPROF_RESULTS names, if it names one."""
    path = os.environ.get("XPUPROF_RESULTS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{what}\t{figure}\t{at_most}\n")


def note_command(what, walls, cpus, peaks, at_most=""):
    """The row of a command that ran several times."""
    note(what, f"{statistics.median(walls):.2f} s ({statistics.median(cpus):.2f} s of CPU), {max(peaks):.0f} MiB", at_most)

# SPDX-License-Identifier: MIT
"""Commands on recordings that are extreme in one way (tests/helpers/extreme_profile.c), within limits of time and memory."""
import os
import subprocess
import tempfile

import tap

HELPER = os.path.join(tap.BUILD, "tests", "helpers", "extreme_profile")
SANITIZED = os.path.basename(tap.BUILD) == "san"
SECOND = 10**9
MIB = 1 << 20
# What one command may take: a broken one needs minutes or gigabytes. Seconds are those of its CPU.
CPU_SECONDS = 200 if SANITIZED else 30
MEMORY_BYTES = 4000 * MIB if SANITIZED else 1000 * MIB


def measured(*command):
    """Status, output (bytes), what it says, CPU seconds, bytes of memory."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([tap.PROGRAM, *command], stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return process.returncode, out.read(), err.read().decode(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def within_limits(what, file, *command):
    """What it prints, as it should."""
    status, out, err, seconds, memory = measured(*command, file)
    tap.result(status == 0 and seconds < CPU_SECONDS and memory < MEMORY_BYTES, f"{what}: {' '.join(command)} ends in time, and in memory",
               status, err[:500], f"{seconds:.1f} s", f"{memory / MIB:.0f} MiB")
    return out

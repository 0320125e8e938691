#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debug and unwind information that has no end (debug_loops.py): recording, and naming afterwards, have one."""
import os
import re
import resource
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack
import debug_loops

GIVEN_UP = ["entries", "inlines", "ranges"] + ([] if attack.SANITIZED else ["lines"]) # whose memory is not limited
EITHER = ["siblings", "origins"] # libdw knows such files, or not
READ = ["plain", "unwind"]
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
SYMBOLIZE_S, SYMBOLIZE_BYTES = 40, 512 * attack.MIB


def start():
    kinds = sys.argv[1:] or GIVEN_UP + EITHER + READ
    target = attack.start(attack.STRANGER, *attack.python("debug_loops"), attack.folder(attack.STRANGER), *kinds,
                          stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    return target


def check_given_up(count, name, *notes):
    attack.result(len(GIVEN_UP) <= count <= len(GIVEN_UP + EITHER), f"{name}: files that were given up are counted", *notes)


def check_recording(quiet, target):
    with attack.Recorder("--cpu-only", "--inline", "-F", "999", "-p", target.pid) as r:
        time.sleep(0.5)
    attack.check_lived(r, "with lines", quiet)
    check_given_up(r.losses().get("files_unreadable", 0), "with lines", r.losses(), r.said)


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (SYMBOLIZE_BYTES, SYMBOLIZE_BYTES))


def symbolize(profile):
    """What it says."""
    try:
        return subprocess.run([attack.XPUPROF, "symbolize", "--inline", profile], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=SYMBOLIZE_S, check=True,
                              preexec_fn=None if attack.SANITIZED else limit).stdout
    except subprocess.SubprocessError as error:
        return str(error)


def number(pattern, text):
    match = re.search(pattern, text)
    return int(match[1]) if match else 0


def check_naming(quiet, target):
    with attack.Recorder("--cpu-only", "-F", "999", "-p", target.pid) as r:
        time.sleep(0.5)
    attack.check_lived(r, "without lines", quiet)
    target.send_signal(signal.SIGSTOP)
    begun_s = time.monotonic()
    said = symbolize(r.profile)
    attack.note(f"symbolize took {time.monotonic() - begun_s:.1f} s: {said}".replace("\n", "; "))
    target.send_signal(signal.SIGCONT)
    check_given_up(number(r"gave up reading the lines of (\d+)", said), "symbolize", said)
    attack.result(number(r"found the source lines of (\d+)", said) >= len(READ), "symbolize: others have their lines", said)


def is_ready(pid):
    """It is confined. With sanitizers there is no filter: it waits for its first request."""
    if not attack.SANITIZED:
        return "\nSeccomp:\t2\n" in attack.read(f"/proc/{pid}/status")
    return attack.read(f"/proc/{pid}/syscall").startswith(attack.RECVMSG)


def readers(recorder):
    return [pid for pid in recorder.pids() if "sandbox\0reader" in attack.read(f"/proc/{pid}/cmdline") and is_ready(pid)]


def hold(pid):
    """As busy as with a file that has no end: it does not look at its socket. (SIGSTOP would end with its parent.)"""
    return not attack.libc.ptrace(PTRACE_SEIZE, pid, None, None) and not attack.libc.ptrace(PTRACE_INTERRUPT, pid, None, None)


def check_killed():
    asleep = attack.start(attack.STRANGER, "sleep", "60")
    with attack.Recorder("--cpu-only", "-p", asleep.pid) as r:
        found = attack.wait_until(lambda: readers(r), 5)
        held = found and all([hold(pid) for pid in found])
        os.kill(r.pid, signal.SIGKILL)
        gone = attack.wait_until(lambda: not any(attack.read(f"/proc/{pid}/cmdline") for pid in found), 5)
        for pid in found:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    attack.result(held and gone, "a reader that is busy ends when its recorder is killed", found, held)


def check():
    check_killed()
    quiet = attack.quiet("--cpu-only")
    target = start()
    check_naming(quiet, target)
    check_recording(quiet, target)


if debug_loops.MACHINE:
    attack.main(check)
else:
    print("1..0 # SKIP it has no code for this machine")

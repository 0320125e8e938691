#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debug and unwind information that has no end (debug_loops.py): recording, and naming afterwards, have one."""
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


def check():
    quiet = attack.quiet("--cpu-only")
    target = start()
    check_naming(quiet, target)
    check_recording(quiet, target)


if debug_loops.MACHINE:
    attack.main(check)
else:
    print("1..0 # SKIP it has no code for this machine")

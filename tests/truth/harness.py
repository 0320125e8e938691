# SPDX-License-Identifier: MIT
"""What truth.t and python.t have in common: results, compiling, recording, comparing."""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import check

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(ROOT, "build")))
XPUPROF = os.path.join(BUILD, "xpuprof")

SOURCES = ["bpf", "inprocess"] # who takes the stacks of launches
FREQUENCY = "997"
# No jumps in the place of calls: a function that has a name is on the stack until it says that it is not.
KEEP = ["-fno-optimize-sibling-calls", "-I", HERE, "-I", os.path.join(ROOT, "sim/include"), "-I",
        os.path.join(ROOT, "demo")]

# CPU samples that differ and may: why, and how they begin and end. Between stand Python's frames, which are known
# without a walk.
UNREADABLE = "[incomplete stack: stack memory not readable]"
NO_RULE = "[incomplete stack: no unwind information]"
EXCHANGED = "[incomplete stack: registers not readable]"
NO_CALLER = "[incomplete stack: the caller is not known]"
PENDING = "[incomplete stack: unwind table not ready]"
NO_MAPPING = "[incomplete stack: code in no known mapping]"
FIRST = r"(ld-linux-x86-64\.so\.2\+0x\w+|_start)(;\w[\w.]*_\[k\])*"
PYTHON = r"(;([^;]+ \([^;]+\)|\[unknown Python function\]))*"
ALLOWED = [
    ("the kernel has taken the memory of the program that ends in favour of the next", UNREADABLE, r"execve;.*_\[k\]"),
    ("the kernel is leaving a signal handler, and has exchanged the stack pointer, but not the pc", EXCHANGED,
     r"__restore_rt;.*;restore_sigcontext_\[k\]"),
    ("the kernel is about to enter one, and has exchanged one of them", NO_CALLER, r"[^;]+;.*;x64_setup_rt_frame_\[k\]"),
    ("a page of the stack is just being made", UNREADABLE, r"[^;]+;asm_exc_page_fault_\[k\].*"),
    ("the start files of the C library and the compiler (crti.o, crtbegin.o) have no unwind information", NO_RULE,
     r"(_init|_fini|__do_global_dtors_aux|frame_dummy|(de)?register_tm_clones)(;.*)?|[^;]+\+0x\w+(;__cxa_finalize.*|(;\w[\w.]*_\[k\])*)"),
    ("OpenSSL's library starts with assembler code", NO_RULE, r"libcrypto\.so\S*\+0x\w+;.*"),
    ("the first instruction of a program, of which it is not known yet what it has mapped", NO_MAPPING, FIRST),
    ("the first instruction of a program, whose table has not come before it ended", PENDING, FIRST),
    ("the first instruction of a thread", NO_CALLER, r"clone3;ret_from_fork_asm_\[k\].*"),
    ("a walk that has to wait for tables does not have the stack, when pages of it are not there yet and cannot be "
     "copied", PENDING, r"([^;]+;)*asm_exc_page_fault_\[k\].*"),
]

# While the kernel moves a page of the stack, or has taken it away for a moment, nobody can read it without waiting; and what
# begins or ends a program has such moments, too. Where nothing differs but samples whose stacks say that they are incomplete
# the program is recorded again: a walker that reads the wrong place does so each time.
RECORDINGS_MAX = 4

tests = failed = 0


def result(good, name, notes=()):
    global tests, failed
    tests += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {tests} - {name}")
    for note in notes:
        print(f"# {note}")
    sys.stdout.flush()


def skip(name, reason):
    global tests
    tests += 1
    print(f"ok {tests} - {name} # SKIP {reason}")


def done():
    print(f"1..{tests}")
    return failed != 0


def run(command, **more):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                           **more)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {ended.returncode}: {ended.stdout.strip()[-800:]}")
    return ended.stdout


def source(name):
    return os.path.join(HERE, name)


def record(command, folder, stack_source):
    out, recording = os.path.join(folder, "truth"), os.path.join(folder, "p.xpu")
    for old in (out, recording):
        if os.path.exists(old):
            os.unlink(old)
    environment = dict(os.environ, TRUTH_OUT=out, LD_LIBRARY_PATH=os.path.join(BUILD, "sim"))
    said = run([XPUPROF, "record", "-q", "-F", FREQUENCY, "--stack-source", stack_source, "-o", recording, "--",
                *command], env=environment, timeout=120)
    if "done" not in said.split():
        raise RuntimeError("the program did not come to its end: " + said)
    return recording, out


def reason(kind, known, stack):
    """Why the stack may differ; None: it may not."""
    return next((why for why, note, leaf in ALLOWED if kind != "launch" and
                 re.fullmatch(re.escape(note) + PYTHON + ";(" + leaf + ")", stack)), None)


def is_incomplete(kind, known, stack):
    """Whether a sample's stack says that it is."""
    return kind != "launch" and stack.startswith("[incomplete stack: ")


def losses(recording):
    report = json.loads(subprocess.run([XPUPROF, "report", "--json", recording], check=True,
                                       stdout=subprocess.PIPE, text=True).stdout)
    return {name: n for name, n in report["losses"].items() if n}


def differences_of(recording, truth):
    """Those that have no reason, and notes of all that was found."""
    differences, counts = check.check(XPUPROF, recording, truth)
    wrong = {d: n for d, n in differences.items() if not reason(*d)}
    notes = [f"{counts['samples']} samples, {counts['launches']} launches, {counts['others']} other samples: "
             f"{sum(wrong.values())} differ, {sum(differences.values()) - sum(wrong.values())} more have a reason"]
    reasons = collections.Counter()
    for d, n in differences.items():
        reasons[reason(*d)] += n
    notes += [f"{n}: {why}" for why, n in reasons.most_common() if why]
    for (kind, known, stack), n in sorted(wrong.items(), key=lambda d: -d[1])[:12]:
        notes.append(f"{n} {kind}: {stack[-600:]}")
        if known:
            notes.append(f"   known: {known[-600:]}")
    if wrong:
        notes.append(f"counted: {losses(recording)}")
    return wrong, counts["samples"], notes


def compare(name, command, folder, stack_source):
    """Records the command and compares its stacks with what it says of them."""
    notes = []
    for _ in range(RECORDINGS_MAX):
        wrong, samples, more = differences_of(*record(command, folder, stack_source))
        notes += more
        if not wrong or not all(is_incomplete(*d) for d in wrong):
            break
    result(not wrong and samples >= 20, name, notes)


def can_record():
    with tempfile.TemporaryDirectory() as folder:
        return not subprocess.run([XPUPROF, "record", "-q", "--cpu-only", "-o", os.path.join(folder, "p.xpu"), "true"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

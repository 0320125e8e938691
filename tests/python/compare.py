#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py PYTHON...: runs stacks.py with an interpreter and compares, at each of its stops, each thread's stack as
our walk finds it with what Python said, and that as many native frames run Python as there are groups. Prints one TAP line a spot, without plan.

XPUPROF_BUILD is where the helper python_stack was built.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HELPER = os.path.join(os.environ["XPUPROF_BUILD"], "tests/helpers/python_stack")
FRAMES_MAX = 2048  # WALK_PYTHON_FRAMES_MAX
LOOKS = 20  # at a program that is interrupted anywhere
NO_STACK, NO_STACK_MAX = "no stack", 1  # while a link of the chain is put in place or taken away
WALK_COMPLETE, WALK_ZERO, WALK_DEPTH = 1, 2, 9


def walked(pid):
    """What our walk finds: (interpreter, {tid: {"complete", "ascending", "frames", "groups"}})."""
    result = subprocess.run([HELPER, str(pid)], capture_output=True, text=True, errors="replace")
    interpreter, threads, current = result.stderr.strip(), {}, None
    for line in result.stdout.splitlines():
        kind, *fields = line.split("\t")
        if kind == "interpreter":
            interpreter = fields
        elif kind == "thread":
            current = {"complete": fields[1] == "1", "ascending": fields[2] == "1", "frames": [],
                       "groups": int(fields[3]), "loops": int(fields[4]), "end": int(fields[5])}
            threads[fields[0]] = current
        elif kind == "frame":
            current["frames"].append([fields[0], fields[1], int(fields[2])])
    return interpreter, threads


def difference(expected, found):
    """Why one thread's stack is not what it has to be; None when it is."""
    if found is None:
        return "thread not found"
    cut = len(expected) > FRAMES_MAX - 4  # hidden frames take room
    frames = found["frames"]
    want = expected[:len(frames)] if cut else expected
    for i, (a, b) in enumerate(zip(want, frames)):
        if a != b:
            return "frame %d is %s, not %s" % (i, b, a)
    if len(want) != len(frames):
        return "%d frames, not %d" % (len(frames), len(want))
    if cut and (found["complete"] or len(frames) < FRAMES_MAX // 2):
        return "a deep stack with %d frames, complete: %s" % (len(frames), found["complete"])
    if not cut and not found["complete"]:
        return "not complete"
    if not found["ascending"]:
        return "the entries do not ascend on the thread's stack"
    if found["end"] not in (WALK_COMPLETE, WALK_ZERO) and not (found["end"] == WALK_DEPTH and len(frames) > 20):
        return "the native walk ended with %d" % found["end"]
    if found["end"] != WALK_DEPTH and not cut and found["loops"] != found["groups"]:
        return "%d native frames run Python, not %d" % (found["loops"], found["groups"])
    return None


def check_spot(process, told):
    interpreter, threads = walked(process.pid)
    problems = [] if isinstance(interpreter, list) else [interpreter]
    for tid, expected in told["threads"].items():
        why = difference(expected, threads.get(tid))
        if why:
            problems.append("thread %s: %s" % (tid, why))
    return interpreter, problems


def run(command, name):
    process = subprocess.Popen([*command, os.path.join(HERE, "stacks.py")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, encoding="utf-8")
    spots, failed, interpreter, seen_end = 0, 0, None, False
    for line in process.stdout:
        told = json.loads(line)
        if told["spot"] == "end":
            seen_end = True
            break
        interpreter, problems = check_spot(process, told)
        spots += 1
        for problem in problems:
            failed += 1
            print("# %s, %s: %s" % (name, told["spot"], problem))
        try:
            process.stdin.write("x")
            process.stdin.flush()
        except BrokenPipeError:
            break
    process.kill()
    process.wait()
    return interpreter, spots, failed, seen_end


def callers_of(function):
    """Who may have called a function of busy.py."""
    if function == "main":
        return ["<module>"]
    if function in ("__init__", "<listcomp>"):
        return ["main"]
    own, _, caller = function.partition("_of_")
    return [caller, "<listcomp>"] if own == "adder" else [caller, "main"] if own == "deep" else [caller]


def unlikely(threads):
    """Why the stack of busy.py cannot have been; None when it can."""
    stacks = list(threads.values())
    if len(stacks) != 1:
        return "%d threads" % len(stacks)
    names = [frame[0].rpartition(".")[2] for frame in stacks[0]["frames"]]
    if not stacks[0]["complete"] and len(names) <= 1:
        return NO_STACK  # and the walk says so
    if not names or names[-1] != "<module>" or not stacks[0]["complete"]:
        return "not whole: %s" % names
    for function, caller in zip(names, names[1:]):
        if caller.partition("_of_")[0] not in callers_of(function):
            return "%s was not called by %s" % (function, caller)
    surplus = stacks[0]["loops"] - stacks[0]["groups"]
    # Before 3.11 a loop that has no frame yet, or has none any more, is one by its address.
    return None if surplus in (0, 1) else "%d native frames too many run Python" % surplus


def check_busy(command, name):
    """Interrupts a program anywhere, many times: True when every stack is one that can be."""
    process = subprocess.Popen([*command, os.path.join(HERE, "busy.py")], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    problems = [unlikely(walked(process.pid)[1]) for _ in range(LOOKS)]
    process.kill()
    process.wait()
    if problems.count(NO_STACK) <= NO_STACK_MAX:
        problems = [problem for problem in problems if problem != NO_STACK]
    for problem in filter(None, problems):
        print("# %s, interrupted anywhere: %s" % (name, problem))
    return not any(problems)


def check(command, name):
    """One interpreter as one TAP line (without its number)."""
    # A frame is half there for a few instructions while it is pushed: what is wrong comes again, that does not.
    anywhere = check_busy(command, name) or check_busy(command, name)
    interpreter, spots, failed, seen_end = run(command, name)
    known = isinstance(interpreter, list)
    text = "%s%s: frames, groups and lines are as Python says at %d spots, and can be at %d others" % (
        name, " (state by %s)" % interpreter[3] if known else "", spots, LOOKS)
    return known and anywhere and not failed and seen_end and spots >= 40, text


def with_cache(work):
    """Runs work with a folder for unwind tables, which are made once."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHON_STACK_CACHE"] = folder
        return work()


if __name__ == "__main__":
    results = with_cache(lambda: [check([path], path) for path in sys.argv[1:]])
    for i, (good, text) in enumerate(results):
        print("%s %d - %s" % ("ok" if good else "not ok", i + 1, text))
    print("1..%d" % len(results))
    sys.exit(not all(good for good, _ in results))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names that steer root's terminal: of a process, a thread, a program's file, a function (names.c), of Python's (python_names.py)."""
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import attack

SYMBOL = b"name_of_32_bytes_that_is_changed"
NASTY = b"\x1b]0;root\x07\xc2\x9b31m\xe2\x80\xae\xff\nFORGED 1" + b"x" * 5
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
OUTPUTS = (("report", "--wide"), ("report", "--json"), ("export", "--to", "folded", "--by", "process,thread"),
           ("export", "--to", "extended-folded"), ("export", "--to", "chrome"),
           ("export", "--to", "speedscope"), ("export", "--to", "perf-script"), ("flame", "--by", "process,thread", "-o", "-"))


def native():
    """A program whose function and file have such names."""
    with open(attack.program("names"), "rb") as built:
        content = built.read()
    assert len(NASTY) == len(SYMBOL) and content.count(SYMBOL)
    path = os.fsencode(attack.folder()) + b"/evil" + NASTY
    with open(path, "wb") as copy:
        copy.write(content.replace(SYMBOL, NASTY))
    os.chmod(path, 0o755)
    return os.fsdecode(path), b"p\x1b[31m\xe2\x80\xae\nFORGED", b"t\x9b\xff\x07\nFORGED"


def python():
    nasty = r"f\x1b[31m\u202e\u009b\nFORGED 1"
    return *attack.python("python_names"), nasty, f"/tmp/{nasty}.py"


def faults(output):
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        return [str(error)]
    return ([ascii(text[max(0, m.start() - 40):m.end() + 20]) for m in UNPRINTABLE.finditer(text)] +
            [ascii(line) for line in text.splitlines() if line.startswith("FORGED")])


def check_outputs(name, recorder):
    bad = faults(recorder.said.encode(errors="surrogateescape"))
    shown = 0
    for words in OUTPUTS:
        done = subprocess.run([attack.XPUPROF, *words, recorder.profile], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        shown += rb"\x1b" in done.stdout
        bad += [f"{words[0]} {words[-1]}: {fault}" for fault in faults(done.stdout + done.stderr)]
    attack.result(not bad, f"{name}: nothing but text is written", *bad[:20])
    attack.result(shown >= 4, f"{name}: and the names are visible", shown)


def check():
    for name, command in (("native code", native()), ("Python", python())):
        command = [os.fsdecode(word) for word in command]
        user = attack.STRANGER
        target = subprocess.Popen(["setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups", "--", *command],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
        attack.started.append(target)
        target.stdout.readline()
        with attack.Recorder("-F", "199", "-p", target.pid) as r:
            time.sleep(0.7)
        attack.end(target)
        attack.check_lived(r, name)
        check_outputs(name, r)


attack.main(check)

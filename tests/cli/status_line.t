#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `xpuprof record` writes on the terminal on which the program prints, as a screen shows it in the end."""
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import tap
from tap import PROGRAM, result

ROWS, COLUMNS = 12, 60
STATUS = re.compile(r"xpuprof [0-9.]+ m?s  ")


class Screen:
    """A terminal, as far as our own sequences and plain text go."""

    def __init__(self):
        self.lines = [""] * ROWS
        self.row = self.column = 0
        self.bottom = ROWS - 1
        self.gone = []  # what scrolled out
        self.saved = (0, 0)
        self.ever_status = False

    def index(self):
        if self.row < self.bottom:
            self.row += 1
            return
        self.gone.append(self.lines.pop(0))
        self.lines.insert(self.bottom, "")

    def put(self, character):
        if self.column == COLUMNS:
            self.index()
            self.column = 0
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[:self.column] + character + line[self.column + 1:]
        self.column += 1

    def sequence(self, name, numbers):
        if name == "K":
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif name == "A":
            self.row -= 1
        elif name == "H":
            self.row, self.column = numbers[0] - 1, 0
        elif name == "r":
            self.bottom = (numbers[1] if len(numbers) > 1 else ROWS) - 1
            self.row = self.column = 0
        else:
            assert name == "m", name

    def write(self, text):
        for match in re.finditer(r"\033\[([0-9;]*)([A-Za-z])|\033([78D])|(.)", text, re.DOTALL):
            numbers, name, short, character = match.groups()
            if name:
                self.sequence(name, [int(n) for n in numbers.split(";") if n])
            elif short == "7":
                self.saved = (self.row, self.column)
            elif short == "8":
                self.row, self.column = self.saved
            elif short == "D":
                self.index()
            elif character == "\n":
                self.index()
            elif character == "\r":
                self.column = 0
            else:
                self.put(character)
            self.ever_status |= bool(STATUS.search(self.lines[self.row]))

    def shown(self):
        return [line.rstrip() for line in self.gone + self.lines]


def run_on_terminal(*command, stdin=None, term="xterm", pipe=None, when=None):
    """The screen in the end, all that was written to it, and the status. `when(text)` gives what is typed."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(command, stdin=inner if when else stdin, stdout=pipe or inner, stderr=inner, start_new_session=True,
                               env={**os.environ, "TERM": term, "COLUMNS": ""})
    os.close(inner)
    screen, text = Screen(), b""
    # To the end of the process: what it started may have the terminal for longer.
    while True:
        ended = process.poll() is not None
        try:
            if ended and not select.select([outer], [], [], 0)[0]:
                break
            if not select.select([outer], [], [], 0.05)[0]:
                continue
            part = os.read(outer, 65536)
        except OSError:
            break
        text += part
        if when and (keys := when(text)):
            os.write(outer, keys)
    screen.write(text.decode())
    os.close(outer)
    status = process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return screen, text.decode(), status


def record(*arguments, **more):
    return run_on_terminal(PROGRAM, "record", "--cpu-only", "-o", "p.xpu", *arguments, **more)


HALVES = "for i in 1 2 3; do printf one; sleep 0.4; echo two; done; printf end"


def check_program_prints():
    screen, text, _ = record("sh", "-c", HALVES)
    lines = screen.shown()
    result(not screen.ever_status, "there is no status line on a terminal where the program prints", text)
    result(lines.count("onetwo") == 3, "and its lines are whole", *lines)
    result("end" in lines and lines[lines.index("end") + 1].startswith("xpuprof: "),
           "the summary does not stand behind half a line", *lines)
    lines = record("sh", "-c", "echo whole")[0].shown()
    result(lines[lines.index("whole") + 1].startswith("xpuprof: "), "and leaves none empty behind a whole one", *lines)
    with open("other", "w") as other:
        screen, text, _ = record("sh", "-c", "sleep 1", pipe=other)
    result(not screen.ever_status, "neither where only its errors would go there", text)
    screen, text, _ = record("sh", "-c", "printf half", term="dumb")
    result("\033" not in text, "a terminal that moves no cursor gets plain lines", repr(text))


def check_wanted():
    screen, text, _ = record("--status", "sh", "-c", HALVES + "; seq 20")
    lines = screen.shown()
    result(screen.ever_status, "--status asks for one", text)
    result(lines.count("onetwo") == 3 and "end1" in lines and lines[lines.index("end1") + 1:][:19] == [str(n) for n in range(2, 21)],
           "and what the program prints is whole all the same", *lines)
    result(not any(STATUS.search(line) for line in lines), "nothing of it is left", *lines)
    result(screen.bottom == ROWS - 1, "and the terminal has all its rows again")
    status = run_on_terminal(PROGRAM, "record", "--status", "-q", "true")[2]
    result(status == 2, "--status and --quiet exclude each other")
    done = subprocess.run([PROGRAM, "record", "--status", "true"], stderr=subprocess.PIPE, text=True)
    result(done.returncode == 2 and "needs a terminal" in done.stderr, "--status needs a terminal", done.stderr)


KEYS = """
import sys, time, tty
sys.stdin.readline()
tty.setraw(0)
time.sleep(0.3) # a status may be on its way
print("drawing", flush=True)
time.sleep(1.2)
print("drawn", flush=True)
"""


def check_keys():
    typed = []

    def when(text):
        if b"API calls" in text and not typed:
            typed.append(True)
            return b"\n"
        return None

    _, text, _ = record("--status", "python3", "-c", KEYS, when=when)
    drawn = text[text.index("drawing"):text.index("drawn")]
    result("API calls" not in drawn, "nothing is written while the program reads keys from the terminal", repr(drawn))


def check_waiting():
    screen, text, _ = record("--wait", "1.5", "sh", "-c", "sleep 30 & printf half")
    lines = screen.shown()
    result("half" in lines and sum("waiting (Ctrl-C ends that)" in line for line in lines) == 1,
           "what is waited for is said once, in a line of its own", *lines)


def check_other_terminal():
    program = subprocess.Popen(["sleep", "30"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    screen, text, _ = record("-d", "1.5", "-p", str(program.pid))
    result(screen.ever_status, "there is one where the program prints elsewhere", text)
    result(not any(STATUS.search(line) for line in screen.shown()), "of which nothing is left", *screen.shown())
    program.kill()
    program.wait()


def check_same_terminal():
    """A program that runs already, on this terminal."""
    command = 'sleep 30 & "$0" "$@" -d 1.5 -p $!; kill $!'
    screen, text, _ = run_on_terminal("sh", "-c", command, PROGRAM, "record", "-o", "p.xpu")
    result(not screen.ever_status and "wrote p.xpu" in text, "and none where it prints here", text)


def main():
    check_program_prints()
    check_wanted()
    check_keys()
    check_waiting()
    if not subprocess.run([PROGRAM, "record", "-q", "-d", "0.1", "-o", "p.xpu", "--cpu-only", "-a"], stderr=subprocess.DEVNULL).returncode:
        check_other_terminal()
        check_same_terminal()


def why_not():
    try:
        for fd in pty.openpty():
            os.close(fd)
    except OSError as e:
        return f"no pseudo-terminals here: {e}"
    return ""


tap.main(main, why_not)

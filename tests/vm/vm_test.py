# SPDX-License-Identifier: MIT
"""What tests in virtual machines share that are written in Python: TAP, kernel modules (tests/vm/run), devices that
do what is written to them (tests/vm/modules/lines.h), and the kernel's own record of trace events."""
import json
import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "../../build"))
TRACEFS = "/sys/kernel/tracing"

tests = failed = 0


def result(good, name, *said):
    global tests, failed
    tests += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {tests} - {name}")
    if not good:
        for line in said:
            print(*(f"# {part}" for part in str(line).splitlines()[:60]), sep="\n")
    sys.stdout.flush()
    return good


def same(got, expected, name):
    return result(got == expected, name, f"got:      {got}", f"expected: {expected}")


def between(low, value, high, name):
    return result(low <= value <= high, name, f"got:      {value}", f"expected: {low} to {high}")


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def done_testing():
    print(f"1..{tests}")
    sys.exit(bool(failed))


def _sh(command, *arguments):
    script = f'here={HERE}; . {HERE}/modules.sh; {command} "$@"'
    return subprocess.run(["sh", "-c", script, "sh", *arguments]).returncode == 0


def has_module(name):
    return _sh("has_module", name)


def load(name, **parameters):
    return result(_sh("load", name, *(f"{key}={value}" for key, value in parameters.items())),
                  f"module {name} can be loaded")


def unload(name):
    return result(_sh("unload", name), f"module {name} can be unloaded")


class Device:
    """One that does what is written to it."""

    def __init__(self, name):
        self.file = os.open(f"/dev/{name}", os.O_RDWR)

    def do(self, *lines):
        """Does them all in this process. Of each: its name and the nanoseconds before and after, in a dictionary with
        what the action said of itself under "said"."""
        text = "".join(f"{line}\n" for line in lines).encode()
        while text:
            text = text[os.write(self.file, text):]
        said = []
        done = []
        for line in self.read().splitlines():
            words = line.split()
            if len(words) == 3 and words[1].isdigit():
                done.append({"name": words[0], "before": int(words[1]), "after": int(words[2]), "said": said})
                said = []
            else:
                said.append({"what": words[0], **dict(word.partition("=")[::2] for word in words[1:])})
        return done

    def read(self):
        parts = []
        while parts[-1:] != [b""]:
            parts.append(os.read(self.file, 1 << 20))
        return b"".join(parts).decode()

    def close(self):
        os.close(self.file)


def failing(action):
    """The error that it ends with."""
    try:
        action()
    except OSError as error:
        return error.errno
    return 0


def numbers(said):
    """With those values as numbers that are."""
    return {key: int(value) if value.isdigit() else value for key, value in said.items()}


class Trace:
    """What the kernel itself records of a group's events, in a buffer of its own."""

    def __init__(self, *groups):
        self.folder = f"{TRACEFS}/instances/xpuprof_test"
        os.makedirs(self.folder, exist_ok=True)
        self.set("trace_clock", "mono")
        self.set("buffer_size_kb", "8192")
        for group in groups:
            self.set(f"events/{group}/enable", "1")

    def set(self, name, value):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(value)

    def events(self):
        """Those so far: name, pid, ns (the kernel prints microseconds) and text."""
        found = []
        with open(f"{self.folder}/trace") as file:
            for line in file:
                event = re.match(r"\s*(.+)-(\d+)\s+(?:\(\s*\S+\)\s+)?\[\d+\]\s+\S+\s+(\d+)\.(\d{6}): (\w+): (.*)", line)
                if event:
                    comm, pid, seconds, us, name, text = event.groups()
                    found.append({"comm": comm, "pid": int(pid), "ns": int(seconds) * 10**9 + int(us) * 1000,
                                  "name": name, "text": text})
        return found

    def close(self):
        self.set("events/enable", "0")
        os.rmdir(self.folder)


class Monitor:
    """`xpuprof monitor`, which watches from here to done()."""

    def __init__(self, name, *options):
        # It says where its numbers are once it watches.
        self.name = name
        self.process = subprocess.Popen([f"{BUILD}/xpuprof", "monitor", name, "--json", "--metrics", "127.0.0.1:0",
                                         *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = []
        while not self.said or "http://" not in self.said[-1]:
            self.said.append(self.process.stderr.readline())
            if not self.said[-1]:
                result(False, f"monitor {name} begins", *self.said)
                done_testing()

    def done(self):
        """What it printed: the lines of events, and the statistics."""
        self.process.send_signal(signal.SIGINT)
        output, errors = self.process.communicate()
        printed = [json.loads(line) for line in output.splitlines()]
        same((self.process.returncode, errors), (0, ""), f"monitor {self.name} ends well")
        return Watched(printed[:-1], printed[-1]["statistics"])


class Watched:
    def __init__(self, lines, statistics):
        self.lines = lines
        self.statistics = statistics

    def of(self, *events, **fields):
        """The lines of these events that have these fields."""
        return [line for line in self.lines
                if line["event"] in events and all(line.get(key) == value for key, value in fields.items())]

    def series(self, name):
        return self.statistics["series"][name]

    def rows(self, name, *what, by="rows"):
        """{labels: what it has} of a series, or of it by process."""
        found = {}
        for row in self.series(name)[by]:
            keys = list(row)
            labels = keys[:keys.index("pid") + 1 if "pid" in keys else keys.index("count")]
            found[tuple(row[label] for label in labels)] = row[what[0]] if len(what) == 1 else tuple(row[key] for key in what)
        return found

    def check_nothing_lost(self):
        lost = [event for event in self.statistics["events"] if event["watched"] and any(
            event[key] for key in event if key.startswith("lost_") or key in ("unread", "missed"))]
        same(lost, [], "nothing was lost")


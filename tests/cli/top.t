#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof top`: one screen as text, live on a terminal, and where the threads of a process are."""
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from tap import PROGRAM, result

TRAIN = os.path.join(tap.BUILD, "demo", "train")
SIMULATED = {**os.environ, "LD_LIBRARY_PATH": os.path.join(tap.BUILD, "sim"), "XPUPROF_SIM_MACHINE": f"test {os.getpid()}"}
SEVERAL = "import time\nend = time.time() + 60\nwhile time.time() < end: pass\n"
THREADS = """
import threading, time
def lock_here():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
def spin_here():
    while True: pass
for function in lock_here, spin_here:
    threading.Thread(target=function, daemon=True).start()
print("runs", flush=True)
def sleep_here():
    time.sleep(1000)
sleep_here()
"""
BEGIN, END = "\033[?1049h", "\033[?1049l"


def top(*arguments, env=SIMULATED):
    return subprocess.run([PROGRAM, "top", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, env=env, timeout=120)


@contextlib.contextmanager
def program(*command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=SIMULATED)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def table(text, heading):
    """The rows below the line that ends with a heading."""
    lines = text.splitlines()
    at = [n for n, line in enumerate(lines) if line.endswith(heading)]
    if not at:
        return []
    rows = lines[at[0] + 1:]
    return rows[:rows.index("")] if "" in rows else rows


def percent(row, column):
    cell = row[8 * column:8 * column + 8].strip()
    return float(cell.rstrip(" %")) if cell else 0


def check_once():
    done = top("--once", "-w", "4", "-n", "1000", "--", TRAIN, "--seconds", "60")
    text = done.stdout
    result(done.returncode == 0 and not done.stderr, "one screen of a program is printed, and nothing else", done.stderr)
    result(text.startswith(f"xpuprof top: 4.00 s of {TRAIN}, CPU "), "its first line says what it is about", text)
    result("\033" not in text, "there are no colours in it")
    gpu = re.search(r"^GPU 0 Simulated GPU 0: busy ([0-9.]+) %  \[[#.]{20}\]  idle: (.*)$", text, re.MULTILINE)
    result(gpu and 20 < float(gpu[1]) < 100, "the GPU's line says how busy it was", text)
    causes = [float(share) for share in re.findall(r"([0-9.]+) % ", gpu[2])] if gpu else []
    result(gpu and "synchronization" in gpu[2] and abs(float(gpu[1]) + sum(causes) - 100) < 1,
           "and why it was idle: all of that makes 100 %", text)
    processes = table(text, "  process")
    result(len(processes) == 1 and processes[0].endswith(TRAIN + " --seconds 60"), "there is one process", text)
    work = table(text, "GPU work")
    result(work and "matmul_backward_input" in "".join(work[:2]), "kernels are there", text)
    result(any(row.endswith("[copy HtoD]") for row in work), "and copies")
    shares = [percent(row, 0) for row in work]
    result(shares == sorted(shares, reverse=True), "the longest first", text)
    result(abs(sum(shares) - percent(processes[0], 1)) < 1, "together they are the process' GPU time", text)
    stacks = table(text, "innermost function first")
    result(any(re.search(r": matmul_backward_input < cuLaunchKernel < launch < \w+ < .*train_step < train < main", row) for row in stacks),
           "stacks lead from the kernel to its launch and to main", text)
    result(abs(sum(percent(row, 1) for row in stacks) - sum(shares)) < 1.5, "their GPU time is that of all work", text)
    result(any(re.search(r"^ +[0-9.]+ % .*decode_samples < prepare_batch", row) for row in stacks), "CPU stacks are there", text)
    result(subprocess.run(["pgrep", "-f", f"^{TRAIN} --seconds 60"]).returncode, "the program has ended with it")


def check_sorted():
    text = top("--once", "-w", "1", "-s", "count", "--", TRAIN, "--seconds", "60").stdout
    counts = [int(row[8:18].replace(",", "")) for row in table(text, "GPU work")]
    result(len(counts) > 3 and counts == sorted(counts, reverse=True), "sorted by count, so are kernels", text)
    text = top("--once", "-w", "1", "-s", "cpu", "-n", "3", "--", TRAIN, "--seconds", "60").stdout
    rows = table(text, "innermost function first")
    result(len(rows) == 3 and percent(rows[0], 0) and not percent(rows[0], 1), "sorted by CPU, its stacks come first; three rows", text)


def check_wrong():
    done = top("--", "/nonexistent/program")
    result(done.returncode == 2 and "--once" in done.stderr, "without a terminal it asks for --once", done.stderr)
    done = top("--once", "--", "/nonexistent/program")
    result(done.returncode == 127 and "nonexistent" in done.stderr, "a command that is not there is status 127", done.stderr)
    done = top("-p", str(2 ** 22 + 1))
    result(done.returncode == 1 and done.stderr, "a process that is not there is said", done.stderr)
    done = top("--once", "-s", "size")
    result(done.returncode == 2 and "time, cpu, gpu or count" in done.stderr, "a sort key that is not there, too", done.stderr)


def check_short():
    done = top("--once", "-w", "20", "--", sys.executable, "-c", "for i in range(10 ** 7): pass")
    result(done.returncode == 0 and "python" in done.stdout, "a program that ends before is shown from its begin to its end",
           done.stdout, done.stderr)
    done = top("--once", "-w", "2", "--", sys.executable, "-c", "import sys; print('from the ' + 'program'); sys.exit(3)")
    result("from the program" not in done.stdout, "what a program prints is not in between", done.stdout)


def check_names():
    hostile = os.path.join(os.getcwd(), "a\033[31mb")
    os.symlink(sys.executable, hostile)
    done = top("--once", "-w", "1", "--cpu-only", "--", hostile, "-c", SEVERAL)
    result("a\\x1b[31mb" in done.stdout and "\033" not in done.stdout, "control characters of names do nothing", done.stdout)


def check_unseen():
    environment = {**SIMULATED, "XPUPROF_SIM_NO_CUPTI": "1"}
    command = ["env", "-u", "CUDA_INJECTION64_PATH", "-u", "LD_PRELOAD", TRAIN, "--seconds", "60"]
    done = top("--once", "-w", "1.5", "--", *command, env=environment)
    pid = re.search(r"the GPU work of process ([0-9]+) is not recorded: (.*)", done.stdout)
    result(pid and pid[2], "a program whose GPU work is not seen is named, with the reason", done.stdout, done.stderr)


def check_system():
    with program(sys.executable, "-c", SEVERAL) as busy:
        text = top("--once", "-w", "3", "-n", "1000", "--cpu-only").stdout
        rows = [row for row in table(text, "  process") if f"  {busy.pid} " in row]
        result("of the whole system" in text and len(rows) == 1 and percent(rows[0], 0) > 1,
               "the whole system's processes are there", text)
        text = top("--once", "-w", "1", "-n", "100", "-p", str(busy.pid)).stdout
        rows = table(text, "  process")
        result(len(rows) == 1 and f"  {busy.pid} " in rows[0], "of one process, it is the only one", text)
    with program(TRAIN, "--seconds", "60") as train:
        time.sleep(1)
        text = top("--once", "-w", "1", "-p", str(train.pid)).stdout
        result(re.search(r"GPU 0 Simulated GPU 0: busy [1-9]", text) and "matmul" in text, "a running program is joined", text)
        result(train.poll() is None, "and goes on")


def threads_of(text):
    parts = [part.splitlines() for part in text.split("\n\n")]
    return {part[0]: [line.strip() for line in part[1:]] for part in parts if part}


def check_threads():
    with program(sys.executable, "-c", THREADS) as several:
        several.stdout.readline()
        time.sleep(0.5)
        done = top("-p", str(several.pid))
        threads = threads_of(done.stdout)
        result(done.returncode == 0 and len(threads) == 3, "all threads of a process are printed once", done.stdout, done.stderr)
        tids = [int(head.split()[1]) for head in threads]
        result(tids and tids[0] == several.pid and tids == sorted(tids), "the first one first", done.stdout)
        for name, state, reason in ("sleep_here", "waiting", "[waiting: sleep]"), ("lock_here", "waiting", "[waiting: lock]"):
            found = [(head, stack) for head, stack in threads.items() if f"{name} (<string>)" in stack]
            result(len(found) == 1 and f": {state}, " in found[0][0] and found[0][1][0] == reason, f"{name}: {reason}", done.stdout)
        found = [head for head, stack in threads.items() if "spin_here (<string>)" in stack]
        # On a busy machine it may wait for a CPU for most of the time.
        result((len(found) == 1 and ": running, " in found[0]) or "[waiting: run queue]" in done.stdout, "spin_here: running", done.stdout)
    with program(TRAIN, "--seconds", "60") as train:
        time.sleep(1)
        done = top("-p", str(train.pid))
        result("cuStreamSynchronize" in done.stdout or "cuLaunchKernel" in done.stdout, "GPU calls are in the stacks", done.stdout)
        with open(f"/proc/{train.pid}/maps") as maps:
            result("xpuprof" not in maps.read(), "and nothing was put into the program")


class Screen:
    """A terminal that `xpuprof top` draws on: the text of its last whole screen."""

    def __init__(self, *arguments, rows=20, columns=100, term="xterm"):
        self.text, self.rows, self.columns = "", rows, columns
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execve(PROGRAM, [PROGRAM, "top", *arguments], {**SIMULATED, "TERM": term})
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.fd)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    part = os.read(self.fd, 65536)
                except OSError:
                    return
                if not part:
                    return
                self.text += part.decode()

    def screens(self):
        return [re.sub(r"\033\[[0-9;]*m|\033\[K", "", part.split("\033[J")[0]).split("\r\n")
                for part in self.text.split("\033[H")[1:] if "\033[J" in part]

    def await_screen(self, wanted, seconds=30):
        """A screen drawn from now on for which it holds."""
        seen = len(self.screens())
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.read(0.1)
            for screen in self.screens()[seen:]:
                if wanted(screen):
                    return screen
        return None

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def end(self):
        """The wait status; the terminal's settings are compared before its last descriptor is closed."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            self.read(0.1)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read(0.2)
                self.status = status
                return status
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None

    def is_clean(self):
        return self.text.rstrip("\r\n").rfind(END) > self.text.rfind(BEGIN) >= 0 and self.text.rfind("\033[?25h") > self.text.rfind("\033[?25l")


def is_drawn(screen):
    return any("GPU 0 Simulated" in line for line in screen) and any("matmul" in line for line in screen)


def check_keys():
    s = Screen("-d", "0.3", "-w", "1", "--", TRAIN, "--seconds", "58")
    screen = s.await_screen(is_drawn)
    result(screen, "a live screen is drawn", s.text[-3000:])
    result(screen and len(screen) <= s.rows and all(len(line) <= s.columns for line in screen), "it fits the terminal", screen)
    result(screen and all(any(line.endswith(end) for line in screen) for end in ("  process", "GPU work", "innermost function first")),
           "all three tables have room", screen)
    result("\033[7m" in s.text and "\033[32m" in s.text, "it has colours")
    s.press("s")
    result(s.await_screen(lambda screen: "s: by cpu" in screen[1]), "s: the next sort key", s.text[-500:])
    s.press(" ")
    paused = s.await_screen(lambda screen: "space: go on" in screen[1])
    later = s.await_screen(lambda screen: True, 5)
    result(paused and later == paused, "space: nothing changes", paused, later)
    s.resize(10, 60)
    small = s.await_screen(lambda screen: len(screen) <= 10 and all(len(line) <= 60 for line in screen), 5)
    result(small, "a smaller terminal gets a smaller screen")
    s.press("pq")
    status = s.end()
    result(status == 0 and s.is_clean(), "q: it ends, and the terminal is clean", status, s.text[-300:])
    result(subprocess.run(["pgrep", "-f", f"^{TRAIN} --seconds 58"]).returncode, "so does its program")


def check_ends():
    for number in signal.SIGTERM, signal.SIGSEGV:
        s = Screen("-d", "0.3", "-w", "1", "--cpu-only", "--", sys.executable, "-c", SEVERAL)
        s.await_screen(lambda screen: "CPU" in screen[0])
        os.kill(s.pid, number)
        status = s.end()
        ended = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 128 + number or os.WIFSIGNALED(status) and os.WTERMSIG(status) == number
        result(ended and s.is_clean(), f"{signal.Signals(number).name}: the terminal is clean", status, s.text[-300:])
    s = Screen("-d", "0.3", "-w", "1", "--cpu-only", "--", sys.executable, "-c", SEVERAL)
    s.await_screen(lambda screen: "CPU" in screen[0])
    s.press("\003")
    status = s.end()
    result(os.WIFEXITED(status) and os.WEXITSTATUS(status) == 130 and s.is_clean(), "Ctrl-C: so too", status, s.text[-300:])
    left = subprocess.run(["pgrep", "-f", "end = time.time"], stdout=subprocess.PIPE, text=True).stdout
    deadline = time.monotonic() + 10
    while left and time.monotonic() < deadline:
        time.sleep(0.2)
        left = subprocess.run(["pgrep", "-f", "end = time.time"], stdout=subprocess.PIPE, text=True).stdout
    result(not left, "and no program is left", left)
    s = Screen("--once", "-w", "1", "--cpu-only", "--", sys.executable, "-c", SEVERAL)
    s.end()
    result("\033" not in s.text and "xpuprof top: 1.00 s" in s.text, "--once draws nothing on a terminal either", s.text)
    s = Screen("--", "true", term="dumb")
    result(os.WEXITSTATUS(s.end()) == 2 and "--once" in s.text, "a terminal that cannot be drawn on is refused", s.text)
    s = Screen("-d", "0.3", "--cpu-only", "--", "true")
    ended = s.await_screen(lambda screen: "the recording has ended" in screen[1])
    s.press("q")
    result(ended and s.end() == 0, "when the program has ended, its last seconds stay until q", s.text[-500:])


def check():
    check_once()
    check_sorted()
    check_wrong()
    check_short()
    check_names()
    check_unseen()
    check_system()
    check_threads()
    check_keys()
    check_ends()


tap.main(check, lambda: "" if tap.can_record() else "this needs the right to load BPF programs")

# SPDX-License-Identifier: MIT
"""Commands that may hang: each has a time by which it must have ended, and where its threads were is said if it has not.

A command and all that it starts are one session of processes (unless one leaves it), which is killed as a whole.
"""
import os
import signal
import struct
import subprocess
import time

HANG_S = 60
STACK_BYTES = 8192
FRAMES = 16


def read(path, mode="r"):
    try:
        with open(path, mode) as file:
            return file.read()
    except OSError:
        return "" if mode == "r" else b""


def processes_of(session):
    """Those that live."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if len(fields) > 3 and fields[0] not in "ZX" and int(fields[3]) == session:
            found.append(int(pid))
    return found


def code_of(pid):
    """[(start, end, place in the file, name)] of what is executable."""
    mappings = []
    for line in read(f"/proc/{pid}/maps").splitlines():
        addresses, rights, offset, _, _, *name = line.split(None, 5)
        if "x" in rights:
            start, end = (int(address, 16) for address in addresses.split("-"))
            mappings.append((start, end, int(offset, 16), os.path.basename(name[0]) if name else "[anonymous]"))
    return mappings


def stack_words(pid, address):
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return struct.unpack(f"<{STACK_BYTES // 8}Q", memory.read(STACK_BYTES).ljust(STACK_BYTES, b"\0"))
    except (OSError, OverflowError):
        return ()


def thread_lines(pid, tid, mappings):
    """Where a thread waits, and what on its stack looks like return addresses: there may be no debugger."""
    task = f"/proc/{pid}/task/{tid}"
    call = read(task + "/syscall").split()
    yield f"  thread {tid} {read(task + '/comm').strip()}: {call[0] if call else 'gone'} {read(task + '/wchan')}"
    if len(call) < 3:
        return
    stack, at = int(call[-2], 16), int(call[-1], 16)
    places = [f"{name}+0x{word - start + offset:x}" for word in (at, *stack_words(pid, stack))
              for start, end, offset, name in mappings if start <= word < end]
    yield "    " + " ".join(places[:FRAMES])


def where(session):
    """What the threads of all processes of a session do."""
    lines = []
    for pid in processes_of(session):
        lines.append(f"process {pid}: " + read(f"/proc/{pid}/cmdline").replace("\0", " ")[:120])
        mappings = code_of(pid)
        for tid in os.listdir(f"/proc/{pid}/task"):
            lines += thread_lines(pid, tid, mappings)
    return "\n".join(lines)


class Started:
    """status: as a shell says it; None when it hung. out, err: what it said. hung: where it was then."""

    def __init__(self, folder, *command):
        self.command, self.status, self.hung = command, None, ""
        self.began = time.monotonic()
        self.paths = [os.path.join(folder, name) for name in ("stdout", "stderr")]
        with open(self.paths[0], "w") as out, open(self.paths[1], "w") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            start_new_session=True)

    @property
    def out(self):
        return read(self.paths[0])

    @property
    def err(self):
        return read(self.paths[1])

    def says(self, text, within_s=HANG_S):
        """Waits until it has said that on stdout."""
        end = time.monotonic() + within_s
        while text not in self.out:
            if time.monotonic() > end or (self.process.poll() is not None and not processes_of(self.process.pid)):
                return text in self.out
            time.sleep(0.02)
        return True

    def where(self):
        return where(self.process.pid)

    def kill(self):
        if processes_of(self.process.pid):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def wait(self, within_s=HANG_S):
        """Until it has ended, or is killed."""
        try:
            status = self.process.wait(within_s)
            self.status = status if status >= 0 else 128 - status
        except subprocess.TimeoutExpired:
            self.hung = f"hung for {within_s} s\n" + self.where()
        self.seconds = time.monotonic() - self.began
        self.kill()
        return self

    def seen(self):
        """For people, when something is not as it should be."""
        return "\n".join(filter(None, [f"ran: {' '.join(self.command)}", f"status: {self.status}", self.hung,
                                       "stdout: " + self.out[-2000:], "stderr: " + self.err[-4000:]]))

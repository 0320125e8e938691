#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that has loaded the library itself, without a recorder: it sleeps, and is woken without ptrace (src/join/wake.c). One
that was joined and cannot leave sleeps and is woken as well. On the simulated CUDA.

usage: dormant.t [idle|twice|two|kills|pages|children|rights|filters|stays...]"""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap
from joining import (LIBRARY, NOBODY, ROUNDS, SIMULATED, end_well, has_library, kill_recorders, lost, record, record_joined,
                     report, run_parts, running, state_of, text_of, wait_for, whole)

JOIN = os.path.join(tap.BUILD, "tests/helpers/join_once")
JOINED = os.path.join(tap.BUILD, "tests/targets/joined.so")
KILLS = int(os.environ.get("DORMANT_KILLS", 5))

# Traces the threads of a process whose names do not begin as ours do; "stop": and stops the last of them.
TRACER = r"""
import ctypes, os, sys, time
pid, stop = int(sys.argv[1]), sys.argv[2] == "stop"
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
threads = [int(t) for t in os.listdir(f"/proc/{pid}/task")
           if not open(f"/proc/{pid}/task/{t}/comm").read().startswith("xpuprof")]
for thread in threads:
    assert not libc.ptrace(0x4206, thread, None, None)
if stop:
    assert not libc.ptrace(0x4207, max(threads), None, None)
print("traced", flush=True)
time.sleep(600)
"""

# A program on CUDA: argv[1] says what it does then.
PROGRAM = r"""
import ctypes, fcntl, mmap, os, signal, socket, struct, sys, threading, time
cuda = ctypes.CDLL("libcuda.so.1")
assert not cuda.cuInit(0)
libc = ctypes.CDLL(None)
LAYOUT = "=IIIIIiII"  # of the page: src/wire/door.h

def page(version=1, size=4096, seals=0x17, number=-1, magic=0x5558444f, pid=None, tid=None):
    fd = os.memfd_create("xpuprof-door", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    m = mmap.mmap(fd, size)
    def write(answers):
        m[:32] = struct.pack(LAYOUT, magic, version, 1, 0, answers, number, pid or os.getpid(), tid or os.getpid())
    write(0)
    fcntl.fcntl(fd, 1033, seals)
    def answer():
        n = 0
        while True:
            n += 1
            write(n)
            time.sleep(0.001)
    threading.Thread(target=answer, daemon=True).start()

def forked():
    child = os.fork()
    if child:
        print(child, flush=True)

def filtered(call, action):
    program = struct.pack("=HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, call, 6, 0, 0, action, 6, 0, 0, 0x7fff0000)
    kept = ctypes.create_string_buffer(program)
    filters = struct.pack("@HP", 4, ctypes.addressof(kept))
    assert not libc.prctl(38, 1, 0, 0, 0)
    assert not libc.syscall(317, 1, 1, ctypes.c_char_p(filters))  # of all threads

pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
time.sleep(0.2)  # until the library's thread sleeps
exec(sys.argv[1])
print("ready", flush=True)
while True:
    time.sleep(0.1)
"""


def cuda(what, prepared=True, **options):
    return running(sys.executable, "-c", PROGRAM, what, prepared=prepared, **options)


def join(pid, before=(), library=JOINED, joiner=JOIN):
    """What joining says, with a library that says hello."""
    done = subprocess.run([*before, joiner, str(pid), library, "joined_entry", "1", "0"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True)
    return done.stdout


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def sleepers(pid):
    """The ids of the library's threads that sleep."""
    return [int(t) for t in os.listdir(f"/proc/{pid}/task") if read(f"/proc/{pid}/task/{t}/comm") == "xpuprof-idle\n"]


def doors(pid):
    ours = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd") if os.path.lexists(f"/proc/{pid}/fd/{fd}")]
    return len([path for path in ours if "xpuprof" in path])


def is_asleep(pid):
    return len(sleepers(pid)) == 1 and not has_library(pid)


class Tracer:
    """Nobody else can trace the program meanwhile."""

    def __init__(self, pid, how="follow"):
        self.process = subprocess.Popen([sys.executable, "-c", TRACER, str(pid), how], stdout=subprocess.PIPE, text=True)
        self.works = self.process.stdout.readline() == "traced\n"

    def end(self):
        self.process.kill()
        self.process.wait()


def read_later(path, seconds):
    time.sleep(seconds)
    return read(path)


def check_idle():
    with running(ROUNDS, prepared=True) as program, running(ROUNDS, name="alone") as alone:
        wait_for(lambda: sleepers(program.pid))
        time.sleep(0.3)
        mine, others = state_of(program.pid), state_of(alone.pid)
        tap.result(mine[0] <= others[0] + 1 and mine[1] == others[1] + 1 and mine[2].count("/memfd:xpuprof-door") == 1 and
                   is_asleep(program.pid), "a prepared program has one thread, one descriptor and one page more", mine, others)
        account = f"/proc/{program.pid}/task/{sleepers(program.pid)[0]}/schedstat"
        wait_for(lambda: read(account) == read_later(account, 0.5))  # until it has begun
        before = read(account)
        time.sleep(1)
        tap.result(read(account) == before, "the thread does not run", before, read(account))
        blocked = re.search(r"SigBlk:\s*(\w+)", read(f"/proc/{program.pid}/task/{sleepers(program.pid)[0]}/status"))[1]
        tap.result(not lacks(blocked), "and takes no signal", blocked)
        tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])


def lacks(blocked):
    """Of the signals up to 31, those that are not blocked and could be."""
    return [n for n in range(1, 32) if n not in (signal.SIGKILL, signal.SIGSTOP) and not int(blocked, 16) >> (n - 1) & 1]


def check_twice():
    for form in ("", "_runtime"):
        with running(ROUNDS + form, "--threads", "3", "--pause", "1000", prepared=True) as program:
            wait_for(lambda: sleepers(program.pid) and is_asleep(program.pid))
            tracer = Tracer(program.pid)
            done = record_joined(program.pid, "--gpu-only")
            whole(f"rounds{form}, woken while another process traces it")
            tap.result(tracer.works and not done.returncode and "not recorded" not in done.stderr, "it is woken without ptrace",
                       done.stderr)
            meta = report()["meta"]
            tap.result(meta.get("joined") == meta.get("woken") == str(program.pid) and f"process {program.pid} (prepared), which" in
                       tap.run(tap.PROGRAM, "report", "p.xpu"), "reports say that it was prepared", meta)
            asleep = wait_for(lambda: is_asleep(program.pid))
            after_one = state_of(program.pid)
            tap.result(asleep, "then it sleeps again", after_one)
            record_joined(program.pid, "--gpu-only")
            whole(f"rounds{form}, for the second time")
            for _ in range(3):
                record_joined(program.pid, "--gpu-only", seconds=0.1)
            tap.result(wait_for(lambda: state_of(program.pid) == after_one), "the fifth leaves what the first did", after_one,
                       state_of(program.pid))
            tracer.end()
            record_joined(program.pid)
            whole(f"rounds{form}, with samples")
            tap.result(end_well(program), "the program ends as alone", text_of("log")[-200:])


def check_two():
    with running(ROUNDS, "--pause", "1000", prepared=True) as program:
        first = subprocess.Popen([tap.PROGRAM, "record", "-q", "-o", "first.xpu", "-p", str(program.pid)])
        wait_for(lambda: has_library(program.pid))
        record(program.pid, seconds="4", path="second.xpu")
        first.send_signal(signal.SIGINT)
        first.wait()
        whole("the first of two recorders", "first.xpu")
        tap.result(lost("second.xpu").get("gpu_taken") == 1 and not report("second.xpu")["gpu_ns"],
                   "the second finds the first", lost("second.xpu"))
        wait_for(lambda: is_asleep(program.pid))
        record_joined(program.pid)
        whole("the next")
        tap.result(report()["meta"].get("woken") == str(program.pid) and end_well(program),
                   "wakes it again, and the program ends as alone", report()["meta"], text_of("log")[-200:])


def check_kills():
    with running(ROUNDS, "--threads", "2", "--pause", "1000", prepared=True) as program:
        kill_recorders(program, KILLS)
        clean = wait_for(lambda: is_asleep(program.pid) and doors(program.pid) == 1)
        tap.result(clean, "it sleeps again, by and by", state_of(program.pid))
        record_joined(program.pid)
        whole("the next recording")
        tap.result(report()["meta"].get("woken") == str(program.pid), "wakes it", report()["meta"])
        tap.result(end_well(program), "and the program ends as alone", text_of("log")[-200:])


def check_pages():
    """The page may say what it likes: the program is joined in the other way."""
    lies = (("of another version", "page(version=2)"), ("of another kind", "page(magic=1)"), ("too short", "page(size=2048)"),
            ("that others may write", "page(seals=7)"), ("that may shrink", "page(seals=0x14)"), ("of another process", "page(pid=1)"),
            ("of a thread that is not there", "page(tid=1)"), ("with no socket", "page(number=-1)"),
            ("with a socket that is none", "page(number=0)"), ("with a socket of its own", "page(number=pair[0].fileno())"),
            ("with a number that is none", "page(number=2000000000)"))
    for what, makes in lies:
        with cuda(makes, prepared=False) as program:
            said = join(program.pid)
            tap.result(said.startswith("joined ") and "left" in said and program.poll() is None,
                       f"a program with a page {what} is joined, not woken", said)
    with cuda("pass") as program:
        said, slept = join(program.pid), wait_for(lambda: sleepers(program.pid))
        tap.result(said.startswith("woken ") and slept and f"hello {program.pid} {slept[0]}\n" in said,
                   "any library can be brought, and runs in the thread that slept", said)
    with cuda("os.closerange(100, 400)") as program:
        said = join(program.pid)
        tap.result(said.startswith("joined "), "who has closed the descriptor is joined", said)


def forked_child():
    """The child's number, which its parent says: not always before the child says that it is ready."""
    return int(wait_for(lambda: next(filter(str.isdigit, text_of("log").split()), "")))


def check_children():
    with cuda("forked()") as program:
        child = forked_child()
        of_child, of_parent = join(child), join(program.pid)
        tap.result(of_child.startswith("joined ") and f"hello {child} " in of_child, "a child that was forked is joined itself",
                   of_child)
        tap.result(of_parent.startswith("woken ") and f"hello {program.pid} " in of_parent, "its parent is woken", of_parent)
        os.kill(child, signal.SIGKILL)
    with cuda("forked() or (os.getpid() != int(open('pid').read()) and cuda.cuInit(0))",
              preexec_fn=lambda: print(os.getpid(), file=open("pid", "w", encoding="utf-8"))) as program:
        child = forked_child()
        said = join(child)
        tap.result(said.startswith("joined ") and f"hello {child} " in said, "also one that uses CUDA", said)
        os.kill(child, signal.SIGKILL)


def check_rights():
    for path in (JOIN, JOINED):
        shutil.copy(path, ".")
    os.chmod(".", 0o755)
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
    other = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", "--inh-caps=-all"]
    ours = {"joiner": "./join_once", "library": "joined.so"}
    with cuda("pass") as program:
        before = state_of(program.pid)
        said = join(program.pid, user, **ours)
        tap.result("refused: we may not trace it" in said and state_of(program.pid) == before, "root's program is root's", said)
    environment = [f"{key}={value}" for key, value in {**SIMULATED, "CUDA_INJECTION64_PATH": LIBRARY}.items()]
    with running(*user, "env", *environment, ROUNDS) as program:
        wait_for(lambda: sleepers(program.pid))
        said = join(program.pid, other, **ours)
        tap.result("refused: we may not trace it" in said, "a user's program is not another user's", said)
        said = join(program.pid, user, **ours)
        tap.result(said.startswith("woken "), "but his own", said)
        said = join(program.pid)
        tap.result(said.startswith("woken "), "and root's", said)


def check_filters():
    kill, allow = 0x80000000, 0x7fff0000
    for name, call in (("socketpair", 53), ("setsockopt", 54), ("openat", 257)):
        with cuda(f"filtered({call}, {kill})") as program:
            said = join(program.pid)
            tap.result(program.poll() is None and (f"seccomp filter does not let '{name}' pass" in said or name == "setsockopt"),
                       f"a program whose filters have forbidden {name} since lives", said)
    with cuda(f"filtered(53, {allow})") as program:
        said = join(program.pid)
        tap.result(said.startswith("woken "), "one whose filters allow all is woken", said)


def check_stays():
    """A thread that stands still may be in the library: it cannot leave."""
    with running(ROUNDS, "--threads", "3", "--pause", "1000") as program:
        recorder = subprocess.Popen([tap.PROGRAM, "record", "--gpu-only", "-o", "p.xpu", "-p", str(program.pid)], text=True,
                                    stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        wait_for(lambda: has_library(program.pid))
        time.sleep(0.5)
        tracer = Tracer(program.pid, "stop")
        recorder.send_signal(signal.SIGINT)
        said = recorder.communicate()[1]
        tap.result(tracer.works and f"the library cannot leave process {program.pid} yet: it sleeps there" in said,
                   "where a thread stands still the library cannot leave, and the recorder says so", said)
        tap.result(is_asleep(program.pid) and doors(program.pid) == 1, "it sleeps", state_of(program.pid))
        # for a time of its own: the library that cannot leave is awake now and then, to try it
        done = record(program.pid, "--gpu-only", seconds="4", path="second.xpu")
        meta, gpu_ns = report("second.xpu")["meta"], report("second.xpu")["gpu_ns"]
        tap.result(meta.get("woken") == str(program.pid) and gpu_ns > 0, "the next recorder wakes it", meta, done.stderr)
        tracer.end()
        left = wait_for(lambda: not sleepers(program.pid) and state_of(program.pid)[2] == ["/memfd:xpuprof-stay"], 90)
        tap.result(left and not doors(program.pid), "when it can, it leaves", state_of(program.pid))
        record_joined(program.pid)
        whole("the recording after that")
        tap.result(end_well(program), "and the program ends as alone", text_of("log")[-200:])


def check():
    run_parts(check_idle, check_twice, check_two, check_kills, check_pages, check_children, check_rights, check_filters,
              check_stays)


def why_not():
    if os.geteuid():
        return "needs root"
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(434, os.getpid(), 0)  # pidfd_open
    if fd < 0 or libc.syscall(438, fd, 0, 0) < 0:
        return "no pidfd_getfd here"
    return "" if tap.can_record("--cpu-only") else "CPU samples cannot be had here"


tap.main(check, why_not)

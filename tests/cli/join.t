#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A library is put into programs that run already, and taken out again (src/join/): the program never notices. The programs
check themselves (tests/targets/join_target.c); what is counted of them is compared before and after."""
import ctypes
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import tap
from tap import BUILD, result

TARGET = os.path.join(BUILD, "tests", "targets", "join_target")
LIBRARY = os.path.join(BUILD, "tests", "targets", "joined.so")
JOIN = os.path.join(BUILD, "tests", "helpers", "join_once")
KILLS = int(os.environ.get("JOIN_KILLS", "16"))
ALL = "spin alloc load sleep poll epoll read condition signals".split()
# Each alone: it is the thread that is borrowed. First the one that takes a CPU for as long as it is there.
CALLS = ("spin", "sleep", "sleep_until", "poll", "ppoll", "select", "epoll", "futex", "condition", "sigtimedwait", "semtimedop", "msgrcv",
         "read", "recv_timeout", "accept", "sigsuspend", "signals")
# These would return less than they were asked for: another thread is borrowed.
PARTS = ("write", "recv_all")

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
started = []


def start(*command, **more):
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **more)
    started.append(process)
    return process


def target(*modes, **more):
    process = start(TARGET, *modes, **more)
    process.stdout.readline()
    return process


def end(process):
    """What it says of itself, if anything went wrong."""
    time.sleep(0.3)  # each of its threads has gone one round
    process.terminate()
    said = process.stdout.read()
    process.wait()
    return "" if process.returncode == 0 else f"status {process.returncode}: {said}"


def join(pid, times=1, ms=0, library=LIBRARY, entry="joined_entry", inside=(), **more):
    done = subprocess.run([*inside, JOIN, str(pid), library, entry, str(times), str(ms)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, **more)
    return done.stdout


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def maps(pid):
    """Its mappings, but for how far its heap and its first stack have grown."""
    lines = read(f"/proc/{pid}/maps").splitlines()
    return [line for line in lines if not re.search(r"\[(heap|stack)\]$", line)]


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def descriptors(pid):
    return sorted(os.listdir(f"/proc/{pid}/fd"), key=int)


def rss_kib(pid):
    return int(re.search(r"VmRSS:\s*(\d+)", read(f"/proc/{pid}/status"))[1])


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def size_of(line):
    low, high = line.split()[0].split("-")
    return int(high, 16) - int(low, 16)


REGION_BYTES = 0x200000


def ours(pid):
    """What joining maps, and unmaps."""
    return [line for line in maps(pid) if "memfd:xpuprof" in line or size_of(line) == REGION_BYTES and line.endswith(" 0 ")]


def state(pid):
    """What a program has; of memory without a name (heaps and stacks of threads, which the C library keeps) only what is ours."""
    named = [line for line in maps(pid) if not line.endswith(" 0 ")]
    return named + ours(pid), threads(pid), descriptors(pid)


# --- what the program keeps ---------------------------------------------------------------------

class Watch(threading.Thread):
    """Whether any page of a process is ever writable and executable."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seen, self.looks, self.ends = pid, set(), 0, False
        self.start()

    def run(self):
        while not self.ends:
            self.seen |= {line for line in maps(self.pid) if "wx" in line.split()[1]}
            self.looks += 1
            time.sleep(0.0005)


def check_all_kinds():
    t = target(*ALL)
    first = join(t.pid)
    wait_until(lambda: threads(t.pid) == len(ALL) and not ours(t.pid))
    before = threads(t.pid), len(descriptors(t.pid)), len(maps(t.pid)), rss_kib(t.pid)
    watch = Watch(t.pid)
    said = join(t.pid, 30, 1)
    watch.ends = True
    result(first.count("left") == 1 and said.count("left") == 30, "a program with threads of all kinds is joined, and left, 31 times",
           first, said)
    # One of its threads opens libraries all the time.
    same = wait_until(lambda: threads(t.pid) == len(ALL) and len(descriptors(t.pid)) <= before[1] + 1)
    result(same, "it has the threads and descriptors that it had", before, threads(t.pid), descriptors(t.pid))
    result(wait_until(lambda: not ours(t.pid)), "what was mapped for that is not there any more", ours(t.pid))
    # The C library makes a heap for each thread that allocates beside others, and keeps it for the next.
    result(len(maps(t.pid)) <= before[2] + 2 * 8 * os.cpu_count() + 8, "the rest is bounded", before, maps(t.pid))
    result(rss_kib(t.pid) < before[3] + 2048, "it takes no more memory", before, rss_kib(t.pid))
    result(watch.looks > 10 and not watch.seen, "no page of it was writable and executable", watch.looks, watch.seen)
    said = end(t)
    result(not said, "and nothing in it went wrong", said)


def check_calls():
    targets = [(mode, target(mode)) for mode in CALLS] + [(mode, target(mode, "sleep")) for mode in PARTS]
    time.sleep(0.2)
    for mode, t in targets:
        said = join(t.pid, 4)
        wrong = end(t)
        result(said.count("left") == 4 and not wrong, f"a thread that is in '{mode}' is borrowed, and finds what it would alone", said,
               wrong)


def nothing_left(t):
    return wait_until(lambda: state(t.pid) == t.quiet, 20), t.quiet, state(t.pid)


def quiet_target(*modes, **more):
    """One that maps and opens nothing itself. It has been joined once: the C library has loaded what threads need."""
    t = target(*modes, **more)
    wait_until(lambda: threads(t.pid) == len(modes))
    t.first = join(t.pid)
    wait_until(lambda: not ours(t.pid) and threads(t.pid) == len(modes))
    t.quiet = state(t.pid)
    return t


def check_nothing_left():
    t = quiet_target("sleep", "poll", "futex", "spin")
    said = join(t.pid, 10)
    good, *what = nothing_left(t)
    result(good and said.count("left") == 10, "a program that was left is as it was before: each mapping, thread and descriptor", said, *what)
    wrong = end(t)
    result(not wrong, "and nothing in it went wrong", wrong)


def check_stays():
    t = target("sleep", "spin")
    process = subprocess.Popen([JOIN, str(t.pid), LIBRARY, "joined_entry", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    second = join(t.pid, 2)
    with_it = [line for line in maps(t.pid) if "memfd:xpuprof" in line]
    process.communicate()
    result("hello" in line and second.count("left") == 2 and with_it, "while one library is there others can come and go", line, second)
    result(wait_until(lambda: not [line for line in maps(t.pid) if "memfd:xpuprof" in line]), "and all leave", maps(t.pid))
    wrong = end(t)
    result(not wrong, "nothing in it went wrong", wrong)


def check_two_at_once():
    t = target(*ALL)
    both = [start(JOIN, t.pid, LIBRARY, "joined_entry", 8, 1) for _ in range(2)]
    said = [p.stdout.read() for p in both]
    wrong = end(t)
    result(all(text.count("left") == 8 for text in said), "two recorders take turns", *said)
    result(not wrong, "and nothing goes wrong in the program", wrong)


def all_cpus():
    """Those that the kernel gives a process that asks for all."""
    ask = "import os; os.sched_setaffinity(0, range(os.cpu_count())); print(*os.sched_getaffinity(0))"
    return set(map(int, subprocess.run([sys.executable, "-c", ask], stdout=subprocess.PIPE, text=True).stdout.split()))


def schedule_of(pid, tid):
    return os.sched_getscheduler(tid), os.getpriority(os.PRIO_PROCESS, tid), os.sched_getaffinity(tid)


def check_one_schedule(name, cpus, policy=os.SCHED_OTHER, nice=0, first=None, modes=("sleep",)):
    """Threads that run like this, but the first, if that runs elsewhere: how the library's does, and they afterwards."""
    t = target(*modes)
    wait_until(lambda: threads(t.pid) == len(modes))
    tids = sorted(map(int, os.listdir(f"/proc/{t.pid}/task")))
    try:
        for tid in tids:
            os.sched_setscheduler(tid, policy, os.sched_param(1 if policy in (os.SCHED_FIFO, os.SCHED_RR) else 0))
            os.setpriority(os.PRIO_PROCESS, tid, nice)
            os.sched_setaffinity(tid, first if first and tid == t.pid else cpus)
    except PermissionError:
        t.kill()
        return result(True, f"{name} # SKIP no thread can be scheduled so here")
    before = [schedule_of(t.pid, tid) for tid in tids]
    for _ in range(10):  # on a busy machine one that runs when nobody else does is not to be had
        p = subprocess.Popen([JOIN, str(t.pid), LIBRARY, "joined_entry", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = p.stdout.readline()
        if "does not stop" not in said:
            break
        p.communicate()
    hello = re.search(r"hello \d+ (\d+)", said)
    got = schedule_of(t.pid, int(hello[1])) if hello else said
    wanted = os.SCHED_OTHER, nice, first or all_cpus()
    after = [schedule_of(t.pid, tid) for tid in tids]
    p.communicate()
    wrong = end(t)
    result(got == wanted, f"{name}: the library's thread is an ordinary one, and runs where it may", got, wanted)
    result(before == after and not wrong, f"{name}: its own are as they were", before, after, wrong)


def check_schedules():
    cpus = sorted(all_cpus())
    one = {cpus[0]}
    check_one_schedule("a program on one CPU", one)
    check_one_schedule("one for batches", one, os.SCHED_BATCH, 5)
    check_one_schedule("one that runs when nobody else does", one, os.SCHED_IDLE)
    check_one_schedule("one in real time", one, os.SCHED_FIFO)
    if len(cpus) > 1:
        check_one_schedule("a program of which one thread is pinned", one, os.SCHED_RR, 0, set(cpus[:2]), ("sleep", "poll"))
        check_one_schedule("one of which a thread calculates in real time", one, os.SCHED_FIFO, 0, set(cpus[:2]), ("sleep", "spin"))
    else:
        result(True, "threads that are pinned # SKIP there is one CPU")


# --- refusals -----------------------------------------------------------------------------------

def built(name, source, *command):
    """A program of that source; None: it cannot be built here."""
    with open(name + ".c", "w") as f:
        f.write(source)
    done = subprocess.run([*command, "-o", name, name + ".c"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) \
        if shutil.which(command[0]) else None
    return os.path.abspath(name) if done and not done.returncode else None


WAITS = "#include <unistd.h>\nint main(void) { for (;;) usleep(1000); }\n"


def check_refused(t, name, *words, before=None, number=None, **more):
    """One line with these words, and nothing in the program has changed. The recorder may have another number for it."""
    before = before or (maps(t.pid), threads(t.pid), descriptors(t.pid))
    said = join(number or t.pid, **more)
    after = maps(t.pid), threads(t.pid), descriptors(t.pid)
    result(said.startswith("refused: ") and said.count("\n") == 1 and any(word in said for word in words), f"{name} is refused", said)
    result(before == after and t.poll() is None, f"{name}: nothing in it has changed", *before, *after)


def check_kinds_refused():
    for name, command, words in (
            ("a static program", ("gcc", "-static"), "linked statically"),
            ("a program with musl", ("musl-gcc",), "musl"),
            ("a 32-bit program", ("gcc", "-m32"), "64-bit")):
        path = built(name.replace(" ", "_"), WAITS, *command)
        if not path:
            result(True, f"{name} # SKIP {' '.join(command)} cannot build one")
            continue
        try:
            t = start(path)
        except OSError as error:
            result(True, f"{name} # SKIP {error.strerror}")
            continue
        time.sleep(0.1)
        check_refused(t, name, words)
        t.kill()


def check_stopped():
    t = target("sleep")
    t.send_signal(signal.SIGSTOP)
    wait_until(lambda: "State:\tT" in read(f"/proc/{t.pid}/status"))
    check_refused(t, "a program that is stopped", "it is stopped")
    t.send_signal(signal.SIGCONT)
    said = join(t.pid)
    result("left" in said and not end(t), "and is joined when it goes on", said)


def check_traced():
    t = target("sleep")
    if libc.ptrace(PTRACE_SEIZE, t.pid, None, None):
        result(True, "a program that is traced # SKIP it cannot be traced here")
    else:
        check_refused(t, "a program that another one traces", f"process {os.getpid()} traces it")
        t.kill()
        t.wait()


FILTERED = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(argv[1]), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, strtoul(argv[2], NULL, 0)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {4, f};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &p))
		return 1;
	for (;;)
		usleep(1000);
}
"""
KILL, TRAP, ENOSYS, EPERM = "0x80000000", "0x30000", hex(0x50000 + 38), hex(0x50000 + 1)


def check_filters():
    path = built("filtered", FILTERED, "gcc")
    if not path:
        return result(True, "filters # SKIP no compiler")
    for call, number, action in (("memfd_create", 319, KILL), ("socketpair", 53, TRAP), ("clone", 56, KILL), ("mmap", 9, EPERM)):
        t = start(path, number, action)
        if not wait_until(lambda: "Seccomp:\t2" in read(f"/proc/{t.pid}/status"), 5):
            return result(True, "filters # SKIP there are none here")
        check_refused(t, f"a program whose filter forbids '{call}'", f"seccomp filter does not let '{call}' pass")
        t.kill()
    t = start(path, 435, ENOSYS)
    wait_until(lambda: "Seccomp:\t2" in read(f"/proc/{t.pid}/status"))
    said = join(t.pid)
    result("left" in said and t.poll() is None, "one whose filter denies 'clone3', as old containers do, is joined", said)
    t.kill()


# --- programs in namespaces ---------------------------------------------------------------------

PID_NAMESPACE = "unshare", "--pid", "--fork", "--kill-child"
NOEXEC = "/proc/sys/vm/memfd_noexec"


def innermost(pid):
    """The last of a line of processes, each the only child of the one before."""
    children = read(f"/proc/{pid}/task/{pid}/children").split()
    return innermost(int(children[0])) if children else pid


class Inside:
    """A target below other processes, which end with it."""

    def __init__(self, *command):
        self.process = start(*command, stderr=subprocess.DEVNULL)
        self.ready = self.process.stdout.readline() != ""
        self.pid = innermost(self.process.pid)
        self.numbers = read(f"/proc/{self.pid}/status").partition("NSpid:")[2].partition("\n")[0].split()
        self.poll = self.process.poll

    def end(self):
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self.process.wait()


def inside(*command):
    """None: there are no such namespaces here."""
    t = Inside(*command)
    return t if t.ready and read(f"/proc/{t.pid}/comm") == "join_target\n" else t.end()


SILENT = r"""
import ctypes, os, sys
fd = os.open("/dev/fuse", os.O_RDWR)
os.set_inheritable(fd, True)
options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
if ctypes.CDLL(None).mount(b"none", b"/proc", b"fuse", 0, options):
    sys.exit(1)
os.execv(sys.argv[1], sys.argv[1:])
"""


def check_proc():
    none, other = "it has no /proc mounted", "its /proc is that of another pid namespace"
    second = "true; " * 2 + '"$0" sleep & wait'  # the second of its namespace
    for name, command, words in (
            ("a program without /proc", ("unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$0" sleep', TARGET), none),
            ("one with something else there", ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" sleep', TARGET),
             none),
            ("one with a /proc that never answers", ("unshare", "--mount", sys.executable, "-c", SILENT, TARGET, "sleep"),
             "does not answer"),
            ("one with the /proc of its parents", (*PID_NAMESPACE, TARGET, "sleep"), other),
            ("one with a /proc where its number is another's",
             (*PID_NAMESPACE, "--mount-proc", *PID_NAMESPACE, TARGET, "sleep"), other),
            ("one with a /proc where its number is that of its parent",
             (*PID_NAMESPACE, "--mount-proc", *PID_NAMESPACE, "sh", "-c", second, TARGET), other)):
        t = inside(*command)
        if not t:
            result(True, f"{name} # SKIP no such namespaces here")
            continue
        check_refused(t, name, words)
        t.end()
    t = inside(*PID_NAMESPACE, "--mount-proc", "sh", "-c", second, TARGET)
    if not t:
        return result(True, "a program with its own /proc # SKIP no such namespaces here")
    said = join(t.pid)
    result("left" in said and t.numbers[1:] == ["2"], "a program with the /proc of its own pid namespace is joined", said, t.numbers)
    return t.end()


def check_noexec():
    """Each has a pid namespace of its own, whose value nobody else has."""
    words = "no memory that can be executed (vm.memfd_noexec=2)"
    limited = *PID_NAMESPACE, "--mount-proc", "sh", "-c", f'echo 2 >{NOEXEC} && {{ "$0" "$@" & wait; }}'
    for name, command in (("where no memory may be executed", ()), ("below such a namespace", (*PID_NAMESPACE, "--mount-proc"))):
        t = inside(*limited, *command, TARGET, "sleep") if os.path.exists(NOEXEC) else None
        if not t:
            result(True, f"a program {name} # SKIP there is no such place here")
            continue
        outer = read(f"/proc/{t.process.pid}/task/{t.process.pid}/children").split()[0]  # here the recorder is
        check_refused(t, f"a program {name}", words, number=t.numbers[1], inside=("nsenter", "-t", outer, "-p", "-m"))
        if not command:
            said = join(t.pid)
            result(words in said and said.count("\n") == 1, f"a program {name}: a recorder elsewhere says so, too", said)
            result(wait_until(lambda: not ours(t.pid) and threads(t.pid) == 1) and t.poll() is None, "and it goes on alone",
                   maps(t.pid))
        t.end()


def check_rights():
    if os.geteuid():
        return result(True, "the rights to trace # SKIP needs root")
    shutil.copy(LIBRARY, "library.so")
    for path in (".", "library.so"):
        os.chmod(path, 0o755)
    shutil.copy(JOIN, "join_once")
    t = target("sleep")
    before = maps(t.pid), threads(t.pid), descriptors(t.pid)
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "./join_once", str(t.pid), "library.so",
                           "joined_entry"], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    result("refused: we may not trace it" in done.stdout, "who may not trace a program is refused", done.stdout)
    result(before == (maps(t.pid), threads(t.pid), descriptors(t.pid)) and not end(t), "and nothing in it has changed")


def check_no_program():
    said = join(4194303)
    result("refused: cannot be found: No such process\n" == said, "a process that is not there is refused", said)
    ended = start("true")
    wait_until(lambda: "State:\tZ" in read(f"/proc/{ended.pid}/status"))
    said = join(ended.pid)
    result("refused: it has ended\n" == said, "so is one that has ended and is not reaped", said)
    kernel = [pid for pid in os.listdir("/proc") if pid.isdigit() and read(f"/proc/{pid}/stat").split(") ")[-1].split()[1:2] == ["2"]]
    said = join(kernel[0]) if kernel else "refused: it is a thread of the kernel"
    result(said.startswith("refused: ") and said.count("\n") <= 1, "so is a thread of the kernel", said)
    said = subprocess.run(["sh", "-c", 'exec "$0" $$ "$1" joined_entry 1 0', JOIN, LIBRARY], stdout=subprocess.PIPE, text=True).stdout
    result(said == "refused: it is the recorder itself\n", "so is the recorder itself", said)
    t = target("sleep", "sleep")
    wait_until(lambda: threads(t.pid) == 2)
    other = [tid for tid in map(int, os.listdir(f"/proc/{t.pid}/task")) if tid != t.pid][0]
    said = join(other)
    result("one of the threads of another" in said and not end(t), "so is a thread that is no process", said)


VFORKS = r"""
#include <spawn.h>
#include <unistd.h>
int main(void)
{
	pid_t child = vfork();
	if (!child) {
		for (int n = 0; n < 30000; n++)
			usleep(1000);
		_exit(0);
	}
	return 0;
}
"""


def check_vfork():
    path = built("vforks", VFORKS, "gcc")
    if not path:
        return result(True, "vfork # SKIP no compiler")
    parent = start(path)
    child = wait_until(lambda: read(f"/proc/{parent.pid}/task/{parent.pid}/children").split())
    if not child:
        return result(True, "vfork # SKIP the kernel lists no children")
    child = int(child[0])
    before = maps(child)
    said = join(child)
    result("uses the memory of its parent" in said and maps(child) == before, "a child of vfork, in its parent's memory, is refused", said)
    said = join(parent.pid)
    result(said.startswith("refused: ") and maps(child) == before, "so is its parent, whose only thread waits for it", said)
    os.kill(child, signal.SIGKILL)


def check_bad_library():
    t = quiet_target("sleep")
    with open("garbage.so", "wb") as f:
        f.write(b"garbage" * 1000)
    for name, library, entry, words in (("that is none", "garbage.so", "joined_entry", "its loader refuses the library"),
                                        ("without the function", LIBRARY, "no_such_entry", "undefined symbol")):
        said = join(t.pid, library=library, entry=entry)
        result(said.startswith("refused: ") and said.count("\n") == 1 and words in said, f"a library {name} is refused", said)
        if library != LIBRARY:
            good, *what = nothing_left(t)
            result(good, f"a library {name}: nothing of it is left", *what)
    said = join(t.pid)
    result("left" in said and not end(t), "and another is loaded", said)


LIMITED = r"""
#include <sys/resource.h>
#include <unistd.h>
int main(void)
{
	struct rlimit none = {3, 3};
	setrlimit(RLIMIT_NOFILE, &none);
	for (;;)
		usleep(1000);
}
"""


def check_limits():
    path = built("limited", LIMITED, "gcc")
    if not path:
        return result(True, "limits # SKIP no compiler")
    t = start(path)
    time.sleep(0.1)
    said = join(t.pid)
    result("no more descriptors" in said, "a program that can open nothing more is refused", said)
    result(wait_until(lambda: not ours(t.pid) and threads(t.pid) == 1) and t.poll() is None, "and goes on alone", maps(t.pid))
    t.kill()


# --- what happens meanwhile ---------------------------------------------------------------------

CHANGES = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *ends_soon(void *p) { usleep(300); return p; }
static void *makes_threads(void *p)
{
	for (;;) {
		pthread_t t;
		if (!pthread_create(&t, NULL, ends_soon, NULL))
			pthread_join(t, NULL);
	}
	return p;
}
static void *forks(void *p)
{
	for (;;) {
		int status = 0;
		pid_t child = fork();
		if (!child) {
			free(malloc(1000));
			_exit(7);
		}
		if (child > 0 && (waitpid(child, &status, 0) != child || status != 7 << 8)) {
			printf("a child ended with %#x\n", status);
			fflush(stdout);
			abort();
		}
	}
	return p;
}
int main(int argc, char **argv)
{
	pthread_t t;
	if (!strcmp(argv[1], "fork"))
		pthread_create(&t, NULL, forks, NULL);
	if (!strcmp(argv[1], "thread"))
		pthread_create(&t, NULL, makes_threads, NULL);
	puts("ready");
	fflush(stdout);
	usleep(1000 * atoi(argv[2]));
	if (!strcmp(argv[1], "exec"))
		execl(argv[0], argv[0], "wait", "100000", NULL);
	return 3;
}
"""


def check_forks_and_threads(path):
    for mode, name in (("fork", "forks all the time"), ("thread", "makes and ends threads all the time")):
        t = start(path, mode, 100000)
        t.stdout.readline()
        said = join(t.pid, 20)
        result(said.count("left") == 20 and t.poll() is None, f"a program that {name} is joined, and goes on", said, t.poll())
        t.kill()


def check_ends(path):
    """At a moment that a join may be in the middle of."""
    results = []
    for mode, status in (("exit", 3), ("exec", None)):
        for n in range(12):
            t = start(path, mode, 2 * n)
            t.stdout.readline()
            said = join(t.pid)
            if mode == "exec":
                alive = wait_until(lambda: "wait" in read(f"/proc/{t.pid}/cmdline")) and t.poll() is None
                again = join(t.pid) if alive else ""
                results.append((alive and "left" in again and t.poll() is None, said, again))
                t.kill()
            else:
                results.append((t.wait(60) == status, said))
    bad = [r for r in results if not r[0] or not r[1]]
    result(not bad, "one that ends, or begins another program, while it is joined does that as alone", *bad)


def check_stops():
    random.seed(1)
    t = target("sleep", "spin", "poll")
    results = []
    for _ in range(12):
        p = start(JOIN, t.pid, LIBRARY, "joined_entry", 1, 0)
        time.sleep(random.uniform(0, 0.03))
        t.send_signal(signal.SIGSTOP)
        time.sleep(random.uniform(0, 0.1))
        t.send_signal(signal.SIGCONT)
        results.append(p.stdout.read())
    result(all(r.startswith(("joined", "refused")) for r in results), "one that is stopped meanwhile, and goes on: each join has a result",
           *results)
    said = join(t.pid)
    wrong = end(t)
    result("left" in said and not wrong, "it can be joined afterwards, and nothing went wrong in it", said, wrong)


def check_stopped_long():
    """The thread that was borrowed finds its code when it goes on, also when the joiner has given up meanwhile."""
    targets = [target("sleep", "poll") for _ in range(5)] + [target("sleep", "spin", "poll")]
    joiners = []
    for n, t in enumerate(targets, 1):
        joiners.append(start(JOIN, t.pid, LIBRARY, "joined_entry", 1, 0))
        time.sleep(0.005 * n)
        t.send_signal(signal.SIGSTOP)
    time.sleep(4)
    for t in targets:
        t.send_signal(signal.SIGCONT)
    results = [p.stdout.read() for p in joiners]
    left = [wait_until(lambda t=t: "left" in join(t.pid), 20) for t in targets]  # some are busy with what was left there
    wrong = [end(t) for t in targets]
    result(all(left) and not any(wrong), "one that is stopped for longer than the joiner waits goes on unharmed", results, left, wrong)


def check_killed():
    results = []
    for n in range(12):
        t = target("sleep", "spin")
        p = start(JOIN, t.pid, LIBRARY, "joined_entry", 1, 0)
        time.sleep(0.003 * n)
        t.kill()
        results.append(p.stdout.read())
        t.wait()
    result(all(r for r in results), "one that is killed meanwhile: each join has a result", *results)


# --- a joiner that is killed --------------------------------------------------------------------

def leads_session(pid):
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False


def joiners(helper, after):
    """The joiner that this helper has begun: it is nobody's child, leads a session, unlike processes that it is about to execute
    for its sandbox, and has its program's name."""
    found = []
    for pid in filter(lambda number: number > after, map(int, filter(str.isdigit, os.listdir("/proc")))):
        if read(f"/proc/{pid}/comm") == "xpuprof-join\n" and read(f"/proc/{pid}/cmdline") == helper and leads_session(pid):
            found.append(pid)
    return found


def kill_joiner(t, delay):
    p = start(JOIN, t.pid, LIBRARY, "joined_entry", 1, 0)
    line = "\0".join([JOIN, str(t.pid), LIBRARY, "joined_entry", "1", "0"]) + "\0"
    found = []
    while not found and p.poll() is None:
        found = joiners(line, p.pid)
    time.sleep(delay)
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return p.stdout.read()


def check_kills():
    random.seed(2)
    targets = [quiet_target("sleep", "poll", "futex", "condition", "signals", *["spin"] * (n == 0)) for n in range(4)]
    said = [kill_joiner(targets[n % len(targets)], random.uniform(0, 0.03)) for n in range(KILLS)]
    killed = sum("the process that joins it has ended" in text for text in said)
    note = f"{killed} of {KILLS} joiners were killed in the middle"
    result(all(t.poll() is None for t in targets), f"{note}: the programs go on", said[-3:])
    result(killed > 0, "these are some", said)
    what = [nothing_left(t) for t in targets]
    result(all(good for good, *_ in what), "nothing stays mapped, open or running", *[rest for good, *rest in what if not good])
    after = [join(t.pid) for t in targets]
    result(all("left" in text for text in after), "others join them", after)
    wrong = [end(t) for t in targets]
    result(not any(wrong), "and nothing in them went wrong", wrong)


# --- programs that mean us harm -----------------------------------------------------------------

MAPS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY), count = atoi(argv[2]);
	for (int n = 0; n < count; n++) /* no two become one */
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, n % 2 ? MAP_SHARED : MAP_PRIVATE, fd, 0) == MAP_FAILED)
			break;
	if (argc > 3)
		rename(argv[3], argv[1]);
	puts("ready");
	fflush(stdout);
	for (;;)
		usleep(1000);
}
"""


def check_hostile():
    path = built("maps", MAPS, "gcc")
    if not path:
        return result(True, "hostile programs # SKIP no compiler")
    os.mkdir("files")
    for name, content in (("garbage", b"\x7fELF" + bytes(range(256)) * 64), ("empty", b"x"), ("short", open(TARGET, "rb").read()[:3000])):
        with open(f"files/{name}", "wb") as f:
            f.write(content)
    cases = [(f"of which '{name}' is called as the C library", f"files/{name}", 1, "libc.so.6") for name in ("garbage", "empty", "short")]
    libraries = re.findall(r" (/\S+/libc\.so\.6)\n", read("/proc/self/maps"))
    cases += [("that maps 30,000 times a C library", library, 30000, "libc.so.6") for library in libraries[:1]]
    cases += [("that maps 60,000 times a file", "files/short", 60000, "malloc\n.so"),
              ("whose C library has a line end and a colour in its name", "files/garbage", 1, "libc.so.6\n\x1b[31m")]
    for name, source, count, base in cases:
        os.makedirs("mapped", exist_ok=True)
        file = "mapped/" + base
        shutil.copy(source, file)
        t = start(path, file, count)
        t.stdout.readline()
        began = time.monotonic()
        # The process that joins has these limits, too.
        said = join(t.pid, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)))
        result(said.startswith(("refused: ", "joined ")) and said.count("\n") <= 2 and "\x1b" not in said,
               f"a program {name}: a line says what came of it", said)
        result(time.monotonic() - began < 50 and t.poll() is None, f"a program {name}: soon, and it goes on", time.monotonic() - began)
        t.kill()
        t.wait()
        os.remove(file)


def check_files_gone():
    """Its program is deleted; or another file, or a pipe, is in its place."""
    for name, change in (("deleted", lambda: None), ("replaced", lambda: shutil.copy(LIBRARY, "own")), ("a pipe", lambda: os.mkfifo("own"))):
        shutil.copy(TARGET, "own")
        t = start("./own", "sleep", "spin")
        t.stdout.readline()
        os.remove("own")
        change()
        said = join(t.pid, 2)
        wrong = end(t)
        result(said.count("left") == 2 and not wrong, f"a program whose file is {name} by now is joined", said, wrong)
        if os.path.lexists("own"):
            os.remove("own")


def why_not():
    if os.uname().machine != "x86_64":
        return "programs are joined on x86-64 only"
    t = target("sleep")
    said = join(t.pid)
    end(t)
    return "" if "left" in said else "no process can be traced here" if "we may not" in said else ""


def check():
    try:
        check_all_kinds()
        check_calls()
        check_nothing_left()
        check_schedules()
        check_stays()
        check_two_at_once()
        check_kinds_refused()
        check_stopped()
        check_traced()
        check_filters()
        check_proc()
        check_noexec()
        check_rights()
        check_no_program()
        check_vfork()
        check_bad_library()
        check_limits()
        path = built("changes", CHANGES, "gcc", "-pthread")
        if path:
            check_forks_and_threads(path)
            check_ends(path)
        check_stops()
        check_stopped_long()
        check_killed()
        check_kills()
        check_hostile()
        check_files_gone()
    finally:
        for process in started:
            process.kill()


tap.main(check, why_not)

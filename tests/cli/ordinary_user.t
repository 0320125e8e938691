#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An ordinary user records CPU samples of the program and of all that it starts, with whole stacks and right shares; what
cannot be had is said, and never 0."""
import json
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

CC = os.environ.get("CC", "cc")
ORDINARY = ["setpriv", "--reuid", "4242", "--regid", "4242", "--clear-groups", "--inh-caps=-all"]
PARANOID = "/proc/sys/kernel/perf_event_paranoid"

# Two thirds of its time in twice(), one in once(), by the CPU clock of each thread; then the same in a thread and a process.
SHARES = """
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long sink;
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
__attribute__((noinline)) static void spin(double seconds)
{
	for (double end = now() + seconds; now() < end;)
		for (int i = 0; i < 200000; i++)
			sink += i;
}
__attribute__((noinline)) static void twice(void) { spin(0.8); sink++; }
__attribute__((noinline)) static void once(void) { spin(0.4); sink++; }
static void *thread(void *name)
{
	prctl(PR_SET_NAME, name);
	twice();
	once();
	return NULL;
}
int main(void)
{
	pthread_t t;
	twice();
	once();
	pthread_create(&t, NULL, thread, "spinner");
	pthread_join(t, NULL);
	if (!fork()) {
		twice();
		once();
		_exit(0);
	}
	wait(NULL);
	return 0;
}
"""

DEEP = """
#include <stdlib.h>
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) static int spin(void)
{
	for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;)
		for (int i = 0; i < 100000; i++)
			sink += i;
	return 1;
}
__attribute__((noinline)) static int down(int n)
{
	volatile char room[1000];
	int r;
	room[n % 1000] = 1;
	r = n > 1 ? down(n - 1) : spin();
	sink += r + room[n % 1000];
	return r + 1;
}
int main(int argc, char **argv)
{
	return argc > 1 && down(atoi(argv[1])) == 0;
}
"""

# Works for itself and lets the kernel work, in a thread and in a child, too, and in 100 threads of 2 ms; prints what it used.
TIMES = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static char bytes[1 << 16];
volatile unsigned long sink;
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void spin(double seconds)
{
	for (double end = now() + seconds; now() < end;)
		for (int i = 0; i < 50000; i++)
			sink += i;
}
static void ask(double seconds)
{
	int fd = open("/dev/zero", O_RDONLY);
	for (double end = now() + seconds; now() < end;)
		for (int i = 0; i < 20; i++)
			sink += read(fd, bytes, sizeof(bytes));
}
static void *both(void *unused) { spin(0.3); ask(0.3); return NULL; }
static void *little(void *unused) { spin(0.002); return NULL; }
static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec * 1e-6; }
int main(void)
{
	struct rusage r[2];
	pthread_t t;
	both(NULL);
	pthread_create(&t, NULL, both, NULL);
	pthread_join(t, NULL);
	if (!fork()) {
		both(NULL);
		_exit(0);
	}
	wait(NULL);
	for (int i = 0; i < 100; i++) {
		pthread_create(&t, NULL, little, NULL);
		pthread_join(t, NULL);
	}
	getrusage(RUSAGE_SELF, &r[0]);
	getrusage(RUSAGE_CHILDREN, &r[1]);
	printf("%f %f %f\\n", seconds(r[0].ru_utime) + seconds(r[0].ru_stime), seconds(r[1].ru_utime) + seconds(r[1].ru_stime),
	       seconds(r[0].ru_stime) + seconds(r[1].ru_stime));
	return 0;
}
"""

# Until it is killed: the kernel's work, and threads that come and go.
RUNNING = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
volatile unsigned long sink;
static void *little(void *unused)
{
	for (int i = 0; i < 3000000; i++)
		sink += i;
	return NULL;
}
int main(void)
{
	static char bytes[65536];
	int fd = open("/dev/zero", O_RDONLY);
	pthread_t t;
	puts("ready");
	fflush(stdout);
	for (;;) {
		pthread_create(&t, NULL, little, NULL);
		for (int i = 0; i < 1000; i++)
			sink += read(fd, bytes, sizeof(bytes));
		pthread_join(t, NULL);
	}
}
"""

# Equal times in a loop, in the interpreter's own work, in calls of Python from Python, and in a second thread through C.
PYTHON = """
import threading, time
def until(seconds, step):
    end = time.thread_time() + seconds
    while time.thread_time() < end: step()
def loop():
    x = 0
    for i in range(20000): x += i * i
numbers = [i * 7919 % 100003 for i in range(100000)]
def sort(): sorted(numbers)
def calls(n=16): return n if n < 2 else calls(n - 1) + calls(n - 2)
def through(n, leaf): return list(map(lambda _: through(n - 1, leaf), [0])) if n else until(0.5, leaf)
def down(n, leaf): return down(n - 1, leaf) if n else until(0.5, leaf)
def other(): loop()
for leaf in (loop, sort, calls): down(20, leaf)
thread = threading.Thread(target=through, args=(10, other))
thread.start()
thread.join()
"""

# Its stacks change all the time: two functions in turn, generators, and functions that C calls.
MOVING = """
import time
def first(x): return x + 1
def second(x): return x * 3 & 65535
def turns():
    x = 0
    for _ in range(1000): x = second(first(x))
def numbers(n):
    for i in range(n): yield i
def odd(of):
    for i in of:
        if i & 1: yield i
def streams(): return sum(odd(numbers(2000)))
def key(x): return -x
def through(): return sorted(range(1000), key=key)
for step in (turns, streams, through):
    end = time.thread_time() + 1
    while time.thread_time() < end: step()
"""
CALLERS = {"turns": "<module>", "streams": "<module>", "through": "<module>", "first": "turns", "second": "turns",
           "odd": "streams", "numbers": "odd", "key": "through"}

# Runs a command as in a container: perf_event_open is refused.
FILTER = """
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 99;
	execvp(argv[1], argv + 1);
	return 98;
}
"""


def build(name, source, *options):
    with open(f"{name}.c", "w", encoding="utf-8") as f:
        f.write(source)
    subprocess.run([CC, "-O1", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", *options, "-o",
                    name, f"{name}.c"], check=True)


class Recording:
    def __init__(self, command, options=("--cpu-only",), before=(), user=True):
        words = [*(ORDINARY if user else ()), "env", f"HOME={os.getcwd()}", *before, "./xpuprof", "record", *options,
                 "-o", "p.xpu", "--", *command]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        tap.result(not done.returncode, f"{command[0]}: it is recorded", done.stderr)
        self.err = done.stderr
        self.out = done.stdout
        self.text = tap.run(tap.PROGRAM, "report", "p.xpu")
        self.report = json.loads(tap.run(tap.PROGRAM, "report", "--json", "p.xpu"))
        self.losses = {key: n for key, n in self.report["losses"].items() if n}
        self.stacks = self.report["stacks"]
        self.folded = [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2]))
                       for line in tap.run(tap.PROGRAM, "export", "--to", "folded", "-o", "-", "p.xpu").splitlines()]

    def share(self, name):
        """Of all time, that below this function."""
        inside = sum(n for stack, n in self.folded if any(frame.split(" ")[0] == name for frame in stack))
        return inside / max(1, sum(n for _, n in self.folded))


def check_shares():
    build("shares", SHARES)
    r = Recording(["./shares"])
    notes = [r.err, r.losses, r.share("twice"), r.share("once")]
    tap.result("CPU samples are of the program itself, not of the kernel's work for it" in r.err and "setcap" in r.err,
               "one line says what is missing, and what would change it", r.err)
    # 3.6 s of its own time are about 356 samples. Of n samples a share of 2/3 scatters by sqrt(2/9/n).
    n = r.report["samples"]
    tap.result(300 < n < 380, "there are as many samples as there was time", n, *notes)
    tap.result(abs(r.share("twice") - 2 / 3) < 4 * (2 / 9 / n) ** 0.5, "functions have their shares", *notes)
    tap.result(not r.stacks["samples_incomplete"] and not r.losses, "all stacks are whole", *notes)
    threads = {t["name"]: t["cpu_ns"] for t in r.report["threads"]}
    tap.result(abs(threads.get("spinner", 0) / 1.2e9 - 1) < 0.15, "a thread has its time, under its name", threads)
    processes = [p["cpu_ns"] for p in r.report["processes"]]
    tap.result(len(processes) == 2 and abs(min(processes) / 1.2e9 - 1) < 0.15, "and so has a child", processes)
    tap.result("; the kernel's work was not sampled" in r.text, "reports say of what samples are", r.text)


def check_times():
    build("times", TIMES)
    r = Recording(["./times"])
    own, child, system = map(float, r.out.split())
    have = sorted(p["cpu_ns"] / 1e9 for p in r.report["processes"])
    notes = [r.out, have, r.losses]
    # What the first ran before it became the program is in the one and not the other. On a virtual machine time between two
    # switches has what the host took in it, which getrusage() leaves out.
    tap.result(len(have) == 2 and -0.02 < have[0] / child - 1 < 0.06 and own - 0.1 < have[1] < own * 1.06,
               "processes have the CPU time that the kernel says, short threads included", *notes)
    kernel = sum(n for stack, n in r.folded if "[kernel, not sampled]" in stack) / 1e6
    tap.result(abs(kernel - system) < 0.2 * system, "time in the kernel has a row of its own", kernel, *notes)
    without = sum(n for stack, n in r.folded if "[no sample]" in stack) / 1e6
    tap.result(0.1 < without < 0.4, "and so has that of threads without a sample", without, *notes)


def check_attached():
    build("running", RUNNING)
    program = subprocess.Popen([*ORDINARY, "./running"], stdout=subprocess.PIPE, text=True)
    clock = (~program.pid << 3) | 2  # of a process, as clock_getcpuclockid(3) has it
    program.stdout.readline()
    time.sleep(1)
    begin = time.clock_gettime(clock)
    tap.run(*ORDINARY, "env", f"HOME={os.getcwd()}", "./xpuprof", "record", "-q", "--cpu-only", "-d", "3", "-o", "p.xpu",
            "-p", str(program.pid))
    spent = time.clock_gettime(clock) - begin
    program.kill()
    report = json.loads(tap.run(tap.PROGRAM, "report", "--json", "p.xpu"))
    have = sum(p["cpu_ns"] for p in report["processes"]) / 1e9
    folded = tap.run(tap.PROGRAM, "export", "--to", "folded", "-o", "-", "p.xpu")
    kernel = sum(int(line.rpartition(" ")[2]) for line in folded.splitlines() if "[kernel, not sampled]" in line) / 1e6
    # The recorder's own begin and end are in the one and not in the other; both clocks are read a moment late.
    tap.result(0.4 * spent < have <= spent + 0.01, "a program that runs already has the CPU time of the recording alone", have, spent)
    tap.result(kernel > 0.1 * have, "with that in the kernel", kernel, have, folded)


def check_depth():
    build("deep", DEEP)
    # 50 of these frames are about 52 KiB; what is deeper than 60 KiB is read from the process.
    for depth in (3, 50, 300):
        r = Recording(["./deep", str(depth)])
        stacks = [stack for stack, _ in r.folded if "spin" in [f.split(" ")[0] for f in stack]]
        tap.result(stacks and all(sum(f.split(" ")[0] == "down" for f in s) == depth and not s[0].startswith("[")
                                  for s in stacks), f"{depth} large frames are all there", stacks[:3], r.losses)


def pythons():
    """Interpreters that a user may run: each version in PATH, or the system's."""
    found = [shutil.which(f"python3.{minor}") for minor in range(8, 16)] + [sys.executable, "/usr/bin/python3"]
    usable = {}
    for path in filter(None, found):
        done = subprocess.run([*ORDINARY, "env", path, "-c", "import sys; print(sys.version_info[:2])"], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if not done.returncode:
            usable.setdefault(done.stdout, path)
    return list(usable.values())


def check_moving(python):
    r = Recording([python, "-c", MOVING])
    tap.result(r.stacks["samples_python"] >= 0.95 * r.stacks["samples"], f"{python}: they are there when they change all the time",
               r.losses, r.stacks)
    time, wrong = {}, 0
    for stack, n in r.folded:
        names = [f.split(" ")[0] for f in stack if "<string>" in f]
        wrong += n * any(CALLERS.get(callee, caller) != caller for caller, callee in zip(names, names[1:]))
        for name in names:
            time[name] = time.get(name, 0) + n / 1e6
    # A frame between two that are vouched for can be another by then.
    tap.result(wrong < 0.04e6 * 3, "functions have their callers", wrong, r.folded[:20])
    # Some of it is unknown: a function that is just calling another has its code nowhere on the stack.
    tap.result(all(0.75 < time.get(name, 0) < 1.2 for name in ("turns", "streams", "through")), "and their time", time)
    tap.result(min(time.get(name, 0) for name in ("first", "second", "odd", "numbers", "key")) > 0.01,
               "so have those that run for a moment", time)


def check_python():
    found = pythons()
    for python in found:
        check_moving(python)
    if not found:
        return
    r = Recording([found[0], "-c", PYTHON])
    notes = [r.err, r.losses, r.stacks]
    tap.result(r.stacks["samples_python"] >= 0.95 * r.stacks["samples"], "Python's frames are there", *notes)
    # 2 s, and its start.
    for name in ("loop", "sort", "calls", "other"):
        have = sum(n for stack, n in r.folded if name in [f.split(" ")[0] for f in stack] and (name != "loop" or "down" in
                                                                                               [f.split(" ")[0] for f in stack]))
        tap.result(0.38 < have / 1e6 < 0.62, f"{name}() has its time", have, *notes)
    whole = [stack for stack, _ in r.folded if "down" in [f.split(" ")[0] for f in stack]]
    tap.result(all(sum(f.split(" ")[0] == "down" for f in stack) == 21 and sum(f.startswith("<module>") for f in stack) == 1
                   for stack in whole), "with all callers", whole[:3])
    deep = [stack for stack, _ in r.folded if "other" in [f.split(" ")[0] for f in stack]]
    tap.result(deep and all(sum(f.split(" ")[0] == "through" for f in stack) == 11 for stack in deep),
               "also where C is between them", deep[:3])


def check_refusals():
    build("filter", FILTER)
    r = Recording(["true"], options=(), before=("./filter",))
    tap.result("CPU: not sampled: " in r.err and "a seccomp filter, as containers have it, refuses perf_event_open" in r.err,
               "where a filter refuses perf_event_open, one line says so", r.err)
    tap.result("CPU time not sampled" in r.err and "CPU time 0 ns" not in r.err, "and no time is made up", r.err)
    tap.result("CPU time      not sampled: a seccomp filter" in r.text, "nor in reports", r.text)
    tap.result("seccomp" in r.report["meta"].get("samples_refused", ""), "nor in JSON", r.report["meta"])


def check_other_rights():
    # Set-user-ID ends it, as the program has more rights from then on.
    shutil.copy("shares", "rights")
    os.chmod("rights", 0o4755)
    r = Recording(["sh", "-c", "./rights; :"])
    tap.result(r.losses.get("samples_rights") == 1, "a program with other rights is not sampled further, and counted", r.losses)

    # One that runs already does not keep its parent from being sampled.
    program = subprocess.Popen([*ORDINARY, "sh", "-c", "./rights & echo; while :; do :; done"], stdout=subprocess.PIPE, text=True)
    program.stdout.readline()
    time.sleep(0.3)
    done = subprocess.run([*ORDINARY, "env", f"HOME={os.getcwd()}", "./xpuprof", "record", "-q", "--cpu-only", "-d", "1", "-o", "q.xpu",
                           "-p", str(program.pid)], stderr=subprocess.PIPE, text=True)
    program.kill()
    report = json.loads(tap.run(tap.PROGRAM, "report", "--json", "q.xpu")) if not done.returncode else {}
    tap.result(report and report["losses"]["samples_rights"] == 1, "a child with other rights is left out, and counted", done.stderr)
    tap.result(report and report["samples"], "and its parent is sampled", report and report["samples"])


def check_capabilities():
    """The loader removes variables where a program's file has capabilities. The command has them as without us."""
    shutil.copy("xpuprof", "capable")
    if not shutil.which("setcap") or subprocess.run(["setcap", "cap_bpf,cap_perfmon+ep", "capable"]).returncode:
        return
    variables = {"LD_LIBRARY_PATH": "/nonexistent/a", "MALLOC_CHECK_": "1", "ORDINARY": "a=b", "HOME": os.getcwd(), "PATH": os.environ["PATH"]}
    words = ["env", "-i", *[f"{name}={value}" for name, value in variables.items()]]
    for command in (["env"], ["sh", "-c", "env", "LD_AUDIT=/argument"]):
        have, want = [subprocess.run([*ORDINARY, *words, *before, *command], stdout=subprocess.PIPE, text=True).stdout.splitlines()
                      for before in (["./capable", "record", "-q", "--cpu-only", "-o", "p.xpu", "--"], [])]
        have = [line for line in have if not line.startswith("XPUPROF_")]
        tap.result(sorted(have) == sorted(want) and len(want) >= len(variables), f"{' '.join(command)}: it has its environment where xpuprof has "
                   "capabilities", have, want)


def check():
    shutil.copy(tap.PROGRAM, "xpuprof")
    shutil.copy(os.path.join(tap.BUILD, "libxpuprof-inject.so"), "libxpuprof-inject.so")
    os.chmod(".", 0o777)
    with open(PARANOID, encoding="utf-8") as f:
        before = f.read()
    try:
        with open(PARANOID, "w", encoding="utf-8") as f:
            f.write("2")
        check_shares()
        check_times()
        check_attached()
        check_depth()
        check_python()
        check_refusals()
        check_other_rights()
        check_capabilities()
    finally:
        with open(PARANOID, "w", encoding="utf-8") as f:
            f.write(before)


def why_not():
    if os.geteuid() or not shutil.which("setpriv"):
        return "needs root and setpriv"
    if not shutil.which(CC):
        return "needs a C compiler"
    return "" if os.access(PARANOID, os.W_OK) else "kernel.perf_event_paranoid cannot be set here"


tap.main(check, why_not)

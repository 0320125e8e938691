# SPDX-License-Identifier: MIT
"""For tests in which a stranger attacks a recorder that runs as root (README.md: how to write one).

    attack.main(check)      # check() attacks and calls result(); skipped where it cannot be tried

check() runs as root in a child process with folders of its own in the place of /tmp and /run: what is left there
was left by us, and tests beside it are not disturbed. XPUPROF_BUILD says which recorder is attacked; the attacking
programs are always those of this tree.

    STRANGER, OTHER         users, who have nothing but what is theirs
    folder(owner)           a new folder
    program(name)           an attacking program (build/tests/attack/NAME or NAME.py), for strangers to run
    start(user, *command)   runs a command as that user until the test ends
    Recorder(*options)      a recording by root, its memory limited and its loop watched
"""
import ctypes
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OUR_BUILD = os.path.join(ROOT, "build")
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", OUR_BUILD))
XPUPROF = os.path.join(BUILD, "xpuprof")
SANITIZED = os.path.basename(BUILD) == "san" # takes several times the memory and time
if SANITIZED:
    OUR_BUILD = BUILD
PYTHON = "/usr/bin/python3" # one that strangers can run, too

MIB = 1 << 20
MEMORY_LIMIT = 1024 * MIB   # here the kernel ends the recorder
MEMORY_MORE = 256 * MIB     # what an attack may cost above a quiet recording
STOP_MAX_S = 1              # for which the loop may stand still; the goal is a tenth, on a machine that is not busy
DEADLINE_S = 60             # after which a recorder counts as hanging
EPOLL_WAIT = {"x86_64": "232 ", "aarch64": "22 "}.get(platform.machine(), "none")
RECVMSG = {"x86_64": "47 ", "aarch64": "212 "}.get(platform.machine(), "none")
TRACING = "/sys/kernel/tracing"

libc = ctypes.CDLL(None, use_errno=True)
MS_REC, MS_PRIVATE, MS_BIND, CLONE_NEWNS = 0x4000, 1 << 18, 0x1000, 0x20000

results = []
started = []


# --- results ------------------------------------------------------------------------------------

def result(ok, name, *notes):
    results.append(bool(ok))
    print(f"{'ok' if ok else 'not ok'} {len(results)} - {name}")
    for line in [line for note in notes for line in str(note).splitlines()[:60]] if not ok else ():
        print(f"# {line}")
    sys.stdout.flush()


def skip(name, reason):
    results.append(True)
    print(f"ok {len(results)} - {name} # SKIP {reason}", flush=True)


def note(text):
    """A figure, for whoever runs the test by hand."""
    print(f"# {text}", flush=True)


# --- users and files ----------------------------------------------------------------------------

class User:
    def __init__(self, uid):
        self.uid = self.gid = uid

    def command(self, *command):
        """The command, run as this user by root."""
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups", "--inh-caps=-all",
                "--pdeathsig=KILL", "--", *map(str, command)]


# By number: they need no entry anywhere. Tests that run beside each other have their own.
STRANGER = User(20000 + os.getpid() % 10000 * 2)
OTHER = User(STRANGER.uid + 1)


def folder(owner=None, mode=0o755):
    path = tempfile.mkdtemp(dir="/tmp")
    os.chmod(path, mode)
    give(path, owner)
    return path


def give(path, owner):
    if owner:
        os.chown(path, owner.uid, owner.gid, follow_symlinks=False)
    return path


def write(path, content=b"precious\n", owner=None, mode=0o644):
    with open(path, "wb") as f:
        f.write(content)
    os.chmod(path, mode)
    return give(path, owner)


def state(path):
    """What an attack could change of a file; None: there is none. Follows no link."""
    try:
        s = os.lstat(path)
    except FileNotFoundError:
        return None
    content = None
    if stat.S_ISREG(s.st_mode):
        with open(path, "rb") as f:
            content = hashlib.sha256(f.read()).hexdigest()
    elif stat.S_ISLNK(s.st_mode):
        content = os.readlink(path)
    elif stat.S_ISDIR(s.st_mode):
        content = sorted(os.listdir(path))
    return s.st_ino, oct(s.st_mode), s.st_uid, s.st_gid, s.st_nlink, s.st_size, content


class Untouched:
    """with Untouched(path, ...): nothing there is changed, removed or made meanwhile."""

    def __init__(self, *paths, name="no file of root's is touched"):
        self.paths, self.name = paths, name

    def __enter__(self):
        self.before = [state(path) for path in self.paths]
        return self

    def __exit__(self, kind, value, trace):
        now = [state(path) for path in self.paths]
        result(now == self.before, self.name,
               *[f"{p}: {b} became {n}" for p, b, n in zip(self.paths, self.before, now) if b != n])


def program(name):
    """Where strangers can run it: the tree itself may lie where they cannot look."""
    script = os.path.join(HERE, name + ".py")
    source = script if os.path.exists(script) else os.path.join(OUR_BUILD, "tests", "attack", name)
    copy = os.path.join(folder(), os.path.basename(source))
    shutil.copy(source, copy)
    os.chmod(copy, 0o755)
    return copy


def python(name):
    """The command that runs NAME.py as anybody."""
    return [PYTHON, program(name)]


# --- processes ----------------------------------------------------------------------------------

def start(user, *command, **more):
    """Popen of the command as that user (None: root). It and what it started is killed at the end of the test."""
    command = user.command(*command) if user else list(map(str, command))
    process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, **more)
    started.append(process)
    return process


def run(user, *command, **more):
    """What it prints, and its status."""
    command = user.command(*command) if user else list(map(str, command))
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="backslashreplace", timeout=DEADLINE_S, **more)
    return done.stdout, done.returncode


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end(process):
    kill(process)
    process.wait()


def end_all():
    """What attacks first: a recorder may wait in the kernel for its answer."""
    for process in reversed(started):
        kill(process)
    for process in started:
        process.wait()


def wait_until(condition, seconds=DEADLINE_S):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    return condition()


def read(path):
    try:
        with open(path, encoding="utf-8", errors="backslashreplace") as f:
            return f.read()
    except OSError:
        return ""


def parents():
    """The parent of each process."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        match = re.search(r"\nPPid:\t(\d+)", read(f"/proc/{pid}/status"))
        if match:
            found[int(pid)] = int(match[1])
    return found


def descendants(pid):
    by_parent = {}
    for child, parent in parents().items():
        by_parent.setdefault(parent, []).append(child)
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo += by_parent.get(found[-1], [])
    return found


class MemoryGroup:
    """A memory cgroup of its own, v1 or v2, where one can be made; else none (the watching thread kills)."""

    def __init__(self, limit):
        self.path = None
        for base, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            path = f"{base}/xpuprof-attack-{os.getpid()}-{len(results)}"
            try:
                os.mkdir(path)
            except OSError:
                continue
            try:
                with open(f"{path}/{file}", "r+") as f: # in a file system of another kind there is none
                    f.write(str(limit))
                self.path, self.outside = path, f"{base}/cgroup.procs"
                return
            except OSError:
                os.rmdir(path)

    def enter(self):
        """In the child, before exec."""
        with open(f"{self.path}/cgroup.procs", "w") as f:
            f.write("0")

    def leave(self, command):
        """The command, such that it runs outside."""
        return ["sh", "-c", 'echo $$ >"$0"; exec "$@"', self.outside, *command] if self.path else command

    def close(self):
        if self.path:
            wait_until(lambda: not read(f"{self.path}/cgroup.procs"), 5)
            os.rmdir(self.path)


class LoopTrace:
    """The kernel's trace of when a process's first thread waits for events; the time between is a stop of its loop."""

    def __init__(self):
        self.path = None
        path = f"{TRACING}/instances/xpuprof-attack-{os.getpid()}"
        try:
            os.mkdir(path)
            for file, text in (("trace_clock", "mono"), ("buffer_size_kb", "2048")):
                self.set(path, file, text)
        except OSError:
            return
        self.path = path

    @staticmethod
    def set(path, file, text):
        with open(f"{path}/{file}", "w") as f:
            f.write(text)

    def begin(self, pid):
        if self.path:
            # Other waits of that thread (libbpf's, for a ring) have no time.
            for event, which in (("sys_enter_epoll_wait", "&& timeout != 0"), ("sys_exit_epoll_wait", "")):
                self.set(self.path, f"events/syscalls/{event}/filter", f"common_pid == {pid} {which}")
                self.set(self.path, f"events/syscalls/{event}/enable", "1")

    def longest_s(self, until_s=None):
        """The longest stop before that time (None: before the end of the loop); None: not known here."""
        longest, left, waits = 0, None, False
        for time_s, entered in re.findall(r" (\d+\.\d+): sys_epoll_wait(\()?", read(f"{self.path}/trace")):
            time_s = float(time_s)
            if until_s and time_s > until_s:
                break
            if entered:
                longest = max(longest, time_s - left) if left else longest
                left, waits = None, True
            elif waits:
                left, waits = time_s, False
        if not left and not waits:
            return None
        return max(longest, until_s - left) if left and until_s else longest

    def close(self):
        if self.path:
            try:
                os.rmdir(self.path)
            except OSError:
                pass


def recorder_environment(more=None):
    """Root's, with a cache of unwind tables of its own: attacks fill it."""
    own = {"HOME": ROOT_HOME, "XPUPROF_CACHE_DIR": os.path.join(ROOT_HOME, "cache")}
    return {**os.environ, **own, **(more or {})}


class Recorder:
    """with Recorder("--cpu-only", "-p", pid) as r: the recording runs; stops at the end of the block, if not before.

    Without options for a process or a command it records all of the system. user: whose command it is. Afterwards:
    status, said (what it printed), peak (bytes, PSS of all its processes), stopped_in_s (from SIGTERM to its end),
    longest_stop_s (of the loop), hung."""

    def __init__(self, *options, command=(), user=None, limit=MEMORY_LIMIT, output=None, environment=None, cwd=None,
                 deadline=DEADLINE_S, wait=True):
        self.folder = cwd or folder()
        self.profile = output or os.path.join(self.folder, "p.xpu")
        self.memory, self.trace = MemoryGroup(limit), LoopTrace()
        self.limit, self.deadline = limit, deadline
        self.peak, self.hung, self.stopped_in_s, self.asked_s, self.last_asked_s = 0, False, None, None, None
        command = list(map(str, command))
        if command:
            command = self.memory.leave(user.command(*command) if user else command)
        elif "-p" not in options and "-a" not in options:
            options = ("-a", *options)
        self.output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [XPUPROF, "record", *map(str, options), "-o", self.profile, *(["--", *command] if command else [])],
            cwd=self.folder, env=recorder_environment(environment), stdin=subprocess.DEVNULL,
            stdout=self.output, stderr=self.output, start_new_session=True,
            preexec_fn=self.memory.enter if self.memory.path else None)
        started.append(self.process)
        self.pid = self.process.pid
        self.trace.begin(self.pid)
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        if wait:
            self.wait_until_it_records()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.stop()

    def wait_until_it_records(self):
        """Its loop waits for events: the command runs."""
        seen = []

        def waits():
            seen.append(read(f"/proc/{self.pid}/syscall").startswith(EPOLL_WAIT))
            return sum(seen) >= 2 or self.process.poll() is not None
        wait_until(waits, self.deadline)

    def pids(self):
        """Of the recorder: its own and those that work for it."""
        if self.memory.path:
            return [int(pid) for pid in read(f"{self.memory.path}/cgroup.procs").split()]
        return [pid for pid in descendants(self.pid) if self.is_ours(pid)]

    @staticmethod
    def is_ours(pid):
        try:
            return os.path.samefile(f"/proc/{pid}/exe", XPUPROF)
        except OSError:
            return False

    def memory_now(self):
        """Bytes, shared ones divided among those that share them."""
        rollups = [read(f"/proc/{pid}/smaps_rollup") for pid in self.pids()]
        return sum(1024 * int(kib) for text in rollups for kib in re.findall(r"^Pss: +(\d+)", text, re.M))

    def watch(self):
        deadline = time.monotonic() + self.deadline
        while self.process.poll() is None:
            self.peak = max(self.peak, self.memory_now())
            self.hung = self.hung or time.monotonic() > deadline
            if self.hung:
                end_all()
            elif self.peak > self.limit and not self.memory.path: # else the kernel sees to it, and spares the command
                end(self.process)
            time.sleep(0.02)

    def descriptors(self):
        """What is open in the recorder's processes, as /proc names it."""
        found = []
        for pid in self.pids():
            try:
                for fd in os.listdir(f"/proc/{pid}/fd"):
                    found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                pass
        return found

    def mappings(self):
        """Lines of /proc/PID/maps of the recorder's processes."""
        return [line for pid in self.pids() for line in read(f"/proc/{pid}/maps").splitlines()]

    def wait(self):
        """Until it ends by itself."""
        self.process.wait()
        self.finish()

    def ask_to_end(self):
        """SIGTERM. A second one ends what goes on behind the recording."""
        self.last_asked_s = time.monotonic()
        self.asked_s = self.asked_s or self.last_asked_s
        self.process.terminate()

    def stop(self):
        if self.process.poll() is None:
            self.ask_to_end()
        self.wait()

    def finish(self):
        if self.stopped_in_s is not None:
            return
        ended_s = time.monotonic()
        self.watcher.join()
        self.stopped_in_s = ended_s - (self.last_asked_s or ended_s)
        self.longest_stop_s = self.trace.longest_s(self.asked_s)
        self.status = self.process.returncode
        self.trace.close()
        self.memory.close()
        self.output.seek(0)
        self.said = self.output.read().decode(errors="backslashreplace")
        self.output.close()

    def report(self, *options):
        """`report --json` of its profile; {}: it has none that can be read."""
        said = subprocess.run([XPUPROF, "report", "--json", *options, self.profile], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, errors="backslashreplace", timeout=DEADLINE_S)
        return json.loads(said.stdout) if said.returncode == 0 else {}

    def losses(self):
        """Those that happened: key and number."""
        return {key: n for key, n in self.report().get("losses", {}).items() if n}


def check_lived(recorder, name, quiet=None):
    """That the recorder came to a good end, within its memory, and its loop went on. quiet: another Recorder, of
    nothing in particular."""
    r = recorder
    note(f"{name}: {r.peak / MIB:.0f} MiB" + (f" (quiet: {quiet.peak / MIB:.0f} MiB)" if quiet else "") +
         (f", loop stopped for {1000 * r.longest_stop_s:.0f} ms" if r.longest_stop_s is not None else "") +
         f", ended in {r.stopped_in_s:.2f} s")
    result(not r.hung and r.status == 0 and r.report(), f"{name}: the recording is made",
           "it hung" if r.hung else f"status {r.status}", r.said)
    if SANITIZED:
        return
    more = r.peak - (quiet.peak if quiet else 0)
    result(more <= MEMORY_MORE, f"{name}: memory is bounded", f"{r.peak / MIB:.0f} MiB")
    if r.longest_stop_s is None and not r.hung:
        skip(f"{name}: the loop goes on", "the kernel's traces of system calls are not to be had here")
    else:
        result(not r.hung and r.longest_stop_s <= STOP_MAX_S, f"{name}: the loop goes on",
               f"stopped for {r.longest_stop_s} s")


def quiet(*options):
    """A recording of a process that sleeps, to compare with."""
    asleep = start(STRANGER, "sleep", "60")
    with Recorder("-p", asleep.pid, *options) as r:
        time.sleep(0.5)
    end(asleep)
    return r


# --- where it runs ------------------------------------------------------------------------------

def mount(source, target, kind, flags, data=""):
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()):
        raise OSError(ctypes.get_errno(), f"cannot mount {target}")


def bound_back(path):
    """A descriptor of it, as its name is about to be covered."""
    return (path, os.open(path, os.O_PATH)) if re.match("/(tmp|run)/", path) else None


def own_folders(outside):
    """/tmp and /run are new and empty, but for what is built, and a folder of root's."""
    kept = [k for k in map(bound_back, dict.fromkeys((ROOT, BUILD))) if k]
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    os.mkdir(f"{outside}/tmp")
    os.chmod(f"{outside}/tmp", 0o1777)
    mount(f"{outside}/tmp", "/tmp", "none", MS_BIND)
    mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
    for path, fd in kept:
        os.makedirs(path, exist_ok=True)
        mount(f"/proc/self/fd/{fd}", path, "none", MS_BIND | MS_REC)
        os.close(fd)


def leftovers():
    """What lies in /tmp and /run and was there neither at the start nor made by the test."""
    return [os.path.join(top, name) for top in ("/tmp", "/run") for name in os.listdir(top) if "xpuprof" in name]


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    if not shutil.which("setpriv"):
        return "needs setpriv"
    if libc.unshare(CLONE_NEWNS):
        return "needs a mount namespace of its own"
    return ""


def in_child(check, outside):
    global ROOT_HOME
    reason = why_not()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return
    own_folders(outside)
    os.chdir(folder())
    ROOT_HOME = folder(mode=0o700)
    for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XPUPROF_CACHE_DIR", "SUDO_UID", "SUDO_GID"):
        os.environ.pop(name, None)
    if run(None, XPUPROF, "record", "-q", "--cpu-only", "-o", "p.xpu", "true")[1]:
        print("1..0 # SKIP CPU samples cannot be had here")
        return
    try:
        check()
    finally:
        end_all()
    print(f"1..{len(results)}")
    if not all(results):
        raise SystemExit(1)


def leave_once(number, _):
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def remove_groups(pid):
    """What a child that was interrupted left in the kernel's file systems."""
    for path in glob.glob(f"{TRACING}/instances/xpuprof-attack-{pid}") + \
            glob.glob(f"/sys/fs/cgroup/xpuprof-attack-{pid}-*") + \
            glob.glob(f"/sys/fs/cgroup/memory/xpuprof-attack-{pid}-*"):
        try:
            os.rmdir(path)
        except OSError:
            pass


def main(check):
    outside = tempfile.mkdtemp()
    os.chmod(outside, 0o755)
    signal.signal(signal.SIGTERM, leave_once) # of a time limit: what was made is removed, in both
    child = os.fork()
    if not child:
        try:
            in_child(check, outside)
        except BaseException as error: # sys.exit() would run the parent's part
            status = error.code if isinstance(error, SystemExit) else 1
            if not isinstance(error, SystemExit):
                import traceback
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(status or 0)
        sys.stdout.flush()
        os._exit(0)
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except SystemExit:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        raise
    finally:
        remove_groups(child)
        shutil.rmtree(outside)
    sys.exit(status)

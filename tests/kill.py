#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills recorders, what works for them and the programs that they record, at random moments, and looks at what is left.

usage: tests/kill.py [--kills N] [--jobs N] [--seed N] [--age SECONDS] [--modes MODE,...]

After each kill: the profile opens, in report and in flame graphs of all views; it has what the program did up to a second before (the program
says what it did and when); the program ended as it does alone; no process is left, and nothing in /tmp, /run and
/dev/shm that the next recording does not remove. --age says how old what is missing may be. On a machine that is busy all is
later than it should be.

Needs root: each job has folders and a network of its own.
"""
import argparse
import collections
import ctypes
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "attack"))
import attack

XPUPROF = attack.XPUPROF
PROGRAM = os.path.join(attack.OUR_BUILD, "tests", "programs", "kill_target")
SIMULATED = os.path.join(attack.OUR_BUILD, "sim")
LEVELZERO = PROGRAM + "_levelzero"
OPENCL = PROGRAM + "_opencl"
NONE_HERE = 77      # what the latter ends with where there is no OpenCL
AMD = PROGRAM + "_amd"
NODE = os.path.join(SIMULATED, "xe", "node.so")
ZEBIN = os.path.join(HERE, "data", "zebin", "bmg.zebin")
CLONE_NEWNET, PR_SET_CHILD_SUBREAPER = 0x40000000, 36
END_S = 30          # so long after a kill everything has to be over
NOTICE_S = 1        # so long the library takes at most to notice that nobody reads it any more
MAPPED_MAX = 2      # the ring and the unwind tables stay where a thread could still be reading them
CLAIMS = {"stalls": 1, # the GPU goes on being sampled by the program, and that stays claimed
          "eu-stalls": 1} # the simulated GPU's end of the stream
VIEWS = "merge", "gpu", "cpu", "stall", "off-cpu", "wall"
MODES = {
    "cpu-only": ["--cpu-only"],
    "gpu": [],
    "stalls": ["--stalls"],
    "counters": ["--counters"],
    "levelzero": [],
    "eu-stalls": ["--stalls"],
    "opencl": [],
    "hip": [],
    "hip-stalls": ["--stalls"],
}
PROGRAMS = {"levelzero": LEVELZERO, "eu-stalls": LEVELZERO, "opencl": OPENCL, "hip": AMD, "hip-stalls": AMD}


def program_of(mode):
    return PROGRAMS.get(mode, PROGRAM)


def environment_of(mode):
    if mode.startswith("hip"):
        return {**os.environ, "ROCPROFILER_PC_SAMPLING_BETA_ENABLED": "1"}
    if mode != "eu-stalls":
        return os.environ
    return {**os.environ, "LD_PRELOAD": NODE, "XPUPROF_SIM_XE": "/tmp/eu-stalls", "XPUPROF_SIM_XE_PATIENCE_MS": "500"}


# --- what happened ------------------------------------------------------------------------------

class Truth:
    """What the program said it did."""

    def __init__(self, path):
        text = attack.read(path)
        lines = [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]
        begun = [line for line in lines if line[0] == "begin"]
        self.pid, self.begin_ns = map(int, begun[0][1:]) if begun else (None, None)
        self.steps = [tuple(map(int, line[1:])) for line in lines if line[0] == "step" and len(line) == 4]
        self.end = next((line[1:] for line in lines if line[0] == "end"), None)


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def xpuprof(*arguments):
    return subprocess.run([XPUPROF, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="backslashreplace", timeout=60)


def victim_of(rng, recorder, truth):
    """What to kill, and its pid."""
    choice = rng.choices(("recorder", "helper", "program"), (2, 1, 1))[0]
    if choice == "recorder" or not truth.pid:
        return "recorder", recorder
    if choice == "program":
        return choice, truth.pid
    helpers = [pid for pid in attack.descendants(recorder) if pid not in (recorder, truth.pid)]
    return ("helper", rng.choice(helpers)) if helpers else ("recorder", recorder)


def reap_all(seconds):
    """The statuses of all that ended; those of processes that do not are None."""
    statuses, deadline = {}, time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return statuses
        if pid:
            statuses[pid] = os.waitstatus_to_exitcode(status)
        else:
            time.sleep(0.005)
    for pid in attack.descendants(os.getpid()):
        if pid != os.getpid():
            statuses[pid] = None
            os.kill(pid, signal.SIGKILL)
    while statuses:
        try:
            os.wait()
        except ChildProcessError:
            break
    return statuses


# --- one kill -----------------------------------------------------------------------------------

class Kill:
    def __init__(self, mode, rng, alone):
        self.mode, self.rng, self.alone = mode, rng, alone # alone: descriptors that the program has then
        self.wrong, self.age_s = [], None
        self.folder = tempfile.mkdtemp(dir="/tmp")
        self.profile = os.path.join(self.folder, "p.xpu")
        self.truth_path = os.path.join(self.folder, "truth")

    def check(self, ok, what):
        if not ok:
            self.wrong.append(what)

    def run(self):
        seconds = self.rng.uniform(0.2, 2.5)
        with open(self.truth_path, "w") as said, open(os.path.join(self.folder, "errors"), "w") as errors:
            recorder = subprocess.Popen(
                [XPUPROF, "record", "-q", "-F", "499", *MODES[self.mode], "-o", self.profile, "--",
                 program_of(self.mode), f"{seconds:.3f}", *(["cpu"] if self.mode == "cpu-only" else [])],
                stdin=subprocess.DEVNULL, stdout=said, stderr=errors, cwd=self.folder, start_new_session=True,
                env=environment_of(self.mode))
        self.recorder = recorder.pid
        if self.rng.random() < 0.9: # most while the program runs, the others also before and after
            attack.wait_until(lambda: Truth(self.truth_path).pid or not os.path.exists(f"/proc/{recorder.pid}/exe"), 20)
        time.sleep(self.rng.uniform(0, seconds + 0.5))
        self.victim, self.pid = victim_of(self.rng, recorder.pid, Truth(self.truth_path))
        self.kill_ns = now_ns()
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            self.victim = "none"
        self.statuses = reap_all(END_S)
        recorder.returncode = self.statuses.get(recorder.pid, 0)
        self.truth = Truth(self.truth_path)
        self.look()
        shutil.rmtree(self.folder)
        return self

    def look(self):
        # It may have ended by itself a moment before. The recorder ends as the program does.
        if self.victim != "helper" and self.statuses.get(self.recorder) != -signal.SIGKILL:
            self.victim = "none"
        left = [pid for pid, status in self.statuses.items() if status is None]
        self.check(not left, f"processes are left: {left}")
        self.check_program()
        if self.victim != "recorder":
            expected = -signal.SIGKILL if self.victim == "program" else 7
            self.check(self.statuses.get(self.recorder) == expected,
                       f"the recorder ended with {self.statuses.get(self.recorder)}: {attack.read(self.folder + '/errors')}")
        self.check_profile()
        names = sorted(os.listdir(self.folder))
        self.check(set(names) <= {"p.xpu", "truth", "errors"}, f"left beside the profile: {names}")

    def check_program(self):
        if not self.truth.pid or self.victim == "program":
            return
        # Whoever kills the recorder becomes the program's parent, unless that had ended by then.
        if self.victim == "recorder":
            status = self.statuses.get(self.truth.pid, 7)
            self.check(status == 7, f"the program ended with {status}")
        self.check(self.truth.end is not None, "the program did not come to its end")
        noticed = self.truth.steps and self.truth.steps[-1][1] - self.kill_ns > NOTICE_S * 1e9
        if self.truth.end and self.victim == "recorder" and noticed:
            descriptors, mapped = map(int, self.truth.end)
            self.check(descriptors <= self.alone + CLAIMS.get(self.mode, 0),
                       f"the program has {descriptors} descriptors, alone {self.alone}")
            self.check(mapped <= MAPPED_MAX, f"the program has {mapped} mappings of ours")

    def check_profile(self):
        if not self.truth.begin_ns:
            return # it was not even begun
        self.check(os.path.exists(self.profile), "there is no profile")
        report = xpuprof("report", "--json", self.profile)
        flame = xpuprof("flame", "--view", self.rng.choice(VIEWS), "-o", "/tmp/p.svg", self.profile)
        self.check(report.returncode == 0, f"report: {report.stderr}")
        self.check(flame.returncode == 0 or "nothing to draw" in flame.stderr, f"flame: {flame.stderr}")
        if report.returncode:
            return
        report = json.loads(report.stdout)
        if self.victim == "recorder":
            self.find_age(report)
        else:
            self.check(report["incomplete"] is None, f"the profile is not whole: {report['incomplete']}")
            self.check_all(report)

    def launches(self, report):
        return sum(call["count"] for call in report["calls"] if call["kind"] == "launch")

    def find_age(self, report):
        """How long before the kill what is missing had happened."""
        done = [step for step in self.truth.steps if step[1] < self.kill_ns]
        if self.mode == "cpu-only":
            last_ns = int(report["meta"].get("start_ns", 0)) + (report["elapsed_ns"] or 0)
            missing = [step[1] for step in done if step[0] > last_ns]
        else:
            missing = [step[1] for step in done[min(self.launches(report), report["works"] or 0):]]
        self.age_s = (self.kill_ns - missing[0]) / 1e9 if missing else 0
        self.check(self.age_s <= AGE_S, f"what is missing is {self.age_s:.2f} s old")

    def check_all(self, report):
        """Nothing of what the program did is missing, but for what its own end took away."""
        count = len(self.truth.steps)
        if self.mode == "cpu-only":
            cpu_ns = self.truth.steps[-1][2] if count else 0
            self.check(report["cpu_ns"] > cpu_ns / 2 - 20e6, f"{report['cpu_ns']} of {cpu_ns} ns were sampled")
        else:
            self.check(self.launches(report) >= count, f"{self.launches(report)} of {count} launches are there")
            if self.victim != "program": # its last work is in CUPTI's buffers, and ends with it
                self.check(report["works"] >= count, f"{report['works']} of {count} pieces of work are there")


# --- a job --------------------------------------------------------------------------------------

def leftovers():
    found = attack.leftovers() + ["/dev/shm/" + name for name in os.listdir("/dev/shm")]
    with open("/proc/net/unix") as sockets:
        found += [line.split()[-1] for line in sockets if "xpuprof" in line]
    # Folders with nothing in them stay, for those of recordings.
    return [path for path in found if not (os.path.isdir(path) and not os.listdir(path) and path == "/run/xpuprof")]


def enter_own_world():
    outside = tempfile.mkdtemp()
    os.chmod(outside, 0o711)
    if attack.libc.unshare(attack.CLONE_NEWNS | CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "cannot have folders of our own")
    attack.libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    attack.own_folders(outside)
    attack.mount("tmpfs", "/dev/shm", "tmpfs", 0)
    os.mkdir("/tmp/cache", 0o700)
    os.chdir("/tmp")
    os.environ.update(XPUPROF_CACHE_DIR="/tmp/cache", POCL_CACHE_DIR="/tmp/pocl",
                      LD_LIBRARY_PATH=f"{SIMULATED}:{SIMULATED}/levelzero:{SIMULATED}/amd",
                      KILL_ZEBIN=ZEBIN, XPUPROF_SIM_BOARD="/tmp/board",
                      XPUPROF_SIM_MACHINE=f"kill {os.getpid()}", HOME="/tmp")
    os.environ.pop("CUDA_INJECTION64_PATH", None)
    os.mkfifo("/tmp/eu-stalls")
    return outside


def run_alone(program, *arguments):
    said = subprocess.run([program, "0.1", *arguments], stdout=subprocess.PIPE, text=True).stdout
    return int(re.search(r"^end (\d+)", said, re.M)[1])


def work(job, a, to):
    rng = random.Random(f"{a.seed} {job}")
    alone = {"cpu-only": run_alone(PROGRAM, "cpu")}
    for mode in a.modes:
        alone.setdefault(mode, run_alone(program_of(mode)))
    for n in range(job, a.kills, a.jobs):
        mode = a.modes[n // a.jobs % len(a.modes)]
        kill = Kill(mode, rng, alone[mode]).run()
        to.write(json.dumps({"mode": mode, "victim": kill.victim, "age_s": kill.age_s, "wrong": kill.wrong, "n": n}) + "\n")
        to.flush()
    # What killed recorders left goes with the next one.
    xpuprof("record", "-q", "-o", "last.xpu", "--", PROGRAM, "0.1")
    to.write(json.dumps({"left": leftovers()}) + "\n")


def start_job(job, a):
    path = tempfile.NamedTemporaryFile(delete=False).name
    pid = os.fork()
    if pid:
        return pid, path
    status, outside = 1, None
    try:
        with open(path, "w") as to:
            outside = enter_own_world()
            work(job, a, to)
        status = 0
    finally:
        os._exit(status)


def default_modes():
    """OpenCL only where there is some."""
    has_opencl = subprocess.run([OPENCL, "0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != NONE_HERE
    return [mode for mode in MODES if mode != "opencl" or has_opencl]


def print_table(kills):
    print(f"{'mode':<10} {'killed':<10} {'kills':>6} {'wrong':>6} {'median age':>11} {'oldest':>8}")
    groups = collections.defaultdict(list)
    for kill in kills:
        groups[kill["mode"], kill["victim"]].append(kill)
    for (mode, victim), group in sorted(groups.items()):
        ages = [kill["age_s"] for kill in group if kill["age_s"] is not None]
        age = f"{statistics.median(ages):>9.2f} s {max(ages):>6.2f} s" if ages else f"{'':>11} {'':>8}"
        print(f"{mode:<10} {victim:<10} {len(group):>6} {sum(bool(k['wrong']) for k in group):>6} {age}")


def main():
    global AGE_S
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].replace("usage: ", ""))
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=time.time_ns())
    parser.add_argument("--age", type=float, default=1)
    parser.add_argument("--modes", type=lambda text: text.split(","), default=default_modes())
    a = parser.parse_args()
    AGE_S = a.age
    if os.geteuid():
        sys.exit("needs root")
    print(f"{a.kills} kills, seed {a.seed}, {a.jobs} at once", flush=True)
    jobs = [start_job(job, a) for job in range(a.jobs)]
    failed = sum(os.waitpid(pid, 0)[1] != 0 for pid, _ in jobs)
    rows = []
    for _, path in jobs:
        with open(path) as said:
            rows += [json.loads(line) for line in said]
        os.unlink(path)
    kills = [row for row in rows if "mode" in row]
    left = [path for row in rows for path in row.get("left", [])]
    for kill in kills:
        for what in kill["wrong"]:
            print(f"kill {kill['n']} ({kill['mode']}, {kill['victim']}): {what}")
    print_table(kills)
    print(f"left behind: {' '.join(left) or 'nothing'}")
    sys.exit(bool(failed or left or len(kills) != a.kills or any(kill["wrong"] for kill in kills)))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the recorder itself costs, on the simulated CUDA driver and without it: a table for each section.

usage: recorder.py [SECTION[=RUNS] ...]      default: all of them

CPU time (/proc/PID/stat and schedstat) and memory (Pss: a page that processes share counts in parts) are those of the
recorder and of what works for it, not of the program it records. Wall times are as the machine gives them: other load on
it makes them longer.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from results import note

HERE = os.path.dirname(os.path.abspath(__file__))
NEEDS = subprocess.run([HERE + "/needs", "xpuprof", "tests/programs/launch_rate", "bench/ring_writer"], stdout=subprocess.PIPE, text=True)
if NEEDS.returncode:
    sys.exit(NEEDS.returncode)
BUILD = NEEDS.stdout.rstrip("\n")
XPUPROF = BUILD + "/xpuprof"
LAUNCH_RATE = BUILD + "/tests/programs/launch_rate"
# What other recordings left on this machine is not to count.
CACHE = tempfile.TemporaryDirectory(prefix="xpuprof-bench-", dir=os.environ.get("TMPDIR"))
os.environ["XPUPROF_CACHE_DIR"] = CACHE.name
SIMULATED = dict(os.environ, LD_LIBRARY_PATH=BUILD + "/sim")
SIMULATED.pop("CUDA_INJECTION64_PATH", None)
CPUS = sorted(os.sched_getaffinity(0))


def read_proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}") as f:
            return f.read()
    except OSError:
        return ""


def cpu_s(pid):
    """CPU time: of the threads there are, exactly, or in hundredths of a second with those that have ended."""
    words = read_proc(pid, "stat").rpartition(")")[2].split()
    all_s = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK") if words else 0
    there_ns = 0
    try:
        for tid in os.listdir(f"/proc/{pid}/task"):
            there_ns += int((read_proc(pid, f"task/{tid}/schedstat").split() or ["0"])[0])
    except OSError:
        pass
    return max(all_s, there_ns / 1e9)


def status_field(pid, field):
    for line in read_proc(pid, "status").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    return 0


def pss_kib(pid):
    found = re.search(r"^Pss: +(\d+)", read_proc(pid, "smaps_rollup"), re.M)
    return int(found[1]) if found else 0


def is_ours(pid):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", XPUPROF)
    except OSError:
        return False


def split_family(pid):
    """The recorder and what works for it; and the program, 0: it does not run yet."""
    children = [int(child) for child in read_proc(pid, f"task/{pid}/children").split()]
    ours = [child for child in children if is_ours(child)]
    return [pid, *ours], next((child for child in children if child not in ours), 0)


class Recording:
    """Runs `xpuprof record OPTIONS -- COMMAND` and watches recorder and program."""

    def __init__(self, command, options=(), every_s=0.02, cpu=None):
        self.folder = tempfile.TemporaryDirectory(prefix="xpuprof-bench-", dir=os.environ.get("TMPDIR"))
        self.path = self.folder.name + "/p.xpu"
        self.samples = []  # (seconds, recorder's KiB (Pss), program's KiB (VmRSS), recorder's CPU seconds)
        self.peak_kib = self.cpu_s = self.switches = 0
        arguments = [XPUPROF, "record", "--quiet", "-o", self.path, *options, "--", *command]
        pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
        start = time.monotonic()
        process = subprocess.Popen(arguments, env=SIMULATED, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, preexec_fn=pin)
        self._watch(process.pid, start, every_s)
        self.wall_s = time.monotonic() - start
        message = process.stderr.read().decode()
        process.wait()
        if process.returncode:
            sys.exit(f"recorder.py: {' '.join(arguments)}: {message}")

    def _watch(self, pid, start, every_s):
        cpu = {}
        while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            ours, program = split_family(pid)
            kib = sum(map(pss_kib, ours))
            cpu.update((each, cpu_s(each)) for each in ours)
            if kib:
                self.samples.append((time.monotonic() - start, kib, status_field(program, "VmRSS") if program else 0,
                                     sum(cpu.values())))
                self.peak_kib = max(self.peak_kib, kib)
                self.switches = status_field(pid, "voluntary_ctxt_switches")
            time.sleep(every_s)
        self.cpu_s = sum({**cpu, pid: cpu_s(pid)}.values())

    def report(self):
        return json.loads(subprocess.check_output([XPUPROF, "report", "--json", self.path]))

    def bytes(self):
        return os.path.getsize(self.path)

    def steady_cpu(self):
        """Percent of one core between 20 % and 90 % of the time: without beginning and end."""
        first, last = (self.samples[int(s * (len(self.samples) - 1))] for s in (0.2, 0.9))
        return (last[3] - first[3]) / (last[0] - first[0]) * 100

    def memory_at(self, share, whom):
        """MiB of the recorder (1) or the program (2) when this share of the time had passed."""
        running = [s for s in self.samples if s[2]]
        return running[min(int(share * len(running)), len(running) - 1)][whom] / 1024 if running else 0


def spread(values, form):
    return f"{form.format(statistics.median(values))} ({form.format(min(values))} to {form.format(max(values))})"


def lost(report):
    parts = {k: v for k, v in report["losses"].items() if v}
    parts.update({"without work, " + k: v for k, v in report["launches_without_work"].items() if v})
    parts.update({"without stack, " + k: v for k, v in report["works_without_stack"].items() if v})
    return ", ".join(f"{v:,} {k}" for k, v in parts.items()) or "nothing"


def note_recorded(what, works, launches, records):
    note(f"{what}: recorded", f"{works:,} of {launches:,} launches with their work; {f'{records:,}' if records else 'no'} records lost", "all, none lost")


def run_pairs(runs, count, extra=()):
    ns, walls, peaks, losses = [], [], [], set()
    command = [BUILD + "/bench/ring_writer", str(count), str(CPUS[0]), *extra]
    for _ in range(runs):
        r = Recording(command, ["--gpu-only"], cpu=CPUS[-1])
        report = r.report()
        if report["works"] != count:
            sys.exit(f"recorder.py: {report['works']} pieces of work; lost {lost(report)}")
        ns.append(r.cpu_s / count * 1e9)
        walls.append(r.wall_s)
        peaks.append(r.peak_kib / 1024)
        losses.add(lost(report))
    print(f"  recorder's CPU time a pair, ns  {spread(ns, '{:.0f}')}")
    print(f"  million pairs a second of CPU   {1e3 / statistics.median(ns):.2f}")
    print(f"  wall time, s                    {spread(walls, '{:.2f}')}")
    print(f"  peak memory, MiB                {spread(peaks, '{:.1f}')}")
    print("  memory at 10, 50, 100 %, MiB    " + ", ".join(f"{r.memory_at(s, 1):.1f}" for s in (0.1, 0.5, 1)))
    print(f"  bytes a pair on disk            {r.bytes() / count:.1f}")
    print(f"  lost                            {'; '.join(sorted(losses))}")
    what = f"{count:,} launches with their work" + (", a stack from the probe with each" if extra else "")
    note(f"{what}: CPU", f"{statistics.median(ns):.0f} ns a launch", "" if extra else "500 ns")
    note(f"{what}: memory", f"{max(peaks):.0f} MiB", "64 MiB")
    note(f"{what}: file", f"{r.bytes() / count:.1f} bytes a launch", "48 bytes")


def pairs(runs):
    """Ring, correlator and file: 10 million launch-and-work pairs as fast as the recorder takes them."""
    run_pairs(runs, 10_000_000)


def markers(runs):
    """The same, 1 million pairs, with a stack of 27 frames taken by the probe at each launch."""
    run_pairs(runs, 1_000_000, ["marker"])


def paced(rate, seconds, options=(), extra=(), every_s=0.02):
    command = [LAUNCH_RATE, "--launches", str(rate * seconds), "--rate", str(rate), *extra]
    return Recording(command, options, every_s)


def rate(runs):
    """A program that launches 10,000 times a second for 20 s and is busy all the time; 99 Hz."""
    seconds = 20
    for name, options in (("all", []), ("--gpu-only", ["--gpu-only"])):
        share, steady, peaks = [], [], []
        for _ in range(runs):
            r = paced(10_000, seconds, options, ["--spin"], every_s=0.1)
            share.append(r.cpu_s / r.wall_s * 100)
            steady.append(r.steady_cpu())
            peaks.append(r.peak_kib / 1024)
        report = r.report()
        print(f"  {name:12} CPU, % of one core, whole run {spread(share, '{:.2f}')}, without begin and end"
              f" {spread(steady, '{:.2f}')}; peak MiB {spread(peaks, '{:.1f}')}")
        what = "10,000 launches a second" + (", 99 CPU samples a second" if name == "all" else ", no CPU samples")
        note(f"{what}: CPU", f"{statistics.median(share):.1f} % of one core", "5 %")
        note(f"{what}: memory", f"{max(peaks):.0f} MiB", "64 MiB and unwind tables")
        print(f"  {'':12} {report['samples']:,} samples, {report['works']:,} pieces of work; lost {lost(report)}")


def start(runs):
    """`xpuprof record -- true`, beside `true` alone."""
    walls, cpus, alone = [], [], []
    for _ in range(runs):
        r = Recording(["true"], every_s=0.002)
        walls.append(r.wall_s)
        cpus.append(r.cpu_s)
        begin = time.monotonic()
        subprocess.run(["true"], check=True)
        alone.append(time.monotonic() - begin)
    print(f"  wall time, s                    {spread(walls, '{:.3f}')}")
    print(f"  recorder's CPU time, s          {spread(cpus, '{:.3f}')}")
    print(f"  true alone, s                   {spread(alone, '{:.3f}')}")
    note("`xpuprof record -- true`", f"{statistics.median(walls):.2f} s ({statistics.median(cpus):.2f} s of CPU)", "0.3 s")


def idle(runs):
    """A program that sleeps for 10 s."""
    for name, command in (("sleep", ["sleep", "10"]),
                          ("CUDA, idle", [LAUNCH_RATE, "--launches", "10", "--rate", "1"])):
        cpus, wakeups = [], []
        for _ in range(runs):
            r = Recording(command, every_s=0.1)
            cpus.append(r.steady_cpu())
            wakeups.append(r.switches / r.wall_s)
        note(f"a program that waits ({name}): CPU", f"{statistics.median(cpus):.2f} % of one core")
        print(f"  {name:12} CPU, % of one core {spread(cpus, '{:.3f}')}; wakeups a second {spread(wakeups, '{:.0f}')}")


def stream(runs):
    """100,000 launches a second for 60 s: memory over time."""
    for _ in range(runs):
        r = paced(100_000, 60, every_s=0.1)
        report = r.report()
        shares = (0.05, 0.25, 0.5, 0.75, 1)
        print("  at            " + "".join(f"{s * 100:9.0f} %" for s in shares))
        print("  recorder, MiB " + "".join(f"{r.memory_at(s, 1):11.1f}" for s in shares))
        print("  program, MiB  " + "".join(f"{r.memory_at(s, 2):11.1f}" for s in shares))
        what = "100,000 launches a second for 60 s"
        note(f"{what}: memory after 3, 15 and 60 s", ", ".join(f"{r.memory_at(s, 1):.0f} MiB" for s in (0.05, 0.25, 1)), "flat")
        note(f"{what}: CPU", f"{r.cpu_s / r.wall_s * 100:.1f} % of one core")
        note_recorded(what, report["works"], 6_000_000, sum(report["losses"].values()))
        print(f"  CPU of the recorder, % of one core: {r.cpu_s / r.wall_s * 100:.1f};"
              f" {r.bytes() / report['works']:.1f} bytes a pair")
        print(f"  {report['works']:,} of 6,000,000 launches have their work; lost {lost(report)}")


def burst(runs):
    """500,000 launches a second for 10 s, from one thread and from eight."""
    for threads in 1, 8:
        cpus, peaks, works, records, losses = [], [], 0, 0, {}
        for _ in range(runs):
            command = [LAUNCH_RATE, "--launches", str(5_000_000 // threads), "--rate", str(500_000 // threads),
                       "--threads", str(threads)]
            r = Recording(command)
            report = r.report()
            works += report["works"]
            records += sum(report["losses"].values())
            cpus.append(r.cpu_s / r.wall_s * 100)
            peaks.append(r.peak_kib / 1024)
            losses[lost(report)] = losses.get(lost(report), 0) + 1
        print(f"  {threads} threads: {works:,} of {5_000_000 * runs:,} launches have their work;"
              f" CPU, % of one core {spread(cpus, '{:.0f}')}; peak MiB {spread(peaks, '{:.1f}')}")
        rate_text = f"500,000 launches a second, {threads} thread{'s' if threads > 1 else ''}"
        note(f"{rate_text}: CPU", f"{statistics.median(cpus):.0f} % of one core")
        note_recorded(f"{rate_text}, {runs} runs", works, 5_000_000 * runs, records)
        for what, times in losses.items():
            print(f"    lost in {times} runs: {what}")


SECTIONS = {"pairs": (pairs, 3), "markers": (markers, 3), "rate": (rate, 1), "start": (start, 20), "idle": (idle, 1),
            "stream": (stream, 1), "burst": (burst, 3)}


def main():
    for wanted in sys.argv[1:] or SECTIONS:
        name, _, runs = wanted.partition("=")
        if name not in SECTIONS:
            sys.exit(f"recorder.py: no section '{name}'; there are {', '.join(SECTIONS)}")
        function, usual = SECTIONS[name]
        runs = int(runs or usual)
        print(f"{name}: {function.__doc__.strip()} Median of {runs} (least to most).")
        function(runs)
        sys.stdout.flush()


if __name__ == "__main__":
    main()

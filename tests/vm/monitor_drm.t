#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof monitor drm` over known jobs of the DRM scheduler (tests/vm/modules/xpuprof_sched.c): every event is when the
module says, every count and every sum is that of the jobs, by ring, by process, and by who waits for whom."""
# modules: xpuprof_sched
import collections
import json
import os
import subprocess
import sys

import vm_test as vm

# Hands over jobs, waits for them, and prints what became of them.
OTHER = f"""
import json, sys
sys.path.insert(0, {vm.HERE!r})
import vm_test as vm
done = vm.Device("xpuprof_sched").do(*sys.argv[1:], "wait")
print(json.dumps([vm.numbers(job) for job in done[-1]["said"]]))
"""
NEW = tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 17)


def job_key(line):
    return line.get("job"), line.get("job2")


def by_ring(jobs):
    rings = collections.defaultdict(list)
    for job in jobs:
        rings[job["ring"]].append(job)
    return rings


def after(queued, lines):
    """The first that is of the same job: before Linux 6.17 its number is an address, which may be another's later."""
    return next((line for line in lines if job_key(line) == job_key(queued) and line["t_ns"] >= queued["t_ns"]), None)


def match(watched, jobs):
    """[(job, its QUEUE, RUN and COMPLETE)]; jobs of a ring are queued in their order."""
    runs, done = watched.of("RUN"), watched.of("COMPLETE")
    found = []
    for ring, mine in by_ring(jobs).items():
        for job, queued in zip(mine, watched.of("QUEUE", ring=ring)):
            found.append((job, queued, after(queued, runs), after(queued, done)))
    return found


def is_right(job, queued, run, done):
    return (job["pushed"] <= queued["t_ns"] <= job["queued"] and job["pushed"] <= run["t_ns"] <= job["begun"] and
            job["ending"] <= done["t_ns"] <= job["ended"] and
            run["ring"] == done["ring"] == job["ring"] and queued["pid"] == run["pid"] == done["pid"] and
            run["queue_delay_ns"] == run["t_ns"] - queued["t_ns"] and
            done["run_time_ns"] == done["t_ns"] - run["t_ns"] and
            done["total_time_ns"] == done["t_ns"] - queued["t_ns"] and
            (not NEW or all(line.get("client", 0) == job["client"] for line in (queued, run, done))))


def union(intervals):
    """How long any of them was, and that from the first to the last it was not longer."""
    total = end = 0
    for begin, until in sorted(intervals):
        total += max(0, until - max(begin, end))
        end = max(end, until)
    return total


def check_times(watched, matched, key, by):
    """Sums of durations are those of the lines, by what `key` says of a matched job."""
    for name, duration in (("queue_delay", lambda job: job[2]["queue_delay_ns"]),
                           ("run_time", lambda job: job[3]["run_time_ns"]),
                           ("total_time", lambda job: job[3]["total_time_ns"])):
        wanted = collections.defaultdict(list)
        for job in matched:
            wanted[key(job)].append(duration(job))
        got = {row[by]: row for row in watched.series(name)["rows" if by == "ring" else "processes"]}
        vm.same({k: (row["count"], row["sum"], row["min"], row["max"]) for k, row in got.items()},
                {k: (len(v), sum(v), min(v), max(v)) for k, v in wanted.items()}, f"{name} by {by} is that of the jobs")


def check_busy(watched, matched):
    rings = collections.defaultdict(list)
    for job, _, run, done in matched:
        rings[job["ring"]].append((run["t_ns"], done["t_ns"]))
    vm.same({row["ring"]: row["busy_ns"] + row["busy_uncertain_ns"] for row in watched.series("run_time")["rows"]},
            {ring: union(times) for ring, times in rings.items()}, "rings are busy while any of their jobs runs")


def check(watched, jobs, name):
    matched = match(watched, jobs)
    vm.same({kind: len(watched.of(kind)) for kind in ("QUEUE", "RUN", "COMPLETE")},
            dict.fromkeys(("QUEUE", "RUN", "COMPLETE"), len(jobs)), f"{name}: every job is queued, runs and is done")
    if not vm.result(len(matched) == len(jobs) and all(all(job) for job in matched), "by its ring", *matched):
        return matched
    vm.same([job for job in matched if not is_right(*job)][:2], [], "when the module says, with its durations")
    counts = {ring: len(mine) for ring, mine in by_ring(jobs).items()}
    for series in ("jobs_queued", "jobs_run"):
        vm.same({row["ring"]: row["count"] for row in watched.series(series)["rows"]}, counts, f"{series} by ring")
    check_times(watched, matched, lambda job: job[0]["ring"], "ring")
    check_times(watched, matched, lambda job: job[1]["pid"], "pid")
    check_busy(watched, matched)
    watched.check_nothing_lost()
    return matched


def waiter(line):
    return line["waiter"], line["waiter2"]


def waits(watched):
    return {(row["ring"], row["waits_for"]): row["count"] for row in watched.series("waits")["rows"]}


def jobs_of(done):
    return [vm.numbers(job) for job in done[-1]["said"] if job["what"] == "ran"]


def queue_elsewhere(*lines):
    return subprocess.Popen([sys.executable, "-c", OTHER, *lines], stdout=subprocess.PIPE, text=True)


def end_of(other):
    said = other.communicate()[0]
    return json.loads(said)


vm.load("xpuprof_sched")
device = vm.Device("xpuprof_sched")

# Two processes, three clients, two rings.
monitor = vm.Monitor("drm")
jobs = jobs_of(device.do(*[f"job name=j{n} ring={('gfx', 'compute')[n % 2]} client={n % 3} run_us={500 + 100 * n}"
                           for n in range(20)], "wait"))
other = queue_elsewhere(*[f"job name=k{n} ring=gfx client=9 run_us=1000" for n in range(5)])
elsewhere = end_of(other)
watched = monitor.done()
check(watched, jobs + elsewhere, "jobs of two processes")
vm.same({row["pid"]: row["count"] for row in watched.series("jobs_queued")["processes"]},
        {os.getpid(): 20, other.pid: 5}, "they are counted by process")
vm.same((waits(watched), watched.statistics["left"]["job"]["count"]), ({}, 0), "nobody waits, nothing is left")

# Jobs that wait for one another, and one that is left. All are looked at while the first runs, as none of the others is
# behind it on its ring.
monitor = vm.Monitor("drm")
jobs = jobs_of(device.do("job name=a ring=sdma0", "job name=b ring=gfx after=a", "job name=c ring=compute after=b",
                         "job name=e ring=gfx client=1 run_us=1000 after=c", "sleep us=1000000", "end name=a", "end name=b",
                         "end name=c", "wait"))
device.do("job name=left ring=gfx client=4", "sleep us=300000")
watched = monitor.done()
vm.same(waits(watched), {("gfx", "sdma0"): 1, ("compute", "gfx"): 1, ("gfx", "compute"): 1}, "who waits for whom")
runs = {waiter(line): line for line in watched.of("RUN") if "wait_time_ns" in line}
vm.same({waiter(line): runs[waiter(line)]["t_ns"] - line["t_ns"] for line in watched.of("WAIT_DEP")},
        {key: line["wait_time_ns"] for key, line in runs.items()}, "and from when until it runs")
left = watched.statistics["left"]["job"]
vm.same((left["count"], [(row["pid"], row["ring"], row["count"]) for row in left["rows"]]),
        (1, [(os.getpid(), "gfx", 1)]), "a job that does not end is told, with its process and ring")
vm.same([job for job in match(watched, jobs) if not all(job) or not is_right(*job)][:2], [],
        "jobs that waited are when the module says")
watched.check_nothing_lost()
device.do("end name=left", "wait")

# Only some of it.
monitor = vm.Monitor("drm", "--ring", "compute")
jobs = jobs_of(device.do(*[f"job name=j{n} ring={('gfx', 'compute')[n % 2]} run_us=500" for n in range(6)], "wait"))
check(monitor.done(), [job for job in jobs if job["ring"] == "compute"], "--ring")
monitor = vm.Monitor("drm", "--pid", str(os.getpid()))
other = queue_elsewhere("job name=k ring=gfx run_us=1000")
jobs = jobs_of(device.do(*[f"job name=j{n} ring=gfx run_us=500" for n in range(4)], "sleep us=500000", "wait"))
end_of(other)
watched = monitor.done()
vm.same({line["pid"] for line in watched.lines}, {os.getpid()}, "--pid tells of one process alone")
vm.same({row["pid"]: row["count"] for row in watched.series("run_time")["processes"]}, {os.getpid(): 4},
        "and counts its jobs")
ABOVE_NS = 20000000
monitor = vm.Monitor("drm", "--above", f"COMPLETE:{ABOVE_NS // 1000000}ms")
jobs = jobs_of(device.do(*[f"job name=j{n} ring=gfx run_us={(500, 30000)[n % 2]}" for n in range(8)], "wait"))
watched = monitor.done()
vm.result(all(line["run_time_ns"] >= ABOVE_NS for line in watched.of("COMPLETE")) and
          len(watched.lines) == len(watched.of("COMPLETE")), "--above tells of jobs that took so long, and no others",
          *watched.lines)
vm.between(sum(job["ending"] - job["begun"] >= ABOVE_NS for job in jobs), len(watched.lines),
           sum(job["ended"] - job["pushed"] >= ABOVE_NS for job in jobs), "of all of them")
vm.same([row["count"] for row in watched.series("run_time")["rows"]], [8], "while all are counted")
device.close()
vm.unload("xpuprof_sched")

# Side by side on one ring.
vm.load("xpuprof_sched", depth=4, rings="one")
device = vm.Device("xpuprof_sched")
monitor = vm.Monitor("drm")
jobs = jobs_of(device.do(*[f"job name=j{n} ring=one client={n}" for n in range(4)], *[f"end name=j{n}" for n in (3, 1, 2, 0)],
                         *[f"job name=k{n} ring=one client={n} run_us=5000" for n in range(8)], "wait"))
watched = monitor.done()
check(watched, jobs, "jobs side by side")
row = watched.series("run_time")["rows"][0]
vm.result(row["busy_ns"] < row["sum"], "which is less than the sum of their times", row)
device.close()
vm.unload("xpuprof_sched")

# Events of interrupts that come while another one is looked at, which the kernel does not let us see.
JOBS = 400
vm.load("xpuprof_sched", interrupts=1)
device = vm.Device("xpuprof_sched")
monitor = vm.Monitor("drm", "--summary-only")
device.do(*[f"job name=j{n} ring={('gfx', 'compute', 'sdma0')[n % 3]} client={n % 7} run_us=50" for n in range(JOBS)], "wait")
watched = monitor.done()
for event in watched.statistics["events"]:
    if event["event"] in ("QUEUE", "RUN", "COMPLETE"):
        # Which kernels tell: those from Linux 6.7 on.
        missed = event.get("missed", JOBS - event["seen"])
        vm.same(event["seen"] + missed, JOBS, f"every {event['event']} is seen, or counted as missed")
        print(f"# {missed} missed")
device.close()
vm.unload("xpuprof_sched")
vm.done_testing()

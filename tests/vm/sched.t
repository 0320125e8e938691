#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our user of the DRM scheduler (tests/vm/modules/xpuprof_sched.c) does what it says: the kernel's own record of the
scheduler's events has every job, when it says, in the process that queued it, and waiting for whom it had to."""
# modules: xpuprof_sched
import collections
import re

import vm_test as vm

# Their names until Linux 6.15, and since.
NAMES = {"queue": ("drm_sched_job", "drm_sched_job_queue"), "run": ("drm_run_job", "drm_sched_job_run"),
         "done": ("drm_sched_process_job", "drm_sched_job_done"),
         "wait": ("drm_sched_job_wait_dep", "drm_sched_job_unschedulable")}
KINDS = {name: kind for kind, names in NAMES.items() for name in names}


def value(event, pattern):
    found = re.search(pattern, event["text"])
    return found and found.group(1)


def job_of(event):
    """What a job is known by in all events."""
    return value(event, r"fence=(\S+?),? ") or value(event, r"fence=(\S+)")


def ring_of(event):
    return value(event, r"ring=([^ ,]+)")


def told(trace):
    events = collections.defaultdict(list)
    for event in trace.events():
        events[KINDS.get(event["name"], "other")].append(event)
    return events


def check_times(events, jobs):
    """Jobs are queued, run and done in an order that is known for each ring and client: that of the queue."""
    queued = {}
    for event in events["queue"]:
        queued.setdefault(ring_of(event), []).append(event)
    runs = {job_of(event): event for event in events["run"]}
    done = {job_of(event): event for event in events["done"]}
    late = []
    for ring, ring_events in queued.items():
        for event, job in zip(ring_events, [job for job in jobs if job["ring"] == ring]):
            run, end = runs[job_of(event)], done[job_of(event)]
            if not (job["pushed"] // 1000 * 1000 <= event["ns"] <= job["queued"] and
                    job["pushed"] // 1000 * 1000 <= run["ns"] <= job["begun"] and
                    job["ending"] // 1000 * 1000 <= end["ns"] <= job["ended"]):
                late.append((job, event, run, end))
            job["fence"] = job_of(event)
    vm.same(late[:2], [], "every event is when the module says")


def check(lines, waits, name):
    failed = vm.failed
    trace = vm.Trace("gpu_scheduler")
    device = vm.Device("xpuprof_sched")
    done = device.do(*lines, "wait")
    jobs = [vm.numbers(job) for job in done[-1]["said"]]
    events = told(trace)
    device.close()
    trace.close()
    vm.same(len(jobs), sum(line.startswith("job ") for line in lines), f"{name}: all jobs have run")
    rings = collections.Counter(job["ring"] for job in jobs)
    for kind in ("queue", "run"):
        vm.same(collections.Counter(map(ring_of, events[kind])), rings, f"each has its {kind} event, by ring")
    vm.same(len(events["done"]), len(jobs), "and its end")
    vm.same({event["pid"] for event in events["queue"]}, {vm.os.getpid()}, "they are queued by this process")
    check_times(events, jobs)
    vm.result(all(job["ending"] - job["begun"] >= job_us(lines, job) * 1000 for job in jobs),
              "and runs as long as it was told to")
    ring_by_fence = {job["fence"]: job["ring"] for job in jobs}
    got = collections.Counter()
    for event in events["wait"]:
        other = value(event, r"depends(?: on unsignalled)? fence=(\S+?),? ") or value(event, r"unsignalled fence=(\S+)")
        got[(ring_of(event) or ring_by_fence.get(job_of(event)), ring_by_fence.get(other))] += 1
    vm.same(got, collections.Counter(waits), "who waits for whom")
    for event in (events["queue"] + events["run"] + events["wait"] + events["done"])[:0 if vm.failed == failed else 40]:
        print("#", event)


def job_us(lines, job):
    return next(int(value({"text": line}, r"run_us=(\d+)") or 0) for line in lines if f"job name={job['name']} " in line)


vm.load("xpuprof_sched")
check([f"job name=j{n} ring={('gfx', 'compute')[n % 2]} client={n % 3} run_us={500 + 100 * n}" for n in range(20)], {},
      "jobs of three clients on two rings")
check(["job name=a ring=sdma0",
       "job name=b ring=gfx after=a",
       "job name=c ring=compute after=b",
       "job name=d ring=compute client=1 run_us=1000",
       "job name=e ring=gfx client=1 run_us=1000 after=c",
       "sleep us=1000000", "end name=a", "end name=b", "end name=c"],
      {("gfx", "sdma0"): 1, ("compute", "gfx"): 1, ("gfx", "compute"): 1}, "jobs that wait for one another")
vm.unload("xpuprof_sched")
vm.load("xpuprof_sched", depth=4, rings="one")
check([f"job name=j{n} ring=one run_us=20000" for n in range(8)], {}, "jobs side by side on one ring")
vm.unload("xpuprof_sched")
vm.done_testing()

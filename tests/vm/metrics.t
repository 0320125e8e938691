#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""xpuprof monitor drm --metrics: jobs of our user of the DRM scheduler, as Prometheus would read them, by ring,
process and container."""
# modules: gpu-sched xpuprof_sched
import http.client
import re
import signal
import subprocess
import time

import vm_test as vm

CGROUPS = "/sys/fs/cgroup"
CONTAINER = "5eed" * 16
RUN_US = 20000
DEADLINE_S = 60

# A process that goes into the container's cgroup, queues the jobs that it reads, says when they have run, and stays.
WORKER = f"""
import os, sys
sys.path.insert(0, {vm.HERE!r})
import vm_test as vm
with open(sys.argv[1] + "/cgroup.procs", "w") as procs:
    procs.write(str(os.getpid()))
device = vm.Device("xpuprof_sched")
print("ready", flush=True)
for line in sys.stdin:
    print(len(device.do(*line.strip().split(";"), "wait")), flush=True)
"""


class Worker:
    def __init__(self, cgroup):
        self.process = subprocess.Popen(["python3", "-c", WORKER, cgroup], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def queue(self, ring, count):
        lines = [f"job name={ring}{n} ring={ring} run_us={RUN_US}" for n in range(count)]
        self.process.stdin.write(";".join(lines) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def scrape(address):
    """{(name, {labels}): value}, the labels as a frozenset of name="value"."""
    connection = http.client.HTTPConnection(address, timeout=DEADLINE_S)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(r"([a-z_0-9]+)(?:\{(.*)\})? (\S+)", line)
        if match:
            found[match[1], frozenset(re.findall(r'([a-z_]+="[^"]*")', match[2] or ""))] = float(match[3])
    return found


def total(samples, name, **labels):
    """The sum of all that have these labels."""
    wanted = {f'{key}="{value}"' for key, value in labels.items()}
    return sum(value for (n, has), value in samples.items() if n == name and wanted <= has)


vm.load("gpu_sched")
vm.load("xpuprof_sched")
if not vm.os.path.exists(f"{CGROUPS}/cgroup.procs"):
    subprocess.run(["mount", "-t", "cgroup2", "none", CGROUPS], check=True)
cgroup = f"{CGROUPS}/docker-{CONTAINER}.scope"
vm.os.mkdir(cgroup)
vm.os.mkdir(f"{CGROUPS}/other.slice")
monitor = subprocess.Popen([f"{vm.BUILD}/xpuprof", "monitor", "drm", "--summary-only", "--metrics", "127.0.0.1:0"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
said = []
while not said or "http://" not in said[-1]:
    said.append(monitor.stderr.readline())
    if not said[-1]:
        vm.result(False, "the monitor of drm serves metrics", *said)
        vm.done_testing()
address = re.search(r"http://(\S+)/metrics", said[-1])[1]

first, second = Worker(cgroup), Worker(f"{CGROUPS}/other.slice")
first.queue("gfx", 6)
first.queue("compute", 2)
second.queue("gfx", 3)
samples = scrape(address)
jobs = {"gfx": 9.0, "compute": 2.0}
vm.same({ring: total(samples, "xpuprof_jobs_queued_total", ring=ring) for ring in jobs}, jobs, "jobs are counted by ring")
vm.same({ring: total(samples, "xpuprof_job_run_seconds_count", ring=ring) for ring in jobs}, jobs,
        "and so are their run times")
vm.same(total(samples, "xpuprof_container_jobs_queued_total", ring="gfx", container=CONTAINER), 6.0,
        "those of a container by its id")
vm.same(total(samples, "xpuprof_container_jobs_queued_total", ring="gfx", container="/other.slice"), 3.0,
        "and those in none by their cgroup")
vm.same([total(samples, "xpuprof_process_job_run_seconds_count", pid=w.process.pid) for w in (first, second)], [8.0, 3.0],
        "and those of a process")
busy = {ring: total(samples, "xpuprof_gpu_busy_seconds_total", ring=ring) for ring in jobs}
sums = {ring: total(samples, "xpuprof_job_run_seconds_sum", ring=ring) for ring in jobs}
for ring, count in jobs.items():
    vm.between(RUN_US * 1e-6, busy[ring], sums[ring], f"{ring} was busy for as long as a job at least, and as all at most")
    vm.result(sums[ring] >= count * RUN_US * 1e-6, "jobs took as long as they were told to", sums)
    vm.result(abs(sum(total(samples, "xpuprof_container_job_run_seconds_sum", ring=ring, container=c)
                      for c in (CONTAINER, "/other.slice")) - sums[ring]) < 1e-9, "containers' times add up to all", sums)
lost = {cause: total(samples, "xpuprof_losses_total", cause=cause)
        for cause in ("ring_full", "too_many_cells", "too_many_objects", "field_unreadable", "not_run")}
vm.same(set(lost.values()), {0.0}, "nothing was lost")
vm.same(total(samples, "xpuprof_objects", object="job"), 0.0, "no job is left")

first.end()
end = time.monotonic() + DEADLINE_S
while time.monotonic() < end and total(samples, "xpuprof_process_jobs_queued_total", pid=first.process.pid):
    time.sleep(1)
    samples = scrape(address)
vm.same(total(samples, "xpuprof_process_jobs_queued_total", pid=first.process.pid), 0.0,
        "a process that has ended is not told by itself any more")
vm.same(total(samples, "xpuprof_container_jobs_queued_total", container=CONTAINER), 8.0, "but in its container")
vm.same(total(samples, "xpuprof_jobs_queued_total"), 11.0, "and in all")
second.end()
monitor.send_signal(signal.SIGINT)
statistics, errors = monitor.communicate()
vm.same(monitor.returncode, 0, "the monitor ends when it is told to")
vm.result(re.search(r"^ *9 .* gfx", statistics, re.M), "the statistics at the end have what ended, too", statistics, errors)
vm.result(re.search(r"^ *8 .* -  processes that ended$", statistics, re.M),
          "without a share of busy time that nobody knows", statistics, errors)
vm.os.rmdir(cgroup)
vm.os.rmdir(f"{CGROUPS}/other.slice")
vm.unload("xpuprof_sched")
vm.done_testing()

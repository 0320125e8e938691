#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof monitor drm` on real jobs of the DRM scheduler: what it prints in each form, for people and for programs, is
what our user of the scheduler says it did."""
# modules: gpu-sched xpuprof_sched
import csv
import io
import json
import os
import re
import signal
import subprocess

import vm_test as vm

PROGRAM = os.path.join(vm.BUILD, "xpuprof")


class Monitor:
    """The command, watching while `with` is in."""

    def __init__(self, *options, pid=None):
        self.options = list(options) + (["-p", str(pid)] if pid else [])

    def __enter__(self):
        # It says where its numbers are once it watches.
        self.process = subprocess.Popen([PROGRAM, "monitor", "drm", "--metrics", "127.0.0.1:0", *self.options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = ""
        while "http://" not in self.said:
            line = self.process.stderr.readline()
            self.said += line
            if not line:
                vm.result(False, "the monitor begins", self.said)
                vm.done_testing()
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.out, err = self.process.communicate(timeout=120)
        self.said += err
        self.status = self.process.returncode


def jobs_on(rings, us=2000):
    return [f"job name=j{n} ring={ring} client=0 run_us={us}" for n, ring in enumerate(rings)]


def run_jobs(lines):
    device = vm.Device("xpuprof_sched")
    done = device.do(*lines, "wait")
    device.close()
    return [vm.numbers(job) for job in done[-1]["said"]]


def rows_of(statistics, series, rows="rows"):
    return statistics["series"][series][rows]


def check_text():
    with Monitor() as m:
        run_jobs(jobs_on(["gfx"] * 6 + ["compute"] * 3))
    vm.same(m.status, 0, "Ctrl-C ends it well")
    lines = m.out.splitlines()
    vm.result(re.match(r"TIME\(ms\) +EVENT +JOB_ID +RING +QUEUED +DETAILS$", lines[0]), "the columns have headings", lines[0])
    vm.same(len([line for line in lines if re.match(r"[\d.]+ +RUN +\S+ +gfx +\d+ +hw=\d+", line)]), 6,
            "each job that runs is a line with its ring")
    vm.same(len([line for line in lines if re.match(r"[\d.]+ +COMPLETE ", line)]), 9, "and so is its end")
    vm.result(re.search(r"^ +6 .*  gfx\b", m.out, re.M), "jobs are counted by ring", m.out)
    vm.result("\nLost\n   nothing\n" in m.out, "nothing was lost", m.out)


def check_json():
    with Monitor("--json", pid=os.getpid()) as m:
        jobs = run_jobs(jobs_on(["gfx"] * 5 + ["sdma0"] * 4))
    lines = [json.loads(line) for line in m.out.splitlines()]
    statistics = lines.pop()["statistics"]
    runs = [line for line in lines if line["event"] == "RUN"]
    vm.same(sorted(line["ring"] for line in runs), ["gfx"] * 5 + ["sdma0"] * 4, "JSON has every job, and its ring")
    vm.same({line["pid"] for line in runs}, {os.getpid()}, "and the process that queued it")
    ends = [line for line in lines if line["event"] == "COMPLETE"]
    took = sum(line["run_time_ns"] for line in ends)
    vm.between(sum(job["ending"] - job["begun"] for job in jobs), took, sum(job["ended"] - job["pushed"] for job in jobs),
               "and how long it ran")
    by_ring = {row["ring"]: row for row in rows_of(statistics, "run_time")}
    vm.same({ring: row["count"] for ring, row in by_ring.items()}, {"gfx": 5, "sdma0": 4}, "statistics count them")
    vm.same(sum(row["sum"] for row in by_ring.values()), took, "and have the sum of what the lines say")
    vm.same([(row["pid"], row["count"]) for row in rows_of(statistics, "run_time", "processes")], [(os.getpid(), 9)],
            "also by process")
    for ring, row in by_ring.items():
        vm.result(0 < row["busy_ns"] <= row["sum"] and row["busy_uncertain_ns"] == 0, f"{ring} was busy no longer than its jobs took",
                  row)
        vm.result(row["min"] <= row["p50"] <= row["p90"] <= row["p99"] <= row["max"], "percentiles are in order", row)
    vm.result(all(event["watched"] or event["reason"] for event in statistics["events"]), "a reason for what is not watched")


def check_csv():
    with Monitor("--csv", "--ring", "compute") as m:
        run_jobs(jobs_on(["gfx"] * 4 + ["compute"] * 5))
    lines = list(csv.DictReader(io.StringIO(m.out)))
    vm.same([line["ring"] for line in lines if line["event"] == "RUN"], ["compute"] * 5, "--ring chooses")
    vm.result(all(None not in line and None not in line.values() for line in lines), "each line has all columns")
    with Monitor("--csv", "--summary-only") as m:
        run_jobs(jobs_on(["gfx"] * 4 + ["compute"] * 5))
    rows = list(csv.DictReader(io.StringIO(m.out)))
    vm.same({row["label"]: row["count"] for row in rows if row["series"] == "run_time" and row["count"]},
            {"gfx": "4", "compute": "5"}, "statistics as CSV")
    vm.result(all(None not in row and None not in row.values() for row in rows), "each of their rows has all columns")


def check_rings():
    with Monitor("--ring", "vcn") as m:
        run_jobs(jobs_on(["gfx", "compute"]))
    vm.result(re.search(r"Nothing was of ring 'vcn'\. Seen were: .*gfx", m.out), "a ring that nobody has is told", m.out)


def check_above():
    with Monitor("--above", "COMPLETE:20ms") as m:
        run_jobs(jobs_on(["gfx"] * 3, us=1000) + ["job name=slow ring=sdma0 client=1 run_us=60000"])
    printed = [line for line in m.out.splitlines() if re.match(r"[\d.]+ +COMPLETE ", line)]
    vm.result(len(printed) >= 1 and " RUN " not in m.out.split("\ndrm: ")[0], "--above prints only what is slow", m.out)


def check_left():
    """Jobs that are there when the watch ends."""
    device = vm.Device("xpuprof_sched")
    with Monitor("--summary-only", "--json") as m:
        device.do("job name=long ring=gfx client=0")
    device.do("end name=long", "wait")
    device.close()
    left = json.loads(m.out.splitlines()[-1])["statistics"]["left"]["job"]
    vm.same((left["known"], left["count"], left["rows"][0]["pid"], left["rows"][0]["ring"]), (True, 1, os.getpid(), "gfx"),
            "a job that did not end is told, with its process and ring")


def check_process():
    child = subprocess.Popen(["sleep", "1000"])
    m = Monitor(pid=child.pid)
    with m:
        child.kill()
        child.wait()
        m.process.wait(timeout=60)
    vm.same(m.status, 0, "the end of the process ends it")
    vm.result(f"process {child.pid} ended" in m.said, "and is told", m.said)
    vm.result("Nothing happened" in m.out, "and that nothing happened, too", m.out)


vm.load("gpu_sched")
vm.load("xpuprof_sched")
check_text()
check_json()
check_csv()
check_rings()
check_above()
check_left()
check_process()
said = subprocess.run([PROGRAM, "monitor", "list"], stdout=subprocess.PIPE, text=True, check=True).stdout
vm.result("  yes  RUN " in said, "list has what this kernel has", said)
vm.unload("xpuprof_sched")
vm.done_testing()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record --drivers` over a program that hands known jobs to the DRM scheduler (xpuprof_sched.c), while another
process does as well: the recording has every job, when it was queued and when it ran, whose it is, and what it waited
for, as timeline and report tell."""
# modules: gpu-sched xpuprof_sched stand_in_amdgpu
import json
import subprocess
import sys
import tempfile
import time

import vm_test as vm

XPUPROF = f"{vm.BUILD}/xpuprof"

# Hands over jobs, prints what became of them, and leaves one that has not ended.
PROGRAM = f"""
import json, sys
sys.path.insert(0, {vm.HERE!r})
import vm_test as vm
device = vm.Device("xpuprof_sched")
said = device.do(*sys.argv[2:], "wait")[-1]["said"]
print(json.dumps([vm.numbers(job) for job in said]), flush=True)
if sys.argv[1] != "-":
    device.do(sys.argv[1])
"""


def program(*arguments):
    return [sys.executable, "-c", PROGRAM, *arguments]


def record(*arguments):
    """Its jobs, as the module says; what else was said; and what the recording has, as a timeline and in numbers."""
    recorded = subprocess.run([XPUPROF, "record", "-q", "--cpu-only", *arguments], capture_output=True, text=True,
                              timeout=120)
    vm.same((recorded.returncode, recorded.stderr), (0, ""), "a program is recorded that uses the DRM scheduler")
    report = subprocess.run([XPUPROF, "report", "--json", "p.xpu"], capture_output=True, text=True)
    subprocess.run([XPUPROF, "export", "p.xpu", "-o", "p.json"], check=True, capture_output=True)
    with open("p.json") as file:
        events = json.load(file)["traceEvents"]
    return json.loads(recorded.stdout or "[]"), json.loads(report.stdout), events


def ns(event):
    return round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)


def slices(events, name, ring):
    """By their starts."""
    found = [e for e in events if e["ph"] == "X" and e["cat"] == "GPU_Driver" and e["name"].startswith(name) and
             e["args"].get("ring", "").split(" ")[0] == ring]
    return sorted(found, key=lambda e: e["ts"])


def check_job(job, queued, run):
    """Times are when the module says, and both slices are of one job."""
    return (job["pushed"] <= ns(queued)[0] <= job["queued"] and ns(queued)[0] <= ns(queued)[1] <= job["begun"] and
            ns(run)[0] == ns(queued)[1] and job["ending"] <= ns(run)[1] <= job["ended"] and
            queued["args"]["job"] == run["args"]["job"] > 0)


def check_jobs(jobs, events, ring, name):
    """Those of one ring, which are queued and run in the order in which they were handed over."""
    mine = [job for job in jobs if job["ring"] == ring]
    queued, runs = slices(events, "queued", ring), slices(events, "run", ring)
    runs = [run for run in runs if run["args"].get("ended", True)]
    if vm.same((len(queued), len(runs)), (len(mine), len(mine)), f"{name}: every job was queued and has run"):
        wrong = [all_of for all_of in zip(mine, queued, runs) if not check_job(*all_of)]
        vm.same(wrong[:2], [], "when the module says so")


def check_losses(report):
    vm.same({key: count for key, count in report["losses"].items() if key.startswith("driver_") and count}, {},
            "and nothing was lost")


tempfile.tempdir = tempfile.mkdtemp()
vm.os.chdir(tempfile.tempdir)
vm.load("gpu_sched")
vm.load("xpuprof_sched")

# Jobs of the program on two rings, and one that does not end before the recording.
jobs, report, events = record("--drivers", "-o", "p.xpu", "--", *program(
    "job name=last ring=sdma0 run_us=3000000",
    *[f"job name=j{n} ring={('gfx', 'compute')[n % 2]} run_us={20000 + 1000 * n}" for n in range(12)]))
for ring in ("gfx", "compute"):
    check_jobs(jobs, events, ring, ring)
mine = [e for e in events if e.get("cat") == "GPU_Driver" and e["args"].get("ring")]
vm.result(mine and all(e["args"].get("recorded", True) and e["args"]["pid"] == mine[0]["args"]["pid"] for e in mine),
          "they are the program's", mine)
left = [e for e in slices(events, "", "sdma0") if not e["args"].get("ended", True)]
vm.same(len(left), 1, "a job that has not ended is there, up to the end")
vm.result(left and ns(left[0])[1] == int(report["meta"]["end_ns"]), "of the recording", left)
rings = {ring["ring"].split(" ")[0]: ring for ring in report["drivers"]["rings"]}
vm.same([(name, rings[name]["jobs"], rings[name]["foreign_jobs"]) for name in sorted(rings) if name != "sdma0"],
        [("compute", 6, 0), ("gfx", 6, 0)], "the report counts jobs by ring")
for name in ("gfx", "compute"):
    times = [ns(e)[1] - ns(e)[0] for e in slices(events, "run", name)]
    vm.same(rings[name]["run_ns"], sum(times), "with the time that they ran")
    vm.between(0, rings[name]["busy_ns"], sum(times), "and that the ring was busy")
check_losses(report)

# One at a time runs on a ring, so what others queued there delays ours.
other = vm.Device("xpuprof_sched")
WAITS = "touch started; until [ -e stop ]; do sleep 0.1; done"
recorder = subprocess.Popen([XPUPROF, "record", "-q", "--cpu-only", "--drivers=drm", "-o", "p.xpu", "--", "sh", "-c", WAITS])
while not vm.os.path.exists("started") and recorder.poll() is None:
    time.sleep(0.1)
foreign = [vm.numbers(job) for job in other.do(*[f"job name=f{n} ring=gfx run_us=20000" for n in range(3)],
                                               "wait")[-1]["said"]]
open("stop", "w").close()
vm.same(recorder.wait(), 0, "a program is recorded that does not use the scheduler")
subprocess.run([XPUPROF, "export", "p.xpu", "-o", "p.json"], check=True, capture_output=True)
with open("p.json") as file:
    events = json.load(file)["traceEvents"]
check_jobs(foreign, events, "gfx", "of another process")
vm.same({(e["args"]["pid"], e["args"]["recorded"]) for e in slices(events, "", "gfx")}, {(vm.os.getpid(), False)},
        "it is told whose they were, and that this was not recorded")

# Who waits for whom.
jobs, report, events = record("--drivers=drm", "-o", "p.xpu", "--", *program(
    "-", "job name=a ring=sdma0 run_us=2000000", "job name=b ring=gfx run_us=20000 after=a"))
waits = slices(events, "wait", "gfx")
b = next(iter(job for job in jobs if job["name"] == "b"), None)
if vm.same([e["name"].split(" ")[:3] for e in waits], [["wait", "for", "sdma0"]], "a wait names the ring"):
    a = next(job for job in jobs if job["name"] == "a")
    vm.between(a["ending"], ns(waits[0])[1], b["begun"], "and lasts until what was waited for is done, and the job runs")
    vm.same(waits[0]["args"].get("job"), slices(events, "run", "gfx")[0]["args"]["job"], "which it names")
check_losses(report)
vm.unload("xpuprof_sched")

# Another driver, by its own table: what suits the machine is watched, now that its module is there.
LINES = """
import json, sys
sys.path.insert(0, %r)
import vm_test as vm
print(json.dumps(vm.Device("xpuprof_amdgpu").do(*sys.argv[1:])))
""" % vm.HERE
vm.load("stand_in_amdgpu")
done, report, events = record("--drivers", "-o", "p.xpu", "--", sys.executable, "-c", LINES,
                              "amdgpu_bo_create bo=0x1000 pages=3 type=2",
                              "amdgpu_bo_move bo=0x1000 bo_size=8192 old_placement=1 new_placement=2",
                              "amdgpu_cs_ioctl sched_job_id=1 context=5 seqno=6 ring=gfx num_ibs=1", "sleep us=30000",
                              "amdgpu_sched_run_job sched_job_id=1 context=5 seqno=6 ring=gfx num_ibs=1")
moments = {e["name"]: e for e in events if e["ph"] == "i" and e["cat"] == "GPU_Driver"}
vm.same({name: (e["args"]["source"], e["args"].get("ring"), e["args"].get("bytes")) for name, e in moments.items()},
        {"BO_CREATE": ("amdgpu", "VRAM", 12288), "BO_MOVE": ("amdgpu", "GTT -> VRAM", 8192)},
        "buffers are made and moved, with their sizes and places")
before, after = ({line["name"]: line[key] for line in done} for key in ("before", "after"))
vm.same([name for name, e in moments.items()
         if not before["amdgpu_" + name.lower()] <= round(e["ts"] * 1000) <= after["amdgpu_" + name.lower()]], [],
        "when they were")
queued = slices(events, "queued", "gfx")
if vm.same(len(queued), 1, "a submission waits for the hardware"):
    begun, ended = ns(queued[0])
    vm.between(before["amdgpu_cs_ioctl"], begun, after["amdgpu_cs_ioctl"], "from when it was made")
    vm.between(before["amdgpu_sched_run_job"], ended, after["amdgpu_sched_run_job"], "until it ran")
vm.unload("stand_in_amdgpu")

# Then there is nothing to see, which is no error.
unwatched = subprocess.run([XPUPROF, "record", "-q", "--cpu-only", "--drivers=i915", "-o", "p.xpu", "true"],
                           capture_output=True, text=True)
vm.same(unwatched.returncode, 0, "a kernel without events is no error")
vm.result("i915" in unwatched.stderr and unwatched.stderr.count("\n") == 1, "and is said", unwatched.stderr)
vm.done_testing()

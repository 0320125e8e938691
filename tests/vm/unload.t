#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Modules that come and go while `xpuprof monitor` watches: one whose events are watched stays until that ends; one
whose functions are watched can go, which is said; what was counted until then is right, and afterwards nothing is held."""
# modules: gpu-sched xpuprof_sched stand_in_i915 stand_in_nvidia
import fcntl
import os
import signal
import subprocess

import vm_test as vm

PROGRAM = f"{vm.BUILD}/xpuprof"
GONE = "its module was unloaded meanwhile"
CALLS = ("OPEN", "OPENED", "CLOSE", "CLOSED", "MMAP", "MMAPPED", "IOCTL", "IOCTL_DONE", "POLL", "POLLED")


def stays(name, why):
    """It cannot be unloaded now."""
    done = subprocess.run(["rmmod", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    vm.result(done.returncode and os.path.isdir(f"/sys/module/{name}"), f"module {name} stays loaded {why}", done.stderr)


def not_watched(watched):
    return {event["event"]: event["reason"] for event in watched.statistics["events"] if not event["watched"]}


def seen(watched):
    return {event["event"]: event["seen"] for event in watched.statistics["events"] if event["seen"]}


def check_nothing_there():
    done = subprocess.run([PROGRAM, "monitor", "i915"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    vm.same((done.returncode, done.stdout, done.stderr),
            (1, "", "xpuprof: cannot watch anything of 'i915': module i915 is not loaded\n"),
            "without its module a monitor ends, and says why in a line")


def check_events():
    """Of a driver's tracepoints."""
    vm.load("stand_in_i915")
    device = vm.Device("xpuprof_i915")
    monitor = vm.Monitor("i915")
    device.do("i915_gem_object_create obj=0x1000 size=4096")
    device.close()
    stays("i915", "while its events are watched")
    device = vm.Device("xpuprof_i915")
    device.do("i915_gem_object_create obj=0x2000 size=4096", "i915_gem_object_destroy obj=0x1000")
    device.close()
    watched = monitor.done()
    vm.same(seen(watched), {"GEM_CREATE": 2, "GEM_DESTROY": 1}, "and they are, all of them")
    vm.same(GONE in not_watched(watched).values(), False, "of which none has gone")
    vm.unload("stand_in_i915")


def run_jobs(*rings):
    device = vm.Device("xpuprof_sched")
    device.do(*[f"job name=j{n} ring={ring} client=0 run_us=1000" for n, ring in enumerate(rings)], "wait")
    device.close()


def check_scheduler():
    """The scheduler has the events; its users may come and go, and be there later than it."""
    late = vm.Monitor("drm")
    vm.load("gpu_sched")
    vm.load("xpuprof_sched")
    monitor = vm.Monitor("drm")
    run_jobs("gfx", "gfx", "compute")
    vm.unload("xpuprof_sched")
    stays("gpu_sched", "while its events are watched")
    vm.load("xpuprof_sched")
    run_jobs("gfx")
    watched = monitor.done()
    vm.same({ring: sum(row["count"] for row in watched.series("run_time")["rows"] if row["ring"] == ring)
             for ring in ("gfx", "compute")}, {"gfx": 3, "compute": 1}, "jobs of a driver that came back are counted as before")
    watched.check_nothing_lost()
    watched = late.done()
    vm.same(({"RUN", "COMPLETE"} & set(seen(watched)), [not_watched(watched).get(name) for name in ("QUEUE", "RUN")]),
            (set(), ["its module was loaded after the watch began"] * 2), "what came after the watch began was not watched, which is said")
    vm.unload("xpuprof_sched")
    vm.same(os.path.isdir("/sys/module/gpu_sched"), False, "and nothing is held")


def call_driver(count):
    control = os.open("/dev/nvidiactl", os.O_RDWR)
    for _ in range(count):
        fcntl.ioctl(control, 0xc020462a, 0)
    os.close(control)


def check_functions(again):
    """Of a driver without tracepoints: here nobody finds them."""
    vm.load("stand_in_nvidia")
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", f"{vm.TRACEFS}/events"], check=True)
    options = ["--summary-only"] * again
    monitor = subprocess.Popen([PROGRAM, "monitor", "nvidia", "--json", "--metrics", "127.0.0.1:0", *options],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "http://" not in (monitor.stderr.readline() or "http://"):
        pass
    call_driver(7)
    if not vm.unload("stand_in_nvidia"):
        monitor.kill()
    if again:
        vm.load("stand_in_nvidia")
        call_driver(5)
        monitor.send_signal(signal.SIGINT)
        out, said = monitor.communicate()
        vm.same(said, "", "where only sums are wanted, nothing is said meanwhile")
    else:
        said = monitor.stderr.readline()
        monitor.send_signal(signal.SIGINT)
        out, rest = monitor.communicate()
        vm.same(said + rest, f"xpuprof: not watched any more, as their module was unloaded: {', '.join(CALLS)}\n",
                "what is not watched any more is said, once")
    vm.same(monitor.returncode, 0, "the watch of a module that was unloaded ends well")
    watched = vm.Watched([], vm.json.loads(out.splitlines()[-1])["statistics"])
    vm.same(seen(watched), {"OPEN": 1, "OPENED": 1, "IOCTL": 7, "IOCTL_DONE": 7, "CLOSE": 1, "CLOSED": 1},
            "the statistics have what was there until then")
    vm.same({name: reason for name, reason in not_watched(watched).items() if name in CALLS},
            {name: GONE for name in CALLS}, "and that it was until then" + " only, though it is back" * again)
    subprocess.run(["umount", f"{vm.TRACEFS}/events"], check=True)
    if again:
        vm.unload("stand_in_nvidia")


check_nothing_there()
check_events()
check_scheduler()
check_functions(again=False)
check_functions(again=True)
vm.done_testing()

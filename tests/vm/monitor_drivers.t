#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof monitor` i915, amdgpu, xe, vblank and nvidia over stand-ins for these drivers (tests/vm/modules/), which do
what they are told: each count, sum and duration is that of what they were told."""
# modules: stand_in_i915 stand_in_amdgpu stand_in_xe stand_in_drm stand_in_nvidia
import collections
import fcntl
import mmap
import os
import select
import time

import vm_test as vm

PAGE = 4096
PID = os.getpid()


def watch(monitor, device, *lines):
    """What the monitor has of these lines, and when each was done."""
    watched = vm.Monitor(monitor)
    done = device.do(*lines)
    watched = watched.done()
    watched.check_nothing_lost()
    return watched, done


def took(done, first, last, nth=0):
    """How long it was at least, and at most, from one action to another."""
    begin, end = ([each for each in done if each["name"] == name][nth] for name in (first, last))
    return end["before"] - begin["after"], end["after"] - begin["before"]


def same(watched, expected):
    """Series by their labels: counts, or counts and sums."""
    for name, rows in expected.items():
        what = ("count", "sum") if isinstance(next(iter(rows.values())), tuple) else ("count",)
        vm.same(watched.rows(name, *what), rows, f"{watched.statistics['monitor']}: {name}")


def duration(watched, series, labels, bounds):
    row = watched.rows(series, "count", "sum").get(labels, (0, 0))
    vm.result(row[0] == 1 and bounds[0] <= row[1] <= bounds[1], f"{watched.statistics['monitor']}: {series} of {labels}",
              row, bounds, watched.series(series)["rows"])


def left(watched, name, count, total=None):
    found = watched.statistics["left"][name]
    vm.same((found["known"], found["count"], found.get("sum_bytes"), {row["pid"] for row in found["rows"]}),
            (True, count, total, {PID}), f"{watched.statistics['monitor']}: what is left of {name}, and whose it is")
    return found


def check_i915(device):
    request = "dev=0 ctx=5 seqno=1 class=1 instance=0"
    watched, done = watch("i915", device,
        *[f"i915_gem_object_create obj={n * 0x1000} size={n * PAGE}" for n in range(1, 11)],
        *[f"i915_gem_object_destroy obj={n * 0x1000}" for n in range(1, 8)],
        *[f"i915_vma_bind obj=0x1000 vm=0x77 offset=0 size={n * PAGE} flags=8" for n in range(1, 4)],
        "i915_vma_unbind obj=0x1000 vm=0x77 offset=0 size=8192",
        "i915_gem_shrink target=100 freed=60 flags=1", "i915_gem_shrink target=50 freed=50 flags=1",
        "i915_gem_shrink target=0xffffffffffffffff freed=1000 flags=3",
        "i915_gem_evict vm=0x77 size=65536", "i915_gem_evict_node vm=0x77 size=4096", "i915_gem_evict_vm vm=0x77",
        "i915_gem_object_pwrite obj=0x8000 len=100", "i915_gem_object_pwrite obj=0x8000 len=20",
        "i915_gem_object_pread obj=0x8000 len=7",
        "i915_gem_object_fault obj=0x8000 gtt=1 write=1", *["i915_gem_object_fault obj=0x8000 gtt=0 write=0"] * 2,
        f"i915_request_queue {request}", f"i915_request_add {request}", "sleep us=20000",
        f"i915_request_wait_begin {request}", "sleep us=20000", f"i915_request_wait_end {request}",
        f"i915_request_retire {request}", "i915_context_create ctx=0x70", "i915_context_create ctx=0x71",
        "i915_context_free ctx=0x70")
    same(watched, {
        "buffers_created": {(): (10, 55 * PAGE)}, "buffers_freed": {(): (7, 28 * PAGE)},
        "bytes_bound": {(): (3, 6 * PAGE)}, "bytes_unbound": {(): (1, 8192)},
        "shrinks": {("1",): 2, ("3",): 1}, "reclaim_asked": {(): (2, 150 * PAGE)},
        "reclaim_done": {(): (3, 1110 * PAGE)}, "reclaim_done_of_asked": {(): (2, 110 * PAGE)},
        "evicted_for": {(): (1, 65536)}, "evicted_at": {(): (1, 4096)}, "evicted_spaces": {(): 1},
        "pwrite": {(): (2, 120)}, "pread": {(): (1, 7)},
        "faults": {("GTT", "WRITE"): 1, ("CPU", "READ"): 2}, "requests_queued": {("copy", "0"): 1},
        "requests_added": {("copy", "0"): 1}, "contexts": {(): 2}})
    duration(watched, "retire_time", ("copy", "0"), took(done, "i915_request_queue", "i915_request_retire"))
    duration(watched, "wait_time", ("copy", "0"), took(done, "i915_request_wait_begin", "i915_request_wait_end"))
    vm.between(0, watched.rows("reclaim_time", "sum")[()], sum(each["after"] - each["before"] for each in done
               if each["name"] == "i915_gem_shrink"), "i915: reclaim takes no longer than it did")
    buffers = left(watched, "buffer", 3, 27 * PAGE)
    vm.result(len(buffers["rows"]) == 1 and any("write" in frame for frame in buffers["rows"][0].get("stack", [])),
              "i915: and the stack that made it", buffers)
    left(watched, "context", 1)


def check_amdgpu(device):
    def submission(action, seqno, ring="gfx"):
        return f"{action} sched_job_id={seqno} context=12 seqno={seqno} ring={ring} timeline={ring} num_ibs=1"
    watched, done = watch("amdgpu", device,
        *[f"amdgpu_bo_create bo={0x100000 * n} pages={n} type=2" for n in range(1, 6)], "amdgpu_bo_create bo=0x99 pages=1 type=1",
        *[f"amdgpu_bo_release_notify bo={0x100000 * n}" for n in range(1, 4)],
        *["amdgpu_bo_move bo=0x400000 bo_size=16384 new_placement=1 old_placement=2"] * 3,
        "amdgpu_bo_move bo=0x400000 bo_size=4096 new_placement=2 old_placement=1",
        submission("amdgpu_cs_ioctl", 1), "sleep us=20000", submission("amdgpu_sched_run_job", 1),
        submission("amdgpu_cs_ioctl", 2, "sdma0"), "sleep us=5000", submission("amdgpu_sched_run_job", 2, "sdma0"),
        submission("amdgpu_cs_ioctl", 3),
        *["amdgpu_iv client_id=10 src_id=181"] * 4, "amdgpu_iv client_id=10 src_id=224",
        *["amdgpu_vm_flush ring=gfx vmid=3 vm_hub=0 pd_addr=0x5000"] * 2, "amdgpu_ib_pipe_sync ring=gfx ctx=12 seqno=1",
        "amdgpu_vm_bo_map bo=0x400000 start=0x100 last=0x10f", "amdgpu_vm_bo_unmap bo=0x400000 start=0x100 last=0x107")
    same(watched, {
        "buffers_created": {("VRAM",): (5, 15 * PAGE), ("GTT",): (1, PAGE)},
        "buffers_moved": {("VRAM", "GTT"): (3, 3 * 16384), ("GTT", "VRAM"): (1, 4096)},
        "submissions": {("gfx",): 2, ("sdma0",): 1}, "interrupts": {("10", "181"): 4, ("10", "224"): 1},
        "vm_flushes": {("gfx",): 2}, "pipe_syncs": {("gfx",): 1}, "bytes_mapped": {(): (1, 16 * PAGE)},
        "bytes_unmapped": {(): (1, 8 * PAGE)}})
    for nth, ring in enumerate(("gfx", "sdma0")):
        duration(watched, "submit_latency", (ring,), took(done, "amdgpu_cs_ioctl", "amdgpu_sched_run_job", nth))
    left(watched, "submission", 1)
    if os.path.exists("/sys/kernel/btf/amdgpu"):
        same(watched, {"buffers_freed": {("VRAM",): (3, 6 * PAGE)}})
        left(watched, "buffer", 3, 10 * PAGE)
    else:
        buffers = watched.statistics["left"]["buffer"]
        vm.result(not buffers["known"] and "type information" in buffers["reason"],
                  "amdgpu: what is left is not known without type information, which is said", buffers)


def check_xe(device):
    new = int(os.uname().release.split(".")[0]) >= 7
    job = "dev=0000:03:00.0 fence=0x5000 guc_id=4 seqno=9 gt_id=0"
    queue = (("4", "0") if new else ("4", None))
    tlb = "xe_tlb_inval_fence" if new else "xe_gt_tlb_invalidation_fence"
    vma = "dev=card vma=0x1 vm=0x2 asid=7"
    watched, done = watch("xe", device,
        "xe_exec_queue_create dev=card class=3 guc_id=4 gt_id=0 width=1", "xe_vm_create dev=card vm=0x2 asid=7",
        f"xe_sched_job_exec {job}", "sleep us=20000", f"xe_sched_job_run {job}", "sleep us=10000",
        "xe_hw_fence_signal dev=card fence=0x5000 ctx=1 seqno=9", f"xe_sched_job_free {job}",
        f"xe_sched_job_timedout {job}",
        *[f"xe_vma_bind {vma} start=0x10000 end=0x1ffff"] * 2, f"xe_vma_unbind {vma} start=0x10000 end=0x10fff",
        f"xe_vma_evict {vma} start=0 end=0xfff", "xe_bo_move bo=0x9 size=8192 old_placement_name=vram0 new_placement_name=tt",
        "xe_bo_cpu_fault dev=card size=4096", *["xe_bo_create dev=card size=12288"] * new,
        f"{tlb}_send dev=card fence=0x6000 seqno=1", "sleep us=5000", f"{tlb}_signal dev=card fence=0x6000 seqno=1",
        "xe_guc_ctb_h2g dev=card gt_id=0 action=0x1000 len=3", "xe_guc_ct_h2g_flow_control dev=card size=4 space=1 len=2")
    same(watched, {
        "jobs": {queue: 1}, "queues": {("copy", "0"): 1}, "address_spaces": {("card",): 1},
        "bytes_bound": {("card",): (2, 2 * 0x10000)}, "bytes_unbound": {("card",): (1, 4096)},
        "evicted": {("card",): (1, 4096)}, "buffers_moved": {("vram0", "tt"): (1, 8192)},
        "cpu_faults": {("card",): (1, 4096)}, "guc_full": {("card",): 1}, "job_errors": {queue: 1}})
    if new:
        same(watched, {"buffers_created": {("card",): (1, 12288)}})
    duration(watched, "queue_delay", queue, took(done, "xe_sched_job_exec", "xe_sched_job_run"))
    duration(watched, "run_time", queue, took(done, "xe_sched_job_run", "xe_hw_fence_signal"))
    duration(watched, "total_time", queue, took(done, "xe_sched_job_exec", "xe_hw_fence_signal"))
    duration(watched, "tlb_invalidation", ("card",), took(done, f"{tlb}_send", f"{tlb}_signal"))


def check_vblank(device):
    sequence = [n for n in range(100, 111) if n not in (103, 104)]
    lines = ["drm_vblank_event_queued file=0xf1 crtc=0 seq=105", "drm_vblank_event_queued file=0xf1 crtc=0 seq=900"]
    for seq in sequence:
        lines += [f"drm_vblank_event_delivered file=0xf1 crtc=0 seq={seq}"] * (seq == 105)
        lines += [f"drm_vblank_event crtc=0 seq={seq} time=0 high_prec=1", f"sleep us={6000 if seq == 102 else 2000}"]
    lines += [f"drm_vblank_event crtc=1 seq={seq} high_prec=1" for seq in range(5)]
    lines += ["drm_vblank_event_delivered file=0xf2 crtc=1 seq=4"]
    watched, done = watch("vblank", device, *lines)
    same(watched, {"vblanks": {("0",): len(sequence), ("1",): 5}, "vblanks_skipped": {("0",): (1, 2)},
                   "events_queued": {("0",): 2}, "events_delivered": {("0",): 1, ("1",): 1}})
    vblanks = watched.of("VBLANK", crtc=0)
    times = [each for each in done if each["name"] == "drm_vblank_event"]
    vm.result(all(each["before"] <= line["t_ns"] <= each["after"] for each, line in zip(times, vblanks)),
              "vblank: each is when it was", vblanks, times)
    periods = [(b["t_ns"] - a["t_ns"]) // (b["seq"] - a["seq"]) for a, b in zip(vblanks, vblanks[1:])]
    vm.same(watched.rows("refresh_period", "count", "sum")["0",], (len(periods), sum(periods)),
            "vblank: the refresh period is the time between them, also over those that were skipped")
    duration(watched, "delivery_latency", ("0",), took(done, "drm_vblank_event_queued", "drm_vblank_event_delivered"))
    left(watched, "request", 1)


def check_nvidia(device):
    monitor = vm.Monitor("nvidia")
    device.do(*["nvidia_dev_xid dev=0000:01:00.0 error_code=79 msg=fallen_off_the_bus"] * 2,
              "nvidia_dev_xid dev=0000:02:00.0 error_code=31 msg=pid=4711,",
              "nvswitch_dev_sxid dev=0000:04:00.0 error_code=12028 msg=egress")
    control = os.open("/dev/nvidiactl", os.O_RDWR)
    begin = time.monotonic_ns()
    for _ in range(3):
        fcntl.ioctl(control, 0xc020462a, 20000)
    end = time.monotonic_ns()
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.poll()
    mmap.mmap(control, PAGE).close()
    os.close(control)
    watched = monitor.done()
    watched.check_nothing_lost()
    codes = collections.Counter()
    for name in ("xid", "sxid"):
        for row in watched.series(name)["rows"]:
            codes[row["device"], row["code"].split(" ")[0].strip("()")] += row["count"]
    vm.same(codes, {("0000:01:00.0", "79"): 2, ("0000:02:00.0", "31"): 1, ("0000:04:00.0", "12028"): 1},
            "nvidia: errors by device and number")
    vm.same(watched.rows("xid", "count", by="processes").get((4711,)), 1, "nvidia: an error is of the process that its message names")
    calls = {name: watched.rows(name, "count", by="processes") for name in ("opens", "closes", "mmaps", "polls", "ioctls")}
    vm.same(calls, {"opens": {(PID,): 1}, "closes": {(PID,): 1}, "mmaps": {(PID,): 1}, "polls": {(PID,): 1},
                    "ioctls": {(PID,): 3}}, "nvidia: calls of this process")
    row = next(iter(watched.series("ioctl_time")["rows"]), {})
    vm.same((row.get("ioctl"), row.get("count")), ("RM_CONTROL", 3), "nvidia: ioctls by their names")
    vm.between(3 * 20000000, row.get("sum", 0), end - begin, "nvidia: and how long they took")


for name, check in (("i915", check_i915), ("amdgpu", check_amdgpu), ("xe", check_xe), ("drm", check_vblank),
                    ("nvidia", check_nvidia)):
    if vm.has_module(f"stand_in_{name}"):
        vm.load(f"stand_in_{name}")
        device = vm.Device(f"xpuprof_{name}")
        check(device)
        device.close()
        vm.unload(f"stand_in_{name}")
vm.done_testing()

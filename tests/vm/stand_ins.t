#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is written to the stand-ins for drivers (tests/vm/modules/) happens: each event with every value it was given,
each function with its arguments, in the process that writes."""
# modules: stand_in_i915 stand_in_amdgpu stand_in_xe stand_in_drm stand_in_nvidia
import errno
import fcntl
import mmap
import os
import re
import select

import vm_test as vm

GROUPS = {"i915": ["i915"], "amdgpu": ["amdgpu"], "xe": ["xe"], "drm": ["drm"], "nvidia": ["nvidia", "nvswitch"]}


def example(kind, size, number):
    """A value for a field, and how a filter says that it has it."""
    if kind.startswith("__data_loc char"):
        return f"text_{number}", f'== "text_{number}"'
    if kind.endswith("*"):
        value = 0xffff888000000000 + number * 0x1000
    elif kind == "bool":
        value = 1
    else:
        value = 0x55 if size == 1 else (0x1234567890abcdef >> 8 * (8 - size)) + number
    return value, f"== {value}"


def fields(path):
    with open(path) as file:
        found = re.findall(r"field:(.*?)(\w+)(\[\d+\])?;\toffset:\d+;\tsize:(\d+);", file.read())
    return [(name, *example(kind.strip(), int(size), number))
            for number, (kind, name, array, size) in enumerate(found) if not name.startswith("common_") and not array]


def check_events(group, device, trace):
    """The filters let only events through that have every value."""
    folder = f"{vm.TRACEFS}/events/{group}"
    late = []
    names = [name for name in sorted(os.listdir(folder)) if os.path.isdir(f"{folder}/{name}")]
    for name in names:
        values = fields(f"{folder}/{name}/format")
        trace.set(f"events/{group}/{name}/filter", " && ".join(f"{field} {filter}" for field, _, filter in values))
    trace.set(f"events/{group}/enable", "1")
    for name in names:
        values = fields(f"{folder}/{name}/format")
        done = device.do(name, " ".join([name, *(f"{field}={value}" for field, value, _ in values)]))[1]
        at = [event["ns"] for event in trace.events() if event["name"] == name]
        late += [] if at and done["before"] // 1000 * 1000 <= at[0] <= done["after"] else [(done, at)]
    vm.same([(event["name"], event["pid"]) for event in trace.events()], [(name, os.getpid()) for name in names],
            f"{group}: every event comes once with its values, and not without them")
    vm.same(late, [], "between the times that the device says")
    trace.set(f"events/{group}/enable", "0")


def check_functions(probes, act, expected, name):
    """`probes`: as kprobe_events has them, without their group."""
    with open(f"{vm.TRACEFS}/kprobe_events", "w") as file:
        for probe in probes:
            kind, rest = probe.split(":", 1)
            file.write(f"{kind}:xpuprof_test/{rest}\n")
    trace = vm.Trace("xpuprof_test")
    act()
    got = [(event["name"], re.sub(r"^\(.*?\) ?", "", event["text"])) for event in trace.events()
           if event["pid"] == os.getpid()]
    vm.same(got, expected, name)
    trace.close()
    with open(f"{vm.TRACEFS}/kprobe_events", "w") as file:
        file.write("")


def use_nvidia():
    control = os.open("/dev/nvidiactl", os.O_RDWR)
    fcntl.ioctl(control, 0xc020462a, 20)
    try:
        fcntl.ioctl(control, 1, 0)
    except OSError:
        pass
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.poll()
    mmap.mmap(control, 3 * mmap.PAGESIZE).close()
    os.close(control)


for driver, groups in GROUPS.items():
    if not vm.has_module(f"stand_in_{driver}"):
        continue
    vm.load(f"stand_in_{driver}")
    vm.same(os.path.exists(f"/sys/kernel/btf/{driver}"), not os.uname().release.startswith("5.10."),
            "its types are told, from Linux 5.11 on")
    device = vm.Device(f"xpuprof_{driver}")
    for group in groups:
        trace = vm.Trace()
        check_events(group, device, trace)
        trace.close()
    if driver == "i915":
        check_functions(["r:shrink i915_gem_shrink freed=$retval:u64"],
                        lambda: device.do("i915_gem_shrink target=100 freed=60", "i915_gem_shrink target=5"),
                        [("shrink", "freed=60"), ("shrink", "freed=0")], "what shrinking gives back is what it was told")
    if driver == "amdgpu":
        check_functions(["p:free amdgpu_bo_release_notify buffer=%di"], lambda: device.do("amdgpu_bo_release_notify bo=0xabc000"),
                        [("free", "buffer=0xabc038")], "a buffer is freed by the function that does so")
    if driver == "xe":
        check_functions(["p:free xe_ttm_bo_destroy buffer=%di"], lambda: device.do("xe_ttm_bo_destroy bo=0xabc000"),
                        [("free", "buffer=0xabc000")], "a buffer is freed by the function that does so")
    if driver == "nvidia":
        check_functions(["p:open nvidia_open", "p:close nvidia_close", "p:mmap nvidia_mmap", "p:poll nvidia_poll",
                         "p:ioctl nvidia_unlocked_ioctl command=%si:x32", "r:done nvidia_unlocked_ioctl result=$retval:s64"],
                        use_nvidia, [("open", ""), ("ioctl", "command=0xc020462a"), ("done", "result=0"),
                                     ("ioctl", "command=0x1"), ("done", "result=-22"), ("poll", ""), ("mmap", ""),
                                     ("close", "")], "the driver's functions are called")
    vm.same(vm.failing(lambda: device.do("no_such_event")), errno.EINVAL, "what it does not know is refused")
    device.close()
    vm.unload(f"stand_in_{driver}")
vm.done_testing()

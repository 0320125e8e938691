# SPDX-License-Identifier: MIT
"""A program that uses Intel's GPU by Level Zero, and says what it did by its own events.

    program.py ZEBIN...     the first of these that the driver takes: of tests/data/zebin/k.cl, for this GPU

It launches "tiny" and "busy", each from a function of its own, and prints a line for each: name, launches, nanoseconds.
"""
import ctypes
import sys

LAUNCHES, GROUP, ROUNDS = 40, 16, 20000
GROUPS = {"tiny": 4096, "busy": 512}
SHAPES = {"tiny": (), "busy": (ctypes.c_int32(ROUNDS), GROUP * 4)} # behind the buffer: a value, or so much local memory
POOL_VISIBLE_WITH_TIMES = 1 | 4
PROPERTIES_IN_HZ = 0x00020006

u32, u64, size_t, pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p


def struct(title, /, **fields):
    return type(title, (ctypes.Structure,), {"_fields_": [("stype", u32), ("next", pointer), *fields.items()]})


QueueDesc = struct("QueueDesc", ordinal=u32, index=u32, flags=u32, mode=u32, priority=u32)
ModuleDesc = struct("ModuleDesc", format=u32, size=size_t, input=ctypes.c_char_p, flags=ctypes.c_char_p, constants=pointer)
KernelDesc = struct("KernelDesc", flags=u32, name=ctypes.c_char_p)
ContextDesc = struct("ContextDesc", flags=u32)
PoolDesc = struct("PoolDesc", flags=u32, count=u32)
EventDesc = struct("EventDesc", index=u32, signal=u32, wait=u32)
MemoryDesc = struct("MemoryDesc", flags=u32, ordinal=u32)
Properties = struct("Properties", numbers=u32 * 6, most=u64, more=u32 * 7, hz=u64, bits=u32, kernel_bits=u32, uuid=ctypes.c_uint8 * 16,
                    name=ctypes.c_char * 256)


class Times(ctypes.Structure):
    _fields_ = [("start", u64), ("end", u64), ("context_start", u64), ("context_end", u64)]


ctypes.CDLL("libze_loader.so.1", mode=ctypes.RTLD_GLOBAL)
ze = ctypes.CDLL(None) # as a program that is linked with it: what is preloaded comes first


def call(function, *arguments):
    result = getattr(ze, function)(*arguments)
    if result:
        sys.exit(f"{function}: error {result & 0xffffffff:#x}")


def made(function, *arguments):
    """What a call hands back as its last argument."""
    handle = pointer()
    call(function, *arguments, ctypes.byref(handle))
    return handle


class Gpu:
    def __init__(self, images):
        one = u32(1)
        call("zeInit", u32(0))
        self.driver, self.device = pointer(), pointer()
        call("zeDriverGet", ctypes.byref(one), ctypes.byref(self.driver))
        call("zeDeviceGet", self.driver, ctypes.byref(one), ctypes.byref(self.device))
        self.properties = Properties(stype=PROPERTIES_IN_HZ)
        call("zeDeviceGetProperties", self.device, ctypes.byref(self.properties))
        self.context = made("zeContextCreate", self.driver, ctypes.byref(ContextDesc(stype=0xd)))
        self.list = made("zeCommandListCreateImmediate", self.context, self.device, ctypes.byref(QueueDesc(stype=0xe)))
        self.module = self.load(images)
        self.buffer = made("zeMemAllocDevice", self.context, ctypes.byref(MemoryDesc(stype=0x15)), size_t(max(GROUPS.values()) * GROUP * 4),
                           size_t(64), self.device)

    def load(self, images):
        for path in images:
            with open(path, "rb") as f:
                image = f.read()
            desc, module = ModuleDesc(stype=0x1b, format=1, size=len(image), input=image), pointer()
            if not ze.zeModuleCreate(self.context, self.device, ctypes.byref(desc), ctypes.byref(module), None):
                print(f"image {path}")
                return module
        sys.exit("no image is for this GPU: compile tests/data/zebin/k.cl for it (ocloc compile -file k.cl -device ... -options -g)")

    def kernel(self, name):
        kernel = made("zeKernelCreate", self.module, ctypes.byref(KernelDesc(stype=0x1d, name=name.encode())))
        call("zeKernelSetGroupSize", kernel, u32(GROUP), u32(1), u32(1))
        if hasattr(ze, "zeKernelSetArgumentValue"): # the simulated loader has no arguments
            call("zeKernelSetArgumentValue", kernel, u32(0), size_t(8), ctypes.byref(self.buffer))
            for n, value in enumerate(SHAPES[name], 1):
                local = isinstance(value, int)
                call("zeKernelSetArgumentValue", kernel, u32(n), size_t(value if local else 4), None if local else ctypes.byref(value))
        return kernel

    def ns(self, times):
        bits = self.properties.kernel_bits
        return ((times.end - times.start) & ((1 << bits) - 1)) * 1_000_000_000 // self.properties.hz


def launch(gpu, kernel, groups, event):
    call("zeCommandListAppendLaunchKernel", gpu.list, kernel, ctypes.byref((u32 * 3)(groups, 1, 1)), event, u32(0), None)
    call("zeEventHostSynchronize", event, u64(2**64 - 1))


def launch_tiny(gpu, kernel, event):
    launch(gpu, kernel, GROUPS["tiny"], event)


def launch_busy(gpu, kernel, event):
    launch(gpu, kernel, GROUPS["busy"], event)


def main():
    gpu = Gpu(sys.argv[1:])
    pool = made("zeEventPoolCreate", gpu.context, ctypes.byref(PoolDesc(stype=0x10, flags=POOL_VISIBLE_WITH_TIMES, count=2 * LAUNCHES)), u32(0),
                None)
    index = 0
    for name, launcher in (("tiny", launch_tiny), ("busy", launch_busy)):
        kernel, total = gpu.kernel(name), 0
        for _ in range(LAUNCHES):
            event, times = made("zeEventCreate", pool, ctypes.byref(EventDesc(stype=0x11, index=index))), Times()
            index += 1
            launcher(gpu, kernel, event)
            call("zeEventQueryKernelTimestamp", event, ctypes.byref(times))
            total += gpu.ns(times)
        print(f"{name} {LAUNCHES} {total}", flush=True)


main()

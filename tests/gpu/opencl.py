#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NVIDIA's OpenCL, by itself and beside CUDA in one process: all work is there, with its times and stacks, and none counted twice.

    tests/gpu/opencl.py                in a built tree, on a machine with an NVIDIA GPU and an OpenCL loader that has layers

Other implementations that are installed (PoCL) are left out.
"""
import collections
import ctypes
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "build")))
XPUPROF = os.path.join(BUILD, "xpuprof")
CUDA_FILLS, OPENCL_FILLS, BYTES = 100, 230, 1 << 20
failed = 0


def result(ok, name, *notes):
    global failed
    failed += not ok
    print(f"{'ok' if ok else 'NOT OK'}: {name}", *([] if ok else notes), flush=True)


def recorded(*command):
    """What the program printed, and the report."""
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "p.xpu")
        with open(os.path.join(folder, "nvidia.icd"), "w", encoding="utf-8") as vendor:
            vendor.write("libnvidia-opencl.so.1\n")
        done = subprocess.run([XPUPROF, "record", "-o", profile, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120, check=False, env={**os.environ, "OCL_ICD_VENDORS": folder + "/"})
        if done.returncode:
            result(False, f"{command} is recorded", done.stdout, done.stderr)
            return done.stdout, None
        report = subprocess.run([XPUPROF, "report", "--json", profile], stdout=subprocess.PIPE, text=True, check=True).stdout
        print(done.stderr.strip())
        return done.stdout, json.loads(report)


def counts(report, kind):
    return collections.Counter({k["name"]: k["count"] for k in report[kind]})


def check_whole(name, report):
    result(not any(report["losses"].values()) and not sum(report["works_without_stack"].values()), f"{name}: nothing is lost, all work has its stack",
           report["losses"], report["works_without_stack"])


def check_truth():
    said, report = recorded(os.path.join(BUILD, "tests", "targets", "opencl"), "truth")
    if not report:
        return
    wanted = sorted(said.splitlines())
    got = sorted(f"{k['name']} {k['count']} {k['total_ns']}" for k in report["kernels"])
    result(wanted and got == wanted, f"names, counts and times of kernels are those of the program's events: {wanted}", got)
    result(report["meta"].get("gpu_reported_ns") == str(report["gpu_ns"]), "all time that the driver reported is in the profile")
    check_whole("alone", report)
    print(report["meta"].get("cupti"), "clock error", report["meta"].get("clock_error_ns"), "ns,", report["devices"])


def check_demo():
    report = recorded(os.path.join(BUILD, "demo", "edges"))[1]
    if report:
        result(counts(report, "kernels") == {"blur": 120, "edges": 40, "histogram": 40}, "kernels of the demo", counts(report, "kernels"))
        check_whole("the demo", report)


def check_both():
    said, report = recorded(sys.executable, os.path.abspath(__file__), "both")
    if not report:
        return
    calls = collections.Counter({c["api"]: c["count"] for c in report["calls"]})
    fills = {api: n for api, n in calls.items() if "Fill" in api or "emset" in api}
    result(fills == {"cuMemsetD8Async": CUDA_FILLS, "clEnqueueFillBuffer": OPENCL_FILLS}, "calls of CUDA and of OpenCL in one process, each once", calls)
    result(report["works"] == CUDA_FILLS + OPENCL_FILLS, "and their work, once", report["works"], said)
    check_whole("both", report)


# ---- the program with both ----


def fill_by_cuda():
    cuda = ctypes.CDLL("libcuda.so.1")
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    assert not cuda.cuInit(0)
    assert not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    assert not cuda.cuCtxSetCurrent(context)
    assert not cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(BYTES))
    for n in range(CUDA_FILLS):
        assert not cuda.cuMemsetD8Async(memory, ctypes.c_ubyte(n), ctypes.c_size_t(BYTES), None)
    assert not cuda.cuCtxSynchronize()


def fill_by_opencl():
    cl = ctypes.CDLL("libOpenCL.so.1")
    for function in (cl.clCreateContext, cl.clCreateCommandQueue, cl.clCreateBuffer):
        function.restype = ctypes.c_void_p
    platform, device, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    assert not cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
    assert not cl.clGetDeviceIDs(platform, ctypes.c_uint64(4), 1, ctypes.byref(device), None)
    context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error)))
    queue = ctypes.c_void_p(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(error)))
    buffer = ctypes.c_void_p(cl.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(BYTES), None, ctypes.byref(error)))
    pattern = ctypes.c_uint32(7)
    for _ in range(OPENCL_FILLS):
        assert not cl.clEnqueueFillBuffer(queue, buffer, ctypes.byref(pattern), ctypes.c_size_t(4), ctypes.c_size_t(0), ctypes.c_size_t(BYTES), 0,
                                          None, None)
    assert not cl.clFinish(queue)


def main():
    if sys.argv[1:] == ["both"]:
        fill_by_cuda()
        fill_by_opencl()
        return 0
    check_truth()
    check_demo()
    check_both()
    print(f"{failed} failed" if failed else "all good")
    return failed != 0


sys.exit(main())

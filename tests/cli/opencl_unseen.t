#!/bin/sh
# SPDX-License-Identifier: MIT
# Which programs are said to use OpenCL without being recorded: those that no layer of ours is in, with the reasons that there
# are, and none that it is in, whatever they do with OpenCL. Over PoCL.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
target=$build/tests/targets/opencl
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so" POCL_CACHE_DIR="$work/pocl"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ZE_ENABLE_TRACING_LAYER
"$target" names >out 2>err || skip_all "no OpenCL here: $(head -1 err)"
cpu_side || skip_all "no mappings are reported here"

cat >uses.py <<'END'
import ctypes, sys
number, handle, none = ctypes.c_uint(), ctypes.c_void_p(), ctypes.c_void_p()
if "levelzero" in sys.argv:
    ctypes.CDLL("libze_loader.so.1", ctypes.RTLD_GLOBAL)
    ctypes.CDLL(None).zeInit(0)
cl = ctypes.CDLL("libOpenCL.so.1")
cl.clGetPlatformIDs(1, ctypes.byref(handle), ctypes.byref(number))
if "queue" in sys.argv:
    all_kinds = ctypes.c_uint64(0xFFFFFFFF)
    cl.clCreateContext.restype = cl.clCreateCommandQueue.restype = ctypes.c_void_p
    cl.clGetDeviceIDs(handle, all_kinds, 1, ctypes.byref(handle), None)
    context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(handle), None, None, None))
    queue = ctypes.c_void_p(cl.clCreateCommandQueue(context, handle, ctypes.c_uint64(0), None))
    sys.exit(cl.clFinish(queue))
END

# recorded COMMAND...: sets lost to how many programs with a GPU driver were not recorded
recorded() {
	run timeout -k 5 100 "$build/xpuprof" record $how -o p.xpu -- "$@"
	lost=$(xpuprof report --json p.xpu | python3 -c "import json, sys; print(json.load(sys.stdin)['losses'].get('gpu_never_connected', 0))")
}

# seen NAME
seen() {
	is "$status $lost" "0 0" "$1 is recorded"
	lacks "$err" "is not recorded" "and nothing else is said"
}

how=
recorded python3 uses.py
seen "a program that lists platforms"
lacks "$(xpuprof report p.xpu)" "OpenCL layer over" "which uses no implementation"
recorded python3 uses.py queue
seen "one with a queue and no command"
how="--overhead 1"
recorded "$target" names
seen "one that ends before the first burst"
how=
export LD_LIBRARY_PATH="$build/sim/levelzero${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
recorded python3 uses.py levelzero
seen "one that uses Level Zero and lists platforms of OpenCL"

# --- what is not seen
# unseen NAME
unseen() {
	is "$status $lost" "0 1" "$1 is counted"
	has "$err" "uses OpenCL, and that is not recorded: " "and named"
}

recorded env -u OPENCL_LAYERS -u LD_PRELOAD "$target" names
unseen "a program that got no variable"
has "$err" "(OPENCL_LAYERS), as in a program with other rights than its user's (setuid) or a cleared environment" "with that reason"
has "$err" "its loader knows no layers" "and that of its loader"
has "$err" "or it is linked to a driver, or it ran already" "and the others"

driver=$(cat "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/*.icd 2>/dev/null | grep libpocl | head -1)
if [ "$driver" ]; then
	recorded python3 -c "import ctypes; ctypes.CDLL('$driver')"
	unseen "one that is linked to a driver"
else
	skip "one that is linked to a driver is counted" "PoCL's driver is not in a list here"
fi

# PoCL may find no device then, but its driver is mapped.
cp "$target" other && chown nobody other 2>/dev/null && chmod 4755 other
chmod 755 "$work"
if [ -u other ]; then
	recorded ./other names
	is "$lost" 1 "one with other rights than its user's is counted"
	has "$err" "uses OpenCL, and that is not recorded: " "and named"
else
	skip "one with other rights than its user's is counted" "there can be none here"
fi
done_testing

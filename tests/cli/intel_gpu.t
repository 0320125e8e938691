#!/bin/sh
# SPDX-License-Identifier: MIT
# The script for owners of Intel's GPUs (tests/gpu/intel/run): over the simulated ones all of it holds, and nothing is called
# measured; without a GPU it says so.
. "$(dirname "$0")/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "needs root"
cpu_side || skip_all "CPU samples cannot be had here"
script=$here/../gpu/intel/run
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ZE_ENABLE_TRACING_LAYER
export XPUPROF_LIBIGA64=

run timeout -k 5 200 python3 "$script" --simulated
context=$out
is "$status" 0 "it runs over the simulated GPU"
lacks "$out" "not ok" "and all that it looks at holds"
has "$out" "replayed: Level Zero, times of kernels are those of the program's own events" "times are compared"
has "$out" "replayed: EU stalls, each sample is at a line of its own kernel" "and lines"
lacks "$out" "measured" "nothing is called measured there"

if grep -qs 0x8086 /sys/class/drm/renderD*/device/vendor; then
	skip "without a GPU it says so" "there is one"
else
	run python3 "$script"
	is "$status: $out" "0: 1..0 # SKIP no Intel GPU" "without a GPU it says so"
fi
done_testing

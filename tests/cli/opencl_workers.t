#!/bin/sh
# SPDX-License-Identifier: MIT
# What PoCL says that kernels took, beside CPU samples of the thread that ran them: two ways to the same time. There is one
# worker, a real-time thread, so that what runs beside it takes no CPU from it; a machine that is itself taken away for a while
# spoils an attempt, so there are three.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so" POCL_CACHE_DIR="$work/pocl" POCL_MAX_PTHREAD_COUNT=1
unset CUDA_INJECTION64_PATH OPENCL_LAYERS
[ "$(id -u)" = 0 ] || skip_all "needs root"
cpu_side || skip_all "CPU samples cannot be had here"
chrt -f 10 true 2>/dev/null || skip_all "no real-time threads here"
ls /usr/lib/*/libpocl.so* >/dev/null 2>&1 || skip_all "no PoCL here"
timeout -k 5 120 "$build/demo/edges" >/dev/null 2>err || skip_all "no OpenCL here: $(head -1 err)" # compiles once

# The sums of both, and by how much they differ at most: of all kernels, and of the one that takes most of the time.
compare() {
	xpuprof export --to folded --view cpu p.xpu >p.folded
	xpuprof report --json p.xpu >p.json
	python3 - <<'END'
import json
lines = [line.rsplit(" ", 1) for line in open("p.folded")]
said, sampled = {}, {}
for kernel in json.load(open("p.json"))["kernels"]:
    said[kernel["name"]] = kernel["total_ns"]
    sampled[kernel["name"]] = sum(int(us) * 1000 for text, us in lines if f"_pocl_kernel_{kernel['name']}_workgroup" in text)
most = max(said, key=said.get)
off = [abs(sampled[most] / said[most] - 1), abs(sum(sampled.values()) / sum(said.values()) - 1)]
print(f"{'agree' if max(off) < 0.05 else 'differ'}: said {said}, sampled {sampled}, off by {max(off):.3f}")
END
}

for attempt in 1 2 3; do
	run timeout -k 5 120 "$build/xpuprof" record -q -F 1999 -o p.xpu -- chrt -f 10 "$build/demo/edges"
	[ "$status" = 0 ] || break
	agreement=$(compare)
	echo "# $agreement"
	case $agreement in agree*) break ;; esac
done
is "$status" 0 "a program with one worker is recorded"
has "$agreement" "agree: " "samples of the worker in the kernels' code agree with the kernels' times within 5 %"
done_testing

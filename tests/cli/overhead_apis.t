#!/bin/sh
# SPDX-License-Identifier: MIT
# `xpuprof record --overhead` of programs that use Level Zero (over the simulated loader and device) and OpenCL (over PoCL, where it is
# installed): bursts as with CUDA, and what drivers take for events counts as a cost, so there is less of them.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
targets=$build/tests/targets
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so" POCL_CACHE_DIR="$work/pocl"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ZE_ENABLE_TRACING_LAYER
library_path=$LD_LIBRARY_PATH

field() {
	xpuprof report --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

losses='{k: n for k, n in r["losses"].items() if n and k.startswith("gpu_")}'
share='r["bursts"]["recorded_ns"] / r["bursts"]["of_ns"]'

# governed PERCENT PROGRAM ARGUMENT...
governed() {
	percent=$1 program=$2
	shift 2
	run timeout -k 5 100 "$build/xpuprof" record -q --overhead "$percent" -o p.xpu -- "$targets/$program" "$@"
	count=$out
	context="$err $(field 'r["works"], r.get("bursts")') of $count"
}

# --- Level Zero; a cycle is a nanosecond, and an append with an event takes 20 us more
export LD_LIBRARY_PATH="$build/sim/levelzero" XPUPROF_SIM_ZE_HZ=1000000000
XPUPROF_SIM_ZE_EVENT_NS=20000 governed 2 levelzero long 7 # a period has 5 s at most
is "$status $(field "$losses, r['meta']['overhead']")" "0 {} 2" "Level Zero: nothing is lost in bursts"
is "$(field "r['bursts']['count'] > 1, [k['name'] for k in r['kernels']], sum(r['works_without_stack'].values())")" "True ['one'] 0" \
	"and there are some, with kernels on their stacks"
# 0.04 where costs of calls are measured, 0.2 where they are not
is "$(field "$share < 0.15")" True "what the driver takes for events counts: bursts are rare"
has "$(xpuprof report p.xpu)" "in bursts" "and the report says that they are bursts"
run "$targets/levelzero" recorded
alone=$(printf '%s\n' "$out" | awk '{print $1, $2}')
governed 20 levelzero recorded
is "$status: $(printf '%s\n' "$count" | awk '{print $1, $2}')" "0: $alone" "a program that executes recorded lists runs as alone"

# --- OpenCL
export LD_LIBRARY_PATH="$library_path"
if "$targets/opencl" names >/dev/null 2>err; then
	governed 5 opencl long 7
	is "$status $(field "$losses")" "0 {}" "OpenCL: nothing is lost in bursts"
	is "$(field "r['bursts']['count'] > 1, [k['name'] for k in r['kernels']], sum(r['works_without_stack'].values())")" "True ['scale'] 0" \
		"and there are some, with kernels on their stacks"
	is "$(field "$count / 2 < r['works'] < $count * 2 and r['bursts']['works_recorded'] < $count")" True \
		"what they stand for is about what ran"
else
	skip "OpenCL in bursts" "no OpenCL here: $(head -1 err)"
fi
done_testing

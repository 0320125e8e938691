#!/bin/sh
# SPDX-License-Identifier: MIT
# What programs may do with Level Zero that is hard on a tracer: very many queues and kernels, forks, other tracers before and after
# ours. The program sees what it sees alone, and what is lost is counted. Over the simulated loader and device.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
target=$build/tests/targets/levelzero
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ZE_ENABLE_TRACING_LAYER
export LD_LIBRARY_PATH="$build/sim/levelzero"

field() {
	xpuprof report --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

losses='{k: n for k, n in r["losses"].items() if n and k.startswith("gpu_")}'
kernels='[(k["name"], k["count"], k["total_ns"]) for k in sorted(r["kernels"], key=lambda k: k["name"])]'

# peak COMMAND...: MiB, of the largest of its processes
peak() {
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)' "$@"
}

# --- very many; a cycle is a nanosecond
export XPUPROF_SIM_ZE_HZ=1000000000 XPUPROF_SIM_ZE_DEVICES=2
few=$(peak "$build/xpuprof" record -q -o p.xpu -- "$target" queues 1000)
run peak timeout -k 5 200 "$build/xpuprof" record -q -o p.xpu -- "$target" queues 140000
is "$status" 0 "a hundred and forty thousand queues, more than are followed"
is "$(field '[(k["name"], k["count"]) for k in r["kernels"]], [d["works"] for d in r["devices"]]')" "[('everywhere', 140000)] [140000]" \
	"all of their work is there, on its device"
is "$(field 'r["gpu_ns"] == 1000 * (140000 - r["losses"]["gpu_untimed"]), r["losses"]["gpu_untimed"] >= 140000 - 131072')" "True True" \
	"with its times, or counted as without"
context="$few MiB of a thousand, $out of a hundred and forty thousand"
true_that "memory is bounded" [ "$out" -lt $((few + 200)) ]
unset XPUPROF_SIM_ZE_DEVICES XPUPROF_SIM_ZE_HZ # as slowly as all is read
run peak timeout -k 5 200 "$build/xpuprof" record -q -o p.xpu -- "$target" kernels 100000
is "$status $(field "$kernels, $losses")" "0 [('one', 33334, $((33334 * 52083))), ('three', 33333, $((33333 * 52083))), ('two', 33333, $((33333 * 52083)))] {}" \
	"a hundred thousand kernels: each with its name and times"
context="$few MiB of a thousand queues, $out of a hundred thousand kernels"
true_that "and memory is bounded" [ "$out" -lt $((few + 200)) ]

# --- forks
run "$target" fork
alone=$out
run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$target" fork
is "$status: $out" "0: $alone" "a child that makes a list of its own, and destroys all that it has: as alone"
is "$(field "[k[:2] for k in $kernels], $losses")" "[('forked', 2)] {}" "the parent's work is there"

# --- other tracers, which put their own events in
export OTHER_SAYS="$work/other"
other=$build/tests/targets/levelzero_tracer.so
ZE_ENABLE_TRACING_LAYER=1 LD_PRELOAD=$other "$target" truth >truth
is "$(cat "$OTHER_SAYS")" "200 150" "another tracer sees all launches, and times of those without an event, alone"
run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- env LD_PRELOAD="$other:$XPUPROF_LIBRARY" "$target" truth
is "$status: $out" "0: $(cat truth)" "another tracer, made after ours: the program sees the same"
is "$(field "'\n'.join('%s %d %d' % k for k in $kernels)") $(field "$losses")" "$(grep -v -e copy -e set truth) {}" "it has all its kernels and times"
is "$(cut -d ' ' -f 1 "$OTHER_SAYS")" 200 "and the other sees all launches"
LD_PRELOAD=$other run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$target" truth
is "$status: $out" "0: $(cat truth)" "another tracer, made before ours: the program sees the same"
is "$(cat "$OTHER_SAYS")" "200 150" "and the other what it sees alone"
is "$(field 'sum(c["count"] for c in r["calls"] if "Synchronize" not in c["api"]) - r["works"] - r["launches_without_work"]["unfinished"]')" 0 \
	"all calls have their work, or are counted as without"
# what it resets where no tracer sees it has no times, and none that are another's
is "$(field 'all(k["total_ns"] % each == 0 for k in r["kernels"] for each in [{"large": 104166, "small": 52604}[k["name"]]])')" True \
	"all times are those of their kernels"
done_testing

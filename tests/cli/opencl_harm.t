#!/bin/sh
# SPDX-License-Identifier: MIT
# What programs may do with OpenCL that is hard on who stands between them and their driver: addresses of handles that are used
# again when nothing is recorded any more, callbacks, destructors, forks, very many queues and kernels, other layers, kernels that end
# their program. It sees what it sees alone, goes on, and what is lost is counted. Over a driver of ours (tests/targets/opencl_handles.c,
# opencl_liar.c), and over PoCL where it is installed.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
targets=$build/tests/targets
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so" POCL_CACHE_DIR="$work/pocl"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS

field() {
	xpuprof report --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

calls='sum(c["count"] for c in r["calls"] if c["kind"] == "launch")'
losses='{k: n for k, n in r["losses"].items() if n and k.startswith("gpu_")}'
# Each launch has its work, or is counted as one without.
accounted="$calls - r['works'] - sum(r['launches_without_work'].values())"

# as_alone NAME MODE [COUNT]: what the program prints
as_alone() {
	name=$1
	shift
	alone=$("$targets/opencl_handles" "$@")
	run timeout -k 5 60 "$build/xpuprof" record -q $options -o p.xpu -- "$targets/opencl_handles" "$@"
	is "$status: $out" "0: $alone" "$1: $name"
}

options=
# --- handles that are used again, where nobody follows any more
as_alone "a child makes a queue at the address of one that was followed" fork
is "$(field "r['works'], $losses, $accounted")" "2 {} 0" "fork: the parent's work is there, and the child's is not taken for it"
has "$out" "there again: 1" "fork: it is the same address"
options="-d 1"
as_alone "so does a program when the recording is over" outlive
is "$(field 'r["works"]')" 1 "outlive: what was recorded is there"
options=

# --- callbacks
as_alone "destructors of a context are called in the call that lets go of it" destroyed 1000
is "$(field "r['works'], $losses, $accounted")" "1000 {} 0" "destroyed: their work is there"
as_alone "a destructor that waits for a thread that asks for counts" waits
is "$(field "r['works'], $losses, $accounted")" "3 {} 0" "waits: all work is there, also what a destructor has launched"
as_alone "a driver that calls back while it has its lock" locked
is "$(field "r['works'], $losses, $accounted")" "6 {} 0" "locked: all work is there"
as_alone "ten thousand launches in callbacks, under such a lock" locks 10000
is "$(field "r['works'], $accounted, r['losses']['gpu_untimed'] < 10000")" "10000 0 True" "locks: all work is there"

# --- very many
as_alone "more queues than are followed in the life of a process" queues 1200000
is "$(field "$calls, $accounted")" "12001 0" "queues: all launches are there, with work or counted as without"
has "$(field "$losses")" "gpu_untimed" "queues: losses are counted"

# peak COMMAND...: MiB, of the largest of its processes
peak() {
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)' "$@"
}

for many in queues kernels; do
	few=$(peak "$build/xpuprof" record -q -o p.xpu -- "$targets/opencl_liar" $many 1000)
	run peak timeout -k 5 100 "$build/xpuprof" record -q -o p.xpu -- "$targets/opencl_liar" $many 100000
	is "$status" 0 "a hundred thousand $many"
	is "$(field "$calls, r['works'], $accounted")" "100000 100000 0" "a hundred thousand $many: all work is there"
	context="$few MiB of a thousand, $out of a hundred thousand"
	is "$(field 'sorted((k["name"], k["count"]) for k in r["kernels"])')" \
		"$([ $many = queues ] && echo "[('kernel', 100000)]" || echo "[('one', 33334), ('three', 33333), ('two', 33333)]")" \
		"a hundred thousand $many: each with its name"
	true_that "a hundred thousand $many: memory is bounded" [ "$out" -lt $((few + 200)) ]
done

# --- other layers, which follow kernels as profilers do
export OTHER_SAYS="$work/other"
other=$targets/opencl_layer.so

# beside WHERE PROGRAM ARGUMENT...: with the other layer above ours (as $OPENCL_LAYERS has it before `record`), or below
beside() {
	where=$1
	shift
	rm -f "$OTHER_SAYS"
	if [ "$where" = above ]; then
		OPENCL_LAYERS=$other run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$@"
	else
		run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- env OPENCL_LAYERS="$other:$XPUPROF_LIBRARY" "$@"
	fi
}

OPENCL_LAYERS=$other "$targets/opencl_liar" monotonic >/dev/null
alone=$(cat "$OTHER_SAYS")
is "$alone" "1000 936 0" "another layer sees all kernels, and times of those that it looked at, alone"
for where in above below; do
	beside $where "$targets/opencl_liar" monotonic
	is "$status: $(cat "$OTHER_SAYS")" "0: $alone" "another layer, $where ours: it sees what it sees alone"
	is "$(field 'sum(k["count"] for k in r["kernels"]), sum(k["total_ns"] for k in r["kernels"])') $(field "$losses")" "1000 $out {}" \
		"another layer, $where ours: ours has all kernels and times"
done

# --- the same on a real implementation
"$targets/opencl" names >/dev/null 2>err || {
	skip "a real implementation" "no OpenCL here: $(head -1 err)"
	done_testing
}
for where in above below; do
	beside $where "$targets/opencl" truth
	is "$(field '"\n".join(sorted("%s %d %d" % (k["name"], k["count"], k["total_ns"]) for k in r["kernels"]))')" "$(printf '%s\n' "$out" | sort)" \
		"another layer, $where ours, PoCL: names, counts and times"
	is "$(cat "$OTHER_SAYS")" "50 50 0" "another layer, $where ours, PoCL: it sees what it sees alone"
	is "$(field "sum(r['works_without_stack'].values()), $losses")" "0 {}" "another layer, $where ours, PoCL: with stacks, and nothing lost"
	run xpuprof export --to folded --view gpu p.xpu
	has "$out" ";truth;launch_scale;" "another layer, $where ours, PoCL: kernels stand on the functions that launched them"
done
# The other one hides nothing of what it does: profiling, which ours has asked for where it is below, and references.
OPENCL_LAYERS=$other "$targets/opencl_commands" seen >seen 2>/dev/null
beside above "$targets/opencl_commands" seen
printf '%s\n' "$out" | diff seen - >difference
is "$(cat difference)" "" "another layer, above ours, PoCL: the program sees what it sees with that layer alone"
"$targets/opencl_commands" seen 2>/dev/null | sed 's/ [0-9]* references/ references/' >seen
beside below "$targets/opencl_commands" seen
printf '%s\n' "$out" | sed 's/ [0-9]* references/ references/' | diff seen - >difference
is "$(cat difference)" "" "another layer, below ours, PoCL: the program sees what it sees without layers, but for that one's references"
unset OTHER_SAYS
run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$targets/opencl" callbacks
is "$status: $out" "0: $("$targets/opencl" callbacks)" "callbacks of PoCL's that launch and let go, and contexts that are destroyed: as alone"
is "$(field "r['works'], $losses, $accounted + 10")" "210 {} 0" "all of their work is there"
run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$targets/opencl" killed
true_that "a kernel that ends its program: the recorder goes on" [ "$status" -gt 128 ]
is "$(field "sum(k['count'] for k in r['kernels'] if k['name'] == 'scale'), r['incomplete']")" "20 None" "what ran before is there"
is "$(field "$accounted")" 0 "and the one that ended it is counted as one without work"
run timeout -k 5 100 "$build/xpuprof" record -q -o p.xpu -- "$targets/opencl" queues 2000
is "$status $(field "r['works'], $losses, $accounted")" "0 2000 {} 0" "two thousand queues of PoCL's at once"
done_testing

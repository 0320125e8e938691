#!/bin/sh
# SPDX-License-Identifier: MIT
# OpenCL drivers with every sort of clock, and some that lie: what contradicts itself has no time in the profile, and is
# counted; and nothing that a program makes many of, or that never ends, costs more than its share. The driver is ours
# (tests/targets/opencl_liar.c), so that no OpenCL is needed.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS

field() {
	xpuprof report --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

# recorded LIE [COUNT]: sets kernels to "COUNT NANOSECONDS", losses
options=
recorded() {
	run timeout -k 5 100 "$build/xpuprof" record -q $options -o p.xpu -- "$build/tests/targets/opencl_liar" "$@"
	kernels=$(field 'sum(k["count"] for k in r["kernels"]), sum(k["total_ns"] for k in r["kernels"])')
	losses=$(field '{k: n for k, n in r["losses"].items() if n and k.startswith("gpu_")}')
}

for clock in monotonic raw realtime counter timer; do
	recorded $clock
	is "$status: $kernels $losses" "0: 1000 $out {}" "$clock: all work, with the driver's own times"
	is "$(field '0 < int(r["meta"]["clock_error_ns"]) < 1000000')" True "$clock: it is known how well its clock is known"
	is "$(field 'r["latency"]["max_ns"] < 1e9')" True "$clock: and the work is where it was asked for"
done
run timeout -k 5 100 "$build/xpuprof" record -q --queue-times -o p.xpu -- "$build/tests/targets/opencl_liar" counter
xpuprof export --to chrome p.xpu >p.json
is "$(python3 -c 'import json
kernels = [e for e in json.load(open("p.json"))["traceEvents"] if e.get("cat") == "GPU_Kernel"]
print(len(kernels), {tuple(round(1000 * ns) for ns in (e["args"]["submitted"] - e["args"]["queued"], e["ts"] - e["args"]["submitted"])) for e in kernels})')" \
	"1000 {(10, 20)}" "counter: when kernels were queued and submitted, to the nanosecond"
for lie in zero reversed early late huge begun refused failed; do
	recorded $lie
	is "$status: $kernels $losses" "0: 1000 0 {'gpu_untimed': 1000}" "$lie: the work is there, without times, and counted"
done
run xpuprof report p.xpu
has "$out" "1,000 pieces of GPU work without times of their own" "the report says so"

# Times of work that is right, by a clock that is not; or the other way round: none is shown that is wrong.
right="sum(k['total_ns'] for k in r['kernels']) == 100 * (1000 - r['losses']['gpu_untimed'])"
for lie in backwards timer-backwards timer-random; do
	recorded $lie
	is "$status $(field "r['works'], $right, r['latency']['max_ns'] < 1e9")" "0 1000 True True" \
		"$lie: all work is there, each with its own times or counted as one without"
done
recorded backwards
is "$(field 'r["losses"]["gpu_untimed"] >= 990')" True "backwards: times that contradict those before are not used"
for lie in timer-zero timer-huge; do
	recorded $lie
	is "$status: $kernels $losses" "0: 1000 $out {}" "$lie: a device that cannot say what time it is is one that cannot be asked"
done

recorded jump
is "$status" 0 "jump: a clock that is set is recorded"
is "$(field '0 < r["losses"]["gpu_untimed"] <= 256 and r["gpu_ns"] == 100 * (1000 - r["losses"]["gpu_untimed"])')" True \
	"jump: work from around that time has no times, all other has"

recorded never 70000
is "$status" 0 "never: a program of whose commands none ends, ends"
is "$(field 'r["launches_without_work"]["unfinished"] + r["losses"]["gpu_untimed"]')" 70000 "never: all are counted"
is "$(field 'r["launches_without_work"]["unfinished"]')" 49152 "never: only so many events are held"
options="--opencl-times 1/16"
recorded kernels 6000
options=
is "$status: $losses" "0: {}" "some have times: the others are none that are lost"
is "$(field 'sorted((k["name"], abs(k["count"] - 2000) < 16, k["total_ns"] == 100 * k["count"]) for k in r["kernels"])')" \
	"[('one', True, True), ('three', True, True), ('two', True, True)]" "some have times: they stand for all of the same name"
is "$(field '375 <= r["works_timed"] <= 400, [c["count"] for c in r["calls"]]')" "True [6000]" "some have times: all are calls"
is "$(field 'all(k["low_ns"] < k["total_ns"] < k["high_ns"] < k["total_ns"] + 1600 for k in r["kernels"])')" True \
	"some have times: the error is that of a part of a block"

# --- who reads times: our thread cannot follow, as it waits for each answer while the queue works
recorded slow 60000
# Where other programs have the processors, whoever has the lock may lose its own.
is "$status: $(field 'r["works"], r["losses"]["gpu_untimed"] <= 600, r["launches_without_work"]["unfinished"]')" "0: 60000 True 0" \
	"slow: whoever launches reads times of what our thread cannot, and hardly any is lost"
is "$(field '[(c["api"], c["count"]) for c in r["calls"]]')" "[('clEnqueueNDRangeKernel', 60000), ('clFinish', 1)]" "slow: all are calls"
for options in "" --off-cpu; do
	what="waits${options:+, $options}"
	recorded waits
	is "$status: $(field 'r["works"], r["gpu_ns"]') $losses" "0: 12030 1203000 {}" "$what: all work, with the driver's own times"
	context=$out
	# Our thread may have been in the way in some rounds.
	read -r rounds finish blocking latest middle <<-END
		$out
	END
	true_that "$what: after clFinish the thread has read all times itself" [ "$finish" -gt $((rounds / 2)) ]
	true_that "$what: and after a read that blocks" [ "$blocking" -gt $((rounds / 2)) ]
	true_that "$what: and after a wait for the latest event" [ "$latest" -gt $((rounds / 2)) ]
	is "$middle" 0 "$what: a wait for an event in the middle asks for nothing"
done
options=

recorded platforms 3000
is "$status: $kernels $losses" "0: 3000 300000 {}" "platforms: two at once, each with a clock of its own"
is "$(field 'sorted((d["name"], d["works"]) for d in r["devices"])')" "[('Liar', 1000), ('Other', 2000)]" \
	"platforms: a part of a device counts as the device"
is "$(field 'r["meta"]["cupti"].splitlines()')" "['OpenCL layer over liar, liar', 'OpenCL layer over else, else']" \
	"platforms: both are named"
is "$(field 'r["latency"]["max_ns"] < 1e9')" True "platforms: the work is where it was asked for"

# --- what is not in the loader's table: each platform has its own functions, which end the program if they get another's queue
alone=$("$build/tests/targets/opencl_liar" extensions)
recorded extensions
is "$status: $out" "0: $alone" "extensions: each platform's function gets its queues, and these are as without us"
is "$(field 'sorted((c["api"], c["count"]) for c in r["calls"])')" \
	"[('clEnqueueMemFillINTEL', 3), ('clEnqueueMemcpyINTEL', 3), ('clEnqueueMemsetINTEL', 6), ('clEnqueueMigrateMemINTEL', 3)]" \
	"extensions: all commands are calls"
is "$(field 'sum(c["bytes"] for c in r["copies"]), sum(c["bytes"] for c in r["sets"]), r["gpu_ns"]') $losses" \
	"$((3 * 507)) $((3 * 1110)) 1500 {}" "extensions: with bytes and times"

# --- beside another API, over one connection
for order in cuda-first cuda-last; do
	LD_LIBRARY_PATH=$build/sim recorded $order
	is "$status" 0 "$order: a program that uses two APIs is recorded"
	is "$(field 'sorted((k["name"], k["count"]) for k in r["kernels"])')" "[('axpy', 10), ('kernel', 1000)]" \
		"$order: the work of both, once"
	is "$(field 'sorted((d["name"][:4], d["works"]) for d in r["devices"])')" "[('Liar', 1000), ('Simu', 10)]" \
		"$order: each on its device"
	is "$(field 'sum(r["works_without_stack"].values())') $losses" "0 {}" "$order: with stacks, and nothing lost"
	is "$(field 'sorted((c["api"], c["count"]) for c in r["calls"])')" \
		"[('clEnqueueNDRangeKernel', 1000), ('cuCtxSynchronize', 1), ('cuLaunchKernel', 10)]" "$order: the calls of both"
done
done_testing

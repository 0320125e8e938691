#!/bin/sh
# SPDX-License-Identifier: MIT
# OpenCL is recorded by a layer, on a real implementation (PoCL, whose device is the CPU): every command with its
# stack, its times to the nanosecond as the driver reports them, and nothing of that is seen by the program.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
targets=$build/tests/targets
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so" POCL_CACHE_DIR="$work/pocl"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS
"$targets/opencl_commands" seen >seen 2>err || skip_all "no OpenCL here: $(head -1 err)"
"$targets/opencl" names >/dev/null 2>&1 # what is compiled once

# recorded PROGRAM ARGUMENT...: of the targets
recorded() {
	program=$1
	shift
	run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$targets/$program" "$@"
}

# field EXPRESSION: of the report in JSON, r
field() {
	xpuprof report --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

losses='{k: n for k, n in r["losses"].items() if n}'
without_stack='sum(r["works_without_stack"].values())'

# --- what the program sees
recorded opencl_commands seen
is "$status" 0 "a program that uses OpenCL is recorded"
printf '%s\n' "$out" | diff seen - >difference
is "$(cat difference)" "" "it sees the same properties, counts of references and errors as without us"
OPENCL_LAYERS="$XPUPROF_LIBRARY" "$targets/opencl_commands" seen | diff seen - >difference
is "$(cat difference)" "" "so too with the layer and no recorder"

# --- kernels
recorded opencl truth
is "$status" 0 "kernels are recorded"
truth=$(printf '%s\n' "$out" | sort)
is "$(field '"\n".join(sorted("%s %d %d" % (k["name"], k["count"], k["total_ns"]) for k in r["kernels"]))')" "$truth" \
	"names, counts and times are those of the program's own events, to the nanosecond"
is "$(field 'r["meta"]["gpu_reported_ns"] == str(r["gpu_ns"])')" True "all time that the driver reported is in the profile"
is "$(field "$without_stack")" 0 "all work has its stack"
is "$(field "$losses")" "{}" "nothing is lost"
is "$(field '0 < int(r["meta"]["clock_error_ns"]) < 1000000')" True "how well the device's clock is known is stored"
has "$(field 'r["devices"][0]["name"]')" " (CPU)" "a device that is the CPU is called so"
has "$(field 'r["meta"]["cupti"]')" "OpenCL layer over " "which implementation it is"
run xpuprof export --to folded --view gpu p.xpu
has "$out" ";main;truth;launch_scale;clEnqueueNDRangeKernel;[GPU_Kernel]scale " "kernels stand on the functions that launched them"
has "$out" ";main;truth;launch_add;clEnqueueNDRangeKernel;[GPU_Kernel]add " "each on its own"
lacks "$out" "our_clEnqueue" "without our functions"
run xpuprof export --to folded --view wall p.xpu
has "$out" ";wait_for_queue;clFinish;[waiting for the GPU]" "clFinish is a wait for the GPU"
run xpuprof export --to chrome p.xpu
has "$out" '"name":"OpenCL: clEnqueueNDRangeKernel","cat":"OpenCL"' "a timeline has its calls, as of its API"
has "$out" '"name":"Kernel: scale"' "and its kernels"
xpuprof flame -o p.svg p.xpu
has "$(cat p.svg)" "clEnqueueNDRangeKernel" "a flame graph has both"
has "$(cat p.svg)" "a device is no GPU: " "and says that this device is no GPU"
has "$(cat p.svg)" " (CPU)" "but the CPU"
run xpuprof report p.xpu
has "$out" "clFinish at truth > wait_for_queue" "the report: which call waited"
run xpuprof record -q --queue-times -o p.xpu -- "$targets/opencl" truth
run xpuprof export --to extended-folded p.xpu
has "$out" "scale" "every event by itself"

if cpu_side; then
	run timeout -k 5 60 "$build/xpuprof" record -q --off-cpu -o p.xpu -- "$targets/opencl" several
	run xpuprof export --to folded --view wall p.xpu
	has "$out" ";several;clWaitForEvents;[waiting for the GPU];_start" "clWaitForEvents, too"
	has "$out" ";clEnqueueNDRangeKernel;[GPU_Kernel]add" "of several events it waits for that which ends last"
	lacks "$(printf '%s\n' "$out" | grep waiting.for.the.GPU)" "[GPU_Kernel]scale" "and not for the others"
else
	skip "of several events a call waits for that which ends last" "waits cannot be recorded here"
fi

# --- every command
recorded opencl_commands commands
wanted=$(printf '%s\n' "$out" | sort | uniq -c | awk '{ print $2, $1 }')
more=$(field '"\n".join(sorted("%s %d" % (c["api"], c["count"]) for c in r["calls"]))')
# shared memory is finished with once more, before it is freed
[ "$(field 'sum(c["count"] for c in r["calls"] if c["api"] == "clFinish")')" = 2 ] &&
	more=$(printf '%s\n' "$more" | sed 's/^clFinish 2$/clFinish 1/')
is "$more" "$wanted" "every command that was accepted is a call, once"
true_that "and these are nearly all there are" [ "$(printf '%s\n' "$wanted" | wc -l)" -ge 27 ]
is "$(field 'r["works"] + 3')" "$(printf '%s\n' "$wanted" | awk '{ n += $2 } END { print n + 1 }')" \
	"and all but waits have work"
is "$(field 'sorted(k["name"] for k in r["kernels"] if k["name"][0] != "[")')" "['task', 'touch']" "kernels by their names"
is "$(field 'sorted(k["name"] for k in r["kernels"] if k["name"] == "[native kernel]")')" "['[native kernel]']" "and native ones"
is "$(field "$without_stack, $losses")" "0 {}" "with stacks, without losses"
is "$(field 'sum(c["bytes"] for c in r["copies"] if c["kind"] == "DtoH")')" \
	$((4096 + 64 * 4 + 4096 + 16 * 16 * 4 + 16 * 16 * 4 + 4096)) "and with their bytes"

run xpuprof export --to folded --view wall p.xpu
for call in clEnqueueReadBuffer clEnqueueReadBufferRect clEnqueueReadImage clEnqueueMapBuffer clEnqueueMapImage clEnqueueSVMMemcpy; do
	has "$out" ";main;$call;[waiting for the GPU]" "$call that blocks is a wait for the GPU"
done

# --- times of some commands
run timeout -k 5 60 "$build/xpuprof" record -q --opencl-times 1/4 -o p.xpu -- "$targets/opencl" truth
is "$status" 0 "one command in four has times"
is "$(field '[(c["api"], c["count"]) for c in r["calls"] if "NDRange" in c["api"]]')" "[('clEnqueueNDRangeKernel', 50)]" \
	"all are calls"
is "$(field "$without_stack, $losses, sum(r['launches_without_work'].values())")" "0 {} 0" \
	"all work has its stack, and no call is without work"
# Of 20 pieces 6 or 7 have times, of 30 8 or 9 (inject/draws.h).
true_that "a quarter has times, the first ones more often" [ "$(field '14 <= r["works_timed"] <= 17')" = True ]
is "$(field 'sorted((k["name"], abs(k["count"] - {"scale": 20, "add": 30}[k["name"]]) <= 3) for k in r["kernels"])')" \
	"[('add', True), ('scale', True)]" "and stands for all of its kernel, but for a part of a block"
run xpuprof report p.xpu
has "$out" " pieces of work (--opencl-times 1/4): times are estimates" "the report says so"
has "$out" "Not known: only some of the GPU work has times." "and what is not known then"
run xpuprof export --to folded --view gpu p.xpu
has "$out" ";main;truth;launch_scale;clEnqueueNDRangeKernel;[GPU_Kernel]scale " "the rest stands on the functions that launched it"
xpuprof flame -o p.svg p.xpu
has "$(cat p.svg)" " pieces of GPU work have times, and stand for the others" "a flame graph says so"
run timeout -k 5 60 "$build/xpuprof" record -q --opencl-times 1/4 -o p.xpu -- "$targets/opencl_commands" seen
printf '%s\n' "$out" | diff seen - >difference
is "$(cat difference)" "" "the program sees nothing of that"
for wrong in 16 1/0 1/x 2/3 1/9999999; do
	run xpuprof record --opencl-times $wrong -o p.xpu -- true
	is "$status" 2 "--opencl-times $wrong is none"
done
run xpuprof record --opencl-times 1/4 --overhead 1 -o p.xpu -- true
has "$err" "--opencl-times and --overhead exclude each other" "not with --overhead"

# --- samples of instructions
run timeout -k 5 60 "$build/xpuprof" record --stalls -o p.xpu -- "$targets/opencl" truth
has "$err" "OpenCL has no samples of instructions" "with --stalls it is said that there are none"
run xpuprof report --stalls p.xpu
has "$out" "OpenCL has no samples of instructions" "so too by the report"
run xpuprof annotate scale p.xpu
has "$err" "OpenCL has no samples of instructions" "and where a kernel is asked for"
run xpuprof flame --view stall -o p.svg p.xpu
has "$(cat p.svg)" "OpenCL has no samples of instructions" "and in the picture"

# --- hardware counters
if [ ! -e /dev/nvidiactl ]; then
	run timeout -k 5 60 "$build/xpuprof" record --counters -o p.xpu -- "$targets/opencl" truth
	has "$err" "no hardware counters: they are of NVIDIA's GPUs only" "with --counters it is said that there are none"
	is "$(field "$losses")" "{}" "and no device is counted as one without"
fi

# --- lives of handles, order, and the end
recorded opencl names
is "$(field '"\n".join("%s %d" % (n, sum(k["count"] for k in r["kernels"] if k["name"] == n)) for n in ("scale", "add", "empty"))')" \
	"$out" "kernels have their own names where addresses are used again"
has "$err" "of kernels" "(they are: $err)"
recorded opencl disorder
is "$(field 'sorted((k["name"], k["count"]) for k in r["kernels"])')" "[('add', 20), ('scale', 20)]" \
	"commands out of order all come"
is "$(field "$without_stack, $losses")" "0 {}" "with stacks"
recorded opencl stuck
is "$status" 0 "a program whose command never ends, ends"
is "$(field '[(k["name"], k["count"]) for k in r["kernels"]]')" "[('scale', 20)]" "what has ended is there"
is "$(field 'r["launches_without_work"]["unfinished"]')" 1 "and one that has not is counted"
recorded opencl threads
is "$(field 'r["works"], len(r["devices"])')" "400 1" "several contexts of several threads"
recorded opencl parts
is "$status" 0 "parts of a device, released while their queues live"
is "$(field 'r["works"], len(r["devices"])')" "$(((out + 1) * 10)) 1" "parts of a device count as the device"
recorded opencl fork
is "$(field 'r["works"]')" 2 "the parent of a forked child goes on"
run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- sh -c "$targets/opencl truth & $targets/opencl names; wait"
is "$(field 'sorted(p["works"] for p in r["processes"] if p["works"])')" "[50, 200]" "two processes at once"

# --- the recorder ends before the program
"$build/xpuprof" record -q -o p.xpu -- "$targets/opencl" long 3 >count 2>/dev/null &
recorder=$!
for n in $(seq 100); do
	pid=$(pgrep -P $recorder -x opencl) && grep -q libpocl "/proc/$pid/maps" && break
	sleep 0.05
done
sleep 0.5
kill -9 $recorder
wait $recorder 2>/dev/null
for n in $(seq 100); do
	[ -d "/proc/$pid" ] || break
	sleep 0.1
done
true_that "a program goes on when its recorder is killed" [ "$(cat count)" -gt 0 ]
run xpuprof report --json p.xpu
is "$status" 0 "and what was recorded can be read"
run timeout -k 5 60 "$build/xpuprof" record -q -d 5 -o p.xpu -- "$targets/opencl" long 8
true_that "a recording of a part has work" [ "$(field 'r["works"]')" -gt 0 ]
is "$(field "$losses")" "{}" "and loses nothing"

# --- what else may be there
mkdir -p layers
OPENCL_LAYERS="$work/layers/none.so" recorded opencl truth
is "$(field 'r["works"]')" 50 "a user's layer that cannot be loaded does no harm"
run xpuprof record -q -o p.xpu -- sh -c 'echo "$OPENCL_LAYERS"'
is "$out" "$XPUPROF_LIBRARY" "the layer is ours"
export OPENCL_LAYERS=/a.so:/else/libxpuprof-inject.so:/b.so
run xpuprof record -q -o p.xpu -- sh -c 'echo "$OPENCL_LAYERS"'
is "$out" "$XPUPROF_LIBRARY:/a.so:/b.so" "the user's stay, nearer to the program; other copies of ours do not"
unset OPENCL_LAYERS
CUDA_INJECTION64_PATH=/other.so run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$targets/opencl" truth
is "$(field 'r["works"]')" 50 "where CUDA's variable is taken, OpenCL is recorded"
done_testing

#!/bin/sh
# SPDX-License-Identifier: MIT
# Level Zero and OpenCL over Intel's own drivers, as Debian has them, whose GPU is a simulated render node (sim/xe/): kernels have
# their names, stacks and times, as the program reads them itself, and samples of instructions are at the addresses where the
# driver has put the code. Where tests/neo/fetch has not fetched the drivers this is skipped.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
neo=${XPUPROF_NEO:-$(cd "$here/../.." && pwd)/build/neo}
[ -e "$neo/version" ] || skip_all "Intel's drivers are not there: 'tests/neo/fetch build/neo' fetches them"
neo=$(cd "$neo" && pwd)
with_libraries="$neo/libraries/ld-linux-x86-64.so.2 --library-path $neo/libraries"
target=$build/tests/targets/levelzero_real
zebins=$(cd "$here/../data/zebin" && pwd)
node=$build/sim/xe/node.so
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ZE_ENABLE_TRACING_LAYER ZE_ENABLE_ALT_DRIVERS XPUPROF_SIM_XE_FAULT XPUPROF_SIM_XE_TILES
export LD_LIBRARY_PATH="$neo/loader" OCL_ICD_VENDORS="$neo/intel.icd"
export XPUPROF_SIM_XE_TOLD="$PWD/told"
unset XPUPROF_SIM_XE
# What the device is called is the one thing that the driver is told: reports and pictures are to say that it is simulated.
export NEOReadDebugKeys=1 OverrideDeviceName="Simulated GPU below Intel's driver"
# And the compiler caches nothing in the user's folders.
export NEO_CACHE_PERSISTENT=0
mkfifo pipe pipe.1
device=bmg
stalls=
true_that "the driver's loader runs programs here" $with_libraries /bin/true

# alone WHAT [VARIABLE=VALUE...]: the target, not recorded
alone() {
	what=$1
	shift
	run env "$@" XPUPROF_SIM_XE_DEVICE=$device LD_PRELOAD="$node" timeout -k 5 60 \
		$with_libraries "$target" "$what" "$zebins/$device.zebin"
}

# recorded WHAT [VARIABLE=VALUE...]
recorded() {
	what=$1
	shift
	rm -f told "$work"/report*
	run env "$@" XPUPROF_SIM_XE_DEVICE=$device LD_PRELOAD="$node" timeout -k 5 120 "$build/xpuprof" record $stalls -o p.xpu -- \
		$with_libraries "$target" "$what" "$zebins/$device.zebin"
}

# sampled WHAT [VARIABLE=VALUE...]: recorded with samples of instructions, which come by the pipe
sampled() {
	rm -f pipe.dropped
	stalls=--stalls
	recorded "$@" XPUPROF_SIM_XE="$PWD/pipe"
	stalls=
}

# field EXPRESSION [OPTION]: of the report in JSON, r
field() {
	[ -e "$work/report$2" ] || xpuprof report --json $2 p.xpu >"$work/report$2"
	python3 -c "import json, sys; r = json.load(sys.stdin); print($1)" <"$work/report$2"
}

# loss NAME: how often it is in the report
loss() {
	field "r['losses'].get('$1', 0)"
}

kernels='"\n".join("%s %d %d" % (k["name"], k["count"], k["total_ns"]) for k in sorted(r["kernels"], key=lambda k: k["name"]))'
samples='sorted((k["name"], k["samples"]) for k in r["stalls"]["kernels"])'
losses='{k: n for k, n in r["losses"].items() if n and k.startswith(("gpu_", "stalls_", "images_"))}'
without='sum(r["works_without_stack"].values()), sum(n for k, n in r["launches_without_work"].items() if k != "captured")'

# --- Level Zero
recorded kernels
is "$status" 0 "a program over Intel's driver is recorded"
is "$(field "$kernels")" "$out" "names, counts and times of its kernels are those of the simulated device, to the nanosecond"
is "$(field "$without, $losses, r['simulated']")" "0 0 {} True" "all have their stacks, nothing is lost, and the GPU is called simulated"
has "$(field 'r["meta"]["cupti"]')" "$neo/libraries/libze_loader.so.1" "the loader is Debian's"
is "$(field '0 < int(r["meta"]["clock_error_ns"]) < 5000000')" True "how well the device's clock is known is stored"
is "$(field 'r["latency"]["max_ns"] < 2e9')" True "the work is where it was asked for"
run xpuprof export --to folded --view gpu p.xpu
has "$out" ";main;run_kernels;launch_busy;zeCommandListAppendLaunchKernel;[GPU_Kernel]busy " "kernels stand on the functions that launched them"
has "$out" ";main;run_kernels;launch_tiny;zeCommandListAppendLaunchKernel;[GPU_Kernel]tiny " "each on its own"
run xpuprof export --to folded --view wall p.xpu
has "$out" ";wait_for_list;zeCommandListHostSynchronize;[waiting for the GPU]" "waits for lists are waits for the GPU"
run xpuprof flame -o p.svg p.xpu
has "$(cat p.svg)" "simulated" "pictures call the GPU simulated"
is "$(sed 's/batches \([0-9]*\) kernels \([0-9]*\)/\2/' told)" 80 "the simulated device has seen these kernels, and no others"
true_that "most of them came by the driver's ring in memory, without a call of the kernel" \
	test "$(sed 's/batches \([0-9]*\) .*/\1/' told)" -lt 20

recorded events
is "$status: $(field "$kernels")" "0: $out" "times are those that the program reads of its own events"
is "$(field "$without, $losses")" "0 0 {}" "with all their stacks"

recorded recorded
is "$status: $(field "$kernels")" "0: $out" "recorded lists have each of their runs, with fences and without"
is "$(field "$without, $losses")" "0 0 {}" "and lose nothing"
run xpuprof export --to folded --view gpu p.xpu
has "$out" ";run_recorded;execute;zeCommandQueueExecuteCommandLists;" "they stand on their execution"

recorded modules
is "$status: $(field "$kernels")" "0: $out" "modules and kernels come and go"

device=pvc
export XPUPROF_SIM_XE_TILES=2
recorded devices
is "$status: $(field "$kernels")" "0: $out" "a GPU of two tiles has the work of both"
is "$(field '[d["works"] for d in r["devices"]]')" "[80, 80]" "each of its own"
unset XPUPROF_SIM_XE_TILES
device=bmg

recorded copies
is "$status: $(field '[(c["count"], c["bytes"]) for c in r["copies"]], [(c["count"], c["bytes"]) for c in r["sets"]]')" \
	"0: [(40, 2621440), (40, 2621440)] [(40, 1310720)]" "copies and fills are recorded, though the driver makes kernels of them"
is "$(field "len(r['kernels']), $without, $losses")" "0 0 0 {}" "and are not called kernels"

# --- instructions
for device in bmg lnl ptl pvc; do
	sampled kernels
	is "$status" 0 "$device: a program is recorded with samples of its instructions"
	is "$(field "$samples" --stalls)" "[('busy', 5120), ('tiny', 5120)]" "$device: each kernel has its own"
	is "$(field "$kernels")" "$out" "$device: and its times"
	is "$(field "$losses")" "{}" "$device: nothing is lost"
	run xpuprof report --stalls p.xpu
	has "$out" "send.ugm " "$device: instructions have their names"
	has "$out" "%  1:6 " "$device: and lines"
done
device=bmg
run xpuprof annotate busy p.xpu
has "$out" "send.ugm" "the code is shown"
run xpuprof export --to folded --view stall p.xpu
has "$out" "main;run_kernels;launch_busy;zeCommandListAppendLaunchKernel;[GPU_Kernel]busy;" "stalls stand below the code that launched their kernel"

sampled modules
is "$status: $(field "$samples" --stalls)" "0: [('busy', 5120), ('tiny', 5120)]" "code that comes and goes has its samples"
is "$(loss stalls_outside) $(loss stalls_ambiguous)" "0 0" "and none is taken for another's"

device=pvc
export XPUPROF_SIM_XE_TILES=2
sampled devices
is "$status: $(field "$samples" --stalls)" "0: [('busy', 10240), ('tiny', 10240)]" "tiles are sampled, each by its stream"
is "$(field "$losses")" "{}" "and nothing is lost"
unset XPUPROF_SIM_XE_TILES
device=bmg

# --- what is lost
sampled kernels XPUPROF_SIM_XE_FAULT=drop
is "$(field 'sum(k["samples"] for k in r["stalls"]["kernels"])' --stalls)" $((54 * 32 * 4)) "what the GPU does not drop is there"
true_that "that it has dropped some is counted" test "$(loss stalls_overflows)" -gt 0
is "$(field "$kernels")" "$out" "all kernels have their times"
run xpuprof report --stalls p.xpu
has "$out" "times that a GPU dropped instruction samples, and does not say how many" "the table says so"
lacks "$out" "0 dropped by the GPU" "and not that none were dropped"
run xpuprof flame --view stall -o p.svg p.xpu
has "$(cat p.svg)" "times that a GPU dropped instruction samples" "nor does the picture keep quiet about it"

sampled kernels XPUPROF_SIM_XE_FAULT=enodev
is "$status: $(field "$kernels")" "0: $out" "a stream that ends leaves the program and its work alone"
has "$err" "its stream ended (No such device)" "and is told"
is "$(loss stalls_refused)" 1 "and counted"

patience=XPUPROF_SIM_XE_PATIENCE_MS=1 # for who does not read what the GPU has
alone streamer ZET_ENABLE_METRICS=1 $patience XPUPROF_SIM_XE="$PWD/pipe"
is "$status" 0 "a program samples its GPU itself"
own=$out
sampled streamer ZET_ENABLE_METRICS=1 $patience
is "$status: $out" "0: $own" "it does so, too, when it is recorded"
has "$err" "are not sampled: another program samples it" "which is told"
is "$(field 'r["works"]') $(loss stalls_refused)" "80 1" "its work is there, and what is not is counted"

alone kernels XPUPROF_SIM_XE_FAULT=lost
was="$status: $err"
has "$was" "1: " "a program whose GPU is gone fails"
recorded kernels XPUPROF_SIM_XE_FAULT=lost
is "$status: $(printf '%s\n' "$err" | head -n 1)" "$was" "and ends so when it is recorded, too"
is "$(field 'r["launches_without_work"]["failed"]')" 1 "with its launch as a failed one"

for fault in closed i915 vendor; do
	recorded kernels XPUPROF_SIM_XE_FAULT=$fault
	has "$err" "tried to use Level Zero, which found no GPU, or none that it may open: its first call failed (0x7" \
		"$fault: a program whose driver finds no GPU is told"
	lacks "$err" "is not recorded" "$fault: and not as one that is not recorded"
	is "$(loss gpu_never_connected)" 0 "$fault: nor is it counted as one"
done

# --- OpenCL
target=$build/tests/targets/opencl
run timeout -k 5 60 "$build/xpuprof" record -o p.xpu -- $with_libraries "$target" truth
! cpu_side || has "$err" "uses OpenCL, and that is not recorded: its drivers found no device, or " "OpenCL without a GPU: that may be why"
for what in truth disorder several; do
	recorded $what
	is "$status" 0 "OpenCL, $what: it is recorded over Intel's driver"
	lacks "$err" "Level Zero" "OpenCL, $what: which maps Level Zero's driver, but that is no use of it"
	is "$(field "$without, $losses")" "0 0 {}" "OpenCL, $what: nothing is lost"
	[ $what != truth ] || is "$(field "$kernels")" "$(printf '%s\n' "$out" | sort)" \
		"OpenCL, $what: times are those of the program's own events"
done
has "$(field 'r["meta"]["cupti"]')" "Intel(R) OpenCL" "the driver is Intel's"
recorded usm
is "$status: $out" "0: 20 20 1" "OpenCL, usm: Intel's unified memory is copied, filled and migrated"
is "$(field 'sorted((c["api"], c["count"]) for c in r["calls"] if "INTEL" in c["api"])')" \
	"[('clEnqueueMemFillINTEL', 20), ('clEnqueueMemcpyINTEL', 20), ('clEnqueueMigrateMemINTEL', 1)]" "OpenCL, usm: each is a call"
is "$(field "r['works'], $without, $losses")" "41 0 0 {}" "OpenCL, usm: with its work and its stack"
done_testing

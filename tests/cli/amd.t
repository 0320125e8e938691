#!/bin/sh
# SPDX-License-Identifier: MIT
# AMD's GPUs are recorded by a tool of rocprofiler-sdk, here over a simulated one and a simulated HIP: every launch of several
# threads with its stack and its times to the nanosecond, graphs, copies and fills; what the tracer loses, and lies about, is
# counted; and nothing is set where rocprofiler-sdk is not installed, as that would abort programs.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
target=$build/tests/targets/amd
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ROCP_TOOL_LIBRARIES ROCPROFILER_REGISTER_LIBRARY ROCM_PATH
plain=$LD_LIBRARY_PATH
export LD_LIBRARY_PATH="$build/sim/amd"

# recorded ARGUMENT...: of the target
recorded() {
	run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$target" "$@"
}

# lying FAULT...: a recording of `truth`
lying() {
	SIM_ROCPROFILER_FAULTS=$1 run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$target" truth
}

# field EXPRESSION: of the report in JSON, r
field() {
	xpuprof report --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

losses='{k: n for k, n in r["losses"].items() if n}'
without='sum(r["works_without_stack"].values()), sum(n for k, n in r["launches_without_work"].items() if k not in ("empty", "captured"))'
kernels='"\n".join("%s %d %d" % (k["name"].replace("large(float*)", "_Z5largePf"), k["count"], k["total_ns"]) for k in sorted(r["kernels"], key=lambda k: k["name"].replace("large", "A")))'
copies='sum(c["count"] for c in r["copies"]), sum(c["total_ns"] for c in r["copies"])'

# --- kernels in several threads and streams, graphs, copies and fills; in both versions
for version in 10000 10100; do
	lying version=$version
	is "$status" 0 "$version: a program that uses HIP is recorded"
	is "$(field "$kernels")" "$(printf '%s\n' "$out" | grep -v copies | sed 's/^/ /;s/^ //' | LC_ALL=C sort -k1,1)" \
		"$version: names, counts and times of kernels are what the GPUs take, to the nanosecond"
	is "copies $(field "$copies" | tr -d '(),')" "$(printf '%s\n' "$out" | grep copies)" "$version: so are those of copies"
	is "$(field "$without, $losses")" "0 0 {}" "$version: all have their stacks, and nothing is lost"
	is "$(field 'r["meta"]["gpu_reported_ns"] == str(r["gpu_ns"]), r["simulated"]')" "True True" \
		"$version: all time is there, and called simulated"
done
has "$(field 'r["meta"]["cupti"]')" "rocprofiler-sdk 1.1.0, " "the tracer and its version are stored"
is "$(field '0 < int(r["meta"]["clock_error_ns"]) < 1000000, r["latency"]["max_ns"] < 1e9')" "True True" \
	"the work is where it was asked for, and how well the clock is known is stored"
is "$(field 'sorted((c["api"], c["count"]) for c in r["calls"])')" \
	"[('hipDeviceSynchronize', 4), ('hipEventSynchronize', 100), ('hipGraphLaunch', 200), ('hipLaunchKernel', 200), ('hipMemcpyAsync', 400), ('hipMemsetAsync', 200), ('hipModuleLaunchKernel', 208), ('hipStreamSynchronize', 104)]" \
	"calls are there, once each"
is "$(field 'r["launches_without_work"]["captured"], r["launches_without_work"]["empty"]')" "8 0" "launches that became parts of graphs are told from those that ask for nothing"
is "$(field 'sorted(d["name"] for d in r["devices"])')" "['Simulated GPU MI210', 'Simulated GPU MI300X']" "both GPUs have their names"
run xpuprof export --to folded --view gpu p.xpu
for frames in 'launch_large;hipModuleLaunchKernel;[GPU_Kernel]_Z5largePf' 'launch_small;hipLaunchKernel;[GPU_Kernel]small' \
	'launch_graph;hipGraphLaunch;[GPU_Kernel]node' 'copy_something;hipMemcpyAsync;[GPU_MemCopy]HtoD' \
	'copy_something;hipMemsetAsync;[GPU_Kernel]__amd_rocclr_fillBufferAligned'; do
	has "$out" ";work;$frames " "work stands on what asked for it: $frames"
done
lacks "$out" "capture;" "and captured launches have none"
lacks "$out" "call_begins" "without functions of the tracer"
run xpuprof export --to folded --view wall p.xpu
has "$out" ";wait_for_stream;hipStreamSynchronize;[waiting for the GPU]" "waits for streams are waits for the GPU"
run xpuprof export --to chrome p.xpu
has "$out" '"name":"HIP: hipLaunchKernel","cat":"HIP"' "a timeline has its calls, as of its API"

recorded copies
is "$(field '[(c["api"], c["count"]) for c in r["calls"]]')" "[('hipMemcpy', 100)]" "of calls inside calls the outermost counts"
is "copies $(field "$copies, $without, $losses" | tr -d '(),')" "$out 0 0 {}" "and has the work"
recorded failed
is "$(field 'r["launches_without_work"]["failed"], r["works"]')" "$out 50" "launches that failed are told from those that are lost"

# --- what the tracer loses, and lies about
lying drop=7
is "$(field "$losses, r['works']")" "{'gpu_dropped': 200} 1200" "records that it drops are counted"
lying small=5
is "$(field "$losses, r['works']")" "{'gpu_unknown': 280} 1120" "records that are smaller than their kind are not read"
for fault in zero_time reversed_time far_time; do
	lying $fault=3
	is "$(field "$losses, r['works'], $without")" "{'gpu_untimed': 466} 1400 0 0" "work with impossible times is there, without any: $fault"
done
lying no_agent=4
is "$(field "$losses, r['works']")" "{'gpu_unknown': 250} 1150" "work on a device that there is not is left out"
lying no_kernel=4
is "$(field "$losses, r['works'], r['gpu_ns'], [k['count'] for k in r['kernels'] if k['name'] == '[name left out]']")" "{} 1400 4593400 [250]" \
	"kernels whose code is not known have no name, and all their time"
lying short_call=5
is "$(field "r['works'], $without, [k for k, n in r['losses'].items() if n]")" "1400 0 0 ['gpu_unknown']" "calls without arguments are calls"
lying clock
is "$(field "$losses, r['works'], r['latency']['max_ns'] < 1e9")" "{} 1400 True" "a clock that is none of the system's is measured"
for version in 600 20000; do
	lying version=$version
	is "$status $(field 'r["works"], r["losses"]["gpu_no_cupti"]')" "0 0 1" "version $version, whose structures we do not know, is left alone"
done
lying refuse
is "$status $(field 'r["works"], r["losses"]["gpu_refused"]')" "0 0 1" "what it refuses is said"

# --- samples of instructions, which name their launches
sampled='r["stalls"]["taken"], r["stalls"]["apportioned"], r["stalls"]["not_sampled"], r["stalls"]["windows_exact"] == r["stalls"]["windows"]'
# stalled FAULTS ARGUMENT...
stalled() {
	faults=$1
	shift
	SIM_ROCPROFILER_FAULTS=$faults ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1 run timeout -k 5 60 "$build/xpuprof" record -q --stalls -o p.xpu -- "$target" "$@"
}
stalls() {
	xpuprof report --stalls --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}
for version in 10000 10100; do
	stalled version=$version truth
	is "$status $(stalls "$sampled, $losses")" "0 5600 0 0 True {}" "$version: instructions are sampled, and nothing of it is apportioned"
	is "$(stalls '{k["linker_name"]: k["samples"] for k in r["stalls"]["kernels"]} == {"_Z5largePf": 2200, "node": 1600, "__amd_rocclr_fillBufferAligned": 1000, "small": 800}')" \
		True "$version: kernels have their samples"
done
is "$(stalls '{w["reason"]: w["samples"] for w in r["stalls"]["kernels"][0]["reasons"]} == {"host_trap": 1100, "issued": 400, "waitcnt": 400, "alu_dependency": 300}')" \
	True "with the hardware's reasons, and without any where the host interrupts"
is "$(stalls 'sorted((w["offset"], w["samples"]) for w in r["stalls"]["kernels"][0]["instructions"])')" \
	"[(0, 600), (8, 600), (16, 600), (24, 400)]" "and where in their function they were"
stalled "" sites
run xpuprof export --to folded --view stall --weight samples p.xpu
is "$(printf '%s\n' "$out" | awk '/launch_short;/ {short += $NF} /launch_long;/ {long += $NF} END {print short, long}')" "200 550" \
	"samples of one kernel are divided among the places that launched it as they were taken"
stalled invalid_sample=7 truth
is "$(stalls "r['stalls']['taken'], $losses")" "4800 {'gpu_unknown': 800}" "samples that the tracer calls invalid are counted"
stalled lost_code=7 truth
is "$(stalls "r['stalls']['taken'], $losses")" "4800 {'gpu_unknown': 800}" "so are those of no code"
stalled version=10300 truth
is "$(field "r['works'], $losses")" "1400 {'stalls_refused': 1}" "a version whose functions for samples are not known is not asked"
run timeout -k 5 60 "$build/xpuprof" record --stalls -o p.xpu -- "$target" truth
has "$err" "ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1 is set, and warns that it may hang the machine" "nobody is sampled who has not accepted the risk"
is "$(field "r['works'], $without")" "1400 0 0" "and all else is recorded"

# --- somebody else's tool that samples; rocprofiler-sdk serves one. It says: GPUs that it may sample, and may not; samples
export OTHER_SAYS="$work/other"
other=$build/tests/targets/rocprofiler_tool.so
ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1 run timeout -k 5 60 "$build/xpuprof" record --stalls -o p.xpu -- \
	env ROCP_TOOL_LIBRARIES="$other:$build/libxpuprof-rocm.so:" "$target" truth
is "$status: $(cat "$OTHER_SAYS")" "0: 2 0 5600" "a tool before ours that samples instructions has all of its samples"
has "$err" "as it does where another tool in the process samples them" "that ours has none then is said"
is "$(field "r['works'], $without, $losses")" "1400 0 0 {'stalls_refused': 1}" "and all else is recorded"
ROCP_TOOL_LIBRARIES=$other: stalled "" truth
is "$status: $(cat "$OTHER_SAYS")" "0: 0 2 0" "one behind ours is refused"
is "$(stalls "$sampled, $losses")" "5600 0 0 True {}" "and ours has all samples"
ROCP_TOOL_LIBRARIES=$other: recorded truth
is "$status: $(cat "$OTHER_SAYS") $(field "r['works'], $without, $losses")" "0: 2 0 5600 1400 0 0 {}" \
	"without --stalls the other samples, and ours records"

# --- code that clang made: functions, lines, instructions; from memory, and from a file as most programs have it
hsaco=$(cd "$here/../data/amdgpu" && pwd)/calls.gfx942.hsaco
cp "$hsaco" "a copy%.hsaco"
for how in code code_file; do
	file=$hsaco
	[ $how = code_file ] && file="$PWD/a copy%.hsaco"
	XPUPROF_LLVM_OBJDUMP= stalled "" $how "$file"
	is "$status $(stalls "$sampled, $losses, [(k['linker_name'], k['samples']) for k in r['stalls']['kernels']]")" \
		"0 550 0 0 True {} [('_Z6reducePfPKfi', 550)]" "$how: a kernel of a code object has its samples"
	run xpuprof report --stalls p.xpu
	has "$out" "a sample is one wave, of the launch that it names" "$how: what a sample is, in words for these"
	has "$out" "reduce(float*, float const*, int)" "$how: its name"
	has "$out" "calls.hip:14" "$how: its lines"
	has "$out" "s_load_dword" "$how: its instructions, by our own decoding"
	lacks "$out" "s_load_dword s" "$how: without operands"
	has "$out" "llvm-objdump (package llvm, or ROCm's; \$XPUPROF_LLVM_OBJDUMP) was not there" "$how: and what would write them"
	run xpuprof annotate reduce p.xpu
	has "$out" "s_waitcnt" "$how: its code can be read"
	run xpuprof export --to folded --view stall --weight samples p.xpu
	has "$out" "hipModuleLaunchKernel;[GPU_Kernel]_Z6reducePfPKfi;" \
		"$how: stalls stand below what launched it"
	has "$out" ";float middle<float>(float, int)_[G];s_waitcnt_[g];" "$how: with calls that were inlined"
	has "$out" ";launch_reduce;" "$how: in its function"
done
run xpuprof flame --view stall -o p.svg p.xpu
has "$(cat p.svg)" "issued" "a flame graph has the reasons of AMD's samples"
if command -v llvm-objdump >/dev/null; then
	XPUPROF_LLVM_OBJDUMP=$(command -v llvm-objdump) stalled "" code "$here/../data/amdgpu/calls.gfx90a.hsaco"
	run xpuprof annotate reduce p.xpu
	has "$out" "s_load_dword s" "where llvm-objdump is installed, instructions have operands"
else
	skip "where llvm-objdump is installed, instructions have operands" "it is not"
fi

# --- fork, and the end of the recorder
recorded fork
is "$status $(field "r['works'], $losses, $without")" "0 $out {} 0 0" "a forked child is not in the way, and the parent is recorded on"
"$build/xpuprof" record -q -o p.xpu -- "$target" many 100000 2>/dev/null &
recorder=$!
for n in $(seq 100); do
	pid=$(pgrep -P $recorder -x amd) && break
	sleep 0.05
done
sleep 0.5
kill -9 $recorder
wait $recorder 2>/dev/null
for n in $(seq 200); do
	[ -d "/proc/$pid" ] || break
	sleep 0.1
done
true_that "a program goes on when its recorder is killed, and ends" [ -n "$pid" -a ! -d "/proc/$pid" ]
run xpuprof report --json p.xpu
is "$status" 0 "and what was recorded can be read"

# --- how the library gets there
show='echo "$ROCP_TOOL_LIBRARIES $ROCPROFILER_REGISTER_LIBRARY"'
run xpuprof record -q -o p.xpu -- sh -c "$show"
is "$out" "$build/libxpuprof-rocm.so: $build/sim/amd/librocprofiler-sdk.so.1" "where rocprofiler-sdk is, it gets our tool"
ROCP_TOOL_LIBRARIES=/a.so:$build/libxpuprof-rocm.so ROCPROFILER_REGISTER_LIBRARY=/b.so run xpuprof record -q -o p.xpu -- sh -c "$show"
is "$out" "$build/libxpuprof-rocm.so:/a.so: /b.so" "beside the user's tools, and where the user says it is"
ROCP_TOOL_LIBRARIES=$build/libxpuprof-rocm.so run timeout -k 5 60 "$target" failed
is "$status: $out" "0: 50" "a tool without a recorder is not in the way"
ROCP_TOOL_LIBRARIES=$build/libxpuprof-rocm.so XPUPROF_SOCKET=/nonexistent run timeout -k 5 60 "$target" failed
is "$status: $out" "0: 50" "nor one whose recorder is gone"
lacks "$(nm -D "$build/libxpuprof-inject.so")" " T rocprofiler_configure" "a library that may be preloaded does not ask for rocprofiler-sdk"
if [ ! -e /opt/rocm/lib/librocprofiler-sdk.so.1 ] && [ ! -e /usr/lib/x86_64-linux-gnu/librocprofiler-sdk.so.1 ]; then
	LD_LIBRARY_PATH=$build/sim/amd/alone run timeout -k 5 60 "$build/xpuprof" record -o p.xpu -- "$target" failed
	is "$status: $out" "0: 50" "where it is not installed, programs run on"
	has "$err" "1 process that mapped a GPU driver of which nothing was recorded" "and that they are not recorded is said"
	LD_LIBRARY_PATH=$plain run xpuprof record -q -o p.xpu -- sh -c "$show"
	is "$out" " " "nothing is set there"
else
	skip "where it is not installed, programs run on" "it is"
fi
done_testing

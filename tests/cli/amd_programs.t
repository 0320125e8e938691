#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs on AMD's GPUs, here over a simulated HIP, HSA and rocprofiler-sdk: graphs, whose work has the stacks of its nodes where
# these are certain; HSA without HIP; and programs that ask for much, or end badly.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
target=$build/tests/targets/amd
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so" LD_LIBRARY_PATH="$build/sim/amd"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ROCP_TOOL_LIBRARIES ROCPROFILER_REGISTER_LIBRARY ROCM_PATH

# recorded ARGUMENT...: of the target
recorded() {
	run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$target" "$@"
}

# field EXPRESSION: of the report in JSON, r
field() {
	xpuprof report --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

gpu_losses='{k: n for k, n in r["losses"].items() if n and k.startswith("gpu")}'
without='sum(r["works_without_stack"].values()), sum(n for k, n in r["launches_without_work"].items() if k not in ("empty", "captured"))'
copies='sum(c["count"] for c in r["copies"]), sum(c["total_ns"] for c in r["copies"])'
kernels='"\n".join("%s %d %d" % (k["name"], k["count"], k["total_ns"]) for k in sorted(r["kernels"], key=lambda k: k["name"]))'

# --- graphs: where it is certain which node work is of, it has the stack of what made that
recorded graphs
is "$status $(field "$gpu_losses, $without, r['works']")" "0 {} 0 0 700" "graphs of all sorts are recorded"
run xpuprof export --to folded --view gpu --unit ns --graph-stack both p.xpu
graphs=$(printf '%s\n' "$out" | sed -n 's/.*;main;\(launch_[a-z_]*;hipGraphLaunch.*\)/\1/p')
at='hipGraphLaunch;[graph node made at];'
context=$graphs
for made in "launch_chain;$at.*;make_chain;first_part;hipModuleLaunchKernel;[GPU_Kernel]node 112950" \
	"launch_chain;$at.*;make_chain;second_part;hipModuleLaunchKernel;[GPU_Kernel]node 112950" \
	"launch_chain;$at.*;make_chain;second_part;launch_small;hipLaunchKernel;[GPU_Kernel]small 101850" \
	"launch_chain;$at.*;make_chain;fill_part;hipMemsetAsync;[GPU_Kernel]__amd_rocclr_fillBufferAligned 129600" \
	"launch_chain;$at.*;make_chain;copy_part;hipMemcpyAsync;[GPU_MemCopy]HtoD 203000" \
	"launch_branches;$at.*;make_branches;branch_small;launch_small;hipLaunchKernel;[GPU_Kernel]small 101850" \
	"launch_by_hand;$at.*;make_by_hand;add_by_hand;hipGraphAddKernelNode;[GPU_Kernel]small 203700"; do
	pattern=$(printf '%s' "$made" | sed 's/[][]/\\&/g')
	true_that "work of graphs has the stack of what made its node: $made" eval "printf '%s\n' \"\$graphs\" | grep -q '^$pattern\$'"
done
has "$graphs" "launch_branches;hipGraphLaunch;[GPU_Kernel]node 225900" \
	"where a kernel is there twice and no order is known, work has none"
lacks "$graphs" "launch_changed;$at" "nor where nodes of a graph were changed"
context=

# --- HSA, without HIP: kernels have the stack of what rang the doorbell of their queue
run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "${target}_hsa"
is "$status $(field "$kernels")" "0 $(printf '%s\n' "$out" | grep -v copies)" "kernels of a program with HSA alone have names, counts and times"
is "copies $(field "$copies" | tr -d '(),')" "$(printf '%s\n' "$out" | grep copies)" "so have copies"
is "$(field "$without, $gpu_losses")" "0 0 {}" "all have their stacks, and nothing is lost"
is "$(field 'sorted((c["api"], c["count"]) for c in r["calls"])')" \
	"[('hsa_amd_memory_async_copy', 50), ('hsa_signal_store_relaxed', 50), ('hsa_signal_store_screlease', 50), ('hsa_signal_wait_scacquire', 150)]" \
	"calls are those that hand something over or wait; other stores into signals are none"
run xpuprof export --to folded --view gpu p.xpu
for frames in 'main;dispatch_first;hsa_signal_store_screlease;[GPU_Kernel]first' 'main;dispatch_second;hsa_signal_store_relaxed;[GPU_Kernel]second' \
	'main;copy_something;hsa_amd_memory_async_copy;[GPU_MemCopy]HtoD'; do
	has "$out" ";$frames " "work stands on what asked for it: $frames"
done
run xpuprof export --to folded --view wall p.xpu
has "$out" ";wait_for;hsa_signal_wait_scacquire;[waiting for the GPU]" "waits for signals are waits for the GPU"

# --- OpenCL over HSA, as AMD's is: its kernels are there once, on its own calls
run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$build/tests/targets/opencl_liar" amd 200
is "$status $(field '[(k["name"], k["count"]) for k in r["kernels"]], [(c["api"], c["count"]) for c in r["calls"]]')" \
	"0 [('kernel', 200)] [('clEnqueueNDRangeKernel', 200)]" "work of OpenCL over HSA is OpenCL's, and HSA's is not counted beside it"
is "$(field "$without, $gpu_losses")" "0 0 {}" "with its stacks, and without losses"

# --- programs that ask for much, or end badly
for what in "queues 100000" "kernels 100000"; do
	recorded $what
	# on a busy machine some of it may find no room on its way, which is counted
	is "$status $(field 'r["works"] + r["losses"].get("gpu_ring_full", 0) >= 100000, r["works"] > 50000, [k["name"] for k in r["kernels"] if k["name"] == "[name left out]"]')" \
		"0 True True []" "${what#* } ${what% *} are recorded, all work with its name"
	is "$(field '{k: n for k, n in r["losses"].items() if n and k.startswith("gpu") and k != "gpu_ring_full"}')" "{}" "and nothing else is lost"
done
recorded callbacks
is "$status $(field "$gpu_losses, $without, r['works']")" "0 {} 0 0 150" "launches in functions that the runtime calls are recorded"
run xpuprof export --to folded --view gpu p.xpu
has "$out" ";on_stream;launch_small;hipLaunchKernel;[GPU_Kernel]small " "with their stacks"
recorded forks
is "$status $out $(field "$gpu_losses, $without, r['works']")" "0 0 {} 0 0 100" "children that come and go with work under way harm nobody"
# The thread that launches may be in the middle of a record as the runtime's own thread ends the program.
recorded dies
cut='{k: n for k, n in r["losses"].items() if n and k.startswith("gpu") and (k, n) != ("gpu_abandoned", 1)}'
is "$status $(field "$cut, r['works'] >= 50, r['incomplete']")" "134 {} True None" "a program that dies of a kernel ends as it would alone, and is recorded until then"
has "$err" "Memory access fault" "with what its runtime said"
done_testing

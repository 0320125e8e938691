#!/bin/sh
# SPDX-License-Identifier: MIT
# Launches on this kernel, on the simulated CUDA and with each way to take their stacks: all of them, with whole
# stacks, under the functions that made them. The runtime's calls are the same to a kernel.
. "$(dirname "$0")/tap.sh"
command -v python3 >/dev/null || skip_all "there is no python3"

for source in $(stack_sources); do
	recorded $source -- "$build/tests/programs/launches"
	describe
	is "$status $err" "0 " "launches runs as alone ($source)"
	printf '%s\n' "$out" >expected
	run "$here/../check_launches.py" p.xpu expected
	is "$status" 0 "launches: every call and its work, under the function that made it ($source)"
	printf '%s\n' "$out" "$err" | sed '/./!d; s/^/# /'
	is "$(told 's["launches"] > 100, s["launches_without"]')" "True 0" "launches: each with a stack ($source)"
	# Where a coroutine's stack ends, only glibc knows.
	is "$(xpuprof export --to folded --view gpu p.xpu | grep -F '[incomplete' | grep -vc launch_in_coroutine)" 0 \
		"launches: which is whole ($source)"
	[ $source = default ] || is "$(told 's["source"]')" $source "which were taken as asked for"
	[ "$source" = inprocess ] && continue # which depends on the kernel for nothing else
	recorded $source -- "$build/demo/train" --steps 5
	is "$status $err" "0 " "the demo runs as alone ($source)"
	is "$(told 's["launches"] > 100, s["launches_without"], s["launches_incomplete"]')" "True 0 0" \
		"the demo: every launch has a whole stack ($source)"
	has "$(xpuprof export --to folded --view gpu p.xpu)" \
		"main;train;train_step;model_forward;transformer_block;attention;softmax;launch;cuLaunchKernel;[GPU_Kernel]softmax_rows" \
		"the demo: GPU work stands under the functions that asked for it ($source)"
	recorded $source -- "$build/tests/programs/fork_after_cuda"
	printf '%s\n' "$out" >expected
	run "$here/../check_launches.py" p.xpu expected
	is "$status" 0 "workers forked after CUDA began harm nothing ($source)"
done
done_testing

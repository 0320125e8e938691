#!/bin/sh
# SPDX-License-Identifier: MIT
# The simulated CUDA under the demo and the programs with known launches.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
programs=$build/tests/programs
tools=$build/tests/gpu
export LD_LIBRARY_PATH="$build/sim"
unset CUDA_INJECTION64_PATH XPUPROF_SIM_FAULTS XPUPROF_SIM_DEVICES

# the sum of the works that a program says it made
works() {
	python3 -c '
import json, sys
lines = [json.loads(l) for l in sys.stdin]
print(sum(l["works"] for l in lines if l["type"] in ("kernel", "copy", "set", "graph")))'
}

# what a tool that records everything received from a program
records_of() {
	XPUPROF_FLOOR=activity,callbacks CUDA_INJECTION64_PATH=$tools/libfloor_tool.so \
		"$@" 2>&1 >/dev/null |
		sed -n 's/.*records \([0-9]*\), dropped 0/\1/p'
}

sequence_of() { # OUTPUT PROGRAM...
	output=$1
	shift
	XPUPROF_SEQUENCE=$output CUDA_INJECTION64_PATH=$tools/libcupti_sequence.so "$@" >/dev/null
}

run "$build/demo/train" --steps 16
is "$status" 0 "the demo runs"
has "$out" "trained 16 steps, evaluated 1 times" "says what it did"
has "$out" "on Simulated GPU 0" "and on which device"

if ldconfig -p | grep -q libcuda.so.1; then
	skip "without a driver the demo says so" "this machine has a CUDA driver"
else
	run env -u LD_LIBRARY_PATH "$build/demo/train"
	is "$status" 1 "without a driver the demo fails"
	has "$err" "no CUDA driver" "and says why"
fi

normal() { # FILE
	"$here/../gpu/normal_sequence.py" <"$1"
}

for form in launches launches_runtime; do
	run "$programs/$form"
	is "$status" 0 "$form runs"
	is "$(records_of "$programs/$form")" "$(printf '%s\n' "$out" | works)" \
		"$form: as many records as it says it made"
	sequence_of one "$programs/$form" --sequence
	sequence_of two "$programs/$form" --sequence
	is "$(diff one two)" "" "$form: what CUPTI tells is the same in each run"
	is "$(sed '1,/^records/d' one | wc -l)" "$("$programs/$form" --sequence | works)" \
		"$form: the sequence has every record"
	lacks "$(cat one)" "BAD TIMES" "$form: all times are good"
	real=$here/../data/cupti-driver.txt
	[ $form = launches ] || real=$here/../data/cupti-runtime.txt
	normal one >one.normal
	is "$(normal "$real" | diff - one.normal)" "" \
		"$form: CUPTI tells what it told on an H200, but for what normal_sequence.py names"
done

is "$(grep -A5 'runtime cudaLaunchKernel c13 ' one)" "runtime cudaLaunchKernel c13 (count_a_us5)
  driver cuLaunchKernel c13 (count_a_us5)
  return 0
return 0
runtime cudaLaunchKernel c14 (count_a_us5)
  driver cuLaunchKernel c14 (count_a_us5)" \
	"a driver call has the correlation id of the runtime call above it"
is "$(grep -c 'graph node cloned' one)" 30 "every node is told when it is cloned"

run "$programs/fork_wrapper" "$programs/launches"
is "$status" 0 "fork_wrapper passes on status 0"
is "$(printf '%s\n' "$out" | grep -c '"type": "program"')" 2 "and ran the program twice"
run "$programs/fork_wrapper" "$programs/crash" exit
is "$status" 3 "and passes on a failure"

for form in fork_after_cuda fork_after_cuda_runtime; do
	run timeout 50 "$programs/$form"
	is "$status" 0 "$form: children of a process with CUDA end as they want"
done

for how in segfault:139 kill:137 term:143 abort:134 _exit:3 exit:3; do
	run sh -c "exec $programs/crash ${how%:*}"
	is "$status" "${how#*:}" "crash ends by ${how%:*}"
done

run env XPUPROF_SIM_FAULTS=subscriber-after XPUPROF_FLOOR=callbacks \
	CUDA_INJECTION64_PATH="$tools/libfloor_tool.so" "$programs/launches"
has "$err" "a later subscriber got 39" "a tool that comes later is refused by CUPTI"
run env XPUPROF_SIM_FAULTS=no-such-fault "$programs/launches"
has "$err" "unknown fault 'no-such-fault'" "a misspelt fault is not ignored"
done_testing

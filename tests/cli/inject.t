#!/bin/sh
# SPDX-License-Identifier: MIT
# The injected library in programs on the simulated CUDA: what it sees, and that nobody is disturbed.
. "$(dirname "$0")/tap.sh"

library=$(cd "$build" && pwd)/libxpuprof-inject.so
target=$build/tests/targets/inject_target
sim=$(cd "$build/sim" && pwd)
export LD_LIBRARY_PATH="$sim"
export TMPDIR="$work" # recorders that are killed leave their folder

# record [gpu_record's options] WHAT COUNT
record() {
	run timeout 120 "$build/tests/helpers/gpu_record" "$library" "$@"
}

field() { # NAME -> its number in $out
	printf '%s\n' "$out" | sed -n "s/^$1 //p"
}

is_whole() { # LAUNCHES NAME: every launch and its work is there, nothing is lost
	is "$(field "call cuLaunchKernel"), $(field works), $(field unmatched), $(field waiting), $(field 'loss .*')" \
		"$1 0, $1, 0, 0, " "$2"
}

run readelf -dW "$library"
has "$out" "NOW" "all that the library calls is bound when it is loaded, not when a thread launches"

record "$target" launch 1000
is_whole 1000 "every launch and its work is seen, and they have the same id"
is "$(field status)" 0 "the program's status is its own"
has "$out" "done" "and so is its output"
has "$out" "call cuCtxSynchronize 1 0" "synchronizing calls are seen"
is "$(field instances)" "1 ended 1" "the end of the process ends its instance"

record -r 67108864 "$target" shapes 70000 # room for all, should nobody read for a while
is_whole 70000 "so is the work of more different launches than are remembered at once"

record "$target" threads 1000
is_whole 4000 "launches of several threads at once are all seen"

is "$(field threads)" "4 unknown 0" "and each thread is known"

if unshare --pid --fork true 2>/dev/null; then
	record unshare --pid --fork "$target" slow 300
	is_whole 300 "a program in a pid namespace of its own is recorded"
	is "$(field threads)" "1 unknown 0" "and its threads are known by our numbers"
else
	result 0 "a program in a pid namespace of its own is recorded # SKIP no right to make one"
fi

record "$target" fork 200
is_whole 200 "a child forked after CUDA began leaves by exit, and neither it nor its parent is disturbed"
has "$out" "instances 1 " "and it is no second instance"

record "$target" forks 200
is_whole 600 "the same with forks from several threads while others launch"

record "$target" spawn 200
is_whole 200 "posix_spawn and vfork are nothing to us"

record "$target" exec 200
is_whole 200 "work before an exec and after it is seen"
is "$(field instances)" "2 ended 2" "as two instances"

record "$target" close 200
is_whole 200 "a program that closes every descriptor is still recorded"
case $out in
*"taken away"*) result 1 "and what it opens in their place is left alone" ;;
*) result 0 "and what it opens in their place is left alone" ;;
esac

record "$target" _exit 200
is_whole 200 "what was written before _exit is read"

record "$target" kill 200
is_whole 200 "what was written before SIGKILL is read"
is "$(field status)" 137 "and the program has died of it"

record "$target" graph 100
is "$(field works) $(field in_graphs) $(field 'call cuGraphLaunch')" "300 300 100 0" \
	"each kernel of a graph is seen, with its node"
is "$(field nodes)" "created 3 cloned 3 destroyed 0" "nodes are seen when captured and when instantiated"
is "$(field 'call cuLaunchKernel')" "3 1" "captured launches are known as such"

record "$build/tests/programs/launches"
is "$(field nodes)" "created 20 cloned 32 destroyed 52" \
	"a node that the driver replaces in an executable graph is not told as destroyed before the end"

record "$target" empty 10
is "$(field 'call cuMemcpyHtoD_v2') $(field 'call cuMemsetD8_v2')" "1 2 1 2" \
	"copies and sets of no bytes are known as such"
has "$out" "call cuGraphLaunch 10 2" "and so are launches of graphs without nodes"
is "$(field waiting)" 0 "so that nobody waits for their work"

record "$target" scribble 200
has "$out" "loss gpu_corrupt 1" "a ring that was scribbled over is given up and counted"
is "$(field works)" 200 "what was read before is kept"
has "$out" "done" "and the program does not notice"

record "$target" signals 300
has "$out" "no signal went astray" "signals go to the program's own threads"

run "$target" descriptors 1
without=$out
record "$target" descriptors 1
is "$(printf '%s\n' "$out" | grep -e descriptor -e done)" "$without" "low descriptors are left to the program"

record -s 300 "$target" slow 1000
is "$(field works)" "$(field 'call cuLaunchKernel' | sed 's/ 0$//')" \
	"a stop in the middle has the work of every launch seen"
is "$(field status)" 0 "and the program goes on to its end"

run sh -c "'$build/tests/helpers/gpu_record' '$library' -s 100 -k '$target' abandoned | cat"
has "$out" "a thread
no thread
done" "when the recorder is killed the library's thread goes and the program goes on"

record -z -r 262144 "$target" launch 20000
taken=$(($(field 'call cuLaunchKernel' | sed 's/ 0$//') + $(field works)))
lost=$(field 'loss gpu_ring_full')
is "$((taken > 4000 && taken <= 4096))" 1 "when the recorder sleeps the ring takes what it can"
is "$((taken + lost))" 40001 "what does not fit is counted, to the last call and the last work"
is "$(field status)" 0 "and the program ends all the same"

record -q "$target" launch 100
is "$(field queued)" 100 "queued times are there when asked for"
record "$target" launch 100
is "$(field queued)" 0 "and only then"

record env CUDA_INJECTION64_PATH= "$target" launch 100
is "$(field instances)" "0 ended 0" "a program without the library is no instance"

run env CUDA_INJECTION64_PATH="$library" "$target" launch 100
is "$status: $out$err" "0: done" "without a recorder nothing happens"
run env CUDA_INJECTION64_PATH="$library" XPUPROF_SOCKET=/nowhere/socket "$target" launch 100
is "$status: $out$err" "0: done" "nor with one that is gone"

# Which CUPTI.
fault() { # FAULTS
	XPUPROF_SIM_FAULTS=$1
	export XPUPROF_SIM_FAULTS
	record "$target" launch 1000
	unset XPUPROF_SIM_FAULTS
}

# A CUPTI of NVIDIA's that is installed here is found next; without a driver of its own it refuses.
no_cupti_fits() { # NAME
	has "$(printf '%s\n' "$out" | sed 's/^loss gpu_refused /loss gpu_no_cupti /')" "loss gpu_no_cupti 1" "$1"
}

fault subscriber-before
has "$out" "loss gpu_taken 1" "a CUPTI that another tool holds is counted"
is "$(field works) $(field status)" "0 0" "and the program runs on"
fault subscriber-after
is_whole 1000 "a tool that comes after us changes nothing for us"
fault cupti-version=140000
no_cupti_fits "a CUPTI newer than the driver is not used"
fault cupti-version=26
is_whole 1000 "CUPTI of CUDA 12 is"
fault cupti-version=18
no_cupti_fits "CUPTI of CUDA 11 is not"
fault record-extra=64
is_whole 1000 "records longer than we know are read"
fault drop=10
has "$out" "loss gpu_dropped 100" "records that CUPTI dropped are counted"
fault zero-time=10
has "$out" "loss gpu_invalid 100" "work without times is counted and left out"
is "$(field works) $(field waiting)" "900 100" "and the rest is there"
fault reversed-time=10
has "$out" "loss gpu_invalid 100" "so is work that ends before it begins"
fault far-time=10
has "$out" "loss gpu_invalid 100" "and work of another year"
fault delay-ms=300,reorder=3
is_whole 1000 "late work in any order is seen"

LD_LIBRARY_PATH=$sim/without-cupti
record "$target" launch 100
no_cupti_fits "where no CUPTI fits that is counted"
is "$(field status)" 0 "and the program runs on"

mkdir -p site-packages/nvidia/cuda_cupti/lib site-packages/other
cp "$sim/libcupti.so.13" site-packages/nvidia/cuda_cupti/lib/
cc -shared -o site-packages/other/mapped.so -x c /dev/null
record env LD_PRELOAD="$PWD/site-packages/other/mapped.so" "$target" launch 100
is_whole 100 "CUPTI is found in the Python packages some mapped library belongs to"

done_testing

#!/bin/sh
# SPDX-License-Identifier: MIT
# Samples of GPU instructions, from the simulated CUDA through the injected library to the recorder: as many as were taken,
# whatever the program does with its contexts, and nobody is disturbed.
. "$(dirname "$0")/tap.sh"

build=$(cd "$build" && pwd)
library=$build/libxpuprof-inject.so
target=$build/tests/targets/sampling_target
other=$build/tests/targets/inject_target
sim=$build/sim
export LD_LIBRARY_PATH="$sim" TMPDIR="$work" XPUPROF_SIM_STALLS_MADE="$work/made"
unset CUDA_INJECTION64_PATH XPUPROF_SIM_FAULTS XPUPROF_SIM_DEVICES XPUPROF_SIM_STALLS

# record [gpu_record's options] WHAT COUNT
record() {
	rm -f made
	run timeout 120 "$build/tests/helpers/gpu_record" "$library" "$@"
}

field() { # NAME -> its number in $out
	printf '%s\n' "$out" | sed -n "s/^$1 //p"
}

made() {
	awk '$1 != "(dropped)" { sum += $2 } END { printf "%.0f", sum }' made
}

is_whole() { # WORKS NAME: every piece of work, every sample that was taken, nothing lost, and the program is done
	is "$(field works) $(field 'loss .*') $(field status) rows $(field rows) $(printf '%s\n' "$out" | grep -c done)" \
		"$1  0 rows $(made) 1" "$2"
}

faulty() { # FAULTS COMMAND ...
	XPUPROF_SIM_FAULTS=$1
	export XPUPROF_SIM_FAULTS
	shift
	"$@"
	unset XPUPROF_SIM_FAULTS
}

record -t 12 "$target" one 50
is_whole 50 "every sample of a program with one context reaches the profile"
# 50 kernels of 200 us on 64 multiprocessors of 1.5 GHz, every 4096 cycles
is "$(field taken)" 234375 "and they are as many as the period demands"
is "$(field images)" 1 "the image of its module came"

record -t 10 "$target" one 50
is "$(field taken)" 937500 "four times as many with a quarter of the period"

record "$target" one 50
is "$(field taken) $(field images)" " " "without being asked for there are none, and no images"

record -t 12 "$target" contexts 20
is_whole 60 "contexts that are made and destroyed one after the other have all of theirs"
is "$(field windows | sed 's/.*contexts //')" 3 "each by its own number"

on_two() { # COMMAND ...: with two GPUs
	XPUPROF_SIM_DEVICES=2
	export XPUPROF_SIM_DEVICES
	"$@"
	unset XPUPROF_SIM_DEVICES
}

XPUPROF_SIM_DEVICES=3
export XPUPROF_SIM_DEVICES
record -t 12 "$target" devices 30
is_whole 90 "so have contexts on several devices, in threads"
is "$(field windows | sed 's/.*contexts //')" 3 "each of them"
unset XPUPROF_SIM_DEVICES

record -t 12 "$target" reset 20
is_whole 40 "a program that resets its device loses none"

on_two record -t 12 "$target" churn 300
is_whole 336 "nor one whose contexts come and go while another thread launches"

record -t 12 "$target" modules 700
is_whole 10 "nor one that loads modules as fast as it goes"
is "$(field images)" 701 "and the images of all of them come"

record -t 12 -z "$target" modules 3000
is "$(field status) $(printf '%s\n' "$out" | grep -c done)" "0 1" "with a recorder that sleeps it waits for a second, and not with each of them"
is "$(($(field images) + $(field 'loss images_lost')))" 3001 "and the images that it did not take are counted"

record -t 12 "$other" fork 200
is "$(field works) $(field 'loss .*') $(field rows)" "200  $(made)" \
	"a child forked after sampling began leaves by exit, and neither it nor its parent is disturbed"

record -t 12 "$other" forks 200
is "$(field works) $(field 'loss .*') $(field rows)" "600  $(made)" \
	"the same with forks from several threads while others launch"

record -t 12 "$other" close 400
is "$(field works) $(printf '%s\n' "$out" | grep -c done)" "400 1" \
	"a program that closes every descriptor is not disturbed"

record -x "$target" one 50
is "$(field named)" 50 "sampled exactly, each launch is named by its samples"
is_whole 50 "and none of them is missing"

rm -f made
faulty stalls-dropped=10 record -t 12 "$target" one 50
is "$(field dropped) $(field 'loss stalls_dropped')" "23437 23437" "what the GPU dropped is counted"
is "$(field rows)" "$(made)" "and the others are there"

faulty stalls-delay-ms=15 record -t 12 "$target" one 50
is_whole 50 "samples that come late are waited for at the end"

faulty stalls-refused record -t 12 "$target" one 50
is "$(field works) $(field 'loss stalls_refused') $(field taken) $(printf '%s\n' "$out" | grep -c done)" "50 1 0 1" \
	"a program that may not be sampled is recorded without"

faulty stalls-refused=26 record -t 12 "$target" contexts 20
is "$(field works) $(field 'loss stalls_refused')" "60 1" "a process counts once, however many of its contexts are refused"

faulty stalls-full=2 record -t 12 "$other" slow 1500
is "$(field works) $(field 'loss stalls_refused') $(printf '%s\n' "$out" | grep -c done)" "1500 1 1" \
	"when samples run over, that is reported and the program goes on"

faulty stalls-slow-ms=300 record -t 12 "$target" contexts 500
is_whole 1500 "a context that ends while its samples are being fetched waits for them"

faulty stalls-slow-ms=300,stalls-lock record -t 12 "$target" contexts 600
is "$(field works) $(field status) $(printf '%s\n' "$out" | grep -c done)" "1800 0 1" \
	"but not for ever: CUPTI may be waiting for it"

faulty stalls-delay-ms=50 record -t 12 "$target" contexts 20
is_whole 60 "what the GPU has not reported yet when a context ends comes with its end"

faulty stalls-strict,stalls-slow-ms=300 record -t 12 -s 200 "$target" reset 2500
is "$(field status) $(printf '%s\n' "$out" | grep -c done)" "0 1" \
	"a context that ends when recording stops does not do so under our thread"

on_two record -t 12 "$target" cancel 50
is_whole 50 "a thread that is cancelled while sampling is switched on leaves no launches held"

on_two faulty stalls-hang=2 record -t 12 "$target" beside 50
is "$(field works) $(field status) $(field rows) $(printf '%s\n' "$out" | grep -c done)" "50 0 $(made) 1" \
	"nor does CUPTI that never comes back from that"

faulty cupti-version=21 record -t 12 "$target" one 50
is_whole 50 "CUPTI from before CUDA 12.4, whose records are shorter, is understood"

record -t 12 -r 262144 "$target" one 2000
is_whole 2000 "a ring that is small makes samples wait, not vanish"

record -t 12 -s 300 "$other" slow 1000
is "$(printf '%s\n' "$out" | grep -c done) $(field status)" "1 0" "a program goes on when its recording stops"

record -t 12 -k -s 300 "$other" slow 2000
is "$status" 137 "and when its recorder is killed"
XPUPROF_SIM_MACHINE="another $$" # that program goes on, and its GPU goes on taking samples

# ---- the command ----

unset XPUPROF_SIM_STALLS_MADE
run xpuprof record --stalls=4k --gpu-only -o p.xpu -- "$target" one 50
is "$status" 0 "record --stalls ends as the program does"
has "$err" "234,375 instruction samples" "and says how many samples there are"

faulty stalls-refused run xpuprof record --stalls --gpu-only -o p.xpu -- "$target" one 50
is "$status" 0 "so it does when the driver refuses"
is "$(printf '%s\n' "$err" | grep -c 'only administrators sample GPU instructions: run as root, or set NVreg_RestrictProfilingToAdminUsers=0 .*; everything else was recorded')" \
	1 "one line says why, and what helps"
has "$err" "50 pieces of work" "and all else is there"

faulty stalls-taken=3 run xpuprof record --stalls=4k --gpu-only -o p.xpu -- "$other" slow 1500
is "$status" 0 "so it does when another process takes the sampling of the GPU over"
taken="another process or profiler has begun to sample the GPU's instructions, which ended ours: let only one process"
has "$err" "$taken" "which is said at the end"
run xpuprof report p.xpu
has "$out" "not sampled   $taken" "and in reports"
run xpuprof report --stalls p.xpu
has "$out" "Not all was sampled
  $taken" "with those samples that there are"
has "$out" "Why kernels wait" "from before"
is "$(xpuprof report --stalls --json p.xpu | python3 -c 'import json, sys; print(json.load(sys.stdin)["stalls"]["refused"])' | cut -c1-15)" \
	"another process" "in JSON, too"

faulty cupti-version=21 run xpuprof record --stalls=exact -q --gpu-only -o p.xpu -- "$target" one 50
is "$(xpuprof report --stalls --json p.xpu | python3 -c 'import json, sys; s = json.load(sys.stdin)["stalls"]; print(s["windows"] > 0, s["windows_exact"])')" \
	"True 0" "samples from before CUDA 12.4, which do not name their launch, are not taken for exact"

for wrong in 4095 31 0 16 4294967296 4g 4k8 -4096 exactly "" 1e4; do
	run xpuprof record --stalls="$wrong" -o none.xpu -- true
	is "$status" 2 "--stalls=$wrong is refused"
done
has "$err" "a power of two from 32 to 2048m, not '1e4'" "with what would be right"
for right in 32 4096 4k 2M 2048m 2147483648 exact; do
	run xpuprof record --stalls="$right" -q --gpu-only -o p.xpu -- true
	is "$status" 0 "--stalls=$right is taken"
done
run xpuprof record --stalls --cpu-only -o none.xpu -- true
is "$status" 2 "samples of GPU work without GPU work are refused"
run xpuprof record --stalls -o none.xpu -a -d 1
is "$status" 2 "and so they are without a command"
[ ! -e none.xpu ]
result $? "nothing was recorded then"

done_testing

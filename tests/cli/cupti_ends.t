#!/bin/sh
# SPDX-License-Identifier: MIT
# A GPU lets its instructions be sampled in one context of one process at a time, and CUPTI ends in the process that does
# not heed that, without a word: so it is heeded, and the others are recorded without samples. When CUPTI does end while
# the program goes on, that is said, with all that is missing.
. "$(dirname "$0")/tap.sh"

build=$(cd "$build" && pwd)
target=$build/tests/targets/sampling_target
other=$build/tests/targets/inject_target
export LD_LIBRARY_PATH="$build/sim" TMPDIR="$work" XPUPROF_SIM_STALLS_MADE="$work/made"
unset CUDA_INJECTION64_PATH XPUPROF_SIM_FAULTS XPUPROF_SIM_DEVICES XPUPROF_SIM_STALLS

# faulty FAULT COMMAND ...
faulty() {
	XPUPROF_SIM_FAULTS=$1
	export XPUPROF_SIM_FAULTS
	shift
	"$@"
	unset XPUPROF_SIM_FAULTS
}

# record FAULT [gpu_record's options] COMMAND ...
record() {
	rm -f made held
	fault=$1
	shift
	faulty "$fault" run timeout 120 "$build/tests/helpers/gpu_record" "$build/libxpuprof-inject.so" "$@"
}

field() { # NAME -> its number in $out
	printf '%s\n' "$out" | sed -n "s/^$1 //p"
}

made() {
	awk '{ sum += $2 } END { printf "%.0f", sum }' made
}

sampled() { # WORKS LOSSES CONTEXTS NAME: every piece of work, and in so many contexts every sample that was taken
	is "$(field works) $(field 'loss .*') $(field status) rows $(field rows) in $(field windows | sed 's/.*contexts //')" \
		"$1 $2 0 rows $(made) in $3" "$4"
}

record one-sampler -t 12 "$target" both 30
sampled 90 1 2 "of two contexts of a device the first is sampled, and when it has ended the next that is made"

# The first of two processes: $0, until descriptor 3 is closed.
first='mkfifo go; "$0" hold 900 <go >held & exec 3>go; rm go; until [ -s held ]; do sleep 0.05; done'
record one-sampler -t 12 sh -c "$first"'; "$1" one 50; exec 3>&-; wait' "$other" "$target"
sampled 950 1 1 "of two processes on a device the first is sampled"

record one-sampler -t 12 sh -c "$first"'; XPUPROF_SIM_MACHINE="another $$" "$1" one 50; exec 3>&-; wait' "$other" "$target"
sampled 950 "" 1 "on two devices both are"

record one-sampler -t 12 sh -c '"$0" orphan 50; "$1" one 50' "$other" "$target"
sampled 100 "" 1 "a child that outlives its parent does not keep the next process from being sampled"

record one-sampler -t 12 sh -c "$first"'; kill -9 $!; wait; "$1" one 50' "$other" "$target"
is "$(field 'loss .*') $(field taken | sed 's/[1-9].*/some/')" " some" "nor does a process that was killed"

# ---- CUPTI ends ----

# ends FAULT OPTIONS NAME: the program goes on to its end, and what is missing is said
ends() {
	name=$3
	# shellcheck disable=SC2086
	record "$1" -t 12 $2 "$other" slow 2000
	is "$(printf '%s\n' "$out" | grep -c done) $(field 'loss .*')" "1 1" "$name"
	[ "$(field works)" -gt 0 ] && [ "$(field works)" -lt 2000 ]
	result $? "and not all of its work is known"
}

ends cupti-ends=300 "" "when CUPTI ends and says so the program goes on"
ends stalls-end=3 "" "so it does when CUPTI does not"
ends stalls-end=3 "-s 1500" "and when the recording stops after that"
record stalls-end=3 -t 12 -k -s 1500 "$other" slow 2000
is "$status" 137 "and when the recorder is killed then"
XPUPROF_SIM_MACHINE="another $$" # that program goes on

# ---- the command ----

unset XPUPROF_SIM_STALLS_MADE
said() { # PATTERN NAME: on stderr
	printf '%s\n' "$err" | grep -q -- "$1"
	result $? "$2"
}

faulty cupti-ends=300 run xpuprof record --gpu-only -o p.xpu -- "$other" slow 2000
is "$status" 0 "record ends as the program does when CUPTI has ended before it"
said "CUPTI ended in process [0-9]*, [0-9.]* s after .* is missing, .*(CUPTI error 999: an error that was made up)$" \
	"and says so"
said "1 process in which CUPTI ended before it did" "among what is missing"
run xpuprof report --json p.xpu
is "$(printf '%s' "$out" | python3 -c 'import json, sys
r = json.load(sys.stdin)
without = {k: n for k, n in r["launches_without_work"].items() if n}
lost = without.pop("lost", 0) # none where all work was told before
print(r["losses"]["gpu_cupti_ended"], without, sum(p["launches"] for p in r["processes"]) == r["works"] + lost)')" \
	"1 {} True" "every launch that is known has its work or was lost then"
run xpuprof report p.xpu
has "$out" "not recorded  CUPTI ended in process" "and reports say when"

faulty stalls-end=3 run xpuprof record --stalls=4k --gpu-only -o p.xpu -- "$other" slow 2000
said "CUPTI ended in process [0-9]*, .* (CUPTI error 999)$" "so it does when CUPTI did not say so"
is "$(printf '%s' "$err" | grep -c 'everything else')" 0 "and it is not said that everything else was recorded"

faulty one-sampler run xpuprof record --stalls=4k --gpu-only -o p.xpu -- "$target" both 30
said "more than one context on a GPU, .*: only those of the first were sampled; everything else was recorded$" \
	"which is said when a context was not sampled because another was"
said "90 pieces of work" "and true"

done_testing

#!/bin/sh
# SPDX-License-Identifier: MIT
# Launch stacks that are hard to tell apart or dangerous to read: no launch may get another one's stack, and no
# program may suffer. What each program does is described in tests/targets/stack_target.c.
. "$(dirname "$0")/tap.sh"

target=$build/tests/targets/stack_target
LD_LIBRARY_PATH=$(cd "$build/sim" && pwd)
export LD_LIBRARY_PATH

cpu_side || skip_all "CPU stacks cannot be had here"

# record WHAT [COUNT] -> $status, $out, and each kernel with its stack in $folded
record() {
	run timeout 60 "$build/xpuprof" record -q --gpu-only --stack-source=$source -o p.xpu -- "$target" "$@"
	take_folded p.xpu
}

take_folded() { # PROFILE
	folded=$(xpuprof export --to folded --view gpu -o - "$1" 2>&1 | sed 's/ [0-9]*$//')
	context=$folded
}

losses() { # NAME -> how many, as the report counts
	xpuprof report --json p.xpu | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

for source in inprocess bpf; do
	record reload 8
	is "$status $(printf '%s\n' "$out" | tail -1)" "0 done" "$source: libraries come and go while a program launches"
	has "$out" "the same addresses" "$source: one after the other at the same addresses"
	is "$(printf '%s\n' "$folded" | grep -v incomplete | grep -c 'plugin_a;.*axpy')" 1 "$source: launches are reported under the library that made them"
	is "$(printf '%s\n' "$folded" | grep -v incomplete | grep -c 'plugin_b;.*scale')" 1 "$source: and those of the other under the other"
	is "$(printf '%s\n' "$folded" | grep -c -e 'plugin_a;.*scale' -e 'plugin_b;.*axpy')" 0 "$source: and never mixed up"
	# Walkers in the kernel cannot know of the first time where it has no probes.
	[ $source = inprocess ] || is $(($(losses stacks_incomplete) <= 60)) 1 "$source: with their callers, also before walkers know of new code"

	for what in beyond garbage; do
		record $what
		is "$status $out" "0 done" "$source: rbp may lead astray ($what)"
		is "$(printf '%s\n' "$folded" | grep -c -e 'impostor_a;.*scale' -e 'impostor_b;.*axpy')" 0 \
			"$source: and what lies there is not taken from one launch for another"
		is "$(printf '%s\n' "$folded" | grep -v 'incomplete stack' | grep -c .)" 0 "$source: such stacks are marked"
		is "$(losses stacks_incomplete)" 80 "$source: and each of them counted"
	done

	record fiber
	is "$status $out" "0 done" "$source: launches from a stack of the program's own, just below the thread's, do no harm"
	is "$(printf '%s\n' "$folded" | grep -v 'callers guessed' | grep -c 'fiber;.*axpy')" 0 "$source: what rbp does not lead to is a guess at most"
	has "$folded" "start_thread;launch_in_fibers;launch;cuLaunchKernel;[GPU_Kernel]scale" \
		"$source: and the thread's own launches have their stacks"

	record deep
	is "$status $out" "0 done" "$source: deep stacks do no harm"
	is "$(losses works_incomplete)" 40 "$source: only those deeper than the limit are incomplete"

	record threads 300
	is "$status $out" "0 done" "$source: threads may come and go on the same stacks"
	is "$(printf '%s\n' "$folded" | sed 's/.*GPU\];//; s/^clone3*;//')" "start_thread;launch_a_few;launch;cuLaunchKernel;[GPU_Kernel]axpy" \
		"$source: and all launches have their stack"
done

# A recorder that comes late, when the program has been gone for long: it is stopped while the program settles, which
# it does once it has our library.
"$build/xpuprof" record -q --gpu-only -o p.xpu -- \
	sh -c "'$target' deep >out & echo \$! >begun; wait; echo >gone; sleep 0.3" &
recorder=$!
for _ in $(seq 1000); do
	[ -s begun ] && grep -q libxpuprof-inject "/proc/$(cat begun)/maps" 2>/dev/null && break
	sleep 0.01
done
sleep 0.2
kill -STOP $recorder
for _ in $(seq 100); do
	[ -e gone ] && break
	sleep 0.1
done
kill -CONT $recorder
wait $recorder
status=$?
is "$status" 0 "a recorder that was stopped for a while records on"
take_folded p.xpu
is "$(cat out) $(losses works_incomplete)" "done 40" \
	"a program that is gone before its stacks are looked at has them, but for those that are too deep"

# Where BPF may not be used the library alone knows of new code. What it tells around the moments in which libraries take
# each other's place ends in front of them.
if [ "$(id -u)" = 0 ] && setpriv --reuid=nobody --clear-groups test -r "$target"; then
	mkdir drop && chown nobody drop && chmod 755 .
	run env HOME="$PWD/drop" setpriv --reuid=nobody --regid=nogroup --clear-groups timeout 60 "$build/xpuprof" \
		record -q --gpu-only -o drop/p.xpu -- "$target" reload 8
	take_folded drop/p.xpu
	is "$status $(printf '%s\n' "$out" | tail -1)" "0 done" "without rights: a program whose libraries come and go runs as alone"
	has "$out" "the same addresses" "without rights: libraries come and go at the same addresses"
	is "$(printf '%s\n' "$folded" | grep -v incomplete | grep -c -e 'plugin_a;.*axpy' -e 'plugin_b;.*scale')" 2 \
		"without rights: launches are reported under the library that made them"
	is "$(printf '%s\n' "$folded" | grep -c -e 'plugin_a;.*scale' -e 'plugin_b;.*axpy')" 0 \
		"without rights: and never mixed up"
else
	skip "libraries that come and go, without rights" "needs root, and a build that nobody may read"
fi

done_testing

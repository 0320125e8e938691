#!/bin/sh
# SPDX-License-Identifier: MIT
# Benchmarks are for people who have built them: without that they say what to build, and do nothing else.
. "$(dirname "$0")/tap.sh"
bench=$here/../../bench

for script in "$bench"/*.sh "$bench/against_perf.py" "$bench/recorder.py"; do
	run env XPUPROF_BUILD="$work" "$script"
	has "$status:$(wc -l <.err):$err" "2:1:bench: no '" "$(basename "$script") says what it needs"
	has "$out$err" "'make bench-programs' builds it" "and how to build it"
done
run env XPUPROF_BUILD="$build" "$bench/needs" xpuprof
is "$status:$out:$err" "0:$(cd "$build" && pwd):" "what is built is found"
true_that "and there is such a rule" grep -q '^bench-programs:' "$bench/rules.mk"
done_testing

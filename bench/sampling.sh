#!/bin/sh
# SPDX-License-Identifier: MIT
# What sampling the whole machine at 99 Hz costs when all CPUs are busy under deep stacks without frame pointers
# (bench/sampling.c): what the kernel says our programs took, what the recorder took, by its CPU time, and the work that
# was done alone and recorded, in turn. What else runs on the machine is recorded, too. Needs root. Arguments: rounds,
# seconds.
build=$("$(dirname "$0")/needs" xpuprof bench/sampling) || exit
rounds=${1:-5}
seconds=${2:-4}
cpus=$(nproc)
folder=$(mktemp -d)
trap 'sysctl -q kernel.bpf_stats_enabled=0; rm -rf "$folder"' EXIT

# What the kernel counts of our programs: nanoseconds of all, nanoseconds and runs of the sampler
# (BPF_PROG_TYPE_PERF_EVENT), runs of the others.
programs() {
	cat "/proc/$recorder"/fdinfo/* 2>/dev/null | awk '
		$1 == "prog_type:" { sampler = $2 == 7 }
		$1 == "run_time_ns:" { all += $2; if (sampler) ns += $2 }
		$1 == "run_cnt:" { if (sampler) count += $2; else others += $2 }
		END { printf "%.0f %.0f %d %d", all, ns, count, others }'
}

# Of the recorder's threads, in nanoseconds.
cpu_time() {
	cat "/proc/$recorder"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum }'
}

# Runs "$@" alone and recorded, in turn.
measure() {
	alone=$("$@")
	sysctl -q kernel.bpf_stats_enabled=1
	"$build/xpuprof" record -q --cpu-only -a -F 99 -o "$folder/p.xpu" &
	recorder=$!
	sleep 2
	before="$(programs) $(cpu_time) $(date +%s%N)"
	recorded=$("$@")
	after="$(programs) $(cpu_time) $(date +%s%N)"
	kill -INT "$recorder"
	wait "$recorder"
	sysctl -q kernel.bpf_stats_enabled=0
	echo "$before $after $cpus $alone $recorded" | awk '{
		all = ($12 - $6) * $13 / 100
		programs = ($7 - $1) / all
		recorder = ($11 - $5) / all
		printf "  %.3f %% of all CPUs\047 time: programs %.3f %%, recorder %.3f %%; %d samples of %.1f us," \
			" %.0f other events a second; work recorded/alone %.3f\n", programs + recorder, programs, recorder,
			$9 - $3, ($8 - $2) / ($9 - $3) / 1000, ($10 - $4) / ($12 - $6) * 1e9, $15 / $14 }'
}

echo "A process for each CPU under 60 frames without frame pointers, $seconds s, load $(cut -d' ' -f1 /proc/loadavg):"
for round in $(seq "$rounds"); do
	measure "$build/bench/sampling" "$seconds"
done
"$build/xpuprof" report "$folder/p.xpu" | grep -i -A6 'stacks of CPU samples are complete'
echo "100 such processes in turn, and a program started every 20 ms:"
for round in $(seq "$rounds"); do
	measure "$build/bench/sampling" "$seconds" 100 50
done
"$build/xpuprof" report "$folder/p.xpu" | grep -i -A6 'stacks of CPU samples are complete'

#!/bin/sh
# SPDX-License-Identifier: MIT
# What sampling the whole machine at 99 Hz costs when all CPUs are busy under deep stacks without frame pointers
# (bench/sampling.c): what the kernel says our sampler took, what the recorder took, and the work that was done
# alone and recorded, in turn. Needs root.
: "${XPUPROF_BUILD:=build}"
rounds=${1:-5}
seconds=${2:-4}
cpus=$(nproc)
folder=$(mktemp -d)
trap 'sysctl -q kernel.bpf_stats_enabled=0; rm -rf "$folder"' EXIT

# What the kernel counts of the sampler (BPF_PROG_TYPE_PERF_EVENT): nanoseconds and runs.
sampler() {
	cat "/proc/$recorder"/fdinfo/* 2>/dev/null | awk '
		$1 == "prog_type:" { ours = $2 == 7 }
		ours && $1 == "run_time_ns:" { ns = $2 }
		ours && $1 == "run_cnt:" { count = $2 }
		END { print ns + 0, count + 0 }'
}

# Of the recorder's threads, in nanoseconds.
cpu_time() {
	cat "/proc/$recorder"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum }'
}

for round in $(seq "$rounds"); do
	alone=$("$XPUPROF_BUILD/bench/sampling" "$seconds")
	sysctl -q kernel.bpf_stats_enabled=1
	"$XPUPROF_BUILD/xpuprof" record -q --cpu-only -a -F 99 -o "$folder/p.xpu" &
	recorder=$!
	sleep 2
	before=$(sampler)
	took=$(cpu_time)
	recorded=$("$XPUPROF_BUILD/bench/sampling" "$seconds")
	took=$(($(cpu_time) - took))
	after=$(sampler)
	kill -INT "$recorder"
	wait "$recorder"
	sysctl -q kernel.bpf_stats_enabled=0
	echo "$before $after $took $((cpus * seconds)) $alone $recorded" | awk '{
		printf "%d samples of %.1f us: %.3f %% of all CPUs\047 time; the recorder %.3f %%; work recorded/alone %.4f\n",
			$4 - $2, ($3 - $1) / ($4 - $2) / 1000, ($3 - $1) / $6 / 1e7, $5 / $6 / 1e7, $8 / $7 }'
done
"$XPUPROF_BUILD/xpuprof" report "$folder/p.xpu" | grep -i -A6 'stacks of CPU samples are complete'

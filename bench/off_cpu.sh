#!/bin/sh
# SPDX-License-Identifier: MIT
# What `record --off-cpu` costs: pairs of threads, one on each CPU, that switch as fast as they can (bench/off_cpu.c), alone, recorded
# without and with it, in turn; by the kernel's count, what our programs took a switch; the recorder's own CPU time; losses. And
# launches of a program that does little else, on the simulated GPU. The limit: 2 % of the machine at 200,000 switches a second, so
# with 2 CPUs 200 ns a switch. Needs root, and a quiet machine: the load is in the first line. Arguments: rounds, seconds, pairs.
build=$("$(dirname "$0")/needs" xpuprof bench/off_cpu tests/programs/launch_rate) || exit
rounds=${1:-5}
seconds=${2:-2}
cpus=$(nproc)
pairs=${3:-$cpus}
folder=$(mktemp -d)
trap 'sysctl -q kernel.bpf_stats_enabled=0; rm -rf "$folder"' EXIT
cd "$folder" || exit 1

# Nanoseconds and runs of the recorder's tracing programs (BPF_PROG_TYPE_TRACING), and its own CPU time.
programs() {
	cat "/proc/$recorder"/fdinfo/* 2>/dev/null | awk '
		$1 == "prog_type:" { tracing = $2 == 26 }
		$1 == "run_time_ns:" && tracing { ns += $2 }
		END { printf "%.0f", ns }'
	cat "/proc/$recorder"/task/*/schedstat 2>/dev/null | awk '{ sum += $1 } END { printf " %.0f", sum }'
}

# What a switch took, ns of CPU time.
a_switch() {
	awk '{ printf "%.1f\n", $2 / $1 }' "$1"
}

# recorded FILE OPTION...: what the storm says goes to FILE
recorded() {
	out=$1
	shift
	"$build/xpuprof" record -q --cpu-only -o p.xpu "$@" -- "$build/bench/off_cpu" "$seconds" "$pairs" >"$out" 2>said
}

# What the kernel counts, which costs by itself: not in the rounds above.
count_programs() {
	sysctl -q kernel.bpf_stats_enabled=1
	"$build/bench/off_cpu" "$(awk "BEGIN { print $seconds + 4 }")" "$pairs" >counted &
	storm=$!
	"$build/xpuprof" record -q -o c.xpu --off-cpu -F 1 -p "$storm" 2>said &
	recorder=$!
	sleep 2
	before="$(programs) $(awk '$1 == "ctxt" { print $2 }' /proc/stat) $(date +%s%N)"
	sleep "$seconds"
	after="$(programs) $(awk '$1 == "ctxt" { print $2 }' /proc/stat) $(date +%s%N)"
	wait "$storm" "$recorder"
	sysctl -q kernel.bpf_stats_enabled=0
	echo "$before $after $cpus" | awk '{
		all = ($8 - $4) * $9 / 100
		printf "by the kernel'"'"'s count: %.0f switches a second, %.0f ns of programs each: %.2f %% of the machine;" \
			" the recorder %.2f %%\n", ($7 - $3) / ($8 - $4) * 1e9, ($5 - $1) / ($7 - $3),
			($5 - $1) / all, ($6 - $2) / all }'
}

losses() {
	"$build/xpuprof" report --json "$1" | python3 -c '
import json, sys
lost = {name: n for name, n in json.load(sys.stdin)["losses"].items() if n}
print("lost or incomplete:", lost or "nothing")'
}

echo "$pairs pairs of threads, $seconds s, $cpus CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
echo "ns a switch: alone, recorded, recorded with --off-cpu; what that adds, and as share of the machine at 200,000 a second"
for round in $(seq "$rounds"); do
	"$build/bench/off_cpu" "$seconds" "$pairs" >alone
	recorded plain
	recorded off_cpu --off-cpu
	echo "$(a_switch alone) $(a_switch plain) $(a_switch off_cpu) $cpus" |
		awk '{ printf "  %8.1f %8.1f %8.1f   %+.0f ns, %.2f %%\n", $1, $2, $3, $3 - $2, ($3 - $2) * 200000 / 1e9 / $4 * 100 }'
done
losses p.xpu
count_programs
losses c.xpu

echo "launches on the simulated GPU, ns each: recorded, recorded with --off-cpu"
export LD_LIBRARY_PATH="$build/sim" XPUPROF_SIM_MACHINE="off_cpu $$"
launches() {
	"$build/xpuprof" record -q -o g.xpu "$@" -- "$build/tests/programs/launch_rate" --launches 200000 --rate 50000 2>said |
		sed 's/.*"ns_per_launch": \([0-9.]*\).*/\1/'
}
for round in $(seq "$rounds"); do
	echo "  $(launches) $(launches --off-cpu)"
done
losses g.xpu

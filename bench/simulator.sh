#!/bin/sh
# SPDX-License-Identifier: MIT
# How many launches a second the simulated CUDA sustains: alone, with a tool that only receives,
# by the number of launching threads. Medians of five runs.
build=$("$(dirname "$0")/needs" tests/programs/launch_rate tests/programs/launch_rate_runtime tests/gpu/libfloor_tool.so) || exit
export LD_LIBRARY_PATH="$build/sim"
launches=500000
programs=$build/tests/programs
tool=$build/tests/gpu/libfloor_tool.so

rate() { # WHAT PROGRAM THREADS
	for run in 1 2 3 4 5; do
		if [ "$1" = none ]; then
			"$programs/$2" --launches $launches --threads "$3"
		else
			XPUPROF_FLOOR="$1" CUDA_INJECTION64_PATH="$tool" \
				"$programs/$2" --launches $launches --threads "$3" 2>/dev/null
		fi
	done | sed 's/.*"ns_per_launch": \([0-9.]*\).*/\1/' | sort -n | sed -n 3p |
		awk -v threads="$3" '{ printf "%.2f", threads * 1000 / $1 }'
}

echo "simulated CUDA, million launches a second"
printf '%-14s %-8s %10s %10s %10s %10s\n' interface threads alone callbacks activity both
for program in launch_rate launch_rate_runtime; do
	for threads in 1 2; do
		name=driver
		[ $program = launch_rate ] || name=runtime
		printf '%-14s %-8s %10s %10s %10s %10s\n' $name $threads \
			"$(rate none $program $threads)" "$(rate callbacks $program $threads)" \
			"$(rate activity $program $threads)" \
			"$(rate activity,callbacks $program $threads)"
	done
done

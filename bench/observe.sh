#!/bin/sh
# SPDX-License-Identifier: MIT
# What `record --gpu=observe` costs a launch of a program that cannot be joined, on the simulated CUDA: nanoseconds a launch, alone
# and while it is observed, all the time and at a stated cost. The shortest of five runs. Needs root.
build=$("$(dirname "$0")/needs" xpuprof tests/programs/launch_rate) || exit
filtered="python3 $(cd "$(dirname "$0")/../tests/cli" && pwd)/observed.t filtered"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
export LD_LIBRARY_PATH="$build/sim"

# It is recorded before it begins; the first tenths of a second, in which it is found, count for little.
launch() { # LAUNCHES OPTIONS...
	launches=$1
	shift
	$filtered sh -c "sleep 0.5; exec '$build/tests/programs/launch_rate' --launches $launches" >"$folder/log" &
	if [ $# -gt 0 ]; then
		"$build/xpuprof" record -q --gpu-only --gpu=observe "$@" -o "$folder/p.xpu" -p $! 2>/dev/null
	fi
	wait
	sed 's/.*"ns_per_launch": \([0-9.]*\).*/\1/' "$folder/log"
}

shortest() { # LAUNCHES OPTIONS...
	for run in 1 2 3 4 5; do
		launch "$@"
	done | sort -n | sed -n 1p
}

alone=$(shortest 20000000)
printf '%-14s %10s %10s\n' '' 'ns a launch' 'over alone'
printf '%-14s %10s\n' alone "$alone"
for options in "2000000 --overhead off" "20000000 --overhead 1" "20000000 --overhead 0.1"; do
	# shellcheck disable=SC2086
	ns=$(shortest $options)
	printf '%-14s %10s %10s\n' "${options#* --}" "$ns" "$(echo "$ns $alone" | awk '{ printf "%.3f", $1 / $2 }')"
done

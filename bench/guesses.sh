#!/bin/sh
# SPDX-License-Identifier: MIT
# What a sample costs under 500 frames (bench/guesses.c) with unwind information, with frame pointers alone, and with
# neither, where callers are guessed; and how many of the frames are found. The more addresses of data a frame has, the
# more hopeless guesses are. Needs root.
build=$("$(dirname "$0")/needs" xpuprof) || exit
source=$(dirname "$0")/guesses.c
folder=$(mktemp -d)
trap 'sysctl -q kernel.bpf_stats_enabled=0; rm -rf "$folder"' EXIT
bare="-fno-asynchronous-unwind-tables -fno-unwind-tables"

# What the kernel counts of the sampler (BPF_PROG_TYPE_PERF_EVENT): microseconds of each run.
cost() {
	cat "/proc/$1"/fdinfo/* 2>/dev/null | awk '
		$1 == "prog_type:" { sampler = $2 == 7 }
		$1 == "run_time_ns:" && sampler { ns += $2 }
		$1 == "run_cnt:" && sampler { count += $2 }
		END { printf "%.1f", ns / count / 1000 }'
}

# found PROFILE: how many of the frames its samples have, on average
found() {
	"$build/xpuprof" export --to folded -o - "$1" | awk '{
		for (i = split($0, frames, ";"); i; i--)
			sum += (frames[i] ~ /^down/) * $NF
		all += $NF }
		END { printf "%.0f", sum / all }'
}

# measure NAME WORDS OPTION...
measure() {
	name=$1 words=$2
	shift 2
	${CC:-cc} -O1 -fno-optimize-sibling-calls "-DWORDS=$words" "$@" -o "$folder/guesses" "$source" || exit
	"$build/xpuprof" record -q --cpu-only -F 499 -o "$folder/p.xpu" -- "$folder/guesses" 500 3 &
	recorder=$!
	sleep 2.5
	us=$(cost "$recorder")
	wait "$recorder"
	printf '%-20s %6d %10s %10s\n' "$name" "$words" "$us" "$(found "$folder/p.xpu")"
}

sysctl -q kernel.bpf_stats_enabled=1
printf '%-20s %6s %10s %10s\n' "walked by" words "us/sample" frames
for words in 4 60 400; do
	measure "unwind information" "$words" -fomit-frame-pointer
	# shellcheck disable=SC2086
	measure "frame pointers" "$words" -fno-omit-frame-pointer $bare
	# shellcheck disable=SC2086
	measure "guesses" "$words" -fomit-frame-pointer $bare
	# shellcheck disable=SC2086
	measure "guesses, no memory" "$words" -DABSENT -fomit-frame-pointer $bare
done

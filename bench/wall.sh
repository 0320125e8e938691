#!/bin/sh
# SPDX-License-Identifier: MIT
# How long `--view off-cpu` and `--view wall` take of a profile in which 16 threads wait for each other and for the GPU
# (bench/wall_gen.c), and how much memory; with ten times as many events, too, which do not fit into memory at once.
#
#	bench/wall.sh [EVENTS [RUNS]]
build=$("$(dirname "$0")/needs" xpuprof bench/wall_gen) || exit
events=${1:-1000000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for n in "$events" "${events}0"; do
	"$build/bench/wall_gen" "$work/$n.xpu" "$n" || exit 1
done
PYTHONPATH=$(dirname "$0") python3 - "$build/xpuprof" "$work" "$events" "${2:-5}" <<'END_OF_PYTHON'
import os, statistics, sys
from results import measure, note_command
program, work, events, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])

print(f"medians of {runs} runs\n")
print("command                        events  wall s   least    most   CPU s  peak MiB")
for count in events, events + "0":
    for view in "off-cpu", "wall":
        command = [program, "flame", "--view", view, "-o", os.devnull, os.path.join(work, count + ".xpu")]
        walls, cpus, peaks = zip(*(measure(command) for _ in range(runs)))
        print(f"flame --view {view:11} {int(count):12,} {statistics.median(walls):7.2f} {min(walls):7.2f}"
              f" {max(walls):7.2f} {statistics.median(cpus):7.2f} {max(peaks):9.1f}")
        note_command(f"`xpuprof flame --view {view}`, {int(count):,} events of 16 threads", walls, cpus, peaks)
END_OF_PYTHON

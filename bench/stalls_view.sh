#!/bin/sh
# SPDX-License-Identifier: MIT
# How long a flame graph down to the instruction takes, of instruction samples in many distinct (function, offset,
# reason), each in one window or in many; and the reports of them beside it (bench/profile_gen.c makes the recordings).
#
#	bench/stalls_view.sh [ROWS [LAUNCHES [RUNS]]]
build=$("$(dirname "$0")/needs" xpuprof bench/profile_gen) || exit
rows=${1:-1000000}
launches=${2:-100000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$build/bench/profile_gen" "$work/rows.xpu" "$launches" "$rows" || exit 1
PYTHONPATH=$(dirname "$0") python3 - "$build/xpuprof" "$work/rows.xpu" "$rows" "$launches" "${3:-5}" <<'END_OF_PYTHON'
import os, statistics, sys
from results import measure, note_command
program, profile, rows, launches, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])

print(f"{rows:,} rows of samples, {launches:,} launches, {os.path.getsize(profile) / 1e6:.0f} MB; medians of {runs} runs\n")
print("command                              wall s   least    most   CPU s  peak MiB")
stall = ["--view", "stall", profile, "-o", os.devnull]
for name, command in {
        "flame --view stall": ["flame", *stall],
        "flame --view stall --reverse": ["flame", "--reverse", *stall],
        "flame --view stall --weight samples": ["flame", "--weight", "samples", *stall],
        "export --to folded --view stall": ["export", "--to", "folded", *stall],
        "report --stalls": ["report", "--stalls", profile]}.items():
    walls, cpus, peaks = zip(*(measure([program, *command]) for _ in range(runs)))
    print(f"{name:35} {statistics.median(walls):7.2f} {min(walls):7.2f} {max(walls):7.2f} {statistics.median(cpus):7.2f}"
          f" {max(peaks):9.1f}")
    note_command(f"`xpuprof {name}`, {rows:,} rows of samples, {launches:,} launches", walls, cpus, peaks,
                 "2 s" if name == "flame --view stall" else "")
END_OF_PYTHON

#!/bin/sh
# SPDX-License-Identifier: MIT
# `xpuprof export --to html`: how long a page as one file takes, how much memory, and how large it is. Of LAUNCHES launches with
# their work (two events each) of 3,000 stacks and of a fifth as many stacks as launches, and of ten times as many of both.
#
#	bench/page_file.sh [LAUNCHES [RUNS]]
build=$("$(dirname "$0")/needs" xpuprof bench/pipeline) || exit
launches=${1:-500000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$build/bench/pipeline" -n "$launches" "$work/few.xpu" || exit 1
"$build/bench/pipeline" -n "$launches" -s $((launches / 5)) "$work/many.xpu" || exit 1
"$build/bench/pipeline" -n $((launches * 10)) -s $((launches * 2)) "$work/most.xpu" || exit 1
PYTHONPATH=$(dirname "$0") python3 - "$build/xpuprof" "$work" "$launches" "${2:-3}" <<'END_OF_PYTHON'
import os, statistics, sys
from results import measure, note_command
program, work, launches, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
FILES = {"few": (launches, 3000, "2 s"), "many": (launches, launches // 5, "2 s"), "most": (launches * 10, launches * 2, "10 s")}

print(f"medians of {runs} runs\n\nlaunches      stacks    wall s   least    most   CPU s  peak MiB  MB out")
for name, (count, stacks, limit) in FILES.items():
    out = os.path.join(work, name + ".html")
    walls, cpus, peaks = zip(*(measure([program, "export", "--to", "html", "-o", out, os.path.join(work, name + ".xpu")]) for _ in range(runs)))
    size = os.path.getsize(out) / 1e6
    print(f"{count:10,} {stacks:10,} {statistics.median(walls):9.2f} {min(walls):7.2f} {max(walls):7.2f} {statistics.median(cpus):7.2f} {max(peaks):9.1f} {size:7.1f}")
    note_command(f"`xpuprof export --to html`, {2 * count:,} events of {stacks:,} stacks, {size:.0f} MB", walls, cpus, peaks, limit)
END_OF_PYTHON

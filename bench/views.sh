#!/bin/sh
# SPDX-License-Identifier: MIT
# How long `xpuprof flame`, `report` and `export` take over 10 million launches with their work, and how much
# memory: on a profile with one GPU and 3,000 stacks of 25 frames in all depths (bench/pipeline.c), and on one
# with 8 GPUs and 1,000 operations (bench/profile_gen.c). Report and flame graphs also of half as many launches that
# each come from one of a million stacks.
#
#	bench/views.sh [PAIRS [RUNS]]
build=$("$(dirname "$0")/needs" xpuprof bench/pipeline bench/profile_gen) || exit
pairs=${1:-10000000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$build/bench/pipeline" -n "$pairs" "$work/1-gpu.xpu" || exit 1
"$build/bench/profile_gen" "$work/8-gpus.xpu" "$pairs" || exit 1
"$build/bench/pipeline" -n $((pairs / 2)) -s 1000000 "$work/stacks.xpu" || exit 1
PYTHONPATH=$(dirname "$0") python3 - "$build/xpuprof" "$work" "$pairs" "${2:-5}" <<'END_OF_PYTHON'
import os, statistics, sys
from results import measure, note_command
TARGETS = {"pprof": "4 s, 128 MiB", "perfetto": "20 s, flat"}  # twice those for as many events
program, work, pairs, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

print(f"{pairs:,} launches with their work, medians of {runs} runs\n")
print("command                    profile          wall s   least    most   CPU s  peak MiB")
commands = {"report": ["report"], "report --json": ["report", "--json"]}
for view in "merge", "gpu":
    commands["flame --view " + view] = ["flame", "--view", view, "-o", "-"]
commands["flame --reverse"] = ["flame", "--reverse", "-o", "-"]
for form in "folded", "chrome", "pprof", "perfetto", "perf-script":
    commands["export --to " + form] = ["export", "--to", form, "-o", "-"]
for name, words in commands.items():
    for profile, gpus, launches in ("1-gpu.xpu", "1 GPU", pairs), ("8-gpus.xpu", "8 GPUs", pairs), ("stacks.xpu", "a million stacks", pairs // 2):
        if profile == "stacks.xpu" and words[0] == "export":
            continue
        path = os.path.join(work, profile)
        walls, cpus, peaks = zip(*(measure([program, *words, path]) for _ in range(runs)))
        print(f"{name:26} {profile[:-4]:11} {os.path.getsize(path) / 1e6:5.0f} MB {statistics.median(walls):8.2f}"
              f" {min(walls):7.2f} {max(walls):7.2f} {statistics.median(cpus):7.2f} {max(peaks):9.1f}")
        note_command(f"`xpuprof {name}`, {gpus}, {launches:,} launches", walls, cpus, peaks, TARGETS.get(name.split()[-1], "" if "export" in name else "2 s, 256 MiB"))
END_OF_PYTHON

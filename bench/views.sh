#!/bin/sh
# SPDX-License-Identifier: MIT
# How long `xpuprof flame` and `xpuprof report` take over 10 million launches with their work, and how much
# memory: on a profile with one GPU and 3,000 stacks of 25 frames in all depths (bench/pipeline.c), and on one
# with 8 GPUs and 1,000 operations (bench/profile_gen.c).
#
#	bench/views.sh [PAIRS [RUNS]]
build=$("$(dirname "$0")/needs" xpuprof bench/pipeline bench/profile_gen) || exit
pairs=${1:-10000000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$build/bench/pipeline" -n "$pairs" "$work/1-gpu.xpu" || exit 1
"$build/bench/profile_gen" "$work/8-gpus.xpu" "$pairs" || exit 1
python3 - "$build/xpuprof" "$work" "$pairs" "${2:-5}" <<'END_OF_PYTHON'
import os, statistics, subprocess, sys, time
program, work, pairs, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

def measure(command):
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)}: status {status}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

print(f"{pairs:,} launches with their work, medians of {runs} runs\n")
print("command                    profile          wall s   least    most   CPU s  peak MiB")
commands = {"report": ["report"], "report --json": ["report", "--json"]}
for view in "merge", "gpu", "cpu":
    commands["flame --view " + view] = ["flame", "--view", view, "-o", "-"]
for name, words in commands.items():
    for profile in "1-gpu.xpu", "8-gpus.xpu":
        path = os.path.join(work, profile)
        walls, cpus, peaks = zip(*(measure([program, *words, path]) for _ in range(runs)))
        print(f"{name:26} {profile[:-4]:6} {os.path.getsize(path) / 1e6:5.0f} MB {statistics.median(walls):8.2f}"
              f" {min(walls):7.2f} {max(walls):7.2f} {statistics.median(cpus):7.2f} {max(peaks):9.1f}")
END_OF_PYTHON

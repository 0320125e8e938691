#!/bin/sh
# SPDX-License-Identifier: MIT
# A flame graph of 100,000 distinct stacks of 25 frames: xpuprof flame beside flamegraph.pl, on one CPU.
#
#	bench/svg.sh [RUNS]
build=$("$(dirname "$0")/needs" xpuprof bench/folded_gen) || exit
runs=${1:-5}
flamegraph=$(command -v flamegraph.pl || echo /usr/share/perl5/Devel/NYTProf/flamegraph.pl)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$build/bench/folded_gen" 100000 25 2000 >"$work/in.folded" || exit 1
PYTHONPATH=$(dirname "$0") python3 - "$build/xpuprof" "$flamegraph" "$work" "$runs" <<'END'
import os, statistics, subprocess, sys, time
from results import note_command
program, perl_script, work, runs = sys.argv[1:]
source = os.path.join(work, "in.folded")
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

def measure(name, command, runs):
    seconds, busy, peak = [], [], 0
    for _ in range(runs):
        with open(os.path.join(work, "out.svg"), "wb") as out:
            start = time.monotonic()
            child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            seconds.append(time.monotonic() - start)
        busy.append(usage.ru_utime + usage.ru_stime)
        if status:
            sys.exit(f"{name} failed: {status}")
        peak = max(peak, usage.ru_maxrss / 1024)
    size = os.path.getsize(os.path.join(work, "out.svg")) / 1e6
    median = statistics.median(seconds)
    print(f"{name:14} {median:8.2f} {min(seconds):8.2f} {max(seconds):8.2f} "
          f"{statistics.median(busy):8.2f} {peak:9.0f} {size:8.1f}")
    note_command(f"`{name}`, 100,000 distinct stacks of 25 frames", seconds, busy, [peak], "0.5 s, 150 MiB" if "xpuprof" in name else "")
    return median, peak

print(f"folded text of {os.path.getsize(source) / 1e6:.0f} MB: 100,000 stacks of 25 frames")
print("               median s    least     most    CPU s  peak MiB   MB out")
ours = measure("xpuprof flame", [program, "flame", source, "-o", "-"], int(runs))
if os.path.exists(perl_script):
    theirs = measure("flamegraph.pl", ["perl", perl_script, source], 1)
    print(f"ratio          {theirs[0] / ours[0]:8.1f} {'':8} {'':8} {'':8} {theirs[1] / ours[1]:9.1f}")
else:
    print("flamegraph.pl is not here (Debian: libdevel-nytprof-perl)")
END

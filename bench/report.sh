#!/bin/sh
# SPDX-License-Identifier: MIT
# How long `xpuprof report` takes over 10 million launches with their work, and how much memory.
build=${XPUPROF_BUILD:-$(dirname "$0")/../build}
pairs=${1:-10000000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$build/bench/profile_gen" "$work/p.xpu" "$pairs" || exit 1
python3 - "$build/xpuprof" "$work/p.xpu" "$pairs" <<'END'
import os, subprocess, sys, time
program, path, pairs = sys.argv[1:]
size = os.path.getsize(path)
print(f"report of {int(pairs):,} pairs, {size:,} bytes ({size / int(pairs):.1f} a pair)")
print("run    seconds   peak MiB")
for run in range(5):
    start = time.monotonic()
    child = subprocess.Popen([program, "report", path], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - start
    if status:
        sys.exit(f"report failed: {status}")
    print(f"{run + 1:3}  {seconds:9.2f}  {usage.ru_maxrss / 1024:9.1f}")
END

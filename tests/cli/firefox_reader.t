#!/bin/sh
# SPDX-License-Identifier: MIT
# What `export --to firefox` writes is read by Firefox Profiler's own code, in a later version of its format. tests/cli/firefox.t checks its types.
. "$(dirname "$0")/tap.sh"
. "$here/../browser/readers.sh"
get_readers || { done_testing; exit; }
# it says that it wants node 24; it runs with 20
[ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ] || skip_all "Firefox Profiler's code wants a newer node"

"$build/tests/helpers/range_profile" random.xpu 7 && xpuprof export --to firefox -o random.firefox.json random.xpu &&
	xpuprof report --json random.xpu >report.json || exit 1
sum() { python3 -c 'import json, sys; print(json.load(open("report.json"))[sys.argv[1]])' "$1"; }
sampled=$(xpuprof export --to folded --unit ns --view cpu random.xpu | awk '!/\[no sample\] [0-9]+$/ && !/not sampled\] [0-9]+$/ {sum += $NF} END {printf "%.0f", sum}')
take "Firefox Profiler" node "$here/../browser/firefox_totals.js" "$work" random.firefox.json "$sampled" "$(sum gpu_ns)"
done_testing

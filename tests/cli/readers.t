#!/bin/sh
# SPDX-License-Identifier: MIT
# What readers of others find in our exports of whole recordings adds up to what the report says: of the demo on the
# simulated GPU, and of a program that has none.
. "$(dirname "$0")/tap.sh"
. "$here/../browser/readers.sh"

truth() { # NAME
	xpuprof report --json --stalls "$1.xpu" >"$1.report" && xpuprof export --unit ns -o "$1.folded" "$1.xpu" &&
		xpuprof export --to folded --unit ns --view off-cpu "$1.xpu" >"$1.waits" 2>/dev/null
}

off_cpu= # needs BPF
cpu_side && off_cpu=--off-cpu

LD_LIBRARY_PATH=$build/sim xpuprof record -q --stalls -o demo.xpu -- "$build/demo/train" --steps 50 >/dev/null 2>&1 &&
	xpuprof record -q $off_cpu -o cpu.xpu -- \
		sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; sleep 0.1' &&
	truth demo && truth cpu || exit 1

pprof=$(ls /usr/lib/go-*/pkg/tool/*/pprof 2>/dev/null | tail -1)
for base in demo cpu; do
	xpuprof export -o $base.pb.gz $base.xpu || exit 1
done
if [ "$pprof" ]; then
	for base in demo cpu; do
		take "pprof, $base" python3 "$here/../check_pprof.py" "$pprof" $base
	done
else
	skip "pprof" "no pprof of Go's (Debian: golang-go)"
fi

collapse=$(command -v stackcollapse-perf.pl)
name="stackcollapse-perf.pl: it finds the CPU time of all samples"
if [ "$collapse" ]; then
	xpuprof export --to perf-script --view cpu cpu.xpu | perl "$collapse" >collapsed
	is "$(awk '{ sum += $NF } END { print sum }' collapsed)" \
		"$(grep -v -e '\[no sample\]' -e 'not sampled\]' cpu.folded | awk '{ sum += $NF } END { print sum }')" "$name"
else
	skip "$name" "no stackcollapse-perf.pl"
fi

if get_readers; then
	for base in demo cpu; do
		xpuprof export -o $base.json $base.xpu && xpuprof export -o $base.speedscope.json $base.xpu || exit 1
		take "chrome, $base" node "$here/../browser/chrome_totals.js" $base
		xpuprof export -o $base.perfetto-trace $base.xpu && xpuprof export -o $base.events $base.xpu || exit 1
		take "perfetto, $base" node "$here/../browser/perfetto_totals.js" $base
		xpuprof export -o $base.linux-perf.txt $base.xpu || exit 1
		take "perf script, $base" node "$here/../browser/perf_script_totals.js" $base
		take "speedscope, $base" node "$here/../browser/speedscope_totals.js" $base
	done
	"$build/tests/helpers/counter_profile" small counters.xpu && "$build/tests/helpers/driver_profile" small drivers.xpu &&
		"$build/tests/helpers/wait_profile" gpu waits.xpu || exit 1
	for base in counters drivers waits; do
		xpuprof export -o $base.perfetto-trace $base.xpu && xpuprof export -o $base.json $base.xpu || exit 1
	done
	take perfetto node "$here/../browser/perfetto_same.js" counters drivers waits
fi
done_testing

#!/bin/sh
# SPDX-License-Identifier: MIT
# Readers of others read what we write, and our picture is used in a browser. What they need is fetched by
# name and version (tests/browser/package.json) into build/browser; without it the tests say so and skip.
. "$(dirname "$0")/tap.sh"
sample=$build/tests/helpers/sample_profile
. "$here/../browser/readers.sh"

"$sample" small small.xpu && "$sample" hostile hostile.xpu || exit 1
xpuprof export small.xpu -o small.folded
xpuprof export small.xpu -o small.json

flamegraph=$(command -v flamegraph.pl || echo /usr/share/perl5/Devel/NYTProf/flamegraph.pl)
if [ -f "$flamegraph" ]; then
	run perl "$flamegraph" small.folded
	is "$status" 0 "flamegraph.pl: it reads folded stacks"
	lacks "$err" "Ignored" "flamegraph.pl: and ignores no line"
	has "$out" '[GPU_Kernel]_Z4gemmPfS_i (1,235 samples' "flamegraph.pl: with their times"
else
	skip "flamegraph.pl: it reads folded stacks" "no flamegraph.pl (Debian: libdevel-nytprof-perl)"
fi

chromium=${CHROMIUM:-/usr/bin/chromium}
if get_readers; then
	take Perfetto node "$here/../browser/perfetto.js" small.json
	"$build/tests/helpers/counter_profile" small counters.xpu && xpuprof export counters.xpu -o counters.json || exit 1
	take Perfetto node "$here/../browser/perfetto_counters.js" counters.json
	"$build/tests/helpers/driver_profile" small drivers.xpu && xpuprof export drivers.xpu -o drivers.json || exit 1
	take Perfetto node "$here/../browser/perfetto_drivers.js" drivers.json
	"$build/tests/helpers/wait_profile" gpu waits.xpu && xpuprof export waits.xpu -o waits.json || exit 1
	take Perfetto node "$here/../browser/perfetto_waits.js" waits.json
	run node "$readers/node_modules/typescript/lib/tsc.js" -p "$here/../browser/tsconfig.json"
	is "$status:$out" "0:" "the types of the page's scripts fit"
	if [ -x "$chromium" ]; then
		take speedscope node "$here/../browser/speedscope.js" small.folded
		mkdir pictures
		"$build/tests/helpers/stall_profile" small stalls.xpu "$here/../data/stalls" &&
			"$build/tests/helpers/stall_profile" hostile stalls_hostile.xpu "$here/../data/stalls" || exit 1
		xpuprof annotate -o annotate.html matmul stalls.xpu
		xpuprof annotate -o hostile.html script stalls_hostile.xpu 2>/dev/null
		take page node "$here/../browser/annotate.js" annotate.html hostile.html pictures
		take picture node "$here/../browser/svg.js" "$build/xpuprof" "$work/pictures" hostile.xpu
		"$build/tests/helpers/diff_profile" first.xpu 1 10 && "$build/tests/helpers/diff_profile" second.xpu 3 10 5 || exit 1
		take comparison node "$here/../browser/diff.js" "$build/xpuprof" "$work/pictures" first.xpu second.xpu
	else
		skip "speedscope and the picture in a browser" "no chromium"
	fi
fi
done_testing

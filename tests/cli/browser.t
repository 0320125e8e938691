#!/bin/sh
# SPDX-License-Identifier: MIT
# Readers of others read what we write, and our picture is used in a browser. What they need is fetched by
# name and version (tests/browser/package.json) into build/browser; without it the tests say so and skip.
. "$(dirname "$0")/tap.sh"
sample=$build/tests/helpers/sample_profile
readers=$here/../../build/browser

# Runs a script that prints TAP and takes its results over under this test's numbers.
take() { # WHAT COMMAND...
	what=$1
	shift
	timeout 600 "$@" >"$work/.tap" 2>"$work/.err"
	grep -q '^1\.\.' "$work/.tap" || echo "not ok 0 - $what ended early" >>"$work/.tap"
	while IFS= read -r line; do
		case $line in
		"ok "* | "not ok "*)
			name=${line#*ok }
			case $line in not*) result 1 "$what: ${name#* - }" ;; *) result 0 "$what: ${name#* - }" ;; esac
			;;
		"#"*) printf '%s\n' "$line" ;;
		esac
	done <"$work/.tap"
	sed 's/^/# /' "$work/.err" >&2
}

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
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	skip "readers of others" "no node or npm"
elif ! "$here/../browser/install.sh" "$readers" >"$work/.install" 2>&1; then
	sed 's/^/# /' "$work/.install" >&2
	skip "readers of others" "cannot fetch them with npm"
else
	export NODE_PATH="$readers/node_modules"
	take Perfetto node "$here/../browser/perfetto.js" small.json
	"$build/tests/helpers/counter_profile" small counters.xpu && xpuprof export counters.xpu -o counters.json || exit 1
	take Perfetto node "$here/../browser/perfetto_counters.js" counters.json
	"$build/tests/helpers/driver_profile" small drivers.xpu && xpuprof export drivers.xpu -o drivers.json || exit 1
	take Perfetto node "$here/../browser/perfetto_drivers.js" drivers.json
	"$build/tests/helpers/wait_profile" gpu waits.xpu && xpuprof export waits.xpu -o waits.json || exit 1
	take Perfetto node "$here/../browser/perfetto_waits.js" waits.json
	if [ -x "$chromium" ]; then
		take speedscope node "$here/../browser/speedscope.js" small.folded
		mkdir pictures
		"$build/tests/helpers/stall_profile" small stalls.xpu "$here/../data/stalls" &&
			"$build/tests/helpers/stall_profile" hostile stalls_hostile.xpu "$here/../data/stalls" || exit 1
		xpuprof annotate -o annotate.html matmul stalls.xpu
		xpuprof annotate -o hostile.html script stalls_hostile.xpu 2>/dev/null
		take page node "$here/../browser/annotate.js" annotate.html hostile.html pictures
		take picture node "$here/../browser/svg.js" "$build/xpuprof" "$work/pictures" hostile.xpu
	else
		skip "speedscope and the picture in a browser" "no chromium"
	fi
fi
done_testing

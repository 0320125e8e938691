#!/bin/sh
# SPDX-License-Identifier: MIT
# The page of `xpuprof view`, used in a browser. What is needed is fetched as for browser.t; without it the tests say so and skip.
. "$(dirname "$0")/tap.sh"
helpers=$build/tests/helpers
. "$here/../browser/readers.sh"
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip_all "no chromium"
get_readers || { done_testing; exit; }

mkdir pictures
"$helpers/sample_profile" hostile hostile.xpu && "$helpers/burst_profile" burst.xpu && "$helpers/range_profile" random.xpu 7 &&
	"$helpers/marker_profile" markers.xpu && "$helpers/marker_profile" markers_hostile.xpu hostile &&
	"$helpers/stall_profile" small stalls.xpu "$here/../data/stalls" || exit 1
use_page viewer view.js burst.xpu hostile.xpu
use_page markers view_markers.js markers.xpu markers_hostile.xpu
use_page heatmap view_heat.js burst.xpu random.xpu stalls.xpu
use_page functions view_functions.js random.xpu hostile.xpu stalls.xpu
use_page lists view_lists.js random.xpu
done_testing

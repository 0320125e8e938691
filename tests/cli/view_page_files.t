#!/bin/sh
# SPDX-License-Identifier: MIT
# The page as one file (`xpuprof export --to html`), of two recordings, and of extreme ones, used in a browser, as in view_page.t.
. "$(dirname "$0")/tap.sh"
helpers=$build/tests/helpers
. "$here/../browser/readers.sh"
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip_all "no chromium"
get_readers || { done_testing; exit; }

mkdir pictures
"$helpers/sample_profile" hostile hostile.xpu && "$helpers/range_profile" random.xpu 7 && "$helpers/range_profile" many.xpu 5 many &&
	"$helpers/diff_profile" first.xpu 1 10 && "$helpers/diff_profile" second.xpu 3 10 5 && "$helpers/diff_profile" steps.xpu 4 10 0 7 &&
	"$helpers/extreme_profile" names names.xpu && "$helpers/extreme_profile" threads threads.xpu 100000 &&
	"$helpers/extreme_profile" pause pause.xpu || exit 1
use_page file view_file.js random.xpu hostile.xpu many.xpu
use_page compared view_compare.js first.xpu second.xpu steps.xpu
use_page extremes view_extremes.js names.xpu threads.xpu pause.xpu
done_testing

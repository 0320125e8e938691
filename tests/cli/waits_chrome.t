#!/bin/sh
# SPDX-License-Identifier: MIT
# Waits and arrows in the timeline, of profiles with known ones (tests/helpers/wait_profile.c).
. "$(dirname "$0")/tap.sh"
for kind in small hostile none gpu named own; do
	"$build/tests/helpers/wait_profile" $kind $kind.xpu && xpuprof export --to chrome $kind.xpu -o $kind.json || exit 1
done

is "$(diff gpu.json "$golden/waits.json")" "" "waits, waits for the GPU and arrows are as documented"
small=$(cat small.json)
has "$small" '"name":"waiting: sleep","cat":"Wait","pid":10,"tid":2000000002,"ts":10000.000,"dur":9000.000,"args":{"function":"nanosleep (app.py)","queued":1000.000}' \
	"a wait says why, and at which function"
has "$small" '"name":"waiting: run queue","cat":"Wait","pid":10,"tid":2000000002,"ts":19000.0004,"dur":999.9996' \
	"its end in the run queue stands apart"
has "$small" '"others":5,"othersTime":3000.000' "with waits that have no place in time of their own"
has "$small" '"args":{"name":"worker 11 not running"}' "and each thread has a row of them"
is "$(grep -c '"cat":"Wait"' none.json)" 0 "a recording without waits has none"
true_that "names that break out of JSON do not" python3 -m json.tool hostile.json /dev/null
is "$(grep -c '"ph":"s"' gpu.json):$(grep -c '"ph":"f"' gpu.json)" "2:2" "only calls and work that are both there are joined"
waits() { # FILE
	grep -e '"cat":"Wait"' -e 'not running' -e 'waiting for the GPU' "$1"
}
is "$(waits named.json)" "$(waits own.json)" "the profiler's own thread has no row of waits"
has "$(cat own.json)" '"args":{"name":"xpuprof 12 not running"}' "but one of the program's that is called so has"
xpuprof export --to chrome --view gpu gpu.xpu -o only.json
is "$(grep -c '"cat":"Launch"' only.json):$(grep -c '"cat":"Wait"' only.json)" "0:0" \
	"a view of the GPU alone has neither arrows nor waits"
done_testing

#!/bin/sh
# SPDX-License-Identifier: MIT
# `xpuprof monitor` where there need be no GPU: what it lists, and what it refuses.
. "$(dirname "$0")/tap.sh"

names="drm i915 amdgpu xe vblank nvidia"

run xpuprof monitor
is "$status" 2 "without a monitor it is a wrong use"
has "$err" "drm, i915, amdgpu, xe, vblank, nvidia, or list" "and the monitors are named"
run xpuprof monitor radeon
is "$status" 2 "a monitor that is not there is a wrong use"
has "$err" "there is no monitor 'radeon': drm, i915," "and the others are named"
run xpuprof monitor drm i915
is "$status" 2 "two monitors are a wrong use"
run xpuprof monitor drm --json --csv
is "$status" 2 "JSON and CSV at a time are a wrong use"
run xpuprof monitor drm --above RUN:5
has "$err" "takes a time with its unit" "--above wants a unit"
run xpuprof monitor drm --above NOBODY:5ms
is "$status" 2 "an event without a duration is a wrong use of --above"
has "$err" "no event 'NOBODY' with a duration: RUN" "and those with one are named"
run xpuprof monitor drm --summary-only --above RUN:5ms
has "$err" "--summary-only prints none" "no lines and some lines contradict each other"
run xpuprof monitor list --csv
has "$err" "'list' takes no option but --json" "list takes only --json"

run xpuprof monitor list
is "$status" 0 "what there is is listed"
for name in $names; do
	has "$out" "$name: " "monitor $name is listed"
done
has "$out" "for this machine" "and what suits this machine"

run xpuprof monitor list --json
is "$(printf '%s' "$out" | python3 -c '
import json, sys
monitors = json.load(sys.stdin)["monitors"]
print(*[m["name"] for m in monitors])
for m in monitors:
    assert isinstance(m["suits"], bool) and m["why"], m
    for e in m["events"]:
        assert e["available"] or (e["missing"] and e["reason"]), e')" "$names" "the same as JSON, with a reason for all that is missing"

xpuprof monitor list | head -1 >first-line
is "$(cut -d: -f1 <first-line)" drm "a reader may leave early"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$work"
	cp "$build/xpuprof" "$work/xpuprof"
	as_nobody() {
		setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$work/xpuprof" "$@"
	}
	run as_nobody monitor list
	is "$status" 0 "a user without rights gets the list"
	run as_nobody monitor drm -d 1
	is "$status" 1 "and may not watch"
	has "$err" "cannot watch anything of 'drm': needs root" "which is told with the reason"
else
	skip "the list without rights" "needs root and setpriv"
fi
done_testing

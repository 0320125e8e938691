#!/bin/sh
# SPDX-License-Identifier: MIT
# Events of the kernel's GPU drivers: what is shown of known ones (tests/helpers/driver_profile.c), and `record
# --drivers` on a machine that may have none.
. "$(dirname "$0")/tap.sh"
for kind in small hostile; do
	"$build/tests/helpers/driver_profile" $kind $kind.xpu || exit 1
done

json() { # PYTHON: prints an expression over the report `r`, its driver events `d`, rings `g` and rows `e` by name
	xpuprof report --json small.xpu | python3 -c "import json, sys; r = json.load(sys.stdin)
d = r['drivers']; g = {x['ring']: x for x in d['rings']}; e = {x['name']: x for x in d['events']}; print($1)"
}

run env COLUMNS=120 "$build/xpuprof" report small.xpu
same drivers.report "the report has the rings with their jobs, and everything else by its name"
is "$(json '[g["gfx"][x] for x in ("jobs", "unfinished", "run_ns", "busy_ns", "foreign_jobs", "foreign_run_ns")]')" \
	"[12, 1, 25000000, 25000000, 1, 5000000]" "jobs, their time and that of processes that were not recorded are exact"
is "$(json '[g["gfx"]["queue_delay"][x] for x in ("count", "total_ns", "min_ns", "max_ns")]')" \
	"[11, 25500000, 500000, 10000000]" "and so is how long they were queued"
is "$(json '[g["gfx"]["run_time"][x] for x in ("count", "total_ns", "max_ns")]')" "[11, 15000000, 5000000]" \
	"a job that had not ended has no run time"
is "$(json 'g["gfx"]["busy_share"], g["sdma0"]["busy_ns"]')" "0.25 100000" "each ring's busy share is of the recording"
is "$(json '[e["wait for gfx"][x] for x in ("kind", "source", "ring", "count", "total_ns")]')" \
	"['wait', 'drm', 'sdma0', 1, 200000]" "a wait says for what"
is "$(json '[e["BO_CREATE"][x] for x in ("kind", "ring", "count", "bytes", "total_ns")]')" \
	"['moment', None, 2, 4194304, 0]" "moments are counted with their sizes"
is "$(json 'd["watched"], d["refused"], d["count"], r["losses"]["driver_ring_full"]')" "drm None 27 3" \
	"with what watched them, and what was lost"
is "$(json 'r["gpu_ns"], r["processes"]')" "0 []" "none of it is GPU time of a process"

xpuprof export --to chrome small.xpu -o small.json
same drivers.json "the timeline has rows for each ring" small.json
true_that "in which nothing overlaps" python3 -c "
import json
rows = {}
for e in json.load(open('small.json'))['traceEvents']:
    if e['ph'] == 'X': rows.setdefault(e['tid'], []).append((e['ts'], e['ts'] + e['dur']))
assert len(rows) == 6
for r in rows.values():
    r.sort()
    assert all(a[1] <= b[0] for a, b in zip(r, r[1:])), r
"
is "$(xpuprof export --to folded small.xpu -o - 2>/dev/null)" "" "flame graphs have nothing of it"

run xpuprof report hostile.xpu
is "$status" 0 "names and times of all kinds are reported"
lacks "$out" "$(printf '\033')" "and nothing of them reaches the terminal"
has "$out" "12,651 more, of too many kinds" "what is too much to list is counted"
xpuprof export --to chrome hostile.xpu -o hostile.json
is "$(python3 -c "import json
print(sum(e['ph'] in 'Xi' for e in json.load(open('hostile.json'))['traceEvents']))")" "13333" \
	"and is in the timeline all the same"

# What this machine has of them is not known here: either something is watched, or it is said why not.
run xpuprof record -q --cpu-only --drivers -o p.xpu true
is "$status" 0 "a recording with --drivers goes on, whatever the machine has"
has "$(xpuprof report --json p.xpu | python3 -c "import json, sys
d = json.load(sys.stdin)['drivers']
print('said' if (d['watched'] is None) == (d['refused'] is not None and 'no driver events: ' in d['refused']) else d)")" said \
	"and the recording says what was watched, or why nothing"
run setpriv --reuid=65534 --clear-groups --inh-caps=-all "$build/xpuprof" record -q --drivers -o "/dev/null" true
case $status in
127 | 126) ;; # no setpriv, or nobody may not look in here
*)
	is "$status" 0 "without rights so, too"
	is "$(printf '%s\n' "$err" | grep -c 'no driver events: ')" 1 "which is said in one line"
	;;
esac
run xpuprof record --drivers=drm,nosuch -o q.xpu true
is "$status" 2 "a monitor that is not known is wrong use"
has "$err" "not 'nosuch'" "and named"
has "$err" "drm, i915" "with those that are"
true_that "before anything is recorded" [ ! -e q.xpu ]
done_testing

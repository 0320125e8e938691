#!/bin/sh
# SPDX-License-Identifier: MIT
# Several recordings in one process: each has what its own program did, and nothing of the others'.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
export XPUPROF_BUILD="$build" LD_LIBRARY_PATH="$build/sim" XPUPROF_LIBRARY="$build/libxpuprof-inject.so"
unset CUDA_INJECTION64_PATH XPUPROF_SIM_FAULTS XPUPROF_SIM_DEVICES
programs=$build/tests/programs
cpu_side || skip_all "launch stacks cannot be had here"

# field FILE EXPRESSION: of the report in JSON, r
field() {
	xpuprof report --json "$1" 2>/dev/null | python3 -c "import json, sys; r = json.load(sys.stdin); print($2)"
}

run timeout 120 "$build/tests/helpers/record_several" \
	one.xpu "exec $programs/launches --repeat 3 >one.out" \
	two.xpu "exec $programs/launches_runtime --repeat 2 >two.out" \
	none.xpu "sleep 0.3; exec true"
is "$status" 0 "three recordings in one thread end well"
is "$out$err" "" "and say nothing"
for name in one two; do
	run "$here/../check_launches.py" $name.xpu $name.out
	is "$status" 0 "recording $name has all that its program did, and no more"
	is "$(field $name.xpu 'len([p for p in r["processes"] if p["works"]])')" 1 "which is one process"
	is "$(field $name.xpu 'sum(n for k, n in r["losses"].items() if not k.startswith(("stacks_incomplete", "walk_")))')" 0 \
		"and nothing was lost"
done
is "$(field none.xpu 'r["gpu"]["works"] if "gpu" in r and "works" in r["gpu"] else sum(p["works"] for p in r["processes"])')" 0 \
	"a program without GPU work has none of the others'"
is "$(field none.xpu 'r["meta"]["exit_status"]')" 0 "each recording knows how its own program ended"
done_testing

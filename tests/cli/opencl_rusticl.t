#!/bin/sh
# SPDX-License-Identifier: MIT
# OpenCL over rusticl, the implementation of Mesa, on the CPU (llvmpipe): names, counts and times as the program reads them of its own
# events, and stacks. Where tests/rusticl/fetch has not fetched it this is skipped.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
rusticl=${XPUPROF_RUSTICL:-$(cd "$here/../.." && pwd)/build/rusticl}
[ -e "$rusticl/version" ] || skip_all "rusticl is not there: 'tests/rusticl/fetch build/rusticl' fetches it"
# It looks for its library of functions in /usr/lib/clc, which a namespace of our own has, whatever is there.
if [ ! "$RUSTICL_ENABLE" ]; then
	RUSTICL_ENABLE=llvmpipe unshare -m sh -c 'mount -t overlay overlay -o "lowerdir=$1/over:/usr/lib" /usr/lib && exec "$2"' sh \
		"$(cd "$rusticl" && pwd)" "$here/opencl_rusticl.t"
	status=$?
	[ "$status" = 32 ] && skip_all "no overlay can be mounted here"
	exit "$status"
fi
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so" OCL_ICD_VENDORS="$rusticl/rusticl.icd" MESA_SHADER_CACHE_DIR="$work"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS
libraries=$rusticl/libraries
comment "rusticl of Mesa $(cat "$rusticl/version")"

# program WHAT [COMMAND...]: over rusticl, run by the command
program() {
	what=$1
	shift
	"$@" "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$build/tests/targets/opencl" "$what"
}

# Debian's sid is in motion.
program names >/dev/null 2>err || skip_all "it does not work by itself: $(tail -1 err)"

recorded() {
	run program "$1" timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu --
	xpuprof report --json p.xpu >report
}

# field EXPRESSION: of the report in JSON, r
field() {
	python3 -c "import json, sys; r = json.load(sys.stdin); print($1)" <report
}

whole='sum(r["works_without_stack"].values()), {k: n for k, n in r["losses"].items() if n and k.startswith("gpu_")}'
recorded truth
is "$status" 0 "a program is recorded"
is "$(field '"\n".join(sorted("%s %d %d" % (k["name"], k["count"], k["total_ns"]) for k in r["kernels"]))')" "$(printf '%s\n' "$out" | sort)" \
	"names, counts and times of its kernels are those of its own events, to the nanosecond"
is "$(field "$whole")" "0 {}" "all have their stacks, and nothing is lost"
has "$(field 'r["meta"]["cupti"]')" rusticl "it says on what"
is "$(field '0 < int(r["meta"]["clock_error_ns"]) < 5000000 and not r["latency"]["backwards"]')" True "the device's clock is known"
run xpuprof export --to folded --view gpu p.xpu
has "$out" ";main;truth;launch_scale;" "kernels stand on the functions that launched them"
recorded names
is "$status: $(field '"\n".join("%s %d" % (k["name"], k["count"]) for k in sorted(r["kernels"], key=lambda k: k["name"], reverse=True))')" \
	"0: $(printf 'scale 67\nempty 66\nadd 67')" "kernels and queues that come and go keep their names"
recorded disorder
is "$status: $(field "sorted((k['name'], k['count']) for k in r['kernels']), $whole")" "0: [('add', 20), ('scale', 20)] 0 {}" \
	"so do commands out of order"
recorded threads
is "$status: $(field "r['works'], $whole")" "0: 400 0 {}" "and four threads"
recorded stuck
is "$status: $(field 'r["launches_without_work"]["unfinished"]')" "0: 1" "a command that never ends is counted"
done_testing

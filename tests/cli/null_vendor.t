#!/bin/sh
# SPDX-License-Identifier: MIT
# A vendor that does not exist (tests/null/null.h) is recorded beside the real ones and shows in every view, table and
# format, though no file but its own and the tables of vendors know it.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
export XPUPROF_BUILD="$build" XPUPROF_LIBRARY="$build/libxpuprof-inject.so"
unset CUDA_INJECTION64_PATH
cpu_side || skip_all "launch stacks cannot be had here"

with_null() {
	"$build/tests/null/xpuprof" "$@"
}

# folded VIEW: its lines
folded() {
	run with_null export --to folded --view "$1" p.xpu
}

# field EXPRESSION: of the report in JSON, r
field() {
	with_null report --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

run timeout 60 "$build/tests/null/xpuprof" record -q --stalls --off-cpu -o p.xpu -- "$build/tests/null/program"
is "$status" 0 "a program of the vendor's is recorded"
is "$err" "" "and nothing is refused"

for view in merge gpu; do
	folded $view
	has "$out" ";main;forward;nullLaunch;[GPU_Kernel]null_gemm 10000" "$view: GPU time under the functions that launched it"
	has "$out" ";main;forward;nullLaunch;[GPU_Kernel]null_relu 10000" "$view: of both kernels"
done
folded stall
has "$out" ";main;forward;nullLaunch;[GPU_Kernel]null_gemm;-;/null_[G];kernels.nul_[G];null_gemm_[G];NOTHING_[g];nothing_[g];0x8_[g] 6667" \
	"stall: source, instruction and reason"
folded wall
has "$out" ";main;wait_for_result;nullSynchronize;[waiting for the GPU];" "wall: a call that waits"
has "$out" ";main;forward;nullLaunch;[GPU_Kernel]null_relu" "wall: and the work that it waited for"
folded off-cpu
has "$out" ";main;pause_between;" "off-cpu: where the program sleeps"

with_null flame --view gpu -o p.svg p.xpu
has "$(cat p.svg)" "null_gemm" "a flame graph has the vendor's kernels"
run with_null export --to chrome p.xpu
has "$out" '"name":"Null: nullLaunch","cat":"Null_API"' "a timeline has its calls, as of its API"
has "$out" '"name":"Kernel: null_relu","cat":"GPU_Kernel"' "and its kernels"
run with_null export --to extended-folded p.xpu
has "$out" "null_gemm" "and so has every event by itself"

is "$(field '[(d["name"], d["works"]) for d in r["devices"]]')" "[('Null GPU', 20)]" "report: its GPU, with all work"
is "$(field 'sorted((k["name"], k["count"], k["total_ns"]) for k in r["kernels"])')" \
	"[('null_gemm', 10, 10000000), ('null_relu', 10, 10000000)]" "report: its kernels, to the nanosecond"
is "$(field 'sum(r["works_without_stack"].values())')" 0 "report: all work has its stack"
is "$(field 'r["meta"]["gpu_reported_ns"]')" 20000000 "report: what the vendor's driver reported"
run with_null report p.xpu
has "$out" "in main > pause_between" "report: why its GPU was idle"
has "$out" "nullSynchronize at main > wait_for_result" "report: which call waited"
has "$out" "for null_relu launched at main > forward" "report: and for what"
run with_null report --stalls p.xpu
has "$out" "waiting for nothing at all (nothing)" "report --stalls: its reasons in words"
run with_null annotate null_gemm p.xpu
has "$out" "NOTHING" "annotate: its instructions"
has "$out" "/null/kernels.nul" "annotate: and where their source would be"
done_testing

#!/bin/sh
# SPDX-License-Identifier: MIT
# The program as it is built where clang, bpftool, libbpf and the libraries that may be missing are missing: what it can do it does,
# and of the rest it says what to install.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
bare=$build/tests/helpers/xpuprof-bare
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so"

run env LD_LIBRARY_PATH="$build/sim" "$bare" record -o p.xpu -- "$build/tests/targets/inject_target" slow 50
is "$status $out" "0 done" "programs are recorded"
has "$err" "CPU samples are of the program itself, not of the kernel's work for it: this xpuprof was built without clang, bpftool or libbpf" \
	"with what can be had of the CPU"
run "$bare" report --json p.xpu
is "$(printf '%s' "$out" | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["works"], sum(r["works_without_stack"].values()), {k: n for k, n in r["losses"].items() if n})')" "50 0 {}" \
	"with all of the GPU, and its stacks"
run "$bare" export --to folded --view gpu p.xpu
has "$out" ";slowly;launch_into;" "which have names"
for command in "record -a -d 1 -o a.xpu" "monitor drm" "view p.xpu" "probe count -- true"; do
	run timeout 60 "$bare" $command
	is "$status" 1 "$command: fails"
	printf '%s\n' "$err" | grep -q "built without\|was made without\|this build cannot serve anything: libmicrohttpd was missing"
	result $? "and says what this build has not"
done
run "$bare" doctor --json
is "$(printf '%s' "$out" | python3 -c 'import json, sys
steps = {f["title"]: f.get("step") or "" for f in json.load(sys.stdin)["checks"]}
print("bpftool" in steps["BPF programs"], "liblzma-dev" in steps["names"], "libmicrohttpd" in steps["metrics"])')" "True True True" \
	"doctor says what to install"
done_testing

#!/bin/sh
# SPDX-License-Identifier: MIT
# `xpuprof record` on programs whose launches are known, on the simulated CUDA: all they did is in
# the profile, under the function that did it, whatever happens to them, to CUPTI or to us.
# tests/gpu/run does the same on a real GPU.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
export XPUPROF_BUILD="$build" LD_LIBRARY_PATH="$build/sim"
unset CUDA_INJECTION64_PATH XPUPROF_SIM_FAULTS XPUPROF_SIM_DEVICES
programs=$build/tests/programs
target=$build/tests/targets/inject_target
cpu_side || skip_all "launch stacks cannot be had here"

# record COMMAND...: $status, $out and $err are the command's; the profile is p.xpu
record() {
	rm -f p.xpu
	run timeout 60 "$build/xpuprof" record -q -o p.xpu -- "$@"
}

# as_expected NAME: the recording has all that its programs said on $out
as_expected() {
	printf '%s\n' "$out" >expected
	run "$here/../check_launches.py" p.xpu expected
	result "$status" "$1"
	printf '%s\n' "$out" "$err" | sed '/./!d; s/^/# /'
}

# told EXPRESSION: of the report in JSON, r
told() {
	xpuprof report --json p.xpu 2>/dev/null |
		python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

pending='sum(r["launches_without_work"].values())'
losses='sum(n for k, n in r["losses"].items() if not k.startswith(("stacks_incomplete", "walk_")))'
reported='int(r["meta"]["gpu_reported_ns"])'

for form in "" _runtime; do
	record "$programs/launches$form" --repeat 3
	is "$status" 0 "launches$form ends as alone"
	as_expected "launches$form: every call and its work, under the function that made it"
	record "$programs/fork_wrapper" "$programs/launches$form"
	is "$(told 'len([p for p in r["processes"] if p["works"]])')" 2 "a wrapper's two programs are two"
	as_expected "launches$form: the same when a wrapper starts it"
	record "$programs/fork_after_cuda$form"
	is "$status" 0 "fork_after_cuda$form: workers forked after CUDA began end as alone"
	as_expected "fork_after_cuda$form: the parent's launches are all there"
done
record sh -c "'$programs/launches' & '$programs/launches_runtime' & '$programs/fork_after_cuda' & wait"
as_expected "several CUDA processes at once"

# As a user who may not load BPF programs.
if [ "$(id -u)" = 0 ] && setpriv --reuid=nobody --clear-groups test -r "$build/sim/libcuda.so.1"; then
	mkdir drop && chown nobody drop && chmod 755 .
	as_nobody() {
		HOME=$PWD/drop setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
	}
else
	as_nobody() {
		"$@"
	}
	mkdir drop
fi

# Who takes the stacks makes no difference.
for source in inprocess bpf; do
	run timeout 60 "$build/xpuprof" record -q --stack-source=$source -o p.xpu -- "$programs/launches"
	as_expected "by $source: every call and its work, under the function that made it"
	is "$(told 'r["meta"]["stack_source"]')" $source "which the recording tells"
	xpuprof export --to folded --view gpu -o $source.folded p.xpu
done
is "$(diff inprocess.folded bpf.folded && wc -l <bpf.folded)" "$(wc -l <inprocess.folded)" \
	"the stacks that the library walks are those that BPF walks"
run as_nobody timeout 60 "$build/xpuprof" record -q --gpu-only -o drop/p.xpu -- "$programs/launches"
cp drop/p.xpu p.xpu
as_expected "without rights: every call and its work, under the function that made it"
xpuprof export --to folded --view gpu -o without.folded p.xpu
is "$(diff inprocess.folded without.folded && wc -l <without.folded)" "$(wc -l <inprocess.folded)" \
	"with the same stacks"
run timeout 60 "$build/xpuprof" record -q --stack-source=none -o p.xpu -- "$programs/launches"
is "$(told 'r["meta"]["stack_source"], r["works"] - sum(r["works_without_stack"].values())')" "none 0" \
	"and without a source there are none"

export XPUPROF_SIM_DEVICES=2
for form in "" _runtime; do
	record "$programs/devices$form"
	as_expected "devices$form: work is told apart by device"
done
unset XPUPROF_SIM_DEVICES
run xpuprof export --to folded --by device,stream p.xpu
is "$(printf '%s\n' "$out" | sed -n 's/.*;\(stream\) [0-9]*;\(.*_Kernel\].*\) .*/\1 \2/p' |
	sort | uniq -c | xargs)" "2 stream [GPU0_Kernel]count_a_us5 2 stream [GPU1_Kernel]count_a_us5" \
	"and by stream, on request"

# What CUPTI may do.
fault() { # FAULTS COMMAND...
	XPUPROF_SIM_FAULTS=$1
	export XPUPROF_SIM_FAULTS
	shift
	record "$@"
	unset XPUPROF_SIM_FAULTS
}

works=$("$programs/launches" | python3 -c 'import json, sys
print(sum(json.loads(l).get("works", 0) for l in sys.stdin if "\"node\"" not in l))')
alone=$("$programs/launches")
for faults in record-extra=64 delay-ms=200,reorder=3 cupti-version=26; do
	fault $faults "$programs/launches"
	as_expected "$faults: nothing is missing"
done
fault subscriber-after "$programs/launches"
has "$err" "a later subscriber got 39" "a tool that comes after us is refused by CUPTI"
as_expected "and all is recorded as before"
fault subscriber-before "$programs/launches"
is "$out $status" "$alone 0" "a tool that was before us has CUPTI, and the program runs as alone"
is "$(told 'r["losses"]["gpu_taken"], r["works"]')" "1 0" "which is counted"
record env LD_PRELOAD="$build/tests/gpu/libearly_subscriber.so" "$programs/launches"
has "$err" "early_subscriber: CUPTI said 0" "a tool preloaded into the program is before us, too"
is "$(told 'r["losses"]["gpu_taken"], r["works"]')" "1 0" "and counted"
fault no-cupti "$programs/launches"
is "$out $status" "$alone 0" "where CUPTI does not work the program runs as alone"
is "$(told 'r["losses"]["gpu_refused"], r["losses"]["gpu_no_cupti"]')" "1 0" "which is counted"

fault drop=10 "$programs/launches"
is "$(told 'r["works"] + r["losses"]["gpu_dropped"]')" "$works" "dropped work is counted, each piece"
is "$(told "$reported == r['gpu_ns']")" True "and what came is all there"
fault zero-time=10 "$programs/launches"
is "$(told 'r["works"] + r["losses"]["gpu_invalid"]')" "$works" "work without times is counted"
fault reversed-time=10 "$programs/launches"
is "$(told 'r["works"] + r["losses"]["gpu_invalid"]')" "$works" "and work that ends before it begins"
is "$(told "$reported == r['gpu_ns']")" True "neither has a time that could be missed"
fault far-time=10 "$programs/launches"
is "$(told 'r["works"] + r["losses"]["gpu_invalid"]')" "$works" "and work of another year"
has "$(xpuprof report p.xpu)" "more than here" "whose time is told as missing"
fault fail-launch=7 "$programs/launches"
is "$status $(told 'r["launches_without_work"]["failed"]')" "1 1" \
	"a launch that fails ends the program, and is in its profile as failed"

# Half a million launches a second, into a ring that is far too small.
run "$build/tests/helpers/gpu_record" "$build/libxpuprof-inject.so" -r 262144 \
	env XPUPROF_SIM_KERNEL_NS=100 "$programs/launch_rate" --launches 100000 --threads 2
number() { # NAME -> its number in $out
	printf '%s\n' "$out" | sed -n "s/^$1 \([0-9]*\).*/\1/p"
}
is $(($(number "call cuLaunchKernel") + $(number "call cuStreamSynchronize") + $(number works) + \
	$(number "loss gpu_ring_full"))) 400002 \
	"launches faster than the ring: each call and each work is there or counted"

# How programs end.
for how in segfault:139 kill:137 term:143 abort:134 _exit:3 exit:3; do
	record "$programs/crash" "${how%:*}"
	is "$status $(told 'r["incomplete"], r["meta"]["exit_status"]')" \
		"${how#*:} None ${how#*:}" "a program that ends by ${how%:*} leaves a whole profile"
	is "$(told "$pending + r['works'], $losses - r['losses']['gpu_invalid']")" "100 0" \
		"with work or a reason for each launch"
done
record sh -c '"$0" slow 1000000 & until grep -q libxpuprof-inject /proc/$!/maps; do sleep 0.05; done; sleep 2; kill -KILL $!' "$target"
is "$(told 'r["calls"][0]["count"] == r["works"] + r["launches_without_work"]["unfinished"]')" True \
	"a program killed in the middle: each launch has its work, or is told as unfinished"

# What a program may do to us.
record "$target" scribble 200
is "$status $out" "0 done" "a program that overwrites what it shares with us runs on"
is "$(told 'r["losses"]["gpu_corrupt"], r["works"], r["incomplete"]')" "1 200 None" \
	"which is counted, and costs nothing that was read before"
record "$target" truncate 200
is "$out" "Operation not permitted
done" "what is shared cannot be truncated"
is "$(told "r['works'], $losses")" "400 0" "and nothing is lost by the attempt"

# What may happen to us.
rm -f p.xpu
mkfifo go
"$build/xpuprof" record -q -o p.xpu -- sh -c "echo \$XPUPROF_SOCKET; '$target' hold 2000 <go; echo status \$?" \
	>out &
recorder=$!
exec 4>go
for _ in $(seq 600); do
	[ "$(told 'r["works"] > 0' 2>/dev/null)" = True ] && break
	sleep 0.1
done
kill -9 $recorder
wait $recorder 2>/dev/null
exec 4>&-
for _ in $(seq 600); do
	grep -q status out && break
	sleep 0.1
done
rm -rf "$(dirname "$(head -1 out)")"
is "$(sed 1d out)" "held
done
status 0" "when the recorder is killed the program goes on to its end"
is "$(told 'r["incomplete"] is not None, r["works"] > 0')" "True True" \
	"the profile is readable as far as it goes, and says that it is not whole"
done_testing

#!/bin/sh
# SPDX-License-Identifier: MIT
# Instructions of Intel's GPUs: stall samples of a simulated render node (sim/xe/), which the simulated Level Zero device
# fills, become rows of kernels, whose code is a real zebin. Each sample is there, or counted by its cause.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
target=$build/tests/targets/levelzero_code
zebin=$(cd "$here/../data/zebin" && pwd)/bmg.zebin
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ZE_ENABLE_TRACING_LAYER
export LD_LIBRARY_PATH="$build/sim/levelzero"
export XPUPROF_SIM_XE="$PWD/pipe"
mkfifo pipe
export XPUPROF_LIBIGA64= # its own names of instructions

# recorded WHAT [VARIABLE=VALUE...]: by the target; samples of each kernel are 32 records of 4 threads a launch
recorded() {
	what=$1
	shift
	run env "$@" LD_PRELOAD="$build/sim/xe/node.so" timeout -k 5 120 \
		"$build/xpuprof" record --stalls -o p.xpu -- "$target" "$what" "$zebin"
}

# field EXPRESSION: of the report of stalls in JSON, r
field() {
	xpuprof report --stalls --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

# loss NAME: how often it is in the report
loss() {
	xpuprof report --json p.xpu | python3 -c "import json, sys; print(json.load(sys.stdin)['losses'].get('$1', 0))"
}

recorded kernels
is "$status" 0 "a program is recorded with samples of its instructions"
has "$err" "10,240 instruction samples" "all are counted"
has "$err" "simulated GPU time" "and the time is called simulated"
kernels='sorted((k["name"], k["samples"]) for k in r["stalls"]["kernels"])'
is "$(field "$kernels")" "[('busy', 5120), ('tiny', 5120)]" "each of its kernels has its own samples"
run xpuprof report --stalls p.xpu
has "$out" "waiting for the answer to a message: memory, as a rule (sbid)" "reasons have words"
has "$out" "0x0000  mov " "instructions have their names"
has "$out" " 1:3 " "and lines"
lacks "$out" "due at most" "no number of samples is due"
run xpuprof annotate busy p.xpu
has "$out" "send.ugm" "the code is shown, with functions of instructions"
run xpuprof export --to folded --view stall p.xpu
has "$out" "main;launch_busy;launch;zeCommandListAppendLaunchKernel;[GPU_Kernel]busy;" \
	"stalls stand below the code that launched their kernel"
has "$out" ";send.ugm_[g];sbid_[g];0xa0_[g] " "down to the reason"
run xpuprof export -o p.iaprof p.xpu
python3 "$here/iaprof_reader.py" p.iaprof >read 2>err
is "$? $(cat err)" "0 " "iaprof's form is written as proviz reads it"
xpuprof export --to folded --view stall --by process --weight samples p.xpu |
	sed 's/^\([^;]*;[^;]*\)-\([0-9]*\);/\1;\2;/; s/;\[GPU_Kernel\][^;]*//' | LC_ALL=C sort >folded
is "$(LC_ALL=C sort read | diff - folded)" "" "with the stacks and samples of the view of stalls"
is "$(awk '{ sum += $NF } END { print sum }' read)" 10240 "all of them"
xpuprof export --to iaprof --to 130ms p.xpu >before 2>/dev/null
xpuprof export --to iaprof --from 130ms p.xpu >after 2>/dev/null
is "$(awk -F'\t' '/^eustall/ { for (i = 4; i <= NF; i++) sum += $i } END { print sum }' before after)" 10240 "parts of a recording add up to it"
is "$(sed -n '2s/\t[0-9.]*$//p' p.iaprof)" "interval	0" "by intervals of time"
run xpuprof flame --view stall -o p.svg p.xpu
has "$(cat p.svg)" "send.ugm" "a flame graph has Intel's instructions"
has "$(cat p.svg)" "simulated" "and says that the GPU is simulated"
is "$(for l in overflows outside ambiguous places dropped refused cut; do loss stalls_$l; done | sort -u)" 0 "nothing is lost"

recorded reuse
is "$status" 0 "modules come and go"
is "$(field 'sum(k["samples"] for k in r["stalls"]["kernels"])') $(loss stalls_outside)" "12800 0" "all their samples are there"
is "$(loss gpu_invalid)" 0 "and modules that are gone are known by their device"

for how in ZE_DRIVERS=2 "ZE_DRIVERS=2 ZE_WRAP=1" ZE_WRAP=1; do
	recorded drivers $(printf "XPUPROF_SIM_%s " $how)
	is "$status: $(field "$kernels")" "0: [('busy', 5120), ('tiny', 5120)]" \
		"$how: a driver is asked for kernels of its own, by its handles"
done

# Tiles as devices of their own; the code of two processes is at one address.
mkfifo pipe.1
export XPUPROF_SIM_XE_TILES=2 XPUPROF_SIM_ZE_TILES=2
devices='sorted((k["name"], k["samples"]) for k in r["stalls"]["kernels"])'
recorded tiles
is "$status: $(field "$devices") $(loss stalls_outside) $(loss stalls_ambiguous)" "0: [('busy', 5120), ('tiny', 5120)] 0 0" \
	"each tile that a program uses as a device has its samples"
run env LD_PRELOAD="$build/sim/xe/node.so" timeout -k 5 120 "$build/xpuprof" record --stalls -o p.xpu -- \
	sh -c '"$1" kernels "$2" 0 & "$1" kernels "$2" 1 & wait' - "$target" "$zebin"
is "$status: $(field "$devices") $(loss stalls_outside) $(loss stalls_ambiguous)" "0: [('busy', 10240), ('tiny', 10240)] 0 0" \
	"two processes on two tiles are told apart, though their code is at one address"
unset XPUPROF_SIM_XE_TILES
run env LD_PRELOAD="$build/sim/xe/node.so" timeout -k 5 120 "$build/xpuprof" record --stalls -o p.xpu -- \
	sh -c '"$1" kernels "$2" & "$1" kernels "$2" & wait' - "$target" "$zebin"
is "$status: $(field 'sum(k["samples"] for k in r["stalls"]["kernels"])+'"$(loss stalls_ambiguous)")" "0: 20480" \
	"two processes on one device: each sample is one's, or counted as ambiguous"
run xpuprof report --stalls p.xpu
has "$out" "instruction samples at addresses where several processes had code" "the table says so, whether or not there are others"
lacks "$out" "were taken in this recording" "and not that there were none"
run xpuprof flame --view stall -o p.svg p.xpu
has "$(cat p.svg)" "instruction samples at addresses where several processes had code" "so does the picture"
unset XPUPROF_SIM_ZE_TILES

# Xe3p: records have whole addresses, so code of two processes is told apart that is at one address modulo 4 GiB.
recorded kernels XPUPROF_SIM_XE_DEVICE=cri
is "$status: $(field "$kernels") $(loss stalls_refused) $(loss stalls_outside)" "0: [('busy', 5120), ('tiny', 5120)] 0 0" \
	"Xe3p: each of its kernels has its own samples"
run xpuprof report --stalls p.xpu
has "$out" "waiting for the answer to a message: memory, as a rule (sbid)" "Xe3p: reasons are where its records have them"
has "$out" "issuing an instruction (active)" "Xe3p: and so are threads that go on"
for device in cri bmg; do
	run env LD_PRELOAD="$build/sim/xe/node.so" XPUPROF_SIM_XE_DEVICE=$device timeout -k 5 120 "$build/xpuprof" record --stalls -o p.xpu -- \
		sh -c 'XPUPROF_SIM_ZE_AREA=0 "$1" kernels "$2" & XPUPROF_SIM_ZE_AREA=3 "$1" kernels "$2" & wait' - "$target" "$zebin"
	sums="$status: $(field 'sum(k["samples"] for k in r["stalls"]["kernels"])') $(loss stalls_ambiguous)"
	[ $device = bmg ] || is "$sums" "0: 20480 0" "Xe3p: code of two processes that is 12 GiB apart is told apart"
	[ $device = cri ] || is "$(field "sum(k['samples'] for k in r['stalls']['kernels'])+$(loss stalls_ambiguous)")" 20480 \
		"older GPUs, whose records have 32 bits of an address: each sample is one's, or ambiguous"
done

recorded descriptors XPUPROF_SIM_XE_PATIENCE_MS=500
is "$status: $out" "0: none" "a program's descriptors are its own, also while its recorder does not read"

recorded kernels XPUPROF_SIM_XE_FAULT=eio
is "$(loss stalls_overflows)" 1 "what the GPU dropped is counted, though it does not say how much"
run xpuprof report --stalls p.xpu
has "$out" "1 time that a GPU dropped instruction samples, and does not say how many" "and said with them"
lacks "$out" "0 dropped by the GPU" "not that it dropped none"
run xpuprof flame --view stall -o p.svg p.xpu
has "$(cat p.svg)" "1 time that a GPU dropped instruction samples" "so does their picture"
is "$(field 'sum(k["samples"] for k in r["stalls"]["kernels"])')" 10240 "what comes after that is read"

for fault in closed eacces ebusy size version enodev; do
	case $fault in
	closed | eacces) reason="dev.xe.observation_paranoid=0" ;;
	ebusy) reason="another program samples it" ;;
	size | version) reason="records are of a kind that is not known" ;;
	enodev) reason="its stream ended (No such device)" ;;
	esac
	recorded kernels XPUPROF_SIM_XE_FAULT=$fault XPUPROF_SIM_XE_PATIENCE_MS=500
	is "$status" 0 "$fault: the program runs on"
	has "$err" "instructions of Intel's GPU renderD128 are not sampled: " "$fault: this is said"
	has "$err" "$reason" "$fault: with what is the matter"
	is "$(loss stalls_refused)" 1 "$fault: and counted"
	is "$(xpuprof report --json p.xpu | python3 -c 'import json, sys; print(json.load(sys.stdin)["works"])')" 80 \
		"$fault: its work is recorded"
done
for fault in i915 vendor elsewhere; do
	recorded kernels XPUPROF_SIM_XE_FAULT=$fault XPUPROF_SIM_XE_PATIENCE_MS=500
	is "$status $(loss stalls_refused)" "0 1" "$fault: the program runs on, and the refusal is counted"
	has "$err" "instructions of Intel's GPU 0000:00:00.0 are not sampled: its driver is not xe" "$fault: this is said"
	lacks "$err" "renderD128" "$fault: and nothing of a node that is not the GPU's"
done
done_testing

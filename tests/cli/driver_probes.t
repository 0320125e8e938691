#!/bin/sh
# SPDX-License-Identifier: MIT
# Kernels of a program without our library, as its driver says by probes of its own (USDT): a simulated driver that is patched as
# for iaprof, over the stall streams of a simulated render node (sim/xe/).
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
target=$build/tests/targets/probed_driver
zebin=$(cd "$here/../data/zebin" && pwd)/bmg.zebin
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ZE_ENABLE_TRACING_LAYER XPUPROF_SIM_XE_FAULT XPUPROF_SIM_XE_TILES
export LD_LIBRARY_PATH="$build/tests/targets/probed_driver_library"
export XPUPROF_SIM_XE="$PWD/pipe"
export XPUPROF_LIBIGA64= # its own names of instructions
mkfifo pipe
[ "$(id -u)" = 0 ] || skip_all "the kernel's probes need root"
cpu_side || skip_all "the kernel has no BPF programs here"

# recorded ARGUMENT...: of the target, behind zebin and path
recorded() {
	run env LD_PRELOAD="$build/sim/xe/node.so" timeout -k 5 120 \
		"$build/xpuprof" record --stalls -o p.xpu -- "$target" "$zebin" "$PWD/dumped.elf" "$@"
}

# field EXPRESSION: of the report of stalls in JSON, r
field() {
	xpuprof report --stalls --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

# loss NAME: how often it is in the report
loss() {
	xpuprof report --json p.xpu | python3 -c "import json, sys; print(json.load(sys.stdin)['losses'].get('$1', 0))"
}

kernels='sorted((k["name"], k["samples"]) for k in r["stalls"]["kernels"])'
all="[('busy', 5120), ('tiny', 5120)]"

recorded
is "$status: $out" "0: probed" "a driver's own probes are read"
is "$(field "$kernels")" "$all" "each kernel has its samples"
has "$err" "simulated GPU" "the GPU is called simulated"
is "$(loss gpu_untimed)" 80 "that their launches have no times is counted"
is "$(for l in driver_probes driver_images stalls_outside stalls_ambiguous stalls_places stalls_refused; do loss $l; done | sort -u)" 0 \
	"nothing is lost"
true_that "the file that a probe names is still there" test -s dumped.elf
run xpuprof report --stalls p.xpu
has "$out" "0x0000  mov " "instructions have their names, of the file that the driver wrote"
has "$out" " 1:3 " "and lines, though it was linked"
run xpuprof export --to folded --view stall --weight samples p.xpu
has "$out" "main;launch_busy;launch;" "samples stand below the code that launched their kernel"
true_that "and all of them do, below their own" python3 - "$work/.out" <<'END'
import re, sys
sums = {"tiny": 0, "busy": 0}
for line in open(sys.argv[1]).read().splitlines():
    stack, weight = line.rsplit(" ", 1)
    m = re.search(r";main;launch_(\w+);launch;.*\[GPU_Kernel\](\w+);", stack)
    assert m and m[1] == m[2], line
    sums[m[1]] += int(weight)
assert sums == {"tiny": 5120, "busy": 5120}, sums
END
run xpuprof report p.xpu
lacks "$out" "Why GPUs were idle" "when the GPU was idle is not claimed"
lacks "$out" "From launch to start" "nor how long launches took to start"

recorded oddly
is "$status: $(field "$kernels") $(loss driver_probes)" "0: $all 0" "arguments are read from constants, from memory by an index, and of 32 bits"

# What a path names is the program's to say: nothing is followed, waited for or harmed.
mkfifo fifo
ln -s /etc/shadow link
ln -s "$PWD/dumped.elf" to_dumped
truncate -s 10G large
printf 'no image' >text
cp "$zebin" cut.elf && truncate -s 3000 cut.elf
chmod 600 text
lies="$PWD/missing $PWD/fifo /dev/zero /dev/tty $PWD/link $PWD/to_dumped $PWD/large $PWD/text $PWD $PWD/.. relative /proc/self/mem"
named="fifo link to_dumped large text cut.elf"
before=$(ls -ld --time-style=full-iso $named)
recorded $lies "$PWD/cut.elf"
is "$status: $(field "$kernels")" "0: $all" "paths that lie change nothing"
is "$(loss driver_images)" 13 "each is counted"
is "$(ls -ld --time-style=full-iso $named)" "$before" "what they name is as it was"

# The paths of another user, by that user's rights.
if id nobody >/dev/null 2>&1 && command -v setpriv >/dev/null; then
	chmod 755 .
	mkdir -m 777 theirs
	install -m 600 "$zebin" ours.elf
	run setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$target"
	if [ "$status" = 0 ]; then
		run env LD_PRELOAD="$build/sim/xe/node.so" timeout -k 5 120 "$build/xpuprof" record --stalls -o p.xpu -- \
			env -u LD_PRELOAD setpriv --reuid 65534 --regid 65534 --clear-groups env LD_LIBRARY_PATH="$LD_LIBRARY_PATH" PROBED_PATIENCE_MS=10000 XPUPROF_SIM_XE= "$target" "$zebin" "$PWD/theirs/dumped.elf" "$PWD/ours.elf"
		is "$status: $out: $(loss driver_images)" "0: probed: 1" "a file that the program's user may not read is not read by root either"
	fi
fi

library=$LD_LIBRARY_PATH
export LD_LIBRARY_PATH="$build/tests/targets/probed_driver_unreadable"
recorded
export LD_LIBRARY_PATH="$library"
has "$err" "the driver's probe level_zero:launch_kernel is not read: its argument 2, '8@launch_counter(%rip)', has a form that is not known" \
	"an argument that cannot be read is told"
is "$status: $(field "$kernels") $(loss stalls_refused)" "0: $all 1" "and counted, and the other places of that probe are read"

# A program that runs already.
env LD_PRELOAD="$build/sim/xe/node.so" PROBED_PATIENCE_MS=60000 "$target" "$zebin" "$PWD/dumped.elf" >told &
started=$!
run env LD_PRELOAD="$build/sim/xe/node.so" timeout -k 5 120 "$build/xpuprof" record --stalls -o p.xpu -p $started
wait $started
is "$status: $(cat told): $(field "$kernels")" "0: probed: $all" "so too of a program that runs already"

# Nobody needs them who has no such GPU, or does not sample instructions.
if [ -e /dev/dri ]; then
	skip "without a GPU of Intel's nothing is probed" "there may be one here"
else
	run env PROBED_PATIENCE_MS=300 XPUPROF_SIM_XE= timeout -k 5 120 "$build/xpuprof" record --stalls -o p.xpu -- "$target" "$zebin" "$PWD/dumped.elf"
	is "$status: $out" "0: not probed" "without a GPU of Intel's nothing is probed"
fi
run env PROBED_PATIENCE_MS=300 XPUPROF_SIM_XE= timeout -k 5 120 "$build/xpuprof" record -o p.xpu -- "$target" "$zebin" "$PWD/dumped.elf"
is "$status: $out" "0: not probed" "without --stalls nothing is probed"

# Where our library is in the program, it has said the same: nothing is counted twice, also when the recorder reads what the probes
# say before what the library has written.
twice=0
for n in 1 2 3 4 5; do
	run env LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$build/sim/levelzero" PROBED_BESIDE_LIBRARY=1 XPUPROF_SIM_XE_PATIENCE_MS=0 LD_PRELOAD="$build/sim/xe/node.so" \
		timeout -k 5 120 "$build/xpuprof" record --stalls -o p.xpu -- "$target" "$zebin" "$PWD/dumped.elf"
	seen="$status: $out: $(xpuprof report --json p.xpu | python3 -c 'import json, sys; print(json.load(sys.stdin)["works"])')"
	[ "$seen" = "0: probed: 0" ] || { twice=$((twice + 1)) && comment "$seen"; }
done
is $twice 0 "beside the library the probes are not used, five times"
has "$err" "the probes of Intel's driver were not used where the library says the same" "and this is said"
done_testing

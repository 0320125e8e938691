#!/bin/sh
# SPDX-License-Identifier: MIT
# Drivers of Level Zero that lie about times: what contradicts itself has no time in the profile, and is counted; of
# immediate lists and of recorded ones. And programs whose Level Zero nobody sees.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
target=$build/tests/targets/levelzero
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ZE_ENABLE_TRACING_LAYER
export LD_LIBRARY_PATH="$build/sim/levelzero"

field() {
	xpuprof report --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

# recorded ARGUMENT...: sets kernels to "COUNT NANOSECONDS", losses
recorded() {
	run timeout -k 5 100 "$build/xpuprof" record -q -o p.xpu -- "$target" "$@"
	kernels=$(field 'sum(k["count"] for k in r["kernels"]), sum(k["total_ns"] for k in r["kernels"])')
	losses=$(field '{k: n for k, n in r["losses"].items() if n and k.startswith("gpu_")}')
}

for lie in zero reversed early late huge begun backwards none timer-backwards timer-random timer-huge timer-none; do
	export XPUPROF_SIM_ZE_LIE=$lie
	recorded pieces 1000
	is "$status: $kernels $losses" "0: 1000 0 {'gpu_untimed': 1000}" "$lie: the work is there, without times, and counted"
	recorded lists 100
	is "$status: $kernels $losses" "0: 100 0 {'gpu_untimed': 100}" "$lie: so is that of recorded lists"
done
# where a start that is nearly zero is further away than our own clock has run
export XPUPROF_SIM_ZE_LIE=begun
XPUPROF_SIM_ZE_TIMER_BITS=64 XPUPROF_SIM_ZE_STAMP_BITS=64 recorded pieces 1000
is "$status: $kernels $losses" "0: 1000 0 {'gpu_untimed': 1000}" "begun, 64 bits: so too"
XPUPROF_SIM_ZE_LIE=none recorded lists 100
unset XPUPROF_SIM_ZE_LIE
run xpuprof report p.xpu
has "$out" "100 pieces of GPU work without times of their own" "the report says so"

# --- what nobody sees
driver=$build/sim/levelzero/driver/libze_intel_gpu.so.1
run timeout -k 5 100 "$build/xpuprof" record -o p.xpu -- python3 -c "import ctypes; ctypes.CDLL('$driver').zeInit(0)"
if [ "$(field 'r["samples"] > 0')" = True ]; then
	is "$(field 'r["losses"]["gpu_never_connected"]')" 1 "a program that is linked to a driver is counted"
	has "$err" "uses Level Zero, and that is not recorded: it is linked to a driver" "and it is said why"
	has "$err" "as in a program with other rights than its user's (setuid) or a cleared environment" "with all reasons"
	has "$err" "('xpuprof record -p' records these, with a loader from 1.20 on)" "and what there is against it"
	begins='import ctypes, sys; ctypes.CDLL(sys.argv[1]); sys.exit(bool(getattr(ctypes.CDLL("libze_loader.so.1"), sys.argv[2])(0)))'
	run timeout -k 5 100 "$build/xpuprof" record -o p.xpu -- python3 -c "$begins" "$driver" zesInit
	is "$status $(field 'r["losses"].get("gpu_never_connected", 0)')" "0 0" "one that only looks at GPUs is no loss"
	lacks "$err" "Level Zero" "nor is anything said of it"
	XPUPROF_SIM_ZE_NO_DEVICE=1 run timeout -k 5 100 "$build/xpuprof" record -o p.xpu -- python3 -c "$begins" "$driver" zeInit
	is "$status $(field 'r["losses"].get("gpu_never_connected", 0)')" "1 0" "one that finds no GPU is no loss"
	has "$err" "tried to use Level Zero, which found no GPU, or none that it may open: its first call failed (0x78000001)" "but told"
	lacks "$err" "is not recorded" "and not as one that is not recorded"
	again='import ctypes, os, sys; begin = ctypes.CDLL("libze_loader.so.1").zeInit; ctypes.CDLL(sys.argv[1])
begin(0); os.unsetenv("XPUPROF_SIM_ZE_NO_DEVICE"); sys.exit(begin(0))'
	XPUPROF_SIM_ZE_NO_DEVICE=1 run timeout -k 5 100 "$build/xpuprof" record -o p.xpu -- python3 -c "$again" "$driver"
	is "$status $(field '"Level Zero" in r["meta"]["cupti"]')" "0 True" "one that finds one the second time is recorded"
	lacks "$err" "found no GPU" "and nothing of this is said"
	forks='import ctypes, os, sys; begin = ctypes.CDLL("libze_loader.so.1").zeInit; ctypes.CDLL(sys.argv[1])
begin(0); child = os.fork(); child and sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) + 3); sys.exit(4)'
	XPUPROF_SIM_ZE_NO_DEVICE=1 run timeout -k 5 100 "$build/xpuprof" record -o p.xpu -- python3 -c "$forks" "$driver"
	is "$status $(printf '%s\n' "$err" | grep -c 'found no GPU')" "7 1" "of a forked child of such a program it is not said once more"
	run timeout -k 5 100 "$build/xpuprof" record -o p.xpu -- "$target" pieces 10
	lacks "$err" "is not recorded" "of one that is recorded nothing of this is said"
	python3 -c "import ctypes, time; ctypes.CDLL('$driver').zeInit(0); print(flush=True); time.sleep(100)" >begun &
	late=$!
	for _ in $(seq 200); do [ -s begun ] && break; sleep 0.1; done
	run timeout -k 5 100 "$build/xpuprof" record -d 1 -o p.xpu -p $late
	kill $late
	has "$err" "process $late uses Level Zero, and that is not recorded: " "of one that runs already it is said, too"
	has "$err" "or it ran already" "and why"
	is "$status $(field 'r["losses"]["gpu_never_connected"]')" "0 1" "and it is counted"
else
	skip "a program that is linked to a driver is counted" "no mappings are reported here"
fi
done_testing

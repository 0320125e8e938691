#!/bin/sh
# SPDX-License-Identifier: MIT
# Level Zero is recorded by a tracer of its loader's, here over a simulated loader and device: every command of an immediate
# list with its stack and its times to the nanosecond, while the device's counters wrap, and nothing of that is seen by the
# program.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
target=$build/tests/targets/levelzero
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ZE_ENABLE_TRACING_LAYER
plain=$LD_LIBRARY_PATH
export LD_LIBRARY_PATH="$build/sim/levelzero"

# recorded ARGUMENT...: of the target
recorded() {
	run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- "$target" "$@"
}

# field EXPRESSION: of the report in JSON, r
field() {
	xpuprof report --json p.xpu | python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

losses='{k: n for k, n in r["losses"].items() if n and k.startswith("gpu_")}'
without='sum(r["works_without_stack"].values()), sum(r["launches_without_work"].values())'
kernels='"\n".join("%s %d %d" % (k["name"], k["count"], k["total_ns"]) for k in sorted(r["kernels"], key=lambda k: k["name"]))'

# --- kernels, copies and fills
recorded truth
is "$status" 0 "a program that uses Level Zero is recorded"
is "$(field "$kernels")" "$(printf '%s\n' "$out" | grep -v -e copy -e set)" \
	"names, counts and times of kernels are what the device takes, to the nanosecond"
is "$(field '["%s %d %d" % ("copy", c["count"], c["total_ns"]) for c in r["copies"]][0]')" "$(printf '%s\n' "$out" | grep copy)" \
	"so are those of copies"
is "$(field '["%s %d %d" % ("set", c["count"], c["total_ns"]) for c in r["sets"]][0]')" "$(printf '%s\n' "$out" | grep set)" \
	"and fills"
is "$(field 'r["copies"][0]["bytes"], r["sets"][0]["bytes"]')" "4096000 819200" "with their bytes"
is "$(field "$without, $losses")" "0 0 {}" "all have their stacks, and nothing is lost"
is "$(field 'r["meta"]["gpu_reported_ns"] == str(r["gpu_ns"]), r["simulated"]')" "True True" "all time is there, and called simulated"
is "$(field '0 < int(r["meta"]["clock_error_ns"]) < 1000000')" True "how well the device's clock is known is stored"
is "$(field 'r["latency"]["max_ns"] < 1e9')" True "the work is where it was asked for"
has "$(field 'r["meta"]["cupti"]')" "Level Zero's tracing layer, " "by which tracer it was recorded"
is "$(field 'sorted((c["api"], c["count"]) for c in r["calls"])')" \
	"[('zeCommandListAppendLaunchKernel', 200), ('zeCommandListAppendMemoryCopy', 100), ('zeCommandListAppendMemoryFill', 100), ('zeCommandListHostSynchronize', 100)]" \
	"calls are there, once each"
run xpuprof export --to folded --view gpu p.xpu
has "$out" ";truth;launch_large;zeCommandListAppendLaunchKernel;[GPU_Kernel]large " "kernels stand on the functions that launched them"
has "$out" ";truth;launch_small;zeCommandListAppendLaunchKernel;[GPU_Kernel]small " "each on its own"
has "$out" ";truth;copy_something;zeCommandListAppendMemoryCopy;" "copies, too"
lacks "$out" "before_Command" "without our functions"
run xpuprof export --to folded --view wall p.xpu
has "$out" ";wait_for_list;zeCommandListHostSynchronize;[waiting for the GPU]" "waits for lists are waits for the GPU"
run xpuprof export --to chrome p.xpu
has "$out" '"name":"Level Zero: zeCommandListAppendLaunchKernel","cat":"Level_Zero"' "a timeline has its calls, as of its API"
xpuprof flame -o p.svg p.xpu
has "$(cat p.svg)" "zeCommandListAppendLaunchKernel" "a flame graph has both"

# --- a plugin's loader, which nothing else of the program is linked with
plugin='import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
sys.stdout.flush()
lib.main(2, (ctypes.c_char_p * 3)(b"plugin", b"truth", None))'
run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- python3 -c "$plugin" "$build/tests/targets/levelzero_plugin.so"
is "$status" 0 "a plugin that brings the loader is recorded"
is "$(field "$kernels")" "$(printf '%s\n' "$out" | grep -v -e copy -e set)" "with all its kernels"

# --- a program that opens the loader itself
cat >opens.py <<'END'
import ctypes, sys
handle, one = ctypes.c_void_p, ctypes.c_uint(1)
ze = ctypes.CDLL("libze_loader.so.1")

class Kernel(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_uint), ("next", handle), ("flags", ctypes.c_uint), ("name", ctypes.c_char_p)]

def made(name, *arguments):
    at = handle()
    assert not getattr(ze, name)(*arguments, ctypes.byref(at)), name
    return at

begin = getattr(ze, sys.argv[1])
if sys.argv[1] == "zeInitDrivers":
    begin(ctypes.byref(one), ctypes.byref(handle()), None)
elif begin(0):
    sys.exit("no device")
driver = made("zeDriverGet", ctypes.byref(one))
device = made("zeDeviceGet", driver, ctypes.byref(one))
context = made("zeContextCreate", driver, None)
queue = made("zeCommandListCreateImmediate", context, device, None)
kernel = made("zeKernelCreate", None, ctypes.byref(Kernel(0x1d, None, 0, b"opened")))
for n in range(100):
    assert not ze.zeCommandListAppendLaunchKernel(queue, kernel, (ctypes.c_uint * 3)(100, 1, 1), None, 0, None)
ze.zeCommandListHostSynchronize(queue, ctypes.c_uint64(2**64 - 1))
END
for begin in zeInit zeInitDrivers; do
	run timeout -k 5 60 "$build/xpuprof" record -q -o p.xpu -- python3 opens.py $begin
	is "$status: $(field "[(k['name'], k['count']) for k in r['kernels']], $losses")" "0: [('opened', 100)] {}" \
		"a program that finds $begin by dlsym is recorded"
done
is "$(field 'sum(r["works_without_stack"].values())')" 0 "with its stacks"

# --- what the program sees
run "$target" events
alone=$out
recorded events
is "$status: $out" "0: $alone" "a program's own events are as without us"
is "$(field "$kernels")" "again 21 $((21 * (1100 * 1000000000 / 19200000)))" "and each use of one event has its times"
run timeout 60 env XPUPROF_SOCKET=/nonexistent LD_PRELOAD="$XPUPROF_LIBRARY" "$target" events
is "$status: $out" "0: $alone" "a preloaded library without a recorder is not in the way"
recorded contexts
is "$status" 0 "contexts may come and go"
is "$(field "[(k['name'], k['count']) for k in r['kernels']], $losses")" "[('alone', $out)] {}" "with all that was in them"
recorded contexts 1000
is "$(field "[(k['name'], k['count']) for k in r['kernels']], $losses")" "[('alone', 1000)] {}" "also a thousand, one after the other"
recorded pieces 10000
is "$(field "[(k['name'], k['count'], k['total_ns']) for k in r['kernels']], $losses")" \
	"[('one', 10000, $((10000 * (1000 * 1000000000 / 19200000))))] {}" "many launches"
recorded drivers 100
is "$(field "[(k['name'], k['count']) for k in r['kernels']], $losses")" "[('one', 100)] {}" "a program that begins by zeInitDrivers"
recorded open
is "$status $(field "r['works'], $losses")" "0 0 {}" "what is appended to a list that is never executed is no work"

# --- recorded lists
recorded recorded
is "$status" 0 "lists that are recorded and executed again and again"
is "$(field "$kernels")" "$out" "each execution has all of its kernels, with the times of each"
is "$(field "$without, r['launches_without_work']['captured'], $losses")" "0 4 4 {}" "nothing is lost, and what was appended is no work by itself"
is "$(field 'sorted((c["api"], c["count"]) for c in r["calls"])')" \
	"[('zeCommandListAppendLaunchKernel', 4), ('zeCommandQueueExecuteCommandLists', 201), ('zeCommandQueueSynchronize', 101), ('zeEventHostSynchronize', 50), ('zeFenceHostSynchronize', 50)]" \
	"appends and executions are calls"
run xpuprof export --to folded --view gpu p.xpu
has "$out" ";recorded;execute;zeCommandQueueExecuteCommandLists;" "kernels stand on what executed them"
has "$out" ";execute_both;zeCommandQueueExecuteCommandLists;" "wherever that was"
run xpuprof export --to folded --view gpu --graph-stack capture p.xpu
has "$out" ";recorded;record_large;" "and on what appended them to the list"
has "$out" ";recorded;record_small;" "each on its own"
run xpuprof export --to folded --view wall p.xpu
has "$out" ";wait_for_queue;zeCommandQueueSynchronize;[waiting for the GPU]" "waits for queues are waits for the GPU"
has "$out" ";wait_for_fence;zeFenceHostSynchronize;[waiting for the GPU]" "waits for fences, too"
recorded overrun 100
is "$(field "r['works'], r['launches_without_work']['captured']")" "200 2" "a list that is executed while it runs: all work is there"
is "$(field "0 < r['losses']['gpu_untimed'] < 200, r['gpu_ns'] == (200 - r['losses']['gpu_untimed']) * (2000 * 1000000000 // 19200000)")" \
	"True True" "what could not be read in time has no times, and is counted; no other has wrong ones"
recorded reset
is "$(field "$kernels"), $(field "$losses")" "first 10 0
reset 10 0
second 10 $((10 * (1100 * 1000000000 / 19200000))), {'gpu_untimed': 20}" "events that the list itself resets, or uses twice, are counted so, too"
recorded lists 1000
is "$(field "[(k['name'], k['count']) for k in r['kernels']], $losses")" "[('once', 1000)] {}" "lists, queues, fences and kernels may come and go"
run "$target" appended
alone=$out
recorded appended
is "$status: $out" "0: $alone" "lists that are appended to an immediate one: events are as without us"
is "$(field "$kernels"), $(field "$losses")" "appended 20 $((20 * (1010 * 1000000000 / 19200000))), {}" "with all times"

recorded twice
is "$status: $(field "$kernels"), $(field "$losses")" "0: $out, {'gpu_untimed': 40}" \
	"a list that is in a call twice: all work is there, and has no times where they cannot be told apart"
recorded unawaited
is "$status: $(field "$kernels" | grep beside)" "0: $out" "a list that is appended again before it is over: other work has its own times"
is "$(field "sum(k['count'] for k in r['kernels'] if k['name'] == 'again')")" 4 "and all of the list's is there"

run "$target" parameters
alone=$out
recorded parameters
is "$status: $out" "0: $alone" "lists, copies and fills with parameters: events are as without us"
is "$(field "$kernels + ' ' + ', '.join('%d %d' % (c['count'], c['total_ns']) for c in r['copies'] + r['sets'])"), $(field "$losses")" \
	"$(printf '%s\n' "$out" | grep appended) $(printf '%s\n' "$out" | sed -n 's/^copy //p'), $(printf '%s\n' "$out" | sed -n 's/^set //p'), {}" "all with their times"

# --- copies
recorded copies
is "$(field 'sorted((c["bytes"], c["kind"]) for c in r["copies"])')" "[(1, 'HtoD'), (3, 'DtoH'), (4, 'DtoD'), (5, 'unknown'), (14, 'HtoH'), (400, 'AtoH'), (1002, 'HtoD'), (16384, 'AtoA'), (16384, 'DtoA')]" "copies have their directions and bytes"

# --- devices and timers
export XPUPROF_SIM_ZE_DEVICES=3 XPUPROF_SIM_ZE_TILES=2 XPUPROF_SIM_ZE_DRIVERS=2
recorded devices
is "$status: $out" "0: 18" "devices, their tiles, and several drivers"
is "$(field "$kernels"), $(field "$losses")" "everywhere 180 $((180 * (1100 * 1000000000 / 19200000))), {}" "all of their work, with its times"
is "$(field '[d["works"] for d in r["devices"]]')" "$(python3 -c 'print([10] * 18)')" "each on its own"
is "$(field 'r["latency"]["max_ns"] < 1e9')" True "each by its own timer"
unset XPUPROF_SIM_ZE_DEVICES XPUPROF_SIM_ZE_TILES XPUPROF_SIM_ZE_DRIVERS
for bits in "32 32" "36 32" "64 32" "64 64" "56 56" "36 24"; do
	XPUPROF_SIM_ZE_TIMER_BITS=${bits% *} XPUPROF_SIM_ZE_STAMP_BITS=${bits#* } recorded truth
	is "$(field "$kernels"), $(field "$losses, r['latency']['max_ns'] < 1e9")" "$(printf '%s\n' "$out" | grep -v -e copy -e set), {} True" \
		"a timer and timestamps of $bits bits"
done
XPUPROF_SIM_ZE_HZ=12500000 XPUPROF_SIM_ZE_TIMER_IN_NS=1 recorded pieces 1000
is "$(field "$kernels"), $(field "$losses")" "one 1000 $((1000 * 80000)), {}" "a driver that tells its timer's resolution in nanoseconds"

# --- how the library gets there
run xpuprof record -q -o p.xpu -- sh -c 'echo "$LD_PRELOAD $ZE_ENABLE_TRACING_LAYER"'
is "$out" "$XPUPROF_LIBRARY 1" "where a loader is, the library is preloaded, and tracing is on"
LD_PRELOAD="$build/sim/levelzero/libze_loader.so.1" run xpuprof record -q -o p.xpu -- sh -c 'echo "$LD_PRELOAD"'
is "$out" "$XPUPROF_LIBRARY:$build/sim/levelzero/libze_loader.so.1" "beside what the user preloads"
if [ ! -e /usr/lib/x86_64-linux-gnu/libze_loader.so.1 ]; then
	LD_LIBRARY_PATH=$plain run xpuprof record -q -o p.xpu -- sh -c 'echo "($LD_PRELOAD)"'
	is "$out" "()" "where none is, nothing is"
else
	skip "where none is, nothing is" "there is one"
fi
"$build/xpuprof" record -q -o p.xpu -- "$target" pieces 60000 2>/dev/null &
recorder=$!
for n in $(seq 100); do
	pid=$(pgrep -P $recorder -x levelzero) && break
	sleep 0.05
done
sleep 0.5
kill -9 $recorder
wait $recorder 2>/dev/null
for n in $(seq 100); do
	[ -d "/proc/$pid" ] || break
	sleep 0.1
done
true_that "a program goes on when its recorder is killed, and ends" [ -n "$pid" -a ! -d "/proc/$pid" ]
run xpuprof report --json p.xpu
is "$status" 0 "and what was recorded can be read"

# --- what doctor finds
check_of() { # KEY MEMBER: from the JSON in $out
	printf '%s' "$out" | python3 -c '
import json, sys
rows = {row["check"]: row for row in json.load(sys.stdin)["checks"]}
print(rows[sys.argv[1]].get(sys.argv[2], ""))' "$1" "$2"
}
run xpuprof doctor --json
is "$(check_of levelzero_loader state)" ok "doctor finds a loader with its tracing layer"
has "$(check_of levelzero_loader text)" "libze_loader.so.1', whose tracing can be switched on at any time" "and when that may begin"
mkdir -p bare machine/sys/class/drm/renderD128/device machine/sys/class/drm/renderD129/device machine/dev/dri
cp "$build/sim/libcuda.so.1" bare/libze_loader.so.1
LD_LIBRARY_PATH=$work/bare run xpuprof doctor --json --sysroot "$work/machine"
is "$(check_of levelzero_loader state)" limited "a loader without a tracing layer is too little"
has "$(check_of levelzero_loader step)" "libze1" "and what to install is said"
is "$(check_of intel_gpus text)" "none in this machine" "without GPUs of Intel's"
echo 0x8086 >machine/sys/class/drm/renderD128/device/vendor
echo 0xe20b >machine/sys/class/drm/renderD128/device/device
echo 0x10de >machine/sys/class/drm/renderD129/device/vendor
run xpuprof doctor --json --sysroot "$work/machine"
is "$(check_of intel_gpus text)" "renderD128 (device e20b, no node in /dev/dri)" "a GPU that programs cannot open"
has "$(check_of intel_gpus step)" "--device /dev/dri" "has to be handed over"
touch machine/dev/dri/renderD128
run xpuprof doctor --json --sysroot "$work/machine"
is "$(check_of intel_gpus state) $(check_of intel_gpus text)" "ok renderD128 (device e20b)" "one that the user may open is fine"

# --- the real loader, over the simulated device as a driver
real=${XPUPROF_LEVELZERO:-$(ldconfig -p 2>/dev/null | sed -n 's|.* => \(/.*\)/libze_loader.so.1$|\1|p' | head -1)}
if [ -e "$real/libze_loader.so.1" ] && [ -e "$real/libze_tracing_layer.so.1" ]; then
	export LD_LIBRARY_PATH="$build/sim/levelzero/driver:$real"
	recorded recorded
	is "$(field "$kernels"), $(field "$losses")" "$out, {}" "the real loader: recorded lists, with the times of each execution"
	run xpuprof doctor --json
	has "$(check_of levelzero_loader text)" ", version 1." "the real loader: doctor has its version"
	recorded copies
	is "$(field 'len(r["copies"]), sum(c["bytes"] for c in r["copies"]), r["sets"][0]["bytes"]')" "9 34197 7" "the real loader: copies"
	run "$target" events
	alone=$out
	recorded events
	is "$status: $out" "0: $alone" "the real loader: a program's own events are as without us"
	is "$(field "$kernels")" "again 21 $((21 * (1100 * 1000000000 / 19200000)))" "the real loader: with the times of each use"
	is "$(field "$without, $losses")" "0 0 {}" "the real loader: with stacks, and nothing lost"
	recorded contexts
	is "$(field "[(k['name'], k['count']) for k in r['kernels']], $losses")" "[('alone', $out)] {}" "the real loader: contexts"
	run xpuprof export --to folded --view gpu p.xpu
	has "$out" ";zeCommandListAppendLaunchKernel;[GPU_Kernel]alone " "the real loader: kernels stand on their calls"
	lacks "$out" "tracing" "the real loader: its own functions are left out"
else
	skip "the real loader" "it is not installed (libze1)"
fi
done_testing

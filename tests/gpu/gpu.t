#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuprof on a real GPU; tests/gpu/run starts this. Programs, expectations and checks are those of
# tests/cli/launches.t. Run on the simulated GPU (LD_LIBRARY_PATH=build/sim) it tests itself.
. "$(dirname "$0")/../cli/tap.sh"
build=$(cd "$build" && pwd)
export XPUPROF_BUILD="$build"
unset CUDA_INJECTION64_PATH
python=${PYTHON:-python3}
cuda=${CUDA_HOME:-/usr/local/cuda}

simulated=
case $LD_LIBRARY_PATH: in
"$build/sim":*) simulated=$build/sim ;;
esac

xpuprof doctor 2>&1 | sed 's/^/# /'
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sed 's/^/# GPU: /'
run "$build/tests/programs/launches"
[ "$status" = 0 ] || skip_all "no program can use CUDA here: $err"
alone=$out
cpu_side || skip_all "launch stacks cannot be had here (root?)"

record() {
	rm -f p.xpu
	run timeout 120 "$build/xpuprof" record -q -o p.xpu -- "$@"
	[ "$status" = 0 ] || printf '%s\n' "$err" | tail -5 | sed 's/^./# &/'
}

# What the last command said, for people.
said() {
	printf '%s\n' "$out" "$err" | sed '/./!d; s/^/# /'
}

as_expected() { # NAME
	printf '%s\n' "$out" >expected
	run "$python" "$here/../check_launches.py" p.xpu expected
	result "$status" "$1"
	said
}

told() { # EXPRESSION: of the report in JSON, r
	xpuprof report --json p.xpu 2>/dev/null |
		"$python" -c "import json, sys; r = json.load(sys.stdin); print($1)"
}

# A program whose launches nobody has counted: all work that there was has a launch and its stack.
everything_joined() { # WHAT
	is "$(told 'sum(r["works_without_stack"].values())')" 0 "$1: all work is joined with its launch"
	is "$(told 'sum(r["launches_without_work"][k] for k in ("unfinished", "no_exit", "forgotten"))')" 0 \
		"$1: every launch has its work, or a reason to have none"
	is "$(told 'sum(n for k, n in r["losses"].items()
			if not k.startswith(("stacks_incomplete", "walk_", "python_")))')" 0 "$1: nothing is lost"
	is "$(told 'r["stacks"]["launches"] > 0 and
			r["stacks"]["launches_incomplete"] + r["stacks"]["launches_without"] <=
			r["stacks"]["launches"] / 200')" True "$1: at least 99.5 % of the launches have whole stacks"
	is "$(told 'r["gpu_ns"] - int(r["meta"]["gpu_reported_ns"])')" 0 \
		"$1: the GPU time is what CUPTI reported, to the nanosecond"
	told '"# %d works, %d ns of GPU time, %d calls, stacks by %s, without work %s" % (r["works"],
		r["gpu_ns"], sum(c["count"] for c in r["calls"]), r["stacks"]["source"], r["launches_without_work"])'
}

# --- known launches ---
for form in programs/launches gpu/launches_shared gpu/launches_static; do
	program=$build/tests/$form
	name=${form#*/}
	if [ "$simulated$name" = "$build/simlaunches_static" ]; then
		skip "$name" "NVIDIA's runtime does not take the simulated driver"
		continue
	elif [ ! -x "$program" ]; then
		skip "$name" "no CUDA toolkit to build it with"
		continue
	fi
	record "$program" --repeat 20
	is "$status" 0 "$name ends as alone"
	as_expected "$name: every call and its work, under the function that made it"
	record "$build/tests/programs/fork_wrapper" "$program"
	as_expected "$name: the same when a forking wrapper starts it"
	record "$(dirname "$program")/fork_after_cuda${name#launches}"
	is "$status" 0 "$name: workers forked after CUDA began end as alone"
	as_expected "$name: and the parent's launches are all there"
done
told '"# CUPTI " + r["meta"]["cupti"]'
record sh -c "for i in 1 2 3; do '$build/tests/programs/launches' & done; wait"
as_expected "three CUDA processes at once"

if [ "$(nvidia-smi -L 2>/dev/null | wc -l)" -gt 1 ] || [ "$XPUPROF_SIM_DEVICES" ]; then
	record "$build/tests/programs/devices"
	as_expected "work on each GPU of one process is told apart"
	told '"# " + str([(d["ordinal"], d["name"], d["works"], d["work_ns"]) for d in r["devices"]])'
else
	skip "work on each GPU of one process is told apart" "there is one GPU"
fi

# --- ends ---
for how in segfault:139 kill:137 term:143 _exit:3 exit:3; do
	record "$build/tests/programs/crash" "${how%:*}"
	is "$status" "${how#*:}" "a program that ends by ${how%:*} ends as alone"
	is "$(told 'r["incomplete"], r["works"] + sum(r["launches_without_work"].values())')" \
		"None 100" "and in its profile each launch has its work or a reason"
	told '"# %d works, %s" % (r["works"], r["launches_without_work"])'
done

# --- another tool was there first ---
cupti=$simulated
for folder in "$cuda/lib64" "$cuda/extras/CUPTI/lib64" "$cuda/lib"; do
	[ "$cupti" ] || [ ! -e "$folder/libcupti.so.13" ] || cupti=$folder
done
[ "$cupti" ] || cupti=$(dirname "$(find / -xdev -name 'libcupti.so.1[23]' 2>/dev/null | head -1)")
record env LD_PRELOAD="$build/tests/gpu/libearly_subscriber.so" \
	LD_LIBRARY_PATH="$cupti:$LD_LIBRARY_PATH" "$build/tests/programs/launches"
has "$err" "early_subscriber: CUPTI said 0" "a tool subscribes to CUPTI before the program's first call"
is "$status $out" "0 $alone" "the program runs as alone"
is "$(told 'r["losses"]["gpu_taken"], r["works"]')" "1 0" "and that CUPTI was taken is counted"

# --- PyTorch ---
version=$("$python" -c 'import importlib.metadata as m; print(m.version("torch"))' 2>/dev/null)
if [ "$version" ]; then
	echo "# PyTorch $version"
	record "$python" "$here/torch_train.py"
	is "$status" 0 "PyTorch, eager steps and a replayed graph: ends as alone"
	everything_joined "PyTorch, eager steps and a replayed graph"
	told '"# CUPTI " + r["meta"]["cupti"]'
	record "$python" "$here/torch_dataloader.py"
	is "$status" 0 "a DataLoader's forked workers end by themselves"
	everything_joined "PyTorch with forked workers"
	for order in first late; do
		record "$python" "$here/torch_profiler.py" $order
		is "$status" 0 "torch.profiler inside, $order: the program ends as alone"
		said
		has "$out" "result is finite: True" "torch.profiler inside, $order: and its result is right"
		if [ "$(told 'r["losses"]["gpu_taken"]')" = 1 ]; then
			is "$(told 'r["works"]')" 0 "torch.profiler inside, $order: it has CUPTI, counted"
		else
			everything_joined "torch.profiler inside, $order: we have CUPTI"
		fi
	done
else
	skip "PyTorch" "$python has no torch"
fi

# --- what CUPTI tells, here and on the simulated GPU ---
run env CUPTI="$cupti" "$here/sequence.sh" .
said
[ "$XPUPROF_SEQUENCES" ] && cp gpu-*.txt *.diff "$XPUPROF_SEQUENCES"
done_testing

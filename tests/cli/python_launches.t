#!/bin/sh
# SPDX-License-Identifier: MIT
# A Python program's launches have their Python frames, whoever takes their stacks, with rights and without.
. "$(dirname "$0")/tap.sh"
program=$here/../programs/launches.py
build=$(cd "$build" && pwd)
LD_LIBRARY_PATH=$build/sim
export LD_LIBRARY_PATH
cpu_side || skip_all "BPF cannot be had here"
python=$(command -v python3) || skip_all "no python3 here"

# A user who may not load BPF programs, and a Python for that user.
as_nobody=
if [ "$(id -u)" = 0 ]; then
	mkdir drop && chown nobody drop && chmod 755 .
	as_nobody="env HOME=$PWD/drop setpriv --reuid=nobody --regid=nogroup --clear-groups"
	for other in "$python" /usr/bin/python3; do
		$as_nobody test -r "$build/sim/libcuda.so.1" && $as_nobody test -r "$program" &&
			$as_nobody "$other" -c 'import ctypes' 2>/dev/null && python=$other && allowed=yes
	done
fi

# stacks OPTION... -> $folded: the frames of Python and the kernel, and how often, of complete stacks; $all: as they are
stacks() {
	run timeout 60 $as "$build/xpuprof" record -q --gpu-only "$@" -o "$out_dir/p.xpu" -- "$python" "$program"
	is "$status $out" "0 done" "$*: the program runs as alone"
	all=$(xpuprof export --to folded --view gpu -o - "$out_dir/p.xpu" | sed 's/ [0-9]*$//')
	folded=$(printf '%s\n' "$all" | grep -v incomplete |
		sed -e 's/^[^;]*;//' -e 's/;[^(;]*;[^;]*\(;\[GPU_Kernel\]axpy\)$/\1/' | tr ';' '\n' |
		sed -n -e 's/ (.*\.py)$//p' -e 's/^\[GPU_Kernel\]/kernel /p' | tr '\n' ';' | sed 's/;kernel axpy;/\n/g' | sort)
	context=$all
}

expected=$(for thread in "" "Thread._bootstrap;Thread._bootstrap_inner;Thread.run;work;"; do
	main=$([ "$thread" ] || echo "<module>;")
	for way in train train\;steps\;Layer.__call__\;Layer.forward \
		train\;steps\;Layer.__call__\;Layer.forward\;Layer.__call__\;Layer.forward; do
		echo "$main$thread$way;launch"
	done
done | sort)

out_dir=.
for source in bpf inprocess; do
	stacks --stack-source=$source
	is "$folded" "$expected" "$source: launches have the Python frames that led to them"
	eval "$source=\$all"
done
is "$inprocess" "$bpf" "all frames are the same, whoever took the stacks"
taken=$(xpuprof report "$out_dir/p.xpu" | sed -n 's/^launches *\([0-9]*\) stacks taken.*/\1/p')
true_that "a stack that repeats is not taken again" test "${taken:-1000}" -lt 400

if [ "${allowed-}" ]; then
	as=$as_nobody out_dir=drop
	stacks
	is "$folded" "$expected" "and so they have without rights"
	is "$all" "$bpf" "with the same frames"
else
	skip "the same without rights" "needs root, and a build and a Python that nobody may read"
fi
done_testing

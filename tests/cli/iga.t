#!/bin/sh
# SPDX-License-Identifier: MIT
# The full text of Intel's GPU code, by a library that stands in for Intel's disassembler (tests/targets/iga/), well or
# badly: whatever it does, the recording is whole, and instructions have at least their names.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
target=$build/tests/targets/levelzero_code
zebin=$(cd "$here/../data/zebin" && pwd)/bmg.zebin
library=$build/tests/targets/iga.so
export XPUPROF_LIBRARY="$build/libxpuprof-inject.so"
unset CUDA_INJECTION64_PATH OPENCL_LAYERS LD_PRELOAD ZE_ENABLE_TRACING_LAYER XPUPROF_LIBIGA64
export LD_LIBRARY_PATH="$build/sim/levelzero"
export XPUPROF_SIM_XE="$PWD/pipe"
mkfifo pipe
folder=$PWD
if [ "$(id -u)" = 0 ]; then
	make_trusted || skip_all "no folder that only root can change"
	folder=$trusted
	chmod 755 "$folder"
fi

# recorded PATH: by that library
recorded() {
	run env XPUPROF_LIBIGA64="$1" LD_PRELOAD="$build/sim/xe/node.so" timeout -k 5 120 \
		"$build/xpuprof" record --stalls -o p.xpu -- "$target" kernels "$zebin"
	samples=$(xpuprof report --stalls --json p.xpu |
		python3 -c "import json, sys; print(sum(k['samples'] for k in json.load(sys.stdin)['stalls']['kernels']))")
	writers=$(xpuprof report --json p.xpu | python3 -c "import json, sys; print(json.load(sys.stdin)['meta']['gpu_text'])")
}

# by BEHAVIOUR
by() {
	cp "$library" "$folder/$1.so"
	recorded "$folder/$1.so"
}

# called NAME: whether the code of "busy" has this
called() {
	run xpuprof annotate busy p.xpu
	has "$out" "$1" "$2"
}

by texts
is "$status $samples $writers" "0 10240 libiga64" "a library writes the text of instructions"
lacks "$err" "shown by name only" "and there is nothing to say"
called "(W&~f0.0) is61.w (1|M0) r1?" "it is one line, printable"
run xpuprof export --to folded --view stall p.xpu
has "$out" ";is61.w_[g];active_[g];" "a mnemonic is what stands behind the guard"

by rights
case $(id -u) in
0) who=65534 ;;
*) who=$(id -u) ;;
esac
called "user=$who,capabilities=0,file=no" "it is loaded, and runs, without rights"

for behaviour in dies hangs greedy stuck; do
	case $behaviour in
	hangs | stuck) reason="takes too long" ;;
	*) reason=fails ;;
	esac
	by $behaviour
	is "$status $samples $writers" "0 10240 decoded" "$behaviour: the recording is whole"
	has "$err" "instructions are shown by name only: libiga64 $reason" "$behaviour: this is said"
	called "send.ugm" "$behaviour: instructions have their names"
done

by long
is "$status $samples $writers" "0 10240 libiga64" "texts without end are cut"
run xpuprof annotate busy p.xpu
is "$(printf '%s\n' "$out" | awk 'length > 1000' | wc -l)" 0 "to what fits on a line"

by unknown
is "$status $samples $writers" "0 10240 decoded" "what is too old for a GPU is not used"
has "$err" "the libiga64 that is installed does not know GPUs of version 20.1" "and this is said"

echo "no library" >"$folder/text.so"
recorded "$folder/text.so"
is "$status $samples $writers" "0 10240 decoded" "what is no library is not used"
has "$err" "instructions are shown by name only: libiga64 cannot be loaded" "and this is said"
recorded ""
is "$status $samples $writers" "0 10240 decoded" "it can be done without"
lacks "$err" "shown by name only" "and nothing is said then"

if [ "$(id -u)" = 0 ]; then
	cp "$library" texts.so
	recorded "$PWD/texts.so"
	is "$status $samples $writers" "0 10240 decoded" "root loads no library that others could change"
	has "$err" "root does not load '$PWD/texts.so' (XPUPROF_LIBIGA64), which others can change" "and this is said"
	recorded /nonexistent/x.so
	has "$err" "cannot load '/nonexistent/x.so' (XPUPROF_LIBIGA64)" "nor one that is not there"
else
	skip "root loads no library that others could change" "not root"
fi
done_testing

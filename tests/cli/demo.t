#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo workload on the simulated GPU, in every form: whole, and never taken for a real one.
. "$(dirname "$0")/tap.sh"

LD_LIBRARY_PATH=$(cd "$build/sim" && pwd)
export LD_LIBRARY_PATH

run xpuprof record -o d.xpu -o d.folded -o d.svg -o d.json -o extended-folded:d.txt -- "$build/demo/train" --steps 40
is "$status" 0 "the demo is recorded"
has "$out" "Simulated GPU 0" "on the simulated GPU"
has "$err" "simulated GPU time" "the summary says simulated GPU"
has "$(xpuprof report d.xpu)" "simulated GPU" "so does the report"
has "$(xpuprof report --json d.xpu)" '"simulated":true' "and the report as JSON"
has "$(grep '<title>' d.svg | head -1)" "simulated GPU" "and the picture, in its title"
is "$(grep -cv '^\[simulated GPU\];' d.folded)" 0 "and every folded stack"
is "$(grep -cv '\[simulated GPU\];' d.txt)" 0 "and every folded event"
has "$(grep otherData d.json)" "simulated GPU" "and the trace"

if xpuprof report d.xpu | grep -q "stacks by *bpf"; then
	has "$(xpuprof export --to folded --view gpu d.xpu)" \
		"main;train;train_step;model_forward;transformer_block;attention;softmax;launch;cuLaunchKernel;[GPU_Kernel]softmax_rows" \
		"GPU work stands under the functions that asked for it"
	has "$(xpuprof export --to folded --view gpu --graph-stack capture d.xpu)" ";main;capture_forward;" \
		"and work of a graph under those that captured it, when asked"
else
	skip "GPU work stands under the functions that asked for it" "no rights for BPF"
fi
xpuprof record -q --queue-times -o q.json -- "$build/demo/train" --steps 2 >/dev/null
is "$(python3 -c 'import json
kernels = [e for e in json.load(open("q.json"))["traceEvents"] if e.get("cat") == "GPU_Kernel" and "graphNode" not in e["args"]]
late = [e for e in kernels if not 0 < e["args"]["queued"] <= e["args"]["submitted"] <= e["ts"]]
print(len(kernels) > 0, len(late))')" "True 0" "--queue-times tells when kernels were queued and submitted, before they began"
reported=$(xpuprof report --json d.xpu | python3 -c 'import json, sys; print(json.load(sys.stdin)["gpu_ns"])')
is "$(xpuprof export --to folded --unit ns --view gpu d.xpu | awk '{ n += $NF } END { printf "%.0f", n }')" "$reported" \
	"GPU time is the same to the nanosecond in the report and in the stacks"
XPUPROF_SIM_STALLS=$here/../data/pcsampling xpuprof record -q --stalls -o s.xpu -- "$build/demo/train" --steps 4 >/dev/null
run xpuprof annotate --source-map=/tmp/pcsampling-sources="$here/../data/pcsampling" matmul_tiled s.xpu
has "$out" "return fmaf(left[at], right[at], sum);" "the sources of its kernels are found where demo.sh has them"
done_testing

#!/bin/sh
# SPDX-License-Identifier: MIT
# `--view stall` of `xpuprof export` and `xpuprof flame` on profiles with known samples (tests/helpers/stall_profile.c).
. "$(dirname "$0")/tap.sh"
sample=$build/tests/helpers/stall_profile
for kind in small unfinished hostile refused none; do
	"$sample" $kind $kind.xpu /src/app || exit 1
done

stall() { run xpuprof export --to folded --view stall "$@"; }

stall small.xpu
is "$status:$err" "0:" "the stall view is exported"
same stalls.folded "from the launching stack down to instruction, reason and offset"
stall --unit ns small.xpu
is "$(total '')" 4002000 "its GPU time is exact to the nanosecond"
is "$(total '\[not sampled\]')" 2000 "that of a kernel without samples is not sampled"
is "$(total first.*matmul):$(total second.*matmul)" "2000000:1000000" "each stack keeps the time of its launches"
run xpuprof export --to folded --view gpu --unit ns small.xpu
is "$(total '')" 4002000 "as much as in the GPU view"
stall --weight samples small.xpu
is "$(total '')" 570 "as samples it has all of them"
is "$(total first.*matmul):$(total second.*matmul)" "293:147" "shared out over stacks by their time"
is "$(total 'barrier_\[g\]')" 60 "with the right sum for each reason"
stall --weight samples --latency small.xpu
is "$(total '')" 247 "latency samples are a part of them"
lacks "$out" "selected" "in which nothing was issued"
stall --latency --unit ns small.xpu
is "$(total '')" 4002000 "with latency samples only the time is all there"
is "$(total 'issuing cycles')" 2307174 "what they have no part in stands apart"
stall --lines small.xpu
has "$out" "int) (kernel.cu:15)_[G];load_tile(float const*, int) (kernel.cu:6)_[G];square(float) (math.h:3)_[G];FMUL_[g]" \
	"lines are distinguished also in inlined functions"
stall --by process,device small.xpu
has "$out" ";[GPU0_Kernel]_Z6reducePf;-;" "groups work as in the other views"

stall --reverse small.xpu
is "$(total ''):$(total '^barrier_\[g\];BAR.SYNC.DEFER_BLOCKING_\[g\];void matmul')" "4002:409" \
	"reversed stacks begin with the reason"
run xpuprof export --to folded --reverse small.xpu
is "$(total '^\[GPU_Kernel\]'):$(total -v '^\[GPU_Kernel\]')" "4002:0" "other views reverse as well"
xpuprof export --to folded --view stall small.xpu >small.folded
run xpuprof export --to folded small.folded
same stalls.folded "folded stacks of it read back as they were written"
run xpuprof export --to folded --reverse small.folded
is "$(total ''):$(total '^0x40_\[g\];barrier_\[g\]')" "4002:409" "and can be reversed"

pictures=$(find /usr/share/perl5 /usr/bin -name flamegraph.pl 2>/dev/null | head -1)
if [ "$pictures" ]; then
	perl "$pictures" small.folded >other.svg 2>other.err
	is "$?:$(cat other.err)" "0:" "flamegraph.pl reads them"
	true_that "with all that stand on one another" grep -qF "<title>long_scoreboard_[g] (1,318 samples" other.svg
else
	skip "flamegraph.pl reads them" "no flamegraph.pl"
fi

xpuprof export -o small.iaprof small.xpu
run python3 "$here/iaprof_reader.py" small.iaprof
is "$status:$(total '')" "0:570" "iaprof's form has all samples"
is "$(total first.*matmul):$(total second.*matmul)" "293:147" "by stacks, as the view"
is "$(total ';BAR.SYNC.DEFER_BLOCKING barrier_\[g\];other_\[g\];0x40_\[g\]'):$(total 'MOV_\[g\];active_\[g\]')" "60:28" \
	"a reason that it has no column for stands with its instruction; issuing is active"
has "$out" ";-;/src/app_[G];kernel.cu_[G];void matmul<16>(float const*, float const*, float*, int)_[G];load_tile(float const*, int)_[G];square(float)_[G];FMUL wait_[g];" \
	"folders and inlined functions are frames of their own"
xpuprof export -o hostile.iaprof hostile.xpu
run python3 "$here/iaprof_reader.py" hostile.iaprof
is "$status:$err" "0:" "it can be read whatever names there are"

run xpuprof export --to folded --weight samples small.xpu
is "$status" 2 "samples as weight are a wrong use of a view without them"
has "$err" "needs --view stall" "as the message says"
run xpuprof flame --view merge --latency small.xpu
is "$status" 2 "and so are latency samples"
run xpuprof export --to folded --inverted small.xpu
is "$status" 2 "text cannot be inverted"
run xpuprof export --to chrome --view stall --reverse small.xpu
is "$status" 2 "events cannot be reversed"
run xpuprof export --to chrome --view stall small.xpu
is "$status" 0 "the timeline shows the GPU work of the view"
run xpuprof flame --weight samples small.folded
is "$status" 2 "folded stacks have no samples"

run xpuprof flame --view stall --inverted -o - small.xpu
is "$status" 0 "a picture is drawn"
true_that "it is XML" python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' .out
for fact in "GPU time 4.002 ms" "instruction samples 570" "issuing 12.1 %" "apportioned 77.2 %" \
	"not sampled under 0.1 %"; do
	has "$out" "$fact" "its head says: $fact"
done
for class in source code gpu note; do
	has "$out" "<rect class=\"$class" "colours are by kind: $class"
done
root=$(sed -n 's/.*<title>all, .*class="root.*y="\([0-9]*\)" width.*/\1/p' .out)
leaf=$(sed -n 's/.*<title>barrier, .*class="code.*y="\([0-9]*\)" width.*/\1/p' .out | head -1)
true_that "inverted, the root is on top" [ "$root" -lt "$leaf" ]
run xpuprof flame --view stall -o - small.xpu
root=$(sed -n 's/.*<title>all, .*class="root.*y="\([0-9]*\)" width.*/\1/p' .out)
leaf=$(sed -n 's/.*<title>barrier, .*class="code.*y="\([0-9]*\)" width.*/\1/p' .out | head -1)
true_that "and else at the bottom" [ "$root" -gt "$leaf" ]

run xpuprof flame --view stall -o - refused.xpu
has "$out" "instructions were not sampled: the driver lets only administrators sample" "why there are no samples is reported"
has "$err" "no samples of instructions in 'refused.xpu': 'xpuprof report --stalls' says why" "also beside the picture"
stall --unit ns refused.xpu
is "$(total ''):$(total -v 'not sampled')" "2000000:0" "and all time of kernels is not sampled"
run xpuprof flame --view stall -o - none.xpu
has "$out" "see xpuprof record --stalls" "a recording without samples says how to take them"
has "$err" "no samples of instructions in 'none.xpu': 'xpuprof record --stalls' records them" "also beside the picture"
stall unfinished.xpu
is "$status" 0 "a recording that was cut short is shown"
same stalls.folded "with what is there"
for weight in time samples; do
	stall --weight $weight hostile.xpu
	is "$status" 0 "hostile names are written ($weight)"
	lacks "$(cat -v .out)" "^[" "without control characters"
done
run xpuprof flame --view stall -o - hostile.xpu
true_that "the picture of hostile names is XML" python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' .out
done_testing

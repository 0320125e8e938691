#!/bin/sh
# SPDX-License-Identifier: MIT
# `xpuprof report --stalls` on profiles with known samples (tests/helpers/stall_profile.c).
. "$(dirname "$0")/tap.sh"
sample=$build/tests/helpers/stall_profile
for kind in small unfinished hostile refused none; do
	"$sample" $kind $kind.xpu /src || exit 1
done

json() { # PYTHON: prints an expression over the report `r` and its stalls `s`
	xpuprof report --stalls --json small.xpu |
		python3 -c "import json, sys; r = json.load(sys.stdin); s = r['stalls']; print($1)"
}

run env COLUMNS=140 "$build/xpuprof" report --stalls small.xpu
is "$status:$err" "0:" "a report of samples is printed"
same stalls.report "with kernels, reasons, lines, instructions and how far they can be relied on"
run env COLUMNS=80 "$build/xpuprof" report --stalls small.xpu
is "$(sed '/^About/,$d' .out | awk 'length > 80')" "" "no row is wider than the terminal"
has "$out" "95.2 % long_scoreboard" "where words have no room reasons go by their names"
lacks "$(sed -n 's/.*  *[0-9.]* %  *\([a-z_]*\.\.\.\)$/\1/p' .out)" "..." "and none of them is cut"
lacks "$out" "$(printf '\033')" "nothing is coloured"
run xpuprof report --stalls --top 1 small.xpu
has "$out" "Why kernels wait (1 of 3)" "--top limits the kernels, and says so"
lacks "$out" "reduce" "to that many"

is "$(json 's["samples"], s["latency"], s["issuing"]')" "570 247 69" "JSON has the sums: latency samples are a part"
is "$(json '[k["total_ns"] for k in s["kernels"]], s["not_sampled"], s["not_sampled_ns"]')" \
	"[3000000, 1000000, 0] 1 2000" "and GPU time, also that without samples"
is "$(json 's["due"], [k["due"] for k in s["kernels"]]')" "1561 [1171, 390, 0]" "what is due is the time, the blocks, the clock and the period"
is "$(json 's["taken"], s["dropped"], s["without_code"], s["period_cycles_min"]')" "597 7 20 4096" "and the windows"
is "$(json 'sum(x["samples"] for x in s["kernels"][0]["instructions"]), sum(x["samples"] for x in s["kernels"][0]["lines"])')" \
	"440 440" "instructions and lines each add up to the kernel's samples"
is "$(json '[(i["samples"], [(f["name"], f["line"]) for f in i["functions"]]) for i in s["kernels"][0]["lines"][0]["inlined"]]')" \
	"[(210, [('load_tile(float const*, int)', 15)]), (90, [('load_tile(float const*, int)', 16)])]" \
	"a line that was inlined in two places has both"
is "$(json '[(x["reason"], x["class"], x["samples"], x["latency"]) for x in s["kernels"][0]["reasons"]][:2]')" \
	"[('long_scoreboard', 'memory', 290, 180), ('barrier', 'sync', 60, 50)]" "reasons have the vendor's name and a class"
is "$(json 's["apportioned"]')" "440" "samples that several launches may have had are reported"
run xpuprof report --json small.xpu
lacks "$out" '"stalls":{' "without --stalls there is no such member"

run xpuprof report --stalls refused.xpu
is "$status" 0 "a recording whose samples were refused is reported"
has "$out" "refused
  the driver lets only administrators sample" "with the reason of the driver"
run xpuprof report --stalls none.xpu
has "$out" "'xpuprof record --stalls' records them" "a recording without samples names the option"
run xpuprof report --stalls unfinished.xpu
is "$status" 0 "a recording that was cut short is reported"
has "$out" "INCOMPLETE" "and marked so"
run xpuprof report --stalls hostile.xpu
is "$status" 0 "names of all kinds are printed"
is "$(tr -d '\n\t -~' <.out | iconv -f UTF-8 -t UTF-8 2>&1)" "" "without control characters or broken text"
run xpuprof report --stalls --json hostile.xpu
true_that "and in JSON" python3 -m json.tool .out /dev/null
dd if=small.xpu of=cut.xpu bs=1 count=900 2>/dev/null
run xpuprof report --stalls cut.xpu
is "$status" 0 "a file that ends anywhere is reported as far as it goes"
done_testing

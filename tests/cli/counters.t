#!/bin/sh
# SPDX-License-Identifier: MIT
# Hardware counters: what is shown of known ones (tests/helpers/counter_profile.c), and recordings on the simulated GPU.
. "$(dirname "$0")/tap.sh"
for kind in small hostile refused none; do
	"$build/tests/helpers/counter_profile" $kind $kind.xpu || exit 1
done

json() { # FILE PYTHON: prints an expression over the report `r` and its counters `c`, kernels `k` and devices `d`
	xpuprof report --counters --json "$1" | python3 -c "import json, sys; r = json.load(sys.stdin)
c = r['counters']; k = {x['linker_name']: x for x in c['kernels']}; d = c['devices']; print($2)"
}

run env COLUMNS=120 "$build/xpuprof" report --counters small.xpu
is "$status:$err" "0:" "a report of hardware counters is printed"
if cmp -s .out "$golden/counters.report"; then
	result 0 "with each GPU, and the kernels that ran alone"
else
	result 1 "with each GPU, and the kernels that ran alone"
	diff "$golden/counters.report" .out | sed 's/^/# /'
fi
run env COLUMNS=60 "$build/xpuprof" report --counters small.xpu
has "$out" "no room here: 1 (--wide" "what a terminal has no room for is named"

is "$(json small.xpu '[x["key"] for x in c["counters"]]')" "['sm_active', 'dram_read', 'l2_hit_rate']" \
	"counters come in their order, not the file's"
is "$(json small.xpu '[k["_Z9copy_rowsPKfPf"][x] for x in ("total_ns", "alone_ns", "samples")]')" "[5100000, 5000000, 5]" \
	"a kernel's intervals are those in which it ran alone"
is "$(json small.xpu 'k["_Z9copy_rowsPKfPf"]["average"]')" \
	"{'sm_active': 100, 'dram_read': 2000000000000.0, 'l2_hit_rate': 25}" "and its values theirs"
is "$(json small.xpu '[k["gemm"][x] for x in ("total_ns", "alone_ns", "samples")], k["gemm"]["average"]["sm_active"]')" \
	"[4200000, 1900000, 2] 80" "one that ran in less than nine tenths of an interval, or beside a copy, does not count there"
is "$(json small.xpu '[(x["device"], x["samples"], x["busy_samples"]) for x in d]')" "[(0, 12, 10), (1, 3, 0)]" \
	"every GPU's samples are counted, and those with work"
is "$(json small.xpu 'd[0]["average"]["sm_active"], d[0]["average_with_work"]["sm_active"], d[0]["highest"]["sm_active"]')" \
	"69.1667 83 100" "with averages of all, of those with work, and the highest"
is "$(json small.xpu 'c["dropped"], c["interval_ns"], c["refused"]')" "1 1000000 None" "and what was lost"

run xpuprof report --counters refused.xpu
has "$out" "they were refused
  the driver lets only administrators" "a recording whose counters were refused says why"
run xpuprof report --counters none.xpu
has "$out" "'xpuprof record --counters' samples them" "one without counters says how to get them"
run xpuprof report --counters hostile.xpu
is "$status" 0 "values and names of all kinds are reported"
lacks "$out" "$(printf '\033')" "and nothing of them reaches the terminal"
true_that "as JSON, too" [ "$(json hostile.xpu 'len(d)')" = 1 ]
xpuprof export --to chrome hostile.xpu -o hostile.json
true_that "and as a timeline" python3 -c "import json; json.load(open('hostile.json'))"
xpuprof export --to chrome small.xpu -o small.json
is "$(python3 -c "import json
for e in json.load(open('small.json'))['traceEvents']:
    if e['ph'] == 'C' and e['name'].startswith('SM') and e['pid'] == 1000000001: print(e['name'], int(e['ts']), e['args']['value'])")" \
	"SM active (%) 10000 100
SM active (%) 15000 0
SM active (%) 17000 80
SM active (%) 18000 90
SM active (%) 19000 70
SM active (%) 20000 50
SM active (%) 22000 40" "the timeline has a value where it changes"

# Recordings. The board is where a process sees what another's device does.
sim=$build/sim
if [ "$(id -u)" = 0 ]; then
	make_trusted || exit 1
	cp -a "$build"/sim/lib* "$trusted/"
	sim=$trusted
fi
export LD_LIBRARY_PATH="$sim" XPUPROF_SIM_BOARD="$work/board"
program="$build/demo/train"
run xpuprof record -q --counters -o run.xpu "$program" --seconds 1.2
is "$err" "" "counters are recorded, without a word"
is "$(json run.xpu 'len(c["counters"]), [x["key"] for x in c["counters"]][:3]')" "13 ['sm_active', 'tensor_active', 'dram_read']" \
	"all that the GPU has and that can be trusted"
true_that "as often as they should" [ "$(json run.xpu 'd[0]["samples"] > 800 and c["dropped"] == 0')" = True ]
true_that "and they see the work of the program" [ "$(json run.xpu '0 < d[0]["average_with_work"]["sm_active"] <= 100')" = True ]
XPUPROF_SIM_KERNEL_NS=20000000 xpuprof record -q --counters -o long.xpu "$program" --seconds 0.8 >/dev/null 2>&1
true_that "kernels of many intervals are alone in most" [ "$(json long.xpu 'max(x["alone_ns"] / x["total_ns"] for x in c["kernels"] if x["total_ns"] > 1e8) > 0.5')" = True ]
is "$(json long.xpu 'set(round(x["average"]["sm_active"]) for x in c["kernels"] if x["samples"])')" "{100}" \
	"and keep the GPU busy then"
run xpuprof record -q --counters=200us -o fast.xpu "$program" --seconds 0.5
is "$(json fast.xpu 'c["interval_ns"], len(c["counters"])')" "200000 10" "short intervals have fewer counters"
XPUPROF_SIM_DEVICES=2 xpuprof record -q --counters -o two.xpu "$program" --seconds 0.5 >/dev/null 2>&1
is "$(json two.xpu '[x["device"] for x in d]')" "[0]" "of two GPUs only the one that is used is recorded"
run env XPUPROF_SIM_FAULTS=counters-full=2 "$build/xpuprof" record -q --counters -o full.xpu "$program" --seconds 2
true_that "what is lost is counted" [ "$(json full.xpu 'c["dropped"] > 0 and d[0]["samples"] + c["dropped"] > 700')" = True ]
XPUPROF_SIM_FAULTS=counters-full-from=4 xpuprof record -q --counters=200us -o full.xpu "$program" --seconds 1 >/dev/null 2>&1
is "$(json full.xpu '0 < d[0]["samples"] < 2000, d[0]["samples"] + c["dropped"] >= 5000')" "True True" "and what is lost up to the end"
XPUPROF_SIM_FAULTS=counters-full-from=1 xpuprof record -q --counters -o full.xpu "$program" --seconds 1 >/dev/null 2>&1
is "$(json full.xpu 'd, c["dropped"] >= 1000')" "[] True" "also where there never was a sample"
XPUPROF_SIM_KERNEL_NS=20000000 "$build/xpuprof" record -q --counters=100us -o late.xpu "$program" --seconds 1.5 >/dev/null 2>&1 &
recorder=$!
sleep 0.7
for child in $(pgrep -P $recorder -x xpuprof); do
	kill -STOP "$child"
	sleep 0.2
	kill -CONT "$child"
done
wait $recorder
is "$(json late.xpu 'd[0]["samples"] > 5000, c["dropped"]')" "True 0" "a sampler that comes late loses nothing that the GPU kept"

for fault in "counters-refused|NVreg_RestrictProfilingToAdminUsers=0|without rights the remedy is reported" \
	"counters-unsupported|cannot sample hardware counters|as is a GPU that cannot" \
	"counters-busy|end other profilers|and one that is sampled already" \
	"counters-stop=999|could not be sampled (CUPTI error 999)|as is one that cannot be stopped" \
	"counters-crash=2|ended before it had told all|a sampler that crashes at the end is reported" \
	"counters-crash|ended before the recording did|as is one that crashes before"; do
	what=${fault#*|}
	run env XPUPROF_SIM_FAULTS="${fault%%|*}" "$build/xpuprof" record -q --counters -o f.xpu "$program" --seconds 0.4
	has "$status $err" "${what%|*}" "${what#*|}"
done
is "$(json f.xpu 'r["works"] > 0')" "True" "and the rest is recorded all the same"
run xpuprof record -q --counters -o f.xpu sh -c "kill -STOP \$(pgrep -P \$PPID -x xpuprof); exec $program --seconds 0.1"
has "$status $err" "did not end in time, and was ended" "one that stands still is reported"
run xpuprof record --counters --stalls true
has "$status $err" "2 xpuprof: a GPU takes either --stalls or --counters" "both are refused, as a GPU does one at a time"

# As root nothing is loaded that others could have put there.
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work"
	mkdir users && chown nobody users && cp -a "$build"/sim/lib* users/
	cp /bin/sh sudo # under sudo's name: it shows in /proc what sudo's own process would, the caller's environment
	as_sudo() { # VARIABLE=VALUE... -- COMMAND: recorded by root for nobody, who has set the variables
		variables=
		while [ "$1" != -- ]; do
			variables="$variables $1"
			shift
		done
		shift
		rm -f board users/s.xpu
		run env XPUPROF_SIM_BOARD="$work/users/board" $variables ./sudo -c '
			export SUDO_UID=$(id -u nobody) LD_LIBRARY_PATH=; "$0" record -q --counters -o users/s.xpu "$@"; exit $?' \
			"$build/xpuprof" "$@"
	}
	rm -f board
	run env LD_LIBRARY_PATH="$work/users" "$build/xpuprof" record -q --counters -o f.xpu "$program" --seconds 0.1
	has "$status $err" "0 xpuprof: no hardware counters: others than root can change the only CUPTI or driver library" \
		"root loads no library of a user's"
	ln -s "$work/users" "$trusted/link"
	run env LD_LIBRARY_PATH="$trusted/link" "$build/xpuprof" record -q --counters -o f.xpu "$program" --seconds 0.1
	has "$err" "others than root can change" "nor through a link of its own"
	name="for a caller of sudo whose libraries these are they are sampled with the caller's rights"
	if setpriv --reuid=nobody --clear-groups test -r "$build/sim/libcuda.so.1"; then
		as_sudo LD_LIBRARY_PATH="$work/users" -- "$program" --seconds 0.5
		true_that "$name" [ "$(json users/s.xpu 'd[0]["samples"] > 200')" = True ]
		as_sudo LD_LIBRARY_PATH="$work/users" XPUPROF_SIM_FAULTS=counters-refused -- "$program" --seconds 0.1
		has "$err" "no CUPTI was found that may be loaded as root" "and where that is too little, it says what to do"
		lacks "$(json users/s.xpu 'c["refused"]')" "None" "as the recording does"
		as_sudo LD_LIBRARY_PATH="$trusted" XPUPROF_SIM_FAULTS=counters-refused -- "$program" --seconds 0.1
		has "$err" "lets only administrators sample hardware counters: run as root" "with root's rights it says the other"
	else
		skip "$name" "nobody cannot read the build"
	fi
fi

for wrong in 1 99us 2s x; do
	run xpuprof record --counters=$wrong true
	has "$status $err" "2 xpuprof: option '--counters' takes a time" "an interval of $wrong is refused"
done
done_testing

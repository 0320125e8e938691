#!/bin/sh
# SPDX-License-Identifier: MIT
# CPU samples on this kernel: whole stacks, with and without frame pointers, of the main thread and of another;
# processes that come and go.
. "$(dirname "$0")/tap.sh"
command -v python3 >/dev/null || skip_all "there is no python3"

for program in busy busy_frameless; do
	recorded default --cpu-only -- "$build/tests/vm/$program" 1500
	describe
	is "$status $out" "0 done" "$program runs as alone"
	is "$err" "" "and nothing is said"
	# Two threads for 1.5 s each at 99 samples a second, unless the emulated CPUs have to wait.
	is "$(told 's["samples"] >= 60')" True "$program has its samples"
	is "$(told 's["samples_incomplete"] * 50 <= s["samples"]')" True "whose stacks are complete"
	xpuprof export --to folded --view cpu p.xpu >folded
	for root in main in_thread; do
		is "$(grep -c ";$root;outer;middle;inner" folded | sed 's/[1-9][0-9]*/some/')" some \
			"$program: there are whole stacks from $root on"
	done
	is "$(grep inner folded | grep -vc -e ';main;outer;middle;inner' -e ';in_thread;outer;middle;inner')" 0 \
		"$program: and no others"
	is "$(told '[n for n, v in r["losses"].items() if v and n.endswith("_full")]')" "[]" "$program: nothing is lost"
done

# Who is who.
cat >family.sh <<END
(exec "$build/tests/vm/busy" 300) &
sh -c '"$build/tests/vm/busy_frameless" 300; true'
wait
exit 5
END
recorded default --cpu-only -- sh family.sh
is "$status" 5 "the status of a program with children is its own"
is "$(told 'sorted({p["name"] for p in r["processes"] if p["samples"]} & {"busy", "busy_frameless"})')" \
	"['busy', 'busy_frameless']" "what it starts is recorded, each under its name"
describe
is "$(xpuprof export --to folded --view cpu --by process p.xpu | grep inner | grep -v -e '^busy-[0-9]*;.*main;outer' \
	-e '^busy_frameless-[0-9]*;.*main;outer' -e 'in_thread;outer')" "" "with its stacks"
is "$(told 'r["losses"]["maps_lost"]')" 0 "and with its mappings"

run timeout 60 "$build/xpuprof" record -q -o a.xpu -a -d 1
is "$status $err" "0 " "the whole system can be recorded"
true_that "and the recording read" "$build/xpuprof" report a.xpu >/dev/null
recorded default -- true
echo "# 'record -- true' took $(told 'r["elapsed_ns"] // 1000000') ms, emulated"
is "$status $err" "0 " "a program that ends at once is recorded"
done_testing
